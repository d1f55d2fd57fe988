/*
 * gnmi_time - pure: the time at which a value was taken. The device's own stamp is best, because
 * rates follow its clock. But a stamp may be missing, its clock may be wrong, or it may be the time
 * of the last change although the value was sampled now. Then the time of arrival is used:
 *
 *   1. the stamp is more than 1 s in the future       the clock is ahead: arrival, for this stream,
 *                                                     for ten minutes
 *   2. no stamp of a whole period was fresh           the clock is behind, or the path is slow:
 *                                                     arrival
 *   3. the stamp is older than half an interval + 1 s the value did not change since: arrival
 *   4. none of these                                  the stamp
 *
 * Values with the same stamp were taken at the same time. When they come in many messages, one per
 * counter, the arrival of the first is used for all that come within half an interval. Otherwise
 * each counter of a port would have its own time, and its own row in the database.
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
