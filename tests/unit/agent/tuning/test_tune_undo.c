/* tune_undo: the last change that did harm is taken back, first and with the values it had; what
 * was taken back is not proposed again; what proved well stays. */
#include <math.h>

#include "agent/client/client.h"
#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_lint.h"
#include "agent/tuning/tune_review.h"
#include "analyzers/tune/tune_evidence.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

static const char yaml[] = "fabric: pod-a\n"
			   "defaults: { interval: 10s }\n"
			   "lossless: { priorities: [3] }\n"
			   "thresholds:\n"
			   "  - { devices: \"*\", ports: \"*\", priority: 3, alpha: 1/4, pool: "
			   "32MB }\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: leaf2, role: leaf }\n"
			   "links:\n"
			   "  - { a: \"leaf1:swp1\", b: \"host:h1\", speed: 400G }\n"
			   "  - { a: \"leaf1:swp2\", b: \"host:h3\", speed: 400G }\n"
			   "  - { a: \"leaf2:swp1\", b: \"host:h2\", speed: 400G }\n";

#define HOURS(n) SECONDS(3600.0 * (n))

struct rig {
	struct db_world world;
	struct config *config;
	struct entities *entities;
	struct store *store;
	struct client client;
	struct tune_ledger *ledger;
	struct tune_evidence evidence;
	struct tune_history history;
	struct arena *a;
	struct tune_list list;
};

static void no_note(void *arg, const struct tune_record *record, enum tune_state from)
{
}

static int setup(void **state)
{
	static struct rig rig;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct err e = {0};
	rig = (struct rig){.a = arena_new()};
	world_init(&rig.world);
	if (config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, NULL, 0, &rig.config, &errors))
		fail_msg("the configuration is refused");
	rig.entities = entities_new();
	const struct store_options o = {.path = rig.world.path, .replay = true};
	if (db_store_open(&o, rig.entities, &rig.store, &e) < 0)
		fail_msg("%s", e.text);
	rig.ledger = tune_ledger_new(no_note, &rig);
	rig.evidence = (struct tune_evidence){.from_ns = HOURS(0), .to_ns = HOURS(10)};
	rig.history = (struct tune_history){
		.evidence = &rig.evidence, .from_ns = HOURS(0), .to_ns = HOURS(10)};
	rig.client = (struct client){
		.config = rig.config, .now_ns = HOURS(10), .end_ns = HOURS(10), .to_ns = HOURS(10)};
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	tune_ledger_free(rig->ledger);
	history_close(rig->client.history);
	store_close(rig->store);
	entities_free(rig->entities);
	config_free(rig->config);
	arena_free(rig->a);
	world_done(&rig->world);
	return 0;
}

/* Kmin 1 MB -> 400 KB, then Kmax 2 MB -> 1.6 MB on leaf1, in force since @applied_ns. */
static struct tune_record *made(
	const char *id, enum tune_state state, enum verify_verdict verdict, int64_t applied_ns)
{
	struct tune_record *record = tune_record_new();
	struct arena *a = record->arena;
	struct tune_sheet *sheet = &record->sheet;
	struct tune_verified *verified = arena_new_of(a, struct tune_verified);
	snprintf(sheet->id, sizeof(sheet->id), "%s", id);
	sheet->device = "leaf1";
	sheet->priority = 3;
	sheet->diagnosis = "ecn_late";
	sheet->summary = "made up";
	sheet->port_group = "all";
	sheet->advice = ADVICE_CHANGE;
	sheet->changes = arena_array(a, struct tune_change, 2);
	sheet->n_changes = 2;
	sheet->changes[0] = (struct tune_change){
		.knob = KNOB_KMIN, .current = 1e6, .proposed = 4e5, .programmed = NAN};
	sheet->changes[1] = (struct tune_change){
		.knob = KNOB_KMAX, .current = 2e6, .proposed = 1.6e6, .programmed = NAN};
	record->state = state;
	record->accepted_ns = record->applied_ns = applied_ns;
	*verified = (struct tune_verified){
		.id = id, .result = {.verdict = verdict, .why = "steps take 7.0 % longer"}};
	record->verified = verified;
	return record;
}

static void remember(struct rig *rig, struct tune_record *record)
{
	assert_int_equal(tune_ledger_restore(rig->ledger, record), 0);
}

/* A review that proposes the values of made() again. */
static void propose_again(struct rig *rig, double kmin)
{
	rig->list = (struct tune_list){
		.v = arena_array(rig->a, struct tune_sheet, 1), .n = 1, .cap = 1};
	struct tune_record *record = made("ffffffff", TUNE_PROPOSED, VERIFY_KEEP, 0);
	rig->list.v[0] = record->sheet;
	rig->list.v[0].changes = arena_array(rig->a, struct tune_change, 2);
	memcpy(rig->list.v[0].changes, record->sheet.changes, 2 * sizeof(struct tune_change));
	rig->list.v[0].changes[0].proposed = kmin;
	tune_record_free(record);
}

static void undo(struct rig *rig)
{
	tune_undo_first(&rig->client, rig->ledger, &rig->history, rig->a, &rig->list);
}

static void the_last_harm_is_taken_back_first(void **state)
{
	struct rig *rig = *state;
	remember(rig, made("aaaaaaaa", TUNE_VERIFIED, VERIFY_KEEP, HOURS(1)));
	remember(rig, made("bbbbbbbb", TUNE_VERIFIED, VERIFY_ROLL_BACK, HOURS(3)));
	remember(rig, made("cccccccc", TUNE_VERIFIED, VERIFY_KEEP, HOURS(2)));
	propose_again(rig, 3e5);
	undo(rig);
	assert_int_equal(rig->list.n, 2);
	const struct tune_sheet *sheet = &rig->list.v[0];
	assert_int_equal(sheet->advice, ADVICE_CHANGE);
	assert_string_equal(sheet->device, "leaf1");
	assert_string_equal(sheet->diagnosis, "tuning_regression");
	assert_int_equal(sheet->priority, 3);
	/* what was changed last is taken back first, to what it was */
	assert_int_equal(sheet->n_changes, 2);
	assert_int_equal(sheet->changes[0].knob, KNOB_KMAX);
	assert_true(sheet->changes[0].current == 1.6e6 && sheet->changes[0].proposed == 2e6);
	assert_int_equal(sheet->changes[1].knob, KNOB_KMIN);
	assert_true(sheet->changes[1].current == 4e5 && sheet->changes[1].proposed == 1e6);
	assert_non_null(strstr(sheet->summary, "steps take 7.0 % longer"));
	/* nothing else is changed before */
	assert_int_equal(rig->list.v[1].advice, ADVICE_BLOCKED);
	assert_int_equal(rig->list.v[1].n_changes, 0);
	assert_string_equal(rig->list.v[1].blocked_by, sheet->id);
}

static void what_proved_well_stays(void **state)
{
	struct rig *rig = *state;
	remember(rig, made("aaaaaaaa", TUNE_VERIFIED, VERIFY_ROLL_BACK, HOURS(1)));
	remember(rig, made("bbbbbbbb", TUNE_VERIFIED, VERIFY_KEEP, HOURS(3)));
	propose_again(rig, 3e5);
	undo(rig);
	assert_int_equal(rig->list.n, 1);
	assert_int_equal(rig->list.v[0].advice, ADVICE_CHANGE);
	assert_int_equal(rig->list.v[0].n_changes, 2);
}

/* The watch saw drops: that is enough, whatever a comparison would say. */
static void what_is_due_is_taken_back(void **state)
{
	struct rig *rig = *state;
	struct tune_record *record = made("aaaaaaaa", TUNE_APPLIED, VERIFY_KEEP, HOURS(1));
	record->roll_back_ns = HOURS(2);
	record->roll_back_why = "7 lossless drops since";
	remember(rig, record);
	undo(rig);
	assert_int_equal(rig->list.n, 1);
	assert_true(rig->list.v[0].changes[1].proposed == 1e6);
	assert_non_null(strstr(rig->list.v[0].summary, "7 lossless drops since"));
}

static void harm_is_not_proposed_twice(void **state)
{
	for (int by_watch = 0; by_watch < 2; by_watch++) {
		assert_int_equal(setup(state), 0);
		struct rig *rig = *state;
		struct tune_record *record = made("aaaaaaaa", TUNE_UNDONE,
			by_watch ? VERIFY_INCONCLUSIVE : VERIFY_ROLL_BACK, HOURS(1));
		struct err e = {0};
		if (by_watch)
			record->roll_back_ns = HOURS(2);
		remember(rig, record);
		assert_int_equal(store_flush(rig->store, &e), 0);
		assert_int_equal(db_history_open(rig->world.path, &rig->client.history, &e), 0);
		propose_again(rig, 4e5);
		undo(rig);
		assert_int_equal(rig->list.v[0].advice, ADVICE_BLOCKED);
		assert_string_equal(rig->list.v[0].blocked_by, "aaaaaaaa");
		propose_again(rig, 5e5); /* another value is another change */
		undo(rig);
		assert_int_equal(rig->list.v[0].advice, ADVICE_CHANGE);
		teardown(state);
	}
}

/* ---- what no ledger knows ------------------------------------------------- */

static void tell(struct rig *rig, const char *device, int second, unsigned metric, int priority,
	uint64_t value)
{
	const struct sample s = sample_at(SECONDS(second),
		entities_intern(rig->entities, device, "swp1", priority), metric, value, 0);
	store_samples(rig->store, &s, 1);
}

/* Somebody lowered Kmin of leaf1 after an hour and of leaf2 after two; since then leaf2 loses
 * frames. */
static void a_change_by_hand_is_taken_back(void **state)
{
	struct rig *rig = *state;
	struct err e = {0};
	for (int t = 0; t <= 3 * 3600; t += 10) {
		tell(rig, "leaf1", t, M_CFG_ECN_KMIN, 3, t < 3600 ? 1000000 : 400000);
		tell(rig, "leaf2", t, M_CFG_ECN_KMIN, 3, t < 7200 ? 900000 : 300000);
		for (unsigned d = 1; d <= 2; d++) {
			const char *name = d == 1 ? "leaf1" : "leaf2";
			tell(rig, name, t, M_PORT_OUT_OCTETS, PRIO_NONE, 1000000u * (unsigned)t);
			tell(rig, name, t, M_PG_DROPS, 3,
				d == 2 && t > 7300 ? (uint64_t)(t - 7300) : 0);
		}
	}
	assert_int_equal(store_flush(rig->store, &e), 0);
	if (db_history_open(rig->world.path, &rig->client.history, &e) < 0)
		fail_msg("%s", e.text);
	rig->client.to_ns = rig->client.end_ns = rig->client.now_ns = rig->history.to_ns =
		rig->evidence.to_ns = HOURS(3);
	undo(rig);
	assert_int_equal(rig->list.n, 1);
	const struct tune_sheet *sheet = &rig->list.v[0];
	assert_string_equal(sheet->device, "leaf2");
	assert_int_equal(sheet->n_changes, 1);
	assert_int_equal(sheet->changes[0].knob, KNOB_KMIN);
	assert_true(sheet->changes[0].current == 300000 && sheet->changes[0].proposed == 900000);
	assert_int_equal(sheet->n_rest, 0); /* leaf1 made another step */
	assert_non_null(strstr(sheet->summary, "lossless drops"));
}

/* A sheet is held against what was read back: what makes it worse has a reason, the rest none. */
static void lint_refuses_what_breaks(void **state)
{
	struct rig *rig = *state;
	struct tune_lint lint;
	struct err e = {0};
	tell(rig, "leaf1", 3600, M_CFG_ECN_KMIN, 3, 1000000);
	tell(rig, "leaf2", 3600, M_CFG_ECN_KMIN, 3, 1000000);
	assert_int_equal(store_flush(rig->store, &e), 0);
	assert_int_equal(db_history_open(rig->world.path, &rig->client.history, &e), 0);
	rig->client.to_ns = HOURS(1);
	assert_int_equal(tune_lint_begin(&rig->client, rig->a, &lint, &e), 0);
	assert_int_equal(lint.before.n, 0);
	propose_again(rig, 4e5);
	assert_null(tune_lint_against(&lint, &rig->list.v[0], rig->a));
	propose_again(rig, 6e6); /* one queue is marked first, two are not: the dose counts them */
	assert_null(tune_lint_against(&lint, &rig->list.v[0], rig->a));
	propose_again(rig, 30e6);
	assert_non_null(strstr(tune_lint_against(&lint, &rig->list.v[0], rig->a),
		"on leaf1:swp1 pause begins before the first mark"));
	static const char *rest[] = {"leaf2"};
	rig->list.v[0].device = "leaf9"; /* is no switch of the fabric; who follows is one */
	rig->list.v[0].rest = rest;
	rig->list.v[0].n_rest = 1;
	assert_non_null(strstr(
		tune_lint_against(&lint, &rig->list.v[0], rig->a), "on leaf2:swp1 pause begins"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(the_last_harm_is_taken_back_first),
		T(what_proved_well_stays),
		T(what_is_due_is_taken_back),
		cmocka_unit_test(harm_is_not_proposed_twice),
		T(a_change_by_hand_is_taken_back),
		T(lint_refuses_what_breaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
