/* tune_ledger: a recommendation's life, what moves it on, what may not, and that a restart changes
 * nothing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/document/json_value.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_record.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/series_memory.h"

#define T(s) ((int64_t)(s)*NS_PER_S)
#define HOUR 3600

struct world {
	struct tune_ledger *l;
	struct entities *entities;
	struct series_memory *memory;
	struct arena *arena;
	char last[200]; /* the note told last */
	enum tune_state from, to;
	unsigned told;
};

static void on_change(void *arg, const struct tune_record *r, enum tune_state from)
{
	struct world *w = arg;
	snprintf(w->last, sizeof(w->last), "%s", r->note ? r->note : "");
	w->from = from;
	w->to = r->state;
	w->told++;
}

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	w->l = tune_ledger_new(on_change, w);
	w->entities = entities_new();
	w->memory = series_memory_new(w->entities, T(1000 * HOUR));
	w->arena = arena_new();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	tune_ledger_free(w->l);
	series_memory_free(w->memory);
	entities_free(w->entities);
	arena_free(w->arena);
	free(w);
	return 0;
}

/* A sheet made at 1 h on evidence of the hour before: Kmin 1 MB -> 400 KB on two ports of leaf1,
 * leaf2 to follow. */
static json_t *sheet_of(const char *id, double proposed)
{
	return json_pack("{s:s, s:s, s:[s,s], s:[s], s:i, s:s, s:s, s:s, s:[{s:s, s:f, s:f, s:n, "
			 "s:s}], s:{s:I, s:I, s:I, s:I}}",
		"id", id, "device", "leaf1", "ports", "swp1", "swp2", "rest", "leaf2", "priority",
		3, "diagnosis", "ecn_late", "advice", "change", "summary", "lower Kmin", "changes",
		"knob", "kmin", "current", 1e6, "proposed", proposed, "programmed", "unit", "bytes",
		"progress", "made_ns", (json_int_t)T(HOUR), "expires_ns", (json_int_t)T(73 * HOUR),
		"from_ns", (json_int_t)0, "to_ns", (json_int_t)T(HOUR));
}

/* Takes @sheet. */
static int propose_document(struct world *w, json_t *sheet)
{
	struct tune_record *record = tune_record_parse(sheet);
	json_decref(sheet);
	return tune_ledger_propose(w->l, record, "ann", T(HOUR));
}

static int propose(struct world *w, const char *id, double proposed)
{
	return propose_document(w, sheet_of(id, proposed));
}

static int act(struct world *w, const char *id, enum tune_decision decision, const char *text,
	int64_t at_s)
{
	return tune_ledger_decide(w->l, id,
		&(struct tune_decision_in){.decision = decision,
			.who = "bob",
			.text = text,
			.t_ns = T(at_s),
			.at_ns = T(at_s)});
}

static enum tune_state state_of(const struct world *w, const char *id)
{
	return tune_ledger_find(w->l, id)->state;
}

static void reads(struct world *w, int64_t at_s, const char *port, uint64_t kmin, uint16_t flags)
{
	const struct sample s = {.t_ns = T(at_s),
		.entity = entities_intern(w->entities, "leaf1", port, 3),
		.metric = M_CFG_ECN_KMIN,
		.value = kmin,
		.flags = flags};
	assert_int_equal(series_memory_add(w->memory, &s), 0);
}

static void look(struct world *w, int64_t at_s)
{
	const uint16_t *metrics;
	const size_t n = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	struct window window;
	assert_int_equal(
		window_from_memory(w->memory, w->arena, &spec, T(at_s - HOUR), T(at_s), &window),
		0);
	tune_ledger_read(w->l, &window, T(at_s));
}

/* A client cannot say that somebody else has accepted, applied or verified its own proposal, nor
 * give a time that no change can have. */
static void test_forged(void **state)
{
	struct world *w = *state;
	json_t *sheet = sheet_of("aaaaaaaa", 4e5);
	json_object_update_new(sheet,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:s}]}", "state",
			"verified", "accepted", "2026-01-01T00:00:00Z", "accepted_by", "alice",
			"verified_by", "alice", "applied_by", "alice", "history", "time",
			"2026-01-01T00:00:00Z", "event", "accepted", "who", "alice", "note",
			"fine"));
	assert_int_equal(propose_document(w, sheet), 0);
	const struct tune_record *record = tune_ledger_find(w->l, "aaaaaaaa");
	assert_int_equal(record->state, TUNE_PROPOSED);
	assert_null(record->accepted_by);
	assert_null(record->applied_by);
	assert_null(record->verified_by);
	assert_int_equal(record->accepted_ns, 0);
	assert_int_equal(record->n_history, 1);
	assert_string_equal(record->history[0].who, "ann");

	static const int64_t times[] = {INT64_MIN, T(-400LL * 24 * HOUR), INT64_MAX};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(tune_ledger_decide(w->l, "aaaaaaaa",
					 &(struct tune_decision_in){.decision = TUNE_APPLY,
						 .who = "bob",
						 .t_ns = T(2 * HOUR),
						 .at_ns = times[i]}),
			-EINVAL);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_PROPOSED);
}

/* A sheet keeps its evidence from being forgotten: not for ever, and not of all time. */
static void test_forged_times(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *key;
		int64_t value;
	} rows[] = {{"made_ns", INT64_MIN}, {"made_ns", INT64_MAX},
		{"made_ns", T(-400LL * 24 * HOUR)}, {"expires_ns", INT64_MAX},
		{"expires_ns", T(400LL * 24 * HOUR)}, {"from_ns", INT64_MIN},
		{"from_ns", T(2 * HOUR)}, {"to_ns", INT64_MAX}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		json_t *sheet = sheet_of("aaaaaaaa", 4e5);
		json_object_set_new(json_object_get(sheet, "progress"), rows[i].key,
			json_integer(rows[i].value));
		if (propose_document(w, sheet) != -EINVAL)
			fail_msg("%s %lld is taken", rows[i].key, (long long)rows[i].value);
	}
	json_t *sheet = sheet_of("aaaaaaaa", 4e5);
	json_object_set_new(sheet, "priority", json_integer((1LL << 32) + 3));
	json_object_update_new(json_object_get(sheet, "progress"),
		json_pack("{s:I, s:I, s:[{s:s, s:f, s:f, s:I}]}", "looked_ns",
			(json_int_t)INT64_MAX, "updated_ns", (json_int_t)INT64_MIN, "rates", "job",
			"train", "mean", 1.0, "se", 0.0, "n", (json_int_t)INT64_MAX));
	if (propose_document(w, sheet) == 0) {
		const struct tune_record *record = tune_ledger_find(w->l, "aaaaaaaa");
		assert_int_equal(record->sheet.priority, PRIO_NONE);
		assert_int_equal(record->watched_ns, 0);
		assert_int_equal(record->n_rates, 0);
		assert_int_equal(record->updated_ns, T(HOUR));
	}
}

static void test_life(void **state)
{
	struct world *w = *state;
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_string_equal(w->last, "aaaaaaaa: proposed: lower Kmin");
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), -EALREADY);
	assert_int_equal(act(w, "AAAAAAAA", TUNE_ACCEPT, "go", HOUR + 60), 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, "go", HOUR + 60), -EALREADY);
	assert_string_equal(tune_ledger_find(w->l, "aaaaaaaa")->accepted_by, "bob");
	reads(w, HOUR + 100, "swp1", 1000000, 0);
	reads(w, HOUR + 100, "swp2", 1000000, 0);
	look(w, HOUR + 101);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_ACCEPTED);
	reads(w, HOUR + 110, "swp1", 400000, 0); /* one of two ports: not yet */
	look(w, HOUR + 111);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_ACCEPTED);
	reads(w, HOUR + 120, "swp2", 401408, 0); /* in cells of 4 KiB: the same */
	look(w, HOUR + 130);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_APPLIED);
	assert_true(tune_ledger_find(w->l, "aaaaaaaa")->applied_ns == T(HOUR + 120));
	json_t *document =
		tune_record_json(tune_ledger_find(w->l, "aaaaaaaa"), TUNE_DOCUMENT_PUBLIC);
	assert_string_equal(doc_word(document, "applied"), "1970-01-01T01:02:00.000Z");
	json_decref(document);
	const struct tune_verified open = {.result = {.verdict = VERIFY_INCONCLUSIVE,
						   .why = "few windows"}},
				   result = {
					   .result = {.verdict = VERIFY_KEEP, .why = "pause fell"}};
	assert_int_equal(tune_ledger_decide(w->l, "aaaaaaaa",
				 &(struct tune_decision_in){.decision = TUNE_VERIFY,
					 .who = "bob",
					 .t_ns = T(HOUR + 400),
					 .result = &open}),
		0);
	/* nothing is proven: it is watched on */
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_APPLIED);
	assert_int_equal(
		tune_ledger_find(w->l, "aaaaaaaa")->verified->result.verdict, VERIFY_INCONCLUSIVE);
	const struct tune_decision_in in = {
		.decision = TUNE_VERIFY, .who = "bob", .t_ns = T(HOUR + 500), .result = &result};
	assert_int_equal(tune_ledger_decide(w->l, "aaaaaaaa", &in), 0);
	assert_string_equal(w->last, "aaaaaaaa: verified: keep: pause fell");
	assert_int_equal(tune_ledger_find(w->l, "aaaaaaaa")->verified->result.verdict, VERIFY_KEEP);
	assert_int_equal(tune_ledger_decide(w->l, "aaaaaaaa",
				 &(struct tune_decision_in){.decision = TUNE_VERIFY,
					 .who = "bob",
					 .t_ns = T(HOUR + 550),
					 .result = &open}),
		0);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_VERIFIED);
	assert_int_equal(tune_ledger_find(w->l, "aaaaaaaa")->verified->result.verdict, VERIFY_KEEP);
	assert_int_equal(tune_ledger_find(w->l, "aaaaaaaa")->n_history, 6);
	reads(w, HOUR + 600, "swp1", 1000000, 0);
	reads(w, HOUR + 600, "swp2", 1000000, 0);
	look(w, HOUR + 601);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_UNDONE);
	/* it may be proposed anew; what was is still told */
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_int_equal(tune_ledger_find(w->l, "aaaaaaaa")->n_history, 8);
}

static void test_refused(void **state)
{
	struct world *w = *state;
	json_t *watch = json_pack("{s:s, s:s}", "id", "cccccccc", "advice", "watch"),
	       *bad = json_pack("{s:s, s:s}", "id", "dddddddd", "advice", "change");
	json_t *watch_whole = sheet_of("cccccccc", 4e5);
	json_object_set_new(watch_whole, "advice", json_string("watch"));
	json_t *no_values = sheet_of("cccccccc", 4e5);
	json_object_set_new(no_values, "changes", json_array());
	assert_int_equal(propose_document(w, watch), -EINVAL);
	assert_int_equal(propose_document(w, watch_whole), -EINVAL);
	assert_int_equal(propose_document(w, no_values), -EINVAL);
	assert_int_equal(propose_document(w, bad), -EINVAL);
	assert_int_equal(propose_document(w, NULL), -EINVAL);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, HOUR), -ENOENT);
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_REJECT, NULL, HOUR + 1), -EINVAL);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_REJECT, "", HOUR + 1), -EINVAL);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_VERIFY, NULL, HOUR + 1), -EPERM);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_REJECT, "not in this quarter", HOUR + 1), 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, HOUR + 2), -EPERM);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_APPLY, NULL, HOUR + 2), -EPERM);
	/* the same again is not asked again */
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), -EALREADY);
	assert_non_null(tune_decision_error(-EPERM, TUNE_REJECTED));
	assert_int_equal(propose(w, "bbbbbbbb", 5e5), 0);
	assert_int_equal(tune_ledger_decide(w->l, "bbbbbbbb",
				 &(struct tune_decision_in){.decision = TUNE_APPLY,
					 .who = "bob",
					 .t_ns = T(HOUR),
					 .at_ns = T(2 * HOUR)}),
		-EINVAL);
	/* told: accepted and applied at once */
	assert_int_equal(act(w, "bbbbbbbb", TUNE_APPLY, NULL, HOUR + 5), 0);
	assert_int_equal(state_of(w, "bbbbbbbb"), TUNE_APPLIED);
}

/* A reading of another priority or one that was declared says nothing; one from before the change
 * does not take it back, and one that is neither value does. */
static void test_readings(void **state)
{
	struct world *w = *state;
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, HOUR + 1), 0);
	reads(w, HOUR + 5, "swp1", 400000, SF_DECLARED);
	reads(w, HOUR + 5, "swp2", 400000, SF_DECLARED);
	const struct sample other = {.t_ns = T(HOUR + 6),
		.entity = entities_intern(w->entities, "leaf1", "swp1", 4),
		.metric = M_CFG_ECN_KMIN,
		.value = 400000};
	assert_int_equal(series_memory_add(w->memory, &other), 0);
	look(w, HOUR + 7);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_ACCEPTED);
	reads(w, HOUR + 8, "swp1", 1000000, 0);
	reads(w, HOUR + 8, "swp2", 1000000, 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_APPLY, NULL, HOUR + 10), 0);
	look(w, HOUR + 11); /* the switches were not asked since */
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_APPLIED);
	reads(w, HOUR + 20, "swp1", 700000, 0);
	look(w, HOUR + 21);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_UNDONE);
	/* from then on a change there is nobody's again */
	struct expected_change *v;
	assert_true(tune_ledger_expected(w->l, w->arena, &v) > 0);
	assert_true(v[0].until_ns == tune_ledger_find(w->l, "aaaaaaaa")->updated_ns);
	assert_true(v[0].until_ns <= T(HOUR + 21));
}

static void test_places(void **state)
{
	struct world *w = *state;
	json_t *sheet = sheet_of("bbbbbbbb", 5e5);
	json_object_set_new(sheet, "priority", json_integer(4));
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_int_equal(propose_document(w, sheet), 0);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_PROPOSED); /* another class, another sheet */
	/* an hour before its end it still lives */
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, 72 * HOUR), 0);
}

/* What did harm is due until somebody has dealt with it; a long history keeps how it began. */
static void test_roll_back(void **state)
{
	struct world *w = *state;
	const struct tune_record *record;
	assert_int_equal(propose(w, "aaaaaaaa", 4e5), 0);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_APPLY, NULL, HOUR + 5), 0);
	tune_ledger_roll_back(w->l, "aaaaaaaa", "7 lossless drops since", T(HOUR + 9));
	record = tune_ledger_find(w->l, "aaaaaaaa");
	assert_int_equal(record->state, TUNE_APPLIED);
	assert_true(record->roll_back_open);
	assert_true(record->roll_back_ns == T(HOUR + 9));
	assert_string_equal(record->roll_back_why, "7 lossless drops since");
	assert_string_equal(w->last, "aaaaaaaa: rollback_due: 7 lossless drops since");
	tune_ledger_settled(w->l, "aaaaaaaa");
	assert_false(record->roll_back_open);
	assert_true(record->roll_back_ns == T(HOUR + 9)); /* it did harm all the same */
	for (int i = 0; i < 2 * TUNE_HISTORY_MAX; i++)
		tune_ledger_roll_back(w->l, "aaaaaaaa", "again", T(HOUR + 10 + i));
	assert_int_equal(record->n_history, TUNE_HISTORY_MAX);
	assert_string_equal(record->history[0].event, "proposed");
	assert_string_equal(record->history[1].event, "accepted");
	assert_true(record->history[TUNE_HISTORY_MAX - 1].t_ns ==
		T(HOUR + 10 + 2 * TUNE_HISTORY_MAX - 1));
}

static void test_expiry(void **state)
{
	struct world *w = *state;
	propose(w, "aaaaaaaa", 4e5);
	propose(w, "bbbbbbbb", 5e5); /* for the same place: it takes over */
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_EXPIRED);
	assert_string_equal(w->last, "aaaaaaaa: expired: bbbbbbbb takes its place");
	assert_int_equal(act(w, "bbbbbbbb", TUNE_ACCEPT, NULL, 74 * HOUR), -ESTALE);
	assert_int_equal(state_of(w, "bbbbbbbb"), TUNE_EXPIRED);
	propose(w, "bbbbbbbb", 5e5);
	reads(w, HOUR + 10, "swp1", 700000, 0); /* another basis */
	look(w, HOUR + 11);
	assert_int_equal(state_of(w, "bbbbbbbb"), TUNE_EXPIRED);
	assert_non_null(strstr(w->last, "kmin of leaf1 swp1 is 700000 bytes"));
	propose(w, "cccccccc", 3e5);
	reads(w, HOUR + 20, "swp1", 300000, 0); /* set, but nobody accepted it */
	look(w, HOUR + 21);
	assert_int_equal(state_of(w, "cccccccc"), TUNE_EXPIRED);
	propose(w, "eeeeeeee", 2e5);
	act(w, "eeeeeeee", TUNE_ACCEPT, NULL, HOUR + 30);
	reads(w, HOUR + 40, "swp2", 200000, SF_DECLARED); /* what the file says is no reading */
	look(w, HOUR + 41);
	assert_int_equal(state_of(w, "eeeeeeee"), TUNE_EXPIRED); /* swp1 still has 300000 */
}

/* A clock that leapt ahead expires nothing while it is doubted; a sheet that was made by one goes,
 * since it would stay open for years. */
static void test_wrong_clock(void **state)
{
	struct world *w = *state;
	propose(w, "aaaaaaaa", 4e5);
	tune_ledger_doubt(w->l, true);
	look(w, 1000 * HOUR);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_PROPOSED);
	assert_int_equal(act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, 1000 * HOUR), 0);
	tune_ledger_doubt(w->l, false);
	look(w, 1001 * HOUR);
	assert_int_equal(state_of(w, "aaaaaaaa"), TUNE_EXPIRED);
	propose(w, "bbbbbbbb", 4e5);
	look(w, -1000 * HOUR);
	assert_int_equal(state_of(w, "bbbbbbbb"), TUNE_EXPIRED);
	assert_non_null(strstr(w->last, "a clock that was ahead"));
}

static char *text_of(const struct tune_record *record)
{
	json_t *document = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	char *text = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	return text;
}

static void test_restart(void **state)
{
	struct world *w = *state;
	propose(w, "aaaaaaaa", 4e5);
	act(w, "aaaaaaaa", TUNE_ACCEPT, "go", HOUR + 60);
	const struct tune_rate rate = {.job = "train", .mean = 1e9 / 3, .se = 1e3 / 7, .n = 60};
	tune_ledger_watched(w->l, "aaaaaaaa", T(HOUR + 61));
	tune_ledger_rates(w->l, "aaaaaaaa", &rate, 1);
	rw_cleanup(freep) char *stored = text_of(tune_ledger_find(w->l, "aaaaaaaa"));
	tune_ledger_free(w->l);
	w->l = tune_ledger_new(on_change, w);
	const unsigned told = w->told;
	assert_int_equal(tune_ledger_restore(w->l, tune_record_load(stored)), 0);
	assert_int_equal(tune_ledger_restore(w->l, tune_record_load(stored)), -EEXIST);
	assert_int_equal(tune_ledger_restore(w->l, tune_record_load("{}")), -EINVAL);
	assert_int_equal(tune_ledger_restore(w->l,
				 tune_record_load("{\"id\":\"aaaaaaab\",\"state\":\"what\"}")),
		-EINVAL);
	assert_int_equal(w->told, told);
	const struct tune_record *r = tune_ledger_find(w->l, "aaaaaaaa");
	assert_int_equal(r->state, TUNE_ACCEPTED);
	assert_true(r->accepted_ns == T(HOUR + 60) && r->sheet.from_ns == 0 &&
		r->sheet.to_ns == T(HOUR) && r->sheet.n_ports == 2 && r->sheet.n_rest == 1);
	assert_true(r->watched_ns == T(HOUR + 61) && r->n_rates == 1 &&
		r->rates[0].mean == rate.mean && r->rates[0].se == rate.se && r->rates[0].n == 60);
	rw_cleanup(freep) char *again = text_of(r);
	assert_string_equal(again, stored);
	reads(w, HOUR + 100, "swp1", 400000, 0);
	reads(w, HOUR + 100, "swp2", 400000, 0);
	look(w, HOUR + 101);
	assert_int_equal(r->state, TUNE_APPLIED);
}

/* Before it was accepted a change is nobody's; from then on it is expected on the canary and on
 * those that follow, and back again once it is applied. */
static void test_expected(void **state)
{
	struct world *w = *state;
	struct expected_change *v;
	propose(w, "aaaaaaaa", 4e5);
	assert_int_equal(tune_ledger_expected(w->l, w->arena, &v), 0);
	act(w, "aaaaaaaa", TUNE_ACCEPT, NULL, HOUR + 60);
	assert_int_equal(tune_ledger_expected(w->l, w->arena, &v), 2);
	assert_string_equal(v[0].device, "leaf1");
	assert_string_equal(v[1].device, "leaf2");
	assert_true(v[0].metric == M_CFG_ECN_KMIN && v[0].value == 4e5 && v[0].priority == 3 &&
		v[0].from_ns == T(HOUR + 60));
	act(w, "aaaaaaaa", TUNE_APPLY, NULL, HOUR + 70);
	assert_int_equal(tune_ledger_expected(w->l, w->arena, &v), 4);
	assert_true(v[1].value == 1e6);
	assert_true(v[0].until_ns == INT64_MAX);
	/* alpha as the switch tells it: 1/8 is -3 */
	json_t *sheet = sheet_of("bbbbbbbb", 0.125);
	json_object_set_new(sheet, "priority", json_integer(4));
	json_object_set_new(
		json_array_get(json_object_get(sheet, "changes"), 0), "knob", json_string("alpha"));
	assert_int_equal(propose_document(w, sheet), 0);
	act(w, "bbbbbbbb", TUNE_ACCEPT, NULL, HOUR + 60);
	assert_int_equal(tune_ledger_expected(w->l, w->arena, &v), 6);
	assert_true(v[4].metric == tune_knob_metric(KNOB_ALPHA) && v[4].value == -3);
}

static void test_same(void **state)
{
	assert_true(tune_same(400000, 400000, 1e6));
	assert_true(tune_same(403000, 400000, NAN));
	assert_false(tune_same(410000, 400000, NAN));
	assert_false(tune_same(404000, 400000, 405000)); /* nearer to what it was */
	assert_false(tune_same(NAN, 400000, 1e6));
	assert_false(tune_same(400000, NAN, 1e6));
	assert_true(tune_value(KNOB_ALPHA, sample_of_f64(-3)) == 0.125);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forged_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_roll_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expiry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_expected, setup, teardown),
		cmocka_unit_test(test_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
