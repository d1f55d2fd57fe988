/* screen_run - the loop of the live screen. The thread of screen_reader makes the documents; this
 * one waits for keys and answers, and paints when either came or a second has passed. */
#include "agent/screen/screen_run.h"

#include <curses.h>
#include <jansson.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "agent/answers/common/served.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/screen/canvas.h"
#include "agent/screen/screen.h"

/* A question has its slot: a newer one replaces it while it waits. An acknowledgement goes first,
 * then the page. */
#define SCREEN_ERROR_MAX 1400 /* place and text of struct err */

enum screen_slot { SCREEN_SLOT_ACK, SCREEN_SLOT_PAGE, SCREEN_SLOT_WALL, SCREEN_SLOTS };

struct screen_question {
	const char *path; /* of a served document; NULL: the wall */
	const char *param; /* NULL none */
	char subject[SCREEN_TEXT_MAX]; /* the value of @param, or the incident to acknowledge */
	char note[SCREEN_TEXT_MAX]; /* of the acknowledgement; "" none */
	const struct view *view; /* NULL: no text is wanted */
	/* Instead of the document; NULL: none. */
	const void *(*read)(struct client *client, struct arena *a, struct err *e);
};

struct screen_answer {
	struct screen_question question;
	int code; /* 0 or negative errno */
	/* One of the three, NULL on failure: of a document, of the wall, of a page in memory. */
	json_t *doc;
	const struct watch_answer *wall;
	const void *answer;
	struct arena *arena; /* of the last two */
	char *text; /* by the view, or NULL */
	char error[SCREEN_ERROR_MAX]; /* why it failed */
};

/*
 * screen_reader - makes documents in a thread of its own, so that a slow database never delays a
 * key. It opens the database for each document, as every reading command does, and hands the result
 * over; the two threads share nothing else.
 *
 * screen_reader - the thread that makes documents for the screen.
 */

enum { READER_JOIN_S = 1 };
#define STATE_SPAN_NS (15 * 60 * NS_PER_S)

struct reader_slot {
	struct screen_question question;
	struct screen_answer answer;
	mono_t since;
	bool asked, running, answered;
};

struct screen_reader {
	const struct globals *globals;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct reader_slot slots[SCREEN_SLOTS];
	bool stop;
	int fd;
};

static void screen_answer_done(struct screen_answer *answer)
{
	json_decref(answer->doc);
	arena_free(answer->arena);
	free(answer->text);
	*answer = (struct screen_answer){0};
}

/* ---- one document --------------------------------------------------------- */

static char *reader_text(const json_t *doc, const void *answer, const struct view *view)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	answer_print(out, doc, answer, view, FORMAT_TABLE, true, false);
	fclose(out);
	return text;
}

static int reader_make_page(const struct globals *globals, const struct screen_question *question,
	json_t **ret, struct err *e)
{
	struct client client;
	const struct served_given given = {question->param, question->subject};
	const struct served_ask ask = {&given, question->param != NULL};
	const struct served_document *row = served_find(question->path);
	if (!row)
		return err_set(e, -ENOENT, "this version has no document '%s'", question->path);
	int r = client_open(&client, globals, row->span_ns, e);
	if (r < 0)
		return r;
	r = row->make(&client, &ask, ret, e);
	client_done(&client);
	return r;
}

/* The wall, or a page in memory. */
static int reader_make_answer(const struct globals *globals, const struct screen_question *question,
	struct screen_answer *answer, struct err *e)
{
	struct client client;
	struct watch_now now;
	const struct served_document *row = served_find(str_or(question->path, "watch"));
	int r = client_open(&client, globals, row ? row->span_ns : STATE_SPAN_NS, e);
	if (r < 0)
		return r;
	answer->arena = arena_new();
	struct watch_answer *wall = arena_new_of(answer->arena, struct watch_answer);
	if (question->read)
		answer->answer = question->read(&client, answer->arena, e);
	else
		r = watch_read(&client, &now, answer->arena, wall, e);
	client_done(&client);
	if (question->read && !answer->answer)
		return e->code < 0 ? e->code : -EIO;
	if (r == 0 && !question->read)
		answer->wall = wall;
	return r;
}

/* The agent that writes the database does it, and knows who asks. */
static int reader_acknowledge(
	const struct globals *globals, const struct screen_question *question, struct err *e)
{
	struct client client;
	const char *note = NULL;
	if (*question->note)
		note = question->note;
	int r = client_open(&client, globals, STATE_SPAN_NS, e);
	if (r < 0)
		return r;
	if (client_writer_pid(&client) == 0)
		r = err_set(
			e, -ENOENT, "no agent writes this database: 'rocewatch incident ack' can");
	else
		r = client_act(&client, "ack", question->subject, note, e);
	client_done(&client);
	return r;
}

static void reader_put_error(struct screen_answer *answer, const struct err *e)
{
	char place[16] = "";
	const char *text = e->text;
	if (!*text)
		text = strerror(-answer->code);
	if (e->line)
		snprintf(place, sizeof(place), ":%d", e->line);
	snprintf(answer->error, sizeof(answer->error), "%s%s%s%s", e->file, place,
		str_if(*e->file, ": "), text);
}

/* screen_read - one question of @slot, here and now. */
static void screen_read(const struct globals *globals, enum screen_slot slot,
	const struct screen_question *question, struct screen_answer *ret)
{
	struct err e = {0};
	*ret = (struct screen_answer){.question = *question};
	if (slot == SCREEN_SLOT_ACK)
		ret->code = reader_acknowledge(globals, question, &e);
	else if (question->path && !question->read)
		ret->code = reader_make_page(globals, question, &ret->doc, &e);
	else
		ret->code = reader_make_answer(globals, question, ret, &e);
	if (ret->code < 0)
		reader_put_error(ret, &e);
	if ((ret->doc || ret->answer) && question->view)
		ret->text = reader_text(ret->doc, ret->answer, question->view);
}

/* ---- the thread ------------------------------------------------------------ */

static void reader_wake(const struct screen_reader *reader)
{
	const uint64_t one = 1;
	/* A full counter wakes as well. */
	if (write(reader->fd, &one, sizeof(one)) < 0)
		return;
}

static struct reader_slot *reader_next(struct screen_reader *reader)
{
	for (size_t i = 0; i < SCREEN_SLOTS; i++)
		if (reader->slots[i].asked)
			return &reader->slots[i];
	return NULL;
}

/* Answers one question, with the lock held except while it reads. */
static void reader_answer(struct screen_reader *reader, struct reader_slot *slot)
{
	const struct screen_question question = slot->question;
	struct screen_answer answer;
	slot->asked = false;
	slot->running = true;
	pthread_mutex_unlock(&reader->lock);
	screen_read(reader->globals, (enum screen_slot)(slot - reader->slots), &question, &answer);
	pthread_mutex_lock(&reader->lock);
	slot->running = false;
	if (slot->answered)
		screen_answer_done(&slot->answer);
	slot->answer = answer;
	slot->answered = true;
	reader_wake(reader);
}

static void *reader_run(void *arg)
{
	struct screen_reader *reader = arg;
	pthread_mutex_lock(&reader->lock);
	while (!reader->stop) {
		struct reader_slot *slot = reader_next(reader);
		if (slot)
			reader_answer(reader, slot);
		else
			pthread_cond_wait(&reader->changed, &reader->lock);
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* ---- the screen's side ------------------------------------------------------- */

/* screen_reader_new - @globals and what it points to must outlive the reader. NULL: no thread. */
static struct screen_reader *screen_reader_new(const struct globals *globals)
{
	sigset_t all, before;
	struct screen_reader *reader = rw_calloc(1, sizeof(*reader));
	reader->globals = globals;
	reader->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->changed, NULL);
	/* Signals belong to the screen: a new size must interrupt its wait for a key. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&reader->thread, NULL, reader_run, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0 && reader->fd >= 0)
		return reader;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
	return NULL;
}

/* screen_reader_free - waits a second for the thread; one that hangs in the file system is left to
 * the end of the process, with its memory. */
static void screen_reader_free(struct screen_reader *reader)
{
	struct timespec until;
	if (!reader)
		return;
	pthread_mutex_lock(&reader->lock);
	reader->stop = true;
	pthread_cond_signal(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += READER_JOIN_S;
	if (pthread_timedjoin_np(reader->thread, NULL, &until) != 0)
		return;
	for (size_t i = 0; i < SCREEN_SLOTS; i++)
		screen_answer_done(&reader->slots[i].answer);
	close(reader->fd);
	pthread_mutex_destroy(&reader->lock);
	pthread_cond_destroy(&reader->changed);
	free(reader);
}

static void screen_reader_ask(
	struct screen_reader *reader, enum screen_slot slot, const struct screen_question *question)
{
	struct reader_slot *own = &reader->slots[slot];
	pthread_mutex_lock(&reader->lock);
	if (!own->asked && !own->running)
		own->since = mono_now();
	own->question = *question;
	own->asked = true;
	pthread_cond_signal(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
}

/* screen_reader_take - the answer of a slot, if there is a new one; screen_answer_done() it. */
static bool screen_reader_take(
	struct screen_reader *reader, enum screen_slot slot, struct screen_answer *ret)
{
	struct reader_slot *own = &reader->slots[slot];
	uint64_t count;
	pthread_mutex_lock(&reader->lock);
	bool has = own->answered;
	if (has)
		*ret = own->answer;
	own->answered = false;
	own->answer = (struct screen_answer){0};
	pthread_mutex_unlock(&reader->lock);
	/* The counter of the eventfd goes back to zero; an empty one is no error. */
	if (read(reader->fd, &count, sizeof(count)) < 0)
		return has;
	return has;
}

/* screen_reader_since - since when a question of the slot waits; false: none does. */
static bool screen_reader_since(struct screen_reader *reader, enum screen_slot slot, mono_t *ret)
{
	pthread_mutex_lock(&reader->lock);
	const struct reader_slot *own = &reader->slots[slot];
	bool waits = own->asked || own->running;
	*ret = own->since;
	pthread_mutex_unlock(&reader->lock);
	return waits;
}

/*
 * terminal - the terminal as ncurses gives it: a canvas goes out, keys come in. The one file that
 * knows curses. One terminal a process; one thread.
 *
 * terminal - ncurses: the alternate screen, colours, keys.
 */

enum { ESCAPE_DELAY_MS = 25 };

static SCREEN *terminal;
static attr_t terminal_attributes[STYLE_COUNT];

/* terminal_is_utf8 - does the locale of the environment (LC_ALL, LC_CTYPE, LANG) show UTF-8? */
static bool terminal_is_utf8(void)
{
	/* Only the kind of characters: numbers keep their decimal point. */
	setlocale(LC_CTYPE, "");
	return str_eq(nl_langinfo(CODESET), "UTF-8");
}

/* terminal_cols - columns of the terminal behind standard output; 0 when it is none. */
static int terminal_cols(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

/* Without colours, bold and reverse tell apart what must be seen; the words say the rest. */
static void terminal_fill_attributes(bool color)
{
	static const struct {
		attr_t plain, colored;
		short foreground, background;
	} rows[STYLE_COUNT] = {
		[STYLE_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
		[STYLE_DIM] = {A_NORMAL, A_DIM, -1, -1},
		[STYLE_BOLD] = {A_BOLD, A_BOLD, -1, -1},
		[STYLE_WARNING] = {A_BOLD, A_BOLD, COLOR_YELLOW, -1},
		[STYLE_CRITICAL] = {A_REVERSE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_RED},
		[STYLE_UNKNOWN] = {A_BOLD, A_BOLD, COLOR_MAGENTA, -1},
		[STYLE_ALARM] = {A_BOLD, A_BOLD, COLOR_RED, -1},
		[STYLE_SELECTED] = {A_REVERSE, A_REVERSE, -1, -1},
		[STYLE_BAR] = {A_REVERSE, A_REVERSE, -1, -1},
	};
	bool has = color && has_colors() && start_color() == OK && use_default_colors() == OK;
	for (short i = 0; i < STYLE_COUNT; i++) {
		terminal_attributes[i] = rows[i].plain;
		if (!has)
			continue;
		init_pair((short)(i + 1), rows[i].foreground, rows[i].background);
		terminal_attributes[i] = rows[i].colored | (attr_t)COLOR_PAIR(i + 1);
	}
}

/* terminal_open - switches to the alternate screen. 0, or -ENOTSUP with @e: the kind of terminal is
 * not known. terminal_close() gives the screen back as it was. */
static int terminal_open(bool color, struct err *e)
{
	terminal_is_utf8();
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return err_set(e, -ENOTSUP,
			"cannot use this terminal (TERM=%s): set TERM to its kind, such as xterm, "
			"or use --once",
			str_or(getenv("TERM"), ""));
	set_term(terminal);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	curs_set(0);
	terminal_fill_attributes(color);
	return 0;
}

static void terminal_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

static void terminal_show_row(const struct canvas *canvas, int row)
{
	for (int i = 0; i < canvas->cols; i++) {
		const struct canvas_cell *cell = canvas_at(canvas, row, i);
		attrset((int)terminal_attributes[cell->style]);
		mvaddstr(row, i, cell->text);
	}
}

/* terminal_show - paints what changed. */
static void terminal_show(const struct canvas *canvas)
{
	erase();
	for (int row = 0; row < canvas->rows; row++)
		terminal_show_row(canvas, row);
	refresh();
}

static int terminal_key_of(int code)
{
	static const struct {
		int code, key;
	} keys[] = {
		{KEY_UP, SCREEN_KEY_UP},
		{KEY_DOWN, SCREEN_KEY_DOWN},
		{KEY_LEFT, SCREEN_KEY_LEFT},
		{KEY_RIGHT, SCREEN_KEY_RIGHT},
		{KEY_PPAGE, SCREEN_KEY_PAGE_UP},
		{KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
		{KEY_HOME, SCREEN_KEY_HOME},
		{KEY_END, SCREEN_KEY_END},
		{KEY_BACKSPACE, SCREEN_KEY_BACKSPACE},
		{KEY_ENTER, SCREEN_KEY_ENTER},
		{KEY_RESIZE, SCREEN_KEY_RESIZE},
		{'\r', SCREEN_KEY_ENTER},
	};
	for (size_t i = 0; i < rw_countof(keys); i++)
		if (keys[i].code == code)
			return keys[i].key;
	if (code > 0 && code < 256)
		return code;
	return SCREEN_KEY_NONE;
}

/* terminal_key - the next key (enum screen_key, or the character), at the latest after @wait_ms.
 * SCREEN_KEY_NONE: no key in that time, or @wake_fd became readable. SCREEN_KEY_GONE: the terminal
 * hung up. */
static int terminal_key(int wake_fd, int wait_ms)
{
	/* A key that ncurses has read already makes no descriptor readable. */
	int code = getch();
	if (code != ERR)
		return terminal_key_of(code);
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {wake_fd, POLLIN, 0}};
	int n = poll(fds, rw_countof(fds), wait_ms);
	if (n > 0 && (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return SCREEN_KEY_GONE;
	code = getch();
	/* Readable without a character is the end of the input. */
	if (code == ERR && n > 0 && (fds[0].revents & POLLIN) && errno != EINTR && errno != EAGAIN)
		return SCREEN_KEY_GONE;
	if (code == ERR)
		return SCREEN_KEY_NONE;
	return terminal_key_of(code);
}

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
	const struct screen_question question = {0};
	run->asked[SCREEN_SLOT_WALL] = mono_now();
	screen_reader_ask(run->reader, SCREEN_SLOT_WALL, &question);
}

static void run_ask_page(struct screen_run *run)
{
	const struct screen_place *place = screen_place_of(&run->screen);
	struct screen_question question = {.path = place->page->path,
		.param = place->page->param,
		.view = place->page->view,
		.read = place->page->read};
	if (!question.path)
		return;
	memcpy(question.subject, place->subject, sizeof(question.subject));
	run->asked[SCREEN_SLOT_PAGE] = mono_now();
	screen_reader_ask(run->reader, SCREEN_SLOT_PAGE, &question);
}

/* Whom and with what note was typed. */
static void run_ask_ack(struct screen_run *run)
{
	struct screen_question question = {0};
	memcpy(question.subject, run->screen.ack_id, sizeof(question.subject));
	memcpy(question.note, run->screen.typed, sizeof(question.note));
	run->screen.ack = false;
	screen_reader_ask(run->reader, SCREEN_SLOT_ACK, &question);
}

static void run_take_ack(struct screen_run *run)
{
	struct screen_answer answer;
	if (!screen_reader_take(run->reader, SCREEN_SLOT_ACK, &answer))
		return;
	if (answer.code < 0)
		snprintf(run->screen.said, sizeof(run->screen.said), "not acknowledged: %.120s",
			answer.error);
	else
		snprintf(run->screen.said, sizeof(run->screen.said), "%.32s is acknowledged",
			answer.question.subject);
	screen_answer_done(&answer);
	run_ask_wall(run);
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
	if (run_is_past(run) && run->wall.wall)
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
	if (!answer.wall) {
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
	struct screen_docs docs = {.wall = run->wall.wall,
		.page = run->page.doc,
		.answer = run->page.answer,
		.page_text = run->page.text,
		.wall_age_s = NAN,
		.reading_s = NAN,
		.interval_s = NAN};
	if (*run->wall_error)
		docs.wall_error = run->wall_error;
	if (*run->page.error)
		docs.page_error = run->page.error;
	if (run->wall.wall)
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
	getmaxyx(stdscr, rows, cols);
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
	return !run->wall.wall && run->wall_code == -EINVAL;
}

static void run_loop(struct screen_run *run, bool utf8)
{
	run_ask_wall(run);
	while (!screen_interrupted && !run->screen.quit && !run_cannot_begin(run)) {
		run_paint(run, utf8);
		int key = terminal_key(run->reader->fd, TURN_MS);
		if (key == SCREEN_KEY_GONE)
			return;
		if (screen_press(&run->screen, key)) {
			screen_answer_done(&run->page);
			run->took_ns[SCREEN_SLOT_PAGE] = 0;
			run_ask_page(run);
		}
		if (run->screen.ack)
			run_ask_ack(run);
		run_take_ack(run);
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

/* screen_print - the wall as text: as wide as the terminal, else as $COLUMNS says, else 100. */

enum { PRINT_COLS = 100, PRINT_COLS_MAX = 400 };

static int print_cols(void)
{
	int64_t cols = terminal_cols();
	const char *wanted = getenv("COLUMNS");
	if (cols == 0 && wanted && unit_int(wanted, &cols, NULL) < 0)
		cols = 0;
	if (cols == 0)
		cols = PRINT_COLS;
	if (cols < SCREEN_COLS_MIN)
		cols = SCREEN_COLS_MIN;
	if (cols > PRINT_COLS_MAX)
		cols = PRINT_COLS_MAX;
	return (int)cols;
}

static void print_wall(
	FILE *out, const void *answer, const struct view *layout, bool color, bool header)
{
	const struct screen_docs docs = {.wall = answer,
		.wall_age_s = 0,
		.reading_s = NAN,
		.interval_s = NAN,
		.printed = true};
	struct screen screen;
	struct canvas canvas;
	screen_init(&screen);
	canvas_init(&canvas, print_cols(), SCREEN_ROWS_ALL, terminal_is_utf8());
	screen_paint(&screen, &docs, &canvas);
	canvas_print(out, &canvas, header ? 0 : 1, color);
	canvas_done(&canvas);
}

#define SHAPE struct watch_signal
static const struct shown columns[] = {PLAIN(signal), PLAIN(value), PLAIN(unit), PLAIN(state),
	PLAIN(where), PLAIN(name), PLAIN(value_low), PLAIN(quality), PLAIN(baseline), PLAIN(why)};
#undef SHAPE
static const struct shape_table signals_table = {&watch_signal_shape, columns, rw_countof(columns)};

static const void *print_signals(const void *answer, size_t *ret_n)
{
	const struct watch_answer *frame = answer;
	*ret_n = frame->n_signals;
	return frame->signals;
}

const struct view watch_view = {
	.title = "rocewatch",
	.table = &signals_table,
	.table_rows = print_signals,
	.answer_text = print_wall,
};
