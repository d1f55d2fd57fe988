/* paper - what a page is printed on: how wide it is, and which characters it shows. */
#pragma once

#include "base/base.h"

/* paper_width - columns of the terminal behind @out, from 80 to @most; @usual where there is none.
 */
size_t paper_width(FILE *out, size_t usual, size_t most);

/* paper_height - rows of the terminal behind @out; 0 where there is none, and no end. */
size_t paper_height(FILE *out);

/* paper_is_utf8 - do the locale's characters reach beyond ASCII? Any thread. */
bool paper_is_utf8(void);

/*
 * file_write - one file, written whole or not at all.
 */

/* file_write - let @write fill @path. On failure the file stays as it was: a job must never send
 * half a report. A device, a pipe or a link is written to directly. 0 or a negative errno with @e.
 */
int file_write(const char *path, int (*write)(FILE *out, void *arg), void *arg, struct err *e);

/* file_make_new - a new file of our own in the place of what @path was; a link is removed, not
 * followed: in a directory that others may write, somebody could have put one there. NULL with
 * errno. The caller closes it. */
FILE *file_make_new(const char *path);
