/* cmd_lint - "rocewatch lint": what would be wrong with a fabric, before it is built or changed. */

#include "agent/answers/lint/answer.h"
#include "agent/client/client.h"
#include "agent/command/command.h"
#include "agent/import/import_sonic.h"
#include "agent/modules.h"
#include "agent/tuning/tune_documents.h"
#include "agent/tuning/tune_lint.h"
#include "config/config.h"

#define LINT_SPAN_NS (15 * 60 * NS_PER_S)

extern const struct command command_lint;

static const struct command_option options[] = {
	{"import", 0, "FILE",
		"judge what this config_db.json of a SONiC switch says, not the configuration; "
		"give it once for each switch"},
	{"sheet", 0, "ID", "judge the fabric in force with the thresholds of this tuning sheet"},
	{"failures", 0, "0|1|2", "links and switches that fail at once, at most (default: 2)"},
	{"reroute", 0, "converged|local|back|tagged",
		"what switches do about a failure; when not given converged and local are judged"},
	{"routes", 0, "FILE",
		"next hops, a row 'SWITCH LEAF PORT[,PORT...]' each, in place of all shortest "
		"paths; LEAF '*': every leaf without a row"},
	{NULL, 0, NULL, NULL},
};

/* A configuration of which only the fabric counts: devices need no address. */
static int load_fabric(const char *path, struct config **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	const int rc = config_load(path, CONFIG_CASE, tables, n, ret, &errors);
	command_mistakes(path, &errors);
	return rc;
}

/* The configuration that 'config import sonic' makes of the files. */
static int import_fabric(
	const struct globals *globals, const char *const *files, struct config **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t size = 0, n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	int rc = import_files("sonic", files, out, &errors, &warnings);
	fclose(out);
	if (rc == 0)
		rc = config_parse(
			text, size, "imported", CONFIG_CASE, tables, n_tables, ret, &errors);
	command_mistakes(files[0], &errors);
	command_warnings(globals, &warnings);
	return rc;
}

/* The client with the fabric to be judged: imported, of a named file, or the one in force. */
static int open_fabric(const struct command_args *args, const char *const *files,
	struct client *client, struct err *e)
{
	const struct globals *globals = args->g;
	if (!*files && !globals->config_given) {
		const int rc = command_open(client, globals, LINT_SPAN_NS, e);
		if (rc != -ENOENT || globals->db)
			return rc;
	}
	*client = (struct client){0};
	if (globals->db) {
		struct globals base = *globals;
		base.config_given = base.config_named = false;
		const int rc = command_open(client, &base, LINT_SPAN_NS, e);
		if (rc < 0)
			return rc;
		config_free(client->config);
		client->config = NULL;
	}
	int rc;
	if (*files)
		rc = import_fabric(globals, files, &client->config);
	else if (globals->config_given)
		rc = load_fabric(globals->config_path, &client->config);
	else
		rc = client_config_read(client, globals, e);
	if (rc < 0)
		return -EINVAL;
	return 0;
}

static const char *source_of(const struct command_args *args, const char *const *files)
{
	if (*files)
		return "imported configurations of switches";
	if (args->g->config_given)
		return args->g->config_path;
	return "the configuration in force";
}

static int print_answer(
	const struct command_args *args, const char *const *files, const struct lint_answer *answer)
{
	const struct globals *g = args->g;
	if (str_eq(g->other_format, "junit"))
		return lint_print_junit(stdout, answer);
	const char *file = *files;
	if (*files && files[1])
		file = NULL;
	else if (!*files && g->config_given)
		file = g->config_path;
	if (g->other_format)
		return lint_print_sarif(stdout, answer, file);
	json_t *doc = shape_json(&lint_answer_shape, answer);
	const int rc = answer_print(stdout, doc, answer, &lint_view, g->format, !g->no_header,
		g->color == COLOR_ALWAYS);
	json_decref(doc);
	return rc;
}

/* The changes of a sheet; what they point to is the ledger's, or in @a. */
static int read_sheet(const char *id, struct client *client, struct arena *a,
	struct tune_ledger **ledger, struct lint_ask *ask, struct err *e)
{
	struct lint_change *changes;
	if (!client->history)
		return err_set(
			e, -EINVAL, "--sheet: there is no database with sheets: name it with --db");
	int rc = tune_documents_load(client, ledger, e);
	if (rc < 0)
		return rc;
	const struct tune_record *record = tune_find(*ledger, id, e);
	if (!record)
		return -EINVAL;
	ask->sheet = record->sheet.id;
	ask->n_changes = tune_lint_changes(client->config->fabric, &record->sheet, a, &changes);
	ask->changes = changes;
	return 0;
}

static int run_lint(struct command_args *args)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	rw_cleanup(freep) const char **files = command_opt_all(args, "import");
	rw_cleanup(tune_documents_free) struct tune_ledger *ledger = NULL;
	struct client client = {0};
	struct lint_answer answer;
	struct lint_ask ask = {
		.source = source_of(args, files), .as_read = !*files && !args->g->config_given};
	const char *sheet = command_opt(&command_lint, args, "sheet");
	ask.routes = command_opt(&command_lint, args, "routes");
	struct err e = {0};
	int rc = lint_ask_read(&ask, command_opt(&command_lint, args, "failures"),
		command_opt(&command_lint, args, "reroute"), &e);
	if (rc < 0)
		return usage_error(&command_lint, "--%s", e.text);
	if (sheet && !ask.as_read)
		return usage_error(&command_lint,
			"--sheet is about the fabric in force, not about a file of --config or "
			"--import");
	rc = open_fabric(args, files, &client, &e);
	if (rc == 0 && !client.config)
		rc = err_set(&e, -EINVAL, "there is no configuration: name one with --config");
	if (rc == 0 && sheet)
		rc = read_sheet(sheet, &client, arena, &ledger, &ask, &e);
	if (rc == 0)
		rc = lint_answer_make(&client, &ask, arena, &answer, &e);
	if (rc == 0 && print_answer(args, files, &answer) < 0)
		rc = err_set(&e, -EIO, "the answer cannot be written");
	int code = EXIT_OK;
	if (rc == -EINVAL)
		code = EXIT_USAGE;
	else if (rc < 0 || lint_answer_fails(&answer))
		code = EXIT_FAILED;
	if (*e.text)
		err_print(stderr, &e);
	client_done(&client);
	return code;
}

const struct command command_lint = {
	.name = "lint",
	.summary = "proof before rollout: deadlocks, headroom, ECN, paths",
	.help = "Judges a fabric as it is declared, or as the switches answered last: can buffers "
		"wait for each other in a ring, as it stands and after every failure of one or two "
		"links or switches; does headroom hold what is in flight; do marks come before "
		"pause; do both ends of each link agree; what do failures leave of the paths. "
		"Each ring comes with a witness. What was assumed and what was not judged is said. "
		"docs/lint.md explains it.\n\n"
		"With -c FILE that file is judged, whose devices need no address: a change can be "
		"judged in the CI of a repository.\n"
		"Exit 0: nothing worse than an info, 1: findings, 2: bad input.",
	.options = options,
	.takes = TAKES_DB,
	.formats = WRITES_ALL,
	.other_format = "sarif|junit",
	.examples = {{"lint", "judges the fabric in force", .exit = EXIT_FAILED},
		{"lint --failures 1 --format json", "writes what single failures can do",
			.exit = EXIT_FAILED}},
	.usage_exit = EXIT_USAGE,
	.run = run_lint,
};
