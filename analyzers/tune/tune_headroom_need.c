/* tune_headroom_need - see the header. */
#include "analyzers/tune/tune_headroom_need.h"

#include "analyzers/measure/formulas.h"

#define STEP 1.25 /* of what was used: one step up */
#define STEP_MOST 2.0 /* of what is set: one step by the frames that were lost */
#define MTU_MOST 9216.0 /* of all classes, where the port does not tell */

/* ---- the formula --------------------------------------------------------- */

static double headroom_formula(const struct tune_in *in, const struct tune_device *device,
	const struct tune_prio *prio, const struct headroom_in *model)
{
	const struct tune_port *port = tune_port_at(device, prio->port);
	const double speed = tune_speed(device, prio->port);
	double mtu_bytes = MTU_MOST;
	if (!prio->port->cable_mm || !(speed > 0))
		return NAN;
	if (port)
		mtu_bytes = fmax(MTU_MOST, port->mtu_bytes);
	struct headroom_in asked = *model;
	asked.speed_bps = (uint64_t)speed;
	asked.cable_mm = prio->port->cable_mm;
	asked.mtu_bytes = (uint64_t)mtu_bytes;
	asked.lossless_mtu_bytes = in->fabric->lossless_mtu_bytes;
	asked.small_ratio = 1;
	asked.lanes = speed >= 800e9 ? 8 : 4;
	struct headroom h;
	if (headroom_calc(&asked, &h) == 0)
		return (double)h.xoff_bytes;
	return NAN;
}

double tune_headroom_calculated(
	const struct tune_in *in, const struct tune_device *device, const struct tune_prio *prio)
{
	const struct tune_platform *platform = tune_platform_of(in, device);
	const struct tune_asic *asic = NULL;
	if (platform)
		asic = platform->asic;
	if (!asic || asic->headroom == TUNE_HEADROOM_NONE)
		return NAN;
	struct headroom_in model = {
		.model = HEADROOM_SPECTRUM, .cell_bytes = (uint64_t)asic->cell_bytes};
	if (asic->headroom == TUNE_HEADROOM_SPECTRUM_2021)
		model.model = HEADROOM_SPECTRUM_2021;
	return headroom_formula(in, device, prio, &model);
}

/*
 * What arrives after XOFF was sent, by physics alone: frames on the wire both ways, those that
 * cannot be stopped, the peer's response. No buffer of any make needs less, so where frames are
 * lost, or a peak at the full size hides the need, it is no use to ask for less; as a measure of
 * what could be given back it does not count.
 */
double tune_headroom_in_flight(
	const struct tune_in *in, const struct tune_device *device, const struct tune_prio *prio)
{
	const struct headroom_in model = {
		.model = HEADROOM_GENERIC, .cell_bytes = 1, .amplification = 1};
	return headroom_formula(in, device, prio, &model);
}

/* ---- what ports of one kind have shown ----------------------------------- */

static bool headroom_same_link(const struct tune_device *left_device, const struct tune_prio *left,
	const struct tune_device *right_device, const struct tune_prio *right)
{
	return left->priority == right->priority &&
		tune_same_link(left_device, left->port, right_device, right->port);
}

struct headroom_kind {
	bool lost, full; /* frames at one of its ports; used by 90 % */
	bool proven; /* one of them paused, and its peak was below the size */
	/* the highest peak. A peak at the size of the headroom is a lower bound: the need is not
	 * known, and counts as all of it */
	double used;
	double lost_bytes; /* by the mean of its pauses, where that is highest; NAN */
	double peers; /* what the same link has elsewhere without loss; NAN none has more */
};

/* Mean bytes that were lost each time the port paused: at least as much is missing at the worst of
 * them. */
static double lost_a_pause(const struct tune_prio *prio, double mtu_bytes)
{
	const double pauses = prio->episodes_per_s * (double)prio->pause_watched_ns / 1e9;
	if (!prio->pause_measured || !(pauses >= 1) || !(prio->pg_drops > 0))
		return NAN;
	return prio->pg_drops / pauses * mtu_bytes;
}

static void kind_learn(struct headroom_kind *kind, const struct tune_prio *prio, double mtu_bytes)
{
	const bool told = prio->headroom.windows && !prio->headroom.standing;
	const bool lost = prio->lost_windows && prio->tx_windows;
	kind->lost = kind->lost || lost;
	kind->full = kind->full || (prio->full_windows && prio->tx_windows && told);
	kind->lost_bytes = fmax(kind->lost_bytes, lost_a_pause(prio, mtu_bytes));
	if (lost || (told && prio->headroom.censored))
		kind->used = fmax(kind->used, prio->headroom_bytes);
	else if (told)
		kind->used = fmax(kind->used, prio->headroom.max);
	if (told && prio->tx_windows && !lost && !prio->headroom.censored)
		kind->proven = true;
}

static struct headroom_kind kind_of(
	const struct tune_in *in, const struct tune_device *device, const struct tune_prio *prio)
{
	const struct tune_evidence *e = in->evidence;
	const double mtu_bytes = (double)in->fabric->lossless_mtu_bytes;
	struct headroom_kind kind = {.used = NAN, .lost_bytes = NAN, .peers = NAN};
	for (size_t i = 0; i < e->n_devices; i++) {
		const struct tune_device *there = &e->devices[i];
		for (size_t k = 0; k < there->n_prios; k++) {
			const struct tune_prio *other = &there->prios[k];
			if (!headroom_same_link(device, prio, there, other))
				continue;
			if (other->headroom_bytes == prio->headroom_bytes)
				kind_learn(&kind, other, mtu_bytes);
			const bool enough =
				other->tx_windows && !other->lost_windows && !other->full_windows;
			if (enough && prio->port->cable_mm &&
				other->headroom_bytes > prio->headroom_bytes)
				kind.peers = fmax(kind.peers, other->headroom_bytes);
		}
	}
	return kind;
}

/* ---- the need ------------------------------------------------------------ */

static void need_at_least(struct headroom_need *need, double bytes, bool firm, const char *why)
{
	if (!(bytes > need->bytes))
		return;
	need->bytes = bytes;
	need->firm = firm;
	need->why = why;
}

/* Where frames are lost, or the peak hides the need. */
static void need_of_short(
	const struct headroom_kind *kind, double set, bool hidden, struct headroom_need *need)
{
	const char *why = "a quarter more than was used";
	if (hidden)
		why = "a quarter more than all of it: the true need is unknown";
	need_at_least(need, STEP * kind->used, false, why);
	if (!isnan(kind->lost_bytes))
		need_at_least(need, fmin(set + kind->lost_bytes, STEP_MOST * set), false,
			"what it has and what was lost at each pause on the average, at most "
			"doubled");
	need_at_least(need, kind->peers, false,
		"what ports of the same speed and cable have elsewhere without loss");
}

void tune_headroom_need(const struct tune_in *in, const struct tune_device *device,
	const struct tune_prio *prio, struct headroom_need *ret)
{
	const double set = prio->headroom_bytes;
	*ret = (struct headroom_need){.bytes = set};
	if (isnan(set))
		return;
	const struct headroom_kind kind = kind_of(in, device, prio);
	const double flight = tune_headroom_in_flight(in, device, prio);
	const bool is_short = kind.lost || kind.full, hidden = kind.lost || kind.used >= set;
	if (is_short)
		need_of_short(&kind, set, hidden, ret);
	need_at_least(ret, flight, true,
		"what is in flight on this cable when pause is sent, and until it is obeyed");
	/* Its neighbours in the pool are too small by a mistake that it may share, and nothing
	 * shows that it does not. */
	if (!is_short && !kind.proven && isnan(flight))
		need_at_least(ret, STEP * set, false,
			"a quarter more, as at the other ports of the pool: nothing shows that it "
			"is enough");
	need_at_least(ret, tune_headroom_calculated(in, device, prio), true,
		"the calculated value for this cable, MTU and speed");
	ret->can_wait = !is_short && kind.proven;
}
