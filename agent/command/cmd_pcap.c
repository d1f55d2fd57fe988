/*
 * cmd_pcap - "rocewatch pcap FILE..." and "rocewatch pcap -i IFACE": what RoCEv2 did in a capture.
 * Needs no configuration and no database. The JSON document is made first; pcap_text.c prints it
 * for people.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/capture/pcap_document.h"
#include "agent/capture/pcap_text.h"
#include "agent/capture/pcap_value.h"
#include "agent/daemon/privilege.h"
#include "collectors/packet/pcap_watch.h"
#include "collectors/packet/pcap_file.h"

static void pcap_reading_freep(struct pcap_reading **reading)
{
	pcap_reading_free(*reading);
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
	rw_cleanup(pcap_reading_freep) struct pcap_reading *reading =
		pcap_reading_new(&(struct pcap_options){0});
	struct pcap_record record;
	while (reader && (rc = pcap_reader_next(reader, &record, &e)) > 0) {
		struct roce_packet packet;
		roce_parse(record.link, record.p, record.n, record.wire, ROCE_CHECK_ICRC, &packet);
		pcap_reading_packet(reading, &packet, &record.origin, record.t_ns);
	}
	json_t *document = pcap_document(reading, file);
	if (rc < 0) {
		complain_file(file, &e);
		*ret_rc = rc;
		pcap_count_put(json_object_get(document, "errors"), read_error(rc, headless), 1);
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

static void cmd_pcap_packet(void *arg, const struct roce_packet *packet, int64_t t_ns)
{
	pcap_reading_packet(arg, packet, NULL, t_ns);
}

/* The interface is open: what follows reads packets of strangers, and needs no right for it. */
static int cmd_pcap_opened(void *arg, struct err *e)
{
	return privilege_none(e);
}

static volatile sig_atomic_t stopped;

static void cmd_pcap_on_signal(int signum)
{
	stopped = 1;
}

/* cmd_pcap_capture - packets of @interface into @reading, until the time is up or a signal ends
 * it. */
static int cmd_pcap_capture(struct pcap_reading *reading, const char *interface, int64_t for_ns,
	struct pcap_watch_stats *stats)
{
	struct sigaction action = {.sa_handler = cmd_pcap_on_signal}, old_int, old_term;
	struct err e = {0};
	sigaction(SIGINT, &action, &old_int);
	sigaction(SIGTERM, &action, &old_term);
	const struct pcap_watch watch = {.interface = interface,
		.for_ns = for_ns,
		.stop = &stopped,
		.opened = cmd_pcap_opened,
		.packet = cmd_pcap_packet,
		.arg = reading};
	int rc = pcap_watch(&watch, stats, &e);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	if (rc < 0)
		fprintf(stderr, "rocewatch: %s\n", e.text);
	return rc;
}

static int run_interface(const char *interface, int64_t for_ns, const struct globals *globals)
{
	rw_cleanup(pcap_reading_freep) struct pcap_reading *reading =
		pcap_reading_new(&(struct pcap_options){0});
	struct pcap_watch_stats stats = {0};
	if (!for_ns && !globals->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "capturing on %s; press Ctrl-C to stop and print the report\n",
			interface);
	int rc = cmd_pcap_capture(reading, interface, for_ns, &stats);
	if (rc < 0 && reading->analysis.count.packets == 0)
		return EXIT_FAILED;
	json_t *document = pcap_document(reading, interface);
	pcap_count_put(document, "kernel_drops", stats.kernel_drops);
	if (stats.kernel_drops)
		pcap_count_put(
			json_object_get(document, "errors"), "kernel_drops", stats.kernel_drops);
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
