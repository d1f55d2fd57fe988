/*
 * report_spine_imbalance - how evenly each ECMP group was loaded over the time range: reads the
 * windows from the database, feeds them to the sums (spine_imbalance) and makes the document.
 */

#include "agent/answers/common/report_frame.h"
#include "agent/answers/spine/answer.h"
#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "agent/reports/report.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/series/history.h"

#define FLOWS_WANTED 16

struct spine_collect {
	const struct config *config;
	const struct fabric *fabric;
	const struct report_ask *ask;
	struct spine_imbalance *sums;
};

static bool spine_is_wanted(const struct report_ask *ask, const char *device, const char *group)
{
	if (!str_glob(ask->device, device))
		return false;
	if (str_glob(ask->group, group))
		return true;
	rw_cleanup(str_done) struct str both = {0};
	str_addf(&both, "%s/%s", device, group);
	return str_glob(ask->group, both.s);
}

/* A device that is polled and has no samples is missing; one that only stands in the fabric's
 * drawing is not. */
static bool spine_is_expected(const struct config *config, const struct ecmp_measure *measure)
{
	if (measure->observed)
		return true;
	for (size_t i = 0; i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, measure->device))
			return config_device_polled(&config->devices[i]);
	return false;
}

static void spine_take_flows(const struct spine_collect *collect, const struct window *window,
	const struct ecmp_measure *measure, struct arena *turn)
{
	const struct fabric_device *device = fabric_device(collect->fabric, measure->device);
	struct finding_flow *flows;
	size_t n = ecmp_flows(fabric_group(device, measure->group), measure->hot, window, turn,
		FLOWS_WANTED, &flows);
	spine_imbalance_flows(collect->sums, flows, n);
}

static int spine_take_window(void *arg, const struct window *window,
	const struct ecmp_measure *measure, size_t n, struct arena *turn)
{
	const struct spine_collect *collect = arg;
	for (size_t i = 0; i < n; i++) {
		if (!spine_is_wanted(collect->ask, measure[i].device, measure[i].group) ||
			!spine_is_expected(collect->config, &measure[i]))
			continue;
		if (spine_imbalance_add(collect->sums, &measure[i]))
			spine_take_flows(collect, window, &measure[i], turn);
	}
	return 0;
}

static bool spine_any_wanted(const struct fabric *fabric, const struct report_ask *ask)
{
	for (size_t d = 0; d < fabric->n_devices; d++) {
		const struct fabric_device *device = fabric->devices[d];
		for (size_t i = 0; i < device->n_groups; i++)
			if (device->groups[i].n_members >= 2 &&
				spine_is_wanted(ask, device->name, device->groups[i].id))
				return true;
	}
	return false;
}

/* Values over time are kept for the part of the range that has data. */
static void spine_data_range(struct client *client, struct spine_options *options)
{
	struct err e = {0};
	int64_t first_ns, last_ns;
	if (history_range(client->history, &first_ns, &last_ns, &e) < 0)
		return;
	options->from_ns = client->from_ns > first_ns ? client->from_ns : first_ns;
	options->to_ns = client->to_ns < last_ns ? client->to_ns : last_ns;
}

/* A name that matches no group is a usage error: it must not read as "nothing wrong". */
static int spine_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	const struct fabric *fabric = client->config->fabric;
	const struct ecmp_options *options =
		config_options(client->config, "analyzers", "ecmp_imbalance");
	if (!options)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	const int rc = known_device(client, ask->device, e);
	if (rc < 0)
		return rc;
	if ((ask->device || ask->group) && !spine_any_wanted(fabric, ask))
		return err_set(e, -EINVAL,
			"no ECMP group of two members or more matches device '%.64s', group "
			"'%.64s' ('rocewatch ecmp groups' lists them)",
			str_or(ask->device, "*"), str_or(ask->group, "*"));
	struct spine_options sums_options = {.warn = options->warn,
		.critical = options->critical,
		.load_floor = options->load_floor,
		.hold = (uint32_t)options->hold,
		.window_ns = options->window_ns};
	if (ask->warn > 0) {
		sums_options.warn = ask->warn;
		sums_options.own_warn = true;
	}
	if (ask->critical > 0)
		sums_options.critical = ask->critical;
	spine_data_range(client, &sums_options);
	rw_cleanup(spine_imbalance_freep) struct spine_imbalance *sums =
		spine_imbalance_new(&sums_options);
	struct spine_collect collect = {
		.config = client->config, .fabric = fabric, .ask = ask, .sums = sums};
	struct ecmp_history history;
	int r = ecmp_history_each(client, spine_take_window, &collect, &history, e);
	if (r < 0)
		return r;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct spine_answer *answer =
		spine_answer_make(sums, fabric, history.from_ns, history.to_ns, a);
	answer->since.ns = client->from_ns;
	answer->until.ns = client->to_ns;
	r = spine_price(client, answer, a, e);
	if (r < 0)
		return r;
	json_t *doc = report_frame("spine-imbalance", client);
	const bool own = ask->warn > 0 || ask->critical > 0;
	spine_problems(client->config, answer, own, a, doc);
	shape_put(doc, &spine_answer_shape, answer);
	*ret = (struct report_result){
		.doc = doc, .answer = answer, .arena = rw_take(a), .window_ns = options->window_ns};
	return 0;
}

const struct report report_spine_imbalance = {
	.name = "spine-imbalance",
	.summary = "how evenly each ECMP group was loaded",
	.help = "Shows the worst window of each group, which member is hot and for how long, what "
		"a uniform hash would give by chance, and the cost of the time that jobs waited.\n"
		"With --check a group is judged by max/mean-1 of its busy windows together, or by "
		"the highest value that it held for `hold` busy windows in a row, whichever is "
		"worse. An idle fabric is OK; missing or stale data is UNKNOWN.",
	.options = "device group",
	.examples = {{"report spine-imbalance --since 24h",
			     "prints the worst window of each group of the last day"},
		{"report spine-imbalance --check --warn 20% --crit 50% --out spine.txt",
			"prints a line for monitoring and writes the report to a file"}},
	.span_ns = 24 * 3600 * NS_PER_S,
	.collect = spine_collect,
	.view = &spine_imbalance_view,
};
