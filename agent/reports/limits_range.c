/* limits_range - peaks of headroom and pools against their sizes. */
#include "agent/reports/limits_range.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/range_read.h"
#include "agent/reports/report_frame.h"
#include "config/fabric.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define NEAR_RATIO 0.8
#define FULL_RATIO 0.999
enum { NEAR_SHOWN = 30 };

static const struct limits_kind {
	uint16_t peak, limit;
	const char *what, *known;
} limits_kinds[] = {
	{M_PG_HEADROOM_WATERMARK, M_CFG_PG_HEADROOM, "headroom", "headroom"},
	{M_POOL_WATERMARK, M_CFG_POOL, "pool", "pools"},
};

struct limits_near {
	const struct limits_kind *kind;
	const struct entity *entity;
	double peak, limit;
};

/* The newest size of each, also of one that was told before the range. */
struct limits_sizes {
	const struct range_read *read;
	double *v; /* [series of the read] */
};

static int limits_take_size(void *arg, const struct sample *sample)
{
	const struct limits_sizes *sizes = arg;
	for (size_t i = 0; i < sizes->read->n; i++)
		if (sizes->read->v[i].entity == sample->entity)
			sizes->v[i] = sample_number(sample->metric, sample->value);
	return 0;
}

static int limits_order(const void *left, const void *right)
{
	const struct limits_near *a = left, *b = right;
	const double x = a->peak / a->limit, y = b->peak / b->limit;
	if (x != y)
		return x < y ? 1 : -1;
	return (a->entity->id > b->entity->id) - (a->entity->id < b->entity->id);
}

static void limits_add(json_t *doc, json_t *rows, const struct limits_near *near)
{
	const struct entity *entity = near->entity;
	const double used = near->peak / near->limit;
	rw_cleanup(str_done) struct str subject = {0};
	json_t *priority = json_null();
	str_addf(&subject, "%s:%s", entity->device, entity->port);
	if (entity->priority >= 0) {
		str_addf(&subject, " p%d", entity->priority);
		priority = json_integer(entity->priority);
	}
	if (json_array_size(rows) < NEAR_SHOWN)
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:o, s:s, s:f, s:f, s:f}", "device", entity->device,
				"port", entity->port, "priority", priority, "what",
				near->kind->what, "peak_bytes", near->peak, "limit_bytes",
				near->limit, "used_ratio", used));
	if (used < FULL_RATIO)
		return;
	report_problem(doc, REPORT_WARNING, "full", subject.s,
		"%s: %s was full (peak %.0f of %.0f bytes): its true need is not known", subject.s,
		near->kind->what, near->peak, near->limit);
}

static int limits_read_kind(struct client *client, const struct range_plan *plan,
	const struct limits_kind *kind, struct limits_near **v, size_t *n, size_t *cap,
	json_t *known, struct err *e)
{
	const struct entities *entities = history_entities(client->history);
	struct range_read read = {0};
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = &kind->limit,
		.n_metrics = 1,
		.to_ns = plan->last_ns};
	size_t n_known = 0;
	int rc = range_read(client, plan, &kind->peak, 1, &read, NULL, NULL, e);
	rw_cleanup(freep) double *sizes = rw_calloc(read.n + 1, sizeof(*sizes));
	for (size_t i = 0; i < read.n; i++)
		sizes[i] = NAN;
	struct limits_sizes taking = {&read, sizes};
	if (rc == 0 && read.n > 0)
		rc = history_each_before(
			client->history, &filter, plan->last_ns, limits_take_size, &taking, e);
	for (size_t i = 0; rc == 0 && i < read.n; i++) {
		const struct entity *entity = entity_get(entities, read.v[i].entity);
		const struct rollup *whole = &read.v[i].whole;
		if (!entity || whole->numbers == 0 || !(sizes[i] > 0))
			continue;
		n_known++;
		if (whole->max < NEAR_RATIO * sizes[i])
			continue;
		rw_grow(*v, *n, *cap);
		(*v)[(*n)++] = (struct limits_near){kind, entity, whole->max, sizes[i]};
	}
	json_object_set_new(known, kind->known, json_integer((json_int_t)n_known));
	range_read_done(&read);
	return rc;
}

static json_int_t limits_known(const json_t *known)
{
	return json_integer_value(json_object_get(known, "headroom")) +
		json_integer_value(json_object_get(known, "pools"));
}

int limits_range_put(struct client *client, json_t *doc, struct err *e)
{
	struct range_plan plan;
	struct limits_near *v = NULL;
	size_t n = 0, cap = 0;
	json_t *rows = json_array(), *known = json_object();
	int rc = range_plan_make(client, &plan, e);
	for (size_t i = 0; rc == 0 && i < rw_countof(limits_kinds); i++)
		rc = limits_read_kind(client, &plan, &limits_kinds[i], &v, &n, &cap, known, e);
	if (n > 1)
		qsort(v, n, sizeof(*v), limits_order);
	for (size_t i = 0; rc == 0 && i < n; i++)
		limits_add(doc, rows, &v[i]);
	free(v);
	if (rc == 0 && json_integer_value(json_object_get(known, "headroom")) == 0)
		report_missing(doc, "headroom: fill and size are delivered by no port");
	if (rc == 0 && json_integer_value(json_object_get(known, "pools")) == 0)
		report_missing(doc, "buffer pools: fill and size are delivered by no switch");
	json_object_set_new(doc, "near_limit", rows);
	json_object_set_new(doc, "near_known", known);
	report_figure(doc, "near_limit", "headrooms and pools used by 80 % or more",
		limits_known(known) > 0 ? (double)n : NAN, "-");
	return rc;
}
