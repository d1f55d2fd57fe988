/*
 * parser_wire - the messages between the agent and a process that reads packets for it: one
 * datagram each (AF_UNIX, SOCK_SEQPACKET), a kind and fields of fixed layout in network byte order.
 *
 *      agent -> parser   SETTINGS, then MAP_BEGIN MAP_ALLOW* MAP_DEVICES* MAP_OBJECTS* MAP_SENDERS*
 *                        MAP_END
 *                        (again whenever it changed), PIN, STOP
 *      parser -> agent   TARGET FIGURES NAMES PORT_NAMES FLOWS SAMPLES EVENT LOG BURST, FAILED, BYE
 *
 * What comes from the parser is foreign: whoever sends packets may have taken that process over.
 * Reading checks every length and range here; what the parser may speak of is parser_intake's
 * matter. Nothing here is kept on disk: both ends are always the same program. Pure.
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "db/model/flow.h"
#include "db/model/metric.h"

struct loop;
struct parser_channel;
struct parser_out;

enum { PARSER_MESSAGE_MAX = 60000 }; /* bytes */
enum { PARSER_TEXT_MAX = 1024 }; /* bytes of one text, the end included */
enum { PARSER_KEY_MAX = 96, PARSER_FIGURES_MAX = 256 };

enum parser_kind {
	PARSER_SETTINGS = 1,
	PARSER_MAP_BEGIN,
	PARSER_MAP_ALLOW,
	PARSER_MAP_DEVICES,
	PARSER_MAP_END,
	PARSER_STOP,
	PARSER_MAP_OBJECTS,
	PARSER_MAP_SENDERS,
	PARSER_PIN,
	PARSER_TARGET = 32,
	PARSER_FIGURES,
	PARSER_NAMES,
	PARSER_FLOWS,
	PARSER_SAMPLES,
	PARSER_EVENT,
	PARSER_LOG,
	PARSER_FAILED,
	PARSER_BYE,
	PARSER_PORT_NAMES,
	PARSER_BURST,
};

/* ---- writing ------------------------------------------------------------- */

struct parser_out {
	uint8_t b[PARSER_MESSAGE_MAX];
	size_t n;
	bool full; /* something did not fit: the message must not be sent */
};
void parser_out_begin(struct parser_out *out, enum parser_kind kind);
void parser_put_u8(struct parser_out *out, uint8_t value);
void parser_put_u32(struct parser_out *out, uint32_t value);
void parser_put_u64(struct parser_out *out, uint64_t value);
void parser_put_f64(struct parser_out *out, double value);
void parser_put_bytes(struct parser_out *out, const void *data, size_t n);
/* NULL is kept apart from ""; longer texts are cut to PARSER_TEXT_MAX - 1 bytes. */
void parser_put_text(struct parser_out *out, const char *text);
void parser_put_flow(struct parser_out *out, const struct flow_sample *flow);
void parser_put_sample(struct parser_out *out, const struct sample *sample);

/* ---- reading ------------------------------------------------------------- */

double parser_get_f64(struct bytes *in); /* what is no finite number is bad */
bool parser_get_bool(struct bytes *in); /* neither 0 nor 1 is bad */
/* NULL where NULL was put. @buf has PARSER_TEXT_MAX bytes. A zero byte within the text is bad. */
const char *parser_get_text(struct bytes *in, char buf[PARSER_TEXT_MAX]);

/*
 * parser_get_flow - one row. Bad are values that no capture can have counted: a direction, a family
 * or a queue pair that does not exist, an interval that ends before it begins, more than 2^53 of
 * anything, sums that are negative or no numbers. .entity is as the parser wrote it.
 */
bool parser_get_flow(struct bytes *in, struct flow_sample *ret);
/* parser_get_sample - false also for a metric that does not exist, is not of a port, or is no
 * number (a text would be an id in a table that the parser does not know). @pushed: from a receiver
 * of what devices push, which may speak of priorities and of devices, too. */
bool parser_get_sample(struct bytes *in, bool pushed, struct sample *ret);

/*
 * parser_channel - one end of the socket between the agent and a parser, on a loop. It never
 * blocks and never grows beyond its bound: a message for which there is no room is refused, and
 * the sender counts it. In one turn of the loop it takes in at most CHANNEL_TURN_MESSAGES messages,
 * so that a peer that sends without end holds up nobody else. Loop thread.
 */

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
