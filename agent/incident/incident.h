/*
 * incident - what is known of one fault: its life, what it says, what it costs, what happened to
 * it. A noun: the ledger owns and changes it, everybody else reads it.
 */
#ifndef RW_INCIDENT_INCIDENT_H
#define RW_INCIDENT_INCIDENT_H

#include <stddef.h>
#include <stdint.h>
#include "agent/incident/cost.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

enum incident_state { INCIDENT_PENDING, INCIDENT_OPEN, INCIDENT_CLEARING, INCIDENT_CLOSED };
const char *incident_state_name(enum incident_state state);

/* A text with its time. */
struct incident_line {
	int64_t t_ns;
	const char *text;
};

/* Another fault that this incident explains, and that therefore has no incident of its own. */
struct incident_also {
	enum cause cause;
	const char *device, *port, *host, *group, *summary;
};

struct incident {
	char id[9];
	enum incident_state state;
	enum cause cause;
	const char *analyzer, *device, *port, *host, *group, *member, *summary;
	int priority;
	enum severity severity;
	/* first: start of the first raised window; opened: end of the window that opened it */
	int64_t first_ns, opened_ns, closed_ns, updated_ns;
	uint32_t raised, clear; /* windows in a row whose finding was OVER, or UNDER */
	uint32_t windows; /* raised ones since .first_ns */
	double usd_per_hour, usd_total, confidence_ratio, explained_ratio, coverage_ratio, value,
		warn;

	/* What it says, from the strongest raised window. */
	const struct finding_flow *flows;
	size_t n_flows;
	const struct finding_role *roles;
	size_t n_roles;
	const struct evidence *evidence;
	size_t n_evidence;
	const struct next_step *next_steps;
	size_t n_next_steps;
	const struct finding_reason *reasons;
	size_t n_reasons;
	const char *const *ruled_out;
	size_t n_ruled_out;

	/* Who waits because of it, and what that costs, as of the newest raised window. */
	const char *const *jobs;
	size_t n_jobs;
	uint64_t gpus_affected;
	const struct cost_loss *losses;
	size_t n_losses;

	/* What happened. */
	struct incident_line *timeline; /* oldest first; lines from the middle may be left out */
	size_t n_timeline;
	const char **changed_before; /* changes shortly before .first_ns, as sentences */
	size_t n_changed_before;
	struct incident_also *also;
	size_t n_also;
	const char *parent; /* id of the incident that explains this one, NULL */
	const char *acked_by, *ack_note, *assigned_to; /* NULL: nobody did */

	/* while the change is published: the line added to the timeline, NULL when only numbers
	 * moved; and its time */
	const char *note;
	int64_t note_ns;
};

/* incident_compare - worst first: severity, then money per hour times confidence, then confidence,
 * then the older one, then id. For qsort of pointers. */
int incident_compare(const struct incident *left, const struct incident *right);

#endif
