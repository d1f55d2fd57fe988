/*
 * usual_slot - what is usual at this time of the week: the value that the agent kept of a signal or
 * a job (agent.signal, once a minute) in the same hour of earlier weeks, or of earlier days where
 * fewer weeks are kept.
 *
 * Training has no hours of its own, but what shares the fabric with it has: backups, storage,
 * users. Detectors compare with the last minutes instead, which differ less from now than last
 * Tuesday does. So this is for people.
 *
 * One slot is the hour around the same time. Its value is the median of its minutes, and what is
 * usual is the median of the slots: one bad day does not move it. It takes USUAL_SLOTS_MIN slots.
 * Read when asked, from what the retention keeps (retention.raw): at most 14 short reads.
 */
#ifndef RW_REPORTS_USUAL_SLOT_H
#define RW_REPORTS_USUAL_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct client;
struct err;

enum { USUAL_SLOTS_MIN = 3, USUAL_WEEKS = 8, USUAL_DAYS = 6, USUAL_NAME_MAX = 32 };

struct usual_slot {
	double usual; /* NAN: too few slots */
	double spread; /* one standard deviation of a slot, by the median absolute deviation */
	size_t slots;
	char name[USUAL_NAME_MAX]; /* "Tuesday 14:00", "14:00"; UTC; "" without a value */
};

/* usual_slot_read - of agent.signal of the port @port, at @at_ns. 0, also without a value, or a
 * negative errno with @e. */
int usual_slot_read(struct client *client, const char *port, int64_t at_ns, struct usual_slot *ret,
	struct err *e);

/* usual_slot_fold - @weeks and @days: one value per slot, NAN unknown. Weeks where there are
 * enough.
 */
struct usual_slot usual_slot_fold(
	const double weeks[USUAL_WEEKS], const double days[USUAL_DAYS], int64_t at_ns);

#endif
