/* blocks_ends - the oldest and the newest instants of a file of blocks. As blocks.h: in a
 * transaction, SQLite result codes. */
#ifndef RW_DB_BLOCKS_ENDS_H
#define RW_DB_BLOCKS_ENDS_H

#include "db/sqlite/blocks.h"

#define ENDS_NONE INT64_MIN

/* blocks_newest - the two newest instants of @device (its number) that are not after @at_ns;
 * ENDS_NONE where there is none. @late: those that came too late count as well. */
int blocks_newest(struct blocks *blocks, int64_t device, int64_t at_ns, bool late, int64_t ret[2]);

/* blocks_file_newest - the newest of all of @devices; blocks_file_oldest - the oldest (at most
 * @at_ns). Where the open tail has one, sealed blocks have no newer one. ENDS_NONE: there is none.
 */
int blocks_file_newest(struct blocks *blocks, const int64_t *devices, size_t n, int64_t at_ns,
	bool late, int64_t *ret);
int blocks_file_oldest(struct blocks *blocks, const int64_t *devices, size_t n, int64_t at_ns,
	bool late, int64_t *ret);

/* blocks_file_next - the beginning of the first row after @t_ns; @t_ns + 1 where a row reaches over
 * it. */
int blocks_file_next(
	struct blocks *blocks, const int64_t *devices, size_t n, int64_t t_ns, int64_t *ret);

#endif
