/*
 * bench_history - how long questions to a large database take: 512 switches x 64 ports at 10 s.
 * Makes the file when it is not there: octets and pause frames of all ports, all metrics of
 * bench_store of one switch. Prints wall and CPU time of each question, asked by a reader that was
 * just opened, as a command does. Usage: bench_history FILE [HOURS [SWITCHES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define PORTS 64
#define STEP_S 10
#define BEGIN_NS INT64_C(1700000000000000000)
#define HOUR_NS (3600 * NS_PER_S)

static unsigned switches = 512, hours = 24;
static int64_t end_ns;

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
		((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

/* ---- the file -------------------------------------------------------------- */

static const uint16_t port_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_OPER_UP};
static uint64_t noise(uint64_t seed)
{
	seed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	seed = (seed ^ seed >> 27) * UINT64_C(0x94d049bb133111eb);
	return seed ^ seed >> 31;
}

static size_t make_poll(struct entities *entities, unsigned device, unsigned poll, struct sample *v)
{
	char name[16], port_name[16];
	size_t n = 0;
	struct sample at = {.t_ns = BEGIN_NS + (int64_t)poll * STEP_S * NS_PER_S + device * 1000003,
		.source = SOURCE_SNMP};

	snprintf(name, sizeof(name), "leaf%u", device);
	for (unsigned port = 0; port < PORTS; port++) {
		snprintf(port_name, sizeof(port_name), "Ethernet%u", port);
		at.entity = entities_intern(entities, name, port_name, PRIO_NONE);
		for (size_t m = 0; m < rw_countof(port_metrics); m++) {
			at.metric = port_metrics[m];
			at.value = 1;
			if (at.metric != M_PORT_OPER_UP)
				at.value = (uint64_t)poll * UINT64_C(123456789012) +
					noise(poll * 7919 + port * 31 + device) % 1000000000;
			v[n++] = at;
		}
		at.entity = entities_intern(entities, name, port_name, 3);
		at.metric = M_PFC_RX_FRAMES;
		at.value =
			(device * 64 + port) % 97 == 0 ? poll * 50 + noise(poll + port) % 40 : 17;
		v[n++] = at;
		at.metric = M_PFC_TX_FRAMES;
		at.value = 3;
		v[n++] = at;
	}
	return n;
}

static int make_file(const char *path)
{
	static struct sample v[PORTS * 8];
	struct entities *entities = entities_new();
	struct store_options o = {.path = path, .replay = true}; /* sealed as it goes */
	struct store *store;
	struct err e = {0};
	uint64_t samples = 0;

	if (db_store_open(&o, entities, &store, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	const double cpu = cpu_s();
	for (unsigned poll = 0; poll < hours * 3600 / STEP_S; poll++) {
		for (unsigned d = 0; d < switches; d++) {
			const size_t n = make_poll(entities, d, poll, v);
			store_samples(store, v, n);
			samples += n;
		}
		if (store_flush(store, &e) < 0) {
			err_print(stderr, &e);
			return 1;
		}
	}
	store_close(store);
	entities_free(entities);
	printf("made: %.1f M samples, %.0f CPU s\n", (double)samples / 1e6, cpu_s() - cpu);
	return 0;
}

/* ---- questions ---------------------------------------------------------------- */

typedef size_t question(struct history *history, struct arena *a);

static size_t ask_range(struct history *history, struct arena *a)
{
	int64_t first_ns;

	return history_range(history, &first_ns, &end_ns, NULL) == 0;
}

static size_t window_of(struct history *history, struct arena *a, const uint16_t *metrics, size_t n,
	int64_t from_ns, int64_t to_ns, uint32_t entity)
{
	struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	struct window window;
	size_t samples = 0;

	if (entity != ENTITY_NONE) {
		spec.entities = &entity;
		spec.n_entities = 1;
	}
	if (history_window(history, a, &spec, from_ns, to_ns, &window, NULL) < 0)
		return 0;
	for (size_t i = 0; i < window.n_series; i++)
		samples += window.series[i].n;
	return samples;
}

static size_t ask_day(struct history *history, struct arena *a)
{
	const uint16_t metric = M_PORT_IN_OCTETS;
	const struct history_filter filter = {.device = "leaf7",
		.port = "Ethernet9",
		.priority = PRIO_NONE,
		.metrics = &metric,
		.n_metrics = 1};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n;

	if (history_match(history, &filter, &ids, &n, NULL) < 0 || n != 1)
		return 0;
	return window_of(history, a, &metric, 1, end_ns - 24 * HOUR_NS, end_ns, ids[0]);
}

static const uint16_t incident_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_OPER_UP,
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_CFG_TRUST, M_QUEUE_DROPS, M_PORT_SPEED_BPS};

static size_t ask_incident(struct history *history, struct arena *a)
{
	const int64_t to_ns = BEGIN_NS + (int64_t)hours * HOUR_NS / 2;

	return window_of(history, a, incident_metrics, rw_countof(incident_metrics),
		to_ns - 600 * NS_PER_S, to_ns, ENTITY_NONE);
}

static size_t ask_pause(struct history *history, struct arena *a)
{
	const int64_t to_ns = BEGIN_NS + (int64_t)hours * HOUR_NS / 2;
	const uint16_t metrics[] = {M_PFC_RX_FRAMES, M_PFC_TX_FRAMES};

	return window_of(history, a, metrics, 2, to_ns - 600 * NS_PER_S, to_ns, ENTITY_NONE);
}

static size_t ask_newest(struct history *history, struct arena *a)
{
	return window_of(history, a, incident_metrics, rw_countof(incident_metrics),
		end_ns - 60 * NS_PER_S, end_ns, ENTITY_NONE);
}

static int take_rollup(void *arg, const struct rollup *rollup)
{
	*(size_t *)arg += 1;
	return 0;
}

static size_t ask_top(struct history *history, struct arena *a)
{
	const uint16_t metric = M_PFC_RX_FRAMES;
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = &metric,
		.n_metrics = 1,
		.from_ns = end_ns - 24 * HOUR_NS,
		.to_ns = end_ns};
	size_t n = 0;

	history_each_rollup(history, &filter, HOUR_NS, take_rollup, &n, NULL);
	return n;
}

static int take_row(void *arg, int n, char *const *values, char *const *names)
{
	*(size_t *)arg += 1;
	return 0;
}

static size_t ask_sql(struct history *history, const char *sql)
{
	size_t n = 0;
	struct err e = {0};

	if (history_sql(history, sql, take_row, &n, &e) < 0)
		err_print(stderr, &e);
	return n;
}

static size_t ask_sql_hour(struct history *history, struct arena *a)
{
	return ask_sql(history,
		arena_printf(a,
			"SELECT device, port, round(max(rate) * 8 / 1e9, 1) AS gbps FROM rates "
			"WHERE "
			"metric = 'port.out_octets' AND t_ns > %lld GROUP BY device, port ORDER BY "
			"gbps "
			"DESC LIMIT 10",
			(long long)(end_ns - HOUR_NS)));
}

static size_t ask_sql_rates(struct history *history, struct arena *a)
{
	return ask_sql(history,
		arena_printf(a,
			"SELECT device, port, round(max * 8 / 1e9, 1) AS gbps FROM "
			"rocewatch_rates('port.out_octets', %lld, %lld) ORDER BY gbps DESC LIMIT "
			"10",
			(long long)(end_ns - HOUR_NS), (long long)end_ns));
}

static size_t ask_sql_day(struct history *history, struct arena *a)
{
	return ask_sql(history,
		arena_printf(a,
			"SELECT t_ns, rate FROM rates WHERE metric = 'port.out_octets' AND device "
			"= 'leaf1' "
			"AND port = 'Ethernet0' AND t_ns > %lld ORDER BY t_ns",
			(long long)(end_ns - 24 * HOUR_NS)));
}

static int take_sample(void *arg, const struct sample *sample)
{
	*(size_t *)arg += 1;
	return 0;
}

static size_t ask_walk(struct history *history, struct arena *a)
{
	struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.from_ns = BEGIN_NS + HOUR_NS / 2,
		.to_ns = BEGIN_NS + HOUR_NS / 2 + 120 * NS_PER_S};
	size_t n = 0;

	history_each_sample(history, &filter, take_sample, &n, NULL);
	return n;
}

static const struct {
	const char *what;
	question *ask;
} questions[] = {
	{"oldest and newest sample", ask_range},
	{"a day of one series", ask_day},
	{"10 minutes of all ports", ask_incident},
	{"10 minutes of pause of all", ask_pause},
	{"the last minute of all", ask_newest},
	{"all samples of 2 minutes", ask_walk},
	{"SQL: an hour of one metric", ask_sql_hour},
	{"SQL: the same, rocewatch_rates", ask_sql_rates},
	{"SQL: a port's day", ask_sql_day},
	{"24 h of pause by hours", ask_top},
};

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_history FILE [HOURS [SWITCHES [QUESTION]]]\n");
		return 2;
	}
	if (argc > 2)
		hours = (unsigned)strtoul(argv[2], NULL, 10);
	if (argc > 3)
		switches = (unsigned)strtoul(argv[3], NULL, 10);
	if (access(argv[1], F_OK) < 0 && make_file(argv[1]) != 0)
		return 1;
	end_ns = BEGIN_NS + (int64_t)hours * HOUR_NS;
	for (size_t i = 0; i < rw_countof(questions); i++) {
		struct history *history;
		struct err e = {0};
		if (argc > 4 && !strstr(questions[i].what, argv[4]))
			continue;
		struct arena *a = arena_new();
		const double cpu = cpu_s();
		const mono_t wall = mono_now();
		if (db_history_open(argv[1], &history, &e) < 0) {
			err_print(stderr, &e);
			return 1;
		}
		const size_t n = questions[i].ask(history, a);
		printf("%-30s %8.1f ms wall %8.1f ms CPU  %zu\n", questions[i].what,
			(double)(mono_now().ns - wall.ns) / 1e6, (cpu_s() - cpu) * 1e3, n);
		history_close(history);
		arena_free(a);
	}
	return 0;
}
