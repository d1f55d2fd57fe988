/*
 * gnmi_time - pure: which time a value was taken at. The device's own stamp is best, for rates
 * follow its clock; but stamps are also missing, of a clock that is wrong, or of the last change
 * long ago, though the value was sampled now. Then it is the time of arrival.
 *
 *   stamp in the future by more than 1 s            the clock is ahead: arrival, for this
 *       stream, for ten minutes
 *   no stamp of a whole period was fresh            the clock is behind, or the way is long:
 *       arrival
 *   this stamp is older than half an interval + 1 s the value did not change since: arrival
 *   none of these                                   the stamp
 *
 * What has one stamp was taken at one time: when it comes in many messages, one for each counter,
 * the first one's arrival stands for all that come within half an interval. Otherwise each counter
 * of a port would have a time, and a row in the database, of its own.
 */
#ifndef RW_COLLECTORS_GNMI_TIME_H
#define RW_COLLECTORS_GNMI_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include "proto/gnmi.h"

struct gnmi_time { /* of one stream; zeroed, then .interval_ns set */
	int64_t interval_ns;
	int64_t ahead_until_ns; /* arrival */
	/* begin of the period; its least lag, that of the one before */
	int64_t period_ns, least_ns, before_ns;
	bool has_least, has_before;
	/* the last stamp that was not used, and the arrival that stands for it */
	int64_t stamp_ns, stands_ns;
	/* notifications whose stamp was not used though there was one */
	uint64_t odd;
	/* how far the clock is behind (or, negative, ahead) while it is not used; else 0 */
	int64_t skew_ns;
};

/* gnmi_time_take - ns since 1970 of what came at @arrival_ns with the stamp of @update. */
int64_t gnmi_time_take(
	struct gnmi_time *time, const struct gnmi_update *update, int64_t arrival_ns);

#endif
