/* test_parser_monitor - the process that reads packets, played by this program: it crashes, exits,
 * lies, sends without end, does not answer, does not listen. The agent's loop goes on, the target
 * says why it is down, and a new process is started. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "agent/jail/parser_intake.h"
#include "agent/jail/parser_monitor.h"
#include "agent/jail/parser_wire.h"
#include "config/config.h"
#include "tests/patience.h"

#define DEADLINE_NS patience_ns(90 * NS_PER_S)

/* ---- the parser that is played: by the name of its capture ------------------- */

static struct parser_out played;

static void play_send(void)
{
	if (send(STDIN_FILENO, played.b, played.n, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void play_target(enum target_state state)
{
	parser_out_begin(&played, PARSER_TARGET);
	parser_put_u8(&played, (uint8_t)state);
	parser_put_text(&played, "");
	for (int i = 0; i < 3; i++)
		parser_put_u64(&played, 0);
	parser_put_f64(&played, 0);
	parser_put_u64(&played, 0);
	play_send();
}

static void play_rows(size_t n)
{
	const int64_t now_ns = wall_now().ns;
	const struct flow_sample row = {
		.from_ns = now_ns - NS_PER_S, .to_ns = now_ns, .total = true};
	parser_out_begin(&played, PARSER_FLOWS);
	for (size_t i = 0; i < n; i++)
		parser_put_flow(&played, &row);
	play_send();
}

static void play_figure(double value)
{
	parser_out_begin(&played, PARSER_FIGURES);
	parser_put_text(&played, "frames");
	parser_put_f64(&played, value);
	play_send();
}

static uint8_t play_receive(void)
{
	uint8_t data[PARSER_MESSAGE_MAX];
	if (recv(STDIN_FILENO, data, sizeof(data), 0) <= 0)
		_exit(1);
	return data[0];
}

static void play_until_stop(void)
{
	while (play_receive() != PARSER_STOP)
		continue;
}

static int play(void)
{
	uint8_t data[PARSER_MESSAGE_MAX];
	char text[PARSER_TEXT_MAX], name[PARSER_TEXT_MAX];
	const ssize_t n = recv(STDIN_FILENO, data, sizeof(data), 0);
	if (n <= 0)
		return 1;
	struct bytes in = bytes_of(data, (size_t)n);
	if (bytes_u8(&in) != PARSER_SETTINGS)
		return 1;
	parser_get_text(&in, text);
	parser_get_text(&in, name);
	play_target(TARGET_UP);
	play_figure(5);
	if (str_eq(name, "crash")) {
		raise(SIGABRT);
	} else if (str_eq(name, "exit")) {
		return 3;
	} else if (str_eq(name, "lie")) {
		parser_out_begin(&played, PARSER_STOP);
		play_send();
		pause();
	} else if (str_eq(name, "flood")) {
		for (;;)
			play_rows(200);
	} else if (str_eq(name, "mute")) {
		pause();
	} else if (str_eq(name, "lost")) {
		play_until_stop();
		pause();
	}
	play_until_stop(); /* "good" */
	play_rows(3);
	parser_out_begin(&played, PARSER_BYE);
	play_send();
	return 0;
}

/* ---- the agent's side -------------------------------------------------------- */

struct world {
	struct loop *loop;
	struct loop_timer *timer;
	struct entities *entities;
	void *instance;
	struct config config;
	struct config_capture capture;
	enum target_state state;
	char reason[REASON_TEXT_MAX], event[REASON_TEXT_MAX];
	unsigned ups, events;
	size_t rows;
	uint64_t turns; /* of a timer that must not be held up */
	bool (*until)(struct world *w);
	int64_t deadline_ns;
};

static const struct collector row = {.name = "pcap", .own_process = true};

static void on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	((struct world *)arg)->rows += n;
}

static void on_target(void *arg, const struct target *target)
{
	struct world *w = arg;
	w->ups += target->state == TARGET_UP && w->state != TARGET_UP;
	w->state = target->state;
	if (*target->reason)
		snprintf(w->reason, sizeof(w->reason), "%s", target->reason);
}

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct world *w = arg;
	assert_string_equal(kind, "parser_down");
	w->events++;
	snprintf(w->event, sizeof(w->event), "%s", text);
}

static void on_timer(void *arg)
{
	struct world *w = arg;
	w->turns++;
	if (w->until(w) || mono_now().ns > w->deadline_ns)
		loop_stop(w->loop);
}

static void run_until(struct world *w, bool (*until)(struct world *w))
{
	w->until = until;
	w->deadline_ns = mono_now().ns + DEADLINE_NS;
	loop_timer_start(w->timer, 5 * NS_PER_MS, 5 * NS_PER_MS);
	loop_run(w->loop);
	loop_timer_stop(w->timer);
	if (!until(w))
		fail_msg("not in time: state %s, up %u times, %zu rows: %s",
			target_state_name(w->state), w->ups, w->rows, w->reason);
}

static void begin(struct world *w, const char *name)
{
	const struct sink sink = {
		.arg = w, .flows = on_flows, .target = on_target, .event = on_event};
	struct err e = {0};
	w->capture =
		(struct config_capture){.name = name, .interface = "lo", .interval_ns = NS_PER_S};
	const struct collector_env env = {.loop = w->loop,
		.entities = w->entities,
		.config = &w->config,
		.sink = &sink,
		.row = &row};
	assert_int_equal(parser_monitor_collector.open(&env, &w->capture, &w->instance, &e), 0);
}

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	w->entities = entities_new();
	log_set_level(LOG_ERROR_ + 1);
	*state = w;
	const int rc = loop_new(&w->loop);
	w->timer = loop_timer_new(w->loop, on_timer, w);
	return rc;
}

static int teardown(void **state)
{
	struct world *w = *state;
	if (w->instance)
		parser_monitor_collector.close(w->instance);
	loop_timer_free(w->timer);
	loop_free(w->loop);
	entities_free(w->entities);
	free(w);
	return 0;
}

static void close_it(struct world *w)
{
	parser_monitor_collector.close(w->instance);
	w->instance = NULL;
}

static bool is_up(struct world *w)
{
	return w->state == TARGET_UP;
}

static bool is_up_again(struct world *w)
{
	return w->ups >= 2;
}

static bool has_crashed_often(struct world *w)
{
	return strstr(w->reason, "3 times in a row") != NULL;
}

static bool is_down(struct world *w)
{
	return w->state == TARGET_BACKOFF;
}

static void put_figure(void *arg, const char *key, const char *unit, double value)
{
	if (str_eq(key, "frames"))
		*(double *)arg = value;
}

static double frames(const struct world *w)
{
	double value = -1;
	parser_monitor_collector.figures(w->instance, put_figure, &value);
	return value;
}

static void test_crash(void **state)
{
	struct world *w = *state;
	begin(w, "crash");
	run_until(w, is_up_again);
	assert_non_null(strstr(w->event, "was ended by SIGABRT"));
	assert_true(frames(w) >= 5); /* what the one before had counted is kept */
	run_until(w, has_crashed_often);
	assert_true(w->events >= 3);
	assert_int_equal(w->rows, 0); /* nothing is said of the lost intervals, not even 0 */
}

static void test_exit(void **state)
{
	struct world *w = *state;
	begin(w, "exit");
	run_until(w, is_down);
	assert_non_null(strstr(w->reason, "ended with code 3"));
	run_until(w, is_up_again);
}

static void test_lie(void **state)
{
	struct world *w = *state;
	begin(w, "lie");
	run_until(w, is_down);
	assert_non_null(strstr(w->reason, "sent a message of no known kind and was ended"));
	assert_int_equal(w->events, 1);
	run_until(w, is_up_again);
}

static bool has_many_rows(struct world *w)
{
	return w->rows > INTAKE_ROWS_PORT * (INTAKE_BURST_PORT + 1); /* over two seconds */
}

/* While one sends as fast as it can, the loop turns for everybody else. */
static void test_flood(void **state)
{
	struct world *w = *state;
	begin(w, "flood");
	run_until(w, is_up);
	const uint64_t before = w->turns;
	run_until(w, has_many_rows);
	assert_true(w->turns - before >= 20); /* of 200 a second */
	const int64_t stop_ns = mono_now().ns;
	close_it(w);
	/* it never says good bye */
	assert_true(mono_now().ns - stop_ns < 30 * NS_PER_S);
}

static void test_mute(void **state)
{
	struct world *w = *state;
	parser_monitor_patience(2);
	begin(w, "mute");
	run_until(w, is_up);
	run_until(w, is_down);
	assert_non_null(strstr(w->reason, "did not answer for 2 s"));
	run_until(w, is_up_again);
	parser_monitor_patience(PARSER_SILENT_S);
}

static void test_killed_from_outside(void **state)
{
	struct world *w = *state;
	begin(w, "good");
	run_until(w, is_up);
	assert_true(parser_monitor_pid(w->instance) > 0);
	kill(parser_monitor_pid(w->instance), SIGKILL);
	run_until(w, is_down);
	assert_non_null(strstr(w->reason, "was ended by SIGKILL"));
	run_until(w, is_up_again);
}

static void test_hands_over(void **state)
{
	struct world *w = *state;
	begin(w, "good");
	run_until(w, is_up);
	struct config_capture other = w->capture;
	assert_true(parser_monitor_collector.same(w->instance, &other, &w->config));
	other.snaplen = 77;
	assert_false(parser_monitor_collector.same(w->instance, &other, &w->config));
	close_it(w);
	assert_int_equal(w->rows, 3); /* of the interval under way */
	assert_int_equal(w->events, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && str_eq(argv[1], "parser"))
		return play();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_crash, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lie, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mute, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_from_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hands_over, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
