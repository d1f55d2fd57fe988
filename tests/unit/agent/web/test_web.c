/*
 * The web server's threads against each other: many clients and one document, a document that takes
 * long, readers of a stream that do not read, incidents that come and go. Clients are plain sockets
 * on 127.0.0.1; nothing waits for a fixed time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/client/client.h"
#include "agent/web/http.h"
#include "agent/web/web_documents.h"
#include "agent/web/web_events.h"
#include "agent/web/web_server.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/patience.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)

/* ---- a server with documents that the test holds up ---------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static int let_through; /* so many documents pass the closed gate */
static int asked; /* documents, by all clients */
static int made; /* how often the document was made */
static struct http_ticket *stream;
static bool stream_over;

static int gated_print(const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	pthread_mutex_lock(&lock);
	const int mine = ++made;
	pthread_cond_broadcast(&moved);
	while (!gate_open && mine > let_through)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
	*ret = rw_strdup("the document\n");
	*ret_n = strlen(*ret);
	return 0;
}

static int broken_print(const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	return err_set(e, -EIO, "the disk is on fire");
}

static const struct web_subject gated = {
	.path = "gated", .type = "text/plain", .print = gated_print};
static const struct web_subject broken = {
	.path = "broken", .type = "text/plain", .print = broken_print};

static int quick_print(const struct globals *base, char **ret, size_t *ret_n, struct err *e)
{
	*ret = rw_strdup("quick\n");
	*ret_n = strlen(*ret);
	return 0;
}

static const struct web_subject quick = {
	.path = "quick", .type = "text/plain", .quick = true, .print = quick_print};

/* Documents that differ by their number only; each waits at the gate. */
enum { NUMBERED = 20 };
static struct web_subject numbered[NUMBERED];
static char numbered_paths[NUMBERED][8];

static void numbered_begin(void)
{
	for (size_t i = 0; i < NUMBERED; i++) {
		snprintf(numbered_paths[i], sizeof(numbered_paths[i]), "/n%zu", i);
		numbered[i] = gated;
		numbered[i].path = numbered_paths[i];
	}
}

struct world {
	int fd;
	struct globals globals;
	struct http *http;
	struct web_documents *documents;
};

static enum http_outcome answer(void *arg, struct http_ticket *ticket,
	const struct http_request *request, struct http_reply *ret)
{
	struct world *world = arg;
	for (size_t i = 0; i < NUMBERED; i++) {
		if (!str_eq(request->target, numbered[i].path))
			continue;
		web_documents_ask(world->documents, ticket, &numbered[i], NULL, 0, NULL);
		pthread_mutex_lock(&lock);
		asked++;
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
		return HTTP_WAITS;
	}
	if (str_eq(request->target, "/quick")) {
		web_documents_ask(world->documents, ticket, &quick, NULL, 0, NULL);
		return HTTP_WAITS;
	}
	if (str_eq(request->target, "/gated")) {
		web_documents_ask(
			world->documents, ticket, &gated, NULL, 0, request->if_none_match);
		return HTTP_WAITS;
	}
	if (str_eq(request->target, "/broken")) {
		web_documents_ask(world->documents, ticket, &broken, NULL, 0, NULL);
		return HTTP_WAITS;
	}
	if (str_eq(request->target, "/stream")) {
		pthread_mutex_lock(&lock);
		stream = ticket;
		stream_over = false;
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
		*ret = (struct http_reply){.status = 200, .type = "text/event-stream"};
		return HTTP_STREAMS;
	}
	*ret = (struct http_reply){
		.status = 200, .type = "text/plain", .fixed = "at once\n", .n_fixed = 8};
	return HTTP_ANSWERED;
}

static void stream_ended(void *arg, struct http_ticket *ticket)
{
	pthread_mutex_lock(&lock);
	stream = NULL;
	stream_over = true;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static bool nobody_admitted; /* guarded by the lock */

static bool admits(void *arg, const struct sockaddr *peer)
{
	pthread_mutex_lock(&lock);
	const bool admitted = !nobody_admitted;
	pthread_mutex_unlock(&lock);
	return admitted && peer->sa_family == AF_INET;
}

static int world_begin_with(void **state, int64_t request_ns)
{
	struct world *world = rw_calloc(1, sizeof(*world));
	struct err e = {0};
	const struct http_limits limits = {.connections = 100,
		.request_ns = request_ns,
		.answer_ns = 60 * NS_PER_S,
		.stream_ns = 30 * NS_PER_S,
		.stream_bytes = 1 << 20};
	const struct http_handler handler = {
		.arg = world, .answer = answer, .stream_ended = stream_ended, .admits = admits};
	nobody_admitted = false;
	gate_open = false;
	made = let_through = asked = 0;
	numbered_begin();
	stream = NULL;
	world->fd = web_listen("127.0.0.1", 0, &e);
	world->documents = web_documents_new(&world->globals, "/nonexistent", 2 * NS_PER_S);
	if (world->fd < 0 ||
		http_start(world->fd, NULL, NULL, &limits, &handler, &world->http, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	*state = world;
	return 0;
}

static int world_begin(void **state)
{
	return world_begin_with(state, 30 * NS_PER_S);
}

/* Quiet connections do not end by themselves while the test runs. */
static int world_begin_patient(void **state)
{
	return world_begin_with(state, 3600 * NS_PER_S);
}

static int world_begin_hasty(void **state)
{
	return world_begin_with(state, 100 * NS_PER_MS);
}

static void open_gate(void)
{
	pthread_mutex_lock(&lock);
	gate_open = true;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static int world_end(void **state)
{
	struct world *world = *state;
	open_gate();
	http_refuse(world->http);
	web_documents_refuse(world->documents);
	http_stop(world->http);
	assert_true(web_documents_free(world->documents));
	close(world->fd);
	free(world);
	return 0;
}

/* ---- clients ------------------------------------------------------------- */

static int reader_connect_from(const struct world *world, uint32_t address)
{
	const struct sockaddr_in where = {.sin_family = AF_INET,
		.sin_port = htons(web_listen_port(world->fd)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&where, sizeof(where)), 0);
	return fd;
}

static int reader_connect(const struct world *world)
{
	return reader_connect_from(world, INADDR_LOOPBACK);
}

static int reader_ask_from(
	const struct world *world, uint32_t address, const char *path, const char *more)
{
	rw_cleanup(str_done) struct str text = {0};
	const int fd = reader_connect_from(world, address);
	str_addf(&text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, more);
	assert_int_equal(send(fd, text.s, text.n, 0), (ssize_t)text.n);
	return fd;
}

static int reader_ask(const struct world *world, const char *path, const char *more)
{
	return reader_ask_from(world, INADDR_LOOPBACK, path, more);
}

/* Reads until @end stands in what came; fails when it does not come in time. */
static void reader_expect(int fd, const char *end)
{
	char got[4096] = "";
	size_t n = 0;
	const mono_t begin = mono_now();
	while (!strstr(got, end)) {
		struct pollfd in = {.fd = fd, .events = POLLIN};
		if (mono_now().ns - begin.ns > DEADLINE_NS)
			fail_msg("'%s' did not come; '%s' did", end, got);
		if (poll(&in, 1, 100) <= 0)
			continue;
		const ssize_t part = recv(fd, got + n, sizeof(got) - 1 - n, 0);
		if (part <= 0)
			fail_msg("'%s' did not come before the end; '%s' did", end, got);
		n += (size_t)part;
		got[n] = '\0';
	}
}

static void wait_for_count(const int *count, int times)
{
	pthread_mutex_lock(&lock);
	while (*count < times)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

static void wait_made(int times)
{
	wait_for_count(&made, times);
}

static void let_pass(int documents)
{
	pthread_mutex_lock(&lock);
	let_through = documents;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

/* The end of the connection, without a byte before it. */
static void reader_expect_end(int fd)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	char byte;
	if (poll(&in, 1, (int)(patience_ns(NS_PER_S) / NS_PER_MS)) != 1)
		fail_msg("the connection stays open");
	if (recv(fd, &byte, 1, 0) > 0)
		fail_msg("it is answered");
	close(fd);
}

/* Who may not connect gets no answer at all. */
static void test_not_admitted(void **state)
{
	const struct world *world = *state;
	pthread_mutex_lock(&lock);
	nobody_admitted = true;
	pthread_mutex_unlock(&lock);
	const int fd = reader_connect(world);
	send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
	reader_expect_end(fd);
	pthread_mutex_lock(&lock);
	nobody_admitted = false;
	pthread_mutex_unlock(&lock);
	const int other = reader_ask(world, "/", "");
	reader_expect(other, "at once\n");
	close(other);
}

/* More connections than the limit that ask nothing: the oldest make room for who asks. */
static void test_crowd(void **state)
{
	const struct world *world = *state;
	int fds[150];
	for (size_t i = 0; i < rw_countof(fds); i++)
		fds[i] = reader_connect(world);
	reader_expect_end(fds[0]);
	const int fd = reader_ask(world, "/", "");
	reader_expect(fd, "at once\n");
	close(fd);
	for (size_t i = 1; i < rw_countof(fds); i++)
		close(fds[i]);
}

/* Who sends a byte now and then keeps no place: a whole request has to come in time. */
static void test_dribble(void **state)
{
	const struct world *world = *state;
	const int fd = reader_ask(world, "/", "X-Never: ");
	const mono_t begin = mono_now();
	struct pollfd in = {.fd = fd, .events = POLLIN};
	do {
		send(fd, "x", 1, MSG_NOSIGNAL);
		http_sweep(world->http);
		if (mono_now().ns - begin.ns > patience_ns(NS_PER_S))
			fail_msg("a request that never ends keeps its connection");
	} while (poll(&in, 1, 10) == 0);
	char byte;
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

/* Many ask, it is made once; while it takes long, everything else is answered. */
static void test_one_document(void **state)
{
	const struct world *world = *state;
	int fds[40];
	for (size_t i = 0; i < rw_countof(fds); i++)
		fds[i] = reader_ask(world, "/gated", "");
	wait_made(1);
	const int other = reader_ask(world, "/", "");
	reader_expect(other, "at once\n");
	close(other);
	open_gate();
	for (size_t i = 0; i < rw_countof(fds); i++) {
		reader_expect(fds[i], "the document\n");
		close(fds[i]);
	}
	assert_int_equal(made, 1);
	/* Young: given again as it is; and 304 for who has it. */
	const int again = reader_ask(world, "/gated", "If-None-Match: *\r\n");
	reader_expect(again, " 304 ");
	close(again);
}

/* It does not come in time: 503, and the next one does not wait for ever either. */
static void test_too_late(void **state)
{
	const struct world *world = *state;
	const int fd = reader_ask(world, "/gated", "");
	wait_made(1);
	const mono_t begin = mono_now();
	while (mono_now().ns - begin.ns < DEADLINE_NS) {
		struct pollfd in = {.fd = fd, .events = POLLIN};
		web_documents_sweep(world->documents);
		if (poll(&in, 1, 50) > 0)
			break;
	}
	reader_expect(fd, "was not ready within 2 s");
	close(fd);
	/* Who goes away while it is made harms nobody. */
	close(reader_ask(world, "/gated", ""));
	open_gate();
	const int after = reader_ask(world, "/gated", "");
	reader_expect(after, "the document\n");
	close(after);
}

/* What is quick is answered while a query takes long. */
static void test_quick_passes(void **state)
{
	const struct world *world = *state;
	const int slow = reader_ask(world, "/gated", "");
	wait_made(1);
	const int fd = reader_ask(world, "/quick", "");
	reader_expect(fd, "quick\n");
	close(fd);
	close(slow);
}

/* One client asks for eight documents, another one afterwards for one: it is the second to be
 * served. */
static void test_clients_take_turns(void **state)
{
	const struct world *world = *state;
	int greedy[8];
	for (size_t i = 0; i < rw_countof(greedy); i++)
		greedy[i] = reader_ask(world, numbered_paths[i], "");
	wait_for_count(&asked, 8);
	wait_made(1);
	const int modest = reader_ask_from(world, INADDR_LOOPBACK + 1, "/n19", "");
	wait_for_count(&asked, 9);
	let_pass(2);
	reader_expect(modest, "the document\n");
	wait_made(3);
	open_gate();
	for (size_t i = 0; i < rw_countof(greedy); i++) {
		reader_expect(greedy[i], "the document\n");
		close(greedy[i]);
	}
	close(modest);
}

/* A document whose only reader has hung up is not made. */
static void test_hung_up(void **state)
{
	const struct world *world = *state;
	const int first = reader_ask(world, "/n0", "");
	wait_made(1);
	const int gone = reader_ask(world, "/n1", "");
	const int last = reader_ask(world, "/n2", "");
	wait_for_count(&asked, 3);
	close(gone);
	open_gate();
	reader_expect(first, "the document\n");
	reader_expect(last, "the document\n");
	assert_int_equal(made, 2);
	close(first);
	close(last);
}

/* No client fills the places of all: 16 of its documents wait, the next one is refused. */
static void test_client_limit(void **state)
{
	const struct world *world = *state;
	int fds[18];
	for (size_t i = 0; i < rw_countof(fds); i++) {
		fds[i] = reader_ask(world, numbered_paths[i], "");
		wait_for_count(&asked, (int)i + 1);
		if (i == 0)
			wait_made(1);
	}
	reader_expect(fds[17], "this client waits for many different documents");
	const int other = reader_ask_from(world, INADDR_LOOPBACK + 1, "/n18", "");
	wait_for_count(&asked, 19);
	let_pass(2);
	reader_expect(other, "the document\n");
	close(other);
	for (size_t i = 0; i < rw_countof(fds); i++)
		close(fds[i]);
}

static void test_failure(void **state)
{
	const struct world *world = *state;
	const int fd = reader_ask(world, "/broken", "");
	reader_expect(fd, "the disk is on fire");
	close(fd);
}

static void wait_stream(bool over)
{
	pthread_mutex_lock(&lock);
	while (over ? !stream_over : !stream)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

/* A reader who takes nothing is disconnected when it is 1 MiB behind; others are not. */
static void test_slow_reader(void **state)
{
	const struct world *world = *state;
	const int one_at_a_time = reader_ask(world, "/stream", "");
	wait_stream(false);
	struct http_ticket *ticket = stream;
	rw_cleanup(blob_putp) struct blob *small = blob_new("data: hello\n\n", 13);
	http_stream_put(ticket, small);
	reader_expect(one_at_a_time, "data: hello\n\n");
	http_stream_end(ticket);
	reader_expect(one_at_a_time, "0\r\n\r\n"); /* the last chunk */
	wait_stream(true);
	close(one_at_a_time);

	const int fd = reader_ask(world, "/stream", "");
	wait_stream(false);
	char *bytes = rw_calloc(1, 100000);
	memset(bytes, 'x', 100000);
	rw_cleanup(blob_putp) struct blob *big = blob_new(bytes, 100000);
	free(bytes);
	/* The kernel's buffers take some MB; then the queue fills. Under the lock: the stream may
	 * end between two. */
	bool over = false;
	for (int i = 0; i < 2000 && !over; i++) {
		pthread_mutex_lock(&lock);
		over = !stream || http_stream_put(stream, big) < 0;
		pthread_mutex_unlock(&lock);
	}
	assert_true(over);
	wait_stream(true);
	close(fd);
	const int other = reader_ask(world, "/", "");
	reader_expect(other, "at once\n");
	close(other);
}

/* Stopping while clients wait and streams are open. */
static void test_stop(void **state)
{
	const struct world *world = *state;
	reader_ask(world, "/stream", ""); /* closed by the end of the process */
	wait_stream(false);
	const int fd = reader_ask(world, "/gated", "");
	wait_made(1);
	http_refuse(world->http);
	http_stream_end(stream);
	web_documents_refuse(world->documents);
	reader_expect(fd, "the server is stopping");
	close(fd);
}

/* ---- what happened to incidents ------------------------------------------ */

static json_t *frame_of(const char *text)
{
	json_t *frame = json_loads(text, 0, NULL);
	assert_non_null(frame);
	return frame;
}

static void test_incidents(void **state)
{
	static const struct {
		const char *what, *before, *after, *expected;
	} rows[] = {
		{"nothing", "{\"incidents\": []}", "{\"incidents\": []}", NULL},
		{"the first frame tells nothing", NULL, "{\"incidents\": [{\"id\": \"a\"}]}", NULL},
		{"age and money go on",
			"{\"incidents\": [{\"id\": \"a\", \"age_s\": 1, \"state\": \"open\"}]}",
			"{\"incidents\": [{\"id\": \"a\", \"age_s\": 2, \"state\": \"open\"}]}",
			NULL},
		{"opened", "{\"incidents\": []}", "{\"incidents\": [{\"id\": \"a\"}]}",
			"event: incident\ndata: "
			"{\"change\":\"opened\",\"incident\":{\"id\":\"a\"}}\n\n"},
		{"closed", "{\"incidents\": [{\"id\": \"a\"}]}", "{}",
			"event: incident\ndata: "
			"{\"change\":\"closed\",\"incident\":{\"id\":\"a\"}}\n\n"},
		{"worse", "{\"incidents\": [{\"id\": \"a\", \"severity\": \"warning\"}]}",
			"{\"incidents\": [{\"id\": \"a\", \"severity\": \"critical\"}]}",
			"event: incident\ndata: {\"change\":\"changed\",\"incident\":{\"id\":\"a\","
			"\"severity\":\"critical\"}}\n\n"},
		{"one of two",
			"{\"incidents\": [{\"id\": \"a\"}, {\"id\": \"b\", \"acked_by\": null}]}",
			"{\"incidents\": [{\"id\": \"b\", \"acked_by\": \"noc\"}, {\"id\": "
			"\"a\"}]}",
			"event: incident\ndata: {\"change\":\"changed\",\"incident\":{\"id\":\"b\","
			"\"acked_by\":\"noc\"}}\n\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str out = {0};
		json_t *before = NULL, *after = frame_of(rows[i].after);
		if (rows[i].before)
			before = frame_of(rows[i].before);
		web_events_incidents(&out, before, after);
		if (!str_eq(out.s, rows[i].expected))
			fail_msg("%s: %s", rows[i].what, str_or(out.s, "nothing"));
		json_decref(before);
		json_decref(after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_document, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_too_late, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_quick_passes, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_clients_take_turns, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_hung_up, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_client_limit, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_failure, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_slow_reader, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_stop, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_not_admitted, world_begin, world_end),
		cmocka_unit_test_setup_teardown(test_crowd, world_begin_patient, world_end),
		cmocka_unit_test_setup_teardown(test_dribble, world_begin_hasty, world_end),
		cmocka_unit_test(test_incidents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
