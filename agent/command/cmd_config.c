/*
 * cmd_config - what is in the configuration, whether it is right, and what a key means. Reads files
 * only: no database, no agent.
 */
#include "agent/command/command.h"
#include "agent/command/survey.h"
#include "agent/answers/settings/config_document.h"
#include "agent/modules.h"

#include <unistd.h>

#include "agent/document/json_value.h"
#include "base/log.h"
#include "agent/import/import_sonic.h"
#include "config/profile/config_profiles.h"
#include "config/config.h"

extern const struct command command_config;

/* Flushes and says whether all of it arrived: a full disk must not look like success. */
static int cmd_config_finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "rocewatch: cannot write the output\n");
	return EXIT_FAILED;
}

/* The file meant: the argument, else -c, else the default; NULL after saying why there is none. */
static const char *file_of(struct command_args *args)
{
	const char *path;
	if (args->argc > 1)
		path = args->argv[1];
	else
		path = args->g->config_path;
	if (args->argc == 1 && !args->g->config_named && access(path, F_OK) < 0 &&
		errno == ENOENT) {
		fprintf(stderr,
			"%s: there is no configuration; name one: rocewatch config %s FILE\n", path,
			args->argv[0]);
		return NULL;
	}
	return path;
}

static json_t *mistakes_json(const struct err_list *errors)
{
	json_t *v = json_array();
	for (size_t i = 0; i < errors->n; i++) {
		const struct err *e = &errors->v[i];
		json_t *line;
		if (e->line)
			line = json_integer(e->line);
		else
			line = json_null();
		json_t *column;
		if (e->col)
			column = json_integer(e->col);
		else
			column = json_null();
		json_array_append_new(v,
			json_pack("{s:s, s:o, s:o, s:s}", "file", e->file, "line", line, "column",
				column, "text", e->text));
	}
	return v;
}

struct counts {
	size_t links, ports, groups;
};

static struct counts cmd_config_count(const struct fabric *fabric)
{
	struct counts n = {0};
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *d = fabric->devices[i];
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
static void cmd_config_print_json(const char *path, const struct config *config,
	const struct err_list *errors, const struct err_list *warnings)
{
	json_t *doc = json_pack("{s:s, s:b, s:o, s:o}", "file", path, "ok", errors->n == 0,
		"errors", mistakes_json(errors), "warnings", mistakes_json(warnings));
	json_object_set_new(doc, "more_errors", json_integer((json_int_t)errors->more));
	if (config) {
		struct counts n = cmd_config_count(config->fabric);
		json_object_set_new(doc, "fabric", json_string(config->fabric->name));
		json_object_set_new(doc, "devices", json_integer((json_int_t)config->n_devices));
		json_object_set_new(doc, "links",
			config->fabric->discover ? json_string("discover")
						 : json_integer((json_int_t)n.links));
		json_object_set_new(doc, "ports", json_integer((json_int_t)n.ports));
		json_object_set_new(doc, "groups", json_integer((json_int_t)n.groups));
		json_object_set_new(doc, "captures", json_integer((json_int_t)config->n_captures));
		json_object_set_new(doc, "jobs", json_integer((json_int_t)config->fabric->n_jobs));
	}
	json_print(stdout, doc, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
}

static const char *cmd_config_plural(size_t n)
{
	if (n == 1)
		return "";
	return "s";
}

static void print_ok(const char *path, const struct config *config, size_t n_warnings)
{
	struct counts n = cmd_config_count(config->fabric);
	printf("%s: ok, %zu device%s, ", path, config->n_devices,
		cmd_config_plural(config->n_devices));
	if (config->fabric->discover)
		printf("links by discovery");
	else
		printf("%zu link%s", n.links, cmd_config_plural(n.links));
	printf(", %zu ECMP group%s, %zu capture%s", n.groups, cmd_config_plural(n.groups),
		config->n_captures, cmd_config_plural(config->n_captures));
	if (config->fabric->n_jobs)
		printf(", %zu job%s", config->fabric->n_jobs,
			cmd_config_plural(config->fabric->n_jobs));
	if (n_warnings)
		printf(", %zu warning%s", n_warnings, cmd_config_plural(n_warnings));
	putchar('\n');
}

/* --case: the file is that of a recorded case, which may lack what an agent needs. */
static enum config_mode cmd_config_mode(const struct command_args *args)
{
	if (command_opt(&command_config, args, "case"))
		return CONFIG_CASE;
	return CONFIG_FULL;
}

static int run_check(struct command_args *args)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	struct config *c = NULL;
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	const enum config_mode mode = cmd_config_mode(args);

	const char *path = file_of(args);
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
	if (args->g->format_given && args->g->format == FORMAT_JSON) {
		cmd_config_print_json(path, c, &errors, &warnings);
	} else {
		command_mistakes(path, &errors);
		command_warnings(args->g, &warnings);
		if (errors.n == 0 && c && !args->g->quiet)
			print_ok(path, c, warnings.n);
	}
	config_free(c);
	return cmd_config_finish(errors.n ? EXIT_USAGE : EXIT_OK);
}

static void show_yaml(const struct config *config, const json_t *groups)
{
	size_t i, k;
	json_t *g, *m;
	config_print(config, stdout);
	json_array_foreach (groups, i, g) {
		printf("# derived: %s %s:", json_string_value(json_object_get(g, "device")),
			json_string_value(json_object_get(g, "group")));
		json_array_foreach (json_object_get(g, "members"), k, m)
			printf(" %s", json_string_value(m));
		putchar('\n');
	}
}

static int show_json(const struct config *config)
{
	struct err e = {0};
	json_t *doc = NULL;
	if (config_document(config, &doc, &e) < 0) {
		err_print(stderr, &e);
		return EXIT_FAILED;
	}
	json_print(stdout, doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(doc);
	return EXIT_OK;
}

static int cmd_config_run_show(struct command_args *args)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *c = NULL;
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	const enum config_mode mode = cmd_config_mode(args);

	const char *path = file_of(args);
	if (!path)
		return EXIT_USAGE;
	if (config_load(path, mode, tables, n_tables, &c, &errors) < 0) {
		command_mistakes(path, &errors);
		return EXIT_USAGE;
	}
	json_t *groups = config_derived_groups(c->fabric);
	int code = EXIT_OK;
	if (args->g->format_given && args->g->format == FORMAT_JSON)
		code = show_json(c);
	else
		show_yaml(c, groups);
	json_decref(groups);
	config_free(c);
	return cmd_config_finish(code);
}

static void explain_json(const struct config_key *key, void *arg)
{
	json_array_append_new(arg,
		json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:b, s:b, s:s}", "key", key->path,
			"type", key->type, "min", key->min, "max", key->max, "default", key->def,
			"default_means", key->def_means, "required", key->required, "section",
			key->section, "description", key->doc));
}

static int run_explain_json(const struct command_args *args)
{
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	const char *key = args->argc > 1 ? args->argv[1] : NULL;
	json_t *doc = json_object(), *keys = json_array();
	struct err e = {0};
	json_object_set_new(doc, "keys", keys);
	int code = EXIT_OK;
	if (config_keys_of(key, tables, n_tables, explain_json, keys, &e) < 0) {
		err_print(stderr, &e);
		code = EXIT_USAGE;
	} else if (json_print(stdout, doc, JSON_INDENT(2)) < 0 || putchar('\n') == EOF) {
		code = EXIT_FAILED;
	}
	json_decref(doc);
	return code;
}

static int run_explain(struct command_args *args)
{
	if (args->g->format == FORMAT_JSON)
		return run_explain_json(args);
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	struct err e = {0};
	if (config_explain(args->argc > 1 ? args->argv[1] : NULL, tables, n_tables, stdout, &e) <
		0) {
		err_print(stderr, &e);
		return EXIT_USAGE;
	}
	return cmd_config_finish(EXIT_OK);
}

static int run_import(struct command_args *args)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	const char *const *paths = (const char *const *)args->argv + 2;
	const int rc = import_files(args->argv[1], paths, stdout, &errors, &warnings);
	if (rc == -ENOENT)
		return usage_error(&command_config,
			"unknown format '%.64s'; expected sonic or nvue", args->argv[1]);
	command_mistakes(paths[0], &errors);
	command_warnings(args->g, &warnings);
	if (rc < 0)
		return EXIT_USAGE;
	return cmd_config_finish(EXIT_OK);
}

static const struct command_option options[] = {
	SURVEY_OPTIONS,
	{"case", 0, NULL,
		"read FILE as the fabric.yaml of a recorded case: devices need no address"},
	{NULL},
};

/* ---- init ------------------------------------------------------------------ */

#define INIT_DEADLINE_NS (20 * NS_PER_S)

static int init_ask(struct survey *survey, const struct survey_hosts *hosts, struct err *e)
{
	const int rc = survey_hosts(survey, hosts, INIT_DEADLINE_NS, e);
	if (rc < 0)
		return rc;
	/* What a person reads of it on stderr: who did not answer. */
	for (size_t i = 0; i < survey->n; i++)
		if (!survey->v[i].answered)
			fprintf(stderr, "rocewatch: %s\n", survey->v[i].reason);
	if (survey->n_answered == 0)
		return err_set(
			e, -EIO, "no switch answered (%zu asked): nothing to print", survey->n);
	fprintf(stdout,
		"# Written by rocewatch config init: %zu of %zu switches answered. Each line is "
		"explained by\n"
		"# rocewatch config explain KEY; check it with rocewatch config check FILE.\n",
		survey->n_answered, survey->n);
	survey_print(stdout, survey, hosts, "", false);
	return 0;
}

static int run_init(struct command_args *args)
{
	rw_cleanup(survey_hosts_done) struct survey_hosts hosts = {0};
	struct survey survey = {0};
	struct err e = {0};
	const int code = survey_hosts_read(&command_config, args, 1, &hosts);
	if (code != EXIT_OK)
		return code;
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_);
	const int rc = init_ask(&survey, &hosts, &e);
	survey_done(&survey);
	if (rc == 0)
		return cmd_config_finish(EXIT_OK);
	err_print(stderr, &e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static const struct subcommand subcommands[] = {
	{.name = "init",
		.args = "HOST...",
		.summary = "a first configuration from the answers of switches",
		.help = "Asks these switches over SNMP or gNMI who they are and how they are "
			"linked "
			"(LLDP), "
			"and prints ten lines with comments: names by their system names, roles by "
			"their links (hosts make a leaf, leaves a spine), priorities by what they "
			"tell of PFC. HOST is ADDRESS[:PORT], or gnmi:ADDRESS[:PORT]. Who does not "
			"answer is listed on "
			"stderr. Exit 1: no switch answered.",
		.options = SURVEY_OPTION_NAMES,
		.examples = {{"config init 192.0.2.11 192.0.2.21 --community-file community",
				     "prints a configuration of two switches",
				     .not_run = "asks switches"},
			{"config init leaf1 spine1 --community-file community > rocewatch.yaml",
				"keeps it in a file", .not_run = "asks switches"}},
		.run = run_init},
	{.name = "check",
		.args = "[FILE]",
		.summary = "is it right? Each mistake as file:line:column",
		.help = "Reads FILE (default: the configuration in force) and prints one line, or "
			"every mistake: what was read, what was expected (exit 2). Files it refers "
			"to, such as secrets, must exist.",
		.options = "case",
		.formats = WRITES_SAID,
		.examples = {{"config check rocewatch.yaml", "checks a file before it is used"},
			{"config check --format json", "checks the configuration in force"}},
		.run = run_check},
	{.name = "show",
		.args = "[FILE]",
		.summary = "what is in force, with all defaults",
		.help = "As YAML that can be loaded again; secrets appear as their reference only. "
			"JSON has the same keys and values, and the ECMP groups that follow from "
			"the links in derived_groups.",
		.options = "case",
		.formats = WRITES_SAID,
		.examples = {{"config show", "prints the configuration in force as YAML"},
			{"config show rocewatch.yaml --format json",
				"prints that of a file as JSON"}},
		.run = cmd_config_run_show},
	{.name = "explain",
		.args = "[KEY]",
		.summary = "type, unit, range, default and meaning of keys",
		.help = "Of a key, of all keys below a section, or of all.",
		.formats = WRITES_SAID,
		.examples = {{"config explain store.retention", "explains one section"},
			{"config explain --format json", "writes all keys as a document"}},
		.run = run_explain},
	{.name = "import",
		.args = "sonic|nvue FILE...",
		.summary =
			"a configuration from what SONiC or Cumulus switches are configured with",
		.help = "Reads the config_db.json (or a dump of CONFIG_DB) of one or more "
			"switches, each with a dump of its APPL_DB behind it where the buffer "
			"model is dynamic, and prints a configuration with their links and the "
			"thresholds of their lossless priorities; what it cannot use is listed on "
			"stderr. nvue is Cumulus Linux: 'nv config show -o json', or what a GET of "
			"/nvue_v1/ answers; it has thresholds, also of relative ECN, classes of "
			"packets, and no links.",
		.examples = {{"config import sonic config_db.json",
				     "prints a configuration with the links of one switch"},
			{"config import sonic config_db.json > imported.yaml",
				"keeps it in a file"}},
		.run = run_import},
	{0},
};

const struct command command_config = {
	.name = "config",
	.summary = "check and print the configuration, explain its keys",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
};
