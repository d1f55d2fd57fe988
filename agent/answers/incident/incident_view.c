/*
 * incident_view - incidents as people see them: list, card and timeline.
 */
#include "agent/answers/incident/incident_view.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/document/paper.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/incident/incident_card.h"
#include "agent/answers/incident/incident_page.h"
#include "agent/answers/incident/incident_words.h"
#include "agent/answers/common/text.h"

/* ---- views --------------------------------------------------------------- */

const struct column incident_list_columns[INCIDENT_LIST_COLUMNS] = {
	{"id", "ID", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"cause", "CAUSE", COL_TEXT, false},
	{"where", "WHERE", COL_TEXT, false},
	{"confidence_ratio", "CONF", COL_RATIO_PCT, true},
	{"usd_per_hour", "COST/H", COL_USD, true},
	{"acked_by", "ACKED", COL_TEXT, false},
	{"summary", "SUMMARY", COL_TEXT, false},
};

static size_t incident_view_width(FILE *out)
{
	return paper_width(out, 80, 160);
}

/* "$960", "$12.4k"; "-" when it is not known. */
static void list_money(char *text, size_t size, double usd)
{
	if (isnan(usd))
		snprintf(text, size, "-");
	else if (usd < 10)
		snprintf(text, size, "$%.2f", usd);
	else if (usd < 9999.5)
		snprintf(text, size, "$%.0f", usd);
	else if (usd < 99950)
		snprintf(text, size, "$%.1fk", usd / 1e3);
	else
		snprintf(text, size, "$%.0fk", usd / 1e3);
}

static const char *list_state(const json_t *incident)
{
	const char *state = doc_word(incident, "state");
	if (str_eq(state, "closed"))
		return "closed";
	if (str_eq(state, "clearing"))
		return "clears";
	if (*doc_word(incident, "acked_by"))
		return "ack";
	if (*doc_word(incident, "silenced"))
		return "silent";
	return "new";
}

static const char *list_severity(const json_t *incident)
{
	static const char *const words[][2] = {
		{"critical", "CRIT"}, {"warning", "warn"}, {"info", "info"}};
	for (size_t k = 0; k < rw_countof(words); k++)
		if (str_eq(words[k][0], doc_word(incident, "severity")))
			return words[k][1];
	return "-";
}

/* ---- families ------------------------------------------------------------ */

/* What makes a family of rows. */
struct family_row {
	const char *id, *parent; /* lent by the row; parent NULL: none */
	size_t parts;
};

#define FAMILY_DEEPEST 8

/* The row that @at is part of in the end; itself when it is part of none there. */
static size_t family_root(const struct family_row *rows, size_t n, size_t at)
{
	for (int depth = 0; depth < FAMILY_DEEPEST && rows[at].parent; depth++) {
		size_t k = 0;
		while (k < n && !str_eq(rows[k].id, rows[at].parent))
			k++;
		if (k == n || k == at)
			return at;
		at = k;
	}
	return at;
}

json_t *incident_families(const json_t *incidents)
{
	const size_t n = json_array_size(incidents);
	struct family_row *rows = rw_calloc(n + 1, sizeof(*rows));
	json_t *ret = json_array(), *o;
	size_t k;
	json_array_foreach (incidents, k, o) {
		rows[k].id = "";
		json_unpack(o, "{s:s}", "id", &rows[k].id);
		json_unpack(o, "{s:s}", "parent", &rows[k].parent);
	}
	for (k = 0; k < n; k++) {
		const size_t root = family_root(rows, n, k);
		if (root != k)
			rows[root].parts++;
	}
	json_array_foreach (incidents, k, o) {
		if (family_root(rows, n, k) != k)
			continue;
		json_t *row = json_copy(o);
		json_object_set_new(row, "parts", json_integer((json_int_t)rows[k].parts));
		json_array_append_new(ret, row);
	}
	free(rows);
	return ret;
}

void incident_parts_text(const json_t *row, char *out, size_t size)
{
	json_int_t parts = 0;
	out[0] = '\0';
	if (json_unpack((json_t *)row, "{s:I}", "parts", &parts) == 0 && parts > 0)
		snprintf(out, size, " (+%lld part%s)", (long long)parts, str_if(parts != 1, "s"));
}

/* ---- the list ------------------------------------------------------------- */

/* Columns in front of the headline, and behind it. */
enum { LIST_BEFORE = 27, LIST_BEHIND = 7 };

static void list_line(FILE *out, const json_t *incident, bool color)
{
	char age[16], money[16], parts[32];
	const char *severity = list_severity(incident);
	incident_parts_text(incident, parts, sizeof(parts));
	const bool loud = color && str_eq(severity, "CRIT");
	incident_age_text(age, sizeof(age), doc_number(incident, "age_s"));
	list_money(money, sizeof(money), doc_number(incident, "usd_per_hour"));
	fprintf(out, "%-8.8s %s%-4s%s %4s %6s  ", doc_word(incident, "id"),
		str_if(loud, "\033[1;31m"), severity, str_if(loud, "\033[0m"), age, money);
	text_put_cut(out, doc_word(incident, "headline"),
		incident_view_width(out) - LIST_BEFORE - LIST_BEHIND - strlen(parts));
	fprintf(out, "%s %s\n", parts, list_state(incident));
}

static void list_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	json_t *incidents = NULL;
	json_int_t closed = 0;
	int filtered = 0;
	json_unpack((json_t *)doc, "{s:o, s:I, s:b}", "incidents", &incidents, "closed", &closed,
		"filtered", &filtered);
	json_t *shown = json_array(), *families, *o;
	size_t k, n = 0;
	json_array_foreach (incidents, k, o)
		if (filtered || incident_is_open(o))
			json_array_append(shown, o);
	families = incident_families(shown);
	json_decref(shown);
	json_array_foreach (families, k, o) {
		if (n++ == 0 && header)
			fprintf(out, "%-8s %-4s %4s %6s  %-*s %s\n", "ID", "SEV", "AGE", "COST/H",
				(int)(incident_view_width(out) - LIST_BEFORE - LIST_BEHIND), "WHAT",
				"STATE");
		list_line(out, o, color);
	}
	json_decref(families);
	const char *none = "no open incidents";
	if (filtered)
		none = "no incidents";
	if (json_is_true(json_object_get(doc, "judged_elsewhere")))
		none = "no incidents here: a judge judges what this agent collects, and its "
		       "database holds them";
	if (n == 0)
		fprintf(out, "%s\n", none);
	if (!filtered && closed)
		fprintf(out, "%lld closed: rocewatch incident list --all\n", (long long)closed);
}

const struct view incident_list_view = {
	.title = "Incidents",
	.rows = "incidents",
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = list_text,
	.empty = "no incidents",
};

/* Takes @page. */
static void incident_view_print(FILE *out, struct page *page, bool color)
{
	const struct page_style style = {
		.width = incident_view_width(out), .color = color, .ascii = !paper_is_utf8()};
	page_print(out, page, &style);
	page_free(page);
}

static const struct column timeline_columns[] = {
	{"t", "TIME", COL_TIME, false},
	{"text", "EVENT", COL_TEXT, false},
};
static void timeline_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	if (header)
		fprintf(out, "%s %s  %s\n\n", doc_word(doc, "id"), doc_word(doc, "cause"),
			doc_word(doc, "headline"));
	incident_view_print(out, incident_page_timeline(doc), color);
}

const struct view incident_timeline_view = {
	.title = "Timeline",
	.rows = "timeline",
	.columns = timeline_columns,
	.n_columns = rw_countof(timeline_columns),
	.text = timeline_text,
	.empty = "nothing recorded",
};

static void card_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	size_t height = paper_height(out);
	if (height > 0)
		height--; /* the line in which the next command is typed */
	incident_card_text(out, doc, incident_view_width(out), height, color);
}

static void full_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	incident_view_print(out, incident_page(doc), color);
}

const struct view incident_card_view = {
	.title = "Incident",
	.rows = NULL,
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = card_text,
	.page = incident_page,
};
const struct view incident_full_view = {
	.title = "Incident",
	.rows = NULL,
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = full_text,
	.page = incident_page,
};
