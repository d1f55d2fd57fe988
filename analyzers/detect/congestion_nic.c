/* congestion_nic - judges the two ends of DCQCN by the counters of NICs. */
#include "analyzers/detect/congestion_nic.h"

#include "analyzers/measure/rhythm.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

#define CNP_MIN 10.0 /* CNPs in a window that are no stray */
#define SENT_MIN 20.0 /* CNPs that others sent, from which silence means something */
#define CE_MIN 100.0 /* a receiver answers the first CE of a flow at once */
#define LOST_MIN 100.0
#define IGNORES_MOST 0.5 /* of the CNPs it received */
#define IGNORES_SOME 0.1
/* CNPs that nobody handled, from which they do not add up: NICs are not read at the same instant */
#define MISSING 0.15
#define SENDS_AS_OTHERS 0.5 /* of the median NIC */
enum { SILENT_FEW = 3 };

#define SURE_IGNORED 0.98 /* the NIC says itself that it ignored them */
#define SURE_IGNORED_SOME 0.8
#define SURE_REACHED 0.97
#define SURE_BOTH 0.97 /* paused, and the CNPs do not add up */
#define SURE_MISSING 0.96
#define SURE_PAUSED 0.95
#define SURE_PAUSED_UNMARKED 0.9 /* ... by a switch that counts no marks */
#define SURE_SEVERAL 0.8 /* several hosts are silent: one of them at least is at fault */
#define SURE_NP 0.97
#define SURE_NP_NEVER 0.85 /* no NIC ever counted a CNP it sent */

struct nic_bench { /* what the NICs of one host are judged by */
	const struct congestion *c;
	const struct congestion_options *options;
	struct nic_trial *trial;
};

static void nic_accuse_for(struct nic_accused *accused, const char *why)
{
	if (accused->n_rests_on < sizeof(accused->rests_on) / sizeof(*accused->rests_on))
		accused->rests_on[accused->n_rests_on++] = why;
}

static void nic_accuse(struct nic_accused *accused, enum cause cause, double confidence,
	const struct nic_seen *nic)
{
	if (accused->cause == cause)
		accused->guilty++;
	if (confidence <= accused->confidence)
		return;
	if (accused->cause != cause)
		accused->guilty = 1;
	accused->cause = cause;
	accused->confidence = confidence;
	accused->nic = nic;
	accused->n_rests_on = 0;
	accused->open = NULL;
}

/* ---- the notification point ---------------------------------------------------- */

static void nic_judge_notification(
	const struct nic_bench *bench, const struct nic_seen *nic, struct nic_accused *accused)
{
	if (!nic->ce_received.known || !nic->cnp_sent.known || nic->cnp_sent.restarted ||
		nic->ce_received.value < CE_MIN || nic->cnp_sent.value > 0)
		return;
	double sure = SURE_NP;
	if (!bench->trial->cnps.sent_alive)
		sure = SURE_NP_NEVER;
	nic_accuse(accused, CAUSE_NP_OFF, sure, nic);
	if (accused->nic == nic)
		nic_accuse_for(accused, "its own counters: CE arrives, and cnp_sent stands still");
}

/* ---- the reaction point ---------------------------------------------------------- */

/* True when the NIC says itself that it ignores CNPs. */
static bool nic_judge_ignored(const struct nic_seen *nic, struct nic_accused *accused)
{
	const double ignored = nic->cnp_ignored.value;
	const double share = ignored / (ignored + nic->cnp_handled.value);
	if (ignored < CNP_MIN || nic->cnp_ignored.restarted || share < IGNORES_SOME)
		return false;
	const double sure = share >= IGNORES_MOST ? SURE_IGNORED : SURE_IGNORED_SOME;
	nic_accuse(accused, CAUSE_DCQCN_OFF, sure, nic);
	if (accused->nic == nic)
		nic_accuse_for(accused,
			"its own counter: CNPs reached it and it ignored them (cnp_ignored)");
	return true;
}

/* 1: its own counter, or captures at its port, show that CNPs reach it; 0: that none does; -1 not
 * known. */
static int nic_reached(const struct nic_bench *bench, const struct nic_seen *nic)
{
	struct host_packets packets;
	if (nic->cnp_received.known && !nic->cnp_received.restarted)
		return nic->cnp_received.value >= CNP_MIN;
	if (!nic->port || !bench->c->in->window->n_flows ||
		!host_packets(bench->c->in->window, nic->port, &packets))
		return -1;
	return packets_cnp_reaches(&packets);
}

/* The host is paused above the floor, by the switch's counters or by the NIC's. */
static bool nic_is_paused(const struct nic_bench *bench, const struct nic_seen *nic,
	const struct nic_accused *accused)
{
	const double told = amount_rate(&nic->prios[bench->c->priority].rx_pause_ns) / 1e9;
	if (told >= bench->options->pause)
		return true;
	const struct port_prio *prio = NULL;
	if (nic->port)
		prio = observed_prio(nic->port, bench->c->priority);
	if (prio)
		return level_counts(bench->c, tx_level(prio), prio->tx_pause.measured);
	return !nic->port && accused->host;
}

/* Is what it sends marked on its way? Its switch marks; or, where that counts no marks, NICs of the
 * fabric receive CE or send CNPs, and the host is paused far more than others. */
static double nic_marked_sure(const struct nic_bench *bench, const struct nic_accused *accused)
{
	const struct congestion *c = bench->c;
	const struct marks *marks = &c->devices[accused->port->port->device->index].marks;
	if (marks->known && !marks->stale) {
		if (marks_ratio(marks) >= bench->options->marks_few)
			return SURE_PAUSED;
		return 0;
	}
	const bool leads = accused->host && c->n_others >= 2 &&
		accused->host->level >= bench->options->singled_out * c->median;
	if (leads)
		return SURE_PAUSED;
	return SURE_PAUSED_UNMARKED;
}

static double nic_paused_sure(const struct nic_bench *bench, const struct nic_seen *nic,
	const struct nic_accused *accused)
{
	/* paused because a host downstream pauses the fabric: not for what it sends */
	if (accused->host && accused->host->explained)
		return 0;
	if (!nic_is_paused(bench, nic, accused))
		return 0;
	return nic_marked_sure(bench, accused);
}

/* Those of a host that does not slow down are at least half of what a sender usually gets, and it
 * sends no less than others. */
static double nic_missing_sure(const struct nic_bench *bench, const struct nic_seen *nic)
{
	const struct nic_cnps *cnps = &bench->trial->cnps;
	const double least = fmax(MISSING, 0.5 / (double)(cnps->handlers + 1));
	if (!(cnps->missing_ratio >= least) || cnps->silent_hosts > SILENT_FEW)
		return 0;
	if (!(nic_sends_bps(nic) >= SENDS_AS_OTHERS * cnps->median_bps))
		return 0;
	if (cnps->silent_hosts > 1)
		return SURE_SEVERAL;
	return SURE_MISSING;
}

static void nic_judge_silence(
	const struct nic_bench *bench, const struct nic_seen *nic, struct nic_accused *accused)
{
	const struct nic_cnps *cnps = &bench->trial->cnps;
	const double by_others = cnps->sent - nic->cnp_sent.value;
	if (!nic_is_silent(cnps, nic) || !cnps->handlers || by_others < SENT_MIN)
		return;
	const int reached = nic_reached(bench, nic);
	if (reached == 0) /* they do not reach it: cnp_lost, by packets */
		return;
	const double paused = nic_paused_sure(bench, nic, accused);
	const double missing = nic_missing_sure(bench, nic);
	double sure = fmax(paused, missing);
	if (paused >= SURE_PAUSED && missing >= SURE_MISSING)
		sure = SURE_BOTH;
	if (reached > 0)
		sure = fmax(sure, SURE_REACHED);
	if (sure <= 0)
		return;
	nic_accuse(accused, CAUSE_DCQCN_OFF, sure, nic);
	if (accused->nic != nic)
		return;
	nic_accuse_for(accused,
		"counters of NICs: receivers send CNPs, other senders handle theirs, this one "
		"none");
	if (reached > 0)
		nic_accuse_for(
			accused, "CNPs reach it: its own counter, or captured packets at its port");
	if (paused > 0)
		nic_accuse_for(accused,
			"its switch pauses it, so what it sends waits in queues that mark");
	if (missing > 0)
		nic_accuse_for(accused,
			"the CNPs that all NICs sent and handled do not add up: those to this host "
			"are missing");
	if (nic->cnp_ignored.known && reached <= 0)
		accused->open = "that CNPs reach its NIC: cnp_ignored stands still too";
}

/* ---- hosts ------------------------------------------------------------------------- */

static const struct paused_host *nic_paused_host(
	const struct congestion *congestion, const struct port_seen *port)
{
	for (size_t i = 0; i < congestion->n_hosts; i++)
		if (str_eq(congestion->hosts[i].host, port->port->host))
			return &congestion->hosts[i];
	return NULL;
}

/* The NICs at @from to @to belong to one host. */
static void nic_judge_host(const struct nic_bench *bench, size_t from, size_t to)
{
	struct nic_trial *trial = bench->trial;
	const struct nic_seen *first = &trial->nics->v[from];
	const struct paused_host *host = nic_paused_host(bench->c, first->host_port);
	struct nic_accused accused = {
		.host = host, .port = host ? host->prio->port : first->host_port};
	for (size_t i = from; i < to; i++) {
		const struct nic_seen *nic = &trial->nics->v[i];
		if (nic->folded)
			continue;
		accused.nics++;
		if (nic->cnp_handled.known || nic->cnp_sent.known || nic->cnp_ignored.known)
			trial->told[first->host_port->port->index] = true;
		if (!nic_judge_ignored(nic, &accused))
			nic_judge_silence(bench, nic, &accused);
		nic_judge_notification(bench, nic, &accused);
	}
	if (!accused.nic)
		return;
	if (!host && accused.nic->port)
		accused.port = accused.nic->port;
	trial->v[trial->n++] = accused;
}

void congestion_nics(const struct congestion *congestion, const struct congestion_options *options,
	struct nic_trial *ret)
{
	*ret = (struct nic_trial){.nics = nics_seen(congestion->in)};
	const struct nic_bench bench = {.c = congestion, .options = options, .trial = ret};
	const struct nics *nics = ret->nics;
	if (!nics->n || !class_marks(congestion->o->fabric, congestion->priority))
		return;
	nic_cnps_of(congestion->in, nics, &ret->cnps);
	ret->v = arena_array(congestion->in->arena, struct nic_accused, nics->n);
	ret->told = arena_array(congestion->in->arena, bool, congestion->o->n_fabric_ports + 1);
	for (size_t i = 0, end; i < nics->n && nics->v[i].host_port; i = end) {
		end = i + 1;
		while (end < nics->n && nics->v[end].host_port == nics->v[i].host_port)
			end++;
		nic_judge_host(&bench, i, end);
	}
	const struct nic_cnps *cnps = &ret->cnps;
	const double arrived = cnps->handled + cnps->ignored + cnps->received;
	ret->lost = cnps->complete && cnps->sent >= LOST_MIN && arrived <= 0 && cnps->n > 2;
}

bool congestion_nic_told(const struct nic_trial *trial, const struct port_seen *port)
{
	if (!trial->told || !port->in_fabric || !port->port->host)
		return false;
	return trial->told[trial->nics->first_of_host[port->port->index]];
}

bool congestion_nic_reacts(const struct congestion *congestion, const struct port_seen *port)
{
	const struct nic_seen *nic = nic_at(nics_seen(congestion->in), port);
	return nic && nic->cnp_handled.value >= CNP_MIN &&
		nic->cnp_handled.value > nic->cnp_ignored.value;
}

/* ---- congestion_hosts ------------------------------------------------------ */

/* congestion_hosts - the signs of a host that is paused, and of a NIC that captures show. */

#define Z_OUTLIER                                                                                  \
	3.5 /* modified z-score: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993 */
#define OTHERS_MIN 2 /* host-facing ports to compare with */
#define RAILS_APART 4 /* planes that agree */
#define SKEW 0.2 /* max/mean - 1, as in ecmp_imbalance */
#define FAIR_EXCESS 0.5 /* above the mean of its group: an uplink that its bytes alone crowd */
#define LINE 0.85 /* utilisation of a window that is line rate, whatever the rhythm */
#define MARKED 0.01 /* of what a queue sent: it is congested, and senders that react slow down */
/* Share of the window, from which pause is more than the start of each burst before the first CNPs
 * arrive. */
#define STRONG_LEVEL 0.01
/* Times the next host: senders of one incast that react were within 1.7 of each other in two packet
 * simulations, one that does not was paused 3 to 10 times as long. */
#define STRONG_TIMES 3.0
#define FAR_TIMES 4.0 /* ... from which a crowded uplink of its leaf does not explain it either */
/*
 * Two hosts of one leaf that lead together share a path, and a path singles out both: where they
 * react they were paused for 1 % of the time and 7 times as long as the next host, in packet
 * simulation; without DCQCN 15 to 27 times as long, or for 6 to 9 % of the time.
 */
#define PAIR_TIMES 10.0
#define PAIR_LEVEL 0.03
#define LEAD_LASTS 1.5 /* times every other host, over the steps that it is watched for */
enum { WATCH_PARTS = 3 }; /* of that time, in each of which it is paused */
#define HEAVY_LOAD 2.0 /* times what the median host sends */

/*
 * Is an uplink of the host's leaf crowded because paths are uneven or missing? Then the path
 * singled the host out, not its NIC. Unknown where the leaf's groups are unknown.
 */
static void host_signs_collision(const struct congestion *congestion,
	const struct congestion_options *options, const struct device_seen *device,
	struct signs *signs)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		const struct port_prio *l = NULL;
		if (p->port->peer)
			l = observed_prio(p, congestion->priority);
		struct group_load g;
		if (!l || !group_measure(congestion, p, &g) || isnan(g.imbalance))
			continue;
		const struct marks m =
			prio_marks(l, (double)congestion->o->fabric->lossless_mtu_bytes);
		const bool crowded = marks_ratio(&m) >= MARKED || p->out.utilization_ratio > LINE;
		sign_set(signs, SKEWED,
			signs->yes & SKEWED ||
				(crowded && (g.imbalance > SKEW || g.live < g.members)));
		sign_set(signs, CROWDED,
			signs->yes & CROWDED ||
				(marks_ratio(&m) >= options->marks && g.imbalance > FAIR_EXCESS));
	}
}

static void host_signs_packets(
	const struct congestion *congestion, const struct port_prio *prio, struct suspect *suspect)
{
	suspect->captured = host_packets(congestion->in->window, prio->port, &suspect->packets);
	const struct {
		enum sign sign;
		int says;
	} said[] = {{CNP_REACHES, packets_cnp_reaches(&suspect->packets)},
		{NO_ECT, packets_lack_ect(&suspect->packets)},
		{NO_CNP, packets_lack_cnp(&suspect->packets)}};
	for (size_t i = 0; suspect->captured && i < rw_countof(said); i++)
		if (said[i].says >= 0)
			sign_set(&suspect->signs, said[i].sign, said[i].says > 0);
	const double line_bps = (double)prio->port->in.capacity_bps;
	const int slows = packets_slow_down(&suspect->packets, line_bps, &suspect->reaction);
	if (slows >= 0) {
		sign_set(&suspect->signs, KEEPS_RATE, slows == 0);
		sign_set(&suspect->signs, SLOWS_DOWN, slows > 0);
	}
}

void suspect_nic(const struct congestion *congestion, const struct congestion_options *options,
	const struct port_prio *prio, struct suspect *ret)
{
	*ret = (struct suspect){.kind = SUSPECT_NIC,
		.device = prio->port->device,
		.prio = prio,
		.q_pfc_bytes = NAN,
		.kmin_bytes = NAN,
		.bdp_bytes = NAN,
		.episode_ns = NAN};
	congestion_signs_common(&ret->signs, congestion, options);
	host_signs_packets(congestion, prio, ret);
	ret->is = signature_match(SUSPECT_NIC, &ret->signs);
}

/*
 * Paused more than every other input of its leaf, so that no uplink stands behind it; or the leader
 * of all hosts on each of several rails: rails share nothing but the host, so the load of one
 * uplink of one rail does not matter.
 */
static bool host_is_ahead(const struct congestion *congestion, const struct paused_host *host)
{
	if (host->level >= 2 * host->at_leaf)
		return true;
	return host == &congestion->hosts[0] && host->rails >= RAILS_APART &&
		host->rails_paused == host->rails && host->level > host->at_leaf &&
		congestion->lead.n == 1;
}

/* One or two hosts lead, and far above what is usual among the others. */
static bool host_leads(const struct congestion *congestion,
	const struct congestion_options *options, const struct paused_host *host)
{
	if ((size_t)(host - congestion->hosts) >= congestion->lead.n ||
		congestion->n_others < OTHERS_MIN)
		return false;
	return host->level >= options->singled_out * congestion->median &&
		host->level - congestion->median > Z_OUTLIER * congestion->spread;
}

static bool hosts_share_leaf(const struct congestion *congestion)
{
	const struct paused_host *hosts = congestion->hosts;
	return congestion->lead.n == 2 &&
		hosts[0].prio->port->device == hosts[1].prio->port->device;
}

/* Is it no more than what a path that both share explains? */
static bool hosts_may_share_path(const struct congestion *congestion)
{
	if (!hosts_share_leaf(congestion) || congestion->lead.times >= PAIR_TIMES)
		return false;
	return congestion->lead.times < FAR_TIMES || congestion->hosts[1].level < PAIR_LEVEL;
}

/* Paused for long and far longer than the next. */
static bool host_is_strong(
	const struct congestion *congestion, const struct paused_host *host, double times)
{
	if (hosts_may_share_path(congestion))
		return false;
	return host->measured && host->level >= STRONG_LEVEL && congestion->lead.times >= times;
}

static void host_signs_compare(const struct congestion *congestion,
	const struct congestion_options *options, const struct paused_host *host,
	struct signs *signs)
{
	const struct lead *lead = &congestion->lead;
	const double load = lead_load(congestion, host);
	sign_set(signs, LEADS, host_leads(congestion, options, host));
	sign_set(signs, AHEAD, host_is_ahead(congestion, host));
	sign_set(signs, ALL_RAILS, host->rails > 1 && host->rails_paused == host->rails);
	sign_set(signs, STRONG, host_is_strong(congestion, host, STRONG_TIMES));
	sign_set(signs, FAR, host_is_strong(congestion, host, FAR_TIMES));
	if (lead->receivers) {
		sign_set(signs, SQUEEZES, lead_squeezes(congestion, host->host));
		const bool brief = host->measured && host->level < STRONG_LEVEL;
		sign_set(signs, BRIEF,
			(brief || hosts_may_share_path(congestion)) &&
				!lead_squeezes(congestion, host->host));
		sign_set(signs, RECEIVER_MARKS, lead->marks_most >= MARKED);
	}
	if (!isnan(load))
		sign_set(signs, HEAVY, load >= HEAVY_LOAD);
}

void suspect_host(const struct congestion *congestion, const struct congestion_options *options,
	const struct paused_host *host, enum suspect_kind kind, struct suspect *ret)
{
	*ret = (struct suspect){.kind = kind,
		.device = host->prio->port->device,
		.prio = host->prio,
		.host = host,
		.marks = congestion->all,
		.q_pfc_bytes = NAN,
		.kmin_bytes = NAN,
		.bdp_bytes = NAN,
		.episode_ns = NAN};
	struct signs *s = &ret->signs;
	congestion_signs_common(s, congestion, options);
	congestion_signs_marks(s, &congestion->all, options);
	/* a counter that never moved proves nothing about marks */
	if (!congestion->all.alive && !congestion->all.on)
		s->yes &= ~(uint32_t)FEW_MARKS;
	sign_set(s, FROM_HOST, host->explained);
	host_signs_compare(congestion, options, host, s);
	host_signs_collision(congestion, options, ret->device, s);
	host_signs_packets(congestion, host->prio, ret);
	/* what its NIC counts weighs more than how it compares */
	if (!(s->known & KEEPS_RATE) && congestion_nic_reacts(congestion, host->prio->port))
		s->yes |= SLOWS_DOWN;
	ret->is = signature_match(kind, s);
}

/* ---- does it last? --------------------------------------------------------- */

/* Share of (from, to] for which we paused the host of @port; NAN where that is not measured. */
static double paused_between(const struct congestion *congestion, const struct port_seen *port,
	int64_t from_ns, int64_t to_ns)
{
	const uint32_t entity = port->prio_entity[congestion->priority];
	const struct series *s = NULL;
	struct increase inc;
	if (congestion->in->past && entity != ENTITY_NONE)
		s = window_series(congestion->in->past, entity, M_PFC_TX_PAUSE_NS);
	if (!s || series_increase(s, from_ns, to_ns, 0, &inc) < 0)
		return NAN;
	return (double)inc.value / (double)inc.covered_ns;
}

static bool host_leads_over(
	const struct congestion *congestion, const struct paused_host *host, int64_t span_ns)
{
	const int64_t to_ns = congestion->in->window->to_ns;
	const double own = paused_between(congestion, host->prio->port, to_ns - span_ns, to_ns);
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *port = &congestion->o->ports[i];
		bool leads_too = !port->port->host;
		for (size_t k = 0; k < congestion->lead.n && !leads_too; k++)
			leads_too = str_eq(congestion->hosts[k].host, port->port->host);
		if (leads_too)
			continue;
		const double other = paused_between(congestion, port, to_ns - span_ns, to_ns);
		if (own < LEAD_LASTS * other)
			return false;
	}
	return !isnan(own);
}

bool host_lasts(const struct congestion *congestion, const struct paused_host *host)
{
	const struct window *window = congestion->in->window;
	const int64_t length_ns = window->to_ns - window->from_ns;
	const int64_t step_ns = step_seen(congestion->in, host->prio->port, window->to_ns);
	const int64_t watch_ns = step_watch_ns(congestion->in, step_ns);
	if (watch_ns <= length_ns)
		return true;
	/* frames say too little over a longer time */
	if (!host->measured)
		return step_ns && STEP_WATCH_STEPS * step_ns <= length_ns;
	for (int k = 0; k < WATCH_PARTS; k++) {
		const int64_t to_ns = window->to_ns - watch_ns * k / WATCH_PARTS;
		const double paused = paused_between(
			congestion, host->prio->port, to_ns - watch_ns / WATCH_PARTS, to_ns);
		if (!(paused > 0))
			return false;
	}
	return host_leads_over(congestion, host, watch_ns);
}

/* ---- proof ------------------------------------------------------------------ */

/* Packets of a host's port show that its rate stays as it is after CNPs. */
static bool nics_prove(
	const struct congestion *congestion, const struct congestion_options *options)
{
	if (!congestion->in->window->n_flow_hosts)
		return false;
	for (size_t i = 0; i < congestion->o->n_fabric_ports; i++) {
		const struct port_seen *port = &congestion->o->ports[i];
		const struct port_prio *prio = NULL;
		struct suspect s;
		if (port->port->host)
			prio = observed_prio(port, congestion->priority);
		if (!prio)
			continue;
		suspect_nic(congestion, options, prio, &s);
		if (s.signs.yes & KEEPS_RATE)
			return true;
	}
	return false;
}

bool hosts_prove(const struct congestion *congestion, const struct congestion_options *options)
{
	if (nics_prove(congestion, options))
		return true;
	for (size_t i = 0; i < congestion->lead.n; i++) {
		struct suspect s;
		suspect_host(congestion, options, &congestion->hosts[i], SUSPECT_HOST, &s);
		if (s.is)
			return true;
	}
	return false;
}
