/*
 * congestion_lead - does one host lead all others in pause, and which receivers' queues are marked
 * far more than those of their peers? Numbers only; detect/congestion_hosts.c judges them. Pure.
 *
 * Both come from comparing hosts in one window, since hosts of one job do the same at the same
 * time. A queue that carries no more than its peers and marks many times as much receives from a
 * sender that does not slow down: more load, a slower port, or a crowded path would show elsewhere.
 */
#ifndef RW_MEASURE_CONGESTION_LEAD_H
#define RW_MEASURE_CONGESTION_LEAD_H

#include "analyzers/measure/congestion_measure.h"

/* congestion_lead - fills congestion->lead. @many: share of a queue's packets, from which it counts
 * as congested. Call it after congestion_measure(). */
void congestion_lead(struct congestion *congestion, double many);

/* Does a queue other than those of @host carry far more marks than its peers? */
bool lead_squeezes(const struct congestion *congestion, const char *host);

/* Bytes that @host sends, against the median host-facing port; NAN unknown. */
double lead_load(const struct congestion *congestion, const struct paused_host *host);

#endif
