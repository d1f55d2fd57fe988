/* counters_document - sums counters per port and priority. */
#include "agent/answers/counters/counters_document.h"

#include "agent/client/client.h"
#include "config/config.h"
#include "config/fabric.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/series.h"

/* FCS errors are among the errors received, where a device counts both. */
static const struct {
	uint16_t metric;
	enum counters_field field;
} counters_metrics[] = {
	{M_PG_DROPS, COUNTERS_DROPS},
	{M_QUEUE_DROPS, COUNTERS_DROPS},
	{M_PORT_IN_ERRORS, COUNTERS_ERRORS},
	{M_PORT_OUT_ERRORS, COUNTERS_ERRORS},
	{M_PORT_FLAPS, COUNTERS_FLAPS},
	{M_QUEUE_ECN_MARKED, COUNTERS_MARKED},
	{M_QUEUE_OUT_PACKETS, COUNTERS_PACKETS},
	{M_PORT_OUT_OCTETS, COUNTERS_OCTETS},
};

struct counters {
	const struct fabric *fabric;
	const struct counters_ask *ask;
	struct window window;
	uint32_t *row_of; /* by entity: + 1; 0 = none yet */
	struct counters_row *rows;
	size_t n_rows, cap_rows;
	struct arena *arena; /* of the rows */
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
	if (!ask->port && !ask->job)
		return true;
	const struct fabric_port *port = counters_port(counters, entity);
	bool named = str_glob(ask->port, entity->port) ||
		(port && *port->alias && str_glob(ask->port, port->alias));
	if (!named || !ask->job)
		return named;
	const char *job = port ? counters_job(counters, port->host) : NULL;
	return job && str_glob(ask->job, job);
}

static struct counters_row counters_row_of(
	const struct counters *counters, const struct entity *entity)
{
	const struct fabric_port *port = counters_port(counters, entity);
	struct counters_row row = {.device = entity->device,
		.port = entity->port,
		.host = port ? port->host : NULL,
		.at = port,
		.priority = entity->priority};
	row.job = counters_job(counters, row.host);
	if (entity->priority >= 0)
		row.lossless = maybe_of(counters->fabric->lossless_mask >> entity->priority & 1);
	for (size_t i = 0; i < COUNTERS_FIELDS; i++)
		row.grew[i] = NAN;
	return row;
}

static void counters_add(
	struct counters *counters, const struct series *series, enum counters_field field)
{
	struct increase increase;
	const struct entity *entity = entity_get(counters->window.entities, series->entity);
	if (!entity || !counters_wants(counters, entity))
		return;
	if (!counters->row_of[series->entity]) {
		arena_grow(counters->arena, counters->rows, counters->n_rows, counters->cap_rows);
		counters->rows[counters->n_rows] = counters_row_of(counters, entity);
		counters->row_of[series->entity] = (uint32_t)++counters->n_rows;
	}
	struct counters_row *row = &counters->rows[counters->row_of[series->entity] - 1];
	if (series_increase(
		    series, counters->window.from_ns, counters->window.to_ns, 0, &increase) < 0)
		return;
	const double sum = row->grew[field];
	row->grew[field] = (isnan(sum) ? 0 : sum) + (double)increase.value;
}

static int counters_order(const void *left, const void *right)
{
	const struct counters_row *x = left, *y = right;
	int r = 0;
	if (x->device != y->device) /* names of entities are kept once */
		r = name_compare(x->device, y->device);
	if (r == 0)
		r = name_compare(x->port, y->port);
	return r ? r : x->priority - y->priority;
}

/* Mostly they come in order. */
static void counters_sort(struct counters *counters)
{
	size_t i = 1;
	while (i < counters->n_rows &&
		counters_order(&counters->rows[i - 1], &counters->rows[i]) <= 0)
		i++;
	if (i < counters->n_rows)
		qsort(counters->rows, counters->n_rows, sizeof(*counters->rows), counters_order);
}

static int counters_window(struct counters *counters, struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	uint16_t metrics[rw_countof(counters_metrics)];
	for (size_t i = 0; i < rw_countof(metrics); i++)
		metrics[i] = counters_metrics[i].metric;
	struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	if (counters->ask->lossless)
		spec.lanes = WINDOW_LANES | counters->fabric->lossless_mask;
	struct window *window = &counters->window;
	const int r = history_window(
		client->history, a, &spec, client->from_ns, client->to_ns, window, e);
	if (r < 0)
		return r;
	counters->row_of = arena_array(a, uint32_t, (size_t)entities_count(window->entities) + 1);
	for (size_t k = 0; k < rw_countof(counters_metrics); k++) {
		size_t n;
		const struct series *series = window_of_metric(window, metrics[k], &n);
		for (size_t i = 0; i < n; i++)
			counters_add(counters, &series[i], counters_metrics[k].field);
	}
	counters_sort(counters);
	return 0;
}

int counters_read(struct client *client, const struct counters_ask *ask, struct arena *a,
	struct counters_answer *ret, struct err *e)
{
	struct counters counters = {.fabric = client->config->fabric, .ask = ask, .arena = a};
	int r = counters_window(&counters, client, e);
	if (r == 0)
		r = known_device(client, ask->device, e);
	if (r == 0)
		r = known_port(client, ask->device, ask->port, e);
	if (r == 0)
		r = known_job(client, ask->job, e);
	if (r < 0)
		return r;
	const bool scoped = ask->device || ask->port || ask->job || ask->priority >= 0;
	if (scoped && counters.n_rows == 0)
		return err_set(e, -EINVAL,
			"no port with counters matches device '%.64s', port '%.64s', job '%.64s' "
			"in this time range ('rocewatch topology show' lists the ports)",
			str_or(ask->device, "*"), str_or(ask->port, "*"), str_or(ask->job, "*"));
	*ret = (struct counters_answer){.rows = counters.rows,
		.n_rows = counters.n_rows,
		.from = {client->from_ns},
		.to = {client->to_ns},
		.seconds = (double)(client->to_ns - client->from_ns) / (double)NS_PER_S};
	return 0;
}

int counters_document(
	struct client *client, const struct counters_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct counters_answer answer;
	const int r = counters_read(client, ask, a, &answer, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < answer.n_rows; i++) {
		struct counters_row *row = &answer.rows[i];
		row->peer = row->host;
		if (row->at && row->at->peer)
			row->peer = arena_printf(
				a, "%s:%s", row->at->peer->device->name, row->at->peer->name);
	}
	*ret = shape_json(&counters_answer_shape, &answer);
	return 0;
}
