/* watch_now - reads the newest closed windows and has them measured. */
#include "agent/reports/watch_now.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/text.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/series/history.h"

enum { TOP_UPLINKS = 8, TOP_PAUSED = 6, WINDOW_INTERVALS = 3 };
#define WINDOW_LEAST_NS (5 * NS_PER_S)

/* ---- the windows ---------------------------------------------------------- */

/* The end of the time whose samples are all in. */
static int64_t watch_closed_ns(const struct client *client, int64_t interval_ns)
{
	const int64_t end_ns = client_data_end(client);
	if (client->agent_alive && end_ns > client->now_ns - interval_ns)
		return client->now_ns - interval_ns;
	return end_ns;
}

static int64_t watch_floor(int64_t t_ns, int64_t step_ns)
{
	return t_ns - (t_ns % step_ns + step_ns) % step_ns;
}

/* Most of a database are queues of lossy priorities, which no signal reads. */
static void watch_only_lossless(
	const struct client *client, struct arena *a, struct window_spec *spec)
{
	const unsigned mask = client->config->fabric->lossless_mask;
	const struct entities *entities = history_entities(client->history);
	const uint32_t n = entities_count(entities);
	if (!mask)
		return;
	uint32_t *ids = arena_array(a, uint32_t, n + 1);
	for (uint32_t id = 1; id <= n; id++) {
		const struct entity *entity = entity_get(entities, id);
		if (entity && (entity->priority < 0 || (mask >> entity->priority & 1)))
			ids[spec->n_entities++] = id;
	}
	spec->entities = ids;
}

static int watch_read_signals(struct client *client, struct arena *a, int64_t interval_ns,
	struct window *ret, struct err *e)
{
	int64_t length_ns = WINDOW_INTERVALS * interval_ns;
	if (length_ns < WINDOW_LEAST_NS)
		length_ns = WINDOW_LEAST_NS;
	const int64_t to_ns = watch_floor(watch_closed_ns(client, interval_ns), interval_ns);
	struct window_spec spec = {.metrics = golden_window_metrics,
		.n_metrics = golden_n_window_metrics,
		.flows = true};
	watch_only_lossless(client, a, &spec);
	ret->from_ns = to_ns - length_ns;
	ret->to_ns = to_ns;
	return history_window(client->history, a, &spec, ret->from_ns, to_ns, ret, e);
}

static int watch_id_order(const void *left, const void *right)
{
	const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	return (x > y) - (x < y);
}

struct watch_ids {
	uint32_t *v;
	size_t n, cap;
};

static void watch_add_member(const struct entities *entities, const struct fabric_group *group,
	size_t index, struct arena *a, struct watch_ids *ids)
{
	const struct fabric_port **ports;
	const size_t n = ecmp_member_ports(group, index, a, &ports);
	for (size_t i = 0; i < n; i++) {
		const uint32_t id =
			entities_find(entities, ports[i]->device->name, ports[i]->name, PRIO_NONE);
		if (id == ENTITY_NONE)
			continue;
		arena_grow(a, ids->v, ids->n, ids->cap);
		ids->v[ids->n++] = id;
	}
}

/* Ports to hosts are members of no group: half of a fabric. */
static void watch_only_members(
	const struct client *client, struct arena *a, struct window_spec *spec)
{
	const struct fabric *fabric = client->config->fabric;
	const struct entities *entities = history_entities(client->history);
	struct watch_ids ids = {0};
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t g = 0; g < fabric->devices[d]->n_groups; g++) {
			const struct fabric_group *group = &fabric->devices[d]->groups[g];
			for (size_t i = 0; i < group->n_members; i++)
				watch_add_member(entities, group, i, a, &ids);
		}
	if (ids.n)
		qsort(ids.v, ids.n, sizeof(*ids.v), watch_id_order);
	spec->entities = ids.v;
	spec->n_entities = ids.n;
}

/* The groups in the newest window of the commands that measure history: aligned to its length. */
static int watch_read_groups(struct client *client, struct arena *a, int64_t interval_ns,
	struct watch_now *now, struct err *e)
{
	const struct ecmp_options *options =
		config_options(client->config, "analyzers", "ecmp_imbalance");
	const struct ecmp_params params = {.warn = options->warn,
		.spread = options->spread,
		.load_floor = options->load_floor,
		.min_coverage = options->min_coverage,
		.interval_ns = interval_ns};
	const int64_t to_ns = watch_floor(watch_closed_ns(client, interval_ns), options->window_ns);
	struct window_spec spec = {
		.metrics = ecmp_metrics, .n_metrics = ecmp_n_metrics, .flows = true};
	watch_only_members(client, a, &spec);
	struct window *window = arena_new_of(a, struct window);
	struct ecmp_measure *groups;
	window->from_ns = to_ns - options->window_ns;
	window->to_ns = to_ns;
	const int rc = history_window(client->history, a, &spec, window->from_ns, to_ns, window, e);
	if (rc < 0)
		return rc;
	now->n_groups = ecmp_measure_all(client->config->fabric, window, &params, a, &groups);
	now->groups = groups;
	return 0;
}

/* Counters that are refreshed more slowly than a window is long, over a longer time. */
static int watch_read_back(struct client *client, struct arena *a, int64_t interval_ns,
	const struct window *now, const struct window **ret, struct err *e)
{
	int64_t length_ns = 2 * WINDOW_INTERVALS * interval_ns;
	if (length_ns < GOLDEN_BACK_NS)
		length_ns = GOLDEN_BACK_NS;
	if (!golden_wants_back(now))
		return 0;
	const struct window_spec spec = {.metrics = golden_metrics, .n_metrics = golden_n_metrics};
	struct window *window = arena_new_of(a, struct window);
	window->from_ns = now->to_ns - length_ns;
	window->to_ns = now->to_ns;
	*ret = window;
	return history_window(client->history, a, &spec, window->from_ns, window->to_ns, window, e);
}

int watch_now_read(struct client *client, struct arena *a, struct watch_now *ret, struct err *e)
{
	const struct config *config = client->config;
	const int64_t interval_ns = config_interval(config);
	const struct window *back = NULL;
	*ret = (struct watch_now){0};
	int rc = watch_read_signals(client, a, interval_ns, &ret->window, e);
	if (rc == 0)
		rc = watch_read_groups(client, a, interval_ns, ret, e);
	if (rc == 0)
		rc = watch_read_back(client, a, interval_ns, &ret->window, &back, e);
	if (rc < 0)
		return rc;
	struct analyzer_shared shared = {.arena = a};
	const struct analyzer_in in = {.fabric = config->fabric,
		.window = &ret->window,
		.interval_ns = interval_ns,
		.arena = a,
		.shared = &shared};
	const struct golden_in golden = {.in = &in,
		.back = back,
		.groups = ret->groups,
		.n_groups = ret->n_groups,
		.pause = config_options(config, "analyzers", "pause_storm"),
		.links = config_options(config, "analyzers", "link_health"),
		.ecmp = config_options(config, "analyzers", "ecmp_imbalance")};
	golden_measure(&golden, &ret->measured);
	return 0;
}

/* ---- documents ------------------------------------------------------------ */

static const char *watch_quality(const struct golden_value *value)
{
	if (isnan(value->value))
		return "unknown";
	if (value->bound)
		return "bound";
	if (value->quality == QUALITY_EXACT)
		return "exact";
	return "estimated";
}

static json_t *watch_priority_json(int priority)
{
	if (priority < 0)
		return json_null();
	return json_integer(priority);
}

static json_t *watch_subject_json(const struct golden_value *value)
{
	json_t *subject = json_object();
	json_object_set_new(subject, "device", json_string_or_null(value->device));
	json_object_set_new(subject, "port", json_string_or_null(value->port));
	json_object_set_new(subject, "priority", watch_priority_json(value->priority));
	json_object_set_new(subject, "host", json_string_or_null(value->host));
	return subject;
}

static json_t *watch_signal_json(enum golden signal, const struct golden_value *value)
{
	const struct golden_info *info = golden_info(signal);
	json_t *row = json_object();
	json_object_set_new(row, "name", json_string(info->name));
	json_object_set_new(row, "signal", json_string(info->title));
	json_object_set_new(row, "value", json_number_or_null(value->value));
	json_object_set_new(row, "value_low", json_number_or_null(value->value_low));
	json_object_set_new(row, "unit", json_string(info->unit));
	json_object_set_new(row, "quality", json_string(watch_quality(value)));
	json_object_set_new(row, "baseline", json_null());
	json_object_set_new(row, "baseline_span_s", json_null());
	json_object_set_new(row, "state", json_string(golden_state_name(value->state)));
	json_object_set_new(row, "where", json_string_or_null(value->where));
	json_object_set_new(row, "why", json_string_or_null(value->why));
	json_object_set_new(row, "subject", watch_subject_json(value));
	json_object_set_new(row, "incident", json_null());
	return row;
}

json_t *watch_signals_json(const struct golden_measured *measured)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < GOLDEN_COUNT; i++)
		json_array_append_new(list, watch_signal_json(i, &measured->v[i]));
	return list;
}

static json_t *watch_paused_row(const struct golden_paused *paused)
{
	json_t *row = json_object();
	json_object_set_new(row, "device", json_string_or_null(paused->device));
	json_object_set_new(row, "port", json_string_or_null(paused->port));
	json_object_set_new(row, "priority", watch_priority_json(paused->priority));
	json_object_set_new(row, "peer", json_string_or_null(paused->peer));
	json_object_set_new(row, "host", json_string_or_null(paused->host));
	json_object_set_new(row, "direction", json_string(paused->sent ? "tx" : "rx"));
	json_object_set_new(row, "pause_ratio", json_number_or_null(paused->ratio));
	json_object_set_new(row, "pause_ratio_low", json_number_or_null(paused->ratio_low));
	json_object_set_new(row, "quality", json_string(paused->bound ? "bound" : "exact"));
	json_object_set_new(row, "sentence", json_string_or_null(paused->sentence));
	json_object_set_new(row, "role", json_string(golden_role_name(paused->role)));
	json_object_set_new(row, "incident", json_null());
	return row;
}

json_t *watch_paused_json(const struct golden_measured *measured)
{
	json_t *list = json_array();
	for (size_t i = 0; i < measured->n_paused && i < TOP_PAUSED; i++)
		json_array_append_new(list, watch_paused_row(&measured->paused[i]));
	return list;
}

/* ---- uplinks --------------------------------------------------------------- */

struct watch_uplink {
	const struct ecmp_measure *group;
	const struct ecmp_member *member;
};

static int watch_hotter(const void *left, const void *right)
{
	const struct watch_uplink *x = left, *y = right;
	const double u = x->member->utilization_ratio, v = y->member->utilization_ratio;
	if (u != v)
		return (v > u) - (v < u);
	/* one array for each group, in the fabric's order */
	if (x->group != y->group)
		return (x->group > y->group) - (x->group < y->group);
	return (x->member > y->member) - (x->member < y->member);
}

/* Parallel links are members of two groups: "uplinks" and "to:" their neighbour. */
static bool watch_is_listed(const json_t *list, const struct watch_uplink *uplink)
{
	const json_t *row;
	size_t i;
	json_array_foreach (list, i, row)
		if (str_eq(text_of(row, "device"), uplink->group->device) &&
			str_eq(text_of(row, "port"), uplink->member->port))
			return true;
	return false;
}

/* Every member with a known utilisation, the busiest first; returns how many. */
static size_t watch_sort_uplinks(
	const struct watch_now *now, struct arena *a, struct watch_uplink **ret)
{
	size_t total = 0, found = 0;
	for (size_t i = 0; i < now->n_groups; i++)
		total += now->groups[i].n_members;
	struct watch_uplink *uplinks = arena_array(a, struct watch_uplink, total + 1);
	for (size_t i = 0; i < now->n_groups; i++)
		for (size_t k = 0; k < now->groups[i].n_members; k++)
			if (isfinite(now->groups[i].members[k].utilization_ratio))
				uplinks[found++] = (struct watch_uplink){
					&now->groups[i], &now->groups[i].members[k]};
	qsort(uplinks, found, sizeof(*uplinks), watch_hotter);
	*ret = uplinks;
	return found;
}

json_t *watch_uplinks_json(const struct watch_now *now, struct arena *a)
{
	struct watch_uplink *uplinks;
	const size_t n = watch_sort_uplinks(now, a, &uplinks);
	json_t *list = json_array();
	for (size_t i = 0; i < n && json_array_size(list) < TOP_UPLINKS; i++) {
		const struct ecmp_member *member = uplinks[i].member;
		if (watch_is_listed(list, &uplinks[i]))
			continue;
		json_t *row = json_object();
		json_object_set_new(row, "device", json_string_or_null(uplinks[i].group->device));
		json_object_set_new(row, "port", json_string_or_null(member->port));
		json_object_set_new(row, "peer", json_string_or_null(member->peer));
		json_object_set_new(
			row, "utilization_ratio", json_number_or_null(member->utilization_ratio));
		json_object_set_new(row, "speed_bps",
			member->speed_bps ? json_integer((json_int_t)member->speed_bps)
					  : json_null());
		json_array_append_new(list, row);
	}
	return list;
}
