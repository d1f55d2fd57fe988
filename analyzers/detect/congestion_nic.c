/* congestion_nic - judges the two ends of DCQCN by the counters of NICs. */
#include "analyzers/detect/congestion_nic.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "config/class_policy.h"

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
