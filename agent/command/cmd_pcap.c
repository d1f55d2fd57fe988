/*
 * cmd_pcap - "rocewatch pcap FILE..." and "rocewatch pcap -i IFACE": what RoCEv2 did in a capture.
 * Needs no configuration and no database. agent/capture makes and prints the report.
 */
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/paper.h"
#include "agent/capture/pcap_print.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/command/command.h"
#include "agent/command/pcap_ask.h"
#include "agent/command/pcap_files.h"
#include "agent/command/pcap_stop.h"
#include "agent/daemon/privilege.h"
#include "agent/reports/text.h"
#include "collectors/packet/pcap_watch.h"

enum { WIDTH_USUAL = 100, WIDTH_MAX = 140 };

/* ---- an interface ---------------------------------------------------------------------- */

static void cmd_pcap_packet(void *arg, const struct roce_packet *packet, int64_t t_ns)
{
	pcap_reading_packet(arg, packet, NULL, t_ns);
}

/* The interface is open: what follows reads packets of strangers, and needs no right for it. */
static int cmd_pcap_opened(void *arg, struct err *e)
{
	return privilege_none(e);
}

/* cmd_pcap_capture - packets of @interface into @reading, until the time is up or a signal ends
 * it. */
static int cmd_pcap_capture(struct pcap_reading *reading, const char *interface, int64_t for_ns)
{
	struct pcap_watch_stats stats = {0};
	struct err e = {0};
	const struct pcap_watch watch = {.interface = interface,
		.for_ns = for_ns,
		.stop = pcap_stop_begin(),
		.opened = cmd_pcap_opened,
		.packet = cmd_pcap_packet,
		.arg = reading};
	const int rc = pcap_watch(&watch, &stats, &e);
	pcap_stop_end();
	reading->input.kernel_drops = stats.kernel_drops;
	if (rc < 0)
		fprintf(stderr, "rocewatch: %s\n", e.text);
	return rc;
}

static int run_reading(struct pcap_reading *reading, int64_t for_ns, const struct pcap_ask *ask,
	struct pcap_printer *printer)
{
	const int rc = cmd_pcap_capture(reading, reading->input.name, for_ns);
	if (rc < 0 && reading->analysis.count.packets == 0)
		return EXIT_FAILED;
	struct pcap_report report;
	pcap_report_make(&report, reading, ask);
	pcap_print_report(printer, &report);
	pcap_report_done(&report);
	if (pcap_print_end(printer) < 0 || rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_interface(const char *interface, int64_t for_ns, const struct pcap_ask *ask,
	const struct globals *globals, struct pcap_printer *printer)
{
	struct pcap_reading *reading = pcap_reading_new(&ask->options);
	reading->select = &ask->select;
	reading->input.name = interface;
	reading->input.live = true;
	if (!for_ns && !globals->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "capturing on %s; press Ctrl-C to stop and print the report\n",
			interface);
	const int rc = run_reading(reading, for_ns, ask, printer);
	pcap_reading_free(reading);
	return rc;
}

/* ---- the command --------------------------------------------------------------------------- */

extern const struct command command_pcap;

/* cmd_pcap_check - options that do not go together. 0, or the exit code. */
static int cmd_pcap_check(const struct command_args *args, const char *interface)
{
	const struct command *command = &command_pcap;
	if (interface && args->argc > 0)
		return usage_error(command,
			"unexpected argument: files and -i %s do not go together", interface);
	if (!interface && args->argc == 0)
		return usage_error(command, "missing FILE; or give an interface with -i");
	if (!interface && command_opt(command, args, "for"))
		return usage_error(command, "--for needs -i; a file is always read to its end");
	if (interface && command_opt(command, args, "per-file"))
		return usage_error(command, "--per-file goes with files, not with -i");
	if (interface && pcap_ask_timed(args->g))
		return usage_error(
			command, "--since, --until and --around cut files; with -i give --for");
	return 0;
}

static int cmd_pcap_run(struct command_args *args)
{
	const char *interface = command_opt(&command_pcap, args, "interface");
	const char *text_for = command_opt(&command_pcap, args, "for");
	const struct globals *globals = args->g;
	struct pcap_printer printer = {.out = stdout,
		.format = FORMAT_TABLE,
		.header = !globals->no_header,
		.color = globals->color == COLOR_ALWAYS,
		.width = paper_width(stdout, WIDTH_USUAL, WIDTH_MAX)};
	struct pcap_ask ask;
	int64_t for_ns = 0;
	struct err e = {0};
	const int refused = cmd_pcap_check(args, interface);
	if (refused)
		return refused;
	if (text_for && (unit_duration(text_for, &for_ns, &e) < 0 || for_ns <= 0))
		return usage_error(&command_pcap, "--for: %s%s", e.text,
			str_if(!*e.text, "the duration must be positive"));
	if (pcap_ask_read(&ask, &command_pcap, args, &e) < 0)
		return usage_error(&command_pcap, "%s", e.text);
	if (globals->format_given)
		printer.format = globals->format;
	if (interface)
		return run_interface(interface, for_ns, &ask, globals, &printer);
	const bool per_file = command_opt(&command_pcap, args, "per-file") != NULL;
	return pcap_files_run(&command_pcap, args, &ask, per_file, &printer);
}

/* The words of --sort and the kinds of sentences, from their tables. */
static void cmd_pcap_topics(struct str *out)
{
	for (const struct pcap_sort *sort = pcap_sorts; sort->word; sort++)
		str_addf(out, "--sort %s: %s.\n", sort->word, sort->help);
	str_add(out,
		"\nThe report begins with sentences, the worst first; docs/packets.md says what "
		"each kind means and what to do. Kinds: ");
	for (int i = 0; i < PCAP_VERDICT_COUNT; i++)
		str_addf(out, "%s%s", str_if(i, ", "),
			pcap_verdict_info((enum pcap_verdict)i)->word);
	str_add(out, ".");
}

static const struct command_option options[] = {
	{"interface", 'i', "IFACE",
		"capture live on this interface instead of reading files (needs CAP_NET_RAW)"},
	{"for", 0, "DUR", "with -i: stop after this time, e.g. 10s; without it, at Ctrl-C"},
	{"per-file", 0, NULL, "one report for each file instead of one for all, merged by time"},
	{"host", 0, "ADDR",
		"count only packets from or to this address, or 10.0.3.0/24; repeatable"},
	{"priority", 0, "N",
		"count only packets of this priority (the tag's, else DSCP / 8), pause frames that "
		"name it, and CNPs of any"},
	{"qp", 0, "N",
		"show only rows and sentences of this destination QP, 69 or 0x45; all packets are "
		"counted; repeatable"},
	{"sort", 0, "WORD", "order of the rows, the largest first (default: octets)"},
	{"top", 0, "N", "rows at most; 0: all (default: 20 in table, html and md, else all)"},
	{"sampling", 0, "N", "one packet in N was captured: loss is then unknown, not 0"},
	{"bin", 0, "DUR", "slices of the rates over time (default: 10ms)"},
	{"speed", 0, "RATE", "of the link, e.g. 400G: how long a pause frame pauses"},
	{NULL},
};

const struct command command_pcap = {
	.name = "pcap",
	.args = "[FILE|DIR...]",
	.summary = "what RoCEv2 did in a capture: loss, stalls, CNPs, pauses",
	.help = "Reads pcap and pcapng, opens the tunnels of mirrors (ERSPAN, VXLAN, GRE and "
		"others) "
		"and sFlow; \"-\" is standard input. Several files, or a directory of rotated ones "
		"(.pcap, .pcapng, .cap and the numbers that rotation adds), are one report, merged "
		"by time. A file that is truncated, damaged or no capture is named on stderr, the "
		"rest is reported, and the exit code is 1. A live capture sees only RoCE, PFC and "
		"pause frames, cut to their headers: their ICRC is not checked.\n"
		"\n"
		"--since, --until and --around (with --span) cut by packet times: a full time, 5m "
		"for "
		"that long before the last packet, or +5m for that long after the first one.\n"
		"\n"
		"A row is one direction of a queue pair: source, destination, destination QP.\n"
		"gaps: the PSN jumped forward.\n"
		"retransmits: the PSN went back, and packets came again.\n"
		"reordered: missing packets that came late.\n"
		"duplicates: the same packet twice in a row.\n"
		"cnp, nak: sent in this direction.\n"
		"cnp_returned, nak_returned: sent by the receiver about this direction.\n"
		"What cannot be known is null in json, empty in csv and \"-\" in tables, never 0.\n"
		"\n"
		"csv lists the rows; jsonl one object of type capture, then one of type qp per "
		"row. "
		"Octets are Ethernet frames without FCS.",
	.takes = TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"pcap spine.pcap --sort retransmits --top 5",
			     "reports a capture, the five worst queue pairs first"},
		{"pcap -i eth0 --for 10s", "captures ten seconds and reports them",
			.not_run = "needs an interface with RoCE"}},
	.topics = cmd_pcap_topics,
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_pcap_run,
};
