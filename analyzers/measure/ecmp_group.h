/*
 * ecmp_group - what the measuring of an ECMP group takes as given: its options, its limits, and the
 * ports that a member stands for.
 */
#ifndef RW_MEASURE_ECMP_GROUP_H
#define RW_MEASURE_ECMP_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "config/fabric.h"

struct arena;

/* Samples below this number say nothing of how many flows there are. */
#define ECMP_PACKETS_MIN 100
/* Captured packets must account for this share of the octets that were sent. */
#define ECMP_CAPTURED_MIN 0.5

/* Options of the analyzer ecmp_imbalance; commands that measure history use the same. */
struct ecmp_options {
	double warn, critical; /* imbalance: hottest member over the mean, minus 1 */
	double load_floor, min_coverage, spread; /* see struct ecmp_params */
	int64_t window_ns; /* of commands that measure history */
	int64_t detect_ns; /* of the analyzer; 0 automatic */
	int64_t hold;
};

struct ecmp_params {
	double warn; /* imbalance above which a group is uneven */
	/* the same where packets are spread one by one, both ways; 0: as .warn */
	double spread;
	double load_floor; /* mean utilisation at or below which a window is idle */
	double min_coverage; /* share of the window's samples a member needs to be known */
	int64_t interval_ns; /* usual time between samples */
};

/* ecmp_member_ports - the ports member @index stands for: itself, or all ports of its LAG. The list
 * lies in @a; returns how many. */
size_t ecmp_member_ports(const struct fabric_group *group, size_t index, struct arena *a,
	const struct fabric_port ***ret);

#endif
