/* measure - see measure.h. */
#include "tests/fabric/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/fabric/faults.h"

#define NS_PER_METRE 5.05 /* SONiC's constant, 1.98e8 m/s */
#define ENDLESS_FACTOR 30 /* an exchange that takes this many times the ideal is not waited for */
#define WATCHDOG_PS                                                                                \
	(100 * PS_PER_US) /* instead of the 200 ms that watchdogs wait: what comes after is what a \
			     recording shows */

static struct sim_params job_params(const struct scenario *s, unsigned variant)
{
	struct sim_params p = sim_defaults();
	p.payload_bytes = 4096;
	p.header_bytes = 62; /* Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4 */
	p.control_bytes = 66;
	/* 40 Mb/s at 40G, by speed; the other periods as validated in the fine grain */
	p.cc.ai_bps = 400e6;
	p.cc.hai_bps = 2e9;
	p.cc.min_bps = 1e9;
	p.cc.on = !s->pfc_only;
	p.spray = s->spray;
	p.spray_random = s->spray_random;
	p.flowlet_ps = (uint64_t)(s->flowlet_ns * 1e3);
	/* other NICs: periods of the DCQCN machine between half and twice of the validated ones */
	if (s->perturb > 0) {
		uint64_t r = random_seeded(s->perturb, s->seed);
		p.cc.increase_ps =
			(uint64_t)((double)p.cc.increase_ps * pow(2, 2 * random_unit(&r) - 1));
		p.cc.decrease_ps =
			(uint64_t)((double)p.cc.decrease_ps * pow(2, 2 * random_unit(&r) - 1));
		p.cc.cnp_gap_ps = p.cc.decrease_ps;
		p.cc.ai_bps *= 0.7 + 0.6 * random_unit(&r);
		p.cc.hai_bps *= 0.7 + 0.6 * random_unit(&r);
		p.cc.g *= 0.7 + 0.6 * random_unit(&r);
		p.cc.fast_stages = 1 + (unsigned)(random_unit(&r) * 5);
	}
	p.seed = random_seeded(s->seed, 100 + variant);
	return p;
}

struct topo_params scenario_topology(const struct scenario *s, bool faulty)
{
	struct switch_params sw = switch_defaults();
	sw.buffer_bytes = (uint64_t)s->pool_bytes;
	sw.alpha = s->alpha;
	sw.kmin_bytes = (uint64_t)s->kmin_bytes;
	sw.kmax_bytes = (uint64_t)s->kmax_bytes;
	sw.pmax = s->pmax;
	sw.ecn = !s->pfc_only;
	sw.headroom_factor = s->headroom_factor;
	sw.headroom_bytes = (uint64_t)s->headroom_bytes;
	sw.xon_offset_bytes = (uint64_t)s->xon_offset_bytes;
	if (s->second_priority >= 0 && s->second_lossless) {
		sw.pfc_mask |= 1u << (unsigned)s->second_priority;
		sw.ecn_mask |= sw.pfc_mask;
	}
	if (s->watchdog_ns > 0)
		sw.watchdog_detect_ps = sw.watchdog_restore_ps = WATCHDOG_PS;
	const struct fault *thresholds = faulty ? fault_of(s, FAULT_ECN_LATE) : NULL;
	if (thresholds) {
		sw.kmin_bytes = (uint64_t)(s->kmin_bytes * thresholds->factor);
		sw.kmax_bytes = (uint64_t)(s->kmax_bytes * thresholds->factor);
	}
	/* CRCs of one polynomial differ by a constant of their seeds alone: tiers that are to be
	 * independent have different functions. */
	const enum hash_function up = s->perturb > 0 ? HASH_CRC16 : HASH_CRC32,
				 down = s->perturb > 0 ? HASH_MIX : HASH_CRC16;
	const bool same = faulty && fault_of(s, FAULT_SAME_HASH);
	return (struct topo_params){.leaves = (unsigned)s->leaves,
		.spines = (unsigned)s->spines,
		.hosts_per_leaf = (unsigned)s->hosts_per_leaf,
		.parallel = (unsigned)s->parallel,
		.host_bps = (uint64_t)s->host_bps,
		.uplink_bps = (uint64_t)s->uplink_bps,
		/* 300 ns: PHY and pipeline */
		.host_prop_ps =
			(uint64_t)(s->host_cable_mm / 1e3 * NS_PER_METRE * 1e3) + 300 * PS_PER_NS,
		.uplink_prop_ps =
			(uint64_t)(s->uplink_cable_mm / 1e3 * NS_PER_METRE * 1e3) + 300 * PS_PER_NS,
		.leaf = sw,
		.spine = sw,
		.leaf_hash = {up, (uint32_t)random_seeded(s->seed, 21), FIELD_ALL, 0, 0, 0},
		.spine_hash = {same ? up : down, (uint32_t)random_seeded(s->seed, same ? 21 : 22),
			FIELD_ALL, 0, 0, 0},
		.same_seed = same,
		.interleave = fault_of(s, FAULT_SAME_HASH) != NULL,
		.lag = s->lag};
}

/* What the NIC at the other end of a switch port counts. Its reaction point is off: it counts CNPs
 * that it ignored. */
static void collect_nic(const struct sim *m, const struct sim_port *port, double *sums)
{
	const struct sim_node *host = &m->nodes[m->ports[port->peer].node];
	if (host->kind != NODE_HOST)
		return;
	const bool off = host->cc_off || !m->p.cc.on;
	sums[SUM_NIC_CNP_SENT] = (double)host->cnp_sent;
	sums[off ? SUM_NIC_CNP_IGNORED : SUM_NIC_CNP_HANDLED] = (double)host->cnp_received;
	sums[SUM_NIC_CE] = (double)host->ce_received;
}

static void collect(const struct scenario *s, const struct sim *m, struct measured *r,
	const struct measured *before)
{
	const size_t first = m->nodes[m->n_hosts].port0;
	const unsigned second = s->second_priority >= 0 ? (unsigned)s->second_priority : PRIORITY;
	for (size_t i = 0; i < r->n_ports; i++) {
		const struct port_counters *c = &m->ports[first + i].c;
		const struct prio_counters *q = &c->prio[PRIORITY],
					   *k = &c->prio[SIM_CONTROL_PRIORITY],
					   *b = &c->prio[second];
		double sums[SUM_COUNT] = {[SUM_IN_OCTETS] = (double)c->in_bytes,
			[SUM_OUT_OCTETS] = (double)c->out_bytes,
			[SUM_IN_PACKETS] = (double)c->in_packets,
			[SUM_OUT_PACKETS] = (double)c->out_packets,
			[SUM_IN_ERRORS] = (double)c->in_errors,
			[SUM_IN_DISCARDS] = (double)c->in_drops,
			[SUM_OUT_DISCARDS] = (double)c->out_drops,
			[SUM_PFC_RX] = (double)q->pfc_rx,
			[SUM_PFC_TX] = (double)q->pfc_tx,
			[SUM_RX_PAUSE_NS] = (double)q->rx_pause_ps / 1e3,
			[SUM_TX_PAUSE_NS] = (double)q->tx_pause_ps / 1e3,
			[SUM_RX_EPISODES] = (double)q->rx_episodes,
			[SUM_TX_EPISODES] = (double)q->tx_episodes,
			[SUM_PG_DROPS] = (double)q->pg_drops,
			[SUM_QUEUE_OCTETS] = (double)q->out_bytes,
			[SUM_QUEUE_PACKETS] = (double)q->out_packets,
			[SUM_MARKED] = (double)q->marked,
			[SUM_CONTROL_OCTETS] = (double)k->out_bytes,
			[SUM_CONTROL_PACKETS] = (double)k->out_packets,
			[SUM2_PFC_RX] = (double)b->pfc_rx,
			[SUM2_PFC_TX] = (double)b->pfc_tx,
			[SUM2_RX_PAUSE_NS] = (double)b->rx_pause_ps / 1e3,
			[SUM2_TX_PAUSE_NS] = (double)b->tx_pause_ps / 1e3,
			[SUM2_RX_EPISODES] = (double)b->rx_episodes,
			[SUM2_TX_EPISODES] = (double)b->tx_episodes,
			[SUM2_PG_DROPS] = (double)b->pg_drops,
			[SUM2_QUEUE_OCTETS] = (double)b->out_bytes,
			[SUM2_QUEUE_PACKETS] = (double)b->out_packets,
			[SUM2_MARKED] = (double)b->marked,
			[SUM_WATCHDOG_STORMS] = (double)q->watchdog_storms,
			[SUM_WATCHDOG_RESTORES] = (double)q->watchdog_restores,
			[SUM_WATCHDOG_DROPS] = (double)q->watchdog_drops};
		collect_nic(m, &m->ports[first + i], sums);
		for (unsigned x = 0; x < SUM_COUNT; x++)
			/* a storm is found once */
			r->ports[i].sum[x] = sums[x] -
				(before && x != SUM_WATCHDOG_STORMS ? before->ports[i].sum[x] : 0);
		r->ports[i].peak[PEAK_PG] = (double)q->pg_watermark;
		r->ports[i].peak[PEAK_HEADROOM] = (double)q->headroom_watermark;
		r->ports[i].peak[PEAK_QUEUE] = (double)q->queue_watermark;
	}
	for (size_t i = 0; i < r->n_switches; i++)
		r->pool_peak[i] = (double)m->nodes[m->n_hosts + i].pool_watermark;
}

static void measured_init(const struct sim *m, struct measured *r)
{
	*r = (struct measured){.n_ports = m->n_ports - m->nodes[m->n_hosts].port0,
		.n_switches = m->n_nodes - m->n_hosts};
	r->ports = rw_calloc(r->n_ports, sizeof(*r->ports));
	r->pool_peak = rw_calloc(r->n_switches, sizeof(*r->pool_peak));
}
void measured_done(struct measured *m)
{
	free(m->ports);
	free(m->pool_peak);
	*m = (struct measured){0};
}

static void override_apply(struct sim *m, const struct override *s)
{
	struct sim_node *n = &m->nodes[m->n_hosts + s->device];
	const uint64_t bytes = (uint64_t)s->value;
	for (unsigned i = 0; i < n->ports; i++) {
		struct sim_port *p = sim_port_of(m, n, i);
		const bool host = m->nodes[m->ports[p->peer].node].kind == NODE_HOST;
		if (s->ports != OF_ALL_PORTS && host != (s->ports == OF_HOST_PORTS))
			continue;
		switch (s->knob) {
		case KNOB_KMIN: p->kmin_bytes = bytes; break;
		case KNOB_KMAX: p->kmax_bytes = bytes; break;
		case KNOB_PMAX: p->pmax = s->value; break;
		case KNOB_HEADROOM: p->headroom_bytes = bytes; break;
		case KNOB_ALPHA: p->alpha = s->value; break;
		case KNOB_XON_OFFSET: p->xon_offset_bytes = bytes; break;
		}
	}
}

static struct sim *new_sim(const struct scenario *s, bool faulty, unsigned variant)
{
	const struct sim_params p = job_params(s, variant);
	const struct topo_params t = scenario_topology(s, faulty);
	struct sim *m = sim_new(&p, &t);
	for (size_t i = 0; faulty && i < s->n_faults; i++)
		fault_break(m, s, &s->faults[i]);
	for (size_t i = 0; i < s->n_settings; i++)
		override_apply(m, &s->settings[i]);
	return m;
}

static uint32_t watched_host(const struct scenario *s, const struct sim *m)
{
	for (size_t i = 0; i < s->n_faults; i++)
		if (s->faults[i].host > 0)
			return sim_host(m, (unsigned)s->faults[i].leaf - 1,
				(unsigned)s->faults[i].host - 1);
	return UINT32_MAX;
}

/* Queue pairs that meet where nothing marks have never been told to slow down: thresholds out of
 * reach, or no marking at the leaf of the storage. */
static bool never_marked(const struct scenario *s)
{
	const struct fault *late = fault_of(s, FAULT_ECN_LATE), *off = fault_of(s, FAULT_ECN_OFF);
	return (late && late->factor > 1) ||
		(off && off->leaf == s->leaves && s->storage_hosts > 0);
}

void measure_run(const struct scenario *s, const struct plan *plan, enum state state,
	unsigned variant, struct measured *ret)
{
	measure_watched(s, plan, state, variant, NULL, NULL, ret);
}

/* Queues at regular instants. How long it takes is not known before: when there is no room, every
 * second one is kept. */
struct looker {
	void (*see)(void *data, const struct sim *m, const struct sim_port *p,
		const struct packet *pkt, bool out);
	void *data;
	uint64_t next_ps, step_ps;
	size_t first, n_ports, n;
	double *depth; /* [instant][port] */
};

static void look_at_queues(struct looker *l, const struct sim *m)
{
	for (; l->next_ps <= m->now_ps; l->next_ps += l->step_ps) {
		if (l->n == 2 * DEPTHS) {
			for (size_t k = 1; k < DEPTHS; k++)
				memcpy(l->depth + k * l->n_ports, l->depth + 2 * k * l->n_ports,
					l->n_ports * sizeof(double));
			l->n = DEPTHS;
			l->step_ps *= 2;
		}
		for (size_t i = 0; i < l->n_ports; i++)
			l->depth[l->n * l->n_ports + i] =
				(double)m->ports[l->first + i].data[PRIORITY].bytes;
		l->n++;
	}
}

static void look(void *data, const struct sim *m, const struct sim_port *p,
	const struct packet *pkt, bool out)
{
	struct looker *l = data;
	if (m->now_ps >= l->next_ps)
		look_at_queues(l, m);
	if (l->see)
		l->see(l->data, m, p, pkt, out);
}

static void collect_depths(const struct looker *l, struct measured *r)
{
	const size_t first = r->endless ? l->n / 2 : 0;
	for (size_t i = 0; i < l->n_ports; i++)
		for (size_t k = 0; k < DEPTHS && l->n > 0; k++)
			r->ports[i].depth[k] =
				l->depth[(first + k * (l->n - first) / DEPTHS) * l->n_ports + i];
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void collect_flows(const struct sim *m, struct measured *r)
{
	rw_cleanup(freep) double *took = rw_calloc(m->n_flows + 1, sizeof(*took));
	size_t n = 0;
	for (size_t i = 0; i < m->n_flows; i++) {
		const struct sim_flow *f = &m->flows[i];
		if (f->kind < KIND_GROUP)
			continue;
		took[n++] = f->end_ps ? (double)(f->end_ps - f->start_ps) / 1e3 : INFINITY;
		r->flow_bytes += f->end_ps ? (double)f->bytes : 0;
	}
	qsort(took, n, sizeof(*took), by_value);
	r->flow_p50_ns = n ? took[(n - 1) / 2] : NAN;
	r->flow_p99_ns = n ? took[(size_t)ceil(0.99 * (double)n) - 1] : NAN;
}

/* One exchange. @told: which queue pairs have been told to slow down (rounds_new()), NULL: as the
 * scenario says; those that are in this one: @tell. */
static void exchange(const struct scenario *s, const struct plan *plan, enum state state,
	unsigned variant, const bool *told, bool *tell, size_t n_tell,
	void (*see)(void *data, const struct sim *m, const struct sim_port *p,
		const struct packet *pkt, bool out),
	void *data, struct measured *ret)
{
	const bool faulty = state == STATE_FAULT;
	struct sim *m = new_sim(s, faulty, variant);
	struct rounds *rounds = NULL;
	uint64_t random = random_seeded(s->seed, 400 + variant + 1000 * s->job);
	const bool cold = faulty && never_marked(s);
	if (state == STATE_CHECKPOINT)
		checkpoint_flows(s, m, &random);
	else {
		rounds = rounds_new(s, plan, m, faulty, cold, told, variant);
		if (s->storage_share + s->storage_reads > 0 && s->job == 0)
			storage_flows(s, m,
				(struct storage){s->storage_lossless ||
						(faulty && fault_of(s, FAULT_CLASS_LEAK)),
					cold, told, (uint32_t)plan_size(plan), 0},
				&random);
	}
	for (size_t i = 0; faulty && s->job == 0 && i < s->n_faults; i++)
		fault_flows(m, s, &s->faults[i], &random);
	measured_init(m, ret);
	const uint64_t ideal = (uint64_t)(s->slice_bytes *
			       (s->pattern == PATTERN_GATHER ? s->group : 1) * 8e12 / s->host_bps),
		       until = ideal * ENDLESS_FACTOR;
	struct measured half;
	measured_init(m, &half);
	struct looker l = {see, data, 0, ideal / DEPTHS + 1, m->nodes[m->n_hosts].port0,
		ret->n_ports, 0, rw_calloc(2 * DEPTHS * ret->n_ports, sizeof(double))};
	m->trace = look;
	m->trace_data = &l;
	sim_run(m, until / 2);
	collect(s, m, &half, NULL);
	sim_run(m, until);
	ret->endless = m->n_done < m->n_awaited;
	ret->duration_ns = (double)(ret->endless ? until - until / 2 : m->now_ps) / 1e3;
	collect(s, m, ret, ret->endless ? &half : NULL);
	look_at_queues(&l, m);
	collect_depths(&l, ret);
	free(l.depth);
	const uint32_t watched = watched_host(s, m);
	for (size_t i = 0; faulty && i < m->n_flows; i++)
		if (m->flows[i].src == watched)
			ret->host_end_ns = fmax(ret->host_end_ns, (double)m->flows[i].end_ps / 1e3);
	collect_flows(m, ret);
	for (size_t i = 0; tell && i < m->n_flows; i++)
		if (m->flows[i].tag < n_tell) /* a fault's own flows are new ones every time */
			tell[m->flows[i].tag] |= m->flows[i].cnps > 0;
	measured_done(&half);
	rounds_free(rounds);
	sim_free(m);
}

void measure_watched(const struct scenario *s, const struct plan *plan, enum state state,
	unsigned variant,
	void (*see)(void *data, const struct sim *m, const struct sim_port *p,
		const struct packet *pkt, bool out),
	void *data, struct measured *ret)
{
	if (!s->settled || s->pfc_only || state == STATE_CHECKPOINT) {
		exchange(s, plan, state, variant, NULL, NULL, 0, see, data, ret);
		return;
	}
	const size_t n = plan_tags(s, plan);
	rw_cleanup(freep) bool *nobody = rw_calloc(n, sizeof(*nobody)),
			       *told = rw_calloc(n, sizeof(*told));
	struct measured first;
	exchange(s, plan, state, variant, nobody, told, n, NULL, NULL, &first);
	measured_done(&first);
	exchange(s, plan, state, variant, told, NULL, 0, see, data, ret);
}

struct sim *scenario_shape(const struct scenario *s, bool faulty)
{
	return new_sim(s, faulty, 0);
}

struct plan *plan_new(const struct scenario *s)
{
	struct sim *m = new_sim(s, false, 0);
	struct plan *p = plan_new_for(s, m);
	sim_free(m);
	return p;
}
