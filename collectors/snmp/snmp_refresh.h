/*
 * snmp_refresh - pure: agents answer from caches (snmpd 3 s, others 5 s and more). Polled faster,
 * the same reading comes several times, and a rate between two of them is a false idle second
 * followed by a false burst. A table's refresh period shows as changes at regular distances,
 * several polls apart; once known, repeated readings younger than the period are not used.
 */
#ifndef RW_COLLECTORS_SNMP_REFRESH_H
#define RW_COLLECTORS_SNMP_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#define REFRESH_GAPS 5
#define REFRESH_MAX_NS (15 * 1000000000LL) /* rarer changes are traffic, not a cache */

struct snmp_refresh { /* zeroed to start */
	uint64_t digest;
	int64_t changed_ns; /* when it changed last, monotonic; 0 = never */
	int64_t gaps[REFRESH_GAPS];
	unsigned n; /* gaps ever seen */
	int64_t period_ns; /* learned; 0 = no cache seen at this pace */
	uint64_t repeated; /* readings not used */
};

/*
 * snmp_refresh_take - one more reading of the table.
 *
 * @digest       of all its counters
 * @interval_ns  the usual time between polls
 *
 * True when the reading is a fresh one: the counters moved, or they have stood still for longer
 * than a cache would explain.
 */
bool snmp_refresh_take(
	struct snmp_refresh *refresh, uint64_t digest, int64_t now_ns, int64_t interval_ns);

#endif
