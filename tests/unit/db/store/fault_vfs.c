/* fault_vfs - see fault_vfs.h. Thread-safe: the store writes from a thread of its own. */
#include "tests/unit/db/store/fault_vfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static sqlite3_vfs *real;
static sqlite3_vfs shim;

/* The system's VFS has one table of methods per kind of file and locking. */
struct flavour {
	sqlite3_io_methods methods;
	const sqlite3_io_methods *real;
	bool main_file; /* the database itself, not its log */
};
#define FLAVOURS 16
static struct flavour flavours[FLAVOURS];
static atomic_int refuse, refuse_main;
static atomic_llong count, from;

static const struct flavour *flavour_of(const sqlite3_file *f)
{
	return (const struct flavour *)(const void *)f->pMethods;
}

static int fail_now(const struct flavour *flavour)
{
	long long n = atomic_fetch_add(&count, 1) + 1;
	int rc = SQLITE_OK;

	if (flavour->main_file)
		rc = atomic_load(&refuse_main);
	if (rc == SQLITE_OK && n >= atomic_load(&from))
		rc = atomic_load(&refuse);
	return rc;
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	const struct flavour *flavour = flavour_of(f);
	int rc = fail_now(flavour);

	if (rc != SQLITE_OK)
		return rc;
	return flavour->real->xWrite(f, p, n, at);
}

/* The real VFS makes the file; only its table of methods is exchanged for a copy with another
 * xWrite. */
static int shim_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	const bool main_file = flags & SQLITE_OPEN_MAIN_DB;
	int rc = real->xOpen(real, name, f, flags, ret_flags);

	if (rc != SQLITE_OK || !f->pMethods)
		return rc;
	/* two threads may open at once: they would write the same bytes, which the tests can live
	 * with */
	for (size_t i = 0; i < FLAVOURS; i++) {
		struct flavour *flavour = &flavours[i];
		if (flavour->real &&
			(flavour->real != f->pMethods || flavour->main_file != main_file))
			continue;
		flavour->methods = *f->pMethods;
		flavour->methods.xWrite = shim_write;
		flavour->main_file = main_file;
		flavour->real = f->pMethods;
		f->pMethods = &flavour->methods;
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

void fault_vfs_main(int rc)
{
	atomic_store(&refuse_main, rc);
}
