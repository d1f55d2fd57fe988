/*
 * explain - which incident is only the shadow of another: one fault, one story. Pure; a table says
 * which cause brings which other about, and how near the two must be. For the ledger only.
 */
#ifndef RW_INCIDENT_CORRELATE_H
#define RW_INCIDENT_CORRELATE_H

#include <stdbool.h>
#include "agent/incident/incident.h"
#include "config/fabric.h"

/* explains - would @cause_of_it, were it true, bring @other about? Never both ways for two of
 * different causes; of the same cause the ledger decides who speaks. */
bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other);

#endif
