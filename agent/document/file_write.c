/* file_write - writes beside the file and renames, so readers see the old or the new one. */
#include "agent/document/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

FILE *file_make_new(const char *path)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	FILE *f = fdopen(fd, "w");
	if (!f)
		close(fd);
	return f;
}

int file_write(const char *path, int (*write)(FILE *out, void *arg), void *arg, struct err *e)
{
	rw_cleanup(str_done) struct str tmp = {0};
	struct stat st;
	/* A device, a pipe or a link is written to, never replaced: "--out /dev/stdout" as root
	 * would take the link away from everyone. */
	bool direct = lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
	if (direct)
		str_add(&tmp, path);
	else
		str_addf(&tmp, "%s.%ld.tmp", path, (long)getpid());
	FILE *f = NULL;
	if (direct)
		f = fopen(tmp.s, "w");
	else
		f = file_make_new(tmp.s);
	if (!f)
		return err_at(e, -errno, path, 0, 0, "cannot write: %s", strerror(errno));
	int r = write(f, arg);
	if (r == 0 && ferror(f))
		r = -EIO;
	if (fclose(f) != 0 && r == 0)
		r = -errno;
	if (r == 0 && !direct && rename(tmp.s, path) < 0)
		r = -errno;
	if (r < 0) {
		if (!direct)
			unlink(tmp.s);
		return err_at(e, r, path, 0, 0, "cannot write: %s", strerror(-r));
	}
	return 0;
}
