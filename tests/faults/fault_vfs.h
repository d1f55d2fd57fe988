/*
 * fault_vfs - a SQLite VFS over the system's that fails when told to: any of its calls, at the N-th
 * one, once or for a while, with the code that fits. It also fails SQLite's own allocations.
 *
 * An observer sees every change that reaches the system's VFS: power_cut.c builds on that.
 * Thread-safe, except for setting the observer.
 */
#ifndef RW_TESTS_FAULT_VFS_H
#define RW_TESTS_FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_op {
	FAULT_OPEN,
	FAULT_DELETE,
	FAULT_ACCESS,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_TRUNCATE,
	FAULT_SYNC,
	FAULT_SIZE,
	FAULT_LOCK,
	FAULT_UNLOCK,
	FAULT_SHM_MAP,
	FAULT_SHM_LOCK,
	FAULT_SHM_UNLOCK,
	FAULT_MALLOC, /* fault_vfs_register_malloc() */
	FAULT_OPS
};
#define FAULT_BIT(op) (1u << (op))
/* all calls of the VFS, without malloc */
#define FAULT_DISK (FAULT_BIT(FAULT_MALLOC) - 1)

/* Calls @first to @first + @times - 1 of those in @ops, counted from 1 when the plan is set, answer
 * @rc and do nothing. With @every above 1, only each @every-th of these. */
struct fault_plan {
	unsigned ops;
	int rc;
	int64_t first, times, every;
	bool torn; /* a write that fails has written its first half */
	bool main_only; /* only the database itself, not its log */
	void (*strike)(void); /* instead of failing; does not return */
};

void fault_vfs_register(void); /* becomes the default VFS of the process; "unix" stays */
/* Before SQLite is first used: its allocations count and fail as FAULT_MALLOC. */
void fault_vfs_register_malloc(void);
void fault_vfs_plan(const struct fault_plan *plan); /* NULL: all works */
int64_t fault_vfs_failed(void); /* calls that failed since the plan was set */
int64_t fault_vfs_calls(enum fault_op op); /* calls since the plan was set */

/* In simulated time: @sleep instead of sleeping, and syncs that need not reach a disk. NULL ends
 * it. */
void fault_vfs_simulate(void (*sleep)(int64_t us));

/* What really happened to files, after it did. @name: as SQLite opened it. */
struct fault_observer {
	void (*opened)(const char *name, int flags);
	void (*wrote)(const char *name, const void *data, int n, int64_t at);
	void (*truncated)(const char *name, int64_t size);
	void (*synced)(const char *name);
	void (*deleted)(const char *name, bool directory_synced);
};
void fault_vfs_observe(const struct fault_observer *observer); /* NULL: nobody */

/* ---- shorter words for the usual cases ---- */

/* from now on writes return this SQLite code; 0 = they work */
void fault_vfs_set(int rc);
/* the n-th write from now on, and those after it, return @rc */
void fault_vfs_after(int64_t n, int rc);
/* from now on writes of the database itself, not of its log, return @rc: checkpoints fail while
 * commits work */
void fault_vfs_main(int rc);

#endif
