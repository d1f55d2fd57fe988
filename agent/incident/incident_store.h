/* incident_store - the incident that changed, and the event that says how, into the store. */
#ifndef RW_INCIDENT_STORE_H
#define RW_INCIDENT_STORE_H

#include "agent/incident/ledger.h"

/* incident_store - a ledger_fn; @store is a struct store, NULL keeps nothing. Any thread that may
 * write to the store. */
void incident_store(void *store, const struct incident *incident, enum incident_state from);

#endif
