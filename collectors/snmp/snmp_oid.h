/*
 * snmp_oid - pure: object identifiers, the types of SNMP values, and the varbind, which is all of a
 * PDU that leaves snmp_io.c: nobody else sees the library's structs.
 */
#pragma once

#include "base/base.h"

#define SNMP_OID_MAX 128 /* arcs; RFC 2578 section 3.5 */

struct snmp_oid { /* arcs are lent */
	const uint32_t *v;
	size_t n;
};

enum snmp_type {
	SNMP_NONE, /* absent */
	SNMP_INTEGER,
	SNMP_GAUGE32,
	SNMP_COUNTER32,
	SNMP_COUNTER64,
	SNMP_TICKS,
	SNMP_STRING,
	SNMP_OBJECT_ID,
	SNMP_ADDRESS,
	SNMP_NULL_VALUE,
	SNMP_NO_SUCH_OBJECT,
	SNMP_NO_SUCH_INSTANCE,
	SNMP_END_OF_MIB,
	SNMP_OTHER,
};
const char *snmp_type_name(enum snmp_type type); /* as in the SMI: "Counter64" */
bool snmp_type_is_number(enum snmp_type type);

struct snmp_varbind { /* everything lent for the call it is passed in */
	struct snmp_oid oid;
	enum snmp_type type;
	uint64_t number; /* INTEGER: two's complement of the signed value */
	const uint8_t *bytes; /* STRING, ADDRESS */
	size_t n_bytes;
	struct snmp_oid object; /* OBJECT_ID */
};

/* -1, 0, 1 in lexicographical order of arcs. */
int snmp_oid_order(struct snmp_oid left, struct snmp_oid right);
bool snmp_oid_under(struct snmp_oid oid, struct snmp_oid root); /* oid is root or below it */
char *snmp_oid_text(char *buf, size_t size, struct snmp_oid oid);
