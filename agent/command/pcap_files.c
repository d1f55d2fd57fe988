/* pcap_files - reading with progress, and what to say of files that cannot be read. */
#include "agent/command/pcap_files.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/capture/pcap_paths.h"
#include "agent/capture/pcap_words.h"
#include "agent/command/pcap_ask.h"
#include "agent/command/pcap_stop.h"
#include "agent/document/quantity.h"

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

/* ---- one report
 * ---------------------------------------------------------------------------------- */

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

/* ---- all of them
 * ------------------------------------------------------------------------------------ */

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

int pcap_files_run(const struct command *command, const struct command_args *args,
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
