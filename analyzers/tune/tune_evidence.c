/* tune_evidence - see the header. */
#include "analyzers/tune/tune_evidence_fold.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "analyzers/measure/mean.h"
#include "analyzers/measure/rhythm.h"
#include "db/model/entity.h"

#define PAUSED_RATIO 0.001 /* of a window: decision table, D_pause */
#define PAUSED_US_RATIO 0.01 /* the same table, slow receiver */
#define MARKED_RATIO 0.05
#define FULL_RATIO 0.9 /* of headroom */
#define FILLED_BYTES 16384.0 /* a priority group with less is only passing packets on */
#define FILLED_RATIO 0.5 /* of the fullest one */
#define HALF_OCTAVE(r) (2 * log2(r))

/* ---- what is kept of each lane ------------------------------------------- */

const struct tune_setting tune_settings[SETTINGS] = {
	{M_CFG_PFC_ENABLED, offsetof(struct lane_seen, pfc_enabled),
		offsetof(struct tune_lane, pfc_enabled)},
	{M_CFG_PG_ALPHA_EXP, offsetof(struct lane_seen, alpha), offsetof(struct tune_lane, alpha)},
	{M_CFG_PG_HEADROOM, offsetof(struct lane_seen, headroom),
		offsetof(struct tune_lane, headroom_bytes)},
	{M_CFG_PG_XOFF_LEVEL, offsetof(struct lane_seen, xoff_level),
		offsetof(struct tune_lane, xoff_level)},
	{M_CFG_PG_XON_LEVEL, offsetof(struct lane_seen, xon_level),
		offsetof(struct tune_lane, xon_level)},
	{M_CFG_PG_XON_OFFSET, offsetof(struct lane_seen, xon_offset),
		offsetof(struct tune_lane, xon_offset)},
	{M_CFG_ECN_ENABLED, offsetof(struct lane_seen, ecn_enabled),
		offsetof(struct tune_lane, ecn_enabled)},
	{M_CFG_ECN_KMIN, offsetof(struct lane_seen, kmin), offsetof(struct tune_lane, kmin)},
	{M_CFG_ECN_KMAX, offsetof(struct lane_seen, kmax), offsetof(struct tune_lane, kmax)},
	{M_CFG_ECN_PMAX, offsetof(struct lane_seen, pmax), offsetof(struct tune_lane, pmax)},
};

struct tune_fold *tune_fold_new(
	const struct fabric *f, int64_t window_ns, int64_t interval_ns, struct arena *a)
{
	struct tune_fold *t = arena_new_of(a, struct tune_fold);
	*t = (struct tune_fold){.fabric = f,
		.window_ns = window_ns,
		.interval_ns = interval_ns,
		.arena = a,
		.devices = arena_array(a, struct device_fold, f->n_devices + 1)};
	for (size_t i = 0; i < f->n_devices; i++)
		t->devices[i] = (struct device_fold){.device = f->devices[i],
			.pool = peak_fold_new(a),
			.pool_bytes = NAN,
			.pool_slices = NAN,
			.shp_ratio = NAN,
			.cell_bytes = NAN,
			.since_ns = INT64_MIN,
			.lanes = arena_array(a, struct lane_fold *,
				f->devices[i]->n_ports * OBSERVED_PRIORITIES + 1),
			.ports = arena_array(a, struct port_fold, f->devices[i]->n_ports + 1)};
	for (size_t i = 0; i < f->n_devices; i++)
		for (size_t k = 0; k < f->devices[i]->n_ports; k++)
			t->devices[i].ports[k].speed_bps = t->devices[i].ports[k].mtu_bytes =
				t->devices[i].ports[k].cable_m = NAN;
	return t;
}

static struct lane_fold *lane_at(
	struct tune_fold *t, struct device_fold *d, size_t port, int priority)
{
	struct lane_fold **at = &d->lanes[port * OBSERVED_PRIORITIES + (size_t)priority];
	if (*at)
		return *at;
	struct lane_fold *l = *at = arena_new_of(t->arena, struct lane_fold);
	l->port = d->device->ports[port];
	l->priority = priority;
	l->queue = peak_fold_new(t->arena);
	l->pg = peak_fold_new(t->arena);
	l->headroom = peak_fold_new(t->arena);
	for (size_t i = 0; i < SETTINGS; i++) {
		l->read[i].value = NAN;
		l->in_force[i] = NAN;
	}
	return l;
}

static void forget(struct device_fold *d, int64_t now_ns)
{
	for (size_t i = 0; i < d->device->n_ports * OBSERVED_PRIORITIES; i++) {
		struct lane_fold *l = d->lanes[i];
		if (!l)
			continue;
		l->sums = (struct lane_sums){0};
		peak_fold_reset(l->queue);
		peak_fold_reset(l->pg);
		peak_fold_reset(l->headroom);
	}
	peak_fold_reset(d->pool);
	memset(d->loads, 0, sizeof(d->loads));
	memset(d->k, 0, sizeof(d->k));
	d->windows = 0;
	d->since_ns = now_ns;
}

/* ---- settings ------------------------------------------------------------ */

static double number_at(const void *base, size_t offset)
{
	double v;
	memcpy(&v, (const char *)base + offset, sizeof(v));
	return v;
}

static bool moved(double before, double now)
{
	return !isnan(before) && !isnan(now) &&
		fabs(now - before) > 1e-9 * fmax(fabs(before), fabs(now));
}

/* The newest sample of a state that a device told. */
static bool newest_read(
	const struct window *w, uint32_t entity, unsigned metric, int64_t *ret_ns, double *ret)
{
	const struct series *s = window_series(w, entity, metric);
	for (uint32_t i = s ? series_after(s, w->to_ns) : 0; i > 0; i--)
		if (!(s->flags[i - 1] & (SF_DECLARED | SF_LATE | SF_SUSPECT))) {
			*ret_ns = s->t_ns[i - 1];
			*ret = sample_number(metric, s->value[i - 1]);
			return true;
		}
	return false;
}

static bool read_settings(
	struct lane_fold *l, const struct lane_seen *seen, const struct observed *o)
{
	const struct window *w = o->window;
	const struct device_seen *d = seen->port->device;
	const uint32_t entity =
		entities_find(w->entities, l->port->device->name, l->port->name, l->priority);
	bool any = false;
	l->declared = seen->declared;
	for (size_t i = 0; i < SETTINGS; i++) {
		struct read_back *r = &l->read[i];
		int64_t t_ns;
		double v;
		l->in_force[i] = number_at(seen, tune_settings[i].seen);
		if (entity == ENTITY_NONE ||
			!newest_read(w, entity, tune_settings[i].metric, &t_ns, &v))
			continue;
		if (moved(r->value, v)) {
			any = true;
			l->setting_changes++;
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

static bool read_device(struct device_fold *f, const struct device_seen *d)
{
	const struct {
		double now;
		double *kept;
	} v[] = {{d->pool_bytes, &f->pool_bytes}, {d->pool_slices, &f->pool_slices},
		{d->shp_ratio, &f->shp_ratio}, {d->cell_bytes, &f->cell_bytes}};
	bool any = false;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		any |= moved(*v[i].kept, v[i].now);
		if (!isnan(v[i].now))
			*v[i].kept = v[i].now;
	}
	return any;
}

/* ---- counters ------------------------------------------------------------ */

static double watched_ns(
	const struct amount *measured, const struct amount *bound, const struct amount *frames)
{
	return (double)(measured->known ? measured->covered_ns
			: bound->known  ? bound->covered_ns
			: frames->known ? frames->covered_ns
					: 0);
}

static double add_pause(struct pause_sum *p, const struct pause_share *s, double ns)
{
	p->alive = p->alive || s->alive;
	if (isnan(s->hi) || ns <= 0)
		return 0;
	p->measured = s->measured && (p->measured || p->watched_ns == 0);
	p->lo_ns += s->lo * ns;
	p->hi_ns += s->hi * ns;
	p->watched_ns += ns;
	return s->hi * ns;
}

static void add_amount(const struct amount *a, double *sum, bool *told, struct lane_sums *s)
{
	if (!a->known)
		return;
	*sum += a->value;
	*told = true;
	s->drops_alive = s->drops_alive || a->alive;
}

static void add_drops(struct lane_sums *s, const struct lane_seen *l)
{
	add_amount(&l->drops, &s->drops, &s->drops_told, s);
	add_amount(&l->pg_drops, &s->pg_drops, &s->pg_drops_told, s);
	add_amount(&l->wred_drops, &s->wred_drops, &s->wred_told, s);
	const int64_t a = l->drops.known ? l->drops.covered_ns : 0,
		      b = l->pg_drops.known ? l->pg_drops.covered_ns : 0;
	s->drops_watched_ns += a > b ? a : b;
}

static void add_marks(struct lane_sums *s, const struct lane_seen *l)
{
	s->marks_alive = s->marks_alive || l->marked.alive;
	const struct amount *packets =
		l->out_packets.known ? &l->out_packets : &l->port->out_packets;
	if (!l->marked.known || !packets->known)
		return;
	s->marks_told = true;
	s->marked += l->marked.value;
	s->marked_packets += packets->value;
}

static void add_episodes(struct lane_sums *s, const struct lane_seen *l)
{
	if (!l->tx_transitions.known)
		return;
	s->transitions += l->tx_transitions.value;
	s->transition_watched_ns += (double)l->tx_transitions.covered_ns;
	if (l->tx_pause_ns.known)
		s->transition_pause_ns += l->tx_pause_ns.value;
}

static void add_peak(
	struct peak_fold *p, const struct window *w, uint32_t entity, unsigned metric, double size)
{
	const struct series *s = entity == ENTITY_NONE ? NULL : window_series(w, entity, metric);
	for (uint32_t i = s ? series_after(s, w->from_ns) : 0;
		s && i < s->n && s->t_ns[i] <= w->to_ns; i++)
		if (!(s->flags[i] & (SF_LATE | SF_SUSPECT)))
			peak_fold_add(p, s->t_ns[i], sample_number(metric, s->value[i]),
				s->window_ms[i], size);
}

static unsigned load_bin(double octets_s)
{
	if (isnan(octets_s))
		return 0;
	if (octets_s < 1)
		return 1;
	const double at = 2 + floor(HALF_OCTAVE(octets_s));
	return at < LOAD_BINS - 1 ? (unsigned)at : LOAD_BINS - 1;
}

/* Lowest bin that counts as busy: a fifth of what is usual. LOAD_BINS: none does. 0: load is not
 * told, so nothing says idle. */
unsigned tune_busy_from(const unsigned *loads)
{
	unsigned top = 0, n = 0, seen = 0;
	for (unsigned i = 2; i < LOAD_BINS; i++)
		top = loads[i] ? i : top;
	if (!top)
		return loads[1] ? LOAD_BINS : 0;
	const double low = (double)top + HALF_OCTAVE(SEEN_RATIO);
	for (unsigned i = 2; i <= top; i++)
		n += i >= low ? loads[i] : 0;
	unsigned at = 2;
	for (; at < top; at++)
		if (at >= low && (seen += loads[at]) >= USUAL_QUANTILE * n)
			break;
	const double from = (double)at + HALF_OCTAVE(RHYTHM_IDLE);
	return from < 2 ? 2 : (unsigned)ceil(from);
}

static void add_load(struct load_sum *b, double tx_ns, double tx_watched, double rx_ns,
	double rx_watched, const struct port_seen *p)
{
	b->windows++;
	b->tx_ns += tx_ns;
	b->tx_watched_ns += tx_watched;
	b->rx_ns += rx_ns;
	b->rx_watched_ns += rx_watched;
	if (p->out_known && !isnan(p->out.utilization_ratio)) {
		b->utilization += p->out.utilization_ratio;
		b->n_utilization++;
	}
}

static bool total(struct total *t, const struct amount *a)
{
	if (!a->known)
		return false;
	t->sum += a->value;
	t->told = true;
	return a->value > 0;
}

static void add_port(struct port_fold *f, const struct port_seen *p, unsigned bin)
{
	bool bad = total(&f->damaged, &p->fcs_errors);
	bad |= total(&f->damaged, &p->symbol_errors);
	bad |= total(&f->damaged, &p->fec_uncorrectable);
	bad |= total(&f->in_errors, &p->in_errors);
	f->error_windows += bad;
	f->down_windows += p->oper_up == 0 || p->out.oper == PORT_OPER_DOWN;
	total(&f->flaps, &p->flaps);
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		if (p->lanes[c])
			total(&f->storms, &p->lanes[c]->storms);
	total(&f->in_octets, &(struct amount){.known = p->in_known, .value = (double)p->in.octets});
	total(&f->out_octets,
		&(struct amount){.known = p->out_known, .value = (double)p->out.octets});
	f->speed_bps = p->out.read_bps ? (double)p->out.read_bps : f->speed_bps;
	f->mtu_bytes = isnan(p->mtu_bytes) ? f->mtu_bytes : p->mtu_bytes;
	f->cable_m = isnan(p->cable_m) ? f->cable_m : p->cable_m;
	add_load(&f->loads[bin], 0, 0, 0, 0, p);
}

/* ---- one window of one switch -------------------------------------------- */

struct device_window {
	unsigned bin, k;
	bool busy, marks_told, marked;
};

static void shift(uint8_t *bits, bool newest)
{
	*bits = (uint8_t)(*bits << 1 | newest);
}

static void add_recent(
	struct lane_sums *s, const struct lane_seen *l, const struct device_window *dw)
{
	const struct amount *sent = l->out_packets.known ? &l->out_packets : &l->port->out_packets;
	const bool tx = l->tx_pause.hi > PAUSED_RATIO,
		   lost = l->pg_drops.known && l->pg_drops.value > 0,
		   full = l->headroom_peak >= FULL_RATIO * l->headroom;
	s->lost_windows += lost;
	s->full_windows += full;
	if (!dw->busy)
		return;
	s->recent += s->recent < RECENT_WINDOWS;
	shift(&s->recent_tx, tx);
	shift(&s->recent_rx, l->rx_pause.hi > PAUSED_US_RATIO);
	shift(&s->recent_unmarked, tx && dw->marks_told && !dw->marked);
	shift(&s->recent_marks,
		l->marked.known && sent->known && l->marked.value > MARKED_RATIO * sent->value);
	shift(&s->recent_lost, lost);
	shift(&s->recent_full, full);
}

static void add_lane(struct device_fold *d, struct lane_fold *f, const struct lane_seen *l,
	const struct device_window *dw, const struct observed *o)
{
	struct lane_sums *s = &f->sums;
	const double tx_watched = watched_ns(&l->tx_pause_ns, &l->tx_pause_ns_hi, &l->tx_frames),
		     rx_watched = watched_ns(&l->rx_pause_ns, &l->rx_pause_ns_hi, &l->rx_frames);
	const double tx_ns = add_pause(&s->tx, &l->tx_pause, tx_watched),
		     rx_ns = add_pause(&s->rx, &l->rx_pause, rx_watched);
	s->windows++;
	if (l->tx_pause.hi > PAUSED_RATIO) {
		s->tx_windows++;
		s->tx_unmarked += dw->marks_told && !dw->marked;
	}
	s->rx_windows += l->rx_pause.hi > PAUSED_RATIO;
	add_recent(s, l, dw);
	add_drops(s, l);
	add_marks(s, l);
	add_episodes(s, l);
	add_load(&s->loads[dw->bin], tx_ns, tx_watched, rx_ns, rx_watched, l->port);
	const uint32_t entity = entities_find(
		o->window->entities, f->port->device->name, f->port->name, f->priority);
	add_peak(f->queue, o->window, entity, M_QUEUE_WATERMARK, d->pool_bytes);
	add_peak(f->pg, o->window, entity, M_PG_SHARED_WATERMARK, d->pool_bytes);
	add_peak(f->headroom, o->window, entity, M_PG_HEADROOM_WATERMARK, l->headroom);
}

static double load_of(const struct device_seen *d)
{
	double load = NAN;
	for (size_t i = 0; i < d->n_ports; i++)
		if (d->ports[i].out_known)
			load = (isnan(load) ? 0 : load) + d->ports[i].out.rate_bps / 8;
	return load;
}

static struct device_window look(const struct device_seen *d, unsigned bin)
{
	struct device_window r = {.bin = bin};
	double fullest = 0;
	unsigned filled = 0, paused = 0;
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *p = &d->ports[i];
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			const struct lane_seen *l = p->lanes[c];
			if (!l || !l->lossless)
				continue;
			r.marks_told |= l->marked.known;
			r.marked |= l->marked.known && l->marked.value > 0;
			paused += l->tx_pause.hi > PAUSED_RATIO;
			fullest = fmax(fullest, l->pg_peak);
		}
	}
	for (size_t i = 0; i < d->n_ports && fullest >= FILLED_BYTES; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			filled += d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless &&
				d->ports[i].lanes[c]->pg_peak >= FILLED_RATIO * fullest;
	r.k = filled > paused ? filled : paused;
	return r;
}

static void hear(struct device_fold *f, const struct device_seen *d)
{
	if (!d->n_series) {
		f->gaps += !f->silent;
		f->silent = true;
		return;
	}
	f->silent = false;
	f->heard++;
	f->restarts += d->restarted;
	f->newest_ns = d->newest_ns;
}

/* Pools of a device are ports of their own among the entities; the fullest counts. */
static void add_pools(struct tune_fold *t, const struct observed *o)
{
	for (size_t i = window_metric(o->window, M_POOL_WATERMARK);
		i < o->window->n_series && o->window->series[i].metric == M_POOL_WATERMARK; i++) {
		const uint32_t entity = o->window->series[i].entity;
		struct device_fold *d = entity <= o->n_entities && o->device_of[entity]
			? &t->devices[o->device_of[entity] - 1]
			: NULL;
		if (d && d->since_ns < o->to_ns)
			add_peak(d->pool, o->window, entity, M_POOL_WATERMARK, d->pool_bytes);
	}
}

static void add_device(struct tune_fold *t, struct device_fold *f, const struct device_seen *d,
	const struct observed *o)
{
	hear(f, d);
	bool changed = read_device(f, d);
	for (size_t i = 0; i < d->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless)
				changed |=
					read_settings(lane_at(t, f, i, c), d->ports[i].lanes[c], o);
	if (f->since_ns == INT64_MIN)
		f->since_ns = o->from_ns;
	const unsigned bin = load_bin(load_of(d));
	for (size_t i = 0; i < d->n_ports; i++)
		add_port(&f->ports[i], &d->ports[i], bin);
	if (changed) { /* half of this window is of the old ones */
		forget(f, o->to_ns);
		return;
	}
	if (!d->n_series)
		return;
	struct device_window dw = look(d, bin);
	f->windows++;
	f->loads[dw.bin]++;
	dw.busy = dw.bin >= tune_busy_from(f->loads);
	f->k[dw.k < K_BINS - 1 ? dw.k : K_BINS - 1]++;
	for (size_t i = 0; i < d->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless)
				add_lane(f, lane_at(t, f, i, c), d->ports[i].lanes[c], &dw, o);
}

/* ---- one window of the fabric -------------------------------------------- */

static void add_window(struct tune_fold *t, const struct observed *o)
{
	struct mean pause = {0}, drops = {0}, to_hosts = {0}, out = {0};
	double marked = 0, packets = 0;
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		const struct port_seen *p = &o->ports[i];
		const double rate = p->out_known ? p->out.rate_bps / 8 : NAN;
		mean_add(&out, rate);
		mean_add(&to_hosts, p->port->host ? rate : NAN);
	}
	for (size_t i = 0; i < o->n_lanes; i++) {
		const struct lane_seen *l = o->lanes[i];
		const struct amount *sent =
			l->out_packets.known ? &l->out_packets : &l->port->out_packets;
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
	if (t->n_windows == t->cap_windows) {
		t->cap_windows = t->cap_windows ? 2 * t->cap_windows : 64;
		struct tune_window *v = arena_array(t->arena, struct tune_window, t->cap_windows);
		if (t->n_windows)
			memcpy(v, t->windows, t->n_windows * sizeof(*v));
		t->windows = v;
	}
	const struct mean *load = to_hosts.n ? &to_hosts : &out;
	t->windows[t->n_windows++] = (struct tune_window){.from_ns = o->from_ns,
		.to_ns = o->to_ns,
		.host_pause = (float)mean_of(&pause),
		.marks = packets > 0 ? (float)(marked / packets) : NAN,
		.drops = drops.n ? (float)drops.sum : NAN,
		.load = load->n ? (float)load->sum : NAN};
}

void tune_fold_add(struct tune_fold *t, const struct observed *o)
{
	for (size_t i = 0; i < o->n_devices; i++)
		add_device(t, &t->devices[i], &o->devices[i], o);
	add_pools(t, o);
	add_window(t, o);
}
