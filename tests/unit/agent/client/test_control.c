/* test_control - the agent's socket: requests and replies, bounds, left-over files. The other side
 * is control_call() on a thread. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "agent/client/control.h"

struct world {
	char dir[64], path[100];
	struct loop *loop;
	struct control *control;
	struct loop_timer *deadline;
	struct mailbox *done;
	char who[64];
	bool writes; /* requests write something that is committed .looks looks later */
	int looks;
};

static void on_deadline(void *arg)
{
	fail_msg("no end after 20 s");
}

static void on_done(void *arg, void *message)
{
	loop_stop(((struct world *)arg)->loop);
}

static json_t *answer(void *arg, const char *who, const json_t *request)
{
	struct world *w = arg;
	snprintf(w->who, sizeof(w->who), "%s", who);
	const json_t *big = json_object_get(request, "big");
	if (big) {
		size_t n = (size_t)json_integer_value(big);
		char *text = rw_calloc(1, n + 1);
		memset(text, 'x', n);
		json_t *o = json_pack("{s:b, s:s}", "ok", 1, "text", text);
		free(text);
		return o;
	}
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	return cmd ? json_pack("{s:b, s:s}", "ok", 1, "echo", cmd) : control_error("expected cmd");
}

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	struct err e = {0};
	snprintf(w->dir, sizeof(w->dir), "/tmp/rocewatch-control-XXXXXX");
	if (!mkdtemp(w->dir) || loop_new(&w->loop) != 0)
		return -1;
	snprintf(w->path, sizeof(w->path), "%s/sock", w->dir);
	if (control_new(w->loop, w->path, answer, w, &w->control, &e) != 0)
		return -1;
	w->deadline = loop_timer_new(w->loop, on_deadline, w);
	loop_timer_start(w->deadline, 20 * NS_PER_S, 0);
	w->done = mailbox_new(w->loop, 4, on_done, w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	control_free(w->control);
	loop_timer_free(w->deadline);
	mailbox_free(w->done);
	loop_free(w->loop);
	int left = access(w->path, F_OK) == 0;
	rmdir(w->dir);
	free(w);
	return left; /* the socket file is gone */
}

struct side { /* what the other thread does, and what it saw */
	struct world *w;
	const char *send; /* raw bytes */
	size_t n;
	struct str got;
	bool closed;
};

static int dial(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	struct timeval limit = {.tv_sec = 10};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Send, shut down our direction, read until the other side closes. */
static void *talk(void *arg)
{
	struct side *s = arg;
	char buf[4096];
	ssize_t n;
	int fd = dial(s->w->path);
	if (fd >= 0 && send(fd, s->send, s->n, MSG_NOSIGNAL) == (ssize_t)s->n) {
		shutdown(fd, SHUT_WR);
		while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
			str_addn(&s->got, buf, (size_t)n);
		s->closed = n == 0 || errno == ECONNRESET;
	}
	if (fd >= 0)
		close(fd);
	mailbox_post(s->w->done, s);
	return NULL;
}

static void converse(struct side *s)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, talk, s), 0);
	assert_int_equal(loop_run(s->w->loop), 0);
	pthread_join(thread, NULL);
}

static void test_lines(void **state)
{
	static const struct {
		const char *what, *send, *got;
	} rows[] = {
		{"one request", "{\"cmd\":\"a\"}\n", "{\"ok\":true,\"echo\":\"a\"}\n"},
		{"two in one packet", "{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}\n",
			"{\"ok\":true,\"echo\":\"a\"}\n{\"ok\":true,\"echo\":\"b\"}\n"},
		{"empty lines are nothing", "\n\n{\"cmd\":\"a\"}\n",
			"{\"ok\":true,\"echo\":\"a\"}\n"},
		{"no object", "[1]\n",
			"{\"ok\":false,\"error\":\"expected a JSON object, not another value\"}\n"},
		{"half a line is no request", "{\"cmd\":\"a\"}", ""},
		{"what the callee refuses", "{}\n", "{\"ok\":false,\"error\":\"expected cmd\"}\n"},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct side s = {.w = *state, .send = rows[k].send, .n = strlen(rows[k].send)};
		print_message("   row: %s\n", rows[k].what);
		converse(&s);
		assert_true(s.closed);
		assert_string_equal(s.got.s ? s.got.s : "", rows[k].got);
		str_done(&s.got);
	}
}

static void test_bounds(void **state)
{
	struct side s = {.w = *state};
	rw_cleanup(str_done) struct str line = {0};
	for (int k = 0; k < CONTROL_LINE_MAX + 100; k++)
		str_add(&line, "a");
	s.send = line.s;
	s.n = line.n;
	converse(&s);
	assert_non_null(strstr(s.got.s, "expected a line of at most"));
	str_done(&s.got);

	/* a reply larger than the socket's buffer arrives whole */
	s = (struct side){.w = *state, .send = "{\"big\":2000000}\n", .n = 16};
	converse(&s);
	assert_true(s.got.n > 2000000);
	assert_int_equal(s.got.s[s.got.n - 1], '\n');
	str_done(&s.got);
}

static void *crowd(void *arg)
{
	struct side *s = arg;
	int fd[CONTROL_CLIENTS_MAX + 1];
	char buf[128] = "";
	for (size_t k = 0; k < rw_countof(fd); k++) {
		fd[k] = dial(s->w->path);
		/* wait until it is served: only then does it hold a place */
		if (k < CONTROL_CLIENTS_MAX && fd[k] >= 0) {
			(void)!send(fd[k], "{\"cmd\":\"a\"}\n", 12, MSG_NOSIGNAL);
			(void)!recv(fd[k], buf, sizeof(buf) - 1, 0);
		}
	}
	/* one more waits, and has its answer when another one leaves */
	memset(buf, 0, sizeof(buf));
	(void)!send(fd[CONTROL_CLIENTS_MAX], "{\"cmd\":\"a\"}\n", 12, MSG_NOSIGNAL);
	if (recv(fd[CONTROL_CLIENTS_MAX], buf, sizeof(buf) - 1, MSG_DONTWAIT) >= 0)
		str_add(&s->got, "answered too early: ");
	close(fd[3]);
	fd[3] = -1;
	(void)!recv(fd[CONTROL_CLIENTS_MAX], buf, sizeof(buf) - 1, 0);
	str_add(&s->got, buf);
	for (size_t k = 0; k < rw_countof(fd); k++) {
		if (fd[k] >= 0)
			close(fd[k]);
	}
	mailbox_post(s->w->done, s);
	return NULL;
}

static void test_crowd(void **state)
{
	struct side s = {.w = *state};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, crowd, &s), 0);
	assert_int_equal(loop_run(s.w->loop), 0);
	pthread_join(thread, NULL);
	assert_non_null(strstr(s.got.s, "\"ok\":true"));
	assert_null(strstr(s.got.s, "too early"));
	str_done(&s.got);
}

static uint64_t hold(void *arg)
{
	const struct world *w = arg;
	return w->writes;
}

static bool ready(void *arg, uint64_t ticket)
{
	struct world *w = arg;
	assert_int_equal(ticket, 1);
	if (w->looks > 0)
		w->looks--;
	return w->looks == 0;
}

/* A reply waits until what it says can be read; the requests behind it wait too, in order. */
static void test_reply_waits_for_commit(void **state)
{
	struct world *w = *state;
	static const char send[] = "{\"cmd\":\"a\"}\n{\"cmd\":\"b\"}\n";
	struct side s = {.w = w, .send = send, .n = strlen(send)};
	control_hold(w->control, hold, ready);
	w->writes = true;
	w->looks = 4;
	converse(&s);
	assert_int_equal(w->looks, 0);
	assert_string_equal(s.got.s,
		"{\"ok\":true,\"echo\":\"a\",\"committed\":true}\n"
		"{\"ok\":true,\"echo\":\"b\",\"committed\":true}\n");
	str_done(&s.got);

	/* a disk that takes nothing: the reply comes all the same, and says so */
	s = (struct side){.w = w, .send = send, .n = 12};
	w->looks = 1000000;
	converse(&s);
	assert_string_equal(s.got.s, "{\"ok\":true,\"echo\":\"a\",\"committed\":false}\n");
	str_done(&s.got);

	/* what only reads is answered at once */
	s = (struct side){.w = w, .send = send, .n = 12};
	w->writes = false;
	converse(&s);
	assert_string_equal(s.got.s, "{\"ok\":true,\"echo\":\"a\"}\n");
	str_done(&s.got);
}

/* A byte now and then is no request: whoever sends so loses the place. */
static void *drip(void *arg)
{
	struct side *s = arg;
	char buf[64];
	const int fd = dial(s->w->path);
	const struct timespec pause = {.tv_nsec = 20000000};
	while (fd >= 0 && send(fd, "{", 1, MSG_NOSIGNAL) == 1) {
		s->n++;
		if (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) == 0)
			break;
		nanosleep(&pause, NULL);
	}
	close(fd);
	mailbox_post(s->w->done, s);
	return NULL;
}

/* Thousands of requests whose replies it does not read: no more of them is answered than fits. */
static void *deaf(void *arg)
{
	struct side *s = arg;
	static const char line[] = "{\"big\":100000}\n";
	const int fd = dial(s->w->path);
	char buf[4096];
	const struct timeval limit = {.tv_sec = 5};
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (int k = 0; k < 100000; k++)
		if (send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(line) - 1)
			break;
	/* what had been answered before the place was lost */
	for (ssize_t n; (n = recv(fd, buf, sizeof(buf), 0)) > 0;)
		s->n += (size_t)n;
	close(fd);
	mailbox_post(s->w->done, s);
	return NULL;
}

/* A line of ten megabytes: refused long before. */
static void *endless(void *arg)
{
	struct side *s = arg;
	const int fd = dial(s->w->path);
	static char bytes[65536];
	memset(bytes, 'x', sizeof(bytes));
	while (s->n < 10u << 20) {
		const ssize_t n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		if (n < 0)
			break;
		s->n += (size_t)n;
	}
	close(fd);
	mailbox_post(s->w->done, s);
	return NULL;
}

static void on_idle_tick(void *arg)
{
	control_tick(((struct world *)arg)->control);
}

static void test_hostile_clients(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *what;
		void *(*run)(void *arg);
		size_t most;
	} rows[] = {
		{"drip", drip, 1000},
		{"deaf", deaf, 64u << 20},
		{"endless", endless, 8u << 20},
	};
	struct loop_timer *tick = loop_timer_new(w->loop, on_idle_tick, w);
	loop_timer_start(tick, NS_PER_S / 20, NS_PER_S / 20);
	control_idle(w->control, NS_PER_S / 2);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct side s = {.w = w};
		pthread_t thread;
		print_message("   row: %s\n", rows[k].what);
		assert_int_equal(pthread_create(&thread, NULL, rows[k].run, &s), 0);
		assert_int_equal(loop_run(w->loop), 0);
		pthread_join(thread, NULL);
		if (s.n >= rows[k].most)
			fail_msg("%s: %zu", rows[k].what, s.n);
		/* others are served */
		struct side other = {.w = w, .send = "{\"cmd\":\"a\"}\n", .n = 12};
		converse(&other);
		assert_string_equal(other.got.s, "{\"ok\":true,\"echo\":\"a\"}\n");
		str_done(&other.got);
	}
	loop_timer_free(tick);
}

static void *call(void *arg)
{
	struct side *s = arg;
	json_t *request = json_pack("{s:s}", "cmd", "hello"), *reply = NULL;
	struct err e = {0};
	if (control_call(s->w->path, request, &reply, &e) == 0)
		str_add(&s->got, json_string_value(json_object_get(reply, "echo")));
	json_decref(request);
	json_decref(reply);
	mailbox_post(s->w->done, s);
	return NULL;
}

static void test_call_and_who(void **state)
{
	struct side s = {.w = *state};
	struct stat st;
	pthread_t thread;
	assert_int_equal(stat(s.w->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(pthread_create(&thread, NULL, call, &s), 0);
	assert_int_equal(loop_run(s.w->loop), 0);
	pthread_join(thread, NULL);
	assert_string_equal(s.got.s, "hello");
	assert_true(strlen(s.w->who) > 0);
	str_done(&s.got);
}

static void test_socket_file(void **state)
{
	struct world *w = *state;
	struct control *second = NULL;
	struct err e = {0};
	char other[100];
	/* someone listens: refused, and the file stays */
	assert_int_equal(control_new(w->loop, w->path, answer, w, &second, &e), -EADDRINUSE);
	assert_int_equal(access(w->path, F_OK), 0);

	/* left over by a killed agent: replaced */
	snprintf(other, sizeof(other), "%s/old", w->dir);
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", other);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	assert_int_equal(control_new(w->loop, other, answer, w, &second, &e), 0);
	control_free(second);
	assert_int_not_equal(access(other, F_OK), 0);

	/* any other file is not ours */
	FILE *f = fopen(other, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(control_new(w->loop, other, answer, w, &second, &e), -EEXIST);
	assert_int_equal(access(other, F_OK), 0);
	unlink(other);

	/* nobody at all */
	json_t *reply = NULL, *request = json_object();
	assert_int_equal(control_call(other, request, &reply, &e), -ENOENT);
	json_decref(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reply_waits_for_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_clients, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_and_who, setup, teardown),
		cmocka_unit_test_setup_teardown(test_socket_file, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
