/* collector - the life of a target, and what it tells of its polls. */
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

const char *target_state_name(enum target_state s)
{
	return (size_t)s < rw_countof(state_names) ? state_names[s] : "?";
}

void target_change(
	struct target *t, enum target_state to, mono_t mono, wall_t wall, const char *reason)
{
	enum target_state from = t->state;
	bool was_up = from == TARGET_UP, is_up = to == TARGET_UP;
	char where[160];
	snprintf(where, sizeof(where), "%s", t->device);

	t->state = to;
	if (t->since.ns == 0 || was_up != is_up)
		t->since = wall; /* up or down since then: the tries in between are one outage */
	if (is_up)
		t->reason[0] = '\0';
	else if (reason && *reason)
		snprintf(t->reason, sizeof(t->reason), "%s", reason);

	if (to == TARGET_BACKOFF) {
		complain(&t->complaint, mono, LOG_WARN_, where, "%s: %s -> %s: %s", t->protocol,
			target_state_name(from), target_state_name(to), t->reason);
	} else if (is_up && t->complaint.total > 0) {
		char what[64];
		snprintf(what, sizeof(what), "%s: %s -> up: answers again", t->protocol,
			target_state_name(from));
		complaint_over(&t->complaint, mono, where, what);
	} else if (from != to) {
		log_event(is_up ? LOG_INFO_ : LOG_DEBUG_, where, "%s: %s -> %s%s%s", t->protocol,
			target_state_name(from), target_state_name(to),
			reason && *reason ? ": " : "", reason ? reason : "");
	}
}

void target_polled(struct target *t, double seconds, wall_t wall)
{
	t->poll_s[t->n_poll % TARGET_POLL_HISTORY] = (float)seconds;
	t->n_poll++;
	t->polls++;
	if (t->interval_ns > 0 && t->last_success.ns > 0 && wall.ns > t->last_success.ns) {
		uint64_t intervals =
			(uint64_t)((wall.ns - t->last_success.ns + t->interval_ns / 2) /
				t->interval_ns);
		t->missed += intervals > 1 ? intervals - 1 : 0;
	}
	t->last_success = wall;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

/* quantile - linear between order statistics of @n >= 1 sorted values. */
static double quantile(const float *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;
	return i + 1 < n ? v[i] + (at - (double)i) * ((double)v[i + 1] - v[i]) : v[i];
}

void target_poll_quantiles(const struct target *t, double *ret_p50, double *ret_p95)
{
	float v[TARGET_POLL_HISTORY];
	size_t n = t->n_poll < TARGET_POLL_HISTORY ? t->n_poll : TARGET_POLL_HISTORY;
	for (size_t i = 0; i < n; i++)
		v[i] = t->poll_s[i];
	qsort(v, n, sizeof(*v), by_value);
	*ret_p50 = n ? quantile(v, n, 0.5) : NAN;
	*ret_p95 = n ? quantile(v, n, 0.95) : NAN;
}
