/* flow_table - takes packets. What it keeps stands in flow_store, answers are made in flow_answer.
 */
#include "collectors/packet/flow/flow_table.h"

#include "collectors/packet/flow/flow_store.h"

/* flow_peers - which data stream of the reversed address pair an acknowledgement, NAK or CNP is
 * about. The rules stand in flow_table.h. */

enum {
	PSN_WINDOW = 65536, /* how far behind a stream's newest PSN an acknowledgement may point */
	PAIR_WALK_MAX = 4096, /* streams of an address pair that are compared for one packet */
	PEER_TRIES_MAX = 64
};

/* peer_psn_held - do the requests of @peer so far, at most the last PSN_WINDOW, hold the PSN of
 * this acknowledgement? */
static bool peer_psn_held(const struct flow_qp *peer, const struct roce_packet *packet)
{
	if (!packet->has_aeth && !packet->aeth_cut)
		return false;
	const int32_t back = psn_distance(peer->psn_last, packet->psn);
	const int32_t known = psn_distance(peer->psn_last, peer->psn_first);
	if (back < -1 || back >= PSN_WINDOW)
		return false;
	return known < 0 || back <= known; /* known < 0: the PSNs wrapped */
}

/* Streams of the reversed pair that sent requests: how many, and by which sign one stands out. */
struct peer_search {
	uint32_t only, same_port, holds; /* the last one of each kind */
	unsigned n, n_port, n_holds, walked;
};

static void peer_walk(const struct flow_table *table, uint32_t first, uint16_t port,
	const struct roce_packet *packet, struct peer_search *ret)
{
	*ret = (struct peer_search){FLOW_NONE, FLOW_NONE, FLOW_NONE, 0, 0, 0, 0};
	for (uint32_t i = first; i != FLOW_NONE && ret->walked <= PAIR_WALK_MAX; ret->walked++) {
		const struct flow_stream *stream = flow_store_stream(table, i);
		const uint32_t at = i;
		i = stream->pair_after;
		if (!stream->requests)
			continue;
		ret->n++;
		ret->only = at;
		const bool holds = peer_psn_held(flow_store_qp(table, stream->qp), packet);
		ret->n_holds += holds;
		if (holds)
			ret->holds = at;
		/* ports of two queue pairs are equal by chance, too: an answer must fit as well */
		if (stream->request_port == port && (holds || roce_is_cnp(packet))) {
			ret->n_port++;
			ret->same_port = at;
		}
	}
}

static struct flow_stream *peer_remember(
	struct flow_table *table, struct flow_qp *qp, uint32_t at, bool sole)
{
	struct flow_stream *stream = flow_store_stream(table, at);
	qp->peer = at;
	qp->peer_mark = stream->generation & 0x7fff;
	qp->sole_peer = sole;
	return stream;
}

static struct flow_stream *peer_search(
	struct flow_table *table, struct flow_qp *qp, const struct roce_packet *packet)
{
	struct peer_search found;
	if (qp->peer_mark >= PEER_TRIES_MAX)
		return NULL;
	const uint32_t first = flow_store_pair(table, qp->dst, qp->src);
	if (first == FLOW_NONE)
		return NULL;
	peer_walk(table, first, packet->src_port, packet, &found);
	if (found.n != 1 || found.walked > PEER_TRIES_MAX)
		qp->peer_mark++;
	if (found.walked > PAIR_WALK_MAX)
		return NULL;
	/* The only one so far is remembered for as long as it is the only one: another one of the
	 * pair may send its first request later. */
	if (found.n == 1) {
		struct flow_stream *stream = flow_store_stream(table, found.only);
		if (stream->sole)
			return peer_remember(table, qp, found.only, true);
		return stream;
	}
	if (found.n_port == 1)
		return peer_remember(table, qp, found.same_port, false);
	if (found.n_holds == 1)
		return peer_remember(table, qp, found.holds, false);
	return NULL;
}

/* flow_peer_of - the stream of the other direction that @packet, travelling in @qp, answers; NULL
 * when that is not clear. What was found is remembered in @qp. */
static struct flow_stream *flow_peer_of(
	struct flow_table *table, struct flow_qp *qp, const struct roce_packet *packet)
{
	if (qp->peer == FLOW_NONE)
		return peer_search(table, qp, packet);
	struct flow_stream *stream = flow_store_stream(table, qp->peer);
	const bool lives = stream->qp != FLOW_NONE && stream->generation == qp->peer_mark;
	if (lives && (!qp->sole_peer || stream->sole))
		return stream;
	qp->peer = FLOW_NONE;
	qp->peer_mark = 0;
	qp->sole_peer = 0;
	return peer_search(table, qp, packet);
}

/*
 * flow_evict - which direction goes when a flow table is full: Space-Saving of A. Metwally, D.
 * Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
 * ICDT 2005, weighted by octets.
 *
 * The one with the least octets goes; its successor in the record inherits its octets as an error:
 * they count for its place, never for what is reported. The paper keeps all entries sorted; here
 * the least sixteenth is found in one walk and used up before the next. What goes then had at most
 * N / (15/16 m) octets of N in a table of m, so every direction with more than that share is kept:
 * the paper's bound, wider by 1/15. Single-threaded.
 */

enum { VICTIM_SHARE = 16, EVICT_TRIES_MAX = 64 };

static uint64_t evict_weight(const struct flow_table *table, uint32_t id)
{
	uint64_t weight = flow_store_qp(table, id)->octets;
	if (table->error)
		weight += table->error[id];
	return weight;
}

/* ---- a heap with the heaviest on top --------------------------------------------- */

static bool evict_heavier(const struct flow_victim *left, const struct flow_victim *right)
{
	return left->weight > right->weight ||
		(left->weight == right->weight && left->id > right->id);
}

static void evict_sink(struct flow_victim *heap, uint32_t n, uint32_t at)
{
	const struct flow_victim sinking = heap[at];
	for (;;) {
		uint32_t child = at * 2 + 1;
		if (child >= n)
			break;
		if (child + 1 < n && evict_heavier(&heap[child + 1], &heap[child]))
			child++;
		if (!evict_heavier(&heap[child], &sinking))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = sinking;
}

static void evict_offer(struct flow_table *table, uint32_t id, uint32_t most)
{
	const struct flow_victim offered = {evict_weight(table, id), id};
	if (table->n_victims == most) {
		if (!evict_heavier(&table->victims[0], &offered))
			return;
		table->victims[0] = offered;
		evict_sink(table->victims, most, 0);
		return;
	}
	table->victims[table->n_victims++] = offered;
	if (table->n_victims == most)
		for (uint32_t at = most / 2; at-- > 0;)
			evict_sink(table->victims, most, at);
}

/* evict_choose - the least ones of the whole table into .victims. */
static void evict_choose(struct flow_table *table)
{
	uint32_t most = flow_pool_live(&table->qps) / VICTIM_SHARE;
	if (most == 0)
		most = 1;
	table->victims = rw_realloc(table->victims, most * sizeof(*table->victims));
	table->n_victims = 0;
	for (uint32_t i = 0; i < table->qps.end; i++)
		if (flow_qp_live(flow_store_qp(table, i)))
			evict_offer(table, i, most);
	table->victim_most = 0;
	for (uint32_t i = 0; i < table->n_victims; i++)
		if (table->victims[i].weight > table->victim_most)
			table->victim_most = table->victims[i].weight;
}

/* ---- distinct -------------------------------------------------------------------- */

static void evict_count(struct flow_table *table, const struct flow_qp *qp, uint16_t port)
{
	hyperloglog_add(table->distinct_flows,
		flow_store_distinct_hash(table, qp, port, 1u << 24 | qp->dst_qp));
	hyperloglog_add(table->distinct_tuples, flow_store_distinct_hash(table, qp, port, 0));
}

/* Everything that is in the table when the first one goes. */
static void evict_count_all(struct flow_table *table)
{
	table->distinct_flows = hyperloglog_new(FLOW_DISTINCT_PRECISION);
	table->distinct_tuples = hyperloglog_new(FLOW_DISTINCT_PRECISION);
	for (uint32_t i = 0; i < table->qps.end; i++) {
		const struct flow_qp *qp = flow_store_qp(table, i);
		if (!flow_qp_live(qp) || qp->packets == 0)
			continue;
		evict_count(table, qp, (uint16_t)qp->port);
		if (!qp->many_ports)
			continue;
		const struct flow_ports *ports = flow_store_rare(table, qp->rare)->ports;
		for (uint32_t k = 0; k < ports->n; k++)
			evict_count(table, qp, ports->key[k]);
	}
}

/* flow_evict_distinct - @port of @qp is new in this interval; for the estimates. */
static void flow_evict_distinct(struct flow_table *table, const struct flow_qp *qp, uint16_t port)
{
	if (table->distinct_flows)
		evict_count(table, qp, port);
}

/* ---- eviction -------------------------------------------------------------------- */

/* evict_one - the octets of what went, those that it had inherited included. */
static uint64_t evict_one(struct flow_table *table)
{
	for (;;) {
		if (table->n_victims == 0)
			evict_choose(table);
		if (table->n_victims == 0)
			return 0;
		const uint32_t id = table->victims[--table->n_victims].id;
		const struct flow_qp *qp = flow_store_qp(table, id);
		if (!flow_qp_live(qp))
			continue;
		const uint64_t weight = evict_weight(table, id);
		if (weight > table->victim_most)
			continue; /* it has grown since */
		flow_store_drop(table, id);
		table->sums.evicted++;
		return weight;
	}
}

/* flow_evict_make_room - lets directions go until there is room for one more. False: there is none.
 * *ret_inherited: octets that the successor inherits. */
static bool flow_evict_make_room(struct flow_table *table, uint64_t *ret_inherited)
{
	*ret_inherited = 0;
	for (unsigned i = 0; !flow_store_room(table); i++) {
		if (i == EVICT_TRIES_MAX)
			return false;
		if (!table->distinct_flows)
			evict_count_all(table);
		if (!table->error)
			table->error = rw_calloc(table->limit, sizeof(*table->error));
		const uint64_t weight = evict_one(table);
		if (weight > *ret_inherited)
			*ret_inherited = weight;
	}
	return true;
}

/* flow_evict_clear - a new interval: nothing was let go in it. */
static void flow_evict_clear(struct flow_table *table)
{
	free(table->error);
	free(table->victims);
	free(table->distinct_flows);
	free(table->distinct_tuples);
	table->error = NULL;
	table->victims = NULL;
	table->distinct_flows = table->distinct_tuples = NULL;
	table->n_victims = 0;
}

enum { LABELS_PRECISION = 8 };

/* ---- life ---------------------------------------------------------------- */

struct flow_table *flow_table_new(uint32_t limit, uint32_t sampling, uint64_t seed)
{
	struct flow_table *table = rw_calloc(1, sizeof(*table));
	table->limit = limit;
	if (limit == 0)
		table->limit = 1;
	table->sampling = sampling;
	if (sampling == 0)
		table->sampling = 1;
	/* the caller's 8 bytes to the 16 of a key */
	const struct siphash_key none = {0};
	table->key = (struct siphash_key){seed, siphash(&none, 2, 4, &seed, sizeof(seed))};
	if (table->sampling == 1)
		table->loss = loss_new();
	flow_store_init(table);
	return table;
}

void flow_table_free(struct flow_table *table)
{
	if (!table)
		return;
	flow_evict_clear(table);
	flow_store_end(table);
	loss_free(table->loss);
	free(table);
}

void flow_table_on_drop(struct flow_table *table, const struct flow_drops *drops)
{
	table->drops = *drops;
}

struct loss *flow_table_loss(const struct flow_table *table)
{
	return table->loss;
}

const struct flow_host *flow_table_host(const struct flow_table *table, uint32_t id)
{
	return flow_store_host(table, id);
}

const struct flow_stream *flow_table_stream(const struct flow_table *table, uint32_t id)
{
	return flow_store_stream(table, id);
}

uint32_t flow_table_stream_end(const struct flow_table *table)
{
	return table->streams.end;
}
/* ---- memory that will be needed -------------------------------------------------- */

uint32_t flow_table_fetch_qp(const struct flow_table *table, const struct flow_aim *aim)
{
	uint32_t at = keyed_tag(aim->hash);
	const uint32_t id = keyed_index_next(&table->by_qp, aim->hash, &at);
	if (id != KEYED_NONE)
		__builtin_prefetch(flow_store_qp(table, id), 1);
	return id;
}

/* The pair of hosts that will be looked up: by a packet that begins a direction, or an answer whose
 * stream is not known. */
static void fetch_pair(const struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, struct flow_fetch *fetch)
{
	if (aim->src == FLOW_NONE || aim->dst == FLOW_NONE)
		return;
	const enum roce_role role = roce_opcode_role(packet->opcode);
	fetch->answers = fetch->probably != FLOW_NONE || role == ROLE_ACK || role == ROLE_NONE;
	if (fetch->answers)
		fetch->pair = flow_store_pair_hash(table, aim->dst, aim->src);
	else
		fetch->pair = flow_store_pair_hash(table, aim->src, aim->dst);
	keyed_index_prefetch(&table->by_pair, fetch->pair);
}

void flow_table_fetch_stream(const struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, struct flow_fetch *fetch)
{
	uint32_t at = FLOW_NONE;
	if (fetch->probably != FLOW_NONE) {
		const struct flow_qp *qp = flow_store_qp(table, fetch->probably);
		at = qp->stream;
		if (at == FLOW_NONE)
			at = qp->peer;
	}
	if (at == FLOW_NONE) {
		fetch_pair(table, packet, aim, fetch);
		return;
	}
	fetch->stream = flow_store_stream(table, at);
	__builtin_prefetch(fetch->stream, 1);
	__builtin_prefetch((const uint8_t *)fetch->stream + 64, 1);
}

void flow_table_fetch_pair(const struct flow_table *table, struct flow_fetch *fetch)
{
	uint32_t at = keyed_tag(fetch->pair);
	if (!fetch->pair)
		return;
	const uint32_t id = keyed_index_next(&table->by_pair, fetch->pair, &at);
	if (id == KEYED_NONE)
		return;
	fetch->newest = flow_store_stream(table, id);
	__builtin_prefetch(fetch->newest, 1);
	__builtin_prefetch((const uint8_t *)fetch->newest + 64, 1);
}

void flow_table_fetch_peer(const struct flow_table *table, const struct flow_fetch *fetch)
{
	if (fetch->newest && fetch->answers && fetch->newest->qp != FLOW_NONE)
		__builtin_prefetch(flow_store_qp(table, fetch->newest->qp), 1);
}

/* ---- one packet ------------------------------------------------------------------ */

/* Aligned bins: a burst that straddles two is seen as its larger part, at worst half. */
static void flow_table_burst(struct flow_table *table, uint64_t bin, uint32_t octets)
{
	if (bin != table->bin) {
		table->bin = bin;
		table->bin_octets = 0;
	}
	table->bin_octets += octets;
	if (table->bin_octets > table->sums.burst_octets)
		table->sums.burst_octets = table->bin_octets;
}

static void stream_burst(struct flow_stream *stream, uint32_t bin, uint32_t octets)
{
	if (bin != stream->bin) {
		stream->bin = bin;
		stream->bin_octets = 0;
	}
	stream->bin_octets += octets;
	if (stream->bin_octets > stream->burst_octets)
		stream->burst_octets = stream->bin_octets;
}

/* The 32 bits of a count are full. */
static void flow_table_carry(struct flow_table *table, struct flow_qp *qp)
{
	struct flow_rare *rare = flow_store_need_rare(table, qp);
	rare->packets_high += qp->packets >> 31;
	rare->ce_high += qp->ce >> 31;
	rare->not_ect_high += qp->not_ect >> 31;
	qp->packets &= INT32_MAX;
	qp->ce &= INT32_MAX;
	qp->not_ect &= INT32_MAX;
}

static void flow_table_sum(struct flow_table *table, const struct roce_packet *packet)
{
	struct flow_totals *sums = &table->sums;
	sums->packets++;
	sums->octets += packet->octets;
	sums->ce += packet->ecn == ECN_CE;
	sums->not_ect += packet->ecn == ECN_NOT_ECT;
}

/* flow_table_ports - a packet of a direction that has used more than one source port. */
static void flow_table_ports(
	struct flow_table *table, struct flow_qp *qp, const struct roce_packet *packet, bool data)
{
	struct flow_rare *rare = flow_store_need_rare(table, qp);
	bool new_port;
	if (!rare->ports) {
		if (table->ports_bytes >= FLOW_PORTS_BYTES_MAX)
			return;
		struct flow_port first = {.octets = qp->octets,
			.packets = qp->packets,
			.ce = qp->ce,
			.not_ect = qp->not_ect,
			.port = (uint16_t)qp->port};
		if (qp->stream != FLOW_NONE)
			first.payload_bytes = flow_store_stream(table, qp->stream)->payload_bytes;
		rare->ports = flow_ports_new(&first);
		qp->many_ports = 1;
		table->ports_bytes += flow_ports_bytes(rare->ports);
	}
	const size_t bytes = flow_ports_bytes(rare->ports);
	struct flow_port *port = flow_ports_at(rare->ports, packet->src_port, &new_port);
	if (new_port) {
		table->ports_bytes += flow_ports_bytes(rare->ports) - bytes;
		flow_evict_distinct(table, qp, packet->src_port);
	}
	/* ACKs and CNPs may have ports of their own: only data is sprayed */
	if (data && qp->stream != FLOW_NONE)
		rare->ports->changes +=
			packet->src_port != flow_store_stream(table, qp->stream)->request_port;
	port->packets++;
	port->octets += packet->octets;
	if (data)
		port->payload_bytes += packet->payload_bytes;
	port->ce += packet->ecn == ECN_CE;
	port->not_ect += packet->ecn == ECN_NOT_ECT;
}

static void flow_table_label(struct flow_table *table, struct flow_qp *qp,
	struct flow_stream *stream, uint32_t flow_label)
{
	struct flow_rare *rare = flow_store_need_rare(table, qp);
	if (!rare->labels) {
		rare->labels = hyperloglog_new(LABELS_PRECISION);
		const uint32_t before = stream->flow_label;
		hyperloglog_add(rare->labels, siphash13_two(&flow_tally_key, before, 0));
	}
	hyperloglog_add(rare->labels, siphash13_two(&flow_tally_key, flow_label, 0));
	rare->label_changes++;
	stream->flow_label = flow_label & 0xfffff;
}

static void flow_psn_range(struct flow_qp *qp, uint32_t psn, unsigned rank)
{
	if (rank > qp->psn_rank) {
		qp->psn_rank = rank & 3;
		qp->psn_first = qp->psn_last = psn;
	} else if (rank == qp->psn_rank && psn_distance(psn, qp->psn_last) > 0) {
		qp->psn_last = psn;
	}
}

/* flow_table_judge - what the packet says about loss. */
static void flow_table_judge(struct flow_table *table, const struct flow_hit *hit, bool data,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct stream_psn *about = NULL;
	if (!table->loss || packet->sampled || packet->opcode == ROCE_OPCODE_CNP)
		return;
	if (hit->about)
		about = &hit->about->psn;
	if (data && hit->stream)
		loss_data(table->loss, &hit->stream->psn, about, packet, t_ns);
	else if (!data && about)
		loss_answer(table->loss, about, packet, t_ns);
}

/* flow_table_data - a request or a response. */
static struct flow_stream *flow_table_data(struct flow_table *table, uint32_t id,
	enum roce_role role, const struct roce_packet *packet)
{
	struct flow_qp *qp = flow_store_qp(table, id);
	struct flow_stream *stream;
	if (qp->stream != FLOW_NONE)
		stream = flow_store_stream(table, qp->stream);
	else
		stream = flow_store_add_stream(table, id);
	if (!stream)
		return NULL;
	if (role == ROLE_REQUEST || !stream->requests)
		stream->request_port = packet->src_port;
	if (role == ROLE_REQUEST && !stream->requests) /* what is written is slow to read soon */
		stream->requests = 1;
	stream->payload_bytes += packet->payload_bytes;
	stream->data_packets += packet->payload_bytes > 0;
	if (packet->flow_label != stream->flow_label) {
		if (stream->data_packets <= 1)
			stream->flow_label = packet->flow_label & 0xfffff;
		else
			flow_table_label(table, qp, stream, packet->flow_label);
	}
	return stream;
}

/* flow_table_answer - a CNP, or a packet with AETH; a READ response is both data and answer. */
static struct flow_stream *flow_table_answer(
	struct flow_table *table, struct flow_qp *qp, const struct roce_packet *packet)
{
	const bool cnp = roce_is_cnp(packet), nak = roce_is_nak(packet);
	const bool rnr = roce_is_rnr_nak(packet);
	/* for ordinary ACKs too: they show which QPs belong together */
	struct flow_stream *about = flow_peer_of(table, qp, packet);
	if (!cnp && !nak && !rnr)
		return about;
	struct flow_rare *rare = flow_store_need_rare(table, qp);
	rare->cnp_sent += cnp;
	rare->nak_sent += nak;
	rare->rnr_nak_sent += rnr;
	table->sums.cnp += cnp;
	table->sums.nak += nak;
	table->sums.rnr_nak += rnr;
	if (!about) {
		table->sums.unattributed++;
		return NULL;
	}
	rare = flow_store_need_rare(table, flow_store_qp(table, about->qp));
	rare->cnp_about += cnp;
	rare->nak_about += nak;
	rare->rnr_nak_about += rnr;
	return about;
}

/* flow_table_place - where @packet belongs; a record is made for it if need be. */
static uint32_t flow_table_place(struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, uint32_t probably)
{
	uint64_t inherited;
	uint32_t id = flow_store_find(table, packet, aim, probably);
	if (id != FLOW_NONE)
		return id;
	if (!flow_evict_make_room(table, &inherited))
		return FLOW_NONE;
	id = flow_store_add(table, packet);
	if (table->error)
		table->error[id] = inherited;
	return id;
}

static void flow_table_refuse(struct flow_table *table, const struct roce_packet *packet)
{
	table->sums.refused++;
	table->sums.cnp += roce_is_cnp(packet);
	table->sums.nak += roce_is_nak(packet);
	table->sums.rnr_nak += roce_is_rnr_nak(packet);
}

static unsigned flow_psn_rank(enum roce_role role)
{
	if (role == ROLE_REQUEST)
		return 3;
	if (role == ROLE_RESPONSE || role == ROLE_RESPONSE_FIRST)
		return 2;
	return 1;
}

void flow_table_add_aimed(struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, uint32_t probably, int64_t t_ns, struct flow_hit *ret)
{
	const uint64_t bin = (uint64_t)t_ns / 1000000;
	flow_table_sum(table, packet);
	if (!packet->sampled) /* the others of its millisecond were not taken */
		flow_table_burst(table, bin, packet->octets);
	const uint32_t id = flow_table_place(table, packet, aim, probably);
	*ret = (struct flow_hit){.id = id, .role = roce_opcode_role(packet->opcode)};
	if (id == FLOW_NONE) {
		flow_table_refuse(table, packet);
		return;
	}
	const unsigned rank = flow_psn_rank(ret->role);
	struct flow_qp *qp = flow_store_qp(table, id);
	ret->qp = qp;
	if (qp->packets == 0) {
		*flow_store_first_ns(table, id) = t_ns;
		qp->port = packet->src_port;
		flow_evict_distinct(table, qp, packet->src_port);
	}
	if (packet->src_port != qp->port || qp->many_ports)
		flow_table_ports(table, qp, packet, rank > 1);
	qp->port = packet->src_port;
	qp->last_ns = t_ns;
	qp->packets++;
	qp->octets += packet->octets;
	qp->ce += packet->ecn == ECN_CE;
	qp->not_ect += packet->ecn == ECN_NOT_ECT;
	if (qp->packets > INT32_MAX)
		flow_table_carry(table, qp);
	flow_psn_range(qp, packet->psn, rank);
	if (rank > 1)
		ret->stream = flow_table_data(table, id, ret->role, packet);
	else if (qp->stream != FLOW_NONE)
		ret->stream = flow_store_stream(table, qp->stream);
	if (ret->stream && !packet->sampled)
		stream_burst(ret->stream, (uint32_t)bin, packet->octets);
	if (packet->has_aeth || packet->aeth_cut || packet->opcode == ROCE_OPCODE_CNP)
		ret->about = flow_table_answer(table, qp, packet);
	flow_table_judge(table, ret, rank > 1, packet, t_ns);
}

void flow_table_add(struct flow_table *table, const struct roce_packet *packet, int64_t t_ns,
	struct flow_hit *ret)
{
	struct flow_hit unused;
	if (!ret)
		ret = &unused;
	if (packet->kind == PACKET_ROCEV1) {
		table->v1_packets++;
		table->v1_octets += packet->octets;
		*ret = (struct flow_hit){.id = FLOW_NONE, .role = ROLE_NONE};
		return;
	}
	struct flow_aim aim;
	flow_table_aim(table, packet, &aim);
	flow_table_add_aimed(table, packet, &aim, FLOW_NONE, t_ns, ret);
}

void flow_table_copy(struct flow_table *table, const struct roce_packet *packet,
	const struct flow_aim *aim, int64_t t_ns, bool odd)
{
	const uint32_t id = flow_store_find(table, packet, aim, FLOW_NONE);
	if (id == FLOW_NONE)
		return;
	struct flow_qp *qp = flow_store_qp(table, id);
	flow_store_need_rare(table, qp)->copies++;
	if (odd && table->loss && qp->stream != FLOW_NONE)
		loss_copied(table->loss, &flow_store_stream(table, qp->stream)->psn, packet, t_ns);
}

/* ---- intervals ------------------------------------------------------------------- */

static void flow_table_next_qp(struct flow_table *table, uint32_t id, unsigned keep)
{
	struct flow_qp *qp = flow_store_qp(table, id);
	unsigned idle = 0;
	if (qp->packets == 0)
		idle = qp->idle + 1u;
	if (idle >= keep) {
		flow_store_drop(table, id);
		return;
	}
	qp->idle = idle & 7;
	qp->octets = 0;
	qp->packets = qp->ce = qp->not_ect = 0;
	if (qp->rare)
		flow_store_clear_rare(table, qp);
	if (qp->stream == FLOW_NONE)
		return;
	struct flow_stream *stream = flow_store_stream(table, qp->stream);
	stream->payload_bytes = 0;
	stream->data_packets = 0;
	stream->bin_octets = stream->burst_octets = 0;
}

void flow_table_next(struct flow_table *table)
{
	unsigned keep = FLOW_IDLE;
	/* A table half full of idle directions would soon let busy ones go. */
	if (flow_pool_live(&table->qps) > table->limit / 2)
		keep = 1;
	for (uint32_t i = 0; i < table->qps.end; i++)
		if (flow_qp_live(flow_store_qp(table, i)))
			flow_table_next_qp(table, i, keep);
	flow_evict_clear(table);
	if (table->loss)
		loss_next(table->loss);
	table->sums = (struct flow_totals){0};
	table->bin_octets = 0;
	table->v1_packets = table->v1_octets = 0;
}
