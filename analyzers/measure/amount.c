/* amount - counters, peaks and states of a series within a window. */
#include "analyzers/measure/amount.h"

#include "db/model/metric.h"

#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)

struct amount amount_of(const struct series *series, const struct window *window, double max_rate)
{
	struct increase inc, all;
	int rc = series_increase(series, window->from_ns, window->to_ns, max_rate, &inc);
	if (inc.suspects && max_rate > 0 &&
		series_increase(series, window->from_ns, window->to_ns, 0, &all) == 0) {
		/* An agent that caches counters hands out more than one window's growth at once:
		 * the sum is believed, and marked. */
		all.quality = QUALITY_ESTIMATED;
		inc = all;
		rc = 0;
	}
	struct amount amount = {
		.known = rc == 0,
		.restarted = inc.resets > 0,
		.quality = inc.quality,
		.alive = series->n && (series->value[series->n - 1] || series->value[0]),
	};
	if (amount.known) {
		amount.value = (double)inc.value;
		amount.covered_ns = inc.covered_ns;
	}
	return amount;
}

static bool amount_usable(const struct series *series, uint32_t i)
{
	return !(series->flags[i] & (SF_LATE | SF_SUSPECT));
}

double amount_peak(const struct series *series, const struct window *window)
{
	double peak = NAN;
	for (uint32_t i = series_after(series, window->from_ns);
		i < series->n && series->t_ns[i] <= window->to_ns; i++)
		if (amount_usable(series, i))
			peak = fmax(peak, sample_number(series->metric, series->value[i]));
	return peak;
}

double amount_mean(const struct series *series, const struct window *window)
{
	double sum = 0;
	unsigned n = 0;
	for (uint32_t i = series_after(series, window->from_ns);
		i < series->n && series->t_ns[i] <= window->to_ns; i++) {
		if (!amount_usable(series, i))
			continue;
		sum += sample_number(series->metric, series->value[i]);
		n++;
	}
	if (n == 0)
		return NAN;
	return sum / n;
}

double amount_state(const struct series *series, const struct window *window)
{
	uint64_t value;
	if (series_state(series, window->to_ns, STATE_AGE_NS, &value) != 0)
		return NAN;
	return sample_number(series->metric, value);
}
