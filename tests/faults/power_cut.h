/*
 * power_cut - what a power cut leaves of the files that SQLite wrote: everything up to the last
 * sync of each file, and of what was written since, any part, sector by sector. A sector that was
 * being written may also hold noise. Whether a file that was made or deleted is there is certain
 * only once its directory was synced, which SQLite's unix VFS does with the first sync of a new
 * log or journal, and with a deletion that asks for it.
 *
 * The observer of fault_vfs.h remembers; power_cut_apply() writes what is left over the real files.
 * After the idea of SQLite's own crash tests (sqlite.org/testing.html, "Crash Testing").
 */
#ifndef RW_TESTS_POWER_CUT_H
#define RW_TESTS_POWER_CUT_H

#include <stdint.h>

/* From now on; forgets an earlier run. @synced is called at each sync of a write-ahead log. */
void power_cut_begin(void (*synced)(void *arg), void *arg);
/* From now on nothing more is remembered: the moment of the cut. */
void power_cut_freeze(void);
/* What is left, chosen by @seed: with sectors of 512 or 4096 bytes. Nobody may have the files open.
 */
void power_cut_apply(uint64_t seed);
void power_cut_end(void);

#endif
