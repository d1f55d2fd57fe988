/* loss: packet scripts for each cause word, each next to what it could be taken for. */
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

static void events_text(const struct loss *loss, const struct stream_psn *own, char *buf, size_t n)
{
	size_t n_events;
	uint64_t total;
	const struct loss_event *events = loss_events(loss, own, &n_events, &total);
	size_t at = strlen(buf);
	for (size_t i = 0; i < n_events && at < n; i++) {
		const char *space = "";
		if (at)
			space = " ";
		at += (size_t)snprintf(buf + at, n - at, "%s%s:%u:%u", space,
			loss_cause_word(loss_event_cause(&events[i])), events[i].psn,
			events[i].missing);
	}
}

static void print_proofs(const struct loss *loss, const struct stream_psn *own)
{
	size_t n;
	uint64_t total;
	char text[LOSS_PROOF_TEXT_MAX];
	const struct loss_event *events = loss_events(loss, own, &n, &total);
	for (size_t i = 0; i < n; i++)
		print_message("    %s\n", loss_event_text(text, &events[i]));
}

struct row {
	const char *what, *script, *want;
	uint64_t retransmits, reordered;
	bool one_sided;
	uint64_t drops;
};

static void run_rows(const struct row *rows, size_t n)
{
	int wrong = 0;
	for (size_t i = 0; i < n; i++) {
		struct loss_script script;
		char got[4096] = "";
		script_begin(&script);
		script.one_sided = rows[i].one_sided;
		script_run(&script, rows[i].script);
		loss_end(script.loss, rows[i].drops);
		events_text(script.loss, &script.request, got, sizeof(got));
		events_text(script.loss, &script.response, got, sizeof(got));
		const struct psn_counts *counts = loss_counts(script.loss, &script.request);
		const struct psn_counts *back = loss_counts(script.loss, &script.response);
		const uint64_t retransmits = counts->retransmits + back->retransmits;
		const uint64_t reordered = counts->reordered + back->reordered;
		if (strcmp(got, rows[i].want) || retransmits != rows[i].retransmits ||
			reordered != rows[i].reordered) {
			print_message("%s: %s\n  got  \"%s\" retransmits %lu reordered %lu\n"
				      "  want \"%s\" retransmits %lu reordered %lu\n",
				rows[i].what, rows[i].script, got, (unsigned long)retransmits,
				(unsigned long)reordered, rows[i].want,
				(unsigned long)rows[i].retransmits,
				(unsigned long)rows[i].reordered);
			print_proofs(script.loss, &script.request);
			print_proofs(script.loss, &script.response);
			wrong++;
		}
		loss_drop(script.loss, &script.request);
		loss_drop(script.loss, &script.response);
		loss_free(script.loss);
	}
	assert_int_equal(wrong, 0);
}

static void test_loss_in_the_network(void **state)
{
	static const struct row rows[] = {
		{"nothing", "w1..20 a20 w21..40 a40", ""},
		{"over the end", "w16777206..16777215 w0..9 a9", ""},
		{"before: missing here, NAK, go back", "w1..9 a9 w12..15 n10 +5 w10..20 a20",
			"lost_before:10:2", 6},
		{"before, the NAK came before the gap was wide",
			"w1..9 w11 n10 w12..15 w10..20 a20", "lost_before:10:1", 6},
		{"before, over the end",
			"w16777210..16777214 w0..5 n16777215 +5 w16777215 w0..9 a9",
			"lost_before:16777215:1", 7},
		{"two gaps, one go back", "w1..9 w11..13 w15..20 n10 +5 w10..25 a25",
			"lost_before:10:1 lost_before:14:1", 11},
		{"before, sent again elsewhere", "w1..9 w11..15 n10 +50 a15 w16..20 a20",
			"lost_before:10:1"},
		{"beyond: nothing missing here", "w1..15 n10 +5 w10..20 a20", "lost_beyond:10:0",
			6},
		{"beyond, asked for while sending", "w1..12 n10 w13..15 +3 w10..20 a20",
			"lost_beyond:10:0", 6},
		{"beyond twice", "w1..15 n10 +5 w10..20 n12 +5 w12..25 a25",
			"lost_beyond:10:0 lost_beyond:12:0", 15},
		{"before, and again when it was sent again",
			"w1..9 w11..20 n10 +5 w10..14 w16..20 n15 +5 w15..25 a25",
			"lost_before:10:1 lost_before:15:0", 16},
		{"beyond, then before when it was sent again",
			"w1..20 n10 +5 w10..14 w16..25 n15 +5 w15..30 a30",
			"lost_beyond:10:0 lost_before:15:0", 21},
		{"before, then beyond when it was sent again",
			"w1..9 w11..20 n10 +5 w10..25 n15 +5 w15..30 a30",
			"lost_before:10:1 lost_beyond:15:0", 22},
		{"the first of those sent again lost again",
			"w1..9 w11..20 n10 +5 w11..25 n10 +5 w10..30 a30",
			"lost_before:10:0 lost_before:10:1", 26},
		{"beyond twice, only what is asked for sent again",
			"w1..20 n10 w21..25 w10 w26..30 n15 +5 w15 w31..35 a35",
			"lost_beyond:10:0 lost_beyond:15:0", 2},
		{"before the first packet, the capture no older", "w10..20 n9 +5 w9..25 a25",
			"unknown:9:0", 12},
		{"selective, missing here", "w1..9 w11..20 n10 w21..25 w10 w26..30 a30",
			"selective_repeat:10:1", 1},
		{"selective, missing here, by identification",
			"#100 w1..19 #120 w21..30 +30 w20 w31..40", "selective_repeat:20:1", 1, 0,
			true},
		{"selective, nothing missing here", "w1..20 n10 w21..25 w10 w26..30 a30",
			"lost_beyond:10:0", 1},
		{"selective, asked for while it was on its way again",
			"w1..9 w11..20 n10 w21..25 w10 w26..30 a30 w31..40 w42..50 +67000 "
			"w35..40 +20 w41 n41 w41 w51..60 a60",
			"selective_repeat:10:1 timeout:41:1 unknown:41:0", 9},
		{"timeout of the last ones", "w1..10 a8 +67000 w9..10 a10", "timeout:9:0", 2},
		{"timeout of the only one", "w1 a1 w2 +67000 w2 a2", "timeout:2:0", 1},
		{"timeout with a gap here", "w1..5 w7..8 a5 +67000 w6..8 a8", "timeout:6:1", 3},
		{"no timeout: as soon as that without a NAK", "w1..10 a4 +20 w5..10 a10",
			"unknown:5:0", 6},
		{"ACK lost beyond: it passed here", "w1..10 a10 +67000 w9..10 a10", "ack_lost:9:0",
			2},
		{"ACK lost before: acknowledged what had not come again",
			"w1..10 a4 +67000 w5 a10 w6..10 a10", "ack_lost:5:0", 6},
		{"RNR", "w1..10 x8 +700 w8..20 a20", "rnr:8:0", 3},
		{"RNR of one", "w1 a1 w2 x2 +20 w2 a2", "rnr:2:0", 1},
		{"RNR, then a loss", "w1..10 x8 +700 w8..20 n15 +4 w15..25 a25",
			"rnr:8:0 lost_beyond:15:0", 9},
	};
	run_rows(rows, rw_countof(rows));
}

static void test_loss_not_in_the_network(void **state)
{
	static const struct row rows[] = {
		{"capture: acknowledged, never sent again", "w1..9 w12..20 a20 w21..30 a30",
			"capture_loss:10:2"},
		{"capture: the first part acknowledged, the second asked for",
			"w1..9 w20..25 n12 +5 w12..30 a30", "capture_loss:10:2 unknown:12:8", 14},
		{"capture: by a READ response", "w1..9 w12..14 r15:4096 o15 w16 a16",
			"capture_loss:10:2"},
		{"capture: gone on for long", "w1..9 w12..1000 +150000 w1001..2100 w2101",
			"capture_loss:10:2", 0, 0, true},
		{"capture: by its own counters", "w1..9 w12..100", "capture_loss:10:2", 0, 0, true,
			2},
		{"no answers: not known", "w1..9 w12..100", "unknown:10:2", 0, 0, true},
		{"no answer yet", "w1..9 a9 w12..15", "unknown:10:2"},
		{"cut answers: it covers all before it", "w1..9 w12..20 c20", "capture_loss:10:2"},
		{"cut answers: not the one it names", "w1..9 w12..20 c11",
			"capture_loss:10:1 unknown:11:1"},
		{"cut answers: acknowledged or refused", "w1..10 c5 +67000 w3..10 c10",
			"unknown:3:0", 8},
		{"cut answers: beyond or refused", "w1..15 c10 +5 w10..20 c20", "unknown:10:0", 6},
		{"cut answers: from the first missing one", "w1..9 w12..15 c10 +5 w10..20 c20",
			"lost_before:10:2", 6},
		{"one side: from the first missing one", "w1..9 w12..15 +5 w10..20",
			"lost_before:10:2", 6, 0, true},
		{"one side: sent again, why is not known", "w1..15 +5 w10..20", "unknown:10:0", 6,
			0, true},
		{"one side: after a silence", "w1..15 +67000 w15..20", "unknown:15:0", 1, 0, true},
		{"reordered", "w1..9 w11 w10 w12..20 a20", "reordered:10:1", 0, 1},
		{"reordered by two", "w1..9 w12..13 w10..11 w14..20 a20", "reordered:10:2", 0, 2},
		{"reordered, later than a round trip", "w1..5 a5 w6..9 w11..14 +90 w10 w15..20 a20",
			"reordered:10:1", 0, 1},
		{"reordered, one side, by identification",
			"#100 w1..19 #120 w21..25 #119 +30 w20 #125 w26..30", "reordered:20:1", 0,
			1, true},
		{"late, one side, not known", "w1..9 w11..30 +30 w10 w31..40", "unknown:10:1", 0, 1,
			true},
		{"reordered, and the NIC asks for it", "w1..9 w11 w10 n10 w12..13 +5 w10..20 a20",
			"reordered:10:1 reordered:10:0", 4, 1},
		{"at the start", "w10 w9 w11..20 a20", "", 0, 1},
		{"READ in between", "r10:8192 w12 a12 w13..20 a20", ""},
		{"READ of 256 octets each", "r10:8192 w42 a42", ""},
		{"READ, and two missing", "r10:65536 w28 w29 a29", "capture_loss:26:2"},
		{"UC has no answers", "u1..9 u12..2000", "unknown:10:2"},
		{"UD has no order", "d1..5 d900..905 d6..10 d906..910", ""},
	};
	run_rows(rows, rw_countof(rows));
}

static void test_loss_reads(void **state)
{
	static const struct row rows[] = {
		{"all there", "r10:8192 f10 l11 r12:16384 f12 i13..14 l15 r16:4096 o16", ""},
		{"missing here, asked for again",
			"r10:32768 f10 i11..12 i15..16 l17 +5 r13:20480 f13 i14..16 l17 r18:4096 "
			"o18",
			"read_response_lost:13:2", 6},
		{"missing beyond, asked for again",
			"r10:32768 f10 i11..16 l17 +5 r13:20480 f13 i14..16 l17 r18:4096 o18",
			"read_response_lost:13:0", 6},
		{"asked for again, the length cut off",
			"r10 f10 i11..12 i14 r13 i15..16 l17 f13 i14..16 l17 r18 f18 i19..20 r22 "
			"l21 f22 l23",
			"read_response_lost:13:1", 6},
		{"missing, and come again with an earlier one",
			"r10:32768 r18:32768 f10 i12..16 l17 f18 r11:28672 i20..24 l25 f11 i12..16 "
			"l17 f18 i19..24 l25",
			"read_response_lost:11:1 unknown:19:1", 16},
		{"the last ones missing", "r10:32768 f10 i11..14 +67000 r10:32768 f10 i11..16 l17",
			"read_response_lost:10:0", 6},
		{"request lost: it is a timeout", "w9 a9 r10:8192 +67000 r10:8192 f10 l11 w12 a12",
			"timeout:10:0", 1},
		{"request lost: the next one shows it",
			"r10:8192 w12..14 n10 +5 r10:8192 f10 l11 w12..20 a20", "lost_beyond:10:0",
			4},
		{"responses reordered", "r10:32768 f10 i11 i13 i12 i14..16 l17 r18:4096 o18",
			"reordered:12:1", 0, 1},
		{"response missing here, never asked for again",
			"r10:32768 f10 i11..12 i15..16 l17 +60000 r18:4096 o18 +60000 r19:4096 o19",
			"capture_loss:13:2"},
		{"first response missing here",
			"r10:16384 i11..12 l13 +5 r10:16384 f10 i11..12 l13 r14:4096 o14",
			"read_response_lost:10:1", 5},
		{"responses alone", "f10 i11..12 i15..16 l17", "unknown:13:2", 0, 0, true},
		{"atomic sent again after a silence, answered before",
			"w9 a9 w10 a10 +67000 w10 a10", "ack_lost:10:0", 1},
	};
	run_rows(rows, rw_countof(rows));
}

static void test_loss_reconnected(void **state)
{
	static const struct row rows[] = {
		{"far ahead at once",
			"W1000000 m1000001..1000010 a1000010/50 w9000000..9000010 a9000010/1",
			"reconnected:9000000:0"},
		{"far behind at once, no answers", "w9000000..9000010 +20 w1000..1010",
			"reconnected:1000:0", 0, 0, true},
		{"after a silence, message numbers begin anew",
			"w9000000..9000099 a9000099/900 +2000000 w1000..1010 a1010/1",
			"reconnected:1000:0"},
		{"after a silence, nothing proves it", "w9000000..9000010 +2000000 w1000..1010",
			"unknown:1000:0", 0, 0, true},
		{"a hole of the capture: message numbers go on",
			"w9000..9010 a9010/900 +2000000 w5000000..5000010 a5000010/60000",
			"unknown:5000000:0"},
		{"from the same PSN as before",
			"w0..199 a199/300 +2000000 w0 a0/1 w1..50 a50/2 w51..300 a300/3",
			"reconnected:0:0"},
		{"not anew: the same message number",
			"w0..199 a199/300 +67000 w150 a199/300 w151..199 a199/300",
			"ack_lost:150:0", 50},
	};
	run_rows(rows, rw_countof(rows));
}

static void test_loss_bounds(void **state)
{
	struct loss_script script;
	script_begin(&script);
	size_t n;
	uint64_t total;
	uint32_t psn = 1;
	for (int i = 0; i < 200; i++) {
		char text[120];
		snprintf(text, sizeof(text), "w%u..%u n%u +5 w%u..%u a%u", psn, psn + 9, psn + 5,
			psn + 5, psn + 19, psn + 19);
		script_run(&script, text);
		psn += 20;
	}
	script_run(&script, "+67000");
	char text[120];
	snprintf(text, sizeof(text), "w%u..%u a%u", psn - 2, psn, psn);
	script_run(&script, text);
	loss_end(script.loss, 0);
	const struct loss_event *events = loss_events(script.loss, &script.request, &n, &total);
	assert_int_equal(n, LOSS_EVENTS_MAX);
	assert_int_equal(total, 201);
	assert_int_equal(loss_totals(script.loss)->events[LOSS_BEYOND], 200);
	int acks = 0;
	for (size_t i = 0; i < n; i++)
		acks += loss_event_cause(&events[i]) == LOSS_ACK;
	assert_int_equal(acks, 0); /* the least goes first */
	loss_next(script.loss);
	loss_events(script.loss, &script.request, &n, &total);
	assert_int_equal(n, 0);
	assert_int_equal(total, 0);
	assert_int_equal(sizeof(struct stream_psn), 40);
	loss_drop(script.loss, &script.request);
	assert_int_equal(script.request.rare, 0);
	loss_free(script.loss);
}

static void test_loss_sampling(void **state)
{
	static const struct {
		const char *what;
		uint32_t step; /* one packet in so many is captured */
		uint32_t lose; /* and every so manieth is lost and sent again; 0: none */
		bool want;
	} rows[] = {
		{"every packet", 1, 0, false},
		{"one in two", 2, 0, true},
		{"one in 100", 100, 0, true},
		{"heavy loss", 1, 3, false},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct loss_script script;
		struct loss_sampling sampling;
		script_begin(&script);
		uint32_t random = 1;
		for (uint32_t psn = 1; psn < 20000; psn++) {
			char text[64];
			random = random * 1664525 + 1013904223;
			if (random / 65536 % rows[i].step)
				continue;
			snprintf(text, sizeof(text), "w%u", psn);
			if (rows[i].lose && psn % rows[i].lose == 0)
				snprintf(text, sizeof(text), "w%u n%u w%u w%u", psn + 1, psn, psn,
					psn + 1);
			script_run(&script, text);
			psn += rows[i].lose && psn % rows[i].lose == 0;
		}
		loss_sampling(script.loss, &sampling);
		if (sampling.sampled != rows[i].want)
			fail_msg(
				"%s: sampled %d, n %f", rows[i].what, sampling.sampled, sampling.n);
		if (rows[i].want &&
			(sampling.n < rows[i].step * 0.7 || sampling.n > rows[i].step * 1.4))
			fail_msg("%s: n %f", rows[i].what, sampling.n);
		loss_free(script.loss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loss_in_the_network),
		cmocka_unit_test(test_loss_not_in_the_network),
		cmocka_unit_test(test_loss_reads),
		cmocka_unit_test(test_loss_reconnected),
		cmocka_unit_test(test_loss_bounds),
		cmocka_unit_test(test_loss_sampling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
