#include "tests/bench/remote_write.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/block/bits.h"

static void proto_bytes(struct str *out, unsigned field, const char *bytes, size_t n)
{
	bits_add_u8(out, field << 3 | 2);
	bits_add_uvar(out, n);
	str_addn(out, bytes, n);
}

static void proto_label(struct str *series, const char *name, const char *value)
{
	struct str label = {0};
	proto_bytes(&label, 1, name, strlen(name));
	proto_bytes(&label, 2, value, strlen(value));
	proto_bytes(series, 1, label.s, label.n);
	str_done(&label);
}

void remote_write_labels(struct str *out, const char *metric, const char *device, const char *port)
{
	proto_label(out, "__name__", metric);
	proto_label(out, "device", device);
	proto_label(out, "port", port);
}

void remote_write_sample(struct str *request, const struct str *labels, int64_t t_ns, double number)
{
	struct str body = {0}, sample = {0};

	bits_add_u8(&sample, 1 << 3 | 1);
	str_addn(&sample, (const char *)&number, 8);
	bits_add_u8(&sample, 2 << 3);
	bits_add_uvar(&sample, (uint64_t)(t_ns / 1000000));
	str_addn(&body, labels->s, labels->n);
	proto_bytes(&body, 2, sample.s, sample.n);
	proto_bytes(request, 1, body.s, body.n);
	str_done(&sample);
	str_done(&body);
}

static void snappy_literals(const struct str *in, struct str *out)
{
	bits_add_uvar(out, in->n);
	for (size_t at = 0; at < in->n; at += 60000) {
		const size_t n = in->n - at < 60000 ? in->n - at : 60000;
		bits_add_u8(out, 61 << 2);
		bits_add_u8(out, (unsigned)(n - 1) & 0xff);
		bits_add_u8(out, (unsigned)(n - 1) >> 8);
		str_addn(out, in->s + at, n);
	}
}

static int remote_write_send(int fd, const struct str *body)
{
	struct str head = {0};
	char answer[4096];
	size_t sent = 0;

	str_addf(&head,
		"POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: snappy\r\n"
		"Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		body->n);
	str_addn(&head, body->s, body->n);
	while (sent < head.n) {
		const ssize_t n = write(fd, head.s + sent, head.n - sent);
		if (n <= 0)
			return -1;
		sent += (size_t)n;
	}
	str_done(&head);
	const ssize_t n = read(fd, answer, sizeof(answer) - 1);
	if (n <= 12 || strncmp(answer + 9, "204", 3) != 0) {
		fprintf(stderr, "answer: %.*s\n", (int)n, answer);
		return -1;
	}
	return 0;
}

int remote_write_connect(const char *host, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, host, &to.sin_addr);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		perror("connect");
		return -1;
	}
	return fd;
}

int remote_write_post(int fd, const struct str *request)
{
	struct str packed = {0};

	snappy_literals(request, &packed);
	const int r = remote_write_send(fd, &packed);
	str_done(&packed);
	return r;
}
