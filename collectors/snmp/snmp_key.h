/*
 * snmp_key - SNMPv3 passwords made into keys (RFC 3414 A.2: a megabyte is hashed), on a pool
 * thread, once for all agents a password is used with. Two users of one password share the work;
 * the password is wiped when the key is there. Loop thread only.
 */
#ifndef RW_COLLECTORS_SNMP_KEY_H
#define RW_COLLECTORS_SNMP_KEY_H

#include <stdbool.h>
#include "collectors/snmp/snmp_library.h"
#include "config/snmp_security.h"

struct loop;
struct snmp_key;

/* snmp_key_get - never NULL; @password is copied. Nothing is computed yet. */
struct snmp_key *snmp_key_get(enum snmp_auth auth, const char *password);
void snmp_key_put(struct snmp_key *key); /* NULL is fine */

/* snmp_key_ready - true when there is nothing to wait for (or no key: NULL); else the work is under
 * way. */
bool snmp_key_ready(struct snmp_key *key, struct loop *loop);
/* snmp_key_value - of a ready key, lent; NULL for no key, and when it could not be made: then
 * snmp_key_error() is not 0. */
const struct snmp_ku *snmp_key_value(const struct snmp_key *key);
int snmp_key_error(const struct snmp_key *key);

/* .done is called each time a key got ready, whichever it was: ask again, and wait again */
struct snmp_key_waiter {
	void (*done)(void *arg);
	void *arg;
	struct snmp_key_waiter *next;
	bool waiting;
};
void snmp_key_wait(struct snmp_key_waiter *waiter);
void snmp_key_leave(struct snmp_key_waiter *waiter); /* fine when it does not wait */

#endif
