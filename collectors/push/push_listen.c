/* push_listen - sockets that listen, and what became of their connections. */
#include "collectors/push/push_listen.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "collectors/target/reason.h"
#include "config/address.h"

/* ---- tls_pump -------------------------------------------------------------- */

/* tls_pump - OpenSSL between a connection and a socket pair. */

enum { PIPE_BYTES = 65536, TURNS = 16 };

struct tls_context {
	SSL_CTX *ctx;
	uint8_t alpn[16]; /* a length and so many bytes */
	unsigned n_alpn;
};

struct tls_pipe { /* bytes on their way */
	uint8_t b[PIPE_BYTES];
	size_t from, n; /* .n of them, from .from */
	bool ended; /* no more come in */
};

struct tls_pump {
	SSL *ssl;
	int outer, inner;
	struct loop_fd *watch_outer, *watch_inner;
	struct tls_pipe in, out; /* to the library; to the other side */
	bool shaken, want_write, again, told;
	void (*ended)(void *arg);
	void *arg;
};

/* ---- the context -------------------------------------------------------------- */

static int tls_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *n_out,
	const unsigned char *in, unsigned n_in, void *arg)
{
	const struct tls_context *context = arg;
	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, n_out, context->alpn,
		    context->n_alpn, in, n_in) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int tls_failed(const char *what, const char *file, struct err *e)
{
	char text[160];
	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return err_set(e, -EINVAL, "%s %s: %s", what, file, text);
}

static int tls_clients(SSL_CTX *ctx, const char *client_ca, struct err *e)
{
	if (!client_ca)
		return 0;
	if (SSL_CTX_load_verify_locations(ctx, client_ca, NULL) != 1)
		return tls_failed("push.tls.client_ca", client_ca, e);
	SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(client_ca));
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return 0;
}

int tls_context_new(const char *cert, const char *key, const char *client_ca, const char *alpn,
	struct tls_context **ret, struct err *e)
{
	struct tls_context *context = rw_calloc(1, sizeof(*context));
	SSL_CTX *ctx = context->ctx = SSL_CTX_new(TLS_server_method());
	int rc = 0;
	if (!ctx)
		rc = err_set(e, -ENOMEM, "TLS: no context");
	if (rc == 0 && SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
		rc = tls_failed("push.tls.cert", cert, e);
	if (rc == 0 && SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		rc = tls_failed("push.tls.key", key, e);
	if (rc == 0)
		rc = tls_clients(ctx, client_ca, e);
	if (rc < 0) {
		tls_context_free(context);
		return rc;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	context->alpn[0] = (uint8_t)strlen(alpn);
	memcpy(context->alpn + 1, alpn, context->alpn[0]);
	context->n_alpn = 1 + context->alpn[0];
	SSL_CTX_set_alpn_select_cb(ctx, tls_on_alpn, context);
	*ret = context;
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ctx);
	free(context);
}

/* ---- moving bytes -------------------------------------------------------------- */

static size_t pipe_room(const struct tls_pipe *pipe)
{
	return PIPE_BYTES - pipe->from - pipe->n;
}

static void pipe_took(struct tls_pipe *pipe, size_t n)
{
	pipe->from += n;
	pipe->n -= n;
	if (pipe->n == 0)
		pipe->from = 0;
}

/* What SSL said: true to go on now, false to wait or because it is over. */
static bool pump_ssl_result(struct tls_pump *pump, int rc, struct tls_pipe *broken)
{
	if (rc > 0)
		return true;
	const int error = SSL_get_error(pump->ssl, rc);
	ERR_clear_error();
	if (error == SSL_ERROR_WANT_WRITE)
		pump->want_write = true;
	else if (error != SSL_ERROR_WANT_READ)
		broken->ended = true;
	return false;
}

static bool pump_shake(struct tls_pump *pump)
{
	if (pump->shaken)
		return true;
	const int rc = SSL_accept(pump->ssl);
	pump->shaken = rc == 1;
	if (!pump_ssl_result(pump, rc, &pump->in) && pump->in.ended)
		pump->out.ended = true;
	return pump->shaken;
}

/* Each moves once; true when it moved something. */
static bool pump_from_outer(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->in;
	if (pipe->ended || pipe_room(pipe) == 0)
		return false;
	const int n = SSL_read(pump->ssl, pipe->b + pipe->from + pipe->n, (int)pipe_room(pipe));
	if (!pump_ssl_result(pump, n, pipe))
		return false;
	pipe->n += (size_t)n;
	return true;
}

static bool pump_to_inner(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->in;
	if (pipe->n == 0)
		return false;
	const ssize_t n = send(pump->inner, pipe->b + pipe->from, pipe->n, MSG_NOSIGNAL);
	if (n > 0) {
		pipe_took(pipe, (size_t)n);
	} else if (errno != EAGAIN && errno != EINTR) { /* the library is gone */
		pump->in.ended = pump->out.ended = true;
		pump->in.n = 0;
	}
	return n > 0;
}

static bool pump_from_inner(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->out;
	if (pipe->ended || pipe_room(pipe) == 0)
		return false;
	const ssize_t n = recv(pump->inner, pipe->b + pipe->from + pipe->n, pipe_room(pipe), 0);
	if (n > 0)
		pipe->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		pipe->ended = true;
	return n > 0;
}

static bool pump_to_outer(struct tls_pump *pump)
{
	struct tls_pipe *pipe = &pump->out;
	if (pipe->n == 0)
		return false;
	const int n = SSL_write(pump->ssl, pipe->b + pipe->from, (int)pipe->n);
	if (!pump_ssl_result(pump, n, pipe)) {
		if (pipe->ended)
			pipe->n = 0;
		return false;
	}
	pipe_took(pipe, (size_t)n);
	return true;
}

static void pump_events(struct tls_pump *pump)
{
	int outer = 0, inner = 0;
	if (!pump->in.ended && pipe_room(&pump->in) > 0)
		outer |= LOOP_READ;
	/* what OpenSSL has decrypted already, no descriptor tells of */
	if (pump->want_write || pump->again || (pump->shaken && pump->out.n > 0))
		outer |= LOOP_WRITE;
	if (!pump->out.ended && pipe_room(&pump->out) > 0)
		inner |= LOOP_READ;
	if (pump->in.n > 0)
		inner |= LOOP_WRITE;
	loop_fd_events(pump->watch_outer, outer);
	loop_fd_events(pump->watch_inner, inner);
}

static void pump_on_ready(void *arg, int events)
{
	struct tls_pump *pump = arg;
	pump->want_write = false;
	bool moved = pump_shake(pump);
	if (moved)
		for (int i = 0; i < TURNS && moved; i++) {
			moved = pump_from_outer(pump);
			moved |= pump_to_inner(pump);
			moved |= pump_from_inner(pump);
			moved |= pump_to_outer(pump);
		}
	pump->again = moved;
	if (pump->in.ended && pump->in.n == 0)
		shutdown(pump->inner, SHUT_WR);
	if (pump->out.ended && pump->out.n == 0 && !pump->told) {
		pump->told = true;
		if (pump->shaken)
			SSL_shutdown(pump->ssl);
		ERR_clear_error();
		loop_fd_events(pump->watch_outer, 0);
		loop_fd_events(pump->watch_inner, 0);
		pump->ended(pump->arg);
		return;
	}
	if (!pump->told)
		pump_events(pump);
}

/* Is the handshake over? */
static bool tls_pump_shaken(const struct tls_pump *pump)
{
	return pump->shaken;
}

/* ---- life ------------------------------------------------------------------------ */

/* @outer: a connection, which belongs to the pump now. *@ret_inner is the end for the library,
 * which closes it. @ended is called once, when both directions are over; the owner then frees
 * the pump. NULL: there is no socket pair. */
static struct tls_pump *tls_pump_new(struct loop *loop, struct tls_context *context, int outer,
	void (*ended)(void *arg), void *arg, int *ret_inner)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
		close(outer);
		return NULL;
	}
	struct tls_pump *pump = rw_calloc(1, sizeof(*pump));
	*pump = (struct tls_pump){.outer = outer, .inner = ends[0], .ended = ended, .arg = arg};
	pump->ssl = SSL_new(context->ctx);
	SSL_set_fd(pump->ssl, outer);
	pump->watch_outer = loop_fd_new(loop, outer, LOOP_READ, pump_on_ready, pump);
	pump->watch_inner = loop_fd_new(loop, ends[0], 0, pump_on_ready, pump);
	*ret_inner = ends[1];
	return pump;
}

static void tls_pump_free(struct tls_pump *pump)
{
	if (!pump)
		return;
	loop_fd_free(pump->watch_outer);
	loop_fd_free(pump->watch_inner);
	SSL_free(pump->ssl);
	close(pump->outer);
	close(pump->inner);
	free(pump);
}

/* ---- push_listen ----------------------------------------------------------- */

#define LOOK_NS (1 * NS_PER_S)
#define HANDSHAKE_NS (10 * NS_PER_S)

enum { DOORS_MAX = 4, ACCEPTS_PER_TURN = 32, BACKLOG = 128 };
enum { FD_FIRST = 1024, FD_LAST = 15000 }; /* numbers that doors know connections by */
enum { SHARE_OF_ONE = 4 }; /* one address has at most this part of the connections */

struct listen_door {
	struct push_listen *of;
	int fd;
	struct loop_fd *watch;
	struct tls_context *tls;
	push_listen_fn *door;
	void *arg;
};

struct listen_connection {
	struct push_listen *of;
	bool used, over;
	int number; /* as the door knows it */
	int own; /* our own copy of the socket, to see its end; -1 with .pump */
	struct tls_pump *pump;
	int64_t since_ns;
	uint8_t source[16];
};

struct push_listen {
	struct loop *loop;
	struct push_listen_options o;
	struct listen_door doors[DOORS_MAX];
	size_t n_doors;
	struct listen_connection *v;
	struct loop_timer *look;
	int next; /* number to try first */
	pthread_mutex_t lock; /* of .v[].used, .number, .source */
	struct push_listen_counts counts;
};

const struct push_listen_counts *push_listen_counts(const struct push_listen *listen)
{
	return &listen->counts;
}

/* ---- connections ----------------------------------------------------------- */

static void listen_end(struct listen_connection *c)
{
	struct push_listen *listen = c->of;
	tls_pump_free(c->pump);
	if (c->own >= 0)
		close(c->own);
	pthread_mutex_lock(&listen->lock);
	*c = (struct listen_connection){.of = listen, .own = -1};
	pthread_mutex_unlock(&listen->lock);
	listen->counts.open--;
}

static void listen_on_pump_ended(void *arg)
{
	struct listen_connection *c = arg;
	c->over = true; /* the pump is in the midst of its turn */
	loop_timer_start(c->of->look, 0, LOOK_NS);
}

/* The door closed it, or the other side did. */
static bool listen_is_over(const struct listen_connection *c, int64_t now_ns)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	if (c->over)
		return true;
	if (c->pump) {
		const bool late = now_ns - c->since_ns > HANDSHAKE_NS;
		return late && !tls_pump_shaken(c->pump);
	}
	if (getsockopt(c->own, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
		return true;
	return info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_CLOSE_WAIT;
}

static void listen_on_look(void *arg)
{
	struct push_listen *listen = arg;
	const int64_t now_ns = mono_now().ns;
	for (unsigned i = 0; i < listen->o.max_connections; i++) {
		struct listen_connection *c = &listen->v[i];
		if (!c->used || !listen_is_over(c, now_ns))
			continue;
		if (c->pump && !tls_pump_shaken(c->pump))
			listen->counts.failed_handshakes++;
		listen_end(c);
	}
}

/* A copy of @fd whose number was not in use for long; -1: there is none. */
static int listen_number(struct push_listen *listen, int fd)
{
	int copy = -1;
	for (int i = 0; i < 2 && copy < 0; i++) {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, listen->next);
		listen->next = FD_FIRST;
	}
	if (copy >= 0 && copy < FD_LAST)
		listen->next = copy + 1;
	return copy;
}

static struct listen_connection *listen_free_one(
	struct push_listen *listen, const uint8_t source[16])
{
	struct listen_connection *found = NULL;
	unsigned same = 0;
	for (unsigned i = 0; i < listen->o.max_connections; i++) {
		if (!listen->v[i].used)
			found = &listen->v[i];
		else
			same += memcmp(listen->v[i].source, source, 16) == 0;
	}
	if (same * SHARE_OF_ONE >= listen->o.max_connections && same > 0)
		return NULL;
	return found;
}

static void listen_refused(
	const uint8_t source[16], uint64_t *connections, struct refused *by_source)
{
	char host[ADDRESS_TEXT_MAX];
	++*connections;
	refused_add(by_source, address_text(host, source));
}

/* Hands a connection to its door, in the clear or through a pump. */
static void listen_hand_over(
	struct listen_door *door, struct listen_connection *c, int fd, const uint8_t source[16])
{
	struct push_listen *listen = door->of;
	int inner = fd;
	*c = (struct listen_connection){.of = listen, .own = fd, .since_ns = mono_now().ns};
	memcpy(c->source, source, 16);
	if (door->tls) {
		c->own = -1;
		c->pump =
			tls_pump_new(listen->loop, door->tls, fd, listen_on_pump_ended, c, &inner);
		if (!c->pump)
			return;
	}
	c->number = listen_number(listen, inner);
	if (door->tls)
		close(inner);
	if (c->number < 0) {
		tls_pump_free(rw_take(c->pump));
		if (c->own >= 0)
			close(c->own);
		return;
	}
	pthread_mutex_lock(&listen->lock);
	c->used = true;
	pthread_mutex_unlock(&listen->lock);
	listen->counts.open++;
	listen->counts.accepted++;
	door->door(door->arg, c->number);
}

static void listen_source_of(const struct sockaddr_storage *from, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (from->ss_family == AF_INET6) {
		memcpy(ret, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
	} else if (from->ss_family == AF_INET) {
		ret[10] = ret[11] = 0xff;
		memcpy(ret + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	}
}

/* False when nobody waits any more. */
static bool listen_accept(struct listen_door *door)
{
	struct push_listen *listen = door->of;
	struct sockaddr_storage from = {0};
	socklen_t n = sizeof(from);
	uint8_t source[16];
	int yes = 1;
	const int fd = accept4(
		door->fd, (struct sockaddr *)(void *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED;
	listen_source_of(&from, source);
	const bool allowed = listen->o.allow(listen->o.arg, source);
	struct push_listen_counts *counts = &listen->counts;
	struct listen_connection *c = NULL;
	if (allowed)
		c = listen_free_one(listen, source);
	if (c) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
		listen_hand_over(door, c, fd, source);
		return true;
	}
	close(fd);
	if (allowed)
		listen_refused(source, &counts->crowded, &counts->by_crowded);
	else
		listen_refused(source, &counts->strangers, &counts->by_stranger);
	return true;
}

static void listen_on_ready(void *arg, int events)
{
	for (int i = 0; i < ACCEPTS_PER_TURN; i++)
		if (!listen_accept(arg))
			return;
}

bool push_listen_source(struct push_listen *listen, int fd, uint8_t ret[16])
{
	bool found = false;
	pthread_mutex_lock(&listen->lock);
	for (unsigned i = 0; i < listen->o.max_connections && !found; i++) {
		found = listen->v[i].used && listen->v[i].number == fd;
		if (found)
			memcpy(ret, listen->v[i].source, 16);
	}
	pthread_mutex_unlock(&listen->lock);
	return found;
}

/* ---- life ------------------------------------------------------------------------ */

static int listen_socket(const struct addrinfo *where)
{
	int yes = 1;
	rw_cleanup(closep) int fd =
		socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (where->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, where->ai_addr, where->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	const int ret = fd;
	fd = -1;
	return ret;
}

int push_listen_open(struct push_listen *listen, const char *address, struct tls_context *tls,
	push_listen_fn *door, void *arg, struct err *e)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char service[8];
	const char *host;
	uint16_t port;
	struct arena *a = arena_new();
	int rc = address_split(a, address, 0, &host, &port, e);
	if (rc == 0) {
		snprintf(service, sizeof(service), "%u", port);
		rc = getaddrinfo(host, service, &hints, &found);
		if (rc != 0)
			rc = reason_err(e, -EINVAL, OTLP_BIND, address, gai_strerror(rc));
	}
	arena_free(a);
	if (rc < 0)
		return rc;
	const int fd = listen_socket(found);
	freeaddrinfo(found);
	if (fd < 0)
		return reason_err(e, fd, OTLP_BIND, address, strerror(-fd));
	listen->doors[listen->n_doors++] =
		(struct listen_door){.of = listen, .fd = fd, .tls = tls, .door = door, .arg = arg};
	return 0;
}

void push_listen_start(struct push_listen *listen)
{
	for (size_t i = 0; i < listen->n_doors; i++)
		listen->doors[i].watch = loop_fd_new(listen->loop, listen->doors[i].fd, LOOP_READ,
			listen_on_ready, &listen->doors[i]);
	loop_timer_start(listen->look, LOOK_NS, LOOK_NS);
}

struct push_listen *push_listen_new(struct loop *loop, const struct push_listen_options *options)
{
	struct push_listen *listen = rw_calloc(1, sizeof(*listen));
	listen->loop = loop;
	listen->o = *options;
	listen->next = FD_FIRST;
	listen->v = rw_calloc(options->max_connections, sizeof(*listen->v));
	for (unsigned i = 0; i < options->max_connections; i++)
		listen->v[i] = (struct listen_connection){.of = listen, .own = -1};
	listen->look = loop_timer_new(loop, listen_on_look, listen);
	pthread_mutex_init(&listen->lock, NULL);
	return listen;
}

void push_listen_free(struct push_listen *listen)
{
	if (!listen)
		return;
	for (unsigned i = 0; i < listen->o.max_connections; i++)
		if (listen->v[i].used)
			listen_end(&listen->v[i]);
	for (size_t i = 0; i < listen->n_doors; i++) {
		loop_fd_free(listen->doors[i].watch);
		close(listen->doors[i].fd);
	}
	loop_timer_free(listen->look);
	pthread_mutex_destroy(&listen->lock);
	free(listen->v);
	free(listen);
}
