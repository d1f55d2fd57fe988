/* gnmi_stream - one subscription of a target: its ways (stream, once, poll, get, as the profile
 * lists them), its watchdog, and how it falls back to the next way. */

#include "base/loop.h"
#include "collectors/gnmi/gnmi_target.h"
#include "collectors/gnmi/grpc_io.h"
#include "proto/gnmi_walk.h"

/* gnmi_backlog - cuts large messages, and rests after work. */

#define SLICE_NS (5 * NS_PER_MS) /* of one turn of the loop */
#define BACKLOG_SHARE 4 /* one part in so many of the time is for one call */
/* A first round of a large switch takes that long, and is not slowed down. */
#define BURST_NS (250 * NS_PER_MS)

struct waiting {
	struct waiting *next;
	bool is_done; /* the status of the call: .code, and .bytes as its text */
	int code;
	uint8_t *bytes;
	size_t n;
};

struct gnmi_backlog {
	struct gnmi_backlog_hooks hooks;
	void *arg;
	struct loop_timer *timer;
	struct waiting *first, *last;
	struct gnmi_split split; /* of .first */
	bool split_begun;
	struct str piece;
	unsigned cleared; /* how often: a callback may have done it */
	bool held;
	int64_t busy_ns; /* work not yet rested for */
	mono_t busy_at; /* as of then */
};

/* ---- how much one call may work ------------------------------------------ */

static void backlog_worked(struct gnmi_backlog *backlog, mono_t began)
{
	const mono_t now = mono_now();
	const int64_t rested_ns = (now.ns - backlog->busy_at.ns) / BACKLOG_SHARE;
	backlog->busy_ns += now.ns - began.ns - rested_ns;
	if (backlog->busy_ns < 0)
		backlog->busy_ns = 0;
	backlog->busy_at = now;
}

/* How long to rest now; 0: not yet. */
static int64_t backlog_rest_ns(const struct gnmi_backlog *backlog)
{
	if (backlog->busy_ns <= BURST_NS)
		return 0;
	return SLICE_NS * BACKLOG_SHARE;
}

static void backlog_hold(struct gnmi_backlog *backlog, bool hold)
{
	if (hold == backlog->held)
		return;
	backlog->held = hold;
	backlog->hooks.hold(backlog->arg, hold);
}

/* ---- what waits ---------------------------------------------------------- */

static void backlog_drop_first(struct gnmi_backlog *backlog)
{
	struct waiting *first = backlog->first;
	backlog->first = first->next;
	if (!backlog->first)
		backlog->last = NULL;
	backlog->split_begun = false;
	free(first->bytes);
	free(first);
}

static void backlog_add(struct gnmi_backlog *backlog, struct waiting item)
{
	struct waiting *copy = rw_calloc(1, sizeof(*copy));
	const uint8_t *bytes = item.bytes;
	*copy = item;
	copy->bytes = rw_calloc(1, item.n + 1);
	memcpy(copy->bytes, bytes, item.n);
	if (backlog->last)
		backlog->last->next = copy;
	else
		backlog->first = copy;
	backlog->last = copy;
	backlog_hold(backlog, true);
}

/* The next piece of what waits first; the item goes with its last piece. */
static void backlog_give(struct gnmi_backlog *backlog)
{
	struct waiting *item = backlog->first;
	const unsigned cleared = backlog->cleared;
	const uint8_t *piece;
	size_t n;
	if (item->is_done) {
		rw_cleanup(freep) char *text = rw_strdup((const char *)item->bytes);
		const struct grpc_io_status status = {.code = item->code, .text = text};
		backlog_drop_first(backlog);
		backlog->hooks.done(backlog->arg, &status);
		return;
	}
	if (!backlog->split_begun)
		gnmi_split_begin(&backlog->split, item->bytes, item->n);
	backlog->split_begun = true;
	if (!gnmi_split_next(&backlog->split, &backlog->piece, &piece, &n)) {
		backlog_drop_first(backlog);
		return;
	}
	if (!backlog->split.whole) {
		backlog->hooks.message(backlog->arg, piece, n);
		return;
	}
	/* the callback may clear: the bytes must outlive it */
	rw_cleanup(freep) uint8_t *bytes = item->bytes;
	item->bytes = NULL;
	backlog->hooks.message(backlog->arg, bytes, n);
	if (cleared == backlog->cleared)
		backlog_drop_first(backlog);
}

static void backlog_turn(void *arg)
{
	struct gnmi_backlog *backlog = arg;
	const unsigned cleared = backlog->cleared;
	const mono_t began = mono_now();
	while (backlog->first && cleared == backlog->cleared && mono_now().ns - began.ns < SLICE_NS)
		backlog_give(backlog);
	if (cleared == backlog->cleared)
		backlog->hooks.idle(backlog->arg);
	backlog_worked(backlog, began);
	if (cleared != backlog->cleared)
		return;
	const int64_t rest_ns = backlog_rest_ns(backlog);
	if (backlog->first || rest_ns > 0)
		loop_timer_start(backlog->timer, rest_ns, 0);
	else
		backlog_hold(backlog, false);
}

/* ---- from the call ------------------------------------------------------- */

static void gnmi_backlog_message(struct gnmi_backlog *backlog, const void *data, size_t n)
{
	const bool waits = backlog->first || backlog->held;
	if (waits || n > GNMI_SPLIT_BYTES) {
		backlog_add(backlog, (struct waiting){.bytes = (uint8_t *)data, .n = n});
		if (!waits)
			loop_timer_start(backlog->timer, 0, 0);
		return;
	}
	const unsigned cleared = backlog->cleared;
	const mono_t began = mono_now();
	backlog->hooks.message(backlog->arg, data, n);
	backlog_worked(backlog, began);
	const int64_t rest_ns = backlog_rest_ns(backlog);
	if (rest_ns == 0 || cleared != backlog->cleared)
		return;
	backlog_hold(backlog, true);
	loop_timer_start(backlog->timer, rest_ns, 0);
}

static void gnmi_backlog_done(struct gnmi_backlog *backlog, const struct grpc_io_status *status)
{
	if (!backlog->first) {
		backlog->hooks.done(backlog->arg, status);
		return;
	}
	const char *text = str_or(status->text, "");
	backlog_add(backlog,
		(struct waiting){.is_done = true,
			.code = status->code,
			.bytes = (uint8_t *)text,
			.n = strlen(text)});
}

/* ---- life ---------------------------------------------------------------- */

static struct gnmi_backlog *gnmi_backlog_new(
	struct loop *loop, const struct gnmi_backlog_hooks *hooks, void *arg)
{
	struct gnmi_backlog *backlog = rw_calloc(1, sizeof(*backlog));
	backlog->hooks = *hooks;
	backlog->arg = arg;
	backlog->timer = loop_timer_new(loop, backlog_turn, backlog);
	backlog->busy_at = mono_now();
	return backlog;
}

/* gnmi_backlog_clear - forget what waits: the call is over, or not wanted. */
static void gnmi_backlog_clear(struct gnmi_backlog *backlog)
{
	while (backlog->first)
		backlog_drop_first(backlog);
	loop_timer_stop(backlog->timer);
	backlog->held = false; /* the call that was held is gone */
	backlog->cleared++;
}

static void gnmi_backlog_free(struct gnmi_backlog *backlog)
{
	if (!backlog)
		return;
	gnmi_backlog_clear(backlog);
	str_done(&backlog->piece);
	loop_timer_free(backlog->timer);
	free(backlog);
}

/* gnmi_time - keeps the least lag of each period and decides whether to use a stamp. */

#define AHEAD_NS (1 * NS_PER_S)
#define AHEAD_FOR_NS (600 * NS_PER_S)
#define PERIOD_LEAST_NS (10 * NS_PER_S)

static void lag_note(struct gnmi_time *time, int64_t lag, int64_t arrival_ns)
{
	int64_t length = PERIOD_LEAST_NS;
	if (2 * time->interval_ns > PERIOD_LEAST_NS)
		length = 2 * time->interval_ns;
	if (arrival_ns - time->period_ns >= length || arrival_ns < time->period_ns) {
		time->has_before = time->has_least && time->period_ns != 0;
		time->before_ns = time->least_ns;
		time->period_ns = arrival_ns;
		time->has_least = false;
	}
	if (!time->has_least || lag < time->least_ns)
		time->least_ns = lag;
	time->has_least = true;
}

int64_t gnmi_time_take(struct gnmi_time *time, const struct gnmi_update *update, int64_t arrival_ns)
{
	if (update->clock == GNMI_CLOCK_MISSING || update->clock == GNMI_CLOCK_EARLY) {
		time->odd++;
		return arrival_ns;
	}
	const int64_t lag = arrival_ns - update->t_ns, old = time->interval_ns / 2 + AHEAD_NS;
	lag_note(time, lag, arrival_ns);
	if (lag < -AHEAD_NS)
		time->ahead_until_ns = arrival_ns + AHEAD_FOR_NS;
	const bool ahead = arrival_ns < time->ahead_until_ns,
		   behind = time->has_before && time->before_ns > old && time->least_ns > old;
	if (ahead && lag < 0)
		time->skew_ns = lag;
	else if (behind)
		time->skew_ns = time->least_ns;
	else if (!ahead)
		time->skew_ns = 0;
	if (!ahead && !behind && lag <= old)
		return update->t_ns;
	time->odd++;
	if (update->t_ns != time->stamp_ns || arrival_ns < time->stands_ns ||
		arrival_ns - time->stands_ns > time->interval_ns / 2) {
		time->stamp_ns = update->t_ns;
		time->stands_ns = arrival_ns;
	}
	return time->stands_ns;
}

/* gnmi_deliver - from a target to its sink: samples, ports that changed, LLDP neighbours. */

static void deliver_ports(struct gnmi_target *target, struct gnmi_ports *ports)
{
	const struct sink *sink = &target->machine.sink;
	for (size_t i = 0; i < ports->n; i++) {
		const struct gnmi_port *port = &ports->v[i];
		if (port->changed)
			sink->port(sink->arg, target->machine.name, port->name, port->alias,
				port->speed_bps);
	}
	gnmi_ports_reported(ports);
}

/* gnmi_target_deliver - ports that changed and samples, to the sink. Empties @samples. */
static void gnmi_target_deliver(struct gnmi_target *target, struct sample_list *samples)
{
	struct gnmi_ports *ports = gnmi_decode_ports(target->decoder);
	/* the receiver knows a port before it gets the first sample of it */
	if (ports->changed)
		deliver_ports(target, ports);
	if (samples->n)
		target->machine.sink.samples(target->machine.sink.arg, samples->v, samples->n);
	samples->n = 0;
	target->machine.state.suspects = gnmi_decode_stats(target->decoder)->suspects;
}

void gnmi_target_neighbors(struct gnmi_target *target)
{
	if (!target->machine.sink.neighbors)
		return;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_device self = {.name = target->machine.name,
		.sysname = gnmi_decode_sysname(target->decoder),
		.chassis = ""};
	struct topology_neighbor *neighbors = NULL;
	size_t n = 0;
	if (gnmi_decode_has_lldp(target->decoder))
		n = gnmi_decode_neighbors(
			target->decoder, a, target->machine.set->profiles, &self, &neighbors);
	target->machine.sink.neighbors(target->machine.sink.arg, &self, neighbors, n);
}

#define STALE_INTERVALS 3 /* silent for so many sample intervals: subscribe anew */
#define STALE_MAX 2 /* so many times in a row: the next way */
#define FIRST_WAY_AGAIN_NS (600 * NS_PER_S)
#define PACE 20 /* a counter is taken so many times in an interval, no more often */
#define SAMPLES_AT_ONCE 1024
#define FIRST_ROUND_TIMEOUTS 6 /* a first round that still arrives may take so many timeouts */

static void open_way(struct gnmi_stream *stream);

static mono_t stream_now(const struct gnmi_stream *stream)
{
	return loop_now(stream->target->machine.loop);
}

static const char *stream_device(const struct gnmi_stream *stream)
{
	return stream->target->machine.name;
}

static const struct config_gnmi *stream_config(const struct gnmi_stream *stream)
{
	return stream->target->machine.device->gnmi;
}

/* timer_set - gnmi_stream_on_timer() in @ns. .due is for gnmi_stream_overslept(). */
static void timer_set(struct gnmi_stream *stream, int64_t ns)
{
	stream->due = (mono_t){stream_now(stream).ns + ns};
	loop_timer_start(stream->timer, ns, 0);
}

static enum profile_gnmi_how gnmi_stream_way(const struct gnmi_stream *stream)
{
	return stream->profile->hows[stream->way];
}

static int64_t timeout_ns(const struct gnmi_stream *stream)
{
	return stream_config(stream)->timeout_ns;
}

/* has_data - did this call bring anything yet? */
static bool has_data(const struct gnmi_stream *stream)
{
	/* the loop's clock may stand still between the two */
	return stream->last_update.ns > stream->opened.ns ||
		stream->counts.updates > stream->updates_before;
}

/* ---- what arrives -------------------------------------------------------- */

static void on_update(void *arg, const struct gnmi_update *update)
{
	struct gnmi_stream *stream = arg;
	switch (update->op) {
	case GNMI_UPDATE:
		stream->none = false;
		stream->round_t_ns = gnmi_time_take(&stream->time, update, stream->arrived_ns);
		gnmi_feed_update(stream->feed, update, stream->round_t_ns, &stream->samples);
		break;
	case GNMI_SYNC: stream->synced = true; break;
	case GNMI_ERROR: /* deprecated in gNMI; the status of the call follows */
	case GNMI_DELETE: /* a deleted path is not sent any more: missing, not zero */ break;
	}
}

static void samples_flush(struct gnmi_stream *stream)
{
	stream->target->machine.state.values += stream->samples.n;
	gnmi_target_deliver(stream->target, &stream->samples);
	/* Hundreds of switches must not all keep the memory that one large table needed once. */
	if (stream->samples.cap > 2 * SAMPLES_AT_ONCE) {
		free(stream->samples.v);
		stream->samples = (struct sample_list){0};
	}
}

static void call_drop(struct gnmi_stream *stream)
{
	if (stream->call)
		stream->n_stalls += grpc_io_call_counts(stream->call).stalls;
	gnmi_backlog_clear(stream->backlog);
	grpc_io_call_free(stream->call);
	stream->call = NULL;
}

static void channel_drop(struct gnmi_stream *stream)
{
	call_drop(stream);
	grpc_io_close(stream->channel);
	stream->channel = NULL;
}

/* round_complete - everything that was asked for has come once. */
static void round_complete(struct gnmi_stream *stream)
{
	int64_t t_ns = stream->round_t_ns;
	if (!t_ns)
		t_ns = wall_now().ns;
	gnmi_feed_round(stream->feed, t_ns, &stream->samples);
	samples_flush(stream);
	stream->failures = 0;
	stream->trouble.text[0] = '\0';
	stream->none = stream->counts.updates == stream->updates_before;
	if (!stream->none)
		stream->probing = stream->none_tried = false;
	complaint_over(&stream->complaint, stream_now(stream), stream_device(stream),
		"gnmi: the stream delivers again");
	if (gnmi_stream_way(stream) == HOW_ONCE)
		call_drop(stream); /* some servers leave it open */
	stream->round_done = gnmi_stream_way(stream) != HOW_STREAM;
	stream->state = STREAM_LIVE;
	timer_set(stream, stream->period_ns);
	if (stream->profile->slow) {
		channel_drop(stream);
		loop_timer_stop(stream->timer);
		stream->state = STREAM_REST;
	}
	if (gnmi_feed_has_lldp(stream->feed))
		gnmi_target_neighbors(stream->target);
	stream->changed(stream->target, stream, NULL);
}

static struct gnmi_decode stream_decode(struct gnmi_stream *stream)
{
	struct gnmi_decode decode = *gnmi_feed_decode(stream->feed);
	decode.fn = on_update;
	decode.arg = stream;
	decode.counts = &stream->counts;
	return decode;
}

static void get_decode(struct gnmi_stream *stream, const void *data, size_t n)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct gnmi_decode decode = stream_decode(stream);
	gnmi_decode_get(data, n, &decode, a);
}

/* One message, or a piece of it. */
static void gnmi_stream_take(void *arg, const void *data, size_t n)
{
	struct gnmi_stream *stream = arg;
	const bool was_synced = stream->synced;
	stream->arrived_ns = wall_now().ns;
	stream->last_update = stream_now(stream);
	stream->round_t_ns = stream->arrived_ns;
	if (gnmi_stream_way(stream) == HOW_GET)
		get_decode(stream, data, n);
	else
		gnmi_walk_message(stream->walk, data, n);
	stream->target->lag_s = 0;
	if (stream->round_t_ns < stream->arrived_ns)
		stream->target->lag_s = (double)(stream->arrived_ns - stream->round_t_ns) / 1e9;
	if (stream->samples.n >= SAMPLES_AT_ONCE)
		samples_flush(stream);
	if (stream->synced && !was_synced)
		round_complete(stream);
}

/* What a device sends beyond all bounds is left out, and told. */
static void stream_tell_limits(struct gnmi_stream *stream)
{
	struct gnmi_target *target = stream->target;
	const struct gnmi_decode_stats *stats = gnmi_decode_stats(target->decoder);
	const uint64_t too_many = stats->over_limit - target->told_over_limit;
	const uint64_t too_often = stats->too_often - target->told_too_often;
	target->told_over_limit = stats->over_limit;
	target->told_too_often = stats->too_often;
	if (too_many > 0)
		complain(&target->too_many, stream_now(stream), LOG_WARN_, stream_device(stream),
			"gnmi: the device invents names: %llu paths are left out so far (limits: "
			"names_per_device; %u ports of one device)",
			(unsigned long long)stats->over_limit, GNMI_PORTS_MAX);
	if (too_often > 0)
		complain(&target->too_often, stream_now(stream), LOG_WARN_, stream_device(stream),
			"gnmi: counters come far more often than they are asked for: %llu values "
			"are left out so far",
			(unsigned long long)stats->too_often);
}

static void stream_idle(void *arg)
{
	samples_flush(arg);
	stream_tell_limits(arg);
}

static void stream_hold(void *arg, bool hold)
{
	struct gnmi_stream *stream = arg;
	if (stream->call)
		grpc_io_call_hold(stream->call, hold);
}

static void gnmi_stream_on_message(void *arg, const void *data, size_t n)
{
	struct gnmi_stream *stream = arg;
	gnmi_backlog_message(stream->backlog, data, n);
}

static void gnmi_stream_on_started(void *arg, const char *pem)
{
	struct gnmi_stream *stream = arg;
	if (pem)
		gnmi_target_certificate(stream->target, pem);
}

/* ---- failures ------------------------------------------------------------ */

static void stream_complain(struct gnmi_stream *stream)
{
	complain(&stream->complaint, stream_now(stream), LOG_WARN_, stream_device(stream),
		"gnmi: %s", stream->trouble.text);
}

/* next_way - the next one that the profile allows; false when there is none left. */
static bool next_way(struct gnmi_stream *stream, const char *because)
{
	const struct profile_gnmi_stream *profile = stream->profile;
	if (stream->way + 1 >= profile->n_hows)
		return false;
	log_warn(stream_device(stream), "gnmi: %s; stream %s falls back from %s to %s", because,
		profile->name, profile_gnmi_how_name(profile->hows[stream->way]),
		profile_gnmi_how_name(profile->hows[stream->way + 1]));
	stream->way++;
	stream->first_way_at = (mono_t){stream_now(stream).ns + FIRST_WAY_AGAIN_NS};
	return true;
}

/* path_end - "/a/b[k=v]/state/mtu" -> "state/mtu": the part that a server's complaint about a path
 * mostly repeats, however it writes keys. */
static const char *path_end(const char *path)
{
	const char *at = strrchr(path, '/');
	if (!at)
		return path;
	while (at > path && at[-1] != '/' && at[-1] != ']')
		at--;
	return at;
}

/*
 * leave_out - asks no more for optional paths: for those that the server's text names in full, else
 * for those whose end it names, else for all of them. False when there are none, or nothing else
 * would be left to ask for.
 */
static bool leave_out(struct gnmi_stream *stream, const char *words)
{
	uint32_t named = 0, end_named = 0, optional = 0, all = 0;
	for (size_t i = 0; i < stream->profile->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *sub = &stream->profile->subscriptions[i];
		const uint32_t bit = (uint32_t)1 << i;
		if (stream->left_out & bit)
			continue;
		all |= bit;
		if (!sub->optional)
			continue;
		optional |= bit;
		if (strstr(words, sub->path))
			named |= bit;
		if (strstr(words, path_end(sub->path)))
			end_named |= bit;
	}
	if (named)
		stream->left_out |= named;
	else if (end_named)
		stream->left_out |= end_named;
	else
		stream->left_out |= optional;
	return optional && (all & ~stream->left_out);
}

static bool all_optional(const struct gnmi_stream *stream)
{
	for (size_t i = 0; i < stream->profile->n_subscriptions; i++)
		if (!stream->profile->subscriptions[i].optional)
			return false;
	return true;
}

/* next_encoding - false when there is none left. */
static bool next_encoding(struct gnmi_stream *stream)
{
	const struct gnmi_target *target = stream->target;
	if (stream->encoding + 1 >= target->n_encodings)
		return false;
	log_warn(stream_device(stream), "gnmi: stream %s: encoding %s is refused; trying %s",
		stream->profile->name, gnmi_encoding_name(target->encodings[stream->encoding]),
		gnmi_encoding_name(target->encodings[stream->encoding + 1]));
	stream->encoding++;
	return true;
}

/* stream_rest - asks again in the first way, after one slow interval. */
static void stream_rest(struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	const bool optional = all_optional(stream);
	if (optional && !stream->told_rest)
		log_debug(stream_device(stream), "gnmi: %s; all of stream %s is optional",
			stream->trouble.text, stream->profile->name);
	if (!optional)
		stream_complain(stream);
	stream->told_rest = true;
	stream->state = STREAM_REFUSED;
	stream->way = 0;
	stream->left_out = 0;
	timer_set(stream,
		target_jittered(&stream->target->machine, stream_config(stream)->slow_interval_ns));
	stream->changed(stream->target, stream, status);
}

/* none_settle - the device has none of these values: that is no fault of anybody. Asked again, in
 * the first way, after one slow interval. */
static void none_settle(struct gnmi_stream *stream)
{
	if (!stream->none_tried)
		log_debug(stream_device(stream),
			"gnmi: the device takes stream %s and has none of its values",
			stream->profile->name);
	channel_drop(stream);
	stream->none = stream->none_tried = true;
	stream->probing = false;
	stream->trouble.text[0] = '\0';
	stream->way = 0;
	stream->left_out = 0;
	stream->stale = 0;
	stream->state = STREAM_WAITING;
	timer_set(stream,
		target_jittered(&stream->target->machine, stream_config(stream)->slow_interval_ns));
}

/* stream_none - the request was taken, and no value came. A server may deliver in another way what
 * it does not stream: each is tried once. */
static void stream_none(struct gnmi_stream *stream)
{
	if (stream->none_tried || stream->way + 1 >= stream->profile->n_hows) {
		none_settle(stream);
		return;
	}
	stream->probing = true;
	stream->way++;
	open_way(stream);
}

/* gnmi_stream_refused - the server does not accept the request. */
static void gnmi_stream_refused(struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	const bool encoding = strcasestr(status->text, "encoding") != NULL;
	channel_drop(stream);
	/* 0. another way, of a stream that is taken in the first one and has no values */
	if (stream->probing) {
		stream_none(stream);
		return;
	}
	/* 1. in another encoding */
	if (encoding && next_encoding(stream)) {
		open_way(stream);
		return;
	}
	/* 2. for less */
	if (!encoding && status->code != GRPC_IO_UNIMPLEMENTED && leave_out(stream, status->text)) {
		if (stream->left_out & ~stream->told_left_out)
			log_debug(stream_device(stream),
				"gnmi: %s; asking again without that, which is optional",
				stream->trouble.text);
		stream->told_left_out |= stream->left_out;
		open_way(stream);
		return;
	}
	/* 3. in another way */
	if (!encoding && status->code != GRPC_IO_NOT_FOUND &&
		next_way(stream, stream->trouble.text)) {
		stream->left_out = 0;
		open_way(stream);
		return;
	}
	/* 4. nothing is left to try */
	stream_rest(stream, status);
}

static void gnmi_stream_lost(struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	channel_drop(stream);
	stream->failures++;
	stream->n_reconnects++;
	stream_complain(stream);
	struct target_machine *machine = &stream->target->machine;
	int64_t pause = target_backoff_ns(machine->hooks, stream->failures, stream->period_ns);
	stream->state = STREAM_WAITING;
	timer_set(stream, target_jittered(machine, pause));
	stream->changed(stream->target, stream, status);
}

/* ends_round - is the end of the call the end of its round? */
static bool ends_round(const struct gnmi_stream *stream, const struct grpc_io_status *status)
{
	if (status->code != GRPC_IO_OK)
		return false;
	switch (gnmi_stream_way(stream)) {
	case HOW_GET: return true;
	case HOW_ONCE: return has_data(stream) && !stream->synced;
	default: return false;
	}
}

static void stream_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_stream *stream = arg;
	if (ends_round(stream, status)) {
		call_drop(stream);
		stream->synced = true;
		round_complete(stream);
		return;
	}
	gnmi_reason(stream->target, stream, status, &stream->trouble);
	if (!stream->synced && gnmi_reason_is_request(status))
		gnmi_stream_refused(stream, status);
	else
		gnmi_stream_lost(stream, status);
}

static void on_done(void *arg, const struct grpc_io_status *status)
{
	struct gnmi_stream *stream = arg;
	gnmi_backlog_done(stream->backlog, status);
}

static const struct gnmi_backlog_hooks backlog_hooks = {
	.message = gnmi_stream_take, .idle = stream_idle, .done = stream_done, .hold = stream_hold};

static const struct grpc_io_events events = {.started = gnmi_stream_on_started,
	.message = gnmi_stream_on_message,
	.idle = stream_idle,
	.done = on_done};

/* ---- requests ------------------------------------------------------------ */

static int64_t gnmi_stream_interval_of(
	const struct gnmi_stream *stream, const struct profile_gnmi_subscription *subscription)
{
	int64_t ns = stream_config(stream)->interval_ns;
	if (stream->profile->slow)
		ns = stream_config(stream)->slow_interval_ns;
	if (ns < subscription->min_interval_ns)
		ns = subscription->min_interval_ns;
	return ns;
}

static struct gnmi_subscription subscription_of(
	const struct gnmi_stream *stream, const struct profile_gnmi_subscription *sub)
{
	if (sub->on_change)
		return (struct gnmi_subscription){.path = sub->path, .mode = GNMI_ON_CHANGE};
	return (struct gnmi_subscription){.path = sub->path,
		.mode = GNMI_SAMPLE,
		.sample_ns = (uint64_t)gnmi_stream_interval_of(stream, sub)};
}

/* request_of - Get, or Subscribe in the mode of the current way. Its paths were checked when the
 * stream was made, so that encoding cannot fail. */
static void request_of(struct gnmi_stream *stream, struct arena *a, struct gnmi_bytes *ret)
{
	static const enum gnmi_mode modes[] = {
		[HOW_STREAM] = GNMI_STREAM, [HOW_ONCE] = GNMI_ONCE, [HOW_POLL] = GNMI_POLL};
	const struct profile_gnmi_stream *profile = stream->profile;
	const struct gnmi_where where = {.target = profile->target, .origin = profile->origin};
	const unsigned encoding = stream->target->encodings[stream->encoding];
	struct gnmi_subscription *subscriptions =
		arena_array(a, struct gnmi_subscription, profile->n_subscriptions);
	const char **paths = arena_array(a, const char *, profile->n_subscriptions);
	size_t n = 0;
	for (size_t i = 0; i < profile->n_subscriptions; i++) {
		if (stream->left_out >> i & 1)
			continue;
		paths[n] = profile->subscriptions[i].path;
		subscriptions[n++] = subscription_of(stream, &profile->subscriptions[i]);
	}
	if (gnmi_stream_way(stream) == HOW_GET) {
		const struct gnmi_get get = {.where = where,
			.type = GNMI_ALL,
			.encoding = (enum gnmi_encoding)encoding,
			.paths = paths,
			.n = n};
		gnmi_encode_get(&get, a, ret, NULL);
		return;
	}
	const struct gnmi_subscribe subscribe = {.where = where,
		.mode = modes[gnmi_stream_way(stream)],
		.encoding = (enum gnmi_encoding)encoding,
		.v = subscriptions,
		.n = n};
	gnmi_encode_subscribe(&subscribe, a, ret, NULL);
}

/* call_open - one call in the current way, on the channel that is there or a new one. */
static void call_open(struct gnmi_stream *stream)
{
	struct gnmi_target *target = stream->target;
	struct gnmi_call call = {.method = GNMI_METHOD_SUBSCRIBE, .events = &events, .arg = stream};
	struct err e = {0};
	int rc = 0;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	call_drop(stream);
	stream->synced = stream->round_done = stream->poll_sent = stream->overslept = false;
	stream->opened = stream->last_update = stream_now(stream);
	stream->updates_before = stream->counts.updates;
	if (stream->state != STREAM_LIVE)
		stream->state = STREAM_OPENING;
	request_of(stream, a, &call.request);
	if (gnmi_stream_way(stream) == HOW_GET) {
		call.method = GNMI_METHOD_GET;
		call.unary = true;
	}
	if (!stream->channel)
		rc = gnmi_target_channel(target, &stream->channel, &e);
	if (rc == 0)
		rc = gnmi_target_call(target, stream->channel, &call, &stream->call, &e);
	if (rc < 0) {
		reason_set(&stream->trouble, GNMI_SETUP, target->machine.address, e.text);
		gnmi_stream_lost(stream,
			&(struct grpc_io_status){GRPC_IO_UNAVAILABLE, stream->trouble.text});
		return;
	}
	timer_set(stream, timeout_ns(stream));
}

/* open_way - in the current way from the beginning: a new connection, nothing known of paths. */
static void open_way(struct gnmi_stream *stream)
{
	channel_drop(stream);
	stream->state = STREAM_OPENING;
	gnmi_feed_begin(stream->feed);
	gnmi_walk_reset(stream->walk);
	call_open(stream);
}

/* poll_send - negative errno when the call is not there any more. */
static int poll_send(struct gnmi_stream *stream)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_bytes poll;
	if (!stream->call)
		return -1;
	gnmi_encode_poll(a, &poll);
	return grpc_io_call_send(stream->call, poll.p, poll.n);
}

/* ---- time ---------------------------------------------------------------- */

/*
 * gnmi_stream_overslept - does the timer come late, by half of @ns or more? Then this process stood
 * still (a busy machine, a stopped one): what the device sent meanwhile is read before the device
 * is judged silent, and the timer runs for another @ns. Only once in a row, so that the judgement
 * is not put off for ever.
 */
static bool gnmi_stream_overslept(struct gnmi_stream *stream, int64_t ns)
{
	const bool late = stream_now(stream).ns - stream->due.ns >= ns / 2;
	stream->overslept = late && !stream->overslept;
	if (stream->overslept)
		timer_set(stream, ns);
	return stream->overslept;
}

/* still_arriving - is the first round under way, and not for too long? */
static bool still_arriving(const struct gnmi_stream *stream)
{
	const int64_t now = stream_now(stream).ns;
	return has_data(stream) && now - stream->last_update.ns < timeout_ns(stream) / 2 &&
		now - stream->opened.ns < FIRST_ROUND_TIMEOUTS * timeout_ns(stream);
}

/* gnmi_stream_unfinished - the time for the first round is over. */
static void gnmi_stream_unfinished(struct gnmi_stream *stream)
{
	/* 1. we were late ourselves */
	if (gnmi_stream_overslept(stream, timeout_ns(stream)))
		return;
	/* 2. it is still coming */
	if (still_arriving(stream)) {
		timer_set(stream, timeout_ns(stream) / 2);
		return;
	}
	/* 3. some servers wait for the first Poll, some do not */
	if (gnmi_stream_way(stream) == HOW_POLL && !has_data(stream) && !stream->poll_sent) {
		stream->poll_sent = true;
		poll_send(stream);
		timer_set(stream, timeout_ns(stream));
		return;
	}
	/* 4. all there is, from a server that never sends a sync_response */
	if (has_data(stream) && stream->counts.updates > 0) {
		log_debug(stream_device(stream),
			"gnmi: stream %s: no sync_response; the values so far count as the first "
			"round",
			stream->profile->name);
		stream->synced = true;
		round_complete(stream);
		return;
	}
	/* 5. nothing came */
	if (stream->probing) {
		stream_none(stream);
		return;
	}
	reason_set(&stream->trouble, GNMI_SENT_NOTHING, stream->target->machine.address,
		stream->profile->name, (double)timeout_ns(stream) / 1e9);
	if (next_way(stream, stream->trouble.text))
		open_way(stream);
	else
		gnmi_stream_lost(stream,
			&(struct grpc_io_status){GRPC_IO_DEADLINE_EXCEEDED, stream->trouble.text});
}

/* is_sampled - does the device send values at intervals, and not only when they change? */
static bool is_sampled(const struct gnmi_stream *stream)
{
	for (size_t i = 0; i < stream->profile->n_subscriptions; i++)
		if (!stream->profile->subscriptions[i].on_change && !(stream->left_out >> i & 1))
			return true;
	return false;
}

/* stream_stale - the device went silent, for @silent_ns: subscribe anew. */
static void stream_stale(struct gnmi_stream *stream, int64_t silent_ns)
{
	stream->n_stale++;
	stream->stale++;
	stream->target->machine.state.timeouts++;
	reason_set(&stream->trouble, GNMI_STALE, stream->target->machine.address,
		stream->profile->name, (double)silent_ns / 1e9);
	stream_complain(stream);
	if (stream->stale >= STALE_MAX && next_way(stream, stream->trouble.text))
		stream->stale = 0;
	stream->n_reconnects++;
	open_way(stream);
}

/* gnmi_stream_watch - the watchdog of a live stream. */
static void gnmi_stream_watch(struct gnmi_stream *stream)
{
	const int64_t silent_ns = stream_now(stream).ns - stream->last_update.ns;
	const int64_t limit_ns = STALE_INTERVALS * stream->period_ns;
	const bool sampled = is_sampled(stream);
	if (sampled && silent_ns >= limit_ns) {
		if (gnmi_stream_overslept(stream, stream->period_ns))
			return;
		if (stream->none)
			stream_none(stream);
		else
			stream_stale(stream, silent_ns);
		return;
	}
	if (stream->last_update.ns > stream->opened.ns + stream->period_ns)
		stream->stale = 0; /* it delivers, and not only the first round */
	stream->overslept = false;
	int64_t next_ns = stream->period_ns;
	if (sampled && limit_ns - silent_ns < next_ns)
		next_ns = limit_ns - silent_ns + NS_PER_MS;
	timer_set(stream, next_ns);
}

static void round_next(struct gnmi_stream *stream)
{
	/* 0. it was another way of a stream without values */
	if (stream->probing && stream->none) {
		stream_none(stream);
		return;
	}
	/* 1. back to the first way, from time to time */
	if (stream->way > 0 && stream->first_way_at.ns &&
		stream_now(stream).ns >= stream->first_way_at.ns) {
		stream->way = 0;
		stream->first_way_at = (mono_t){0};
		stream->n_reconnects++;
		open_way(stream);
		return;
	}
	/* 2. a new call */
	if (gnmi_stream_way(stream) != HOW_POLL) {
		call_open(stream);
		return;
	}
	/* 3. a Poll on the open call */
	stream->synced = stream->round_done = false;
	stream->opened = stream->last_update = stream_now(stream);
	stream->updates_before = stream->counts.updates;
	if (poll_send(stream) < 0)
		open_way(stream);
	else
		timer_set(stream, timeout_ns(stream));
}

/* ---- life ---------------------------------------------------------------- */

/* paths_check - can every path of the profile be encoded? 0, or negative errno with @e. */
static int paths_check(const struct profile_gnmi_stream *profile, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_bytes request;
	int rc = 0;
	for (size_t i = 0; i < profile->n_subscriptions && rc == 0; i++) {
		const char *path = profile->subscriptions[i].path;
		const struct gnmi_get get = {.paths = &path, .n = 1};
		rc = gnmi_encode_get(&get, a, &request, e);
	}
	return rc;
}

/* shortest_period - of the sampled subscriptions; without one, the device's interval. */
static int64_t shortest_period(const struct gnmi_stream *stream)
{
	const struct profile_gnmi_stream *profile = stream->profile;
	int64_t shortest = INT64_MAX;
	for (size_t i = 0; i < profile->n_subscriptions; i++) {
		const struct profile_gnmi_subscription *sub = &profile->subscriptions[i];
		const int64_t ns = gnmi_stream_interval_of(stream, sub);
		if (!sub->on_change && ns < shortest)
			shortest = ns;
	}
	if (shortest == INT64_MAX)
		shortest = stream_config(stream)->interval_ns;
	return shortest;
}

static void gnmi_stream_on_timer(void *arg)
{
	struct gnmi_stream *stream = arg;
	switch (stream->state) {
	case STREAM_REST:
	case STREAM_WAITING:
	case STREAM_REFUSED: open_way(stream); return;
	case STREAM_OPENING:
	case STREAM_LIVE: break;
	}
	if (stream->round_done)
		round_next(stream);
	else if (stream->synced)
		gnmi_stream_watch(stream);
	else
		gnmi_stream_unfinished(stream);
}

struct gnmi_stream *gnmi_stream_new(struct gnmi_target *target,
	const struct profile_gnmi_stream *profile, gnmi_stream_fn *changed, struct err *e)
{
	struct gnmi_stream *stream = rw_calloc(1, sizeof(*stream));
	*stream = (struct gnmi_stream){.target = target, .profile = profile, .changed = changed};
	stream->backlog = gnmi_backlog_new(target->machine.loop, &backlog_hooks, stream);
	stream->feed = gnmi_feed_new(target->decoder, profile, e);
	if (!stream->feed || paths_check(profile, e) < 0) {
		gnmi_stream_free(stream);
		return NULL;
	}
	stream->period_ns = shortest_period(stream);
	gnmi_feed_pace(stream->feed, stream->period_ns / PACE);
	const struct gnmi_decode decode = stream_decode(stream);
	stream->walk = gnmi_walk_new(&decode);
	stream->time.interval_ns = stream->period_ns;
	stream->timer = loop_timer_new(target->machine.loop, gnmi_stream_on_timer, stream);
	return stream;
}

void gnmi_stream_free(struct gnmi_stream *stream)
{
	if (!stream)
		return;
	channel_drop(stream);
	gnmi_backlog_free(stream->backlog);
	loop_timer_free(stream->timer);
	gnmi_walk_free(stream->walk);
	gnmi_feed_free(stream->feed);
	free(stream->samples.v);
	free(stream);
}

void gnmi_stream_start(struct gnmi_stream *stream)
{
	/* a slow stream begins with the way that worked, until the first one is due again */
	if (stream_now(stream).ns >= stream->first_way_at.ns)
		stream->way = 0;
	stream->left_out = 0;
	stream->encoding = 0;
	stream->stale = 0;
	stream->none = stream->probing = stream->none_tried = false;
	open_way(stream);
}

void gnmi_stream_stop(struct gnmi_stream *stream)
{
	channel_drop(stream);
	loop_timer_stop(stream->timer);
	stream->state = STREAM_REST;
	stream->synced = stream->round_done = false;
}
