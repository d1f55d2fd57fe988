/*
 * correlate - which incident is only a consequence of another: one fault, one incident. The table
 * of db/model/cause.def says which cause explains which other one, and how near the two must be;
 * here nearness is judged over the fabric. Pure. For the ledger.
 */
#ifndef RW_INCIDENT_CORRELATE_H
#define RW_INCIDENT_CORRELATE_H

#include <stdbool.h>
#include "agent/incident/incident.h"
#include "config/fabric.h"

/* correlate_near - is @other as near to @cause_of_it as @near asks (enum cause_near, any of them)?
 */
bool correlate_near(const struct fabric *fabric, unsigned near, const struct incident *cause_of_it,
	const struct incident *other);

/* correlate_port - the port that it is about, or the hot member of its group; NULL: none, or it is
 * not in the fabric. */
const struct fabric_port *correlate_port(
	const struct fabric *fabric, const struct incident *incident);

/* explains - for tests; explain.h looks many up at once. True if @cause_of_it suppresses @other:
 * were it true, @other would follow from it. For two different causes never both ways; of two with
 * the same cause the ledger picks one. */
bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other);

#endif
