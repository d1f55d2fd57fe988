/* window_walk - reads history some windows at a time and hands them on one by one. */
#include "agent/history/window_walk.h"

#include "agent/client/client.h"
#include "base/stats.h"
#include "config/config.h"
#include "db/series/history.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"

#define SAMPLES_AT_ONCE 1000000 /* aimed at */
#define AT_ONCE_MAX 64
/* A longer stretch without any data is left out. What is shorter is told window by window: "no
 * data" counts in a report. */
#define EMPTY_WINDOWS_MAX 1000
#define SPACING_SAMPLES_MIN 4

/* ---- bounds -------------------------------------------------------------- */

/* Also for times before 1970. */
static int64_t window_floor(int64_t t_ns, int64_t window_ns)
{
	const int64_t rest = t_ns % window_ns;
	if (rest < 0)
		return t_ns - rest - window_ns;
	return t_ns - rest;
}

bool window_align(int64_t window_ns, int64_t *from_ns, int64_t *to_ns)
{
	const int64_t from = window_floor(*from_ns + window_ns - 1, window_ns);
	const int64_t to = window_floor(*to_ns, window_ns);
	if (from >= to)
		return false;
	*from_ns = from;
	*to_ns = to;
	return true;
}

int window_bounds(
	struct client *client, int64_t window_ns, int64_t *from_ns, int64_t *to_ns, struct err *e)
{
	int64_t first_ns, last_ns;
	const int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc != 0)
		return rc;
	int64_t from = *from_ns, to = *to_ns;
	if (from < first_ns)
		from = first_ns;
	if (to > last_ns)
		to = last_ns;
	if (!window_align(window_ns, &from, &to))
		return -ENODATA;
	*from_ns = from;
	*to_ns = to;
	return 0;
}

/* ---- walk ---------------------------------------------------------------- */

static size_t window_samples(const struct window *window)
{
	size_t n = 0;
	for (size_t i = 0; i < window->n_series; i++)
		n += window->series[i].n;
	return n;
}

static size_t window_walk_flows(const struct window *window, const struct flow_sample *flows,
	size_t n, struct flow_sample *ret)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (flows[i].from_ns >= window->from_ns && flows[i].to_ns <= window->to_ns)
			ret[kept++] = flows[i];
	}
	return kept;
}

/* The flow intervals of @chunk that lie within @window; the order stays. */
static void window_take_flows(const struct window *chunk, struct window *window, struct arena *a)
{
	const size_t most = chunk->n_flows + chunk->n_flow_hosts;
	struct flow_sample *flows = arena_array(a, struct flow_sample, most + 1);
	size_t n = window_walk_flows(window, chunk->flows, chunk->n_flows, flows);
	window->flows = flows;
	window->n_flows = n;
	window->flow_hosts = &flows[n];
	window->n_flow_hosts =
		window_walk_flows(window, chunk->flow_hosts, chunk->n_flow_hosts, &flows[n]);
}

static int window_walk_chunk(const struct window *chunk, const struct window_plan *plan,
	struct arena *turn, window_fn *fn, void *arg)
{
	for (int64_t from = chunk->from_ns; from < chunk->to_ns; from += plan->window_ns) {
		struct window window = *chunk;
		window.from_ns = from;
		window.to_ns = from + plan->window_ns;
		if (window.to_ns > chunk->to_ns)
			window.to_ns = chunk->to_ns;
		arena_reset(turn);
		if (plan->spec->flows)
			window_take_flows(chunk, &window, turn);
		const int rc = fn(arg, &window, turn);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* How many windows to read next, by what the last chunk held. */
static size_t window_at_once(const struct window *chunk, int64_t window_ns)
{
	const int64_t n_windows = (chunk->to_ns - chunk->from_ns + window_ns - 1) / window_ns;
	const size_t samples_each = window_samples(chunk) / (size_t)n_windows + 1;
	const size_t at_once = SAMPLES_AT_ONCE / samples_each;
	if (at_once < 1)
		return 1;
	if (at_once > AT_ONCE_MAX)
		return AT_ONCE_MAX;
	return at_once;
}

static bool window_is_empty(const struct window *window)
{
	for (size_t i = 0; i < window->n_series; i++) {
		const struct series *series = &window->series[i];
		if (series->n > 0 && series->t_ns[series->n - 1] > window->from_ns)
			return false;
	}
	return window->n_flows == 0 && window->n_flow_hosts == 0;
}

/* Where the walk goes on after @chunk: *@ret, or later when nothing comes for very long. How long
 * does not matter then: two samples may lie thirty years apart. */
static int window_skip(struct client *client, const struct window_plan *plan,
	const struct window *chunk, int64_t *ret, struct err *e)
{
	int64_t next_ns;
	if (!window_is_empty(chunk))
		return 0;
	const int rc = history_next(client->history, chunk->to_ns, &next_ns, e);
	if (rc == -ENODATA)
		next_ns = plan->to_ns;
	else if (rc < 0)
		return rc;
	if (next_ns > plan->to_ns)
		next_ns = plan->to_ns;
	/* a sample at the end of a window lies in it */
	const int64_t windows = (next_ns - 1 - chunk->to_ns) / plan->window_ns;
	if (windows > EMPTY_WINDOWS_MAX)
		*ret = chunk->to_ns + windows * plan->window_ns;
	return 0;
}

int window_walk(struct client *client, const struct window_plan *plan, window_fn *fn, void *arg,
	struct err *e)
{
	rw_cleanup(arena_freep) struct arena *chunk_arena = arena_new(), *turn = arena_new();
	size_t at_once = plan->at_once;
	if (at_once == 0)
		at_once = 1; /* the first one shows how much it holds */
	for (int64_t from = plan->from_ns, to; from < plan->to_ns; from = to) {
		to = from + (int64_t)at_once * plan->window_ns;
		if (to > plan->to_ns)
			to = plan->to_ns;
		struct window chunk;
		arena_reset(chunk_arena);
		int rc = history_window(
			client->history, chunk_arena, plan->spec, from, to, &chunk, e);
		if (rc == 0)
			rc = window_walk_chunk(&chunk, plan, turn, fn, arg);
		if (rc != 0)
			return rc;
		if (plan->at_once == 0)
			at_once = window_at_once(&chunk, plan->window_ns);
		rc = window_skip(client, plan, &chunk, &to, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

double window_spacing(const struct series *series, struct arena *a)
{
	if (series->n < SPACING_SAMPLES_MIN)
		return NAN;
	double *gaps = arena_array(a, double, series->n);
	for (uint32_t i = 1; i < series->n; i++)
		gaps[i - 1] = (double)(series->t_ns[i] - series->t_ns[i - 1]);
	return stats_median(gaps, series->n - 1);
}

/* ecmp_read - measures the ECMP groups in each window of the past, with the detector's options. */

#define WINDOWS_AT_ONCE 16

struct ecmp_read {
	const struct fabric *fabric;
	struct ecmp_params params;
	ecmp_history_fn *fn;
	void *arg;
	size_t windows;
};

/* Sets .from_ns and .to_ns; both the end of the client's time range when there is no whole window.
 */
static int ecmp_read_bounds(
	struct client *client, int64_t interval_ns, struct ecmp_history *history, struct err *e)
{
	int64_t first_ns, last_ns;
	history->from_ns = history->to_ns = client->to_ns;
	const int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc == -ENODATA)
		return 0;
	if (rc < 0)
		return rc;
	int64_t end_ns = last_ns;
	if (client->agent_alive)
		end_ns = client->now_ns - interval_ns; /* the newest samples are still coming in */
	int64_t from_ns = client->from_ns, to_ns = client->to_ns;
	if (from_ns < first_ns)
		from_ns = first_ns;
	if (to_ns > end_ns)
		to_ns = end_ns;
	if (window_align(history->options->window_ns, &from_ns, &to_ns)) {
		history->from_ns = from_ns;
		history->to_ns = to_ns;
	}
	return 0;
}

static int ecmp_read_window(void *arg, const struct window *window, struct arena *turn)
{
	struct ecmp_read *read = arg;
	struct ecmp_measure *measures;
	const size_t n = ecmp_measure_all(read->fabric, window, &read->params, turn, &measures);
	read->windows++;
	return read->fn(read->arg, window, measures, n, turn);
}

int ecmp_history_each(struct client *client, ecmp_history_fn *fn, void *arg,
	struct ecmp_history *ret, struct err *e)
{
	const struct ecmp_options *options =
		config_options(client->config, "analyzers", "ecmp_imbalance");
	if (!options)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	struct ecmp_history history = {.options = options};
	const int64_t interval_ns = config_interval(client->config);
	int rc = ecmp_read_bounds(client, interval_ns, &history, e);
	if (rc < 0)
		return rc;
	struct ecmp_read read = {.fabric = client->config->fabric,
		.params = {.warn = options->warn,
			.spread = options->spread,
			.load_floor = options->load_floor,
			.min_coverage = options->min_coverage,
			.interval_ns = interval_ns},
		.fn = fn,
		.arg = arg};
	const struct window_spec spec = {.metrics = ecmp_metrics,
		.n_metrics = ecmp_n_metrics,
		.flows = true,
		.lanes = WINDOW_LANES}; /* of ports: no queue's name need be read */
	const struct window_plan plan = {.spec = &spec,
		.from_ns = history.from_ns,
		.to_ns = history.to_ns,
		.window_ns = options->window_ns,
		.at_once = WINDOWS_AT_ONCE};
	rc = window_walk(client, &plan, ecmp_read_window, &read, e);
	if (rc != 0)
		return rc;
	history.windows = read.windows;
	*ret = history;
	return 0;
}

/* ---- settings as they were told last --------------------------------------- */

#define SLOW_POLLS 3 /* a state is believed that long */

static int64_t state_slow_interval(const struct config *config)
{
	int64_t longest = config->defaults.slow_interval_ns;
	for (size_t i = 0; i < config->n_devices; i++)
		if (config->devices[i].snmp && config->devices[i].snmp->slow_interval_ns > longest)
			longest = config->devices[i].snmp->slow_interval_ns;
	return longest;
}

int64_t state_age(const struct client *client)
{
	int64_t first_ns, last_ns;
	struct err ignored = {0};
	for (size_t i = 0; i < client->config->n_devices; i++)
		if (config_device_polled(&client->config->devices[i]))
			return SLOW_POLLS * state_slow_interval(client->config);
	if (history_range(client->history, &first_ns, &last_ns, &ignored) == 0 &&
		first_ns < client->to_ns)
		return client->to_ns - first_ns + 1;
	return SLOW_POLLS * state_slow_interval(client->config);
}

int state_observe(
	struct client *client, struct arena *a, const struct observed **ret, struct err *e)
{
	static const uint16_t metrics[] = {M_PORT_SPEED_BPS, M_CFG_CABLE, M_CFG_PFC_ENABLED,
		M_CFG_PG_ALPHA_EXP, M_CFG_PG_HEADROOM, M_CFG_ECN_KMIN, M_CFG_ECN_RELATIVE,
		M_CFG_CBFC_ENABLED, M_CFG_POOL, M_CFG_POOL_HEADROOM, M_CFG_PFCWD_DETECT};
	const struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.lanes = WINDOW_LANES | client->config->fabric->lossless_mask};
	struct window *window = arena_new_of(a, struct window);
	const int rc = history_window(client->history, a, &spec, client->to_ns - state_age(client),
		client->to_ns, window, e);
	if (rc < 0)
		return rc;
	const struct analyzer_in in = {.fabric = client->config->fabric,
		.window = window,
		.interval_ns = config_interval(client->config),
		.arena = a};
	*ret = observe(&in);
	return 0;
}
