/* tuning_report_page - the page of `report tuning`. */
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/common/report_pages.h"

static const struct column sheets_columns[] = {
	{"state", "state", COL_TEXT, false},
	{"subject", "where", COL_TEXT, false},
	{"diagnosis", "diagnosis", COL_TEXT, false},
	{"change", "change", COL_TEXT, false},
	{"verdict", "proof", COL_TEXT, false},
	{"expires", "expires", COL_TIME, false},
	{"waits_for", "waits for", COL_TEXT, false},
	{"id", "sheet", COL_TEXT, false},
};
static const struct column review_columns[] = {
	{"advice", "advice", COL_TEXT, false},
	{"subject", "where", COL_TEXT, false},
	{"diagnosis", "diagnosis", COL_TEXT, false},
	{"change", "change", COL_TEXT, false},
	{"summary", "why", COL_TEXT, false},
	{"id", "sheet", COL_TEXT, false},
};
static const struct column fix_columns[] = {
	{"subject", "where", COL_TEXT, false},
	{"diagnosis", "what", COL_TEXT, false},
	{"blocked_by", "stands in the way", COL_TEXT, false},
	{"summary", "why", COL_TEXT, false},
};
static const struct column near_columns[] = {
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"priority", "priority", COL_INT, true},
	{"what", "what", COL_TEXT, false},
	{"peak_bytes", "peak", COL_BYTES, true},
	{"limit_bytes", "size", COL_BYTES, true},
	{"used_ratio", "used", COL_RATIO_PCT, true},
};

static void tuning_people(struct page *page, const json_t *sheets)
{
	static const struct {
		const char *time, *who, *words;
	} steps[] = {
		{"accepted", "accepted_by", "accepted"},
		{"rejected", "rejected_by", "rejected"},
		{"applied", "applied_by", "applied"},
	};
	const json_t *sheet;
	size_t i;
	json_array_foreach (sheets, i, sheet)
		for (size_t k = 0; k < rw_countof(steps); k++) {
			rw_cleanup(str_done) struct str text = {0};
			const char *who = doc_word(sheet, steps[k].who);
			const char *time = doc_word(sheet, steps[k].time);
			if (!*time)
				continue;
			str_addf(&text, "%.10s %.5sZ %s %s %s (sheet %s)", time, time + 11,
				*who ? who : "rocewatch", steps[k].words,
				doc_word(sheet, "subject"), doc_word(sheet, "id"));
			if (k == 1 && *doc_word(sheet, "rejected_why"))
				str_addf(&text, ": %s", doc_word(sheet, "rejected_why"));
			page_item(page, text.s);
		}
}

static void tuning_evidence(struct page *page, const json_t *evidence)
{
	const json_t *row;
	size_t i;
	page_heading(page, "Missing evidence");
	if (json_array_size(evidence) == 0)
		page_text(page, "No sheet asks for more.");
	json_array_foreach (evidence, i, row) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s: %s", doc_word(row, "subject"), doc_word(row, "text"));
		page_item(page, text.s);
	}
}

static void tuning_part(struct page *page, const char *heading, const char *empty,
	const struct column *columns, size_t n, const json_t *rows)
{
	page_heading(page, "%s", heading);
	if (json_array_size(rows) == 0)
		page_text(page, empty);
	page_table(page, NULL, columns, n, rows);
}

struct page *tuning_report_page(const json_t *doc)
{
	struct page *page = report_page("Threshold tuning", doc);
	const json_t *sheets = json_object_get(doc, "sheets");
	const json_t *known = json_object_get(doc, "near_known");
	tuning_part(page, "Threshold changes with news, or that wait", "None.", sheets_columns,
		rw_countof(sheets_columns), sheets);
	tuning_people(page, sheets);
	tuning_part(page, "What a review of the last day says", "It proposes nothing.",
		review_columns, rw_countof(review_columns), json_object_get(doc, "review"));
	tuning_part(page, "To be repaired first", "Nothing stands in the way.", fix_columns,
		rw_countof(fix_columns), json_object_get(doc, "fix_first"));
	page_heading(page, "Near their limit");
	page_textf(page,
		"Headrooms and buffer pools that were used by 80 %% or more; fill and size are "
		"known "
		"of %d headrooms and %d pools.",
		(int)json_integer_value(json_object_get(known, "headroom")),
		(int)json_integer_value(json_object_get(known, "pools")));
	page_table(page, NULL, near_columns, rw_countof(near_columns),
		json_object_get(doc, "near_limit"));
	tuning_evidence(page, json_object_get(doc, "evidence"));
	return page;
}
