/* peek - a quick look at a database. */
#include "agent/client/peek.h"

#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store_state.h"

static int peek_open(struct peek *peek, struct err *e)
{
	if (peek->history)
		return 0;
	return db_history_open(peek->db_path, &peek->history, e);
}

static int peek_take_number(void *arg, int n, char *const *words, char *const *names)
{
	if (n > 0 && words[0])
		*(int64_t *)arg = strtoll(words[0], NULL, 10);
	return 0;
}

/* That the agent can no longer write is news too, although nothing was written. */
static bool peek_is_stuck(const struct peek *peek)
{
	struct store_state state;
	if (db_store_state(peek->db_path, &state) < 0)
		return false;
	return state.stage == STAGE_WAITING ||
		store_state_boot_ns() - state.beat_boot_ns > STORE_STATE_LATE_NS;
}

int64_t peek_change(struct peek *peek)
{
	int64_t number = -1;
	if (peek_open(peek, NULL) < 0)
		return -1;
	/* https://www.sqlite.org/pragma.html#pragma_data_version: changes when another connection
	 * has committed. */
	const int rc = history_sql(peek->history, "SELECT data_version FROM pragma_data_version",
		peek_take_number, &number, NULL);
	if (rc == 0)
		return 2 * number + peek_is_stuck(peek);
	peek_done(peek);
	return -1;
}

int peek_newest(struct peek *peek, int64_t *ret_ns, struct err *e)
{
	int rc = peek_open(peek, e);
	if (rc == 0)
		rc = history_range(peek->history, NULL, ret_ns, e);
	if (rc < 0 && rc != -ENODATA)
		peek_done(peek);
	return rc;
}

int peek_writer(const struct peek *peek)
{
	return db_writer_pid(peek->db_path);
}

void peek_done(struct peek *peek)
{
	history_close(peek->history);
	peek->history = NULL;
}

/* canary - reads the newest samples of the agent's own series. */

#define SPAN_NS (600 * NS_PER_S) /* looked back for it */
#define LEAST_NS NS_PER_S
#define MOST_NS (10 * NS_PER_S)
#define COMMIT_NS NS_PER_S /* a batch waits at most that long for its commit */

int64_t canary_interval_ns(const struct config *config)
{
	const int64_t interval_ns = config_interval(config);
	if (interval_ns < LEAST_NS)
		return LEAST_NS;
	if (interval_ns > MOST_NS)
		return MOST_NS;
	return interval_ns;
}

static void canary_take(struct canary_state *state, const struct series *series, int64_t now_ns)
{
	if (series->n == 0)
		return;
	/* several agents: the newest of any */
	if (state->known && series->t_ns[series->n - 1] < state->t_ns)
		return;
	state->known = true;
	state->t_ns = series->t_ns[series->n - 1];
	state->age_s = (double)(now_ns - state->t_ns) / 1e9;
}

int canary_read(
	const struct client *client, int64_t now_ns, struct canary_state *ret, struct err *e)
{
	static const uint16_t metrics[] = {M_AGENT_CANARY};
	const struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.lanes = WINDOW_LANES}; /* no queue has them */
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window window;
	*ret = (struct canary_state){.age_s = NAN, .limit_s = NAN};
	if (client->config)
		ret->limit_s = (double)(2 * canary_interval_ns(client->config) + COMMIT_NS) / 1e9;
	/* a window brings each series' last sample before it, however old */
	const int rc = history_window(
		client->history, a, &spec, now_ns - SPAN_NS, now_ns + LEAST_NS, &window, e);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < window.n_series; i++)
		canary_take(ret, &window.series[i], now_ns);
	ret->moving = ret->known && ret->age_s <= ret->limit_s;
	return 0;
}
