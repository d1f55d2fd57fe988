/* tune_decide: what a command makes of a person's decision: written directly when no agent runs,
 * after what the switches say was read; told to the agent when one does. */
#include <errno.h>
#include <pthread.h>

#include "agent/client/client.h"
#include "agent/client/control.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_documents.h"
#include "agent/tuning/tune_json.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/str.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/deadline.h"
#include "tests/unit/db/db_world.h"

enum { HOUR = 3600 };

static const char yaml[] = "fabric: pod-a\ndevices: [{ name: leaf1, role: leaf }]\n";

struct world {
	struct db_world db;
	struct entities *entities;
	struct store *store;
	struct client client;
};

static void world_write(struct world *w)
{
	struct err e = {0};
	const struct store_options o = {.path = w->db.path, .replay = true};
	entities_free(w->entities);
	w->entities = entities_new();
	if (db_store_open(&o, w->entities, &w->store, &e) != 0)
		fail_msg("%s", e.text);
}

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	world_init(&w->db);
	world_write(w);
	store_fabric(w->store, SECONDS(0), yaml);
	*state = w;
	return 0;
}

/* Both ports, at @at_s. */
static void world_reads(struct world *w, int64_t at_s, uint64_t kmin)
{
	static const char *const ports[] = {"e1", "e2"};
	for (size_t i = 0; i < rw_countof(ports); i++) {
		const struct sample s =
			sample_at(SECONDS(at_s), entities_intern(w->entities, "leaf1", ports[i], 3),
				M_CFG_ECN_KMIN, kmin, 0);
		store_samples(w->store, &s, 1);
	}
}

static void world_look(struct world *w)
{
	const struct globals globals = {.config_path = "/nonexistent/x.yaml", .db = w->db.path};
	struct err e = {0};
	client_done(&w->client);
	if (client_open(&w->client, &globals, HOUR * NS_PER_S, &e) < 0)
		fail_msg("%s", e.text);
}

/* The writer is gone; the client sees what it left. */
static void world_leave(struct world *w)
{
	store_close(w->store);
	w->store = NULL;
	world_look(w);
}

static int teardown(void **state)
{
	struct world *w = *state;
	client_done(&w->client);
	store_close(w->store);
	entities_free(w->entities);
	world_done(&w->db);
	free(w);
	return 0;
}

/* Made at one hour, on evidence of the hour before: Kmin of two ports from 1 MB to 400 KB. */
static struct tune_record *record_of(const char *id, const char *advice)
{
	json_t *sheet = json_pack(
		"{s:s, s:s, s:[s,s], s:[], s:i, s:s, s:s, s:s, s:[{s:s, s:f, s:f, s:n, s:s}], "
		"s:{s:I, s:I, s:I, s:I}}",
		"id", id, "device", "leaf1", "ports", "e1", "e2", "rest", "priority", 3,
		"diagnosis", id, "advice", advice, "summary", "lower Kmin", "changes", "knob",
		"kmin", "current", 1e6, "proposed", 4e5, "programmed", "unit", "bytes", "progress",
		"made_ns", (json_int_t)SECONDS(HOUR), "expires_ns", (json_int_t)SECONDS(73 * HOUR),
		"from_ns", (json_int_t)SECONDS(0), "to_ns", (json_int_t)SECONDS(HOUR));
	struct tune_record *record = tune_record_parse(sheet);
	json_decref(sheet);
	assert_non_null(record);
	return record;
}

static void propose(struct world *w, const char *id)
{
	struct err e = {0};
	struct tune_record *record = record_of(id, "change");
	record->state = TUNE_REJECTED; /* what the ledger says is noted over it */
	if (tune_propose_all(&w->client, &record, 1, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(record->state, TUNE_PROPOSED);
	tune_record_free(record);
	world_look(w);
}

static int decide(struct world *w, const char *id, enum tune_decision decision, struct err *e)
{
	const struct tune_decision_in in = {.decision = decision,
		.who = "somebody else",
		.text = "tonight",
		.t_ns = w->client.now_ns,
		.at_ns = w->client.now_ns};
	const int rc = tune_decide(&w->client, id, &in, e);
	world_look(w);
	return rc;
}

static void decides(struct world *w, const char *id, enum tune_decision decision)
{
	struct err e = {0};
	if (decide(w, id, decision, &e) != 0)
		fail_msg("%s", e.text);
}

static void refuses(struct world *w, const char *id, enum tune_decision decision, const char *why)
{
	struct err e = {0};
	if (decide(w, id, decision, &e) == 0 || !strstr(e.text, why))
		fail_msg("read '%s', expected '%s'", e.text, why);
}

static int64_t in_state(const struct world *w, const char *id, const char *state)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql, "SELECT count(*) FROM recommendations WHERE id='%s' AND state='%s'", id,
		state);
	return world_int(&w->db, sql.s);
}

/* ---- directly ------------------------------------------------------------ */

/* Of what a review found, changes are recorded, and what only asks to watch is not. */
static void test_changes_are_recorded(void **state)
{
	struct world *w = *state;
	struct err e = {0};
	world_reads(w, HOUR, 1000000);
	world_leave(w);
	struct tune_record *records[] = {
		record_of("wwwwwwww", "watch"), record_of("aaaaaaaa", "change")};
	assert_int_equal(tune_propose_all(&w->client, records, 1, &e), 0); /* nothing to record */
	assert_int_equal(world_int(&w->db, "SELECT count(*) FROM recommendations"), 0);
	assert_int_equal(tune_propose_all(&w->client, records, 2, &e), 0);
	assert_int_equal(world_int(&w->db, "SELECT count(*) FROM recommendations"), 1);
	assert_int_equal(in_state(w, "aaaaaaaa", "proposed"), 1);
	for (size_t i = 0; i < rw_countof(records); i++)
		tune_record_free(records[i]);
}

/* Somebody set the values and then says so: they are in force since they were first read, and that
 * is what a verification compares from. */
static void test_readings_count_first(void **state)
{
	struct world *w = *state;
	world_reads(w, HOUR, 1000000);
	world_leave(w);
	propose(w, "aaaaaaaa");
	decides(w, "aaaaaaaa", TUNE_ACCEPT);
	world_write(w);
	world_reads(w, 2 * HOUR, 400000);
	world_reads(w, 3 * HOUR, 400000);
	world_leave(w);
	decides(w, "aaaaaaaa", TUNE_APPLY);
	assert_int_equal(in_state(w, "aaaaaaaa", "applied"), 1);
	assert_int_equal(world_int(&w->db,
				 "SELECT count(*) FROM recommendations WHERE json LIKE "
				 "'%\"applied\":\"2023-11-15T00:13:20%'"),
		1);
}

/* To accept or to reject is about the sheet: what was read since does not answer instead. */
static void test_accept_is_about_the_sheet(void **state)
{
	static const struct {
		enum tune_decision decision;
		const char *state;
	} rows[] = {{TUNE_ACCEPT, "accepted"}, {TUNE_REJECT, "rejected"}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct world *w = NULL;
		assert_int_equal(setup((void **)&w), 0);
		world_reads(w, HOUR, 1000000);
		world_reads(w, 2 * HOUR, 400000);
		world_leave(w);
		propose(w, "aaaaaaaa");
		decides(w, "aaaaaaaa", rows[i].decision);
		assert_int_equal(in_state(w, "aaaaaaaa", rows[i].state), 1);
		char who[64];
		client_own_name(who, sizeof(who)); /* and not the name that was given */
		rw_cleanup(str_done) struct str sql = {0};
		str_addf(&sql,
			"SELECT count(*) FROM events WHERE kind='tuning' AND who='%s' AND "
			"text LIKE '%%%s: tonight'",
			who, rows[i].state);
		assert_int_equal(world_int(&w->db, sql.s), 1);
		teardown((void **)&w);
	}
}

/* A refusal says which sheet, and in which state it is. */
static void test_refusals(void **state)
{
	struct world *w = *state;
	world_reads(w, HOUR, 1000000);
	world_leave(w);
	refuses(w, "aaaaaaaa", TUNE_APPLY, "aaaaaaaa: there is no such sheet");
	refuses(w, "aaaaaaaa", TUNE_REJECT, "aaaaaaaa: there is no such sheet");
	propose(w, "aaaaaaaa");
	decides(w, "aaaaaaaa", TUNE_REJECT);
	refuses(w, "aaaaaaaa", TUNE_ACCEPT, "aaaaaaaa: it was rejected");
	assert_int_equal(in_state(w, "aaaaaaaa", "rejected"), 1);
}

static void test_find(void **state)
{
	static const struct {
		const char *id, *found, *error;
	} rows[] = {
		{"abaaaaaa", "abaaaaaa", ""},
		{"ABA", "abaaaaaa", ""},
		{"ab", NULL, "2 sheets begin with 'ab'; give more letters"},
		{"zz", NULL, "there is no sheet 'zz'"},
		{"", NULL, "there is no sheet ''"},
	};
	static const char *const ids[] = {"abaaaaaa", "abbbbbbb", "cccccccc"};
	struct tune_ledger *ledger = tune_ledger_new(NULL, NULL);
	for (size_t i = 0; i < rw_countof(ids); i++) {
		struct tune_record *record = record_of(ids[i], "change");
		record->state = TUNE_PROPOSED;
		assert_int_equal(tune_ledger_restore(ledger, record), 0);
	}
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct err e = {0};
		const struct tune_record *found = tune_find(ledger, rows[i].id, &e);
		if (!str_eq(found ? found->sheet.id : NULL, rows[i].found) ||
			!strstr(e.text, rows[i].error))
			fail_msg("'%s': %s", rows[i].id, e.text);
	}
	tune_ledger_free(ledger);
}

/* ---- through the agent --------------------------------------------------- */

/* The other side of the socket: notes the newest request, and answers as it is told to. */
struct agent {
	struct loop *loop;
	struct control *control;
	struct mailbox *end;
	pthread_t thread;
	json_t *request;
	char who[64];
	unsigned asked;
	bool refuses;
};

static json_t *agent_answer(void *arg, const char *who, const json_t *request)
{
	struct agent *agent = arg;
	json_decref(agent->request);
	agent->request = json_deep_copy(request);
	agent->asked++;
	if (agent->refuses)
		return control_error("not today");
	return json_pack("{s:b, s:s}", "ok", 1, "state", "accepted");
}

static void agent_end(void *arg, void *message)
{
	loop_stop(((struct agent *)arg)->loop);
}

static void *agent_main(void *arg)
{
	loop_run(((struct agent *)arg)->loop);
	return NULL;
}

static void agent_begin(struct agent *agent, const struct world *w)
{
	rw_cleanup(str_done) struct str path = {0};
	struct err e = {0};
	str_addf(&path, "%s.sock", w->db.path);
	assert_int_equal(loop_new(&agent->loop), 0);
	if (control_new(agent->loop, path.s, agent_answer, agent, &agent->control, &e) != 0)
		fail_msg("%s", e.text);
	agent->end = mailbox_new(agent->loop, 1, agent_end, agent);
	assert_int_equal(pthread_create(&agent->thread, NULL, agent_main, agent), 0);
}

static void agent_stop(struct agent *agent)
{
	mailbox_post(agent->end, agent);
	deadline_begin("pthread_join(): the end of the made-up agent's loop");
	pthread_join(agent->thread, NULL);
	deadline_end();
	control_free(agent->control);
	mailbox_free(agent->end);
	loop_free(agent->loop);
	json_decref(agent->request);
}

/* While an agent writes, it decides: it gets all that was said, and nothing is written beside it.
 */
static void test_the_agent_decides(void **state)
{
	struct world *w = *state;
	struct agent agent = {0};
	struct err e = {0};
	world_reads(w, HOUR, 1000000);
	assert_int_equal(store_flush(w->store, &e), 0);
	world_look(w);
	agent_begin(&agent, w);
	struct tune_record *records[] = {record_of("wwwwwwww", "watch"),
		record_of("aaaaaaaa", "change"), record_of("bbbbbbbb", "change")};
	assert_int_equal(tune_propose_all(&w->client, records, rw_countof(records), &e), 0);
	assert_int_equal(agent.asked, 2);
	assert_string_equal(doc_word(agent.request, "cmd"), "tune_propose");
	const json_t *sheet = json_object_get(agent.request, "sheet");
	assert_string_equal(doc_word(sheet, "id"), "bbbbbbbb");
	assert_non_null(json_object_get(sheet, "progress")); /* the whole of it */
	assert_int_equal(records[2]->state, TUNE_ACCEPTED); /* as the agent says */

	const struct tune_verified result = {.id = "aaaaaaaa",
		.result = {.verdict = VERIFY_ROLL_BACK, .why = "steps take longer"}};
	const struct tune_decision_in in = {.decision = TUNE_VERIFY,
		.text = "tonight",
		.t_ns = SECONDS(HOUR),
		.at_ns = SECONDS(7),
		.result = &result};
	assert_int_equal(tune_decide(&w->client, "aaaaaaaa", &in, &e), 0);
	assert_string_equal(doc_word(agent.request, "cmd"), "tune_verified");
	assert_string_equal(doc_word(agent.request, "id"), "aaaaaaaa");
	assert_string_equal(doc_word(agent.request, "note"), "tonight");
	assert_true(json_integer_value(json_object_get(agent.request, "at_ns")) == SECONDS(7));
	const json_t *told = json_object_get(agent.request, "result");
	assert_string_equal(doc_word(told, "verdict"), "roll_back");
	assert_string_equal(doc_word(told, "why"), "steps take longer");

	agent.refuses = true; /* the first refusal ends it, and is told */
	assert_int_equal(tune_propose_all(&w->client, records, rw_countof(records), &e), -EIO);
	assert_non_null(strstr(e.text, "not today"));
	assert_int_equal(agent.asked, 4);
	assert_int_equal(decide(w, "aaaaaaaa", TUNE_ACCEPT, &e), -EIO);
	const struct tune_decision_in no_text = {.decision = TUNE_REJECT, .text = "\xff"};
	assert_int_equal(tune_decide(&w->client, "aaaaaaaa", &no_text, &e), -EINVAL);
	assert_int_equal(agent.asked, 5); /* that one could not be said */
	assert_int_equal(world_int(&w->db, "SELECT count(*) FROM recommendations"), 0);
	for (size_t i = 0; i < rw_countof(records); i++)
		tune_record_free(records[i]);
	agent_stop(&agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes_are_recorded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readings_count_first, setup, teardown),
		cmocka_unit_test(test_accept_is_about_the_sheet),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test(test_find),
		cmocka_unit_test_setup_teardown(test_the_agent_decides, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
