/* otlp_grpc - a server of gRPC's C core. */
#include "collectors/push/otlp_grpc.h"

#include <lazy/grpc_calls.h>
#include <pthread.h>

#define METHOD "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
#define CALL_NS (30 * NS_PER_S) /* a message that is not there by then is not waited for */
#define LOOK_MS 500

enum { SLOTS_EXPORT = 32, SLOTS_OTHER = 4, SLOTS = SLOTS_EXPORT + SLOTS_OTHER };
enum { STREAMS = 16, OPS_MAX = 4 };
enum { MEMORY_MAX = 256 << 20 }; /* bytes that gRPC keeps for messages under way */

enum grpc_step { STEP_IDLE, STEP_REQUESTED, STEP_READING, STEP_ANSWERING };

struct grpc_slot { /* one call; its address is the tag of what was asked of gRPC */
	struct otlp_grpc *of;
	enum grpc_step step;
	bool other; /* of a method that is not served */
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	gpr_timespec deadline;
	grpc_byte_buffer *message, *answer;
	grpc_metadata trailing;
	grpc_slice status_text;
	int cancelled;
	bool given_up;
	int64_t since_ns;
};

struct otlp_grpc {
	struct otlp_door door;
	grpc_completion_queue *queue;
	grpc_server *server;
	grpc_server_credentials *credentials;
	grpc_resource_quota *quota;
	void *method;
	pthread_t thread;
	struct grpc_slot slots[SLOTS];
	bool ending; /* atomic */
};

static bool grpc_ending(const struct otlp_grpc *grpc)
{
	return __atomic_load_n(&grpc->ending, __ATOMIC_ACQUIRE);
}

/* ---- calls ------------------------------------------------------------------- */

static void slot_request(struct grpc_slot *slot)
{
	struct otlp_grpc *grpc = slot->of;
	grpc_call_error rc;
	slot->step = STEP_REQUESTED;
	grpc_metadata_array_init(&slot->metadata);
	if (slot->other) {
		grpc_call_details_init(&slot->details);
		rc = grpc_server_request_call(grpc->server, &slot->call, &slot->details,
			&slot->metadata, grpc->queue, grpc->queue, slot);
	} else {
		rc = grpc_server_request_registered_call(grpc->server, grpc->method, &slot->call,
			&slot->deadline, &slot->metadata, NULL, grpc->queue, grpc->queue, slot);
	}
	if (rc != GRPC_CALL_OK)
		slot->step = STEP_IDLE;
}

static void slot_batch(struct grpc_slot *slot, const grpc_op *ops, size_t n, enum grpc_step step)
{
	slot->step = step;
	slot->since_ns = mono_now().ns;
	if (grpc_call_start_batch(slot->call, ops, n, slot, NULL) != GRPC_CALL_OK)
		slot->step = STEP_IDLE;
}

static void slot_read(struct grpc_slot *slot)
{
	const grpc_op op = {
		.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &slot->message};
	slot_batch(slot, &op, 1, STEP_READING);
}

/* google.rpc.Status { code, details: Any(RetryInfo { retry_delay { seconds } }) }, so that a client
 * knows that it may come again. */
static size_t slot_retry_details(uint8_t out[96], unsigned seconds)
{
	static const char url[] = "type.googleapis.com/google.rpc.RetryInfo";
	size_t n = 0;
	const size_t n_url = sizeof(url) - 1;
	out[n++] = 0x08; /* code */
	out[n++] = GRPC_STATUS_RESOURCE_EXHAUSTED;
	out[n++] = 0x1a; /* details */
	out[n++] = (uint8_t)(2 + n_url + 2 + 4);
	out[n++] = 0x0a; /* type_url */
	out[n++] = (uint8_t)n_url;
	memcpy(out + n, url, n_url);
	n += n_url;
	out[n++] = 0x12; /* value */
	out[n++] = 4;
	out[n++] = 0x0a; /* retry_delay */
	out[n++] = 2;
	out[n++] = 0x08; /* seconds */
	out[n++] = (uint8_t)(seconds & 0x7f);
	return n;
}

static grpc_status_code slot_status(const struct otlp_reply *reply)
{
	static const grpc_status_code codes[] = {[OTLP_TAKEN] = GRPC_STATUS_OK,
		[OTLP_BUSY] = GRPC_STATUS_RESOURCE_EXHAUSTED,
		[OTLP_BAD] = GRPC_STATUS_INVALID_ARGUMENT,
		[OTLP_LARGE] = GRPC_STATUS_OUT_OF_RANGE};
	return codes[reply->verdict];
}

/* @reply NULL: the method is not served. */
static void slot_answer(struct grpc_slot *slot, const struct otlp_reply *reply)
{
	grpc_op ops[OPS_MAX] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
	size_t n = 1;
	const char *text = "only metrics are taken here";
	grpc_status_code code = GRPC_STATUS_UNIMPLEMENTED;
	size_t n_trailing = 0;
	if (reply) {
		code = slot_status(reply);
		text = reply->message;
	}
	if (code == GRPC_STATUS_OK) {
		grpc_slice slice =
			grpc_slice_from_copied_buffer((const char *)reply->answer, reply->n_answer);
		slot->answer = grpc_raw_byte_buffer_create(&slice, 1);
		grpc_slice_unref(slice);
		text = "";
		ops[n++] = (grpc_op){
			.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = slot->answer};
	} else if (code == GRPC_STATUS_RESOURCE_EXHAUSTED) {
		uint8_t details[96];
		const size_t n_details = slot_retry_details(details, reply->retry_s);
		slot->trailing.key = grpc_slice_from_static_string("grpc-status-details-bin");
		slot->trailing.value =
			grpc_slice_from_copied_buffer((const char *)details, n_details);
		n_trailing = 1;
	}
	slot->status_text = grpc_slice_from_copied_string(text);
	ops[n++] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		.data.send_status_from_server = {.trailing_metadata_count = n_trailing,
			.trailing_metadata = &slot->trailing,
			.status = code,
			.status_details = &slot->status_text}};
	ops[n++] = (grpc_op){.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
		.data.recv_close_on_server.cancelled = &slot->cancelled};
	slot_batch(slot, ops, n, STEP_ANSWERING);
}

static void slot_done(struct grpc_slot *slot)
{
	if (slot->message)
		grpc_byte_buffer_destroy(slot->message);
	if (slot->answer)
		grpc_byte_buffer_destroy(slot->answer);
	if (slot->call)
		grpc_call_unref(slot->call);
	grpc_slice_unref(slot->trailing.key);
	grpc_slice_unref(slot->trailing.value);
	grpc_slice_unref(slot->status_text);
	grpc_metadata_array_destroy(&slot->metadata);
	if (slot->other)
		grpc_call_details_destroy(&slot->details);
	*slot = (struct grpc_slot){.of = slot->of,
		.other = slot->other,
		.trailing = {.key = grpc_empty_slice(), .value = grpc_empty_slice()},
		.status_text = grpc_empty_slice()};
}

/* ---- messages ------------------------------------------------------------------ */

/* "fd:17": the connection as it was added. */
static int slot_connection(const struct grpc_slot *slot)
{
	int fd = -1;
	char *peer = grpc_call_get_peer(slot->call);
	if (peer && sscanf(peer, "fd:%d", &fd) != 1)
		fd = -1;
	gpr_free(peer);
	return fd;
}

static void slot_take_bytes(
	struct grpc_slot *slot, grpc_slice slice, bool packed, struct otlp_reply *reply)
{
	const struct otlp_door *door = &slot->of->door;
	door->take(door->arg, slot_connection(slot), GRPC_SLICE_START_PTR(slice),
		GRPC_SLICE_LENGTH(slice), packed, reply);
}

static void slot_take(struct grpc_slot *slot)
{
	struct otlp_reply reply = {.verdict = OTLP_BAD, .message = "no message"};
	grpc_byte_buffer *message = slot->message;
	if (message && message->type == GRPC_BB_RAW) {
		const bool packed = message->data.raw.compression != GRPC_COMPRESS_NONE;
		grpc_slice_buffer *slices = &message->data.raw.slice_buffer;
		if (slices->count == 1) {
			slot_take_bytes(slot, slices->slices[0], packed, &reply);
		} else {
			/* as it came: the reader would unpack it without a bound */
			const size_t n = grpc_byte_buffer_length(message);
			grpc_slice whole = grpc_slice_malloc(n);
			size_t at = 0;
			for (size_t i = 0; i < slices->count; i++) {
				const grpc_slice slice = slices->slices[i];
				memcpy(GRPC_SLICE_START_PTR(whole) + at,
					GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
				at += GRPC_SLICE_LENGTH(slice);
			}
			slot_take_bytes(slot, whole, packed, &reply);
			grpc_slice_unref(whole);
		}
		grpc_byte_buffer_destroy(rw_take(slot->message));
	}
	slot_answer(slot, &reply);
}

/* What was asked for @slot is done. */
static void slot_step(struct grpc_slot *slot, bool ok)
{
	switch (slot->step) {
	case STEP_REQUESTED:
		if (!ok)
			break;
		if (slot->other)
			slot_answer(slot, NULL);
		else
			slot_read(slot);
		return;
	case STEP_READING:
		if (grpc_ending(slot->of) || !ok)
			break;
		slot_take(slot);
		return;
	default: break;
	}
	slot_done(slot);
	if (!grpc_ending(slot->of))
		slot_request(slot);
}

/* ---- the thread ------------------------------------------------------------------ */

/* A sender that begins a message and does not go on would keep a slot. */
static void grpc_look(struct otlp_grpc *grpc)
{
	const int64_t now_ns = mono_now().ns;
	for (size_t i = 0; i < SLOTS; i++) {
		struct grpc_slot *slot = &grpc->slots[i];
		const bool waits = slot->step == STEP_READING || slot->step == STEP_ANSWERING;
		if (!waits || slot->given_up || now_ns - slot->since_ns < CALL_NS)
			continue;
		slot->given_up = true;
		grpc_call_cancel_with_status(slot->call, GRPC_STATUS_DEADLINE_EXCEEDED,
			"the message took too long", NULL);
	}
}

static void *grpc_main(void *arg)
{
	struct otlp_grpc *grpc = arg;
	int64_t looked_ns = 0;
	for (size_t i = 0; i < SLOTS; i++)
		slot_request(&grpc->slots[i]);
	while (true) {
		const gpr_timespec deadline = gpr_time_add(
			gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(LOOK_MS, GPR_TIMESPAN));
		const grpc_event event = grpc_completion_queue_next(grpc->queue, deadline, NULL);
		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (event.type == GRPC_OP_COMPLETE && event.tag == grpc) {
			grpc_completion_queue_shutdown(grpc->queue); /* no call is under way */
		} else if (event.type == GRPC_OP_COMPLETE) {
			slot_step(event.tag, event.success != 0);
		}
		if (mono_now().ns - looked_ns < LOOK_MS * NS_PER_MS)
			continue;
		looked_ns = mono_now().ns;
		grpc_look(grpc);
	}
}

/* ---- life ------------------------------------------------------------------------ */

static grpc_server *grpc_make_server(struct otlp_grpc *grpc)
{
	char one[] = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, two[] = GRPC_ARG_MAX_CONCURRENT_STREAMS,
	     three[] = GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, four[] = GRPC_ARG_RESOURCE_QUOTA,
	     five[] = GRPC_ARG_MAX_METADATA_SIZE;
	grpc_arg args[] = {
		{.type = GRPC_ARG_INTEGER,
			.key = one,
			.value.integer = (int)grpc->door.max_message},
		{.type = GRPC_ARG_INTEGER, .key = two, .value.integer = STREAMS},
		{.type = GRPC_ARG_INTEGER, .key = three, .value.integer = 0},
		{.type = GRPC_ARG_POINTER,
			.key = four,
			.value.pointer = {.p = grpc->quota,
				.vtable = grpc_resource_quota_arg_vtable()}},
		{.type = GRPC_ARG_INTEGER, .key = five, .value.integer = 16384},
	};
	const grpc_channel_args list = {.num_args = rw_countof(args), .args = args};
	return grpc_server_create(&list, NULL);
}

int otlp_grpc_prepare(struct err *e)
{
	return grpc_calls_load(e);
}

int otlp_grpc_new(const struct otlp_door *door, struct otlp_grpc **ret)
{
	struct otlp_grpc *grpc = rw_calloc(1, sizeof(*grpc));
	grpc->door = *door;
	grpc_init();
	for (size_t i = 0; i < SLOTS; i++) {
		grpc->slots[i].of = grpc;
		grpc->slots[i].other = i >= SLOTS_EXPORT;
		grpc->slots[i].trailing.key = grpc_empty_slice();
		grpc->slots[i].trailing.value = grpc_empty_slice();
		grpc->slots[i].status_text = grpc_empty_slice();
	}
	grpc->quota = grpc_resource_quota_create("otlp");
	grpc_resource_quota_resize(grpc->quota, MEMORY_MAX);
	grpc->queue = grpc_completion_queue_create_for_next(NULL);
	grpc->credentials = grpc_insecure_server_credentials_create();
	grpc->server = grpc_make_server(grpc);
	grpc_server_register_completion_queue(grpc->server, grpc->queue, NULL);
	grpc->method =
		grpc_server_register_method(grpc->server, METHOD, NULL, GRPC_SRM_PAYLOAD_NONE, 0);
	grpc_server_start(grpc->server);
	const int rc = pthread_create(&grpc->thread, NULL, grpc_main, grpc);
	if (rc != 0)
		return -rc;
	*ret = grpc;
	return 0;
}

void otlp_grpc_add(struct otlp_grpc *grpc, int fd)
{
	grpc_server_add_channel_from_fd(grpc->server, fd, grpc->credentials);
}

void otlp_grpc_free(struct otlp_grpc *grpc)
{
	if (!grpc)
		return;
	__atomic_store_n(&grpc->ending, true, __ATOMIC_RELEASE);
	grpc_server_shutdown_and_notify(grpc->server, grpc->queue, grpc);
	grpc_server_cancel_all_calls(grpc->server);
	pthread_join(grpc->thread, NULL);
	for (size_t i = 0; i < SLOTS; i++)
		slot_done(&grpc->slots[i]);
	grpc_server_destroy(grpc->server);
	grpc_server_credentials_release(grpc->credentials);
	grpc_resource_quota_unref(grpc->quota);
	grpc_completion_queue_destroy(grpc->queue);
	grpc_shutdown();
	free(grpc);
}
