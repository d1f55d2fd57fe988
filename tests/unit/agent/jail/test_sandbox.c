/* test_sandbox - each kind of process, in a child of the test: what it needs works, what somebody
 * who has taken it over would want does not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/jail/sandbox.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

enum { CODE_GOOD = 40, CODE_BAD, CODE_NOT_ENTERED };

/* What a child did: the exit code, or 1000 + the signal that ended it. */
static int ended(pid_t pid)
{
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* Runs @task in a child of this @kind; the child tells by its exit code whether it was true. */
static int sandboxed(enum sandbox_kind kind, const struct sandbox_paths *paths,
	bool (*task)(const void *arg), const void *arg)
{
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		struct err e = {0};
		if (sandbox_self(&e) < 0 || sandbox_files(kind, paths, &e) < 0 ||
			sandbox_calls_as(kind, paths, SANDBOX_REFUSE, &e) < 0) {
			fprintf(stderr, "%s\n", e.text);
			_exit(CODE_NOT_ENTERED);
		}
		if (task(arg))
			_exit(CODE_GOOD);
		_exit(CODE_BAD);
	}
	return ended(pid);
}

/* ---- calls --------------------------------------------------------------- */

struct call {
	const char *name;
	long number, args[6];
	bool of_sanitizers; /* their runtime makes it */
};

static long page[1024];

static const struct call wanted_by_nobody[] = {
	{"ptrace", SYS_ptrace, {PTRACE_TRACEME}, .of_sanitizers = true},
	{"process_vm_readv", SYS_process_vm_readv, {1}, .of_sanitizers = true},
	{"personality", SYS_personality, {0xffffffff}, .of_sanitizers = true},
	{"process_vm_writev", SYS_process_vm_writev, {1}},
	{"process_madvise", SYS_process_madvise, {0}},
	{"kcmp", SYS_kcmp, {1, 1}},
	{"pidfd_getfd", SYS_pidfd_getfd, {0}},
	{"mount", SYS_mount, {0}},
	{"umount2", SYS_umount2, {0}},
	{"fsopen", SYS_fsopen, {0}},
	{"move_mount", SYS_move_mount, {0}},
	{"pivot_root", SYS_pivot_root, {0}},
	{"chroot", SYS_chroot, {0}},
	{"bpf", SYS_bpf, {0}},
	{"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING}},
	{"add_key", SYS_add_key, {0}},
	{"request_key", SYS_request_key, {0}},
	{"kexec_load", SYS_kexec_load, {0}},
	{"init_module", SYS_init_module, {0}},
	{"finit_module", SYS_finit_module, {-1}},
	{"delete_module", SYS_delete_module, {0}},
	{"userfaultfd", SYS_userfaultfd, {0}},
	{"perf_event_open", SYS_perf_event_open, {0}},
	{"io_uring_setup", SYS_io_uring_setup, {1, (long)page}},
	{"unshare", SYS_unshare, {0}},
	{"setns", SYS_setns, {-1}},
	{"clone with a new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD},
		.of_sanitizers = true},
	{"clone3", SYS_clone3, {0}, .of_sanitizers = true},
	{"open_by_handle_at", SYS_open_by_handle_at, {0}},
	{"name_to_handle_at", SYS_name_to_handle_at, {0}},
	{"fanotify_init", SYS_fanotify_init, {0}},
	{"quotactl", SYS_quotactl, {0}},
	{"acct", SYS_acct, {0}},
	{"reboot", SYS_reboot, {0}},
	{"swapon", SYS_swapon, {0}},
	{"settimeofday", SYS_settimeofday, {0}},
	{"clock_settime", SYS_clock_settime, {CLOCK_REALTIME}},
	{"adjtimex", SYS_adjtimex, {0}},
	{"sethostname", SYS_sethostname, {0}},
	{"mknodat", SYS_mknodat, {AT_FDCWD, (long)"/nowhere/x", S_IFIFO}},
	{"setuid", SYS_setuid, {-1}},
	{"setgroups", SYS_setgroups, {0}},
	{"memory that is writable and code", SYS_mmap,
		{0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1},
		.of_sanitizers = true},
	{"memory that becomes code", SYS_mprotect, {(long)page, 0, PROT_READ | PROT_EXEC},
		.of_sanitizers = true},
	{"socket of the kernel's ciphers", SYS_socket, {AF_ALG, SOCK_SEQPACKET}},
	{"socket to a hypervisor", SYS_socket, {AF_VSOCK, SOCK_STREAM}},
	{"keys into a terminal", SYS_ioctl, {0, TIOCSTI, (long)"x"}, .of_sanitizers = true},
};

static const struct call wanted_by_agent_only[] = {
	{"execve", SYS_execve, {0}, .of_sanitizers = true},
	{"fork", SYS_fork, {0}},
	{"kill", SYS_kill, {1}, .of_sanitizers = true},
	{"socket of IPv4", SYS_socket, {AF_INET, SOCK_STREAM}},
	{"socket of packets", SYS_socket, {AF_PACKET, SOCK_RAW}},
	{"capset", SYS_capset, {0}},
};

static bool fails(const void *arg)
{
	const struct call *c = arg;
	const long *a = c->args;
	errno = 0;
	const long rc = syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	return rc == -1 && (errno == ENOSYS || errno == EPERM);
}

static void expect_refused(enum sandbox_kind kind, const struct call *call)
{
	if (RW_SANITIZED && call->of_sanitizers)
		return;
	const int end = sandboxed(kind, NULL, fails, call);
	const bool ended = kind == SANDBOX_PARSER || kind == SANDBOX_RECEIVER;
	if (end == CODE_GOOD || (ended && end == 1000 + SIGSYS))
		return;
	fail_msg("sandbox %d: %s ended with %d", (int)kind, call->name, end);
}

static void calls_that_only_an_intruder_makes_are_refused(void **state)
{
	for (unsigned kind = 0; kind < SANDBOX_KINDS; kind++) {
		for (size_t k = 0; k < rw_countof(wanted_by_nobody); k++)
			expect_refused(kind, &wanted_by_nobody[k]);
	}
}

static void only_the_agent_starts_programs_and_opens_sockets(void **state)
{
	for (size_t k = 0; k < rw_countof(wanted_by_agent_only); k++) {
		expect_refused(SANDBOX_WEB, &wanted_by_agent_only[k]);
		expect_refused(SANDBOX_PARSER, &wanted_by_agent_only[k]);
		expect_refused(SANDBOX_RECEIVER, &wanted_by_agent_only[k]);
	}
}

static void a_parser_is_ended_by_its_first_wrong_step(void **state)
{
	const struct call keyctl_call = {
		"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING}};
	assert_int_equal(sandboxed(SANDBOX_PARSER, NULL, fails, &keyctl_call), 1000 + SIGSYS);
}

static bool network_namespace(const void *arg)
{
	return syscall(SYS_setns, -1, CLONE_NEWNET) == -1 && errno == EBADF;
}

static void network_namespaces_are_open_to_who_asks(void **state)
{
	const struct sandbox_paths paths = {.netns = true};
	assert_int_equal(sandboxed(SANDBOX_AGENT, &paths, network_namespace, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, NULL, network_namespace, NULL), CODE_BAD);
	const struct sandbox_paths none = {0};
	assert_int_equal(sandboxed(SANDBOX_AGENT, &none, network_namespace, NULL), CODE_BAD);
	/* and to no other process, whatever the configuration names */
	assert_int_equal(sandboxed(SANDBOX_WEB, &paths, network_namespace, NULL), CODE_BAD);
}

static void *of_thread(void *arg)
{
	void *memory = malloc((size_t)1 << 22);
	free(memory);
	/* as Abseil of 2024 names its arenas; a kernel may refuse it */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, arg, 4096, "absl");
	return arg;
}

/* What every process does all day. */
static bool lives(const void *arg)
{
	struct timespec now;
	int pair[2];
	char *memory = malloc((size_t)8 << 20);
	if (!memory)
		return false;
	memset(memory, 1, (size_t)8 << 20);
	memory = realloc(memory, (size_t)16 << 20);
	free(memory);
	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now) < 0 || pipe(pair) < 0)
		return false;
	if (write(pair[1], "x", 1) != 1 || read(pair[0], &now, 1) != 1)
		return false;
	fprintf(stderr, "%s", ""); /* buffers of the C library */
	return close(pair[0]) == 0 && close(pair[1]) == 0;
}

static bool has_threads(const void *arg)
{
	pthread_t thread;
	void *ret = NULL;
	if (pthread_create(&thread, NULL, of_thread, page) != 0)
		return false;
	return pthread_join(thread, &ret) == 0 && ret == page;
}

static bool runs_a_program(const void *arg)
{
	int status = -1;
	const pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool opens_sockets(const void *arg)
{
	const int v4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int list = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
	return v4 >= 0 && (v6 >= 0 || errno == EAFNOSUPPORT) && local >= 0 && list >= 0;
}

static void what_is_needed_works(void **state)
{
	for (unsigned kind = 0; kind < SANDBOX_KINDS; kind++)
		assert_int_equal(sandboxed(kind, NULL, lives, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, NULL, has_threads, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_WEB, NULL, has_threads, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_RECEIVER, NULL, has_threads, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, NULL, runs_a_program, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, NULL, opens_sockets, NULL), CODE_GOOD);
}

static void a_refused_call_is_named_in_test_builds(void **state)
{
	int pair[2];
	char text[256] = "";
	struct err e = {0};
	assert_int_equal(pipe(pair), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(pair[1], STDERR_FILENO);
		if (sandbox_calls_as(SANDBOX_AGENT, NULL, SANDBOX_NAME_AND_END, &e) == 0)
			syscall(SYS_swapoff, "/nowhere");
		_exit(CODE_BAD);
	}
	close(pair[1]);
	assert_int_equal(ended(pid), 1000 + SIGSYS);
	assert_true(read(pair[0], text, sizeof(text) - 1) > 0);
	close(pair[0]);
	char expected[32];
	snprintf(expected, sizeof(expected), "system call %d\n", SYS_swapoff);
	if (!strstr(text, expected))
		fail_msg("%s", text);
}

static bool makes_no_ring(const void *arg)
{
	errno = 0;
	return syscall(SYS_io_uring_setup, 1, page) < 0 && errno == ENOSYS && getpid() > 0 &&
		access("/", R_OK) == 0;
}

static void a_library_that_asks_for_a_ring_goes_on_without(void **state)
{
	struct err e = {0};
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		if (sandbox_no_rings(&e) < 0)
			_exit(CODE_NOT_ENTERED);
		if (!makes_no_ring(NULL))
			_exit(CODE_BAD);
		/* what the agent starts is behind the agent's wall, also where a refusal ends it */
		if (sandbox_calls_as(SANDBOX_AGENT, NULL, SANDBOX_NAME_AND_END, &e) < 0)
			_exit(CODE_NOT_ENTERED);
		if (!makes_no_ring(NULL))
			_exit(CODE_BAD);
		_exit(CODE_GOOD);
	}
	assert_int_equal(ended(pid), CODE_GOOD);
}

/* ---- files --------------------------------------------------------------- */

struct place {
	char dir[64], secret[96], store[96], inside[128], linked[128];
};

static int place_setup(void **state)
{
	struct place *p = rw_calloc(1, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), "/tmp/rocewatch-sandbox-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->secret, sizeof(p->secret), "%s/secret", p->dir);
	snprintf(p->store, sizeof(p->store), "%s/store", p->dir);
	snprintf(p->inside, sizeof(p->inside), "%s/inside", p->store);
	const int fd = open(p->secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	*state = p;
	return mkdir(p->store, 0700) + close(fd);
}

static int place_teardown(void **state)
{
	struct place *p = *state;
	unlink(p->inside);
	unlink(p->secret);
	rmdir(p->store);
	const int rc = rmdir(p->dir);
	free(p);
	return rc;
}

/* A kernel without Landlock, or one that was not told to use it: nothing to test. */
static bool landlock_missing(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1U) < 0;
}

static bool file_reads(const void *arg)
{
	const int fd = open(arg, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && close(fd) == 0;
}

static bool file_makes(const void *arg)
{
	const int fd = open(arg, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0;
}

static bool file_is_outside(const void *arg)
{
	return outside_is(arg) && *outside_hint(arg);
}

static void files_are_those_that_were_named(void **state)
{
	const struct place *p = *state;
	struct sandbox_paths paths = {0};
	if (landlock_missing())
		skip();
	for (unsigned kind = SANDBOX_AGENT; kind <= SANDBOX_WEB; kind++) {
		assert_int_equal(sandboxed(kind, NULL, file_reads, "/etc/passwd"), CODE_GOOD);
		assert_int_equal(sandboxed(kind, NULL, file_makes, p->inside), CODE_BAD);
		assert_int_equal(sandboxed(kind, NULL, file_makes, "/dev/null"), CODE_GOOD);
		assert_int_equal(sandboxed(kind, NULL, file_is_outside, "/etc/passwd"), CODE_BAD);
		if (RW_SANITIZED)
			continue; /* everything may be read */
		assert_int_equal(sandboxed(kind, NULL, file_reads, p->secret), CODE_BAD);
		assert_int_equal(sandboxed(kind, NULL, file_is_outside, p->secret), CODE_GOOD);
	}
	sandbox_add(&paths, p->store, SANDBOX_WRITE);
	assert_int_equal(sandboxed(SANDBOX_AGENT, &paths, file_makes, p->inside), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, &paths, file_makes, p->secret), CODE_BAD);
	sandbox_add_beside(&paths, p->secret, SANDBOX_READ);
	assert_int_equal(sandboxed(SANDBOX_AGENT, &paths, file_reads, p->secret), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_AGENT, &paths, file_makes, p->secret), CODE_BAD);
	sandbox_paths_done(&paths);
}

static void a_file_that_may_be_changed_cannot_be_removed(void **state)
{
	const struct place *p = *state;
	struct sandbox_paths paths = {0};
	if (landlock_missing())
		skip();
	assert_true(file_makes(p->inside));
	sandbox_add(&paths, p->inside, SANDBOX_EDIT);
	assert_int_equal(sandboxed(SANDBOX_WEB, &paths, file_makes, p->inside), CODE_GOOD);
	unlink(p->inside);
	assert_int_equal(sandboxed(SANDBOX_WEB, &paths, file_makes, p->inside), CODE_BAD);
	sandbox_paths_done(&paths);
}

static void a_parser_has_no_file(void **state)
{
	struct sandbox_paths paths = {0};
	if (RW_SANITIZED)
		skip();
	sandbox_add(&paths, "/", SANDBOX_WRITE);
	assert_int_equal(sandboxed(SANDBOX_PARSER, &paths, file_reads, "/etc/passwd"), CODE_BAD);
	assert_int_equal(sandboxed(SANDBOX_RECEIVER, &paths, file_reads, "/etc/passwd"), CODE_BAD);
	sandbox_paths_done(&paths);
}

/* ---- itself -------------------------------------------------------------- */

static bool leaves_no_core(const void *arg)
{
	struct rlimit core;
	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0 &&
		(RW_SANITIZED || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0) &&
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static void no_core_and_no_new_rights(void **state)
{
	assert_int_equal(sandboxed(SANDBOX_AGENT, NULL, leaves_no_core, NULL), CODE_GOOD);
	assert_int_equal(sandboxed(SANDBOX_WEB, NULL, leaves_no_core, NULL), CODE_GOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_only_an_intruder_makes_are_refused),
		cmocka_unit_test(only_the_agent_starts_programs_and_opens_sockets),
		cmocka_unit_test(a_parser_is_ended_by_its_first_wrong_step),
		cmocka_unit_test(network_namespaces_are_open_to_who_asks),
		cmocka_unit_test(what_is_needed_works),
		cmocka_unit_test(a_refused_call_is_named_in_test_builds),
		cmocka_unit_test(a_library_that_asks_for_a_ring_goes_on_without),
		cmocka_unit_test_setup_teardown(
			files_are_those_that_were_named, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_may_be_changed_cannot_be_removed, place_setup, place_teardown),
		cmocka_unit_test(a_parser_has_no_file),
		cmocka_unit_test(no_core_and_no_new_rights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
