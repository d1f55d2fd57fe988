/*
 * storage_phase - checkpoints: phases in which a job does not exchange, but many of its hosts send
 * to a few. When they take longer than before for the same bytes, the receivers (storage) are slow:
 * on the same paths the network has carried these bytes faster. Pure.
 *
 * The length of a phase is the time of exchange that it costs: the sum over its blocks of what they
 * lack of the usual rate. So blocks may be longer than a phase.
 */
#ifndef RW_MEASURE_STORAGE_PHASE_H
#define RW_MEASURE_STORAGE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/rhythm.h"
#include "config/fabric.h"
#include "db/series/series.h"

struct arena;

struct storage_phases {
	/* whole ones on either side of the change: at least two before it, one after it */
	size_t n_before, n_after;
	double before_s, after_s; /* medians of their lengths */
	/* what the receivers got beyond their share of the exchange, in the last of each side */
	double octets_before, octets_after;
	double lost_ratio; /* of the steps between them, by the time that they are longer */
	int64_t since_ns; /* start of the first longer one */
	const struct fabric_port **receivers; /* ports of those that take, most first */
	size_t n_receivers, n_hosts; /* n_hosts: ports of the job that have samples */
};

/*
 * storage_slower - true when the later phases are clearly longer, a few receivers take nearly all
 * that is sent in them, that is about as much as before, and the exchanges between the phases have
 * not become slower by the share @warn. @past holds M_PORT_OUT_OCTETS for the time of @throughput.
 * The result lives in @a.
 */
bool storage_slower(const struct fabric *fabric, const struct throughput *throughput,
	const struct window *past, double warn, struct arena *a, struct storage_phases *ret);

#endif
