/*
 * spine_document - the document of `report spine-imbalance`, made from the sums, and its columns.
 */
#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/spine_sums.h"

static json_t *spine_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *spine_count_or_null(uint64_t value)
{
	if (value)
		return spine_count(value);
	return json_null();
}

static json_t *spine_text_or_null(const char *text)
{
	if (text && !*text)
		text = NULL;
	return json_string_or_null(text);
}

static void spine_document_put_number(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_number_or_null(value));
}

static void put_mean(json_t *object, const char *key, double sum, uint64_t n)
{
	spine_document_put_number(object, key, spine_mean(sum, n));
}

static void spine_document_put_count(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, spine_count(value));
}

static void spine_document_put_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string_or_null(text));
}

static void spine_document_put_time(json_t *object, const char *key, bool known, int64_t t_ns)
{
	json_object_set_new(object, key, known ? json_time(t_ns) : json_null());
}

/* ---- one group ----------------------------------------------------------- */

static json_t *spine_member_json(const struct group_sum *group, const struct member_sum *member,
	const struct spine_spread *spread)
{
	static const char *const links[] = {
		[ECMP_LINK_UP] = "up", [ECMP_LINK_DOWN] = "down", [ECMP_LINK_ABSENT] = "no data"};
	double weight = spine_weight_of(group, member);
	double rate = NAN, utilization = NAN, share = NAN;
	if (member->up)
		rate = spine_rate_of(member);
	if (member->speed_bps)
		utilization = rate / (double)member->speed_bps;
	if (weight > 0)
		share = rate * spread->weight / (spread->rate * weight);

	json_t *object = json_object();
	spine_document_put_text(object, "port", member->port);
	json_object_set_new(object, "peer", spine_text_or_null(member->peer));
	spine_document_put_number(object, "utilization_ratio", utilization);
	json_object_set_new(
		object, "octets", member->up ? spine_count(member->octets) : json_null());
	spine_document_put_number(object, "rate_bps", rate);
	json_object_set_new(object, "speed_bps", spine_count_or_null(member->speed_bps));
	spine_document_put_number(object, "share_ratio", share);
	spine_document_put_count(object, "windows_hot", member->hot_over);
	spine_document_put_text(object, "link", links[member->link]);
	return object;
}

static json_t *spine_flow_json(const struct group_sum *group, const struct finding_flow *flow)
{
	json_t *object = json_object();
	spine_document_put_text(object, "device", group->device);
	spine_document_put_text(object, "group", group->group);
	spine_document_put_text(object, "port", flow->port);
	spine_document_put_text(object, "peer", group->members[group->worst_hot].peer);
	spine_document_put_text(object, "src", flow->src);
	spine_document_put_text(object, "dst", flow->dst);
	spine_document_put_count(object, "src_port", flow->src_port);
	spine_document_put_count(object, "dst_qp", flow->dst_qp);
	spine_document_put_count(object, "packets", flow->packets);
	spine_document_put_count(object, "octets", flow->octets);
	json_object_set_new(object, "burst_bps", spine_count_or_null(flow->burst_bps));
	return object;
}

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

static void spine_put_spread(
	json_t *object, const struct group_sum *group, const struct spine_spread *spread)
{
	spine_document_put_number(object, "imbalance_ratio", spread->imbalance);
	spine_document_put_number(object, "imbalance_max_minus_min_ratio", spread->max_minus_min);
	spine_document_put_number(object, "cov_ratio", spread->cov);
	spine_document_put_number(object, "jain_ratio", spread->jain);
	double load = NAN; /* of line rate: unknown without speeds */
	if (!group->equal_weights)
		load = spine_mean(group->load_sum, group->windows);
	spine_document_put_number(object, "utilization_ratio", load);
}

static void spine_put_chance(json_t *object, const struct group_sum *group)
{
	put_mean(object, "expected_by_chance_ratio", group->expected_sum, group->n_chance);
	put_mean(object, "expected_p95_ratio", group->p95_sum, group->n_chance);
	put_mean(object, "expected_p999_ratio", group->p999_sum, group->n_chance);
	put_mean(object, "flows_estimate", group->flows_sum, group->n_flows_known);
	spine_document_put_text(
		object, "flows_note", group->n_flows_known ? NULL : group->flows_note);
}

static void spine_put_hot(json_t *object, const struct group_sum *group)
{
	const struct member_sum *hot = spine_persistent_of(group);
	const char *member = NULL, *in_worst = NULL;
	double share = NAN;
	if (hot) {
		member = hot->port;
		share = (double)hot->hot_over / (double)group->over;
	}
	if (group->windows)
		in_worst = group->members[group->worst_hot].port;
	spine_document_put_text(object, "persistent_member", member);
	spine_document_put_number(object, "persistent_ratio", share);
	spine_document_put_text(object, "persistent_peer", spine_persistent_peer_of(group));
	spine_document_put_text(object, "hot_member", in_worst);
}

static void spine_put_windows(json_t *object, const struct group_sum *group)
{
	spine_document_put_count(object, "windows", group->windows);
	spine_document_put_count(object, "windows_over", group->over);
	spine_document_put_count(object, "windows_idle", group->idle);
	spine_document_put_count(object, "windows_unknown", group->unknown);
	spine_document_put_count(object, "members_down", spine_members_down(group));
	spine_document_put_number(object, "worst_ratio", group->worst);
	spine_document_put_time(object, "worst_at", group->windows > 0, group->worst_ns);
	spine_document_put_number(object, "sustained_ratio", group->sustained);
	spine_document_put_time(object, "over_since", group->over > 0, group->since_ns);
	json_object_set_new(object, "over_now", json_boolean(group->last_over));
	put_mean(object, "coverage_ratio", group->coverage_sum, group->n_covered);
	json_object_set_new(
		object, "static_hash", group->windows ? json_boolean(group->hashed) : json_null());
}

/* The highest busy window of each part of the time range, for groups with a window over the limit;
 * null for others: a large fabric has thousands of them. */
static json_t *spine_steps_json(
	const struct spine_imbalance *imbalance, const struct group_sum *group)
{
	if (!group->over || !group->steps)
		return json_null();
	json_t *values = json_array(), *object = json_object();
	for (size_t i = 0; i < spine_steps(&imbalance->options); i++)
		json_array_append_new(values, json_number_or_null(group->steps[i]));
	json_object_set_new(object, "since", json_time(imbalance->options.from_ns));
	json_object_set_new(object, "until", json_time(imbalance->options.to_ns));
	json_object_set_new(object, "worst_ratio", values);
	return object;
}

static json_t *spine_group_json(const struct spine_imbalance *imbalance,
	const struct group_sum *group, const struct fabric *fabric)
{
	struct spine_spread spread = spine_spread_of(group);
	double wait_s = group->loss_sum_s;
	if (group->windows && group->equal_weights)
		wait_s = NAN; /* speeds are not known, so the time lost is not either */

	json_t *members = json_array(), *flows = json_array();
	for (size_t i = 0; i < group->n_members; i++)
		json_array_append_new(
			members, spine_member_json(group, &group->members[i], &spread));
	for (size_t i = 0; i < group->n_flows; i++)
		json_array_append_new(flows, spine_flow_json(group, &group->flows[i]));

	json_t *object = json_object();
	spine_document_put_text(object, "device", group->device);
	spine_document_put_text(object, "group", group->group);
	json_object_set_new(object, "members", members);
	spine_put_spread(object, group, &spread);
	spine_put_chance(object, group);
	spine_put_hot(object, group);
	spine_put_windows(object, group);
	json_object_set_new(object, "out_of_limits",
		json_boolean(spine_out_of_limits(imbalance, group, &spread)));
	spine_document_put_text(
		object, "verdict", ecmp_verdict_name(spine_verdict_of(imbalance, group, &spread)));
	json_object_set_new(object, "over_time", spine_steps_json(imbalance, group));
	spine_document_put_number(object, "wait_s", wait_s);
	spine_document_put_number(object, "usd", wait_s / 3600 * spine_usd_per_hour(fabric));
	spine_document_put_count(object, "packets", group->packets);
	json_object_set_new(object, "sampling", spine_count_or_null(group->sampling));
	json_object_set_new(object, "flows", flows);
	return object;
}

/* ---- the whole fabric ---------------------------------------------------- */

static json_t *spine_tiers_json(const struct fabric *fabric)
{
	size_t leaves = 0, spines = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		leaves += fabric->devices[i]->role == ROLE_LEAF;
		spines += fabric->devices[i]->role == ROLE_SPINE;
	}
	json_t *object = json_object();
	spine_document_put_count(object, "leaves", leaves);
	spine_document_put_count(object, "spines", spines);
	return object;
}

/* The verdict of the fabric in one line: the first case that holds. */
static json_t *spine_summary_json(const struct spine_imbalance *imbalance)
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
		return json_string("unknown: no complete window, or no group of two members");
	if (over)
		return json_sprintf("%zu of %zu group%s out of limits", over, n, plural(n));
	if (unknown)
		return json_sprintf(
			"unknown: no data of %zu of %zu group%s", unknown, n, plural(n));
	if (!busy)
		return json_string("idle, 0 busy windows");
	if (chosen)
		return json_sprintf(
			"%zu of %zu group%s even, %zu not judged: the senders choose the paths%s",
			busy - chosen, n, plural(n), chosen, str_if(busy < n, "; the rest idle"));
	return json_sprintf("%zu of %zu group%s even%s", busy, n, plural(n),
		str_if(busy < n, ", the rest idle"));
}

json_t *spine_imbalance_json(const struct spine_imbalance *imbalance, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns)
{
	const struct spine_options *options = &imbalance->options;
	json_t *groups = json_array();
	double coverage = 0;
	uint64_t n_covered = 0, busy = 0, windows = 0;
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		const struct group_sum *group = &imbalance->groups[i];
		json_array_append_new(groups, spine_group_json(imbalance, group, fabric));
		coverage += group->coverage_sum;
		n_covered += group->n_covered;
		busy += group->windows;
		windows += group->windows + group->idle;
	}
	double wait_s = NAN, usd = NAN, price = NAN;
	if (imbalance->speeds_known)
		wait_s = imbalance->loss_s;
	if (imbalance->speeds_known || !busy)
		usd = imbalance->loss_s / 3600 * spine_usd_per_hour(fabric);
	if (fabric->usd_per_gpu_hour > 0)
		price = fabric->usd_per_gpu_hour;

	json_t *doc = json_object();
	json_object_set_new(doc, "from", json_time(from_ns));
	json_object_set_new(doc, "to", json_time(to_ns));
	json_object_set_new(doc, "tiers", spine_tiers_json(fabric));
	json_object_set_new(doc, "verdict", spine_summary_json(imbalance));
	json_object_set_new(doc, "warn_ratio", json_real(options->warn));
	spine_document_put_number(
		doc, "critical_ratio", options->critical > 0 ? options->critical : NAN);
	json_object_set_new(doc, "load_floor_ratio", json_real(options->load_floor));
	json_object_set_new(
		doc, "window_s", json_real((double)options->window_ns / (double)NS_PER_S));
	spine_document_put_count(doc, "hold", options->hold);
	put_mean(doc, "busy_ratio", (double)busy, windows);
	put_mean(doc, "coverage_ratio", coverage, n_covered);
	json_object_set_new(doc, "groups", groups);
	spine_document_put_number(doc, "wait_s", wait_s);
	spine_document_put_count(doc, "gpus", fabric_gpus(fabric));
	spine_document_put_number(doc, "usd_per_gpu_hour", price);
	spine_document_put_number(doc, "usd_total", usd);
	return doc;
}
