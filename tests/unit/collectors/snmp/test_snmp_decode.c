/* snmp_decode: rows to samples by a profile: names, restarts, sums, conditions, units, queues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_decode.h"
#include "collectors/snmp/snmp_rows.h"
#include "db/model/metric.h"
#include "tests/unit/collectors/snmp/oid_text.h"

/* Tables: "names" 1.1 (1 name, 2 descr, 3 alias, 4 speed Mbps), "counters" 1.2, "queues" 1.3,
 * "levels" 1.4. */
static const char text[] =
	"name: x\ndoc: d\ntc_map: { 0: 0, 1: 3, 2: 3 }\ncell_bytes: 100\n"
	"snmp:\n  port_names: [{ first: 100, last: 199, subtract: 100, name: \"Eth{n}\" }]\n  "
	"tables:\n"
	"    - { name: names, cadence: slow, oid: 1.1, index: [port], columns: [{ column: 1, "
	"attribute: port_name }, { column: 2, attribute: port_descr },\n"
	"        { column: 3, attribute: port_alias }, { column: 4, metric: port.speed_bps, unit: "
	"Mbps, ignore: [0] },\n"
	"        { column: 5, metric: port.speed_bps, fallback: true, ignore: [4294967295] }] }\n"
	"    - { name: counters, cadence: fast, oid: 1.2, index: [port], columns: [{ column: 1, "
	"metric: port.in_octets }, { column: 2, metric: port.in_packets },\n"
	"        { column: 3, metric: port.in_packets }, { column: 9, attribute: discontinuity }, "
	"{ column: 11, metric: port.in_octets, fallback: true },\n"
	"        { column: 8, metric: port.oper_up, equals: 1 }, { column: 12, priority: 3, "
	"metric: pfc.rx_frames }, { column: 13, metric: port.flaps, width: 32 },\n"
	"        { column: 14, metric: port.fcs_errors, width: 64 }, { column: 15, metric: "
	"port.out_octets, unit: cells }] }\n"
	"    - { name: queues, cadence: fast, oid: 1.3, index: [port, type, queue], first_queue: "
	"1, columns: [{ column: 1, metric: queue.drops },\n"
	"        { column: 2, metric: queue.depth_bytes, unit: cells, where: { type: 7 } },\n"
	"        { column: 3, metric: queue.ecn_marked, when: { column: 4, equals: 1 } }, { "
	"column: 5, metric: pfc.rx_pause_ns, unit: us }] }\n"
	"    - { name: levels, cadence: slow, oid: 1.4, index: [port, priority], columns: [{ "
	"column: 1, metric: cfg.pg_headroom_bytes, ignore: [0] },\n"
	"        { column: 2, metric: cfg.pg_headroom_bytes, subtract: true, ignore: [0] }] }\n"
	"    - { name: pools, cadence: fast, oid: 1.5, index: [pool], columns: [{ column: 1, "
	"metric: pool.watermark_bytes, unit: cells }] }\n"
	"    - { name: old queues, cadence: fast, unless: queues, oid: 1.6, index: [port], "
	"columns: "
	"[{ column: 1, priority: 0, metric: queue.drops }] }\n"
	"    - { name: buffers, cadence: fast, oid: 1.7, index: [row], port: { column: 1 }, "
	"columns: [{ column: 2, priority: 3, metric: pg.shared_watermark_bytes, unit: cells }] }\n"
	"    - { name: sensors, cadence: background, oid: 1.8, index: [sensor], port: { oid: "
	"1.9.2, text: \"{port} lane * sensor\", parent: 1.9.4 }, columns:\n"
	"        [{ column: 4, named: \"* RX sensor\", metric: optic.rx_power_dbm, sensor: true, "
	"fold: min, ignore: [0] },\n"
	"        { column: 4, named: \"* heat sensor\", metric: optic.temperature_c, sensor: true, "
	"fold: max }] }\n"
	"    - { name: lanes, cadence: background, oid: 1.10, index: [port, lane], columns: [{ "
	"column: 1, metric: optic.tx_power_dbm, divide: 100, fold: min, ignore: [0] },\n"
	"        { column: 2, metric: optic.rx_power_dbm, text: true, fold: min },\n"
	"        { column: 3, metric: optic.tx_power_dbm, text: true, unit: mw, fold: min }] }\n"
	"    - { name: modules, cadence: background, behind: lanes, oid: 1.12, index: [port], "
	"columns: [{ column: 1, metric: optic.tx_power_dbm, divide: 100, ignore: [0] }] }\n"
	"    - { name: anywhere, cadence: background, oid: 1.11, index: [sensor], port: { column: "
	"1, "
	"text: \"*{port}*\" }, columns: [{ column: 2, metric: optic.temperature_c, fold: max }] "
	"}\n";

static struct profiles *profiles;
static const struct profile *profile;

static int set_up(void **state)
{
	struct err_list errors = {0};
	int rc = profiles_parse(text, strlen(text), "x", &profiles, &errors);
	if (rc < 0)
		err_print(stderr, &errors.v[0]);
	err_list_done(&errors);
	profile = rc == 0 ? profiles_get(profiles, "x") : NULL;
	return rc;
}

static int tear_down(void **state)
{
	profiles_free(profiles);
	return 0;
}

struct value {
	const char *oid;
	enum snmp_type type;
	uint64_t number;
	const char *text;
};

static const struct profile_table *table(const char *name)
{
	for (size_t i = 0; i < profile->n_tables; i++)
		if (strcmp(profile->tables[i]->name, name) == 0)
			return profile->tables[i];
	return NULL;
}

/* rows_of - a table filled from "column.index" values, in any order of columns. */
static struct snmp_rows *rows_of(const char *name, const struct value *v, size_t n)
{
	const struct profile_table *t = table(name);
	struct snmp_oid columns[PROFILE_COLUMNS_MAX], ask[PROFILE_COLUMNS_MAX];
	for (size_t i = 0; i < t->n_columns; i++)
		columns[i] = (struct snmp_oid){t->columns[i].v, t->columns[i].n};
	struct snmp_rows *r = snmp_rows_new(columns, t->n_columns);
	/* one varbind per request and column, as a very small agent would */
	size_t at[PROFILE_COLUMNS_MAX] = {0}, asked;
	while ((asked = snmp_rows_next(r, ask, t->n_columns)) > 0) {
		struct snmp_varbind b[PROFILE_COLUMNS_MAX];
		uint32_t arcs[PROFILE_COLUMNS_MAX][16];
		for (size_t k = 0; k < asked; k++) {
			size_t c = 0;
			while (!snmp_oid_under(ask[k], columns[c]))
				c++;
			b[k] = (struct snmp_varbind){
				.oid = {ask[k].v, ask[k].n}, .type = SNMP_END_OF_MIB};
			for (; at[c] < n; at[c]++) {
				int arcs_n = oid_of_text(v[at[c]].oid, arcs[k], 16);
				struct snmp_oid o = {arcs[k], (size_t)arcs_n};
				if (!snmp_oid_under(o, columns[c]))
					continue;
				b[k] = (struct snmp_varbind){.oid = o,
					.type = v[at[c]].type,
					.number = v[at[c]].number,
					.bytes = (const uint8_t *)v[at[c]].text,
					.n_bytes = v[at[c]].text ? strlen(v[at[c]].text) : 0};
				at[c]++;
				break;
			}
		}
		assert_true(snmp_rows_take(r, b, asked));
	}
	return r;
}
#define ROWS(name, ...)                                                                            \
	rows_of((name), (const struct value[]){__VA_ARGS__},                                       \
		rw_countof(((const struct value[]){__VA_ARGS__})))
#define STR(oid, s)                                                                                \
	{                                                                                          \
		oid, SNMP_STRING, 0, s                                                             \
	}
#define C64(oid, u)                                                                                \
	{                                                                                          \
		oid, SNMP_COUNTER64, u, NULL                                                       \
	}
#define C32(oid, u)                                                                                \
	{                                                                                          \
		oid, SNMP_COUNTER32, u, NULL                                                       \
	}
#define INT(oid, u)                                                                                \
	{                                                                                          \
		oid, SNMP_INTEGER, u, NULL                                                         \
	}

struct fixture {
	struct entities *entities;
	struct snmp_decoder *d;
	struct snmp_sums *sums;
	struct sample_list out;
};

static void fixture_new(struct fixture *f)
{
	*f = (struct fixture){.entities = entities_new()};
	f->sums = snmp_sums_new();
	f->d = snmp_decoder_new(f->entities, "sw", profile, f->sums);
}

static void fixture_done(struct fixture *f)
{
	snmp_decoder_free(f->d);
	snmp_sums_free(f->sums);
	entities_free(f->entities);
	free(f->out.v);
}

static void names(struct fixture *f, struct snmp_rows *r)
{
	snmp_decode_begin(f->d, 0);
	snmp_ports_names(snmp_decode_ports(f->d), table("names"), r);
	snmp_ports_make(snmp_decode_ports(f->d));
	snmp_rows_free(r);
}

static void decode(struct fixture *f, const char *name, struct snmp_rows *r, bool restart)
{
	f->out.n = 0;
	snmp_decode_table(f->d, table(name), r, restart, &f->out);
	snmp_rows_free(r);
}

/* poll - a fast poll without names */
static void poll_counters(struct fixture *f, struct snmp_rows *r, bool restart)
{
	snmp_decode_begin(f->d, 0);
	decode(f, "counters", r, restart);
}

static const struct sample *find(
	const struct fixture *f, const char *port, int priority, unsigned metric)
{
	uint32_t id = entities_find(f->entities, "sw", port, priority);
	const struct sample *found = NULL;
	for (size_t i = 0; id != ENTITY_NONE && i < f->out.n; i++)
		if (f->out.v[i].entity == id && f->out.v[i].metric == metric) {
			assert_null(found); /* one sample a poll of one thing */
			found = &f->out.v[i];
		}
	return found;
}

static void test_names(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f,
		ROWS("names", STR("1.1.1.1", "eth1"), STR("1.1.1.2", "dup"), STR("1.1.1.3", "dup"),
			STR("1.1.1.105", "alias5"), STR("1.1.2.4", "by descr"),
			STR("1.1.3.1", " to\tspine\x01\xff "), INT("1.1.4.1", 400000),
			INT("1.1.4.2", 0), INT("1.1.5.1", 1), INT("1.1.5.2", 4294967295),
			INT("1.1.5.3", 1000), INT("1.1.5.9", 10)));
	static const struct {
		uint32_t ifindex;
		const char *name, *alias;
		uint64_t speed;
	} want[] = {
		{1, "eth1", "to spine ?", 400000000000},
		{2, "dup", "", 0},
		{3, "dup@3", "", 1000},
		{4, "by descr", "", 0},
		{9, "9", "", 10},
		{105, "Eth5", "alias5", 0},
	};
	assert_int_equal(snmp_ports_count(snmp_decode_ports(f.d)), rw_countof(want));
	for (size_t i = 0; i < rw_countof(want); i++) {
		const struct snmp_port *p = NULL;
		for (size_t k = 0; k < rw_countof(want); k++)
			if (snmp_ports_at(snmp_decode_ports(f.d), k)->ifindex == want[i].ifindex)
				p = snmp_ports_at(snmp_decode_ports(f.d), k);
		assert_non_null(p);
		assert_string_equal(p->name, want[i].name);
		assert_string_equal(p->alias, want[i].alias);
		assert_int_equal(p->speed_bps, want[i].speed);
	}
	fixture_done(&f);
}

static void test_counters(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "b")));
	poll_counters(&f,
		ROWS("counters", C64("1.2.1.1", 10), C64("1.2.2.1", 3), C64("1.2.3.1", 4),
			INT("1.2.8.1", 1), INT("1.2.8.2", 2), C32("1.2.11.1", 99),
			C32("1.2.11.2", 7), C64("1.2.12.1", 5), INT("1.2.13.1", 6),
			C64("1.2.1.77", 1)),
		false);
	/* not the fallback */
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->value, 10);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->value, 7);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_WRAP32);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->value, 7); /* added up */
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_OPER_UP)->value, 1);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_OPER_UP)->value, 0);
	assert_int_equal(find(&f, "a", 3, M_PFC_RX_FRAMES)->value, 5);
	/* the profile says 32 bits */
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_FLAPS)->flags, SF_WRAP32);
	assert_int_equal(snmp_decode_stats(f.d)->unknown_ports, 1);
	/* a contributor goes away: the sum is another counter now */
	poll_counters(&f, ROWS("counters", C64("1.2.1.1", 11), C64("1.2.2.1", 3)), false);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->flags, SF_RESTART);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	/* the better column comes: so is this */
	poll_counters(&f, ROWS("counters", C64("1.2.1.2", 7), C64("1.2.2.1", 3)), false);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_RESTART);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->flags, 0);
	/* restart of the device: counters are flagged, states are not */
	poll_counters(&f, ROWS("counters", C64("1.2.1.1", 1), INT("1.2.8.1", 1)), true);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_RESTART);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_OPER_UP)->flags, 0);
	/* strings where numbers belong are no values */
	poll_counters(&f, ROWS("counters", STR("1.2.1.1", "many")), false);
	assert_null(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS));
	assert_int_equal(snmp_decode_stats(f.d)->wrong_types, 1);
	fixture_done(&f);
}

static void test_discontinuity(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "b")));
	poll_counters(&f,
		ROWS("counters", C64("1.2.1.1", 10), C64("1.2.1.2", 10), INT("1.2.9.1", 0),
			INT("1.2.9.2", 0)),
		false);
	poll_counters(&f,
		ROWS("counters", C64("1.2.1.1", 11), C64("1.2.1.2", 11), INT("1.2.9.1", 0),
			INT("1.2.9.2", 500)),
		false);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_RESTART);
	/* the other tables of that poll too */
	decode(&f, "queues", ROWS("queues", C64("1.3.1.2.1.1", 1)), false);
	assert_int_equal(find(&f, "b", 0, M_QUEUE_DROPS)->flags, SF_RESTART);
	poll_counters(&f, ROWS("counters", C64("1.2.1.2", 12), INT("1.2.9.2", 500)), false);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	fixture_done(&f);
}

/* Interfaces come, go and change their index while we poll. */
static void test_moving_ports(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "b")));
	assert_true(snmp_ports_at(snmp_decode_ports(f.d), 0)->changed);
	snmp_ports_reported(snmp_decode_ports(f.d));
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "c"), STR("1.1.1.3", "b")));
	assert_false(snmp_ports_at(snmp_decode_ports(f.d), 0)->changed);
	assert_true(snmp_ports_at(snmp_decode_ports(f.d), 1)->changed);
	decode(&f, "counters",
		ROWS("counters", C64("1.2.1.1", 1), C64("1.2.1.2", 2), C64("1.2.1.3", 3)), false);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	assert_int_equal(find(&f, "c", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_RESTART);
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->value, 3);
	/* not a delta against what index 2 counted */
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, SF_RESTART);
	names(&f, ROWS("names", STR("1.1.1.3", "b")));
	decode(&f, "counters", ROWS("counters", C64("1.2.1.1", 1), C64("1.2.1.3", 4)), false);
	assert_null(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS));
	assert_int_equal(find(&f, "b", PRIO_NONE, M_PORT_IN_OCTETS)->flags, 0);
	fixture_done(&f);
}

/* More ports than a switch may show: those that are known go on, wherever they stand. */
static void test_too_many_ports(void **state)
{
	struct fixture f;
	const char *device;
	fixture_new(&f);
	entities_limit(f.entities, &(struct entity_limits){.ports = 3});
	names(&f, ROWS("names", STR("1.1.1.8", "a"), STR("1.1.1.9", "b")));
	assert_int_equal(entities_refused(f.entities, &device), 0);
	names(&f,
		ROWS("names", STR("1.1.1.1", "x1"), STR("1.1.1.2", "x2"), STR("1.1.1.3", "x3"),
			STR("1.1.1.8", "a"), STR("1.1.1.9", "b")));
	assert_int_equal(snmp_ports_count(snmp_decode_ports(f.d)), 3);
	assert_non_null(snmp_ports_find(snmp_decode_ports(f.d), 1));
	assert_null(snmp_ports_find(snmp_decode_ports(f.d), 2));
	assert_non_null(snmp_ports_find(snmp_decode_ports(f.d), 8));
	assert_non_null(snmp_ports_find(snmp_decode_ports(f.d), 9));
	assert_int_equal(entities_refused(f.entities, &device), 2);
	/* what the switch shows no more makes room, and its names are not held */
	names(&f, ROWS("names", STR("1.1.1.2", "x2"), STR("1.1.1.9", "b")));
	assert_non_null(snmp_ports_find(snmp_decode_ports(f.d), 2));
	const struct entity_release how = {.idle_ns = 1};
	entities_tick(f.entities, 1);
	entities_tick(f.entities, 10);
	entities_release(f.entities, &how);
	assert_int_equal(entities_find(f.entities, device, "a", PRIO_NONE), ENTITY_NONE);
	assert_int_not_equal(entities_find(f.entities, device, "b", PRIO_NONE), ENTITY_NONE);
	fixture_done(&f);
}

static void test_queues(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a")));
	decode(&f, "queues",
		ROWS("queues", C64("1.3.1.1.7.0", 1000), C64("1.3.1.1.7.1", 1),
			C64("1.3.1.1.7.2", 10), C64("1.3.1.1.7.3", 100), C64("1.3.1.1.7.9", 5),
			C64("1.3.1.1.8.2", 20), INT("1.3.2.1.7.1", 3), INT("1.3.2.1.8.1", 9),
			C64("1.3.3.1.7.1", 0), C64("1.3.3.1.7.2", 40), INT("1.3.4.1.7.1", 2),
			INT("1.3.4.1.7.2", 1), C64("1.3.5.1.7.1", 2)),
		false);
	/* queue 1 is the first one */
	assert_int_equal(find(&f, "a", 0, M_QUEUE_DROPS)->value, 1);
	/* queues 1 and 2 by tc_map, both types */
	assert_int_equal(find(&f, "a", 3, M_QUEUE_DROPS)->value, 130);
	/* 0 is the sum of all: neither a queue nor the port's */
	assert_null(find(&f, "a", PRIO_NONE, M_QUEUE_DROPS));
	/* unmapped, not dropped */
	assert_int_equal(find(&f, "a#q8", PRIO_NONE, M_QUEUE_DROPS)->value, 5);
	/* cells of 100 bytes, type 7 only */
	assert_int_equal(find(&f, "a", 0, M_QUEUE_DEPTH)->value, 300);
	/* not counted there: unknown, not zero */
	assert_null(find(&f, "a", 0, M_QUEUE_ECN_MARKED));
	assert_int_equal(find(&f, "a", 3, M_QUEUE_ECN_MARKED)->value, 40);
	assert_int_equal(find(&f, "a", 0, M_PFC_RX_PAUSE_NS)->value, 2000);
	snmp_decode_cell_reported(f.d, 200); /* the device knows better than the profile */
	decode(&f, "queues", ROWS("queues", INT("1.3.2.1.7.1", 3)), false);
	assert_int_equal(find(&f, "a", 0, M_QUEUE_DEPTH)->value, 600);
	decode(&f, "pools", ROWS("pools", INT("1.5.1.4", 2)), false);
	assert_int_equal(find(&f, "pool:4", PRIO_NONE, M_POOL_WATERMARK)->value, 400);
	fixture_done(&f);
}

/* A counter wraps at 2^32 where its type or the profile says so, and never when it is scaled. */
static void test_wraps(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a")));
	poll_counters(&f,
		ROWS("counters", C32("1.2.1.1", 5), C32("1.2.13.1", 5), C32("1.2.14.1", 5),
			C32("1.2.15.1", 5)),
		false);
	assert_true(find(&f, "a", PRIO_NONE, M_PORT_IN_OCTETS)->flags & SF_WRAP32);
	assert_true(find(&f, "a", PRIO_NONE, M_PORT_FLAPS)->flags & SF_WRAP32);
	assert_false(find(&f, "a", PRIO_NONE, M_PORT_FCS_ERRORS)->flags & SF_WRAP32);
	assert_false(find(&f, "a", PRIO_NONE, M_PORT_OUT_OCTETS)->flags & SF_WRAP32);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_OUT_OCTETS)->value, 500);
	fixture_done(&f);
}

/* The sum of two 32-bit counters is told as it is, and is a sum of 32 bits when one of them wraps.
 */
static void test_wrapping_sum(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a")));
	poll_counters(&f, ROWS("counters", C32("1.2.2.1", 4294967284), C32("1.2.3.1", 12)), false);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->value, 4294967296);
	assert_true(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->flags & SF_WRAP32);
	poll_counters(&f, ROWS("counters", C32("1.2.2.1", 8), C32("1.2.3.1", 15)), false);
	assert_int_equal(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->value, 23);
	assert_true(find(&f, "a", PRIO_NONE, M_PORT_IN_PACKETS)->flags & SF_WRAP32);
	fixture_done(&f);
}

/* There are eight priorities; a row of a ninth is of nobody. */
static void test_priorities(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a")));
	decode(&f, "levels",
		ROWS("levels", INT("1.4.1.1.7", 9), INT("1.4.1.1.8", 9), INT("1.4.2.1.7", 2),
			INT("1.4.2.1.8", 2)),
		false);
	assert_int_equal(f.out.n, 1);
	assert_int_equal(find(&f, "a", 7, M_CFG_PG_HEADROOM)->value, 7);
	fixture_done(&f);
}

static void test_difference(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a")));
	decode(&f, "levels",
		ROWS("levels", INT("1.4.1.1.3", 100), INT("1.4.1.1.4", 100), INT("1.4.1.1.5", 0),
			INT("1.4.1.1.9", 1), INT("1.4.2.1.3", 40), INT("1.4.2.1.4", 0)),
		false);
	assert_int_equal(find(&f, "a", 3, M_CFG_PG_HEADROOM)->value, 60);
	assert_null(find(&f, "a", 4, M_CFG_PG_HEADROOM)); /* half a difference is none */
	assert_null(find(&f, "a", 5, M_CFG_PG_HEADROOM));
	assert_int_equal(f.out.n, 1);
	fixture_done(&f);
}

/* Rows with an index of their own: the name in a column says which port, never the number of the
 * row. */
static void test_join_by_name(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f,
		ROWS("names", STR("1.1.1.4", "swp1"), STR("1.1.1.5", "swp2"),
			STR("1.1.1.105", "p5"), STR("1.1.2.105", "front five")));
	decode(&f, "buffers",
		ROWS("buffers", STR("1.7.1.1", "swp1"), C64("1.7.2.1", 77), STR("1.7.1.4", "swp2"),
			C64("1.7.2.4", 3), STR("1.7.1.5", "p5"), C64("1.7.2.5", 5),
			STR("1.7.1.6", "swp9"), C64("1.7.2.6", 9), C64("1.7.2.7", 10)),
		false);
	assert_int_equal(f.out.n, 3);
	assert_int_equal(find(&f, "swp1", 3, M_PG_SHARED_WATERMARK)->value, 7700);
	assert_int_equal(find(&f, "swp2", 3, M_PG_SHARED_WATERMARK)->value, 300);
	assert_int_equal(find(&f, "Eth5", 3, M_PG_SHARED_WATERMARK)->value, 500);
	/* nothing is dropped in silence: swp9, and the row without a name */
	assert_int_equal(snmp_decode_stats(f.d)->strangers, 2);
	fixture_done(&f);
}

#define SENSOR(i, kind, scale, precision, status, value)                                           \
	INT("1.8.1." i, kind), INT("1.8.2." i, scale), INT("1.8.3." i, precision),                 \
		INT("1.8.5." i, status), INT("1.8.4." i, (uint64_t)(int64_t)(value))

/* Sensors by their text, or by the text of what contains them; dBm as it is, watts as dBm; the
 * weakest lane counts; 0 is ignored where the profile says so; a power supply is nobody's. */
static void test_join_sensors(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f,
		ROWS("names", STR("1.1.1.1", "Eth 1/1"), STR("1.1.1.2", "Eth1/2"),
			STR("1.1.1.3", "lane 1 RX")));
	decode(&f, "sensors",
		ROWS("sensors", STR("1.9.2.1", "chassis"), STR("1.9.2.2", "Eth1/2"),
			STR("1.9.2.3", "transceiver"), INT("1.9.4.3", 2),
			STR("1.9.2.10", "Eth 1/1 lane 1 RX sensor"),
			STR("1.9.2.11", "Eth 1/1 lane 2 RX sensor"),
			STR("1.9.2.12", "Eth 1/1 lane 3 RX sensor"),
			STR("1.9.2.13", "Eth 1/1 lane 1 heat sensor"),
			STR("1.9.2.20", "lane 1 RX sensor"), INT("1.9.4.20", 3),
			STR("1.9.2.30", "supply heat sensor"), INT("1.9.4.30", 1),
			INT("1.9.4.1", 30), SENSOR("10", 14, 8, 0, 1, -2862),
			SENSOR("11", 14, 8, 0, 1, -33010), SENSOR("12", 14, 8, 0, 1, 0),
			SENSOR("13", 8, 9, 1, 1, 258), SENSOR("20", 6, 8, 4, 1, 6318),
			SENSOR("30", 8, 9, 0, 1, 40), SENSOR("40", 6, 9, 0, 1, 300)),
		false);
	assert_int_equal(f.out.n, 3);
	const struct sample *rx = find(&f, "Eth 1/1", PRIO_NONE, M_OPTIC_RX_POWER);
	assert_float_equal(sample_f64(rx->value), -33.01, 1e-9);
	const struct sample *heat = find(&f, "Eth 1/1", PRIO_NONE, M_OPTIC_TEMPERATURE);
	assert_float_equal(sample_f64(heat->value), 25.8, 1e-9);
	rx = find(&f, "Eth1/2", PRIO_NONE, M_OPTIC_RX_POWER);
	assert_float_equal(sample_f64(rx->value), -1.99420, 1e-4);
	assert_int_equal(snmp_decode_stats(f.d)->strangers, 1);
	assert_string_equal(snmp_decode_stats(f.d)->stranger, "supply heat sensor");
	fixture_done(&f);
}

/* Lanes are rows: the weakest one that can be read is the port's, not their sum. */
static void test_lanes(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "et-0/0/0")));
	decode(&f, "lanes",
		ROWS("lanes", INT("1.10.1.1.0", (uint64_t)-250), INT("1.10.1.1.1", (uint64_t)-312),
			INT("1.10.1.1.2", 0), INT("1.10.1.1.3", 120)),
		false);
	const struct sample *tx = find(&f, "et-0/0/0", PRIO_NONE, M_OPTIC_TX_POWER);
	assert_float_equal(sample_f64(tx->value), -3.12, 1e-9);
	fixture_done(&f);
}

/* What the better table told of a port holds; of other ports, and once it tells no more, the other
 * table's. */
static void test_behind(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "b")));
	for (int again = 0; again < 2; again++) {
		if (again == 0)
			decode(&f, "lanes", ROWS("lanes", INT("1.10.1.1.0", (uint64_t)-250)),
				false);
		else
			decode(&f, "lanes", ROWS("lanes", INT("1.10.1.1.0", 0)), false);
		decode(&f, "modules",
			ROWS("modules", INT("1.12.1.1", (uint64_t)-100),
				INT("1.12.1.2", (uint64_t)-120)),
			false);
		assert_int_equal(f.out.n, 1 + again);
		const struct sample *b = find(&f, "b", PRIO_NONE, M_OPTIC_TX_POWER);
		assert_float_equal(sample_f64(b->value), -1.2, 1e-9);
		assert_int_equal(find(&f, "a", PRIO_NONE, M_OPTIC_TX_POWER) != NULL, again);
	}
	fixture_done(&f);
}

/* Numbers as text; what is no number is no value. */
static void test_text_numbers(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "a"), STR("1.1.1.2", "b")));
	decode(&f, "lanes",
		ROWS("lanes", STR("1.10.2.1.0", "-2.34"), STR("1.10.2.1.1", " -3.5 "),
			STR("1.10.2.1.2", "N/A"), STR("1.10.2.1.3", ""), STR("1.10.2.1.4", "1-2"),
			STR("1.10.2.2.0", "nan"), STR("1.10.2.2.1", "."), INT("1.10.2.2.2", 4),
			STR("1.10.3.2.1", "0.5012"), STR("1.10.3.2.2", "0.00")),
		false);
	assert_int_equal(f.out.n, 2);
	const struct sample *rx = find(&f, "a", PRIO_NONE, M_OPTIC_RX_POWER);
	assert_float_equal(sample_f64(rx->value), -3.5, 1e-9);
	rx = find(&f, "b", PRIO_NONE, M_OPTIC_TX_POWER);
	assert_float_equal(sample_f64(rx->value), -3.0, 1e-3);
	assert_int_equal(snmp_decode_stats(f.d)->wrong_types, 1);
	fixture_done(&f);
}

/* A name anywhere in a text: whole words, the longest, several words; a bare number is none. */
static void test_names_in_texts(void **state)
{
	static const struct {
		const char *text, *port; /* NULL: none */
	} texts[] = {
		{"Ethernet1/1 Lane 1 Rx", "Ethernet1/1"},
		{"sensor of fortyGigE 1/50", "fortyGigE 1/50"},
		{"sensor of fortyGigE 1/500", "fortyGigE"},
		{"Lane 1 of slot 2", NULL},
		{"Ethernet1/10", NULL},
		{"xEthernet1/1", NULL},
		{"", NULL},
		{"a b c d e f g h Ethernet1/1 i", "Ethernet1/1"},
	};
	struct fixture f;
	fixture_new(&f);
	names(&f,
		ROWS("names", STR("1.1.1.1", "1"), STR("1.1.1.2", "Ethernet1/1"),
			STR("1.1.1.3", "fortyGigE"), STR("1.1.1.4", "fortyGigE 1/50")));
	for (size_t i = 0; i < rw_countof(texts); i++) {
		decode(&f, "anywhere",
			ROWS("anywhere", STR("1.11.1.7", texts[i].text), INT("1.11.2.7", 40)),
			false);
		if (f.out.n != (texts[i].port != NULL))
			fail_msg("'%s': %zu samples", texts[i].text, f.out.n);
		if (texts[i].port)
			assert_non_null(find(&f, texts[i].port, PRIO_NONE, M_OPTIC_TEMPERATURE));
	}
	fixture_done(&f);
}

/* A table that stands in for another one counts other things: no difference is taken between the
 * two. */
static void test_older_table(void **state)
{
	struct fixture f;
	fixture_new(&f);
	names(&f, ROWS("names", STR("1.1.1.1", "eth1")));
	decode(&f, "queues", ROWS("queues", C64("1.3.1.1.7.1", 1000)), false);
	assert_int_equal(find(&f, "eth1", 0, M_QUEUE_DROPS)->flags & SF_RESTART, 0);
	decode(&f, "old queues", ROWS("old queues", C64("1.6.1.1", 5)), false);
	assert_true(find(&f, "eth1", 0, M_QUEUE_DROPS)->flags & SF_RESTART);
	decode(&f, "old queues", ROWS("old queues", C64("1.6.1.1", 6)), false);
	assert_int_equal(find(&f, "eth1", 0, M_QUEUE_DROPS)->flags & SF_RESTART, 0);
	fixture_done(&f);
}

static void test_needed(void **state)
{
	const struct profile_table *t = table("counters");
	bool want[PROFILE_COLUMNS_MAX];
	struct snmp_rows *r =
		ROWS("counters", C64("1.2.1.1", 10), C32("1.2.11.1", 99), INT("1.2.8.1", 1));
	/* in_octets and oper_up: the 32-bit stand-in is not needed */
	assert_int_equal(snmp_decode_needed(t, r, want), 2);
	snmp_rows_free(r);
	r = ROWS("counters", C64("1.2.1.1", 10), C32("1.2.11.1", 99), C32("1.2.11.2", 99));
	assert_int_equal(snmp_decode_needed(t, r, want), 2); /* it is, for port 2 */
	snmp_rows_free(r);
}

static void test_text(void **state)
{
	static const struct {
		const char *what, *in, *out;
	} rows[] = {
		{"plain", "eth0", "eth0"},
		{"blanks around", "  eth0 \n", "eth0"},
		{"control characters",
			"a\tb\x7f"
			"c",
			"a b c"},
		{"UTF-8", "caf\xc3\xa9", "caf\xc3\xa9"},
		{"latin-1", "caf\xe9", "caf?"},
		{"overlong", "\xc0\xaf", "??"},
		{"surrogate", "\xed\xa0\x80", "???"},
		{"empty", "", ""},
		{"cut UTF-8", "x\xe2\x82", "x??"},
	};
	char buf[32], small[4];
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (strcmp(snmp_text_clean(buf, sizeof(buf), (const uint8_t *)rows[i].in,
				   strlen(rows[i].in)),
			    rows[i].out) != 0)
			fail_msg("%s: '%s'", rows[i].what, buf);
	/* never half a character */
	assert_string_equal(
		snmp_text_clean(small, sizeof(small), (const uint8_t *)"ab\xc3\xa9", 4), "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_discontinuity),
		cmocka_unit_test(test_moving_ports),
		cmocka_unit_test(test_too_many_ports),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_wrapping_sum),
		cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_join_by_name),
		cmocka_unit_test(test_join_sensors),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_text_numbers),
		cmocka_unit_test(test_names_in_texts),
		cmocka_unit_test(test_older_table),
		cmocka_unit_test(test_needed),
		cmocka_unit_test(test_text),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
