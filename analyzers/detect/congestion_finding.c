/* congestion_finding - the finding of a suspect: subject, sentence, evidence, confidence, severity,
 * next steps. */

#include "analyzers/detect/congestion_nic.h"
#include "analyzers/detect/congestion_signs.h"
#include "analyzers/detect/nic_finding.h"
#include "analyzers/finding_build.h"
#include "config/class_policy.h"

/* congestion_nic_finding - the findings of congestion_nic.c: sentence, evidence, roles. */

/* share of time from which a paused host loses the job much of its time */
#define CRITICAL_PAUSE 0.05
#define PROVEN 0.95
#define SURE_LOST 0.9
#define SURE_LOST_OR_OFF 0.7 /* no NIC tells whether it ignores CNPs */

static const char *nic_rails_text(const struct nic_accused *accused, struct arena *a)
{
	if (accused->nics < 2)
		return "";
	return arena_printf(a, " on %u of %u NICs", accused->guilty, accused->nics);
}

static const char *nic_pause_words(const struct nic_accused *accused, struct arena *a)
{
	if (!accused->host || !accused->host->measured)
		return "";
	return arena_printf(
		a, ", and we paused it %.1f %% of the time", 100 * fmin(1, accused->host->level));
}

static const char *nic_dcqcn_text(
	const struct nic_trial *trial, const struct nic_accused *accused, struct arena *a)
{
	const struct nic_seen *nic = accused->nic;
	const char *host = accused->port->port->host;
	if (nic->cnp_ignored.value > 0)
		return arena_printf(a,
			"%s ignores CNPs%s: %s of %s that reached NIC %s were ignored%s", host,
			nic_rails_text(accused, a), number_count_of(nic->cnp_ignored.value).s,
			number_count_of(nic->cnp_ignored.value + nic->cnp_handled.value).s,
			nic->name, nic_pause_words(accused, a));
	return arena_printf(a,
		"%s does not slow down for CNPs%s: cnp_handled of NIC %s stands still while it "
		"sends %s; receivers sent %s CNPs, %zu other NICs handled %s%s",
		host, nic_rails_text(accused, a), nic->name, bitrate_text(nic_sends_bps(nic), a),
		number_count_of(trial->cnps.sent).s, trial->cnps.handlers,
		number_count_of(trial->cnps.handled).s, nic_pause_words(accused, a));
}

static const char *nic_np_text(const struct nic_accused *accused, struct arena *a)
{
	const struct nic_seen *nic = accused->nic;
	return arena_printf(a,
		"%s does not answer CE marks%s: %s packets with CE reached NIC %s, and it sent "
		"no "
		"CNP",
		accused->port->port->host, nic_rails_text(accused, a),
		number_count_of(nic->ce_received.value).s, nic->name);
}

static void nic_prove_all(struct draft *draft, const struct nic_seen *nic)
{
	nic_prove(draft, nic, "nic.cnp_handled", &nic->cnp_handled, "packets");
	nic_prove(draft, nic, "nic.cnp_ignored", &nic->cnp_ignored, "packets");
	nic_prove(draft, nic, "nic.cnp_received", &nic->cnp_received, "packets");
	nic_prove(draft, nic, "nic.ce_received", &nic->ce_received, "packets");
	nic_prove(draft, nic, "nic.cnp_sent", &nic->cnp_sent, "packets");
}

/* The receivers that sent most CNPs, without those of @host. */
static void nic_prove_receivers(
	struct draft *draft, const struct nics *nics, const struct port_seen *host)
{
	enum { SHOWN = 3 };
	const struct nic_seen *most[SHOWN] = {0};
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		if (!nic->host_port || nic->folded || nic->cnp_sent.value <= 0)
			continue;
		if (host && str_eq(nic->host_port->port->host, host->port->host))
			continue;
		for (size_t k = 0; k < SHOWN; k++) {
			if (most[k] && most[k]->cnp_sent.value >= nic->cnp_sent.value)
				continue;
			const struct nic_seen *less = most[k];
			most[k] = nic;
			nic = less;
			if (!nic)
				break;
		}
	}
	for (size_t k = 0; k < SHOWN && most[k]; k++) {
		nic_prove(draft, most[k], "nic.ce_received", &most[k]->ce_received, "packets");
		nic_prove(draft, most[k], "nic.cnp_sent", &most[k]->cnp_sent, "packets");
	}
}

static void nic_prove_sums(struct draft *draft, const struct nic_cnps *cnps)
{
	const struct {
		const char *metric;
		size_t known;
		double value;
	} sums[] = {{"nic.cnp_sent", cnps->sent_known, cnps->sent},
		{"nic.cnp_handled", cnps->handled_known, cnps->handled},
		{"nic.cnp_ignored", cnps->ignored_known, cnps->ignored}};
	for (size_t i = 0; i < rw_countof(sums); i++)
		if (sums[i].known)
			finding_evidence_at(draft, sums[i].metric, NULL, NULL, PRIO_NONE,
				sums[i].value, "packets", QUALITY_EXACT);
}

static enum severity nic_severity(const struct nic_accused *accused)
{
	if (accused->host && accused->host->measured && accused->host->level >= CRITICAL_PAUSE)
		return SEV_CRITICAL;
	return SEV_WARNING;
}

static void nic_add_reasons(struct draft *draft, const struct congestion *congestion,
	const struct nic_trial *trial, const struct nic_accused *accused)
{
	const struct port_prio *prio = observed_prio(accused->port, congestion->priority);
	for (unsigned i = 0; i < accused->n_rests_on; i++)
		finding_rests_on(draft, "%s", accused->rests_on[i]);
	if (trial->cnps.silent_hosts > 1 && accused->cause == CAUSE_DCQCN_OFF &&
		accused->nic->cnp_ignored.value <= 0)
		finding_against(draft, "%zu hosts handle no CNP", trial->cnps.silent_hosts);
	if (accused->open)
		finding_unproved(draft, "%s", accused->open);
	if (accused->guilty > 1 && accused->guilty == accused->nics)
		finding_ruled_out(
			draft, "cable or port: all %u NICs of the host show it", accused->nics);
	draft->f->confidence_ratio = accused->confidence;
	/* not resting on pause time: a contradiction is said and costs no confidence */
	if (prio)
		nic_check_pause(draft, congestion->in, prio);
}

void congestion_nic_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	const struct nic_accused *accused, struct finding_list *out)
{
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	finding_subject(&t, accused->port);
	t.f->priority = congestion->priority;
	t.f->cause = accused->cause;
	t.f->severity = nic_severity(accused);
	t.f->value = 1;
	t.f->warn = 1;
	t.f->proven = accused->confidence >= PROVEN;
	t.f->coverage_ratio = observed_coverage(accused->port);
	if (accused->cause == CAUSE_NP_OFF)
		t.f->summary = nic_np_text(accused, t.a);
	else
		t.f->summary = nic_dcqcn_text(trial, accused, t.a);
	nic_prove_all(&t, accused->nic);
	if (accused->cause == CAUSE_DCQCN_OFF) {
		nic_prove_sums(&t, &trial->cnps);
		nic_prove_receivers(&t, trial->nics, accused->port);
	}
	finding_evidence_at(&t, "nic.out_bps", accused->nic->host, accused->nic->name, PRIO_NONE,
		nic_sends_bps(accused->nic), "bit/s", QUALITY_EXACT);
	nic_add_reasons(&t, congestion, trial, accused);
	finding_add_role(&t, "culprit", "%s", accused->port->port->host);
	finding_steps(&t, accused->cause, 0);
}

void congestion_nic_lost(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	struct finding_list *out)
{
	const struct nic_cnps *cnps = &trial->cnps;
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	t.f->priority = congestion->priority;
	t.f->cause = CAUSE_CNP_LOST;
	t.f->severity = SEV_WARNING;
	t.f->value = 1;
	t.f->warn = 1;
	t.f->summary = arena_printf(t.a,
		"CNPs do not arrive: receivers sent %s, and none of %zu NICs handled or received "
		"one",
		number_count_of(cnps->sent).s, cnps->n);
	nic_prove_sums(&t, cnps);
	nic_prove_receivers(&t, trial->nics, NULL);
	finding_rests_on(&t, "counters of all NICs of the fabric: CNPs sent and handled");
	t.f->confidence_ratio = SURE_LOST;
	if (cnps->received_known < cnps->n && cnps->ignored_known < cnps->n) {
		t.f->confidence_ratio = SURE_LOST_OR_OFF;
		finding_unproved(&t,
			"that the reaction points are on: not every NIC counts the CNPs it "
			"ignores");
	} else {
		finding_ruled_out(&t, "reaction points that are off: no NIC ignored a CNP");
	}
	if (!cnps->handled_alive && cnps->received_known == 0)
		finding_unproved(&t, "that these NICs count CNPs they handle: none ever did");
	finding_add_role(&t, "culprit", "path of CNPs");
	finding_steps(&t, CAUSE_CNP_LOST, 0);
}

/* ---- congestion_finding ---------------------------------------------------- */

#define LEADER_PAUSE 0.01 /* measured share, from which a host without proof is a warning */
#define BOUND_SURE 0.9 /* factor of confidence when pause is an upper bound from frames */
#define DECLARED_SURE 0.9 /* ... when thresholds are declared, not read back */
/* ... when a second host is paused as much: two senders of one incast look similar */
#define TOGETHER_SURE 0.85
#define CROWD 3 /* receivers at once: that is how the job exchanges */

static const char *congestion_finding_percent(double ratio, struct arena *a)
{
	if (!(ratio > 0))
		return arena_printf(a, "%.0f %%", 100 * ratio);
	if (ratio < 0.001)
		return arena_printf(a, "%.2f %%", 100 * ratio);
	return arena_printf(a, "%.1f %%", 100 * ratio);
}

/* A level in words: measured, or an upper bound. */
static const char *congestion_finding_pause_text(double level, bool measured, struct arena *a)
{
	if (!measured && level >= 1)
		return "pause time unknown: frame counter only";
	return arena_printf(a, "%s%s of the time%s", str_if(!measured, "at most "),
		congestion_finding_percent(fmin(1, level), a),
		str_if(!measured, " (upper bound from PFC frames)"));
}

static const char *marks_text(const struct marks *marks, struct arena *a)
{
	if (marks->known)
		return arena_printf(a, "%s of its packets are marked",
			congestion_finding_percent(marks_ratio(marks), a));
	return "marks are not observable";
}

/* ---- the sentence of each cause ------------------------------------------ */

struct report_ctx {
	const struct congestion *c;
	const struct suspect *s;
	size_t n_merged;
	struct arena *a;
	const char *where; /* "leaf1", or "8 switches" */
};

/* Level of the strongest host that is not accused. */
static double others_max(const struct report_ctx *ctx)
{
	const struct congestion *c = ctx->c;
	double most = c->others_max;
	for (size_t i = c->lead.n; i < c->n_hosts; i++)
		most = fmax(most, c->hosts[i].level);
	return most;
}

static const char *dcqcn_text(const struct report_ctx *ctx)
{
	const struct paused_host *h = ctx->s->host;
	const char *rails = "";
	if (h->rails > 1)
		rails = arena_printf(ctx->a, " on %u of %u rails", h->rails_paused, h->rails);
	const char *others = "";
	if (ctx->c->n_others)
		others = arena_printf(ctx->a, ", other hosts at most %s",
			congestion_finding_percent(fmin(1, others_max(ctx)), ctx->a));
	return arena_printf(ctx->a,
		"%s does not slow down when its packets are marked: we paused it%s, %s%s", h->host,
		rails, congestion_finding_pause_text(h->level, h->measured, ctx->a), others);
}
static const char *keeps_rate_text(const struct report_ctx *ctx)
{
	const struct reaction_judged *r = &ctx->s->reaction;
	return arena_printf(ctx->a,
		"%s does not slow down when CNPs reach it: %s CNPs were captured at %s, and its "
		"rate after them is %.2f times that before",
		ctx->s->prio->port->port->host, number_count(ctx->s->packets.part.reaction.cnp).s,
		port_text(ctx->s->prio->port, ctx->a), r->ratio);
}
static const char *leader_text(const struct report_ctx *ctx)
{
	const struct paused_host *h = ctx->s->host;
	const char *rails = "";
	if (h->rails > 1)
		rails = arena_printf(ctx->a, " on %u of %u rails", h->rails_paused, h->rails);
	const char *others = "no other host is";
	if (ctx->c->lead.times < 1e6)
		others = arena_printf(
			ctx->a, "%.1f times as much as any other host", ctx->c->lead.times);
	return arena_printf(ctx->a, "%s is paused%s, %s; %s. Whether it ignores ECN is not proven",
		h->host, rails, congestion_finding_pause_text(h->level, h->measured, ctx->a),
		others);
}
static const char *ect_text(const struct report_ctx *ctx)
{
	const struct host_packets *h = &ctx->s->packets;
	return arena_printf(ctx->a,
		"%s sends data that is not ECN-capable: %s of %s packets captured at %s are "
		"ECT, so no switch can mark them",
		ctx->s->prio->port->port->host, number_count_of(h->from_ect).s,
		number_count_of(h->from_packets).s, port_text(ctx->s->prio->port, ctx->a));
}
static const char *np_text(const struct report_ctx *ctx)
{
	const struct host_packets *h = &ctx->s->packets;
	return arena_printf(ctx->a,
		"%s does not answer CE marks: %s packets with CE were captured towards it, and "
		"no CNP from it",
		ctx->s->prio->port->port->host, number_count_of(h->to_ce).s);
}
static const char *off_text(const struct report_ctx *ctx)
{
	return arena_printf(ctx->a, "%s: ECN marking is off for priority %d%s", ctx->where,
		ctx->c->priority, str_if(ctx->s->signs.yes & PAUSES, ", so PFC pauses instead"));
}
static const char *congestion_finding_late_text(const struct report_ctx *ctx)
{
	const struct device_load *load = &ctx->c->devices[ctx->s->device->device->index];
	double hosts;
	if (ctx->c->n_hosts)
		hosts = ctx->c->hosts[0].level;
	else
		hosts = load->level;
	/* where exactly PFC fires is measured by the review: here is only a bound */
	if (ctx->s->signs.yes & LATE)
		return arena_printf(ctx->a,
			"%s: Kmin too high: %s, above half of the queue depth at which PFC fires; "
			"hosts paused %s",
			ctx->where, number_size(ctx->s->kmin_bytes).s,
			congestion_finding_pause_text(hosts, ctx->c->measured, ctx->a));
	return arena_printf(ctx->a, "%s: PFC pauses before ECN marks: paused %s, %s", ctx->where,
		congestion_finding_pause_text(hosts, ctx->c->measured, ctx->a),
		marks_text(&ctx->s->marks, ctx->a));
}
static const char *early_text(const struct report_ctx *ctx)
{
	return arena_printf(ctx->a, "%s: ECN marks too early: %s, no pause%s", ctx->where,
		marks_text(&ctx->s->marks, ctx->a),
		ctx->s->signs.yes & EARLY
			? arena_printf(ctx->a, "; Kmin is below one bandwidth-delay product (%s)",
				  number_size(ctx->s->bdp_bytes).s)
			: "");
}
static const char *xon_text(const struct report_ctx *ctx)
{
	if (isnan(ctx->s->episode_ns))
		return arena_printf(ctx->a,
			"%s: XON is set less than two frames below XOFF: about %s pauses a second "
			"at %s",
			ctx->where, number_count_of(ctx->s->episodes_per_s).s,
			port_text(ctx->s->prio->port, ctx->a));
	return arena_printf(ctx->a,
		"%s: XON is too close to XOFF: pauses of %.1f us on average, %s a second at %s",
		ctx->where, ctx->s->episode_ns / 1e3, number_count_of(ctx->s->episodes_per_s).s,
		port_text(ctx->s->prio->port, ctx->a));
}
static const char *narrow_text(const struct report_ctx *ctx)
{
	const struct group_load *g = &ctx->s->group;
	return arena_printf(ctx->a,
		"%s %s: hosts can send %.2f times what %u uplinks carry, and all uplinks are "
		"congested evenly",
		g->group->device->name, g->group->id, g->oversubscription, g->live);
}
static const char *incast_text(const struct report_ctx *ctx)
{
	const struct port_seen *p = ctx->s->prio->port;
	const struct device_load *load = &ctx->c->devices[p->port->device->index];
	const char *pause = "no sender is paused for it";
	if (load->inputs)
		pause = arena_printf(ctx->a, "%u inputs of %s are paused for it", load->inputs,
			p->port->device->name);
	return arena_printf(ctx->a, "incast at %s: %s at %s, %s", p->port->host,
		marks_text(&ctx->s->marks, ctx->a), port_text(p, ctx->a), pause);
}
static const char *overload_text(const struct report_ctx *ctx)
{
	const struct port_seen *p = ctx->s->prio->port;
	return arena_printf(ctx->a, "%s to %s is overloaded: %s, %u inputs are paused for it",
		port_text(p, ctx->a), far_end_text(p, ctx->a), marks_text(&ctx->s->marks, ctx->a),
		ctx->c->devices[p->port->device->index].inputs);
}

static const struct sentence {
	enum cause cause;
	const char *(*say)(const struct report_ctx *ctx);
} sentences[] = {
	{CAUSE_DCQCN_OFF, dcqcn_text},
	{CAUSE_UNKNOWN, leader_text},
	{CAUSE_ECT_MISSING, ect_text},
	{CAUSE_NP_OFF, np_text},
	{CAUSE_ECN_OFF, off_text},
	{CAUSE_ECN_LATE, congestion_finding_late_text},
	{CAUSE_ECN_EARLY, early_text},
	{CAUSE_XON_CLOSE, xon_text},
	{CAUSE_OVERSUBSCRIPTION, narrow_text},
	{CAUSE_INCAST, incast_text},
	{CAUSE_UPLINK_OVERLOAD, overload_text},
};

static const char *congestion_finding_summary(const struct report_ctx *ctx)
{
	if (ctx->s->kind == SUSPECT_NIC && ctx->s->is->cause == CAUSE_DCQCN_OFF)
		return keeps_rate_text(ctx);
	for (size_t i = 0; i < rw_countof(sentences); i++)
		if (sentences[i].cause == ctx->s->is->cause)
			return sentences[i].say(ctx);
	return NULL;
}

/* ---- severity ------------------------------------------------------------ */

/* A host that leads on every rail, or for a measured share of the time, needs somebody to look. */
static enum severity leader_severity(
	const struct congestion *congestion, const struct suspect *suspect)
{
	const struct paused_host *h = suspect->host;
	const bool on_all_rails = suspect->signs.yes & ALL_RAILS;
	if (on_all_rails || (h->measured && h->level >= LEADER_PAUSE))
		return SEV_WARNING;
	return SEV_INFO;
}

/*
 * By impact: the time that hosts are paused. An upper bound is never critical, and pause between
 * switches alone weighs less. Settings and narrow leaves pause all hosts alike; whether that slows
 * a job down is unknown, so they are a warning.
 */
static enum severity congestion_finding_severity_of(
	const struct congestion *congestion, const struct suspect *suspect)
{
	if (suspect->is->harmless || suspect->alike >= CROWD ||
		class_congestion(congestion->o->fabric, congestion->priority) == CC_PFC_ONLY)
		return SEV_INFO;
	if (suspect->kind == SUSPECT_LEADER)
		return leader_severity(congestion, suspect);
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

static void congestion_finding_prove_prio(struct draft *draft, const struct port_prio *prio)
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

/* What the host did after CNPs. */
static void congestion_finding_prove_reaction(
	struct draft *draft, const struct suspect *suspect, enum quality quality)
{
	const struct reaction_judged *r = &suspect->reaction;
	const struct {
		const char *metric;
		double value;
		const char *unit;
	} values[] = {{"flow.reactions", (double)r->n, "-"},
		{"flow.rate_before_cnp_bps", r->before_bps, "bit/s"},
		{"flow.rate_after_cnp_bps", r->after_bps, "bit/s"},
		{"flow.reaction_ratio", r->ratio, "ratio"}};
	for (size_t i = 0; i < rw_countof(values); i++)
		finding_evidence(draft, values[i].metric, suspect->prio->port, PRIO_NONE,
			values[i].value, values[i].unit, quality);
}

static void congestion_finding_prove_packets(struct draft *draft, const struct suspect *suspect)
{
	enum quality q = QUALITY_EXACT;
	if (suspect->packets.sampled)
		q = QUALITY_ESTIMATED;
	const struct {
		const char *metric;
		bool known;
		double value;
	} counts[] = {{"flow.packets_from_host", suspect->packets.from_known,
			      suspect->packets.from_packets},
		{"flow.ect_from_host", suspect->packets.from_known, suspect->packets.from_ect},
		{"flow.cnp_from_host", suspect->packets.from_known, suspect->packets.from_cnp},
		{"flow.ce_to_host", suspect->packets.to_known, suspect->packets.to_ce},
		{"flow.cnp_to_host", suspect->packets.to_known, suspect->packets.to_cnp}};
	for (size_t i = 0; i < rw_countof(counts); i++)
		finding_evidence(draft, counts[i].metric, suspect->prio->port, PRIO_NONE,
			counts[i].known ? counts[i].value : NAN, "packets", q);
	if (suspect->signs.known & KEEPS_RATE)
		congestion_finding_prove_reaction(draft, suspect, q);
}

/* The receivers whose queues stand out, and what is usual. */
static void lead_prove(struct draft *draft, const struct report_ctx *ctx)
{
	enum { SHOWN = 3 };
	const struct lead *lead = &ctx->c->lead;
	const double mtu = (double)ctx->c->o->fabric->lossless_mtu_bytes;
	size_t n = 0;
	for (size_t i = 0; i < lead->n_squeezed && n < SHOWN; i++) {
		const struct port_prio *prio = lead->squeezed[i];
		const struct marks marks = prio_marks(prio, mtu);
		if (str_eq(prio->port->port->host, ctx->s->host->host))
			continue;
		finding_evidence(draft, "ecn.marked_ratio", prio->port, prio->priority,
			marks_ratio(&marks), "ratio", QUALITY_EXACT);
		n++;
	}
	finding_evidence_device(draft, "ecn.receivers_median_ratio", NULL, lead->marks_median,
		"ratio", QUALITY_EXACT);
	finding_rests_on(draft,
		"%zu of %zu queues to hosts mark at least three times the median of %s while they "
		"carry as much: somebody who sends there does not slow down",
		lead->n_squeezed, lead->receivers,
		congestion_finding_percent(lead->marks_median, draft->a));
}

static void congestion_finding_prove(struct draft *draft, const struct report_ctx *ctx)
{
	const struct suspect *s = ctx->s;
	if (s->prio)
		congestion_finding_prove_prio(draft, s->prio);
	if (s->host) {
		finding_evidence_device(draft, "pause.others_max_ratio", NULL,
			fmin(1, others_max(ctx)), "ratio",
			ctx->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
		finding_evidence_device(draft, "pause.others_median_ratio", NULL,
			fmin(1, ctx->c->median), "ratio",
			ctx->c->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	}
	if (s->signs.yes & SQUEEZES && s->host)
		lead_prove(draft, ctx);
	if (s->captured)
		congestion_finding_prove_packets(draft, s);
	const char *device = NULL;
	if (ctx->n_merged <= 1)
		device = s->device->device->name;
	if (s->marks.known)
		finding_evidence_device(draft, "ecn.marked_ratio", s->host ? NULL : device,
			marks_ratio(&s->marks), "ratio", QUALITY_EXACT);
	finding_evidence_device(draft, "ecn.q_pfc_most_bytes", s->device->device->name,
		s->q_pfc_bytes, "bytes", s->q_pfc_seen ? QUALITY_EXACT : QUALITY_ESTIMATED);
	if (s->is->cause == CAUSE_ECN_EARLY)
		finding_evidence_device(
			draft, "ecn.bdp_bytes", device, s->bdp_bytes, "bytes", QUALITY_ESTIMATED);
	if (s->is->cause == CAUSE_XON_CLOSE && !isnan(s->episode_ns))
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

/* Names what has to be collected to tell a host that ignores ECN from one that is unlucky. */
static void leader_unproved(struct draft *draft, const struct report_ctx *ctx)
{
	const struct suspect *s = ctx->s;
	const char *host = s->host->host;
	if (!ctx->c->lead.receivers)
		finding_unproved(draft,
			"missing: ECN marks of egress queues (gNMI has them on most platforms); "
			"without "
			"them it cannot be proven that ECN works");
	else if (!(s->signs.yes & SQUEEZES))
		finding_unproved(draft,
			"no receiver's queue marks far more than its peers at the same load, as it "
			"would behind a sender that ignores ECN");
	finding_unproved(draft,
		"missing: NIC counters: np_cnp_sent of its receivers beside rp_cnp_handled on "
		"every NIC of %s",
		host);
	if (!s->captured)
		finding_unproved(draft,
			"missing: packets: a mirror of %s shows whether CNPs reach %s and whether "
			"its rate falls",
			port_text(s->prio->port, draft->a), host);
}

static const char *leader_step(const struct report_ctx *ctx)
{
	return arena_printf(ctx->a,
		"on %s and on one host that is not paused, compare DCQCN settings and "
		"rp_cnp_handled on every rail; at its receivers read np_cnp_sent",
		ctx->s->host->host);
}

/* Pause without marks where nobody tells whether marking is on, nor from which depth on. */
static bool marking_is_unread(const struct suspect *suspect)
{
	return suspect->is->cause == CAUSE_ECN_LATE && !(suspect->signs.known & (LATE | SET_OFF));
}

static void congestion_finding_weigh(struct draft *draft, const struct report_ctx *ctx)
{
	const struct suspect *s = ctx->s;
	double c = s->is->confidence;
	finding_rests_on(draft, "%s", s->is->rests_on);
	if (s->kind != SUSPECT_NIC && s->signs.yes & (PAUSES | SINGLED | HOSTS_PAUSED) &&
		!ctx->c->measured) {
		c *= BOUND_SURE;
		finding_against(draft, "pause time not measured: upper bound from PFC frame count");
	}
	if (is_declared(s)) {
		c *= DECLARED_SURE;
		finding_against(draft,
			"thresholds are declared in the configuration, not read back from the "
			"device");
	}
	if (s->root)
		finding_rests_on(draft, "root of %.0f %% of the pressure in its pause tree",
			100 * s->root->share);
	if (s->alike >= CROWD)
		finding_rests_on(draft,
			"%zu receivers show it at once: that is how the job exchanges", s->alike);
	if (s->host && ctx->c->lead.n > 1) {
		c *= TOGETHER_SURE;
		finding_against(
			draft, "another host shows the same signs: %zu in all", ctx->c->lead.n);
	}
	if (s->host)
		c *= nic_check_pause(draft, ctx->c->in, s->prio);
	const bool has_nic = s->host && nic_at(nics_seen(ctx->c->in), s->prio->port);
	if (s->host)
		finding_rests_on(
			draft, "%zu other host-facing ports to compare with", ctx->c->n_others);
	if (marking_is_unread(s))
		finding_unproved(draft,
			"whether marking is off, or begins above the depth at which PFC pauses: no "
			"ECN setting is read");
	if (s->kind == SUSPECT_LEADER)
		leader_unproved(draft, ctx);
	else if (s->host && has_nic)
		finding_unproved(draft,
			"what its NIC counts of CNPs does not decide it: none is told, or none was "
			"sent");
	else if (s->host && s->captured)
		finding_unproved(draft, "no NIC counters available");
	else if (s->host)
		finding_unproved(draft, "no packet capture and no NIC counters available");
	draft->f->confidence_ratio = c;
}

static void congestion_finding_rule_out(struct draft *draft, const struct report_ctx *ctx)
{
	const struct suspect *s = ctx->s;
	if (!(s->signs.yes & FROM_HOST))
		finding_ruled_out(
			draft, "slow receiver: no host pauses its switch enough to explain this");
	if (s->host && s->signs.known & SKEWED && !(s->signs.yes & SKEWED))
		finding_ruled_out(draft,
			"hash collision: no uplink of %s is crowded by an uneven spread",
			s->device->device->name);
	if (s->host && s->host->rails > 1 && s->host->rails_paused == s->host->rails)
		finding_ruled_out(draft, "cable or port: all %u rails show it", s->host->rails);
	if (s->kind == SUSPECT_QUEUE && s->signs.known & SKEWED &&
		!(s->signs.yes & (SKEWED | TO_HOST)))
		finding_ruled_out(
			draft, "imbalance: the members of its group carry about the same");
	if (s->signs.known & LATE && !(s->signs.yes & LATE) && s->kind == SUSPECT_SWITCH &&
		s->is->cause != CAUSE_ECN_LATE)
		finding_ruled_out(draft,
			"thresholds out of order: Kmin is below half of the depth at which XOFF "
			"fires");
	if (s->kind != SUSPECT_HOST && ctx->c->n_known && !(s->signs.yes & SINGLED) &&
		ctx->c->n_hosts > 1)
		finding_ruled_out(draft,
			"a host that does not slow down: %zu hosts are paused alike",
			ctx->c->n_singled);
}

static void congestion_finding_add_roles(struct draft *draft, const struct report_ctx *ctx)
{
	enum { SHOWN = 8 };
	const struct suspect *s = ctx->s;
	if (s->kind == SUSPECT_LEADER)
		finding_add_role(draft, "suspect", "%s", s->prio->port->port->host);
	else if (s->host || s->kind == SUSPECT_NIC)
		finding_add_role(draft, "culprit", "%s", s->prio->port->port->host);
	else if (s->kind == SUSPECT_QUEUE)
		finding_add_role(draft, "culprit", "%s", port_text(s->prio->port, draft->a));
	else if (ctx->n_merged <= 1)
		finding_add_role(draft, "culprit", "%s", s->device->device->name);
	size_t n = 0;
	/* hosts that do not slow down are not victims of each other */
	for (size_t i = s->host ? ctx->c->lead.n : 0; i < ctx->c->n_hosts && n < SHOWN; i++)
		if (!s->prio ||
			!str_eq(ctx->c->hosts[i].host,
				s->kind == SUSPECT_SWITCH ? NULL : s->prio->port->port->host)) {
			finding_add_role(draft, "direct_victim", "%s", ctx->c->hosts[i].host);
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

static void congestion_finding_set_subject(
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
	/* an upper bound counts from ten times the share that a measured level counts from */
	if (level > 0 && !congestion->measured)
		finding->warn = options->pause * LEVEL_BOUND_FACTOR;
}

/* Are its thresholds bytes, or shares of the queue's quota, or not known at all? */
static unsigned congestion_finding_facts(
	const struct congestion *congestion, const struct suspect *suspect)
{
	const struct device_seen *device = suspect->device;
	if (marking_is_unread(suspect))
		return FACT_UNREAD;
	if (!device && suspect->prio)
		device = suspect->prio->port->device;
	for (size_t i = 0; device && i < device->n_ports; i++) {
		const struct port_prio *prio =
			observed_prio(&device->ports[i], congestion->priority);
		if (prio && prio->ecn_relative == 1)
			return FACT_SHARES;
	}
	return FACT_BYTES;
}

void congestion_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct suspect *suspect, size_t n_merged,
	struct finding_list *out)
{
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	const struct report_ctx y = {.c = congestion,
		.s = suspect,
		.n_merged = n_merged,
		.a = t.a,
		.where = n_merged > 1 ? arena_printf(t.a, "%zu switches", n_merged)
				      : suspect->device->device->name};
	congestion_finding_set_subject(t.f, suspect, n_merged, congestion->priority);
	congestion_finding_set_value(t.f, congestion, options, suspect);
	t.f->cause = suspect->is->cause;
	/* measured round so many CNPs that chance cannot make it */
	t.f->proven = suspect->kind == SUSPECT_NIC && suspect->is->cause == CAUSE_DCQCN_OFF;
	t.f->severity = congestion_finding_severity_of(congestion, suspect);
	t.f->coverage_ratio =
		observed_coverage(suspect->prio ? suspect->prio->port : &suspect->device->ports[0]);
	t.f->summary = congestion_finding_summary(&y);
	congestion_finding_prove(&t, &y);
	congestion_finding_weigh(&t, &y);
	congestion_finding_rule_out(&t, &y);
	congestion_finding_add_roles(&t, &y);
	finding_steps(&t, suspect->is->cause, congestion_finding_facts(congestion, suspect));
	if (suspect->kind == SUSPECT_LEADER)
		finding_step(&t, leader_step(&y), "none: read only");
}
