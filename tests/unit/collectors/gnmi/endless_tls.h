/*
 * endless_tls - a server that answers every ClientHello with HelloRequests (RFC 5246, 7.4.1.1: the
 * client skips them during a handshake), and never with anything else, on a thread of its own. It
 * may hang up on the first clients: then gRPC has failed, and our own probe begins.
 */
#ifndef RW_TESTS_ENDLESS_TLS_H
#define RW_TESTS_ENDLESS_TLS_H

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ENDLESS_CLIENTS 16

struct endless_tls {
	int fd;
	uint16_t port;
	int pause_ms; /* between two requests; 0: as fast as they are taken */
	unsigned hang_up; /* on so many clients first */
	atomic_bool over;
	atomic_uint served;
	pthread_t thread;
};

static inline void endless_feed(const struct endless_tls *server, int fd)
{
	/* record of a handshake, TLS 1.2, 4 bytes: hello_request without a body */
	static const unsigned char request[] = {0x16, 3, 3, 0, 4, 0, 0, 0, 0};
	unsigned char many[sizeof(request) * 400];
	size_t n = sizeof(request);
	if (server->pause_ms == 0)
		n = sizeof(many);
	for (size_t i = 0; i < n; i++)
		many[i] = request[i % sizeof(request)];
	/* what does not fit waits for the next round: the pattern must not be cut */
	struct pollfd w = {.fd = fd, .events = POLLOUT};
	size_t sent = 0;
	while (sent < n && !server->over) {
		const ssize_t rc = send(fd, many + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (rc < 0 && errno != EAGAIN)
			return;
		if (rc > 0)
			sent += (size_t)rc;
		else
			poll(&w, 1, 10);
	}
}

static inline void *endless_main(void *arg)
{
	struct endless_tls *server = arg;
	struct pollfd w[1 + ENDLESS_CLIENTS] = {{.fd = server->fd, .events = POLLIN}};
	int n = 1;
	char hello[4096];
	while (!server->over) {
		poll(w, 1, server->pause_ms);
		if (w[0].revents && n <= ENDLESS_CLIENTS) {
			const int fd = accept(server->fd, NULL, NULL);
			const bool said = fd >= 0 && read(fd, hello, sizeof(hello)) > 0;
			if (said && server->served >= server->hang_up)
				w[n++].fd = fd;
			else if (fd >= 0)
				close(fd);
			server->served++;
		}
		for (int i = 1; i < n; i++)
			endless_feed(server, w[i].fd);
	}
	while (--n > 0)
		close(w[n].fd);
	return NULL;
}

static inline void endless_begin(struct endless_tls *server, int pause_ms, unsigned hang_up)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	*server = (struct endless_tls){.pause_ms = pause_ms, .hang_up = hang_up};
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(server->fd, (struct sockaddr *)&a, &n);
	server->port = ntohs(a.sin_port);
	assert_int_equal(listen(server->fd, 16), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, endless_main, server), 0);
}

static inline void endless_end(struct endless_tls *server)
{
	server->over = true;
	pthread_join(server->thread, NULL);
	close(server->fd);
}

#endif
