/*
 * cmd_config - what is in the configuration, whether it is right, and what a key means. Reads files only: no database, no agent.
 */
#include "agent/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/reports/report.h"
#include "config/config.h"

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
		fprintf(stderr, "%s: there is no configuration; name one: rocewatch config %s FILE\n", path, a->argv[0]);
		return NULL;
	}
	return path;
}

static json_t *mistakes_json(const struct err_list *l)
{
	json_t *v = json_array();
	for (size_t i = 0; i < l->n; i++) {
		const struct err *e = &l->v[i];
		json_t *line = e->line ? json_integer(e->line) : json_null(), *column = e->col ? json_integer(e->col) : json_null();
		json_array_append_new(v, json_pack("{s:s, s:o, s:o, s:s}", "file", e->file, "line", line, "column", column, "text", e->text));
	}
	return v;
}

struct counts { size_t links, ports, groups; };

static struct counts count(const struct fabric *f)
{
	struct counts n = {0};
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		n.ports += d->n_ports;
		n.groups += d->n_groups;
		for (size_t k = 0; k < d->n_ports; k++) {
			const struct fabric_port *p = d->ports[k];
			/* A cable between switches is seen from both ends; members of a LAG share the LAG's. */
			if (p->host || (p->peer && p->peer->peer != p) || (p->peer && p < p->peer))
				n.links++;
		}
	}
	return n;
}

static void print_json(const char *path, const struct config *c, const struct err_list *errors, const struct err_list *warnings)
{
	json_t *doc = json_pack("{s:s, s:b, s:o, s:o}", "file", path, "ok", errors->n == 0, "errors", mistakes_json(errors), "warnings",
		mistakes_json(warnings));
	if (c) {
		struct counts n = count(c->fabric);
		json_object_set_new(doc, "fabric", json_string(c->fabric->name));
		json_object_set_new(doc, "devices", json_integer((json_int_t)c->n_devices));
		json_object_set_new(doc, "links", c->fabric->discover ? json_string("discover") : json_integer((json_int_t)n.links));
		json_object_set_new(doc, "ports", json_integer((json_int_t)n.ports));
		json_object_set_new(doc, "groups", json_integer((json_int_t)n.groups));
		json_object_set_new(doc, "captures", json_integer((json_int_t)c->n_captures));
		json_object_set_new(doc, "jobs", json_integer((json_int_t)c->fabric->n_jobs));
	}
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static void print_ok(const char *path, const struct config *c, size_t n_warnings)
{
	struct counts n = count(c->fabric);
	printf("%s: ok, %zu device%s, ", path, c->n_devices, plural(c->n_devices));
	if (c->fabric->discover)
		printf("links by discovery");
	else
		printf("%zu link%s", n.links, plural(n.links));
	printf(", %zu ECMP group%s, %zu capture%s", n.groups, plural(n.groups), c->n_captures, plural(c->n_captures));
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
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		for (size_t i = 0; i < warnings.n && !a->g->quiet; i++)
			print_warning(&warnings.v[i]);
		if (errors.n == 0 && c && !a->g->quiet)
			print_ok(path, c, warnings.n);
	}
	config_free(c);
	return finish(errors.n ? EXIT_USAGE : EXIT_OK);
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
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		return EXIT_USAGE;
	}
	config_print(c, stdout);
	for (size_t i = 0; i < c->fabric->n_devices; i++) {
		const struct fabric_device *d = c->fabric->devices[i];
		for (size_t k = 0; k < d->n_groups; k++) {
			const struct fabric_group *g = &d->groups[k];
			if (g->given)
				continue;
			printf("# derived: %s %s:", d->name, g->id);
			for (size_t m = 0; m < g->n_members; m++) {
				const struct fabric_port *p = g->members[m];
				printf(" %s", p->lag && strncmp(g->id, "lag:", 4) != 0 ? p->lag : p->name);
			}
			putchar('\n');
		}
	}
	config_free(c);
	return finish(EXIT_OK);
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

static const struct {
	const char *name;
	int (*run)(struct command_args *a);
	bool json; /* beside text */
} verbs[] = {{"check", run_check, true}, {"show", run_show, false}, {"explain", run_explain, false}};

/* What is asked for in a form that is not there must not come in another one. */
static int run_verb(size_t i, struct command_args *a)
{
	enum report_format f = a->g->format;
	if (a->g->format_given && f != FORMAT_TABLE && !(f == FORMAT_JSON && verbs[i].json))
		return usage_error(&command_config, "--format: %s prints text%s", verbs[i].name,
			verbs[i].json ? " or json" : strcmp(verbs[i].name, "show") == 0 ? " (YAML) only" : " only");
	return verbs[i].run(a);
}

static int run(struct command_args *a)
{
	if (a->argc == 0)
		return usage_error(&command_config, "expected check, show or explain");
	if (a->argc > 2)
		return usage_error(&command_config, "one argument too many: '%s'", a->argv[2]);
	for (size_t i = 0; i < rw_countof(verbs); i++)
		if (strcmp(verbs[i].name, a->argv[0]) == 0)
			return run_verb(i, a);
	return usage_error(&command_config, "unknown '%s', expected check, show or explain", a->argv[0]);
}

static const struct command_option options[] = {
	{"case", 0, NULL, "read FILE as the fabric.yaml of a recorded case: devices need no address"},
	{NULL},
};

const struct command command_config = {
	.name = "config",
	.args = "check [FILE]|show [FILE]|explain [KEY]",
	.summary = "check the configuration, print the effective one, explain its keys",
	.help = "check reads FILE (default: the configuration in force) and prints one line, or every mistake as file:line:column: what was\n"
		"read, what was expected (exit 2). Files it refers to, such as secrets, must exist. --format json lists the same.\n"
		"show prints what is in force with all defaults, as YAML that can be loaded again; secrets appear as their reference only.\n"
		"explain prints type, unit, range, default and meaning of a key, of all keys below a section, or of all.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
