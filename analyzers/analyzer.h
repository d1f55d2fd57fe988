/*
 * analyzer - a pure function of (fabric, window, options, now) to findings. No clock, no log, no store, no memory kept:
 * last week replayed gives last week's findings. One file per analyzer, its struct last, its name in one list in CMakeLists.txt.
 */
#ifndef RW_ANALYZERS_ANALYZER_H
#define RW_ANALYZERS_ANALYZER_H

#include "config/fabric.h"
#include "config/option.h"
#include "db/finding.h"
#include "db/metric.h"
#include "db/series.h"

struct arena;

struct analyzer_in {
	const struct fabric *fabric;
	const struct window *window;
	const void *options;   /* the analyzer's own struct */
	int64_t interval_ns;   /* the usual time between samples, for coverage */
	struct arena *arena;   /* findings and their strings go here */
};

struct analyzer {
	const char *name, *doc;
	struct option_table options;
	size_t window_offset; /* of the int64_t window_ns in the options struct: how long a window this one wants */
	struct window_spec spec;
	/* 0 or negative errno; findings ordered by subject */
	int (*run)(const struct analyzer_in *in, struct finding_list *out);
};

extern const struct analyzer *const analyzers[]; /* NULL-terminated */
const struct analyzer *analyzer_by_name(const char *name);

struct finding *finding_add(struct finding_list *l, struct arena *a); /* zeroed, priority PRIO_NONE, ratios NAN */

#endif
