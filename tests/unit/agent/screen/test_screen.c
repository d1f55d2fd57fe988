/* screen: documents and a size go in, cells come out; keys lead from page to page. No terminal. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "agent/answers/doctor/doctor.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/screen/screen.h"
#include "agent/screen/screen_rows.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

/* ---- canvas --------------------------------------------------------------- */

static char *printed(const struct canvas *canvas)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	canvas_print(out, canvas, 0, false);
	fclose(out);
	return text;
}

static void text_is_cut_at_words(void **state)
{
	static const struct {
		const char *text;
		int width;
		bool utf8;
		const char *want;
	} rows[] = {
		{"leaf2 is paused", 20, true, "leaf2 is paused\n"},
		{"leaf2 is paused", 15, true, "leaf2 is paused\n"},
		{"leaf2 is paused", 14, true, "leaf2 is\u2026\n"},
		{"leaf2 is paused", 14, false, "leaf2 is...\n"},
		{"Ethernet123456789", 10, false, "Etherne...\n"},
		{"a Ethernet123456789", 10, false, "a Ether...\n"},
		{"x\x1b[2Jy\tz", 20, true, "x [2Jy z\n"},
		{"caf\u00e9 \u2264 \u65e5", 20, true, "caf\u00e9 \u2264 ?\n"},
		{"\u2264 \u2588\u2500", 20, false, "< #-\n"},
		{"broken \xff\xc3", 20, true, "broken ??\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct canvas canvas;
		canvas_init(&canvas, 40, 2, rows[i].utf8);
		canvas_put(&canvas, 0, 0, rows[i].width, STYLE_PLAIN, rows[i].text);
		rw_cleanup(freep) char *text = printed(&canvas);
		if (!str_eq(text, rows[i].want))
			fail_msg("'%s' in %d: '%s'", rows[i].text, rows[i].width, text);
		canvas_done(&canvas);
	}
}

static void outside_is_dropped(void **state)
{
	struct canvas canvas;
	canvas_init(&canvas, 4, 1, true);
	assert_int_equal(canvas_put(&canvas, 0, 3, 100, STYLE_PLAIN, "abcdef"), 1);
	canvas_put(&canvas, 5, 0, 4, STYLE_PLAIN, "abc");
	canvas_put(&canvas, -1, 0, 4, STYLE_PLAIN, "abc");
	canvas_bar(&canvas, 0, 2, 10, STYLE_PLAIN, 1);
	assert_null(canvas_at(&canvas, 0, 4));
	canvas_done(&canvas);
}

static void values_have_units(void **state)
{
	static const struct {
		double value;
		const char *unit, *quality, *want;
	} rows[] = {
		{NAN, "ratio", "unknown", "-"},
		{0, "ratio", "bound", "0 %"},
		{0.071, "ratio", "exact", "7.1 %"},
		{0.071, "ratio", "bound", "<= 7.1 %"},
		{-1.1e-16, "ratio", "exact", "0 %"},
		{1.05, "ratio", "exact", "105 %"},
		{0.131, "s", "exact", "131 ms"},
		{6800, "frames/s", "exact", "6.80k/s"},
		{3, "links", "exact", "3"},
		{12, "packets/s", "estimated", "~12/s"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str text = {0};
		screen_add_value(&text, rows[i].value, rows[i].unit, rows[i].quality);
		assert_string_equal(text.s, rows[i].want);
	}
	rw_cleanup(str_done) struct str money = {0};
	screen_add_money(&money, 1266000.4);
	screen_add_money(&money, 3.5);
	assert_string_equal(money.s, "$1,266,000$3.50");
}

/* ---- the wall ----------------------------------------------------------------- */

static struct arena *walls; /* of the frames; for all tests */

static const char *numbered(struct arena *a, const char *name, int i)
{
	return arena_printf(a, "%s%d", name, i);
}

static wall_t at(const char *time)
{
	wall_t t;
	assert_int_equal(wall_parse(time, (wall_t){0}, &t), 0);
	return t;
}

#define FRAME_TIME "2026-11-22T03:14:22Z"

static struct watch_signal signal_row(struct arena *a, int i, enum golden_state state)
{
	return (struct watch_signal){.signal = numbered(a, "signal ", i),
		.value = 0.071,
		.unit = "ratio",
		.quality = "bound",
		.baseline = 0.01,
		.baseline_span_s = 86400,
		.baseline_from = at("2026-11-21T03:14:22Z"),
		.baseline_to = at(FRAME_TIME),
		.state = state,
		.where = "leaf2 Ethernet2 p3"};
}

static struct open_incident incident_row(struct arena *a, int i)
{
	return (struct open_incident){.id = arena_printf(a, "aaaaaa%02d", i),
		.severity = i % 3 ? "warning" : "critical",
		.cause = "pfc_storm",
		.device = numbered(a, "leaf", i),
		.host = "node-010",
		.opened = "2026-11-22T03:00:00Z",
		.age_s = 600,
		.usd_per_hour = i * 100.0,
		.usd_total = NAN,
		.priority = COUNT_UNKNOWN,
		.headline = "node-010 pauses its switch and receives nothing"};
}

static struct watch_paused paused_row(struct arena *a, int i)
{
	return (struct watch_paused){.device = "leaf2",
		.port = numbered(a, "Ethernet", i),
		.priority = 3,
		.pause_ratio = 0.5,
		.quality = "exact",
		.role = "origin",
		.sentence = "node-010 paused us"};
}

static struct status_device device_row(struct arena *a, int i)
{
	return (struct status_device){.name = numbered(a, "spine", i),
		.up = MAYBE_NO,
		.status = "down",
		.reason = numbered(a, "reason ", i)};
}

enum { N_SIGNALS = 11, N_PAUSED = 12, N_DEVICES = 5 };

/* A wall on which everything is there, and more of each than fits. */
static struct watch_answer *full_wall(int n_incidents)
{
	static const enum golden_state states[N_SIGNALS] = {GOLDEN_OK, GOLDEN_CRITICAL,
		GOLDEN_UNKNOWN, GOLDEN_OK, GOLDEN_WARNING, GOLDEN_IDLE, GOLDEN_OK, GOLDEN_CRITICAL,
		GOLDEN_OK, GOLDEN_UNKNOWN, GOLDEN_OK};
	static struct watch_job job = {"train", JOB_RUNNING, 0.45, 0.422, 0.066, NAN, {INT64_MIN}};
	static struct watch_uplink uplink = {"leaf3", "Ethernet1", NULL, 0.95, COUNT_UNKNOWN};
	static struct watch_event event = {
		"2026-11-22T03:00:00Z", "agent_start", "started", NULL, NULL};
	struct arena *a = walls;
	struct watch_answer *wall = arena_new_of(a, struct watch_answer);
	*wall = (struct watch_answer){
		.status = {.fabric = "pod-a",
			.time = at(FRAME_TIME),
			.devices = arena_array(a, struct status_device, N_DEVICES),
			.n_devices = N_DEVICES,
			.state = GOLDEN_CRITICAL,
			.state_why = "2 open incidents",
			.money = {NAN, NAN}},
		.open_incidents = (uint64_t)n_incidents,
		.incidents = arena_array(a, struct open_incident, n_incidents),
		.n_incidents = (size_t)n_incidents,
		.window = {at(FRAME_TIME), at(FRAME_TIME)},
		.signals = arena_array(a, struct watch_signal, N_SIGNALS),
		.n_signals = N_SIGNALS,
		.paused = arena_array(a, struct watch_paused, N_PAUSED),
		.n_paused = N_PAUSED,
		.uplinks = &uplink,
		.n_uplinks = 1,
		.events = &event,
		.n_events = 1,
		.jobs = &job,
		.n_jobs = 1};
	wall->status.agent = (struct agent_state){.state = AGENT_RUNNING,
		.data_age_s = 2,
		.config_error = "rocewatch.yaml:10:20: unknown key 'rolle'"};
	wall->status.data_quality = (struct status_quality){.up = 7, .down = 5};
	for (int i = 0; i < N_SIGNALS; i++)
		wall->signals[i] = signal_row(a, i, states[i]);
	for (int i = 0; i < n_incidents; i++)
		wall->incidents[i] = incident_row(a, i);
	for (int i = 0; i < N_PAUSED; i++)
		wall->paused[i] = paused_row(a, i);
	for (int i = 0; i < N_DEVICES; i++)
		wall->status.devices[i] = device_row(a, i);
	return wall;
}

static struct screen_docs docs_of(const struct watch_answer *wall)
{
	return (struct screen_docs){
		.wall = wall, .wall_age_s = 0.1, .reading_s = NAN, .interval_s = 2};
}

static char *painted(struct screen *screen, const struct screen_docs *docs, int cols, int rows)
{
	struct canvas canvas;
	canvas_init(&canvas, cols, rows, false);
	screen_paint(screen, docs, &canvas);
	char *text = printed(&canvas);
	canvas_done(&canvas);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (strstr(text, part))
		return;
	fputs(text, stderr);
	fail_msg("'%s' is missing", part);
}

static size_t line_count(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* At every size: the headline first, the keys last, every signal that warns, and a count of the
 * incidents that do not fit. */
static void every_size_holds_the_headline(void **state)
{
	struct watch_answer *wall = full_wall(30);
	const struct screen_docs docs = docs_of(wall);
	for (int cols = 80; cols <= 200; cols += 8)
		for (int rows = 24; rows <= 72; rows += 3) {
			struct screen screen;
			screen_init(&screen);
			rw_cleanup(freep) char *text = painted(&screen, &docs, cols, rows);
			assert_int_equal(line_count(text), rows);
			assert_ptr_equal(
				strstr(text, " rocewatch   pod-a   2026-11-22 03:14:22Z"), text);
			expect(text, "CRITICAL");
			expect(text, "2 open incidents");
			expect(text, "CONFIGURATION BROKEN  rocewatch.yaml:10:20");
			expect(text, "signal 1 ");
			expect(text, "signal 4 ");
			expect(text, "signal 7 ");
			expect(text, "JOB train");
			expect(text, "BUSIEST UPLINKS");
			expect(text, "down      spine0");
			expect(text, "$2,900/h");
			assert_non_null(strstr(text, "[q]uit"));
			if (rows < 60)
				expect(text, " more\n");
		}
}

static void all_rows_on_paper(void **state)
{
	struct watch_answer *wall = full_wall(30);
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	docs.printed = true;
	screen_init(&screen);
	rw_cleanup(freep) char *text = painted(&screen, &docs, 100, SCREEN_ROWS_ALL);
	assert_null(strstr(text, " more"));
	assert_null(strstr(text, "[q]uit"));
	expect(text, "leaf2:Ethernet11 p3");
	expect(text, "signal 10");
	expect(text, "BASE 1d");
	expect(text, "step 450 ms (normal 422 ms)  +6.6 %");
	/* what came after an onset is not usual */
	for (size_t i = 0; i < wall->n_signals; i++)
		wall->signals[i].baseline_to = at("2026-11-22T02:38:00Z");
	rw_cleanup(freep) char *old = painted(&screen, &docs, 100, SCREEN_ROWS_ALL);
	expect(old, "BASE to 02:38Z");
	wall->signals[1].baseline_to = at(FRAME_TIME);
	rw_cleanup(freep) char *both = painted(&screen, &docs, 100, SCREEN_ROWS_ALL);
	expect(both, "BASELINE ");
	/* what is open shows in its state; a number that is bad above its limit may be of better
	 * minutes */
	wall->signals[1].value = 0;
	wall->signals[1].state = GOLDEN_CRITICAL;
	wall->signals[1].limit = 0;
	rw_cleanup(freep) char *better = painted(&screen, &docs, 100, SCREEN_ROWS_ALL);
	expect(better, " 0 % now ");
}

/* What the frame itself does not know: that no newer one came. */
static void an_old_frame_is_unknown(void **state)
{
	static const struct {
		const char *what;
		double wall_age_s, interval_s;
		bool paused;
		const char *want, *never;
	} rows[] = {
		{"fresh", 1, 2, false, "CRITICAL", "reading"},
		{"not answered for a minute", 60, 2, false, "UNKNOWN", "CRITICAL"},
		{"held by its reader", 60, 2, true, "PAUSED, frame 1m00s old", "UNKNOWN"},
		{"the past stands still", 6000, NAN, false, "AS IT WAS", "UNKNOWN"},
	};
	struct watch_answer *wall = full_wall(1);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct screen_docs docs = docs_of(wall);
		struct screen screen;
		docs.wall_age_s = rows[i].wall_age_s;
		docs.interval_s = rows[i].interval_s;
		docs.reading_s = 0.1;
		screen_init(&screen);
		screen.paused = rows[i].paused;
		rw_cleanup(freep) char *text = painted(&screen, &docs, 80, 24);
		rw_cleanup(freep) char *head = strndup(text, strcspn(text, "\n"));
		expect(text, rows[i].want);
		if (strstr(head, rows[i].never))
			fail_msg("%s: %s", rows[i].what, head);
	}
}

/* A frame of which nothing is known but its time claims nothing. */
static void absent_is_unknown(void **state)
{
	struct watch_signal signal = {.signal = "pause time",
		.value = NAN,
		.unit = "ratio",
		.quality = "unknown",
		.baseline = NAN,
		.baseline_span_s = NAN};
	const struct watch_answer frame = {
		.status = {.time = at(FRAME_TIME),
			.agent = {.state = AGENT_CANNOT_TELL, .data_age_s = NAN},
			.money = {NAN, NAN}},
		.open_incidents = COUNT_UNKNOWN,
		.signals = &signal,
		.n_signals = 1};
	const struct watch_answer *wall = &frame;
	const struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	rw_cleanup(freep) char *text = painted(&screen, &docs, 80, 24);
	expect(text, "UNKNOWN");
	expect(text, " pause time        -         -  unknown\n");
	expect(text, " incidents unknown\n");
	expect(text, " INCIDENTS  unknown here");
}

static void errors_have_a_place(void **state)
{
	struct watch_answer *wall = full_wall(1);
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	docs.wall_error = "x.db: database disk image is malformed";
	rw_cleanup(freep) char *lives = painted(&screen, &docs, 80, 24);
	expect(lives, "CANNOT READ  x.db: database disk image is malformed");
	expect(lives, "GOLDEN SIGNAL");
	docs.wall = NULL;
	rw_cleanup(freep) char *first = painted(&screen, &docs, 80, 24);
	expect(first, "CANNOT READ THE DATABASE\n x.db: database disk image is malformed\n");
	expect(first, "Trying again");
	expect(first, "UNKNOWN");
	rw_cleanup(freep) char *small = painted(&screen, &docs, 79, 30);
	expect(small, "79x30 is too small\nneeds 80x24");
}

/* ---- keys ---------------------------------------------------------------------- */

static void press(struct screen *screen, const char *keys)
{
	for (; *keys; keys++)
		screen_press(screen, *keys);
}

static void keys_lead_to_the_card_and_back(void **state)
{
	json_t *page = json_object();
	struct watch_answer *wall = full_wall(30);
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	free(painted(&screen, &docs, 80, 24));
	assert_true(screen_press(&screen, 'i'));
	rw_cleanup(freep) char *list = painted(&screen, &docs, 80, 24);
	expect(list, "OPEN INCIDENTS   by money");
	assert_string_equal(screen.row_subject, "aaaaaa29"); /* $2,900 an hour */
	press(&screen, "jj");
	free(painted(&screen, &docs, 80, 24));
	assert_true(screen_press(&screen, SCREEN_KEY_ENTER));
	assert_string_equal(screen_place_of(&screen)->page->path, "incident/show");
	assert_string_equal(screen_place_of(&screen)->subject, "aaaaaa27");
	docs.page = page;
	docs.page_text = "CRITICAL pfc_storm\nWHY         pause time measured";
	rw_cleanup(freep) char *card = painted(&screen, &docs, 80, 24);
	expect(card, "\n CRITICAL pfc_storm\n WHY         pause time measured\n");
	assert_true(screen_press(&screen, SCREEN_KEY_BACKSPACE));
	assert_true(screen_press(&screen, SCREEN_KEY_ESCAPE));
	assert_false(screen_press(&screen, SCREEN_KEY_ESCAPE));
	assert_int_equal(screen.depth, 0);
	json_decref(page);
}

/* The selected row is always on the screen; what is below is counted. */
static void lists_scroll(void **state)
{
	struct watch_answer *wall = full_wall(60);
	const struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	press(&screen, "i");
	free(painted(&screen, &docs, 80, 24));
	press(&screen, "G");
	rw_cleanup(freep) char *end = painted(&screen, &docs, 80, 24);
	assert_string_equal(screen.row_subject, "aaaaaa00");
	assert_null(strstr(end, " more\n"));
	press(&screen, "g");
	screen_press(&screen, SCREEN_KEY_PAGE_DOWN);
	rw_cleanup(freep) char *next = painted(&screen, &docs, 80, 24);
	expect(next, " more\n");
	assert_int_equal(screen_place_of(&screen)->selected, screen.n_visible - 1);
}

static void filter_and_order(void **state)
{
	static const struct {
		const char *keys;
		const char *first; /* id of the first row, "" none */
		const char *says;
	} rows[] = {
		{"io", "aaaaaa27", "by severity"},
		{"i/leaf1?\n", "aaaaaa19", "filter: leaf1?"},
		{"i/NODE-010\n", "aaaaaa29", "filter: NODE-010"},
		{"i/nowhere\n", "", "nothing matches the filter"},
		{"iooo", "aaaaaa00", "by device"},
		{"i/x\177leaf29\n", "aaaaaa29", "filter: leaf29"},
	};
	struct watch_answer *wall = full_wall(30);
	const struct screen_docs docs = docs_of(wall);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct screen screen;
		screen_init(&screen);
		press(&screen, rows[i].keys);
		rw_cleanup(freep) char *text = painted(&screen, &docs, 80, 24);
		expect(text, rows[i].says);
		assert_string_equal(screen.row_subject, rows[i].first);
	}
}

static void other_keys(void **state)
{
	struct watch_answer *wall = full_wall(1);
	const struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	press(&screen, " ");
	assert_true(screen.paused);
	press(&screen, " ");
	assert_false(screen.paused);
	press(&screen, "/q");
	assert_false(screen.quit);
	rw_cleanup(freep) char *typing = painted(&screen, &docs, 80, 24);
	expect(typing, "Enter takes it): q_");
	screen_press(&screen, SCREEN_KEY_ESCAPE);
	press(&screen, "?");
	rw_cleanup(freep) char *help = painted(&screen, &docs, 80, 40);
	for (size_t i = 0; screen_pages[i]; i++)
		if (screen_pages[i]->key)
			expect(help, screen_pages[i]->help);
	press(&screen, "q");
	assert_true(screen.quit);
}

static void acknowledges(void **state)
{
	static const struct {
		const char *keys;
		const char *id, *note; /* NULL: nothing is sent */
	} rows[] = {
		{"a\n", "aaaaaa29", ""}, {"aoptic ordered\n", "aaaaaa29", "optic ordered"},
		{"ia x\177q\n", "aaaaaa29", " q"}, {"i/leaf19\naq\n", "aaaaaa19", "q"},
		{"i\na\n", "aaaaaa29", ""}, /* on its card */
		{"a\033", NULL, NULL}, {"i/nowhere\na\n", NULL, NULL},
		{"pa\n", NULL, NULL}, /* rows of ports */
	};
	struct watch_answer *wall = full_wall(30), *calm = full_wall(0);
	const struct screen_docs docs = docs_of(wall), none = docs_of(calm);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct screen screen;
		screen_init(&screen);
		for (const char *key = rows[i].keys; *key; key++) {
			free(painted(
				&screen, &docs, 80, 24)); /* it finds the row that is selected */
			screen_press(&screen, (unsigned char)*key);
		}
		assert_int_equal(screen.ack, rows[i].id != NULL);
		assert_string_equal(rows[i].id ? screen.ack_id : "", rows[i].id ? rows[i].id : "");
		assert_string_equal(rows[i].id ? screen.typed : "", rows[i].id ? rows[i].note : "");
	}
	struct screen screen;
	screen_init(&screen);
	strcpy(screen.row_subject, "leaf1:Ethernet2"); /* of the page of ports, before */
	press(&screen, "p");
	press(&screen, "\177");
	free(painted(&screen, &none, 80, 24));
	press(&screen, "a\n");
	assert_false(screen.ack); /* nothing is open */
	strcpy(screen.said, "aaaaaa00 is acknowledged");
	rw_cleanup(freep) char *said = painted(&screen, &none, 80, 24);
	expect(said, "\n aaaaaa00 is acknowledged");
	screen_press(&screen, SCREEN_KEY_NONE); /* a turn without a key */
	assert_string_not_equal(screen.said, "");
	press(&screen, "j");
	assert_string_equal(screen.said, "");
}

/* ---- pages ------------------------------------------------------------------------ */

static json_t *heat_doc(int n_rows, int n_peers)
{
	json_t *peers = json_array(), *rows = json_array();
	for (int i = 0; i < n_peers; i++)
		json_array_append_new(peers, json_sprintf("spine%d", i + 1));
	for (int r = 0; r < n_rows; r++) {
		json_t *cells = json_array();
		for (int i = 0; i < n_peers; i++)
			json_array_append_new(cells,
				json_pack("{s:f, s:b}", "utilization_ratio", i == 0 ? 0.95 : 0.31,
					"hot", i == 0));
		json_array_append_new(rows,
			json_pack("{s:o, s:f, s:s, s:o}", "device", json_sprintf("leaf%d", r + 1),
				"link_imbalance_ratio", 1.05, "verdict", "skewed", "cells", cells));
	}
	return json_pack("{s:f, s:o, s:o}", "warn_ratio", 0.2, "peers", peers, "rows", rows);
}

static void heat_map_fits(void **state)
{
	struct watch_answer *wall = full_wall(1);
	json_t *small = heat_doc(4, 4), *large = heat_doc(64, 64);
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	press(&screen, "e");
	docs.page = small;
	rw_cleanup(freep) char *numbers = painted(&screen, &docs, 80, 24);
	expect(numbers, " leaf1        95!      31       31       31     105 %  skewed\n");
	docs.page = large;
	rw_cleanup(freep) char *digits = painted(&screen, &docs, 80, 24);
	expect(digits, "9333333333");
	expect(digits, "spines 1 to 40 of 64 (Left, Right); tenths");
	expect(digits, " more\n");
	screen_press(&screen, SCREEN_KEY_RIGHT);
	rw_cleanup(freep) char *moved = painted(&screen, &docs, 80, 24);
	expect(moved, "spines 2 to 41 of 64");
	json_decref(small);
	json_decref(large);
}

static void texts_wrap_and_scroll(void **state)
{
	json_t *page = json_object();
	struct watch_answer *wall = full_wall(1);
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "cost        ");
	for (int i = 0; i < 12; i++)
		str_add(&text, "twelve and ");
	str_add(&text,
		"\n  |  +- leaf1 Ethernet9 +1 <-- spine1 and a tail that goes on and on and "
		"on to the end\n");
	for (int i = 0; i < 60; i++)
		str_addf(&text, "line %d\n", i);
	screen_init(&screen);
	press(&screen, "t");
	docs.page = page;
	docs.page_text = text.s;
	rw_cleanup(freep) char *top = painted(&screen, &docs, 80, 24);
	expect(top, "\n             twelve and"); /* continued below the text, not below the word */
	expect(top, " on and on and on...\n");
	expect(top, " more lines: PgDn\n");
	/* a text made for 80 columns keeps its lines: it gives up the margin */
	static const char full[] =
		"a line that was laid out for eighty columns needs each of them, "
		"up to the end...\nnext\n";
	docs.page_text = full;
	rw_cleanup(freep) char *whole = painted(&screen, &docs, 80, 24);
	expect(whole,
		"\na line that was laid out for eighty columns needs each of them, up to the "
		"end...\nnext\n");
	docs.page_text = text.s;
	press(&screen, "G");
	free(painted(&screen, &docs, 80, 24));
	press(&screen, "G");
	rw_cleanup(freep) char *end = painted(&screen, &docs, 80, 24);
	expect(end, " line 59\n end: PgUp\n");
	json_decref(page);
}

static void ports_say_what_is_known(void **state)
{
	struct watch_answer *wall = full_wall(1);
	json_t *page = json_pack(
		"{s:b, s:[{s:s, s:s, s:i, s:s, s:b, s:f, s:f, s:f, s:f}, {s:s, s:s, s:i, s:s, s:f, "
		"s:f, s:f, s:f}]}",
		"observable", 1, "ports", "device", "leaf2", "port", "Ethernet2", "priority", 3,
		"peer", "node-010", "origin", 1, "rx_lo_ratio", 1.0, "rx_hi_ratio", 1.0,
		"tx_lo_ratio", 0.0, "tx_hi_ratio", 0.0, "device", "leaf1", "port", "Ethernet9",
		"priority", 3, "peer", "spine1:Ethernet1", "rx_lo_ratio", 0.0, "rx_hi_ratio", 0.071,
		"tx_lo_ratio", 0.0, "tx_hi_ratio", 0.0);
	json_t *blind = json_pack("{s:b, s:[]}", "observable", 0, "ports");
	struct screen_docs docs = docs_of(wall);
	struct screen screen;
	screen_init(&screen);
	press(&screen, "p");
	docs.page = page;
	rw_cleanup(freep) char *text = painted(&screen, &docs, 80, 24);
	expect(text, " leaf2:Ethernet2 p3         100 %           0 %  ORIGIN node-010\n");
	expect(text, " leaf1:Ethernet9 p3  0 % to 7.1 %           0 %  spine1:Ethernet1\n");
	screen_press(&screen, SCREEN_KEY_ENTER);
	assert_string_equal(screen_place_of(&screen)->subject, "leaf2:Ethernet2");
	screen_press(&screen, SCREEN_KEY_ESCAPE);
	docs.page = blind;
	rw_cleanup(freep) char *none = painted(&screen, &docs, 80, 24);
	expect(none, "pause is unknown, not zero");
	docs.page = NULL;
	docs.page_error = "no such thing";
	rw_cleanup(freep) char *error = painted(&screen, &docs, 80, 24);
	expect(error, " no such thing\n");
	json_decref(page);
	json_decref(blind);
}

/* What to do, then the targets with their notes; a number that nobody counted is no 0. */
static void doctor_says_what_to_do(void **state)
{
	struct store_alarm todo = {
		"critical", "leaf2", "snmp down: no route", "mend the way to it"};
	struct doctor_target targets[] = {{.name = "leaf1",
						  .protocol = "snmp",
						  .status = "up",
						  .age_s = 2,
						  .poll_p95_s = 0.131},
		{.name = "leaf2",
			.status = "down",
			.reason = "no route",
			.age_s = NAN,
			.poll_p95_s = NAN}};
	struct doctor_capture capture = {.name = "tap",
		.frames = 12000,
		.roce_packets = 0,
		.tunneled_packets = COUNT_UNKNOWN,
		.copies = 0,
		.kernel_drops = 3};
	const struct doctor_answer doctor = {.todo = &todo,
		.n_todo = 1,
		.targets = targets,
		.n_targets = rw_countof(targets),
		.captures = &capture,
		.n_captures = 1};
	struct screen_docs docs = docs_of(full_wall(1));
	struct screen screen;
	screen_init(&screen);
	press(&screen, "d");
	rw_cleanup(freep) char *before = painted(&screen, &docs, 100, 40);
	expect(before, "reading...");
	docs.answer = &doctor;
	rw_cleanup(freep) char *text = painted(&screen, &docs, 100, 40);
	expect(text, "critical  leaf2: snmp down: no route\n           -> mend the way to it");
	expect(text, "leaf1            snmp     up            2s  131 ms");
	expect(text, "leaf2                     down           -       -  no route");
	expect(text, "tap                12,000        0          -        0        3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_at_words),
		cmocka_unit_test(outside_is_dropped),
		cmocka_unit_test(values_have_units),
		cmocka_unit_test(every_size_holds_the_headline),
		cmocka_unit_test(all_rows_on_paper),
		cmocka_unit_test(an_old_frame_is_unknown),
		cmocka_unit_test(absent_is_unknown),
		cmocka_unit_test(errors_have_a_place),
		cmocka_unit_test(keys_lead_to_the_card_and_back),
		cmocka_unit_test(lists_scroll),
		cmocka_unit_test(filter_and_order),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(acknowledges),
		cmocka_unit_test(heat_map_fits),
		cmocka_unit_test(texts_wrap_and_scroll),
		cmocka_unit_test(ports_say_what_is_known),
		cmocka_unit_test(doctor_says_what_to_do),
	};
	walls = arena_new();
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(walls);
	return failed;
}
