/*
 * flow_rows - what one interval of a capture leaves in history: the row of totals, the largest
 * flows, and the hosts of which the packets say most about congestion control (db/model/flow.h).
 * The same for a live capture, a recorded file and sFlow samples, so that replay equals live.
 */
#ifndef RW_COLLECTORS_FLOW_ROWS_H
#define RW_COLLECTORS_FLOW_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/capture_analysis.h"
#include "db/model/flow.h"

/* Which interval of which capture. */
struct flow_rows_of {
	int64_t from_ns, to_ns;
	uint32_t entity;
	enum flow_dir dir;
	/* packets that the capturing machine lost in the interval: PSN gaps are then unknown */
	uint64_t capture_lost;
};

/* flow_rows - fills @ret and returns how many rows. Does not begin the next interval:
 * capture_analysis_next() does. */
size_t flow_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample ret[FLOW_ROWS_MAX]);

#endif
