/* limits_range - peaks of headroom and pools against their sizes. */
#include "agent/answers/common/limits_range.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/common/range_read.h"
#include "agent/answers/common/report_frame.h"
#include "config/fabric.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define NEAR_RATIO 0.8
#define FULL_RATIO 0.99 /* a cell of the buffer is no difference */
enum { NEAR_SHOWN = 30 };

static const struct limits_kind {
	uint16_t peak, limit;
	const char *what, *title;
} limits_kinds[] = {
	{M_PG_HEADROOM_WATERMARK, M_CFG_PG_HEADROOM, "headroom", "headroom"},
	{M_POOL_WATERMARK, M_CFG_POOL, "pool", "buffer pool"},
};

struct limits_near {
	const struct limits_kind *kind;
	const struct entity *entity;
	double peak, limit; /* in the step in which it was used most */
};

/* One headroom or pool on its way through the steps. A size counts from the step in which it was
 * told; in a step in which it changes, the larger one does. */
struct limits_slot {
	uint32_t entity;
	size_t step;
	double size; /* in force; NAN: not known yet */
	double step_size, step_peak;
	double peak, limit; /* of the fullest step */
};

struct limits_walk {
	const struct limits_kind *kind;
	struct map *index; /* entity -> position */
	struct limits_slot *v;
	size_t n, cap;
};

static struct limits_slot *limits_slot_of(struct limits_walk *walk, uint32_t entity)
{
	uint64_t at;
	if (map_get(walk->index, entity, &at))
		return &walk->v[at];
	map_put(walk->index, entity, walk->n);
	rw_grow(walk->v, walk->n, walk->cap);
	walk->v[walk->n] = (struct limits_slot){.entity = entity,
		.step = SIZE_MAX,
		.size = NAN,
		.step_size = NAN,
		.step_peak = NAN,
		.peak = NAN,
		.limit = NAN};
	return &walk->v[walk->n++];
}

static int limits_take_size(void *arg, const struct sample *sample)
{
	struct limits_slot *slot = limits_slot_of(arg, sample->entity);
	slot->size = sample_number(sample->metric, sample->value);
	return 0;
}

static void limits_close(struct limits_slot *slot)
{
	const double limit = fmax(slot->size, slot->step_size); /* fmax leaves NAN out */
	const bool known = limit > 0 && !isnan(slot->step_peak);
	if (known && (isnan(slot->peak) || slot->step_peak / limit > slot->peak / slot->limit)) {
		slot->peak = slot->step_peak;
		slot->limit = limit;
	}
	if (!isnan(slot->step_size))
		slot->size = slot->step_size;
	slot->step_size = slot->step_peak = NAN;
}

static void limits_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct limits_walk *walk = arg;
	struct limits_slot *slot = limits_slot_of(walk, rollup->entity);
	if (slot->step != step)
		limits_close(slot);
	slot->step = step;
	if (rollup->numbers == 0)
		return;
	if (rollup->metric == walk->kind->peak)
		slot->step_peak = rollup->max;
	else
		slot->step_size = range_number(rollup, rollup->last);
}

static int limits_order(const void *left, const void *right)
{
	const struct limits_near *a = left, *b = right;
	const double x = a->peak / a->limit, y = b->peak / b->limit;
	if (x != y)
		return x < y ? 1 : -1;
	return (a->entity->id > b->entity->id) - (a->entity->id < b->entity->id);
}

static struct limits_row limits_row_of(const struct limits_near *near)
{
	const struct entity *entity = near->entity;
	return (struct limits_row){.device = entity->device,
		.port = entity->port,
		.priority = entity->priority,
		.what = near->kind->what,
		.peak_bytes = near->peak,
		.limit_bytes = near->limit,
		.used_ratio = near->peak / near->limit};
}

static bool limits_is_full(const struct limits_near *near)
{
	return near->peak >= FULL_RATIO * near->limit;
}

/* One problem for each device and kind: what was full. */
static void limits_problems(json_t *doc, const struct limits_near *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *device = v[i].entity->device;
		rw_cleanup(str_done) struct str cause = {0};
		size_t n_full = 0;
		for (size_t k = 0; k < n; k++)
			n_full += v[k].kind == v[i].kind && limits_is_full(&v[k]) &&
				str_eq(v[k].entity->device, device);
		if (n_full == 0)
			continue;
		str_addf(&cause, "full_%s", v[i].kind->what);
		report_problem(doc, REPORT_WARNING, cause.s, device,
			"%s: %zu %s%s full: the true need is not known", device, n_full,
			v[i].kind->title, n_full == 1 ? " was" : "s were");
	}
}

static int limits_read_kind(struct client *client, const struct range_plan *plan,
	const struct limits_kind *kind, struct limits_near **v, size_t *n, size_t *cap,
	size_t *ret_known, struct err *e)
{
	const struct entities *entities = history_entities(client->history);
	const uint16_t metrics[] = {kind->peak, kind->limit};
	const struct history_filter filter = {
		.priority = HISTORY_ANY_PRIORITY, .metrics = &kind->limit, .n_metrics = 1};
	struct limits_walk walk = {.kind = kind, .index = map_new()};
	struct range_read read = {0};
	int rc = 0;
	if (plan->n_steps > 0)
		rc = history_each_before(
			client->history, &filter, plan->from_ns, limits_take_size, &walk, e);
	if (rc == 0)
		rc = range_read(
			client, plan, metrics, rw_countof(metrics), &read, limits_step, &walk, e);
	for (size_t i = 0; rc == 0 && i < walk.n; i++) {
		struct limits_slot *slot = &walk.v[i];
		const struct entity *entity = entity_get(entities, slot->entity);
		limits_close(slot);
		if (!entity || isnan(slot->peak))
			continue;
		(*ret_known)++;
		if (slot->peak < NEAR_RATIO * slot->limit)
			continue;
		rw_grow(*v, *n, *cap);
		(*v)[(*n)++] = (struct limits_near){kind, entity, slot->peak, slot->limit};
	}
	range_read_done(&read);
	map_free(walk.index);
	free(walk.v);
	return rc;
}

int limits_range_read(struct client *client, json_t *doc, struct arena *a, struct limits_range *ret,
	struct err *e)
{
	struct range_plan plan;
	struct limits_near *v = NULL;
	size_t n = 0, cap = 0;
	*ret = (struct limits_range){.rows = arena_array(a, struct limits_row, NEAR_SHOWN)};
	size_t *known[] = {&ret->known.headroom, &ret->known.pools};
	int rc = range_plan_make(client, &plan, e);
	for (size_t i = 0; rc == 0 && i < rw_countof(limits_kinds); i++)
		rc = limits_read_kind(client, &plan, &limits_kinds[i], &v, &n, &cap, known[i], e);
	if (n > 1)
		qsort(v, n, sizeof(*v), limits_order);
	for (size_t i = 0; rc == 0 && i < n && i < NEAR_SHOWN; i++)
		ret->rows[ret->n_rows++] = limits_row_of(&v[i]);
	limits_problems(doc, v, n);
	free(v);
	if (rc == 0 && ret->known.headroom == 0)
		report_missing(doc, "headroom: fill and size are delivered by no port");
	if (rc == 0 && ret->known.pools == 0)
		report_missing(doc, "buffer pools: fill and size are delivered by no switch");
	report_figure(doc, "near_limit", "headrooms and pools used by 80 % or more",
		ret->known.headroom + ret->known.pools > 0 ? (double)n : NAN, "-");
	return rc;
}
