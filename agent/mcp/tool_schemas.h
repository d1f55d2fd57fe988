/* tool_schemas - what the tools of the MCP server answer, as schemas; printed at each build by
 * agent/print_tool_schemas.c. */
#pragma once

struct tool_schema {
	const char *name, *text; /* "pause-tree", a JSON schema of an object */
};

extern const struct tool_schema tool_schemas[]; /* ended by a row without a name */
