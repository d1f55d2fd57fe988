/*
 * loss_read - READs: which PSNs their responses use, and what became of the responses. Request and
 * responses are two streams; each knows the rare part of the other.
 */
#include "collectors/packet/loss_state.h"

enum { MTU_LEAST = 256, MTU_MOST = 4096 };

/* ---- READ requests ---------------------------------------------------------- */

void loss_read_note(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	own->next |= (uint32_t)NEXT_AFTER_READ << LOSS_FLAG_SHIFT;
	struct loss_rare *rare = loss_rare_get(loss, own);
	if (!rare)
		return;
	rare->read_ns = t_ns;
	for (int i = LOSS_READS - 1; i > 0; i--)
		rare->reads[i] = rare->reads[i - 1];
	rare->reads[0].psn = packet->psn;
	rare->reads[0].octets = READ_OCTETS_UNKNOWN;
	if (packet->has_reth)
		rare->reads[0].octets = packet->reth_bytes;
	if (rare->n_reads < LOSS_READS)
		rare->n_reads++;
}

/* PSNs that the responses of a READ of @octets use; at least one. */
static uint32_t read_span(uint32_t octets, uint32_t mtu)
{
	const uint32_t span = octets / mtu + (octets % mtu != 0);
	if (span == 0)
		return 1;
	return span;
}

/* The path MTU as the responses show it, else from MTU_LEAST to MTU_MOST. */
static void read_mtus(const struct loss *loss, const struct loss_rare *rare, uint32_t *ret_least,
	uint32_t *ret_most)
{
	*ret_least = MTU_LEAST;
	*ret_most = MTU_MOST;
	if (rare->peer && loss->rares[rare->peer - 1].mtu)
		*ret_least = *ret_most = loss->rares[rare->peer - 1].mtu;
}

/* read_explains - did the newest READ use the @ahead PSNs that were jumped over, for its responses?
 * *ret_missing: how many it did not use. The path MTU is one of five. */
bool loss_read_explains(const struct loss *loss, const struct stream_psn *own, uint32_t ahead,
	uint32_t *ret_missing)
{
	const struct loss_rare *rare = loss_rare_of(loss, own);
	*ret_missing = 0;
	if (!rare || rare->n_reads == 0 || rare->reads[0].octets == READ_OCTETS_UNKNOWN)
		return true;
	uint32_t most = 0, least_mtu, most_mtu;
	read_mtus(loss, rare, &least_mtu, &most_mtu);
	for (uint32_t mtu = least_mtu; mtu <= most_mtu; mtu *= 2) {
		const uint32_t span = read_span(rare->reads[0].octets, mtu);
		if (span == ahead + 1)
			return true;
		if (span <= ahead && span > most)
			most = span;
	}
	if (most == 0)
		return true;
	*ret_missing = ahead + 1 - most;
	return false;
}

/* How many PSNs the newest READ uses; where that is not known, those seen up to @high, and it may
 * be more: *ret_whole is false. */
static uint32_t read_end(
	const struct loss *loss, const struct loss_rare *rare, uint32_t high, bool *ret_whole)
{
	const uint32_t mtu = loss->rares[rare->peer - 1].mtu, octets = rare->reads[0].octets;
	const uint32_t seen = (high - rare->reads[0].psn) & PSN_MASK;
	*ret_whole = mtu && octets != READ_OCTETS_UNKNOWN && read_span(octets, mtu) >= seen;
	if (!*ret_whole)
		return seen;
	return read_span(octets, mtu);
}

/*
 * read_part - is this READ request the rest of the newest one, asked for again from the middle of
 * its responses on? Then what it asks for ends where that one ended. Returns the PSNs that the
 * newest one uses, or 0. *ret_whole: it does not use more of them.
 */
uint32_t loss_read_part(const struct loss *loss, const struct stream_psn *own,
	const struct roce_packet *packet, bool *ret_whole)
{
	const struct loss_rare *rare = loss_rare_of(loss, own);
	uint32_t least_mtu, most_mtu, missing;
	*ret_whole = true;
	if (!loss_is_read(packet) || !rare || rare->n_reads == 0)
		return 0;
	/* its PSN is one of responses that were seen already */
	if (rare->peer && loss->rares[rare->peer - 1].valid) {
		const uint32_t high = loss->rares[rare->peer - 1].high;
		if (psn_distance(high, packet->psn) > 0 &&
			psn_distance(packet->psn, rare->reads[0].psn) > 0)
			return read_end(loss, rare, high, ret_whole);
	}
	if (!packet->has_reth)
		return 0;
	const uint32_t octets = rare->reads[0].octets;
	const uint32_t from = (packet->psn - rare->reads[0].psn) & PSN_MASK;
	read_mtus(loss, rare, &least_mtu, &most_mtu);
	if (from == 0)
		return 0;
	/* with the MTU unknown a new READ could look like that */
	if (least_mtu != most_mtu && loss_read_explains(loss, own, from - 1, &missing))
		return 0;
	for (uint32_t mtu = least_mtu; mtu <= most_mtu; mtu *= 2)
		if (octets != READ_OCTETS_UNKNOWN && from < read_span(octets, mtu) &&
			(uint64_t)from * mtu + packet->reth_bytes == octets)
			return read_span(octets, mtu);
	return 0;
}

/* ---- responses -------------------------------------------------------------- */

void loss_read_pair(struct loss *loss, struct stream_psn *own, const struct stream_psn *about)
{
	struct loss_rare *here = loss_rare_of(loss, own);
	struct loss_rare *there = loss_rare_of(loss, about);
	if (!here || !there || here == there || here->peer == about->rare)
		return;
	if (here->peer)
		loss->rares[here->peer - 1].peer = 0;
	if (there->peer)
		loss->rares[there->peer - 1].peer = 0;
	here->peer = about->rare;
	there->peer = own->rare;
}

/* Where the responses of the READ that @psn answers begin; false when that READ is not known. */
static bool response_start(
	const struct loss *loss, const struct loss_rare *rare, uint32_t psn, uint32_t *ret)
{
	if (!rare->peer)
		return false;
	const struct loss_rare *requester = &loss->rares[rare->peer - 1];
	for (int i = 0; i < requester->n_reads; i++)
		if (psn_distance(psn, requester->reads[i].psn) >= 0) {
			*ret = requester->reads[i].psn;
			return true;
		}
	return false;
}

static void response_gap(struct loss *loss, struct stream_psn *own, uint32_t from,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	if (rare->gap_open)
		loss_judge_response_gap(loss, rare, PROOF_NO_EVIDENCE, 0, 0);
	const uint32_t width = (packet->psn - from) & PSN_MASK;
	loss->totals.psn.gaps++;
	loss->totals.psn.missing += width;
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	if (!story)
		return;
	story->counts.gaps++;
	story->counts.missing += width;
	rare->gap_open = true;
	rare->gap = (struct loss_gap){
		.t_ns = t_ns, .from = from, .to = packet->psn, .id_after = packet->ip_id};
}

static bool reads_readable(const struct loss_rare *requester)
{
	return requester->n_reads && requester->reads[0].octets != READ_OCTETS_UNKNOWN;
}

/* response_behind - a response that is not the most advanced one: late, or sent again. */
static void response_behind(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	if (!story)
		return;
	const bool fills = rare->gap_open && psn_distance(packet->psn, rare->gap.from) >= 0 &&
		psn_distance(packet->psn, rare->gap.to) < 0;
	const bool goes_on = rare->again && packet->psn == rare->again_next;
	if (!fills && !goes_on)
		rare->again_from = packet->psn;
	rare->again = !fills || goes_on;
	rare->again_next = (packet->psn + 1) & PSN_MASK;
	rare->gap.touched |= fills && goes_on;
	if (!fills) {
		story->counts.retransmits++;
		loss->totals.psn.retransmits++;
		return;
	}
	rare->gap.filled++;
	if (rare->gap.filled < ((rare->gap.to - rare->gap.from) & PSN_MASK))
		return;
	if (rare->gap.touched) {
		story->counts.retransmits += rare->gap.filled;
		loss->totals.psn.retransmits += rare->gap.filled;
		loss_judge_response_gap(loss, rare, PROOF_READ_WITH, rare->again_from, t_ns);
		return;
	}
	story->counts.reordered += rare->gap.filled;
	loss->totals.psn.reordered += rare->gap.filled;
	enum loss_proof proof = PROOF_LATE_UNCLEAR;
	/* a request for it would have been seen, and known for what it is */
	if (rare->peer && reads_readable(&loss->rares[rare->peer - 1]))
		proof = PROOF_LATE_NO_NAK;
	loss_judge_response_gap(loss, rare, proof, packet->psn, t_ns);
}

/* Behind by so much that it is no response of a READ still under way. */
static bool response_anew(const struct loss_rare *rare, uint32_t psn)
{
	const int32_t ahead = psn_distance(psn, rare->high);
	return ahead < -PSN_BACK_MAX || ahead > PSN_AHEAD_MAX;
}

void loss_response_add(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	const unsigned operation = packet->opcode & 31;
	const bool first = operation == 0x0d || operation == 0x10;
	const bool last = operation == 0x0f || operation == 0x10;
	const uint32_t after = (packet->psn + 1) & PSN_MASK;
	uint32_t start;
	if (!rare->valid || (first && response_anew(rare, packet->psn))) {
		rare->valid = true;
		rare->high = packet->psn;
		/* the first ones of this READ are missing */
		if (!first && response_start(loss, rare, packet->psn, &start))
			rare->high = start;
	}
	if (packet->payload_bytes && !last)
		rare->mtu = packet->payload_bytes;
	const int32_t ahead = psn_distance(packet->psn, rare->high);
	uint32_t from = rare->high;
	bool missing = ahead > 0 && ahead <= PSN_AHEAD_MAX && (rare->open || !first);
	/* between messages other requests use PSNs, too: count from the start of this READ */
	if (missing && !rare->open && response_start(loss, rare, packet->psn, &start) &&
		psn_distance(start, from) > 0)
		from = start;
	missing = missing && from != packet->psn;
	if (missing)
		loss_step_note(loss, (packet->psn - from) & PSN_MASK);
	else
		loss->in_order += !first && ahead == 0;
	if (missing)
		response_gap(loss, own, from, packet, t_ns);
	else if (ahead < 0)
		response_behind(loss, own, packet, t_ns);
	rare = loss_rare_of(loss, own);
	if (ahead >= 0) {
		rare->high = after;
		rare->again = false;
	}
	rare->open = !last;
}
