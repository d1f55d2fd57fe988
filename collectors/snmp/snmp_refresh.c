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

/* snmp_uptime - compares sysUpTime with our own clock. */

#define TICK_NS (10 * NS_PER_MS)
#define UPTIME_SLACK_NS (10 * NS_PER_S) /* agents cache and round sysUpTime */

static bool uptime_restarted(const struct snmp_uptime *uptime, uint32_t ticks, mono_t now)
{
	const int64_t elapsed_ns = now.ns - uptime->since.ns;
	const uint32_t expected = uptime->ticks + (uint32_t)(elapsed_ns / TICK_NS);
	const int64_t slack_ns = UPTIME_SLACK_NS + elapsed_ns / 50;
	const int32_t ahead = (int32_t)(ticks - expected);
	if (ticks < uptime->ticks && (int64_t)(uptime->ticks - ticks) < INT32_MAX)
		return true;
	return (int64_t)ahead * TICK_NS < -slack_ns;
}

bool snmp_uptime_take(struct snmp_uptime *uptime, uint32_t ticks, mono_t now)
{
	const struct snmp_uptime was = *uptime;
	uptime->newest = now;
	if (was.known && ticks == was.ticks)
		return false;
	*uptime = (struct snmp_uptime){.known = true, .ticks = ticks, .since = now, .newest = now};
	if (!was.known || !uptime_restarted(&was, ticks, now))
		return false;
	/* after a stand only going back proves anything: it may go on from where it stood */
	return ticks < was.ticks || snmp_uptime_stands(&was) == 0;
}

int64_t snmp_uptime_stands(const struct snmp_uptime *uptime)
{
	const int64_t stands_ns = uptime->newest.ns - uptime->since.ns;
	if (!uptime->known || stands_ns < SNMP_UPTIME_STANDS_NS)
		return 0;
	return stands_ns;
}
