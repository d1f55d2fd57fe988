/*
 * job_limits - which change of a job's throughput counts: the options of the analyzer steps.
 * Screens and metrics judge step times by the same ones.
 */
#ifndef RW_MEASURE_JOB_LIMITS_H
#define RW_MEASURE_JOB_LIMITS_H

#include <stdint.h>

struct steps_options {
	double warn; /* share of throughput */
	int64_t window_ns, past_ns, hold;
};

#endif
