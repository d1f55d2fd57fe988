/* Where single values are gone, a query says what answered in their place, and since when. */
#include <errno.h>
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
#include "agent/client/client.h"
#include "agent/answers/query/query.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define HOUR_NS (3600 * NS_PER_S)
#define T0_NS (1700000000LL / 3600 * HOUR_NS)

/* A history of one counter: hours for a day, minutes for two hours, then single values. */
struct tiers {
	struct history history;
	struct entities *entities;
	uint32_t port;
};

static const struct entities *tiers_entities(struct history *history)
{
	return ((struct tiers *)history)->entities;
}

static int tiers_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	*ret = rw_calloc(1, sizeof(**ret));
	**ret = ((struct tiers *)history)->port;
	*ret_n = 1;
	return 0;
}

static int tiers_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	*ret = (struct window){
		.from_ns = from_ns, .to_ns = to_ns, .entities = tiers_entities(history)};
	return 0;
}

static int tiers_samples(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	return 0;
}

static int tiers_rollup(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e)
{
	int rc = 0;
	int64_t to_ns = (rollup_step_of(filter->from_ns + 1, step_ns) + 1) * step_ns;
	for (; to_ns - step_ns < filter->to_ns && rc == 0; to_ns += step_ns) {
		struct rollup rollup = {.from_ns = to_ns - step_ns,
			.to_ns = to_ns,
			.entity = ((struct tiers *)history)->port,
			.metric = M_PORT_OUT_PACKETS,
			.count = 6,
			.numbers = 6,
			.min = 1,
			.max = 3,
			.p99 = 3,
			.sum = 12,
			.intervals = 6,
			.increase = 120,
			.covered_ns = 60 * NS_PER_S,
			.seen_ns = step_ns};
		if (to_ns <= T0_NS + 24 * HOUR_NS)
			rollup.tier = ROLLUP_HOUR;
		else if (to_ns <= T0_NS + 26 * HOUR_NS)
			rollup.tier = ROLLUP_MINUTE;
		rc = fn(arg, &rollup);
	}
	return rc;
}

static int tiers_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	if (ret_first_ns)
		*ret_first_ns = T0_NS;
	*ret_last_ns = T0_NS + 30 * HOUR_NS;
	return 0;
}

static int tiers_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	return -ENOTSUP;
}

static const struct history_ops tiers_ops = {.entities = tiers_entities,
	.match = tiers_match,
	.range = tiers_range,
	.window = tiers_window,
	.each_sample = tiers_samples,
	.each_rollup = tiers_rollup,
	.sql = tiers_sql};

static char *ask_tiers(const struct query_ask *ask, int64_t from_ns, int64_t to_ns)
{
	struct tiers tiers = {.history = {.ops = &tiers_ops}, .entities = entities_new()};
	struct client client = {.history = &tiers.history, .from_ns = from_ns, .to_ns = to_ns};
	char *text;
	size_t n;
	FILE *file = open_memstream(&text, &n);
	struct query_out out = {.format = FORMAT_JSON, .file = file};
	struct err e = {0};
	tiers.port = entities_intern(tiers.entities, "leaf1", "swp1", PRIO_NONE);
	if (query_run(&client, ask, &out, &e) < 0)
		fail_msg("%s", e.text);
	fclose(file);
	entities_free(tiers.entities);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in\n%s", part, text);
}

static void test_says_what_answered(void **state)
{
	const struct query_ask ask = {.metric = "port.out_packets", .step = "1h", .agg = "max"};
	rw_cleanup(freep) char *all = ask_tiers(&ask, T0_NS + 20 * HOUR_NS, T0_NS + 30 * HOUR_NS);
	expect(all, "\"tiers\":[\"raw\",\"minute\",\"hour\"]");
	expect(all, "\"raw_from\":\"2023-11-16T00:00:00.000Z\"");
	expect(all, "\"note\":\"Until 2023-11-16 00:00:00Z from hours");
	rw_cleanup(freep) char *raw = ask_tiers(&ask, T0_NS + 27 * HOUR_NS, T0_NS + 30 * HOUR_NS);
	expect(raw, "\"tiers\":[\"raw\"],\"raw_from\":null,\"note\":null");
}

static void test_says_where_to_look(void **state)
{
	const struct query_ask ask = {.metric = "port.out_packets"};
	rw_cleanup(freep) char *text = ask_tiers(&ask, T0_NS + 20 * HOUR_NS, T0_NS + 22 * HOUR_NS);
	expect(text, "\"rows\":[]");
	expect(text, "Single values of this range are gone; minutes are there: add --step 1m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says_what_answered),
		cmocka_unit_test(test_says_where_to_look),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
