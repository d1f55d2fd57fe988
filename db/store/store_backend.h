/*
 * store_backend - what a place to store things offers: one table of operations, filled by each kind
 * of store (db/sqlite/sqlite.c). store.c owns the queue and the thread, and calls these from
 * one thread at a time; @state is the backend's own.
 *
 *   open -> (begin -> record, samples ... -> commit | rollback) ... -> close
 *
 * Operations return 0 or a negative errno with @e filled in words that name the file and the
 * remedy. After a failure between begin and commit, rollback follows.
 */
#pragma once

#include "base/base.h"
#include "db/store/store_records.h"

/* record's answer when the record itself cannot be stored: trying again cannot help. */
#define STORE_BAD_RECORD (-EPROTO)

/* store_may_pass - may opening succeed later, without anybody deciding anything? A full disk, a
 * missing or read-only mount and a lock of another tool may; a second agent, another program's file
 * and one of an unknown version do not. */
static inline bool store_may_pass(int error)
{
	switch (error) {
	case -EBUSY:
	case -EINVAL:
	case -EISDIR:
	case -ENAMETOOLONG:
	case -ELOOP:
	case -ENOTSUP: return false;
	default: return error < 0;
	}
}

/* open's answer when it has put a damaged file out of the way, as @e says: open again. */
#define STORE_SET_ASIDE (-ESTALE)

struct store_backend {
	/*
	 * Makes or migrates the store, and becomes its only writer (-EBUSY when there is one).
	 * @options is lent until close. Which
	 * failures may pass by themselves, store_may_pass() says.
	 */
	int (*open)(const struct store_options *options, void **ret, struct err *e);

	int (*begin)(void *state, struct err *e);
	/* The samples of a whole transaction at once, so that values of one instant that came in
	 * several calls are stored together. */
	int (*samples)(void *state, const struct sample *samples, size_t n, struct err *e);
	int (*record)(void *state, const struct store_record *record, struct err *e);
	int (*commit)(void *state, struct err *e);
	void (*rollback)(void *state);

	/* After a commit, outside of a transaction: keeps the store's log of changes short. A
	 * failure loses nothing, but the log then grows. */
	int (*settle)(void *state, struct err *e);
	/* After a commit, outside of a transaction: was the store taken away under us? 0: no; 1: it
	 * was, and what it held is back in its place; negative errno: it was, and is not. */
	int (*rescue)(void *state, struct err *e);
	/* Bytes in that log. */
	uint64_t (*log_bytes)(const void *state);
	/* The time of the newest stored sample, ns since 1970; 0 = there is none. */
	int (*newest)(void *state, int64_t *ret);
	/* What retention goes by from now on: the quota and the ages of @options. */
	void (*keep)(void *state, const struct store_options *options);
	/* Outside of a transaction: deletes one chunk of what is too old. *ret_more: there is more.
	 */
	int (*maintain)(void *state, int64_t now_ns, bool *ret_more, struct err *e);
	/*
	 * Outside of a transaction: brings stored samples into their final form, for about
	 * @budget_ns of time. *ret_more: there is more to do. @now_ns is the wall clock; INT64_MAX:
	 * no more samples will come, do all of it. A failure loses nothing.
	 */
	int (*compact)(
		void *state, int64_t now_ns, int64_t budget_ns, bool *ret_more, struct err *e);
	/* After maintain: how much is used, and of what when the quota cannot be kept. */
	int (*usage)(void *state, struct store_usage *ret, struct err *e);
	/*
	 * A small text of the store's own that outlives it, by @key. recall: 0, -ENOENT, or another
	 * negative errno; cut to @size. remember: outside of a transaction; 0 or negative errno.
	 */
	int (*recall)(void *state, const char *key, char *buf, size_t size);
	int (*remember)(void *state, const char *key, const char *text);

	/* Any thread: makes the operation under way fail soon. */
	void (*interrupt)(void *state);
	void (*close)(void *state);
	/* Who writes the store at @path: its pid, 0 = nobody, negative errno = not known. */
	int (*writer_pid)(const char *path);
};
