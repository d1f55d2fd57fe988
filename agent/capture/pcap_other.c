/* pcap_other - counters by number, and the names of frequent ones. */
#include "agent/capture/pcap_other.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "agent/capture/pcap_value.h"

enum { OTHER_TOP = 8, ETHERTYPE_LEAST = 0x0600 };

struct other_name {
	uint32_t number;
	const char *name;
};

/* IEEE 802 numbers, IANA protocol and port numbers: those that are met in data centres. */
static const struct other_name ethertype_names[] = {{0x0806, "ARP"}, {0x88cc, "LLDP"},
	{0x8809, "LACP"}, {0x8906, "FCoE"}, {0x88e5, "MACsec"}, {0x88f7, "PTP"},
	{0x8870, "jumbo LLC"}, {0, "802.3 length"}};
static const struct other_name protocol_names[] = {{1, "ICMP"}, {2, "IGMP"}, {6, "TCP"},
	{17, "UDP"}, {47, "GRE"}, {50, "ESP"}, {58, "ICMPv6"}, {88, "EIGRP"}, {89, "OSPF"},
	{103, "PIM"}, {112, "VRRP"}, {132, "SCTP"}};
static const struct other_name port_names[] = {{22, "ssh"}, {53, "dns"}, {67, "dhcp"},
	{68, "dhcp client"}, {80, "http"}, {123, "ntp"}, {161, "snmp"}, {162, "snmp trap"},
	{179, "bgp"}, {319, "ptp event"}, {320, "ptp general"}, {443, "https"}, {514, "syslog"},
	{2049, "nfs"}, {3260, "iscsi"}, {3784, "bfd"}, {4420, "nvme-tcp"}, {4739, "ipfix"},
	{4789, "vxlan"}, {4791, "roce"}, {4793, "ultra ethernet"}, {6081, "geneve"},
	{6343, "sflow"}, {57400, "gnmi"}};

/* ---- counting ---------------------------------------------------------------------- */

static void other_count(uint64_t **counters, uint16_t number)
{
	if (!*counters)
		*counters = rw_calloc(OTHER_NUMBERS, sizeof(**counters));
	(*counters)[number]++;
}

void pcap_other_add(struct pcap_other *other, const struct roce_packet *packet)
{
	other->frames++;
	if (packet->family) {
		other->protocols[packet->ip_protocol]++;
		if (packet->ip_protocol == IPPROTO_UDP && packet->dst_port)
			other_count(&other->udp_ports, packet->dst_port);
		if (packet->ip_protocol == IPPROTO_TCP && packet->dst_port)
			other_count(&other->tcp_ports, packet->dst_port);
		return;
	}
	/* smaller numbers are lengths of 802.3 */
	if (packet->ethertype < ETHERTYPE_LEAST)
		other_count(&other->ethertypes, 0);
	else
		other_count(&other->ethertypes, packet->ethertype);
}

void pcap_other_end(struct pcap_other *other)
{
	free(other->ethertypes);
	free(other->udp_ports);
	free(other->tcp_ports);
	*other = (struct pcap_other){0};
}

/* ---- telling ------------------------------------------------------------------------- */

static void other_put_one(json_t *o, uint32_t number, bool hex, const struct other_name *names,
	size_t n_names, uint64_t count)
{
	char text[64];
	int n;
	if (hex)
		n = snprintf(text, sizeof(text), "0x%04x", number);
	else
		n = snprintf(text, sizeof(text), "%u", number);
	for (size_t i = 0; i < n_names; i++)
		if (names[i].number == number)
			snprintf(text + n, sizeof(text) - (size_t)n, " (%s)", names[i].name);
	pcap_count_put(o, text, count);
}

/* other_top - the OTHER_TOP largest of @counters, the largest first. */
static json_t *other_top(const uint64_t *counters, uint32_t n, bool hex,
	const struct other_name *names, size_t n_names)
{
	uint32_t top[OTHER_TOP], found = 0;
	for (uint32_t i = 0; counters && i < n; i++) {
		if (!counters[i] || (found == OTHER_TOP && counters[top[found - 1]] >= counters[i]))
			continue;
		uint32_t at = found < OTHER_TOP ? found++ : found - 1;
		for (; at > 0 && counters[top[at - 1]] < counters[i]; at--)
			top[at] = top[at - 1];
		top[at] = i;
	}
	json_t *o = json_object();
	for (uint32_t k = 0; k < found; k++)
		other_put_one(o, top[k], hex, names, n_names, counters[top[k]]);
	return o;
}

json_t *pcap_other_json(const struct pcap_other *other)
{
	if (!other->frames)
		return NULL;
	json_t *o = json_object();
	pcap_count_put(o, "frames", other->frames);
	json_object_set_new(o, "ethertypes",
		other_top(other->ethertypes, OTHER_NUMBERS, true, ethertype_names,
			rw_countof(ethertype_names)));
	json_object_set_new(o, "ip_protocols",
		other_top(
			other->protocols, 256, false, protocol_names, rw_countof(protocol_names)));
	json_object_set_new(o, "udp_ports",
		other_top(other->udp_ports, OTHER_NUMBERS, false, port_names,
			rw_countof(port_names)));
	json_object_set_new(o, "tcp_ports",
		other_top(other->tcp_ports, OTHER_NUMBERS, false, port_names,
			rw_countof(port_names)));
	return o;
}
