/* lint_settings - buffers, marks and paths as they are declared. */
#include "analyzers/lint/lint_settings.h"

#include "analyzers/measure/formulas.h"
#include "config/class_policy.h"

/* Hosts' capacity over the uplinks'; rounding of speeds is no finding. */
#define OVERSUBSCRIBED 1.05
/* Of what may be in flight in the worst case: with less, frames are lost in common ones. */
#define HEADROOM_HOPELESS 0.5
enum { KB = 1000, MM_PER_M = 1000 };

const char *const lint_severity_words[LINT_SEVERITIES] = {"critical", "warning", "info"};

/* ---- findings ------------------------------------------------------------ */

__attribute__((format(printf, 2, 0))) static const char *list_text(
	struct lint_list *list, const char *fmt, va_list values)
{
	char text[640];
	vsnprintf(text, sizeof(text), fmt, values);
	return arena_strdup(list->arena, text);
}

void lint_found(struct lint_list *list, const struct lint_finding *finding, const char *fmt, ...)
{
	va_list values;
	va_start(values, fmt);
	arena_grow(list->arena, list->findings, list->n, list->cap);
	struct lint_finding *to = &list->findings[list->n++];
	*to = *finding;
	to->text = list_text(list, fmt, values);
	va_end(values);
}

void lint_unjudged(struct lint_list *list, const char *fmt, ...)
{
	va_list values;
	va_start(values, fmt);
	arena_grow(list->arena, list->unjudged, list->n_unjudged, list->cap_unjudged);
	list->unjudged[list->n_unjudged++] = list_text(list, fmt, values);
	va_end(values);
}

/* ---- what is in force ---------------------------------------------------- */

static bool is_linked(const struct fabric_port *port)
{
	return port->peer || port->host || port->outsider;
}

static const struct port_seen *seen_at(
	const struct lint_settings_in *in, const struct fabric_port *port)
{
	if (!in->observed)
		return NULL;
	return observed_port(in->observed, port);
}

/* Declared at one of the ends, else as the switch says. */
static uint64_t speed_of(const struct lint_settings_in *in, const struct fabric_port *port)
{
	const struct port_seen *seen = seen_at(in, port);
	if (port->speed_bps)
		return port->speed_bps;
	if (port->peer && port->peer->speed_bps)
		return port->peer->speed_bps;
	return seen ? seen->in.read_bps : 0;
}

static uint64_t cable_of(const struct lint_settings_in *in, const struct fabric_port *port)
{
	const struct port_seen *seen = seen_at(in, port);
	if (port->cable_mm || !seen || isnan(seen->cable_m))
		return port->cable_mm;
	return (uint64_t)(seen->cable_m * MM_PER_M);
}

/* Of one priority of a port; NAN: not known. */
struct lint_values {
	double kmin, alpha, headroom, pool, headroom_pool;
};

static double bytes_or_unknown(uint64_t bytes)
{
	return bytes ? (double)bytes : NAN;
}

static void take_known(double *value, double known)
{
	if (!isnan(known))
		*value = known;
}

/* Thresholds that the hardware ignores (relative marks, credits) are none: observe.h. */
static void values_read(const struct lint_settings_in *in, const struct fabric_port *port,
	int priority, struct lint_values *values)
{
	const struct port_seen *seen = seen_at(in, port);
	const struct port_prio *prio = seen ? observed_prio(seen, priority) : NULL;
	if (seen) {
		take_known(&values->pool, seen->device->pool_bytes);
		take_known(&values->headroom_pool, seen->device->headroom_pool_bytes);
	}
	if (!prio)
		return;
	if (prio->ecn_relative == 1)
		values->kmin = NAN;
	if (prio->cbfc_enabled == 1)
		values->alpha = values->headroom = NAN;
	take_known(&values->kmin, prio->kmin);
	take_known(&values->alpha, prio->alpha);
	take_known(&values->headroom, prio->headroom);
}

static bool change_fits(
	const struct lint_change *change, const struct fabric_port *port, int priority)
{
	bool named = change->n_ports == 0;
	if (change->priority != priority || !str_eq(change->device, port->device->name))
		return false;
	for (size_t i = 0; i < change->n_ports && !named; i++)
		named = str_eq(change->ports[i], port->name);
	return named;
}

static struct lint_values values_of(
	const struct lint_settings_in *in, const struct fabric_port *port, int priority)
{
	const struct fabric_threshold *t = fabric_threshold_of(in->graph->fabric, port, priority);
	struct lint_values values = {NAN, NAN, NAN, NAN, NAN};
	if (t)
		values = (struct lint_values){.kmin = bytes_or_unknown(t->kmin_bytes),
			.alpha = t->alpha,
			.headroom = bytes_or_unknown(t->headroom_bytes),
			.pool = bytes_or_unknown(t->pool_bytes),
			.headroom_pool = bytes_or_unknown(t->headroom_pool_bytes)};
	values_read(in, port, priority, &values);
	for (size_t i = 0; i < in->n_changes; i++) {
		const struct lint_change *change = &in->changes[i];
		if (!change_fits(change, port, priority))
			continue;
		take_known(&values.kmin, change->kmin_bytes);
		take_known(&values.alpha, change->alpha);
		take_known(&values.headroom, change->headroom_bytes);
	}
	return values;
}

static bool is_paused(const struct fabric *fabric, int priority)
{
	return (fabric->lossless_mask >> priority & 1) && class_pause_wanted(fabric, priority);
}

unsigned lint_paused_priorities(const struct fabric *fabric)
{
	unsigned mask = 0;
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (is_paused(fabric, priority))
			mask |= 1u << priority;
	return mask;
}

/* ---- classes ------------------------------------------------------------- */

/* Where PFC is known to be off a buffer drops what finds no room, and pauses nobody. */
static const bool *lossless_ports(const struct lint_graph *graph, const struct observed *observed,
	int priority, struct arena *a)
{
	bool *ret = arena_array(a, bool, graph->ports + 1);
	for (size_t i = 0; i < graph->n_switches; i++) {
		const struct lint_switch *s = &graph->switches[i];
		for (size_t p = 0; p < s->n_ports; p++) {
			const struct port_seen *seen = observed_port(observed, s->ports[p].at);
			const struct port_prio *prio = observed_prio(seen, priority);
			ret[s->first_port + p] = !prio || prio->pfc_enabled != 0;
		}
	}
	return ret;
}

size_t lint_classes(const struct lint_graph *graph, const struct observed *observed,
	struct arena *a, struct lint_class *ret)
{
	const unsigned paused = lint_paused_priorities(graph->fabric);
	size_t n = 0;
	for (int priority = 0; observed && priority < FABRIC_CLASSES; priority++) {
		if (!(paused >> priority & 1))
			continue;
		const bool *lossless = lossless_ports(graph, observed, priority, a);
		bool known = false;
		for (size_t i = 0; i < n && !known; i++)
			known = memcmp(ret[i].lossless, lossless, graph->ports) == 0;
		if (!known)
			ret[n++] = (struct lint_class){lossless, priority};
	}
	if (n == 0)
		ret[n++] = (struct lint_class){NULL, -1};
	if (n == 1)
		ret[0].priority = -1;
	return n;
}

/* ---- one switch ---------------------------------------------------------- */

/* The ports of a switch that share one fault, told once. */
struct fault_count {
	const struct fabric_port *first;
	size_t ports;
	double has, needs; /* of the first */
	double missing; /* of all */
};

struct switch_sums {
	double headroom_bytes, largest_bytes; /* of all groups, of one */
	double pool_bytes, headroom_pool_bytes; /* NAN: not known */
	size_t ports, with_headroom, with_cable; /* of one priority */
	size_t queues; /* of all lossless priorities: they share the pool */
};

/* What is not known, counted, and how it is told. */
struct unknown_counts {
	size_t headroom, cable, pool, marks;
};
static const struct unknown_row {
	size_t at; /* of its count */
	const char *before, *what, *plural, *after;
} unknown_rows[] = {
	{offsetof(struct unknown_counts, headroom), "headroom of", "priority group", "s",
		": declare thresholds[].headroom"},
	{offsetof(struct unknown_counts, cable), "whether the headroom of", "priority group", "s",
		" is enough: declare 'speed' and 'cable' of the links"},
	{offsetof(struct unknown_counts, pool), "the sum of headroom of", "switch", "es",
		": declare thresholds[].headroom_pool"},
	{offsetof(struct unknown_counts, marks), "whether marks come before pause at", "queue", "s",
		": declare kmin, alpha and pool"},
};

static double headroom_needed(
	const struct lint_settings_in *settings, const struct fabric_port *port)
{
	const uint64_t lossless_mtu_bytes = settings->graph->fabric->lossless_mtu_bytes;
	/* what is in flight, without the chip's cells: less than this loses frames on any chip */
	const struct headroom_in in = {.model = HEADROOM_GENERIC,
		.speed_bps = speed_of(settings, port),
		.cable_mm = cable_of(settings, port),
		.mtu_bytes = lossless_mtu_bytes,
		.lossless_mtu_bytes = lossless_mtu_bytes,
		.cell_bytes = 1,
		.amplification = 1};
	struct headroom out;
	if (in.cable_mm == 0 || headroom_calc(&in, &out) < 0)
		return NAN;
	return (double)out.xoff_bytes;
}

static void check_headroom_port(const struct lint_settings_in *in, const struct fabric_port *port,
	double has, struct switch_sums *sums, struct fault_count *fault)
{
	const double needs = headroom_needed(in, port);
	sums->with_headroom++;
	sums->headroom_bytes += has;
	sums->largest_bytes = fmax(sums->largest_bytes, has);
	if (isnan(needs))
		return;
	sums->with_cable++;
	if (has >= needs)
		return;
	if (fault->ports++ == 0)
		*fault = (struct fault_count){port, 1, has, needs, 0};
	fault->missing += needs - has;
}

static void check_headroom(struct lint_list *list, const struct lint_settings_in *in,
	const struct fabric_device *device, int priority, struct switch_sums *sums)
{
	struct fault_count fault = {.first = NULL};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		if (!is_linked(port))
			continue;
		const struct lint_values values = values_of(in, port, priority);
		sums->ports++;
		if (!isnan(values.headroom))
			check_headroom_port(in, port, values.headroom, sums, &fault);
		take_known(&sums->pool_bytes, values.pool);
		take_known(&sums->headroom_pool_bytes, values.headroom_pool);
	}
	if (fault.ports == 0)
		return;
	enum lint_severity severity = LINT_WARNING;
	if (fault.has < fault.needs * HEADROOM_HOPELESS)
		severity = LINT_CRITICAL;
	lint_found(list,
		&(struct lint_finding){severity, "headroom", device->name, fault.first->name,
			priority, NULL,
			"raise the headroom: 'rocewatch calc headroom' computes it for a speed and "
			"a cable",
			fault.missing},
		"headroom is %.0f KB, and up to %.0f KB are in flight when pause is sent: frames "
		"can be lost (%zu port%s)",
		fault.has / KB, fault.needs / KB, fault.ports, str_if(fault.ports > 1, "s"));
}

/*
 * A pool is told without headroom: what switches share is the buffer less what is reserved (SONiC,
 * doc/qos/reclaim-reserved-buffer.md, section 4). Headroom that has a pool of its own is
 * oversubscribed there on purpose (SONiC, doc/qos/shared-headroom-pool-design), so only a pool that
 * does not hold one group is wrong. Where no such pool is known, headroom that takes more of the
 * buffer than all may share is a mistake whatever the chip has.
 */
static void check_pool(
	struct lint_list *list, const struct fabric_device *device, const struct switch_sums *sums)
{
	const double all = sums->headroom_bytes, apart = sums->headroom_pool_bytes;
	struct lint_finding finding = {LINT_WARNING, "headroom_pool", device->name, NULL, -1, NULL,
		"fewer lossless priorities or ports, shorter cables, or a larger pool"};
	if (isnan(apart) && all > sums->pool_bytes) {
		finding.by = all - sums->pool_bytes;
		lint_found(list, &finding,
			"the headroom of all lossless priorities is %.1f MB, more than the %.1f MB "
			"that the pool shares",
			all / KB / KB, sums->pool_bytes / KB / KB);
	} else if (sums->largest_bytes > apart) {
		finding.severity = LINT_CRITICAL;
		finding.by = sums->largest_bytes - apart;
		lint_found(list, &finding,
			"the headroom of one port is %.0f KB, the pool of all headroom %.0f KB",
			sums->largest_bytes / KB, apart / KB);
	} else if (all > apart) {
		finding.severity = LINT_INFO;
		finding.remedy = "none, where so many ports never pause at once";
		lint_found(list, &finding,
			"the headroom of all lossless priorities is %.1f times what its pool "
			"holds: frames are lost when more of it is needed at once",
			all / apart);
	}
}

/* ECN first, for how many queues that are busy at once, of @most. */
static size_t queues_marked_first(const struct lint_values *values, size_t most)
{
	size_t n = 0;
	while (n < most &&
		values->kmin < dt_limit_bytes(values->pool, values->alpha, (double)(n + 1)))
		n++;
	return n;
}

static void found_late_marks(struct lint_list *list, const struct fabric_port *port, int priority,
	size_t queues, size_t most)
{
	struct lint_finding finding = {LINT_WARNING, "ecn_after_pfc", port->device->name,
		port->name, priority, NULL,
		"lower Kmin, or raise alpha where headroom and pool allow it: 'rocewatch calc ecn' "
		"shows the bounds",
		(double)(most - queues)};
	if (queues == 0) {
		finding.severity = LINT_CRITICAL;
		lint_found(list, &finding,
			"pause begins before the first mark, with a single busy queue");
		return;
	}
	lint_found(list, &finding,
		"marks come before pause for up to %zu busy queues, and this switch can have %zu",
		queues, most);
}

static void check_marks(struct lint_list *list, const struct lint_settings_in *in,
	const struct fabric_device *device, int priority, const struct switch_sums *sums,
	struct unknown_counts *unknown)
{
	const size_t most = sums->queues;
	struct lint_values last = {NAN, NAN, NAN, NAN, NAN};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		if (!is_linked(port))
			continue;
		const struct lint_values values = values_of(in, port, priority);
		if (isnan(values.kmin) || isnan(values.pool) || isnan(values.alpha)) {
			unknown->marks++;
			continue;
		}
		if (values.kmin == last.kmin && values.pool == last.pool &&
			values.alpha == last.alpha)
			continue;
		last = values;
		const size_t queues = queues_marked_first(&values, most);
		if (queues < most)
			found_late_marks(list, port, priority, queues, most);
	}
}

static void check_switch(struct lint_list *list, const struct lint_settings_in *in,
	const struct fabric_device *device, struct unknown_counts *unknown)
{
	const struct fabric *fabric = in->graph->fabric;
	struct switch_sums all = {.pool_bytes = NAN, .headroom_pool_bytes = NAN};
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (is_paused(fabric, priority)) {
			all.ports = all.with_headroom = all.with_cable = 0;
			check_headroom(list, in, device, priority, &all);
			all.queues += all.ports;
			unknown->headroom += all.ports - all.with_headroom;
			unknown->cable += all.with_headroom - all.with_cable;
		}
	unknown->pool += isnan(all.headroom_pool_bytes) && all.queues > 0;
	check_pool(list, device, &all);
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (is_paused(fabric, priority) && class_marks(fabric, priority))
			check_marks(list, in, device, priority, &all, unknown);
}

/* ---- paths --------------------------------------------------------------- */

struct width {
	size_t switches; /* above, that it is linked to */
	uint64_t up_bps, largest_bps, hosts_bps;
	bool known; /* all speeds are */
};

static struct width width_of(const struct lint_settings_in *in, const struct lint_switch *s)
{
	const struct lint_graph *graph = in->graph;
	struct width w = {.known = true};
	for (size_t p = 0; p < s->n_ports; p++) {
		const struct lint_port *port = &s->ports[p];
		bool first = true;
		if (graph->switches[port->peer].tier <= s->tier)
			continue;
		for (size_t q = 0; q < p && first; q++)
			first = s->ports[q].peer != port->peer;
		const uint64_t speed_bps = speed_of(in, port->at);
		w.switches += first;
		w.up_bps += speed_bps;
		w.known &= speed_bps > 0;
		if (speed_bps > w.largest_bps)
			w.largest_bps = speed_bps;
	}
	for (size_t i = 0; i < s->device->n_ports; i++) {
		const struct fabric_port *port = s->device->ports[i];
		if (!port->host)
			continue;
		const uint64_t speed_bps = speed_of(in, port);
		w.hosts_bps += speed_bps;
		w.known &= speed_bps > 0;
	}
	return w;
}

static void check_width(struct lint_list *list, const struct lint_switch *s, const struct width *w)
{
	if (w->switches == 1)
		lint_found(list,
			&(struct lint_finding){LINT_WARNING, "one_path", s->device->name, NULL, -1,
				NULL, "link it to a second switch of the next tier"},
			"one switch above it: its failure cuts this one off");
	else if (w->switches == 2)
		lint_found(list,
			&(struct lint_finding){LINT_INFO, "one_path_left", s->device->name, NULL,
				-1, NULL, "none, where that is accepted; else a third path"},
			"two switches above it: after one failure one path is left");
}

static double ratio_after_failure(const struct width *w)
{
	if (!w->known || w->up_bps <= w->largest_bps || w->hosts_bps == 0)
		return NAN;
	return (double)w->hosts_bps / (double)(w->up_bps - w->largest_bps);
}

static bool has_outsiders(const struct fabric_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i]->outsider)
			return true;
	return false;
}

static void check_paths(struct lint_list *list, const struct lint_settings_in *in)
{
	const struct lint_graph *graph = in->graph;
	double worst = NAN;
	const struct lint_switch *worst_at = NULL;
	size_t over = 0, unknown = 0, outside = 0;
	bool tiers = false;
	for (size_t i = 0; i < graph->n_switches; i++)
		tiers |= graph->switches[i].tier > 0;
	for (size_t i = 0; tiers && i < graph->n_leaves; i++) {
		const struct lint_switch *s = &graph->switches[graph->leaves[i]];
		if (has_outsiders(s->device)) {
			outside++;
			continue;
		}
		const struct width w = width_of(in, s);
		const double after = ratio_after_failure(&w);
		check_width(list, s, &w);
		unknown += !w.known;
		if (!(after > OVERSUBSCRIBED))
			continue;
		over++;
		if (worst_at && after <= worst)
			continue;
		worst = after;
		worst_at = s;
	}
	if (outside > 0)
		lint_unjudged(list,
			"the paths that failures leave to %zu lea%s with links to switches that "
			"are "
			"not in the configuration",
			outside, outside == 1 ? "f" : "ves");
	if (over > 0)
		lint_found(list,
			&(struct lint_finding){LINT_INFO, "uplinks_left", worst_at->device->name,
				NULL, -1, NULL, "none, where that is accepted; else more uplinks"},
			"after the failure of one uplink its hosts can send %.2f times what its "
			"uplinks carry (%zu lea%s)",
			worst, over, over > 1 ? "ves do" : "f does");
	if (unknown > 0)
		lint_unjudged(list, "oversubscription of %zu lea%s: declare 'speed' of the links",
			unknown, unknown != 1 ? "ves" : "f");
}

static void check_rails(struct lint_list *list, const struct lint_graph *graph)
{
	for (size_t i = 0; i < graph->n_links; i++) {
		const struct lint_link *link = &graph->links[i];
		const struct lint_switch *lower = &graph->switches[link->lower];
		const struct fabric_port *at = lower->ports[link->lower_port].at;
		const char *rail = graph->switches[link->upper].device->rail;
		if (!lower->device->rail || !rail || str_eq(lower->device->rail, rail))
			continue;
		lint_found(list,
			&(struct lint_finding){LINT_WARNING, "rails_meet", lower->device->name,
				at->name, -1, NULL, "check the cable, or the declared rails"},
			"a link from rail %s to rail %s", lower->device->rail, rail);
	}
}

/* ---- all ----------------------------------------------------------------- */

static void tell_unknown(const struct unknown_counts *unknown, struct lint_list *list)
{
	for (size_t i = 0; i < rw_countof(unknown_rows); i++) {
		const struct unknown_row *row = &unknown_rows[i];
		const size_t n = *(const size_t *)((const char *)unknown + row->at);
		if (n > 0)
			lint_unjudged(list, "%s %zu %s%s%s", row->before, n, row->what,
				str_if(n != 1, row->plural), row->after);
	}
}

static double off_by(const struct lint_list *list, const struct lint_finding *like, bool *ret_found)
{
	double by = 0;
	*ret_found = false;
	for (size_t i = 0; i < list->n; i++) {
		const struct lint_finding *x = &list->findings[i];
		if (x->severity > like->severity || x->priority != like->priority ||
			!str_eq(x->check, like->check) || !str_eq(x->device, like->device))
			continue;
		by += x->by;
		*ret_found = true;
	}
	return by;
}

const struct lint_finding *lint_worsened(
	const struct lint_list *before, const struct lint_list *after)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct lint_finding *x = &after->findings[i];
		bool was, is;
		const double before_by = off_by(before, x, &was), by = off_by(after, x, &is);
		if (x->severity != LINT_INFO && (!was || by > before_by))
			return x;
	}
	return NULL;
}

void lint_settings(const struct lint_settings_in *in, struct lint_list *list)
{
	const struct fabric *fabric = in->graph->fabric;
	struct unknown_counts unknown = {0};
	if (lint_paused_priorities(fabric) == 0)
		lint_unjudged(
			list, "headroom and marks: no priority is declared lossless by pause");
	for (size_t i = 0; i < fabric->n_devices; i++)
		check_switch(list, in, fabric->devices[i], &unknown);
	check_paths(list, in);
	check_rails(list, in->graph);
	tell_unknown(&unknown, list);
}
