/* mirrors: a fabric that loses nothing, of which everything is captured twice. No packet may be
 * told as sent again, at any rate, after any time up to 1 ms, and with any seed of the hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/base/cleanup.h"
#include "collectors/packet/capture_analysis.h"

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

static uint32_t mirrored_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static int seen_compare(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	if (a->t_ns != b->t_ns)
		return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
	return (a->order > b->order) - (a->order < b->order);
}

static void mirrored_put(struct mirrored *wire, const struct setting *setting, struct seen seen,
	int64_t *lag_until, uint64_t *state)
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
static void mirrored_fill(struct mirrored *wire, const struct setting *setting, uint64_t seed)
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

static struct roce_packet seen_packet(const struct seen *seen, const struct setting *setting)
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

/* What an analysis says of the fabric. */
struct said {
	struct flow_totals totals;
	uint64_t copies, events[LOSS_CAUSE_COUNT];
};

static struct said mirrored_said(
	const struct mirrored *wire, const struct setting *setting, uint64_t seed)
{
	struct capture_analysis analysis;
	struct said said = {0};
	capture_analysis_init(&analysis,
		&(struct analysis_options){.flow_limit = 4096, .sampling = 1, .seed = seed});
	for (size_t i = 0; i < wire->n; i++) {
		const struct roce_packet packet = seen_packet(&wire->seen[i], setting);
		capture_analysis_packet(&analysis, &packet, NULL, wire->seen[i].t_ns);
	}
	capture_analysis_flush(&analysis);
	struct loss *loss = flow_table_loss(analysis.flows);
	loss_end(loss, 0);
	flow_table_totals(analysis.flows, &said.totals);
	memcpy(said.events, loss_totals(loss)->events, sizeof(said.events));
	said.copies = copies_count(analysis.copies)->packets;
	capture_analysis_end(&analysis);
	return said;
}

static bool said_wrong(const struct said *said, const struct mirrored *wire)
{
	const struct psn_counts *psn = &said->totals.psn;
	uint64_t events = 0;
	for (int i = 0; i < LOSS_CAUSE_COUNT; i++)
		if (i != LOSS_COPY)
			events += said->events[i];
	return said->copies != wire->n / 2 || said->totals.packets != wire->n / 2 || psn->gaps ||
		psn->retransmits || psn->duplicates || psn->reordered || psn->restarts || events;
}

static bool setting_check(const struct setting *setting, uint64_t wire_seed, uint64_t hash_seed)
{
	struct mirrored wire;
	mirrored_fill(&wire, setting, wire_seed);
	const struct said said = mirrored_said(&wire, setting, hash_seed);
	const bool wrong = said_wrong(&said, &wire);
	if (wrong)
		print_message(
			"%u queue pairs, a packet each %ld ns, %s, %ld ns later, seeds %lu and "
			"%lu: %lu of %zu copies, %lu gaps, %lu sent again, %lu late, %lu "
			"twice, %lu ACKs lost\n",
			setting->qps, (long)setting->step_ns,
			setting->sessions ? "two sessions" : "one mirror", (long)setting->lag_ns,
			(unsigned long)wire_seed, (unsigned long)hash_seed,
			(unsigned long)said.copies, wire.n / 2, (unsigned long)said.totals.psn.gaps,
			(unsigned long)said.totals.psn.retransmits,
			(unsigned long)said.totals.psn.reordered,
			(unsigned long)said.totals.psn.duplicates,
			(unsigned long)said.events[LOSS_ACK]);
	free(wire.seen);
	return wrong;
}

static const int64_t lags_ns[] = {0, 100, 700, 2500, 5000, 10000, 20000, 40000, 200000, 1000000};

/* Rates of 1, 5 and 12 million packets a second. */
static void test_mirrors_lags(void **state)
{
	static const int64_t steps_ns[] = {1000, 200, 83};
	int wrong = 0;
	for (size_t i = 0; i < rw_countof(steps_ns); i++)
		for (size_t k = 0; k < rw_countof(lags_ns); k++)
			for (int sessions = 0; sessions <= 2; sessions++) {
				const struct setting setting = {.qps = 4,
					.messages = 300,
					.step_ns = steps_ns[i],
					.lag_ns = lags_ns[k],
					.sessions = sessions > 0,
					.leads = sessions == 2};
				wrong += setting_check(&setting, 11 + i, 5 + k);
			}
	assert_int_equal(wrong, 0);
}

/* More queue pairs, a mirror whose delay varies, hosts of their own. */
static void test_mirrors_many(void **state)
{
	static const struct setting settings[] = {
		{.qps = 1, .messages = 1200, .step_ns = 83, .lag_ns = 40000},
		{.qps = 32, .messages = 40, .step_ns = 83, .lag_ns = 40000, .jitter_ns = 3000},
		{.qps = 200, .messages = 8, .step_ns = 83, .lag_ns = 40000, .any_port = true},
		{.qps = 200, .messages = 8, .step_ns = 83, .lag_ns = 10000, .any_port = true},
		{.qps = 200,
			.messages = 8,
			.step_ns = 100,
			.lag_ns = 40000,
			.any_port = true,
			.sessions = true},
	};
	int wrong = 0;
	for (size_t i = 0; i < rw_countof(settings); i++)
		wrong += setting_check(&settings[i], 3, 4);
	assert_int_equal(wrong, 0);
}

/* Another seed of the hashes, the same answer. */
static void test_mirrors_seeds(void **state)
{
	const struct setting setting = {
		.qps = 4, .messages = 40, .step_ns = 200, .lag_ns = 20000, .jitter_ns = 900};
	struct mirrored wire;
	mirrored_fill(&wire, &setting, 1);
	const struct said first = mirrored_said(&wire, &setting, 0);
	int differ = 0;
	for (uint64_t seed = 1; seed < 200; seed++) {
		const struct said said =
			mirrored_said(&wire, &setting, seed * 0x9E3779B97F4A7C15ull);
		differ += memcmp(&said, &first, sizeof(said)) != 0;
	}
	free(wire.seen);
	assert_int_equal(differ, 0);
}

/* The hash of copies.c itself, 20,000 seeds over a small capture of which all comes twice. */
static void test_mirrors_hash(void **state)
{
	const struct setting setting = {.qps = 1, .messages = 24, .step_ns = 200, .lag_ns = 4000};
	struct mirrored wire;
	mirrored_fill(&wire, &setting, 8);
	rw_cleanup(freep) struct roce_packet *packets = rw_calloc(wire.n, sizeof(*packets));
	for (size_t i = 0; i < wire.n; i++)
		packets[i] = seen_packet(&wire.seen[i], &setting);
	int wrong = 0;
	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct copies *copies = copies_new(seed * 0xD1B54A32D192ED03ull);
		for (size_t i = 0; i < wire.n; i++)
			copies_learn(copies, &packets[i], NULL, wire.seen[i].t_ns);
		copies_learned(copies);
		for (size_t i = 0; i < wire.n; i++)
			copies_take(copies, &packets[i], NULL, wire.seen[i].t_ns);
		wrong += copies_count(copies)->packets != wire.n / 2;
		copies_free(copies);
	}
	free(wire.seen);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mirrors_lags),
		cmocka_unit_test(test_mirrors_many),
		cmocka_unit_test(test_mirrors_seeds),
		cmocka_unit_test(test_mirrors_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
