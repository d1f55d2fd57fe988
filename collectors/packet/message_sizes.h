/*
 * message_sizes - how many bytes the messages of one direction of a queue pair carry. Pure,
 * bounded: up to MESSAGE_SIZES different sizes are told apart; a further one counts for the nearest
 * that is. The count of messages and the largest one are exact.
 */
#ifndef RW_COLLECTORS_MESSAGE_SIZES_H
#define RW_COLLECTORS_MESSAGE_SIZES_H

#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_SIZES = 48 };

struct message_sizes { /* zeroed to start */
	uint32_t bytes[MESSAGE_SIZES]; /* ascending */
	uint32_t count[MESSAGE_SIZES];
	uint32_t n;
	uint32_t merged; /* messages that count for another size */
};

void message_sizes_add(struct message_sizes *sizes, uint32_t bytes, uint32_t count);

/* message_sizes_median - the lower one of two in the middle; 0 when there is none. */
uint32_t message_sizes_median(const struct message_sizes *sizes);

#endif
