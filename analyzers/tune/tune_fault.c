/*
 * tune_fault - what has to be mended before thresholds are touched: the don't-tune rows of the
 * decision table (6-10, 12, 13), from open incidents, and from the evidence itself where the
 * stretch was too short for an incident or its detector had too few metrics.
 *
 * Source: tuning facts d (rows, preconditions), d.2 rules 7 and 9.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_sheet.h"
#include "analyzers/tune/tune_signs.h"
#include "db/model/entity.h"

#define STORM 0.9 /* share of time: metrics.md, slow_receiver and pfc_storm by degree */
#define SINGLED 5.0 /* times the next host; d row 7 */
enum { SINGLED_MAX = 2 }; /* more hosts than that are a crowd */
#define Z_OUTLIER 3.5
#define OTHERS_MIN 3
#define ERRORS_MIN 10.0
#define SKEW                                                                                       \
	0.5 /* max/mean - 1 without a chance baseline: far above what luck does to a fabric that   \
	       works */
#define MTU_SLACK 22.0 /* Ethernet header, tag and FCS are counted in, or are not */
#define CABLE_SLACK 0.2 /* lengths are rounded to what is sold */
#define CABLE_SLACK_M 2.0
#define ECN_NEVER 266338050.0 /* "disabled" sentinel of Kmin: counter map 5.3 */

static const struct cure {
	const char *cause;
	int row;
	const char *steps[3];
} cures[] = {
	{"slow_receiver", 6,
		{"look at the host: NIC firmware, PCIe width and errors, page size and MTT cache, "
		 "receive buffers",
			"keep the PFC watchdog on for this priority; it drops what waits for the "
			"host",
			"do not raise alpha or lower Kmin for it: the queue fills because the host "
			"does not take what it is sent"}},
	{"pfc_storm", 6,
		{"take the host out of the job or shut its port: on rails this usually aborts the "
		 "whole job",
			"check NIC firmware and driver, then reset the NIC",
			"let the PFC watchdog act; with action drop it loses what is queued for "
			"the host"}},
	{"pfc_watchdog", 6,
		{"find out why the host kept pausing: NIC, driver, PCIe",
			"what the watchdog dropped is retransmitted: expect NAKs", NULL}},
	{"dcqcn_off", 7,
		{"check that DCQCN is on at the host, as notification and as reaction point, for "
		 "this priority",
			"check DSCP and ECT of what it sends, and trust at its port", NULL}},
	{"ect_missing", 7,
		{"make the host send ECT: DCQCN of its NIC, DSCP and ECN bits of its QPs", NULL,
			NULL}},
	{"np_off", 7,
		{"turn the notification point of the host's NIC on: it answers no CE with a CNP",
			NULL, NULL}},
	{"cnp_lost", 7,
		{"follow the CNPs: their DSCP, their queue, ACLs on the way back", NULL, NULL}},
	{"ecn_off", 12,
		{"turn marking on for the lossless queues of this switch, with the thresholds of "
		 "the other switches of its tier",
			NULL, NULL}},
	{"link_errors", 8,
		{"clean or replace the optic or cable, at both ends",
			"until then take the link out of ECMP: what it damages is lost and sent "
			"again",
			NULL}},
	{"link_flap", 8, {"replace the optic or cable, or hold the link down", NULL, NULL}},
	{"link_slow", 8,
		{"bring the link back to the speed of its class: lanes, optic, FEC, speed setting",
			NULL, NULL}},
	{"optic_degrading", 8, {"plan the replacement of the optic before it fails", NULL, NULL}},
	{"missing_rail", 8,
		{"bring the host's port back, or take the host out of the job", NULL, NULL}},
	{"lossless_loss", 8,
		{"check that PFC is on for the priority at both ends of the link",
			"read drops by reason: route, ACL and MTU drops are no matter of buffers",
			NULL}},
	{"pool_exhausted", 1,
		{"find what else fills the pool: lossy classes, mirror sessions, headroom that "
		 "nobody uses",
			"lower what the lossy classes may take", NULL}},
	{"ecmp_imbalance", 9,
		{"look at hash fields and seed", "more QPs per connection, or adaptive balancing",
			NULL}},
	{"ecmp_polarization", 9,
		{"use another hash seed or function on the spines than on the leaves", NULL, NULL}},
	{"ecmp_low_entropy", 9, {"more QPs per connection, or the QPN in the hash", NULL, NULL}},
	{"unlucky_placement", 9,
		{"other source ports, or more QPs per connection: the placement lives as long as "
		 "the job",
			NULL, NULL}},
	{"path_asymmetry", 9, {"bring the members of the group that are down back", NULL, NULL}},
	{"missing_route", 9, {"bring the route over the idle link back", NULL, NULL}},
	{"remote_capacity", 9,
		{"weigh the paths by the capacity that is left behind them, or bring the links "
		 "back",
			NULL, NULL}},
	{"oversubscription", 9,
		{"add uplinks or place the job otherwise: thresholds add no capacity", NULL, NULL}},
	{"uplink_overload", 9,
		{"spread the load: hash, QPs, placement; thresholds add no path", NULL, NULL}},
	{"pfc_deadlock", 10,
		{"page a person: break the ring at the port that can best lose its traffic",
			"find the route that goes up again after it went down",
			"turn the PFC watchdog on; it drops what is queued"}},
	{"mtu_mismatch", 12, {"set one MTU on both ends and on the whole tier", NULL, NULL}},
	{"dscp_mismatch", 12,
		{"set trust and DSCP map as on the other ports of the tier", NULL, NULL}},
	{"pfc_mismatch", 12, {"turn PFC on for the priority at both ends of the link", NULL, NULL}},
	{"pfc_wrong_priority", 12,
		{"find who pauses a priority that is not lossless, and align its DSCP and PFC "
		 "settings",
			NULL, NULL}},
	{"class_leak", 12,
		{"bring RoCE back to its class: DSCP at the sender, trust and map at its port",
			NULL, NULL}},
	{"rocev1", 12,
		{"move the sender to RoCEv2: version 1 cannot be routed or marked", NULL, NULL}},
	{"cable_length", 1,
		{"set the true cable length on the port (SONiC: config interface cable-length; "
		 "Junos, NVUE: cable-length), or correct `cable:` of the link in the configuration",
			"the buffer profile follows from it; do not size the headroom by hand "
			"first",
			NULL}},
	{"config_mixed", 12,
		{"bring the settings that differ to those of the tier, then look again: no tuning "
		 "on top of mixed settings",
			NULL, NULL}},
	{"cnp_starved", 13, {"strict priority for the CNP queue; no change of Kmin", NULL, NULL}},
};

static const struct cure *cure_of(const char *cause)
{
	for (size_t i = 0; cause && i < rw_countof(cures); i++)
		if (str_eq(cures[i].cause, cause))
			return &cures[i];
	return NULL;
}

struct faults {
	const struct tune_in *in;
	struct tune_fault *v;
	size_t n, cap;
};

static struct tune_fault *add(struct faults *f, const char *cause)
{
	const struct cure *c = cure_of(cause);
	if (f->n == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 8;
		struct tune_fault *wider = arena_array(f->in->arena, struct tune_fault, f->cap);
		if (f->n)
			memcpy(wider, f->v, f->n * sizeof(*wider));
		f->v = wider;
	}
	struct tune_fault *r = &f->v[f->n++];
	*r = (struct tune_fault){.row = c->row,
		.cause = c->cause,
		.priority = PRIO_NONE,
		.proof = {.priority = PRIO_NONE}};
	for (size_t i = 0; i < rw_countof(c->steps) && c->steps[i]; i++)
		r->steps[r->n_steps++] = c->steps[i];
	return r;
}

/* ---- from incidents ------------------------------------------------------ */

/*
 * Row 7 holds while the host's destination is marked. Where the very switch that pauses the host
 * marks next to nothing, and by its settings cannot mark before PFC fires, row 3 explains what
 * singles the host out, and the incident proves nothing.
 */
static bool explained_by_late(const struct tune_case *c, const struct tune_incident *t)
{
	const uint32_t late = T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE;
	for (size_t i = 0; str_eq(t->cause, "dcqcn_off") && i < c->n_places; i++)
		if (str_eq(c->places[i].device->device->name, t->device) &&
			(t->priority == PRIO_NONE || t->priority == c->places[i].priority) &&
			c->places[i].is && c->places[i].is->row == 3 &&
			(c->places[i].signs.yes & late) == late)
			return true;
	return false;
}

static void from_incidents(struct faults *f, const struct tune_case *c)
{
	for (size_t i = 0; i < f->in->n_incidents; i++) {
		const struct tune_incident *t = &f->in->incidents[i];
		if (t->closed_ns || t->severity < SEV_WARNING || !cure_of(t->cause) ||
			explained_by_late(c, t))
			continue;
		struct tune_fault *r = add(f, t->cause);
		r->id = t->id;
		r->device = t->device;
		r->port = t->port;
		r->host = t->host;
		r->priority = t->priority;
		r->confidence = t->confidence_ratio;
		r->everywhere = !t->device && !t->host;
		r->summary = arena_printf(f->in->arena,
			"%s%s%s%s%s: incident %s (%s) is open, and no threshold mends it",
			t->host             ? t->host
				: t->device ? t->device
					    : "the fabric",
			!t->host && t->port ? ":" : "", !t->host && t->port ? t->port : "",
			t->group ? " " : "", t->group ? t->group : "", t->id, t->cause);
	}
}

/* The same was told by an incident: of the same row, at the same place (or at no place). */
static bool told(const struct faults *f, const char *cause, const char *device, const char *port,
	const char *host)
{
	const struct cure *c = cure_of(cause);
	for (size_t i = 0; i < f->n; i++) {
		const struct tune_fault *t = &f->v[i];
		if (t->row != c->row)
			continue;
		if (t->everywhere || (host && str_eq(t->host, host)) ||
			(device && str_eq(t->device, device) &&
				(!port || !t->port || str_eq(t->port, port))))
			return true;
	}
	return false;
}

/* @l or @port tells where. NULL: an incident, or a look before, has it already. */
static struct tune_fault *see(struct faults *f, const char *cause, const struct fabric_port *port,
	int priority, double confidence)
{
	/* one link, one story: its other end may have told it */
	if (told(f, cause, port->device->name, port->name, port->host) ||
		(port->peer && told(f, cause, port->peer->device->name, port->peer->name, NULL)))
		return NULL;
	struct tune_fault *r = add(f, cause);
	r->device = port->device->name;
	r->port = port->name;
	r->host = port->host;
	r->priority = priority;
	r->confidence = confidence;
	return r;
}

static void prove(struct faults *f, struct tune_fault *r, const char *metric, double value,
	const char *unit, enum quality q)
{
	const struct tune_evidence *e = f->in->evidence;
	r->proof = (struct evidence){.metric = metric,
		.device = r->device,
		.port = r->port,
		.priority = r->priority,
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.value = value,
		.unit = unit,
		.quality = q};
}

/* ---- hosts --------------------------------------------------------------- */

static void look_at_receiver(struct faults *f, const struct tune_lane *l)
{
	if (!tune_paused_by_host(l))
		return;
	const bool storm = l->rx_pause_busy >= STORM && l->pause_measured;
	struct tune_fault *r = see(f, storm ? "pfc_storm" : "slow_receiver", l->port, l->priority,
		l->pause_measured ? 0.8 : 0.5);
	if (!r)
		return;
	r->summary = arena_printf(f->in->arena,
		"%s paused us %s%s of the time at %s:%s: it does not take what it is sent, and no "
		"threshold changes that",
		l->port->host, l->pause_measured ? "" : "at most ",
		tune_percent(f->in->arena, l->rx_pause_busy), r->device, r->port);
	prove(f, r, "pfc.rx_pause_ratio", l->rx_pause_busy, "ratio",
		l->pause_measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}
static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? (v[n / 2] + v[(n - 1) / 2]) / 2 : NAN;
}

/*
 * Row 7: one or two hosts are paused far more than all others of the fabric, at a switch that marks
 * much and has its thresholds in order: they do not slow down. Settings that are late, and loss,
 * single hosts out as well.
 */
static void look_for_one_host(struct faults *f, const struct tune_place *v, size_t n_places)
{
	const uint32_t marks = T_MANY_MARKS, other = T_LATE | T_LOST | T_FROM_HOST;
	struct arena *a = f->in->arena;
	size_t n = 0, cap = 1, out = 0, n_marking = 0;
	for (size_t i = 0; i < n_places; i++) {
		cap += v[i].device->n_lanes;
		n_marking += (v[i].signs.yes & marks) != 0;
	}
	double *level = arena_array(a, double, cap), *apart = arena_array(a, double, cap);
	for (size_t i = 0; i < n_places; i++)
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(&v[i], l));)
			if (l->port->host && !isnan(l->tx_pause_busy))
				level[n++] = l->tx_pause_busy;
	if (n < SINGLED_MAX + OTHERS_MIN || !n_marking)
		return;
	const double mid = median(level, n); /* sorts */
	while (out < SINGLED_MAX && !(level[n - 1 - out] >= SINGLED * level[n - 2 - out]))
		out++;
	const double least = level[n - 1 - out], others = level[n - 2 - out];
	for (size_t i = 0; i < n; i++)
		apart[i] = fabs(level[i] - mid);
	const double spread = 1.4826 * median(apart, n);
	const struct tune_lane *worst = NULL;
	for (size_t i = 0; i < n_places; i++)
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(&v[i], l));)
			if (l->port->host && tune_recent(l, l->recent_tx) >= TUNE_NEEDED &&
				l->tx_pause_busy >= least &&
				l->tx_pause_busy - mid > Z_OUTLIER * spread &&
				!(v[i].signs.yes & other) &&
				(!worst || l->tx_pause_busy > worst->tx_pause_busy))
				worst = l;
	if (!worst || out >= SINGLED_MAX || !worst->pause_measured)
		return;
	struct tune_fault *r = see(f, "dcqcn_off", worst->port, worst->priority, 0.6);
	if (!r)
		return;
	r->summary = arena_printf(a,
		"we paused %s %s of busy time at %s:%s and the next host %s, although queues mark: "
		"it does not slow down",
		worst->port->host, tune_percent(a, worst->tx_pause_busy), r->device, r->port,
		tune_percent(a, others));
	prove(f, r, "pfc.tx_pause_ratio", worst->tx_pause_busy, "ratio", QUALITY_EXACT);
}

/* ---- links --------------------------------------------------------------- */

/* Errors that most ports of the switch count alike are how the platform counts. */
static bool like_all(const struct tune_device *d, double errors)
{
	size_t n = 0, like = 0;
	for (size_t i = 0; i < d->n_ports; i++)
		if (!isnan(d->ports[i].errors)) {
			n++;
			like += d->ports[i].errors >= errors / 10;
		}
	return n >= 3 && 2 * like > n;
}

static void look_at_port(struct faults *f, const struct tune_device *d, const struct tune_port *p)
{
	struct tune_fault *r;
	if (p->errors >= ERRORS_MIN && p->error_windows >= TUNE_NEEDED && !like_all(d, p->errors) &&
		(r = see(f, "link_errors", p->port, PRIO_NONE, 0.8))) {
		r->summary = arena_printf(f->in->arena,
			"%s:%s received %.0f damaged frames: a cable or an optic, no matter of "
			"buffers",
			r->device, r->port, p->errors);
		prove(f, r, "port.fcs_errors", p->errors, "frames", QUALITY_EXACT);
	}
	if (p->storms > 0 && (r = see(f, "pfc_watchdog", p->port, PRIO_NONE, 0.8))) {
		r->summary =
			arena_printf(f->in->arena, "the PFC watchdog of %s fired %.0f times at %s",
				r->device, p->storms, r->port);
		prove(f, r, "pfcwd.storms", p->storms, "events", QUALITY_EXACT);
	}
	if (p->port->peer && p->down_windows && 2 * p->down_windows >= d->windows &&
		(r = see(f, "path_asymmetry", p->port, PRIO_NONE, 0.8))) {
		r->summary = arena_printf(f->in->arena,
			"%s:%s to %s is down: the other members carry its share", r->device,
			r->port, p->port->peer->device->name);
		prove(f, r, "port.oper_up", 0, "-", QUALITY_EXACT);
	}
	const struct fabric_port *far = p->port->peer;
	const struct tune_port *there = far && p->port->index < far->index
		? tune_port_at(&f->in->evidence->devices[far->device->index], far)
		: NULL;
	if (there && fabs(there->mtu_bytes - p->mtu_bytes) > MTU_SLACK &&
		(r = see(f, "mtu_mismatch", p->port, PRIO_NONE, 0.9))) {
		r->summary =
			arena_printf(f->in->arena, "MTU %.0f at %s:%s, %.0f at %s:%s", p->mtu_bytes,
				r->device, r->port, there->mtu_bytes, far->device->name, far->name);
		prove(f, r, "port.mtu_bytes", p->mtu_bytes, "bytes", QUALITY_EXACT);
	}
}

/* Row 9 without packets: one member of a group carries far more than the others, and queues of it
 * mark or its switch pauses. */
static void look_at_groups(struct faults *f, const struct tune_place *p)
{
	const struct fabric_device *d = p->device->device;
	for (size_t g = 0; p->signs.yes & T_PAUSES && g < d->n_groups; g++) {
		double sum = 0, most = 0;
		const struct fabric_port *hot = NULL;
		size_t n = 0;
		for (size_t i = 0; i < d->groups[g].n_members; i++) {
			const struct tune_port *m =
				tune_port_at(p->device, d->groups[g].members[i]);
			if (!m || isnan(m->out_octets))
				continue;
			n++;
			sum += m->out_octets;
			if (m->out_octets > most) {
				most = m->out_octets;
				hot = m->port;
			}
		}
		if (n < 2 || !(most * (double)n >= (1 + SKEW) * sum) || !p->hot ||
			p->hot->port != hot)
			continue;
		struct tune_fault *r = see(f, "ecmp_imbalance", hot, p->priority, 0.5);
		if (!r)
			continue;
		r->summary = arena_printf(f->in->arena,
			"%s:%s carries %.0f %% more than the mean of group %s, and the pressure is "
			"there",
			r->device, r->port, 100 * (most * (double)n / sum - 1), d->groups[g].id);
		prove(f, r, "ecmp.imbalance_ratio", most * (double)n / sum - 1, "ratio",
			QUALITY_ESTIMATED);
	}
}

/* ---- settings ------------------------------------------------------------ */

static const struct {
	const char *metric, *word;
	size_t offset;
} alike[] = {
	{"cfg.pfc_enabled", "PFC", offsetof(struct tune_lane, pfc_enabled)},
	{"cfg.ecn_enabled", "ECN", offsetof(struct tune_lane, ecn_enabled)},
	{"cfg.ecn_kmin_bytes", "Kmin", offsetof(struct tune_lane, kmin)},
	{"cfg.pg_alpha_exp", "alpha", offsetof(struct tune_lane, alpha)},
};
static double setting(const struct tune_lane *l, size_t i)
{
	return *(const double *)((const char *)l + alike[i].offset);
}

/* Ports that have the same part to play: role of the switch and what they lead to. */
static unsigned part_of(const struct fabric_port *p)
{
	return (unsigned)p->device->role * 3 +
		(p->host                                                             ? 0
				: p->peer && p->peer->device->role > p->device->role ? 1
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

static void count(struct census *c, unsigned part, double speed, size_t what, double value)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].part == part && c->v[i].what == what && c->v[i].speed == speed &&
			c->v[i].value == value) {
			c->v[i].n++;
			return;
		}
	if (c->n < TALLIES)
		c->v[c->n++] = (struct tally){
			.part = part, .what = what, .n = 1, .speed = speed, .value = value};
}

static double speed_or_0(const struct tune_device *d, const struct fabric_port *p)
{
	const double speed = tune_speed(d, p);
	return isnan(speed) ? 0 : speed;
}

static struct census *take_census(struct arena *a, const struct tune_place *v, size_t n)
{
	struct census *c = arena_new_of(a, struct census);
	for (size_t i = 0; i < n; i++)
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(&v[i], l));)
			for (size_t what = 0; what < rw_countof(alike); what++)
				if (!isnan(setting(l, what)))
					count(c, part_of(l->port), speed_or_0(v[i].device, l->port),
						what, setting(l, what));
	return c;
}

/* What more than half of three or more ports of the same part and speed have. */
static bool majority(const struct census *c, unsigned part, double speed, size_t what, double *ret)
{
	size_t all = 0, most = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].part != part || c->v[i].what != what || c->v[i].speed != speed)
			continue;
		all += c->v[i].n;
		if (c->v[i].n > most) {
			most = c->v[i].n;
			*ret = c->v[i].value;
		}
	}
	return all >= 3 && 2 * most > all;
}

static bool ours(const struct tune_in *in, const char *device)
{
	for (size_t i = 0; i < in->n_past; i++)
		if (str_eq(in->past[i].device, device))
			return true;
	return false;
}

static void look_at_settings(struct faults *f, const struct census *c, const struct tune_place *p)
{
	const char *const device = p->device->device->name;
	for (size_t what = 0; what < rw_countof(alike); what++) {
		const struct tune_lane *odd = NULL;
		double usual = NAN;
		size_t n_odd = 0;
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(p, l));) {
			double like = NAN;
			if (isnan(setting(l, what)) ||
				!majority(c, part_of(l->port), speed_or_0(p->device, l->port), what,
					&like) ||
				like == setting(l, what))
				continue;
			n_odd++;
			odd = odd ? odd : l;
			usual = like;
		}
		if (!odd || ours(f->in, device) ||
			told(f, "config_mixed", device, odd->port->name, NULL))
			continue;
		struct tune_fault *r = add(f, "config_mixed");
		r->device = device;
		r->port = n_odd == 1 ? odd->port->name : NULL;
		r->priority = p->priority;
		r->confidence = odd->declared ? 0.6 : 0.9;
		r->summary = arena_printf(f->in->arena,
			"%s%s%s: %s is %.10g, most ports of its part in the fabric have %.10g "
			"(priority %d): align it first",
			device, r->port ? ":" : "", r->port ? r->port : "", alike[what].word,
			setting(odd, what), usual, p->priority);
		prove(f, r, alike[what].metric, setting(odd, what), "-",
			odd->declared ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
}

/* Row 1's own cause, where the switch tells it: the buffer profile was made for another cable than
 * the inventory has. */
static void look_at_cable(struct faults *f, const struct tune_place *p)
{
	const struct tune_lane *l = p->short_of;
	const struct tune_port *port =
		l && p->signs.yes & (T_LOST | T_FULL) ? tune_port_at(p->device, l->port) : NULL;
	const double truth = l ? (double)l->port->cable_mm / 1e3 : 0;
	if (!port || !(port->cable_m > 0) || truth <= 0 ||
		fabs(port->cable_m - truth) <= fmax(CABLE_SLACK_M, CABLE_SLACK * truth))
		return;
	struct tune_fault *r = add(f, "cable_length");
	r->cause = "headroom_small";
	r->device = p->device->device->name;
	r->port = l->port->name;
	r->host = l->port->host;
	r->priority = p->priority;
	r->confidence = 0.9;
	r->summary = arena_printf(f->in->arena,
		"%s:%s: the switch is configured for a cable of %.4g m, the inventory says %.4g m: "
		"its headroom is that of the wrong length",
		r->device, r->port, port->cable_m, truth);
	prove(f, r, "cfg.cable_m", port->cable_m, "m", QUALITY_EXACT);
}

static void look_at_marking(struct faults *f, const struct tune_place *p)
{
	const enum congestion_policy cc = f->in->fabric->congestion;
	const struct tune_lane *off = NULL;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(p, l));)
		if (!off && (l->ecn_enabled == 0 || l->kmin >= ECN_NEVER || l->pmax == 0))
			off = l;
	if (!off || !(p->signs.yes & T_HOSTS_PAUSED) || !(p->signs.yes & T_PAUSES) ||
		(cc != CC_DCQCN && cc != CC_ECN_ONLY))
		return;
	struct tune_fault *r = see(f, "ecn_off", off->port, p->priority, 0.85);
	if (!r)
		return;
	r->port = NULL;
	r->summary = arena_printf(f->in->arena,
		"%s does not mark on priority %d (ECN is off by its settings), and hosts are "
		"paused",
		r->device, p->priority);
	prove(f, r, "cfg.ecn_enabled", off->ecn_enabled, "-", QUALITY_EXACT);
}

/* ---- all of it ----------------------------------------------------------- */

static void look_at_places(struct faults *f, const struct tune_place *v, size_t n)
{
	const struct census *c = take_census(f->in->arena, v, n);
	look_for_one_host(f, v, n);
	for (size_t i = 0; i < n; i++) {
		for (const struct tune_lane *l = NULL; (l = tune_next_lane(&v[i], l));)
			look_at_receiver(f, l);
		look_at_groups(f, &v[i]);
		look_at_settings(f, c, &v[i]);
		look_at_marking(f, &v[i]);
		look_at_cable(f, &v[i]);
	}
}

void tune_diagnose(const struct tune_in *in, struct tune_case *ret)
{
	const struct tune_evidence *e = in->evidence;
	struct faults f = {.in = in};
	*ret = (struct tune_case){.in = in,
		.places = arena_array(
			in->arena, struct tune_place, e->n_devices * OBSERVED_PRIORITIES + 1)};
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
		if (in->fabric->lossless_mask >> priority & 1) {
			tune_signs_of(in, priority, ret->places + ret->n_places, e->n_devices);
			ret->n_places += e->n_devices;
		}
	from_incidents(&f, ret);
	for (size_t i = 0; i < ret->n_places; i += e->n_devices)
		look_at_places(&f, ret->places + i, e->n_devices);
	for (size_t i = 0; i < e->n_devices; i++)
		for (size_t k = 0; k < e->devices[i].n_ports; k++)
			look_at_port(&f, &e->devices[i], &e->devices[i].ports[k]);
	ret->faults = f.v;
	ret->n_faults = f.n;
}

static bool in_tree(
	const struct tune_case *c, const struct fabric_device *d, const struct tune_place *p)
{
	for (size_t i = 0; i < c->n_places; i++)
		if (c->places[i].priority == p->priority && c->places[i].tree == p->tree &&
			c->places[i].device->device == d)
			return true;
	return false;
}

bool tune_fault_touches(
	const struct tune_case *c, const struct tune_fault *t, const struct tune_place *p)
{
	const struct fabric *f = c->in->fabric;
	/* a sender that does not slow down presses on its receivers' queues, wherever these are */
	if (t->row == 7 && (t->priority == PRIO_NONE || t->priority == p->priority))
		return true;
	if (t->priority != PRIO_NONE && t->priority != p->priority &&
		f->lossless_mask >> t->priority & 1)
		return false;
	bool found = false;
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		bool here = str_eq(d->name, t->device);
		for (size_t k = 0; !t->device && t->host && !here && k < d->n_ports; k++)
			here = str_eq(d->ports[k]->host, t->host);
		/* an error at one end of a link is one at its other end */
		const struct fabric_port *port =
			here && t->device && t->port ? fabric_port(d, t->port) : NULL;
		found = found || here;
		if (here &&
			(in_tree(c, d, p) ||
				(port && port->peer && in_tree(c, port->peer->device, p))))
			return true;
	}
	return t->everywhere || !found;
}

size_t tune_cure_steps(const char *cause, const char *const **ret)
{
	const struct cure *c = cure_of(cause);
	size_t n = 0;
	while (c && n < rw_countof(c->steps) && c->steps[n])
		n++;
	*ret = c ? c->steps : NULL;
	return n;
}
