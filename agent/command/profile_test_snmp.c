/*
 * profile_test_snmp - "profile test" over SNMP: polls the device twice. The first poll says which
 * columns answer, the second which counters move and whether they can be right.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/command/profile_test.h"
#include "agent/document/json_value.h"
#include "collectors/snmp/snmp.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define LINE_RATE_MARGIN 1.02 /* clocks of the two readings are not the same */

struct snmp_test {
	struct profile_test test;
	struct snmp_target *target;
	struct smap *speeds; /* port -> bit/s */
	uint64_t polls;
};

/* ---- columns ------------------------------------------------------------- */

static const char *snmp_column_verdict(const struct collector_value *column)
{
	if (column->pending)
		return "not read yet";
	if (column->rows == 0) {
		if (column->fallback)
			return "not needed";
		return "empty";
	}
	if (column->wrong_type)
		return profile_test_wrong(column);
	if (column->no_cell)
		return "no cell size";
	if (column->zero == column->rows)
		return "all zero";
	return "answers";
}

static void snmp_add_column(void *arg, const struct collector_value *column)
{
	struct snmp_test *snmp = arg;
	const char *type = NULL;
	if (*column->type)
		type = column->type;
	json_array_append_new(snmp->test.columns,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s}", "table",
			column->table, "cadence", column->slow ? "slow" : "fast", "oid",
			column->path, "value", column->what, "verdict", snmp_column_verdict(column),
			"rows", (json_int_t)column->rows, "zero", (json_int_t)column->zero,
			"wrong_type", (json_int_t)column->wrong_type, "type",
			json_string_or_null(type), "doc", column->doc));
}

/* ---- two readings of one counter ------------------------------------------ */

static bool snmp_counts_octets(unsigned metric)
{
	return metric == M_PORT_IN_OCTETS || metric == M_PORT_OUT_OCTETS ||
		metric == M_QUEUE_OUT_OCTETS;
}

static bool snmp_counts_pause(unsigned metric)
{
	return metric == M_PFC_RX_PAUSE_NS || metric == M_PFC_TX_PAUSE_NS;
}

static void snmp_judge_rate(struct snmp_test *snmp, const struct sample *sample, double per_s)
{
	struct profile_test *test = &snmp->test;
	const struct entity *entity = entity_get(test->entities, sample->entity);
	uint64_t speed_bps = 0;
	smap_get(snmp->speeds, entity->port, strlen(entity->port), &speed_bps);
	if (snmp_counts_octets(sample->metric) && speed_bps &&
		per_s * 8 > (double)speed_bps * LINE_RATE_MARGIN)
		profile_test_implausible(test, sample, "faster than the line, bit/s", per_s * 8);
	if (snmp_counts_pause(sample->metric) && per_s > (double)NS_PER_S * LINE_RATE_MARGIN)
		profile_test_implausible(test, sample,
			"paused longer than the time between the readings, ns per s", per_s);
}

static void snmp_judge(
	struct snmp_test *snmp, const struct sample *first, const struct sample *second)
{
	if (metric_info(second->metric)->kind != METRIC_COUNTER || second->t_ns <= first->t_ns)
		return;
	if (second->value != first->value)
		snmp->test.n_moved++;
	if (second->flags & SF_RESTART)
		return;
	if (second->value >= first->value) {
		double seconds = (double)(second->t_ns - first->t_ns) / (double)NS_PER_S;
		snmp_judge_rate(snmp, second, (double)(second->value - first->value) / seconds);
	} else if (!(second->flags & SF_WRAP32)) {
		profile_test_implausible(&snmp->test, second, "went back without a restart",
			(double)first->value - (double)second->value);
	}
}

/* ---- the sink ------------------------------------------------------------ */

static void snmp_test_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct snmp_test *snmp = arg;
	snmp->test.n_samples += n;
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t at = profile_test_first(&snmp->test, &samples[i]);
		if (at >= 0 && snmp->polls > 0)
			snmp_judge(snmp, &snmp->test.readings.v[at], &samples[i]);
	}
}

static void snmp_test_on_target(void *arg, const struct target *state)
{
	struct snmp_test *snmp = arg;
	profile_test_target_failed(&snmp->test, state);
	if (state->polls == snmp->polls)
		return;
	snmp->polls = state->polls;
	if (state->polls == 1)
		snmp_target_values(snmp->target, snmp_add_column, snmp);
	if (state->polls >= 2)
		loop_stop(snmp->test.loop);
}

static void snmp_test_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct snmp_test *snmp = arg;
	profile_test_identity(&snmp->test, profile, sysname, descr);
}

static void snmp_test_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct snmp_test *snmp = arg;
	smap_put(snmp->speeds, port, strlen(port), speed_bps);
}

static void snmp_test_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}

static void snmp_test_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}

static void snmp_test_on_limit(void *arg)
{
	struct snmp_test *snmp = arg;
	profile_test_fail(&snmp->test, "no complete poll within the time allowed");
}

static json_t *snmp_test_json(const struct snmp_test *snmp, const char *device)
{
	const struct profile_test *test = &snmp->test;
	const struct target *state = snmp_target_state(snmp->target);
	double p50, p95;
	target_poll_quantiles(state, &p50, &p95);
	profile_test_fallbacks(test->columns);
	return json_pack("{s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:o, s:i}", "target", device,
		"address", state->address, "device", test->identity, "columns", test->columns,
		"implausible", test->implausible, "values", (json_int_t)(test->n_samples / 2),
		"moved", (json_int_t)test->n_moved, "poll_s", json_number_or_null(p50),
		"max_repetitions", (int)snmp_target_state(snmp->target)->max_repetitions);
}

int profile_test_snmp(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e)
{
	struct snmp_test snmp = {0};
	const struct sink sink = {&snmp, snmp_test_on_samples, snmp_test_on_flows,
		snmp_test_on_target, snmp_test_on_device, snmp_test_on_port, snmp_test_on_event};
	int64_t limit_ns = 2 * (run_ns + device->snmp->deadline_ns) + 5 * NS_PER_S;
	int r = profile_test_begin(&snmp.test, run_ns, limit_ns, snmp_test_on_limit, &snmp, e);
	if (r < 0)
		return r;
	snmp.speeds = smap_new();
	snmp_init();
	r = snmp_target_new(
		snmp.test.loop, snmp.test.entities, device, config, &sink, &snmp.target, e);
	if (r < 0) {
		r = -EINVAL;
	} else {
		loop_run(snmp.test.loop);
		if (*snmp.test.reason)
			r = profile_test_error(&snmp.test, device->name, e);
		else
			*ret = snmp_test_json(&snmp, device->name);
		snmp_target_free(snmp.target);
	}
	smap_free(snmp.speeds);
	profile_test_done(&snmp.test);
	return r;
}
