/*
 * input - what is measured and judged: one window of samples of one fabric, and what was measured
 * of it already. Everything is lent until the window is done.
 */
#pragma once

#include "base/base.h"

#include "config/fabric.h"
#include "db/series/series.h"

struct links;
struct nics;
struct observed;
struct pause_graph;

/* What analyzers of the same window share: made by the first that asks, pure as they are. NULL in
 * analyzer_in: nothing is shared. */
struct analyzer_shared {
	struct arena *arena; /* lives as long as the window */
	const struct observed *observed;
	const struct pause_graph *pause;
	struct links *links;
	const struct nics *nics;
};

/* A change of a setting somebody agreed to (an accepted tuning sheet): of all ports of a device at
 * a priority. Values as read: alpha by its exponent. */
struct expected_change {
	const char *device;
	int priority;
	uint16_t metric;
	double value;
	int64_t from_ns, until_ns; /* of the change */
};

struct analyzer_in {
	const struct fabric *fabric;
	const struct window *window;
	/* (to - past, to] of the metrics in .past of the analyzer; NULL when it wants none */
	const struct window *past;
	const void *options; /* the analyzer's own struct */
	int64_t interval_ns; /* the usual time between samples, for coverage */
	int64_t stride_ns; /* how much of the window no earlier one held; 0: all of it */
	struct arena *arena; /* findings and their strings go here */
	struct analyzer_shared *shared;
	/* Has a subject on @device ever been raised by @analyzer? If not, that it is well need not
	 * be told, only counted. NULL: tell all. */
	bool (*follows)(const void *arg, const char *analyzer, const char *device);
	const void *follows_arg;
	/* called now and then by long work: its caller may let others go first; NULL: nobody waits
	 */
	void (*pause)(void *arg);
	void *pause_arg;
	const struct expected_change *expected; /* lent */
	size_t n_expected;
};

static inline void analyzer_pause(const struct analyzer_in *in)
{
	if (in->pause)
		in->pause(in->pause_arg);
}
