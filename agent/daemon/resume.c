/* history - see history.h. */
#include "agent/daemon/resume.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

#define CHUNK 65536 /* samples fed at once: 2 MiB */
#define FLOW_INTERVAL_MAX (3600 * NS_PER_S) /* longest flow interval that is looked for */

struct reader {
	struct series_db *db;
	const struct entities *theirs;
	struct entities *ours;
	struct pipeline *pipeline;
	struct err *e;
	struct sample *v;
	size_t n;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
	uint32_t *known; /* their entity id -> ours, 0 = not asked yet */
	size_t n_known;
	int64_t flows_after_ns, flows_until_ns; /* ends of flow intervals wanted: (after, until] */
	struct history_seen seen;
};

static uint32_t entity_ours(struct reader *r, uint32_t id)
{
	if (id >= r->n_known) {
		size_t n = (size_t)id * 2 + 64;
		r->known = rw_realloc(r->known, n * sizeof(*r->known));
		memset(r->known + r->n_known, 0, (n - r->n_known) * sizeof(*r->known));
		r->n_known = n;
	}
	if (r->known[id] == ENTITY_NONE) {
		const struct entity *e = entity_get(r->theirs, id);
		if (!e)
			return ENTITY_NONE;
		r->known[id] = entities_intern(r->ours, e->device, e->port, e->priority);
	}
	return r->known[id];
}

static int take_flow(void *arg, const struct flow_sample *f)
{
	struct reader *r = arg;
	if (f->to_ns <= r->flows_after_ns || f->to_ns > r->flows_until_ns)
		return 0;
	struct flow_sample mine = *f;
	mine.entity = entity_ours(r, f->entity);
	if (mine.entity == ENTITY_NONE)
		return 0;
	rw_grow(r->flows, r->n_flows, r->cap_flows);
	r->flows[r->n_flows++] = mine;
	return 0;
}

/* Feed what was collected, with the flow intervals that ended up to @until_ns. */
static int flush(struct reader *r, int64_t until_ns)
{
	r->flows_until_ns = until_ns;
	r->n_flows = 0;
	int64_t from = r->flows_after_ns > INT64_MIN + FLOW_INTERVAL_MAX
		? r->flows_after_ns - FLOW_INTERVAL_MAX
		: INT64_MIN;
	int rc = series_db_each_flow(r->db, from, until_ns, take_flow, r, r->e);
	if (rc != 0)
		return rc;
	if (r->n_flows > 1)
		qsort(r->flows, r->n_flows, sizeof(*r->flows), flow_end_order);
	pipeline_feed(r->pipeline, r->v, r->n, r->flows, r->n_flows);
	r->flows_after_ns = until_ns;
	r->n = 0;
	return 0;
}

static int take_sample(void *arg, const struct sample *s)
{
	struct reader *r = arg;
	struct sample mine = *s;
	/* a chunk ends between two instants, so that flows that end at one are not split from its
	 * samples */
	if (r->n >= CHUNK && s->t_ns > r->v[r->n - 1].t_ns) {
		int rc = flush(r, r->v[r->n - 1].t_ns);
		if (rc != 0)
			return rc;
	}
	mine.entity = entity_ours(r, s->entity);
	const struct metric_info *m = metric_info(s->metric);
	if (m && m->type == TYPE_TEXT)
		mine.value = entities_text(r->ours, entities_text_get(r->theirs, s->value));
	if (r->n % CHUNK == 0)
		r->v = rw_realloc(r->v, (r->n + CHUNK) * sizeof(*r->v));
	r->v[r->n++] = mine;
	if (r->seen.samples++ == 0)
		r->seen.first_ns = s->t_ns;
	r->seen.last_ns = s->t_ns;
	return 0;
}

int history_feed(struct series_db *db, struct entities *entities, struct pipeline *p,
	const struct history_range *range, struct history_seen *ret, struct err *e)
{
	struct reader r = {.db = db,
		.theirs = series_db_entities(db),
		.ours = entities,
		.pipeline = p,
		.e = e};
	struct series_filter filter = {.priority = -2,
		.metrics = range->metrics,
		.n_metrics = range->n_metrics,
		.from_ns = range->from_ns,
		.to_ns = range->to_ns};
	r.flows_after_ns = range->from_ns == INT64_MIN ? INT64_MIN : range->from_ns - 1;
	int rc = series_db_each(db, &filter, take_sample, &r, e);
	if (rc == 0)
		rc = flush(&r, range->to_ns ? range->to_ns : INT64_MAX);
	if (rc == 0 && ret)
		*ret = r.seen;
	free(r.v);
	free(r.flows);
	free(r.known);
	return rc;
}

/* ---- resuming ------------------------------------------------------------ */

struct restore {
	struct ledger *ledger;
	size_t n;
};

static int take_incident(void *arg, int n, char *const *values, char *const *names)
{
	struct restore *r = arg;
	if (n == 1 && values[0] && ledger_restore(r->ledger, values[0]) == 0)
		r->n++;
	else
		log_warn("ledger",
			"a stored incident cannot be read; it stays in the database as it is");
	return 0;
}

static int take_number(void *arg, int n, char *const *values, char *const *names)
{
	if (n == 1 && values[0])
		*(int64_t *)arg = strtoll(values[0], NULL, 10);
	return 0;
}

static void close_db(struct series_db **db)
{
	series_db_close(*db);
}

int history_resume(const char *path, struct entities *entities, const struct config *c,
	struct pipeline *p, struct ledger *l, struct err *e)
{
	rw_cleanup(close_db) struct series_db *db = NULL;
	int64_t first_ns, last_ns, known_ns = INT64_MIN;
	int rc = series_db_open(path, &db, e);
	if (rc != 0)
		return rc;
	rc = series_db_range(db, &first_ns, &last_ns, e);
	if (rc == -ENODATA)
		return 0;
	if (rc != 0)
		return rc;

	int64_t from_ns = last_ns - pipeline_horizon(p);
	/* states are polled slowly: far enough back that each has a value when the first window
	 * begins */
	int64_t lead_ns = c->defaults.slow_interval_ns + 2 * c->defaults.interval_ns;
	rw_cleanup(str_done) struct str sql = {0};
	struct restore restored = {.ledger = l};
	str_addf(&sql,
		"SELECT json FROM incidents WHERE state <> 'closed' OR updated_ns > %lld ORDER BY "
		"opened_ns, id",
		(long long)from_ns);
	rc = series_db_sql(db, sql.s, take_incident, &restored, e);
	if (rc == 0)
		rc = series_db_sql(
			db, "SELECT max(to_ns) FROM findings", take_number, &known_ns, e);
	if (rc != 0)
		return rc;

	struct history_range range = {.from_ns = from_ns - lead_ns, .to_ns = last_ns},
			     past = {.to_ns = range.from_ns - 1};
	range.n_metrics = pipeline_metrics(p, &range.metrics);
	past.from_ns = from_ns - pipeline_past(p, &past.metrics, &past.n_metrics) - lead_ns;
	pipeline_prime_begin(p, from_ns > first_ns ? from_ns : 0, known_ns);
	struct history_seen seen = {0};
	/* what analyzers look back at, of the time before: a few metrics only, since it is a long
	 * time */
	if (past.n_metrics)
		rc = history_feed(db, entities, p, &past, NULL, e);
	if (rc == 0)
		rc = history_feed(db, entities, p, &range, &seen, e);
	pipeline_prime_end(p);
	if (rc == 0)
		log_info("agent", "resumed from %s: %llu samples, %zu incidents", path,
			(unsigned long long)seen.samples, restored.n);
	return rc;
}
