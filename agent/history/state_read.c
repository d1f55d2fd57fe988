/* state_read - settings as the database has them. */
#include "agent/history/state_read.h"

#include "agent/client/client.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"
#include "config/config.h"
#include "db/series/history.h"

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
