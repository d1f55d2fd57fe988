/* pcap: one queue pair whose packets take many paths with one source port, as adaptive routing
 * sends them. The receiver takes packets in any order and asks for one that does not come for
 * longer than the paths differ. What is lost is known here; nothing may be told of the other side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/capture/pcap_document.h"
#include "agent/capture/pcap_sampling.h"
#include "base/cleanup.h"
#include "collectors/packet/loss/loss.h"

enum { PACKETS = 9000, LOSSES = 5, MESSAGE = 16, EVENTS_MOST = 40000, BACK_NS = 4000 };

struct spray {
	int paths;
	int64_t skew_ns; /* the slowest path after the fastest one */
	int64_t step_ns; /* between two packets of the sender */
	enum { LOST_NOWHERE, LOST_BEFORE, LOST_BEYOND } lost;
	bool goes_back; /* to the one asked for; else it sends that one alone */
	bool in_turn; /* paths in turn; else drawn */
};

/* What comes to a place at a time. */
struct coming {
	int64_t t_ns;
	uint32_t psn, order;
	enum { TO_TAP, TO_RECEIVER, ANSWER_TO_TAP, ANSWER_TO_SENDER } to;
	bool nak;
};

struct spray_run {
	const struct spray *spray;
	struct pcap_reading *reading;
	struct coming *heap;
	size_t n;
	uint32_t base, order, expected, high, asked, answered;
	int64_t sender_ns, hole_ns;
	uint64_t random;
	bool arrived[PACKETS], lost[PACKETS];
	uint32_t next;
	bool asked_valid;
};

static uint32_t spray_random(struct spray_run *run)
{
	run->random = run->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(run->random >> 33);
}

static bool coming_sooner(const struct coming *left, const struct coming *right)
{
	if (left->t_ns != right->t_ns)
		return left->t_ns < right->t_ns;
	return left->order < right->order;
}

static void coming_put(struct spray_run *run, struct coming coming)
{
	size_t at = run->n++;
	assert_true(run->n < EVENTS_MOST);
	coming.order = run->order++;
	for (; at && coming_sooner(&coming, &run->heap[(at - 1) / 2]); at = (at - 1) / 2)
		run->heap[at] = run->heap[(at - 1) / 2];
	run->heap[at] = coming;
}

static struct coming coming_take(struct spray_run *run)
{
	const struct coming first = run->heap[0], last = run->heap[--run->n];
	size_t at = 0;
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= run->n)
			break;
		if (child + 1 < run->n && coming_sooner(&run->heap[child + 1], &run->heap[child]))
			child++;
		if (coming_sooner(&last, &run->heap[child]))
			break;
		run->heap[at] = run->heap[child];
		at = child;
	}
	run->heap[at] = last;
	return first;
}

static void spray_send(struct spray_run *run, uint32_t psn)
{
	const struct spray *spray = run->spray;
	uint32_t path = psn % (uint32_t)spray->paths;
	if (!spray->in_turn)
		path = spray_random(run) % (uint32_t)spray->paths;
	const int64_t way_ns = 2000 + spray->skew_ns * path / (spray->paths - 1);
	if (!(spray->lost == LOST_BEFORE && run->lost[psn]))
		coming_put(run, (struct coming){run->sender_ns + way_ns, psn, 0, TO_TAP, false});
	else
		run->lost[psn] = false;
	run->sender_ns += spray->step_ns;
}

static void spray_see(struct spray_run *run, const struct coming *coming)
{
	const bool answer = coming->to == ANSWER_TO_TAP;
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.opcode = answer ? 0x11 : 0x07,
		.psn = (run->base + coming->psn) & 0xffffff,
		.dst_qp = answer ? 0x9000 : 0x100,
		.ttl = 64,
		.src_port = 50000,
		.payload_bytes = answer ? 0 : 1024,
		.octets = answer ? 62 : 1082,
		.frame_octets = answer ? 62 : 1082,
		.ecn = ECN_ECT0,
		.src = {10, 0, 0, answer ? 2 : 1},
		.dst = {10, 0, 0, answer ? 1 : 2}};
	if (!answer && coming->psn % MESSAGE == 0)
		packet.opcode = 0x06;
	if (!answer && coming->psn % MESSAGE == MESSAGE - 1)
		packet.opcode = 0x08;
	packet.ack_req = !answer && coming->psn % MESSAGE == MESSAGE - 1;
	if (answer) {
		packet.has_aeth = true;
		packet.syndrome = coming->nak ? 0x60 : 0x1f;
		packet.msn = coming->psn / MESSAGE;
	}
	pcap_reading_packet(run->reading, &packet, NULL, coming->t_ns);
}

static void spray_answer(struct spray_run *run, int64_t t_ns, uint32_t psn, bool nak)
{
	coming_put(run, (struct coming){t_ns + 1000, psn, 0, ANSWER_TO_TAP, nak});
}

static void spray_receive(struct spray_run *run, const struct coming *coming)
{
	const int64_t patience_ns = run->spray->skew_ns * 2 + 3000;
	if (run->expected == run->high)
		run->hole_ns = coming->t_ns; /* nothing is missing until now */
	run->arrived[coming->psn] = true;
	if (coming->psn >= run->high)
		run->high = coming->psn + 1;
	const uint32_t before = run->expected;
	while (run->expected < PACKETS && run->arrived[run->expected])
		run->expected++;
	if (run->expected != before)
		run->hole_ns = coming->t_ns;
	if (run->expected / MESSAGE != before / MESSAGE)
		spray_answer(run, coming->t_ns, run->expected - 1, false);
	const bool waits = run->expected < run->high;
	const bool asked = run->asked_valid && run->asked == run->expected;
	if (!waits || asked || coming->t_ns - run->hole_ns < patience_ns)
		return;
	run->asked = run->expected;
	run->asked_valid = true;
	spray_answer(run, coming->t_ns, run->expected, true);
}

static void spray_take(struct spray_run *run, const struct coming *coming)
{
	switch (coming->to) {
	case TO_TAP:
		spray_see(run, coming);
		if (run->spray->lost == LOST_BEYOND && run->lost[coming->psn])
			run->lost[coming->psn] = false;
		else
			coming_put(run,
				(struct coming){
					coming->t_ns + 3000, coming->psn, 0, TO_RECEIVER, false});
		break;
	case TO_RECEIVER: spray_receive(run, coming); break;
	case ANSWER_TO_TAP:
		spray_see(run, coming);
		coming_put(run,
			(struct coming){coming->t_ns + BACK_NS, coming->psn, 0, ANSWER_TO_SENDER,
				coming->nak});
		break;
	case ANSWER_TO_SENDER:
		if (!coming->nak)
			break;
		if (run->sender_ns < coming->t_ns)
			run->sender_ns = coming->t_ns;
		if (run->spray->goes_back)
			run->next = coming->psn;
		else
			spray_send(run, coming->psn);
		break;
	}
}

struct spray_told {
	uint64_t right, wrong, unknown, missed, others;
	bool known;
};

static void spray_play(const struct spray *spray, uint64_t seed, struct spray_told *told)
{
	static const struct pcap_options none;
	struct spray_run *run = rw_calloc(1, sizeof(*run));
	run->spray = spray;
	run->random = seed * 0x9E3779B97F4A7C15ull + 1;
	run->heap = rw_calloc(EVENTS_MOST, sizeof(*run->heap));
	run->reading = pcap_reading_new(&none);
	run->base = spray_random(run) & 0xffffff;
	run->sender_ns = run->hole_ns = 1700000000000000000ll + spray_random(run);
	for (int i = 0; i < LOSSES && spray->lost != LOST_NOWHERE; i++)
		run->lost[(uint32_t)(i + 1) * 900 + spray_random(run) % 500] = true;
	while (run->n || run->next < PACKETS) {
		while (run->next < PACKETS && (run->n == 0 || run->sender_ns <= run->heap[0].t_ns))
			spray_send(run, run->next++);
		const struct coming coming = coming_take(run);
		spray_take(run, &coming);
	}
	assert_int_equal(run->expected, PACKETS);
	json_t *document = pcap_document(run->reading);
	const uint64_t *events = loss_totals(flow_table_loss(run->reading->analysis.flows))->events;
	uint64_t lost = 0;
	if (spray->lost != LOST_NOWHERE)
		lost = LOSSES;
	uint64_t right = events[LOSS_BEFORE] + events[LOSS_SELECTIVE], other = events[LOSS_BEYOND];
	if (spray->lost == LOST_BEYOND) {
		right = events[LOSS_BEYOND];
		other = events[LOSS_BEFORE] + events[LOSS_SELECTIVE];
	}
	other += events[LOSS_CAPTURE] + events[LOSS_TIMEOUT] + events[LOSS_ACK] +
		events[LOSS_RECONNECTED] + events[LOSS_RNR];
	if (right > lost) { /* one loss told twice */
		other += right - lost;
		right = lost;
	}
	told->right += right;
	told->others += events[LOSS_REORDERED];
	told->wrong += other;
	told->unknown += events[LOSS_UNKNOWN];
	told->missed += lost - right;
	told->known &= pcap_psn_known(run->reading);
	json_decref(document);
	pcap_reading_free(run->reading);
	free(run->heap);
	free(run);
}

static void test_spray(void **state)
{
	static const int paths[] = {2, 4, 8, 64};
	static const int64_t skews_ns[] = {2000, 10000, 40000};
	static const int64_t steps_ns[] = {83, 1000};
	enum { SEEDS = 3 };
	int failed = 0;
	for (int i = 0; i < 4 * 3 * 2 * 3 * 2 * 2; i++) {
		const struct spray spray = {.paths = paths[i % 4],
			.skew_ns = skews_ns[i / 4 % 3],
			.step_ns = steps_ns[i / 12 % 2],
			.lost = i / 24 % 3,
			.goes_back = i / 72 % 2,
			.in_turn = i / 144 % 2};
		struct spray_told told = {.known = true};
		if (spray.lost == LOST_NOWHERE && spray.goes_back)
			continue;
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			spray_play(&spray, seed, &told);
		const uint64_t all = told.right + told.wrong + told.unknown + told.others;
		if (told.wrong == 0 && told.unknown * 20 <= all && told.missed * 20 <= all &&
			told.known)
			continue;
		failed++;
		print_message("%d paths, %ld ns apart, a packet each %ld ns, lost %d, back %d, "
			      "in turn %d: %lu right, %lu wrong, %lu unknown, %lu not told, "
			      "order known %d\n",
			spray.paths, (long)spray.skew_ns, (long)spray.step_ns, spray.lost,
			spray.goes_back, spray.in_turn, (unsigned long)told.right,
			(unsigned long)told.wrong, (unsigned long)told.unknown,
			(unsigned long)told.missed, told.known);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_spray)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
