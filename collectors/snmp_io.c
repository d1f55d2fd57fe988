/* snmp_io - see the header. The one door to net-snmp: its types do not leave this file. */
#include "collectors/snmp_io.h"

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/library/snmp_transport.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "collectors/snmp_engine.h"
#include "collectors/snmp_library.h"
#include "collectors/snmp_socket.h"

/* The library compares with a strict "expired before now": asking a little later saves a second round. */
#define TIMER_SLACK_NS (3 * NS_PER_MS)
#define DATAGRAM_MAX 65507

/* A password made into a key (RFC 3414 A.2: a megabyte is hashed), once for all agents it is used with. */
struct usm_key {
	struct usm_key *next;
	enum snmp_auth auth; /* the hash */
	char *password;      /* wiped when the key is there */
	uint64_t fingerprint;
	bool busy, ready;
	struct snmp_ku ku;
	int rc;
	unsigned refs;       /* ios, and the work under way */
};

struct snmp_io {
	struct loop *loop;
	struct snmp_io_events events;
	void *arg;
	char *community, *user, *context;
	int version, retries;
	int64_t timeout_ns;
	enum snmp_auth auth;
	enum snmp_priv priv;
	struct usm_key *auth_key, *priv_key; /* NULL = not needed */

	struct snmp_socket *socket;
	int fd; /* the socket's, or -1 */
	struct loop_fd *watch;
	struct loop_timer *timer, *begin;
	void *session; /* the library's, NULL = not started */
	netsnmp_large_fd_set set;

	/* v3, before there is a session */
	struct snmp_io *next_waiting; /* in the list of those that wait for a key */
	bool waiting, probing;
	uint32_t probe_id;
	int probes;
	struct snmp_engine engine;

	bool busy, dead; /* dead: the session has seen an error it cannot be trusted after */
	int depth;       /* inside the library or a callback */
	bool freed;      /* freed while inside: released on the way out */
	int failed_errno; /* what the socket said, 0 = nothing */

	struct snmp_scratch scratch;
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

/* --- answers ---------------------------------------------------------------------------------------------------------- */

static void io_release(struct snmp_io *io);
static void probe_read(struct snmp_io *io);
static void probe_timer(struct snmp_io *io);

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

/* report_of - which of the usmStats counters the engine told. */
static void report_of(struct snmp_answer *a)
{
	static const uint32_t usm_stats[] = {1, 3, 6, 1, 6, 3, 15, 1, 1};
	struct snmp_oid root = {usm_stats, rw_countof(usm_stats)};
	a->status = SNMP_IO_REPORT;
	if (a->n > 0 && snmp_oid_under(a->v[0].oid, root) && a->v[0].oid.n > root.n && a->v[0].oid.v[root.n] <= REPORT_DECRYPTION)
		a->report = (enum snmp_report)a->v[0].oid.v[root.n];
}

static int on_library(int op, netsnmp_session *session, int reqid, netsnmp_pdu *pdu, void *magic)
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
		if (pdu->command == SNMP_MSG_REPORT)
			report_of(&a);
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
	if (io->probing) {
		probe_read(io);
		return;
	}
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
	if (io->probing) {
		probe_timer(io);
		return;
	}
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

/* --- v3: keys --------------------------------------------------------------------------------------------------------------- */

static struct usm_key *keys;
static struct snmp_io *waiting; /* for a key */

static void text_wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

static void key_put(struct usm_key *k)
{
	if (!k || --k->refs > 0)
		return;
	for (struct usm_key **p = &keys; *p; p = &(*p)->next)
		if (*p == k) {
			*p = k->next;
			break;
		}
	text_wipe(k->password);
	explicit_bzero(k, sizeof(*k));
	free(k);
}

static struct usm_key *key_get(enum snmp_auth auth, const char *password)
{
	static uint64_t seed; /* the list must not tell which of two passwords is which across runs */
	if (!seed)
		seed = (uint64_t)wall_now().ns | 1;
	uint64_t fingerprint = hash_bytes(password, strlen(password), seed);
	for (struct usm_key *k = keys; k; k = k->next)
		if (k->auth == auth && k->fingerprint == fingerprint && k->rc == 0) {
			k->refs++;
			return k;
		}
	struct usm_key *k = rw_calloc(1, sizeof(*k));
	*k = (struct usm_key){.next = keys, .auth = auth, .password = rw_strdup(password), .fingerprint = fingerprint, .refs = 1};
	keys = k;
	return k;
}

static void key_work(void *arg)
{
	struct usm_key *k = arg;
	k->rc = snmp_ku_make(k->auth, k->password, &k->ku);
}

static void v3_continue(struct snmp_io *io);

static void key_done(void *arg)
{
	struct usm_key *k = arg;
	k->busy = false;
	k->ready = true;
	text_wipe(rw_take(k->password));
	struct snmp_io *list = waiting;
	waiting = NULL;
	while (list) {
		struct snmp_io *io = list;
		list = io->next_waiting;
		io->waiting = false;
		v3_continue(io); /* those whose key is another one put themselves on the list again */
	}
	key_put(k);
}

/* key_ready - true when it is (or never will be: .rc); else the work is under way. */
static bool key_ready(struct snmp_io *io, struct usm_key *k)
{
	if (!k || k->ready)
		return true;
	if (!k->busy) {
		k->busy = true;
		k->refs++;
		if (loop_work(io->loop, key_work, key_done, k) < 0) {
			k->busy = false;
			k->refs--;
			k->rc = -EAGAIN;
			return true;
		}
	}
	return false;
}

static void waiting_leave(struct snmp_io *io)
{
	for (struct snmp_io **p = &waiting; io->waiting && *p; p = &(*p)->next_waiting)
		if (*p == io) {
			*p = io->next_waiting;
			break;
		}
	io->waiting = false;
}

/* --- sessions ------------------------------------------------------------------------------------------------------------- */

static void session_close(struct snmp_io *io)
{
	waiting_leave(io);
	io->probing = false;
	if (io->watch)
		loop_fd_free(io->watch);
	io->watch = NULL;
	if (io->session)
		snmp_sess_close(io->session);
	io->session = NULL;
	io->fd = -1;
}

static void ready_tell(struct snmp_io *io, int rc, const char *why)
{
	loop_timer_stop(io->timer);
	if (rc < 0)
		session_close(io);
	io_enter(io);
	io->events.ready(io->arg, rc, why);
	io_leave(io);
}

/* user_forget - the library keeps the first keys it saw for (engine, user): others must replace them. */
static void user_forget(const netsnmp_session *s)
{
	struct usmUser *u = usm_get_user(s->securityEngineID, s->securityEngineIDLen, s->securityName);
	if (!u)
		return;
	usm_remove_user(u);
	usm_free_user(u);
}

static void session_v3(struct snmp_io *io, netsnmp_session *s)
{
	snmp_session_user(s, io->user, io->auth, io->priv, io->auth_key ? &io->auth_key->ku : NULL, io->priv_key ? &io->priv_key->ku : NULL,
		io->engine.id, io->engine.n_id);
	s->contextName = io->context;
	s->contextNameLen = strlen(io->context);
	s->flags |= SNMP_FLAGS_DONT_PROBE; /* it would wait for the answer */
}

static int session_open(struct snmp_io *io, struct err *e)
{
	static const long versions[] = {[1] = SNMP_VERSION_1, [2] = SNMP_VERSION_2c, [3] = SNMP_VERSION_3};
	netsnmp_session s;
	snmp_sess_init(&s);
	s.version = versions[io->version];
	if (io->version == 3) {
		session_v3(io, &s);
		user_forget(&s);
	} else {
		s.community = (u_char *)io->community;
		s.community_len = strlen(io->community);
	}
	s.retries = io->retries;
	s.timeout = (long)(io->timeout_ns / NS_PER_US);
	s.callback = on_library;
	s.callback_magic = io;
	io->session = snmp_sess_add(&s, transport_new(io), NULL, NULL); /* copies what it needs */
	bool ok = io->session != NULL;
	if (ok && io->version == 3) {
		ok = usm_create_user_from_session(snmp_sess_session(io->session)) == SNMPERR_SUCCESS;
		set_enginetime(io->engine.id, (u_int)io->engine.n_id, io->engine.boots, io->engine.time, TRUE);
	}
	explicit_bzero(&s, sizeof(s));
	return ok ? 0 : err_set(e, -EINVAL, "the SNMP library refused the session: %s", snmp_api_errstring(snmp_errno));
}

static int watch(struct snmp_io *io, struct err *e)
{
	io->fd = snmp_socket_fd(io->socket);
	netsnmp_large_fd_set_resize(&io->set, io->fd + 1);
	io->watch = loop_fd_new(io->loop, io->fd, LOOP_READ, on_readable, io);
	io->dead = false;
	return io->watch ? 0 : err_set(e, -ENOMEM, "cannot watch the socket");
}

/* --- v3: engine discovery ----------------------------------------------------------------------------------------------------- */

static void probe_send(struct snmp_io *io)
{
	uint8_t message[SNMP_PROBE_MAX];
	size_t n = snmp_engine_probe(message, io->probe_id);
	io->probes++;
	/* A failed send is like a lost one; a refusal is heard by the read. */
	if (send(io->fd, message, n, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED && send(io->fd, message, n, MSG_DONTWAIT) < 0)
		io->failed_errno = errno;
	loop_timer_start(io->timer, io->timeout_ns, 0);
}

static void probe_timer(struct snmp_io *io)
{
	if (io->probes <= io->retries) {
		probe_send(io);
		return;
	}
	char why[256], each[32];
	snprintf(why, sizeof(why), "%s: no answer to the SNMPv3 engine discovery, %d tries of %s. It needs no user and no password: the host is silent, "
		"or does not speak SNMPv3, or an access list is in the way", snmp_socket_peer(io->socket), io->probes,
		unit_duration_text(each, sizeof(each), io->timeout_ns));
	ready_tell(io, -ETIMEDOUT, why);
}

static void probe_read(struct snmp_io *io)
{
	uint8_t buf[2048];
	char why[200];
	ssize_t n = recv(io->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		snprintf(why, sizeof(why), errno == ECONNREFUSED ? "%s: connection refused: the host is there, but no SNMP agent listens on this port. "
			"Start it, or correct snmp.address%.0s" : "%s: %s", snmp_socket_peer(io->socket), strerror(errno));
		ready_tell(io, -errno, why);
		return;
	}
	if (n < 0)
		return;
	int rc = snmp_engine_answer(buf, (size_t)n, io->probe_id, &io->engine);
	if (rc == -EPROTO) {
		snprintf(why, sizeof(why), "%s: answers the SNMPv3 engine discovery without an engine id: its SNMPv3 is not set up", snmp_socket_peer(io->socket));
		ready_tell(io, rc, why);
	}
	if (rc < 0)
		return; /* something else, or late: the timer decides */
	struct err e = {0};
	io->probing = false;
	rc = session_open(io, &e);
	ready_tell(io, rc, e.text);
}

/* v3_continue - from a connected socket to a session: the keys, then the engine. */
static void v3_continue(struct snmp_io *io)
{
	bool auth = key_ready(io, io->auth_key), priv = key_ready(io, io->priv_key);
	struct err e = {0};
	if (!auth || !priv) {
		io->waiting = true;
		io->next_waiting = waiting;
		waiting = io;
		return;
	}
	if ((io->auth_key && io->auth_key->rc < 0) || (io->priv_key && io->priv_key->rc < 0)) {
		ready_tell(io, -EINVAL, "the SNMPv3 password cannot be made into a key: this library lacks the protocol");
		return;
	}
	int rc = watch(io, &e);
	if (rc < 0) {
		ready_tell(io, rc, e.text);
		return;
	}
	io->probing = true;
	io->probes = 0;
	io->probe_id = (uint32_t)hash_u64((uint64_t)loop_now(io->loop).ns ^ (uint64_t)(uintptr_t)io) & 0x3fffffff;
	io->probe_id |= 1;
	probe_send(io);
}

/* --- start ---------------------------------------------------------------------------------------------------------------- */

/* connected - 0 = ready, -EINPROGRESS = v3 goes on by itself. */
static int connected(struct snmp_io *io, struct err *e)
{
	if (io->version == 3) {
		io->fd = snmp_socket_fd(io->socket);
		return -EINPROGRESS;
	}
	io->fd = snmp_socket_fd(io->socket);
	int rc = session_open(io, e);
	return rc < 0 ? rc : watch(io, e);
}

static void on_connected(void *arg, int rc, const char *why)
{
	struct snmp_io *io = arg;
	struct err e = {0};
	if (rc == 0) {
		rc = connected(io, &e);
		why = e.text;
	}
	if (rc == -EINPROGRESS)
		v3_continue(io);
	else
		ready_tell(io, rc, why);
}

static void v3_begin(void *arg)
{
	v3_continue(arg);
}

int snmp_io_start(struct snmp_io *io, struct err *e)
{
	assert(io->depth == 0);
	loop_timer_stop(io->timer);
	io->busy = false;
	session_close(io);
	int rc = snmp_socket_connect(io->socket, e);
	if (rc == 0)
		rc = connected(io, e);
	else if (rc == -EINPROGRESS)
		return rc;
	if (rc == -EINPROGRESS)
		loop_timer_start(io->begin, 0, 0); /* ready must not be told before we return */
	else if (rc < 0)
		session_close(io);
	return rc;
}

/* --- new, free, send ------------------------------------------------------------------------------------------------------ */

static int v3_options(struct snmp_io *io, const struct snmp_io_options *o, struct err *e)
{
	struct { const char *what, *password; bool wanted; struct usm_key **to; } rows[] = {
		{"auth", o->auth_password, o->auth != SNMP_AUTH_NONE, &io->auth_key},
		{"priv", o->priv_password, o->priv != SNMP_PRIV_NONE, &io->priv_key},
	};
	if (!o->user || !*o->user)
		return err_set(e, -EINVAL, "SNMPv3 needs a user");
	if (o->priv && !o->auth)
		return err_set(e, -EINVAL, "SNMPv3 has no privacy without authentication: give auth too");
	io->user = rw_strdup(o->user);
	io->auth = o->auth;
	io->priv = o->priv;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!rows[i].wanted)
			continue;
		if (!rows[i].password || strlen(rows[i].password) < USM_LENGTH_P_MIN)
			return err_set(e, -EINVAL, "the %s password of SNMPv3 user %s is shorter than %d characters (RFC 3414)", rows[i].what, o->user,
				USM_LENGTH_P_MIN);
		*rows[i].to = key_get(o->auth, rows[i].password);
	}
	return 0;
}

int snmp_io_new(struct loop *l, const struct snmp_io_options *o, const struct snmp_io_events *events, void *arg, struct snmp_io **ret,
	struct err *e)
{
	assert(o->version >= 1 && o->version <= 3);
	struct snmp_io *io = rw_calloc(1, sizeof(*io));
	*io = (struct snmp_io){.loop = l, .events = *events, .arg = arg, .version = o->version, .retries = o->retries, .timeout_ns = o->timeout_ns,
		.community = rw_strdup(o->community ? o->community : ""), .context = rw_strdup(o->context ? o->context : ""), .fd = -1};
	netsnmp_large_fd_set_init(&io->set, 64);
	NETSNMP_LARGE_FD_ZERO(&io->set);
	io->timer = loop_timer_new(l, on_timer, io);
	io->begin = loop_timer_new(l, v3_begin, io);
	int rc = o->version == 3 ? v3_options(io, o, e) : 0;
	if (rc == 0)
		rc = snmp_socket_new(l, o->host, o->port, o->source, o->netns, on_connected, io, &io->socket, e);
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
	key_put(io->auth_key);
	key_put(io->priv_key);
	text_wipe(io->community);
	free(io->user);
	free(io->context);
	snmp_scratch_done(&io->scratch);
	free(io);
}

void snmp_io_free(struct snmp_io *io)
{
	if (!io)
		return;
	loop_timer_stop(io->timer);
	loop_timer_stop(io->begin);
	io->busy = false;
	waiting_leave(io);
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
	return snmp_socket_peer(io->socket);
}
