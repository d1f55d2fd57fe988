/* lint_settings - buffers, marks and paths as they are declared. */
#include "analyzers/lint/lint_settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyzers/measure/formulas.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/class_policy.h"

/* Hosts' capacity over the uplinks'; rounding of speeds is no finding. */
#define OVERSUBSCRIBED 1.05
/* Of what may be in flight in the worst case: with less, frames are lost in common ones. */
#define HEADROOM_HOPELESS 0.5
enum { KB = 1000 };

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

/* ---- what is declared ---------------------------------------------------- */

static bool is_linked(const struct fabric_port *port)
{
	return port->peer || port->host || port->outsider;
}

static uint64_t speed_of(const struct fabric_port *port)
{
	if (port->speed_bps || !port->peer)
		return port->speed_bps;
	return port->peer->speed_bps;
}

static bool is_paused(const struct fabric *fabric, int priority)
{
	return (fabric->lossless_mask >> priority & 1) && class_pause_wanted(fabric, priority);
}

static unsigned paused_priorities(const struct fabric *fabric)
{
	unsigned n = 0;
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		n += is_paused(fabric, priority);
	return n;
}

/* ---- one switch ---------------------------------------------------------- */

/* The ports of a switch that share one fault, told once. */
struct fault_count {
	const struct fabric_port *first;
	size_t ports;
	double has, needs;
};

struct switch_sums {
	double headroom_bytes, pool_bytes; /* NAN: no pool is declared */
	size_t ports, with_headroom, with_cable;
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
		": declare thresholds[].pool"},
	{offsetof(struct unknown_counts, marks), "whether marks come before pause at", "queue", "s",
		": declare kmin, alpha and pool"},
};

static double headroom_needed(const struct fabric *fabric, const struct fabric_port *port)
{
	/* what is in flight, without the chip's cells: less than this loses frames on any chip */
	const struct headroom_in in = {.model = HEADROOM_GENERIC,
		.speed_bps = speed_of(port),
		.cable_mm = port->cable_mm,
		.mtu_bytes = fabric->lossless_mtu_bytes,
		.lossless_mtu_bytes = fabric->lossless_mtu_bytes,
		.cell_bytes = 1,
		.amplification = 1};
	struct headroom out;
	if (port->cable_mm == 0 || headroom_calc(&in, &out) < 0)
		return NAN;
	return (double)out.xoff_bytes;
}

static void check_headroom_port(const struct fabric *fabric, const struct fabric_port *port,
	const struct fabric_threshold *t, struct switch_sums *sums, struct fault_count *fault)
{
	const double needs = headroom_needed(fabric, port), has = (double)t->headroom_bytes;
	sums->with_headroom++;
	sums->headroom_bytes += has;
	if (isnan(needs))
		return;
	sums->with_cable++;
	if (has >= needs)
		return;
	if (fault->ports++ == 0)
		*fault = (struct fault_count){port, 1, has, needs};
}

static void check_headroom(struct lint_list *list, const struct fabric *fabric,
	const struct fabric_device *device, int priority, struct switch_sums *sums)
{
	struct fault_count fault = {.first = NULL};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		const struct fabric_threshold *t = fabric_threshold_of(fabric, port, priority);
		if (!is_linked(port))
			continue;
		sums->ports++;
		if (t && t->headroom_bytes)
			check_headroom_port(fabric, port, t, sums, &fault);
		if (t && t->pool_bytes)
			sums->pool_bytes = (double)t->pool_bytes;
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
			"a cable"},
		"headroom is %.0f KB, and up to %.0f KB are in flight when pause is sent: frames "
		"can be lost (%zu port%s)",
		fault.has / KB, fault.needs / KB, fault.ports, str_if(fault.ports > 1, "s"));
}

static void check_pool(
	struct lint_list *list, const struct fabric_device *device, const struct switch_sums *sums)
{
	if (isnan(sums->pool_bytes) || sums->headroom_bytes < sums->pool_bytes)
		return;
	lint_found(list,
		&(struct lint_finding){LINT_CRITICAL, "headroom_pool", device->name, NULL, -1, NULL,
			"fewer lossless priorities or ports, shorter cables, or a larger pool; a "
			"shared headroom pool is declared apart"},
		"the headroom of all lossless priorities is %.1f MB, the whole pool %.1f MB",
		sums->headroom_bytes / KB / KB, sums->pool_bytes / KB / KB);
}

/* ECN first, for how many queues that are busy at once, of @most. */
static size_t queues_marked_first(
	const struct fabric_threshold *t, double reserved_bytes, size_t most)
{
	size_t n = 0;
	while (n < most &&
		(double)t->kmin_bytes < dt_limit_bytes((double)t->pool_bytes - reserved_bytes,
						t->alpha, (double)(n + 1)))
		n++;
	return n;
}

static void found_late_marks(struct lint_list *list, const struct fabric_port *port, int priority,
	size_t queues, size_t most)
{
	struct lint_finding finding = {LINT_WARNING, "ecn_after_pfc", port->device->name,
		port->name, priority, NULL,
		"lower Kmin, or raise alpha where headroom and pool allow it: 'rocewatch calc ecn' "
		"shows the bounds"};
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

static void check_marks(struct lint_list *list, const struct fabric *fabric,
	const struct fabric_device *device, int priority, const struct switch_sums *sums,
	struct unknown_counts *unknown)
{
	const size_t most = sums->ports;
	const struct fabric_threshold *last = NULL;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		const struct fabric_threshold *t = fabric_threshold_of(fabric, port, priority);
		if (!is_linked(port))
			continue;
		if (!t || !t->kmin_bytes || !t->pool_bytes || isnan(t->alpha)) {
			unknown->marks++;
			continue;
		}
		if (t == last)
			continue;
		last = t;
		const size_t queues = queues_marked_first(t, sums->headroom_bytes, most);
		if (queues < most)
			found_late_marks(list, port, priority, queues, most);
	}
}

static void check_switch(struct lint_list *list, const struct fabric *fabric,
	const struct fabric_device *device, struct unknown_counts *unknown)
{
	struct switch_sums all = {.pool_bytes = NAN};
	size_t queues = 0;
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (is_paused(fabric, priority)) {
			struct switch_sums sums = {.pool_bytes = NAN};
			check_headroom(list, fabric, device, priority, &sums);
			all.headroom_bytes += sums.headroom_bytes;
			if (!isnan(sums.pool_bytes))
				all.pool_bytes = sums.pool_bytes;
			all.ports = sums.ports;
			queues += sums.ports;
			unknown->headroom += sums.ports - sums.with_headroom;
			unknown->cable += sums.with_headroom - sums.with_cable;
		}
	unknown->pool += isnan(all.pool_bytes) && queues > 0;
	check_pool(list, device, &all);
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (is_paused(fabric, priority) && class_marks(fabric, priority))
			check_marks(list, fabric, device, priority, &all, unknown);
}

/* ---- paths --------------------------------------------------------------- */

struct width {
	size_t switches; /* above, that it is linked to */
	uint64_t up_bps, largest_bps, hosts_bps;
	bool known; /* all speeds are */
};

static struct width width_of(const struct lint_graph *graph, const struct lint_switch *s)
{
	struct width w = {.known = true};
	for (size_t p = 0; p < s->n_ports; p++) {
		const struct lint_port *port = &s->ports[p];
		bool first = true;
		if (graph->switches[port->peer].tier <= s->tier)
			continue;
		for (size_t q = 0; q < p && first; q++)
			first = s->ports[q].peer != port->peer;
		const uint64_t speed_bps = speed_of(port->at);
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
		w.hosts_bps += port->speed_bps;
		w.known &= port->speed_bps > 0;
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

static void check_paths(struct lint_list *list, const struct lint_graph *graph)
{
	double worst = NAN;
	const struct lint_switch *worst_at = NULL;
	size_t over = 0, unknown = 0;
	bool tiers = false;
	for (size_t i = 0; i < graph->n_switches; i++)
		tiers |= graph->switches[i].tier > 0;
	for (size_t i = 0; tiers && i < graph->n_leaves; i++) {
		const struct lint_switch *s = &graph->switches[graph->leaves[i]];
		const struct width w = width_of(graph, s);
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

void lint_settings(const struct lint_graph *graph, struct lint_list *list)
{
	const struct fabric *fabric = graph->fabric;
	struct unknown_counts unknown = {0};
	if (paused_priorities(fabric) == 0)
		lint_unjudged(
			list, "headroom and marks: no priority is declared lossless by pause");
	for (size_t i = 0; i < fabric->n_devices; i++)
		check_switch(list, fabric, fabric->devices[i], &unknown);
	check_paths(list, graph);
	check_rails(list, graph);
	tell_unknown(&unknown, list);
}
