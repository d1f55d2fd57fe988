/*
 * watch_now - what the newest closed windows of a client's database say: golden signals, the most
 * paused ports, the busiest uplinks. Measured by analyzers/measure/golden_measure with the
 * detectors' own options; incidents are not known here.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/golden_measure.h"
#include "db/model/finding.h"
#include "db/series/series.h"

struct client;
struct watch_answer;

struct watch_now {
	struct window window; /* of the signals */
	struct golden_measured measured;
	const struct ecmp_measure
		*groups; /* of the newest window of the commands that measure history */
	size_t n_groups;
	double load_floor; /* a group with this mean utilisation or less is idle */
};

/*
 * watch_now_read - measure; all of @ret lives in @a and in the client's configuration.
 *
 * The window is as long as those of the pause detectors, three sampling intervals, and ends at the
 * newest multiple of an interval for which all samples are in. 0, or negative errno with @e.
 */
int watch_now_read(struct client *client, struct arena *a, struct watch_now *ret, struct err *e);

/* watch_take_now - the window, signals, paused ports and uplinks of the frame; they lie in @a. */
void watch_take_now(const struct watch_now *now, struct arena *a, struct watch_answer *frame);
