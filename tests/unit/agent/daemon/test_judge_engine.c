/*
 * test_judge_engine - two agents that ship to a real ClickHouse server, and a judge that reads it:
 * what it says equals what one agent says that sees everything. The server is killed for ten
 * minutes of the fabric, in the fault.
 */
#include "tests/unit/agent/daemon/judge_world.h"

#include "tests/unit/db/ship/clickhouse_server.h"

#define DATABASE "fabric"

static void ship_open(struct run *r, const struct clickhouse_server *server, const char *agent)
{
	const struct ship_options o = {.kind = SHIP_CLICKHOUSE,
		.name = "ch",
		.store_path = r->path,
		.url = server->url,
		.agent = agent,
		.database = DATABASE,
		.timeout_ns = 20 * NS_PER_S,
		.interval_ns = 20 * NS_PER_MS,
		.retry_ns = 100 * NS_PER_MS};
	r->ship = ship_start(&o);
}

static void test_engine_killed(void **state)
{
	struct clickhouse_server server = {0};
	struct fabric_run f = {.step = 10};
	char url[128];
	if (!server_make(&server, ""))
		exit(77);
	snprintf(url, sizeof(url), "clickhouse://default@127.0.0.1:%d/%s", server.port, DATABASE);
	f.place.engine = url;
	fabric_open(&f);
	ship_open(&f.pod[0], &server, "pod1");
	ship_open(&f.pod[1], &server, "pod2");
	fabric_play(&f, 0, 60);
	server_kill(&server);
	ship_stop(f.pod[1].ship);
	f.pod[1].ship = NULL;
	f.engine_down = true;
	fabric_play(&f, 60, 120);
	server_start(&server, "");
	f.engine_down = false;
	/* the first that is back does not make the other one late */
	run_shipped(&f.pod[0]);
	run_judge(&f.judge, T0 + 122 * POLL);
	ship_open(&f.pod[1], &server, "pod2");
	fabric_play(&f, 120, POLLS);
	fabric_same(&f);
	rw_cleanup(freep) char *incidents = ask(f.all.path, INCIDENTS);
	assert_non_null(strstr(incidents, "\"leaf1\""));
	assert_true(judge_until(f.judge.judge) >= T0 + (POLLS - 6) * POLL);
	/* nobody was late for it, nothing is lost, nothing is there twice */
	rw_cleanup(freep) char *late =
		ask(f.judge.path, "SELECT count(*) FROM events WHERE kind LIKE 'share_%'");
	assert_string_equal(late, "0|\n");
	assert_int_equal(samples_in(url), samples_in(f.all.path));
	fabric_close(&f);
	server_done(&server);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_engine_killed)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
