/*
 * ship_sink - what a kind of receiver does with a batch. One thread. send() returns 0 when all of
 * @batch is there; it may be given the same batch again. Any other end is a negative errno, and
 * nothing is known of what arrived.
 */
#ifndef RW_DB_SHIP_SINK_H
#define RW_DB_SHIP_SINK_H

#include "db/ship/ship.h"
#include "db/store/spool_batch.h"

struct ship_sink {
	const struct ship_options *options;
	const char *password; /* NULL */
	int stop_fd;
	uint64_t refused; /* samples that the receiver said it will never take */
	void *state; /* the kind's own */
};
struct ship_sink_ops {
	int (*send)(struct ship_sink *sink, const struct spool_batch *batch, struct err *e);
	void (*done)(struct ship_sink *sink); /* frees .state */
};
extern const struct ship_sink_ops ship_clickhouse, ship_remote_write;

#endif
