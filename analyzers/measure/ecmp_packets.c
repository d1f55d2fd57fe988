/* ecmp_packets - effective flows of a group from stored flow rows, and the flows of one member. */
#include "analyzers/measure/ecmp_packets.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "analyzers/measure/ecmp_group.h"

/* A member with less than this share of the mean load may have sent no RoCE at all: no rows of it
 * are not a missing capture. */
#define LOADED_SHARE 0.1

/* From this share of sprayed octets on the rest is not enough to make a group uneven by chance. */
#define SPRAYED_SHARE 0.5

/* One 5-tuple in one interval of one member; octets scaled by the sampling. */
struct tuple {
	struct flow_key key; /* dst_qp 0 */
	double octets;
	double grain; /* octets one sampled packet stands for; 0 = every packet was seen */
};

struct tuples {
	struct tuple *v;
	size_t n, cap;
};

/* Field by field: the struct has padding. */
static int key_compare(const struct flow_key *left, const struct flow_key *right)
{
	int c = (int)left->family - (int)right->family;
	if (!c)
		c = memcmp(left->src, right->src, sizeof(left->src));
	if (!c)
		c = memcmp(left->dst, right->dst, sizeof(left->dst));
	if (!c)
		c = (int)left->src_port - (int)right->src_port;
	if (c)
		return c;
	return (left->dst_qp > right->dst_qp) - (left->dst_qp < right->dst_qp);
}

static int by_key(const void *left, const void *right)
{
	return key_compare(&((const struct tuple *)left)->key, &((const struct tuple *)right)->key);
}

/* The 5-tuple of a flow: what a hash sees that does not look into the BTH. */
static struct flow_key key_of_tuple(const struct flow_key *key)
{
	struct flow_key c = *key;
	c.dst_qp = 0;
	return c;
}

/* Sorts and adds up equal keys in [from, n); returns the new n. */
static size_t tuples_merge(struct tuple *tuples, size_t n)
{
	if (!n)
		return 0;
	qsort(tuples, n, sizeof(*tuples), by_key);
	size_t out = 0;
	for (size_t i = 1; i < n; i++) {
		if (by_key(&tuples[out], &tuples[i]) == 0) {
			tuples[out].octets += tuples[i].octets;
			tuples[out].grain = fmax(tuples[out].grain, tuples[i].grain);
		} else {
			tuples[++out] = tuples[i];
		}
	}
	return out + 1;
}

/* First flow row of the entity (rows are sorted by entity), n_flows when there is none. */
static size_t flows_begin(const struct window *window, uint32_t entity)
{
	size_t lo = 0, hi = window->n_flows;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (window->flows[mid].entity < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool leaves_port(const struct flow_sample *flow)
{
	return flow->dir == FLOW_DIR_OUT || flow->dir == FLOW_DIR_UNKNOWN;
}

struct packet_sum { /* over the group */
	double octets, rest_sq;
	double spray_octets; /* of packets that choose their path one by one */
	uint64_t packets;
	uint32_t sampling;
	bool unnamed; /* an interval had more flows than rows */
	struct tuples tuples;
};

/*
 * One interval of one port: its total row and the top flows that follow it. Adds the top 5-tuples
 * to the list, and returns the root of the squares of what is left, which the caller adds up over
 * the intervals (Minkowski: exact for the same flows throughout).
 * @ret_flows: 5-tuples with their QPs, as the total row counts them.
 */
static double interval_add(const struct flow_sample *samples, size_t n, struct arena *a,
	struct packet_sum *sum, uint32_t *ret_flows)
{
	double octets = 0, packets = 0, sq = -1, top_octets = 0, top_sq = 0;
	uint32_t flows = 0;
	double scale = 1;
	if (samples[0].sampling)
		scale = samples[0].sampling;
	struct tuple *top = arena_array(a, struct tuple, n);
	size_t n_top = 0;
	uint32_t named = 0;
	for (size_t i = 0; i < n; i++) {
		if (!leaves_port(&samples[i]))
			continue;
		if (samples[i].total) { /* directions that cannot be told apart may each have a row
					 */
			octets += (double)samples[i].octets;
			packets += (double)samples[i].packets;
			sq = fmax(sq, 0) + samples[i].sum_sq_octets;
			flows += samples[i].flows;
			sum->spray_octets += (double)samples[i].spray_octets * scale;
			continue;
		}
		if (flow_is_v1(&samples[i]))
			continue;
		named++;
		top[n_top++] = (struct tuple){
			.key = key_of_tuple(&samples[i].key), .octets = (double)samples[i].octets};
	}
	n_top = tuples_merge(top, n_top);
	for (size_t i = 0; i < n_top; i++) {
		top_octets += top[i].octets;
		top_sq += top[i].octets * top[i].octets;
	}
	if (sq < 0) { /* no total row: the top flows are all there is */
		octets = top_octets;
		for (size_t i = 0; i < n; i++) {
			if (leaves_port(&samples[i]))
				packets += (double)samples[i].packets;
		}
	}
	double grain = 0;
	if (scale > 1 && packets > 0)
		grain = octets / packets;
	for (size_t i = 0; i < n_top; i++) {
		struct tuples *l = &sum->tuples;
		if (l->n >= l->cap) {
			size_t cap = 256;
			if (l->cap)
				cap = l->cap * 2;
			struct tuple *grown = arena_array(a, struct tuple, cap);
			if (l->n)
				memcpy(grown, l->v, l->n * sizeof(*grown));
			l->v = grown;
			l->cap = cap;
		}
		l->v[l->n++] = (struct tuple){
			.key = top[i].key, .octets = top[i].octets * scale, .grain = grain * scale};
	}
	sum->octets += octets * scale;
	sum->packets += (uint64_t)packets;
	if (samples[0].sampling > sum->sampling)
		sum->sampling = samples[0].sampling;
	if (flows > named)
		sum->unnamed = true;
	if (flows > named)
		*ret_flows = flows;
	else
		*ret_flows = named;
	double rest_sq = sq - top_sq - fmax(0, octets - top_octets) * grain;
	if (rest_sq > 0)
		return sqrt(rest_sq) * scale;
	return 0;
}

struct member_packets {
	double captured_ns;
	uint32_t flows; /* 5-tuples with QPs, most in one interval */
	bool any;
};

static void member_add(const struct fabric_group *group, size_t index, const struct window *window,
	struct arena *a, struct ecmp_member *member, struct packet_sum *sum,
	struct member_packets *ret)
{
	const struct fabric_port **ports;
	size_t n_ports = ecmp_member_ports(group, index, a, &ports);
	uint64_t burst_bps = 0;
	for (size_t p = 0; p < n_ports; p++) {
		uint32_t entity = entities_find(
			window->entities, ports[p]->device->name, ports[p]->name, PRIO_NONE);
		double rest = 0, captured_ns = 0;
		size_t i;
		if (entity == ENTITY_NONE)
			i = window->n_flows;
		else
			i = flows_begin(window, entity);
		while (i < window->n_flows && window->flows[i].entity == entity) {
			size_t end = i, here = 0;
			for (; end < window->n_flows && window->flows[end].entity == entity &&
				window->flows[end].from_ns == window->flows[i].from_ns;
				end++) {
				const struct flow_sample *f = &window->flows[end];
				if (!leaves_port(f))
					continue;
				here++;
				if (f->sampling <= 1 && f->burst_bps > burst_bps)
					burst_bps = f->burst_bps;
				if (f->total) {
					member->packets += f->packets;
					member->ce_packets += f->ce;
				}
			}
			captured_ns += (double)(window->flows[i].to_ns - window->flows[i].from_ns);
			if (here) {
				uint32_t flows;
				rest += interval_add(&window->flows[i], end - i, a, sum, &flows);
				if (flows > ret->flows)
					ret->flows = flows;
				ret->any = true;
			}
			i = end;
		}
		sum->rest_sq += rest * rest;
		ret->captured_ns = fmax(ret->captured_ns, captured_ns);
	}
	if (burst_bps && member->speed_bps)
		member->burst_ratio = (double)burst_bps / (double)member->speed_bps;
}

/* The UDP source port of all tuples; 0: they have several. */
static uint16_t only_src_port(const struct tuples *tuples, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (tuples->v[i].key.src_port != tuples->v[0].key.src_port)
			return 0;
	return n ? tuples->v[0].key.src_port : 0;
}

void ecmp_packets(const struct fabric_group *group, const struct window *window, struct arena *a,
	struct ecmp_measure *measure)
{
	struct packet_sum sum = {0};
	double expected_octets = 0, mean_rate = 0;
	size_t n_captured = 0, n_loaded = 0, n_loaded_captured = 0;
	uint64_t flows = 0;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == ECMP_LINK_UP)
			mean_rate += measure->members[i].rate_bps / (double)measure->n_live;
	for (size_t i = 0; i < measure->n_members; i++) {
		struct ecmp_member *e = &measure->members[i];
		struct member_packets mp = {0};
		member_add(group, i, window, a, e, &sum, &mp);
		bool loaded = e->link == ECMP_LINK_UP && e->rate_bps > LOADED_SHARE * mean_rate;
		n_captured += mp.any;
		n_loaded += loaded;
		n_loaded_captured += loaded && mp.any;
		flows += mp.flows;
		if (mp.any && e->link == ECMP_LINK_UP)
			expected_octets += e->rate_bps / 8 * mp.captured_ns / 1e9;
	}
	if (!n_captured || !sum.packets) {
		measure->flows_note = "no packets were captured at its members";
		return;
	}
	size_t n = tuples_merge(sum.tuples.v, sum.tuples.n);
	double sq = sum.rest_sq;
	for (size_t i = 0; i < n; i++)
		sq += fmax(0,
			sum.tuples.v[i].octets * (sum.tuples.v[i].octets - sum.tuples.v[i].grain));
	measure->only_src_port = only_src_port(&sum.tuples, n);
	measure->tuples = (uint32_t)n;
	measure->tuples_more = sum.unnamed;
	measure->flows = (uint32_t)(flows > n ? flows : n);
	measure->packets = sum.packets;
	if (sum.sampling)
		measure->sampling = sum.sampling;
	else
		measure->sampling = 1;
	measure->sprayed = sum.spray_octets > SPRAYED_SHARE * sum.octets;
	if (measure->sprayed)
		measure->flows_note =
			"its packets choose their path one by one (spraying): no hash places flows";
	else if (n_loaded_captured < n_loaded)
		measure->flows_note =
			arena_printf(a, "packets were captured at %zu of %zu loaded members only",
				n_loaded_captured, n_loaded);
	else if (measure->sampling > 1 && sum.packets < ECMP_PACKETS_MIN)
		measure->flows_note = arena_printf(a, "only %llu packets were sampled (1 in %u)",
			(unsigned long long)sum.packets, measure->sampling);
	else if (sum.octets < ECMP_CAPTURED_MIN * expected_octets)
		measure->flows_note = arena_printf(a,
			"the captured RoCE packets account for %.0f %% of the octets only",
			100 * sum.octets / expected_octets);
	else if (!(sq > 0))
		measure->flows_note =
			"too few samples for each flow to tell how many flows there are";
	else
		measure->n_eff = fmax(1, sum.octets * sum.octets / sq);
}

/* ---- the flows of one member --------------------------------------------- */

struct seen {
	struct flow_key key;
	uint64_t packets, octets, burst_bps;
	const struct fabric_port *port;
};

static int seen_by_key(const void *left, const void *right)
{
	const struct seen *x = left, *y = right;
	int c = key_compare(&x->key, &y->key);
	if (c)
		return c;
	return name_compare(x->port->name, y->port->name);
}

static int seen_by_octets(const void *left, const void *right)
{
	const struct seen *x = left, *y = right;
	if (x->octets != y->octets) {
		if (x->octets > y->octets)
			return -1;
		return 1;
	}
	return seen_by_key(left, right);
}

size_t ecmp_flows(const struct fabric_group *group, size_t index, const struct window *window,
	struct arena *a, size_t max, struct finding_flow **ret)
{
	const struct fabric_port **ports;
	size_t n_ports = ecmp_member_ports(group, index, a, &ports), n = 0, cap = 0;
	*ret = NULL;
	for (size_t pass = 0; pass < 2; pass++) {
		struct seen *v = NULL;
		if (pass)
			v = arena_array(a, struct seen, cap ? cap : 1);
		for (size_t p = 0; p < n_ports; p++) {
			uint32_t entity = entities_find(window->entities, ports[p]->device->name,
				ports[p]->name, PRIO_NONE);
			if (entity == ENTITY_NONE)
				continue;
			for (size_t i = flows_begin(window, entity);
				i < window->n_flows && window->flows[i].entity == entity; i++) {
				const struct flow_sample *f = &window->flows[i];
				if (f->total || flow_is_v1(f) || !leaves_port(f))
					continue;
				if (!pass) {
					cap++;
					continue;
				}
				v[n++] = (struct seen){.key = f->key,
					.packets = f->packets,
					.octets = f->octets,
					.burst_bps = f->burst_bps,
					.port = ports[p]};
			}
		}
		if (!pass || !n)
			continue;
		qsort(v, n, sizeof(*v), seen_by_key);
		size_t out = 0;
		for (size_t i = 1; i < n; i++) {
			if (seen_by_key(&v[out], &v[i]) != 0) {
				v[++out] = v[i];
				continue;
			}
			v[out].packets += v[i].packets;
			v[out].octets += v[i].octets;
			if (v[i].burst_bps > v[out].burst_bps)
				v[out].burst_bps = v[i].burst_bps;
		}
		n = out + 1;
		qsort(v, n, sizeof(*v), seen_by_octets);
		if (!(n < max))
			n = max;
		*ret = arena_array(a, struct finding_flow, n);
		for (size_t i = 0; i < n; i++) {
			struct finding_flow *o = &(*ret)[i];
			int family = AF_INET;
			if (v[i].key.family == 6)
				family = AF_INET6;
			*o = (struct finding_flow){.src_port = v[i].key.src_port,
				.dst_qp = v[i].key.dst_qp,
				.device = group->device->name,
				.port = v[i].port->name,
				.packets = v[i].packets,
				.octets = v[i].octets,
				.burst_bps = v[i].burst_bps};
			if (!inet_ntop(family, v[i].key.src, o->src, sizeof(o->src)) ||
				!inet_ntop(family, v[i].key.dst, o->dst, sizeof(o->dst)))
				o->src[0] = o->dst[0] = '\0';
		}
	}
	return n;
}
