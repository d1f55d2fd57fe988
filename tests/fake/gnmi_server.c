/* gnmi_server - answers calls on gRPC's completion queue. All but new, counts and free runs on the
 * server's thread. */
#include "tests/fake/gnmi_server.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/fake/gnmi_template.h"

#define PERIOD_LEAST_NS 1000000ull
/* messages that wait to be taken: a client that does not read gets no more */
#define QUEUE_MAX 64

const char *const gnmi_fault_names[FAULTS] = {"none", "silent", "no_sync", "stall", "reset", "end",
	"status", "huge", "garbage", "wrong_types", "time", "zero_time", "delete", "empty"};

enum tag_kind { TAG_NEW, TAG_FIRST, TAG_RECV, TAG_SEND, TAG_STATUS, TAG_CLOSED, TAG_SHUTDOWN };
struct call;
struct tag {
	enum tag_kind kind;
	struct call *call;
};

struct out {
	struct out *next;
	grpc_byte_buffer *bytes;
};

struct call {
	struct gnmi_server *server;
	struct call *next;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	struct tag fresh, first, recv, send, status, closed;
	unsigned pending; /* tags under way */
	grpc_byte_buffer *received;
	int cancelled;
	struct out *out, **out_end;
	size_t n_out;
	bool sending, sonic_open, ended, over, subscribed, unary;
	grpc_status_code code;
	grpc_slice text;
	char peer[128];

	struct arena *request_arena;
	struct speak_request request;
	unsigned number; /* among the Subscribe calls */
	uint64_t round, period_ns, flooded;
	int64_t due_ns; /* of the next round, monotonic; 0 = none */
	grpc_byte_buffer *flood;
	struct gnmi_template *rounds; /* with .prebuilt */
};

struct gnmi_server {
	const struct gnmi_server_options *o;
	grpc_server *server;
	grpc_completion_queue *queue;
	pthread_t thread;
	int port;
	struct call *calls;
	struct tag shutdown;
	bool stopping;
	int64_t due_ns; /* of the next round of any call */
	atomic_uint capabilities, gets, subscribes, polls, refused;
	atomic_ullong messages;
};

/* ---- sending ------------------------------------------------------------- */

static void start(struct call *c, const grpc_op *ops, size_t n, struct tag *t)
{
	if (!c->server->stopping && grpc_call_start_batch(c->call, ops, n, t, NULL) == GRPC_CALL_OK)
		c->pending++;
}

static void status_send(struct call *c)
{
	if (c->over || c->sending || c->out)
		return;
	grpc_op op = {.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
	c->over = true;
	op.data.send_status_from_server.status = c->code;
	op.data.send_status_from_server.status_details = &c->text;
	start(c, &op, 1, &c->status);
}

static void end(struct call *c, grpc_status_code code, const char *text)
{
	if (c->ended)
		return;
	c->ended = true;
	c->code = code;
	grpc_slice_unref(c->text);
	c->text = grpc_slice_from_copied_string(text);
	if (code != GRPC_STATUS_OK)
		atomic_fetch_add(&c->server->refused, 1);
	c->due_ns = 0;
	status_send(c);
}

static void out_next(struct call *c)
{
	if (c->sending || c->over)
		return;
	struct out *o = c->out;
	if (!o) {
		if (c->ended)
			status_send(c);
		return;
	}
	c->out = o->next;
	if (!c->out)
		c->out_end = &c->out;
	c->n_out--;
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
	op.data.send_message.send_message = o->bytes;
	c->sending = true;
	start(c, &op, 1, &c->send);
	grpc_byte_buffer_destroy(o->bytes);
	free(o);
	atomic_fetch_add(&c->server->messages, 1);
}

static void send_buffer(struct call *c, grpc_byte_buffer *bytes)
{
	struct out *o = rw_calloc(1, sizeof(*o));
	o->bytes = bytes;
	*c->out_end = o;
	c->out_end = &o->next;
	c->n_out++;
	out_next(c);
}

static void send_bytes(struct call *c, struct speak_bytes b)
{
	grpc_slice s = grpc_slice_from_copied_buffer((char *)b.p, b.n);
	send_buffer(c, grpc_raw_byte_buffer_create(&s, 1));
	grpc_slice_unref(s);
}

/* ---- values -------------------------------------------------------------- */

struct collecting {
	struct arena *arena;
	struct speak_value *v;
	size_t n, cap;
};

static void collect(void *ctx, const struct speak_value *v)
{
	struct collecting *k = ctx;
	rw_grow(k->v, k->n, k->cap);
	k->v[k->n++] = (struct speak_value){
		arena_strdup(k->arena, v->path), v->kind, arena_strdup(k->arena, v->text)};
}

static bool faulty(const struct call *c, enum gnmi_fault f)
{
	const struct gnmi_server_options *o = c->server->o;
	return o->fault == f && (o->fault_calls == 0 || c->number < o->fault_calls) &&
		c->round >= o->fault_round;
}

static int64_t stamp(const struct call *c)
{
	return faulty(c, FAULT_ZERO_TIME)
		? 0
		: wall_now().ns + (faulty(c, FAULT_TIME) ? c->server->o->fault_ns : 0);
}

/* say - sends the values below @path; false for an unknown path. */
static bool say(struct call *c, const char *path)
{
	const struct gnmi_server_options *o = c->server->o;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct collecting k = {.arena = a};
	bool known = o->values(o->values_arg, c->request.target, c->request.origin, path, c->round,
			     collect, &k) >= 0;
	/* Only now: on a busy machine, time passes while the values are read, and a stamp must not
	 * be older than its value. */
	const int64_t t_ns = stamp(c);
	for (size_t i = 0; i < k.n && faulty(c, FAULT_WRONG_TYPES); i++)
		k.v[i] = (struct speak_value){k.v[i].path, SPEAK_STRING, "many"};
	if (faulty(c, FAULT_EMPTY))
		send_bytes(c, (struct speak_bytes){(uint8_t *)"", 0});
	for (size_t i = 0; i < k.n && o->one_by_one; i++)
		send_bytes(c,
			speak_notification(
				a, t_ns, c->request.target, c->request.origin, &k.v[i], 1));
	if (k.n && !o->one_by_one)
		send_bytes(c,
			speak_notification(
				a, t_ns, c->request.target, c->request.origin, k.v, k.n));
	free(k.v);
	return known;
}

/* prebuilt_begin - builds the sampled values once; each round renumbers them. */
static void prebuilt_begin(struct call *c)
{
	const struct gnmi_server_options *o = c->server->o;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct collecting k = {.arena = a};
	for (size_t i = 0; i < c->request.n; i++)
		if (c->request.v[i].mode == 2)
			o->values(o->values_arg, c->request.target, c->request.origin,
				c->request.v[i].path, 0, collect, &k);
	c->rounds = gnmi_template_new(
		c->request.target, c->request.origin, k.v, k.n, o->one_by_one ? 1 : o->prebuilt);
	free(k.v);
}

static void prebuilt_say(struct call *c)
{
	gnmi_template_next(c->rounds, stamp(c));
	for (size_t i = 0; i < gnmi_template_count(c->rounds); i++)
		send_bytes(c, gnmi_template_message(c->rounds, i));
}

static void say_all(struct call *c)
{
	if (c->server->o->prebuilt && c->request.mode == 0) {
		prebuilt_begin(c);
		prebuilt_say(c);
		return;
	}
	for (size_t i = 0; i < c->request.n && !c->ended; i++) {
		char text[300];
		if (say(c, c->request.v[i].path))
			continue;
		snprintf(text, sizeof(text), "unknown path %.250s", c->request.v[i].path);
		end(c, GRPC_STATUS_NOT_FOUND, text);
	}
}

static void say_sync(struct call *c)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	if (!c->ended && !faulty(c, FAULT_NO_SYNC))
		send_bytes(c, speak_sync(a));
}

/* misbehave - the fault of this round, when it ends the call or comes before the values. True when
 * nothing more is sent. */
static bool misbehave(struct call *c)
{
	const struct gnmi_server_options *o = c->server->o;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	if (faulty(c, FAULT_SILENT) || (c->round > 0 && faulty(c, FAULT_STALL)))
		return true;
	if (faulty(c, FAULT_RESET)) {
		c->ended = true;
		grpc_call_cancel_with_status(c->call, GRPC_STATUS_INTERNAL, "reset", NULL);
		return true;
	}
	if (faulty(c, FAULT_END) || faulty(c, FAULT_STATUS)) {
		end(c, faulty(c, FAULT_END) ? GRPC_STATUS_OK : (grpc_status_code)o->fault_status,
			o->fault_text ? o->fault_text : "");
		return true;
	}
	if (faulty(c, FAULT_HUGE)) {
		char *text = arena_alloc(a, o->fault_bytes + 1);
		memset(text, 'x', o->fault_bytes);
		send_bytes(c,
			speak_notification(a, stamp(c), c->request.target, "",
				&(struct speak_value){"/x", SPEAK_STRING, text}, 1));
	}
	if (faulty(c, FAULT_GARBAGE))
		send_bytes(c, (struct speak_bytes){(uint8_t *)"\xff\xfe\xfdno message at all", 20});
	if (faulty(c, FAULT_DELETE) && c->round == o->fault_round && c->round > 0) {
		const char *paths[64];
		size_t n = 0;
		for (; n < c->request.n && n < rw_countof(paths); n++)
			paths[n] = c->request.v[n].path;
		send_bytes(c, speak_deletes(a, stamp(c), c->request.target, paths, n));
		return true;
	}
	return false;
}

/* ---- Subscribe ----------------------------------------------------------- */

static void tick_later(struct call *c)
{
	if (c->ended || c->over)
		return;
	c->due_ns = mono_now().ns + (int64_t)c->period_ns;
	if (c->due_ns < c->server->due_ns)
		c->server->due_ns = c->due_ns;
}

static void flood(struct call *c)
{
	while (c->flooded < c->server->o->flood && c->n_out < QUEUE_MAX && !c->ended) {
		c->flooded++;
		send_buffer(c, grpc_byte_buffer_copy(c->flood));
	}
	if (c->flooded == c->server->o->flood)
		end(c, GRPC_STATUS_OK, "");
}

static void flood_begin(struct call *c)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct collecting k = {.arena = a};
	const struct gnmi_server_options *o = c->server->o;
	for (size_t i = 0; i < c->request.n; i++)
		o->values(o->values_arg, c->request.target, c->request.origin, c->request.v[i].path,
			1, collect, &k);
	struct speak_bytes b = speak_notification(a, stamp(c), c->request.target, c->request.origin,
		k.v, o->one_by_one && k.n ? 1 : k.n);
	grpc_slice s = grpc_slice_from_copied_buffer((char *)b.p, b.n);
	c->flood = grpc_raw_byte_buffer_create(&s, 1);
	grpc_slice_unref(s);
	free(k.v);
	flood(c);
}

static void round_one(struct call *c)
{
	const bool once = c->request.mode == 1, stream = c->request.mode == 0;
	if (misbehave(c))
		return;
	say_all(c);
	say_sync(c);
	c->round++;
	if (once && !c->server->o->sonic)
		end(c, GRPC_STATUS_OK, "");
	if (!stream || c->ended)
		return;
	c->period_ns = c->server->o->period_ns;
	for (size_t i = 0; i < c->request.n && !c->server->o->period_ns; i++)
		if (c->request.v[i].mode == 2 &&
			(c->period_ns == 0 || c->request.v[i].interval_ns < c->period_ns))
			c->period_ns = c->request.v[i].interval_ns;
	if (c->server->o->flood) {
		flood_begin(c);
	} else if (c->period_ns) {
		c->period_ns = c->period_ns < PERIOD_LEAST_NS ? PERIOD_LEAST_NS : c->period_ns;
		tick_later(c);
	}
}

/* due - rounds come at the shortest interval; a subscription with a longer one is due when its
 * interval has passed. */
static bool due(const struct call *c, const struct speak_subscription *s)
{
	if (s->mode != 2)
		return false;
	return c->server->o->period_ns || s->interval_ns <= c->period_ns ||
		c->round * c->period_ns / s->interval_ns >
		(c->round - 1) * c->period_ns / s->interval_ns;
}

static void round_next(struct call *c)
{
	if (c->n_out < QUEUE_MAX && c->rounds)
		prebuilt_say(c);
	else if (c->n_out < QUEUE_MAX && !misbehave(c))
		for (size_t i = 0; i < c->request.n && !c->ended; i++)
			if (due(c, &c->request.v[i]))
				say(c, c->request.v[i].path);
	c->round++;
	tick_later(c);
}

static const unsigned encodings_usual[] = {2, 4, 0}; /* PROTO, JSON_IETF, JSON */

static bool encoding_offered(const struct gnmi_server_options *o, int encoding)
{
	const unsigned *v = o->encodings ? o->encodings : encodings_usual;
	size_t n = o->encodings ? o->n_encodings : rw_countof(encodings_usual);
	for (size_t i = 0; i < n; i++)
		if ((int)v[i] == encoding)
			return true;
	return false;
}

/* sonic_refuses - as SONiC's server: it refuses what it does not know, and a second subscription on
 * a connection ends the first. */
static bool sonic_refuses(struct call *c)
{
	const struct speak_request *r = &c->request;
	if (!*r->target && !*r->origin)
		return end(c, GRPC_STATUS_UNIMPLEMENTED, "Empty target data not supported"), true;
	for (size_t i = 0; i < r->n; i++) {
		if (r->mode == 0 && r->v[i].mode == 0)
			return end(c, GRPC_STATUS_INVALID_ARGUMENT,
				       "unsupported subscription mode, TARGET_DEFINED"),
			       true;
		if (r->mode == 0 && r->v[i].mode == 2 && r->v[i].interval_ns > 0 &&
			r->v[i].interval_ns < 1000000000ull)
			return end(c, GRPC_STATUS_INVALID_ARGUMENT,
				       "invalid interval: it cannot be less than 1s"),
			       true;
	}
	for (struct call *o = c->server->calls; o; o = o->next)
		if (o != c && o->subscribed && !o->ended && strcmp(o->peer, c->peer) == 0)
			end(o, GRPC_STATUS_INVALID_ARGUMENT,
				"replaced by a later subscription of this connection");
	return false;
}

static void subscribe(struct call *c)
{
	const struct gnmi_server_options *o = c->server->o;
	const struct speak_request *r = &c->request;
	const bool refused[] = {o->no_stream, o->no_once, o->no_poll};
	c->number = atomic_fetch_add(&c->server->subscribes, 1);
	c->subscribed = true;
	if (r->updates_only || r->has_qos || r->aggregation || r->models)
		end(c, GRPC_STATUS_UNIMPLEMENTED, "Qos not supported");
	else if (r->mode < 0 || r->mode > 2 || refused[r->mode])
		end(c, GRPC_STATUS_UNIMPLEMENTED, "this mode of subscription is not supported");
	else if (o->strict_encodings && !encoding_offered(o, r->encoding))
		end(c, GRPC_STATUS_INVALID_ARGUMENT, "unsupported encoding");
	else if (!o->sonic || !sonic_refuses(c))
		round_one(c);
}

/* ---- the other calls ----------------------------------------------------- */

static void capabilities(struct call *c)
{
	const struct gnmi_server_options *o = c->server->o;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	atomic_fetch_add(&c->server->capabilities, 1);
	if (o->no_capabilities) {
		end(c, GRPC_STATUS_UNIMPLEMENTED, "unknown method Capabilities");
		return;
	}
	send_bytes(c,
		speak_capabilities(a, o->encodings ? o->encodings : encodings_usual,
			o->encodings ? o->n_encodings : rw_countof(encodings_usual), o->models,
			o->n_models));
	end(c, GRPC_STATUS_OK, "");
}

static void get(struct call *c)
{
	const struct gnmi_server_options *o = c->server->o;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct collecting k = {.arena = a};
	atomic_fetch_add(&c->server->gets, 1);
	if (o->no_get) {
		end(c, GRPC_STATUS_UNIMPLEMENTED, "Get is not supported");
		return;
	}
	for (size_t i = 0; i < c->request.n; i++)
		o->values(o->values_arg, c->request.target, c->request.origin, c->request.v[i].path,
			0, collect, &k);
	if (k.n) {
		send_bytes(
			c, speak_get(a, stamp(c), c->request.target, c->request.origin, k.v, k.n));
		end(c, GRPC_STATUS_OK, "");
	} else {
		end(c, GRPC_STATUS_NOT_FOUND, "unknown path");
	}
	free(k.v);
}

/* ---- the calls' lives ---------------------------------------------------- */

static bool metadata_is(const struct call *c, const char *key, const char *value)
{
	for (size_t i = 0; i < c->metadata.count; i++)
		if (grpc_slice_str_cmp(c->metadata.metadata[i].key, key) == 0)
			return grpc_slice_str_cmp(c->metadata.metadata[i].value, value) == 0;
	return false;
}

static void read_next(struct call *c)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
	op.data.recv_message.recv_message = &c->received;
	start(c, &op, 1, &c->recv);
}

static void request_new(struct gnmi_server *s)
{
	struct call *c = rw_calloc(1, sizeof(*c));
	c->server = s;
	c->out_end = &c->out;
	c->fresh = (struct tag){TAG_NEW, c};
	c->first = (struct tag){TAG_FIRST, c};
	c->recv = (struct tag){TAG_RECV, c};
	c->send = (struct tag){TAG_SEND, c};
	c->status = (struct tag){TAG_STATUS, c};
	c->closed = (struct tag){TAG_CLOSED, c};
	c->text = grpc_empty_slice();
	c->request_arena = arena_new();
	grpc_call_details_init(&c->details);
	grpc_metadata_array_init(&c->metadata);
	c->next = s->calls;
	s->calls = c;
	c->pending = 1;
	if (grpc_server_request_call(s->server, &c->call, &c->details, &c->metadata, s->queue,
		    s->queue, &c->fresh) != GRPC_CALL_OK)
		c->pending = 0;
}

static void call_free(struct call *c)
{
	struct call **at = &c->server->calls;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (struct out *o = c->out, *next; o; o = next) {
		next = o->next;
		grpc_byte_buffer_destroy(o->bytes);
		free(o);
	}
	if (c->flood)
		grpc_byte_buffer_destroy(c->flood);
	gnmi_template_free(c->rounds);
	if (c->call)
		grpc_call_unref(c->call);
	grpc_slice_unref(c->text);
	grpc_call_details_destroy(&c->details);
	grpc_metadata_array_destroy(&c->metadata);
	arena_free(c->request_arena);
	free(c);
}

static void on_new(struct call *c, bool success)
{
	const struct gnmi_server_options *o = c->server->o;
	if (!success)
		return;
	if (!c->server->stopping)
		request_new(c->server);
	char *peer = grpc_call_get_peer(c->call);
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	gpr_free(peer);
	grpc_op closed = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER},
		first = {.op = GRPC_OP_SEND_INITIAL_METADATA};
	closed.data.recv_close_on_server.cancelled = &c->cancelled;
	start(c, &closed, 1, &c->closed);
	start(c, &first, 1, &c->first);
	if (o->username &&
		(!metadata_is(c, "username", o->username) ||
			!metadata_is(c, "password", o->password)))
		end(c, GRPC_STATUS_UNAUTHENTICATED, "authentication failed");
	else
		read_next(c);
}

static void take(struct call *c, const void *p, size_t n)
{
	if (grpc_slice_str_cmp(c->details.method, "/gnmi.gNMI/Capabilities") == 0) {
		capabilities(c);
	} else if (grpc_slice_str_cmp(c->details.method, "/gnmi.gNMI/Get") == 0) {
		if (speak_read_get(p, n, c->request_arena, &c->request))
			get(c);
		else
			end(c, GRPC_STATUS_INVALID_ARGUMENT, "no GetRequest");
	} else if (grpc_slice_str_cmp(c->details.method, "/gnmi.gNMI/Subscribe") == 0) {
		struct speak_request r;
		if (!speak_read_subscribe(p, n, c->request_arena, &r) || r.poll != c->subscribed) {
			end(c, GRPC_STATUS_INVALID_ARGUMENT, "unexpected SubscribeRequest");
		} else if (r.poll) {
			atomic_fetch_add(&c->server->polls, 1);
			round_one(c);
		} else {
			c->request = r;
			subscribe(c);
		}
		read_next(c);
	} else {
		end(c, GRPC_STATUS_UNIMPLEMENTED, "unknown method");
	}
}

static void on_recv(struct call *c)
{
	grpc_byte_buffer *b = c->received;
	c->received = NULL;
	if (!b)
		return;
	grpc_byte_buffer_reader r;
	if (grpc_byte_buffer_reader_init(&r, b)) {
		grpc_slice s = grpc_byte_buffer_reader_readall(&r);
		take(c, GRPC_SLICE_START_PTR(s), GRPC_SLICE_LENGTH(s));
		grpc_slice_unref(s);
		grpc_byte_buffer_reader_destroy(&r);
	}
	grpc_byte_buffer_destroy(b);
}

static void on_tag(const struct tag *t, bool success)
{
	struct call *c = t->call;
	c->pending--;
	switch (t->kind) {
	case TAG_NEW: on_new(c, success); break;
	case TAG_RECV: on_recv(c); break;
	case TAG_SEND:
		c->sending = false;
		if (c->flood)
			flood(c);
		out_next(c);
		break;
	case TAG_CLOSED: /* the client is gone, or we sent the status */
		c->ended = c->over = true;
		c->due_ns = 0;
		break;
	default: break;
	}
	if (c->pending == 0)
		call_free(c);
}

static void rounds_due(struct gnmi_server *s)
{
	const int64_t now = mono_now().ns;
	if (now < s->due_ns)
		return;
	s->due_ns = INT64_MAX;
	for (struct call *c = s->calls, *next; c; c = next) {
		next = c->next;
		if (c->due_ns && c->due_ns <= now)
			round_next(c);
		if (c->due_ns && c->due_ns < s->due_ns)
			s->due_ns = c->due_ns;
	}
}

static void *run(void *arg)
{
	struct gnmi_server *s = arg;
	s->due_ns = INT64_MAX;
	request_new(s);
	for (;;) {
		int64_t wait = s->due_ns == INT64_MAX ? INT64_MAX : s->due_ns - mono_now().ns;
		gpr_timespec until = wait == INT64_MAX
			? gpr_inf_future(GPR_CLOCK_MONOTONIC)
			: gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
				  gpr_time_from_nanos(wait > 0 ? wait : 0, GPR_TIMESPAN));
		grpc_event e = grpc_completion_queue_next(s->queue, until, NULL);
		if (e.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		rounds_due(s);
		if (e.type == GRPC_QUEUE_TIMEOUT)
			continue;
		const struct tag *t = e.tag;
		if (t->kind == TAG_SHUTDOWN) {
			s->stopping = true;
			grpc_completion_queue_shutdown(s->queue);
			continue;
		}
		on_tag(t, e.success != 0);
	}
}

/* ---- from other threads -------------------------------------------------- */

static grpc_server_credentials *credentials_of(const struct gnmi_server_options *o)
{
	grpc_ssl_pem_key_cert_pair pair = {o->key, o->cert};
	if (!o->cert)
		return grpc_insecure_server_credentials_create();
	return grpc_ssl_server_credentials_create_ex(o->ca, &pair, 1,
		o->ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
		      : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		NULL);
}

static void no_log(gpr_log_func_args *l)
{
}

struct gnmi_server *gnmi_server_new(const struct gnmi_server_options *o)
{
	struct gnmi_server *s = rw_calloc(1, sizeof(*s));
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	gpr_set_log_function(no_log);
	grpc_init();
	s->o = o;
	s->shutdown = (struct tag){TAG_SHUTDOWN, NULL};
	s->queue = grpc_completion_queue_create_for_next(NULL);
	grpc_arg args[] = {
		{.type = GRPC_ARG_INTEGER,
			.key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
			.value.integer = 64 << 20},
		{.type = GRPC_ARG_INTEGER,
			.key = (char *)GRPC_ARG_ALLOW_REUSEPORT,
			.value.integer = 0},
		{.type = GRPC_ARG_INTEGER,
			.key = (char *)GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
			.value.integer = GRPC_COMPRESS_NONE},
	};
	if (o->gzip)
		args[2].value.integer = GRPC_COMPRESS_GZIP;
	const grpc_channel_args list = {rw_countof(args), args};
	s->server = grpc_server_create(&list, NULL);
	grpc_server_register_completion_queue(s->server, s->queue, NULL);
	grpc_server_credentials *credentials = credentials_of(o);
	s->port = grpc_server_add_http2_port(
		s->server, o->listen ? o->listen : "127.0.0.1:0", credentials);
	grpc_server_credentials_release(credentials);
	grpc_server_start(s->server);
	pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (s->port > 0)
		return s;
	gnmi_server_free(s);
	return NULL;
}

uint16_t gnmi_server_port(const struct gnmi_server *s)
{
	return (uint16_t)s->port;
}

struct gnmi_server_counts gnmi_server_counts(struct gnmi_server *s)
{
	return (struct gnmi_server_counts){atomic_load(&s->capabilities), atomic_load(&s->gets),
		atomic_load(&s->subscribes), atomic_load(&s->polls), atomic_load(&s->refused),
		atomic_load(&s->messages)};
}

void gnmi_server_free(struct gnmi_server *s)
{
	if (!s)
		return;
	grpc_server_shutdown_and_notify(s->server, s->queue, &s->shutdown);
	grpc_server_cancel_all_calls(s->server);
	pthread_join(s->thread, NULL);
	/* Not by the thread: a server without calls is down at once, and the line above would
	 * cancel the calls of one that is gone. */
	grpc_server_destroy(s->server);
	grpc_completion_queue_destroy(s->queue);
	grpc_shutdown();
	free(s);
}
