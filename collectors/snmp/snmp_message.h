/*
 * snmp_message - pure: the SNMPv2c messages of a poll. Requests are written, answers are read
 * without a copy (RFC 3416, in the message of RFC 1901, in the BER of ITU-T X.690 as RFC 3417
 * section 8 restricts it). The reader takes plain answers only; of anything that is unusual it says
 * so, and the library reads it: what is read here is what the library would have read.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_oid.h"

#define SNMP_MESSAGE_MAX 8192 /* bytes of a request */

struct snmp_scratch { /* zeroed to begin with; grows to the largest PDU */
	struct snmp_varbind *v;
	uint32_t *arcs;
	size_t cap_v, cap_arcs;
};
/* snmp_scratch_room - for so many varbinds and arcs. */
void snmp_scratch_room(struct snmp_scratch *scratch, size_t n_v, size_t n_arcs);
void snmp_scratch_done(struct snmp_scratch *scratch);

/* The two fields behind the request's number, as the PDU has them. */
struct snmp_request_head {
	uint8_t command; /* of the PDU: 0xa0 GET, 0xa1 GETNEXT, 0xa5 GETBULK */
	uint32_t id; /* below 2^31 */
	uint32_t non_repeaters, max_repetitions; /* of GETBULK, else 0 */
};
/* snmp_message_write - how many bytes, at @ret[*ret_at] and behind; 0: it does not fit. */
size_t snmp_message_write(uint8_t ret[SNMP_MESSAGE_MAX], size_t *ret_at, const char *community,
	const struct snmp_request_head *head, const struct snmp_oid *oids, size_t n);

struct snmp_message { /* an answer; everything is lent from @data and @scratch */
	uint32_t id;
	uint32_t error_status, error_index;
	const struct snmp_varbind *v;
	size_t n;
};
/* snmp_message_read - 0, or -EBADMSG: not a plain answer to @community, ask the library. */
int snmp_message_read(const uint8_t *data, size_t n, const char *community,
	struct snmp_scratch *scratch, struct snmp_message *ret);

/*
 * snmp_engine - pure: SNMPv3 engine discovery (RFC 3414 section 4). The library does it too, but
 * waits for the answer; these two functions let snmp_io do it without stopping the loop. The answer
 * is not authenticated: a false one makes the session fail, nothing more.
 */

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
