/* collector - the life of a target, and what it tells of its polls. */
#include "agent/base/str.h"
#include "collectors/target/collector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"

static const char *const state_names[] = {
	[TARGET_IDLE] = "idle",
	[TARGET_STARTING] = "starting",
	[TARGET_UP] = "up",
	[TARGET_BACKOFF] = "backoff",
};

const char *target_state_name(enum target_state state)
{
	if ((size_t)state < rw_countof(state_names))
		return state_names[state];
	return "?";
}

void target_change(struct target *target, enum target_state to, mono_t mono, wall_t wall,
	const struct reason *reason)
{
	enum target_state from = target->state;
	bool was_up = from == TARGET_UP, is_up = to == TARGET_UP;
	char where[160];
	snprintf(where, sizeof(where), "%s", target->device);

	target->state = to;
	if (target->since.ns == 0 || was_up != is_up)
		target->since =
			wall; /* up or down since then: the tries in between are one outage */
	if (is_up) {
		target->reason[0] = '\0';
		target->reason_code = REASON_NONE;
	} else if (reason) {
		snprintf(target->reason, sizeof(target->reason), "%s", reason->text);
		target->reason_code = reason->code;
	}

	if (to == TARGET_BACKOFF) {
		complain(&target->complaint, mono, LOG_WARN_, where, "%s: %s -> %s: %s",
			target->protocol, target_state_name(from), target_state_name(to),
			target->reason);
	} else if (is_up && target->complaint.total > 0) {
		char what[64];
		snprintf(what, sizeof(what), "%s: %s -> up: answers again", target->protocol,
			target_state_name(from));
		complaint_over(&target->complaint, mono, where, what);
	} else if (from != to) {
		log_event(is_up ? LOG_INFO_ : LOG_DEBUG_, where, "%s: %s -> %s%s%s",
			target->protocol, target_state_name(from), target_state_name(to),
			str_if(reason, ": "), reason ? reason->text : "");
	}
}

void target_polled(struct target *target, double seconds, wall_t wall)
{
	target->poll_s[target->n_poll % TARGET_POLL_HISTORY] = (float)seconds;
	target->n_poll++;
	target->polls++;
	if (target->interval_ns > 0 && target->last_success.ns > 0 &&
		wall.ns > target->last_success.ns) {
		uint64_t intervals =
			(uint64_t)((wall.ns - target->last_success.ns + target->interval_ns / 2) /
				target->interval_ns);
		if (intervals > 1)
			target->missed += intervals - 1;
	}
	target->last_success = wall;
}

static int collector_by_value(const void *left, const void *right)
{
	float x = *(const float *)left, y = *(const float *)right;
	return (x > y) - (x < y);
}

/* collector_quantile - linear between order statistics of @n >= 1 sorted values. */
static double collector_quantile(const float *values, size_t n, double value)
{
	double at = value * (double)(n - 1);
	size_t i = (size_t)at;
	if (i + 1 < n)
		return values[i] + (at - (double)i) * ((double)values[i + 1] - values[i]);
	return values[i];
}

void target_poll_quantiles(const struct target *target, double *ret_p50, double *ret_p95)
{
	float v[TARGET_POLL_HISTORY];
	size_t n = target->n_poll < TARGET_POLL_HISTORY ? target->n_poll : TARGET_POLL_HISTORY;
	for (size_t i = 0; i < n; i++)
		v[i] = target->poll_s[i];
	qsort(v, n, sizeof(*v), collector_by_value);
	if (n)
		*ret_p50 = collector_quantile(v, n, 0.5);
	else
		*ret_p50 = NAN;
	if (n)
		*ret_p95 = collector_quantile(v, n, 0.95);
	else
		*ret_p95 = NAN;
}
