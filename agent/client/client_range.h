/*
 * client_range - the time range and the time that a command is asked for. For client.c.
 */
#ifndef RW_CLIENT_CLIENT_RANGE_H
#define RW_CLIENT_CLIENT_RANGE_H

#include <stdint.h>

struct client;
struct err;
struct globals;

/* client_range_read - .from_ns, .to_ns, .at_ns and .past of @client from the options, by its
 * .now_ns and .end_ns. -EINVAL with @e: an option is not a time, or the range is empty. */
int client_range_read(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e);

#endif
