/* str - the growing buffer, globs, the nearest name, and reading a file whole. */
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"

/* outside - access(2) asks for modes and owners, open(2) for the wall too. */

static atomic_bool stands;

void outside_begin(void)
{
	atomic_store(&stands, true);
}

bool outside_stands(void)
{
	return atomic_load(&stands);
}

bool outside_is(const char *path)
{
	if (!outside_stands())
		return false;
	rw_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 && errno == EACCES && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

const char *outside_hint(const char *path)
{
	return str_if(outside_is(path),
		"; its directory was not in use when this process started, so it is closed: "
		"restart "
		"the agent (docs/security.md)");
}

void str_done(struct str *out)
{
	free(out->s);
	*out = (struct str){0};
}

char *str_room(struct str *out, size_t more)
{
	size_t need = out->n + more + 1;
	if (need <= out->cap)
		return out->s + out->n;
	size_t cap = out->cap;
	if (cap == 0)
		cap = 64;
	while (cap < need)
		cap *= 2;
	out->s = rw_realloc(out->s, cap);
	out->cap = cap;
	return out->s + out->n;
}

void str_addn(struct str *out, const char *text, size_t n)
{
	str_room(out, n);
	if (n)
		memcpy(out->s + out->n, text, n);
	out->n += n;
	out->s[out->n] = '\0';
}

void str_add(struct str *out, const char *text)
{
	str_addn(out, text, strlen(text));
}

void str_addf(struct str *out, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	str_room(out, 64); /* most pieces fit, and then one pass is enough */
	size_t room = out->cap - out->n;
	int n = vsnprintf(out->s + out->n, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n >= room) {
		str_room(out, (size_t)n);
		vsnprintf(out->s + out->n, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n > 0)
		out->n += (size_t)n;
	out->s[out->n] = '\0';
}

void str_add_exact(struct str *out, double value)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	str_add(out, text);
}

bool str_begins(const char *text, const char *word, const char **ret_rest)
{
	const size_t n = strlen(word);
	if (strncmp(text, word, n) != 0)
		return false;
	*ret_rest = text + n;
	return true;
}

bool str_glob(const char *pattern, const char *text)
{
	return !pattern || fnmatch(pattern, text, 0) == 0;
}

/* longer names are compared by their first 64 bytes; no name of ours is longer */
enum { NEAREST_MAX = 64 };

static size_t edit_distance(const char *left, const char *right)
{
	size_t na = strnlen(left, NEAREST_MAX), nb = strnlen(right, NEAREST_MAX);
	size_t row[NEAREST_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = diagonal + (left[i - 1] != right[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

const char *str_nearest(const char *text, const char *const *candidates, size_t n)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = edit_distance(text, candidates[i]);
		if (d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
	}
	size_t len = strnlen(text, NEAREST_MAX);
	if (!best || (best_distance > 2 && best_distance > len / 3))
		return NULL;
	/* Two edits turn any two-letter word into any other: such a "nearest" would be noise. */
	if (best_distance < len || best_distance == 0)
		return best;
	return NULL;
}

int str_file_kind(const char *path, const struct stat *st, struct err *e)
{
	const char *is = "a device";
	if (S_ISREG(st->st_mode))
		return 0;
	if (S_ISDIR(st->st_mode))
		return err_at(e, -EISDIR, path, 0, 0, "is a directory; expected a file");
	if (S_ISFIFO(st->st_mode))
		is = "a pipe";
	if (S_ISSOCK(st->st_mode))
		is = "a socket";
	return err_at(
		e, -EINVAL, path, 0, 0, "is %s; expected a regular file: put one in its place", is);
}

int str_open_file(const char *path, struct err *e)
{
	struct stat st;
	int fd = -1;
	int rc = path_answers(path, e);
	if (rc < 0)
		return rc;
	/* looked at before it is opened, which does something to some devices, and after: it may
	 * have been replaced in between, and a pipe without a writer would be waited for */
	rc = stat(path, &st);
	const bool there = rc == 0;
	if (there)
		rc = str_file_kind(path, &st, e);
	if (there && rc < 0)
		return rc;
	if (there)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		const int code = errno;
		closep(&fd);
		return err_at(e, -code, path, 0, 0, "cannot open: %s%s", strerror(code),
			outside_hint(path));
	}
	rc = str_file_kind(path, &st, e);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int str_too_large(const char *path, size_t max, struct err *e)
{
	return err_at(e, -EFBIG, path, 0, 0, "is larger than the %zu bytes allowed here", max);
}

int str_read_file(const char *path, size_t max, char **ret, size_t *ret_n, struct err *e)
{
	rw_cleanup(closep) int fd = str_open_file(path, e);
	if (fd < 0)
		return fd;
	struct stat st;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && (uint64_t)st.st_size > max)
		return str_too_large(path, max, e);
	rw_cleanup(str_done) struct str b = {0};
	for (;;) {
		char chunk[16384];
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = errno;
			return err_at(e, -code, path, 0, 0, "cannot read: %s", strerror(code));
		}
		str_addn(&b, chunk, (size_t)n);
		if (n == 0)
			break;
		if (b.n > max)
			return str_too_large(path, max, e);
	}
	*ret = rw_take(b.s);
	if (ret_n)
		*ret_n = b.n;
	return 0;
}
