/*
 * store_lock - makes one process the only writer of a database file: flock on PATH.lock, in which
 * the writer's pid stands. The lock file is never removed: two writers could then lock two
 * different files of that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/sqlite/store_write.h"

/* The lock belongs to the file, not to one of its names: a symbolic link leads to the same lock. A
 * file that is not there yet has only the name it was given. */
static int lock_open(const char *path, int flags)
{
	char name[PATH_MAX + 8];
	rw_cleanup(freep) char *real = realpath(path, NULL);
	int n = snprintf(name, sizeof(name), "%s.lock", str_or(real, path));

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	int fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW, 0640);
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

/* writer_pid() of another process holds the lock for an instant: try a few times. */
#define LOCK_TRIES 10
#define LOCK_WAIT_MS 20

int writer_lock(const char *path, int *ret_fd, struct err *e)
{
	int fd = lock_open(path, O_RDWR | O_CREAT), tries = 0;

	if (fd < 0)
		return err_set(e, fd,
			"cannot make the lock file %s.lock: %s; check the directory's owner and "
			"mode",
			path, strerror(-fd));
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int error = -errno, pid = read_pid(fd);
		if (error == -EINTR)
			continue;
		if (error == -EWOULDBLOCK && ++tries < LOCK_TRIES) {
			poll(NULL, 0, LOCK_WAIT_MS);
			continue;
		}
		close(fd);
		if (error != -EWOULDBLOCK)
			return err_set(e, error, "cannot lock %s.lock: %s", path, strerror(-error));
		if (pid == 0)
			return err_set(e, -EBUSY,
				"%s is being written by another rocewatch; stop it first, or name "
				"another file",
				path);
		return err_set(e, -EBUSY,
			"%s is being written by another rocewatch (pid %d); stop it first, or name "
			"another file",
			path, pid);
	}
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	/* The lock counts; the pid is for people. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		int error = -EIO;
		if (errno)
			error = -errno;
		close(fd);
		return err_set(e, error, "cannot write %s.lock: %s", path, strerror(-error));
	}
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

int writer_pid(const char *path)
{
	int fd = lock_open(path, O_RDONLY), pid = 0;

	if (fd == -ENOENT)
		return 0; /* every writer makes the file */
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		pid = read_pid(fd);
	close(fd);
	return pid;
}
