/* snmp_io - one session of net-snmp per agent, driven by the loop; the library's types do not leave
 * this file. */
#include "collectors/snmp/snmp_io.h"

#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/locked.h"
#include "base/loop.h"
#include "base/process.h"
#include "collectors/snmp/snmp_library.h"
#include "collectors/snmp/snmp_message.h"
#include "collectors/target/reason.h"

/*
 * snmp_key - SNMPv3 passwords made into keys (RFC 3414 A.2: a megabyte is hashed), on a pool
 * thread, once for all agents a password is used with. Two users of one password share the work;
 * the password is wiped when the key is there. Loop thread only.
 */

/* .done is called each time a key got ready, whichever it was: ask again, and wait again */
struct snmp_key_waiter {
	void (*done)(void *arg);
	void *arg;
	struct snmp_key_waiter *next;
	bool waiting;
};

struct snmp_key {
	struct snmp_key *next;
	enum snmp_auth auth; /* the hash */
	char *password; /* wiped when the key is there */
	uint64_t fingerprint;
	bool busy, ready;
	struct snmp_ku ku;
	int rc;
	unsigned refs; /* those who got it, and the work under way */
};

static struct snmp_key *keys;
static struct snmp_key_waiter *waiters;
static struct snmp_key_waiter *woken; /* those whose .done is called just now */

static void password_wipe(struct snmp_key *key)
{
	locked_freep(&key->password);
}

/* NULL is fine */
static void snmp_key_put(struct snmp_key *key)
{
	if (!key || --key->refs > 0)
		return;
	for (struct snmp_key **p = &keys; *p; p = &(*p)->next)
		if (*p == key) {
			*p = key->next;
			break;
		}
	password_wipe(key);
	locked_free(key);
}

/* snmp_key_get - never NULL; @password is copied. Nothing is computed yet. */
static struct snmp_key *snmp_key_get(enum snmp_auth auth, const char *password)
{
	/* the same password must not have the same fingerprint in every run */
	static uint64_t seed;
	if (!seed)
		seed = (uint64_t)wall_now().ns | 1;
	uint64_t fingerprint = hash_bytes(password, strlen(password), seed);
	for (struct snmp_key *k = keys; k; k = k->next)
		if (k->auth == auth && k->fingerprint == fingerprint && k->rc == 0) {
			k->refs++;
			return k;
		}
	struct snmp_key *k = locked_new(sizeof(*k));
	*k = (struct snmp_key){.next = keys,
		.auth = auth,
		.password = locked_dup(password),
		.fingerprint = fingerprint,
		.refs = 1};
	keys = k;
	return k;
}

static void key_work(void *arg)
{
	struct snmp_key *k = arg;
	k->rc = snmp_ku_make(k->auth, k->password, &k->ku);
}

static void snmp_key_done(void *arg)
{
	struct snmp_key *k = arg;
	k->busy = false;
	k->ready = true;
	password_wipe(k);
	/* From the head, one at a time: a waiter may free itself or another one. A waiter whose key
	 * is another one waits again. */
	woken = waiters;
	waiters = NULL;
	while (woken) {
		struct snmp_key_waiter *w = woken;
		woken = w->next;
		w->waiting = false;
		w->done(w->arg);
	}
	snmp_key_put(k);
}

static const struct loop_job key_job = {
	.limit_ns = 60 * NS_PER_S, .work = key_work, .done = snmp_key_done};

/* snmp_key_ready - true when there is nothing to wait for (or no key: NULL); else the work is under
 * way. */
static bool snmp_key_ready(struct snmp_key *key, struct loop *loop)
{
	if (!key || key->ready)
		return true;
	if (!key->busy) {
		key->busy = true;
		key->refs++;
		if (loop_work(loop, &key_job, key) < 0) {
			key->busy = false;
			key->refs--;
			key->rc = -EAGAIN;
			return true;
		}
	}
	return false;
}

/* snmp_key_value - of a ready key, lent; NULL for no key, and when it could not be made: then
 * snmp_key_error() is not 0. */
static const struct snmp_ku *snmp_key_value(const struct snmp_key *key)
{
	if (key && key->ready && key->rc == 0)
		return &key->ku;
	return NULL;
}

static int snmp_key_error(const struct snmp_key *key)
{
	if (key)
		return key->rc;
	return 0;
}

/* fine when it does not wait */
static void snmp_key_leave(struct snmp_key_waiter *waiter)
{
	struct snmp_key_waiter **const lists[] = {&waiters, &woken};
	for (size_t i = 0; waiter->waiting && i < rw_countof(lists); i++)
		for (struct snmp_key_waiter **p = lists[i]; *p; p = &(*p)->next)
			if (*p == waiter) {
				*p = waiter->next;
				break;
			}
	waiter->waiting = false;
}

/*
 * snmp_socket - a connected UDP socket to one agent: a connected one hears "port unreachable".
 * Bound to a source address and made in a network namespace where asked; names are resolved on a
 * thread of their own. The socket outlives its connections: another namespace cannot be entered
 * again once rights were given up. Loop thread only.
 */

/* @ready reports how a connect that returned -EINPROGRESS ended: 0, or negative errno with a
 * sentence. */
typedef void snmp_socket_ready_fn(void *arg, int rc, const char *why);
struct snmp_socket_options { /* strings are copied */
	const char *host;
	uint16_t port;
	const char *source; /* numeric address of this machine; NULL = any */
	const char *netns; /* name under /run/netns, or a path; NULL = ours */
};

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

/* @rc 0: there is an address. */
static void resolve_tell(struct socket_resolve *r, int rc, const char *why)
{
	struct snmp_socket *s = r->socket;
	struct err e = {0};
	r->socket = NULL;
	if (!s)
		return;
	s->resolving = NULL;
	if (rc < 0)
		reason_err(&e, rc, SNMP_RESOLVE, r->host, why);
	else
		rc = snmp_socket_connected(s, &r->addr, r->n_addr, &e);
	s->ready(s->arg, rc, e.text); /* may free the socket */
}

static void resolve_late(void *arg)
{
	resolve_tell(arg, -EHOSTUNREACH, "nobody answers who knows names");
}

static void resolve_done(void *arg)
{
	struct socket_resolve *r = arg;
	int rc = 0;
	if (r->rc != 0)
		rc = -EHOSTUNREACH;
	resolve_tell(r, rc, gai_strerror(r->rc));
	free(r->host);
	free(r);
}

static const struct loop_job resolve_job = {.limit_ns = 30 * NS_PER_S,
	.work = resolve_work,
	.done = resolve_done,
	.late = resolve_late};

/* snmp_socket_connect - (again) to the address the host has now. 0, -EINPROGRESS (@ready follows),
 * or negative errno with @e. */
static int snmp_socket_connect(struct snmp_socket *socket, struct err *e)
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
	int rc = loop_work(socket->loop, &resolve_job, r);
	if (rc < 0) {
		free(r->host);
		free(r);
		return reason_err(e, rc, SNMP_RESOLVE, socket->host, "too many other names wait");
	}
	socket->resolving = r;
	return -EINPROGRESS;
}

/* NULL is fine */
static void snmp_socket_free(struct snmp_socket *socket)
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

/* 0, or negative errno with @e (bad source address, no such namespace, no right to enter it). */
static int snmp_socket_new(struct loop *loop, const struct snmp_socket_options *options,
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

/* -1 = not connected */
static int snmp_socket_fd(const struct snmp_socket *socket)
{
	return socket->fd;
}

/* "192.0.2.1:161"; the host before it is known */
static const char *snmp_socket_peer(const struct snmp_socket *socket)
{
	return socket->peer;
}

/* ---- snmp_io --------------------------------------------------------------- */

/* The library compares with a strict "expired before now": asking a little later saves a second
 * round. */
#define TIMER_SLACK_NS (3 * NS_PER_MS)

struct snmp_io {
	struct loop *loop;
	struct snmp_io_events events;
	void *arg;
	char *community, *user, *context;
	int version, retries;
	int64_t timeout_ns;
	enum snmp_auth auth;
	enum snmp_priv priv;
	struct snmp_key *auth_key, *priv_key; /* NULL = not needed */
	struct snmp_key_waiter key_waiter;

	struct snmp_socket *socket;
	int fd; /* the socket's, or -1 */
	struct loop_fd *watch;
	struct loop_timer *timer, *begin;
	void *session; /* the library's, NULL = not started */
	netsnmp_large_fd_set set;

	/* engine discovery: v3 before there is a session; later to learn whether, and as whom, an
	 * agent is there at all */
	bool probing;
	bool answered; /* anything, in this session */
	uint32_t probe_id;
	int probes;
	struct snmp_engine engine;

	bool busy, dead; /* dead: the session has seen an error it cannot be trusted after */
	int depth; /* inside the library or a callback */
	bool freed; /* freed while inside: released on the way out */
	int failed_errno; /* what the socket said, 0 = nothing */

	struct snmp_scratch scratch;

	/* v2c: our own messages; the library is asked about unusual answers only */
	uint8_t *request; /* the one in flight, for sending it again */
	size_t n_request, cap_request;
	uint32_t request_id;
	int tries; /* of it, after the first */
};

/* Answers of v2c are read where they arrive, one after the other. Loop thread only. */
static uint8_t io_datagram[65536];
static struct snmp_scratch io_scratch;

/* ---- library set-up ------------------------------------------------------ */

void snmp_io_init(void)
{
	static bool done;
	if (done)
		return;
	done = true;
	setenv("MIBS", "", 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_LOAD, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_SAVE, 1);
	snmp_disable_log();
	init_snmp("rocewatch");
}

/* ---- answers ------------------------------------------------------------- */

static void io_release(struct snmp_io *io);
static void probe_read(struct snmp_io *io);
static void probe_timer(struct snmp_io *io);
static void probe_begin(struct snmp_io *io);

/* Every way into the library or out to the owner is between enter and leave: the owner may free the
 * io anywhere in between. */
static void io_enter(struct snmp_io *io)
{
	io->depth++;
}

/* False when the io is gone. */
static bool io_leave(struct snmp_io *io)
{
	if (--io->depth == 0 && io->freed) {
		io_release(io);
		return false;
	}
	return true;
}

static void io_answer(struct snmp_io *io, const struct snmp_answer *answer)
{
	if (!io->busy || io->freed)
		return;
	io->busy = false;
	loop_timer_stop(io->timer);
	if (answer->status != SNMP_IO_OK && answer->status != SNMP_IO_TIMEOUT)
		io->dead = true;
	io->events.answer(io->arg, answer);
}

static void io_failed(struct snmp_io *io, int error)
{
	struct snmp_answer a = {
		.status = SNMP_IO_UNREACHABLE, .error_number = error, .detail = strerror(error)};
	if (error == ECONNREFUSED)
		a.status = SNMP_IO_REFUSED;
	io_answer(io, &a);
}

/* snmp_io_report_of - which of the usmStats counters the engine reported. */
static void snmp_io_report_of(struct snmp_answer *answer)
{
	static const uint32_t usm_stats[] = {1, 3, 6, 1, 6, 3, 15, 1, 1};
	struct snmp_oid root = {usm_stats, rw_countof(usm_stats)};
	answer->status = SNMP_IO_REPORT;
	if (answer->n > 0 && snmp_oid_under(answer->v[0].oid, root) &&
		answer->v[0].oid.n > root.n && answer->v[0].oid.v[root.n] <= REPORT_DECRYPTION)
		answer->report = (enum snmp_report)answer->v[0].oid.v[root.n];
}

static int snmp_io_on_library(
	int op, netsnmp_session *session, int reqid, netsnmp_pdu *pdu, void *magic)
{
	struct snmp_io *io = magic;
	struct snmp_answer a = {.status = SNMP_IO_OK, .detail = ""};
	switch (op) {
	case NETSNMP_CALLBACK_OP_SEC_ERROR: /* a report, too */
	case NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE:
		if (!io->busy || io->freed)
			return 1;
		a.n = snmp_scratch_fill(&io->scratch, pdu);
		a.v = io->scratch.v;
		a.error_status = (int)pdu->errstat;
		a.error_index = (int)pdu->errindex;
		io->answered = true;
		if (pdu->command == SNMP_MSG_REPORT)
			snmp_io_report_of(&a);
		break;
	case NETSNMP_CALLBACK_OP_TIMED_OUT:
		if (io->busy && !io->freed && (io->version == 3 || !io->answered)) {
			probe_begin(io);
			return 1;
		}
		a.status = SNMP_IO_TIMEOUT;
		break;
	case NETSNMP_CALLBACK_OP_RESEND: return 1;
	default:
		if (io->failed_errno) {
			io_failed(io, io->failed_errno);
			return 1;
		}
		a.status = SNMP_IO_FAILED;
		a.detail = snmp_api_errstring(session->s_snmp_errno);
	}
	io_answer(io, &a);
	return 1;
}

/* ---- v2c: our own messages ------------------------------------------------- */

/* 0 or the negative errno. */
static int plain_send(struct snmp_io *io)
{
	ssize_t n = send(io->fd, io->request, io->n_request, MSG_DONTWAIT);
	/* the error of an earlier datagram, reported now: this one was not sent */
	if (n < 0 && errno == ECONNREFUSED)
		n = send(io->fd, io->request, io->n_request, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	return 0;
}

static void plain_answer(struct snmp_io *io, const struct snmp_message *message)
{
	const struct snmp_answer answer = {.status = SNMP_IO_OK,
		.detail = "",
		.v = message->v,
		.n = message->n,
		.error_status = (int)message->error_status,
		.error_index = (int)message->error_index};
	if (message->id != io->request_id)
		return; /* to a request that was given up */
	io->answered = true;
	io_answer(io, &answer);
}

static void plain_read(struct snmp_io *io)
{
	struct snmp_message message;
	struct snmp_pdu *pdu = NULL;
	const ssize_t n = recv(io->fd, io_datagram, sizeof(io_datagram), MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		io_failed(io, errno);
	if (n < 0)
		return;
	int rc = snmp_message_read(io_datagram, (size_t)n, io->community, &io_scratch, &message);
	if (rc != 0)
		rc = snmp_library_read(io_datagram, (size_t)n, &io_scratch, &message, &pdu);
	if (rc == 0)
		plain_answer(io, &message);
	if (pdu)
		snmp_library_free(pdu);
}

static void plain_timer(struct snmp_io *io)
{
	const struct snmp_answer silence = {.status = SNMP_IO_TIMEOUT, .detail = ""};
	if (!io->busy)
		return;
	if (io->tries++ < io->retries) {
		const int rc = plain_send(io);
		if (rc < 0)
			io_failed(io, -rc);
	} else if (!io->answered) {
		probe_begin(io);
	} else {
		io_answer(io, &silence);
	}
}

static int plain_ask(struct snmp_io *io, enum snmp_request what, const struct snmp_oid *oids,
	size_t n, int non_repeaters, int max_repetitions)
{
	static const uint8_t pdus[] = {
		[SNMP_GET] = 0xa0, [SNMP_GETNEXT] = 0xa1, [SNMP_GETBULK] = 0xa5};
	struct snmp_request_head head = {.command = pdus[what]};
	uint8_t message[SNMP_MESSAGE_MAX];
	size_t at;
	if (what == SNMP_GETBULK) {
		head.non_repeaters = (uint32_t)non_repeaters;
		head.max_repetitions = (uint32_t)max_repetitions;
	}
	io->request_id = (io->request_id + 1) & INT32_MAX;
	head.id = io->request_id;
	io->n_request = snmp_message_write(message, &at, io->community, &head, oids, n);
	if (io->n_request == 0)
		return -EINVAL;
	if (io->n_request > io->cap_request) {
		io->cap_request = io->n_request + 64;
		io->request = rw_realloc(io->request, io->cap_request);
	}
	memcpy(io->request, message + at, io->n_request);
	io->tries = 0;
	io->busy = true;
	const int rc = plain_send(io);
	if (rc < 0) {
		io->busy = false;
		io->dead = true;
	}
	return rc;
}

static void snmp_io_on_readable(void *arg, int events)
{
	struct snmp_io *io = arg;
	if (io->probing) {
		probe_read(io);
		return;
	}
	if (!io->session)
		return;
	io_enter(io);
	if (io->version == 2) {
		plain_read(io);
		io_leave(io);
		return;
	}
	io->failed_errno = 0;
	NETSNMP_LARGE_FD_SET(io->fd, &io->set);
	snmp_sess_read2(io->session, &io->set);
	if (io->failed_errno && !io->freed)
		io_failed(io, io->failed_errno);
	io_leave(io);
}

static void snmp_io_on_timer(void *arg)
{
	struct snmp_io *io = arg;
	if (io->probing) {
		probe_timer(io);
		return;
	}
	io_enter(io);
	io->failed_errno = 0;
	if (io->session && io->version == 2)
		plain_timer(io);
	else if (io->session)
		/* sends again, or gives up and calls snmp_io_on_library() */
		snmp_sess_timeout(io->session);
	if (io->failed_errno && !io->freed)
		io_failed(io, io->failed_errno);
	if (io->busy && !io->probing && !io->freed)
		loop_timer_start(io->timer, io->timeout_ns + TIMER_SLACK_NS, 0);
	io_leave(io);
}

/* ---- sessions ------------------------------------------------------------ */

static void session_close(struct snmp_io *io)
{
	snmp_key_leave(&io->key_waiter);
	io->probing = false;
	if (io->watch)
		loop_fd_free(io->watch);
	io->watch = NULL;
	if (io->session)
		snmp_sess_close(io->session);
	io->session = NULL;
	io->fd = -1;
}

static void ready_report(struct snmp_io *io, int rc, const char *why)
{
	loop_timer_stop(io->timer);
	if (rc < 0)
		session_close(io);
	io_enter(io);
	io->events.ready(io->arg, rc, why);
	io_leave(io);
}

static void session_v3(struct snmp_io *io, netsnmp_session *session)
{
	snmp_session_user(session, io->user, io->auth, io->priv, snmp_key_value(io->auth_key),
		snmp_key_value(io->priv_key), io->engine.id, io->engine.n_id);
	session->contextName = io->context;
	session->contextNameLen = strlen(io->context);
	session->flags |= SNMP_FLAGS_DONT_PROBE; /* it would wait for the answer */
}

static int snmp_io_session_open(struct snmp_io *io, struct err *e)
{
	static const long versions[] = {
		[1] = SNMP_VERSION_1, [2] = SNMP_VERSION_2c, [3] = SNMP_VERSION_3};
	netsnmp_session s;
	snmp_sess_init(&s);
	s.version = versions[io->version];
	if (io->version == 3) {
		session_v3(io, &s);
		/* the library keeps the first keys it saw for (engine, user): these replace them */
		snmp_user_remove(io->engine.id, io->engine.n_id, io->user);
	} else {
		s.community = (u_char *)io->community;
		s.community_len = strlen(io->community);
	}
	s.retries = io->retries;
	s.timeout = (long)(io->timeout_ns / NS_PER_US);
	s.callback = snmp_io_on_library;
	s.callback_magic = io;
	/* copies what it needs */
	io->session = snmp_sess_add(&s, snmp_transport_new(io->fd, &io->failed_errno), NULL, NULL);
	bool ok = io->session != NULL;
	if (ok && io->version == 3) {
		ok = usm_create_user_from_session(snmp_sess_session(io->session)) ==
			SNMPERR_SUCCESS;
		set_enginetime(io->engine.id, (u_int)io->engine.n_id, io->engine.boots,
			io->engine.time, TRUE);
	}
	explicit_bzero(&s, sizeof(s));
	if (ok)
		return 0;
	return reason_err(e, -EINVAL, SNMP_SESSION, snmp_api_errstring(snmp_errno));
}

static int snmp_io_watch(struct snmp_io *io, struct err *e)
{
	io->fd = snmp_socket_fd(io->socket);
	netsnmp_large_fd_set_resize(&io->set, io->fd + 1);
	io->watch = loop_fd_new(io->loop, io->fd, LOOP_READ, snmp_io_on_readable, io);
	io->dead = false;
	if (io->watch)
		return 0;
	return err_set(e, -ENOMEM, "cannot watch the socket");
}

/* ---- v3: engine discovery ------------------------------------------------ */

static void probe_send(struct snmp_io *io)
{
	uint8_t message[SNMP_PROBE_MAX];
	size_t n = snmp_engine_probe(message, io->probe_id);
	io->probes++;
	/* A failed send counts as a lost packet; a refusal comes with the next read. */
	if (send(io->fd, message, n, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED &&
		send(io->fd, message, n, MSG_DONTWAIT) < 0)
		io->failed_errno = errno;
	loop_timer_start(io->timer, io->timeout_ns, 0);
}

static void probe_begin(struct snmp_io *io)
{
	io->probing = true;
	io->probes = 0;
	io->probe_id =
		(uint32_t)hash_u64((uint64_t)loop_now(io->loop).ns ^ (uint64_t)(uintptr_t)io) &
		0x3fffffff;
	io->probe_id |= 1;
	probe_send(io);
}

/* silence_report - what the discovery after an unanswered request has shown. */
static void silence_report(struct snmp_io *io, struct snmp_answer answer)
{
	io->probing = false;
	answer.detail = "";
	io_enter(io);
	io_answer(io, &answer);
	io_leave(io);
}

static void silence_read(struct snmp_io *io, const uint8_t *data, size_t n)
{
	struct snmp_engine now;
	int rc = snmp_engine_answer(data, n, io->probe_id, &now);
	bool same = rc == 0 && now.n_id == io->engine.n_id &&
		memcmp(now.id, io->engine.id, now.n_id) == 0;
	if (io->version == 3 && rc == 0 && !same)
		silence_report(io,
			(struct snmp_answer){.status = SNMP_IO_REPORT, .report = REPORT_ENGINE});
	else if (rc == 0 || rc == -EPROTO)
		silence_report(io,
			(struct snmp_answer){.status = SNMP_IO_TIMEOUT, .silence = SILENCE_AGENT});
	else if (rc == -EBADMSG && io->version != 3) /* what the request waited for */
		silence_report(io,
			(struct snmp_answer){.status = SNMP_IO_TIMEOUT, .silence = SILENCE_LATE});
}

static void probe_timer(struct snmp_io *io)
{
	if (io->probes <= io->retries) {
		probe_send(io);
		return;
	}
	if (io->session) {
		silence_report(io, (struct snmp_answer){.status = SNMP_IO_TIMEOUT});
		return;
	}
	struct reason why;
	char each[32];
	reason_set(&why, SNMP_V3_SILENT, snmp_socket_peer(io->socket), io->probes,
		unit_duration_text(each, sizeof(each), io->timeout_ns));
	ready_report(io, -ETIMEDOUT, why.text);
}

static void probe_read(struct snmp_io *io)
{
	uint8_t buf[2048];
	struct reason why;
	const char *peer = snmp_socket_peer(io->socket);
	ssize_t n = recv(io->fd, buf, sizeof(buf), MSG_DONTWAIT);
	bool failed = n < 0 && errno != EAGAIN && errno != EINTR;
	if (failed && io->session) {
		io->probing = false;
		io_enter(io);
		io_failed(io, errno);
		io_leave(io);
		return;
	}
	if (n >= 0 && io->session) {
		silence_read(io, buf, (size_t)n);
		return;
	}
	if (failed) {
		const int error = errno;
		if (error == ECONNREFUSED)
			reason_set(&why, SNMP_REFUSED, peer);
		else
			reason_set(&why, SNMP_UNREACHABLE, peer, strerror(error));
		ready_report(io, -error, why.text);
		return;
	}
	if (n < 0)
		return;
	int rc = snmp_engine_answer(buf, (size_t)n, io->probe_id, &io->engine);
	if (rc == -EPROTO) {
		reason_set(&why, SNMP_V3_NO_ENGINE, peer);
		ready_report(io, rc, why.text);
	}
	if (rc < 0)
		return; /* something else, or late: the timer decides */
	struct err e = {0};
	io->probing = false;
	rc = snmp_io_session_open(io, &e);
	ready_report(io, rc, e.text);
}

/* v3_continue - from a connected socket to a session: the keys, then the engine. */
static void v3_continue(void *arg)
{
	struct snmp_io *io = arg;
	bool auth = snmp_key_ready(io->auth_key, io->loop),
	     priv = snmp_key_ready(io->priv_key, io->loop);
	struct err e = {0};
	if (!auth || !priv) {
		io->key_waiter.waiting = true;
		io->key_waiter.next = waiters;
		waiters = &io->key_waiter;
		return;
	}
	if (snmp_key_error(io->auth_key) < 0 || snmp_key_error(io->priv_key) < 0) {
		ready_report(io, -EINVAL, reason_text_SNMP_V3_KEY);
		return;
	}
	int rc = snmp_io_watch(io, &e);
	if (rc < 0) {
		ready_report(io, rc, e.text);
		return;
	}
	probe_begin(io);
}

/* ---- start --------------------------------------------------------------- */

/* snmp_io_connected - 0 = ready, -EINPROGRESS = v3 goes on by itself. */
static int snmp_io_connected(struct snmp_io *io, struct err *e)
{
	if (io->version == 3) {
		io->fd = snmp_socket_fd(io->socket);
		return -EINPROGRESS;
	}
	io->fd = snmp_socket_fd(io->socket);
	int rc = snmp_io_session_open(io, e);
	if (rc < 0)
		return rc;
	return snmp_io_watch(io, e);
}

static void on_connected(void *arg, int rc, const char *why)
{
	struct snmp_io *io = arg;
	struct err e = {0};
	if (rc == 0) {
		rc = snmp_io_connected(io, &e);
		why = e.text;
	}
	if (rc == -EINPROGRESS)
		v3_continue(io);
	else
		ready_report(io, rc, why);
}

int snmp_io_start(struct snmp_io *io, struct err *e)
{
	assert(io->depth == 0);
	loop_timer_stop(io->timer);
	io->busy = io->answered = false;
	session_close(io);
	int rc = snmp_socket_connect(io->socket, e);
	if (rc == 0)
		rc = snmp_io_connected(io, e);
	else if (rc == -EINPROGRESS)
		return rc;
	if (rc == -EINPROGRESS)
		loop_timer_start(io->begin, 0, 0); /* events.ready must come after we returned */
	else if (rc < 0)
		session_close(io);
	return rc;
}

/* ---- new, free, send ----------------------------------------------------- */

static int v3_options(struct snmp_io *io, const struct snmp_io_options *options, struct err *e)
{
	struct {
		const char *what, *password;
		bool wanted;
		struct snmp_key **to;
	} rows[] = {
		{"auth", options->auth_password, options->auth != SNMP_AUTH_NONE, &io->auth_key},
		{"priv", options->priv_password, options->priv != SNMP_PRIV_NONE, &io->priv_key},
	};
	if (!options->user || !*options->user)
		return reason_err(e, -EINVAL, SNMP_NO_USER);
	if (options->priv && !options->auth)
		return reason_err(e, -EINVAL, SNMP_PRIV_ALONE);
	io->user = rw_strdup(options->user);
	io->auth = options->auth;
	io->priv = options->priv;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!rows[i].wanted)
			continue;
		if (!rows[i].password || strlen(rows[i].password) < USM_LENGTH_P_MIN)
			return reason_err(e, -EINVAL, SNMP_SHORT_PASSWORD, rows[i].what,
				options->user, USM_LENGTH_P_MIN);
		*rows[i].to = snmp_key_get(options->auth, rows[i].password);
	}
	return 0;
}

int snmp_io_new(struct loop *loop, const struct snmp_io_options *options,
	const struct snmp_io_events *events, void *arg, struct snmp_io **ret, struct err *e)
{
	assert(options->version >= 1 && options->version <= 3);
	struct snmp_io *io = rw_calloc(1, sizeof(*io));
	*io = (struct snmp_io){.loop = loop,
		.events = *events,
		.arg = arg,
		.version = options->version,
		.retries = options->retries,
		.timeout_ns = options->timeout_ns,
		.community = locked_dup(str_or(options->community, "")),
		.context = rw_strdup(str_or(options->context, "")),
		.request_id =
			(uint32_t)hash_u64((uint64_t)loop_now(loop).ns ^ (uint64_t)(uintptr_t)io) &
			INT32_MAX,
		.fd = -1};
	netsnmp_large_fd_set_init(&io->set, 64);
	NETSNMP_LARGE_FD_ZERO(&io->set);
	io->timer = loop_timer_new(loop, snmp_io_on_timer, io);
	io->key_waiter = (struct snmp_key_waiter){.done = v3_continue, .arg = io};
	io->begin = loop_timer_new(loop, v3_continue, io);
	int rc = 0;
	if (options->version == 3)
		rc = v3_options(io, options, e);
	if (rc == 0)
		rc = snmp_socket_new(loop,
			&(struct snmp_socket_options){.host = options->host,
				.port = options->port,
				.source = options->source,
				.netns = options->netns},
			on_connected, io, &io->socket, e);
	if (rc < 0) {
		io_release(io);
		return rc;
	}
	*ret = io;
	return 0;
}

static void io_release(struct snmp_io *io)
{
	session_close(io);
	snmp_socket_free(io->socket);
	loop_timer_free(io->timer);
	loop_timer_free(io->begin);
	netsnmp_large_fd_set_cleanup(&io->set);
	snmp_key_put(io->auth_key);
	snmp_key_put(io->priv_key);
	locked_free(io->community);
	free(io->user);
	free(io->context);
	snmp_scratch_done(&io->scratch);
	free(io->request);
	free(io);
}

void snmp_io_free(struct snmp_io *io)
{
	if (!io)
		return;
	loop_timer_stop(io->timer);
	loop_timer_stop(io->begin);
	io->busy = false;
	snmp_key_leave(&io->key_waiter);
	if (io->depth > 0)
		io->freed = true;
	else
		io_release(io);
}

static const int commands[] = {[SNMP_GET] = SNMP_MSG_GET,
	[SNMP_GETNEXT] = SNMP_MSG_GETNEXT,
	[SNMP_GETBULK] = SNMP_MSG_GETBULK};

int snmp_io_send(struct snmp_io *io, enum snmp_request what, const struct snmp_oid *oids, size_t n,
	int non_repeaters, int max_repetitions)
{
	if (!io->session || io->dead)
		return -ENOTCONN;
	if (io->busy)
		return -EBUSY;
	if (io->version == 2) {
		const int rc = plain_ask(io, what, oids, n, non_repeaters, max_repetitions);
		if (rc == 0)
			loop_timer_start(io->timer, io->timeout_ns + TIMER_SLACK_NS, 0);
		return rc;
	}
	netsnmp_pdu *pdu = snmp_pdu_create(commands[what]);
	if (!pdu)
		return -ENOMEM;
	if (what == SNMP_GETBULK) {
		pdu->non_repeaters = non_repeaters;
		pdu->max_repetitions = max_repetitions;
	}
	for (size_t i = 0; i < n; i++) {
		oid name[SNMP_OID_MAX];
		assert(oids[i].n <= SNMP_OID_MAX);
		for (size_t k = 0; k < oids[i].n; k++)
			name[k] = oids[i].v[k];
		snmp_add_null_var(pdu, name, oids[i].n);
	}
	io->failed_errno = 0;
	io->busy = true;
	if (!snmp_sess_async_send(io->session, pdu, snmp_io_on_library, io)) {
		io->busy = false;
		io->dead = true;
		snmp_free_pdu(pdu);
		if (io->failed_errno)
			return -io->failed_errno;
		return -EINVAL;
	}
	loop_timer_start(io->timer, io->timeout_ns + TIMER_SLACK_NS, 0);
	return 0;
}

const char *snmp_io_peer(const struct snmp_io *io)
{
	return snmp_socket_peer(io->socket);
}
