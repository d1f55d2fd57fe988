/*
 * storage_phase - stretches in which a job does not exchange but many of its hosts send to a few:
 * checkpoints. Do they take longer than before for the same bytes? Then what takes them is slow;
 * the network has shown, on the same paths, that it can carry them faster. Pure.
 *
 * The length of a stretch is the time of exchange that it costs, the sum of what its blocks lack of
 * the usual rate: so that blocks need not be shorter than it. Source: training facts, 1 and 4
 * (checkpoints; slow storage is no fault of the network).
 */
#ifndef RW_ANALYZERS_STORAGE_PHASE_H
#define RW_ANALYZERS_STORAGE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/rhythm.h"
#include "config/fabric.h"
#include "db/series/series.h"

struct arena;

struct storage_phases {
	/* whole ones on either side of the change, at least two each */
	size_t n_before, n_after;
	double before_s, after_s; /* medians of their lengths */
	/* what the receivers got beyond their share of the exchange, in the last of each side */
	double octets_before, octets_after;
	double lost_ratio; /* share of wall time by which they are longer */
	int64_t since_ns; /* start of the first longer one */
	const struct fabric_port **receivers; /* ports of those that take, most first */
	size_t n_receivers, n_hosts; /* n_hosts: ports of the job that were looked at */
};

/*
 * storage_slower - true when the later stretches are clearly longer, a few receivers take nearly
 * all that is sent in them, and that is about as much as before. @past holds M_PORT_OUT_OCTETS of
 * the time @throughput tells of. Lives in @a.
 */
bool storage_slower(const struct fabric *fabric, const struct throughput *throughput,
	const struct window *past, struct arena *a, struct storage_phases *ret);

#endif
