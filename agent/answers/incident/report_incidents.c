/* report_incidents - incidents of a time range, as rows of reports. */
#include "agent/answers/incident/report_incidents.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/incident/incidents_open.h"
#include "agent/answers/common/report_frame.h"
#include "config/config.h"

struct client report_client(const struct client *client)
{
	struct client copy = *client;
	copy.range_given = true;
	return copy;
}

static bool incident_is_of(const enum cause *causes, const json_t *incident)
{
	if (!causes)
		return true;
	for (size_t i = 0; causes[i] != CAUSE_NONE; i++)
		if (str_eq(cause_name(causes[i]), doc_word(incident, "cause")))
			return true;
	return false;
}

static int64_t incident_time(const json_t *incident, const char *key, int64_t otherwise_ns)
{
	wall_t t;
	if (wall_parse(doc_word(incident, key), (wall_t){0}, &t) != 0)
		return otherwise_ns;
	return t.ns;
}

/* The part of its price that falls into the range, in proportion to the time it was open. */
static double incident_usd_in_range(const struct client *client, const json_t *stored)
{
	const double usd = doc_number(stored, "usd_total");
	const int64_t from_ns = incident_time(stored, "opened", client->from_ns);
	/* What is open has its price up to the newest sample. */
	const int64_t now_ns = client->has_data ? client->data_ns : client->end_ns;
	const int64_t to_ns = incident_time(stored, "closed", now_ns);
	const int64_t begin_ns = from_ns > client->from_ns ? from_ns : client->from_ns;
	const int64_t end_ns = to_ns < client->to_ns ? to_ns : client->to_ns;
	if (isnan(usd) || to_ns <= from_ns)
		return usd;
	return usd * fmax(0, (double)(end_ns - begin_ns) / (double)(to_ns - from_ns));
}

static json_t *incident_row(const struct client *client, const json_t *stored)
{
	static const char *const kept[] = {"id", "cause", "severity", "state", "opened", "closed",
		"where", "headline", "confidence_ratio", "usd_per_hour", "usd_total", "parent",
		"jobs", "roles", "acked_by", "ack_note", "assigned_to", "silenced"};
	const int64_t opened_ns = incident_time(stored, "opened", INT64_MIN);
	const int64_t closed_ns = incident_time(stored, "closed", INT64_MAX);
	json_t *row = json_object(), *then = json_deep_copy(stored);
	if (closed_ns > client->to_ns)
		incident_as_of(then, client->to_ns);
	json_t *shown = incident_public(client->config, then);
	for (size_t i = 0; i < rw_countof(kept); i++) {
		json_t *value = json_object_get(shown, kept[i]);
		json_object_set(row, kept[i], value ? value : json_null());
	}
	json_object_set_new(row, "age_s", incident_age(then, client->to_ns));
	json_object_set_new(
		row, "usd_in_range", json_number_or_null(incident_usd_in_range(client, stored)));
	json_object_set_new(row, "opened_in_range", json_boolean(opened_ns >= client->from_ns));
	json_object_set_new(row, "closed_in_range", json_boolean(closed_ns <= client->to_ns));
	json_decref(shown);
	json_decref(then);
	return row;
}

json_t *report_incidents(struct client *client, const enum cause *causes, struct err *e)
{
	struct client ranged = report_client(client);
	json_t *stored = incidents_load(&ranged, NULL, e), *rows = json_array(), *one;
	size_t i;
	if (!stored) {
		json_decref(rows);
		return NULL;
	}
	json_array_foreach (stored, i, one)
		if (incident_is_of(causes, one))
			json_array_append_new(rows, incident_row(client, one));
	json_decref(stored);
	return rows;
}

/* "leaf2:Eth1" and "leaf2" are of the device leaf2. */
static bool incident_is_about(const json_t *row, const char *device)
{
	const json_t *role;
	size_t i;
	json_array_foreach (json_object_get(row, "roles"), i, role) {
		const char *entity = doc_word(role, "entity");
		rw_cleanup(freep) char *name = strndup(entity, strcspn(entity, ":"));
		if (str_glob(device, name))
			return true;
	}
	const char *where = doc_word(row, "where");
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
	size_t i = 0;
	while (device && i < json_array_size(incidents)) {
		if (incident_is_about(json_array_get(incidents, i), device))
			i++;
		else
			json_array_remove(incidents, i);
	}
}

static enum report_state incident_problem_state(const json_t *row)
{
	if (*doc_word(row, "silenced"))
		return REPORT_OK;
	if (str_eq(doc_word(row, "severity"), "critical"))
		return REPORT_CRITICAL;
	if (str_eq(doc_word(row, "severity"), "warning"))
		return REPORT_WARNING;
	return REPORT_OK;
}

void report_incidents_problems(json_t *doc, const json_t *incidents)
{
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row) {
		const enum report_state state = incident_problem_state(row);
		if (state == REPORT_OK)
			continue;
		const char *when = doc_word(row, "opened");
		const char *what = "open since";
		if (str_eq(doc_word(row, "state"), "closed")) {
			when = doc_word(row, "closed");
			what = "closed";
		}
		report_problem(doc, state, doc_word(row, "cause"), doc_word(row, "where"),
			"%s (incident %s, %s %.10s %.5sZ)", doc_word(row, "headline"),
			doc_word(row, "id"), what, when, *when ? when + 11 : "");
	}
}

static bool incident_is_listed(const json_t *incidents, const char *id)
{
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row)
		if (str_eq(doc_word(row, "id"), id))
			return true;
	return false;
}

double report_incidents_usd(const json_t *incidents)
{
	double sum = NAN;
	const json_t *row;
	size_t i;
	if (json_array_size(incidents) == 0)
		return 0;
	json_array_foreach (incidents, i, row) {
		const double usd = doc_number(row, "usd_in_range");
		const char *parent = doc_word(row, "parent");
		if (isnan(usd) || (*parent && incident_is_listed(incidents, parent)))
			continue;
		sum = isnan(sum) ? usd : sum + usd;
	}
	return sum;
}

size_t report_incidents_count(const json_t *incidents, const char *key)
{
	const json_t *row;
	size_t i, n = 0;
	json_array_foreach (incidents, i, row)
		n += json_is_true(json_object_get(row, key));
	return n;
}
