/*
 * push_listen - accepts connections for the doors of OTLP, which never see a listening socket: who
 * may not connect is refused before a byte is read, and there is a bound on connections, in all and
 * of one address. A connection is known to the doors by the number of its descriptor; a number is
 * not given again for thousands of connections. Loop thread, but push_listen_source().
 */
#pragma once

#include "base/base.h"

#include "collectors/target/refused.h"

struct push_listen;
struct tls_context;
struct tls_pump;

/* ---- tls_pump -------------------------------------------------------------- */

/*
 * tls_pump - ends TLS for a library that cannot: what comes in over a connection goes out, in the
 * clear, over a pair of sockets within this process, and back. TLS 1.2 or newer; client
 * certificates where the context asks for them. Bounded: a quarter of a megabyte for each
 * connection. Loop thread.
 */

/* tls_context_new - reads the files: before the process gives up its rights. @client_ca NULL:
 * nobody has to show a certificate. @alpn: what is spoken inside, "h2" or "http/1.1". 0 or negative
 * errno with @e. */
int tls_context_new(const char *cert, const char *key, const char *client_ca, const char *alpn,
	struct tls_context **ret, struct err *e);
void tls_context_free(struct tls_context *context); /* NULL is fine */

/* ---- push_listen ----------------------------------------------------------- */

struct push_listen_options {
	unsigned max_connections;
	bool (*allow)(void *arg, const uint8_t source[16]);
	void *arg;
};
struct push_listen *push_listen_new(struct loop *loop, const struct push_listen_options *options);
void push_listen_free(struct push_listen *listen); /* after the doors; NULL is fine */

/* push_listen_open - one more address, "127.0.0.1:4317". @tls NULL: without TLS; else lent. @door:
 * a connection that does not block, theirs to close. Nothing is accepted before
 * push_listen_start(). 0 or negative errno with @e. */
typedef void push_listen_fn(void *arg, int fd);
int push_listen_open(struct push_listen *listen, const char *address, struct tls_context *tls,
	push_listen_fn *door, void *arg, struct err *e);
void push_listen_start(struct push_listen *listen);

/* push_listen_source - where a connection comes from. Any thread. False: there is none. */
bool push_listen_source(struct push_listen *listen, int fd, uint8_t ret[16]);

struct push_listen_counts {
	uint64_t accepted, strangers, crowded; /* crowded: refused because there were too many */
	uint64_t failed_handshakes;
	unsigned open;
	struct refused by_stranger, by_crowded; /* connections */
};
const struct push_listen_counts *push_listen_counts(const struct push_listen *listen);
