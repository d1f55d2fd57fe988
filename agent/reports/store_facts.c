/* store_facts - figures of the agent's own table, in rows. */
#include "agent/reports/store_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "config/config.h"
#include "db/series/history.h"

static double store_figure(const json_t *health, const char *key)
{
	const json_t *value = json_object_get(health, key);
	if (json_is_number(value))
		return json_number_value(value);
	return NAN;
}

/* ---- what the store cannot do ----------------------------------------------- */

static const struct {
	const char *key;
	bool critical;
	const char *what; /* %.0f: the figure */
	const char *remedy;
} store_alarms[] = {
	{"store/compact_failed", true,
		"samples cannot be made into blocks, nor minutes and hours of them: they stay as "
		"they came, take more room, and long ranges are slow to read",
		"see the agent's log for the error; free or replace the disk"},
	{"store/damaged_devices", true,
		"stored samples of %.0f switches are damaged: what comes from these switches is "
		"not made into blocks, and reading them ends with an error",
		"'rocewatch db stat' says where; copy the file, and get back what can be by "
		"sqlite3 FILE .recover; check the disk"},
	{"store/damaged_hours", false,
		"%.0f hours of single switches lack minutes of a metric since the agent started, "
		"because blocks of single values are damaged",
		"the agent's log names them; check the disk"},
};

static void alarm_words(const char *fmt, double figure, struct str *out)
{
	const char *place = strstr(fmt, "%.0f");
	if (!place) {
		str_add(out, fmt);
		return;
	}
	str_addf(out, "%.*s%.0f%s", (int)(place - fmt), fmt, figure, place + strlen("%.0f"));
}

json_t *store_alarms_json(const json_t *health)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < rw_countof(store_alarms); i++) {
		rw_cleanup(str_done) struct str what = {0};
		const double figure = store_figure(health, store_alarms[i].key);
		if (!(figure > 0))
			continue;
		const char *severity = "warning";
		if (store_alarms[i].critical)
			severity = "critical";
		alarm_words(store_alarms[i].what, figure, &what);
		json_t *row = json_object();
		json_object_set_new(row, "severity", json_string(severity));
		json_object_set_new(row, "subject", json_string("store"));
		json_object_set_new(row, "what", json_string_or_null(what.s));
		json_object_set_new(row, "do", json_string(store_alarms[i].remedy));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* ---- where it sends to --------------------------------------------------------- */

static double ship_figure(const json_t *health, const char *name, const char *key)
{
	char full[512];
	snprintf(full, sizeof(full), "ship/%s/%s", name, key);
	return store_figure(health, full);
}

struct ship_reason {
	const char *name;
	json_t *text; /* NULL: none was found */
};

/* The newest first: the first one that is about the sink. */
static int ship_take_reason(void *arg, int n, char *const *words, char *const *names)
{
	struct ship_reason *reason = arg;
	const size_t length = strlen(reason->name);
	if (reason->text || !words[0] || strncmp(words[0], reason->name, length) != 0)
		return 0;
	const char *said = strstr(words[0] + length, ": ");
	if (words[0][length] != ' ' || !said)
		return 0;
	reason->text = json_string_or_null(said + strlen(": "));
	return 0;
}

/* What the receiver said when it began to fail; null when that is not known. */
static json_t *ship_error(struct client *client, const char *name)
{
	struct ship_reason reason = {.name = name};
	const int r = history_sql(client->history,
		"SELECT text FROM events WHERE kind='ship_failed' ORDER BY t_ns DESC LIMIT 200",
		ship_take_reason, &reason, NULL);
	if (r < 0 || !reason.text) {
		json_decref(reason.text);
		return json_null();
	}
	return reason.text;
}

static json_t *ship_count(double figure)
{
	if (isfinite(figure))
		return json_integer((json_int_t)figure);
	return json_null();
}

static json_t *ship_row(struct client *client, const json_t *health, const struct config_sink *sink)
{
	static const char *const counts[] = {"samples", "batches", "failures", "refused",
		"waiting_samples", "waiting_bytes", "lost"};
	const double failing_s = ship_figure(health, sink->name, "failing_s");
	json_t *row = json_object();
	json_t *failing = json_null(), *since = json_null(), *error = json_null();
	if (isfinite(failing_s))
		failing = json_boolean(failing_s > 0);
	if (failing_s > 0) {
		since = json_time((int64_t)(failing_s * 1e9));
		error = ship_error(client, sink->name);
	}
	json_object_set_new(row, "name", json_string(sink->name));
	json_object_set_new(row, "kind", json_string(sink_kind_name(sink->kind)));
	json_object_set_new(row, "url", json_string(sink->url));
	json_object_set_new(row, "failing", failing);
	json_object_set_new(row, "failing_since", since);
	json_object_set_new(row, "error", error);
	json_object_set_new(
		row, "behind_s", json_number_or_null(ship_figure(health, sink->name, "behind_s")));
	for (size_t k = 0; k < rw_countof(counts); k++)
		json_object_set_new(
			row, counts[k], ship_count(ship_figure(health, sink->name, counts[k])));
	return row;
}

json_t *ship_facts_json(struct client *client, const json_t *health)
{
	const struct config *config = client->config;
	json_t *rows = json_array();
	for (size_t i = 0; config && i < config->ship.n_sinks; i++)
		json_array_append_new(rows, ship_row(client, health, &config->ship.sinks[i]));
	return rows;
}

void ship_fact_text(const json_t *row, struct str *out)
{
	char behind[32];
	const json_t *failing = json_object_get(row, "failing");
	double behind_s = doc_number(row, "behind_s");
	if (!json_is_boolean(failing)) {
		str_add(out, "not known: no agent says how far it is");
		return;
	}
	if (!isfinite(behind_s))
		behind_s = 0;
	if (json_is_true(failing))
		str_addf(out, "FAILS since %s (%s); ", when_text(doc_word(row, "failing_since")).s,
			str_or(json_string_value(json_object_get(row, "error")),
				"reason not known"));
	duration_format(behind, sizeof(behind), (int64_t)(behind_s * 1e9));
	if (behind_s > 0)
		str_addf(out, "%s behind, %.0f samples wait", behind,
			doc_number(row, "waiting_samples"));
	else
		str_add(out, "nothing waits");
	if (doc_number(row, "lost") > 0)
		str_addf(out, ", %.0f were NOT SENT because too much waited",
			doc_number(row, "lost"));
}
