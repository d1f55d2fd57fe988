/*
 * http - serves with libmicrohttpd: one thread with epoll. A request that waits for its answer, and
 * a stream without news, are suspended: they cost memory, not time.
 *
 * Every connection is in a list, oldest first, with the time since it is quiet. The sweep shuts
 * sockets down; the library sees the end and frees. One mutex covers list, tickets and queues; the
 * library's own lock is only taken inside it (suspend, resume), never the other way round.
 */
#include "agent/web/http.h"

#include <arpa/inet.h>
#include <lazy/microhttpd_calls.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"

#define CONNECTION_MEMORY 16384 /* for the head of a request, and of the answer; then 431, 414 */
#define STREAM_BLOCK 32768
#define TLS_PRIORITIES                                                                             \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:"                     \
	"+AES-128-GCM:+CHACHA20-POLY1305:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-RSA"

/* ---- shared bytes -------------------------------------------------------- */

/* FNV-1a, 64 bits: tells two documents of the same address apart; nobody gains by a collision. */
static uint64_t blob_hash(const unsigned char *bytes, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

struct blob *blob_new(const void *bytes, size_t n)
{
	struct blob *blob = rw_calloc(1, sizeof(*blob) + n + 1);
	blob->n = n;
	blob->users = 1;
	if (n > 0)
		memcpy(blob->bytes, bytes, n);
	snprintf(blob->etag, sizeof(blob->etag), "\"%016llx\"",
		(unsigned long long)blob_hash((const unsigned char *)blob->bytes, n));
	return blob;
}

struct blob *blob_get(struct blob *blob)
{
	__atomic_add_fetch(&blob->users, 1, __ATOMIC_RELAXED);
	return blob;
}

void blob_put(struct blob *blob)
{
	if (blob && __atomic_sub_fetch(&blob->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(blob);
}

void blob_putp(struct blob **blob)
{
	blob_put(*blob);
}

/* ---- the server ---------------------------------------------------------- */

enum http_phase {
	HTTP_QUIET, /* no request, or one that is not complete */
	HTTP_BUSY, /* its answer is made or sent */
	HTTP_STREAM,
};

struct http_connection {
	struct http_connection *prev, *next; /* in order of the time since */
	int fd;
	uint64_t client; /* the peer's address, hashed */
	char address[INET6_ADDRSTRLEN]; /* the same as text */
	enum http_phase phase;
	int64_t since_ns; /* monotonic: in this phase */
	bool shut;
};

struct http_message {
	struct blob *blob;
};

struct http_ticket {
	struct http *http;
	struct MHD_Connection *connection;
	struct http_connection *peer;
	char *target;
	bool begun; /* the library has shown its head */
	bool asked; /* the handler has seen it */
	bool suspended, ready, streams, ended;
	struct http_reply reply; /* when ready */
	struct http_message *queue; /* of a stream: messages not yet sent whole */
	size_t n, cap, sent; /* sent: bytes of the first message */
	size_t queued_bytes;
};

struct http {
	struct MHD_Daemon *daemon;
	struct http_handler handler;
	struct http_limits limits;
	pthread_mutex_t lock;
	struct http_connection *oldest, *newest;
	unsigned n_connections;
	bool refusing;
};

static int64_t http_now(void)
{
	return mono_now().ns;
}

static void http_list_remove(struct http *http, struct http_connection *peer)
{
	if (peer->prev)
		peer->prev->next = peer->next;
	else
		http->oldest = peer->next;
	if (peer->next)
		peer->next->prev = peer->prev;
	else
		http->newest = peer->prev;
	peer->prev = peer->next = NULL;
}

static void http_list_append(struct http *http, struct http_connection *peer)
{
	peer->prev = http->newest;
	if (http->newest)
		http->newest->next = peer;
	else
		http->oldest = peer;
	http->newest = peer;
}

static void http_enter(struct http *http, struct http_connection *peer, enum http_phase phase)
{
	peer->phase = phase;
	peer->since_ns = http_now();
	http_list_remove(http, peer);
	http_list_append(http, peer);
}

/* The library notices and frees the connection. */
static void http_shut(struct http_connection *peer)
{
	if (!peer->shut)
		shutdown(peer->fd, SHUT_RDWR);
	peer->shut = true;
}

/* Nearly full: makes room by the connection that is quiet for longest. */
static void http_make_room(struct http *http)
{
	if (http->n_connections < http->limits.connections - http->limits.connections / 10)
		return;
	for (struct http_connection *peer = http->oldest; peer; peer = peer->next) {
		if (peer->phase != HTTP_QUIET || peer->shut)
			continue;
		http_shut(peer);
		return;
	}
}

/* Without the port: all connections of one address are one client. */
static void http_know(struct http_connection *connection, const struct sockaddr *peer)
{
	const void *bytes = NULL;
	size_t n = 0;
	if (peer && peer->sa_family == AF_INET) {
		bytes = &((const struct sockaddr_in *)(const void *)peer)->sin_addr;
		n = sizeof(struct in_addr);
	} else if (peer && peer->sa_family == AF_INET6) {
		bytes = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
		n = sizeof(struct in6_addr);
	}
	connection->client = blob_hash(bytes, n);
	if (bytes)
		inet_ntop(peer->sa_family, bytes, connection->address, INET6_ADDRSTRLEN);
}

static void http_connected(struct http *http, struct MHD_Connection *connection, void **context)
{
	struct http_connection *peer = rw_calloc(1, sizeof(*peer));
	/* From libmicrohttpd 1.0 on the second answer is written over the first. */
	peer->fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	http_know(peer,
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr);
	peer->since_ns = http_now();
	pthread_mutex_lock(&http->lock);
	http->n_connections++;
	http_make_room(http);
	http_list_append(http, peer);
	pthread_mutex_unlock(&http->lock);
	*context = peer;
}

static void http_disconnected(struct http *http, void **context)
{
	struct http_connection *peer = *context;
	pthread_mutex_lock(&http->lock);
	http->n_connections--;
	http_list_remove(http, peer);
	pthread_mutex_unlock(&http->lock);
	free(peer);
	*context = NULL;
}

static void http_on_connection(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		http_connected(arg, connection, context);
	else if (*context)
		http_disconnected(arg, context);
}

static enum MHD_Result http_on_accept(void *arg, const struct sockaddr *peer, socklen_t n)
{
	struct http *http = arg;
	if (!http->handler.admits || http->handler.admits(http->handler.arg, peer))
		return MHD_YES;
	return MHD_NO;
}

/* ---- one request --------------------------------------------------------- */

/* The request line has been read: the target as it was sent. */
static void *http_on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct http_ticket *ticket = rw_calloc(1, sizeof(*ticket));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	ticket->http = arg;
	ticket->connection = connection;
	ticket->peer = info->socket_context;
	ticket->target = rw_strdup(target);
	return ticket;
}

uint64_t http_client(const struct http_ticket *ticket)
{
	return ticket->peer->client;
}

const char *http_address(const struct http_ticket *ticket)
{
	return ticket->peer->address;
}

bool http_hung_up(struct http_ticket *ticket)
{
	struct http *http = ticket->http;
	pthread_mutex_lock(&http->lock);
	/* a suspended connection keeps its socket; nobody else looks at it */
	struct pollfd w = {.fd = ticket->peer->fd, .events = POLLRDHUP};
	const bool gone = ticket->suspended && !ticket->ready && poll(&w, 1, 0) > 0;
	pthread_mutex_unlock(&http->lock);
	return gone;
}

static void http_ticket_free(struct http_ticket *ticket)
{
	for (size_t i = 0; i < ticket->n; i++)
		blob_put(ticket->queue[i].blob);
	free(ticket->queue);
	blob_put(ticket->reply.body);
	free(ticket->target);
	free(ticket);
}

static void http_on_completed(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_RequestTerminationCode code)
{
	struct http *http = arg;
	struct http_ticket *ticket = *context;
	*context = NULL;
	if (!ticket)
		return;
	if (ticket->streams)
		http->handler.stream_ended(http->handler.arg, ticket);
	pthread_mutex_lock(&http->lock);
	http_enter(http, ticket->peer, HTTP_QUIET);
	pthread_mutex_unlock(&http->lock);
	http_ticket_free(ticket);
}

static void http_blob_release(void *arg)
{
	blob_put(arg);
}

static struct MHD_Response *http_response_of(struct http_reply *reply)
{
	struct blob *body = rw_take(reply->body);
	if (body)
		return MHD_create_response_from_buffer_with_free_callback_cls(
			body->n, body->bytes, http_blob_release, body);
	/* The library takes a pointer that is not const, and does not write. */
	return MHD_create_response_from_buffer(
		reply->n_fixed, (void *)(uintptr_t)reply->fixed, MHD_RESPMEM_PERSISTENT);
}

static void http_header(struct MHD_Response *response, const char *name, const char *value)
{
	if (value)
		MHD_add_response_header(response, name, value);
}

static void http_headers(struct MHD_Response *response, const struct http_reply *reply)
{
	char seconds[16];
	http_header(response, "Content-Type", reply->type);
	http_header(response, "ETag", reply->etag);
	http_header(response, "Allow", reply->allow);
	http_header(response, "WWW-Authenticate", reply->authenticate);
	if (reply->retry_after_s > 0) {
		snprintf(seconds, sizeof(seconds), "%d", reply->retry_after_s);
		http_header(response, "Retry-After", seconds);
	}
	http_header(response, "Cache-Control", "no-cache");
	http_header(response, "X-Content-Type-Options", "nosniff");
	http_header(response, "Referrer-Policy", "no-referrer");
	http_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	http_header(response, "Content-Security-Policy",
		"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
		"object-src 'none'");
}

static enum MHD_Result http_send(struct MHD_Connection *connection, struct http_reply *reply)
{
	char etag[80] = "";
	if (reply->etag)
		snprintf(etag, sizeof(etag), "%s", reply->etag);
	struct MHD_Response *response = http_response_of(reply);
	if (!response)
		return MHD_NO;
	struct http_reply head = *reply;
	head.etag = NULL;
	if (*etag)
		head.etag = etag;
	http_headers(response, &head);
	const enum MHD_Result queued =
		MHD_queue_response(connection, (unsigned)reply->status, response);
	MHD_destroy_response(response);
	return queued;
}

/* ---- streams ------------------------------------------------------------- */

/* The next bytes of a stream; suspends it when there are none. */
static ssize_t http_stream_read(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct http_ticket *ticket = arg;
	struct http *http = ticket->http;
	ssize_t got = 0;
	pthread_mutex_lock(&http->lock);
	while (ticket->n > 0 && (size_t)got < max) {
		struct blob *blob = ticket->queue[0].blob;
		size_t n = blob->n - ticket->sent;
		if (n > max - (size_t)got)
			n = max - (size_t)got;
		memcpy(buf + got, blob->bytes + ticket->sent, n);
		got += (ssize_t)n;
		ticket->sent += n;
		ticket->queued_bytes -= n;
		if (ticket->sent < blob->n)
			break;
		ticket->sent = 0;
		ticket->n--;
		memmove(ticket->queue, ticket->queue + 1, ticket->n * sizeof(*ticket->queue));
		blob_put(blob);
	}
	if (got == 0 && ticket->ended)
		got = MHD_CONTENT_READER_END_OF_STREAM;
	if (got == 0) {
		ticket->suspended = true;
		MHD_suspend_connection(ticket->connection);
	}
	pthread_mutex_unlock(&http->lock);
	return got;
}

static void http_ticket_resume(struct http_ticket *ticket)
{
	if (!ticket->suspended)
		return;
	ticket->suspended = false;
	MHD_resume_connection(ticket->connection);
}

int http_stream_put(struct http_ticket *ticket, struct blob *blob)
{
	struct http *http = ticket->http;
	int rc = 0;
	pthread_mutex_lock(&http->lock);
	if (ticket->queued_bytes + blob->n > http->limits.stream_bytes && ticket->n > 0) {
		http_shut(ticket->peer);
		rc = -EPIPE;
	} else if (!ticket->ended) {
		rw_grow(ticket->queue, ticket->n, ticket->cap);
		ticket->queue[ticket->n++] = (struct http_message){.blob = blob_get(blob)};
		ticket->queued_bytes += blob->n;
	}
	http_ticket_resume(ticket);
	pthread_mutex_unlock(&http->lock);
	return rc;
}

void http_stream_end(struct http_ticket *ticket)
{
	struct http *http = ticket->http;
	pthread_mutex_lock(&http->lock);
	ticket->ended = true;
	http_ticket_resume(ticket);
	pthread_mutex_unlock(&http->lock);
}

static enum MHD_Result http_send_stream(struct http_ticket *ticket, struct http_reply *reply)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_BLOCK, http_stream_read, ticket, NULL);
	if (!response)
		return MHD_NO;
	http_headers(response, reply);
	http_header(response, "X-Accel-Buffering", "no");
	/* A reader that takes no byte for this long is gone; quiet streams are suspended. */
	MHD_set_connection_option(ticket->connection, MHD_CONNECTION_OPTION_TIMEOUT,
		(unsigned)(ticket->http->limits.stream_ns / NS_PER_S));
	const enum MHD_Result queued = MHD_queue_response(ticket->connection, 200, response);
	MHD_destroy_response(response);
	return queued;
}

/* ---- handling ------------------------------------------------------------ */

struct http_hosts {
	const char *first;
	unsigned n;
};

static enum MHD_Result http_on_host(
	void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct http_hosts *hosts = arg;
	if (strcasecmp(key, "Host") != 0)
		return MHD_YES;
	if (hosts->n++ == 0)
		hosts->first = value;
	return MHD_YES;
}

static void http_refused_reply(struct http_reply *reply)
{
	static const char text[] = "{\"error\": \"the server is stopping\"}\n";
	*reply = (struct http_reply){.status = 503,
		.type = "application/json",
		.fixed = text,
		.n_fixed = sizeof(text) - 1,
		.retry_after_s = 2};
}

static bool http_has_body(struct MHD_Connection *connection)
{
	const char *length =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
	if (length && !str_eq(length, "0"))
		return true;
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

static enum http_outcome http_ask(
	struct http_ticket *ticket, const char *method, struct http_reply *reply)
{
	struct http *http = ticket->http;
	struct MHD_Connection *connection = ticket->connection;
	struct http_hosts hosts = {0};
	MHD_get_connection_values(connection, MHD_HEADER_KIND, http_on_host, &hosts);
	const struct http_request request = {.method = method,
		.target = ticket->target,
		.host = hosts.first,
		.host_twice = hosts.n > 1,
		.authorization =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
		.if_none_match =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match"),
		.accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"),
		.fetch_site =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
		.fetch_mode =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Mode"),
		.origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
		.has_body = http_has_body(connection)};
	return http->handler.answer(http->handler.arg, ticket, &request, reply);
}

/* The first call for a request: its head is complete. */
static enum MHD_Result http_first(struct http_ticket *ticket, const char *method)
{
	struct http *http = ticket->http;
	struct http_reply reply = {.status = 500};
	pthread_mutex_lock(&http->lock);
	const bool refusing = http->refusing;
	http_enter(http, ticket->peer, HTTP_BUSY);
	pthread_mutex_unlock(&http->lock);
	if (refusing) {
		http_refused_reply(&reply);
		return http_send(ticket->connection, &reply);
	}
	const enum http_outcome outcome = http_ask(ticket, method, &reply);
	if (outcome == HTTP_ANSWERED)
		return http_send(ticket->connection, &reply);
	pthread_mutex_lock(&http->lock);
	if (outcome == HTTP_STREAMS) {
		ticket->streams = true;
		http_enter(http, ticket->peer, HTTP_STREAM);
	} else if (!ticket->ready) {
		ticket->suspended = true;
		MHD_suspend_connection(ticket->connection);
	}
	const bool ready = ticket->ready;
	pthread_mutex_unlock(&http->lock);
	if (outcome == HTTP_STREAMS)
		return http_send_stream(ticket, &reply);
	if (ready)
		return http_send(ticket->connection, &ticket->reply);
	return MHD_YES;
}

static enum MHD_Result http_on_request(void *arg, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version, const char *upload,
	size_t *n_upload, void **context)
{
	struct http *http = arg;
	struct http_ticket *ticket = *context;
	if (!ticket)
		return MHD_NO;
	/* An answer at the first call closes the connection: right where a body follows, which
	 * nobody reads; else the second call follows at once. */
	if (!ticket->begun && !http_has_body(connection)) {
		ticket->begun = true;
		return MHD_YES;
	}
	if (!ticket->asked) {
		ticket->begun = ticket->asked = true;
		return http_first(ticket, method);
	}
	*n_upload = 0;
	pthread_mutex_lock(&http->lock);
	const bool ready = ticket->ready;
	pthread_mutex_unlock(&http->lock);
	if (!ready)
		return MHD_YES;
	return http_send(connection, &ticket->reply);
}

void http_answer(struct http_ticket *ticket, const struct http_reply *reply)
{
	struct http *http = ticket->http;
	pthread_mutex_lock(&http->lock);
	ticket->reply = *reply;
	ticket->ready = true;
	/* The text is copied with the bytes it belongs to. */
	if (reply->etag && reply->body)
		ticket->reply.etag = reply->body->etag;
	http_ticket_resume(ticket);
	pthread_mutex_unlock(&http->lock);
}

/* ---- limits, life -------------------------------------------------------- */

static int64_t http_limit_of(const struct http *http, const struct http_connection *peer)
{
	switch (peer->phase) {
	case HTTP_QUIET: return http->limits.request_ns;
	case HTTP_BUSY: return http->limits.answer_ns;
	case HTTP_STREAM: break;
	}
	return INT64_MAX;
}

void http_sweep(struct http *http)
{
	pthread_mutex_lock(&http->lock);
	const int64_t now_ns = http_now();
	for (struct http_connection *peer = http->oldest; peer; peer = peer->next)
		if (now_ns - peer->since_ns > http_limit_of(http, peer))
			http_shut(peer);
	pthread_mutex_unlock(&http->lock);
}

static void __attribute__((format(printf, 2, 0)))
http_on_log(void *arg, const char *format, va_list values)
{
	char text[400];
	vsnprintf(text, sizeof(text), format, values);
	text[strcspn(text, "\r\n")] = '\0';
	log_debug("web", "%s", text);
}

int http_prepare(struct err *e)
{
	return microhttpd_calls_load(e);
}

int http_start(int fd, const char *cert, const char *key, const struct http_limits *limits,
	const struct http_handler *handler, struct http **ret, struct err *e)
{
	if (http_prepare(e) < 0)
		return -ENOENT;
	struct http *http = rw_calloc(1, sizeof(*http));
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
		MHD_USE_ERROR_LOG;
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
		{MHD_OPTION_END, 0, NULL},
	};
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	const struct MHD_OptionItem *security = none;
	if (cert) {
		flags |= MHD_USE_TLS;
		security = tls;
	}
	http->handler = *handler;
	http->limits = *limits;
	pthread_mutex_init(&http->lock, NULL);
	const int own = dup(fd);
	http->daemon = MHD_start_daemon(flags, 0, http_on_accept, http, http_on_request, http,
		MHD_OPTION_EXTERNAL_LOGGER, http_on_log, http, MHD_OPTION_LISTEN_SOCKET, own,
		MHD_OPTION_CONNECTION_LIMIT, limits->connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(limits->request_ns / NS_PER_S + 1),
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, http_on_target, http,
		MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, http, MHD_OPTION_NOTIFY_CONNECTION,
		http_on_connection, http, MHD_OPTION_ARRAY, security, MHD_OPTION_END);
	if (http->daemon) {
		*ret = http;
		return 0;
	}
	close(own);
	pthread_mutex_destroy(&http->lock);
	free(http);
	if (cert)
		return err_set(e, -EINVAL,
			"the HTTP server does not start: certificate and key do not belong "
			"together, or are no PEM files");
	return err_set(e, -EIO, "the HTTP server does not start");
}

void http_refuse(struct http *http)
{
	pthread_mutex_lock(&http->lock);
	http->refusing = true;
	pthread_mutex_unlock(&http->lock);
}

void http_stop(struct http *http)
{
	if (!http)
		return;
	MHD_stop_daemon(http->daemon);
	pthread_mutex_destroy(&http->lock);
	free(http);
}
