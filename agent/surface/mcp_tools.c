/*
 * mcp_tools - served documents as tools.
 *
 * Source: Model Context Protocol, "Server Features / Tools", revisions 2024-11-05 to 2026-07-28.
 */
#include "agent/surface/mcp_tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/surface/web_answer.h"

enum { TOOL_NAME_MAX = 128, TOOL_ARGUMENTS_MAX = 32 };

/* ---- the list ------------------------------------------------------------ */

/* Names of tools are letters, digits, '_', '-' and '.'. */
static char *tool_name(char buf[TOOL_NAME_MAX], const struct served_document *row)
{
	snprintf(buf, TOOL_NAME_MAX, "%s", row->path);
	for (char *c = buf; *c; c++)
		if (*c == '/' || *c == '-')
			*c = '_';
	return buf;
}

/* A parameter whose text begins with "flag:" is given or not. */
static bool tool_is_flag(const struct served_param *param)
{
	return strncmp(param->doc, "flag:", strlen("flag:")) == 0;
}

static void tool_put_params(json_t *properties, json_t *required, const struct served_param *params)
{
	for (; params && params->name; params++) {
		json_t *property = json_object();
		const char *type = "string";
		if (tool_is_flag(params))
			type = "boolean";
		json_object_set_new(property, "type", json_string(type));
		json_object_set_new(property, "description", json_string(params->doc));
		json_object_set_new(properties, params->name, property);
		if (params->required)
			json_array_append_new(required, json_string(params->name));
	}
}

static json_t *tool_schema(const struct served_document *row)
{
	json_t *schema = json_object();
	json_t *properties = json_object(), *required = json_array();
	tool_put_params(properties, required, row->params);
	tool_put_params(properties, required, web_range_params);
	json_object_set_new(schema, "type", json_string("object"));
	json_object_set_new(schema, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(required);
	json_object_set_new(schema, "additionalProperties", json_false());
	return schema;
}

static void tool_add(void *arg, const struct served_document *row)
{
	char name[TOOL_NAME_MAX];
	json_t *tool = json_object();
	json_object_set_new(tool, "name", json_string(tool_name(name, row)));
	json_object_set_new(tool, "description", json_string(row->summary));
	json_object_set_new(tool, "inputSchema", tool_schema(row));
	json_object_set_new(tool, "annotations",
		json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", 1, "destructiveHint", 0,
			"idempotentHint", 1, "openWorldHint", 0));
	json_array_append_new(arg, tool);
}

json_t *mcp_tools_list(void)
{
	json_t *tools = json_array();
	served_each(tool_add, tools);
	return tools;
}

struct tool_search {
	const char *name;
	const struct served_document *found;
};

static void tool_match(void *arg, const struct served_document *row)
{
	struct tool_search *search = arg;
	char name[TOOL_NAME_MAX];
	if (str_eq(tool_name(name, row), search->name))
		search->found = row;
}

const struct served_document *mcp_tools_find(const char *name)
{
	struct tool_search search = {.name = name};
	served_each(tool_match, &search);
	return search.found;
}

/* ---- a call -------------------------------------------------------------- */

struct tool_arguments {
	struct served_given given[TOOL_ARGUMENTS_MAX];
	char *owned[TOOL_ARGUMENTS_MAX]; /* texts made of numbers; NULL: borrowed */
	size_t n;
};

static void tool_arguments_done(struct tool_arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		free(arguments->owned[i]);
}

/* Models write 3 and "3" alike, and true where a flag is meant. False: not given. */
static int tool_take(
	struct tool_arguments *to, const char *name, const json_t *value, struct err *e)
{
	if (json_is_null(value) || json_is_false(value))
		return 0;
	if (to->n == TOOL_ARGUMENTS_MAX)
		return err_set(e, -EINVAL, "more than %d arguments", TOOL_ARGUMENTS_MAX);
	struct served_given *given = &to->given[to->n];
	given->name = name;
	if (json_is_string(value)) {
		given->value = json_string_value(value);
	} else if (json_is_true(value)) {
		given->value = "true";
	} else if (json_is_number(value)) {
		to->owned[to->n] = json_dumps(value, JSON_ENCODE_ANY);
		given->value = to->owned[to->n];
	} else {
		return err_set(e, -EINVAL,
			"argument '%.64s' is a list or an object; expected a text, a number or "
			"true",
			name);
	}
	to->n++;
	return 0;
}

static int tool_take_all(struct tool_arguments *to, const json_t *arguments, struct err *e)
{
	const char *name;
	const json_t *value;
	int rc = 0;
	if (arguments && !json_is_object(arguments) && !json_is_null(arguments))
		return err_set(e, -EINVAL, "the arguments are no object");
	void *at = json_object_iter((json_t *)(uintptr_t)arguments);
	while (at && rc == 0) {
		name = json_object_iter_key(at);
		value = json_object_iter_value(at);
		rc = tool_take(to, name, value, e);
		at = json_object_iter_next((json_t *)(uintptr_t)arguments, at);
	}
	return rc;
}

static json_t *tool_result(const char *text, bool error)
{
	json_t *content = json_array();
	json_t *part = json_object();
	json_object_set_new(part, "type", json_string("text"));
	json_object_set_new(part, "text", json_string_or_null(text));
	json_array_append_new(content, part);
	json_t *result = json_object();
	json_object_set_new(result, "content", content);
	json_object_set_new(result, "isError", json_boolean(error));
	return result;
}

/* With the file and line, where they are known. */
static json_t *tool_failure(const struct err *e)
{
	rw_cleanup(str_done) struct str text = {0};
	if (*e->file)
		str_addf(&text, "%s:", e->file);
	if (e->line > 0)
		str_addf(&text, "%d:%d:", e->line, e->col);
	str_addf(&text, "%s%s", str_if(text.n > 0, " "), e->text);
	return tool_result(text.s, true);
}

/* The text goes out as it is; parsed, it is the structured content. */
static json_t *tool_document(const char *text, size_t n, bool structured)
{
	struct err e = {0};
	json_error_t why;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > MCP_TEXT_MAX) {
		err_set(&e, -E2BIG,
			"the document has %zu bytes, more than %zu; ask for a shorter time range "
			"(since, until) or for less of the fabric",
			n, MCP_TEXT_MAX);
		return tool_failure(&e);
	}
	rw_cleanup(str_done) struct str line = {0};
	str_addn(&line, text, n);
	json_t *result = tool_result(line.s, false);
	json_t *doc = NULL;
	if (structured)
		doc = json_loadb(text, n, 0, &why);
	if (doc)
		json_object_set_new(result, "structuredContent", doc);
	return result;
}

json_t *mcp_tools_call(const struct globals *base, mcp_make_fn *make,
	const struct served_document *row, const json_t *arguments, bool structured)
{
	rw_cleanup(tool_arguments_done) struct tool_arguments taken = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	struct err e = {0};
	int rc = tool_take_all(&taken, arguments, &e);
	if (rc == 0)
		rc = web_check_params(row, taken.given, taken.n, &e);
	if (rc == 0)
		rc = make(base, row, taken.given, taken.n, true, &text, &n, &e);
	if (rc < 0)
		return tool_failure(&e);
	return tool_document(text, n, structured);
}
