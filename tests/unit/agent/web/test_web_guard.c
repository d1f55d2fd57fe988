/* web_guard: who may connect, which names are this server's, and which tokens are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/web/api_request.h"
#include "base/cleanup.h"
#include "base/err.h"

#define FIRST "0123456789abcdef0123456789abcdef"
#define SECOND "fedcba9876543210fedcba9876543210"

static struct web_guard *guard_of(const struct config_http *http)
{
	struct web_guard *guard = NULL;
	struct err e = {0};
	if (web_guard_new(http, &guard, &e) != 0)
		fail_msg("%s", e.text);
	return guard;
}

/* ---- networks ------------------------------------------------------------ */

static bool guard_admits(const struct web_guard *guard, const char *peer)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, peer, &v4.sin_addr) == 1)
		return web_guard_admits(guard, (const struct sockaddr *)(const void *)&v4);
	assert_int_equal(inet_pton(AF_INET6, peer, &v6.sin6_addr), 1);
	return web_guard_admits(guard, (const struct sockaddr *)(const void *)&v6);
}

static void test_networks(void **state)
{
	static const char *const allow[] = {"10.1.0.0/16", "192.0.2.7", "2001:db8::5"};
	static const struct {
		const char *peer;
		bool admitted;
	} rows[] = {
		{"10.1.255.9", true},
		{"10.2.0.1", false},
		{"192.0.2.7", true},
		{"192.0.2.8", false},
		{"127.0.0.1", false}, /* this machine is not in the list */
		{"2001:db8::5", true},
		{"2001:db8::6", false}, /* the second half of an address counts */
		{"::ffff:10.1.2.3", true},
		{"::ffff:10.2.2.3", false},
		{"::1", false},
	};
	const struct config_http http = {
		.address = "10.1.0.1", .allow = allow, .n_allow = rw_countof(allow)};
	struct web_guard *guard = guard_of(&http);
	const struct sockaddr_un local = {.sun_family = AF_UNIX};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (guard_admits(guard, rows[i].peer) != rows[i].admitted)
			fail_msg("%s: expected %s", rows[i].peer,
				rows[i].admitted ? "admitted" : "refused");
	assert_false(web_guard_admits(guard, (const struct sockaddr *)(const void *)&local));
	web_guard_free(guard);
	guard = guard_of(&(struct config_http){.address = "10.1.0.1"});
	assert_true(guard_admits(guard, "203.0.113.1")); /* without a list */
	web_guard_free(guard);
}

/* ---- names --------------------------------------------------------------- */

static void test_names(void **state)
{
	static const char *const hosts[] = {"Fabric.example"};
	static const struct {
		const char *address;
		size_t n_hosts;
		const char *host;
		bool known;
	} rows[] = {
		{"127.0.0.1", 0, NULL, true}, /* HTTP/1.0 */
		{"127.0.0.1", 0, "localhost:9580", true},
		{"127.0.0.1", 0, "[::1]:9580", true},
		{"127.0.0.1", 0, "evil.example", false}, /* its name was made to resolve here */
		{"127.0.0.1", 0, "localhost/", false},
		{"127.0.0.1", 1, "fabric.example", true},
		{"127.0.0.1", 1, "evil.example", false},
		{"127.0.0.1", 1, "fabric.example.evil.org", false}, /* a beginning is not it */
		{"127.0.0.1", 1, "fabric.exampl", false},
		{"192.0.2.1", 0, "any.example", true}, /* a token is asked for there */
		{"192.0.2.1", 1, "fabric.example", true},
		{"192.0.2.1", 1, "192.0.2.1:9580", true},
		{"192.0.2.1", 1, "evil.example", false},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct config_http http = {
			.address = rows[i].address, .hosts = hosts, .n_hosts = rows[i].n_hosts};
		struct web_guard *guard = guard_of(&http);
		if (web_guard_knows_host(guard, rows[i].host) != rows[i].known)
			fail_msg("%s at %s with %zu names", rows[i].host, rows[i].address,
				rows[i].n_hosts);
		web_guard_free(guard);
	}
}

/* ---- tokens -------------------------------------------------------------- */

static void file_put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_tokens(void **state)
{
	static const struct {
		const char *header;
		bool known;
	} rows[] = {
		{"Bearer " FIRST, true},
		{"bearer  " SECOND " ", true},
		{"Bearer 0123456789abcdef", false}, /* the beginning of one */
		{"Bearer " FIRST "0", false},
		{"Bearer " FIRST FIRST, false},
		{"Bearer 1123456789abcdef0123456789abcdef", false},
		{"Bearer ops", false}, /* the name of the second */
		{"Bearer ", false},
		{"Basic " FIRST, false},
		{FIRST, false},
		{"", false},
		{NULL, false},
	};
	char path[] = "/tmp/rw_tokens_XXXXXX";
	const int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	file_put(path, "# who may read\n" FIRST "\n\nops " SECOND, 0600);
	struct web_guard *guard =
		guard_of(&(struct config_http){.address = "192.0.2.1", .tokens_file = path});
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (web_guard_token(guard, rows[i].header) != rows[i].known)
			fail_msg("'%s' is %s", rows[i].header ? rows[i].header : "no header",
				rows[i].known ? "not known" : "known");
	char who[API_ACTOR_MAX + 1];
	assert_int_equal(web_guard_actor(guard, "Bearer " SECOND, who, sizeof(who)), -EACCES);
	web_guard_free(guard);
	file_put(path, FIRST "\nops " SECOND " may:ack", 0600);
	guard = guard_of(&(struct config_http){.address = "192.0.2.1", .tokens_file = path});
	assert_int_equal(web_guard_actor(guard, "Bearer " FIRST, who, sizeof(who)), -EACCES);
	assert_int_equal(web_guard_actor(guard, NULL, who, sizeof(who)), -EACCES);
	assert_int_equal(web_guard_actor(guard, "Bearer " SECOND, who, sizeof(who)), 0);
	assert_string_equal(who, "ops");
	web_guard_free(guard);
	unlink(path);
	guard = guard_of(&(struct config_http){.address = "127.0.0.1"});
	assert_true(web_guard_token(guard, NULL)); /* none is asked for */
	assert_int_equal(web_guard_actor(guard, NULL, who, sizeof(who)), -EACCES);
	web_guard_free(guard);
}

/* A file that others read, that holds no token or a wrong line: no server, rather than an open one.
 */
static void test_tokens_file_refused(void **state)
{
	static const struct {
		const char *what, *text;
		mode_t mode;
		int rc;
		const char *says;
	} rows[] = {
		{"the group reads it", FIRST "\n", 0640, -EACCES, "chmod 600"},
		{"everybody reads it", FIRST "\n", 0604, -EACCES, "chmod 600"},
		{"empty", "", 0600, -EINVAL, "holds no token"},
		{"a comment only", "# none yet\n", 0600, -EINVAL, "holds no token"},
		{"a short token", FIRST "\nshort\n", 0600, -EINVAL, "a token of 5 characters"},
	};
	char path[] = "/tmp/rw_tokens_XXXXXX";
	const int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	const struct config_http http = {.address = "192.0.2.1", .tokens_file = path};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct web_guard *guard = NULL;
		struct err e = {0};
		file_put(path, rows[i].text, rows[i].mode);
		const int rc = web_guard_new(&http, &guard, &e);
		if (rc != rows[i].rc || !strstr(e.text, rows[i].says))
			fail_msg("%s: %d, %s", rows[i].what, rc, e.text);
	}
	unlink(path);
	struct web_guard *guard = NULL;
	assert_int_equal(web_guard_new(&http, &guard, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_tokens_file_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
