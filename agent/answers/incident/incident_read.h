/*
 * incident_read - incidents as the database holds them, for documents: by id, by time, and those
 * that are open at the time a state is asked for. One thread at a time.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/shape.h"

struct client;
struct config;

/* ---- a document as a struct: what is not known is "", NAN or COUNT_UNKNOWN ---- */

struct told_flow {
	const char *src, *dst, *device, *port;
	double src_port, octets;
	uint64_t dst_qp;
};
struct told_subject {
	const char *device, *port, *host, *group, *member;
	struct told_flow *flows;
	size_t n_flows;
	int priority; /* below 0: none */
};
struct told_role {
	const char *entity, *role;
};
struct told_evidence {
	const char *metric, *device, *port, *to, *unit, *quality;
	double value;
};
struct told_step {
	const char *text, *risk;
};
struct told_command {
	const char *where, *command, *effect, *risk;
};
struct told_loss {
	const char *job, *measured_at, *since;
	double loss_ratio, error_ratio, step_before_s, step_s;
};
struct told_also {
	const char *cause, *device, *group, *summary;
};
struct told_line {
	const char *t, *text;
};
struct incident_told {
	const char *id, *cause, *severity, *state, *headline, *summary;
	const char *first, *opened, *closed; /* RFC 3339 */
	struct told_subject subject;
	struct told_role *roles;
	size_t n_roles;
	double confidence_ratio, coverage_ratio, usd_per_hour, usd_total, explained_ratio, age_s;
	const char **reasons_for, **reasons_against, **not_proved, **ruled_out, **changed_before,
		**ranks;
	size_t n_reasons_for, n_reasons_against, n_not_proved, n_ruled_out, n_changed_before,
		n_ranks;
	uint64_t windows, gpus_affected;
	struct told_evidence *evidence;
	size_t n_evidence;
	const char **jobs;
	size_t n_jobs;
	struct told_loss *loss;
	size_t n_loss;
	struct told_step *next_steps;
	size_t n_next_steps;
	struct told_also *also;
	size_t n_also;
	struct told_line *timeline;
	size_t n_timeline;
	const char *parent, *acked_by, *ack_note, *assigned_to;
	/* what is not stored, but told of it */
	const char *silenced, *where, *runbook;
	struct told_command *commands;
	size_t n_commands;
	const char *role; /* of the one who asks whom to blame */
	double usd_in_range; /* of reports, as the next two */
	bool opened_in_range, closed_in_range;
	uint64_t parts; /* of its family (incident_view.h); in no document */
	const json_t *tree; /* the document, borrowed */
};
extern const struct shape incident_told_shape;

/* incident_told - of a document, stored or public; in @a, and .tree is lent. */
struct incident_told *incident_told(const json_t *incident, struct arena *a);
/* incidents_told - the same of an array. */
struct incident_told *incidents_told(const json_t *incidents, struct arena *a, size_t *ret_n);

/*
 * incidents_load - those whose id begins with @id; with @id NULL those that overlap the time range
 * (all that were ever opened, when nobody named a range). Worst first: severity, then money per
 * hour times confidence, then confidence, then the older, then id. As they are stored, with
 * "silenced": null, or by whom, until when and why its alerts are kept back now, or at the end of
 * the time range. A new reference; NULL with @e filled.
 */
json_t *incidents_load(struct client *client, const char *id, struct err *e);

/* incident_id_is_plain - could @id be an incident's id, or its beginning? Only such a text may go
 * into a query. */
bool incident_id_is_plain(const char *id);

/* incident_find - the one incident whose id begins with @id, as it is stored: a new reference in
 * *@ret. -EINVAL: @id is no id; -ENOENT: none or several begin so; another negative errno; @e
 * says why. */
int incident_find(struct client *client, const char *id, json_t **ret, struct err *e);

/* incident_id_of - of a document, which lends it; NULL where it is damaged. */
const char *incident_id_of(const json_t *incident);
/* incident_headline_of - the headline of a stored document; its cause where the document is damaged
 * and has none. Of the document. */
const char *incident_headline_of(const json_t *incident);

/* incident_public - a copy of its document without what only the agent needs, with "where": the
 * place in one word, "headline", and "runbook": its address, or the command that prints it
 * (incident.h), by the keys of @config, which may be NULL; a new reference. */
json_t *incident_public(const struct config *config, const struct incident_told *incident);

/* incident_is_open - open or clearing. */
bool incident_is_open(const struct incident_told *incident);
/* incident_time_ns - of a time of a document; @otherwise_ns where it is not known. */
int64_t incident_time_ns(const char *text, int64_t otherwise_ns);
/* incident_age - how many seconds it has been open at @now_ns; of a closed one, how long it was. A
 * new reference, null when that is not known. */
json_t *incident_age(const struct incident_told *incident, int64_t now_ns);

/* ---- what is open ------------------------------------------------------------ */

/*
 * incidents_open - rows {id, cause, severity, state, opened, device, port, group, host, summary,
 * acked_by, usd_per_hour, usd_total, confidence_ratio, document} of what is open at @client->at_ns,
 * worst first: severity, then money times confidence, then confidence. "document" is the stored
 * incident (an object; {} where it cannot be read). For the past, state, severity, acked_by and the
 * document are as incident_as_of() says; its money is what the stored row says today. A new
 * reference, or NULL with @e.
 */
json_t *incidents_open(struct client *client, struct err *e);

/*
 * incident_as_of - changes the stored document of an incident to what it said at @at_ns, by its
 * timeline: state, severity, acked_by, assigned_to; later lines and the closing are cut off. What
 * the timeline does not say becomes null. False when it was not open then. Pure.
 */
bool incident_as_of(json_t *document, int64_t at_ns);
