/*
 * samples_plan - columns of rocewatch_samples and rocewatch_rates, and how conditions on them are
 * handed from the planner to the cursor. For samples_*.c only.
 */
#pragma once

#include <sqlite3.h>

#include "base/base.h"

enum samples_column {
	SC_TIME,
	SC_T_NS,
	SC_DEVICE,
	SC_PORT,
	SC_PRIORITY,
	SC_METRIC,
	SC_VALUE,
	SC_UNIT,
	SC_KIND,
	SC_FLAGS,
	SC_SOURCE,
	SC_WINDOW_S,
	/* hidden from "SELECT *" */
	SC_ENTITY,
	SC_RATE,
	SC_INTERVAL_S
};
#define SAMPLES_COLUMNS                                                                            \
	"time TEXT, t_ns INTEGER, device TEXT, port TEXT, priority INTEGER, metric TEXT, value, "  \
	"unit TEXT, kind TEXT, flags TEXT, source TEXT, window_s REAL, entity INTEGER HIDDEN, "    \
	"rate REAL HIDDEN, interval_s REAL HIDDEN"

enum steps_column {
	RC_TIME,
	RC_T_NS,
	RC_DEVICE,
	RC_PORT,
	RC_PRIORITY,
	RC_METRIC,
	RC_UNIT,
	RC_COUNT,
	RC_INCREASE,
	RC_RATE,
	RC_INTERVAL_S,
	RC_MIN,
	RC_MAX,
	RC_MEAN,
	RC_P50,
	RC_P95,
	RC_P99,
	RC_FIRST,
	RC_LAST,
	RC_FLAGS,
	/* arguments */
	RC_WANT_METRIC,
	RC_WANT_FROM,
	RC_WANT_TO,
	RC_WANT_STEP
};
#define STEPS_COLUMNS                                                                              \
	"time TEXT, t_ns INTEGER, device TEXT, port TEXT, priority INTEGER, metric TEXT, "         \
	"unit TEXT, count INTEGER, increase, rate REAL, interval_s REAL, min REAL, max REAL, "     \
	"mean REAL, p50 REAL, p95 REAL, p99 REAL, first, last, flags TEXT, "                       \
	"want_metric HIDDEN, want_from_ns HIDDEN, want_to_ns HIDDEN, want_step_s HIDDEN"

/* What an argument of the cursor means. In the plan's text one letter each: 'a' + number. */
enum samples_condition {
	COND_METRIC,
	COND_METRIC_LIKE,
	COND_METRIC_GLOB,
	COND_DEVICE,
	COND_DEVICE_LIKE,
	COND_DEVICE_GLOB,
	COND_PORT,
	COND_PORT_NULL,
	COND_PORT_LIKE,
	COND_PORT_GLOB,
	COND_PRIORITY,
	COND_PRIORITY_NULL,
	COND_ENTITY,
	COND_KIND,
	COND_FROM, /* t_ns >=, or > of what may be no whole number: SQLite looks again */
	COND_TO, /* t_ns <= or < */
	COND_AFTER, /* t_ns > a whole number */
	COND_BEFORE, /* t_ns < a whole number */
	COND_AT, /* t_ns = */
	COND_STEP
};
/* of .idxNum */
#define PLAN_RATES 1 /* somebody looks at rates, or at quantiles of steps */
#define PLAN_SORTED 2 /* rows come by device, port and priority, which spares a sorting */

/* samples_plan - xBestIndex; @steps: of rocewatch_rates. */
int samples_plan(sqlite3_index_info *info, bool steps);
