/*
 * locked - small secrets share pages, by three sizes; a larger one has pages of its own. A page
 * stays locked for the next secret: there are few, and a lock is a system call.
 */
#include "base/locked.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

#define BLOCK ((size_t)16384) /* of small ones, in one piece */

struct locked_head { /* before each piece; 16 bytes, so that any type may follow */
	size_t size; /* of the piece with its head */
	struct locked_head *next; /* while it is free */
};

static const size_t sizes[] = {128, 512, 4096};
static struct locked_head *free_pieces[rw_countof(sizes)];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool warned;

/* With the lock held. Not through malloc: what is freed there is written into and given to others.
 */
static void *locked_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) {
		fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes for secrets)\n", size);
		abort();
	}
	if (mlock(pages, size) < 0 && !warned) {
		warned = true;
		log_warn("secrets",
			"the kernel locks no more memory (%s): secrets may reach the swap; raise "
			"the "
			"limit (LimitMEMLOCK= in the unit, ulimit -l)",
			strerror(errno));
	}
	madvise(pages, size, MADV_DONTDUMP);
	return pages;
}

static void locked_cut(size_t class)
{
	char *block = locked_pages(BLOCK);
	for (size_t at = 0; at + sizes[class] <= BLOCK; at += sizes[class]) {
		struct locked_head *piece = (void *)(block + at);
		*piece = (struct locked_head){.size = sizes[class], .next = free_pieces[class]};
		free_pieces[class] = piece;
	}
}

static size_t locked_class(size_t size)
{
	size_t class = 0;
	while (class < rw_countof(sizes) && sizes[class] < size)
		class ++;
	return class;
}

static struct locked_head *locked_own(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size = (size + page - 1) / page * page;
	struct locked_head *piece = locked_pages(size);
	piece->size = size;
	return piece;
}

void *locked_new(size_t size)
{
	size += sizeof(struct locked_head);
	const size_t class = locked_class(size);
	struct locked_head *piece;
	pthread_mutex_lock(&lock);
	if (class == rw_countof(sizes)) {
		piece = locked_own(size);
	} else {
		if (!free_pieces[class])
			locked_cut(class);
		piece = free_pieces[class];
		free_pieces[class] = piece->next;
	}
	pthread_mutex_unlock(&lock);
	piece->next = NULL;
	return piece + 1;
}

char *locked_dup(const char *text)
{
	const size_t n = strlen(text) + 1;
	return memcpy(locked_new(n), text, n);
}

void locked_free(void *memory)
{
	if (!memory)
		return;
	struct locked_head *piece = (struct locked_head *)memory - 1;
	explicit_bzero(memory, piece->size - sizeof(*piece));
	const size_t class = locked_class(piece->size);
	if (class == rw_countof(sizes)) {
		munmap(piece, piece->size);
		return;
	}
	pthread_mutex_lock(&lock);
	piece->next = free_pieces[class];
	free_pieces[class] = piece;
	pthread_mutex_unlock(&lock);
}

void locked_freep(void *pointer)
{
	void **memory = pointer;
	locked_free(*memory);
	*memory = NULL;
}

/* Up to @max + 1 bytes: one too many tells that there are more. */
static ssize_t locked_fill(int fd, char *text, size_t max)
{
	size_t n = 0;
	while (n <= max) {
		const ssize_t got = read(fd, text + n, max + 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

int locked_read_file(const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	struct stat st;
	rw_cleanup(closep) int fd = str_open_file(path, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_at(e, -errno, path, 0, 0, "cannot open: %s", strerror(errno));
	/* no more is locked than is there; what has no size, as files in /proc, may have all */
	size_t most = max;
	if (st.st_size > 0 && (size_t)st.st_size < max)
		most = (size_t)st.st_size;
	rw_cleanup(locked_freep) char *text = locked_new(most + 2);
	const ssize_t n = locked_fill(fd, text, most);
	if (n < 0)
		return err_at(e, (int)n, path, 0, 0, "cannot read: %s", strerror((int)-n));
	if ((size_t)n > most && most < max)
		return err_at(e, -EAGAIN, path, 0, 0, "was written while it was read; try again");
	if ((size_t)n > max)
		return err_at(
			e, -EFBIG, path, 0, 0, "is larger than the %zu bytes allowed here", max);
	*ret = memcpy(locked_new((size_t)n + 1), text, (size_t)n);
	*ret_n = (size_t)n;
	return 0;
}
