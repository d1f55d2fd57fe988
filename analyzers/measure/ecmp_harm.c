/* ecmp_harm - compares the hot member with the edge of the fabric, and looks at marks and pause. */
#include "analyzers/measure/ecmp_harm.h"

#define BUSIER 1.05 /* than the edge: less is noise of the counters */
#define HARM_MARKS 0.005 /* share of packets */
#define HARM_PAUSE 0.001 /* share of time */

double ecmp_edge(const struct observed *observed)
{
	double edge = NAN;
	for (size_t i = 0; i < observed->n_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		if (!p->port->host)
			continue;
		if (p->out_known && p->out.quality != QUALITY_SUSPECT)
			edge = fmax(edge, p->out.utilization_ratio);
		if (p->in_known && p->in.quality != QUALITY_SUSPECT)
			edge = fmax(edge, p->in.utilization_ratio);
	}
	return edge;
}

/* Marks and pause of a member's lossless queues; NAN where they are not counted. */
static void ecmp_harm_queue_of(const struct port_seen *port, double *marks, double *pause)
{
	*marks = *pause = NAN;
	for (int c = 0; port && c < OBSERVED_PRIORITIES; c++) {
		const struct port_prio *l = observed_prio(port, c);
		if (!l || !l->lossless)
			continue;
		if (l->marked.known && l->marked.alive && l->out_packets.known &&
			l->out_packets.value > 0)
			*marks = fmax(*marks, l->marked.value / l->out_packets.value);
		if (l->rx_pause.alive)
			*pause = fmax(*pause, l->rx_pause.hi);
	}
}

static enum ecmp_harm_level ecmp_harm_level_of(
	const struct ecmp_harm *harm, double hot, double others)
{
	const bool waits = harm->pause_ratio > HARM_PAUSE ||
		(harm->marks_ratio > HARM_MARKS && !(harm->marks_ratio <= 2 * others));
	if (!isnan(harm->edge_ratio) && !isnan(hot)) {
		if (hot <= BUSIER * harm->edge_ratio)
			return ECMP_HARM_NONE;
		if (waits)
			return ECMP_HARM_SEEN;
		return ECMP_HARM_UNKNOWN;
	}
	if (waits)
		return ECMP_HARM_SEEN;
	if (isnan(harm->marks_ratio))
		return ECMP_HARM_UNKNOWN;
	return ECMP_HARM_NONE;
}

struct ecmp_harm ecmp_harm(const struct observed *observed, const struct fabric_group *group,
	const struct ecmp_measure *measure, double edge_ratio)
{
	struct ecmp_harm h = {.edge_ratio = edge_ratio,
		.marks_ratio = NAN,
		.pause_ratio = NAN,
		.loss_ratio = NAN};
	double others = 0;
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		double marks, pause;
		ecmp_harm_queue_of(observed_port(observed, group->members[i]), &marks, &pause);
		if (i == measure->hot) {
			h.marks_ratio = marks;
			h.pause_ratio = pause;
		} else if (!isnan(marks)) {
			others += marks;
			n++;
		}
	}
	const double hot = measure->members[measure->hot].utilization_ratio;
	h.level = ecmp_harm_level_of(&h, hot, n ? others / (double)n : NAN);
	if (!isnan(hot))
		h.loss_ratio = fmin(
			fmax(hot - fmax(measure->load_ratio, isnan(edge_ratio) ? 0 : edge_ratio),
				0),
			1);
	return h;
}
