/* ecmp_read - measures the ECMP groups in each window of the past, with the detector's options. */
#include "agent/history/ecmp_read.h"

#include <errno.h>

#include "agent/base/err.h"
#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/series/history.h"

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
	const struct window_spec spec = {
		.metrics = ecmp_metrics, .n_metrics = ecmp_n_metrics, .flows = true};
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
