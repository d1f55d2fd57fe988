/* What a store commits arrives in a real ClickHouse server once, whoever is killed in between; and
 * what is read there is what the file holds. */
#include <math.h>
#include <pthread.h>

#include "tests/unit/db/db_world.h"

#include "base/arena.h"
#include "base/locked.h"
#include "base/str.h"
#include "db/clickhouse/clickhouse.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/ship/ship.h"
#include "db/store/store.h"
#include "tests/unit/db/ship/clickhouse_server.h"

static struct clickhouse_server server;

struct ship_world {
	struct db_world db;
	struct entities *entities;
	struct store *store;
	struct ship *ship;
	char database[32];
};

static void ship_world_open(struct ship_world *w)
{
	struct err e = {0};
	const struct store_options o = {.path = w->db.path, .spool = true};
	w->entities = entities_new();
	if (db_store_open(&o, w->entities, &w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void ship_world_start(struct ship_world *w, const char *agent)
{
	const struct ship_options o = {.kind = SHIP_CLICKHOUSE,
		.name = "ch",
		.store_path = w->db.path,
		.url = server.url,
		.agent = agent,
		.database = w->database,
		.timeout_ns = 20 * NS_PER_S,
		.interval_ns = 20 * NS_PER_MS,
		.batch_samples = 3000,
		.retry_ns = 100 * NS_PER_MS};
	w->ship = ship_start(&o);
}

/* Until all that was committed has arrived. */
static void ship_world_wait(struct ship_world *w)
{
	struct err e = {0};
	struct ship_status status = {0};
	assert_int_equal(store_flush(w->store, &e), 0);
	const int64_t last = world_int(&w->db, "SELECT max(id) FROM spool");
	for (int i = 0; ship_done(w->ship) < last; i++) {
		ship_status(w->ship, &status);
		if (i > 1500)
			fail_msg("it does not arrive: %s", status.error);
		usleep(20000);
	}
}

static void ship_world_close(struct ship_world *w)
{
	ship_stop(w->ship);
	w->ship = NULL;
	if (w->store)
		store_close(w->store);
	entities_free(w->entities);
	w->store = NULL;
}

static void ship_world_done(struct ship_world *w)
{
	char cursor[128];
	ship_world_close(w);
	snprintf(cursor, sizeof(cursor), "%s.ship-ch", w->db.path);
	unlink(cursor);
	world_done(&w->db);
}

/* ---- the same from both --------------------------------------------------------------- */

static int add_sample(void *arg, const struct sample *sample)
{
	void **to = arg;
	const struct history *history = to[1];
	const struct entities *entities = history->ops->entities(to[1]);
	const struct entity *entity = entity_get(entities, sample->entity);
	str_addf(to[0], "%lld %s %s %d %s %x %u %u ", (long long)sample->t_ns, entity->device,
		entity->port, entity->priority, metric_info(sample->metric)->name, sample->flags,
		sample->source, sample->window_ms);
	if (metric_info(sample->metric)->type == TYPE_TEXT)
		str_addf(to[0], "%s\n", entities_text_get(entities, sample->value));
	else
		str_addf(to[0], "%llx\n", (unsigned long long)sample->value);
	return 0;
}

static int add_flow(void *arg, const struct flow_sample *flow)
{
	str_addf(arg, "%lld %lld %u %d %d %llu %llu %d %g %llu\n", (long long)flow->from_ns,
		(long long)flow->to_ns, flow->sampling, flow->total, flow->key.dst_qp,
		(unsigned long long)flow->octets, (unsigned long long)flow->reaction.cnp,
		flow->key.src[3], flow->sum_sq_octets, (unsigned long long)flow->answer.slots);
	return 0;
}

static int add_cells(void *arg, int n, char *const *values, char *const *names)
{
	for (int i = 0; i < n; i++)
		str_addf(arg, "%s=%s ", names[i], str_or(values[i], "NULL"));
	str_add(arg, "\n");
	return 0;
}

/* A line is a sample; both stores may number entities differently, so lines are sorted. */
static int line_order(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static char *sorted_lines(struct str *text)
{
	char *lines[20000], *save = NULL;
	size_t n = 0;
	struct str out = {0};
	for (char *line = strtok_r(text->s, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		lines[n++] = line;
	qsort(lines, n, sizeof(lines[0]), line_order);
	for (size_t i = 0; i < n; i++)
		str_addf(&out, "%s\n", lines[i]);
	str_done(text);
	return out.s;
}

static const char *const statements[] = {
	"SELECT id, cause, severity, state, device, json FROM incidents ORDER BY id",
	"SELECT time, kind, incident_id, who, text FROM events ORDER BY t_ns, text",
	"SELECT device, port, alias, peer_device, speed_bps FROM ports ORDER BY 1, 2",
	"SELECT device, role, profile, up, state FROM devices ORDER BY device",
	"SELECT src, dst, octets, total, sum_sq_octets FROM flows ORDER BY to_ns, octets",
	"SELECT * FROM flow_hosts",
	"SELECT key, value, unit FROM health ORDER BY key",
	"SELECT count(*), max(value), min(confidence_ratio) FROM findings",
	"SELECT id, state, advice FROM recommendations",
	"SELECT yaml FROM config_history ORDER BY t_ns",
};

/* All that is in @path, as text. */
static char *whole(const char *path, struct window_spec *spec)
{
	struct history *history;
	struct err e = {0};
	struct str out = {0}, samples = {0};
	struct arena *a = arena_new();
	struct window window;
	int64_t first_ns = 0, last_ns = 0, next_ns = 0;
	if (db_history_open(path, &history, &e) < 0)
		fail_msg("%s", e.text);
	void *to[] = {&samples, history};
	if (history_each_sample(history, NULL, add_sample, to, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(history_range(history, &first_ns, &last_ns, &e), 0);
	assert_int_equal(history_next(history, SECONDS(5), &next_ns, &e), 0);
	str_addf(&samples, "range %lld %lld\n", (long long)first_ns, (long long)last_ns);
	/* a store need not know better than the next nanosecond */
	assert_true(next_ns > SECONDS(5) && next_ns <= SECONDS(6));
	if (history_window(history, a, spec, SECONDS(20), SECONDS(30), &window, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		for (uint32_t k = 0; k < series->n; k++) {
			const struct sample sample = {.entity = series->entity,
				.metric = series->metric,
				.t_ns = series->t_ns[k],
				.value = series->value[k],
				.flags = series->flags[k],
				.window_ms = series->window_ms[k]};
			str_add(&samples, "window ");
			add_sample(to, &sample);
		}
	}
	str_addf(&samples, "window flows %zu %zu\n", window.n_flows, window.n_flow_hosts);
	const struct history_filter filter = {.device = "leaf*", .port = "eth1", .priority = 3};
	uint32_t *ids;
	size_t n;
	assert_int_equal(history_match(history, &filter, &ids, &n, &e), 0);
	str_addf(&samples, "match %zu\n", n);
	free(ids);
	rw_cleanup(freep) char *lines = sorted_lines(&samples);
	str_add(&out, lines);
	if (history_each_flow(history, 0, 0, add_flow, &out, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (history_sql(history, statements[i], add_cells, &out, &e) < 0)
			fail_msg("%s: %s", statements[i], e.text);
	char *yaml = NULL;
	assert_int_equal(history_fabric_at(history, SECONDS(15), &yaml, &e), 0);
	str_add(&out, yaml);
	free(yaml);
	history_close(history);
	arena_free(a);
	return out.s;
}

static void put_records(struct ship_world *w)
{
	const uint32_t port = entities_intern(w->entities, "leaf1", "eth1", PRIO_NONE);
	struct flow_sample flows[] = {
		{.from_ns = SECONDS(20),
			.to_ns = SECONDS(25),
			.entity = port,
			.sampling = 4000,
			.total = true,
			.octets = 77,
			.sum_sq_octets = 1.5,
			.flows = 9},
		{.from_ns = SECONDS(20),
			.to_ns = SECONDS(25),
			.entity = port,
			.sampling = 4000,
			.key = {.family = 4,
				.src = {10, 0, 0, 7},
				.dst = {10, 0, 0, 8},
				.src_port = 999,
				.dst_qp = 4242},
			.octets = UINT64_C(1) << 60},
		{.from_ns = SECONDS(20),
			.to_ns = SECONDS(25),
			.entity = port,
			.sampling = 4000,
			.host = true,
			.key = {.family = 4, .src = {10, 0, 0, 7}},
			.reaction = {.cnp = 12, .all = {.n = 2, .before = 3e9, .after = 1e9}},
			.answer = {.slots = 5}},
	};
	const struct store_health health[] = {
		{"process/rss_bytes", "B", 12345.5}, {"x/y", "", NAN}};
	const struct store_port attr = {.device = "leaf1",
		.port = "eth1",
		.alias = "to-spine",
		.peer_device = "spine1",
		.peer_port = "e9",
		.speed_bps = 400000000000,
		.t_ns = T0};
	const struct store_device device = {.name = "leaf1",
		.role = "leaf",
		.profile = "sonic",
		.sysname = "l'eaf\\1",
		.t_ns = T0};
	const struct store_target target = {.device = "leaf1",
		.protocol = "snmp",
		.state = "up",
		.up = true,
		.now_ns = SECONDS(30),
		.poll_p50_s = NAN,
		.poll_p95_s = 0.5};
	const struct store_incident opened = {.id = "A1",
		.cause = "ecn_late",
		.severity = "warning",
		.state = "open",
		.device = "leaf1",
		.json = "{\"id\":\"A1\"}",
		.opened_ns = SECONDS(3),
		.updated_ns = SECONDS(3),
		.usd_per_hour = NAN};
	struct store_incident closed = opened;
	const struct store_finding finding = {.from_ns = SECONDS(1),
		.to_ns = SECONDS(11),
		.analyzer = "congestion",
		.value = 2.5,
		.warn = NAN,
		.confidence = 0.25};
	const struct store_recommendation advice = {
		.id = "R1", .state = "proposed", .advice = "raise", .t_ns = SECONDS(9)};
	store_flows(w->store, flows, 3);
	store_health(w->store, SECONDS(29), health, 2);
	store_port(w->store, &attr);
	store_device(w->store, &device);
	store_target(w->store, &target);
	store_incident(w->store, &opened);
	closed.state = "closed";
	closed.closed_ns = SECONDS(13);
	store_incident(w->store, &closed);
	store_finding(w->store, &finding);
	store_recommendation(w->store, &advice);
	store_fabric(w->store, T0, "devices: []\n");
	store_fabric(w->store, SECONDS(10), "devices: [leaf1]\n");
	store_event(w->store, SECONDS(4), "ack", "A1", "anna", "it's \"fine\"\n\xc3\xa4");
}

static void put_samples(struct ship_world *w)
{
	const uint32_t device = entities_intern(w->entities, "leaf1", "", PRIO_NONE);
	const uint32_t port = entities_intern(w->entities, "leaf1", "eth1", PRIO_NONE);
	const uint32_t lane = entities_intern(w->entities, "leaf1", "eth1", 3);
	const uint32_t other = entities_intern(w->entities, "leaf2", "eth1", 3);
	const uint64_t text = entities_text(w->entities, "dscp");
	for (int i = 0; i < 40; i++) {
		const int64_t t = SECONDS(i);
		struct sample v[] = {
			sample_at(t, port, M_PORT_IN_OCTETS, UINT64_MAX - 1000 + (uint64_t)i, 0),
			sample_at(t, port, M_PORT_PRE_FEC_BER, sample_of_f64(1e-9 * i), SF_WRAP32),
			sample_at(t, lane, M_PFC_RX_FRAMES, (uint64_t)i * 7, 0),
			sample_at(t, other, M_PFC_RX_FRAMES, (uint64_t)i, 0),
			sample_at(t, port, M_PORT_IN_OCTETS, 1, 0), /* the first one stays */
		};
		store_samples(w->store, v, 5);
		if (i % 10 == 0)
			assert_int_equal(store_flush(w->store, NULL), 0);
	}
	struct sample setting = sample_at(SECONDS(2), port, M_CFG_TRUST, text, SF_DECLARED);
	struct sample mark = sample_at(SECONDS(22), lane, M_PFC_RX_TRANSITIONS, 5, 0);
	mark.window_ms = 500;
	struct sample late = sample_at(SECONDS(1), port, M_PORT_OUT_OCTETS, 4, SF_LATE);
	struct sample nan = sample_at(SECONDS(3), port, M_PORT_PRE_FEC_BER, sample_of_f64(NAN), 0);
	struct sample up = sample_at(SECONDS(3), port, M_PORT_OPER_UP, 1, 0);
	up.source = SOURCE_GNMI;
	store_samples(w->store, &setting, 1);
	store_samples(w->store, &mark, 1);
	store_samples(w->store, &late, 1);
	store_samples(w->store, &nan, 1);
	store_samples(w->store, &up, 1);
	assert_int_equal(store_flush(w->store, NULL), 0);
	/* the clock was set back: what was newer is late; what comes again is not */
	store_rewind(w->store, SECONDS(37));
	struct sample again = sample_at(SECONDS(38.5), port, M_PORT_OUT_OCTETS, 99, 0);
	store_samples(w->store, &again, 1);
	(void)device;
}

static void test_equal(void **state)
{
	struct ship_world w = {.database = "equal"};
	char url[128];
	world_init(&w.db);
	ship_world_open(&w);
	put_records(&w);
	put_samples(&w);
	ship_world_start(&w, "agent-1");
	ship_world_wait(&w);
	uint16_t metrics[METRIC_COUNT];
	for (uint16_t m = 0; m < METRIC_COUNT; m++)
		metrics[m] = m;
	struct window_spec spec = {.metrics = metrics, .n_metrics = METRIC_COUNT, .flows = true};
	snprintf(url, sizeof(url), "clickhouse://default@127.0.0.1:%d/%s", server.port, w.database);
	char *file = whole(w.db.path, &spec), *there = whole(url, &spec);
	if (strcmp(there, file) != 0) { /* the first difference */
		size_t n = 0;
		while (there[n] == file[n])
			n++;
		while (n > 0 && there[n - 1] != '\n')
			n--;
		fail_msg("there: %.300s\nfile: %.300s", there + n, file + n);
	}
	free(file);
	free(there);
	ship_world_done(&w);
}

/* ---- killed in between ------------------------------------------------------------------- */

static void put_some(struct ship_world *w, int round, uint64_t *sent)
{
	struct sample v[1000];
	for (uint32_t i = 0; i < 1000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "eth%u", i);
		v[i] = sample_at(SECONDS(round),
			entities_intern(w->entities, "leaf1", name, PRIO_NONE), M_PORT_IN_OCTETS,
			(uint64_t)round * 1000 + i, 0);
	}
	store_samples(w->store, v, 1000);
	store_event(w->store, SECONDS(round), "round", NULL, NULL, "x");
	assert_int_equal(store_flush(w->store, NULL), 0);
	*sent += 1000;
}

static void check_once(const struct ship_world *w, uint64_t sent, int rounds)
{
	static const char all[] = "SELECT count() FROM samples_port FINAL";
	static const char distinct[] = "SELECT uniqExact(port, t_ns) FROM samples_port";
	static const char sum[] = "SELECT sum(port_in_octets) FROM samples_port FINAL";
	long long expected = 0;
	for (int round = 0; round < rounds; round++)
		expected += (long long)round * 1000 * 1000 + 999 * 1000 / 2;
	assert_int_equal(server_count(&server, w->database, distinct), sent);
	assert_int_equal(server_count(&server, w->database, all), sent);
	assert_int_equal(server_count(&server, w->database, sum), expected);
	assert_int_equal(
		server_count(&server, w->database, "SELECT count() FROM events FINAL"), rounds);
}

static int count_sample(void *arg, const struct sample *sample)
{
	++*(uint64_t *)arg;
	return 0;
}

static void test_killed(void **state)
{
	struct ship_world w = {.database = "killed"};
	uint64_t sent = 0, read = 0;
	int round = 0;
	char url[128];
	world_init(&w.db);
	ship_world_open(&w);
	ship_world_start(&w, "agent-1");
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 8; i++)
			put_some(&w, round++, &sent);
		usleep(20000 * (useconds_t)k);
		server_kill(&server); /* in the middle of a batch, maybe */
		for (int i = 0; i < 4; i++)
			put_some(&w, round++, &sent);
		if (k % 2) { /* the agent dies as well: what is on its way may be there */
			ship_stop(w.ship);
			ship_world_start(&w, "agent-1");
		}
		server_start(&server, "");
	}
	ship_world_wait(&w);
	check_once(&w, sent, round);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%d/%s", server.port, w.database);
	struct history *history;
	assert_int_equal(db_history_open(url, &history, NULL), 0);
	assert_int_equal(history_each_sample(history, NULL, count_sample, &read, NULL), 0);
	history_close(history);
	assert_int_equal(read, sent);
	ship_world_done(&w);
}

/* The range under way is sent again as the same bytes; receivers have it once. */
static void test_sent_twice(void **state)
{
	struct ship_world w = {.database = "twice"};
	char cursor[128];
	uint64_t sent = 0, read = 0;
	char url[128];
	world_init(&w.db);
	ship_world_open(&w);
	for (int i = 0; i < 5; i++)
		put_some(&w, i, &sent);
	ship_world_start(&w, "agent-1");
	ship_world_wait(&w);
	ship_stop(w.ship);
	snprintf(cursor, sizeof(cursor), "%s.ship-ch", w.db.path);
	unlink(cursor); /* all of it is sent again */
	ship_world_start(&w, "agent-1");
	ship_world_wait(&w);
	check_once(&w, sent, 5);
	snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%d/%s", server.port, w.database);
	struct history *history;
	assert_int_equal(db_history_open(url, &history, NULL), 0);
	assert_int_equal(history_each_sample(history, NULL, count_sample, &read, NULL), 0);
	history_close(history);
	assert_int_equal(read, sent);
	/* what arrived leaves the spool */
	store_spool_done(w.store, ship_done(w.ship));
	ship_world_done(&w);
}

/* A copy of the file of some time before is put back: what is committed from then on arrives, and
 * is not taken for what was sent under those numbers. */
static void test_put_back(void **state)
{
	struct ship_world w = {.database = "back"};
	uint64_t sent = 0;
	world_init(&w.db);
	ship_world_open(&w);
	ship_world_start(&w, "agent-1");
	for (int i = 0; i < 2; i++)
		put_some(&w, i, &sent);
	ship_world_wait(&w);
	ship_world_close(&w);
	world_exec(&w.db, "UPDATE sqlite_sequence SET seq=1 WHERE name='spool'");
	world_exec(&w.db, "DELETE FROM spool");
	sleep(1); /* numbers go on with the next second */
	ship_world_open(&w);
	ship_world_start(&w, "agent-1");
	put_some(&w, 2, &sent);
	ship_world_wait(&w);
	check_once(&w, sent, 3);
	ship_world_done(&w);
}

/* ---- refused --------------------------------------------------------------------------------- */

static int wrong_password(void *arg, char **ret, struct err *e)
{
	*ret = locked_dup("wrong-secret");
	return 0;
}

static void test_refused(void **state)
{
	struct ship_world w = {.database = "refused"};
	struct ship_status status = {0};
	uint64_t sent = 0;
	world_init(&w.db);
	ship_world_open(&w);
	put_some(&w, 0, &sent);
	const struct ship_options o = {.kind = SHIP_CLICKHOUSE,
		.name = "ch",
		.store_path = w.db.path,
		.url = server.url,
		.agent = "a",
		.database = w.database,
		.username = "default",
		.password = wrong_password,
		.timeout_ns = 20 * NS_PER_S,
		.retry_ns = 50 * NS_PER_MS};
	w.ship = ship_start(&o);
	for (int i = 0; i < 600 && status.failures < 2; i++) {
		usleep(20000);
		ship_status(w.ship, &status);
	}
	assert_true(status.failures >= 2);
	assert_true(status.failing_since_ns > 0);
	assert_non_null(strstr(status.error, "assword"));
	assert_null(strstr(status.error, "wrong-secret"));
	assert_int_equal(ship_done(w.ship), 0);
	ship_world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_sent_twice),
		cmocka_unit_test(test_put_back),
		cmocka_unit_test(test_refused),
	};
	if (!server_make(&server, ""))
		return 77;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	server_done(&server);
	return failed;
}
