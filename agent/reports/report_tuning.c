/* report_tuning - the weekly review of thresholds: what was proposed, decided, applied and proven,
 * what waits, what stands in the way, and which evidence is missing. */
#include <errno.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/common/limits_range.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/common/report_page.h"
#include "agent/document/page.h"
#include "agent/document/writer.h"
#include "agent/reports/report_parts.h"
#include "agent/reports/report_shift.h"
#include "agent/reports/sheet_rows.h"
#include "config/config.h"

/* What a review of single values reads at most: a day. */
#define REVIEW_SPAN_NS (24 * 3600 * NS_PER_S)

/* ---- the ledger ---------------------------------------------------------------------------- */

static void tuning_problem(json_t *doc, const struct sheet_row *sheet)
{
	if (*str_or(sheet->rollback_why, ""))
		report_problem(doc, REPORT_CRITICAL, "roll_back", sheet->subject,
			"%s: take change %s back: %s", sheet->subject, sheet->id,
			sheet->rollback_why);
	else if (str_eq(sheet->verdict, "roll_back"))
		report_problem(doc, REPORT_CRITICAL, "roll_back", sheet->subject,
			"%s: verification of change %s says roll back", sheet->subject, sheet->id);
	else if (sheet->waits_for)
		report_problem(doc, REPORT_WARNING, "sheet_waits", sheet->subject,
			"%s: %s (sheet %s)", sheet->subject, sheet->waits_for, sheet->id);
}

static void tuning_count(struct tuning_counts *counts, const char *state)
{
	const struct {
		const char *state;
		size_t *n;
	} states[] = {
		{"proposed", &counts->proposed},
		{"accepted", &counts->accepted},
		{"applied", &counts->applied},
		{"verified", &counts->verified},
		{"rejected", &counts->rejected},
		{"expired", &counts->expired},
		{"undone", &counts->undone},
	};
	for (size_t i = 0; i < rw_countof(states); i++)
		*states[i].n += str_eq(state, states[i].state);
}

static int tuning_put_sheets(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct sheet_list list;
	size_t waiting = 0;
	const int rc = sheet_rows(client, a, &list, e);
	if (rc < 0)
		return rc;
	answer->sheets = list.sheets;
	for (size_t i = 0; i < list.n_sheets; i++) {
		const struct sheet_row *sheet = &list.sheets[i];
		if (!sheet->in_range && !sheet->waits_for)
			continue;
		answer->sheets[answer->n_sheets++] = *sheet;
		tuning_problem(doc, sheet);
		tuning_count(&answer->counts, sheet->state);
		waiting += str_eq(sheet->waits_for, "waits for approval");
	}
	report_figure(doc, "sheets", "threshold changes with news, or that wait",
		(double)answer->n_sheets, "-");
	report_figure(doc, "sheets_waiting", "that wait for approval", (double)waiting, "-");
	return 0;
}

/* ---- what the end of the range says ---------------------------------------------------------- */

static bool tuning_is_known(const struct tuning_answer *answer, const char *id)
{
	for (size_t i = 0; i < answer->n_sheets; i++)
		if (str_eq(answer->sheets[i].id, id))
			return true;
	return false;
}

static bool tuning_asks_for(const struct tuning_answer *answer, const char *text)
{
	for (size_t i = 0; i < answer->n_evidence; i++)
		if (str_eq(answer->evidence[i].text, text))
			return true;
	return false;
}

static void tuning_collect(struct tuning_answer *answer, const struct sheet_row *sheet)
{
	for (size_t i = 0; i < sheet->n_collect; i++)
		if (!tuning_asks_for(answer, sheet->collect[i]))
			answer->evidence[answer->n_evidence++] =
				(struct tuning_lack){sheet->subject, sheet->collect[i]};
}

static void tuning_add_fix(struct tuning_answer *answer, const struct sheet_row *sheet)
{
	if (str_eq(sheet->advice, "fix_first") || str_eq(sheet->advice, "blocked"))
		answer->fix_first[answer->n_fix_first++] = (struct tuning_fix){sheet->subject,
			sheet->advice, sheet->diagnosis, sheet->blocked_by, sheet->summary};
}

/* What a review would propose and nobody has recorded waits as well. */
static void tuning_review_problem(json_t *doc, const struct sheet_row *row)
{
	if (!row->recorded && str_eq(row->advice, "change"))
		report_problem(doc, REPORT_WARNING, "sheet_waits", row->subject,
			"%s: a review proposes %s; 'rocewatch tune review' records it",
			row->subject, str_or(row->change, ""));
}

static void tuning_take_review(const struct client *client, const json_t *review, json_t *doc,
	struct arena *a, struct tuning_answer *answer)
{
	struct sheet_list list;
	size_t n_collect = 0;
	sheet_list_read(client, review, a, &list);
	if (list.reason)
		report_missing(doc, "review of the last day: %s", list.reason);
	for (size_t i = 0; i < list.n_sheets; i++)
		n_collect += list.sheets[i].n_collect;
	answer->review = list.sheets;
	answer->n_review = list.n_sheets;
	answer->evidence = arena_array(a, struct tuning_lack, n_collect + 1);
	answer->fix_first = arena_array(a, struct tuning_fix, list.n_sheets + 1);
	for (size_t i = 0; i < list.n_sheets; i++) {
		struct sheet_row *row = &list.sheets[i];
		row->is_reviewed = true;
		row->recorded = tuning_is_known(answer, row->id);
		tuning_review_problem(doc, row);
		tuning_collect(answer, row);
		tuning_add_fix(answer, row);
	}
	report_figure(doc, "fix_first", "to be repaired before thresholds are tuned",
		(double)answer->n_fix_first, "-");
}

/* The same review as 'tune review' over the last day of the range: what it would propose now,
 * what is to be repaired first, and which evidence it misses. */
static int tuning_put_review(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct client day = *client;
	json_t *review = NULL;
	if (day.to_ns - day.from_ns > REVIEW_SPAN_NS)
		day.from_ns = day.to_ns - REVIEW_SPAN_NS;
	const int rc = report_served(&day, "tune/review", &review, e);
	if (rc == -ENODATA) {
		report_missing(doc, "review of the last day: %s", e->text);
		return 0;
	}
	if (rc == 0)
		tuning_take_review(client, review, doc, a, answer);
	json_decref(review);
	return rc;
}

/* ---- the page ---------------------------------------------------------------------------- */

#define SHAPE struct sheet_row
static const struct shown sheets_shown[] = {COLUMN(state, "state"), COLUMN(subject, "where"),
	COLUMN(diagnosis, "diagnosis"), COLUMN(change, "change"), COLUMN(verdict, "proof"),
	COLUMN(expires, "expires"), COLUMN(waits_for, "waits for"), COLUMN(id, "sheet")};
static const struct shown review_shown[] = {COLUMN(advice, "advice"), COLUMN(subject, "where"),
	COLUMN(diagnosis, "diagnosis"), COLUMN(change, "change"), COLUMN(summary, "why"),
	COLUMN(id, "sheet")};
static const struct shown tuning_shown[] = {COLUMN(id, "id"), COLUMN(state, "state"),
	COLUMN(subject, "where"), COLUMN(diagnosis, "diagnosis"), COLUMN(advice, "advice"),
	COLUMN(change, "change"), COLUMN(verdict, "verdict"), COLUMN(made, "made"),
	COLUMN(expires, "expires"), COLUMN(waits_for, "waits for")};
#undef SHAPE
#define SHAPE struct tuning_fix
static const struct shown fix_shown[] = {COLUMN(subject, "where"), COLUMN(diagnosis, "what"),
	COLUMN(blocked_by, "stands in the way"), COLUMN(summary, "why")};
#undef SHAPE

static const struct shape_table sheets_table = {
	&sheet_row_shape, sheets_shown, rw_countof(sheets_shown)};
static const struct shape_table review_table = {
	&sheet_row_shape, review_shown, rw_countof(review_shown)};
static const struct shape_table tuning_table = {
	&sheet_row_shape, tuning_shown, rw_countof(tuning_shown)};
static const struct shape_table fix_table = {&tuning_fix_shape, fix_shown, rw_countof(fix_shown)};

static void tuning_decision(struct page *page, const struct sheet_row *sheet, wall_t time,
	const char *who, const char *what, const char *why)
{
	rw_cleanup(str_done) struct str text = {0};
	char at[WALL_TEXT_MAX];
	if (time.ns == TIME_UNKNOWN.ns)
		return;
	wall_text(at, time, 0);
	str_addf(&text, "%.10s %.5sZ %s %s %s (sheet %s)", at, at + 11,
		*str_or(who, "") ? who : "rocewatch", what, sheet->subject, sheet->id);
	if (*str_or(why, ""))
		str_addf(&text, ": %s", why);
	page_item(page, text.s);
}

static void tuning_people(struct page *page, const struct tuning_answer *answer)
{
	for (size_t i = 0; i < answer->n_sheets; i++) {
		const struct sheet_row *s = &answer->sheets[i];
		tuning_decision(page, s, s->accepted, s->accepted_by, "accepted", NULL);
		tuning_decision(page, s, s->rejected, s->rejected_by, "rejected", s->rejected_why);
		tuning_decision(page, s, s->applied, s->applied_by, "applied", NULL);
	}
}

static void tuning_page_lacks(struct page *page, const struct tuning_answer *answer)
{
	page_heading(page, "Missing evidence");
	if (answer->n_evidence == 0)
		page_text(page, "No sheet asks for more.");
	for (size_t i = 0; i < answer->n_evidence; i++) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s: %s", answer->evidence[i].subject, answer->evidence[i].text);
		page_item(page, text.s);
	}
}

static void tuning_part(struct page *page, const char *heading, const char *empty,
	const struct shape_table *table, const void *rows, size_t n)
{
	page_heading(page, "%s", heading);
	if (n == 0)
		page_text(page, empty);
	page_rows(page, NULL, table, rows, n);
}

static struct page *tuning_page(const json_t *doc, const void *of)
{
	static const struct shape_table near_table = {.shape = &limits_row_shape};
	const struct tuning_answer *answer = of;
	struct page *page = report_page("Threshold tuning", doc);
	tuning_part(page, "Threshold changes with news, or that wait", "None.", &sheets_table,
		answer->sheets, answer->n_sheets);
	tuning_people(page, answer);
	tuning_part(page, "What a review of the last day says", "It proposes nothing.",
		&review_table, answer->review, answer->n_review);
	tuning_part(page, "To be repaired first", "Nothing stands in the way.", &fix_table,
		answer->fix_first, answer->n_fix_first);
	page_heading(page, "Near their limit");
	page_textf(page,
		"Headrooms and buffer pools that were used by 80 %% or more; fill and size are "
		"known "
		"of %zu headrooms and %zu pools.",
		answer->near_known.headroom, answer->near_known.pools);
	page_rows(page, NULL, &near_table, answer->near_limit, answer->n_near_limit);
	tuning_page_lacks(page, answer);
	return page;
}

/* ---- the report -------------------------------------------------------------------------- */

static int tuning_fill(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct limits_range limits = {0};
	int rc = tuning_put_sheets(client, doc, a, answer, e);
	if (rc == 0)
		rc = tuning_put_review(client, doc, a, answer, e);
	if (rc == 0)
		rc = limits_range_read(client, doc, a, &limits, e);
	answer->near_limit = limits.rows;
	answer->n_near_limit = limits.n_rows;
	answer->near_known = limits.known;
	if (rc == 0)
		shape_put(doc, &tuning_answer_shape, answer);
	if (rc == 0)
		rc = report_put_stale(client, doc, e);
	return rc;
}

static int tuning_collect_report(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (ask->device || ask->group)
		return err_set(e, -EINVAL,
			"report tuning is about the whole fabric; 'tune review' takes --device");
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct tuning_answer *answer = arena_new_of(a, struct tuning_answer);
	json_t *doc = report_frame("tuning", client);
	const int rc = tuning_fill(client, doc, a, answer, e);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const bool known = client->has_data || answer->n_sheets > 0;
	report_verdict(client->config, doc, known ? REPORT_OK : REPORT_UNKNOWN,
		known ? "no threshold change waits for anybody" : "the database holds nothing");
	*ret = (struct report_result){
		.doc = doc, .answer = answer, .arena = rw_take(a), .window_ns = 60 * NS_PER_S};
	return 0;
}

static const void *tuning_rows(const void *answer, size_t *ret_n)
{
	const struct tuning_answer *tuning = answer;
	*ret_n = tuning->n_sheets;
	return tuning->sheets;
}

static const struct view tuning_view = {
	.title = "threshold changes",
	.table = &tuning_table,
	.table_rows = tuning_rows,
	.empty = "no threshold change was proposed, decided or verified in this time",
	.answer_page = tuning_page,
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
