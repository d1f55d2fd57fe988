/*
 * sim_route - which way a packet goes: hash functions, ECMP groups and LAGs, links that are down or
 * have no route, and the bounce that a spine without a link to the destination makes when its
 * routes allow to go up again.
 */
#include "tests/fabric/sim_internal.h"

#include <string.h>

#include "base/cleanup.h"

static uint32_t crc32_byte(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int k = 0; k < 8; k++)
		crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
	return crc;
}
static uint16_t crc16_byte(uint16_t crc, uint8_t byte)
{
	crc ^= (uint16_t)(byte << 8);
	for (int k = 0; k < 8; k++)
		crc = (uint16_t)((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0));
	return crc;
}

/* Addresses are 10.leaf.host style numbers, the destination port is always 4791: only what varies
 * is hashed. */
uint32_t sim_hash(const struct hash_params *h, uint32_t src, uint32_t dst, uint16_t sport)
{
	uint8_t key[12] = {0};
	size_t n = 0;
	if (h->fields & FIELD_SRC) {
		memcpy(key + n, &src, 4);
		n += 4;
	}
	if (h->fields & FIELD_DST) {
		memcpy(key + n, &dst, 4);
		n += 4;
	}
	if (h->fields & FIELD_SPORT) {
		memcpy(key + n, &sport, 2);
		n += 2;
	}
	uint32_t v = h->seed;
	switch (h->function) {
	case HASH_CRC32:
		for (size_t i = 0; i < n; i++)
			v = crc32_byte(v, key[i]);
		return v;
	case HASH_CRC16: {
		uint16_t c = (uint16_t)(h->seed ^ (h->seed >> 16));
		for (size_t i = 0; i < n; i++)
			c = crc16_byte(c, key[i]);
		return (uint32_t)c * 0x10001u;
	}
	case HASH_XOR: {
		uint16_t x = (uint16_t)h->seed;
		for (size_t i = 0; i + 1 < n; i += 2)
			x ^= (uint16_t)(key[i] | key[i + 1] << 8);
		return (uint32_t)x * 0x10001u;
	}
	case HASH_MIX: {
		uint64_t z = random_seeded(h->seed, (uint64_t)src << 32 | dst);
		return (uint32_t)(random_seeded(z, h->fields & FIELD_SPORT ? sport : 0) >> 32);
	}
	}
	return v;
}

unsigned sim_member(const struct hash_params *h, uint32_t hash, unsigned members)
{
	if (h->stuck > 0 && (double)(hash >> 8) / 16777216.0 < h->stuck)
		return h->stuck_member % members;
	if (h->live_bits)
		hash &= (1u << h->live_bits) - 1;
	return hash % members;
}

/* ---- groups -------------------------------------------------------------- */

static bool carries(const struct sim_port *p)
{
	return !p->down && !p->unrouted;
}

/* Links of a bundle in the order of its ports: @first and the following. */
static unsigned live_links(
	struct sim *s, const struct sim_node *n, unsigned first, unsigned count, uint16_t *live)
{
	unsigned up = 0;
	for (unsigned k = 0; k < count; k++)
		if (carries(sim_port_of(s, n, first + k)))
			live[up++] = (uint16_t)(first + k);
	return up;
}

static bool spine_reaches(struct sim *s, unsigned spine, unsigned leaf)
{
	for (unsigned d = 0; d < s->t.parallel; d++)
		if (carries(sim_port_of(s, sim_spine(s, spine), leaf * s->t.parallel + d)))
			return true;
	return false;
}

/* k-th member of the leaf's group: spine by spine, or round the spines link by link. */
static unsigned nth_uplink(const struct sim *s, unsigned k)
{
	const unsigned spine = k % s->t.spines, link = k / s->t.spines;
	return s->t.hosts_per_leaf + (s->t.interleave ? spine * s->t.parallel + link : k);
}

unsigned sim_uplink_of(const struct sim *s, const struct sim_node *leaf, uint32_t src, uint32_t dst,
	uint16_t sport)
{
	const uint32_t hash = sim_hash(&leaf->hash, src, dst, sport);
	if (!s->t.lag)
		return nth_uplink(s, sim_member(&leaf->hash, hash, s->t.spines * s->t.parallel));
	const unsigned spine = sim_member(&leaf->hash, hash, s->t.spines);
	return s->t.hosts_per_leaf + spine * s->t.parallel +
		sim_member(
			&leaf->lag_hash, sim_hash(&leaf->lag_hash, src, dst, sport), s->t.parallel);
}

/* Routing has taken out what is down: the hash chooses among the rest. */
static uint16_t live_uplink(
	struct sim *s, const struct sim_node *n, uint32_t src, uint32_t dst, uint16_t sport)
{
	uint16_t live[1024];
	unsigned up = 0;
	const unsigned to_leaf = dst / s->t.hosts_per_leaf;
	const uint32_t hash = sim_hash(&n->hash, src, dst, sport);
	if (s->t.lag) {
		for (unsigned k = 0; k < s->t.spines; k++)
			if (live_links(s, n, s->t.hosts_per_leaf + k * s->t.parallel, s->t.parallel,
				    live + up) > 0 &&
				(s->bounce || spine_reaches(s, k, to_leaf)))
				live[up++] = (uint16_t)k;
		const unsigned spine = up ? live[sim_member(&n->hash, hash, up)] : 0;
		up = live_links(
			s, n, s->t.hosts_per_leaf + spine * s->t.parallel, s->t.parallel, live);
		return up ? live[sim_member(
				    &n->lag_hash, sim_hash(&n->lag_hash, src, dst, sport), up)]
			  : (uint16_t)s->t.hosts_per_leaf;
	}
	for (unsigned k = 0; k < s->t.spines * s->t.parallel && up < rw_countof(live); k++) {
		const unsigned at = nth_uplink(s, k);
		/* A spine that cannot reach the destination leaf has withdrawn the route, unless it
		 * would bounce. */
		if (carries(sim_port_of(s, n, at)) &&
			(s->bounce ||
				spine_reaches(
					s, (at - s->t.hosts_per_leaf) / s->t.parallel, to_leaf)))
			live[up++] = (uint16_t)at;
	}
	return up ? live[sim_member(&n->hash, hash, up)] : (uint16_t)s->t.hosts_per_leaf;
}

static uint16_t live_downlink(
	struct sim *s, unsigned spine, unsigned leaf, uint32_t src, uint32_t dst, uint16_t sport)
{
	uint16_t live[1024];
	const struct sim_node *n = sim_spine(s, spine);
	const unsigned up = live_links(s, n, leaf * s->t.parallel, s->t.parallel, live);
	return up ? live[sim_member(&n->hash, sim_hash(&n->hash, src, dst, sport), up)]
		  : (uint16_t)(leaf * s->t.parallel);
}

static unsigned spine_of(const struct sim *s, uint16_t uplink)
{
	return (uplink - s->t.hosts_per_leaf) / s->t.parallel;
}

void flow_route(struct sim *s, struct sim_flow *f)
{
	const unsigned from = f->src / s->t.hosts_per_leaf, to = f->dst / s->t.hosts_per_leaf;
	if (!s->t.spines)
		return;
	f->up = live_uplink(s, sim_leaf(s, from), f->src, f->dst, f->sport);
	f->down = live_downlink(s, spine_of(s, f->up), to, f->src, f->dst, f->sport);
	f->back_up = live_uplink(s, sim_leaf(s, to), f->dst, f->src, f->sport);
	f->back_down = live_downlink(s, spine_of(s, f->back_up), from, f->dst, f->src, f->sport);
	if (!s->bounce || from == to)
		return;
	/* Down to a leaf that is not the destination and up again to the next spine: the way is not
	 * valley-free. */
	const unsigned first = spine_of(s, f->up);
	for (unsigned i = 0; i < SIM_BOUNCES; i++) {
		if (s->bounce_leaf[i] != to || s->bounce_spine[i] != first)
			continue;
		const unsigned transit = s->bounce_leaf[(i + SIM_BOUNCES - 1) % SIM_BOUNCES],
			       second = s->bounce_spine[(i + 1) % SIM_BOUNCES];
		f->bounced = true;
		f->bounce_down = live_downlink(s, first, transit, f->src, f->dst, f->sport);
		f->bounce_up = (uint16_t)(s->t.hosts_per_leaf + second * s->t.parallel +
			f->sport % s->t.parallel);
		f->down = live_downlink(s, second, to, f->src, f->dst, f->sport);
	}
	/* Answers are not what fills buffers: they take a way that works. */
	for (unsigned k = 0; k < s->t.spines && !spine_reaches(s, spine_of(s, f->back_up), from);
		k++) {
		f->back_up = (uint16_t)(s->t.hosts_per_leaf + k * s->t.parallel);
		if (!carries(sim_port_of(s, sim_leaf(s, to), f->back_up)))
			continue;
		f->back_down = live_downlink(s, k, from, f->dst, f->src, f->sport);
	}
}

static uint16_t next_hop(const struct sim *s, const struct sim_node *n, const struct sim_port *in,
	const struct sim_flow *f, bool back)
{
	if (n->kind == NODE_LEAF && s->nodes[s->ports[in->peer].node].kind == NODE_SPINE)
		return f->bounce_up;
	if (back)
		return n->kind == NODE_LEAF ? f->back_up : f->back_down;
	if (n->kind == NODE_LEAF)
		return f->up;
	return f->bounced && n->index == spine_of(s, f->up) ? f->bounce_down : f->down;
}

/* At its first leaf, a flow that paused is drawn another way: what is under way has arrived by
 * then. */
static void next_flowlet(struct sim *s, const struct sim_node *n, struct sim_flow *f)
{
	const unsigned from = f->src / s->t.hosts_per_leaf, to = f->dst / s->t.hosts_per_leaf;
	if (n->kind != NODE_LEAF || n->index != from || from == to)
		return;
	if (f->flowlet_last_ps && s->now_ps - f->flowlet_last_ps > s->p.flowlet_ps) {
		const uint16_t drawn = (uint16_t)random_seeded(s->p.seed, s->spray_turn++);
		f->up = live_uplink(s, n, f->src, f->dst, drawn);
		f->down = live_downlink(s, spine_of(s, f->up), to, f->src, f->dst, drawn);
	}
	f->flowlet_last_ps = s->now_ps;
}

struct sim_port *route(struct sim *s, const struct sim_node *n, const struct sim_port *in,
	const struct packet *p, struct sim_flow *f)
{
	const bool back = p->kind != PACKET_DATA;
	const uint32_t to = back ? f->src : f->dst;
	const unsigned to_leaf = to / s->t.hosts_per_leaf;
	if (n->kind == NODE_LEAF && n->index == to_leaf)
		return sim_port_of(s, n, to % s->t.hosts_per_leaf);
	if (s->p.flowlet_ps && !back)
		next_flowlet(s, n, f);
	const uint16_t fixed = next_hop(s, n, in, f, back);
	if (!s->p.spray || back)
		return sim_port_of(s, n, fixed);
	/* sprayed: any link that is up, in turn or drawn */
	const unsigned first = n->kind == NODE_LEAF ? s->t.hosts_per_leaf : to_leaf * s->t.parallel;
	const unsigned count = n->kind == NODE_LEAF ? s->t.spines * s->t.parallel : s->t.parallel;
	for (unsigned k = 0; k < count; k++) {
		uint64_t turn = s->spray_turn++;
		if (s->p.spray_random)
			turn = random_seeded(s->p.seed, turn) >> 32;
		struct sim_port *out = sim_port_of(s, n, first + (unsigned)(turn % count));
		if (carries(out))
			return out;
	}
	return sim_port_of(s, n, fixed);
}
