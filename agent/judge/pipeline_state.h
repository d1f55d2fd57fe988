/*
 * pipeline_state - what the files of the pipeline share: pipeline.c (life, replay), intake.c,
 * windows.c and inventory.c. Nothing else includes it. Loop thread.
 */
#pragma once

#include "agent/judge/pipeline.h"
#include "agent/judge/windows.h"
#include "analyzers/analyzer.h"
#include "base/log.h"
#include "db/series/series_memory.h"

/* One analyzer and the window it is in. */
struct slot {
	const struct analyzer *analyzer;
	const void *options;
	int64_t window_ns, stride_ns, past_ns;
	int64_t next_end_ns; /* end of the window under way */
	bool begun; /* its first window was closed: .next_end_ns is fixed */
};

/* The window that analyzers of one length share; filled anew for each end. */
struct shared_window {
	struct arena *arena;
	int64_t from_ns, to_ns;
	bool filled;
	struct window window;
	/* the past (to - past_ns, to] filled last; 0 = none yet */
	int64_t past_ns;
	struct window past;
	struct analyzer_shared shared;
};

/* The other end of a port, as LLDP shows it. */
struct port_peer {
	char *of_device, *of_port; /* whose other end it is */
	char *device, *port;
};

/* How late samples arrive after the time that they carry: the latest of this span of time and of
 * the one before. Live only. */
struct arrival_lag {
	int64_t begun_ns, since_ns; /* of all, of this span; 0: no sample yet */
	int64_t now_ns, before_ns; /* the largest lag of this span, of the one before */
};

/* The window that is judged, and what waits for it: windows.c. Its columns are lent from memory, so
 * nothing may come in meanwhile. */
struct judging {
	struct slice *slice; /* NULL: all at once */
	int64_t slice_ns;
	struct loop_timer *timer;
	bool waits; /* judging is under way: samples wait */
	bool runs; /* .slice is at work */
	bool delivers; /* what it found is handed on */
	size_t handed; /* so many findings of .found so far */
	int64_t limit_ns; /* windows that ended by then are due */
	int64_t until_ns; /* monotonic: none begins later; 0: no such end */
	struct slot *slot; /* NULL: memory is trimmed */
	struct analyzer_in in;
	struct finding_list found;
	int rc;
	bool empty; /* nothing came in the window */
	struct sample *samples; /* that wait */
	size_t n_samples, cap_samples;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
};

struct pipeline {
	const struct config *config;
	struct entities *entities;
	struct store *store; /* NULL: nothing is kept */
	struct ledger *ledger;
	struct sink sink;
	struct pipeline_counters counters;
	int64_t now_ns; /* of the last advance */
	int64_t (*clock)(void *arg); /* NULL in replay */
	void *clock_arg;

	/* intake */
	struct arrival_lag lag;
	struct series_memory *memory;
	int64_t rewound_ns; /* to when the clock was set back last; 0: never */
	bool begun; /* a sample or flow that may be analysed has come */
	int64_t first_ns, newest_ns; /* of what may be analysed */
	struct sample *batch; /* for the store */
	size_t n_batch, cap_batch;
	struct complaint refusal;

	/* windows */
	struct slot *slots; /* by phase */
	size_t n_slots;
	struct shared_window shared;
	struct arena *turn; /* one analyzer's findings */
	struct judging judging;
	bool feeding; /* in pipeline_feed(): judged at once */
	uint16_t metrics[METRIC_COUNT]; /* what the analyzers read */
	size_t n_metrics;
	uint16_t past_metrics[METRIC_COUNT]; /* those of their pasts */
	size_t n_past_metrics;
	bool wanted[METRIC_COUNT], want_flows;
	int64_t interval_ns, longest_ns, past_ns; /* the longest window and past */
	int64_t closed_ns; /* latest end of a closed window */
	int64_t trimmed_ns;
	struct golden_keep golden;
	struct class_keep classes;
	struct arena *expected_arena; /* .expected and its names */
	struct expected_change *expected;
	size_t n_expected;

	/* priming: the database's samples run through the windows again */
	bool priming;
	int64_t prime_from_ns, prime_known_ns;
	struct smap *stored; /* findings that are in the store already; NULL = none */
	int64_t stored_until_ns; /* the newest of them */
	bool fed; /* samples and flows are stored by others */
	bool unjudged; /* a judge judges what this agent collects */

	/* names that nobody uses any more: pipeline.c */
	int64_t forget_ns; /* beyond what the windows need */
	int64_t names_due_ns; /* by the ticks' clock */
	uint64_t names_ticket; /* what the store must have committed; 0 = nothing waits */
	uint64_t names_released;

	/* inventory */
	struct target_table *targets;
	struct smap *peer_index; /* "device\0port" -> index into .peers */
	struct port_peer *peers;
	size_t n_peers, cap_peers;
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *neighbors, size_t n);
	void *neighbors_arg;
};
