/*
 * cmd_config - what is in the configuration, whether it is right, and what a key means. Reads files
 * only: no database, no agent.
 */
#include "agent/command/command.h"
#include "agent/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/import/import_sonic.h"
#include "agent/document/writer.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "config/yaml.h"

#define IMPORT_FILE_MAX (64u << 20)

extern const struct command command_config;

/* Flushes and says whether all of it arrived: a full disk must not look like success. */
static int finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "rocewatch: cannot write the output\n");
	return EXIT_FAILED;
}

/* The file meant: the argument, else -c, else the default; NULL after saying why there is none. */
static const char *file_of(struct command_args *a)
{
	const char *path = a->argc > 1 ? a->argv[1] : a->g->config_path;
	if (a->argc == 1 && !a->g->config_named && access(path, F_OK) < 0 && errno == ENOENT) {
		fprintf(stderr,
			"%s: there is no configuration; name one: rocewatch config %s FILE\n", path,
			a->argv[0]);
		return NULL;
	}
	return path;
}

static json_t *mistakes_json(const struct err_list *l)
{
	json_t *v = json_array();
	for (size_t i = 0; i < l->n; i++) {
		const struct err *e = &l->v[i];
		json_t *line = e->line ? json_integer(e->line) : json_null(),
		       *column = e->col ? json_integer(e->col) : json_null();
		json_array_append_new(v,
			json_pack("{s:s, s:o, s:o, s:s}", "file", e->file, "line", line, "column",
				column, "text", e->text));
	}
	return v;
}

struct counts {
	size_t links, ports, groups;
};

static struct counts count(const struct fabric *f)
{
	struct counts n = {0};
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		n.ports += d->n_ports;
		n.groups += d->n_groups;
		for (size_t k = 0; k < d->n_ports; k++) {
			const struct fabric_port *p = d->ports[k];
			/* A cable between switches is seen from both ends; members of a LAG share
			 * the LAG's. */
			if (p->host || (p->peer && p->peer->peer != p) || (p->peer && p < p->peer))
				n.links++;
		}
	}
	return n;
}

/* "errors" are the first ones; how many more there are says "more_errors". */
static void print_json(const char *path, const struct config *c, const struct err_list *errors,
	const struct err_list *warnings)
{
	json_t *doc = json_pack("{s:s, s:b, s:o, s:o}", "file", path, "ok", errors->n == 0,
		"errors", mistakes_json(errors), "warnings", mistakes_json(warnings));
	json_object_set_new(doc, "more_errors", json_integer((json_int_t)errors->more));
	if (c) {
		struct counts n = count(c->fabric);
		json_object_set_new(doc, "fabric", json_string(c->fabric->name));
		json_object_set_new(doc, "devices", json_integer((json_int_t)c->n_devices));
		json_object_set_new(doc, "links",
			c->fabric->discover ? json_string("discover")
					    : json_integer((json_int_t)n.links));
		json_object_set_new(doc, "ports", json_integer((json_int_t)n.ports));
		json_object_set_new(doc, "groups", json_integer((json_int_t)n.groups));
		json_object_set_new(doc, "captures", json_integer((json_int_t)c->n_captures));
		json_object_set_new(doc, "jobs", json_integer((json_int_t)c->fabric->n_jobs));
	}
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_ok(const char *path, const struct config *c, size_t n_warnings)
{
	struct counts n = count(c->fabric);
	printf("%s: ok, %zu device%s, ", path, c->n_devices, plural(c->n_devices));
	if (c->fabric->discover)
		printf("links by discovery");
	else
		printf("%zu link%s", n.links, plural(n.links));
	printf(", %zu ECMP group%s, %zu capture%s", n.groups, plural(n.groups), c->n_captures,
		plural(c->n_captures));
	if (c->fabric->n_jobs)
		printf(", %zu job%s", c->fabric->n_jobs, plural(c->fabric->n_jobs));
	if (n_warnings)
		printf(", %zu warning%s", n_warnings, plural(n_warnings));
	putchar('\n');
}

static void print_warning(const struct err *e)
{
	struct err w = *e;
	err_at(&w, e->code, e->file, e->line, e->col, "warning: %s", e->text);
	err_print(stderr, &w);
}

static void print_mistakes(const char *path, const struct err_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		err_print(stderr, &l->v[i]);
	if (l->more)
		fprintf(stderr, "%s: and %zu more mistakes; these are the first %zu\n", path,
			l->more, l->n);
}

static int run_check(struct command_args *a)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	struct config *c = NULL;
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	enum config_mode mode = command_opt(&command_config, a, "case") ? CONFIG_CASE : CONFIG_FULL;

	const char *path = file_of(a);
	if (!path)
		return EXIT_USAGE;
	if (config_load(path, mode, tables, n_tables, &c, &errors) == 0) {
		for (size_t i = 0; i < c->warnings.n; i++)
			err_list_add(&warnings, &c->warnings.v[i]);
		if (mode == CONFIG_FULL) {
			config_check_profiles(c, &errors);
			config_check_files(c, &errors, &warnings);
			config_check_served(c, &errors, &warnings);
			config_mistakes_sort(&errors);
			config_mistakes_sort(&warnings);
		}
	}
	if (a->g->format_given && a->g->format == FORMAT_JSON) {
		print_json(path, c, &errors, &warnings);
	} else {
		print_mistakes(path, &errors);
		for (size_t i = 0; i < warnings.n && !a->g->quiet; i++)
			print_warning(&warnings.v[i]);
		if (errors.n == 0 && c && !a->g->quiet)
			print_ok(path, c, warnings.n);
	}
	config_free(c);
	return finish(errors.n ? EXIT_USAGE : EXIT_OK);
}

/* The groups that follow from the links: [{device, group, members}]. */
static json_t *derived_json(const struct fabric *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		for (size_t k = 0; k < d->n_groups; k++) {
			const struct fabric_group *g = &d->groups[k];
			if (g->given)
				continue;
			json_t *members = json_array();
			for (size_t m = 0; m < g->n_members; m++) {
				const struct fabric_port *p = g->members[m];
				json_array_append_new(members,
					json_string(p->lag && strncmp(g->id, "lag:", 4) != 0
							? p->lag
							: p->name));
			}
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:o}", "device", d->name, "group", g->id,
					"members", members));
		}
	}
	return list;
}

static void show_yaml(const struct config *c, const json_t *groups)
{
	size_t i, k;
	json_t *g, *m;
	config_print(c, stdout);
	json_array_foreach (groups, i, g) {
		printf("# derived: %s %s:", json_string_value(json_object_get(g, "device")),
			json_string_value(json_object_get(g, "group")));
		json_array_foreach (json_object_get(g, "members"), k, m)
			printf(" %s", json_string_value(m));
		putchar('\n');
	}
}

/* As any converter of YAML would have it: true, false and whole numbers are such, everything else
 * is text with its unit. */
static json_t *json_of(const struct yaml_node *n)
{
	json_t *v;
	int64_t number;
	switch (n->kind) {
	case YAML_NULL: return json_null();
	case YAML_TEXT:
		if (!n->quoted && (strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0))
			return json_boolean(n->text[0] == 't');
		if (!n->quoted && unit_int(n->text, &number, NULL) == 0)
			return json_integer(number);
		return json_string(n->text);
	case YAML_LIST:
		v = json_array();
		for (size_t i = 0; i < n->n; i++)
			json_array_append_new(v, json_of(n->items[i].value));
		return v;
	case YAML_MAP:
		v = json_object();
		for (size_t i = 0; i < n->n; i++)
			json_object_set_new(v, n->items[i].key, json_of(n->items[i].value));
		return v;
	}
	return json_null();
}

/* What show prints is read again, so that both forms say the same. */
static int show_json(const struct config *c, json_t *groups)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(freep) char *text = config_text(c);
	const struct yaml_node *root = NULL;
	if (!text || yaml_read(text, strlen(text), c->path, a, &root, &errors) < 0 ||
		root->kind != YAML_MAP) {
		/* config_text() writes what config_load() accepts, unless the defaults made it too
		 * long */
		fprintf(stderr, "%s: cannot be shown as JSON: %s\n", c->path,
			errors.n ? errors.v[0].text : "it is no map of keys");
		return EXIT_FAILED;
	}
	json_t *doc = json_of(root);
	json_object_set(doc, "derived_groups", groups);
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
	return EXIT_OK;
}

static int run_show(struct command_args *a)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	enum config_mode mode = command_opt(&command_config, a, "case") ? CONFIG_CASE : CONFIG_FULL;

	const char *path = file_of(a);
	if (!path)
		return EXIT_USAGE;
	if (config_load(path, mode, tables, n_tables, &c, &errors) < 0) {
		print_mistakes(path, &errors);
		return EXIT_USAGE;
	}
	json_t *groups = derived_json(c->fabric);
	int code = EXIT_OK;
	if (a->g->format_given && a->g->format == FORMAT_JSON)
		code = show_json(c, groups);
	else
		show_yaml(c, groups);
	json_decref(groups);
	config_free(c);
	return finish(code);
}

static int run_explain(struct command_args *a)
{
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	struct err e = {0};
	if (config_explain(a->argc > 1 ? a->argv[1] : NULL, tables, n_tables, stdout, &e) < 0) {
		err_print(stderr, &e);
		return EXIT_USAGE;
	}
	return finish(EXIT_OK);
}

/* import_one - a file into the set, its warnings printed. */
static int import_one(const struct command_args *a, struct import_set *set, const char *path)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct err e = {0};
	int rc = str_read_file(path, IMPORT_FILE_MAX, &text, &n, &e);
	if (rc < 0)
		err_list_add(&errors, &e);
	else
		rc = import_sonic(set, text, n, path, &errors, &warnings);
	print_mistakes(path, &errors);
	for (size_t i = 0; i < warnings.n && !a->g->quiet; i++)
		print_warning(&warnings.v[i]);
	return rc;
}

static int run_import(struct command_args *a)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct profiles *profiles = NULL;
	int rc = 0;
	if (a->argc < 3)
		return usage_error(&command_config,
			"import: expected what to import and the file: import sonic FILE");
	if (strcmp(a->argv[1], "sonic") != 0)
		return usage_error(
			&command_config, "import: read '%s', expected sonic", a->argv[1]);
	/* for the sizes of cells; without them the rest stands */
	profiles_load(NULL, &profiles, &errors);
	struct import_set *set = import_new(profiles);
	for (int i = 2; i < a->argc; i++)
		if (import_one(a, set, a->argv[i]) < 0)
			rc = -EINVAL;
	if (rc == 0)
		import_print(set, stdout);
	import_free(set);
	profiles_free(profiles);
	return rc < 0 ? EXIT_USAGE : finish(EXIT_OK);
}

static const struct {
	const char *name;
	int (*run)(struct command_args *a);
	bool json; /* beside text */
} verbs[] = {{"check", run_check, true}, {"show", run_show, true}, {"explain", run_explain, false},
	{"import", run_import, false}};

/* What is asked for in a form that is not there must not come in another one. */
static int run_verb(size_t i, struct command_args *a)
{
	enum report_format f = a->g->format;
	if (a->g->format_given && f != FORMAT_TABLE && !(f == FORMAT_JSON && verbs[i].json))
		return usage_error(&command_config, "--format: %s prints text%s", verbs[i].name,
			verbs[i].json ? " or json" : " only");
	return verbs[i].run(a);
}

static int run(struct command_args *a)
{
	if (a->argc == 0)
		return usage_error(&command_config, "expected check, show, explain or import");
	if (a->argc > 2 && strcmp(a->argv[0], "import") != 0)
		return usage_error(&command_config, "one argument too many: '%s'", a->argv[2]);
	for (size_t i = 0; i < rw_countof(verbs); i++)
		if (strcmp(verbs[i].name, a->argv[0]) == 0)
			return run_verb(i, a);
	return usage_error(&command_config, "unknown '%s', expected check, show, explain or import",
		a->argv[0]);
}

static const struct command_option options[] = {
	{"case", 0, NULL,
		"read FILE as the fabric.yaml of a recorded case: devices need no address"},
	{NULL},
};

const struct command command_config = {
	.name = "config",
	.args = "check [FILE]|show [FILE]|explain [KEY]|import sonic FILE...",
	.summary = "check the configuration, print the effective one, explain its keys, take one "
		   "from switches",
	.help = "check reads FILE (default: the configuration in force) and prints one line, or "
		"every mistake as file:line:column: what was\n"
		"read, what was expected (exit 2). Files it refers to, such as secrets, must "
		"exist. --format json lists the same.\n"
		"show prints what is in force with all defaults, as YAML that can be loaded again; "
		"secrets appear as their reference only. --format json\n"
		"prints the same keys and values, and the ECMP groups that follow from the links "
		"in derived_groups.\n"
		"explain prints type, unit, range, default and meaning of a key, of all keys below "
		"a section, or of all.\n"
		"import sonic reads the config_db.json of one or more switches and prints a "
		"configuration with their links and the thresholds of their lossless "
		"priorities; what it cannot use it says on stderr.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
