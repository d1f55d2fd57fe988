/* observe: a live window that is observed from its columns is observed as one without them: every
 * field, whatever came: missed polls and rows, rows with their own instants or flags, restarts,
 * wraps, resets, jumps above the line rate, priorities that open, strangers, pools. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "db/series/window_columns.h"
#include "tests/unit/window_world.h"

static const char yaml[] = "fabric: seen\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e0\", b: \"host:h1:rail0\", speed: 100G }\n"
			   "  - { a: \"leaf1:e1\", b: \"spine1:e0\", speed: 400G }\n"
			   "  - { a: \"leaf1:e2\", b: \"spine1:e1\", speed: 10G }\n"
			   "lossless: { priorities: [3] }\n";

/* e4 and e5 are strangers */
static const char *const ports[] = {"e0", "e1", "e2", "e4", "e5"};
static const char *const devices[] = {"leaf1", "spine1"};
static const int priorities[] = {PRIO_NONE, 0, 3, 5};

enum { PORTS = rw_countof(ports), PRIOS = rw_countof(priorities) };
enum { ROWS = rw_countof(devices) * PORTS * PRIOS * METRIC_COUNT };

struct world {
	struct window_world made;
	struct series_memory *memory;
	uint64_t seed;
	uint64_t value[ROWS];
	bool absent[ROWS]; /* this switch never reports it */
	int64_t now_ns;
};

static unsigned draw(struct world *w, unsigned below)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(w->seed >> 33) % below;
}

/* What the series says next; most stand still. */
static void row_moves(struct world *w, uint64_t *value, const struct metric_info *info)
{
	const unsigned kind = draw(w, 40);
	if (info->type == TYPE_F64) {
		if (kind < 5)
			*value = sample_of_f64((double)draw(w, 5) - 3);
		return;
	}
	if (info->kind != METRIC_COUNTER) {
		if (kind < 5)
			*value = draw(w, 3) * 1000;
		return;
	}
	if (kind < 8)
		*value += draw(w, 5000);
	else if (kind == 8)
		*value += UINT64_C(1) << (20 + draw(w, 22));
	else if (kind == 9)
		*value = draw(w, 2); /* a reset */
	else if (kind == 10)
		*value = UINT32_MAX - draw(w, 100);
	else if (kind == 11)
		*value = (uint32_t)(*value + 1000); /* a wrap of 32 bits */
}

static void row_add(struct world *w, size_t row, const char *device, const char *port, int priority,
	uint16_t metric, unsigned odd)
{
	struct sample s = {.t_ns = w->now_ns,
		.entity = entities_intern(w->made.entities, device, port, priority),
		.metric = metric,
		.flags = metric % 7 == 0 ? SF_WRAP32 : 0};
	if (w->absent[row])
		return;
	row_moves(w, &w->value[row], metric_info(metric));
	s.value = w->value[row];
	if (odd == 1 && draw(w, 3) == 0)
		return;
	if (odd == 2)
		s.flags |= SF_RESTART;
	if (odd == 3 && draw(w, 3) == 0)
		s.flags |= SF_SUSPECT;
	if (odd == 4 && draw(w, 3) == 0)
		s.t_ns += draw(w, 900) * NS_PER_MS;
	series_memory_add(w->memory, &s);
}

static bool row_exists(uint16_t metric, const char *port, int priority)
{
	switch (metric_info(metric)->scope) {
	case SCOPE_PRIO: return priority != PRIO_NONE;
	case SCOPE_PORT: return priority == PRIO_NONE;
	case SCOPE_DEVICE: return priority == PRIO_NONE && strcmp(port, ports[0]) == 0;
	}
	return false;
}

static void poll(struct world *w, unsigned odd)
{
	size_t row = 0;
	for (size_t d = 0; d < rw_countof(devices); d++) {
		const bool silent = draw(w, 12) == 0;
		for (size_t p = 0; p < PORTS; p++)
			for (size_t c = 0; c < PRIOS; c++)
				for (size_t m = 0; m < observe_n_metrics; m++, row++) {
					const uint16_t metric = observe_metrics[m];
					const char *port = ports[p];
					if (silent || !row_exists(metric, port, priorities[c]))
						continue;
					if (metric_info(metric)->scope == SCOPE_DEVICE)
						port = m % 2 ? "" : "pool:one";
					row_add(w, row, devices[d], port, priorities[c], metric,
						odd);
				}
	}
}

static void same_number(double a, double b, const char *field)
{
	if (memcmp(&a, &b, sizeof(a)) != 0 && !(isnan(a) && isnan(b)))
		fail_msg("%s: %.17g, from columns %.17g", field, a, b);
}

static void same_amount(const struct amount *a, const struct amount *b, const char *field)
{
	same_number(a->value, b->value, field);
	if (a->covered_ns != b->covered_ns || a->known != b->known || a->alive != b->alive ||
		a->restarted != b->restarted || a->quality != b->quality)
		fail_msg("%s: %d %d %d %d, from columns %d %d %d %d", field, a->known, a->alive,
			a->restarted, a->quality, b->known, b->alive, b->restarted, b->quality);
}

#define SAME_COUNTER(field) same_amount(&a->field, &b->field, #field)
#define SAME_PEAK(field) same_number(a->field, b->field, #field)
#define SAME_MEAN SAME_PEAK
#define SAME_STATE SAME_PEAK
#define SAME_EXP2 SAME_PEAK

static void same_prio(const struct port_prio *a, const struct port_prio *b)
{
	assert_int_equal(a != NULL, b != NULL);
	if (!a)
		return;
	assert_int_equal(a->priority, b->priority);
	assert_int_equal(a->lossless, b->lossless);
#define PRIO(metric, field, kind, ...) SAME_##kind(field);
#include "analyzers/measure/observe.def"
	same_number(a->rx_pause.hi, b->rx_pause.hi, "rx_pause");
	same_number(a->tx_pause.hi, b->tx_pause.hi, "tx_pause");
}

static void same_rate(const struct port_rate *a, const struct port_rate *b)
{
	assert_int_equal(a->octets, b->octets);
	assert_int_equal(a->covered_ns, b->covered_ns);
	same_number(a->rate_bps, b->rate_bps, "rate");
	assert_int_equal(a->read_bps, b->read_bps);
	assert_int_equal(a->capacity_bps, b->capacity_bps);
	same_number(a->coverage_ratio, b->coverage_ratio, "coverage");
	assert_int_equal(a->quality, b->quality);
	assert_int_equal(a->oper, b->oper);
}

static void same_port(const struct port_seen *a, const struct port_seen *b)
{
	assert_string_equal(a->port->name, b->port->name);
	assert_int_equal(a->entity, b->entity);
	assert_int_equal(a->in_known, b->in_known);
	assert_int_equal(a->out_known, b->out_known);
	same_rate(&a->in, &b->in);
	same_rate(&a->out, &b->out);
#define PORT(metric, field, kind, bound) SAME_##kind(field);
#include "analyzers/measure/observe.def"
	for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
		assert_int_equal(a->prio_entity[c], b->prio_entity[c]);
		same_number(a->class_octets[c], b->class_octets[c], "class_octets");
		same_prio(a->prios[c], b->prios[c]);
	}
}

static void same_device(const struct device_seen *a, const struct device_seen *b)
{
	assert_int_equal(a->n_series, b->n_series);
	assert_int_equal(a->newest_ns, b->newest_ns);
	assert_int_equal(a->restarted, b->restarted);
#define DEVICE(metric, field, kind) SAME_##kind(field);
#include "analyzers/measure/observe.def"
}

static const struct observed *look(struct world *w, const struct window *window)
{
	const struct analyzer_in in = {.fabric = w->made.config->fabric,
		.window = window,
		.interval_ns = 10 * NS_PER_S,
		.arena = w->made.arena};
	return observe(&in);
}

static void compare(struct world *w)
{
	const struct window_spec spec = {
		.metrics = observe_metrics, .n_metrics = observe_n_metrics};
	const int64_t to_ns = w->now_ns - (int64_t)draw(w, 15) * NS_PER_S;
	const int64_t from_ns = to_ns - (int64_t)(1 + draw(w, 40)) * NS_PER_S;
	struct window columns, plain;
	arena_reset(w->made.arena);
	window_lent_from_memory(w->memory, w->made.arena, &spec, from_ns, to_ns, &columns);
	assert_non_null(columns.columns);
	window_from_memory(w->memory, w->made.arena, &spec, from_ns, to_ns, &plain);
	assert_null(plain.columns);
	const struct observed *a = look(w, &plain), *b = look(w, &columns);
	assert_int_equal(a->n_ports, b->n_ports);
	assert_int_equal(a->n_prios, b->n_prios);
	for (size_t i = 0; i < a->n_devices; i++)
		same_device(&a->devices[i], &b->devices[i]);
	for (size_t i = 0; i < a->n_ports; i++)
		same_port(&a->ports[i], &b->ports[i]);
	for (size_t i = 0; i < a->n_prios; i++)
		same_prio(a->prios[i], b->prios[i]);
}

static void test_random(void **state)
{
	static struct world w;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		w = (struct world){.seed = seed, .now_ns = 1000 * NS_PER_S};
		window_world_init(&w.made, yaml);
		w.memory = series_memory_new(w.made.entities, 60 * NS_PER_S);
		for (size_t i = 0; i < ROWS; i++)
			w.absent[i] = draw(&w, 3) == 0;
		for (unsigned step = 0; step < 60; step++) {
			w.now_ns += 10 * NS_PER_S;
			if (draw(&w, 15) != 0)
				poll(&w, draw(&w, 3) == 0 ? draw(&w, 5) : 0);
			series_memory_trim(w.memory, w.now_ns);
			compare(&w);
		}
		series_memory_free(w.memory);
		window_world_done(&w.made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
