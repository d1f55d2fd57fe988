/* report_shift - people, changes, silences, money and staleness of a stretch of time. */
#include "agent/reports/report_shift.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/report_incidents.h"
#include "config/config.h"

static int report_error(const struct err *e)
{
	return e->code ? e->code : -EIO;
}

/* ---- what people did to incidents -------------------------------------------------------- */

/* A line of a timeline that a person is behind, taken apart. Borrowed from the line. */
struct shift_line {
	const char *action, *who, *text;
	size_t n_who;
};

static bool shift_begins(const char *text, const char *word, const char **ret_rest)
{
	const size_t n = strlen(word);
	if (strncmp(text, word, n) != 0)
		return false;
	*ret_rest = text + n;
	return true;
}

/* Words with which the ledger itself begins a line. */
static bool shift_is_machine(const char *text, size_t n)
{
	static const char *const words[] = {
		"pending", "open", "clearing", "closed", "cause", "severity"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strlen(words[i]) == n && strncmp(text, words[i], n) == 0)
			return true;
	return memchr(text, ' ', n) != NULL;
}

/* "ann: text", "ann". */
static void shift_split(const char *rest, struct shift_line *ret)
{
	const char *colon = strstr(rest, ": ");
	ret->who = rest;
	ret->n_who = colon ? (size_t)(colon - rest) : strlen(rest);
	ret->text = colon ? colon + 2 : "";
}

static bool shift_read_line(const char *text, struct shift_line *ret)
{
	const char *rest = NULL, *colon = strstr(text, ": ");
	if (shift_begins(text, "acknowledged by ", &rest)) {
		shift_split(rest, ret);
		ret->action = "acknowledged";
		return true;
	}
	if (shift_begins(text, "closed: by ", &rest)) {
		shift_split(rest, ret);
		ret->action = "closed";
		return true;
	}
	if (shift_begins(text, "assigned to ", &rest)) {
		const char *by = strstr(rest, " by ");
		*ret = (struct shift_line){"assigned", by ? by + 4 : "", rest, 0};
		ret->n_who = strlen(ret->who);
		return true;
	}
	if (!colon || shift_is_machine(text, (size_t)(colon - text)))
		return false;
	shift_split(text, ret);
	ret->action = "noted";
	return true;
}

static void shift_take_lines(const struct client *client, const json_t *incident, json_t *people)
{
	const json_t *line;
	size_t i;
	json_array_foreach (json_object_get(incident, "timeline"), i, line) {
		struct shift_line parts;
		wall_t t;
		if (wall_parse(doc_word(line, "t"), (wall_t){0}, &t) != 0 ||
			t.ns < client->from_ns || t.ns > client->to_ns ||
			!shift_read_line(doc_word(line, "text"), &parts))
			continue;
		json_t *row = json_object();
		json_object_set(row, "time", json_object_get(line, "t"));
		json_object_set(row, "incident", json_object_get(incident, "id"));
		json_object_set_new(
			row, "headline", json_string_or_null(incident_headline_of(incident)));
		json_object_set_new(row, "who", json_stringn(parts.who, parts.n_who));
		json_object_set_new(row, "action", json_string(parts.action));
		json_object_set_new(row, "text", json_string(parts.text));
		json_array_append_new(people, row);
	}
}

/* Oldest first: times in UTC sort as text. */
static json_t *shift_by_time(json_t *rows)
{
	json_t *sorted = json_array(), *row;
	size_t i;
	json_array_foreach (rows, i, row) {
		size_t at = json_array_size(sorted);
		while (at > 0 &&
			strcmp(doc_word(json_array_get(sorted, at - 1), "time"),
				doc_word(row, "time")) > 0)
			at--;
		json_array_insert(sorted, at, row);
	}
	json_decref(rows);
	return sorted;
}

int report_put_people(struct client *client, json_t *doc, struct err *e)
{
	struct client ranged = report_client(client);
	json_t *stored = incidents_load(&ranged, NULL, e), *people = json_array(), *incident;
	size_t i;
	if (!stored) {
		json_decref(people);
		return report_error(e);
	}
	json_array_foreach (stored, i, incident)
		shift_take_lines(client, incident, people);
	json_decref(stored);
	json_object_set_new(doc, "people", shift_by_time(people));
	return 0;
}

/* ---- what was changed ---------------------------------------------------------------------- */

static bool shift_is_change(const char *kind)
{
	static const char *const kinds[] = {"change", "tuning", "topology", "jobs", "agent_start",
		"agent_stop", "agent_away", "clock_step", "store_late", "store_damaged",
		"reload_refused", "silence_added", "silence_expired", "silence_moved"};
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (str_eq(kinds[i], kind))
			return true;
	return false;
}

int report_put_changes(struct client *client, json_t *doc, struct err *e)
{
	static const char *const kept[] = {"kind", "device", "port", "job", "who", "text"};
	json_t *events = events_document(client, NULL, NULL, e), *changes = json_array(), *event;
	size_t i;
	if (!events) {
		json_decref(changes);
		return report_error(e);
	}
	json_array_foreach (json_object_get(events, "events"), i, event) {
		if (!shift_is_change(doc_word(event, "kind")))
			continue;
		json_t *row = json_object();
		json_object_set(row, "time", json_object_get(event, "t"));
		for (size_t k = 0; k < rw_countof(kept); k++)
			json_object_set(row, kept[k], json_object_get(event, kept[k]));
		json_array_append_new(changes, row);
	}
	json_decref(events);
	json_object_set_new(doc, "changes", changes);
	return 0;
}

int report_put_silences(struct client *client, json_t *doc, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	const int rc = silences_load(client->history, &silences, e);
	json_t *rows = json_array();
	for (size_t i = 0; rc == 0 && i < silences.n; i++) {
		const struct silence *silence = &silences.v[i];
		if (silence->until_ns > client->from_ns && silence->from_ns < client->to_ns)
			json_array_append_new(rows, silence_json(silence, client->to_ns));
	}
	json_object_set_new(doc, "silences", rows);
	return rc;
}

/* ---- money ------------------------------------------------------------------------------------
 */

static const char *shift_biggest(const json_t *incidents)
{
	const char *id = NULL;
	double most = 0;
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row) {
		const double usd = doc_number(row, "usd_in_range");
		if (!(usd > most))
			continue;
		most = usd;
		id = doc_word(row, "id");
	}
	return id;
}

void report_put_money(const struct client *client, json_t *doc)
{
	const struct fabric *fabric = client->config->fabric;
	const json_t *incidents = json_object_get(doc, "incidents");
	const uint64_t gpus = fabric_gpus(fabric);
	const double hours = (double)(client->to_ns - client->from_ns) / (3600.0 * NS_PER_S);
	double all = NAN, price = NAN, usd = NAN;
	json_t *money = json_object();
	if (fabric->usd_per_gpu_hour > 0)
		price = fabric->usd_per_gpu_hour;
	if (gpus > 0)
		all = (double)gpus * price * hours;
	if (!isnan(price))
		usd = report_incidents_usd(incidents);
	else
		report_missing(doc,
			"no price is configured (cost.usd_per_gpu_hour): incidents "
			"have no cost");
	json_object_set_new(money, "usd_in_range", json_number_or_null(usd));
	json_object_set_new(money, "usd_of_range", json_number_or_null(all));
	json_object_set_new(money, "share_ratio", json_number_or_null(usd / all));
	json_object_set_new(money, "gpus", gpus ? json_integer((json_int_t)gpus) : json_null());
	json_object_set_new(money, "usd_per_gpu_hour", json_number_or_null(price));
	json_object_set_new(money, "biggest", json_string_or_null(shift_biggest(incidents)));
	json_object_set_new(doc, "money", money);
	report_figure(doc, "usd", "cost of incidents in this time", usd, "USD");
}

/* ---- old data
 * ------------------------------------------------------------------------------------ */

int report_put_stale(struct client *client, json_t *doc, struct err *e)
{
	struct agent_state state;
	char age[32];
	if (client->to_ns < client->end_ns)
		return 0;
	const int rc = agent_state_read(client, &state, e);
	if (rc < 0)
		return rc;
	if (!state.has_data || !state.stale)
		return 0;
	duration_format(age, sizeof(age), state.age_ns);
	report_missing(doc, "the newest sample is %s old: what happened since is not known", age);
	report_problem(doc, REPORT_UNKNOWN, "stale_data", "",
		"the data is old, its newest sample is of %s ago: is the agent running?", age);
	return 0;
}
