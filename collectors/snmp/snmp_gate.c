/* snmp_gate - see the header. */
#include "collectors/snmp/snmp_gate.h"

#include "db/model/sample.h"

#define NS 1e9

static void begin(struct snmp_gate *g, int64_t t_ns, uint64_t value)
{
	*g = (struct snmp_gate){.t_ns = t_ns, .value = value};
}

/* growth - from @from to @to; false when the counter went back for another reason than a wrap. */
static bool growth(uint64_t from, uint64_t to, unsigned flags, uint64_t *ret)
{
	bool narrow = (flags & SF_WRAP32) && from <= UINT32_MAX && to <= UINT32_MAX;
	if (to < from && !narrow)
		return false;
	*ret = to < from ? (uint32_t)(to - from) : to - from;
	return true;
}

static bool believable(double moved, double seconds, double max_per_s)
{
	return moved <= max_per_s * GATE_MARGIN * seconds;
}

/* plausible - this change together with the two before it; with fewer known, the first may have
 * been read from a cache of any age. */
static bool plausible(const struct snmp_gate *g, double moved, double seconds, double max_per_s)
{
	uint32_t before = g->n < GATE_REFRESHES ? g->n : GATE_REFRESHES - 1;
	if (believable(moved, seconds, max_per_s))
		return true;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t at = (g->n - 1 - i) % GATE_REFRESHES;
		moved += (double)g->moved[at];
		seconds += (double)g->seconds[at];
	}
	if (g->n < GATE_REFRESHES)
		seconds += GATE_CACHE_NS / NS;
	return believable(moved, seconds, max_per_s);
}

static void believe(struct snmp_gate *g, int64_t t_ns, uint64_t value, double moved, double seconds)
{
	g->moved[g->n % GATE_REFRESHES] = (float)moved;
	g->seconds[g->n % GATE_REFRESHES] = (float)seconds;
	g->n++;
	g->t_ns = t_ns;
	g->value = value;
	g->doubt_t_ns = 0;
}

unsigned snmp_gate_take(
	struct snmp_gate *g, int64_t t_ns, uint64_t value, unsigned flags, double max_per_s)
{
	int64_t newest = g->doubt_t_ns ? g->doubt_t_ns : g->t_ns;
	uint64_t moved;
	if (t_ns <= newest && newest != 0)
		return flags;
	if (newest == 0 || (flags & SF_RESTART)) {
		begin(g, t_ns, value);
		return flags;
	}
	if (!g->doubt_t_ns && value == g->value)
		return flags; /* idle, or the agent's cache: the rate is taken between changes */
	double seconds = (double)(t_ns - g->t_ns) / NS;
	bool on_track = growth(g->value, value, flags, &moved) &&
		plausible(g, (double)moved, seconds, max_per_s);
	if (on_track) {
		believe(g, t_ns, value, (double)moved, seconds);
		return flags;
	}
	double since_doubt = (double)(t_ns - g->doubt_t_ns) / NS;
	if (g->doubt_t_ns && growth(g->doubt_value, value, flags, &moved) &&
		believable((double)moved, since_doubt, max_per_s)) {
		begin(g, t_ns, value); /* it goes on from where it jumped to */
		return flags | SF_RESTART;
	}
	if (value < g->value && !g->doubt_t_ns) {
		/* a counter that was cleared; in 32 bits, one that cannot have wrapped so soon */
		begin(g, t_ns, value);
		return flags | SF_RESTART;
	}
	g->doubt_t_ns = t_ns;
	g->doubt_value = value;
	return flags | SF_SUSPECT;
}
