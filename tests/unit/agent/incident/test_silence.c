/* test_silence - which incidents a silence fits, by struct and by document; what a request may ask
 * for; and the way through the database. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/incident/silence.h"
#include "db/model/entity.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define HOUR_NS (3600 * NS_PER_S)
#define NOON_NS (1700000000 * NS_PER_S)

static const char *const silence_test_jobs[] = {"llama", "bert"};

static struct incident silence_test_incident(void)
{
	return (struct incident){.id = "abcdefgh",
		.cause = CAUSE_PFC_STORM,
		.device = "leaf1",
		.port = "Ethernet4",
		.jobs = silence_test_jobs,
		.n_jobs = 2};
}

/* The keys of the contract that a silence looks at. */
static json_t *silence_test_document(const struct incident *i)
{
	return json_pack("{s:s, s:{s:s?, s:s?, s:s?}, s:[s, s]}", "cause", cause_name(i->cause),
		"subject", "device", i->device, "port", i->port, "host", i->host, "jobs",
		i->jobs[0], i->jobs[1]);
}

static void test_silence_fits(void **state)
{
	static const struct {
		const char *what;
		struct silence silence;
		bool fits;
	} rows[] = {
		{"its device", {.device = "leaf1"}, true},
		{"a glob of it", {.device = "leaf*"}, true},
		{"another device", {.device = "spine*"}, false},
		{"device and port", {.device = "leaf1", .port = "Ethernet?"}, true},
		{"the device, but another port", {.device = "leaf1", .port = "Ethernet8"}, false},
		{"its second job", {.job = "bert"}, true},
		{"another job", {.job = "gpt*"}, false},
		{"its cause", {.cause = "pfc_*"}, true},
		{"everything", {.cause = "*"}, true},
		{"a host, where it names none", {.host = "*"}, false},
		{"its device and another cause", {.device = "leaf1", .cause = "ecn_*"}, false},
	};
	const struct incident incident = silence_test_incident();
	json_t *document = silence_test_document(&incident);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		rw_cleanup(silences_done) struct silences list = {0};
		struct silence s = rows[k].silence;
		memcpy(s.id, "aaaaaaaa", sizeof(s.id));
		s.from_ns = NOON_NS;
		s.until_ns = NOON_NS + HOUR_NS;
		silences_put(&list, &s);
		const bool by_struct = silence_match(&list, &incident, NOON_NS) != NULL;
		const bool by_document = silence_match_json(&list, document, NOON_NS) != NULL;
		if (by_struct != rows[k].fits || by_document != rows[k].fits)
			fail_msg("%s: %d %d", rows[k].what, by_struct, by_document);
		assert_null(silence_match(&list, &incident, NOON_NS - 1));
		assert_null(silence_match(&list, &incident, s.until_ns));
		assert_null(silence_match_json(&list, document, s.until_ns));
	}
	json_decref(document);
}

/* Of several, the one that lasts longest speaks. */
static void test_silence_longest(void **state)
{
	rw_cleanup(silences_done) struct silences list = {0};
	const struct incident incident = silence_test_incident();
	for (int k = 0; k < 20; k++) {
		struct silence s = {.cause = "*",
			.from_ns = NOON_NS,
			.until_ns = NOON_NS + (k % 7 + 1) * HOUR_NS};
		snprintf(s.id, sizeof(s.id), "id%06u", (unsigned)k % 1000);
		silences_put(&list, &s);
	}
	assert_int_equal(list.n, 20);
	assert_int_equal(silence_match(&list, &incident, NOON_NS)->until_ns, NOON_NS + 7 * HOUR_NS);
	struct silence ended = *silences_find(&list, "ID000006");
	ended.until_ns = NOON_NS;
	ended.ended_by = "ann";
	silences_put(&list, &ended);
	assert_int_equal(list.n, 20);
	assert_string_equal(silences_find(&list, "id000006")->ended_by, "ann");
}

static void test_silence_request(void **state)
{
	static const struct {
		const char *what, *json;
		int rc;
	} rows[] = {
		{"whole", "{\"device\": \"leaf1\", \"why\": \"fan\", \"until\": 1}", 0},
		{"no glob", "{\"why\": \"fan\", \"until\": 1}", -EINVAL},
		{"no reason", "{\"device\": \"leaf1\", \"until\": 1}", -EINVAL},
		{"an empty glob", "{\"device\": \"\", \"why\": \"fan\", \"until\": 1}", -EINVAL},
		{"two lines", "{\"device\": \"a\\nb\", \"why\": \"fan\", \"until\": 1}", -EINVAL},
		{"over already", "{\"device\": \"leaf1\", \"why\": \"fan\", \"until\": -2}",
			-EINVAL},
		{"for two years", "{\"device\": \"leaf1\", \"why\": \"fan\", \"until\": 17520}",
			-EINVAL},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		json_t *request = json_loads(rows[k].json, 0, NULL);
		struct silence s;
		struct err e = {0};
		const int64_t hours = json_integer_value(json_object_get(request, "until"));
		json_object_set_new(request, "from_ns", json_integer(NOON_NS - HOUR_NS));
		json_object_set_new(request, "until_ns", json_integer(NOON_NS + hours * HOUR_NS));
		const int rc = silence_read(request, "ann", NOON_NS, &s, &e);
		if (rc != rows[k].rc || (rc < 0 && !e.text[0]))
			fail_msg("%s: %d %s", rows[k].what, rc, e.text);
		if (rc == 0)
			assert_int_equal(strlen(s.id), 8);
		json_decref(request);
	}
}

/* What no clock shows: refused, without an overflow on the way. */
static void test_silence_far_times(void **state)
{
	static const struct {
		int64_t from_ns, until_ns;
	} rows[] = {{INT64_MIN, INT64_MAX}, {INT64_MIN, NOON_NS + HOUR_NS},
		{INT64_MAX - 1, INT64_MAX}, {NOON_NS, INT64_MAX}, {0, NOON_NS + HOUR_NS},
		{INT64_MIN, INT64_MIN + 1}};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		json_t *request = json_pack("{s:s, s:s, s:I, s:I}", "cause", "*", "why", "quiet",
			"from_ns", (json_int_t)rows[k].from_ns, "until_ns",
			(json_int_t)rows[k].until_ns);
		struct silence s;
		struct err e = {0};
		if (silence_read(request, "ann", NOON_NS, &s, &e) != -EINVAL)
			fail_msg("row %zu is a silence", k);
		json_decref(request);
	}
}

static void test_silence_database(void **state)
{
	char dir[] = "/tmp/rw-silence-XXXXXX";
	rw_cleanup(str_done) struct str path = {0};
	struct err e = {0};
	assert_non_null(mkdtemp(dir));
	str_addf(&path, "%s/x.db", dir);
	struct entities *entities = entities_new();
	struct store *store = NULL;
	const struct store_options options = {.path = path.s, .replay = true};
	assert_int_equal(db_store_open(&options, entities, &store, &e), 0);
	const struct silence s = {.id = "abcdefgh",
		.device = "leaf1",
		.who = "ann",
		.why = "fans",
		.created_ns = NOON_NS,
		.from_ns = NOON_NS,
		.until_ns = NOON_NS + HOUR_NS};
	silence_store(store, &s, "silence_added", NOON_NS);
	assert_int_equal(store_flush(store, &e), 0);
	store_close(store);
	entities_free(entities);

	struct history *history = NULL;
	rw_cleanup(silences_done) struct silences list = {0};
	assert_int_equal(db_history_open(path.s, &history, &e), 0);
	assert_int_equal(silences_load(history, &list, &e), 0);
	history_close(history);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].device, "leaf1");
	assert_null(list.v[0].port);
	assert_true(list.v[0].until_ns == s.until_ns);
	rw_cleanup(str_done) struct str text = {0}, rm = {0};
	silence_text(&text, &list.v[0]);
	assert_string_equal(text.s, "by ann until 2023-11-14 23:13:20Z: fans");
	str_addf(&rm, "rm -r %s", dir);
	assert_int_equal(system(rm.s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence_fits),
		cmocka_unit_test(test_silence_longest),
		cmocka_unit_test(test_silence_request),
		cmocka_unit_test(test_silence_far_times),
		cmocka_unit_test(test_silence_database),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
