/*
 * store_state - what the running agent says of its store in the small file PATH.state, so that a
 * reader of the database knows why nothing new comes: because the store waits, not because the
 * switches are silent.
 *
 * The file has one block, which is written whole when it is made and rewritten in place: on a full
 * disk too (not on file systems that copy on write). The agent rewrites it about once a second, and
 * holds a lock on it: no lock, no agent. Readers only ask whether the lock is held; they take none.
 */
#pragma once

#include "base/base.h"

enum store_stage {
	STAGE_STOPPED, /* the agent closed its store */
	STAGE_WRITING,
	STAGE_WAITING, /* what is polled waits in memory */
};

struct store_state {
	bool running; /* as read: an agent holds the file */
	int pid; /* 0 = not known */
	enum store_stage stage;
	int64_t beat_ns, beat_boot_ns; /* when this was written: wall clock, boot clock */
	int64_t since_ns; /* wall: waiting since */
	char reason[240]; /* why it waits; "" otherwise */
	uint64_t pending, dropped; /* samples */
	int64_t newest_ns; /* of the samples in memory; 0 = none */
};

/* No rewriting for so long: the disk of the file does not answer. */
#define STORE_STATE_LATE_NS (10 * INT64_C(1000000000))

/* store_state_open - makes or opens the file of the database @path, as its writer. A descriptor, or
 * negative errno. store_state_put - rewrites it; 0 or negative errno. Both may block as the disk
 * does. */
int store_state_open(const char *path);
int store_state_put(int fd, const struct store_state *state);

/* store_state_boot_ns - CLOCK_BOOTTIME now, for .beat_boot_ns. */
int64_t store_state_boot_ns(void);

/* store_state_read - 0; -ENOENT: no agent ever made it; -EACCES and others: not known. */
int store_state_read(const char *path, struct store_state *ret);
