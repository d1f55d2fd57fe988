/* address: networks, and which addresses are this machine's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "config/address.h"

static void test_networks(void **state)
{
	static const struct {
		const char *network, *address;
		bool holds;
	} rows[] = {
		{"10.0.0.0/8", "10.255.0.1", true},
		{"10.0.0.0/8", "11.0.0.1", false},
		{"10.0.0.0/9", "10.127.255.255", true},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "192.0.2.6", false},
		{"0.0.0.0/0", "203.0.113.1", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "192.0.2.1", true},
		{"2001:db8::/32", "2001:db8:ffff::1", true},
		{"2001:db8::/32", "2001:db9::1", false},
		{"2001:db8::1/128", "2001:db8::1", true},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct network network, one;
		assert_int_equal(network_parse(rows[i].network, &network), 0);
		assert_int_equal(network_parse(rows[i].address, &one), 0);
		if (network_holds(&network, one.address) != rows[i].holds)
			fail_msg("%s, %s", rows[i].network, rows[i].address);
	}
	static const char *const wrong[] = {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"2001:db8::/129", "10.0.0", "a", "10.0.0.0/8/8", "10.0.0.0/x", "[::1]"};
	for (size_t i = 0; i < rw_countof(wrong); i++) {
		struct network network;
		if (network_parse(wrong[i], &network) != -EINVAL)
			fail_msg("'%s' was accepted", wrong[i]);
	}
}

static void test_local(void **state)
{
	static const char *const local[] = {
		"localhost", "127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"};
	static const char *const other[] = {"", "0.0.0.0", "::", "128.0.0.1", "localhost.example",
		"127.0.0.1.example", "127.0.0.1/8", "192.0.2.1", "::2"};
	for (size_t i = 0; i < rw_countof(local); i++)
		if (!address_is_local(local[i]))
			fail_msg("'%s' is local", local[i]);
	for (size_t i = 0; i < rw_countof(other); i++)
		if (address_is_local(other[i]))
			fail_msg("'%s' is not local", other[i]);
}

/* The port is from 1 to 65535, and a host is one. */
static void test_split(void **state)
{
	static const struct {
		const char *text, *host; /* NULL: refused */
		uint16_t port;
	} rows[] = {
		{"leaf1", "leaf1", 161},
		{"leaf1:1", "leaf1", 1},
		{"192.0.2.1:65535", "192.0.2.1", 65535},
		{"[2001:db8::1]:57400", "2001:db8::1", 57400},
		{"2001:db8::1", "2001:db8::1", 161},
		{"leaf1:0", NULL, 0},
		{"leaf1:65536", NULL, 0},
		{"leaf1:-1", NULL, 0},
		{"leaf1:", NULL, 0},
		{"[2001:db8::1]x", NULL, 0},
		{"192.0.2.256", NULL, 0},
		{"user@leaf1", NULL, 0},
		{"", NULL, 0},
	};
	struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const char *host = NULL;
		uint16_t port = 0;
		struct err e = {0};
		const int rc = address_split(a, rows[i].text, 161, &host, &port, &e);
		if ((rc == 0) != (rows[i].host != NULL))
			fail_msg("'%s': %d", rows[i].text, rc);
		if (rc == 0 && (strcmp(host, rows[i].host) != 0 || port != rows[i].port))
			fail_msg("'%s': %s and %u", rows[i].text, host, (unsigned)port);
	}
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_split),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
