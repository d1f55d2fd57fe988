/* cost_json - the codec of struct cost. */
#include "agent/incident/cost_json.h"

#include <math.h>
#include <stddef.h>
#include "agent/base/cleanup.h"
#include "agent/document/json_value.h"

/* The numbers of a job, by key. */
static const struct cost_number {
	const char *key;
	size_t offset;
} cost_numbers[] = {
	{"base", offsetof(struct cost_job, base)},
	{"now", offsetof(struct cost_job, now)},
	{"loss_ratio", offsetof(struct cost_job, loss_ratio)},
	{"error_ratio", offsetof(struct cost_job, error_ratio)},
	{"share_ratio", offsetof(struct cost_job, share_ratio)},
	{"time_s", offsetof(struct cost_job, time_s)},
	{"octets", offsetof(struct cost_job, octets)},
	{"late_time_s", offsetof(struct cost_job, late_time_s)},
	{"late_octets", offsetof(struct cost_job, late_octets)},
};

static double *cost_number_at(struct cost_job *job, size_t index)
{
	return (double *)((char *)job + cost_numbers[index].offset);
}

json_t *cost_json(const struct cost *cost)
{
	json_t *o = json_object(), *jobs = json_array();
	json_object_set_new(o, "to_ns", json_integer(cost->to_ns));
	json_object_set_new(o, "claim_ratio", json_number_or_null(cost->claim_ratio));
	json_object_set_new(o, "claimed_s", json_number_or_null(cost->claimed_s));
	json_object_set_new(o, "window_ns", json_integer(cost->window_ns));
	for (size_t k = 0; k < cost->n; k++) {
		json_t *j = json_object();
		json_object_set_new(j, "job", json_string_or_null(cost->v[k].job));
		json_object_set_new(j, "onset_ns", json_integer(cost->v[k].onset_ns));
		json_object_set_new(j, "fell", json_boolean(cost->v[k].fell));
		json_object_set_new(j, "at_onset", json_boolean(cost->v[k].at_onset));
		json_object_set_new(j, "by_uplinks", json_boolean(cost->v[k].by_uplinks));
		json_object_set_new(j, "counting", json_boolean(cost->v[k].counting));
		for (size_t i = 0; i < rw_countof(cost_numbers); i++)
			json_object_set_new(j, cost_numbers[i].key,
				json_number_or_null(*cost_number_at(&cost->v[k], i)));
		json_array_append_new(jobs, j);
	}
	json_object_set_new(o, "jobs", jobs);
	return o;
}

struct cost cost_json_parse(const json_t *object)
{
	struct cost c = cost_new();
	const json_t *jobs = json_object_get(object, "jobs"), *j;
	size_t k;
	if (!json_is_array(jobs))
		return c;
	c.to_ns = json_integer_value(json_object_get(object, "to_ns"));
	c.claim_ratio = doc_number(object, "claim_ratio");
	c.claimed_s = doc_number(object, "claimed_s");
	c.window_ns = json_integer_value(json_object_get(object, "window_ns"));
	json_array_foreach (jobs, k, j) {
		struct cost_job *mine =
			cost_job_of(&c, json_string_value(json_object_get(j, "job")));
		mine->onset_ns = json_integer_value(json_object_get(j, "onset_ns"));
		mine->fell = json_is_true(json_object_get(j, "fell"));
		mine->at_onset = json_is_true(json_object_get(j, "at_onset"));
		mine->by_uplinks = json_is_true(json_object_get(j, "by_uplinks"));
		mine->counting = json_is_true(json_object_get(j, "counting"));
		for (size_t i = 0; i < rw_countof(cost_numbers); i++)
			*cost_number_at(mine, i) = doc_number(j, cost_numbers[i].key);
	}
	return c;
}
