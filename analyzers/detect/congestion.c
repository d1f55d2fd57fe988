/*
 * congestion - queues that fill where nothing is broken on the wire: who sends too much, or which
 * setting lets PFC fire.
 *
 * Judged per lossless priority, in this order; what an earlier step explains, a later one does not
 * report again:
 *
 *     1. switches  ECN off, late or early, XON too close to XOFF. The same on most switches under
 *                  pressure is one finding about the fabric.
 *     2. NICs      where their own counters (congestion_nic.h) or captures at their ports show it:
 *                  data that is not ECT, CE that is not answered by CNPs, CNPs that are ignored.
 *     3. hosts     one that is paused far more than all others although marking works does not
 *                  slow down.
 *     4. leaves    uplinks that carry less than the hosts can send.
 *     5. queues    roots of the pause graph (incast at a host, an overloaded uplink), and
 *                  receivers that only mark.
 *
 * A root that is a host belongs to pause_storm. Signatures: congestion_signs.c; sentences:
 * congestion_finding.c; the queue of CNPs: congestion.c. The same causes with thresholds in view:
 * docs/tuning.md.
 *
 * Where the site does without ECN or DCQCN by policy, only what that policy leaves is judged, and
 * pause is normal (information at most).
 */

#include "analyzers/detect/congestion_nic.h"
#include "analyzers/detect/congestion_signs.h"
#include "analyzers/finding_build.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

/*
 * cnp_starved - drops in the queue that carries CNPs: senders do not learn that they must slow
 * down. A part of the analyzer congestion; it stands apart from its steps, since no queue of RoCE
 * data is judged.
 */

/* where it cannot be read back: the default of NICs and of the vendors' RoCE profiles */
enum { CNP_PRIORITY = 6 };

/* The queue that CNPs leave by: read back, else the usual one; -1 when that is a lossless one,
 * which lossless_loss judges. */
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

static void cnp_starved_report(const struct analyzer_in *in,
	const struct congestion_options *options, const struct port_seen *port,
	const struct port_prio *prio, struct finding_list *out)
{
	struct draft t = finding_new(out, in, "congestion", FINDING_OVER, options->hold);
	finding_subject(&t, port);
	t.f->priority = prio->priority;
	t.f->cause = CAUSE_CNP_STARVED;
	t.f->severity = SEV_WARNING;
	t.f->value = prio->drops.value;
	t.f->warn = 1;
	t.f->confidence_ratio = 0.6;
	t.f->coverage_ratio = observed_coverage(port);
	t.f->summary = arena_printf(t.a,
		"%s drops packets in the queue that carries CNPs (priority %d, %s packets): "
		"senders do not learn that they must slow down",
		port_text(port, t.a), prio->priority, number_count_of(prio->drops.value).s);
	finding_amount(&t, "queue.drops", port, prio->priority, &prio->drops, "packets");
	finding_amount(
		&t, "queue.out_packets", port, prio->priority, &prio->out_packets, "packets");
	finding_rests_on(&t, "drops of the CNP queue");
	finding_unproved(&t, "whether CNPs are among the dropped packets is not counted");
	finding_add_role(&t, "culprit", "%s", port_text(port, t.a));
	finding_steps(&t, t.f->cause, 0);
}

/* For each port the drops of its CNP queue, if it ever dropped anything: [fabric_port.index], NULL.
 */
static const struct series **cnp_drops(const struct analyzer_in *in, const struct observed *seen)
{
	const struct series **ret =
		arena_array(in->arena, const struct series *, seen->n_fabric_ports + 1);
	for (size_t i = 0; i < seen->n_fabric_ports; i++) {
		const struct port_seen *port = &seen->ports[i];
		const int queue = cnp_queue(in, port);
		const struct series *s = NULL;
		if (queue >= 0 && port->prio_entity[queue] != ENTITY_NONE)
			s = window_series(in->window, port->prio_entity[queue], M_QUEUE_DROPS);
		if (s && s->n && s->value[s->n - 1] > 0)
			ret[i] = s;
	}
	return ret;
}

/* cnp_starved_judge - the drops go to @over; queues that dropped before and do not now to @under.
 * Both in the order of ports. Nothing where the site does without DCQCN. */
static void cnp_starved_judge(const struct analyzer_in *in,
	const struct congestion_options *options, struct finding_list *over,
	struct finding_list *under)
{
	const struct observed *seen = observe(in);
	if (!class_any(in->fabric, CC_DCQCN))
		return;
	const struct series **drops = cnp_drops(in, seen);
	for (size_t i = 0; i < seen->n_fabric_ports; i++) {
		const struct port_seen *p = &seen->ports[i];
		if (!drops[i])
			continue;
		const int queue = entity_get(in->window->entities, drops[i]->entity)->priority;
		const struct port_prio *l = observed_prio(p, queue);
		if (l && l->drops.value > 0) {
			cnp_starved_report(in, options, p, l, over);
			continue;
		}
		/* it has dropped before */
		if (finding_is_clear(under, in, "congestion", p->port->device->name, 1))
			continue;
		struct draft t = finding_new(under, in, "congestion", FINDING_UNDER, options->hold);
		finding_subject(&t, p);
		t.f->priority = queue;
		t.f->cause = CAUSE_CNP_STARVED;
	}
}

/* ---- congestion ------------------------------------------------------------ */

/* receivers reported when many show the same at once: that is how the job exchanges
 */
enum { RECEIVERS_SHOWN = 8 };

static const struct option rows[] = {
	{"pause", OPT_RATIO, offsetof(struct congestion_options, pause), "0.1%", "0.001%", "100%",
		NULL,
		"share of time a host has to be paused before congestion is searched for; ten "
		"times that where only frames are counted"},
	{"marks", OPT_RATIO, offsetof(struct congestion_options, marks), "5%", "0.01%", "100%",
		NULL,
		"share of a queue's packets that are marked from which it counts as congested"},
	{"marks_few", OPT_RATIO, offsetof(struct congestion_options, marks_few), "0.1%", "0%",
		"100%", NULL,
		"share of packets marked below which ECN counts as silent; pause with silent ECN "
		"is ECN too late, or off"},
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
	bool *port_done; /* [fabric_port.index]: reported */
	bool *device_done;
	bool *group_done; /* [fabric_port.index of the group's first member] */
	bool fabric_done;
};

/* What most switches show is one finding about the fabric: by their settings, or by what those
 * under pressure show. */
static const struct fabric_setting {
	enum cause cause;
	uint32_t sign; /* that proves it from settings alone; 0: none does */
} settings[] = {{CAUSE_ECN_OFF, SET_OFF}, {CAUSE_ECN_LATE, LATE}, {CAUSE_ECN_EARLY, EARLY},
	{CAUSE_XON_CLOSE, 0}};

static bool is_everywhere(const struct congestion *congestion, const struct suspect *suspect,
	const struct fabric_setting *of, size_t *ret_n)
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
	*ret_n = same;
	if (by_settings)
		*ret_n = set;
	return by_settings || (same > 1 && 3 * same >= 2 * judged);
}

static void congestion_judge_setting(const struct congestion *congestion,
	const struct congestion_options *options, const struct fabric_setting *of,
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
			congestion_report(congestion, options, s, 1, out);
			verdicts->device_done[i] = true;
		}
	}
	if (everywhere && worst && !verdicts->fabric_done) {
		congestion_report(congestion, options, worst, n, out);
		verdicts->fabric_done = true;
		verdicts->ecn_fabric = !worst->is->harmless && of->sign;
	}
}

static void congestion_judge_switches(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	for (size_t i = 0; i < congestion->o->n_devices; i++)
		suspect_switch(
			congestion, options, &congestion->o->devices[i], &verdicts->switches[i]);
	for (size_t k = 0; k < rw_countof(settings); k++)
		congestion_judge_setting(congestion, options, &settings[k], verdicts, out);
}

/* ---- step 2: NICs, where their counters or captures show them -------------- */

/* What NICs count comes first: it is exact, and explains what switches see. */
static void congestion_judge_counters(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	struct verdicts *verdicts, struct finding_list *out)
{
	if (trial->lost) {
		congestion_nic_lost(congestion, options, trial, out);
		verdicts->fabric_done = true;
	}
	for (size_t i = 0; i < trial->n; i++) {
		const struct nic_accused *accused = &trial->v[i];
		congestion_nic_report(congestion, options, trial, accused, out);
		verdicts->port_done[accused->port->port->index] = true;
		verdicts->host |= accused->cause == CAUSE_DCQCN_OFF;
	}
}

static void congestion_judge_nics(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	for (size_t i = 0; congestion->in->window->n_flows && i < congestion->o->n_fabric_ports;
		i++) {
		const struct port_prio *l = NULL;
		if (congestion->o->ports[i].port->host)
			l = observed_prio(&congestion->o->ports[i], congestion->priority);
		struct suspect s;
		if (!l)
			continue;
		suspect_nic(congestion, options, l, &s);
		if (!s.is)
			continue;
		congestion_report(congestion, options, &s, 1, out);
		verdicts->port_done[i] = true;
	}
}

/* ---- step 3: hosts ------------------------------------------------------- */

static bool is_setting(const struct verdicts *verdicts, const struct device_seen *device)
{
	const struct signature *is = verdicts->switches[device->device->index].is;
	return is && !is->harmless && verdicts->device_done[device->device->index] &&
		is->cause != CAUSE_XON_CLOSE;
}

static void congestion_judge_hosts(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	if (verdicts->ecn_fabric)
		return;
	for (size_t i = 0; i < congestion->lead.n; i++) {
		struct suspect s;
		suspect_host(congestion, options, &congestion->hosts[i], SUSPECT_HOST, &s);
		if (!s.is || is_setting(verdicts, s.device))
			continue;
		verdicts->host = true;
		if (verdicts->port_done[s.prio->port->port->index]) /* packets gave the reason */
			continue;
		if (!host_lasts(congestion, &congestion->hosts[i]))
			continue;
		congestion_report(congestion, options, &s, 1, out);
		verdicts->port_done[s.prio->port->port->index] = true;
	}
}

/* ---- step 4: leaves ------------------------------------------------------ */

static void congestion_judge_groups(const struct congestion *congestion,
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
			congestion_report(congestion, options, &s, 1, out);
			verdicts->group_done[g->members[0]->index] = true;
			for (size_t m = 0; m < g->n_members; m++)
				verdicts->port_done[g->members[m]->index] = true;
		}
	}
}

/* ---- step 5: queues ------------------------------------------------------ */

struct crowd {
	struct suspect *v;
	size_t n, receivers; /* queues; hosts they lead to */
};

/* Of a tree whose pressure begins in several places, two at most: a queue to a host ends every
 * path, so what rests there begins there; its marks and its load have to say so too. */
#define SEVERAL_SHARE 0.2
enum { SEVERAL_MOST = 2 };
#define OWN_PROOF (TO_HOST | SEVERAL_INPUTS | MANY_MARKS | BUSY)

static bool root_may_count(const struct pause_root *root, int priority)
{
	if (root->origin != ORIGIN_QUEUE || root->priority != priority)
		return false;
	return root->clear || (root->host && root->joint_share >= SEVERAL_SHARE);
}

static void suspect_add(const struct congestion *congestion,
	const struct congestion_options *options, const struct port_seen *port,
	const struct pause_root *root, const struct verdicts *verdicts, struct crowd *crowd)
{
	const struct port_prio *l = observed_prio(port, congestion->priority);
	struct suspect *s = &crowd->v[crowd->n];
	if (!l || !port->in_fabric || verdicts->port_done[port->port->index] ||
		is_setting(verdicts, port->device))
		return;
	suspect_queue(congestion, options, l, root, s);
	if (!s->is || (root && !root->clear && (s->signs.yes & OWN_PROOF) != OWN_PROOF))
		return;
	verdicts->port_done[port->port->index] = true;
	bool known = !port->port->host || crowd->receivers >= RECEIVERS_SHOWN;
	for (size_t i = 0; i < crowd->n && !known; i++)
		/* another of its rails */
		known = str_eq(crowd->v[i].prio->port->port->host, port->port->host);
	crowd->receivers += !known;
	crowd->n++;
}

static void congestion_judge_queues(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	if (verdicts->ecn_fabric || verdicts->host)
		return;
	struct crowd crowd = {.v = arena_array(congestion->in->arena, struct suspect,
				      congestion->o->n_fabric_ports + 1)};
	for (size_t i = 0; i < congestion->graph->n_roots; i++) {
		const struct pause_root *r = &congestion->graph->roots[i];
		if (root_may_count(r, congestion->priority))
			suspect_add(congestion, options, r->port, r, verdicts, &crowd);
	}
	/* where nobody is paused, or so little that one input alone counts, marks decide */
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *p = &congestion->o->ports[i];
		const struct port_prio *l = observed_prio(p, congestion->priority);
		if (!l || congestion->devices[p->port->device->index].inputs > 1)
			continue;
		const struct marks m =
			prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
		if (marks_ratio(&m) >= options->marks)
			suspect_add(congestion, options, p, NULL, verdicts, &crowd);
	}
	for (size_t i = 0, n_shown = 0; i < crowd.n; i++) {
		const bool to_host = crowd.v[i].signs.yes & TO_HOST;
		if (to_host && n_shown++ >= RECEIVERS_SHOWN)
			continue;
		const struct pause_root *root = crowd.v[i].root;
		if (root && !root->clear && crowd.receivers > SEVERAL_MOST)
			continue;
		crowd.v[i].alike = 1;
		if (to_host)
			crowd.v[i].alike = crowd.receivers;
		congestion_report(congestion, options, &crowd.v[i], 1, out);
	}
}

/* ---- step 6: a host that leads, and nothing explains it -------------------- */

static bool is_nothing_named(const struct finding_list *out)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->v[i].verdict == FINDING_OVER && out->v[i].severity > SEV_INFO)
			return false;
	return true;
}

static void congestion_judge_leaders(const struct congestion *congestion,
	const struct congestion_options *options, struct verdicts *verdicts,
	struct finding_list *out)
{
	if (verdicts->ecn_fabric || verdicts->fabric_done || verdicts->host)
		return;
	const bool nothing_named = is_nothing_named(out);
	for (size_t i = 0; i < congestion->lead.n; i++) {
		struct suspect s;
		suspect_host(congestion, options, &congestion->hosts[i], SUSPECT_LEADER, &s);
		/* a queue that is congested does not say why one of its senders waits far longer */
		if (!nothing_named && !(s.signs.yes & STRONG))
			continue;
		if (!s.is || verdicts->port_done[s.prio->port->port->index] ||
			!host_lasts(congestion, &congestion->hosts[i]))
			continue;
		congestion_report(congestion, options, &s, 1, out);
		verdicts->port_done[s.prio->port->port->index] = true;
	}
}

/* ---- findings that clear -------------------------------------------------- */

static struct finding *congestion_add_under(const struct congestion *congestion,
	const struct congestion_options *options, struct finding_list *out)
{
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_UNDER, options->hold);
	t.f->priority = congestion->priority;
	t.f->cause = CAUSE_INCAST;
	return t.f;
}

/* A switch that never paused and never marked cannot have an incident, except one from packets.
 */
static bool has_counted(const struct congestion *congestion, const struct device_seen *device)
{
	if (congestion->in->window->n_flows)
		return true;
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct port_prio *l = observed_prio(&device->ports[k], congestion->priority);
		if (l &&
			(l->tx_pause.alive || l->rx_pause.alive || l->marked.alive ||
				l->ecn_enabled == 0))
			return true;
	}
	return false;
}

/* Its pause or its marks are known. A counter that was not refreshed proves nothing. */
static bool is_judged(const struct congestion *congestion, const struct port_seen *port)
{
	const struct port_prio *l = observed_prio(port, congestion->priority);
	return l && (!isnan(tx_level(l)) || l->marked.known) && !prio_marks(l, 0).stale;
}

static void congestion_clear_port(const struct congestion *congestion,
	const struct congestion_options *options, const struct fabric_port *port,
	struct finding_list *out)
{
	if (finding_is_clear(out, congestion->in, "congestion", port->device->name, 1))
		return;
	struct finding *f = congestion_add_under(congestion, options, out);
	f->device = port->device->name;
	f->port = port->name;
	f->host = port->host;
}

/* Of a switch that counts nothing itself: ports whose hosts' NICs tell. */
static void congestion_clear_nics(const struct congestion *congestion,
	const struct congestion_options *options, const struct device_seen *device,
	const struct nic_trial *trial, const struct verdicts *verdicts, struct finding_list *out)
{
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct fabric_port *p = device->ports[k].port;
		if (!verdicts->port_done[p->index] && congestion_nic_told(trial, &device->ports[k]))
			congestion_clear_port(congestion, options, p, out);
	}
}

/* In the order of subjects: the switch, its groups, its ports. */
static void congestion_clear_switch(const struct congestion *congestion,
	const struct congestion_options *options, const struct device_seen *device,
	const struct nic_trial *trial, const struct verdicts *verdicts, struct finding_list *out)
{
	if (!verdicts->device_done[device->device->index] && !verdicts->fabric_done &&
		!finding_is_clear(out, congestion->in, "congestion", device->device->name, 1)) {
		struct finding *f = congestion_add_under(congestion, options, out);
		f->device = device->device->name;
		f->cause = CAUSE_ECN_LATE;
	}
	for (size_t k = 0; k < device->device->n_groups; k++) {
		const struct fabric_group *g = &device->device->groups[k];
		if (device->device->role != ROLE_LEAF || strncmp(g->id, "uplinks", 7) != 0 ||
			!g->n_members || verdicts->group_done[g->members[0]->index] ||
			finding_is_clear(
				out, congestion->in, "congestion", device->device->name, 1))
			continue;
		struct finding *f = congestion_add_under(congestion, options, out);
		f->device = device->device->name;
		f->group = g->id;
		f->cause = CAUSE_OVERSUBSCRIPTION;
	}
	for (size_t k = 0; k < device->n_ports; k++) {
		const struct fabric_port *p = device->ports[k].port;
		if (verdicts->port_done[p->index])
			continue;
		if (is_judged(congestion, &device->ports[k]) ||
			congestion_nic_told(trial, &device->ports[k]))
			congestion_clear_port(congestion, options, p, out);
	}
}

/* Subjects that may have an open incident: ports, groups, switches and the fabric, where pause is
 * known. */
static void congestion_report_absent(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	const struct verdicts *verdicts, struct finding_list *out)
{
	bool *judged = arena_array(congestion->in->arena, bool, congestion->o->n_devices + 1),
	     any = false;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct device_seen *d = &congestion->o->devices[i];
		analyzer_pause(congestion->in);
		for (size_t k = 0; k < d->n_ports && !judged[i] && has_counted(congestion, d); k++)
			judged[i] = is_judged(congestion, &d->ports[k]);
		any |= judged[i];
	}
	if (any && !verdicts->fabric_done)
		congestion_add_under(congestion, options, out)->cause = CAUSE_ECN_LATE;
	for (size_t i = 0; i < congestion->o->n_devices; i++) {
		const struct device_seen *d = &congestion->o->devices[i];
		if (judged[i])
			congestion_clear_switch(congestion, options, d, trial, verdicts, out);
		else
			congestion_clear_nics(congestion, options, d, trial, verdicts, out);
	}
}

/* ---- the analyzer -------------------------------------------------------- */

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
		congestion_lead(&c, o->marks);
		struct nic_trial trial;
		congestion_nics(&c, o, &trial);
		c.lead.proven = trial.n > 0 || hosts_prove(&c, o);
		const size_t n = c.o->n_fabric_ports + 1;
		struct verdicts v = {
			.switches = arena_array(in->arena, struct suspect, c.o->n_devices + 1),
			.port_done = arena_array(in->arena, bool, n),
			.device_done = arena_array(in->arena, bool, c.o->n_devices + 1),
			.group_done = arena_array(in->arena, bool, n)};
		congestion_judge_counters(&c, o, &trial, &v, &over);
		congestion_judge_switches(&c, o, &v, &over);
		congestion_judge_nics(&c, o, &v, &over);
		congestion_judge_hosts(&c, o, &v, &over);
		congestion_judge_groups(&c, o, &v, &over);
		congestion_judge_queues(&c, o, &v, &over);
		congestion_judge_leaders(&c, o, &v, &over);
		if (!in->follows)
			finding_list_reserve(&under, in->arena, n + 3 * c.o->n_devices);
		congestion_report_absent(&c, o, &trial, &v, &under);
		classes++;
	}
	cnp_starved_judge(in, o, &over, &cnps);
	finding_list_sort(&over);
	if (classes > 1)
		finding_list_sort(&under);
	finding_list_merge(&over, &cnps, in->arena, &some);
	finding_list_merge(&some, &under, in->arena, out);
	return 0;
}

/* what steps and baseline keep in memory as well */
static const uint16_t congestion_past[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PFC_TX_PAUSE_NS};

const struct analyzer analyzer_congestion = {
	.name = "congestion",
	.phase = 30,
	.doc = "queues that fill: incast, narrow or hot uplinks, ECN off, late or early, hosts "
	       "that do not slow down",
	.options = {"analyzers", "congestion", sizeof(struct congestion_options), rows,
		rw_countof(rows), "who fills the queues, and which setting lets it come to pause"},
	.window_offset = offsetof(struct congestion_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_CFG_CNP_QUEUE}, .n_metrics = 1, .flows = true},
	.observes = true,
	.past_offset = offsetof(struct congestion_options, past_ns),
	.past = {.metrics = congestion_past, .n_metrics = rw_countof(congestion_past)},
	.run = congestion_run,
};
