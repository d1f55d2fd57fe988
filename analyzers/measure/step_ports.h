/*
 * step_ports - which ports of a job show its steps, and nothing else.
 *
 * In bulk-synchronous training every port moves the same octets in each step, so when the job
 * becomes slower all ports fall by the same share. A port that falls by less moves more than the
 * steps: frames that are sent again, for others do not arrive; another class of traffic; many that
 * send to one. Octets of all ports would make the loss smaller than it is. So where ports disagree
 * about a change, those count that show most of it, if a quarter of the ports agrees. Pure.
 */
#pragma once

#include "base/base.h"

struct step_ports {
	bool *counts; /* by port */
	double surplus_ratio; /* what all move since the job is slower, over what the steps do */
	double fast_level; /* octets a second of all ports while it is not */
	const size_t *fast; /* blocks in which it is not, for step_ports_fit() */
	size_t n_fast;
};

/*
 * step_ports - looks at the surest change of @rate[0..n), octets a second of the whole job in
 * blocks, and at @each[port * n + block]; NAN: not seen. False: no change is sure, or no port is to
 * be left out. @ret lives in @a.
 */
bool step_ports(const double *each, size_t n_ports, const double *rate, size_t n, struct arena *a,
	struct step_ports *ret);

/* step_ports_fit - replaces @rate[0..n) by @counted, what the ports that count move, as large as
 * what all ports moved where the job is not slower. */
void step_ports_fit(const struct step_ports *ports, const double *counted, double *rate, size_t n);
