/*
 * incident_list - incidents as a list, worst first:
 * `{incidents: [incident with age_s], open, closed, filtered}`. "open" and "closed" count what the
 * filter lets through. Without --state, --all or a time range the document holds all incidents that
 * were ever opened, and "filtered" is false; the text then shows the open ones.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/answers/common/report_frame.h"
#include "db/model/cause.h"

/* Borrowed; NULL: any. */
struct incident_filter {
	const char *state; /* open (clearing included), clearing, closed; several with commas */
	const char *severity; /* this one or worse */
	const char *cause; /* a glob of the word */
	/* globs. A device or host is meant when it is the subject or a culprit, not a victim */
	const char *device, *host, *job;
	bool all; /* closed ones too */
};

/* incident_list_document - 0 with a new reference in *@ret; -EINVAL when the filter names something
 * that does not exist; another negative errno; @e says why. */
int incident_list_document(
	struct client *client, const struct incident_filter *filter, json_t **ret, struct err *e);

/*
 * report_incidents - the incidents of a report's time range: what each was at the end of the range,
 * whether it began or ended in it, and what it cost. The prices are those of the incidents
 * themselves, as every other surface shows them.
 */

/* What was measured over a limit in a report's range. */
struct report_over {
	bool own; /* over a limit that a user gave: his judgement, which decides */
	enum report_state state; /* by the limits */
	const char *cause; /* as report_problem() takes it */
	const enum cause *causes; /* an incident of one of these would be about it */
	const char *device, *port; /* port: NULL where the whole device is meant */
	const char *peer; /* "spine1:Ethernet2" at the other end of the link; NULL */
};

/*
 * report_incidents - those that overlap the client's time range and whose cause is in @causes
 * (ended by CAUSE_NONE; NULL: all), worst first:
 *
 *   [{id, cause, severity, state: "open|clearing|closed", opened, closed, age_s, where, headline,
 *     confidence_ratio, usd_per_hour, usd_total, usd_in_range, parent, jobs, roles, acked_by,
 * ack_note, assigned_to, silenced, opened_in_range, closed_in_range}]
 *
 * State, severity, acked_by and assigned_to are as of the end of the range. usd_in_range is the
 * part of usd_total that falls into the range, in proportion to time; null without a price. A new
 * reference, NULL with @e.
 */
json_t *report_incidents(struct client *client, const enum cause *causes, struct err *e);

/* report_incidents_about - drops those of @incidents in which no device that matches @device (a
 * glob; NULL: all) has a role. */
void report_incidents_about(json_t *incidents, const char *device);

/* report_incidents_problems - a problem in @doc for each that is critical or a warning, and that
 * nobody silenced. */
void report_incidents_problems(json_t *doc, const json_t *incidents);

/*
 * report_incidents_over - a problem in @doc for @over, after report_incidents_problems(). What
 * lasts opens an incident, see agent/answers/status/verdict.h: one of @incidents that names the
 * place and is a problem itself says it all; without one it is in order, and the text says so.
 */
void report_incidents_over(json_t *doc, const json_t *incidents, const struct report_over *over,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* report_incidents_usd - the sum of usd_in_range; one that another of the list explains does not
 * count again. NAN where none has a price; 0 without incidents. */
double report_incidents_usd(const json_t *incidents);

/* report_incidents_open_since - when the first of @cause opened that is not closed at the end of
 * the range, ns; INT64_MAX: none is open. */
int64_t report_incidents_open_since(const json_t *incidents, enum cause cause);

/* report_incidents_count - how many began and ended in the range. */
struct incidents_counted {
	size_t opened, closed;
};
struct incidents_counted report_incidents_count(const json_t *incidents);

/* report_client - @client, over its own time range as if somebody had named it: documents then keep
 * to that range. Borrows; nothing is to be freed. */
struct client report_client(const struct client *client);
