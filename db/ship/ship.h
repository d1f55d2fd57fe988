/*
 * ship - sends what a store commits to other systems ("sinks"): ClickHouse, or what takes
 * Prometheus' remote write.
 *
 * The spool in the store's own file (db/store/spool.h) is what is still to be sent; a sink's
 * cursor, in the file STORE.ship-NAME, says how far it is. Each sink has a thread: it reads a range
 * of the spool, notes it in the cursor, sends it, and notes that it is there. After an attempt
 * whose end is not known (no answer, a kill, a power cut) the same range is sent again as the same
 * bytes; receivers drop what they have by its numbers. So nothing is lost, and nothing is there
 * twice.
 */
#pragma once

#include "base/base.h"

struct ship;

enum ship_kind { SHIP_CLICKHOUSE, SHIP_REMOTE_WRITE, SHIP_KINDS };

struct ship_options { /* texts are copied */
	enum ship_kind kind;
	const char *name; /* of the sink: unique in its store */
	const char *store_path;
	const char *url;
	const char *agent; /* whose rows they are */
	const char *database; /* ClickHouse */
	const char *username;
	const char *tls_ca, *tls_cert, *tls_key;
	bool tls_skip_verify;
	/* NULL: no password. Called before each connection after a failure, from the sink's thread;
	 * the text is freed by locked_free(). */
	int (*password)(void *arg, char **ret, struct err *e);
	void *password_arg; /* lives as long as the ship */
	int64_t timeout_ns; /* of one request */
	uint64_t batch_samples; /* 0 = 200,000 */
	int64_t interval_ns; /* between two requests while little comes; 0 = 1 s */
	int64_t retry_ns; /* longest time between two attempts; 0 = 1 min */
};

/* ship_start - a thread for the sink; @store is told what all of its sinks have (ship_done()).
 * ship_stop - waits until the request under way is given up. NULL is fine. */
struct ship *ship_start(const struct ship_options *options);
void ship_stop(struct ship *ship);

/* ship_done - up to which row of the spool everything is at the sink, durably noted. Any thread. */
int64_t ship_done(struct ship *ship);

struct ship_status {
	char name[64], kind[16];
	uint64_t samples, rows, batches; /* that arrived, since the start */
	uint64_t failures; /* attempts that failed, since the start */
	uint64_t refused; /* samples that the receiver will never take */
	uint64_t waiting_rows, waiting_samples, waiting_bytes; /* in the spool */
	uint64_t lost; /* samples that left the spool unsent, because it was full */
	int64_t behind_ns; /* age of the oldest thing that waits; 0 = none */
	int64_t last_success_ns, failing_since_ns; /* wall; 0 = never, 0 = it works */
	char error[256]; /* of the newest attempt, while it fails */
};
void ship_status(struct ship *ship, struct ship_status *ret); /* any thread */

/* ship_cursor - how far a sink is: a small file, replaced as a whole. */

struct ship_cursor {
	int64_t sent; /* rows of the spool up to this one are at the sink */
	int64_t flight; /* the range behind .sent that was sent last and may be there: up to this */
};
/* ship_cursor_read - zeros when there is no file. ship_cursor_write - on the disk when it returns.
 * 0 or negative errno. */
int ship_cursor_read(const char *path, struct ship_cursor *ret, struct err *e);
int ship_cursor_write(const char *path, const struct ship_cursor *cursor, struct err *e);
