/*
 * mcp - a read-only server of the Model Context Protocol: JSON-RPC 2.0 messages, one a line, in and
 * out. Its tools are the served documents (below). It has no state but the revision that an
 * "initialize" agreed on.
 *
 * Two kinds of clients:
 *   2026-07-28           each request names its revision in params._meta; server/discover
 *   2025-11-25 and older "initialize" first, then the rest of the session is of that revision
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/answers/common/served.h"

struct globals;

/*
 * mcp_tools - the rows of agent/answers/common/served.h as tools of the Model Context Protocol:
 * "pause/tree" is the tool pause_tree, its parameters and the time range are its arguments. All
 * only read.
 */

/* How the text of a document is made: web_make(), or a test's own. */
typedef int mcp_make_fn(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e);

/* A message, without its newline. */
#define MCP_LINE_MAX ((size_t)1 << 20)

struct mcp {
	const struct globals *base; /* which database and configuration; lent */
	mcp_make_fn *make;
	const char *agreed; /* revision of "initialize"; NULL before */
};

/*
 * mcp_answer - the reply to one message of @n bytes, as text in one line without its newline;
 * free(). NULL where none is due: notifications, replies, a blank line. Foreign bytes: whatever
 * they are, the reply is a JSON-RPC object, or the array of those of a batch.
 */
char *mcp_answer(struct mcp *mcp, const char *line, size_t n);

/* mcp_answer_too_long - the reply to a message longer than MCP_LINE_MAX, whose id nobody knows. */
char *mcp_answer_too_long(void);
