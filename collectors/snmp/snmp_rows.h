/*
 * snmp_rows - pure: the answers to GETBULK (or GETNEXT) over several columns become rows, joined by
 * index.
 *
 * The wire is not trusted: columns end at different indexes, rows appear or vanish between two
 * requests, agents repeat themselves, answer with the wrong column, cut an answer short or put a
 * string where a counter belongs. Each of these costs at most the column it happens in and is
 * counted; nothing here fails, logs or allocates per value.
 */
#pragma once

#include "base/base.h"

#include "collectors/snmp/snmp_oid.h"

struct snmp_rows;

/* ---- snmp_text ------------------------------------------------------------- */

/* snmp_text - pure: what agents call text, made fit for a terminal and a database. */

/* snmp_text_clean - @n bytes as one line of valid UTF-8: control characters become blanks, foreign
 * bytes '?', ends are trimmed. */
char *snmp_text_clean(char *buf, size_t size, const uint8_t *data, size_t n);

/* ---- snmp_rows ------------------------------------------------------------- */

#define SNMP_ROWS_MAX 262144 /* rows of one table: more is refused and counted */
/* A table in another order than that of OIDs is read as "snmpbulkwalk -Cc" does, as long as it has
 * not more rows: each value whose row was not there yet is a step forward. */
#define SNMP_UNORDERED_MAX 16384
#define SNMP_BYTES_MAX (4u << 20) /* string bytes of one table */

struct snmp_value {
	uint8_t type; /* enum snmp_type; SNMP_NONE = this row has no such column */
	uint64_t u; /* number, or for strings offset << 32 | length: use snmp_rows_bytes() */
};

struct snmp_rows_stats { /* of the walk under way */
	uint32_t varbinds, requests;
	/* columns stopped because an OID came again, or was in no order where order is needed */
	uint32_t non_increasing;
	uint32_t out_of_order; /* values whose OID is below the one before; taken all the same */
	uint32_t no_value; /* noSuchObject, noSuchInstance, NULL inside a column */
	uint32_t overflow; /* rows or bytes refused by a limit */
	uint32_t stalled; /* answers that brought nothing */
};

/* A table of @n columns; the OIDs are copied. */
struct snmp_rows *snmp_rows_new(const struct snmp_oid *columns, size_t n);
void snmp_rows_free(struct snmp_rows *rows); /* NULL is fine */

/* snmp_rows_begin - forget all rows and start at the top. @want[i] false leaves column i out of
 * this walk; NULL = all. */
void snmp_rows_begin(struct snmp_rows *rows, const bool *want);
/* snmp_rows_drop - forget all rows and give their memory back. */
void snmp_rows_drop(struct snmp_rows *rows);
/* snmp_rows_leave - the rows are read no more: their memory goes to whoever walks next. Nothing but
 * snmp_rows_begin(), _had(), _stats() and _free() may follow. snmp_rows_had - how many rows the
 * walk has, or had when it was left. Loop thread. */
void snmp_rows_leave(struct snmp_rows *rows);
size_t snmp_rows_had(const struct snmp_rows *rows);
/* snmp_rows_next - what to ask now: at most @max OIDs, lent until the next call on @rows. 0 = the
 * walk has ended. */
size_t snmp_rows_next(struct snmp_rows *rows, struct snmp_oid *ret, size_t max);
/* snmp_rows_take - the answer to the last snmp_rows_next(), any number of repetitions, whole or
 * cut. False when it brought nothing at all: asking the same again would not end. */
bool snmp_rows_take(struct snmp_rows *rows, const struct snmp_varbind *varbinds, size_t n);
/* snmp_rows_refuse - the agent refused OID @i (0-based) of the last request (SNMPv1 noSuchName):
 * that column ends. False when there was no such OID. */
bool snmp_rows_refuse(struct snmp_rows *rows, size_t i);

/* Reading; rows are in index order. Pointers are lent until the next snmp_rows_begin() or _take().
 */
size_t snmp_rows_count(const struct snmp_rows *rows);
struct snmp_oid snmp_rows_index(const struct snmp_rows *rows, size_t row);
/* snmp_rows_find - the row of this index; false when there is none. */
bool snmp_rows_find(const struct snmp_rows *rows, struct snmp_oid index, size_t *ret);
/* NULL when absent */
const struct snmp_value *snmp_rows_value(const struct snmp_rows *rows, size_t row, size_t column);
const uint8_t *snmp_rows_bytes(
	const struct snmp_rows *rows, const struct snmp_value *cell, size_t *ret_n);
size_t snmp_rows_column_count(const struct snmp_rows *rows, size_t column); /* rows that have it */
/* snmp_rows_digest - of all numbers but times: equal for two readings between which nothing moved.
 */
uint64_t snmp_rows_digest(const struct snmp_rows *rows);
const struct snmp_rows_stats *snmp_rows_stats(const struct snmp_rows *rows);
