/* screen_head - paints the headline of every page. */
#include "agent/surface/screen_head.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "agent/reports/agent_state.h"
#include "agent/surface/screen_paper.h"
#include "agent/surface/screen_text.h"

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
	const char *fabric = doc_word(docs->wall, "fabric");
	if (docs->wall)
		screen_add_time(&time, docs->wall, "time");
	head_add_pace(&pace, screen, docs);
	head_add(&line, STYLE_BAR, "rocewatch");
	if (canvas_width(fabric) > 24)
		line.col += canvas_put(canvas, 0, line.col, 24, STYLE_BAR, fabric) + HEAD_GAP;
	else if (*fabric)
		head_add(&line, STYLE_BAR, fabric);
	head_add(&line, STYLE_BAR, str_or(time.s, ""));
	head_add(&line, STYLE_BAR, str_or(pace.s, ""));
	const char *state = "unknown";
	if (docs->wall && *doc_word(docs->wall, "state") && !head_is_stuck(screen, docs))
		state = doc_word(docs->wall, "state");
	head_put_state(canvas, state);
}

/* ---- counts, agent, age -------------------------------------------------- */

static long long head_count(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static void head_add_up(struct head_line *line, const char *what, long long up, long long all)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s %lld/%lld up", what, up, all);
	head_add(line, up < all ? STYLE_ALARM : STYLE_PLAIN, text.s);
}

static void head_add_counts(struct head_line *line, const json_t *wall)
{
	const json_t *quality = json_object_get(wall, "data_quality");
	long long up = head_count(quality, "up"), captures_up = head_count(quality, "captures_up");
	long long all = up + head_count(quality, "down") + head_count(quality, "unknown");
	long long captures = captures_up + head_count(quality, "captures_down") +
		head_count(quality, "captures_unknown");
	if (json_is_object(quality))
		head_add_up(line, "devices", up, all);
	if (captures > 0)
		head_add_up(line, "captures", captures_up, captures);
	rw_cleanup(str_done) struct str text = {0};
	if (json_is_integer(json_object_get(wall, "open_incidents")))
		str_addf(&text, "incidents %lld open", head_count(wall, "open_incidents"));
	else
		str_add(&text, "incidents unknown");
	double usd = doc_number(json_object_get(wall, "money"), "usd_per_hour");
	if (usd > 0) {
		str_add(&text, ", ");
		screen_add_money(&text, usd);
		str_add(&text, "/h");
	}
	head_add(line, STYLE_PLAIN, text.s);
}

static void head_add_age(
	struct head_line *line, const struct screen *screen, const struct screen_docs *docs)
{
	const json_t *agent = json_object_get(docs->wall, "agent");
	double age_s = doc_number(agent, "data_age_s");
	bool stale = json_is_true(json_object_get(agent, "stale")) || head_is_stuck(screen, docs);
	/* The data grows older while the frame stands. */
	if (!isnan(docs->interval_s) && docs->wall_age_s > docs->interval_s)
		age_s += docs->wall_age_s;
	rw_cleanup(str_done) struct str text = {0};
	if (!stale && (isnan(age_s) || str_eq(doc_word(agent, "state"), "replay")))
		return;
	str_add(&text, "data ");
	screen_add_age(&text, age_s);
	str_add(&text, " old");
	head_add(line, stale ? STYLE_ALARM : STYLE_PLAIN, text.s);
}

static void head_add_agent(struct head_line *line, const json_t *wall)
{
	static const struct {
		const char *state, *words;
		enum canvas_style style;
	} rows[] = {
		{"running", "agent running", STYLE_PLAIN},
		{"stopped", "AGENT STOPPED", STYLE_ALARM},
		{"cannot_tell", "agent: cannot tell", STYLE_UNKNOWN},
		{"replay", "recorded data", STYLE_PLAIN},
	};
	const char *state = doc_word(json_object_get(wall, "agent"), "state");
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_eq(rows[i].state, state))
			head_add(line, rows[i].style, rows[i].words);
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
static const char *head_refused_text(const json_t *refused)
{
	static const char prefix[] = "reload refused, ";
	const char *text = doc_word(refused, "text");
	if (strncmp(text, prefix, strlen(prefix)) == 0)
		return text + strlen(prefix);
	return text;
}

static int head_put_troubles(const struct screen_docs *docs, struct canvas *canvas, int row)
{
	const json_t *agent = json_object_get(docs->wall, "agent");
	const json_t *refused = json_object_get(agent, "reload_refused");
	const char *broken = doc_word(agent, "config_error");
	if (agent_is_stuck(agent)) {
		rw_cleanup(str_done) struct str text = {0};
		agent_state_text(agent, &text);
		row = head_put_trouble(canvas, row, "CANNOT WRITE", text.s);
	}
	if (*broken)
		row = head_put_trouble(canvas, row, "CONFIGURATION BROKEN", broken);
	else if (json_is_object(refused))
		row = head_put_trouble(canvas, row, "RELOAD REFUSED", head_refused_text(refused));
	if (docs->wall && docs->wall_error)
		row = head_put_trouble(canvas, row, "CANNOT READ", docs->wall_error);
	return row;
}

int screen_paint_head(
	const struct screen *screen, const struct screen_docs *docs, struct canvas *canvas)
{
	int row = 1;
	head_put_bar(screen, docs, canvas);
	if (!docs->wall)
		return row;
	const char *why = doc_word(docs->wall, "state_why");
	if (*why)
		canvas_put(canvas, row++, 1, canvas->cols - 2, STYLE_BOLD, why);
	struct head_line line = {canvas, row++, 1, canvas->cols};
	head_add_age(&line, screen, docs);
	head_add_agent(&line, docs->wall);
	head_add_counts(&line, docs->wall);
	return head_put_troubles(docs, canvas, row);
}
