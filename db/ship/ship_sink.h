/*
 * ship_sink - what a kind of receiver does with a batch. One thread. send() returns 0 when all of
 * @batch is there; it may be given the same batch again. Any other end is a negative errno, and
 * nothing is known of what arrived.
 */
#pragma once

#include "base/base.h"

#include "db/ship/ship.h"
#include "db/store/spool.h"

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

/*
 * remote_write - samples as Prometheus' remote write takes them: a protobuf WriteRequest
 * (https://prometheus.io/docs/specs/remote_write_spec/; prompb/remote.proto, types.proto). Pure.
 *
 * A metric "port.in_octets" is the series rocewatch_port_in_octets{agent, device, port, priority}.
 * Times are milliseconds; values are doubles. Texts, and values that are only suspected, are not
 * sent: they have no place there.
 */

/* remote_write_request - adds the request of a batch to @out; returns how many samples it has. */
uint64_t remote_write_request(const struct spool_batch *batch, const char *agent, struct str *out);

/*
 * snappy - packs bytes in the block format of Snappy, as Prometheus' remote write asks for.
 * https://github.com/google/snappy/blob/main/format_description.txt. Pure.
 */

/* snappy_pack - adds the packed bytes of @data to @out. @n below 4 GiB. */
void snappy_pack(const void *data, size_t n, struct str *out);
