/* oid_text - object identifiers as tests write them. */
#ifndef RW_TESTS_SNMP_OID_TEXT_H
#define RW_TESTS_SNMP_OID_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* oid_of_text - "1.3.6.1" (a leading dot is fine) into at most @max arcs: number of arcs, or -1. */
static inline int oid_of_text(const char *text, uint32_t *ret, size_t max)
{
	size_t n = 0;
	if (*text == '.')
		text++;
	for (;;) {
		uint64_t arc = 0;
		if (*text < '0' || *text > '9' || n == max)
			return -1;
		for (; *text >= '0' && *text <= '9'; text++) {
			arc = arc * 10 + (uint64_t)(*text - '0');
			if (arc > UINT32_MAX)
				return -1;
		}
		ret[n++] = (uint32_t)arc;
		if (*text == '\0')
			return (int)n;
		if (*text++ != '.')
			return -1;
	}
}

#endif
