/* sheet_rows - threshold changes, as of the end of a time range. */
#include "agent/reports/sheet_rows.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/reports/report_parts.h"

static int64_t sheet_time(const json_t *sheet, const char *key)
{
	wall_t t;
	if (wall_parse(doc_word(sheet, key), (wall_t){0}, &t) != 0)
		return INT64_MAX;
	return t.ns;
}

/* Its state at @at_ns, by the times at which it changed. */
static const char *sheet_state(const json_t *sheet, int64_t at_ns)
{
	if (sheet_time(sheet, "verified") <= at_ns)
		return "verified";
	if (sheet_time(sheet, "applied") <= at_ns)
		return "applied";
	if (sheet_time(sheet, "accepted") <= at_ns)
		return "accepted";
	if (sheet_time(sheet, "rejected") <= at_ns)
		return "rejected";
	if (sheet_time(sheet, "expires") <= at_ns)
		return "expired";
	return "proposed";
}

/* What somebody has to do next; NULL: nothing. */
static const char *sheet_waits_for(const char *state, const char *advice)
{
	if (str_eq(state, "proposed") && str_eq(advice, "change"))
		return "waits for approval";
	if (str_eq(state, "proposed") && str_eq(advice, "fix_first"))
		return "something else is to be repaired first";
	if (str_eq(state, "accepted"))
		return "accepted, waits to be applied";
	if (str_eq(state, "applied"))
		return "applied, waits for verification";
	return NULL;
}

static json_t *sheet_subject(const json_t *sheet)
{
	rw_cleanup(str_done) struct str text = {0};
	const json_t *priority = json_object_get(sheet, "priority");
	str_add(&text, doc_word(sheet, "device"));
	if (*doc_word(sheet, "port_group"))
		str_addf(&text, " %s", doc_word(sheet, "port_group"));
	if (json_is_integer(priority))
		str_addf(&text, " p%d", (int)json_integer_value(priority));
	return json_string_or_null(text.s);
}

static bool sheet_is_in_range(const struct client *client, const json_t *sheet)
{
	static const char *const times[] = {
		"made", "accepted", "rejected", "applied", "verified", "expires"};
	for (size_t i = 0; i < rw_countof(times); i++) {
		const int64_t t_ns = sheet_time(sheet, times[i]);
		if (t_ns > client->from_ns && t_ns <= client->to_ns)
			return true;
	}
	return false;
}

json_t *sheet_row(const struct client *client, const json_t *sheet)
{
	static const char *const kept[] = {"id", "device", "port_group", "priority", "diagnosis",
		"advice", "summary", "made", "expires", "accepted", "accepted_by", "rejected",
		"rejected_by", "rejected_why", "applied", "applied_by", "verified", "verdict",
		"collect", "blocked_by"};
	json_t *row = json_object(), *why = json_null();
	const char *state = doc_word(sheet, "state");
	if (client->to_ns < client->end_ns)
		state = sheet_state(sheet, client->to_ns);
	for (size_t i = 0; i < rw_countof(kept); i++) {
		json_t *value = json_object_get(sheet, kept[i]);
		json_object_set(row, kept[i], value ? value : json_null());
	}
	const json_t *due = json_object_get(sheet, "rollback_due");
	if (json_is_object(due) && sheet_time(due, "time") <= client->to_ns)
		why = json_string_or_null(doc_word(due, "why"));
	json_object_set_new(row, "subject", sheet_subject(sheet));
	json_object_set_new(row, "state", json_string(state));
	const char *change = doc_word(sheet, "change");
	json_object_set_new(row, "change", json_string_or_null(*change ? change : NULL));
	json_object_set_new(row, "rollback_why", why);
	json_object_set_new(row, "waits_for",
		json_string_or_null(sheet_waits_for(state, doc_word(sheet, "advice"))));
	json_object_set_new(row, "in_range", json_boolean(sheet_is_in_range(client, sheet)));
	return row;
}

int sheet_rows(struct client *client, json_t **ret, struct err *e)
{
	json_t *list = NULL, *rows = json_array(), *sheet;
	size_t i;
	*ret = rows;
	const int rc = report_served(client, "tune/list", &list, e);
	if (rc < 0) {
		json_decref(rows);
		*ret = NULL;
		return rc;
	}
	json_array_foreach (json_object_get(list, "sheets"), i, sheet)
		if (sheet_time(sheet, "made") <= client->to_ns)
			json_array_append_new(rows, sheet_row(client, sheet));
	json_decref(list);
	return 0;
}
