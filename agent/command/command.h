/*
 * command - one row of the command table: a name, one line of help, and a function. One file per
 * command (agent/cmd_<name>.c), its struct last, its name in one list in CMakeLists.txt.
 */
#ifndef RW_AGENT_COMMAND_H
#define RW_AGENT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include "agent/base/err.h"
#include "agent/document/writer.h"

struct config;
struct series_db;

struct globals { /* may stand before or after the command */
	/* -c, else $ROCEWATCH_CONFIG, else /etc/rocewatch/rocewatch.yaml */
	const char *config_path;
	bool config_named; /* by -c or the environment: then a missing file is an error */
	/* by -c: then it counts even for a database that holds one of its own */
	bool config_given;
	const char *db; /* --db, NULL */
	enum report_format format;
	bool format_given;
	const char *since, *until, *around, *span; /* as given */
	bool no_header, quiet;
	enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
	int verbose;
};

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 }; /* ordinary commands; checks: 0 1 2 3 */

struct command_option {
	const char *name; /* long name without dashes */
	char letter; /* 0 = none */
	const char *arg; /* NULL = flag; else the placeholder in the help */
	const char *doc;
};

struct command_args {
	struct globals *g;
	int argc; /* positional arguments, without the command */
	char **argv;
	/* parallel to command.options: NULL, or the argument ("" for a flag); a repeated option:
	 * last one */
	const char **opt;
	const char **set; /* all --set KEY=VALUE in order, NULL-terminated (replay) */
};

struct command {
	const char *name, *args, *summary; /* args: "list|show ID|ack ID" */
	/* paragraphs after the option list; a newline counts behind '.' and ':' and in "\n\n", else
	 * it is a blank */
	const char *help;
	const struct command_option *options; /* ends with name NULL */
	int usage_exit; /* what a usage error returns: 2, or 3 for checks */
	int (*run)(struct command_args *a);
};

extern const struct command *const commands[]; /* NULL-terminated */

/*
 * cli_run - read the command line against @table and run the command it names. Help and version go
 * to stdout and return 0; a usage error goes to stderr with the nearest name and returns the
 * command's usage_exit. g->color arrives in run() as ALWAYS or NEVER: NO_COLOR, TERM and the
 * terminal have been asked. Failing to write stdout makes a success a failure.
 */
int cli_run(int argc, char **argv, const struct command *const *table);

/* ---- helpers shared by commands (agent/client/client.c) ------------------ */

/* command_opt - value of a long option, or NULL. */
const char *command_opt(const struct command *c, const struct command_args *a, const char *name);

/*
 * A reading command's view of the world: the database (read-only) and the configuration in force:
 * from -c if there is one, else the one stored in the database. "now" is the wall clock when an
 * agent writes the database, else its newest sample.
 */
struct context {
	struct config *config;
	struct series_db *db;
	const char *db_path;
	/* from --since/--until/--around, else now - @default_span .. now */
	int64_t now_ns, from_ns, to_ns;
	bool agent_alive;
};
/*
 * config_recall - where *@c wants its links discovered, those the database knew at @at_ns take
 * their place: *@c is replaced then. 0 (also when none are known), or negative errno with @e.
 */
int config_recall(struct config **c, struct series_db *db, int64_t at_ns, struct err *e);
/*
 * context_open - 0; -EINVAL for usage and configuration (exit 2); any other negative errno for what
 * failed (exit 1). A database that an agent makes at this moment is waited for, some seconds at the
 * most; -EAGAIN when it still is not ready. context_open_data - for commands that need the data,
 * and the configuration only to know it better: where the database holds none, or one that is not
 * right any more, that is told on stderr (not with -q) and .config stays NULL.
 */
int context_open(
	struct context *x, const struct globals *g, int64_t default_span_ns, struct err *e);
int context_open_data(
	struct context *x, const struct globals *g, int64_t default_span_ns, struct err *e);
void context_done(struct context *x);
/*
 * context_ask - a request to the agent that writes the database. 0 with its reply (a new
 * reference), or negative errno with @e: also when it refuses. @request is taken. context_own_name
 * - who acts where no agent is asked: the user's name, or "uid N".
 */
int context_ask(const struct context *x, json_t *request, json_t **ret, struct err *e);
void context_own_name(char *buf, size_t size);
/*
 * command_answer - a reading command without arguments: opens the world over the last 15 min, makes
 * the document, prints it. Returns the exit code; @ret_doc (may be NULL) gets the document, NULL
 * when there is none; the caller drops it.
 */
int command_answer(const struct command *c, struct command_args *a,
	json_t *(*make)(struct context *x, struct err *e), const struct view *v, json_t **ret_doc);
/*
 * command_words - for commands with a word of their own, such as "incident show": run the row @a
 * names ("list" when it names none) with the world opened over @span_ns. Returns the exit code;
 * @refused_exit is that of a row that says -EINVAL.
 */
struct subcommand {
	const char *name;
	int least, most; /* words, with the name */
	const char *expected; /* told when there are more or fewer */
	int (*run)(struct context *x, const struct command_args *a, struct err *e);
};
int command_words(const struct command *c, struct command_args *a, const struct subcommand *rows,
	size_t n, int64_t span_ns, int refused_exit);
/* prints, returns usage_exit */
int usage_error(const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* file_write - @write makes @path, which is whole or not there (and as it was): a job must never
 * send half a report. What is no regular file (a device, a pipe, a link) is written to as it
 * stands. 0 or negative errno. */
int file_write(const char *path, int (*write)(FILE *out, void *arg), void *arg, struct err *e);
/* The option tables of every module, for config_load(). */
const struct option_table *const *module_tables(size_t *ret_n);

#endif
