/* ecmp_measure - loads of the members, their spread, and the verdict. */
#include "analyzers/measure/ecmp_measure.h"

#include <arpa/inet.h>

#include "analyzers/measure/chance.h"
#include "analyzers/measure/class_world.h"
#include "analyzers/measure/mean.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* ---- ecmp_group ------------------------------------------------------------ */

/* ecmp_group - a member of a group is a port or a LAG. */

size_t ecmp_member_ports(const struct fabric_group *group, size_t index, struct arena *a,
	const struct fabric_port ***ret)
{
	const struct fabric_port *port = group->members[index];
	const struct fabric_device *d = group->device;
	const struct fabric_port **v = arena_array(a, const struct fabric_port *, d->n_ports + 1);
	size_t n = 0;
	v[n++] = port;
	if (port->lag && strncmp(group->id, "lag:", 4) != 0)
		for (size_t i = 0; i < d->n_ports; i++)
			if (d->ports[i] != port && str_eq(d->ports[i]->lag, port->lag))
				v[n++] = d->ports[i];
	*ret = v;
	return n;
}

/* ---- hash_fields ----------------------------------------------------------- */

/* hash_fields - reads what a hash reads. */

const char *hash_fields(const struct window *window, const char *device)
{
	const uint32_t entity = entities_find(window->entities, device, "", PRIO_NONE);
	if (entity == ENTITY_NONE)
		return NULL;
	const struct series *series = window_series(window, entity, M_CFG_HASH_FIELDS);
	if (!series || !series->n)
		return NULL;
	return entities_text_get(window->entities, series->value[series->n - 1]);
}

/* Fields in which RoCE flows between two addresses are alike. */
static bool is_alike(const char *field, size_t n)
{
	static const char *const alike[] = {"src_ip", "dst_ip", "src_mac", "dst_mac", "ip_protocol",
		"protocol", "ethertype", "vlan", "vlan_id", "in_port", "ingress_port", "dst_port",
		"l4_dst_port", "dscp"};
	for (size_t i = 0; i < rw_countof(alike); i++)
		if (strlen(alike[i]) == n && strncmp(alike[i], field, n) == 0)
			return true;
	return false;
}

bool hash_fields_blind(const char *fields)
{
	size_t n_fields = 0;
	if (!fields)
		return false;
	while (*fields) {
		fields += strspn(fields, ", ");
		const size_t n = strcspn(fields, ", ");
		if (n && !is_alike(fields, n))
			return false;
		n_fields += n > 0;
		fields += n;
	}
	return n_fields > 0;
}

bool hash_seed(const struct window *window, const char *device, uint64_t *ret)
{
	const uint32_t entity = entities_find(window->entities, device, "", PRIO_NONE);
	const struct series *series = NULL;
	if (entity != ENTITY_NONE)
		series = window_series(window, entity, M_CFG_HASH_SEED);
	if (!series || !series->n)
		return false;
	*ret = series->value[series->n - 1];
	return true;
}

/* ---- ecmp_packets ---------------------------------------------------------- */

/* ecmp_packets - effective flows of a group from stored flow rows, and the flows of one member. */

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
		uint32_t entity = ENTITY_NONE;
		if (window->n_flows > 0)
			entity = entities_find(window->entities, ports[p]->device->name,
				ports[p]->name, PRIO_NONE);
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

/* ---- ecmp_measure ---------------------------------------------------------- */

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

static uint64_t discards_of(const struct window *window, uint32_t entity, bool *ret_known)
{
	const struct series *s = window_series(window, entity, M_PORT_OUT_DISCARDS);
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
		const uint32_t entity = entities_find(
			window->entities, ports[i]->device->name, ports[i]->name, PRIO_NONE);
		int rc = port_rate(
			window, ports[i], entity, M_PORT_OUT_OCTETS, params->interval_ns, &r);
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
		member->discards += discards_of(window, entity, &member->discards_known);
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
		measure->observed = measure->observed || e->link != ECMP_LINK_ABSENT ||
			entities_find(window->entities, group->device->name,
				group->members[i]->name, PRIO_NONE) != ENTITY_NONE;
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

/* ---- ecmp_harm ------------------------------------------------------------- */

/* ecmp_harm - compares the hot member with the edge of the fabric, and looks at marks and pause. */

#define BUSIER 1.05 /* than the edge: less is noise of the counters */
#define HARM_MARKS 0.005 /* share of packets */
#define HARM_PAUSE 0.001 /* share of time */

double ecmp_edge(const struct observed *observed)
{
	double edge = NAN;
	for (size_t i = 0; i < observed->n_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		if (!p->port->host)
			continue;
		if (p->out_known && p->out.quality != QUALITY_SUSPECT)
			edge = fmax(edge, p->out.utilization_ratio);
		if (p->in_known && p->in.quality != QUALITY_SUSPECT)
			edge = fmax(edge, p->in.utilization_ratio);
	}
	return edge;
}

/* Marks and pause of a member's lossless queues; NAN where they are not counted. */
static void ecmp_harm_queue_of(const struct port_seen *port, double *marks, double *pause)
{
	*marks = *pause = NAN;
	for (int c = 0; port && c < OBSERVED_PRIORITIES; c++) {
		const struct port_prio *l = observed_prio(port, c);
		if (!l || !l->lossless)
			continue;
		if (l->marked.known && l->marked.alive && l->out_packets.known &&
			l->out_packets.value > 0)
			*marks = fmax(*marks, l->marked.value / l->out_packets.value);
		if (l->rx_pause.alive)
			*pause = fmax(*pause, l->rx_pause.hi);
	}
}

static enum ecmp_harm_level ecmp_harm_level_of(
	const struct ecmp_harm *harm, double hot, double others)
{
	const bool waits = harm->pause_ratio > HARM_PAUSE ||
		(harm->marks_ratio > HARM_MARKS && !(harm->marks_ratio <= 2 * others));
	if (!isnan(harm->edge_ratio) && !isnan(hot)) {
		if (hot <= BUSIER * harm->edge_ratio)
			return ECMP_HARM_NONE;
		if (waits)
			return ECMP_HARM_SEEN;
		return ECMP_HARM_UNKNOWN;
	}
	if (waits)
		return ECMP_HARM_SEEN;
	if (isnan(harm->marks_ratio))
		return ECMP_HARM_UNKNOWN;
	return ECMP_HARM_NONE;
}

struct ecmp_harm ecmp_harm(const struct observed *observed, const struct fabric_group *group,
	const struct ecmp_measure *measure, double edge_ratio)
{
	struct ecmp_harm h = {.edge_ratio = edge_ratio,
		.marks_ratio = NAN,
		.pause_ratio = NAN,
		.loss_ratio = NAN};
	double others = 0;
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		double marks, pause;
		ecmp_harm_queue_of(observed_port(observed, group->members[i]), &marks, &pause);
		if (i == measure->hot) {
			h.marks_ratio = marks;
			h.pause_ratio = pause;
		} else if (!isnan(marks)) {
			others += marks;
			n++;
		}
	}
	const double hot = measure->members[measure->hot].utilization_ratio;
	h.level = ecmp_harm_level_of(&h, hot, n ? others / (double)n : NAN);
	if (!isnan(hot))
		h.loss_ratio = fmin(
			fmax(hot - fmax(measure->load_ratio, isnan(edge_ratio) ? 0 : edge_ratio),
				0),
			1);
	return h;
}
