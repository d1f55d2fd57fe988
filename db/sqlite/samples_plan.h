/* samples_plan - columns of the table rocewatch_samples, and how conditions on them are handed from
 * the planner to the cursor. For samples_*.c only. */
#ifndef RW_DB_SAMPLES_PLAN_H
#define RW_DB_SAMPLES_PLAN_H

#include <sqlite3.h>

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
	COND_FROM, /* t_ns >= or > */
	COND_TO, /* t_ns <= or < */
	COND_AT /* t_ns = */
};
#define PLAN_RATES 1 /* of .idxNum: somebody looks at rates */

/* samples_plan - xBestIndex. */
int samples_plan(sqlite3_vtab *table, sqlite3_index_info *info);

#endif
