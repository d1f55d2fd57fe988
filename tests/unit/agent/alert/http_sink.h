/* http_sink - a tiny HTTP server on a thread of its own: keeps what it is sent, and answers as the
 * test asks. Port 0 is chosen by the kernel; the server can be ended and begun again on its port.
 */
#ifndef RW_TESTS_HTTP_SINK_H
#define RW_TESTS_HTTP_SINK_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { SINK_MAX = 4096 };

struct http_sink {
	int fd, port;
	pthread_t thread;
	pthread_mutex_t mutex;
	bool running;
	/* guarded by .mutex */
	int status; /* 0: accept and never answer */
	int refuse; /* answer 400 to that many requests first */
	char *heads[SINK_MAX], *bodies[SINK_MAX];
	size_t n, asked;
	int held[64];
	size_t n_held;
	bool end;
};

static bool sink_read(int fd, struct str *head, struct str *body)
{
	struct str all = {0};
	char part[4096];
	size_t need = SIZE_MAX;
	const char *gap = NULL;
	str_add(&all, "");
	while (!gap || all.n - (size_t)(gap + 4 - all.s) < need) {
		const ssize_t n = recv(fd, part, sizeof(part), 0);
		if (n <= 0)
			break;
		str_addn(&all, part, (size_t)n);
		gap = strstr(all.s, "\r\n\r\n");
		const char *length = strcasestr(all.s, "content-length:");
		if (gap && length)
			need = strtoul(length + 15, NULL, 10);
	}
	if (gap) {
		str_addn(head, all.s, (size_t)(gap - all.s));
		str_add(body, gap + 4);
	}
	str_done(&all);
	return gap != NULL;
}

static void sink_serve(struct http_sink *sink, int fd)
{
	struct str head = {0}, body = {0};
	const bool whole = sink_read(fd, &head, &body);
	pthread_mutex_lock(&sink->mutex);
	int status = sink->status;
	sink->asked++;
	if (status == 0 && sink->n_held < rw_countof(sink->held)) {
		sink->held[sink->n_held++] = fd;
		fd = -1;
	}
	if (status && sink->refuse > 0) {
		sink->refuse--;
		status = 400;
	}
	if (whole && status == 200 && sink->n < SINK_MAX) {
		sink->heads[sink->n] = rw_take(head.s);
		sink->bodies[sink->n++] = rw_take(body.s);
	}
	pthread_mutex_unlock(&sink->mutex);
	char answer[128];
	const int n = snprintf(answer, sizeof(answer),
		"HTTP/1.1 %d x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", status);
	if (fd >= 0 && send(fd, answer, (size_t)n, MSG_NOSIGNAL) == n)
		shutdown(fd, SHUT_WR);
	closep(&fd);
	str_done(&head);
	str_done(&body);
}

static void *sink_main(void *arg)
{
	struct http_sink *sink = arg;
	for (;;) {
		const int fd = accept(sink->fd, NULL, NULL);
		pthread_mutex_lock(&sink->mutex);
		const bool end = sink->end;
		pthread_mutex_unlock(&sink->mutex);
		if (fd < 0 || end) {
			if (fd >= 0)
				close(fd);
			return NULL;
		}
		sink_serve(sink, fd);
	}
}

/* Bind only: the port is ours, and nobody answers on it before sink_begin(). */
static void sink_init(struct http_sink *sink)
{
	*sink = (struct http_sink){.fd = -1, .status = 200};
	pthread_mutex_init(&sink->mutex, NULL);
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(name);
	sink->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(sink->fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(getsockname(sink->fd, (struct sockaddr *)&name, &size), 0);
	sink->port = ntohs(name.sin_port);
}

static void sink_begin(struct http_sink *sink)
{
	assert_int_equal(listen(sink->fd, 128), 0);
	assert_int_equal(pthread_create(&sink->thread, NULL, sink_main, sink), 0);
	sink->running = true;
}

static void sink_done(struct http_sink *sink)
{
	pthread_mutex_lock(&sink->mutex);
	sink->end = true;
	pthread_mutex_unlock(&sink->mutex);
	if (sink->running) {
		shutdown(sink->fd, SHUT_RDWR); /* wakes accept() */
		pthread_join(sink->thread, NULL);
	}
	close(sink->fd);
	for (size_t i = 0; i < sink->n_held; i++)
		close(sink->held[i]);
	for (size_t i = 0; i < sink->n; i++) {
		free(sink->heads[i]);
		free(sink->bodies[i]);
	}
	pthread_mutex_destroy(&sink->mutex);
}

static inline size_t sink_count(struct http_sink *sink)
{
	pthread_mutex_lock(&sink->mutex);
	const size_t n = sink->n;
	pthread_mutex_unlock(&sink->mutex);
	return n;
}

static inline size_t sink_asked(struct http_sink *sink)
{
	pthread_mutex_lock(&sink->mutex);
	const size_t n = sink->asked;
	pthread_mutex_unlock(&sink->mutex);
	return n;
}

static inline void sink_set(struct http_sink *sink, int status, int refuse)
{
	pthread_mutex_lock(&sink->mutex);
	sink->status = status;
	sink->refuse = refuse;
	pthread_mutex_unlock(&sink->mutex);
}

#endif
