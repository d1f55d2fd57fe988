/* clickhouse - a ClickHouse database that agents write (store.ship) as a store to read. */
#pragma once

#include "base/base.h"

struct history;

/* clickhouse_is_url - clickhouse://[USER@]HOST[:8123]/DATABASE, or clickhouses:// for TLS. */
bool clickhouse_is_url(const char *path);

/* clickhouse_history_open - 0, -EINVAL (no such URL), -ENOENT (no such database, or no tables of
 * ours), -EACCES, -ECONNREFUSED, or another negative errno. */
int clickhouse_history_open(const char *url, struct history **ret, struct err *e);
