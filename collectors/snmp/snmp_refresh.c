/* snmp_refresh - see the header. */
#include "collectors/snmp/snmp_refresh.h"

/* learn - regular gaps of more than one poll are a cache; one gap of a single poll shows that there
 * is none. Gaps are known to one poll. */
static void learn(struct snmp_refresh *r, int64_t interval_ns)
{
	int64_t min = r->gaps[0], max = r->gaps[0], tolerance = interval_ns + interval_ns / 2;
	for (int i = 1; i < REFRESH_GAPS; i++) {
		min = r->gaps[i] < min ? r->gaps[i] : min;
		max = r->gaps[i] > max ? r->gaps[i] : max;
	}
	bool cached = min > tolerance && max - min <= tolerance && max <= REFRESH_MAX_NS;
	r->period_ns = cached ? max : 0;
}

bool snmp_refresh_take(struct snmp_refresh *r, uint64_t digest, int64_t now_ns, int64_t interval_ns)
{
	if (r->changed_ns == 0 || digest != r->digest) {
		if (r->changed_ns != 0) {
			r->gaps[r->n++ % REFRESH_GAPS] = now_ns - r->changed_ns;
			if (r->n >= REFRESH_GAPS)
				learn(r, interval_ns);
		}
		r->digest = digest;
		r->changed_ns = now_ns;
		return true;
	}
	/* one poll late is not idle yet: periods are known to one poll, and polls have jitter */
	if (r->period_ns == 0 ||
		now_ns - r->changed_ns >= r->period_ns + interval_ns + interval_ns / 2)
		return true;
	r->repeated++;
	return false;
}
