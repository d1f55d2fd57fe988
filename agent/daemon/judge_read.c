/* judge_read - reads the pulses of the shares and a slice of all samples. */
#include "agent/daemon/judge_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"

/* A share that is so many times judge.wait behind the first one is not waited for, although it
 * moves: it catches up by itself. */
#define FAR_BEHIND_WAITS 15
#define FLOW_INTERVAL_MAX (3600 * NS_PER_S) /* longest flow interval that is looked for */

/* ---- how far the shares are ---------------------------------------------- */

static int64_t judge_foremost(const struct judge_share *shares, size_t n)
{
	int64_t foremost_ns = INT64_MIN;
	for (size_t i = 0; i < n; i++)
		if (shares[i].newest_ns > foremost_ns)
			foremost_ns = shares[i].newest_ns;
	return foremost_ns;
}

static bool judge_is_late(
	const struct judge_share *share, int64_t foremost_ns, int64_t wait_ns, mono_t now)
{
	if (share->newest_ns == foremost_ns)
		return false;
	if (now.ns - share->moved.ns >= wait_ns)
		return true;
	return share->newest_ns != INT64_MIN &&
		foremost_ns - share->newest_ns > FAR_BEHIND_WAITS * wait_ns;
}

int64_t judge_horizon(struct judge_share *shares, size_t n, int64_t wait_ns, mono_t now)
{
	const int64_t foremost_ns = judge_foremost(shares, n);
	int64_t horizon_ns = foremost_ns;
	for (size_t i = 0; i < n; i++) {
		struct judge_share *share = &shares[i];
		const bool late = judge_is_late(share, foremost_ns, wait_ns, now);
		if (late && !share->late)
			share->late_since_ns = share->newest_ns;
		share->late = late;
		if (!late && share->newest_ns < horizon_ns)
			horizon_ns = share->newest_ns;
	}
	return horizon_ns;
}

static void judge_take_pulse(struct judge_read *read, const struct window *window,
	const struct series *series, bool *ret_any)
{
	const struct entity *entity = entity_get(window->entities, series->entity);
	if (!entity || series->n == 0)
		return;
	for (size_t i = 0; i < read->n_shares; i++) {
		struct judge_share *share = &read->shares[i];
		if (!str_eq(share->name, entity->port))
			continue;
		*ret_any = true;
		if (series->t_ns[series->n - 1] <= share->newest_ns)
			continue;
		share->newest_ns = series->t_ns[series->n - 1];
		share->moved = read->now;
	}
}

/* Recordings have no pulses: all of them is there. */
static void judge_take_recording(struct judge_read *read, int64_t last_ns)
{
	for (size_t i = 0; i < read->n_shares; i++) {
		if (last_ns > read->shares[i].newest_ns)
			read->shares[i].moved = read->now;
		/* nothing follows that could be late */
		read->shares[i].newest_ns = last_ns + read->settle_ns + NS_PER_MS;
	}
}

static int judge_read_pulses(struct judge_read *read)
{
	static const uint16_t metrics[] = {M_AGENT_CANARY};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	int64_t first_ns, last_ns;
	struct window window;
	bool any = false;
	int rc = history_range(read->history, &first_ns, &last_ns, &read->e);
	if (rc == -ENODATA)
		return -EAGAIN;
	if (rc != 0)
		return rc;
	read->first_ns = first_ns;
	/* the newest pulse may be later than the newest sample */
	const int64_t to_ns = last_ns + 24 * 3600 * NS_PER_S;
	rc = history_window(read->history, a, &spec, last_ns - FAR_BEHIND_WAITS * read->wait_ns,
		to_ns, &window, &read->e);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < window.n_series; i++)
		judge_take_pulse(read, &window, &window.series[i], &any);
	if (!any)
		judge_take_recording(read, last_ns);
	return 0;
}

/* ---- samples ------------------------------------------------------------- */

static int judge_take_sample(void *arg, const struct sample *sample)
{
	struct judge_samples *samples = arg;
	rw_grow(samples->v, samples->n, samples->cap);
	samples->v[samples->n++] = *sample;
	return 0;
}

struct judge_flows {
	struct judge_samples *samples;
	int64_t after_ns, until_ns;
};

static int judge_take_flow(void *arg, const struct flow_sample *flow)
{
	struct judge_flows *flows = arg;
	struct judge_samples *samples = flows->samples;
	if (flow->to_ns <= flows->after_ns || flow->to_ns > flows->until_ns)
		return 0;
	rw_grow(samples->flows, samples->n_flows, samples->cap_flows);
	samples->flows[samples->n_flows++] = *flow;
	return 0;
}

/* Everything of (after, until]; @n_metrics 0 = all metrics. */
static int judge_read_samples(struct judge_read *read, const uint16_t *metrics, size_t n_metrics,
	int64_t after_ns, int64_t until_ns, struct judge_samples *ret)
{
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = metrics,
		.n_metrics = n_metrics,
		.from_ns = after_ns + 1,
		.to_ns = until_ns};
	struct judge_flows flows = {.samples = ret, .after_ns = after_ns, .until_ns = until_ns};
	if (until_ns <= after_ns || until_ns == 0) /* a filter's 0 would mean "no end" */
		return 0;
	int rc = history_each_sample(read->history, &filter, judge_take_sample, ret, &read->e);
	if (rc != 0)
		return rc;
	rc = history_each_flow(read->history, after_ns - FLOW_INTERVAL_MAX, until_ns,
		judge_take_flow, &flows, &read->e);
	if (ret->n_flows > 1)
		qsort(ret->flows, ret->n_flows, sizeof(*ret->flows), flow_end_order);
	return rc;
}

/* Whole milliseconds: a position that can be kept as a double of seconds. */
static int64_t judge_floor(int64_t t_ns)
{
	const int64_t rest_ns = t_ns % NS_PER_MS;
	if (rest_ns < 0)
		return t_ns - rest_ns - NS_PER_MS;
	return t_ns - rest_ns;
}

/* A judge that has judged nothing yet begins with the oldest data, at most .begin_ns back. */
static void judge_choose_begin(struct judge_read *read)
{
	if (read->until_ns != INT64_MIN)
		return;
	int64_t begin_ns = judge_floor(read->first_ns - 1);
	if (read->horizon_ns - read->begin_ns > begin_ns)
		begin_ns = judge_floor(read->horizon_ns - read->begin_ns);
	read->until_ns = begin_ns;
}

static int judge_read_before(struct judge_read *read)
{
	const int64_t prime_ns = read->until_ns - read->prime_from_ns;
	if (!read->prime)
		return 0;
	int rc = 0;
	if (read->n_past_metrics)
		rc = judge_read_samples(read, read->past_metrics, read->n_past_metrics,
			read->until_ns - read->past_from_ns, prime_ns, &read->past);
	if (rc == 0)
		rc = judge_read_samples(read, read->metrics, read->n_metrics, prime_ns,
			read->until_ns, &read->before);
	return rc;
}

/* Up to where this slice goes. Time without data is skipped in one step. */
static int judge_slice_end(struct judge_read *read, int64_t *ret_ns)
{
	int64_t next_ns;
	*ret_ns = read->horizon_ns;
	const int rc = history_next(read->history, read->until_ns, &next_ns, &read->e);
	if (rc == -ENODATA)
		return 0;
	if (rc != 0)
		return rc;
	if (next_ns - read->until_ns > read->span_ns)
		next_ns = judge_floor(next_ns);
	else
		next_ns = read->until_ns + read->span_ns;
	if (next_ns < *ret_ns)
		*ret_ns = next_ns;
	return 0;
}

static int judge_read_slice(struct judge_read *read)
{
	int64_t end_ns;
	int rc = judge_read_pulses(read);
	if (rc != 0)
		return rc;
	const int64_t horizon_ns =
		judge_horizon(read->shares, read->n_shares, read->wait_ns, read->now);
	if (horizon_ns == INT64_MIN)
		return -EAGAIN;
	read->horizon_ns = judge_floor(horizon_ns - read->settle_ns);
	judge_choose_begin(read);
	if (read->horizon_ns <= read->until_ns && !read->prime)
		return -EAGAIN;
	read->begun_ns = read->until_ns;
	rc = judge_read_before(read);
	if (rc != 0 || read->horizon_ns <= read->until_ns)
		return rc;
	rc = judge_slice_end(read, &end_ns);
	if (rc == 0)
		rc = judge_read_samples(read, NULL, 0, read->until_ns, end_ns, &read->samples);
	if (rc == 0)
		read->until_ns = end_ns;
	return rc;
}

/* So that nobody is late because we could not read. */
static void judge_excuse(struct judge_read *read)
{
	for (size_t i = 0; i < read->n_shares; i++)
		read->shares[i].moved = read->now;
}

void judge_read(struct judge_read *read)
{
	const int64_t until_ns = read->until_ns;
	read->past.n = read->before.n = read->samples.n = 0;
	read->past.n_flows = read->before.n_flows = read->samples.n_flows = 0;
	read->e = (struct err){0};
	read->rc = 0;
	if (!read->history)
		read->rc = db_history_open(read->from, &read->history, &read->e);
	if (read->rc == 0)
		read->rc = judge_read_slice(read);
	if (read->rc == 0 || read->rc == -EAGAIN)
		return;
	judge_excuse(read);
	read->until_ns = until_ns;
	history_close(read->history);
	read->history = NULL;
}

static void judge_samples_done(struct judge_samples *samples)
{
	free(samples->v);
	free(samples->flows);
}

void judge_read_done(struct judge_read *read)
{
	history_close(read->history);
	judge_samples_done(&read->past);
	judge_samples_done(&read->before);
	judge_samples_done(&read->samples);
	for (size_t i = 0; i < read->n_shares; i++)
		free((char *)read->shares[i].name);
	free(read->shares);
	free(read->from);
}
