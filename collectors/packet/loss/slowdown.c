/* slowdown - who stood still and who slows down: pauses in force, silences and their causes, and
 * rates\nround congestion notifications. */
#include "collectors/packet/loss/slowdown.h"

#include "base/stats.h"

#define PAUSE_FAST_BPS 800000000000ull
#define PAUSE_SLOW_BPS 10000000000ull
#define PAUSE_QUANTUM_BITS 512

/* pause_log - pauses in force, and their times. */

struct pause_log {
	struct pause_row *rows;
	size_t n, cap;
	struct map *index; /* MAC and priority -> position */
	uint64_t fast_bps, slow_bps;
	uint64_t refused;
	/* the newest stretch in which anybody paused, over all rows */
	int64_t any_from_ns, any_until_ns;
	uint32_t n_paused; /* rows whose newest frame is an XOFF */
};

struct pause_log *pause_log_new(uint64_t speed_bps)
{
	struct pause_log *log = rw_calloc(1, sizeof(*log));
	log->index = map_new();
	log->fast_bps = PAUSE_FAST_BPS;
	log->slow_bps = PAUSE_SLOW_BPS;
	if (speed_bps)
		log->fast_bps = log->slow_bps = speed_bps;
	return log;
}

void pause_log_free(struct pause_log *log)
{
	if (!log)
		return;
	map_free(log->index);
	free(log->rows);
	free(log);
}

void pause_log_next(struct pause_log *log)
{
	map_clear(log->index);
	log->n = 0;
	log->refused = 0;
	log->n_paused = 0;
}

static int64_t pause_ns(uint32_t quanta, uint64_t bps)
{
	return (int64_t)((double)quanta * PAUSE_QUANTUM_BITS * 1e9 / (double)bps);
}

static struct pause_row *pause_row_get(
	struct pause_log *log, const uint8_t mac[6], uint8_t priority)
{
	uint64_t at, key = priority;
	for (int i = 0; i < 6; i++)
		key = key << 8 | mac[i];
	if (map_get(log->index, key, &at))
		return &log->rows[at];
	if (log->n >= PAUSE_ROWS_MAX)
		return NULL;
	rw_grow(log->rows, log->n, log->cap);
	map_put(log->index, key, log->n);
	struct pause_row *row = &log->rows[log->n++];
	*row = (struct pause_row){.priority = priority};
	memcpy(row->mac, mac, sizeof(row->mac));
	return row;
}

/* What the newest XOFF of @row paused up to @t_ns goes into its sums. Returns whether that pause
 * may still be in force then. */
static bool pause_row_settle(const struct pause_log *log, struct pause_row *row, int64_t t_ns)
{
	const int64_t passed_ns = t_ns - row->last_ns;
	if (row->quanta == 0 || passed_ns < 0)
		return false;
	row->low_ns += ns_earlier(passed_ns, pause_ns(row->quanta, log->fast_bps));
	row->high_ns += ns_earlier(passed_ns, pause_ns(row->quanta, log->slow_bps));
	return passed_ns <= pause_ns(row->quanta, log->slow_bps);
}

static void pause_row_longest(struct pause_row *row, int64_t until_ns)
{
	const int64_t lasted_ns = until_ns - row->since_ns;
	if (lasted_ns > row->longest_ns)
		row->longest_ns = lasted_ns;
}

/* The stretch that the newest XOFF belongs to, up to @t_ns, when a frame that does not release it
 * in time ends it: at the fastest speed. */
static void pause_row_expired(const struct pause_log *log, struct pause_row *row, int64_t t_ns)
{
	const int64_t lasts_ns = pause_ns(row->quanta, log->fast_bps);
	pause_row_longest(row, ns_earlier(t_ns, row->last_ns + lasts_ns));
}

static void pause_any_on(struct pause_log *log, int64_t t_ns, uint32_t quanta)
{
	const int64_t until_ns = t_ns + pause_ns(quanta, log->slow_bps);
	if (log->any_until_ns < t_ns)
		log->any_from_ns = t_ns;
	if (until_ns > log->any_until_ns)
		log->any_until_ns = until_ns;
}

static void pause_row_frame(
	struct pause_log *log, struct pause_row *row, uint32_t quanta, int64_t t_ns)
{
	const bool was_on = row->quanta > 0;
	const bool in_force = pause_row_settle(log, row, t_ns);
	if (was_on && quanta == 0 && in_force)
		pause_row_longest(row, t_ns);
	else if (was_on && !in_force)
		pause_row_expired(log, row, t_ns);
	if (quanta > 0 && !in_force)
		row->since_ns = t_ns;
	if (row->frames++ == 0)
		row->first_ns = t_ns;
	row->xoff += quanta > 0;
	row->xon += quanta == 0;
	row->last_ns = t_ns;
	row->quanta = quanta;
	log->n_paused += quanta > 0;
	log->n_paused -= was_on;
	if (quanta > 0)
		pause_any_on(log, t_ns, quanta);
	else if (was_on && log->n_paused == 0 && log->any_until_ns > t_ns)
		log->any_until_ns = t_ns;
}

static void pause_log_frame(struct pause_log *log, const struct roce_packet *packet,
	uint8_t priority, uint16_t quanta, int64_t t_ns)
{
	struct pause_row *row = pause_row_get(log, packet->src_mac, priority);
	if (row)
		pause_row_frame(log, row, quanta, t_ns);
	else
		log->refused++;
}

void pause_log_add(struct pause_log *log, const struct roce_packet *packet, int64_t t_ns)
{
	if (packet->kind == PACKET_PAUSE) {
		pause_log_frame(log, packet, PAUSE_ALL_TRAFFIC, packet->time[0], t_ns);
		return;
	}
	for (uint8_t i = 0; i < 8; i++)
		if (packet->classes >> i & 1)
			pause_log_frame(log, packet, i, packet->time[i], t_ns);
}

static int pause_row_order(const void *left, const void *right)
{
	const struct pause_row *a = left, *b = right;
	const int order = memcmp(a->mac, b->mac, sizeof(a->mac));
	if (order)
		return order;
	return (int)a->priority - (int)b->priority;
}

struct pause_row *pause_log_rows(
	const struct pause_log *log, int64_t end_ns, size_t *ret_n, uint64_t *ret_refused)
{
	struct pause_row *rows = rw_calloc(log->n + 1, sizeof(*rows));
	for (size_t i = 0; i < log->n; i++) {
		rows[i] = log->rows[i];
		const uint32_t quanta = rows[i].quanta;
		pause_row_settle(log, &rows[i], end_ns);
		if (quanta > 0)
			pause_row_expired(log, &rows[i], end_ns);
	}
	qsort(rows, log->n, sizeof(*rows), pause_row_order);
	*ret_n = log->n;
	*ret_refused = log->refused;
	return rows;
}

int64_t pause_log_until(const struct pause_log *log, int64_t now_ns)
{
	return ns_earlier(now_ns, log->any_until_ns);
}

int64_t pause_log_overlap(const struct pause_log *log, int64_t from_ns, int64_t to_ns)
{
	int64_t from = log->any_from_ns;
	if (from < from_ns)
		from = from_ns;
	const int64_t until = ns_earlier(to_ns, log->any_until_ns);
	if (until <= from)
		return 0;
	return until - from;
}

/* stall - the cause of a silence, and the longest of them. */

/* Packets that were under way when the RNR NAK passed come between it and the silence. */
#define RNR_BEFORE_NS 1000000

const char *stall_cause_name(enum stall_cause cause)
{
	static const char *const names[] = {"unknown", "timeout", "rnr", "pause", "idle"};
	return names[cause];
}

enum stall_cause silence_cause(const struct silence *silence)
{
	const int64_t lasts_ns = silence->to_ns - silence->from_ns;
	if (silence->again) {
		if (silence->rnr_ns && silence->rnr_ns >= silence->from_ns - RNR_BEFORE_NS)
			return STALL_RNR;
		/* a NAK asks for it: no timeout */
		if (silence->unread || (silence->nak_ns && silence->nak_ns >= silence->from_ns))
			return STALL_UNKNOWN;
		return STALL_TIMEOUT;
	}
	if (silence->paused_ns * 2 >= lasts_ns)
		return STALL_PAUSE;
	if (silence->open)
		return STALL_UNKNOWN;
	return STALL_IDLE;
}

static bool stall_before(const struct stall *left, const struct stall *right)
{
	const bool left_idle = left->cause == STALL_IDLE, right_idle = right->cause == STALL_IDLE;
	if (left_idle != right_idle)
		return right_idle;
	return left->lasts_ns > right->lasts_ns;
}

void stalls_add(struct stalls *stalls, const struct stall *stall)
{
	if (stall->cause != STALL_IDLE) {
		stalls->total++;
		stalls->total_ns += stall->lasts_ns;
	}
	size_t at = stalls->n;
	while (at > 0 && stall_before(stall, &stalls->longest[at - 1]))
		at--;
	if (at >= STALLS_MAX)
		return;
	if (stalls->n < STALLS_MAX)
		stalls->n++;
	for (size_t i = stalls->n - 1; i > at; i--)
		stalls->longest[i] = stalls->longest[i - 1];
	stalls->longest[at] = *stall;
}

/* qp_reaction - bins of octets, windows round CNPs, and the mildest published sender beside them.
 */

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
