/* report_incidents - incidents of a time range, as rows of reports. */
#include "agent/answers/incident/report_incidents.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/status/verdict.h"
#include "config/config.h"
#include "db/model/finding.h"

struct client report_client(const struct client *client)
{
	struct client copy = *client;
	copy.range_given = true;
	return copy;
}

static bool incident_is_of(const enum cause *causes, const struct incident_told *incident)
{
	if (!causes)
		return true;
	for (size_t i = 0; causes[i] != CAUSE_NONE; i++)
		if (str_eq(cause_name(causes[i]), incident->cause))
			return true;
	return false;
}

/* The part of its price that falls into the range, in proportion to the time it was open. */
static double incident_usd_in_range(
	const struct client *client, const struct incident_told *incident)
{
	const double usd = incident->usd_total;
	const int64_t from_ns = incident_time_ns(incident->opened, client->from_ns);
	/* What is open has its price up to the newest sample. */
	const int64_t now_ns = client->has_data ? client->data_ns : client->end_ns;
	const int64_t to_ns = incident_time_ns(incident->closed, now_ns);
	const int64_t begin_ns = from_ns > client->from_ns ? from_ns : client->from_ns;
	const int64_t end_ns = to_ns < client->to_ns ? to_ns : client->to_ns;
	if (isnan(usd) || to_ns <= from_ns)
		return usd;
	return usd * fmax(0, (double)(end_ns - begin_ns) / (double)(to_ns - from_ns));
}

static json_t *incident_row(
	const struct client *client, const struct incident_told *incident, struct arena *a)
{
	static const char *const kept[] = {"id", "cause", "severity", "state", "opened", "closed",
		"where", "headline", "confidence_ratio", "usd_per_hour", "usd_total", "parent",
		"jobs", "roles", "acked_by", "ack_note", "assigned_to", "silenced"};
	const int64_t opened_ns = incident_time_ns(incident->opened, INT64_MIN);
	const int64_t closed_ns = incident_time_ns(incident->closed, INT64_MAX);
	json_t *row = json_object(), *then = json_deep_copy(incident->tree);
	if (closed_ns > client->to_ns)
		incident_as_of(then, client->to_ns);
	const struct incident_told *told = incident_told(then, a);
	json_t *shown = incident_public(client->config, told);
	for (size_t i = 0; i < rw_countof(kept); i++) {
		json_t *value = json_object_get(shown, kept[i]);
		json_object_set(row, kept[i], value ? value : json_null());
	}
	json_object_set_new(row, "age_s", incident_age(told, client->to_ns));
	json_object_set_new(
		row, "usd_in_range", json_number_or_null(incident_usd_in_range(client, incident)));
	json_object_set_new(row, "opened_in_range", json_boolean(opened_ns >= client->from_ns));
	json_object_set_new(row, "closed_in_range", json_boolean(closed_ns <= client->to_ns));
	json_decref(shown);
	json_decref(then);
	return row;
}

json_t *report_incidents(struct client *client, const enum cause *causes, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct client ranged = report_client(client);
	json_t *stored = incidents_load(&ranged, NULL, e), *rows = NULL;
	size_t n;
	if (!stored)
		return NULL;
	rows = json_array();
	const struct incident_told *incidents = incidents_told(stored, a, &n);
	for (size_t i = 0; i < n; i++)
		if (incident_is_of(causes, &incidents[i]))
			json_array_append_new(rows, incident_row(client, &incidents[i], a));
	json_decref(stored);
	return rows;
}

/* Device: a glob. Port: NULL where any will do; a whole device stands for its ports. */
static bool incident_word_is(const char *word, size_t n, const char *device, const char *port)
{
	const size_t head = strcspn(word, ": ");
	const size_t end = head < n ? head : n;
	rw_cleanup(freep) char *name = strndup(word, end);
	if (end == 0 || !str_glob(device, name))
		return false;
	if (!port || end == n)
		return true;
	return n - end - 1 == strlen(port) && strncmp(word + end + 1, port, n - end - 1) == 0;
}

/* Among those with a role, or in its place: "leaf2:Eth1" and "leaf2" are of the device leaf2. */
static bool incident_names(
	const struct incident_told *incident, const char *device, const char *port)
{
	for (size_t i = 0; i < incident->n_roles; i++) {
		const char *entity = incident->roles[i].entity;
		if (incident_word_is(entity, strlen(entity), device, port))
			return true;
	}
	for (const char *where = incident->where; *where; where += strspn(where, " ")) {
		const size_t n = strcspn(where, " ");
		if (incident_word_is(where, n, device, port))
			return true;
		where += n;
	}
	return false;
}

void report_incidents_about(json_t *incidents, const char *device)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	while (device && n-- > 0)
		if (!incident_names(&rows[n], device, NULL))
			json_array_remove(incidents, n);
}

static enum report_state incident_problem_state(const struct incident_told *row)
{
	if (*row->silenced)
		return REPORT_OK;
	if (str_eq(row->severity, severity_name(SEV_CRITICAL)))
		return REPORT_CRITICAL;
	if (str_eq(row->severity, severity_name(SEV_WARNING)))
		return REPORT_WARNING;
	return REPORT_OK;
}

void report_incidents_problems(json_t *doc, const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	for (size_t i = 0; i < n; i++) {
		const struct incident_told *row = &rows[i];
		const enum report_state state = incident_problem_state(row);
		const bool closed = str_eq(row->state, "closed");
		const char *when = closed ? row->closed : row->opened;
		if (state == REPORT_OK)
			continue;
		report_problem(doc, state, row->cause, row->where,
			"%s (incident %s, %s %.10s %.5sZ)", row->headline, row->id,
			closed ? "closed" : "open since", when, *when ? when + 11 : "");
	}
}

static bool incident_names_peer(const struct incident_told *incident, const char *peer)
{
	const size_t n = strcspn(str_or(peer, ""), ":");
	if (!n || !peer[n])
		return false;
	rw_cleanup(freep) char *device = strndup(peer, n);
	return incident_names(incident, device, peer + n + 1);
}

/* The worst that names the place; NULL: none. */
static const struct incident_told *incident_worst_at(
	const struct incident_told *rows, size_t n, const struct report_over *over)
{
	const struct incident_told *worst = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!incident_names(&rows[i], over->device, over->port) &&
			!incident_names_peer(&rows[i], over->peer))
			continue;
		if (!worst || incident_problem_state(&rows[i]) > incident_problem_state(worst))
			worst = &rows[i];
	}
	return worst;
}

void report_incidents_over(
	json_t *doc, const json_t *incidents, const struct report_over *over, const char *fmt, ...)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str subject = {0}, why = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	const struct incident_told *incident = incident_worst_at(rows, n, over);
	va_list args;
	/* it is a problem of its own */
	if (incident && !over->own && incident_problem_state(incident) != REPORT_OK)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	str_addf(&subject, "%s%s%s", over->device, str_if(over->port != NULL, ":"),
		str_or(over->port, ""));
	if (incident)
		str_addf(&why, " (incident %s)", incident->id);
	else if (!over->own)
		str_add(&why, " (" VERDICT_NOT_LASTING ")");
	report_problem(doc, over->own ? over->state : REPORT_OK, over->cause, subject.s, "%s%s",
		str_or(text, ""), str_or(why.s, ""));
}

static bool incident_is_listed(const struct incident_told *rows, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(rows[i].id, id))
			return true;
	return false;
}

double report_incidents_usd(const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	double sum = NAN;
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const double usd = rows[i].usd_in_range;
		const char *parent = rows[i].parent;
		if (isnan(usd) || (*parent && incident_is_listed(rows, n, parent)))
			continue;
		sum = isnan(sum) ? usd : sum + usd;
	}
	return sum;
}

struct incidents_counted report_incidents_count(const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct incidents_counted ret = {0};
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	for (size_t i = 0; i < n; i++) {
		ret.opened += rows[i].opened_in_range;
		ret.closed += rows[i].closed_in_range;
	}
	return ret;
}
