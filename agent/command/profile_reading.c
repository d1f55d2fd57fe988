/*
 * profile_reading - what a test of a device keeps whatever the protocol: the first reading of each
 * series, implausible values, and who the device says it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/command/profile_test.h"
#include "collectors/target/collector.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define IMPLAUSIBLE_MAX 100

int profile_test_begin(struct profile_test *test, int64_t run_ns, int64_t limit_ns,
	void (*on_limit)(void *arg), void *arg, struct err *e)
{
	*test = (struct profile_test){.run_ns = run_ns};
	int r = loop_new(&test->loop);
	if (r < 0)
		return err_set(e, r, "no event loop: %s", strerror(-r));
	test->entities = entities_new();
	test->columns = json_array();
	test->implausible = json_array();
	profile_test_identity(test, "", "", "");
	test->first = map_new();
	test->limit = loop_timer_new(test->loop, on_limit, arg);
	loop_timer_start(test->limit, limit_ns, 0);
	return 0;
}

void profile_test_done(struct profile_test *test)
{
	if (!test->loop)
		return;
	loop_timer_free(test->limit);
	loop_free(test->loop);
	entities_free(test->entities);
	json_decref(test->columns);
	json_decref(test->implausible);
	json_decref(test->identity);
	map_free(test->first);
	free(test->readings.v);
}

ptrdiff_t profile_test_first(struct profile_test *test, const struct sample *sample)
{
	struct sample_list *list = &test->readings;
	uint64_t key = (uint64_t)sample->entity << 16 | sample->metric, at;
	if (map_get(test->first, key, &at))
		return (ptrdiff_t)at;
	map_put(test->first, key, list->n);
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = *sample;
	return -1;
}

void profile_test_implausible(
	struct profile_test *test, const struct sample *sample, const char *why, double value)
{
	const struct entity *entity = entity_get(test->entities, sample->entity);
	if (json_array_size(test->implausible) >= IMPLAUSIBLE_MAX)
		return;
	json_t *priority = json_null();
	if (entity->priority != PRIO_NONE)
		priority = json_integer(entity->priority);
	json_array_append_new(test->implausible,
		json_pack("{s:s, s:s, s:o, s:s, s:f}", "metric", metric_info(sample->metric)->name,
			"port", entity->port, "priority", priority, "why", why, "value", value));
}

void profile_test_identity(
	struct profile_test *test, const char *profile, const char *sysname, const char *descr)
{
	json_decref(test->identity);
	test->identity = json_pack(
		"{s:s, s:s, s:s}", "profile", profile, "sysname", sysname, "descr", descr);
}

const char *profile_test_wrong(const struct collector_value *value)
{
	if (value->wrong_type < value->rows)
		return "some wrong";
	return "wrong type";
}

static bool column_given(const json_t *columns, const char *value)
{
	const json_t *row;
	size_t i;
	json_array_foreach (columns, i, row)
		if (str_eq(json_string_value(json_object_get(row, "value")), value) &&
			json_integer_value(json_object_get(row, "rows")) > 0)
			return true;
	return false;
}

void profile_test_fallbacks(json_t *columns)
{
	json_t *row;
	size_t i;
	json_array_foreach (columns, i, row) {
		const char *value = json_string_value(json_object_get(row, "value"));
		const char *verdict = json_string_value(json_object_get(row, "verdict"));
		if (str_eq(verdict, "not needed") && !column_given(columns, value))
			json_object_set_new(row, "verdict", json_string("empty"));
	}
}

void profile_test_fail(struct profile_test *test, const char *reason)
{
	snprintf(test->reason, sizeof(test->reason), "%s", reason);
	loop_stop(test->loop);
}

int profile_test_error(const struct profile_test *test, const char *device, struct err *e)
{
	static const char advice[] = ". Try: rocewatch profile test";
	const char *cut = strstr(test->reason, advice);
	int n = (int)strlen(test->reason);
	if (cut)
		n = (int)(cut - test->reason);
	if (strncmp(test->reason, device, strlen(device)) == 0)
		return err_set(e, -EIO, "%.*s", n, test->reason);
	return err_set(e, -EIO, "%s: %.*s", device, n, test->reason);
}

bool profile_test_target_failed(struct profile_test *test, const struct target *target)
{
	if (target->state != TARGET_BACKOFF)
		return false;
	profile_test_fail(test, target->reason);
	return true;
}
