/* fault_vfs - see fault_vfs.h. Each file of SQLite's is a file of the system's VFS behind a header
 * of our own. */
#include "tests/faults/fault_vfs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static sqlite3_vfs *fault_real;
static sqlite3_vfs fault_shim;
static sqlite3_mem_methods fault_memory;

struct fault_file {
	sqlite3_file base; /* first */
	const char *name; /* SQLite's, valid as long as the file is open; NULL: temporary */
	bool main_file;
	int unreleased, unreleased_shared; /* bits of locks on shared memory */
	sqlite3_file real[]; /* .szOsFile of the real VFS */
};

static struct {
	pthread_mutex_t mutex; /* guards .plan */
	struct fault_plan plan;
	atomic_uint ops; /* of .plan */
	atomic_llong counted, failed, calls[FAULT_OPS];
	void (*sleep)(int64_t us);
	const struct fault_observer *observer;
} fault = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct fault_file *fault_file(sqlite3_file *file)
{
	return (struct fault_file *)(void *)file;
}

static sqlite3_file *fault_below(sqlite3_file *file)
{
	return fault_file(file)->real;
}

/* SQLITE_OK: the call is to be made. */
static int fault_now(enum fault_op op, bool main_file, bool *ret_torn)
{
	atomic_fetch_add(&fault.calls[op], 1);
	if (!(atomic_load(&fault.ops) & FAULT_BIT(op))) /* most calls: half a million allocations */
		return SQLITE_OK;
	pthread_mutex_lock(&fault.mutex);
	const struct fault_plan plan = fault.plan;
	pthread_mutex_unlock(&fault.mutex);
	if (!(plan.ops & FAULT_BIT(op)) || (plan.main_only && !main_file))
		return SQLITE_OK;
	const int64_t n = atomic_fetch_add(&fault.counted, 1) + 1;
	if (n < plan.first || n - plan.first >= plan.times)
		return SQLITE_OK;
	if (plan.every > 1 && (n - plan.first) % plan.every != 0)
		return SQLITE_OK;
	atomic_fetch_add(&fault.failed, 1);
	if (plan.strike)
		plan.strike();
	if (ret_torn)
		*ret_torn = plan.torn;
	return plan.rc;
}

static int fault_of(enum fault_op op, sqlite3_file *file)
{
	return fault_now(op, fault_file(file)->main_file, NULL);
}

/* ---- files --------------------------------------------------------------- */

static int fault_close(sqlite3_file *f)
{
	return fault_below(f)->pMethods->xClose(fault_below(f));
}

static int fault_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	const int rc = fault_of(FAULT_READ, f);

	if (rc != SQLITE_OK)
		return rc;
	return fault_below(f)->pMethods->xRead(fault_below(f), p, n, at);
}

static int fault_write_real(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	const int rc = fault_below(f)->pMethods->xWrite(fault_below(f), p, n, at);

	if (rc == SQLITE_OK && fault.observer && fault_file(f)->name)
		fault.observer->wrote(fault_file(f)->name, p, n, at);
	return rc;
}

static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	bool torn = false;
	const int rc = fault_now(FAULT_WRITE, fault_file(f)->main_file, &torn);

	if (rc == SQLITE_OK)
		return fault_write_real(f, p, n, at);
	if (torn && n > 1)
		fault_write_real(f, p, n / 2, at);
	return rc;
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int rc = fault_of(FAULT_TRUNCATE, f);

	if (rc == SQLITE_OK)
		rc = fault_below(f)->pMethods->xTruncate(fault_below(f), size);
	if (rc == SQLITE_OK && fault.observer && fault_file(f)->name)
		fault.observer->truncated(fault_file(f)->name, size);
	return rc;
}

static int fault_sync(sqlite3_file *f, int flags)
{
	int rc = fault_of(FAULT_SYNC, f);

	if (rc == SQLITE_OK && !fault.sleep)
		rc = fault_below(f)->pMethods->xSync(fault_below(f), flags);
	if (rc == SQLITE_OK && fault.observer && fault_file(f)->name)
		fault.observer->synced(fault_file(f)->name);
	return rc;
}

static int fault_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	const int rc = fault_of(FAULT_SIZE, f);

	if (rc != SQLITE_OK)
		return rc;
	return fault_below(f)->pMethods->xFileSize(fault_below(f), ret);
}

static int fault_lock(sqlite3_file *f, int level)
{
	const int rc = fault_of(FAULT_LOCK, f);

	if (rc != SQLITE_OK)
		return rc;
	return fault_below(f)->pMethods->xLock(fault_below(f), level);
}

static int fault_unlock(sqlite3_file *f, int level)
{
	const int rc = fault_of(FAULT_UNLOCK, f);

	if (rc != SQLITE_OK)
		return rc;
	return fault_below(f)->pMethods->xUnlock(fault_below(f), level);
}

static int fault_reserved(sqlite3_file *f, int *ret)
{
	return fault_below(f)->pMethods->xCheckReservedLock(fault_below(f), ret);
}

static int fault_control(sqlite3_file *f, int op, void *arg)
{
	return fault_below(f)->pMethods->xFileControl(fault_below(f), op, arg);
}

static int fault_sector(sqlite3_file *f)
{
	return fault_below(f)->pMethods->xSectorSize(fault_below(f));
}

static int fault_traits(sqlite3_file *f)
{
	return fault_below(f)->pMethods->xDeviceCharacteristics(fault_below(f));
}

static int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	const int rc = fault_of(FAULT_SHM_MAP, f);

	if (rc != SQLITE_OK)
		return rc;
	return fault_below(f)->pMethods->xShmMap(fault_below(f), page, size, extend, ret);
}

/* A lock whose release failed stays in the way of its own holder: SQLite's VFS for unix finds it so
 * from 3.42 on, older ones do not. */
static bool fault_shm_in_way(struct fault_file *file, int locks, int flags)
{
	if (flags & SQLITE_SHM_SHARED)
		return file->unreleased & locks;
	return (file->unreleased | file->unreleased_shared) & locks;
}

static int fault_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	struct fault_file *file = fault_file(f);
	const int locks = ((1 << n) - 1) << offset;
	const bool release = flags & SQLITE_SHM_UNLOCK;
	int rc = fault_of(release ? FAULT_SHM_UNLOCK : FAULT_SHM_LOCK, f);

	if (rc != SQLITE_OK && release && flags & SQLITE_SHM_SHARED)
		file->unreleased_shared |= locks;
	else if (rc != SQLITE_OK && release)
		file->unreleased |= locks;
	if (rc == SQLITE_OK && !release && fault_shm_in_way(file, locks, flags))
		return SQLITE_BUSY;
	if (rc == SQLITE_OK)
		rc = fault_below(f)->pMethods->xShmLock(fault_below(f), offset, n, flags);
	if (rc == SQLITE_OK && release) {
		file->unreleased &= ~locks;
		file->unreleased_shared &= ~locks;
	}
	return rc;
}

static void fault_shm_barrier(sqlite3_file *f)
{
	fault_below(f)->pMethods->xShmBarrier(fault_below(f));
}

static int fault_shm_unmap(sqlite3_file *f, int remove)
{
	return fault_below(f)->pMethods->xShmUnmap(fault_below(f), remove);
}

/* Version 2: no memory-mapped reads, which could not be refused. */
static const sqlite3_io_methods fault_methods = {
	.iVersion = 2,
	.xClose = fault_close,
	.xRead = fault_read,
	.xWrite = fault_write,
	.xTruncate = fault_truncate,
	.xSync = fault_sync,
	.xFileSize = fault_size,
	.xLock = fault_lock,
	.xUnlock = fault_unlock,
	.xCheckReservedLock = fault_reserved,
	.xFileControl = fault_control,
	.xSectorSize = fault_sector,
	.xDeviceCharacteristics = fault_traits,
	.xShmMap = fault_shm_map,
	.xShmLock = fault_shm_lock,
	.xShmBarrier = fault_shm_barrier,
	.xShmUnmap = fault_shm_unmap,
};

/* ---- the file system ----------------------------------------------------- */

static int fault_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct fault_file *file = fault_file(f);
	int rc = fault_now(FAULT_OPEN, flags & SQLITE_OPEN_MAIN_DB, NULL);

	memset(file, 0, sizeof(*file));
	if (rc != SQLITE_OK)
		return rc;
	file->name = name;
	file->main_file = flags & SQLITE_OPEN_MAIN_DB;
	rc = fault_real->xOpen(fault_real, name, file->real, flags, ret_flags);
	/* a file that could not be opened may still have to be closed */
	if (file->real->pMethods)
		file->base.pMethods = &fault_methods;
	if (rc == SQLITE_OK && fault.observer && name)
		fault.observer->opened(name, flags);
	return rc;
}

static int fault_delete(sqlite3_vfs *v, const char *name, int sync)
{
	int rc = fault_now(FAULT_DELETE, false, NULL);

	if (rc == SQLITE_OK)
		rc = fault_real->xDelete(fault_real, name, sync && !fault.sleep);
	if (rc == SQLITE_OK && fault.observer)
		fault.observer->deleted(name, sync);
	return rc;
}

static int fault_access(sqlite3_vfs *v, const char *name, int flags, int *ret)
{
	const int rc = fault_now(FAULT_ACCESS, false, NULL);

	if (rc != SQLITE_OK)
		return rc;
	return fault_real->xAccess(fault_real, name, flags, ret);
}

static int fault_sleep(sqlite3_vfs *v, int us)
{
	if (!fault.sleep)
		return fault_real->xSleep(fault_real, us);
	fault.sleep(us);
	return us;
}

void fault_vfs_register(void)
{
	if (fault_real)
		return;
	fault_real = sqlite3_vfs_find(NULL);
	fault_shim = *fault_real;
	fault_shim.zName = "fault";
	fault_shim.szOsFile = (int)sizeof(struct fault_file) + fault_real->szOsFile;
	fault_shim.xOpen = fault_open;
	fault_shim.xDelete = fault_delete;
	fault_shim.xAccess = fault_access;
	fault_shim.xSleep = fault_sleep;
	sqlite3_vfs_register(&fault_shim, 1);
}

/* ---- memory -------------------------------------------------------------- */

static void *fault_malloc(int n)
{
	if (fault_now(FAULT_MALLOC, false, NULL) != SQLITE_OK)
		return NULL;
	return fault_memory.xMalloc(n);
}

static void *fault_realloc(void *p, int n)
{
	if (fault_now(FAULT_MALLOC, false, NULL) != SQLITE_OK)
		return NULL;
	return fault_memory.xRealloc(p, n);
}

void fault_vfs_register_malloc(void)
{
	sqlite3_mem_methods methods;

	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &fault_memory);
	methods = fault_memory;
	methods.xMalloc = fault_malloc;
	methods.xRealloc = fault_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

/* ---- what fails ---------------------------------------------------------- */

void fault_vfs_plan(const struct fault_plan *plan)
{
	pthread_mutex_lock(&fault.mutex);
	fault.plan = (struct fault_plan){0};
	if (plan)
		fault.plan = *plan;
	atomic_store(&fault.ops, fault.plan.ops);
	pthread_mutex_unlock(&fault.mutex);
	atomic_store(&fault.counted, 0);
	atomic_store(&fault.failed, 0);
	for (unsigned i = 0; i < FAULT_OPS; i++)
		atomic_store(&fault.calls[i], 0);
}

int64_t fault_vfs_failed(void)
{
	return atomic_load(&fault.failed);
}

int64_t fault_vfs_calls(enum fault_op op)
{
	return atomic_load(&fault.calls[op]);
}

void fault_vfs_simulate(void (*sleep)(int64_t us))
{
	fault.sleep = sleep;
}

void fault_vfs_observe(const struct fault_observer *observer)
{
	fault.observer = observer;
}

void fault_vfs_after(int64_t n, int rc)
{
	const struct fault_plan plan = {
		.ops = FAULT_BIT(FAULT_WRITE), .rc = rc, .first = n, .times = INT64_MAX};

	fault_vfs_plan(rc == SQLITE_OK ? NULL : &plan);
}

void fault_vfs_set(int rc)
{
	fault_vfs_after(0, rc);
}

void fault_vfs_main(int rc)
{
	const struct fault_plan plan = {.ops = FAULT_BIT(FAULT_WRITE),
		.rc = rc,
		.first = 1,
		.times = INT64_MAX,
		.main_only = true};

	fault_vfs_plan(rc == SQLITE_OK ? NULL : &plan);
}
