/*
 * served - the table of documents that every surface offers: the command line prints them
 * (--format json), the HTTP API serves them below /api/v1, the MCP server offers them as tools. A
 * row is one document: its path, what may be asked for, and the function that makes it. A
 * group of rows has its word in RW_DOCUMENTS in CMakeLists.txt. The OpenAPI text and the list of
 * MCP tools are printed from this table.
 *
 * The functions read through the client only; they keep nothing between two calls.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct client;

/* What may be asked for, beside the time range (since, until, around, span), which all take. The
 * names are those of the command's options. */
struct served_param {
	const char *name; /* "device" */
	const char *doc; /* one sentence for the help */
	bool required;
};

struct served_given {
	const char *name, *value;
};

/* What one request asks for. Borrowed. */
struct served_ask {
	const struct served_given *given;
	size_t n_given;
};

/* served_get - the value of a parameter, NULL when it was not given. */
const char *served_get(const struct served_ask *ask, const char *name);
/* served_flag - was the flag given? "" (the command line), "1", "true" and "yes" say so. */
bool served_flag(const struct served_ask *ask, const char *name);

/* served_priority - the priority that @text names. 0, or -EINVAL with @e. */
int served_priority(const char *text, int *ret, struct err *e);

struct served_document {
	const char *path; /* "pause/tree": /api/v1/pause/tree, MCP tool pause_tree */
	/* agent/schema/NAME.schema.json describes it; NULL: the path, with '-' for '/' */
	const char *schema;
	const char *summary; /* one sentence */
	const struct served_param *params; /* ends with name NULL; NULL: none */
	int64_t span_ns; /* the time range when none is asked for */
	bool quick; /* what a glance needs: the server never makes it wait for a query */
	/* 0 with a new reference in *@ret; -EINVAL what was asked for is wrong, -ENOENT it does not
	 * exist, or another negative errno; @e says why. */
	int (*make)(
		struct client *client, const struct served_ask *ask, json_t **ret, struct err *e);
	/* NULL, or writes the JSON itself, where it may be long: what the command prints. */
	int (*print)(struct client *client, const struct served_ask *ask, FILE *out, struct err *e);
};

/* Rows that belong together, for one word of RW_DOCUMENTS. */
struct served_group {
	const struct served_document *rows;
	size_t n_rows;
};
extern const struct served_group *const served_groups[]; /* NULL-terminated */

/* served_find - the row of @path, or NULL. */
const struct served_document *served_find(const char *path);

/* served_each - calls @fn for each row, in order of the table. */
typedef void served_fn(void *arg, const struct served_document *row);
void served_each(served_fn *fn, void *arg);
