/* admin - looking after a database file: what is in it, a copy of it, a smaller one. For commands;
 * each opens the file by itself. */
#pragma once

#include "base/base.h"

#include "db/model/metric.h"
#include "db/store/store.h"

#define DB_STAT_TABLES 40 /* the largest */

struct db_stat_table {
	char name[40];
	uint64_t bytes; /* with its indexes */
};

struct db_stat_tier { /* without the keys: .bytes are those of the blocks' data */
	uint64_t rows, samples, bytes;
	int64_t from_ns, to_ns; /* 0 when .rows is */
};

struct db_stat {
	int schema_version;
	/* free: inside the file, filled again before it grows */
	uint64_t file_bytes, wal_bytes, free_bytes;
	uint64_t entities, rows, samples;
	uint64_t by_metric[METRIC_COUNT];
	uint64_t flows, findings, incidents, events;
	struct db_stat_tier tiers[STORE_TIERS], tail; /* tail: not yet in blocks */
	double growth_bytes_day; /* as the agent measured it last; NAN = not known */
	int64_t first_ns, last_ns; /* 0 when there are no samples */
	int writer_pid; /* 0 = none, negative errno = not known */
	struct db_stat_table tables[DB_STAT_TABLES]; /* largest first */
	unsigned n_tables;
	/* "ok", or the first thing SQLite's quick_check complains about */
	char check[256];
};
/* db_stat_read - reads the whole file once (quick_check): seconds for gigabytes. 0 or negative
 * errno. */
int db_stat_read(const char *path, struct db_stat *ret, struct err *e);

/* db_backup - a consistent copy while the agent goes on writing; @to must not exist. It appears
 * under its name when it is whole. */
int db_backup(const char *path, const char *to, struct err *e);

/* db_vacuum - rewrite without free pages. -EBUSY while an agent writes: it needs the file alone. */
int db_vacuum(const char *path, struct err *e);
