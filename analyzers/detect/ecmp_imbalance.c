/*
 * ecmp_imbalance - is the load of each ECMP group even, and if not: a fault, or the luck of few
 * flows?
 *
 * One finding per group and window. What is over:
 *     imbalance = max/mean - 1 above `warn` in a busy window (ecmp_measure.h has the formulas).
 * Impact decides the severity:
 *     critical  imbalance above `critical`, and the hot member is near line rate (its packets
 *               reach NEAR_LINE of it within some
 *               1 ms; without packets: its mean over the window does), or it drops or its
 *                   packets carry CE
 *     info      it is no busier than the busiest host-facing port (ecmp_harm.h): the exchange
 *               does not wait for it; or packets show that even its highest 1 ms stays below
 *               FAR_FROM_LINE of line rate, and nothing drops or is marked:
 *               nobody waits for it
 *     warning   otherwise; a window's mean says nothing of bursts, so without packets it stays
 *               a warning
 * Chance decides the cause and the remedy:
 *     ecmp_imbalance      above what chance allows for the flows there are; or the flows are
 *                         not known (lower confidence); or the
 *                         group is not hashed statically, where even is expected
 *     ecmp_low_entropy    chance explains it, with fewer than 4 effective flows per member:
 *                         more flows are the remedy
 *     unlucky_placement   chance explains it although there are enough flows: another placement
 *                         is the remedy
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/finding_list.h"
#include "analyzers/measure/ecmp_harm.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/ecmp_packets.h"
#include "analyzers/measure/observe.h"

#define NEAR_LINE 0.9
#define FAR_FROM_LINE 0.5
#define FLOWS_SHOWN 16

static const struct option rows[] = {
	{"warn", OPT_RATIO, offsetof(struct ecmp_options, warn), "20%", "1%", "10000%", NULL,
		"imbalance (max/mean - 1 over the members of a group) above which a busy window "
		"counts against the group"},
	{"critical", OPT_RATIO, offsetof(struct ecmp_options, critical), "50%", "1%", "10000%",
		NULL,
		"imbalance above which the incident is critical, if the hot member is also near "
		"line rate, drops, or is marked"},
	{"load_floor", OPT_RATIO, offsetof(struct ecmp_options, load_floor), "5%", "0%", "100%",
		NULL,
		"mean utilisation of a group at or below which a window is idle: neither for nor "
		"against"},
	{"window", OPT_DURATION, offsetof(struct ecmp_options, window_ns), "60s", "100ms", "1h",
		NULL,
		"time one measurement spans; several training steps, so that a burst cut by its "
		"edge does not show as imbalance"},
	{"hold", OPT_INT, offsetof(struct ecmp_options, hold), "5", "1", "10000", NULL,
		"busy windows in a row above the threshold before an incident opens; idle windows "
		"between them do not count"},
	{"min_coverage", OPT_RATIO, offsetof(struct ecmp_options, min_coverage), "75%", "0%",
		"100%", NULL,
		"share of a window's samples a member must have to be judged; with fewer the group "
		"is unknown, never even"},
};

static double hot_load(const struct ecmp_measure *measure)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	if (isnan(hot->burst_ratio))
		return hot->utilization_ratio;
	return hot->burst_ratio;
}

static enum severity ecmp_imbalance_severity_of(const struct ecmp_measure *measure,
	const struct ecmp_options *options, const struct ecmp_harm *harm)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	bool hurt = hot->discards > 0 || hot->ce_packets > 0 || harm->level == ECMP_HARM_SEEN;
	if (harm->level == ECMP_HARM_NONE && !hot->discards &&
		!(hot->utilization_ratio > NEAR_LINE))
		return SEV_INFO;
	if (measure->imbalance_ratio > options->critical && (hurt || hot_load(measure) > NEAR_LINE))
		return SEV_CRITICAL;
	if (!hurt && !isnan(hot->burst_ratio) && hot->burst_ratio < FAR_FROM_LINE)
		return SEV_INFO;
	return SEV_WARNING;
}

static enum cause ecmp_imbalance_cause_of(const struct ecmp_measure *measure)
{
	switch (measure->verdict) {
	case ECMP_LOW_ENTROPY: return CAUSE_ECMP_LOW_ENTROPY;
	case ECMP_UNLUCKY:
	case ECMP_WITHIN_CHANCE: return CAUSE_UNLUCKY_PLACEMENT;
	default: return CAUSE_ECMP_IMBALANCE;
	}
}

/* ---- words --------------------------------------------------------------- */

struct words {
	struct arena *a;
	const char **v;
	size_t n, cap;
};

static void ecmp_imbalance_say(struct words *words, const char *text)
{
	if (words->n >= words->cap) {
		size_t cap = 8;
		if (words->cap)
			cap = words->cap * 2;
		const char **v = arena_array(words->a, const char *, cap);
		if (words->n)
			memcpy(v, words->v, words->n * sizeof(*v));
		words->v = v;
		words->cap = cap;
	}
	words->v[words->n++] = text;
}

static const char *members_with(
	const struct ecmp_measure *measure, enum ecmp_link link, struct arena *a)
{
	const char *list = "";
	size_t n = 0;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == link && ++n <= 6)
			list = arena_printf(
				a, "%s%s%s", list, str_if(n > 1, ", "), measure->members[i].port);
	if (n > 6)
		return arena_printf(a, "%s and %zu more", list, n - 6);
	return list;
}

static const char *p_text(double chance, struct arena *a)
{
	if (chance < 1e-6)
		return "p < 0.000001";
	return arena_printf(a, "p = %.2g", chance);
}

static const char *chance_text(const struct ecmp_measure *measure, struct arena *a)
{
	if (!measure->hashed)
		return "the group is not spread by a static hash, so near even is expected";
	if (isnan(measure->n_eff))
		return "luck and a faulty hash cannot be told apart without packets";
	const char *flows = arena_printf(a,
		"%.3g effective flows on %zu members (chance: mean %.0f %%, p95 %.0f %%, %s)",
		measure->n_eff, measure->n_live, 100 * measure->expected_ratio,
		100 * measure->expected_p95_ratio, p_text(measure->chance_p, a));
	switch (measure->verdict) {
	case ECMP_LOW_ENTROPY:
		return arena_printf(a, "within what chance does with only %s", flows);
	case ECMP_UNLUCKY:
	case ECMP_WITHIN_CHANCE: return arena_printf(a, "within what chance does with %s", flows);
	default: return arena_printf(a, "more than chance does with %s", flows);
	}
}

static const char *ecmp_imbalance_summary_of(
	const struct ecmp_measure *measure, const struct ecmp_options *options, struct arena *a)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	switch (measure->verdict) {
	case ECMP_UNKNOWN:
		return arena_printf(a,
			"%s %s: not judged, no usable samples of %s (%zu of %zu members known)",
			measure->device, measure->group, members_with(measure, ECMP_LINK_ABSENT, a),
			measure->n_known, measure->n_members);
	case ECMP_IDLE:
		if (measure->n_live < 2)
			return arena_printf(a,
				"%s %s: %zu of %zu members is up, nothing to balance",
				measure->device, measure->group, measure->n_live,
				measure->n_members);
		return arena_printf(a, "%s %s: idle, mean load at or below %.3g %%",
			measure->device, measure->group, 100 * options->load_floor);
	case ECMP_EVEN:
		return arena_printf(a, "%s %s: even, max/mean-1 is %.1f %%", measure->device,
			measure->group, 100 * measure->imbalance_ratio);
	default:
		return arena_printf(a,
			"%s %s: %s%s%s carries %.2f times its fair share (max/mean-1 %.0f %%, "
			"threshold %.0f %%); %s",
			measure->device, measure->group, hot->port, str_if(hot->peer[0], " to "),
			hot->peer, hot->share_ratio, 100 * measure->imbalance_ratio,
			100 * options->warn, chance_text(measure, a));
	}
}

static const char *speed_text(uint64_t bps, struct arena *a)
{
	char buf[32];
	return arena_strdup(a, unit_bitrate_text(buf, sizeof(buf), bps));
}

static bool same_speed(const struct ecmp_measure *measure, bool *ret_read)
{
	*ret_read = true;
	uint64_t first = 0;
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		if (!first)
			first = e->speed_bps;
		if (!e->speed_bps || e->speed_bps != first)
			return false;
		if (!e->read_bps)
			*ret_read = false;
	}
	return true;
}

static void ecmp_imbalance_rule_out(
	struct finding *finding, const struct ecmp_measure *measure, struct arena *a)
{
	struct words w = {.a = a};
	const struct ecmp_member *hot = &measure->members[measure->hot];
	bool read;
	if (same_speed(measure, &read) && read)
		ecmp_imbalance_say(&w,
			arena_printf(a, "speed mismatch: all %zu members run at %s",
				measure->n_live, speed_text(hot->speed_bps, a)));
	if (!measure->n_down && !measure->n_absent)
		ecmp_imbalance_say(&w,
			arena_printf(a, "missing path: none of the %zu members is down",
				measure->n_members));
	if (measure->verdict == ECMP_SKEWED && measure->hashed && !isnan(measure->n_eff))
		ecmp_imbalance_say(&w,
			arena_printf(a, "hash luck: chance stays below %.0f %% (%s for one group)",
				100 * measure->chance_limit_ratio, p_text(measure->chance_p, a)));
	if (measure->verdict != ECMP_SKEWED)
		ecmp_imbalance_say(&w,
			arena_printf(a, "faulty hash: not needed to explain this (%s)",
				p_text(measure->chance_p, a)));
	if (hot->discards_known && !hot->discards)
		ecmp_imbalance_say(&w,
			arena_printf(a, "loss at the hot member: %s dropped nothing at its egress",
				hot->port));
	finding->ruled_out = w.v;
	finding->n_ruled_out = w.n;
}

/* The hash sees 5-tuples; the QPs they carry are told beside them where there are more. */
static const char *tuples_text(const struct ecmp_measure *measure, struct arena *a)
{
	const char *more = "";
	if (measure->tuples_more)
		more = " or more";
	if (measure->flows == measure->tuples)
		return arena_printf(a, "%u%s 5-tuples", measure->tuples, more);
	return arena_printf(a, "%u flows (5-tuple and QP) on %u%s 5-tuples", measure->flows,
		measure->tuples, more);
}

static double ecmp_imbalance_confidence_of(
	struct finding *finding, const struct ecmp_measure *measure, struct arena *a)
{
	struct words w = {.a = a};
	const struct ecmp_member *hot = &measure->members[measure->hot];
	double c;
	ecmp_imbalance_say(&w,
		arena_printf(a, "octets of %zu of %zu members, coverage %.1f %%", measure->n_known,
			measure->n_members, 100 * measure->coverage_ratio));
	if (!measure->hashed) {
		c = 0.8;
		ecmp_imbalance_say(&w,
			"policy.load_balancing: not a static hash, so there is no chance baseline");
	} else if (isnan(measure->n_eff)) {
		c = 0.5;
		ecmp_imbalance_say(&w,
			arena_printf(a,
				"flows unknown: %s; luck and a faulty hash cannot be told apart "
				"without packets",
				str_or(measure->flows_note, "no packets")));
	} else {
		if (measure->verdict != ECMP_SKEWED)
			c = 0.75;
		else if (measure->n_eff > 8 * (double)measure->n_live)
			c = 0.9;
		else
			c = 0.8;
		if (measure->sampling > 1) {
			c *= 0.9;
			ecmp_imbalance_say(&w,
				arena_printf(a,
					"%llu packets sampled 1 in %u: %.3g effective flows",
					(unsigned long long)measure->packets, measure->sampling,
					measure->n_eff));
		} else {
			ecmp_imbalance_say(&w,
				arena_printf(a,
					"%llu packets, every one seen: %s, %.3g effective flows",
					(unsigned long long)measure->packets,
					tuples_text(measure, a), measure->n_eff));
		}
		ecmp_imbalance_say(
			&w, "one placement: windows with the same flows are one sample of chance");
	}
	if (measure->equal_weights)
		ecmp_imbalance_say(&w,
			"members weigh alike: a link speed is neither declared nor read; idle is "
			"judged as if links ran at 1G");
	bool read;
	if (!measure->equal_weights && same_speed(measure, &read) && !read)
		ecmp_imbalance_say(&w, "link speeds are declared, not read from the device");
	if (isnan(hot->burst_ratio))
		ecmp_imbalance_say(
			&w, "in-burst rate unknown: severity rests on the window's mean");
	if (hot->quality == QUALITY_ESTIMATED) {
		c *= 0.9;
		ecmp_imbalance_say(&w,
			"octets of the hot member estimated: its counter is refreshed more slowly "
			"than it is polled");
	} else if (hot->quality == QUALITY_SUSPECT) {
		c *= 0.5;
		ecmp_imbalance_say(&w,
			"octets of the hot member suspect: its rate exceeds 1.02 times the line "
			"rate");
	}
	finding->confidence_inputs = w.v;
	finding->n_confidence_inputs = w.n;
	return c * fmin(1, isnan(measure->coverage_ratio) ? 1 : measure->coverage_ratio);
}

/* ---- what to do ---------------------------------------------------------- */

static void ecmp_imbalance_advise(
	struct finding *finding, const struct ecmp_measure *measure, struct arena *a)
{
	struct draft t = {.f = finding, .a = a};
	const bool packets = !isnan(measure->n_eff);
	unsigned facts = 0;
	if (measure->hashed)
		facts |= FACT_HASHED;
	if (measure->hashed && packets)
		facts |= FACT_HASHED_PACKETS;
	finding_steps(&t, finding->cause, facts);
	if (measure->hashed && !packets)
		finding_step(&t,
			"capture packets at the members of the group (mirror, sFlow or the "
			"interface itself): they tell bad luck from a faulty hash",
			"none: read only");
	if (!measure->hashed)
		finding_step(&t,
			"check that the balancing named in policy.load_balancing is active on "
			"these ports, and that pinned paths cover all members",
			"none: read only");
}

/* ---- evidence ------------------------------------------------------------ */

struct proof {
	struct finding *f;
	const struct ecmp_measure *m;
	size_t cap;
};

static void ecmp_imbalance_prove(struct proof *proof, const char *metric,
	const struct ecmp_member *member, double value, const char *unit, enum quality quality)
{
	if (isnan(value) || proof->f->n_evidence >= proof->cap)
		return;
	proof->f->evidence[proof->f->n_evidence++] = (struct evidence){
		.metric = metric,
		.device = proof->m->device,
		.port = member ? member->port : NULL,
		.priority = PRIO_NONE,
		.from_ns = proof->m->from_ns,
		.to_ns = proof->m->to_ns,
		.value = value,
		.unit = unit,
		.quality = quality,
	};
}

#define MEMBERS_SHOWN 8

static void ecmp_imbalance_show_evidence(
	struct finding *finding, const struct ecmp_measure *measure, struct arena *a)
{
	struct proof p = {.f = finding, .m = measure, .cap = 16 + 3 * measure->n_members};
	finding->evidence = arena_array(a, struct evidence, p.cap);
	const struct ecmp_member *hot = &measure->members[measure->hot];
	enum quality flow_q = QUALITY_EXACT;
	if (measure->sampling > 1)
		flow_q = QUALITY_ESTIMATED;
	ecmp_imbalance_prove(
		&p, "ecmp.imbalance_ratio", NULL, measure->imbalance_ratio, "ratio", hot->quality);
	ecmp_imbalance_prove(&p, "ecmp.max_minus_min_ratio", NULL, measure->max_minus_min_ratio,
		"ratio", hot->quality);
	ecmp_imbalance_prove(&p, "ecmp.cov_ratio", NULL, measure->cov_ratio, "ratio", hot->quality);
	ecmp_imbalance_prove(
		&p, "ecmp.jain_ratio", NULL, measure->jain_ratio, "ratio", hot->quality);
	ecmp_imbalance_prove(
		&p, "ecmp.load_ratio", NULL, measure->load_ratio, "ratio", hot->quality);
	ecmp_imbalance_prove(&p, "ecmp.flows_effective", NULL, measure->n_eff, "flows", flow_q);
	ecmp_imbalance_prove(
		&p, "ecmp.expected_ratio", NULL, measure->expected_ratio, "ratio", flow_q);
	ecmp_imbalance_prove(
		&p, "ecmp.expected_p95_ratio", NULL, measure->expected_p95_ratio, "ratio", flow_q);
	ecmp_imbalance_prove(&p, "ecmp.expected_p999_ratio", NULL, measure->expected_p999_ratio,
		"ratio", flow_q);
	ecmp_imbalance_prove(
		&p, "ecmp.chance_limit_ratio", NULL, measure->chance_limit_ratio, "ratio", flow_q);
	ecmp_imbalance_prove(
		&p, "ecmp.chance_probability", NULL, measure->chance_p, "ratio", flow_q);
	if (measure->verdict != ECMP_IDLE && measure->verdict != ECMP_UNKNOWN) {
		ecmp_imbalance_prove(&p, "port.burst_utilization_ratio", hot, hot->burst_ratio,
			"ratio", QUALITY_EXACT);
		if (hot->discards_known)
			ecmp_imbalance_prove(&p, "port.out_discards", hot, (double)hot->discards,
				"frames", QUALITY_EXACT);
		if (hot->packets)
			ecmp_imbalance_prove(&p, "flow.ce_packets", hot, (double)hot->ce_packets,
				"packets", flow_q);
	}
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link == ECMP_LINK_DOWN)
			ecmp_imbalance_prove(&p, "port.oper_up", e, 0, "-", QUALITY_EXACT);
		else if (e->link == ECMP_LINK_UP &&
			(measure->n_members <= MEMBERS_SHOWN || i == measure->hot))
			ecmp_imbalance_prove(
				&p, "port.out_octets", e, (double)e->octets, "bytes", e->quality);
	}
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link == ECMP_LINK_UP &&
			(measure->n_members <= MEMBERS_SHOWN || i == measure->hot))
			ecmp_imbalance_prove(&p, "port.utilization_ratio", e, e->utilization_ratio,
				"ratio", e->quality);
	}
}

/* A member without a link, or one whose speed is not its peers', mimics imbalance: say so first. */
static const char *with_paths(
	const char *summary, const struct ecmp_measure *measure, struct arena *a)
{
	if (measure->n_down && measure->n_live >= 2 && measure->verdict != ECMP_IDLE)
		summary = arena_printf(a, "%s; missing path: %s is down, judged over the other %zu",
			summary, members_with(measure, ECMP_LINK_DOWN, a), measure->n_live);
	return summary;
}

static void finding_of(const struct analyzer_in *in, const struct fabric_group *group,
	const struct ecmp_measure *measure, double edge_ratio, struct finding_list *out)
{
	const struct ecmp_options *o = in->options;
	struct arena *a = in->arena;
	struct finding *f = finding_add(out, a);
	f->analyzer = "ecmp_imbalance";
	f->device = measure->device;
	f->group = measure->group;
	f->from_ns = measure->from_ns;
	f->to_ns = measure->to_ns;
	f->hold = (uint32_t)o->hold;
	f->warn = o->warn;
	f->value = measure->imbalance_ratio;
	f->coverage_ratio = measure->coverage_ratio;
	f->cause = ecmp_imbalance_cause_of(measure);
	f->severity = SEV_INFO;
	if (measure->verdict == ECMP_IDLE)
		f->verdict = FINDING_IDLE;
	else if (measure->verdict == ECMP_UNKNOWN)
		f->verdict = FINDING_UNKNOWN;
	else if (measure->verdict == ECMP_EVEN)
		f->verdict = FINDING_UNDER;
	else
		f->verdict = FINDING_OVER;
	f->summary = with_paths(ecmp_imbalance_summary_of(measure, o, a), measure, a);
	ecmp_imbalance_show_evidence(f, measure, a);
	if (f->verdict != FINDING_OVER)
		return;
	const struct ecmp_harm measured = ecmp_harm(observe(in), group, measure, edge_ratio),
			       *harm = &measured;
	f->severity = ecmp_imbalance_severity_of(measure, o, harm);
	f->member = measure->members[measure->hot].port;
	f->loss_ratio = harm->loss_ratio;
	f->confidence_ratio = ecmp_imbalance_confidence_of(f, measure, a);
	f->n_flows = ecmp_flows(group, measure->hot, in->window, a, FLOWS_SHOWN, &f->flows);
	ecmp_imbalance_rule_out(f, measure, a);
	ecmp_imbalance_advise(f, measure, a);
	f->roles = arena_new_of(a, struct finding_role);
	f->roles[0] = (struct finding_role){
		arena_printf(a, "%s:%s", measure->device, f->member), "culprit"};
	f->n_roles = 1;
}

static int ecmp_imbalance_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct ecmp_options *o = in->options;
	struct ecmp_params p = {.warn = o->warn,
		.load_floor = o->load_floor,
		.min_coverage = o->min_coverage,
		.interval_ns = in->interval_ns};
	struct ecmp_measure *m;
	size_t n = ecmp_measure_all(in->fabric, in->window, &p, in->arena, &m);
	const double edge_ratio = ecmp_edge(observe(in));
	for (size_t i = 0; i < n; i++) {
		/* nobody polls it: that is the fabric's business, not a finding in each window */
		if (!m[i].observed)
			continue;
		const struct fabric_device *d = fabric_device(in->fabric, m[i].device);
		finding_of(in, fabric_group(d, m[i].group), &m[i], edge_ratio, out);
	}
	return 0;
}

const struct analyzer analyzer_ecmp_imbalance = {
	.name = "ecmp_imbalance",
	.phase = 60,
	.doc = "uneven load over the members of an ECMP group, told apart from the luck of few "
	       "flows",
	.options = {"analyzers", "ecmp_imbalance", sizeof(struct ecmp_options), rows,
		rw_countof(rows), "imbalance of ECMP groups against the chance of a uniform hash"},
	.window_offset = offsetof(struct ecmp_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_PORT_OUT_OCTETS, M_PORT_OUT_DISCARDS,
			 M_PORT_SPEED_BPS, M_PORT_OPER_UP},
		.n_metrics = 4,
		.flows = true},
	.observes = true,
	.run = ecmp_imbalance_run,
};
