/* coarse - see coarse.h. */
#include "tests/fabric/coarse.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fabric/faults.h"
#include "tests/fabric/measure_cache.h"

#define CHUNK_NS 1e9 /* of time that goes on without steps */

bool coarse_plane_hit(const struct coarse *c, unsigned plane)
{
	for (size_t i = 0; i < c->s->n_faults; i++)
		if (plane == 0 || fault_every_rail(c->s->faults[i].kind))
			return true;
	return false;
}

bool coarse_fault_on(const struct coarse *c, double t_ns)
{
	const struct scenario *s = c->s;
	if (s->n_faults == 0 || t_ns < s->at_ns)
		return false;
	return (s->every_ns > 0 ? fmod(t_ns - s->at_ns, s->every_ns) : t_ns - s->at_ns) < s->for_ns;
}

static double mean_duration(const struct coarse *c, enum state state)
{
	double sum = 0;
	for (unsigned v = 0; v < VARIANTS; v++) {
		if (c->m[state][v].endless)
			return INFINITY;
		sum += c->m[state][v].duration_ns / VARIANTS;
	}
	return sum;
}

static double gaussian(uint64_t *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

static double *sums(const struct coarse *c, unsigned plane, size_t port)
{
	return c->base + ((size_t)plane * c->n_ports + port) * SUM_COUNT;
}

/* What the exchange under way adds to a sum by its end. */
static double added(const struct coarse *c, unsigned plane, size_t port, enum port_sum sum)
{
	/* found once, over once, however long it lasts */
	if (sum == SUM_WATCHDOG_STORMS || sum == SUM_WATCHDOG_RESTORES)
		return (sum == SUM_WATCHDOG_STORMS ? c->entering : c->leaving) &&
				coarse_plane_hit(c, plane)
			? c->m[STATE_FAULT][0].ports[port].sum[SUM_WATCHDOG_STORMS]
			: 0;
	const enum state state =
		c->state == STATE_FAULT && !coarse_plane_hit(c, plane) ? STATE_OK : c->state;
	return c->m[state][(c->variant + plane) % VARIANTS].ports[port].sum[sum] * c->factor *
		c->gain[plane];
}

/* How many times as long @kind makes what it slows down; 1 when it is not there. */
static double slowed(const struct coarse *c, enum fault_kind kind, double t_ns)
{
	for (size_t i = 0; i < c->s->n_faults; i++)
		if (c->s->job == 0 && c->s->faults[i].kind == kind && coarse_fault_on(c, t_ns))
			return c->s->faults[i].factor;
	return 1;
}

/* When the job stands still by itself: before its start, after its end. */
static bool job_idle(const struct coarse *c, double t_ns)
{
	for (size_t i = 0; i < c->s->n_faults; i++)
		if (c->s->job == 0 && c->s->faults[i].kind == FAULT_JOB_IDLE &&
			coarse_fault_on(c, t_ns))
			return true;
	return false;
}

static void next_exchange(struct coarse *c)
{
	const struct scenario *s = c->s;
	const double after = c->end_ns;
	const bool fault = coarse_fault_on(c, after);
	const double wave = 1 + s->drift * sin(2 * M_PI * after / 3.6e12);
	c->variant = (unsigned)(random_next(&c->random) % VARIANTS);
	c->entering = fault && !c->was_fault;
	c->leaving = !fault && c->was_fault;
	c->was_fault = fault;
	for (unsigned p = 0; p < c->planes; p++)
		c->gain[p] = 1; /* BSP: every step moves the same bytes; what jitters is time */
	if (s->checkpoint_every_ns > 0 && after >= c->next_checkpoint_ns) {
		c->next_checkpoint_ns += s->checkpoint_every_ns;
		c->state = STATE_CHECKPOINT;
		c->start_ns = after;
		/* the same bytes in more time */
		c->end_ns = after + s->checkpoint_ns * slowed(c, FAULT_SLOW_STORAGE, after);
		c->factor = s->checkpoint_ns / c->m[STATE_CHECKPOINT][c->variant].duration_ns;
		c->flowing = true;
		return;
	}
	if (job_idle(c, after)) {
		c->state = STATE_OK;
		c->start_ns = after;
		c->end_ns = after + CHUNK_NS;
		c->factor = 0;
		c->flowing = true;
		return;
	}
	c->state = fault ? STATE_FAULT : STATE_OK;
	const struct measured *m = &c->m[c->state][c->variant];
	c->flowing = m->endless;
	if (m->endless) { /* the job stands still; the fabric does not */
		c->start_ns = after;
		c->end_ns = fmin(after + CHUNK_NS,
			s->every_ns <= 0 && after < s->at_ns + s->for_ns ? s->at_ns + s->for_ns
									 : INFINITY);
		c->factor = (c->end_ns - c->start_ns) / m->duration_ns;
		return;
	}
	const double compute = c->compute_ns * wave *
		fmax(0.5, 1 + s->jitter * gaussian(&c->random)) *
		slowed(c, FAULT_SLOW_COMPUTE, after);
	c->start_ns = after + compute;
	c->end_ns = c->start_ns +
		m->duration_ns * c->scale * (fault ? c->stretch : 1) *
			fmax(0.5, 1 + s->jitter / 2 * gaussian(&c->random));
	c->factor = c->scale;
	c->steps++;
	rw_grow(c->step_ns[fault].v, c->step_ns[fault].n, c->step_ns[fault].cap);
	c->step_ns[fault].v[c->step_ns[fault].n++] = c->end_ns - after;
}

static void finish_exchange(struct coarse *c)
{
	for (unsigned p = 0; p < c->planes; p++)
		for (size_t i = 0; i < c->n_ports; i++)
			for (unsigned k = 0; k < SUM_COUNT; k++)
				sums(c, p, i)[k] += added(c, p, i, (enum port_sum)k);
}

static void note_busy(struct coarse *c, double from, double to)
{
	if (to <= c->start_ns || from >= c->end_ns || c->factor == 0)
		return;
	if (!c->busy_since_sample || c->state == STATE_FAULT)
		c->busy_state = c->state;
	c->busy_since_sample = true;
}

void coarse_advance(struct coarse *c, double t_ns)
{
	while (t_ns >= c->end_ns) {
		note_busy(c, c->t_ns, c->end_ns);
		if (c->on_exchange)
			c->on_exchange(c->exchange_data, c);
		finish_exchange(c);
		c->t_ns = c->end_ns;
		next_exchange(c);
	}
	note_busy(c, c->t_ns, t_ns);
	c->t_ns = t_ns;
	if (c->other)
		coarse_advance(c->other, t_ns);
}

double coarse_sum(const struct coarse *c, unsigned plane, size_t port, enum port_sum sum)
{
	double part =
		c->t_ns <= c->start_ns ? 0 : (c->t_ns - c->start_ns) / (c->end_ns - c->start_ns);
	return floor(sums(c, plane, port)[sum] + fmin(part, 1) * added(c, plane, port, sum)) +
		(c->other ? coarse_sum(c->other, plane, port, sum) : 0);
}

double coarse_peak(struct coarse *c, unsigned plane, size_t port, enum port_peak peak)
{
	const double others = c->other ? coarse_peak(c->other, plane, port, peak) : 0;
	if (!c->busy_since_sample)
		return others;
	const enum state state = c->busy_state == STATE_FAULT && !coarse_plane_hit(c, plane)
		? STATE_OK
		: c->busy_state;
	double most = 0;
	for (unsigned v = 0; v < VARIANTS; v++)
		most = fmax(most, c->m[state][v].ports[port].peak[peak]);
	return fmax(others, floor(most * (0.97 + 0.03 * random_unit(&c->peak_random))));
}

double coarse_depth(const struct coarse *c, unsigned plane, size_t port)
{
	const double other = c->other ? coarse_depth(c->other, plane, port) : 0;
	if (c->t_ns <= c->start_ns || c->t_ns >= c->end_ns || c->factor <= 0)
		return other;
	const enum state state =
		c->state == STATE_FAULT && !coarse_plane_hit(c, plane) ? STATE_OK : c->state;
	const double slices = (c->t_ns - c->start_ns) / (c->end_ns - c->start_ns) * c->factor;
	const struct measured_port *p = &c->m[state][(c->variant + plane) % VARIANTS].ports[port];
	/* 0.97: as coarse_peak() at least */
	return floor(fmax(other,
		fmin(p->depth[(size_t)((slices - floor(slices)) * DEPTHS)],
			0.97 * p->peak[PEAK_QUEUE])));
}

double coarse_pool_peak(const struct coarse *c, size_t index)
{
	return fmax(c->busy_since_sample ? c->m[c->busy_state][0].pool_peak[index] : 0,
		c->other ? coarse_pool_peak(c->other, index) : 0);
}

void coarse_sampled(struct coarse *c)
{
	c->busy_since_sample = false;
	if (c->other)
		coarse_sampled(c->other);
}

/* Compute and exchange times: given, or from the slowdown that the scenario tells of and the ratio
 * that was measured. */
static int calibrate(struct coarse *c, struct err *e)
{
	const struct scenario *s = c->s;
	const double ok = mean_duration(c, STATE_OK),
		     bad = s->n_faults ? mean_duration(c, STATE_FAULT) : ok, ratio = bad / ok;
	c->compute_ns = s->compute_ns;
	c->exchange_ns = s->exchange_ns;
	if (!isfinite(ok))
		return err_set(e, -ERANGE, "%s: the exchange does not end even without the fault",
			s->name);
	c->stretch = 1;
	if (s->excess_ns > 0) {
		/* Told, not measured: the exchange is given, and in the fault it is stretched so
		 * that the step is this much longer. */
		if (!(s->step_ns > s->exchange_ns) || !isfinite(ratio))
			return err_set(e, -ERANGE,
				"%s: a step of %.1f ms does not hold an exchange of %.1f ms",
				s->name, s->step_ns / 1e6, s->exchange_ns / 1e6);
		c->compute_ns = s->step_ns - s->exchange_ns;
		c->stretch = (s->exchange_ns + s->excess_ns) / (s->exchange_ns * ratio);
	} else if (s->slowdown > 0) {
		const double step = s->step_ns, excess = step * s->slowdown / (1 - s->slowdown);
		if (!(step > 0) || !(ratio > 1.02) || !isfinite(ratio) ||
			excess / (ratio - 1) >= step)
			return err_set(e, -ERANGE,
				"%s: the fault makes the exchange %.2f times as long: that does "
				"not give %.1f ms more in a step of %.1f ms",
				s->name, ratio, excess / 1e6, step / 1e6);
		c->exchange_ns = excess / (ratio - 1);
		c->compute_ns = step - c->exchange_ns;
	}
	c->scale = c->exchange_ns / ok;
	c->fault_exchange_ns = bad * c->scale * c->stretch;
	return 0;
}

static void measure_all(const struct scenario *s, struct measured m[STATES][VARIANTS])
{
	struct plan *plan = plan_new(s);
	for (unsigned v = 0; v < VARIANTS; v++) {
		measure_run(s, plan, STATE_OK, v, &m[STATE_OK][v]);
		if (s->n_faults)
			measure_run(s, plan, STATE_FAULT, v, &m[STATE_FAULT][v]);
		if (s->checkpoint_every_ns > 0)
			measure_run(s, plan, STATE_CHECKPOINT, v, &m[STATE_CHECKPOINT][v]);
	}
	plan_free(plan);
}

int coarse_new(const struct scenario *s, struct coarse **ret, struct err *e)
{
	struct coarse *c = rw_calloc(1, sizeof(*c));
	c->s = s;
	c->planes = (unsigned)s->planes;
	c->random = random_seeded(s->seed, 41 + s->job);
	/* of its own: how often somebody looks must not move the steps */
	c->peak_random = random_seeded(s->seed, 71 + s->job);
	if (!measure_cache_read(s, c->m)) {
		measure_all(s, c->m);
		measure_cache_write(s, c->m);
	}
	c->n_ports = c->m[STATE_OK][0].n_ports;
	c->n_switches = c->m[STATE_OK][0].n_switches;
	int rc = calibrate(c, e);
	if (rc != 0) {
		coarse_free(c);
		return rc;
	}
	c->base = rw_calloc((size_t)c->planes * c->n_ports * SUM_COUNT, sizeof(*c->base));
	c->gain = rw_calloc(c->planes, sizeof(*c->gain));
	c->next_checkpoint_ns = s->checkpoint_every_ns * 0.6;
	if (s->jobs > 1 && s->job == 0) {
		c->other_scenario = *s;
		c->other_scenario.job = 1;
		c->other_scenario.compute_ns = s->other_compute_ns;
		c->other_scenario.exchange_ns = s->other_exchange_ns;
		c->other_scenario.checkpoint_every_ns = 0;
		if ((rc = coarse_new(&c->other_scenario, &c->other, e)) != 0) {
			coarse_free(c);
			return rc;
		}
	}
	/* Switches have been up for a while, and the recording begins in the middle of things. */
	for (unsigned p = 0; p < c->planes; p++)
		for (size_t i = 0; i < c->n_ports; i++)
			for (unsigned k = 0; k < SUM_COUNT; k++)
				sums(c, p, i)[k] =
					floor(c->m[STATE_OK][0].ports[i].sum[k] * c->scale *
						(1000 + (double)((p * 7919 + i * 104729) % 5000)));
	next_exchange(c);
	*ret = c;
	return 0;
}

void coarse_continue(struct coarse *c, const struct coarse *old)
{
	for (unsigned p = 0; p < c->planes; p++)
		for (size_t i = 0; i < c->n_ports; i++)
			for (unsigned k = 0; k < SUM_COUNT; k++)
				sums(c, p, i)[k] = coarse_sum(old, p, i, (enum port_sum)k) -
					(old->other ? coarse_sum(old->other, p, i, (enum port_sum)k)
						    : 0);
	c->scale = old->scale;
	c->stretch = old->stretch;
	c->compute_ns = old->compute_ns;
	c->exchange_ns = mean_duration(c, STATE_OK) * c->scale;
	c->fault_exchange_ns = c->s->n_faults
		? mean_duration(c, STATE_FAULT) * c->scale * c->stretch
		: c->exchange_ns;
	c->next_checkpoint_ns = old->next_checkpoint_ns;
	c->random = old->random;
	c->peak_random = old->peak_random;
	c->steps = old->steps;
	c->t_ns = c->end_ns = old->t_ns;
	c->was_fault = old->was_fault;
	next_exchange(c);
	if (c->other)
		coarse_continue(c->other, old->other);
}

void coarse_free(struct coarse *c)
{
	if (!c)
		return;
	for (unsigned s = 0; s < STATES; s++)
		for (unsigned v = 0; v < VARIANTS; v++)
			measured_done(&c->m[s][v]);
	coarse_free(c->other);
	free(c->step_ns[0].v);
	free(c->step_ns[1].v);
	free(c->base);
	free(c->gain);
	free(c);
}
