/*
 * cmd_pcap - "rocewatch pcap FILE..." and "rocewatch pcap -i IFACE": what RoCEv2 did in a capture.
 * Needs no configuration and no database. agent/capture makes and prints the report.
 */
#include <signal.h>

#include "agent/capture/pcap_paths.h"
#include "agent/capture/pcap_print.h"
#include "agent/capture/pcap_report.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/capture/pcap_words.h"
#include "agent/command/command.h"
#include "agent/document/paper.h"
#include "agent/document/quantity.h"
#include "agent/jail/privilege.h"
#include "collectors/packet/capture/capture_files.h"
#include "collectors/packet/capture/pcap.h"

/* pcap_stop - Ctrl-C and SIGTERM end the reading of packets, and the report is printed; a second
 * one ends the program. For "rocewatch pcap". */

static volatile sig_atomic_t pcap_stopped;
static struct sigaction before_int, before_term;

static void pcap_stop_on_signal(int signum)
{
	pcap_stopped = 1;
}

/* pcap_stop_begin - from now on signals set the flag that is returned. */
static const volatile sig_atomic_t *pcap_stop_begin(void)
{
	const struct sigaction action = {
		.sa_handler = pcap_stop_on_signal, .sa_flags = (int)SA_RESETHAND};
	pcap_stopped = 0;
	sigaction(SIGINT, &action, &before_int);
	sigaction(SIGTERM, &action, &before_term);
	return &pcap_stopped;
}

/* pcap_stop_end - signals do again what they did before. */
static void pcap_stop_end(void)
{
	sigaction(SIGINT, &before_int, NULL);
	sigaction(SIGTERM, &before_term, NULL);
}

/* pcap_ask - reads options, and times that lean on the packets. */

enum { ASK_TOP = 20, ASK_SAMPLING_MAX = 1 << 24 };
#define AROUND_SPAN_NS (15 * 60 * NS_PER_S)
#define BIN_LEAST_NS (10 * NS_PER_US)

/* ---- options -------------------------------------------------------------------------- */

static int ask_list(const struct command_args *args, const char *option,
	int (*add)(struct pcap_select *select, const char *text, struct err *e),
	struct pcap_select *select, struct err *e)
{
	rw_cleanup(freep) const char **values = command_opt_all(args, option);
	struct err why = {0};
	for (size_t i = 0; values[i]; i++)
		if (add(select, values[i], &why) < 0)
			return err_set(e, -EINVAL, "--%s: %s", option, why.text);
	return 0;
}

/* ask_number - a whole number from @least to @most; stays as it is when the option is not given. */
static int ask_number(const struct command *command, const struct command_args *args,
	const char *option, int64_t least, int64_t most, int64_t *ret, struct err *e)
{
	const char *text = command_opt(command, args, option);
	int64_t value = 0;
	if (!text)
		return 0;
	if (unit_int(text, &value, NULL) < 0 || value < least || value > most)
		return err_set(e, -EINVAL, "--%s: '%.32s' is not a number from %lld to %lld",
			option, text, (long long)least, (long long)most);
	*ret = value;
	return 1;
}

static int ask_units(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	const char *bin = command_opt(command, args, "bin");
	const char *speed = command_opt(command, args, "speed");
	struct err why = {0};
	if (bin && unit_duration(bin, &ask->options.bin_ns, &why) < 0)
		return err_set(e, -EINVAL, "--bin: %s", why.text);
	if (bin && ask->options.bin_ns < BIN_LEAST_NS)
		return err_set(e, -EINVAL, "--bin: '%.32s' is shorter than 10us", bin);
	if (speed && unit_bitrate(speed, &ask->options.speed_bps, &why) < 0)
		return err_set(e, -EINVAL, "--speed: %s", why.text);
	if (speed && ask->options.speed_bps == 0)
		return err_set(e, -EINVAL, "--speed: the speed must be above 0");
	return 0;
}

static int ask_sort(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	const char *word = command_opt(command, args, "sort");
	rw_cleanup(str_done) struct str words = {0};
	ask->sort = &pcap_sorts[0];
	if (!word)
		return 0;
	ask->sort = pcap_sort_named(word);
	if (ask->sort)
		return 0;
	for (const struct pcap_sort *sort = pcap_sorts; sort->word; sort++)
		str_addf(&words, "%s%s", str_if(words.n, ", "), sort->word);
	return err_set(e, -EINVAL, "--sort: '%.32s' is none of %s", word, words.s);
}

/* People get the first rows, programs all of them. */
static size_t ask_top_usual(const struct globals *globals)
{
	if (!globals->format_given || globals->format == FORMAT_TABLE)
		return ASK_TOP;
	if (globals->format == FORMAT_HTML || globals->format == FORMAT_MD)
		return ASK_TOP;
	return 0;
}

/* pcap_ask_read - all options but the times. -EINVAL with @e. */
static int pcap_ask_read(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e)
{
	int64_t sampling = 0, priority = 0, top = (int64_t)ask_top_usual(args->g);
	*ask = (struct pcap_ask){.sort = NULL};
	int rc = ask_list(args, "host", pcap_select_add_host, &ask->select, e);
	if (rc == 0)
		rc = ask_list(args, "qp", pcap_select_add_qp, &ask->select, e);
	if (rc == 0)
		rc = ask_units(ask, command, args, e);
	if (rc == 0)
		rc = ask_sort(ask, command, args, e);
	if (rc < 0)
		return rc;
	const int given = ask_number(command, args, "priority", 0, 7, &priority, e);
	if (given < 0 || ask_number(command, args, "top", 0, INT32_MAX, &top, e) < 0 ||
		ask_number(command, args, "sampling", 1, ASK_SAMPLING_MAX, &sampling, e) < 0)
		return -EINVAL;
	ask->select.priority_given = given > 0;
	ask->select.priority = (uint8_t)priority;
	ask->options.sampling = (uint32_t)sampling;
	ask->top = (size_t)top;
	return 0;
}

/* ---- times ---------------------------------------------------------------------------- */

/* pcap_ask_timed - was a time given? */
static bool pcap_ask_timed(const struct globals *globals)
{
	return globals->since || globals->until || globals->around || globals->span;
}

static int time_unreadable(const char *option, const char *text, struct err *e)
{
	return err_set(e, -EINVAL,
		"%s: '%.64s' is not a time; write it as 2026-11-21T03:00:00Z, '2026-11-21 03:00', "
		"5m for that long before the last packet, or +5m for that long after the first",
		option, text);
}

/* time_after_begin - "+DURATION". */
static int time_after_begin(const char *option, const char *text, const struct capture_files *files,
	int64_t *ret_ns, struct err *e)
{
	int64_t begin_ns = 0, after_ns = 0;
	if (unit_duration(text + 1, &after_ns, NULL) < 0)
		return time_unreadable(option, text, e);
	(void)capture_files_begin(files, &begin_ns);
	if (__builtin_add_overflow(begin_ns, after_ns, ret_ns))
		return time_unreadable(option, text, e);
	return 0;
}

/* A time that depends on what is taken for the present is counted back from the newest packet. */
static int ask_time(const char *option, const char *text, const struct capture_files *files,
	int64_t *ret_ns, struct err *e)
{
	wall_t early, late;
	int64_t end_ns = 0;
	if (*text == '+')
		return time_after_begin(option, text, files, ret_ns, e);
	if (wall_parse(text, (wall_t){INT64_MAX / 4}, &early) < 0 ||
		wall_parse(text, (wall_t){INT64_MAX / 2}, &late) < 0)
		return time_unreadable(option, text, e);
	*ret_ns = early.ns;
	if (early.ns == late.ns)
		return 0;
	if (!capture_files_end(files, &end_ns))
		return err_set(e, -EINVAL,
			"%s: '%.64s' is counted from the last packet, which is not known before a "
			"pipe has been read; give a full time, or +DURATION after the first packet",
			option, text);
	(void)wall_parse(text, (wall_t){end_ns}, &late);
	*ret_ns = late.ns;
	return 0;
}

static int ask_around(struct pcap_select *select, const struct globals *globals,
	const struct capture_files *files, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS, middle_ns = 0;
	struct err why = {0};
	if (globals->since || globals->until)
		return err_set(
			e, -EINVAL, "--around goes with --span, not with --since or --until");
	if (globals->span && unit_duration(globals->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (ask_time("--around", globals->around, files, &middle_ns, e) < 0)
		return -EINVAL;
	if (span_ns <= 0 || __builtin_sub_overflow(middle_ns, span_ns, &select->since_ns) ||
		__builtin_add_overflow(middle_ns, span_ns, &select->until_ns))
		return err_set(e, -EINVAL, "--span: '%.64s' is no duration that fits",
			str_or(globals->span, ""));
	select->since_given = select->until_given = true;
	return 0;
}

/*
 * pcap_ask_times - --since, --until, --around and --span into the selection of @ask: RFC 3339 as
 * everywhere; "5m" is that long before the newest packet, "+5m" that long after the first one.
 * -EINVAL with @e.
 */
static int pcap_ask_times(struct pcap_ask *ask, const struct globals *globals,
	const struct capture_files *files, struct err *e)
{
	struct pcap_select *select = &ask->select;
	int rc = 0;
	if (globals->around)
		return ask_around(select, globals, files, e);
	if (globals->span)
		return err_set(e, -EINVAL, "--span goes with --around");
	select->since_given = globals->since != NULL;
	select->until_given = globals->until != NULL;
	if (globals->since)
		rc = ask_time("--since", globals->since, files, &select->since_ns, e);
	if (rc == 0 && globals->until)
		rc = ask_time("--until", globals->until, files, &select->until_ns, e);
	if (rc < 0)
		return rc;
	if (globals->since && globals->until && select->since_ns > select->until_ns)
		return err_set(e, -EINVAL, "--since is later than --until");
	return 0;
}

/* pcap_files - "rocewatch pcap FILE...": files and directories, as one report or as one each. */

enum { PROGRESS_PACKETS = 32768, LEFT_OUT_NAMES = 5 };
#define PROGRESS_NS (250 * NS_PER_MS)

/* One report under way. */
struct files_run {
	struct capture_files *files;
	struct pcap_input input;
	const char **names; /* owned; the paths lent */
	size_t n_headless; /* at the end of .names: files that end within their header */
	bool failed; /* something could not be read */
	bool shows; /* progress on a terminal */
	bool shown; /* a line of it stands there */
	mono_t next;
	uint64_t packets;
};

/* ---- progress ---------------------------------------------------------------------------- */

static void progress_erase(struct files_run *run)
{
	if (run->shown)
		fputs("\r\033[K", stderr);
	run->shown = false;
}

static void progress_show(struct files_run *run)
{
	const mono_t now = mono_now();
	const uint64_t read = capture_files_read(run->files);
	const uint64_t all = capture_files_bytes(run->files);
	rw_cleanup(str_done) struct str line = {0};
	if (now.ns < run->next.ns)
		return;
	run->next.ns = now.ns + PROGRESS_NS;
	str_add_scaled(&line, (double)read, "B");
	if (all) {
		str_add(&line, " of ");
		str_add_scaled(&line, (double)all, "B");
		str_addf(&line, " (%.0f %%)", fmin(1, (double)read / (double)all) * 100);
	}
	str_add(&line, ", ");
	words_grouped(&line, run->packets);
	fprintf(stderr, "\r\033[Kreading: %s packets; Ctrl-C prints what was read", line.s);
	fflush(stderr);
	run->shown = true;
}

/* ---- files that cannot be read --------------------------------------------------------------- */

static void complain_file(struct files_run *run, const char *file, const struct err *e)
{
	if (str_eq(file, "-"))
		file = "standard input";
	progress_erase(run);
	fprintf(stderr, "rocewatch: %s: %s\n", file, e->text);
	run->failed = true;
}

static void files_trouble(void *arg, const char *path, int code, const struct err *e)
{
	struct files_run *run = arg;
	complain_file(run, path, e);
	if (code == -ENODATA)
		run->input.truncated++;
	else if (code == -EBADMSG)
		run->input.damaged++;
	else if (code != -ENOTSUP) /* frames of a link type that is not read are counted as such */
		run->input.failed++;
}

/* A file that ends within its header is a truncated one: it has an empty report. */
static void files_add(struct files_run *run, char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err e = {0};
		const int rc = capture_files_add(run->files, paths[i], &e);
		if (rc == 0)
			continue;
		complain_file(run, paths[i], &e);
		if (rc != -EBADMSG)
			continue;
		run->input.truncated++;
		run->names[n - ++run->n_headless] = paths[i];
	}
}

/* ---- one report ----------------------------------------------------------------------------- */

static void files_read(struct files_run *run, struct pcap_reading *reading)
{
	const volatile sig_atomic_t *stop = pcap_stop_begin();
	const struct pcap_record *record;
	while (!*stop) {
		record = capture_files_next(run->files);
		if (!record)
			break;
		pcap_reading_record(reading, record);
		run->packets++;
		if (run->shows && run->packets % PROGRESS_PACKETS == 0)
			progress_show(run);
	}
	run->input.interrupted = *stop;
	pcap_stop_end();
	progress_erase(run);
}

static void files_name(struct files_run *run, size_t n)
{
	const size_t n_read = capture_files_count(run->files);
	for (size_t i = 0; i < n_read; i++)
		run->names[i] = capture_files_path(run->files, i);
	memmove(run->names + n_read, run->names + n - run->n_headless,
		run->n_headless * sizeof(*run->names));
	run->input.files = run->names;
	run->input.n_files = n_read + run->n_headless;
	run->input.read_bytes = capture_files_read(run->files);
	run->input.capture_drops = capture_files_drops(run->files, &run->input.capture_drops_known);
	run->input.all_bytes = capture_files_bytes(run->files);
}

static void files_print(struct files_run *run, struct pcap_reading *reading,
	const struct pcap_ask *ask, struct pcap_printer *printer)
{
	struct pcap_report report;
	reading->input = run->input;
	pcap_report_make(&report, reading, ask);
	pcap_print_report(printer, &report);
	pcap_report_done(&report);
}

/* files_report - one report of @n files. Returns false when none of them is a capture; -EINVAL in
 * *ret_rc when a time of the options cannot be meant, with @e. */
static int files_report(struct files_run *run, const struct command_args *args,
	struct pcap_ask *ask, char *const *paths, size_t n, struct pcap_printer *printer,
	struct err *e)
{
	files_add(run, paths, n);
	if (capture_files_count(run->files) + run->n_headless == 0)
		return 0;
	if (pcap_ask_times(ask, args->g, run->files, e) < 0)
		return -EINVAL;
	struct pcap_reading *reading = pcap_reading_new(&ask->options);
	reading->select = &ask->select;
	files_read(run, reading);
	files_name(run, n);
	files_print(run, reading, ask, printer);
	pcap_reading_free(reading);
	run->failed |= run->input.interrupted;
	return 0;
}

/* files_one - the same with everything it needs. @name: of the report, NULL for several files. */
static int files_one(const struct command_args *args, struct pcap_ask *ask, const char *name,
	char *const *paths, size_t n, struct pcap_printer *printer, bool *failed, struct err *e)
{
	struct files_run run = {.input.name = name};
	run.shows = isatty(STDERR_FILENO) && !args->g->quiet;
	run.next.ns = mono_now().ns + PROGRESS_NS;
	run.names = rw_calloc(n + 1, sizeof(*run.names));
	run.files = capture_files_new(files_trouble, &run);
	const int rc = files_report(&run, args, ask, paths, n, printer, e);
	capture_files_free(run.files);
	free(run.names);
	*failed |= run.failed;
	return rc;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Files of a directory that were not taken for captures. */
static void files_say_left_out(const struct pcap_paths *paths, const struct globals *globals)
{
	rw_cleanup(str_done) struct str names = {0};
	if (paths->n_left_out == 0 || globals->quiet)
		return;
	for (size_t i = 0; i < paths->n_left_out && i < LEFT_OUT_NAMES; i++)
		str_addf(&names, "%s%s", str_if(i, ", "), paths->left_out[i]);
	if (paths->n_left_out > LEFT_OUT_NAMES)
		str_addf(&names, " and %zu more", paths->n_left_out - LEFT_OUT_NAMES);
	fprintf(stderr, "rocewatch: left out, no capture by its name: %s\n", names.s);
}

static bool files_expand(struct pcap_paths *paths, const struct command_args *args, bool *failed)
{
	for (int i = 0; i < args->argc; i++) {
		struct err e = {0};
		if (pcap_paths_add(paths, args->argv[i], &e) == 0)
			continue;
		fprintf(stderr, "rocewatch: %s: %s\n", args->argv[i], e.text);
		*failed = true;
	}
	files_say_left_out(paths, args->g);
	return paths->n > 0;
}

static int files_all(const struct command_args *args, struct pcap_ask *ask,
	const struct pcap_paths *paths, bool per_file, struct pcap_printer *printer, bool *failed,
	struct err *e)
{
	const char *name = NULL;
	int rc = 0;
	if (args->argc == 1)
		name = args->argv[0];
	if (!per_file)
		return files_one(args, ask, name, paths->v, paths->n, printer, failed, e);
	for (size_t i = 0; i < paths->n && rc == 0; i++)
		rc = files_one(args, ask, paths->v[i], &paths->v[i], 1, printer, failed, e);
	return rc;
}

/*
 * pcap_files_run - reads what @args names and prints it. @ask gets the times of @args.
 * @per_file: a report for each file. Returns the exit code: EXIT_FAILED when not all could be read;
 * EXIT_USAGE for a time that cannot be meant.
 */
static int pcap_files_run(const struct command *command, const struct command_args *args,
	struct pcap_ask *ask, bool per_file, struct pcap_printer *printer)
{
	rw_cleanup(pcap_paths_done) struct pcap_paths paths = {0};
	bool failed = false;
	struct err e = {0};
	if (!files_expand(&paths, args, &failed))
		return EXIT_FAILED;
	printer->many = per_file;
	const int rc = files_all(args, ask, &paths, per_file, printer, &failed, &e);
	if (rc == -EINVAL)
		return usage_error(command, "%s", e.text);
	if (pcap_print_end(printer) < 0 || failed)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* ---- cmd_pcap -------------------------------------------------------------- */

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
