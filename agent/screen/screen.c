/* screen - the pages on top of each other, the keys, and the frame around each page. */
#include "agent/screen/screen.h"

#include "agent/answers/watch/watch_frame.h"
#include "agent/screen/screen_rows.h"

/*
 * screen_head - the headline of every page: fabric, wall clock, state and why, age of the data, the
 * agent, and what is wrong with the configuration or with reading.
 *
 * screen_head - paints the headline of every page.
 */

enum {
	HEAD_GAP = 3,
	HEAD_STATE_WIDTH = 12,
	/* A frame older than this and some intervals says nothing of the present. */
	HEAD_STUCK_S = 10,
	HEAD_STUCK_FRAMES = 3,
};

/* A line that is filled from the left, part by part. */
struct head_line {
	struct canvas *canvas;
	int row, col, end;
};

static void head_add(struct head_line *line, enum canvas_style style, const char *text)
{
	int width = canvas_width(text);
	if (width == 0 || line->col + width > line->end)
		return;
	canvas_put(line->canvas, line->row, line->col, width, style, text);
	line->col += width + HEAD_GAP;
}

/* ---- the bar ------------------------------------------------------------- */

static void head_put_state(struct canvas *canvas, const char *state)
{
	char word[HEAD_STATE_WIDTH + 1] = "";
	for (size_t i = 0; state[i] && i < HEAD_STATE_WIDTH; i++)
		word[i] = (char)toupper((unsigned char)state[i]);
	int col = canvas->cols - HEAD_STATE_WIDTH;
	enum canvas_style style = screen_style(state);
	if (style == STYLE_PLAIN)
		style = STYLE_BAR;
	canvas_put(canvas, 0, col, HEAD_STATE_WIDTH, style, "            ");
	int left = (HEAD_STATE_WIDTH - canvas_width(word)) / 2;
	canvas_put(canvas, 0, col + left, HEAD_STATE_WIDTH - left, style, word);
}

/* A live frame that is not followed by another one: the database does not answer. */
static bool head_is_stuck(const struct screen *screen, const struct screen_docs *docs)
{
	return !isnan(docs->interval_s) && !screen->paused &&
		docs->wall_age_s > HEAD_STUCK_S + HEAD_STUCK_FRAMES * docs->interval_s;
}

/* How the screen is kept up to date, in words. */
static void head_add_pace(
	struct str *out, const struct screen *screen, const struct screen_docs *docs)
{
	if (docs->printed)
		return;
	if (isnan(docs->interval_s)) {
		str_add(out, "AS IT WAS");
		return;
	}
	if (screen->paused) {
		str_add(out, "PAUSED, frame ");
		screen_add_age(out, docs->wall_age_s);
		str_add(out, " old");
		return;
	}
	if (docs->reading_s >= 1 || docs->wall_error) {
		str_add(out, "reading... frame ");
		screen_add_age(out, docs->wall_age_s);
		str_add(out, " old");
		return;
	}
	char every[32];
	int64_t interval_ns = llround(docs->interval_s * 1e3) * NS_PER_MS;
	str_addf(out, "every %s", unit_duration_text(every, sizeof(every), interval_ns));
}

static void head_put_bar(
	const struct screen *screen, const struct screen_docs *docs, struct canvas *canvas)
{
	rw_cleanup(str_done) struct str time = {0}, pace = {0};
	struct head_line line = {canvas, 0, 1, canvas->cols - HEAD_STATE_WIDTH};
	canvas_paint(canvas, 0, 0, canvas->cols, STYLE_BAR);
	const char *fabric = "", *state = golden_state_name(GOLDEN_UNKNOWN);
	if (docs->wall) {
		char now[WALL_TEXT_MAX];
		fabric = str_or(docs->wall->status.fabric, "");
		screen_add_time(&time, wall_format(now, docs->wall->status.time, 0));
	}
	head_add_pace(&pace, screen, docs);
	head_add(&line, STYLE_BAR, "rocewatch");
	if (canvas_width(fabric) > 24)
		line.col += canvas_put(canvas, 0, line.col, 24, STYLE_BAR, fabric) + HEAD_GAP;
	else if (*fabric)
		head_add(&line, STYLE_BAR, fabric);
	head_add(&line, STYLE_BAR, str_or(time.s, ""));
	head_add(&line, STYLE_BAR, str_or(pace.s, ""));
	if (docs->wall && !head_is_stuck(screen, docs))
		state = golden_state_name(docs->wall->status.state);
	head_put_state(canvas, state);
}

/* ---- counts, agent, age -------------------------------------------------- */

static void head_add_up(struct head_line *line, const char *what, uint64_t up, uint64_t all)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s %llu/%llu up", what, (unsigned long long)up, (unsigned long long)all);
	head_add(line, up < all ? STYLE_ALARM : STYLE_PLAIN, text.s);
}

static void head_add_counts(struct head_line *line, const struct watch_answer *wall)
{
	const struct status_quality *quality = &wall->status.data_quality;
	const uint64_t all = quality->up + quality->down + quality->unknown;
	const uint64_t captures =
		quality->captures_up + quality->captures_down + quality->captures_unknown;
	head_add_up(line, "devices", quality->up, all);
	if (captures > 0)
		head_add_up(line, "captures", quality->captures_up, captures);
	rw_cleanup(str_done) struct str text = {0};
	if (wall->open_incidents != COUNT_UNKNOWN)
		str_addf(&text, "incidents %llu open", (unsigned long long)wall->open_incidents);
	else
		str_add(&text, "incidents unknown");
	if (wall->status.money.usd_per_hour > 0) {
		str_add(&text, ", ");
		screen_add_money(&text, wall->status.money.usd_per_hour);
		str_add(&text, "/h");
	}
	head_add(line, STYLE_PLAIN, text.s);
}

static void head_add_age(
	struct head_line *line, const struct screen *screen, const struct screen_docs *docs)
{
	const struct agent_state *agent = &docs->wall->status.agent;
	double age_s = agent->data_age_s;
	bool stale = agent->stale || head_is_stuck(screen, docs);
	/* The data grows older while the frame stands. */
	if (!isnan(docs->interval_s) && docs->wall_age_s > docs->interval_s)
		age_s += docs->wall_age_s;
	rw_cleanup(str_done) struct str text = {0};
	if (!stale && (isnan(age_s) || agent->state == STORE_REPLAY))
		return;
	str_add(&text, "data ");
	screen_add_age(&text, age_s);
	str_add(&text, " old");
	head_add(line, stale ? STYLE_ALARM : STYLE_PLAIN, text.s);
}

static void head_add_agent(struct head_line *line, enum client_agent state)
{
	static const struct {
		const char *words;
		enum canvas_style style;
	} rows[] = {
		[AGENT_RUNNING] = {"agent running", STYLE_PLAIN},
		[AGENT_STOPPED] = {"AGENT STOPPED", STYLE_ALARM},
		[AGENT_CANNOT_TELL] = {"agent: cannot tell", STYLE_UNKNOWN},
		[STORE_REPLAY] = {"recorded data", STYLE_PLAIN},
	};
	head_add(line, rows[state].style, rows[state].words);
}

/* ---- what is wrong with the inputs --------------------------------------- */

/* The title and the text, on two rows where one is too short. */
static int head_put_trouble(struct canvas *canvas, int row, const char *title, const char *text)
{
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s  %s", title, text);
	int rows = 1 + (canvas_width(line.s) > canvas->cols - 2);
	screen_paper_put_at(canvas, row, rows, line.s);
	canvas_paint(canvas, row, 1, canvas_width(title), STYLE_ALARM);
	return row + rows;
}

/* The event's text repeats the title. */
static const char *head_refused_text(const char *text)
{
	static const char prefix[] = "reload refused, ";
	if (strncmp(text, prefix, strlen(prefix)) == 0)
		return text + strlen(prefix);
	return text;
}

static int head_put_troubles(const struct screen_docs *docs, struct canvas *canvas, int row)
{
	const struct agent_state *agent = &docs->wall->status.agent;
	const struct agent_refused *refused = agent->reload_refused;
	if (agent_is_stuck(agent)) {
		rw_cleanup(str_done) struct str text = {0};
		agent_state_text(agent, &text);
		row = head_put_trouble(canvas, row, "CANNOT WRITE", text.s);
	}
	if (agent->config_error && *agent->config_error)
		row = head_put_trouble(canvas, row, "CONFIGURATION BROKEN", agent->config_error);
	else if (refused)
		row = head_put_trouble(
			canvas, row, "RELOAD REFUSED", head_refused_text(refused->text));
	if (docs->wall_error)
		row = head_put_trouble(canvas, row, "CANNOT READ", docs->wall_error);
	return row;
}

/* screen_paint_head - paints from row 0 on and returns how many rows it took. */
static int screen_paint_head(
	const struct screen *screen, const struct screen_docs *docs, struct canvas *canvas)
{
	int row = 1;
	head_put_bar(screen, docs, canvas);
	if (!docs->wall)
		return row;
	const char *why = docs->wall->status.state_why;
	if (why && *why)
		canvas_put(canvas, row++, 1, canvas->cols - 2, STYLE_BOLD, why);
	struct head_line line = {canvas, row++, 1, canvas->cols};
	head_add_age(&line, screen, docs);
	head_add_agent(&line, docs->wall->status.agent.state);
	head_add_counts(&line, docs->wall);
	return head_put_troubles(docs, canvas, row);
}

enum { KEY_DELETE = 127, KEY_BACKSPACE_ASCII = 8, FOOT_WIDE_COLS = 110 };

void screen_init(struct screen *screen)
{
	*screen = (struct screen){0};
	screen->stack[0].page = screen_pages[0];
}

/* ---- from page to page ------------------------------------------------------ */

/* Pages that a key opens stand directly on the wall; details stand on the page they belong to. */
static bool screen_open(struct screen *screen, const struct screen_page *page, const char *subject)
{
	size_t depth = screen->depth + 1;
	if (page->key)
		depth = 1;
	if (depth >= SCREEN_DEPTH_MAX || screen_place_of(screen)->page == page)
		return false;
	screen->depth = depth;
	struct screen_place *place = screen_place_of(screen);
	*place = (struct screen_place){.page = page};
	snprintf(place->subject, sizeof(place->subject), "%s", subject);
	*screen->row_subject = '\0';
	return true;
}

static bool screen_back(struct screen *screen)
{
	if (screen->depth == 0)
		return false;
	screen->depth--;
	return true;
}

static bool screen_enter(struct screen *screen)
{
	const struct screen_page *next = screen_place_of(screen)->page->enter;
	char subject[SCREEN_TEXT_MAX];
	if (!next || !*screen->row_subject)
		return false;
	snprintf(subject, sizeof(subject), "%s", screen->row_subject);
	return screen_open(screen, next, subject);
}

/* ---- keys ---------------------------------------------------------------------- */

static bool screen_is_erase(int key)
{
	return key == SCREEN_KEY_BACKSPACE || key == KEY_DELETE || key == KEY_BACKSPACE_ASCII;
}

static void screen_begin_line(struct screen *screen, enum screen_line line)
{
	screen->line = line;
	*screen->typed = '\0';
}

/* The incident that is selected or shown; nothing happens where there is none. */
static void screen_begin_ack(struct screen *screen)
{
	const struct screen_place *place = screen_place_of(screen);
	const char *id = screen->row_subject;
	if (*place->subject)
		id = place->subject;
	if (!place->page->incident || !*id)
		return;
	memcpy(screen->ack_id, id, sizeof(screen->ack_id));
	screen_begin_line(screen, SCREEN_LINE_ACK);
}

static void screen_take_line(struct screen *screen)
{
	if (screen->line == SCREEN_LINE_ACK) {
		screen->ack = true;
		return;
	}
	snprintf(screen->filter, sizeof(screen->filter), "%s", screen->typed);
	screen_place_of(screen)->selected = 0;
}

/* While a line is typed: Enter takes it, Escape drops what was typed. */
static void screen_type(struct screen *screen, int key)
{
	size_t n = strlen(screen->typed);
	if (key == SCREEN_KEY_ENTER)
		screen_take_line(screen);
	if (key == SCREEN_KEY_ENTER || key == SCREEN_KEY_ESCAPE) {
		screen->line = SCREEN_LINE_KEYS;
	} else if (screen_is_erase(key) && n > 0) {
		screen->typed[n - 1] = '\0';
	} else if (key >= ' ' && key < KEY_DELETE && n + 1 < sizeof(screen->typed)) {
		screen->typed[n] = (char)key;
		screen->typed[n + 1] = '\0';
	}
}

/* Lists move their selected row and pages of text move their first line. */
static void screen_move(struct screen *screen, int by)
{
	struct screen_place *place = screen_place_of(screen);
	int *at = &place->top;
	int last = screen->n_rows - screen->n_visible;
	if (place->page->enter && screen->depth > 0) {
		at = &place->selected;
		last = screen->n_rows - 1;
	}
	*at += by;
	if (*at > last)
		*at = last;
	if (*at < 0)
		*at = 0;
}

static bool screen_scrolls(struct screen *screen, int key)
{
	int page = screen->n_visible > 1 ? screen->n_visible - 1 : 1;
	const struct {
		int key, by;
	} moves[] = {
		{'j', 1},
		{SCREEN_KEY_DOWN, 1},
		{'k', -1},
		{SCREEN_KEY_UP, -1},
		{SCREEN_KEY_PAGE_DOWN, page},
		{SCREEN_KEY_PAGE_UP, -page},
		{'g', -screen->n_rows},
		{SCREEN_KEY_HOME, -screen->n_rows},
		{'G', screen->n_rows},
		{SCREEN_KEY_END, screen->n_rows},
	};
	for (size_t i = 0; i < rw_countof(moves); i++) {
		if (moves[i].key != key)
			continue;
		screen_move(screen, moves[i].by);
		return true;
	}
	if (key == SCREEN_KEY_LEFT)
		screen_place_of(screen)->left--;
	else if (key == SCREEN_KEY_RIGHT)
		screen_place_of(screen)->left++;
	else
		return false;
	return true;
}

static void screen_next_order(struct screen *screen)
{
	struct screen_place *place = screen_place_of(screen);
	const char *const *orders = place->page->orders;
	if (!orders)
		return;
	place->order++;
	if (!orders[place->order])
		place->order = 0;
}

static bool screen_escape(struct screen *screen, int key)
{
	if (screen_back(screen))
		return true;
	if (key == SCREEN_KEY_ESCAPE)
		*screen->filter = '\0';
	return false;
}

bool screen_press(struct screen *screen, int key)
{
	if (key != SCREEN_KEY_NONE)
		*screen->said = '\0';
	if (screen->line != SCREEN_LINE_KEYS) {
		screen_type(screen, key);
		return false;
	}
	if (screen_scrolls(screen, key))
		return false;
	if (key == SCREEN_KEY_ESCAPE || screen_is_erase(key))
		return screen_escape(screen, key);
	if (key == SCREEN_KEY_ENTER)
		return screen_enter(screen);
	for (size_t i = 0; screen_pages[i]; i++)
		if (screen_pages[i]->key && screen_pages[i]->key == key)
			return screen_open(screen, screen_pages[i], "");
	switch (key) {
	case 'q': screen->quit = true; break;
	case ' ': screen->paused = !screen->paused; break;
	case 'o': screen_next_order(screen); break;
	case 'a': screen_begin_ack(screen); break;
	case '/': screen_begin_line(screen, SCREEN_LINE_FILTER); break;
	default: break;
	}
	return false;
}

/* ---- the foot line ---------------------------------------------------------------- */

/* "[i]ncidents" where the name begins with its key, else "[?] help". */
static void screen_add_key(struct str *out, int key, const char *name)
{
	if (name[0] == key)
		str_addf(out, " [%c]%s", key, name + 1);
	else
		str_addf(out, " [%c]%s", key, name);
}

/* Left out from the end where the line is too short; q, ? and Esc are always there. */
static void screen_put_keys(const struct screen *screen, struct canvas *canvas, int row)
{
	static const char back[] = " [Esc]back";
	const char *always = " [/]filter [?]help [q]uit";
	if (canvas->cols >= FOOT_WIDE_COLS)
		always = " [a]ck [/]filter [o]rder [space]hold [?]help [q]uit";
	int room = canvas->cols - canvas_width(always);
	int col = 0;
	if (screen->depth > 0)
		col += canvas_put(canvas, row, 0, canvas->cols, STYLE_BAR, back);
	for (size_t i = 0; screen_pages[i]; i++) {
		const struct screen_page *page = screen_pages[i];
		rw_cleanup(str_done) struct str text = {0};
		if (!page->key || page->key == '?')
			continue;
		screen_add_key(&text, page->key, page->name);
		int width = canvas_width(text.s);
		if (col + width > room)
			break;
		col += canvas_put(canvas, row, col, width, STYLE_BAR, text.s);
	}
	canvas_put(canvas, row, col, canvas->cols - col, STYLE_BAR, always);
}

static void screen_put_foot(const struct screen *screen, struct canvas *canvas)
{
	int row = canvas->rows - 1;
	canvas_paint(canvas, row, 0, canvas->cols, STYLE_BAR);
	if (screen->line == SCREEN_LINE_FILTER)
		canvas_putf(canvas, row, 1, canvas->cols - 2, STYLE_BAR,
			"filter (device, port, host, job, cause; Enter takes it): %s_",
			screen->typed);
	else if (screen->line == SCREEN_LINE_ACK)
		canvas_putf(canvas, row, 1, canvas->cols - 2, STYLE_BAR,
			"acknowledge %s, with a note or none (Enter sends it): %s_", screen->ack_id,
			screen->typed);
	else if (*screen->said)
		canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_BAR, screen->said);
	else
		screen_put_keys(screen, canvas, row);
}

/* ---- pages --------------------------------------------------------------------------- */

/* The title of a page with its subject, the order of its rows and the filter. */
static void screen_put_title(const struct screen *screen, struct canvas *canvas, int row)
{
	const struct screen_place *place = &screen->stack[screen->depth];
	rw_cleanup(str_done) struct str text = {0};
	if (place->page->title)
		str_add(&text, place->page->title);
	if (place->page->orders && (place->page->title || place->order > 0))
		str_addf(&text, "%sby %s", str_if(text.n > 0, "   "),
			place->page->orders[place->order]);
	if (*screen->filter)
		str_addf(&text, "%sfilter: %s", str_if(text.n > 0, "   "), screen->filter);
	canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_BOLD, str_or(text.s, ""));
}

static bool screen_has_title(const struct screen *screen)
{
	const struct screen_place *place = &screen->stack[screen->depth];
	return place->page->title || place->order > 0 || *screen->filter;
}

static void screen_paint_page(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	const struct screen_page *page = screen_place_of(screen)->page;
	bool ready = page->path ? docs->page || docs->answer : docs->wall != NULL;
	screen->n_rows = 0;
	screen->n_visible = rows;
	*screen->row_subject = '\0'; /* until the page names it: it may have no row */
	if (page->path && docs->page_error) {
		canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_ALARM, docs->page_error);
		return;
	}
	if (ready || page->key == '?')
		page->paint(screen, docs, canvas, row, rows);
	else if (page->path)
		canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_DIM, "reading...");
}

/* Before the first frame: why there is none, and that it goes on. */
static void screen_paint_none(const struct screen_docs *docs, struct canvas *canvas, int row)
{
	if (!docs->wall_error) {
		canvas_put(
			canvas, row + 1, 1, canvas->cols - 2, STYLE_DIM, "reading the database...");
		return;
	}
	canvas_put(canvas, row + 1, 1, canvas->cols - 2, STYLE_ALARM, "CANNOT READ THE DATABASE");
	screen_paper_put_at(canvas, row + 2, 4, docs->wall_error);
	canvas_put(canvas, row + 7, 1, canvas->cols - 2, STYLE_DIM,
		"Trying again; the screen comes back by itself. 'rocewatch doctor' says more.");
}

void screen_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas)
{
	bool all = canvas->rows >= SCREEN_ROWS_ALL;
	if (canvas->cols < SCREEN_COLS_MIN || canvas->rows < SCREEN_ROWS_MIN) {
		canvas_putf(canvas, 0, 0, canvas->cols, STYLE_ALARM, "%dx%d is too small",
			canvas->cols, canvas->rows);
		canvas_putf(canvas, 1, 0, canvas->cols, STYLE_PLAIN,
			"needs %dx%d: enlarge the window", SCREEN_COLS_MIN, SCREEN_ROWS_MIN);
		canvas_put(
			canvas, 2, 0, canvas->cols, STYLE_PLAIN, "or use 'rocewatch watch --once'");
		return;
	}
	int row = screen_paint_head(screen, docs, canvas);
	int end = canvas->rows - !all;
	if (screen_has_title(screen))
		screen_put_title(screen, canvas, row++);
	if (!docs->wall && screen->depth == 0)
		screen_paint_none(docs, canvas, row);
	else
		screen_paint_page(screen, docs, canvas, row, end - row);
	if (!all)
		screen_put_foot(screen, canvas);
}
