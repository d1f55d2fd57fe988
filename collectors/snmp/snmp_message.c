/* snmp_message - requests are written from the end, so that each length is known when its turn
 * comes. */
#include "collectors/snmp/snmp_message.h"

#include "base/bytes.h"

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

/* snmp_engine - reads and writes just the fields that discovery needs, in BER (ITU-T X.690). */

size_t snmp_engine_probe(uint8_t buf[SNMP_PROBE_MAX], uint32_t msg_id)
{
	static const uint8_t message[] = {
		0x30, 62, /* SNMPv3Message */
		0x02, 1, 3, /* msgVersion */
		0x30, 17, /* msgGlobalData */
		0x02, 4, 0, 0, 0, 0, /* msgID, at 9 */
		0x02, 3, 0x00, 0xff, 0xe3, /* msgMaxSize 65507 */
		0x04, 1, 0x04, /* msgFlags: reportable, noAuthNoPriv */
		0x02, 1, 3, /* msgSecurityModel USM */
		0x04, 16, 0x30, 14, /* UsmSecurityParameters: all empty or zero */
		0x04, 0, 0x02, 1, 0, 0x02, 1, 0, 0x04, 0, 0x04, 0, 0x04, 0, 0x30,
		20, /* ScopedPDU */
		0x04, 0, 0x04, 0, /* contextEngineID, contextName */
		0xa0, 14, /* GetRequest */
		0x02, 4, 0, 0, 0, 0, /* request-id, at 52 */
		0x02, 1, 0, 0x02, 1, 0, /* error-status, error-index */
		0x30, 0, /* no variables */
	};
	_Static_assert(sizeof(message) == 64 && sizeof(message) <= SNMP_PROBE_MAX, "lengths above");
	memcpy(buf, message, sizeof(message));
	for (int i = 0; i < 4; i++)
		buf[9 + i] = buf[52 + i] = (uint8_t)(msg_id >> (24 - 8 * i));
	return sizeof(message);
}

/* snmp_engine_element - step into (or over) one element: its content, or an empty bad reader. */
static struct bytes snmp_engine_element(struct bytes *bytes, uint8_t tag)
{
	struct bytes none = {.bad = true};
	if (bytes_u8(bytes) != tag) {
		bytes->bad = true;
		return none;
	}
	size_t n = bytes_u8(bytes);
	if (n & 0x80) {
		size_t octets = n & 0x7f;
		if (octets == 0 || octets > 3) { /* indefinite, or larger than a datagram */
			bytes->bad = true;
			return none;
		}
		for (n = 0; octets > 0; octets--)
			n = n << 8 | bytes_u8(bytes);
	}
	const uint8_t *p = bytes_take(bytes, n);
	if (p)
		return bytes_of(p, n);
	return none;
}

/* unsigned_of - an INTEGER from 0 to 2^31-1, else bad. */
static uint32_t unsigned_of(struct bytes *bytes)
{
	struct bytes v = snmp_engine_element(bytes, BER_INTEGER);
	uint32_t u = 0;
	if (bytes_left(&v) == 0 || bytes_left(&v) > 4 || (*v.p & 0x80)) {
		bytes->bad = true;
		return 0;
	}
	while (bytes_left(&v) > 0)
		u = u << 8 | bytes_u8(&v);
	return u;
}

int snmp_engine_answer(const uint8_t *data, size_t n, uint32_t msg_id, struct snmp_engine *ret)
{
	struct bytes b = bytes_of(data, n), message = snmp_engine_element(&b, BER_SEQUENCE);
	if (unsigned_of(&message) != 3 || !bytes_ok(&message))
		return -EBADMSG;
	struct bytes global = snmp_engine_element(&message, BER_SEQUENCE);
	uint32_t id = unsigned_of(&global);
	struct bytes security = snmp_engine_element(&message, BER_STRING),
		     usm = snmp_engine_element(&security, BER_SEQUENCE),
		     engine = snmp_engine_element(&usm, BER_STRING);
	uint32_t boots = unsigned_of(&usm), time = unsigned_of(&usm);
	if (!bytes_ok(&global) || !bytes_ok(&usm) || !bytes_ok(&engine))
		return -EBADMSG;
	if (id != msg_id)
		return -ESTALE;
	size_t n_id = bytes_left(&engine);
	if (n_id < 5 || n_id > SNMP_ENGINE_ID_MAX)
		return -EPROTO;
	*ret = (struct snmp_engine){.n_id = n_id, .boots = boots, .time = time};
	memcpy(ret->id, bytes_take(&engine, n_id), n_id);
	return 0;
}

int snmp_engine_version(const uint8_t *data, size_t n)
{
	/* msgVersion on the wire: 0 is v1, 1 is v2c, 3 is v3 */
	static const int versions[] = {[0] = 1, [1] = 2, [3] = 3};
	struct bytes b = bytes_of(data, n), message = snmp_engine_element(&b, BER_SEQUENCE);
	uint32_t version = unsigned_of(&message);
	if (bytes_ok(&message) && version < sizeof(versions) / sizeof(versions[0]))
		return versions[version];
	return 0;
}

int snmp_engine_sender(
	const uint8_t *data, size_t n, struct snmp_engine *ret, char user[SNMP_ENGINE_USER_MAX])
{
	struct bytes b = bytes_of(data, n), message = snmp_engine_element(&b, BER_SEQUENCE);
	if (unsigned_of(&message) != 3 || !bytes_ok(&message))
		return -EBADMSG;
	snmp_engine_element(&message, BER_SEQUENCE); /* msgGlobalData */
	struct bytes security = snmp_engine_element(&message, BER_STRING),
		     usm = snmp_engine_element(&security, BER_SEQUENCE),
		     engine = snmp_engine_element(&usm, BER_STRING);
	uint32_t boots = unsigned_of(&usm), time = unsigned_of(&usm);
	struct bytes name = snmp_engine_element(&usm, BER_STRING);
	size_t n_id = bytes_left(&engine), n_name = bytes_left(&name);
	if (!bytes_ok(&message) || !bytes_ok(&usm) || !bytes_ok(&engine) || !bytes_ok(&name) ||
		n_id > SNMP_ENGINE_ID_MAX || n_name >= SNMP_ENGINE_USER_MAX)
		return -EBADMSG;
	*ret = (struct snmp_engine){.n_id = n_id, .boots = boots, .time = time};
	if (n_id)
		memcpy(ret->id, bytes_take(&engine, n_id), n_id);
	if (n_name)
		memcpy(user, bytes_take(&name, n_name), n_name);
	user[n_name] = '\0';
	return 0;
}
