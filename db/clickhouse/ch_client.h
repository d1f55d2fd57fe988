/*
 * ch_client - one question to a ClickHouse server over HTTP: a statement, or rows to insert. Any
 * thread that may wait; one at a time.
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "base/curl_io.h"

struct ch_client { /* texts are borrowed */
	const char *url; /* http://HOST:8123 or https://; without a path */
	const char *database;
	const char *username, *password; /* NULL: the server's default */
	struct curl_tls tls;
	bool packed; /* rows are packed: worth it over a network, not on one machine */
	int64_t timeout_ns;
	int stop_fd; /* -1: none */
};

/* ch_ask - runs @sql; the answer, at most @most bytes (0: none wanted), is added to @ret (NULL:
 * not wanted). Without the database for @bare: before it exists.
 * ch_insert - "INSERT INTO ... FORMAT RowBinary" with @rows.
 * 0, or a negative errno as curl_io_post()'s, -EACCES (log-in or rights), -ENOENT (no such table or
 * database), -EROFS (read-only for now), -ENOSPC, -EBADMSG (the server refuses what was sent) or
 * -EIO; @e says what the server said. */
int ch_ask(const struct ch_client *client, const char *sql, bool bare, size_t most, struct str *ret,
	struct err *e);
int ch_insert(
	const struct ch_client *client, const char *sql, const struct str *rows, struct err *e);

/*
 * rowbinary - ClickHouse's format RowBinary: values one after the other, without names and types.
 * https://clickhouse.com/docs/en/interfaces/formats (RowBinary): numbers little end first, a String
 * is its length as LEB128 and its bytes, a Nullable is a byte (1 = NULL) and, unless NULL, the
 * value. Pure.
 */

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
