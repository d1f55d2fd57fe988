/*
 * screen_run - the loop of the live screen. The thread of screen_reader makes the documents; this
 * one waits for keys and answers, and paints when either came or a second has passed.
 */
#include "agent/surface/screen_run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/surface/screen.h"
#include "agent/surface/screen_reader.h"
#include "agent/surface/terminal.h"

enum {
	TURN_MS = 500, /* the ages on the screen are never older than this */
	PACE = 4, /* a document that takes long is asked for this many times its duration apart */
};
/* Pages show minutes, not seconds. */
#define PAGE_INTERVAL_NS (5 * NS_PER_S)

static volatile sig_atomic_t screen_interrupted;

static void screen_on_signal(int signum)
{
	screen_interrupted = 1;
}

struct screen_run {
	struct globals globals;
	struct screen screen;
	struct screen_reader *reader;
	int64_t interval_ns;
	struct screen_answer wall, page; /* the newest good ones */
	char wall_error[SCREEN_ERROR_MAX]; /* of the newest attempt; "" none */
	int wall_code;
	mono_t wall_at, page_at; /* when they came */
	mono_t asked[SCREEN_SLOTS];
	int64_t took_ns[SCREEN_SLOTS];
};

static bool run_is_past(const struct screen_run *run)
{
	return run->interval_ns == INT64_MAX;
}

/* ---- questions and answers -------------------------------------------------- */

static void run_ask_wall(struct screen_run *run)
{
	const struct screen_question question = {.path = "watch"};
	run->asked[SCREEN_SLOT_WALL] = mono_now();
	screen_reader_ask(run->reader, SCREEN_SLOT_WALL, &question);
}

static void run_ask_page(struct screen_run *run)
{
	const struct screen_place *place = screen_place_of(&run->screen);
	struct screen_question question = {
		.path = place->page->path, .param = place->page->param, .view = place->page->view};
	if (!question.path)
		return;
	memcpy(question.subject, place->subject, sizeof(question.subject));
	run->asked[SCREEN_SLOT_PAGE] = mono_now();
	screen_reader_ask(run->reader, SCREEN_SLOT_PAGE, &question);
}

static bool run_is_due(
	struct screen_run *run, enum screen_slot slot, int64_t interval_ns, mono_t now)
{
	mono_t since;
	if (screen_reader_since(run->reader, slot, &since))
		return false;
	if (interval_ns < PACE * run->took_ns[slot])
		interval_ns = PACE * run->took_ns[slot];
	return now.ns - run->asked[slot].ns >= interval_ns;
}

static void run_ask(struct screen_run *run)
{
	const mono_t now = mono_now();
	int64_t interval_ns = run->interval_ns;
	if (run->screen.paused)
		return;
	/* The past is read once; what failed is tried again. */
	if (run_is_past(run) && *run->wall_error)
		interval_ns = 2 * NS_PER_S;
	if (run_is_past(run) && run->wall.doc)
		return;
	if (run_is_due(run, SCREEN_SLOT_WALL, interval_ns, now))
		run_ask_wall(run);
	if (interval_ns < PAGE_INTERVAL_NS)
		interval_ns = PAGE_INTERVAL_NS;
	if (run_is_due(run, SCREEN_SLOT_PAGE, interval_ns, now))
		run_ask_page(run);
}

static void run_take_wall(struct screen_run *run)
{
	struct screen_answer answer;
	if (!screen_reader_take(run->reader, SCREEN_SLOT_WALL, &answer))
		return;
	const mono_t now = mono_now();
	run->took_ns[SCREEN_SLOT_WALL] = now.ns - run->asked[SCREEN_SLOT_WALL].ns;
	run->wall_code = answer.code;
	snprintf(run->wall_error, sizeof(run->wall_error), "%s", answer.error);
	if (!answer.doc) {
		screen_answer_done(&answer);
		return;
	}
	screen_answer_done(&run->wall);
	run->wall = answer;
	run->wall_at = now;
}

/* An answer to a page that has been left meanwhile is dropped. */
static bool run_is_current(struct screen_run *run, const struct screen_question *question)
{
	const struct screen_place *place = screen_place_of(&run->screen);
	return place->page->path && str_eq(place->page->path, question->path) &&
		str_eq(place->subject, question->subject);
}

static void run_take_page(struct screen_run *run)
{
	struct screen_answer answer;
	if (!screen_reader_take(run->reader, SCREEN_SLOT_PAGE, &answer))
		return;
	run->page_at = mono_now();
	run->took_ns[SCREEN_SLOT_PAGE] = run->page_at.ns - run->asked[SCREEN_SLOT_PAGE].ns;
	if (!run_is_current(run, &answer.question)) {
		screen_answer_done(&answer);
		return;
	}
	screen_answer_done(&run->page);
	run->page = answer;
}

/* ---- painting ----------------------------------------------------------------- */

static double run_seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static struct screen_docs run_docs(struct screen_run *run)
{
	const mono_t now = mono_now();
	mono_t since;
	struct screen_docs docs = {.wall = run->wall.doc,
		.page = run->page.doc,
		.page_text = run->page.text,
		.wall_age_s = NAN,
		.reading_s = NAN,
		.interval_s = NAN};
	if (*run->wall_error)
		docs.wall_error = run->wall_error;
	if (*run->page.error)
		docs.page_error = run->page.error;
	if (run->wall.doc)
		docs.wall_age_s = run_seconds(now.ns - run->wall_at.ns);
	if (screen_reader_since(run->reader, SCREEN_SLOT_WALL, &since))
		docs.reading_s = run_seconds(now.ns - since.ns);
	if (!run_is_past(run))
		docs.interval_s = run_seconds(run->interval_ns);
	return docs;
}

static void run_paint(struct screen_run *run, bool utf8)
{
	const struct screen_docs docs = run_docs(run);
	struct canvas canvas;
	int cols, rows;
	terminal_size(&cols, &rows);
	if (cols < 1 || rows < 1)
		return;
	canvas_init(&canvas, cols, rows, utf8);
	screen_paint(&run->screen, &docs, &canvas);
	terminal_show(&canvas);
	canvas_done(&canvas);
}

/* ---- the loop -------------------------------------------------------------------- */

/* A wrong option or no configuration at all is for the command line, not for the screen. */
static bool run_cannot_begin(const struct screen_run *run)
{
	return !run->wall.doc && run->wall_code == -EINVAL;
}

static void run_loop(struct screen_run *run, bool utf8)
{
	run_ask_wall(run);
	while (!screen_interrupted && !run->screen.quit && !run_cannot_begin(run)) {
		run_paint(run, utf8);
		int key = terminal_key(screen_reader_fd(run->reader), TURN_MS);
		if (key == SCREEN_KEY_GONE)
			return;
		if (screen_press(&run->screen, key)) {
			screen_answer_done(&run->page);
			run->took_ns[SCREEN_SLOT_PAGE] = 0;
			run_ask_page(run);
		}
		run_take_wall(run);
		run_take_page(run);
		run_ask(run);
	}
}

int screen_run(const struct globals *globals, int64_t interval_ns, struct err *e)
{
	struct sigaction act = {.sa_handler = screen_on_signal};
	struct screen_run run = {.globals = *globals, .interval_ns = interval_ns};
	run.globals.quiet = true; /* warnings would be written across the screen */
	screen_init(&run.screen);
	int r = terminal_open(globals->color == COLOR_ALWAYS, e);
	if (r < 0)
		return r;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	run.reader = screen_reader_new(&run.globals);
	if (run.reader)
		run_loop(&run, terminal_is_utf8());
	else
		r = err_set(e, -EAGAIN, "cannot start the thread that reads the database");
	screen_reader_free(run.reader);
	terminal_close();
	if (run_cannot_begin(&run))
		r = err_set(e, -EINVAL, "%s", run.wall_error);
	screen_answer_done(&run.wall);
	screen_answer_done(&run.page);
	return r;
}
