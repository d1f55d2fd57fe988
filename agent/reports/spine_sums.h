/*
 * spine_sums - what the report keeps of each group and member: filled by spine_imbalance.c, printed
 * by spine_document.c. For these two files only.
 */
#ifndef RW_REPORTS_SPINE_SUMS_H
#define RW_REPORTS_SPINE_SUMS_H

#include "agent/reports/spine_imbalance.h"

#define SPINE_FLOWS_KEPT 16
#define SPINE_STEPS 96 /* at most so many parts of the time range; of each the highest window */

struct member_sum {
	const char *port, *peer;
	uint64_t octets, speed_bps;
	double rate_sum; /* bit/s, over the windows in which its link was up */
	uint64_t up, hot_over; /* windows: link up; over the limit and this member the hottest */
	enum ecmp_link link; /* in the newest window */
};

struct group_sum {
	const char *device, *group;
	struct member_sum *members;
	size_t n_members;
	uint64_t windows, over, idle, unknown, down; /* windows: busy, over the limit, ... */
	uint32_t unknown_last; /* windows without data at the end */
	uint64_t verdicts[ECMP_SKEWED + 1]; /* of the windows over the limit */
	double worst; /* highest max/mean-1 of a busy window */
	int64_t worst_ns, since_ns; /* end of the worst window; begin of the newest time over */
	double *steps; /* spine_steps(): highest max/mean-1 of the busy windows, NAN without one;
			* NULL
			*/
	size_t worst_hot; /* hottest member in the worst window */
	bool last_over, equal_weights, hashed;
	bool spread; /* packets are spread one by one: .spread_limit judges, not max/mean-1 */
	uint64_t chosen; /* busy windows in which the senders chose the paths */
	uint64_t over_run; /* busy windows over the limit in a row, up to the newest */
	bool held; /* there were `hold` of them in a row once */
	/* of a spread group, the over window with the highest deviation: it, its limit, whose */
	double spread_ratio, spread_limit;
	size_t spread_odd;
	double *ring, sustained; /* ring: max/mean-1 of the last `hold` busy windows */
	double flows_sum, expected_sum, p95_sum, p999_sum, coverage_sum, load_sum, loss_sum_s;
	uint64_t n_flows_known, n_chance, n_covered;
	const char *flows_note; /* own copy */
	struct finding_flow flows[SPINE_FLOWS_KEPT]; /* of the hot member in the worst window */
	size_t n_flows;
	uint64_t packets;
	uint32_t sampling;
};

struct spine_imbalance {
	struct spine_options options;
	struct group_sum *groups;
	size_t n_groups, cap;
	size_t cursor; /* where the next group is expected */
	size_t last; /* the group added last */
	int64_t window_ns; /* start of the window being added */
	/* Cost of waiting, s: of each window the worst group alone, for all jobs wait for the
	 * slowest link. */
	double window_loss_s, loss_s;
	bool speeds_known;
};

/* How uneven the members of a group are, by their mean rates over the busy windows. NAN when
 * nothing was sent. */
struct spine_spread {
	double imbalance; /* max/mean-1 */
	double max_minus_min; /* (max-min)/mean */
	double cov; /* coefficient of variation: standard deviation / mean */
	double jain; /* Jain's fairness index: 1 is even, 1/n is all on one member */
	double weight, rate; /* sums over the members */
};
struct spine_spread spine_spread_of(const struct group_sum *group);
/* The capacity of a member, or 1 where speeds are not known. */
double spine_weight_of(const struct group_sum *group, const struct member_sum *member);
double spine_rate_of(const struct member_sum *member); /* bit/s */
bool spine_out_of_limits(const struct spine_imbalance *imbalance, const struct group_sum *group,
	const struct spine_spread *spread);
/* The senders chose the path of each packet in every busy window: nothing is judged. */
bool spine_is_chosen(const struct group_sum *group);
/* The member, or the neighbour, that is hot in at least 90 % of the windows over the limit; NULL
 * when there is none. */
const struct member_sum *spine_persistent_of(const struct group_sum *group);
const char *spine_persistent_peer_of(const struct group_sum *group);
size_t spine_members_down(const struct group_sum *group);

/* Parts of the time range; never shorter than a window. */
size_t spine_steps(const struct spine_options *options);

/* @sum / @n; NAN when @n is 0. */
double spine_mean(double sum, uint64_t n);

#endif
