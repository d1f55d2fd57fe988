/*
 * job_limits - which change of a job's throughput counts: the options of the analyzer steps.
 * Screens and metrics judge step times by the same ones.
 */
#pragma once

#include "base/base.h"

#include "db/model/finding.h"

struct steps_options {
	double warn; /* share of throughput */
	int64_t window_ns, past_ns, hold;
};

/* Shares of a job's wall time: what loses less is information. */
#define JOB_LOSS_WARNING 0.1
#define JOB_LOSS_CRITICAL 0.2

static inline enum severity job_loss_severity(double lost)
{
	if (lost >= JOB_LOSS_CRITICAL)
		return SEV_CRITICAL;
	if (lost >= JOB_LOSS_WARNING)
		return SEV_WARNING;
	return SEV_INFO;
}
