/*
 * burst_send - hands what incidents asked for to a sink, a part at a time: a ring of 8 MB at once
 * would fill every queue behind it. Loop thread.
 */
#ifndef RW_COLLECTORS_BURST_SEND_H
#define RW_COLLECTORS_BURST_SEND_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/target/collector.h"

struct burst;
struct burst_send;

enum {
	BURST_PART = 45000, /* bytes: with its head it fits one message of a parser */
	BURST_SEND_MAX = 64, /* rings that wait; more are refused */
};

/* @sink is copied; @loop is lent. */
struct burst_send *burst_send_new(struct loop *loop, const struct sink *sink);
void burst_send_free(struct burst_send *send); /* what waits is lost; NULL is fine */

/* burst_send_add - @burst and @device are lent until they were sent; @id is copied. */
void burst_send_add(struct burst_send *send, const char *id, const char *device,
	struct burst *burst, int64_t from_ns, int64_t to_ns);
uint64_t burst_send_refused(const struct burst_send *send);

#endif
