/*
 * remote_write - what a benchmark sends to other programs: samples by Prometheus remote write (a
 * WriteRequest in protobuf, snappy with literals only), one request at a time over one connection.
 */
#ifndef RW_BENCH_REMOTE_WRITE_H
#define RW_BENCH_REMOTE_WRITE_H

#include <stdint.h>
#include "base/str.h"

/* remote_write_labels - the labels of a series as they go into each request; @out is appended to.
 */
void remote_write_labels(struct str *out, const char *metric, const char *device, const char *port);

/* remote_write_sample - one sample of the series with @labels, appended to @request. */
void remote_write_sample(
	struct str *request, const struct str *labels, int64_t t_ns, double number);

/* remote_write_connect - to @host (IPv4) and @port. A descriptor, or -1 after a message. */
int remote_write_connect(const char *host, const char *port);

/* remote_write_post - sends @request and waits for the answer. 0, or -1 after a message. */
int remote_write_post(int fd, const struct str *request);

#endif
