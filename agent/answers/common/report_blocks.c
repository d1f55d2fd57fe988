/* report_blocks - tables and facts of several reports' pages. */
#include "agent/answers/common/report_blocks.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/answers/links/answer.h"
#include "agent/answers/pause/answer.h"

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

/* ---- pause
 * ---------------------------------------------------------------------------------------- */

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

/* ---- links
 * --------------------------------------------------------------------------------------- */

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

/* ---- what happened
 * --------------------------------------------------------------------------------- */

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

/* ---- facts
 * -------------------------------------------------------------------------------------------- */

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
