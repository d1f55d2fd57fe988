/* watch_now - reads the newest closed windows and has them measured. */
#include "agent/answers/watch/watch_now.h"

#include "agent/client/client.h"
#include "agent/answers/watch/watch_frame.h"
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
static unsigned watch_lanes(const struct client *client)
{
	const unsigned mask = client->config->fabric->lossless_mask;
	if (!mask)
		return 0;
	return WINDOW_LANES | mask;
}

static int watch_read_signals(struct client *client, struct arena *a, int64_t interval_ns,
	struct window *ret, struct err *e)
{
	int64_t length_ns = WINDOW_INTERVALS * interval_ns;
	if (length_ns < WINDOW_LEAST_NS)
		length_ns = WINDOW_LEAST_NS;
	const int64_t to_ns = watch_floor(watch_closed_ns(client, interval_ns), interval_ns);
	const struct window_spec spec = {.metrics = golden_window_metrics,
		.n_metrics = golden_n_window_metrics,
		.flows = true,
		.lanes = watch_lanes(client)};
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

/* Ports to hosts are members of no group: half of a fabric. The signals' window has brought the
 * names. */
static void watch_only_members(
	const struct client *client, struct arena *a, struct window_spec *spec)
{
	const struct fabric *fabric = client->config->fabric;
	const struct entities *entities = history_names(client->history);
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
	if (!spec.n_entities)
		return 0; /* no group: no member to read */
	const int rc = history_window(client->history, a, &spec, window->from_ns, to_ns, window, e);
	if (rc < 0)
		return rc;
	now->load_floor = options->load_floor;
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
	const struct window_spec spec = {.metrics = golden_metrics,
		.n_metrics = golden_n_metrics,
		.lanes = watch_lanes(client)};
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

/* ---- the frame ------------------------------------------------------------ */

static const char *watch_text(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

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

static uint64_t watch_priority(int priority)
{
	return priority < 0 ? COUNT_UNKNOWN : (uint64_t)priority;
}

static struct watch_signal watch_signal_of(
	enum golden signal, const struct golden_value *value, struct arena *a)
{
	const struct golden_info *info = golden_info(signal);
	return (struct watch_signal){.name = info->name,
		.signal = info->title,
		.value = value->value,
		.value_low = value->value_low,
		.limit = value->limit,
		.unit = info->unit,
		.quality = watch_quality(value),
		.baseline = NAN,
		.baseline_span_s = NAN,
		.baseline_from = TIME_UNKNOWN,
		.baseline_to = TIME_UNKNOWN,
		.state = value->state,
		.where = watch_text(a, value->where),
		.why = watch_text(a, value->why),
		.subject = {watch_text(a, value->device), watch_text(a, value->port),
			watch_priority(value->priority), watch_text(a, value->host)}};
}

static struct watch_paused watch_paused_of(const struct golden_paused *paused, struct arena *a)
{
	return (struct watch_paused){.device = watch_text(a, paused->device),
		.port = watch_text(a, paused->port),
		.priority = watch_priority(paused->priority),
		.peer = watch_text(a, paused->peer),
		.host = watch_text(a, paused->host),
		.direction = paused->sent ? "tx" : "rx",
		.pause_ratio = paused->ratio,
		.pause_ratio_low = paused->ratio_low,
		.quality = paused->bound ? "bound" : "exact",
		.sentence = watch_text(a, paused->sentence),
		.role = golden_role_name(paused->role)};
}

static void watch_take_paused(
	const struct golden_measured *measured, struct arena *a, struct watch_answer *frame)
{
	frame->paused = arena_array(a, struct watch_paused, TOP_PAUSED);
	for (size_t i = 0; i < measured->n_paused && i < TOP_PAUSED; i++)
		frame->paused[frame->n_paused++] = watch_paused_of(&measured->paused[i], a);
}

/* ---- uplinks --------------------------------------------------------------- */

struct watch_member {
	const struct ecmp_measure *group;
	const struct ecmp_member *member;
};

static int watch_hotter(const void *left, const void *right)
{
	const struct watch_member *x = left, *y = right;
	const double u = x->member->utilization_ratio, v = y->member->utilization_ratio;
	if (u != v)
		return (v > u) - (v < u);
	/* one array for each group, in the fabric's order */
	if (x->group != y->group)
		return (x->group > y->group) - (x->group < y->group);
	return (x->member > y->member) - (x->member < y->member);
}

/* Parallel links are members of two groups: "uplinks" and "to:" their neighbour. */
static bool watch_is_listed(const struct watch_answer *frame, const struct watch_member *uplink)
{
	for (size_t i = 0; i < frame->n_uplinks; i++)
		if (str_eq(frame->uplinks[i].device, uplink->group->device) &&
			str_eq(frame->uplinks[i].port, uplink->member->port))
			return true;
	return false;
}

/* Every member with a known utilisation, the busiest first; returns how many. */
static size_t watch_sort_uplinks(
	const struct watch_now *now, struct arena *a, struct watch_member **ret)
{
	size_t total = 0, found = 0;
	for (size_t i = 0; i < now->n_groups; i++)
		total += now->groups[i].n_members;
	struct watch_member *uplinks = arena_array(a, struct watch_member, total + 1);
	for (size_t i = 0; i < now->n_groups; i++)
		for (size_t k = 0; k < now->groups[i].n_members; k++)
			if (isfinite(now->groups[i].members[k].utilization_ratio))
				uplinks[found++] = (struct watch_member){
					&now->groups[i], &now->groups[i].members[k]};
	qsort(uplinks, found, sizeof(*uplinks), watch_hotter);
	*ret = uplinks;
	return found;
}

static void watch_take_uplinks(
	const struct watch_now *now, struct arena *a, struct watch_answer *frame)
{
	struct watch_member *uplinks;
	const size_t n = watch_sort_uplinks(now, a, &uplinks);
	frame->uplinks = arena_array(a, struct watch_uplink, TOP_UPLINKS);
	for (size_t i = 0; i < n && frame->n_uplinks < TOP_UPLINKS; i++) {
		const struct ecmp_member *member = uplinks[i].member;
		if (watch_is_listed(frame, &uplinks[i]))
			continue;
		frame->uplinks[frame->n_uplinks++] =
			(struct watch_uplink){.device = watch_text(a, uplinks[i].group->device),
				.port = watch_text(a, member->port),
				.peer = watch_text(a, member->peer),
				.utilization_ratio = member->utilization_ratio,
				.idle = member->utilization_ratio <= now->load_floor,
				.speed_bps = count_or_unknown(member->speed_bps)};
	}
}

void watch_take_now(const struct watch_now *now, struct arena *a, struct watch_answer *frame)
{
	frame->window.from.ns = now->window.from_ns;
	frame->window.to.ns = now->window.to_ns;
	frame->signals = arena_array(a, struct watch_signal, GOLDEN_COUNT);
	frame->n_signals = GOLDEN_COUNT;
	for (unsigned i = 0; i < GOLDEN_COUNT; i++)
		frame->signals[i] = watch_signal_of(i, &now->measured.v[i], a);
	watch_take_paused(&now->measured, a, frame);
	watch_take_uplinks(now, a, frame);
}
