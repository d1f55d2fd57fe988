/* cli: where options may stand, what is refused and with which hint, and help made from the rows.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/command/command.h"

static char seen[1024]; /* what run() was given */

static int run_seen(const struct command *c, struct command_args *a)
{
	struct globals *g = a->g;
	int n = snprintf(seen, sizeof(seen), "%s db=%s since=%s format=%d%s color=%d v=%d", c->name,
		g->db ? g->db : "-", g->since ? g->since : "-", (int)g->format,
		g->format_given ? "!" : "", (int)g->color, g->verbose);
	for (size_t i = 0; c->options && c->options[i].name; i++) {
		const char *value = command_opt(c, a, c->options[i].name);
		n += snprintf(seen + n, sizeof(seen) - (size_t)n, " %s=%s", c->options[i].name,
			value ? value : "-");
	}
	rw_cleanup(freep) const char **sets = command_opt_all(a, "set");
	for (size_t i = 0; sets[i]; i++)
		n += snprintf(seen + n, sizeof(seen) - (size_t)n, " +%s", sets[i]);
	for (int i = 0; i < a->argc; i++)
		n += snprintf(seen + n, sizeof(seen) - (size_t)n, " [%s]", a->argv[i]);
	return 0;
}

static const struct command command_replay, command_check;

static int run_replay(struct command_args *a)
{
	assert_null(command_opt(&command_replay, a, "no-such-option"));
	return run_seen(&command_replay, a);
}
static int run_check(struct command_args *a)
{
	run_seen(&command_check, a);
	return 2;
}

static const struct command command_replay = {
	.name = "replay",
	.args = "[CASE...]",
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.summary = "run the analyzers over history again",
	.help = "First paragraph.\n\nSecond paragraph that goes\non.\nThird sentence.\n",
	.options = (const struct command_option[]){{"from", 0, "CASE", "a recorded case"},
		{"set", 0, "KEY=VALUE", "another setting"},
		{"interface", 'i', "IFACE", "capture there"}, {"deep", 'd', NULL, "look closer"},
		{NULL}},
	.run = run_replay,
};
static const struct command command_check = {
	.name = "check",
	.args = "[links]",
	.summary = "a check",
	.formats = WRITES_SAID,
	.usage_exit = 3,
	.run = run_check,
};
extern const struct command command_help;
static const struct command *const table[] = {&command_replay, &command_check, &command_help, NULL};

/* Runs @line (split at blanks); stdout and stderr are kept. Caller frees both. */
static int run(const char *line, char **ret_out, char **ret_err)
{
	char *words[32] = {NULL}, *copy = rw_strdup(line), *save = NULL;
	int n = 0, fds[2], saved[2];
	char paths[2][32] = {"/tmp/rw-cli-XXXXXX", "/tmp/rw-cli-XXXXXX"};

	for (char *w = strtok_r(copy, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	fflush(stdout);
	fflush(stderr);
	for (int i = 0; i < 2; i++) {
		fds[i] = mkstemp(paths[i]);
		saved[i] = dup(i + 1);
		dup2(fds[i], i + 1);
		close(fds[i]);
	}
	seen[0] = '\0';
	int r = cli_run(n, words, table);
	fflush(stdout);
	fflush(stderr);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	assert_int_equal(str_read_file(paths[0], 1 << 20, ret_out, NULL, NULL), 0);
	assert_int_equal(str_read_file(paths[1], 1 << 20, ret_err, NULL, NULL), 0);
	unlink(paths[0]);
	unlink(paths[1]);
	free(copy);
	return r;
}

static void test_places(void **state)
{
	static const struct {
		const char *what, *line;
		int code;
		const char *want;
	} rows[] = {
		{"plain", "rocewatch replay", 0,
			"replay db=- since=- format=0 color=2 v=0 from=- set=- interface=- deep=-"},
		{"globals before", "rocewatch --db X --since 1h replay", 0,
			"replay db=X since=1h format=0 color=2 v=0 from=- set=- interface=- "
			"deep=-"},
		{"globals after", "rocewatch replay --db X -v -v --format json", 0,
			"replay db=X since=- format=2! color=2 v=2 from=- set=- interface=- "
			"deep=-"},
		{"both, the later one counts", "rocewatch --db X replay --db Y", 0,
			"replay db=Y since=- format=0 color=2 v=0 from=- set=- interface=- deep=-"},
		{"mixed with words", "rocewatch replay one --db=X two -i eth0 --deep", 0,
			"replay db=X since=- format=0 color=2 v=0 from=- set=- interface=eth0 "
			"deep= [one] [two]"},
		{"repeated set", "rocewatch replay --set a.b=1 --set c=2 --from F", 0,
			"replay db=- since=- format=0 color=2 v=0 from=F set=c=2 interface=- "
			"deep=- +a.b=1 +c=2"},
		{"after the double dash", "rocewatch replay -- --db", 0,
			"replay db=- since=- format=0 color=2 v=0 from=- set=- interface=- deep=- "
			"[--db]"},
		{"colour asked for", "rocewatch --color=always check links", 2,
			"check db=- since=- format=0 color=1 v=0 [links]"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *out = NULL, *err = NULL;
		int r = run(rows[i].line, &out, &err);
		if (r != rows[i].code || strcmp(seen, rows[i].want) != 0 || *err)
			fail_msg("%s: %d, '%s' %s", rows[i].what, r, seen, err);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *what, *line;
		int code;
		const char *want;
	} rows[] = {
		{"nothing", "rocewatch", 2, "Commands:"},
		{"unknown command", "rocewatch reply", 2,
			"unknown command 'reply'; did you mean 'replay'?"},
		{"far command", "rocewatch frobnicate", 2,
			"unknown command 'frobnicate'; 'rocewatch --help' lists the commands\n"},
		{"unknown option", "rocewatch replay --fron X", 2,
			"rocewatch replay: unknown option '--fron'; did you mean '--from'?"},
		{"with a value", "rocewatch replay --sinse=1h", 2,
			"unknown option '--sinse'; did you mean '--since'?"},
		{"after words", "rocewatch replay a b --fron", 2, "did you mean '--from'?"},
		{"unknown letter", "rocewatch replay -z", 2, "unknown option '-z'"},
		{"letter in a bunch", "rocewatch replay -dz", 2, "unknown option '-z'"},
		{"before the command", "rocewatch --dp X replay", 2,
			"rocewatch: unknown option '--dp'; did you mean '--db'?"},
		{"command's option before it", "rocewatch --from X replay", 2,
			"unknown option '--from'"},
		{"missing value", "rocewatch replay --from", 2, "option '--from' needs a value"},
		{"missing value of a letter", "rocewatch replay -i", 2,
			"option '-i' needs a value"},
		{"value where none is", "rocewatch replay --deep=1", 2,
			"option '--deep=1' takes no value"},
		{"ambiguous", "rocewatch replay --s x", 2,
			"option '--s' is ambiguous; it could be one of --set, --since, --span\n"},
		{"format", "rocewatch replay --format xml", 2,
			"--format: unknown format 'xml'; expected table"},
		{"colour", "rocewatch replay --color=blue", 2,
			"--color: 'blue' is not a choice; expected auto, always or never"},
		{"a check is never OK by mistake", "rocewatch check --bogus", 3,
			"rocewatch check: unknown option '--bogus'"},
		{"nor by a bad format", "rocewatch check --format xml", 3, "format 'xml'"},
		{"nor before its name", "rocewatch --bogus check", 3, "unknown option '--bogus'"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *out = NULL, *err = NULL;
		int r = run(rows[i].line, &out, &err);
		/* what a monitoring system shows is on stdout; else nothing is */
		const char *line = rows[i].code == 3 ? "CHECK UNKNOWN - " : "";
		const bool right = strncmp(out, line, strlen(line)) == 0 && (*line || !*out);
		if (r != rows[i].code || !strstr(err, rows[i].want) || !right || seen[0])
			fail_msg("%s: %d, '%s', '%s'", rows[i].what, r, err, out);
	}
}

static void test_help(void **state)
{
	static const struct {
		const char *line;
		const char *want[5];
	} rows[] = {
		{"rocewatch --help",
			{"Usage: rocewatch [OPTIONS] COMMAND",
				"  replay          run the analyzers", "-c, --config FILE",
				"--around TIME"}},
		{"rocewatch help", {"Commands:"}},
		{"rocewatch -h", {"Commands:"}},
		{"rocewatch replay --help",
			{"rocewatch replay - run the analyzers over history again\n",
				"Usage: rocewatch replay [CASE...] [OPTIONS]\n",
				"-i, --interface IFACE",
				"\nFirst paragraph.\n\nSecond paragraph that goes on.\nThird "
				"sentence.\n\nOptions",
				"--no-header"}},
		{"rocewatch replay x --db y --help", {"Usage: rocewatch replay"}},
		{"rocewatch check --help", {"Usage: rocewatch check [links]"}},
		{"rocewatch --version", {"rocewatch " RW_VERSION "\n"}},
		{"rocewatch replay --version", {"rocewatch " RW_VERSION "\n"}},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *out = NULL, *err = NULL;
		assert_int_equal(run(rows[i].line, &out, &err), 0);
		assert_string_equal(err, "");
		for (size_t w = 0; w < 5 && rows[i].want[w]; w++)
			if (!strstr(out, rows[i].want[w]))
				fail_msg(
					"'%s' lacks '%s':\n%s", rows[i].line, rows[i].want[w], out);
		for (char *save = NULL, *l = strtok_r(out, "\n", &save); l;
			l = strtok_r(NULL, "\n", &save))
			if (strlen(l) > 80)
				fail_msg("'%s': a line of %zu columns: %s", rows[i].line, strlen(l),
					l);
	}
}

static void test_environment(void **state)
{
	rw_cleanup(freep) char *out = NULL, *err = NULL;
	setenv("NO_COLOR", "1", 1);
	run("rocewatch --color=always check", &out, &err);
	assert_non_null(strstr(seen, "color=1")); /* asked for by name */
	unsetenv("NO_COLOR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
