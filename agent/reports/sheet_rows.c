/* sheet_rows - threshold changes, as of the end of a time range. */
#include "agent/reports/sheet_rows.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/reports/report_parts.h"

static bool sheet_was(wall_t time, int64_t at_ns)
{
	return time.ns != TIME_UNKNOWN.ns && time.ns <= at_ns;
}

/* Its state at @at_ns, by the times at which it changed. */
static const char *sheet_state(const struct sheet_row *sheet, int64_t at_ns)
{
	if (sheet_was(sheet->verified, at_ns))
		return "verified";
	if (sheet_was(sheet->applied, at_ns))
		return "applied";
	if (sheet_was(sheet->accepted, at_ns))
		return "accepted";
	if (sheet_was(sheet->rejected, at_ns))
		return "rejected";
	if (sheet_was(sheet->expires, at_ns))
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

static const char *sheet_subject(const struct sheet_row *sheet, struct arena *a)
{
	const char *priority = "";
	if (sheet->priority >= 0)
		priority = arena_printf(a, " p%d", sheet->priority);
	return arena_printf(a, "%s%s%s%s", str_or(sheet->device, ""),
		str_if(sheet->port_group, " "), str_or(sheet->port_group, ""), priority);
}

static bool sheet_is_in_range(const struct client *client, const struct sheet_row *sheet)
{
	const wall_t times[] = {sheet->made, sheet->accepted, sheet->rejected, sheet->applied,
		sheet->verified, sheet->expires};
	for (size_t i = 0; i < rw_countof(times); i++)
		if (sheet_was(times[i], client->to_ns) && times[i].ns > client->from_ns)
			return true;
	return false;
}

static void sheet_complete(const struct client *client, struct arena *a, struct sheet_row *sheet)
{
	const struct sheet_due *due = sheet->rollback_due;
	sheet->subject = sheet_subject(sheet, a);
	if (client->to_ns < client->end_ns)
		sheet->state = sheet_state(sheet, client->to_ns);
	if (due && sheet_was(due->time, client->to_ns))
		sheet->rollback_why = str_or(due->why, "");
	if (sheet->change && !*sheet->change)
		sheet->change = NULL;
	sheet->waits_for = sheet_waits_for(sheet->state, sheet->advice);
	sheet->in_range = sheet_is_in_range(client, sheet);
}

void sheet_list_read(
	const struct client *client, const json_t *doc, struct arena *a, struct sheet_list *ret)
{
	shape_read(&sheet_list_shape, doc, a, ret);
	for (size_t i = 0; i < ret->n_sheets; i++)
		sheet_complete(client, a, &ret->sheets[i]);
}

int sheet_rows(struct client *client, struct arena *a, struct sheet_list *ret, struct err *e)
{
	json_t *list = NULL;
	size_t n = 0;
	*ret = (struct sheet_list){0};
	const int rc = report_served(client, "tune/list", &list, e);
	if (rc < 0)
		return rc;
	sheet_list_read(client, list, a, ret);
	for (size_t i = 0; i < ret->n_sheets; i++)
		if (sheet_was(ret->sheets[i].made, client->to_ns))
			ret->sheets[n++] = ret->sheets[i];
	ret->n_sheets = n;
	json_decref(list);
	return 0;
}
