/*
 * ipfix_io - the UDP socket of an IPFIX receiver on the loop: many datagrams with one system call
 * (recvmmsg), because a switch that samples at a millisecond sends a thousand a second. Bounded: so
 * many a turn of the loop; what the socket's buffer cannot hold is dropped by the kernel, which
 * counts it (SO_RXQ_OVFL, socket(7)). Loop thread.
 */
#ifndef RW_COLLECTORS_IPFIX_IO_H
#define RW_COLLECTORS_IPFIX_IO_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct ipfix_io;
struct loop;

/* One datagram; the bytes are lent. @source: the sender's address, IPv4 as ::ffff:a.b.c.d. */
typedef void ipfix_io_fn(void *arg, const uint8_t source[16], const uint8_t *data, size_t n);

/* ipfix_io_new - listen on @address, an address of this machine, and @port. @buffer_bytes: of the
 * socket, as much of it as the kernel allows (ipfix_io_buffer()). 0, or negative errno with @e. */
int ipfix_io_new(struct loop *loop, const char *address, uint16_t port, uint64_t buffer_bytes,
	ipfix_io_fn *fn, void *arg, struct ipfix_io **ret, struct err *e);
void ipfix_io_free(struct ipfix_io *io); /* NULL is fine; not from within @fn */

uint64_t ipfix_io_drops(const struct ipfix_io *io); /* datagrams that nobody read in time */
/* ipfix_io_buffer - bytes of the socket's buffer that the kernel gave, as it counts them. */
uint64_t ipfix_io_buffer(const struct ipfix_io *io);

#endif
