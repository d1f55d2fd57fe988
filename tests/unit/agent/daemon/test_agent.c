/*
 * test_agent - the whole process, forked: start, reload (good, unchanged, broken), the lock, an
 * ordered stop, and kill -9 again and again. The only target is a port on loopback where nobody
 * answers; what counts here is that the agent lives with that.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "agent/client/client.h"
#include "agent/client/control.h"
#include "agent/client/peek.h"
#include "agent/daemon/agent.h"
#include "agent/daemon/reload.h"
#include "agent/jail/parser_child.h"
#include "agent/jail/privilege.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "tests/patience.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)
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
	char log[80]; /* where the agent's standard error goes; "" = ours */
	const char *web; /* plays the web server; NULL = nobody */
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
	static const char *const names[] = {"rw.yaml", "rw.db", "rw.db-wal", "rw.db-shm",
		"rw.db.lock", "rw.db.state", "rw.db.sock", "log", "secret"};
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
	if (getenv("RW_TEST_NETNS") && system("ip netns del $RW_TEST_NETNS 2>/dev/null") == 0)
		unsetenv("RW_TEST_NETNS");
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
	if (*p->log) {
		int fd = open(p->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, 2);
		close(fd);
	}
	struct agent_options o = {.config_path = p->config, .web_program = p->web};
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
		bool there = s && json_integer_value(json_object_get(s, "reloads")) == reloads &&
			json_array_size(json_object_get(s, "targets")) == targets;
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

static int take_lines(void *arg, int n, char *const *values, char *const *names)
{
	str_addf(arg, "%s\n", values[0] ? values[0] : "-");
	return 0;
}

/* The rows of @sql, a line each, until they are @expected: what was handed over is committed within
 * a second. */
static void wait_rows(const struct place *p, const char *sql, const char *expected)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	rw_cleanup(str_done) struct str got = {0};
	do {
		struct history *history = NULL;
		struct err e = {0};
		str_done(&got);
		got = (struct str){0};
		if (db_history_open(p->db, &history, &e) == 0)
			history_sql(history, sql, take_lines, &got, &e);
		history_close(history);
		if (str_eq(str_or(got.s, ""), expected))
			return;
		poll(NULL, 0, 20);
	} while (mono_now().ns < deadline);
	fail_msg("%s:\n%s\nexpected\n%s", sql, str_or(got.s, ""), expected);
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
	wait_rows(p, "SELECT count(*) FROM events WHERE kind='config_refused'", "1\n");
	put_config(p, "");
	kill(pid, SIGHUP);
	wait_status(p, 3, 2);

	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	assert_int_not_equal(access(p->socket, F_OK), 0);
}

/* A configuration, and a file of jobs, in whose place somebody put a pipe: nothing waits for it. */
static void test_pipes(void **state)
{
	struct place *p = *state;
	char jobs[80], more[200];
	snprintf(jobs, sizeof(jobs), "%s/log", p->dir);
	assert_int_equal(mkfifo(jobs, 0600), 0);
	snprintf(more, sizeof(more), "job_files: [ { path: %s } ]\n", jobs);
	put_config(p, more);
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	unlink(p->config);
	assert_int_equal(mkfifo(p->config, 0600), 0);
	kill(pid, SIGHUP);
	wait_rows(p,
		"SELECT text GLOB '*1 mistake; the first: *rw.yaml: is a pipe; expected a regular "
		"file*' FROM events WHERE kind='config_refused'",
		"1\n");
	unlink(p->config);
	put_config(p, more);
	kill(pid, SIGHUP);
	wait_status(p, 1, 2);
	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
}

#define KINDS "SELECT kind FROM events WHERE kind GLOB 'agent_*' OR kind GLOB 'config_*'"
#define REFUSED "SELECT CAST(value AS INTEGER) FROM health WHERE key='process/config_refused'"

/* Each step of the agent's life is an event; a refused reload is also in its health, until the file
 * is right again. */
static void test_life_events(void **state)
{
	struct place *p = *state;
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	wait_rows(p, KINDS, "agent_start\n");
	put_config(p, "  - { name: broken, interfaze: x }\n");
	kill(pid, SIGHUP);
	wait_rows(p, KINDS, "agent_start\nconfig_refused\n");
	wait_rows(p, REFUSED, "1\n");
	wait_rows(p,
		"SELECT text GLOB '*: 2 mistakes; the first: *rw.yaml:9:5: broken: expected *' "
		"FROM events WHERE kind='config_refused'",
		"1\n");
	put_config(p, "");
	kill(pid, SIGHUP);
	wait_rows(p, KINDS, "agent_start\nconfig_refused\nconfig_reloaded\n");
	wait_rows(p, REFUSED, "0\n");
	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	wait_rows(p, KINDS, "agent_start\nconfig_refused\nconfig_reloaded\nagent_stop\n");
	wait_rows(p, "SELECT text FROM events WHERE kind='agent_stop'",
		"the agent was stopped: SIGTERM\n");
}

static void wait_file(const char *path, const char *expected)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	rw_cleanup(freep) char *text = NULL;
	do {
		free(text);
		text = NULL;
		if (str_read_file(path, 1 << 16, &text, NULL, NULL) == 0 && str_eq(text, expected))
			return;
		poll(NULL, 0, 20);
	} while (mono_now().ns < deadline);
	fail_msg("%s:\n%s\nexpected\n%s", path, str_or(text, "nothing"), expected);
}

/* What a reader finds now; its limit follows from the configuration in the file. */
static struct canary_state look_at_canary(const struct place *p, const struct config *config)
{
	struct client client = {.config = (struct config *)config};
	struct canary_state canary = {0};
	struct err e = {0};
	if (db_history_open(p->db, &client.history, &e) != 0)
		return canary;
	if (canary_read(&client, wall_now().ns, &canary, &e) != 0)
		fail_msg("%s", e.text);
	history_close(client.history);
	return canary;
}

static void wait_canary(const struct place *p, const struct config *config, bool moving)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	struct canary_state canary;
	do {
		canary = look_at_canary(p, config);
		if (canary.known && canary.moving == moving)
			return;
		poll(NULL, 0, 50);
	} while (mono_now().ns < deadline);
	fail_msg("moving %d, age %g s of %g s", canary.moving, canary.age_s, canary.limit_s);
}

/* The pulse is in the database within two intervals. When the writer cannot write, though the agent
 * runs, polls and beats, it grows old there; and it is back when the writer is. */
static void test_canary(void **state)
{
	struct place *p = *state;
	struct agent_options o = {.config_path = p->config};
	struct err_list errors = {0};
	struct config *config = NULL;
	put_config(p, "defaults: { interval: 1s }\n");
	assert_int_equal(agent_config(&o, &config, &errors), 0);
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	wait_canary(p, config, true);
	assert_true(look_at_canary(p, config).limit_s == 3);

	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(p->db, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	wait_canary(p, config, false);
	assert_true(look_at_canary(p, config).age_s > 3);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	wait_canary(p, config, true);
	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	config_free(config);
}

/* With http in its configuration the agent runs a web server: one, started again when it ends, told
 * of a reload, gone with the section, and gone with the agent. */
static void test_web(void **state)
{
	static const char script[] = "#!/bin/sh\n"
				     "echo \"start $*\" >>$SAID; trap 'echo hup >>$SAID' HUP\n"
				     "trap 'echo term >>$SAID; exit 0' TERM\n"
				     "echo $$ >$SAID.pid\nwhile :; do sleep 0.02; done\n";
	struct place *p = *state;
	char program[96], said[96], pid_file[104], expected[512];
	snprintf(program, sizeof(program), "%s/web", p->dir);
	snprintf(said, sizeof(said), "%s/log", p->dir);
	snprintf(pid_file, sizeof(pid_file), "%s.pid", said);
	FILE *f = fopen(program, "w");
	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	chmod(program, 0700);
	setenv("SAID", said, 1);
	p->web = program;
	put_config(p, "http: { listen: \"127.0.0.1:9421\" }\n");
	pid_t pid = p->pid = launch(p);
	snprintf(expected, sizeof(expected), "start -c %s web --child\n", p->config);
	wait_file(said, expected);
	wait_rows(p, "SELECT CAST(value AS INTEGER) FROM health WHERE key='process/web/running'",
		"1\n");
	kill(pid, SIGHUP);
	strcat(expected, "hup\n");
	wait_file(said, expected);

	rw_cleanup(freep) char *child = NULL;
	assert_int_equal(str_read_file(pid_file, 64, &child, NULL, NULL), 0);
	kill(atoi(child), SIGKILL);
	wait_rows(p, "SELECT text GLOB '*ended by signal 9*' FROM events WHERE kind='web_down'",
		"1\n");
	snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
		"start -c %s web --child\n", p->config);
	wait_file(said, expected);
	put_config(p, "");
	kill(pid, SIGHUP);
	strcat(expected, "term\n");
	wait_file(said, expected);
	put_config(p, "http: { listen: \"127.0.0.1:9421\" }\n");
	kill(pid, SIGHUP);
	snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
		"start -c %s web --child\n", p->config);
	wait_file(said, expected);
	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	strcat(expected, "term\n");
	wait_file(said, expected);
	unlink(program);
	unlink(pid_file);
}

/* Wait until the target's reason has @text. */
static void wait_reason(const struct place *p, const char *name, const char *text)
{
	int64_t deadline = mono_now().ns + DEADLINE_NS;
	char last[256] = "";
	while (mono_now().ns < deadline) {
		json_t *s = ask(p), *t;
		size_t k;
		bool there = false;
		json_array_foreach (json_object_get(s, "targets"), k, t) {
			const char *reason = json_string_value(json_object_get(t, "reason"));
			if (!str_eq(json_string_value(json_object_get(t, "name")), name) || !reason)
				continue;
			snprintf(last, sizeof(last), "%s", reason);
			there = strstr(reason, text) != NULL;
		}
		json_decref(s);
		if (there)
			return;
		poll(NULL, 0, 20);
	}
	fail_msg("%s: '%s'", name, last);
}

/* A secret that is not there is the matter of one device: told with its place, and the others are
 * watched all the same. */
static void test_missing_secret(void **state)
{
	struct place *p = *state;
	char text[1024], place[256];
	rw_cleanup(freep) char *log = NULL;
	snprintf(text, sizeof(text),
		"fabric: test\nstore: { path: %s/rw.db }\ncredentials:\n  here: { snmp: { version: "
		"2c, community_env: RW_TEST_COMMUNITY } }\n"
		"  there: { snmp: { version: 2c, community_file: %s/secret } }\ndevices:\n"
		"  - { name: sw1, role: leaf, snmp: { address: \"127.0.0.1:1\", credentials: here "
		"} }\n"
		"  - { name: sw2, role: leaf, snmp: { address: \"127.0.0.1:1\", credentials: there "
		"} }\n",
		p->dir, p->dir);
	FILE *f = fopen(p->config, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	snprintf(p->log, sizeof(p->log), "%s/log", p->dir);
	pid_t pid = p->pid = launch(p);
	wait_reason(p, "sw2", "/secret");
	wait_reason(p, "sw1", "refused");

	char secret[128];
	snprintf(secret, sizeof(secret), "%s/secret", p->dir);
	f = fopen(secret, "w");
	assert_non_null(f);
	fputs("public\n", f);
	assert_int_equal(fclose(f), 0);
	chmod(secret, 0600);
	kill(pid, SIGHUP);
	wait_reason(p, "sw2", "refused");
	kill(pid, SIGTERM);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	assert_int_equal(str_read_file(p->log, 1 << 20, &log, NULL, NULL), 0);
	snprintf(place, sizeof(place), "%s:5:", p->config);
	const char *told = strstr(log, place);
	if (!told || !strstr(told, "community_file") || strstr(told + 1, place))
		fail_msg("not told once:\n%s", log);
}

/* The next word to systemd that is not about the watchdog; counts those that are. */
static void next_word(int fd, char *text, size_t size, int *watchdogs)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&p, 1, DEADLINE_NS / NS_PER_MS), 1);
		ssize_t n = recv(fd, text, size - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
		if (!str_eq(text, "WATCHDOG=1"))
			return;
		++*watchdogs;
	}
}

static void test_tells_systemd(void **state)
{
	struct place *p = *state;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char text[256];
	int watchdogs = 0;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/log", p->dir);
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	setenv("WATCHDOG_USEC", "100000", 1);
	pid_t pid = p->pid = launch(p);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");

	next_word(fd, text, sizeof(text), &watchdogs);
	assert_non_null(strstr(text, "READY=1"));
	assert_int_equal(watchdogs, 0);
	wait_status(p, 0, 2); /* what is ready answers */
	static const struct {
		const char *what, *more;
	} reloads[] = {{"good", ""}, {"broken", "nonsense: 1\n"}};
	for (size_t i = 0; i < rw_countof(reloads); i++) {
		put_config(p, reloads[i].more);
		kill(pid, SIGHUP);
		next_word(fd, text, sizeof(text), &watchdogs);
		if (!strstr(text, "RELOADING=1") || !strstr(text, "MONOTONIC_USEC="))
			fail_msg("%s: %s", reloads[i].what, text);
		next_word(fd, text, sizeof(text), &watchdogs);
		if (!strstr(text, "READY=1"))
			fail_msg("%s: %s", reloads[i].what, text);
	}
	while (watchdogs < 3) {
		struct pollfd w = {.fd = fd, .events = POLLIN};
		assert_int_equal(poll(&w, 1, DEADLINE_NS / NS_PER_MS), 1);
		ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
		assert_true(n > 0);
		text[n] = '\0';
		assert_string_equal(text, "WATCHDOG=1");
		watchdogs++;
	}
	kill(pid, SIGTERM);
	next_word(fd, text, sizeof(text), &watchdogs);
	assert_non_null(strstr(text, "STOPPING=1"));
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
}

static int take_text(void *arg, int n, char *const *values, char *const *names)
{
	snprintf(arg, 64, "%s", values[0] ? values[0] : "");
	return 0;
}

/* How many configurations the database holds; the test fails when it cannot be read. */
static void configurations(const struct place *p, char text[64])
{
	struct history *history = NULL;
	struct err e = {0};
	if (db_history_open(p->db, &history, &e) != 0)
		fail_msg("%s", e.text);
	int rc = history_sql(history, "SELECT count(*) FROM config_history", take_text, text, &e);
	history_close(history);
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
		/* readable; the kill may have come before the first commit */
		configurations(p, text);
		assert_true(str_eq(text, "0") || str_eq(text, "1"));
	}
	pid_t pid = p->pid = launch(p);
	wait_status(p, 0, 2);
	kill(pid, SIGINT);
	p->pid = 0;
	assert_int_equal(wait_exit(pid), 0);
	char text[64] = "";
	configurations(p, text);
	/* the same one is stored once, however often the agent starts */
	assert_string_equal(text, "1");
}

/* ---- rights: what each thread of a running agent has --------------------- */

#define CAP(n) (1ull << (n))
#define NOBODY 65534u

/* One field of /proc/PID/task/TID/status; the last column of several. */
static unsigned long long status_field(pid_t pid, const char *tid, const char *field, int base)
{
	char path[128], line[256];
	snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, tid);
	rw_cleanup(fclosep) FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
			return strtoull(line + strlen(field) + 1, NULL, base);
	}
	fail_msg("%s has no %s", path, field);
	return 0;
}

/* ThreadSanitizer's own thread is there before main() and keeps what the process was started with.
 */
static void skip_under_tsan(void)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
}

/* No thread may have more than the one that opens captures, and that one exactly @want. */
static void expect_rights(const char *what, pid_t pid, unsigned uid, unsigned long long want)
{
	char dir[64], main_tid[16];
	size_t n = 0;
	struct dirent *d;
	snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
	snprintf(main_tid, sizeof(main_tid), "%d", (int)pid);
	DIR *tasks = opendir(dir);
	assert_non_null(tasks);
	while ((d = readdir(tasks))) {
		if (d->d_name[0] == '.')
			continue;
		unsigned long long permitted = status_field(pid, d->d_name, "CapPrm", 16),
				   effective = status_field(pid, d->d_name, "CapEff", 16);
		bool first = str_eq(d->d_name, main_tid);
		if ((permitted | effective) & ~want || (first && effective != want))
			fail_msg("%s: thread %s has %llx of %llx, expected %llx", what, d->d_name,
				effective, permitted, want);
		if (status_field(pid, d->d_name, "Uid", 10) != uid)
			fail_msg("%s: thread %s is user %llu", what, d->d_name,
				status_field(pid, d->d_name, "Uid", 10));
		if (status_field(pid, d->d_name, "NoNewPrivs", 10) != 1)
			fail_msg("%s: thread %s may gain rights", what, d->d_name);
		n++;
	}
	closedir(tasks);
	assert_true(n >= 2); /* the loop and the store's writer at least */
}

static void test_rights(void **state)
{
	skip_under_tsan();
	static const struct {
		const char *what, *more;
		unsigned owner, uid;
		unsigned long long want;
	} rows[] = {
		{"root stays root", "user: root\n", 0, 0, CAP(CAP_NET_RAW)},
		{"the store is somebody else's", "user: root\n", NOBODY, 0,
			CAP(CAP_NET_RAW) | CAP(CAP_DAC_OVERRIDE)},
		{"another user", "user: nobody\n", NOBODY, NOBODY, CAP(CAP_NET_RAW)},
		{"another user, another namespace",
			"  - { name: there, interface: lo, netns: rw-not-there }\nuser: nobody\n",
			NOBODY, NOBODY, CAP(CAP_NET_RAW) | CAP(CAP_SYS_ADMIN)},
	};
	struct place *p = *state;
	char tid[16];
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < rw_countof(rows); i++) {
		put_config(p, rows[i].more);
		assert_int_equal(chown(p->dir, rows[i].owner, 0), 0);
		pid_t pid = p->pid = launch(p);
		wait_status(p, 0, i == 3 ? 3 : 2);
		/* the socket is there a moment before the rights are gone */
		int64_t deadline = mono_now().ns + DEADLINE_NS;
		snprintf(tid, sizeof(tid), "%d", (int)pid);
		while (status_field(pid, tid, "CapPrm", 16) != rows[i].want &&
			mono_now().ns < deadline)
			poll(NULL, 0, 10);
		expect_rights(rows[i].what, pid, rows[i].uid, rows[i].want);
		kill(pid, SIGTERM);
		p->pid = 0;
		assert_int_equal(wait_exit(pid), 0);
	}
}

/* State of a capture in the agent's own words; "" when it does not answer. */
static void capture_state_text(const struct place *p, const char *name, char text[32])
{
	json_t *s = ask(p), *t;
	size_t k;
	text[0] = '\0';
	json_array_foreach (json_object_get(s, "targets"), k, t) {
		if (str_eq(json_string_value(json_object_get(t, "name")), name))
			snprintf(text, 32, "%s", json_string_value(json_object_get(t, "state")));
	}
	json_decref(s);
}

static void wait_capture(const struct place *p, const char *name, const char *state)
{
	int64_t deadline = mono_now().ns + 2 * DEADLINE_NS;
	char text[32];
	do {
		capture_state_text(p, name, text);
		if (str_eq(text, state))
			return;
		poll(NULL, 0, 50);
	} while (mono_now().ns < deadline);
	fail_msg("capture %s is '%s', not '%s'", name, text, state);
}

/* As an ordinary user, a capture in another network namespace is opened again after its interface
 * went away and came back. */
static void test_capture_elsewhere(void **state)
{
	skip_under_tsan();
	struct place *p = *state;
	char name[32], more[256];
	snprintf(name, sizeof(name), "rwtest%d", (int)getpid());
	setenv("RW_TEST_NETNS", name, 1);
	if (geteuid() != 0 || system("ip netns add $RW_TEST_NETNS 2>/dev/null") != 0)
		skip();
	int made = system("ip -n $RW_TEST_NETNS link add rwd0 type veth peer name rwd1 2>/dev/null "
			  "&& ip -n $RW_TEST_NETNS link set rwd0 up");
	if (made == 0) {
		snprintf(more, sizeof(more),
			"  - { name: there, interface: rwd0, netns: %s, interval: 1s }\nuser: "
			"nobody\n",
			name);
		put_config(p, more);
		assert_int_equal(chown(p->dir, NOBODY, 0), 0);
		pid_t pid = p->pid = launch(p);
		wait_capture(p, "there", "up");
		assert_int_equal(system("ip -n $RW_TEST_NETNS link del rwd0"), 0);
		wait_capture(p, "there", "backoff");
		assert_int_equal(system("ip -n $RW_TEST_NETNS link add rwd0 type veth peer name "
					"rwd1 && ip -n $RW_TEST_NETNS link set rwd0 up"),
			0);
		wait_capture(p, "there", "up");
		expect_rights("opened again", pid, NOBODY, CAP(CAP_NET_RAW) | CAP(CAP_SYS_ADMIN));
		kill(pid, SIGTERM);
		p->pid = 0;
		assert_int_equal(wait_exit(pid), 0);
	}
	if (made != 0)
		skip();
}

/* More devices than a login shell's soft limit has files: the limit is raised, and never lowered.
 */
static void test_files(void **state)
{
	struct rlimit before, rl;
	const struct config c = {.n_devices = 1000};
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	rl = before;
	rl.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
	privilege_files(&c);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	assert_true(rl.rlim_cur >= 4096 || rl.rlim_cur == rl.rlim_max);
	rlim_t raised = rl.rlim_cur;
	privilege_files(&c);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	assert_true(rl.rlim_cur == raised && rl.rlim_max == before.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* ---- read your write ------------------------------------------------------ */

#define NOTES 20

static const char open_incident[] =
	"{\"id\":\"aaaaaaaa\",\"cause\":\"pfc_storm\",\"severity\":\"critical\",\"state\":\"open\","
	"\"opened\":\"2026-03-01T00:00:00Z\",\"subject\":{\"device\":\"sw1\"},\"timeline\":[],"
	"\"progress\":{\"analyzer\":\"pause_storm\"}}";

/* A database with one open incident, as an agent left it. */
static void put_incident(const struct place *p)
{
	struct entities *entities = entities_new();
	struct store *store = NULL;
	struct err e = {0};
	const struct store_options o = {.path = p->db, .replay = true};
	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	const struct sample sample = {.t_ns = wall_now().ns - NS_PER_S,
		.value = 1,
		.entity = entities_intern(entities, "sw1", "swp1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_SNMP};
	const struct store_incident incident = {.id = "aaaaaaaa",
		.cause = "pfc_storm",
		.severity = "critical",
		.state = "open",
		.device = "sw1",
		.summary = "stored",
		.json = open_incident,
		.priority = -1,
		.opened_ns = 1,
		.updated_ns = 1,
		.usd_per_hour = NAN,
		.usd_total = NAN,
		.confidence = 1};
	store_samples(store, &sample, 1);
	store_incident(store, &incident);
	store_close(store);
	entities_free(entities);
}

static int take_json(void *arg, int n, char *const *values, char *const *names)
{
	str_add(arg, str_or(values[0], ""));
	return 0;
}

/* Who gets the agent's reply and then reads the database sees what the reply says. */
static void test_read_your_write(void **state)
{
	struct place *p = *state;
	put_incident(p);
	p->pid = launch(p);
	wait_status(p, 0, 2);
	for (int k = 0; k < NOTES; k++) {
		char text[32];
		struct err e = {0};
		struct history *history;
		rw_cleanup(str_done) struct str json = {0};
		snprintf(text, sizeof(text), "note %d.", k);
		json_t *reply = NULL,
		       *request = json_pack(
			       "{s:s, s:s, s:s}", "cmd", "note", "id", "aaaaaaaa", "note", text);
		assert_int_equal(control_call(p->socket, request, &reply, &e), 0);
		json_decref(request);
		assert_true(json_is_true(json_object_get(reply, "ok")));
		assert_true(json_is_true(json_object_get(reply, "committed")));
		json_decref(reply);
		assert_int_equal(db_history_open(p->db, &history, &e), 0);
		assert_int_equal(
			history_sql(history, "SELECT json FROM incidents", take_json, &json, &e),
			0);
		history_close(history);
		if (!strstr(json.s, text))
			fail_msg("'%s' is not in the database: %s", text, json.s);
	}
	kill(p->pid, SIGTERM);
	assert_int_equal(wait_exit(p->pid), 0);
	p->pid = 0;
}

int main(int argc, char **argv)
{
	/* the agent under test runs this program anew for each capture */
	if (argc > 1 && str_eq(argv[1], "parser"))
		return parser_child_run(STDIN_FILENO);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reload_and_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pipes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_your_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_life_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_web, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tells_systemd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(test_capture_elsewhere, setup, teardown),
		cmocka_unit_test(test_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
