/* gnmi_time - see the header. */
#include "collectors/gnmi/gnmi_time.h"

#include "agent/base/clock.h"

#define AHEAD_NS (1 * NS_PER_S)
#define AHEAD_FOR_NS (600 * NS_PER_S)
#define PERIOD_LEAST_NS (10 * NS_PER_S)

static void lag_note(struct gnmi_time *t, int64_t lag, int64_t arrival_ns)
{
	int64_t length =
		2 * t->interval_ns > PERIOD_LEAST_NS ? 2 * t->interval_ns : PERIOD_LEAST_NS;
	if (arrival_ns - t->period_ns >= length || arrival_ns < t->period_ns) {
		t->has_before = t->has_least && t->period_ns != 0;
		t->before_ns = t->least_ns;
		t->period_ns = arrival_ns;
		t->has_least = false;
	}
	if (!t->has_least || lag < t->least_ns)
		t->least_ns = lag;
	t->has_least = true;
}

int64_t gnmi_time_take(struct gnmi_time *t, const struct gnmi_update *u, int64_t arrival_ns)
{
	if (u->clock == GNMI_CLOCK_MISSING || u->clock == GNMI_CLOCK_EARLY) {
		t->odd++;
		return arrival_ns;
	}
	const int64_t lag = arrival_ns - u->t_ns, old = t->interval_ns / 2 + AHEAD_NS;
	lag_note(t, lag, arrival_ns);
	if (lag < -AHEAD_NS)
		t->ahead_until_ns = arrival_ns + AHEAD_FOR_NS;
	const bool ahead = arrival_ns < t->ahead_until_ns,
		   behind = t->has_before && t->before_ns > old && t->least_ns > old;
	t->skew_ns = ahead && lag < 0 ? lag : behind ? t->least_ns : ahead ? t->skew_ns : 0;
	if (!ahead && !behind && lag <= old)
		return u->t_ns;
	t->odd++;
	if (u->t_ns != t->stamp_ns || arrival_ns < t->stands_ns ||
		arrival_ns - t->stands_ns > t->interval_ns / 2) {
		t->stamp_ns = u->t_ns;
		t->stands_ns = arrival_ns;
	}
	return t->stands_ns;
}
