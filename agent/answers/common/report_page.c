/* report_page - the frame of a report as blocks of a page. */
#include "agent/answers/common/report_page.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_news.h"

/* ---- problems ------------------------------------------------------------- */

/* The text without the subject that it begins with, which stands in a column of its own. */
static const char *report_page_text(const json_t *problem)
{
	const char *subject = doc_word(problem, "subject"), *text = doc_word(problem, "text");
	const size_t n = strlen(subject);
	if (n == 0 || strncmp(text, subject, n) != 0)
		return text;
	if (text[n] == ' ')
		return text + n + 1;
	if (text[n] == ':' && text[n + 1] == ' ')
		return text + n + 2;
	return text;
}

/* Each runbook once. */
static void report_page_runbooks(struct page *page, const json_t *problems)
{
	const json_t *problem;
	size_t i, k;
	json_array_foreach (problems, i, problem) {
		const char *runbook = doc_word(problem, "runbook");
		for (k = 0; k < i; k++)
			if (str_eq(doc_word(json_array_get(problems, k), "runbook"), runbook))
				break;
		if (k == i)
			page_link(page, "runbook", runbook);
	}
}

static void report_page_problems(struct page *page, const json_t *doc)
{
	static const struct column columns[] = {
		{"state", "STATE", COL_STATE, false},
		{"subject", "WHERE", COL_TEXT, false},
		{"text", "PROBLEM", COL_TEXT, false},
		{"since", "NEW", COL_TEXT, false},
	};
	const json_t *problems = json_object_get(doc, "problems"), *problem;
	json_t *rows = json_array();
	const bool known = report_compared(doc, "previous") != NULL &&
		*doc_word(report_compared(doc, "previous"), "state");
	bool any_new = false;
	size_t i;
	json_array_foreach (problems, i, problem) {
		json_t *row = json_copy((json_t *)problem);
		const bool is_new = known && report_is_new(doc, doc_word(problem, "key"));
		json_object_set_new(row, "text", json_string(report_page_text(problem)));
		json_object_set_new(row, "since", json_string(is_new ? "new" : ""));
		any_new = any_new || is_new;
		json_array_append_new(rows, row);
	}
	page_table(page, "Problems", columns, rw_countof(columns) - !any_new, rows);
	json_decref(rows);
	report_page_runbooks(page, problems);
}

static const char *report_page_with(const char *with)
{
	if (str_eq(with, "yesterday"))
		return "24 h earlier";
	if (str_eq(with, "last_week"))
		return "7 d earlier";
	return "the range before";
}

/* "gone since the range before: KEY, KEY" */
static void report_page_changes(struct page *page, const json_t *doc)
{
	static const struct {
		const char *list, *label;
	} lists[] = {{"gone", "gone"}, {"changed", "changed"}};
	const json_t *previous = report_compared(doc, "previous"), *key;
	for (size_t k = 0; k < rw_countof(lists); k++) {
		rw_cleanup(str_done) struct str text = {0};
		size_t i;
		json_array_foreach (json_object_get(previous, lists[k].list), i, key)
			str_addf(&text, "%s%s", str_if(i > 0, ", "), json_string_value(key));
		if (text.n)
			str_add(&text, ", against the range before");
		page_fact(page, lists[k].label, text.s);
	}
}

/* ---- figures --------------------------------------------------------------- */

static double report_page_then(const json_t *entry, const char *key)
{
	const json_t *figure;
	size_t i;
	json_array_foreach (json_object_get(entry, "figures"), i, figure)
		if (str_eq(doc_word(figure, "key"), key))
			return doc_number(figure, "value");
	return NAN;
}

static char *report_page_value(double value, const char *unit)
{
	struct str text = {0};
	page_quantity(&text, value, unit);
	return text.s;
}

static json_t *report_page_figure(const json_t *doc, const json_t *figure)
{
	const json_t *entry;
	const char *unit = doc_word(figure, "unit");
	json_t *row = json_object();
	size_t i;
	rw_cleanup(freep) char *now = report_page_value(doc_number(figure, "value"), unit);
	json_object_set(row, "title", json_object_get(figure, "title"));
	json_object_set_new(row, "now", json_string_or_null(now));
	json_array_foreach (json_object_get(doc, "compare"), i, entry) {
		const char *key = doc_word(figure, "key");
		rw_cleanup(freep) char *then =
			report_page_value(report_page_then(entry, key), unit);
		json_object_set_new(row, doc_word(entry, "with"), json_string_or_null(then));
	}
	return row;
}

static void report_page_figures(struct page *page, const json_t *doc)
{
	enum { COLUMNS_MOST = 5 };
	const json_t *figures = json_object_get(doc, "figures"), *figure, *entry;
	struct column columns[COLUMNS_MOST] = {
		{"title", "FIGURE", COL_TEXT, false}, {"now", "NOW", COL_TEXT, true}};
	json_t *rows = json_array();
	size_t i, n = 2;
	json_array_foreach (figures, i, figure)
		json_array_append_new(rows, report_page_figure(doc, figure));
	json_array_foreach (json_object_get(doc, "compare"), i, entry) {
		const char *with = doc_word(entry, "with");
		if (n < COLUMNS_MOST && *doc_word(entry, "state"))
			columns[n++] =
				(struct column){with, report_page_with(with), COL_TEXT, true};
	}
	page_table(page, "Figures", columns, n, rows);
	json_decref(rows);
	json_array_foreach (json_object_get(doc, "compare"), i, entry)
		if (!*doc_word(entry, "state"))
			page_factf(page, "missing", "no data of %s: nothing to compare with",
				report_page_with(doc_word(entry, "with")));
}

/* ---- the frame -------------------------------------------------------------- */

static void report_page_add_time(struct str *out, const char *time)
{
	if (strlen(time) < 16)
		str_add(out, *time ? time : "?");
	else
		str_addf(out, "%.10s %.5sZ", time, time + 11);
}

struct page *report_page(const char *title, const json_t *doc)
{
	rw_cleanup(str_done) struct str below = {0}, name = {0};
	const json_t *line;
	const char *fabric = doc_word(doc, "fabric");
	size_t i;
	str_addf(&name, "%s%s%s", title, str_if(*fabric, " - "), fabric);
	str_addf(&below, "%s%s", fabric, str_if(*fabric, ", "));
	report_page_add_time(&below, doc_word(doc, "since"));
	str_add(&below, " to ");
	report_page_add_time(&below, doc_word(doc, "until"));
	struct page *page = page_new(name.s);
	page_title(page, title, below.s);
	page_verdict(page, doc_word(doc, "state"), doc_word(doc, "verdict"));
	report_page_problems(page, doc);
	report_page_changes(page, doc);
	json_array_foreach (json_object_get(doc, "missing"), i, line)
		page_fact(page, "missing", json_string_value(line));
	report_page_figures(page, doc);
	return page;
}
