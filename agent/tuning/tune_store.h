/*
 * tune_store - keeps recommendations in the database, as their documents, and brings them back.
 * store.h for writing, history for reading. Loop thread, or a command's.
 */
#ifndef RW_AGENT_TUNE_STORE_H
#define RW_AGENT_TUNE_STORE_H

#include "agent/tuning/tune_ledger.h"

struct err;
struct history;

/* tune_store_record - a tune_ledger_fn: writes the record, and its note as an event. @store is a
 * struct store. */
void tune_store_record(void *store, const struct tune_record *record, enum tune_state from);
/* tune_store_load - all that @history holds into @ledger. One that cannot be read is logged and
 * stays in the database. 0 or negative errno, @e. */
int tune_store_load(struct history *history, struct tune_ledger *ledger, struct err *e);

#endif
