/* tune_evidence - keeps sums and peaks of every lossless queue while windows come in. */
#include "analyzers/tune/tune_evidence_fold.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "analyzers/measure/mean.h"
#include "analyzers/measure/rhythm.h"
#include "db/model/entity.h"

#define PAUSED_RATIO 0.001 /* of a window: we paused the neighbour */
#define PAUSED_US_RATIO 0.01 /* of a window: the neighbour paused us */
#define MARKED_RATIO 0.05
#define FULL_RATIO 0.9 /* of headroom */
#define FILLED_BYTES 16384.0 /* a priority group with less is only passing packets on */
#define FILLED_RATIO 0.5 /* of the fullest one */
#define HALF_OCTAVE(r) (2 * log2(r))

/* ---- what is kept of each lane ------------------------------------------- */

const struct tune_setting tune_settings[SETTINGS] = {
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
unsigned tune_busy_from(const unsigned *loads)
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
	for (size_t i = window_metric(observed->window, M_POOL_WATERMARK);
		i < observed->window->n_series &&
		observed->window->series[i].metric == M_POOL_WATERMARK;
		i++) {
		const uint32_t entity = observed->window->series[i].entity;
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
