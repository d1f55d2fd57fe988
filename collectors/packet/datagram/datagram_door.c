/* datagram_door - from a socket to datagrams of those who may send, interval by interval. */
#include "collectors/packet/datagram/datagram_door.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"

/* ---- the socket: datagrams in batches --------------------------------------- */

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

/* Bytes of the socket's buffer that the kernel gave, as it counts them. */
static uint64_t datagram_io_buffer(const struct datagram_io *io)
{
	return io->buffer;
}

#define TICK (100 * NS_PER_MS)
#define SKIP_INTERVALS 16 /* a clock that jumps further leaves no empty intervals behind */

static void door_stranger(struct datagram_door *door, const uint8_t source[16])
{
	char host[ADDRESS_TEXT_MAX];
	address_text(host, source);
	door->from_strangers++;
	complain(&door->strange, loop_now(door->loop), LOG_WARN_, door->name,
		"%s from %s, which is not allowed: not read. %s", door->protocol->word, host,
		door->protocol->stranger_step);
	refused_add(&door->strangers, host);
}

static void door_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	struct datagram_door *door = arg;
	if (!datagram_senders_allow(door->senders, source)) {
		door_stranger(door, source);
		return;
	}
	door->datagrams++;
	door->protocol->take(door->arg, source, data, n);
}

/* ---- intervals --------------------------------------------------------------- */

static void door_drops(struct datagram_door *door)
{
	char step[160];
	const uint64_t drops = datagram_io_drops(door->io);
	const mono_t now = loop_now(door->loop);
	if (drops > door->drops) {
		door->target.errors++;
		door->protocol->dropped_step(step, sizeof(step), datagram_io_buffer(door->io));
		complain(&door->dropped, now, LOG_WARN_, door->name,
			"the kernel dropped %llu %s datagrams that nobody read in time: %s",
			(unsigned long long)(drops - door->drops), door->protocol->word, step);
	} else {
		complaint_over(&door->dropped, now, door->name, "no more dropped datagrams");
	}
	door->drops = drops;
}

static void door_end(struct datagram_door *door, int64_t end_ns)
{
	const mono_t begin = mono_now();
	door->protocol->end(door->arg, end_ns);
	door_drops(door);
	const mono_t now = mono_now();
	target_polled(&door->target, (double)(now.ns - begin.ns) / NS_PER_S, now, (wall_t){end_ns});
	if (door->sink.target)
		door->sink.target(door->sink.arg, &door->target);
}

static void door_begin(struct datagram_door *door, int64_t now_ns)
{
	door->from_ns = now_ns;
	door->to_ns = (now_ns / door->interval_ns + 1) * door->interval_ns;
}

static void door_on_tick(void *arg)
{
	struct datagram_door *door = arg;
	const int64_t now_ns = wall_now().ns;
	const bool back = now_ns < door->from_ns - door->interval_ns;
	if (!back && now_ns < door->to_ns)
		return;
	if (!door->protocol->ends_each) {
		door_end(door, now_ns);
		door_begin(door, now_ns);
		return;
	}
	if (back || now_ns - door->to_ns > SKIP_INTERVALS * door->interval_ns) {
		/* the clock was set: what was counted so far keeps the old time */
		door_end(door, door->to_ns);
		door_begin(door, now_ns);
		return;
	}
	while (now_ns >= door->to_ns) {
		door_end(door, door->to_ns);
		door->from_ns = door->to_ns;
		door->to_ns += door->interval_ns;
	}
}

/* ---- life ---------------------------------------------------------------------- */

static int door_socket(struct datagram_door *door, struct err *e)
{
	const char *host, *why = "";
	uint16_t port;
	int rc = address_split(door->texts, door->address, 0, &host, &port, e);
	if (rc < 0)
		return rc;
	rc = datagram_io_new(
		door->loop, host, port, door->buffer_bytes, door_datagram, door, &door->io, &why);
	if (rc < 0)
		return door->protocol->bind_error(e, rc, host, port, why);
	return 0;
}

int datagram_door_open(struct datagram_door *door, const struct datagram_protocol *protocol,
	void *arg, const struct collector_env *env, const struct config_capture *capture,
	struct err *e)
{
	door->loop = env->loop;
	door->sink = *env->sink;
	door->lookup = env->lookup;
	door->protocol = protocol;
	door->arg = arg;
	door->texts = arena_new();
	door->name = arena_strdup(door->texts, capture->name);
	door->address = arena_strdup(door->texts, capture->listen);
	door->interval_ns = capture->interval_ns;
	door->buffer_bytes = capture->buffer_bytes;
	door->senders = datagram_senders_new(env->config, capture, &door->lookup);
	door->target = (struct target){.device = door->name,
		.protocol = protocol->name,
		.address = door->address,
		.interval_ns = door->interval_ns};
	const int rc = door_socket(door, e);
	if (rc < 0)
		return rc;
	door_begin(door, wall_now().ns);
	door->tick = loop_timer_new(door->loop, door_on_tick, door);
	loop_timer_start(door->tick, TICK, TICK);
	target_change(&door->target, TARGET_STARTING, loop_now(door->loop), wall_now(), NULL);
	target_change(&door->target, TARGET_UP, loop_now(door->loop), wall_now(), NULL);
	if (door->sink.target)
		door->sink.target(door->sink.arg, &door->target);
	return 0;
}

void datagram_door_close(struct datagram_door *door)
{
	if (door->tick) {
		const int64_t now_ns = wall_now().ns;
		int64_t end_ns = door->to_ns;
		if (now_ns < end_ns)
			end_ns = now_ns;
		door_end(door, end_ns);
	}
	loop_timer_free(door->tick);
	datagram_io_free(door->io);
	datagram_senders_free(door->senders);
	arena_free(door->texts);
}

bool datagram_door_same(const struct datagram_door *door, const struct config_capture *capture)
{
	return str_eq(door->name, capture->name) && str_eq(door->address, capture->listen) &&
		door->interval_ns == capture->interval_ns &&
		door->buffer_bytes == capture->buffer_bytes;
}

void datagram_door_update(struct datagram_door *door, const struct config *config,
	const struct config_capture *capture)
{
	datagram_senders_free(door->senders);
	door->senders = datagram_senders_new(config, capture, &door->lookup);
	door->strangers.n = 0; /* those that are allowed now need not be named any more */
}

uint64_t datagram_door_drops(const struct datagram_door *door)
{
	return datagram_io_drops(door->io);
}

uint64_t datagram_door_buffer(const struct datagram_door *door)
{
	return datagram_io_buffer(door->io);
}
