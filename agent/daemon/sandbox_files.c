/*
 * sandbox_files - Landlock, by its three system calls (glibc has no functions for them).
 *
 * What every process of the system reads (libraries, name services, certificates, time zones) is
 * given to AGENT and WEB beside their own paths. A right is bound to the directory that is there
 * when the wall is closed: one that is made or mounted later is outside.
 */
#include "agent/daemon/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/outside.h"
#include "agent/daemon/sandbox_internal.h"

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
