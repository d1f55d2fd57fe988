/* congestion_nic_finding - the findings of congestion_nic.c: sentence, evidence, roles. */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/number.h"
#include "agent/base/str.h"
#include "analyzers/detect/congestion_nic.h"
#include "analyzers/detect/nic_finding.h"
#include "analyzers/finding_build.h"

#define CRITICAL_PAUSE 0.05 /* as in congestion_finding.c */
#define PROVEN 0.95
#define SURE_LOST 0.9
#define SURE_LOST_OR_OFF 0.7 /* no NIC tells whether it ignores CNPs */

static const char *nic_rails_text(const struct nic_accused *accused, struct arena *a)
{
	if (accused->nics < 2)
		return "";
	return arena_printf(a, " on %u of %u NICs", accused->guilty, accused->nics);
}

static const char *nic_pause_words(const struct nic_accused *accused, struct arena *a)
{
	if (!accused->host || !accused->host->measured)
		return "";
	return arena_printf(
		a, ", and we paused it %.1f %% of the time", 100 * fmin(1, accused->host->level));
}

static const char *nic_dcqcn_text(
	const struct nic_trial *trial, const struct nic_accused *accused, struct arena *a)
{
	const struct nic_seen *nic = accused->nic;
	const char *host = accused->port->port->host;
	if (nic->cnp_ignored.value > 0)
		return arena_printf(a,
			"%s ignores CNPs%s: %s of %s that reached NIC %s were ignored%s", host,
			nic_rails_text(accused, a), number_count_of(nic->cnp_ignored.value).s,
			number_count_of(nic->cnp_ignored.value + nic->cnp_handled.value).s,
			nic->name, nic_pause_words(accused, a));
	return arena_printf(a,
		"%s does not slow down for CNPs%s: cnp_handled of NIC %s stands still while it "
		"sends %s; receivers sent %s CNPs, %zu other NICs handled %s%s",
		host, nic_rails_text(accused, a), nic->name, bitrate_text(nic_sends_bps(nic), a),
		number_count_of(trial->cnps.sent).s, trial->cnps.handlers,
		number_count_of(trial->cnps.handled).s, nic_pause_words(accused, a));
}

static const char *nic_np_text(const struct nic_accused *accused, struct arena *a)
{
	const struct nic_seen *nic = accused->nic;
	return arena_printf(a,
		"%s does not answer CE marks%s: %s packets with CE reached NIC %s, and it sent "
		"no "
		"CNP",
		accused->port->port->host, nic_rails_text(accused, a),
		number_count_of(nic->ce_received.value).s, nic->name);
}

static void nic_prove_all(struct draft *draft, const struct nic_seen *nic)
{
	nic_prove(draft, nic, "nic.cnp_handled", &nic->cnp_handled, "packets");
	nic_prove(draft, nic, "nic.cnp_ignored", &nic->cnp_ignored, "packets");
	nic_prove(draft, nic, "nic.cnp_received", &nic->cnp_received, "packets");
	nic_prove(draft, nic, "nic.ce_received", &nic->ce_received, "packets");
	nic_prove(draft, nic, "nic.cnp_sent", &nic->cnp_sent, "packets");
}

/* The receivers that sent most CNPs, without those of @host. */
static void nic_prove_receivers(
	struct draft *draft, const struct nics *nics, const struct port_seen *host)
{
	enum { SHOWN = 3 };
	const struct nic_seen *most[SHOWN] = {0};
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		if (!nic->host_port || nic->folded || nic->cnp_sent.value <= 0)
			continue;
		if (host && str_eq(nic->host_port->port->host, host->port->host))
			continue;
		for (size_t k = 0; k < SHOWN; k++) {
			if (most[k] && most[k]->cnp_sent.value >= nic->cnp_sent.value)
				continue;
			const struct nic_seen *less = most[k];
			most[k] = nic;
			nic = less;
			if (!nic)
				break;
		}
	}
	for (size_t k = 0; k < SHOWN && most[k]; k++) {
		nic_prove(draft, most[k], "nic.ce_received", &most[k]->ce_received, "packets");
		nic_prove(draft, most[k], "nic.cnp_sent", &most[k]->cnp_sent, "packets");
	}
}

static void nic_prove_sums(struct draft *draft, const struct nic_cnps *cnps)
{
	const struct {
		const char *metric;
		size_t known;
		double value;
	} sums[] = {{"nic.cnp_sent", cnps->sent_known, cnps->sent},
		{"nic.cnp_handled", cnps->handled_known, cnps->handled},
		{"nic.cnp_ignored", cnps->ignored_known, cnps->ignored}};
	for (size_t i = 0; i < rw_countof(sums); i++)
		if (sums[i].known)
			finding_evidence_at(draft, sums[i].metric, NULL, NULL, PRIO_NONE,
				sums[i].value, "packets", QUALITY_EXACT);
}

static enum severity nic_severity(const struct nic_accused *accused)
{
	if (accused->host && accused->host->measured && accused->host->level >= CRITICAL_PAUSE)
		return SEV_CRITICAL;
	return SEV_WARNING;
}

static void nic_add_reasons(struct draft *draft, const struct congestion *congestion,
	const struct nic_trial *trial, const struct nic_accused *accused)
{
	const struct port_prio *prio = observed_prio(accused->port, congestion->priority);
	for (unsigned i = 0; i < accused->n_rests_on; i++)
		finding_rests_on(draft, "%s", accused->rests_on[i]);
	if (trial->cnps.silent_hosts > 1 && accused->cause == CAUSE_DCQCN_OFF &&
		accused->nic->cnp_ignored.value <= 0)
		finding_against(draft, "%zu hosts handle no CNP", trial->cnps.silent_hosts);
	if (accused->open)
		finding_unproved(draft, "%s", accused->open);
	if (accused->guilty > 1 && accused->guilty == accused->nics)
		finding_ruled_out(
			draft, "cable or port: all %u NICs of the host show it", accused->nics);
	draft->f->confidence_ratio = accused->confidence;
	/* not resting on pause time: a contradiction is said and costs no confidence */
	if (prio)
		nic_check_pause(draft, congestion->in, prio);
}

void congestion_nic_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	const struct nic_accused *accused, struct finding_list *out)
{
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	finding_subject(&t, accused->port);
	t.f->priority = congestion->priority;
	t.f->cause = accused->cause;
	t.f->severity = nic_severity(accused);
	t.f->value = 1;
	t.f->warn = 1;
	t.f->proven = accused->confidence >= PROVEN;
	t.f->coverage_ratio = observed_coverage(accused->port);
	if (accused->cause == CAUSE_NP_OFF)
		t.f->summary = nic_np_text(accused, t.a);
	else
		t.f->summary = nic_dcqcn_text(trial, accused, t.a);
	nic_prove_all(&t, accused->nic);
	if (accused->cause == CAUSE_DCQCN_OFF) {
		nic_prove_sums(&t, &trial->cnps);
		nic_prove_receivers(&t, trial->nics, accused->port);
	}
	finding_evidence_at(&t, "nic.out_bps", accused->nic->host, accused->nic->name, PRIO_NONE,
		nic_sends_bps(accused->nic), "bit/s", QUALITY_EXACT);
	nic_add_reasons(&t, congestion, trial, accused);
	finding_add_role(&t, "culprit", "%s", accused->port->port->host);
	finding_steps(&t, accused->cause, 0);
}

void congestion_nic_lost(const struct congestion *congestion,
	const struct congestion_options *options, const struct nic_trial *trial,
	struct finding_list *out)
{
	const struct nic_cnps *cnps = &trial->cnps;
	struct draft t =
		finding_new(out, congestion->in, "congestion", FINDING_OVER, options->hold);
	t.f->priority = congestion->priority;
	t.f->cause = CAUSE_CNP_LOST;
	t.f->severity = SEV_WARNING;
	t.f->value = 1;
	t.f->warn = 1;
	t.f->summary = arena_printf(t.a,
		"CNPs do not arrive: receivers sent %s, and none of %zu NICs handled or received "
		"one",
		number_count_of(cnps->sent).s, cnps->n);
	nic_prove_sums(&t, cnps);
	nic_prove_receivers(&t, trial->nics, NULL);
	finding_rests_on(&t, "counters of all NICs of the fabric: CNPs sent and handled");
	t.f->confidence_ratio = SURE_LOST;
	if (cnps->received_known < cnps->n && cnps->ignored_known < cnps->n) {
		t.f->confidence_ratio = SURE_LOST_OR_OFF;
		finding_unproved(&t,
			"that the reaction points are on: not every NIC counts the CNPs it "
			"ignores");
	} else {
		finding_ruled_out(&t, "reaction points that are off: no NIC ignored a CNP");
	}
	if (!cnps->handled_alive && cnps->received_known == 0)
		finding_unproved(&t, "that these NICs count CNPs they handle: none ever did");
	finding_add_role(&t, "culprit", "path of CNPs");
	finding_steps(&t, CAUSE_CNP_LOST, 0);
}
