/* fault_vfs - a SQLite VFS over the system's that refuses writes when told to: a full disk without
 * filling one. */
#ifndef RW_TESTS_FAULT_VFS_H
#define RW_TESTS_FAULT_VFS_H

#include <stdint.h>

void fault_vfs_register(void); /* becomes the default VFS of the process */
/* from now on writes return this SQLite code; 0 = they work */
void fault_vfs_set(int rc);
/* the n-th write from now on, and those after it, return @rc */
void fault_vfs_after(int64_t n, int rc);
/* from now on writes of the database itself, not of its log, return @rc: checkpoints fail while
 * commits work */
void fault_vfs_main(int rc);

#endif
