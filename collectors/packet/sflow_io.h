/*
 * sflow_io - the UDP socket of an sFlow listener on the loop. Bounded: so many datagrams a turn of
 * the loop, so that a flood delays nobody else; what the socket's buffer cannot hold is dropped by
 * the kernel, which counts it (SO_RXQ_OVFL, socket(7)). Loop thread.
 */
#ifndef RW_COLLECTORS_SFLOW_IO_H
#define RW_COLLECTORS_SFLOW_IO_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;
struct sflow_io;

/* One datagram; the bytes are lent. @source: the sender's address, IPv4 as ::ffff:a.b.c.d. */
typedef void sflow_io_fn(void *arg, const uint8_t source[16], const uint8_t *data, size_t n);

/* sflow_io_new - listen on @address, an address of this machine, and @port. @buffer_bytes: of the
 * socket, as much of it as the kernel allows. 0, or negative errno with @e in words. */
int sflow_io_new(struct loop *loop, const char *address, uint16_t port, uint64_t buffer_bytes,
	sflow_io_fn *fn, void *arg, struct sflow_io **ret, struct err *e);
void sflow_io_free(struct sflow_io *io); /* NULL is fine; not from within @fn */

/* sflow_io_drops - datagrams that the kernel dropped because nobody read them in time. */
uint64_t sflow_io_drops(const struct sflow_io *io);

#endif
