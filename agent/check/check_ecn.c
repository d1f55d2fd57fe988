/*
 * check_ecn - ECN acts before PFC: pause without a single mark means that the thresholds stand in
 * the wrong order or that ECN is off. And the share of marked packets.
 */
#include <math.h>

#include "base/err.h"
#include "agent/check/check_source.h"
#include "agent/document/json_value.h"
#include "agent/answers/watch/watch_frame.h"

#define ECN_RATIO_WARN 0.2 /* marking everything is as blind as marking nothing */

static const enum cause ecn_causes[] = {CAUSE_ECN_OFF, CAUSE_ECN_LATE, CAUSE_ECN_EARLY,
	CAUSE_ECT_MISSING, CAUSE_DCQCN_OFF, CAUSE_NP_OFF, CAUSE_CNP_LOST, CAUSE_CNP_STARVED,
	CAUSE_DSCP_MISMATCH, CAUSE_NONE};

/* Where senders meet, queues mark as they should: many marks are these incidents', too. */
static const enum cause ecn_felt[] = {CAUSE_ECN_OFF, CAUSE_ECN_LATE, CAUSE_ECN_EARLY,
	CAUSE_ECT_MISSING, CAUSE_DCQCN_OFF, CAUSE_NP_OFF, CAUSE_CNP_LOST, CAUSE_CNP_STARVED,
	CAUSE_DSCP_MISMATCH, CAUSE_INCAST, CAUSE_OVERSUBSCRIPTION, CAUSE_UPLINK_OVERLOAD,
	CAUSE_UNKNOWN, CAUSE_NONE};

struct ecn_sum {
	size_t n, n_known; /* queues; those whose marks are counted */
	double marked, packets;
	double ratio; /* of the queue that marks most; NAN unknown */
	const json_t *worst;
	double pause; /* least share of time of the most paused queue; NAN unknown */
};

static void ecn_take_counters(
	const struct check_source *source, const json_t *doc, struct ecn_sum *sum)
{
	const json_t *row;
	size_t i;
	sum->ratio = NAN;
	json_array_foreach (json_object_get(doc, "rows"), i, row) {
		double marked = doc_number(row, "marked"), packets = doc_number(row, "packets");
		if (!json_is_true(json_object_get(row, "lossless")) || !check_in_scope(source, row))
			continue;
		sum->n++;
		sum->packets += isnan(packets) ? 0 : packets;
		if (isnan(marked))
			continue;
		sum->n_known++;
		sum->marked += marked;
		if (!(packets > 0) || !(isnan(sum->ratio) || marked / packets > sum->ratio))
			continue;
		sum->ratio = marked / packets;
		sum->worst = row;
	}
}

static void ecn_take_pause(
	const struct check_source *source, const json_t *doc, struct ecn_sum *sum)
{
	const json_t *row;
	size_t i;
	sum->pause = NAN;
	json_array_foreach (json_object_get(doc, "ports"), i, row) {
		if (!check_in_scope(source, row))
			continue;
		sum->pause = fmax(sum->pause, doc_number(row, "rx_lo_ratio"));
		sum->pause = fmax(sum->pause, doc_number(row, "tx_lo_ratio"));
	}
}

static void ecn_say(const struct check_source *source, const struct ecn_sum *sum,
	const struct check_ranges *ranges, const struct check_open *open, struct check_line *line)
{
	if (sum->n_known == 0) {
		line->absent = sum->n > 0;
		check_say(line, CHECK_UNKNOWN, "ECN marks are not counted by any of %zu queues",
			sum->n);
		return;
	}
	if (sum->worst && sum->ratio > 0)
		check_measured(source, line, check_judge_value(ranges, sum->ratio), open,
			"CE %.2f %% at %s:%s, the most of %zu queues", sum->ratio * 100,
			doc_word(sum->worst, "device"), doc_word(sum->worst, "port"), sum->n_known);
	else if (sum->packets == 0 && isnan(sum->ratio))
		check_say(line, CHECK_OK, "idle, 0 packets at %zu queues", sum->n_known);
	else
		check_say(line, CHECK_OK, "no marks at %zu queue%s", sum->n_known,
			plural(sum->n_known));
}

/* The order of ECN and PFC is judged with the signals of the wall, once for all devices. */
static void ecn_say_order(const struct check_source *source, const struct ecn_sum *sum,
	const struct check_open *open, struct check_line *line)
{
	const struct watch_answer *watch = open->watch;
	if (watch->n_signals <= GOLDEN_ECN_MARKS || sum->n_known == 0 || sum->marked > 0)
		return;
	if (!watch->signals[GOLDEN_ECN_MARKS].over)
		return;
	check_measured(source, line, CHECK_WARNING, open, "%s", ECN_ORDER_WRONG);
}

static int check_ecn_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(ECN_RATIO_WARN, NAN);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const json_t *counters, *pause;
	const struct watch_answer *watch;
	struct ecn_sum sum = {0};
	int r = check_source_doc(source, "counters", &counters, e);
	if (r == 0)
		r = check_source_doc(source, "pause/ports", &pause, e);
	if (r == 0)
		r = check_source_watch(source, &watch, e);
	if (r < 0)
		return r;
	ecn_take_counters(source, counters, &sum);
	ecn_take_pause(source, pause, &sum);
	const struct check_open open = {
		watch, ecn_felt, check_incidents(source, watch, ecn_causes, ret)};
	ecn_say(source, &sum, &ranges, &open, ret);
	ecn_say_order(source, &sum, &open, ret);
	check_line_value(ret, "ce_ratio", sum.ratio, 4, &ranges, 1);
	check_line_value(ret, "marked", sum.n_known > 0 ? sum.marked : NAN, 0, NULL, NAN);
	check_line_value(ret, "pause", sum.pause, 4, NULL, 1);
	return 0;
}

const struct check check_ecn = {
	.name = "ecn",
	.label = "ECN",
	.summary = "ECN marks before PFC pauses, and the share of marked packets",
	.run = check_ecn_run,
	.help = "RANGE is the share of packets that are marked CE at a queue (default: --warn "
		"0.2). Without a RANGE the open incidents about ECN decide.",
	.options = "warn crit device port priority job",
	.examples = {{"check ecn", "alerts when an incident about ECN is open"},
		{"check ecn --priority 3 --warn 10%", "warns above 10 % marked packets"}},
};
