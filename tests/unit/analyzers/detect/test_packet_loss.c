/* packet_loss: where packets are lost, by what captures at one, two and three places say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "analyzers/analyzer.h"
#include "config/option.h"
#include "db/model/flow.h"
#include "tests/unit/window_world.h"

static const char yaml[] = "fabric: test\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: leaf3, role: leaf }\n"
			   "  - { name: spine2, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e1\", b: \"host:a:nic\", speed: 100G }\n"
			   "  - { a: \"leaf3:e1\", b: \"host:b:nic\", speed: 100G }\n"
			   "  - { a: \"leaf1:e49\", b: \"spine2:e1\", speed: 100G }\n"
			   "  - { a: \"leaf3:e49\", b: \"spine2:e3\", speed: 100G }\n"
			   "lossless: { priorities: [3], mtu: 4200B }\n"
			   "%s";

struct loss_world {
	struct window_world made;
	struct flow_sample flows[512];
	struct finding_list found;
};

static void loss_world_init(struct loss_world *w, const char *more)
{
	char text[1200];
	memset(w, 0, sizeof(*w));
	snprintf(text, sizeof(text), yaml, more);
	window_world_init(&w->made, text);
}

/* 10.0.0.1 sends to @qp of 10.0.0.2 past that port; @qp 0: the row of totals. */
static struct flow_sample *loss_add(struct loss_world *w, const char *device, const char *port,
	enum flow_dir dir, uint32_t qp, uint64_t data)
{
	struct flow_sample *row = &w->flows[w->made.window.n_flows++];
	*row = (struct flow_sample){
		.entity = entities_intern(w->made.entities, device, port, PRIO_NONE),
		.dir = (uint8_t)dir,
		.sampling = 1,
		.to_ns = 10 * NS_PER_S,
		.total = qp == 0,
		.packets = data,
		.octets = data * 4000,
		.data_packets = data};
	if (qp)
		row->key = (struct flow_key){.family = 4,
			.src = {10, 0, 0, 1},
			.dst = {10, 0, 0, 2},
			.src_port = 50000,
			.dst_qp = qp};
	return row;
}

static void loss_judge(struct loss_world *w)
{
	const struct analyzer *analyzer = analyzer_by_name("packet_loss");
	void *options = arena_alloc(w->made.arena, analyzer->options.size);
	options_defaults(&analyzer->options, w->made.arena, options);
	w->made.window.from_ns = 0;
	w->made.window.to_ns = 30 * NS_PER_S;
	w->made.window.entities = w->made.entities;
	w->made.window.flows = w->flows;
	qsort(w->flows, w->made.window.n_flows, sizeof(*w->flows), flow_order);
	const struct analyzer_in in = {.fabric = w->made.config->fabric,
		.window = &w->made.window,
		.options = options,
		.interval_ns = 10 * NS_PER_S,
		.arena = w->made.arena};
	assert_int_equal(analyzer->run(&in, &w->found), 0);
}

static const struct finding *loss_over(const struct loss_world *w)
{
	const struct finding *over = NULL;
	for (size_t i = 0; i < w->found.n; i++)
		if (w->found.v[i].verdict == FINDING_OVER) {
			assert_null(over); /* one place, one finding */
			over = &w->found.v[i];
		}
	return over;
}

static bool loss_has_reason(const struct finding *f, const char *part)
{
	for (size_t i = 0; i < f->n_reasons; i++)
		if (strstr(f->reasons[i].text, part))
			return true;
	return false;
}

struct loss_sighting {
	const char *device, *port;
	enum flow_dir dir;
	uint64_t before, beyond;
	uint64_t data; /* of each queue pair; 0: 10,000 */
};

static const struct loss_case {
	const char *name;
	struct loss_sighting at[3];
	const char *device, *port, *where; /* NULL: nothing is said */
} cases[] = {
	{"the two ends of a link",
		{{"spine2", "e3", FLOW_DIR_OUT, 0, 40}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "between spine2:e3 and leaf3:e49"},
	{"inside a switch",
		{{"leaf3", "e49", FLOW_DIR_IN, 0, 40}, {"leaf3", "e1", FLOW_DIR_OUT, 40, 0}},
		"leaf3", "e1", "inside leaf3, from e49 to e1"},
	{"the nearer of two places before it",
		{{"leaf1", "e1", FLOW_DIR_IN, 0, 40}, {"spine2", "e3", FLOW_DIR_OUT, 0, 40},
			{"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "between spine2:e3 and leaf3:e49"},
	{"the earlier of two places that miss them",
		{{"leaf1", "e1", FLOW_DIR_IN, 0, 40}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0},
			{"leaf3", "e1", FLOW_DIR_OUT, 41, 0}},
		"leaf3", "e49", "between leaf1:e1 and leaf3:e49"},
	{"no answer passes the first place: it just misses nothing",
		{{"spine2", "e3", FLOW_DIR_OUT, 0, 0}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "between spine2:e3 and leaf3:e49"},
	{"one capture, before it", {{"leaf3", "e49", FLOW_DIR_IN, 40, 0}}, "leaf3", "e49",
		"before leaf3:e49"},
	{"one capture, beyond it", {{"spine2", "e3", FLOW_DIR_OUT, 0, 40}}, "spine2", "e3",
		"beyond spine2:e3"},
	{"beyond two: the later one",
		{{"leaf1", "e1", FLOW_DIR_IN, 0, 41}, {"spine2", "e3", FLOW_DIR_OUT, 0, 40}},
		"spine2", "e3", "beyond spine2:e3"},
	{"a place that misses a tenth of it is clean",
		{{"spine2", "e3", FLOW_DIR_OUT, 4, 0}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "between spine2:e3 and leaf3:e49"},
	{"one that misses more is not",
		{{"spine2", "e3", FLOW_DIR_OUT, 6, 0}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "before leaf3:e49"},
	{"a place that saw nine tenths of it",
		{{"spine2", "e3", FLOW_DIR_OUT, 0, 0, 9000}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "between spine2:e3 and leaf3:e49"},
	{"one that saw less",
		{{"spine2", "e3", FLOW_DIR_OUT, 0, 0, 8999}, {"leaf3", "e49", FLOW_DIR_IN, 40, 0}},
		"leaf3", "e49", "before leaf3:e49"},
	{"a handful", {{"leaf3", "e49", FLOW_DIR_IN, 2, 0}}},
	{"nothing", {{"leaf3", "e49", FLOW_DIR_IN, 0, 0}}},
};

static void test_places(void **state)
{
	for (size_t i = 0; i < rw_countof(cases); i++) {
		const struct loss_case *c = &cases[i];
		struct loss_world w;
		loss_world_init(&w, "");
		for (size_t k = 0; k < rw_countof(c->at) && c->at[k].device; k++) {
			const struct loss_sighting *at = &c->at[k];
			loss_add(&w, at->device, at->port, at->dir, 0, 30000);
			for (uint32_t qp = 1; qp <= 3; qp++) {
				struct flow_sample *row = loss_add(&w, at->device, at->port,
					at->dir, 0x100 + qp, at->data ? at->data : 10000);
				row->lost[FLOW_LOST_BEFORE] = qp < 3 ? at->before / 2 : 0;
				row->missing = row->lost[FLOW_LOST_BEFORE];
				row->lost[FLOW_LOST_BEYOND] = qp < 3 ? at->beyond / 2 : 0;
			}
		}
		loss_judge(&w);
		const struct finding *f = loss_over(&w);
		print_message("%s: %s\n", c->name, f ? f->summary : "-");
		assert_int_equal(f != NULL, c->where != NULL);
		if (f) {
			assert_int_equal(f->cause, CAUSE_PACKET_LOSS);
			assert_string_equal(f->device, c->device);
			assert_string_equal(f->port, c->port);
			assert_non_null(strstr(f->summary, c->where));
			assert_int_equal(f->severity, SEV_CRITICAL); /* 0.2 % */
			assert_int_equal(f->n_flows, 2);
			assert_int_equal(f->flows[0].dst_qp & ~3u, 0x100);
			assert_string_equal(f->flows[0].src, "10.0.0.1");
			assert_string_equal(f->flows[0].dst, "10.0.0.2");
			assert_true(loss_has_reason(f, "1 of the 3 queue pairs"));
			assert_true(loss_has_reason(f, "no counter of these ports"));
		}
		window_world_done(&w.made);
	}
}

/* What one place says with these counts of @lost among @data packets, in a fabric with @more. */
static const struct finding *loss_one(struct loss_world *w, const char *more, enum flow_loss kind,
	uint64_t lost, uint64_t data, uint32_t sampling, uint64_t capture_lost)
{
	loss_world_init(w, more);
	struct flow_sample *total = loss_add(w, "leaf3", "e49", FLOW_DIR_IN, 0, data);
	total->sampling = sampling;
	total->capture_lost = capture_lost;
	struct flow_sample *row = loss_add(w, "leaf3", "e49", FLOW_DIR_IN, 7, data);
	row->sampling = sampling;
	row->lost[kind] = lost;
	loss_judge(w);
	return loss_over(w);
}

static void test_limits(void **state)
{
	static const struct {
		enum flow_loss kind;
		uint64_t lost, data;
		uint32_t sampling;
		int severity; /* -1: nothing is said */
		const char *more, *says;
	} limits[] = {
		{FLOW_LOST_BEFORE, 10, 5000, 1, SEV_CRITICAL, "", "lost before"},
		{FLOW_LOST_BEFORE, 9, 5000, 1, -1, "", NULL}, /* a handful */
		{FLOW_LOST_BEFORE, 10, 100000, 1, SEV_WARNING, "", "lost before"},
		/* of a healthy link: 1 in 3e7 */
		{FLOW_LOST_BEFORE, 10, 300000000, 1, -1, "", NULL},
		{FLOW_LOST_BEFORE, 1000, 5000, 100, -1, "", NULL}, /* a sample knows no gaps */
		{FLOW_LOST_TIMER, 20, 5000, 1, SEV_CRITICAL, "", "lost near leaf3:e49"},
		{FLOW_LOST_ACK, 20, 5000, 1, SEV_CRITICAL, "", "lost near"},
		{FLOW_LOST_READ, 20, 5000, 1, SEV_CRITICAL, "", "lost near"},
		{FLOW_LOST_RNR, 2000, 5000, 1, -1, "", NULL}, /* the receiver was not ready */
		{FLOW_LOST_BEFORE, 1000, 5000, 1, -1,
			"policy: { classes: [{ priority: 3, congestion: mrc, lossless: none }] }\n",
			NULL},
	};
	for (size_t i = 0; i < rw_countof(limits); i++) {
		struct loss_world w;
		const struct finding *f = loss_one(&w, limits[i].more, limits[i].kind,
			limits[i].lost, limits[i].data, limits[i].sampling, 0);
		print_message("%zu: %s\n", i, f ? f->summary : "-");
		assert_int_equal(f ? (int)f->severity : -1, limits[i].severity);
		if (f)
			assert_non_null(strstr(f->summary, limits[i].says));
		window_world_done(&w.made);
	}
}

/* A capture that lost packets itself freezes what is open; one that sees well ends it. */
static void test_verdicts(void **state)
{
	struct loss_world w;
	assert_null(loss_one(&w, "", FLOW_LOST_BEFORE, 0, 5000, 1, 3));
	assert_int_equal(w.found.n, 1);
	assert_int_equal(w.found.v[0].verdict, FINDING_UNKNOWN);
	window_world_done(&w.made);
	assert_null(loss_one(&w, "", FLOW_LOST_BEFORE, 0, 5000, 1, 0));
	assert_int_equal(w.found.n, 1);
	assert_int_equal(w.found.v[0].verdict, FINDING_UNDER);
	window_world_done(&w.made);
	assert_null(loss_one(&w, "", FLOW_LOST_BEFORE, 0, 5000, 50, 0));
	assert_int_equal(w.found.n, 0); /* a sample is no judge */
	window_world_done(&w.made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_verdicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
