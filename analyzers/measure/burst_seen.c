/* burst_seen - bursts among what a port sent from poll to poll, against the median. */
#include "analyzers/measure/burst_seen.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "agent/base/stats.h"
#include "analyzers/measure/rhythm.h"
#include "db/model/entity.h"

/* In a burst: above the median by this share of it, and by so many standard deviations, as the
 * median deviation tells them. */
#define ABOVE 0.1
#define SCATTERED 4.0
/* From this deviation on a poll holds few steps, one more or less; three hold enough. */
#define SMOOTH 0.05
enum { SMOOTHED_POLLS = 3 };
#define POLLS_MIN 3 /* of the past: fewer do not tell what is usual */
#define MOVES 0.9 /* share of the polls in which the counter moved: it is no agent's cache */
/* A short burst may touch two of them, whenever they come; an incident needs another window. */
#define LASTING_POLLS 2
#define LONGER 1.5 /* times the longest burst before it: no longer one of these */
#define STILL_MAX_NS (60 * NS_PER_S) /* longest burst during which the exchange stands still */

static const struct series *burst_series(const struct analyzer_in *in, const struct port_seen *port)
{
	if (port->entity == ENTITY_NONE)
		return NULL;
	return window_series(in->past, port->entity, M_PORT_OUT_OCTETS);
}

static double burst_rate(const struct series *series, int64_t from_ns, int64_t to_ns)
{
	struct increase inc;
	double rate;
	if (!series || series_rate(series, from_ns, to_ns, 0, &rate, &inc) < 0)
		return NAN;
	return rate;
}

/* What most other hosts are sent in (from, to], against their mean over the past; NAN unknown. */
static double burst_beside(
	const struct analyzer_in *in, const struct port_seen *port, int64_t from_ns, int64_t to_ns)
{
	const struct observed *o = observe(in);
	double *parts = arena_array(in->arena, double, o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		const struct port_seen *other = &o->ports[i];
		if (!other->port->host || other == port)
			continue;
		const struct series *s = burst_series(in, other);
		const double mean = burst_rate(s, in->past->from_ns, in->past->to_ns);
		const double part = burst_rate(s, from_ns, to_ns) / mean;
		if (mean > 0 && !isnan(part))
			parts[n++] = part;
	}
	if (!n)
		return NAN;
	return stats_median(parts, n);
}

struct burst_polls { /* what was sent from each poll to the next, oldest first */
	struct {
		int64_t from_ns, to_ns;
		double rate; /* octets a second; NAN unknown */
	} * v;
	size_t n, known, moved;
	double usual, above; /* the median; from which rate on it is a burst */
};

/* What is usual among the polls, and from which rate on one is in a burst; returns the standard
 * deviation. */
static double burst_level(struct burst_polls *polls, struct arena *a)
{
	double *sorted = arena_array(a, double, polls->n + 1);
	polls->known = 0;
	for (size_t k = 0; k < polls->n; k++)
		if (!isnan(polls->v[k].rate))
			sorted[polls->known++] = polls->v[k].rate;
	if (!polls->known)
		return NAN;
	polls->usual = stats_median(sorted, polls->known);
	const double sigma = STATS_MAD_TO_SIGMA * stats_mad(sorted, polls->known, polls->usual);
	polls->above = polls->usual + fmax(ABOVE * polls->usual, SCATTERED * sigma);
	return sigma;
}

/* Each poll gets the mean of itself and those before it: together they hold more steps. */
static void burst_smooth(struct burst_polls *polls)
{
	for (size_t k = polls->n; k-- > SMOOTHED_POLLS - 1;) {
		double sum = 0;
		for (size_t i = 0; i < SMOOTHED_POLLS; i++)
			sum += polls->v[k - i].rate;
		polls->v[k].rate = sum / SMOOTHED_POLLS;
	}
}

static struct burst_polls burst_polls_of(const struct analyzer_in *in, const struct series *series)
{
	struct burst_polls b = {0};
	b.v = arena_alloc(in->arena, sizeof(*b.v) * (series->n + 1));
	for (uint32_t i = 1; i < series->n; i++) {
		const int64_t from_ns = series->t_ns[i - 1], to_ns = series->t_ns[i];
		b.v[b.n].from_ns = from_ns;
		b.v[b.n].to_ns = to_ns;
		b.v[b.n].rate = burst_rate(series, from_ns, to_ns);
		b.moved += b.v[b.n].rate > 0;
		b.n++;
	}
	if (burst_level(&b, in->arena) > SMOOTH * b.usual) {
		burst_smooth(&b);
		burst_level(&b, in->arena);
	}
	return b;
}

static bool burst_is(const struct burst_polls *polls, size_t at)
{
	return polls->v[at].rate > polls->above;
}

/* The longest burst before the poll @end, ns. */
static int64_t burst_longest_ns(const struct burst_polls *polls, size_t end)
{
	int64_t longest_ns = 0, run_ns = 0;
	for (size_t k = 0; k < end; k++) {
		if (burst_is(polls, k))
			run_ns += polls->v[k].to_ns - polls->v[k].from_ns;
		else if (!isnan(polls->v[k].rate))
			run_ns = 0;
		if (run_ns > longest_ns)
			longest_ns = run_ns;
	}
	return longest_ns;
}

/* Polls of the burst that still lasts; those between that are not known belong to it. */
static size_t burst_lasting(const struct burst_polls *polls)
{
	size_t lasting = 0;
	for (size_t n = 1; n <= polls->n; n++) {
		const size_t at = polls->n - n;
		if (burst_is(polls, at))
			lasting = n;
		else if (!isnan(polls->v[at].rate))
			break;
	}
	return lasting;
}

/* Is there one in the window that has ended? Its counters begin with the poll before it. */
static bool burst_ended(const struct analyzer_in *in, const struct burst_polls *polls)
{
	for (size_t k = polls->n; k > 0 && polls->v[k - 1].to_ns > in->window->from_ns; k--)
		if (burst_is(polls, k - 1))
			return true;
	return false;
}

bool burst_seen(const struct analyzer_in *in, const struct port_seen *port)
{
	const struct series *s = NULL;
	if (in->past)
		s = burst_series(in, port);
	if (!s)
		return false;
	const struct burst_polls b = burst_polls_of(in, s);
	if (b.known < POLLS_MIN || (double)b.moved < MOVES * (double)b.known || !(b.usual > 0))
		return false;
	const size_t lasting = burst_lasting(&b);
	if (!lasting)
		return burst_ended(in, &b);
	const size_t first = b.n - lasting;
	const int64_t lasts_ns = b.v[b.n - 1].to_ns - b.v[first].from_ns;
	if (lasting < LASTING_POLLS ||
		(double)lasts_ns <= LONGER * (double)burst_longest_ns(&b, first))
		return true;
	/* its first and last poll may hold what came before and after it */
	return lasts_ns < STILL_MAX_NS &&
		burst_beside(in, port, b.v[first].to_ns, b.v[b.n - 1].from_ns) < RHYTHM_IDLE;
}
