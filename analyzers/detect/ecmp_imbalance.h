/* ecmp_imbalance - options of the analyzer, for commands that measure history with the same
 * thresholds. */
#ifndef RW_ANALYZERS_ECMP_IMBALANCE_H
#define RW_ANALYZERS_ECMP_IMBALANCE_H

#include <stdint.h>

struct ecmp_options {
	double warn, critical, load_floor, min_coverage;
	int64_t window_ns, hold;
};

#endif
