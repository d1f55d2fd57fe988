/*
 * ch_client - one question to a ClickHouse server over HTTP: a statement, or rows to insert. Any
 * thread that may wait; one at a time.
 */
#ifndef RW_DB_CH_CLIENT_H
#define RW_DB_CH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/curl_io.h"
#include "agent/base/str.h"

struct err;

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

#endif
