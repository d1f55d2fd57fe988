/*
 * gnmi_compiled - the patterns of a stream of a profile, made once for all targets that use it:
 * hundreds of switches of one kind share them. Read only once made. Loop thread.
 */
#ifndef RW_COLLECTORS_GNMI_COMPILED_H
#define RW_COLLECTORS_GNMI_COMPILED_H

#include "collectors/gnmi/gnmi_match.h"
#include "config/profile/profile_gnmi.h"

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

struct gnmi_compiled_set;
struct gnmi_compiled_set *gnmi_compiled_set_new(void);
void gnmi_compiled_set_free(void *set); /* a struct gnmi_compiled_set; NULL is fine */

/* gnmi_compiled_get - of @stream, which is lent for the life of the set. NULL with @e for a pattern
 * that is no path. */
const struct gnmi_compiled *gnmi_compiled_get(
	struct gnmi_compiled_set *set, const struct profile_gnmi_stream *stream, struct err *e);

#endif
