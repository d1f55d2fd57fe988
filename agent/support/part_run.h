/*
 * part_run - what a program prints, bounded in time and size: a part of the bundle is made by a
 * process of its own, so that a damaged database or a hanging disk costs that part only.
 */
#ifndef RW_SUPPORT_PART_RUN_H
#define RW_SUPPORT_PART_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/str.h"

struct part_limits {
	int64_t time_ns;
	size_t bytes; /* more than that is cut */
	const char *watched; /* a file that the program writes, NULL; */
	int64_t watched_bytes; /* it is ended when the file grows larger */
};

struct part_output {
	struct str out, err; /* owned; part_output_done() */
	int exit; /* of the program; -1: it did not end by itself */
	const char *why; /* .exit == -1: lent, static */
};

/* part_run - 0 with *@ret filled, or a negative errno when the program cannot be started. It is
 * looked for in PATH unless its name has a '/'. Blocks up to the limit of time. */
int part_run(const char *const *argv, const struct part_limits *limits, struct part_output *ret);
void part_output_done(struct part_output *output);

#endif
