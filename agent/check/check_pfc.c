/*
 * check_pfc - share of time for which a port and priority may not send. Where a switch counts pause
 * frames only, the share is an upper bound: it warns and is never critical. Without ranges of the
 * user's own the open incidents that show in pause decide.
 */

#include "agent/answers/watch/watch_frame.h"
#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "agent/answers/counters/counters_document.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/answers/common/limits.h"

struct pfc_worst {
	const struct pause_pair *row; /* NULL: none yet */
	double low, high;
	bool received; /* the neighbour paused us */
	enum check_state state;
};

struct pfc_sum {
	struct pfc_worst worst;
	size_t n, n_over, n_unknown;
};

/* A bound is judged by its lower end; its upper end may warn. */
static enum check_state pfc_judge(const struct check_ranges *ranges, double low, double high)
{
	enum check_state state = check_judge_value(ranges, high);
	if (state == CHECK_CRITICAL && check_judge_value(ranges, low) != CHECK_CRITICAL)
		return CHECK_WARNING;
	return state;
}

/* Of equals the one that leads to a host says more: pause begins or ends there. */
static bool pfc_is_host(const struct pause_pair *row)
{
	const char *peer = str_or(row->peer, "");
	return *peer && !strchr(peer, ':');
}

static bool pfc_is_worse(const struct pfc_worst *worst, const struct pfc_worst *than)
{
	double diff = worst->low + worst->high - than->low - than->high;
	if (!than->row || check_state_worse(worst->state, than->state))
		return true;
	if (worst->state != than->state)
		return false;
	if (fabs(diff) > 1e-6)
		return diff > 0;
	return pfc_is_host(worst->row) && worst->received && !pfc_is_host(than->row);
}

static void pfc_take(struct pfc_sum *sum, const struct pause_pair *row,
	const struct check_ranges *ranges, bool received)
{
	const double low = received ? row->rx_lo_ratio : row->tx_lo_ratio;
	const double high = received ? row->rx_hi_ratio : row->tx_hi_ratio;
	if (isnan(high))
		return;
	const struct pfc_worst own = {row, low, high, received, pfc_judge(ranges, low, high)};
	sum->n_over += own.state != CHECK_OK;
	if (pfc_is_worse(&own, &sum->worst))
		sum->worst = own;
}

static void pfc_take_all(const struct check_source *source, const struct pause_ports_answer *pause,
	const struct check_ranges *ranges, struct pfc_sum *sum)
{
	for (size_t i = 0; i < pause->n_ports; i++) {
		const struct pause_pair *row = &pause->ports[i];
		if (!check_pause_in_scope(source, row))
			continue;
		sum->n++;
		sum->n_unknown += isnan(row->rx_hi_ratio) || isnan(row->tx_hi_ratio);
		pfc_take(sum, row, ranges, true);
		pfc_take(sum, row, ranges, false);
	}
}

static void pfc_add_share(struct str *out, const struct pfc_worst *worst)
{
	if (worst->high - worst->low > 0.0005)
		str_addf(out, "<= %.1f %% of the time (from frames)", worst->high * 100);
	else
		str_addf(out, "%.1f %% of the time", worst->high * 100);
}

static void pfc_say(const struct check_source *source, const struct pfc_sum *sum,
	const struct check_open *open, struct check_line *line)
{
	const struct pfc_worst *worst = &sum->worst;
	rw_cleanup(str_done) struct str share = {0}, text = {0};
	if (sum->n == 0)
		check_say(line, CHECK_UNKNOWN, "no port and priority with pause counters matches");
	else if (!worst->row || sum->n_unknown * 4 > sum->n) {
		line->absent = sum->n == sum->n_unknown;
		check_say(line, CHECK_UNKNOWN, "pause is not known for %zu of %zu queues",
			sum->n_unknown, sum->n);
	}
	if (!worst->row)
		return;
	if (worst->high < 0.00005) {
		check_say(line, CHECK_OK, "no pause at %zu queue%s", sum->n - sum->n_unknown,
			plural(sum->n - sum->n_unknown));
		return;
	}
	pfc_add_share(&share, worst);
	const char *peer = str_or(worst->row->peer, "");
	if (!*peer)
		peer = "the neighbour";
	if (worst->received)
		str_addf(&text, "%s paused us %s", peer, share.s);
	else
		str_addf(&text, "we paused %s %s", peer, share.s);
	const struct check_place place = {worst->row->device, worst->row->port};
	check_measured(source, line, worst->state, open, place, "%s:%s p%d: %s", place.device,
		place.port, worst->row->priority, text.s);
}

static int check_pfc_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct limit_pair limits = limits_pause(source->client->config);
	const struct check_ranges usual = check_ranges_below(limits.warn, limits.critical);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct pause_ports_answer *pause;
	const struct watch_answer *watch;
	struct pfc_sum sum = {0};
	int r = check_source_pause(source, &pause, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	pfc_take_all(source, pause, &ranges, &sum);
	struct check_open open = {watch, golden_info(GOLDEN_PAUSE_TIME)->causes, 0};
	/* With ranges of their own, people ask for these and nothing else. */
	if (!source->given.warn.set && !source->given.crit.set)
		open.n = check_incidents(source, watch, open.causes, ret);
	pfc_say(source, &sum, &open, ret);
	check_line_value(ret, "pause", sum.worst.row ? sum.worst.high : NAN, 4, &ranges, 1);
	check_line_value(ret, "pause_low", sum.worst.row ? sum.worst.low : NAN, 4, NULL, 1);
	check_line_value(ret, "queues_over", (double)sum.n_over, 0, NULL, (double)sum.n);
	return 0;
}

const struct check check_pfc = {
	.name = "pfc",
	.label = "PFC",
	.summary = "share of time that PFC pauses a port and priority",
	.run = check_pfc_run,
	.help = "RANGE is a share of time, 0.05 or 5%. A bound from frame counts warns at most. "
		"Without a RANGE the open incidents that show in pause decide: they are opened by "
		"the limits of analyzers.pause_storm.",
	.options = "warn crit device port priority job",
	.examples = {{"check pfc --device 'leaf*' --warn 1% --crit 5%",
			     "alerts when a port of a leaf is paused longer", 2},
		{"check pfc --priority 3 --format json", "judges one priority, as a document", 2}},
};

/*
 * check_ecn - ECN acts before PFC: pause without a single mark means that the thresholds stand in
 * the wrong order or that ECN is off. And the share of marked packets.
 */

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
	const struct counters_row *worst;
	double pause; /* least share of time of the most paused queue; NAN unknown */
};

static void ecn_take_counters(const struct check_source *source,
	const struct counters_answer *counters, struct ecn_sum *sum)
{
	sum->ratio = NAN;
	for (size_t i = 0; i < counters->n_rows; i++) {
		const struct counters_row *row = &counters->rows[i];
		const double marked = row->grew[COUNTERS_MARKED],
			     packets = row->grew[COUNTERS_PACKETS];
		if (row->lossless != MAYBE_YES || !check_counters_in_scope(source, row))
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

static void ecn_take_pause(const struct check_source *source,
	const struct pause_ports_answer *pause, struct ecn_sum *sum)
{
	sum->pause = NAN;
	for (size_t i = 0; i < pause->n_ports; i++) {
		const struct pause_pair *pair = &pause->ports[i];
		if (!check_pause_in_scope(source, pair))
			continue;
		sum->pause = fmax(sum->pause, fmax(pair->rx_lo_ratio, pair->tx_lo_ratio));
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
			(struct check_place){sum->worst->device, sum->worst->port},
			"CE %.2f %% at %s:%s, the most of %zu queues", sum->ratio * 100,
			sum->worst->device, sum->worst->port, sum->n_known);
	else if (sum->packets == 0 && isnan(sum->ratio))
		check_say(line, CHECK_OK, "idle, 0 packets at %zu queues", sum->n_known);
	else
		check_say(line, CHECK_OK, "no marks at %zu queue%s", sum->n_known,
			plural(sum->n_known));
}

/* Marks show that their order is right; where none are counted, nobody knows. */
static bool ecn_order_shows(const struct ecn_sum *sum)
{
	return sum->n_known > 0 && !(sum->marked > 0);
}

/* The order of ECN and PFC is judged with the signals of the wall, once for all devices. */
static void ecn_say_order(const struct check_source *source, const struct ecn_sum *sum,
	const struct check_open *open, struct check_line *line)
{
	const struct watch_answer *watch = open->watch;
	if (!ecn_order_shows(sum) || watch->n_signals <= GOLDEN_ECN_MARKS)
		return;
	if (!watch->signals[GOLDEN_ECN_MARKS].over)
		return;
	check_measured(
		source, line, CHECK_WARNING, open, (struct check_place){0}, "%s", ECN_ORDER_WRONG);
}

static int check_ecn_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(ECN_RATIO_WARN, NAN);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct counters_answer *counters;
	const struct pause_ports_answer *pause;
	const struct watch_answer *watch;
	struct ecn_sum sum = {0};
	int r = check_source_counters(source, &counters, e);
	if (r == 0)
		r = check_source_pause(source, &pause, e);
	if (r < 0)
		return r;
	ecn_take_counters(source, counters, &sum);
	ecn_take_pause(source, pause, &sum);
	if (ecn_order_shows(&sum))
		r = check_source_watch(source, &watch, e);
	else
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
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

/* check_drops - frames dropped in lossless priorities: there must be none. */

static const enum cause drops_causes[] = {CAUSE_LOSSLESS_LOSS, CAUSE_PACKET_LOSS,
	CAUSE_HEADROOM_SMALL, CAUSE_POOL_EXHAUSTED, CAUSE_CLASS_LEAK, CAUSE_PFC_WATCHDOG,
	CAUSE_PFC_MISMATCH, CAUSE_DSCP_MISMATCH, CAUSE_NONE};

struct drops_sum {
	size_t n, n_known;
	double drops, most;
	const struct counters_row *worst;
};

static void drops_take(const struct check_source *source, const struct counters_answer *counters,
	struct drops_sum *sum)
{
	for (size_t i = 0; i < counters->n_rows; i++) {
		const struct counters_row *row = &counters->rows[i];
		const double drops = row->grew[COUNTERS_DROPS];
		if (!row->lossless || !check_counters_in_scope(source, row))
			continue;
		sum->n++;
		if (isnan(drops))
			continue;
		sum->n_known++;
		sum->drops += drops;
		if (drops > sum->most) {
			sum->most = drops;
			sum->worst = row;
		}
	}
}

static int check_drops_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(NAN, 0);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct counters_answer *counters;
	const struct watch_answer *watch;
	struct drops_sum sum = {0};
	int r = check_source_counters(source, &counters, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	drops_take(source, counters, &sum);
	const struct check_open open = {
		watch, drops_causes, check_incidents(source, watch, drops_causes, ret)};
	ret->absent = sum.n > 0 && sum.n_known == 0;
	if (sum.n_known == 0)
		check_say(ret, CHECK_UNKNOWN, "drops are not counted by any of %zu lossless queues",
			sum.n);
	else if (sum.worst)
		check_measured(source, ret, check_judge_value(&ranges, sum.drops), &open,
			(struct check_place){sum.worst->device, sum.worst->port},
			"%s frames dropped in %.0f s, most at %s:%s p%d: %s",
			number_count_of(sum.drops).s, counters->seconds, sum.worst->device,
			sum.worst->port, sum.worst->priority, number_count_of(sum.most).s);
	else
		check_say(ret, CHECK_OK, "no drops at %zu lossless queues in %.0f s", sum.n_known,
			counters->seconds);
	check_line_value(ret, "drops", sum.n_known > 0 ? sum.drops : NAN, 0, &ranges, NAN);
	return 0;
}

const struct check check_drops = {
	.name = "drops",
	.label = "DROPS",
	.summary = "frames dropped in lossless priorities",
	.run = check_drops_run,
	.help = "RANGE is the number of frames dropped in the time range, 5 minutes if none is "
		"given (default: --crit 0).",
	.options = "warn crit device port priority job",
	.examples = {{"check drops", "alerts at the first dropped frame"},
		{"check drops --priority 3 --warn 0 --crit 100",
			"warns at one frame, critical above 100"}},
};
