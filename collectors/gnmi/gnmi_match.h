/*
 * gnmi_match - pure: matches a path against a profile's pattern, and gives the port, queue or pool
 * that the path names. The notation is in config/profile/profile_gnmi.h; {alias} is a port by the
 * name that people see, for servers that answer with it.
 *
 * Numbers may be ranges and lists ("3-4", "0,3"), below 64. A {queue} or {group} that is the whole
 * name or value also reads numbers with a word before them (UC3, unicast-3, q-3, tc3; pfc-3, pg3);
 * any other name of a queue or group is kept in .queue_name.
 */
#pragma once

#include "config/profile/profile_gnmi.h"
#include "proto/gnmi_path.h"
#include "base/base.h"

struct gnmi_compiled_set;
struct gnmi_pattern;

struct gnmi_text {
	const char *p;
	size_t n;
}; /* p NULL: not in the pattern */

enum gnmi_number {
	GNMI_NUMBER_NONE,
	GNMI_NUMBER_PRIORITY,
	GNMI_NUMBER_QUEUE,
	GNMI_NUMBER_GROUP,
	GNMI_NUMBER_DSCP
};

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

/*
 * gnmi_compiled - the patterns of a stream of a profile, made once for all targets that use it:
 * hundreds of switches of one kind share them. Read only once made. Loop thread.
 */

#define GNMI_LISTS_MAX 32

struct gnmi_compiled {
	const struct profile_gnmi_stream *stream;
	struct gnmi_pattern **patterns; /* of each value */
	/* another value, or another path of this one, speaks of the same metric: perhaps of the
	 * same thing */
	bool *shared;
	struct gnmi_list lists[GNMI_LISTS_MAX]; /* whose keys the patterns name */
	size_t n_lists;
	bool has_lldp; /* at least one value is of LLDP */
	bool has_lanes; /* at least one tells the lanes of a port */
	/* the next value with the same path + 1; 0 = none */
	size_t *also;
};

struct gnmi_compiled_set *gnmi_compiled_set_new(void);
void gnmi_compiled_set_free(void *set); /* a struct gnmi_compiled_set; NULL is fine */

/* gnmi_compiled_get - of @stream, which is lent for the life of the set. NULL with @e for a pattern
 * that is no path. */
const struct gnmi_compiled *gnmi_compiled_get(
	struct gnmi_compiled_set *set, const struct profile_gnmi_stream *stream, struct err *e);
