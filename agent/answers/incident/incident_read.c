/*
 * incident_read - incidents from the database: found by time or id, sorted worst first, and without
 * what only the agent needs.
 */
#include "agent/answers/incident/incident_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/client/client.h"
#include "agent/document/json_outside.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/silence.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "db/series/history.h"

/* Where, in one word: "leaf1:Ethernet49", "node-047 (leaf1:Ethernet47 and 7 more)" is for the card;
 * here the nearest to the root. */
static char *incident_read_where_of(const json_t *incident)
{
	const json_t *subject = json_object_get(incident, "subject");
	const char *device = doc_word(subject, "device"), *port = doc_word(subject, "port"),
		   *host = doc_word(subject, "host"), *group = doc_word(subject, "group"),
		   *member = doc_word(subject, "member");
	struct str w = {0};
	str_add(&w, "");
	if (*host)
		str_add(&w, host);
	if (*host && *device)
		str_add(&w, " ");
	str_add(&w, device);
	if (*port || *member)
		str_addf(&w, ":%s", *port ? port : member);
	if (*group)
		str_addf(&w, " %s", group);
	return w.s;
}

const char *incident_headline_of(const json_t *incident)
{
	if (*doc_word(incident, "headline"))
		return doc_word(incident, "headline");
	return doc_word(incident, "cause");
}

json_t *incident_public(const struct config *config, const json_t *incident)
{
	rw_cleanup(freep) char *where = incident_read_where_of(incident);
	json_t *o = json_copy((json_t *)incident);
	json_object_del(o, "progress");
	json_object_set_new(o, "where", json_string(where));
	json_object_set_new(o, "headline", json_string_or_null(incident_headline_of(incident)));
	rw_cleanup(freep) char *runbook = runbook_link_of(config, doc_word(incident, "cause"));
	json_object_set_new(o, "runbook", json_string_or_null(runbook));
	return o;
}

/* ---- order --------------------------------------------------------------- */

static enum severity incident_read_severity_of(const json_t *object)
{
	for (int k = SEV_CRITICAL; k > SEV_INFO; k--) {
		if (str_eq(severity_name((enum severity)k), doc_word(object, "severity")))
			return (enum severity)k;
	}
	return SEV_INFO;
}

static int worst_first(const void *left, const void *right)
{
	const json_t *x = *(json_t *const *)left, *y = *(json_t *const *)right;
	const json_t *v[2] = {x, y};
	struct incident i[2] = {0};
	for (int k = 0; k < 2; k++) {
		i[k].severity = incident_read_severity_of(v[k]);
		i[k].usd_per_hour = doc_number(v[k], "usd_per_hour");
		i[k].confidence_ratio = doc_number(v[k], "confidence_ratio");
		snprintf(i[k].id, sizeof(i[k].id), "%s", doc_word(v[k], "id"));
	}
	/* RFC 3339 in UTC sorts as text */
	int opened = strcmp(doc_word(x, "opened"), doc_word(y, "opened"));
	i[0].opened_ns = opened;
	return incident_compare(&i[0], &i[1]);
}

void incidents_sort(json_t *incidents)
{
	size_t n = json_array_size(incidents);
	rw_cleanup(freep) json_t **v = rw_calloc(n + 1, sizeof(json_t *));
	for (size_t k = 0; k < n; k++)
		v[k] = json_incref(json_array_get(incidents, k));
	qsort(v, n, sizeof(json_t *), worst_first);
	json_array_clear(incidents);
	for (size_t k = 0; k < n; k++)
		json_array_append_new(incidents, v[k]);
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

int incidents_mark_silenced(struct client *client, json_t *incidents, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	json_t *incident;
	size_t k;
	int64_t at_ns = client->now_ns;
	if (client->range_given && client->to_ns < at_ns)
		at_ns = client->to_ns;
	const int rc = silences_load(client->history, &silences, e);
	if (rc != 0)
		return rc;
	json_array_foreach (incidents, k, incident) {
		const struct silence *silence = NULL;
		if (!str_eq(doc_word(incident, "state"), "closed"))
			silence = silence_match_json(&silences, incident, at_ns);
		rw_cleanup(str_done) struct str text = {0};
		if (silence)
			silence_text(&text, silence);
		json_object_set_new(incident, "silenced", json_string_or_null(text.s));
	}
	return 0;
}

json_t *incidents_load(struct client *client, const char *id, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	json_t *v = json_array();
	str_add(&sql,
		"SELECT json FROM incidents WHERE opened_ns IS NOT NULL AND json IS NOT NULL");
	if (id)
		str_addf(&sql, " AND lower(id) LIKE lower('%s%%')", id);
	else if (client->range_given)
		str_addf(&sql,
			" AND opened_ns <= %lld AND (closed_ns IS NULL OR closed_ns >= %lld)",
			(long long)client->to_ns, (long long)client->from_ns);
	if (history_sql(client->history, sql.s, incident_read_take, v, e) != 0) {
		json_decref(v);
		return NULL;
	}
	if (incidents_mark_silenced(client, v, e) != 0) {
		json_decref(v);
		return NULL;
	}
	incidents_sort(v);
	return v;
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

bool incident_is_open(const json_t *incident)
{
	const char *state = doc_word(incident, "state");
	return str_eq(state, "open") || str_eq(state, "clearing");
}

json_t *incident_age(const json_t *incident, int64_t now_ns)
{
	wall_t opened, end = {now_ns};
	if (wall_parse(doc_word(incident, "opened"), (wall_t){0}, &opened) != 0)
		return json_null();
	if (!incident_is_open(incident) &&
		wall_parse(doc_word(incident, "closed"), (wall_t){0}, &end) != 0)
		return json_null();
	if (end.ns < opened.ns)
		return json_null();
	return json_real((double)(end.ns - opened.ns) / (double)NS_PER_S);
}
