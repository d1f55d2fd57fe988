/*
 * open - which store lies behind a path or URL. Everybody else works with what is opened here: a
 * struct history to read, a struct store to write. Today a path is a SQLite file; a URL is refused.
 */
#pragma once

#include "base/base.h"

struct entities;
struct history;
struct store;
struct store_options;

/* db_history_open - open for reading; history_close() it. Several stores with commas between them
 * ("judge.db,pod1.db,pod2.db") are read as one (db/series/history.h); what the functions
 * below say is of the first one then. 0, -ENOENT, -EACCES, -EINVAL (not a
 * rocewatch database, or of a version that is not known) or another negative errno. */
int db_history_open(const char *path, struct history **ret, struct err *e);

/* db_store_open - store_open() of db/store/store.h with the backend that @options->path asks for.
 */
int db_store_open(const struct store_options *options, struct entities *entities,
	struct store **ret, struct err *e);

/* db_store_state - what the agent that writes the store says of it; see db/store/store_state.h. 0
 * only while one runs; -ENOENT: none does; another negative errno: it is not known. */
struct store_state;
int db_store_state(const char *path, struct store_state *ret);

/* db_store_holders - adds "pid 123 (sqlite3)" of the processes that read an old state of the store
 * and so keep its log from being emptied, or that write it; nothing when none is known. */
void db_store_holders(const char *path, struct str *out);

/* db_writer_pid - the process that writes the store at the moment; 0 = none; negative errno
 * (-EACCES) when this user may not look at the lock: then it is not known. */
int db_writer_pid(const char *path);
