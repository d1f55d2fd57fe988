/*
 * snmp_library - what snmp_io.c (sessions to agents) and snmp_trap_io.c (traps) share of net-snmp:
 * a PDU in our own words, and users of SNMPv3. Inside of these three files only; its types are
 * named here, never shown.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_message.h"
#include "collectors/snmp/snmp_oid.h"
#include "config/snmp_security.h"

struct snmp_pdu;
struct snmp_session;
struct netsnmp_transport_s;

/* snmp_scratch_fill - the varbinds of @pdu into scratch->v; strings stay in the library's PDU.
 * Returns how many. */
size_t snmp_scratch_fill(struct snmp_scratch *scratch, const struct snmp_pdu *pdu);
/* snmp_library_read - an answer in a message of version 2c, read by the library; strings are lent
 * from *@ret_pdu, which is given back with snmp_library_free(). 0 or -EBADMSG. */
int snmp_library_read(const uint8_t *data, size_t n, struct snmp_scratch *scratch,
	struct snmp_message *ret, struct snmp_pdu **ret_pdu);
void snmp_library_free(struct snmp_pdu *pdu);

/* A way for the library to send and receive over a UDP socket, which stays its owner's. */
typedef int snmp_transport_recv_fn(
	struct netsnmp_transport_s *transport, void *buf, int size, void **opaque, int *opaque_n);
typedef int snmp_transport_send_fn(struct netsnmp_transport_s *transport, const void *buf, int size,
	void **opaque, int *opaque_n);
/* snmp_transport_make - @owner is lent and must live as long: snmp_transport_owner() returns it in
 * the two functions. Owned by the session it is given to. */
struct netsnmp_transport_s *snmp_transport_make(
	int fd, void *owner, snmp_transport_recv_fn *recv_fn, snmp_transport_send_fn *send_fn);
void *snmp_transport_owner(const struct netsnmp_transport_s *transport);
/* snmp_transport_new - for a connected socket; its errors are put into *@failed_errno. */
struct netsnmp_transport_s *snmp_transport_new(int fd, int *failed_errno);

#define SNMP_KU_MAX 64
/* a password made into a key (RFC 3414 A.2: a megabyte is hashed), not yet of one engine; wipe
 * after use */
struct snmp_ku {
	uint8_t v[SNMP_KU_MAX];
	size_t n;
};
/* snmp_ku_make - 0, or -EINVAL: the library lacks the protocol. Any thread; milliseconds. */
int snmp_ku_make(enum snmp_auth auth, const char *password, struct snmp_ku *ret);

/* snmp_session_user - who speaks in @session; everything is lent until the library has copied the
 * session. Keys may be NULL. */
void snmp_session_user(struct snmp_session *session, char *user, enum snmp_auth auth,
	enum snmp_priv priv, const struct snmp_ku *auth_key, const struct snmp_ku *priv_key,
	uint8_t *engine, size_t n_engine);

/* snmp_user_remove - the library forgets the keys of this user of this engine. */
void snmp_user_remove(const uint8_t *engine, size_t n_engine, const char *user);
