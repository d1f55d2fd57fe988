/*
 * cmd_watch - "rocewatch watch": the live screen (agent/screen/screen_run) in a terminal; a frame
 * as text or as a document with --once, and one after the other into a pipe.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/command/command.h"
#include "agent/screen/screen_run.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

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
	if (r == -EINVAL)
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

static const struct command_option options[] = {
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
	.options = options,
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"watch --once", "prints one frame as text"},
		{"watch --once --around 5m", "prints the frame of five minutes ago"}},
	.run = cmd_watch_run,
};
