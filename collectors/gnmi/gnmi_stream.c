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
#define SAMPLES_AT_ONCE 1024

static void gnmi_stream_on_timer(void *arg);
static void open_way(struct gnmi_stream *stream);

/* timer_set - gnmi_stream_on_timer() in @ns, and when that should be: see gnmi_stream_overslept().
 */
static void timer_set(struct gnmi_stream *stream, int64_t ns)
{
	stream->due = (mono_t){loop_now(stream->t->machine.loop).ns + ns};
	loop_timer_start(stream->timer, ns, 0);
}

static enum profile_gnmi_how gnmi_stream_way(const struct gnmi_stream *stream)
{
	return stream->p->hows[stream->how];
}
static int64_t timeout_ns(const struct gnmi_stream *stream)
{
	return stream->t->machine.device->gnmi->timeout_ns;
}

/* ---- what arrives -------------------------------------------------------- */

static void on_update(void *arg, const struct gnmi_update *update)
{
	struct gnmi_stream *s = arg;
	switch (update->op) {
	case GNMI_UPDATE:
		s->round_t_ns = gnmi_time_take(&s->time, update, s->arrived_ns);
		gnmi_feed_update(s->feed, update, s->round_t_ns, &s->samples);
		break;
	case GNMI_SYNC: s->synced = true; break;
	case GNMI_ERROR: /* the old way to say why; the call's status follows */
	case GNMI_DELETE: /* what is gone is not sent any more: missing, not zero */ break;
	}
}

static void samples_flush(struct gnmi_stream *stream)
{
	stream->t->machine.state.values += stream->samples.n;
	gnmi_target_deliver(stream->t, &stream->samples);
	/* a large table once: hundreds of switches must not all keep the room for one */
	if (stream->samples.cap > 2 * SAMPLES_AT_ONCE) {
		free(stream->samples.v);
		stream->samples = (struct sample_list){0};
	}
}

static void call_drop(struct gnmi_stream *stream)
{
	if (stream->call)
		stream->n_stalls += grpc_io_call_counts(stream->call).stalls;
	grpc_io_call_free(stream->call);
	stream->call = NULL;
}

static void channel_drop(struct gnmi_stream *stream)
{
	call_drop(stream);
	grpc_io_close(stream->channel);
	stream->channel = NULL;
}

/* round_over - everything asked for has come once. */
static void round_over(struct gnmi_stream *stream)
{
	gnmi_feed_round(stream->feed, stream->round_t_ns ? stream->round_t_ns : wall_now().ns,
		&stream->samples);
	samples_flush(stream);
	stream->failures = 0;
	stream->trouble.text[0] = '\0';
	complaint_over(&stream->complaint, loop_now(stream->t->machine.loop),
		stream->t->machine.name, "gnmi: the stream delivers again");
	if (gnmi_stream_way(stream) == HOW_ONCE)
		call_drop(stream); /* some servers leave it open */
	stream->again = gnmi_stream_way(stream) != HOW_STREAM;
	stream->state = STREAM_LIVE;
	timer_set(stream, stream->period_ns);
	if (stream->p->slow) {
		channel_drop(stream);
		loop_timer_stop(stream->timer);
		stream->state = STREAM_REST;
	}
	if (gnmi_feed_has_lldp(stream->feed))
		gnmi_target_neighbors(stream->t);
	stream->changed(stream->t, stream, NULL);
}

static void gnmi_stream_on_message(void *arg, const void *data, size_t n)
{
	struct gnmi_stream *s = arg;
	const bool before = s->synced;
	s->arrived_ns = wall_now().ns;
	s->last_update = loop_now(s->t->machine.loop);
	s->round_t_ns = s->arrived_ns;
	if (gnmi_stream_way(s) == HOW_GET) {
		struct gnmi_decode d = *gnmi_feed_decode(s->feed);
		d.fn = on_update;
		d.arg = s;
		d.counts = &s->counts;
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		gnmi_decode_get(data, n, &d, a);
	} else {
		gnmi_walk_message(s->walk, data, n);
	}
	if (s->round_t_ns < s->arrived_ns)
		s->t->lag_s = (double)(s->arrived_ns - s->round_t_ns) / 1e9;
	else
		s->t->lag_s = 0;
	if (s->samples.n >= SAMPLES_AT_ONCE)
		samples_flush(s);
	if (s->synced && !before)
		round_over(s);
}

static void on_idle(void *arg)
{
	samples_flush(arg);
}

static void gnmi_stream_on_started(void *arg, const char *pem)
{
	struct gnmi_stream *s = arg;
	if (pem)
		gnmi_target_certificate(s->t, pem);
}

/* ---- when it does not go well -------------------------------------------- */

static void trouble_tell(struct gnmi_stream *stream)
{
	complain(&stream->complaint, loop_now(stream->t->machine.loop), LOG_WARN_,
		stream->t->machine.name, "gnmi: %s", stream->trouble.text);
}

static void wait_and_retry(struct gnmi_stream *stream)
{
	int64_t pause =
		target_backoff_ns(stream->t->machine.hooks, stream->failures, stream->period_ns);
	stream->state = STREAM_WAITING;
	timer_set(stream, target_jittered(&stream->t->machine, pause));
}

/* next_way - what the profile allows instead; false when there is nothing left. */
static bool next_way(struct gnmi_stream *stream, const char *because)
{
	if (stream->how + 1 >= stream->p->n_hows)
		return false;
	log_warn(stream->t->machine.name, "gnmi: %s; stream %s falls back from %s to %s", because,
		stream->p->name, profile_gnmi_how_name(gnmi_stream_way(stream)),
		profile_gnmi_how_name(stream->p->hows[stream->how + 1]));
	stream->how++;
	stream->try_first = (mono_t){loop_now(stream->t->machine.loop).ns + FIRST_WAY_AGAIN_NS};
	return true;
}

/* path_end - "/a/b[k=v]/state/mtu" -> "state/mtu": what a server's complaint about a path mostly
 * holds, however it writes keys. */
static const char *path_end(const char *path)
{
	const char *last = strrchr(path, '/'), *at = last;
	while (at && at > path && at[-1] != '/' && at[-1] != ']')
		at--;
	if (at)
		return at;
	return path;
}

/* leave_out - optional paths that are not asked for any more: those the server names, else all of
 * them. False when that leaves nothing to ask for, or there are none. */
static bool leave_out(struct gnmi_stream *stream, const char *words)
{
	uint32_t whole = 0, named = 0, optional = 0, all = 0;
	for (size_t i = 0; i < stream->p->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *p = &stream->p->subscriptions[i];
		if (stream->left_out >> i & 1)
			continue;
		all |= (uint32_t)1 << i;
		optional |= (uint32_t)p->optional << i;
		whole |= (uint32_t)(p->optional && strstr(words, p->path)) << i;
		named |= (uint32_t)(p->optional && strstr(words, path_end(p->path))) << i;
	}
	if (whole)
		stream->left_out |= whole;
	else if (named)
		stream->left_out |= named;
	else
		stream->left_out |= optional;
	return optional && (all & ~stream->left_out);
}

static bool all_optional(const struct gnmi_stream *stream)
{
	size_t n = 0;
	while (n < stream->p->n_subscriptions && stream->p->subscriptions[n].optional)
		n++;
	return n == stream->p->n_subscriptions;
}

/* gnmi_stream_refused - the server does not want the request: ask for less, in another encoding, in
 * another way; else rest for long. */
static void gnmi_stream_refused(struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	channel_drop(stream);
	const bool encoding = strcasestr(status->text, "encoding") != NULL;
	if (encoding && stream->encoding + 1 < stream->t->n_encodings) {
		log_warn(stream->t->machine.name,
			"gnmi: stream %s: encoding %s is refused; tries %s", stream->p->name,
			gnmi_encoding_name(stream->t->encodings[stream->encoding]),
			gnmi_encoding_name(stream->t->encodings[stream->encoding + 1]));
		stream->encoding++;
		open_way(stream);
	} else if (!encoding && status->code != GRPC_IO_UNIMPLEMENTED &&
		leave_out(stream, status->text)) {
		log_info(stream->t->machine.name,
			"gnmi: %s; asks again without it, which is optional", stream->trouble.text);
		open_way(stream);
	} else if (!encoding && status->code != GRPC_IO_NOT_FOUND &&
		next_way(stream, stream->trouble.text)) {
		stream->left_out = 0;
		open_way(stream);
	} else {
		if (all_optional(stream))
			log_info(stream->t->machine.name, "gnmi: %s; all of stream %s is optional",
				stream->trouble.text, stream->p->name);
		else
			trouble_tell(stream);
		stream->state = STREAM_REFUSED;
		stream->how = 0;
		stream->left_out = 0;
		timer_set(stream,
			target_jittered(&stream->t->machine,
				stream->t->machine.device->gnmi->slow_interval_ns));
		stream->changed(stream->t, stream, status);
	}
}

static void gnmi_stream_lost(struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	channel_drop(stream);
	stream->failures++;
	stream->n_reconnects++;
	trouble_tell(stream);
	wait_and_retry(stream);
	stream->changed(stream->t, stream, status);
}

static void on_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_stream *s = arg;
	const bool data = s->last_update.ns > s->opened.ns;
	if (status->code == GRPC_IO_OK &&
		(gnmi_stream_way(s) == HOW_GET ||
			(gnmi_stream_way(s) == HOW_ONCE && data && !s->synced))) {
		call_drop(s);
		s->synced = true;
		round_over(s);
		return;
	}
	gnmi_reason(s->t, s, status, &s->trouble);
	if (!s->synced && gnmi_reason_is_request(status))
		gnmi_stream_refused(s, status);
	else
		gnmi_stream_lost(s, status);
}

static const struct grpc_io_events events = {.started = gnmi_stream_on_started,
	.message = gnmi_stream_on_message,
	.idle = on_idle,
	.done = on_done};

/* ---- asking -------------------------------------------------------------- */

static int64_t gnmi_stream_interval_of(
	const struct gnmi_stream *stream, const struct profile_gnmi_subscription *subscription)
{
	int64_t ns;
	if (stream->p->slow)
		ns = stream->t->machine.device->gnmi->slow_interval_ns;
	else
		ns = stream->t->machine.device->gnmi->interval_ns;
	if (ns > subscription->min_interval_ns)
		return ns;
	return subscription->min_interval_ns;
}

static void request_of(struct gnmi_stream *stream, struct arena *a, struct gnmi_bytes *ret)
{
	const struct gnmi_where where = {.target = stream->p->target, .origin = stream->p->origin};
	const unsigned encoding = stream->t->encodings[stream->encoding];
	struct gnmi_subscription *v =
		arena_array(a, struct gnmi_subscription, stream->p->n_subscriptions);
	const char **paths = arena_array(a, const char *, stream->p->n_subscriptions);
	size_t n = 0;
	for (size_t i = 0; i < stream->p->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *p = &stream->p->subscriptions[i];
		if (stream->left_out >> i & 1)
			continue;
		paths[n] = p->path;
		v[n++] = (struct gnmi_subscription){.path = p->path,
			.mode = p->on_change ? GNMI_ON_CHANGE : GNMI_SAMPLE,
			.sample_ns =
				p->on_change ? 0 : (uint64_t)gnmi_stream_interval_of(stream, p)};
	}
	if (gnmi_stream_way(stream) == HOW_GET) {
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
			.mode = modes[gnmi_stream_way(stream)],
			.encoding = (enum gnmi_encoding)encoding,
			.v = v,
			.n = n};
		gnmi_encode_subscribe(&q, a, ret, NULL);
	}
}

/* call_open - one call in the way of the moment, on the channel that is there or a new one. */
static void call_open(struct gnmi_stream *stream)
{
	struct gnmi_target *t = stream->t;
	struct gnmi_bytes request;
	struct err e = {0};
	const bool get = gnmi_stream_way(stream) == HOW_GET;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	call_drop(stream);
	stream->synced = stream->again = stream->asked = stream->looks_again = false;
	stream->opened = stream->last_update = loop_now(t->machine.loop);
	if (stream->state == STREAM_LIVE)
		stream->state = STREAM_LIVE;
	else
		stream->state = STREAM_OPENING;
	request_of(stream, a, &request);
	int rc = 0;
	if (!stream->channel)
		rc = gnmi_target_channel(t, &stream->channel, &e);
	if (rc == 0)
		rc = gnmi_target_call(t, stream->channel,
			&(struct gnmi_call){.method = get ? GNMI_METHOD_GET : GNMI_METHOD_SUBSCRIBE,
				.request = request,
				.unary = get,
				.events = &events,
				.arg = stream},
			&stream->call, &e);
	if (rc < 0) {
		reason_set(&stream->trouble, GNMI_SETUP, t->machine.address, e.text);
		gnmi_stream_lost(stream,
			&(struct grpc_io_status){GRPC_IO_UNAVAILABLE, stream->trouble.text});
		return;
	}
	timer_set(stream, timeout_ns(stream));
}

static void open_way(struct gnmi_stream *stream)
{
	channel_drop(stream);
	stream->state = STREAM_OPENING;
	gnmi_feed_begin(stream->feed);
	gnmi_walk_reset(stream->walk);
	call_open(stream);
}

/* ---- time ---------------------------------------------------------------- */

/*
 * gnmi_stream_overslept - the timer comes late by half of @ns or more: this process stood still (a
 * busy machine, a paused one), and a device is not to be judged silent before what it sent
 * meanwhile was read. Then it is looked at again after @ns; once, so that nothing is put off for
 * ever.
 */
static bool gnmi_stream_overslept(struct gnmi_stream *stream, int64_t ns)
{
	stream->looks_again = !stream->looks_again &&
		loop_now(stream->t->machine.loop).ns - stream->due.ns >= ns / 2;
	if (stream->looks_again)
		timer_set(stream, ns);
	return stream->looks_again;
}

/* gnmi_stream_unfinished - the time for the first round is over. */
static void gnmi_stream_unfinished(struct gnmi_stream *stream)
{
	const int64_t now = loop_now(stream->t->machine.loop).ns;
	const bool data = stream->last_update.ns > stream->opened.ns;
	if (gnmi_stream_overslept(stream, timeout_ns(stream)))
		return;
	if (data && now - stream->last_update.ns < timeout_ns(stream) / 2 &&
		now - stream->opened.ns < 6 * timeout_ns(stream)) {
		timer_set(stream, timeout_ns(stream) / 2); /* it is still coming */
		return;
	}
	/* some wait for the first Poll, some do not */
	if (gnmi_stream_way(stream) == HOW_POLL && !data && !stream->asked) {
		struct gnmi_bytes poll;
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		gnmi_encode_poll(a, &poll);
		stream->asked = true;
		grpc_io_call_send(stream->call, poll.p, poll.n);
		timer_set(stream, timeout_ns(stream));
		return;
	}
	if (data &&
		stream->counts.updates > 0) { /* all there is, from a server that never says so */
		log_debug(stream->t->machine.name,
			"gnmi: stream %s never says that the first round is complete; what came "
			"counts as it",
			stream->p->name);
		stream->synced = true;
		round_over(stream);
		return;
	}
	reason_set(&stream->trouble, GNMI_SENT_NOTHING, stream->t->machine.address, stream->p->name,
		(double)timeout_ns(stream) / 1e9);
	if (next_way(stream, stream->trouble.text))
		open_way(stream);
	else
		gnmi_stream_lost(stream,
			&(struct grpc_io_status){GRPC_IO_DEADLINE_EXCEEDED, stream->trouble.text});
}

static bool gnmi_stream_samples(const struct gnmi_stream *stream)
{
	for (size_t i = 0; i < stream->p->n_subscriptions; i++)
		if (!stream->p->subscriptions[i].on_change && !(stream->left_out >> i & 1))
			return true;
	return false;
}

static void gnmi_stream_watch(struct gnmi_stream *stream)
{
	const int64_t silent = loop_now(stream->t->machine.loop).ns - stream->last_update.ns,
		      limit = STALE_INTERVALS * stream->period_ns;
	if (!gnmi_stream_samples(stream) || silent < limit) {
		if (stream->last_update.ns > stream->opened.ns + stream->period_ns)
			stream->stale = 0; /* it did come again after the first round */
		stream->looks_again = false;
		timer_set(stream,
			gnmi_stream_samples(stream) && limit - silent < stream->period_ns
				? limit - silent + NS_PER_MS
				: stream->period_ns);
		return;
	}
	if (gnmi_stream_overslept(stream, stream->period_ns))
		return;
	stream->n_stale++;
	stream->stale++;
	stream->t->machine.state.timeouts++;
	reason_set(&stream->trouble, GNMI_STALE, stream->t->machine.address, stream->p->name,
		(double)silent / 1e9);
	trouble_tell(stream);
	if (stream->stale >= STALE_MAX && next_way(stream, stream->trouble.text))
		stream->stale = 0;
	stream->n_reconnects++;
	open_way(stream);
}

static void round_next(struct gnmi_stream *stream)
{
	struct gnmi_bytes poll;
	if (stream->how > 0 && stream->try_first.ns &&
		loop_now(stream->t->machine.loop).ns >= stream->try_first.ns) {
		stream->how = 0;
		stream->try_first = (mono_t){0};
		stream->n_reconnects++;
		open_way(stream);
		return;
	}
	if (gnmi_stream_way(stream) != HOW_POLL) {
		call_open(stream);
		return;
	}
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	gnmi_encode_poll(a, &poll);
	stream->synced = stream->again = false;
	stream->opened = stream->last_update = loop_now(stream->t->machine.loop);
	if (!stream->call || grpc_io_call_send(stream->call, poll.p, poll.n) < 0)
		open_way(stream);
	else
		timer_set(stream, timeout_ns(stream));
}

static void gnmi_stream_on_timer(void *arg)
{
	struct gnmi_stream *s = arg;
	if (s->state == STREAM_WAITING || s->state == STREAM_REFUSED || s->state == STREAM_REST)
		open_way(s);
	else if (s->again)
		round_next(s);
	else if (s->synced)
		gnmi_stream_watch(s);
	else
		gnmi_stream_unfinished(s);
}

/* ---- life ---------------------------------------------------------------- */

struct gnmi_stream *gnmi_stream_new(struct gnmi_target *target,
	const struct profile_gnmi_stream *stream, gnmi_stream_fn *changed, struct err *e)
{
	struct gnmi_stream *s = rw_calloc(1, sizeof(*s));
	struct gnmi_bytes request;
	*s = (struct gnmi_stream){
		.t = target, .p = stream, .changed = changed, .period_ns = INT64_MAX};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	s->feed = gnmi_feed_new(target->decoder, stream, e);
	const struct gnmi_get g = {.paths = (const char *const[]){""}, .n = 0};
	int rc = -1;
	if (s->feed)
		rc = gnmi_encode_get(&g, a, &request, e);
	for (size_t i = 0; i < stream->n_subscriptions; i++) {
		const char *path = stream->subscriptions[i].path;
		const struct gnmi_get one = {.paths = &path, .n = 1};
		if (!(rc < 0))
			rc = gnmi_encode_get(&one, a, &request, e);
		int64_t ns = gnmi_stream_interval_of(s, &stream->subscriptions[i]);
		if (!stream->subscriptions[i].on_change && ns < s->period_ns)
			s->period_ns = ns;
	}
	if (s->period_ns == INT64_MAX)
		s->period_ns = target->machine.device->gnmi->interval_ns;
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
	s->timer = loop_timer_new(target->machine.loop, gnmi_stream_on_timer, s);
	return s;
}

void gnmi_stream_free(struct gnmi_stream *stream)
{
	if (!stream)
		return;
	channel_drop(stream);
	loop_timer_free(stream->timer);
	gnmi_walk_free(stream->walk);
	gnmi_feed_free(stream->feed);
	free(stream->samples.v);
	free(stream);
}

void gnmi_stream_start(struct gnmi_stream *stream)
{
	stream->how = 0;
	stream->left_out = 0;
	stream->encoding = 0;
	stream->stale = 0;
	open_way(stream);
}

void gnmi_stream_stop(struct gnmi_stream *stream)
{
	channel_drop(stream);
	loop_timer_stop(stream->timer);
	stream->state = STREAM_REST;
	stream->synced = stream->again = false;
}
