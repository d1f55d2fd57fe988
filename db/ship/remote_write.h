/*
 * remote_write - samples as Prometheus' remote write takes them: a protobuf WriteRequest
 * (https://prometheus.io/docs/specs/remote_write_spec/; prompb/remote.proto, types.proto). Pure.
 *
 * A metric "port.in_octets" is the series rocewatch_port_in_octets{agent, device, port, priority}.
 * Times are milliseconds; values are doubles. Texts, and values that are only suspected, are not
 * sent: they have no place there.
 */
#ifndef RW_DB_REMOTE_WRITE_H
#define RW_DB_REMOTE_WRITE_H

#include "db/store/spool_batch.h"

/* remote_write_request - adds the request of a batch to @out; returns how many samples it has. */
uint64_t remote_write_request(const struct spool_batch *batch, const char *agent, struct str *out);

#endif
