/*
 * tune_margin - how far a prediction of the queue model may be off, by what was asked: ranges are
 * widened so that 19 of 20 measurements of simulated fabrics lie in them (split conformal
 * prediction: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005; measured by
 * tests/score/whatif_score.py on 50 fabrics of tuning seeds). A quantity whose range would be wider
 * than what is measured now is not predicted. Pure.
 */
#ifndef RW_ANALYZERS_TUNE_MARGIN_H
#define RW_ANALYZERS_TUNE_MARGIN_H

#include "analyzers/tune/tune.h"

enum tune_ask_kind { ASK_PFC, ASK_ECN_LOWER, ASK_ECN_HIGHER, ASK_KINDS };

/* tune_margin_apply - widens @expect. False: it is not predicted. @losing: frames are lost now, and
 * what is sent again hides what the queues would do without. */
bool tune_margin_apply(enum tune_ask_kind kind, bool losing, struct tune_expect *expect);

#endif
