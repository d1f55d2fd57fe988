/*
 * datagram_door - what the listeners of sFlow and of IPFIX have in common: a socket on an address
 * of this machine, who may send to it, who was turned away and what the kernel dropped, the
 * intervals by the wall clock, and the target that stands for all of it. What a datagram says is
 * the business of the protocol (struct datagram_protocol). Loop thread.
 *
 * Datagrams from addresses that are not allowed are counted and not read (datagram_senders).
 * Intervals end at wall-clock multiples of their length, as those of captures.
 */
#pragma once

#include "base/base.h"
#include "collectors/packet/datagram/datagram_senders.h"
#include "collectors/target/collector.h"
#include "collectors/target/refused.h"
#include "config/config.h"

/* The UDP socket of a listener on the loop: many datagrams with one system call
 * (recvmmsg), because a switch that samples at a millisecond sends a thousand a second. Bounded: so
 * many a turn of the loop, so that a flood delays nobody else; what the socket's buffer cannot hold
 * is dropped by the kernel, which counts it (SO_RXQ_OVFL, socket(7)). Loop thread. */
struct datagram_io;
struct loop;

/* One datagram; the bytes are lent. @source: the sender's address, IPv4 as ::ffff:a.b.c.d. */
typedef void datagram_io_fn(void *arg, const uint8_t source[16], const uint8_t *data, size_t n);

/* datagram_io_new - listen on @address, an address of this machine, and @port. @buffer_bytes: of
 * the socket, as much of it as the kernel allows (datagram_io_buffer()). 0, or negative errno with
 * the cause in @why, a text that stays until the next call of strerror(). */
int datagram_io_new(struct loop *loop, const char *address, uint16_t port, uint64_t buffer_bytes,
	datagram_io_fn *fn, void *arg, struct datagram_io **ret, const char **why);
void datagram_io_free(struct datagram_io *io); /* NULL is fine; not from within @fn */

uint64_t datagram_io_drops(const struct datagram_io *io); /* datagrams that nobody read in time */

struct datagram_protocol {
	const char *name, *word; /* "sflow" of the target, "sFlow" in messages */
	const char
		*stranger_step; /* how a sender is allowed: an imperative sentence without a stop */
	/* The reason in @e that the socket could not be had; returns @rc. */
	int (*bind_error)(struct err *e, int rc, const char *host, unsigned port, const char *why);
	/* One datagram from an allowed address; the bytes are lent. */
	void (*take)(void *arg, const uint8_t source[16], const uint8_t *data, size_t n);
	/* The interval is over: what was counted is handed on. */
	void (*end)(void *arg, int64_t end_ns);
	/* How fewer get lost: "sample less, or raise capture.buffer". @buffer: bytes of the
	 * socket's. Writes at most @size bytes. */
	void (*dropped_step)(char *ret, size_t size, uint64_t buffer);
	/* A loop that was away ends each interval that it missed; else one, which is longer. */
	bool ends_each;
};

struct datagram_door {
	struct loop *loop;
	struct sink sink;
	struct datagram_senders *senders;
	const char *name, *address; /* of the configuration; "127.0.0.1:6343" */
	int64_t interval_ns, from_ns; /* of the interval under way, wall clock */
	struct target target;
	uint64_t datagrams, from_strangers;
	struct refused strangers;

	/* its own */
	const struct datagram_protocol *protocol;
	void *arg;
	struct arena *texts;
	struct collector_lookup lookup;
	struct datagram_io *io;
	struct loop_timer *tick;
	int64_t to_ns;
	uint64_t buffer_bytes, drops; /* drops: of the socket, at the end of the last interval */
	struct complaint strange, dropped;
};

/* datagram_door_open - @door is zeroed memory of the caller; @protocol stays. What does not open is
 * told in @e, and datagram_door_close() is due in either case. The target is up when it returns 0.
 */
int datagram_door_open(struct datagram_door *door, const struct datagram_protocol *protocol,
	void *arg, const struct collector_env *env, const struct config_capture *capture,
	struct err *e);
/* datagram_door_close - ends the interval, then the socket. */
void datagram_door_close(struct datagram_door *door);

/* datagram_door_same - would datagram_door_open() with @capture make the same door? */
bool datagram_door_same(const struct datagram_door *door, const struct config_capture *capture);
/* datagram_door_update - other devices, other senders that are allowed. */
void datagram_door_update(struct datagram_door *door, const struct config *config,
	const struct config_capture *capture);

uint64_t datagram_door_drops(const struct datagram_door *door);
uint64_t datagram_door_buffer(const struct datagram_door *door);
