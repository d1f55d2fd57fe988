/* report_daily - a day of the fabric on one page: telemetry, incidents and money, pause, load,
 * links, drops, jobs, threshold changes, and how the agent itself does. */

#include "agent/answers/common/report_page.h"
#include "agent/answers/links/answer.h"
#include "agent/answers/pause/answer.h"
#include "agent/document/page.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/reports/report_parts.h"
#include "agent/reports/report_shift.h"
#include "agent/answers/steps/steps_document.h"

/* The page. */

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

static struct page *daily_report_page(const json_t *doc)
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

/* ---- report_daily -------------------------------------------------------- */

enum { DAILY_ROWS = 5 };

/* ---- the other reports ------------------------------------------------------------------- */

static const struct {
	const struct report *report;
	const char *rows, *key;
} daily_parts[] = {
	{&report_pause, "ports", "pause"},
	{&report_links, "ports", "links"},
	{&report_spine_imbalance, "groups", "groups"},
};

static int daily_put_parts(struct client *client, json_t *doc, struct err *e)
{
	json_t *parts = json_array();
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < rw_countof(daily_parts); i++) {
		json_t *part = NULL;
		rc = report_part(client, daily_parts[i].report, &part, e);
		if (rc == -ENODATA) {
			report_missing(doc, "%s: %s", daily_parts[i].report->name, e->text);
			json_object_set_new(doc, daily_parts[i].key, json_array());
			rc = 0;
			continue;
		}
		if (rc < 0)
			break;
		report_part_verdict(parts, daily_parts[i].report->name, part);
		report_part_problems(doc, daily_parts[i].report->name, part);
		json_object_set_new(doc, daily_parts[i].key,
			report_part_rows(part, daily_parts[i].rows, DAILY_ROWS));
		json_decref(part);
	}
	json_object_set_new(doc, "parts", parts);
	return rc;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static double daily_worst_loss(const json_t *levels)
{
	double worst = NAN;
	const json_t *level;
	size_t i;
	json_array_foreach (levels, i, level)
		worst = fmax(worst, doc_number(level, "loss_ratio"));
	return worst;
}

static int daily_put_jobs(struct client *client, json_t *doc, struct err *e)
{
	json_t *steps = NULL;
	const int rc = steps_document(client, NULL, &steps, e);
	if (rc == -ENODATA) {
		report_missing(doc, "jobs: %s", e->text);
		json_object_set_new(doc, "jobs", json_array());
		json_object_set_new(doc, "levels", json_array());
		return 0;
	}
	if (rc < 0)
		return rc;
	json_object_set(doc, "jobs", json_object_get(steps, "jobs"));
	json_object_set(doc, "levels", json_object_get(steps, "levels"));
	report_figure(doc, "job_loss_ratio", "throughput lost by the slowest job while it moved",
		daily_worst_loss(json_object_get(steps, "levels")), "ratio");
	if (json_array_size(json_object_get(steps, "jobs")) == 0)
		report_missing(doc, "jobs: no throughput of a job was measured");
	json_decref(steps);
	return 0;
}

/* ---- the agent ------------------------------------------------------------------------------ */

static void daily_agent_problem(json_t *doc, const json_t *todo)
{
	enum report_state state = REPORT_OK;
	if (str_eq(doc_word(todo, "severity"), "critical"))
		state = REPORT_CRITICAL;
	else if (str_eq(doc_word(todo, "severity"), "warning"))
		state = REPORT_WARNING;
	if (state != REPORT_OK)
		report_problem(doc, state, "agent", doc_word(todo, "subject"), "%s: %s",
			doc_word(todo, "subject"), doc_word(todo, "what"));
}

/* How the agent is now; of the past only its events are kept. */
static int daily_put_agent(struct client *client, json_t *doc, struct err *e)
{
	const json_t *todo;
	size_t i;
	json_object_set_new(doc, "agent", json_null());
	json_object_set_new(doc, "store", json_null());
	json_object_set_new(doc, "todo", json_array());
	if (client->to_ns < client->end_ns) {
		report_missing(doc, "disk and health of the agent are known for now only");
		return 0;
	}
	json_t *doctor = doctor_document(client, e);
	if (!doctor)
		return e->code ? e->code : -EIO;
	json_object_set(doc, "agent", json_object_get(doctor, "agent"));
	json_object_set(doc, "store", json_object_get(doctor, "store"));
	json_object_set(doc, "todo", json_object_get(doctor, "todo"));
	json_array_foreach (json_object_get(doctor, "todo"), i, todo)
		daily_agent_problem(doc, todo);
	json_decref(doctor);
	return 0;
}

/* ---- incidents ------------------------------------------------------------------------------ */

static size_t daily_open(const json_t *incidents)
{
	const json_t *row;
	size_t i, n = 0;
	json_array_foreach (incidents, i, row)
		n += !str_eq(doc_word(row, "state"), "closed");
	return n;
}

static int daily_put_incidents(struct client *client, json_t *doc, struct err *e)
{
	json_t *incidents = report_incidents(client, NULL, e);
	if (!incidents)
		return e->code ? e->code : -EIO;
	json_object_set_new(doc, "incidents", incidents);
	report_incidents_problems(doc, incidents);
	report_figure(doc, "incidents_open", "incidents open at the end",
		(double)daily_open(incidents), "-");
	report_figure(doc, "incidents_opened", "incidents opened",
		(double)report_incidents_count(incidents).opened, "-");
	report_figure(doc, "incidents_closed", "incidents closed",
		(double)report_incidents_count(incidents).closed, "-");
	report_put_money(client, doc);
	return 0;
}

/* ---- the report ----------------------------------------------------------------------------- */

static report_put_fn *const daily_steps[] = {
	daily_put_incidents,
	report_put_telemetry,
	report_put_drops,
	daily_put_parts,
	daily_put_jobs,
	report_put_changes,
	daily_put_agent,
	report_put_stale,
};

static int daily_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (ask->device || ask->group)
		return err_set(e, -EINVAL,
			"report daily is about the whole fabric; 'report pause' and 'report links' "
			"take --device");
	return report_collect_whole(
		client, "daily", daily_steps, rw_countof(daily_steps), "nothing to report", ret, e);
}

static const struct column daily_columns[] = {
	{"state", "state", COL_TEXT, false},
	{"subject", "subject", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"key", "key", COL_TEXT, false},
};
static const struct view daily_view = {
	.title = "the day",
	.rows = "problems",
	.columns = daily_columns,
	.n_columns = rw_countof(daily_columns),
	.empty = "nothing to report",
	.page = daily_report_page,
};

const struct report report_daily = {
	.name = "daily",
	.summary = "the day on one page",
	.help = "Availability of telemetry, incidents opened, closed and open with their cost, the "
		"verdicts and first rows of the reports pause, links and spine-imbalance, dropped "
		"frames, the jobs' throughput, threshold changes, and disk and health of the "
		"agent.\n"
		"With --check the worst problem decides.",
	.examples = {{"report daily", "prints the last 24 hours on one page"},
		{"report daily --format html --out daily.html",
			"writes the page for mail; a timer may do it every morning"}},
	.span_ns = 24 * 3600 * NS_PER_S,
	.collect = daily_collect,
	.view = &daily_view,
};
