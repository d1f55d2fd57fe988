/*
 * snmp_engine - pure: SNMPv3 engine discovery (RFC 3414 section 4). The library does it too, but
 * waits for the answer; these two functions let snmp_io do it without stopping the loop. The answer
 * is not authenticated: a false one makes the session fail, nothing more.
 */
#ifndef RW_COLLECTORS_SNMP_ENGINE_H
#define RW_COLLECTORS_SNMP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#define SNMP_ENGINE_ID_MAX 32 /* RFC 3411 SnmpEngineID: 5 to 32 octets */
#define SNMP_PROBE_MAX 96

struct snmp_engine {
	uint8_t id[SNMP_ENGINE_ID_MAX];
	size_t n_id;
	uint32_t boots, time; /* snmpEngineBoots, snmpEngineTime (s) */
};

/* snmp_engine_probe - the message that asks for the engine; @msg_id 1..2^31-1 comes back in the
 * answer. Returns its length. */
size_t snmp_engine_probe(uint8_t buf[SNMP_PROBE_MAX], uint32_t msg_id);
/* snmp_engine_answer - 0; -EBADMSG (not an SNMPv3 message), -ESTALE (answers another probe),
 * -EPROTO (no usable engine id in it). */
int snmp_engine_answer(const uint8_t *data, size_t n, uint32_t msg_id, struct snmp_engine *ret);

/* snmp_engine_version - of any SNMP message: 1, 2 (= 2c) or 3; 0 = unreadable. */
int snmp_engine_version(const uint8_t *data, size_t n);
/* snmp_engine_sender - of an SNMPv3 message with USM: the engine and the user it claims, not yet
 * authenticated. An empty engine id asks for ours. 0, or -EBADMSG. */
/* SnmpAdminString of at most 32 octets (RFC 3414 section 2.4), and its NUL */
#define SNMP_ENGINE_USER_MAX 33
int snmp_engine_sender(
	const uint8_t *data, size_t n, struct snmp_engine *ret, char user[SNMP_ENGINE_USER_MAX]);

#endif
