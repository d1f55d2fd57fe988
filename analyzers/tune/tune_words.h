/*
 * tune_words - sizes, shares, thresholds and pause as the sentences of a sheet say them. Sentences
 * are the switch's: "we paused X" is tx pause. Text lives in the arena.
 */
#ifndef RW_ANALYZERS_TUNE_WORDS_H
#define RW_ANALYZERS_TUNE_WORDS_H

#include "analyzers/tune/tune_rules.h"

const char *tune_size_text(struct arena *a, double bytes); /* "1.46 MB", "730 KB", "512 B" */
const char *tune_percent(struct arena *a, double ratio); /* "0.25 %", "33 %" */
/* tune_value_text - a threshold in its unit: "730.0 KB", "10 %", "1/8", "unknown". */
const char *tune_value_text(struct arena *a, enum tune_knob knob, double value);
/* tune_neighbour - name of the host or switch at the other end of the port. */
const char *tune_neighbour(const struct tune_prio *prio);
/* tune_pause_text - "leaf1 paused h2 12 % of busy time at Ethernet8 (priority 3)" */
const char *tune_pause_text(struct arena *a, const struct tune_site *site);

/* tune_need_text - what is missing, and how this kind of switch tells it. tune_need_how - only how
 * it is reported or set there; NULL: the profile does not say, or the kind of switch is not known.
 */
const char *tune_need_text(
	struct arena *a, enum tune_need need, const struct tune_platform *platform);
const char *tune_need_how(enum tune_need need, const struct tune_platform *platform);

#endif
