/* otlp_http - requests with metrics, by libmicrohttpd. */
#include "collectors/push/otlp_http.h"

#include <lazy/microhttpd_calls.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IDLE_S = 60, CONNECTION_BYTES = 32768, FIRST_BODY = 65536 };
enum { STATUS_UNIMPLEMENTED = 12, STATUS_INVALID = 3 }; /* of gRPC, in the body of errors */

struct otlp_http {
	struct otlp_door door;
	struct MHD_Daemon *daemon;
	uint64_t bodies; /* bytes of bodies that are kept, all requests; of MHD's thread */
};

struct http_post { /* one request under way */
	uint8_t *body;
	size_t n, cap;
	unsigned
		refused; /* status, once something was wrong; then the rest is read and forgotten */
};

/* ---- answers --------------------------------------------------------------- */

static enum MHD_Result post_send(struct MHD_Connection *connection, unsigned status,
	const void *body, size_t n, unsigned retry_s)
{
	char text[16];
	struct MHD_Response *response =
		MHD_create_response_from_buffer(n, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", "application/x-protobuf");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "POST");
	if (retry_s > 0) {
		snprintf(text, sizeof(text), "%u", retry_s);
		MHD_add_response_header(response, "Retry-After", text);
	}
	const enum MHD_Result ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

/* google.rpc.Status { code, message }, as OTLP/HTTP asks for. */
static enum MHD_Result post_send_error(
	struct MHD_Connection *connection, unsigned status, unsigned code, const char *message)
{
	uint8_t body[4 + OTLP_MESSAGE_MAX + 2];
	size_t n = 0, n_message = strlen(message);
	if (n_message > OTLP_MESSAGE_MAX)
		n_message = OTLP_MESSAGE_MAX;
	body[n++] = 0x08;
	body[n++] = (uint8_t)code;
	body[n++] = 0x12;
	if (n_message >= 128)
		body[n++] = (uint8_t)(0x80 | (n_message & 0x7f));
	body[n++] = (uint8_t)(n_message >= 128 ? n_message >> 7 : n_message);
	memcpy(body + n, message, n_message);
	return post_send(connection, status, body, n + n_message, 0);
}

static const struct {
	unsigned status, code;
	const char *message;
} post_refusals[] = {
	{MHD_HTTP_NOT_FOUND, STATUS_UNIMPLEMENTED,
		"only metrics are taken here: POST them to /v1/metrics"},
	{MHD_HTTP_METHOD_NOT_ALLOWED, STATUS_UNIMPLEMENTED, "POST is expected"},
	{MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, STATUS_INVALID,
		"application/x-protobuf is expected, as it is or packed by gzip; the JSON encoding "
		"is "
		"not taken"},
	{MHD_HTTP_CONTENT_TOO_LARGE, STATUS_INVALID, "the message is larger than push.max_message"},
};

static enum MHD_Result post_refuse(struct MHD_Connection *connection, unsigned status)
{
	for (size_t i = 0; i < rw_countof(post_refusals); i++)
		if (post_refusals[i].status == status)
			return post_send_error(connection, status, post_refusals[i].code,
				post_refusals[i].message);
	return post_send_error(connection, status, STATUS_INVALID, "");
}

/* ---- requests ---------------------------------------------------------------- */

static const char *post_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool post_is_packed(struct MHD_Connection *connection)
{
	const char *encoding = post_header(connection, "Content-Encoding");
	return encoding && strcasecmp(encoding, "gzip") == 0;
}

/* The status that the first line and the headers ask for; 0: its body is wanted. */
static unsigned post_check(struct MHD_Connection *connection, const char *url, const char *method)
{
	static const char protobuf[] = "application/x-protobuf";
	const char *type = post_header(connection, "Content-Type");
	const char *encoding = post_header(connection, "Content-Encoding");
	if (!str_eq(url, "/v1/metrics"))
		return MHD_HTTP_NOT_FOUND;
	if (!str_eq(method, "POST"))
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	if (!type || strncasecmp(type, protobuf, sizeof(protobuf) - 1) != 0)
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	if (encoding && strcasecmp(encoding, "gzip") != 0 && strcasecmp(encoding, "identity") != 0)
		return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	return 0;
}

static void post_forget_body(struct otlp_http *http, struct http_post *post)
{
	http->bodies -= post->cap;
	free(post->body);
	post->body = NULL;
	post->n = post->cap = 0;
}

/* All bodies together are at most four of the largest ones. */
static bool post_grow(struct otlp_http *http, struct http_post *post, size_t wanted)
{
	size_t cap = post->cap ? post->cap : FIRST_BODY;
	while (cap < wanted)
		cap *= 2;
	if (cap > http->door.max_message)
		cap = http->door.max_message;
	if (wanted > cap || http->bodies + cap - post->cap > 4 * http->door.max_message)
		return false;
	uint8_t *grown = rw_calloc(cap, 1);
	if (post->n > 0)
		memcpy(grown, post->body, post->n);
	free(post->body);
	http->bodies += cap - post->cap;
	post->body = grown;
	post->cap = cap;
	return true;
}

static void post_add(struct otlp_http *http, struct http_post *post, const char *data, size_t n)
{
	if (post->refused)
		return;
	if (post->n + n > post->cap && !post_grow(http, post, post->n + n)) {
		post->refused = MHD_HTTP_CONTENT_TOO_LARGE;
		post_forget_body(http, post);
		return;
	}
	memcpy(post->body + post->n, data, n);
	post->n += n;
}

static enum MHD_Result post_done(
	struct otlp_http *http, struct http_post *post, struct MHD_Connection *connection)
{
	static const uint8_t nothing[1];
	struct otlp_reply reply;
	if (post->refused)
		return post_refuse(connection, post->refused);
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int fd = -1;
	const uint8_t *body = nothing;
	if (info)
		fd = info->connect_fd;
	if (post->body)
		body = post->body;
	http->door.take(http->door.arg, fd, body, post->n, post_is_packed(connection), &reply);
	post_forget_body(http, post);
	switch (reply.verdict) {
	case OTLP_TAKEN: return post_send(connection, MHD_HTTP_OK, reply.answer, reply.n_answer, 0);
	case OTLP_BUSY:
		return post_send(connection, MHD_HTTP_TOO_MANY_REQUESTS, "", 0, reply.retry_s);
	case OTLP_LARGE: return post_refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE);
	default: break;
	}
	return post_send_error(connection, MHD_HTTP_BAD_REQUEST, STATUS_INVALID, reply.message);
}

static enum MHD_Result post_on_request(void *arg, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version, const char *data, size_t *n,
	void **request)
{
	struct otlp_http *http = arg;
	struct http_post *post = *request;
	if (!post) {
		post = rw_calloc(1, sizeof(*post));
		post->refused = post_check(connection, url, method);
		*request = post;
		/* before the body comes, so that nobody sends one in vain */
		if (post->refused && str_eq(method, "POST"))
			return post_refuse(connection, post->refused);
		return MHD_YES;
	}
	if (*n > 0) {
		post_add(http, post, data, *n);
		*n = 0;
		return MHD_YES;
	}
	return post_done(http, post, connection);
}

static void post_on_completed(void *arg, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode how)
{
	struct http_post *post = *request;
	if (!post)
		return;
	post_forget_body(arg, post);
	free(post);
	*request = NULL;
}

/* ---- life ------------------------------------------------------------------------ */

int otlp_http_prepare(struct err *e)
{
	return microhttpd_calls_load(e);
}

int otlp_http_new(const struct otlp_door *door, struct otlp_http **ret)
{
	struct otlp_http *http = rw_calloc(1, sizeof(*http));
	http->door = *door;
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC, 0, NULL,
		NULL, post_on_request, http, MHD_OPTION_NOTIFY_COMPLETED, post_on_completed, http,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_LIMIT,
		door->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_END);
	if (!http->daemon) {
		free(http);
		return -EIO;
	}
	*ret = http;
	return 0;
}

bool otlp_http_add(struct otlp_http *http, int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNIX};
	return MHD_add_connection(http->daemon, fd, &none, sizeof(none)) == MHD_YES;
}

void otlp_http_free(struct otlp_http *http)
{
	if (!http)
		return;
	MHD_stop_daemon(http->daemon);
	free(http);
}
