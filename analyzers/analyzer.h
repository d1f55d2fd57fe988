/*
 * analyzer - a pure function of (fabric, window, options, now) to findings. No clock, no log, no
 * store, no memory kept: last week replayed gives last week's findings. One file per analyzer, its
 * struct last, its name in one list in CMakeLists.txt.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/input.h"
#include "config/option.h"
#include "db/model/finding.h"
#include "db/model/metric.h"
#include "db/series/series.h"

struct analyzer {
	const char *name, *doc;
	/*
	 * The order of analyzers whose windows end together: lower first. Of two findings that are
	 * one fault the first opens the incident. No two analyzers have the same phase.
	 */
	int phase;
	struct option_table options;
	/* where int64_t window_ns stands in the options struct: the length of a window; 0 in there
	 * = automatic */
	size_t window_offset;
	/* the least length of an automatic window, ns; 0: the usual 5 s */
	int64_t window_least_ns;
	/* Into how many strides a window is cut; it is judged after each of them. 0: up to 3, not
	 * shorter than the interval nor than 1 s. 1: windows do not overlap. */
	unsigned strides;
	struct window_spec spec;
	bool observes; /* it asks observe(): the window holds observe_metrics as well */
	/*
	 * A second, longer window of a few metrics, for change points and for what is usual. Memory
	 * holds them that long for every port, so they are few; no metrics = no past. past_offset
	 * is where int64_t past_ns stands in the options struct; 0 in there = automatic.
	 */
	size_t past_offset;
	struct window_spec past;
	/* 0 or negative errno; findings ordered by subject */
	int (*run)(const struct analyzer_in *in, struct finding_list *out);
};

extern const struct analyzer *const analyzers[]; /* NULL-terminated */
/* analyzer_by_name - NULL when there is none of that name. */
const struct analyzer *analyzer_by_name(const char *name);

/* analyzer_wants - mark the metrics that its window has to hold: its own, and what observe() reads
 * when it observes. @wanted has METRIC_COUNT places. */
void analyzer_wants(const struct analyzer *analyzer, bool *wanted);
/* analyzer_spec - the marked metrics as a spec. @metrics has room for METRIC_COUNT and is lent to
 * it. Flows are set by the caller. */
struct window_spec analyzer_spec(const bool *wanted, uint16_t *metrics);

/* analyzer_window - how long its windows are, ns. When its option says 0: three intervals, at least
 * 5 s or window_least_ns, so that a window holds some samples and a few steps. */
int64_t analyzer_window(const struct analyzer *analyzer, const void *options, int64_t interval_ns);

/* analyzer_stride - how often it judges, ns: its window over a whole number. Not more often than
 * samples come, and not more often than each second. */
int64_t analyzer_stride(const struct analyzer *analyzer, const void *options, int64_t interval_ns);

/*
 * analyzer_past - how long its past is, ns: a multiple of its window; 0 = it has none. When its
 * option says 0: sixty windows, at least ten minutes, so that a change can be distinguished from
 * what is usual.
 */
int64_t analyzer_past(const struct analyzer *analyzer, const void *options, int64_t interval_ns);
