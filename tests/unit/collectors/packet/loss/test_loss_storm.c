/* loss: senders that go back again and again. What is lost is lost on one side of the capture,
 * resends too; nothing may be told of the other side. */
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
#include "tests/unit/collectors/packet/loss/loss_script.h"

enum { PACKETS = 3000, FLIGHT_MOST = 1024, STEP_NS = 100, TIMER_NS = 4000000 };

struct storm {
	const char *what;
	bool beyond; /* the losses are behind the capture point; else before it */
	int one_in; /* of all that is sent, resends too; 0: only what .first says */
	uint32_t window; /* packets without an answer */
	int64_t before_ns, behind_ns; /* to the capture point, and from it to the receiver */
	uint32_t first; /* so many of the first packets of the queue pair are lost */
	bool old; /* the capture began long before the queue pair */
};

/* A link: what is on its way, in order. */
struct link {
	int64_t t_ns[FLIGHT_MOST * 4];
	uint32_t psn[FLIGHT_MOST * 4], from, to;
	bool nak[FLIGHT_MOST * 4];
};

static void link_put(struct link *link, int64_t t_ns, uint32_t psn, bool nak)
{
	const uint32_t at = link->to++ % (FLIGHT_MOST * 4);
	link->t_ns[at] = t_ns;
	link->psn[at] = psn;
	link->nak[at] = nak;
}

static bool link_take(struct link *link, int64_t t_ns, uint32_t *ret_psn, bool *ret_nak)
{
	const uint32_t at = link->from % (FLIGHT_MOST * 4);
	if (link->from == link->to || link->t_ns[at] > t_ns)
		return false;
	*ret_psn = link->psn[at];
	*ret_nak = link->nak[at];
	link->from++;
	return true;
}

struct storm_run {
	const struct storm *storm;
	struct loss_script script;
	struct link to_tap, to_receiver, to_tap_back, to_sender;
	uint32_t base, next, oldest, high; /* of the sender: the next one, the first unanswered */
	uint32_t expected; /* of the receiver */
	bool nak_sent;
	int64_t t_ns, progress_ns;
	uint64_t random, lost;
	uint32_t firsts; /* so many of the first packets were lost */
};

static bool storm_loses(struct storm_run *run, uint32_t psn)
{
	const struct storm *storm = run->storm;
	run->random = run->random * 6364136223846793005ull + 1442695040888963407ull;
	const bool first = psn < storm->first && psn == run->firsts;
	run->firsts += first;
	const bool chance = storm->one_in && (run->random >> 33) % (uint64_t)storm->one_in == 0;
	run->lost += first || chance;
	return first || chance;
}

static void storm_send(struct storm_run *run)
{
	const struct storm *storm = run->storm;
	if (run->next - run->oldest >= storm->window || run->next >= PACKETS) {
		if (run->t_ns - run->progress_ns < TIMER_NS)
			return;
		run->next = run->oldest;
		run->progress_ns = run->t_ns;
	}
	if (storm->beyond || !storm_loses(run, run->next))
		link_put(&run->to_tap, run->t_ns + storm->before_ns, run->next, false);
	run->next++;
}

static void storm_receive(struct storm_run *run, uint32_t psn)
{
	const int64_t t_ns = run->t_ns + run->storm->behind_ns;
	if (psn == run->expected) {
		run->expected++;
		run->nak_sent = false;
		if (run->expected % 16 == 0 || run->expected == PACKETS)
			link_put(&run->to_tap_back, t_ns, psn, false);
	} else if (psn > run->expected && !run->nak_sent) {
		run->nak_sent = true;
		link_put(&run->to_tap_back, t_ns, run->expected, true);
	} else if (psn < run->expected) {
		link_put(&run->to_tap_back, t_ns, run->expected - 1, false);
	}
}

static void storm_answered(struct storm_run *run, uint32_t psn, bool nak)
{
	uint32_t oldest = psn + 1;
	run->progress_ns = run->t_ns;
	if (nak)
		run->next = oldest = psn;
	if (oldest > run->oldest)
		run->oldest = oldest;
	if (run->next < run->oldest)
		run->next = run->oldest;
}

static void storm_step(struct storm_run *run)
{
	uint32_t psn;
	bool nak;
	while (link_take(&run->to_sender, run->t_ns, &psn, &nak))
		storm_answered(run, psn, nak);
	storm_send(run);
	run->script.t_ns = run->t_ns;
	while (link_take(&run->to_tap, run->t_ns, &psn, &nak)) {
		script_packet(&run->script, 0x0a, run->base + psn, 0);
		if (!run->storm->beyond || !storm_loses(run, psn))
			link_put(&run->to_receiver, run->t_ns + run->storm->behind_ns, psn, false);
	}
	while (link_take(&run->to_receiver, run->t_ns, &psn, &nak))
		storm_receive(run, psn);
	while (link_take(&run->to_tap_back, run->t_ns, &psn, &nak)) {
		script_answer(&run->script, nak ? 'n' : 'a', run->base + psn, 1);
		link_put(&run->to_sender, run->t_ns + run->storm->before_ns, psn, nak);
	}
	run->t_ns += STEP_NS;
}

static const struct storm storms[] = {
	{"before, 1 in 60", false, 60, 64, 2000, 3000, .old = true},
	{"before, 1 in 20", false, 20, 64, 2000, 3000, .old = true},
	{"before, 1 in 8", false, 8, 64, 2000, 3000, .old = true},
	{"before, 1 in 60, a long way", false, 60, 512, 10000, 12000, .old = true},
	{"before, 1 in 300, a long way", false, 300, 512, 10000, 12000, .old = true},
	{"before, the capture near the receiver", false, 40, 128, 9000, 300, .old = true},
	{"before, the capture near the sender", false, 40, 128, 300, 9000, .old = true},
	{"before, the first one, the capture is older", false, 0, 64, 2000, 3000, .first = 1,
		.old = true},
	{"before, the first ones, the capture is older", false, 0, 256, 9000, 9000, .first = 20,
		.old = true},
	{"before, the first one, the capture is as young", false, 0, 64, 2000, 3000, .first = 1},
	{"before, the first ones, as young, a long way", false, 0, 512, 20000, 9000, .first = 30},
	{"beyond, 1 in 60", true, 60, 64, 2000, 3000},
	{"beyond, 1 in 20", true, 20, 64, 2000, 3000},
	{"beyond, 1 in 8", true, 8, 64, 2000, 3000},
	{"beyond, 1 in 60, a long way", true, 60, 512, 10000, 12000},
	{"beyond, the first one", true, 0, 64, 2000, 3000, .first = 1},
	{"beyond, the first ones", true, 0, 64, 2000, 3000, .first = 9},
	{"beyond, the capture near the receiver", true, 40, 128, 9000, 300},
	{"beyond, the capture near the sender", true, 40, 128, 300, 9000},
};

struct storm_told {
	uint64_t right, wrong, unknown, others, lost;
};

static void storm_play(const struct storm *storm, uint64_t seed, struct storm_told *told)
{
	struct storm_run *run = rw_calloc(1, sizeof(*run));
	run->storm = storm;
	run->random = seed * 0x9E3779B97F4A7C15ull + 1;
	script_begin(&run->script);
	run->base = 0xfffc00 + (uint32_t)seed;
	if (storm->old) {
		struct stream_psn other = {0};
		const struct roce_packet packet = {
			.kind = PACKET_ROCE, .family = 4, .opcode = 0x0a};
		loss_data(run->script.loss, &other, NULL, &packet, run->script.t_ns);
	}
	run->t_ns = run->script.t_ns + storm->old * 5000000ll;
	run->progress_ns = run->t_ns;
	while (run->oldest < PACKETS)
		storm_step(run);
	loss_end(run->script.loss, 0);
	const uint64_t *events = loss_totals(run->script.loss)->events;
	const uint64_t before = events[LOSS_BEFORE] + events[LOSS_SELECTIVE];
	told->right += storm->beyond ? events[LOSS_BEYOND] : before;
	told->wrong += storm->beyond ? before : events[LOSS_BEYOND];
	told->wrong += events[LOSS_CAPTURE] + events[LOSS_REORDERED] + events[LOSS_RECONNECTED];
	told->unknown += events[LOSS_UNKNOWN];
	told->others += events[LOSS_TIMEOUT] + events[LOSS_ACK];
	told->lost += run->lost;
	loss_drop(run->script.loss, &run->script.request);
	loss_free(run->script.loss);
	free(run);
}

/* No wrong side; what is not known is told as unknown, and seldom. */
static void test_storm_sides(void **state)
{
	int failed = 0;
	for (size_t i = 0; i < rw_countof(storms); i++) {
		const struct storm *storm = &storms[i];
		const bool cannot = storm->first && !storm->beyond && !storm->old;
		struct storm_told told = {0};
		for (uint64_t seed = 1; seed <= 40; seed++)
			storm_play(storm, seed, &told);
		const uint64_t all = told.right + told.wrong + told.unknown;
		const bool wrong = told.wrong || (cannot && told.right) ||
			(!cannot && told.unknown * 20 > all) || all == 0;
		if (!wrong)
			continue;
		failed++;
		print_message(
			"%s: %lu packets lost; %lu right, %lu wrong, %lu unknown, %lu others\n",
			storm->what, (unsigned long)told.lost, (unsigned long)told.right,
			(unsigned long)told.wrong, (unsigned long)told.unknown,
			(unsigned long)told.others);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm_sides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
