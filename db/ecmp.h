/* ecmp - what one ECMP group did in one window: a noun, measured by analyzers/ecmp_imbalance, read by reports. */
#ifndef RW_DB_ECMP_H
#define RW_DB_ECMP_H

#include <stddef.h>
#include <stdint.h>
#include "db/finding.h"

enum ecmp_verdict { ECMP_IDLE, ECMP_UNKNOWN, ECMP_EVEN, ECMP_WITHIN_CHANCE, ECMP_UNLUCKY, ECMP_LOW_ENTROPY, ECMP_SKEWED };
const char *ecmp_verdict_name(enum ecmp_verdict v); /* "idle" "unknown" "even" "within chance" "unlucky placement" "low entropy" "skewed" */

struct ecmp_member {
	const char *port, *peer;     /* borrowed from the fabric */
	uint64_t octets;             /* sent in the window */
	uint64_t speed_bps;          /* 0 unknown */
	double utilization_ratio;    /* NAN unknown */
	enum quality quality;
};

struct ecmp_measure {
	const char *device, *group;
	int64_t from_ns, to_ns;
	struct ecmp_member *members;
	size_t n_members, n_known;
	size_t hot;                  /* index of the member with the most load for its capacity */
	double imbalance_ratio;      /* max/mean - 1 over members weighed by capacity; NAN unknown */
	double max_minus_min_ratio, cov_ratio, jain_ratio;
	double load_ratio;           /* mean utilisation */
	double n_eff;                /* NAN: no packets */
	uint32_t flows;              /* 5-tuples seen, 0 = no packets */
	double expected_ratio, expected_p95_ratio, expected_p999_ratio; /* hash chance for n_eff; NAN unknown */
	double coverage_ratio;
	enum ecmp_verdict verdict;
};

#endif
