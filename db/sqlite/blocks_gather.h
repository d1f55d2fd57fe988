/* blocks_gather - scratch memory of blocks_gather(); for blocks_read.c. */
#ifndef RW_DB_BLOCKS_GATHER_H
#define RW_DB_BLOCKS_GATHER_H

struct gathering;
struct gathering *gathering_new(void);
void gathering_free(struct gathering *gathering);

#endif
