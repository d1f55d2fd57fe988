/* gnmi_convert - pure: converts one value as a row of a profile says. */
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

/* NONE: the device says that it has no value; WRONG: not a type that the row can read */
enum gnmi_convert { GNMI_CONVERT_OK, GNMI_CONVERT_NONE, GNMI_CONVERT_WRONG };
/* Where texts go, and whose they are: a device may bring only so many. */
struct gnmi_texts {
	struct entities *entities;
	const char *device;
};
/* @spec must have a metric. @cell_bytes: size of a buffer cell, 0 = unknown: a value in cells is
 * then GNMI_CONVERT_NONE. */
enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *spec,
	const struct gnmi_value *value, struct gnmi_texts texts, uint64_t cell_bytes,
	struct gnmi_converted *ret);

/* gnmi_convert_number - the number of an attribute leaf: as sent, or the one that @spec has for a
 * word. */
enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret);

/* gnmi_bare_name - in place: a reference "[TABLE|NAME]" or "[TABLE:NAME]", as older SONiC writes
 * it, is NAME. */
void gnmi_bare_name(char *text);

const char *gnmi_convert_kind_name(enum gnmi_kind kind); /* "uint" */

#endif
