/*
 * series_index - (entity, metric) to a dense number, for tables that hold something per series. No
 * hashing of every sample: polls bring the same series in the same order, so each series remembers
 * which one came after it, and that one is tried first. 16 bytes per series and 4 per entity. One
 * thread at a time.
 */
#ifndef RW_DB_SERIES_INDEX_H
#define RW_DB_SERIES_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct series_index;
struct series_index *series_index_new(void);
void series_index_free(struct series_index *index); /* NULL is fine */

/* series_index_at - the number of a series: the smallest that was never given, or one that
 * series_index_drop() took back; @ret_new: it was given just now. */
uint32_t series_index_at(
	struct series_index *index, uint32_t entity, uint16_t metric, bool *ret_new);

/* series_index_drop - forgets all series of @entity and tells the number of each to @gone. */
void series_index_drop(struct series_index *index, uint32_t entity,
	void (*gone)(void *arg, uint32_t number), void *arg);

#endif
