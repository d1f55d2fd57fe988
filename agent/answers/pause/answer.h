/*
 * pause/answer - `report pause`: who paused whom over a time range, and for how long; what the PFC
 * watchdog did, and whether ECN marked before. From what pause_range read. Pure.
 *
 * A column: its member here; its row in rows.c, its value in answer.c.
 */
#pragma once

#include "base/base.h"
#include "agent/answers/common/chart.h"
#include "agent/answers/common/limits.h"
#include "agent/answers/common/range_read.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/document/shape.h"
#include "analyzers/measure/pause/pause_share.h"
#include "config/fabric.h"

/*
 * pause_range - pause time per port, priority and direction over a time range and in each step of
 * it, from whatever the store keeps; and marks of ECN beside it. Measured where the switch counts
 * time, an upper bound where it counts frames: analyzers/measure/pause/pause_share.h, as in the
 * detectors. One thread.
 */

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

/* ---- answer -------------------------------------------------------------- */

/* One direction of one priority of one port. */
struct pause_port {
	const char *device, *port;
	uint64_t priority;
	bool lossless;
	const char *peer, *host;
	enum pause_way direction;
	const char *words; /* "node-112 paused us" */
	double lo_ratio, hi_ratio; /* of the range */
	const char *quality; /* "time", "frames" */
	double paused_s; /* at most */
	double worst_lo_ratio, worst_hi_ratio; /* of the step with most pause */
	wall_t worst_at; /* its end */
	uint64_t frames;
};

struct pause_watchdog {
	const char *device, *port;
	uint64_t priority;
	const char *host;
	double storms, restores, dropped;
};

struct pause_ecn_order {
	const char *device;
	uint64_t steps_paused, steps_unmarked;
	double marked;
	const char *words;
};

struct pause_limits {
	double warn_ratio, critical_ratio;
};

struct pause_answer {
	json_t *incidents;
	const char *source;
	double step_s, coverage_ratio;
	struct pause_limits limits;
	struct pause_port
		*ports; /* origins, then most paused first; both directions are rows of their own */
	size_t n_ports;
	uint64_t ports_paused, ports_known;
	struct pause_watchdog *watchdog;
	size_t n_watchdog;
	bool watchdog_counted;
	struct pause_ecn_order *ecn_order;
	size_t n_ecn_order;
	struct chart chart;
	struct pause_tree *trees;
	size_t n_trees;
	size_t worst_step; /* in which some port was paused most; SIZE_MAX without pause */
};
extern const struct shape pause_port_shape, pause_answer_shape, pause_watchdog_shape,
	pause_ecn_order_shape;
extern const struct shape_table pause_ports_table;

/* pause_answer_make - fills @ret but for its trees of waiting; @ret->incidents is there: a device
 * that one of them names is no problem of its own. Adds figures, missing data and the problems of
 * ports over @limits to the frame @doc. It lies in @a. */
void pause_answer_make(struct pause_answer *ret, json_t *doc, const struct pause_range *range,
	const struct limit_pair *limits, struct arena *a);

/* pause_page - the answer below the frame of @doc; the caller owns it. */
struct page *pause_page(const json_t *doc, const void *answer);
