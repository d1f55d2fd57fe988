/* snmp_socket - opens, binds and connects the UDP socket of one agent. */
#include "agent/base/str.h"
#include "collectors/snmp/snmp_socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/netns.h"
#include "collectors/target/reason.h"

enum { FAMILY_V4, FAMILY_V6, FAMILIES };
static const int families[FAMILIES] = {AF_INET, AF_INET6};

/* one name resolution on the pool; outlives the socket if that is freed meanwhile */
struct socket_resolve {
	struct snmp_socket *socket; /* NULL: it was freed meanwhile */
	char *host;
	uint16_t port;
	int family; /* wanted */
	struct sockaddr_storage addr;
	socklen_t n_addr;
	int rc; /* of getaddrinfo */
};

struct snmp_socket {
	struct loop *loop;
	snmp_socket_ready_fn *ready;
	void *arg;
	char *host, *netns;
	uint16_t port;
	struct sockaddr_storage source;
	socklen_t n_source; /* 0 = any */
	int fds[FAMILIES]; /* -1 = not made */
	int fd; /* the connected one, or -1 */
	struct socket_resolve *resolving;
	char peer[NI_MAXHOST + 16];
};

static int socket_make(struct snmp_socket *snmp_socket, int which, struct err *e)
{
	if (snmp_socket->fds[which] >= 0)
		return 0;
	int fd = socket(families[which], SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return reason_err(e, -errno, SNMP_SOCKET, strerror(errno));
	if (snmp_socket->n_source && snmp_socket->source.ss_family == families[which] &&
		bind(fd, (struct sockaddr *)&snmp_socket->source, snmp_socket->n_source) < 0) {
		int rc = -errno;
		close(fd);
		return reason_err(e, rc, SNMP_SOURCE, strerror(-rc),
			str_if(snmp_socket->netns, " in that network namespace"));
	}
	snmp_socket->fds[which] = fd;
	return 0;
}

/* In another namespace both families are opened now: the right to enter it is given up later. */
static int sockets_make_in_netns(struct snmp_socket *socket, struct err *e)
{
	int back;
	struct err why = {0};
	int rc = netns_enter(socket->netns, &back, &why);
	if (rc < 0)
		return reason_err(e, rc, SNMP_NETNS, why.text);
	for (int i = 0; i < FAMILIES && rc == 0; i++)
		if (!socket->n_source || socket->source.ss_family == families[i])
			rc = socket_make(socket, i, e);
	if (rc == -EAFNOSUPPORT && socket->fds[FAMILY_V4] >= 0)
		rc = 0; /* no IPv6 there */
	netns_leave(back);
	return rc;
}

static int snmp_socket_connected(
	struct snmp_socket *socket, const struct sockaddr_storage *addr, socklen_t n, struct err *e)
{
	int which = FAMILY_V4;
	if (addr->ss_family == AF_INET6)
		which = FAMILY_V6;
	if (socket->n_source && socket->source.ss_family != addr->ss_family)
		return reason_err(e, -EINVAL, SNMP_SOURCE_FAMILY);
	int rc = socket_make(socket, which, e);
	if (rc < 0)
		return rc;
	if (connect(socket->fds[which], (const struct sockaddr *)addr, n) < 0)
		return reason_err(e, -errno, SNMP_REACH, socket->host, strerror(errno));
	socket->fd = socket->fds[which];
	int error;
	socklen_t n_error = sizeof(error);
	/* forget an error of the connection before */
	getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &n_error);

	char host[NI_MAXHOST] = "?";
	getnameinfo((const struct sockaddr *)addr, n, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	snprintf(socket->peer, sizeof(socket->peer), which == FAMILY_V6 ? "[%s]:%u" : "%s:%u", host,
		socket->port);
	return 0;
}

/* The first address of @host, of @family (AF_UNSPEC: any) where it has one: a name often has both,
 * and which comes first is the system's matter. */
static int snmp_socket_lookup(const char *host, uint16_t port, int family, int flags,
	struct sockaddr_storage *ret, socklen_t *ret_n)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = flags | AI_NUMERICSERV},
			*list = NULL;
	int rc = getaddrinfo(host, service, &hints, &list);
	if (rc != 0)
		return rc;
	const struct addrinfo *found = list;
	while (found && family != AF_UNSPEC && found->ai_family != family)
		found = found->ai_next;
	if (!found)
		found = list;
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_n = found->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

static void resolve_work(void *arg)
{
	struct socket_resolve *r = arg;
	r->rc = snmp_socket_lookup(r->host, r->port, r->family, 0, &r->addr, &r->n_addr);
}

static void resolve_done(void *arg)
{
	struct socket_resolve *r = arg;
	struct snmp_socket *s = r->socket;
	if (s) {
		struct err e = {0};
		s->resolving = NULL;
		int rc;
		if (r->rc)
			rc = reason_err(
				&e, -EHOSTUNREACH, SNMP_RESOLVE, r->host, gai_strerror(r->rc));
		else
			rc = snmp_socket_connected(s, &r->addr, r->n_addr, &e);
		s->ready(s->arg, rc, e.text); /* may free the socket */
	}
	free(r->host);
	free(r);
}

int snmp_socket_connect(struct snmp_socket *socket, struct err *e)
{
	struct sockaddr_storage addr;
	socklen_t n;
	socket->fd = -1;
	if (socket->resolving)
		return -EINPROGRESS;
	if (snmp_socket_lookup(socket->host, socket->port, AF_UNSPEC, AI_NUMERICHOST, &addr, &n) ==
		0)
		return snmp_socket_connected(socket, &addr, n, e);
	struct socket_resolve *r = rw_calloc(1, sizeof(*r));
	*r = (struct socket_resolve){.socket = socket,
		.host = rw_strdup(socket->host),
		.port = socket->port,
		.family = AF_UNSPEC};
	if (socket->n_source)
		r->family = socket->source.ss_family;
	int rc = loop_work(socket->loop, resolve_work, resolve_done, r);
	if (rc < 0) {
		free(r->host);
		free(r);
		return reason_err(e, rc, SNMP_RESOLVE, socket->host, "no worker thread");
	}
	socket->resolving = r;
	return -EINPROGRESS;
}

int snmp_socket_new(struct loop *loop, const struct snmp_socket_options *options,
	snmp_socket_ready_fn *ready, void *arg, struct snmp_socket **ret, struct err *e)
{
	const char *source = options->source, *netns = options->netns;
	struct snmp_socket *s = rw_calloc(1, sizeof(*s));
	*s = (struct snmp_socket){.loop = loop,
		.ready = ready,
		.arg = arg,
		.host = rw_strdup(options->host),
		.port = options->port,
		.fds = {-1, -1},
		.fd = -1};
	if (netns)
		s->netns = rw_strdup(netns);
	snprintf(s->peer, sizeof(s->peer), "%s", options->host);
	int rc = 0;
	if (source &&
		snmp_socket_lookup(
			source, 0, AF_UNSPEC, AI_NUMERICHOST, &s->source, &s->n_source) != 0)
		rc = reason_err(e, -EINVAL, SNMP_SOURCE_WORD, source);
	if (rc == 0 && netns)
		rc = sockets_make_in_netns(s, e);
	if (rc < 0) {
		snmp_socket_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void snmp_socket_free(struct snmp_socket *socket)
{
	if (!socket)
		return;
	if (socket->resolving)
		socket->resolving->socket = NULL;
	for (int i = 0; i < FAMILIES; i++)
		if (socket->fds[i] >= 0)
			close(socket->fds[i]);
	free(socket->host);
	free(socket->netns);
	free(socket);
}

int snmp_socket_fd(const struct snmp_socket *socket)
{
	return socket->fd;
}

const char *snmp_socket_peer(const struct snmp_socket *socket)
{
	return socket->peer;
}
