/*
 * ecmp_imbalance - is the load of each ECMP group even, and if not: a fault, or the luck of few
 * flows?
 *
 * One finding per group and window: imbalance = max/mean - 1 above `warn` in a busy window
 * (formulas: ecmp_measure.h).
 *
 * Severity by impact:
 *     critical  imbalance above `critical`, and the hot member is near line rate (its packets reach
 *               NEAR_LINE of it within 1 ms; without packets: its mean over the window), drops,
 *               or carries CE
 *     info      the hot member is no busier than the busiest host-facing port (ecmp_measure.h), so
 * the exchange does not wait for it; or packets show that even its highest 1 ms stays below
 * FAR_FROM_LINE of line rate, and nothing is dropped or marked; or neither packets nor settings
 * tell luck from a fault, the imbalance is below `critical`, and the hot queue counts its marks and
 * shows neither marks nor pause warning   otherwise; the mean of a window hides bursts, so without
 * packets it stays a warning
 *
 * Cause and remedy by chance:
 *     ecmp_imbalance     more than chance explains for these flows; or the flows are unknown (lower
 *                        confidence); or the group is not hashed statically and must be even
 *     ecmp_low_entropy   chance explains it, with fewer than 4 effective flows per member, or all
 *                        flows use one source port: more flows (ports) are the remedy
 *     unlucky_placement  chance explains it although there are enough flows: another placement is
 *                        the remedy
 *
 * Chance is asked only where a hash decides. Where packets are spread one by one (declared, read
 * back, or seen in captures), members must carry the same but for `spread`, in both directions: one
 * that carries less has failed in quality, one that carries nothing is dead. Where senders write
 * the path into each packet (source routed), there is nothing to judge at the switch.
 */

#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/observe.h"
#include "db/model/finding.h"

/*
 * ecmp_imbalance_text - what the analyzer ecmp_imbalance says of a measured group, and which member
 * it says it of. Pure; texts live in @a. For ecmp_imbalance.c.
 */

#define IDLE_SHARE 0.01 /* of the fair share: the member gets nothing */
#define QPS_PER_TUPLE 2 /* queue pairs for each 5-tuple, from which one port is a waste */

/* A member that is up and gets nothing. */
/* A member that is up and gets nothing. */
static bool ecmp_is_dead(const struct ecmp_member *member)
{
	return member->link == ECMP_LINK_UP && member->share_ratio < IDLE_SHARE;
}

/* Many queue pairs, and all of them on one source port: a hash sees no more than pairs of
 * addresses. Some libraries do so (NVSHMEM's IBGDA and DeepEP use one fixed port). */
/* Many queue pairs, and all of them on one source port: a hash sees no more than pairs of
 * addresses. */
static bool ecmp_has_one_port(const struct ecmp_measure *measure)
{
	return measure->hashed && measure->only_src_port && measure->flows >= QPS_PER_TUPLE &&
		measure->flows >= QPS_PER_TUPLE * measure->tuples;
}

static const char *ecmp_members_with(
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

/* "; Ethernet51 carries nothing"; "" where every member is used. */
static const char *ecmp_idle_text(const struct ecmp_measure *measure, struct arena *a)
{
	const char *list = "";
	size_t n = 0;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == ECMP_LINK_UP &&
			measure->members[i].share_ratio < IDLE_SHARE && ++n <= 6)
			list = arena_printf(
				a, "%s%s%s", list, str_if(n > 1, ", "), measure->members[i].port);
	if (!n)
		return "";
	if (n > 6)
		list = arena_printf(a, "%s and %zu more", list, n - 6);
	return arena_printf(a, "; %s %s nothing", list, n == 1 ? "carries" : "carry");
}

/* "p = 0.03" */
static const char *ecmp_chance_number(double chance, struct arena *a)
{
	if (chance < 1e-6)
		return "p < 0.000001";
	return arena_printf(a, "p = %.2g", chance);
}

/* "; all 64 queue pairs use UDP source port 49152", or nothing. */
static const char *ecmp_one_port_text(const struct ecmp_measure *measure, struct arena *a)
{
	if (!ecmp_has_one_port(measure))
		return "";
	return arena_printf(a, "; all %u queue pairs use UDP source port %u", measure->flows,
		measure->only_src_port);
}

static const char *ecmp_chance_text(const struct ecmp_measure *measure, struct arena *a)
{
	if (measure->even)
		return "packets are spread one by one, so all members should carry the same";
	if (!measure->hashed)
		return "the group is not spread by a static hash, so it should be near even";
	if (measure->hash_blind)
		return arena_printf(a, "its hash does not read the UDP source port, only %s",
			measure->hash_fields);
	if (isnan(measure->n_eff))
		return "cause unknown without packets: hash collision or faulty hash";
	const char *flows = arena_printf(a,
		"%.3g effective flows on %zu members (chance: mean %.0f %%, p95 %.0f %%, %s)",
		measure->n_eff, measure->n_live, 100 * measure->expected_ratio,
		100 * measure->expected_p95_ratio, ecmp_chance_number(measure->chance_p, a));
	switch (measure->verdict) {
	case ECMP_LOW_ENTROPY:
		return arena_printf(
			a, "chance explains it: only %s%s", flows, ecmp_one_port_text(measure, a));
	case ECMP_UNLUCKY:
	case ECMP_WITHIN_CHANCE:
		return arena_printf(
			a, "chance explains it: %s%s", flows, ecmp_one_port_text(measure, a));
	default: return arena_printf(a, "more than chance explains with %s", flows);
	}
}

/* ecmp_summary_text - the sentence of a finding, whatever its verdict. */
static const char *ecmp_summary_text(
	const struct ecmp_measure *measure, const struct ecmp_options *options, struct arena *a)
{
	const struct ecmp_member *odd = &measure->members[ecmp_odd_member(measure)];
	double limit = options->warn;
	if (measure->even)
		limit = measure->spread_limit_ratio;
	switch (measure->verdict) {
	case ECMP_CHOSEN:
		return arena_printf(a,
			"%s %s: source routed: senders choose the path of each packet, so the load "
			"of its members is not judged",
			measure->device, measure->group);
	case ECMP_UNKNOWN:
		return arena_printf(a,
			"%s %s: unknown, no usable samples of %s (%zu of %zu members known)",
			measure->device, measure->group,
			ecmp_members_with(measure, ECMP_LINK_ABSENT, a), measure->n_known,
			measure->n_members);
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
			"%s %s: %s%s%s carries %.2f times its fair share (%s %.*f %%, "
			"threshold %.*f %%)%s; %s",
			measure->device, measure->group, odd->port, str_if(odd->peer[0], " to "),
			odd->peer, odd->share_ratio, measure->even ? "spread" : "max/mean-1",
			measure->even, 100 * ecmp_deviation(measure), measure->even, 100 * limit,
			ecmp_idle_text(measure, a), ecmp_chance_text(measure, a));
	}
}

/* A member without a link looks like imbalance: the summary names it. */
/* ecmp_with_paths - the same with the members that are down. */
static const char *ecmp_with_paths(
	const char *summary, const struct ecmp_measure *measure, struct arena *a)
{
	if (measure->n_down && measure->n_live >= 2 && measure->verdict != ECMP_IDLE)
		summary = arena_printf(a,
			"%s; missing path: %s is down, judged over the other %zu members", summary,
			ecmp_members_with(measure, ECMP_LINK_DOWN, a), measure->n_live);
	return summary;
}

/* The hash reads 5-tuples; QPs are named as well where there are more of them. */
static const char *ecmp_tuples_text(const struct ecmp_measure *measure, struct arena *a)
{
	const char *more = "";
	if (measure->tuples_more)
		more = " or more";
	if (measure->flows == measure->tuples)
		return arena_printf(a, "%u%s 5-tuples", measure->tuples, more);
	return arena_printf(a, "%u flows (5-tuple and QP) on %u%s 5-tuples", measure->flows,
		measure->tuples, more);
}

/* ---- ecmp_imbalance -------------------------------------------------------- */

/* Confidence where the switch itself says that its hash cannot tell flows apart. */
#define HASH_READ_SURE 0.9
#define NEAR_LINE 0.9
/* Times the threshold: a burst cut by the edges of a window adds less. */
#define CERTAIN 2.0
#define CERTAIN_COVERAGE 0.9
#define LEAST_NS (30 * NS_PER_S) /* the burst of a checkpoint is shorter */
#define CERTAIN_EDGE 1.5 /* times the busiest port of a host */
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
	{"spread", OPT_RATIO, offsetof(struct ecmp_options, spread), "10%", "0.1%", "10000%", NULL,
		"where packets are spread one by one: deviation of a member from its fair share, "
		"up or down, above which a busy window counts; what chance adds for the packets "
		"sent comes on top. Where all members are read at once and flows are many, 2 % "
		"holds as well"},
	{"load_floor", OPT_RATIO, offsetof(struct ecmp_options, load_floor), "5%", "0%", "100%",
		NULL, "mean utilisation of a group at or below which a window is idle and ignored"},
	{"window", OPT_DURATION, offsetof(struct ecmp_options, window_ns), "60s", "100ms", "1h",
		NULL, "window of the commands that measure history (ecmp, report spine-imbalance)"},
	{"detect_window", OPT_DURATION, offsetof(struct ecmp_options, detect_ns), "0s", "0s", "1h",
		NULL,
		"window of the detector; 0 = three intervals, at least 5 s: several training "
		"steps, so that a burst cut by its edge does not show as imbalance"},
	{"hold", OPT_INT, offsetof(struct ecmp_options, hold), "3", "1", "10000", NULL,
		"busy windows at the threshold before an incident opens, fewer where the imbalance "
		"is far above it; idle windows between them do not count"},
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

/* A hash places the flows, and nothing tells how many there are or what it looks at. */
static bool ecmp_imbalance_is_undecided(const struct ecmp_measure *measure)
{
	return measure->hashed && isnan(measure->chance_p) && !measure->hash_blind;
}

static enum severity ecmp_imbalance_severity_of(const struct ecmp_measure *measure,
	const struct ecmp_options *options, const struct ecmp_harm *harm)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	if (measure->even && ecmp_is_dead(&measure->members[measure->cold]))
		return SEV_WARNING;
	if (measure->even && ecmp_deviation(measure) <= options->warn)
		return SEV_INFO;
	bool hurt = hot->discards > 0 || hot->ce_packets > 0 || harm->level == ECMP_HARM_SEEN;
	if (harm->level == ECMP_HARM_NONE && !hot->discards &&
		!(hot->utilization_ratio > NEAR_LINE))
		return SEV_INFO;
	if (measure->imbalance_ratio > options->critical && (hurt || hot_load(measure) > NEAR_LINE))
		return SEV_CRITICAL;
	if (!hurt && !isnan(hot->burst_ratio) && hot->burst_ratio < FAR_FROM_LINE)
		return SEV_INFO;
	const bool calm = !hurt && !isnan(harm->marks_ratio);
	if (calm && ecmp_imbalance_is_undecided(measure) &&
		measure->imbalance_ratio <= options->critical)
		return SEV_INFO;
	return SEV_WARNING;
}

static enum cause ecmp_imbalance_cause_of(const struct ecmp_measure *measure)
{
	if (measure->hash_blind)
		return CAUSE_ECMP_IMBALANCE;
	if (ecmp_has_one_port(measure) && measure->verdict != ECMP_SKEWED)
		return CAUSE_ECMP_LOW_ENTROPY;
	switch (measure->verdict) {
	case ECMP_LOW_ENTROPY: return CAUSE_ECMP_LOW_ENTROPY;
	case ECMP_UNLUCKY:
	case ECMP_WITHIN_CHANCE: return CAUSE_UNLUCKY_PLACEMENT;
	default: return CAUSE_ECMP_IMBALANCE;
	}
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

static void ecmp_imbalance_rule_out(struct draft *draft, const struct ecmp_measure *measure)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	bool read;
	if (same_speed(measure, &read) && read)
		finding_ruled_out(draft, "speed mismatch: all %zu members run at %s",
			measure->n_live, bitrate_text((double)hot->speed_bps, draft->a));
	if (!measure->n_down && !measure->n_absent)
		finding_ruled_out(
			draft, "missing path: none of the %zu members is down", measure->n_members);
	if (measure->verdict == ECMP_SKEWED && measure->hashed && !isnan(measure->n_eff))
		finding_ruled_out(draft, "bad luck: chance stays below %.0f %% (%s for one group)",
			100 * measure->chance_limit_ratio,
			ecmp_chance_number(measure->chance_p, draft->a));
	if (measure->verdict != ECMP_SKEWED && !measure->hash_blind)
		finding_ruled_out(draft, "faulty hash: chance alone explains this (%s)",
			ecmp_chance_number(measure->chance_p, draft->a));
	if (hot->discards_known && !hot->discards)
		finding_ruled_out(draft, "loss at the hot member: %s dropped nothing at its egress",
			hot->port);
}

/* How sure the comparison with chance is. */
static double ecmp_imbalance_weigh_chance(struct draft *draft, const struct ecmp_measure *measure)
{
	if (measure->sprayed) {
		finding_rests_on(draft,
			"captured packets choose their path one by one (spraying): the group must "
			"be even, and chance of a hash does not apply");
		return 0.8;
	}
	if (measure->lb_told && !measure->hashed) {
		finding_rests_on(draft,
			"load balancing read back (cfg.lb_mode: %.40s): not a static hash, so "
			"there is no chance baseline",
			measure->lb_told);
		return 0.85;
	}
	if (!measure->hashed) {
		finding_rests_on(draft,
			"policy.load_balancing: not a static hash, so there is no chance baseline");
		return 0.8;
	}
	if (measure->hash_blind)
		finding_rests_on(draft,
			"hash fields read back: %s; all flows between two addresses take one link",
			measure->hash_fields);
	if (isnan(measure->n_eff) && measure->hash_blind)
		return HASH_READ_SURE;
	if (isnan(measure->n_eff)) {
		finding_unproved(draft,
			"flows unknown: %s; cause unknown without packets: hash collision or "
			"faulty hash",
			str_or(measure->flows_note, "no packets"));
		return 0.5;
	}
	double c = 0.8;
	if (measure->verdict != ECMP_SKEWED)
		c = 0.75;
	else if (measure->n_eff > 8 * (double)measure->n_live)
		c = 0.9;
	if (measure->sampling > 1) {
		c *= 0.9;
		finding_rests_on(draft, "%s packets sampled 1 in %u: %.3g effective flows",
			number_count(measure->packets).s, measure->sampling, measure->n_eff);
	} else {
		finding_rests_on(draft, "%s packets, unsampled: %s, %.3g effective flows",
			number_count(measure->packets).s, ecmp_tuples_text(measure, draft->a),
			measure->n_eff);
	}
	if (measure->hash_blind)
		return fmax(c, HASH_READ_SURE);
	finding_against(draft, "same flows in all windows: they count as one sample of chance");
	return c;
}

/* What limits the measurement without changing the confidence. */
static void ecmp_imbalance_name_limits(struct draft *draft, const struct ecmp_measure *measure)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	if (measure->equal_weights)
		finding_against(draft,
			"all members weigh the same: link speeds are neither declared nor read; "
			"idle is judged as if links ran at 1G");
	bool read;
	if (!measure->equal_weights && same_speed(measure, &read) && !read)
		finding_against(draft, "link speeds are declared, not read from the device");
	if (isnan(hot->burst_ratio))
		finding_unproved(
			draft, "rate in bursts unknown: severity rests on the mean of the window");
}

static double ecmp_imbalance_confidence_of(struct draft *draft, const struct ecmp_measure *measure)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	finding_rests_on(draft, "octets of %zu of %zu members, coverage %.1f %%", measure->n_known,
		measure->n_members, 100 * measure->coverage_ratio);
	double c = ecmp_imbalance_weigh_chance(draft, measure);
	ecmp_imbalance_name_limits(draft, measure);
	if (hot->quality == QUALITY_ESTIMATED) {
		c *= 0.9;
		finding_against(draft,
			"octets of the hot member estimated: its counter is refreshed less often "
			"than it is polled");
	} else if (hot->quality == QUALITY_SUSPECT) {
		c *= 0.5;
		finding_against(draft,
			"octets of the hot member suspect: its rate exceeds 1.02 times the line "
			"rate");
	}
	if (isnan(measure->coverage_ratio))
		return c;
	return c * fmin(1, measure->coverage_ratio);
}

/* ---- what to do ---------------------------------------------------------- */

/* Packets are spread one by one: no flow is to be moved, a member is to be repaired. */
static void advise_even(struct draft *draft, const struct ecmp_measure *measure)
{
	const struct ecmp_member *cold = &measure->members[measure->cold];
	finding_step(draft,
		arena_printf(draft->a,
			"check why %s carries less: link errors and FEC at both ends, its speed, "
			"whether it is in the group in hardware, and what its quality (port load) "
			"is in the balancing of the switch",
			cold->port),
		"none: read only");
	finding_step(draft,
		"check that spraying is active on all members: one that is left to the hash "
		"carries more or less than the others",
		"none: read only");
	if (ecmp_is_dead(cold))
		finding_step(draft,
			arena_printf(draft->a,
				"re-add %s to the group, or repair it; until then the group has "
				"one path less than it seems",
				cold->port),
			"packets are reordered while it is done");
}

static void ecmp_imbalance_advise(struct draft *draft, const struct ecmp_measure *measure)
{
	const bool packets = !isnan(measure->n_eff);
	unsigned facts = 0;
	if (measure->even) {
		advise_even(draft, measure);
		return;
	}
	if (ecmp_has_one_port(measure))
		finding_step(draft,
			arena_printf(draft->a,
				"on the hosts, give each queue pair a source port of its own "
				"instead of %u for all (settings of the communication library: "
				"NCCL_IB_QPS_PER_CONNECTION with NCCL_IB_SPLIT_DATA_ON_QPS=1; "
				"NVSHMEM and DeepEP use one fixed port); no setting of a switch "
				"helps but a hash that reads the destination QP",
				measure->only_src_port),
			"takes a job restart");
	if (measure->hashed)
		facts |= FACT_HASHED;
	if (measure->hashed && packets)
		facts |= FACT_HASHED_PACKETS;
	if (measure->hash_blind)
		finding_step(draft,
			arena_printf(draft->a,
				"add the UDP source port to the hash fields of %s: it reads %s",
				measure->device, measure->hash_fields),
			"all flows of the switch move, and packets are reordered while they do");
	finding_steps(draft, draft->f->cause, facts);
	if (measure->hashed && !packets && !measure->hash_blind)
		finding_step(draft,
			"capture packets at the members of the group (mirror port or "
			"the interface itself): they tell bad luck from a faulty hash",
			"none: read only");
	if (!measure->hashed && !measure->sprayed)
		finding_step(draft,
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

static void ecmp_imbalance_prove_members(struct proof *proof, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link == ECMP_LINK_DOWN)
			ecmp_imbalance_prove(proof, "port.oper_up", e, 0, "-", QUALITY_EXACT);
		else if (e->link == ECMP_LINK_UP &&
			(measure->n_members <= MEMBERS_SHOWN || i == measure->hot))
			ecmp_imbalance_prove(proof, "port.out_octets", e, (double)e->octets,
				"bytes", e->quality);
	}
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link == ECMP_LINK_UP &&
			(measure->n_members <= MEMBERS_SHOWN || i == measure->hot))
			ecmp_imbalance_prove(proof, "port.utilization_ratio", e,
				e->utilization_ratio, "ratio", e->quality);
	}
}

static void ecmp_imbalance_show_evidence(
	struct finding *finding, const struct ecmp_measure *measure, struct arena *a)
{
	struct proof p = {.f = finding, .m = measure, .cap = 16 + 3 * measure->n_members};
	finding->evidence = arena_array(a, struct evidence, p.cap);
	const struct ecmp_member *hot = &measure->members[measure->hot];
	enum quality flow_q = QUALITY_EXACT;
	if (measure->sampling > 1)
		flow_q = QUALITY_ESTIMATED;
	const struct {
		const char *metric, *unit;
		double value;
		enum quality quality;
	} numbers[] = {
		{"ecmp.imbalance_ratio", "ratio", measure->imbalance_ratio, hot->quality},
		{"ecmp.max_minus_min_ratio", "ratio", measure->max_minus_min_ratio, hot->quality},
		{"ecmp.cov_ratio", "ratio", measure->cov_ratio, hot->quality},
		{"ecmp.jain_ratio", "ratio", measure->jain_ratio, hot->quality},
		{"ecmp.load_ratio", "ratio", measure->load_ratio, hot->quality},
		{"ecmp.flows_effective", "flows", measure->n_eff, flow_q},
		{"ecmp.expected_ratio", "ratio", measure->expected_ratio, flow_q},
		{"ecmp.expected_p95_ratio", "ratio", measure->expected_p95_ratio, flow_q},
		{"ecmp.expected_p999_ratio", "ratio", measure->expected_p999_ratio, flow_q},
		{"ecmp.chance_limit_ratio", "ratio", measure->chance_limit_ratio, flow_q},
		{"ecmp.chance_probability", "ratio", measure->chance_p, flow_q},
	};
	for (size_t i = 0; i < rw_countof(numbers); i++)
		ecmp_imbalance_prove(&p, numbers[i].metric, NULL, numbers[i].value, numbers[i].unit,
			numbers[i].quality);
	/* the headline tells the share of the member that stands out, which may be the coldest */
	const size_t odd = ecmp_odd_member(measure);
	if (odd != measure->hot && measure->verdict > ECMP_EVEN)
		ecmp_imbalance_prove(&p, "ecmp.share_ratio", &measure->members[odd],
			measure->members[odd].share_ratio, "ratio", hot->quality);
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
	ecmp_imbalance_prove_members(&p, measure);
}

static enum finding_verdict ecmp_imbalance_verdict_of(const struct ecmp_measure *measure)
{
	switch (measure->verdict) {
	case ECMP_IDLE: return FINDING_IDLE;
	case ECMP_UNKNOWN: return FINDING_UNKNOWN;
	case ECMP_CHOSEN: return FINDING_UNDER;
	case ECMP_EVEN: return FINDING_UNDER;
	default: return FINDING_OVER;
	}
}

/*
 * Can neither noise of the counters nor a passing burst make this? The imbalance is far above the
 * threshold, and the exchange waits for the hot member: its queue shows it, or it carries far more
 * than any host sends or takes. The cause may be open all the same.
 */
static bool ecmp_imbalance_is_certain(const struct ecmp_measure *measure,
	const struct ecmp_options *options, const struct ecmp_harm *harm)
{
	const struct ecmp_member *hot = &measure->members[measure->hot];
	const bool waits = harm->level == ECMP_HARM_SEEN ||
		hot->utilization_ratio > CERTAIN_EDGE * harm->edge_ratio;
	return waits && measure->imbalance_ratio > CERTAIN * options->warn &&
		hot->quality == QUALITY_EXACT && measure->coverage_ratio > CERTAIN_COVERAGE;
}

/* Windows at the threshold: as configured, and no fewer than last LEAST_NS together. */
static uint32_t ecmp_imbalance_hold(
	const struct ecmp_measure *measure, const struct ecmp_options *options)
{
	const int64_t length_ns = measure->to_ns - measure->from_ns;
	const int64_t least = (LEAST_NS + length_ns - 1) / length_ns;
	if (options->hold < least)
		return (uint32_t)least;
	return (uint32_t)options->hold;
}

static void ecmp_imbalance_report(const struct analyzer_in *in, const struct fabric_group *group,
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
	f->new_ns = in->stride_ns;
	f->hold = ecmp_imbalance_hold(measure, o);
	f->warn = o->warn;
	f->value = ecmp_deviation(measure);
	if (measure->even && !isnan(measure->spread_limit_ratio))
		f->warn = measure->spread_limit_ratio;
	f->coverage_ratio = measure->coverage_ratio;
	f->cause = ecmp_imbalance_cause_of(measure);
	f->severity = SEV_INFO;
	f->verdict = ecmp_imbalance_verdict_of(measure);
	f->summary = ecmp_with_paths(ecmp_summary_text(measure, o, a), measure, a);
	ecmp_imbalance_show_evidence(f, measure, a);
	if (f->verdict != FINDING_OVER)
		return;
	const struct ecmp_harm harm = ecmp_harm(observe(in), group, measure, edge_ratio);
	f->severity = ecmp_imbalance_severity_of(measure, o, &harm);
	f->member = measure->members[ecmp_odd_member(measure)].port;
	f->loss_ratio = harm.loss_ratio;
	f->proven = ecmp_imbalance_is_certain(measure, o, &harm);
	struct draft t = {.f = f, .a = a};
	f->confidence_ratio = ecmp_imbalance_confidence_of(&t, measure);
	f->n_flows = ecmp_flows(group, measure->hot, in->window, a, FLOWS_SHOWN, &f->flows);
	ecmp_imbalance_rule_out(&t, measure);
	ecmp_imbalance_advise(&t, measure);
	finding_add_role(&t, "culprit", "%s:%s", measure->device, f->member);
}

static int ecmp_imbalance_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct ecmp_options *o = in->options;
	struct ecmp_params p = {.warn = o->warn,
		.spread = o->spread,
		.load_floor = o->load_floor,
		.min_coverage = o->min_coverage,
		.interval_ns = in->interval_ns};
	struct ecmp_measure *m;
	size_t n = ecmp_measure_all(in->fabric, in->window, &p, in->arena, &m);
	const double edge_ratio = ecmp_edge(observe(in));
	for (size_t i = 0; i < n; i++) {
		/* nobody polls it: no finding */
		if (!m[i].observed)
			continue;
		const struct fabric_device *d = fabric_device(in->fabric, m[i].device);
		ecmp_imbalance_report(in, fabric_group(d, m[i].group), &m[i], edge_ratio, out);
	}
	return 0;
}

const struct analyzer analyzer_ecmp_imbalance = {
	.name = "ecmp_imbalance",
	.phase = 60,
	.doc = "uneven load over the members of an ECMP group, distinguished from the bad luck of "
	       "few flows",
	.options = {"analyzers", "ecmp_imbalance", sizeof(struct ecmp_options), rows,
		rw_countof(rows), "imbalance of ECMP groups against the chance of a uniform hash"},
	.window_offset = offsetof(struct ecmp_options, detect_ns),
	.spec = {.metrics = (const uint16_t[]){M_PORT_OUT_OCTETS, M_PORT_OUT_DISCARDS,
			 M_PORT_SPEED_BPS, M_PORT_OPER_UP, M_CFG_HASH_FIELDS, M_CFG_LB_MODE},
		.n_metrics = 6,
		.flows = true},
	.observes = true,
	.run = ecmp_imbalance_run,
};
