/*
 * ecmp_measure - what an ECMP group did in a window, and what to call it. Pure; shared by the
 * analyzer and by the commands that measure history. Results live in the arena, names are borrowed
 * from the fabric.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/observe.h"
#include "config/fabric.h"
#include "db/model/finding.h"
#include "db/series/series.h"

/* ---- ecmp_group ------------------------------------------------------------ */

/*
 * ecmp_group - what the measuring of an ECMP group takes as given: its options, its limits, and the
 * ports that a member stands for.
 */

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

/* ---- hash_fields ----------------------------------------------------------- */

/*
 * hash_fields - what the ECMP hash of a switch reads, as the switch says itself (cfg.hash_fields).
 * RoCE flows between two addresses differ in their UDP source port only (the destination port is
 * 4791, the destination QP lies deeper): a hash that does not read it puts them all on one link.
 */

/* hash_fields - the newest value in @window; NULL when the device did not say. Lives with the
 * window's entities. */
const char *hash_fields(const struct window *window, const char *device);

/* hash_fields_blind - are all fields of the list known, and none of them tells RoCE flows between
 * two addresses apart? A word that is not known may do so: false. */
bool hash_fields_blind(const char *fields);

/* hash_seed - the seed of the device's hash as read back; false when it is not known. */
bool hash_seed(const struct window *window, const char *device, uint64_t *ret);

/* ---- ecmp_packets ---------------------------------------------------------- */

/*
 * ecmp_packets - what captured packets say of an ECMP group: effective flows, bursts, and the flows
 * of one member. Pure; results lie in the arena.
 */

/* ecmp_packets - fills n_eff, tuples, flows, packets, sampling, flows_note and the members' burst,
 * CE and packet counts of @measure; its loads must be in place. */
void ecmp_packets(const struct fabric_group *group, const struct window *window, struct arena *a,
	struct ecmp_measure *measure);

/*
 * ecmp_flows - the flows seen leaving member @index of the group in the window, most octets first,
 * at most @max. Counts as seen (not scaled by the sampling). Returns how many.
 */
size_t ecmp_flows(const struct fabric_group *group, size_t index, const struct window *window,
	struct arena *a, size_t max, struct finding_flow **ret);

/* ---- ecmp_measure ---------------------------------------------------------- */

/* Metrics the measuring reads, for window specs. */
extern const uint16_t ecmp_metrics[];
extern const size_t ecmp_n_metrics;

/*
 * Measure one group: loads, imbalance, effective flows; the verdict only as far as IDLE and UNKNOWN
 * go (else EVEN).
 *
 * Load of a member = octets per second of covered time, over its capacity; where any capacity is
 * unknown all members weigh alike. share_i = load_i / mean load, weighed by capacity; imbalance =
 * max share - 1, spread = max - min share, CoV = sqrt(sum c_i (share_i - 1)^2 / sum c_i), Jain = 1
 * / (1 + CoV^2): Jain's (sum x)^2 / (m sum x^2) when weights are equal.
 *
 * n_eff = (sum w)^2 / sum w^2 over the 5-tuples sent by the members. From stored flow rows only: a
 * 5-tuple among an interval's top flows is followed through the window; the rest is known per
 * interval by its sum of squares, and taken as the same flows throughout. That errs towards few
 * flows, so towards luck. In sampled captures each sum of squares is freed of the sampling's own
 * share (E[n(n-1)] = square of the expectation). Unknown, with the reason, when a loaded member was
 * not captured, when the packets account for less than half of the octets, or when samples are
 * fewer than ECMP_PACKETS_MIN.
 */
void ecmp_measure(const struct fabric_group *group, const struct window *window,
	const struct ecmp_params *params, struct arena *a, struct ecmp_measure *ret);

/*
 * ecmp_judge - the verdict of a measured group. @n_judged: groups judged in this window. The limit
 * of chance is exceeded by luck in one of 1,000 such windows (Bonferroni correction over
 * @n_judged), so that a fabric of many groups does not report a fault every minute.
 */
void ecmp_judge(struct ecmp_measure *measure, const struct ecmp_params *params, size_t n_judged);

/* ecmp_deviation - what the verdict rests on: of sprayed packets also the member that carries less
 * counts. A ratio; NAN unknown. */
double ecmp_deviation(const struct ecmp_measure *measure);
/* ecmp_odd_member - the index of the member that stands out: of sprayed packets the one that
 * carries less, where it is further from its share. */
size_t ecmp_odd_member(const struct ecmp_measure *measure);

/* ecmp_measure_all - every group of two or more members, ordered by device and group, measured and
 * judged. */
size_t ecmp_measure_all(const struct fabric *fabric, const struct window *window,
	const struct ecmp_params *params, struct arena *a, struct ecmp_measure **ret);

/* ---- ecmp_harm ------------------------------------------------------------- */

/* ecmp_harm - does anyone wait because a member of an ECMP group carries more than the others?
 * Pure. */

/*
 * A synchronous exchange ends when its slowest path ends, so the busiest link for its capacity
 * decides, wherever it is. The hot member lengthens the exchange only when it is busier, over whole
 * windows, than the busiest port to a host. Derived from: step time = compute + max(exchange over
 * all paths). Where no port to a host is polled, the marks of the member's queue and the pause by
 * the next switch decide instead.
 */
enum ecmp_harm_level { ECMP_HARM_UNKNOWN, ECMP_HARM_NONE, ECMP_HARM_SEEN };
struct ecmp_harm {
	enum ecmp_harm_level level;
	double edge_ratio; /* utilisation of the busiest host-facing port; NAN unknown */
	double marks_ratio; /* of the hot member's lossless packets; NAN unknown */
	/* share of the window the next switch paused it, upper end; NAN unknown */
	double pause_ratio;
	/* share of wall time that waits for the hot member beyond everything else; NAN unknown */
	double loss_ratio;
};

/* ecmp_edge - utilisation of the busiest host-facing port, the same for all groups of a window; NAN
 * when none is known. */
double ecmp_edge(const struct observed *observed);
struct ecmp_harm ecmp_harm(const struct observed *observed, const struct fabric_group *group,
	const struct ecmp_measure *measure, double edge_ratio);
