/*
 * link_flap - links that go down and come back, again and again. Each time the flows on them stall
 * for a timeout and every group hashes anew.
 *
 * Transitions of a link in a window: the most that any of its ends counts (port.flaps) or shows
 * (changes of port.oper_up, a lower bound: what happened between two polls is not seen). One
 * interruption is two transitions and opens no incident by itself: all windows that hold it weigh
 * one together (agent/incident/cost.h). It takes two of them within three windows, or `burst`
 * transitions in one window. Links flap every half minute or so: shorter windows would cut too many
 * interruptions in two. A switch that restarts takes all its links down:
 * that is a finding about the switch, not about its links.
 */
#include "analyzers/measure/links.h"
#include "analyzers/finding_build.h"

struct link_flap_options {
	int64_t transitions, burst, window_ns, hold;
};

static const struct option rows[] = {
	{"transitions", OPT_INT, offsetof(struct link_flap_options, transitions), "2", "1",
		"1000000", NULL,
		"transitions of a link (one down and up is two) from which a window counts"},
	{"burst", OPT_INT, offsetof(struct link_flap_options, burst), "6", "1", "1000000", NULL,
		"transitions in one window that open an incident at once"},
	{"window", OPT_DURATION, offsetof(struct link_flap_options, window_ns), "60s", "1s", "1h",
		NULL, "evaluation window; longer than a link takes to come back"},
	{"hold", OPT_INT, offsetof(struct link_flap_options, hold), "2", "1", "10000", NULL,
		"required windows, of the last hold + 2 (2: of the last 3), before an incident "
		"opens"},
};

static double link_flap_changes_of(const struct window *window, const struct port_seen *port)
{
	const struct series *s = NULL;
	if (port->entity != ENTITY_NONE)
		s = window_series(window, port->entity, M_PORT_OPER_UP);
	unsigned n = 0;
	for (uint32_t i = 1; s && i < s->n && s->t_ns[i] <= window->to_ns; i++)
		n += s->t_ns[i] > window->from_ns && !s->value[i] != !s->value[i - 1] &&
			!(s->flags[i] & (SF_LATE | SF_RESTART));
	return n;
}

/* NAN: neither end shows its state. */
static double transitions_of(const struct window *window, const struct link *link)
{
	double n = NAN;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (!p || (!p->flaps.known && isnan(p->oper_up)))
			continue;
		n = fmax(n,
			fmax(p->flaps.known ? p->flaps.value : 0, link_flap_changes_of(window, p)));
	}
	return n;
}

/* Do most links of the switch change at once? Then it is the switch. */
static bool whole_switch(
	const struct links *links, const double *changes, const struct fabric_device *device)
{
	size_t known = 0, moved = 0;
	for (size_t i = 0; device && i < links->n; i++) {
		const struct link *l = &links->v[i];
		if (isnan(changes[i]) ||
			(l->near->port->device != device &&
				!(l->near->port->peer && l->near->port->peer->device == device)))
			continue;
		known++;
		moved += changes[i] > 0;
	}
	return moved >= 3 && moved * 2 > known;
}

static bool switch_away(const struct links *links, const double *changes, const struct link *link)
{
	if (link->near->device->restarted ||
		(link->far &&
			(link->far->device->restarted ||
				(link->far->entity != ENTITY_NONE &&
					!link->far->device->n_series))))
		return true;
	const struct fabric_port *near = link->near->port;
	return whole_switch(links, changes, near->device) ||
		(near->peer && whole_switch(links, changes, near->peer->device));
}

static void link_flap_describe(
	struct draft *draft, const struct link *link, double transitions, double seconds)
{
	draft->f->summary =
		arena_printf(draft->a, "%s to %s went down and up: %.0f transitions in %.0f s",
			port_text(link->near, draft->a), far_end_text(link->near, draft->a),
			transitions, seconds);
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (!p)
			continue;
		finding_amount(draft, "port.flaps", p, PRIO_NONE, &p->flaps, "events");
		finding_evidence(
			draft, "port.oper_up", p, PRIO_NONE, p->oper_up, "-", QUALITY_EXACT);
		finding_evidence(draft, "optic.rx_power_dbm", p, PRIO_NONE, p->rx_power_dbm, "dBm",
			QUALITY_EXACT);
		finding_evidence(draft, "port.pre_fec_ber", p, PRIO_NONE, p->pre_fec_ber, "ratio",
			QUALITY_EXACT);
	}
	if (link->near->flaps.known || (link->far && link->far->flaps.known))
		finding_rests_on(draft, "transitions counted by the device");
	else
		finding_against(draft, "changes of state between polls: there may be more");
	finding_ruled_out(draft, "a restart of the switch: its other links stay up");
	if (link->kind == LINK_HOST)
		finding_add_role(draft, "direct_victim", "%s", link->near->port->host);
	finding_add_role(draft, "culprit", "%s", port_text(link->near, draft->a));
	finding_steps(draft, CAUSE_LINK_FLAP, 0);
}

static int link_flap_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct link_flap_options *o = in->options;
	const struct links *links = links_seen(in);
	double *n = arena_array(in->arena, double, links->n + 1);
	/* polls this far apart show one change per window at most, however many there were */
	const bool seldom = 2 * in->interval_ns > in->window->to_ns - in->window->from_ns;
	double least = 1;
	if (!seldom)
		least = (double)o->transitions;
	for (size_t i = 0; i < links->n; i++) {
		analyzer_pause(in);
		n[i] = transitions_of(in->window, &links->v[i]);
	}
	for (size_t i = 0; i < links->n; i++) {
		const struct link *l = &links->v[i];
		if (isnan(n[i]))
			continue;
		const bool over = n[i] >= least && !switch_away(links, n, l);
		if (!over && l->answered &&
			finding_is_clear(out, in, "link_flap", l->near->port->device->name, 1))
			continue;
		const bool burst = n[i] >= (double)o->burst;
		struct draft t = finding_new(out, in, "link_flap",
			finding_verdict(over, l->answered), burst ? 1 : o->hold);
		finding_subject(&t, l->near);
		t.f->cause = CAUSE_LINK_FLAP;
		t.f->severity = SEV_WARNING;
		t.f->value = n[i];
		t.f->warn = least;
		t.f->confidence_ratio = 0.9;
		t.f->summary = "";
		if (over)
			link_flap_describe(&t, l, n[i],
				(double)(in->window->to_ns - in->window->from_ns) / 1e9);
	}
	return 0;
}

const struct analyzer analyzer_link_flap = {
	.name = "link_flap",
	.phase = 80,
	.doc = "links that go down and come back again and again",
	.options = {"analyzers", "link_flap", sizeof(struct link_flap_options), rows,
		rw_countof(rows), "links that come and go"},
	.window_offset = offsetof(struct link_flap_options, window_ns),
	.observes = true,
	.run = link_flap_run,
};
