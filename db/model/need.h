/*
 * need - which counters each cause needs, and which causes a switch can show by the counters that
 * it delivers. Pure; the rows stand in need.def.
 */
#ifndef RW_DB_NEED_H
#define RW_DB_NEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/model/cause.h"

enum need_kind { NEED_MUST, NEED_HELPS, NEED_NO_COUNTER };

struct need {
	enum cause cause;
	enum need_kind kind;
	const char *words; /* the metrics in plain words */
	const uint16_t *metrics; /* any of these is enough */
	size_t n_metrics; /* 0 with NEED_NO_COUNTER */
};

/* needs_all - every row, those of one cause together; for docs/detectors.md and for tests. Static.
 */
size_t needs_all(const struct need **ret);

enum need_sight {
	NEED_SEES,
	NEED_WEAK, /* seen later, or less surely */
	NEED_BLIND,
	NEED_OTHER /* not seen by counters of a switch: captured packets, or that it answers */
};

#define NEED_MISSING_MAX 8 /* rows of one cause */

/* need_judge - what a switch shows of @cause. @delivered has METRIC_COUNT places. Fills @missing
 * with the rows that are not met and @ret_n with how many: NEED_MUST rows where it is blind, else
 * NEED_HELPS rows. NEED_OTHER for a cause without rows. */
enum need_sight need_judge(enum cause cause, const bool *delivered,
	const struct need *missing[static NEED_MISSING_MAX], size_t *ret_n);

/* need_wants - marks every metric that some row names. @wanted has METRIC_COUNT places. */
void need_wants(bool *wanted);

#endif
