/*
 * history_merged - several stores read as one fabric: the files of agents that each poll a share of
 * it (docs/scale-out.md). Samples and flows come from all of them. Records (incidents, findings,
 * events) and the configuration come from the first one that has them: a judge's file goes first.
 *
 * One thread at a time, as every struct history.
 */
#ifndef RW_DB_HISTORY_MERGED_H
#define RW_DB_HISTORY_MERGED_H

#include "db/series/history.h"

/* history_merge - @parts, at least one, belong to the result from now on: history_close() of it
 * closes them. Where two parts hold a sample of one series and instant, it is read once. */
struct history *history_merge(struct history *const *parts, size_t n);

#endif
