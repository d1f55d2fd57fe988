/* sflow_io - receives datagrams and what the kernel says of those it dropped. */
#include "collectors/packet/sflow_io.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "collectors/target/reason.h"

enum { DATAGRAMS_PER_TURN = 256, DATAGRAM_MAX = 65536, BUFFER_BYTES_MAX = 1 << 30 };

struct sflow_io {
	struct loop_fd *watch;
	sflow_io_fn *fn;
	void *arg;
	int fd;
	uint32_t overflow; /* the kernel's count, modulo 2^32 */
	uint64_t drops;
	uint8_t data[DATAGRAM_MAX];
};

static void sflow_io_source(const struct sockaddr_storage *from, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)from;
		memcpy(ret, &v6->sin6_addr, 16);
	} else if (from->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)from;
		ret[10] = ret[11] = 0xff;
		memcpy(ret + 12, &v4->sin_addr, 4);
	}
}

static void sflow_io_overflow(struct sflow_io *io, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		uint32_t count;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL)
			continue;
		memcpy(&count, CMSG_DATA(c), sizeof(count));
		io->drops += count - io->overflow;
		io->overflow = count;
	}
}

/* False when there is nothing more. */
static bool sflow_io_one(struct sflow_io *io)
{
	struct sockaddr_storage from = {0};
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(uint32_t))];
	} control;
	struct iovec iov = {io->data, sizeof(io->data)};
	struct msghdr message = {.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	uint8_t source[16];
	const ssize_t n = recvmsg(io->fd, &message, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR;
	sflow_io_overflow(io, &message);
	sflow_io_source(&from, source);
	io->fn(io->arg, source, io->data, (size_t)n);
	return true;
}

static void sflow_io_on_readable(void *arg, int events)
{
	for (int i = 0; i < DATAGRAMS_PER_TURN; i++)
		if (!sflow_io_one(arg))
			return;
}

static int sflow_io_socket(const struct addrinfo *where, uint64_t buffer_bytes, int *ret)
{
	int yes = 1, size = BUFFER_BYTES_MAX;
	rw_cleanup(closep) int fd =
		socket(where->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (buffer_bytes < BUFFER_BYTES_MAX)
		size = (int)buffer_bytes;
	if (where->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, where->ai_addr, where->ai_addrlen) < 0)
		return -errno;
	*ret = fd;
	fd = -1;
	return 0;
}

int sflow_io_new(struct loop *loop, const char *address, uint16_t port, uint64_t buffer_bytes,
	sflow_io_fn *fn, void *arg, struct sflow_io **ret, struct err *e)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
				.ai_socktype = SOCK_DGRAM},
			*found = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int rc = getaddrinfo(address, service, &hints, &found);
	if (rc != 0)
		return reason_err(
			e, -EINVAL, SFLOW_BIND, address, (unsigned)port, gai_strerror(rc));
	struct sflow_io *io = rw_calloc(1, sizeof(*io));
	io->fn = fn;
	io->arg = arg;
	io->fd = -1;
	rc = sflow_io_socket(found, buffer_bytes, &io->fd);
	freeaddrinfo(found);
	if (rc == 0) {
		io->watch = loop_fd_new(loop, io->fd, LOOP_READ, sflow_io_on_readable, io);
		if (!io->watch)
			rc = -ENOMEM;
	}
	if (rc < 0) {
		sflow_io_free(io);
		return reason_err(e, rc, SFLOW_BIND, address, (unsigned)port, strerror(-rc));
	}
	*ret = io;
	return 0;
}

void sflow_io_free(struct sflow_io *io)
{
	if (!io)
		return;
	loop_fd_free(io->watch);
	if (io->fd >= 0)
		close(io->fd);
	free(io);
}

uint64_t sflow_io_drops(const struct sflow_io *io)
{
	return io->drops;
}
