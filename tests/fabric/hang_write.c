/*
 * hang_write - a library to preload: while the file named by HANG_WHILE exists, writes to the
 * database and its syncs do not return, as on a disk that has stopped to answer; while the one
 * named by HANG_READS_WHILE exists, reads do not either.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t pwrite_fn(int fd, const void *data, size_t n, off_t at);
typedef ssize_t pread_fn(int fd, void *data, size_t n, off_t at);
typedef int sync_fn(int fd);

static int is_database(int fd)
{
	char link[64], name[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return 0;
	name[n] = '\0';
	return strstr(name, ".db") != NULL && strstr(name, ".lock") == NULL &&
		strstr(name, ".state") == NULL;
}

static void hang(int fd, const char *variable)
{
	const char *name = getenv(variable);
	if (!name || !is_database(fd))
		return;
	while (access(name, F_OK) == 0)
		usleep(20000);
}

static ssize_t write_real(const char *symbol, int fd, const void *data, size_t n, off_t at)
{
	pwrite_fn *real;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, symbol);
	hang(fd, "HANG_WHILE");
	return real(fd, data, n, at);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	return write_real("pwrite", fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	return write_real("pwrite64", fd, data, n, at);
}

static ssize_t read_real(const char *symbol, int fd, void *data, size_t n, off_t at)
{
	pread_fn *real;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, symbol);
	hang(fd, "HANG_READS_WHILE");
	return real(fd, data, n, at);
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
	return read_real("pread", fd, data, n, at);
}

ssize_t pread64(int fd, void *data, size_t n, off64_t at)
{
	return read_real("pread64", fd, data, n, at);
}

static int sync_real(const char *symbol, int fd)
{
	sync_fn *real;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, symbol);
	hang(fd, "HANG_WHILE");
	return real(fd);
}

int fsync(int fd)
{
	return sync_real("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_real("fdatasync", fd);
}
