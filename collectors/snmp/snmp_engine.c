/* snmp_engine - reads and writes just the fields that discovery needs, in BER (ITU-T X.690). */
#include "collectors/snmp/snmp_engine.h"

#include <errno.h>
#include <string.h>
#include "base/bytes.h"

enum { BER_INTEGER = 0x02, BER_STRING = 0x04, BER_SEQUENCE = 0x30 };

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
