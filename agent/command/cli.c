/*
 * cli - from the command line to the row that runs. The contract: global options stand before or
 * after the command; help and version on stdout with exit 0; a usage error names what was read and
 * the nearest name that exists; an option that the row does not take is refused, never ignored.
 */
#include "agent/command/command.h"

#include <getopt.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "agent/command/cli_help.h"

#define DEFAULT_CONFIG "/etc/rocewatch/rocewatch.yaml"
enum { MAX_NAMES = 64 };

/* A command line while it is read. */
struct cli_call {
	struct globals g;
	struct command command; /* as it is used */
	struct subcommand sub;
	struct command_args args;
	struct command_given *given;
	char *otherwise[2]; /* the words, where none was given */
};

static void cli_call_done(struct cli_call *call)
{
	free(call->given);
}

/* ---- what is wanted ------------------------------------------------------ */

static void resolve_color(struct globals *chosen)
{
	if (chosen->color != COLOR_AUTO)
		return;
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool plain = (no_color && *no_color) || str_eq(term, "dumb") || !isatty(STDOUT_FILENO);
	if (plain)
		chosen->color = COLOR_NEVER;
	else
		chosen->color = COLOR_ALWAYS;
}

static enum log_level log_level_of(const struct globals *chosen)
{
	if (chosen->quiet)
		return LOG_ERROR_;
	if (chosen->verbose)
		return LOG_DEBUG_;
	return LOG_INFO_;
}

/* What run() was asked to print has to arrive: a full disk must not look like success. */
static int cli_finish(int code)
{
	bool failed = ferror(stdout);
	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return code;
	/* Of an error that an earlier write met, only the fact is left. */
	fprintf(stderr, "rocewatch: cannot write the output%s%s\n", str_if(errno, ": "),
		errno ? strerror(errno) : "");
	if (code == EXIT_OK)
		return EXIT_FAILED;
	return code;
}

static int cli_version(void)
{
	puts("rocewatch " RW_VERSION);
	return cli_finish(EXIT_OK);
}

/* ---- the command and its row --------------------------------------------- */

static int refuse_command(const struct command *const *table, const char *word)
{
	const char *names[MAX_NAMES];
	size_t n = 0;

	for (size_t i = 0; table[i] && n < rw_countof(names); i++)
		if (!table[i]->hidden)
			names[n++] = table[i]->name;
	const char *near = str_nearest(word, names, n);
	if (near)
		return usage_error(NULL, "unknown command '%.64s'; did you mean '%s'?", word, near);
	return usage_error(
		NULL, "unknown command '%.64s'; 'rocewatch --help' lists the commands", word);
}

/* With --check a command is a check: whatever goes wrong then is UNKNOWN (exit 3), usage errors
 * too. */
static bool is_check(const struct command *command, int argc, char **argv)
{
	bool has = false, given = false;
	for (size_t i = 0; command->options && command->options[i].name; i++)
		has = has || str_eq(command->options[i].name, "check");
	for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++)
		given = given || str_eq(argv[i], "--check");
	return has && given;
}

/* A mistake in front of a check's name is a mistake of the check. */
static int early_exit(int code, int argc, char **argv, const struct command *const *table)
{
	bool check = false;
	for (int i = 1; i < argc; i++)
		for (size_t c = 0; table[c]; c++)
			check |= table[c]->usage_exit == USAGE_EXIT_CHECK &&
				str_eq(table[c]->name, argv[i]);
	if (code != EXIT_USAGE || !check)
		return code;
	printf("CHECK UNKNOWN - a wrong option stands before the command\n");
	return cli_finish(USAGE_EXIT_CHECK);
}

/* The first word that names a row: known before the options are read, so that a mistake in them is
 * told of the right subcommand. */
static bool find_sub(const struct command *command, int argc, char **argv, struct subcommand *ret)
{
	for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++)
		if (argv[i][0] != '-' && command_sub_named(command, argv[i], ret))
			return true;
	return false;
}

static const char *sub_kind(const struct command *command)
{
	return str_or(command->sub_kind, "subcommand");
}

static int refuse_sub(const struct command *command, const char *word)
{
	const char *names[MAX_NAMES];
	struct subcommand row;
	size_t n = 0;
	for (; n < rw_countof(names) && command_sub(command, n, &row); n++)
		names[n] = row.name;
	usage_begin(command, NULL);
	if (word)
		return usage_unknown(command, sub_kind(command), word, names, n);
	rw_cleanup(str_done) struct str all = {0};
	for (size_t i = 0; i < n; i++)
		str_addf(&all, "%s%s", str_if(i, i + 1 < n ? ", " : " or "), names[i]);
	return usage_error(command, "missing %s; expected %s", sub_kind(command), all.s);
}

/* The row that the words name. 0, or the exit code after a message. */
static int choose_sub(struct cli_call *call)
{
	struct command_args *args = &call->args;
	const struct command *command = &call->command;
	command_self(command, &call->sub);
	usage_begin(command, NULL);
	if (!command_has_subs(command))
		return 0;
	if (args->argc == 0 && command->otherwise) {
		call->otherwise[0] = (char *)command->otherwise;
		args->argv = call->otherwise;
		args->argc = 1;
	}
	if (args->argc == 0 && command->run)
		return 0;
	if (args->argc == 0)
		return refuse_sub(command, NULL);
	if (!command_sub_named(command, args->argv[0], &call->sub)) {
		command_self(command, &call->sub);
		if (command->run)
			return 0;
		return refuse_sub(command, args->argv[0]);
	}
	usage_begin(command, call->sub.name);
	return 0;
}

/* ---- what the row takes -------------------------------------------------- */

static int check_words(const struct cli_call *call)
{
	const struct command_args *args = &call->args;
	const int named = call->sub.name != NULL;
	const int n = args->argc - named;
	int least, most;
	command_words_of(&call->sub, &least, &most);
	if (n < least) {
		const char *at = call->sub.args;
		for (int i = 0; i < n; i++)
			at += strcspn(at, " ") + 1;
		return usage_error(&call->command, "missing %.*s", (int)strcspn(at, " "), at);
	}
	if (n > most)
		return usage_extra(&call->command, args->argv[named + most]);
	return 0;
}

/* An option of the command that belongs to others of its rows. */
static int check_options(const struct cli_call *call)
{
	for (size_t i = 0; i < call->args.n_given; i++) {
		const char *option = call->given[i].name;
		rw_cleanup(str_done) struct str takers = {0};
		struct subcommand other;
		if (command_takes_option(&call->command, &call->sub, option))
			continue;
		for (size_t k = 0; command_sub(&call->command, k, &other); k++)
			if (command_takes_option(&call->command, &other, option))
				str_addf(&takers, "%s%s", str_if(takers.n, ", "), other.name);
		return usage_error(&call->command, "option '--%s' does not apply%s%s", option,
			str_if(takers.n, "; it is for "), str_or(takers.s, ""));
	}
	return 0;
}

static bool is_given(const struct globals *g, const char *option)
{
	const struct {
		const char *name;
		bool given;
	} rows[] = {{"db", g->db}, {"since", g->since}, {"until", g->until}, {"around", g->around},
		{"span", g->span}, {"format", g->format_given}, {"no-header", g->no_header}};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_eq(rows[i].name, option))
			return rows[i].given;
	return false;
}

/* The command has an option of this name itself. */
static bool is_own(const struct command *command, const char *option)
{
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (str_eq(o->name, option))
			return true;
	return false;
}

static int check_globals(const struct cli_call *call)
{
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!is_given(&call->g, option->o.name) ||
			global_is_for(option, &call->command, &call->sub))
			continue;
		if (is_own(&call->command, option->o.name)) /* it stood before the command */
			continue;
		if (option->needs & TAKES_SINCE && call->sub.takes & TAKES_AT)
			return usage_error(&call->command,
				"option '--since' does not apply: this shows a state, not a time "
				"range; give --until or --around");
		return usage_error(&call->command, "option '--%s' does not apply", option->o.name);
	}
	return 0;
}

/* One of its own formats: "sarif|junit". */
static bool writes_other(const struct subcommand *sub, const char *format)
{
	const char *at = str_or(sub->other_format, "");
	while (format && *at) {
		const size_t n = strcspn(at, "|");
		if (n == strlen(format) && strncmp(at, format, n) == 0)
			return true;
		at += n + (at[n] == '|');
	}
	return false;
}

static int check_format(const struct cli_call *call)
{
	const struct globals *g = &call->g;
	const struct subcommand *sub = &call->sub;
	struct subcommand other;
	char words[64];
	size_t format = 0;
	if (!g->format_given)
		return 0;
	if (writes_other(sub, g->other_format))
		return 0;
	if (!g->other_format && sub->formats & 1u << g->format)
		return 0;
	while (!str_eq(global_options[format].o.name, "format"))
		format++;
	global_placeholder(&global_options[format], sub, words, sizeof(words));
	if (!g->other_format)
		return usage_error(
			&call->command, "--format: not written here; expected %s", words);
	for (size_t i = 0; command_sub(&call->command, i, &other); i++)
		if (writes_other(&other, g->other_format))
			return usage_error(&call->command, "--format %s is for %s %s",
				g->other_format, call->command.name, other.name);
	return usage_error(&call->command, "--format: unknown format '%.64s'; expected %s",
		g->other_format, words);
}

/* ---- reading ------------------------------------------------------------- */

/* Help on what the words name. They may stand anywhere. */
static int cli_help(const struct command *command, int argc, char **argv)
{
	struct subcommand sub;
	if (find_sub(command, argc, argv, &sub))
		help_of_sub(stdout, command, &sub);
	else
		help_of_command(stdout, command);
	return cli_finish(EXIT_OK);
}

/* From the command's name on, which stands where getopt expects the program's. *ret_done: @call is
 * not to be run, the exit code is returned. */
static int cli_read_command(struct cli_call *call, int argc, char **argv, bool *ret_done)
{
	struct subcommand found = {0};
	/* A word gives several options when letters stand in a bunch ("-dz"). */
	size_t n_words = 0;
	*ret_done = true;
	for (int i = 1; i < argc; i++)
		n_words += strlen(argv[i]);
	call->given = rw_calloc(n_words + 1, sizeof(*call->given));
	if (is_check(&call->command, argc, argv))
		call->command.usage_exit = USAGE_EXIT_CHECK;
	find_sub(&call->command, argc, argv, &found);
	usage_begin(&call->command, found.name);
	struct cli_read read = {
		.globals = &call->g, .command = &call->command, .given = call->given};
	int r = cli_read_options(&read, argc, argv);
	if (r != 0)
		return r;
	if (read.help)
		return cli_help(&call->command, argc, argv);
	if (read.version)
		return cli_version();
	call->args.given = call->given;
	call->args.n_given = read.n_given;
	call->args.argc = argc - optind;
	call->args.argv = argv + optind;
	r = choose_sub(call);
	if (r == 0)
		r = check_options(call);
	if (r == 0)
		r = check_words(call);
	if (r == 0)
		r = check_globals(call);
	if (r == 0)
		r = check_format(call);
	*ret_done = r != 0;
	return r;
}

/* The whole line. As cli_read_command(). */
static int cli_read(struct cli_call *call, int argc, char **argv,
	const struct command *const *table, bool *ret_done)
{
	const char *env = getenv("ROCEWATCH_CONFIG");
	*ret_done = true;
	*call = (struct cli_call){.g = {.config_path = env && *env ? env : DEFAULT_CONFIG,
					  .config_named = env && *env}};
	call->args = (struct command_args){
		.g = &call->g, .command = &call->command, .sub = &call->sub, .table = table};
	struct cli_read read = {.globals = &call->g};
	usage_begin(NULL, NULL);
	int r = cli_read_options(&read, argc, argv);
	if (r != 0)
		return early_exit(r, argc, argv, table);
	if (read.version)
		return cli_version();
	if (read.help)
		help_of_all(stdout, table);
	if (read.help)
		return cli_finish(EXIT_OK);
	if (optind >= argc) {
		help_of_all(stderr, table);
		return EXIT_USAGE;
	}
	for (size_t i = 0; table[i]; i++)
		if (str_eq(table[i]->name, argv[optind]))
			call->command = *table[i];
	if (!call->command.name)
		return refuse_command(table, argv[optind]);
	return cli_read_command(call, argc - optind, argv + optind, ret_done);
}

/* ---- before it runs ------------------------------------------------------ */

static bool is_path(const char *placeholder, size_t n)
{
	return memmem(placeholder, n, "FILE", 4) || memmem(placeholder, n, "DIR", 3);
}

/* Of the words that name files. */
static int cli_words_answer(const struct cli_call *call, struct err *e)
{
	const char *at = str_or(call->sub.args, "");
	for (int i = call->sub.name != NULL; i < call->args.argc; i++) {
		const size_t n = strcspn(at, " ");
		const bool last = at[n] == '\0'; /* "FILE..." is meant by all that follow */
		if (is_path(at, n) && path_answers(call->args.argv[i], e) < 0)
			return -ETIMEDOUT;
		if (!last)
			at += n + 1;
	}
	return 0;
}

static int cli_options_answer(const struct cli_call *call, struct err *e)
{
	for (size_t i = 0; i < call->args.n_given; i++)
		for (const struct command_option *o = call->command.options; o && o->name; o++)
			if (o->arg && str_eq(o->name, call->given[i].name) &&
				is_path(o->arg, strlen(o->arg)) &&
				path_answers(call->given[i].value, e) < 0)
				return -ETIMEDOUT;
	return 0;
}

/* 0, or the exit code after a message: a path of the command line is on a mount that hangs. */
static int cli_paths_answer(const struct cli_call *call)
{
	struct err e = {0};
	int rc = path_answers(call->g.config_path, &e);
	if (rc == 0 && call->g.db)
		rc = path_answers(call->g.db, &e);
	if (rc == 0)
		rc = cli_words_answer(call, &e);
	if (rc == 0)
		rc = cli_options_answer(call, &e);
	if (rc == 0)
		return 0;
	err_print(stderr, &e);
	if (call->command.usage_exit != USAGE_EXIT_CHECK)
		return EXIT_FAILED;
	printf("CHECK UNKNOWN - %s %s\n", e.file, e.text);
	return cli_finish(USAGE_EXIT_CHECK);
}

int cli_run(int argc, char **argv, const struct command *const *table)
{
	rw_cleanup(cli_call_done) struct cli_call call;
	bool done;
	int r = cli_read(&call, argc, argv, table, &done);
	if (done)
		return r;
	resolve_color(&call.g);
	log_set_level(log_level_of(&call.g));
	r = cli_paths_answer(&call);
	if (r != 0)
		return r;
	if (call.sub.act)
		return cli_finish(command_act(&call.args));
	return cli_finish(call.sub.run(&call.args));
}

int cli_check(int argc, char **argv, const struct command *const *table)
{
	rw_cleanup(cli_call_done) struct cli_call call;
	bool done;
	return cli_read(&call, argc, argv, table, &done);
}
