/*
 * command - one row of the command table: a name, one line of help, and a function. One file per
 * command (agent/command/cmd_<name>.c), its struct last, its name in RW_COMMANDS in CMakeLists.txt.
 *
 * A command such as "incident" has rows of its own, one for each subcommand. Reading the command
 * line, help, manual pages, completion and docs/commands.md all go by these rows: what a row does
 * not take is a usage error.
 */
#pragma once

#include "base/base.h"
#include "agent/client/client.h"
#include "agent/document/example.h"
#include "agent/document/writer.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 }; /* ordinary commands; checks: 0 1 2 3 */
enum { USAGE_EXIT_CHECK = 3 };

struct command_option {
	const char *name; /* long name without dashes */
	char letter; /* 0 = none */
	const char *arg; /* NULL = flag; else the placeholder in the help: "FILE", "job|load" */
	const char *doc;
	const char *only; /* the subcommand of which .doc speaks, where others have another; NULL */
};

struct command_given {
	const char *name; /* of the option */
	const char *value; /* "" for a flag */
};

/* Which global options mean something to a command, beside those that every one takes (--config,
 * --color, --verbose, --quiet). The others are refused: nothing is ignored. */
enum command_takes {
	TAKES_DB = 1,
	TAKES_SINCE = 2,
	TAKES_UNTIL = 4,
	TAKES_AROUND = 8, /* and --span */
	TAKES_RANGE = TAKES_SINCE | TAKES_UNTIL | TAKES_AROUND,
	TAKES_AT = TAKES_UNTIL | TAKES_AROUND, /* a state as it was at a time */
};
/* Bits of enum report_format; 0: --format and --no-header are refused. */
enum command_writes {
	WRITES_SAID = 1 << FORMAT_TABLE | 1 << FORMAT_JSON, /* text, or one document */
	WRITES_DATA = 1 << FORMAT_TABLE | 1 << FORMAT_CSV | 1 << FORMAT_JSON | 1 << FORMAT_JSONL,
	WRITES_ALL = WRITES_DATA | 1 << FORMAT_HTML | 1 << FORMAT_MD,
};

struct command_args {
	struct globals *g;
	const struct command *command; /* as it is used: with --check its usage errors exit 3 */
	const struct subcommand *sub; /* the row that was named; the command's own without one */
	const struct command *const *table;
	int argc; /* positional arguments, without the command */
	char **argv; /* [0] is the name of the subcommand, where one runs */
	/* the command's own options as given, in order; a repeated one stands here several times */
	const struct command_given *given;
	size_t n_given;
};

struct subcommand {
	const char *name;
	/* Names of its arguments: "ID WHO"; "[FILE]" may be left out, "FILE..." may be several. */
	const char *args;
	const char *summary; /* one line */
	const char *help; /* paragraphs; NULL */
	const char *options; /* which options of the command it takes, with blanks; NULL none */
	unsigned takes; /* enum command_takes */
	unsigned formats; /* enum command_writes */
	const char *other_format; /* those that only this row writes: "sarif|junit"; NULL */
	struct example examples[2];
	/* One of the two. run(): with the exit code. act(): with the database open over the time
	 * range of the command; 0, -EINVAL for wrong usage, or another negative errno and @e. */
	int (*run)(struct command_args *args);
	int (*act)(struct client *client, const struct command_args *args, struct err *e);
};

struct command {
	const char *name, *summary;
	const char *args; /* of the command itself, where it has run(); as in struct subcommand */
	/* paragraphs; a newline counts behind '.' and ':' and in "\n\n", else it is a blank */
	const char *help;
	/* NULL, or adds paragraphs to the help that are made from a table */
	void (*topics)(struct str *out);
	const struct command_option *options; /* of all its rows; ends with name NULL */
	unsigned takes, formats; /* of the command itself, where it has run() */
	const char *other_format;
	struct example examples[2]; /* likewise */
	bool hidden; /* for other processes, not for people: in no list */
	int usage_exit; /* what a usage error returns: 2, or 3 for checks */
	int (*run)(struct command_args *args); /* NULL: one of its rows runs */

	const struct subcommand *subs; /* ends with name NULL; or */
	bool (*sub_at)(size_t i, struct subcommand *ret); /* rows of another table; false behind */
	const char *common; /* options that every row takes, with blanks; NULL */
	const char *sub_kind; /* what a row is called: "report"; NULL "subcommand" */
	const char *otherwise; /* the row that runs when none is named; NULL none */
	int64_t span_ns; /* the time range of act() when none is given */
};

extern const struct command *const commands[]; /* NULL-terminated */

/*
 * cli_run - read the command line against @table and run the command it names. Help and version go
 * to stdout and return 0; a usage error goes to stderr with the nearest name and returns the
 * command's usage_exit. g->color arrives in run() as ALWAYS or NEVER: NO_COLOR, TERM and the
 * terminal have been asked. Failing to write stdout makes a success a failure.
 */
int cli_run(int argc, char **argv, const struct command *const *table);
/* cli_check - the same without running: 0, or the exit code of the usage error that it printed. */
int cli_check(int argc, char **argv, const struct command *const *table);

/* ---- the rows (agent/command/command_run.c) ----------------------------- */

/* command_sub - row @i of the command; false behind the last. */
bool command_sub(const struct command *command, size_t i, struct subcommand *ret);
/* command_sub_named - the row of this name; false when there is none. */
bool command_sub_named(const struct command *command, const char *name, struct subcommand *ret);
bool command_has_subs(const struct command *command);
/* command_self - the command as a row without a name. */
void command_self(const struct command *command, struct subcommand *ret);
/* command_takes_option - the row takes this option of the command. */
bool command_takes_option(
	const struct command *command, const struct subcommand *sub, const char *option);
/* command_shows_option - the same, and this row of the option speaks of the subcommand. */
bool command_shows_option(const struct command *command, const struct subcommand *sub,
	const struct command_option *option);
/* command_words_of - how many arguments a row takes, from its .args. */
void command_words_of(const struct subcommand *sub, int *ret_least, int *ret_most);

/* ---- helpers shared by commands (agent/command/command_run.c) ------------ */

/* command_opt - value of a long option, "" for a flag, NULL when it was not given. Of a repeated
 * option the last one. */
const char *command_opt(
	const struct command *command, const struct command_args *args, const char *name);
/* command_opt_all - all values of an option that may be repeated, in order, ended by NULL. The
 * array is the caller's to free, the values are not. */
const char **command_opt_all(const struct command_args *args, const char *name);

/*
 * command_open - client_open(), and the one line about a configuration file with mistakes on
 * stderr, not with -q. For commands that open once; a screen opens with client_open() and shows the
 * line in its frame.
 */
int command_open(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e);
/* command_warn - only that line, where there is one. */
void command_warn(const struct client *client, const struct globals *globals);

/* What a command tells, as a struct. */
struct command_told {
	size_t size; /* of the struct */
	/* Fills it; what it points to lies in @a. 0, or negative errno with @e. */
	int (*read)(struct client *client, struct arena *a, void *ret, struct err *e);
	json_t *(*json)(const void *answer); /* the caller owns it */
	/* The exit code; NULL: EXIT_OK. */
	int (*code)(const void *answer);
};
/* command_tell - reads @told and prints it with @view. Returns the exit code. */
int command_tell(
	struct command_args *args, const struct command_told *told, const struct view *view);

/*
 * command_document - the served document at @path, asked with the command's options; @word (may be
 * NULL) is the value of its parameter @param. 0 with a new reference in *@ret, or a negative errno
 * with @e filled.
 */
int command_document(struct client *client, const struct command_args *args, const char *path,
	const char *param, const char *word, json_t **ret, struct err *e);
/* command_exit - says @e; the exit code for @rc: a question that cannot be asked is a mistake of
 * usage. */
int command_exit(int rc, const struct err *e);
/* command_print - @doc to stdout as the options say. 0, or a negative errno with @e filled. */
int command_print(
	const struct command_args *args, const json_t *doc, const struct view *view, struct err *e);
/*
 * command_said - what a command that changes something did: @doc (is taken) with --format json,
 * else the line, not with -q. 0, or a negative errno with @e filled.
 */
int command_said(const struct command_args *args, json_t *doc, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* command_served - a command that shows one served document, asked with the command's options.
 * Returns the exit code. */
int command_served(const struct command_args *args, const char *path, const char *param,
	const char *word, const struct view *view);
/* command_event_store - an event, as change_read() takes it: by the agent, else directly. 0, or a
 * negative errno with @e filled. */
int command_event_store(struct client *client, json_t *request, struct err *e);
/* command_act - the row's act() with the database open. Returns the exit code. */
int command_act(struct command_args *args);

/* ---- mistakes (agent/command/command_run.c) ---------------------------- */

/* command_mistakes - those of a file on stderr, and how many more there are in @path.
 * command_warnings - the same of what need not be mended, not with -q. */
void command_mistakes(const char *path, const struct err_list *errors);
void command_warnings(const struct globals *globals, const struct err_list *warnings);

/* usage_begin - what the next mistakes are about: the command as it is used, and the name of its
 * subcommand; both may be NULL. */
void usage_begin(const struct command *command, const char *sub);
/* usage_exit_of - the exit code of a usage error of @command (may be NULL). */
int usage_exit_of(const struct command *command);
/* usage_error - prints the mistake and how to get help; returns the command's usage_exit. */
int usage_error(const struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* usage_unknown - "unknown KIND 'WORD'; expected a, b or c; did you mean 'b'?" */
int usage_unknown(const struct command *command, const char *kind, const char *word,
	const char *const *names, size_t n);
/* usage_extra - "unexpected argument 'WORD'". */
int usage_extra(const struct command *command, const char *word);
