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

struct spine_imbalance *spine_imbalance_new(const struct spine_options *o)
{
	struct spine_imbalance *s = rw_calloc(1, sizeof(*s));
	s->o = *o;
	s->window_ns = INT64_MIN;
	if (!s->o.hold)
		s->o.hold = 1;
	return s;
}

void spine_imbalance_free(struct spine_imbalance *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_groups; i++) {
		free(s->groups[i].members);
		free(s->groups[i].ring);
		free((char *)s->groups[i].flows_note);
	}
	free(s->groups);
	free(s);
}

void spine_imbalance_freep(struct spine_imbalance **s)
{
	spine_imbalance_free(*s);
}

/* Each window brings the groups in the same order, so the next one is nearly always the one after
 * the last. */
static struct group_sum *group_of(struct spine_imbalance *s, const struct ecmp_measure *m)
{
	for (size_t i = 0; i < s->n_groups; i++) {
		size_t k = (s->cursor + i) % s->n_groups;
		if (str_eq(s->groups[k].device, m->device) &&
			str_eq(s->groups[k].group, m->group)) {
			s->cursor = k + 1;
			s->last = k;
			return &s->groups[k];
		}
	}
	rw_grow(s->groups, s->n_groups, s->cap);
	struct group_sum *g = &s->groups[s->n_groups];
	*g = (struct group_sum){.device = m->device,
		.group = m->group,
		.n_members = m->n_members,
		.worst = NAN,
		.sustained = NAN};
	g->members = rw_calloc(m->n_members, sizeof(*g->members));
	g->ring = rw_calloc(s->o.hold, sizeof(*g->ring));
	for (size_t i = 0; i < m->n_members; i++)
		g->members[i] = (struct member_sum){.port = m->members[i].port,
			.peer = m->members[i].peer ? m->members[i].peer : ""};
	s->last = s->n_groups++;
	s->cursor = s->n_groups;
	return g;
}

static void add_members(struct group_sum *g, const struct ecmp_measure *m)
{
	for (size_t i = 0; i < m->n_members && i < g->n_members; i++) {
		const struct ecmp_member *e = &m->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		g->members[i].octets += e->octets;
		g->members[i].rate_sum += e->rate_bps;
		g->members[i].up++;
		if (e->speed_bps)
			g->members[i].speed_bps = e->speed_bps;
	}
}

static void add_chance(struct group_sum *g, const struct ecmp_measure *m)
{
	if (!isnan(m->n_eff)) {
		g->flows_sum += m->n_eff;
		g->n_flows_known++;
	} else if (m->flows_note && !g->flows_note) {
		g->flows_note = rw_strdup(m->flows_note);
	}
	if (!isnan(m->expected_ratio)) {
		g->expected_sum += m->expected_ratio;
		g->p95_sum += m->expected_p95_ratio;
		g->p999_sum += m->expected_p999_ratio;
		g->n_chance++;
	}
}

/* The least of the last `hold` busy windows; of all, when there are fewer. */
static void add_sustained(struct spine_imbalance *s, struct group_sum *g, double imbalance)
{
	g->ring[(g->windows - 1) % s->o.hold] = imbalance;
	uint64_t n = g->windows < s->o.hold ? g->windows : s->o.hold;
	double least = INFINITY;
	for (uint64_t i = 0; i < n; i++)
		least = fmin(least, g->ring[i]);
	if (g->windows <= s->o.hold)
		g->sustained = least;
	else
		g->sustained = fmax(g->sustained, least);
}

static void add_over(struct spine_imbalance *s, struct group_sum *g, const struct ecmp_measure *m)
{
	g->over++;
	g->verdicts[m->verdict]++;
	if (m->hot < g->n_members)
		g->members[m->hot].hot_over++;
	if (!g->last_over)
		g->since_ns = m->from_ns;
	double loss = m->members[m->hot].utilization_ratio - m->load_ratio;
	if (isnan(loss) || loss <= 0)
		return;
	double loss_s = fmin(loss, 1) * (double)(m->to_ns - m->from_ns) / (double)NS_PER_S;
	g->loss_sum_s += loss_s;
	if (loss_s > s->window_loss_s) {
		s->loss_s += loss_s - s->window_loss_s;
		s->window_loss_s = loss_s;
	}
}

bool spine_imbalance_add(struct spine_imbalance *s, const struct ecmp_measure *m)
{
	if (m->from_ns != s->window_ns) {
		s->window_ns = m->from_ns;
		s->window_loss_s = 0;
	}
	struct group_sum *g = group_of(s, m);
	for (size_t i = 0; i < m->n_members && i < g->n_members; i++)
		g->members[i].link = m->members[i].link;
	if (!isnan(m->coverage_ratio)) {
		g->coverage_sum += m->coverage_ratio;
		g->n_covered++;
	}
	g->unknown_last = m->verdict == ECMP_UNKNOWN ? g->unknown_last + 1 : 0;
	g->unknown += m->verdict == ECMP_UNKNOWN;
	g->idle += m->verdict == ECMP_IDLE;
	g->down += m->n_down > 0;
	if (m->verdict == ECMP_UNKNOWN || m->verdict == ECMP_IDLE)
		return false;

	g->windows++;
	g->equal_weights = m->equal_weights;
	g->hashed = m->hashed;
	s->speeds_known = s->speeds_known || !m->equal_weights;
	g->load_sum += isnan(m->load_ratio) ? 0 : m->load_ratio;
	add_members(g, m);
	add_chance(g, m);
	add_sustained(s, g, m->imbalance_ratio);
	bool over = m->verdict > ECMP_EVEN;
	if (over)
		add_over(s, g, m);
	g->last_over = over;
	if (!isnan(g->worst) && m->imbalance_ratio <= g->worst)
		return false;
	g->worst = m->imbalance_ratio;
	g->worst_ns = m->to_ns;
	g->worst_hot = m->hot;
	g->packets = m->packets;
	g->sampling = m->sampling;
	g->n_flows = 0;
	return true;
}

void spine_imbalance_flows(struct spine_imbalance *s, const struct finding_flow *flows, size_t n)
{
	struct group_sum *g = &s->groups[s->last];
	g->n_flows = n < FLOWS_KEPT ? n : FLOWS_KEPT;
	if (g->n_flows)
		memcpy(g->flows, flows, g->n_flows * sizeof(*flows));
}

/* ---- what the sums say --------------------------------------------------- */

struct spread {
	double imbalance, max_minus_min, cov, jain, weight, rate;
};

static double weight_of(const struct group_sum *g, const struct member_sum *m)
{
	return g->equal_weights ? 1 : (double)m->speed_bps;
}

static double rate_of(const struct member_sum *m)
{
	return m->up ? m->rate_sum / (double)m->up : 0;
}

static struct spread spread_of(const struct group_sum *g)
{
	struct spread r = {.imbalance = NAN, .max_minus_min = NAN, .cov = NAN, .jain = NAN};
	double max = -1, min = INFINITY, var = 0;
	for (size_t i = 0; i < g->n_members; i++)
		if (g->members[i].up) {
			r.rate += rate_of(&g->members[i]);
			r.weight += weight_of(g, &g->members[i]);
		}
	if (!(r.rate > 0 && r.weight > 0))
		return r;
	for (size_t i = 0; i < g->n_members; i++) {
		if (!g->members[i].up || weight_of(g, &g->members[i]) <= 0)
			continue;
		double c = weight_of(g, &g->members[i]) / r.weight;
		double share = rate_of(&g->members[i]) / (r.rate * c);
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

static bool out_of_limits(
	const struct spine_imbalance *s, const struct group_sum *g, const struct spread *p)
{
	return g->over > 0 &&
		(p->imbalance > s->o.warn || (g->sustained > s->o.warn && g->windows >= s->o.hold));
}

static const char *verdict_of(
	const struct spine_imbalance *s, const struct group_sum *g, const struct spread *p)
{
	if (!g->windows)
		return ecmp_verdict_name(g->unknown ? ECMP_UNKNOWN : ECMP_IDLE);
	if (!out_of_limits(s, g, p))
		return ecmp_verdict_name(ECMP_EVEN);
	enum ecmp_verdict v = ECMP_SKEWED;
	for (int k = ECMP_SKEWED; k > ECMP_EVEN; k--)
		if (g->verdicts[k] > g->verdicts[v])
			v = (enum ecmp_verdict)k;
	return ecmp_verdict_name(v);
}

static const struct member_sum *persistent_of(const struct group_sum *g)
{
	for (size_t i = 0; i < g->n_members; i++)
		if (g->over && (double)g->members[i].hot_over >= PERSISTENT_SHARE * (double)g->over)
			return &g->members[i];
	return NULL;
}

/* The neighbour whose links are hot in as many windows, when the place moves among several links to
 * it. */
static const char *persistent_peer_of(const struct group_sum *g)
{
	for (size_t i = 0; i < g->n_members && g->over; i++) {
		uint64_t hot = 0;
		for (size_t k = 0; k < g->n_members; k++)
			hot += str_eq(g->members[k].peer, g->members[i].peer)
				? g->members[k].hot_over
				: 0;
		if (*g->members[i].peer && (double)hot >= PERSISTENT_SHARE * (double)g->over)
			return g->members[i].peer;
	}
	return NULL;
}

size_t spine_imbalance_groups(const struct spine_imbalance *s)
{
	return s->n_groups;
}

void spine_imbalance_group(const struct spine_imbalance *s, size_t i, struct spine_group *ret)
{
	const struct group_sum *g = &s->groups[i];
	const struct member_sum *hot = persistent_of(g);
	if (!hot && g->windows)
		hot = &g->members[g->worst_hot];
	*ret = (struct spine_group){
		.device = g->device,
		.group = g->group,
		.member = hot ? hot->port : NULL,
		.peer = hot ? hot->peer : NULL,
		.imbalance_ratio = spread_of(g).imbalance,
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
	return n ? sum / (double)n : NAN;
}

static json_t *count(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *members_json(const struct group_sum *g, const struct spread *p)
{
	static const char *const links[] = {
		[ECMP_LINK_UP] = "up", [ECMP_LINK_DOWN] = "down", [ECMP_LINK_ABSENT] = "no data"};
	json_t *a = json_array();
	for (size_t i = 0; i < g->n_members; i++) {
		const struct member_sum *m = &g->members[i];
		double rate = m->up ? rate_of(m) : NAN, weight = weight_of(g, m);
		json_t *o = json_object();
		json_object_set_new(o, "port", json_string_or_null(m->port));
		json_object_set_new(
			o, "peer", json_string_or_null(m->peer && *m->peer ? m->peer : NULL));
		json_object_set_new(o, "utilization_ratio",
			json_number_or_null(m->speed_bps ? rate / (double)m->speed_bps : NAN));
		json_object_set_new(o, "octets", m->up ? count(m->octets) : json_null());
		json_object_set_new(o, "rate_bps", json_number_or_null(rate));
		json_object_set_new(
			o, "speed_bps", m->speed_bps ? count(m->speed_bps) : json_null());
		json_object_set_new(o, "share_ratio",
			json_number_or_null(
				weight > 0 ? rate * p->weight / (p->rate * weight) : NAN));
		json_object_set_new(o, "windows_hot", count(m->hot_over));
		json_object_set_new(o, "link", json_string(links[m->link]));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *flows_json(const struct group_sum *g)
{
	json_t *a = json_array();
	for (size_t i = 0; i < g->n_flows; i++) {
		const struct finding_flow *f = &g->flows[i];
		json_t *o = json_object();
		json_object_set_new(o, "device", json_string_or_null(g->device));
		json_object_set_new(o, "group", json_string_or_null(g->group));
		json_object_set_new(o, "port", json_string_or_null(f->port));
		json_object_set_new(o, "peer", json_string_or_null(g->members[g->worst_hot].peer));
		json_object_set_new(o, "src", json_string_or_null(f->src));
		json_object_set_new(o, "dst", json_string_or_null(f->dst));
		json_object_set_new(o, "src_port", count(f->src_port));
		json_object_set_new(o, "dst_qp", count(f->dst_qp));
		json_object_set_new(o, "packets", count(f->packets));
		json_object_set_new(o, "octets", count(f->octets));
		json_object_set_new(
			o, "burst_bps", f->burst_bps ? count(f->burst_bps) : json_null());
		json_array_append_new(a, o);
	}
	return a;
}

/* GPUs x price, USD per hour; NAN when no job or no price is named. */
static double usd_per_hour(const struct fabric *f)
{
	uint64_t gpus = fabric_gpus(f);
	return gpus && f->usd_per_gpu_hour > 0 ? (double)gpus * f->usd_per_gpu_hour : NAN;
}

static json_t *group_json(
	const struct spine_imbalance *s, const struct group_sum *g, const struct fabric *f)
{
	struct spread p = spread_of(g);
	const struct member_sum *hot = persistent_of(g);
	size_t n_down = 0;
	for (size_t i = 0; i < g->n_members; i++)
		n_down += g->members[i].link == ECMP_LINK_DOWN;
	const struct {
		const char *key;
		json_t *v;
	} fields[] = {
		{"device", json_string_or_null(g->device)},
		{"group", json_string_or_null(g->group)},
		{"members", members_json(g, &p)},
		{"imbalance_ratio", json_number_or_null(p.imbalance)},
		{"imbalance_max_minus_min_ratio", json_number_or_null(p.max_minus_min)},
		{"cov_ratio", json_number_or_null(p.cov)},
		{"jain_ratio", json_number_or_null(p.jain)},
		{"utilization_ratio",
			json_number_or_null(g->windows && !g->equal_weights
					? g->load_sum / (double)g->windows
					: NAN)},
		{"expected_by_chance_ratio",
			json_number_or_null(mean_or_nan(g->expected_sum, g->n_chance))},
		{"expected_p95_ratio", json_number_or_null(mean_or_nan(g->p95_sum, g->n_chance))},
		{"expected_p999_ratio", json_number_or_null(mean_or_nan(g->p999_sum, g->n_chance))},
		{"flows_estimate",
			json_number_or_null(mean_or_nan(g->flows_sum, g->n_flows_known))},
		{"flows_note", json_string_or_null(g->n_flows_known ? NULL : g->flows_note)},
		{"persistent_member", json_string_or_null(hot ? hot->port : NULL)},
		{"persistent_ratio",
			json_number_or_null(hot ? (double)hot->hot_over / (double)g->over : NAN)},
		{"persistent_peer", json_string_or_null(persistent_peer_of(g))},
		{"hot_member",
			json_string_or_null(g->windows ? g->members[g->worst_hot].port : NULL)},
		{"windows", count(g->windows)},
		{"windows_over", count(g->over)},
		{"windows_idle", count(g->idle)},
		{"windows_unknown", count(g->unknown)},
		{"members_down", count(n_down)},
		{"worst_ratio", json_number_or_null(g->worst)},
		{"worst_at", g->windows ? json_time(g->worst_ns) : json_null()},
		{"sustained_ratio", json_number_or_null(g->sustained)},
		{"over_since", g->over ? json_time(g->since_ns) : json_null()},
		{"over_now", json_boolean(g->last_over)},
		{"coverage_ratio", json_number_or_null(mean_or_nan(g->coverage_sum, g->n_covered))},
		{"static_hash", g->windows ? json_boolean(g->hashed) : json_null()},
		{"out_of_limits", json_boolean(out_of_limits(s, g, &p))},
		{"verdict", json_string(verdict_of(s, g, &p))},
		{"wait_s",
			json_number_or_null(g->windows && g->equal_weights ? NAN : g->loss_sum_s)},
		{"usd",
			json_number_or_null(g->windows && g->equal_weights
					? NAN
					: g->loss_sum_s / 3600 * usd_per_hour(f))},
		{"packets", count(g->packets)},
		{"sampling", g->sampling ? count(g->sampling) : json_null()},
		{"flows", flows_json(g)},
	};
	json_t *o = json_object();
	for (size_t i = 0; i < rw_countof(fields); i++)
		json_object_set_new(o, fields[i].key, fields[i].v);
	return o;
}

static json_t *tiers_json(const struct fabric *f)
{
	size_t leaves = 0, spines = 0;
	for (size_t i = 0; i < f->n_devices; i++) {
		leaves += f->devices[i]->role == ROLE_LEAF;
		spines += f->devices[i]->role == ROLE_SPINE;
	}
	json_t *o = json_object();
	json_object_set_new(o, "leaves", count(leaves));
	json_object_set_new(o, "spines", count(spines));
	return o;
}

static json_t *summary_json(const struct spine_imbalance *s)
{
	size_t over = 0, busy = 0, unknown = 0;
	for (size_t i = 0; i < s->n_groups; i++) {
		struct spread p = spread_of(&s->groups[i]);
		over += out_of_limits(s, &s->groups[i], &p);
		busy += s->groups[i].windows > 0;
		unknown += !s->groups[i].windows && s->groups[i].unknown;
	}
	const char *only = s->n_groups == 1 ? "group" : "groups";
	if (!s->n_groups)
		return json_string("unknown: no complete window, or no group of two members");
	if (over)
		return json_sprintf("%zu of %zu %s out of limits", over, s->n_groups, only);
	if (unknown)
		return json_sprintf(
			"unknown: no data of %zu of %zu %s", unknown, s->n_groups, only);
	if (!busy)
		return json_string("idle, 0 busy windows");
	return json_sprintf("%zu of %zu %s even%s", busy, s->n_groups, only,
		busy < s->n_groups ? ", the rest idle" : "");
}

json_t *spine_imbalance_json(
	const struct spine_imbalance *s, const struct fabric *f, int64_t from_ns, int64_t to_ns)
{
	double usd = usd_per_hour(f);
	json_t *groups = json_array();
	double coverage = 0;
	uint64_t n_covered = 0, busy = 0, windows = 0;
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct group_sum *g = &s->groups[i];
		json_array_append_new(groups, group_json(s, g, f));
		coverage += g->coverage_sum;
		n_covered += g->n_covered;
		busy += g->windows;
		windows += g->windows + g->idle;
	}
	json_t *doc = json_object();
	json_object_set_new(doc, "from", json_time(from_ns));
	json_object_set_new(doc, "to", json_time(to_ns));
	json_object_set_new(doc, "fabric", json_string_or_null(f->name));
	json_object_set_new(doc, "tiers", tiers_json(f));
	json_object_set_new(doc, "verdict", summary_json(s));
	json_object_set_new(doc, "warn_ratio", json_real(s->o.warn));
	json_object_set_new(doc, "load_floor_ratio", json_real(s->o.load_floor));
	json_object_set_new(doc, "window_s", json_real((double)s->o.window_ns / (double)NS_PER_S));
	json_object_set_new(doc, "hold", count(s->o.hold));
	json_object_set_new(
		doc, "busy_ratio", json_number_or_null(mean_or_nan((double)busy, windows)));
	json_object_set_new(
		doc, "coverage_ratio", json_number_or_null(mean_or_nan(coverage, n_covered)));
	json_object_set_new(doc, "groups", groups);
	json_object_set_new(doc, "wait_s", json_number_or_null(s->speeds_known ? s->loss_s : NAN));
	json_object_set_new(doc, "gpus", count(fabric_gpus(f)));
	json_object_set_new(doc, "usd_per_gpu_hour",
		json_number_or_null(f->usd_per_gpu_hour > 0 ? f->usd_per_gpu_hour : NAN));
	json_object_set_new(doc, "usd_total",
		json_number_or_null(s->speeds_known || !busy ? s->loss_s / 3600 * usd : NAN));
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
