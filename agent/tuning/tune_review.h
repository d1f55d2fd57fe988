/*
 * tune_review - from the database to records, renderings and verifications: what "rocewatch tune"
 * shows. Reads only.
 */
#ifndef RW_AGENT_TUNE_REVIEW_H
#define RW_AGENT_TUNE_REVIEW_H

#include <stdbool.h>
#include "agent/tuning/tune_ledger.h"

struct arena;
struct client;
struct err;

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

#endif
