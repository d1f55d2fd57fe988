/*
 * push_listen - accepts connections for the doors of OTLP, which never see a listening socket: who
 * may not connect is refused before a byte is read, and there is a bound on connections, in all and
 * of one address. A connection is known to the doors by the number of its descriptor; a number is
 * not given again for thousands of connections. Loop thread, but push_listen_source().
 */
#ifndef RW_COLLECTORS_PUSH_LISTEN_H
#define RW_COLLECTORS_PUSH_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct loop;
struct push_listen;
struct tls_context;

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

enum { LISTEN_STRANGERS = 8 };
struct push_listen_counts {
	uint64_t accepted, strangers, crowded; /* crowded: refused because there were too many */
	uint64_t failed_handshakes;
	unsigned open;
	struct {
		uint8_t address[16];
		uint64_t connections;
	} stranger[LISTEN_STRANGERS];
	size_t n_strangers;
};
const struct push_listen_counts *push_listen_counts(const struct push_listen *listen);

#endif
