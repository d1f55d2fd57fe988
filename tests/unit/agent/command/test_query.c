/* query as its users see it: through the command line, rows in every format, with and without a
 * configuration beside the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define NOW_S 1700000000LL

extern const struct command command_query;
static const struct command *const table[] = {&command_query, NULL};
static char dir[] = "/tmp/rw-query-XXXXXX", db[64];

/* One counter, read each 10 s, of which the restart in the middle makes no spike. The configuration
 * beside it is of another version. */
static int begin(void **state)
{
	struct entities *t = entities_new();
	struct store *s = NULL;
	struct err e = {0};

	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	const struct store_options o = {.path = db, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	store_fabric(s, 0, "fabrik: not understood\n");
	static const uint64_t values[] = {1000, 2000, 3000, 100, 1100};
	for (size_t i = 0; i < rw_countof(values); i++) {
		const struct sample x = {.t_ns = (NOW_S + 10 * (int64_t)i) * NS_PER_S,
			.value = values[i],
			.source = SOURCE_REPLAY,
			.entity = entities_intern(t, "leaf1", "swp1", PRIO_NONE),
			.metric = M_PORT_OUT_OCTETS,
			.flags = i == 3 ? SF_RESTART : 0};
		store_samples(s, &x, 1);
	}
	int r = store_flush(s, &e);
	store_close(s);
	entities_free(t);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const struct {
	const char *what;
	const char *argv[6];
	int exit;
	const char *out;
} rows[] = {
	{"samples", {"port.out_octets", "--format=csv", "--since=2023-11-14 22:13:50"}, 0,
		"time,device,port,priority,metric,value,flags\n2023-11-14T22:13:50.000Z,leaf1,swp1,"
		",port.out_octets,100,restart\n"
		"2023-11-14T22:14:00.000Z,leaf1,swp1,,port.out_octets,1100,\n"},
	{"rates", {"port.out_octets", "--rate", "--format=csv", "--no-header"}, 0,
		"2023-11-14T22:13:20.000Z,leaf1,swp1,,port.out_octets,,\n2023-11-14T22:13:30.000Z,"
		"leaf1,swp1,,port.out_octets,100,\n"
		"2023-11-14T22:13:40.000Z,leaf1,swp1,,port.out_octets,100,\n2023-11-14T22:13:50."
		"000Z,leaf1,swp1,,port.out_octets,,restart\n"
		"2023-11-14T22:14:00.000Z,leaf1,swp1,,port.out_octets,100,\n"},
	{"no samples", {"port.in_octets", "--format=csv"}, 0,
		"time,device,port,priority,metric,value,flags\n"},
	{"no samples, JSON", {"port.in_octets", "--format=json"}, 0, "{\"rows\":[]}\n"},
	{"SQL",
		{"sql", "SELECT device, value, NULL AS \"a,b\" FROM samples WHERE value>2000",
			"--format=csv"},
		0, "device,value,\"a,b\"\nleaf1,3000,\n"},
	{"SQL, JSON",
		{"sql", "SELECT device, value FROM samples WHERE value>2000", "--format=json"}, 0,
		"{\"rows\":[\n{\"device\":\"leaf1\",\"value\":3000}\n]}\n"},
	{"SQL, nothing found",
		{"sql", "SELECT device, value AS v FROM samples WHERE value>9000", "--format=csv"},
		0, "device,v\n"},
	{"SQL, nothing found, table",
		{"sql", "SELECT device, value AS v FROM samples WHERE value>9000"}, 0,
		"device\tv\n"},
	{"SQL, nothing found, no header",
		{"sql", "SELECT device FROM samples WHERE value>9000", "--format=csv",
			"--no-header"},
		0, ""},
	{"SQL, nothing found, JSON",
		{"sql", "SELECT device FROM samples WHERE value>9000", "--format=json"}, 0,
		"{\"rows\":[]}\n"},
	{"SQL that fails", {"sql", "SELECT nothing FROM nowhere", "--format=csv"}, 1, ""},
	{"SQL that writes", {"sql", "DELETE FROM entity"}, 1, ""},
	{"no such metric", {"port.out_octet"}, 2, ""},
	{"rate of a gauge", {"port.speed_bps", "--rate"}, 2, ""},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char *argv[12] = {
			(char *)"rocewatch", (char *)"query", (char *)"--db", db, (char *)"-q"};
		char path[] = "/tmp/rw-query-out-XXXXXX";
		rw_cleanup(freep) char *text = NULL;
		int fd = mkstemp(path), saved = dup(1), argc = 5;
		for (size_t k = 0; k < rw_countof(rows[i].argv) && rows[i].argv[k]; k++)
			argv[argc++] = (char *)(uintptr_t)rows[i].argv[k];
		fflush(stdout);
		dup2(fd, 1);
		close(fd);
		int r = cli_run(argc, argv, table);
		dup2(saved, 1);
		close(saved);
		assert_int_equal(str_read_file(path, 1 << 20, &text, NULL, NULL), 0);
		unlink(path);
		if (r != rows[i].exit || strcmp(text, rows[i].out) != 0)
			fail_msg("%s: exit %d, and\n%s\ninstead of\n%s", rows[i].what, r, text,
				rows[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, begin, end);
}
