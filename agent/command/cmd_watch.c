/*
 * cmd_watch - "rocewatch watch": the live screen (agent/screen/screen_run) in a terminal; a frame
 * as text or as a document with --once, and one after the other into a pipe.
 */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/answers/common/text.h"
#include "agent/answers/status/status.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/command/command.h"
#include "agent/screen/screen_run.h"

#define INTERVAL_NS (2 * NS_PER_S)
#define INTERVAL_MIN_NS (200 * NS_PER_MS)
#define SPAN_NS (15 * 60 * NS_PER_S)

extern const struct command command_watch;

static volatile sig_atomic_t watch_interrupted;

static void watch_on_interrupt(int signum)
{
	watch_interrupted = 1;
}

static int watch_exit(int r)
{
	if (r == -EINVAL || r == -EISDIR || r == -ELOOP) /* no database can ever be there */
		return EXIT_USAGE;
	if (r < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* Prints one frame, or the error to stderr. @first: what is wrong with the configuration file is
 * told with the first frame only. Returns the exit code. */
static int watch_print(const struct globals *globals, bool first)
{
	struct err e = {0};
	struct client client;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct watch_answer frame;
	struct watch_now now;
	int r = client_open(&client, globals, SPAN_NS, &e), read = 0;
	if (r == 0) {
		if (first)
			command_warn(&client, globals);
		read = watch_read(&client, &now, a, &frame, &e);
		client_done(&client);
	}
	if (r < 0 || read < 0) {
		err_print(stderr, &e);
		return r < 0 ? watch_exit(r) : EXIT_FAILED;
	}
	json_t *doc = watch_json(&frame);
	r = answer_print(stdout, doc, &frame, &watch_view, globals->format, !globals->no_header,
		globals->color == COLOR_ALWAYS);
	json_decref(doc);
	if (fflush(stdout) != 0 || r < 0)
		watch_interrupted = 1; /* nobody reads any more */
	return watch_exit(r);
}

/* One frame after the other, for a pipe. */
static int watch_stream(const struct globals *globals, int64_t interval_ns)
{
	struct sigaction act = {.sa_handler = watch_on_interrupt};
	int code = EXIT_OK;
	bool first = true;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	while (!watch_interrupted) {
		code = watch_print(globals, first);
		if (code == EXIT_USAGE && first)
			break; /* the next frame would fail in the same way */
		first = false;
		poll(NULL, 0, (int)(interval_ns / NS_PER_MS));
	}
	return code;
}

static int watch_show(const struct globals *globals, int64_t interval_ns)
{
	struct err e = {0};
	int r = screen_run(globals, interval_ns, &e);
	if (r < 0)
		err_print(stderr, &e);
	return watch_exit(r);
}

static int watch_interval(const char *text, int64_t *ret_ns, struct err *e)
{
	*ret_ns = INTERVAL_NS;
	if (!text)
		return 0;
	int r = unit_duration(text, ret_ns, e);
	if (r == 0 && *ret_ns < INTERVAL_MIN_NS)
		r = err_set(e, -EINVAL, "'%s' is too short; expected at least 200ms", text);
	return r;
}

static int cmd_watch_run(struct command_args *args)
{
	struct globals globals = *args->g;
	struct err e = {0};
	int64_t interval_ns;
	if (watch_interval(command_opt(&command_watch, args, "interval"), &interval_ns, &e) < 0)
		return usage_error(&command_watch, "--interval: %s", e.text);
	/* The wall as it was at a time shows what was known then, not what came after it. */
	if (globals.around) {
		globals.until = globals.around;
		globals.around = NULL;
		globals.span = NULL;
	}
	if (command_opt(&command_watch, args, "once"))
		return watch_print(&globals, true);
	bool screen = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	if (!screen || globals.format != FORMAT_TABLE)
		return watch_stream(&globals, interval_ns);
	if (globals.until)
		interval_ns = INT64_MAX;
	return watch_show(&globals, interval_ns);
}

static const struct command_option watch_options[] = {
	{"once", 0, NULL, "print one frame as text and end"},
	{"interval", 0, "DURATION", "time between two frames (default 2s)"},
	{NULL, 0, NULL, NULL},
};

const struct command command_watch = {
	.name = "watch",
	.summary = "the live screen for the operations room",
	.help = "The headline says whether all is well and why not, how old the data is, and "
		"whether "
		"the agent runs. Below it: the golden signals with their baseline, the open "
		"incidents "
		"by cost, the ports that pause others by origin, the busiest uplinks, the step "
		"time "
		"of jobs. A signal that no device delivers is unknown, not zero.\n\n"
		"Keys: i incidents, t pause tree, e ECMP heat map, p paused ports, s steps, d "
		"doctor, Enter details, Esc back, / filter, o order, space hold, ? help, q "
		"quit.\n\n"
		"--around TIME shows the screen as it was then. Into a pipe, frames are printed as "
		"text, one after the other. The screen needs 80x24 characters.",
	.options = watch_options,
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"watch --once", "prints one frame as text"},
		{"watch --once --around 5m", "prints the frame of five minutes ago"}},
	.run = cmd_watch_run,
};

/* cmd_status - the state of the fabric, once: who answers, how old the data is, what is open. */

#define SHAPE struct status_device
static const struct shown device_columns[] = {COLUMN(name, "NAME"), COLUMN(protocol, "PROTOCOL"),
	COLUMN(status, "STATUS"), COLUMN(age_s, "AGE"), COLUMN(poll_p50_s, "POLL P50"),
	COLUMN(poll_p95_s, "P95"), COLUMN(polls, "POLLS"), COLUMN(timeouts, "TIMEOUTS"),
	COLUMN(errors, "ERRORS"), COLUMN(reason, "REASON")};
static const struct shown csv_columns[] = {PLAIN(name), PLAIN(up), PLAIN(status), PLAIN(reason),
	PLAIN(age_s), PLAIN(protocol), PLAIN(address), PLAIN(state), PLAIN(interval_s),
	PLAIN(poll_p50_s), PLAIN(poll_p95_s), PLAIN(polls), PLAIN(timeouts), PLAIN(errors),
	PLAIN(device), PLAIN(port)};
#undef SHAPE
#define SHAPE struct open_incident
static const struct shown incident_columns[] = {COLUMN(id, "INCIDENT"),
	COLUMN(severity, "SEVERITY"), COLUMN(state, "STATE"), COLUMN(opened, "OPENED"),
	COLUMN(cause, "CAUSE"), COLUMN(summary, "SUMMARY")};
#undef SHAPE
static const struct shape_table device_table = {
	&status_device_shape, device_columns, rw_countof(device_columns)};
static const struct shape_table csv_table = {
	&status_device_shape, csv_columns, rw_countof(csv_columns)};
static const struct shape_table incident_table = {
	&open_incident_shape, incident_columns, rw_countof(incident_columns)};

static const void *status_devices(const void *answer, size_t *ret_n)
{
	const struct status_answer *status = answer;
	*ret_n = status->n_devices;
	return status->devices;
}

static const void *status_incidents(const void *answer, size_t *ret_n)
{
	const struct status_answer *status = answer;
	*ret_n = status->n_incidents;
	return status->incidents;
}

static const struct view device_view = {
	.table = &device_table, .table_rows = status_devices, .empty = "no devices"};
static const struct view incident_view = {
	.table = &incident_table, .table_rows = status_incidents, .empty = "no open incidents"};

/* The file on disk is not the configuration in force. */
static void status_put_refused(FILE *out, const struct agent_refused *refused)
{
	char when[WALL_TEXT_MAX];
	if (!refused)
		return;
	fprintf(out, "CONFIGURATION REFUSED at %s: ", wall_text(when, refused->t, 0));
	text_put(out, text_or_dash(refused->text));
	fputc('\n', out);
}

/* "refused at otlp (share): 127.0.0.1 12, 127.0.0.2 3", a line for each receiver and reason. */
static void status_put_refusals(FILE *out, const struct status_answer *status)
{
	enum { SENDERS_SHOWN = 4 };
	size_t n = 0;
	for (size_t i = 0; i < status->n_refused; i += n) {
		const struct refused_fact *first = &status->refused[i];
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "refused at %s (%s): ", first->receiver, first->reason);
		for (n = 0; i + n < status->n_refused; n++) {
			const struct refused_fact *row = &first[n];
			if (!str_eq(row->receiver, first->receiver) ||
				!str_eq(row->reason, first->reason))
				break;
			if (n < SENDERS_SHOWN)
				str_addf(&line, "%s%s %" PRIu64, str_if(n > 0, ", "), row->sender,
					row->times);
		}
		if (n > SENDERS_SHOWN)
			str_addf(&line, " and %zu more", n - SENDERS_SHOWN);
		text_put(out, line.s);
		fputc('\n', out);
	}
}

/* What the store cannot do, and a line for each system to which it sends. */
static void status_put_store_facts(FILE *out, const struct status_answer *status)
{
	for (size_t i = 0; i < status->n_alarms; i++) {
		const struct store_alarm *alarm = &status->alarms[i];
		rw_cleanup(str_done) struct str line = {0};
		const bool critical = str_eq(alarm->severity, "critical");
		str_addf(&line, "%s %s: ", critical ? "CRITICAL" : "WARNING", alarm->subject);
		str_addf(&line, "%s -> %s", alarm->what, alarm->remedy);
		text_put(out, line.s);
		fputc('\n', out);
	}
	for (size_t i = 0; i < status->n_ship; i++) {
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "ship %s: ", status->ship[i].name);
		ship_fact_text(&status->ship[i], &line);
		text_put(out, line.s);
		fputc('\n', out);
	}
}

static void status_put_head(FILE *out, const struct status_answer *status)
{
	const struct status_quality *quality = &status->data_quality;
	rw_cleanup(str_done) struct str agent = {0};
	char when[WALL_TEXT_MAX];
	agent_state_text(&status->agent, &agent);
	const uint64_t captures =
		quality->captures_up + quality->captures_down + quality->captures_unknown;
	fprintf(out, "%s   %s   %s\n", text_or_dash(status->fabric),
		wall_text(when, status->time, 0), agent.s);
	/* The state and the sentence of every face. */
	rw_cleanup(str_done) struct str line = {0};
	verdict_line(&line, status->state, status->state_why);
	text_put(out, line.s);
	fputc('\n', out);
	fprintf(out, "up %" PRIu64 "   down %" PRIu64 "   unknown %" PRIu64 "   ", quality->up,
		quality->down, quality->unknown);
	if (captures > 0)
		fprintf(out, "captures %" PRIu64 "/%" PRIu64 " up   ", quality->captures_up,
			captures);
	if (status->open_incidents == COUNT_UNKNOWN)
		fputs("incidents: in the judge's database\n", out);
	else
		fprintf(out, "open incidents %" PRIu64 "\n", status->open_incidents);
	status_put_refused(out, status->agent.reload_refused);
	status_put_store_facts(out, status);
	status_put_refusals(out, status);
	fputc('\n', out);
}

static void cmd_status_print_text(
	FILE *out, const void *answer, const struct view *layout, bool color, bool header)
{
	const struct status_answer *status = answer;
	if (header)
		status_put_head(out, status);
	answer_print(out, NULL, status, &device_view, FORMAT_TABLE, header, color);
	if (status->open_incidents != COUNT_UNKNOWN && status->open_incidents > 0) {
		fputc('\n', out);
		answer_print(out, NULL, status, &incident_view, FORMAT_TABLE, header, color);
	}
}

static const struct view view = {
	.title = "Fabric status",
	.table = &csv_table,
	.table_rows = status_devices,
	.answer_text = cmd_status_print_text,
	.empty = "no devices",
};

static int cmd_status_read(struct client *client, struct arena *a, void *ret, struct err *e)
{
	return status_read(client, a, ret, e);
}

static json_t *cmd_status_json(const void *answer)
{
	return shape_json(&status_answer_shape, answer);
}

static int cmd_status_run(struct command_args *args)
{
	static const struct command_told told = {
		sizeof(struct status_answer), cmd_status_read, cmd_status_json, NULL};
	return command_tell(args, &told, &view);
}

const struct command command_status = {
	.name = "status",
	.summary = "who answers, how old the data is, which incidents are open",
	.help = "A device is up while it is polled and answers, down when it is polled and does "
		"not, and unknown in every other case: silent for more "
		"than three intervals and 10 s, not polled, or no agent running. Unknown is never "
		"shown as "
		"up. Captures (protocol pcap) have a row each, by their own "
		"names, and are counted apart.\n\nAges count from the clock, also "
		"when no agent runs; those of a replayed database from its newest sample. With "
		"--until T or --around T it shows the state as it was at T.",
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"status", "shows each device, its age and the open incidents"},
		{"status --until 5m", "shows the same as it was five minutes ago"}},
	.run = cmd_status_run,
};
