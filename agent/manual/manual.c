/* rocewatch-manual - writes what people read beside --help from the tables of the program: manual
 * pages and completions below a directory, and the printed part of docs/commands.md. For tests: all
 * rows as JSON, and a command line that is read but not run. A tool of the build, not installed. */
#include "agent/manual/manual.h"

#include <jansson.h>
#include <sys/stat.h>

#include "agent/command/cli_help.h"

/* ---- manual_complete - completion of bash and zsh. What can be completed is printed as
 * functions from the rows; complete.sh, complete.bash and complete.zsh are the same for every
 * table, and are put behind them by the build. */

/* Every row that a person may name: what a function below prints for it. */
typedef void row_fn(struct str *out, const struct command *command, const struct subcommand *sub);

static void each_row(struct str *out, row_fn *print)
{
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden)
			continue;
		command_self(commands[i], &sub);
		print(out, commands[i], &sub);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			print(out, commands[i], &sub);
	}
}

/* ---- names --------------------------------------------------------------- */

static void complete_commands(struct str *out)
{
	str_add(out, "_rocewatch_commands() {\n\tprintf '%s\\n'");
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			str_addf(out, " %s", commands[i]->name);
	str_add(out, "\n}\n\n_rocewatch_rows() {\n\tcase \"$1\" in\n");
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden || !command_has_subs(commands[i]))
			continue;
		str_addf(out, "\t%s) printf '%%s\\n'", commands[i]->name);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			str_addf(out, " %s", sub.name);
		str_add(out, " ;;\n");
	}
	str_add(out, "\tesac\n}\n\n");
}

/* "name:what it does", for zsh. */
static void complete_described(struct str *out, const char *name, const char *summary)
{
	str_addf(out, "\t\techo '%s:", name);
	for (const char *p = summary; *p; p++)
		if (*p == '\'')
			str_add(out, "'\\''");
		else
			str_addn(out, p, 1);
	str_add(out, "'\n");
}

static void complete_descriptions(struct str *out)
{
	str_add(out, "_rocewatch_described() {\n\tcase \"$*\" in\n\tcommands)\n");
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			complete_described(out, commands[i]->name, commands[i]->summary);
	str_add(out, "\t\t;;\n");
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden || !command_has_subs(commands[i]))
			continue;
		str_addf(out, "\t'rows %s')\n", commands[i]->name);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			complete_described(out, sub.name, sub.summary);
		str_add(out, "\t\t;;\n");
	}
	str_add(out, "\tesac\n}\n\n");
}

/* ---- options ------------------------------------------------------------- */

static void row_options(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_addf(out, "\t%s%s%s) ", command->name, str_if(sub->name, "/"), str_or(sub->name, ""));
	str_add(out, "printf '%s\\n'");
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			str_addf(out, " --%s", o->name);
	for (size_t i = 0; i < n_global_options; i++)
		if (global_is_for(&global_options[i], command, sub))
			str_addf(out, " --%s", global_options[i].o.name);
	str_add(out, " ;;\n");
}

static void complete_options(struct str *out)
{
	str_add(out, "_rocewatch_options() {\n\tcase \"$1\" in\n");
	each_row(out, row_options);
	str_add(out, "\t*) printf '%s\\n'");
	for (size_t i = 0; i < n_global_options; i++)
		str_addf(out, " --%s", global_options[i].o.name);
	str_add(out, " ;;\n\tesac\n}\n\n");
}

static void add_valued(struct str *out, const struct command_option *option)
{
	if (!option->arg)
		return;
	str_addf(out, " | --%s", option->name);
	if (option->letter)
		str_addf(out, " | -%c", option->letter);
}

static void complete_takes_value(struct str *out)
{
	str_add(out, "_rocewatch_takes_value() {\n\tcase \"$1\" in\n\t-");
	for (size_t i = 0; i < n_global_options; i++)
		add_valued(out, &global_options[i].o);
	for (size_t i = 0; commands[i]; i++)
		for (const struct command_option *o = commands[i]->options; o && o->name; o++)
			add_valued(out, o);
	str_add(out, ") return 0 ;;\n\tesac\n\treturn 1\n}\n\n");
}

/* ---- what a value or an argument is -------------------------------------- */

/* A list that is the same for all; NULL: nothing is known. */
static const char *complete_kind(const char *command, const char *word)
{
	static const struct {
		const char *command, *word, *kind; /* command NULL: of any */
	} kinds[] = {
		{"incident", "ID", "incidents"},
		{"pause", "ID", "incidents"},
		{"tune", "ID", "sheets"},
		{"silence", "ID", "silences"},
		{"incident", "INTO", "incidents"},
		{"lab", "SCENARIO", "scenarios"},
		{"profile", "NAME", "profiles"},
		{"profile", "TARGET", "devices"},
		{"alert", "RECEIVER", "receivers"},
		{"query", "METRIC", "metrics"},
		{"db", "GLOB,...", "metrics"},
		{"ecmp", "DEVICE", "devices"},
		{"tune", "DEVICE", "devices"},
		{"help", "COMMAND|TOPIC", "commands"},
		{NULL, "FILE", "files"},
		{NULL, "FILE|DIR", "files"},
		{NULL, "SOURCE", "files"},
		{NULL, "OUT.db", "files"},
		{NULL, "DIR", "directories"},
	};
	for (size_t i = 0; i < rw_countof(kinds); i++) {
		const bool of = !kinds[i].command || str_eq(kinds[i].command, command);
		if (of && str_eq(kinds[i].word, word))
			return kinds[i].kind;
	}
	return NULL;
}

/* The choices in a placeholder such as "job|load|none"; capitals stand for something else. */
static bool add_choices(struct str *out, const char *word)
{
	if (!*word || strpbrk(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.[") != NULL)
		return false;
	str_add(out, "words ");
	for (const char *p = word; *p; p++)
		str_addn(out, *p == '|' ? " " : p, 1);
	return true;
}

static void add_what(struct str *out, const char *command, const char *word)
{
	const char *kind = complete_kind(command, word);
	if (kind)
		str_add(out, kind);
	else
		add_choices(out, word);
}

static void add_value_case(struct str *out, const struct command *command,
	const struct subcommand *sub, const char *option, const char *word)
{
	rw_cleanup(str_done) struct str what = {0};
	add_what(&what, command->name, word);
	if (what.n == 0 && str_eq(option, "device"))
		str_add(&what, "devices");
	if (what.n == 0)
		return;
	str_addf(out, "\t%s%s%s:--%s) echo '%s' ;;\n", command->name, str_if(sub->name, "/"),
		str_or(sub->name, ""), option, what.s);
}

static void row_values(struct str *out, const struct command *command, const struct subcommand *sub)
{
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (o->arg && command_shows_option(command, sub, o))
			add_value_case(out, command, sub, o->name, o->arg);
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (str_eq(option->o.name, "format") && global_is_for(option, command, sub))
			add_value_case(out, command, sub, "format",
				global_placeholder(option, sub, buf, sizeof(buf)));
	}
}

static void complete_values(struct str *out)
{
	str_add(out, "_rocewatch_value() {\n\tcase \"$1:$2\" in\n");
	each_row(out, row_values);
	str_add(out,
		"\t*:-c | *:--config | *:--db) echo files ;;\n"
		"\t*:--color) echo 'words auto always never' ;;\n"
		"\t*:--format) echo 'words table csv json jsonl html md' ;;\n"
		"\tesac\n}\n\n");
}

static void row_arguments(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	const char *at = str_or(sub->args, "");
	for (int n = 0; *at; n++) {
		rw_cleanup(str_done) struct str word = {0};
		rw_cleanup(str_done) struct str what = {0};
		const size_t length = strcspn(at, " ");
		const bool many = memmem(at, length, "...", 3) != NULL;
		for (size_t i = 0; i < length; i++)
			if (!strchr("[].", at[i]))
				str_addn(&word, at + i, 1);
		add_what(&what, command->name, str_or(word.s, ""));
		if (what.n > 0) {
			str_addf(out, "\t%s%s%s:", command->name, str_if(sub->name, "/"),
				str_or(sub->name, ""));
			if (many)
				str_add(out, "*");
			else
				str_addf(out, "%d", n);
			str_addf(out, ") echo '%s' ;;\n", what.s);
		}
		at += length;
		at += strspn(at, " ");
	}
}

static void complete_arguments(struct str *out)
{
	str_add(out, "_rocewatch_argument() {\n\tcase \"$1:$2\" in\n");
	each_row(out, row_arguments);
	str_add(out, "\tesac\n}\n\n");
}

static void complete_tables(struct str *out)
{
	complete_commands(out);
	complete_options(out);
	complete_takes_value(out);
	complete_values(out);
	complete_arguments(out);
}

/* Completion of the shells. */
static void manual_bash(struct str *out)
{
	str_add(out,
		"# Completion of rocewatch for bash, made from the tables of the program.\n\n");
	complete_tables(out);
}

static void manual_zsh(struct str *out)
{
	str_add(out,
		"#compdef rocewatch\n# Made from the tables of the program when it is built.\n\n");
	complete_tables(out);
	complete_descriptions(out);
}

/* manual_list - every row with its examples as JSON: what the tests of help and examples read. */

static json_t *list_examples(const struct example *examples)
{
	json_t *list = json_array();
	for (size_t i = 0; i < 2 && examples[i].line; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:i, s:s?}", "line", examples[i].line, "does",
				examples[i].does, "exit", examples[i].exit, "not_run",
				examples[i].not_run));
	return list;
}

static void list_row(json_t *list, const struct command *command, const struct subcommand *sub)
{
	json_t *options = json_array(), *globals = json_array();
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			json_array_append_new(options, json_string(o->name));
	for (size_t i = 0; i < n_global_options; i++)
		if (global_is_for(&global_options[i], command, sub))
			json_array_append_new(globals, json_string(global_options[i].o.name));
	rw_cleanup(freep) char *page = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&page, &size);
	if (sub->name)
		help_of_sub(file, command, sub);
	else
		help_of_command(file, command);
	fclose(file);
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:o, s:o, s:i, s:o}", "page",
			page, "command", command->name, "subcommand", sub->name, "arguments",
			sub->args, "summary", sub->summary, "help", sub->help, "other_format",
			sub->other_format, "options", options, "global_options", globals, "formats",
			(int)sub->formats, "examples", list_examples(sub->examples)));
}

static void manual_list(struct str *out)
{
	json_t *list = json_array();
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden)
			continue;
		command_self(commands[i], &sub);
		if (commands[i]->run)
			list_row(list, commands[i], &sub);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			list_row(list, commands[i], &sub);
	}
	rw_cleanup(freep) char *text = json_dumps(list, JSON_INDENT(1));
	str_addf(out, "%s\n", text);
	json_decref(list);
}

/* manual_markdown - the printed part of docs/commands.md: the help of every row. */

/* A text with '<' in it would be markup, and '|' a cell. */
static void markdown_text(struct str *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		const bool wraps = *p == '\n' && p[1] != '\n' && (p == text || p[-1] != '\n') &&
			(p == text || !strchr(".:", p[-1]));
		if (wraps)
			str_add(out, " ");
		else if (*p == '\n' && p[1] != '\n' && (p == text || p[-1] != '\n'))
			str_add(out, "\n\n");
		else if (*p == '<')
			str_add(out, "&lt;");
		else if (*p == '*' || *p == '_' || *p == '|')
			str_addf(out, "\\%c", *p);
		else
			str_addn(out, p, 1);
	}
}

static void markdown_options(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	bool begun = false;
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++) {
		if (!command_shows_option(command, sub, o))
			continue;
		if (!begun)
			str_add(out, "\n");
		begun = true;
		str_add(out, "- `");
		if (o->letter)
			str_addf(out, "-%c, ", o->letter);
		str_addf(out, "--%s%s%s`: ", o->name, str_if(o->arg, " "), str_or(o->arg, ""));
		markdown_text(out, o->doc);
		str_add(out, "\n");
	}
	begun = false;
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!option->needs || !global_is_for(option, command, sub))
			continue;
		str_add(out, begun ? ", " : "\nGlobal options: ");
		begun = true;
		const char *value = global_placeholder(option, sub, buf, sizeof(buf));
		str_addf(out, "`--%s%s%s`", option->o.name, str_if(value, " "), str_or(value, ""));
	}
	if (begun)
		str_add(out, ".\n");
}

static void markdown_examples(struct str *out, const struct example *examples)
{
	if (!examples[0].line)
		return;
	str_add(out, "\n```text\n");
	for (size_t i = 0; i < 2 && examples[i].line; i++)
		str_addf(out, "rocewatch %s\n    %s\n", examples[i].line, examples[i].does);
	str_add(out, "```\n");
}

static void markdown_row(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_addf(out, "\n%s `rocewatch %s%s%s%s%s`\n\n", sub->name ? "###" : "##", command->name,
		str_if(sub->name, " "), str_or(sub->name, ""), str_if(sub->args, " "),
		str_or(sub->args, ""));
	markdown_text(out, sub->summary);
	str_add(out, ".\n");
	if (sub->help) {
		str_add(out, "\n");
		markdown_text(out, sub->help);
		str_add(out, "\n");
	}
	markdown_options(out, command, sub);
	markdown_examples(out, sub->examples);
}

static void markdown_command(struct str *out, const struct command *command)
{
	struct subcommand sub;
	command_self(command, &sub);
	if (command->run)
		markdown_row(out, command, &sub);
	else
		str_addf(out, "\n## `rocewatch %s`\n\n", command->name);
	if (!command->run) {
		markdown_text(out, command->summary);
		str_add(out, ".");
		if (command->otherwise)
			str_addf(out, " Without a subcommand it is `%s`.", command->otherwise);
		str_add(out, "\n");
	}
	if (!command->run && command->help) {
		str_add(out, "\n");
		markdown_text(out, command->help);
		str_add(out, "\n");
	}
	for (size_t i = 0; command_sub(command, i, &sub); i++)
		markdown_row(out, command, &sub);
}

static void manual_markdown(struct str *out)
{
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			markdown_command(out, commands[i]);
}

#define READ_MAX (4u << 20)
enum { WORDS_MAX = 64 };

/* Where pages go, and the sources of the completions. */
struct manual_to {
	const char *share, *sources;
};

static int manual_make_dirs(const char *path)
{
	rw_cleanup(freep) char *copy = rw_strdup(path);
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int manual_write(const struct manual_to *to, const char *name, const struct str *text)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s/%s", to->share, name);
	int rc = manual_make_dirs(path.s);
	FILE *file = NULL;
	if (rc == 0)
		file = fopen(path.s, "we");
	if (!file) {
		fprintf(stderr, "%s: cannot be written: %s\n", path.s, strerror(errno));
		return -EIO;
	}
	fwrite(text->s, 1, text->n, file);
	if (fclose(file) == 0)
		return 0;
	fprintf(stderr, "%s: cannot be written: %s\n", path.s, strerror(errno));
	return -EIO;
}

typedef void manual_fn(struct str *out);

static int manual_page(const struct manual_to *to, const char *name, manual_fn *make)
{
	rw_cleanup(str_done) struct str text = {0};
	make(&text);
	return manual_write(to, name, &text);
}

static int manual_commands(const struct manual_to *to)
{
	int rc = 0;
	for (size_t i = 0; commands[i] && rc == 0; i++) {
		rw_cleanup(str_done) struct str text = {0};
		rw_cleanup(str_done) struct str name = {0};
		const int section = manual_section(commands[i]);
		if (commands[i]->hidden)
			continue;
		manual_command(&text, commands[i]);
		str_addf(&name, "man/man%d/rocewatch-%s.%d", section, commands[i]->name, section);
		rc = manual_write(to, name.s, &text);
	}
	return rc;
}

static int manual_add_file(struct str *out, const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	struct err e = {0};
	const int rc = str_read_file(path, READ_MAX, &text, NULL, &e);
	if (rc < 0)
		err_print(stderr, &e);
	else
		str_add(out, text);
	return rc;
}

/* Tables, then what both shells do with them, then what only this one does. */
static int manual_shell(
	const struct manual_to *to, const char *shell, const char *name, manual_fn *make)
{
	rw_cleanup(str_done) struct str text = {0};
	rw_cleanup(str_done) struct str common = {0};
	rw_cleanup(str_done) struct str own = {0};
	str_addf(&common, "%s/complete.sh", to->sources);
	str_addf(&own, "%s/complete.%s", to->sources, shell);
	make(&text);
	int rc = manual_add_file(&text, common.s);
	str_add(&text, "\n");
	if (rc == 0)
		rc = manual_add_file(&text, own.s);
	if (rc < 0)
		return rc;
	return manual_write(to, name, &text);
}

static int manual_pages(const struct manual_to *to, const char *database)
{
	rw_cleanup(str_done) struct str views = {0};
	rw_cleanup(str_done) struct str page = {0};
	int rc = manual_add_file(&views, database);
	if (rc < 0)
		return rc;
	manual_database(&page, views.s);
	rc = manual_write(to, "man/man5/rocewatch-db.5", &page);
	if (rc == 0)
		rc = manual_page(to, "man/man1/rocewatch.1", manual_program);
	if (rc == 0)
		rc = manual_commands(to);
	if (rc == 0)
		rc = manual_page(to, "man/man5/rocewatch.yaml.5", manual_configuration);
	if (rc == 0)
		rc = manual_page(to, "man/man7/rocewatch-causes.7", manual_causes);
	if (rc == 0)
		rc = manual_page(to, "man/man7/rocewatch-metrics.7", manual_metrics);
	if (rc == 0)
		rc = manual_shell(to, "bash", "bash-completion/completions/rocewatch", manual_bash);
	if (rc == 0)
		rc = manual_shell(to, "zsh", "zsh/vendor-completions/_rocewatch", manual_zsh);
	return rc;
}

static int manual_print(manual_fn *make)
{
	rw_cleanup(str_done) struct str text = {0};
	make(&text);
	fputs(text.s, stdout);
	if (fflush(stdout) != 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* Lines of words with tabs between them; prints the exit code of each, 0 where it would run. */
static int manual_parse(void)
{
	rw_cleanup(freep) char *line = NULL;
	size_t size = 0;
	ssize_t n;
	while ((n = getline(&line, &size, stdin)) > 0) {
		char *words[WORDS_MAX + 1] = {NULL}, *rest = line, *word;
		int count = 0;
		line[n - 1] = '\0';
		while (count < WORDS_MAX && (word = strsep(&rest, "\t")))
			words[count++] = word;
		printf("%d\n", cli_check(count, words, commands));
		fflush(stdout);
	}
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	if (argc == 5 && str_eq(argv[1], "pages")) {
		const struct manual_to to = {.share = argv[2], .sources = argv[4]};
		if (manual_pages(&to, argv[3]) == 0)
			return EXIT_OK;
		return EXIT_FAILED;
	}
	if (argc == 2 && str_eq(argv[1], "markdown"))
		return manual_print(manual_markdown);
	if (argc == 2 && str_eq(argv[1], "list"))
		return manual_print(manual_list);
	if (argc == 2 && str_eq(argv[1], "parse"))
		return manual_parse();
	fputs("expected: pages DIR DATABASE.md SOURCES, markdown, list, or parse\n", stderr);
	return EXIT_USAGE;
}
