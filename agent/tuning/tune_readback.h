/*
 * tune_readback - what the switches say about a sheet: are its values in force, the previous ones,
 * or others? Pure: what was read comes as a window of samples.
 */
#ifndef RW_AGENT_TUNE_READBACK_H
#define RW_AGENT_TUNE_READBACK_H

#include "agent/tuning/tune_record.h"
#include "db/series/series.h"

/* tune_metrics - the metrics of all knobs: what a window for read-back has to hold. Lent, static.
 */
size_t tune_metrics(const uint16_t **ret);
/* tune_knob_metric - the metric that @knob is read back as. */
unsigned tune_knob_metric(enum tune_knob knob);
/* tune_value - a stored configuration value in the knob's unit (alpha from its exponent). */
double tune_value(enum tune_knob knob, uint64_t stored);
/* tune_same - is @value what was written as @wanted? Switches round to cells and steps, so 2 % off
 * counts as the same, but never half the way to @other (NAN: none). */
bool tune_same(double value, double wanted, double other);

enum tune_reading {
	TUNE_READ_NOTHING,
	TUNE_READ_CURRENT, /* the previous values */
	TUNE_READ_PROPOSED,
	TUNE_READ_MIXED, /* some ports or some values are as proposed, the rest as before */
	TUNE_READ_OTHER
};
struct tune_readback { /* as it stands at the end of the window */
	enum tune_reading reading;
	int64_t since_ns; /* PROPOSED, CURRENT: first instant at which all values were so */
	int64_t before_ns; /* the last reading before it that was not; INT64_MIN: none in the window
			    */
	const char *text; /* OTHER: what was read, in the arena */
};
/* tune_readback - values declared in the configuration do not count as read. */
void tune_readback(const struct tune_record *record, const struct window *window, struct arena *a,
	struct tune_readback *ret);

#endif
