/*
 * cmd_pcap - "rocewatch pcap FILE..." and "rocewatch pcap -i IFACE": what RoCEv2 did in a capture.
 * Needs no configuration and no database. The JSON document is made first; pcap_text.c prints it
 * for people.
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
#include "agent/command/pcap_text.h"
#include "agent/document/json_value.h"
#include "agent/command/pcap_rhythm.h"
#include "collectors/packet/flow_table.h"
#include "collectors/packet/pcap.h"
#include "collectors/packet/pcap_file.h"
#include "collectors/packet/roce_count.h"

struct analysis {
	struct roce_count count;
	struct flow_table *flows;
	struct pcap_rhythm *rhythm;
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
	a->rhythm = pcap_rhythm_new();
	return a;
}

static void analysis_freep(struct analysis **analysis)
{
	if (!*analysis)
		return;
	flow_table_free((*analysis)->flows);
	pcap_rhythm_free((*analysis)->rhythm);
	free(*analysis);
}

static void analysis_packet(void *arg, const struct roce_packet *packet, int64_t t_ns)
{
	struct analysis *a = arg;
	roce_count_add(&a->count, packet, t_ns);
	if (packet->kind == PACKET_ROCE)
		flow_table_add(a->flows, packet, t_ns);
	if (packet->kind == PACKET_ROCE && packet->payload_bytes)
		pcap_rhythm_add(a->rhythm, t_ns, packet->family, packet->src, packet->octets);
}

/* ---- the document -------------------------------------------------------- */

static void count_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *json_opcodes(const struct roce_count *count)
{
	json_t *o = json_object();
	char name[ROCE_OPCODE_TEXT_MAX];
	for (unsigned i = 0; i < 256; i++)
		if (count->by_opcode[i])
			count_put(o, roce_opcode_text(name, (uint8_t)i), count->by_opcode[i]);
	return o;
}

static json_t *json_ecn(const struct roce_count *count)
{
	json_t *o = json_object();
	count_put(o, "not_ect", count->ecn[ECN_NOT_ECT]);
	count_put(o, "ect0", count->ecn[ECN_ECT0]);
	count_put(o, "ect1", count->ecn[ECN_ECT1]);
	count_put(o, "ce", count->ecn[ECN_CE]);
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
	count_put(o, "n", n);
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
		count_put(o, text, count->nak_code[i] + (uint64_t)before);
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
		count_put(o, "priority", (uint64_t)i);
		count_put(o, "xoff", count->pfc_xoff[i]);
		count_put(o, "xon", count->pfc_xon[i]);
		count_put(o, "quanta_max_sum", count->pfc_quanta[i]);
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
	count_put(o, "dst_qp", flow->key.dst_qp);
	count_put(o, "packets", flow->packets);
	count_put(o, "octets", flow->octets);
	count_put(o, "psn_first", flow->psn_first);
	count_put(o, "psn_last", flow->psn_last);
	count_put(o, "gaps", flow->psn.gaps);
	count_put(o, "duplicates", flow->psn.duplicates);
	count_put(o, "retransmits", flow->psn.retransmits);
	count_put(o, "ce", flow->ce);
	count_put(o, "cnp", flow->cnp_sent);
	if (flow->source_ports == 1)
		count_put(o, "src_port", flow->key.src_port);
	else
		json_object_set_new(o, "src_port", json_null());
	count_put(o, "source_ports", flow->source_ports);
	count_put(o, "missing", flow->psn.missing);
	count_put(o, "reordered", flow->psn.reordered);
	count_put(o, "restarts", flow->psn.restarts);
	count_put(o, "ect", flow->ect);
	count_put(o, "not_ect", flow->not_ect);
	count_put(o, "nak", flow->nak_sent);
	count_put(o, "rnr_nak", flow->rnr_nak_sent);
	count_put(o, "cnp_returned", flow->cnp_about);
	count_put(o, "nak_returned", flow->nak_about);
	count_put(o, "rnr_nak_returned", flow->rnr_nak_about);
	count_put(o, "payload_bytes", flow->payload_bytes);
	count_put(o, "burst_bps", flow->burst_octets * 8000);
	return o;
}

static json_t *json_errors(const struct roce_count *count)
{
	json_t *o = json_object();
	for (int i = 1; i < ROCE_ERROR_COUNT; i++)
		if (count->errors[i])
			count_put(o, roce_error_name((enum roce_error)i), count->errors[i]);
	return o;
}

static void put_packets(json_t *o, const struct roce_count *count)
{
	count_put(o, "packets", count->packets);
	count_put(o, "roce_packets", count->roce_packets);
	count_put(o, "rocev1_packets", count->rocev1_packets);
	json_object_set_new(o, "by_opcode", json_opcodes(count));
	json_object_set_new(o, "ecn", json_ecn(count));
	count_put(o, "cnp", count->cnp);
	count_put(o, "nak", count->nak);
	count_put(o, "rnr_nak", count->rnr_nak);
	count_put(o, "pfc_frames", count->pfc_frames);
	count_put(o, "pause_frames", count->pause_frames);
}

static json_t *json_icrc(const struct roce_count *count)
{
	json_t *o = json_object();
	count_put(o, "ok", count->icrc[ICRC_OK]);
	count_put(o, "bad", count->icrc[ICRC_BAD]);
	count_put(o, "unchecked", count->icrc[ICRC_UNCHECKED]);
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
	count_put(o, "steps", found.steps);
	count_put(o, "sources", found.sources);
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

static json_t *analysis_json(struct analysis *analysis, const char *file)
{
	const struct roce_count *count = &analysis->count;
	const uint64_t ce = count->ecn[ECN_CE];
	const uint64_t capable = ce + count->ecn[ECN_ECT0] + count->ecn[ECN_ECT1];
	struct flow_totals totals;
	flow_table_totals(analysis->flows, &totals);
	double n_eff = NAN;
	if (totals.sum_sq_octets > 0)
		n_eff = flow_n_eff(totals.sum_octets, totals.sum_sq_octets);

	json_t *o = json_object();
	json_object_set_new(o, "file", json_string_or_null(file));
	put_packets(o, count);
	count_put(o, "five_tuples", totals.five_tuples);
	count_put(o, "udp_source_ports", count->udp_source_ports);
	json_object_set_new(o, "icrc", json_icrc(count));
	const uint64_t reordered = put_qps(o, analysis->flows);
	json_t *errors = json_errors(count);
	if (totals.refused)
		count_put(errors, "flow_table_full", totals.refused);
	json_object_set_new(o, "errors", errors);
	pcap_put_time(o, count);
	count_put(o, "octets", count->octets);
	count_put(o, "roce_octets", count->roce_octets);
	count_put(o, "flows", totals.flows);
	json_object_set_new(o, "n_eff", json_number_or_null(n_eff));
	json_object_set_new(o, "ce_share", json_share(ce, capable));
	json_object_set_new(o, "nak_codes", json_naks(count));
	json_object_set_new(o, "pfc", json_pfc(count));
	count_put(o, "gaps", totals.psn.gaps);
	count_put(o, "missing", totals.psn.missing);
	count_put(o, "duplicates", totals.psn.duplicates);
	count_put(o, "retransmits", totals.psn.retransmits);
	count_put(o, "reordered", reordered);
	count_put(o, "unattributed", totals.unattributed);
	count_put(o, "burst_bps", totals.burst_octets * 8000);
	put_rhythm(o, analysis->rhythm);
	return o;
}

/* ---- printing ------------------------------------------------------------ */

static void flat_add(json_t *rows, const json_t *capture)
{
	size_t i;
	json_t *qp;
	json_array_foreach (json_object_get(capture, "qps"), i, qp) {
		json_t *row = json_copy(qp);
		json_object_set(row, "file", json_object_get(capture, "file"));
		json_array_append_new(rows, row);
	}
}

/* cmd_pcap_flat - for csv, html and md: the queue pairs of all captures in one list, each with its
 * file. */
static json_t *cmd_pcap_flat(const json_t *doc)
{
	const json_t *captures = json_object_get(doc, "captures");
	json_t *rows = json_array(), *capture;
	size_t i;
	if (!captures)
		flat_add(rows, doc);
	json_array_foreach ((json_t *)captures, i, capture)
		flat_add(rows, capture);
	json_t *o = json_object();
	json_object_set_new(o, "qps", rows);
	return o;
}

static int cmd_pcap_print(const struct globals *globals, const json_t *doc)
{
	const bool header = !globals->no_header, color = globals->color == COLOR_ALWAYS;
	enum report_format format = FORMAT_TABLE;
	if (globals->format_given)
		format = globals->format;
	if (format == FORMAT_TABLE || format == FORMAT_JSON || format == FORMAT_JSONL)
		return report_print(stdout, doc, &pcap_view, format, header, color);
	json_t *rows = cmd_pcap_flat(doc);
	int rc = report_print(stdout, rows, &pcap_view, format, header, color);
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
	if (strcmp(file, "-") == 0)
		file = "standard input";
	fprintf(stderr, "rocewatch: %s: %s\n", file, e->text);
}

/* read_error - the word of the document's "errors" for how reading ended. */
static const char *read_error(int rc, bool headless)
{
	if (rc == -ENODATA || headless)
		return "truncated_file";
	if (rc == -EBADMSG)
		return "damaged_file";
	return "read_failed";
}

/* cmd_pcap_read_file - the report of one file; NULL when it is no capture. *ret_rc becomes negative
 * when not everything could be read. */
static json_t *cmd_pcap_read_file(const char *file, int *ret_rc)
{
	struct err e = {0};
	rw_cleanup(cmd_pcap_readerp) struct pcap_reader *reader = NULL;
	int rc = pcap_reader_open(file, &reader, &e);
	/* a file that ends within its header is a truncated one: an empty report */
	const bool headless = rc == -EBADMSG;
	if (rc < 0 && !headless) {
		complain_file(file, &e);
		*ret_rc = rc;
		return NULL;
	}
	rw_cleanup(analysis_freep) struct analysis *analysis = analysis_new();
	struct pcap_record record;
	while (reader && (rc = pcap_reader_next(reader, &record, &e)) > 0) {
		struct roce_packet packet;
		roce_parse(record.link, record.p, record.n, record.wire, ROCE_CHECK_ICRC, &packet);
		analysis_packet(analysis, &packet, record.t_ns);
	}
	json_t *document = analysis_json(analysis, file);
	if (rc < 0) {
		complain_file(file, &e);
		*ret_rc = rc;
		count_put(json_object_get(document, "errors"), read_error(rc, headless), 1);
	}
	return document;
}

/* read_files - one report as it is, several in "captures". NULL when the only file is no capture.
 */
static json_t *read_files(const struct command_args *args, int *ret_rc)
{
	if (args->argc == 1)
		return cmd_pcap_read_file(args->argv[0], ret_rc);
	json_t *captures = json_array();
	for (int i = 0; i < args->argc; i++) {
		json_t *capture = cmd_pcap_read_file(args->argv[i], ret_rc);
		if (capture)
			json_array_append_new(captures, capture);
	}
	json_t *document = json_object();
	json_object_set_new(document, "captures", captures);
	return document;
}

static int run_files(struct command_args *args)
{
	int rc = 0;
	json_t *document = read_files(args, &rc);
	if (document && cmd_pcap_print(args->g, document) < 0)
		rc = -EIO;
	json_decref(document);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static volatile sig_atomic_t stopped;

static void cmd_pcap_on_signal(int signum)
{
	stopped = 1;
}

/* cmd_pcap_capture - packets of @interface into @analysis, until the time is up or a signal ends
 * it. */
static int cmd_pcap_capture(struct analysis *analysis, const char *interface, int64_t for_ns,
	struct pcap_watch_stats *stats)
{
	struct sigaction action = {.sa_handler = cmd_pcap_on_signal}, old_int, old_term;
	struct err e = {0};
	sigaction(SIGINT, &action, &old_int);
	sigaction(SIGTERM, &action, &old_term);
	int rc = pcap_watch(interface, for_ns, &stopped, analysis_packet, analysis, stats, &e);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	if (rc < 0)
		fprintf(stderr, "rocewatch: %s\n", e.text);
	return rc;
}

static int run_interface(const char *interface, int64_t for_ns, const struct globals *globals)
{
	rw_cleanup(analysis_freep) struct analysis *analysis = analysis_new();
	struct pcap_watch_stats stats = {0};
	if (!for_ns && !globals->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "capturing on %s; press Ctrl-C to stop and print the report\n",
			interface);
	int rc = cmd_pcap_capture(analysis, interface, for_ns, &stats);
	if (rc < 0 && analysis->count.packets == 0)
		return EXIT_FAILED;
	json_t *document = analysis_json(analysis, interface);
	count_put(document, "kernel_drops", stats.kernel_drops);
	if (stats.kernel_drops)
		count_put(json_object_get(document, "errors"), "kernel_drops", stats.kernel_drops);
	if (cmd_pcap_print(globals, document) < 0)
		rc = -EIO;
	json_decref(document);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* ---- the command --------------------------------------------------------- */

extern const struct command command_pcap;

static int cmd_pcap_run(struct command_args *args)
{
	const char *interface = command_opt(&command_pcap, args, "interface");
	const char *text_for = command_opt(&command_pcap, args, "for");
	int64_t for_ns = 0;
	struct err e = {0};
	if (interface && args->argc > 0)
		return usage_error(&command_pcap, "give files or -i %s, not both", interface);
	if (!interface && args->argc == 0)
		return usage_error(&command_pcap, "give a capture file, or an interface with -i");
	if (!interface && text_for)
		return usage_error(
			&command_pcap, "--for needs -i; a file is always read to its end");
	if (text_for && (unit_duration(text_for, &for_ns, &e) < 0 || for_ns <= 0))
		return usage_error(&command_pcap, "--for: %s%s", e.text,
			str_if(!*e.text, "the duration must be positive"));
	if (interface)
		return run_interface(interface, for_ns, args->g);
	return run_files(args);
}

static const struct command_option options[] = {
	{"interface", 'i', "IFACE",
		"capture live on this interface instead of reading files (needs CAP_NET_RAW)"},
	{"for", 0, "DUR", "with -i: stop after this time, e.g. 10s; without it, at Ctrl-C"},
	{NULL},
};

const struct command command_pcap = {
	.name = "pcap",
	.args = "FILE...|-i IFACE [--for DUR]",
	.summary = "what RoCEv2 did in captures: opcodes, queue pairs, PSN gaps, NAKs, CE, CNPs, "
		   "PFC, source-port entropy",
	.help = "Reads pcap and pcapng; \"-\" is standard input. A truncated or damaged file is "
		"reported as far as it could be\n"
		"read, with exit code 1. A live capture sees only RoCE, PFC and pause frames, "
		"cut to 192 bytes: their ICRC\n"
		"is not checked.\n"
		"\n"
		"A row is one direction of a queue pair: source, destination, destination QP.\n"
		"gaps: the PSN jumped forward.\n"
		"retransmits: the PSN went back, and packets came again.\n"
		"reordered: missing packets that came late.\n"
		"duplicates: the same packet twice in a row.\n"
		"cnp, nak: sent in this direction.\n"
		"cnp_returned, nak_returned: sent by the receiver about this direction.\n"
		"\n"
		"csv, html and md list the queue pairs. Octets are Ethernet frames without FCS.\n",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_pcap_run,
};
