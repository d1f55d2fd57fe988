/* congestion_report - the finding of a suspect: subject, words, evidence, severity from impact,
 * what to do. */
#include <math.h>
#include <stdio.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/detect/congestion_signs.h"
#include "analyzers/finding_build.h"

#define CRITICAL_PAUSE 0.05 /* product facts 4.3, PauseTime */
#define BOUND_SURE 0.9 /* confidence that is left when pause is a bound from frames */
#define DECLARED_SURE 0.9 /* when thresholds are declared, not read back */
/* when a second host is as paused: two senders of one incast look much like that */
#define TOGETHER_SURE 0.85
#define CROWD 3 /* receivers at once: that is how the job exchanges, not a fault of one of them */

static const char *congestion_finding_percent(double ratio, struct arena *a)
{
	return arena_printf(a,
		ratio > 0 && ratio < 0.001 ? "%.2f %%"
			: ratio > 0        ? "%.1f %%"
					   : "%.0f %%",
		100 * ratio);
}

/* A level as words: measured, or a bound. */
static const char *congestion_finding_pause_text(double level, bool measured, struct arena *a)
{
	if (!measured && level >= 1)
		return "for a share of the time that frames do not tell";
	return arena_printf(a, "%s%s of the time%s", str_if(!measured, "at most "),
		congestion_finding_percent(fmin(1, level), a), str_if(!measured, " (from frames)"));
}

static const char *marks_text(const struct marks *marks, struct arena *a)
{
	if (marks->known)
		return arena_printf(a, "%s of its packets are marked",
			congestion_finding_percent(marks_ratio(marks), a));
	return "marks are not observable";
}

/* ---- what each cause says ------------------------------------------------ */

struct suspicion {
	const struct congestion *c;
	const struct suspect *s;
	size_t n_merged;
	struct arena *a;
	const char *where; /* "leaf1", or "8 switches" */
};

static const char *say_dcqcn(const struct suspicion *suspicion)
{
	const struct paused_host *h = suspicion->s->host;
	const char *rails = "";
	if (h->rails > 1)
		rails = arena_printf(suspicion->a, " on %u of %u rails", h->rails_paused, h->rails);
	const char *others = "";
	if (suspicion->c->n_others)
		others = arena_printf(suspicion->a, ", other hosts at most %s",
			congestion_finding_percent(
				fmin(1, suspicion->c->others_max), suspicion->a));
	if (suspicion->s->signs.yes & MARKING)
		return arena_printf(suspicion->a,
			"%s does not slow down when its packets are marked: we paused it%s, %s%s",
			h->host, rails,
			congestion_finding_pause_text(h->level, h->measured, suspicion->a), others);
	return arena_printf(suspicion->a,
		"we paused %s%s, %s%s: it sends as if it were not told to slow down", h->host,
		rails, congestion_finding_pause_text(h->level, h->measured, suspicion->a), others);
}
static const char *say_ect(const struct suspicion *suspicion)
{
	const struct host_packets *h = &suspicion->s->packets;
	return arena_printf(suspicion->a,
		"%s sends data that is not ECN-capable: %.0f of %.0f packets captured at %s are "
		"ECT; it cannot be told to slow down",
		suspicion->s->prio->port->port->host, h->from_ect, h->from_packets,
		port_text(suspicion->s->prio->port, suspicion->a));
}
static const char *say_np(const struct suspicion *suspicion)
{
	const struct host_packets *h = &suspicion->s->packets;
	return arena_printf(suspicion->a,
		"%s does not answer congestion marks: %.0f packets with CE were captured on the "
		"way to it, and no CNP from it",
		suspicion->s->prio->port->port->host, h->to_ce);
}
static const char *say_off(const struct suspicion *suspicion)
{
	if (suspicion->s->signs.yes & SET_OFF)
		return arena_printf(suspicion->a,
			"%s: ECN marking is switched off for priority %d%s", suspicion->where,
			suspicion->c->priority,
			str_if(suspicion->s->signs.yes & PAUSES, ", so PFC pauses instead"));
	return arena_printf(suspicion->a, "%s: queues fill until PFC pauses, and nothing is marked",
		suspicion->where);
}
static const char *say_late(const struct suspicion *suspicion)
{
	const struct device_load *load =
		&suspicion->c->devices[suspicion->s->device->device->index];
	double hosts;
	if (suspicion->c->n_hosts)
		hosts = suspicion->c->hosts[0].level;
	else
		hosts = load->level;
	if (suspicion->s->signs.yes & LATE)
		return arena_printf(suspicion->a,
			"%s: PFC pauses before ECN marks: Kmin lies above half of %.0f KB, where "
			"XOFF fires; %s",
			suspicion->where, suspicion->s->q_pfc_bytes / 1e3,
			congestion_finding_pause_text(hosts, suspicion->c->measured, suspicion->a));
	return arena_printf(suspicion->a, "%s: PFC pauses before ECN marks: pause %s, %s",
		suspicion->where,
		congestion_finding_pause_text(hosts, suspicion->c->measured, suspicion->a),
		marks_text(&suspicion->s->marks, suspicion->a));
}
static const char *say_early(const struct suspicion *suspicion)
{
	return arena_printf(suspicion->a,
		"%s: ECN marks too early: %s, no pause, and no queue needs it%s", suspicion->where,
		marks_text(&suspicion->s->marks, suspicion->a),
		suspicion->s->signs.yes & EARLY
			? arena_printf(suspicion->a,
				  "; Kmin lies below one bandwidth-delay product (%.0f KB)",
				  suspicion->s->bdp_bytes / 1e3)
			: "");
}
static const char *say_xon(const struct suspicion *suspicion)
{
	return arena_printf(suspicion->a,
		"%s: XON follows XOFF too closely: pauses of %.1f us on average, %.0f a second at "
		"%s",
		suspicion->where, suspicion->s->episode_ns / 1e3, suspicion->s->episodes_per_s,
		port_text(suspicion->s->prio->port, suspicion->a));
}
static const char *say_narrow(const struct suspicion *suspicion)
{
	const struct group_load *g = &suspicion->s->group;
	return arena_printf(suspicion->a,
		"%s %s: hosts can send %.2f times what %u uplinks carry, and all of these are "
		"congested evenly",
		g->group->device->name, g->group->id, g->oversubscription, g->live);
}
static const char *say_incast(const struct suspicion *suspicion)
{
	const struct port_seen *p = suspicion->s->prio->port;
	const struct device_load *load = &suspicion->c->devices[p->port->device->index];
	const char *pause = "nobody is paused for it";
	if (load->inputs)
		pause = arena_printf(suspicion->a, "%u inputs of %s are paused for it",
			load->inputs, p->port->device->name);
	return arena_printf(suspicion->a, "many send to %s at once: %s at %s, %s", p->port->host,
		marks_text(&suspicion->s->marks, suspicion->a), port_text(p, suspicion->a), pause);
}
static const char *say_overload(const struct suspicion *suspicion)
{
	const struct port_seen *p = suspicion->s->prio->port;
	return arena_printf(suspicion->a,
		"%s to %s carries more than it can: %s, %u inputs are paused for it",
		port_text(p, suspicion->a), far_end_text(p, suspicion->a),
		marks_text(&suspicion->s->marks, suspicion->a),
		suspicion->c->devices[p->port->device->index].inputs);
}

static const struct sentence {
	enum cause cause;
	const char *(*say)(const struct suspicion *suspicion);
} sentences[] = {
	{CAUSE_DCQCN_OFF, say_dcqcn},
	{CAUSE_ECT_MISSING, say_ect},
	{CAUSE_NP_OFF, say_np},
	{CAUSE_ECN_OFF, say_off},
	{CAUSE_ECN_LATE, say_late},
	{CAUSE_ECN_EARLY, say_early},
	{CAUSE_XON_CLOSE, say_xon},
	{CAUSE_OVERSUBSCRIPTION, say_narrow},
	{CAUSE_INCAST, say_incast},
	{CAUSE_UPLINK_OVERLOAD, say_overload},
};

static const char *congestion_finding_summary(const struct suspicion *suspicion)
{
	for (size_t i = 0; i < rw_countof(sentences); i++)
		if (sentences[i].cause == suspicion->s->is->cause)
			return sentences[i].say(suspicion);
	return NULL;
}

/* ---- severity ------------------------------------------------------------ */

/*
 * Impact: time that hosts stand still. A bound is never critical (product facts 1.2); pause between
 * switches alone weighs less. Settings and narrow leaves bring pause to all alike, of which it is
 * not known that it slows a job down: a warning.
 */
static enum severity congestion_finding_severity_of(
	const struct congestion *congestion, const struct suspect *suspect)
{
	if (suspect->is->harmless || suspect->alike >= CROWD ||
		congestion->o->fabric->congestion == CC_PFC_ONLY)
		return SEV_INFO;
	const bool of_hosts = suspect->host ||
		(suspect->kind == SUSPECT_QUEUE && suspect->signs.yes & TO_HOST &&
			congestion->n_hosts);
	const struct paused_host *h = suspect->host;
	if (!h)
		h = congestion->hosts;
	if (of_hosts && h->measured && h->level >= CRITICAL_PAUSE)
		return SEV_CRITICAL;
	return SEV_WARNING;
}

/* ---- evidence ------------------------------------------------------------ */

static void prove_prio(struct draft *draft, const struct port_prio *prio)
{
	const struct port_seen *p = prio->port;
	if (prio->tx_pause.measured)
		finding_evidence(draft, "pfc.tx_pause_ns", p, prio->priority,
			prio->tx_pause_ns.value, "ns", prio->tx_pause.quality);
	else
		finding_evidence(draft, "pfc.tx_pause_ratio_hi", p, prio->priority,
			prio->tx_pause.hi, "ratio", QUALITY_ESTIMATED);
	finding_amount(draft, "pfc.tx_frames", p, prio->priority, &prio->tx_frames, "frames");
	if (prio->rx_pause.hi > 0)
		finding_evidence(draft,
			prio->rx_pause.measured ? "pfc.rx_pause_ratio" : "pfc.rx_pause_ratio_hi", p,
			prio->priority, prio->rx_pause.hi, "ratio", prio->rx_pause.quality);
	finding_amount(draft, "queue.ecn_marked", p, prio->priority, &prio->marked, "packets");
	finding_amount(
		draft, "queue.out_packets", p, prio->priority, &prio->out_packets, "packets");
	finding_evidence(draft, "queue.watermark_bytes", p, prio->priority, prio->queue_peak,
		"bytes", QUALITY_EXACT);
	if (p->out_known)
		finding_evidence(draft, "port.utilization_ratio", p, PRIO_NONE,
			p->out.utilization_ratio, "ratio", p->out.quality);
	finding_evidence(
		draft, "cfg.ecn_enabled", p, prio->priority, prio->ecn_enabled, "-", QUALITY_EXACT);
	finding_evidence(
		draft, "cfg.ecn_kmin_bytes", p, prio->priority, prio->kmin, "bytes", QUALITY_EXACT);
}

static void congestion_finding_prove(struct draft *draft, const struct suspicion *suspicion)
{
	const struct suspect *s = suspicion->s;
	if (s->prio)
		prove_prio(draft, s->prio);
	if (s->host) {
		finding_evidence_device(draft, "pause.others_max_ratio", NULL,
			fmin(1, suspicion->c->others_max), "ratio",
			suspicion->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
		finding_evidence_device(draft, "pause.others_median_ratio", NULL,
			fmin(1, suspicion->c->median), "ratio",
			suspicion->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	}
	if (s->captured) {
		enum quality q = QUALITY_EXACT;
		if (s->packets.sampled)
			q = QUALITY_ESTIMATED;
		const struct {
			const char *metric;
			bool known;
			double value;
		} counts[] = {
			{"flow.packets_from_host", s->packets.from_known, s->packets.from_packets},
			{"flow.ect_from_host", s->packets.from_known, s->packets.from_ect},
			{"flow.cnp_from_host", s->packets.from_known, s->packets.from_cnp},
			{"flow.ce_to_host", s->packets.to_known, s->packets.to_ce},
			{"flow.cnp_to_host", s->packets.to_known, s->packets.to_cnp}};
		for (size_t i = 0; i < rw_countof(counts); i++)
			finding_evidence(draft, counts[i].metric, s->prio->port, PRIO_NONE,
				counts[i].known ? counts[i].value : NAN, "packets", q);
	}
	if (s->marks.known)
		finding_evidence_device(draft, "ecn.marked_ratio",
			s->host || suspicion->n_merged > 1 ? NULL : s->device->device->name,
			marks_ratio(&s->marks), "ratio", QUALITY_EXACT);
	const char *device;
	if (suspicion->n_merged > 1)
		device = NULL;
	else
		device = s->device->device->name;
	finding_evidence_device(
		draft, "ecn.q_pfc_bytes", device, s->q_pfc_bytes, "bytes", QUALITY_ESTIMATED);
	if (s->is->cause == CAUSE_ECN_EARLY)
		finding_evidence_device(
			draft, "ecn.bdp_bytes", device, s->bdp_bytes, "bytes", QUALITY_ESTIMATED);
	if (s->is->cause == CAUSE_XON_CLOSE)
		finding_evidence_device(
			draft, "pfc.episode_ns", device, s->episode_ns, "ns", QUALITY_EXACT);
	if (s->kind == SUSPECT_GROUP) {
		finding_evidence_device(draft, "leaf.oversubscription_ratio", device,
			s->group.oversubscription, "ratio", QUALITY_EXACT);
		finding_evidence_device(draft, "ecmp.imbalance_ratio", device, s->group.imbalance,
			"ratio", QUALITY_EXACT);
		finding_evidence_device(
			draft, "ecmp.load_ratio", device, s->group.mean, "ratio", QUALITY_EXACT);
	}
}

static bool is_declared(const struct suspect *suspect)
{
	return suspect->prio && suspect->prio->declared &&
		suspect->signs.yes & (LATE | EARLY | SET_OFF);
}

static void congestion_finding_weigh(struct draft *draft, const struct suspicion *suspicion)
{
	const struct suspect *s = suspicion->s;
	double c = s->is->confidence;
	finding_rests_on(draft, "%s", s->is->rests_on);
	if (s->kind != SUSPECT_NIC && s->signs.yes & (PAUSES | SINGLED | HOSTS_PAUSED) &&
		!suspicion->c->measured) {
		c *= BOUND_SURE;
		finding_rests_on(draft, "pause is bounded from frames, its time is not measured");
	}
	if (is_declared(s)) {
		c *= DECLARED_SURE;
		finding_rests_on(draft,
			"thresholds are declared in the configuration, not read back from the "
			"device");
	}
	if (s->root)
		finding_rests_on(draft,
			"root of %.0f %% of the pressure that hangs together with it",
			100 * s->root->share);
	if (s->alike >= CROWD)
		finding_rests_on(draft,
			"%zu receivers show it at once: that is how the job exchanges", s->alike);
	if (s->host && suspicion->c->n_singled > 1) {
		c *= TOGETHER_SURE;
		finding_rests_on(draft, "%zu hosts show it alike", suspicion->c->n_singled);
	}
	if (s->host)
		finding_rests_on(draft, "%zu other host-facing ports to compare with; %s",
			suspicion->c->n_others,
			s->captured ? "NIC counters were not looked at"
				    : "neither packets nor NIC counters were there to look at");
	draft->f->confidence_ratio = c;
}

static void congestion_finding_rule_out(struct draft *draft, const struct suspicion *suspicion)
{
	const struct suspect *s = suspicion->s;
	if (!(s->signs.yes & FROM_HOST))
		finding_ruled_out(
			draft, "slow receiver: no host pauses its switch enough to explain this");
	if (s->host && s->signs.known & SKEWED && !(s->signs.yes & SKEWED))
		finding_ruled_out(draft,
			"hash collision: no uplink of %s is crowded for want of an even spread",
			s->device->device->name);
	if (s->host && s->host->rails > 1 && s->host->rails_paused == s->host->rails)
		finding_ruled_out(draft, "cable or port: all %u rails show it", s->host->rails);
	if (s->kind == SUSPECT_QUEUE && s->signs.known & SKEWED &&
		!(s->signs.yes & (SKEWED | TO_HOST)))
		finding_ruled_out(draft, "imbalance: the members of its group carry about as much");
	if (s->signs.known & LATE && !(s->signs.yes & LATE) && s->kind == SUSPECT_SWITCH &&
		s->is->cause != CAUSE_ECN_LATE)
		finding_ruled_out(draft, "thresholds out of order: Kmin lies below half of q_PFC");
	if (s->kind != SUSPECT_HOST && suspicion->c->n_known && !(s->signs.yes & SINGLED) &&
		suspicion->c->n_hosts > 1)
		finding_ruled_out(draft,
			"a host that does not slow down: %zu hosts are paused alike",
			suspicion->c->n_singled);
}

static void name_roles(struct draft *draft, const struct suspicion *suspicion)
{
	enum { SHOWN = 8 };
	const struct suspect *s = suspicion->s;
	if (s->host || s->kind == SUSPECT_NIC)
		finding_add_role(draft, "culprit", "%s", s->prio->port->port->host);
	else if (s->kind == SUSPECT_QUEUE)
		finding_add_role(draft, "culprit", "%s", port_text(s->prio->port, draft->a));
	else if (suspicion->n_merged <= 1)
		finding_add_role(draft, "culprit", "%s", s->device->device->name);
	size_t n = 0;
	/* those that do not slow down are no victims of each other */
	for (size_t i = s->host ? suspicion->c->n_singled : 0;
		i < suspicion->c->n_hosts && n < SHOWN; i++)
		if (!s->prio ||
			!str_eq(suspicion->c->hosts[i].host,
				s->kind == SUSPECT_SWITCH ? NULL : s->prio->port->port->host)) {
			finding_add_role(draft, "direct_victim", "%s", suspicion->c->hosts[i].host);
			n++;
		}
	for (size_t i = 0; s->root && i < s->root->n_direct && n < SHOWN; i++)
		if (s->root->direct[i]->at) {
			finding_add_role(draft, "direct_victim", "%s",
				port_text(s->root->direct[i]->at, draft->a));
			n++;
		}
}

/* ---- the finding --------------------------------------------------------- */

static void set_subject(
	struct finding *finding, const struct suspect *suspect, size_t n_merged, int priority)
{
	finding->priority = priority;
	if (suspect->kind == SUSPECT_GROUP) {
		finding->device = suspect->group.group->device->name;
		finding->group = suspect->group.group->id;
	} else if (suspect->kind == SUSPECT_SWITCH) {
		if (n_merged > 1)
			finding->device = NULL;
		else
			finding->device = suspect->device->device->name;
	} else {
		finding->device = suspect->prio->port->port->device->name;
		finding->port = suspect->prio->port->port->name;
		finding->host = suspect->prio->port->port->host;
	}
}

/* Headline: the share of time hosts are paused where they are, else the share of packets marked. */
static void congestion_finding_set_value(struct finding *finding,
	const struct congestion *congestion, const struct congestion_options *options,
	const struct suspect *suspect)
{
	if (suspect->kind == SUSPECT_NIC) {
		finding->value = 1;
		finding->warn = 1;
		return;
	}
	double level = 0;
	if (suspect->host)
		level = suspect->host->level;
	else if (suspect->signs.yes & PAUSES || suspect->kind == SUSPECT_GROUP)
		level = congestion->devices[suspect->device->device->index].level;
	if (level > 0)
		finding->value = fmin(1, level);
	else
		finding->value = marks_ratio(&suspect->marks);
	if (level > 0)
		finding->warn = options->pause;
	else
		finding->warn = options->marks;
}

void congestion_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct suspect *suspect, size_t n_merged,
	struct finding_list *out)
{
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	const struct suspicion y = {.c = congestion,
		.s = suspect,
		.n_merged = n_merged,
		.a = t.a,
		.where = n_merged > 1 ? arena_printf(t.a, "%zu switches", n_merged)
				      : suspect->device->device->name};
	set_subject(t.f, suspect, n_merged, congestion->priority);
	congestion_finding_set_value(t.f, congestion, options, suspect);
	t.f->cause = suspect->is->cause;
	t.f->severity = congestion_finding_severity_of(congestion, suspect);
	t.f->coverage_ratio =
		observed_coverage(suspect->prio ? suspect->prio->port : &suspect->device->ports[0]);
	t.f->summary = congestion_finding_summary(&y);
	congestion_finding_prove(&t, &y);
	congestion_finding_weigh(&t, &y);
	congestion_finding_rule_out(&t, &y);
	name_roles(&t, &y);
	finding_steps(&t, suspect->is->cause, 0);
}
