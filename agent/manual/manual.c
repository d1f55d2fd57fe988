/*
 * rocewatch-manual - writes what people read beside --help from the tables of the program: manual
 * pages and completions below a directory, and the printed part of docs/commands.md. For tests: all
 * rows as JSON, and a command line that is read but not run. A tool of the build, not installed.
 */
#include "agent/manual/manual.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/cleanup.h"

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
