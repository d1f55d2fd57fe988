/*
 * mcp_tools - the rows of agent/reports/served.h as tools of the Model Context Protocol:
 * "pause/tree" is the tool pause_tree, its parameters and the time range are its arguments. All
 * only read.
 */
#ifndef RW_SURFACE_MCP_TOOLS_H
#define RW_SURFACE_MCP_TOOLS_H

#include <jansson.h>

#include "agent/reports/served.h"

struct globals;

/* A document as text in one line. Longer ones are refused with the advice to ask for less: what
 * reads them has a window of its own. */
#define MCP_TEXT_MAX ((size_t)1 << 20)

/* How the text of a document is made: web_make(), or a test's own. */
typedef int mcp_make_fn(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e);

/* mcp_tools_list - the array "tools": name, description, inputSchema, annotations. In order of the
 * table. */
json_t *mcp_tools_list(void);

/* mcp_tools_find - the row of a tool, or NULL. */
const struct served_document *mcp_tools_find(const char *name);

/*
 * mcp_tools_call - the result of a call: {content, structuredContent, isError}. What is wrong with
 * the arguments, or why there is no document, is a result too (isError), so that a model can
 * correct itself.
 *
 * @arguments   an object, or NULL
 * @structured  with structuredContent, which revisions before 2025-06-18 do not have
 */
json_t *mcp_tools_call(const struct globals *base, mcp_make_fn *make,
	const struct served_document *row, const json_t *arguments, bool structured);

#endif
