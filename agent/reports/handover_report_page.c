/* handover_report_page - the page of `report handover`. */
#include "base/cleanup.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_blocks.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/common/report_pages.h"

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

struct page *handover_report_page(const json_t *doc)
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
