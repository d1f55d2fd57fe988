/* gnmi_convert - pure: one value as a leaf of a profile means it. */
#ifndef RW_COLLECTORS_GNMI_CONVERT_H
#define RW_COLLECTORS_GNMI_CONVERT_H

#include "config/profile/profile_gnmi.h"
#include "proto/gnmi.h"

struct entities;

struct gnmi_converted {
	/* as the metric's type: u64, double, id of a text; a set of priorities for .priorities */
	union {
		uint64_t u;
		double d;
	};
	bool estimated;
};

/* NONE: the device says "not there" */
enum gnmi_convert { GNMI_CONVERT_OK, GNMI_CONVERT_NONE, GNMI_CONVERT_WRONG };
/* @spec must be of a metric. @cell_bytes 0 = not known: what is in cells then is GNMI_CONVERT_NONE.
 */
enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *spec,
	const struct gnmi_value *value, struct entities *texts, uint64_t cell_bytes,
	struct gnmi_converted *ret);

/* gnmi_convert_number - a number, or a word that @spec knows one for: of what is no metric. */
enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret);

const char *gnmi_convert_kind_name(enum gnmi_kind kind); /* "uint" */

#endif
