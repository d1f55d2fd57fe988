/* collector - changes the state of a target and logs why, and keeps the durations of its polls. */
#include "collectors/target/collector.h"

#include "base/stats.h"

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

/* target_log - an outage is logged when it begins, with growing gaps, and once when it is over. */
static void target_log(
	struct target *target, enum target_state from, mono_t mono, const struct reason *reason)
{
	const enum target_state to = target->state;
	const char *where = target->device;
	if (to == TARGET_BACKOFF) {
		complain(&target->complaint, mono, LOG_WARN_, where, "%s: %s -> %s: %s",
			target->protocol, target_state_name(from), target_state_name(to),
			target->reason);
		return;
	}
	if (to == TARGET_UP && target->complaint.total > 0) {
		char what[64];
		snprintf(what, sizeof(what), "%s: %s -> up: answers again", target->protocol,
			target_state_name(from));
		complaint_over(&target->complaint, mono, where, what);
		return;
	}
	if (from == to)
		return;
	enum log_level level = LOG_DEBUG_;
	if (to == TARGET_UP)
		level = LOG_INFO_;
	log_event(level, where, "%s: %s -> %s%s%s", target->protocol, target_state_name(from),
		target_state_name(to), str_if(reason, ": "), reason ? reason->text : "");
}

void target_change(struct target *target, enum target_state to, mono_t mono, wall_t wall,
	const struct reason *reason)
{
	enum target_state from = target->state;
	const bool was_up = from == TARGET_UP, is_up = to == TARGET_UP;
	target->state = to;
	/* up or down since then: the tries in between are one outage */
	if (target->since.ns == 0 || was_up != is_up)
		target->since = wall;
	if (is_up) {
		target->reason[0] = '\0';
		target->reason_code = REASON_NONE;
	} else if (reason) {
		snprintf(target->reason, sizeof(target->reason), "%s", reason->text);
		target->reason_code = reason->code;
	}

	target_log(target, from, mono, reason);
}

void target_polled(struct target *target, double seconds, mono_t mono, wall_t wall)
{
	target->poll_s[target->n_poll % TARGET_POLL_HISTORY] = (float)seconds;
	target->n_poll++;
	target->polls++;
	/* by the clock that nobody sets: a step of the other one is no time without polls */
	if (target->interval_ns > 0 && target->polled.ns > 0) {
		const int64_t intervals = (mono.ns - target->polled.ns + target->interval_ns / 2) /
			target->interval_ns;
		if (intervals > 1)
			target->missed += (uint64_t)intervals - 1;
	}
	target->polled = mono;
	target->last_success = wall;
}

void target_poll_quantiles(const struct target *target, double *ret_p50, double *ret_p95)
{
	double seconds[TARGET_POLL_HISTORY];
	size_t n = TARGET_POLL_HISTORY;
	if (target->n_poll < n)
		n = target->n_poll;
	for (size_t i = 0; i < n; i++)
		seconds[i] = (double)target->poll_s[i];
	*ret_p50 = stats_quantile(seconds, n, 0.5);
	*ret_p95 = stats_quantile(seconds, n, 0.95);
}
