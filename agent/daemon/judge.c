/* judge - hands what judge_read gathered to the pipeline, and says which share is late. */
#include "agent/daemon/judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "agent/daemon/health.h"
#include "agent/daemon/judge_read.h"
#include "agent/daemon/names_ours.h"
#include "agent/daemon/pipeline.h"
#include "agent/daemon/resume.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

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
		pipeline_advance(judge->world.pipeline, read->until_ns + 1);
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

static void judge_start(struct judge *judge);

static void judge_on_read(void *arg)
{
	struct judge *judge = arg;
	judge->state = JUDGE_WAITING;
	if (judge->closing)
		judge_free(judge);
	else if (judge_take(judge))
		judge_start(judge);
}

static void judge_start(struct judge *judge)
{
	judge_order(judge, mono_now());
	if (loop_work(judge->loop, judge_work, judge_on_read, judge) == 0)
		judge->state = JUDGE_READING;
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
		rc = resume_findings(own, judge->world.pipeline, until_ns, e);
	judge->until_ns = judge->read.until_ns = until_ns;
	judge->known_ns = until_ns;
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
	if (judge->until_ns != INT64_MIN)
		health_figure(health, "judge", "judge", "until_s", "s",
			(double)(judge->until_ns / NS_PER_MS) / 1e3);
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
