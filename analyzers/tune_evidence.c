/* tune_evidence - see the header. */
#include "analyzers/tune_evidence.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "analyzers/rhythm.h"
#include "db/entity.h"

enum {
	LOAD_BINS = 100, /* half octaves of bytes per second; bin 0: not known, bin 1: nothing */
	K_BINS = 257,
};
#define PAUSED_RATIO 0.001   /* of a window: decision table, D_pause */
#define PAUSED_US_RATIO 0.01 /* the same table, slow receiver */
#define MARKED_RATIO 0.05
#define FULL_RATIO 0.9       /* of headroom */
#define FILLED_BYTES 16384.0 /* a priority group with less is only passing packets on */
#define FILLED_RATIO 0.5     /* of the fullest one */
#define USUAL_QUANTILE 0.9
#define SEEN_RATIO 0.05      /* of the highest load: windows below are not asked what is usual */
#define HALF_OCTAVE(r) (2 * log2(r))

/* --- what is kept of each lane --------------------------------------------------------------------------------------------- */

static const struct setting {
	uint16_t metric, seen, lane;
} settings[] = {
	{M_CFG_PFC_ENABLED, offsetof(struct lane_seen, pfc_enabled), offsetof(struct tune_lane, pfc_enabled)},
	{M_CFG_PG_ALPHA_EXP, offsetof(struct lane_seen, alpha), offsetof(struct tune_lane, alpha)},
	{M_CFG_PG_HEADROOM, offsetof(struct lane_seen, headroom), offsetof(struct tune_lane, headroom_bytes)},
	{M_CFG_PG_XOFF_LEVEL, offsetof(struct lane_seen, xoff_level), offsetof(struct tune_lane, xoff_level)},
	{M_CFG_PG_XON_LEVEL, offsetof(struct lane_seen, xon_level), offsetof(struct tune_lane, xon_level)},
	{M_CFG_PG_XON_OFFSET, offsetof(struct lane_seen, xon_offset), offsetof(struct tune_lane, xon_offset)},
	{M_CFG_ECN_ENABLED, offsetof(struct lane_seen, ecn_enabled), offsetof(struct tune_lane, ecn_enabled)},
	{M_CFG_ECN_KMIN, offsetof(struct lane_seen, kmin), offsetof(struct tune_lane, kmin)},
	{M_CFG_ECN_KMAX, offsetof(struct lane_seen, kmax), offsetof(struct tune_lane, kmax)},
	{M_CFG_ECN_PMAX, offsetof(struct lane_seen, pmax), offsetof(struct tune_lane, pmax)},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

struct read_back {
	double value;     /* as read; NAN not read */
	int64_t t_ns;     /* newest sample */
	bool carried;     /* its device has been heard ever since */
};

struct load_sum { /* of the windows with one load */
	unsigned windows, n_utilization;
	double tx_ns, tx_watched_ns, rx_ns, rx_watched_ns, utilization;
};

struct pause_sum {
	double lo_ns, hi_ns, watched_ns;
	bool alive, measured;
};

struct lane_sums { /* dropped when a setting moves */
	unsigned windows, tx_windows, rx_windows, tx_unmarked, lost_windows, full_windows;
	unsigned recent;
	uint8_t recent_tx, recent_rx, recent_unmarked, recent_marks, recent_lost, recent_full;
	struct pause_sum tx, rx;
	double transitions, transition_pause_ns, transition_watched_ns;
	double marked, marked_packets, drops, pg_drops, wred_drops;
	bool marks_told, marks_alive, drops_told, pg_drops_told, wred_told, drops_alive;
	int64_t drops_watched_ns;
	struct load_sum loads[LOAD_BINS];
};

struct lane_fold {
	const struct fabric_port *port;
	int priority;
	struct lane_sums sums;
	struct peak_fold *queue, *pg, *headroom;
	struct read_back read[SETTINGS];
	double in_force[SETTINGS];
	bool declared;
	unsigned setting_changes;
};

struct total { double sum; bool told; };
struct port_fold {
	struct total damaged, in_errors, flaps, storms, in_octets, out_octets;
	unsigned error_windows, down_windows;
	double speed_bps, mtu_bytes, cable_m;
	struct load_sum loads[LOAD_BINS];
};

struct device_fold {
	const struct fabric_device *device;
	struct port_fold *ports;
	struct lane_fold **lanes; /* [port of the device x OBSERVED_PRIORITIES + priority] */
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
};

struct tune_fold *tune_fold_new(const struct fabric *f, int64_t window_ns, int64_t interval_ns, struct arena *a)
{
	struct tune_fold *t = arena_new_of(a, struct tune_fold);
	*t = (struct tune_fold){.fabric = f, .window_ns = window_ns, .interval_ns = interval_ns, .arena = a, .devices = arena_array(a, struct device_fold, f->n_devices + 1)};
	for (size_t i = 0; i < f->n_devices; i++)
		t->devices[i] = (struct device_fold){.device = f->devices[i], .pool = peak_fold_new(a), .pool_bytes = NAN, .pool_slices = NAN, .shp_ratio = NAN,
			.cell_bytes = NAN, .since_ns = INT64_MIN, .lanes = arena_array(a, struct lane_fold *, f->devices[i]->n_ports * OBSERVED_PRIORITIES + 1),
			.ports = arena_array(a, struct port_fold, f->devices[i]->n_ports + 1)};
	for (size_t i = 0; i < f->n_devices; i++)
		for (size_t k = 0; k < f->devices[i]->n_ports; k++)
			t->devices[i].ports[k].speed_bps = t->devices[i].ports[k].mtu_bytes = t->devices[i].ports[k].cable_m = NAN;
	return t;
}

static struct lane_fold *lane_at(struct tune_fold *t, struct device_fold *d, size_t port, int priority)
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

/* --- settings -------------------------------------------------------------------------------------------------------------- */

static double number_at(const void *base, size_t offset)
{
	double v;
	memcpy(&v, (const char *)base + offset, sizeof(v));
	return v;
}

static bool moved(double before, double now) { return !isnan(before) && !isnan(now) && fabs(now - before) > 1e-9 * fmax(fabs(before), fabs(now)); }

/* The newest sample of a state that a device told. */
static bool newest_read(const struct window *w, uint32_t entity, unsigned metric, int64_t *ret_ns, double *ret)
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

static bool read_settings(struct lane_fold *l, const struct lane_seen *seen, const struct observed *o)
{
	const struct window *w = o->window;
	const struct device_seen *d = seen->port->device;
	const uint32_t entity = entities_find(w->entities, l->port->device->name, l->port->name, l->priority);
	bool any = false;
	l->declared = seen->declared;
	for (size_t i = 0; i < SETTINGS; i++) {
		struct read_back *r = &l->read[i];
		int64_t t_ns;
		double v;
		l->in_force[i] = number_at(seen, settings[i].seen);
		if (entity == ENTITY_NONE || !newest_read(w, entity, settings[i].metric, &t_ns, &v))
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
	const struct { double now; double *kept; } v[] = {{d->pool_bytes, &f->pool_bytes}, {d->pool_slices, &f->pool_slices}, {d->shp_ratio, &f->shp_ratio},
		{d->cell_bytes, &f->cell_bytes}};
	bool any = false;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		any |= moved(*v[i].kept, v[i].now);
		if (!isnan(v[i].now))
			*v[i].kept = v[i].now;
	}
	return any;
}

/* --- counters -------------------------------------------------------------------------------------------------------------- */

static double watched_ns(const struct amount *measured, const struct amount *bound, const struct amount *frames)
{
	return (double)(measured->known ? measured->covered_ns : bound->known ? bound->covered_ns : frames->known ? frames->covered_ns : 0);
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
	const int64_t a = l->drops.known ? l->drops.covered_ns : 0, b = l->pg_drops.known ? l->pg_drops.covered_ns : 0;
	s->drops_watched_ns += a > b ? a : b;
}

static void add_marks(struct lane_sums *s, const struct lane_seen *l)
{
	s->marks_alive = s->marks_alive || l->marked.alive;
	const struct amount *packets = l->out_packets.known ? &l->out_packets : &l->port->out_packets;
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

static void add_peak(struct peak_fold *p, const struct window *w, uint32_t entity, unsigned metric, double size)
{
	const struct series *s = entity == ENTITY_NONE ? NULL : window_series(w, entity, metric);
	for (uint32_t i = s ? series_after(s, w->from_ns) : 0; s && i < s->n && s->t_ns[i] <= w->to_ns; i++)
		if (!(s->flags[i] & (SF_LATE | SF_SUSPECT)))
			peak_fold_add(p, s->t_ns[i], sample_number(metric, s->value[i]), s->window_ms[i], size);
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

/* Lowest bin that counts as busy: a fifth of what is usual. LOAD_BINS: none does. 0: load is not told, so nothing says idle. */
static unsigned busy_from(const unsigned *loads)
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

static void add_load(struct load_sum *b, double tx_ns, double tx_watched, double rx_ns, double rx_watched, const struct port_seen *p)
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
static double total_of(const struct total *t) { return t->told ? t->sum : NAN; }

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
	total(&f->out_octets, &(struct amount){.known = p->out_known, .value = (double)p->out.octets});
	f->speed_bps = p->out.read_bps ? (double)p->out.read_bps : f->speed_bps;
	f->mtu_bytes = isnan(p->mtu_bytes) ? f->mtu_bytes : p->mtu_bytes;
	f->cable_m = isnan(p->cable_m) ? f->cable_m : p->cable_m;
	add_load(&f->loads[bin], 0, 0, 0, 0, p);
}

/* --- one window of one switch ---------------------------------------------------------------------------------------------- */

struct device_window {
	unsigned bin, k;
	bool busy, marks_told, marked;
};

static void shift(uint8_t *bits, bool newest) { *bits = (uint8_t)(*bits << 1 | newest); }

static void add_recent(struct lane_sums *s, const struct lane_seen *l, const struct device_window *dw)
{
	const struct amount *sent = l->out_packets.known ? &l->out_packets : &l->port->out_packets;
	const bool tx = l->tx_pause.hi > PAUSED_RATIO, lost = l->pg_drops.known && l->pg_drops.value > 0, full = l->headroom_peak >= FULL_RATIO * l->headroom;
	s->lost_windows += lost;
	s->full_windows += full;
	if (!dw->busy)
		return;
	s->recent += s->recent < RECENT_WINDOWS;
	shift(&s->recent_tx, tx);
	shift(&s->recent_rx, l->rx_pause.hi > PAUSED_US_RATIO);
	shift(&s->recent_unmarked, tx && dw->marks_told && !dw->marked);
	shift(&s->recent_marks, l->marked.known && sent->known && l->marked.value > MARKED_RATIO * sent->value);
	shift(&s->recent_lost, lost);
	shift(&s->recent_full, full);
}

static void add_lane(struct device_fold *d, struct lane_fold *f, const struct lane_seen *l, const struct device_window *dw, const struct observed *o)
{
	struct lane_sums *s = &f->sums;
	const double tx_watched = watched_ns(&l->tx_pause_ns, &l->tx_pause_ns_hi, &l->tx_frames), rx_watched = watched_ns(&l->rx_pause_ns, &l->rx_pause_ns_hi, &l->rx_frames);
	const double tx_ns = add_pause(&s->tx, &l->tx_pause, tx_watched), rx_ns = add_pause(&s->rx, &l->rx_pause, rx_watched);
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
	const uint32_t entity = entities_find(o->window->entities, f->port->device->name, f->port->name, f->priority);
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
			filled += d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless && d->ports[i].lanes[c]->pg_peak >= FILLED_RATIO * fullest;
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

static size_t first_of(const struct window *w, unsigned metric)
{
	size_t lo = 0, hi = w->n_series;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (w->series[mid].metric < metric)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Pools of a device are ports of their own among the entities; the fullest counts. */
static void add_pools(struct tune_fold *t, const struct observed *o)
{
	for (size_t i = first_of(o->window, M_POOL_WATERMARK); i < o->window->n_series && o->window->series[i].metric == M_POOL_WATERMARK; i++) {
		const uint32_t entity = o->window->series[i].entity;
		struct device_fold *d = entity <= o->n_entities && o->device_of[entity] ? &t->devices[o->device_of[entity] - 1] : NULL;
		if (d && d->since_ns < o->to_ns)
			add_peak(d->pool, o->window, entity, M_POOL_WATERMARK, d->pool_bytes);
	}
}

static void add_device(struct tune_fold *t, struct device_fold *f, const struct device_seen *d, const struct observed *o)
{
	hear(f, d);
	bool changed = read_device(f, d);
	for (size_t i = 0; i < d->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless)
				changed |= read_settings(lane_at(t, f, i, c), d->ports[i].lanes[c], o);
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
	dw.busy = dw.bin >= busy_from(f->loads);
	f->k[dw.k < K_BINS - 1 ? dw.k : K_BINS - 1]++;
	for (size_t i = 0; i < d->n_ports; i++)
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (d->ports[i].lanes[c] && d->ports[i].lanes[c]->lossless)
				add_lane(f, lane_at(t, f, i, c), d->ports[i].lanes[c], &dw, o);
}

/* --- one window of the fabric ---------------------------------------------------------------------------------------------- */

struct mean { double sum; unsigned n; };
static void mean_add(struct mean *m, double v)
{
	if (isnan(v))
		return;
	m->sum += v;
	m->n++;
}

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
		const struct amount *sent = l->out_packets.known ? &l->out_packets : &l->port->out_packets;
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
	t->windows[t->n_windows++] = (struct tune_window){.from_ns = o->from_ns, .to_ns = o->to_ns, .host_pause = pause.n ? (float)(pause.sum / pause.n) : NAN,
		.marks = packets > 0 ? (float)(marked / packets) : NAN, .drops = drops.n ? (float)drops.sum : NAN, .load = load->n ? (float)load->sum : NAN};
}

void tune_fold_add(struct tune_fold *t, const struct observed *o)
{
	for (size_t i = 0; i < o->n_devices; i++)
		add_device(t, &t->devices[i], &o->devices[i], o);
	add_pools(t, o);
	add_window(t, o);
}

/* --- what came of it ------------------------------------------------------------------------------------------------------- */

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

static void done_pause(struct tune_lane *r, const struct lane_sums *s, bool tx_counts, bool rx_counts)
{
	r->tx_pause_lo = tx_counts ? ratio(s->tx.lo_ns, s->tx.watched_ns) : NAN;
	r->tx_pause_hi = tx_counts ? ratio(s->tx.hi_ns, s->tx.watched_ns) : NAN;
	r->rx_pause_lo = rx_counts ? ratio(s->rx.lo_ns, s->rx.watched_ns) : NAN;
	r->rx_pause_hi = rx_counts ? ratio(s->rx.hi_ns, s->rx.watched_ns) : NAN;
	r->pause_measured = s->tx.measured && (s->rx.measured || s->rx.watched_ns == 0);
	r->pause_watched_ns = (int64_t)s->tx.watched_ns;
	r->episode_ns = s->transition_pause_ns > 0 ? ratio(s->transition_pause_ns, s->transitions) : NAN;
	r->episodes_per_s = ratio(s->transitions * 1e9, s->transition_watched_ns);
}

static void done_busy(struct tune_lane *r, const struct lane_sums *s, unsigned from, bool tx_counts, bool rx_counts)
{
	struct load_sum all = {0}, busy = {0};
	for (unsigned i = 0; i < LOAD_BINS; i++) {
		const struct load_sum *b = &s->loads[i];
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
	r->busy = busy.windows;
	r->tx_pause_busy = tx_counts ? ratio(busy.tx_ns, busy.tx_watched_ns) : NAN;
	r->rx_pause_busy = rx_counts ? ratio(busy.rx_ns, busy.rx_watched_ns) : NAN;
	r->utilization_busy = ratio(busy.utilization, busy.n_utilization);
	r->utilization = ratio(all.utilization, all.n_utilization);
}

static void done_port(struct tune_port *r, const struct port_fold *f, const struct fabric_port *port, unsigned from)
{
	struct load_sum busy = {0};
	for (unsigned i = from; i < LOAD_BINS; i++) {
		busy.utilization += f->loads[i].utilization;
		busy.n_utilization += f->loads[i].n_utilization;
	}
	*r = (struct tune_port){.port = port, .errors = fmax(total_of(&f->damaged), total_of(&f->in_errors)), .error_windows = f->error_windows,
		.down_windows = f->down_windows, .flaps = total_of(&f->flaps), .storms = total_of(&f->storms), .speed_bps = f->speed_bps, .mtu_bytes = f->mtu_bytes,
		.cable_m = f->cable_m, .in_octets = total_of(&f->in_octets), .out_octets = total_of(&f->out_octets), .utilization_busy = ratio(busy.utilization, busy.n_utilization)};
}

struct device_facts { bool tx_alive, rx_alive, marks_alive; unsigned busy_from; };

static void done_lane(struct tune_lane *r, const struct lane_fold *f, const struct device_fold *d, const struct device_facts *facts)
{
	const struct lane_sums *s = &f->sums;
	*r = (struct tune_lane){.port = f->port, .priority = f->priority, .windows = s->windows, .tx_windows = s->tx_windows, .rx_windows = s->rx_windows,
		.declared = f->declared, .setting_changes = f->setting_changes, .drops_watched_ns = s->drops_watched_ns, .drops_alive = s->drops_alive,
		.marks_alive = s->marks_alive, .inputs = NAN, .recent = s->recent, .recent_tx = s->recent_tx, .recent_rx = s->recent_rx,
		.recent_marks = s->recent_marks, .recent_lost = s->recent_lost, .recent_full = s->recent_full, .lost_windows = s->lost_windows, .full_windows = s->full_windows};
	for (size_t i = 0; i < SETTINGS; i++) {
		memcpy((char *)r + settings[i].lane, &f->in_force[i], sizeof(double));
		if (isnan(f->read[i].value))
			continue;
		const int64_t t = f->read[i].carried && d->newest_ns > f->read[i].t_ns ? d->newest_ns : f->read[i].t_ns;
		r->read_ns = r->read_ns && r->read_ns < t ? r->read_ns : t;
	}
	const bool pfc_on = r->pfc_enabled > 0, ecn_on = r->ecn_enabled > 0 || (isnan(r->ecn_enabled) && r->kmin > 0);
	done_pause(r, s, facts->tx_alive || pfc_on, facts->rx_alive || pfc_on);
	done_busy(r, s, facts->busy_from, facts->tx_alive || pfc_on, facts->rx_alive || pfc_on);
	const bool marks_count = s->marks_told && (facts->marks_alive || ecn_on);
	r->tx_unmarked = facts->marks_alive || ecn_on ? s->tx_unmarked : 0;
	r->recent_unmarked = facts->marks_alive || ecn_on ? s->recent_unmarked : 0;
	r->marked = marks_count ? s->marked : NAN;
	r->out_packets = marks_count ? s->marked_packets : NAN;
	r->drops = s->drops_told ? s->drops : NAN;
	r->pg_drops = s->pg_drops_told ? s->pg_drops : NAN;
	r->wred_drops = s->wred_told ? s->wred_drops : NAN;
	r->queue = peak_fold_done(f->queue);
	r->pg = peak_fold_done(f->pg);
	r->headroom = peak_fold_done(f->headroom);
}

static unsigned k_quantile(const unsigned *k, double q)
{
	unsigned n = 0, seen = 0;
	for (unsigned i = 1; i < K_BINS; i++)
		n += k[i];
	for (unsigned i = 1; n && i < K_BINS; i++)
		if ((seen += k[i]) >= q * n)
			return i;
	return 0;
}

/* What is in an egress queue lies in the priority groups it came in by, so its peak over the fullest of them is how many fed it. */
static void done_inputs(struct tune_device *d)
{
	for (size_t i = 0; i < d->n_lanes; i++) {
		struct tune_lane *l = &d->lanes[i];
		double fullest = NAN;
		for (size_t k = 0; k < d->n_lanes; k++)
			if (d->lanes[k].port != l->port && d->lanes[k].priority == l->priority)
				fullest = fmax(fullest, d->lanes[k].pg.max);
		if (fullest > 0 && l->queue.max > 0 && !l->queue.standing)
			l->inputs = fmin(fmax(1, l->queue.max / fullest), fmax(1, (double)d->device->n_ports - 1));
		else if (d->inputs_typical)
			l->inputs = d->inputs_typical;
	}
}

static void done_device(struct tune_fold *t, const struct device_fold *f, struct tune_device *r)
{
	const size_t n = f->device->n_ports * OBSERVED_PRIORITIES;
	struct device_facts facts = {.busy_from = busy_from(f->loads)};
	*r = (struct tune_device){.device = f->device, .lanes = arena_array(t->arena, struct tune_lane, n + 1), .pool_bytes = f->pool_bytes, .pool_slices = f->pool_slices,
		.shp_ratio = f->shp_ratio, .cell_bytes = f->cell_bytes, .pool = peak_fold_done(f->pool), .since_ns = f->since_ns,
		.coverage_ratio = (double)f->heard / (double)t->n_windows, .windows = f->windows, .restarts = f->restarts, .gaps = f->gaps,
		.inputs_typical = k_quantile(f->k, 0.5), .inputs_max = k_quantile(f->k, 1)};
	for (size_t i = 0; i < n; i++)
		if (f->lanes[i]) {
			facts.tx_alive |= f->lanes[i]->sums.tx.alive;
			facts.rx_alive |= f->lanes[i]->sums.rx.alive;
			facts.marks_alive |= f->lanes[i]->sums.marks_alive;
		}
	for (size_t i = 0; i < n; i++)
		if (f->lanes[i])
			done_lane(&r->lanes[r->n_lanes++], f->lanes[i], f, &facts);
	r->ports = arena_array(t->arena, struct tune_port, f->device->n_ports + 1);
	r->n_ports = f->device->n_ports;
	for (size_t i = 0; i < r->n_ports; i++)
		done_port(&r->ports[i], &f->ports[i], f->device->ports[i], facts.busy_from);
	done_inputs(r);
}

static void done_windows(struct tune_fold *t)
{
	double *v = arena_array(t->arena, double, t->n_windows + 1);
	double top = 0;
	size_t n = 0;
	for (size_t i = 0; i < t->n_windows; i++)
		top = fmax(top, t->windows[i].load);
	for (size_t i = 0; i < t->n_windows; i++)
		if (t->windows[i].load > SEEN_RATIO * top)
			v[n++] = t->windows[i].load;
	const double usual = quantile_of(v, n, USUAL_QUANTILE);
	for (size_t i = 0; i < t->n_windows; i++)
		t->windows[i].busy = isnan(usual) ? top == 0 && isnan(t->windows[i].load) : t->windows[i].load >= RHYTHM_IDLE * usual;
}

int tune_fold_done(struct tune_fold *t, const struct tune_evidence **ret)
{
	struct tune_evidence *e = arena_new_of(t->arena, struct tune_evidence);
	size_t heard = 0, devices = 0;
	for (size_t i = 0; i < t->fabric->n_devices; i++) {
		heard += t->devices[i].heard;
		devices += t->devices[i].heard > 0;
	}
	if (!heard)
		return -ENODATA;
	done_windows(t);
	*e = (struct tune_evidence){.fabric = t->fabric, .from_ns = t->windows[0].from_ns, .to_ns = t->windows[t->n_windows - 1].to_ns, .window_ns = t->window_ns,
		.interval_ns = t->interval_ns, .devices = arena_array(t->arena, struct tune_device, t->fabric->n_devices), .n_devices = t->fabric->n_devices,
		.windows = t->windows, .n_windows = t->n_windows, .coverage_ratio = (double)heard / (double)(devices * t->n_windows)};
	for (size_t i = 0; i < t->fabric->n_devices; i++)
		done_device(t, &t->devices[i], &e->devices[i]);
	*ret = e;
	return 0;
}

const struct tune_lane *tune_lane_at(const struct tune_evidence *e, const struct fabric_port *port, int priority)
{
	const struct tune_device *d = port && port->device->index < e->n_devices ? &e->devices[port->device->index] : NULL;
	for (size_t i = 0; d && i < d->n_lanes; i++)
		if (d->lanes[i].port == port && d->lanes[i].priority == priority)
			return &d->lanes[i];
	return NULL;
}
