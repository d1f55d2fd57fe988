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

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define BEGIN_S 1700000000LL
#define SECONDS 120

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

static void make_database(const char *path, const char *defaults, const char *device)
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
				.value = (uint64_t)t_s * 1000000000,
				.source = SOURCE_REPLAY,
				.entity = entities_intern(entities, "leaf1", name, PRIO_NONE),
				.metric = M_PORT_OUT_OCTETS};
			store_samples(store, &sample, 1);
		}
	assert_int_equal(store_flush(store, &e), 0);
	store_close(store);
	entities_free(entities);
}

static json_t *run_steps(char *db)
{
	char *argv[] = {(char *)"rocewatch", (char *)"steps", (char *)"--db", db,
		(char *)"--format=json", NULL};
	char path[] = "/tmp/rw-steps-out-XXXXXX";
	rw_cleanup(freep) char *text = NULL;
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_block_length)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
