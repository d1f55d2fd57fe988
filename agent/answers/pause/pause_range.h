/*
 * pause_range - pause time per port, priority and direction over a time range and in each step of
 * it, from whatever the store keeps; and marks of ECN beside it. Measured where the switch counts
 * time, an upper bound where it counts frames: analyzers/measure/pause/pause_share.h, as in the
 * detectors. One thread.
 */
#ifndef RW_REPORTS_PAUSE_RANGE_H
#define RW_REPORTS_PAUSE_RANGE_H

#include <stdbool.h>

#include "agent/answers/common/range_read.h"
#include "analyzers/measure/pause/pause_share.h"
#include "config/fabric.h"

enum pause_way { PAUSE_RX, PAUSE_TX, PAUSE_WAYS }; /* the neighbour paused us; we paused it */

struct pause_line { /* one direction */
	struct amount frames;
	struct pause_share whole; /* of the range */
	struct pause_share worst; /* of the step with most pause */
	size_t worst_step;
	float *shares; /* [step], the upper end; NAN: not known in that step. NULL: never paused */
	double paused_s; /* at most; NAN not known */
};

struct pause_queue { /* one priority of one port */
	uint32_t entity;
	const char *device, *port;
	int priority;
	bool lossless;
	const struct fabric_port *fabric_port; /* NULL: the configuration does not name it */
	struct pause_line way[PAUSE_WAYS];
	double storms, restores, storm_drops; /* of the PFC watchdog; NAN: not counted */
	struct amount marked;
};

/* What one device did in the steps in which it paused neighbours. */
struct pause_order {
	const char *device;
	size_t paused; /* steps */
	size_t unmarked; /* of them, without one mark though marks are counted */
	bool counted; /* marks are counted */
	bool alive; /* ... and a mark was seen once */
	double marked; /* packets of the whole range; NAN not counted */
};

struct pause_range {
	struct range_plan plan;
	struct range_read read;
	struct pause_queue *v;
	size_t n, cap;
	struct pause_order *orders;
	size_t n_orders, cap_orders;
};

/* pause_range_read - of the client's time range; @device is a glob, NULL for all. 0, also where
 * there is no data, or a negative errno with @e. pause_range_done() @ret in either case. */
int pause_range_read(
	struct client *client, const char *device, struct pause_range *ret, struct err *e);
void pause_range_done(struct pause_range *range); /* also for rw_cleanup() */

#endif
