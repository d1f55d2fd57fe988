/* counters_document - sums counters per port and priority. */
#include "agent/answers/counters/counters_document.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "config/config.h"
#include "config/fabric.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/series.h"

enum counters_field {
	FIELD_DROPS,
	FIELD_ERRORS,
	FIELD_FLAPS,
	FIELD_MARKED,
	FIELD_PACKETS,
	FIELD_OCTETS,
	FIELD_COUNT
};

static const char *const counters_names[FIELD_COUNT] = {
	"drops", "errors", "flaps", "marked", "packets", "octets"};

/* FCS errors are among the errors received, where a device counts both. */
static const struct {
	uint16_t metric;
	enum counters_field field;
} counters_metrics[] = {
	{M_PG_DROPS, FIELD_DROPS},
	{M_QUEUE_DROPS, FIELD_DROPS},
	{M_PORT_IN_ERRORS, FIELD_ERRORS},
	{M_PORT_OUT_ERRORS, FIELD_ERRORS},
	{M_PORT_FLAPS, FIELD_FLAPS},
	{M_QUEUE_ECN_MARKED, FIELD_MARKED},
	{M_QUEUE_OUT_PACKETS, FIELD_PACKETS},
	{M_PORT_OUT_OCTETS, FIELD_OCTETS},
};

struct counters_row {
	const struct entity *entity; /* NULL: nothing of it is wanted */
	double sums[FIELD_COUNT]; /* NAN unknown */
};

struct counters {
	const struct fabric *fabric;
	const struct counters_ask *ask;
	struct window window;
	struct counters_row *rows; /* by entity */
	size_t n_rows;
};

static const struct fabric_port *counters_port(
	const struct counters *counters, const struct entity *entity)
{
	const struct fabric_device *device = fabric_device(counters->fabric, entity->device);
	if (!device)
		return NULL;
	return fabric_port(device, entity->port);
}

static const char *counters_job(const struct counters *counters, const char *host)
{
	const struct fabric *fabric = counters->fabric;
	const struct fabric_job *job = NULL;
	if (host)
		job = fabric_job_of(fabric, host);
	if (!job)
		return NULL;
	return job->name;
}

static bool counters_wants(const struct counters *counters, const struct entity *entity)
{
	const struct counters_ask *ask = counters->ask;
	if (!*entity->port || !str_glob(ask->device, entity->device))
		return false;
	if (ask->priority >= 0 && entity->priority != ask->priority)
		return false;
	const struct fabric_port *port = counters_port(counters, entity);
	bool named = str_glob(ask->port, entity->port) ||
		(port && *port->alias && str_glob(ask->port, port->alias));
	if (!named || !ask->job)
		return named;
	const char *job = port ? counters_job(counters, port->host) : NULL;
	return job && str_glob(ask->job, job);
}

static void counters_add(
	struct counters *counters, const struct series *series, enum counters_field field)
{
	struct increase increase;
	const struct entity *entity = entity_get(counters->window.entities, series->entity);
	if (!entity || series->entity >= counters->n_rows || !counters_wants(counters, entity))
		return;
	struct counters_row *row = &counters->rows[series->entity];
	if (!row->entity)
		for (size_t i = 0; i < FIELD_COUNT; i++)
			row->sums[i] = NAN;
	row->entity = entity;
	if (series_increase(
		    series, counters->window.from_ns, counters->window.to_ns, 0, &increase) < 0)
		return;
	double sum = row->sums[field];
	row->sums[field] = (isnan(sum) ? 0 : sum) + (double)increase.value;
}

static json_t *counters_row_json(const struct counters *counters, const struct counters_row *row)
{
	const struct entity *entity = row->entity;
	const struct fabric_port *port = counters_port(counters, entity);
	const char *host = port ? port->host : NULL;
	json_t *json = json_object(), *priority = json_null(), *lossless = json_null();
	rw_cleanup(str_done) struct str peer = {0};
	if (entity->priority >= 0) {
		priority = json_integer(entity->priority);
		lossless = json_boolean(counters->fabric->lossless_mask >> entity->priority & 1);
	}
	if (port && port->peer)
		str_addf(&peer, "%s:%s", port->peer->device->name, port->peer->name);
	json_object_set_new(json, "device", json_string_or_null(entity->device));
	json_object_set_new(json, "port", json_string_or_null(entity->port));
	json_object_set_new(json, "priority", priority);
	json_object_set_new(json, "lossless", lossless);
	json_object_set_new(json, "peer", json_string_or_null(peer.s ? peer.s : host));
	json_object_set_new(json, "host", json_string_or_null(host));
	json_object_set_new(json, "job", json_string_or_null(counters_job(counters, host)));
	for (size_t i = 0; i < FIELD_COUNT; i++)
		json_object_set_new(json, counters_names[i], json_number_or_null(row->sums[i]));
	return json;
}

static int counters_order(const void *left, const void *right)
{
	const struct counters_row *x = left, *y = right;
	if (!x->entity || !y->entity)
		return !x->entity - !y->entity;
	int r = name_compare(x->entity->device, y->entity->device);
	if (r == 0)
		r = name_compare(x->entity->port, y->entity->port);
	return r ? r : x->entity->priority - y->entity->priority;
}

static int counters_read(
	struct counters *counters, struct client *client, struct arena *a, struct err *e)
{
	uint16_t metrics[rw_countof(counters_metrics)];
	for (size_t i = 0; i < rw_countof(metrics); i++)
		metrics[i] = counters_metrics[i].metric;
	const struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	int r = history_window(
		client->history, a, &spec, client->from_ns, client->to_ns, &counters->window, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < counters->window.n_series; i++)
		if (counters->window.series[i].entity >= counters->n_rows)
			counters->n_rows = counters->window.series[i].entity + 1;
	counters->rows = arena_array(a, struct counters_row, counters->n_rows + 1);
	for (size_t i = 0; i < counters->window.n_series; i++)
		for (size_t k = 0; k < rw_countof(counters_metrics); k++)
			if (counters->window.series[i].metric == counters_metrics[k].metric)
				counters_add(counters, &counters->window.series[i],
					counters_metrics[k].field);
	qsort(counters->rows, counters->n_rows, sizeof(*counters->rows), counters_order);
	return 0;
}

int counters_document(
	struct client *client, const struct counters_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct counters counters = {.fabric = client->config->fabric, .ask = ask};
	int r = counters_read(&counters, client, a, e);
	if (r == 0)
		r = known_device(client, ask->device, e);
	if (r == 0)
		r = known_port(client, ask->device, ask->port, e);
	if (r == 0)
		r = known_job(client, ask->job, e);
	if (r < 0)
		return r;
	json_t *rows = json_array();
	for (size_t i = 0; i < counters.n_rows && counters.rows[i].entity; i++)
		json_array_append_new(rows, counters_row_json(&counters, &counters.rows[i]));
	bool scoped = ask->device || ask->port || ask->job || ask->priority >= 0;
	if (scoped && json_array_size(rows) == 0) {
		json_decref(rows);
		return err_set(e, -EINVAL,
			"no port with counters matches device '%.64s', port '%.64s', job '%.64s' "
			"in this time range ('rocewatch topology show' lists the ports)",
			str_or(ask->device, "*"), str_or(ask->port, "*"), str_or(ask->job, "*"));
	}
	*ret = json_object();
	json_object_set_new(*ret, "from", json_time(client->from_ns));
	json_object_set_new(*ret, "to", json_time(client->to_ns));
	json_object_set_new(*ret, "seconds",
		json_real((double)(client->to_ns - client->from_ns) / (double)NS_PER_S));
	json_object_set_new(*ret, "rows", rows);
	return 0;
}
