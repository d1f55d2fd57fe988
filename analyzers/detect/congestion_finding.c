/* congestion_tell - the finding of a suspect: subject, words, evidence, severity from impact, what
 * to do. */
#include <math.h>
#include <stdio.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/detect/congestion.h"
#include "analyzers/finding_build.h"

#define CRITICAL_PAUSE 0.05 /* product facts 4.3, PauseTime */
#define BOUND_SURE 0.9 /* confidence that is left when pause is a bound from frames */
#define DECLARED_SURE 0.9 /* when thresholds are declared, not read back */
#define TOGETHER_SURE                                                                              \
	0.85 /* when a second host is as paused: two senders of one incast look much like that */
#define CROWD 3 /* receivers at once: that is how the job exchanges, not a fault of one of them */

static const char *percent(double ratio, struct arena *a)
{
	return arena_printf(a,
		ratio > 0 && ratio < 0.001 ? "%.2f %%"
			: ratio > 0        ? "%.1f %%"
					   : "%.0f %%",
		100 * ratio);
}

/* A level as words: measured, or a bound. */
static const char *pause_text(double level, bool measured, struct arena *a)
{
	if (!measured && level >= 1)
		return "for a share of the time that frames do not tell";
	return arena_printf(a, "%s%s of the time%s", measured ? "" : "at most ",
		percent(fmin(1, level), a), measured ? "" : " (from frames)");
}

static const char *marks_text(const struct marks *m, struct arena *a)
{
	return m->known
		? arena_printf(a, "%s of its packets are marked", percent(marks_ratio(m), a))
		: "marks are not observable";
}

/* ---- what each cause says ------------------------------------------------ */

struct story {
	const struct congestion *c;
	const struct suspect *s;
	size_t n_merged;
	struct arena *a;
	const char *where; /* "leaf1", or "8 switches" */
};

static const char *say_dcqcn(const struct story *y)
{
	const struct paused_host *h = y->s->host;
	const char *rails = h->rails > 1
		? arena_printf(y->a, " on %u of %u rails", h->rails_paused, h->rails)
		: "";
	const char *others = y->c->n_others ? arena_printf(y->a, ", other hosts at most %s",
						      percent(fmin(1, y->c->others_max), y->a))
					    : "";
	if (y->s->signs.yes & MARKING)
		return arena_printf(y->a,
			"%s does not slow down when its packets are marked: we paused it%s, %s%s",
			h->host, rails, pause_text(h->level, h->measured, y->a), others);
	return arena_printf(y->a,
		"we paused %s%s, %s%s: it sends as if it were not told to slow down", h->host,
		rails, pause_text(h->level, h->measured, y->a), others);
}
static const char *say_ect(const struct story *y)
{
	const struct host_packets *h = &y->s->packets;
	return arena_printf(y->a,
		"%s sends data that is not ECN-capable: %.0f of %.0f packets captured at %s are "
		"ECT; it cannot be told to slow down",
		y->s->lane->port->port->host, h->from_ect, h->from_packets,
		tell_port(y->s->lane->port, y->a));
}
static const char *say_np(const struct story *y)
{
	const struct host_packets *h = &y->s->packets;
	return arena_printf(y->a,
		"%s does not answer congestion marks: %.0f packets with CE were captured on the "
		"way to it, and no CNP from it",
		y->s->lane->port->port->host, h->to_ce);
}
static const char *say_off(const struct story *y)
{
	if (y->s->signs.yes & SET_OFF)
		return arena_printf(y->a, "%s: ECN marking is switched off for priority %d%s",
			y->where, y->c->priority,
			y->s->signs.yes & PAUSES ? ", so PFC pauses instead" : "");
	return arena_printf(
		y->a, "%s: queues fill until PFC pauses, and nothing is marked", y->where);
}
static const char *say_late(const struct story *y)
{
	const struct device_load *load = &y->c->devices[y->s->device->device->index];
	const double hosts = y->c->n_hosts ? y->c->hosts[0].level : load->level;
	if (y->s->signs.yes & LATE)
		return arena_printf(y->a,
			"%s: PFC pauses before ECN marks: Kmin lies above half of %.0f KB, where "
			"XOFF fires; %s",
			y->where, y->s->q_pfc_bytes / 1e3, pause_text(hosts, y->c->measured, y->a));
	return arena_printf(y->a, "%s: PFC pauses before ECN marks: pause %s, %s", y->where,
		pause_text(hosts, y->c->measured, y->a), marks_text(&y->s->marks, y->a));
}
static const char *say_early(const struct story *y)
{
	return arena_printf(y->a, "%s: ECN marks too early: %s, no pause, and no queue needs it%s",
		y->where, marks_text(&y->s->marks, y->a),
		y->s->signs.yes & EARLY
			? arena_printf(y->a,
				  "; Kmin lies below one bandwidth-delay product (%.0f KB)",
				  y->s->bdp_bytes / 1e3)
			: "");
}
static const char *say_xon(const struct story *y)
{
	return arena_printf(y->a,
		"%s: XON follows XOFF too closely: pauses of %.1f us on average, %.0f a second at "
		"%s",
		y->where, y->s->episode_ns / 1e3, y->s->episodes_per_s,
		tell_port(y->s->lane->port, y->a));
}
static const char *say_narrow(const struct story *y)
{
	const struct group_load *g = &y->s->group;
	return arena_printf(y->a,
		"%s %s: hosts can send %.2f times what %u uplinks carry, and all of these are "
		"congested evenly",
		g->group->device->name, g->group->id, g->oversubscription, g->live);
}
static const char *say_incast(const struct story *y)
{
	const struct port_seen *p = y->s->lane->port;
	const struct device_load *load = &y->c->devices[p->port->device->index];
	const char *pause = load->inputs ? arena_printf(y->a, "%u inputs of %s are paused for it",
						   load->inputs, p->port->device->name)
					 : "nobody is paused for it";
	return arena_printf(y->a, "many send to %s at once: %s at %s, %s", p->port->host,
		marks_text(&y->s->marks, y->a), tell_port(p, y->a), pause);
}
static const char *say_overload(const struct story *y)
{
	const struct port_seen *p = y->s->lane->port;
	return arena_printf(y->a,
		"%s to %s carries more than it can: %s, %u inputs are paused for it",
		tell_port(p, y->a), tell_far(p, y->a), marks_text(&y->s->marks, y->a),
		y->c->devices[p->port->device->index].inputs);
}

#define READ_ONLY "none: read only"
static const struct cause_row {
	const char *cause;
	const char *(*say)(const struct story *y);
	struct next_step steps[3];
} causes[] = {
	{"dcqcn_off", say_dcqcn,
		{{"on the host, check that DCQCN's reaction point is enabled for the priority on "
		  "every rail, that the NIC maps RoCE to it (DSCP, trust), and that it sends ECT; "
		  "compare with a calm host",
			 READ_ONLY},
			{"on the host, compare np_cnp_sent at its receivers with rp_cnp_handled on "
			 "its NICs: CNPs that are not handled prove it",
				READ_ONLY},
			{"leave the switches' thresholds as they are: no Kmin makes a sender yield "
			 "that does not listen",
				"none"}}},
	{"ect_missing", say_ect,
		{{"on the host, check that RDMA traffic is sent with ECT (NIC's ECN setting for "
		  "the priority, traffic class of the application) on every rail",
			 READ_ONLY},
			{"check that no tunnel or policer on the way clears the ECN bits",
				READ_ONLY}}},
	{"np_off", say_np,
		{{"on the host, check that DCQCN's notification point is enabled for the priority "
		  "on every rail",
			 READ_ONLY},
			{"see np_ecn_marked_roce_packets against np_cnp_sent on its NICs",
				READ_ONLY}}},
	{"ecn_off", say_off,
		{{"read back the ECN (WRED) profile of these queues and bind the one of the tier; "
		  "tune review prints it in the vendor's syntax",
			 "low; on some platforms binding a profile flushes the queue: job "
			 "boundary"},
			{"if marking is on, check that the platform counts marks: then the counter "
			 "is dead and this finding is unsure",
				READ_ONLY}}},
	{"ecn_late", say_late,
		{{"ask tune review for the sheet of this tier: alpha one step up where the pool "
		  "has room, then Kmin down to at most half of q_PFC, never below one "
		  "bandwidth-delay product",
			 "medium; thresholds act on all queues of the profile: one knob at a time, "
			 "canary at a job boundary"},
			{"leave headroom alone: it is not short here", "none"}}},
	{"ecn_early", say_early,
		{{"ask tune review for the sheet of this tier: Kmin and Kmax up by the same "
		  "factor, Kmin at least one bandwidth-delay product and at most half of q_PFC",
			 "medium; not while anything pauses"},
			{"compare step time before and after: goodput is the judge, marks alone "
			 "cost nothing",
				READ_ONLY}}},
	{"xon_close", say_xon,
		{{"raise the XON offset by one lossless MTU (at most four)",
			 "low; takes as much from the shared pool per priority group"},
			{"check the cable length that the profile was made for", READ_ONLY}}},
	{"oversubscription", say_narrow,
		{{"spread the job so that less of its traffic crosses these uplinks, or add "
		  "uplinks: thresholds move the queue, not the bottleneck",
			 "none: planning"},
			{"run topology check: it lists the ratio of every leaf", READ_ONLY}}},
	{"incast", say_incast,
		{{"ask the job for fewer peers per receiver at a time (receiver-driven or smaller "
		  "groups), or spread the receiver over its rails",
			 "none: application"},
			{"ask tune review: alpha one step up where the pool has room, else Kmin "
			 "down by a quarter",
				"medium; thresholds act on all queues of the profile"},
			{"leave headroom alone", "none"}}},
	{"uplink_overload", say_overload,
		{{"see which flows share it (ecmp collisions), and move or split them", READ_ONLY},
			{"check for parallel paths that are down or not used", READ_ONLY}}},
};

static const struct cause_row *cause_row(const char *cause)
{
	for (size_t i = 0; i < rw_countof(causes); i++)
		if (str_eq(causes[i].cause, cause))
			return &causes[i];
	return NULL;
}

/* ---- severity ------------------------------------------------------------ */

/*
 * Impact: time that hosts stand still. A bound is never critical (product facts 1.2); pause between
 * switches alone weighs less. Settings and narrow leaves bring pause to all alike, of which it is
 * not known that it slows a job down: a warning.
 */
static enum severity severity_of(const struct congestion *c, const struct suspect *s)
{
	if (s->is->harmless || s->alike >= CROWD || c->o->fabric->congestion == CC_PFC_ONLY)
		return SEV_INFO;
	const bool of_hosts =
		s->host || (s->kind == SUSPECT_QUEUE && s->signs.yes & TO_HOST && c->n_hosts);
	const struct paused_host *h = s->host ? s->host : c->hosts;
	return of_hosts && h->measured && h->level >= CRITICAL_PAUSE ? SEV_CRITICAL : SEV_WARNING;
}

/* ---- evidence ------------------------------------------------------------ */

static void prove_lane(struct tell *t, const struct lane_seen *l)
{
	const struct port_seen *p = l->port;
	if (l->tx_pause.measured)
		tell_evidence(t, "pfc.tx_pause_ns", p, l->priority, l->tx_pause_ns.value, "ns",
			l->tx_pause.quality);
	else
		tell_evidence(t, "pfc.tx_pause_ratio_hi", p, l->priority, l->tx_pause.hi, "ratio",
			QUALITY_ESTIMATED);
	tell_amount(t, "pfc.tx_frames", p, l->priority, &l->tx_frames, "frames");
	if (l->rx_pause.hi > 0)
		tell_evidence(t,
			l->rx_pause.measured ? "pfc.rx_pause_ratio" : "pfc.rx_pause_ratio_hi", p,
			l->priority, l->rx_pause.hi, "ratio", l->rx_pause.quality);
	tell_amount(t, "queue.ecn_marked", p, l->priority, &l->marked, "packets");
	tell_amount(t, "queue.out_packets", p, l->priority, &l->out_packets, "packets");
	tell_evidence(
		t, "queue.watermark_bytes", p, l->priority, l->queue_peak, "bytes", QUALITY_EXACT);
	if (p->out_known)
		tell_evidence(t, "port.utilization_ratio", p, PRIO_NONE, p->out.utilization_ratio,
			"ratio", p->out.quality);
	tell_evidence(t, "cfg.ecn_enabled", p, l->priority, l->ecn_enabled, "-", QUALITY_EXACT);
	tell_evidence(t, "cfg.ecn_kmin_bytes", p, l->priority, l->kmin, "bytes", QUALITY_EXACT);
}

static void prove(struct tell *t, const struct story *y)
{
	const struct suspect *s = y->s;
	if (s->lane)
		prove_lane(t, s->lane);
	if (s->host) {
		tell_evidence_device(t, "pause.others_max_ratio", NULL, fmin(1, y->c->others_max),
			"ratio", y->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
		tell_evidence_device(t, "pause.others_median_ratio", NULL, fmin(1, y->c->median),
			"ratio", y->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	}
	if (s->captured) {
		const enum quality q = s->packets.sampled ? QUALITY_ESTIMATED : QUALITY_EXACT;
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
			tell_evidence(t, counts[i].metric, s->lane->port, PRIO_NONE,
				counts[i].known ? counts[i].value : NAN, "packets", q);
	}
	if (s->marks.known)
		tell_evidence_device(t, "ecn.marked_ratio",
			s->host || y->n_merged > 1 ? NULL : s->device->device->name,
			marks_ratio(&s->marks), "ratio", QUALITY_EXACT);
	const char *device = y->n_merged > 1 ? NULL : s->device->device->name;
	tell_evidence_device(
		t, "ecn.q_pfc_bytes", device, s->q_pfc_bytes, "bytes", QUALITY_ESTIMATED);
	if (str_eq(s->is->cause, "ecn_early"))
		tell_evidence_device(
			t, "ecn.bdp_bytes", device, s->bdp_bytes, "bytes", QUALITY_ESTIMATED);
	if (str_eq(s->is->cause, "xon_close"))
		tell_evidence_device(
			t, "pfc.episode_ns", device, s->episode_ns, "ns", QUALITY_EXACT);
	if (s->kind == SUSPECT_GROUP) {
		tell_evidence_device(t, "leaf.oversubscription_ratio", device,
			s->group.oversubscription, "ratio", QUALITY_EXACT);
		tell_evidence_device(t, "ecmp.imbalance_ratio", device, s->group.imbalance, "ratio",
			QUALITY_EXACT);
		tell_evidence_device(
			t, "ecmp.load_ratio", device, s->group.mean, "ratio", QUALITY_EXACT);
	}
}

static bool is_declared(const struct suspect *s)
{
	return s->lane && s->lane->declared && s->signs.yes & (LATE | EARLY | SET_OFF);
}

static void weigh(struct tell *t, const struct story *y)
{
	const struct suspect *s = y->s;
	double c = s->is->confidence;
	tell_rests_on(t, "%s", s->is->rests_on);
	if (s->kind != SUSPECT_NIC && s->signs.yes & (PAUSES | SINGLED | HOSTS_PAUSED) &&
		!y->c->measured) {
		c *= BOUND_SURE;
		tell_rests_on(t, "pause is bounded from frames, its time is not measured");
	}
	if (is_declared(s)) {
		c *= DECLARED_SURE;
		tell_rests_on(t,
			"thresholds are declared in the configuration, not read back from the "
			"device");
	}
	if (s->root)
		tell_rests_on(t, "root of %.0f %% of the pressure that hangs together with it",
			100 * s->root->share);
	if (s->alike >= CROWD)
		tell_rests_on(t, "%zu receivers show it at once: that is how the job exchanges",
			s->alike);
	if (s->host && y->c->n_singled > 1) {
		c *= TOGETHER_SURE;
		tell_rests_on(t, "%zu hosts show it alike", y->c->n_singled);
	}
	if (s->host)
		tell_rests_on(t, "%zu other host-facing ports to compare with; %s", y->c->n_others,
			s->captured ? "NIC counters were not looked at"
				    : "neither packets nor NIC counters were there to look at");
	t->f->confidence_ratio = c;
}

static void rule_out(struct tell *t, const struct story *y)
{
	const struct suspect *s = y->s;
	if (!(s->signs.yes & FROM_HOST))
		tell_ruled_out(
			t, "slow receiver: no host pauses its switch enough to explain this");
	if (s->host && s->signs.known & SKEWED && !(s->signs.yes & SKEWED))
		tell_ruled_out(t,
			"hash collision: no uplink of %s is crowded for want of an even spread",
			s->device->device->name);
	if (s->host && s->host->rails > 1 && s->host->rails_paused == s->host->rails)
		tell_ruled_out(t, "cable or port: all %u rails show it", s->host->rails);
	if (s->kind == SUSPECT_QUEUE && s->signs.known & SKEWED &&
		!(s->signs.yes & (SKEWED | TO_HOST)))
		tell_ruled_out(t, "imbalance: the members of its group carry about as much");
	if (s->signs.known & LATE && !(s->signs.yes & LATE) && s->kind == SUSPECT_SWITCH &&
		!str_eq(s->is->cause, "ecn_late"))
		tell_ruled_out(t, "thresholds out of order: Kmin lies below half of q_PFC");
	if (s->kind != SUSPECT_HOST && y->c->n_known && !(s->signs.yes & SINGLED) &&
		y->c->n_hosts > 1)
		tell_ruled_out(t, "a host that does not slow down: %zu hosts are paused alike",
			y->c->n_singled);
}

static void name_roles(struct tell *t, const struct story *y)
{
	enum { SHOWN = 8 };
	const struct suspect *s = y->s;
	if (s->host || s->kind == SUSPECT_NIC)
		tell_role(t, "culprit", "%s", s->lane->port->port->host);
	else if (s->kind == SUSPECT_QUEUE)
		tell_role(t, "culprit", "%s", tell_port(s->lane->port, t->a));
	else if (y->n_merged <= 1)
		tell_role(t, "culprit", "%s", s->device->device->name);
	size_t n = 0;
	/* those that do not slow down are no victims of each other */
	for (size_t i = s->host ? y->c->n_singled : 0; i < y->c->n_hosts && n < SHOWN; i++)
		if (!s->lane ||
			!str_eq(y->c->hosts[i].host,
				s->kind == SUSPECT_SWITCH ? NULL : s->lane->port->port->host)) {
			tell_role(t, "direct_victim", "%s", y->c->hosts[i].host);
			n++;
		}
	for (size_t i = 0; s->root && i < s->root->n_direct && n < SHOWN; i++)
		if (s->root->direct[i]->at) {
			tell_role(
				t, "direct_victim", "%s", tell_port(s->root->direct[i]->at, t->a));
			n++;
		}
}

/* ---- the finding --------------------------------------------------------- */

static void set_subject(struct finding *f, const struct suspect *s, size_t n_merged, int priority)
{
	f->priority = priority;
	if (s->kind == SUSPECT_GROUP) {
		f->device = s->group.group->device->name;
		f->group = s->group.group->id;
	} else if (s->kind == SUSPECT_SWITCH) {
		f->device = n_merged > 1 ? NULL : s->device->device->name;
	} else {
		f->device = s->lane->port->port->device->name;
		f->port = s->lane->port->port->name;
		f->host = s->lane->port->port->host;
	}
}

/* Headline: the share of time hosts are paused where they are, else the share of packets marked. */
static void set_value(struct finding *f, const struct congestion *c,
	const struct congestion_options *o, const struct suspect *s)
{
	if (s->kind == SUSPECT_NIC) {
		f->value = 1;
		f->warn = 1;
		return;
	}
	const double level = s->host ? s->host->level
		: s->signs.yes & PAUSES || s->kind == SUSPECT_GROUP
		? c->devices[s->device->device->index].level
		: 0;
	f->value = level > 0 ? fmin(1, level) : marks_ratio(&s->marks);
	f->warn = level > 0 ? o->pause : o->marks;
}

void congestion_tell(const struct congestion *c, const struct congestion_options *o,
	const struct suspect *s, size_t n_merged, struct finding_list *out)
{
	struct tell t = tell_new(out, c->in, "congestion", FINDING_OVER, o->hold);
	const struct cause_row *row = cause_row(s->is->cause);
	const struct story y = {.c = c,
		.s = s,
		.n_merged = n_merged,
		.a = t.a,
		.where = n_merged > 1 ? arena_printf(t.a, "%zu switches", n_merged)
				      : s->device->device->name};
	set_subject(t.f, s, n_merged, c->priority);
	set_value(t.f, c, o, s);
	t.f->cause = s->is->cause;
	t.f->severity = severity_of(c, s);
	t.f->coverage_ratio = observed_coverage(s->lane ? s->lane->port : &s->device->ports[0]);
	t.f->summary = row->say(&y);
	prove(&t, &y);
	weigh(&t, &y);
	rule_out(&t, &y);
	name_roles(&t, &y);
	for (size_t i = 0; i < rw_countof(row->steps) && row->steps[i].text; i++)
		tell_step(&t, row->steps[i].text, row->steps[i].risk);
}
