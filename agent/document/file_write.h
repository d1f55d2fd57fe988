/*
 * file_write - one file, written whole or not at all.
 */
#ifndef RW_AGENT_FILE_WRITE_H
#define RW_AGENT_FILE_WRITE_H

#include <stdio.h>

struct err;

/* file_write - @write makes @path, which is whole or not there (and as it was): a job must never
 * send half a report. What is no regular file (a device, a pipe, a link) is written to as it
 * stands. 0 or negative errno. */
int file_write(const char *path, int (*write)(FILE *out, void *arg), void *arg, struct err *e);

#endif
