/*
 * tune_gate - what forbids or delays a change, whatever the diagnosis says: the safety rules, as a
 * table. A gate that holds gives an advice that is not "change": blocked (by what), or watch (with
 * what to collect). Pure; texts live in the arena of tune_in.
 *
 * The rules and their gates are printed into docs/tuning.md ("Safety rules").
 */
#pragma once

#include "analyzers/tune/tune_plan.h"
#include "analyzers/tune/tune_rules.h"

/* ---- tune_touch ------------------------------------------------------------ */

/* tune_touch - does a fault explain the pause at a place? Then thresholds wait until it is mended.
 */

/*
 * tune_fault_touches - true when @fault is on a switch of the pause tree of @site, on the other
 * end of a link into it, or at no known place. A sender that does not slow down (row 7) touches
 * every tree of its priority. Pure.
 */
bool tune_fault_touches(const struct tune_case *tune_case, const struct tune_fault *fault,
	const struct tune_site *site);

/* ---- tune_gate ------------------------------------------------------------- */

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

/* tune_gate_doubt - the verdict on a change whose confidence is too low to approve it: watch, and
 * what would raise it. */
void tune_gate_doubt(const struct tune_plan *plan, struct tune_verdict *verdict);

/* For the manual: rule @i and gate @i; false behind the last. */
struct tune_safety_rule {
	int number;
	const char *says, *kept_by, *source; /* source NULL: our own */
};
struct tune_gate_row {
	int rule;
	enum tune_advice advice;
	const char *when; /* a clause: "the policy of the site is not dcqcn" */
};
bool tune_safety_rule_at(size_t i, struct tune_safety_rule *ret); /* for docs/tuning.md */
bool tune_gate_row_at(size_t i, struct tune_gate_row *ret); /* for docs/tuning.md */

/* Longest time a sheet lives; longest age of what was read back; shortest time between two changes
 * of a queue profile. */
#define TUNE_LIFE_NS (72LL * 3600 * 1000000000)
#define TUNE_READ_NS (24LL * 3600 * 1000000000)
/* Sheets that were applied within it are one series. */
#define TUNE_SERIES_NS (14LL * 86400 * 1000000000)
