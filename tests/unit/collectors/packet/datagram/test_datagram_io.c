/* datagram_io on the loopback interface: datagrams arrive with their sender; a flood that the
 * socket cannot hold is counted to the last datagram, and one turn of the loop reads a bounded
 * number. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/loop.h"
#include "collectors/packet/datagram/datagram_door.h"

enum { FLOOD = 20000, BYTES = 1200 };

struct world {
	struct loop *loop;
	struct loop_timer *poll;
	uint64_t received;
	uint8_t source[16];
	bool last; /* the datagram that ends the test has come */
};

static void on_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	struct world *w = arg;
	w->received++;
	memcpy(w->source, source, 16);
	if (n == 1) {
		w->last = true;
		loop_stop(w->loop);
	}
}

static int free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static int to_fd;

/* Until one gets through: the socket may still be full. */
static void on_poll(void *arg)
{
	send(to_fd, "", 1, 0);
}

static void test_flood(void **state)
{
	static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	static uint8_t bytes[BYTES];
	struct world w = {0};
	struct datagram_io *io;
	const char *why = NULL;
	const int port = free_port();
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(datagram_io_new(w.loop, "127.0.0.1", (uint16_t)port, 65536, on_datagram,
				 &w, &io, &why),
		0);
	to_fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(connect(to_fd, (struct sockaddr *)&to, sizeof(to)), 0);
	for (int i = 0; i < FLOOD; i++) /* nobody reads meanwhile */
		assert_int_equal(send(to_fd, bytes, sizeof(bytes), 0), BYTES);
	w.poll = loop_timer_new(w.loop, on_poll, &w);
	loop_timer_start(w.poll, 10 * NS_PER_MS, 10 * NS_PER_MS);
	loop_run(w.loop);
	assert_true(w.last);
	assert_memory_equal(w.source, loopback, 16);
	assert_true(datagram_io_drops(io) > 0);
	/* all but those of one byte, of which some may have been dropped, too */
	assert_true(w.received + datagram_io_drops(io) >= FLOOD);
	assert_true(w.received < FLOOD);
	loop_timer_free(w.poll);
	datagram_io_free(io);
	close(to_fd);
	loop_free(w.loop);
}

static void test_refused(void **state)
{
	struct loop *loop;
	struct datagram_io *io;
	const char *why = NULL;
	assert_int_equal(loop_new(&loop), 0);
	/* an address of documentation, RFC 5737: not of this machine */
	assert_int_equal(
		datagram_io_new(loop, "192.0.2.77", 6343, 65536, on_datagram, NULL, &io, &why),
		-EADDRNOTAVAIL);
	assert_string_equal(why, strerror(EADDRNOTAVAIL));
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flood), cmocka_unit_test(test_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
