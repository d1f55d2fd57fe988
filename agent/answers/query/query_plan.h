/*
 * query_plan - what a query asks for, read from its words, and what one value of it is. For the
 * files query*.c.
 */
#pragma once

#include "base/base.h"
#include "agent/answers/query/query_out.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/rollup.h"

struct client;
struct query_ask;

/* AGG_USUAL: the mean of a gauge, the greatest value of a watermark, the last value of a counter or
 * a state. */
enum query_agg {
	AGG_USUAL,
	AGG_MEAN,
	AGG_MIN,
	AGG_MAX,
	AGG_P50,
	AGG_P95,
	AGG_P99,
	AGG_INCREASE,
	AGG_FIRST,
	AGG_LAST,
	AGG_COUNT,
	AGG_COVERAGE,
	AGG_WORDS
};
enum query_by {
	BY_NONE,
	BY_PORT,
	BY_DEVICE,
	BY_PRIORITY,
	BY_HOST,
	BY_JOB,
	BY_ROLE,
	BY_RAIL,
	BY_FABRIC,
	BY_WORDS
};
enum query_join { JOIN_USUAL, JOIN_SUM, JOIN_MEAN, JOIN_MIN, JOIN_MAX, JOIN_COUNT, JOIN_WORDS };

struct query_plan {
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
	const char *device, *port; /* globs, NULL = all */
	int priority; /* as in struct history_filter */
	bool rate;
	bool steps; /* rows of steps, not of samples */
	int64_t step_ns; /* 0 = the whole range is one step */
	enum query_agg agg;
	enum query_by by;
	enum query_join join;
	size_t top; /* only the lines with the greatest values; 0 = all */
};

/* query_plan_read - 0, or -EINVAL with @e. */
int query_plan_read(const struct query_ask *ask, struct query_plan *ret, struct err *e);
/* query_plan_filter - for a reader of the past; points into @plan. */
struct history_filter query_plan_filter(
	const struct query_plan *plan, int64_t from_ns, int64_t to_ns);

const char *query_agg_name(enum query_agg agg);
const char *query_by_name(enum query_by by);
const char *query_join_name(enum query_join join);

/* query_agg_of - what becomes of one step of @metric; never AGG_USUAL for numbers.
 * query_join_of - how several become one; never JOIN_USUAL. */
enum query_agg query_agg_of(const struct query_plan *plan, unsigned metric);
enum query_join query_join_of(const struct query_plan *plan, unsigned metric);
/* query_is_rate - is the value of @metric a change per second? */
bool query_is_rate(const struct query_plan *plan, unsigned metric);
/* query_unit - of the values of @metric: "bytes/s". Written to @buf where it is made. */
#define QUERY_UNIT_MAX 32
const char *query_unit(const struct query_plan *plan, unsigned metric, char buf[QUERY_UNIT_MAX]);

/* query_stored - a value as it is stored: a number of the metric's type, or the text that it names.
 */
struct query_value query_stored(unsigned metric, uint64_t value, const struct entities *entities);

/*
 * query_value_of - the value of one series in one step. @bound_per_s: what a counter can grow by; 0
 * = not known. Adds SF_SUSPECT to @flags where a value is more than that: there is none then.
 */
struct query_value query_value_of(const struct query_plan *plan, const struct rollup *rollup,
	double bound_per_s, const struct entities *entities, unsigned *flags);

/* query_lines - which series a query is about, and into which line of the answer each of them
 * goes: a line of its own, or one with others (--by). Lines are in natural order: Ethernet2 before
 * Ethernet10. For the files query*.c. */

struct query_slot { /* a series */
	const struct entity *entity;
	uint16_t metric;
	double bound_per_s; /* what a counter can grow by; 0 = not known */
	bool alive; /* it had a sample shortly before the range, or has had one in it */
	bool present; /* in this step */
	bool missed; /* not in the step before */
	size_t line;
	struct rollup now;
};

struct query_line {
	const char *device, *port, *group; /* "" = does not apply */
	int priority;
	uint16_t metric;
	size_t begin, end; /* its slots */
	double rank_sum; /* of its values, for --top */
	size_t rank_n;
	bool shown;
};

struct query_lines {
	struct query_slot *slots; /* by line */
	size_t n_slots, cap_slots;
	struct query_line *v;
	size_t n, cap;
	struct map *index; /* entity and metric -> slot */
};

/* query_lines_make - 0 or negative errno. Strings are lent by the client. */
int query_lines_make(struct client *client, const struct query_plan *plan, int64_t from_ns,
	int64_t to_ns, struct query_lines *ret, struct err *e);

void query_lines_done(struct query_lines *lines);

/* query_lines_slot - NULL: this series is in no line. */
struct query_slot *query_lines_slot(struct query_lines *lines, uint32_t entity, uint16_t metric);

/* query_lines_columns - how a table shows them. */
void query_lines_columns(
	const struct query_lines *lines, const struct query_plan *plan, struct query_columns *ret);
