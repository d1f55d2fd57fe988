/*
 * explain - which incident under way explains which other one. Candidates are found by what they
 * are about (host, link, device, names in a pause tree) and by their causes, not by comparing all
 * with all: a storm opens thousands in one window. For the ledger, which says what it holds.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/incident.h"
#include "agent/incident/incident_record.h"
#include "config/fabric.h"

struct explain;

struct explain *explain_new(void);
void explain_free(struct explain *explain); /* NULL is fine; the records stay the caller's */

/* explain_put - @record is under way, or something it is found by has changed: its state, cause,
 * parent, beginning or description, or the fabric. Of equal explanations the one with the lower
 * .place.order is taken. */
void explain_put(
	struct explain *explain, const struct fabric *fabric, struct incident_record *record);
/* explain_drop - it is under way no more. Not put: nothing happens. */
void explain_drop(struct explain *explain, struct incident_record *record);

/* explain_find - the incident that explains @record best, NULL: none does. An open one before a
 * pending one, then the older. */
struct incident_record *explain_find(
	struct explain *explain, const struct fabric *fabric, const struct incident_record *record);

/* explain_orphans - those that reached OPEN, have no parent and are explained by @by, in their
 * order; returns how many. Lent until the next call of it. */
size_t explain_orphans(struct explain *explain, const struct fabric *fabric,
	const struct incident_record *by, struct incident_record *const **ret);

/* explain_pending - all pending ones of @cause; returns how many. Lent until the next put or drop.
 */
size_t explain_pending(
	const struct explain *explain, enum cause cause, struct incident_record *const **ret);

/* explain_compared - how many pairs were compared so far: what the work grows with. */
uint64_t explain_compared(const struct explain *explain);

/*
 * correlate - which incident is only a consequence of another: one fault, one incident. The table
 * of db/model/cause.def says which cause explains which other one, and how near the two must be;
 * here nearness is judged over the fabric. Pure. For the ledger.
 */

/* explains - for tests; explain.h looks many up at once. True if @cause_of_it suppresses @other:
 * were it true, @other would follow from it. For two different causes never both ways; of two with
 * the same cause the ledger picks one. */
bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other);
