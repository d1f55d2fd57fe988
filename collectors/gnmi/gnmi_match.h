/*
 * gnmi_match - pure: matches a path against a profile's pattern, and gives the port, queue or pool
 * that the path names. The notation is in config/profile/profile_gnmi.h; {alias} is a port by the
 * name that people see, for servers that answer with it.
 *
 * Numbers may be ranges and lists ("3-4", "0,3"), below 64. A {queue} or {group} that is the whole
 * name or value also reads numbers with a word before them (UC3, unicast-3, q-3, tc3; pfc-3, pg3);
 * any other name of a queue or group is kept in .queue_name.
 */
#ifndef RW_COLLECTORS_GNMI_MATCH_H
#define RW_COLLECTORS_GNMI_MATCH_H

#include "proto/gnmi_path.h"

struct arena;
struct gnmi_pattern;

struct gnmi_text {
	const char *p;
	size_t n;
}; /* p NULL: not in the pattern */

enum gnmi_number { GNMI_NUMBER_NONE, GNMI_NUMBER_PRIORITY, GNMI_NUMBER_QUEUE, GNMI_NUMBER_GROUP };

struct gnmi_match {
	struct gnmi_text port, pool, name, queue_name; /* into the path that was given */
	bool alias; /* .port is an alias */
	enum gnmi_number number;
	uint64_t numbers; /* bit n: number n */
	bool has_lane; /* of a transceiver: one of .lanes, bit n: number n */
	uint64_t lanes;
};

/* gnmi_pattern_new - NULL, with @e, when @path is none. Lives in @a. */
struct gnmi_pattern *gnmi_pattern_new(const char *path, struct arena *a, struct err *e);
/* gnmi_pattern_lists - the lists whose keys the pattern names, added to @lists at *n, each list
 * once, up to @max. */
void gnmi_pattern_lists(
	const struct gnmi_pattern *pattern, struct gnmi_list *lists, size_t *n, size_t max);

bool gnmi_pattern_match(const struct gnmi_pattern *pattern, const struct gnmi_elem *elems, size_t n,
	struct gnmi_match *ret);

#endif
