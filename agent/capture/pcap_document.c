/* pcap_document - the JSON document of a capture. */
#include "agent/capture/pcap_document.h"

#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/document/json_value.h"

void pcap_count_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

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

static json_t *json_naks(const struct roce_count *count)
{
	json_t *o = json_object();
	for (unsigned i = 0; i < 32; i++) {
		if (!count->nak_code[i])
			continue;
		/* reserved codes share one text */
		const char *text = aeth_nak_text((uint8_t)i);
		const json_int_t before = json_integer_value(json_object_get(o, text));
		pcap_count_put(o, text, count->nak_code[i] + (uint64_t)before);
	}
	return o;
}

static json_t *json_pfc(const struct roce_count *count)
{
	json_t *a = json_array();
	for (int i = 0; i < 8; i++) {
		if (count->pfc_xoff[i] + count->pfc_xon[i] == 0)
			continue;
		json_t *o = json_object();
		pcap_count_put(o, "priority", (uint64_t)i);
		pcap_count_put(o, "xoff", count->pfc_xoff[i]);
		pcap_count_put(o, "xon", count->pfc_xon[i]);
		pcap_count_put(o, "quanta_max_sum", count->pfc_quanta[i]);
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *json_qp(const struct flow *flow)
{
	char src[INET6_ADDRSTRLEN] = "", dst[INET6_ADDRSTRLEN] = "";
	int family = AF_INET6;
	if (flow->key.family == 4)
		family = AF_INET;
	inet_ntop(family, flow->key.src, src, sizeof(src));
	inet_ntop(family, flow->key.dst, dst, sizeof(dst));
	json_t *o = json_object();
	json_object_set_new(o, "src", json_string(src));
	json_object_set_new(o, "dst", json_string(dst));
	pcap_count_put(o, "dst_qp", flow->key.dst_qp);
	pcap_count_put(o, "packets", flow->packets);
	pcap_count_put(o, "octets", flow->octets);
	pcap_count_put(o, "psn_first", flow->psn_first);
	pcap_count_put(o, "psn_last", flow->psn_last);
	pcap_count_put(o, "gaps", flow->psn.gaps);
	pcap_count_put(o, "duplicates", flow->psn.duplicates);
	pcap_count_put(o, "retransmits", flow->psn.retransmits);
	pcap_count_put(o, "ce", flow->ce);
	pcap_count_put(o, "cnp", flow->cnp_sent);
	if (flow->source_ports == 1)
		pcap_count_put(o, "src_port", flow->key.src_port);
	else
		json_object_set_new(o, "src_port", json_null());
	pcap_count_put(o, "source_ports", flow->source_ports);
	pcap_count_put(o, "missing", flow->psn.missing);
	pcap_count_put(o, "reordered", flow->psn.reordered);
	pcap_count_put(o, "restarts", flow->psn.restarts);
	pcap_count_put(o, "ect", flow->ect);
	pcap_count_put(o, "not_ect", flow->not_ect);
	pcap_count_put(o, "nak", flow->nak_sent);
	pcap_count_put(o, "rnr_nak", flow->rnr_nak_sent);
	pcap_count_put(o, "cnp_returned", flow->cnp_about);
	pcap_count_put(o, "nak_returned", flow->nak_about);
	pcap_count_put(o, "rnr_nak_returned", flow->rnr_nak_about);
	pcap_count_put(o, "payload_bytes", flow->payload_bytes);
	pcap_count_put(o, "burst_bps", flow->burst_octets * 8000);
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

static void put_packets(json_t *o, const struct roce_count *count)
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

static json_t *json_icrc(const struct roce_count *count)
{
	json_t *o = json_object();
	pcap_count_put(o, "ok", count->icrc[ICRC_OK]);
	pcap_count_put(o, "bad", count->icrc[ICRC_BAD]);
	pcap_count_put(o, "unchecked", count->icrc[ICRC_UNCHECKED]);
	return o;
}

/* pcap_put_time - the time of the first and of the last packet; null without packets. */
static void pcap_put_time(json_t *o, const struct roce_count *count)
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

/* put_qps - one row per queue pair. Returns the packets that came late, over all of them. */
static uint64_t put_qps(json_t *o, const struct flow_table *flows)
{
	size_t n;
	uint64_t reordered = 0;
	rw_cleanup(freep) struct flow *qps = flow_table_qps(flows, &n);
	json_t *rows = json_array();
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(rows, json_qp(&qps[i]));
		reordered += qps[i].psn.reordered;
	}
	json_object_set_new(o, "qps", rows);
	return reordered;
}

/* The step and who finishes it last; nothing where the capture shows no step. */
static void put_rhythm(json_t *object, struct pcap_rhythm *rhythm)
{
	char address[INET6_ADDRSTRLEN];
	struct pcap_rhythm_found found;
	pcap_rhythm_find(rhythm, &found);
	if (!found.found)
		return;
	json_t *o = json_object();
	json_object_set_new(o, "step_s", json_real(found.step_s));
	json_object_set_new(o, "exchange_s", json_real(found.exchange_s));
	json_object_set_new(o, "confidence_ratio", json_real(found.confidence_ratio));
	pcap_count_put(o, "steps", found.steps);
	pcap_count_put(o, "sources", found.sources);
	json_t *last = json_null();
	if (found.last_known) {
		int family = AF_INET6;
		if (found.last_family == 4)
			family = AF_INET;
		inet_ntop(family, found.last_src, address, sizeof(address));
		last = json_object();
		json_object_set_new(last, "src", json_string(address));
		json_object_set_new(last, "later_by_s", json_real(found.last_by_s));
		json_object_set_new(last, "share", json_real(found.last_share));
	}
	json_object_set_new(o, "last_finisher", last);
	json_object_set_new(object, "rhythm", o);
}

json_t *pcap_document(struct pcap_reading *reading, const char *file)
{
	const struct roce_count *count = &reading->analysis.count;
	const uint64_t ce = count->ecn[ECN_CE];
	const uint64_t capable = ce + count->ecn[ECN_ECT0] + count->ecn[ECN_ECT1];
	struct flow_totals totals;
	flow_table_totals(reading->analysis.flows, &totals);
	double n_eff = NAN;
	if (totals.sum_sq_octets > 0)
		n_eff = flow_n_eff(totals.sum_octets, totals.sum_sq_octets);

	json_t *o = json_object();
	json_object_set_new(o, "file", json_string_or_null(file));
	put_packets(o, count);
	pcap_count_put(o, "five_tuples", totals.five_tuples);
	pcap_count_put(o, "udp_source_ports", count->udp_source_ports);
	json_object_set_new(o, "icrc", json_icrc(count));
	const uint64_t reordered = put_qps(o, reading->analysis.flows);
	json_t *errors = json_errors(count);
	if (totals.refused)
		pcap_count_put(errors, "flow_table_full", totals.refused);
	json_object_set_new(o, "errors", errors);
	pcap_put_time(o, count);
	pcap_count_put(o, "octets", count->octets);
	pcap_count_put(o, "roce_octets", count->roce_octets);
	pcap_count_put(o, "flows", totals.flows);
	json_object_set_new(o, "n_eff", json_number_or_null(n_eff));
	json_object_set_new(o, "ce_share", json_share(ce, capable));
	json_object_set_new(o, "nak_codes", json_naks(count));
	json_object_set_new(o, "pfc", json_pfc(count));
	pcap_count_put(o, "gaps", totals.psn.gaps);
	pcap_count_put(o, "missing", totals.psn.missing);
	pcap_count_put(o, "duplicates", totals.psn.duplicates);
	pcap_count_put(o, "retransmits", totals.psn.retransmits);
	pcap_count_put(o, "reordered", reordered);
	pcap_count_put(o, "unattributed", totals.unattributed);
	pcap_count_put(o, "burst_bps", totals.burst_octets * 8000);
	put_rhythm(o, reading->rhythm);
	return o;
}
