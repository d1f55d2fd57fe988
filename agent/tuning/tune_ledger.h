/*
 * tune_ledger - the life of a threshold recommendation, from the sheet to its proof.
 *
 *      PROPOSED --accept--> ACCEPTED --read back, or told--> APPLIED --verify--> VERIFIED
 *         |  |                 |                              |  ^                  |
 *         |  '--reject--> REJECTED                            |  '---verify again---'
 *         v                    v                              v      (more data)
 *      EXPIRED <---------------'                           UNDONE
 *
 *      EXPIRED   72 h passed, the values it was computed from changed, or a newer sheet is there
 *      UNDONE    the old values, or others, were read back
 *      VERIFIED  keep or roll_back; an inconclusive comparison leaves it APPLIED
 *
 * The record is the sheet's JSON (agent/tuning/tune_json.h) with its life in it: "state", "history"
 * ([{time, event, who, text}]), and the times and numbers the machine needs in "progress". A
 * restart goes on from that text alone. Each change is told to @changed, with one line for the
 * timeline. Pure of clock and I/O: time is an argument, and what switches say comes as a window
 * (tune_read_back). Loop thread, or a command's.
 */
#ifndef RW_AGENT_TUNE_LEDGER_H
#define RW_AGENT_TUNE_LEDGER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyzers/analyzer.h"
#include "config/profile/profile_tune.h"
#include "db/series/series.h"

struct arena;

enum tune_state {
	TUNE_PROPOSED,
	TUNE_ACCEPTED,
	TUNE_REJECTED,
	TUNE_APPLIED,
	TUNE_VERIFIED,
	TUNE_EXPIRED,
	TUNE_UNDONE,
	TUNE_STATES
};
const char *tune_state_name(enum tune_state state); /* "proposed" ... */

struct tune_step { /* one change, as it is read back; values in the house's units, NAN unknown */
	enum tune_knob knob;
	unsigned metric;
	double current, proposed, programmed;
};

struct tune_record {
	char id[9];
	enum tune_state state;
	json_t *json; /* owned */
	/* borrowed from .json; verdict NULL before it is verified */
	const char *device, *diagnosis, *summary, *verdict;
	const char **ports;
	size_t n_ports; /* of .device; none: all of it */
	const char **rest;
	size_t n_rest; /* devices that follow */
	int priority;
	struct tune_step *steps;
	size_t n_steps;
	int64_t made_ns, expires_ns, from_ns, to_ns; /* [from, to]: its evidence */
	int64_t accepted_ns, applied_ns, verified_ns, updated_ns; /* 0 not yet */
	/* during @changed: who did it, and the line added to the history; NULL when only numbers
	 * moved */
	const char *who, *note;
	int64_t note_ns;
};

struct tune_ledger;
typedef void tune_ledger_fn(void *arg, const struct tune_record *record, enum tune_state from);
struct tune_ledger *tune_ledger_new(tune_ledger_fn *changed, void *arg);
void tune_ledger_free(struct tune_ledger *ledger); /* NULL is fine */
/* tune_ledger_restore - a record as it was stored; nothing is told. -EINVAL: it is none, -EEXIST.
 */
int tune_ledger_restore(struct tune_ledger *ledger, const char *json);
/* any case; NULL */
const struct tune_record *tune_ledger_find(const struct tune_ledger *ledger, const char *id);
/* lent until the next change */
size_t tune_ledger_records(const struct tune_ledger *ledger, const struct tune_record *const **ret);

/*
 * tune_ledger_propose - take a sheet of advice "change". What is still proposed for the same
 * device, priority and diagnosis gives way to it. 0; -EALREADY: it is known (one that expired is
 * proposed anew); -EINVAL: no such sheet; -ENOSPC: there are too many.
 */
int tune_ledger_propose(
	struct tune_ledger *ledger, const json_t *sheet, const char *who, int64_t t_ns);

/*
 *   TUNE_ACCEPT    @text why, NULL
 *   TUNE_REJECT    @text why; wanted
 *   TUNE_APPLY     it was put in force at @at_ns, by word of @who; one that was only proposed
 *                  is accepted by that
 *   TUNE_VERIFY    @result is what tune_verify said (agent/tuning/tune_json.h); its "verdict"
 *                  counts
 *
 * 0, -ENOENT (no such sheet), -EINVAL (a text or result is missing, or @at_ns is later than @t_ns),
 * -EALREADY (it is so already), -EPERM (not in this state), -ESTALE (it expired).
 */
enum tune_act { TUNE_ACCEPT, TUNE_REJECT, TUNE_APPLY, TUNE_VERIFY };
struct tune_act_in {
	enum tune_act act;
	const char *who, *text;
	int64_t t_ns, at_ns;
	const json_t *result;
};
int tune_ledger_act(struct tune_ledger *ledger, const char *id, const struct tune_act_in *in);
/* "tune_accept" "tune_reject" "tune_applied" "tune_verified"; -EINVAL */
int tune_act_parse(const char *word, enum tune_act *ret);
const char *tune_act_error(int error, enum tune_state state);

/* ---- what switches say --------------------------------------------------- */

/* tune_metrics - metrics read-back looks at. Lent, static. */
size_t tune_metrics(const uint16_t **ret);
unsigned tune_knob_metric(enum tune_knob knob);
/* tune_value - a stored configuration value in the knob's unit (alpha from its exponent). */
double tune_value(enum tune_knob knob, uint64_t stored);
/* tune_same - is @value what was written as @wanted? Switches round to cells and steps: 2 % (alpha
 * 10 %), but never half the way to @other (NAN: none). */
bool tune_same(double value, double wanted, double other);

enum tune_reading {
	TUNE_READ_NOTHING,
	TUNE_READ_CURRENT,
	TUNE_READ_PROPOSED,
	TUNE_READ_MIXED,
	TUNE_READ_OTHER
};
struct tune_read {
	/* at the end of the window. MIXED: some of the ports have the proposed values, or some of
	 * the values are so */
	enum tune_reading reading;
	int64_t since_ns; /* PROPOSED, CURRENT: first instant at which all were so */
	/* the last reading before it that was not; INT64_MIN: none in the window */
	int64_t before_ns;
	const char *text; /* OTHER: what was read, in the arena */
};
/* tune_read_back - pure; declared values are no reading. */
void tune_read_back(const struct tune_record *record, const struct window *window, struct arena *a,
	struct tune_read *ret);

/*
 * tune_ledger_look - what the switches say at the end of @window moves records on: accepted ->
 * applied, open ones whose basis is another -> expired, applied ones whose values are no longer in
 * force -> undone; and what is older than it may be expires. @t_ns is now.
 */
void tune_ledger_look(struct tune_ledger *ledger, const struct window *window, int64_t t_ns);

/* tune_ledger_look_one - the same for one record. */
void tune_ledger_look_one(
	struct tune_ledger *ledger, const char *id, const struct window *window, int64_t t_ns);

/* tune_ledger_note - add a line to the history and tell it, without a change of state; @key (NULL
 * none) of "progress" is set to @value, which is taken. */
void tune_ledger_note(struct tune_ledger *ledger, const char *id, const char *event,
	const char *text, int64_t t_ns, const char *key, json_t *value);

/* tune_ledger_expected - changes of settings that somebody agreed to: for the analyzer that tells
 * of those nobody did (settings_drift). In the arena. */
size_t tune_ledger_expected(
	const struct tune_ledger *ledger, struct arena *a, struct expected_change **ret);

#endif
