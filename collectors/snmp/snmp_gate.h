/*
 * snmp_gate - pure: can a counter have moved like that? A port sends no more than its line carries,
 * and nobody is paused for longer than the time that passed. Agents refresh unevenly, so that one
 * refresh alone proves nothing: the rate is taken between changes, over the last three refreshes,
 * and over fewer only with room for an agent's cache.
 *
 * A reading that fails is labelled suspect: it is stored, but no rate is taken from it. The next
 * one tells which it was: back on the old track, one reading was bad; going on from the new height,
 * the counter jumped, and begins anew (restart: no delta across).
 */
#ifndef RW_COLLECTORS_SNMP_GATE_H
#define RW_COLLECTORS_SNMP_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define GATE_REFRESHES 3
#define GATE_MARGIN 1.02 /* clocks differ */
#define GATE_CACHE_NS                                                                              \
	(15 * 1000000000LL) /* how old an answer may be while its refresh is not known */

struct snmp_gate { /* of one counter; zeroed to start */
	int64_t t_ns; /* the last change that was believed */
	uint64_t value;
	int64_t doubt_t_ns; /* the reading that was not; 0 = none */
	uint64_t doubt_value;
	/* of the last changes, newest at [(n - 1) % 3] */
	float seconds[GATE_REFRESHES], moved[GATE_REFRESHES];
	uint32_t n; /* changes believed since the start */
};

/*
 * snmp_gate_take - one more reading.
 *
 * @flags      as known: SF_RESTART (begin anew), SF_WRAP32 (a decrease may be one wrap of 32 bits)
 * @max_per_s  what the counter can grow by in a second, without margin; must be above 0
 *
 * Returns @flags, with SF_SUSPECT or SF_RESTART added. A time that does not go forward changes
 * nothing.
 */
unsigned snmp_gate_take(
	struct snmp_gate *gate, int64_t t_ns, uint64_t value, unsigned flags, double max_per_s);

#endif
