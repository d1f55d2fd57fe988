/*
 * snmp_trap_io - the wire of traps and informs: one UDP socket, net-snmp's own session behind it.
 * Delivers a message once its community or user was checked, and acknowledges informs then. A
 * datagram is offered first by its sender alone, so that a storm can be dropped before it costs
 * anything.
 *
 * SNMPv3: of a trap the sender's engine is the authoritative one (RFC 3414 section 1.5.1), so a
 * user's keys are made for each engine it is first heard from, and forgotten at once when the
 * message does not prove itself; of an inform it is ours. Loop thread only.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_trap.h"
#include "config/snmp_security.h"

struct loop;
struct snmp_trap_io;

struct snmp_trap_credential { /* lent for snmp_trap_io_new() */
	int version; /* 1, 2 (= 2c) or 3 */
	const char *community;
	const char *user;
	enum snmp_auth auth;
	const char *auth_password;
	enum snmp_priv priv;
	const char *priv_password;
};

struct snmp_trap_io_options { /* lent for snmp_trap_io_new() */
	const char *address; /* numeric */
	uint16_t port;
	const struct snmp_trap_credential *credentials;
	size_t n_credentials;
};

struct snmp_trap_message { /* lent for the call */
	struct snmp_trap_pdu pdu;
	const char *host; /* sender, as numbers */
	uint32_t request_id; /* of an inform: the same when it is sent again */
};

enum snmp_trap_refusal { TRAP_MALFORMED, TRAP_WRONG_CREDENTIAL };

struct snmp_trap_io_events {
	/* before it is decoded; @version 0 = not to be seen. false drops it */
	bool (*datagram)(void *arg, const char *host, int version);
	void (*message)(void *arg, const struct snmp_trap_message *message);
	void (*refused)(void *arg, const char *host, enum snmp_trap_refusal why);
};

/* 0, or negative errno with @e: address not ours, port taken or not allowed, a password that is too
 * short. */
int snmp_trap_io_new(struct loop *loop, const struct snmp_trap_io_options *options,
	const struct snmp_trap_io_events *events, void *arg, struct snmp_trap_io **ret,
	struct err *e);
void snmp_trap_io_free(struct snmp_trap_io *io); /* NULL is fine; not from within a callback */
