/*
 * tune_verify - did a change of thresholds do what it was for, and nothing else? Windows before and
 * after it, of the same work, compared. Pure.
 *
 * Matching: a window counts when the fabric carried load, nothing else was amiss in it (.spoiled:
 * restarts, gaps, an incident of another cause, the moment of the change itself), and VERIFY_JOB as
 * many hosts sent as usually did before, and load lies within half and one and a half times its
 * side's median: the same job at the same phase. How fast it gets on is then an effect. VERIFY_LOAD
 * before and after have as many windows in each of ten bins of load. Step time is taken from all
 * busy windows: load is what it would show in. VERIFY_NONE  busy is enough.
 *
 * Comparison: moving blocks (Kuensch, 1989) of at most 10 windows are drawn anew 1,000 times from
 * a fixed seed, so neighbours may be alike; intervals of 95 % are widened by Student's factor for
 * few blocks. In bulk-synchronous training octets per second are steps per second but for a factor
 * (rhythm.h), so the ratio of step times is that of the mean rates, inverted; its tail is the 99th
 * percentile over windows, from 100 windows on.
 *
 * Verdict by J = step/step0 + 0.5 x pause + p99/p99_0 (docs/tuning.md, "Proof"), never by pause
 * alone: one new lossless drop, or a J or a step time that is surely up, is ROLL_BACK; pause, drops
 * or step time surely down while the step time is surely not up by VERIFY_STEP_NOISE or more is
 * KEEP; all else is INCONCLUSIVE. Less than VERIFY_WINDOWS_MIN windows on a side: INCONCLUSIVE, but
 * for drops.
 *
 * Units: ratios 0..1, octets per second, ns. NAN = not known. Results live in the arena.
 */
#pragma once

#include "base/base.h"

#define VERIFY_WINDOWS_MIN 20
/* Step time up by more than this, surely: roll back. A smaller effect is noise (measured in
 * simulation over several seeds). */
#define VERIFY_STEP_LIMIT 0.03
#define VERIFY_STEP_NOISE 0.03 /* keep only when a longer step than this is excluded */
#define VERIFY_DISCOVERY 0.05 /* q of Benjamini and Hochberg over ports */

struct verify_window {
	int64_t from_ns, to_ns;
	/* mean share of time the changed switches paused what sends to them; an upper bound where
	 * .pause_bound */
	double pause;
	/* PFC frames per second they sent, mean over the same ports: speaks for pause where that is
	 * a bound */
	double frames;
	bool pause_bound;
	double marks; /* marked over sent, their lossless queues */
	double drops; /* lossless drops there, packets; NAN: no counter tells */
	double load; /* octets per second the hosts (or leaf uplinks) moved */
	unsigned senders; /* host ports (or uplinks) that carried load */
	bool busy, spoiled;
	/* pause share of each port of interest, NAN unknown; NULL: none are asked for */
	const float *ports;
};

enum verify_match { VERIFY_JOB, VERIFY_LOAD, VERIFY_NONE };
extern const char *const verify_match_names[VERIFY_NONE + 1];
int verify_match_parse(const char *word, enum verify_match *ret); /* "job" "load" "none"; -EINVAL */
const char *verify_match_name(enum verify_match match);

struct verify_in {
	const struct verify_window *before, *after;
	size_t n_before, n_after, n_ports;
	enum verify_match match;
	struct arena *arena;
};

enum verify_verdict { VERIFY_KEEP, VERIFY_ROLL_BACK, VERIFY_INCONCLUSIVE };
extern const char *const verify_verdict_names[VERIFY_INCONCLUSIVE + 1];
const char *verify_verdict_name(enum verify_verdict
		verdict); /* "keep" "roll_back" "inconclusive"; "": a document had none */

/*
 * Pause that is only a bound from frames says little: the bound stands at 100 % long before pause
 * does. Then frames of the same port at the same speed stand for it, for their direction alone, and
 * J does without it.
 */
struct verify_effect {
	/* pause "ratio", pause_frames "frames/s", marks "ratio", drops "packets/s", step_time
	 * "ratio" (of before), step_tail, j */
	const char *metric, *unit;
	double before, after, delta; /* NAN unknown */
	double low, high; /* 95 % of .delta */
	/* "better" "worse" "no change seen" "not known" "" (shown, not judged) */
	const char *judgement;
};
enum {
	VERIFY_PAUSE,
	VERIFY_FRAMES,
	VERIFY_MARKS,
	VERIFY_DROPS,
	VERIFY_STEP,
	VERIFY_TAIL,
	VERIFY_J,
	VERIFY_EFFECTS
};

struct verify_result {
	enum verify_verdict verdict;
	const char *why;
	struct verify_effect effects[VERIFY_EFFECTS];
	size_t n_before, n_after; /* matched */
	bool pause_bound; /* pause is not measured */
	size_t n_spoiled, n_idle, n_unmatched; /* of both sides, left out */
	/* packets, all windows that were heard, matched or not; NAN */
	double drops_before, drops_after;
	/* ports on which pause surely rose or fell (Mann-Whitney over block means,
	 * Benjamini-Hochberg over ports) */
	size_t *ports_worse, n_ports_worse, *ports_better, n_ports_better;
	size_t n_ports_tested;
};

void tune_verify(const struct verify_in *in, struct verify_result *ret);

/* verify_rank_test - two-sided p of Mann and Whitney's U with ties, normal approximation with
 * continuity; 1 when either side is empty. Exported for tests. */
double verify_rank_test(
	const double *left, size_t n_a, const double *right, size_t n_b, double *scratch);
/* verify_discoveries - Benjamini and Hochberg: the largest p that still counts at rate @rate, or -1
 * when none does. @chances is sorted in place. */
double verify_discoveries(double *chances, size_t n, double rate);
