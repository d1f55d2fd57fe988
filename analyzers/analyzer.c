/* analyzer - analyzers by name, and which samples their windows must hold. */
#include "analyzers/analyzer.h"

#include "analyzers/measure/observe.h"
#include "config/config.h"

#define STRIDES_USUAL 3
#define STRIDE_MIN_NS NS_PER_S
#define PAST_WINDOWS 60
#define PAST_MIN_NS (600 * NS_PER_S)

const struct analyzer *analyzer_by_name(const char *name)
{
	for (size_t i = 0; analyzers[i]; i++)
		if (str_eq(analyzers[i]->name, name))
			return analyzers[i];
	return NULL;
}

void analyzer_wants(const struct analyzer *analyzer, bool *wanted)
{
	for (size_t i = 0; i < analyzer->spec.n_metrics; i++)
		wanted[analyzer->spec.metrics[i]] = true;
	for (size_t i = 0; analyzer->observes && i < observe_n_metrics; i++)
		wanted[observe_metrics[i]] = true;
}

struct window_spec analyzer_spec(const bool *wanted, uint16_t *metrics)
{
	struct window_spec spec = {.metrics = metrics};
	for (uint16_t m = 0; m < METRIC_COUNT; m++)
		if (wanted[m])
			metrics[spec.n_metrics++] = m;
	return spec;
}

int64_t analyzer_window(const struct analyzer *analyzer, const void *options, int64_t interval_ns)
{
	int64_t window_ns;
	memcpy(&window_ns, (const char *)options + analyzer->window_offset, sizeof(window_ns));
	if (window_ns > 0)
		return window_ns;
	window_ns = config_usual_window(interval_ns);
	if (window_ns < analyzer->window_least_ns)
		return analyzer->window_least_ns;
	return window_ns;
}

int64_t analyzer_stride(const struct analyzer *analyzer, const void *options, int64_t interval_ns)
{
	const int64_t window_ns = analyzer_window(analyzer, options, interval_ns);
	int64_t strides = STRIDES_USUAL;
	if (analyzer->strides)
		strides = analyzer->strides;
	for (; strides > 1; strides--) {
		const int64_t stride_ns = window_ns / strides;
		const bool whole = stride_ns * strides == window_ns;
		if (whole && stride_ns >= interval_ns && stride_ns >= STRIDE_MIN_NS)
			return stride_ns;
	}
	return window_ns;
}

int64_t analyzer_past(const struct analyzer *analyzer, const void *options, int64_t interval_ns)
{
	int64_t past_ns;
	if (analyzer->past.n_metrics == 0)
		return 0;
	memcpy(&past_ns, (const char *)options + analyzer->past_offset, sizeof(past_ns));
	const int64_t window_ns = analyzer_window(analyzer, options, interval_ns);
	if (past_ns <= 0) {
		if (PAST_WINDOWS * window_ns > PAST_MIN_NS)
			past_ns = PAST_WINDOWS * window_ns;
		else
			past_ns = PAST_MIN_NS;
	}
	return (past_ns + window_ns - 1) / window_ns * window_ns;
}
