/* copies: mirrors of many kinds over a clean fabric and over one that loses packets; what is sent
 * again is no copy, and a copy is nothing that was sent again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/loss/copies.h"

/* Both steps, with nothing in between. */
static bool copies_take(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	struct copies_look look;
	copies_look(copies, packet, origin, t_ns, &look);
	return copies_judge(copies, &look);
}

enum { PACKETS_MOST = 40000 };

struct made_frame {
	struct roce_packet packet;
	struct packet_origin origin;
	int64_t t_ns;
	bool copy;
};

struct wire {
	struct made_frame *frames;
	size_t n;
	int64_t t_ns;
	uint16_t id;
};

struct mirror {
	const char *what;
	int copies; /* of each packet */
	int64_t delay_ns, jitter_ns;
	int batch; /* so many packets, then their copies; 0: each after its delay */
	bool ids; /* the sender counts the IP identification up */
	bool other_interface, lower_ttl, other_vlan;
	bool no_icrc; /* cut off by the snap length */
	bool no_answers;
	int lose_first; /* 0: none; else of so many messages in a row of a queue pair all but one
			   miss their second packet, and the sender goes back to it */
	int64_t round_ns; /* to the receiver, and back; 0: 5 us where it sends a NAK */
	int lose_every; /* every so manieth message loses a packet, and the sender goes back; 0:
			   none */
	enum copy_from from;
};

static uint32_t test_random(void)
{
	static uint64_t state = 7;
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33);
}

static void wire_put(struct wire *wire, const struct mirror *mirror, uint8_t opcode, uint32_t psn,
	uint32_t qp, bool back)
{
	struct made_frame *frame = &wire->frames[wire->n++];
	*frame = (struct made_frame){.t_ns = wire->t_ns};
	frame->packet = (struct roce_packet){.kind = PACKET_ROCE,
		.family = 4,
		.opcode = opcode,
		.psn = psn & 0xffffff,
		.dst_qp = qp,
		.ttl = 64,
		.src_port = 50000,
		.payload_bytes = 1024,
		.src = {10, 0, 0, 1},
		.dst = {10, 0, 0, 2}};
	if (back) {
		frame->packet.src[3] = 2;
		frame->packet.dst[3] = 1;
		frame->packet.has_aeth = true;
		frame->packet.payload_bytes = 0;
		frame->packet.syndrome = 0x1f;
		if (opcode == 0xff)
			frame->packet.syndrome = 0x60;
		frame->packet.opcode = 0x11;
	}
	if (mirror->ids)
		frame->packet.ip_id = wire->id++;
	frame->packet.icrc_seen = !mirror->no_icrc;
	if (!mirror->no_icrc)
		frame->packet.icrc_wire = psn * 2654435761u + frame->packet.ip_id;
	wire->t_ns += 100 + test_random() % 60;
}

/* Messages of 40 packets on four queue pairs in turn, each acknowledged after 9 us. */
static void wire_fill(struct wire *wire, const struct mirror *mirror, int messages)
{
	uint32_t next[4] = {100, 5000, 16777200, 77};
	for (int i = 0; i < messages; i++) {
		const uint32_t qp = (uint32_t)i % 4, first = next[qp];
		const bool missing = mirror->lose_first && i / 4 % mirror->lose_first != 0;
		for (uint32_t k = 0; k < 40; k++)
			if (!missing || k != 1)
				wire_put(wire, mirror, 0x07, first + k, 17 + qp, false);
		if (missing) {
			wire->t_ns += mirror->round_ns;
			for (uint32_t k = 1; k < 40; k++)
				wire_put(wire, mirror, 0x07, first + k, 17 + qp, false);
		}
		if (mirror->lose_every && i % mirror->lose_every == mirror->lose_every - 1) {
			const int64_t answer_ns = mirror->round_ns ? mirror->round_ns : 5000;
			wire->t_ns += answer_ns;
			if (!mirror->no_answers)
				wire_put(wire, mirror, 0xff, first + 20, 90 + qp, true);
			wire->t_ns += answer_ns;
			for (uint32_t k = 20; k < 40; k++)
				wire_put(wire, mirror, 0x07, first + k, 17 + qp, false);
		}
		wire->t_ns += 9000;
		if (!mirror->no_answers)
			wire_put(wire, mirror, 0x11, first + 39, 90 + qp, true);
		wire->t_ns += test_random() % 20000;
		next[qp] += 40;
	}
}

static int compare_frames(const void *left, const void *right)
{
	const struct made_frame *a = left, *b = right;
	if (a->t_ns != b->t_ns)
		return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
	return (int)a->copy - (int)b->copy;
}

static void wire_mirror(struct wire *wire, const struct mirror *mirror)
{
	const size_t n = wire->n;
	for (size_t i = 0; i < n; i++) {
		for (int k = 1; k <= mirror->copies; k++) {
			struct made_frame *copy = &wire->frames[wire->n++];
			*copy = wire->frames[i];
			copy->copy = true;
			copy->t_ns += mirror->delay_ns * k;
			if (mirror->jitter_ns)
				copy->t_ns += test_random() % mirror->jitter_ns;
			if (mirror->batch) {
				const size_t last = i - i % (size_t)mirror->batch;
				const size_t end = last + (size_t)mirror->batch - 1;
				if (end < n)
					copy->t_ns = wire->frames[end].t_ns + 1 +
						(int64_t)(i % (size_t)mirror->batch) + k * 50;
			}
			copy->origin.interface = mirror->other_interface * (uint32_t)k * 4;
			copy->packet.ttl = (uint8_t)(64 - mirror->lower_ttl * k);
			copy->packet.n_vlan = mirror->other_vlan;
			copy->packet.vlan = (uint16_t)(mirror->other_vlan * k);
		}
	}
	qsort(wire->frames, wire->n, sizeof(*wire->frames), compare_frames);
}

/* Returns how many were judged wrongly. */
static size_t wire_judge(const struct wire *wire, const struct mirror *mirror, size_t *ret_missed)
{
	struct copies *copies = copies_new(99);
	size_t learn = 512, wrong = 0;
	if (learn > wire->n)
		learn = wire->n;
	*ret_missed = 0;
	for (size_t i = 0; i < learn; i++)
		copies_learn(copies, &wire->frames[i].packet, &wire->frames[i].origin,
			wire->frames[i].t_ns);
	copies_learned(copies);
	uint64_t counted = 0;
	for (size_t i = 0; i < wire->n; i++) {
		const struct made_frame *frame = &wire->frames[i];
		const bool copy = copies_take(copies, &frame->packet, &frame->origin, frame->t_ns);
		counted += copy;
		wrong += copy && !frame->copy;
		*ret_missed += !copy && frame->copy;
	}
	const struct copies_count *count = copies_count(copies);
	assert_int_equal(count->packets, counted);
	assert_int_equal(count->of, wire->n);
	if (mirror->copies && count->packets)
		assert_true(count->from[mirror->from] * 10 >= count->packets * 9);
	copies_free(copies);
	return wrong;
}

static const struct mirror mirrors[] = {
	{"no mirror", .lose_every = 5},
	{"no mirror, identifications", .lose_every = 5, .ids = true},
	{"no mirror, loss everywhere", .lose_every = 1},
	{"no mirror, loss everywhere, no answers", .lose_every = 1, .no_answers = true},
	{"no mirror, no ICRC", .lose_every = 3, .no_icrc = true},
	{"no mirror, no answers, the first of many packets lost", .no_answers = true,
		.lose_first = 4},
	{"both directions of a port", .copies = 1, .delay_ns = 700, .jitter_ns = 300},
	{"both directions, loss", .copies = 1, .delay_ns = 700, .jitter_ns = 300, .lose_every = 5},
	{"both directions, no ICRC", .copies = 1, .delay_ns = 700, .no_icrc = true,
		.lose_every = 5},
	{"both directions, a queue in between", .copies = 1, .delay_ns = 15000, .jitter_ns = 9000},
	{"both directions, a queue, identifications", .copies = 1, .delay_ns = 150000,
		.jitter_ns = 90000, .ids = true, .lose_every = 5},
	{"both directions, out of order, loss", .copies = 1, .delay_ns = 900, .jitter_ns = 900,
		.lose_every = 3},
	{"both directions, a late mirror, loss", .copies = 1, .delay_ns = 2000, .jitter_ns = 2500,
		.lose_every = 3, .round_ns = 4000},
	{"in batches of 32", .copies = 1, .batch = 32},
	{"three times", .copies = 2, .delay_ns = 400},
	{"three times, identifications", .copies = 2, .delay_ns = 4000, .ids = true,
		.lose_every = 4},
	{"two interfaces", .copies = 1, .delay_ns = 9000, .other_interface = true, .lose_every = 5,
		.from = COPY_INTERFACE},
	{"a routed hop", .copies = 1, .delay_ns = 9000, .lower_ttl = true, .lose_every = 5,
		.from = COPY_TTL},
	{"with and without a tag", .copies = 1, .delay_ns = 3000, .other_vlan = true,
		.lose_every = 5, .from = COPY_VLAN},
};

static void test_copies_mirrors(void **state)
{
	int failed = 0;
	for (size_t i = 0; i < rw_countof(mirrors); i++) {
		struct wire wire = {.frames = rw_calloc(PACKETS_MOST, sizeof(*wire.frames)),
			.t_ns = 1700000000000000000ll};
		wire_fill(&wire, &mirrors[i], 100);
		wire_mirror(&wire, &mirrors[i]);
		size_t missed;
		const size_t wrong = wire_judge(&wire, &mirrors[i], &missed);
		if (wrong || missed) {
			print_message(
				"%s: of %zu packets %zu taken for copies, %zu copies not seen\n",
				mirrors[i].what, wire.n, wrong, missed);
			failed++;
		}
		free(wire.frames);
	}
	assert_int_equal(failed, 0);
}

/* One pair of packets, and what tells a copy from one that was sent again. */
static void test_copies_pairs(void **state)
{
	struct pair {
		const char *what;
		bool copy;
		int64_t apart_ns;
		int ttl;
		uint16_t id_before, id,
			id_again; /* of the packet before; of this one; when it comes again */
		uint8_t opcode;
		bool ipv6;
	};
	static const struct pair pairs[] = {
		{"at once, no identification", true, 900, 64, 0, 0, 0, 0x07, false},
		{"later than an answer", false, 9000, 64, 0, 0, 0, 0x07, false},
		{"the same identification, others have others", true, 900000, 64, 6, 7, 7, 0x07,
			false},
		{"another identification", false, 900, 64, 6, 7, 8, 0x07, false},
		{"the same identification as all", false, 9000, 64, 7, 7, 7, 0x07, false},
		{"one hop further", true, 90000, 63, 0, 0, 0, 0x07, false},
		{"one hop less", false, 90000, 65, 0, 0, 0, 0x07, false},
		{"one hop further, too late", false, 200000000, 63, 0, 0, 0, 0x07, false},
		{"IPv6, at once", true, 900, 64, 0, 0, 0, 0x07, true},
		{"IPv6, later", false, 9000, 64, 0, 0, 0, 0x07, true},
		{"two ACKs at once", false, 900, 64, 0, 0, 0, 0x11, false},
		{"two CNPs at once", false, 900, 64, 0, 0, 0, 0x81, false},
	};
	for (size_t i = 0; i < rw_countof(pairs); i++) {
		const struct pair *pair = &pairs[i];
		struct copies *copies = copies_new(i);
		struct roce_packet packet = {.kind = PACKET_ROCE,
			.family = 4,
			.opcode = pair->opcode,
			.psn = 99,
			.ttl = 64,
			.ip_id = pair->id_before,
			.src = {10, 0, 0, 1},
			.dst = {10, 0, 0, 2}};
		if (pair->ipv6)
			packet.family = 6;
		assert_false(copies_take(copies, &packet, NULL, 1000000));
		packet.psn = 100;
		packet.ip_id = pair->id;
		assert_false(copies_take(copies, &packet, NULL, 1000000));
		packet.ttl = (uint8_t)pair->ttl;
		packet.ip_id = pair->id_again;
		if (copies_take(copies, &packet, NULL, 1000000 + pair->apart_ns) != pair->copy)
			fail_msg("%s", pair->what);
		copies_free(copies);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_mirrors),
		cmocka_unit_test(test_copies_pairs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
