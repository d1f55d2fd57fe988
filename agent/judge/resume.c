/* resume - feeds the samples and flows of a database to the pipeline, in order of time. */
#include "agent/judge/resume.h"

#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "base/log.h"
#include "db/open.h"

/* names_ours - translates numbers of entities and texts by their names. */

void names_ours_done(struct names_ours *names)
{
	free(names->known);
	names->known = NULL;
	names->n_known = 0;
}

uint32_t names_ours_entity(struct names_ours *names, uint32_t id)
{
	if (id >= names->n_known) {
		const size_t n = (size_t)id * 2 + 64;
		names->known = rw_realloc(names->known, n * sizeof(*names->known));
		memset(names->known + names->n_known, 0,
			(n - names->n_known) * sizeof(*names->known));
		names->n_known = n;
	}
	if (names->known[id] == ENTITY_NONE) {
		const struct entity *e = entity_get(names->theirs, id);
		if (!e)
			return ENTITY_NONE;
		names->known[id] = entities_intern(names->ours, e->device, e->port, e->priority);
	}
	return names->known[id];
}

void names_ours_sample(struct names_ours *names, struct sample *sample)
{
	const struct metric_info *m = metric_info(sample->metric);
	sample->entity = names_ours_entity(names, sample->entity);
	if (m && m->type == TYPE_TEXT)
		sample->value =
			entities_text(names->ours, entities_text_get(names->theirs, sample->value));
}

#define AHEAD_NS (2 * NS_PER_S) /* as at the intake */
#define CHUNK 65536 /* samples fed at once: 2 MiB */
#define FLOW_INTERVAL_MAX (3600 * NS_PER_S) /* longest flow interval that is looked for */

struct feed {
	struct history *history;
	struct names_ours names;
	struct pipeline *pipeline;
	struct err *e;
	struct sample *v;
	size_t n;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
	int64_t flows_after_ns, flows_until_ns; /* ends of flow intervals wanted: (after, until] */
	struct resume_seen seen;
};

static int take_flow(void *arg, const struct flow_sample *flow)
{
	struct feed *r = arg;
	if (flow->to_ns <= r->flows_after_ns || flow->to_ns > r->flows_until_ns)
		return 0;
	struct flow_sample mine = *flow;
	mine.entity = names_ours_entity(&r->names, flow->entity);
	if (mine.entity == ENTITY_NONE)
		return 0;
	rw_grow(r->flows, r->n_flows, r->cap_flows);
	r->flows[r->n_flows++] = mine;
	return 0;
}

/* Feed what was collected, with the flow intervals that ended up to @until_ns. */
static int resume_flush(struct feed *feed, int64_t until_ns)
{
	feed->flows_until_ns = until_ns;
	feed->n_flows = 0;
	int64_t from = INT64_MIN;
	if (feed->flows_after_ns > INT64_MIN + FLOW_INTERVAL_MAX)
		from = feed->flows_after_ns - FLOW_INTERVAL_MAX;
	int rc = history_each_flow(feed->history, from, until_ns, take_flow, feed, feed->e);
	if (rc != 0)
		return rc;
	if (feed->n_flows > 1)
		qsort(feed->flows, feed->n_flows, sizeof(*feed->flows), flow_end_order);
	pipeline_feed(feed->pipeline, feed->v, feed->n, feed->flows, feed->n_flows);
	feed->flows_after_ns = until_ns;
	feed->n = 0;
	return 0;
}

static int resume_take_sample(void *arg, const struct sample *sample)
{
	struct feed *r = arg;
	struct sample mine = *sample;
	/* a chunk ends between two instants, so that flows that end at one are not split from its
	 * samples */
	if (r->n >= CHUNK && sample->t_ns > r->v[r->n - 1].t_ns) {
		int rc = resume_flush(r, r->v[r->n - 1].t_ns);
		if (rc != 0)
			return rc;
	}
	names_ours_sample(&r->names, &mine);
	if (r->n % CHUNK == 0)
		r->v = rw_realloc(r->v, (r->n + CHUNK) * sizeof(*r->v));
	r->v[r->n++] = mine;
	if (r->seen.samples++ == 0)
		r->seen.first_ns = sample->t_ns;
	r->seen.last_ns = sample->t_ns;
	return 0;
}

int resume_feed(struct history *history, struct entities *entities, struct pipeline *pipeline,
	const struct resume_range *range, struct resume_seen *ret, struct err *e)
{
	struct feed r = {.history = history,
		.names = {.theirs = history_entities(history), .ours = entities},
		.pipeline = pipeline,
		.e = e};
	struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = range->metrics,
		.n_metrics = range->n_metrics,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns};
	if (range->from_ns == INT64_MIN)
		r.flows_after_ns = INT64_MIN;
	else
		r.flows_after_ns = range->from_ns - 1;
	int rc = history_each_sample(history, &filter, resume_take_sample, &r, e);
	if (rc == 0)
		rc = resume_flush(&r, range->to_ns ? range->to_ns : INT64_MAX);
	if (rc == 0 && ret)
		*ret = r.seen;
	free(r.v);
	free(r.flows);
	names_ours_done(&r.names);
	return rc;
}

/* ---- resuming ------------------------------------------------------------ */

struct restored_incidents {
	struct ledger *ledger;
	size_t n, unreadable;
};

static int resume_take_incident(void *arg, int n, char *const *values, char *const *names)
{
	struct restored_incidents *r = arg;
	if (n == 1 && values[0] && ledger_restore(r->ledger, values[0]) == 0)
		r->n++;
	else
		r->unreadable++;
	return 0;
}

struct late_incidents {
	struct ledger *ledger;
	struct store *store;
	int64_t now_ns;
};

static int resume_take_late(void *arg, int n, char *const *values, char *const *names)
{
	struct late_incidents *r = arg;
	if (n != 1 || !values[0] || ledger_restore(r->ledger, values[0]) != -EEXIST)
		return 0;
	struct incident_record *record = incident_json_parse(values[0]);
	if (record && !ledger_find(r->ledger, record->i.id)) {
		const enum incident_state from = record->i.state;
		record->i.state = INCIDENT_CLOSED;
		record->i.closed_ns = r->now_ns;
		record->i.updated_ns = r->now_ns;
		record->i.note = "closed: the agent could not read it when it started, and has "
				 "opened another one for the same subject";
		record->i.note_ns = r->now_ns;
		incident_store(r->store, &record->i, from);
		record->i.note = NULL;
	}
	incident_record_free(record);
	return 0;
}

int resume_incidents(struct history *history, struct ledger *ledger, struct store *store,
	int64_t now_ns, struct err *e)
{
	struct late_incidents late = {.ledger = ledger, .store = store, .now_ns = now_ns};
	return history_sql(history,
		"SELECT json FROM incidents WHERE state <> 'closed' ORDER BY opened_ns, id",
		resume_take_late, &late, e);
}

static int resume_take_number(void *arg, int n, char *const *values, char *const *names)
{
	if (n == 1 && values[0])
		*(int64_t *)arg = strtoll(values[0], NULL, 10);
	return 0;
}

static void close_history(struct history **history)
{
	history_close(*history);
}

/* Those that are open, and those that closed since @closed_ns. */
static int resume_open_incidents(struct history *history, struct ledger *ledger, int64_t closed_ns,
	size_t *ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct restored_incidents restored = {.ledger = ledger};
	str_addf(&sql,
		"SELECT json FROM incidents WHERE state <> 'closed' OR updated_ns > %lld ORDER BY "
		"opened_ns, id",
		(long long)closed_ns);
	const int rc = history_sql(history, sql.s, resume_take_incident, &restored, e);
	if (restored.unreadable > 0)
		log_warn("ledger",
			"%zu stored incident%s cannot be read; they stay in the database as they "
			"are",
			restored.unreadable, plural(restored.unreadable));
	*ret = restored.n;
	return rc;
}

int resume_judged(struct history *history, const struct pipeline *pipeline, struct ledger *ledger,
	int64_t until_ns, size_t *ret_incidents, struct err *e)
{
	int64_t closed_ns = until_ns - LEDGER_REOPEN_NS;
	if (until_ns - pipeline_horizon(pipeline) < closed_ns)
		closed_ns = until_ns - pipeline_horizon(pipeline);
	return resume_open_incidents(history, ledger, closed_ns, ret_incidents, e);
}

static int resume_take_finding(void *arg, int n, char *const *values, char *const *names)
{
	if (n < 9 || !values[0] || !values[1])
		return 0;
	int priority = PRIO_NONE;
	if (values[8])
		priority = (int)strtol(values[8], NULL, 10);
	pipeline_stored(arg,
		&(struct finding_name){.from_ns = strtoll(values[0], NULL, 10),
			.to_ns = strtoll(values[1], NULL, 10),
			.analyzer = values[2],
			.cause = values[3],
			.device = values[4],
			.port = values[5],
			.group = values[6],
			.host = values[7],
			.priority = priority});
	return 0;
}

int resume_findings(
	struct history *history, struct pipeline *pipeline, int64_t after_ns, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT from_ns, to_ns, analyzer, cause, device, port, ecmp_group, host, priority "
		"FROM findings WHERE to_ns > %lld",
		(long long)after_ns);
	return history_sql_named(history, sql.s, NULL, resume_take_finding, pipeline, e);
}

int64_t resume_lead(const struct config *config)
{
	return config->defaults.slow_interval_ns + 2 * config->defaults.interval_ns;
}

int resume_agent(const char *path, struct entities *entities, const struct config *config,
	struct pipeline *pipeline, struct ledger *ledger, int64_t now_ns, struct err *e)
{
	rw_cleanup(close_history) struct history *history = NULL;
	int64_t first_ns, last_ns, known_ns = INT64_MIN;
	int rc = db_history_open(path, &history, e);
	if (rc != 0)
		return rc;
	/* what is ahead of the clock was stamped by a wrong one, and is no past */
	history->not_after_ns = now_ns + AHEAD_NS;
	rc = history_range(history, &first_ns, &last_ns, e);
	if (rc == -ENODATA)
		return 0;
	if (rc != 0)
		return rc;

	int64_t from_ns = last_ns - pipeline_horizon(pipeline);
	const int64_t lead_ns = resume_lead(config);
	size_t restored = 0;
	rc = resume_judged(history, pipeline, ledger, last_ns, &restored, e);
	if (rc == 0)
		rc = history_sql(history, "SELECT max(to_ns) FROM findings", resume_take_number,
			&known_ns, e);
	if (rc == 0)
		rc = resume_findings(history, pipeline, from_ns, e);
	if (rc != 0)
		return rc;
	if (known_ns > last_ns)
		known_ns = last_ns; /* the clock was set back since */

	struct resume_range range = {.from_ns = from_ns - lead_ns, .to_ns = last_ns},
			    past = {.to_ns = range.from_ns - 1};
	range.n_metrics = pipeline_metrics(pipeline, &range.metrics);
	past.from_ns = from_ns - pipeline_past(pipeline, &past.metrics, &past.n_metrics) - lead_ns;
	pipeline_prime_begin(pipeline, from_ns > first_ns ? from_ns : 0, known_ns);
	struct resume_seen seen = {0};
	/* The analyzers' pasts reach further back, but for a few metrics only. */
	if (past.n_metrics)
		rc = resume_feed(history, entities, pipeline, &past, NULL, e);
	if (rc == 0)
		rc = resume_feed(history, entities, pipeline, &range, &seen, e);
	pipeline_prime_end(pipeline);
	if (rc == 0)
		log_info("agent", "resumed from %s: %llu samples, %zu incidents", path,
			(unsigned long long)seen.samples, restored);
	return rc;
}
