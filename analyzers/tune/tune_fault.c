/*
 * tune_fault - what has to be mended before thresholds are touched: the don't-tune rows of the
 * decision table (6-10, 12, 13), from open incidents, and from the evidence itself where the
 * stretch was too short for an incident or its detector had too few metrics.
 *
 * Source: docs/tuning.md, rows 6 to 10, 12 and 13, safety rules 7 and 9.
 */

#include "analyzers/measure/formulas.h"
#include "analyzers/measure/mean.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_signs.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

#define STORM 0.9 /* share of time: above it slow_receiver is pfc_storm */
#define ERRORS_MIN 10.0
/* max/mean - 1 of the members of a group, where no chance baseline is known: far above what a
 * random hash does to a fabric that works. */
#define SKEW 0.5
#define MTU_SLACK 22.0 /* Ethernet header, tag and FCS are counted in, or are not */
#define CABLE_SLACK 0.2 /* lengths are rounded to what is sold */
#define CABLE_SLACK_M 2.0
#define ROOM 0.5 /* Kmin belongs at or below half of q_PFC: senders take time to react */
#define ECN_NEVER 266338050.0 /* bytes: switches write a Kmin as large as this for "off" */

struct faults {
	const struct tune_in *in;
	struct tune_fault *v;
	size_t n, cap;
};

/* Steps that speak of pause are for classes that are paused, and the others for the others. */
static unsigned fault_facts(const struct fabric *fabric, int priority)
{
	unsigned facts = ~0u;
	if (priority < 0)
		return facts;
	if (class_pause_wanted(fabric, priority))
		facts &= ~(unsigned)FACT_NO_PAUSE;
	else
		facts &= ~(unsigned)(FACT_PFC | FACT_OTHER_PRIORITY);
	return facts;
}

static struct tune_fault *fault_add(struct faults *faults, enum cause cause, int priority)
{
	const struct cause_info *info = cause_info(cause);
	arena_grow(faults->in->arena, faults->v, faults->n, faults->cap);
	struct tune_fault *fault = &faults->v[faults->n++];
	*fault = (struct tune_fault){.row = info->tune_row,
		.cause = cause,
		.priority = priority,
		.proof = {.priority = PRIO_NONE}};
	const struct cause_step *steps = cause_info(fault->cause)->steps;
	const unsigned facts = fault_facts(faults->in->fabric, fault->priority);
	fault->n_steps = 0;
	for (size_t i = 0; i < CAUSE_STEPS_MAX && steps[i].text; i++)
		if ((steps[i].needs & ~facts) == 0)
			fault->steps[fault->n_steps++] = steps[i].text;
	return fault;
}

/* ---- from incidents ------------------------------------------------------ */

/*
 * Row 7 holds while the host's destination is marked. Where the very switch that pauses the host
 * marks next to nothing, and by its settings cannot mark before PFC fires, row 3 explains why this
 * host is paused most, and the incident proves nothing.
 */
static bool explained_by_late(
	const struct tune_case *tune_case, const struct tune_incident *incident)
{
	const uint32_t late = T_HOSTS_PAUSED | T_PAUSES | T_NO_MARKS | T_LATE;
	if (incident->cause != CAUSE_DCQCN_OFF)
		return false;
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *site = &tune_case->sites[i];
		const bool here = str_eq(site->device->device->name, incident->device) &&
			(incident->priority == PRIO_NONE || incident->priority == site->priority);
		const bool is_late =
			site->is && site->is->row == 3 && (site->signs.yes & late) == late;
		if (here && is_late)
			return true;
	}
	return false;
}

/* "leaf1:Ethernet0 group-1" */
static const char *incident_where(struct arena *a, const struct tune_incident *incident)
{
	const char *where = str_or(incident->host, str_or(incident->device, "the fabric"));
	if (!incident->host && incident->port)
		where = arena_printf(a, "%s:%s", where, incident->port);
	if (incident->group)
		where = arena_printf(a, "%s %s", where, incident->group);
	return where;
}

/* What link state and error counters tell is exact, however little it costs. */
static bool is_link_fact(enum cause cause)
{
	return cause == CAUSE_PATH_ASYMMETRY || cause == CAUSE_REMOTE_CAPACITY ||
		cause == CAUSE_LINK_SLOW || cause == CAUSE_LINK_ERRORS || cause == CAUSE_LINK_FLAP;
}

static void from_incidents(struct faults *faults, const struct tune_case *tune_case)
{
	for (size_t i = 0; i < faults->in->n_incidents; i++) {
		const struct tune_incident *incident = &faults->in->incidents[i];
		const bool counts =
			incident->severity >= SEV_WARNING || is_link_fact(incident->cause);
		if (incident->closed_ns || !counts)
			continue;
		if (!cause_info(incident->cause)->tune_row ||
			explained_by_late(tune_case, incident))
			continue;
		struct tune_fault *fault = fault_add(faults, incident->cause, incident->priority);
		fault->id = incident->id;
		fault->device = incident->device;
		fault->port = incident->port;
		fault->host = incident->host;
		fault->confidence = incident->confidence_ratio;
		fault->everywhere = !incident->device && !incident->host;
		fault->summary = arena_printf(faults->in->arena,
			"%s: blocked by incident %s (%s): not a threshold problem",
			incident_where(faults->in->arena, incident), incident->id,
			cause_name(incident->cause));
	}
}

/* Is a fault of the same row known at this place, or at no place in particular? */
static bool fault_known(const struct faults *faults, enum cause cause, const char *device,
	const char *port, const char *host)
{
	const int row = cause_info(cause)->tune_row;
	for (size_t i = 0; i < faults->n; i++) {
		const struct tune_fault *known = &faults->v[i];
		if (known->row != row)
			continue;
		const bool same_host = host && str_eq(known->host, host);
		const bool same_device = device && str_eq(known->device, device);
		const bool same_port = !port || !known->port || str_eq(known->port, port);
		if (known->everywhere || same_host || (same_device && same_port))
			return true;
	}
	return false;
}

/* How near an incident is to a port of a switch, and to the host behind it: enum cause_near. */
static unsigned reach_of(const struct tune_incident *incident, const struct fabric_port *port)
{
	unsigned reach = NEAR_FABRIC;
	if (incident->host && str_eq(incident->host, port->host))
		reach |= NEAR_HOST;
	if (!incident->device || !str_eq(incident->device, port->device->name))
		return reach;
	reach |= NEAR_DEVICE;
	if (incident->group)
		reach |= NEAR_GROUP;
	if (incident->port && str_eq(incident->port, port->name))
		reach |= NEAR_LINK;
	return reach;
}

/* Does an open incident explain what a fault of @cause at @port would show? Then nobody else is
 * accused of it. */
static bool is_explained(
	const struct faults *faults, enum cause cause, const struct fabric_port *port)
{
	for (size_t i = 0; i < faults->in->n_incidents; i++) {
		const struct tune_incident *incident = &faults->in->incidents[i];
		if (incident->closed_ns || incident->severity < SEV_WARNING)
			continue;
		if (cause_explains(incident->cause, cause) & reach_of(incident, port))
			return true;
	}
	return false;
}

/* A new fault at @port; NULL when it is known already, also from the other end of the link. */
static struct tune_fault *fault_at(struct faults *faults, enum cause cause,
	const struct fabric_port *port, int priority, double confidence)
{
	const struct fabric_port *far = port->peer;
	if (fault_known(faults, cause, port->device->name, port->name, port->host))
		return NULL;
	if (far && fault_known(faults, cause, far->device->name, far->name, NULL))
		return NULL;
	if (is_explained(faults, cause, port))
		return NULL;
	struct tune_fault *fault = fault_add(faults, cause, priority);
	fault->device = port->device->name;
	fault->port = port->name;
	fault->host = port->host;
	fault->confidence = confidence;
	return fault;
}

static void fault_prove(struct faults *faults, struct tune_fault *fault, const char *metric,
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
	enum cause cause = CAUSE_SLOW_RECEIVER;
	enum quality quality = QUALITY_ESTIMATED;
	double confidence = 0.5;
	if (!tune_paused_by_host(prio))
		return;
	if (prio->pause_measured) {
		quality = QUALITY_EXACT;
		confidence = 0.8;
		if (prio->rx_pause_busy >= STORM)
			cause = CAUSE_PFC_STORM;
	}
	struct tune_fault *fault = fault_at(faults, cause, prio->port, prio->priority, confidence);
	if (!fault)
		return;
	fault->summary = arena_printf(faults->in->arena,
		"%s paused us %s%s of the time at %s:%s: the host receives too slowly, not a "
		"threshold problem",
		prio->port->host, str_if(!prio->pause_measured, "at most "),
		tune_percent(faults->in->arena, prio->rx_pause_busy), fault->device, fault->port);
	fault_prove(faults, fault, "pfc.rx_pause_ratio", prio->rx_pause_busy, "ratio", quality);
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

static void look_for_errors(
	struct faults *faults, const struct tune_device *device, const struct tune_port *port)
{
	struct tune_fault *fault = NULL;
	if (port->errors >= ERRORS_MIN && port->error_windows >= TUNE_NEEDED &&
		!like_all(device, port->errors))
		fault = fault_at(faults, CAUSE_LINK_ERRORS, port->port, PRIO_NONE, 0.8);
	if (!fault)
		return;
	fault->summary = arena_printf(faults->in->arena,
		"%s:%s received %s damaged frames: a cable or optic, not a buffer problem",
		fault->device, fault->port, number_count_of(port->errors).s);
	fault_prove(faults, fault, "port.fcs_errors", port->errors, "frames", QUALITY_EXACT);
}

static void look_for_storms(struct faults *faults, const struct tune_port *port)
{
	struct tune_fault *fault = NULL;
	if (port->storms > 0)
		fault = fault_at(faults, CAUSE_PFC_WATCHDOG, port->port, PRIO_NONE, 0.8);
	if (!fault)
		return;
	fault->summary =
		arena_printf(faults->in->arena, "the PFC watchdog of %s fired %.0f times at %s",
			fault->device, port->storms, fault->port);
	fault_prove(faults, fault, "pfcwd.storms", port->storms, "events", QUALITY_EXACT);
}

static void look_for_down(
	struct faults *faults, const struct tune_device *device, const struct tune_port *port)
{
	const bool down =
		port->down_now || (port->down_windows && 2 * port->down_windows >= device->windows);
	struct tune_fault *fault = NULL;
	if (port->port->peer && down)
		fault = fault_at(faults, CAUSE_PATH_ASYMMETRY, port->port, PRIO_NONE, 0.8);
	if (!fault)
		return;
	fault->summary = arena_printf(faults->in->arena,
		"%s:%s to %s is down: the other members carry its share", fault->device,
		fault->port, port->port->peer->device->name);
	fault_prove(faults, fault, "port.oper_up", 0, "-", QUALITY_EXACT);
}

/* The two ends of a link, judged once. */
static void look_for_mtu(struct faults *faults, const struct tune_port *port)
{
	const struct fabric_port *far = port->port->peer;
	const struct tune_port *there = NULL;
	struct tune_fault *fault = NULL;
	if (far && port->port->index < far->index)
		there = tune_port_at(&faults->in->evidence->devices[far->device->index], far);
	if (there && fabs(there->mtu_bytes - port->mtu_bytes) > MTU_SLACK)
		fault = fault_at(faults, CAUSE_MTU_MISMATCH, port->port, PRIO_NONE, 0.9);
	if (!fault)
		return;
	fault->summary =
		arena_printf(faults->in->arena, "MTU %.0f at %s:%s, %.0f at %s:%s", port->mtu_bytes,
			fault->device, fault->port, there->mtu_bytes, far->device->name, far->name);
	fault_prove(faults, fault, "port.mtu_bytes", port->mtu_bytes, "bytes", QUALITY_EXACT);
}

static void look_at_port(
	struct faults *faults, const struct tune_device *device, const struct tune_port *port)
{
	look_for_errors(faults, device, port);
	look_for_storms(faults, port);
	look_for_down(faults, device, port);
	look_for_mtu(faults, port);
}

struct group_load {
	const struct fabric_port *hot; /* the member that carries most */
	size_t n;
	double imbalance; /* its octets over the mean, minus 1; NAN: less than two members known */
};

static struct group_load load_of_group(
	const struct tune_device *device, const struct fabric_group *group)
{
	struct group_load load = {.imbalance = NAN};
	double sum = 0, most = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct tune_port *member = tune_port_at(device, group->members[i]);
		if (!member || isnan(member->out_octets))
			continue;
		load.n++;
		sum += member->out_octets;
		if (member->out_octets > most) {
			most = member->out_octets;
			load.hot = member->port;
		}
	}
	if (load.n >= 2)
		load.imbalance = mean_imbalance(most, sum / (double)load.n);
	return load;
}

/* Row 9 without packets: one member of a group carries far more than the others, and the pressure
 * of the switch is at its queue. */
static void look_at_groups(struct faults *faults, const struct tune_site *site)
{
	const struct fabric_device *device = site->device->device;
	if (!(site->signs.yes & T_PAUSES) || !site->hot)
		return;
	for (size_t g = 0; g < device->n_groups; g++) {
		const struct group_load load = load_of_group(site->device, &device->groups[g]);
		struct tune_fault *fault = NULL;
		if (load.imbalance >= SKEW && site->hot->port == load.hot)
			fault = fault_at(
				faults, CAUSE_ECMP_IMBALANCE, load.hot, site->priority, 0.5);
		if (!fault)
			continue;
		fault->summary = arena_printf(faults->in->arena,
			"%s:%s carries %.0f %% more than the mean of group %s, and its queue is "
			"the "
			"congested one",
			fault->device, fault->port, 100 * load.imbalance, device->groups[g].id);
		fault_prove(faults, fault, "ecmp.imbalance_ratio", load.imbalance, "ratio",
			QUALITY_ESTIMATED);
	}
}

/* ---- settings ------------------------------------------------------------ */

static const struct {
	const char *metric, *word;
	size_t offset;
	unsigned knob; /* of a sheet, 1 << enum tune_knob; 0: no sheet moves it */
} alike[] = {
	{"cfg.pfc_enabled", "PFC", offsetof(struct tune_prio, pfc_enabled), 0},
	{"cfg.ecn_enabled", "ECN", offsetof(struct tune_prio, ecn_enabled), 0},
	{"cfg.ecn_kmin_bytes", "Kmin", offsetof(struct tune_prio, kmin), 1u << KNOB_KMIN},
	{"cfg.pg_alpha_exp", "alpha", offsetof(struct tune_prio, alpha), 1u << KNOB_ALPHA},
};
static double tune_fault_setting(const struct tune_prio *prio, size_t i)
{
	return *(const double *)((const char *)prio + alike[i].offset);
}

/* Ports with the same role: that of the switch, and where they lead (host, up, or down and across).
 */
static unsigned role_of_port(const struct fabric_port *port)
{
	unsigned leads = 2;
	if (port->host)
		leads = 0;
	else if (port->peer && port->peer->device->role > port->device->role)
		leads = 1;
	return (unsigned)port->device->role * 3 + leads;
}

enum { TALLIES = 256 };
struct tally { /* how many ports of one role and speed have one value of one setting */
	unsigned role;
	size_t what, n;
	double speed, value;
};
struct census {
	struct tally v[TALLIES];
	size_t n;
};

static void tune_fault_count(
	struct census *census, unsigned role, double speed, size_t what, double value)
{
	for (size_t i = 0; i < census->n; i++)
		if (census->v[i].role == role && census->v[i].what == what &&
			census->v[i].speed == speed && census->v[i].value == value) {
			census->v[i].n++;
			return;
		}
	if (census->n < TALLIES)
		census->v[census->n++] = (struct tally){
			.role = role, .what = what, .n = 1, .speed = speed, .value = value};
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
					tune_fault_count(c, role_of_port(l->port),
						speed_or_0(sites[i].device, l->port), what,
						tune_fault_setting(l, what));
	return c;
}

/* The value that more than half of at least three ports of the same role and speed have. */
static bool tune_fault_majority(
	const struct census *census, unsigned role, double speed, size_t what, double *ret)
{
	size_t all = 0, most = 0;
	for (size_t i = 0; i < census->n; i++) {
		if (census->v[i].role != role || census->v[i].what != what ||
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

/* A sheet that was applied changes its canary first, the rest of the tier after it, and may leave
 * out those that only pass pause on. */
static bool tune_fault_ours(
	const struct tune_in *in, const struct fabric_device *device, size_t what)
{
	for (size_t i = 0; i < in->n_past; i++) {
		const struct tune_past *past = &in->past[i];
		const struct fabric_device *canary = fabric_device(in->fabric, past->device);
		if (canary == device ||
			(canary && canary->role == device->role && past->knobs & alike[what].knob))
			return true;
		for (size_t k = 0; k < past->n_rest; k++)
			if (str_eq(past->rest[k], device->name))
				return true;
	}
	return false;
}

enum { WHAT_KMIN = 2 }; /* its row of alike[] */

/* Is @kmin where it belongs: at least one bandwidth-delay product, at most half of the depth at
 * which PFC fires? False also where that is not known. */
static bool kmin_in_order(const struct tune_case *tune_case, const struct tune_site *site,
	const struct tune_prio *prio, double kmin)
{
	const double speed = tune_speed(site->device, prio->port);
	if (!(speed > 0) || isnan(site->q_pfc_model))
		return false;
	return kmin >= bdp_bytes((uint64_t)speed, (double)tune_case->in->options.rtt_ns) &&
		kmin <= ROOM * site->q_pfc_model;
}

struct odd_setting {
	size_t what; /* of alike[] */
	const struct tune_prio *prio; /* the first that differs; NULL: none */
	double usual;
	size_t n;
	/* Kmin: this switch is in order and most others are not: they have yet to follow */
	bool ahead;
};

static struct odd_setting find_odd(const struct tune_case *tune_case, const struct census *census,
	const struct tune_site *site, size_t what)
{
	struct odd_setting odd = {.what = what, .usual = NAN};
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		const double here = tune_fault_setting(l, what);
		double like = NAN;
		if (isnan(here) ||
			!tune_fault_majority(census, role_of_port(l->port),
				speed_or_0(site->device, l->port), what, &like) ||
			like == here)
			continue;
		odd.n++;
		if (!odd.prio)
			odd.prio = l;
		odd.usual = like;
	}
	odd.ahead = odd.prio && what == WHAT_KMIN &&
		kmin_in_order(tune_case, site, odd.prio, tune_fault_setting(odd.prio, what)) &&
		!kmin_in_order(tune_case, site, odd.prio, odd.usual);
	return odd;
}

static void add_mixed(
	struct faults *faults, const struct tune_site *site, const struct odd_setting *odd)
{
	const char *const device = site->device->device->name;
	const double value = tune_fault_setting(odd->prio, odd->what);
	struct tune_fault *r = fault_add(faults, CAUSE_CONFIG_MIXED, PRIO_NONE);
	r->device = device;
	if (odd->n == 1)
		r->port = odd->prio->port->name;
	r->priority = site->priority;
	r->confidence = 0.9;
	if (odd->prio->declared)
		r->confidence = 0.6;
	const char *where = device;
	if (r->port)
		where = arena_printf(faults->in->arena, "%s:%s", device, r->port);
	r->summary = arena_printf(faults->in->arena,
		"%s: %s is %.10g, most ports of the same role have %.10g (priority %d): align it "
		"first",
		where, alike[odd->what].word, value, odd->usual, site->priority);
	if (odd->ahead)
		r->summary = arena_printf(faults->in->arena,
			"%s: Kmin %.10g is in order, the %.10g that most ports of the same role "
			"have is not (priority %d): align the others with it, not it with them",
			where, value, odd->usual, site->priority);
	fault_prove(faults, r, alike[odd->what].metric, value, "-",
		odd->prio->declared ? QUALITY_ESTIMATED : QUALITY_EXACT);
}

/* A change for those that have yet to follow is due by a rule of its own. */
static bool others_are_judged(
	const struct tune_case *tune_case, const struct tune_site *site, double kmin)
{
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *other = &tune_case->sites[i];
		if (other->priority != site->priority || !other->is || !other->hot ||
			other->device->device->role != site->device->device->role)
			continue;
		if (other->is->family != FAMILY_NONE && other->hot->kmin == kmin)
			return true;
	}
	return false;
}

static void look_at_settings(struct faults *faults, const struct tune_case *tune_case,
	const struct census *census, const struct tune_site *site)
{
	const char *const device = site->device->device->name;
	for (size_t what = 0; what < rw_countof(alike); what++) {
		const struct odd_setting odd = find_odd(tune_case, census, site, what);
		if (!odd.prio || tune_fault_ours(faults->in, site->device->device, what) ||
			fault_known(faults, CAUSE_CONFIG_MIXED, device, odd.prio->port->name, NULL))
			continue;
		if (odd.ahead && others_are_judged(tune_case, site, odd.usual))
			continue;
		add_mixed(faults, site, &odd);
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
	struct tune_fault *r = fault_add(faults, CAUSE_HEADROOM_SMALL, site->priority);
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
	fault_prove(faults, r, "cfg.cable_m", port->cable_m, "m", QUALITY_EXACT);
}

/* The least marking probability that does anything on this platform; 0: none is published. */
static double least_pmax(const struct faults *faults, const struct tune_site *site)
{
	const struct tune_platform *platform = tune_platform_of(faults->in, site->device);
	if (!platform || !platform->profile)
		return 0;
	return platform->profile->knobs[KNOB_PMAX].least / 100;
}

static void look_at_marking(struct faults *faults, const struct tune_site *site)
{
	const struct tune_prio *off = NULL;
	const double least = least_pmax(faults, site);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (!off &&
			(l->ecn_enabled == 0 || l->kmin >= ECN_NEVER || l->pmax == 0 ||
				l->pmax < least))
			off = l;
	if (!off || !(site->signs.yes & T_HOSTS_PAUSED) || !(site->signs.yes & T_PAUSES) ||
		!class_marks(faults->in->fabric, site->priority))
		return;
	struct tune_fault *r = fault_at(faults, CAUSE_ECN_OFF, off->port, site->priority, 0.85);
	if (!r)
		return;
	r->port = NULL;
	const char *why = "ECN is off by its settings";
	if (off->ecn_enabled != 0 && off->pmax > 0 && off->pmax < least)
		why = arena_printf(faults->in->arena,
			"its marking probability is %.2g %%, and below %.2g %% this platform marks "
			"nothing",
			100 * off->pmax, 100 * least);
	r->summary = arena_printf(faults->in->arena,
		"%s does not mark on priority %d (%s), and hosts are paused", r->device,
		site->priority, why);
	fault_prove(faults, r, "cfg.ecn_enabled", off->ecn_enabled, "-", QUALITY_EXACT);
}

/* ---- all of it ----------------------------------------------------------- */

static void look_at_sites(struct faults *faults, const struct tune_case *tune_case,
	const struct tune_site *sites, size_t n)
{
	const struct census *c = tune_fault_take_census(faults->in->arena, sites, n);
	for (size_t i = 0; i < n; i++) {
		for (const struct tune_prio *l = NULL; (l = tune_next_prio(&sites[i], l));)
			look_at_receiver(faults, l);
		look_at_groups(faults, &sites[i]);
		look_at_settings(faults, tune_case, c, &sites[i]);
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
		look_at_sites(&f, ret, ret->sites + i, e->n_devices);
	for (size_t i = 0; i < e->n_devices; i++)
		for (size_t k = 0; k < e->devices[i].n_ports; k++)
			look_at_port(&f, &e->devices[i], &e->devices[i].ports[k]);
	ret->faults = f.v;
	ret->n_faults = f.n;
}
