/*
 * analyzer - a pure function of (fabric, window, options, now) to findings. No clock, no log, no
 * store, no memory kept: last week replayed gives last week's findings. One file per analyzer, its
 * struct last, its name in one list in CMakeLists.txt.
 */
#ifndef RW_ANALYZERS_ANALYZER_H
#define RW_ANALYZERS_ANALYZER_H

#include <stdbool.h>

#include "config/fabric.h"
#include "config/option.h"
#include "db/model/finding.h"
#include "db/model/metric.h"
#include "db/series/series.h"

struct analyzer;
struct arena;
struct observed;
struct links;

/* What analyzers of the same window share: made by the first that asks, pure as they are. NULL in
 * analyzer_in: nothing is shared. */
struct analyzer_shared {
	struct arena *arena; /* lives as long as the window */
	const struct observed *observed;
	const void *pause; /* struct pause_graph */
	struct links *links;
};

/* A change of a setting somebody agreed to (an accepted tuning sheet): of all ports of a device at
 * a priority. Values as read: alpha by its exponent. */
struct expected_change {
	const char *device;
	int priority;
	uint16_t metric;
	double value;
	int64_t from_ns, until_ns; /* of the change */
};

struct analyzer_in {
	const struct fabric *fabric;
	const struct window *window;
	/* (to - past, to] of the metrics in .past of the analyzer; NULL when it wants none */
	const struct window *past;
	const void *options; /* the analyzer's own struct */
	int64_t interval_ns; /* the usual time between samples, for coverage */
	struct arena *arena; /* findings and their strings go here */
	struct analyzer_shared *shared;
	const struct expected_change *expected; /* lent */
	size_t n_expected;
};

/* analyzer_wants - mark the metrics its window has to hold: its own, and what observe() reads when
 * it observes. @wanted has METRIC_COUNT places. */
void analyzer_wants(const struct analyzer *analyzer, bool *wanted);
/* analyzer_spec - the marked metrics as a spec; @metrics has room for METRIC_COUNT and is lent to
 * it. Flows are the caller's. */
struct window_spec analyzer_spec(const bool *wanted, uint16_t *metrics);

/* Window length of an analyzer whose option says 0: three intervals, at least 5 s, so that a window
 * holds some samples and a few steps. */
int64_t analyzer_window(const struct analyzer *analyzer, const void *options, int64_t interval_ns);
/*
 * How far back an analyzer looks, a multiple of its window; 0 = it has no past. When its option
 * says 0: sixty windows, at least ten minutes, so that what changed can be told from what always
 * was.
 */
int64_t analyzer_past(const struct analyzer *analyzer, const void *options, int64_t interval_ns);

struct analyzer {
	const char *name, *doc;
	struct option_table options;
	/* of the int64_t window_ns in the options struct: how long a window this one wants; 0 =
	 * automatic */
	size_t window_offset;
	struct window_spec spec;
	bool observes; /* it asks observe(): the window holds observe_metrics as well */
	/*
	 * A second, longer look at a few metrics, for change points and what is usual. Memory holds
	 * them that long for every port, so they are few: no metrics = no past. past_offset is that
	 * of the int64_t past_ns in the options struct; 0 in there = automatic.
	 */
	size_t past_offset;
	struct window_spec past;
	/* 0 or negative errno; findings ordered by subject */
	int (*run)(const struct analyzer_in *in, struct finding_list *out);
};

extern const struct analyzer *const analyzers[]; /* NULL-terminated */
const struct analyzer *analyzer_by_name(const char *name);

/* zeroed, priority PRIO_NONE, ratios NAN */
struct finding *finding_add(struct finding_list *list, struct arena *a);

#endif
