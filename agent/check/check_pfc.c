/*
 * check_pfc - share of time for which a port and priority may not send. Where a switch counts pause
 * frames only, the share is an upper bound: it warns and is never critical. Without ranges of the
 * user's own the open incidents that show in pause decide.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/limits.h"

struct pfc_worst {
	const json_t *row;
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
static bool pfc_is_host(const json_t *row)
{
	return *doc_word(row, "peer") && !strchr(doc_word(row, "peer"), ':');
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

static void pfc_take(
	struct pfc_sum *sum, const json_t *row, const struct check_ranges *ranges, bool received)
{
	double low = doc_number(row, received ? "rx_lo_ratio" : "tx_lo_ratio");
	double high = doc_number(row, received ? "rx_hi_ratio" : "tx_hi_ratio");
	if (isnan(high))
		return;
	const struct pfc_worst own = {row, low, high, received, pfc_judge(ranges, low, high)};
	sum->n_over += own.state != CHECK_OK;
	if (pfc_is_worse(&own, &sum->worst))
		sum->worst = own;
}

static void pfc_take_all(const struct check_source *source, const json_t *doc,
	const struct check_ranges *ranges, struct pfc_sum *sum)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "ports"), i, row) {
		if (!check_in_scope(source, row))
			continue;
		sum->n++;
		sum->n_unknown += isnan(doc_number(row, "rx_hi_ratio")) ||
			isnan(doc_number(row, "tx_hi_ratio"));
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
	const char *peer = doc_word(worst->row, "peer");
	if (!*peer)
		peer = "the neighbour";
	if (worst->received)
		str_addf(&text, "%s paused us %s", peer, share.s);
	else
		str_addf(&text, "we paused %s %s", peer, share.s);
	check_measured(source, line, worst->state, open, "%s:%s p%lld: %s",
		doc_word(worst->row, "device"), doc_word(worst->row, "port"),
		(long long)json_integer_value(json_object_get(worst->row, "priority")), text.s);
}

static int check_pfc_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct limit_pair limits = limits_pause(source->client->config);
	const struct check_ranges usual = check_ranges_below(limits.warn, limits.critical);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const json_t *doc;
	const struct watch_answer *watch;
	struct pfc_sum sum = {0};
	int r = check_source_doc(source, "pause/ports", &doc, e);
	if (r == 0)
		r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	pfc_take_all(source, doc, &ranges, &sum);
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
