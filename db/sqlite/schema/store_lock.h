/*
 * store_lock - makes one process the only writer of a database file, and says which one it is.
 */
#pragma once

#include "base/base.h"

/* writer_lock - become the one writer of @path. 0, -EBUSY or another negative errno. A reader
 * cannot be in the way: the lock file is for writers only. */
int writer_lock(const char *path, int *ret_fd, struct err *e);
void writer_unlock(int fd); /* -1 is fine */

/*
 * writer_lock_inode - the same for the file itself, by whatever name it is known: @path exists.
 * 0, -EBUSY or another negative errno. Where the file system has no such locks, or a reader holds a
 * lock on the whole file, it goes on without.
 *
 * The descriptor is closed after SQLite has closed the file: closing it drops the locks that SQLite
 * holds on the same file in this process.
 */
int writer_lock_inode(const char *path, int *ret_fd, struct err *e);

/* writer_pid - 0 = nobody writes; negative errno (-EACCES): neither PATH.state nor PATH.lock may be
 * read, so it is not known. */
int writer_pid(const char *path);

/*
 * store_holders - which processes hold a database file: its log, because they read an old
 * snapshot, or its locks. From /proc/locks: empty where the kernel, a container or the service's
 * settings hide it.
 */

/*
 * store_holders_text - adds "pid 123 (sqlite3), pid 456 (python3)" of the processes, but this one,
 * that have a lock on the file @path plus @suffix ("", "-shm"); nothing when none is known. Of the
 * "-shm": those that read a snapshot or write.
 */
void store_holders_text(const char *path, const char *suffix, struct str *out);
