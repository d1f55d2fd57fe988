/*
 * cmd_pcap - "rocewatch pcap FILE..." and "rocewatch pcap -i IFACE": what RoCEv2 did in a capture.
 * Needs no configuration and no database. The document is made first (metrics.md, `pcap`), the text
 * report is one way to print it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/document/json_value.h"
#include "analyzers/measure/chance.h"
#include "collectors/packet/flow_table.h"
#include "collectors/packet/pcap.h"
#include "collectors/packet/pcap_file.h"
#include "collectors/packet/roce_count.h"

enum { TEXT_QPS = 20, TEXT_STORIES = 5 };

struct analysis {
	struct roce_count count;
	struct flow_table *flows;
};

static struct analysis *analysis_new(void)
{
	struct analysis *a = rw_calloc(1, sizeof(*a));
	uint64_t seed = 0;
	/* a file must not be able to aim at one hash slot */
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	a->flows = flow_table_new(FLOW_TABLE_FILE_LIMIT, 1, seed);
	return a;
}

static void analysis_freep(struct analysis **analysis)
{
	if (!*analysis)
		return;
	flow_table_free((*analysis)->flows);
	free(*analysis);
}

static void analysis_packet(void *arg, const struct roce_packet *packet, int64_t t_ns)
{
	struct analysis *a = arg;
	roce_count_add(&a->count, packet, t_ns);
	if (packet->kind == PACKET_ROCE)
		flow_table_add(a->flows, packet, t_ns);
}

/* ---- the document -------------------------------------------------------- */

static void cmd_pcap_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *json_opcodes(const struct roce_count *count)
{
	json_t *o = json_object();
	char name[ROCE_OPCODE_TEXT_MAX];
	for (unsigned i = 0; i < 256; i++)
		if (count->by_opcode[i])
			cmd_pcap_put(o, roce_opcode_text(name, (uint8_t)i), count->by_opcode[i]);
	return o;
}

static json_t *json_ecn(const struct roce_count *count)
{
	json_t *o = json_object();
	cmd_pcap_put(o, "not_ect", count->ecn[ECN_NOT_ECT]);
	cmd_pcap_put(o, "ect0", count->ecn[ECN_ECT0]);
	cmd_pcap_put(o, "ect1", count->ecn[ECN_ECT1]);
	cmd_pcap_put(o, "ce", count->ecn[ECN_CE]);
	return o;
}

/*
 * Wilson score interval, 95 %, of @part in @n. Wilson, J. Am. Stat. Assoc. 22 (1927). Takes packets
 * for independent, which marks in a burst are not: the true interval is wider.
 */
static json_t *json_share(uint64_t part, uint64_t n)
{
	json_t *o = json_object();
	double z = 1.959964;
	double p = NAN;
	if (n)
		p = (double)part / (double)n;
	double d = 1 + z * z / (double)n;
	double middle = (p + z * z / (2 * (double)n)) / d,
	       half = z / d * sqrt(p * (1 - p) / (double)n + z * z / (4 * (double)n * (double)n));
	json_object_set_new(o, "ratio", json_number_or_null(p));
	json_object_set_new(o, "low_ratio", json_number_or_null(n ? fmax(0, middle - half) : NAN));
	json_object_set_new(o, "high_ratio", json_number_or_null(n ? fmin(1, middle + half) : NAN));
	cmd_pcap_put(o, "n", n);
	return o;
}

static json_t *json_naks(const struct roce_count *count)
{
	json_t *o = json_object();
	for (unsigned i = 0; i < 32; i++)
		if (count->nak_code[i]) {
			const char *text = aeth_nak_text((uint8_t)i);
			cmd_pcap_put(o, text,
				count->nak_code[i] +
					(uint64_t)json_integer_value(json_object_get(o, text)));
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
		cmd_pcap_put(o, "priority", (uint64_t)i);
		cmd_pcap_put(o, "xoff", count->pfc_xoff[i]);
		cmd_pcap_put(o, "xon", count->pfc_xon[i]);
		cmd_pcap_put(o, "quanta_max_sum", count->pfc_quanta[i]);
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
	cmd_pcap_put(o, "dst_qp", flow->key.dst_qp);
	cmd_pcap_put(o, "packets", flow->packets);
	cmd_pcap_put(o, "octets", flow->octets);
	cmd_pcap_put(o, "psn_first", flow->psn_first);
	cmd_pcap_put(o, "psn_last", flow->psn_last);
	cmd_pcap_put(o, "gaps", flow->psn.gaps);
	cmd_pcap_put(o, "duplicates", flow->psn.duplicates);
	cmd_pcap_put(o, "retransmits", flow->psn.retransmits);
	cmd_pcap_put(o, "ce", flow->ce);
	cmd_pcap_put(o, "cnp", flow->cnp_sent);
	/* beyond the contract */
	json_object_set_new(o, "src_port",
		flow->source_ports == 1 ? json_integer(flow->key.src_port) : json_null());
	cmd_pcap_put(o, "source_ports", flow->source_ports);
	cmd_pcap_put(o, "missing", flow->psn.missing);
	cmd_pcap_put(o, "reordered", flow->psn.reordered);
	cmd_pcap_put(o, "restarts", flow->psn.restarts);
	cmd_pcap_put(o, "ect", flow->ect);
	cmd_pcap_put(o, "not_ect", flow->not_ect);
	cmd_pcap_put(o, "nak", flow->nak_sent);
	cmd_pcap_put(o, "rnr_nak", flow->rnr_nak_sent);
	cmd_pcap_put(o, "cnp_returned", flow->cnp_about);
	cmd_pcap_put(o, "nak_returned", flow->nak_about);
	cmd_pcap_put(o, "rnr_nak_returned", flow->rnr_nak_about);
	cmd_pcap_put(o, "payload_bytes", flow->payload_bytes);
	cmd_pcap_put(o, "burst_bps", flow->burst_octets * 8000);
	return o;
}

static json_t *json_errors(const struct roce_count *count)
{
	json_t *o = json_object();
	for (int i = 1; i < ROCE_ERROR_COUNT; i++)
		if (count->errors[i])
			cmd_pcap_put(o, roce_error_name((enum roce_error)i), count->errors[i]);
	return o;
}

static json_t *analysis_json(struct analysis *analysis, const char *file)
{
	const struct roce_count *c = &analysis->count;
	struct flow_totals s;
	flow_table_totals(analysis->flows, &s);
	json_t *o = json_object();
	json_object_set_new(o, "file", json_string_or_null(file));
	cmd_pcap_put(o, "packets", c->packets);
	cmd_pcap_put(o, "roce_packets", c->roce_packets);
	cmd_pcap_put(o, "rocev1_packets", c->rocev1_packets);
	json_object_set_new(o, "by_opcode", json_opcodes(c));
	json_object_set_new(o, "ecn", json_ecn(c));
	cmd_pcap_put(o, "cnp", c->cnp);
	cmd_pcap_put(o, "nak", c->nak);
	cmd_pcap_put(o, "rnr_nak", c->rnr_nak);
	cmd_pcap_put(o, "pfc_frames", c->pfc_frames);
	cmd_pcap_put(o, "pause_frames", c->pause_frames);
	cmd_pcap_put(o, "five_tuples", s.five_tuples);
	cmd_pcap_put(o, "udp_source_ports", c->udp_source_ports);
	json_t *icrc = json_object();
	cmd_pcap_put(icrc, "ok", c->icrc[ICRC_OK]);
	cmd_pcap_put(icrc, "bad", c->icrc[ICRC_BAD]);
	cmd_pcap_put(icrc, "unchecked", c->icrc[ICRC_UNCHECKED]);
	json_object_set_new(o, "icrc", icrc);

	size_t n;
	rw_cleanup(freep) struct flow *qps = flow_table_qps(analysis->flows, &n);
	json_t *rows = json_array();
	struct psn_counts psn = {0};
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(rows, json_qp(&qps[i]));
		psn.reordered += qps[i].psn.reordered;
	}
	json_object_set_new(o, "qps", rows);
	json_t *errors = json_errors(c);
	if (s.refused)
		cmd_pcap_put(errors, "flow_table_full", s.refused);
	json_object_set_new(o, "errors", errors);

	/* beyond the contract */
	json_object_set_new(o, "from", c->packets ? json_time(c->first_ns) : json_null());
	json_object_set_new(o, "to", c->packets ? json_time(c->last_ns) : json_null());
	json_object_set_new(o, "duration_s",
		json_real(c->packets ? (double)(c->last_ns - c->first_ns) / 1e9 : 0));
	cmd_pcap_put(o, "octets", c->octets);
	cmd_pcap_put(o, "roce_octets", c->roce_octets);
	cmd_pcap_put(o, "flows", s.flows);
	json_object_set_new(o, "n_eff",
		json_number_or_null(
			s.sum_sq_octets > 0 ? flow_n_eff(s.sum_octets, s.sum_sq_octets) : NAN));
	json_object_set_new(o, "ce_share",
		json_share(c->ecn[ECN_CE], c->ecn[ECN_CE] + c->ecn[ECN_ECT0] + c->ecn[ECN_ECT1]));
	json_object_set_new(o, "nak_codes", json_naks(c));
	json_object_set_new(o, "pfc", json_pfc(c));
	cmd_pcap_put(o, "gaps", s.psn.gaps);
	cmd_pcap_put(o, "missing", s.psn.missing);
	cmd_pcap_put(o, "duplicates", s.psn.duplicates);
	cmd_pcap_put(o, "retransmits", s.psn.retransmits);
	cmd_pcap_put(o, "reordered", psn.reordered);
	cmd_pcap_put(o, "unattributed", s.unattributed);
	cmd_pcap_put(o, "burst_bps", s.burst_octets * 8000);
	return o;
}

/* ---- text ---------------------------------------------------------------- */

static uint64_t cmd_pcap_get(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}
static const char *get_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "-";
}

/* 1234567 -> "1,234,567" */
#define NUMBER_MAX 32
static const char *cmd_pcap_number(char buf[NUMBER_MAX], uint64_t value)
{
	char digits[NUMBER_MAX];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value), k = 0;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

static void text_rate(FILE *out, int width, uint64_t bps)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	double v = (double)bps;
	size_t i = 0;
	for (; v >= 1000 && i + 1 < rw_countof(units); i++)
		v /= 1000;
	fprintf(out, "%*.4g %s", width, v, units[i]);
}

/* Name and count of each member, most first. */
static void text_counts(FILE *out, const char *label, const json_t *object)
{
	size_t n = json_object_size(object), done = 0;
	if (n == 0)
		return;
	fprintf(out, "  %-9s", label);
	/* Selection by repeated search: there are a few dozen opcodes at most. */
	uint64_t last = UINT64_MAX;
	while (done < n) {
		uint64_t best = 0;
		const char *key;
		json_t *v;
		json_object_foreach ((json_t *)object, key, v) {
			uint64_t x = (uint64_t)json_integer_value(v);
			if (x < last && x > best)
				best = x;
		}
		json_object_foreach ((json_t *)object, key, v)
			if ((uint64_t)json_integer_value(v) == best) {
				char buf[NUMBER_MAX];
				fprintf(out, "%s%s %s", str_if(done++, ", "), key,
					cmd_pcap_number(buf, best));
			}
		last = best;
	}
	fputc('\n', out);
}

static void text_entropy(FILE *out, const json_t *document)
{
	double n_eff = json_real_value(json_object_get(document, "n_eff"));
	fprintf(out,
		"  entropy  %" PRIu64 " five-tuples on %" PRIu64
		" UDP source ports spread like %.1f equal flows",
		cmd_pcap_get(document, "five_tuples"), cmd_pcap_get(document, "udp_source_ports"),
		n_eff);
	struct chance two, eight;
	if (chance_baseline(2, n_eff, &two) == 0 && chance_baseline(8, n_eff, &eight) == 0)
		fprintf(out,
			": by chance alone the fullest of 2 uplinks carries %.0f %% more than the "
			"mean; of 8 uplinks, %.0f %%",
			two.mean * 100, eight.mean * 100);
	fputc('\n', out);
}

static void text_ecn(FILE *out, const json_t *document)
{
	const json_t *ecn = json_object_get(document, "ecn"),
		     *share = json_object_get(document, "ce_share");
	char a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX];
	fprintf(out, "  ecn      ");
	if (cmd_pcap_get(share, "n"))
		fprintf(out, "CE on %.2f %% of %s ECN-capable packets (95 %%: %.2f..%.2f %%), ",
			json_real_value(json_object_get(share, "ratio")) * 100,
			cmd_pcap_number(a, cmd_pcap_get(share, "n")),
			json_real_value(json_object_get(share, "low_ratio")) * 100,
			json_real_value(json_object_get(share, "high_ratio")) * 100);
	fprintf(out, "not ECN-capable %s, CNPs %s\n",
		cmd_pcap_number(b, cmd_pcap_get(ecn, "not_ect")),
		cmd_pcap_number(c, cmd_pcap_get(document, "cnp")));
	if (cmd_pcap_get(ecn, "ce") && !cmd_pcap_get(document, "cnp"))
		fprintf(out,
			"           marks but no CNP here: they return the other way, or the "
			"receiver sends none\n");
}

/* Which side of the capture point lost it follows from what was seen of the sequence. */
static const char *loss_story(const json_t *quality)
{
	if (cmd_pcap_get(quality, "gaps") && cmd_pcap_get(quality, "retransmits"))
		return "lost before this point, and sent again";
	if (cmd_pcap_get(quality, "gaps")) {
		if (cmd_pcap_get(quality, "reordered"))
			return "out of order";
		return "missing here and not sent again: lost by the capture, or an unreliable "
		       "transport";
	}
	if (cmd_pcap_get(quality, "retransmits")) {
		if (cmd_pcap_get(quality, "nak_returned"))
			return "lost beyond this point: nothing was missing here";
		return "sent again without a gap here: loss beyond this point, or an "
		       "acknowledgement that was lost or late";
	}
	if (cmd_pcap_get(quality, "nak_returned"))
		return "refused by the receiver";
	return "";
}

static void text_loss(FILE *out, const json_t *document)
{
	char a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX], e[NUMBER_MAX], f[NUMBER_MAX];
	fprintf(out,
		"  sequence %s gaps (%s PSNs missing), %s retransmitted, %s duplicates, %s "
		"reordered",
		cmd_pcap_number(a, cmd_pcap_get(document, "gaps")),
		cmd_pcap_number(b, cmd_pcap_get(document, "missing")),
		cmd_pcap_number(c, cmd_pcap_get(document, "retransmits")),
		cmd_pcap_number(e, cmd_pcap_get(document, "duplicates")),
		cmd_pcap_number(f, cmd_pcap_get(document, "reordered")));
	fprintf(out, "; %s NAKs, %s RNR NAKs\n", cmd_pcap_number(a, cmd_pcap_get(document, "nak")),
		cmd_pcap_number(b, cmd_pcap_get(document, "rnr_nak")));
	text_counts(out, "naks", json_object_get(document, "nak_codes"));
	size_t i, shown = 0;
	json_t *q;
	json_array_foreach (json_object_get(document, "qps"), i, q) {
		const char *story = loss_story(q);
		if (!*story || shown++ >= TEXT_STORIES)
			continue;
		fprintf(out,
			"           %s -> %s QP 0x%06x: %" PRIu64 " gaps, %" PRIu64
			" retransmitted, %" PRIu64 " NAKs: %s\n",
			get_text(q, "src"), get_text(q, "dst"), (unsigned)cmd_pcap_get(q, "dst_qp"),
			cmd_pcap_get(q, "gaps"), cmd_pcap_get(q, "retransmits"),
			cmd_pcap_get(q, "nak_returned"), story);
	}
	if (shown > TEXT_STORIES)
		fprintf(out, "           and %zu more queue pairs\n", shown - TEXT_STORIES);
}

static void text_pfc(FILE *out, const json_t *document)
{
	if (cmd_pcap_get(document, "pfc_frames") + cmd_pcap_get(document, "pause_frames") == 0)
		return;
	fprintf(out, "  pause    %" PRIu64 " PFC frames, %" PRIu64 " 802.3x pause frames",
		cmd_pcap_get(document, "pfc_frames"), cmd_pcap_get(document, "pause_frames"));
	size_t i;
	json_t *p;
	json_array_foreach (json_object_get(document, "pfc"), i, p)
		fprintf(out, "; priority %" PRIu64 ": %" PRIu64 " stop, %" PRIu64 " go",
			cmd_pcap_get(p, "priority"), cmd_pcap_get(p, "xoff"),
			cmd_pcap_get(p, "xon"));
	fputc('\n', out);
}

static void text_qps(FILE *out, const json_t *document, bool header)
{
	const json_t *rows = json_object_get(document, "qps");
	size_t i, n = json_array_size(rows);
	json_t *q;
	int wide = 15; /* IPv4; wider when something is */
	json_array_foreach ((json_t *)rows, i, q) {
		if (i >= TEXT_QPS)
			break;
		int a = (int)strlen(get_text(q, "src")), b = (int)strlen(get_text(q, "dst"));
		if (a > wide)
			wide = a;
		else if (b > wide)
			wide = b;
	}
	if (header)
		fprintf(out, "\n  %-*s %-*s %-8s %6s %10s %14s %8s %8s %5s %6s %6s %5s %5s %13s\n",
			wide, "SOURCE", wide, "DESTINATION", "DST QP", "SPORT", "PACKETS", "OCTETS",
			"PSN", "..", "GAPS", "RETR", "CE", "CNP", "NAK", "PEAK IN 1 ms");
	json_array_foreach ((json_t *)rows, i, q) {
		if (i >= TEXT_QPS) {
			fprintf(out, "  and %zu more queue pairs (--format json or csv has all)\n",
				n - TEXT_QPS);
			break;
		}
		char port[16], packets[NUMBER_MAX], octets[NUMBER_MAX];
		if (cmd_pcap_get(q, "source_ports") == 1)
			snprintf(port, sizeof(port), "%" PRIu64, cmd_pcap_get(q, "src_port"));
		else
			snprintf(port, sizeof(port), "x%" PRIu64, cmd_pcap_get(q, "source_ports"));
		fprintf(out,
			"  %-*s %-*s 0x%06x %6s %10s %14s %8" PRIu64 " %8" PRIu64 " %5" PRIu64
			" %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %5" PRIu64 " ",
			wide, get_text(q, "src"), wide, get_text(q, "dst"),
			(unsigned)cmd_pcap_get(q, "dst_qp"), port,
			cmd_pcap_number(packets, cmd_pcap_get(q, "packets")),
			cmd_pcap_number(octets, cmd_pcap_get(q, "octets")),
			cmd_pcap_get(q, "psn_first"), cmd_pcap_get(q, "psn_last"),
			cmd_pcap_get(q, "gaps"), cmd_pcap_get(q, "retransmits"),
			cmd_pcap_get(q, "ce"), cmd_pcap_get(q, "cnp_returned"),
			cmd_pcap_get(q, "nak_returned"));
		text_rate(out, 6, cmd_pcap_get(q, "burst_bps"));
		fputc('\n', out);
	}
}

static void text_capture(FILE *out, const json_t *document, bool header)
{
	char a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX], e[NUMBER_MAX];
	fprintf(out, "%s: %s packets, %s octets in %.6f s from %s; RoCEv2 %s, RoCEv1 %s\n",
		get_text(document, "file"), cmd_pcap_number(a, cmd_pcap_get(document, "packets")),
		cmd_pcap_number(b, cmd_pcap_get(document, "octets")),
		json_real_value(json_object_get(document, "duration_s")),
		get_text(document, "from"),
		cmd_pcap_number(c, cmd_pcap_get(document, "roce_packets")),
		cmd_pcap_number(e, cmd_pcap_get(document, "rocev1_packets")));
	text_pfc(out, document);
	if (cmd_pcap_get(document, "roce_packets") == 0) {
		fprintf(out,
			"  No RoCEv2 in it. That is no sign of health: a capture on a switch's CPU "
			"port does not see what the ASIC forwards (use a "
			"mirror port, ERSPAN or sFlow), and a host's ordinary interface does not "
			"see what its RDMA NIC offloads.\n");
		text_counts(out, "errors", json_object_get(document, "errors"));
		return;
	}
	text_counts(out, "opcodes", json_object_get(document, "by_opcode"));
	text_entropy(out, document);
	text_ecn(out, document);
	text_loss(out, document);
	const json_t *icrc = json_object_get(document, "icrc");
	fprintf(out, "  icrc     %s ok, %s bad, %s unchecked (cut short)\n",
		cmd_pcap_number(a, cmd_pcap_get(icrc, "ok")),
		cmd_pcap_number(b, cmd_pcap_get(icrc, "bad")),
		cmd_pcap_number(c, cmd_pcap_get(icrc, "unchecked")));
	fprintf(out, "  peak     ");
	text_rate(out, 0, cmd_pcap_get(document, "burst_bps"));
	fprintf(out, " in one millisecond\n");
	text_counts(out, "errors", json_object_get(document, "errors"));
	text_qps(out, document, header);
}

static void cmd_pcap_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const json_t *captures = json_object_get(doc, "captures");
	if (!captures) {
		text_capture(out, doc, header);
		return;
	}
	size_t i;
	json_t *d;
	json_array_foreach ((json_t *)captures, i, d) {
		if (i)
			fputc('\n', out);
		text_capture(out, d, header);
	}
}

static const struct column columns[] = {
	{"file", NULL, COL_TEXT},
	{"src", NULL, COL_TEXT},
	{"dst", NULL, COL_TEXT},
	{"dst_qp", NULL, COL_INT},
	{"packets", NULL, COL_INT},
	{"octets", NULL, COL_INT},
	{"psn_first", NULL, COL_INT},
	{"psn_last", NULL, COL_INT},
	{"gaps", NULL, COL_INT},
	{"duplicates", NULL, COL_INT},
	{"retransmits", NULL, COL_INT},
	{"ce", NULL, COL_INT},
	{"cnp", NULL, COL_INT},
	{"src_port", NULL, COL_INT},
	{"missing", NULL, COL_INT},
	{"reordered", NULL, COL_INT},
	{"nak", NULL, COL_INT},
	{"rnr_nak", NULL, COL_INT},
	{"cnp_returned", NULL, COL_INT},
	{"nak_returned", NULL, COL_INT},
	{"burst_bps", NULL, COL_INT},
};
static const struct view view = {.title = "RoCEv2 in captures",
	.rows = "qps",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = cmd_pcap_text,
	.empty = "no RoCEv2 packets"};

/* Row formats want one flat list: the queue pairs of all captures, each with its file. */
static json_t *cmd_pcap_flat(const json_t *doc)
{
	json_t *rows = json_array(), *d, *q;
	const json_t *captures = json_object_get(doc, "captures");
	size_t i, k;
	size_t n = 1;
	if (captures)
		n = json_array_size(captures);
	for (i = 0; i < n; i++) {
		if (captures)
			d = json_array_get(captures, i);
		else
			d = (json_t *)doc;
		json_array_foreach (json_object_get(d, "qps"), k, q) {
			json_t *row = json_copy(q);
			json_object_set(row, "file", json_object_get(d, "file"));
			json_array_append_new(rows, row);
		}
	}
	json_t *o = json_object();
	json_object_set_new(o, "qps", rows);
	return o;
}

static int cmd_pcap_print(const struct globals *globals, const json_t *doc)
{
	enum report_format f = FORMAT_TABLE;
	if (globals->format_given)
		f = globals->format;
	if (f == FORMAT_TABLE || f == FORMAT_JSON || f == FORMAT_JSONL)
		return report_print(
			stdout, doc, &view, f, !globals->no_header, globals->color == COLOR_ALWAYS);
	json_t *rows = cmd_pcap_flat(doc);
	int rc = report_print(
		stdout, rows, &view, f, !globals->no_header, globals->color == COLOR_ALWAYS);
	json_decref(rows);
	return rc;
}

/* ---- reading ------------------------------------------------------------- */

static void cmd_pcap_readerp(struct pcap_reader **reader)
{
	pcap_reader_free(*reader);
}

static void complain_file(const char *file, const struct err *e)
{
	fprintf(stderr, "rocewatch: %s: %s\n", strcmp(file, "-") == 0 ? "standard input" : file,
		e->text);
}

/* The report of one file: NULL when it is no capture. *ret_rc becomes negative when not everything
 * could be read. */
static json_t *cmd_pcap_read_file(const char *file, int *ret_rc)
{
	struct err e = {0};
	rw_cleanup(cmd_pcap_readerp) struct pcap_reader *r = NULL;
	int rc = pcap_reader_open(file, &r, &e);
	/* A file that ends within its header is a truncated one like others: the report of nothing.
	 */
	bool headless = rc == -EBADMSG;
	if (rc < 0 && !headless) {
		complain_file(file, &e);
		*ret_rc = rc;
		return NULL;
	}
	rw_cleanup(analysis_freep) struct analysis *a = analysis_new();
	struct pcap_record record;
	while (r && (rc = pcap_reader_next(r, &record, &e)) > 0) {
		struct roce_packet p;
		roce_parse(record.link, record.p, record.n, record.wire, ROCE_CHECK_ICRC, &p);
		analysis_packet(a, &p, record.t_ns);
	}
	json_t *d = analysis_json(a, file);
	if (rc < 0) {
		complain_file(file, &e);
		*ret_rc = rc;
		cmd_pcap_put(json_object_get(d, "errors"),
			rc == -ENODATA || headless ? "truncated_file"
				: rc == -EBADMSG   ? "damaged_file"
						   : "read_failed",
			1);
	}
	return d;
}

static int run_files(struct command_args *args)
{
	int rc = 0;
	json_t *doc = NULL;
	if (args->argc == 1) {
		doc = cmd_pcap_read_file(args->argv[0], &rc);
	} else {
		json_t *captures = json_array();
		for (int i = 0; i < args->argc; i++) {
			json_t *d = cmd_pcap_read_file(args->argv[i], &rc);
			if (d)
				json_array_append_new(captures, d);
		}
		doc = json_object();
		json_object_set_new(doc, "captures", captures);
	}
	if (doc && cmd_pcap_print(args->g, doc) < 0)
		rc = -EIO;
	json_decref(doc);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static volatile sig_atomic_t stopped;

static void cmd_pcap_on_signal(int signum)
{
	stopped = 1;
}

static int run_interface(const char *interface, int64_t for_ns, const struct globals *globals)
{
	rw_cleanup(analysis_freep) struct analysis *a = analysis_new();
	struct sigaction sa = {.sa_handler = cmd_pcap_on_signal}, old_int, old_term;
	sigaction(SIGINT, &sa, &old_int);
	sigaction(SIGTERM, &sa, &old_term);
	if (!for_ns && !globals->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "capturing on %s; Ctrl-C ends it and prints the report\n",
			interface);
	struct pcap_watch_stats stats = {0};
	struct err e = {0};
	int rc = pcap_watch(interface, for_ns, &stopped, analysis_packet, a, &stats, &e);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	if (rc < 0) {
		fprintf(stderr, "rocewatch: %s\n", e.text);
		if (a->count.packets == 0)
			return EXIT_FAILED;
	}
	json_t *d = analysis_json(a, interface);
	cmd_pcap_put(d, "kernel_drops", stats.kernel_drops);
	if (stats.kernel_drops)
		cmd_pcap_put(json_object_get(d, "errors"), "kernel_drops", stats.kernel_drops);
	if (cmd_pcap_print(globals, d) < 0)
		rc = -EIO;
	json_decref(d);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* ---- the command --------------------------------------------------------- */

extern const struct command command_pcap;

static int cmd_pcap_run(struct command_args *args)
{
	const char *interface = command_opt(&command_pcap, args, "interface"),
		   *text_for = command_opt(&command_pcap, args, "for");
	int64_t for_ns = 0;
	struct err e = {0};
	if (interface && args->argc > 0)
		return usage_error(&command_pcap, "either files or -i %s, not both", interface);
	if (!interface && args->argc == 0)
		return usage_error(&command_pcap, "no capture file given, and no interface (-i)");
	if (!interface && text_for)
		return usage_error(&command_pcap, "--for belongs to -i; a file is read to its end");
	if (text_for && (unit_duration(text_for, &for_ns, &e) < 0 || for_ns <= 0))
		return usage_error(&command_pcap, "--for: %s",
			e.text[0] ? e.text : "the duration must be positive");
	if (interface)
		return run_interface(interface, for_ns, args->g);
	return run_files(args);
}

static const struct command_option options[] = {
	{"interface", 'i', "IFACE",
		"capture live on this interface instead of reading files (needs CAP_NET_RAW)"},
	{"for", 0, "DUR", "with -i: stop after this long, e.g. 10s; else at Ctrl-C"},
	{NULL},
};

const struct command command_pcap = {
	.name = "pcap",
	.args = "FILE...|-i IFACE [--for DUR]",
	.summary = "what RoCEv2 did in captures: opcodes, queue pairs, PSN gaps, NAKs, CE, CNPs, "
		   "PFC, source-port entropy",
	.help = "Reads pcap and pcapng; \"-\" is standard input. A truncated or damaged file is "
		"reported as far as it could be read, with exit\n"
		"code 1. Live captures see only RoCE, PFC and pause frames, cut to 192 bytes (ICRC "
		"stays unchecked).\n"
		"\n"
		"A queue pair row is one direction: source, destination, destination QP. gaps: "
		"forward jumps of the PSN; retransmits: the PSN\n"
		"went back and packets came again; reordered: missing packets that came late; "
		"duplicates: a packet right after itself.\n"
		"cnp, nak: packets in this direction; cnp_returned, nak_returned: what the "
		"receiver said of this direction.\n"
		"csv, html and md list the queue pairs. Octets are Ethernet frames without FCS.\n",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_pcap_run,
};
