/* pcap_document - the frame of the document of a capture; pcap_parts.h has its parts. */
#include "agent/capture/pcap_document.h"

#include <netinet/in.h>

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"
#include "agent/capture/pcap_row.h"

/* ---- what is no RoCE: counters by number, and the names of frequent ones ---- */

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

/* The most frequent ones by name or number. The caller owns it; NULL when there was no such
 * frame. */
static json_t *pcap_other_json(const struct pcap_other *other)
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

/* ---- pcap_put_input -------------------------------------------------------- */

/* What was read, and what it holds beside RoCE: names of the files that were read;
 * pcap_put_findings() reports those that failed */
static void pcap_put_input(json_t *document, struct pcap_reading *reading)
{
	const struct pcap_input *input = &reading->input;
	json_t *other = pcap_other_json(&reading->other);
	json_object_set_new(document, "file", json_string_or_null(input->name));
	if (other)
		json_object_set_new(document, "other", other);
	if (input->live) {
		pcap_count_put(document, "kernel_drops", input->kernel_drops);
		return;
	}
	json_t *files = json_array();
	for (size_t i = 0; i < input->n_files; i++)
		json_array_append_new(files, json_string_or_null(input->files[i]));
	json_object_set_new(document, "files", files);
}

/* ---- pcap_put_packets ------------------------------------------------------ */

static json_t *json_opcodes(const struct roce_count *count)
{
	json_t *o = json_object();
	char name[ROCE_OPCODE_TEXT_MAX];
	for (unsigned i = 0; i < 256; i++)
		if (count->by_opcode[i])
			pcap_count_put(o, roce_opcode_text(name, (uint8_t)i), count->by_opcode[i]);
	return o;
}

static json_t *json_ecn(const struct roce_count *count)
{
	json_t *o = json_object();
	pcap_count_put(o, "not_ect", count->ecn[ECN_NOT_ECT]);
	pcap_count_put(o, "ect0", count->ecn[ECN_ECT0]);
	pcap_count_put(o, "ect1", count->ecn[ECN_ECT1]);
	pcap_count_put(o, "ce", count->ecn[ECN_CE]);
	return o;
}

/*
 * json_share - @part of @n with its 95 % Wilson score interval (E. B. Wilson, "Probable inference,
 * the law of succession, and statistical inference", J. Am. Stat. Assoc. 22, 1927). It takes
 * packets for independent. Marks in a burst are not: the true interval is wider.
 */
static json_t *json_share(uint64_t part, uint64_t n)
{
	const double z = 1.959964; /* the normal distribution's 97.5 % point */
	const double count = (double)n;
	double ratio = NAN, low = NAN, high = NAN;
	if (n) {
		ratio = (double)part / count;
		const double spread =
			sqrt(ratio * (1 - ratio) / count + z * z / (4 * count * count));
		const double scale = 1 + z * z / count;
		const double middle = (ratio + z * z / (2 * count)) / scale;
		const double half = z / scale * spread;
		low = fmax(0, middle - half);
		high = fmin(1, middle + half);
	}
	json_t *o = json_object();
	json_object_set_new(o, "ratio", json_number_or_null(ratio));
	json_object_set_new(o, "low_ratio", json_number_or_null(low));
	json_object_set_new(o, "high_ratio", json_number_or_null(high));
	pcap_count_put(o, "n", n);
	return o;
}

static json_t *json_errors(const struct roce_count *count)
{
	json_t *o = json_object();
	for (int i = 1; i < ROCE_ERROR_COUNT; i++)
		if (count->errors[i])
			pcap_count_put(o, roce_error_name((enum roce_error)i), count->errors[i]);
	return o;
}

static json_t *json_icrc(const struct roce_count *count)
{
	json_t *o = json_object();
	pcap_count_put(o, "ok", count->icrc[ICRC_OK]);
	pcap_count_put(o, "bad", count->icrc[ICRC_BAD]);
	pcap_count_put(o, "unchecked", count->icrc[ICRC_UNCHECKED]);
	return o;
}

/* packets_put_time - the time of the first and of the last packet; null without packets. */
static void packets_put_time(json_t *o, const struct roce_count *count)
{
	if (count->packets == 0) {
		json_object_set_new(o, "from", json_null());
		json_object_set_new(o, "to", json_null());
		json_object_set_new(o, "duration_s", json_real(0));
		return;
	}
	json_object_set_new(o, "from", json_time(count->first_ns));
	json_object_set_new(o, "to", json_time(count->last_ns));
	json_object_set_new(
		o, "duration_s", json_real((double)(count->last_ns - count->first_ns) / 1e9));
}

static void packets_put_counts(json_t *o, const struct roce_count *count)
{
	pcap_count_put(o, "packets", count->packets);
	pcap_count_put(o, "roce_packets", count->roce_packets);
	pcap_count_put(o, "rocev1_packets", count->rocev1_packets);
	json_object_set_new(o, "by_opcode", json_opcodes(count));
	json_object_set_new(o, "ecn", json_ecn(count));
	pcap_count_put(o, "cnp", count->cnp);
	pcap_count_put(o, "nak", count->nak);
	pcap_count_put(o, "rnr_nak", count->rnr_nak);
	pcap_count_put(o, "pfc_frames", count->pfc_frames);
	pcap_count_put(o, "pause_frames", count->pause_frames);
}

/* what was captured: frames, opcodes, ECN, ICRC, errors, time */
static void pcap_put_packets(json_t *document, struct pcap_reading *reading)
{
	const struct roce_count *count = &reading->analysis.count;
	const uint64_t ce = count->ecn[ECN_CE];
	const uint64_t capable = ce + count->ecn[ECN_ECT0] + count->ecn[ECN_ECT1];
	packets_put_counts(document, count);
	json_object_set_new(document, "icrc", json_icrc(count));
	json_object_set_new(document, "errors", json_errors(count));
	packets_put_time(document, count);
	pcap_count_put(document, "octets", count->octets);
	pcap_count_put(document, "roce_octets", count->roce_octets);
	json_object_set_new(document, "ce_share", json_share(ce, capable));
}

/* ---- pcap_put_copies ------------------------------------------------------- */

/* What a person would call each way in which copies differ from their packets. */
static const char *const copies_come[COPY_FROM_COUNT] = {
	[COPY_UNKNOWN] =
		("the capture shows no difference between a packet and its copy: a mirror of "
		 "both directions, or of two ports on one path"),
	[COPY_DIRECTION] = "packets were captured on their way in and on their way out",
	[COPY_INTERFACE] = "packets were captured on more than one interface",
	[COPY_MIRROR] = "packets were captured in more than one mirror session",
	[COPY_TTL] = "packets were captured before and after a hop that routes them",
	[COPY_VLAN] = "packets were captured with different VLAN tags",
};

/* packets that were captured more than once */
static void pcap_put_copies(json_t *document, struct pcap_reading *reading)
{
	static const struct copies_count none;
	const struct copies_count *count = &none;
	if (reading->analysis.copies)
		count = copies_count(reading->analysis.copies);
	json_t *o = json_object();
	json_object_set_new(o, "packets", json_null());
	json_object_set_new(o, "share_ratio", json_null());
	json_object_set_new(o, "from", json_null());
	json_object_set_new(o, "text", json_null());
	json_object_set_new(document, "copies", o);
	if (pcap_psn_cut(reading)) {
		json_object_set_new(o, "text",
			json_string("many packets end before their PSN: copies of them cannot be "
				    "told from other packets"));
		return;
	}
	pcap_count_put(o, "packets", count->packets);
	if (count->of)
		json_object_set_new(
			o, "share_ratio", json_real((double)count->packets / (double)count->of));
	if (count->packets == 0)
		return;
	enum copy_from most = COPY_UNKNOWN;
	for (int i = 0; i < COPY_FROM_COUNT; i++)
		if (count->from[i] > count->from[most])
			most = (enum copy_from)i;
	json_object_set_new(o, "from", json_string(copy_from_word(most)));
	json_object_set_new(o, "text", json_string(copies_come[most]));
	json_object_set_new(o, "delay_mean_s",
		json_real((double)count->delay_sum_ns / (double)count->packets / 1e9));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_COPIES,
		"%llu of %llu RoCEv2 packets are copies and are counted apart: %s",
		(unsigned long long)count->packets, (unsigned long long)count->of,
		copies_come[most]);
	pcap_count_put(row, "n", count->packets);
}

/* ---- pcap_document --------------------------------------------------------- */

json_t *pcap_document(struct pcap_reading *reading)
{
	capture_analysis_flush(&reading->analysis);
	json_t *o = json_object();
	pcap_put_input(o, reading);
	json_object_set_new(o, "verdicts", json_array());
	pcap_put_packets(o, reading);
	pcap_put_encapsulation(o, reading);
	pcap_put_entropy(o, reading);
	pcap_put_copies(o, reading);
	pcap_put_loss(o, reading);
	pcap_put_time(o, reading);
	pcap_put_reaction(o, reading);
	pcap_put_pause(o, reading);
	pcap_put_rhythm(o, reading);
	pcap_put_sflow(o, reading);
	pcap_put_findings(o, reading); /* the last one: it reads what the others put */
	pcap_verdict_sort(o);
	return o;
}
