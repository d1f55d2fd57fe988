/* spine_imbalance: sums over windows, verdict words, persistence, price. */
#include <errno.h>
#include <math.h>
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
#include "base/arena.h"
#include "agent/answers/ecmp/answer.h"
#include "agent/answers/spine/answer.h"
#include "agent/document/writer.h"

#define WINDOW_NS (60 * NS_PER_S)
#define LINE_BPS 100000000000.0

static struct fabric_job job = {.name = "train", .gpus = 512, .hosts = "*"};
static struct fabric_device leaf = {.name = "leaf1", .role = ROLE_LEAF},
			    spine = {.name = "spine1", .role = ROLE_SPINE};
static struct fabric_device *devices[] = {&leaf, &spine};
static const struct fabric fabric = {.name = "pod",
	.devices = devices,
	.n_devices = 2,
	.jobs = &job,
	.n_jobs = 1,
	.usd_per_gpu_hour = 30,
	.has_cost = true};

static const struct spine_options options = {
	.warn = 0.2, .load_floor = 0.05, .hold = 3, .window_ns = WINDOW_NS};

/* One window of a group of two, at these utilisations; the flows of chance when @flows is given. */
static bool add(struct spine_imbalance *s, const char *device, int window, double a, double b,
	double flows, enum ecmp_verdict verdict)
{
	static const char *const peers[] = {"spine1", "spine2"};
	struct ecmp_member m[2];
	double u[] = {a, b};
	for (int i = 0; i < 2; i++)
		m[i] = (struct ecmp_member){.port = i ? "Ethernet50" : "Ethernet49",
			.peer = peers[i],
			.octets = (uint64_t)(u[i] * LINE_BPS / 8 * 60),
			.speed_bps = (uint64_t)LINE_BPS,
			.utilization_ratio = u[i],
			.rate_bps = u[i] * LINE_BPS,
			.coverage_ratio = 1,
			.link = ECMP_LINK_UP};
	double mean = (a + b) / 2;
	struct ecmp_measure e = {
		.device = device,
		.group = "uplinks",
		.from_ns = window * WINDOW_NS,
		.to_ns = (window + 1) * WINDOW_NS,
		.members = m,
		.n_members = 2,
		.n_known = 2,
		.n_live = 2,
		.hot = b > a,
		.imbalance_ratio = fmax(a, b) / mean - 1,
		.load_ratio = mean,
		.n_eff = flows,
		.hashed = true,
		.coverage_ratio = 1,
		.expected_ratio = isnan(flows) ? NAN : 0.13,
		.expected_p95_ratio = isnan(flows) ? NAN : 0.25,
		.expected_p999_ratio = isnan(flows) ? NAN : 0.41,
		.verdict = verdict,
		.flows_note = isnan(flows) ? "no packets were captured at its members" : NULL,
	};
	if (verdict == ECMP_UNKNOWN || verdict == ECMP_IDLE)
		e.imbalance_ratio = NAN;
	return spine_imbalance_add(s, &e);
}

static void near(const char *what, double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%s: got %.6f, expected %.6f", what, got, want);
}

static double number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	assert_non_null(v); /* shown fields are always there */
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	assert_non_null(v);
	return json_is_string(v) ? json_string_value(v) : NULL;
}

static struct arena *arena; /* of the answers of a test */

static int begin(void **state)
{
	arena = arena_new();
	return 0;
}

static int end(void **state)
{
	arena_free(arena);
	return 0;
}

static struct spine_answer *answer_of(struct spine_imbalance *s)
{
	return spine_answer_make(s, &fabric, 0, 10 * WINDOW_NS, arena);
}

/* As a program reads it. */
static json_t *document(struct spine_imbalance *s)
{
	return shape_json(&spine_answer_shape, answer_of(s));
}

static void sums_and_words(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 10; w++) {
		add(s, "leaf1", w, 0.9, 0.3, 256, ECMP_SKEWED);
		add(s, "leaf2", w, 0.5, 0.5, NAN, ECMP_EVEN);
	}
	json_t *doc = document(s);
	const json_t *g = json_array_get(json_object_get(doc, "groups"), 0),
		     *even = json_array_get(json_object_get(doc, "groups"), 1);
	assert_string_equal(answer_of(s)->summary, "1 of 2 groups out of limits");
	assert_string_equal(text(g, "verdict"), "skewed");
	assert_string_equal(text(g, "persistent_member"), "Ethernet49");
	near("imbalance", number(g, "imbalance_ratio"), 0.5, 1e-9);
	near("(max-min)/mean", number(g, "imbalance_max_minus_min_ratio"), 1.0, 1e-9);
	near("CoV", number(g, "cov_ratio"), 0.5, 1e-9);
	near("Jain", number(g, "jain_ratio"), 0.8, 1e-9);
	near("chance", number(g, "expected_by_chance_ratio"), 0.13, 1e-9);
	near("flows", number(g, "flows_estimate"), 256, 1e-9);
	near("windows", number(g, "windows"), 10, 0);
	near("over", number(g, "windows_over"), 10, 0);
	const json_t *m = json_array_get(json_object_get(g, "members"), 0);
	assert_string_equal(text(m, "port"), "Ethernet49");
	assert_string_equal(text(m, "peer"), "spine1");
	near("utilisation", number(m, "utilization_ratio"), 0.9, 1e-9);
	near("octets", number(m, "octets"), 0.9 * LINE_BPS / 8 * 600, 1);
	/* 0.3 of ten minutes, 512 GPUs at $30 an hour */
	near("cost", number(doc, "usd_total"), 0.3 * 600 / 3600 * 512 * 30, 1e-6);
	assert_string_equal(text(even, "verdict"), "even");
	assert_null(text(even, "persistent_member"));
	assert_true(isnan(number(even, "expected_by_chance_ratio")) &&
		isnan(number(even, "flows_estimate")));
	json_decref(doc);
	spine_imbalance_free(s);
}

static void waiting_is_not_added_up_over_leaves(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 5; w++) {
		add(s, "leaf1", w, 0.9, 0.3, NAN, ECMP_SKEWED);
		add(s, "leaf2", w, 0.8, 0.4, NAN, ECMP_SKEWED);
	}
	json_t *doc = document(s);
	near("all wait for the slowest", number(doc, "wait_s"), 0.3 * 300, 1e-6);
	json_decref(doc);
	spine_imbalance_free(s);
}

/* The sum of eight such rates is rounded up, so that each is 1 - 2^-53 of their mean: the greatest
 * of them is still never below it. */
static void equal_members_are_not_below_their_mean(void **state)
{
	enum { EIGHT = 8 };
	struct ecmp_member m[EIGHT];
	for (size_t i = 0; i < EIGHT; i++)
		m[i] = (struct ecmp_member){
			.port = "Ethernet49", .peer = "spine1", .rate_bps = 5e6 / 7};
	const struct ecmp_measure e = {.device = "leaf1",
		.group = "uplinks",
		.to_ns = WINDOW_NS,
		.members = m,
		.n_members = EIGHT,
		.equal_weights = true,
		.n_eff = NAN,
		.coverage_ratio = 1,
		.verdict = ECMP_EVEN};
	struct spine_imbalance *s = spine_imbalance_new(&options);
	spine_imbalance_add(s, &e);
	const struct spine_group *group = &answer_of(s)->groups[0];
	if (!(group->imbalance_ratio >= 0))
		fail_msg("max/mean-1 of equal members: %g", group->imbalance_ratio);
	spine_imbalance_free(s);
}

struct story {
	const char *what, *verdict;
	const char *windows; /* s skewed, l low entropy, u unlucky, e even, i idle, ? unknown */
	bool out;
	double held; /* sustained_ratio */
};

static void verdicts(void **state)
{
	static const struct story rows[] = {
		{"even", "even", "eeeeeeeeee", false, 0},
		{"idle", "idle", "iiii", false, NAN},
		{"nothing known", "unknown", "????", false, NAN},
		{"unknown is not idle", "unknown", "i?i?", false, NAN},
		{"one spike is not a story", "even", "eeeeseeeee", false, 0},
		{"an incident's worth, then even", "skewed", "eeeeeeeeeessseeeeeeeee", true, 0.4},
		{"idle between does not break it", "skewed", "eeeeeeeeeesisiseeeeeeeee", true, 0.4},
		{"even between does", "even", "eeeeeeeeeesesesseeeeeeee", false, 0},
		{"fewer windows than it has to hold", "skewed", "ss", true, 0.4},
		{"the most frequent word", "low entropy", "lllls", true, 0.4},
		{"luck", "unlucky placement", "uuuuu", true, 0.4},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct spine_imbalance *s = spine_imbalance_new(&options);
		for (int w = 0; rows[i].windows[w]; w++) {
			char c = rows[i].windows[w];
			enum ecmp_verdict v = c == 's' ? ECMP_SKEWED
				: c == 'l'             ? ECMP_LOW_ENTROPY
				: c == 'u'             ? ECMP_UNLUCKY
				: c == 'e'             ? ECMP_EVEN
				: c == 'i'             ? ECMP_IDLE
						       : ECMP_UNKNOWN;
			bool over = v > ECMP_EVEN;
			add(s, "leaf1", w, over ? 0.7 : 0.5, over ? 0.3 : 0.5, NAN, v);
		}
		json_t *doc = document(s);
		const json_t *g = json_array_get(json_object_get(doc, "groups"), 0);
		if (!str_eq(text(g, "verdict"), rows[i].verdict))
			fail_msg("%s: %s", rows[i].what, text(g, "verdict"));
		if (json_is_true(json_object_get(g, "out_of_limits")) != rows[i].out)
			fail_msg("%s: out of limits", rows[i].what);
		const double held = number(g, "sustained_ratio");
		if (isnan(held) != isnan(rows[i].held) || fabs(held - rows[i].held) > 1e-9)
			fail_msg("%s: %.3f held", rows[i].what, held);
		json_decref(doc);
		spine_imbalance_free(s);
	}
}

static void a_place_that_moves_is_not_persistent(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 10; w++)
		add(s, "leaf1", w, w % 2 ? 0.9 : 0.3, w % 2 ? 0.3 : 0.9, NAN, ECMP_SKEWED);
	json_t *doc = document(s);
	assert_null(text(json_array_get(json_object_get(doc, "groups"), 0), "persistent_member"));
	json_decref(doc);
	spine_imbalance_free(s);
}

static void nothing_at_all(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	json_t *doc = document(s);
	assert_int_equal(json_array_size(json_object_get(doc, "groups")), 0);
	assert_non_null(strstr(answer_of(s)->summary, "unknown"));
	assert_string_equal(text(doc, "from"), "1970-01-01T00:00:00.000Z");
	json_decref(doc);
	spine_imbalance_free(s);
}

static char *printed(const void *answer, const struct view *v, enum report_format f)
{
	char *buf = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&buf, &n);
	json_t *frame = json_object();
	assert_int_equal(answer_print(out, frame, answer, v, f, true, false), 0);
	json_decref(frame);
	fclose(out);
	return buf;
}

/* What is just within the limit must not read as if it had reached it; and no data is no missing
 * path. */
static void prints_tenths(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 5; w++)
		add(s, "leaf1", w, 0.599, 0.401, NAN, ECMP_EVEN);
	struct spine_answer *answer = answer_of(s);
	rw_cleanup(freep) char *table = printed(answer, &spine_imbalance_view, FORMAT_TABLE);
	if (!strstr(table, "19.8 %"))
		fail_msg("%s", table);
	answer->groups[0].members[1].link = ECMP_LINK_ABSENT;
	rw_cleanup(freep) char *gap = printed(answer, &spine_imbalance_view, FORMAT_TABLE);
	assert_non_null(strstr(gap, "Ethernet50: no data\n"));
	answer->groups[0].members[1].link = ECMP_LINK_DOWN;
	rw_cleanup(freep) char *down = printed(answer, &spine_imbalance_view, FORMAT_TABLE);
	assert_non_null(strstr(down, "Ethernet50: down (missing path)"));
	spine_imbalance_free(s);
}

static void prints_names(void **state)
{
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 5; w++)
		if (add(s, "leaf1", w, 0.9, 0.3, 31, ECMP_SKEWED)) {
			struct finding_flow f = {.src = "10.3.0.21",
				.dst = "10.7.0.33",
				.src_port = 49152,
				.dst_qp = 0x1a2f,
				.port = "Ethernet49",
				.packets = 7,
				.octets = 4200,
				.burst_bps = 40000000000};
			spine_imbalance_flows(s, &f, 1);
		}
	struct spine_answer *answer = answer_of(s);
	static const char *const wanted[] = {"leaf1", "Ethernet49", "spine1", "skewed", "10.3.0.21",
		"10.7.0.33", "49152", "0x001a2f", "40 Gbit/s", "p99.9",
		"next         rocewatch ecmp collisions", "$"};
	rw_cleanup(freep) char *table = printed(answer, &spine_imbalance_view, FORMAT_TABLE);
	for (size_t i = 0; i < rw_countof(wanted); i++)
		if (!strstr(table, wanted[i]))
			fail_msg("the text does not say '%s':\n%s", wanted[i], table);
	const struct ecmp_heatmap *map = ecmp_heatmap_make(answer, arena);
	const struct ecmp_collisions *collisions = ecmp_collisions_make(answer, arena);
	rw_cleanup(freep) char *heat = printed(map, &ecmp_heatmap_view, FORMAT_TABLE);
	assert_non_null(strstr(heat, "90.0!!"));
	assert_non_null(strstr(heat, "30.0"));
	rw_cleanup(freep) char *csv = printed(collisions, &ecmp_collisions_view, FORMAT_CSV);
	assert_non_null(strstr(csv,
		"leaf1,uplinks,Ethernet49,spine1,10.3.0.21,10.7.0.33,49152,6703,40000000000,7,"
		"4200"));
	spine_imbalance_free(s);
}

/* A fabric in order is one line; idle is not "?"; flows have no decimals; no minus zero. */
static void prints_order(void **state)
{
	static const char *const leaves[] = {"leaf1", "leaf2", "leaf3"};
	struct spine_imbalance *s = spine_imbalance_new(&options);
	for (int w = 0; w < 5; w++) {
		for (size_t i = 0; i < rw_countof(leaves); i++)
			add(s, leaves[i], w, 0.5, 0.5 - 1e-12, 42.9018, ECMP_EVEN);
		add(s, "leaf4", w, 0, 0, NAN, ECMP_IDLE);
	}
	struct spine_answer *answer = answer_of(s);
	const struct ecmp_heatmap *map = ecmp_heatmap_make(answer, arena);
	const struct ecmp_collisions *collisions = ecmp_collisions_make(answer, arena);
	rw_cleanup(freep) char *few = printed(collisions, &ecmp_collisions_view, FORMAT_TABLE);
	assert_memory_equal(few, "no collision: none of 3 busy groups", 35);
	assert_null(strstr(few, "COLLISIONS"));
	rw_cleanup(freep) char *heat = printed(map, &ecmp_heatmap_view, FORMAT_TABLE);
	assert_non_null(strstr(heat, "     idle      idle"));
	assert_null(strchr(heat, '?'));
	assert_null(strstr(heat, "-0.0"));
	rw_cleanup(freep) char *groups = printed(answer, &ecmp_groups_view, FORMAT_TABLE);
	assert_non_null(strstr(groups, " 43 "));
	assert_null(strstr(groups, "42.9018"));
	/* block characters only where the locale has them */
	setenv("LC_ALL", "C", 1);
	rw_cleanup(freep) char *plain = printed(map, &ecmp_heatmap_view, FORMAT_TABLE);
	for (const char *c = plain; *c; c++)
		assert_true((unsigned char)*c < 0x80);
	setenv("LC_ALL", "C.UTF-8", 1);
	rw_cleanup(freep) char *blocks = printed(map, &ecmp_heatmap_view, FORMAT_TABLE);
	assert_non_null(strstr(blocks, "\u2584"));
	unsetenv("LC_ALL");
	spine_imbalance_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_words),
		cmocka_unit_test(waiting_is_not_added_up_over_leaves),
		cmocka_unit_test(equal_members_are_not_below_their_mean),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(a_place_that_moves_is_not_persistent),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(prints_tenths),
		cmocka_unit_test(prints_names),
		cmocka_unit_test(prints_order),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
