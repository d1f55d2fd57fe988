/*
 * tune_decide - how a command changes the ledger of recommendations: through the agent that writes
 * the database, which knows who asks; when none does, directly.
 */
#ifndef RW_AGENT_TUNE_DECIDE_H
#define RW_AGENT_TUNE_DECIDE_H

#include "agent/tuning/tune_ledger.h"

struct client;
struct err;

/* tune_find - the record whose id begins with @id. NULL with @e; its code is -ENOENT when there is
 * none. Lent by @ledger. */
const struct tune_record *tune_find(
	const struct tune_ledger *ledger, const char *id, struct err *e);

/*
 * tune_propose_all - record those of @records that advise a change, and note in each what state the
 * ledger has it in. 0, or negative errno with @e when they could not be recorded: for one line on
 * stderr.
 */
int tune_propose_all(
	struct client *client, struct tune_record *const *records, size_t n, struct err *e);

/* tune_decide - one decision on the record with this whole id; in->who is filled in here. What was
 * read back up to @client's end counts first. 0 or negative errno, @e. */
int tune_decide(
	struct client *client, const char *id, const struct tune_decision_in *in, struct err *e);

#endif
