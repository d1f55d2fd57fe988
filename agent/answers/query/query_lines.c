/* query_lines - the series of a query, their lines, their order. */
#include "agent/answers/query/query_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "config/config.h"

/* A series that was silent for longer before the range is not expected in it. */
#define ALIVE_NS (24 * 3600 * NS_PER_S)

static uint64_t slot_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

struct query_slot *query_lines_slot(struct query_lines *lines, uint32_t entity, uint16_t metric)
{
	uint64_t at;
	if (!map_get(lines->index, slot_key(entity, metric), &at))
		return NULL;
	return &lines->slots[at];
}

void query_lines_done(struct query_lines *lines)
{
	map_free(lines->index);
	free(lines->slots);
	free(lines->v);
}

/* ---- the line of a series ---------------------------------------------------- */

static const struct fabric_port *lines_port(
	const struct client *client, const struct entity *entity)
{
	if (!client->config)
		return NULL;
	const struct fabric_device *device = fabric_device(client->config->fabric, entity->device);
	if (!device || !*entity->port)
		return NULL;
	return fabric_port(device, entity->port);
}

static const char *lines_role(const struct client *client, const struct entity *entity)
{
	const struct fabric_device *device = NULL;
	if (client->config)
		device = fabric_device(client->config->fabric, entity->device);
	if (device)
		return device_role_name(device->role);
	return NULL;
}

static const char *lines_rail(const struct client *client, const struct entity *entity)
{
	const struct fabric_port *port = lines_port(client, entity);
	if (port && port->rail)
		return port->rail;
	if (port)
		return port->device->rail;
	return NULL;
}

static const char *lines_host(const struct client *client, const struct entity *entity)
{
	const struct fabric_port *port = lines_port(client, entity);
	if (port)
		return port->host;
	return NULL;
}

static const char *lines_job(const struct client *client, const struct entity *entity)
{
	const char *host = lines_host(client, entity);
	const struct fabric_job *job = NULL;
	if (host)
		job = fabric_job_of(client->config->fabric, host);
	if (job)
		return job->name;
	return NULL;
}

/* False: the series is in no line, such as a port without a host in lines of hosts. */
static bool lines_key(const struct client *client, const struct query_plan *plan,
	const struct entity *entity, struct query_line *ret)
{
	*ret = (struct query_line){
		.device = "", .port = "", .group = "", .priority = PRIO_NONE, .shown = true};
	switch (plan->by) {
	case BY_NONE:
	case BY_WORDS:
		ret->device = entity->device;
		ret->port = entity->port;
		ret->priority = entity->priority;
		break;
	case BY_PORT:
		ret->device = entity->device;
		ret->port = entity->port;
		break;
	case BY_DEVICE: ret->device = entity->device; break;
	case BY_PRIORITY: ret->priority = entity->priority; break;
	case BY_FABRIC: break;
	case BY_HOST: ret->group = lines_host(client, entity); break;
	case BY_JOB: ret->group = lines_job(client, entity); break;
	case BY_ROLE: ret->group = lines_role(client, entity); break;
	case BY_RAIL: ret->group = lines_rail(client, entity); break;
	}
	return ret->group != NULL;
}

static int lines_compare(const struct query_line *x, const struct query_line *y)
{
	int order = name_compare(x->group, y->group);
	if (order == 0)
		order = name_compare(x->device, y->device);
	if (order == 0)
		order = name_compare(x->port, y->port);
	if (order == 0)
		order = x->priority - y->priority;
	if (order == 0)
		order = (x->metric > y->metric) - (x->metric < y->metric);
	return order;
}

static int lines_order(const void *left, const void *right)
{
	const struct query_line *x = left, *y = right;
	const int order = lines_compare(x, y);
	if (order != 0)
		return order;
	return (x->begin > y->begin) - (x->begin < y->begin); /* the slot, for now */
}

/* Each slot begins as a line of its own; sorted, equal ones become one. */
static void lines_join(struct query_lines *lines)
{
	struct query_slot *slots = rw_calloc(lines->n_slots + 1, sizeof(*slots));
	size_t n = 0;
	if (lines->n > 1)
		qsort(lines->v, lines->n, sizeof(*lines->v), lines_order);
	for (size_t i = 0; i < lines->n; i++) {
		const size_t slot = lines->v[i].begin;
		const bool same = n > 0 && lines_compare(&lines->v[n - 1], &lines->v[i]) == 0;
		if (!same) {
			lines->v[n] = lines->v[i];
			lines->v[n].begin = i;
			n++;
		}
		lines->v[n - 1].end = i + 1;
		slots[i] = lines->slots[slot];
		slots[i].line = n - 1;
		map_put(lines->index, slot_key(slots[i].entity->id, slots[i].metric), i);
	}
	lines->n_slots = lines->n;
	lines->n = n;
	free(lines->slots);
	lines->slots = slots;
	lines->cap_slots = lines->n_slots + 1;
}

/* ---- which series there are ---------------------------------------------------- */

static int lines_add_metric(struct client *client, const struct query_plan *plan,
	const struct history_filter *filter, struct query_lines *lines, struct err *e)
{
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;
	const int rc = history_match(client->history, filter, &ids, &n, e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct query_line line;
		const struct entity *entity = entity_get(history_names(client->history), ids[i]);
		if (!entity || !lines_key(client, plan, entity, &line))
			continue;
		line.metric = filter->metrics[0];
		line.begin = lines->n_slots;
		rw_grow(lines->v, lines->n, lines->cap);
		lines->v[lines->n++] = line;
		rw_grow(lines->slots, lines->n_slots, lines->cap_slots);
		lines->slots[lines->n_slots++] =
			(struct query_slot){.entity = entity, .metric = filter->metrics[0]};
	}
	return rc;
}

/* ---- what a counter of bytes can grow by ------------------------------------------ */

struct lines_speeds {
	struct map *bps; /* of ports */
};

static int lines_take_speed(void *arg, const struct sample *sample)
{
	struct lines_speeds *speeds = arg;
	map_put(speeds->bps, sample->entity, sample->value);
	return 0;
}

/* The port's line rate, measured or else configured, with 2 % for clocks that differ. */
static double lines_bound(
	const struct client *client, const struct lines_speeds *speeds, const struct entity *entity)
{
	uint64_t bps = 0;
	const uint32_t port = entities_find(
		history_names(client->history), entity->device, entity->port, PRIO_NONE);
	map_get(speeds->bps, port, &bps);
	const struct fabric_port *configured = NULL;
	if (bps == 0)
		configured = lines_port(client, entity);
	if (configured)
		bps = configured->speed_bps;
	return 1.02 * (double)bps / 8;
}

static int lines_bounds(struct client *client, const struct query_plan *plan, int64_t to_ns,
	struct query_lines *lines, struct err *e)
{
	static const uint16_t metric = M_PORT_SPEED_BPS;
	struct history_filter filter = query_plan_filter(plan, 0, 0);
	struct lines_speeds speeds;
	bool bytes = false;
	for (size_t i = 0; i < plan->n_metrics; i++)
		bytes = bytes || str_eq(metric_info(plan->metrics[i])->unit, "bytes");
	if (!bytes)
		return 0;
	speeds.bps = map_new();
	filter.priority = HISTORY_ANY_PRIORITY;
	filter.metrics = &metric;
	filter.n_metrics = 1;
	const int rc =
		history_each_before(client->history, &filter, to_ns, lines_take_speed, &speeds, e);
	for (size_t i = 0; rc == 0 && i < lines->n_slots; i++) {
		const struct metric_info *info = metric_info(lines->slots[i].metric);
		if (info->kind == METRIC_COUNTER && str_eq(info->unit, "bytes"))
			lines->slots[i].bound_per_s =
				lines_bound(client, &speeds, lines->slots[i].entity);
	}
	map_free(speeds.bps);
	return rc;
}

/* ---- which of them are expected ---------------------------------------------------- */

struct lines_alive {
	struct query_lines *lines;
	int64_t since_ns;
};

static int lines_take_alive(void *arg, const struct sample *sample)
{
	struct lines_alive *alive = arg;
	struct query_slot *slot = query_lines_slot(alive->lines, sample->entity, sample->metric);
	if (slot && sample->t_ns >= alive->since_ns)
		slot->alive = true;
	return 0;
}

int query_lines_make(struct client *client, const struct query_plan *plan, int64_t from_ns,
	int64_t to_ns, struct query_lines *ret, struct err *e)
{
	struct history_filter filter = query_plan_filter(plan, from_ns, to_ns);
	int rc = 0;
	*ret = (struct query_lines){.index = map_new()};
	for (size_t i = 0; i < plan->n_metrics && rc == 0; i++) {
		filter.metrics = &plan->metrics[i];
		filter.n_metrics = 1;
		rc = lines_add_metric(client, plan, &filter, ret, e);
	}
	if (rc < 0)
		return rc;
	lines_join(ret);
	rc = lines_bounds(client, plan, to_ns, ret, e);
	if (rc < 0 || plan->top > 0 || !plan->steps)
		return rc;
	struct lines_alive alive = {.lines = ret, .since_ns = from_ns - ALIVE_NS};
	filter = query_plan_filter(plan, from_ns, to_ns);
	return history_each_before(client->history, &filter, from_ns, lines_take_alive, &alive, e);
}

/* ---- columns ------------------------------------------------------------------------- */

static size_t lines_widest(size_t width, const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	if (n > 40)
		return 40;
	return n > width ? n : width;
}

void query_lines_columns(
	const struct query_lines *lines, const struct query_plan *plan, struct query_columns *ret)
{
	const bool port = plan->by == BY_NONE || plan->by == BY_PORT;
	const bool device = port || plan->by == BY_DEVICE;
	*ret = (struct query_columns){.join = plan->by != BY_NONE,
		.fraction = !plan->steps || plan->step_ns % NS_PER_S != 0,
		.group_name = query_by_name(plan->by)};
	if (device)
		ret->device = strlen("DEVICE");
	if (plan->n_metrics > 1)
		ret->metric = strlen("METRIC");
	if (plan->by >= BY_HOST && plan->by <= BY_RAIL)
		ret->group = strlen("HOST");
	for (size_t i = 0; i < lines->n; i++) {
		const struct query_line *line = &lines->v[i];
		if (ret->group)
			ret->group = lines_widest(ret->group, line->group);
		if (device)
			ret->device = lines_widest(ret->device, line->device);
		if (port && *line->port)
			ret->port = lines_widest(ret->port ? ret->port : 4, line->port);
		if (ret->metric)
			ret->metric = lines_widest(ret->metric, metric_info(line->metric)->name);
		ret->priority = ret->priority || line->priority != PRIO_NONE;
	}
}
