/*
 * tune_documents - threshold reviews as documents: those of the ledger, one of them, and a review
 * of the time range. Read-only; the command records what it reviews by itself.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_review.h"

/* tune_documents_load - the ledger as it is recorded; tune_documents_now - and read back up to now:
 * an accepted sheet whose values are in force counts as applied. 0 or negative errno with @e; the
 * caller frees *@ret in either case. */
int tune_documents_load(struct client *client, struct tune_ledger **ret, struct err *e);
void tune_documents_free(struct tune_ledger **ledger); /* for rw_cleanup() */

/* tune_list_document - {sheets: [...]}, newest first. tune_show_document - one sheet, in the same
 * form; -ENOENT when there is none of this id, -EINVAL when several begin with it. */
int tune_list_document(struct client *client, json_t **ret, struct err *e);
int tune_show_document(struct client *client, const char *id, json_t **ret, struct err *e);

/* As given; NULL is "not given". */
struct tune_ask {
	const char *device, *port, *uplinks, *priority;
	bool allow_reduce;
};

/* tune_review_asked - reviews the client's time range. -EINVAL for a name that does not exist: an
 * empty review would read as "nothing to do". A time range without enough samples is no failure:
 * @ret->reason says so. tune_reviewed_done() @ret. */
int tune_review_asked(struct client *client, const struct tune_ask *ask, struct tune_reviewed *ret,
	struct err *e);
/* tune_reviewed_json - {sheets: [...], reason: text|null}. */
json_t *tune_reviewed_json(const struct tune_reviewed *reviewed);

/*
 * tune_decide - how a command changes the ledger of recommendations: through the agent that writes
 * the database, which knows who asks; when none does, directly.
 */

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
