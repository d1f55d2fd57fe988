/*
 * test_judge - two agents with a share of the fabric each, and one judge, against one agent that
 * sees everything: the same incidents, the same findings. A judge that is killed in the middle, a
 * share that is away for ten minutes, and one that never comes.
 */
#include "tests/unit/agent/daemon/judge_world.h"

/* In the fault the judge is killed, a minute after it last wrote where it was, and is away for two
 * minutes. */
static void killed_in_the_fault(struct fabric_run f)
{
	fabric_open(&f);
	fabric_play(&f, 0, POLLS);
	rw_cleanup(freep) char *incidents = ask(f.all.path, INCIDENTS);
	assert_non_null(strstr(incidents, "\"leaf1\"")); /* the fault was seen at all */
	fabric_same(&f);
	/* behind the data by the interval that late samples get, and by what one step takes */
	assert_true(judge_until(f.judge.judge) >= T0 + (POLLS - 6) * POLL);
	/* a share keeps its samples and judges nothing; the judge keeps no samples of others */
	rw_cleanup(freep) char *of_share = ask(f.pod[0].path, "SELECT count(*) FROM findings");
	assert_string_equal(of_share, "0|\n");
	assert_int_equal(samples_in(f.judge.path), 0);
	assert_int_equal(
		samples_in(f.pod[0].path) + samples_in(f.pod[1].path), samples_in(f.all.path));
	fabric_close(&f);
}

static void test_two_agents_equal_one(void **state)
{
	killed_in_the_fault((struct fabric_run){.killed_at = 61});
}

/* Wherever in a window it was when it last told. */
static void test_killed_at_any_phase(void **state)
{
	for (int at = 62; at < 68; at++)
		killed_in_the_fault((struct fabric_run){.killed_at = at, .step = 1});
}

/* What it found is stored, how far it came is not: the next one begins anew, and says nothing
 * twice. */
static void test_killed_before_it_told(void **state)
{
	killed_in_the_fault((struct fabric_run){.killed_at = 61, .untold = true});
}

/* Its devices are unknown, not silent; the others are judged on; it is told, once each way. */
static void test_share_away(void **state)
{
	struct fabric_run f = {.away_from = 50, .away_to = 110};
	fabric_open(&f);
	fabric_play(&f, 0, POLLS);
	rw_cleanup(freep) char *events = ask(
		f.judge.path, "SELECT kind FROM events WHERE kind LIKE 'share_%' ORDER BY rowid");
	assert_string_equal(events, "share_late|\nshare_back|\n");
	rw_cleanup(freep) char *incidents = ask(f.judge.path,
		"SELECT cause, device, state FROM incidents WHERE cause IN "
		"('telemetry_gap','device_down') ORDER BY id");
	assert_string_equal(incidents, "telemetry_gap||closed|\n");
	rw_cleanup(freep) char *summary = ask(f.judge.path,
		"SELECT count(*) > 0 FROM findings WHERE summary LIKE "
		"'nothing arrives from agent pod2 for %; switches unknown: 1'");
	assert_string_equal(summary, "1|\n");
	/* leaf1 was judged all the time */
	rw_cleanup(freep) char *leaf1 = ask(f.judge.path,
		"SELECT count(*) FROM incidents WHERE device='leaf1' AND state='closed'");
	assert_string_not_equal(leaf1, "0|\n");
	fabric_close(&f);
}

/* ---- how far --------------------------------------------------------------- */

#define WAIT_NS (60 * NS_PER_S)
#define AT(s) ((int64_t)(s)*NS_PER_S)

static void test_horizon(void **state)
{
	struct judge_share v[3] = {{.name = "a", .newest_ns = AT(1000), .moved = {AT(10)}},
		{.name = "b", .newest_ns = AT(990), .moved = {AT(10)}},
		{.name = "c", .newest_ns = AT(980), .moved = {AT(9)}}};
	/* the slowest one */
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(12)}), AT(980));
	assert_false(v[2].late);
	/* nothing new from it for the time that was given */
	v[0].moved.ns = v[1].moved.ns = AT(68);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(69)}), AT(990));
	assert_true(v[2].late);
	assert_int_equal(v[2].late_since_ns, AT(980));
	/* it moves again, not far behind: it is waited for */
	v[2].newest_ns = AT(985);
	v[2].moved.ns = AT(70);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(70)}), AT(985));
	assert_false(v[2].late);
	/* it moves, and is days behind: it catches up by itself */
	v[0].newest_ns = AT(100000);
	v[1].newest_ns = AT(99990);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(71)}), AT(99990));
	assert_true(v[2].late);
	/* all stand still: what is there is judged, and none but those behind is late */
	v[2].newest_ns = v[1].newest_ns = AT(100000);
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(900)}), AT(100000));
	assert_false(v[0].late || v[1].late || v[2].late);
	/* none ever came */
	for (int i = 0; i < 3; i++)
		v[i].newest_ns = INT64_MIN;
	assert_int_equal(judge_horizon(v, 3, WAIT_NS, (mono_t){AT(900)}), INT64_MIN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_horizon),
		cmocka_unit_test(test_two_agents_equal_one),
		cmocka_unit_test(test_killed_at_any_phase),
		cmocka_unit_test(test_killed_before_it_told),
		cmocka_unit_test(test_share_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
