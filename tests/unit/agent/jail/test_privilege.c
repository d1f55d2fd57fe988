/* privilege: whom the agent becomes, what it keeps, and which files it gives away. What changes the
 * process happens in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/jail/privilege.h"

#define STRANGER 12345 /* the number of a user that is neither root nor the agent's */

/* Runs @fn in a child; what it writes to its standard error tells what is wrong. */
static void assert_child(void (*fn)(void *arg), void *arg)
{
	int status = 0;
	const pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("the child ended with status %#x; it says above why", (unsigned)status);
}

static void child_check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s\n", what);
	_exit(1);
}

static bool child_has(unsigned capability)
{
	capng_get_caps_process();
	return capng_have_capability(CAPNG_PERMITTED, capability);
}

/* A user that is configured is the one the agent becomes, or it does not run at all. */
static void test_user_is_missing(void **state)
{
	const struct config config = {.store = {.path = "/nowhere/x.db"}, .user = "rw-no-such"};
	struct err e = {0};
	assert_true(privilege_begin(&config, &e) < 0);
	assert_non_null(strstr(e.text, "rw-no-such"));
	e = (struct err){0};
	assert_true(privilege_drop(&config, &e) < 0);
	assert_non_null(strstr(e.text, "rw-no-such"));
}

static void child_keeps(void *arg)
{
	struct config_capture capture = {.name = "c", .interface = "lo"};
	struct config config = {.store = {.path = "/tmp/rw-privilege.db"}};
	const bool had_raw = child_has(CAP_NET_RAW);
	const char *what = arg;
	struct err e = {0};
	if (str_eq(what, "capture")) {
		config.captures = &capture;
		config.n_captures = 1;
	}
	child_check(privilege_begin(&config, &e) == 0, e.text);
	child_check(privilege_drop(&config, &e) == 0, e.text);
	child_check(child_has(CAP_NET_RAW) == (had_raw && config.n_captures),
		"CAP_NET_RAW is kept for a capture, and for nothing else");
	child_check(!child_has(CAP_SYS_ADMIN), "CAP_SYS_ADMIN is kept without a namespace");
	child_check(!child_has(CAP_SETUID), "CAP_SETUID is kept");
	child_check(!child_has(CAP_SYS_PTRACE), "CAP_SYS_PTRACE is kept");
}

static void child_keeps_none(void *arg)
{
	struct err e = {0};
	child_check(privilege_none(&e) == 0, e.text);
	for (unsigned k = 0; k <= CAP_LAST_CAP; k++)
		child_check(!child_has(k), "a capability is left");
}

static void test_kept(void **state)
{
	assert_child(child_keeps, (void *)(uintptr_t) "nothing");
	assert_child(child_keeps, (void *)(uintptr_t) "capture");
	assert_child(child_keeps_none, NULL);
}

static void child_drops(void *arg)
{
	const struct config config = {.store = {.path = arg}, .user = "nobody"};
	struct err e = {0};
	child_check(privilege_begin(&config, &e) == 0, e.text);
	child_check(privilege_drop(&config, &e) == 0, e.text);
	child_check(geteuid() != 0 && getuid() != 0, "it is still root");
	child_check(setuid(0) != 0, "it can become root again");
	child_check(!child_has(CAP_DAC_OVERRIDE), "CAP_DAC_OVERRIDE is kept");
}

static void file_make(const char *dir, const char *name, uid_t owner)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", dir, name);
	const int fd = open(path.s, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, owner), 0);
	close(fd);
}

static uid_t file_owner(const char *dir, const char *name)
{
	struct stat st;
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", dir, name);
	assert_int_equal(lstat(path.s, &st), 0);
	return st.st_uid;
}

/* The store goes to the agent's user; a file of somebody else, and what a link leads to, do not. */
static void test_files_handed_over(void **state)
{
	const struct passwd *nobody = getpwnam("nobody");
	char dir[] = "/tmp/rw_privilege_XXXXXX";
	if (geteuid() != 0 || !nobody) {
		print_message("only root can give files away: skipped\n");
		skip();
	}
	const uid_t uid = nobody->pw_uid;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	rw_cleanup(str_done) struct str store = {0}, link = {0};
	str_addf(&store, "%s/x.db", dir);
	str_addf(&link, "%s/x.db-shm", dir);
	file_make(dir, "x.db", 0);
	file_make(dir, "x.db-wal", STRANGER);
	file_make(dir, "other", 0);
	assert_int_equal(symlink("other", link.s), 0);
	assert_child(child_drops, store.s);
	assert_int_equal(file_owner(dir, "x.db"), uid);
	assert_int_equal(file_owner(dir, "x.db-wal"), STRANGER);
	assert_int_equal(file_owner(dir, "other"), 0);
	rw_cleanup(str_done) struct str rm = {0};
	str_addf(&rm, "rm -r %s", dir);
	assert_int_equal(system(rm.s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_is_missing),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_files_handed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
