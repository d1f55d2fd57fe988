/* congestion_lead - compares hosts: who is paused most, and whose queues are marked most. */
#include "analyzers/measure/congestion_lead.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"

#define PEERS_MIN 6 /* receivers with counted marks; a median of fewer says nothing */
#define TIMES_PEERS 3.0 /* marks, against the median receiver, from which a queue stands out */
#define SAME_LOAD 1.5 /* times the median load, up or down, that is still the same load */
#define CROWD_SHARE 8 /* of all hosts: from an eighth on they are a crowd, and nobody leads */
#define CROWD_MIN 2
/* Times the next host, from which one leads. Frames tell time badly, since a frame may stop a port
 * for any part of its 65,535 quanta; but the order of two hosts on each of four rails is not luck.
 */
#define LEAD_TIME 1.5
#define LEAD_FRAMES 1.3
#define LEAD_RAILS 1.1
#define LEAD_PAIR 3.0 /* two hosts that lead together */
enum { RAILS_AGREE = 4 };

/* ---- receivers ------------------------------------------------------------ */

static const struct port_prio *receiver_prio(
	const struct congestion *congestion, const struct port_seen *port)
{
	if (!port->port->host || !port->out_known || port_slower(congestion, port))
		return NULL;
	return observed_prio(port, congestion->priority);
}

static bool receiver_is_squeezed(const struct congestion *congestion, const struct port_prio *prio,
	double ratio, double load, double many)
{
	const struct lead *lead = &congestion->lead;
	const double rx = rx_level(prio);
	const bool pauses_us = rx >= congestion->floor;
	const bool marks = ratio >= many && ratio >= TIMES_PEERS * lead->marks_median;
	const bool same_load =
		load <= SAME_LOAD * lead->load_median && load * SAME_LOAD >= lead->load_median;
	return marks && same_load && !pauses_us;
}

static void lead_survey_receivers(struct congestion *congestion, double many)
{
	struct lead *lead = &congestion->lead;
	const size_t n = congestion->o->n_fabric_ports;
	struct arena *a = congestion->in->arena;
	const double mtu = (double)congestion->o->fabric->lossless_mtu_bytes;
	const struct port_prio **prios = arena_array(a, const struct port_prio *, n + 1);
	double *ratios = arena_array(a, double, n + 1), *loads = arena_array(a, double, n + 1),
	       *sorted = arena_array(a, double, n + 1);
	size_t known = 0;
	for (size_t i = 0; i < n; i++) {
		const struct port_prio *prio = receiver_prio(congestion, &congestion->o->ports[i]);
		if (!prio)
			continue;
		const struct marks marks = prio_marks(prio, mtu);
		if (!marks.known || marks.stale)
			continue;
		prios[known] = prio;
		ratios[known] = marks_ratio(&marks);
		loads[known] = prio->port->out.rate_bps;
		lead->marks_most = fmax(lead->marks_most, ratios[known]);
		known++;
	}
	lead->receivers = known;
	if (known < PEERS_MIN)
		return;
	memcpy(sorted, ratios, known * sizeof(*sorted));
	lead->marks_median = stats_median(sorted, known);
	memcpy(sorted, loads, known * sizeof(*sorted));
	lead->load_median = stats_median(sorted, known);
	lead->squeezed = arena_array(a, const struct port_prio *, known);
	for (size_t i = 0; i < known; i++)
		if (receiver_is_squeezed(congestion, prios[i], ratios[i], loads[i], many))
			lead->squeezed[lead->n_squeezed++] = prios[i];
	if (3 * lead->n_squeezed > known)
		lead->n_squeezed = 0; /* most of them: that is how the job exchanges */
}

bool lead_squeezes(const struct congestion *congestion, const char *host)
{
	const struct lead *lead = &congestion->lead;
	for (size_t i = 0; i < lead->n_squeezed; i++)
		if (!str_eq(lead->squeezed[i]->port->port->host, host))
			return true;
	return false;
}

double lead_load(const struct congestion *congestion, const struct paused_host *host)
{
	const struct observed *o = congestion->o;
	double *v = arena_array(congestion->in->arena, double, o->n_fabric_ports + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_fabric_ports; i++)
		if (o->ports[i].port->host && o->ports[i].in_known)
			v[n++] = o->ports[i].in.rate_bps;
	if (!n || !host->prio->port->in_known)
		return NAN;
	return host->prio->port->in.rate_bps / stats_median(v, n);
}

/* ---- senders --------------------------------------------------------------- */

/* The strongest host behind the first @n. */
static double lead_behind(const struct congestion *congestion, size_t n)
{
	double most = 0;
	for (size_t i = n; i < congestion->n_hosts; i++)
		most = fmax(most, congestion->hosts[i].sum);
	return most;
}

static double lead_needed(const struct congestion *congestion, size_t n)
{
	const struct paused_host *first = &congestion->hosts[0];
	if (n > 1)
		return LEAD_PAIR;
	if (first->measured)
		return LEAD_TIME;
	const bool on_all_rails =
		first->rails >= RAILS_AGREE && first->rails_paused == first->rails;
	if (on_all_rails || lead_squeezes(congestion, first->host))
		return LEAD_RAILS;
	return LEAD_FRAMES;
}

static size_t lead_count_hosts(const struct congestion *congestion)
{
	size_t n = 0;
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++)
		n += congestion->o->ports[i].port->host != NULL;
	if (congestion->n_hosts && congestion->hosts[0].rails)
		n /= congestion->hosts[0].rails;
	return n;
}

void congestion_lead(struct congestion *congestion, double many)
{
	struct lead *lead = &congestion->lead;
	lead_survey_receivers(congestion, many);
	const size_t crowd = lead_count_hosts(congestion) / CROWD_SHARE;
	const size_t most = crowd > CROWD_MIN ? crowd : CROWD_MIN;
	if (congestion->n_singled > most)
		return;
	for (size_t n = 1; n <= 2 && n <= congestion->n_hosts; n++) {
		const double behind = lead_behind(congestion, n);
		const double own = congestion->hosts[n - 1].sum;
		if (own < lead_needed(congestion, n) * behind)
			continue;
		lead->n = n;
		lead->times = own / behind; /* INFINITY: nobody else is paused */
		return;
	}
}
