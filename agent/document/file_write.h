/*
 * file_write - one file, written whole or not at all.
 */
#ifndef RW_DOCUMENT_FILE_WRITE_H
#define RW_DOCUMENT_FILE_WRITE_H

#include <stdio.h>

struct err;

/* file_write - let @write fill @path. On failure the file stays as it was: a job must never send
 * half a report. A device, a pipe or a link is written to directly. 0 or a negative errno with @e.
 */
int file_write(const char *path, int (*write)(FILE *out, void *arg), void *arg, struct err *e);

/* file_make_new - a new file of our own in the place of what @path was; a link is removed, not
 * followed: in a directory that others may write, somebody could have put one there. NULL with
 * errno. The caller closes it. */
FILE *file_make_new(const char *path);

#endif
