/* flow_peers - finds the stream of the reversed address pair. */
#include "collectors/packet/flow_peers.h"

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

struct flow_stream *flow_peer_of(
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
