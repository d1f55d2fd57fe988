/*
 * grpc_io - see the header.
 *
 * Life of a call: it is counted (.refs) once for the loop, once for each operation that gRPC has
 * under way, and once while it is in the mailbox. gRPC's thread pushes what happened onto .head, a
 * list without lock (one pusher, one taker who takes all), and wakes the loop when .woken was not
 * set. Who drops the last reference, on either thread, destroys the call.
 */
#include "collectors/gnmi/grpc_io.h"

#include <assert.h>
#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"

#define LOOKAHEAD_BYTES                                                                            \
	(32 << 10) /* HTTP/2 window of a stream: what may be on the way before the loop has read   \
		      it */
#define READ_BYTES                                                                                 \
	(4 << 10) /* buffers of one read from the socket: a message keeps those it came in */
#define READ_MAX_BYTES (32 << 10)
#define EVENT_BYTES 64 /* what an event costs beside its bytes */

struct grpc_io {
	struct loop *loop;
	unsigned users;
	grpc_completion_queue *queue;
	pthread_t thread;
	struct mailbox *mailbox;
	atomic_uint calls;
	/* Counts batches. gRPC's queue orders the loop before the thread anyway, but the thread
	 * sanitizer does not see into it: this it does
	 * (TSAN_OPTIONS=ignore_noninstrumented_modules=1). */
	atomic_uint handed;
	/* gRPC aborts when an operation is started on a queue that was shut down: who ends it waits
	 * until nobody is about to start one. */
	atomic_bool closing;
	atomic_uint starting;
};

struct grpc_io_channel {
	struct grpc_io *io;
	grpc_channel *channel;
};

enum event_kind { EVENT_STARTED, EVENT_MESSAGE, EVENT_DONE };
struct event {
	struct event *next;
	enum event_kind kind;
	grpc_byte_buffer *bytes; /* MESSAGE */
	char *pem; /* STARTED */
};

enum op_kind { OP_SEND, OP_STARTED, OP_MESSAGE, OP_STATUS };
struct op { /* a tag in the completion queue */
	struct grpc_io_call *call;
	enum op_kind kind;
};

struct grpc_io_call {
	struct grpc_io *io;
	grpc_call *call;
	struct op send, started, message, status; /* tags */
	atomic_uint refs, ops; /* ops: messages and status under way */
	atomic_bool sending, over, told, paused, woken;
	_Atomic(struct event *) head;
	atomic_size_t held;
	atomic_ullong n_messages, n_bytes, n_stalls;

	/* what the operations write to */
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *received;
	grpc_status_code code;
	grpc_slice details;
	grpc_metadata *metadata;
	size_t n_metadata;

	/* loop only */
	const struct grpc_io_events *events;
	void *arg;
	bool closed, unread; /* unread: messages were given since .idle */
};

/* ---- small things -------------------------------------------------------- */

const char *grpc_io_code_name(int code)
{
	static const char *const names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
	return code >= 0 && (size_t)code < rw_countof(names) ? names[code] : "unknown status";
}

static void on_library_log(gpr_log_func_args *l)
{
	log_debug("grpc", "%s", l->message);
}

static void event_free(struct event *e)
{
	if (e->bytes)
		grpc_byte_buffer_destroy(e->bytes);
	free(e->pem);
	free(e);
}

static void call_unref(struct grpc_io_call *c)
{
	if (atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	for (struct event *e = atomic_exchange(&c->head, NULL), *next; e; e = next) {
		next = e->next;
		event_free(e);
	}
	if (c->call)
		grpc_call_unref(c->call);
	grpc_metadata_array_destroy(&c->initial);
	grpc_metadata_array_destroy(&c->trailing);
	grpc_slice_unref(c->details);
	for (size_t i = 0; i < c->n_metadata; i++) {
		grpc_slice_unref(c->metadata[i].key);
		grpc_slice_unref(c->metadata[i].value);
	}
	free(c->metadata);
	atomic_fetch_sub(&c->io->calls, 1);
	free(c);
}

/* ---- gRPC's thread ------------------------------------------------------- */

static void push(struct grpc_io_call *c, struct event e)
{
	struct event *copy = rw_calloc(1, sizeof(*copy));
	*copy = e;
	copy->next = atomic_load(&c->head);
	while (!atomic_compare_exchange_weak(&c->head, &copy->next, copy))
		;
	if (atomic_exchange(&c->woken, true))
		return;
	atomic_fetch_add(&c->refs, 1);
	bool posted = mailbox_post(c->io->mailbox, c);
	assert(posted); /* it has room for every call there may be, and each is in it once */
	(void)posted;
}

/* One operation is over; the status is told when it was the last, so that it comes after every
 * message. */
static void op_over(struct grpc_io_call *c)
{
	if (atomic_fetch_sub(&c->ops, 1) == 1 && atomic_load(&c->over) &&
		!atomic_exchange(&c->told, true))
		push(c, (struct event){.kind = EVENT_DONE});
}

/* Ask for the next message; on either thread, one at a time. */
static void message_start(struct grpc_io_call *c)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
	op.data.recv_message.recv_message = &c->received;
	atomic_fetch_add(&c->refs, 1);
	atomic_fetch_add(&c->ops, 1);
	atomic_fetch_add(&c->io->handed, 1);
	atomic_fetch_add(&c->io->starting, 1);
	bool started = !atomic_load(&c->io->closing) &&
		grpc_call_start_batch(c->call, &op, 1, &c->message, NULL) == GRPC_CALL_OK;
	atomic_fetch_sub(&c->io->starting, 1);
	if (!started) {
		op_over(c);
		call_unref(c);
	}
}

static void on_message(struct grpc_io_call *c, bool success)
{
	grpc_byte_buffer *bytes = c->received;
	c->received = NULL;
	if (!success || !bytes) { /* no more will come: the status follows */
		if (bytes)
			grpc_byte_buffer_destroy(bytes);
		return;
	}
	size_t n = grpc_byte_buffer_length(bytes);
	atomic_fetch_add(&c->n_messages, 1);
	atomic_fetch_add(&c->n_bytes, n);
	size_t held = atomic_fetch_add(&c->held, n + EVENT_BYTES) + n + EVENT_BYTES;
	push(c, (struct event){.kind = EVENT_MESSAGE, .bytes = bytes});
	if (held < GRPC_IO_HELD_MAX) {
		message_start(c);
		return;
	}
	atomic_fetch_add(&c->n_stalls, 1);
	atomic_store(&c->paused, true);
	/* the loop was faster */
	if (atomic_load(&c->held) < GRPC_IO_HELD_MAX && atomic_exchange(&c->paused, false))
		message_start(c);
}

static void on_started(struct grpc_io_call *c, bool success)
{
	struct event e = {.kind = EVENT_STARTED};
	grpc_auth_context *auth = success ? grpc_call_auth_context(c->call) : NULL;
	if (auth) {
		grpc_auth_property_iterator i = grpc_auth_context_find_properties_by_name(
			auth, GRPC_X509_PEM_CERT_PROPERTY_NAME);
		const grpc_auth_property *p = grpc_auth_property_iterator_next(&i);
		if (p) {
			e.pem = rw_calloc(1, p->value_length + 1);
			memcpy(e.pem, p->value, p->value_length);
		}
		grpc_auth_context_release(auth);
	}
	if (success)
		push(c, e);
}

static void op_done(struct op *op, bool success)
{
	struct grpc_io_call *c = op->call;
	switch (op->kind) {
	case OP_SEND: atomic_store(&c->sending, false); break;
	case OP_STARTED: on_started(c, success); break;
	case OP_MESSAGE:
		on_message(c, success);
		op_over(c);
		break;
	case OP_STATUS:
		atomic_store(&c->over, true);
		op_over(c);
		break;
	}
	call_unref(c);
}

static void *run(void *arg)
{
	struct grpc_io *io = arg;
	for (;;) {
		grpc_event e = grpc_completion_queue_next(
			io->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
		if (e.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		(void)atomic_load(&io->handed);
		if (e.type == GRPC_OP_COMPLETE)
			op_done(e.tag, e.success != 0);
	}
}

/* ---- the loop ------------------------------------------------------------ */

static void message_give(struct grpc_io_call *c, grpc_byte_buffer *bytes)
{
	size_t n = grpc_byte_buffer_length(bytes);
	if (c->events->message && bytes->type == GRPC_BB_RAW &&
		bytes->data.raw.compression == GRPC_COMPRESS_NONE &&
		bytes->data.raw.slice_buffer.count == 1) {
		grpc_slice *s = &bytes->data.raw.slice_buffer.slices[0]; /* one piece: no copy */
		c->events->message(c->arg, GRPC_SLICE_START_PTR(*s), GRPC_SLICE_LENGTH(*s));
	} else if (c->events->message) {
		grpc_byte_buffer_reader r;
		if (grpc_byte_buffer_reader_init(&r, bytes)) {
			grpc_slice s = grpc_byte_buffer_reader_readall(&r);
			c->events->message(c->arg, GRPC_SLICE_START_PTR(s), GRPC_SLICE_LENGTH(s));
			grpc_slice_unref(s);
			grpc_byte_buffer_reader_destroy(&r);
		}
	}
	atomic_fetch_sub(&c->held, n + EVENT_BYTES);
}

static void done_give(struct grpc_io_call *c)
{
	if (!c->events->done)
		return;
	/* malloc underneath; gpr_free is free */
	rw_cleanup(freep) char *text = grpc_slice_to_c_string(c->details);
	c->events->done(c->arg, &(struct grpc_io_status){.code = (int)c->code, .text = text});
}

static void event_give(struct grpc_io_call *c, struct event *e)
{
	if (!c->closed) {
		switch (e->kind) {
		case EVENT_STARTED:
			if (c->events->started)
				c->events->started(c->arg, e->pem);
			break;
		case EVENT_MESSAGE:
			c->unread = true;
			message_give(c, e->bytes);
			break;
		case EVENT_DONE: done_give(c); break;
		}
	}
	event_free(e);
}

static void idle_give(struct grpc_io_call *c)
{
	if (c->unread && !c->closed && c->events->idle)
		c->events->idle(c->arg);
	c->unread = false;
}

static void on_mail(void *arg, void *message)
{
	struct grpc_io_call *c = message;
	atomic_store(&c->woken, false);
	struct event *list = atomic_exchange(&c->head, NULL), *first = NULL;
	while (list) { /* newest first: turn round */
		struct event *next = list->next;
		list->next = first;
		first = list;
		list = next;
	}
	while (first) {
		struct event *e = first;
		first = e->next;
		if (e->kind == EVENT_DONE)
			idle_give(c);
		event_give(c, e);
	}
	idle_give(c);
	if (!c->closed && atomic_load(&c->held) < GRPC_IO_HELD_MAX &&
		atomic_exchange(&c->paused, false))
		message_start(c);
	call_unref(c);
}

/* ---- life ---------------------------------------------------------------- */

static struct grpc_io *only; /* gRPC is process-wide, and so is this */

static void io_free(struct grpc_io *io)
{
	if (io->mailbox)
		mailbox_free(io->mailbox); /* gives what is left to on_mail, which drops it */
	if (io->queue)
		grpc_completion_queue_destroy(io->queue);
	grpc_shutdown();
	free(io);
}

struct grpc_io *grpc_io_get(struct loop *l)
{
	if (only) {
		assert(only->loop == l);
		only->users++;
		return only;
	}
	/* signals are the loop's: the threads of gRPC inherit this mask */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	struct grpc_io *io = rw_calloc(1, sizeof(*io));
	gpr_set_log_function(on_library_log);
	/* gRPC's threads come and go: a heap for each would keep what it once held */
	mallopt(M_ARENA_MAX, 2);
	grpc_init();
	io->loop = l;
	io->users = 1;
	io->queue = grpc_completion_queue_create_for_next(NULL);
	io->mailbox = mailbox_new(l, GRPC_IO_CALLS_MAX, on_mail, io);
	bool ok = io->mailbox && pthread_create(&io->thread, NULL, run, io) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok) {
		only = io;
		return io;
	}
	grpc_completion_queue_shutdown(io->queue);
	while (grpc_completion_queue_next(io->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
			.type != GRPC_QUEUE_SHUTDOWN)
		;
	io_free(io);
	return NULL;
}

void grpc_io_put(struct grpc_io *io)
{
	if (!io || --io->users > 0)
		return;
	only = NULL;
	atomic_store(&io->closing, true);
	while (atomic_load(&io->starting) > 0)
		sched_yield();
	/* what is under way was cancelled and comes out first */
	grpc_completion_queue_shutdown(io->queue);
	pthread_join(io->thread, NULL);
	io_free(io);
}

/* ---- channels ------------------------------------------------------------ */

static bool is_pem(const char *text, const char *of)
{
	return text && strstr(text, "-----BEGIN ") && strstr(text, of);
}

static grpc_channel_credentials *credentials_unverified(const struct grpc_io_options *o)
{
	grpc_tls_credentials_options *t = grpc_tls_credentials_options_create();
	grpc_tls_certificate_verifier *any = grpc_tls_certificate_verifier_no_op_create();
	grpc_tls_credentials_options_set_verify_server_cert(t, 0);
	grpc_tls_credentials_options_set_check_call_host(t, 0);
	grpc_tls_credentials_options_set_certificate_verifier(t, any);
	grpc_tls_certificate_verifier_release(any);
	if (o->cert) {
		grpc_tls_identity_pairs *pair = grpc_tls_identity_pairs_create();
		grpc_tls_identity_pairs_add_pair(pair, o->key, o->cert);
		grpc_tls_certificate_provider *p =
			grpc_tls_certificate_provider_static_data_create(NULL, pair);
		grpc_tls_credentials_options_set_certificate_provider(t, p);
		grpc_tls_credentials_options_watch_identity_key_cert_pairs(t);
		grpc_tls_certificate_provider_release(p);
	}
	return grpc_tls_credentials_create(t);
}

static grpc_channel_credentials *credentials_of(const struct grpc_io_options *o)
{
	if (!o->tls)
		return grpc_insecure_credentials_create();
	if (o->skip_verify)
		return credentials_unverified(o);
	grpc_ssl_pem_key_cert_pair pair = {o->key, o->cert};
	return grpc_ssl_credentials_create(o->ca, o->cert ? &pair : NULL, NULL, NULL);
}

static grpc_arg arg_int(const char *key, int value)
{
	return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value};
}

int grpc_io_connect(struct grpc_io *io, const struct grpc_io_options *o,
	struct grpc_io_channel **ret, struct err *e)
{
	char target[320];
	int connect_ms = (int)(o->connect_ns / NS_PER_MS);
	if (o->tls && !o->skip_verify && !is_pem(o->ca, "CERTIFICATE"))
		return err_set(e, -EINVAL,
			"the CA file holds no certificate in PEM form (-----BEGIN "
			"CERTIFICATE-----)");
	if (o->tls && o->cert && !is_pem(o->cert, "CERTIFICATE"))
		return err_set(e, -EINVAL, "the file of tls.cert holds no certificate in PEM form");
	if (o->tls && o->cert && !is_pem(o->key, "PRIVATE KEY"))
		return err_set(e, -EINVAL, "the file of tls.key holds no private key in PEM form");
	snprintf(target, sizeof(target), strchr(o->host, ':') ? "dns:///[%s]:%u" : "dns:///%s:%u",
		o->host, o->port);
	grpc_arg args[20];
	size_t n = 0;
	/* else two channels to one target share a connection */
	args[n++] = arg_int(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	args[n++] = arg_int(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)o->max_message);
	args[n++] = arg_int(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
	args[n++] = arg_int(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
	args[n++] = arg_int(GRPC_ARG_DNS_ENABLE_SRV_QUERIES, 0);
	args[n++] = arg_int(GRPC_ARG_ENABLE_RETRIES, 0);
	args[n++] = arg_int(GRPC_ARG_HTTP2_BDP_PROBE, 0);
	args[n++] = arg_int(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, LOOKAHEAD_BYTES);
	args[n++] = arg_int(GRPC_ARG_TCP_READ_CHUNK_SIZE, READ_BYTES);
	args[n++] = arg_int(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, READ_MAX_BYTES);
	args[n++] = arg_int(GRPC_ARG_KEEPALIVE_TIME_MS, GRPC_IO_KEEPALIVE_S * 1000);
	args[n++] = arg_int(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
	/* how long a connection may take */
	args[n++] = arg_int(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, connect_ms);
	args[n++] = arg_int(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, connect_ms);
	args[n++] = arg_int(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, connect_ms);
	args[n++] = (grpc_arg){.type = GRPC_ARG_STRING,
		.key = (char *)GRPC_ARG_PRIMARY_USER_AGENT_STRING,
		.value.string = (char *)"rocewatch/" RW_VERSION};
	if (o->tls && o->server_name)
		args[n++] = (grpc_arg){.type = GRPC_ARG_STRING,
			.key = (char *)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
			.value.string = (char *)o->server_name};
	const grpc_channel_args list = {n, args};
	grpc_channel_credentials *credentials = credentials_of(o);
	if (!credentials)
		return err_set(e, -EINVAL,
			"the certificate and the key of tls.cert and tls.key cannot be used "
			"together");
	struct grpc_io_channel *c = rw_calloc(1, sizeof(*c));
	*c = (struct grpc_io_channel){
		.io = io, .channel = grpc_channel_create(target, credentials, &list)};
	grpc_channel_credentials_release(credentials);
	*ret = c;
	return 0;
}

void grpc_io_close(struct grpc_io_channel *c)
{
	if (!c)
		return;
	grpc_channel_destroy(c->channel);
	free(c);
}

/* ---- calls --------------------------------------------------------------- */

static bool metadata_copy(struct grpc_io_call *c, const struct grpc_io_request *r, struct err *e)
{
	c->metadata = rw_calloc(r->n_metadata ? r->n_metadata : 1, sizeof(*c->metadata));
	for (size_t i = 0; i < r->n_metadata; i++) {
		grpc_metadata *m = &c->metadata[c->n_metadata++];
		m->key = grpc_slice_from_copied_string(r->metadata[i].key);
		m->value = grpc_slice_from_copied_string(r->metadata[i].value);
		if (!grpc_header_key_is_legal(m->key) ||
			!grpc_header_nonbin_value_is_legal(m->value)) {
			err_set(e, -EINVAL,
				"the %s has a character that gRPC cannot carry: printable ASCII "
				"only",
				r->metadata[i].key);
			return false;
		}
	}
	return true;
}

static grpc_byte_buffer *bytes_of_copy(const void *p, size_t n)
{
	grpc_slice s = grpc_slice_from_copied_buffer(p, n);
	grpc_byte_buffer *b = grpc_raw_byte_buffer_create(&s, 1);
	grpc_slice_unref(s);
	return b;
}

/* A batch of ours cannot be wrong, except in what metadata_copy() has checked. */
static void batch(struct grpc_io_call *c, const grpc_op *ops, size_t n, struct op *tag)
{
	atomic_fetch_add(&c->refs, 1);
	atomic_fetch_add(&c->io->handed, 1);
	grpc_call_error rc = grpc_call_start_batch(c->call, ops, n, tag, NULL);
	assert(rc == GRPC_CALL_OK);
	(void)rc;
}

static void call_start(struct grpc_io_call *c, const struct grpc_io_request *r)
{
	grpc_byte_buffer *bytes = bytes_of_copy(r->p, r->n);
	grpc_op first[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}, {.op = GRPC_OP_SEND_MESSAGE},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}};
	first[0].data.send_initial_metadata.count = c->n_metadata;
	first[0].data.send_initial_metadata.metadata = c->metadata;
	first[1].data.send_message.send_message = bytes;
	grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT},
		started = {.op = GRPC_OP_RECV_INITIAL_METADATA};
	status.data.recv_status_on_client.trailing_metadata = &c->trailing;
	status.data.recv_status_on_client.status = &c->code;
	status.data.recv_status_on_client.status_details = &c->details;
	started.data.recv_initial_metadata.recv_initial_metadata = &c->initial;
	atomic_store(&c->sending, true);
	atomic_store(&c->ops, 1); /* the status */
	batch(c, &status, 1, &c->status);
	batch(c, first, r->half_close ? 3 : 2, &c->send);
	batch(c, &started, 1, &c->started);
	message_start(c);
	grpc_byte_buffer_destroy(bytes);
}

int grpc_io_call_new(struct grpc_io_channel *channel, const struct grpc_io_request *r,
	const struct grpc_io_events *events, void *arg, struct grpc_io_call **ret, struct err *e)
{
	struct grpc_io *io = channel->io;
	struct grpc_io_call *c = rw_calloc(1, sizeof(*c));
	c->io = io;
	c->events = events;
	c->arg = arg;
	c->send = (struct op){c, OP_SEND};
	c->started = (struct op){c, OP_STARTED};
	c->message = (struct op){c, OP_MESSAGE};
	c->status = (struct op){c, OP_STATUS};
	c->details = grpc_empty_slice();
	grpc_metadata_array_init(&c->initial);
	grpc_metadata_array_init(&c->trailing);
	atomic_store(&c->refs, 1);
	int rc = 0;
	if (atomic_fetch_add(&io->calls, 1) >= GRPC_IO_CALLS_MAX)
		rc = err_set(e, -EMFILE, "more than %u calls at once", GRPC_IO_CALLS_MAX);
	else if (!metadata_copy(c, r, e))
		rc = -EINVAL;
	if (rc < 0) {
		call_unref(c);
		return rc;
	}
	gpr_timespec deadline = r->deadline_ns > 0
		? gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			  gpr_time_from_nanos(r->deadline_ns, GPR_TIMESPAN))
		: gpr_inf_future(GPR_CLOCK_MONOTONIC);
	grpc_slice method = grpc_slice_from_copied_string(r->method);
	c->call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
		io->queue, method, NULL, deadline, NULL);
	grpc_slice_unref(method);
	call_start(c, r);
	*ret = c;
	return 0;
}

int grpc_io_call_send(struct grpc_io_call *c, const void *p, size_t n)
{
	if (atomic_load(&c->over))
		return -EPIPE;
	if (atomic_exchange(&c->sending, true))
		return -EBUSY;
	grpc_byte_buffer *bytes = bytes_of_copy(p, n);
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
	op.data.send_message.send_message = bytes;
	batch(c, &op, 1, &c->send);
	grpc_byte_buffer_destroy(bytes);
	return 0;
}

void grpc_io_call_free(struct grpc_io_call *c)
{
	if (!c)
		return;
	c->closed = true;
	if (!atomic_load(&c->over))
		grpc_call_cancel(c->call, NULL);
	call_unref(c);
}

struct grpc_io_counts grpc_io_call_counts(const struct grpc_io_call *c)
{
	struct grpc_io_call *m = (struct grpc_io_call *)c;
	return (struct grpc_io_counts){.messages = atomic_load(&m->n_messages),
		.bytes = atomic_load(&m->n_bytes),
		.stalls = atomic_load(&m->n_stalls)};
}
