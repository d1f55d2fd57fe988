/* ship_cursor - written beside and renamed: there is always a whole one. */
#include "db/ship/ship_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

#define CURSOR_FORMAT "rocewatch-ship 1\nsent %" PRId64 "\nflight %" PRId64 "\n"
#define CURSOR_SCAN "rocewatch-ship 1\nsent %" SCNd64 "\nflight %" SCNd64

int ship_cursor_read(const char *path, struct ship_cursor *ret, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	*ret = (struct ship_cursor){0};
	const int r = str_read_file(path, 4096, &text, &n, e);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (sscanf(text, CURSOR_SCAN, &ret->sent, &ret->flight) == 2)
		return 0;
	/* what is sent again is dropped by its numbers; what is left out would be lost */
	*ret = (struct ship_cursor){0};
	return 0;
}

static int cursor_put(int fd, const struct str *text)
{
	if (write(fd, text->s, text->n) != (ssize_t)text->n)
		return -EIO;
	if (fsync(fd) < 0)
		return -errno;
	return 0;
}

int ship_cursor_write(const char *path, const struct ship_cursor *cursor, struct err *e)
{
	rw_cleanup(str_done) struct str part = {0}, text = {0};
	str_addf(&part, "%s.part", path);
	str_addf(&text, CURSOR_FORMAT, cursor->sent, cursor->flight);
	const int fd = open(part.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return err_set(e, -errno, "cannot write %s: %s", part.s, strerror(errno));
	int r = cursor_put(fd, &text);
	close(fd);
	if (r == 0 && rename(part.s, path) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
	return 0;
}
