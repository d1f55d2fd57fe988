/* series_db - the reader's own state, shared by series_db.c (windows), series_scan.c (in time order) and series_sql.c. For db/ only. */
#ifndef RW_DB_SERIES_DB_H
#define RW_DB_SERIES_DB_H

#include <sqlite3.h>
#include "agent/base/map.h"
#include "db/schema.h"
#include "db/series.h"

#define SERIES_WORDS ((METRIC_COUNT + 63) / 64)

struct reader_table { /* the columns the file has; an older file may lack some */
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
};
struct present { uint64_t bits[SERIES_WORDS]; };

struct series_db {
	sqlite3 *db;
	char *path;
	struct entities *entities;
	uint64_t n_text;           /* texts loaded */
	struct present *present;   /* by entity: which metrics it ever had */
	uint32_t n_present;        /* places in it */
	struct reader_table tables[SCHEMA_TABLES];
	bool immutable;            /* opened without a shared-memory file: nobody writes */
};

static inline bool series_present(const struct series_db *d, uint32_t entity, unsigned metric)
{
	return entity < d->n_present && (d->present[entity].bits[metric / 64] >> (metric % 64) & 1);
}

/* A read transaction: names are refreshed, so that every id met in it is known. A SQLite result code. */
int series_begin(struct series_db *d);
void series_end(struct series_db *d);

/* "SELECT t_ns,source,flags,x,<columns> FROM <from> WHERE <where>" over @metrics, all of one table; @from may add INDEXED BY. */
enum { C_T, C_SOURCE, C_FLAGS, C_X, C_FIRST };
int series_select(struct series_db *d, const char *from, const uint16_t *metrics, size_t n, const char *where, sqlite3_stmt **ret);

/* The row at hand as samples, one for each value that is there: at most @n. */
size_t series_row(sqlite3_stmt *st, uint32_t entity, const uint16_t *metrics, size_t n, struct sample *ret);

void series_flow_row(sqlite3_stmt *st, struct flow_sample *ret);
extern const char series_flow_columns[];

#endif
