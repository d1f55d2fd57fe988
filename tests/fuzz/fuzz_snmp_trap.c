/* A hostile sender's notification, before and after its profile is known: no crash, texts end, and
 * what is mapped has a kind. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "collectors/snmp/snmp_message.h"
#include "collectors/snmp/snmp_trap.h"
#include "config/profile/profile.h"

#define VARBINDS 16

/* so that what matters is met early; the first arc is the length */
static const uint32_t prefixes[][11] = {
	{0},
	{9, 1, 3, 6, 1, 2, 1, 2, 2, 1},
	{10, 1, 3, 6, 1, 2, 1, 31, 1, 1, 1},
	{10, 1, 3, 6, 1, 6, 3, 1, 1, 4, 1},
	{9, 1, 3, 6, 1, 6, 3, 1, 1, 5},
	{10, 1, 3, 6, 1, 4, 1, 33049, 8, 1, 0},
	{10, 1, 3, 6, 1, 4, 1, 33049, 8, 1, 1},
};

/* prefix, number of arcs, arcs (one byte each, 255 = a large one) */
static struct snmp_oid oid_of(struct bytes *b, uint32_t *buf)
{
	const uint32_t *prefix = prefixes[bytes_u8(b) % (sizeof(prefixes) / sizeof(prefixes[0]))];
	size_t n = prefix[0], more = bytes_u8(b) % (SNMP_OID_MAX - 16);
	memcpy(buf, prefix + 1, n * sizeof(*buf));
	while (more-- > 0 && bytes_left(b) > 0) {
		uint8_t arc = bytes_u8(b);
		buf[n++] = arc == 255 ? bytes_be32(b) : arc;
	}
	return (struct snmp_oid){buf, n};
}

static const char *name_of(void *arg, uint32_t ifindex)
{
	return ifindex % 2 ? "swp1" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profiles *profiles;
	static struct snmp_varbind v[VARBINDS];
	static uint32_t arcs[2 * VARBINDS + 1][SNMP_OID_MAX];
	struct err_list errors = {0};
	if (!profiles && profiles_load(NULL, &profiles, &errors) < 0)
		abort();
	struct bytes b = bytes_of(data, size);
	struct snmp_trap_pdu p = {.version = 1 + bytes_u8(&b) % 3, .v = v};
	p.enterprise = oid_of(&b, arcs[2 * VARBINDS]);
	p.generic = (int8_t)bytes_u8(&b);
	p.specific = (int32_t)bytes_be32(&b);
	for (; p.n < VARBINDS && bytes_left(&b) > 0; p.n++) {
		struct snmp_varbind *to = &v[p.n];
		*to = (struct snmp_varbind){.oid = oid_of(&b, arcs[2 * p.n]),
			.type = (enum snmp_type)(bytes_u8(&b) % (SNMP_OTHER + 1))};
		to->number = bytes_be32(&b);
		if (to->type == SNMP_STRING || to->type == SNMP_ADDRESS) {
			size_t n = bytes_u8(&b);
			to->bytes = bytes_take(&b, n);
			to->n_bytes = to->bytes ? n : 0;
		} else if (to->type == SNMP_OBJECT_ID) {
			to->object = oid_of(&b, arcs[2 * p.n + 1]);
		}
	}
	for (size_t i = 0; i <= profiles_count(profiles); i++) {
		struct snmp_trap_sender s = {
			.profile = i < profiles_count(profiles) ? profiles_at(profiles, i) : NULL,
			.port_name = name_of};
		struct snmp_trap_event e;
		if (snmp_trap_read(&p, &s, &e) != 0)
			continue;
		if (!*e.kind || !*e.text || !memchr(e.text, 0, sizeof(e.text)) ||
			!memchr(e.port, 0, sizeof(e.port)))
			abort();
	}
	/* the same bytes as a datagram, as far as we look into it ourselves */
	struct snmp_engine engine;
	char user[SNMP_ENGINE_USER_MAX];
	if (snmp_engine_sender(data, size, &engine, user) == 0 &&
		(snmp_engine_version(data, size) != 3 || engine.n_id > SNMP_ENGINE_ID_MAX))
		abort();
	return 0;
}
