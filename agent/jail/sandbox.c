/* sandbox - the first wall, and the three in their order. */
#include "agent/jail/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/jail/privilege.h"
#include "base/log.h"
#include "base/process.h"
#include "config/config.h"

void sandbox_add(struct sandbox_paths *paths, const char *path, enum sandbox_use use)
{
	if (!path)
		return;
	rw_grow(paths->v, paths->n, paths->cap);
	paths->v[paths->n++] = (struct sandbox_path){.path = rw_strdup(path), .use = use};
}

static void sandbox_add_directory(
	struct sandbox_paths *paths, const char *file, enum sandbox_use use)
{
	rw_cleanup(freep) char *directory = rw_strdup(file);
	char *slash = strrchr(directory, '/');
	if (!slash) {
		sandbox_add(paths, ".", use);
		return;
	}
	slash[slash == directory] = '\0'; /* "/name" lies in "/" */
	sandbox_add(paths, directory, use);
}

void sandbox_add_beside(struct sandbox_paths *paths, const char *file, enum sandbox_use use)
{
	if (!file)
		return;
	sandbox_add_directory(paths, file, use);
	rw_cleanup(freep) char *linked = realpath(file, NULL);
	if (linked && !str_eq(linked, file))
		sandbox_add_directory(paths, linked, use);
}

void sandbox_paths_done(struct sandbox_paths *paths)
{
	for (size_t k = 0; k < paths->n; k++)
		free(paths->v[k].path);
	free(paths->v);
	*paths = (struct sandbox_paths){0};
}

int sandbox_self(struct err *e)
{
	const struct rlimit none = {0};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot set no_new_privs: %s", strerror(errno));
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_set(e, -errno, "cannot switch off core files: %s", strerror(errno));
	/* the leak checker of sanitizer builds traces its own process */
	if (!RW_SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot hide the memory of this process from others: %s",
			strerror(errno));
	return 0;
}

/*
 * sandbox_calls - which system calls each kind of process may make; the only file that uses
 * libseccomp.
 *
 * One row is a group of calls with one purpose. A name that the installed libseccomp does not know
 * is skipped. Where a call has variants of the same function (open, openat, openat2), all are in
 * one row, so that another C library or a newer one does not change what a process can do. Calls of
 * which only some uses are harmless stand in the second table, with the argument that decides.
 *
 * clone3 hides its flags in memory, where no filter reads them: it fails as on an old kernel, and
 * the C library then calls clone.
 */

#define A (1U << SANDBOX_AGENT)
#define W (1U << SANDBOX_WEB)
#define P (1U << SANDBOX_PARSER)
#define R (1U << SANDBOX_RECEIVER)
#define ALL (A | W | P | R)
#define NAME_MAX_BYTES 32

struct calls_group {
	const char *purpose, *calls; /* names, parted by blanks */
	unsigned kinds; /* who may */
	unsigned soft; /* kinds for which the call fails with EPERM. PARSER needs it: calls without
			  a row end it */
};

static const struct calls_group groups[] = {
	{"memory", "brk munmap mremap madvise mincore mlock mlock2 munlock membarrier", ALL},
	{"locks and threads",
		"futex futex_waitv futex_wait futex_wake set_robust_list get_robust_list rseq "
		"sched_yield sched_getaffinity getcpu set_tid_address",
		ALL},
	{"the end", "exit exit_group restart_syscall rt_sigreturn sigreturn", ALL},
	{"signals to oneself",
		"rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend sigaltstack", ALL},
	{"time", "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times",
		ALL},
	{"waiting",
		"poll ppoll select pselect6 _newselect epoll_create epoll_create1 epoll_ctl "
		"epoll_wait epoll_pwait epoll_pwait2",
		ALL},
	{"descriptors that are open",
		"read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek "
		"_llseek close close_range fstat fstat64 dup dup2 dup3 fcntl fcntl64 pipe pipe2 "
		"eventfd eventfd2",
		ALL},
	{"sockets that are open",
		"recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg getsockopt getsockname "
		"getpeername shutdown",
		ALL},
	{"randomness", "getrandom", ALL},
	{"who am I",
		"getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getrusage "
		"uname sysinfo getrlimit",
		ALL},

	{"more on descriptors",
		"fsync fdatasync sync_file_range ftruncate fallocate fadvise64 flock sendfile "
		"sendfile64 "
		"copy_file_range memfd_create msync",
		A | W, P | R},
	{"timers", "timerfd_create timerfd_settime timerfd_gettime setitimer getitimer alarm",
		A | W, P | R},
	{"signals as data", "rt_sigtimedwait signalfd signalfd4 tgkill tkill", A | W},
	{"files, as far as Landlock and the user let it",
		"open openat openat2 stat stat64 lstat lstat64 newfstatat fstatat64 statx access "
		"faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd statfs "
		"fstatfs "
		"fstatfs64 umask getxattr lgetxattr fgetxattr",
		A | W, P | R},
	{"changes of files, as far as Landlock and the user let it",
		"unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat chmod "
		"fchmod fchmodat fchmodat2 chown fchown fchownat utimensat truncate creat symlink "
		"symlinkat",
		A | W, P | R},
	{"sockets", "socketpair bind listen accept accept4 connect setsockopt", A | W},
	{"connections to sockets that listen", "socketpair accept accept4 setsockopt", R},
	{"limits and scheduling",
		"prlimit64 setrlimit getpriority setpriority sched_getparam sched_getscheduler "
		"sched_get_priority_max sched_get_priority_min getgroups getpgrp getpgid getsid "
		"capget get_mempolicy",
		A | W, P | R},
	{"a further wall",
		"seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self", A | W},
	{"programs: the web server, the packet parser, alert commands",
		"execve execveat vfork fork wait4 waitpid waitid kill pidfd_open pidfd_send_signal "
		"setpgid setsid chdir fchdir capset arch_prctl",
		A},

	{"what a library tries, and goes on without", "socket clone prctl clone3 setsockopt", 0, P},
	{"what a library tries, and goes on without", "socket bind listen connect", 0, R},
};

/* A call that is allowed when (argument & mask) == value. */
struct calls_rule {
	const char *call;
	unsigned arg;
	uint64_t mask, value;
	unsigned kinds;
	const char *purpose;
};

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
		CLONE_NEWCGROUP)
#define WORD 0xffffffffULL

static const struct calls_rule rules[] = {
	{"clone", 0, NEW_NAMESPACES, 0, A | W, "threads and children, in the same namespaces"},
	{"clone", 0, NEW_NAMESPACES | CLONE_THREAD, CLONE_THREAD, R, "threads alone"},
	/* memory is writable or code, never both and never one after the other */
	{"mmap", 2, PROT_EXEC, 0, ALL, "memory without code"},
	{"mmap2", 2, PROT_EXEC, 0, ALL, "memory without code"},
	{"mmap", 2, PROT_WRITE, 0, A | W, "code that is not writable"},
	{"mmap2", 2, PROT_WRITE, 0, A | W, "code that is not writable"},
	{"mprotect", 2, PROT_EXEC, 0, ALL, "memory without code"},

	{"socket", 0, WORD, AF_UNIX, A | W, "unix sockets"},
	{"socket", 0, WORD, AF_INET, A, "IPv4 sockets"},
	{"socket", 0, WORD, AF_INET6, A, "IPv6 sockets"},
	{"socket", 0, WORD, AF_NETLINK, A | W, "netlink: lists of interfaces and addresses"},
	{"socket", 0, WORD, AF_PACKET, A, "captures; the kernel asks for CAP_NET_RAW too"},

	{"ioctl", 1, WORD, FIONBIO, A | W | R, "descriptor: does not block"},
	{"ioctl", 1, WORD, FIONREAD, ALL, "descriptor: bytes that wait"},
	{"ioctl", 1, WORD, FIOCLEX, A | W, "descriptor: closed in programs"},
	{"ioctl", 1, WORD, FIONCLEX, A | W, "descriptor: open in programs"},
	{"ioctl", 1, WORD, TCGETS, ALL, "is it a terminal"},
	{"ioctl", 1, WORD, TIOCGWINSZ, A | W, "how wide is the terminal"},
	{"ioctl", 1, WORD, TIOCGPGRP, A, "whose is the terminal"},
	{"ioctl", 1, WORD, SIOCGSTAMP, A, "when a packet came"},
	{"ioctl", 1, WORD, SIOCGIFNAME, A | W, "interface: name"},
	{"ioctl", 1, WORD, SIOCGIFINDEX, ALL, "interface: number"},
	{"ioctl", 1, WORD, SIOCGIFCONF, A, "interfaces: list"},
	{"ioctl", 1, WORD, SIOCGIFFLAGS, A | P, "interface: state"},
	{"ioctl", 1, WORD, SIOCGIFADDR, A, "interface: address"},
	{"ioctl", 1, WORD, SIOCGIFNETMASK, A, "interface: network"},
	{"ioctl", 1, WORD, SIOCGIFBRDADDR, A, "interface: broadcast address"},
	{"ioctl", 1, WORD, SIOCGIFMTU, A, "interface: longest packet"},
	{"ioctl", 1, WORD, SIOCGIFHWADDR, A, "interface: hardware address"},
	{"ioctl", 1, WORD, SIOCETHTOOL, A, "interface: offloads, time stamps"},

	{"prctl", 0, WORD, PR_SET_NAME, A | W | R, "name of a thread"},
	{"prctl", 0, WORD, PR_GET_NAME, A | W | R, "name of a thread"},
	{"prctl", 0, WORD, PR_SET_VMA, A | W | R, "name of memory: Abseil's of 2024, for gRPC"},
	{"prctl", 0, WORD, PR_SET_PDEATHSIG, A | W, "ends with its parent"},
	{"prctl", 0, WORD, PR_SET_DUMPABLE, A | W, "the first wall"},
	{"prctl", 0, WORD, PR_GET_DUMPABLE, A | W, "the first wall"},
	{"prctl", 0, WORD, PR_SET_NO_NEW_PRIVS, A | W, "the first wall"},
	{"prctl", 0, WORD, PR_GET_NO_NEW_PRIVS, A | W, "the first wall"},
	{"prctl", 0, WORD, PR_SET_SECCOMP, A | W, "a further wall"},
	{"prctl", 0, WORD, PR_CAPBSET_READ, A | W, "capabilities that are left"},
	{"prctl", 0, WORD, PR_CAPBSET_DROP, A, "capabilities given up"},
	{"prctl", 0, WORD, PR_CAP_AMBIENT, A, "capabilities given up"},
	{"prctl", 0, WORD, PR_GET_SECUREBITS, A, "capabilities that are left"},
};

#if RW_SANITIZED
/* Shadow memory, the leak checker that traces its own process, and the symbolizer. */
static const char sanitizer_calls[] =
	"mmap mprotect clone clone3 ptrace process_vm_readv prctl personality open openat readlink "
	"readlinkat newfstatat stat access faccessat faccessat2 wait4 waitid tgkill tkill "
	"getdents64 dup "
	"dup2 fcntl pipe pipe2 kill execve ioctl getcwd prlimit64 sched_setaffinity arch_prctl "
	"rt_sigtimedwait statx";
#endif

/* ---- what a refused call does -------------------------------------------- */

/* In builds for tests. Only functions that are safe in a signal handler; the process then ends by
 * the same signal. */
static void calls_on_refused(int signum, siginfo_t *info, void *context)
{
	char text[128] = "rocewatch: the sandbox refuses system call ";
	size_t n = strlen(text);
	char digits[12];
	size_t k = 0;
	unsigned number = (unsigned)info->si_syscall;
	do {
		digits[k++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (k > 0)
		text[n++] = digits[--k];
	text[n++] = '\n';
	if (write(STDERR_FILENO, text, n) < 0)
		_exit(128 + signum);
	signal(signum, SIG_DFL);
	kill(getpid(), signum); /* of the list of "programs": a parser and a web server are ended at
				   once */
	_exit(128 + signum);
}

static uint32_t calls_default(enum sandbox_kind kind, enum sandbox_refusal refusal)
{
	if (refusal == SANDBOX_NAME_AND_END)
		return SCMP_ACT_TRAP;
	if (kind == SANDBOX_PARSER || kind == SANDBOX_RECEIVER)
		return SCMP_ACT_KILL_PROCESS;
	return SCMP_ACT_ERRNO(ENOSYS);
}

/* ---- building the filter ------------------------------------------------- */

/* A name that this libseccomp or this processor lacks is no mistake; nor is a rule that says what
 * the default does. */
static int calls_add(scmp_filter_ctx filter, uint32_t action, const char *name)
{
	const int number = seccomp_syscall_resolve_name(name);
	if (number == __NR_SCMP_ERROR)
		return 0;
	const int rc = seccomp_rule_add(filter, action, number, 0);
	if (rc == -EACCES || rc == -EDOM)
		return 0;
	return rc;
}

static int calls_add_words(scmp_filter_ctx filter, uint32_t action, const char *words)
{
	char name[NAME_MAX_BYTES];
	int rc = 0;
	while (*words && rc == 0) {
		const size_t n = strcspn(words, " ");
		if (n < sizeof(name)) {
			memcpy(name, words, n);
			name[n] = '\0';
			rc = calls_add(filter, action, name);
		}
		words += n;
		words += strspn(words, " ");
	}
	return rc;
}

static int calls_add_rule(scmp_filter_ctx filter, const struct calls_rule *rule)
{
	const int number = seccomp_syscall_resolve_name(rule->call);
	if (number == __NR_SCMP_ERROR)
		return 0;
	const int rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
		SCMP_CMP(rule->arg, SCMP_CMP_MASKED_EQ, rule->mask, rule->value));
	if (rc == -EDOM)
		return 0;
	return rc;
}

static int calls_fill(scmp_filter_ctx filter, unsigned kind, const struct sandbox_paths *paths)
{
	int rc = 0;
	for (size_t k = 0; k < rw_countof(groups) && rc == 0; k++) {
		if (groups[k].kinds & kind)
			rc = calls_add_words(filter, SCMP_ACT_ALLOW, groups[k].calls);
		else if (groups[k].soft & kind)
			rc = calls_add_words(filter, SCMP_ACT_ERRNO(EPERM), groups[k].calls);
	}
	for (size_t k = 0; k < rw_countof(rules) && rc == 0; k++) {
		if (rules[k].kinds & kind)
			rc = calls_add_rule(filter, &rules[k]);
	}
	if (rc == 0 && kind != P)
		rc = calls_add(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3");
	/* a parser that the agent starts asks in its libraries, and goes on without */
	if (rc == 0 && kind == A)
		rc = calls_add(filter, SCMP_ACT_ERRNO(ENOSYS), "io_uring_setup");
	if (rc == 0 && kind == A && paths && paths->netns)
		rc = calls_add(filter, SCMP_ACT_ALLOW, "setns");
#if RW_SANITIZED
	if (rc == 0)
		rc = calls_add_words(filter, SCMP_ACT_ALLOW, sanitizer_calls);
#endif
	return rc;
}

static int calls_load(
	scmp_filter_ctx filter, enum sandbox_kind kind, const struct sandbox_paths *paths)
{
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* the kernel's log names what was refused */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	/* a binary tree of comparisons: a system call costs the same wherever it stands */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	const int rc = calls_fill(filter, 1U << kind, paths);
	if (rc < 0)
		return rc;
	return seccomp_load(filter);
}

static int calls_said(int rc, struct err *e)
{
	if (rc < 0)
		return err_set(e, rc,
			"the filter of system calls cannot be set (seccomp: %s); a unit or a "
			"container around it has to allow the call seccomp, or start the agent "
			"with --no-sandbox",
			strerror(-rc));
	return 0;
}

int sandbox_calls_as(enum sandbox_kind kind, const struct sandbox_paths *paths,
	enum sandbox_refusal refusal, struct err *e)
{
	if (refusal == SANDBOX_NAME_AND_END) {
		struct sigaction action = {
			.sa_sigaction = calls_on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
		sigaction(SIGSYS, &action, NULL);
	}
	if (kind != SANDBOX_AGENT)
		path_ask_nobody();
	scmp_filter_ctx filter = seccomp_init(calls_default(kind, refusal));
	if (!filter)
		return err_set(e, -ENOMEM, "seccomp: no filter");
	const int rc = calls_load(filter, kind, paths);
	seccomp_release(filter);
	return calls_said(rc, e);
}

int sandbox_calls(enum sandbox_kind kind, const struct sandbox_paths *paths, struct err *e)
{
#ifdef NDEBUG
	return sandbox_calls_as(kind, paths, SANDBOX_REFUSE, e);
#else
	return sandbox_calls_as(kind, paths, SANDBOX_NAME_AND_END, e);
#endif
}

int sandbox_no_rings(struct err *e)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return err_set(e, -ENOMEM, "seccomp: no filter");
	int rc = calls_add(filter, SCMP_ACT_ERRNO(ENOSYS), "io_uring_setup");
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return calls_said(rc, e);
}

/* ---- the table, for people ----------------------------------------------- */

static void calls_print_row(
	FILE *out, const char *purpose, const char *calls, unsigned kinds, unsigned soft)
{
	fprintf(out, "| %s |", purpose);
	for (unsigned k = 0; k < SANDBOX_KINDS; k++) {
		const char *word = "";
		if (kinds & (1U << k))
			word = "yes";
		else if (soft & (1U << k))
			word = "fails";
		fprintf(out, " %s |", word);
	}
	fprintf(out, " `%s` |\n", calls);
}

void sandbox_calls_print(FILE *out)
{
	fputs("| purpose | agent | web | parser | receiver | system calls |\n"
	      "|---|---|---|---|---|---|\n",
		out);
	for (size_t k = 0; k < rw_countof(groups); k++)
		calls_print_row(
			out, groups[k].purpose, groups[k].calls, groups[k].kinds, groups[k].soft);
	for (size_t k = 0; k < rw_countof(rules); k++)
		calls_print_row(out, rules[k].purpose, rules[k].call, rules[k].kinds, 0);
}

/*
 * sandbox_files - Landlock, by its three system calls (glibc has no functions for them).
 *
 * What every process of the system reads (libraries, name services, certificates, time zones) is
 * given to AGENT and WEB beside their own paths. A right is bound to the directory that is there
 * when the wall is closed: one that is made or mounted later is outside.
 */

/* Of Linux 6.2 (ABI 3), 6.7 (4), 6.10 (5) and 6.12 (6): the headers of Debian 12 are older. */
#define RIGHT_TRUNCATE (1ULL << 14)
#define RIGHT_IOCTL_DEV (1ULL << 15)
#define NET_BIND_TCP (1ULL << 0)
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

struct files_ruleset { /* struct landlock_ruleset_attr as of ABI 6 */
	uint64_t fs, net, scoped;
};

#define READS                                                                                      \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)
#define EDITS (LANDLOCK_ACCESS_FS_WRITE_FILE | RIGHT_TRUNCATE)
#define MAKES                                                                                      \
	(LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                              \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                     \
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER)
#define OTHERS                                                                                     \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                            \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* The rights that a rule for something other than a directory may name. */
#define OF_FILES                                                                                   \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | EDITS | RIGHT_IOCTL_DEV)

static const uint64_t use_rights[] = {
	[SANDBOX_READ] = READS,
	[SANDBOX_EDIT] = READS | EDITS,
	[SANDBOX_WRITE] = READS | EDITS | MAKES,
};

/* What the C library, name services, TLS and /proc readers of every process need. */
static const struct sandbox_path system_paths[] = {
	{"/etc", SANDBOX_READ},
	{"/usr", SANDBOX_READ},
	{"/bin", SANDBOX_READ},
	{"/sbin", SANDBOX_READ},
	{"/lib", SANDBOX_READ},
	{"/lib32", SANDBOX_READ},
	{"/lib64", SANDBOX_READ},
	{"/nix/store", SANDBOX_READ},
	{"/proc", SANDBOX_READ},
	{"/sys", SANDBOX_READ},
	{"/run", SANDBOX_READ}, /* resolver, name service, credentials, network namespaces */
	{"/var/lib/sss", SANDBOX_READ},
	{"/dev/null", SANDBOX_EDIT},
	{"/dev/zero", SANDBOX_READ},
	{"/dev/full", SANDBOX_EDIT},
	{"/dev/urandom", SANDBOX_READ},
	{"/dev/random", SANDBOX_READ},
#if RW_SANITIZED
	{"/", SANDBOX_READ},
#endif
};

/* The newest interface that the kernel has; 0 = none. */
static int files_abi(void)
{
	const long abi = syscall(
		SYS_landlock_create_ruleset, NULL, 0, (uint32_t)LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return 0;
	return (int)abi;
}

/* @error: what the kernel said when it was asked for Landlock. */
static void files_say_none(int error)
{
	if (error == EPERM) {
		log_warn("sandbox",
			"the unit or a container around it does not allow Landlock "
			"(landlock_create_ruleset): which files the agent may open is limited by "
			"its user and the unit only");
		return;
	}
	log_warn("sandbox",
		"this kernel has no Landlock (Linux 5.13, and 'landlock' in lsm=): which files the "
		"agent may open is limited by its user and the unit only");
}

/* What reads bytes of strangers opens no file at all. */
static bool sandbox_has_no_files(enum sandbox_kind kind)
{
	return kind == SANDBOX_PARSER || kind == SANDBOX_RECEIVER;
}

static struct files_ruleset files_handled(enum sandbox_kind kind, int abi)
{
	struct files_ruleset set = {.fs = READS | EDITS | MAKES | OTHERS | RIGHT_IOCTL_DEV};
	if (abi < 2)
		set.fs &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		set.fs &= ~RIGHT_TRUNCATE;
	if (abi < 5)
		set.fs &= ~RIGHT_IOCTL_DEV;
	if (abi >= 4 && sandbox_has_no_files(kind))
		set.net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 6)
		set.scoped = SCOPE_SIGNAL;
	/* the service manager's socket may be an abstract one: the agent speaks to it */
	if (abi >= 6 && kind != SANDBOX_AGENT)
		set.scoped |= SCOPE_ABSTRACT_SOCKET;
	return set;
}

static size_t files_ruleset_size(int abi)
{
	if (abi < 4)
		return sizeof(uint64_t);
	if (abi < 6)
		return 2 * sizeof(uint64_t);
	return sizeof(struct files_ruleset);
}

/* One that is not there, or that we may not even see, is left out. */
static int files_allow(
	int ruleset, uint64_t handled, const struct sandbox_path *path, struct err *e)
{
	struct stat st;
	rw_cleanup(closep) int fd = open(path->path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	struct landlock_path_beneath_attr rule = {
		.allowed_access = use_rights[path->use] & handled, .parent_fd = fd};
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_set(
			e, -errno, "Landlock: no rule for %s: %s", path->path, strerror(errno));
	return 0;
}

static int files_allow_all(enum sandbox_kind kind, int ruleset, uint64_t handled,
	const struct sandbox_paths *paths, struct err *e)
{
	int rc = 0;
	if (sandbox_has_no_files(kind) && !RW_SANITIZED)
		return 0;
	for (size_t k = 0; k < rw_countof(system_paths) && rc == 0; k++)
		rc = files_allow(ruleset, handled, &system_paths[k], e);
	if (!paths || sandbox_has_no_files(kind))
		return rc;
	for (size_t k = 0; k < paths->n && rc == 0; k++)
		rc = files_allow(ruleset, handled, &paths->v[k], e);
	return rc;
}

int sandbox_files(enum sandbox_kind kind, const struct sandbox_paths *paths, struct err *e)
{
	const int abi = files_abi();
	if (abi == 0) {
		if (kind == SANDBOX_AGENT)
			files_say_none(errno);
		return 0;
	}
	if (paths && paths->free_files)
		return 0;
	const struct files_ruleset set = files_handled(kind, abi);
	rw_cleanup(closep) int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &set, files_ruleset_size(abi), 0);
	if (ruleset < 0)
		return err_set(e, -errno, "Landlock: no ruleset: %s", strerror(errno));
	const int rc = files_allow_all(kind, ruleset, set.fs, paths, e);
	if (rc < 0)
		return rc;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_set(e, -errno, "Landlock: %s", strerror(errno));
	outside_begin();
	return 0;
}

/* sandbox_config - the paths of a configuration, gathered. */

static bool runs_commands(const struct config *config)
{
	for (size_t k = 0; k < config->alerts.n_receivers; k++) {
		if (config->alerts.receivers[k].run.n > 0)
			return true;
	}
	return false;
}

/* What both processes read: the configuration and all that it names, and the program itself. */
static void sandbox_add_config(
	const struct config *config, const char *config_path, struct sandbox_paths *ret)
{
	sandbox_add_beside(ret, "/proc/self/exe", SANDBOX_READ); /* what it links to counts */
	sandbox_add(ret, getenv("CREDENTIALS_DIRECTORY"), SANDBOX_READ);
	sandbox_add_beside(ret, config_path, SANDBOX_READ);
	if (!config)
		return;
	sandbox_add_beside(ret, config->path, SANDBOX_READ);
	sandbox_add(ret, config->profile_dir, SANDBOX_READ);
	for (size_t k = 0; k < config->n_files; k++)
		sandbox_add_beside(ret, config->files[k].path, SANDBOX_READ);
	if (!config->http)
		return;
	sandbox_add_beside(ret, config->http->cert, SANDBOX_READ);
	sandbox_add_beside(ret, config->http->key, SANDBOX_READ);
	sandbox_add_beside(ret, config->http->tokens_file, SANDBOX_READ);
}

/* Where people keep what is theirs, and where no configuration of a service belongs. */
static const char *const private_roots[] = {"home", "root", "boot", "lost+found"};

static bool is_private_root(const char *name)
{
	for (size_t k = 0; k < rw_countof(private_roots); k++) {
		if (str_eq(name, private_roots[k]))
			return true;
	}
	return false;
}

/* A configuration that is read later may name a secret or a profile anywhere: a wall that is in the
 * way of a reload gets switched off by people. So all else may be read, as modes and owners have
 * it. */
static void sandbox_add_roots(struct sandbox_paths *ret)
{
	DIR *root = opendir("/");
	if (!root)
		return;
	for (struct dirent *entry = readdir(root); entry; entry = readdir(root)) {
		rw_cleanup(str_done) struct str path = {0};
		if (*entry->d_name == '.' || is_private_root(entry->d_name))
			continue;
		str_addf(&path, "/%s", entry->d_name);
		sandbox_add(ret, path.s, SANDBOX_READ);
	}
	closedir(root);
}

/* Of a directory that is not there yet no right can be named. */
static bool directory_is_missing(const char *file)
{
	rw_cleanup(freep) char *directory = rw_strdup(file);
	char *slash = strrchr(directory, '/');
	if (!slash || slash == directory)
		return false;
	*slash = '\0';
	return access(directory, F_OK) < 0;
}

void sandbox_of_agent(
	const struct config *config, const char *config_path, struct sandbox_paths *ret)
{
	sandbox_add_roots(ret);
	sandbox_add_config(config, config_path, ret);
	sandbox_add_beside(ret, config->store.path, SANDBOX_WRITE);
	sandbox_add_beside(ret, config->socket_path, SANDBOX_WRITE);
	ret->netns = privilege_wants_netns(config);
	if (runs_commands(config)) {
		ret->free_files = true;
		log_info("sandbox",
			"alerts run a command of this site, and what it may open is not known "
			"here: "
			"files are limited by the agent's user and the unit only");
		return;
	}
	if (directory_is_missing(config->store.path)) {
		ret->free_files = true;
		log_warn("sandbox",
			"the directory of %s does not exist yet: until the next start files are "
			"limited by the agent's user and the unit only",
			config->store.path);
	}
}

void sandbox_of_reload(const struct config *was, const struct config *is)
{
	if (runs_commands(is) && !runs_commands(was))
		log_warn("sandbox",
			"reload: alerts run a command now; until the agent is restarted that can "
			"open only the files that the agent can");
	if (privilege_wants_netns(is) && !privilege_wants_netns(was))
		log_warn("sandbox",
			"reload: a network namespace is named now; entering it needs a restart");
}

static void index_name(const char *db_path, struct str *ret)
{
	str_addf(ret, "%s-shm", db_path);
}

void sandbox_of_web(const struct config *config, const char *config_path, const char *db_path,
	bool child, struct sandbox_paths *ret)
{
	rw_cleanup(str_done) struct str index = {0};
	index_name(db_path, &index);
	sandbox_add_config(config, config_path, ret);
	if (!child) { /* the first reader of a file that nobody writes makes log and index */
		sandbox_add_beside(ret, db_path, SANDBOX_WRITE);
		return;
	}
	if (access(index.s, F_OK) == 0) {
		sandbox_add_beside(ret, db_path, SANDBOX_READ);
		sandbox_add(ret, index.s, SANDBOX_EDIT);
		return;
	}
	sandbox_add_beside(ret, db_path, SANDBOX_EDIT);
}

uint64_t sandbox_index_inode(const char *db_path)
{
	rw_cleanup(str_done) struct str index = {0};
	struct stat st;
	index_name(db_path, &index);
	if (stat(index.s, &st) < 0)
		return 0;
	return st.st_ino;
}
