/*
 * coarse - hours of training from one measured exchange: steps of compute and exchange with jitter
 * and slow drift, checkpoints, and the time the fault lasts. Goes forward only; what a counter
 * shows at an instant in the middle of an exchange is its share of it. Time in ns since the start
 * of the recording. One rail (plane) is simulated; the others repeat it, see coarse_new().
 */
#ifndef FABRIC_COARSE_H
#define FABRIC_COARSE_H

#include "tests/fabric/measure.h"

enum { VARIANTS = 3 };

struct coarse {
	const struct scenario *s;
	struct measured m[STATES][VARIANTS];
	double scale; /* slices per exchange */
	/* of the exchange in the fault: 1, or what a told excess asks for */
	double stretch;
	/* expected ones; fault: INFINITY when it never ends */
	double compute_ns, exchange_ns, fault_exchange_ns;
	unsigned planes;
	size_t n_ports, n_switches; /* of one plane */
	double *base; /* [plane][port][sum] at the end of the last exchange */
	double *gain; /* [plane]: jitter of this exchange */
	/* the step under way */
	double t_ns, start_ns, end_ns; /* now; the exchange */
	enum state state;
	unsigned variant;
	bool flowing; /* endless: no compute between exchanges */
	double factor; /* of the measured sums in this exchange */
	double next_checkpoint_ns;
	uint64_t random, peak_random, steps, steps_in_fault;
	struct {
		double *v;
		size_t n, cap;
	} step_ns[2]; /* times of the steps so far, without and with the fault */
	double step_started_ns;
	bool busy_since_sample; /* an exchange overlapped the time since coarse_sampled() */
	enum state busy_state;
	/* called as an exchange ends; NULL: nobody asks */
	void (*on_exchange)(void *data, const struct coarse *c);
	void *exchange_data;
	/* the exchange under way is the first with the fault, the first after it */
	bool was_fault, entering, leaving;
	/* a second job: its exchanges add to all sums; what one does to the other is not modelled.
	 * NULL: none */
	struct coarse *other;
	struct scenario other_scenario;
};

/* -ERANGE with words when the scenario asks for a slowdown that its fault does not cause. */
struct err;
int coarse_new(const struct scenario *s, struct coarse **ret, struct err *e);
void coarse_free(struct coarse *c);
/*
 * coarse_continue - @c, new and with other settings, goes on where @old is: the same time and
 * counters, and as much to exchange, so that what the settings do to the length of an exchange
 * shows. @old stays the caller's.
 */
void coarse_continue(struct coarse *c, const struct coarse *old);

bool coarse_fault_on(const struct coarse *c, double t_ns);
/* a link's fault is in the first rail, a host's in all */
bool coarse_plane_hit(const struct coarse *c, unsigned plane);
void coarse_advance(struct coarse *c, double t_ns); /* forward to t_ns */
double coarse_sum(const struct coarse *c, unsigned plane, size_t port, enum port_sum sum);
/* since the last sample */
double coarse_peak(struct coarse *c, unsigned plane, size_t port, enum port_peak peak);
/* of the egress queue, now */
double coarse_depth(const struct coarse *c, unsigned plane, size_t port);
double coarse_pool_peak(const struct coarse *c, size_t index);
void coarse_sampled(struct coarse *c);

#endif
