/* decap_kind - names and words of what packets are carried in: see decap.h. */
#include "agent/base/cleanup.h"
#include "collectors/packet/decap.h"

struct decap_words {
	const char *name, *text;
};

static const struct decap_words layers[LAYER_COUNT] = {
	[LAYER_VLAN] = {"vlan", "one VLAN tag (802.1Q)"},
	[LAYER_QINQ] = {"qinq", "two to four VLAN tags"},
	[LAYER_MPLS] = {"mpls",
		"MPLS labels over Ethernet, GRE, IP or UDP port 6635; Ethernet pseudowires with "
		"and without control word"},
	[LAYER_GRE] = {"gre",
		"IP, MPLS or Ethernet in GRE with key, checksum and sequence number, also as "
		"NVGRE, "
		"in UDP port 4754, or as mirror with a configured protocol number; mirrors of "
		"Spectrum switches under SONiC"},
	[LAYER_ERSPAN1] = {"erspan1", "ERSPAN type I: the bare frame in GRE"},
	[LAYER_ERSPAN2] = {"erspan2", "ERSPAN type II: session, VLAN and port index"},
	[LAYER_ERSPAN3] = {"erspan3",
		"ERSPAN type III: session, direction, and port index where the subheader has it"},
	[LAYER_VXLAN] = {"vxlan", "VXLAN, UDP port 4789, and 8472 where its header fits"},
	[LAYER_VXLAN_GPE] = {"vxlan_gpe", "VXLAN-GPE, UDP port 4790: Ethernet, IP or MPLS"},
	[LAYER_GENEVE] = {"geneve", "Geneve with its options, UDP port 6081"},
	[LAYER_IPIP] = {"ipip",
		"IP in IP, all four combinations; also SRv6 that needs no routing header"},
	[LAYER_SRV6] = {"srv6", "IPv6 with a segment routing header, or Ethernet in IPv6"},
	[LAYER_ETHERIP] = {"etherip", "EtherIP, version 3"},
	[LAYER_TZSP] = {"tzsp", "TZSP, UDP port 37008"},
	[LAYER_SFLOW] = {"sflow", "the header of a packet that sFlow sampled"},
};

static const struct decap_words refusals[REFUSED_COUNT] = {
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
	[REFUSED_MIRROR_HEADER] = {"mirror_header",
		"a mirror header of a vendor without a frame behind it"},
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

const char *decap_layer_name(enum decap_layer layer)
{
	if ((unsigned)layer < LAYER_COUNT)
		return layers[layer].name;
	return "unknown";
}

const char *decap_layer_text(enum decap_layer layer)
{
	if ((unsigned)layer < LAYER_COUNT)
		return layers[layer].text;
	return "an unknown encapsulation";
}

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
