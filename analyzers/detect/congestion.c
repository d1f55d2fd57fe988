/*
 * congestion - queues that fill where nothing is broken on the wire: who sends too much, or which
 * setting lets it come to PFC.
 *
 * Judged per lossless priority, in this order; what an earlier step explains, a later one does not
 * tell again: 1  switches: ECN off, late or early, XON too close to XOFF. The same on most switches
 *        under pressure is one story of the fabric.
 *     2  NICs, where captures at their ports show it: data that is not ECT, CE that is not
 *        answered by CNPs.
 *     3  hosts: one that is paused far more than all others although marking works does not
 *        slow down.
 *     4  leaves: uplinks that are narrower than what the hosts can send.
 *     5  queues: the roots of the pause graph (incast at a host, an overloaded uplink), and
 *        receivers that only mark.
 * A root that is a host belongs to pause_storm. The signatures are a table (congestion_signs.c),
 * the words another (congestion_tell.c). Sources: tuning facts b.4, c.2, c.4, d (rows 3-5, 7, 11,
 * 13 and "Views"), e.
 *
 * Where the site does without ECN or DCQCN by policy, only what that policy leaves is judged, and
 * pause is normal (info at most). cnp_starved stands apart: drops in the queue that carries CNPs.
 */
#include "analyzers/detect/congestion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/finding_build.h"
#include "db/model/entity.h"

/* of receivers that show the same at once: that is how the job exchanges, and a few stand for all
 */
enum { RECEIVERS_TOLD = 8 };
/* where nothing else is told: the default of NICs and of the vendors' RoCE profiles */
enum { CNP_PRIORITY = 6 };

static const struct option rows[] = {
	{"pause", OPT_RATIO, offsetof(struct congestion_options, pause), "0.1%", "0.001%", "100%",
		NULL,
		"share of time a host has to be paused before congestion is looked for; ten times "
		"that where only frames are counted"},
	{"marks", OPT_RATIO, offsetof(struct congestion_options, marks), "5%", "0.01%", "100%",
		NULL,
		"share of a queue's packets that are marked from which it counts as congested"},
	{"marks_few", OPT_RATIO, offsetof(struct congestion_options, marks_few), "0.1%", "0%",
		"100%", NULL,
		"share of packets marked below which ECN is said to be silent; pause with silent "
		"ECN is ECN too late, or off"},
	{"singled_out", OPT_DOUBLE, offsetof(struct congestion_options, singled_out), "5", "1.5",
		"1000", NULL,
		"how many times as paused as the median of the other hosts one has to be to be "
		"suspected of not slowing down"},
	{"rtt", OPT_DURATION, offsetof(struct congestion_options, rtt_ns), "10us", "1us", "1ms",
		NULL,
		"base round trip between two hosts, hosts included: with the speed it gives the "
		"bandwidth-delay product below which Kmin is too early"},
	{"window", OPT_DURATION, offsetof(struct congestion_options, window_ns), "0s", "0s", "1h",
		NULL, "time one measurement spans; 0 = three intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct congestion_options, hold), "3", "1", "10000", NULL,
		"windows that have to show it, among the last hold + 2, before an incident opens"},
};

/* ---- step 1: switches ---------------------------------------------------- */

struct verdicts {
	struct suspect *switches; /* [fabric_device.index] */
	bool ecn_fabric; /* a setting explains pressure everywhere */
	bool host; /* a host explains the queues */
	bool *told_port; /* [fabric_port.index]: its story was told */
	bool *told_device;
	bool *told_group; /* [fabric_port.index of the group's first member] */
	bool told_fabric;
};

/* What belongs to most switches is one story of the fabric: by their settings, or by what is seen
 * of those under pressure. */
static const struct setting {
	enum cause cause;
	uint32_t sign; /* that tells it from settings alone; 0: none does */
} settings[] = {{CAUSE_ECN_OFF, SET_OFF}, {CAUSE_ECN_LATE, LATE}, {CAUSE_ECN_EARLY, EARLY},
	{CAUSE_XON_CLOSE, 0}};

static bool is_everywhere(const struct congestion *congestion, const struct suspect *suspect,
	const struct setting *of, size_t *ret_n)
{
	size_t set = 0, known = 0, same = 0, judged = 0;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const bool says = suspect[i].is && suspect[i].is->cause == of->cause;
		known += of->sign && (suspect[i].signs.known & of->sign);
		set += of->sign && (suspect[i].signs.yes & of->sign);
		same += says;
		judged += says || congestion->devices[i].inputs > 0;
	}
	const bool by_settings = set > 1 && 3 * set >= 2 * known;
	if (by_settings)
		*ret_n = set;
	else
		*ret_n = same;
	return by_settings || (same > 1 && 3 * same >= 2 * judged);
}

static void judge_setting(const struct congestion *congestion,
	const struct congestion_options *options, const struct setting *of,
	struct verdicts *verdicts, struct finding_list *out)
{
	size_t n;
	const bool everywhere = is_everywhere(congestion, verdicts->switches, of, &n);
	const struct suspect *worst = NULL;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct suspect *s = &verdicts->switches[i];
		if (!s->is || s->is->cause != of->cause)
			continue;
		if (!worst || (worst->is->harmless && !s->is->harmless) ||
			congestion->devices[i].pressure >
				congestion->devices[worst->device->device->index].pressure)
			worst = s;
		if (!everywhere) {
			congestion_tell(congestion, options, s, 1, out);
			verdicts->told_device[i] = true;
		}
	}
	if (everywhere && worst && !verdicts->told_fabric) {
		congestion_tell(congestion, options, worst, n, out);
		verdicts->told_fabric = true;
		verdicts->ecn_fabric = !worst->is->harmless && of->sign;
	}
}

static void judge_switches(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	for (size_t i = 0; i < congestion->o->n_devices; i++)
		suspect_switch(
			congestion, options, &congestion->o->devices[i], &verdicts->switches[i]);
	for (size_t k = 0; k < rw_countof(settings); k++)
		judge_setting(congestion, options, &settings[k], verdicts, out);
}

/* ---- step 2: NICs, where captures show them ------------------------------ */

static void judge_nics(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	for (size_t i = 0; congestion->in->window->n_flows && i < congestion->o->n_fabric_ports;
		i++) {
		const struct lane_seen *l = NULL;
		if (congestion->o->ports[i].port->host)
			l = observed_lane(&congestion->o->ports[i], congestion->priority);
		struct suspect s;
		if (!l)
			continue;
		suspect_nic(congestion, options, l, &s);
		if (!s.is)
			continue;
		congestion_tell(congestion, options, &s, 1, out);
		verdicts->told_port[i] = true;
	}
}

/* ---- step 3: hosts ------------------------------------------------------- */

static bool is_setting(const struct verdicts *verdicts, const struct device_seen *device)
{
	const struct signature *is = verdicts->switches[device->device->index].is;
	return is && !is->harmless && verdicts->told_device[device->device->index] &&
		is->cause != CAUSE_XON_CLOSE;
}

static void judge_hosts(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	if (verdicts->ecn_fabric)
		return;
	for (size_t i = 0; i < congestion->n_singled && congestion->n_singled <= HOSTS_NAMED; i++) {
		struct suspect s;
		suspect_host(congestion, options, &congestion->hosts[i], &s);
		if (!s.is || is_setting(verdicts, s.device))
			continue;
		verdicts->host = true;
		if (verdicts->told_port[s.lane->port->port->index]) /* packets have said why */
			continue;
		congestion_tell(congestion, options, &s, 1, out);
		verdicts->told_port[s.lane->port->port->index] = true;
	}
}

/* ---- step 4: leaves ------------------------------------------------------ */

static void judge_groups(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct fabric_device *d = congestion->o->devices[i].device;
		for (size_t k = 0; k < d->n_groups; k++) {
			const struct fabric_group *g = &d->groups[k];
			if (d->role != ROLE_LEAF || strncmp(g->id, "uplinks", 7) != 0 ||
				!g->n_members ||
				g->members[0]->index >= congestion->o->n_fabric_ports)
				continue;
			struct suspect s;
			suspect_group(congestion, options, g, &s);
			if (!s.is || verdicts->ecn_fabric || verdicts->host ||
				is_setting(verdicts, &congestion->o->devices[i]))
				continue;
			congestion_tell(congestion, options, &s, 1, out);
			verdicts->told_group[g->members[0]->index] = true;
			for (size_t m = 0; m < g->n_members; m++)
				verdicts->told_port[g->members[m]->index] = true;
		}
	}
}

/* ---- step 5: queues ------------------------------------------------------ */

struct crowd {
	struct suspect *v;
	size_t n, receivers; /* queues; hosts they lead to */
};

static void suspect_add(const struct congestion *congestion,
	const struct congestion_options *options, const struct port_seen *port,
	const struct pause_root *root, const struct verdicts *verdicts, struct crowd *crowd)
{
	const struct lane_seen *l = observed_lane(port, congestion->priority);
	struct suspect *s = &crowd->v[crowd->n];
	if (!l || !port->in_fabric || verdicts->told_port[port->port->index] ||
		is_setting(verdicts, port->device))
		return;
	suspect_queue(congestion, options, l, root, s);
	if (!s->is)
		return;
	verdicts->told_port[port->port->index] = true;
	bool known = !port->port->host || crowd->receivers >= RECEIVERS_TOLD;
	for (size_t i = 0; i < crowd->n && !known; i++)
		/* another of its rails */
		known = str_eq(crowd->v[i].lane->port->port->host, port->port->host);
	crowd->receivers += !known;
	crowd->n++;
}

static void judge_queues(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	if (verdicts->ecn_fabric || verdicts->host)
		return;
	struct crowd crowd = {.v = arena_array(congestion->in->arena, struct suspect,
				      congestion->o->n_fabric_ports + 1)};
	for (size_t i = 0; i < congestion->graph->n_roots; i++) {
		const struct pause_root *r = &congestion->graph->roots[i];
		if (r->origin == ORIGIN_QUEUE && r->clear && r->priority == congestion->priority)
			suspect_add(congestion, options, r->port, r, verdicts, &crowd);
	}
	/* where nobody is paused the marks tell */
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		const struct lane_seen *l = observed_lane(p, congestion->priority);
		if (!l || congestion->devices[p->port->device->index].inputs)
			continue;
		const struct marks m =
			lane_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
		if (marks_ratio(&m) >= options->marks)
			suspect_add(congestion, options, p, NULL, verdicts, &crowd);
	}
	for (size_t i = 0, told = 0; i < crowd.n; i++) {
		if (crowd.v[i].signs.yes & TO_HOST && told++ >= RECEIVERS_TOLD)
			continue;
		if (crowd.v[i].signs.yes & TO_HOST)
			crowd.v[i].alike = crowd.receivers;
		else
			crowd.v[i].alike = 1;
		congestion_tell(congestion, options, &crowd.v[i], 1, out);
	}
}

/* ---- what was looked for and is not there -------------------------------- */

static struct finding *congestion_add_under(const struct congestion *congestion,
	const struct congestion_options *options, struct finding_list *out)
{
	struct tell t = tell_new(out, congestion->in, "congestion", FINDING_UNDER, options->hold);
	t.f->priority = congestion->priority;
	t.f->cause = CAUSE_INCAST;
	return t.f;
}

/* A switch that never paused and never marked cannot have had a story; packets may have told one.
 */
static bool has_counted(const struct congestion *congestion, const struct device_seen *device)
{
	if (congestion->in->window->n_flows)
		return true;
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct lane_seen *l = observed_lane(&device->ports[k], congestion->priority);
		if (l &&
			(l->tx_pause.alive || l->rx_pause.alive || l->marked.alive ||
				l->ecn_enabled == 0))
			return true;
	}
	return false;
}

/* Its pause or its marks are known. A stale queue counter says nothing. */
static bool is_judged(const struct congestion *congestion, const struct port_seen *port)
{
	const struct lane_seen *l = observed_lane(port, congestion->priority);
	return l && (!isnan(tx_level(l)) || l->marked.known) && !lane_marks(l, 0).stale;
}

/* In the order of subjects: the switch, its groups, its ports. */
static void tell_calm_switch(const struct congestion *congestion,
	const struct congestion_options *options, const struct device_seen *device,
	const struct verdicts *verdicts, struct finding_list *out)
{
	if (!verdicts->told_device[device->device->index] && !verdicts->told_fabric) {
		struct finding *f = congestion_add_under(congestion, options, out);
		f->device = device->device->name;
		f->cause = CAUSE_ECN_LATE;
	}
	for (size_t k = 0; k < device->device->n_groups; k++) {
		const struct fabric_group *g = &device->device->groups[k];
		if (device->device->role != ROLE_LEAF || strncmp(g->id, "uplinks", 7) != 0 ||
			!g->n_members || verdicts->told_group[g->members[0]->index])
			continue;
		struct finding *f = congestion_add_under(congestion, options, out);
		f->device = device->device->name;
		f->group = g->id;
		f->cause = CAUSE_OVERSUBSCRIPTION;
	}
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct fabric_port *p = device->ports[k].port;
		if (verdicts->told_port[p->index] || !is_judged(congestion, &device->ports[k]))
			continue;
		struct finding *f = congestion_add_under(congestion, options, out);
		f->device = device->device->name;
		f->port = p->name;
		f->host = p->host;
	}
}

/* Subjects that may have an open story: ports, groups, switches and the fabric whose pause is
 * known. */
static void tell_absent(const struct congestion *congestion,
	const struct congestion_options *options, const struct verdicts *verdicts,
	struct finding_list *out)
{
	bool *judged = arena_array(congestion->in->arena, bool, congestion->o->n_devices + 1),
	     any = false;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct device_seen *d = &congestion->o->devices[i];
		for (size_t k = 0; k < d->n_ports && !judged[i] && has_counted(congestion, d); k++)
			judged[i] = is_judged(congestion, &d->ports[k]);
		any |= judged[i];
	}
	if (any && !verdicts->told_fabric)
		congestion_add_under(congestion, options, out)->cause = CAUSE_ECN_LATE;
	for (size_t i = 0; i < congestion->o->n_devices; i++)
		if (judged[i])
			tell_calm_switch(
				congestion, options, &congestion->o->devices[i], verdicts, out);
}

/* ---- CNPs ---------------------------------------------------------------- */

/* The queue CNPs leave by: read back, else the usual one; -1 when that is a lossless one, which
 * lossless_loss judges. */
static int cnp_queue(const struct analyzer_in *in, const struct port_seen *port)
{
	uint64_t v;
	int queue = CNP_PRIORITY;
	const struct series *s = NULL;
	if (port->entity != ENTITY_NONE)
		s = window_series(in->window, port->entity, M_CFG_CNP_QUEUE);
	if (s && series_state(s, in->window->to_ns, INT64_MAX, &v) == 0 && v < OBSERVED_PRIORITIES)
		queue = (int)v;
	if (in->fabric->lossless_mask >> queue & 1)
		return -1;
	return queue;
}

static void tell_starved(const struct analyzer_in *in, const struct congestion_options *options,
	const struct port_seen *port, const struct lane_seen *lane, struct finding_list *out)
{
	struct tell t = tell_new(out, in, "congestion", FINDING_OVER, options->hold);
	tell_subject(&t, port);
	t.f->priority = lane->priority;
	t.f->cause = CAUSE_CNP_STARVED;
	t.f->severity = SEV_WARNING;
	t.f->value = lane->drops.value;
	t.f->warn = 1;
	t.f->confidence_ratio = 0.6;
	t.f->coverage_ratio = observed_coverage(port);
	t.f->summary = arena_printf(t.a,
		"%s drops in the queue that carries CNPs (priority %d, %.0f packets): senders are "
		"not told to slow down",
		tell_port(port, t.a), lane->priority, lane->drops.value);
	tell_amount(&t, "queue.drops", port, lane->priority, &lane->drops, "packets");
	tell_amount(&t, "queue.out_packets", port, lane->priority, &lane->out_packets, "packets");
	tell_rests_on(&t,
		"drops of the queue; that CNPs are among them follows from its being the CNP "
		"queue");
	tell_role(&t, "culprit", "%s", tell_port(port, t.a));
	tell_steps(&t, t.f->cause, 0);
}

/*
 * Of each port the drops of its CNP queue, if that has ever dropped anything: [fabric_port.index],
 * NULL. The window's series come sorted by metric; they are gone through once, without looking
 * names up.
 */
static const struct series **cnp_drops(const struct analyzer_in *in, const struct observed *seen)
{
	const struct window *w = in->window;
	const uint32_t n = entities_count(w->entities);
	const struct series **ret =
		arena_array(in->arena, const struct series *, seen->n_fabric_ports + 1);
	uint32_t *port_of = arena_array(in->arena, uint32_t, n + 1);
	for (size_t i = 0; i < seen->n_fabric_ports; i++)
		if (seen->ports[i].entity != ENTITY_NONE)
			port_of[seen->ports[i].entity] = (uint32_t)i + 1;
	const size_t settings_at = window_metric(w, M_CFG_CNP_QUEUE);
	const bool told =
		settings_at < w->n_series && w->series[settings_at].metric == M_CFG_CNP_QUEUE;
	for (size_t i = window_metric(w, M_QUEUE_DROPS);
		i < w->n_series && w->series[i].metric == M_QUEUE_DROPS; i++) {
		const struct series *s = &w->series[i];
		const struct entity *e = NULL;
		if (s->n && s->value[s->n - 1] > 0)
			e = entity_get(w->entities, s->entity);
		uint32_t port = 0;
		if (e && (told ? e->priority >= 0 : e->priority == CNP_PRIORITY) && e->parent <= n)
			port = port_of[e->parent];
		if (port && e->priority == cnp_queue(in, &seen->ports[port - 1]))
			ret[port - 1] = s;
	}
	return ret;
}

static void judge_cnps(const struct analyzer_in *in, const struct congestion_options *options,
	struct finding_list *over, struct finding_list *under)
{
	const struct observed *seen = observe(in);
	if (in->fabric->congestion != CC_DCQCN)
		return;
	const struct series **drops = cnp_drops(in, seen);
	for (size_t i = 0; i < seen->n_fabric_ports; i++) {
		const struct port_seen *p = &seen->ports[i];
		if (!drops[i])
			continue;
		const int queue = entity_get(in->window->entities, drops[i]->entity)->priority;
		const struct lane_seen *l = observed_lane(p, queue);
		if (l && l->drops.value > 0) {
			tell_starved(in, options, p, l, over);
			continue;
		}
		/* it has dropped before */
		struct tell t = tell_new(under, in, "congestion", FINDING_UNDER, options->hold);
		tell_subject(&t, p);
		t.f->priority = queue;
		t.f->cause = CAUSE_CNP_STARVED;
	}
}

/* ---- the analyzer -------------------------------------------------------- */

static int by_subject(const void *one, const void *other)
{
	const struct finding *x = one, *y = other;
	const char *const left[] = {x->device, x->port, x->host, x->group},
			  *const right[] = {y->device, y->port, y->host, y->group};
	for (size_t i = 0; i < rw_countof(left); i++) {
		const int c = name_compare(str_or(left[i], ""), str_or(right[i], ""));
		if (c)
			return c;
	}
	return x->priority - y->priority;
}

/* Room for @more findings at once: lists that double leave twice their size behind in the arena. */
static void congestion_reserve(struct finding_list *list, struct arena *a, size_t more)
{
	if (list->cap - list->n >= more)
		return;
	struct finding *v = arena_array(a, struct finding, list->n + more);
	if (list->n)
		memcpy(v, list->v, list->n * sizeof(*v));
	list->v = v;
	list->cap = list->n + more;
}

static void congestion_sort(struct finding_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (by_subject(&list->v[i - 1], &list->v[i]) > 0) {
			qsort(list->v, list->n, sizeof(*list->v), by_subject);
			return;
		}
}

/* Where @finding goes in @list at or after @from. It is near as a rule: steps that double, then
 * halves. */
static size_t congestion_place_of(
	const struct finding *finding, const struct finding_list *list, size_t from)
{
	size_t lo = from, hi = from;
	for (size_t step = 1; hi < list->n && by_subject(&list->v[hi], finding) < 0; step *= 2) {
		lo = hi + 1;
		hi += step;
	}
	if (!(hi < list->n))
		hi = list->n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (by_subject(&list->v[mid], finding) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void congestion_append(struct finding_list *out, const struct finding *findings, size_t n)
{
	if (n)
		memcpy(&out->v[out->n], findings, n * sizeof(*findings));
	out->n += n;
}

/* What is not there is told in order already, and is much the longer list: the few that are there
 * are put in their places. */
static void congestion_merge(const struct finding_list *few, const struct finding_list *many,
	struct arena *a, struct finding_list *out)
{
	size_t k = 0;
	if (few->n == 0 && out->n == 0) {
		*out = *many;
		return;
	}
	congestion_reserve(out, a, few->n + many->n);
	for (size_t i = 0; i < few->n; i++) {
		const size_t end = congestion_place_of(&few->v[i], many, k);
		congestion_append(out, &many->v[k], end - k);
		congestion_append(out, &few->v[i], 1);
		k = end;
	}
	congestion_append(out, &many->v[k], many->n - k);
}

static int congestion_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct congestion_options *o = in->options;
	struct finding_list over = {0}, under = {0}, cnps = {0}, some = {0};
	int classes = 0;
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
		struct congestion c;
		if (!(in->fabric->lossless_mask >> priority & 1))
			continue;
		congestion_measure(in, priority, o->pause, &c);
		const size_t n = c.o->n_fabric_ports + 1;
		struct verdicts v = {
			.switches = arena_array(in->arena, struct suspect, c.o->n_devices + 1),
			.told_port = arena_array(in->arena, bool, n),
			.told_device = arena_array(in->arena, bool, c.o->n_devices + 1),
			.told_group = arena_array(in->arena, bool, n)};
		judge_switches(&c, o, &v, &over);
		judge_nics(&c, o, &v, &over);
		judge_hosts(&c, o, &v, &over);
		judge_groups(&c, o, &v, &over);
		judge_queues(&c, o, &v, &over);
		congestion_reserve(&under, in->arena, n + 3 * c.o->n_devices);
		tell_absent(&c, o, &v, &under);
		classes++;
	}
	judge_cnps(in, o, &over, &cnps);
	congestion_sort(&over);
	if (classes > 1)
		congestion_sort(&under);
	congestion_merge(&over, &cnps, in->arena, &some);
	congestion_merge(&some, &under, in->arena, out);
	return 0;
}

const struct analyzer analyzer_congestion = {
	.name = "congestion",
	.doc = "queues that fill: incast, narrow or hot uplinks, ECN off, late or early, hosts "
	       "that do not slow down",
	.options = {"analyzers", "congestion", sizeof(struct congestion_options), rows,
		rw_countof(rows), "who fills the queues, and which setting lets it come to pause"},
	.window_offset = offsetof(struct congestion_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_CFG_CNP_QUEUE}, .n_metrics = 1, .flows = true},
	.observes = true,
	.run = congestion_run,
};
