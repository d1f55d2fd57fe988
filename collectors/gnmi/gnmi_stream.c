/* gnmi_stream - one subscription of a target: its ways (stream, once, poll, get), its watchdog, its
 * falling back. */
#include "collectors/gnmi/gnmi_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"

#define STALE_INTERVALS 3
#define STALE_MAX 2 /* in a row, then the next way */
#define FIRST_WAY_AGAIN_NS (600 * NS_PER_S)
#define BACKOFF_INTERVALS 3
#define BACKOFF_MAX_NS (60 * NS_PER_S)
#define BACKOFF_MIN_NS (200 * NS_PER_MS)
#define SAMPLES_AT_ONCE 1024

static void on_timer(void *arg);
static void open_way(struct gnmi_stream *s);

/* timer_set - on_timer() in @ns, and when that should be: see overslept(). */
static void timer_set(struct gnmi_stream *s, int64_t ns)
{
	s->due = (mono_t){loop_now(s->t->loop).ns + ns};
	loop_timer_start(s->timer, ns, 0);
}

static enum profile_gnmi_how way(const struct gnmi_stream *s)
{
	return s->p->hows[s->how];
}
static int64_t timeout_ns(const struct gnmi_stream *s)
{
	return s->t->device->gnmi->timeout_ns;
}

/* ---- what arrives -------------------------------------------------------- */

static void on_update(void *arg, const struct gnmi_update *u)
{
	struct gnmi_stream *s = arg;
	switch (u->op) {
	case GNMI_UPDATE:
		s->round_t_ns = gnmi_time_take(&s->time, u, s->arrived_ns);
		gnmi_feed_update(s->feed, u, s->round_t_ns, &s->samples);
		break;
	case GNMI_SYNC: s->synced = true; break;
	case GNMI_ERROR: /* the old way to say why; the call's status follows */
	case GNMI_DELETE: /* what is gone is not sent any more: missing, not zero */ break;
	}
}

static void samples_flush(struct gnmi_stream *s)
{
	s->t->state.values += s->samples.n;
	gnmi_target_deliver(s->t, &s->samples);
	/* a large table once: hundreds of switches must not all keep the room for one */
	if (s->samples.cap > 2 * SAMPLES_AT_ONCE) {
		free(s->samples.v);
		s->samples = (struct sample_list){0};
	}
}

static void call_drop(struct gnmi_stream *s)
{
	if (s->call)
		s->n_stalls += grpc_io_call_counts(s->call).stalls;
	grpc_io_call_free(s->call);
	s->call = NULL;
}

static void channel_drop(struct gnmi_stream *s)
{
	call_drop(s);
	grpc_io_close(s->channel);
	s->channel = NULL;
}

/* round_over - everything asked for has come once. */
static void round_over(struct gnmi_stream *s)
{
	gnmi_feed_round(s->feed, s->round_t_ns ? s->round_t_ns : wall_now().ns, &s->samples);
	samples_flush(s);
	s->failures = 0;
	s->trouble[0] = '\0';
	complaint_over(
		&s->complaint, loop_now(s->t->loop), s->t->name, "gnmi: the stream delivers again");
	if (way(s) == HOW_ONCE)
		call_drop(s); /* some servers leave it open */
	s->again = way(s) != HOW_STREAM;
	s->state = STREAM_LIVE;
	timer_set(s, s->period_ns);
	if (s->p->slow) {
		channel_drop(s);
		loop_timer_stop(s->timer);
		s->state = STREAM_REST;
	}
	if (gnmi_feed_hears(s->feed))
		gnmi_target_neighbors(s->t);
	gnmi_target_stream_changed(s->t, s, NULL);
}

static void on_message(void *arg, const void *p, size_t n)
{
	struct gnmi_stream *s = arg;
	const bool before = s->synced;
	s->arrived_ns = wall_now().ns;
	s->last_update = loop_now(s->t->loop);
	s->round_t_ns = s->arrived_ns;
	if (way(s) == HOW_GET) {
		struct gnmi_decode d = *gnmi_feed_decode(s->feed);
		d.fn = on_update;
		d.arg = s;
		d.counts = &s->counts;
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		gnmi_decode_get(p, n, &d, a);
	} else {
		gnmi_walk_message(s->walk, p, n);
	}
	s->t->lag_s =
		s->round_t_ns < s->arrived_ns ? (double)(s->arrived_ns - s->round_t_ns) / 1e9 : 0;
	if (s->samples.n >= SAMPLES_AT_ONCE)
		samples_flush(s);
	if (s->synced && !before)
		round_over(s);
}

static void on_idle(void *arg)
{
	samples_flush(arg);
}

static void on_started(void *arg, const char *pem)
{
	struct gnmi_stream *s = arg;
	if (pem)
		gnmi_target_certificate(s->t, pem);
}

/* ---- when it does not go well -------------------------------------------- */

static void trouble_tell(struct gnmi_stream *s)
{
	complain(
		&s->complaint, loop_now(s->t->loop), LOG_WARN_, s->t->name, "gnmi: %s", s->trouble);
}

static void wait_and_retry(struct gnmi_stream *s)
{
	int64_t gap = s->period_ns *
		(s->failures < BACKOFF_INTERVALS ? (int64_t)s->failures : BACKOFF_INTERVALS);
	gap = gap > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : gap < BACKOFF_MIN_NS ? BACKOFF_MIN_NS : gap;
	s->state = STREAM_WAITING;
	timer_set(s, gnmi_target_jittered(s->t, gap));
}

/* next_way - what the profile allows instead; false when there is nothing left. */
static bool next_way(struct gnmi_stream *s, const char *because)
{
	if (s->how + 1 >= s->p->n_hows)
		return false;
	log_warn(s->t->name, "gnmi: %s; stream %s falls back from %s to %s", because, s->p->name,
		profile_gnmi_how_name(way(s)), profile_gnmi_how_name(s->p->hows[s->how + 1]));
	s->how++;
	s->try_first = (mono_t){loop_now(s->t->loop).ns + FIRST_WAY_AGAIN_NS};
	return true;
}

/* path_end - "/a/b[k=v]/state/mtu" -> "state/mtu": what a server's complaint about a path mostly
 * holds, however it writes keys. */
static const char *path_end(const char *path)
{
	const char *last = strrchr(path, '/'), *at = last;
	while (at && at > path && at[-1] != '/' && at[-1] != ']')
		at--;
	return at ? at : path;
}

/* leave_out - optional paths that are not asked for any more: those the server names, else all of
 * them. False when that leaves nothing to ask for, or there are none. */
static bool leave_out(struct gnmi_stream *s, const char *words)
{
	uint32_t whole = 0, named = 0, optional = 0, all = 0;
	for (size_t i = 0; i < s->p->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *p = &s->p->subscriptions[i];
		if (s->left_out >> i & 1)
			continue;
		all |= (uint32_t)1 << i;
		optional |= (uint32_t)p->optional << i;
		whole |= (uint32_t)(p->optional && strstr(words, p->path)) << i;
		named |= (uint32_t)(p->optional && strstr(words, path_end(p->path))) << i;
	}
	s->left_out |= whole ? whole : named ? named : optional;
	return optional && (all & ~s->left_out);
}

static bool all_optional(const struct gnmi_stream *s)
{
	size_t n = 0;
	while (n < s->p->n_subscriptions && s->p->subscriptions[n].optional)
		n++;
	return n == s->p->n_subscriptions;
}

/* refused - the server does not want the request: ask for less, in another encoding, in another
 * way; else rest for long. */
static void refused(struct gnmi_stream *s, const struct grpc_io_status *status)
{
	channel_drop(s);
	const bool encoding = strcasestr(status->text, "encoding") != NULL;
	if (encoding && s->encoding + 1 < s->t->n_encodings) {
		log_warn(s->t->name, "gnmi: stream %s: encoding %s is refused; tries %s",
			s->p->name, gnmi_encoding_name(s->t->encodings[s->encoding]),
			gnmi_encoding_name(s->t->encodings[s->encoding + 1]));
		s->encoding++;
		open_way(s);
	} else if (!encoding && status->code != GRPC_IO_UNIMPLEMENTED &&
		leave_out(s, status->text)) {
		log_info(s->t->name, "gnmi: %s; asks again without it, which is optional",
			s->trouble);
		open_way(s);
	} else if (!encoding && status->code != GRPC_IO_NOT_FOUND && next_way(s, s->trouble)) {
		s->left_out = 0;
		open_way(s);
	} else {
		if (all_optional(s))
			log_info(s->t->name, "gnmi: %s; all of stream %s is optional", s->trouble,
				s->p->name);
		else
			trouble_tell(s);
		s->state = STREAM_REFUSED;
		s->how = 0;
		s->left_out = 0;
		timer_set(s, gnmi_target_jittered(s->t, s->t->device->gnmi->slow_interval_ns));
		gnmi_target_stream_changed(s->t, s, status);
	}
}

static void lost(struct gnmi_stream *s, const struct grpc_io_status *status)
{
	channel_drop(s);
	s->failures++;
	s->n_reconnects++;
	trouble_tell(s);
	wait_and_retry(s);
	gnmi_target_stream_changed(s->t, s, status);
}

static void on_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_stream *s = arg;
	const bool data = s->last_update.ns > s->opened.ns;
	if (status->code == GRPC_IO_OK &&
		(way(s) == HOW_GET || (way(s) == HOW_ONCE && data && !s->synced))) {
		call_drop(s);
		s->synced = true;
		round_over(s);
		return;
	}
	gnmi_reason(s->t, s, status, s->trouble);
	if (!s->synced && gnmi_reason_is_request(status))
		refused(s, status);
	else
		lost(s, status);
}

static const struct grpc_io_events events = {
	.started = on_started, .message = on_message, .idle = on_idle, .done = on_done};

/* ---- asking -------------------------------------------------------------- */

static int64_t interval_of(const struct gnmi_stream *s, const struct profile_gnmi_subscription *p)
{
	int64_t ns =
		s->p->slow ? s->t->device->gnmi->slow_interval_ns : s->t->device->gnmi->interval_ns;
	return ns > p->min_interval_ns ? ns : p->min_interval_ns;
}

static void request_of(struct gnmi_stream *s, struct arena *a, struct gnmi_bytes *ret)
{
	const struct gnmi_where where = {.target = s->p->target, .origin = s->p->origin};
	const unsigned encoding = s->t->encodings[s->encoding];
	struct gnmi_subscription *v =
		arena_array(a, struct gnmi_subscription, s->p->n_subscriptions);
	const char **paths = arena_array(a, const char *, s->p->n_subscriptions);
	size_t n = 0;
	for (size_t i = 0; i < s->p->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *p = &s->p->subscriptions[i];
		if (s->left_out >> i & 1)
			continue;
		paths[n] = p->path;
		v[n++] = (struct gnmi_subscription){.path = p->path,
			.mode = p->on_change ? GNMI_ON_CHANGE : GNMI_SAMPLE,
			.sample_ns = p->on_change ? 0 : (uint64_t)interval_of(s, p)};
	}
	if (way(s) == HOW_GET) {
		const struct gnmi_get g = {.where = where,
			.type = GNMI_ALL,
			.encoding = (enum gnmi_encoding)encoding,
			.paths = paths,
			.n = n};
		/* the paths were read when the stream was made */
		gnmi_encode_get(&g, a, ret, NULL);
	} else {
		const enum gnmi_mode modes[] = {
			[HOW_STREAM] = GNMI_STREAM, [HOW_ONCE] = GNMI_ONCE, [HOW_POLL] = GNMI_POLL};
		const struct gnmi_subscribe q = {.where = where,
			.mode = modes[way(s)],
			.encoding = (enum gnmi_encoding)encoding,
			.v = v,
			.n = n};
		gnmi_encode_subscribe(&q, a, ret, NULL);
	}
}

/* call_open - one call in the way of the moment, on the channel that is there or a new one. */
static void call_open(struct gnmi_stream *s)
{
	struct gnmi_target *t = s->t;
	struct gnmi_bytes request;
	struct err e = {0};
	const bool get = way(s) == HOW_GET;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	call_drop(s);
	s->synced = s->again = s->asked = s->looks_again = false;
	s->opened = s->last_update = loop_now(t->loop);
	s->state = s->state == STREAM_LIVE ? STREAM_LIVE : STREAM_OPENING;
	request_of(s, a, &request);
	int rc = s->channel ? 0 : gnmi_target_channel(t, &s->channel, &e);
	if (rc == 0)
		rc = gnmi_target_call(t, s->channel, get ? GNMI_METHOD_GET : GNMI_METHOD_SUBSCRIBE,
			request, get, 0, &events, s, &s->call, &e);
	if (rc < 0) {
		snprintf(s->trouble, sizeof(s->trouble), "%.60s: %.130s", t->address, e.text);
		lost(s, &(struct grpc_io_status){GRPC_IO_UNAVAILABLE, s->trouble});
		return;
	}
	timer_set(s, timeout_ns(s));
}

static void open_way(struct gnmi_stream *s)
{
	channel_drop(s);
	s->state = STREAM_OPENING;
	gnmi_feed_begin(s->feed);
	gnmi_walk_reset(s->walk);
	call_open(s);
}

/* ---- time ---------------------------------------------------------------- */

/*
 * overslept - the timer comes late by half of @ns or more: this process stood still (a busy
 * machine, a paused one), and a device is not to be judged silent before what it sent meanwhile was
 * read. Then it is looked at again after @ns; once, so that nothing is put off for ever.
 */
static bool overslept(struct gnmi_stream *s, int64_t ns)
{
	s->looks_again = !s->looks_again && loop_now(s->t->loop).ns - s->due.ns >= ns / 2;
	if (s->looks_again)
		timer_set(s, ns);
	return s->looks_again;
}

/* unfinished - the time for the first round is over. */
static void unfinished(struct gnmi_stream *s)
{
	char because[GNMI_REASON_MAX];
	const int64_t now = loop_now(s->t->loop).ns;
	const bool data = s->last_update.ns > s->opened.ns;
	if (overslept(s, timeout_ns(s)))
		return;
	if (data && now - s->last_update.ns < timeout_ns(s) / 2 &&
		now - s->opened.ns < 6 * timeout_ns(s)) {
		timer_set(s, timeout_ns(s) / 2); /* it is still coming */
		return;
	}
	/* some wait for the first Poll, some do not */
	if (way(s) == HOW_POLL && !data && !s->asked) {
		struct gnmi_bytes poll;
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		gnmi_encode_poll(a, &poll);
		s->asked = true;
		grpc_io_call_send(s->call, poll.p, poll.n);
		timer_set(s, timeout_ns(s));
		return;
	}
	if (data && s->counts.updates > 0) { /* all there is, from a server that never says so */
		log_debug(s->t->name,
			"gnmi: stream %s never says that the first round is complete; what came "
			"counts as it",
			s->p->name);
		s->synced = true;
		round_over(s);
		return;
	}
	snprintf(because, sizeof(because),
		"%s: stream %s: the device took the request and sent nothing within %.0f s "
		"(gnmi.timeout)",
		s->t->address, s->p->name, (double)timeout_ns(s) / 1e9);
	snprintf(s->trouble, sizeof(s->trouble), "%s", because);
	if (next_way(s, because))
		open_way(s);
	else
		lost(s, &(struct grpc_io_status){GRPC_IO_DEADLINE_EXCEEDED, because});
}

static bool samples(const struct gnmi_stream *s)
{
	for (size_t i = 0; i < s->p->n_subscriptions; i++)
		if (!s->p->subscriptions[i].on_change && !(s->left_out >> i & 1))
			return true;
	return false;
}

static void watch(struct gnmi_stream *s)
{
	const int64_t silent = loop_now(s->t->loop).ns - s->last_update.ns,
		      limit = STALE_INTERVALS * s->period_ns;
	if (!samples(s) || silent < limit) {
		if (s->last_update.ns > s->opened.ns + s->period_ns)
			s->stale = 0; /* it did come again after the first round */
		s->looks_again = false;
		timer_set(s,
			samples(s) && limit - silent < s->period_ns ? limit - silent + NS_PER_MS
								    : s->period_ns);
		return;
	}
	if (overslept(s, s->period_ns))
		return;
	s->n_stale++;
	s->stale++;
	s->t->state.timeouts++;
	snprintf(s->trouble, sizeof(s->trouble),
		"%s: stream %s went silent for %.1f s; subscribes anew", s->t->address, s->p->name,
		(double)silent / 1e9);
	trouble_tell(s);
	if (s->stale >= STALE_MAX && next_way(s, s->trouble))
		s->stale = 0;
	s->n_reconnects++;
	open_way(s);
}

static void round_next(struct gnmi_stream *s)
{
	struct gnmi_bytes poll;
	if (s->how > 0 && s->try_first.ns && loop_now(s->t->loop).ns >= s->try_first.ns) {
		s->how = 0;
		s->try_first = (mono_t){0};
		s->n_reconnects++;
		open_way(s);
		return;
	}
	if (way(s) != HOW_POLL) {
		call_open(s);
		return;
	}
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	gnmi_encode_poll(a, &poll);
	s->synced = s->again = false;
	s->opened = s->last_update = loop_now(s->t->loop);
	if (!s->call || grpc_io_call_send(s->call, poll.p, poll.n) < 0)
		open_way(s);
	else
		timer_set(s, timeout_ns(s));
}

static void on_timer(void *arg)
{
	struct gnmi_stream *s = arg;
	if (s->state == STREAM_WAITING || s->state == STREAM_REFUSED || s->state == STREAM_REST)
		open_way(s);
	else if (s->again)
		round_next(s);
	else if (s->synced)
		watch(s);
	else
		unfinished(s);
}

/* ---- life ---------------------------------------------------------------- */

struct gnmi_stream *gnmi_stream_new(
	struct gnmi_target *t, const struct profile_gnmi_stream *p, struct err *e)
{
	struct gnmi_stream *s = rw_calloc(1, sizeof(*s));
	struct gnmi_bytes request;
	*s = (struct gnmi_stream){.t = t, .p = p, .period_ns = INT64_MAX};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	s->feed = gnmi_feed_new(t->decoder, p, e);
	const struct gnmi_get g = {.paths = (const char *const[]){""}, .n = 0};
	int rc = s->feed ? gnmi_encode_get(&g, a, &request, e) : -1;
	for (size_t i = 0; i < p->n_subscriptions; i++) {
		const char *path = p->subscriptions[i].path;
		const struct gnmi_get one = {.paths = &path, .n = 1};
		rc = rc < 0 ? rc : gnmi_encode_get(&one, a, &request, e);
		int64_t ns = interval_of(s, &p->subscriptions[i]);
		if (!p->subscriptions[i].on_change && ns < s->period_ns)
			s->period_ns = ns;
	}
	if (s->period_ns == INT64_MAX)
		s->period_ns = t->device->gnmi->interval_ns;
	if (rc < 0) {
		gnmi_stream_free(s);
		return NULL;
	}
	struct gnmi_decode d = *gnmi_feed_decode(s->feed);
	d.fn = on_update;
	d.arg = s;
	d.counts = &s->counts;
	s->walk = gnmi_walk_new(&d);
	s->time.interval_ns = s->period_ns;
	s->timer = loop_timer_new(t->loop, on_timer, s);
	return s;
}

void gnmi_stream_free(struct gnmi_stream *s)
{
	if (!s)
		return;
	channel_drop(s);
	loop_timer_free(s->timer);
	gnmi_walk_free(s->walk);
	gnmi_feed_free(s->feed);
	free(s->samples.v);
	free(s);
}

void gnmi_stream_start(struct gnmi_stream *s)
{
	s->how = 0;
	s->left_out = 0;
	s->encoding = 0;
	s->stale = 0;
	open_way(s);
}

void gnmi_stream_stop(struct gnmi_stream *s)
{
	channel_drop(s);
	loop_timer_stop(s->timer);
	s->state = STREAM_REST;
	s->synced = s->again = false;
}
