/*
 * pause/answer - `report pause`: who paused whom over a time range, and for how long; what the PFC
 * watchdog did, and whether ECN marked before. From what pause_range read. Pure.
 *
 * A column: its member here; its row in rows.c, its value in answer.c.
 */
#ifndef RW_ANSWERS_PAUSE_H
#define RW_ANSWERS_PAUSE_H

#include "agent/answers/common/chart.h"
#include "agent/answers/common/limits.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/answers/pause/pause_range.h"
#include "agent/document/shape.h"

struct arena;
struct page;

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

#endif
