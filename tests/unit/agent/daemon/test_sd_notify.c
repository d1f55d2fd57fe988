/* notify: what systemd would hear, on a socket of the test's own. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/daemon/life.h"
#include "base/cleanup.h"
#include "base/clock.h"

static void test_take(void **state)
{
	char me[24];
	snprintf(me, sizeof(me), "%d", (int)getpid());
	const struct {
		const char *what, *socket, *usec, *pid, *path;
		int64_t watchdog_ns;
	} rows[] = {
		{"nobody listens", NULL, "1000000", NULL, "", 0},
		{"a path", "/run/x", NULL, NULL, "/run/x", 0},
		{"abstract", "@x", NULL, NULL, "@x", 0},
		{"twice as often as asked for", "/run/x", "1000000", NULL, "/run/x",
			500 * NS_PER_MS},
		{"for us", "/run/x", "1000000", me, "/run/x", 500 * NS_PER_MS},
		{"for another process", "/run/x", "1000000", "1", "/run/x", 0},
		{"not a number", "/run/x", "soon", NULL, "/run/x", 0},
		{"not a time", "/run/x", "-5", NULL, "/run/x", 0},
		{"not a path", "x", "1000000", NULL, "", 0},
		{"nothing but @", "@", NULL, NULL, "", 0},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct notify n;
		const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"},
				  *const values[] = {rows[i].socket, rows[i].usec, rows[i].pid};
		for (size_t k = 0; k < rw_countof(names); k++)
			values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]);
		notify_take(&n);
		if (strcmp(n.path, rows[i].path) != 0 || n.watchdog_ns != rows[i].watchdog_ns)
			fail_msg("%s: '%s' and %lld ns", rows[i].what, n.path,
				(long long)n.watchdog_ns);
		for (size_t k = 0; k < rw_countof(names); k++)
			assert_null(getenv(names[k])); /* not for our children */
	}
}

static void test_send(void **state)
{
	char dir[] = "/tmp/rw-notify-XXXXXX";
	assert_non_null(mkdtemp(dir));
	for (int abstract = 0; abstract < 2; abstract++) {
		struct notify n = {0};
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		char text[64] = "";
		snprintf(n.path, sizeof(n.path), "%s%s/socket", abstract ? "@" : "", dir);
		memcpy(at.sun_path, n.path, strlen(n.path));
		if (abstract)
			at.sun_path[0] = '\0';
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(fd, (struct sockaddr *)&at,
					 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
						 strlen(n.path))),
			0);
		notify_send(&n, "READY=1\nSTATUS=collecting");
		struct pollfd p = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&p, 1, 10000), 1);
		ssize_t got = recv(fd, text, sizeof(text) - 1, 0);
		assert_int_equal(got, (ssize_t)strlen("READY=1\nSTATUS=collecting"));
		assert_string_equal(text, "READY=1\nSTATUS=collecting");
		close(fd);
		if (!abstract)
			unlink(n.path);
		notify_send(&n, "READY=1"); /* nobody there any more: no word, no harm */
	}
	notify_send(&(struct notify){0}, "READY=1");
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take), cmocka_unit_test(test_send)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
