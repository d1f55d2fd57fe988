/* report: every row of the table gets formats, --out, --check and a place in the help; shown by a
 * report that only this test knows (report_fake.c). */
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
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "db/open.h"
#include "db/model/metric.h"
#include "db/store/store.h"

extern const struct command command_report;
static const struct command *const table[] = {&command_report, NULL};
static char dir[] = "/tmp/rw-report-XXXXXX", db[64], file[64];

static const char yaml[] = "fabric: pod-a\ndevices:\n  - { name: leaf1, role: leaf }\n"
			   "links: []\n";

static int begin(void **state)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	struct err e = {0};
	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	snprintf(file, sizeof(file), "%s/out.csv", dir);
	const struct store_options options = {.path = db, .replay = true};
	if (db_store_open(&options, entities, &store, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	store_fabric(store, 0, yaml);
	const struct sample sample = {.t_ns = 1700000000 * NS_PER_S,
		.value = 1,
		.entity = entities_intern(entities, "leaf1", "swp1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_REPLAY};
	store_samples(store, &sample, 1);
	int r = store_flush(store, &e);
	store_close(store);
	entities_free(entities);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Standard output of "rocewatch --db DB @line"; the caller frees it. */
static char *run(int want, const char *line)
{
	char *argv[16] = {(char *)"rocewatch", (char *)"--db", db}, *save = NULL, *text = NULL;
	rw_cleanup(freep) char *words = rw_strdup(line);
	int argc = 3, saved = dup(1);
	char path[] = "/tmp/rw-report-out-XXXXXX";
	int fd = mkstemp(path);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	fflush(stdout);
	dup2(fd, 1);
	close(fd);
	int r = cli_run(argc, argv, table);
	dup2(saved, 1);
	close(saved);
	assert_int_equal(str_read_file(path, 1 << 20, &text, NULL, NULL), 0);
	unlink(path);
	if (r != want)
		fail_msg("'%s': exit %d, expected %d: %s", line, r, want, text);
	return text;
}

static void lines(void **state)
{
	static const struct {
		const char *line;
		int code;
		const char *want;
	} rows[] = {
		{"report fake --no-header", 0, "leaf1  60\n"},
		{"report fake --format csv", 0, "device,span_s\nleaf1,60\n"},
		{"report fake --format json --since 2023-11-14T22:00:00Z --until "
		 "2023-11-14T22:05:00Z",
			0, "\"span_s\": 300"},
		{"report fake --check", 0, "FAKE OK - 60 s | 'span'=60;;;0;\n"},
		{"report fake --check --warn 10", 1, "FAKE WARNING - 60 s | 'span'=60;10;;0;\n"},
		{"report fake --check --warn 10 --format csv", 1, "device,span_s\n"},
		{"report fake --device nowhere", 2, ""},
		{"report fake --check --device nowhere", 3,
			"FAKE UNKNOWN - no device matches 'nowhere'\n"},
		{"report fake --warn 10", 2, ""},
		{"report fake --check --warn 5:1", 3, ""},
		{"report", 2, ""},
		{"report faked", 2, ""},
		{"report faked --check", 3, ""},
		{"report fake more", 2, ""},
		{"report --help", 0, "\n  fake                  the length of the time range\n"},
		{"report fake --help", 0, "rocewatch report fake - the length of the time range\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *text = run(rows[i].code, rows[i].line);
		if (!strstr(text, rows[i].want))
			fail_msg("'%s' does not say '%s':\n%s", rows[i].line, rows[i].want, text);
	}
}

static void written_to_a_file(void **state)
{
	rw_cleanup(freep) char *line = NULL, *saved = NULL;
	char words[160];
	snprintf(words, sizeof(words), "report fake --check --format csv --out %s", file);
	line = run(0, words);
	assert_string_equal(line, "FAKE OK - 60 s | 'span'=60;;;0;\n");
	assert_int_equal(str_read_file(file, 1 << 20, &saved, NULL, NULL), 0);
	assert_string_equal(saved, "device,span_s\nleaf1,60\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(written_to_a_file),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
