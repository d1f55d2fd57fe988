/*
 * tune_json - a review sheet and a verification as documents, in the contract's shape (metrics.md,
 * "tune review"), and back again as far as a rendering needs it. "progress" holds what the ledger
 * needs beside the contract's fields; tune_public() leaves it out. New references.
 */
#ifndef RW_AGENT_TUNE_JSON_H
#define RW_AGENT_TUNE_JSON_H

#include <jansson.h>
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_verify.h"

struct arena;

/* @render, @undo, @notes: of the canary, taken; NULL: null. */
json_t *tune_sheet_json(const struct tune_sheet *sheet, const struct tune_platform *platform,
	json_t *render, json_t *undo, json_t *notes);
/* tune_public - a copy without what only the ledger needs. */
json_t *tune_public(const json_t *sheet);
/* tune_sheet_parse - what a rendering reads of a stored sheet: id, place, changes, disruption. In
 * @a; strings are borrowed from @object. 0 or -EINVAL. */
int tune_sheet_parse(const json_t *object, struct arena *a, struct tune_sheet *ret);

struct tune_verified { /* what was compared with what */
	const char *id;
	enum verify_match match;
	int64_t before_from_ns, before_to_ns, after_from_ns, after_to_ns, window_ns;
	const char *const *ports; /* names of the ports tested: "leaf1:Ethernet0" */
	const struct verify_result *result;
};
json_t *tune_verified_json(const struct tune_verified *verified);

#endif
