/* report_incidents - incidents of a time range, as rows of reports. */
#include "agent/answers/incident/report_incidents.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/common/report_frame.h"
#include "config/config.h"

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

/* "leaf2:Eth1" and "leaf2" are of the device leaf2. */
static bool incident_is_about(const struct incident_told *incident, const char *device)
{
	for (size_t i = 0; i < incident->n_roles; i++) {
		const char *entity = incident->roles[i].entity;
		rw_cleanup(freep) char *name = strndup(entity, strcspn(entity, ":"));
		if (str_glob(device, name))
			return true;
	}
	const char *where = incident->where;
	while (*where) {
		const size_t n = strcspn(where, " :");
		rw_cleanup(freep) char *name = strndup(where, n);
		if (n > 0 && str_glob(device, name))
			return true;
		where += n;
		where += strspn(where, " :");
	}
	return false;
}

void report_incidents_about(json_t *incidents, const char *device)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	while (device && n-- > 0)
		if (!incident_is_about(&rows[n], device))
			json_array_remove(incidents, n);
}

static enum report_state incident_problem_state(const struct incident_told *row)
{
	if (*row->silenced)
		return REPORT_OK;
	if (str_eq(row->severity, "critical"))
		return REPORT_CRITICAL;
	if (str_eq(row->severity, "warning"))
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
