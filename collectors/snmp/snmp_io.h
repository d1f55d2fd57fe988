/*
 * snmp_io - the wire: one agent, one UDP socket, one request in flight. snmp_io.c is the only file
 * that includes net-snmp; it uses the library for BER and USM, and brings its own transport
 * (snmp_socket). SNMPv3 never blocks: the engine is discovered by our own message (snmp_engine),
 * and a password becomes a key once per process, on a thread of its own. Loop thread only.
 *
 *      (new) --start--> [resolving] --> [v3: key, engine] --> ready --send--> busy --answer--+
 *                            v                 v                ^              v            |
 *                         failed        silent, refused         '--------------|------------'
 *                                                                              v
 *                                             timeout: send again or start again
 *                                             refused: start again
 */
#pragma once

#include "base/base.h"

#include "collectors/snmp/snmp_oid.h"
#include "config/snmp_security.h"

struct loop;
struct snmp_io;

struct snmp_io_options { /* strings are copied */
	const char *host; /* IPv4, IPv6 or a name */
	uint16_t port;
	const char *source; /* numeric source address, or NULL */
	const char *netns; /* name under /run/netns, or a path; NULL = ours */
	int version; /* 1, 2 (= 2c) or 3 */
	const char *community; /* v1, v2c */
	const char *user, *context; /* v3; context NULL = "" */
	enum snmp_auth auth;
	const char *auth_password; /* at least 8 characters (RFC 3414 section 11.2) */
	enum snmp_priv priv;
	const char *priv_password;
	int64_t timeout_ns; /* of one transmission */
	int retries; /* transmissions after the first */
};

enum snmp_io_status {
	SNMP_IO_OK,
	/* silence after all retries; the session is still good. See .silence */
	SNMP_IO_TIMEOUT,
	SNMP_IO_REFUSED, /* ICMP port unreachable: start again */
	SNMP_IO_UNREACHABLE, /* no route, or forbidden: .error_number; start again */
	SNMP_IO_REPORT, /* the v3 engine refuses: .report; start again */
	/* the library could not make or read the message: .detail; start again */
	SNMP_IO_FAILED,
};

/* usmStats, RFC 3414 section 5; the numbers are the arcs. */
enum snmp_report {
	REPORT_OTHER,
	REPORT_SECURITY_LEVEL,
	REPORT_TIME_WINDOW,
	REPORT_USER,
	REPORT_ENGINE,
	REPORT_DIGEST,
	REPORT_DECRYPTION
};

/*
 * After silence one more question is asked: SNMPv3 engine discovery, which needs no user and which
 * an agent answers to everybody it talks to (RFC 3414 section 4; net-snmp does even without any
 * user). An answer proves that an agent is there and reachable. In v1 and v2c, in a session that
 * was never answered, the agent then does not accept the community; in v3 the answer shows whether
 * the engine is still the same. No answer proves nothing: an agent may not speak SNMPv3.
 */
enum snmp_silence {
	/* no answer to anything, or (v1, v2c) the session was answered before */
	SILENCE_UNKNOWN,
	/* the agent is there: it answered the discovery, in v3 as the engine that we know */
	SILENCE_AGENT,
	SILENCE_LATE, /* v1, v2c: an answer came after all retries were over */
};

struct snmp_answer { /* lent for the call */
	enum snmp_io_status status;
	enum snmp_silence silence; /* of TIMEOUT */
	enum snmp_report report;
	/* of the PDU (RFC 3416): 0 = noError, 1 = tooBig, 2 = noSuchName; index is 1-based */
	int error_status, error_index;
	int error_number; /* errno of UNREACHABLE */
	const char *detail;
	const struct snmp_varbind *v;
	size_t n;
};

struct snmp_io_events {
	/* only after snmp_io_start() returned -EINPROGRESS; 0 or negative errno */
	void (*ready)(void *arg, int rc, const char *why);
	void (*answer)(
		void *arg, const struct snmp_answer *answer); /* may send again or free the io */
};

/* Once per process, before threads: no MIB files, no configuration files, no persistent state, no
 * log of its own. */
void snmp_io_init(void);

/*
 * snmp_io_new - nothing is sent. Sockets in another namespace are made here, while the process
 * still may (setns needs CAP_SYS_ADMIN), and kept until snmp_io_free(). 0, or negative errno with
 * @e (bad source address, no such namespace, no right).
 */
int snmp_io_new(struct loop *loop, const struct snmp_io_options *options,
	const struct snmp_io_events *events, void *arg, struct snmp_io **ret, struct err *e);
/* Allowed at any time, also from within a callback. NULL is fine. */
void snmp_io_free(struct snmp_io *io);

/* snmp_io_start - a fresh session. 0 = ready, -EINPROGRESS = events.ready will be called, else
 * negative errno with @e. Not from .answer. */
int snmp_io_start(struct snmp_io *io, struct err *e);

enum snmp_request { SNMP_GET, SNMP_GETNEXT, SNMP_GETBULK };
/* snmp_io_send - one request; the answer comes by events.answer. @non_repeaters and
 * @max_repetitions for GETBULK only. 0, -EBUSY, -ENOTCONN (start first), -EINVAL, or the errno of
 * the send. */
int snmp_io_send(struct snmp_io *io, enum snmp_request what, const struct snmp_oid *oids, size_t n,
	int non_repeaters, int max_repetitions);
/* "192.0.2.1:161", "[2001:db8::1]:161" of the session, or the host as given while it is not known.
 * Lent until the next start. */
const char *snmp_io_peer(const struct snmp_io *io);
