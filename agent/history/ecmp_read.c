/* ecmp_history - see the header. History is read some windows at a time: one query each would cost
 * more than the measuring. */
#include "agent/history/ecmp_read.h"

#include <errno.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/client/client.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/series/history.h"

#define WINDOWS_AT_ONCE 16

static int64_t ecmp_read_interval_of(const struct config *config)
{
	int64_t longest = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *d = &config->devices[i];
		if (d->snmp && d->snmp->interval_ns > longest)
			longest = d->snmp->interval_ns;
		if (d->gnmi && d->gnmi->interval_ns > longest)
			longest = d->gnmi->interval_ns;
	}
	if (longest)
		return longest;
	return config->defaults.interval_ns;
}

static int64_t ecmp_read_floor_to(int64_t t_ns, int64_t step)
{
	int64_t rest = t_ns % step;
	return t_ns - (rest < 0 ? rest + step : rest);
}

/* The flow intervals of the chunk that lie within the window; the order stays. */
static void take_flows(const struct window *chunk, struct window *window, struct arena *a)
{
	size_t n = 0;
	struct flow_sample *v = arena_array(a, struct flow_sample, chunk->n_flows + 1);
	for (size_t i = 0; i < chunk->n_flows; i++)
		if (chunk->flows[i].from_ns >= window->from_ns &&
			chunk->flows[i].to_ns <= window->to_ns)
			v[n++] = chunk->flows[i];
	window->flows = v;
	window->n_flows = n;
}

static int ecmp_read_bounds(
	struct client *client, int64_t interval_ns, struct ecmp_history *history, struct err *e)
{
	int64_t first_ns, last_ns, step = history->options->window_ns;
	history->from_ns = history->to_ns = client->to_ns;
	int r = history_range(client->history, &first_ns, &last_ns, e);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	int64_t from = first_ns;
	if (client->from_ns > first_ns)
		from = client->from_ns;
	int64_t over;
	if (client->agent_alive)
		over = client->now_ns - interval_ns;
	else
		over = last_ns;
	int64_t to = over;
	if (client->to_ns < over)
		to = client->to_ns;
	from = ecmp_read_floor_to(from + step - 1, step);
	to = ecmp_read_floor_to(to, step);
	if (from < to) {
		history->from_ns = from;
		history->to_ns = to;
	}
	return 0;
}

int ecmp_history_each(struct client *client, ecmp_history_fn *fn, void *arg,
	struct ecmp_history *ret, struct err *e)
{
	struct ecmp_history h = {
		.options = config_options(client->config, "analyzers", "ecmp_imbalance")};
	if (!h.options)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	int64_t interval_ns = ecmp_read_interval_of(client->config);
	int r = ecmp_read_bounds(client, interval_ns, &h, e);
	if (r < 0)
		return r;
	const struct ecmp_params p = {.warn = h.options->warn,
		.load_floor = h.options->load_floor,
		.min_coverage = h.options->min_coverage,
		.interval_ns = interval_ns};
	const struct window_spec spec = {
		.metrics = ecmp_metrics, .n_metrics = ecmp_n_metrics, .flows = true};
	rw_cleanup(arena_freep) struct arena *chunk_arena = arena_new(), *turn = arena_new();
	for (int64_t from = h.from_ns; from < h.to_ns;
		from += WINDOWS_AT_ONCE * h.options->window_ns) {
		int64_t to = from + WINDOWS_AT_ONCE * h.options->window_ns;
		if (to > h.to_ns)
			to = h.to_ns;
		arena_reset(chunk_arena);
		struct window chunk;
		r = history_window(client->history, chunk_arena, &spec, from, to, &chunk, e);
		if (r < 0)
			return r;
		for (int64_t t = from; t < to; t += h.options->window_ns) {
			arena_reset(turn);
			struct window w = chunk;
			w.from_ns = t;
			w.to_ns = t + h.options->window_ns;
			take_flows(&chunk, &w, turn);
			struct ecmp_measure *m;
			size_t n = ecmp_measure_all(client->config->fabric, &w, &p, turn, &m);
			h.windows++;
			r = fn(arg, &w, m, n, turn);
			if (r)
				return r;
		}
	}
	*ret = h;
	return 0;
}
