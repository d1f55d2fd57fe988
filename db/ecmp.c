/* ecmp - the words of a verdict on an ECMP group. */
#include "db/ecmp.h"

#include "agent/base/cleanup.h"

const char *ecmp_verdict_name(enum ecmp_verdict v)
{
	static const char *const names[] = {
		[ECMP_IDLE] = "idle",
		[ECMP_UNKNOWN] = "unknown",
		[ECMP_EVEN] = "even",
		[ECMP_WITHIN_CHANCE] = "within chance",
		[ECMP_UNLUCKY] = "unlucky placement",
		[ECMP_LOW_ENTROPY] = "low entropy",
		[ECMP_SKEWED] = "skewed",
	};
	return (unsigned)v < rw_countof(names) ? names[v] : "unknown";
}
