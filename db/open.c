/* open - chooses the implementation of a store by path or URL. */
#include "db/open.h"

#include <unistd.h>
#include "db/clickhouse/clickhouse.h"
#include "db/series/history.h"
#include "db/sqlite/schema/store_lock.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "db/store/store_state.h"

static bool is_url(const char *path)
{
	return strstr(path, "://") != NULL;
}

/* ---- one or several ------------------------------------------------------ */

/* The next of "A,B,C" at *@at, which moves on; the caller frees it. NULL: no more. */
static char *db_next_path(const char **at)
{
	if (!**at)
		return NULL;
	const size_t n = strcspn(*at, ",");
	char *path = strndup(*at, n);
	*at += n;
	if (**at == ',')
		(*at)++;
	return path;
}

/* A file may have a comma in its name. */
static bool is_list(const char *path)
{
	return strchr(path, ',') && access(path, F_OK) != 0;
}

/* The one of a list that an agent writes, and that holds the records: the first. */
static char *db_first_path(const char *path)
{
	const char *at = path;
	if (!is_list(path))
		return rw_strdup(path);
	return db_next_path(&at);
}

static int db_history_open_one(const char *path, struct history **ret, struct err *e)
{
	if (clickhouse_is_url(path))
		return clickhouse_history_open(path, ret, e);
	if (is_url(path))
		return err_set(e, -EINVAL,
			"the database %s is a URL of no kind that is known; expected a path, or "
			"clickhouse://USER@HOST:8123/DATABASE",
			path);
	return sqlite_history_open(path, ret, e);
}

#define DATABASES_MAX 64 /* in one list */

int db_history_open(const char *path, struct history **ret, struct err *e)
{
	struct history *parts[DATABASES_MAX];
	const char *at = path;
	size_t n = 0;
	int rc = 0;
	if (!is_list(path))
		return db_history_open_one(path, ret, e);
	while (rc == 0) {
		rw_cleanup(freep) char *one = db_next_path(&at);
		if (!one)
			break;
		if (n == DATABASES_MAX)
			rc = err_set(
				e, -EINVAL, "more than %d databases in one list", DATABASES_MAX);
		else
			rc = db_history_open_one(one, &parts[n], e);
		n += rc == 0;
	}
	if (rc == 0 && n == 0)
		rc = err_set(e, -EINVAL, "the list of databases '%s' is empty", path);
	if (rc == 0) {
		*ret = history_merge(parts, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		history_close(parts[i]);
	return rc;
}

int db_store_open(const struct store_options *options, struct entities *entities,
	struct store **ret, struct err *e)
{
	if (!options->path || !*options->path)
		return err_set(e, -EINVAL, "no database file given; set store.path or use --db");
	if (is_url(options->path))
		return err_set(e, -EINVAL,
			"the database %s is a URL; an agent writes a SQLite file (give a path), "
			"and "
			"store.ship sends what it writes on",
			options->path);
	return store_open(&sqlite_backend, options, entities, ret, e);
}

int db_store_state(const char *path, struct store_state *ret)
{
	if (is_url(path))
		return -ENOTSUP;
	rw_cleanup(freep) char *first = db_first_path(path);
	const int r = store_state_read(first, ret);

	if (r == 0 && !ret->running)
		return -ENOENT;
	return r;
}

void db_store_holders(const char *path, struct str *out)
{
	if (is_url(path))
		return;
	rw_cleanup(freep) char *first = db_first_path(path);
	store_holders_text(first, "-shm", out);
}

int db_writer_pid(const char *path)
{
	if (is_url(path))
		return -ENOTSUP; /* its agents run elsewhere */
	rw_cleanup(freep) char *first = db_first_path(path);
	return sqlite_backend.writer_pid(first);
}
