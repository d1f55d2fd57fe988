/* tune_verified: which time counts as before a change and which as after it, and what a comparison
 * says when there is nothing to compare. Hours of polls in a database, one a minute. */
#include <errno.h>

#include "agent/client/client.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_review.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

enum { MINUTE = 60, HOUR = 3600, END = 8 * HOUR, CHANGED = 4 * HOUR, OLDER = 2 * HOUR };

static const char yaml[] =
	"fabric: pod-a\ndefaults: { interval: 60s }\n"
	"devices: [{ name: leaf1, role: leaf }, { name: spine1, role: spine }]\n"
	"links:\n  - { a: \"leaf1:e1\", b: \"host:n1\", speed: 400G }\n"
	"  - { a: \"leaf1:e2\", b: \"host:n2\", speed: 400G }\n"
	"  - { a: \"leaf1:e49\", b: \"spine1:e1\", speed: 400G }\n"
	"lossless: { priorities: [3] }\njobs: [{ name: train, gpus: 16, hosts: \"*\" }]\n";

struct world {
	struct db_world db;
	struct client client;
	struct arena *arena;
	bool declared; /* the values were not read, but said */
};

/* 700 KB until two hours, 1 MB until four, 400 KB since. */
static uint64_t kmin_at(int second)
{
	if (second < OLDER)
		return 700000;
	if (second < CHANGED)
		return 1000000;
	return 400000;
}

/* Each minute both ports send; one frame is lost at five hours and a half. Thresholds are read each
 * five minutes. */
static void world_fill(struct world *w)
{
	static const char *const ports[] = {"e1", "e2"};
	struct entities *entities = entities_new();
	struct store *store;
	struct err e = {0};
	const struct store_options o = {.path = w->db.path, .replay = true};
	if (db_store_open(&o, entities, &store, &e) != 0)
		fail_msg("%s", e.text);
	store_fabric(store, SECONDS(0), yaml);
	for (int s = 0; s <= END; s += MINUTE)
		for (size_t k = 0; k < rw_countof(ports); k++) {
			const uint32_t port = entities_intern(
					       entities, "leaf1", ports[k], PRIO_NONE),
				       lane = entities_intern(entities, "leaf1", ports[k], 3);
			const struct sample v[] = {
				sample_at(SECONDS(s), port, M_PORT_OUT_OCTETS,
					(uint64_t)s * 1000000000, 0),
				sample_at(SECONDS(s), lane, M_PG_DROPS,
					7 + (k == 1 && s >= CHANGED + 90 * MINUTE), 0),
				sample_at(SECONDS(s), lane, M_CFG_ECN_KMIN, kmin_at(s),
					w->declared ? SF_DECLARED : 0),
			};
			store_samples(store, v, s % (5 * MINUTE) == 0 ? 3 : 2);
		}
	store_close(store);
	entities_free(entities);
}

static void world_begin(struct world *w, bool declared)
{
	struct err e = {0};
	*w = (struct world){.declared = declared, .arena = arena_new()};
	world_init(&w->db);
	world_fill(w);
	const struct globals globals = {.config_path = "/nonexistent/x.yaml", .db = w->db.path};
	if (client_open(&w->client, &globals, HOUR * NS_PER_S, &e) < 0)
		fail_msg("%s", e.text);
}

static void world_end(struct world *w)
{
	client_done(&w->client);
	arena_free(w->arena);
	world_done(&w->db);
}

/* Kmin 1 MB -> 400 KB, made on evidence of [@from_s, @to_s]. */
static struct tune_record *record_of(
	enum tune_state state, double proposed, int from_s, int to_s, int applied_s)
{
	json_t *sheet = json_pack(
		"{s:s, s:s, s:[s,s], s:[], s:i, s:s, s:s, s:s, s:[{s:s, s:f, s:f, s:n, s:s}], "
		"s:{s:I, s:I, s:I, s:I}}",
		"id", "aaaaaaaa", "device", "leaf1", "ports", "e1", "e2", "rest", "priority", 3,
		"diagnosis", "ecn_late", "advice", "change", "summary", "lower Kmin", "changes",
		"knob", "kmin", "current", 1e6, "proposed", proposed, "programmed", "unit", "bytes",
		"progress", "made_ns", (json_int_t)SECONDS(to_s), "expires_ns",
		(json_int_t)SECONDS(73 * HOUR), "from_ns", (json_int_t)SECONDS(from_s), "to_ns",
		(json_int_t)SECONDS(to_s));
	struct tune_record *record = tune_record_parse(sheet);
	json_decref(sheet);
	assert_non_null(record);
	record->state = state;
	if (applied_s)
		record->applied_ns = SECONDS(applied_s);
	return record;
}

static int64_t second_of(int64_t t_ns)
{
	return (t_ns - T0) / NS_PER_S;
}

static void is_about(const char *what, int64_t got_ns, int expected_s)
{
	const int64_t got_s = second_of(got_ns);
	if (got_s < expected_s - MINUTE || got_s > expected_s + MINUTE)
		fail_msg("%s: %lld s, expected %d s", what, (long long)got_s, expected_s);
}

/* What was measured under other values than the previous ones, between the two readings, or while
 * senders adapt is on neither side. */
static void test_which_time_counts(void **state)
{
	static const struct {
		const char *what;
		enum tune_state state;
		int from_s, to_s, told_s; /* the sheet's evidence; when somebody said */
		int before_s, after_s; /* asked for */
		int applied_s; /* expected from here on */
		int before[2], after[2];
	} rows[] = {
		{"read back", TUNE_ACCEPTED, 3 * HOUR, 3 * HOUR + 1800, 0, 0, 0, CHANGED,
			{3 * HOUR, CHANGED - 5 * MINUTE}, {CHANGED + MINUTE, END}},
		{"said, and read later", TUNE_APPLIED, 3 * HOUR, 3 * HOUR + 1800,
			CHANGED - 2 * MINUTE, 0, 0, CHANGED - 2 * MINUTE,
			{CHANGED - 2 * MINUTE - HOUR, CHANGED - 5 * MINUTE},
			{CHANGED - MINUTE, END}},
		{"an hour at least", TUNE_ACCEPTED, 3 * HOUR + 1200, 3 * HOUR + 1800, 0, 0, 0,
			CHANGED, {3 * HOUR, CHANGED - 5 * MINUTE}, {CHANGED + MINUTE, END}},
		{"not under older values", TUNE_ACCEPTED, 0, 3 * HOUR, 0, 0, 0, CHANGED,
			{OLDER, CHANGED - 5 * MINUTE}, {CHANGED + MINUTE, END}},
		{"asked for", TUNE_ACCEPTED, 0, 3 * HOUR, 0, 40 * MINUTE, 2 * HOUR, CHANGED,
			{CHANGED - 40 * MINUTE, CHANGED - 5 * MINUTE},
			{CHANGED + MINUTE, CHANGED + 2 * HOUR}},
	};
	struct world w;
	world_begin(&w, false);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct err e = {0};
		struct tune_record *record =
			record_of(rows[i].state, 4e5, rows[i].from_s, rows[i].to_s, rows[i].told_s);
		struct tune_verify_ask ask = {.before_ns = rows[i].before_s * NS_PER_S,
			.after_ns = rows[i].after_s * NS_PER_S};
		struct tune_verified v;
		if (tune_verify_record(&w.client, record, &ask, w.arena, &v, &e) != 0)
			fail_msg("%s: %s", rows[i].what, e.text);
		if (second_of(ask.applied_ns) != rows[i].applied_s)
			fail_msg("%s: in force since %lld s", rows[i].what,
				(long long)second_of(ask.applied_ns));
		is_about(rows[i].what, v.before_from_ns, rows[i].before[0]);
		is_about(rows[i].what, v.before_to_ns, rows[i].before[1]);
		is_about(rows[i].what, v.after_from_ns, rows[i].after[0]);
		is_about(rows[i].what, v.after_to_ns, rows[i].after[1]);
		assert_true(v.window_ns == MINUTE * NS_PER_S);
		assert_true(v.before_to_ns <= SECONDS(CHANGED - 5 * MINUTE));
		/* senders take a moment to adapt: a whole window */
		if (v.after_from_ns < ask.applied_ns + v.window_ns)
			fail_msg("%s: after from %lld s", rows[i].what,
				(long long)second_of(v.after_from_ns));
		assert_int_equal(
			v.result.n_before, (v.before_to_ns - v.before_from_ns) / v.window_ns);
		assert_int_equal(v.result.n_after, (v.after_to_ns - v.after_from_ns) / v.window_ns);
		assert_string_equal(v.id, "aaaaaaaa");
		assert_true(v.result.drops_before == 0 && v.result.drops_after == 1);
		assert_int_equal(v.result.verdict, VERIFY_ROLL_BACK); /* a frame lost is enough */
		tune_record_free(record);
	}
	world_end(&w);
}

/* Nothing says that it is in force: no verdict, but why, and what to do. */
static void test_not_in_force(void **state)
{
	static const struct {
		bool declared;
		enum tune_state state;
		double proposed;
		const char *why;
	} rows[] = {
		{false, TUNE_PROPOSED, 4e5, "without having been accepted"},
		{false, TUNE_ACCEPTED, 3e5, "kmin of leaf1 e1 is 400000 bytes"},
		{true, TUNE_ACCEPTED, 4e5, "its thresholds cannot be read back"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct world w;
		struct err e = {0};
		struct tune_verified v;
		struct tune_verify_ask ask = {0};
		world_begin(&w, rows[i].declared);
		struct tune_record *record =
			record_of(rows[i].state, rows[i].proposed, 3 * HOUR, 3 * HOUR + 1800, 0);
		assert_int_equal(
			tune_verify_record(&w.client, record, &ask, w.arena, &v, &e), -ENODATA);
		if (!strstr(e.text, rows[i].why) || !strstr(e.text, "tune applied aaaaaaaa --at"))
			fail_msg("%zu: %s", i, e.text);
		tune_record_free(record);
		world_end(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_time_counts),
		cmocka_unit_test(test_not_in_force),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
