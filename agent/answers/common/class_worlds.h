/*
 * class_worlds - in which congestion world each lossless class lives, by the newest stored minute
 * and by what captures have counted (analyzers/measure/class_world.h): "classes" of the documents
 * of doctor and status.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/shape.h"

struct client;

struct class_word {
	const char *word, *source;
	bool seen;
};

struct class_told {
	uint64_t priority;
	const char *line; /* for people */
	struct class_word lossless_by, ecn, congestion, load_balancing, trimming;
	const char **differences;
	size_t n_differences;
};
extern const struct shape class_told_shape;

/* class_worlds_read - one row for each class; @health: what the agent wrote of itself, NULL: not
 * known. Rows and texts lie in @a. 0, or negative errno with @e. */
int class_worlds_read(struct client *client, const json_t *health, struct arena *a,
	struct class_told **ret, size_t *ret_n, struct err *e);

/* class_worlds_print - "CLASS  priority 3: ..." lines, and what differs below them. */
void class_worlds_print(FILE *out, const struct class_told *rows, size_t n);
