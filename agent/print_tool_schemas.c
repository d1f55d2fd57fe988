/*
 * print_tool_schemas - the schemas of what the tools of the MCP server answer, printed at each
 * build into a table of the program:
 *
 *   print_tool_schemas FOLDER NAME...      FOLDER/NAME.schema.json, as print_schemas made it
 *
 * A client has no other document to look a type up in, so the shared types that a schema names
 * stand in it; and no sentence, because all of them together are read by a model.
 */
#include <jansson.h>
#include "base/base.h"

#define LOCAL "#/$defs/"
#define COMMON "common.schema.json"

struct bundle {
	const json_t *common; /* its types */
	json_t *types; /* of this schema */
};

static void bundle_node(struct bundle *bundle, json_t *node, bool shared);

/* Of a map whose keys are names of types. NULL: it has none of that name. */
static json_t *bundle_type(const json_t *types, const char *name)
{
	return json_object_iter_value(json_object_iter_at((json_t *)types, name));
}

/* What another document describes (keys of the configuration) is anything here. */
static void bundle_ref(struct bundle *bundle, json_t *node, const char *ref, bool shared)
{
	const bool named = strncmp(ref, COMMON, strlen(COMMON)) == 0;
	const char *at = ref;
	if (named)
		at += strlen(COMMON);
	if (strncmp(at, LOCAL, strlen(LOCAL)) != 0) {
		json_object_clear(node);
		return;
	}
	const char *name = at + strlen(LOCAL);
	if ((named || shared) && !bundle_type(bundle->types, name)) {
		json_t *type = json_deep_copy(bundle_type(bundle->common, name));
		json_object_set_new(bundle->types, name, type);
		bundle_node(bundle, type, true);
	}
	json_object_set_new(node, "$ref", json_string(at));
}

/* @shared: it stands among the common types, so its names are theirs. */
static void bundle_node(struct bundle *bundle, json_t *node, bool shared)
{
	static const char *const words[] = {"description", "title", "$id", "$schema"};
	rw_cleanup(freep) char *ref = NULL;
	const char *key, *name;
	json_t *value, *inner;
	size_t i;
	json_array_foreach (node, i, value)
		bundle_node(bundle, value, shared);
	for (i = 0; i < rw_countof(words); i++)
		json_object_del(node, words[i]);
	json_object_foreach (node, key, value) {
		if (str_eq(key, "$ref"))
			ref = rw_strdup(json_string_value(value));
		if (!str_eq(key, "properties") && !str_eq(key, "$defs"))
			bundle_node(bundle, value, shared);
		else /* whose keys are names */
			json_object_foreach (value, name, inner)
				bundle_node(bundle, inner, shared);
	}
	if (ref)
		bundle_ref(bundle, node, ref, shared);
}

static json_t *tool_load(const char *folder, const char *name)
{
	rw_cleanup(str_done) struct str path = {0};
	json_error_t e;
	str_addf(&path, "%s/%s.schema.json", folder, name);
	json_t *schema = json_load_file(path.s, 0, &e);
	if (!schema)
		fprintf(stderr, "print_tool_schemas: %s:%d: %s\n", path.s, e.line, e.text);
	return schema;
}

static void tool_put(const char *name, const json_t *schema)
{
	rw_cleanup(freep) char *text = json_dumps(schema, JSON_COMPACT);
	printf("\t{\"%s\",\n\t\t\"", name);
	for (size_t i = 0; text[i]; i++) {
		if (i > 0 && i % 90 == 0)
			printf("\"\n\t\t\"");
		if (text[i] == '"' || text[i] == '\\')
			putchar('\\');
		putchar(text[i]);
	}
	printf("\"},\n");
}

static int tool_print(const char *folder, const char *name, const json_t *common)
{
	json_t *schema = tool_load(folder, name);
	struct bundle bundle = {.common = common, .types = json_object()};
	if (!schema)
		return -1;
	bundle_node(&bundle, schema, false);
	json_t *own = bundle_type(schema, "$defs");
	if (own)
		json_object_update(bundle.types, own);
	if (json_object_size(bundle.types) > 0)
		json_object_set(schema, "$defs", bundle.types);
	json_object_set_new(schema, "type", json_string("object")); /* as the protocol asks for */
	tool_put(name, schema);
	json_decref(bundle.types);
	json_decref(schema);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: print_tool_schemas FOLDER NAME...\n", stderr);
		return 2;
	}
	json_t *common = tool_load(argv[1], "common");
	int rc = common ? 0 : -1;
	printf("/* Made by agent/print_tool_schemas.c. */\n#include "
	       "\"agent/mcp/tool_schemas.h\"\n\n"
	       "const struct tool_schema tool_schemas[] = {\n");
	for (int i = 2; i < argc && rc == 0; i++)
		rc = tool_print(argv[1], argv[i], bundle_type(common, "$defs"));
	printf("\t{0},\n};\n");
	json_decref(common);
	return rc < 0;
}
