/*
 * flow_table against a model that keeps everything in plain lists and walks them: random streams of
 * all kinds of packets, in one step and in the steps of a caller that fetches ahead. PSN
 * bookkeeping has tests of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "collectors/packet/flow/flow_table.h"

enum {
	PACKETS = 30000,
	AHEAD = 6,
	PORTS = 8,
	NOBODY = -1,
	WRITE_MIDDLE = 0x07,
	READ_REQUEST = 0x0c,
	READ_FIRST = 0x0d,
	READ_LAST = 0x0f,
	ACK = 0x11,
	CNP = 0x81
};

/* ---- the model --------------------------------------------------------------- */

struct model_port {
	uint16_t port;
	uint64_t octets, payload;
};

struct model_qp {
	uint8_t family, src[16], dst[16];
	uint32_t dst_qp;
	uint64_t packets, octets, payload, ce, not_ect;
	int64_t first_ns, last_ns, bin;
	uint64_t bin_octets, burst;
	uint32_t psn_first, psn_last;
	int rank;
	bool data, requests;
	uint16_t request_port;
	struct model_port ports[PORTS];
	size_t n_ports;
	uint64_t cnp, nak, rnr, cnp_about, nak_about, rnr_about;
	int peer, tries;
	bool sole_seen;
};

struct model {
	struct model_qp *v;
	size_t n, cap;
	uint64_t unattributed;
};

static int model_find(const struct model *model, const struct roce_packet *packet)
{
	for (size_t i = 0; i < model->n; i++) {
		const struct model_qp *qp = &model->v[i];
		if (qp->dst_qp == packet->dst_qp && qp->family == packet->family &&
			memcmp(qp->src, packet->src, 16) == 0 &&
			memcmp(qp->dst, packet->dst, 16) == 0)
			return (int)i;
	}
	return NOBODY;
}

static struct model_qp *model_need(struct model *model, const struct roce_packet *packet)
{
	const int at = model_find(model, packet);
	if (at != NOBODY)
		return &model->v[at];
	rw_grow(model->v, model->n, model->cap);
	struct model_qp *qp = &model->v[model->n++];
	*qp = (struct model_qp){.family = packet->family, .dst_qp = packet->dst_qp, .peer = NOBODY};
	memcpy(qp->src, packet->src, 16);
	memcpy(qp->dst, packet->dst, 16);
	return qp;
}

static bool model_reversed(const struct model_qp *one, const struct model_qp *other)
{
	return one->family == other->family && memcmp(one->src, other->dst, 16) == 0 &&
		memcmp(one->dst, other->src, 16) == 0;
}

static bool model_holds(const struct model_qp *qp, const struct roce_packet *packet)
{
	const int32_t back = psn_distance(qp->psn_last, packet->psn);
	const int32_t known = psn_distance(qp->psn_last, qp->psn_first);
	return packet->has_aeth && back >= -1 && back < 65536 && (known < 0 || back <= known);
}

/* The rules of flow_table.h by walking over everything. */
static int model_peer(struct model *model, struct model_qp *qp, const struct roce_packet *packet)
{
	int only = NOBODY, port = NOBODY, holds = NOBODY;
	int n = 0, n_port = 0, n_holds = 0, streams = 0;
	if (qp->peer != NOBODY)
		return qp->peer;
	for (size_t i = 0; i < model->n; i++) {
		const struct model_qp *other = &model->v[i];
		if (!other->data || !model_reversed(qp, other))
			continue;
		streams++;
		if (!other->requests)
			continue;
		n++;
		only = (int)i;
		if (other->request_port == packet->src_port &&
			(roce_is_cnp(packet) || model_holds(other, packet))) {
			n_port++;
			port = (int)i;
		}
		if (model_holds(other, packet)) {
			n_holds++;
			holds = (int)i;
		}
	}
	/* while it is the only stream the search starts anew for the next one */
	if (n == 1 && streams == 1) {
		qp->tries = 0;
		return only;
	}
	if (streams == 0 || qp->tries >= 64)
		return NOBODY;
	qp->tries += n != 1;
	if (n == 1)
		return only;
	if (n_port == 1)
		qp->peer = port;
	else if (n_holds == 1)
		qp->peer = holds;
	return qp->peer;
}

static void model_port_add(struct model_qp *qp, const struct roce_packet *packet, bool data)
{
	size_t i = 0;
	while (i < qp->n_ports && qp->ports[i].port != packet->src_port)
		i++;
	assert_true(i < PORTS);
	if (i == qp->n_ports)
		qp->ports[qp->n_ports++] = (struct model_port){.port = packet->src_port};
	qp->ports[i].octets += packet->octets;
	if (data)
		qp->ports[i].payload += packet->payload_bytes;
}

static int model_rank(enum roce_role role)
{
	if (role == ROLE_REQUEST)
		return 3;
	if (role == ROLE_RESPONSE || role == ROLE_RESPONSE_FIRST)
		return 2;
	return 1;
}

static void model_data(struct model_qp *qp, const struct roce_packet *packet, int rank)
{
	if (rank > 1) {
		qp->data = true;
		if (rank == 3 || !qp->requests)
			qp->request_port = packet->src_port;
		qp->requests |= rank == 3;
		qp->payload += packet->payload_bytes;
	}
	if (rank > qp->rank) {
		qp->rank = rank;
		qp->psn_first = qp->psn_last = packet->psn;
	} else if (rank == qp->rank && psn_distance(packet->psn, qp->psn_last) > 0) {
		qp->psn_last = packet->psn;
	}
}

static void model_add(struct model *model, const struct roce_packet *packet, int64_t t_ns)
{
	struct model_qp *qp = model_need(model, packet);
	const bool cnp = roce_is_cnp(packet), nak = roce_is_nak(packet);
	const bool rnr = roce_is_rnr_nak(packet);
	if (qp->packets++ == 0)
		qp->first_ns = t_ns;
	qp->last_ns = t_ns;
	qp->octets += packet->octets;
	qp->ce += packet->ecn == ECN_CE;
	qp->not_ect += packet->ecn == ECN_NOT_ECT;
	qp->cnp += cnp;
	qp->nak += nak;
	qp->rnr += rnr;
	const int rank = model_rank(roce_opcode_role(packet->opcode));
	model_port_add(qp, packet, rank > 1);
	model_data(qp, packet, rank);
	if (qp->data) {
		if (t_ns / 1000000 != qp->bin)
			qp->bin_octets = 0;
		qp->bin = t_ns / 1000000;
		qp->bin_octets += packet->octets;
		if (qp->bin_octets > qp->burst)
			qp->burst = qp->bin_octets;
	}
	if (!cnp && !packet->has_aeth)
		return;
	const int peer = model_peer(model, qp, packet);
	if (!cnp && !nak && !rnr)
		return;
	if (peer == NOBODY) {
		model->unattributed++;
		return;
	}
	model->v[peer].cnp_about += cnp;
	model->v[peer].nak_about += nak;
	model->v[peer].rnr_about += rnr;
}

/* ---- streams of packets ------------------------------------------------------- */

static uint64_t drawn;

static unsigned draw(unsigned below)
{
	drawn = hash_u64(drawn);
	return (unsigned)((drawn >> 20) % below);
}

/* Few hosts and QPs, so that everything meets everything; some of the addresses are IPv6, and some
 * of those begin with the bytes of an IPv4 one. */
static struct roce_packet draw_packet(void)
{
	static const uint8_t opcodes[] = {WRITE_MIDDLE, WRITE_MIDDLE, WRITE_MIDDLE, 0x04, 0x0a,
		0x64, READ_REQUEST, READ_FIRST, 0x0e, READ_LAST, 0x10, ACK, ACK, ACK, ACK, 0x12,
		CNP};
	static const uint8_t syndromes[] = {0x1f, 0x1f, 0x1f, 0x60, 0x2e, 0x61};
	struct roce_packet packet = {.kind = PACKET_ROCE, .family = 4};
	if (draw(4) == 0)
		packet.family = 6;
	packet.src[0] = packet.dst[0] = 10;
	packet.src[3] = (uint8_t)draw(6);
	packet.dst[3] = (uint8_t)(6 + draw(3));
	if (draw(2)) {
		const uint8_t src = packet.src[3];
		packet.src[3] = packet.dst[3];
		packet.dst[3] = src;
	}
	if (packet.family == 6)
		packet.dst[15] = (uint8_t)draw(2);
	packet.opcode = opcodes[draw(rw_countof(opcodes))];
	packet.dst_qp = 1 + draw(3);
	packet.src_port = (uint16_t)(50000 + packet.dst_qp);
	if (packet.dst_qp == 3)
		packet.src_port = (uint16_t)(51000 + draw(PORTS));
	packet.psn = draw(200) + packet.dst_qp * 1000;
	packet.ecn = (uint8_t)draw(4);
	packet.octets = 60 + draw(1000);
	packet.payload_bytes = draw(2) * draw(1000);
	packet.has_aeth = packet.opcode == READ_FIRST ||
		(packet.opcode >= READ_LAST && packet.opcode <= 0x12);
	if (packet.has_aeth)
		packet.syndrome = syndromes[draw(rw_countof(syndromes))];
	return packet;
}

/* ---- comparing ---------------------------------------------------------------- */

static void check_row(const struct model *model, const struct flow *row)
{
	struct roce_packet key = {.family = row->key.family, .dst_qp = row->key.dst_qp};
	memcpy(key.src, row->key.src, 16);
	memcpy(key.dst, row->key.dst, 16);
	const int at = model_find(model, &key);
	assert_int_not_equal(at, NOBODY);
	const struct model_qp *qp = &model->v[at];
	assert_int_equal(row->packets, qp->packets);
	assert_int_equal(row->octets, qp->octets);
	assert_int_equal(row->payload_bytes, qp->payload);
	assert_int_equal(row->ce, qp->ce);
	assert_int_equal(row->not_ect, qp->not_ect);
	assert_int_equal(row->ect, qp->packets - qp->ce - qp->not_ect);
	assert_int_equal(row->first_ns, qp->first_ns);
	assert_int_equal(row->last_ns, qp->last_ns);
	assert_int_equal(row->psn_first, qp->psn_first);
	assert_int_equal(row->psn_last, qp->psn_last);
	assert_int_equal(row->source_ports, qp->n_ports);
	assert_int_equal(row->stream != NULL, qp->data);
	assert_int_equal(row->burst_octets, qp->burst);
	assert_int_equal(row->cnp_sent, qp->cnp);
	assert_int_equal(row->nak_sent, qp->nak);
	assert_int_equal(row->rnr_nak_sent, qp->rnr);
	assert_int_equal(row->cnp_about, qp->cnp_about);
	assert_int_equal(row->nak_about, qp->nak_about);
	assert_int_equal(row->rnr_nak_about, qp->rnr_about);
}

static void check_rows(const struct model *model, const struct flow_table *table)
{
	size_t n, n_top;
	uint32_t *ids, *top;
	const struct flow_choice all = {0}, some = {.most = 7};
	assert_int_equal(flow_table_choose(table, &all, &ids, &n), model->n);
	assert_int_equal(n, model->n);
	uint64_t before = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(table, ids[i], &row);
		assert_true(row.octets <= before);
		before = row.octets;
		check_row(model, &row);
	}
	assert_int_equal(flow_table_choose(table, &some, &top, &n_top), model->n);
	assert_int_equal(n_top, 7);
	assert_memory_equal(top, ids, sizeof(*top) * n_top);
	free(ids);
	free(top);
}

/* The load of each 5-tuple, by walking; entries of a queue pair whose 5-tuple came before are 0. */
static void model_loads(
	const struct model *model, bool payload, uint32_t *ret_n, double *ret_sum, double *ret_sq)
{
	*ret_n = 0;
	*ret_sum = *ret_sq = 0;
	for (size_t i = 0; i < model->n; i++)
		for (size_t k = 0; k < model->v[i].n_ports; k++) {
			double load = 0;
			bool first = true;
			for (size_t j = 0; j < model->n; j++)
				for (size_t m = 0; m < model->v[j].n_ports; m++) {
					const struct model_qp *a = &model->v[i], *b = &model->v[j];
					if (a->family != b->family || memcmp(a->src, b->src, 16) ||
						memcmp(a->dst, b->dst, 16) ||
						a->ports[k].port != b->ports[m].port)
						continue;
					first &= j > i || (j == i && m >= k);
					if (!payload)
						load += (double)b->ports[m].octets;
					else if (b->data)
						load += (double)b->ports[m].payload;
				}
			if (!first || load <= 0)
				continue;
			(*ret_n)++;
			*ret_sum += load;
			*ret_sq += load * load;
		}
}

static void check_totals(const struct model *model, struct flow_table *table)
{
	struct flow_totals totals, want = {0};
	flow_table_totals(table, &totals);
	for (size_t i = 0; i < model->n; i++) {
		const struct model_qp *qp = &model->v[i];
		want.packets += qp->packets;
		want.octets += qp->octets;
		want.ce += qp->ce;
		want.not_ect += qp->not_ect;
		want.cnp += qp->cnp;
		want.nak += qp->nak;
		want.rnr_nak += qp->rnr;
		want.flows += (uint32_t)qp->n_ports;
	}
	model_loads(model, false, &want.five_tuples, &want.sum_octets, &want.sum_sq_octets);
	assert_int_equal(totals.packets, want.packets);
	assert_int_equal(totals.octets, want.octets);
	assert_int_equal(totals.ce, want.ce);
	assert_int_equal(totals.not_ect, want.not_ect);
	assert_int_equal(totals.ect, want.packets - want.ce - want.not_ect);
	assert_int_equal(totals.cnp, want.cnp);
	assert_int_equal(totals.nak, want.nak);
	assert_int_equal(totals.rnr_nak, want.rnr_nak);
	assert_int_equal(totals.unattributed, model->unattributed);
	assert_int_equal(totals.flows, want.flows);
	assert_int_equal(totals.five_tuples, want.five_tuples);
	assert_true(totals.sum_octets == want.sum_octets);
	assert_true(totals.sum_sq_octets == want.sum_sq_octets);
}

/* Both sides of all address pairs together are all of it. */
static void check_entropy(const struct model *model, struct flow_table *table)
{
	struct flow_entropy all, low, high;
	uint32_t n;
	double sum, sq;
	flow_table_entropy(table, FLOW_DIR_UNKNOWN, FLOW_SIDE_ANY, &all);
	flow_table_entropy(table, FLOW_DIR_UNKNOWN, FLOW_SIDE_LOW, &low);
	flow_table_entropy(table, FLOW_DIR_UNKNOWN, FLOW_SIDE_HIGH, &high);
	assert_int_equal(all.data_packets, low.data_packets + high.data_packets);
	assert_int_equal(all.five_tuples, low.five_tuples + high.five_tuples);
	assert_true(low.data_packets && high.data_packets);
	model_loads(model, true, &n, &sum, &sq);
	assert_int_equal(all.five_tuples, n);
	assert_true(all.payload_bytes == (uint64_t)sum);
	assert_true(all.n_eff == flow_n_eff(sum, sq));
}

/* @ahead: packets between finding where a packet probably belongs and adding it. */
static void run_model(uint64_t seed, size_t packets, size_t ahead)
{
	struct roce_packet waiting[AHEAD];
	struct flow_aim aims[AHEAD];
	struct flow_fetch fetch[AHEAD];
	struct model model = {0};
	struct flow_table *table = flow_table_new(1000, 1, seed);
	drawn = seed;
	for (size_t i = 0; i < packets + ahead; i++) {
		const size_t at = i % AHEAD, due = (i - ahead) % AHEAD;
		const int64_t t_ns = 1700000000000000000 + (int64_t)i * 30000;
		struct flow_hit hit;
		waiting[at] = draw_packet();
		flow_table_aim(table, &waiting[at], &aims[at]);
		fetch[at] = (struct flow_fetch){.probably = flow_table_fetch_qp(table, &aims[at])};
		flow_table_fetch_stream(table, &waiting[at], &aims[at], &fetch[at]);
		flow_table_fetch_pair(table, &fetch[at]);
		flow_table_fetch_peer(table, &fetch[at]);
		if (i < ahead)
			continue;
		flow_table_add_aimed(
			table, &waiting[due], &aims[due], fetch[due].probably, t_ns, &hit);
		model_add(&model, &waiting[due], t_ns);
		assert_int_equal(hit.role, roce_opcode_role(waiting[due].opcode));
	}
	check_rows(&model, table);
	check_totals(&model, table);
	check_entropy(&model, table);
	free(model.v);
	flow_table_free(table);
}

static void test_model(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		run_model(seed, PACKETS, 0);
	/* a few packets each time: rules about the first ones */
	for (uint64_t seed = 100; seed < 300; seed++)
		run_model(seed, 150, 0);
}

static void test_model_ahead(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		run_model(seed, PACKETS, AHEAD - 1);
}

/* ---- bounds ------------------------------------------------------------------- */

/* Of the bytes that made every IPv6 pair hash to one value when the hash was a folded
 * multiplication, whatever its seed: no CPU to speak of, and no long way to any record. */
static void test_chosen_keys(void **state)
{
	struct flow_table *table = flow_table_new(100000, 1, 42);
	const uint64_t dst = 0xD1B54A32D192ED03ull ^ 6, src = 0x9E3779B97F4A7C15ull;
	struct roce_packet packet = {.kind = PACKET_ROCE, .family = 6, .octets = 100, .opcode = 4};
	memcpy(packet.dst, &dst, 8);
	memcpy(packet.src + 8, &src, 8);
	uint32_t longest = 0;
	uint64_t slots[64] = {0};
	for (uint32_t i = 0; i < 40000; i++) {
		memcpy(packet.src, &i, 4);
		packet.dst_qp = i & 0xff;
		flow_table_add(table, &packet, i, NULL);
		struct flow_aim aim;
		flow_table_aim(table, &packet, &aim);
		slots[aim.hash >> 58]++;
	}
	for (size_t i = 0; i < rw_countof(slots); i++)
		if (slots[i] > longest)
			longest = (uint32_t)slots[i];
	assert_in_range(longest, 625, 625 + 6 * 25); /* six standard deviations */
	struct flow_totals totals;
	flow_table_totals(table, &totals);
	assert_int_equal(totals.flows, 40000);
	flow_table_free(table);
}

/* Hosts and streams are let go with their directions, and told. */
struct drops {
	uint32_t streams, hosts;
};

static void on_stream(void *arg, struct flow_stream *stream)
{
	assert_int_not_equal(stream->qp, FLOW_NONE);
	((struct drops *)arg)->streams++;
}

static void on_host(void *arg, uint32_t host)
{
	((struct drops *)arg)->hosts++;
}

static struct roce_packet numbered(uint32_t number)
{
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.octets = 1000,
		.payload_bytes = 900,
		.opcode = WRITE_MIDDLE,
		.dst_qp = number & 0xff,
		.psn = number};
	memcpy(packet.src, &number, 4);
	memcpy(packet.dst, &number, 4);
	packet.dst[3] = 1;
	return packet;
}

static void test_eviction(void **state)
{
	enum { LIMIT = 500, HEAVY = 20, MANY = 60000 };
	struct drops drops = {0};
	struct flow_table *table = flow_table_new(LIMIT, 1, 7);
	flow_table_on_drop(
		table, &(struct flow_drops){.stream = on_stream, .host = on_host, .arg = &drops});
	for (uint32_t i = 0; i < MANY; i++) {
		struct roce_packet packet = numbered(1000 + i);
		if (i % 5 == 0) /* each has 1 % of all: far more than 1 / LIMIT */
			packet = numbered(i / 5 % HEAVY);
		packet.psn = i / 5 / HEAVY;
		flow_table_add(table, &packet, i, NULL);
	}
	struct flow_totals totals;
	flow_table_totals(table, &totals);
	const uint32_t distinct = MANY - MANY / 5 + HEAVY;
	assert_int_equal(totals.octets, MANY * 1000ull);
	assert_int_equal(totals.evicted, distinct - LIMIT);
	assert_int_equal(drops.streams, totals.evicted);
	assert_int_equal(drops.hosts, 2 * totals.evicted);
	assert_in_range(totals.flows, distinct * 97 / 100, distinct * 103 / 100);
	uint32_t *ids;
	size_t n;
	const struct flow_choice top = {.most = HEAVY};
	flow_table_choose(table, &top, &ids, &n);
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(table, ids[i], &row);
		assert_int_equal(row.packets, MANY / 5 / HEAVY);
		assert_int_equal(row.psn.gaps, 0);
	}
	free(ids);
	flow_table_free(table); /* the rest goes with the table, untold */
	assert_int_equal(drops.streams, totals.evicted);
}

/* A queue pair that sprays over more source ports than are kept one by one. */
static void test_spray(void **state)
{
	enum { SPRAYED = 2000, EACH = 10 };
	struct flow_table *table = flow_table_new(100, 1, 7);
	struct flow_totals totals;
	for (uint32_t i = 0; i < SPRAYED * EACH; i++) {
		struct roce_packet packet = numbered(1);
		packet.src_port = (uint16_t)(40000 + i % SPRAYED);
		packet.psn = i & PSN_MASK;
		flow_table_add(table, &packet, i, NULL);
	}
	flow_table_totals(table, &totals);
	assert_in_range(totals.five_tuples, SPRAYED * 87 / 100, SPRAYED * 113 / 100);
	assert_int_equal(totals.sum_octets, SPRAYED * EACH * 1000);
	const double n_eff = flow_n_eff(totals.sum_octets, totals.sum_sq_octets);
	assert_true(n_eff > SPRAYED * 0.87 && n_eff < SPRAYED * 1.13);
	struct flow_sample rows[1 + FLOW_TOP + FLOW_LOST];
	assert_int_equal(flow_table_samples(table, 0, 1, 1, FLOW_DIR_IN, true, rows), FLOW_TOP + 1);
	assert_int_equal(rows[1].octets, EACH * 1000);
	flow_table_next(table);
	struct roce_packet packet = numbered(1);
	packet.psn = SPRAYED * EACH;
	flow_table_add(table, &packet, 1, NULL);
	struct flow row;
	flow_table_row(table, 0, &row);
	assert_int_equal(row.source_ports, 1);
	assert_int_equal(row.psn.gaps, 0);
	flow_table_free(table);
}

static bool sprays(struct flow_table *table)
{
	struct flow row;
	flow_table_row(table, 0, &row);
	return row.sprays;
}

/* Ports in turn are spraying. A new port once (a new connection) is not, nor are ACKs on a port of
 * their own. */
static void test_sprays(void **state)
{
	struct flow_table *turns = flow_table_new(10, 1, 7), *anew = flow_table_new(10, 1, 7);
	struct flow_table *answers = flow_table_new(10, 1, 7);
	for (uint32_t i = 0; i < 100; i++) {
		struct roce_packet packet = numbered(1);
		packet.psn = i;
		packet.src_port = (uint16_t)(50000 + i % 3);
		flow_table_add(turns, &packet, i, NULL);
		packet.src_port = (uint16_t)(50000 + i / 50);
		flow_table_add(anew, &packet, i, NULL);
		packet.src_port = 50000;
		if (i % 2) {
			packet.opcode = ACK;
			packet.payload_bytes = 0;
			packet.src_port = (uint16_t)(60000 + i);
		}
		flow_table_add(answers, &packet, i, NULL);
	}
	assert_true(sprays(turns));
	assert_false(sprays(anew));
	assert_false(sprays(answers));
	flow_table_free(turns);
	flow_table_free(anew);
	flow_table_free(answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_ahead), cmocka_unit_test(test_chosen_keys),
		cmocka_unit_test(test_eviction), cmocka_unit_test(test_spray),
		cmocka_unit_test(test_sprays)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
