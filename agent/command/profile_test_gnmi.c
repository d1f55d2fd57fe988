/*
 * profile_test_gnmi - "profile test" over gNMI: subscribes, waits until every stream of the profile
 * had its first round and the time is over, and reports path by path what came.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/command/profile_test.h"
#include "agent/document/json_value.h"
#include "collectors/gnmi/gnmi.h"
#include "config/config.h"
#include "db/model/metric.h"

struct gnmi_test {
	struct profile_test test;
	struct loop_timer *end; /* runs from the first round on */
	struct gnmi_target *target;
	bool *moved; /* by index of the first readings */
	size_t cap_moved;
	bool up;
};

/* ---- paths --------------------------------------------------------------- */

static const char *gnmi_leaf_verdict(const struct collector_value *leaf)
{
	static const char *const of_stream[] = {[OUTCOME_HAS_NONE] = "has none",
		[OUTCOME_REFUSED] = "refused",
		[OUTCOME_SILENT] = "silent"};
	if (leaf->rows == 0 && leaf->outcome != OUTCOME_FINE)
		return of_stream[leaf->outcome];
	if (leaf->rows == 0)
		return leaf->fallback ? "not needed" : "empty";
	if (leaf->wrong_type)
		return profile_test_wrong(leaf);
	if (leaf->zero == leaf->rows)
		return "all zero";
	return "answers";
}

static json_t *gnmi_word_or_null(const char *text)
{
	if (*text)
		return json_string_or_null(text);
	return json_null();
}

static void gnmi_add_leaf(void *arg, const struct collector_value *leaf)
{
	struct gnmi_test *gnmi = arg;
	json_array_append_new(gnmi->test.columns,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s, s:o}", "table",
			leaf->table, "cadence", leaf->slow ? "slow" : "fast", "how", leaf->how,
			"path", leaf->path, "value", leaf->what, "verdict", gnmi_leaf_verdict(leaf),
			"rows", (json_int_t)leaf->rows, "zero", (json_int_t)leaf->zero,
			"wrong_type", (json_int_t)leaf->wrong_type, "type",
			gnmi_word_or_null(leaf->type), "doc", leaf->doc, "trouble",
			gnmi_word_or_null(leaf->trouble)));
}

/* ---- the sink ------------------------------------------------------------ */

static void gnmi_judge(struct gnmi_test *gnmi, size_t at, const struct sample *sample)
{
	const struct sample *first = &gnmi->test.readings.v[at];
	double value = sample_number(sample->metric, sample->value);
	bool counter = metric_info(sample->metric)->kind == METRIC_COUNTER;
	if (counter && sample->value != first->value && !gnmi->moved[at]) {
		gnmi->moved[at] = true;
		gnmi->test.n_moved++;
	}
	if (sample->flags & SF_SUSPECT)
		profile_test_implausible(&gnmi->test, sample, "faster than can be", value);
	if (counter && sample->value < first->value && !(sample->flags & SF_RESTART))
		profile_test_implausible(&gnmi->test, sample, "went back without a restart", value);
}

static void gnmi_test_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct gnmi_test *gnmi = arg;
	gnmi->test.n_samples += n;
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t at = profile_test_first(&gnmi->test, &samples[i]);
		if (at >= 0) {
			gnmi_judge(gnmi, (size_t)at, &samples[i]);
			continue;
		}
		size_t last = gnmi->test.readings.n - 1;
		rw_grow(gnmi->moved, last, gnmi->cap_moved);
		gnmi->moved[last] = false;
	}
}

static void gnmi_test_on_target(void *arg, const struct target *state)
{
	struct gnmi_test *gnmi = arg;
	if (profile_test_target_failed(&gnmi->test, state))
		return;
	if (state->state == TARGET_UP && !gnmi->up) {
		gnmi->up = true;
		loop_timer_start(gnmi->end, gnmi->test.run_ns, 0);
	}
}

static void gnmi_test_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct gnmi_test *gnmi = arg;
	profile_test_identity(&gnmi->test, profile, sysname, descr);
}

static void gnmi_test_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}

static void gnmi_test_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}

static void gnmi_test_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}

static void gnmi_test_on_end(void *arg)
{
	struct gnmi_test *gnmi = arg;
	loop_stop(gnmi->test.loop);
}

static void gnmi_test_on_limit(void *arg)
{
	struct gnmi_test *gnmi = arg;
	if (gnmi->up)
		loop_stop(gnmi->test.loop);
	else
		profile_test_fail(&gnmi->test, "no stream delivered within the time allowed");
}

static json_t *gnmi_test_json(struct gnmi_test *gnmi, const char *device)
{
	const struct profile_test *test = &gnmi->test;
	const struct target *state = gnmi_target_state(gnmi->target);
	const struct gnmi_target_counts counts = gnmi_target_counts(gnmi->target);
	double p50, p95;
	target_poll_quantiles(state, &p50, &p95);
	gnmi_target_values(gnmi->target, gnmi_add_leaf, gnmi);
	profile_test_fallbacks(test->columns);
	return json_pack("{s:s, s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:o}",
		"target", device, "protocol", "gnmi", "address", state->address, "device",
		test->identity, "columns", test->columns, "implausible", test->implausible,
		"values", (json_int_t)test->n_samples, "series", (json_int_t)test->readings.n,
		"moved", (json_int_t)test->n_moved, "poll_s", json_number_or_null(p50), "messages",
		(json_int_t)counts.messages, "refused", (json_int_t)counts.refused, "unknown_paths",
		(json_int_t)counts.unknown_paths, "unknown_path",
		gnmi_word_or_null(counts.unknown_path));
}

int profile_test_gnmi(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e)
{
	struct gnmi_test gnmi = {0};
	const struct sink sink = {&gnmi, gnmi_test_on_samples, gnmi_test_on_flows,
		gnmi_test_on_target, gnmi_test_on_device, gnmi_test_on_port, gnmi_test_on_event};
	int64_t limit_ns = run_ns + 6 * device->gnmi->timeout_ns;
	int r = profile_test_begin(&gnmi.test, run_ns, limit_ns, gnmi_test_on_limit, &gnmi, e);
	if (r < 0)
		return r;
	gnmi.end = loop_timer_new(gnmi.test.loop, gnmi_test_on_end, &gnmi);
	r = gnmi_target_new(
		gnmi.test.loop, gnmi.test.entities, device, config, &sink, &gnmi.target, e);
	if (r < 0) {
		r = -EINVAL;
	} else {
		loop_run(gnmi.test.loop);
		if (*gnmi.test.reason)
			r = profile_test_error(&gnmi.test, device->name, e);
		else
			*ret = gnmi_test_json(&gnmi, device->name);
		gnmi_target_free(gnmi.target);
	}
	loop_timer_free(gnmi.end);
	free(gnmi.moved);
	profile_test_done(&gnmi.test);
	return r;
}
