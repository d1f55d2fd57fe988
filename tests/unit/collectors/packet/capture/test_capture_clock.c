/* capture_clock: rates, silences, messages; reactions to CNPs, played by senders that slow down,
 * that do not, and that something else holds back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/capture/capture_analysis.h"

#define T0 1700000000000000000ll
#define US 1000ll
#define MS 1000000ll
#define OCTETS 4170

enum { SEND_FIRST = 0, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 4 };
enum { WRITE_FIRST = 6, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 10, READ_REQUEST = 12 };
enum { SENDER = 1, RECEIVER = 2 };

static struct roce_packet data_packet(uint8_t opcode, uint32_t psn)
{
	return (struct roce_packet){.kind = PACKET_ROCE,
		.opcode = opcode,
		.psn = psn & 0xffffff,
		.octets = OCTETS,
		.payload_bytes = 4096,
		.ecn = ECN_ECT0};
}

static void put(struct capture_clock *clock, struct stream_clock *stream, uint8_t opcode,
	uint32_t psn, int64_t t_ns)
{
	struct roce_packet packet = data_packet(opcode, psn);
	packet.has_reth = opcode == WRITE_FIRST || opcode == WRITE_ONLY || opcode == READ_REQUEST;
	packet.reth_bytes = 1 << 20;
	capture_clock_data(clock, stream, SENDER, RECEIVER, &packet, t_ns);
}

static void answer(
	struct capture_clock *clock, struct stream_clock *about, uint8_t syndrome, int64_t t_ns)
{
	const struct roce_packet packet = {
		.kind = PACKET_ROCE, .opcode = 0x11, .has_aeth = true, .syndrome = syndrome};
	capture_clock_answer(clock, about, RECEIVER, &packet, t_ns);
}

/* ---- silences ---------------------------------------------------------------- */

struct stall_case {
	const char *what;
	/* ten packets 10 us apart, of which this is the last; then the silence; then this one */
	uint8_t before, after;
	int psn_back;
	int64_t lasts_us;
	uint8_t nak; /* syndrome of one that comes 20 us into the silence; 0 none */
	bool paused;
	size_t n;
	enum stall_cause cause;
};

static const struct stall_case stall_cases[] = {
	{"resent", WRITE_MIDDLE, WRITE_MIDDLE, 3, 134000, 0x1f, false, 1, STALL_TIMEOUT},
	{"the end is resent", WRITE_LAST, WRITE_LAST, 1, 67000, 0x1f, false, 1, STALL_TIMEOUT},
	{"resent, no answers captured", WRITE_MIDDLE, WRITE_MIDDLE, 3, 134000, 0, false, 1,
		STALL_UNKNOWN},
	{"receiver not ready", SEND_ONLY, SEND_ONLY, 1, 5000, 0x2e, false, 1, STALL_RNR},
	{"a NAK asks for it", WRITE_MIDDLE, WRITE_MIDDLE, 3, 5000, 0x60, false, 1, STALL_UNKNOWN},
	{"paused", WRITE_MIDDLE, WRITE_MIDDLE, 0, 300, 0, true, 1, STALL_PAUSE},
	{"paused for a part only", WRITE_MIDDLE, WRITE_MIDDLE, 0, 3000, 0, true, 1, STALL_UNKNOWN},
	{"in a message", WRITE_MIDDLE, WRITE_MIDDLE, 0, 3000, 0, false, 1, STALL_UNKNOWN},
	{"compute phase", WRITE_LAST, WRITE_FIRST, 0, 80000, 0, false, 1, STALL_IDLE},
	{"no longer than usual", WRITE_MIDDLE, WRITE_MIDDLE, 0, 90, 0, false, 0, STALL_UNKNOWN},
	{"resent after a NAK at once", WRITE_MIDDLE, WRITE_MIDDLE, 3, 40, 0x60, false, 0,
		STALL_UNKNOWN},
};

static void stall_play(
	struct capture_clock *clock, struct stream_clock *stream, const struct stall_case *one)
{
	uint32_t psn = 0xfffffa; /* over the end */
	int64_t t_ns = T0;
	for (int i = 0; i < 10; i++, t_ns += 10 * US) {
		uint8_t opcode = one->before;
		if (i < 9 && opcode == WRITE_LAST)
			opcode = WRITE_MIDDLE;
		put(clock, stream, opcode, psn++, t_ns);
	}
	t_ns -= 10 * US;
	if (one->nak)
		answer(clock, stream, one->nak, t_ns + 20 * US);
	if (one->paused) {
		struct roce_packet xoff = {
			.kind = PACKET_PFC, .classes = 8, .time = {0, 0, 0, 65535}};
		capture_clock_pause(clock, &xoff, t_ns + 5 * US);
		xoff.time[3] = 0;
		capture_clock_pause(clock, &xoff, t_ns + 280 * US);
	}
	put(clock, stream, one->after, psn - (uint32_t)one->psn_back, t_ns + one->lasts_us * US);
}

static void test_stalls(void **state)
{
	for (size_t i = 0; i < rw_countof(stall_cases); i++) {
		const struct stall_case *one = &stall_cases[i];
		struct capture_clock *clock = capture_clock_new(0, 0);
		struct stream_clock stream = {0};
		struct stream_times times;
		stall_play(clock, &stream, one);
		capture_clock_stream(clock, &stream, &times);
		const size_t n = times.stalls ? times.stalls->n : 0;
		if (n != one->n)
			fail_msg("%s: %zu stalls", one->what, n);
		if (n &&
			(times.stalls->longest[0].cause != one->cause ||
				times.stalls->longest[0].lasts_ns != one->lasts_us * US))
			fail_msg("%s: %s, %ld ns", one->what,
				stall_cause_name(times.stalls->longest[0].cause),
				times.stalls->longest[0].lasts_ns);
		capture_clock_free(clock);
	}
}

/* The longest stalls are kept, idle times behind them. */
static void test_stall_order(void **state)
{
	struct stalls stalls = {.n = 0};
	for (int i = 1; i <= 20; i++)
		stalls_add(&stalls, &(struct stall){.lasts_ns = i * 1000, .cause = STALL_IDLE});
	for (int i = 1; i <= 5; i++)
		stalls_add(&stalls, &(struct stall){.lasts_ns = i * 10, .cause = STALL_TIMEOUT});
	assert_int_equal(stalls.n, STALLS_MAX);
	assert_int_equal(stalls.total, 5);
	assert_int_equal(stalls.longest[0].lasts_ns, 50);
	assert_int_equal(stalls.longest[4].lasts_ns, 10);
	assert_int_equal(stalls.longest[5].lasts_ns, 20000);
	assert_int_equal(stalls.longest[7].lasts_ns, 18000);
}

/* ---- rates and messages --------------------------------------------------------- */

/* 100 bursts of 50 packets, 1 us apart, 10 ms between bursts: the rate is that of the bursts. */
static void test_rate(void **state)
{
	struct capture_clock *clock = capture_clock_new(0, 0);
	struct stream_clock stream = {0};
	uint32_t psn = 7;
	for (int burst = 0; burst < 100; burst++)
		for (int i = 0; i < 50; i++)
			put(clock, &stream,
				i == 0            ? WRITE_FIRST
					: i == 49 ? WRITE_LAST
						  : WRITE_MIDDLE,
				psn++, T0 + burst * 10 * MS + i * US);
	struct stream_times times;
	capture_clock_stream(clock, &stream, &times);
	assert_true(fabs(times.packets_per_s / 1e6 - 1) < 0.01);
	assert_int_equal(times.messages, 100);
	assert_int_equal(times.message_median, 1 << 20);
	assert_true(times.median_known);
	const struct rate_bins *rates = capture_clock_rates(clock);
	assert_int_equal(rates->n, 100);
	assert_int_equal(rates->bins[99].packets, 50);
	capture_clock_free(clock);
}

/* SENDs are added up from their packets; a missing packet, or one sent again, spoils nothing. */
static void test_messages(void **state)
{
	struct capture_clock *clock = capture_clock_new(0, 0);
	struct stream_clock stream = {0};
	static const struct {
		uint8_t opcode;
		uint32_t psn;
	} packets[] = {
		{SEND_FIRST, 1}, {SEND_MIDDLE, 2}, {SEND_LAST, 3}, /* 12,288 bytes */
		{SEND_FIRST, 4}, {SEND_LAST, 6}, /* one is missing */
		{SEND_ONLY, 7}, {SEND_ONLY, 8}, {SEND_ONLY, 8}, /* 4,096 bytes, twice */
		{SEND_FIRST, 9}, {SEND_FIRST, 9}, {SEND_LAST, 10}, /* 8,192 bytes */
		{SEND_ONLY, 12}, {SEND_ONLY, 11}, {SEND_ONLY, 13}, {SEND_ONLY, 13}, /* reordered */
	};
	for (size_t i = 0; i < rw_countof(packets); i++)
		put(clock, &stream, packets[i].opcode, packets[i].psn, T0 + (int64_t)i * US);
	struct stream_times times;
	capture_clock_stream(clock, &stream, &times);
	assert_int_equal(times.messages, 8);
	assert_false(times.sized); /* of two the size was not seen */
	assert_int_equal(times.message_max, 12288);
	assert_int_equal(times.message_median, 4096);
	capture_clock_free(clock);
}

static void test_sizes_bounded(void **state)
{
	struct message_sizes sizes = {.n = 0};
	for (uint32_t i = 0; i < 100; i++)
		message_sizes_add(&sizes, 1000 + i * 10, 1);
	message_sizes_add(&sizes, 64, 300);
	assert_int_equal(sizes.n, MESSAGE_SIZES);
	uint64_t all = 0;
	for (size_t i = 0; i < sizes.n; i++)
		all += sizes.count[i];
	assert_int_equal(all, 400);
}

/* The spec's table: code 0, 1, 2, 3 are themselves, 30 is 32,768, 31 tells nothing. */
static void test_credits(void **state)
{
	static const struct {
		uint8_t code;
		int credits;
	} rows[] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 6}, {6, 8}, {7, 12}, {8, 16},
		{11, 48}, {20, 1024}, {29, 24576}, {30, 32768}, {31, -1}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct capture_clock *clock = capture_clock_new(0, 0);
		struct stream_clock stream = {0};
		struct stream_times times;
		put(clock, &stream, WRITE_ONLY, 1, T0);
		answer(clock, &stream, rows[i].code, T0 + US);
		answer(clock, &stream, 31, T0 + 2 * US);
		answer(clock, &stream, 0x60, T0 + 3 * US); /* a NAK has none */
		capture_clock_stream(clock, &stream, &times);
		assert_int_equal(times.credits_least, rows[i].credits);
		capture_clock_free(clock);
	}
}

/* ---- reactions ------------------------------------------------------------------ */

enum sender_kind {
	IGNORES, /* sends on */
	HALVES, /* to a half, and back within 1 ms */
	PUBLISHED, /* DCQCN as in the paper; CNPs come while it is above a share of 40 Gbit/s */
};

struct reaction_case {
	const char *what;
	enum sender_kind kind;
	double bps;
	int64_t cnp_every_us, train_us, train_every_us; /* CNPs within trains; 0: always */
	int64_t burst_us; /* of silence follow so many of sending, 0: never */
	bool ends_after_cnp; /* the burst ends 30 us after each CNP */
	bool paused; /* at each CNP, from 20 us after it, for 100 us */
	unsigned sampling;
	int64_t lasts_ms;
	unsigned wants; /* bits of verdicts that are right */
};
enum {
	FEW = 1 << REACTION_TOO_FEW,
	SLOW = 1 << REACTION_SLOWS_DOWN,
	NOT = 1 << REACTION_DOES_NOT_SLOW
};

static const struct reaction_case reaction_cases[] = {
	{"slows", HALVES, 98e9, 2000, 0, 0, 0, false, false, 1, 100, SLOW},
	{"slows, at a tenth of the link", HALVES, 9.8e9, 2000, 0, 0, 0, false, false, 1, 200, SLOW},
	{"published, settled", PUBLISHED, 98e9, 50, 0, 0, 0, false, false, 1, 60, SLOW},
	{"published, in bursts", PUBLISHED, 98e9, 50, 0, 0, 3000, false, false, 1, 60, SLOW | FEW},
	{"ignores trains", IGNORES, 98e9, 50, 2000, 10000, 0, false, false, 1, 60, NOT},
	{"ignores trains, half of the link", IGNORES, 45e9, 50, 4000, 10000, 0, false, false, 1,
		120, NOT},
	{"ignores single ones at line rate", IGNORES, 98e9, 1000, 0, 0, 0, false, false, 1, 60,
		NOT},
	{"far below the link, single ones", IGNORES, 12e9, 1000, 0, 0, 0, false, false, 1, 60, FEW},
	{"too few CNPs", IGNORES, 98e9, 1000, 0, 0, 0, false, false, 1, 5, FEW},
	{"bursts end after the CNP", IGNORES, 98e9, 1000, 0, 0, 0, true, false, 1, 60, FEW},
	{"paused after the CNP", IGNORES, 98e9, 1000, 0, 0, 0, false, true, 1, 60, FEW},
	{"sampled, ignores, few seen", IGNORES, 98e9, 50, 0, 0, 0, false, false, 100, 100, FEW},
	{"sampled, ignores", IGNORES, 98e9, 50, 0, 0, 0, false, false, 100, 700, NOT},
	{"sampled, ignores few", IGNORES, 98e9, 500, 0, 0, 0, false, false, 50, 2000, FEW},
	{"sampled, published", PUBLISHED, 98e9, 50, 0, 0, 0, false, false, 100, 300, SLOW | FEW},
	{"sampled, halves", HALVES, 98e9, 2000, 0, 0, 0, false, false, 100, 1000, SLOW | FEW},
};

struct played {
	struct capture_clock *clock;
	struct stream_clock stream;
	uint32_t psn, seed;
	double rate, target, alpha; /* of the published sender, and of the one that halves */
	int64_t timer_ns, alpha_ns, cut_ns, cnp_ns, silent_until_ns, burst_ns;
	int steps;
};

static bool played_taken(struct played *played, const struct reaction_case *one)
{
	played->seed = played->seed * 1664525u + 1013904223u;
	return (played->seed >> 8) % one->sampling == 0;
}

static void played_cut(struct played *played, const struct reaction_case *one, int64_t t_ns)
{
	played->cut_ns = t_ns;
	if (one->kind == HALVES)
		played->rate = 0.5;
	if (one->kind != PUBLISHED)
		return;
	played->target = played->rate;
	played->rate *= 1 - played->alpha / 2;
	played->alpha += (1 - played->alpha) / 256;
	played->timer_ns = played->alpha_ns = t_ns;
	played->steps = 0;
}

static void played_recover(struct played *played, const struct reaction_case *one, int64_t t_ns)
{
	if (one->kind == HALVES)
		played->rate = fmin(1, 0.5 + 0.5 * (double)(t_ns - played->cut_ns) / (double)MS);
	if (one->kind != PUBLISHED)
		return;
	for (; t_ns - played->alpha_ns >= 55 * US; played->alpha_ns += 55 * US)
		played->alpha *= 1 - 1.0 / 256;
	for (; t_ns - played->timer_ns >= 55 * US; played->timer_ns += 55 * US) {
		if (++played->steps > 5)
			played->target = fmin(1, played->target + 40e6 / one->bps);
		played->rate = (played->rate + played->target) / 2;
	}
}

static bool played_cnp_due(
	const struct played *played, const struct reaction_case *one, int64_t t_ns)
{
	if (t_ns - played->cnp_ns < one->cnp_every_us * US)
		return false;
	if (one->kind == PUBLISHED)
		return played->rate * one->bps > 40e9;
	return one->train_us == 0 ||
		(t_ns - T0) % (one->train_every_us * US) >=
		(one->train_every_us - one->train_us) * US;
}

static void played_cnp(struct played *played, const struct reaction_case *one, int64_t t_ns)
{
	played->cnp_ns = t_ns;
	played_cut(played, one, t_ns);
	if (played_taken(played, one))
		capture_clock_cnp(played->clock, &played->stream, RECEIVER, SENDER, t_ns);
	if (one->ends_after_cnp)
		played->burst_ns = t_ns + 30 * US;
	if (!one->paused)
		return;
	struct roce_packet xoff = {.kind = PACKET_PFC, .classes = 8, .time = {0, 0, 0, 65535}};
	capture_clock_pause(played->clock, &xoff, t_ns + 20 * US);
	xoff.time[3] = 0;
	capture_clock_pause(played->clock, &xoff, t_ns + 120 * US);
	played->silent_until_ns = t_ns + 120 * US;
}

/* Where the burst ends, its message does. */
static bool played_burst_ends(struct played *played, const struct reaction_case *one, int64_t t_ns)
{
	if (played->burst_ns && t_ns >= played->burst_ns) {
		played->burst_ns = 0;
		if (one->burst_us)
			played->burst_ns = t_ns + one->burst_us * 2 * US;
		played->silent_until_ns = t_ns + 500 * US;
		return true;
	}
	return false;
}

static void reaction_play(struct played *played, const struct reaction_case *one)
{
	bool in_message = false;
	const double bits = (OCTETS + 24) * 8;
	if (one->burst_us)
		played->burst_ns = T0 + one->burst_us * US;
	for (int64_t t_ns = T0; t_ns < T0 + one->lasts_ms * MS;) {
		const bool ends = played_burst_ends(played, one, t_ns) || played->psn % 256 == 255;
		uint8_t opcode = in_message ? WRITE_MIDDLE : WRITE_FIRST;
		if (ends)
			opcode = WRITE_LAST;
		in_message = !ends;
		if (played_taken(played, one))
			put(played->clock, &played->stream, opcode, played->psn, t_ns);
		played->psn++;
		played_recover(played, one, t_ns);
		if (played_cnp_due(played, one, t_ns))
			played_cnp(played, one, t_ns + 300);
		t_ns += (int64_t)(bits / (one->bps * played->rate) * 1e9);
		if (t_ns < played->silent_until_ns)
			t_ns = played->silent_until_ns;
	}
}

static void test_reactions(void **state)
{
	for (size_t i = 0; i < rw_countof(reaction_cases); i++) {
		const struct reaction_case *one = &reaction_cases[i];
		struct played played = {.clock = capture_clock_new(0, 0),
			.seed = 5,
			.rate = 1,
			.target = 1,
			.alpha = 1,
			.cut_ns = T0 - MS,
			.timer_ns = T0,
			.alpha_ns = T0,
			.cnp_ns = T0};
		reaction_play(&played, one);
		size_t n;
		const struct clock_host *hosts = capture_clock_hosts(played.clock, &n);
		const struct reaction_sum *sum = NULL;
		for (size_t k = 0; k < n; k++)
			if (hosts[k].host == SENDER)
				sum = &hosts[k].reaction;
		assert_non_null(sum);
		struct reaction_judged judged;
		reaction_judge(sum, one->sampling, 0, sum->peak_bps, &judged);
		print_message("%-34s %-13s n %3lu ratio %.3f [%.3f %.3f] alone %3lu pressed %4lu "
			      "held %.2f left out %lu of %lu, peak %.1f G\n",
			one->what, reaction_verdict_name(judged.verdict), judged.n, judged.ratio,
			judged.low, judged.high, sum->alone.n, sum->pressed,
			sum->held / (double)sum->pressed, sum->left_out, sum->cnp,
			sum->peak_bps / 1e9);
		if (!(one->wants >> judged.verdict & 1))
			fail_msg("%s: %s", one->what, reaction_verdict_name(judged.verdict));
		assert_true((judged.needs != NULL) == (judged.verdict == REACTION_TOO_FEW));
		capture_clock_free(played.clock);
	}
}

static void test_no_cnp(void **state)
{
	struct reaction_judged judged;
	reaction_judge(&(struct reaction_sum){.cnp = 0}, 1, 0, 0, &judged);
	assert_int_equal(judged.verdict, REACTION_TOO_FEW);
	assert_non_null(strstr(judged.needs, "none"));
	assert_true(isnan(judged.ratio));
	reaction_judge(&(struct reaction_sum){.cnp = 9, .unattributed = 9}, 1, 0, 0, &judged);
	assert_non_null(strstr(judged.needs, "direction"));
}

/* History of an older agent holds windows under pressure, and not what was allowed in them. */
static void test_old_sums(void **state)
{
	struct reaction_judged judged;
	struct reaction_sum sum = {
		.cnp = 100, .pressed = 50, .held = 50, .held_sq = 50, .peak_bps = 98e9};
	for (int i = 0; i < 30; i++)
		reaction_pair_add(&sum.all, 98e9, 98e9);
	reaction_judge(&sum, 1, 0, 98e9, &judged);
	assert_int_equal(judged.verdict, REACTION_TOO_FEW);
	sum.allowed = 50 * 0.1;
	reaction_judge(&sum, 1, 0, 98e9, &judged);
	assert_int_equal(judged.verdict, REACTION_DOES_NOT_SLOW);
}

/* ---- receivers ------------------------------------------------------------------ */

struct answer_case {
	const char *what;
	int marked_bursts; /* of 20 marked packets, 100 us apart */
	bool acks;
	int cnp_in; /* one CNP for so many bursts; 0: none */
	uint32_t sampling;
	enum answer_verdict verdict;
};

static void test_answers(void **state)
{
	static const struct answer_case cases[] = {
		{"one a burst", 40, true, 1, 1, ANSWER_YES},
		{"seen without ACKs", 40, false, 1, 1, ANSWER_YES},
		{"none", 40, true, 0, 1, ANSWER_NO},
		{"none, one direction only", 40, false, 0, 1, ANSWER_TOO_FEW},
		{"none, few marks", 10, true, 0, 1, ANSWER_TOO_FEW},
		{"none, sampled", 40, true, 0, 100, ANSWER_TOO_FEW},
		{"a single one", 40, true, 40, 1, ANSWER_TOO_FEW},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct capture_clock *clock = capture_clock_new(0, 0);
		struct stream_clock stream = {0};
		for (int burst = 0; burst < cases[i].marked_bursts; burst++) {
			const int64_t t_ns = T0 + burst * 100 * US;
			for (int k = 0; k < 20; k++) {
				struct roce_packet packet =
					data_packet(WRITE_ONLY, (uint32_t)(burst * 20 + k));
				packet.ecn = ECN_CE;
				capture_clock_data(
					clock, &stream, SENDER, RECEIVER, &packet, t_ns + k * 100);
			}
			if (cases[i].acks)
				answer(clock, &stream, 31, t_ns + 3 * US);
			if (cases[i].cnp_in && burst % cases[i].cnp_in == 0)
				capture_clock_cnp(clock, &stream, RECEIVER, SENDER, t_ns + 4 * US);
		}
		size_t n;
		const struct clock_host *hosts = capture_clock_hosts(clock, &n);
		assert_int_equal(n, 2);
		assert_int_equal(hosts[0].host, SENDER);
		assert_int_equal(hosts[0].ce_sent, 20 * cases[i].marked_bursts);
		assert_int_equal(hosts[1].answer.ce, 20 * cases[i].marked_bursts);
		assert_int_equal(hosts[1].answer.slots, cases[i].marked_bursts);
		const enum answer_verdict verdict =
			answer_judge(&hosts[1].answer, cases[i].sampling);
		if (verdict != cases[i].verdict)
			fail_msg("%s: %s", cases[i].what, answer_verdict_name(verdict));
		capture_clock_free(clock);
	}
}

/* ---- intervals ------------------------------------------------------------------ */

static void test_next(void **state)
{
	struct capture_clock *clock = capture_clock_new(0, 0);
	struct stream_clock stream = {0};
	size_t n;
	for (int interval = 0; interval < 5; interval++) {
		struct roce_packet packet = data_packet(WRITE_ONLY, (uint32_t)interval);
		packet.ecn = ECN_CE;
		capture_clock_data(clock, &stream, SENDER, RECEIVER, &packet, T0 + interval * MS);
		answer(clock, &stream, 31, T0 + interval * MS);
		const struct clock_host *hosts = capture_clock_hosts(clock, &n);
		assert_int_equal(n, 2);
		assert_int_equal(hosts[1].answer.ce, 1);
		assert_int_equal(hosts[1].answer.directions, 1);
		assert_int_equal(hosts[1].answer.answered, 1);
		capture_clock_next(clock);
	}
	capture_clock_hosts(clock, &n);
	assert_int_equal(n, 0);
	capture_clock_drop(clock, &stream);
	capture_clock_drop(clock, &stream);
	assert_int_equal(stream.rare, 0);
	capture_clock_free(clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_stall_order),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_sizes_bounded),
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_reactions),
		cmocka_unit_test(test_no_cnp),
		cmocka_unit_test(test_old_sums),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_next),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
