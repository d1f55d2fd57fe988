/*
 * rowbinary - ClickHouse's format RowBinary: values one after the other, without names and types.
 * https://clickhouse.com/docs/en/interfaces/formats (RowBinary): numbers little end first, a String
 * is its length as LEB128 and its bytes, a Nullable is a byte (1 = NULL) and, unless NULL, the
 * value. Pure.
 */
#ifndef RW_DB_ROWBINARY_H
#define RW_DB_ROWBINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/bytes.h"

struct arena;
struct str;

void rowbinary_put_fixed(struct str *out, uint64_t value, size_t n_bytes); /* 1, 2, 4, 8 */
void rowbinary_put_f64(struct str *out, double value);
void rowbinary_put_text(struct str *out, const char *text);
/* Before a value of a Nullable column; after NULL, none follows. */
void rowbinary_put_null(struct str *out, bool null);

/* What comes from a server is foreign: after a read past the end, or a length beyond it, .bad is
 * set, and everything reads as 0 or "". */
uint64_t rowbinary_get_fixed(struct bytes *in, size_t n_bytes);
double rowbinary_get_f64(struct bytes *in);
/* In @a, NUL-terminated. */
const char *rowbinary_get_text(struct bytes *in, struct arena *a);
bool rowbinary_get_null(struct bytes *in);

#endif
