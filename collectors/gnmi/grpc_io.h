/*
 * grpc_io - the only user of gRPC (C-core): bytes out, bytes in. gnmi.c knows what they mean.
 *
 * One thread per process owns the completion queue and everything that gRPC hands out. It passes
 * events to the loop through a mailbox: each call has a list of events, and the loop is woken once
 * for all of them. All functions and all callbacks here are for the loop thread, and none blocks,
 * except the last grpc_io_put(), which ends the thread.
 *
 *   loop                                   gRPC's thread
 *   grpc_io_call_new  -- batch of ops -->  completion queue
 *   events.message   <-- list, mailbox --  bytes; asks for the next message itself,
 *                                          until GRPC_IO_HELD_MAX waits for the loop
 *   events.done      <-- list, mailbox --  status, once, after the last message
 *
 * A slow loop therefore holds a bounded amount per call; then HTTP/2's flow control holds the
 * switch back (counted in .stalls).
 *
 * A connection is one channel and never retries by itself: a call that cannot be made fails with
 * the reason. For a retry, make a new channel: names, certificates and secrets are then read anew.
 *
 * Polite by default: no HTTP proxy from the environment, no TXT lookups, no BDP pings, keep-alive
 * pings every 5 minutes at most (what a gRPC server allows unless told otherwise) and only while a
 * call is open.
 */
#pragma once

#include "base/base.h"

/* bytes of one call that wait for the loop before no more are read; one message may exceed it */
#define GRPC_IO_HELD_MAX (32u << 10)
#define GRPC_IO_CALLS_MAX 8192u /* calls that exist at once */
#define GRPC_IO_KEEPALIVE_S 300

struct loop;
struct grpc_io;
struct grpc_io_channel;
struct grpc_io_call;

/* grpc_io_prepare - loads the library, where the process may still open files; others load it
 * when they need it. 0, or -ENOENT with @e. */
int grpc_io_prepare(struct err *e);

/* grpc_io_get - gRPC for this loop; the first one starts the thread (after rights were given up:
 * threads keep theirs), the last grpc_io_put() ends it. A process has one loop that uses it at a
 * time. NULL with @e when the library, a thread or a mailbox cannot be had. */
struct grpc_io *grpc_io_get(struct loop *loop, struct err *e);
/* NULL is fine; all channels and calls must have been freed */
void grpc_io_put(struct grpc_io *io);

struct grpc_io_options {
	const char *host; /* IPv4, IPv6 without brackets, or a name */
	uint16_t port;
	bool tls;
	/* TLS only. PEM texts, not files: read by who may. */
	const char *ca, *cert, *key; /* ca NULL: nobody is trusted, unless skip_verify */
	/* what the certificate must be made out to, when it is not the host; NULL */
	const char *server_name;
	bool skip_verify; /* any certificate will do */
	uint32_t max_message; /* bytes of one message that are accepted */
	int64_t connect_ns; /* time for one connection to be made, TLS included */
};

/* grpc_io_connect - nothing is sent before the first call. Everything in @options is copied. 0, or
 * -EINVAL with @e: a PEM text that is none. */
int grpc_io_connect(struct grpc_io *io, const struct grpc_io_options *options,
	struct grpc_io_channel **ret, struct err *e);
void grpc_io_close(
	struct grpc_io_channel *channel); /* its calls must have been freed; NULL is fine */

/* gRPC's own numbers (grpc/status.h, part of the protocol). */
enum grpc_io_code {
	GRPC_IO_OK = 0,
	GRPC_IO_CANCELLED = 1,
	GRPC_IO_UNKNOWN = 2,
	GRPC_IO_INVALID_ARGUMENT = 3,
	GRPC_IO_DEADLINE_EXCEEDED = 4,
	GRPC_IO_NOT_FOUND = 5,
	GRPC_IO_ALREADY_EXISTS = 6,
	GRPC_IO_PERMISSION_DENIED = 7,
	GRPC_IO_RESOURCE_EXHAUSTED = 8,
	GRPC_IO_FAILED_PRECONDITION = 9,
	GRPC_IO_ABORTED = 10,
	GRPC_IO_OUT_OF_RANGE = 11,
	GRPC_IO_UNIMPLEMENTED = 12,
	GRPC_IO_INTERNAL = 13,
	GRPC_IO_UNAVAILABLE = 14,
	GRPC_IO_DATA_LOSS = 15,
	GRPC_IO_UNAUTHENTICATED = 16,
};
const char *grpc_io_code_name(int code); /* "UNAVAILABLE"; "status 99" as "unknown status" */

struct grpc_io_status {
	int code;
	/* the server's or gRPC's words; may hold anything a server wrote: clean before showing */
	const char *text;
};

/* All optional. A callback may free its own call, and make new ones. What is lent, is lent for the
 * call. */
struct grpc_io_events {
	/* The server took the call. @peer_pem: its certificate, NULL without TLS. */
	void (*started)(void *arg, const char *peer_pem);
	void (*message)(void *arg, const void *data, size_t n);
	void (*idle)(void *arg); /* after the messages that were there */
	/* exactly once, unless the call was freed before; nothing follows */
	void (*done)(void *arg, const struct grpc_io_status *status);
};

struct grpc_io_metadata {
	const char *key, *value;
};

/*
 * grpc_io_call_new - starts a call with its first message. Everything is copied.
 *
 * @half_close  no more will be sent: a unary call. Never for Subscribe: many servers end the call
 * when their client is done sending
 * @deadline_ns the whole call must end by then, from now; 0 = never
 *
 * Returns 0, -EINVAL (metadata that HTTP/2 cannot carry) or -EMFILE (GRPC_IO_CALLS_MAX), with @e.
 */
struct grpc_io_request {
	const char *method; /* "/gnmi.gNMI/Subscribe" */
	const struct grpc_io_metadata *metadata;
	size_t n_metadata;
	const void *p;
	size_t n;
	bool half_close;
	int64_t deadline_ns;
};
int grpc_io_call_new(struct grpc_io_channel *channel, const struct grpc_io_request *request,
	const struct grpc_io_events *events, void *arg, struct grpc_io_call **ret, struct err *e);
/* grpc_io_call_send - one more message. 0, or -EBUSY while the one before is under way, -EPIPE when
 * the call is over. */
int grpc_io_call_send(struct grpc_io_call *call, const void *data, size_t n);
/* grpc_io_call_hold - true: read no more messages than those that are here already, so that flow
 * control holds the server back; false: go on. */
void grpc_io_call_hold(struct grpc_io_call *call, bool hold);
/* grpc_io_call_free - cancels when it is not over. No callback comes after it. NULL is fine. */
void grpc_io_call_free(struct grpc_io_call *call);

struct grpc_io_counts {
	uint64_t messages, bytes; /* received */
	/* times reading stopped because GRPC_IO_HELD_MAX waited for the loop */
	uint64_t stalls;
};
struct grpc_io_counts grpc_io_call_counts(const struct grpc_io_call *call);
