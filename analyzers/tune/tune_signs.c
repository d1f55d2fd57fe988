/*
 * tune_signs - what the evidence shows at every lossless priority of every switch: pause trees,
 * where the pressure begins, at which depth PFC fires there, and the signs of the decision table.
 *
 * Whether Kmin is late is judged by the largest pool it could be (so that order is never called
 * wrong without need), and doses by the smallest.
 */

#include "analyzers/measure/formulas.h"
#include "config/class_policy.h"
#include "analyzers/tune/tune_headroom_need.h"
#include "analyzers/tune/tune_signs.h"

/* Shares of time. */
#define PAUSED 0.001 /* we paused: less is not worth a change */
/* One host alone at less than ten times that is noise: what a change would gain is below what a
 * step time varies by. */
#define ONE_PAUSED 0.01
enum { SEVERAL = 2 };
#define PAUSED_BOUND 0.01 /* ten times that where only frames are counted: an upper bound */
#define HOST_PAUSES 0.01 /* a host paused us */
#define HOST_PAUSES_BOUND 0.1
/* Shares of the packets that were sent. */
#define MARKS_FEW 0.001
#define MARKS_MANY 0.05
#define PASSED_ON 0.5 /* of what it pauses itself: less, and it adds pressure of its own */
/* Of busy time: links that are paused for as long have queues behind them that PFC bounds. Of
 * eleven drawn fabrics with early marks and paused links, later marks changed J by +2 to -46 %
 * where the worst of them was paused for 4.1 % at most (six), and by 0 to +10 % above it (five). */
#define LINKS_PAUSED 0.05
#define FULL 0.98 /* of the pool */
#define ROOM 0.5 /* Kmin belongs at or below half of q_PFC: senders take time to react */
/* Times q_PFC, which is known to 15 %: below it there is no reason to lower Kmax again. */
#define FLAT 1.15
#define SETTLED 0.85 /* of the computed depth: the model is good to 15 % */
/* Bandwidth-delay products: below it an exchange takes half as long again, or twice (measured in
 * simulation). */
#define FAR_EARLY 0.25
#define EPISODES_MIN 100.0 /* a second */
/* Lossless MTUs between XOFF and XON. DCQCN (SIGCOMM 2015) resumes 2 MTU below XOFF; frames are a
 * little shorter than the declared MTU. */
#define HYSTERESIS_MTUS 1.5
#define IDLE_ROOM 0.25 /* of the headroom */
#define WEEK_NS (7LL * 86400 * NS_PER_S)

/* ---- pause, in one direction at one lane --------------------------------- */

static bool tune_signs_stands(
	const struct tune_prio *prio, uint8_t recent, double busy, double bound)
{
	return tune_recent(prio, recent) >= TUNE_NEEDED && (prio->pause_measured || busy >= bound);
}
static bool tune_signs_pauses(const struct tune_prio *prio)
{
	return tune_signs_stands(prio, prio->recent_tx, prio->tx_pause_busy, PAUSED_BOUND);
}
/* Worth a change: over the range, or in each of the newest windows. A burst now and
 * then, such as a checkpoint, is neither. */
static bool tune_signs_matters(const struct tune_prio *prio)
{
	return tune_signs_pauses(prio) &&
		(prio->tx_pause_busy >= PAUSED || tune_recent(prio, prio->recent_tx) == TUNE_OF);
}
bool tune_paused_by_host(const struct tune_prio *prio)
{
	return prio->port->host &&
		tune_signs_stands(prio, prio->recent_rx, prio->rx_pause_busy, HOST_PAUSES_BOUND) &&
		prio->rx_pause_busy >= HOST_PAUSES;
}

/*
 * A checkpoint: hosts are paused in less than a quarter of the windows in which the switch is busy,
 * and the queue under pressure leads to storage. It ends by itself, and nobody waits for it.
 */
#define SAVING_SHARE 4
static bool only_while_saving(
	const struct tune_in *in, const struct tune_site *site, const struct tune_prio *prio)
{
	return tune_is_storage(in->fabric, site->hot) && prio->busy &&
		SAVING_SHARE * prio->tx_windows < prio->busy;
}

/* ---- trees: switches that pause one another ------------------------------ */

static bool carries_pause(const struct tune_prio *prio)
{
	return prio &&
		(prio->tx_pause_hi > PAUSED || prio->rx_pause_hi > PAUSED ||
			tune_recent(prio, (uint8_t)(prio->recent_tx | prio->recent_rx)));
}

static void tune_signs_join(struct tune_site *sites, size_t n, unsigned from, unsigned to)
{
	for (size_t i = 0; i < n; i++)
		if (sites[i].tree == from)
			sites[i].tree = to;
}

static struct tune_site *site_of_device(
	struct tune_site *sites, size_t n, const struct fabric_device *device)
{
	for (size_t i = 0; i < n; i++)
		if (sites[i].device->device == device)
			return &sites[i];
	return NULL;
}

static void grow_trees(struct tune_site *sites, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&sites[i], l));) {
			const struct tune_site *far = NULL;
			if (l->port->peer && carries_pause(l))
				far = site_of_device(sites, n, l->port->peer->device);
			if (far && far->tree != sites[i].tree)
				tune_signs_join(sites, n, far->tree, sites[i].tree);
		}
}

/* ---- where the pressure is ----------------------------------------------- */

static void find_prios(struct tune_site *site)
{
	double paused = 0, marked = 0, deep = 0, lost = 0, fill = 0, episodes = EPISODES_MIN;
	const struct tune_prio *deepest = NULL;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		const double weight = l->tx_pause_busy + (l->port->host ? 1 : 0);
		const double used = l->headroom.max / l->headroom_bytes;
		if (l->tx_pause_busy > 0 && weight > paused) {
			paused = weight;
			site->paused = l;
		}
		if (l->marked > marked) {
			marked = l->marked;
			site->hot = l;
		}
		if (l->queue.max > deep) {
			deep = l->queue.max;
			deepest = l;
		}
		if (l->pg_drops > lost || (lost <= 0 && used > fill)) {
			lost = fmax(lost, l->pg_drops);
			fill = fmax(fill, used);
			site->short_of = l;
		}
		if (l->pause_measured && l->episodes_per_s > episodes) {
			episodes = l->episodes_per_s;
			site->flapping = l;
		}
	}
	if (!site->hot || !(tune_prio_marks(site->hot) >= MARKS_FEW)) {
		if (deepest)
			site->hot = deepest;
	}
	if (!site->hot) {
		if (site->paused)
			site->hot = site->paused;
		else
			site->hot = tune_next_prio(site, NULL);
	}
	if (site->hot)
		site->marks = tune_prio_marks(site->hot);
	else
		site->marks = NAN;
}

static double deepest_queue(const struct tune_site *site)
{
	double deep = NAN;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		deep = fmax(deep, l->queue.max);
	return deep;
}

static double tune_signs_highest(const struct tune_site *site, size_t offset)
{
	double best = NAN;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		best = fmax(best, *(const double *)((const char *)l + offset));
	return best;
}

/* Depth at which PFC fires, by the settings, with @pool_bytes; k inputs need not be whole: they are
 * not equally full. NAN unknown. */
static double model_q_pfc(const struct tune_site *site, double pool_bytes)
{
	const double alpha = tune_signs_highest(site, offsetof(struct tune_prio, alpha)),
		     level = tune_signs_highest(site, offsetof(struct tune_prio, xoff_level)),
		     k = fmax(1, site->inputs);
	if (alpha > 0 && pool_bytes > 0)
		return dt_pfc_queue_bytes(pool_bytes, 0, alpha, k);
	if (level > 0)
		return k * level;
	return NAN;
}

/* How many inputs feed the congested queue; NAN unknown. */
static double tune_signs_inputs_of(const struct tune_site *site)
{
	if (site->hot && site->hot->inputs >= 1)
		return site->hot->inputs;
	if (site->device->inputs_typical)
		return site->device->inputs_typical;
	return NAN;
}

/*
 * What one slice of the buffer shares. Where slicing is not known, half of the pool is assumed,
 * unless a queue went as deep as the whole pool allows: then there is one slice. @largest_q_pfc is
 * q_PFC with the largest pool it could be.
 */
static void find_pool(struct tune_site *site, double largest_q_pfc)
{
	const struct tune_device *device = site->device;
	const bool one_slice = deepest_queue(site) >= SETTLED * largest_q_pfc;
	site->pool_bytes = device->pool_bytes;
	site->slices_unknown = false;
	if (device->pool_slices >= 1) {
		site->pool_bytes = device->pool_bytes / device->pool_slices;
	} else if (device->pool_bytes > 0 && !one_slice) {
		site->slices_unknown = true;
		site->pool_bytes = device->pool_bytes / 2;
	}
}

/* @fires: depth at which PFC fires at the latest. */
static void sign_order(struct tune_site *site, double fires)
{
	double kmin = NAN, kmax = NAN;
	if (site->hot) {
		kmin = site->hot->kmin;
		kmax = site->hot->kmax;
	}
	if (isnan(kmin))
		kmin = tune_signs_highest(site, offsetof(struct tune_prio, kmin));
	/* A share of the quota is a share of what a single input may fill, and PFC fires there or
	 * later: more inputs fill the queue together. */
	if (site->hot && site->hot->ecn_relative == 1 && !isnan(site->hot->kmin_ratio)) {
		tune_sign_set(&site->signs, T_LATE, site->hot->kmin_ratio > ROOM);
		tune_sign_set(&site->signs, T_PFC_FIRST, site->hot->kmin_ratio >= 1);
		return;
	}
	if (isnan(fires))
		return;
	if (!isnan(kmin)) {
		tune_sign_set(&site->signs, T_LATE, kmin > ROOM * fires);
		tune_sign_set(&site->signs, T_PFC_FIRST, kmin >= fires);
	}
	if (!isnan(kmax))
		tune_sign_set(&site->signs, T_FLAT, kmax > FLAT * fires);
}

/* Where PFC fires, by the settings and by watermarks. @pausing: it fired in this range. */
static void find_depths(struct tune_site *site, bool pausing)
{
	const struct tune_device *device = site->device;
	double largest_pool = device->pool_bytes, deep = NAN;
	/* 1. By the settings, with the largest pool it could be. */
	site->inputs = tune_signs_inputs_of(site);
	if (device->pool_slices >= 1)
		largest_pool = device->pool_bytes / device->pool_slices;
	const double latest = model_q_pfc(site, largest_pool);
	/* 2. By the settings, with the pool that is counted on. */
	find_pool(site, latest);
	site->q_pfc = site->q_pfc_model = model_q_pfc(site, site->pool_bytes);
	site->q_pfc_most = latest;
	/* 3. By watermarks: PFC fired while no queue was deeper than this, so it fires no later. */
	if (pausing)
		deep = deepest_queue(site);
	site->residual = fabs(deep - latest) / latest;
	if (deep > 0 && !(deep >= site->q_pfc)) {
		site->q_pfc = deep;
		site->by_watermark = true;
	}
	/* 4. The fastest port. */
	site->speed_bps = NAN;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		site->speed_bps = fmax(site->speed_bps, tune_speed(device, l->port));
	/* 5. The order of ECN and PFC. */
	double fires = latest;
	if (deep > 0)
		fires = fmin(latest, deep);
	sign_order(site, fires);
}

/* ---- signs --------------------------------------------------------------- */

static void sign_pause(struct tune_site *site)
{
	double given = 0, taken = 0;
	bool known = false, any = false;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		known = known || !isnan(l->tx_pause_hi);
		any = any || tune_signs_pauses(l);
		given = fmax(given, l->tx_pause_busy);
		if (l->port->peer)
			taken = fmax(taken, l->rx_pause_busy);
	}
	if (known || any)
		tune_sign_set(&site->signs, T_PAUSES, any);
	tune_sign_set(&site->signs, T_PASSED_ON, taken > PAUSED && taken >= PASSED_ON * given);
}

static void tune_signs_sign_marks(struct tune_site *site)
{
	unsigned busy = 0, marking = 0, paused = 0, unmarked = 0;
	bool counts = false;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		const double marks = tune_prio_marks(l);
		counts = counts || l->marks_alive || (l->ecn_enabled > 0 && !isnan(marks));
		busy += !isnan(marks) && l->busy > 0;
		marking += marks >= MARKS_MANY;
		paused += l->tx_windows;
		unmarked += l->tx_unmarked;
	}
	if (!counts || !site->hot)
		return;
	const bool many = tune_recent(site->hot, site->hot->recent_marks) >= TUNE_NEEDED;
	tune_sign_set(&site->signs, T_NO_MARKS,
		!many && (site->marks < MARKS_FEW || (paused && 2 * unmarked > paused)));
	tune_sign_set(&site->signs, T_MANY_MARKS, many);
	tune_sign_set(&site->signs, T_WIDESPREAD, 2 * marking > busy);
	tune_sign_set(&site->signs, T_TO_HOST,
		site->hot->port->host &&
			tune_recent(site->hot, site->hot->recent_rx) < TUNE_NEEDED);
}

static void sign_early(struct tune_site *site, int64_t rtt_ns)
{
	if (site->speed_bps > 0)
		site->bdp = bdp_bytes((uint64_t)site->speed_bps, (double)rtt_ns);
	else
		site->bdp = NAN;
	double speed = NAN;
	if (site->hot)
		speed = tune_speed(site->device, site->hot->port);
	if (!(speed > 0) || isnan(site->hot->kmin))
		return;
	const double bdp = bdp_bytes((uint64_t)speed, (double)rtt_ns);
	tune_sign_set(&site->signs, T_EARLY, site->hot->kmin < bdp);
	tune_sign_set(&site->signs, T_FAR_EARLY, site->hot->kmin < FAR_EARLY * bdp);
}

/* A headroom that holds what is in flight is used by nearly all of it: that it was used by 90 % is
 * no sign, as long as the peak stays below its size. */
static bool holds_flight(const struct tune_in *in, const struct tune_site *site, double mtu)
{
	const struct tune_prio *l = site->short_of;
	return !l->lost_windows && l->headroom.max <= l->headroom_bytes - mtu &&
		l->headroom_bytes >= tune_headroom_in_flight(in, site->device, l);
}

static void sign_loss(struct tune_site *site, const struct tune_in *in, double mtu)
{
	const struct tune_prio *l = site->short_of;
	bool alive = false, known = false;
	for (const struct tune_prio *i = NULL; (i = tune_next_prio(site, i));) {
		alive = alive || !isnan(i->pg_drops);
		known = known || (i->headroom.windows && i->headroom_bytes > 0);
	}
	if (alive)
		tune_sign_set(&site->signs, T_LOST, l && l->lost_windows && l->tx_windows);
	if (known && l && l->headroom.windows)
		/* a frame that does not fit any more is lost before the last byte is used */
		tune_sign_set(&site->signs, T_FULL,
			(l->full_windows ||
				(l->lost_windows && l->headroom.max > l->headroom_bytes - mtu)) &&
				l->tx_windows && !l->headroom.standing &&
				!holds_flight(in, site, mtu));
	const double alpha = tune_signs_highest(site, offsetof(struct tune_prio, alpha));
	if (alpha > 0)
		tune_sign_set(&site->signs, T_GREEDY, alpha > TUNE_ALPHA_MOST);
	if (site->device->pool.windows && site->device->pool_bytes > 0)
		tune_sign_set(&site->signs, T_POOL_FULL,
			site->device->pool.max >= FULL * site->device->pool_bytes &&
				!site->device->pool.standing);
}

/* What it takes for XOFF and XON to act over a link: the cable there and back, the peer's response,
 * a frame each (as in congestion_signs.c). */
static double link_round_ns(const struct tune_site *site, const struct tune_prio *prio, double mtu)
{
	const double speed = tune_speed(site->device, prio->port), bytes_ns = speed / 8e9;
	return 2 * (double)prio->port->cable_mm / 1e3 / CABLE_SPEED_M_S * 1e9 +
		(double)pause_response_bytes((uint64_t)speed) / bytes_ns + 2 * mtu / bytes_ns;
}

double tune_hysteresis(const struct tune_prio *prio)
{
	if (!isnan(prio->xon_offset))
		return prio->xon_offset;
	return prio->xoff_level - prio->xon_level;
}

static void sign_xon(struct tune_site *site, double mtu)
{
	const struct tune_prio *l = site->flapping;
	if (!l || !(tune_speed(site->device, l->port) > 0) || isnan(l->episode_ns))
		return;
	const double apart = tune_hysteresis(l), round_ns = link_round_ns(site, l, mtu);
	if (!isnan(apart))
		tune_sign_set(&site->signs, T_CLOSE, apart < HYSTERESIS_MTUS * mtu);
	/* settings that leave room exonerate them; without settings the case has to be plain */
	double limit_ns = 0;
	if (isnan(apart))
		limit_ns = round_ns / 2;
	else if (apart < HYSTERESIS_MTUS * mtu)
		limit_ns = 2 * round_ns;
	tune_sign_set(&site->signs, T_SHORT, tune_signs_pauses(l) && l->episode_ns < limit_ns);
}

static void sign_idle_room(struct tune_site *site, int64_t range_ns)
{
	bool idle = range_ns >= WEEK_NS, any = false;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		any = true;
		idle = idle && l->headroom.windows && !l->headroom.censored &&
			l->headroom.max < IDLE_ROOM * l->headroom_bytes;
	}
	tune_sign_set(&site->signs, T_IDLE_ROOM, any && idle);
}

/* Which causes open incidents name at this site. */
static void sign_incidents(struct tune_site *site, const struct tune_in *in)
{
	struct tune_signs *signs = &site->signs;
	for (size_t i = 0; i < in->n_incidents; i++) {
		const struct tune_incident *incident = &in->incidents[i];
		const bool priority_fits =
			incident->priority < 0 || incident->priority == site->priority;
		const bool device_fits =
			!incident->device || str_eq(incident->device, site->device->device->name);
		if (incident->closed_ns || !priority_fits || !device_fits)
			continue;
		if (signs->n_named < rw_countof(signs->named))
			signs->named[signs->n_named++] = incident->cause;
	}
}

/* ---- the whole tree ------------------------------------------------------ */

/* A queue to a host that fills as far as PFC lets it, and that nobody pauses: pressure begins
 * there, however much pause is only a bound. */
static bool tune_signs_presses(const struct tune_site *site)
{
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (l->port->host && l->queue.max >= ROOM * site->q_pfc_model &&
			tune_recent(l, l->recent_rx) < TUNE_NEEDED)
			return true;
	return false;
}

/* Bounds from frames stand at 100 % everywhere and tell no direction; depths do. */
static void root_by_depth(struct tune_site *sites, size_t n, unsigned tree)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any = any || (sites[i].tree == tree && tune_signs_presses(&sites[i]));
	for (size_t i = 0; any && i < n; i++)
		if (sites[i].tree == tree)
			tune_sign_set(&sites[i].signs, T_PASSED_ON, !tune_signs_presses(&sites[i]));
}

static void sign_tree(const struct tune_in *in, struct tune_site *sites, size_t n, unsigned tree)
{
	double worst = NAN;
	const struct tune_prio *worst_prio = NULL;
	size_t worst_at = 0;
	bool known = false, from_host = false, measured = true, root = false, bounds = false;
	bool silent = true;
	unsigned paused = 0;
	for (size_t i = 0; i < n; i++)
		if (sites[i].tree == tree)
			silent = silent && sites[i].signs.known & ~sites[i].signs.yes & T_PAUSES;
	for (size_t i = 0; i < n; i++)
		for (const struct tune_prio *l = NULL;
			sites[i].tree == tree && (l = tune_next_prio(&sites[i], l));) {
			from_host = from_host || tune_paused_by_host(l);
			bounds = bounds || (!l->pause_measured && tune_signs_pauses(l));
			if (!l->port->host || isnan(l->tx_pause_hi))
				continue;
			known = true;
			paused += tune_signs_matters(l) && !only_while_saving(in, &sites[i], l);
			if (!(l->tx_pause_busy <= worst)) {
				worst = l->tx_pause_busy;
				worst_prio = l;
				worst_at = i;
				measured = l->pause_measured;
			}
		}
	if (bounds)
		root_by_depth(sites, n, tree);
	if (worst_prio)
		sites[worst_at].host_paused = worst_prio;
	for (size_t i = 0; i < n; i++) {
		if (sites[i].tree != tree)
			continue;
		/* where no switch pauses no host is paused either, also where none is attached */
		if (known || silent)
			tune_sign_set(&sites[i].signs, T_HOSTS_PAUSED,
				paused >= SEVERAL || (paused && worst >= ONE_PAUSED));
		tune_sign_set(&sites[i].signs, T_FROM_HOST, from_host);
		sites[i].host_pause = worst;
		sites[i].measured = measured;
		root = root ||
			(sites[i].signs.yes & T_PAUSES && !(sites[i].signs.yes & T_PASSED_ON));
	}
	/* all pause one another: no one merely passes it on */
	for (size_t i = 0; !root && i < n; i++)
		if (sites[i].tree == tree)
			tune_sign_set(&sites[i].signs, T_PASSED_ON, false);
}

static unsigned tune_signs_agreeing(const struct tune_site *site)
{
	unsigned most = 0;
	if (site->is && site->is->family == FAMILY_HEADROOM) {
		if (site->short_of->lost_windows > site->short_of->full_windows)
			return site->short_of->lost_windows;
		return site->short_of->full_windows;
	}
	if (site->is && site->is->row == 5)
		return tune_recent(site->hot, site->hot->recent_marks);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		const unsigned n = tune_recent(l, l->recent_tx);
		if (n > most)
			most = n;
	}
	return most;
}

static void sign_links(struct tune_site *sites, size_t n)
{
	double most = NAN;
	for (size_t i = 0; i < n; i++)
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&sites[i], l));)
			if (l->port->peer)
				most = fmax(most, l->tx_pause_busy);
	for (size_t i = 0; i < n && !isnan(most); i++)
		tune_sign_set(&sites[i].signs, T_LINKS_PAUSED, most > LINKS_PAUSED);
}

void tune_signs_of(const struct tune_in *in, int priority, struct tune_site *sites, size_t n)
{
	const double mtu = fabric_frame_bytes(in->fabric);
	const struct tune_evidence *e = in->evidence;
	const bool dcqcn = class_policy_of(class_congestion(in->fabric, priority))->dcqcn;
	for (size_t i = 0; i < n; i++)
		sites[i] = (struct tune_site){.device = &e->devices[i],
			.priority = priority,
			.tree = (unsigned)i,
			.host_pause = NAN,
			.marks = NAN,
			.signs.without_ecn = !dcqcn};
	grow_trees(sites, n);
	for (size_t i = 0; i < n; i++) {
		struct tune_site *p = &sites[i];
		find_prios(p);
		sign_pause(p);
		find_depths(p, p->signs.yes & T_PAUSES);
		tune_signs_sign_marks(p);
		sign_early(p, in->options.rtt_ns);
		sign_loss(p, in, mtu);
		sign_xon(p, mtu);
		sign_idle_room(p, e->to_ns - e->from_ns);
		sign_incidents(p, in);
	}
	sign_links(sites, n);
	for (size_t i = 0; i < n; i++)
		sign_tree(in, sites, n, (unsigned)i);
	for (size_t i = 0; i < n; i++) {
		if (tune_next_prio(&sites[i], NULL))
			sites[i].is = tune_rule_match(&sites[i].signs);
		else
			sites[i].is = NULL;
		sites[i].agreeing = tune_signs_agreeing(&sites[i]);
	}
}
