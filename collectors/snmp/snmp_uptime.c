/* snmp_uptime - compares sysUpTime with our own clock. */
#include "collectors/snmp/snmp_uptime.h"

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
