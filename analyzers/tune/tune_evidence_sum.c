/* tune_evidence_sum - evidence out of what was folded; see tune_evidence.h. */
#include "analyzers/tune/tune_evidence_fold.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "analyzers/measure/rhythm.h"

static double tune_evidence_sum_ratio(double left, double right)
{
	if (right > 0)
		return left / right;
	return NAN;
}

static void done_pause(
	struct tune_prio *prio, const struct prio_sums *sums, bool tx_counts, bool rx_counts)
{
	if (tx_counts)
		prio->tx_pause_lo = tune_evidence_sum_ratio(sums->tx.lo_ns, sums->tx.watched_ns);
	else
		prio->tx_pause_lo = NAN;
	if (tx_counts)
		prio->tx_pause_hi = tune_evidence_sum_ratio(sums->tx.hi_ns, sums->tx.watched_ns);
	else
		prio->tx_pause_hi = NAN;
	if (rx_counts)
		prio->rx_pause_lo = tune_evidence_sum_ratio(sums->rx.lo_ns, sums->rx.watched_ns);
	else
		prio->rx_pause_lo = NAN;
	if (rx_counts)
		prio->rx_pause_hi = tune_evidence_sum_ratio(sums->rx.hi_ns, sums->rx.watched_ns);
	else
		prio->rx_pause_hi = NAN;
	prio->pause_measured = sums->tx.measured && (sums->rx.measured || sums->rx.watched_ns == 0);
	prio->pause_watched_ns = (int64_t)sums->tx.watched_ns;
	if (sums->transition_pause_ns > 0)
		prio->episode_ns =
			tune_evidence_sum_ratio(sums->transition_pause_ns, sums->transitions);
	else
		prio->episode_ns = NAN;
	prio->episodes_per_s =
		tune_evidence_sum_ratio(sums->transitions * 1e9, sums->transition_watched_ns);
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
	if (tx_counts)
		prio->tx_pause_busy = tune_evidence_sum_ratio(busy.tx_ns, busy.tx_watched_ns);
	else
		prio->tx_pause_busy = NAN;
	if (rx_counts)
		prio->rx_pause_busy = tune_evidence_sum_ratio(busy.rx_ns, busy.rx_watched_ns);
	else
		prio->rx_pause_busy = NAN;
	prio->utilization_busy = tune_evidence_sum_ratio(busy.utilization, busy.n_utilization);
	prio->utilization = tune_evidence_sum_ratio(all.utilization, all.n_utilization);
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
		.flaps = total_of(&fold->flaps),
		.storms = total_of(&fold->storms),
		.speed_bps = fold->speed_bps,
		.mtu_bytes = fold->mtu_bytes,
		.cable_m = fold->cable_m,
		.in_octets = total_of(&fold->in_octets),
		.out_octets = total_of(&fold->out_octets),
		.utilization_busy = tune_evidence_sum_ratio(busy.utilization, busy.n_utilization)};
}

struct device_facts {
	bool tx_alive, rx_alive, marks_alive;
	unsigned busy_from;
};

static void done_prio(struct tune_prio *prio, const struct prio_fold *fold,
	const struct device_fold *device_fold, const struct device_facts *facts)
{
	const struct prio_sums *s = &fold->sums;
	*prio = (struct tune_prio){.port = fold->port,
		.priority = fold->priority,
		.windows = s->windows,
		.tx_windows = s->tx_windows,
		.rx_windows = s->rx_windows,
		.declared = fold->declared,
		.setting_changes = fold->setting_changes,
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
		memcpy((char *)prio + tune_settings[i].prio, &fold->in_force[i], sizeof(double));
		if (isnan(fold->read[i].value))
			continue;
		int64_t t;
		if (fold->read[i].carried && device_fold->newest_ns > fold->read[i].t_ns)
			t = device_fold->newest_ns;
		else
			t = fold->read[i].t_ns;
		if (!(prio->read_ns && prio->read_ns < t))
			prio->read_ns = t;
	}
	const bool pfc_on = prio->pfc_enabled > 0,
		   ecn_on = prio->ecn_enabled > 0 || (isnan(prio->ecn_enabled) && prio->kmin > 0);
	done_pause(prio, s, facts->tx_alive || pfc_on, facts->rx_alive || pfc_on);
	done_busy(prio, s, facts->busy_from, facts->tx_alive || pfc_on, facts->rx_alive || pfc_on);
	const bool marks_count = s->marks_known && (facts->marks_alive || ecn_on);
	if (facts->marks_alive || ecn_on) {
		prio->tx_unmarked = s->tx_unmarked;
		prio->recent_unmarked = s->recent_unmarked;
	} else {
		prio->tx_unmarked = 0;
		prio->recent_unmarked = 0;
	}
	if (marks_count) {
		prio->marked = s->marked;
		prio->out_packets = s->marked_packets;
	} else {
		prio->marked = NAN;
		prio->out_packets = NAN;
	}
	if (s->drops_known)
		prio->drops = s->drops;
	else
		prio->drops = NAN;
	if (s->pg_drops_known)
		prio->pg_drops = s->pg_drops;
	else
		prio->pg_drops = NAN;
	if (s->wred_known)
		prio->wred_drops = s->wred_drops;
	else
		prio->wred_drops = NAN;
	prio->queue = peak_fold_done(fold->queue);
	prio->pg = peak_fold_done(fold->pg);
	prio->headroom = peak_fold_done(fold->headroom);
}

static unsigned k_quantile(const unsigned *bins, double at)
{
	unsigned n = 0, seen = 0;
	for (unsigned i = 1; i < K_BINS; i++)
		n += bins[i];
	for (unsigned i = 1; n && i < K_BINS; i++)
		if ((seen += bins[i]) >= at * n)
			return i;
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
