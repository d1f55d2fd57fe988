/* decap - see decap.h. */
#include "collectors/packet/decap.h"

#include "agent/base/cleanup.h"

const char *decap_layer_name(enum decap_layer layer)
{
	static const char *const names[LAYER_COUNT] = {
		[LAYER_VLAN] = "vlan",
		[LAYER_QINQ] = "qinq",
		[LAYER_MPLS] = "mpls",
		[LAYER_GRE] = "gre",
		[LAYER_ERSPAN1] = "erspan1",
		[LAYER_ERSPAN2] = "erspan2",
		[LAYER_ERSPAN3] = "erspan3",
		[LAYER_VXLAN] = "vxlan",
		[LAYER_VXLAN_GPE] = "vxlan_gpe",
		[LAYER_GENEVE] = "geneve",
		[LAYER_IPIP] = "ipip",
		[LAYER_SRV6] = "srv6",
		[LAYER_ETHERIP] = "etherip",
		[LAYER_TZSP] = "tzsp",
		[LAYER_SFLOW] = "sflow",
	};
	if ((unsigned)layer < LAYER_COUNT)
		return names[layer];
	return "unknown";
}

static const struct {
	const char *name, *text;
} refusals[REFUSED_COUNT] = {
	[REFUSED_NOTHING] = {"nothing", "nothing"},
	[REFUSED_TOO_DEEP] = {"too_deep", "more tunnels inside each other than are opened (4)"},
	[REFUSED_GRE_ROUTING] = {"gre_routing", "GRE with source routes"},
	[REFUSED_GRE_VERSION] = {"gre_version", "GRE of a version other than 0, such as PPTP"},
	[REFUSED_GRE_PROTOCOL] = {"gre_protocol", "GRE with a payload of an unknown type"},
	[REFUSED_ERSPAN_VERSION] = {"erspan_version", "ERSPAN of an unknown version"},
	[REFUSED_ERSPAN_FRAME] = {"erspan_frame",
		"ERSPAN III of frames that are neither Ethernet nor IP"},
	[REFUSED_MPLS_PAYLOAD] = {"mpls_payload",
		"MPLS with a payload that is neither IP nor Ethernet"},
	[REFUSED_VXLAN_HEADER] = {"vxlan_header", "VXLAN with unknown flags"},
	[REFUSED_VXLAN_PROTOCOL] = {"vxlan_gpe_protocol",
		"VXLAN-GPE with a payload of an unknown type"},
	[REFUSED_GENEVE_VERSION] = {"geneve_version", "Geneve of an unknown version"},
	[REFUSED_GENEVE_PROTOCOL] = {"geneve_protocol", "Geneve with a payload of an unknown type"},
	[REFUSED_ETHERIP_VERSION] = {"etherip_version", "EtherIP of an unknown version"},
	[REFUSED_TZSP_FRAME] = {"tzsp_frame", "TZSP of frames that are not Ethernet"},
	[REFUSED_ESP] = {"esp", "IPsec ESP, which is encrypted"},
	[REFUSED_MACSEC] = {"macsec", "MACsec, which is encrypted"},
	[REFUSED_L2TP] = {"l2tp", "L2TP"},
	[REFUSED_PBB] = {"pbb", "provider backbone bridging (802.1ah)"},
	[REFUSED_NSH] = {"nsh", "network service headers (NSH)"},
	[REFUSED_ETAG] = {"etag", "802.1BR tags of a port extender"},
	[REFUSED_VNTAG] = {"vntag", "VN-tags of a port extender"},
	[REFUSED_FABRICPATH] = {"fabricpath", "FabricPath"},
	[REFUSED_TRILL] = {"trill", "TRILL"},
	[REFUSED_CISCO_METADATA] = {"cisco_metadata", "Cisco metadata headers"},
	[REFUSED_ARISTA_TIME] = {"arista_time", "Arista time stamp headers"},
};

const char *decap_refusal_name(enum decap_refusal refusal)
{
	if ((unsigned)refusal < REFUSED_COUNT)
		return refusals[refusal].name;
	return "unknown";
}

const char *decap_refusal_text(enum decap_refusal refusal)
{
	if ((unsigned)refusal < REFUSED_COUNT)
		return refusals[refusal].text;
	return "an unknown encapsulation";
}
