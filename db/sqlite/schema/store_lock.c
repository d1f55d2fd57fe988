/*
 * store_lock - makes one process the only writer of a database file.
 *
 * Two locks. PATH.lock, which only writers may open (mode 0600), has a flock and a record lock: two
 * kinds, so that somebody who got hold of it for reading would have to hold both to be in the way.
 * And the database itself, whatever name it was opened by: a record lock far behind the bytes that
 * SQLite locks, so that a hard link or a bind mount does not lead to a second writer. The lock file
 * is never removed: two writers could then lock two different files of that name.
 */
#include "db/sqlite/schema/store_lock.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "db/store/store_state.h"

/* store_holders - reads /proc/locks: one line for each lock, with its process and its file. */

#define HOLDERS_MAX 4 /* named; more are not needed to know what to do */
/* The bytes of a -shm file that SQLite locks (https://www.sqlite.org/walformat.html, "WAL Locks"):
 * 120 to 127; 128 says only that the file is open. */
#define SHM_LOCK_FIRST 120
#define SHM_LOCK_LAST 127

struct held {
	int pid;
	unsigned major, minor;
	uint64_t inode, first;
};

/* "1: POSIX  ADVISORY  READ 1234 fe:01:5678 123 123"; a waiting one has "->" behind the number. */
static bool held_parse(const char *line, struct held *ret)
{
	const char *at = strchr(line, ':');

	if (!at || strstr(line, "->"))
		return false;
	return sscanf(at + 1, "%*s %*s %*s %d %x:%x:%" SCNu64 " %" SCNu64, &ret->pid, &ret->major,
		       &ret->minor, &ret->inode, &ret->first) == 5;
}

static void holder_add(struct str *out, int pid)
{
	char path[64], name[64] = "", clean[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f))
			text_clean(clean, sizeof(clean), name, strcspn(name, "\n"));
		fclose(f);
	}
	if (out->n > 0)
		str_add(out, ", ");
	str_addf(out, "pid %d", pid);
	if (*clean)
		str_addf(out, " (%s)", clean);
}

static bool holder_is_new(int *pids, size_t *n, int pid)
{
	for (size_t i = 0; i < *n; i++)
		if (pids[i] == pid)
			return false;
	pids[(*n)++] = pid;
	return true;
}

void store_holders_text(const char *path, const char *suffix, struct str *out)
{
	rw_cleanup(str_done) struct str name = {0};
	char line[256];
	struct stat st;
	struct held held;
	int pids[HOLDERS_MAX];
	size_t n = 0;

	str_addf(&name, "%s%s", path, suffix);
	if (stat(name.s, &st) < 0)
		return;
	FILE *f = fopen("/proc/locks", "re");
	if (!f)
		return;
	while (n < HOLDERS_MAX && fgets(line, sizeof(line), f)) {
		if (!held_parse(line, &held) || held.pid <= 0 || held.pid == getpid())
			continue;
		if (held.inode != st.st_ino || held.major != major(st.st_dev) ||
			held.minor != minor(st.st_dev))
			continue;
		if (*suffix && (held.first < SHM_LOCK_FIRST || held.first > SHM_LOCK_LAST))
			continue;
		if (holder_is_new(pids, &n, held.pid))
			holder_add(out, held.pid);
	}
	fclose(f);
}

/* Another writer that ends, or a reader that asks, holds a lock for an instant. */
#define LOCK_TRIES 10
#define LOCK_WAIT_MS 20
/* SQLite locks bytes from 2^30 on, and data is never that far behind in a file. */
#define INODE_LOCK_AT (INT64_MAX - 1)

/* The lock belongs to the file, not to one of its names: a symbolic link leads to the same lock. A
 * file that is not there yet has only the name it was given. */
static int lock_open(const char *path, int flags)
{
	char name[PATH_MAX + 8];
	rw_cleanup(freep) char *real = realpath(path, NULL);
	int n = snprintf(name, sizeof(name), "%s.lock", str_or(real, path));

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	return fd;
}

static int read_pid(int fd)
{
	char buf[32] = "";
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
	long pid = 0;
	if (n > 0)
		pid = strtol(buf, NULL, 10);

	if (pid > 0 && pid <= INT32_MAX)
		return (int)pid;
	return 0;
}

/* ---- record locks -------------------------------------------------------- */

enum record_lock { RECORD_TAKEN, RECORD_READER, RECORD_WRITER, RECORD_UNSUPPORTED };

/* The lock of one byte, bound to the open file. RECORD_READER: only shared locks are in the way. */
static enum record_lock record_lock_take(int fd, int64_t at)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return RECORD_TAKEN;
	if (errno != EAGAIN && errno != EACCES)
		return RECORD_UNSUPPORTED;
	lock.l_type = F_RDLCK; /* what is in the way of that is a writer's */
	lock.l_pid = 0;
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK)
		return RECORD_READER;
	return RECORD_WRITER;
}

/* ---- the lock file ------------------------------------------------------- */

enum file_lock { FILE_TAKEN, FILE_SHARED, FILE_OTHER };

/* FILE_SHARED: somebody has a shared lock, so no writer has the exclusive one; ours is shared too.
 */
static enum file_lock file_lock_take(int fd)
{
	for (int tries = 0;; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return FILE_TAKEN;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return FILE_TAKEN; /* no such locks here: the record lock counts */
		if (tries < LOCK_TRIES)
			poll(NULL, 0, LOCK_WAIT_MS);
		else if (flock(fd, LOCK_SH | LOCK_NB) == 0)
			return FILE_SHARED;
		else
			return FILE_OTHER;
	}
}

/* Is this process the one writer? Each kind of lock by itself excludes other writers. */
static bool lock_is_ours(int fd)
{
	const enum file_lock file = file_lock_take(fd);
	const enum record_lock record = record_lock_take(fd, 0);

	if (file == FILE_OTHER || record == RECORD_WRITER)
		return false;
	if (file == FILE_TAKEN)
		return true;
	return record == RECORD_TAKEN;
}

static int lock_refused(int fd, const char *path, struct err *e)
{
	struct store_state state;
	int pid = read_pid(fd);
	char who[64] = "";

	if (pid == 0 && store_state_read(path, &state) == 0 && state.running)
		pid = state.pid; /* a full disk has no room for it in the lock file */
	if (pid)
		snprintf(who, sizeof(who), " (pid %d)", pid);
	return err_set(e, -EBUSY,
		"%s is being written by another rocewatch%s; stop it first, or name another file",
		path, who);
}

int writer_lock(const char *path, int *ret_fd, struct err *e)
{
	int fd = lock_open(path, O_RDWR | O_CREAT);

	if (fd < 0)
		return err_set(e, fd,
			"cannot make the lock file %s.lock: %s; check the directory's owner and "
			"mode",
			path, strerror(-fd));
	if (fchmod(fd, 0600) < 0) {
		/* another user's file, or a file system without modes */
	}
	if (!lock_is_ours(fd)) {
		const int r = lock_refused(fd, path, e);
		close(fd);
		return r;
	}
	char text[32];
	const int n = snprintf(text, sizeof(text), "%-11ld\n", (long)getpid());
	/* The lock counts; the pid is for people. A full disk may have no room for it. */
	if (pwrite(fd, text, (size_t)n, 0) != n)
		log_debug("store", "%s.lock: no pid written: %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

void writer_unlock(int fd)
{
	if (fd < 0)
		return;
	if (ftruncate(fd, 0) < 0) {
		/* a stale pid without a lock is read as "no writer": nothing is lost */
	}
	close(fd);
}

/* ---- the database itself ------------------------------------------------- */

int writer_lock_inode(const char *path, int *ret_fd, struct err *e)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	*ret_fd = -1;
	if (fd < 0)
		return err_set(e, -errno, "cannot open %s: %s; check its owner and mode", path,
			strerror(errno));
	const enum record_lock got = record_lock_take(fd, INODE_LOCK_AT);
	if (got == RECORD_WRITER) {
		close(fd);
		return err_set(e, -EBUSY,
			"%s is being written by another agent under another of its names (a hard "
			"link "
			"or a bind mount); stop it first, or name another file",
			path);
	}
	if (got == RECORD_READER) {
		rw_cleanup(str_done) struct str who = {0};
		store_holders_text(path, "", &who);
		log_warn("store",
			"%s: a reader holds a lock on all of the file%s%s; while it does, a second "
			"agent under another name of the file would not be noticed",
			path, str_if(who.n > 0, ": "), str_or(who.s, ""));
	}
	*ret_fd = fd;
	return 0;
}

/* ---- who writes? --------------------------------------------------------- */

/* Asks; takes no lock where the kernel can tell without. */
static int lock_file_pid(const char *path)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	const int fd = lock_open(path, O_RDONLY);
	int pid = 0;

	if (fd < 0)
		return fd;
	const bool known = fcntl(fd, F_OFD_GETLK, &lock) == 0;
	if (known && lock.l_type == F_WRLCK)
		pid = read_pid(fd);
	else if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		pid = read_pid(fd);
	close(fd);
	return pid;
}

int writer_pid(const char *path)
{
	struct store_state state;
	const int r = store_state_read(path, &state);

	if (r == 0 && state.running && state.pid > 0)
		return state.pid;
	const int pid = lock_file_pid(path);
	if (pid >= 0)
		return pid;
	if (pid == -ENOENT)
		return 0; /* every writer makes the file */
	if (r == 0 && state.pid > 0)
		return 0; /* an agent's own word, and it no longer holds its lock */
	return pid;
}
