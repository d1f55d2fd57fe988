/* cnp_starved - finds the queue CNPs leave by at each port, and judges its drops. */
#include "analyzers/detect/cnp_starved.h"

#include "agent/base/arena.h"
#include "agent/base/number.h"
#include "analyzers/finding_build.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

/* where it cannot be read back: the default of NICs and of the vendors' RoCE profiles */
enum { CNP_PRIORITY = 6 };

/* The queue that CNPs leave by: read back, else the usual one; -1 when that is a lossless one,
 * which lossless_loss judges. */
static int cnp_queue(const struct analyzer_in *in, const struct port_seen *port)
{
	uint64_t v;
	int queue = CNP_PRIORITY;
	const struct series *s = NULL;
	if (port->entity != ENTITY_NONE)
		s = window_series(in->window, port->entity, M_CFG_CNP_QUEUE);
	if (s && series_state(s, in->window->to_ns, INT64_MAX, &v) == 0 && v < OBSERVED_PRIORITIES)
		queue = (int)v;
	if (in->fabric->lossless_mask >> queue & 1)
		return -1;
	return queue;
}

static void cnp_starved_report(const struct analyzer_in *in,
	const struct congestion_options *options, const struct port_seen *port,
	const struct port_prio *prio, struct finding_list *out)
{
	struct draft t = finding_new(out, in, "congestion", FINDING_OVER, options->hold);
	finding_subject(&t, port);
	t.f->priority = prio->priority;
	t.f->cause = CAUSE_CNP_STARVED;
	t.f->severity = SEV_WARNING;
	t.f->value = prio->drops.value;
	t.f->warn = 1;
	t.f->confidence_ratio = 0.6;
	t.f->coverage_ratio = observed_coverage(port);
	t.f->summary = arena_printf(t.a,
		"%s drops packets in the queue that carries CNPs (priority %d, %s packets): "
		"senders do not learn that they must slow down",
		port_text(port, t.a), prio->priority, number_count_of(prio->drops.value).s);
	finding_amount(&t, "queue.drops", port, prio->priority, &prio->drops, "packets");
	finding_amount(
		&t, "queue.out_packets", port, prio->priority, &prio->out_packets, "packets");
	finding_rests_on(&t, "drops of the CNP queue");
	finding_unproved(&t, "whether CNPs are among the dropped packets is not counted");
	finding_add_role(&t, "culprit", "%s", port_text(port, t.a));
	finding_steps(&t, t.f->cause, 0);
}

/*
 * For each port the drops of its CNP queue, if it ever dropped anything: [fabric_port.index], NULL.
 * The series of a window are sorted by metric: one pass, no look-up of names.
 */
static const struct series **cnp_drops(const struct analyzer_in *in, const struct observed *seen)
{
	const struct window *w = in->window;
	const uint32_t n = entities_count(w->entities);
	const struct series **ret =
		arena_array(in->arena, const struct series *, seen->n_fabric_ports + 1);
	uint32_t *port_of = arena_array(in->arena, uint32_t, n + 1);
	for (size_t i = 0; i < seen->n_fabric_ports; i++)
		if (seen->ports[i].entity != ENTITY_NONE)
			port_of[seen->ports[i].entity] = (uint32_t)i + 1;
	const size_t settings_at = window_metric(w, M_CFG_CNP_QUEUE);
	const bool read_back =
		settings_at < w->n_series && w->series[settings_at].metric == M_CFG_CNP_QUEUE;
	for (size_t i = window_metric(w, M_QUEUE_DROPS);
		i < w->n_series && w->series[i].metric == M_QUEUE_DROPS; i++) {
		const struct series *s = &w->series[i];
		const struct entity *e = NULL;
		if (s->n && s->value[s->n - 1] > 0)
			e = entity_get(w->entities, s->entity);
		uint32_t port = 0;
		bool may_be = e && e->priority == CNP_PRIORITY;
		if (e && read_back)
			may_be = e->priority >= 0;
		if (may_be && e->parent <= n)
			port = port_of[e->parent];
		if (port && e->priority == cnp_queue(in, &seen->ports[port - 1]))
			ret[port - 1] = s;
	}
	return ret;
}

void cnp_starved_judge(const struct analyzer_in *in, const struct congestion_options *options,
	struct finding_list *over, struct finding_list *under)
{
	const struct observed *seen = observe(in);
	if (!class_any(in->fabric, CC_DCQCN))
		return;
	const struct series **drops = cnp_drops(in, seen);
	for (size_t i = 0; i < seen->n_fabric_ports; i++) {
		const struct port_seen *p = &seen->ports[i];
		if (!drops[i])
			continue;
		const int queue = entity_get(in->window->entities, drops[i]->entity)->priority;
		const struct port_prio *l = observed_prio(p, queue);
		if (l && l->drops.value > 0) {
			cnp_starved_report(in, options, p, l, over);
			continue;
		}
		/* it has dropped before */
		if (finding_is_clear(under, in, "congestion", p->port->device->name, 1))
			continue;
		struct draft t = finding_new(under, in, "congestion", FINDING_UNDER, options->hold);
		finding_subject(&t, p);
		t.f->priority = queue;
		t.f->cause = CAUSE_CNP_STARVED;
	}
}
