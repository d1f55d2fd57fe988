/*
 * spine/answer - sums over the windows, and what they say. The tables of the members stand first.
 *
 * The imbalance of a group is that of its members' mean rates over the busy windows, weighed by
 * capacity (ecmp_measure has the formula for one window). Only busy windows count. Idle windows
 * say nothing; windows without data are counted apart.
 */
#include "agent/answers/spine/answer.h"

#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/mean.h"

/* ---- rows ------------------------------------------------------------------------------- */

static const char *const spine_links[] = {
	[ECMP_LINK_UP] = "up", [ECMP_LINK_DOWN] = "down", [ECMP_LINK_ABSENT] = "no data"};

#define SHAPE struct spine_member
static const struct field spine_member_fields[] = {
	TEXT(port, "Port.", .known = true),
	TEXT(peer, "Device behind it."),
	NUMBER(utilization_ratio, UNIT_RATIO, "Mean load, as a share of the speed."),
	COUNT(octets, "Bytes sent in busy windows.", .unknown = true),
	NUMBER(rate_bps, UNIT_BITS_PER_S, "Mean rate in busy windows."),
	COUNT(speed_bps, "Speed of the port.", .unit = UNIT_BITS_PER_S, .unknown = true),
	NUMBER(share_ratio, UNIT_RATIO, "Its load divided by its fair share; 1: fair."),
	COUNT(windows_hot, "Windows in which it was the most loaded member and over the limit."),
	WORD(link, ecmp_link, spine_links, ECMP_LINK_ABSENT + 1, "`up`, `down` or `no data`."),
};
static SHAPE_OF(spine_member, "EcmpMember", "One port of an ECMP group.", .common = true);
#undef SHAPE

#define SHAPE struct spine_flow
static const struct field spine_flow_fields[] = {
	TEXT(device, "Switch whose port was captured.", .known = true, .head = "device"),
	TEXT(group, "ECMP group.", .known = true, .head = "group"),
	TEXT(port, "Port that carried the flow.", .known = true, .head = "port"),
	TEXT(peer, "Device behind the port.", .head = "peer"),
	TEXT(src, "Address that sends.", .known = true, .head = "src"),
	TEXT(dst, "Address that receives.", .known = true, .head = "dst"),
	COUNT(src_port, "UDP source port.", .head = "sport"),
	COUNT(dst_qp, "Queue pair of the receiver.", .unit = UNIT_QP, .head = "QP"),
	COUNT(packets, "Captured packets.", .head = "packets"),
	COUNT(octets, "Captured bytes.", .unit = UNIT_BYTES, .head = "octets"),
	COUNT(burst_bps, "Highest rate in a millisecond.", .unit = UNIT_BITS_PER_S, .unknown = true,
		.head = "in bursts"),
};
/* The schema has the flows of all documents as one type. */
SHAPE_OF(spine_flow, "SpineFlow", "One flow.");
#undef SHAPE

#define SHAPE struct spine_over_time
static const struct field spine_over_time_fields[] = {
	TIME(since, "Begin of the first step.", .known = true),
	TIME(until, "End of the last step.", .known = true),
	NUMBERS(worst_ratio,
		"Worst imbalance of a window in each step, max/mean - 1; null: idle or no data."),
};
static SHAPE_OF(spine_over_time, "OverTime", "The worst imbalance of a group, step by step.",
	.common = true);
#undef SHAPE

#define SHAPE struct spine_group
static const struct field spine_group_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(group, "Group: `uplinks`, `to:DEVICE`, `lag:NAME`.", .known = true),
	ROWS(members, spine_member, "Its ports."),
	NUMBER(imbalance_ratio, UNIT_RATIO, "max/mean - 1 over the members, weighed by capacity."),
	NUMBER(imbalance_max_minus_min_ratio, UNIT_RATIO, "(max - min)/mean."),
	NUMBER(cov_ratio, UNIT_RATIO, "Standard deviation divided by the mean."),
	NUMBER(jain_ratio, UNIT_NONE, "Jain's index of fairness; 1: even.", .type = "ratio"),
	NUMBER(utilization_ratio, UNIT_RATIO, "Mean load."),
	NUMBER(expected_by_chance_ratio, UNIT_RATIO,
		"Imbalance that a uniform hash gives for `flows_estimate` flows; null: unknown "
		"without packets."),
	NUMBER(expected_p95_ratio, UNIT_RATIO, "95th percentile of the same."),
	NUMBER(expected_p999_ratio, UNIT_RATIO, "99.9th percentile of the same."),
	NUMBER(flows_estimate, UNIT_COUNT, "Effective number of flows."),
	TEXT(flows_note, "Why the number of flows is not known."),
	TEXT(persistent_member, "Port that was the most loaded in most windows."),
	NUMBER(persistent_ratio, UNIT_RATIO, "Share of the windows in which it was."),
	TEXT(persistent_peer, "Device behind it."),
	TEXT(hot_member, "Port with the highest load."),
	COUNT(windows, "Busy windows."),
	COUNT(windows_over, "Busy windows over the limit."),
	COUNT(windows_idle, "Windows with too little traffic."),
	COUNT(windows_unknown, "Windows without data."),
	COUNT(members_down, "Members that are down."),
	NUMBER(worst_ratio, UNIT_RATIO, "Worst imbalance of a window."),
	TIME(worst_at, "End of that window."),
	NUMBER(sustained_ratio, UNIT_RATIO, "Imbalance that lasted for `hold` windows."),
	TIME(over_since, "Since when it is over the limit."),
	FLAG(over_now, "Is it over the limit in the newest window?"),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	MAYBE(static_hash, "Does a static hash choose the paths? false: chance means nothing."),
	FLAG(out_of_limits, "Was it over the limit for `hold` windows?"),
	TEXT(verdict,
		"`even`, `skewed`, `low entropy`, `unlucky placement`, `within chance`, `source "
		"routed`, `idle` or `unknown`.",
		.known = true),
	PART_AT(over_time, spine_over_time,
		"Its course over the range; null: only for groups that stand out."),
	NUMBER(wait_s, UNIT_SECONDS, "Time that jobs waited for the most loaded member."),
	NUMBER(usd, UNIT_USD, "What that cost, US dollars."),
	COUNT(packets, "Captured packets of the group."),
	COUNT(sampling, "One packet in this many is captured.", .unknown = true),
	ROWS(flows, spine_flow, "The largest flows that were captured.", .type = "Flow"),
	TEXT(incident, "The worst incident about it in the range.", .type = "id"),
	HIDDEN(severity),
	HIDDEN(usd_measured),
	HIDDEN(member),
	HIDDEN(peer),
	HIDDEN(chosen),
	HIDDEN(spread),
	HIDDEN(spread_ratio),
	HIDDEN(spread_limit_ratio),
	HIDDEN(unknown_last),
};
SHAPE_OF(spine_group, "EcmpGroup", "One ECMP group.", .common = true);

static const struct shown spine_shown[] = {
	COLUMN(device, NULL),
	COLUMN(group, NULL),
	COLUMN(windows, NULL),
	COLUMN(windows_over, "over"),
	COLUMN(worst_ratio, "worst"),
	COLUMN(worst_at, "worst at"),
	COLUMN(imbalance_ratio, "max/mean-1"),
	COLUMN(imbalance_max_minus_min_ratio, "(max-min)/mean"),
	COLUMN(cov_ratio, "CoV"),
	COLUMN(jain_ratio, "Jain"),
	COLUMN(expected_by_chance_ratio, "chance mean"),
	COLUMN(expected_p95_ratio, "chance p95"),
	COLUMN(flows_estimate, "flows"),
	COLUMN(persistent_member, "persistent member"),
	COLUMN(coverage_ratio, "coverage"),
	COLUMN(usd, "cost"),
	COLUMN(verdict, NULL),
};
#undef SHAPE
const struct shape_table spine_table = {&spine_group_shape, spine_shown, rw_countof(spine_shown)};

#define SHAPE struct spine_tiers
static const struct field spine_tiers_fields[] = {
	COUNT(leaves, "Leaves."),
	COUNT(spines, "Spines."),
};
static SHAPE_OF(spine_tiers, "Tiers", "Switches by tier.", .common = true);
#undef SHAPE

#define SHAPE struct spine_answer
static const struct field spine_answer_fields[] = {
	TIME(from, "Begin of the first window; null: there is none."),
	TIME(to, "End of the last window."),
	PART(tiers, spine_tiers, "Switches by tier."),
	NUMBER(warn_ratio, UNIT_RATIO, "Limit of the imbalance.", .known = true),
	NUMBER(critical_ratio, UNIT_RATIO, "Limit beyond which a group is CRITICAL."),
	NUMBER(load_floor_ratio, UNIT_RATIO, "Load below which a window is idle.", .known = true),
	NUMBER(window_s, UNIT_SECONDS, "Length of a window.", .known = true),
	COUNT(hold, "Windows in a row that make a group out of limits."),
	NUMBER(busy_ratio, UNIT_RATIO, "Share of the windows that were busy."),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	ROWS(groups, spine_group, "The groups, the worst first."),
	NUMBER(wait_s, UNIT_SECONDS, "Time that jobs waited for the most loaded members."),
	COUNT(gpus, "GPUs of the jobs.", .unknown = true),
	NUMBER(usd_per_gpu_hour, UNIT_USD, "Price of a GPU, US dollars per hour."),
	NUMBER(usd_total, UNIT_USD, "What the imbalance cost, US dollars."),
	TEXT(usd_source, "Where the cost comes from: `incidents`, or `upper bound`."),
	HIDDEN(summary),
	HIDDEN(since),
	HIDDEN(until),
	HIDDEN(fabric),
	HIDDEN(verdict),
};
SHAPE_OF(spine_answer, "report-spine-imbalance", "Imbalance over the spines, with its cost.");
#undef SHAPE

/* ---- sums -------------------------------------------------------------------------------- */

#define SPINE_FLOWS_KEPT 16
#define SPINE_STEPS 96 /* at most so many parts of the time range; of each the highest window */

struct member_sum {
	const char *port, *peer;
	uint64_t octets, speed_bps;
	double rate_sum; /* bit/s, over the windows in which its link was up */
	uint64_t up, hot_over; /* windows: link up; over the limit and this member the hottest */
	enum ecmp_link link; /* in the newest window */
};

struct group_sum {
	const char *device, *group;
	struct member_sum *members;
	size_t n_members;
	uint64_t windows, over, idle, unknown, down; /* windows: busy, over the limit, ... */
	uint32_t unknown_last; /* windows without data at the end */
	uint64_t verdicts[ECMP_SKEWED + 1]; /* of the windows over the limit */
	double worst; /* highest max/mean-1 of a busy window */
	int64_t worst_ns, since_ns; /* end of the worst window; begin of the newest time over */
	double *steps; /* spine_steps(): highest max/mean-1 of the busy windows, NAN without one;
			* NULL
			*/
	size_t worst_hot; /* hottest member in the worst window */
	bool last_over, equal_weights, hashed;
	bool spread; /* packets are spread one by one: .spread_limit judges, not max/mean-1 */
	uint64_t chosen; /* busy windows in which the senders chose the paths */
	uint64_t over_run; /* busy windows over the limit in a row, up to the newest */
	bool held; /* there were `hold` of them in a row once */
	/* of a spread group, the over window with the highest deviation: it, its limit, whose */
	double spread_ratio, spread_limit;
	size_t spread_odd;
	double *ring, sustained; /* ring: max/mean-1 of the last `hold` busy windows */
	double flows_sum, expected_sum, p95_sum, p999_sum, coverage_sum, load_sum, loss_sum_s;
	uint64_t n_flows_known, n_chance, n_covered;
	const char *flows_note; /* own copy */
	struct finding_flow flows[SPINE_FLOWS_KEPT]; /* of the hot member in the worst window */
	size_t n_flows;
	uint64_t packets;
	uint32_t sampling;
};

struct spine_imbalance {
	struct spine_options options;
	struct group_sum *groups;
	size_t n_groups, cap;
	size_t cursor; /* where the next group is expected */
	size_t last; /* the group added last */
	int64_t window_ns; /* start of the window being added */
	/* Cost of waiting, s: of each window the worst group alone, for all jobs wait for the
	 * slowest link. */
	double window_loss_s, loss_s;
	bool speeds_known;
};

/* How uneven the members of a group are, by their mean rates over the busy windows. NAN when
 * nothing was sent. */
struct spine_spread {
	double imbalance; /* max/mean-1 */
	double max_minus_min; /* (max-min)/mean */
	double cov; /* coefficient of variation: standard deviation / mean */
	double jain; /* Jain's fairness index: 1 is even, 1/n is all on one member */
	double weight, rate; /* sums over the members */
};
#define PERSISTENT_SHARE 0.9 /* of the windows over the limit */

struct spine_imbalance *spine_imbalance_new(const struct spine_options *options)
{
	struct spine_imbalance *imbalance = rw_calloc(1, sizeof(*imbalance));
	imbalance->options = *options;
	imbalance->window_ns = INT64_MIN;
	if (!imbalance->options.hold)
		imbalance->options.hold = 1;
	return imbalance;
}

void spine_imbalance_free(struct spine_imbalance *imbalance)
{
	if (!imbalance)
		return;
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		free(imbalance->groups[i].members);
		free(imbalance->groups[i].ring);
		free(imbalance->groups[i].steps);
		free((char *)imbalance->groups[i].flows_note);
	}
	free(imbalance->groups);
	free(imbalance);
}

void spine_imbalance_freep(struct spine_imbalance **imbalance)
{
	spine_imbalance_free(*imbalance);
}

/* ---- adding -------------------------------------------------------------- */

static struct group_sum *spine_group_new(
	struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	rw_grow(imbalance->groups, imbalance->n_groups, imbalance->cap);
	struct group_sum *group = &imbalance->groups[imbalance->n_groups];
	*group = (struct group_sum){
		.device = measure->device,
		.group = measure->group,
		.n_members = measure->n_members,
		.worst = NAN,
		.sustained = NAN,
		.spread_ratio = NAN,
		.spread_limit = NAN,
	};
	group->members = rw_calloc(measure->n_members, sizeof(*group->members));
	group->ring = rw_calloc(imbalance->options.hold, sizeof(*group->ring));
	for (size_t i = 0; i < measure->n_members; i++) {
		group->members[i].port = measure->members[i].port;
		group->members[i].peer = str_or(measure->members[i].peer, "");
	}
	imbalance->last = imbalance->n_groups++;
	imbalance->cursor = imbalance->n_groups;
	return group;
}

/* Each window brings the groups in the same order: nearly always it is the one after the last. */
static struct group_sum *spine_group_of(
	struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		size_t k = (imbalance->cursor + i) % imbalance->n_groups;
		struct group_sum *group = &imbalance->groups[k];
		if (!str_eq(group->device, measure->device) ||
			!str_eq(group->group, measure->group))
			continue;
		imbalance->cursor = k + 1;
		imbalance->last = k;
		return group;
	}
	return spine_group_new(imbalance, measure);
}

static void spine_add_members(struct group_sum *group, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < measure->n_members && i < group->n_members; i++) {
		const struct ecmp_member *member = &measure->members[i];
		struct member_sum *sum = &group->members[i];
		if (member->link != ECMP_LINK_UP)
			continue;
		sum->octets += member->octets;
		sum->rate_sum += member->rate_bps;
		sum->up++;
		if (member->speed_bps)
			sum->speed_bps = member->speed_bps;
	}
}

static void spine_add_chance(struct group_sum *group, const struct ecmp_measure *measure)
{
	if (!isnan(measure->n_eff)) {
		group->flows_sum += measure->n_eff;
		group->n_flows_known++;
	} else if (measure->flows_note && !group->flows_note) {
		group->flows_note = rw_strdup(measure->flows_note);
	}
	if (isnan(measure->expected_ratio))
		return;
	group->expected_sum += measure->expected_ratio;
	group->p95_sum += measure->expected_p95_ratio;
	group->p999_sum += measure->expected_p999_ratio;
	group->n_chance++;
}

/* The lowest of the last `hold` busy windows is the value that held so long; the highest such value
 * counts. With fewer windows than `hold`: the lowest of all. */
static void spine_add_sustained(struct group_sum *group, uint32_t hold, double imbalance)
{
	group->ring[(group->windows - 1) % hold] = imbalance;
	uint64_t n = hold;
	if (group->windows < hold)
		n = group->windows;
	double least = INFINITY;
	for (uint64_t i = 0; i < n; i++)
		least = fmin(least, group->ring[i]);
	if (group->windows <= hold)
		group->sustained = least;
	else
		group->sustained = fmax(group->sustained, least);
}

/* The verdict of a busy window by the limit of this report. */
static enum ecmp_verdict spine_window_verdict(
	const struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	if (!imbalance->options.own_warn || measure->even || measure->verdict == ECMP_CHOSEN)
		return measure->verdict;
	if (!(measure->imbalance_ratio > imbalance->options.warn))
		return ECMP_EVEN;
	if (measure->verdict > ECMP_EVEN)
		return measure->verdict;
	if (measure->imbalance_ratio <= measure->expected_p95_ratio)
		return ECMP_WITHIN_CHANCE;
	return ECMP_SKEWED;
}

static void spine_add_over(struct spine_imbalance *imbalance, struct group_sum *group,
	const struct ecmp_measure *measure, enum ecmp_verdict verdict)
{
	group->over++;
	group->verdicts[verdict]++;
	if (measure->hot < group->n_members)
		group->members[measure->hot].hot_over++;
	if (!group->last_over)
		group->since_ns = measure->from_ns;
	if (measure->even && !(ecmp_deviation(measure) <= group->spread_ratio)) {
		group->spread_ratio = ecmp_deviation(measure);
		group->spread_limit = measure->spread_limit_ratio;
		group->spread_odd = ecmp_odd_member(measure);
	}
	/* The time that was lost: how much busier the hot member is than the mean. */
	double excess = measure->members[measure->hot].utilization_ratio - measure->load_ratio;
	if (isnan(excess) || excess <= 0)
		return;
	double window_s = (double)(measure->to_ns - measure->from_ns) / (double)NS_PER_S;
	double loss_s = fmin(excess, 1) * window_s;
	group->loss_sum_s += loss_s;
	if (loss_s > imbalance->window_loss_s) {
		imbalance->loss_s += loss_s - imbalance->window_loss_s;
		imbalance->window_loss_s = loss_s;
	}
}

/* Counted in every window, with or without traffic. */
static void spine_add_presence(struct group_sum *group, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < measure->n_members && i < group->n_members; i++)
		group->members[i].link = measure->members[i].link;
	if (!isnan(measure->coverage_ratio)) {
		group->coverage_sum += measure->coverage_ratio;
		group->n_covered++;
	}
	bool unknown = measure->verdict == ECMP_UNKNOWN;
	group->unknown += unknown;
	group->unknown_last = unknown ? group->unknown_last + 1 : 0;
	group->idle += measure->verdict == ECMP_IDLE;
	group->down += measure->n_down > 0;
}

static size_t spine_steps(const struct spine_options *options)
{
	const int64_t windows = (options->to_ns - options->from_ns) / options->window_ns;
	if (windows < 1)
		return 1;
	return windows < SPINE_STEPS ? (size_t)windows : SPINE_STEPS;
}

/* The part of the time range in which the window ended. */
static void spine_add_step(const struct spine_imbalance *imbalance, struct group_sum *group,
	const struct ecmp_measure *measure)
{
	const int64_t span_ns = imbalance->options.to_ns - imbalance->options.from_ns;
	const int64_t at_ns = measure->to_ns - 1 - imbalance->options.from_ns;
	if (span_ns <= 0 || at_ns < 0 || at_ns >= span_ns)
		return;
	const size_t n = spine_steps(&imbalance->options);
	if (!group->steps) {
		group->steps = rw_calloc(n, sizeof(*group->steps));
		for (size_t i = 0; i < n; i++)
			group->steps[i] = NAN;
	}
	const size_t step = (size_t)((double)at_ns / (double)span_ns * (double)n);
	if (step < n)
		group->steps[step] = fmax(group->steps[step], measure->imbalance_ratio);
}

bool spine_imbalance_add(struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	if (measure->from_ns != imbalance->window_ns) {
		imbalance->window_ns = measure->from_ns;
		imbalance->window_loss_s = 0;
	}
	struct group_sum *group = spine_group_of(imbalance, measure);
	spine_add_presence(group, measure);
	if (measure->verdict == ECMP_UNKNOWN || measure->verdict == ECMP_IDLE)
		return false;

	group->windows++;
	group->equal_weights = measure->equal_weights;
	group->hashed = measure->hashed;
	group->spread = measure->even;
	group->chosen += measure->verdict == ECMP_CHOSEN;
	imbalance->speeds_known = imbalance->speeds_known || !measure->equal_weights;
	if (!isnan(measure->load_ratio))
		group->load_sum += measure->load_ratio;
	spine_add_step(imbalance, group, measure);
	spine_add_members(group, measure);
	spine_add_chance(group, measure);
	spine_add_sustained(group, imbalance->options.hold, measure->imbalance_ratio);
	const enum ecmp_verdict verdict = spine_window_verdict(imbalance, measure);
	bool over = verdict > ECMP_EVEN;
	if (over)
		spine_add_over(imbalance, group, measure, verdict);
	group->last_over = over;
	group->over_run = over ? group->over_run + 1 : 0;
	group->held = group->held || group->over_run >= imbalance->options.hold;
	if (!isnan(group->worst) && measure->imbalance_ratio <= group->worst)
		return false;
	group->worst = measure->imbalance_ratio;
	group->worst_ns = measure->to_ns;
	group->worst_hot = measure->hot;
	group->packets = measure->packets;
	group->sampling = measure->sampling;
	group->n_flows = 0;
	return true;
}

void spine_imbalance_flows(
	struct spine_imbalance *imbalance, const struct finding_flow *flows, size_t n)
{
	struct group_sum *group = &imbalance->groups[imbalance->last];
	if (n > SPINE_FLOWS_KEPT)
		n = SPINE_FLOWS_KEPT;
	group->n_flows = n;
	if (n)
		memcpy(group->flows, flows, n * sizeof(*flows));
}

/* ---- what the sums say --------------------------------------------------- */

static double spine_mean(double sum, uint64_t n)
{
	if (n)
		return sum / (double)n;
	return NAN;
}

static double spine_weight_of(const struct group_sum *group, const struct member_sum *member)
{
	if (group->equal_weights)
		return 1;
	return (double)member->speed_bps;
}

static double spine_rate_of(const struct member_sum *member)
{
	if (member->up)
		return member->rate_sum / (double)member->up;
	return 0;
}

static struct spine_spread spine_spread_of(const struct group_sum *group)
{
	struct spine_spread spread = {
		.imbalance = NAN, .max_minus_min = NAN, .cov = NAN, .jain = NAN};
	for (size_t i = 0; i < group->n_members; i++) {
		const struct member_sum *member = &group->members[i];
		if (!member->up)
			continue;
		spread.rate += spine_rate_of(member);
		spread.weight += spine_weight_of(group, member);
	}
	if (!(spread.rate > 0 && spread.weight > 0))
		return spread;

	double max = -1, min = INFINITY, variance = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct member_sum *member = &group->members[i];
		double weight = spine_weight_of(group, member);
		if (!member->up || weight <= 0)
			continue;
		double capacity = weight / spread.weight;
		double share = spine_rate_of(member) / (spread.rate * capacity);
		max = fmax(max, share);
		min = fmin(min, share);
		variance += capacity * (share - 1) * (share - 1);
	}
	spread.imbalance = mean_imbalance(max, 1);
	spread.max_minus_min = max - min;
	spread.cov = sqrt(variance);
	spread.jain = 1 / (1 + variance);
	return spread;
}

static bool spine_out_of_limits(const struct spine_imbalance *imbalance,
	const struct group_sum *group, const struct spine_spread *spread)
{
	if (group->over == 0)
		return false;
	return group->held || (!group->spread && spread->imbalance > imbalance->options.warn);
}

static bool spine_is_chosen(const struct group_sum *group)
{
	return group->windows && group->chosen == group->windows;
}

static bool spine_is_persistent(uint64_t hot, const struct group_sum *group)
{
	return group->over && (double)hot >= PERSISTENT_SHARE * (double)group->over;
}

static const struct member_sum *spine_persistent_of(const struct group_sum *group)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (spine_is_persistent(group->members[i].hot_over, group))
			return &group->members[i];
	return NULL;
}

/* Several links go to the same neighbour, and the hot one changes among them. */
static const char *spine_persistent_peer_of(const struct group_sum *group)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const char *peer = group->members[i].peer;
		uint64_t hot = 0;
		for (size_t k = 0; k < group->n_members; k++)
			if (str_eq(group->members[k].peer, peer))
				hot += group->members[k].hot_over;
		if (*peer && spine_is_persistent(hot, group))
			return peer;
	}
	return NULL;
}

static size_t spine_members_down(const struct group_sum *group)
{
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++)
		n += group->members[i].link == ECMP_LINK_DOWN;
	return n;
}

/* ---- the answer --------------------------------------------------------------------------- */

/* The verdict of a group out of limits is the most frequent one of its windows over the limit; the
 * graver one when two are as frequent. */
static enum ecmp_verdict spine_verdict_of(const struct spine_imbalance *imbalance,
	const struct group_sum *group, const struct spine_spread *spread)
{
	if (!group->windows)
		return group->unknown ? ECMP_UNKNOWN : ECMP_IDLE;
	if (spine_is_chosen(group))
		return ECMP_CHOSEN;
	if (!spine_out_of_limits(imbalance, group, spread))
		return ECMP_EVEN;
	enum ecmp_verdict most = ECMP_SKEWED;
	for (int verdict = ECMP_SKEWED; verdict > ECMP_EVEN; verdict--)
		if (group->verdicts[verdict] > group->verdicts[most])
			most = (enum ecmp_verdict)verdict;
	return most;
}

/* GPUs x price, USD per hour; NAN when no job or no price is configured. */
static double spine_usd_per_hour(const struct fabric *fabric)
{
	uint64_t gpus = fabric_gpus(fabric);
	if (gpus && fabric->usd_per_gpu_hour > 0)
		return (double)gpus * fabric->usd_per_gpu_hour;
	return NAN;
}

static struct spine_member spine_member_make(const struct group_sum *group,
	const struct member_sum *sum, const struct spine_spread *spread)
{
	const double weight = spine_weight_of(group, sum);
	struct spine_member member = {.port = sum->port,
		.utilization_ratio = NAN,
		.octets = COUNT_UNKNOWN,
		.rate_bps = NAN,
		.speed_bps = count_or_unknown(sum->speed_bps),
		.share_ratio = NAN,
		.windows_hot = sum->hot_over,
		.link = sum->link};
	if (*sum->peer)
		member.peer = sum->peer;
	if (sum->up) {
		member.octets = sum->octets;
		member.rate_bps = spine_rate_of(sum);
	}
	if (sum->speed_bps)
		member.utilization_ratio = member.rate_bps / (double)sum->speed_bps;
	if (weight > 0)
		member.share_ratio = member.rate_bps * spread->weight / (spread->rate * weight);
	return member;
}

static void spine_put_members(struct spine_group *ret, const struct group_sum *group,
	const struct spine_spread *spread, struct arena *a)
{
	ret->members = arena_array(a, struct spine_member, group->n_members);
	ret->n_members = group->n_members;
	for (size_t i = 0; i < group->n_members; i++)
		ret->members[i] = spine_member_make(group, &group->members[i], spread);
}

static void spine_put_flows(struct spine_group *ret, const struct group_sum *group, struct arena *a)
{
	ret->flows = arena_array(a, struct spine_flow, group->n_flows);
	ret->n_flows = group->n_flows;
	for (size_t i = 0; i < group->n_flows; i++) {
		const struct finding_flow *flow = &group->flows[i];
		ret->flows[i] = (struct spine_flow){.device = group->device,
			.group = group->group,
			.port = flow->port,
			.peer = group->members[group->worst_hot].peer,
			.src = arena_strdup(a, flow->src),
			.dst = arena_strdup(a, flow->dst),
			.src_port = flow->src_port,
			.dst_qp = flow->dst_qp,
			.packets = flow->packets,
			.octets = flow->octets,
			.burst_bps = count_or_unknown(flow->burst_bps)};
	}
}

/* Only for groups with a window over the limit: a large fabric has thousands of others. */
static struct spine_over_time *spine_over_time_of(
	const struct spine_imbalance *imbalance, const struct group_sum *group, struct arena *a)
{
	const struct spine_options *options = &imbalance->options;
	if (!group->over || !group->steps)
		return NULL;
	struct spine_over_time *over = arena_new_of(a, struct spine_over_time);
	const size_t n = spine_steps(options);
	*over = (struct spine_over_time){.since = {options->from_ns},
		.until = {options->to_ns},
		.worst_ratio = arena_copy(
			a, group->steps, n * sizeof(*group->steps), n * sizeof(*group->steps)),
		.n_worst_ratio = n};
	return over;
}

static void spine_put_hot(struct spine_group *ret, const struct group_sum *group)
{
	const struct member_sum *hot = spine_persistent_of(group);
	if (hot) {
		ret->persistent_member = hot->port;
		ret->persistent_ratio = (double)hot->hot_over / (double)group->over;
	}
	if (group->windows)
		ret->hot_member = group->members[group->worst_hot].port;
	if (!hot && group->windows)
		hot = &group->members[group->worst_hot];
	if (group->spread && !isnan(group->spread_ratio))
		hot = &group->members[group->spread_odd];
	if (hot) {
		ret->member = hot->port;
		ret->peer = hot->peer;
	}
}

static struct spine_group spine_group_make(const struct spine_imbalance *imbalance,
	const struct group_sum *group, const struct fabric *fabric, struct arena *a)
{
	const struct spine_spread spread = spine_spread_of(group);
	struct spine_group ret = {
		.device = group->device,
		.group = group->group,
		.imbalance_ratio = spread.imbalance,
		.imbalance_max_minus_min_ratio = spread.max_minus_min,
		.cov_ratio = spread.cov,
		.jain_ratio = spread.jain,
		.utilization_ratio = NAN,
		.expected_by_chance_ratio = spine_mean(group->expected_sum, group->n_chance),
		.expected_p95_ratio = spine_mean(group->p95_sum, group->n_chance),
		.expected_p999_ratio = spine_mean(group->p999_sum, group->n_chance),
		.flows_estimate = spine_mean(group->flows_sum, group->n_flows_known),
		.persistent_ratio = NAN,
		.persistent_peer = spine_persistent_peer_of(group),
		.windows = group->windows,
		.windows_over = group->over,
		.windows_idle = group->idle,
		.windows_unknown = group->unknown,
		.members_down = spine_members_down(group),
		.worst_ratio = group->worst,
		.worst_at = TIME_UNKNOWN,
		.sustained_ratio = group->sustained,
		.over_since = TIME_UNKNOWN,
		.over_now = group->last_over,
		.coverage_ratio = spine_mean(group->coverage_sum, group->n_covered),
		.out_of_limits = spine_out_of_limits(imbalance, group, &spread),
		.verdict = ecmp_verdict_name(spine_verdict_of(imbalance, group, &spread)),
		.over_time = spine_over_time_of(imbalance, group, a),
		.wait_s = group->loss_sum_s,
		.packets = group->packets,
		.sampling = count_or_unknown(group->sampling),
		.chosen = spine_is_chosen(group),
		.spread = group->spread,
		.spread_ratio = group->spread_ratio,
		.spread_limit_ratio = group->spread_limit,
		.unknown_last = group->unknown_last,
	};
	if (!group->equal_weights) /* of line rate: unknown without speeds */
		ret.utilization_ratio = spine_mean(group->load_sum, group->windows);
	if (!group->n_flows_known && group->flows_note)
		ret.flows_note = arena_strdup(a, group->flows_note);
	if (group->windows)
		ret.worst_at.ns = group->worst_ns;
	if (group->over)
		ret.over_since.ns = group->since_ns;
	if (group->windows)
		ret.static_hash = maybe_of(group->hashed);
	if (group->windows && group->equal_weights)
		ret.wait_s = NAN; /* speeds are not known, so the time lost is not either */
	ret.usd = ret.wait_s / 3600 * spine_usd_per_hour(fabric);
	spine_put_hot(&ret, group);
	spine_put_members(&ret, group, &spread, a);
	spine_put_flows(&ret, group, a);
	return ret;
}

static struct spine_tiers spine_tiers_of(const struct fabric *fabric)
{
	struct spine_tiers tiers = {0};
	for (size_t i = 0; i < fabric->n_devices; i++) {
		tiers.leaves += fabric->devices[i]->role == ROLE_LEAF;
		tiers.spines += fabric->devices[i]->role == ROLE_SPINE;
	}
	return tiers;
}

/* The verdict of the fabric in one line: the first case that holds. */
static const char *spine_summary(const struct spine_imbalance *imbalance, struct arena *a)
{
	size_t n = imbalance->n_groups, over = 0, busy = 0, chosen = 0, unknown = 0;
	for (size_t i = 0; i < n; i++) {
		const struct group_sum *group = &imbalance->groups[i];
		struct spine_spread spread = spine_spread_of(group);
		over += spine_out_of_limits(imbalance, group, &spread);
		busy += group->windows > 0;
		chosen += spine_is_chosen(group);
		unknown += !group->windows && group->unknown;
	}
	if (!n)
		return "unknown: no complete window, or no group of two members";
	if (over)
		return arena_printf(a, "%zu of %zu group%s out of limits", over, n, plural(n));
	if (unknown)
		return arena_printf(
			a, "unknown: no data of %zu of %zu group%s", unknown, n, plural(n));
	if (!busy)
		return "idle, 0 busy windows";
	if (chosen)
		return arena_printf(a,
			"%zu of %zu group%s even, %zu not judged: the senders choose the paths%s",
			busy - chosen, n, plural(n), chosen, str_if(busy < n, "; the rest idle"));
	return arena_printf(a, "%zu of %zu group%s even%s", busy, n, plural(n),
		str_if(busy < n, ", the rest idle"));
}

struct spine_answer *spine_answer_make(const struct spine_imbalance *imbalance,
	const struct fabric *fabric, int64_t from_ns, int64_t to_ns, struct arena *a)
{
	const struct spine_options *options = &imbalance->options;
	struct spine_answer *ret = arena_new_of(a, struct spine_answer);
	double coverage = 0;
	uint64_t n_covered = 0, busy = 0, windows = 0;
	*ret = (struct spine_answer){
		.from = {from_ns},
		.to = {to_ns},
		.tiers = spine_tiers_of(fabric),
		.warn_ratio = options->warn,
		.critical_ratio = options->critical > 0 ? options->critical : NAN,
		.load_floor_ratio = options->load_floor,
		.window_s = (double)options->window_ns / (double)NS_PER_S,
		.hold = options->hold,
		.groups = arena_array(a, struct spine_group, imbalance->n_groups),
		.n_groups = imbalance->n_groups,
		.wait_s = NAN,
		.gpus = fabric_gpus(fabric),
		.usd_per_gpu_hour = NAN,
		.usd_total = NAN,
		.summary = spine_summary(imbalance, a),
		.since = TIME_UNKNOWN,
		.until = TIME_UNKNOWN,
		.fabric = fabric->name,
		.verdict = "",
	};
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		const struct group_sum *group = &imbalance->groups[i];
		ret->groups[i] = spine_group_make(imbalance, group, fabric, a);
		coverage += group->coverage_sum;
		n_covered += group->n_covered;
		busy += group->windows;
		windows += group->windows + group->idle;
	}
	ret->busy_ratio = spine_mean((double)busy, windows);
	ret->coverage_ratio = spine_mean(coverage, n_covered);
	if (imbalance->speeds_known)
		ret->wait_s = imbalance->loss_s;
	if (imbalance->speeds_known || !busy)
		ret->usd_total = imbalance->loss_s / 3600 * spine_usd_per_hour(fabric);
	if (fabric->usd_per_gpu_hour > 0)
		ret->usd_per_gpu_hour = fabric->usd_per_gpu_hour;
	return ret;
}

/* ---- one group --------------------------------------------------------------------------- */

const void *spine_rows(const void *answer, size_t *ret_n)
{
	const struct spine_answer *spine = answer;
	*ret_n = spine->n_groups;
	return spine->groups;
}

bool spine_group_is_tier(const struct spine_group *group)
{
	return strncmp(group->group, "to:", 3) != 0 && strncmp(group->group, "lag:", 4) != 0;
}

const struct spine_member *spine_group_member(const struct spine_group *group, const char *port)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (str_eq(group->members[i].port, port))
			return &group->members[i];
	return NULL;
}

/* A group without data in this many windows at the end is not known any more. */
#define SILENT_WINDOWS 3

double spine_group_ratio(const struct spine_group *group)
{
	double all = group->imbalance_ratio;
	double held = group->sustained_ratio;
	if (group->chosen)
		return -1;
	if (isnan(all))
		all = -1;
	if (isnan(held))
		held = -1;
	return fmax(all, held);
}

uint64_t spine_group_windows(const struct spine_group *group)
{
	return group->windows + group->windows_idle + group->windows_unknown;
}

bool spine_group_lacks_data(const struct spine_group *group)
{
	const uint64_t all = spine_group_windows(group);
	return all == 0 || group->windows_unknown * 4 > all ||
		group->unknown_last >= SILENT_WINDOWS;
}
