/* incident - names of states, and the order in which incidents are shown. */
#include "agent/incident/incident.h"

#include <math.h>
#include <string.h>
#include "agent/base/cleanup.h"

static const char *const state_names[] = {
	[INCIDENT_PENDING] = "pending",
	[INCIDENT_OPEN] = "open",
	[INCIDENT_CLEARING] = "clearing",
	[INCIDENT_CLOSED] = "closed",
};

const char *incident_state_name(enum incident_state state)
{
	if ((size_t)state < rw_countof(state_names))
		return state_names[state];
	return "unknown";
}

/* The larger first; an unknown number (NAN) comes after every known one. */
static int incident_larger_first(double left, double right)
{
	if (isnan(left))
		left = -1;
	if (isnan(right))
		right = -1;
	return (left < right) - (left > right);
}

/* Money per hour weighed by how sure the cause is: a doubtful cause does not stand before a proven
 * one because both share the same loss. NAN unknown. */
static double incident_expected_usd(const struct incident *incident)
{
	if (isnan(incident->confidence_ratio))
		return incident->usd_per_hour;
	return incident->usd_per_hour * incident->confidence_ratio;
}

int incident_compare(const struct incident *left, const struct incident *right)
{
	/* 1. severity, the worst first */
	if (left->severity != right->severity)
		return (left->severity < right->severity) ? 1 : -1;
	/* 2. money per hour times confidence, the dearest first */
	int order =
		incident_larger_first(incident_expected_usd(left), incident_expected_usd(right));
	if (order != 0)
		return order;
	/* 3. confidence, the surest first */
	order = incident_larger_first(left->confidence_ratio, right->confidence_ratio);
	if (order != 0)
		return order;
	/* 4. the oldest first */
	if (left->opened_ns != right->opened_ns)
		return (left->opened_ns < right->opened_ns) ? -1 : 1;
	return strcmp(left->id, right->id);
}
