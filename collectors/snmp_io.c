/* snmp_io - see the header. The one door to net-snmp: its types do not leave this file. */
#include "collectors/snmp_io.h"

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/library/snmp_transport.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* The library compares with a strict "expired before now": asking a little later saves a second round. */
#define TIMER_SLACK_NS (3 * NS_PER_MS)
#define DATAGRAM_MAX 65507

enum { FAMILY_V4, FAMILY_V6, FAMILIES };
static const int families[FAMILIES] = {AF_INET, AF_INET6};

struct resolve { /* one name resolution on the pool; outlives the io if that is freed meanwhile */
	struct snmp_io *io; /* NULL: nobody waits any more */
	char *host;
	uint16_t port;
	struct sockaddr_storage addr;
	socklen_t n_addr;
	int rc; /* of getaddrinfo */
};

struct snmp_io {
	struct loop *loop;
	struct snmp_io_events events;
	void *arg;
	char *host, *netns, *community;
	uint16_t port;
	int version, retries;
	int64_t timeout_ns;
	struct sockaddr_storage source;
	socklen_t n_source; /* 0 = any */

	int fds[FAMILIES]; /* -1 = not made */
	int fd;            /* the one in use, or -1 */
	struct loop_fd *watch;
	struct loop_timer *timer;
	struct resolve *resolving;
	void *session; /* the library's, NULL = not started */
	netsnmp_large_fd_set set;
	char peer[NI_MAXHOST + 16];

	bool busy, dead; /* dead: the session has seen an error it cannot be trusted after */
	int depth;       /* inside the library or a callback */
	bool freed;      /* freed while inside: released on the way out */
	int failed_errno; /* what the socket said, 0 = nothing */

	struct snmp_varbind *varbinds;
	size_t cap_varbinds;
	uint32_t *arcs;
	size_t cap_arcs;
};

/* --- library set-up ------------------------------------------------------------------------------------------------- */

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

/* --- the transport: plain send and recv on a connected socket ------------------------------------------------------------ */

static struct snmp_io *io_of(netsnmp_transport *t)
{
	struct snmp_io *io;
	memcpy(&io, t->data, sizeof(io));
	return io;
}

static int transport_recv(netsnmp_transport *t, void *buf, int size, void **opaque, int *opaque_n)
{
	*opaque = NULL;
	*opaque_n = 0;
	ssize_t n = recv(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n >= 0)
		return (int)n;
	if (errno != EAGAIN && errno != EINTR)
		io_of(t)->failed_errno = errno;
	return -1;
}

static int transport_send(netsnmp_transport *t, const void *buf, int size, void **opaque, int *opaque_n)
{
	ssize_t n = send(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n < 0 && errno == ECONNREFUSED) /* the answer to an earlier datagram, told now: this one was not sent */
		n = send(t->sock, buf, (size_t)size, MSG_DONTWAIT);
	if (n < 0)
		io_of(t)->failed_errno = errno;
	return (int)n;
}

static int transport_close(netsnmp_transport *t)
{
	t->sock = -1; /* the socket is ours and stays */
	return 0;
}

static char *transport_text(netsnmp_transport *t, const void *data, int n)
{
	return strdup("peer"); /* freed by the library */
}

static netsnmp_transport *transport_new(struct snmp_io *io)
{
	static const oid domain[] = {1, 3, 6, 1, 6, 1, 1}; /* snmpUDPDomain, RFC 3417 */
	netsnmp_transport *t = rw_calloc(1, sizeof(*t)); /* freed by the library */
	t->domain = domain;
	t->domain_length = rw_countof(domain);
	t->sock = io->fd;
	t->msgMaxSize = DATAGRAM_MAX;
	t->data = rw_calloc(1, sizeof(io));
	t->data_length = sizeof(io);
	memcpy(t->data, &io, sizeof(io));
	t->f_recv = transport_recv;
	t->f_send = transport_send;
	t->f_close = transport_close;
	t->f_fmtaddr = transport_text;
	return t;
}

/* --- varbinds ------------------------------------------------------------------------------------------------------- */

static void arcs_of(uint32_t *to, const oid *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)from[i];
}

static void value_of(struct snmp_varbind *v, const netsnmp_variable_list *var, uint32_t *arcs)
{
	switch (var->type) {
	case ASN_INTEGER:
		v->type = SNMP_INTEGER;
		v->number = (uint64_t)(int64_t)*var->val.integer;
		break;
	case ASN_GAUGE: /* = Unsigned32 */
	case ASN_UINTEGER:
		v->type = SNMP_GAUGE32;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER:
		v->type = SNMP_COUNTER32;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_TIMETICKS:
		v->type = SNMP_TICKS;
		v->number = (uint32_t)*var->val.integer;
		break;
	case ASN_COUNTER64:
		v->type = SNMP_COUNTER64;
		v->number = (uint64_t)(uint32_t)var->val.counter64->high << 32 | (uint32_t)var->val.counter64->low;
		break;
	case ASN_OCTET_STR:
	case ASN_IPADDRESS:
		v->type = var->type == ASN_OCTET_STR ? SNMP_STRING : SNMP_ADDRESS;
		v->bytes = var->val.string;
		v->n_bytes = var->val_len;
		break;
	case ASN_OBJECT_ID:
		v->type = SNMP_OBJECT_ID;
		v->object = (struct snmp_oid){arcs, var->val_len / sizeof(oid)};
		arcs_of(arcs, var->val.objid, v->object.n);
		break;
	case ASN_NULL:
		v->type = SNMP_NULL_VALUE;
		break;
	case SNMP_NOSUCHOBJECT:
		v->type = SNMP_NO_SUCH_OBJECT;
		break;
	case SNMP_NOSUCHINSTANCE:
		v->type = SNMP_NO_SUCH_INSTANCE;
		break;
	case SNMP_ENDOFMIBVIEW:
		v->type = SNMP_END_OF_MIB;
		break;
	default:
		v->type = SNMP_OTHER;
	}
}

/* varbinds_of - the answer in our own words, in the io's scratch memory; strings stay in the library's PDU. */
static size_t varbinds_of(struct snmp_io *io, const netsnmp_pdu *pdu)
{
	size_t n = 0, n_arcs = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, n++)
		n_arcs += v->name_length + (v->type == ASN_OBJECT_ID ? v->val_len / sizeof(oid) : 0);
	if (n > io->cap_varbinds) {
		io->cap_varbinds = n * 2;
		io->varbinds = rw_realloc(io->varbinds, io->cap_varbinds * sizeof(*io->varbinds));
	}
	if (n_arcs > io->cap_arcs) {
		io->cap_arcs = n_arcs * 2;
		io->arcs = rw_realloc(io->arcs, io->cap_arcs * sizeof(*io->arcs));
	}
	uint32_t *arcs = io->arcs;
	size_t i = 0;
	for (const netsnmp_variable_list *v = pdu->variables; v; v = v->next_variable, i++) {
		struct snmp_varbind *b = &io->varbinds[i];
		*b = (struct snmp_varbind){.oid = {arcs, v->name_length}};
		arcs_of(arcs, v->name, v->name_length);
		arcs += v->name_length;
		value_of(b, v, arcs);
		arcs += b->object.n;
	}
	return n;
}

/* --- answers ---------------------------------------------------------------------------------------------------------- */

static void io_release(struct snmp_io *io);

/* Every way into the library or out to the owner is between enter and leave: the owner may free the io anywhere in between. */
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

static void io_answer(struct snmp_io *io, const struct snmp_answer *a)
{
	if (!io->busy || io->freed)
		return;
	io->busy = false;
	loop_timer_stop(io->timer);
	if (a->status != SNMP_IO_OK && a->status != SNMP_IO_TIMEOUT)
		io->dead = true;
	io->events.answer(io->arg, a);
}

static void io_failed(struct snmp_io *io, int error)
{
	struct snmp_answer a = {.status = error == ECONNREFUSED ? SNMP_IO_REFUSED : SNMP_IO_UNREACHABLE, .error_number = error,
		.detail = strerror(error)};
	io_answer(io, &a);
}

static int on_library(int op, netsnmp_session *session, int reqid, netsnmp_pdu *pdu, void *magic)
{
	struct snmp_io *io = magic;
	struct snmp_answer a = {.status = SNMP_IO_OK, .detail = ""};
	switch (op) {
	case NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE:
		if (!io->busy || io->freed)
			return 1;
		a.n = varbinds_of(io, pdu);
		a.v = io->varbinds;
		a.error_status = (int)pdu->errstat;
		a.error_index = (int)pdu->errindex;
		break;
	case NETSNMP_CALLBACK_OP_TIMED_OUT:
		a.status = SNMP_IO_TIMEOUT;
		break;
	case NETSNMP_CALLBACK_OP_RESEND:
		return 1;
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

static void on_readable(void *arg, int events)
{
	struct snmp_io *io = arg;
	if (!io->session)
		return;
	io_enter(io);
	io->failed_errno = 0;
	NETSNMP_LARGE_FD_SET(io->fd, &io->set);
	snmp_sess_read2(io->session, &io->set);
	if (io->failed_errno && !io->freed)
		io_failed(io, io->failed_errno);
	io_leave(io);
}

static void on_timer(void *arg)
{
	struct snmp_io *io = arg;
	io_enter(io);
	io->failed_errno = 0;
	if (io->session)
		snmp_sess_timeout(io->session); /* sends again, or gives up and calls on_library */
	if (io->failed_errno && !io->freed)
		io_failed(io, io->failed_errno);
	if (io->busy && !io->freed)
		loop_timer_start(io->timer, io->timeout_ns + TIMER_SLACK_NS, 0);
	io_leave(io);
}

/* --- sockets -------------------------------------------------------------------------------------------------------------- */

/* netns_enter - the calling thread into @netns; ret_back is the way home. */
static int netns_enter(const char *netns, int *ret_back, struct err *e)
{
	char path[512];
	snprintf(path, sizeof(path), strchr(netns, '/') ? "%s" : "/run/netns/%s", netns);
	int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int ns = back < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int rc = ns < 0 || setns(ns, CLONE_NEWNET) < 0 ? -errno : 0;
	if (ns >= 0)
		close(ns);
	if (rc < 0) {
		if (back >= 0)
			close(back);
		return err_set(e, rc, "cannot enter network namespace %s (%s): %s", netns, path,
			rc == -EPERM ? "CAP_SYS_ADMIN is needed" : strerror(-rc));
	}
	*ret_back = back;
	return 0;
}

static int netns_leave(int back)
{
	int rc = setns(back, CLONE_NEWNET) < 0 ? -errno : 0;
	close(back);
	return rc;
}

static int socket_make(struct snmp_io *io, int which, struct err *e)
{
	if (io->fds[which] >= 0)
		return 0;
	int fd = socket(families[which], SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "cannot make a UDP socket: %s", strerror(errno));
	if (io->n_source && io->source.ss_family == families[which] && bind(fd, (struct sockaddr *)&io->source, io->n_source) < 0) {
		int rc = -errno;
		close(fd);
		return err_set(e, rc, "cannot use the source address: %s. It must be an address of this machine%s", strerror(-rc),
			io->netns ? " in that network namespace" : "");
	}
	io->fds[which] = fd;
	return 0;
}

/* In another namespace both families are opened now: the right to enter it is given up later. */
static int sockets_make_in_netns(struct snmp_io *io, struct err *e)
{
	int back;
	int rc = netns_enter(io->netns, &back, e);
	if (rc < 0)
		return rc;
	for (int i = 0; i < FAMILIES && rc == 0; i++)
		if (!io->n_source || io->source.ss_family == families[i])
			rc = socket_make(io, i, e);
	if (rc == -EAFNOSUPPORT && io->fds[FAMILY_V4] >= 0)
		rc = 0; /* no IPv6 there */
	int home = netns_leave(back);
	assert(home == 0); /* going on in the wrong namespace would be worse */
	return rc;
}

/* --- start ---------------------------------------------------------------------------------------------------------------- */

static void session_close(struct snmp_io *io)
{
	if (io->watch)
		loop_fd_free(io->watch);
	io->watch = NULL;
	if (io->session)
		snmp_sess_close(io->session);
	io->session = NULL;
	io->fd = -1;
}

static int session_open(struct snmp_io *io, struct err *e)
{
	netsnmp_session s;
	snmp_sess_init(&s);
	s.version = io->version == 1 ? SNMP_VERSION_1 : SNMP_VERSION_2c;
	s.community = (u_char *)io->community;
	s.community_len = strlen(io->community);
	s.retries = io->retries;
	s.timeout = (long)(io->timeout_ns / NS_PER_US);
	s.callback = on_library;
	s.callback_magic = io;
	io->session = snmp_sess_add(&s, transport_new(io), NULL, NULL); /* copies what it needs */
	if (!io->session)
		return err_set(e, -ENOMEM, "the SNMP library refused the session: %s", snmp_api_errstring(s.s_snmp_errno));
	return 0;
}

/* connected - the socket towards @addr, then a session on it. */
static int connected(struct snmp_io *io, const struct sockaddr_storage *addr, socklen_t n, struct err *e)
{
	int which = addr->ss_family == AF_INET6 ? FAMILY_V6 : FAMILY_V4;
	if (io->n_source && io->source.ss_family != addr->ss_family)
		return err_set(e, -EINVAL, "the source address and the device's address are of different families (IPv4, IPv6)");
	int rc = socket_make(io, which, e);
	if (rc < 0)
		return rc;
	io->fd = io->fds[which];
	if (connect(io->fd, (const struct sockaddr *)addr, n) < 0)
		return err_set(e, -errno, "cannot reach %s: %s", io->host, strerror(errno));
	int error;
	socklen_t n_error = sizeof(error);
	getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &n_error); /* forget what belongs to the session before */

	char host[NI_MAXHOST] = "?";
	getnameinfo((const struct sockaddr *)addr, n, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	snprintf(io->peer, sizeof(io->peer), which == FAMILY_V6 ? "[%s]:%u" : "%s:%u", host, io->port);
	netsnmp_large_fd_set_resize(&io->set, io->fd + 1);
	rc = session_open(io, e);
	if (rc < 0)
		return rc;
	io->watch = loop_fd_new(io->loop, io->fd, LOOP_READ, on_readable, io);
	io->dead = false;
	return io->watch ? 0 : err_set(e, -ENOMEM, "cannot watch the socket");
}

static int lookup(const char *host, uint16_t port, int flags, struct sockaddr_storage *ret, socklen_t *ret_n)
{
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = flags | AI_NUMERICSERV}, *list = NULL;
	int rc = getaddrinfo(host, service, &hints, &list);
	if (rc != 0)
		return rc;
	memcpy(ret, list->ai_addr, list->ai_addrlen);
	*ret_n = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

static void resolve_work(void *arg)
{
	struct resolve *r = arg;
	r->rc = lookup(r->host, r->port, 0, &r->addr, &r->n_addr);
}

static void resolve_done(void *arg)
{
	struct resolve *r = arg;
	struct snmp_io *io = r->io;
	if (io) {
		struct err e = {0};
		io->resolving = NULL;
		int rc = r->rc ? err_set(&e, -EHOSTUNREACH, "cannot resolve %s: %s", r->host, gai_strerror(r->rc))
			: connected(io, &r->addr, r->n_addr, &e);
		if (rc < 0)
			session_close(io);
		io_enter(io);
		io->events.ready(io->arg, rc, e.text);
		io_leave(io);
	}
	free(r->host);
	free(r);
}

int snmp_io_start(struct snmp_io *io, struct err *e)
{
	assert(io->depth == 0);
	if (io->resolving)
		return -EINPROGRESS;
	loop_timer_stop(io->timer);
	io->busy = false;
	session_close(io);
	struct sockaddr_storage addr;
	socklen_t n;
	if (lookup(io->host, io->port, AI_NUMERICHOST, &addr, &n) == 0) {
		int rc = connected(io, &addr, n, e);
		if (rc < 0)
			session_close(io);
		return rc;
	}
	struct resolve *r = rw_calloc(1, sizeof(*r));
	*r = (struct resolve){.io = io, .host = rw_strdup(io->host), .port = io->port};
	int rc = loop_work(io->loop, resolve_work, resolve_done, r);
	if (rc < 0) {
		free(r->host);
		free(r);
		return err_set(e, rc, "cannot resolve %s: no worker thread", io->host);
	}
	io->resolving = r;
	return -EINPROGRESS;
}

/* --- new, free, send ------------------------------------------------------------------------------------------------------ */

int snmp_io_new(struct loop *l, const struct snmp_io_options *o, const struct snmp_io_events *events, void *arg, struct snmp_io **ret,
	struct err *e)
{
	assert(o->version == 1 || o->version == 2);
	struct snmp_io *io = rw_calloc(1, sizeof(*io));
	*io = (struct snmp_io){.loop = l, .events = *events, .arg = arg, .host = rw_strdup(o->host), .port = o->port, .version = o->version,
		.retries = o->retries, .timeout_ns = o->timeout_ns, .community = rw_strdup(o->community ? o->community : ""),
		.netns = o->netns ? rw_strdup(o->netns) : NULL, .fds = {-1, -1}, .fd = -1};
	snprintf(io->peer, sizeof(io->peer), "%s", o->host);
	netsnmp_large_fd_set_init(&io->set, 64);
	NETSNMP_LARGE_FD_ZERO(&io->set);
	io->timer = loop_timer_new(l, on_timer, io);
	int rc = 0;
	if (o->source && lookup(o->source, 0, AI_NUMERICHOST, &io->source, &io->n_source) != 0)
		rc = err_set(e, -EINVAL, "read source '%s', expected an IPv4 or IPv6 address of this machine", o->source);
	if (rc == 0 && o->netns)
		rc = sockets_make_in_netns(io, e);
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
	loop_timer_free(io->timer);
	for (int i = 0; i < FAMILIES; i++)
		if (io->fds[i] >= 0)
			close(io->fds[i]);
	netsnmp_large_fd_set_cleanup(&io->set);
	if (io->community)
		explicit_bzero(io->community, strlen(io->community));
	free(io->community);
	free(io->host);
	free(io->netns);
	free(io->varbinds);
	free(io->arcs);
	free(io);
}

void snmp_io_free(struct snmp_io *io)
{
	if (!io)
		return;
	if (io->resolving)
		io->resolving->io = NULL;
	io->resolving = NULL;
	loop_timer_stop(io->timer);
	io->busy = false;
	if (io->depth > 0)
		io->freed = true;
	else
		io_release(io);
}

static const int commands[] = {[SNMP_GET] = SNMP_MSG_GET, [SNMP_GETNEXT] = SNMP_MSG_GETNEXT, [SNMP_GETBULK] = SNMP_MSG_GETBULK};

int snmp_io_send(struct snmp_io *io, enum snmp_request what, const struct snmp_oid *oids, size_t n, int non_repeaters, int max_repetitions)
{
	if (!io->session || io->dead)
		return -ENOTCONN;
	if (io->busy)
		return -EBUSY;
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
	if (!snmp_sess_async_send(io->session, pdu, on_library, io)) {
		io->busy = false;
		io->dead = true;
		snmp_free_pdu(pdu);
		return io->failed_errno ? -io->failed_errno : -EINVAL;
	}
	loop_timer_start(io->timer, io->timeout_ns + TIMER_SLACK_NS, 0);
	return 0;
}

bool snmp_io_busy(const struct snmp_io *io)
{
	return io->busy;
}

const char *snmp_io_peer(const struct snmp_io *io)
{
	return io->peer;
}
