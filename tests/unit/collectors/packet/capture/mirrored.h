/* mirrored - the packets of a fabric that loses nothing, of which everything is captured twice; for
 * test_mirrors and test_mirror_seeds. */
#ifndef RW_TESTS_MIRRORED_H
#define RW_TESTS_MIRRORED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collectors/packet/frame/roce_parse.h"

enum { MESSAGE_PACKETS = 16, QPS_MOST = 256 };

struct seen {
	int64_t t_ns;
	uint32_t qp, psn, order;
	bool answer, second;
};

struct mirrored {
	struct seen *seen;
	size_t n;
};

struct setting {
	uint32_t qps, messages; /* of each queue pair */
	int64_t step_ns; /* between two packets of the fabric */
	int64_t lag_ns, jitter_ns; /* of the second mirror; it keeps the order */
	bool sessions; /* two mirror sessions; else all comes from one mirror of both directions */
	bool leads; /* the session nearer to the receiver is captured first */
	bool any_port; /* each queue pair between two hosts of its own */
};

static inline uint32_t mirrored_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static inline int seen_compare(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	if (a->t_ns != b->t_ns)
		return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
	return (a->order > b->order) - (a->order < b->order);
}

static inline void mirrored_put(struct mirrored *wire, const struct setting *setting,
	struct seen seen, int64_t *lag_until, uint64_t *state)
{
	seen.order = (uint32_t)wire->n;
	wire->seen[wire->n++] = seen;
	seen.second = true;
	seen.order = (uint32_t)wire->n;
	seen.t_ns += setting->lag_ns;
	if (setting->jitter_ns)
		seen.t_ns += mirrored_random(state) % setting->jitter_ns;
	if (seen.t_ns < *lag_until)
		seen.t_ns = *lag_until;
	*lag_until = seen.t_ns;
	wire->seen[wire->n++] = seen;
}

/* The queue pairs send in turn by chance; each message is acknowledged at its end. */
static inline void mirrored_fill(
	struct mirrored *wire, const struct setting *setting, uint64_t seed)
{
	uint32_t next[QPS_MOST], left[QPS_MOST];
	uint64_t state = seed;
	const size_t packets = (size_t)setting->qps * setting->messages * MESSAGE_PACKETS;
	wire->n = 0;
	wire->seen = rw_calloc(packets * 2 + packets / MESSAGE_PACKETS * 2, sizeof(*wire->seen));
	int64_t t_ns = 1700000000000000000ll + mirrored_random(&state), lag_until = 0;
	for (uint32_t i = 0; i < setting->qps; i++) {
		next[i] = mirrored_random(&state) & 0xffffff;
		left[i] = setting->messages * MESSAGE_PACKETS;
	}
	for (size_t i = 0; i < packets; i++) {
		uint32_t qp = mirrored_random(&state) % setting->qps;
		while (left[qp] == 0)
			qp = (qp + 1) % setting->qps;
		struct seen seen = {.t_ns = t_ns, .qp = qp, .psn = next[qp]};
		mirrored_put(wire, setting, seen, &lag_until, &state);
		next[qp] = (next[qp] + 1) & 0xffffff;
		left[qp]--;
		t_ns += setting->step_ns;
		if (left[qp] % MESSAGE_PACKETS)
			continue;
		seen.answer = true;
		seen.t_ns = t_ns;
		mirrored_put(wire, setting, seen, &lag_until, &state);
	}
	qsort(wire->seen, wire->n, sizeof(*wire->seen), seen_compare);
}

static inline struct roce_packet seen_packet(const struct seen *seen, const struct setting *setting)
{
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.opcode = 0x07,
		.psn = seen->psn,
		.dst_qp = 0x100 + seen->qp,
		.ttl = 64,
		.src_port = (uint16_t)(50000 + seen->qp),
		.payload_bytes = 1024,
		.octets = 1082,
		.frame_octets = 1082,
		.ecn = ECN_ECT0,
		.icrc_seen = true,
		.icrc_wire = (seen->psn * 2654435761u) ^ seen->qp << 7 ^ seen->answer,
		.src = {10, 0, 0, 1},
		.dst = {10, 0, 1, 2}};
	if (setting->any_port) {
		packet.src[2] = (uint8_t)(2 + seen->qp);
		packet.dst[3] = (uint8_t)(3 + seen->qp);
	}
	if (seen->psn % MESSAGE_PACKETS == 0)
		packet.opcode = 0x06;
	if (seen->answer) {
		uint8_t src[16];
		memcpy(src, packet.src, sizeof(src));
		memcpy(packet.src, packet.dst, sizeof(src));
		memcpy(packet.dst, src, sizeof(src));
		packet.opcode = 0x11;
		packet.dst_qp = 0x9000 + seen->qp;
		packet.has_aeth = true;
		packet.syndrome = 0x1f;
		packet.msn = seen->psn / MESSAGE_PACKETS;
		packet.payload_bytes = 0;
		packet.octets = packet.frame_octets = 62;
	}
	if (!setting->sessions)
		return packet;
	/* the second one stands one hop further on the way of the request */
	packet.mirror = (struct decap_mirror){.layer = LAYER_ERSPAN2,
		.has_session = true,
		.session = (uint16_t)(1 + seen->second)};
	packet.outer_family = 4;
	memcpy(packet.outer_src, (uint8_t[4]){192, 0, 2, (uint8_t)(1 + seen->second)}, 4);
	packet.ttl = (uint8_t)(64 - (seen->second != seen->answer));
	if (setting->leads)
		packet.ttl = (uint8_t)(63 + (seen->second != seen->answer));
	return packet;
}

#endif
