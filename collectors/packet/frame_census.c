/* frame_census - the kind of a frame, from its outer headers. */
#include "collectors/packet/frame_census.h"

#include <stdbool.h>

#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"

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
