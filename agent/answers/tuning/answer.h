/*
 * answer - what `report tuning` says of thresholds: the sheets with news or that wait, what a
 * review of the last day would propose, which evidence is missing, what is to be repaired first,
 * and what was nearly full. Its tables give the JSON, the columns and the schema. All in one arena.
 */
#pragma once

#include "agent/document/shape.h"

/* ---- a sheet in a report ---------------------------------------------------------------- */

struct sheet_due { /* the change is to be taken back, since then */
	wall_t time;
	const char *why;
};

struct sheet_row { /* texts that are not known: NULL; all in the caller's arena */
	const char *id, *device, *port_group;
	int priority;
	const char *diagnosis, *advice, *summary;
	wall_t made, expires, accepted, rejected, applied, verified;
	const char *accepted_by, *rejected_by, *rejected_why, *applied_by, *verdict;
	const char **collect;
	size_t n_collect;
	const char *blocked_by;
	struct sheet_due *rollback_due;
	const char *subject; /* "leaf1 uplinks p3" */
	const char *state; /* at the end of the range; "": a review made it */
	const char *change, *rollback_why;
	const char *waits_for; /* NULL: nothing is to be done */
	bool in_range; /* made or changed in it */
	bool is_reviewed, recorded; /* of a review: does the ledger have it? */
};
extern const struct shape sheet_row_shape;

/* What "tune/list" and "tune/review" answer, as far as reports take it. */
struct sheet_list {
	struct sheet_row *sheets;
	size_t n_sheets;
	const char *reason; /* why there is none; NULL */
};

extern const struct shape sheet_list_shape;

/* ---- what was nearly full ----------------------------------------------------------------- */

struct limits_row { /* a headroom or a pool */
	const char *device, *port; /* port "": of the switch */
	int priority;
	const char *what; /* "headroom" or "pool" */
	double peak_bytes, limit_bytes, used_ratio; /* of the step in which it was used most */
};
extern const struct shape limits_row_shape;

struct limits_known { /* of how many fill and size are known */
	size_t headroom, pools;
};
extern const struct shape limits_known_shape;

/* ---- the report ------------------------------------------------------------------------- */

struct tuning_counts {
	size_t proposed, accepted, applied, verified, rejected, expired, undone;
};

struct tuning_lack {
	const char *subject, *text;
};

struct tuning_fix {
	const char *subject, *advice, *diagnosis, *blocked_by, *summary;
};

struct tuning_answer { /* all in one arena */
	struct sheet_row *sheets; /* with an event in the range, or that wait */
	size_t n_sheets;
	struct tuning_counts counts;
	struct sheet_row *review; /* what a review of the last day says */
	size_t n_review;
	struct tuning_lack *evidence; /* what the review asks for, once each */
	size_t n_evidence;
	struct tuning_fix *fix_first;
	size_t n_fix_first;
	struct limits_row *near_limit;
	size_t n_near_limit;
	struct limits_known near_known;
};
extern const struct shape tuning_fix_shape;
extern const struct shape tuning_answer_shape;
