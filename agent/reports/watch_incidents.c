/* watch_incidents - open incidents as rows, and what they say about signals. */
#include "agent/reports/watch_incidents.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"
#include "agent/reports/incident_read.h"
#include "agent/reports/incidents_open.h"
#include "db/model/cause.h"
#include "db/model/golden.h"
#include "db/series/history.h"

enum { EVENTS_SHOWN = 8 };

/* ---- rows ------------------------------------------------------------------ */

static int64_t watch_time_of(const json_t *row, const char *key)
{
	wall_t t;
	if (wall_parse(doc_word(row, key), (wall_t){0}, &t) < 0)
		return 0;
	return t.ns;
}

static void watch_take(json_t *row, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);
	if (value)
		json_object_set(row, key, value);
	else
		json_object_set_new(row, key, json_null());
}

/* Who keeps its alerts back, until when and why. */
static void watch_put_silenced(
	json_t *row, const json_t *document, const struct silences *silences, int64_t at_ns)
{
	const struct silence *silence = silence_match_json(silences, document, at_ns);
	rw_cleanup(str_done) struct str text = {0};
	if (silence)
		silence_text(&text, silence);
	json_object_set_new(row, "silenced", json_string_or_null(text.s));
}

/* What the wall shows beside the columns of the database. */
static void watch_finish_incident(json_t *row, const struct silences *silences, int64_t at_ns)
{
	const json_t *document = json_object_get(row, "document");
	json_t *job = json_array_get(json_object_get(document, "jobs"), 0);
	const int64_t age_ns = at_ns - watch_time_of(row, "opened");
	json_object_set_new(row, "age_s", json_number_or_null((double)(age_ns / NS_PER_MS) / 1e3));
	json_object_set_new(row, "headline", json_string_or_null(incident_headline_of(document)));
	watch_take(row, json_object_get(document, "subject"), "priority");
	json_object_set_new(row, "job", job ? json_incref(job) : json_null());
	watch_take(row, document, "first");
	json_object_set(row, "onset", json_object_get(row, "first"));
	json_object_del(row, "first");
	watch_take(row, document, "assigned_to");
	watch_take(row, document, "parent");
	watch_put_silenced(row, document, silences, at_ns);
	json_object_del(row, "document");
}

/* Zero where it has no price. */
static double watch_price(const json_t *row)
{
	const double usd = doc_number(row, "usd_per_hour");
	if (isnan(usd))
		return 0;
	return usd;
}

struct watch_ranked {
	json_t *row;
	size_t place; /* by severity */
};

static int watch_by_money(const void *left, const void *right)
{
	const struct watch_ranked *x = left, *y = right;
	const double u = watch_price(x->row), v = watch_price(y->row);
	if (u != v)
		return (v > u) - (v < u);
	return (x->place > y->place) - (x->place < y->place);
}

/* Takes @rows, which are sorted by severity. */
static json_t *watch_sort_by_money(json_t *rows)
{
	const size_t n = json_array_size(rows);
	struct watch_ranked *ranked = rw_calloc(n + 1, sizeof(*ranked));
	json_t *sorted = json_array();
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct watch_ranked){json_array_get(rows, i), i};
	qsort(ranked, n, sizeof(*ranked), watch_by_money);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, ranked[i].row);
	free(ranked);
	json_decref(rows);
	return sorted;
}

json_t *watch_incidents_read(struct client *client, struct err *e)
{
	json_t *rows = incidents_open(client, e), *row;
	size_t i;
	if (!rows)
		return NULL;
	rw_cleanup(silences_done) struct silences silences = {0};
	if (silences_load(client->history, &silences, e) != 0) {
		json_decref(rows);
		return NULL;
	}
	json_array_foreach (rows, i, row)
		watch_finish_incident(row, &silences, client->at_ns);
	return watch_sort_by_money(rows);
}

/* ---- money ----------------------------------------------------------------- */

static bool watch_is_open(const json_t *incidents, const char *id)
{
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row)
		if (*id && str_eq(doc_word(row, "id"), id))
			return true;
	return false;
}

static void watch_add_money(double *sum, double value)
{
	if (isnan(value))
		return;
	if (isnan(*sum))
		*sum = 0;
	*sum += value;
}

json_t *watch_money(const json_t *incidents)
{
	double per_hour = NAN, total = NAN;
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row) {
		if (watch_is_open(incidents, doc_word(row, "parent")))
			continue;
		watch_add_money(&per_hour, doc_number(row, "usd_per_hour"));
		watch_add_money(&total, doc_number(row, "usd_total"));
	}
	json_t *money = json_object();
	json_object_set_new(money, "usd_per_hour", json_number_or_null(per_hour));
	json_object_set_new(money, "usd_total", json_number_or_null(total));
	return money;
}

/* ---- events ---------------------------------------------------------------- */

static int watch_take_event(void *arg, int n, char *const *words, char *const *names)
{
	json_t *row = json_object();
	for (int i = 0; i < n; i++)
		json_object_set_new(row, names[i], json_string_or_null(words[i]));
	json_array_append_new(arg, row);
	return 0;
}

json_t *watch_events_read(struct client *client, struct err *e)
{
	json_t *list = json_array();
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT time AS t, kind, text, device, port FROM events WHERE t_ns<=%lld "
		"ORDER BY t_ns DESC LIMIT %d",
		(long long)client->at_ns, EVENTS_SHOWN);
	if (history_sql(client->history, sql.s, watch_take_event, list, e) == 0)
		return list;
	json_decref(list);
	return NULL;
}

/* ---- what incidents say of signals ------------------------------------------ */

static enum golden_state watch_state_by_name(const char *name)
{
	for (unsigned state = GOLDEN_UNKNOWN; state <= GOLDEN_CRITICAL; state++)
		if (str_eq(golden_state_name(state), name))
			return state;
	return GOLDEN_UNKNOWN;
}

static enum golden_state watch_incident_state(const json_t *incident)
{
	if (str_eq(doc_word(incident, "severity"), "critical"))
		return golden_state_of(SEV_CRITICAL);
	return golden_state_of(SEV_WARNING);
}

/* The worst open incident that shows in @signal, the first of those alike; NULL: none. */
static const json_t *watch_incident_of(enum golden signal, const json_t *incidents)
{
	const json_t *worst = NULL, *row;
	size_t i;
	json_array_foreach (incidents, i, row) {
		if (!golden_shows(signal, cause_by_name(doc_word(row, "cause"))))
			continue;
		if (!worst || watch_incident_state(row) > watch_incident_state(worst))
			worst = row;
	}
	return worst;
}

/* An incident about a whole switch says less of the place than a port of that switch does. */
static bool watch_names_less(const json_t *signal, const json_t *incident)
{
	const json_t *measured = json_object_get(signal, "subject");
	return !*doc_word(incident, "host") && !*doc_word(incident, "port") &&
		str_eq(doc_word(incident, "device"), doc_word(measured, "device"));
}

/* Where the fault is: the incident's subject, not the port with the highest number. */
static void watch_take_subject(json_t *signal, const json_t *incident)
{
	const char *host = doc_word(incident, "host"), *device = doc_word(incident, "device");
	json_t *subject = json_object();
	rw_cleanup(str_done) struct str where = {0};
	if (*host)
		str_addf(&where, "%s%s", host, str_if(*device, " at "));
	if (*device)
		str_addf(&where, "%s", device);
	if (*device && *doc_word(incident, "port"))
		str_addf(&where, " %s", doc_word(incident, "port"));
	if (!where.n || watch_names_less(signal, incident)) {
		json_decref(subject);
		return;
	}
	watch_take(subject, incident, "device");
	watch_take(subject, incident, "port");
	watch_take(subject, incident, "host");
	watch_take(subject, incident, "priority");
	json_object_set_new(signal, "subject", subject);
	json_object_set_new(signal, "where", json_string_or_null(where.s));
}

static void watch_apply_signal(enum golden signal, json_t *row, const json_t *incidents)
{
	const json_t *incident = watch_incident_of(signal, incidents);
	if (!incident)
		return;
	const enum golden_state state = watch_incident_state(incident);
	if (watch_state_by_name(doc_word(row, "state")) < state)
		json_object_set_new(row, "state", json_string(golden_state_name(state)));
	json_object_set(row, "incident", json_object_get(incident, "id"));
	json_object_set(row, "why", json_object_get(incident, "headline"));
	watch_take_subject(row, incident);
}

/* An incident is about a paused port when it names the port, or the host behind it. */
static bool watch_is_about(const json_t *incident, const json_t *paused)
{
	const char *host = doc_word(incident, "host"), *port = doc_word(incident, "port");
	if (!golden_shows(GOLDEN_PAUSE_TIME, cause_by_name(doc_word(incident, "cause"))))
		return false;
	if (*host && str_eq(host, doc_word(paused, "host")))
		return true;
	return *port && str_eq(port, doc_word(paused, "port")) &&
		str_eq(doc_word(incident, "device"), doc_word(paused, "device"));
}

static void watch_apply_paused(json_t *row, const json_t *incidents)
{
	const json_t *incident;
	size_t i;
	json_array_foreach (incidents, i, incident) {
		if (!watch_is_about(incident, row))
			continue;
		json_object_set(row, "incident", json_object_get(incident, "id"));
		json_object_set_new(row, "role", json_string("origin"));
		return;
	}
}

void watch_apply_incidents(json_t *signals, json_t *paused, const json_t *incidents)
{
	json_t *row;
	size_t i;
	json_array_foreach (signals, i, row)
		watch_apply_signal((enum golden)i, row, incidents);
	json_array_foreach (paused, i, row)
		watch_apply_paused(row, incidents);
}
