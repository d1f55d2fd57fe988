/*
 * tune_gate - what forbids or delays a change, whatever the diagnosis says: the rules that make
 * advice safe, as a table. A rule that holds gives an advice that is not "change": blocked (by
 * what), or watch (with what to collect). Pure.
 *
 * Source: tuning facts d.2 (numbers as there; 0: the decision table's own bounds). Rules 3 and 6
 * are kept by the doses (coupling; order of the steps), 4 by the sheet (blast radius, canary), 5 by
 * the platform's disruption class, 9 by the texts of what to mend, 10 by the sheet's rollback
 * condition, 11 by the store.
 */
#ifndef RW_ANALYZERS_TUNE_GATE_H
#define RW_ANALYZERS_TUNE_GATE_H

#include "analyzers/tune/tune_dose.h"

enum { GATE_WORDS = 24 };

struct tune_verdict {
	enum tune_advice advice; /* CHANGE, WATCH, BLOCKED or NONE */
	const char *blocked_by; /* incident or sheet id, or why; NULL */
	const char *why; /* one clause, NULL for a change */
	const char *collect[GATE_WORDS];
	size_t n_collect;
	int rule; /* of the gate that decided; -1 none */
};

/* tune_gate - the verdict on a plan. Blocked goes before watch; of several reasons to watch, all
 * say what to collect. */
void tune_gate(const struct tune_plan *plan, struct tune_verdict *ret);

/* tune_gate_doubt - the verdict on a change nobody could approve, for its confidence: watch, and
 * what would make it surer. */
void tune_gate_doubt(const struct tune_plan *plan, struct tune_verdict *verdict);

/* Longest time a sheet lives; longest age of what was read back; shortest time between two changes
 * of a queue profile. */
#define TUNE_LIFE_NS (72LL * 3600 * 1000000000)
#define TUNE_READ_NS (24LL * 3600 * 1000000000)

#endif
