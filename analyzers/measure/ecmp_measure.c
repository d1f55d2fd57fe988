/* ecmp_measure - loads of the members, their spread, and the verdict. */
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/hash_fields.h"
#include "analyzers/measure/lb_read.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/measure/chance.h"
#include "analyzers/measure/ecmp_packets.h"
#include "analyzers/measure/mean.h"
#include "analyzers/measure/port_rate.h"
#include "db/model/metric.h"

const uint16_t ecmp_metrics[] = {M_PORT_OUT_OCTETS, M_PORT_OUT_DISCARDS, M_PORT_SPEED_BPS,
	M_PORT_OPER_UP, M_CFG_HASH_FIELDS, M_CFG_LB_MODE};
const size_t ecmp_n_metrics = rw_countof(ecmp_metrics);

/* A placement rarer than this by luck, over all groups judged, is not called luck. */
#define CHANCE_LEVEL 0.001
/* Fewer effective flows per member than this cannot fill the members evenly: the remedy is more
 * flows. */
#define FLOWS_PER_MEMBER 4
/* Sprayed packets are taken to be of this size, and to differ by no more than so many standard
 * deviations by chance. */
#define SPRAY_PACKET_BYTES 4096.0
#define SPRAY_SIGMAS 4.0
/* Where no capacity is known, members count as busy by this speed: no fabric link is slower. */
#define FLOOR_BPS 1e9

static uint64_t discards_of(
	const struct window *window, const struct fabric_port *port, bool *ret_known)
{
	uint32_t entity =
		entities_find(window->entities, port->device->name, port->name, PRIO_NONE);
	const struct series *s = NULL;
	if (entity != ENTITY_NONE)
		s = window_series(window, entity, M_PORT_OUT_DISCARDS);
	struct increase inc;
	if (!s || series_increase(s, window->from_ns, window->to_ns, 0, &inc) < 0)
		return 0;
	*ret_known = true;
	return inc.value;
}

/* A member is a port, or a LAG as the sum of its ports; one missing port leaves the LAG unknown. */
static void measure_member(const struct fabric_group *group, size_t index,
	const struct window *window, const struct ecmp_params *params, struct arena *a,
	struct ecmp_member *member)
{
	const struct fabric_port **ports;
	size_t n = ecmp_member_ports(group, index, a, &ports), n_down = 0;
	const struct fabric_port *first = ports[0];
	const char *name = first->name, *peer = str_or(first->host, "");
	if (n > 1)
		name = first->lag;
	if (first->peer)
		peer = first->peer->device->name;
	*member = (struct ecmp_member){
		.port = name,
		.peer = peer,
		.rate_bps = 0,
		.utilization_ratio = NAN,
		.share_ratio = NAN,
		.burst_ratio = NAN,
		.coverage_ratio = 1,
		.quality = QUALITY_EXACT,
	};
	bool speeds = true, absent = false;
	for (size_t i = 0; i < n; i++) {
		struct port_rate r;
		int rc = port_rate(window, ports[i], M_PORT_OUT_OCTETS, params->interval_ns, &r);
		if (r.oper == PORT_OPER_DOWN && (rc < 0 || r.octets == 0)) {
			n_down++;
			member->declared_bps += r.declared_bps;
			continue;
		}
		member->declared_bps += r.declared_bps;
		member->read_bps += r.read_bps;
		member->speed_bps += r.capacity_bps;
		speeds = speeds && r.capacity_bps;
		member->coverage_ratio = fmin(member->coverage_ratio, r.coverage_ratio);
		member->discards += discards_of(window, ports[i], &member->discards_known);
		if (rc < 0 || r.coverage_ratio < params->min_coverage) {
			absent = true;
			continue;
		}
		member->octets += r.octets;
		member->rate_bps += r.rate_bps;
		if (r.quality > member->quality)
			member->quality = r.quality;
	}
	if (!speeds)
		member->speed_bps = 0;
	if (n_down == n)
		member->link = ECMP_LINK_DOWN;
	else if (absent)
		member->link = ECMP_LINK_ABSENT;
	else
		member->link = ECMP_LINK_UP;
	switch (member->link) {
	case ECMP_LINK_DOWN:
		member->rate_bps = 0;
		member->coverage_ratio = NAN;
		member->quality = QUALITY_EXACT;
		break;
	case ECMP_LINK_ABSENT:
		member->rate_bps = NAN;
		member->quality = QUALITY_UNKNOWN;
		break;
	case ECMP_LINK_UP:
		if (member->speed_bps)
			member->utilization_ratio = member->rate_bps / (double)member->speed_bps;
		break;
	}
}

/* The spread over the live members; false when nothing was sent. */
static bool measure_spread(struct ecmp_measure *measure)
{
	double rate = 0, weight = 0, max = -1, min = INFINITY, var = 0;
	for (size_t i = 0; i < measure->n_members; i++) {
		const struct ecmp_member *e = &measure->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		rate += e->rate_bps;
		if (measure->equal_weights)
			weight += 1;
		else
			weight += (double)e->speed_bps;
	}
	if (!measure->equal_weights)
		measure->load_ratio = rate / weight;
	if (rate <= 0)
		return false;
	for (size_t i = 0; i < measure->n_members; i++) {
		struct ecmp_member *e = &measure->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		double c = (measure->equal_weights ? 1 : (double)e->speed_bps) / weight;
		e->share_ratio = e->rate_bps / (rate * c);
		var += c * (e->share_ratio - 1) * (e->share_ratio - 1);
		if (e->share_ratio < min) {
			min = e->share_ratio;
			measure->cold = i;
		}
		if (e->share_ratio > max) {
			max = e->share_ratio;
			measure->hot = i;
		}
	}
	measure->imbalance_ratio = mean_imbalance(max, 1);
	measure->max_minus_min_ratio = max - min;
	measure->low_ratio = 1 - min;
	measure->cov_ratio = sqrt(var);
	measure->jain_ratio = 1 / (1 + var);
	return true;
}

/* Who chooses the member: a hash, the switch by packet, or the sender. */
static void measure_balancing(
	const struct fabric_group *group, const struct window *window, struct ecmp_measure *measure)
{
	const enum lb_policy lb = lb_of_group(window, group);
	enum lb_policy told;
	bool known;
	measure->lb_told = lb_read(window, group->device->name, &told, &known);
	measure->hashed = lb == LB_STATIC && !measure->sprayed;
	measure->even = lb_sprays(lb) || (measure->sprayed && lb != LB_SOURCE_ROUTED);
	if (lb == LB_SOURCE_ROUTED)
		measure->verdict = ECMP_CHOSEN;
}

void ecmp_measure(const struct fabric_group *group, const struct window *window,
	const struct ecmp_params *params, struct arena *a, struct ecmp_measure *measure)
{
	*measure = (struct ecmp_measure){
		.device = group->device->name,
		.group = group->id,
		.from_ns = window->from_ns,
		.to_ns = window->to_ns,
		.n_members = group->n_members,
		.imbalance_ratio = NAN,
		.max_minus_min_ratio = NAN,
		.cov_ratio = NAN,
		.jain_ratio = NAN,
		.load_ratio = NAN,
		.n_eff = NAN,
		.expected_ratio = NAN,
		.expected_p95_ratio = NAN,
		.expected_p999_ratio = NAN,
		.chance_p = NAN,
		.chance_limit_ratio = NAN,
		.low_ratio = NAN,
		.spread_limit_ratio = NAN,
		.verdict = ECMP_EVEN,
	};
	measure->members = arena_array(a, struct ecmp_member, group->n_members);
	double coverage = 0, rate = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		struct ecmp_member *e = &measure->members[i];
		measure_member(group, i, window, params, a, e);
		measure->observed = measure->observed ||
			entities_find(window->entities, group->device->name,
				group->members[i]->name, PRIO_NONE) != ENTITY_NONE ||
			e->link != ECMP_LINK_ABSENT;
		measure->n_down += e->link == ECMP_LINK_DOWN;
		measure->n_absent += e->link == ECMP_LINK_ABSENT;
		measure->n_live += e->link == ECMP_LINK_UP;
		measure->n_known += e->link != ECMP_LINK_ABSENT;
		if (e->link != ECMP_LINK_DOWN)
			coverage += e->coverage_ratio;
		if (e->link == ECMP_LINK_UP) {
			measure->equal_weights = measure->equal_weights || !e->speed_bps;
			rate += e->rate_bps;
		}
	}
	if (measure->n_members > measure->n_down)
		measure->coverage_ratio = coverage / (double)(measure->n_members - measure->n_down);
	else
		measure->coverage_ratio = NAN;
	ecmp_packets(group, window, a, measure);
	measure_balancing(group, window, measure);
	measure->hash_fields = hash_fields(window, group->device->name);
	measure->hash_blind = measure->hashed && hash_fields_blind(measure->hash_fields);
	if (measure->n_absent) {
		measure->verdict = ECMP_UNKNOWN;
		return;
	}
	bool sent = measure->n_live > 0 && measure_spread(measure);
	bool busy;
	if (!measure->even)
		measure->low_ratio = NAN;
	if (measure->equal_weights)
		busy = rate / (double)measure->n_live > params->load_floor * FLOOR_BPS;
	else
		busy = measure->load_ratio > params->load_floor;
	if (measure->n_live < 2 || !sent || !busy)
		measure->verdict = ECMP_IDLE;
}

/* What chance alone would do with these flows. */
static void judge_chance(struct ecmp_measure *measure, size_t n_judged)
{
	struct chance c;
	if (!measure->hashed || isnan(measure->n_eff) ||
		chance_baseline(measure->n_live, measure->n_eff, &c) < 0)
		return;
	measure->expected_ratio = c.mean;
	measure->expected_p95_ratio = c.p95;
	measure->expected_p999_ratio = c.p999;
	measure->chance_limit_ratio = chance_quantile(measure->n_live, measure->n_eff,
		1 - CHANCE_LEVEL / (double)(n_judged ? n_judged : 1));
	measure->chance_p = chance_tail(measure->n_live, measure->n_eff, measure->imbalance_ratio);
}

/*
 * Packets that are spread one by one leave members alike, but for chance: N packets thrown into m
 * members differ by sqrt((m - 1) / N) of a share (chance_cov), four times that by no luck.
 */
static void judge_even(struct ecmp_measure *measure, const struct ecmp_params *params)
{
	double octets = 0, least = params->warn;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == ECMP_LINK_UP)
			octets += (double)measure->members[i].octets;
	if (params->spread > 0)
		least = params->spread;
	const double packets = fmax(octets / SPRAY_PACKET_BYTES, 1);
	measure->spread_limit_ratio = least + SPRAY_SIGMAS * chance_cov(measure->n_live, packets);
	measure->verdict = ECMP_EVEN;
	if (ecmp_deviation(measure) > measure->spread_limit_ratio)
		measure->verdict = ECMP_SKEWED;
}

void ecmp_judge(struct ecmp_measure *measure, const struct ecmp_params *params, size_t n_judged)
{
	if (measure->verdict < ECMP_EVEN)
		return;
	if (measure->even) {
		judge_even(measure, params);
		return;
	}
	judge_chance(measure, n_judged);
	if (!(measure->imbalance_ratio > params->warn))
		measure->verdict = ECMP_EVEN;
	else if (isnan(measure->chance_limit_ratio) ||
		measure->imbalance_ratio > measure->chance_limit_ratio + 1e-9)
		measure->verdict = ECMP_SKEWED;
	else if (measure->n_eff < FLOWS_PER_MEMBER * (double)measure->n_live)
		measure->verdict = ECMP_LOW_ENTROPY;
	else if (measure->imbalance_ratio > measure->expected_p95_ratio)
		measure->verdict = ECMP_UNLUCKY;
	else
		measure->verdict = ECMP_WITHIN_CHANCE;
}

double ecmp_deviation(const struct ecmp_measure *measure)
{
	if (measure->even)
		return fmax(measure->imbalance_ratio, measure->low_ratio);
	return measure->imbalance_ratio;
}

size_t ecmp_odd_member(const struct ecmp_measure *measure)
{
	if (measure->even && measure->low_ratio >= measure->imbalance_ratio)
		return measure->cold;
	return measure->hot;
}

size_t ecmp_measure_all(const struct fabric *fabric, const struct window *window,
	const struct ecmp_params *params, struct arena *a, struct ecmp_measure **ret)
{
	size_t n = 0, n_judged = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t i = 0; i < fabric->devices[d]->n_groups; i++)
			n += fabric->devices[d]->groups[i].n_members >= 2;
	struct ecmp_measure *v = arena_array(a, struct ecmp_measure, n ? n : 1);
	n = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t i = 0; i < fabric->devices[d]->n_groups; i++)
			if (fabric->devices[d]->groups[i].n_members >= 2) {
				ecmp_measure(
					&fabric->devices[d]->groups[i], window, params, a, &v[n]);
				n_judged += v[n].verdict == ECMP_EVEN && v[n].hashed &&
					!isnan(v[n].n_eff);
				n++;
			}
	for (size_t i = 0; i < n; i++)
		ecmp_judge(&v[i], params, n_judged);
	*ret = v;
	return n;
}
