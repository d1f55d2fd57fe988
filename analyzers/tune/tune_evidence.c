/* tune_evidence - keeps sums and peaks of every lossless queue while windows come in. */
#include "analyzers/tune/tune_evidence.h"

#include "analyzers/measure/class_world.h"
#include "analyzers/measure/mean.h"
#include "analyzers/measure/rhythm.h"
#include "base/stats.h"
#include "db/model/entity.h"

/* ---- tune_evidence_fold ---------------------------------------------------- */

/*
 * tune_evidence_fold - what tune_evidence.c keeps while windows come in, and tune_evidence.c
 * makes the evidence of. For these two. Units as in tune_evidence.h; lives in the arena of the
 * fold.
 */

enum {
	LOAD_BINS = 100, /* half octaves of bytes per second; bin 0: not known, bin 1: nothing */
	K_BINS = 257,
	SETTINGS = 15,
};
#define USUAL_QUANTILE 0.9
#define SEEN_RATIO 0.05 /* of the highest load: windows below are not asked what is usual */
/* Where a setting is in the observed window, and where in the evidence. */
struct tune_setting {
	uint16_t metric, seen, prio;
};
struct read_back {
	double value; /* as read; NAN not read */
	int64_t t_ns; /* newest sample */
	bool carried; /* its device has been heard ever since */
};
struct load_sum { /* of the windows with one load */
	unsigned windows, n_utilization;
	double tx_ns, tx_watched_ns, rx_ns, rx_watched_ns, utilization;
};
struct pause_sum {
	double lo_ns, hi_ns, watched_ns;
	bool alive, measured;
};
struct prio_sums { /* dropped when a setting moves */
	unsigned windows, tx_windows, rx_windows, tx_unmarked, lost_windows, full_windows;
	unsigned recent;
	uint8_t recent_tx, recent_rx, recent_unmarked, recent_marks, recent_lost, recent_full;
	struct pause_sum tx, rx;
	double transitions, transition_pause_ns, transition_watched_ns;
	double marked, marked_packets, drops, pg_drops, wred_drops;
	bool marks_known, marks_alive, drops_known, pg_drops_known, wred_known, drops_alive;
	int64_t drops_watched_ns;
	struct load_sum loads[LOAD_BINS];
};
struct prio_fold {
	const struct fabric_port *port;
	int priority;
	struct prio_sums sums;
	struct peak_fold *queue, *pg, *headroom;
	struct read_back read[SETTINGS];
	double in_force[SETTINGS];
	bool declared, relative_declared;
	unsigned setting_changes;
};
struct total {
	double sum;
	bool known;
};
static inline double total_of(const struct total *total)
{
	if (total->known)
		return total->sum;
	return NAN;
}
struct port_fold {
	struct total damaged, in_errors, flaps, storms, in_octets, out_octets;
	unsigned error_windows, down_windows;
	bool down_now;
	double speed_bps, mtu_bytes, cable_m;
	struct load_sum loads[LOAD_BINS];
};
struct device_fold {
	const struct fabric_device *device;
	struct port_fold *ports;
	struct prio_fold **prios; /* [port of the device x OBSERVED_PRIORITIES + priority] */
	struct peak_fold *pool;
	double pool_bytes, pool_slices, shp_ratio, cell_bytes;
	int64_t since_ns, newest_ns;
	unsigned heard, windows, restarts, gaps;
	bool silent;
	unsigned loads[LOAD_BINS];
	unsigned k[K_BINS];
};
struct tune_fold {
	const struct fabric *fabric;
	int64_t window_ns, interval_ns;
	struct arena *arena;
	struct device_fold *devices;
	struct tune_window *windows;
	size_t n_windows, cap_windows;
	struct world_facts told[OBSERVED_PRIORITIES];
};

/* ---- tune_evidence --------------------------------------------------------- */

#define PAUSED_RATIO 0.001 /* of a window: we paused the neighbour */
#define PAUSED_US_RATIO 0.01 /* of a window: the neighbour paused us */
#define MARKED_RATIO 0.05
#define FULL_RATIO 0.9 /* of headroom */
#define FILLED_BYTES 16384.0 /* a priority group with less is only passing packets on */
#define FILLED_RATIO 0.5 /* of the fullest one */
#define HALF_OCTAVE(r) (2 * log2(r))

/* ---- what is kept of each lane ------------------------------------------- */

static const struct tune_setting tune_settings[SETTINGS] = {
	{M_CFG_PFC_ENABLED, offsetof(struct port_prio, pfc_enabled),
		offsetof(struct tune_prio, pfc_enabled)},
	{M_CFG_PG_ALPHA_EXP, offsetof(struct port_prio, alpha), offsetof(struct tune_prio, alpha)},
	{M_CFG_PG_HEADROOM, offsetof(struct port_prio, headroom),
		offsetof(struct tune_prio, headroom_bytes)},
	{M_CFG_PG_XOFF_LEVEL, offsetof(struct port_prio, xoff_level),
		offsetof(struct tune_prio, xoff_level)},
	{M_CFG_PG_XON_LEVEL, offsetof(struct port_prio, xon_level),
		offsetof(struct tune_prio, xon_level)},
	{M_CFG_PG_XON_OFFSET, offsetof(struct port_prio, xon_offset),
		offsetof(struct tune_prio, xon_offset)},
	{M_CFG_ECN_ENABLED, offsetof(struct port_prio, ecn_enabled),
		offsetof(struct tune_prio, ecn_enabled)},
	{M_CFG_ECN_KMIN, offsetof(struct port_prio, kmin), offsetof(struct tune_prio, kmin)},
	{M_CFG_ECN_KMAX, offsetof(struct port_prio, kmax), offsetof(struct tune_prio, kmax)},
	{M_CFG_ECN_PMAX, offsetof(struct port_prio, pmax), offsetof(struct tune_prio, pmax)},
	{M_CFG_ECN_RELATIVE, offsetof(struct port_prio, ecn_relative),
		offsetof(struct tune_prio, ecn_relative)},
	{M_CFG_ECN_KMIN_RATIO, offsetof(struct port_prio, kmin_ratio),
		offsetof(struct tune_prio, kmin_ratio)},
	{M_CFG_ECN_KMAX_RATIO, offsetof(struct port_prio, kmax_ratio),
		offsetof(struct tune_prio, kmax_ratio)},
	{M_CFG_CBFC_ENABLED, offsetof(struct port_prio, cbfc_enabled),
		offsetof(struct tune_prio, cbfc_enabled)},
	{M_CFG_TRIM_ENABLED, offsetof(struct port_prio, trim_enabled),
		offsetof(struct tune_prio, trim_enabled)},
};

struct tune_fold *tune_fold_new(
	const struct fabric *fabric, int64_t window_ns, int64_t interval_ns, struct arena *a)
{
	struct tune_fold *t = arena_new_of(a, struct tune_fold);
	*t = (struct tune_fold){.fabric = fabric,
		.window_ns = window_ns,
		.interval_ns = interval_ns,
		.arena = a,
		.devices = arena_array(a, struct device_fold, fabric->n_devices + 1)};
	for (size_t i = 0; i < fabric->n_devices; i++)
		t->devices[i] = (struct device_fold){.device = fabric->devices[i],
			.pool = peak_fold_new(a),
			.pool_bytes = NAN,
			.pool_slices = NAN,
			.shp_ratio = NAN,
			.cell_bytes = NAN,
			.since_ns = INT64_MIN,
			.prios = arena_array(a, struct prio_fold *,
				fabric->devices[i]->n_ports * OBSERVED_PRIORITIES + 1),
			.ports = arena_array(a, struct port_fold, fabric->devices[i]->n_ports + 1)};
	for (size_t i = 0; i < fabric->n_devices; i++)
		for (size_t k = 0; k < fabric->devices[i]->n_ports; k++)
			t->devices[i].ports[k].speed_bps = t->devices[i].ports[k].mtu_bytes =
				t->devices[i].ports[k].cable_m = NAN;
	return t;
}

static struct prio_fold *prio_fold_at(
	struct tune_fold *fold, struct device_fold *device_fold, size_t port, int priority)
{
	struct prio_fold **at = &device_fold->prios[port * OBSERVED_PRIORITIES + (size_t)priority];
	if (*at)
		return *at;
	struct prio_fold *l = *at = arena_new_of(fold->arena, struct prio_fold);
	l->port = device_fold->device->ports[port];
	l->priority = priority;
	l->queue = peak_fold_new(fold->arena);
	l->pg = peak_fold_new(fold->arena);
	l->headroom = peak_fold_new(fold->arena);
	for (size_t i = 0; i < SETTINGS; i++) {
		l->read[i].value = NAN;
		l->in_force[i] = NAN;
	}
	return l;
}

static void tune_evidence_forget(struct device_fold *fold, int64_t now_ns)
{
	for (size_t i = 0; i < fold->device->n_ports * OBSERVED_PRIORITIES; i++) {
		struct prio_fold *l = fold->prios[i];
		if (!l)
			continue;
		l->sums = (struct prio_sums){0};
		peak_fold_reset(l->queue);
		peak_fold_reset(l->pg);
		peak_fold_reset(l->headroom);
	}
	peak_fold_reset(fold->pool);
	memset(fold->loads, 0, sizeof(fold->loads));
	memset(fold->k, 0, sizeof(fold->k));
	fold->windows = 0;
	fold->since_ns = now_ns;
}

/* ---- settings ------------------------------------------------------------ */

static double tune_evidence_number_at(const void *base, size_t offset)
{
	double v;
	memcpy(&v, (const char *)base + offset, sizeof(v));
	return v;
}

static bool tune_evidence_moved(double before, double now)
{
	return !isnan(before) && !isnan(now) &&
		fabs(now - before) > 1e-9 * fmax(fabs(before), fabs(now));
}

/* The newest sample of a state that was read from a device. */
static bool newest_read(
	const struct window *window, uint32_t entity, unsigned metric, int64_t *ret_ns, double *ret)
{
	const struct series *s = window_series(window, entity, metric);
	for (uint32_t i = s ? series_after(s, window->to_ns) : 0; i > 0; i--)
		if (!(s->flags[i - 1] & (SF_DECLARED | SF_LATE | SF_SUSPECT))) {
			*ret_ns = s->t_ns[i - 1];
			*ret = sample_number(metric, s->value[i - 1]);
			return true;
		}
	return false;
}

static bool read_settings(
	struct prio_fold *fold, const struct port_prio *seen, const struct observed *observed)
{
	const struct window *w = observed->window;
	const struct device_seen *d = seen->port->device;
	const uint32_t entity = entities_find(
		w->entities, fold->port->device->name, fold->port->name, fold->priority);
	bool any = false;
	fold->declared = seen->declared;
	fold->relative_declared = seen->relative_declared;
	for (size_t i = 0; i < SETTINGS; i++) {
		struct read_back *r = &fold->read[i];
		int64_t t_ns;
		double v;
		fold->in_force[i] = tune_evidence_number_at(seen, tune_settings[i].seen);
		if (entity == ENTITY_NONE ||
			!newest_read(w, entity, tune_settings[i].metric, &t_ns, &v))
			continue;
		if (tune_evidence_moved(r->value, v)) {
			any = true;
			fold->setting_changes++;
		}
		if (t_ns > w->from_ns || isnan(r->value))
			r->carried = true;
		else if (d->restarted || !d->n_series)
			r->carried = false;
		r->value = v;
		r->t_ns = t_ns;
	}
	return any;
}

static bool read_device(struct device_fold *fold, const struct device_seen *device)
{
	const struct {
		double now;
		double *kept;
	} v[] = {{device->pool_bytes, &fold->pool_bytes}, {device->pool_slices, &fold->pool_slices},
		{device->shp_ratio, &fold->shp_ratio}, {device->cell_bytes, &fold->cell_bytes}};
	bool any = false;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		any |= tune_evidence_moved(*v[i].kept, v[i].now);
		if (!isnan(v[i].now))
			*v[i].kept = v[i].now;
	}
	return any;
}

/* ---- counters ------------------------------------------------------------ */

/* Time that the best of three kinds of counter covers. */
static double watched_ns(
	const struct amount *measured, const struct amount *bound, const struct amount *frames)
{
	if (measured->known)
		return (double)measured->covered_ns;
	if (bound->known)
		return (double)bound->covered_ns;
	if (frames->known)
		return (double)frames->covered_ns;
	return 0;
}

static double tune_evidence_add_pause(
	struct pause_sum *sum, const struct pause_share *share, double ns)
{
	sum->alive = sum->alive || share->alive;
	if (isnan(share->hi) || ns <= 0)
		return 0;
	sum->measured = share->measured && (sum->measured || sum->watched_ns == 0);
	sum->lo_ns += share->lo * ns;
	sum->hi_ns += share->hi * ns;
	sum->watched_ns += ns;
	return share->hi * ns;
}

static void add_amount(
	const struct amount *amount, double *sum, bool *known, struct prio_sums *sums)
{
	if (!amount->known)
		return;
	*sum += amount->value;
	*known = true;
	sums->drops_alive = sums->drops_alive || amount->alive;
}

static void add_drops(struct prio_sums *sums, const struct port_prio *prio)
{
	add_amount(&prio->drops, &sums->drops, &sums->drops_known, sums);
	add_amount(&prio->pg_drops, &sums->pg_drops, &sums->pg_drops_known, sums);
	add_amount(&prio->wred_drops, &sums->wred_drops, &sums->wred_known, sums);
	int64_t a = 0;
	if (prio->drops.known)
		a = prio->drops.covered_ns;
	int64_t b = 0;
	if (prio->pg_drops.known)
		b = prio->pg_drops.covered_ns;
	if (a > b)
		sums->drops_watched_ns += a;
	else
		sums->drops_watched_ns += b;
}

static void add_marks(struct prio_sums *sums, const struct port_prio *prio)
{
	sums->marks_alive = sums->marks_alive || prio->marked.alive;
	const struct amount *packets;
	if (prio->out_packets.known)
		packets = &prio->out_packets;
	else
		packets = &prio->port->out_packets;
	if (!prio->marked.known || !packets->known)
		return;
	sums->marks_known = true;
	sums->marked += prio->marked.value;
	sums->marked_packets += packets->value;
}

static void add_episodes(struct prio_sums *sums, const struct port_prio *prio)
{
	if (!prio->tx_transitions.known)
		return;
	sums->transitions += prio->tx_transitions.value;
	sums->transition_watched_ns += (double)prio->tx_transitions.covered_ns;
	if (prio->tx_pause_ns.known)
		sums->transition_pause_ns += prio->tx_pause_ns.value;
}

static void add_peak(struct peak_fold *fold, const struct window *window, uint32_t entity,
	unsigned metric, double size)
{
	const struct series *s = NULL;
	if (entity != ENTITY_NONE)
		s = window_series(window, entity, metric);
	for (uint32_t i = s ? series_after(s, window->from_ns) : 0;
		s && i < s->n && s->t_ns[i] <= window->to_ns; i++)
		if (!(s->flags[i] & (SF_LATE | SF_SUSPECT)))
			peak_fold_add(fold, s->t_ns[i], sample_number(metric, s->value[i]),
				s->window_ms[i], size);
}

static unsigned load_bin(double octets_s)
{
	if (isnan(octets_s))
		return 0;
	if (octets_s < 1)
		return 1;
	const double at = 2 + floor(HALF_OCTAVE(octets_s));
	if (at < LOAD_BINS - 1)
		return (unsigned)at;
	return LOAD_BINS - 1;
}

/* Lowest bin that counts as busy: a fifth of what is usual. LOAD_BINS: none does. 0: load is not
 * known, so no window counts as idle. */
/* The first load bin that counts as busy. */
static unsigned tune_busy_from(const unsigned *loads)
{
	unsigned top = 0, n = 0, seen = 0;
	for (unsigned i = 2; i < LOAD_BINS; i++) {
		if (loads[i])
			top = i;
	}
	if (!top) {
		if (loads[1])
			return LOAD_BINS;
		return 0;
	}
	const double low = (double)top + HALF_OCTAVE(SEEN_RATIO);
	for (unsigned i = 2; i <= top; i++) {
		if (i >= low)
			n += loads[i];
	}
	unsigned at = 2;
	for (; at < top; at++)
		if (at >= low && (seen += loads[at]) >= USUAL_QUANTILE * n)
			break;
	const double from = (double)at + HALF_OCTAVE(RHYTHM_IDLE);
	if (from < 2)
		return 2;
	return (unsigned)ceil(from);
}

static void tune_evidence_add_load(struct load_sum *sum, double tx_ns, double tx_watched,
	double rx_ns, double rx_watched, const struct port_seen *port)
{
	sum->windows++;
	sum->tx_ns += tx_ns;
	sum->tx_watched_ns += tx_watched;
	sum->rx_ns += rx_ns;
	sum->rx_watched_ns += rx_watched;
	if (port->out_known && !isnan(port->out.utilization_ratio)) {
		sum->utilization += port->out.utilization_ratio;
		sum->n_utilization++;
	}
}

static bool tune_evidence_total(struct total *sum, const struct amount *amount)
{
	if (!amount->known)
		return false;
	sum->sum += amount->value;
	sum->known = true;
	return amount->value > 0;
}

static void tune_evidence_add_port(
	struct port_fold *fold, const struct port_seen *port, unsigned bin)
{
	bool bad = tune_evidence_total(&fold->damaged, &port->fcs_errors);
	bad |= tune_evidence_total(&fold->damaged, &port->symbol_errors);
	bad |= tune_evidence_total(&fold->damaged, &port->fec_uncorrectable);
	bad |= tune_evidence_total(&fold->in_errors, &port->in_errors);
	fold->error_windows += bad;
	const bool down = port->oper_up == 0 || port->out.oper == PORT_OPER_DOWN;
	fold->down_windows += down;
	if (down || port->oper_up > 0 || port->out_known)
		fold->down_now = down;
	tune_evidence_total(&fold->flaps, &port->flaps);
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		if (port->prios[c])
			tune_evidence_total(&fold->storms, &port->prios[c]->storms);
	tune_evidence_total(&fold->in_octets,
		&(struct amount){.known = port->in_known, .value = (double)port->in.octets});
	tune_evidence_total(&fold->out_octets,
		&(struct amount){.known = port->out_known, .value = (double)port->out.octets});
	if (port->out.read_bps)
		fold->speed_bps = (double)port->out.read_bps;
	if (!isnan(port->mtu_bytes))
		fold->mtu_bytes = port->mtu_bytes;
	if (!isnan(port->cable_m))
		fold->cable_m = port->cable_m;
	tune_evidence_add_load(&fold->loads[bin], 0, 0, 0, 0, port);
}

/* ---- one window of one switch -------------------------------------------- */

struct device_window {
	unsigned bin, k;
	bool busy, marks_known, marked;
};

static void tune_evidence_shift(uint8_t *bits, bool newest)
{
	*bits = (uint8_t)(*bits << 1 | newest);
}

static void add_recent(
	struct prio_sums *sums, const struct port_prio *prio, const struct device_window *dw)
{
	const struct amount *sent;
	if (prio->out_packets.known)
		sent = &prio->out_packets;
	else
		sent = &prio->port->out_packets;
	const bool tx = prio->tx_pause.hi > PAUSED_RATIO,
		   lost = prio->pg_drops.known && prio->pg_drops.value > 0,
		   full = prio->headroom_peak >= FULL_RATIO * prio->headroom;
	sums->lost_windows += lost;
	sums->full_windows += full;
	if (!dw->busy)
		return;
	sums->recent += sums->recent < RECENT_WINDOWS;
	tune_evidence_shift(&sums->recent_tx, tx);
	tune_evidence_shift(&sums->recent_rx, prio->rx_pause.hi > PAUSED_US_RATIO);
	tune_evidence_shift(&sums->recent_unmarked, tx && dw->marks_known && !dw->marked);
	tune_evidence_shift(&sums->recent_marks,
		prio->marked.known && sent->known &&
			prio->marked.value > MARKED_RATIO * sent->value);
	tune_evidence_shift(&sums->recent_lost, lost);
	tune_evidence_shift(&sums->recent_full, full);
}

static void add_prio(struct device_fold *fold, struct prio_fold *prio_fold,
	const struct port_prio *prio, const struct device_window *dw,
	const struct observed *observed)
{
	struct prio_sums *s = &prio_fold->sums;
	const double tx_watched = watched_ns(
			     &prio->tx_pause_ns, &prio->tx_pause_ns_hi, &prio->tx_frames),
		     rx_watched = watched_ns(
			     &prio->rx_pause_ns, &prio->rx_pause_ns_hi, &prio->rx_frames);
	const double tx_ns = tune_evidence_add_pause(&s->tx, &prio->tx_pause, tx_watched),
		     rx_ns = tune_evidence_add_pause(&s->rx, &prio->rx_pause, rx_watched);
	s->windows++;
	if (prio->tx_pause.hi > PAUSED_RATIO) {
		s->tx_windows++;
		s->tx_unmarked += dw->marks_known && !dw->marked;
	}
	s->rx_windows += prio->rx_pause.hi > PAUSED_RATIO;
	add_recent(s, prio, dw);
	add_drops(s, prio);
	add_marks(s, prio);
	add_episodes(s, prio);
	tune_evidence_add_load(
		&s->loads[dw->bin], tx_ns, tx_watched, rx_ns, rx_watched, prio->port);
	const uint32_t entity = entities_find(observed->window->entities,
		prio_fold->port->device->name, prio_fold->port->name, prio_fold->priority);
	add_peak(prio_fold->queue, observed->window, entity, M_QUEUE_WATERMARK, fold->pool_bytes);
	add_peak(prio_fold->pg, observed->window, entity, M_PG_SHARED_WATERMARK, fold->pool_bytes);
	add_peak(prio_fold->headroom, observed->window, entity, M_PG_HEADROOM_WATERMARK,
		prio->headroom);
}

static double tune_evidence_load_of(const struct device_seen *device)
{
	double load = NAN;
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i].out_known)
			load = (isnan(load) ? 0 : load) + device->ports[i].out.rate_bps / 8;
	return load;
}

static struct device_window look_at_device(const struct device_seen *device, unsigned bin)
{
	struct device_window r = {.bin = bin};
	double fullest = 0;
	unsigned filled = 0, paused = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			const struct port_prio *l = p->prios[c];
			if (!l || !l->lossless)
				continue;
			r.marks_known |= l->marked.known;
			r.marked |= l->marked.known && l->marked.value > 0;
			paused += l->tx_pause.hi > PAUSED_RATIO;
			fullest = fmax(fullest, l->pg_peak);
		}
	}
	for (size_t i = 0; i < device->n_ports && fullest >= FILLED_BYTES; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			filled += device->ports[i].prios[c] &&
				device->ports[i].prios[c]->lossless &&
				device->ports[i].prios[c]->pg_peak >= FILLED_RATIO * fullest;
	if (filled > paused)
		r.k = filled;
	else
		r.k = paused;
	return r;
}

static void count_device(struct device_fold *fold, const struct device_seen *device)
{
	if (!device->n_series) {
		fold->gaps += !fold->silent;
		fold->silent = true;
		return;
	}
	fold->silent = false;
	fold->heard++;
	fold->restarts += device->restarted;
	fold->newest_ns = device->newest_ns;
}

/* Pools of a device are ports of their own among the entities; the fullest counts. */
static void add_pools(struct tune_fold *fold, const struct observed *observed)
{
	size_t n;
	const struct series *pools = window_of_metric(observed->window, M_POOL_WATERMARK, &n);
	for (size_t i = 0; i < n; i++) {
		const uint32_t entity = pools[i].entity;
		struct device_fold *d = NULL;
		if (entity <= observed->n_entities && observed->device_of[entity])
			d = &fold->devices[observed->device_of[entity] - 1];
		if (d && d->since_ns < observed->to_ns)
			add_peak(
				d->pool, observed->window, entity, M_POOL_WATERMARK, d->pool_bytes);
	}
}

static void add_device(struct tune_fold *fold, struct device_fold *device_fold,
	const struct device_seen *device, const struct observed *observed)
{
	count_device(device_fold, device);
	bool changed = read_device(device_fold, device);
	for (size_t i = 0; i < device->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (device->ports[i].prios[c] && device->ports[i].prios[c]->lossless)
				changed |= read_settings(prio_fold_at(fold, device_fold, i, c),
					device->ports[i].prios[c], observed);
	if (device_fold->since_ns == INT64_MIN)
		device_fold->since_ns = observed->from_ns;
	const unsigned bin = load_bin(tune_evidence_load_of(device));
	for (size_t i = 0; i < device->n_ports; i++)
		tune_evidence_add_port(&device_fold->ports[i], &device->ports[i], bin);
	if (changed) { /* half of this window is of the old ones */
		tune_evidence_forget(device_fold, observed->to_ns);
		return;
	}
	if (!device->n_series)
		return;
	struct device_window dw = look_at_device(device, bin);
	device_fold->windows++;
	device_fold->loads[dw.bin]++;
	dw.busy = dw.bin >= tune_busy_from(device_fold->loads);
	device_fold->k[dw.k < K_BINS - 1 ? dw.k : K_BINS - 1]++;
	for (size_t i = 0; i < device->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (device->ports[i].prios[c] && device->ports[i].prios[c]->lossless)
				add_prio(device_fold, prio_fold_at(fold, device_fold, i, c),
					device->ports[i].prios[c], &dw, observed);
}

/* ---- one window of the fabric -------------------------------------------- */

static void add_window(struct tune_fold *fold, const struct observed *observed)
{
	struct mean pause = {0}, drops = {0}, to_hosts = {0}, out = {0};
	double marked = 0, packets = 0;
	for (size_t i = 0; i < observed->n_fabric_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		double rate = NAN;
		if (p->out_known)
			rate = p->out.rate_bps / 8;
		mean_add(&out, rate);
		mean_add(&to_hosts, p->port->host ? rate : NAN);
	}
	for (size_t i = 0; i < observed->n_prios; i++) {
		const struct port_prio *l = observed->prios[i];
		const struct amount *sent;
		if (l->out_packets.known)
			sent = &l->out_packets;
		else
			sent = &l->port->out_packets;
		if (!l->lossless || !l->port->in_fabric)
			continue;
		mean_add(&pause, l->port->port->host ? l->tx_pause.hi : NAN);
		mean_add(&drops, l->drops.known ? l->drops.value : NAN);
		mean_add(&drops, l->pg_drops.known ? l->pg_drops.value : NAN);
		if (l->marked.known && sent->known) {
			marked += l->marked.value;
			packets += sent->value;
		}
	}
	const struct mean *load = &out;
	if (to_hosts.n)
		load = &to_hosts;
	arena_grow(fold->arena, fold->windows, fold->n_windows, fold->cap_windows);
	struct tune_window *window = &fold->windows[fold->n_windows++];
	*window = (struct tune_window){.from_ns = observed->from_ns,
		.to_ns = observed->to_ns,
		.host_pause = (float)mean_of(&pause),
		.marks = NAN,
		.drops = NAN,
		.load = NAN};
	if (packets > 0)
		window->marks = (float)(marked / packets);
	if (drops.n)
		window->drops = (float)drops.sum;
	if (load->n)
		window->load = (float)load->sum;
}

static double sum_known(double sum, double more)
{
	if (isnan(sum))
		return more;
	if (isnan(more))
		return sum;
	return sum + more;
}

/* What no lane keeps: how devices balance (as told last), what was trimmed, and what packets show.
 */
static void add_told(struct tune_fold *fold, const struct observed *observed)
{
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
		struct world_facts now, *kept = &fold->told[priority];
		if (!(fold->fabric->lossless_mask >> priority & 1))
			continue;
		const bool first = fold->n_windows == 0;
		class_world_facts(observed, priority, &now);
		memcpy(kept->lb, now.lb, sizeof(kept->lb));
		kept->lb_mixed = now.lb_mixed;
		kept->lb_strange = now.lb_strange;
		kept->lb_strange_text = NULL;
		if (now.lb_strange_text)
			kept->lb_strange_text = arena_strdup(fold->arena, now.lb_strange_text);
		kept->trimmed = first ? now.trimmed : sum_known(kept->trimmed, now.trimmed);
		kept->cnp = first ? now.cnp : sum_known(kept->cnp, now.cnp);
		if (first || !isnan(now.spray_ratio))
			kept->spray_ratio = now.spray_ratio;
		kept->pause_frames = kept->marked = kept->uet = kept->srv6 = NAN;
	}
}

void tune_fold_add(struct tune_fold *fold, const struct observed *observed)
{
	for (size_t i = 0; i < observed->n_devices; i++)
		add_device(fold, &fold->devices[i], &observed->devices[i], observed);
	add_pools(fold, observed);
	add_told(fold, observed);
	add_window(fold, observed);
}

/* ---- tune_evidence_sum ----------------------------------------------------- */

/* tune_evidence_sum - makes the evidence out of the sums that tune_evidence.c kept. */

static double ratio_or_nan(double left, double right)
{
	if (right > 0)
		return left / right;
	return NAN;
}

/* The value, or "not known" where no counter of the kind has moved. */
static double if_known(bool known, double value)
{
	if (known)
		return value;
	return NAN;
}

static void done_pause(
	struct tune_prio *prio, const struct prio_sums *sums, bool tx_counts, bool rx_counts)
{
	const struct pause_sum *tx = &sums->tx, *rx = &sums->rx;
	prio->tx_pause_lo = if_known(tx_counts, ratio_or_nan(tx->lo_ns, tx->watched_ns));
	prio->tx_pause_hi = if_known(tx_counts, ratio_or_nan(tx->hi_ns, tx->watched_ns));
	prio->rx_pause_lo = if_known(rx_counts, ratio_or_nan(rx->lo_ns, rx->watched_ns));
	prio->rx_pause_hi = if_known(rx_counts, ratio_or_nan(rx->hi_ns, rx->watched_ns));
	prio->pause_measured = tx->measured && (rx->measured || rx->watched_ns == 0);
	prio->pause_watched_ns = (int64_t)tx->watched_ns;
	prio->episode_ns = if_known(sums->transition_pause_ns > 0,
		ratio_or_nan(sums->transition_pause_ns, sums->transitions));
	prio->episodes_per_s = ratio_or_nan(sums->transitions * 1e9, sums->transition_watched_ns);
}

static void done_busy(struct tune_prio *prio, const struct prio_sums *sums, unsigned from,
	bool tx_counts, bool rx_counts)
{
	struct load_sum all = {0}, busy = {0};
	for (unsigned i = 0; i < LOAD_BINS; i++) {
		const struct load_sum *b = &sums->loads[i];
		all.utilization += b->utilization;
		all.n_utilization += b->n_utilization;
		if (i < from)
			continue;
		busy.windows += b->windows;
		busy.tx_ns += b->tx_ns;
		busy.tx_watched_ns += b->tx_watched_ns;
		busy.rx_ns += b->rx_ns;
		busy.rx_watched_ns += b->rx_watched_ns;
		busy.utilization += b->utilization;
		busy.n_utilization += b->n_utilization;
	}
	prio->busy = busy.windows;
	prio->tx_pause_busy = if_known(tx_counts, ratio_or_nan(busy.tx_ns, busy.tx_watched_ns));
	prio->rx_pause_busy = if_known(rx_counts, ratio_or_nan(busy.rx_ns, busy.rx_watched_ns));
	prio->utilization_busy = ratio_or_nan(busy.utilization, busy.n_utilization);
	prio->utilization = ratio_or_nan(all.utilization, all.n_utilization);
}

static void done_port(struct tune_port *tune_port, const struct port_fold *fold,
	const struct fabric_port *port, unsigned from)
{
	struct load_sum busy = {0};
	for (unsigned i = from; i < LOAD_BINS; i++) {
		busy.utilization += fold->loads[i].utilization;
		busy.n_utilization += fold->loads[i].n_utilization;
	}
	*tune_port = (struct tune_port){.port = port,
		.errors = fmax(total_of(&fold->damaged), total_of(&fold->in_errors)),
		.error_windows = fold->error_windows,
		.down_windows = fold->down_windows,
		.down_now = fold->down_now,
		.flaps = total_of(&fold->flaps),
		.storms = total_of(&fold->storms),
		.speed_bps = fold->speed_bps,
		.mtu_bytes = fold->mtu_bytes,
		.cable_m = fold->cable_m,
		.in_octets = total_of(&fold->in_octets),
		.out_octets = total_of(&fold->out_octets),
		.utilization_busy = ratio_or_nan(busy.utilization, busy.n_utilization)};
}

struct device_facts {
	bool tx_alive, rx_alive, marks_alive;
	unsigned busy_from;
};

/* Settings in force, and until when they are known to have been so: by the one read longest ago. */
static void done_settings(struct tune_prio *prio, const struct prio_fold *fold, int64_t newest_ns)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct read_back *read = &fold->read[i];
		int64_t known_ns = read->t_ns;
		memcpy((char *)prio + tune_settings[i].prio, &fold->in_force[i], sizeof(double));
		if (isnan(read->value))
			continue;
		if (read->carried && newest_ns > known_ns)
			known_ns = newest_ns;
		if (!prio->read_ns || known_ns <= prio->read_ns)
			prio->read_ns = known_ns;
	}
}

static void done_counts(struct tune_prio *prio, const struct prio_sums *sums)
{
	prio->windows = sums->windows;
	prio->tx_windows = sums->tx_windows;
	prio->rx_windows = sums->rx_windows;
	prio->lost_windows = sums->lost_windows;
	prio->full_windows = sums->full_windows;
	prio->recent = sums->recent;
	prio->recent_tx = sums->recent_tx;
	prio->recent_rx = sums->recent_rx;
	prio->recent_marks = sums->recent_marks;
	prio->recent_lost = sums->recent_lost;
	prio->recent_full = sums->recent_full;
}

/* Marks count when one was ever seen on the switch, or the settings say that ECN is on. */
static void done_marks(struct tune_prio *prio, const struct prio_sums *sums, bool marks_count)
{
	const bool known = sums->marks_known && marks_count;
	prio->marks_alive = sums->marks_alive;
	prio->marked = if_known(known, sums->marked);
	prio->out_packets = if_known(known, sums->marked_packets);
	if (marks_count) {
		prio->tx_unmarked = sums->tx_unmarked;
		prio->recent_unmarked = sums->recent_unmarked;
	}
}

static void done_drops(struct tune_prio *prio, const struct prio_sums *sums)
{
	prio->drops = if_known(sums->drops_known, sums->drops);
	prio->pg_drops = if_known(sums->pg_drops_known, sums->pg_drops);
	prio->wred_drops = if_known(sums->wred_known, sums->wred_drops);
	prio->drops_alive = sums->drops_alive;
	prio->drops_watched_ns = sums->drops_watched_ns;
}

static void done_prio(struct tune_prio *prio, const struct prio_fold *fold,
	const struct device_fold *device_fold, const struct device_facts *facts)
{
	const struct prio_sums *sums = &fold->sums;
	*prio = (struct tune_prio){.port = fold->port,
		.priority = fold->priority,
		.declared = fold->declared,
		.relative_declared = fold->relative_declared,
		.setting_changes = fold->setting_changes,
		.inputs = NAN};
	done_counts(prio, sums);
	done_settings(prio, fold, device_fold->newest_ns);
	const bool ecn_by_kmin = isnan(prio->ecn_enabled) && prio->kmin > 0,
		   pfc_on = prio->pfc_enabled > 0, ecn_on = prio->ecn_enabled > 0 || ecn_by_kmin;
	const bool tx_counts = facts->tx_alive || pfc_on, rx_counts = facts->rx_alive || pfc_on;
	done_pause(prio, sums, tx_counts, rx_counts);
	done_busy(prio, sums, facts->busy_from, tx_counts, rx_counts);
	done_marks(prio, sums, facts->marks_alive || ecn_on);
	done_drops(prio, sums);
	prio->queue = peak_fold_done(fold->queue);
	prio->pg = peak_fold_done(fold->pg);
	prio->headroom = peak_fold_done(fold->headroom);
}

static unsigned k_quantile(const unsigned *bins, double at)
{
	unsigned n = 0, seen = 0;
	for (unsigned i = 1; i < K_BINS; i++)
		n += bins[i];
	for (unsigned i = 1; n && i < K_BINS; i++) {
		seen += bins[i];
		if (seen >= at * n)
			return i;
	}
	return 0;
}

/* What is in an egress queue lies in the priority groups it came in by, so its peak over the
 * fullest of them is how many fed it. */
static void done_inputs(struct tune_device *device)
{
	for (size_t i = 0; i < device->n_prios; i++) {
		struct tune_prio *l = &device->prios[i];
		double fullest = NAN;
		for (size_t k = 0; k < device->n_prios; k++)
			if (device->prios[k].port != l->port &&
				device->prios[k].priority == l->priority)
				fullest = fmax(fullest, device->prios[k].pg.max);
		if (fullest > 0 && l->queue.max > 0 && !l->queue.standing)
			l->inputs = fmin(fmax(1, l->queue.max / fullest),
				fmax(1, (double)device->device->n_ports - 1));
		else if (device->inputs_typical)
			l->inputs = device->inputs_typical;
	}
}

static void done_device(
	struct tune_fold *fold, const struct device_fold *device_fold, struct tune_device *device)
{
	const size_t n = device_fold->device->n_ports * OBSERVED_PRIORITIES;
	struct device_facts facts = {.busy_from = tune_busy_from(device_fold->loads)};
	*device = (struct tune_device){.device = device_fold->device,
		.prios = arena_array(fold->arena, struct tune_prio, n + 1),
		.pool_bytes = device_fold->pool_bytes,
		.pool_slices = device_fold->pool_slices,
		.shp_ratio = device_fold->shp_ratio,
		.cell_bytes = device_fold->cell_bytes,
		.pool = peak_fold_done(device_fold->pool),
		.since_ns = device_fold->since_ns,
		.coverage_ratio = (double)device_fold->heard / (double)fold->n_windows,
		.windows = device_fold->windows,
		.restarts = device_fold->restarts,
		.gaps = device_fold->gaps,
		.inputs_typical = k_quantile(device_fold->k, 0.5),
		.inputs_max = k_quantile(device_fold->k, 1)};
	for (size_t i = 0; i < n; i++)
		if (device_fold->prios[i]) {
			facts.tx_alive |= device_fold->prios[i]->sums.tx.alive;
			facts.rx_alive |= device_fold->prios[i]->sums.rx.alive;
			facts.marks_alive |= device_fold->prios[i]->sums.marks_alive;
		}
	for (size_t i = 0; i < n; i++)
		if (device_fold->prios[i])
			done_prio(&device->prios[device->n_prios++], device_fold->prios[i],
				device_fold, &facts);
	device->ports =
		arena_array(fold->arena, struct tune_port, device_fold->device->n_ports + 1);
	device->n_ports = device_fold->device->n_ports;
	for (size_t i = 0; i < device->n_ports; i++)
		done_port(&device->ports[i], &device_fold->ports[i], device_fold->device->ports[i],
			facts.busy_from);
	done_inputs(device);
}

static void done_windows(struct tune_fold *fold)
{
	double *v = arena_array(fold->arena, double, fold->n_windows + 1);
	double top = 0;
	size_t n = 0;
	for (size_t i = 0; i < fold->n_windows; i++)
		top = fmax(top, fold->windows[i].load);
	for (size_t i = 0; i < fold->n_windows; i++)
		if (fold->windows[i].load > SEEN_RATIO * top)
			v[n++] = fold->windows[i].load;
	const double usual = stats_quantile(v, n, USUAL_QUANTILE);
	for (size_t i = 0; i < fold->n_windows; i++) {
		if (isnan(usual))
			fold->windows[i].busy = top == 0 && isnan(fold->windows[i].load);
		else
			fold->windows[i].busy = fold->windows[i].load >= RHYTHM_IDLE * usual;
	}
}

int tune_fold_done(struct tune_fold *fold, const struct tune_evidence **ret)
{
	struct tune_evidence *e = arena_new_of(fold->arena, struct tune_evidence);
	size_t heard = 0, devices = 0;
	for (size_t i = 0; i < fold->fabric->n_devices; i++) {
		heard += fold->devices[i].heard;
		devices += fold->devices[i].heard > 0;
	}
	if (!heard)
		return -ENODATA;
	done_windows(fold);
	*e = (struct tune_evidence){.fabric = fold->fabric,
		.from_ns = fold->windows[0].from_ns,
		.to_ns = fold->windows[fold->n_windows - 1].to_ns,
		.window_ns = fold->window_ns,
		.interval_ns = fold->interval_ns,
		.devices = arena_array(fold->arena, struct tune_device, fold->fabric->n_devices),
		.n_devices = fold->fabric->n_devices,
		.windows = fold->windows,
		.n_windows = fold->n_windows,
		.told = fold->told,
		.coverage_ratio = (double)heard / (double)(devices * fold->n_windows)};
	for (size_t i = 0; i < fold->fabric->n_devices; i++)
		done_device(fold, &fold->devices[i], &e->devices[i]);
	*ret = e;
	return 0;
}

const struct tune_prio *tune_prio_at(
	const struct tune_evidence *evidence, const struct fabric_port *port, int priority)
{
	const struct tune_device *d = NULL;
	if (port && port->device->index < evidence->n_devices)
		d = &evidence->devices[port->device->index];
	for (size_t i = 0; d && i < d->n_prios; i++)
		if (d->prios[i].port == port && d->prios[i].priority == priority)
			return &d->prios[i];
	return NULL;
}
