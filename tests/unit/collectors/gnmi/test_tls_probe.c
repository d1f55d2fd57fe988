/*
 * Our own TLS handshake ends by its deadline, whatever the other side sends: nothing, something now
 * and then, or without an end what a handshake skips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "collectors/gnmi/gnmi_target.h"
#include "tests/unit/collectors/gnmi/endless_tls.h"

/* A probe that does not end would hang the test: then the alarm ends it. Its deadline is far below.
 */
#define HANGS_S 60
#define TIMEOUT_NS (NS_PER_S / 2)

static struct tls_probe probed(uint16_t port)
{
	struct tls_probe probe = {.host = "127.0.0.1", .port = port, .timeout_ns = TIMEOUT_NS};
	alarm(HANGS_S);
	tls_probe(&probe);
	alarm(0);
	return probe;
}

/* Bytes are always there, so that OpenSSL never waits. */
static void flood(void **state)
{
	struct endless_tls server;
	endless_begin(&server, 0, 0);
	const struct tls_probe probe = probed(server.port);
	endless_end(&server);
	assert_int_equal(server.served, 1);
	assert_int_equal(probe.finding, TLS_ENDLESS);
	assert_non_null(strstr(probe.text, "its TLS handshake did not end"));
}

/* Each wait is short; together they would take for ever. */
static void drip(void **state)
{
	struct endless_tls server;
	endless_begin(&server, 20, 0);
	const struct tls_probe probe = probed(server.port);
	endless_end(&server);
	assert_int_equal(probe.finding, TLS_ENDLESS);
	assert_non_null(strstr(probe.text, "its TLS handshake did not end within"));
}

/* A server that takes the connection and says nothing is another case, with another remedy. */
static void silence(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(fd, (struct sockaddr *)&a, &n);
	listen(fd, 16);
	const struct tls_probe probe = probed(ntohs(a.sin_port));
	close(fd);
	assert_int_equal(probe.finding, TLS_OTHER);
	assert_string_equal(probe.text, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(flood),
		cmocka_unit_test(drip),
		cmocka_unit_test(silence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
