/* open - chooses the implementation of a store by path or URL. */
#include "db/open.h"

#include <errno.h>
#include <string.h>
#include "agent/base/err.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/store_holders.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "db/store/store_state.h"

static bool is_url(const char *path)
{
	return strstr(path, "://") != NULL;
}

int db_history_open(const char *path, struct history **ret, struct err *e)
{
	if (is_url(path))
		return err_set(e, -EINVAL,
			"the database %s is a URL; this version reads SQLite files only, give a "
			"path",
			path);
	return sqlite_history_open(path, ret, e);
}

int db_store_open(const struct store_options *options, struct entities *entities,
	struct store **ret, struct err *e)
{
	if (!options->path || !*options->path)
		return err_set(e, -EINVAL, "no database file given; set store.path or use --db");
	if (is_url(options->path))
		return err_set(e, -EINVAL,
			"the database %s is a URL; this version writes SQLite files only, give a "
			"path",
			options->path);
	return store_open(&sqlite_backend, options, entities, ret, e);
}

int db_store_state(const char *path, struct store_state *ret)
{
	const int r = store_state_read(path, ret);

	if (r == 0 && !ret->running)
		return -ENOENT;
	return r;
}

void db_store_holders(const char *path, struct str *out)
{
	store_holders_text(path, "-shm", out);
}

int db_writer_pid(const char *path)
{
	return sqlite_backend.writer_pid(path);
}
