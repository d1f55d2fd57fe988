/* daily_report_page - the page of `report daily`. */
#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_blocks.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/common/report_pages.h"
#include "agent/answers/links/answer.h"
#include "agent/answers/pause/answer.h"

static const struct column groups_columns[] = {
	{"device", "device", COL_TEXT, false},
	{"group", "group", COL_TEXT, false},
	{"verdict", "verdict", COL_TEXT, false},
	{"imbalance_ratio", "max/mean-1", COL_RATIO_PCT, true},
	{"worst_ratio", "worst", COL_RATIO_PCT, true},
	{"expected_p95_ratio", "by chance (p95)", COL_RATIO_PCT, true},
};
static const struct column jobs_columns[] = {
	{"job", "job", COL_TEXT, false},
	{"gpus", "GPUs", COL_INT, true},
	{"octets_per_s", "bytes/s", COL_BYTES, true},
	{"step_s", "step", COL_DURATION_S, true},
	{"exchange_s", "exchange", COL_DURATION_S, true},
	{"stopped_since", "stopped since", COL_TIME, false},
	{"coverage_ratio", "seen", COL_RATIO_PCT, true},
};
static const struct column levels_columns[] = {
	{"job", "job", COL_TEXT, false},
	{"from", "from", COL_TIME, false},
	{"to", "to", COL_TIME, false},
	{"octets_per_s", "bytes/s", COL_BYTES, true},
	{"loss_ratio", "lost", COL_RATIO_PCT, true},
	{"step_s", "step", COL_DURATION_S, true},
};
static const struct column drops_columns[] = {
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"priority", "priority", COL_INT, true},
	{"frames", "frames dropped", COL_INT, true},
};
static const struct column todo_columns[] = {
	{"severity", "severity", COL_STATE, false},
	{"subject", "subject", COL_TEXT, false},
	{"what", "what", COL_TEXT, false},
	{"do", "what to do", COL_TEXT, false},
};

static void daily_drops(struct page *page, const json_t *drops)
{
	rw_cleanup(str_done) struct str text = {0};
	const double lossless = doc_number(drops, "lossless");
	if (isnan(lossless))
		str_add(&text, "of lossless priorities not counted by any switch");
	else
		str_addf(&text, "%s frames of lossless priorities", number_count_of(lossless).s);
	if (!isnan(doc_number(drops, "other")))
		str_addf(&text, "; %s of other priorities",
			number_count_of(doc_number(drops, "other")).s);
	if (!isnan(doc_number(drops, "discards")))
		str_addf(&text, "; %s discards of ports, any class",
			number_count_of(doc_number(drops, "discards")).s);
	page_fact(page, "drops", text.s);
	page_table(page, "Lossless drops", drops_columns, rw_countof(drops_columns),
		json_object_get(drops, "rows"));
}

static void daily_agent(struct page *page, const json_t *doc)
{
	const json_t *agent = json_object_get(doc, "agent"), *store = json_object_get(doc, "store");
	const json_t *todo = json_object_get(doc, "todo");
	rw_cleanup(str_done) struct str disk = {0};
	page_heading(page, "Agent and disk");
	if (!json_is_object(agent)) {
		page_text(page, "Known for now only, not for the past.");
		return;
	}
	const char *newest = doc_word(agent, "data_time");
	if (*newest)
		page_factf(page, "agent", "%s, newest sample %.10s %.5sZ", doc_word(agent, "state"),
			newest, newest + 11);
	else
		page_factf(page, "agent", "%s, no sample is stored", doc_word(agent, "state"));
	page_quantity(&disk, doc_number(store, "size_bytes"), "bytes");
	str_add(&disk, " in the database, ");
	page_quantity(&disk, doc_number(store, "disk_free_ratio"), "ratio");
	str_add(&disk, " of the disk free");
	page_fact(page, "disk", disk.s);
	if (json_array_size(todo) == 0)
		page_text(page, "'rocewatch doctor' finds nothing to do.");
	page_table(page, NULL, todo_columns, rw_countof(todo_columns), todo);
}

/* The first rows of the reports pause and links. */
struct daily_ports {
	struct pause_port *pause;
	struct link_port *links;
	size_t n_pause, n_links;
};
#define SHAPE struct daily_ports
static const struct field daily_ports_fields[] = {
	ROWS(pause, pause_port, "Queues that were paused."),
	ROWS(links, link_port, "Ports that stand out."),
};
static SHAPE_OF(daily_ports, "DailyPorts", "");
#undef SHAPE

static void daily_load(struct page *page, const json_t *doc)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct daily_ports ports;
	shape_read(&daily_ports_shape, doc, a, &ports);
	report_block_pause(page, ports.pause, ports.n_pause);
	report_block_links(page, ports.links, ports.n_links);
	page_table(page, "ECMP groups", groups_columns, rw_countof(groups_columns),
		json_object_get(doc, "groups"));
}

struct page *daily_report_page(const json_t *doc)
{
	struct page *page = report_page("The day", doc);
	page_heading(page, "The day in short");
	report_block_telemetry(page, json_object_get(doc, "telemetry"));
	report_block_money(page, json_object_get(doc, "money"));
	daily_drops(page, json_object_get(doc, "drops"));
	report_block_incidents(page, "Incidents", json_object_get(doc, "incidents"),
		"No incident was open in this time.");
	page_heading(page, "Pause, links, load");
	report_block_parts(page, json_object_get(doc, "parts"));
	daily_load(page, doc);
	page_heading(page, "Jobs");
	if (json_array_size(json_object_get(doc, "jobs")) == 0)
		page_text(page, "No throughput of a job was measured.");
	page_table(
		page, NULL, jobs_columns, rw_countof(jobs_columns), json_object_get(doc, "jobs"));
	page_table(page, "Levels", levels_columns, rw_countof(levels_columns),
		json_object_get(doc, "levels"));
	report_block_changes(page, json_object_get(doc, "changes"));
	daily_agent(page, doc);
	return page;
}
