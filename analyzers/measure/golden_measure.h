/*
 * golden_measure - the golden signals of one window: pause time with its origin, marks, drops,
 * errors, ECMP imbalance. One measuring for the screen, the web page, the exported metrics and the
 * baselines that the agent keeps. Pure; texts live in the arena, names are borrowed from the
 * fabric.
 *
 * Limits are the options of the detectors, so a signal is bad from where its detector reports.
 * Open incidents are not known here; the report that shows the signals adds them. Exchange time and
 * step time come from the jobs' rhythm, not from one window, and stay unknown here.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/links.h"
#include "analyzers/measure/pause/pause_limits.h"
#include "db/model/finding.h"
#include "db/model/golden.h"

struct golden_in {
	const struct analyzer_in *in; /* the newest window; observed and shared as by analyzers */
	/* The counters of golden_metrics further back, for those that are refreshed more slowly
	 * than a window is long; NULL: none. */
	const struct window *back;
	const struct ecmp_measure *groups; /* of the newest ECMP window */
	size_t n_groups;
	const struct pause_storm_options *pause;
	const struct link_health_options *links;
	const struct ecmp_options *ecmp;
};

struct golden_value {
	double value, value_low; /* NAN unknown; low is less where only a bound is known */
	double limit; /* from where on its detector reports; NAN: no number is bad by itself */
	bool bound; /* value is an upper bound, from frames */
	enum quality quality;
	enum golden_state state;
	/* the subject: where the worst comes from; NULL and PRIO_NONE where it does not apply */
	const char *device, *port, *host;
	int priority;
	const char *where, *why; /* for people; NULL: nothing to say */
	double refresh_s; /* time between two values, where it is longer than the interval; NAN */
};

enum golden_role {
	GOLDEN_ROLE_UNKNOWN,
	GOLDEN_ROLE_ORIGIN,
	GOLDEN_ROLE_PASSES, /* waits, and makes others wait */
	GOLDEN_ROLE_VICTIM /* waits only */
};
const char *golden_role_name(enum golden_role role);

struct golden_paused { /* one port and priority that may not send */
	const char *device, *port; /* the switch port it is counted at */
	int priority;
	const char *peer, *host; /* the other end; NULL */
	bool sent; /* we paused the neighbour; else the neighbour paused us */
	double ratio, ratio_low; /* share of the window */
	bool bound;
	enum golden_role role;
	const char *sentence; /* "node-047 paused us" */
};

enum { GOLDEN_PAUSED_MAX = 64 };

struct golden_measured {
	struct golden_value v[GOLDEN_COUNT];
	struct golden_paused paused[GOLDEN_PAUSED_MAX]; /* origins first, then by time */
	size_t n_paused;
	size_t n_paused_all; /* ports and priorities with pause in the window */
};

/* golden_measure - @ret is filled whole. */
void golden_measure(const struct golden_in *in, struct golden_measured *ret);

/* How long golden_in.back is, at least. Devices refresh some counters every 10 s, however often
 * they are asked. */
#define GOLDEN_BACK_NS (60 * INT64_C(1000000000))

/* golden_wants_back - does golden_in.back help? Where the window is too short for counters that
 * are refreshed slowly, or one of them had no value inside it, although it had one before. */
bool golden_wants_back(const struct window *window);

/* The counters that may be refreshed slowly. */
extern const uint16_t golden_metrics[];
extern const size_t golden_n_metrics;
/* All that the measuring reads of a window: of observe_metrics those that say something of load,
 * pause, marks and loss. */
extern const uint16_t golden_window_metrics[];
extern const size_t golden_n_window_metrics;
