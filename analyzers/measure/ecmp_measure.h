/*
 * ecmp_measure - what an ECMP group did in a window, and what to call it. Pure; shared by the
 * analyzer and by the commands that measure history. Results live in the arena, names are borrowed
 * from the fabric.
 */
#ifndef RW_MEASURE_ECMP_MEASURE_H
#define RW_MEASURE_ECMP_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/ecmp_group.h"
#include "config/fabric.h"
#include "db/model/ecmp.h"
#include "db/series/series.h"

struct arena;

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

#endif
