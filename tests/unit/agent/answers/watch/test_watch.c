/* watch and status as their users see them: through the command line, from a recorded stretch in a
 * database. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define NOW_S 1700000040LL /* a multiple of the window: the minute just ended is closed */

extern const struct command command_check, command_status, command_watch;
static const struct command *const table[] = {
	&command_check, &command_status, &command_watch, NULL};
static char dir[] = "/tmp/rw-watch-XXXXXX", db[64];

static const char yaml[] = "fabric: pod-a\n"
			   "devices:\n  - { name: leaf1, role: leaf }\n  - { name: spine1, role: "
			   "spine }\n  - { name: spine2, role: spine }\n"
			   "links:\n  - { a: \"leaf1:swp51\", b: \"spine1:swp1\" }\n  - { a: "
			   "\"leaf1:swp52\", b: \"spine2:swp1\" }\n"
			   "lossless: { priorities: [3] }\n";

static void add(struct store *s, struct entities *t, const char *device, const char *port,
	int priority, unsigned metric, int64_t t_s, uint64_t v)
{
	const struct sample x = {.t_ns = t_s * NS_PER_S,
		.value = v,
		.entity = entities_intern(t, device, port, priority),
		.metric = (uint16_t)metric,
		.source = SOURCE_REPLAY};
	store_samples(s, &x, 1);
}

/* leaf1 sends 9 and 3 of 10 Gbit/s, loses frames of a lossless priority, and spine2 falls silent.
 */
static int begin(void **state)
{
	struct entities *t = entities_new();
	struct store *s = NULL;
	struct err e = {0};

	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	const struct store_options o = {.path = db, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	store_fabric(s, 0, yaml);
	for (int64_t i = 0; i <= 180; i += 10) {
		int64_t at = NOW_S - 180 + i;
		add(s, t, "leaf1", "swp51", PRIO_NONE, M_PORT_OUT_OCTETS, at,
			(uint64_t)i * 1125000000);
		add(s, t, "leaf1", "swp52", PRIO_NONE, M_PORT_OUT_OCTETS, at,
			(uint64_t)i * 375000000);
		add(s, t, "leaf1", "swp51", PRIO_NONE, M_PORT_SPEED_BPS, at, 10000000000);
		add(s, t, "leaf1", "swp52", PRIO_NONE, M_PORT_SPEED_BPS, at, 10000000000);
		add(s, t, "leaf1", "swp51", 3, M_QUEUE_DROPS, at, (uint64_t)i / 2);
		/* lossy: no lossless drop */
		add(s, t, "leaf1", "swp51", 0, M_QUEUE_DROPS, at, (uint64_t)i * 1000);
		add(s, t, "leaf1", "swp51", 3, M_PFC_TX_FRAMES, at, 0);
		add(s, t, "spine1", "swp1", PRIO_NONE, M_PORT_OUT_OCTETS, at, (uint64_t)i);
		if (i < 60)
			add(s, t, "spine2", "swp1", PRIO_NONE, M_PORT_OUT_OCTETS, at, (uint64_t)i);
	}
	const struct store_incident incident = {.id = "aaaaaaaa",
		.cause = "ecmp_imbalance",
		.severity = "critical",
		.state = "open",
		.device = "leaf1",
		.summary = "swp51 carries too much\x1b[2J",
		.json = "{}",
		.priority = -1,
		.opened_ns = (NOW_S - 60) * NS_PER_S,
		.updated_ns = 1};
	store_incident(s, &incident);
	int r = store_flush(s, &e);
	store_close(s);
	entities_free(t);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Standard output of "rocewatch ARGS"; the caller frees it. */
static char *run(int want, const char *a, const char *b, const char *c)
{
	char *argv[] = {
		(char *)"rocewatch", (char *)a, (char *)"--db", db, (char *)b, (char *)c, NULL};
	char path[] = "/tmp/rw-watch-out-XXXXXX", *text = NULL;
	int fd = mkstemp(path), saved = dup(1), argc = 4 + (b != NULL) + (c != NULL);

	fflush(stdout);
	dup2(fd, 1);
	close(fd);
	int r = cli_run(argc, argv, table);
	dup2(saved, 1);
	close(saved);
	assert_int_equal(r, want);
	assert_int_equal(str_read_file(path, 1 << 20, &text, NULL, NULL), 0);
	unlink(path);
	return text;
}

static void expect(const char *text, const char *line)
{
	if (!strstr(text, line)) {
		fputs(text, stderr);
		fail_msg("'%s' is missing", line);
	}
}

static void test_watch_once(void **state)
{
	rw_cleanup(freep) char *s = run(0, "watch", "--once", NULL);
	expect(s, " rocewatch   pod-a   2023-11-14 22:14:00Z                ");
	expect(s, "    CRITICAL\n");
	expect(s, "recorded data   devices 2/3 up   incidents 1 open\n");
	expect(s, " unknown   spine2: silent for 2m10s");
	expect(s, "WHERE  (22:13:30 - 22:14:00Z)\n");
	expect(s, " ECMP max/mean - 1     50 %         -  critical  leaf1 uplinks, most on swp51");
	expect(s, " pause time             0 %         -  ok\n");
	expect(s, " discards                 -         -  unknown   not collected");
	/* over its limit, and no incident is about it */
	expect(s, " lossless drops      0.50/s         -  ok  ");
	expect(s, " 1 incident is open: swp51 carries too much [2J");
	expect(s, " BUSIEST UPLINKS  leaf1:swp51 90 %   leaf1:swp52 30 %\n");
	expect(s, " critical  1m00s  $0.00/h  swp51 carries too much [2J  ");
	assert_null(strchr(s, '\x1b')); /* no colours into a file, no escapes of others ever */
}

static void test_watch_json(void **state)
{
	rw_cleanup(freep) char *s = run(0, "watch", "--once", "--format=json");
	json_t *doc = json_loads(s, 0, NULL);
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "state")), "critical");
	assert_int_equal(json_array_size(json_object_get(doc, "signals")), GOLDEN_COUNT);
	const json_t *hot = json_array_get(json_object_get(doc, "uplinks"), 0);
	assert_true(json_real_value(json_object_get(hot, "utilization_ratio")) > 0.899 &&
		json_real_value(json_object_get(hot, "utilization_ratio")) < 0.901);
	/* not collected is not zero */
	const json_t *discards = json_array_get(json_object_get(doc, "signals"), GOLDEN_DISCARDS);
	assert_true(json_is_null(json_object_get(discards, "value")));
	assert_string_equal(json_string_value(json_object_get(discards, "state")), "unknown");
	/* an open incident shows in its signal, with its id */
	const json_t *ecmp = json_array_get(json_object_get(doc, "signals"), GOLDEN_ECMP_IMBALANCE);
	assert_string_equal(json_string_value(json_object_get(ecmp, "incident")), "aaaaaaaa");
	assert_string_equal(json_string_value(json_object_get(ecmp, "state")), "critical");
	json_decref(doc);
}

static void test_status_formats(void **state)
{
	rw_cleanup(freep) char *s = run(0, "status", NULL, NULL),
			       *csv = run(0, "status", "--format", "csv"),
			       *bare = run(0, "status", "--no-header", NULL);
	expect(s, "CRITICAL - 1 incident is open: swp51 carries too much [2J\n");
	expect(s, "up 2   down 0   unknown 1   open incidents 1\n");
	expect(s, "\nspine2  replay    unknown  2m10s");
	expect(s,
		"\naaaaaaaa  critical  open   2023-11-14 22:13:00Z  ecmp_imbalance  swp51 carries "
		"too much [2J\n");
	expect(csv, "name,up,status,reason,age_s,protocol");
	expect(csv, "\nleaf1,true,up,,0,replay,");
	assert_int_equal(strncmp(bare, "leaf1 ", 6), 0);
	rw_cleanup(freep) char *refused = run(2, "status", "extra", NULL),
			       *later = run(0, "watch", "--once", "--format=csv");
	assert_string_equal(refused, "");
	expect(later, "signal,value,unit,state,where,name,value_low,quality,baseline,why\n");
}

/* The drops of the lossless priority alone, from the counters in the database. */
static void test_check_drops(void **state)
{
	rw_cleanup(freep) char *all = run(0, "check", "drops", NULL),
			       *other = run(3, "check", "drops", "--port=swp52"),
			       *silent = run(3, "check", "target", NULL);
	expect(all,
		"DROPS OK - 90 frames dropped in 300 s, most at leaf1:swp51 p3: 90 (over its "
		"limit, and no incident is about it: analyzers.lossless_loss found no fault in its "
		"windows; incident aaaaaaaa there is ecmp_imbalance) | 'drops'=90;;0;0;\n");
	rw_cleanup(freep) char *given = run(2, "check", "drops", "--crit=0");
	expect(given, "DROPS CRITICAL - 90 frames dropped in 300 s, most at leaf1:swp51 p3: 90 |");
	expect(other, "DROPS UNKNOWN - drops are not counted by any of 0 lossless queues");
	expect(silent, "TARGET UNKNOWN - 1 unknown, spine2: silent for 2m10s");
}

int main(void)
{
	setenv("LC_ALL", "C", 1);
	setenv("COLUMNS", "100", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch_once),
		cmocka_unit_test(test_watch_json),
		cmocka_unit_test(test_status_formats),
		cmocka_unit_test(test_check_drops),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
