/*
 * pause_document - the documents behind `pause tree|ports`; rows.c has their tables.
 */
#pragma once

#include <jansson.h>

#include "agent/document/shape.h"
#include "base/base.h"

struct client;

/* An edge: who waits for whom. It stands for all parallel links between two neighbours. */
struct pause_wait {
	const char *root;
	uint64_t depth;
	int priority;
	const char *waits, *role; /* "culprit", "suspect", "victim" */
	const char **ports; /* that wait, or hosts */
	size_t n_ports;
	const char *paused_by;
	double lo_ratio, hi_ratio, least_ratio;
	bool measured;
	const char *confidence; /* "high", "med", "low" */
	uint64_t victims; /* hosts; COUNT_UNKNOWN: a switch waits */
};
struct pause_pile { /* a queue that a sender fills */
	const char *device, *port, *host;
	double share_ratio;
};
/* A sender is a host that an incident accuses although its switch pauses it: it does not slow down,
 * and fills .queues. */
struct pause_tree {
	int priority;
	const char *origin, *device, *port, *host; /* "host", "queue", "sender" */
	double level_lo_ratio, level_hi_ratio;
	double peak_ratio; /* NAN: not measured */
	bool watchdog, measured;
	double utilization_ratio, share_ratio, next_share_ratio;
	bool clear;
	const char *confidence, *level; /* "L1", "L2", "L3" */
	uint64_t switches, hosts;
	const char *incident, *role, *why; /* NULL: no incident accuses it */
	struct pause_pile *queues;
	struct pause_wait *edges;
	size_t n_queues, n_edges;
	wall_t from, to; /* of its window, where trees of several stand together */
};
struct pause_ring {
	int priority;
	bool still;
	const char **ports; /* "device:port" */
	size_t n_ports;
};
struct pause_tree_answer {
	const char *incident, *differs_because;
	bool observable;
	struct pause_tree *trees;
	struct pause_ring *cycles;
	struct pause_wait *rows; /* the edges of all trees, for csv */
	size_t n_trees, n_cycles, n_rows;
	uint64_t waiting;
	double unresolved;
	const char *drops_not_counted;
	uint64_t lossless_drops, watchdog_events; /* COUNT_UNKNOWN: not counted */
	wall_t from, to;
};
struct pause_pair { /* a priority of a port */
	const char *device, *port, *peer;
	int priority;
	bool origin; /* a tree of pause begins here, clearly */
	double rx_lo_ratio, rx_hi_ratio;
	enum maybe rx_measured;
	const char *rx_quality; /* "time", "frames" */
	double tx_lo_ratio, tx_hi_ratio;
	enum maybe tx_measured;
	const char *tx_quality;
	uint64_t rx_frames, tx_frames;
};
struct pause_ports_answer {
	bool observable;
	struct pause_pair *ports;
	size_t n_ports;
	uint64_t total; /* more than .n_ports when so many were not asked for */
	wall_t from, to;
};
extern const struct shape pause_tree_shape, pause_tree_answer_shape, pause_ports_answer_shape;

struct pause_ask {
	int priority; /* PRIO_NONE: all */
	const char *incident; /* its id: its window and priority are taken; NULL */
	const char *device, *port; /* globs, NULL = all; for the ports */
	bool all; /* ports: those without pause too */
	size_t top; /* ports: so many, origins and those paused longest first; 0: all */
	bool no_origins; /* ports: .origin is not asked for, which needs the loads of all ports */
};

/*
 * pause_tree_document, pause_ports_document - over the client's time range, or the window of the
 * incident. 0 with a new reference in *@ret; -EINVAL when no port matches, -ENOENT when there is no
 * such incident, -ENODATA when its window is not known, or another negative errno; @e says why.
 */
int pause_tree_make(struct client *client, const struct pause_ask *ask, struct arena *a,
	struct pause_tree_answer *ret, struct err *e); /* the same as a struct in @a */
int pause_ports_make(struct client *client, const struct pause_ask *ask, struct arena *a,
	struct pause_ports_answer *ret, struct err *e);
int pause_tree_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e);
int pause_ports_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e);
