/*
 * spine_imbalance - the sums behind the spine-imbalance report, one window at a time. The document
 * is made by spine_document.c, its page by spine_page.c.
 *
 * The imbalance of a group is that of its members' mean rates over the busy windows, weighed by
 * capacity (ecmp_measure has the formula for one window). Only busy windows count. Idle windows
 * say nothing; windows without data are counted apart.
 */
#include "agent/reports/spine_imbalance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/reports/spine_sums.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/mean.h"

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

const struct spine_options *spine_imbalance_options(const struct spine_imbalance *imbalance)
{
	return &imbalance->options;
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

size_t spine_steps(const struct spine_options *options)
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

double spine_mean(double sum, uint64_t n)
{
	if (n)
		return sum / (double)n;
	return NAN;
}

double spine_weight_of(const struct group_sum *group, const struct member_sum *member)
{
	if (group->equal_weights)
		return 1;
	return (double)member->speed_bps;
}

double spine_rate_of(const struct member_sum *member)
{
	if (member->up)
		return member->rate_sum / (double)member->up;
	return 0;
}

struct spine_spread spine_spread_of(const struct group_sum *group)
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

bool spine_out_of_limits(const struct spine_imbalance *imbalance, const struct group_sum *group,
	const struct spine_spread *spread)
{
	if (group->over == 0)
		return false;
	return group->held || (!group->spread && spread->imbalance > imbalance->options.warn);
}

bool spine_is_chosen(const struct group_sum *group)
{
	return group->windows && group->chosen == group->windows;
}

static bool spine_is_persistent(uint64_t hot, const struct group_sum *group)
{
	return group->over && (double)hot >= PERSISTENT_SHARE * (double)group->over;
}

const struct member_sum *spine_persistent_of(const struct group_sum *group)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (spine_is_persistent(group->members[i].hot_over, group))
			return &group->members[i];
	return NULL;
}

/* Several links go to the same neighbour, and the hot one changes among them. */
const char *spine_persistent_peer_of(const struct group_sum *group)
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

size_t spine_members_down(const struct group_sum *group)
{
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++)
		n += group->members[i].link == ECMP_LINK_DOWN;
	return n;
}

size_t spine_imbalance_groups(const struct spine_imbalance *imbalance)
{
	return imbalance->n_groups;
}

void spine_imbalance_group(
	const struct spine_imbalance *imbalance, size_t i, struct spine_group *ret)
{
	const struct group_sum *group = &imbalance->groups[i];
	const struct spine_spread spread = spine_spread_of(group);
	*ret = (struct spine_group){
		.device = group->device,
		.group = group->group,
		.out_of_limits = spine_out_of_limits(imbalance, group, &spread),
		.chosen = spine_is_chosen(group),
		.spread = group->spread,
		.spread_ratio = group->spread_ratio,
		.spread_limit_ratio = group->spread_limit,
		.imbalance_ratio = spread.imbalance,
		.sustained_ratio = group->sustained,
		.expected_ratio = spine_mean(group->expected_sum, group->n_chance),
		.expected_p999_ratio = spine_mean(group->p999_sum, group->n_chance),
		.flows = spine_mean(group->flows_sum, group->n_flows_known),
		.windows = group->windows,
		.over = group->over,
		.idle = group->idle,
		.unknown = group->unknown,
		.unknown_last = group->unknown_last,
		.n_down = spine_members_down(group),
	};
	const struct member_sum *hot = spine_persistent_of(group);
	if (!hot && group->windows)
		hot = &group->members[group->worst_hot];
	if (group->spread && !isnan(group->spread_ratio))
		hot = &group->members[group->spread_odd];
	if (hot) {
		ret->member = hot->port;
		ret->peer = hot->peer;
	}
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
	return group->windows + group->idle + group->unknown;
}

bool spine_group_lacks_data(const struct spine_group *group)
{
	const uint64_t all = spine_group_windows(group);
	return all == 0 || group->unknown * 4 > all || group->unknown_last >= SILENT_WINDOWS;
}
