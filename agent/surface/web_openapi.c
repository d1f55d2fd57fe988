/*
 * web_openapi - the description of the API, https://spec.openapis.org/oas/v3.1.0 . Documents are
 * described by the schemas of docs/schema, which the server has at /schema/: the dialect of OpenAPI
 * 3.1 is theirs.
 */
#include "agent/surface/web_openapi.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/str.h"
#include "agent/reports/served.h"
#include "agent/surface/web_answer.h"

enum { OPENAPI_PATH_MAX = 128 };

/* @schema: the name of a schema; NULL, a text. */
static json_t *openapi_response(const char *description, const char *type, const char *schema)
{
	char at[OPENAPI_PATH_MAX];
	if (!type)
		return json_pack("{s:s}", "description", description);
	const char *key = "type", *value = "string";
	if (schema) {
		snprintf(at, sizeof(at), "/schema/%s.schema.json", schema);
		key = "$ref";
		value = at;
	}
	return json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", description, "content", type,
		"schema", key, value);
}

/* Not a constant: each answer of the description owns its own. */
static json_t *openapi_error(const char *description)
{
	return openapi_response(description, "application/json", "error");
}

static json_t *openapi_responses(const char *type, const char *schema)
{
	json_t *all = json_object();
	json_object_set_new(all, "200", openapi_response("The document.", type, schema));
	json_object_set_new(
		all, "304", openapi_response("Not changed (If-None-Match).", NULL, NULL));
	json_object_set_new(all, "400", openapi_error("A parameter is wrong; error says which."));
	json_object_set_new(all, "401", openapi_error("A bearer token is needed."));
	json_object_set_new(all, "404", openapi_error("What is asked for does not exist."));
	json_object_set_new(all, "503",
		openapi_error("The document cannot be made at present, or not in time."));
	return all;
}

static void openapi_params(json_t *list, const struct served_param *params)
{
	for (; params && params->name; params++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:b, s:{s:s}}", "name", params->name, "in",
				"query", "description", params->doc, "required",
				(int)params->required, "schema", "type", "string"));
}

/* "pause/tree" as a name for generated code: "pause_tree". */
static void openapi_name(struct str *out, const char *path)
{
	for (; *path; path++) {
		char c = *path;
		if (c == '/' || c == '-')
			c = '_';
		str_addn(out, &c, 1);
	}
}

static json_t *openapi_get(const char *name, const char *summary, json_t *params, json_t *responses)
{
	struct str id = {0};
	openapi_name(&id, name);
	json_t *get = json_pack("{s:{s:s, s:s, s:o, s:o}}", "get", "operationId", id.s, "summary",
		summary, "parameters", params, "responses", responses);
	str_done(&id);
	return get;
}

/* "pause/tree" has pause-tree. */
static void openapi_schema(char *out, size_t size, const struct served_document *row)
{
	snprintf(out, size, "%s", str_or(row->schema, row->path));
	for (char *c = strchr(out, '/'); c; c = strchr(c, '/'))
		*c = '-';
}

static void openapi_row(void *arg, const struct served_document *row)
{
	json_t *paths = arg, *params = json_array();
	char path[OPENAPI_PATH_MAX], schema[OPENAPI_PATH_MAX];
	openapi_params(params, row->params);
	openapi_params(params, web_range_params);
	snprintf(path, sizeof(path), "/api/v1/%s", row->path);
	openapi_schema(schema, sizeof(schema), row);
	json_object_set_new(paths, path,
		openapi_get(row->path, row->summary, params,
			openapi_responses("application/json", schema)));
}

static void openapi_others(json_t *paths)
{
	static const struct {
		const char *path, *name, *summary, *type, *schema;
	} others[] = {
		{"/api/v1/events", "events",
			"Server-sent events: watch (the whole frame when it has changed), incident "
			"(opened, changed or closed), trouble, still (the last frame holds).",
			"text/event-stream", NULL},
		{"/metrics", "metrics", "All metrics of the fabric and the agent, OpenMetrics.",
			"text/plain", NULL},
		{"/healthz", "healthz", "200 when an agent runs and its data is new, else 503.",
			"application/json", "healthz"},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		json_object_set_new(paths, others[i].path,
			openapi_get(others[i].name, others[i].summary, json_array(),
				openapi_responses(others[i].type, others[i].schema)));
}

static json_t *openapi_components(void)
{
	return json_pack("{s:{s:{s:s, s:s}}}", "securitySchemes", "token", "type", "http", "scheme",
		"bearer");
}

json_t *web_openapi(void)
{
	json_t *doc = json_object(), *paths = json_object();
	served_each(openapi_row, paths);
	openapi_others(paths);
	json_object_set_new(doc, "openapi", json_string("3.1.0"));
	json_object_set_new(doc, "info",
		json_pack("{s:s, s:s, s:s}", "title", "rocewatch", "version", RW_VERSION,
			"description",
			"Read-only. Each document is what the command of its name prints with "
			"--format json."));
	json_object_set_new(doc, "paths", paths);
	json_object_set_new(doc, "components", openapi_components());
	json_object_set_new(doc, "security", json_pack("[{s:[]}, {}]", "token"));
	return doc;
}
