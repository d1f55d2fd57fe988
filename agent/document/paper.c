/* paper - size of the terminal, and the characters of the locale. */
#include "agent/document/paper.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

size_t paper_width(FILE *out, size_t usual, size_t most)
{
	enum { WIDTH_MIN = 80 };
	struct winsize w;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
		return usual;
	if (w.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	if (w.ws_col > most)
		return most;
	return w.ws_col;
}

size_t paper_height(FILE *out)
{
	struct winsize w;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0)
		return 0;
	return w.ws_row;
}

bool paper_is_utf8(void)
{
	/* The process keeps its own locale: numbers keep their decimal point. */
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (!locale)
		return false;
	const bool is = str_eq(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return is;
}

/* file_write - writes beside the file and renames, so readers see the old or the new one. */

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
