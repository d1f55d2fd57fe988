/*
 * slice - long work in short pieces, on a stack of its own. The work runs on a thread, but never at
 * the same time as whoever hands it slices: slice_run() gives it the turn and waits until it gives
 * the turn back, in slice_pause() or at its end. So both may use the same data without locks; what
 * one of them lends the other must outlive the turn.
 */
#ifndef RW_BASE_SLICE_H
#define RW_BASE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

struct slice;
typedef void slice_fn(void *arg);
/* slice_new - nothing runs yet. NULL when there is no thread to be had. */
struct slice *slice_new(void);
/* slice_free - not while work is under way. NULL is fine. */
void slice_free(struct slice *slice);

/* slice_begin - the next work; none may be under way. Nothing of it runs before slice_run(). */
void slice_begin(struct slice *slice, slice_fn *fn, void *arg);
/* slice_run - goes on with the work for about @budget_ns; true when it has ended. */
bool slice_run(struct slice *slice, int64_t budget_ns);
/* slice_pause - called by the work, often: when its time is over, it waits for the next slice. A
 * slice_pause() from elsewhere does nothing. */
void slice_pause(struct slice *slice);

#endif
