/* tune_live - see tune_live.h. */
#include "agent/daemon/tune_agent.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/client/control.h"
#include "agent/document/json_value.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/tune/tune_verify.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define BLOCKS 60 /* of throughput, before and after */
#define BLOCKS_LEAST 20
#define MEMORY_NS (3600 * NS_PER_S) /* as far as read-back looks into memory, which holds less */

struct tune_live {
	struct store *store;
	struct pipeline *pipeline;
	struct ledger *incidents;
	const struct config *config;
	struct tune_ledger *ledger;
	int64_t next_ns;
};

/* ---- keeping ------------------------------------------------------------- */

void tune_record_store(void *store, const struct tune_record *record, enum tune_state from)
{
	rw_cleanup(freep) char *json = json_dumps(record->json, JSON_COMPACT);
	store_recommendation(store,
		&(struct store_recommendation){.id = record->id,
			.incident_id = json_string_value(json_object_get(record->json, "incident")),
			.device = record->device,
			.port = record->n_ports == 1 ? record->ports[0] : NULL,
			.state = tune_state_name(record->state),
			.advice = doc_word(record->json, "advice"),
			.summary = record->summary,
			.json = json,
			.diagnosis = record->diagnosis,
			.who = record->who && *record->who ? record->who : NULL,
			.priority = record->priority,
			.t_ns = record->made_ns,
			.from_ns = record->from_ns,
			.to_ns = record->to_ns,
			.updated_ns = record->updated_ns});
	if (record->note)
		store_event(store, record->note_ns, "tuning", NULL, record->who, record->note);
}

static int take_record(void *arg, int n, char *const *values, char *const *names)
{
	if (n == 1 && values[0] && tune_ledger_restore(arg, values[0]) == -EINVAL)
		log_warn("tuning",
			"a stored recommendation cannot be read; it stays in the database as it "
			"is");
	return 0;
}

int tune_records_load(struct history *history, struct tune_ledger *ledger, struct err *e)
{
	return history_sql(history,
		"SELECT json FROM recommendations WHERE json IS NOT NULL ORDER BY t_ns, id",
		take_record, ledger, e);
}

static void tune_agent_expect(struct tune_ledger *ledger, struct pipeline *pipeline)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct expected_change *v;
	const size_t n = tune_ledger_expected(ledger, a, &v);
	pipeline_expect(pipeline, v, n);
}

int tune_records_expect(struct history *history, struct pipeline *pipeline, struct err *e)
{
	struct tune_ledger *l = tune_ledger_new(NULL, NULL);
	const int rc = tune_records_load(history, l, e);
	if (rc == 0)
		tune_agent_expect(l, pipeline);
	tune_ledger_free(l);
	return rc;
}

static void on_change(void *arg, const struct tune_record *record, enum tune_state from)
{
	struct tune_live *t = arg;
	if (record->note)
		log_event(LOG_INFO_, "tuning", "%s%s%s", record->note,
			str_if(*record->who, ", by "), record->who);
	tune_record_store(t->store, record, from);
	if (record->state != from)
		tune_agent_expect(t->ledger, t->pipeline);
}

/* ---- is it to be taken back? --------------------------------------------- */

static json_t *tune_agent_progress(const struct tune_record *record)
{
	return json_object_get(record->json, "progress");
}
static bool is_due(const struct tune_record *record)
{
	return json_is_object(json_object_get(tune_agent_progress(record), "rollback"));
}

static const uint16_t drop_metrics[] = {M_PG_DROPS, M_QUEUE_DROPS};

/* Lossless packets the changed switch dropped at the sheet's priority in (from, to]. */
static double tune_agent_drops_of(struct tune_live *live, const struct tune_record *record,
	int64_t from_ns, int64_t to_ns, struct arena *a, const char **ret_where)
{
	const struct window_spec spec = {
		.metrics = drop_metrics, .n_metrics = rw_countof(drop_metrics)};
	struct window w;
	double sum = 0;
	if (from_ns >= to_ns || pipeline_window(live->pipeline, a, &spec, from_ns, to_ns, &w) != 0)
		return 0;
	for (size_t k = 0; k < w.n_series; k++) {
		const struct entity *e = entity_get(w.entities, w.series[k].entity);
		struct increase inc;
		if (!e || e->priority != record->priority || !str_eq(e->device, record->device) ||
			series_increase(&w.series[k], from_ns, to_ns, 0, &inc) != 0 ||
			inc.value == 0)
			continue;
		sum += (double)inc.value;
		*ret_where = arena_strdup(a, e->port);
	}
	return sum;
}

/* How fast each job got on in (from, to]: [{job, mean, se, n}]. */
static json_t *rates_of(
	struct tune_live *live, int64_t from_ns, int64_t to_ns, int64_t block_ns, struct arena *a)
{
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	struct window w;
	struct throughput *v;
	json_t *rates = json_array();
	if (to_ns - from_ns < block_ns ||
		pipeline_window(live->pipeline, a, &spec, from_ns, to_ns, &w) != 0)
		return rates;
	const size_t n = throughput_of(live->config->fabric, &w, block_ns, a, &v);
	for (size_t k = 0; k < n; k++) {
		double *busy = arena_array(a, double, v[k].rate.n + 1);
		size_t *at = arena_array(a, size_t, v[k].rate.n + 1);
		const struct level level =
			rhythm_level(busy, rhythm_busy(v[k].rate.rate, v[k].rate.n, busy, at));
		if (level.n)
			json_array_append_new(rates,
				json_pack("{s:s, s:f, s:f, s:I}", "job",
					v[k].job ? v[k].job->name : "", "mean", level.mean, "se",
					isfinite(level.se) ? level.se : 0.0, "n",
					(json_int_t)level.n));
	}
	return rates;
}

/* The job whose steps surely take longer now; NULL: none. */
static const char *tune_agent_slower(const json_t *before, const json_t *after, struct arena *a)
{
	size_t k, m;
	const json_t *b, *f;
	json_array_foreach (after, k, f) {
		json_array_foreach (before, m, b) {
			if (!str_eq(doc_word(b, "job"), doc_word(f, "job")) ||
				doc_number(b, "n") < BLOCKS_LEAST ||
				doc_number(f, "n") < BLOCKS_LEAST)
				continue;
			const double was = doc_number(b, "mean"), is = doc_number(f, "mean"),
				     longer = was / is - 1;
			const double t = (was - is) /
				sqrt(doc_number(b, "se") * doc_number(b, "se") +
					doc_number(f, "se") * doc_number(f, "se"));
			if (longer > VERIFY_STEP_LIMIT && t > RHYTHM_SURE)
				return arena_printf(a, "steps%s%s take %.1f %% longer than before",
					str_if(*doc_word(f, "job"), " of "), doc_word(f, "job"),
					100 * longer);
		}
	}
	return NULL;
}

static int64_t tune_agent_block_of(const struct tune_live *live)
{
	return analyzer_window(analyzer_by_name("steps"),
		config_options(live->config, "analyzers", "steps"),
		live->config->defaults.interval_ns);
}

static const char *why_back(
	struct tune_live *live, const struct tune_record *record, int64_t now_ns, struct arena *a)
{
	const int64_t looked =
		json_integer_value(json_object_get(tune_agent_progress(record), "looked_ns"));
	int64_t from = record->applied_ns;
	if (looked > record->applied_ns)
		from = looked;
	const int64_t block = tune_agent_block_of(live);
	const char *where = "";
	const double drops = tune_agent_drops_of(live, record, from, now_ns, a, &where);
	json_object_set_new(tune_agent_progress(record), "looked_ns", json_integer(now_ns));
	if (drops > 0)
		return arena_printf(a, "%.0f lossless drops on %s %s since it was applied", drops,
			record->device, where);
	if (!json_is_array(json_object_get(tune_agent_progress(record), "rates")))
		json_object_set_new(tune_agent_progress(record), "rates",
			rates_of(live, record->applied_ns - BLOCKS * block, record->applied_ns,
				block, a));
	const int64_t blocks = (now_ns - record->applied_ns) / block;
	if (blocks < BLOCKS_LEAST)
		return NULL;
	json_t *after = rates_of(
		live, now_ns - (blocks < BLOCKS ? blocks : BLOCKS) * block, now_ns, block, a);
	const char *why =
		tune_agent_slower(json_object_get(tune_agent_progress(record), "rates"), after, a);
	json_decref(after);
	return why;
}

static void tell_incident(struct tune_live *live, const struct tune_record *record, bool over,
	int64_t now_ns, struct arena *a)
{
	const char *why = doc_word(json_object_get(tune_agent_progress(record), "rollback"), "why");
	struct next_step undo = {
		.text = arena_printf(a,
			"rocewatch tune render %s --undo, and put the old values back", record->id),
		.risk = "as the sheet says: at a job boundary unless it is hitless"};
	const char *rests[] = {
		"drop counters of the changed switch and the job's throughput, before and since"};
	const struct finding f = {.analyzer = "tuning",
		.cause = CAUSE_TUNING_REGRESSION,
		.verdict = over ? FINDING_OVER : FINDING_UNDER,
		.severity = SEV_CRITICAL,
		.device = record->device,
		.priority = record->priority,
		.from_ns = now_ns - TUNE_LOOK_NS,
		.to_ns = now_ns,
		.hold = 1,
		.next_steps = &undo,
		.n_next_steps = 1,
		.confidence_inputs = rests,
		.n_confidence_inputs = 1,
		.summary = arena_printf(a, "change %s (%s) did harm: %s; take it back", record->id,
			record->summary, why),
		.confidence_ratio = 0.9,
		.coverage_ratio = NAN,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = 1,
		.warn = 1};
	ledger_take(live->incidents, &f);
}

static void watch_one(struct tune_live *live, const struct tune_record *record, int64_t now_ns)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const bool settled = record->state != TUNE_APPLIED &&
		!(record->state == TUNE_VERIFIED && str_eq(record->verdict, "roll_back"));
	if (is_due(record)) {
		tell_incident(live, record, !settled, now_ns, a);
		if (settled)
			tune_ledger_note(live->ledger, record->id, NULL, NULL, now_ns, "rollback",
				json_null());
		return;
	}
	if (record->state != TUNE_APPLIED)
		return;
	const char *why = why_back(live, record, now_ns, a);
	if (!why)
		return;
	json_object_set_new(record->json, "rollback_due",
		json_pack("{s:o, s:s}", "time", json_time(now_ns), "why", why));
	log_warn("tuning", "%s is to be taken back: %s", record->id, why);
	tune_ledger_note(live->ledger, record->id, "rollback_due", why, now_ns, "rollback",
		json_pack("{s:s}", "why", why));
	tell_incident(live, record, true, now_ns, a);
}

/* ---- on the loop --------------------------------------------------------- */

void tune_live_tick(struct tune_live *live, int64_t now_ns)
{
	const struct tune_record *const *v;
	const size_t n = tune_ledger_records(live->ledger, &v);
	const uint16_t *metrics;
	const size_t n_metrics = tune_metrics(&metrics);
	struct window w;
	if (n == 0 || now_ns < live->next_ns)
		return;
	live->next_ns = now_ns + TUNE_LOOK_NS;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n_metrics};
	if (pipeline_window(live->pipeline, a, &spec, now_ns - MEMORY_NS, now_ns, &w) == 0)
		tune_ledger_look(live->ledger, &w, now_ns);
	for (size_t k = 0; k < n; k++)
		watch_one(live, v[k], now_ns);
}

struct tune_live *tune_live_new(struct store *store, struct pipeline *pipeline,
	struct ledger *incidents, const struct config *config)
{
	struct tune_live *t = rw_calloc(1, sizeof(*t));
	t->store = store;
	t->pipeline = pipeline;
	t->incidents = incidents;
	t->config = config;
	t->ledger = tune_ledger_new(on_change, t);
	return t;
}

void tune_live_free(struct tune_live *live)
{
	if (live)
		tune_ledger_free(live->ledger);
	free(live);
}

void tune_live_reload(struct tune_live *live, const struct config *config)
{
	live->config = config;
}

int tune_live_resume(struct tune_live *live, const char *path, struct err *e)
{
	struct history *history;
	int rc = db_history_open(path, &history, e);
	if (rc != 0)
		return rc;
	rc = tune_records_load(history, live->ledger, e);
	history_close(history);
	tune_agent_expect(live->ledger, live->pipeline);
	return rc;
}

static json_t *reply_of(struct tune_live *live, const char *id)
{
	const struct tune_record *r = tune_ledger_find(live->ledger, id);
	if (r)
		return json_pack("{s:b, s:s, s:s}", "ok", 1, "id", r->id, "state",
			tune_state_name(r->state));
	return control_error("there is no such sheet");
}

static json_t *request_propose(
	struct tune_live *live, const char *who, const json_t *request, int64_t now_ns)
{
	const json_t *sheet = json_object_get(request, "sheet");
	const int rc = tune_ledger_propose(live->ledger, sheet, who, now_ns);
	if (rc == -ENOSPC)
		return control_error("there are too many sheets in the ledger");
	if (rc != 0 && rc != -EALREADY)
		return control_error("expected a sheet of advice \"change\", as 'tune review "
				     "--format json' prints it");
	return reply_of(live, doc_word(sheet, "id"));
}

json_t *tune_live_request(
	struct tune_live *live, const char *who, const json_t *request, int64_t now_ns)
{
	const char *cmd = doc_word(request, "cmd"), *id = doc_word(request, "id");
	struct tune_act_in in = {.who = who,
		.text = json_string_value(json_object_get(request, "note")),
		.t_ns = now_ns,
		.at_ns = now_ns,
		.result = json_object_get(request, "result")};
	if (str_eq(cmd, "tune_propose"))
		return request_propose(live, who, request, now_ns);
	if (tune_act_parse(cmd, &in.act) != 0)
		return NULL;
	if (json_is_integer(json_object_get(request, "at_ns")))
		in.at_ns = json_integer_value(json_object_get(request, "at_ns"));
	const int rc = tune_ledger_act(live->ledger, id, &in);
	const struct tune_record *r = tune_ledger_find(live->ledger, id);
	if (rc == 0)
		return reply_of(live, id);
	return control_error("%.20s: %s", id, tune_act_error(rc, r ? r->state : TUNE_PROPOSED));
}
