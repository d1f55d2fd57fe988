/*
 * snmp_uptime - what sysUpTime (RFC 3418, hundredths of a second) says of a device between two
 * answers. Pure.
 *
 * A restart is a clock that went back, or that is behind where it should be by now. Neither is a
 * clock that wrapped after 497 days, nor one that stands still: agents keep the answer for some
 * seconds, and some never change it. Restarts of a device whose clock stands still show only in
 * counters that go back.
 */
#ifndef RW_COLLECTORS_SNMP_UPTIME_H
#define RW_COLLECTORS_SNMP_UPTIME_H

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

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

#endif
