/* tune_evidence_sum - makes the evidence out of the sums that tune_evidence.c kept. */
#include "analyzers/tune/tune_evidence_fold.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "analyzers/measure/rhythm.h"

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
