/*
 * snmp_message - pure: the SNMPv2c messages of a poll. Requests are written, answers are read
 * without a copy (RFC 3416, in the message of RFC 1901, in the BER of ITU-T X.690 as RFC 3417
 * section 8 restricts it). The reader takes plain answers only; of anything that is unusual it says
 * so, and the library reads it: what is read here is what the library would have read.
 */
#ifndef RW_COLLECTORS_SNMP_MESSAGE_H
#define RW_COLLECTORS_SNMP_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
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

#endif
