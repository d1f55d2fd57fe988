/* open - chooses the store's implementation by path or URL. A new one is a row of backends[]. */
#include "db/open.h"

#include <errno.h>
#include <string.h>
#include "agent/base/err.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store.h"

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
	return store_open(options, entities, ret, e);
}

int db_writer_pid(const char *path)
{
	return store_writer_pid(path);
}
