/* fault_vfs - see fault_vfs.h. Thread-safe: the store writes from a thread of its own. */
#include "tests/unit/db/store/fault_vfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

static sqlite3_vfs *real;
static sqlite3_vfs shim;
#define FLAVOURS 8 /* the system's VFS has one table of methods per kind of file and locking */
static sqlite3_io_methods methods[FLAVOURS];
static const sqlite3_io_methods *real_methods[FLAVOURS];
static atomic_int refuse;
static atomic_llong count, from;

static int fail_now(void)
{
	long long n = atomic_fetch_add(&count, 1) + 1;

	return n >= atomic_load(&from) ? atomic_load(&refuse) : SQLITE_OK;
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int rc = fail_now();

	return rc != SQLITE_OK ? rc : real_methods[f->pMethods - methods]->xWrite(f, p, n, at);
}

/* The real VFS makes the file; only its table of methods is exchanged for a copy with another
 * xWrite. */
static int shim_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	int rc = real->xOpen(real, name, f, flags, ret_flags);

	if (rc != SQLITE_OK || !f->pMethods)
		return rc;
	/* two threads may open at once: they would write the same bytes, which the tests can live
	 * with */
	for (size_t i = 0; i < FLAVOURS; i++) {
		if (real_methods[i] && real_methods[i] != f->pMethods)
			continue;
		methods[i] = *f->pMethods;
		methods[i].xWrite = shim_write;
		real_methods[i] = f->pMethods;
		f->pMethods = &methods[i];
		break;
	}
	return rc;
}

void fault_vfs_register(void)
{
	if (real)
		return;
	real = sqlite3_vfs_find(NULL);
	shim = *real;
	shim.zName = "fault";
	shim.xOpen = shim_open;
	sqlite3_vfs_register(&shim, 1);
}

void fault_vfs_after(int64_t n, int rc)
{
	atomic_store(&count, 0);
	atomic_store(&from, n);
	atomic_store(&refuse, rc);
}

void fault_vfs_set(int rc)
{
	fault_vfs_after(0, rc);
}
