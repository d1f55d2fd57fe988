/*
 * command - one row of the command table: a name, one line of help, and a function. One file per
 * command (agent/command/cmd_<name>.c), its struct last, its name in RW_COMMANDS in CMakeLists.txt.
 */
#ifndef RW_AGENT_COMMAND_H
#define RW_AGENT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include "agent/base/err.h"
#include "agent/client/client.h"
#include "agent/document/writer.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 }; /* ordinary commands; checks: 0 1 2 3 */

struct str;

struct command_option {
	const char *name; /* long name without dashes */
	char letter; /* 0 = none */
	const char *arg; /* NULL = flag; else the placeholder in the help */
	const char *doc;
};

struct command_given {
	const char *name; /* of the option */
	const char *value; /* "" for a flag */
};

struct command_args {
	struct globals *g;
	int argc; /* positional arguments, without the command */
	char **argv;
	/* the command's own options as given, in order; a repeated one stands here several times */
	const struct command_given *given;
	size_t n_given;
};

struct command {
	const char *name, *args, *summary; /* args: "list|show ID|ack ID" */
	/* paragraphs after the option list; a newline counts behind '.' and ':' and in "\n\n", else
	 * it is a blank */
	const char *help;
	/* NULL, or adds paragraphs to the help that are made from a table */
	void (*topics)(struct str *out);
	const struct command_option *options; /* ends with name NULL */
	/* NULL, or a format beside the common ones that one of its words writes */
	const char *other_format;
	bool hidden; /* for other processes, not for people: in no list */
	int usage_exit; /* what a usage error returns: 2, or 3 for checks */
	int (*run)(struct command_args *args);
};

extern const struct command *const commands[]; /* NULL-terminated */

/*
 * cli_run - read the command line against @table and run the command it names. Help and version go
 * to stdout and return 0; a usage error goes to stderr with the nearest name and returns the
 * command's usage_exit. g->color arrives in run() as ALWAYS or NEVER: NO_COLOR, TERM and the
 * terminal have been asked. Failing to write stdout makes a success a failure.
 */
int cli_run(int argc, char **argv, const struct command *const *table);

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

/*
 * command_answer - a reading command without arguments: opens the database over the last 15 min,
 * makes the document and prints it. Returns the exit code; @ret_doc (may be NULL) gets the
 * document, NULL when there is none; the caller drops it.
 */
int command_answer(const struct command *command, struct command_args *args,
	json_t *(*make)(struct client *client, struct err *e), const struct view *view,
	json_t **ret_doc);
/*
 * command_document - the served document at @path, asked with the command's options; @word (may be
 * NULL) is the value of its parameter @param. 0 with a new reference in *@ret, or a negative errno
 * with @e filled.
 */
int command_document(struct client *client, const struct command_args *args, const char *path,
	const char *param, const char *word, json_t **ret, struct err *e);
/* command_print - @doc to stdout as the options say. 0, or a negative errno with @e filled. */
int command_print(
	const struct command_args *args, const json_t *doc, const struct view *view, struct err *e);
/* command_served - a command that shows one served document, asked with the command's options.
 * Returns the exit code. */
int command_served(const struct command_args *args, const char *path, const char *param,
	const char *word, const struct view *view);
/*
 * command_words - for commands with subcommands, such as "incident show": opens the database over
 * @span_ns and runs the row that @args names ("list" when it names none). Returns the exit code;
 * @refused_exit is the one for a row that returns -EINVAL.
 */
struct subcommand {
	const char *name;
	int least, most; /* words, the name included */
	const char *expected; /* said when there are more or fewer */
	int (*run)(struct client *client, const struct command_args *args, struct err *e);
};
int command_words(const struct command *command, struct command_args *args,
	const struct subcommand *rows, size_t n, int64_t span_ns, int refused_exit);
/* usage_error - prints the mistake and how to get help; returns the command's usage_exit. */
int usage_error(const struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* usage_unknown - "unknown KIND 'WORD'; expected a, b or c; did you mean 'b'?" */
int usage_unknown(const struct command *command, const char *kind, const char *word,
	const char *const *names, size_t n);
/* usage_extra - "unexpected argument 'WORD'". */
int usage_extra(const struct command *command, const char *word);
#endif
