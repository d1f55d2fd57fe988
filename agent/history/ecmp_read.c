/* ecmp_history - see the header. History is read some windows at a time: one query each would cost
 * more than the measuring. */
#include "agent/history/ecmp_read.h"

#include <errno.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/reports/spine_imbalance.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"

#define WINDOWS_AT_ONCE 16

static int64_t interval_of(const struct config *c)
{
	int64_t longest = 0;
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct config_device *d = &c->devices[i];
		if (d->snmp && d->snmp->interval_ns > longest)
			longest = d->snmp->interval_ns;
		if (d->gnmi && d->gnmi->interval_ns > longest)
			longest = d->gnmi->interval_ns;
	}
	return longest ? longest : c->defaults.interval_ns;
}

static int64_t floor_to(int64_t t, int64_t step)
{
	int64_t rest = t % step;
	return t - (rest < 0 ? rest + step : rest);
}

/* The flow intervals of the chunk that lie within the window; the order stays. */
static void take_flows(const struct window *chunk, struct window *w, struct arena *a)
{
	size_t n = 0;
	struct flow_sample *v = arena_array(a, struct flow_sample, chunk->n_flows + 1);
	for (size_t i = 0; i < chunk->n_flows; i++)
		if (chunk->flows[i].from_ns >= w->from_ns && chunk->flows[i].to_ns <= w->to_ns)
			v[n++] = chunk->flows[i];
	w->flows = v;
	w->n_flows = n;
}

static int bounds(struct client *x, int64_t interval_ns, struct ecmp_history *h, struct err *e)
{
	int64_t first_ns, last_ns, step = h->options->window_ns;
	h->from_ns = h->to_ns = x->to_ns;
	int r = series_db_range(x->db, &first_ns, &last_ns, e);
	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	int64_t from = x->from_ns > first_ns ? x->from_ns : first_ns;
	int64_t over = x->agent_alive ? x->now_ns - interval_ns : last_ns;
	int64_t to = x->to_ns < over ? x->to_ns : over;
	from = floor_to(from + step - 1, step);
	to = floor_to(to, step);
	if (from < to) {
		h->from_ns = from;
		h->to_ns = to;
	}
	return 0;
}

int ecmp_history_each(
	struct client *x, ecmp_history_fn *fn, void *arg, struct ecmp_history *ret, struct err *e)
{
	struct ecmp_history h = {
		.options = config_options(x->config, "analyzers", "ecmp_imbalance")};
	if (!h.options)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	int64_t interval_ns = interval_of(x->config);
	int r = bounds(x, interval_ns, &h, e);
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
		r = window_from_db(x->db, chunk_arena, &spec, from, to, &chunk, e);
		if (r < 0)
			return r;
		for (int64_t t = from; t < to; t += h.options->window_ns) {
			arena_reset(turn);
			struct window w = chunk;
			w.from_ns = t;
			w.to_ns = t + h.options->window_ns;
			take_flows(&chunk, &w, turn);
			struct ecmp_measure *m;
			size_t n = ecmp_measure_all(x->config->fabric, &w, &p, turn, &m);
			h.windows++;
			r = fn(arg, &w, m, n, turn);
			if (r)
				return r;
		}
	}
	*ret = h;
	return 0;
}

/* ---- collected for the report -------------------------------------------- */

#define FLOWS_WANTED 16

struct collect {
	const struct config *config;
	const struct fabric *fabric;
	const char *device, *group;
	struct spine_imbalance *report;
};

static bool wanted(const struct collect *c, const char *device, const char *group)
{
	if (!str_glob(c->device, device))
		return false;
	if (str_glob(c->group, group))
		return true;
	rw_cleanup(str_done) struct str both = {0};
	str_addf(&both, "%s/%s", device, group);
	return str_glob(c->group, both.s);
}

/* A device that is configured to be polled and is not heard of is missing; one that is only drawn
 * in the fabric is not. */
static bool expected(const struct collect *c, const struct ecmp_measure *m)
{
	if (m->observed)
		return true;
	for (size_t i = 0; i < c->config->n_devices; i++)
		if (str_eq(c->config->devices[i].name, m->device))
			return c->config->devices[i].snmp || c->config->devices[i].gnmi;
	return false;
}

static int collect_window(void *arg, const struct window *w, const struct ecmp_measure *m, size_t n,
	struct arena *turn)
{
	struct collect *c = arg;
	for (size_t i = 0; i < n; i++) {
		if (!wanted(c, m[i].device, m[i].group) || !expected(c, &m[i]) ||
			!spine_imbalance_add(c->report, &m[i]))
			continue;
		const struct fabric_group *g =
			fabric_group(fabric_device(c->fabric, m[i].device), m[i].group);
		struct finding_flow *flows;
		size_t n_flows = ecmp_flows(g, m[i].hot, w, turn, FLOWS_WANTED, &flows);
		spine_imbalance_flows(c->report, flows, n_flows);
	}
	return 0;
}

static bool any_wanted(const struct collect *c)
{
	for (size_t d = 0; d < c->fabric->n_devices; d++)
		for (size_t i = 0; i < c->fabric->devices[d]->n_groups; i++)
			if (c->fabric->devices[d]->groups[i].n_members >= 2 &&
				wanted(c, c->fabric->devices[d]->name,
					c->fabric->devices[d]->groups[i].id))
				return true;
	return false;
}

int ecmp_history_collect(struct client *x, const char *device, const char *group,
	struct spine_imbalance **ret, struct ecmp_history *ret_h, struct err *e)
{
	struct collect c = {
		.config = x->config, .fabric = x->config->fabric, .device = device, .group = group};
	const struct ecmp_options *o = config_options(x->config, "analyzers", "ecmp_imbalance");
	if (!o)
		return err_set(e, -EINVAL,
			"the configuration has no options for analyzers.ecmp_imbalance");
	if ((device || group) && !any_wanted(&c))
		return err_set(e, -EINVAL,
			"no ECMP group of two members or more matches device '%.64s', group "
			"'%.64s' ('rocewatch ecmp groups' lists them)",
			device ? device : "*", group ? group : "*");
	const struct spine_options so = {.warn = o->warn,
		.load_floor = o->load_floor,
		.hold = (uint32_t)o->hold,
		.window_ns = o->window_ns};
	rw_cleanup(spine_imbalance_freep) struct spine_imbalance *report = spine_imbalance_new(&so);
	c.report = report;
	int r = ecmp_history_each(x, collect_window, &c, ret_h, e);
	if (r < 0)
		return r;
	*ret = rw_take(report);
	return 0;
}
