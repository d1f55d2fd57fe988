/*
 * sim - the event loop, the switches and the links of the fine grain (sim.h). Senders and receivers
 * are in sim_host.c.
 *
 * A packet costs two events per hop: its arrival and the end of its transmission. Events at the
 * same instant run in the order they were scheduled, so that a run depends on its parameters and
 * seed alone.
 */
#include "tests/fabric/sim_internal.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

struct packet_block {
	struct packet_block *next;
	struct packet v[4096];
};

uint64_t random_next(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return *x * UINT64_C(2685821657736338717);
}
double random_unit(uint64_t *x)
{
	return (double)(random_next(x) >> 11) / 9007199254740992.0;
}

/* splitmix64: neighbouring seeds give unrelated streams, and never the zero that xorshift cannot
 * leave. */
uint64_t random_seeded(uint64_t seed, uint64_t stream)
{
	uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + stream * UINT64_C(0xd1b54a32d192ed03) +
		UINT64_C(0x632be59bd9b4e019);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return z ? z : 1;
}

/* ---- events: a binary heap ordered by (time, sequence) ------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->t_ps != b->t_ps ? a->t_ps < b->t_ps : a->sequence < b->sequence;
}

void event_add(struct sim *s, uint64_t t_ps, enum event_kind kind, uint32_t who, uint32_t what,
	struct packet *pkt)
{
	rw_grow(s->heap, s->n_heap, s->cap_heap);
	const struct event e = {t_ps, s->sequence++, pkt, who, what, kind};
	size_t i = s->n_heap++;
	while (i > 0 && before(&e, &s->heap[(i - 1) / 2])) {
		s->heap[i] = s->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	s->heap[i] = e;
}

static struct event event_take(struct sim *s)
{
	const struct event top = s->heap[0], last = s->heap[--s->n_heap];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= s->n_heap)
			break;
		if (child + 1 < s->n_heap && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return top;
}

struct packet *packet_new(struct sim *s)
{
	if (!s->spare) {
		struct packet_block *b = rw_calloc(1, sizeof(*b));
		b->next = s->blocks;
		s->blocks = b;
		for (size_t i = 0; i < rw_countof(b->v); i++) {
			b->v[i].next = s->spare;
			s->spare = &b->v[i];
		}
	}
	struct packet *p = s->spare;
	s->spare = p->next;
	*p = (struct packet){0};
	return p;
}
void packet_free(struct sim *s, struct packet *p)
{
	p->next = s->spare;
	s->spare = p;
}

static void queue_put(struct packet_queue *q, struct packet *p)
{
	p->next = NULL;
	if (q->tail)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	q->bytes += p->size;
}
static struct packet *queue_take(struct packet_queue *q)
{
	struct packet *p = q->head;
	q->head = p->next;
	if (!q->head)
		q->tail = NULL;
	q->bytes -= p->size;
	return p;
}

/* ---- PFC ----------------------------------------------------------------- */

#define REFRESH_QUANTA                                                                             \
	32768 /* while a pause lasts it is asked for again at half of the longest time a frame can \
		 ask for */

static uint64_t refreshes(const struct sim_port *p, uint64_t length_ps)
{
	return length_ps / (ser_ps(p, 64) * REFRESH_QUANTA);
}

/* The frame waits for the packet being sent the other way, then takes 84 bytes of wire and the
 * cable. */
void pfc_send(struct sim *s, struct sim_port *p, unsigned prio, bool on)
{
	struct prio_counters *c = &p->c.prio[prio];
	const uint64_t start =
		p->busy && p->busy_until_ps > s->now_ps ? p->busy_until_ps : s->now_ps;
	p->pausing[prio] = on;
	c->pfc_tx++;
	if (on) {
		p->pausing_since_ps[prio] = s->now_ps;
		c->tx_episodes++;
	} else {
		c->tx_pause_ps += s->now_ps - p->pausing_since_ps[prio];
		c->pfc_tx += refreshes(p, s->now_ps - p->pausing_since_ps[prio]);
	}
	if (!p->down)
		event_add(s, start + ser_ps(p, 84) + p->prop_ps, EVENT_PFC, p->peer, prio * 2 + on,
			NULL);
}

static void watchdog_arm(struct sim *s, const struct sim_port *p, unsigned prio, uint64_t after_ps)
{
	if (after_ps > 0)
		event_add(s, s->now_ps + after_ps, EVENT_WATCHDOG, (uint32_t)(p - s->ports), prio,
			NULL);
}

static void pfc_receive(struct sim *s, struct sim_port *p, unsigned prio, bool on)
{
	struct prio_counters *c = &p->c.prio[prio];
	c->pfc_rx++;
	if (p->deaf[prio] || p->paused[prio] == on)
		return;
	p->paused[prio] = on;
	if (on) {
		p->paused_since_ps[prio] = s->now_ps;
		c->rx_episodes++;
		watchdog_arm(s, p, prio, s->nodes[p->node].sw.watchdog_detect_ps);
		return;
	}
	watchdog_arm(s, p, prio, p->storm[prio] ? s->nodes[p->node].sw.watchdog_restore_ps : 0);
	c->rx_pause_ps += s->now_ps - p->paused_since_ps[prio];
	c->pfc_rx += refreshes(p, s->now_ps - p->paused_since_ps[prio]);
	port_send(s, p);
}

/* ---- shared buffer ------------------------------------------------------- */

static uint64_t threshold(const struct sim_node *n, const struct sim_port *in)
{
	const double free_bytes = (double)n->sw.buffer_bytes - (double)n->shared_bytes;
	return free_bytes > 0 ? (uint64_t)(in->alpha * free_bytes) : 0;
}

static void pg_check(struct sim *s, struct sim_node *n, struct sim_port *in, unsigned prio)
{
	if (!(n->sw.pfc_mask & (1u << prio)))
		return;
	const uint64_t limit = threshold(n, in), used = in->pg_shared[prio];
	if (!in->pausing[prio]) {
		if (in->pg_headroom[prio] > 0 || used >= limit)
			pfc_send(s, in, prio, true);
	} else if (in->pg_headroom[prio] == 0 &&
		(used == 0 || used + in->xon_offset_bytes <= limit))
		pfc_send(s, in, prio, false);
}

/* Into the shared part while it is below its threshold, else into the headroom of the port; false =
 * nowhere. */
static bool pg_admit(struct sim_node *n, struct sim_port *in, struct packet *p)
{
	const unsigned q = p->prio;
	struct prio_counters *c = &in->c.prio[q];
	const bool lossless = n->sw.pfc_mask & (1u << q);
	if (in->pg_shared[q] + p->size <= threshold(n, in)) {
		in->pg_shared[q] += p->size;
		n->shared_bytes += p->size;
		if (in->pg_shared[q] > c->pg_watermark)
			c->pg_watermark = in->pg_shared[q];
		if (n->shared_bytes > n->pool_watermark)
			n->pool_watermark = n->shared_bytes;
	} else if (lossless && in->pg_headroom[q] + p->size <= in->headroom_bytes) {
		in->pg_headroom[q] += p->size;
		if (in->pg_headroom[q] > c->headroom_watermark)
			c->headroom_watermark = in->pg_headroom[q];
	} else
		return false;
	if (in->pg_shared[q] + in->pg_headroom[q] > c->pg_total_watermark)
		c->pg_total_watermark = in->pg_shared[q] + in->pg_headroom[q];
	return true;
}

static void pg_release(struct sim *s, struct sim_node *n, const struct packet *p)
{
	struct sim_port *in = &s->ports[p->in_port];
	const uint64_t from_headroom =
		in->pg_headroom[p->prio] < p->size ? in->pg_headroom[p->prio] : p->size;
	in->pg_headroom[p->prio] -= from_headroom;
	in->pg_shared[p->prio] -= p->size - from_headroom;
	n->shared_bytes -= p->size - from_headroom;
	pg_check(s, n, in, p->prio);
}

/* ---- links --------------------------------------------------------------- */

/* Marking looks at the queue as it leaves the packet behind: none below Kmin, Pmax at Kmax, every
 * one above. */
static bool marks(struct sim *s, const struct sim_port *p, uint64_t depth)
{
	if (!p->ecn || depth <= p->kmin_bytes)
		return false;
	if (depth > p->kmax_bytes)
		return true;
	return random_unit(&s->random) < p->pmax * (double)(depth - p->kmin_bytes) /
		(double)(p->kmax_bytes - p->kmin_bytes + 1);
}

void port_transmit(struct sim *s, struct sim_port *p, struct packet *pkt)
{
	const uint64_t end = s->now_ps + ser_ps(p, pkt->size);
	p->busy = true;
	p->busy_until_ps = end;
	p->c.out_bytes += pkt->size;
	p->c.out_packets++;
	p->c.prio[pkt->prio].out_bytes += pkt->size;
	p->c.prio[pkt->prio].out_packets++;
	if (s->trace)
		s->trace(s->trace_data, s, p, pkt, true);
	event_add(s, end + p->prop_ps, EVENT_ARRIVE, p->peer, 0, pkt);
	event_add(s, end, EVENT_SENT, (uint32_t)(p - s->ports), 0, NULL);
}

/* Classes that may send share the port evenly, in bytes (self-clocked fair queueing, equal
 * weights). */
static int next_class(const struct sim_port *p)
{
	int best = -1;
	for (int q = SIM_PRIORITIES - 1; q >= 0; q--)
		if (p->data[q].head && !p->paused[q] &&
			(best < 0 || p->served[q] < p->served[best]))
			best = q;
	return best;
}

void port_send(struct sim *s, struct sim_port *p)
{
	struct sim_node *n = &s->nodes[p->node];
	if (p->busy)
		return;
	if (p->control.head) {
		port_transmit(s, p, queue_take(&p->control));
		return;
	}
	if (n->kind == NODE_HOST) {
		host_send(s, n, p);
		return;
	}
	const int q = next_class(p);
	if (q < 0)
		return;
	struct packet *pkt = queue_take(&p->data[q]);
	p->turn = p->served[q];
	p->served[q] += pkt->size;
	pg_release(s, n, pkt);
	if (!pkt->not_ect && (n->sw.ecn_mask >> q & 1) && marks(s, p, p->data[q].bytes)) {
		pkt->ce = true;
		p->c.prio[q].marked++;
	}
	port_transmit(s, p, pkt);
}

void control_queue(struct sim *s, struct sim_port *p, struct packet *pkt)
{
	queue_put(&p->control, pkt);
	port_send(s, p);
}

static void watchdog_drop(struct sim *s, struct sim_port *out, struct packet *pkt)
{
	out->c.prio[pkt->prio].watchdog_drops++;
	out->c.out_drops++;
	s->drops++;
	packet_free(s, pkt);
}

/*
 * A queue that had something to send and was paused for the whole detection time is in a storm:
 * what it holds and what is still sent to it is dropped, until nobody has paused it for the
 * restoration time.
 */
static void watchdog(struct sim *s, struct sim_port *p, unsigned prio)
{
	struct sim_node *n = &s->nodes[p->node];
	struct prio_counters *c = &p->c.prio[prio];
	if (!p->paused[prio]) {
		if (p->storm[prio]) {
			p->storm[prio] = false;
			c->watchdog_restores++;
		}
		return;
	}
	if (p->storm[prio] || s->now_ps - p->paused_since_ps[prio] < n->sw.watchdog_detect_ps)
		return;
	if (!p->data[prio].head) {
		watchdog_arm(s, p, prio, n->sw.watchdog_detect_ps);
		return;
	}
	p->storm[prio] = true;
	c->watchdog_storms++;
	while (p->data[prio].head) {
		struct packet *pkt = queue_take(&p->data[prio]);
		pg_release(s, n, pkt);
		watchdog_drop(s, p, pkt);
	}
}

static void switch_receive(
	struct sim *s, struct sim_node *n, struct sim_port *in, struct packet *pkt)
{
	struct sim_port *out = route(s, n, in, pkt, &s->flows[pkt->flow]);
	if (pkt->kind == PACKET_DATA && out->storm[pkt->prio]) {
		watchdog_drop(s, out, pkt);
		return;
	}
	if (pkt->kind != PACKET_DATA) {
		if (out->down)
			packet_free(s, pkt);
		else
			control_queue(s, out, pkt);
		return;
	}
	pkt->in_port = (uint32_t)(in - s->ports);
	if (out->down || !pg_admit(n, in, pkt)) {
		if (out->down)
			out->c.out_drops++;
		else {
			in->c.in_drops++;
			in->c.prio[pkt->prio].pg_drops++;
		}
		s->drops++;
		packet_free(s, pkt);
		return;
	}
	if (!out->data[pkt->prio].head && out->served[pkt->prio] < out->turn)
		out->served[pkt->prio] = out->turn;
	queue_put(&out->data[pkt->prio], pkt);
	if (out->data[pkt->prio].bytes > out->c.prio[pkt->prio].queue_watermark)
		out->c.prio[pkt->prio].queue_watermark = out->data[pkt->prio].bytes;
	pg_check(s, n, in, pkt->prio);
	port_send(s, out);
}

static void arrive(struct sim *s, struct sim_port *in, struct packet *pkt)
{
	struct sim_node *n = &s->nodes[in->node];
	if (in->loss > 0 && random_unit(&s->random) < in->loss) {
		in->c.in_errors++;
		packet_free(s, pkt);
		return;
	}
	in->c.in_bytes += pkt->size;
	in->c.in_packets++;
	if (s->trace)
		s->trace(s->trace_data, s, in, pkt, false);
	if (n->kind == NODE_HOST)
		host_receive(s, n, in, pkt);
	else
		switch_receive(s, n, in, pkt);
}

static void close_pauses(struct sim *s)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		struct sim_port *p = &s->ports[i];
		for (unsigned q = 0; q < SIM_PRIORITIES; q++) {
			struct prio_counters *c = &p->c.prio[q];
			if (p->paused[q]) {
				c->rx_pause_ps += s->now_ps - p->paused_since_ps[q];
				c->pfc_rx += refreshes(p, s->now_ps - p->paused_since_ps[q]);
				p->paused_since_ps[q] = s->now_ps;
			}
			if (p->pausing[q]) {
				c->tx_pause_ps += s->now_ps - p->pausing_since_ps[q];
				c->pfc_tx += refreshes(p, s->now_ps - p->pausing_since_ps[q]);
				p->pausing_since_ps[q] = s->now_ps;
			}
		}
	}
}

uint64_t sim_run(struct sim *s, uint64_t until_ps)
{
	while (s->n_heap > 0 && s->n_done < s->n_awaited && s->heap[0].t_ps <= until_ps) {
		const struct event e = event_take(s);
		s->now_ps = e.t_ps;
		s->events++;
		switch (e.kind) {
		case EVENT_ARRIVE: arrive(s, &s->ports[e.who], e.pkt); break;
		case EVENT_SENT:
			s->ports[e.who].busy = false;
			port_send(s, &s->ports[e.who]);
			break;
		case EVENT_PFC: pfc_receive(s, &s->ports[e.who], e.what / 2, e.what & 1); break;
		case EVENT_WATCHDOG: watchdog(s, &s->ports[e.who], e.what); break;
		default: host_event(s, &e);
		}
	}
	if (s->n_done < s->n_awaited)
		s->now_ps = until_ps;
	close_pauses(s);
	return s->now_ps;
}

/* ---- the fabric ---------------------------------------------------------- */

uint32_t sim_host(const struct sim *s, unsigned leaf, unsigned i)
{
	return leaf * s->t.hosts_per_leaf + i;
}
struct sim_node *sim_leaf(struct sim *s, unsigned i)
{
	return &s->nodes[s->n_hosts + i];
}
struct sim_node *sim_spine(struct sim *s, unsigned i)
{
	return &s->nodes[s->n_hosts + s->t.leaves + i];
}
struct sim_port *sim_port_of(struct sim *s, const struct sim_node *n, unsigned i)
{
	return &s->ports[n->port0 + i];
}
struct sim_port *sim_uplink(struct sim *s, unsigned leaf, unsigned spine, unsigned link)
{
	return sim_port_of(
		s, sim_leaf(s, leaf), s->t.hosts_per_leaf + spine * s->t.parallel + link);
}

void sim_link_down(struct sim *s, struct sim_port *p)
{
	p->down = s->ports[p->peer].down = true;
}

static void connect(
	struct sim *s, struct sim_port *a, struct sim_port *b, uint64_t bps, uint64_t prop_ps)
{
	a->peer = (uint32_t)(b - s->ports);
	b->peer = (uint32_t)(a - s->ports);
	a->bps = b->bps = bps;
	a->prop_ps = b->prop_ps = prop_ps;
}

static void port_thresholds(struct sim *s, struct sim_node *n, struct sim_port *p)
{
	const double scale = n->sw.ecn_ref_bps ? (double)p->bps / (double)n->sw.ecn_ref_bps : 1;
	const double flight = 2.0 * (double)p->bps / 8e12 * (double)p->prop_ps +
		2.0 * (s->p.payload_bytes + s->p.header_bytes);
	p->alpha = n->sw.alpha;
	p->xon_offset_bytes = n->sw.xon_offset_bytes;
	p->headroom_bytes = n->sw.headroom_bytes ? n->sw.headroom_bytes
						 : (uint64_t)(n->sw.headroom_factor * flight);
	p->ecn = n->sw.ecn;
	p->kmin_bytes = (uint64_t)((double)n->sw.kmin_bytes * scale);
	p->kmax_bytes = (uint64_t)((double)n->sw.kmax_bytes * scale);
	p->pmax = n->sw.pmax;
}

struct sim *sim_new(const struct sim_params *p, const struct topo_params *t)
{
	struct sim *s = rw_calloc(1, sizeof(*s));
	s->p = *p;
	s->t = *t;
	s->random = random_seeded(p->seed, 1);
	s->n_hosts = (size_t)t->leaves * t->hosts_per_leaf;
	s->n_nodes = s->n_hosts + t->leaves + t->spines;
	s->nodes = rw_calloc(s->n_nodes, sizeof(*s->nodes));
	const unsigned up = t->spines * t->parallel;
	s->n_ports = s->n_hosts + (size_t)t->leaves * (t->hosts_per_leaf + up) +
		(size_t)t->spines * t->leaves * t->parallel;
	s->ports = rw_calloc(s->n_ports, sizeof(*s->ports));
	uint32_t next = 0;
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];
		n->kind = i < s->n_hosts             ? NODE_HOST
			: i < s->n_hosts + t->leaves ? NODE_LEAF
						     : NODE_SPINE;
		n->index = (unsigned)(n->kind == NODE_HOST ? i
				: n->kind == NODE_LEAF     ? i - s->n_hosts
							   : i - s->n_hosts - t->leaves);
		n->port0 = next;
		n->ports = n->kind == NODE_HOST ? 1
			: n->kind == NODE_LEAF  ? t->hosts_per_leaf + up
						: t->leaves * t->parallel;
		next += n->ports;
		n->sw = n->kind == NODE_LEAF ? t->leaf : t->spine;
		n->hash = n->kind == NODE_LEAF ? t->leaf_hash : t->spine_hash;
		n->lag_hash = n->hash;
		n->lag_hash.function = HASH_MIX; /* never the one that chose the spine */
		n->lag_hash.seed = (uint32_t)random_seeded(n->hash.seed, 7000 + i);
		if (!t->same_seed && n->kind != NODE_HOST)
			n->hash.seed = (uint32_t)random_seeded(n->hash.seed, i);
		for (uint32_t k = n->port0; k < next; k++)
			s->ports[k].node = (uint32_t)i;
	}
	for (unsigned l = 0; l < t->leaves; l++) {
		for (unsigned h = 0; h < t->hosts_per_leaf; h++)
			connect(s, &s->ports[s->nodes[sim_host(s, l, h)].port0],
				sim_port_of(s, sim_leaf(s, l), h), t->host_bps, t->host_prop_ps);
		for (unsigned k = 0; k < up; k++)
			connect(s, sim_port_of(s, sim_leaf(s, l), t->hosts_per_leaf + k),
				sim_port_of(s, sim_spine(s, k / t->parallel),
					l * t->parallel + k % t->parallel),
				t->uplink_bps, t->uplink_prop_ps);
	}
	for (size_t i = s->n_hosts; i < s->n_nodes; i++)
		for (uint32_t k = 0; k < s->nodes[i].ports; k++)
			port_thresholds(s, &s->nodes[i], &s->ports[s->nodes[i].port0 + k]);
	return s;
}

void sim_free(struct sim *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_nodes; i++)
		free(s->nodes[i].flows);
	for (struct packet_block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(s->nodes);
	free(s->ports);
	free(s->flows);
	free(s->heap);
	free(s);
}
