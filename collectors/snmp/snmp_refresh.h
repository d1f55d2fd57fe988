/*
 * snmp_refresh - pure: agents answer from caches (snmpd 3 s, others 5 s and more). Polled faster,
 * the same reading comes several times, and a rate between two of them is a false idle second
 * followed by a false burst. A table's refresh period shows as changes at regular distances,
 * several polls apart; once known, repeated readings younger than the period are not used.
 */
#pragma once

#include "base/base.h"

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

/*
 * snmp_uptime - what sysUpTime (RFC 3418, hundredths of a second) says of a device between two
 * answers. Pure.
 *
 * A restart is a clock that went back, or that is behind where it should be by now. Neither is a
 * clock that wrapped after 497 days, nor one that stands still: agents keep the answer for some
 * seconds, and some never change it. Restarts of a device whose clock stands still show only in
 * counters that go back.
 */

/* A clock that did not move for so long is not one that an agent keeps for some seconds. */
#define SNMP_UPTIME_STANDS_NS (60 * NS_PER_S)

struct snmp_uptime {
	bool known;
	uint32_t ticks;
	mono_t since; /* when .ticks was read first */
	mono_t newest;
};

/* snmp_uptime_take - an answer of @now; true when the device restarted since the one before. */
bool snmp_uptime_take(struct snmp_uptime *uptime, uint32_t ticks, mono_t now);

/* snmp_uptime_stands - for how long the same value came, ns; 0 when it was shorter than
 * SNMP_UPTIME_STANDS_NS. */
int64_t snmp_uptime_stands(const struct snmp_uptime *uptime);
