/* sqlite - a store in one SQLite file in WAL mode: what db/open.c uses of it. */
#pragma once

#include "base/base.h"

struct history;
struct store_backend;

/* To write; the file gets mode 0640. A lock on PATH.lock makes one process its only writer. */
extern const struct store_backend sqlite_backend;

/* To read: the file at @path, read-only. See db/series/history.h. */
int sqlite_history_open(const char *path, struct history **ret, struct err *e);
