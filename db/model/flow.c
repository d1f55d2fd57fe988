/* flow - orders of flow samples. Pure. */
#include "db/model/flow.h"

#define REACTION_MIN 8 /* reactions: fewer say nothing */
#define REACTION_ALONE_MIN 20 /* the same for CNPs that came alone, at line rate */
#define REACTION_PRESSED_MIN 20 /* windows under pressure */
#define REACTION_SAMPLED_MIN 30 /* reactions in a capture of one packet in many */
#define REACTION_ERRORS 3.0 /* standard errors on either side */
#define REACTION_SLOWS 0.9 /* ratio of after to before; */
#define REACTION_SLOWS_MANY 0.95 /* of REACTION_ALONE_MIN reactions or more */
#define REACTION_CLEAR_MIN 3
#define REACTION_DEFIES 4.0
#define REACTION_DEFIES_KNOWN 2.0
#define REACTION_LEVEL 0.98
#define REACTION_DENSE_S 150e-6 /* no published sender holds a rate under so many CNPs */

/* Expected CNPs: at least a quarter of the slots with a mark, less what sampling leaves out. Five
 * expected ones and none seen is chance less than once in a hundred. */
#define ANSWER_SHARE 0.25
#define ANSWER_EXPECTED 5.0
#define ANSWER_MIN 3 /* CNPs that show that it does answer */

#define ORDER(x, y)                                                                                \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

enum flow_dir flow_dir_of(const char *word)
{
	if (str_eq(word, "in"))
		return FLOW_DIR_IN;
	if (str_eq(word, "out"))
		return FLOW_DIR_OUT;
	return FLOW_DIR_UNKNOWN;
}

int flow_order(const void *left, const void *right)
{
	const struct flow_sample *x = left, *y = right;

	ORDER(x->host, y->host);
	ORDER(x->entity, y->entity);
	ORDER(x->from_ns, y->from_ns);
	ORDER(!x->total, !y->total);
	ORDER(y->octets, x->octets);
	/* the rest: equal flows come in one order, whoever fills the window */
	ORDER(x->to_ns, y->to_ns);
	ORDER(x->dir, y->dir);
	ORDER(x->key.family, y->key.family);
	int c = memcmp(x->key.src, y->key.src, sizeof(x->key.src));
	if (c == 0)
		c = memcmp(x->key.dst, y->key.dst, sizeof(x->key.dst));
	if (c != 0)
		return c;
	ORDER(x->key.src_port, y->key.src_port);
	ORDER(x->key.dst_qp, y->key.dst_qp);
	ORDER(y->packets, x->packets);
	return 0;
}

int flow_end_order(const void *left, const void *right)
{
	const struct flow_sample *x = left, *y = right;

	ORDER(x->to_ns, y->to_ns);
	return flow_order(left, right);
}

const char *flow_loss_word(enum flow_loss kind)
{
	static const char *const words[FLOW_LOSS_KINDS] = {
		[FLOW_LOST_BEFORE] = "lost_before",
		[FLOW_LOST_BEYOND] = "lost_beyond",
		[FLOW_LOST_READ] = "read_response_lost",
		[FLOW_LOST_TIMER] = "timeout",
		[FLOW_LOST_ACK] = "ack_lost",
		[FLOW_LOST_RNR] = "rnr",
	};
	return words[kind];
}

/* reaction - verdicts over sums of rates before and after congestion notifications. */

#define NEAR_LINE 0.85 /* of a link's speed: the rest is gaps between messages */
#define NEAR_PEAK 0.5 /* of the fastest queue pair of the capture */
/* Gaps and preambles are not in the octets of a frame, and clocks differ: a rate this much above a
 * speed is still that speed. */
#define SPEED_SLACK 1.02
/* At rates near the floor of the reaction (1 to 40 Mbit/s a step) holding a rate proves nothing. */
#define PRESSED_BPS 2e9
#define CLEAR_SHARE 0.8
#define SAMPLED_HOLDS 0.85 /* ratio of after to before, three errors less */

static const double reaction_speeds[] = {
	10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1.6e12};

const char *reaction_verdict_name(enum reaction_verdict verdict)
{
	static const char *const names[] = {"too_few", "slows", "does_not_slow"};
	return names[verdict];
}

const char *answer_verdict_name(enum answer_verdict verdict)
{
	static const char *const names[] = {"too_few", "answers", "does_not_answer"};
	return names[verdict];
}

double reaction_line_bps(double bps)
{
	for (size_t i = 0; i < rw_countof(reaction_speeds); i++)
		if (bps <= reaction_speeds[i] * SPEED_SLACK)
			return reaction_speeds[i];
	return 0;
}

/* ---- sums ------------------------------------------------------------------ */

void reaction_pair_add(struct reaction_pairs *pairs, double before_bps, double after_bps)
{
	pairs->n++;
	pairs->before += before_bps;
	pairs->after += after_bps;
	pairs->before_sq += before_bps * before_bps;
	pairs->after_sq += after_bps * after_bps;
	pairs->product += before_bps * after_bps;
}

static void reaction_pairs_sum(struct reaction_pairs *pairs, const struct reaction_pairs *more)
{
	pairs->n += more->n;
	pairs->before += more->before;
	pairs->after += more->after;
	pairs->before_sq += more->before_sq;
	pairs->after_sq += more->after_sq;
	pairs->product += more->product;
}

void reaction_sum_add(struct reaction_sum *sum, const struct reaction_sum *more)
{
	sum->cnp += more->cnp;
	sum->unattributed += more->unattributed;
	sum->left_out += more->left_out;
	reaction_pairs_sum(&sum->all, &more->all);
	reaction_pairs_sum(&sum->alone, &more->alone);
	sum->clear += more->clear;
	sum->pressed += more->pressed;
	sum->held += more->held;
	sum->held_sq += more->held_sq;
	sum->allowed += more->allowed;
	sum->spacings += more->spacings;
	sum->spacing_s += more->spacing_s;
	sum->peak_bps = fmax(sum->peak_bps, more->peak_bps);
}

/* ---- senders --------------------------------------------------------------- */

struct reaction_ratio {
	double ratio, error;
};

/* R = sum of after / sum of before; its variance is the sum of (after - R before)^2 over
 * (sum of before)^2, times n/(n-1). */
static struct reaction_ratio reaction_ratio_of(const struct reaction_pairs *pairs)
{
	struct reaction_ratio ret = {.ratio = NAN, .error = NAN};
	if (pairs->n < 2 || pairs->before <= 0)
		return ret;
	const double n = (double)pairs->n;
	ret.ratio = pairs->after / pairs->before;
	const double squares = pairs->after_sq - 2 * ret.ratio * pairs->product +
		ret.ratio * ret.ratio * pairs->before_sq;
	ret.error = sqrt(fmax(0, squares) * n / (n - 1)) / pairs->before;
	return ret;
}

struct reaction_held {
	double mean, error;
};

static struct reaction_held reaction_held_of(const struct reaction_sum *sum)
{
	struct reaction_held ret = {.mean = NAN, .error = NAN};
	if (sum->pressed < 2)
		return ret;
	const double n = (double)sum->pressed;
	ret.mean = sum->held / n;
	ret.error = sqrt(fmax(0, sum->held_sq / n - ret.mean * ret.mean) / (n - 1));
	return ret;
}

static bool reaction_slows(const struct reaction_sum *sum, const struct reaction_judged *judged,
	uint64_t least, uint32_t sampling)
{
	if (judged->n >= least && judged->high < REACTION_SLOWS)
		return true;
	if (judged->n >= least && judged->n >= REACTION_ALONE_MIN &&
		judged->high < REACTION_SLOWS_MANY)
		return true;
	return sampling == 1 && sum->clear >= REACTION_CLEAR_MIN &&
		(double)sum->clear >= CLEAR_SHARE * (double)judged->n;
}

/* @rate_bps, in a capture whose fastest queue pair sends @peak_bps, fills its link. */
static bool reaction_at_line(double rate_bps, double line_bps, double peak_bps)
{
	double line = line_bps;
	if (line <= 0)
		line = reaction_line_bps(rate_bps);
	return line > 0 && rate_bps >= NEAR_LINE * line && rate_bps >= NEAR_PEAK * peak_bps;
}

/* The link carries at least what the fastest queue pair sends, and is of a usual speed. */
static bool reaction_defies(const struct reaction_sum *sum, double line_bps, double peak_bps)
{
	double line = line_bps, times = REACTION_DEFIES_KNOWN;
	if (line <= 0) {
		line = reaction_line_bps(fmax(peak_bps, sum->peak_bps));
		times = REACTION_DEFIES;
	}
	/* rows of an older agent do not hold what was allowed */
	if (sum->pressed < REACTION_PRESSED_MIN || sum->allowed <= 0 ||
		sum->peak_bps < PRESSED_BPS || line <= 0)
		return false;
	const struct reaction_held held = reaction_held_of(sum);
	const double least = held.mean - REACTION_ERRORS * held.error;
	const double allowed = sum->allowed / (double)sum->pressed;
	return least * sum->peak_bps >= times * allowed * fmax(line, sum->peak_bps);
}

/* Of samples neither solitude nor pressure at a time is known, but how many CNPs came in all. */
static bool reaction_holds_sampled(const struct reaction_sum *sum, uint32_t sampling,
	double line_bps, const struct reaction_judged *judged)
{
	const double apart_s = sum->spacing_s / (double)sum->spacings / (double)sampling;
	const double least_bps = fmin(judged->before_bps, judged->after_bps);
	return sum->all.n >= REACTION_SAMPLED_MIN && sum->spacings >= REACTION_SAMPLED_MIN &&
		apart_s <= REACTION_DENSE_S && judged->low > SAMPLED_HOLDS &&
		least_bps >= PRESSED_BPS && reaction_at_line(least_bps, line_bps, least_bps);
}

static bool reaction_holds(
	const struct reaction_sum *sum, double line_bps, double peak_bps, double high)
{
	if (sum->all.n < REACTION_MIN)
		return false;
	if (high > REACTION_SLOWS && reaction_defies(sum, line_bps, peak_bps))
		return true;
	if (sum->alone.n < REACTION_ALONE_MIN)
		return false;
	const struct reaction_ratio alone = reaction_ratio_of(&sum->alone);
	return alone.ratio - REACTION_ERRORS * alone.error > REACTION_LEVEL &&
		reaction_at_line(sum->alone.before / (double)sum->alone.n, line_bps, peak_bps);
}

static const char *reaction_needs(const struct reaction_sum *sum, uint64_t least, uint32_t sampling)
{
	if (sum->cnp == 0)
		return "CNPs that reach the sender: the capture holds none";
	if (sum->unattributed == sum->cnp)
		return "the direction the CNPs come from: which queue pair they are about is not "
		       "known";
	if (sum->all.n < least && sampling > 1)
		return "at least 30 reactions in the middle of a burst, because the capture is "
		       "sampled";
	if (sum->all.n < least)
		return "at least 8 reactions in the middle of a burst, without a pause of the link";
	if (sampling > 1)
		return "a capture of every packet: of samples a small change cannot be told from "
		       "chance";
	return "pressure: CNPs at most 100 us apart for a millisecond, or a queue pair at line "
	       "rate";
}

void reaction_judge(const struct reaction_sum *sum, uint32_t sampling, double line_bps,
	double peak_bps, struct reaction_judged *ret)
{
	uint64_t least = REACTION_MIN;
	if (sampling > 1)
		least = REACTION_SAMPLED_MIN;
	const struct reaction_ratio all = reaction_ratio_of(&sum->all);
	const double scale = (double)sampling;
	*ret = (struct reaction_judged){.verdict = REACTION_TOO_FEW,
		.n = sum->all.n,
		.before_bps = scale * sum->all.before / (double)sum->all.n,
		.after_bps = scale * sum->all.after / (double)sum->all.n,
		.ratio = all.ratio,
		.low = all.ratio - REACTION_ERRORS * all.error,
		.high = all.ratio + REACTION_ERRORS * all.error};
	if (reaction_slows(sum, ret, least, sampling))
		ret->verdict = REACTION_SLOWS_DOWN;
	else if (sampling > 1 && reaction_holds_sampled(sum, sampling, line_bps, ret))
		ret->verdict = REACTION_DOES_NOT_SLOW;
	else if (sampling == 1 && reaction_holds(sum, line_bps, peak_bps, ret->high))
		ret->verdict = REACTION_DOES_NOT_SLOW;
	else
		ret->needs = reaction_needs(sum, least, sampling);
}

/* ---- receivers ------------------------------------------------------------- */

enum answer_verdict answer_judge(const struct answer_sum *sum, uint32_t sampling)
{
	const double expected = ANSWER_SHARE * (double)sum->slots / (double)sampling;
	if (sum->cnp >= ANSWER_MIN && (double)sum->cnp >= expected / 25)
		return ANSWER_YES;
	/* What the host sends must be seen: its CNPs may take another path. */
	if (sum->answered == 0 || sum->answered * 10 < sum->directions * 9)
		return ANSWER_TOO_FEW;
	if (sum->cnp == 0 && expected >= ANSWER_EXPECTED)
		return ANSWER_NO;
	return ANSWER_TOO_FEW;
}

const char *answer_needs(const struct answer_sum *sum)
{
	if (sum->answered == 0 || sum->answered * 10 < sum->directions * 9)
		return "both directions: the capture does not hold what the host sends";
	if (sum->cnp > 0)
		return "more CNPs: so few say neither that the host answers nor that it does not";
	return "marks in at least 20 slots of 50 us";
}
