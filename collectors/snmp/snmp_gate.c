/* snmp_gate - see the header. */
#include "collectors/snmp/snmp_gate.h"

#include "db/model/sample.h"

#define NS 1e9

static void snmp_gate_begin(struct snmp_gate *gate, int64_t t_ns, uint64_t value)
{
	*gate = (struct snmp_gate){.t_ns = t_ns, .value = value};
}

/* snmp_gate_growth - from @from to @to; false when the counter went back for another reason than a
 * wrap. */
static bool snmp_gate_growth(uint64_t from, uint64_t to, unsigned flags, uint64_t *ret)
{
	bool narrow = (flags & SF_WRAP32) && from <= UINT32_MAX && to <= UINT32_MAX;
	if (to < from && !narrow)
		return false;
	if (to < from)
		*ret = (uint32_t)(to - from);
	else
		*ret = to - from;
	return true;
}

static bool snmp_gate_believable(double moved, double seconds, double max_per_s)
{
	return moved <= max_per_s * GATE_MARGIN * seconds;
}

/* snmp_gate_plausible - this change together with the two before it; with fewer known, the first
 * may have been read from a cache of any age. */
static bool snmp_gate_plausible(
	const struct snmp_gate *gate, double moved, double seconds, double max_per_s)
{
	uint32_t before = GATE_REFRESHES - 1;
	if (gate->n < GATE_REFRESHES)
		before = gate->n;
	if (snmp_gate_believable(moved, seconds, max_per_s))
		return true;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t at = (gate->n - 1 - i) % GATE_REFRESHES;
		moved += (double)gate->moved[at];
		seconds += (double)gate->seconds[at];
	}
	if (gate->n < GATE_REFRESHES)
		seconds += GATE_CACHE_NS / NS;
	return snmp_gate_believable(moved, seconds, max_per_s);
}

static void snmp_gate_believe(
	struct snmp_gate *gate, int64_t t_ns, uint64_t value, double moved, double seconds)
{
	gate->moved[gate->n % GATE_REFRESHES] = (float)moved;
	gate->seconds[gate->n % GATE_REFRESHES] = (float)seconds;
	gate->n++;
	gate->t_ns = t_ns;
	gate->value = value;
	gate->doubt_t_ns = 0;
}

unsigned snmp_gate_take(
	struct snmp_gate *gate, int64_t t_ns, uint64_t value, unsigned flags, double max_per_s)
{
	int64_t newest;
	if (gate->doubt_t_ns)
		newest = gate->doubt_t_ns;
	else
		newest = gate->t_ns;
	uint64_t moved;
	if (t_ns <= newest && newest != 0)
		return flags;
	if (newest == 0 || (flags & SF_RESTART)) {
		snmp_gate_begin(gate, t_ns, value);
		return flags;
	}
	if (!gate->doubt_t_ns && value == gate->value)
		return flags; /* idle, or the agent's cache: the rate is taken between changes */
	double seconds = (double)(t_ns - gate->t_ns) / NS;
	bool on_track = snmp_gate_growth(gate->value, value, flags, &moved) &&
		snmp_gate_plausible(gate, (double)moved, seconds, max_per_s);
	if (on_track) {
		snmp_gate_believe(gate, t_ns, value, (double)moved, seconds);
		return flags;
	}
	double since_doubt = (double)(t_ns - gate->doubt_t_ns) / NS;
	if (gate->doubt_t_ns && snmp_gate_growth(gate->doubt_value, value, flags, &moved) &&
		snmp_gate_believable((double)moved, since_doubt, max_per_s)) {
		snmp_gate_begin(gate, t_ns, value); /* it goes on from where it jumped to */
		return flags | SF_RESTART;
	}
	if (value < gate->value && !gate->doubt_t_ns) {
		/* a counter that was cleared; in 32 bits, one that cannot have wrapped so soon */
		snmp_gate_begin(gate, t_ns, value);
		return flags | SF_RESTART;
	}
	gate->doubt_t_ns = t_ns;
	gate->doubt_value = value;
	return flags | SF_SUSPECT;
}
