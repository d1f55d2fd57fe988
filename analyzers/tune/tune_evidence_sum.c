/* tune_evidence_sum - evidence out of what was folded; see tune_evidence.h. */
#include "analyzers/tune/tune_evidence_fold.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "analyzers/measure/rhythm.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void done_pause(
	struct tune_lane *r, const struct lane_sums *s, bool tx_counts, bool rx_counts)
{
	r->tx_pause_lo = tx_counts ? ratio(s->tx.lo_ns, s->tx.watched_ns) : NAN;
	r->tx_pause_hi = tx_counts ? ratio(s->tx.hi_ns, s->tx.watched_ns) : NAN;
	r->rx_pause_lo = rx_counts ? ratio(s->rx.lo_ns, s->rx.watched_ns) : NAN;
	r->rx_pause_hi = rx_counts ? ratio(s->rx.hi_ns, s->rx.watched_ns) : NAN;
	r->pause_measured = s->tx.measured && (s->rx.measured || s->rx.watched_ns == 0);
	r->pause_watched_ns = (int64_t)s->tx.watched_ns;
	r->episode_ns =
		s->transition_pause_ns > 0 ? ratio(s->transition_pause_ns, s->transitions) : NAN;
	r->episodes_per_s = ratio(s->transitions * 1e9, s->transition_watched_ns);
}

static void done_busy(struct tune_lane *r, const struct lane_sums *s, unsigned from, bool tx_counts,
	bool rx_counts)
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

static void done_port(struct tune_port *r, const struct port_fold *f,
	const struct fabric_port *port, unsigned from)
{
	struct load_sum busy = {0};
	for (unsigned i = from; i < LOAD_BINS; i++) {
		busy.utilization += f->loads[i].utilization;
		busy.n_utilization += f->loads[i].n_utilization;
	}
	*r = (struct tune_port){.port = port,
		.errors = fmax(total_of(&f->damaged), total_of(&f->in_errors)),
		.error_windows = f->error_windows,
		.down_windows = f->down_windows,
		.flaps = total_of(&f->flaps),
		.storms = total_of(&f->storms),
		.speed_bps = f->speed_bps,
		.mtu_bytes = f->mtu_bytes,
		.cable_m = f->cable_m,
		.in_octets = total_of(&f->in_octets),
		.out_octets = total_of(&f->out_octets),
		.utilization_busy = ratio(busy.utilization, busy.n_utilization)};
}

struct device_facts {
	bool tx_alive, rx_alive, marks_alive;
	unsigned busy_from;
};

static void done_lane(struct tune_lane *r, const struct lane_fold *f, const struct device_fold *d,
	const struct device_facts *facts)
{
	const struct lane_sums *s = &f->sums;
	*r = (struct tune_lane){.port = f->port,
		.priority = f->priority,
		.windows = s->windows,
		.tx_windows = s->tx_windows,
		.rx_windows = s->rx_windows,
		.declared = f->declared,
		.setting_changes = f->setting_changes,
		.drops_watched_ns = s->drops_watched_ns,
		.drops_alive = s->drops_alive,
		.marks_alive = s->marks_alive,
		.inputs = NAN,
		.recent = s->recent,
		.recent_tx = s->recent_tx,
		.recent_rx = s->recent_rx,
		.recent_marks = s->recent_marks,
		.recent_lost = s->recent_lost,
		.recent_full = s->recent_full,
		.lost_windows = s->lost_windows,
		.full_windows = s->full_windows};
	for (size_t i = 0; i < SETTINGS; i++) {
		memcpy((char *)r + tune_settings[i].lane, &f->in_force[i], sizeof(double));
		if (isnan(f->read[i].value))
			continue;
		const int64_t t = f->read[i].carried && d->newest_ns > f->read[i].t_ns
			? d->newest_ns
			: f->read[i].t_ns;
		r->read_ns = r->read_ns && r->read_ns < t ? r->read_ns : t;
	}
	const bool pfc_on = r->pfc_enabled > 0,
		   ecn_on = r->ecn_enabled > 0 || (isnan(r->ecn_enabled) && r->kmin > 0);
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

/* What is in an egress queue lies in the priority groups it came in by, so its peak over the
 * fullest of them is how many fed it. */
static void done_inputs(struct tune_device *d)
{
	for (size_t i = 0; i < d->n_lanes; i++) {
		struct tune_lane *l = &d->lanes[i];
		double fullest = NAN;
		for (size_t k = 0; k < d->n_lanes; k++)
			if (d->lanes[k].port != l->port && d->lanes[k].priority == l->priority)
				fullest = fmax(fullest, d->lanes[k].pg.max);
		if (fullest > 0 && l->queue.max > 0 && !l->queue.standing)
			l->inputs = fmin(fmax(1, l->queue.max / fullest),
				fmax(1, (double)d->device->n_ports - 1));
		else if (d->inputs_typical)
			l->inputs = d->inputs_typical;
	}
}

static void done_device(struct tune_fold *t, const struct device_fold *f, struct tune_device *r)
{
	const size_t n = f->device->n_ports * OBSERVED_PRIORITIES;
	struct device_facts facts = {.busy_from = tune_busy_from(f->loads)};
	*r = (struct tune_device){.device = f->device,
		.lanes = arena_array(t->arena, struct tune_lane, n + 1),
		.pool_bytes = f->pool_bytes,
		.pool_slices = f->pool_slices,
		.shp_ratio = f->shp_ratio,
		.cell_bytes = f->cell_bytes,
		.pool = peak_fold_done(f->pool),
		.since_ns = f->since_ns,
		.coverage_ratio = (double)f->heard / (double)t->n_windows,
		.windows = f->windows,
		.restarts = f->restarts,
		.gaps = f->gaps,
		.inputs_typical = k_quantile(f->k, 0.5),
		.inputs_max = k_quantile(f->k, 1)};
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
		t->windows[i].busy = isnan(usual) ? top == 0 && isnan(t->windows[i].load)
						  : t->windows[i].load >= RHYTHM_IDLE * usual;
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
	*e = (struct tune_evidence){.fabric = t->fabric,
		.from_ns = t->windows[0].from_ns,
		.to_ns = t->windows[t->n_windows - 1].to_ns,
		.window_ns = t->window_ns,
		.interval_ns = t->interval_ns,
		.devices = arena_array(t->arena, struct tune_device, t->fabric->n_devices),
		.n_devices = t->fabric->n_devices,
		.windows = t->windows,
		.n_windows = t->n_windows,
		.coverage_ratio = (double)heard / (double)(devices * t->n_windows)};
	for (size_t i = 0; i < t->fabric->n_devices; i++)
		done_device(t, &t->devices[i], &e->devices[i]);
	*ret = e;
	return 0;
}

const struct tune_lane *tune_lane_at(
	const struct tune_evidence *e, const struct fabric_port *port, int priority)
{
	const struct tune_device *d = port && port->device->index < e->n_devices
		? &e->devices[port->device->index]
		: NULL;
	for (size_t i = 0; d && i < d->n_lanes; i++)
		if (d->lanes[i].port == port && d->lanes[i].priority == priority)
			return &d->lanes[i];
	return NULL;
}
