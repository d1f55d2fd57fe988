/*
 * Datagrams on the port for traps, through the socket, our look at their heads, and net-snmp's
 * parser, with a community and two users known. Input: datagrams with two bytes of length each. A
 * message is delivered only with the right community or user; its texts end.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "collectors/snmp/snmp_trap.h"
#include "collectors/snmp/snmp_trap_io.h"
#include "tests/fuzz/printed.h"

static struct loop *trap_loop;
static struct loop_timer *trap_end;
static struct snmp_trap_io *trap_io;
static unsigned trap_seen, trap_sent;

static void trap_over(void *arg)
{
	loop_stop(trap_loop);
}

static bool trap_datagram(void *arg, const char *host, int version)
{
	if (++trap_seen == trap_sent)
		loop_timer_start(trap_end, 0, 0);
	return true;
}

static void trap_message(void *arg, const struct snmp_trap_message *message)
{
	const struct snmp_trap_sender sender = {0};
	struct snmp_trap_event event;
	if (snmp_trap_read(&message->pdu, &sender, &event) != 0)
		return;
	printed_line(event.text);
	printed_line(event.port);
}

static void trap_refused(void *arg, const char *host, enum snmp_trap_refusal why)
{
}

static int trap_open(struct sockaddr_in *ret)
{
	static const struct snmp_trap_credential credentials[] = {
		{.version = 2, .community = "public"}, {.version = 1, .community = "public"},
		{.version = 3, .user = "plain"},
		{.version = 3,
			.user = "signed",
			.auth = SNMP_AUTH_SHA1,
			.auth_password = "authpassword"}};
	static const struct snmp_trap_io_events events = {
		.datagram = trap_datagram, .message = trap_message, .refused = trap_refused};
	struct err e = {0};
	log_set_level(LOG_ERROR_);
	if (loop_new(&trap_loop) != 0)
		abort();
	trap_end = loop_timer_new(trap_loop, trap_over, NULL);
	for (int i = 0; i < 50 && !trap_io; i++) {
		const uint16_t port =
			(uint16_t)(20000 + ((unsigned)getpid() + 97u * (unsigned)i) % 40000);
		const struct snmp_trap_io_options options = {.address = "127.0.0.1",
			.port = port,
			.credentials = credentials,
			.n_credentials = rw_countof(credentials)};
		*ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		snmp_trap_io_new(trap_loop, &options, &events, NULL, &trap_io, &e);
	}
	if (!trap_io) {
		err_print(stderr, &e);
		abort();
	}
	inet_pton(AF_INET, "127.0.0.1", &ret->sin_addr);
	return socket(AF_INET, SOCK_DGRAM, 0);
}

/* What net-snmp keeps from input to input is not lost; looking for leaks after each took 60 % of
 * the time. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sockaddr_in to;
	static int fd = -1;
	if (fd < 0)
		fd = trap_open(&to);
	struct bytes in = bytes_of(data, size);
	trap_seen = trap_sent = 0;
	while (bytes_left(&in) > 0 && trap_sent < 8) {
		size_t n = bytes_be16(&in);
		if (n > bytes_left(&in))
			n = bytes_left(&in);
		const uint8_t *p = bytes_take(&in, n);
		if (n && p && sendto(fd, p, n, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)n)
			trap_sent++;
	}
	if (!trap_sent)
		return 0;
	/* an empty look at the rest: net-snmp may read several at once */
	loop_timer_start(trap_end, 2 * NS_PER_MS, 0);
	loop_run(trap_loop);
	return 0;
}
