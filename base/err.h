/*
 * err - what went wrong, in words for the person who caused it.
 *
 * Functions that can fail return 0 or a negative errno. When a human caused the failure (a config
 * file, an argument, a capture) they also fill a struct err: where, what was read, what was
 * expected. Low rooms fill and return; only the surface prints.
 */
#pragma once

#include <stdio.h>

struct err {
	int code; /* negative errno, 0 = unset */
	int line, col; /* 1-based, 0 = unknown */
	char file[512]; /* "" = unknown */
	char text[768];
};

/* err_set - fill @e (may be NULL) and return @code, so callers can "return err_set(e, -EINVAL,
 * ...)". */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_at - as err_set, with a place. @line or @col 0 means unknown; @file may be NULL. */
int err_at(struct err *e, int code, const char *file, int line, int col, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* err_print - one line, "file:line:col: text\n" as far as known. */
void err_print(FILE *out, const struct err *e);

/* A growing list, for checks that report every mistake at once. Owner frees with err_list_done().
 */
struct err_list {
	struct err *v;
	size_t n, cap;
	size_t more; /* found beside these, and not kept */
};
void err_list_add(struct err_list *errors, const struct err *e);
void err_list_done(struct err_list *errors);
