/*
 * store_holders - which processes hold a database file: its log, because they read an old
 * snapshot, or its locks. From /proc/locks: empty where the kernel, a container or the service's
 * settings hide it.
 */
#ifndef RW_DB_STORE_HOLDERS_H
#define RW_DB_STORE_HOLDERS_H

#include <stdbool.h>

struct str;

/*
 * store_holders_text - adds "pid 123 (sqlite3), pid 456 (python3)" of the processes, but this one,
 * that have a lock on the file @path plus @suffix ("", "-shm"); nothing when none is known. Of the
 * "-shm": those that read a snapshot or write.
 */
void store_holders_text(const char *path, const char *suffix, struct str *out);

#endif
