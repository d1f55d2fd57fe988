/* report_handover - what one shift tells the next: open, closed, money, risk, watch, changes,
 * silences, and who said what. */

#include "agent/answers/common/report_page.h"
#include "agent/document/page.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/reports/report_parts.h"
#include "agent/reports/report_shift.h"
#include "agent/reports/report_tuning.h"
#include "agent/answers/status/status.h"

/* The page. */

static const struct column watch_columns[] = {
	{"state", "state", COL_STATE, false},
	{"subject", "where", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"report", "more in report", COL_TEXT, false},
};
static const struct column risk_columns[] = {
	{"subject", "where", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"id", "sheet", COL_TEXT, false},
};
static const struct column silences_columns[] = {
	{"id", "silence", COL_TEXT, false},
	{"state", "state", COL_TEXT, false},
	{"device", "device", COL_TEXT, false},
	{"cause", "cause", COL_TEXT, false},
	{"until", "until", COL_TIME, false},
	{"by", "by", COL_TEXT, false},
	{"why", "why", COL_TEXT, false},
};
static const struct column people_columns[] = {
	{"time", "time", COL_TIME, false},
	{"who", "who", COL_TEXT, false},
	{"action", "did", COL_TEXT, false},
	{"text", "text", COL_TEXT, false},
	{"headline", "incident", COL_TEXT, false},
	{"incident", "id", COL_TEXT, false},
};

/* A heading with its table, or with what is said of an empty one. */
static void handover_part(struct page *page, const char *heading, const char *empty,
	const struct column *columns, size_t n, const json_t *rows)
{
	page_heading(page, "%s", heading);
	if (json_array_size(rows) == 0)
		page_text(page, empty);
	page_table(page, NULL, columns, n, rows);
}

static struct page *handover_report_page(const json_t *doc)
{
	struct page *page = report_page("Handover", doc);
	page_heading(page, "The shift in short");
	report_block_telemetry(page, json_object_get(doc, "telemetry"));
	report_block_money(page, json_object_get(doc, "money"));
	report_block_incidents(page, "Open", json_object_get(doc, "open"), "No incident is open.");
	report_block_incidents(page, "Closed in the shift", json_object_get(doc, "closed"),
		"No incident was closed.");
	handover_part(page, "Risk: threshold changes that wait", "None waits.", risk_columns,
		rw_countof(risk_columns), json_object_get(doc, "risk"));
	handover_part(page, "Watch: seen, and no incident is about it", "Nothing.", watch_columns,
		rw_countof(watch_columns), json_object_get(doc, "watch"));
	report_block_parts(page, json_object_get(doc, "parts"));
	report_block_changes(page, json_object_get(doc, "changes"));
	handover_part(page, "Silences", "Nothing was silenced.", silences_columns,
		rw_countof(silences_columns), json_object_get(doc, "silences"));
	handover_part(page, "Who said what", "Nobody acknowledged, assigned or noted anything.",
		people_columns, rw_countof(people_columns), json_object_get(doc, "people"));
	return page;
}

/* ---- report_handover ----------------------------------------------------- */

/* ---- incidents --------------------------------------------------------------------------- */

/* "open" and "closed" are parts of "incidents": those open at the end, those closed in the shift.
 * What is closed asks nothing of the next shift. */
static int handover_put_incidents(struct client *client, json_t *doc, struct err *e)
{
	json_t *incidents = report_incidents(client, NULL, e), *row;
	json_t *open = json_array(), *closed = json_array();
	size_t i;
	if (!incidents) {
		json_decref(open);
		json_decref(closed);
		return e->code ? e->code : -EIO;
	}
	json_array_foreach (incidents, i, row)
		json_array_append(str_eq(doc_word(row, "state"), "closed") ? closed : open, row);
	json_object_set_new(doc, "incidents", incidents);
	json_object_set_new(doc, "open", open);
	json_object_set_new(doc, "closed", closed);
	report_incidents_problems(doc, open);
	report_figure(doc, "incidents_open", "incidents open", (double)json_array_size(open), "-");
	report_figure(doc, "incidents_opened", "incidents opened in the shift",
		(double)report_incidents_count(incidents).opened, "-");
	report_figure(doc, "incidents_closed", "incidents closed in the shift",
		(double)json_array_size(closed), "-");
	report_put_money(client, doc);
	return 0;
}

/* ---- risk ---------------------------------------------------------------------------------- */

static void handover_risk(
	json_t *risks, const char *kind, const struct sheet_row *sheet, const char *text)
{
	json_array_append_new(risks,
		json_pack("{s:s, s:s, s:s, s:s}", "kind", kind, "subject", sheet->subject, "id",
			sheet->id, "text", text));
}

/* Threshold changes on their way: what waits for somebody. */
static int handover_put_risk(struct client *client, json_t *doc, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct sheet_list list;
	json_t *risks = json_array();
	const int rc = sheet_rows(client, a, &list, e);
	json_object_set_new(doc, "risk", risks);
	for (size_t i = 0; i < list.n_sheets; i++) {
		const struct sheet_row *sheet = &list.sheets[i];
		const char *why = str_or(sheet->rollback_why, "");
		if (*why) {
			handover_risk(risks, "roll_back", sheet, why);
			report_problem(doc, REPORT_CRITICAL, "roll_back", sheet->subject,
				"%s: take threshold change %s back: %s", sheet->subject, sheet->id,
				why);
		} else if (sheet->waits_for) {
			handover_risk(risks, "waits", sheet, sheet->waits_for);
		}
	}
	return rc;
}

/* ---- watch ---------------------------------------------------------------------------------- */

/* Does an incident of the shift name the place? "leaf2:Eth1" and "leaf1" of "leaf1 uplinks" do. */
static bool handover_is_named(const json_t *incidents, const char *subject)
{
	const json_t *incident;
	const size_t n = strcspn(subject, " ");
	size_t i;
	json_array_foreach (incidents, i, incident) {
		const char *where = doc_word(incident, "where");
		for (; n > 0 && *where; where += strcspn(where, " "), where += strspn(where, " "))
			if (strncmp(where, subject, n) == 0 && strchr(" :", where[n]))
				return true;
	}
	return false;
}

/* What the other reports find and no incident is about. */
static void handover_watch_part(
	json_t *watch, const char *name, const json_t *part, const json_t *incidents)
{
	const json_t *problem;
	size_t i;
	json_array_foreach (json_object_get(part, "problems"), i, problem) {
		if (strstr(doc_word(problem, "text"), "(incident ") ||
			handover_is_named(incidents, doc_word(problem, "subject")))
			continue;
		json_array_append_new(watch,
			json_pack("{s:s, s:O, s:O, s:O}", "report", name, "state",
				json_object_get(problem, "state"), "subject",
				json_object_get(problem, "subject"), "text",
				json_object_get(problem, "text")));
	}
}

static int handover_put_watch(struct client *client, json_t *doc, struct err *e)
{
	static const struct report *const reports_watched[] = {
		&report_pause, &report_links, &report_spine_imbalance};
	json_t *watch = json_array(), *parts = json_array();
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < rw_countof(reports_watched); i++) {
		json_t *part = NULL;
		rc = report_part(client, reports_watched[i], &part, e);
		if (rc == -ENODATA) {
			report_missing(doc, "%s: %s", reports_watched[i]->name, e->text);
			rc = 0;
		} else if (rc == 0) {
			report_part_verdict(parts, reports_watched[i]->name, part);
			handover_watch_part(watch, reports_watched[i]->name, part,
				json_object_get(doc, "incidents"));
			json_decref(part);
		}
	}
	json_object_set_new(doc, "watch", watch);
	json_object_set_new(doc, "parts", parts);
	return rc;
}

/* ---- is it well? ---------------------------------------------------------------------------- */

/* The state and the sentence of every face; what this report finds besides is under "problems". */
static int handover_judge(struct client *client, json_t *doc, struct err *e)
{
	static const enum report_state states[GOLDEN_STATES] = {[GOLDEN_UNKNOWN] = REPORT_UNKNOWN,
		[GOLDEN_IDLE] = REPORT_OK,
		[GOLDEN_OK] = REPORT_OK,
		[GOLDEN_WARNING] = REPORT_WARNING,
		[GOLDEN_CRITICAL] = REPORT_CRITICAL};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct status_answer status;
	const int rc = status_read(client, a, &status, e);
	if (rc < 0)
		return rc;
	json_object_set_new(doc, "state", json_string(report_state_name(states[status.state])));
	json_object_set_new(doc, "verdict", json_string_or_null(status.state_why));
	return 0;
}

/* ---- the report ----------------------------------------------------------------------------- */

static report_put_fn *const handover_steps[] = {
	handover_put_incidents,
	report_put_telemetry,
	handover_put_risk,
	handover_put_watch,
	report_put_changes,
	report_put_silences,
	report_put_people,
	report_put_stale,
};

static int handover_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (ask->device || ask->group)
		return err_set(e, -EINVAL, "report handover is about the whole fabric");
	const int rc = report_collect_whole(client, "handover", handover_steps,
		rw_countof(handover_steps), "nothing is open", ret, e);
	if (rc < 0)
		return rc;
	return handover_judge(client, ret->doc, e);
}

static const struct column handover_columns[] = {
	{"id", "id", COL_TEXT, false},
	{"severity", "severity", COL_TEXT, false},
	{"state", "state", COL_TEXT, false},
	{"headline", "what", COL_TEXT, false},
	{"age_s", "age", COL_DURATION_S, true},
	{"usd_in_range", "cost in the shift", COL_USD, true},
	{"usd_total", "cost so far", COL_USD, true},
	{"assigned_to", "owner", COL_TEXT, false},
	{"acked_by", "acknowledged by", COL_TEXT, false},
};
static const struct view handover_view = {
	.title = "handover",
	.rows = "incidents",
	.columns = handover_columns,
	.n_columns = rw_countof(handover_columns),
	.empty = "no incident in this shift",
	.page = handover_report_page,
};

const struct report report_handover = {
	.name = "handover",
	.summary = "what one shift tells the next",
	.help = "Incidents that are open and that were closed in the shift, with owner and cost; "
		"what waits for a decision; what to watch though no incident is open about it; "
		"changes, silences, and who acknowledged, assigned or noted what. The range is the "
		"last 8 hours.\n"
		"Its state and its first sentence are those of `status`; with --check they decide.",
	.examples = {{"report handover", "prints what the last 8 hours leave to the next shift"},
		{"report handover --since 12h --format md",
			"prints it for a ticket or a chat, of a longer shift"}},
	.span_ns = 8 * 3600 * NS_PER_S,
	.collect = handover_collect,
	.view = &handover_view,
};
