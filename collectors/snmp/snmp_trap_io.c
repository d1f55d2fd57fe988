/* snmp_trap_io - receives traps and informs with one session of net-snmp, whose types do not leave
 * this file. */
#include "collectors/snmp/snmp_trap_io.h"

#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/library/snmp_transport.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/locked.h"
#include "base/loop.h"
#include "collectors/snmp/snmp_message.h"
#include "collectors/snmp/snmp_io.h"
#include "collectors/snmp/snmp_library.h"

#define DATAGRAM_MAX 65507
#define DATAGRAMS_PER_TURN 64 /* the loop has other things to do */
#define ENGINES_MAX 1024 /* engines of senders that users were made for */
#define RECEIVE_BUFFER (1 << 20) /* a burst of some thousand traps waits in the kernel */

struct trap_credential {
	int version;
	char *community, *user;
	enum snmp_auth auth;
	enum snmp_priv priv;
	struct snmp_ku auth_key, priv_key;
};

struct snmp_trap_io {
	struct loop *loop;
	struct snmp_trap_io_events events;
	void *arg;
	struct trap_credential *credentials;
	size_t n_credentials;
	int fd;
	struct loop_fd *watch;
	void *session;
	netsnmp_large_fd_set set;
	size_t n_engines;
	struct snmp_scratch scratch;
	uint32_t enterprise[SNMP_OID_MAX];

	/* the datagram at hand */
	uint8_t buf[DATAGRAM_MAX];
	size_t n;
	struct sockaddr_storage from;
	socklen_t n_from;
	char host[NI_MAXHOST];
	bool proven; /* it was a notification, and community or user were right */
	bool refused; /* and events.refused was called */
};

/* ---- the transport: one datagram, as it was handed in -------------------- */

static int snmp_trap_io_transport_recv(
	netsnmp_transport *transport, void *buf, int size, void **opaque, int *opaque_n)
{
	struct snmp_trap_io *io = snmp_transport_owner(transport);
	if (io->n == 0 || io->n > (size_t)size)
		return -1;
	memcpy(buf, io->buf, io->n);
	*opaque = rw_calloc(1, io->n_from); /* freed by the library */
	memcpy(*opaque, &io->from, io->n_from);
	*opaque_n = (int)io->n_from;
	return (int)io->n;
}

/* Answers go to where the message came from: acknowledgements, and reports that let a sender of v3
 * informs discover our engine. */
static int snmp_trap_io_transport_send(
	netsnmp_transport *transport, const void *buf, int size, void **opaque, int *opaque_n)
{
	if (!opaque || !*opaque)
		return -1;
	return (int)sendto(
		transport->sock, buf, (size_t)size, MSG_DONTWAIT, *opaque, (socklen_t)*opaque_n);
}

/* ---- known communities and users ------------------------------------------------------------- */

/* A community is good for v1 and v2c alike: devices send what they send. */
static bool community_known(const struct snmp_trap_io *io, const netsnmp_pdu *pdu)
{
	for (size_t i = 0; i < io->n_credentials; i++) {
		const struct trap_credential *c = &io->credentials[i];
		if (c->version != 3 && pdu->community_len == strlen(c->community) &&
			memcmp(pdu->community, c->community, pdu->community_len) == 0)
			return true;
	}
	return false;
}

static const struct trap_credential *user_find(const struct snmp_trap_io *io, const char *user)
{
	for (size_t i = 0; i < io->n_credentials; i++)
		if (io->credentials[i].version == 3 && str_eq(io->credentials[i].user, user))
			return &io->credentials[i];
	return NULL;
}

/* The library checks the keys. A message without keys from a user that has some must be refused
 * here. */
static bool user_known(const struct snmp_trap_io *io, const netsnmp_pdu *pdu)
{
	char name[256];
	size_t n = pdu->securityNameLen;
	if (n >= sizeof(name))
		return false; /* no user of ours has such a name */
	snprintf(name, sizeof(name), "%.*s", (int)n, str_or(pdu->securityName, ""));
	const struct trap_credential *c = user_find(io, name);
	int least = SNMP_SEC_LEVEL_NOAUTH;
	if (!c)
		return false;
	if (c->priv)
		least = SNMP_SEC_LEVEL_AUTHPRIV;
	else if (c->auth)
		least = SNMP_SEC_LEVEL_AUTHNOPRIV;
	return pdu->securityLevel >= least;
}

static bool user_add(const struct trap_credential *credential, uint8_t *engine, size_t n_engine)
{
	netsnmp_session s;
	snmp_sess_init(&s);
	s.version = SNMP_VERSION_3;
	const struct snmp_ku *auth_key = NULL, *priv_key = NULL;
	if (credential->auth)
		auth_key = &credential->auth_key;
	if (credential->priv)
		priv_key = &credential->priv_key;
	snmp_session_user(&s, credential->user, credential->auth, credential->priv, auth_key,
		priv_key, engine, n_engine);
	bool ok = usm_create_user_from_session(&s) == SNMPERR_SUCCESS;
	explicit_bzero(&s, sizeof(s));
	return ok;
}

/* ---- messages ------------------------------------------------------------ */

static void snmp_trap_io_acknowledge(struct snmp_trap_io *io, netsnmp_pdu *pdu)
{
	netsnmp_pdu *reply = snmp_clone_pdu(pdu);
	if (!reply)
		return;
	reply->command = SNMP_MSG_RESPONSE;
	reply->errstat = 0;
	reply->errindex = 0;
	if (!snmp_sess_send(io->session, reply))
		snmp_free_pdu(reply); /* the sender asks again */
}

static int snmp_trap_io_on_library(
	int op, netsnmp_session *session, int reqid, netsnmp_pdu *pdu, void *magic)
{
	struct snmp_trap_io *io = magic;
	if (op != NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE || !pdu)
		return 1;
	bool v1 = pdu->command == SNMP_MSG_TRAP, inform = pdu->command == SNMP_MSG_INFORM;
	if (!v1 && !inform && pdu->command != SNMP_MSG_TRAP2)
		/* a request to us, or the library's report of a v3 message with wrong keys */
		return 1;
	bool v3 = pdu->version == SNMP_VERSION_3;
	if (v3)
		io->refused = !user_known(io, pdu);
	else
		io->refused = !community_known(io, pdu);
	if (io->refused) {
		io->events.refused(io->arg, io->host, TRAP_WRONG_CREDENTIAL);
		return 1;
	}
	io->proven = true;
	if (inform)
		snmp_trap_io_acknowledge(io, pdu);
	struct snmp_trap_message m = {.host = io->host, .request_id = (uint32_t)pdu->reqid};
	m.pdu = (struct snmp_trap_pdu){.version = 2, .inform = inform};
	if (v1)
		m.pdu.version = 1;
	else if (v3)
		m.pdu.version = 3;
	m.pdu.n = snmp_scratch_fill(&io->scratch, pdu);
	m.pdu.v = io->scratch.v;
	if (v1) {
		size_t n = 0;
		if (pdu->enterprise_length < SNMP_OID_MAX)
			n = pdu->enterprise_length;
		for (size_t i = 0; i < n; i++)
			io->enterprise[i] = (uint32_t)pdu->enterprise[i];
		m.pdu.enterprise = (struct snmp_oid){io->enterprise, n};
		m.pdu.generic = pdu->trap_type;
		m.pdu.specific = pdu->specific_type;
		memcpy(m.pdu.agent_addr, pdu->agent_addr, sizeof(m.pdu.agent_addr));
	}
	io->events.message(io->arg, &m);
	return 1;
}

/* snmp_trap_io_feed - the datagram at hand through the library. */
static void snmp_trap_io_feed(struct snmp_trap_io *io)
{
	io->proven = io->refused = false;
	NETSNMP_LARGE_FD_SET(io->fd, &io->set);
	snmp_sess_read2(io->session, &io->set);
}

/*
 * A v3 message is for a user of an engine. One from an unknown engine gets its keys
 * now; they stay only when the message was good, so that forged ones leave nothing behind.
 */
static void feed_v3(struct snmp_trap_io *io, const struct snmp_engine *engine, const char *user)
{
	const struct trap_credential *c = user_find(io, user);
	/* of our engine, by a sender of informs */
	bool discovery = engine->n_id == 0 || (engine->boots == 0 && engine->time == 0);
	bool fresh = c && engine->n_id > 0 && !usm_get_user(engine->id, engine->n_id, user);
	if (fresh &&
		(io->n_engines >= ENGINES_MAX || !user_add(c, (uint8_t *)engine->id, engine->n_id)))
		fresh = false;
	snmp_trap_io_feed(io);
	if (fresh && !io->proven)
		snmp_user_remove(engine->id, engine->n_id, user);
	io->n_engines += fresh && io->proven;
	if (!io->proven && !io->refused && !discovery)
		io->events.refused(io->arg, io->host, TRAP_WRONG_CREDENTIAL);
}

static void snmp_trap_io_take(struct snmp_trap_io *io)
{
	struct snmp_engine engine = {0};
	char user[SNMP_ENGINE_USER_MAX];
	if (getnameinfo((struct sockaddr *)&io->from, io->n_from, io->host, sizeof(io->host), NULL,
		    0, NI_NUMERICHOST) != 0)
		return;
	int version = snmp_engine_version(io->buf, io->n);
	if (!io->events.datagram(io->arg, io->host, version))
		return;
	if (version == 3 && snmp_engine_sender(io->buf, io->n, &engine, user) == 0) {
		feed_v3(io, &engine, user);
		return;
	}
	snmp_trap_io_feed(io);
	if (!io->proven && !io->refused)
		io->events.refused(io->arg, io->host, TRAP_MALFORMED);
}

static void snmp_trap_io_on_readable(void *arg, int events)
{
	struct snmp_trap_io *io = arg;
	for (int i = 0; i < DATAGRAMS_PER_TURN; i++) {
		io->n_from = sizeof(io->from);
		ssize_t n = recvfrom(io->fd, io->buf, sizeof(io->buf), MSG_DONTWAIT,
			(struct sockaddr *)&io->from, &io->n_from);
		if (n < 0)
			return;
		io->n = (size_t)n;
		if (n > 0)
			snmp_trap_io_take(io);
	}
}

/* ---- new and free -------------------------------------------------------- */

static int listen_on(struct snmp_trap_io *io, const char *address, uint16_t port, struct err *e)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
				.ai_socktype = SOCK_DGRAM},
			*found = NULL;
	char service[8];
	int size = RECEIVE_BUFFER, yes = 1;
	snprintf(service, sizeof(service), "%u", port);
	int rc = getaddrinfo(address, service, &hints, &found);
	if (rc != 0)
		return err_set(e, -EINVAL, "traps: %s: %s", address, gai_strerror(rc));
	io->fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (io->fd < 0)
		rc = -errno;
	else
		rc = 0;
	if (rc == 0 && found->ai_family == AF_INET6)
		setsockopt(io->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (rc == 0)
		/* as much of it as the kernel allows */
		setsockopt(io->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (rc == 0 && bind(io->fd, found->ai_addr, found->ai_addrlen) < 0)
		rc = -errno;
	freeaddrinfo(found);
	if (rc == 0)
		return 0;
	const char *hint = "";
	if (rc == -EACCES)
		hint = " (ports below 1024 need a right that the agent does not keep: use 1162, or "
		       "redirect 162 to it)";
	else if (rc == -EADDRNOTAVAIL)
		hint = " (it must be an address of this machine)";
	return err_set(e, rc, "traps: cannot listen on %s port %u: %s%s", address, port,
		strerror(-rc), hint);
}

static int credential_take(
	struct trap_credential *to, const struct snmp_trap_credential *credential, struct err *e)
{
	const struct {
		const char *what, *password;
		bool wanted;
		struct snmp_ku *key;
	} keys[] = {
		{"auth", credential->auth_password, credential->version == 3 && credential->auth,
			&to->auth_key},
		{"priv", credential->priv_password, credential->version == 3 && credential->priv,
			&to->priv_key},
	};
	*to = (struct trap_credential){.version = credential->version,
		.community = locked_dup(str_or(credential->community, "")),
		.user = rw_strdup(str_or(credential->user, "")),
		.auth = credential->auth,
		.priv = credential->priv};
	for (size_t i = 0; i < rw_countof(keys); i++) {
		if (!keys[i].wanted)
			continue;
		if (!keys[i].password || strlen(keys[i].password) < USM_LENGTH_P_MIN)
			return err_set(e, -EINVAL,
				"traps: the %s password of SNMPv3 user %s is shorter than %d "
				"characters (RFC 3414)",
				keys[i].what, to->user, USM_LENGTH_P_MIN);
		/* milliseconds, once per credential and start */
		if (snmp_ku_make(credential->auth, keys[i].password, keys[i].key) < 0)
			return err_set(e, -EINVAL,
				"traps: the %s password of SNMPv3 user %s cannot be made into a "
				"key: this library lacks the protocol",
				keys[i].what, to->user);
	}
	return 0;
}

/* For informs: users of our own engine. */
static void own_users(struct snmp_trap_io *io)
{
	uint8_t id[SNMP_ENGINE_ID_MAX];
	size_t n = snmpv3_get_engineID(id, sizeof(id));
	for (size_t i = 0; n > 0 && i < io->n_credentials; i++)
		if (io->credentials[i].version == 3 &&
			!usm_get_user(id, n, io->credentials[i].user))
			user_add(&io->credentials[i], id, n);
}

static int snmp_trap_io_session_open(struct snmp_trap_io *io, struct err *e)
{
	netsnmp_session s;
	netsnmp_transport *transport = snmp_transport_make(
		io->fd, io, snmp_trap_io_transport_recv, snmp_trap_io_transport_send);
	snmp_sess_init(&s);
	s.version = SNMP_DEFAULT_VERSION; /* whatever comes */
	s.isAuthoritative = SNMP_SESS_UNKNOWNAUTH; /* of informs we are, of traps the sender is */
	s.callback = snmp_trap_io_on_library;
	s.callback_magic = io;
	io->session = snmp_sess_add(&s, transport, NULL, NULL);
	if (io->session)
		return 0;
	return err_set(e, -EINVAL, "traps: the SNMP library refused the session: %s",
		snmp_api_errstring(snmp_errno));
}

/* Without a handler the library writes to stderr about each forged message: strangers could fill
 * the log. */
static void library_quiet(void)
{
	static bool done;
	if (!done)
		netsnmp_register_loghandler(NETSNMP_LOGHANDLER_NONE, 7 /* LOG_DEBUG */);
	done = true;
}

int snmp_trap_io_new(struct loop *loop, const struct snmp_trap_io_options *options,
	const struct snmp_trap_io_events *events, void *arg, struct snmp_trap_io **ret,
	struct err *e)
{
	const size_t n = options->n_credentials;
	struct snmp_trap_io *io = rw_calloc(1, sizeof(*io));
	io->loop = loop;
	io->events = *events;
	io->arg = arg;
	io->fd = -1;
	io->credentials = rw_calloc(n + 1, sizeof(*io->credentials));
	netsnmp_large_fd_set_init(&io->set, 64);
	snmp_io_init();
	library_quiet();
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = credential_take(
			&io->credentials[io->n_credentials++], &options->credentials[i], e);
	if (rc == 0)
		rc = listen_on(io, options->address, options->port, e);
	if (rc == 0)
		rc = snmp_trap_io_session_open(io, e);
	if (rc == 0) {
		own_users(io);
		netsnmp_large_fd_set_resize(&io->set, io->fd + 1);
		NETSNMP_LARGE_FD_ZERO(&io->set);
		io->watch = loop_fd_new(loop, io->fd, LOOP_READ, snmp_trap_io_on_readable, io);
		if (io->watch)
			rc = 0;
		else
			rc = err_set(e, -ENOMEM, "traps: cannot watch the socket");
	}
	if (rc < 0) {
		snmp_trap_io_free(io);
		return rc;
	}
	*ret = io;
	return 0;
}

void snmp_trap_io_free(struct snmp_trap_io *io)
{
	if (!io)
		return;
	loop_fd_free(io->watch);
	if (io->session)
		snmp_sess_close(io->session);
	if (io->fd >= 0)
		close(io->fd);
	netsnmp_large_fd_set_cleanup(&io->set);
	for (size_t i = 0; i < io->n_credentials; i++) {
		struct trap_credential *c = &io->credentials[i];
		locked_free(c->community);
		free(c->user);
		explicit_bzero(&c->auth_key, sizeof(c->auth_key));
		explicit_bzero(&c->priv_key, sizeof(c->priv_key));
	}
	free(io->credentials);
	snmp_scratch_done(&io->scratch);
	free(io);
}
