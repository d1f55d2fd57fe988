/* report_page - the frame of a report as blocks of a page. */
#include "agent/answers/common/report_page.h"

#include "agent/answers/links/answer.h"
#include "agent/answers/pause/answer.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"

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

/* The entry of @doc with this name, or NULL. Borrowed. */
static const json_t *report_compared(const json_t *doc, const char *with)
{
	const json_t *entry;
	size_t i;
	json_array_foreach (json_object_get(doc, "compare"), i, entry)
		if (str_eq(doc_word(entry, "with"), with))
			return entry;
	return NULL;
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

/* report_news - reading the comparison in a report's document. */

static bool compare_holds(const json_t *entry, const char *list, const char *key)
{
	const json_t *one;
	size_t i;
	json_array_foreach (json_object_get(entry, list), i, one)
		if (str_eq(json_string_value(one), key))
			return true;
	return false;
}

bool report_is_new(const json_t *doc, const char *key)
{
	return compare_holds(report_compared(doc, "previous"), "new", key);
}

bool report_is_changed(const json_t *doc)
{
	static const char *const lists[] = {"new", "gone", "changed"};
	const json_t *previous = report_compared(doc, "previous");
	for (size_t i = 0; previous && i < rw_countof(lists); i++)
		if (json_array_size(json_object_get(previous, lists[i])) > 0)
			return true;
	return previous == NULL;
}

/* report_blocks - tables and facts of several reports' pages. */

/* A device below this share of the time is listed. */
#define WHOLE_RATIO 0.995
enum { DEVICES_SHOWN = 10 };

/* ---- incidents ------------------------------------------------------------------------------ */

static const struct column incidents_columns[] = {
	{"severity", "severity", COL_STATE, false},
	{"what", "what", COL_TEXT, false},
	{"when", "when", COL_TEXT, false},
	{"usd_total", "cost", COL_USD, true},
	{"id", "incident", COL_TEXT, false},
};

/* The headline, and who has it in hand. */
static json_t *block_what(const json_t *incident)
{
	static const struct {
		const char *key, *words;
	} people[] = {
		{"assigned_to", "assigned to"},
		{"acked_by", "acknowledged by"},
		{"silenced", "silenced"},
	};
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, doc_word(incident, "headline"));
	for (size_t i = 0; i < rw_countof(people); i++)
		if (*doc_word(incident, people[i].key))
			str_addf(&text, "; %s %s", people[i].words,
				doc_word(incident, people[i].key));
	if (*doc_word(incident, "ack_note"))
		str_addf(&text, ": %s", doc_word(incident, "ack_note"));
	return json_string_or_null(text.s);
}

/* "2026-11-22 02:33Z, closed after 16m00s" */
static json_t *block_when(const json_t *incident)
{
	const char *opened = doc_word(incident, "opened"), *state = doc_word(incident, "state");
	const double age_s = doc_number(incident, "age_s");
	char age[32] = "?";
	if (!isnan(age_s))
		duration_format(age, sizeof(age), (int64_t)(age_s * (double)NS_PER_S));
	return json_sprintf("%.10s %.5sZ, %s %s %s", opened, *opened ? opened + 11 : "", state,
		str_eq(state, "closed") ? "after" : "for", age);
}

void report_block_incidents(
	struct page *page, const char *heading, const json_t *incidents, const char *empty)
{
	json_t *rows = json_array(), *incident;
	size_t i;
	if (json_array_size(incidents) > 0 || empty)
		page_heading(page, "%s", heading);
	if (json_array_size(incidents) == 0 && empty)
		page_text(page, empty);
	json_array_foreach (incidents, i, incident) {
		json_t *row = json_copy(incident);
		json_object_set_new(row, "what", block_what(incident));
		json_object_set_new(row, "when", block_when(incident));
		json_array_append_new(rows, row);
	}
	page_table(page, NULL, incidents_columns, rw_countof(incidents_columns), rows);
	json_decref(rows);
}

/* ---- pause ---------------------------------------------------------------------------------- */

static char *block_share(double low, double high)
{
	struct str text = {0};
	if (low < high)
		str_add(&text, "<= ");
	page_quantity(&text, high, "ratio");
	return text.s;
}

static char *block_seconds(double seconds)
{
	char text[32] = "-";
	if (!isnan(seconds))
		duration_format(text, sizeof(text), (int64_t)(seconds * (double)NS_PER_S));
	return rw_strdup(text);
}

/* "2026-11-22 03:14Z" */
static char *block_time(wall_t time)
{
	struct str text = {0};
	char at[WALL_TEXT_MAX] = "";
	if (time.ns != TIME_UNKNOWN.ns)
		wall_text(at, time, 0);
	str_addf(&text, "%.10s %.5sZ", at, *at ? at + 11 : "");
	return text.s;
}

static char *block_queue(const struct pause_port *port)
{
	struct str text = {0};
	str_addf(&text, "%s:%s p%d", port->device, port->port, (int)port->priority);
	return text.s;
}

void report_block_pause(struct page *page, const struct pause_port *ports, size_t n)
{
	static const char *const headers[] = {
		"port, priority", "who", "of the time", "paused", "at worst", "worst at", "from"};
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct page_row){{block_queue(&ports[i]), rw_strdup(ports[i].words),
			block_share(ports[i].lo_ratio, ports[i].hi_ratio),
			block_seconds(ports[i].paused_s),
			block_share(ports[i].worst_lo_ratio, ports[i].worst_hi_ratio),
			block_time(ports[i].worst_at),
			rw_strdup(str_eq(ports[i].quality, "time") ? "measured" : "frames")}};
	page_grid(page, headers, rw_countof(headers), rows, n);
}

/* ---- links ---------------------------------------------------------------------------------- */

static char *block_words(const struct link_port *port)
{
	struct str text = {0};
	str_add(&text, "");
	for (size_t i = 0; i < port->n_words; i++)
		str_addf(&text, "%s%s", str_if(i > 0, "; "), port->words[i]);
	return text.s;
}

static char *block_link(const struct link_port *port)
{
	struct str text = {0};
	str_addf(&text, "%s:%s%s%s", port->device, port->port, str_if(port->peer, " - "),
		str_or(port->peer, ""));
	return text.s;
}

void report_block_links(struct page *page, const struct link_port *ports, size_t n)
{
	static const char *const headers[] = {"link", "state", "what"};
	struct page_row *rows = rw_calloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n; i++) {
		const char *state = "";
		if (ports[i].state < LINK_STATES)
			state = str_or(links_state_words[ports[i].state], "");
		rows[i] = (struct page_row){
			{block_link(&ports[i]), rw_strdup(state), block_words(&ports[i])}};
	}
	page_grid(page, headers, rw_countof(headers), rows, n);
}

/* ---- what happened -------------------------------------------------------------------------- */

static const struct column changes_columns[] = {
	{"time", "time", COL_TIME, false},
	{"kind", "kind", COL_TEXT, false},
	{"device", "device", COL_TEXT, false},
	{"who", "by", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
};

void report_block_changes(struct page *page, const json_t *changes)
{
	page_heading(page, "Changes");
	if (json_array_size(changes) == 0)
		page_text(page, "No change was noted or seen.");
	page_table(page, NULL, changes_columns, rw_countof(changes_columns), changes);
}

static const struct column parts_columns[] = {
	{"state", "state", COL_STATE, false},
	{"report", "report", COL_TEXT, false},
	{"text", "verdict", COL_TEXT, false},
};

void report_block_parts(struct page *page, const json_t *parts)
{
	page_table(page, NULL, parts_columns, rw_countof(parts_columns), parts);
}

/* ---- facts ---------------------------------------------------------------------------------- */

void report_block_money(struct page *page, const json_t *money)
{
	rw_cleanup(str_done) struct str text = {0};
	const double usd = doc_number(money, "usd_in_range");
	if (isnan(usd)) {
		page_fact(page, "money", "not known: no price, or nothing was measured");
		return;
	}
	page_quantity(&text, usd, "USD");
	if (!isnan(doc_number(money, "usd_of_range"))) {
		str_add(&text, " of ");
		page_quantity(&text, doc_number(money, "usd_of_range"), "USD");
		str_addf(&text, " that all GPUs cost in this time");
	}
	if (*doc_word(money, "biggest"))
		str_addf(&text, "; the most by incident %s", doc_word(money, "biggest"));
	page_fact(page, "money", text.s);
}

static const struct column telemetry_columns[] = {
	{"device", "device", COL_TEXT, false},
	{"coverage_ratio", "seen", COL_RATIO_PCT, true},
	{"longest_gap_s", "longest gap", COL_DURATION_S, true},
};

void report_block_telemetry(struct page *page, const json_t *telemetry)
{
	rw_cleanup(str_done) struct str text = {0};
	const double all = doc_number(telemetry, "coverage_ratio");
	json_t *poor = json_array(), *device;
	size_t i;
	if (isnan(all))
		str_add(&text, "not known: nothing is stored");
	else
		page_quantity(&text, all, "ratio");
	if (!isnan(all))
		str_addf(&text, " of the time, %zu devices, read from %s",
			json_array_size(json_object_get(telemetry, "devices")),
			doc_word(telemetry, "source"));
	page_fact(page, "telemetry", text.s);
	json_array_foreach (json_object_get(telemetry, "devices"), i, device) {
		const double seen = doc_number(device, "coverage_ratio");
		if (json_array_size(poor) < DEVICES_SHOWN && !(seen >= WHOLE_RATIO))
			json_array_append(poor, device);
	}
	page_table(page, "Not seen all the time", telemetry_columns, rw_countof(telemetry_columns),
		poor);
	json_decref(poor);
}
