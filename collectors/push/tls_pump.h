/*
 * tls_pump - ends TLS for a library that cannot: what comes in over a connection goes out, in the
 * clear, over a pair of sockets within this process, and back. TLS 1.2 or newer; client
 * certificates where the context asks for them. Bounded: a quarter of a megabyte for each
 * connection. Loop thread.
 */
#ifndef RW_COLLECTORS_TLS_PUMP_H
#define RW_COLLECTORS_TLS_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;
struct tls_context;
struct tls_pump;

/* tls_context_new - reads the files: before the process gives up its rights. @client_ca NULL:
 * nobody has to show a certificate. @alpn: what is spoken inside, "h2" or "http/1.1". 0 or negative
 * errno with @e. */
int tls_context_new(const char *cert, const char *key, const char *client_ca, const char *alpn,
	struct tls_context **ret, struct err *e);
void tls_context_free(struct tls_context *context); /* NULL is fine */

/* tls_pump_new - @outer: a connection, which belongs to the pump now. *@ret_inner is the end for
 * the library, which closes it. @ended is called once, when both directions are over; the owner
 * then frees the pump. NULL: there is no socket pair. */
struct tls_pump *tls_pump_new(struct loop *loop, struct tls_context *context, int outer,
	void (*ended)(void *arg), void *arg, int *ret_inner);
void tls_pump_free(struct tls_pump *pump);
/* tls_pump_shaken - is the handshake over? */
bool tls_pump_shaken(const struct tls_pump *pump);

#endif
