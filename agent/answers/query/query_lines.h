/*
 * query_lines - which series a query is about, and into which line of the answer each of them goes:
 * a line of its own, or one with others (--by). Lines are in natural order: Ethernet2 before
 * Ethernet10. For the files query*.c.
 */
#ifndef RW_REPORTS_QUERY_LINES_H
#define RW_REPORTS_QUERY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/answers/query/query_plan.h"
#include "db/series/rollup.h"

struct client;
struct map;

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

#endif
