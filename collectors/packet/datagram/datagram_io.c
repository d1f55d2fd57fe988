/* datagram_io - receives datagrams in batches. */
#include "collectors/packet/datagram/datagram_io.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/loop.h"

enum { BATCH = 32, BATCHES_PER_TURN = 16, DATAGRAM_MAX = 65536, BUFFER_MAX = 1 << 30 };

union io_control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(uint32_t))];
};

struct datagram_io {
	struct loop_fd *watch;
	datagram_io_fn *fn;
	void *arg;
	int fd;
	uint32_t overflow; /* the kernel's count, modulo 2^32 */
	uint64_t drops, buffer;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_storage from[BATCH];
	union io_control control[BATCH];
	uint8_t data[BATCH][DATAGRAM_MAX];
};

static void io_source(const struct sockaddr_storage *from, uint8_t ret[16])
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

static void io_overflow(struct datagram_io *io, struct msghdr *message)
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

static void io_prepare(struct datagram_io *io)
{
	for (size_t i = 0; i < BATCH; i++) {
		io->parts[i] = (struct iovec){io->data[i], DATAGRAM_MAX};
		io->messages[i].msg_hdr = (struct msghdr){.msg_name = &io->from[i],
			.msg_namelen = sizeof(io->from[i]),
			.msg_iov = &io->parts[i],
			.msg_iovlen = 1,
			.msg_control = &io->control[i],
			.msg_controllen = sizeof(io->control[i])};
	}
}

/* False when there is nothing more. */
static bool io_batch(struct datagram_io *io)
{
	uint8_t source[16];
	io_prepare(io);
	const int n = recvmmsg(io->fd, io->messages, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EINTR;
	for (int i = 0; i < n; i++) {
		io_overflow(io, &io->messages[i].msg_hdr);
		io_source(&io->from[i], source);
		io->fn(io->arg, source, io->data[i], io->messages[i].msg_len);
	}
	return n == BATCH;
}

static void io_on_readable(void *arg, int events)
{
	for (int i = 0; i < BATCHES_PER_TURN; i++)
		if (!io_batch(arg))
			return;
}

static int io_socket(const struct addrinfo *where, uint64_t buffer_bytes, struct datagram_io *io)
{
	int yes = 1, size = BUFFER_MAX;
	socklen_t n = sizeof(size);
	rw_cleanup(closep) int fd =
		socket(where->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (buffer_bytes < BUFFER_MAX)
		size = (int)buffer_bytes;
	if (where->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof(yes));
	/* beyond net.core.rmem_max only with a right that we seldom have */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &n) == 0)
		io->buffer = (uint64_t)size;
	if (bind(fd, where->ai_addr, where->ai_addrlen) < 0)
		return -errno;
	io->fd = fd;
	fd = -1;
	return 0;
}

int datagram_io_new(struct loop *loop, const char *address, uint16_t port, uint64_t buffer_bytes,
	datagram_io_fn *fn, void *arg, struct datagram_io **ret, const char **why)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
				.ai_socktype = SOCK_DGRAM},
			*found = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int rc = getaddrinfo(address, service, &hints, &found);
	if (rc != 0) {
		*why = gai_strerror(rc);
		return -EINVAL;
	}
	struct datagram_io *io = rw_calloc(1, sizeof(*io));
	io->fn = fn;
	io->arg = arg;
	io->fd = -1;
	rc = io_socket(found, buffer_bytes, io);
	freeaddrinfo(found);
	if (rc == 0) {
		io->watch = loop_fd_new(loop, io->fd, LOOP_READ, io_on_readable, io);
		if (!io->watch)
			rc = -ENOMEM;
	}
	if (rc < 0) {
		datagram_io_free(io);
		*why = strerror(-rc);
		return rc;
	}
	*ret = io;
	return 0;
}

void datagram_io_free(struct datagram_io *io)
{
	if (!io)
		return;
	loop_fd_free(io->watch);
	if (io->fd >= 0)
		close(io->fd);
	free(io);
}

uint64_t datagram_io_drops(const struct datagram_io *io)
{
	return io->drops;
}

uint64_t datagram_io_buffer(const struct datagram_io *io)
{
	return io->buffer;
}
