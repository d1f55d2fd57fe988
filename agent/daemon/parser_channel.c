/* parser_channel - a socket of datagrams that arrive whole and in order, with a bounded queue. */
#include "agent/daemon/parser_channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/daemon/parser_wire.h"

struct channel_waiting { /* one message, its bytes behind it */
	struct channel_waiting *next;
	size_t n;
	uint8_t data[];
};

struct parser_channel {
	int fd;
	struct loop_fd *watch;
	struct parser_channel_options options;
	struct channel_waiting *first, **last;
	size_t waiting; /* bytes */
	bool held, closed, told;
	uint64_t received;
	uint8_t in[PARSER_MESSAGE_MAX];
};

/* ---- sending ------------------------------------------------------------- */

static void channel_events(struct parser_channel *channel)
{
	int events = 0;
	if (channel->closed)
		return;
	if (!channel->held)
		events |= LOOP_READ;
	if (channel->first)
		events |= LOOP_WRITE;
	loop_fd_events(channel->watch, events);
}

static void channel_close(struct parser_channel *channel)
{
	if (channel->closed)
		return;
	loop_fd_events(channel->watch, 0);
	channel->closed = true;
}

static void channel_tell_closed(struct parser_channel *channel)
{
	channel_close(channel);
	if (channel->told)
		return;
	channel->told = true;
	channel->options.closed(channel->options.arg);
}

/* 1 sent, 0 there is no room now, -1 the other end is gone. */
static int channel_send_now(struct parser_channel *channel, const void *data, size_t n)
{
	ssize_t sent;
	do
		sent = send(channel->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 1;
	if (errno == EAGAIN || errno == ENOBUFS)
		return 0;
	return -1;
}

static void channel_drop_first(struct parser_channel *channel)
{
	struct channel_waiting *first = channel->first;
	channel->first = first->next;
	if (!channel->first)
		channel->last = &channel->first;
	channel->waiting -= first->n;
	free(first);
}

static void channel_send_waiting(struct parser_channel *channel)
{
	while (channel->first && !channel->closed) {
		const int rc = channel_send_now(channel, channel->first->data, channel->first->n);
		if (rc == 0)
			break;
		if (rc < 0) {
			/* what it sent before it went is still to be read */
			while (channel->first)
				channel_drop_first(channel);
			break;
		}
		channel_drop_first(channel);
	}
	channel_events(channel);
}

bool parser_channel_send(struct parser_channel *channel, const struct parser_out *out)
{
	if (out->full || channel->closed)
		return false;
	if (!channel->first) {
		const int rc = channel_send_now(channel, out->b, out->n);
		if (rc != 0)
			return rc > 0;
	}
	if (channel->waiting + out->n > channel->options.queue_max)
		return false;
	struct channel_waiting *w = rw_calloc(1, sizeof(*w) + out->n);
	w->n = out->n;
	memcpy(w->data, out->b, out->n);
	*channel->last = w;
	channel->last = &w->next;
	channel->waiting += w->n;
	channel_events(channel);
	return true;
}

/* ---- receiving ----------------------------------------------------------- */

/* False when there is nothing more now. */
static bool channel_take_one(struct parser_channel *channel)
{
	ssize_t n;
	/* ECONNRESET comes once, when the other end went without having read all: what it sent
	 * before is still there */
	do
		n = recv(channel->fd, channel->in, sizeof(channel->in), MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		channel_tell_closed(channel);
		return false;
	}
	channel->received += (uint64_t)n;
	/* longer than any message: it arrives as one without a kind, which nobody accepts */
	if ((size_t)n > sizeof(channel->in))
		n = 0;
	channel->options.message(channel->options.arg, channel->in, (size_t)n);
	return true;
}

static void channel_on_ready(void *arg, int events)
{
	struct parser_channel *channel = arg;
	if (events & LOOP_WRITE)
		channel_send_waiting(channel);
	if (!(events & LOOP_READ))
		return;
	for (int i = 0; i < CHANNEL_TURN_MESSAGES && !channel->held && !channel->closed; i++)
		if (!channel_take_one(channel))
			return;
}

void parser_channel_hold(struct parser_channel *channel, bool hold)
{
	channel->held = hold;
	channel_events(channel);
}

void parser_channel_flush(struct parser_channel *channel, int ms)
{
	const int64_t until_ns = mono_now().ns + ms * NS_PER_MS;
	while (channel->first && !channel->closed) {
		struct pollfd p = {.fd = channel->fd, .events = POLLOUT};
		const int64_t left_ns = until_ns - mono_now().ns;
		if (left_ns <= 0)
			return;
		poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
		channel_send_waiting(channel);
	}
}

void parser_channel_drain(struct parser_channel *channel, mono_t until, bool (*enough)(void *arg))
{
	while (!channel->closed && !enough(channel->options.arg)) {
		struct pollfd p = {.fd = channel->fd, .events = POLLIN};
		const int64_t left_ns = until.ns - mono_now().ns;
		if (left_ns <= 0)
			return;
		if (channel->first)
			channel_send_waiting(channel);
		poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
		channel_take_one(channel);
	}
}

size_t parser_channel_waiting(const struct parser_channel *channel)
{
	return channel->waiting;
}

uint64_t parser_channel_received(const struct parser_channel *channel)
{
	return channel->received;
}

/* ---- life ---------------------------------------------------------------- */

struct parser_channel *parser_channel_new(
	struct loop *loop, int fd, const struct parser_channel_options *options)
{
	struct parser_channel *c = rw_calloc(1, sizeof(*c));
	c->fd = fd;
	c->options = *options;
	c->last = &c->first;
	c->watch = loop_fd_new(loop, fd, LOOP_READ, channel_on_ready, c);
	if (c->watch)
		return c;
	free(c);
	return NULL;
}

void parser_channel_free(struct parser_channel *channel)
{
	if (!channel)
		return;
	loop_fd_free(channel->watch);
	while (channel->first)
		channel_drop_first(channel);
	close(channel->fd);
	free(channel);
}
