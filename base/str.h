/* str - the few string helpers everyone needs: growing buffer, glob, nearest name, numbers with
 * units. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct str {
	char *s; /* always NUL-terminated once something was added; NULL before */
	size_t n, cap;
};
void str_done(struct str *out); /* also for rw_cleanup() */
void str_add(struct str *out, const char *text);
void str_addn(struct str *out, const char *text, size_t n);
/* str_room - where the next @more bytes go, and a NUL; who writes there moves .n. */
char *str_room(struct str *out, size_t more);
void str_addf(struct str *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* str_add_exact - the shortest of 15 to 17 digits that reads back as the same number. */
void str_add_exact(struct str *out, double value);

static inline bool str_eq(const char *left, const char *right)
{
	return left == right || (left && right && __builtin_strcmp(left, right) == 0);
}

/* str_begins - with @word; then *@ret_rest is what comes behind it. */
bool str_begins(const char *text, const char *word, const char **ret_rest);

/* str_glob - fnmatch-style * ? [..], case-sensitive; '/' is an ordinary character. NULL pattern
 * matches all. */
bool str_glob(const char *pattern, const char *text);

/* str_nearest - the candidate with the smallest edit distance, or NULL when none is near (distance
 * > 2 and > len/3). */
const char *str_nearest(const char *text, const char *const *candidates, size_t n);

/* str_file_kind - what is no regular file: negative errno, @e says what @path is; 0 else. */
struct stat;
int str_file_kind(const char *path, const struct stat *st, struct err *e);

/* str_open_file - a descriptor of the regular file @path for reading; the caller closes. What a
 * path of ours was replaced by (a named pipe, a device, a socket) is refused without a wait, a
 * mount that does not answer after path_answers().
 * Negative errno, @e filled. */
int str_open_file(const char *path, struct err *e);

/* str_read_file - a regular file's contents, NUL-terminated, at most @max bytes (-EFBIG). Caller
 * frees. 0 or negative errno, @e filled. */
int str_read_file(const char *path, size_t max, char **ret, size_t *ret_n, struct err *e);

/*
 * Numbers with a unit, as people write them. The unit is required; the family decides what a letter
 * means ("m" is minutes in a duration, metres in a length).
 *
 *   duration   ns us ms s m h d w y                  -> ns
 *   size       B KB MB GB TB KiB MiB GiB TiB         -> bytes
 *   bitrate    bps kbps Mbps; M G T as in 400G       -> bit/s, powers of ten
 *   length     mm cm m km                            -> millimetres
 *   ratio      20% or 0.2 or 1/8                     -> double
 *
 * Fractions ("1.5h") are fine where the result is exact to one base unit. 0, -EINVAL (syntax, no or
 * unknown unit) or -ERANGE. @e (may be NULL) gets what was read and what is expected, without the
 * name of the thing: "'10k'; expected a size such as 88064B or 400KB". The caller puts "kmin is "
 * before it and fills the place.
 */
int unit_duration(const char *text, int64_t *ret_ns, struct err *e);
int unit_size(const char *text, uint64_t *ret_bytes, struct err *e);
int unit_bitrate(const char *text, uint64_t *ret_bps, struct err *e);
int unit_length(const char *text, uint64_t *ret_mm, struct err *e);
int unit_ratio(const char *text, double *ret, struct err *e);
/* decimal only: no 010, no 1e6, no 10k */
int unit_int(const char *text, int64_t *ret, struct err *e);
int unit_double(const char *text, double *ret, struct err *e); /* plain decimal */

/* The other way, shortest exact form: "10s", "400G", "88064B", "30m". */
char *unit_duration_text(char *buf, size_t size, int64_t ns);
char *unit_size_text(char *buf, size_t size, uint64_t bytes);
char *unit_bitrate_text(char *buf, size_t size, uint64_t bps);
char *unit_length_text(char *buf, size_t size, uint64_t mm);

/* str_or - @s, or @otherwise where @s is NULL. Both are borrowed. */
static inline const char *str_or(const char *s, const char *otherwise)
{
	if (s)
		return s;
	return otherwise;
}

/* str_if - @s where @is holds, else the empty text: for the parts of a sentence. Borrowed. */
static inline const char *str_if(bool is, const char *s)
{
	if (is)
		return s;
	return "";
}

/* plural - "s" where @n is not one: for "%zu port%s". */
static inline const char *plural(uint64_t n)
{
	return str_if(n != 1, "s");
}

/*
 * outside - which files a wall around this process hides (agent/jail/sandbox.h), in words for
 * messages: "Permission denied" alone would send people to look at modes that are right. Any
 * thread.
 */

/* outside_begin - from now on a wall stands. */
void outside_begin(void);
bool outside_stands(void);
/* outside_is - may @path be read by its mode and owner, and yet not be opened here? */
bool outside_is(const char *path);
/* outside_hint - for the end of a message about @path: what to do, or "". */
const char *outside_hint(const char *path);
