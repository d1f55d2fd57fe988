/* finding - names of the words analyzers may use. Static data only. */
#include "db/model/finding.h"

static const char *const severity_names[] = {
	[SEV_INFO] = "info", [SEV_WARNING] = "warning", [SEV_CRITICAL] = "critical"};
static const char *const verdict_names[] = {
	[FINDING_OVER] = "over",
	[FINDING_UNDER] = "under",
	[FINDING_IDLE] = "idle",
	[FINDING_UNKNOWN] = "unknown",
};
const char *const quality_names[QUALITY_UNKNOWN + 1] = {
	[QUALITY_EXACT] = "exact",
	[QUALITY_ESTIMATED] = "estimated",
	[QUALITY_SUSPECT] = "suspect",
	[QUALITY_UNKNOWN] = "unknown",
};
static const char *const ecmp_names[] = {
	[ECMP_IDLE] = "idle",
	[ECMP_UNKNOWN] = "unknown",
	[ECMP_CHOSEN] = "source routed",
	[ECMP_EVEN] = "even",
	[ECMP_WITHIN_CHANCE] = "within chance",
	[ECMP_UNLUCKY] = "unlucky placement",
	[ECMP_LOW_ENTROPY] = "low entropy",
	[ECMP_SKEWED] = "skewed",
};

static const char *name_at(const char *const *names, size_t n, unsigned i)
{
	if (i < n)
		return names[i];
	return "unknown";
}

const char *severity_name(enum severity severity)
{
	return name_at(severity_names, rw_countof(severity_names), severity);
}

const char *finding_verdict_name(enum finding_verdict verdict)
{
	return name_at(verdict_names, rw_countof(verdict_names), verdict);
}

const char *quality_name(enum quality quality)
{
	return name_at(quality_names, rw_countof(quality_names), quality);
}

const char *ecmp_verdict_name(enum ecmp_verdict verdict)
{
	return name_at(ecmp_names, rw_countof(ecmp_names), verdict);
}
