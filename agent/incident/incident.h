/*
 * incident - what is known of one fault: its life, what it says, what it costs, what happened to
 * it. A noun: the ledger owns and changes it, everybody else reads it.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/cost.h"
#include "config/fabric.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

struct config;

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

/*
 * incident_action - what people do to an incident, by the words of 'rocewatch incident' and of the
 * agent's socket.
 */

enum incident_action { ACTION_ACK, ACTION_ASSIGN, ACTION_NOTE, ACTION_CLOSE, ACTION_MERGE };

/* incident_action_parse - 0, or -EINVAL when @word (NULL is fine) is no such action. */
int incident_action_parse(const char *word, enum incident_action *ret);

/* incident_action_error - why ledger_action() refused, as a sentence; @error is what it returned.
 */
const char *incident_action_error(int error);

/*
 * subject - is what an incident is about still there, by the fabric's configuration? For the
 * ledger: of a subject that is not there no finding comes any more.
 */

/*
 * subject_gone - why no finding can come for the incident any more, as a sentence for its timeline;
 * NULL: as far as the fabric says, one can. What is not known proves nothing: a device without any
 * link may have links that were not discovered yet.
 */
const char *subject_gone(const struct fabric *fabric, const struct incident *incident);

/* subject_job_gone - the same for an incident about a job that @fabric does not have. Not at a
 * start, when the scheduler's files were not read yet. */
const char *subject_job_gone(const struct fabric *fabric, const struct incident *incident);

/*
 * incident_headline - an incident in one line for lists, walls and pagers: at most 60 columns, the
 * subject first: "node-010 pauses leaf2:Ethernet2 100 % of the time". It is the template of the
 * cause's row (db/model/cause.def), filled with the incident's own values:
 *
 *      {device} {host} {group}   of the subject; for several devices {device} is "8 switches"
 *      {port} {member}           as "leaf1:Ethernet49"
 *      {place}                   the port, else the device, else the group, else "the fabric"
 *      {job}                     of a group "job:NAME"
 *      {rx_pause} {tx_pause}     share of the time, "at most" where only frames were counted
 *      {fair_share}              1 + imbalance of the ECMP group
 *      {summary}                 the first part of the finding's own sentence
 *      {METRIC}                  the first evidence of that name, with its unit
 *
 *      [...]   is left out when a value in it is not known, or when the line would be too long
 *      a|b     b is taken where a value that a needs is not known
 *
 * Pure; any thread.
 */

enum { INCIDENT_HEADLINE_MAX = 60 }; /* columns */

/* incident_headline - of an incident. Never NULL; the caller frees it. Its document has the same
 * text as "headline". */
char *incident_headline(const struct incident *incident);

/* runbook_link - where a person finds the runbook of a cause. */

/*
 * runbook_link_add - adds to @out the address of the runbook of @cause (a word of cause.def):
 * @pattern with {cause} replaced (alerts.runbook_url), else the page below @web_url
 * (alerts.web_url), else the command that prints it, "rocewatch runbook CAUSE". Both may be NULL.
 */
void runbook_link_add(struct str *out, const char *pattern, const char *web_url, const char *cause);

/* runbook_link_of - the same by the keys of @config, which may be NULL. The caller frees it. */
char *runbook_link_of(const struct config *config, const char *cause);
