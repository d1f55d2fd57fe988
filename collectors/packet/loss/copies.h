/*
 * copies - is this packet one that was captured before? A mirror of both directions of a port, two
 * mirrored ports on one path, or a capture on all interfaces of a host shows packets twice or more
 * often. Such a copy is no retransmission: it is counted here and goes no further.
 *
 * Two packets are alike when addresses, UDP source port, destination QP, PSN, opcode, length, flags
 * and IP identification are equal, and the ICRC where it was captured (it covers all of these and
 * the payload, but neither TTL nor DSCP and ECN: InfiniBand Architecture Specification vol. 1,
 * annex A17.9). A packet alike an earlier one within 100 ms is judged by the first rule that holds:
 *
 *   1. the sender gives each packet another IP identification, and these two have the same: a copy
 *   2. it came through another place (interface, direction, mirror session and its source, VLAN,
 *      or with a lower TTL), and not yet through this one: a copy. What is sent again takes the way
 *      of the first.
 *   3. one more is due, and it came as long after the packet as copies of this capture do: a copy
 *   4. a NAK for it came in between, or it continues a run of packets that were sent again: sent
 *      again
 *   5. nearly every packet of this direction, or of the capture, comes as often as this: a copy
 *   6. it came within 2 us, sooner than an answer goes to the sender and what it sends again comes
 *      back, and nothing was missing before it when it came first: a copy
 * Anything else is not known to be a copy and is passed on.
 *
 * Memory: the newest 16,384 packets in 4,096 lines of one cache line (256 KiB), and small tables
 * that are used for alike packets only (60 KiB). Once copies come, and while it learns: 131,072
 * packets (2 MiB), so that 12 million packets a second are remembered for 1 ms and more whatever
 * the seed of the hash. Single-threaded; time comes with the packets.
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/frame/roce_parse.h"

/* In what a copy differs from the packet. */
enum copy_from {
	COPY_UNKNOWN,
	COPY_DIRECTION,
	COPY_INTERFACE,
	COPY_MIRROR,
	COPY_TTL,
	COPY_VLAN,
	COPY_FROM_COUNT
};
const char *copy_from_word(enum copy_from from); /* "direction": stands in the document */

struct copies_count {
	uint64_t packets; /* copies */
	uint64_t of; /* RoCE packets looked at, copies included */
	uint64_t from[COPY_FROM_COUNT];
	int64_t delay_sum_ns, delay_most_ns; /* after the packet they are copies of */
	bool systematic; /* nearly every packet comes more than once */
};

struct copies;

struct copies *copies_new(uint64_t seed); /* @seed: of the hash */
void copies_free(struct copies *copies); /* NULL is fine */

/*
 * copies_learn - look at a packet that will be handed to copies_take() later, so that rule 5 is
 * known from the first packet on. copies_learned() ends this.
 */
void copies_learn(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns);
void copies_learned(struct copies *copies);

/* What of a packet tells whether it is a copy. */
struct copies_look {
	const struct roce_packet *packet; /* lent until it is judged */
	uint64_t hash;
	uint32_t now;
	uint16_t print, icrc;
	uint8_t more, vlan, place;
	bool data; /* has a PSN of its own */
};

/*
 * copies_look, copies_judge - true when @packet, of kind PACKET_ROCE, is a copy. In two steps, with
 * other packets in between: the memory that the second needs is asked for by the first. Packets are
 * judged in the order in which they were looked at.
 *
 * @origin  NULL when there is one place only
 */
void copies_look(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns, struct copies_look *ret);
bool copies_judge(struct copies *copies, const struct copies_look *look);

const struct copies_count *copies_count(const struct copies *copies);

/* copies_next - the counts go to 0; what was learned stays. */
void copies_next(struct copies *copies);
