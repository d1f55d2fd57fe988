/*
 * tune - threshold tuning: from what a stretch of history says of every lossless queue to a
 * reviewable sheet. Pure: no clock, no store, and no switch is contacted.
 *
 *     windows --observe--> tune_evidence (sums and peaks per queue, tune_evidence.h)
 *                              |   + what incidents say (diagnosis before dose)
 *                              v
 *     tune_rules (decision table as data: signature -> diagnosis -> knob family, direction,
 *         bounded step)
 *                              v
 *     tune_dose (values: formulas, bounds, vendor's rounding, coupling over the pool)
 *     tune_gate (safety rules: what forbids or delays a change)
 *                              v
 *     tune_effect (expected effect with its range, by the queue model of whatif.h)
 *                              v
 *     struct tune_sheet
 *
 * Sources: docs/tuning.md, which has the decision table (tune_rules.c) and the safety rules
 * (tune_gate.c) with what they rest on.
 *
 * Units: bytes, ratios 0..1 (pause, marks, pmax), alpha as a ratio (2^n), bit/s, ns. NAN = not
 * known. Directions are the switch's: tx pause = we paused the neighbour. Memory: the arena of
 * tune_in; strings are borrowed from it, the fabric or are constants.
 */
#pragma once

#include "base/base.h"

#include "config/fabric.h"
#include "config/profile/profile_tune.h"
#include "db/model/finding.h"

struct tune_evidence;

enum tune_advice { ADVICE_CHANGE, ADVICE_FIX_FIRST, ADVICE_WATCH, ADVICE_NONE, ADVICE_BLOCKED };
/* "change" "fix_first" "watch" "none" "blocked" */
extern const char *const tune_advice_names[ADVICE_BLOCKED + 1];
const char *tune_advice_name(enum tune_advice advice);

/* What is known of the platform of one device; see profile_tune.h. NULL profile: not known what it
 * is, all renderings are for orientation. */
struct tune_platform {
	const struct profile_tune *profile;
	const struct tune_asic *asic; /* NULL: not known */
	const char *name, *version; /* what the device says it is and runs, NULL */
};

struct tune_incident { /* one that was open in the range, or still is; from the ledger's history */
	enum cause cause;
	const char *id, *device, *port, *host, *group;
	int priority;
	enum severity severity;
	int64_t opened_ns, closed_ns; /* closed 0: open at the end of the range */
	double confidence_ratio;
};

/* an earlier sheet that was applied: at most one change of a queue profile in 24 h, one knob
 * family at a time */
struct tune_past {
	const char *id, *device, *diagnosis;
	const char **rest; /* switches that follow, or followed, the canary */
	size_t n_rest;
	int priority;
	unsigned knobs; /* bits 1 << enum tune_knob */
	int64_t applied_ns;
	bool verified, undone;
};

struct tune_options {
	int64_t min_evidence_ns; /* tuning.min_evidence */
	double min_coverage; /* tuning.min_coverage */
	bool allow_reduce; /* --allow-reduce: headroom may be advised down */
	int64_t rtt_ns; /* base round trip, for the bandwidth-delay product */
	double max_pmax; /* policy bound */
};

struct tune_in {
	const struct fabric *fabric;
	const struct tune_evidence *evidence;
	const struct tune_platform *platforms; /* [fabric_device.index] */
	const struct tune_incident *incidents;
	size_t n_incidents;
	const struct tune_past *past;
	size_t n_past;
	struct tune_options options;
	int64_t now_ns;
	struct arena *arena;
};

struct tune_change {
	enum tune_knob knob;
	double current, proposed; /* NAN current: not known, then no change is advised */
	/* what the ASIC makes of .proposed (its cells); NAN not known */
	double programmed;
	const char *why, *source;
	/* the ports of the sheet that it is for, and what people call them; 0 and NULL: all of them
	 */
	const char **ports;
	size_t n_ports;
	const char *port_group;
};

struct tune_object { /* what the rendered change touches beyond what it is meant for */
	const char *device, *port; /* port NULL: the device */
	int priority;
	/* the bound object's name where the device tells it, else its kind */
	const char *object;
};

struct tune_expect {
	const char *metric, *unit;
	double low, high, likely, now; /* NAN unknown */
	double worse_ratio; /* chance to come out more than 1 % worse than now; NAN: not told */
	const char *of; /* what of the switch it is: "mean of 8 ports to hosts" */
};

struct tune_check { /* an inequality before and after: q_PFC, Kmin, pool */
	const char *text;
	double before, after, limit;
	const char *unit;
	bool ok;
};

struct tune_sheet {
	/* 8 base32 letters: hash of fabric, place, diagnosis, current and proposed values */
	char id[9];
	const char *device; /* the canary: a whole leaf or spine, first to be changed */
	const char **rest;
	size_t n_rest; /* devices to follow when the canary is verified */
	const char *port_group; /* "uplinks", "hosts", a port, "all" */
	const char **ports;
	size_t n_ports;
	int priority;
	const char *diagnosis; /* a cause word */
	enum tune_advice advice;
	const char *blocked_by; /* incident id, or why; NULL */
	const char *summary; /* one sentence */
	/* the world of the class in words, each with its source; NULL: the sheet is of no class */
	const char *world;
	const char **differences;
	size_t n_differences; /* between what is declared and what is read back or seen */
	struct tune_change *changes;
	size_t n_changes;
	struct tune_object *affected;
	size_t n_affected;
	enum tune_disruption disruption;
	bool job_boundary; /* anything not hitless */
	int64_t made_ns, expires_ns;
	int64_t from_ns, to_ns; /* of the evidence */
	struct evidence *evidence;
	size_t n_evidence;
	struct tune_expect *expected;
	size_t n_expected;
	const char *not_expected; /* a change without .expected: why nothing can be predicted */
	struct tune_check *checks;
	size_t n_checks;
	const char **collect;
	size_t n_collect; /* watch: what is missing, and how to get it */
	/* fix_first: what to do; change: what may follow */
	const char **next_steps;
	size_t n_next_steps;
	const char *risk, *rollback_if;
	const char **confidence_inputs;
	size_t n_confidence_inputs;
	double confidence_ratio, coverage_ratio;
	double buffer_cost_bytes; /* of the pool; NAN unknown */
	/* hash of read-back, topology and versions: another basis, another sheet (rule 7) */
	uint64_t basis;
};

struct tune_list {
	struct tune_sheet *v;
	size_t n, cap;
};

/*
 * tune_review - all sheets that the evidence gives, worst first: changes, what to fix first, what
 * to watch. A fabric that is already good gives one sheet of advice "none" per lossless priority. 0
 * or -ENODATA (there is no sample in the range).
 */
int tune_review(const struct tune_in *in, struct tune_list *out);
