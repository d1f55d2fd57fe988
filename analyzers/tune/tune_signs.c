/*
 * tune_signs - what the evidence shows at every lossless priority of every switch: pause trees,
 * where the pressure begins, at which depth PFC fires there, and the signs of the decision table.
 *
 * Whether Kmin is late is judged by the largest pool it could be (so that order is never called
 * wrong without need), and doses by the smallest.
 */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_signs.h"

#define PAUSED 0.001 /* share of time: tuning facts d, row 3 and the stop rule */
#define PAUSED_BOUND 0.01 /* ten times that where only frames are counted: an upper bound */
#define HOST_PAUSES 0.01 /* d, row 6 */
#define HOST_PAUSES_BOUND 0.1
#define MARKS_FEW 0.001
#define MARKS_MANY 0.05 /* d, rows 4 and 5 */
#define PASSED_ON 0.5 /* of what it pauses itself: less, and it adds pressure of its own */
#define FULL 0.98 /* of the pool */
#define ROOM 0.5 /* b.4: Kmin at or below half of q_PFC */
#define FLAT                                                                                       \
	1.15 /* times the depth at which PFC fires, which is known to 15 %: below it is no reason  \
		to turn Kmax again */
#define SETTLED 0.85 /* of the computed depth: the model is good to 15 % (d, confidence) */
#define FAR_EARLY                                                                                  \
	0.25 /* of one bandwidth-delay product; measured in b.3: the exchange takes half as long   \
		again, or twice */
#define EPISODES_MIN 100.0 /* a second */
#define HYSTERESIS_MTUS                                                                            \
	1.5 /* a.5 asks for two frames; frames are a little shorter than the MTU that is declared  \
	     */
#define IDLE_ROOM 0.25 /* d, row 2 */
#define WEEK_NS (7LL * 86400 * NS_PER_S)

/* ---- pause, in one direction at one lane --------------------------------- */

static bool tune_signs_stands(
	const struct tune_lane *lane, uint8_t recent, double busy, double bound)
{
	return tune_recent(lane, recent) >= TUNE_NEEDED && (lane->pause_measured || busy >= bound);
}
static bool tune_signs_pauses(const struct tune_lane *lane)
{
	return tune_signs_stands(lane, lane->recent_tx, lane->tx_pause_busy, PAUSED_BOUND);
}
/* Beyond where one stops (d): over the range, or in each of the newest windows. A burst now and
 * then, such as a checkpoint, is neither. */
static bool tune_signs_matters(const struct tune_lane *lane)
{
	return tune_signs_pauses(lane) &&
		(lane->tx_pause_busy >= PAUSED || tune_recent(lane, lane->recent_tx) == TUNE_OF);
}
bool tune_paused_by_host(const struct tune_lane *lane)
{
	return lane->port->host &&
		tune_signs_stands(lane, lane->recent_rx, lane->rx_pause_busy, HOST_PAUSES_BOUND) &&
		lane->rx_pause_busy >= HOST_PAUSES;
}

/* ---- trees: switches that pause one another ------------------------------ */

static bool carries_pause(const struct tune_lane *lane)
{
	return lane &&
		(lane->tx_pause_hi > PAUSED || lane->rx_pause_hi > PAUSED ||
			tune_recent(lane, (uint8_t)(lane->recent_tx | lane->recent_rx)));
}

static void tune_signs_join(struct tune_place *places, size_t n, unsigned from, unsigned to)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].tree == from)
			places[i].tree = to;
}

static struct tune_place *tune_signs_place_of(
	struct tune_place *places, size_t n, const struct fabric_device *device)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].device->device == device)
			return &places[i];
	return NULL;
}

static void grow_trees(struct tune_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(&places[i], l));) {
			const struct tune_place *far = NULL;
			if (l->port->peer && carries_pause(l))
				far = tune_signs_place_of(places, n, l->port->peer->device);
			if (far && far->tree != places[i].tree)
				tune_signs_join(places, n, far->tree, places[i].tree);
		}
}

/* ---- where the pressure is ----------------------------------------------- */

static void find_lanes(struct tune_place *place)
{
	double paused = 0, marked = 0, deep = 0, lost = 0, fill = 0, episodes = EPISODES_MIN;
	const struct tune_lane *deepest = NULL;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));) {
		const double weight = l->tx_pause_busy + (l->port->host ? 1 : 0);
		const double used = l->headroom.max / l->headroom_bytes;
		if (l->tx_pause_busy > 0 && weight > paused) {
			paused = weight;
			place->paused = l;
		}
		if (l->marked > marked) {
			marked = l->marked;
			place->hot = l;
		}
		if (l->queue.max > deep) {
			deep = l->queue.max;
			deepest = l;
		}
		if (l->pg_drops > lost || (lost <= 0 && used > fill)) {
			lost = fmax(lost, l->pg_drops);
			fill = fmax(fill, used);
			place->short_of = l;
		}
		if (l->pause_measured && l->episodes_per_s > episodes) {
			episodes = l->episodes_per_s;
			place->flapping = l;
		}
	}
	if (!place->hot || !(tune_lane_marks(place->hot) >= MARKS_FEW)) {
		if (deepest)
			place->hot = deepest;
	}
	if (!place->hot) {
		if (place->paused)
			place->hot = place->paused;
		else
			place->hot = tune_next_lane(place, NULL);
	}
	if (place->hot)
		place->marks = tune_lane_marks(place->hot);
	else
		place->marks = NAN;
}

static double deepest_queue(const struct tune_place *place)
{
	double deep = NAN;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));)
		deep = fmax(deep, l->queue.max);
	return deep;
}

static double tune_signs_highest(const struct tune_place *place, size_t offset)
{
	double best = NAN;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));)
		best = fmax(best, *(const double *)((const char *)l + offset));
	return best;
}

/* Depth at which PFC fires, by the settings, with @pool_bytes; k inputs need not be whole: they are
 * not equally full. NAN unknown. */
static double model_q_pfc(const struct tune_place *place, double pool_bytes)
{
	const double alpha = tune_signs_highest(place, offsetof(struct tune_lane, alpha)),
		     level = tune_signs_highest(place, offsetof(struct tune_lane, xoff_level)),
		     k = fmax(1, place->inputs);
	if (alpha > 0 && pool_bytes > 0)
		return dt_pfc_queue_bytes(pool_bytes, 0, alpha, k);
	if (level > 0)
		return k * level;
	return NAN;
}

static void find_depths(struct tune_place *place, bool pausing)
{
	const struct tune_device *d = place->device;
	place->inputs = place->hot && place->hot->inputs >= 1 ? place->hot->inputs
		: d->inputs_typical                           ? d->inputs_typical
							      : NAN;
	const bool told = d->pool_slices >= 1;
	const double most =
		model_q_pfc(place, told ? d->pool_bytes / d->pool_slices : d->pool_bytes);
	double deep = NAN;
	if (pausing)
		deep = deepest_queue(place);
	/* a queue that went as deep as the whole pool allows settles it: there is one slice */
	place->slices_unknown =
		!told && d->pool_bytes > 0 && !(deepest_queue(place) >= SETTLED * most);
	if (told)
		place->pool_bytes = d->pool_bytes / d->pool_slices;
	else if (place->slices_unknown)
		place->pool_bytes = d->pool_bytes / 2;
	else
		place->pool_bytes = d->pool_bytes;
	place->q_pfc = place->q_pfc_model = model_q_pfc(place, place->pool_bytes);
	if (isnan(deep))
		place->residual = NAN;
	else
		place->residual = fabs(deep - most) / most;
	/* PFC fired while no queue was deeper than this: it fires no later, whatever the model says
	 */
	if (deep > 0 && !(deep >= place->q_pfc)) {
		place->q_pfc = deep;
		place->by_watermark = true;
	}
	place->speed_bps = NAN;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));)
		place->speed_bps = fmax(place->speed_bps, tune_speed(d, l->port));

	double fires = most;
	if (deep > 0)
		fires = fmin(most, deep);
	double kmin;
	if (place->hot && !isnan(place->hot->kmin))
		kmin = place->hot->kmin;
	else
		kmin = tune_signs_highest(place, offsetof(struct tune_lane, kmin));
	if (!isnan(fires) && !isnan(kmin)) {
		tune_sign_set(&place->signs, T_LATE, kmin > ROOM * fires);
		tune_sign_set(&place->signs, T_PFC_FIRST, kmin >= fires);
	}
	if (!isnan(fires) && place->hot && !isnan(place->hot->kmax))
		tune_sign_set(&place->signs, T_FLAT, place->hot->kmax > FLAT * fires);
}

/* ---- signs --------------------------------------------------------------- */

static void sign_pause(struct tune_place *place)
{
	double given = 0, taken = 0;
	bool known = false, any = false;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));) {
		known = known || !isnan(l->tx_pause_hi);
		any = any || tune_signs_pauses(l);
		given = fmax(given, l->tx_pause_busy);
		if (l->port->peer)
			taken = fmax(taken, l->rx_pause_busy);
	}
	if (known || any)
		tune_sign_set(&place->signs, T_PAUSES, any);
	tune_sign_set(&place->signs, T_PASSED_ON, taken > PAUSED && taken >= PASSED_ON * given);
}

static void tune_signs_sign_marks(struct tune_place *place)
{
	unsigned busy = 0, marking = 0, paused = 0, unmarked = 0;
	bool counts = false;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));) {
		const double marks = tune_lane_marks(l);
		counts = counts || l->marks_alive || (l->ecn_enabled > 0 && !isnan(marks));
		busy += !isnan(marks) && l->busy > 0;
		marking += marks >= MARKS_MANY;
		paused += l->tx_windows;
		unmarked += l->tx_unmarked;
	}
	if (!counts || !place->hot)
		return;
	const bool many = tune_recent(place->hot, place->hot->recent_marks) >= TUNE_NEEDED;
	tune_sign_set(&place->signs, T_NO_MARKS,
		!many && (place->marks < MARKS_FEW || (paused && 2 * unmarked > paused)));
	tune_sign_set(&place->signs, T_MANY_MARKS, many);
	tune_sign_set(&place->signs, T_WIDESPREAD, 2 * marking > busy);
	tune_sign_set(&place->signs, T_TO_HOST,
		place->hot->port->host &&
			tune_recent(place->hot, place->hot->recent_rx) < TUNE_NEEDED);
}

static void sign_early(struct tune_place *place, int64_t rtt_ns)
{
	if (place->speed_bps > 0)
		place->bdp = bdp_bytes((uint64_t)place->speed_bps, (double)rtt_ns);
	else
		place->bdp = NAN;
	double speed = NAN;
	if (place->hot)
		speed = tune_speed(place->device, place->hot->port);
	if (!(speed > 0) || isnan(place->hot->kmin))
		return;
	const double bdp = bdp_bytes((uint64_t)speed, (double)rtt_ns);
	tune_sign_set(&place->signs, T_EARLY, place->hot->kmin < bdp);
	tune_sign_set(&place->signs, T_FAR_EARLY, place->hot->kmin < FAR_EARLY * bdp);
}

static void sign_loss(struct tune_place *place, double mtu)
{
	const struct tune_lane *l = place->short_of;
	bool alive = false, told = false;
	for (const struct tune_lane *i = NULL; (i = tune_next_lane(place, i));) {
		alive = alive || !isnan(i->pg_drops);
		told = told || (i->headroom.windows && i->headroom_bytes > 0);
	}
	if (alive)
		tune_sign_set(&place->signs, T_LOST, l && l->lost_windows && l->tx_windows);
	if (told && l && l->headroom.windows)
		/* a frame that does not fit any more is lost before the last byte is used */
		tune_sign_set(&place->signs, T_FULL,
			(l->full_windows ||
				(l->lost_windows && l->headroom.max > l->headroom_bytes - mtu)) &&
				l->tx_windows && !l->headroom.standing);
	if (place->device->pool.windows && place->device->pool_bytes > 0)
		tune_sign_set(&place->signs, T_POOL_FULL,
			place->device->pool.max >= FULL * place->device->pool_bytes &&
				!place->device->pool.standing);
}

/* What it takes for XOFF and XON to act over a link: the cable there and back, the peer's response,
 * a frame each (as in congestion_signs.c). */
static double link_round_ns(
	const struct tune_place *place, const struct tune_lane *lane, double mtu)
{
	const double speed = tune_speed(place->device, lane->port), bytes_ns = speed / 8e9;
	return 2 * (double)lane->port->cable_mm / 1e3 / CABLE_SPEED_M_S * 1e9 +
		(double)pause_response_bytes((uint64_t)speed) / bytes_ns + 2 * mtu / bytes_ns;
}

double tune_hysteresis(const struct tune_lane *lane)
{
	if (!isnan(lane->xon_offset))
		return lane->xon_offset;
	return lane->xoff_level - lane->xon_level;
}

static void sign_xon(struct tune_place *place, double mtu)
{
	const struct tune_lane *l = place->flapping;
	if (!l || !(tune_speed(place->device, l->port) > 0) || isnan(l->episode_ns))
		return;
	const double apart = tune_hysteresis(l), round_ns = link_round_ns(place, l, mtu);
	if (!isnan(apart))
		tune_sign_set(&place->signs, T_CLOSE, apart < HYSTERESIS_MTUS * mtu);
	/* settings that leave room exonerate them; without settings the case has to be plain */
	double limit_ns = 0;
	if (isnan(apart))
		limit_ns = round_ns / 2;
	else if (apart < HYSTERESIS_MTUS * mtu)
		limit_ns = 2 * round_ns;
	tune_sign_set(&place->signs, T_SHORT, tune_signs_pauses(l) && l->episode_ns < limit_ns);
}

static void sign_idle_room(struct tune_place *place, int64_t range_ns)
{
	bool idle = range_ns >= WEEK_NS, any = false;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));) {
		any = true;
		idle = idle && l->headroom.windows && !l->headroom.censored &&
			l->headroom.max < IDLE_ROOM * l->headroom_bytes;
	}
	tune_sign_set(&place->signs, T_IDLE_ROOM, any && idle);
}

static void sign_told(struct tune_place *place, const struct tune_in *in)
{
	struct tune_signs *s = &place->signs;
	for (size_t i = 0; i < in->n_incidents && s->n_told < sizeof(s->told) / sizeof(*s->told);
		i++) {
		const struct tune_incident *t = &in->incidents[i];
		if (!t->closed_ns && (t->priority < 0 || t->priority == place->priority) &&
			(!t->device || str_eq(t->device, place->device->device->name)))
			s->told[s->n_told++] = t->cause;
	}
}

/* ---- the whole tree ------------------------------------------------------ */

/* A queue to a host that fills as far as PFC lets it, and that nobody pauses: pressure begins
 * there, however much pause is only a bound. */
static bool tune_signs_presses(const struct tune_place *place)
{
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));)
		if (l->port->host && l->queue.max >= ROOM * place->q_pfc_model &&
			tune_recent(l, l->recent_rx) < TUNE_NEEDED)
			return true;
	return false;
}

/* Bounds from frames stand at 100 % everywhere and tell no direction; depths do. */
static void root_by_depth(struct tune_place *places, size_t n, unsigned tree)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any = any || (places[i].tree == tree && tune_signs_presses(&places[i]));
	for (size_t i = 0; any && i < n; i++)
		if (places[i].tree == tree)
			tune_sign_set(
				&places[i].signs, T_PASSED_ON, !tune_signs_presses(&places[i]));
}

static void sign_tree(struct tune_place *places, size_t n, unsigned tree)
{
	double worst = NAN;
	bool paused = false, known = false, from_host = false, measured = true, root = false,
	     bounds = false;
	for (size_t i = 0; i < n; i++)
		for (const struct tune_lane *l = NULL;
			places[i].tree == tree && (l = tune_next_lane(&places[i], l));) {
			from_host = from_host || tune_paused_by_host(l);
			bounds = bounds || (!l->pause_measured && tune_signs_pauses(l));
			if (!l->port->host || isnan(l->tx_pause_hi))
				continue;
			known = true;
			paused = paused || tune_signs_matters(l);
			if (!(l->tx_pause_busy <= worst)) {
				worst = l->tx_pause_busy;
				measured = l->pause_measured;
			}
		}
	if (bounds)
		root_by_depth(places, n, tree);
	for (size_t i = 0; i < n; i++) {
		if (places[i].tree != tree)
			continue;
		if (known)
			tune_sign_set(&places[i].signs, T_HOSTS_PAUSED, paused);
		tune_sign_set(&places[i].signs, T_FROM_HOST, from_host);
		places[i].host_pause = worst;
		places[i].measured = measured;
		root = root ||
			(places[i].signs.yes & T_PAUSES && !(places[i].signs.yes & T_PASSED_ON));
	}
	/* all pause one another: no one merely passes it on */
	for (size_t i = 0; !root && i < n; i++)
		if (places[i].tree == tree)
			tune_sign_set(&places[i].signs, T_PASSED_ON, false);
}

static unsigned tune_signs_agreeing(const struct tune_place *place)
{
	unsigned most = 0;
	if (place->is && place->is->family == FAMILY_HEADROOM) {
		if (place->short_of->lost_windows > place->short_of->full_windows)
			return place->short_of->lost_windows;
		return place->short_of->full_windows;
	}
	if (place->is && place->is->row == 5)
		return tune_recent(place->hot, place->hot->recent_marks);
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(place, l));) {
		const unsigned n = tune_recent(l, l->recent_tx);
		if (n > most)
			most = n;
	}
	return most;
}

void tune_signs_of(const struct tune_in *in, int priority, struct tune_place *places, size_t n)
{
	const double mtu = (double)in->fabric->lossless_mtu_bytes;
	const struct tune_evidence *e = in->evidence;
	for (size_t i = 0; i < n; i++)
		places[i] = (struct tune_place){.device = &e->devices[i],
			.priority = priority,
			.tree = (unsigned)i,
			.host_pause = NAN,
			.marks = NAN};
	grow_trees(places, n);
	for (size_t i = 0; i < n; i++) {
		struct tune_place *p = &places[i];
		find_lanes(p);
		sign_pause(p);
		find_depths(p, p->signs.yes & T_PAUSES);
		tune_signs_sign_marks(p);
		sign_early(p, in->options.rtt_ns);
		sign_loss(p, mtu);
		sign_xon(p, mtu);
		sign_idle_room(p, e->to_ns - e->from_ns);
		sign_told(p, in);
	}
	for (size_t i = 0; i < n; i++)
		sign_tree(places, n, (unsigned)i);
	for (size_t i = 0; i < n; i++) {
		if (tune_next_lane(&places[i], NULL))
			places[i].is = tune_rule_match(&places[i].signs);
		else
			places[i].is = NULL;
		places[i].agreeing = tune_signs_agreeing(&places[i]);
	}
}
