/* frame_count - counts of frames: by kind, by what they are carried in, and by what RoCE says in
 * them. */
#include "collectors/packet/frame/frame_count.h"

#include "base/bytes.h"

/* frame_census - the kind of a frame, from its outer headers. */

struct census_value {
	uint32_t value;
	enum census_kind kind;
};

/* IEEE 802 numbers, "IEEE 802 Numbers" registry of IANA */
static const struct census_value census_ethertypes[] = {
	{0x0806, CENSUS_ARP}, {0x88cc, CENSUS_LLDP}, {0x8809, CENSUS_LACP}};
/* "Protocol Numbers" registry of IANA */
static const struct census_value census_protocols[] = {{1, CENSUS_NEIGHBOR}, {58, CENSUS_NEIGHBOR},
	{89, CENSUS_OSPF}, {47, CENSUS_MIRROR}, {6, CENSUS_TCP}, {17, CENSUS_UDP}};
/* "Service Name and Transport Protocol Port Number" registry of IANA */
static const struct census_value census_tcp_ports[] = {{179, CENSUS_BGP}};
static const struct census_value census_udp_ports[] = {{67, CENSUS_DHCP}, {68, CENSUS_DHCP},
	{546, CENSUS_DHCP}, {547, CENSUS_DHCP}, {4789, CENSUS_MIRROR}, {6081, CENSUS_MIRROR}};

static enum census_kind census_find(
	const struct census_value *values, size_t n, uint32_t value, enum census_kind otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (values[i].value == value)
			return values[i].kind;
	return otherwise;
}

/* Either port may be the service's. */
static enum census_kind census_ports(const struct census_value *values, size_t n,
	struct bytes *bytes, enum census_kind otherwise)
{
	const uint16_t src = bytes_be16(bytes);
	const uint16_t dst = bytes_be16(bytes);
	if (!bytes_ok(bytes))
		return otherwise;
	return census_find(values, n, dst, census_find(values, n, src, otherwise));
}

static enum census_kind census_ip(struct bytes *bytes)
{
	const uint8_t first = bytes_u8(bytes);
	uint8_t protocol = 0;
	if (first >> 4 == 4) {
		bytes_skip(bytes, 8);
		protocol = bytes_u8(bytes);
		bytes_skip(bytes, (size_t)(first & 15) * 4 - 10);
	} else if (first >> 4 == 6) {
		bytes_skip(bytes, 5);
		protocol = bytes_u8(bytes);
		bytes_skip(bytes, 33);
	}
	const enum census_kind kind =
		census_find(census_protocols, rw_countof(census_protocols), protocol, CENSUS_IP);
	if (kind == CENSUS_TCP)
		return census_ports(census_tcp_ports, rw_countof(census_tcp_ports), bytes, kind);
	if (kind == CENSUS_UDP)
		return census_ports(census_udp_ports, rw_countof(census_udp_ports), bytes, kind);
	return kind;
}

static bool is_tag(uint16_t type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

static enum census_kind census_ethernet(struct bytes *bytes)
{
	bytes_skip(bytes, 12);
	uint16_t type = bytes_be16(bytes);
	while (is_tag(type)) {
		bytes_skip(bytes, 2);
		type = bytes_be16(bytes);
	}
	if (!bytes_ok(bytes))
		return CENSUS_OTHER;
	/* a length: 802.2, which spanning tree still uses (IEEE 802.1Q) */
	if (type < 0x0600 && bytes_u8(bytes) == 0x42)
		return CENSUS_STP;
	if (type == 0x0800 || type == 0x86dd)
		return census_ip(bytes);
	return census_find(census_ethertypes, rw_countof(census_ethertypes), type, CENSUS_OTHER);
}

void frame_census_add(struct frame_census *census, const uint8_t *bytes, size_t n)
{
	struct bytes cursor = bytes_of(bytes, n);
	census->frames[census_ethernet(&cursor)]++;
}

const char *frame_census_name(enum census_kind kind)
{
	static const char *const names[] = {[CENSUS_ARP] = "arp",
		[CENSUS_LLDP] = "lldp",
		[CENSUS_LACP] = "lacp",
		[CENSUS_STP] = "stp",
		[CENSUS_BGP] = "bgp",
		[CENSUS_OSPF] = "ospf",
		[CENSUS_NEIGHBOR] = "icmp",
		[CENSUS_DHCP] = "dhcp",
		[CENSUS_MIRROR] = "tunnel",
		[CENSUS_TCP] = "tcp",
		[CENSUS_UDP] = "udp",
		[CENSUS_IP] = "ip",
		[CENSUS_OTHER] = "other"};
	return names[kind];
}

static bool same_mirror(const struct mirror_count *row, const struct roce_packet *packet)
{
	const struct decap_mirror *is = &row->mirror, *now = &packet->mirror;
	if (is->layer != now->layer || is->direction != now->direction ||
		is->has_session != now->has_session || is->session != now->session)
		return false;
	if (is->has_port != now->has_port || is->port != now->port)
		return false;
	return row->family == packet->outer_family &&
		memcmp(row->src, packet->outer_src, sizeof(row->src)) == 0;
}

/* The row of @packet's mirror, made if need be; NULL when there are too many. */
static struct mirror_count *find_mirror(
	struct encapsulation_count *count, const struct roce_packet *packet)
{
	uint32_t i = count->last_mirror;
	if (i < count->n_mirrors && same_mirror(&count->mirrors[i], packet))
		return &count->mirrors[i];
	for (i = 0; i < count->n_mirrors; i++)
		if (same_mirror(&count->mirrors[i], packet))
			break;
	if (i == MIRRORS_MAX)
		return NULL;
	struct mirror_count *row = &count->mirrors[i];
	if (i == count->n_mirrors) {
		row->mirror = packet->mirror;
		row->family = packet->outer_family;
		memcpy(row->src, packet->outer_src, sizeof(row->src));
		count->n_mirrors++;
	}
	count->last_mirror = i;
	return row;
}

void encapsulation_count_mirror(struct encapsulation_count *count, const struct roce_packet *packet)
{
	if (!packet->mirror.layer)
		return;
	struct mirror_count *row = find_mirror(count, packet);
	if (!row) {
		count->more_mirrors++;
		return;
	}
	row->packets++;
	row->cut += packet->inner_cut;
}

static void count_uet(struct encapsulation_count *count, const struct uet_packet *packet)
{
	count->uet[uet_class_of(packet->type)]++;
	count->uet_retransmitted += uet_retransmitted(packet);
	count->uet_nack_trimmed += uet_nack_trimmed(packet);
}

/* SRv6 with compressed segments needs no routing header: it looks like IPv6 in IPv6. */
static bool count_is_srv6(const struct roce_packet *packet)
{
	if (packet->kind != PACKET_ROCE)
		return false;
	const bool in_ipv6 = packet->layers >> LAYER_IPIP & 1 && packet->outer_family == 6 &&
		packet->family == 6;
	return in_ipv6 || packet->layers >> LAYER_SRV6 & 1;
}

void encapsulation_count_add(struct encapsulation_count *count, const struct roce_packet *packet)
{
	for (uint32_t layers = packet->layers; layers; layers &= layers - 1)
		count->by_layer[__builtin_ctz(layers)]++;
	count->inner_cut += packet->inner_cut;
	count->roce_srv6 += count_is_srv6(packet);
	count->trimmed += packet->trimmed;
	encapsulation_count_mirror(count, packet);
	if (packet->kind == PACKET_UET)
		count_uet(count, &packet->uet);
	if (packet->kind == PACKET_ENCAPSULATED)
		count->refused[packet->refusal]++;
}

/* roce_count - adds decoded frames to plain counts. */

static void count_roce(struct roce_count *count, const struct roce_packet *packet)
{
	count->roce_packets++;
	count->roce_octets += packet->octets;
	count->sampled_packets += packet->sampled;
	count->by_opcode[packet->opcode]++;
	count->ecn[packet->ecn]++;
	count->icrc[packet->icrc]++;
	count->cnp += roce_is_cnp(packet);
	const bool data = packet->payload_bytes > 0;
	count->data_packets += data;
	count->data_not_ect += data && packet->ecn == ECN_NOT_ECT;
	count->rnr_nak += roce_is_rnr_nak(packet);
	count->aeth_cut += packet->aeth_cut;
	if (roce_is_nak(packet)) {
		count->nak++;
		count->nak_code[packet->syndrome & 31]++;
	}
	uint8_t *seen = &count->udp_port_seen[packet->src_port / 8],
		bit = (uint8_t)(1u << packet->src_port % 8);
	count->udp_source_ports += !(*seen & bit);
	*seen |= bit;
}

static void count_pfc(struct roce_count *count, const struct roce_packet *packet)
{
	count->pfc_frames++;
	for (int i = 0; i < 8; i++)
		if (packet->classes >> i & 1) {
			count->pfc_xoff[i] += packet->time[i] > 0;
			count->pfc_xon[i] += packet->time[i] == 0;
			count->pfc_quanta[i] += packet->time[i];
		}
}

void roce_count_copy(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns)
{
	if (count->packets == 0 || t_ns < count->first_ns)
		count->first_ns = t_ns;
	if (count->packets == 0 || t_ns > count->last_ns)
		count->last_ns = t_ns;
	if (packet->sampled)
		return;
	count->packets++;
	count->octets += packet->frame_octets;
}

void roce_count_add(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns)
{
	roce_count_copy(count, packet, t_ns);
	switch (packet->kind) {
	case PACKET_ROCE: count_roce(count, packet); break;
	case PACKET_ROCEV1: count->rocev1_packets++; break;
	case PACKET_PFC: count_pfc(count, packet); break;
	case PACKET_PAUSE: count->pause_frames++; break;
	case PACKET_BAD: count->errors[packet->error]++; break;
	case PACKET_SFLOW:
	case PACKET_UET:
	case PACKET_ENCAPSULATED: /* encapsulation_count has them */
	case PACKET_OTHER: break;
	}
}

uint64_t roce_count_bad(const struct roce_count *count)
{
	uint64_t bad = 0;
	for (int error = 0; error < ROCE_ERROR_COUNT; error++)
		bad += count->errors[error];
	return bad;
}

/* Opcodes begin with the transport service in three bits, 0 = reliable connection (InfiniBand
 * Architecture Specification, section 9.2.1). */
enum { RELIABLE_OPCODES = 32 };

uint64_t roce_count_requests(const struct roce_count *count)
{
	uint64_t n = 0;
	for (int opcode = 0; opcode < RELIABLE_OPCODES; opcode++)
		if (roce_opcode_role((uint8_t)opcode) == ROLE_REQUEST)
			n += count->by_opcode[opcode];
	return n;
}

uint64_t roce_count_answers(const struct roce_count *count)
{
	uint64_t n = 0;
	for (int opcode = 0; opcode < RELIABLE_OPCODES; opcode++) {
		const enum roce_role role = roce_opcode_role((uint8_t)opcode);
		if (role != ROLE_REQUEST && role != ROLE_NONE)
			n += count->by_opcode[opcode];
	}
	return n;
}
