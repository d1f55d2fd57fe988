/* snmp_message - requests are written from the end, so that each length is known when its turn
 * comes. */
#include "collectors/snmp/snmp_message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/cleanup.h"

enum ber {
	BER_INTEGER = 0x02,
	BER_STRING = 0x04,
	BER_NULL = 0x05,
	BER_OID = 0x06,
	BER_SEQUENCE = 0x30,
	BER_ADDRESS = 0x40,
	BER_COUNTER32 = 0x41,
	BER_GAUGE32 = 0x42,
	BER_TICKS = 0x43,
	BER_COUNTER64 = 0x46,
	BER_NO_SUCH_OBJECT = 0x80,
	BER_NO_SUCH_INSTANCE = 0x81,
	BER_END_OF_MIB = 0x82,
	BER_RESPONSE = 0xa2,
};
#define VERSION_2C 1 /* on the wire */
#define VARBIND_LEAST 7 /* bytes */

void snmp_scratch_room(struct snmp_scratch *scratch, size_t n_v, size_t n_arcs)
{
	if (n_v > scratch->cap_v) {
		scratch->cap_v = n_v * 2;
		scratch->v = rw_realloc(scratch->v, scratch->cap_v * sizeof(*scratch->v));
	}
	if (n_arcs > scratch->cap_arcs) {
		scratch->cap_arcs = n_arcs * 2;
		scratch->arcs =
			rw_realloc(scratch->arcs, scratch->cap_arcs * sizeof(*scratch->arcs));
	}
}

void snmp_scratch_done(struct snmp_scratch *scratch)
{
	free(scratch->v);
	free(scratch->arcs);
	*scratch = (struct snmp_scratch){0};
}

/* ---- writing --------------------------------------------------------------- */

struct ber_out { /* what is written grows downwards */
	uint8_t *v;
	size_t at; /* the first byte that is written */
	bool full;
};

static void ber_byte(struct ber_out *out, uint8_t byte)
{
	if (out->at == 0)
		out->full = true;
	else
		out->v[--out->at] = byte;
}

/* Tag and length of what was written since @end. */
static void ber_close(struct ber_out *out, uint8_t tag, size_t end)
{
	const size_t n = end - out->at;
	ber_byte(out, (uint8_t)n);
	if (n > 0xff)
		ber_byte(out, (uint8_t)(n >> 8));
	if (n > 0xff)
		ber_byte(out, 0x82);
	else if (n > 0x7f)
		ber_byte(out, 0x81);
	ber_byte(out, tag);
}

static void ber_unsigned(struct ber_out *out, uint32_t number)
{
	const size_t end = out->at;
	uint8_t byte;
	do {
		byte = (uint8_t)number;
		ber_byte(out, byte);
		number >>= 8;
	} while (number);
	if (byte & 0x80)
		ber_byte(out, 0); /* else it would be negative */
	ber_close(out, BER_INTEGER, end);
}

static void ber_arc(struct ber_out *out, uint64_t arc)
{
	ber_byte(out, arc & 0x7f);
	for (arc >>= 7; arc; arc >>= 7)
		ber_byte(out, 0x80 | (arc & 0x7f));
}

static void ber_oid(struct ber_out *out, struct snmp_oid oid)
{
	const size_t end = out->at;
	for (size_t i = oid.n; i > 2; i--)
		ber_arc(out, oid.v[i - 1]);
	ber_arc(out, (uint64_t)oid.v[0] * 40 + oid.v[1]);
	ber_close(out, BER_OID, end);
}

size_t snmp_message_write(uint8_t ret[SNMP_MESSAGE_MAX], size_t *ret_at, const char *community,
	const struct snmp_request_head *head, const struct snmp_oid *oids, size_t n)
{
	struct ber_out out = {.v = ret, .at = SNMP_MESSAGE_MAX};
	for (size_t i = n; i > 0; i--) {
		const size_t end = out.at;
		if (oids[i - 1].n < 2 || oids[i - 1].v[0] > 2)
			return 0;
		ber_close(&out, BER_NULL, out.at);
		ber_oid(&out, oids[i - 1]);
		ber_close(&out, BER_SEQUENCE, end);
	}
	ber_close(&out, BER_SEQUENCE, SNMP_MESSAGE_MAX);
	ber_unsigned(&out, head->max_repetitions);
	ber_unsigned(&out, head->non_repeaters);
	ber_unsigned(&out, head->id);
	ber_close(&out, head->command, SNMP_MESSAGE_MAX);
	const size_t end = out.at;
	for (size_t i = strlen(community); i > 0; i--)
		ber_byte(&out, (uint8_t)community[i - 1]);
	ber_close(&out, BER_STRING, end);
	ber_unsigned(&out, VERSION_2C);
	ber_close(&out, BER_SEQUENCE, SNMP_MESSAGE_MAX);
	if (out.full)
		return 0;
	*ret_at = out.at;
	return SNMP_MESSAGE_MAX - out.at;
}

/* ---- reading --------------------------------------------------------------- */

/* The content of the next element, or an empty bad one. */
static struct bytes ber_content(struct bytes *bytes)
{
	size_t n = bytes_u8(bytes);
	if (n & 0x80) {
		const size_t octets = n & 0x7f;
		if (octets == 0 || octets > 2) /* indefinite, or larger than a datagram */
			bytes->bad = true;
		n = bytes_u8(bytes);
		if (octets == 2)
			n = n << 8 | bytes_u8(bytes);
	}
	const uint8_t *p = bytes_take(bytes, n);
	struct bytes content = bytes_of(p, p ? n : 0);
	content.bad = bytes->bad;
	return content;
}

static struct bytes ber_element(struct bytes *bytes, uint8_t tag)
{
	if (bytes_u8(bytes) != tag)
		bytes->bad = true;
	return ber_content(bytes);
}

/* From 0 to 2^31 - 1, in as many bytes as it needs or fewer than five. */
static uint32_t ber_number(struct bytes *bytes)
{
	struct bytes v = ber_element(bytes, BER_INTEGER);
	const size_t n = bytes_left(&v);
	uint32_t number = 0;
	if (!bytes_ok(&v) || n == 0 || n > 4 || (*v.p & 0x80)) {
		bytes->bad = true;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes_u8(&v);
	return number;
}

/* A number of @most bytes, with one more that is zero where the first bit is set. */
static bool ber_positive(struct bytes *content, size_t most, uint64_t *ret)
{
	const size_t n = bytes_left(content);
	uint64_t number = 0;
	if (n == 0 || n > most + 1 || (*content->p & 0x80) || (n > most && *content->p))
		return false;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes_u8(content);
	*ret = number;
	return true;
}

static bool ber_signed(struct bytes *content, uint64_t *ret)
{
	const size_t n = bytes_left(content);
	if (n == 0 || n > 4)
		return false;
	uint64_t number = 0;
	if (*content->p & 0x80)
		number = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes_u8(content);
	*ret = number;
	return true;
}

/* The arcs of an OID go to @arcs, which has room for one more than it has bytes. 0: not plain. */
static size_t ber_arcs(struct bytes *content, uint32_t *arcs)
{
	size_t n = 0;
	while (bytes_left(content) > 0) {
		uint64_t arc = 0;
		uint8_t byte = bytes_u8(content);
		if (byte == 0x80)
			return 0; /* not the shortest form */
		for (; byte & 0x80; byte = bytes_u8(content)) {
			arc = arc << 7 | (byte & 0x7f);
			if (bytes_left(content) == 0 || arc > UINT32_MAX)
				return 0;
		}
		arc = arc << 7 | byte;
		if (arc > UINT32_MAX || n + 2 > SNMP_OID_MAX)
			return 0;
		if (n == 0) {
			const uint32_t first = arc < 80 ? (uint32_t)arc / 40 : 2;
			arcs[n++] = first;
			arc -= (uint64_t)first * 40;
		}
		arcs[n++] = (uint32_t)arc;
	}
	return n;
}

static bool ber_value(struct bytes *bytes, struct snmp_varbind *ret, uint32_t *arcs)
{
	const uint8_t tag = bytes_u8(bytes);
	struct bytes content = ber_content(bytes);
	const size_t n = bytes_left(&content);
	if (!bytes_ok(bytes))
		return false;
	switch (tag) {
	case BER_INTEGER: ret->type = SNMP_INTEGER; return ber_signed(&content, &ret->number);
	case BER_COUNTER32:
		ret->type = SNMP_COUNTER32;
		return ber_positive(&content, 4, &ret->number);
	case BER_GAUGE32: ret->type = SNMP_GAUGE32; return ber_positive(&content, 4, &ret->number);
	case BER_TICKS: ret->type = SNMP_TICKS; return ber_positive(&content, 4, &ret->number);
	case BER_COUNTER64:
		ret->type = SNMP_COUNTER64;
		return ber_positive(&content, 8, &ret->number);
	case BER_STRING: ret->type = SNMP_STRING; break;
	case BER_ADDRESS: ret->type = SNMP_ADDRESS; break;
	case BER_OID:
		ret->type = SNMP_OBJECT_ID;
		ret->object.v = arcs;
		ret->object.n = ber_arcs(&content, arcs);
		return ret->object.n > 0;
	case BER_NULL: ret->type = SNMP_NULL_VALUE; return n == 0;
	case BER_NO_SUCH_OBJECT: ret->type = SNMP_NO_SUCH_OBJECT; return n == 0;
	case BER_NO_SUCH_INSTANCE: ret->type = SNMP_NO_SUCH_INSTANCE; return n == 0;
	case BER_END_OF_MIB: ret->type = SNMP_END_OF_MIB; return n == 0;
	default: return false;
	}
	ret->bytes = content.p;
	ret->n_bytes = n;
	return tag == BER_STRING || n == 4;
}

static int message_varbinds(
	struct bytes *list, struct snmp_scratch *scratch, struct snmp_message *ret)
{
	const size_t n_bytes = bytes_left(list);
	size_t n = 0;
	snmp_scratch_room(scratch, n_bytes / VARBIND_LEAST + 1, n_bytes * 2 + 2);
	uint32_t *arcs = scratch->arcs;
	while (bytes_left(list) > 0) {
		struct bytes one = ber_element(list, BER_SEQUENCE);
		struct bytes name = ber_element(&one, BER_OID);
		if (!bytes_ok(&one) || n > n_bytes / VARBIND_LEAST)
			return -EBADMSG;
		struct snmp_varbind *v = &scratch->v[n++];
		*v = (struct snmp_varbind){.oid = {arcs, ber_arcs(&name, arcs)}};
		arcs += v->oid.n;
		if (v->oid.n == 0 || !ber_value(&one, v, arcs) || bytes_left(&one) > 0)
			return -EBADMSG;
		arcs += v->object.n;
	}
	ret->v = scratch->v;
	ret->n = n;
	return 0;
}

int snmp_message_read(const uint8_t *data, size_t n, const char *community,
	struct snmp_scratch *scratch, struct snmp_message *ret)
{
	struct bytes b = bytes_of(data, n), message = ber_element(&b, BER_SEQUENCE);
	if (ber_number(&message) != VERSION_2C)
		return -EBADMSG;
	struct bytes name = ber_element(&message, BER_STRING);
	struct bytes pdu = ber_element(&message, BER_RESPONSE);
	const size_t n_name = bytes_left(&name);
	if (!bytes_ok(&message) || bytes_left(&message) > 0 || bytes_left(&b) > 0 ||
		n_name != strlen(community) || (n_name && memcmp(name.p, community, n_name) != 0))
		return -EBADMSG;
	*ret = (struct snmp_message){.id = ber_number(&pdu)};
	ret->error_status = ber_number(&pdu);
	ret->error_index = ber_number(&pdu);
	struct bytes list = ber_element(&pdu, BER_SEQUENCE);
	if (!bytes_ok(&pdu) || bytes_left(&pdu) > 0)
		return -EBADMSG;
	return message_varbinds(&list, scratch, ret);
}
