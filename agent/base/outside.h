/*
 * outside - which files a wall around this process hides (agent/daemon/sandbox.h), in words for
 * messages: "Permission denied" alone would send people to look at modes that are right. Any
 * thread.
 */
#ifndef RW_BASE_OUTSIDE_H
#define RW_BASE_OUTSIDE_H

#include <stdbool.h>

/* outside_begin - from now on a wall stands. */
void outside_begin(void);
bool outside_stands(void);
/* outside_is - may @path be read by its mode and owner, and yet not be opened here? */
bool outside_is(const char *path);
/* outside_hint - for the end of a message about @path: what to do, or "". */
const char *outside_hint(const char *path);

#endif
