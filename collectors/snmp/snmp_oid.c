/* snmp_oid - compares, reads and prints object identifiers, and names the types of values. */
#include "collectors/snmp/snmp_oid.h"

static const char *const type_names[] = {
	[SNMP_NONE] = "absent",
	[SNMP_INTEGER] = "INTEGER",
	[SNMP_GAUGE32] = "Gauge32",
	[SNMP_COUNTER32] = "Counter32",
	[SNMP_COUNTER64] = "Counter64",
	[SNMP_TICKS] = "TimeTicks",
	[SNMP_STRING] = "OCTET STRING",
	[SNMP_OBJECT_ID] = "OBJECT IDENTIFIER",
	[SNMP_ADDRESS] = "IpAddress",
	[SNMP_NULL_VALUE] = "NULL",
	[SNMP_NO_SUCH_OBJECT] = "noSuchObject",
	[SNMP_NO_SUCH_INSTANCE] = "noSuchInstance",
	[SNMP_END_OF_MIB] = "endOfMibView",
	[SNMP_OTHER] = "other",
};

const char *snmp_type_name(enum snmp_type type)
{
	if ((size_t)type < rw_countof(type_names))
		return type_names[type];
	return "other";
}

bool snmp_type_is_number(enum snmp_type type)
{
	return type >= SNMP_INTEGER && type <= SNMP_TICKS;
}

int snmp_oid_order(struct snmp_oid left, struct snmp_oid right)
{
	size_t n = right.n;
	if (left.n < right.n)
		n = left.n;
	for (size_t i = 0; i < n; i++) {
		if (left.v[i] < right.v[i])
			return -1;
		if (left.v[i] > right.v[i])
			return 1;
	}
	return (left.n > right.n) - (left.n < right.n);
}

bool snmp_oid_under(struct snmp_oid oid, struct snmp_oid root)
{
	if (oid.n < root.n)
		return false;
	return root.n == 0 || memcmp(oid.v, root.v, root.n * sizeof(*root.v)) == 0;
}

char *snmp_oid_text(char *buf, size_t size, struct snmp_oid oid)
{
	size_t at = 0;
	buf[0] = '\0';
	for (size_t i = 0; i < oid.n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, i ? ".%u" : "%u", oid.v[i]);
	return buf;
}
