/* qp_reaction - bins of octets, windows round CNPs, and the mildest published sender beside them.
 */
#include "collectors/packet/qp_reaction.h"

#include <string.h>

#include "agent/base/stats.h"

#define WIDTH_NS 25000
#define WIDTH_MAX_NS 25600000u
#define PACKETS_A_BIN 3
#define TIMER_NS 55000 /* recovery, and decay of alpha without a CNP */
#define CUT_NS 50000 /* least time between two cuts */
#define GAIN (1.0F / 256)
#define ALPHA_BEGIN 0.5F
#define RECOVERY_STEPS 5
#define INCREASE 0.01F
#define SPACING_NS 1000000000
#define PAUSED_SHARE 0.85 /* a window under a pause with less than this says nothing */
#define TIMERS_MAX 2000 /* after 110 ms it is at its full rate, and alpha is next to nothing */

enum { WINDOW = QP_REACTION_WINDOW, BINS = QP_REACTION_BINS };

/* ---- the mildest sender ------------------------------------------------------ */

/* At its full rate for good: only alpha goes on. */
static bool mild_is_full(const struct qp_reaction *reaction)
{
	return reaction->rate >= 1 && reaction->target >= 1 && reaction->stage >= RECOVERY_STEPS;
}

static void mild_follow(struct qp_reaction *reaction, int64_t t_ns)
{
	int64_t timers = (t_ns - reaction->timer_ns) / TIMER_NS;
	if (timers <= 0)
		return;
	reaction->timer_ns += timers * TIMER_NS;
	if (timers >= TIMERS_MAX) {
		reaction->rate = reaction->target = 1;
		reaction->alpha = 0;
		return;
	}
	for (; timers > 0 && !mild_is_full(reaction); timers--) {
		reaction->alpha *= 1 - GAIN;
		if (reaction->stage >= RECOVERY_STEPS)
			reaction->target += INCREASE;
		else
			reaction->stage++;
		if (reaction->target > 1)
			reaction->target = 1;
		reaction->rate = (reaction->rate + reaction->target) / 2;
	}
	float alpha = reaction->alpha;
	for (; timers > 0; timers--)
		alpha *= 1 - GAIN;
	reaction->alpha = alpha;
}

static void mild_cut(struct qp_reaction *reaction, int64_t t_ns)
{
	mild_follow(reaction, t_ns);
	if (t_ns - reaction->cut_ns < CUT_NS)
		return;
	reaction->target = reaction->rate;
	reaction->rate *= 1 - reaction->alpha / 2;
	reaction->alpha = (1 - GAIN) * reaction->alpha + GAIN;
	reaction->stage = 0;
	reaction->timer_ns = reaction->cut_ns = t_ns;
}

/* ---- bins -------------------------------------------------------------------- */

void qp_reaction_begin(struct qp_reaction *reaction, int64_t t_ns, uint32_t usual_ns)
{
	uint32_t width_ns = WIDTH_NS;
	while (width_ns / PACKETS_A_BIN < usual_ns && width_ns < WIDTH_MAX_NS)
		width_ns *= 2;
	const int64_t bin = t_ns / width_ns;
	*reaction = (struct qp_reaction){.width_ns = width_ns,
		.bin = bin,
		.begin_bin = bin + 1,
		.break_bin = bin,
		.cnp_ns = t_ns,
		.timer_ns = t_ns,
		.cut_ns = t_ns - CUT_NS,
		.alpha = ALPHA_BEGIN,
		.rate = 1,
		.target = 1};
}

static uint32_t bin_octets(const struct qp_reaction *reaction, int64_t bin)
{
	if (bin > reaction->bin || bin <= reaction->bin - BINS)
		return 0;
	return reaction->octets[(uint64_t)bin % BINS];
}

static double window_octets(const struct qp_reaction *reaction, int64_t first)
{
	double octets = 0;
	for (int64_t bin = first; bin < first + WINDOW; bin++)
		octets += bin_octets(reaction, bin);
	return octets;
}

static double window_bps(const struct qp_reaction *reaction, double octets)
{
	return octets * 8e9 / ((double)reaction->width_ns * WINDOW);
}

static bool reaction_spoiled(const struct qp_reaction *reaction, int64_t paused_ns)
{
	const int64_t first = reaction->cnp_bin - WINDOW;
	return first < reaction->begin_bin || reaction->break_bin >= first ||
		paused_ns >= first * (int64_t)reaction->width_ns;
}

static double reaction_median_gap(const struct qp_reaction *reaction)
{
	double gaps[QP_REACTION_GAPS];
	for (size_t i = 0; i < reaction->n_gaps; i++)
		gaps[i] = reaction->gaps[i];
	return stats_median(gaps, reaction->n_gaps);
}

/* The reaction under way is over: the rate before is @before_bps. @packet_octets: of the newest
 * packet, usual ones in a burst. */
static void reaction_close(struct qp_reaction *reaction, struct reaction_sum *sum,
	double before_bps, double after_bps, uint32_t packet_octets)
{
	reaction_pair_add(&sum->all, before_bps, after_bps);
	if (reaction->alone)
		reaction_pair_add(&sum->alone, before_bps, after_bps);
	const double gap_before_ns = (double)packet_octets * 8e9 / before_bps;
	if (reaction->n_gaps == QP_REACTION_GAPS && after_bps < before_bps * REACTION_CLEAR &&
		reaction_median_gap(reaction) * REACTION_CLEAR > gap_before_ns)
		sum->clear++;
	reaction->waits = false;
}

static double reaction_before(struct qp_reaction *reaction)
{
	return window_bps(reaction, window_octets(reaction, reaction->cnp_bin - WINDOW));
}

/* Its windows are complete. With few packets in the one after it goes on to wait for more. */
static void reaction_windows_end(struct qp_reaction *reaction, struct reaction_sum *sum,
	int64_t paused_ns, uint32_t packet_octets)
{
	const double before_bps = reaction_before(reaction);
	if (reaction_spoiled(reaction, paused_ns) || before_bps <= 0) {
		reaction->waits = false;
		sum->left_out++;
		return;
	}
	if (reaction->n_gaps < QP_REACTION_GAPS) {
		reaction->lasts = true;
		reaction->before_bps = before_bps;
		return;
	}
	const double after_bps =
		window_bps(reaction, window_octets(reaction, reaction->cnp_bin + 1));
	reaction_close(reaction, sum, before_bps, after_bps, packet_octets);
}

/* Eight gaps came after the window. */
static void reaction_gaps_end(
	struct qp_reaction *reaction, struct reaction_sum *sum, int64_t paused_ns, uint32_t octets)
{
	const double after_bps = (double)octets * 8e9 / reaction_median_gap(reaction);
	reaction->lasts = false;
	/* A stop among gaps as before is no rate. */
	if (reaction_spoiled(reaction, paused_ns) ||
		!(after_bps < reaction->before_bps * REACTION_CLEAR)) {
		reaction->waits = false;
		sum->left_out++;
		return;
	}
	reaction_close(reaction, sum, reaction->before_bps, after_bps, octets);
}

/* The window that ends with the newest bin. The peak is taken in free and in pressed windows alike;
 * a pause can only make a share smaller, so only low ones are left out for it. */
static void reaction_window(
	struct qp_reaction *reaction, struct reaction_sum *sum, int64_t paused_ns)
{
	const int64_t first = reaction->bin - WINDOW + 1;
	const int64_t first_ns = first * (int64_t)reaction->width_ns;
	if (first < reaction->begin_bin || reaction->break_bin >= first)
		return;
	const double octets = window_octets(reaction, first);
	if (octets > reaction->peak) {
		reaction->peak = (uint32_t)octets;
		const double peak_bps = window_bps(reaction, octets);
		if (peak_bps > sum->peak_bps)
			sum->peak_bps = peak_bps;
	}
	mild_follow(reaction, first_ns);
	if ((double)reaction->rate > REACTION_PRESSED || reaction->peak == 0)
		return;
	const double share = octets / reaction->peak;
	if (share < PAUSED_SHARE && paused_ns >= first_ns)
		return;
	sum->pressed++;
	sum->held += share;
	sum->allowed += (double)reaction->rate;
	sum->held_sq += share * share;
}

/* All bins before @bin are complete. */
static void reaction_advance(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t bin,
	int64_t paused_ns, uint32_t packet_octets)
{
	if (bin - reaction->bin >= BINS) {
		if (reaction->waits && !reaction->lasts)
			reaction_windows_end(reaction, sum, paused_ns, packet_octets);
		memset(reaction->octets, 0, sizeof(reaction->octets));
		reaction->bin = reaction->begin_bin = bin;
		return;
	}
	while (reaction->bin < bin) {
		if (reaction->waits && !reaction->lasts &&
			reaction->bin >= reaction->cnp_bin + WINDOW)
			reaction_windows_end(reaction, sum, paused_ns, packet_octets);
		if (reaction->bin % WINDOW == 0)
			reaction_window(reaction, sum, paused_ns);
		reaction->bin++;
		reaction->octets[(uint64_t)reaction->bin % BINS] = 0;
	}
}

/* ---- packets ----------------------------------------------------------------- */

static bool reaction_breaks(
	const struct qp_reaction *reaction, int64_t silent_ns, bool message_ended)
{
	if (message_ended)
		return silent_ns > reaction->width_ns;
	return !reaction->waits && silent_ns > (int64_t)reaction->width_ns * WINDOW;
}

static void reaction_gap(struct qp_reaction *reaction, int64_t bin, int64_t silent_ns)
{
	if (!reaction->waits || bin <= reaction->cnp_bin || reaction->n_gaps >= QP_REACTION_GAPS)
		return;
	uint32_t gap_ns = UINT32_MAX;
	if (silent_ns < UINT32_MAX)
		gap_ns = (uint32_t)silent_ns;
	reaction->gaps[reaction->n_gaps++] = gap_ns;
}

void qp_reaction_data(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns,
	uint32_t octets, int64_t silent_ns, bool message_ended, int64_t paused_ns)
{
	const int64_t bin = t_ns / reaction->width_ns;
	/* A break ends now. It touches all bins up to this one. */
	if (reaction_breaks(reaction, silent_ns, message_ended))
		reaction->break_bin = bin;
	reaction_gap(reaction, bin, silent_ns);
	if (bin > reaction->bin)
		reaction_advance(reaction, sum, bin, paused_ns, octets);
	if (reaction->lasts && reaction->n_gaps == QP_REACTION_GAPS)
		reaction_gaps_end(reaction, sum, paused_ns, octets);
	reaction->octets[(uint64_t)reaction->bin % BINS] += octets;
}

void qp_reaction_cnp(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns)
{
	const int64_t bin = t_ns / reaction->width_ns;
	sum->cnp++;
	const int64_t since_ns = t_ns - reaction->cnp_ns;
	reaction->cnp_ns = t_ns;
	if (since_ns > 0 && since_ns <= SPACING_NS) {
		sum->spacings++;
		sum->spacing_s += (double)since_ns / 1e9;
	}
	mild_cut(reaction, t_ns);
	/* Bins up to now are complete only when a packet comes. A reaction whose last packet is
	 * long ago ends there. */
	if (reaction->waits && (reaction->lasts || bin <= reaction->cnp_bin + WINDOW))
		return;
	sum->left_out += reaction->waits;
	reaction->waits = true;
	reaction->lasts = false;
	reaction->n_gaps = 0;
	reaction->cnp_bin = bin;
	reaction->alone = since_ns > (int64_t)reaction->width_ns * (2 * WINDOW + 1);
}
