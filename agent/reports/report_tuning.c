/* report_tuning - the weekly review of thresholds: what was proposed, decided, applied and proven,
 * what waits, what stands in the way, and which evidence is missing. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/limits_range.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/common/report_pages.h"
#include "agent/reports/report_parts.h"
#include "agent/reports/report_shift.h"
#include "agent/reports/sheet_rows.h"
#include "config/config.h"

/* What a review of single values reads at most: a day. */
#define REVIEW_SPAN_NS (24 * 3600 * NS_PER_S)

/* ---- the ledger ---------------------------------------------------------------------------- */

static const char *const tuning_states[] = {
	"proposed", "accepted", "applied", "verified", "rejected", "expired", "undone"};

static void tuning_problem(json_t *doc, const json_t *sheet)
{
	const char *subject = doc_word(sheet, "subject"), *id = doc_word(sheet, "id");
	const char *why = doc_word(sheet, "rollback_why"), *waits = doc_word(sheet, "waits_for");
	if (*why)
		report_problem(doc, REPORT_CRITICAL, "roll_back", subject,
			"%s: take change %s back: %s", subject, id, why);
	else if (str_eq(doc_word(sheet, "verdict"), "roll_back"))
		report_problem(doc, REPORT_CRITICAL, "roll_back", subject,
			"%s: verification of change %s says roll back", subject, id);
	else if (*waits)
		report_problem(doc, REPORT_WARNING, "sheet_waits", subject, "%s: %s (sheet %s)",
			subject, waits, id);
}

/* Those with an event in the range, or that wait: the others are history. */
static bool tuning_is_shown(const json_t *sheet)
{
	return json_is_true(json_object_get(sheet, "in_range")) || *doc_word(sheet, "waits_for");
}

static void tuning_counts(json_t *doc, const json_t *shown)
{
	json_t *counts = json_object();
	for (size_t i = 0; i < rw_countof(tuning_states); i++) {
		const json_t *sheet;
		size_t k, n = 0;
		json_array_foreach (shown, k, sheet)
			n += str_eq(doc_word(sheet, "state"), tuning_states[i]);
		json_object_set_new(counts, tuning_states[i], json_integer((json_int_t)n));
	}
	json_object_set_new(doc, "counts", counts);
}

static int tuning_put_sheets(struct client *client, json_t *doc, struct err *e)
{
	json_t *all = NULL, *shown = json_array(), *sheet;
	size_t i, waiting = 0;
	const int rc = sheet_rows(client, &all, e);
	json_object_set_new(doc, "sheets", shown);
	if (rc < 0)
		return rc;
	json_array_foreach (all, i, sheet) {
		if (!tuning_is_shown(sheet))
			continue;
		json_array_append(shown, sheet);
		tuning_problem(doc, sheet);
		waiting += str_eq(doc_word(sheet, "waits_for"), "waits for approval");
	}
	json_decref(all);
	tuning_counts(doc, shown);
	report_figure(doc, "sheets", "threshold changes with news, or that wait",
		(double)json_array_size(shown), "-");
	report_figure(doc, "sheets_waiting", "that wait for approval", (double)waiting, "-");
	return 0;
}

/* ---- what the end of the range says ---------------------------------------------------------- */

static bool tuning_is_known(const json_t *sheets, const char *id)
{
	const json_t *sheet;
	size_t i;
	json_array_foreach (sheets, i, sheet)
		if (str_eq(doc_word(sheet, "id"), id))
			return true;
	return false;
}

/* Evidence that a sheet asks for, once each. */
static void tuning_collect(json_t *evidence, const json_t *sheet)
{
	const json_t *text;
	size_t i, k;
	json_array_foreach (json_object_get(sheet, "collect"), i, text) {
		bool known = false;
		for (k = 0; k < json_array_size(evidence) && !known; k++)
			known = json_equal(
				json_object_get(json_array_get(evidence, k), "text"), text);
		if (!known)
			json_array_append_new(evidence,
				json_pack("{s:s, s:O}", "subject", doc_word(sheet, "subject"),
					"text", text));
	}
}

static void tuning_put_fix_first(json_t *doc, const json_t *sheet)
{
	const char *advice = doc_word(sheet, "advice");
	json_t *fix_first = json_object_get(doc, "fix_first");
	if (!str_eq(advice, "fix_first") && !str_eq(advice, "blocked"))
		return;
	json_array_append_new(fix_first,
		json_pack("{s:s, s:s, s:O, s:O, s:O}", "subject", doc_word(sheet, "subject"),
			"advice", advice, "diagnosis", json_object_get(sheet, "diagnosis"),
			"blocked_by", json_object_get(sheet, "blocked_by"), "summary",
			json_object_get(sheet, "summary")));
}

/* What a review would propose and nobody has recorded waits as well. */
static void tuning_review_problem(json_t *doc, const json_t *row, bool recorded)
{
	if (!recorded && str_eq(doc_word(row, "advice"), "change"))
		report_problem(doc, REPORT_WARNING, "sheet_waits", doc_word(row, "subject"),
			"%s: a review proposes %s; 'rocewatch tune review' records it",
			doc_word(row, "subject"), doc_word(row, "change"));
}

/* The same review as 'tune review' over the last day of the range: what it would propose now,
 * what is to be repaired first, and which evidence it misses. */
static int tuning_put_review(struct client *client, json_t *doc, struct err *e)
{
	struct client day = *client;
	json_t *review = NULL, *rows = json_array(), *evidence = json_array(), *sheet;
	size_t i;
	if (day.to_ns - day.from_ns > REVIEW_SPAN_NS)
		day.from_ns = day.to_ns - REVIEW_SPAN_NS;
	json_object_set_new(doc, "review", rows);
	json_object_set_new(doc, "evidence", evidence);
	json_object_set_new(doc, "fix_first", json_array());
	int rc = report_served(&day, "tune/review", &review, e);
	if (rc == -ENODATA) {
		report_missing(doc, "review of the last day: %s", e->text);
		return 0;
	}
	if (rc < 0)
		return rc;
	if (*doc_word(review, "reason"))
		report_missing(doc, "review of the last day: %s", doc_word(review, "reason"));
	json_array_foreach (json_object_get(review, "sheets"), i, sheet) {
		json_t *row = sheet_row(client, sheet);
		const bool known =
			tuning_is_known(json_object_get(doc, "sheets"), doc_word(sheet, "id"));
		json_object_set_new(row, "recorded", json_boolean(known));
		tuning_review_problem(doc, row, known);
		tuning_collect(evidence, row);
		tuning_put_fix_first(doc, row);
		json_array_append_new(rows, row);
	}
	json_decref(review);
	report_figure(doc, "fix_first", "to be repaired before thresholds are tuned",
		(double)json_array_size(json_object_get(doc, "fix_first")), "-");
	return 0;
}

/* ---- the report ---------------------------------------------------------------------------------
 */

static int tuning_fill(struct client *client, json_t *doc, struct err *e)
{
	int (*const steps[])(struct client *, json_t *, struct err *) = {
		tuning_put_sheets,
		tuning_put_review,
		limits_range_put,
		report_put_stale,
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < rw_countof(steps); i++)
		rc = steps[i](client, doc, e);
	return rc;
}

static int tuning_collect_report(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (ask->device || ask->group)
		return err_set(e, -EINVAL,
			"report tuning is about the whole fabric; 'tune review' takes --device");
	json_t *doc = report_frame("tuning", client);
	const int rc = tuning_fill(client, doc, e);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const bool known = client->has_data || json_array_size(json_object_get(doc, "sheets")) > 0;
	report_verdict(client->config, doc, known ? REPORT_OK : REPORT_UNKNOWN,
		known ? "no threshold change waits for anybody" : "the database holds nothing");
	*ret = (struct report_result){.doc = doc, .window_ns = 60 * NS_PER_S};
	return 0;
}

static const struct column tuning_columns[] = {
	{"id", "id", COL_TEXT, false},
	{"state", "state", COL_TEXT, false},
	{"subject", "where", COL_TEXT, false},
	{"diagnosis", "diagnosis", COL_TEXT, false},
	{"advice", "advice", COL_TEXT, false},
	{"change", "change", COL_TEXT, false},
	{"verdict", "verdict", COL_TEXT, false},
	{"made", "made", COL_TIME, false},
	{"expires", "expires", COL_TIME, false},
	{"waits_for", "waits for", COL_TEXT, false},
};
static const struct view tuning_view = {
	.title = "threshold changes",
	.rows = "sheets",
	.columns = tuning_columns,
	.n_columns = rw_countof(tuning_columns),
	.empty = "no threshold change was proposed, decided or verified in this time",
	.page = tuning_report_page,
};

const struct report report_tuning = {
	.name = "tuning",
	.summary = "the weekly review of thresholds",
	.help = "Threshold changes that were proposed, accepted, applied, verified, rejected or "
		"expired in the range, what waits for approval, headrooms and pools near their "
		"limit, and, from a review of the last day, what is to be repaired first and which "
		"evidence is missing. The range is the last 7 days.\n"
		"With --check a change that is to be taken back is critical, one that waits is a "
		"warning.",
	.examples = {{"report tuning", "prints the threshold changes of the last 7 days"},
		{"report tuning --check", "prints a line for monitoring: what waits is a warning"}},
	.span_ns = 7 * 24 * 3600 * NS_PER_S,
	.collect = tuning_collect_report,
	.view = &tuning_view,
};
