/* snmp_refresh - learns the cache period of a table from the gaps between its changes. */
#include "collectors/snmp/snmp_refresh.h"

/* snmp_refresh_learn - regular gaps of more than one poll are a cache; one gap of a single poll
 * shows that there is none. Gaps are known to one poll. */
static void snmp_refresh_learn(struct snmp_refresh *refresh, int64_t interval_ns)
{
	int64_t min = refresh->gaps[0], max = refresh->gaps[0],
		tolerance = interval_ns + interval_ns / 2;
	for (int i = 1; i < REFRESH_GAPS; i++) {
		if (refresh->gaps[i] < min)
			min = refresh->gaps[i];
		if (refresh->gaps[i] > max)
			max = refresh->gaps[i];
	}
	bool cached = min > tolerance && max - min <= tolerance && max <= REFRESH_MAX_NS;
	if (cached)
		refresh->period_ns = max;
	else
		refresh->period_ns = 0;
}

bool snmp_refresh_take(
	struct snmp_refresh *refresh, uint64_t digest, int64_t now_ns, int64_t interval_ns)
{
	if (refresh->changed_ns == 0 || digest != refresh->digest) {
		if (refresh->changed_ns != 0) {
			refresh->gaps[refresh->n++ % REFRESH_GAPS] = now_ns - refresh->changed_ns;
			if (refresh->n >= REFRESH_GAPS)
				snmp_refresh_learn(refresh, interval_ns);
		}
		refresh->digest = digest;
		refresh->changed_ns = now_ns;
		return true;
	}
	/* one poll late is not idle yet: periods are known to one poll, and polls have jitter */
	if (refresh->period_ns == 0 ||
		now_ns - refresh->changed_ns >= refresh->period_ns + interval_ns + interval_ns / 2)
		return true;
	refresh->repeated++;
	return false;
}
