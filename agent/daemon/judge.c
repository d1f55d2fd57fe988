/* judge - hands what judge_read gathered to the pipeline, and says which share is late. */
#include "agent/daemon/judge.h"

#include "agent/judge/health.h"
#include "agent/judge/pipeline.h"
#include "agent/judge/resume.h"
#include "base/log.h"
#include "base/loop.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

struct judge_samples {
	struct sample *v; /* by the numbers of the history */
	size_t n, cap;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
};

/* An order to the reader, and its answer. */
struct judge_read {
	struct history *history; /* opened by the first read, kept */
	char *from; /* judge.from */
	struct judge_share *shares;
	size_t n_shares;
	int64_t wait_ns, settle_ns, begin_ns;
	mono_t now;

	int64_t until_ns; /* judged up to there; INT64_MIN: the reader chooses */
	int64_t span_ns; /* to read at once */
	/* wanted once after a start: what comes before .until_ns, from these times on */
	bool prime;
	int64_t past_from_ns, prime_from_ns; /* counted back from .until_ns */
	const uint16_t *past_metrics, *metrics;
	size_t n_past_metrics, n_metrics;

	int rc;
	struct err e;
	int64_t first_ns; /* of all data */
	int64_t begun_ns; /* where .samples begin: .until_ns as it was, or as it was chosen */
	int64_t horizon_ns; /* the slowest share that is waited for, less .settle_ns */
	struct judge_samples past, before, samples; /* the first two with .prime */
};

static void judge_read(struct judge_read *read);

/* judge_read - reads the pulses of the shares and a slice of all samples. */

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

/* judge_read - fills the second half of @read. .rc: 0; -EAGAIN: nothing new; another negative
 * errno: it could not be read, .e says why. */
static void judge_read(struct judge_read *read)
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
	/* so that nobody is late because we could not read */
	for (size_t i = 0; i < read->n_shares; i++)
		read->shares[i].moved = read->now;
	read->until_ns = until_ns;
	history_close(read->history);
	read->history = NULL;
}

static void judge_samples_done(struct judge_samples *samples)
{
	free(samples->v);
	free(samples->flows);
}

static void judge_read_done(struct judge_read *read)
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

/* One slice is fed in one go: between these, the loop stays responsive. */
#define SLICE_LEAST 50000
#define SLICE_MOST 200000
#define SPAN_LONGEST_NS (3600 * NS_PER_S)
#define EVENT_TEXT_MAX 320

enum judge_state { JUDGE_WAITING, JUDGE_READING, JUDGE_READ };

struct judge {
	struct judge_world world;
	enum judge_state state;
	struct loop *loop; /* of the read under way */
	struct judge_read read; /* not ours while .state is JUDGE_READING */
	struct names_ours names;
	const struct history *names_of; /* whose numbers these are */
	bool primed, closing;
	int64_t known_ns; /* findings of windows that ended by then are stored */
	/* of the last read, for who asks meanwhile */
	struct judge_share *shares;
	int64_t until_ns, horizon_ns;
	/* the windows up to there are under way; ... are judged, and what they found is handed on
	 */
	int64_t advanced_ns, told_ns;
	bool *told_late;
	bool unreadable;
	struct complaint unread;
};

/* ---- telling ------------------------------------------------------------- */

static void judge_event(struct judge *judge, const char *kind, const char *text)
{
	log_warn("judge", "%s", text);
	store_event(judge->world.store, wall_now().ns, kind, NULL, NULL, text);
}

static size_t judge_devices_of(const struct judge *judge, const char *name)
{
	const struct fabric *fabric = judge->world.config->fabric;
	size_t n = 0;
	for (size_t i = 0; i < fabric->n_devices; i++)
		n += str_eq(fabric->devices[i]->agent, name);
	return n;
}

static void judge_tell_late(struct judge *judge, const struct judge_share *share)
{
	char text[EVENT_TEXT_MAX], since[WALL_TEXT_MAX] = "the judge began";
	if (share->newest_ns != INT64_MIN)
		wall_text(since, (wall_t){share->newest_ns}, 0);
	snprintf(text, sizeof(text),
		"nothing new from agent %s since %s: its %zu devices are unknown from there on, "
		"and nobody waits for it",
		share->name, since, judge_devices_of(judge, share->name));
	judge_event(judge, "share_late", text);
}

static void judge_tell_back(struct judge *judge, const struct judge_share *share)
{
	char text[EVENT_TEXT_MAX], from[WALL_TEXT_MAX] = "the beginning", to[WALL_TEXT_MAX];
	if (share->late_since_ns != INT64_MIN)
		wall_text(from, (wall_t){share->late_since_ns}, 0);
	snprintf(text, sizeof(text),
		"agent %s is back: what happened on its %zu devices from %s to %s was judged "
		"without it, and is not judged again",
		share->name, judge_devices_of(judge, share->name), from,
		wall_text(to, (wall_t){judge->until_ns}, 0));
	judge_event(judge, "share_back", text);
}

static void judge_tell(struct judge *judge)
{
	for (size_t i = 0; i < judge->read.n_shares; i++) {
		const struct judge_share *share = &judge->shares[i];
		if (share->late && !judge->told_late[i])
			judge_tell_late(judge, share);
		else if (!share->late && judge->told_late[i])
			judge_tell_back(judge, share);
		judge->told_late[i] = share->late;
	}
}

/* ---- feeding ------------------------------------------------------------- */

static void judge_feed(struct judge *judge, struct judge_samples *samples)
{
	for (size_t i = 0; i < samples->n; i++)
		names_ours_sample(&judge->names, &samples->v[i]);
	for (size_t i = 0; i < samples->n_flows; i++)
		samples->flows[i].entity =
			names_ours_entity(&judge->names, samples->flows[i].entity);
	pipeline_feed(
		judge->world.pipeline, samples->v, samples->n, samples->flows, samples->n_flows);
}

static void judge_feed_before(struct judge *judge)
{
	const struct judge_read *read = &judge->read;
	struct pipeline *pipeline = judge->world.pipeline;
	int64_t from_ns = read->begun_ns;
	if (judge->until_ns != INT64_MIN)
		from_ns = judge->until_ns - pipeline_horizon(pipeline);
	if (from_ns <= read->first_ns)
		from_ns = 0;
	pipeline_prime_begin(pipeline, from_ns, judge->known_ns);
	judge_feed(judge, &judge->read.past);
	judge_feed(judge, &judge->read.before);
	pipeline_prime_end(pipeline);
}

static void judge_next_span(struct judge_read *read)
{
	if (read->samples.n > SLICE_MOST && read->span_ns >= 2 * NS_PER_S)
		read->span_ns = read->span_ns / 2 / NS_PER_S * NS_PER_S;
	else if (read->samples.n < SLICE_LEAST && read->span_ns < SPAN_LONGEST_NS)
		read->span_ns *= 2;
}

static void judge_take_names(struct judge *judge)
{
	if (judge->names_of == judge->read.history)
		return;
	names_ours_done(&judge->names);
	judge->names.theirs = history_entities(judge->read.history);
	judge->names_of = judge->read.history;
}

/* Windows that ended by then are judged, some of them later: in slices, or at the next call. */
static void judge_advance(struct judge *judge, int64_t until_ns)
{
	struct pipeline *pipeline = judge->world.pipeline;
	const bool under_way = pipeline_judging(pipeline);
	if (!under_way)
		judge->told_ns = judge->advanced_ns;
	pipeline_advance(pipeline, until_ns + 1);
	if (!under_way)
		judge->advanced_ns = until_ns;
}

/* What was read is judged. Returns whether there may be more. */
static bool judge_take(struct judge *judge)
{
	struct judge_read *read = &judge->read;
	memcpy(judge->shares, read->shares, read->n_shares * sizeof(*judge->shares));
	judge->unreadable = read->rc != 0 && read->rc != -EAGAIN;
	if (judge->unreadable) {
		judge->names_of = NULL;
		complain(&judge->unread, read->now, LOG_ERROR_, "judge",
			"what the agents collect cannot be read; what is judged stands still: %s",
			read->e.text);
		return false;
	}
	complaint_over(&judge->unread, read->now, "judge", "what the agents collect is read again");
	judge_tell(judge);
	if (read->rc != 0)
		return false;
	judge->horizon_ns = read->horizon_ns;
	judge_take_names(judge);
	if (!judge->primed)
		judge_feed_before(judge);
	judge->primed = true;
	judge_feed(judge, &read->samples);
	const bool more = read->until_ns < read->horizon_ns;
	/* all of that instant is there too */
	if (read->until_ns != judge->until_ns)
		judge_advance(judge, read->until_ns);
	judge->until_ns = read->until_ns;
	judge_next_span(read);
	return more;
}

/* ---- reading ------------------------------------------------------------- */

static void judge_order(struct judge *judge, mono_t now)
{
	struct judge_read *read = &judge->read;
	const struct pipeline *pipeline = judge->world.pipeline;
	read->now = now;
	read->prime = !judge->primed;
	if (!read->prime)
		return;
	const int64_t lead_ns = resume_lead(judge->world.config);
	read->prime_from_ns = pipeline_horizon(pipeline) + lead_ns;
	read->n_metrics = pipeline_metrics(pipeline, &read->metrics);
	read->past_from_ns = read->prime_from_ns +
		pipeline_past(pipeline, &read->past_metrics, &read->n_past_metrics);
}

static void judge_work(void *arg)
{
	struct judge *judge = arg;
	judge_read(&judge->read);
}

static void judge_on_read(void *arg);

#define JUDGE_READ_S 60 /* longer is told */

static void judge_late(void *arg)
{
	struct judge *judge = arg;
	complain(&judge->unread, mono_now(), LOG_ERROR_, "judge",
		"what the agents collect has not been read for %d s: nothing is judged until the "
		"disk answers",
		JUDGE_READ_S);
}

static const struct loop_job judge_job = {.limit_ns = JUDGE_READ_S * NS_PER_S,
	.work = judge_work,
	.done = judge_on_read,
	.late = judge_late};

static void judge_start(struct judge *judge)
{
	judge_order(judge, mono_now());
	if (loop_work(judge->loop, &judge_job, judge) == 0)
		judge->state = JUDGE_READING;
}

static void judge_on_read(void *arg)
{
	struct judge *judge = arg;
	judge->state = JUDGE_WAITING;
	if (judge->closing)
		judge_free(judge);
	else if (judge_take(judge))
		judge_start(judge);
}

void judge_tick(struct judge *judge, struct loop *loop, mono_t now)
{
	(void)now;
	judge->loop = loop;
	if (judge->state == JUDGE_WAITING)
		judge_start(judge);
}

int judge_step(struct judge *judge, mono_t now, struct err *e)
{
	const int64_t until_ns = judge->until_ns;
	judge_order(judge, now);
	judge_read(&judge->read);
	judge_take(judge);
	if (judge->read.rc != 0 && judge->read.rc != -EAGAIN) {
		*e = judge->read.e;
		return judge->read.rc;
	}
	return judge->until_ns != until_ns;
}

/* ---- life ---------------------------------------------------------------- */

static int judge_take_until(void *arg, int n, char *const *values, char *const *names)
{
	if (n > 0 && values[0])
		*(int64_t *)arg = llround(strtod(values[0], NULL) * 1e3) * NS_PER_MS;
	return 0;
}

static void judge_close_history(struct history **history)
{
	history_close(*history);
}

/* Goes on where the judge before stopped. */
static int judge_resume(struct judge *judge, const char *path, struct err *e)
{
	rw_cleanup(judge_close_history) struct history *own = NULL;
	int64_t until_ns = INT64_MIN;
	size_t incidents = 0;
	int rc = db_history_open(path, &own, e);
	if (rc == 0)
		rc = history_sql(own, "SELECT value FROM health WHERE key='judge/judge/until_s'",
			judge_take_until, &until_ns, e);
	if (rc != 0)
		return rc;
	if (until_ns == INT64_MIN) /* it ended before it could say how far it came */
		return resume_findings(own, judge->world.pipeline, INT64_MIN, e);
	rc = resume_judged(
		own, judge->world.pipeline, judge->world.ledger, until_ns, &incidents, e);
	if (rc == 0)
		rc = resume_findings(own, judge->world.pipeline,
			until_ns - pipeline_horizon(judge->world.pipeline), e);
	judge->until_ns = judge->read.until_ns = until_ns;
	judge->known_ns = judge->advanced_ns = judge->told_ns = until_ns;
	char text[WALL_TEXT_MAX];
	log_info("judge", "goes on after %s, %zu incidents", wall_text(text, (wall_t){until_ns}, 0),
		incidents);
	return rc;
}

static void judge_configure(struct judge *judge, const struct config *config)
{
	struct judge_read *read = &judge->read;
	judge->world.config = config;
	read->from = rw_strdup(config->judge->from);
	read->wait_ns = config->judge->wait_ns;
	read->begin_ns = config->judge->begin_ns;
	read->settle_ns = config_interval(config);
	read->n_shares = config->n_agents;
	read->shares = rw_calloc(config->n_agents + 1, sizeof(*read->shares));
	judge->shares = rw_calloc(config->n_agents + 1, sizeof(*judge->shares));
	judge->told_late = rw_calloc(config->n_agents + 1, sizeof(*judge->told_late));
	for (size_t i = 0; i < config->n_agents; i++)
		read->shares[i] = (struct judge_share){.name = rw_strdup(config->agents[i]),
			.newest_ns = INT64_MIN,
			.moved = mono_now(),
			.late_since_ns = INT64_MIN};
	memcpy(judge->shares, read->shares, read->n_shares * sizeof(*judge->shares));
}

int judge_new(const struct judge_world *world, const char *path, struct judge **ret, struct err *e)
{
	struct judge *judge = rw_calloc(1, sizeof(*judge));
	judge->world = *world;
	judge->until_ns = judge->known_ns = judge->horizon_ns = INT64_MIN;
	judge->advanced_ns = judge->told_ns = INT64_MIN;
	judge->read.until_ns = INT64_MIN;
	judge->names.ours = world->entities;
	judge_configure(judge, world->config);
	judge->read.span_ns = (4 * config_interval(world->config) + NS_PER_S) / NS_PER_S * NS_PER_S;
	*ret = judge;
	return judge_resume(judge, path, e);
}

void judge_free(struct judge *judge)
{
	if (!judge)
		return;
	if (judge->state == JUDGE_READING) { /* judge_on_read() calls again */
		judge->closing = true;
		return;
	}
	judge_read_done(&judge->read);
	names_ours_done(&judge->names);
	free(judge->shares);
	free(judge->told_late);
	free(judge);
}

void judge_reload(struct judge *judge, const struct config *config)
{
	/* Who shares the fabric, and where it is read, needs a restart: a read may be under way. */
	judge->world.config = config;
}

/* ---- what others ask ----------------------------------------------------- */

int64_t judge_until(const struct judge *judge)
{
	return judge->until_ns;
}

void judge_health(const struct judge *judge, struct health *health)
{
	int64_t told_ns = judge->told_ns;
	if (!pipeline_judging(judge->world.pipeline))
		told_ns = judge->advanced_ns;
	if (told_ns != INT64_MIN)
		health_figure(health, "judge", "judge", "until_s", "s",
			(double)(told_ns / NS_PER_MS) / 1e3);
	health_figure(health, "judge", "judge", "unreadable", "", judge->unreadable);
	for (size_t i = 0; i < judge->read.n_shares; i++) {
		const struct judge_share *share = &judge->shares[i];
		double newest_s = NAN;
		if (share->newest_ns != INT64_MIN)
			newest_s = (double)share->newest_ns / NS_PER_S;
		health_figure(health, "share", share->name, "newest_s", "s", newest_s);
		health_figure(health, "share", share->name, "late", "", share->late);
	}
}
