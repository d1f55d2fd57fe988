/* tune_agent - runs the ledger of recommendations in the agent, and watches changes that were
 * applied. */
#include "agent/daemon/tune_agent.h"

#include "agent/client/control.h"
#include "agent/document/json_value.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_record.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/tune/tune_verify.h"
#include "base/log.h"
#include "db/open.h"
#include "db/series/history.h"

#define BLOCKS 60 /* of throughput, before and after */
#define BLOCKS_LEAST 20
#define MEMORY_NS (3600 * NS_PER_S) /* how far back read-back looks; memory holds less */

struct tune_agent {
	struct store *store;
	struct pipeline *pipeline;
	struct ledger *incidents;
	const struct config *config;
	struct tune_ledger *ledger;
	int64_t next_ns;
};

/* ---- keeping ------------------------------------------------------------- */

static void tune_agent_expect(struct tune_ledger *ledger, struct pipeline *pipeline)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct expected_change *changes;
	const size_t n = tune_ledger_expected(ledger, a, &changes);
	pipeline_expect(pipeline, changes, n);
}

int tune_agent_expect_from(struct history *history, struct pipeline *pipeline, struct err *e)
{
	struct tune_ledger *ledger = tune_ledger_new(NULL, NULL);
	const int rc = tune_store_load(history, ledger, e);
	if (rc == 0)
		tune_agent_expect(ledger, pipeline);
	tune_ledger_free(ledger);
	return rc;
}

static void on_change(void *arg, const struct tune_record *record, enum tune_state from)
{
	struct tune_agent *agent = arg;
	if (record->note)
		log_event(LOG_INFO_, "tuning", "%s%s%s", record->note,
			str_if(*record->who, ", by "), record->who);
	tune_store_record(agent->store, record, from);
	if (record->state != from)
		tune_agent_expect(agent->ledger, agent->pipeline);
}

/* ---- did it do harm? ----------------------------------------------------- */

static const uint16_t drop_metrics[] = {M_PG_DROPS, M_QUEUE_DROPS};

/* Lossless packets the changed switch dropped at the sheet's priority in (from, to]. @ret_where: a
 * port that dropped some. */
static double drops_in(struct tune_agent *agent, const struct tune_sheet *sheet, int64_t from_ns,
	int64_t to_ns, struct arena *a, const char **ret_where)
{
	const struct window_spec spec = {
		.metrics = drop_metrics, .n_metrics = rw_countof(drop_metrics)};
	struct window window;
	double sum = 0;
	if (from_ns >= to_ns ||
		pipeline_window(agent->pipeline, a, &spec, from_ns, to_ns, &window) != 0)
		return 0;
	for (size_t i = 0; i < window.n_series; i++) {
		const struct entity *entity = entity_get(window.entities, window.series[i].entity);
		struct increase increase;
		if (!entity || entity->priority != sheet->priority ||
			!str_eq(entity->device, sheet->device))
			continue;
		if (series_increase(&window.series[i], from_ns, to_ns, 0, &increase) != 0 ||
			increase.value == 0)
			continue;
		sum += (double)increase.value;
		*ret_where = arena_strdup(a, entity->port);
	}
	return sum;
}

static bool rate_of(const struct throughput *throughput, struct arena *a, struct tune_rate *ret)
{
	const size_t n = throughput->rate.n;
	double *busy = arena_array(a, double, n + 1);
	size_t *at = arena_array(a, size_t, n + 1);
	const size_t n_busy = rhythm_busy(throughput->rate.rate, n, busy, at);
	const struct level level = rhythm_level(busy, n_busy);
	*ret = (struct tune_rate){.job = "", .mean = level.mean, .n = level.n};
	if (throughput->job)
		ret->job = throughput->job->name;
	if (isfinite(level.se))
		ret->se = level.se;
	return level.n > 0;
}

/* How fast each job moved bytes in (from, to]; none where there is less than a block. */
static size_t tune_agent_rates_in(struct tune_agent *agent, int64_t from_ns, int64_t to_ns,
	int64_t block_ns, struct arena *a, struct tune_rate **ret)
{
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	struct window window;
	struct throughput *jobs;
	*ret = NULL;
	if (to_ns - from_ns < block_ns ||
		pipeline_window(agent->pipeline, a, &spec, from_ns, to_ns, &window) != 0)
		return 0;
	const size_t n_jobs = throughput_of(agent->config->fabric, &window, block_ns, a, &jobs);
	size_t n = 0;
	*ret = arena_array(a, struct tune_rate, n_jobs + 1);
	for (size_t i = 0; i < n_jobs; i++)
		n += rate_of(&jobs[i], a, &(*ret)[n]);
	return n;
}

/* By how much a job's steps surely take longer now, as a share; 0: not surely. */
static double slower_by(const struct tune_rate *before, const struct tune_rate *after)
{
	if (before->n < BLOCKS_LEAST || after->n < BLOCKS_LEAST)
		return 0;
	const double longer = before->mean / after->mean - 1,
		     error = sqrt(before->se * before->se + after->se * after->se),
		     sure = (before->mean - after->mean) / error;
	if (longer > VERIFY_STEP_LIMIT && sure > RHYTHM_SURE)
		return longer;
	return 0;
}

/* The first job whose steps surely take longer now, as a sentence; NULL: none. */
static const char *slower_job(const struct tune_record *record, const struct tune_rate *after,
	size_t n_after, struct arena *a)
{
	for (size_t i = 0; i < n_after; i++) {
		for (size_t k = 0; k < record->n_rates; k++) {
			if (!str_eq(record->rates[k].job, after[i].job))
				continue;
			const double longer = slower_by(&record->rates[k], &after[i]);
			if (longer > 0)
				return arena_printf(a, "steps%s%s take %.1f %% longer than before",
					str_if(*after[i].job, " of "), after[i].job, 100 * longer);
		}
	}
	return NULL;
}

static int64_t tune_agent_block_ns(const struct tune_agent *agent)
{
	return analyzer_window(analyzer_by_name("steps"),
		config_options(agent->config, "analyzers", "steps"),
		config_interval(agent->config));
}

/* Drops since the change, or since they were counted last. */
static const char *harm_by_drops(
	struct tune_agent *agent, const struct tune_record *record, int64_t now_ns, struct arena *a)
{
	int64_t from_ns = record->applied_ns;
	if (record->watched_ns > record->applied_ns)
		from_ns = record->watched_ns;
	const char *where = "";
	const double drops = drops_in(agent, &record->sheet, from_ns, now_ns, a, &where);
	tune_ledger_watched(agent->ledger, record->sheet.id, now_ns);
	if (drops > 0)
		return arena_printf(a, "%.0f lossless drops on %s %s since it was applied", drops,
			record->sheet.device, where);
	return NULL;
}

static const char *harm_by_steps(
	struct tune_agent *agent, const struct tune_record *record, int64_t now_ns, struct arena *a)
{
	const int64_t block_ns = tune_agent_block_ns(agent), applied_ns = record->applied_ns;
	struct tune_rate *rates;
	if (!record->rates) {
		const size_t n = tune_agent_rates_in(
			agent, applied_ns - BLOCKS * block_ns, applied_ns, block_ns, a, &rates);
		tune_ledger_rates(agent->ledger, record->sheet.id, rates, n);
	}
	int64_t blocks = (now_ns - applied_ns) / block_ns;
	if (blocks < BLOCKS_LEAST)
		return NULL;
	if (blocks > BLOCKS)
		blocks = BLOCKS;
	const size_t n =
		tune_agent_rates_in(agent, now_ns - blocks * block_ns, now_ns, block_ns, a, &rates);
	return slower_job(record, rates, n, a);
}

/* ---- the incident -------------------------------------------------------- */

static void report_incident(struct tune_agent *agent, const struct tune_record *record,
	enum finding_verdict verdict, int64_t now_ns, struct arena *a)
{
	const struct tune_sheet *sheet = &record->sheet;
	struct next_step undo = {
		.text = arena_printf(a,
			"rocewatch tune render %s --undo, and put the old values back", sheet->id),
		.risk = "as the sheet says: at a job boundary unless it is hitless"};
	struct finding_reason reasons[] = {
		{"drop counters of the changed switch and the job's throughput, before and since",
			REASON_FOR}};
	const struct finding f = {.analyzer = "tuning",
		.cause = CAUSE_TUNING_REGRESSION,
		.verdict = verdict,
		.severity = SEV_CRITICAL,
		.device = sheet->device,
		.priority = sheet->priority,
		.from_ns = now_ns - TUNE_AGENT_PERIOD_NS,
		.to_ns = now_ns,
		.hold = 1,
		.next_steps = &undo,
		.n_next_steps = 1,
		.reasons = reasons,
		.n_reasons = 1,
		.summary = arena_printf(a, "change %s (%s) did harm: %s; take it back", sheet->id,
			str_or(sheet->summary, ""), record->roll_back_why),
		.confidence_ratio = 0.9,
		.coverage_ratio = NAN,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = 1,
		.warn = 1};
	ledger_take(agent->incidents, &f);
}

/* Is a change in force that may still have to be taken back? */
static bool is_at_stake(const struct tune_record *record)
{
	if (record->state == TUNE_APPLIED)
		return true;
	return record->state == TUNE_VERIFIED && record->verified &&
		record->verified->result.verdict == VERIFY_ROLL_BACK;
}

static void watch_one(struct tune_agent *agent, const struct tune_record *record, int64_t now_ns)
{
	const char *id = record->sheet.id;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	/* 1. Its incident is open: it stays so until the change is taken back, or proven good. */
	if (record->roll_back_open) {
		const bool at_stake = is_at_stake(record);
		report_incident(agent, record, at_stake ? FINDING_OVER : FINDING_UNDER, now_ns, a);
		if (!at_stake)
			tune_ledger_settled(agent->ledger, id);
		return;
	}
	/* 2. Only what is in force and not verified is watched. */
	if (record->state != TUNE_APPLIED)
		return;
	/* 3. Did it do harm? */
	const char *why = harm_by_drops(agent, record, now_ns, a);
	if (!why)
		why = harm_by_steps(agent, record, now_ns, a);
	if (!why)
		return;
	log_warn("tuning", "%s is to be taken back: %s", id, why);
	tune_ledger_roll_back(agent->ledger, id, why, now_ns);
	report_incident(agent, record, FINDING_OVER, now_ns, a);
}

/* ---- on the loop --------------------------------------------------------- */

void tune_agent_doubt(struct tune_agent *agent, bool doubt)
{
	tune_ledger_doubt(agent->ledger, doubt);
}

void tune_agent_tick(struct tune_agent *agent, int64_t now_ns)
{
	const struct tune_record *const *records;
	const size_t n = tune_ledger_records(agent->ledger, &records);
	if (n == 0 || (now_ns < agent->next_ns && agent->next_ns - now_ns <= TUNE_AGENT_PERIOD_NS))
		return;
	agent->next_ns = now_ns + TUNE_AGENT_PERIOD_NS;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const uint16_t *metrics;
	const size_t n_metrics = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n_metrics};
	struct window window;
	if (pipeline_window(agent->pipeline, a, &spec, now_ns - MEMORY_NS, now_ns, &window) == 0)
		tune_ledger_read(agent->ledger, &window, now_ns);
	for (size_t i = 0; i < n; i++)
		watch_one(agent, records[i], now_ns);
}

struct tune_agent *tune_agent_new(struct store *store, struct pipeline *pipeline,
	struct ledger *incidents, const struct config *config)
{
	struct tune_agent *agent = rw_calloc(1, sizeof(*agent));
	agent->store = store;
	agent->pipeline = pipeline;
	agent->incidents = incidents;
	agent->config = config;
	agent->ledger = tune_ledger_new(on_change, agent);
	return agent;
}

void tune_agent_free(struct tune_agent *agent)
{
	if (agent)
		tune_ledger_free(agent->ledger);
	free(agent);
}

void tune_agent_reload(struct tune_agent *agent, const struct config *config)
{
	agent->config = config;
}

int tune_agent_resume(struct tune_agent *agent, const char *path, struct err *e)
{
	struct history *history;
	int rc = db_history_open(path, &history, e);
	if (rc != 0)
		return rc;
	rc = tune_store_load(history, agent->ledger, e);
	history_close(history);
	tune_agent_expect(agent->ledger, agent->pipeline);
	return rc;
}

/* ---- requests of the control socket -------------------------------------- */

static json_t *reply_of(struct tune_agent *agent, const char *id)
{
	const struct tune_record *record = tune_ledger_find(agent->ledger, id);
	if (record)
		return json_pack("{s:b, s:s, s:s}", "ok", 1, "id", record->sheet.id, "state",
			tune_state_name(record->state));
	return control_error("there is no such sheet");
}

static json_t *request_propose(
	struct tune_agent *agent, const char *who, const json_t *request, int64_t now_ns)
{
	const json_t *sheet = json_object_get(request, "sheet");
	const int rc = tune_ledger_propose(agent->ledger, tune_record_parse(sheet), who, now_ns);
	if (rc == -ENOSPC)
		return control_error("there are too many sheets in the ledger");
	if (rc != 0 && rc != -EALREADY)
		return control_error("not a sheet of advice \"change\" as 'tune review' makes it");
	return reply_of(agent, doc_word(sheet, "id"));
}

json_t *tune_agent_request(
	struct tune_agent *agent, const char *who, const json_t *request, int64_t now_ns)
{
	const char *cmd = doc_word(request, "cmd"), *id = doc_word(request, "id");
	const json_t *at_ns = json_object_get(request, "at_ns");
	rw_cleanup(arena_freep) struct arena *a = NULL;
	struct tune_decision_in in = {.who = who,
		.text = json_string_value(json_object_get(request, "note")),
		.t_ns = now_ns,
		.at_ns = now_ns};
	if (str_eq(cmd, "tune_propose"))
		return request_propose(agent, who, request, now_ns);
	if (tune_decision_parse(cmd, &in.decision) != 0)
		return NULL;
	a = arena_new();
	in.result = tune_verified_parse(json_object_get(request, "result"), a);
	if (json_is_integer(at_ns))
		in.at_ns = json_integer_value(at_ns);
	const int rc = tune_ledger_decide(agent->ledger, id, &in);
	if (rc == 0)
		return reply_of(agent, id);
	const struct tune_record *record = tune_ledger_find(agent->ledger, id);
	enum tune_state state = TUNE_PROPOSED;
	if (record)
		state = record->state;
	return control_error("%.20s: %s", id, tune_decision_error(rc, state));
}
