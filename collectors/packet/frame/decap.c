
#include "collectors/packet/frame/decap.h"

#include "db/model/flow.h"

enum {
	ETHERNET_BYTES = 14,
	TYPE_IP4 = 0x0800,
	TYPE_ARP = 0x0806,
	TYPE_VLAN = 0x8100,
	TYPE_IP6 = 0x86dd,
	TYPE_MAC_CONTROL = 0x8808,
	TYPE_MPLS = 0x8847,
	TYPE_MPLS_UPSTREAM = 0x8848,
	TYPE_QINQ = 0x88a8,
	TYPE_LLDP = 0x88cc,
	TYPE_ROCEV1 = 0x8915,
	TYPE_BRIDGING = 0x6558, /* transparent Ethernet */
	TYPE_ERSPAN = 0x88be, /* I and II */
	TYPE_ERSPAN3 = 0x22eb,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	TYPE_SPECTRUM = 0x8949, /* mirrors of Spectrum switches under SONiC */
};

/* ---- which tunnel -------------------------------------------------------- */

struct decap_row {
	unsigned number;
	struct decap_door door;
};

static const struct decap_row by_type[] = {
	{TYPE_MPLS, {TUNNEL_MPLS, REFUSED_NOTHING}},
	{TYPE_MPLS_UPSTREAM, {TUNNEL_MPLS, REFUSED_NOTHING}},
	{0x88e5, {TUNNEL_NONE, REFUSED_MACSEC}},
	{0x88e7, {TUNNEL_NONE, REFUSED_PBB}},
	{0x894f, {TUNNEL_NONE, REFUSED_NSH}},
	{0x893f, {TUNNEL_NONE, REFUSED_ETAG}},
	{0x8926, {TUNNEL_NONE, REFUSED_VNTAG}},
	{0x8903, {TUNNEL_NONE, REFUSED_FABRICPATH}},
	{0x22f3, {TUNNEL_NONE, REFUSED_TRILL}},
	{0x8909, {TUNNEL_NONE, REFUSED_CISCO_METADATA}},
	{0xd28b, {TUNNEL_NONE, REFUSED_ARISTA_TIME}},
};

/* IANA's protocol numbers */
static const struct decap_row by_protocol[] = {
	{4, {TUNNEL_IP, REFUSED_NOTHING}},
	{41, {TUNNEL_IP, REFUSED_NOTHING}},
	{47, {TUNNEL_GRE, REFUSED_NOTHING}},
	{50, {TUNNEL_NONE, REFUSED_ESP}},
	{97, {TUNNEL_ETHERIP, REFUSED_NOTHING}},
	{115, {TUNNEL_NONE, REFUSED_L2TP}},
	{137, {TUNNEL_MPLS, REFUSED_NOTHING}},
	{143, {TUNNEL_SRV6_ETHERNET, REFUSED_NOTHING}},
};

static const struct decap_row by_port[] = {
	{4754, {TUNNEL_GRE, REFUSED_NOTHING}},
	{4789, {TUNNEL_VXLAN, REFUSED_NOTHING}},
	{4790, {TUNNEL_VXLAN_GPE, REFUSED_NOTHING}},
	{6081, {TUNNEL_GENEVE, REFUSED_NOTHING}},
	{6635, {TUNNEL_MPLS, REFUSED_NOTHING}},
	{8472, {TUNNEL_VXLAN_OLD, REFUSED_NOTHING}},
	{37008, {TUNNEL_TZSP, REFUSED_NOTHING}},
};

static struct decap_door decap_find(const struct decap_row *rows, size_t n, unsigned number)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].number == number)
			return rows[i].door;
	return (struct decap_door){TUNNEL_NONE, REFUSED_NOTHING};
}

struct decap_door decap_of_type(unsigned ethertype)
{
	return decap_find(by_type, rw_countof(by_type), ethertype);
}

struct decap_door decap_of_protocol(unsigned ip_protocol)
{
	return decap_find(by_protocol, rw_countof(by_protocol), ip_protocol);
}

struct decap_door decap_of_port(unsigned udp_port)
{
	return decap_find(by_port, rw_countof(by_port), udp_port);
}

/* ---- does it look like a frame ------------------------------------------- */

bool decap_ip4_sum_ok(const uint8_t *ip, size_t n)
{
	size_t header = (size_t)(ip[0] & 15) * 4;
	uint32_t sum = 0;
	if (header < 20 || n < header)
		return false;
	for (size_t i = 0; i < header; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static unsigned decap_be16(const uint8_t *data)
{
	return (unsigned)data[0] << 8 | data[1];
}

/* Nothing in MPLS or in a vendor's header says where the Ethernet frame begins, so it is judged. */
enum frame_look {
	LOOKS_WRONG, /* too short, or no ethertype that is known */
	LOOKS_POSSIBLE, /* an ethertype that is known, or a length of IEEE 802.3 */
	LOOKS_LIKE_IP, /* and behind it the right IP version */
	LOOKS_PROVEN, /* and a right IPv4 checksum, or an IPv6 payload of a usual kind */
};

static enum frame_look look_at_ip(const uint8_t *ip, size_t n, unsigned type)
{
	if (n == 0)
		return LOOKS_POSSIBLE;
	if (type == TYPE_IP6) {
		if (ip[0] >> 4 != 6)
			return LOOKS_WRONG;
		if (n > 6 && (ip[6] == PROTOCOL_UDP || ip[6] == PROTOCOL_TCP))
			return LOOKS_PROVEN;
		return LOOKS_LIKE_IP;
	}
	if (ip[0] >> 4 != 4 || (ip[0] & 15) < 5)
		return LOOKS_WRONG;
	if (decap_ip4_sum_ok(ip, n))
		return LOOKS_PROVEN;
	return LOOKS_LIKE_IP;
}

static enum frame_look look_at_ethernet(const uint8_t *frame, size_t n)
{
	size_t at = ETHERNET_BYTES;
	if (n < at)
		return LOOKS_WRONG;
	unsigned type = decap_be16(frame + 12);
	while ((type == TYPE_VLAN || type == TYPE_QINQ) && n >= at + 4) {
		type = decap_be16(frame + at + 2);
		at += 4;
	}
	if (type == TYPE_IP4 || type == TYPE_IP6)
		return look_at_ip(frame + at, n - at, type);
	if (type == TYPE_VLAN || type == TYPE_QINQ || type == TYPE_ARP ||
		type == TYPE_MAC_CONTROL || type == TYPE_MPLS || type == TYPE_LLDP ||
		type == TYPE_ROCEV1)
		return LOOKS_POSSIBLE;
	if (type >= 46 && type <= 1500)
		return LOOKS_POSSIBLE;
	return LOOKS_WRONG;
}

/* ---- headers ------------------------------------------------------------- */

static void decap_refuse(struct decap_inner *ret, enum decap_refusal refusal)
{
	ret->next = NEXT_REFUSED;
	ret->refusal = refusal;
}

static void decap_inner_type(struct decap_inner *ret, unsigned type)
{
	ret->next = NEXT_TYPE;
	ret->type = (uint16_t)type;
}

/* The first four bits behind the labels: 4 and 6 are IP, 0 is the control word of a pseudowire, 1
 * its signalling (RFC 4385). A pseudowire may also come without control word, and a MAC address may
 * begin with any of them. */
static void open_mpls_payload(struct bytes *bytes, struct decap_inner *ret)
{
	const uint8_t *p = bytes->p;
	size_t n = bytes_left(bytes);
	if (n == 0)
		return;
	const unsigned first = p[0] >> 4;
	const enum frame_look plain = look_at_ethernet(p, n);
	enum frame_look behind_word = LOOKS_WRONG;
	if (n > 4)
		behind_word = look_at_ethernet(p + 4, n - 4);
	if (first == 4 && (plain < LOOKS_LIKE_IP || decap_ip4_sum_ok(p, n))) {
		decap_inner_type(ret, TYPE_IP4);
	} else if (first == 6 && plain < LOOKS_LIKE_IP) {
		decap_inner_type(ret, TYPE_IP6);
	} else if (first == 0 && behind_word > LOOKS_WRONG && behind_word >= plain) {
		bytes_skip(bytes, 4);
		ret->next = NEXT_ETHERNET;
	} else if (plain > LOOKS_WRONG) {
		ret->next = NEXT_ETHERNET;
	} else if (first == 1) {
		ret->next = NEXT_OTHER;
	} else if (n >= 4 + ETHERNET_BYTES) {
		decap_refuse(ret, REFUSED_MPLS_PAYLOAD);
	}
}

static void open_mpls(struct bytes *bytes, struct decap_inner *ret)
{
	uint32_t label;
	ret->layer = LAYER_MPLS;
	do
		label = bytes_be32(bytes);
	while (bytes_ok(bytes) && !(label & 0x100)); /* the lowest label has the bit S */
	if (bytes_ok(bytes))
		open_mpls_payload(bytes, ret);
}

/* Platform specific subheader: where the index of the port stands in its 64 bits. */
static void erspan3_port(uint32_t high, uint32_t low, struct decap_mirror *ret)
{
	static const struct {
		bool known, in_low;
		uint32_t mask;
	} platforms[] = {
		[0] = {true, false, 0xfffff},
		[1] = {true, true, 0xffffffff},
		[3] = {true, false, 0x3fff},
		[5] = {true, false, 0xffff},
		[6] = {true, false, 0xffff},
		[7] = {true, false, 0xfffff},
	};
	const unsigned platform = high >> 26;
	if (platform >= rw_countof(platforms) || !platforms[platform].known)
		return;
	uint32_t word = high;
	if (platforms[platform].in_low)
		word = low;
	ret->has_port = true;
	ret->port = word & platforms[platform].mask;
}

/* Common to II and III: version 4 bits, VLAN 12; COS 3, two bits of its own, truncated 1, session
 * 10. */
static void open_erspan_session(unsigned vlan, unsigned flags, struct decap_mirror *ret)
{
	ret->vlan = vlan & 0xfff;
	ret->cos = (uint8_t)(flags >> 13);
	ret->truncated = flags & 0x400;
	ret->has_session = true;
	ret->session = flags & 0x3ff;
}

static void open_erspan2(struct bytes *bytes, struct decap_inner *ret)
{
	ret->layer = LAYER_ERSPAN2;
	ret->mirror.layer = LAYER_ERSPAN2;
	unsigned vlan = bytes_be16(bytes), flags = bytes_be16(bytes);
	open_erspan_session(vlan, flags, &ret->mirror);
	if ((flags >> 11 & 3) == 3) /* the tag is still in the frame */
		ret->mirror.vlan = 0;
	ret->mirror.has_port = true;
	ret->mirror.port = bytes_be32(bytes) & 0xfffff;
	if (bytes_ok(bytes))
		ret->next = NEXT_ETHERNET;
}

static void open_erspan3(struct bytes *bytes, struct decap_inner *ret)
{
	ret->layer = LAYER_ERSPAN3;
	ret->mirror.layer = LAYER_ERSPAN3;
	unsigned vlan = bytes_be16(bytes), flags = bytes_be16(bytes);
	bytes_skip(bytes, 4 + 2); /* time stamp, security group */
	unsigned frame = bytes_be16(bytes);
	open_erspan_session(vlan, flags, &ret->mirror);
	if (frame & 8)
		ret->mirror.direction = FLOW_DIR_OUT;
	else
		ret->mirror.direction = FLOW_DIR_IN;
	if (frame & 1) {
		uint32_t high = bytes_be32(bytes), low = bytes_be32(bytes);
		erspan3_port(high, low, &ret->mirror);
	}
	if (!bytes_ok(bytes))
		return;
	const unsigned type = frame >> 10 & 31;
	if (type == 0)
		ret->next = NEXT_ETHERNET;
	else if (type == 2)
		ret->next = NEXT_IP;
	else
		decap_refuse(ret, REFUSED_ERSPAN_FRAME);
}

/* Type I is the bare frame. With a sequence number, type II or III, by its version. */
static void open_erspan(struct bytes *bytes, bool sequence, struct decap_inner *ret)
{
	const uint8_t *p = bytes->p;
	const size_t n = bytes_left(bytes);
	unsigned version = 0;
	if (n > 0)
		version = p[0] >> 4;
	if (sequence && version == 1) {
		open_erspan2(bytes, ret);
	} else if (sequence && version == 2) {
		open_erspan3(bytes, ret);
	} else if (sequence && n > 0 && look_at_ethernet(p, n) < LOOKS_LIKE_IP) {
		decap_refuse(ret, REFUSED_ERSPAN_VERSION);
	} else if (n > 0) {
		ret->layer = LAYER_ERSPAN1;
		ret->mirror.layer = LAYER_ERSPAN1;
		ret->next = NEXT_ETHERNET;
	}
}

/* Spectrum switches put a header of 22 bytes before the mirrored frame, which is not published; the
 * tests of SONiC (sonic-mgmt, everflow) pass over it. */
static void open_spectrum(struct bytes *bytes, struct decap_inner *ret)
{
	enum { HEADER = 22 };
	const uint8_t *p = bytes->p;
	const size_t n = bytes_left(bytes);
	if (n < HEADER + ETHERNET_BYTES)
		return;
	if (look_at_ethernet(p + HEADER, n - HEADER) > LOOKS_WRONG)
		bytes_skip(bytes, HEADER);
	else if (look_at_ethernet(p, n) < LOOKS_LIKE_IP) {
		decap_refuse(ret, REFUSED_MIRROR_HEADER);
		return;
	}
	ret->mirror.layer = LAYER_GRE;
	ret->next = NEXT_ETHERNET;
}

/* The protocol of a mirror in GRE can be configured on many switches: a frame with a right IP
 * checksum is a frame, whatever its number. */
static void open_gre_other(struct bytes *bytes, struct decap_inner *ret)
{
	if (look_at_ethernet(bytes->p, bytes_left(bytes)) == LOOKS_PROVEN)
		ret->next = NEXT_ETHERNET;
	else
		decap_refuse(ret, REFUSED_GRE_PROTOCOL);
}

static void open_gre(struct bytes *bytes, struct decap_inner *ret)
{
	enum { CHECKSUM = 0x8000, ROUTING = 0x4000, KEY = 0x2000, SEQUENCE = 0x1000, VERSION = 7 };
	const unsigned flags = bytes_be16(bytes), type = bytes_be16(bytes);
	ret->layer = LAYER_GRE;
	if (flags & CHECKSUM)
		bytes_skip(bytes, 4);
	if (flags & KEY)
		bytes_skip(bytes, 4);
	if (flags & SEQUENCE)
		bytes_skip(bytes, 4);
	if (!bytes_ok(bytes))
		return;
	if (flags & VERSION)
		decap_refuse(ret, REFUSED_GRE_VERSION);
	else if (flags & ROUTING)
		decap_refuse(ret, REFUSED_GRE_ROUTING);
	else if (type == TYPE_BRIDGING)
		ret->next = NEXT_ETHERNET;
	else if (type == TYPE_IP4 || type == TYPE_IP6 || type == TYPE_MPLS ||
		type == TYPE_MPLS_UPSTREAM)
		decap_inner_type(ret, type);
	else if (type == TYPE_ERSPAN)
		open_erspan(bytes, flags & SEQUENCE, ret);
	else if (type == TYPE_ERSPAN3)
		open_erspan(bytes, true, ret);
	else if (type == TYPE_SPECTRUM)
		open_spectrum(bytes, ret);
	else
		open_gre_other(bytes, ret);
}

static void open_ip(struct bytes *bytes, struct decap_inner *ret)
{
	ret->layer = LAYER_IPIP;
	ret->next = NEXT_IP;
}

static void open_srv6_ip(struct bytes *bytes, struct decap_inner *ret)
{
	ret->layer = LAYER_SRV6;
	ret->next = NEXT_IP;
}

static void open_srv6_ethernet(struct bytes *bytes, struct decap_inner *ret)
{
	ret->layer = LAYER_SRV6;
	ret->next = NEXT_ETHERNET;
}

static void open_etherip(struct bytes *bytes, struct decap_inner *ret)
{
	const unsigned version = bytes_be16(bytes) >> 12;
	ret->layer = LAYER_ETHERIP;
	if (!bytes_ok(bytes))
		return;
	if (version == 3)
		ret->next = NEXT_ETHERNET;
	else
		decap_refuse(ret, REFUSED_ETHERIP_VERSION);
}

/* Flags 8 bits, of which one says that the network identifier is there; reserved bits are ignored,
 * as RFC 7348 asks. */
static void open_vxlan(struct bytes *bytes, struct decap_inner *ret)
{
	const unsigned flags = bytes_u8(bytes);
	bytes_skip(bytes, 7);
	ret->layer = LAYER_VXLAN;
	if (!bytes_ok(bytes))
		return;
	if (flags & 8)
		ret->next = NEXT_ETHERNET;
	else
		decap_refuse(ret, REFUSED_VXLAN_HEADER);
}

static void open_vxlan_old(struct bytes *bytes, struct decap_inner *ret)
{
	const uint32_t flags = bytes_be32(bytes), network = bytes_be32(bytes);
	ret->layer = LAYER_VXLAN;
	if (!bytes_ok(bytes))
		return;
	if (flags == 0x08000000 && (network & 0xff) == 0)
		ret->next = NEXT_ETHERNET;
	else
		ret->next = NEXT_OTHER;
}

static void open_vxlan_gpe(struct bytes *bytes, struct decap_inner *ret)
{
	enum { VERSION = 0x30, NETWORK = 0x08, HAS_NEXT = 0x04 };
	static const uint16_t types[] = {[1] = TYPE_IP4, [2] = TYPE_IP6, [5] = TYPE_MPLS};
	enum { NEXT_IS_ETHERNET = 3 };
	const unsigned flags = bytes_u8(bytes);
	bytes_skip(bytes, 2);
	unsigned next = bytes_u8(bytes);
	bytes_skip(bytes, 4);
	ret->layer = LAYER_VXLAN_GPE;
	if (!bytes_ok(bytes))
		return;
	if (!(flags & HAS_NEXT))
		next = NEXT_IS_ETHERNET;
	if (flags & VERSION || !(flags & NETWORK))
		decap_refuse(ret, REFUSED_VXLAN_HEADER);
	else if (next == NEXT_IS_ETHERNET)
		ret->next = NEXT_ETHERNET;
	else if (next < rw_countof(types) && types[next])
		decap_inner_type(ret, types[next]);
	else
		decap_refuse(ret, REFUSED_VXLAN_PROTOCOL);
}

static void open_geneve(struct bytes *bytes, struct decap_inner *ret)
{
	const unsigned first = bytes_u8(bytes), control = bytes_u8(bytes) & 0x80;
	const unsigned type = bytes_be16(bytes);
	bytes_skip(bytes, 4 + (size_t)(first & 0x3f) * 4); /* network identifier, options */
	ret->layer = LAYER_GENEVE;
	if (!bytes_ok(bytes))
		return;
	if (first >> 6)
		decap_refuse(ret, REFUSED_GENEVE_VERSION);
	else if (type == TYPE_BRIDGING)
		ret->next = NEXT_ETHERNET;
	else if (type == TYPE_IP4 || type == TYPE_IP6 || type == TYPE_MPLS)
		decap_inner_type(ret, type);
	else if (control)
		ret->next = NEXT_OTHER;
	else
		decap_refuse(ret, REFUSED_GENEVE_PROTOCOL);
}

/* Version 1, type, encapsulation, then fields of tag, length and value up to the tag 1. Its port is
 * also one that hosts give to clients: what does not fit is another protocol. */
static void open_tzsp(struct bytes *bytes, struct decap_inner *ret)
{
	enum { TAG_PADDING = 0, TAG_END = 1, RECEIVED = 0, TO_SEND = 1, ETHERNET = 1 };
	const unsigned version = bytes_u8(bytes), type = bytes_u8(bytes);
	const unsigned encapsulation = bytes_be16(bytes);
	ret->layer = LAYER_TZSP;
	if (bytes_ok(bytes) && (version != 1 || type > TO_SEND)) {
		ret->next = NEXT_OTHER;
		return;
	}
	unsigned tag = bytes_u8(bytes);
	while (bytes_ok(bytes) && tag != TAG_END) {
		if (tag != TAG_PADDING)
			bytes_skip(bytes, bytes_u8(bytes));
		tag = bytes_u8(bytes);
	}
	if (!bytes_ok(bytes))
		return;
	if (encapsulation != ETHERNET) {
		decap_refuse(ret, REFUSED_TZSP_FRAME);
		return;
	}
	ret->mirror.layer = LAYER_TZSP;
	ret->next = NEXT_ETHERNET;
}

void decap_open(enum decap_tunnel tunnel, struct bytes *bytes, struct decap_inner *ret)
{
	static void (*const openers[TUNNEL_COUNT])(struct bytes *, struct decap_inner *) = {
		[TUNNEL_MPLS] = open_mpls,
		[TUNNEL_GRE] = open_gre,
		[TUNNEL_IP] = open_ip,
		[TUNNEL_SRV6_IP] = open_srv6_ip,
		[TUNNEL_SRV6_ETHERNET] = open_srv6_ethernet,
		[TUNNEL_ETHERIP] = open_etherip,
		[TUNNEL_VXLAN] = open_vxlan,
		[TUNNEL_VXLAN_OLD] = open_vxlan_old,
		[TUNNEL_VXLAN_GPE] = open_vxlan_gpe,
		[TUNNEL_GENEVE] = open_geneve,
		[TUNNEL_TZSP] = open_tzsp,
	};
	*ret = (struct decap_inner){.next = NEXT_SHORT};
	if ((unsigned)tunnel < TUNNEL_COUNT && openers[tunnel])
		openers[tunnel](bytes, ret);
}

/* decap_kind - names and words of what packets are carried in: see decap.h. */

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
