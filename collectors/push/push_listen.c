/* push_listen - sockets that listen, and what became of their connections. */
#include "collectors/push/push_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "collectors/push/tls_pump.h"
#include "collectors/target/reason.h"
#include "config/address.h"

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

static void listen_stranger(struct push_listen *listen, const uint8_t source[16])
{
	struct push_listen_counts *counts = &listen->counts;
	size_t i = 0;
	counts->strangers++;
	while (i < counts->n_strangers && memcmp(counts->stranger[i].address, source, 16) != 0)
		i++;
	if (i == LISTEN_STRANGERS)
		return;
	if (i == counts->n_strangers) {
		counts->n_strangers++;
		memcpy(counts->stranger[i].address, source, 16);
	}
	counts->stranger[i].connections++;
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
	struct listen_connection *c = NULL;
	if (!allowed)
		listen_stranger(listen, source);
	else
		c = listen_free_one(listen, source);
	if (c) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
		listen_hand_over(door, c, fd, source);
		return true;
	}
	listen->counts.crowded += allowed;
	close(fd);
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
