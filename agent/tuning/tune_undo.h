/*
 * tune_undo - a change that made J worse is taken back before anything else is advised: one in the
 * ledger that is in force, or, where the ledger knows none (a replay), the newest change of
 * thresholds that the read-back shows. Worse is what tune_verify() says with certainty: a new
 * lossless drop, or steps or J surely longer.
 */
#ifndef RW_AGENT_TUNE_UNDO_H
#define RW_AGENT_TUNE_UNDO_H

#include "agent/tuning/tune_read.h"

/*
 * tune_undo_first - puts the sheet that takes it back first in @list; sheets that propose a change
 * are blocked by it. Where nothing is to be taken back, those are blocked that would set again what
 * was taken back. The sheet lives in @a.
 */
void tune_undo_first(struct client *client, const struct tune_ledger *ledger,
	const struct tune_history *history, struct arena *a, struct tune_list *list);

#endif
