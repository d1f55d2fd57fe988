/*
 * tune_sheets - from the database to sheets, renderings, verifications and what-if answers: what
 * "rocewatch tune" prints, as documents. Reads only.
 */
#ifndef RW_AGENT_TUNE_SHEETS_H
#define RW_AGENT_TUNE_SHEETS_H

#include <jansson.h>
#include <stdbool.h>
#include "agent/tuning/tune_ledger.h"
#include "analyzers/tune/tune_verify.h"

struct arena;
struct command_args;
struct client;
struct err;

struct tune_filter { /* NULL and PRIO_NONE: all */
	const char *device, *port, *uplinks; /* globs; uplinks: the switch at the other end */
	int priority;
	bool allow_reduce;
};
/* tune_sheets - the review of @client's stretch, as records (with "progress"), those of @filter; a
 * new reference. @ledger: what was decided before. 0 or negative errno, @e. */
int tune_sheets(struct client *client, const struct tune_filter *filter,
	const struct tune_ledger *ledger, json_t **ret, struct err *e);

/* tune_render - what to type on @device (NULL: the canary), in the words of @vendor (NULL: its
 * own). In @a. */
int tune_render(struct client *client, const struct tune_record *record, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e);

struct tune_verify_ask {
	enum verify_match match;
	int64_t before_ns, after_ns; /* 0: as much as there is, at most a day */
	int64_t applied_ns; /* set: when the change came into force */
};
/* tune_verify_record - before and after the change. -ENODATA: it is not in force as far as anything
 * tells. */
int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, json_t **ret, struct err *e);

/* tune_whatif_run - the subcommand. */
int tune_whatif_run(struct client *client, const struct command_args *args, struct err *e);

#endif
