/*
 * ecmp_measure - loads and their spread, and the verdict. The packets' half (n_eff, flows) is
 * ecmp_packets.c.
 */
#include "analyzers/measure/ecmp_measure.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/measure/chance.h"
#include "analyzers/measure/ecmp_packets.h"
#include "analyzers/measure/port_rate.h"
#include "db/model/metric.h"

const uint16_t ecmp_metrics[] = {
	M_PORT_OUT_OCTETS, M_PORT_OUT_DISCARDS, M_PORT_SPEED_BPS, M_PORT_OPER_UP};
const size_t ecmp_n_metrics = rw_countof(ecmp_metrics);

/* A placement rarer than this by luck, over all groups judged, is not called luck. */
#define CHANCE_LEVEL 0.001
/* Fewer effective flows per member than this cannot fill the members evenly: the remedy is more
 * flows. */
#define FLOWS_PER_MEMBER 4
/* With no capacity known, idle is told from busy as if members ran at 1 Gb/s, the slowest a fabric
 * link plausibly is. */
#define FLOOR_BPS 1e9

size_t ecmp_member_ports(const struct fabric_group *g, size_t index, struct arena *a,
	const struct fabric_port ***ret)
{
	const struct fabric_port *port = g->members[index];
	const struct fabric_device *d = g->device;
	const struct fabric_port **v = arena_array(a, const struct fabric_port *, d->n_ports + 1);
	size_t n = 0;
	v[n++] = port;
	if (port->lag && strncmp(g->id, "lag:", 4) != 0)
		for (size_t i = 0; i < d->n_ports; i++)
			if (d->ports[i] != port && str_eq(d->ports[i]->lag, port->lag))
				v[n++] = d->ports[i];
	*ret = v;
	return n;
}

static uint64_t discards_of(const struct window *w, const struct fabric_port *port, bool *ret_known)
{
	uint32_t entity = entities_find(w->entities, port->device->name, port->name, PRIO_NONE);
	const struct series *s =
		entity == ENTITY_NONE ? NULL : window_series(w, entity, M_PORT_OUT_DISCARDS);
	struct increase inc;
	if (!s || series_increase(s, w->from_ns, w->to_ns, 0, &inc) < 0)
		return 0;
	*ret_known = true;
	return inc.value;
}

/* A member is a port, or a LAG as the sum of its ports; one missing port leaves the LAG unknown. */
static void measure_member(const struct fabric_group *g, size_t index, const struct window *w,
	const struct ecmp_params *p, struct arena *a, struct ecmp_member *m)
{
	const struct fabric_port **ports;
	size_t n = ecmp_member_ports(g, index, a, &ports), n_down = 0;
	const struct fabric_port *first = ports[0];
	*m = (struct ecmp_member){
		.port = n > 1 ? first->lag : first->name,
		.peer = first->peer   ? first->peer->device->name
			: first->host ? first->host
				      : "",
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
		int rc = port_rate(w, ports[i], M_PORT_OUT_OCTETS, p->interval_ns, &r);
		if (r.oper == PORT_OPER_DOWN && (rc < 0 || r.octets == 0)) {
			n_down++;
			m->declared_bps += r.declared_bps;
			continue;
		}
		m->declared_bps += r.declared_bps;
		m->read_bps += r.read_bps;
		m->speed_bps += r.capacity_bps;
		speeds = speeds && r.capacity_bps;
		m->coverage_ratio = fmin(m->coverage_ratio, r.coverage_ratio);
		m->discards += discards_of(w, ports[i], &m->discards_known);
		if (rc < 0 || r.coverage_ratio < p->min_coverage) {
			absent = true;
			continue;
		}
		m->octets += r.octets;
		m->rate_bps += r.rate_bps;
		if (r.quality > m->quality)
			m->quality = r.quality;
	}
	if (!speeds)
		m->speed_bps = 0;
	m->link = n_down == n ? ECMP_LINK_DOWN : absent ? ECMP_LINK_ABSENT : ECMP_LINK_UP;
	if (m->link != ECMP_LINK_UP) {
		m->rate_bps = m->link == ECMP_LINK_DOWN ? 0 : NAN;
		m->coverage_ratio = m->link == ECMP_LINK_DOWN ? NAN : m->coverage_ratio;
		m->quality = m->link == ECMP_LINK_DOWN ? QUALITY_EXACT : QUALITY_UNKNOWN;
		return;
	}
	if (m->speed_bps)
		m->utilization_ratio = m->rate_bps / (double)m->speed_bps;
}

/* The spread over the live members; false when nothing was sent. */
static bool measure_spread(struct ecmp_measure *m)
{
	double rate = 0, weight = 0, max = -1, min = INFINITY, var = 0;
	for (size_t i = 0; i < m->n_members; i++) {
		const struct ecmp_member *e = &m->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		rate += e->rate_bps;
		weight += m->equal_weights ? 1 : (double)e->speed_bps;
	}
	if (!m->equal_weights)
		m->load_ratio = rate / weight;
	if (rate <= 0)
		return false;
	for (size_t i = 0; i < m->n_members; i++) {
		struct ecmp_member *e = &m->members[i];
		if (e->link != ECMP_LINK_UP)
			continue;
		double c = (m->equal_weights ? 1 : (double)e->speed_bps) / weight;
		e->share_ratio = e->rate_bps / (rate * c);
		var += c * (e->share_ratio - 1) * (e->share_ratio - 1);
		min = fmin(min, e->share_ratio);
		if (e->share_ratio > max) {
			max = e->share_ratio;
			m->hot = i;
		}
	}
	m->imbalance_ratio = max - 1;
	m->max_minus_min_ratio = max - min;
	m->cov_ratio = sqrt(var);
	m->jain_ratio = 1 / (1 + var);
	return true;
}

void ecmp_measure(const struct fabric_group *g, const struct window *w, const struct ecmp_params *p,
	struct arena *a, struct ecmp_measure *m)
{
	*m = (struct ecmp_measure){
		.device = g->device->name,
		.group = g->id,
		.from_ns = w->from_ns,
		.to_ns = w->to_ns,
		.n_members = g->n_members,
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
		.hashed = g->lb == LB_STATIC,
		.verdict = ECMP_EVEN,
	};
	m->members = arena_array(a, struct ecmp_member, g->n_members);
	double coverage = 0, rate = 0;
	for (size_t i = 0; i < g->n_members; i++) {
		struct ecmp_member *e = &m->members[i];
		measure_member(g, i, w, p, a, e);
		m->observed = m->observed ||
			entities_find(w->entities, g->device->name, g->members[i]->name,
				PRIO_NONE) != ENTITY_NONE ||
			e->link != ECMP_LINK_ABSENT;
		m->n_down += e->link == ECMP_LINK_DOWN;
		m->n_absent += e->link == ECMP_LINK_ABSENT;
		m->n_live += e->link == ECMP_LINK_UP;
		m->n_known += e->link != ECMP_LINK_ABSENT;
		coverage += e->link == ECMP_LINK_DOWN ? 0 : e->coverage_ratio;
		if (e->link == ECMP_LINK_UP) {
			m->equal_weights = m->equal_weights || !e->speed_bps;
			rate += e->rate_bps;
		}
	}
	m->coverage_ratio =
		m->n_members > m->n_down ? coverage / (double)(m->n_members - m->n_down) : NAN;
	ecmp_packets(g, w, a, m);
	if (m->n_absent) {
		m->verdict = ECMP_UNKNOWN;
		return;
	}
	bool sent = m->n_live > 0 && measure_spread(m);
	bool busy = m->equal_weights ? rate / (double)m->n_live > p->load_floor * FLOOR_BPS
				     : m->load_ratio > p->load_floor;
	if (m->n_live < 2 || !sent || !busy)
		m->verdict = ECMP_IDLE;
}

/* What chance alone would do with these flows. */
static void judge_chance(struct ecmp_measure *m, size_t n_judged)
{
	struct chance c;
	if (!m->hashed || isnan(m->n_eff) || chance_baseline(m->n_live, m->n_eff, &c) < 0)
		return;
	m->expected_ratio = c.mean;
	m->expected_p95_ratio = c.p95;
	m->expected_p999_ratio = c.p999;
	m->chance_limit_ratio = chance_quantile(
		m->n_live, m->n_eff, 1 - CHANCE_LEVEL / (double)(n_judged ? n_judged : 1));
	m->chance_p = chance_tail(m->n_live, m->n_eff, m->imbalance_ratio);
}

void ecmp_judge(struct ecmp_measure *m, const struct ecmp_params *p, size_t n_judged)
{
	if (m->verdict == ECMP_IDLE || m->verdict == ECMP_UNKNOWN)
		return;
	judge_chance(m, n_judged);
	if (!(m->imbalance_ratio > p->warn))
		m->verdict = ECMP_EVEN;
	else if (isnan(m->chance_limit_ratio) || m->imbalance_ratio > m->chance_limit_ratio + 1e-9)
		m->verdict = ECMP_SKEWED;
	else if (m->n_eff < FLOWS_PER_MEMBER * (double)m->n_live)
		m->verdict = ECMP_LOW_ENTROPY;
	else if (m->imbalance_ratio > m->expected_p95_ratio)
		m->verdict = ECMP_UNLUCKY;
	else
		m->verdict = ECMP_WITHIN_CHANCE;
}

size_t ecmp_measure_all(const struct fabric *f, const struct window *w, const struct ecmp_params *p,
	struct arena *a, struct ecmp_measure **ret)
{
	size_t n = 0, n_judged = 0;
	for (size_t d = 0; d < f->n_devices; d++)
		for (size_t i = 0; i < f->devices[d]->n_groups; i++)
			n += f->devices[d]->groups[i].n_members >= 2;
	struct ecmp_measure *v = arena_array(a, struct ecmp_measure, n ? n : 1);
	n = 0;
	for (size_t d = 0; d < f->n_devices; d++)
		for (size_t i = 0; i < f->devices[d]->n_groups; i++)
			if (f->devices[d]->groups[i].n_members >= 2) {
				ecmp_measure(&f->devices[d]->groups[i], w, p, a, &v[n]);
				n_judged += v[n].verdict == ECMP_EVEN && v[n].hashed &&
					!isnan(v[n].n_eff);
				n++;
			}
	for (size_t i = 0; i < n; i++)
		ecmp_judge(&v[i], p, n_judged);
	*ret = v;
	return n;
}
