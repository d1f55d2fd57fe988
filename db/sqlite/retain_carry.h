/*
 * retain_carry - of configuration states that are too old to be kept, the newest of each stays: it
 * was in force when what is kept began, and still answers what was configured then.
 */
#ifndef RW_DB_RETAIN_CARRY_H
#define RW_DB_RETAIN_CARRY_H

#include "db/sqlite/retain_state.h"

struct retain_block { /* the key of a block, and how large it is */
	int64_t device, metric, from_ns, to_ns, bytes;
};

/*
 * retain_carry - makes one block of @first, a block of raw configuration states, and those right
 * behind it that ended before @cutoff_ns too and that no pin touches: the newest value of each
 * entity that still has its name. Nothing is written when that changes nothing. *ret_next_ns: where
 * to go on, above @first->from_ns. In the transaction of the chunk; SQLite's code.
 */
int retain_carry(struct store_writer *writer, const struct retain_block *first, int64_t cutoff_ns,
	int64_t *ret_next_ns);
void retain_carry_close(struct retain *retain);

#endif
