/*
 * tune_review - from the database to records, renderings and verifications: what "rocewatch tune"
 * shows. Reads only.
 */
#pragma once

#include "base/base.h"

#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_read.h"
#include "agent/tuning/tune_record.h"
#include "analyzers/tune/tune_verify.h"

struct tune_filter { /* NULL and PRIO_NONE: all */
	const char *device, *port, *uplinks; /* globs; uplinks: the switch at the other end */
	int priority;
	bool allow_reduce;
};
struct tune_reviewed {
	struct tune_record **v; /* owned */
	size_t n;
	char *reason; /* why nothing could be reviewed, .n is 0 then; NULL: it was reviewed. Owned
		       */
};
/* tune_review_records - the review of @client's time range, worst first, those of @filter. @ledger:
 * what was decided before. 0 or negative errno, @e; then there is nothing to free. */
int tune_review_records(struct client *client, const struct tune_filter *filter,
	const struct tune_ledger *ledger, struct tune_reviewed *ret, struct err *e);
void tune_reviewed_done(struct tune_reviewed *reviewed);

/* tune_render - what to type on @device (NULL: the canary), in the syntax of @vendor (NULL: its
 * own). -EINVAL: no profile has that syntax. The text lives in @a. 0 or negative errno, @e. */
int tune_render(struct client *client, const struct tune_record *record, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e);

/*
 * tune_undo - a change that made J worse is taken back before anything else is advised: one in the
 * ledger that is in force, or, where the ledger knows none (a replay), the newest change of
 * thresholds that the read-back shows. Worse is what tune_verify() says with certainty: a new
 * lossless drop, or steps or J surely longer.
 */

/*
 * tune_undo_first - puts the sheet that takes it back first in @list; sheets that propose a change
 * are blocked by it. Where nothing is to be taken back, those are blocked that would set again what
 * was taken back. The sheet lives in @a.
 */
void tune_undo_first(struct client *client, const struct tune_ledger *ledger,
	const struct tune_history *history, struct arena *a, struct tune_list *list);

/* tune_verified - the windows before and after a change of thresholds, found and compared. */

struct tune_verify_ask {
	enum verify_match match;
	int64_t before_ns, after_ns; /* 0: as much as there is, at most a day */
	int64_t applied_ns; /* set: when the change came into force */
};
/* tune_verify_record - before and after the change; @ret lives in @a and with @record. -ENODATA: no
 * read-back and no record says that it is in force. */
int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, struct tune_verified *ret, struct err *e);
