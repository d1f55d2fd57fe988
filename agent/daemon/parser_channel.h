/*
 * parser_channel - one end of the socket between the agent and a parser, on a loop. It never
 * blocks and never grows beyond its bound: a message for which there is no room is refused, and
 * the sender counts it. In one turn of the loop it takes in at most CHANNEL_TURN_MESSAGES messages,
 * so that a peer that sends without end holds up nobody else. Loop thread.
 */
#ifndef RW_AGENT_PARSER_CHANNEL_H
#define RW_AGENT_PARSER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/clock.h"

struct loop;
struct parser_channel;
struct parser_out;

enum { CHANNEL_TURN_MESSAGES = 8 };

struct parser_channel_options {
	size_t queue_max; /* bytes that may wait to be sent */
	/* One message; lent. It may free the channel only by way of a later turn. */
	void (*message)(void *arg, const uint8_t *data, size_t n);
	void (*closed)(void *arg); /* the other end is gone; once */
	void *arg;
};

/* parser_channel_new - takes @fd over, a connected SOCK_SEQPACKET. NULL when the loop cannot wait
 * for it; then @fd is still the caller's. */
struct parser_channel *parser_channel_new(
	struct loop *loop, int fd, const struct parser_channel_options *options);
void parser_channel_free(struct parser_channel *channel); /* NULL is fine */

/* parser_channel_send - false: not sent, because it is too long, nobody reads, or the other end is
 * gone. */
bool parser_channel_send(struct parser_channel *channel, const struct parser_out *out);
/* parser_channel_hold - while held nothing is taken in: the kernel's buffer fills, and the sender
 * has to wait. */
void parser_channel_hold(struct parser_channel *channel, bool hold);

/* parser_channel_flush - wait until all that waits is sent, at most @ms milliseconds. Blocks. */
void parser_channel_flush(struct parser_channel *channel, int ms);
/* parser_channel_drain - take in what comes until the other end closes, @enough says so, or @until.
 * Blocks. */
void parser_channel_drain(struct parser_channel *channel, mono_t until, bool (*enough)(void *arg));

/* Bytes that wait to be sent. */
size_t parser_channel_waiting(const struct parser_channel *channel);
/* Bytes taken in since the channel was made. */
uint64_t parser_channel_received(const struct parser_channel *channel);

#endif
