/*
 * tune_fault - what has to be mended before thresholds are touched: the don't-tune rows of the
 * decision table (6-10, 12, 13), from open incidents, and from the evidence itself where the
 * stretch was too short for an incident or its detector had too few metrics.
 *
 * Source: docs/tuning.md, rows 6 to 10, 12 and 13, safety rules 7 and 9.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_signs.h"
#include "analyzers/tune/tune_words.h"
#include "db/model/entity.h"

#define STORM 0.9 /* share of time: above it slow_receiver is pfc_storm */
#define SINGLED 5.0 /* times the next host */
enum { SINGLED_MAX = 2 }; /* more hosts than that are a crowd */
#define Z_OUTLIER 3.5
#define OTHERS_MIN 3
#define ERRORS_MIN 10.0
/* max/mean - 1 of the members of a group, where no chance baseline is known: far above what a
 * random hash does to a fabric that works. */
#define SKEW 0.5
#define MTU_SLACK 22.0 /* Ethernet header, tag and FCS are counted in, or are not */
#define CABLE_SLACK 0.2 /* lengths are rounded to what is sold */
#define CABLE_SLACK_M 2.0
#define ECN_NEVER 266338050.0 /* bytes: switches write a Kmin as large as this for "off" */

struct faults {
	const struct tune_in *in;
	struct tune_fault *v;
	size_t n, cap;
};

static struct tune_fault *tune_fault_add(struct faults *faults, enum cause cause)
{
	const struct cause_info *info = cause_info(cause);
	if (faults->n == faults->cap) {
		if (faults->cap)
			faults->cap = faults->cap * 2;
		else
			faults->cap = 8;
		struct tune_fault *wider =
			arena_array(faults->in->arena, struct tune_fault, faults->cap);
		if (faults->n)
			memcpy(wider, faults->v, faults->n * sizeof(*wider));
		faults->v = wider;
	}
	struct tune_fault *r = &faults->v[faults->n++];
	*r = (struct tune_fault){.row = info->tune_row,
		.cause = cause,
		.priority = PRIO_NONE,
		.proof = {.priority = PRIO_NONE}};
	for (size_t i = 0; i < CAUSE_STEPS_MAX && info->steps[i].text; i++)
		r->steps[r->n_steps++] = info->steps[i].text;
	return r;
}

/* ---- from incidents ------------------------------------------------------ */

/*
 * Row 7 holds while the host's destination is marked. Where the very switch that pauses the host
 * marks next to nothing, and by its settings cannot mark before PFC fires, row 3 explains what
 * singles the host out, and the incident proves nothing.
 */
static bool explained_by_late(
	const struct tune_case *tune_case, const struct tune_incident *incident)
{
	const uint32_t late = T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE;
	for (size_t i = 0; incident->cause == CAUSE_DCQCN_OFF && i < tune_case->n_sites; i++)
		if (str_eq(tune_case->sites[i].device->device->name, incident->device) &&
			(incident->priority == PRIO_NONE ||
				incident->priority == tune_case->sites[i].priority) &&
			tune_case->sites[i].is && tune_case->sites[i].is->row == 3 &&
			(tune_case->sites[i].signs.yes & late) == late)
			return true;
	return false;
}

static void from_incidents(struct faults *faults, const struct tune_case *tune_case)
{
	for (size_t i = 0; i < faults->in->n_incidents; i++) {
		const struct tune_incident *t = &faults->in->incidents[i];
		if (t->closed_ns || t->severity < SEV_WARNING || !cause_info(t->cause)->tune_row ||
			explained_by_late(tune_case, t))
			continue;
		struct tune_fault *r = tune_fault_add(faults, t->cause);
		r->id = t->id;
		r->device = t->device;
		r->port = t->port;
		r->host = t->host;
		r->priority = t->priority;
		r->confidence = t->confidence_ratio;
		r->everywhere = !t->device && !t->host;
		r->summary = arena_printf(faults->in->arena,
			"%s%s%s%s%s: incident %s (%s) is open, and no threshold mends it",
			t->host ? t->host : str_or(t->device, "the fabric"),
			str_if(!t->host && t->port, ":"), !t->host && t->port ? t->port : "",
			str_if(t->group, " "), str_or(t->group, ""), t->id, cause_name(t->cause));
	}
}

/* The same was told by an incident: of the same row, at the same place (or at no place). */
static bool tune_fault_told(const struct faults *faults, enum cause cause, const char *device,
	const char *port, const char *host)
{
	const int row = cause_info(cause)->tune_row;
	for (size_t i = 0; i < faults->n; i++) {
		const struct tune_fault *t = &faults->v[i];
		if (t->row != row)
			continue;
		if (t->everywhere || (host && str_eq(t->host, host)) ||
			(device && str_eq(t->device, device) &&
				(!port || !t->port || str_eq(t->port, port))))
			return true;
	}
	return false;
}

/* @l or @port tells where. NULL: an incident, or a look before, has it already. */
static struct tune_fault *tune_fault_see(struct faults *faults, enum cause cause,
	const struct fabric_port *port, int priority, double confidence)
{
	/* one link, one story: its other end may have told it */
	if (tune_fault_told(faults, cause, port->device->name, port->name, port->host) ||
		(port->peer &&
			tune_fault_told(
				faults, cause, port->peer->device->name, port->peer->name, NULL)))
		return NULL;
	struct tune_fault *r = tune_fault_add(faults, cause);
	r->device = port->device->name;
	r->port = port->name;
	r->host = port->host;
	r->priority = priority;
	r->confidence = confidence;
	return r;
}

static void tune_fault_prove(struct faults *faults, struct tune_fault *fault, const char *metric,
	double value, const char *unit, enum quality quality)
{
	const struct tune_evidence *e = faults->in->evidence;
	fault->proof = (struct evidence){.metric = metric,
		.device = fault->device,
		.port = fault->port,
		.priority = fault->priority,
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.value = value,
		.unit = unit,
		.quality = quality};
}

/* ---- hosts --------------------------------------------------------------- */

static void look_at_receiver(struct faults *faults, const struct tune_prio *prio)
{
	if (!tune_paused_by_host(prio))
		return;
	const bool storm = prio->rx_pause_busy >= STORM && prio->pause_measured;
	struct tune_fault *r = tune_fault_see(faults, storm ? CAUSE_PFC_STORM : CAUSE_SLOW_RECEIVER,
		prio->port, prio->priority, prio->pause_measured ? 0.8 : 0.5);
	if (!r)
		return;
	r->summary = arena_printf(faults->in->arena,
		"%s paused us %s%s of the time at %s:%s: it does not take what it is sent, and no "
		"threshold changes that",
		prio->port->host, str_if(!prio->pause_measured, "at most "),
		tune_percent(faults->in->arena, prio->rx_pause_busy), r->device, r->port);
	tune_fault_prove(faults, r, "pfc.rx_pause_ratio", prio->rx_pause_busy, "ratio",
		prio->pause_measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
}

static double tune_fault_median(double *values, size_t n)
{
	stats_sort(values, n);
	if (n)
		return (values[n / 2] + values[(n - 1) / 2]) / 2;
	return NAN;
}

/*
 * Row 7: one or two hosts are paused far more than all others of the fabric, at a switch that marks
 * much and has its thresholds in order: they do not slow down. Settings that are late, and loss,
 * single hosts out as well.
 */
static void look_for_one_host(struct faults *faults, const struct tune_site *site, size_t n_sites)
{
	const uint32_t marks = T_MANY_MARKS, other = T_LATE | T_LOST | T_FROM_HOST;
	struct arena *a = faults->in->arena;
	size_t n = 0, cap = 1, out = 0, n_marking = 0;
	for (size_t i = 0; i < n_sites; i++) {
		cap += site[i].device->n_prios;
		n_marking += (site[i].signs.yes & marks) != 0;
	}
	double *level = arena_array(a, double, cap), *apart = arena_array(a, double, cap);
	for (size_t i = 0; i < n_sites; i++)
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&site[i], l));)
			if (l->port->host && !isnan(l->tx_pause_busy))
				level[n++] = l->tx_pause_busy;
	if (n < SINGLED_MAX + OTHERS_MIN || !n_marking)
		return;
	const double mid = tune_fault_median(level, n); /* sorts */
	while (out < SINGLED_MAX && !(level[n - 1 - out] >= SINGLED * level[n - 2 - out]))
		out++;
	const double least = level[n - 1 - out], others = level[n - 2 - out];
	for (size_t i = 0; i < n; i++)
		apart[i] = fabs(level[i] - mid);
	const double spread = 1.4826 * tune_fault_median(apart, n);
	const struct tune_prio *worst = NULL;
	for (size_t i = 0; i < n_sites; i++)
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&site[i], l));)
			if (l->port->host && tune_recent(l, l->recent_tx) >= TUNE_NEEDED &&
				l->tx_pause_busy >= least &&
				l->tx_pause_busy - mid > Z_OUTLIER * spread &&
				!(site[i].signs.yes & other) &&
				(!worst || l->tx_pause_busy > worst->tx_pause_busy))
				worst = l;
	if (!worst || out >= SINGLED_MAX || !worst->pause_measured)
		return;
	struct tune_fault *r =
		tune_fault_see(faults, CAUSE_DCQCN_OFF, worst->port, worst->priority, 0.6);
	if (!r)
		return;
	r->summary = arena_printf(a,
		"we paused %s %s of busy time at %s:%s and the next host %s, although queues mark: "
		"it does not slow down",
		worst->port->host, tune_percent(a, worst->tx_pause_busy), r->device, r->port,
		tune_percent(a, others));
	tune_fault_prove(
		faults, r, "pfc.tx_pause_ratio", worst->tx_pause_busy, "ratio", QUALITY_EXACT);
}

/* ---- links --------------------------------------------------------------- */

/* Errors that most ports of the switch count alike are how the platform counts. */
static bool like_all(const struct tune_device *device, double errors)
{
	size_t n = 0, like = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		if (!isnan(device->ports[i].errors)) {
			n++;
			like += device->ports[i].errors >= errors / 10;
		}
	return n >= 3 && 2 * like > n;
}

static void look_at_port(
	struct faults *faults, const struct tune_device *device, const struct tune_port *port)
{
	struct tune_fault *r;
	if (port->errors >= ERRORS_MIN && port->error_windows >= TUNE_NEEDED &&
		!like_all(device, port->errors) &&
		(r = tune_fault_see(faults, CAUSE_LINK_ERRORS, port->port, PRIO_NONE, 0.8))) {
		r->summary = arena_printf(faults->in->arena,
			"%s:%s received %.0f damaged frames: a cable or an optic, no matter of "
			"buffers",
			r->device, r->port, port->errors);
		tune_fault_prove(
			faults, r, "port.fcs_errors", port->errors, "frames", QUALITY_EXACT);
	}
	if (port->storms > 0 &&
		(r = tune_fault_see(faults, CAUSE_PFC_WATCHDOG, port->port, PRIO_NONE, 0.8))) {
		r->summary = arena_printf(faults->in->arena,
			"the PFC watchdog of %s fired %.0f times at %s", r->device, port->storms,
			r->port);
		tune_fault_prove(faults, r, "pfcwd.storms", port->storms, "events", QUALITY_EXACT);
	}
	if (port->port->peer && port->down_windows && 2 * port->down_windows >= device->windows &&
		(r = tune_fault_see(faults, CAUSE_PATH_ASYMMETRY, port->port, PRIO_NONE, 0.8))) {
		r->summary = arena_printf(faults->in->arena,
			"%s:%s to %s is down: the other members carry its share", r->device,
			r->port, port->port->peer->device->name);
		tune_fault_prove(faults, r, "port.oper_up", 0, "-", QUALITY_EXACT);
	}
	const struct fabric_port *far = port->port->peer;
	const struct tune_port *there = NULL;
	if (far && port->port->index < far->index)
		there = tune_port_at(&faults->in->evidence->devices[far->device->index], far);
	if (there && fabs(there->mtu_bytes - port->mtu_bytes) > MTU_SLACK &&
		(r = tune_fault_see(faults, CAUSE_MTU_MISMATCH, port->port, PRIO_NONE, 0.9))) {
		r->summary = arena_printf(faults->in->arena, "MTU %.0f at %s:%s, %.0f at %s:%s",
			port->mtu_bytes, r->device, r->port, there->mtu_bytes, far->device->name,
			far->name);
		tune_fault_prove(
			faults, r, "port.mtu_bytes", port->mtu_bytes, "bytes", QUALITY_EXACT);
	}
}

/* Row 9 without packets: one member of a group carries far more than the others, and queues of it
 * mark or its switch pauses. */
static void look_at_groups(struct faults *faults, const struct tune_site *site)
{
	const struct fabric_device *d = site->device->device;
	for (size_t g = 0; site->signs.yes & T_PAUSES && g < d->n_groups; g++) {
		double sum = 0, most = 0;
		const struct fabric_port *hot = NULL;
		size_t n = 0;
		for (size_t i = 0; i < d->groups[g].n_members; i++) {
			const struct tune_port *m =
				tune_port_at(site->device, d->groups[g].members[i]);
			if (!m || isnan(m->out_octets))
				continue;
			n++;
			sum += m->out_octets;
			if (m->out_octets > most) {
				most = m->out_octets;
				hot = m->port;
			}
		}
		if (n < 2 || !(most * (double)n >= (1 + SKEW) * sum) || !site->hot ||
			site->hot->port != hot)
			continue;
		struct tune_fault *r =
			tune_fault_see(faults, CAUSE_ECMP_IMBALANCE, hot, site->priority, 0.5);
		if (!r)
			continue;
		r->summary = arena_printf(faults->in->arena,
			"%s:%s carries %.0f %% more than the mean of group %s, and the pressure is "
			"there",
			r->device, r->port, 100 * (most * (double)n / sum - 1), d->groups[g].id);
		tune_fault_prove(faults, r, "ecmp.imbalance_ratio", most * (double)n / sum - 1,
			"ratio", QUALITY_ESTIMATED);
	}
}

/* ---- settings ------------------------------------------------------------ */

static const struct {
	const char *metric, *word;
	size_t offset;
} alike[] = {
	{"cfg.pfc_enabled", "PFC", offsetof(struct tune_prio, pfc_enabled)},
	{"cfg.ecn_enabled", "ECN", offsetof(struct tune_prio, ecn_enabled)},
	{"cfg.ecn_kmin_bytes", "Kmin", offsetof(struct tune_prio, kmin)},
	{"cfg.pg_alpha_exp", "alpha", offsetof(struct tune_prio, alpha)},
};
static double tune_fault_setting(const struct tune_prio *prio, size_t i)
{
	return *(const double *)((const char *)prio + alike[i].offset);
}

/* Ports that have the same part to play: role of the switch and what they lead to. */
static unsigned tune_fault_part_of(const struct fabric_port *port)
{
	return (unsigned)port->device->role * 3 +
		(port->host                                                                   ? 0
				: port->peer && port->peer->device->role > port->device->role ? 1
											      : 2);
}

enum { TALLIES = 256 };
struct tally { /* how many ports of one part and speed have one value of one setting */
	unsigned part;
	size_t what, n;
	double speed, value;
};
struct census {
	struct tally v[TALLIES];
	size_t n;
};

static void tune_fault_count(
	struct census *census, unsigned part, double speed, size_t what, double value)
{
	for (size_t i = 0; i < census->n; i++)
		if (census->v[i].part == part && census->v[i].what == what &&
			census->v[i].speed == speed && census->v[i].value == value) {
			census->v[i].n++;
			return;
		}
	if (census->n < TALLIES)
		census->v[census->n++] = (struct tally){
			.part = part, .what = what, .n = 1, .speed = speed, .value = value};
}

static double speed_or_0(const struct tune_device *device, const struct fabric_port *port)
{
	const double speed = tune_speed(device, port);
	if (isnan(speed))
		return 0;
	return speed;
}

static struct census *tune_fault_take_census(
	struct arena *a, const struct tune_site *sites, size_t n)
{
	struct census *c = arena_new_of(a, struct census);
	for (size_t i = 0; i < n; i++)
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&sites[i], l));)
			for (size_t what = 0; what < rw_countof(alike); what++)
				if (!isnan(tune_fault_setting(l, what)))
					tune_fault_count(c, tune_fault_part_of(l->port),
						speed_or_0(sites[i].device, l->port), what,
						tune_fault_setting(l, what));
	return c;
}

/* What more than half of three or more ports of the same part and speed have. */
static bool tune_fault_majority(
	const struct census *census, unsigned part, double speed, size_t what, double *ret)
{
	size_t all = 0, most = 0;
	for (size_t i = 0; i < census->n; i++) {
		if (census->v[i].part != part || census->v[i].what != what ||
			census->v[i].speed != speed)
			continue;
		all += census->v[i].n;
		if (census->v[i].n > most) {
			most = census->v[i].n;
			*ret = census->v[i].value;
		}
	}
	return all >= 3 && 2 * most > all;
}

static bool tune_fault_ours(const struct tune_in *in, const char *device)
{
	for (size_t i = 0; i < in->n_past; i++)
		if (str_eq(in->past[i].device, device))
			return true;
	return false;
}

static void look_at_settings(
	struct faults *faults, const struct census *census, const struct tune_site *site)
{
	const char *const device = site->device->device->name;
	for (size_t what = 0; what < rw_countof(alike); what++) {
		const struct tune_prio *odd = NULL;
		double usual = NAN;
		size_t n_odd = 0;
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
			double like = NAN;
			if (isnan(tune_fault_setting(l, what)) ||
				!tune_fault_majority(census, tune_fault_part_of(l->port),
					speed_or_0(site->device, l->port), what, &like) ||
				like == tune_fault_setting(l, what))
				continue;
			n_odd++;
			if (!odd)
				odd = l;
			usual = like;
		}
		if (!odd || tune_fault_ours(faults->in, device) ||
			tune_fault_told(faults, CAUSE_CONFIG_MIXED, device, odd->port->name, NULL))
			continue;
		struct tune_fault *r = tune_fault_add(faults, CAUSE_CONFIG_MIXED);
		r->device = device;
		if (n_odd == 1)
			r->port = odd->port->name;
		else
			r->port = NULL;
		r->priority = site->priority;
		if (odd->declared)
			r->confidence = 0.6;
		else
			r->confidence = 0.9;
		r->summary = arena_printf(faults->in->arena,
			"%s%s%s: %s is %.10g, most ports of its part in the fabric have %.10g "
			"(priority %d): align it first",
			device, str_if(r->port, ":"), str_or(r->port, ""), alike[what].word,
			tune_fault_setting(odd, what), usual, site->priority);
		tune_fault_prove(faults, r, alike[what].metric, tune_fault_setting(odd, what), "-",
			odd->declared ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
}

enum { CABLE_ROW = 1 }; /* headroom that a wrong setting makes too small is no matter of tuning */

/* Row 1's own cause, where the switch tells it: the buffer profile was made for another cable than
 * the inventory has. */
static void look_at_cable(struct faults *faults, const struct tune_site *site)
{
	const struct tune_prio *l = site->short_of;
	const struct tune_port *port = NULL;
	if (l && site->signs.yes & (T_LOST | T_FULL))
		port = tune_port_at(site->device, l->port);
	double truth = 0;
	if (l)
		truth = (double)l->port->cable_mm / 1e3;
	if (!port || !(port->cable_m > 0) || truth <= 0 ||
		fabs(port->cable_m - truth) <= fmax(CABLE_SLACK_M, CABLE_SLACK * truth))
		return;
	struct tune_fault *r = tune_fault_add(faults, CAUSE_HEADROOM_SMALL);
	r->row = CABLE_ROW;
	r->n_steps = 0;
	r->steps[r->n_steps++] = tune_need_text(
		faults->in->arena, NEED_CABLE, tune_platform_of(faults->in, site->device));
	r->steps[r->n_steps++] =
		"the buffer profile follows from it: do not size the headroom by hand first";
	r->device = site->device->device->name;
	r->port = l->port->name;
	r->host = l->port->host;
	r->priority = site->priority;
	r->confidence = 0.9;
	r->summary = arena_printf(faults->in->arena,
		"%s:%s: the switch is configured for a cable of %.4g m, the inventory says %.4g m: "
		"its headroom is that of the wrong length",
		r->device, r->port, port->cable_m, truth);
	tune_fault_prove(faults, r, "cfg.cable_m", port->cable_m, "m", QUALITY_EXACT);
}

static void look_at_marking(struct faults *faults, const struct tune_site *site)
{
	const enum congestion_policy cc = faults->in->fabric->congestion;
	const struct tune_prio *off = NULL;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (!off && (l->ecn_enabled == 0 || l->kmin >= ECN_NEVER || l->pmax == 0))
			off = l;
	if (!off || !(site->signs.yes & T_HOSTS_PAUSED) || !(site->signs.yes & T_PAUSES) ||
		(cc != CC_DCQCN && cc != CC_ECN_ONLY))
		return;
	struct tune_fault *r =
		tune_fault_see(faults, CAUSE_ECN_OFF, off->port, site->priority, 0.85);
	if (!r)
		return;
	r->port = NULL;
	r->summary = arena_printf(faults->in->arena,
		"%s does not mark on priority %d (ECN is off by its settings), and hosts are "
		"paused",
		r->device, site->priority);
	tune_fault_prove(faults, r, "cfg.ecn_enabled", off->ecn_enabled, "-", QUALITY_EXACT);
}

/* ---- all of it ----------------------------------------------------------- */

static void look_at_sites(struct faults *faults, const struct tune_site *sites, size_t n)
{
	const struct census *c = tune_fault_take_census(faults->in->arena, sites, n);
	look_for_one_host(faults, sites, n);
	for (size_t i = 0; i < n; i++) {
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&sites[i], l));)
			look_at_receiver(faults, l);
		look_at_groups(faults, &sites[i]);
		look_at_settings(faults, c, &sites[i]);
		look_at_marking(faults, &sites[i]);
		look_at_cable(faults, &sites[i]);
	}
}

void tune_diagnose(const struct tune_in *in, struct tune_case *ret)
{
	const struct tune_evidence *e = in->evidence;
	struct faults f = {.in = in};
	*ret = (struct tune_case){.in = in,
		.sites = arena_array(
			in->arena, struct tune_site, e->n_devices * OBSERVED_PRIORITIES + 1)};
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
		if (in->fabric->lossless_mask >> priority & 1) {
			tune_signs_of(in, priority, ret->sites + ret->n_sites, e->n_devices);
			ret->n_sites += e->n_devices;
		}
	from_incidents(&f, ret);
	for (size_t i = 0; i < ret->n_sites; i += e->n_devices)
		look_at_sites(&f, ret->sites + i, e->n_devices);
	for (size_t i = 0; i < e->n_devices; i++)
		for (size_t k = 0; k < e->devices[i].n_ports; k++)
			look_at_port(&f, &e->devices[i], &e->devices[i].ports[k]);
	ret->faults = f.v;
	ret->n_faults = f.n;
}
