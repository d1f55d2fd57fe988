/*
 * window_walk - the past as a row of windows of one length, at multiples of that length: how a
 * report, the command steps and threshold tuning read history. The windows are those that the
 * detectors saw, since the pipeline aligns its windows in the same way.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/ecmp_measure.h"
#include "db/model/finding.h"
#include "db/series/series.h"

struct client;

/* window_align - the whole windows of (*@from_ns, *@to_ns]; false, and both untouched, when there
 * is none. */
bool window_align(int64_t window_ns, int64_t *from_ns, int64_t *to_ns);

/*
 * window_bounds - the whole windows of (*@from_ns, *@to_ns] that lie between the oldest and the
 * newest sample of the database.
 *
 * 0, -ENODATA when there is none, or another negative errno with @e filled. Both times are changed
 * on success only.
 */
int window_bounds(
	struct client *client, int64_t window_ns, int64_t *from_ns, int64_t *to_ns, struct err *e);

struct window_plan {
	const struct window_spec *spec;
	int64_t from_ns, to_ns; /* (from, to]; the last window is shorter where they do not fit */
	int64_t window_ns;
	/* Windows read from the database in one piece. 0: as many as hold about a million samples
	 * (25 MB), at most 64. One query for each window would cost more than the measuring. */
	size_t at_once;
};

/* One window, in order of time, with its samples and the flow intervals that lie within it. All is
 * lent until the call returns; @turn is emptied then. Non-zero stops the walk and is returned. */
typedef int window_fn(void *arg, const struct window *window, struct arena *turn);

/* 0, what @fn returned, or a negative errno with @e filled. More than a thousand windows in a row
 * without any data are left out: the walk takes time in proportion to the data. */
int window_walk(struct client *client, const struct window_plan *plan, window_fn *fn, void *arg,
	struct err *e);

/* window_spacing - the usual time between samples of a series: the median gap, ns. NAN when fewer
 * than four samples show it. @a is scratch. */
double window_spacing(const struct series *series, struct arena *a);

/*
 * ecmp_read - the ECMP groups of the fabric, measured over the windows of a time range of the past
 * with the detector's own measuring and options: what a report says is what the detector saw.
 */

struct ecmp_history {
	const struct ecmp_options *options;
	int64_t from_ns, to_ns; /* the windows that were measured; equal when there is none */
	size_t windows;
};

/* Called once per window, in order; everything is lent until it returns. Non-zero stops and is
 * returned. */
typedef int ecmp_history_fn(void *arg, const struct window *window,
	const struct ecmp_measure *measure, size_t n, struct arena *turn);

/*
 * ecmp_history_each - measure every window of the client's time range: at multiples of the
 * detector's window, from the first whole one of the database to the last that has ended (one
 * interval before now while an agent writes, so that its samples are in).
 *
 * 0 with *@ret filled, what @fn returned, or a negative errno with @e filled.
 */
int ecmp_history_each(struct client *client, ecmp_history_fn *fn, void *arg,
	struct ecmp_history *ret, struct err *e);

/*
 * state_read - what switches told last of their settings, and for how long that is believed.
 */

struct observed;

/*
 * state_age - for how long a state (link state, speed, MTU) is believed after it was told,
 * ns. A recorded case, whose devices have no address, tells a state when it begins to hold and not
 * again: there it holds until the next one.
 */
int64_t state_age(const struct client *client);

/* state_observe - thresholds, pools, speeds and cables of the client's fabric as they were read
 * back last; counters are left out. In @a. 0, or negative errno with @e. */
int state_observe(
	struct client *client, struct arena *a, const struct observed **ret, struct err *e);
