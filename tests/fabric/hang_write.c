/*
 * hang_write - a library to preload: while the file named by HANG_WHILE exists, writes to the
 * database do not return, as on a disk that has stopped to answer.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t pwrite_fn(int fd, const void *data, size_t n, off_t at);

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

static void hang(int fd)
{
	const char *name = getenv("HANG_WHILE");
	if (!name || !is_database(fd))
		return;
	while (access(name, F_OK) == 0)
		usleep(20000);
}

static ssize_t write_real(const char *symbol, int fd, const void *data, size_t n, off_t at)
{
	pwrite_fn *real;
	*(void **)(void *)&real = dlsym(RTLD_NEXT, symbol);
	hang(fd);
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
