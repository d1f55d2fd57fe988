/* incidents_open - the incidents that are open now, or were at a past time. */
#include "agent/answers/incident/incidents_open.h"

#include <stdlib.h>
#include <string.h>

#include "agent/document/json_outside.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "db/series/history.h"

/* ---- as it was ----------------------------------------------------------- */

/* What the lines of a timeline say of an incident at one time. Borrowed from the timeline. */
struct incident_past {
	const char *state; /* NULL: no line said it */
	const char *severity; /* the newest up to then */
	bool severity_later; /* it changed afterwards */
	const char *acked, *assigned; /* behind "acknowledged by ", "assigned to " */
};

static bool incident_says(const char *text, const char *word, const char **ret_rest)
{
	const size_t n = strlen(word);
	if (strncmp(text, word, n) != 0)
		return false;
	*ret_rest = text + n;
	return true;
}

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
		if (incident_says(text, states[i].word, &rest))
			past->state = states[i].state;
	if (incident_says(text, "severity: ", &rest))
		past->severity = rest;
	if (incident_says(text, "acknowledged by ", &rest))
		past->acked = rest;
	if (incident_says(text, "assigned to ", &rest))
		past->assigned = rest;
}

static int64_t incident_line_ns(const json_t *line)
{
	wall_t t;
	if (wall_parse(doc_word(line, "t"), (wall_t){0}, &t) == 0)
		return t.ns;
	return INT64_MAX;
}

/* Reads the lines up to @at_ns; returns how many there are. */
static size_t incident_read_lines(const json_t *timeline, int64_t at_ns, struct incident_past *past)
{
	const json_t *line;
	size_t i, kept = 0;
	const char *rest;
	json_array_foreach (timeline, i, line) {
		const char *text = doc_word(line, "text");
		if (incident_line_ns(line) <= at_ns) {
			incident_take_line(past, text);
			kept = i + 1;
		} else if (incident_says(text, "severity: ", &rest)) {
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
	json_t *timeline = json_object_get(document, "timeline");
	struct incident_past past = {0};
	const size_t kept = incident_read_lines(timeline, at_ns, &past);
	if (str_eq(past.state, "closed") || str_eq(past.state, "pending"))
		return false;
	json_object_set_new(document, "state", json_string(str_or(past.state, "open")));
	json_object_set_new(document, "closed", json_null());
	if (past.severity)
		json_object_set_new(document, "severity", json_string(past.severity));
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
