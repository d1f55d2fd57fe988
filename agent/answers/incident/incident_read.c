/*
 * incident_read - incidents from the database: found by time or id, sorted worst first, without
 * what only the agent needs; those that are open, or were at a past time.
 */
#include "agent/answers/incident/incident_read.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident.h"
#include "agent/incident/silence.h"
#include "db/series/history.h"

/* ---- the document as a struct ---------------------------------------------- */

/* A text of the document that may be missing: "" then. */
#define SAID(m) TEXT(m, "", .known = true)

#define SHAPE struct told_flow
static const struct field told_flow_fields[] = {
	SAID(src),
	SAID(dst),
	NUMBER(src_port, UNIT_NONE, ""),
	COUNT(dst_qp, ""),
	SAID(device),
	SAID(port),
	NUMBER(octets, UNIT_NONE, ""),
};
static SHAPE_OF(told_flow, "flow", "");
#undef SHAPE

#define SHAPE struct told_subject
static const struct field told_subject_fields[] = {
	SAID(device),
	SAID(port),
	PRIORITY(priority, ""),
	SAID(host),
	SAID(group),
	SAID(member),
	ROWS(flows, told_flow, ""),
};
static SHAPE_OF(told_subject, "subject", "");
#undef SHAPE

#define SHAPE struct told_role
static const struct field told_role_fields[] = {SAID(entity), SAID(role)};
static SHAPE_OF(told_role, "role", "");
#undef SHAPE

#define SHAPE struct told_evidence
static const struct field told_evidence_fields[] = {
	SAID(metric),
	SAID(device),
	SAID(port),
	SAID(to),
	NUMBER(value, UNIT_NONE, ""),
	SAID(unit),
	SAID(quality),
};
static SHAPE_OF(told_evidence, "evidence", "");
#undef SHAPE

#define SHAPE struct told_step
static const struct field told_step_fields[] = {SAID(text), SAID(risk)};
static SHAPE_OF(told_step, "step", "");
#undef SHAPE

#define SHAPE struct told_command
static const struct field told_command_fields[] = {
	SAID(where), SAID(command), SAID(effect), SAID(risk)};
static SHAPE_OF(told_command, "command", "");
#undef SHAPE

#define SHAPE struct told_loss
static const struct field told_loss_fields[] = {
	SAID(job),
	SAID(measured_at),
	SAID(since),
	NUMBER(loss_ratio, UNIT_RATIO, ""),
	NUMBER(error_ratio, UNIT_RATIO, ""),
	NUMBER(step_before_s, UNIT_SECONDS, ""),
	NUMBER(step_s, UNIT_SECONDS, ""),
};
static SHAPE_OF(told_loss, "loss", "");
#undef SHAPE

#define SHAPE struct told_also
static const struct field told_also_fields[] = {
	SAID(cause), SAID(device), SAID(group), SAID(summary)};
static SHAPE_OF(told_also, "also", "");
#undef SHAPE

#define SHAPE struct told_line
static const struct field told_line_fields[] = {SAID(t), SAID(text)};
static SHAPE_OF(told_line, "line", "");
#undef SHAPE

#define SHAPE struct incident_told
static const struct field incident_told_fields[] = {
	SAID(id),
	SAID(cause),
	SAID(severity),
	SAID(state),
	SAID(headline),
	SAID(summary),
	SAID(first),
	SAID(opened),
	SAID(closed),
	PART(subject, told_subject, ""),
	ROWS(roles, told_role, ""),
	NUMBER(confidence_ratio, UNIT_RATIO, ""),
	TEXTS(reasons_for, ""),
	TEXTS(reasons_against, ""),
	TEXTS(not_proved, ""),
	COUNT(windows, "", .unknown = true),
	ROWS(evidence, told_evidence, ""),
	NUMBER(coverage_ratio, UNIT_RATIO, ""),
	TEXTS(jobs, ""),
	COUNT(gpus_affected, ""),
	NUMBER(usd_per_hour, UNIT_USD, ""),
	NUMBER(usd_total, UNIT_USD, ""),
	NUMBER(explained_ratio, UNIT_RATIO, ""),
	ROWS(loss, told_loss, ""),
	TEXTS(ruled_out, ""),
	TEXTS(changed_before, ""),
	TEXTS(ranks, ""),
	ROWS(next_steps, told_step, ""),
	SAID(parent),
	ROWS(also, told_also, ""),
	SAID(acked_by),
	SAID(ack_note),
	ROWS(timeline, told_line, ""),
	SAID(assigned_to),
	SAID(silenced),
	SAID(where),
	SAID(runbook),
	NUMBER(age_s, UNIT_SECONDS, ""),
	ROWS(commands, told_command, ""),
	SAID(role),
	NUMBER(usd_in_range, UNIT_USD, ""),
	FLAG(opened_in_range, ""),
	FLAG(closed_in_range, ""),
};
SHAPE_OF(incident_told, "incident", "");
#undef SHAPE

static void told_read(const json_t *incident, struct arena *a, struct incident_told *ret)
{
	shape_read(&incident_told_shape, incident, a, ret);
	ret->tree = incident;
}

struct incident_told *incident_told(const json_t *incident, struct arena *a)
{
	struct incident_told *ret = arena_new_of(a, struct incident_told);
	told_read(incident, a, ret);
	return ret;
}

struct incident_told *incidents_told(const json_t *incidents, struct arena *a, size_t *ret_n)
{
	const size_t n = json_array_size(incidents);
	struct incident_told *ret = arena_array(a, struct incident_told, n + 1);
	for (size_t k = 0; k < n; k++)
		told_read(json_array_get(incidents, k), a, &ret[k]);
	*ret_n = n;
	return ret;
}

/* ---- what everybody may see ------------------------------------------------ */

/* Where, in one word: "leaf1:Ethernet49", "node-047 (leaf1:Ethernet47 and 7 more)" is for the card;
 * here the nearest to the root. */
static char *incident_read_where_of(const struct told_subject *subject)
{
	struct str w = {0};
	str_add(&w, subject->host);
	if (*subject->host && *subject->device)
		str_add(&w, " ");
	str_add(&w, subject->device);
	if (*subject->port || *subject->member)
		str_addf(&w, ":%s", *subject->port ? subject->port : subject->member);
	if (*subject->group)
		str_addf(&w, " %s", subject->group);
	return w.s;
}

const char *incident_id_of(const json_t *incident)
{
	return json_string_value(json_object_get(incident, "id"));
}

const char *incident_headline_of(const json_t *incident)
{
	const char *headline = doc_word(incident, "headline");
	return *headline ? headline : doc_word(incident, "cause");
}

json_t *incident_public(const struct config *config, const struct incident_told *incident)
{
	rw_cleanup(freep) char *where = incident_read_where_of(&incident->subject);
	json_t *o = json_copy((json_t *)incident->tree);
	json_object_del(o, "progress");
	json_object_set_new(o, "where", json_string(where));
	json_object_set_new(o, "headline",
		json_string_or_null(*incident->headline ? incident->headline : incident->cause));
	rw_cleanup(freep) char *runbook = runbook_link_of(config, incident->cause);
	json_object_set_new(o, "runbook", json_string_or_null(runbook));
	return o;
}

/* ---- order --------------------------------------------------------------- */

static enum severity incident_read_severity_of(const struct incident_told *incident)
{
	for (int k = SEV_CRITICAL; k > SEV_INFO; k--) {
		if (str_eq(severity_name((enum severity)k), incident->severity))
			return (enum severity)k;
	}
	return SEV_INFO;
}

static struct incident incident_read_rank_of(const struct incident_told *told)
{
	struct incident i = {.severity = incident_read_severity_of(told),
		.usd_per_hour = told->usd_per_hour,
		.confidence_ratio = told->confidence_ratio};
	snprintf(i.id, sizeof(i.id), "%s", told->id);
	return i;
}

static int worst_first(const void *left, const void *right)
{
	const struct incident_told *x = left, *y = right;
	struct incident i = incident_read_rank_of(x), k = incident_read_rank_of(y);
	/* RFC 3339 in UTC sorts as text */
	i.opened_ns = strcmp(x->opened, y->opened);
	return incident_compare(&i, &k);
}

/* ---- from the database --------------------------------------------------- */

static int incident_read_take(void *arg, int n, char *const *values, char *const *names)
{
	json_t *o = NULL;
	if (n == 1 && values[0])
		o = json_outside(values[0], strlen(values[0]), 0, NULL);
	if (json_is_object(o))
		json_array_append_new(arg, o);
	else
		json_decref(o);
	return 0;
}

/* "silenced": null, or by whom, until when and why its alerts are kept back now, or at the end of
 * the time range. */
static int incidents_mark_silenced(
	struct client *client, const struct incident_told *incidents, size_t n, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	int64_t at_ns = client->now_ns;
	if (client->range_given && client->to_ns < at_ns)
		at_ns = client->to_ns;
	const int rc = silences_load(client->history, &silences, e);
	for (size_t k = 0; k < n && rc == 0; k++) {
		const struct silence *silence = NULL;
		if (!str_eq(incidents[k].state, "closed"))
			silence = silence_match_json(&silences, incidents[k].tree, at_ns);
		rw_cleanup(str_done) struct str text = {0};
		if (silence)
			silence_text(&text, silence);
		json_object_set_new(
			(json_t *)incidents[k].tree, "silenced", json_string_or_null(text.s));
	}
	return rc;
}

json_t *incidents_load(struct client *client, const char *id, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *v = json_array(), *sorted = NULL;
	size_t n;
	str_add(&sql,
		"SELECT json FROM incidents WHERE opened_ns IS NOT NULL AND json IS NOT NULL");
	if (id)
		str_addf(&sql, " AND lower(id) LIKE lower('%s%%')", id);
	else if (client->range_given)
		str_addf(&sql,
			" AND opened_ns <= %lld AND (closed_ns IS NULL OR closed_ns >= %lld)",
			(long long)client->to_ns, (long long)client->from_ns);
	if (history_sql(client->history, sql.s, incident_read_take, v, e) == 0) {
		struct incident_told *incidents = incidents_told(v, a, &n);
		if (incidents_mark_silenced(client, incidents, n, e) == 0) {
			qsort(incidents, n, sizeof(*incidents), worst_first);
			sorted = json_array();
			for (size_t k = 0; k < n; k++)
				json_array_append(sorted, (json_t *)incidents[k].tree);
		}
	}
	json_decref(v);
	return sorted;
}

bool incident_id_is_plain(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
	return n > 0 && n <= 8 && id[n] == '\0';
}

int incident_find(struct client *client, const char *id, json_t **ret, struct err *e)
{
	*ret = NULL;
	if (!incident_id_is_plain(id)) /* it goes into a query */
		return err_set(e, -EINVAL,
			"'%.40s' is not an incident id, which is 8 letters (a-z, 2-7); 'rocewatch "
			"incident list' names them",
			id);
	json_t *found = incidents_load(client, id, e);
	if (!found)
		return e->code ? e->code : -EIO;
	const size_t n = json_array_size(found);
	if (n == 1)
		*ret = json_incref(json_array_get(found, 0));
	json_decref(found);
	if (n == 1)
		return 0;
	if (n == 0)
		return err_set(e, -ENOENT,
			"there is no incident '%s'; 'rocewatch incident list' names them", id);
	return err_set(
		e, -ENOENT, "'%s' is the beginning of %zu incidents; give more letters", id, n);
}

bool incident_is_open(const struct incident_told *incident)
{
	return str_eq(incident->state, "open") || str_eq(incident->state, "clearing");
}

int64_t incident_time_ns(const char *text, int64_t otherwise_ns)
{
	wall_t t;
	if (wall_parse(text, (wall_t){0}, &t) != 0)
		return otherwise_ns;
	return t.ns;
}

json_t *incident_age(const struct incident_told *incident, int64_t now_ns)
{
	const int64_t opened_ns = incident_time_ns(incident->opened, INT64_MAX);
	int64_t end_ns = now_ns;
	if (!incident_is_open(incident))
		end_ns = incident_time_ns(incident->closed, INT64_MIN);
	if (end_ns < opened_ns)
		return json_null();
	return json_real((double)(end_ns - opened_ns) / (double)NS_PER_S);
}

/* ---- as it was ----------------------------------------------------------- */

/* What the lines of a timeline say of an incident at one time. Borrowed from the timeline. */
struct incident_past {
	const char *state; /* NULL: no line said it */
	const char *severity; /* the newest up to then */
	bool severity_later; /* it changed afterwards */
	const char *acked, *assigned; /* behind "acknowledged by ", "assigned to " */
};

static void incident_take_line(struct incident_past *past, const char *text)
{
	static const struct {
		const char *word, *state; /* as the ledger writes it in a timeline */
	} states[] = {
		{"pending:", "pending"},
		{"open:", "open"},
		{"opened again:", "open"},
		{"clearing:", "clearing"},
		{"closed:", "closed"},
	};
	const char *rest = NULL;
	for (size_t i = 0; i < rw_countof(states); i++)
		if (str_begins(text, states[i].word, &rest))
			past->state = states[i].state;
	if (str_begins(text, "severity: ", &rest))
		past->severity = rest;
	if (str_begins(text, "acknowledged by ", &rest))
		past->acked = rest;
	if (str_begins(text, "assigned to ", &rest))
		past->assigned = rest;
}

/* Reads the lines up to @at_ns; returns how many there are. */
static size_t incident_read_lines(
	const struct incident_told *incident, int64_t at_ns, struct incident_past *past)
{
	size_t kept = 0;
	const char *rest;
	for (size_t i = 0; i < incident->n_timeline; i++) {
		const struct told_line *line = &incident->timeline[i];
		if (incident_time_ns(line->t, INT64_MAX) <= at_ns) {
			incident_take_line(past, line->text);
			kept = i + 1;
		} else if (str_begins(line->text, "severity: ", &rest)) {
			past->severity_later = true;
		}
	}
	return kept;
}

/* A name up to @stop: "alice: being fixed", "bob by alice". */
static void incident_put_name(json_t *document, const char *key, const char *text, const char *stop)
{
	if (!text) {
		json_object_set_new(document, key, json_null());
		return;
	}
	size_t n = strlen(text);
	const char *end = strstr(text, stop);
	if (end)
		n = (size_t)(end - text);
	json_object_set_new(document, key, json_stringn(text, n));
}

bool incident_as_of(json_t *document, int64_t at_ns)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *timeline = json_object_get(document, "timeline");
	struct incident_past past = {0};
	const size_t kept = incident_read_lines(incident_told(document, a), at_ns, &past);
	if (str_eq(past.state, "closed") || str_eq(past.state, "pending"))
		return false;
	json_object_set_new(document, "state", json_string(str_or(past.state, "open")));
	json_object_set_new(document, "closed", json_null());
	if (past.severity)
		json_object_set_new(document, "severity",
			json_stringn(past.severity, strcspn(past.severity, ":")));
	else if (past.severity_later)
		json_object_set_new(document, "severity", json_null());
	incident_put_name(document, "acked_by", past.acked, ":");
	incident_put_name(document, "assigned_to", past.assigned, " by ");
	while (json_array_size(timeline) > kept)
		json_array_remove(timeline, json_array_size(timeline) - 1);
	return true;
}

/* ---- the rows ------------------------------------------------------------ */

static bool incident_is_number(const char *name)
{
	static const char *const numbers[] = {"usd_per_hour", "usd_total", "confidence_ratio"};
	for (size_t i = 0; i < rw_countof(numbers); i++)
		if (str_eq(numbers[i], name))
			return true;
	return false;
}

static json_t *incident_column(const char *name, const char *text)
{
	if (text && incident_is_number(name))
		return json_number_or_null(strtod(text, NULL));
	if (text && str_eq(name, "document")) {
		json_t *document = json_outside(text, strlen(text), 0, NULL);
		if (json_is_object(document))
			return document;
		json_decref(document);
		return json_object();
	}
	return json_string_or_null(text);
}

static int incidents_take(void *arg, int n, char *const *words, char *const *names)
{
	json_t *row = json_object();
	for (int c = 0; c < n; c++)
		json_object_set_new(row, names[c], incident_column(names[c], words[c]));
	json_array_append_new(arg, row);
	return 0;
}

static const char incidents_select[] =
	"SELECT id, cause, severity, state, opened, device, port, ecmp_group AS \"group\", host, "
	"summary, acked_by, usd_per_hour, usd_total, confidence_ratio, json AS document FROM "
	"incidents WHERE ";
#define INCIDENTS_BY_MONEY                                                                         \
	"usd_per_hour * coalesce(confidence_ratio, 1) DESC, confidence_ratio DESC, id"
static const char incidents_order[] =
	" ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 "
	"END, " INCIDENTS_BY_MONEY;

/* The rows of @stored that were open then, as they were. */
static void incidents_turn_back(json_t *stored, int64_t at_ns, json_t *open)
{
	static const char *const same[] = {"state", "severity", "acked_by"};
	json_t *row;
	size_t i;
	json_array_foreach (stored, i, row) {
		json_t *document = json_object_get(row, "document");
		if (!incident_as_of(document, at_ns))
			continue;
		for (size_t k = 0; k < rw_countof(same); k++) {
			json_t *value = json_object_get(document, same[k]);
			if (value)
				json_object_set(row, same[k], value);
		}
		json_array_append(open, row);
	}
}

/* Severities were others then: sorted again, in the order of the rows within each. */
static json_t *incidents_sorted(json_t *rows)
{
	static const char *const severities[] = {"critical", "warning", "info"};
	json_t *sorted = json_array(), *row;
	size_t i;
	for (size_t k = 0; k <= rw_countof(severities); k++)
		json_array_foreach (rows, i, row) {
			size_t rank = 0;
			while (rank < rw_countof(severities) &&
				!str_eq(doc_word(row, "severity"), severities[rank]))
				rank++;
			if (rank == k)
				json_array_append(sorted, row);
		}
	return sorted;
}

static json_t *incidents_open_past(struct client *client, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	json_t *stored = json_array(), *open = json_array(), *sorted = NULL;
	const long long at_ns = (long long)client->at_ns;
	str_addf(&sql,
		"%sopened_ns <= %lld AND (closed_ns IS NULL OR closed_ns > %lld OR "
		"state<>'closed') "
		"ORDER BY " INCIDENTS_BY_MONEY,
		incidents_select, at_ns, at_ns);
	if (history_sql(client->history, sql.s, incidents_take, stored, e) == 0) {
		incidents_turn_back(stored, client->at_ns, open);
		sorted = incidents_sorted(open);
	}
	json_decref(stored);
	json_decref(open);
	return sorted;
}

json_t *incidents_open(struct client *client, struct err *e)
{
	if (client->past)
		return incidents_open_past(client, e);
	rw_cleanup(str_done) struct str sql = {0};
	json_t *rows = json_array();
	str_addf(&sql, "%sstate IN ('open','clearing')%s", incidents_select, incidents_order);
	if (history_sql(client->history, sql.s, incidents_take, rows, e) == 0)
		return rows;
	json_decref(rows);
	return NULL;
}
