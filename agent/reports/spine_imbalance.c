/*
 * spine_imbalance - the sums behind the report, and its document. How it prints as text is
 * spine_text.c.
 *
 * A group's imbalance is that of its members' mean rates over the busy windows, weighed by capacity
 * (ecmp_measure has the formula for one window). Only busy windows count: idle ones say nothing,
 * unknown ones are told beside.
 */
#include "agent/reports/spine_imbalance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/spine_text.h"

#define PERSISTENT_SHARE 0.9 /* of the windows over, with the same member hot */
#define FLOWS_KEPT 16

struct member_sum {
	const char *port, *peer;
	uint64_t octets, speed_bps;
	double rate_sum; /* bit/s, over the windows it was up in */
	uint64_t up, hot_over; /* windows */
	enum ecmp_link link; /* in the newest window */
};

struct group_sum {
	const char *device, *group;
	struct member_sum *members;
	size_t n_members;
	uint64_t windows, over, idle, unknown, down;
	uint32_t unknown_last;
	uint64_t verdicts[ECMP_SKEWED + 1]; /* of the windows over */
	double worst;
	int64_t worst_ns, since_ns;
	size_t worst_hot;
	bool last_over, equal_weights, hashed;
	double *ring, sustained; /* the last `hold` busy windows */
	double flows_sum, expected_sum, p95_sum, p999_sum, coverage_sum, load_sum, loss_sum_s;
	uint64_t n_flows_known, n_chance, n_covered;
	const char *flows_note;
	struct finding_flow flows[FLOWS_KEPT]; /* of the hot member in the worst window */
	size_t n_flows;
	uint64_t packets;
	uint32_t sampling;
};

struct spine_imbalance {
	struct spine_options o;
	struct group_sum *groups;
	size_t n_groups, cap, cursor, last;
	int64_t window_ns; /* start of the window being added */
	/* what waiting cost, s: the worst group of each window, for all wait for the slowest */
	double window_loss_s, loss_s;
	bool speeds_known;
};

struct spine_imbalance *spine_imbalance_new(const struct spine_options *options)
{
	struct spine_imbalance *s = rw_calloc(1, sizeof(*s));
	s->o = *options;
	s->window_ns = INT64_MIN;
	if (!s->o.hold)
		s->o.hold = 1;
	return s;
}

void spine_imbalance_free(struct spine_imbalance *imbalance)
{
	if (!imbalance)
		return;
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		free(imbalance->groups[i].members);
		free(imbalance->groups[i].ring);
		free((char *)imbalance->groups[i].flows_note);
	}
	free(imbalance->groups);
	free(imbalance);
}

void spine_imbalance_freep(struct spine_imbalance **imbalance)
{
	spine_imbalance_free(*imbalance);
}

/* Each window brings the groups in the same order, so the next one is nearly always the one after
 * the last. */
static struct group_sum *spine_imbalance_group_of(
	struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		size_t k = (imbalance->cursor + i) % imbalance->n_groups;
		if (str_eq(imbalance->groups[k].device, measure->device) &&
			str_eq(imbalance->groups[k].group, measure->group)) {
			imbalance->cursor = k + 1;
			imbalance->last = k;
			return &imbalance->groups[k];
		}
	}
	rw_grow(imbalance->groups, imbalance->n_groups, imbalance->cap);
	struct group_sum *g = &imbalance->groups[imbalance->n_groups];
	*g = (struct group_sum){.device = measure->device,
		.group = measure->group,
		.n_members = measure->n_members,
		.worst = NAN,
		.sustained = NAN};
	g->members = rw_calloc(measure->n_members, sizeof(*g->members));
	g->ring = rw_calloc(imbalance->o.hold, sizeof(*g->ring));
	for (size_t i = 0; i < measure->n_members; i++)
		g->members[i] = (struct member_sum){.port = measure->members[i].port,
			.peer = str_or(measure->members[i].peer, "")};
	imbalance->last = imbalance->n_groups++;
	imbalance->cursor = imbalance->n_groups;
	return g;
}

static void add_members(struct group_sum *group, const struct ecmp_measure *measure)
{
	for (size_t i = 0; i < measure->n_members && i < group->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		group->members[i].octets += e->octets;
		group->members[i].rate_sum += e->rate_bps;
		group->members[i].up++;
		if (e->speed_bps)
			group->members[i].speed_bps = e->speed_bps;
	}
}

static void add_chance(struct group_sum *group, const struct ecmp_measure *measure)
{
	if (!isnan(measure->n_eff)) {
		group->flows_sum += measure->n_eff;
		group->n_flows_known++;
	} else if (measure->flows_note && !group->flows_note) {
		group->flows_note = rw_strdup(measure->flows_note);
	}
	if (!isnan(measure->expected_ratio)) {
		group->expected_sum += measure->expected_ratio;
		group->p95_sum += measure->expected_p95_ratio;
		group->p999_sum += measure->expected_p999_ratio;
		group->n_chance++;
	}
}

/* The least of the last `hold` busy windows; of all, when there are fewer. */
static void add_sustained(
	struct spine_imbalance *spine_imbalance, struct group_sum *group, double imbalance)
{
	group->ring[(group->windows - 1) % spine_imbalance->o.hold] = imbalance;
	uint64_t n = spine_imbalance->o.hold;
	if (group->windows < spine_imbalance->o.hold)
		n = group->windows;
	double least = INFINITY;
	for (uint64_t i = 0; i < n; i++)
		least = fmin(least, group->ring[i]);
	if (group->windows <= spine_imbalance->o.hold)
		group->sustained = least;
	else
		group->sustained = fmax(group->sustained, least);
}

static void spine_imbalance_add_over(struct spine_imbalance *imbalance, struct group_sum *group,
	const struct ecmp_measure *measure)
{
	group->over++;
	group->verdicts[measure->verdict]++;
	if (measure->hot < group->n_members)
		group->members[measure->hot].hot_over++;
	if (!group->last_over)
		group->since_ns = measure->from_ns;
	double loss = measure->members[measure->hot].utilization_ratio - measure->load_ratio;
	if (isnan(loss) || loss <= 0)
		return;
	double loss_s =
		fmin(loss, 1) * (double)(measure->to_ns - measure->from_ns) / (double)NS_PER_S;
	group->loss_sum_s += loss_s;
	if (loss_s > imbalance->window_loss_s) {
		imbalance->loss_s += loss_s - imbalance->window_loss_s;
		imbalance->window_loss_s = loss_s;
	}
}

bool spine_imbalance_add(struct spine_imbalance *imbalance, const struct ecmp_measure *measure)
{
	if (measure->from_ns != imbalance->window_ns) {
		imbalance->window_ns = measure->from_ns;
		imbalance->window_loss_s = 0;
	}
	struct group_sum *g = spine_imbalance_group_of(imbalance, measure);
	for (size_t i = 0; i < measure->n_members && i < g->n_members; i++)
		g->members[i].link = measure->members[i].link;
	if (!isnan(measure->coverage_ratio)) {
		g->coverage_sum += measure->coverage_ratio;
		g->n_covered++;
	}
	if (measure->verdict == ECMP_UNKNOWN)
		g->unknown_last = g->unknown_last + 1;
	else
		g->unknown_last = 0;
	g->unknown += measure->verdict == ECMP_UNKNOWN;
	g->idle += measure->verdict == ECMP_IDLE;
	g->down += measure->n_down > 0;
	if (measure->verdict == ECMP_UNKNOWN || measure->verdict == ECMP_IDLE)
		return false;

	g->windows++;
	g->equal_weights = measure->equal_weights;
	g->hashed = measure->hashed;
	imbalance->speeds_known = imbalance->speeds_known || !measure->equal_weights;
	if (!isnan(measure->load_ratio))
		g->load_sum += measure->load_ratio;
	add_members(g, measure);
	add_chance(g, measure);
	add_sustained(imbalance, g, measure->imbalance_ratio);
	bool over = measure->verdict > ECMP_EVEN;
	if (over)
		spine_imbalance_add_over(imbalance, g, measure);
	g->last_over = over;
	if (!isnan(g->worst) && measure->imbalance_ratio <= g->worst)
		return false;
	g->worst = measure->imbalance_ratio;
	g->worst_ns = measure->to_ns;
	g->worst_hot = measure->hot;
	g->packets = measure->packets;
	g->sampling = measure->sampling;
	g->n_flows = 0;
	return true;
}

void spine_imbalance_flows(
	struct spine_imbalance *imbalance, const struct finding_flow *flows, size_t n)
{
	struct group_sum *g = &imbalance->groups[imbalance->last];
	if (n < FLOWS_KEPT)
		g->n_flows = n;
	else
		g->n_flows = FLOWS_KEPT;
	if (g->n_flows)
		memcpy(g->flows, flows, g->n_flows * sizeof(*flows));
}

/* ---- what the sums say --------------------------------------------------- */

struct spread {
	double imbalance, max_minus_min, cov, jain, weight, rate;
};

static double weight_of(const struct group_sum *group, const struct member_sum *member)
{
	if (group->equal_weights)
		return 1;
	return (double)member->speed_bps;
}

static double rate_of(const struct member_sum *member)
{
	if (member->up)
		return member->rate_sum / (double)member->up;
	return 0;
}

static struct spread spine_imbalance_spread_of(const struct group_sum *group)
{
	struct spread r = {.imbalance = NAN, .max_minus_min = NAN, .cov = NAN, .jain = NAN};
	double max = -1, min = INFINITY, var = 0;
	for (size_t i = 0; i < group->n_members; i++)
		if (group->members[i].up) {
			r.rate += rate_of(&group->members[i]);
			r.weight += weight_of(group, &group->members[i]);
		}
	if (!(r.rate > 0 && r.weight > 0))
		return r;
	for (size_t i = 0; i < group->n_members; i++) {
		if (!group->members[i].up || weight_of(group, &group->members[i]) <= 0)
			continue;
		double c = weight_of(group, &group->members[i]) / r.weight;
		double share = rate_of(&group->members[i]) / (r.rate * c);
		max = fmax(max, share);
		min = fmin(min, share);
		var += c * (share - 1) * (share - 1);
	}
	r.imbalance = max - 1;
	r.max_minus_min = max - min;
	r.cov = sqrt(var);
	r.jain = 1 / (1 + var);
	return r;
}

static bool out_of_limits(const struct spine_imbalance *imbalance, const struct group_sum *group,
	const struct spread *spread)
{
	return group->over > 0 &&
		(spread->imbalance > imbalance->o.warn ||
			(group->sustained > imbalance->o.warn &&
				group->windows >= imbalance->o.hold));
}

static const char *verdict_of(const struct spine_imbalance *imbalance,
	const struct group_sum *group, const struct spread *spread)
{
	if (!group->windows)
		return ecmp_verdict_name(group->unknown ? ECMP_UNKNOWN : ECMP_IDLE);
	if (!out_of_limits(imbalance, group, spread))
		return ecmp_verdict_name(ECMP_EVEN);
	enum ecmp_verdict v = ECMP_SKEWED;
	for (int k = ECMP_SKEWED; k > ECMP_EVEN; k--)
		if (group->verdicts[k] > group->verdicts[v])
			v = (enum ecmp_verdict)k;
	return ecmp_verdict_name(v);
}

static const struct member_sum *persistent_of(const struct group_sum *group)
{
	for (size_t i = 0; i < group->n_members; i++)
		if (group->over &&
			(double)group->members[i].hot_over >=
				PERSISTENT_SHARE * (double)group->over)
			return &group->members[i];
	return NULL;
}

/* The neighbour whose links are hot in as many windows, when the place moves among several links to
 * it. */
static const char *persistent_peer_of(const struct group_sum *group)
{
	for (size_t i = 0; i < group->n_members && group->over; i++) {
		uint64_t hot = 0;
		for (size_t k = 0; k < group->n_members; k++) {
			if (str_eq(group->members[k].peer, group->members[i].peer))
				hot += group->members[k].hot_over;
		}
		if (*group->members[i].peer &&
			(double)hot >= PERSISTENT_SHARE * (double)group->over)
			return group->members[i].peer;
	}
	return NULL;
}

size_t spine_imbalance_groups(const struct spine_imbalance *imbalance)
{
	return imbalance->n_groups;
}

void spine_imbalance_group(
	const struct spine_imbalance *imbalance, size_t i, struct spine_group *ret)
{
	const struct group_sum *g = &imbalance->groups[i];
	const struct member_sum *hot = persistent_of(g);
	if (!hot && g->windows)
		hot = &g->members[g->worst_hot];
	*ret = (struct spine_group){
		.device = g->device,
		.group = g->group,
		.member = hot ? hot->port : NULL,
		.peer = hot ? hot->peer : NULL,
		.imbalance_ratio = spine_imbalance_spread_of(g).imbalance,
		.sustained_ratio = g->sustained,
		.expected_ratio = g->n_chance ? g->expected_sum / (double)g->n_chance : NAN,
		.expected_p999_ratio = g->n_chance ? g->p999_sum / (double)g->n_chance : NAN,
		.flows = g->n_flows_known ? g->flows_sum / (double)g->n_flows_known : NAN,
		.windows = g->windows,
		.over = g->over,
		.idle = g->idle,
		.unknown = g->unknown,
		.unknown_last = g->unknown_last,
	};
	for (size_t k = 0; k < g->n_members; k++)
		ret->n_down += g->members[k].link == ECMP_LINK_DOWN;
}

/* ---- document ------------------------------------------------------------ */

static double mean_or_nan(double sum, uint64_t n)
{
	if (n)
		return sum / (double)n;
	return NAN;
}

static json_t *spine_imbalance_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *members_json(const struct group_sum *group, const struct spread *spread)
{
	static const char *const links[] = {
		[ECMP_LINK_UP] = "up", [ECMP_LINK_DOWN] = "down", [ECMP_LINK_ABSENT] = "no data"};
	json_t *a = json_array();
	for (size_t i = 0; i < group->n_members; i++) {
		const struct member_sum *m = &group->members[i];
		double rate = NAN;
		if (m->up)
			rate = rate_of(m);
		double weight = weight_of(group, m);
		json_t *o = json_object();
		json_object_set_new(o, "port", json_string_or_null(m->port));
		json_object_set_new(
			o, "peer", json_string_or_null(m->peer && *m->peer ? m->peer : NULL));
		json_object_set_new(o, "utilization_ratio",
			json_number_or_null(m->speed_bps ? rate / (double)m->speed_bps : NAN));
		json_object_set_new(
			o, "octets", m->up ? spine_imbalance_count(m->octets) : json_null());
		json_object_set_new(o, "rate_bps", json_number_or_null(rate));
		json_object_set_new(o, "speed_bps",
			m->speed_bps ? spine_imbalance_count(m->speed_bps) : json_null());
		json_object_set_new(o, "share_ratio",
			json_number_or_null(weight > 0
					? rate * spread->weight / (spread->rate * weight)
					: NAN));
		json_object_set_new(o, "windows_hot", spine_imbalance_count(m->hot_over));
		json_object_set_new(o, "link", json_string(links[m->link]));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *spine_imbalance_flows_json(const struct group_sum *group)
{
	json_t *a = json_array();
	for (size_t i = 0; i < group->n_flows; i++) {
		const struct finding_flow *f = &group->flows[i];
		json_t *o = json_object();
		json_object_set_new(o, "device", json_string_or_null(group->device));
		json_object_set_new(o, "group", json_string_or_null(group->group));
		json_object_set_new(o, "port", json_string_or_null(f->port));
		json_object_set_new(
			o, "peer", json_string_or_null(group->members[group->worst_hot].peer));
		json_object_set_new(o, "src", json_string_or_null(f->src));
		json_object_set_new(o, "dst", json_string_or_null(f->dst));
		json_object_set_new(o, "src_port", spine_imbalance_count(f->src_port));
		json_object_set_new(o, "dst_qp", spine_imbalance_count(f->dst_qp));
		json_object_set_new(o, "packets", spine_imbalance_count(f->packets));
		json_object_set_new(o, "octets", spine_imbalance_count(f->octets));
		json_object_set_new(o, "burst_bps",
			f->burst_bps ? spine_imbalance_count(f->burst_bps) : json_null());
		json_array_append_new(a, o);
	}
	return a;
}

/* GPUs x price, USD per hour; NAN when no job or no price is named. */
static double usd_per_hour(const struct fabric *fabric)
{
	uint64_t gpus = fabric_gpus(fabric);
	if (gpus && fabric->usd_per_gpu_hour > 0)
		return (double)gpus * fabric->usd_per_gpu_hour;
	return NAN;
}

static json_t *group_json(const struct spine_imbalance *imbalance, const struct group_sum *group,
	const struct fabric *fabric)
{
	struct spread p = spine_imbalance_spread_of(group);
	const struct member_sum *hot = persistent_of(group);
	size_t n_down = 0;
	for (size_t i = 0; i < group->n_members; i++)
		n_down += group->members[i].link == ECMP_LINK_DOWN;
	const struct {
		const char *key;
		json_t *v;
	} fields[] = {
		{"device", json_string_or_null(group->device)},
		{"group", json_string_or_null(group->group)},
		{"members", members_json(group, &p)},
		{"imbalance_ratio", json_number_or_null(p.imbalance)},
		{"imbalance_max_minus_min_ratio", json_number_or_null(p.max_minus_min)},
		{"cov_ratio", json_number_or_null(p.cov)},
		{"jain_ratio", json_number_or_null(p.jain)},
		{"utilization_ratio",
			json_number_or_null(group->windows && !group->equal_weights
					? group->load_sum / (double)group->windows
					: NAN)},
		{"expected_by_chance_ratio",
			json_number_or_null(mean_or_nan(group->expected_sum, group->n_chance))},
		{"expected_p95_ratio",
			json_number_or_null(mean_or_nan(group->p95_sum, group->n_chance))},
		{"expected_p999_ratio",
			json_number_or_null(mean_or_nan(group->p999_sum, group->n_chance))},
		{"flows_estimate",
			json_number_or_null(mean_or_nan(group->flows_sum, group->n_flows_known))},
		{"flows_note",
			json_string_or_null(group->n_flows_known ? NULL : group->flows_note)},
		{"persistent_member", json_string_or_null(hot ? hot->port : NULL)},
		{"persistent_ratio",
			json_number_or_null(
				hot ? (double)hot->hot_over / (double)group->over : NAN)},
		{"persistent_peer", json_string_or_null(persistent_peer_of(group))},
		{"hot_member",
			json_string_or_null(
				group->windows ? group->members[group->worst_hot].port : NULL)},
		{"windows", spine_imbalance_count(group->windows)},
		{"windows_over", spine_imbalance_count(group->over)},
		{"windows_idle", spine_imbalance_count(group->idle)},
		{"windows_unknown", spine_imbalance_count(group->unknown)},
		{"members_down", spine_imbalance_count(n_down)},
		{"worst_ratio", json_number_or_null(group->worst)},
		{"worst_at", group->windows ? json_time(group->worst_ns) : json_null()},
		{"sustained_ratio", json_number_or_null(group->sustained)},
		{"over_since", group->over ? json_time(group->since_ns) : json_null()},
		{"over_now", json_boolean(group->last_over)},
		{"coverage_ratio",
			json_number_or_null(mean_or_nan(group->coverage_sum, group->n_covered))},
		{"static_hash", group->windows ? json_boolean(group->hashed) : json_null()},
		{"out_of_limits", json_boolean(out_of_limits(imbalance, group, &p))},
		{"verdict", json_string(verdict_of(imbalance, group, &p))},
		{"wait_s",
			json_number_or_null(
				group->windows && group->equal_weights ? NAN : group->loss_sum_s)},
		{"usd",
			json_number_or_null(group->windows && group->equal_weights
					? NAN
					: group->loss_sum_s / 3600 * usd_per_hour(fabric))},
		{"packets", spine_imbalance_count(group->packets)},
		{"sampling",
			group->sampling ? spine_imbalance_count(group->sampling) : json_null()},
		{"flows", spine_imbalance_flows_json(group)},
	};
	json_t *o = json_object();
	for (size_t i = 0; i < rw_countof(fields); i++)
		json_object_set_new(o, fields[i].key, fields[i].v);
	return o;
}

static json_t *tiers_json(const struct fabric *fabric)
{
	size_t leaves = 0, spines = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		leaves += fabric->devices[i]->role == ROLE_LEAF;
		spines += fabric->devices[i]->role == ROLE_SPINE;
	}
	json_t *o = json_object();
	json_object_set_new(o, "leaves", spine_imbalance_count(leaves));
	json_object_set_new(o, "spines", spine_imbalance_count(spines));
	return o;
}

static json_t *summary_json(const struct spine_imbalance *imbalance)
{
	size_t over = 0, busy = 0, unknown = 0;
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		struct spread p = spine_imbalance_spread_of(&imbalance->groups[i]);
		over += out_of_limits(imbalance, &imbalance->groups[i], &p);
		busy += imbalance->groups[i].windows > 0;
		unknown += !imbalance->groups[i].windows && imbalance->groups[i].unknown;
	}
	const char *only = "groups";
	if (imbalance->n_groups == 1)
		only = "group";
	if (!imbalance->n_groups)
		return json_string("unknown: no complete window, or no group of two members");
	if (over)
		return json_sprintf("%zu of %zu %s out of limits", over, imbalance->n_groups, only);
	if (unknown)
		return json_sprintf(
			"unknown: no data of %zu of %zu %s", unknown, imbalance->n_groups, only);
	if (!busy)
		return json_string("idle, 0 busy windows");
	return json_sprintf("%zu of %zu %s even%s", busy, imbalance->n_groups, only,
		str_if(busy < imbalance->n_groups, ", the rest idle"));
}

json_t *spine_imbalance_json(const struct spine_imbalance *imbalance, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns)
{
	double usd = usd_per_hour(fabric);
	json_t *groups = json_array();
	double coverage = 0;
	uint64_t n_covered = 0, busy = 0, windows = 0;
	for (size_t i = 0; i < imbalance->n_groups; i++) {
		const struct group_sum *g = &imbalance->groups[i];
		json_array_append_new(groups, group_json(imbalance, g, fabric));
		coverage += g->coverage_sum;
		n_covered += g->n_covered;
		busy += g->windows;
		windows += g->windows + g->idle;
	}
	json_t *doc = json_object();
	json_object_set_new(doc, "from", json_time(from_ns));
	json_object_set_new(doc, "to", json_time(to_ns));
	json_object_set_new(doc, "fabric", json_string_or_null(fabric->name));
	json_object_set_new(doc, "tiers", tiers_json(fabric));
	json_object_set_new(doc, "verdict", summary_json(imbalance));
	json_object_set_new(doc, "warn_ratio", json_real(imbalance->o.warn));
	json_object_set_new(doc, "load_floor_ratio", json_real(imbalance->o.load_floor));
	json_object_set_new(
		doc, "window_s", json_real((double)imbalance->o.window_ns / (double)NS_PER_S));
	json_object_set_new(doc, "hold", spine_imbalance_count(imbalance->o.hold));
	json_object_set_new(
		doc, "busy_ratio", json_number_or_null(mean_or_nan((double)busy, windows)));
	json_object_set_new(
		doc, "coverage_ratio", json_number_or_null(mean_or_nan(coverage, n_covered)));
	json_object_set_new(doc, "groups", groups);
	json_object_set_new(doc, "wait_s",
		json_number_or_null(imbalance->speeds_known ? imbalance->loss_s : NAN));
	json_object_set_new(doc, "gpus", spine_imbalance_count(fabric_gpus(fabric)));
	json_object_set_new(doc, "usd_per_gpu_hour",
		json_number_or_null(fabric->usd_per_gpu_hour > 0 ? fabric->usd_per_gpu_hour : NAN));
	json_object_set_new(doc, "usd_total",
		json_number_or_null(
			imbalance->speeds_known || !busy ? imbalance->loss_s / 3600 * usd : NAN));
	return doc;
}

static const struct column columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"group", NULL, COL_TEXT, false},
	{"windows", NULL, COL_INT, true},
	{"windows_over", "over", COL_INT, true},
	{"worst_ratio", "worst", COL_RATIO_PCT, true},
	{"worst_at", "worst at", COL_TIME, false},
	{"imbalance_ratio", "max/mean-1", COL_RATIO_PCT, true},
	{"imbalance_max_minus_min_ratio", "(max-min)/mean", COL_RATIO_PCT, true},
	{"cov_ratio", "CoV", COL_RATIO_PCT, true},
	{"jain_ratio", "Jain", COL_NUMBER, true},
	{"expected_by_chance_ratio", "chance mean", COL_RATIO_PCT, true},
	{"expected_p95_ratio", "chance p95", COL_RATIO_PCT, true},
	{"flows_estimate", "flows", COL_NUMBER, true},
	{"persistent_member", "persistent member", COL_TEXT, false},
	{"coverage_ratio", "coverage", COL_RATIO_PCT, true},
	{"usd", "cost", COL_USD, true},
	{"verdict", NULL, COL_TEXT, false},
};

const struct view spine_imbalance_view = {
	.title = "Spine imbalance",
	.rows = "groups",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = spine_text,
	.empty = "no ECMP group of two members or more, or no complete window in this stretch of "
		 "time",
};
