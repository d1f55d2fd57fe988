/* gnmi_time - keeps the least lag of each period and decides whether to use a stamp. */
#include "collectors/gnmi/gnmi_time.h"

#include "agent/base/clock.h"

#define AHEAD_NS (1 * NS_PER_S)
#define AHEAD_FOR_NS (600 * NS_PER_S)
#define PERIOD_LEAST_NS (10 * NS_PER_S)

static void lag_note(struct gnmi_time *time, int64_t lag, int64_t arrival_ns)
{
	int64_t length = PERIOD_LEAST_NS;
	if (2 * time->interval_ns > PERIOD_LEAST_NS)
		length = 2 * time->interval_ns;
	if (arrival_ns - time->period_ns >= length || arrival_ns < time->period_ns) {
		time->has_before = time->has_least && time->period_ns != 0;
		time->before_ns = time->least_ns;
		time->period_ns = arrival_ns;
		time->has_least = false;
	}
	if (!time->has_least || lag < time->least_ns)
		time->least_ns = lag;
	time->has_least = true;
}

int64_t gnmi_time_take(struct gnmi_time *time, const struct gnmi_update *update, int64_t arrival_ns)
{
	if (update->clock == GNMI_CLOCK_MISSING || update->clock == GNMI_CLOCK_EARLY) {
		time->odd++;
		return arrival_ns;
	}
	const int64_t lag = arrival_ns - update->t_ns, old = time->interval_ns / 2 + AHEAD_NS;
	lag_note(time, lag, arrival_ns);
	if (lag < -AHEAD_NS)
		time->ahead_until_ns = arrival_ns + AHEAD_FOR_NS;
	const bool ahead = arrival_ns < time->ahead_until_ns,
		   behind = time->has_before && time->before_ns > old && time->least_ns > old;
	if (ahead && lag < 0)
		time->skew_ns = lag;
	else if (behind)
		time->skew_ns = time->least_ns;
	else if (!ahead)
		time->skew_ns = 0;
	if (!ahead && !behind && lag <= old)
		return update->t_ns;
	time->odd++;
	if (update->t_ns != time->stamp_ns || arrival_ns < time->stands_ns ||
		arrival_ns - time->stands_ns > time->interval_ns / 2) {
		time->stamp_ns = update->t_ns;
		time->stands_ns = arrival_ns;
	}
	return time->stands_ns;
}
