/*
 * tune_acts - how a command changes the ledger of recommendations: through the agent that writes
 * the database, which knows who asks, or, when none does, by taking the writer's place for a
 * moment. All take sheets by the beginning of their id.
 */
#ifndef RW_AGENT_TUNE_ACTS_H
#define RW_AGENT_TUNE_ACTS_H

#include <jansson.h>
#include "agent/tuning/tune_ledger.h"

struct client;
struct err;

/* tune_find - the record whose id begins so. NULL with @e; its code is -ENOENT when there is none.
 * Lent by @ledger. */
const struct tune_record *tune_find(
	const struct tune_ledger *ledger, const char *id, struct err *e);

/*
 * tune_propose_all - record the sheets of advice "change" in @sheets and write the state each has
 * then into it. 0, or negative errno with @e when it could not be recorded, for one line on stderr.
 */
int tune_propose_all(struct client *client, json_t *sheets, struct err *e);

/* tune_do - one act on the record with this whole id; in->who is filled in here. What was read back
 * up to @client's end counts first. 0 or negative errno, @e. */
int tune_do(struct client *client, const char *id, const struct tune_act_in *in, struct err *e);

#endif
