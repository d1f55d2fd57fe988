/*
 * cmd_watch - "rocewatch watch": prints a frame (agent/reports/watch_frame) every two seconds until
 * q or Ctrl-C; with --once one frame.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/command/command.h"
#include "agent/reports/watch_frame.h"

enum { REFRESH_MS = 2000 };

extern const struct command command_watch;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signum)
{
	interrupted = 1;
}

/* The frame, or NULL with the exit code and @e. */
static json_t *make_frame(const struct globals *globals, int *ret_code, struct err *e)
{
	struct client client;
	int r = client_open(&client, globals, 15 * 60 * NS_PER_S, e);
	*ret_code = EXIT_FAILED;
	if (r == -EINVAL)
		*ret_code = EXIT_USAGE;
	if (r < 0)
		return NULL;
	json_t *doc = watch_frame(&client, e);
	client_done(&client);
	if (doc)
		*ret_code = EXIT_OK;
	return doc;
}

/* Prints one frame, or the error where the frame would stand. Returns the exit code. */
static int show_frame(const struct globals *globals, bool clear)
{
	struct err e = {0};
	int code;
	json_t *doc = make_frame(globals, &code, &e);
	if (clear)
		fputs("\033[H\033[2J", stdout);
	if (!doc) {
		fflush(stdout);
		err_print(stderr, &e);
		return code;
	}
	if (report_print(stdout, doc, &watch_view, globals->format, !globals->no_header,
		    globals->color == COLOR_ALWAYS) < 0)
		interrupted = 1;
	json_decref(doc);
	return code;
}

/* Waits for the next frame. True when the user asked to quit, or standard input ended. */
static bool wait_for_key(bool keys)
{
	struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
	char key;
	if (poll(&in, 1, REFRESH_MS) <= 0)
		return false;
	return read(STDIN_FILENO, &key, 1) <= 0 || key == 'q';
}

static int show_frames(const struct globals *globals, bool keys)
{
	bool screen = isatty(STDOUT_FILENO) && globals->format == FORMAT_TABLE;
	int code = EXIT_OK;
	while (!interrupted) {
		code = show_frame(globals, screen);
		if (code == EXIT_USAGE)
			break; /* the next frame would fail in the same way */
		if (screen) {
			fputs("\n[q]uit\n", stdout);
			fflush(stdout);
		}
		if (wait_for_key(keys))
			break;
	}
	return code;
}

static int cmd_watch_run(struct command_args *args)
{
	if (args->argc > 0)
		return usage_extra(&command_watch, args->argv[0]);
	if (command_opt(&command_watch, args, "once"))
		return show_frame(args->g, false);

	struct termios saved, raw;
	struct sigaction act = {.sa_handler = on_interrupt};
	bool keys = tcgetattr(STDIN_FILENO, &saved) == 0;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (keys) {
		raw = saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	int code = show_frames(args->g, keys);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	return code;
}

static const struct command_option options[] = {
	{"once", 0, NULL, "print one frame as text and end"},
	{NULL, 0, NULL, NULL},
};

const struct command command_watch = {
	.name = "watch",
	.args = "",
	.summary = "the screen for the operations room, refreshed every 2 s",
	.help = "Shows the devices that do not answer, the golden signals of the newest closed "
		"window, the most loaded uplinks and the open incidents. A signal that no device "
		"delivers is shown as unknown, not as zero. q or Ctrl-C ends it.",
	.options = options,
	.run = cmd_watch_run,
};
