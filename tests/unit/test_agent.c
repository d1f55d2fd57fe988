/*
 * test_agent - the whole process, forked: start, reload (good, unchanged, broken), the lock, an ordered stop, and kill -9 again and again.
 * The only target is a port on loopback where nobody answers; what counts here is that the agent lives with that.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/agent.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/control.h"
#include "config/config.h"
#include "db/series.h"

#define DEADLINE_NS (20 * NS_PER_S)
#define KILLS 5

static const char one[] =
	"fabric: test\n"
	"store: { path: %s/rw.db }\n"
	"credentials:\n"
	"  c: { snmp: { version: 2c, community_env: RW_TEST_COMMUNITY } }\n"
	"devices:\n"
	"  - { name: sw1, role: leaf, snmp: { address: \"127.0.0.1:1\", credentials: c } }\n"
	"capture:\n"
	"  - { name: none, interface: rw-not-there }\n";

struct place {
	char dir[64], config[80], socket[80], db[80];
	pid_t pid; /* of the agent under test; a test that failed leaves it to the teardown */
};

static void put_config(const struct place *p, const char *more)
{
	FILE *f = fopen(p->config, "w");
	assert_non_null(f);
	fprintf(f, one, p->dir);
	fputs(more, f);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	struct place *p = rw_calloc(1, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), "/tmp/rocewatch-agent-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->config, sizeof(p->config), "%s/rw.yaml", p->dir);
	snprintf(p->db, sizeof(p->db), "%s/rw.db", p->dir);
	snprintf(p->socket, sizeof(p->socket), "%s/rw.db.sock", p->dir);
	setenv("RW_TEST_COMMUNITY", "public", 1);
	put_config(p, "");
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"rw.yaml", "rw.db", "rw.db-wal", "rw.db-shm", "rw.db.lock", "rw.db.sock"};
	struct place *p = *state;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	for (size_t k = 0; k < rw_countof(names); k++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", p->dir, names[k]);
		unlink(path);
	}
	int rc = rmdir(p->dir);
	free(p);
	return rc;
}

static pid_t launch(const struct place *p)
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	struct agent_options o = {.config_path = p->config};
	struct err_list errors = {0};
	struct config *config = NULL;
	struct err e = {0};
	if (agent_config(&o, &config, &errors) != 0)
		_exit(2);
	_exit(agent_run(&o, config, &e) == 0 ? 0 : e.code == -EBUSY ? 3 : 1);
}

static json_t *ask(const struct place *p)
{
	json_t *request = json_pack("{s:s}", "cmd", "status"), *reply = NULL;
	struct err e;
	int rc = control_call(p->socket, request, &reply, &e);
	json_decref(request);
	return rc == 0 ? reply : NULL;
}

/* Wait until the agent's status shows @reloads and @targets. */
static void wait_status(const struct place *p, int reloads, size_t targets)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	while (mono_now().ns < deadline) {
		json_t *s = ask(p);
		bool there = s && json_integer_value(json_object_get(s, "reloads")) == reloads && json_array_size(json_object_get(s, "targets")) == targets;
		json_decref(s);
		if (there)
			return;
		poll(NULL, 0, 20);
	}
	fail_msg("the agent did not show %d reloads and %zu targets in time", reloads, targets);
}

static int wait_exit(pid_t pid)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	int status;
	pid_t got;
	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && mono_now().ns < deadline)
		poll(NULL, 0, 10);
	if (got != pid) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		fail_msg("the agent did not end in time");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_reload_and_stop(void **state)
{
	struct place *p = *state;
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	assert_int_equal(wait_exit(launch(p)), 3); /* the database has a writer */

	put_config(p, "# nothing new\n");
	kill(pid, SIGHUP);
	wait_status(p, 1, 2);
	put_config(p, "  - { name: second, interface: rw-nor-there }\n");
	kill(pid, SIGHUP);
	wait_status(p, 2, 3);
	put_config(p, "  - { name: broken, interfaze: x }\n");
	kill(pid, SIGHUP); /* refused whole; the next good one counts as the third */
	put_config(p, "");
	kill(pid, SIGHUP);
	wait_status(p, 3, 2);

	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	assert_int_not_equal(access(p->socket, F_OK), 0);
}

static int take_text(void *arg, int n, char *const *values, char *const *names)
{
	snprintf(arg, 64, "%s", values[0] ? values[0] : "");
	return 0;
}

/* How many configurations the database holds; the test fails when it cannot be read. */
static void configurations(const struct place *p, char text[64])
{
	struct series_db *db = NULL;
	struct err e = {0};
	if (series_db_open(p->db, &db, &e) != 0)
		fail_msg("%s", e.text);
	int rc = series_db_sql(db, "SELECT count(*) FROM config_history", take_text, text, &e);
	series_db_close(db);
	if (rc != 0)
		fail_msg("%s", e.text);
}

static void test_killed(void **state)
{
	struct place *p = *state;
	for (int k = 0; k < KILLS; k++) {
		pid_t pid = p->pid = launch(p);
		wait_status(p, 0, 2);
		kill(pid, SIGKILL);
		p->pid = 0;
		assert_int_equal(wait_exit(pid), -SIGKILL);
		char text[64] = "";
		configurations(p, text); /* readable; the kill may have come before the first commit */
		assert_true(str_eq(text, "0") || str_eq(text, "1"));
	}
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	kill(pid, SIGINT);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	char text[64] = "";
	configurations(p, text);
	assert_string_equal(text, "1"); /* the same one is stored once, however often the agent starts */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reload_and_stop, setup, teardown), cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
