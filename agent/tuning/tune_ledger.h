/*
 * tune_ledger - the life of a threshold recommendation, from the sheet to its proof.
 *
 *      PROPOSED --accept--> ACCEPTED --read back, or applied--> APPLIED --verify--> VERIFIED
 *         |  |                 |                                  |  ^                  |
 *         |  '--reject--> REJECTED                                |  '---verify again---'
 *         v                    v                                  v      (more data)
 *      EXPIRED <---------------'                               UNDONE
 *
 *      EXPIRED   72 h passed, the values it was computed from changed, or a newer sheet is there
 *      UNDONE    the old values, or others, were read back
 *      VERIFIED  keep or roll_back; an inconclusive comparison leaves it APPLIED
 *
 * Pure of clock and I/O: time is an argument, what switches say comes as a window
 * (tune_record.h), and records come and go as structs; tune_ledger.h keeps them. Every change is
 * handed to @changed with one line for the timeline. Loop thread, or a command's.
 */
#pragma once

#include "agent/tuning/tune_record.h"
#include "analyzers/measure/input.h"
#include "db/series/series.h"
#include "base/base.h"

struct tune_ledger;
struct history;

typedef void tune_ledger_fn(void *arg, const struct tune_record *record, enum tune_state from);
struct tune_ledger *tune_ledger_new(tune_ledger_fn *changed, void *arg);
void tune_ledger_free(struct tune_ledger *ledger); /* NULL is fine */
/* tune_ledger_doubt - while the clock may be far ahead, no sheet expires by its age. */
void tune_ledger_doubt(struct tune_ledger *ledger, bool doubt);
/* tune_ledger_restore - a record as it was stored; @changed is not called. @record is taken, also
 * on failure. -EINVAL: it is incomplete or has no state; -EEXIST. */
int tune_ledger_restore(struct tune_ledger *ledger, struct tune_record *record);
/* tune_ledger_find - by its whole id, in either case; NULL. Lent until the next change. */
const struct tune_record *tune_ledger_find(const struct tune_ledger *ledger, const char *id);
/* tune_ledger_records - all, in order of arrival; lent until the next change. */
size_t tune_ledger_records(const struct tune_ledger *ledger, const struct tune_record *const **ret);

/*
 * tune_ledger_propose - take a sheet of advice "change". A sheet that is still proposed for the
 * same device, priority and diagnosis expires. @record is taken, also on failure. 0; -EALREADY: it
 * is known (one that expired or was undone is proposed anew); -EINVAL: not such a sheet; -ENOSPC:
 * there are too many.
 */
int tune_ledger_propose(
	struct tune_ledger *ledger, struct tune_record *record, const char *who, int64_t t_ns);

/*
 *   TUNE_ACCEPT    @text why, or NULL
 *   TUNE_REJECT    @text why; required
 *   TUNE_APPLY     it was put in force at @at_ns, says @who; a sheet that was only proposed counts
 *                  as accepted then
 *   TUNE_VERIFY    @result is what the comparison said
 *
 * 0, -ENOENT (no such sheet), -EINVAL (a text or result is missing, or @at_ns is later than @t_ns),
 * -EALREADY (it is so already), -EPERM (not in this state), -ESTALE (it expired).
 */
enum tune_decision { TUNE_ACCEPT, TUNE_REJECT, TUNE_APPLY, TUNE_VERIFY };
struct tune_decision_in {
	enum tune_decision decision;
	const char *who, *text;
	int64_t t_ns, at_ns;
	const struct tune_verified *result; /* lent */
};
int tune_ledger_decide(
	struct tune_ledger *ledger, const char *id, const struct tune_decision_in *in);
/* The words of the control socket: "tune_accept" "tune_reject" "tune_applied" "tune_verified". */
const char *tune_decision_word(enum tune_decision decision);
int tune_decision_parse(const char *word, enum tune_decision *ret); /* 0 or -EINVAL */
/* tune_decision_error - why tune_ledger_decide() refused, as a clause for people. */
const char *tune_decision_error(int error, enum tune_state state);

/*
 * tune_ledger_read - what the switches say at the end of @window moves records on: accepted ->
 * applied; proposed and accepted ones whose values changed otherwise -> expired; applied ones whose
 * values are no longer in force -> undone; and what is older than it may be expires. @t_ns is now.
 */
void tune_ledger_read(struct tune_ledger *ledger, const struct window *window, int64_t t_ns);
/* tune_ledger_read_one - the same for one record. */
void tune_ledger_read_one(
	struct tune_ledger *ledger, const char *id, const struct window *window, int64_t t_ns);

/* tune_ledger_watched - drops were counted up to @watched_ns. Stored with the next change. */
void tune_ledger_watched(struct tune_ledger *ledger, const char *id, int64_t watched_ns);
/* tune_ledger_rates - how fast jobs were before the change. Copied; stored with the next change. */
void tune_ledger_rates(
	struct tune_ledger *ledger, const char *id, const struct tune_rate *rates, size_t n);
/* tune_ledger_roll_back - it did harm and is to be taken back; an incident is open for it until
 * tune_ledger_settled(). Both are stored. */
void tune_ledger_roll_back(
	struct tune_ledger *ledger, const char *id, const char *why, int64_t t_ns);
void tune_ledger_settled(struct tune_ledger *ledger, const char *id);

/* tune_ledger_expected - changes of settings that somebody agreed to: for the detector of changes
 * that nobody agreed to (settings_drift). In the arena. */
size_t tune_ledger_expected(
	const struct tune_ledger *ledger, struct arena *a, struct expected_change **ret);

/*
 * tune_store - keeps recommendations in the database, as their documents, and brings them back.
 * store.h for writing, history for reading. Loop thread, or a command's.
 */

/* tune_store_record - a tune_ledger_fn: writes the record, and its note as an event. @store is a
 * struct store. */
void tune_store_record(void *store, const struct tune_record *record, enum tune_state from);
/* tune_store_load - all that @history holds into @ledger. One that cannot be read is logged and
 * stays in the database. 0 or negative errno, @e. */
int tune_store_load(struct history *history, struct tune_ledger *ledger, struct err *e);
