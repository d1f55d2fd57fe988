/*
 * peek - a quick look at a database, without configuration: has something been written, how new is
 * it, does an agent write it? For whoever looks every second. One thread at a time.
 */
#ifndef RW_AGENT_PEEK_H
#define RW_AGENT_PEEK_H

#include <stdint.h>

struct err;
struct history;

/* Zeroed but for the path, which is lent. Opened when it is needed, and again after an error. */
struct peek {
	const char *db_path;
	struct history *history;
};

/* peek_change - a number; two that differ: something was written in between. -1 when it cannot be
 * told. */
int64_t peek_change(struct peek *peek);

/* peek_newest - the time of the newest sample. 0, -ENODATA when there are none, or another negative
 * errno with @e. */
int peek_newest(struct peek *peek, int64_t *ret_ns, struct err *e);

/* peek_writer - the process that writes the database; 0 = none, negative: it cannot be told. */
int peek_writer(const struct peek *peek);

void peek_done(struct peek *peek);

#endif
