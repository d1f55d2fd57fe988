/*
 * grpc_io - carries bytes between the loop and gRPC's thread.
 *
 * Life of a call: .refs counts one for the loop, one for each operation that gRPC has under way,
 * and one while the call is in the mailbox. gRPC's thread pushes events onto .head, a list without
 * lock (one pusher; the taker takes all), and wakes the loop when .woken was not set. The thread
 * that drops the last reference destroys the call.
 */
#include "collectors/gnmi/grpc_io.h"

#include <lazy/grpc_calls.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include "base/log.h"
#include "base/loop.h"

/* HTTP/2 window of a stream: what may be on the way before the loop has read it */
#define LOOKAHEAD_BYTES (32 << 10)
/* buffers of one read from the socket: a message keeps those it came in */
#define READ_BYTES (4 << 10)
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
	/* gRPC aborts when an operation starts on a queue that was shut down: grpc_io_put() waits
	 * until no thread is about to start one. */
	atomic_bool closing;
	atomic_uint starting;
};

struct grpc_io_channel {
	struct grpc_io *io;
	grpc_channel *channel;
};

enum io_event_kind { EVENT_STARTED, EVENT_MESSAGE, EVENT_DONE };
struct io_event {
	struct io_event *next;
	enum io_event_kind kind;
	grpc_byte_buffer *bytes; /* MESSAGE */
	char *pem; /* STARTED */
};

enum io_op_kind { OP_SEND, OP_STARTED, OP_MESSAGE, OP_STATUS };
struct io_op { /* a tag in the completion queue */
	struct grpc_io_call *call;
	enum io_op_kind kind;
};

struct grpc_io_call {
	struct grpc_io *io;
	grpc_call *call;
	struct io_op send, started, message, status; /* tags */
	atomic_uint refs, ops; /* ops: messages and status under way */
	atomic_bool sending, ended, reported, paused, woken;
	_Atomic(struct io_event *) head;
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
	bool closed; /* freed by its owner: no more callbacks */
	bool on_hold; /* by its owner: .held counts GRPC_IO_HELD_MAX more */
	bool unread; /* messages were delivered since .idle */
};

/* ---- small things -------------------------------------------------------- */

const char *grpc_io_code_name(int code)
{
	static const char *const names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
	if (code >= 0 && (size_t)code < rw_countof(names))
		return names[code];
	return "unknown status";
}

static void on_library_log(gpr_log_func_args *line)
{
	log_debug("grpc", "%s", line->message);
}

static void event_free(struct io_event *event)
{
	if (event->bytes)
		grpc_byte_buffer_destroy(event->bytes);
	free(event->pem);
	free(event);
}

static void call_unref(struct grpc_io_call *call)
{
	if (atomic_fetch_sub(&call->refs, 1) > 1)
		return;
	for (struct io_event *e = atomic_exchange(&call->head, NULL), *next; e; e = next) {
		next = e->next;
		event_free(e);
	}
	if (call->call)
		grpc_call_unref(call->call);
	grpc_metadata_array_destroy(&call->initial);
	grpc_metadata_array_destroy(&call->trailing);
	grpc_slice_unref(call->details);
	for (size_t i = 0; i < call->n_metadata; i++) {
		grpc_slice_unref(call->metadata[i].key);
		grpc_slice_unref(call->metadata[i].value);
	}
	free(call->metadata);
	atomic_fetch_sub(&call->io->calls, 1);
	free(call);
}

/* ---- gRPC's thread ------------------------------------------------------- */

static void grpc_io_push(struct grpc_io_call *call, struct io_event event)
{
	struct io_event *copy = rw_calloc(1, sizeof(*copy));
	*copy = event;
	copy->next = atomic_load(&call->head);
	while (!atomic_compare_exchange_weak(&call->head, &copy->next, copy))
		;
	if (atomic_exchange(&call->woken, true))
		return;
	atomic_fetch_add(&call->refs, 1);
	bool posted = mailbox_post(call->io->mailbox, call);
	assert(posted); /* it has room for every call there may be, and each is in it once */
	(void)posted;
}

/* op_end - one operation has ended. The last one reports the status, so that it comes after every
 * message. */
static void op_end(struct grpc_io_call *call)
{
	if (atomic_fetch_sub(&call->ops, 1) == 1 && atomic_load(&call->ended) &&
		!atomic_exchange(&call->reported, true))
		grpc_io_push(call, (struct io_event){.kind = EVENT_DONE});
}

/* message_start - asks for the next message; on either thread, one at a time. */
static void message_start(struct grpc_io_call *call)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
	op.data.recv_message.recv_message = &call->received;
	atomic_fetch_add(&call->refs, 1);
	atomic_fetch_add(&call->ops, 1);
	atomic_fetch_add(&call->io->handed, 1);
	atomic_fetch_add(&call->io->starting, 1);
	bool started = !atomic_load(&call->io->closing) &&
		grpc_call_start_batch(call->call, &op, 1, &call->message, NULL) == GRPC_CALL_OK;
	atomic_fetch_sub(&call->io->starting, 1);
	if (!started) {
		op_end(call);
		call_unref(call);
	}
}

static void grpc_io_on_message(struct grpc_io_call *call, bool success)
{
	grpc_byte_buffer *bytes = call->received;
	call->received = NULL;
	if (!success || !bytes) { /* no more will come: the status follows */
		if (bytes)
			grpc_byte_buffer_destroy(bytes);
		return;
	}
	size_t n = grpc_byte_buffer_length(bytes);
	atomic_fetch_add(&call->n_messages, 1);
	atomic_fetch_add(&call->n_bytes, n);
	size_t held = atomic_fetch_add(&call->held, n + EVENT_BYTES) + n + EVENT_BYTES;
	grpc_io_push(call, (struct io_event){.kind = EVENT_MESSAGE, .bytes = bytes});
	if (held < GRPC_IO_HELD_MAX) {
		message_start(call);
		return;
	}
	atomic_fetch_add(&call->n_stalls, 1);
	atomic_store(&call->paused, true);
	/* the loop was faster */
	if (atomic_load(&call->held) < GRPC_IO_HELD_MAX && atomic_exchange(&call->paused, false))
		message_start(call);
}

static void grpc_io_on_started(struct grpc_io_call *call, bool success)
{
	struct io_event e = {.kind = EVENT_STARTED};
	grpc_auth_context *auth = NULL;
	if (success)
		auth = grpc_call_auth_context(call->call);
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
		grpc_io_push(call, e);
}

static void op_done(struct io_op *op, bool success)
{
	struct grpc_io_call *c = op->call;
	switch (op->kind) {
	case OP_SEND: atomic_store(&c->sending, false); break;
	case OP_STARTED: grpc_io_on_started(c, success); break;
	case OP_MESSAGE:
		grpc_io_on_message(c, success);
		op_end(c);
		break;
	case OP_STATUS:
		atomic_store(&c->ended, true);
		op_end(c);
		break;
	}
	call_unref(c);
}

static void *grpc_io_run(void *arg)
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

static void message_give(struct grpc_io_call *call, grpc_byte_buffer *bytes)
{
	size_t n = grpc_byte_buffer_length(bytes);
	if (call->events->message && bytes->type == GRPC_BB_RAW &&
		bytes->data.raw.compression == GRPC_COMPRESS_NONE &&
		bytes->data.raw.slice_buffer.count == 1) {
		grpc_slice *s = &bytes->data.raw.slice_buffer.slices[0]; /* one piece: no copy */
		call->events->message(call->arg, GRPC_SLICE_START_PTR(*s), GRPC_SLICE_LENGTH(*s));
	} else if (call->events->message) {
		grpc_byte_buffer_reader r;
		if (grpc_byte_buffer_reader_init(&r, bytes)) {
			grpc_slice s = grpc_byte_buffer_reader_readall(&r);
			call->events->message(
				call->arg, GRPC_SLICE_START_PTR(s), GRPC_SLICE_LENGTH(s));
			grpc_slice_unref(s);
			grpc_byte_buffer_reader_destroy(&r);
		}
	}
	atomic_fetch_sub(&call->held, n + EVENT_BYTES);
}

static void done_give(struct grpc_io_call *call)
{
	if (!call->events->done)
		return;
	/* malloc underneath; gpr_free is free */
	rw_cleanup(freep) char *text = grpc_slice_to_c_string(call->details);
	call->events->done(
		call->arg, &(struct grpc_io_status){.code = (int)call->code, .text = text});
}

static void event_give(struct grpc_io_call *call, struct io_event *event)
{
	if (!call->closed) {
		switch (event->kind) {
		case EVENT_STARTED:
			if (call->events->started)
				call->events->started(call->arg, event->pem);
			break;
		case EVENT_MESSAGE:
			call->unread = true;
			message_give(call, event->bytes);
			break;
		case EVENT_DONE: done_give(call); break;
		}
	}
	event_free(event);
}

static void idle_give(struct grpc_io_call *call)
{
	if (call->unread && !call->closed && call->events->idle)
		call->events->idle(call->arg);
	call->unread = false;
}

static void grpc_io_on_mail(void *arg, void *message)
{
	struct grpc_io_call *c = message;
	atomic_store(&c->woken, false);
	struct io_event *list = atomic_exchange(&c->head, NULL), *first = NULL;
	while (list) { /* newest first: turn round */
		struct io_event *next = list->next;
		list->next = first;
		first = list;
		list = next;
	}
	while (first) {
		struct io_event *e = first;
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
		mailbox_free(
			io->mailbox); /* gives what is left to grpc_io_on_mail, which drops it */
	if (io->queue)
		grpc_completion_queue_destroy(io->queue);
	grpc_shutdown();
	free(io);
}

int grpc_io_prepare(struct err *e)
{
	return grpc_calls_load(e);
}

struct grpc_io *grpc_io_get(struct loop *loop, struct err *e)
{
	if (only) {
		assert(only->loop == loop);
		only->users++;
		return only;
	}
	if (grpc_calls_load(e) < 0)
		return NULL;
	/* signals are the loop's: the threads of gRPC inherit this mask */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	struct grpc_io *io = rw_calloc(1, sizeof(*io));
	gpr_set_log_function(on_library_log);
	/* gRPC's threads come and go: a heap for each would keep what it once held */
	mallopt(M_ARENA_MAX, 2);
	grpc_init();
	io->loop = loop;
	io->users = 1;
	io->queue = grpc_completion_queue_create_for_next(NULL);
	io->mailbox = mailbox_new(loop, GRPC_IO_CALLS_MAX, grpc_io_on_mail, io);
	bool ok = io->mailbox && pthread_create(&io->thread, NULL, grpc_io_run, io) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok) {
		only = io;
		return io;
	}
	err_set(e, -EAGAIN, "no thread for gRPC: %s", strerror(errno));
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
	/* operations under way were cancelled; they complete first */
	grpc_completion_queue_shutdown(io->queue);
	pthread_join(io->thread, NULL);
	io_free(io);
}

/* ---- channels ------------------------------------------------------------ */

static bool is_pem(const char *text, const char *of)
{
	return text && strstr(text, "-----BEGIN ") && strstr(text, of);
}

static grpc_channel_credentials *credentials_unverified(const struct grpc_io_options *options)
{
	grpc_tls_credentials_options *t = grpc_tls_credentials_options_create();
	grpc_tls_certificate_verifier *any = grpc_tls_certificate_verifier_no_op_create();
	grpc_tls_credentials_options_set_verify_server_cert(t, 0);
	grpc_tls_credentials_options_set_check_call_host(t, 0);
	grpc_tls_credentials_options_set_certificate_verifier(t, any);
	grpc_tls_certificate_verifier_release(any);
	if (options->cert) {
		grpc_tls_identity_pairs *pair = grpc_tls_identity_pairs_create();
		grpc_tls_identity_pairs_add_pair(pair, options->key, options->cert);
		grpc_tls_certificate_provider *p =
			grpc_tls_certificate_provider_static_data_create(NULL, pair);
		grpc_tls_credentials_options_set_certificate_provider(t, p);
		grpc_tls_credentials_options_watch_identity_key_cert_pairs(t);
		grpc_tls_certificate_provider_release(p);
	}
	return grpc_tls_credentials_create(t);
}

static grpc_channel_credentials *credentials_of(const struct grpc_io_options *options)
{
	if (!options->tls)
		return grpc_insecure_credentials_create();
	if (options->skip_verify)
		return credentials_unverified(options);
	grpc_ssl_pem_key_cert_pair pair = {options->key, options->cert};
	return grpc_ssl_credentials_create(options->ca, options->cert ? &pair : NULL, NULL, NULL);
}

static grpc_arg arg_int(const char *key, int value)
{
	return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value};
}

int grpc_io_connect(struct grpc_io *io, const struct grpc_io_options *options,
	struct grpc_io_channel **ret, struct err *e)
{
	char target[320];
	int connect_ms = (int)(options->connect_ns / NS_PER_MS);
	if (options->tls && !options->skip_verify && !is_pem(options->ca, "CERTIFICATE"))
		return err_set(e, -EINVAL,
			"the CA file holds no certificate in PEM form (-----BEGIN "
			"CERTIFICATE-----)");
	if (options->tls && options->cert && !is_pem(options->cert, "CERTIFICATE"))
		return err_set(e, -EINVAL, "the file of tls.cert holds no certificate in PEM form");
	if (options->tls && options->cert && !is_pem(options->key, "PRIVATE KEY"))
		return err_set(e, -EINVAL, "the file of tls.key holds no private key in PEM form");
	const bool is_ipv6 = strchr(options->host, ':') != NULL;
	snprintf(target, sizeof(target), "dns:///%s%s%s:%u", str_if(is_ipv6, "["), options->host,
		str_if(is_ipv6, "]"), options->port);
	grpc_arg args[20];
	size_t n = 0;
	/* else two channels to one target share a connection */
	args[n++] = arg_int(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	args[n++] = arg_int(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)options->max_message);
	/* gRPC compares a message with its limit only after it has inflated it: a gigabyte of
	 * zeros travels in a megabyte. So nothing compressed is taken. */
	args[n++] = arg_int(
		GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
	args[n++] = arg_int(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
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
	if (options->tls && options->server_name)
		args[n++] = (grpc_arg){.type = GRPC_ARG_STRING,
			.key = (char *)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
			.value.string = (char *)options->server_name};
	const grpc_channel_args list = {n, args};
	grpc_channel_credentials *credentials = credentials_of(options);
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

void grpc_io_close(struct grpc_io_channel *channel)
{
	if (!channel)
		return;
	grpc_channel_destroy(channel->channel);
	free(channel);
}

/* ---- calls --------------------------------------------------------------- */

static bool metadata_copy(
	struct grpc_io_call *call, const struct grpc_io_request *request, struct err *e)
{
	call->metadata = rw_calloc(request->n_metadata + 1, sizeof(*call->metadata));
	for (size_t i = 0; i < request->n_metadata; i++) {
		grpc_metadata *m = &call->metadata[call->n_metadata++];
		m->key = grpc_slice_from_copied_string(request->metadata[i].key);
		m->value = grpc_slice_from_copied_string(request->metadata[i].value);
		if (!grpc_header_key_is_legal(m->key) ||
			!grpc_header_nonbin_value_is_legal(m->value)) {
			err_set(e, -EINVAL,
				"the %s has a character that gRPC cannot carry: printable ASCII "
				"only",
				request->metadata[i].key);
			return false;
		}
	}
	return true;
}

static grpc_byte_buffer *bytes_of_copy(const void *data, size_t n)
{
	grpc_slice s = grpc_slice_from_copied_buffer(data, n);
	grpc_byte_buffer *b = grpc_raw_byte_buffer_create(&s, 1);
	grpc_slice_unref(s);
	return b;
}

/* grpc_io_batch - cannot fail: metadata_copy() has checked what depends on the user. */
static void grpc_io_batch(
	struct grpc_io_call *call, const grpc_op *ops, size_t n, struct io_op *tag)
{
	atomic_fetch_add(&call->refs, 1);
	atomic_fetch_add(&call->io->handed, 1);
	grpc_call_error rc = grpc_call_start_batch(call->call, ops, n, tag, NULL);
	assert(rc == GRPC_CALL_OK);
	(void)rc;
}

static void call_start(struct grpc_io_call *call, const struct grpc_io_request *request)
{
	grpc_byte_buffer *bytes = bytes_of_copy(request->p, request->n);
	grpc_op first[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}, {.op = GRPC_OP_SEND_MESSAGE},
		{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}};
	first[0].data.send_initial_metadata.count = call->n_metadata;
	first[0].data.send_initial_metadata.metadata = call->metadata;
	first[1].data.send_message.send_message = bytes;
	grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT},
		started = {.op = GRPC_OP_RECV_INITIAL_METADATA};
	status.data.recv_status_on_client.trailing_metadata = &call->trailing;
	status.data.recv_status_on_client.status = &call->code;
	status.data.recv_status_on_client.status_details = &call->details;
	started.data.recv_initial_metadata.recv_initial_metadata = &call->initial;
	atomic_store(&call->sending, true);
	atomic_store(&call->ops, 1); /* the status */
	grpc_io_batch(call, &status, 1, &call->status);
	size_t n_first = 2;
	if (request->half_close)
		n_first = 3;
	grpc_io_batch(call, first, n_first, &call->send);
	grpc_io_batch(call, &started, 1, &call->started);
	message_start(call);
	grpc_byte_buffer_destroy(bytes);
}

int grpc_io_call_new(struct grpc_io_channel *channel, const struct grpc_io_request *request,
	const struct grpc_io_events *events, void *arg, struct grpc_io_call **ret, struct err *e)
{
	struct grpc_io *io = channel->io;
	struct grpc_io_call *c = rw_calloc(1, sizeof(*c));
	c->io = io;
	c->events = events;
	c->arg = arg;
	c->send = (struct io_op){c, OP_SEND};
	c->started = (struct io_op){c, OP_STARTED};
	c->message = (struct io_op){c, OP_MESSAGE};
	c->status = (struct io_op){c, OP_STATUS};
	c->details = grpc_empty_slice();
	grpc_metadata_array_init(&c->initial);
	grpc_metadata_array_init(&c->trailing);
	atomic_store(&c->refs, 1);
	int rc = 0;
	if (atomic_fetch_add(&io->calls, 1) >= GRPC_IO_CALLS_MAX)
		rc = err_set(e, -EMFILE, "more than %u calls at once", GRPC_IO_CALLS_MAX);
	else if (!metadata_copy(c, request, e))
		rc = -EINVAL;
	if (rc < 0) {
		call_unref(c);
		return rc;
	}
	gpr_timespec deadline;
	if (request->deadline_ns > 0)
		deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			gpr_time_from_nanos(request->deadline_ns, GPR_TIMESPAN));
	else
		deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
	grpc_slice method = grpc_slice_from_copied_string(request->method);
	c->call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
		io->queue, method, NULL, deadline, NULL);
	grpc_slice_unref(method);
	call_start(c, request);
	*ret = c;
	return 0;
}

int grpc_io_call_send(struct grpc_io_call *call, const void *data, size_t n)
{
	if (atomic_load(&call->ended))
		return -EPIPE;
	if (atomic_exchange(&call->sending, true))
		return -EBUSY;
	grpc_byte_buffer *bytes = bytes_of_copy(data, n);
	grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
	op.data.send_message.send_message = bytes;
	grpc_io_batch(call, &op, 1, &call->send);
	grpc_byte_buffer_destroy(bytes);
	return 0;
}

void grpc_io_call_hold(struct grpc_io_call *call, bool hold)
{
	if (hold == call->on_hold)
		return;
	call->on_hold = hold;
	if (hold) {
		atomic_fetch_add(&call->held, GRPC_IO_HELD_MAX);
		return;
	}
	atomic_fetch_sub(&call->held, GRPC_IO_HELD_MAX);
	if (atomic_load(&call->held) < GRPC_IO_HELD_MAX && atomic_exchange(&call->paused, false))
		message_start(call);
}

void grpc_io_call_free(struct grpc_io_call *call)
{
	if (!call)
		return;
	call->closed = true;
	if (!atomic_load(&call->ended))
		grpc_call_cancel(call->call, NULL);
	call_unref(call);
}

struct grpc_io_counts grpc_io_call_counts(const struct grpc_io_call *call)
{
	struct grpc_io_call *m = (struct grpc_io_call *)call;
	return (struct grpc_io_counts){.messages = atomic_load(&m->n_messages),
		.bytes = atomic_load(&m->n_bytes),
		.stalls = atomic_load(&m->n_stalls)};
}
