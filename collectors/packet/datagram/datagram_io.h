/*
 * datagram_io - the UDP socket of a listener on the loop: many datagrams with one system call
 * (recvmmsg), because a switch that samples at a millisecond sends a thousand a second. Bounded: so
 * many a turn of the loop, so that a flood delays nobody else; what the socket's buffer cannot hold
 * is dropped by the kernel, which counts it (SO_RXQ_OVFL, socket(7)). Loop thread.
 */
#ifndef RW_COLLECTORS_DATAGRAM_IO_H
#define RW_COLLECTORS_DATAGRAM_IO_H

#include <stddef.h>
#include <stdint.h>

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
/* datagram_io_buffer - bytes of the socket's buffer that the kernel gave, as it counts them. */
uint64_t datagram_io_buffer(const struct datagram_io *io);

#endif
