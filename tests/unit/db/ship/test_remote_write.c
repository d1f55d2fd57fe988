/* What a store commits arrives at a real victoria-metrics and a real Prometheus, also when they are
 * killed in between: every sample, and none with another value. */
#include "tests/unit/db/db_world.h"

#include "base/str.h"
#include "db/open.h"
#include "db/ship/ship.h"
#include "db/store/store.h"
#include "tests/unit/db/ship/clickhouse_server.h"

struct receiver {
	const char *program, *arguments; /* %1$s directory, %2$d port */
	const char *write, *health, *count; /* paths of URLs */
	int end; /* signal: victoria-metrics answers before what it took is on its disk */
	char dir[64], url[128];
	int port;
	pid_t pid;
};

static struct receiver receivers[] = {
	{.program = "/usr/bin/victoria-metrics",
		.arguments = "-storageDataPath=%1$s/data -httpListenAddr=127.0.0.1:%2$d "
			     "-retentionPeriod=1 -dedup.minScrapeInterval=1ms",
		.write = "/api/v1/write",
		.end = SIGTERM,
		.health = "/health",
		.count = "/api/v1/query?query=sum(count_over_time(rocewatch_port_in_octets[1h]))"},
	{.program = "/usr/bin/prometheus",
		.arguments =
			"--config.file=%1$s/prometheus.yml --storage.tsdb.path=%1$s/data "
			"--web.listen-address=127.0.0.1:%2$d --web.enable-remote-write-receiver",
		.write = "/api/v1/write",
		.end = SIGKILL,
		.health = "/-/ready",
		.count = "/api/v1/query?query=sum(count_over_time(rocewatch_port_in_octets[1h]))"},
};

static int receiver_ask(const struct receiver *receiver, const char *path, struct str *ret)
{
	char url[256];
	long status = 0;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", receiver->port, path);
	const struct curl_post post = {
		.ask = {.url = url, .timeout_ns = 20 * NS_PER_S, .stop_fd = -1}, .body = ""};
	if (curl_io_post(&post, &status, ret, NULL) < 0)
		return -1;
	return (int)status;
}

static void receiver_run(struct receiver *receiver)
{
	char arguments[512], *argv[16] = {(char *)(uintptr_t)receiver->program}, *save = NULL;
	int n = 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(arguments, sizeof(arguments), receiver->arguments, receiver->dir, receiver->port);
#pragma GCC diagnostic pop
	for (char *word = strtok_r(arguments, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	receiver->pid = fork();
	if (receiver->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		const int fd = open("/dev/null", O_WRONLY);
		dup2(fd, 1);
		dup2(fd, 2);
		execv(receiver->program, argv);
		_exit(127);
	}
	int status = 0;
	for (int i = 0; i < 600 && (status < 200 || status == 503); i++) {
		status = receiver_ask(receiver, receiver->health, NULL);
		usleep(50000);
	}
	assert_true(status >= 200 && status != 503);
}

static void receiver_kill(struct receiver *receiver)
{
	kill(receiver->pid, receiver->end);
	waitpid(receiver->pid, NULL, 0);
}

static long long receiver_count(const struct receiver *receiver)
{
	rw_cleanup(str_done) struct str answer = {0};
	assert_int_equal(receiver_ask(receiver, receiver->count, &answer), 200);
	const char *value = strstr(str_or(answer.s, ""), "\"value\":[");
	if (!value)
		return 0;
	return atoll(strchr(strchr(value, ','), '"') + 1);
}

static void put(struct store *store, struct entities *entities, int64_t t_ns, int round)
{
	struct sample v[50];
	for (uint32_t i = 0; i < 50; i++) {
		char name[16];
		snprintf(name, sizeof(name), "eth%u", i);
		v[i] = sample_at(t_ns, entities_intern(entities, "leaf1", name, PRIO_NONE),
			M_PORT_IN_OCTETS, (uint64_t)round, 0);
	}
	store_samples(store, v, 50);
	assert_int_equal(store_flush(store, NULL), 0);
}

static void ship_to(struct receiver *receiver)
{
	struct db_world w;
	struct store *store;
	struct err e = {0};
	char path[160], remove[256];
	const int64_t now_ns = wall_now().ns;
	snprintf(receiver->dir, sizeof(receiver->dir), "/tmp/rw-rw-XXXXXX");
	assert_non_null(mkdtemp(receiver->dir));
	snprintf(path, sizeof(path), "%s/prometheus.yml", receiver->dir);
	FILE *out = fopen(path, "w");
	fclose(out);
	receiver->port = free_port();
	receiver_run(receiver);
	world_init(&w);
	struct entities *entities = entities_new();
	const struct store_options o = {.path = w.path, .spool = true};
	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	snprintf(receiver->url, sizeof(receiver->url), "http://127.0.0.1:%d%s", receiver->port,
		receiver->write);
	const struct ship_options options = {.kind = SHIP_REMOTE_WRITE,
		.name = "rw",
		.store_path = w.path,
		.url = receiver->url,
		.agent = "agent-1",
		.timeout_ns = 20 * NS_PER_S,
		.interval_ns = 20 * NS_PER_MS,
		.retry_ns = 100 * NS_PER_MS};
	struct ship *ship = ship_start(&options);
	for (int round = 0; round < 40; round++) {
		put(store, entities, now_ns - (60 - round) * NS_PER_S, round);
		if (round == 20)
			receiver_kill(receiver);
		if (round == 25)
			receiver_run(receiver);
	}
	const int64_t last = world_int(&w, "SELECT max(id) FROM spool");
	struct ship_status status = {0};
	for (int i = 0; ship_done(ship) < last; i++) {
		ship_status(ship, &status);
		if (i > 1500)
			fail_msg("%s: %s", receiver->program, status.error);
		usleep(20000);
	}
	ship_status(ship, &status);
	assert_int_equal(status.refused, 0);
	long long found = 0;
	for (int i = 0; i < 600 && found != 40 * 50; i++) { /* it shows them a little later */
		found = receiver_count(receiver);
		usleep(50000);
	}
	assert_int_equal(found, 40 * 50);
	ship_stop(ship);
	store_close(store);
	entities_free(entities);
	receiver_kill(receiver);
	snprintf(remove, sizeof(remove), "rm -r %s %s.ship-rw", receiver->dir, w.path);
	assert_int_equal(system(remove), 0);
	world_done(&w);
}

static void test_victoria_metrics(void **state)
{
	if (access(receivers[0].program, X_OK) == 0)
		ship_to(&receivers[0]);
}

static void test_prometheus(void **state)
{
	if (access(receivers[1].program, X_OK) == 0)
		ship_to(&receivers[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_victoria_metrics),
		cmocka_unit_test(test_prometheus),
	};
	if (access(receivers[0].program, X_OK) != 0 && access(receivers[1].program, X_OK) != 0)
		return 77;
	curl_io_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
