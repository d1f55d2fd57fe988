/* steps: the blocks it measures are as long as the windows of the detector of that name, also where
 * devices have a sampling interval of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define BEGIN_S 1700000000LL
#define SECONDS 300

extern const struct command command_steps;
static const struct command *const table[] = {&command_steps, NULL};

static const char yaml[] = "fabric: pod-a\n"
			   "credentials:\n"
			   "  c: { snmp: { version: 2c, community_env: C } }\n"
			   "%s"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf%s }\n"
			   "links:\n"
			   "  - { a: \"leaf1:swp1\", b: \"host:n1\", speed: 400G }\n"
			   "  - { a: \"leaf1:swp2\", b: \"host:n2\", speed: 400G }\n";

/* Both ports move 1 GB/s for @moving_s seconds, then nothing. */
static void make_moving(
	const char *path, const char *defaults, const char *device, int64_t moving_s)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	struct err e = {0};
	char fabric[1024];
	snprintf(fabric, sizeof(fabric), yaml, defaults, device);
	const struct store_options options = {.path = path, .replay = true};
	assert_int_equal(db_store_open(&options, entities, &store, &e), 0);
	store_fabric(store, 0, fabric);
	for (int64_t t_s = 0; t_s <= SECONDS; t_s++)
		for (int port = 1; port <= 2; port++) {
			char name[16];
			snprintf(name, sizeof(name), "swp%d", port);
			const struct sample sample = {.t_ns = (BEGIN_S + t_s) * NS_PER_S,
				.value = (uint64_t)(t_s < moving_s ? t_s : moving_s) * 1000000000,
				.source = SOURCE_REPLAY,
				.entity = entities_intern(entities, "leaf1", name, PRIO_NONE),
				.metric = M_PORT_OUT_OCTETS};
			store_samples(store, &sample, 1);
		}
	assert_int_equal(store_flush(store, &e), 0);
	store_close(store);
	entities_free(entities);
}

static void make_database(const char *path, const char *defaults, const char *device)
{
	make_moving(path, defaults, device, SECONDS);
}

/* What "rocewatch steps" prints. */
static char *print_steps(char *db, const char *format)
{
	char *argv[] = {
		(char *)"rocewatch", (char *)"steps", (char *)"--db", db, (char *)format, NULL};
	char path[] = "/tmp/rw-steps-out-XXXXXX";
	char *text = NULL;
	const int fd = mkstemp(path), saved = dup(1);
	fflush(stdout);
	dup2(fd, 1);
	close(fd);
	const int code = cli_run(5, argv, table);
	dup2(saved, 1);
	close(saved);
	assert_int_equal(str_read_file(path, 1 << 20, &text, NULL, NULL), 0);
	unlink(path);
	if (code != 0)
		fail_msg("exit %d: %s", code, text);
	return text;
}

static json_t *run_steps(char *db)
{
	rw_cleanup(freep) char *text = print_steps(db, "--format=json");
	json_t *doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	return doc;
}

static const struct {
	const char *what, *defaults, *device;
	double block_s;
} rows[] = {
	{"the device's own interval: 3 x 1 s, but at least 5 s", "",
		", snmp: { address: 192.0.2.1, credentials: c, interval: 1s }", 5},
	{"longer than the default", "",
		", snmp: { address: 192.0.2.1, credentials: c, interval: 20s }", 60},
	{"no device is polled: the default of 10 s", "", "", 30},
	{"no device is polled: what is configured", "defaults: { interval: 4s }\n", "", 12},
};

static void test_block_length(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char dir[] = "/tmp/rw-steps-XXXXXX", db[64], remove[64];
		assert_non_null(mkdtemp(dir));
		snprintf(db, sizeof(db), "%s/x.db", dir);
		make_database(db, rows[i].defaults, rows[i].device);
		json_t *doc = run_steps(db);
		const json_t *job = json_array_get(json_object_get(doc, "jobs"), 0);
		const double got = json_number_value(json_object_get(job, "block_s"));
		if (got != rows[i].block_s)
			fail_msg("%s: blocks of %g s, expected %g", rows[i].what, got,
				rows[i].block_s);
		json_decref(doc);
		snprintf(remove, sizeof(remove), "rm -rf %s", dir);
		assert_int_equal(system(remove), 0);
	}
}

/* A job that stands still since a minute or more is stopped, not one that never idles. */
static void expect_stopped(int64_t moving_s, const char *stopped_since, const char *says)
{
	char dir[] = "/tmp/rw-steps-XXXXXX", db[64], remove[64];
	assert_non_null(mkdtemp(dir));
	snprintf(db, sizeof(db), "%s/x.db", dir);
	make_moving(db, "defaults: { interval: 2s }\n", "", moving_s);
	json_t *doc = run_steps(db);
	const json_t *job = json_array_get(json_object_get(doc, "jobs"), 0);
	const char *got = json_string_value(json_object_get(job, "stopped_since"));
	rw_cleanup(freep) char *text = print_steps(db, "--format=table");
	if (!str_eq(got, stopped_since))
		fail_msg("moves for %d s: stopped since %s, expected %s", (int)moving_s,
			str_or(got, "null"), str_or(stopped_since, "null"));
	if (!strstr(text, says))
		fail_msg("'%s' is missing in\n%s", says, text);
	/* one that stands still now is none that never idles */
	if (moving_s < SECONDS && strstr(text, "never idles"))
		fail_msg("moves for %d s:\n%s", (int)moving_s, text);
	json_decref(doc);
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	assert_int_equal(system(remove), 0);
}

static void test_stopped(void **state)
{
	/* blocks of 6 s, from a multiple of that on; also where it stood still for most of the
	 * time */
	expect_stopped(60, "2023-11-14T22:14:24.000Z", "stopped since 22:14:24.000Z");
	expect_stopped(180, "2023-11-14T22:16:24.000Z", "stopped since 22:16:24.000Z");
	expect_stopped(SECONDS - 30, NULL, "not seen");
	expect_stopped(SECONDS, NULL, "or the job never idles");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_length), cmocka_unit_test(test_stopped)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
