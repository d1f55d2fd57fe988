/* step_seen and burst_seen: what a port's own past says of steps and of bursts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyzers/measure/rhythm.h"
#include "tests/unit/window_world.h"

#define RATE 10e9 /* octets a second of a busy port */

static const char yaml[] = "fabric: seen\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e1\", b: \"host:h1\", speed: 400G }\n"
			   "  - { a: \"leaf1:e2\", b: \"host:h2\", speed: 400G }\n"
			   "  - { a: \"leaf1:e3\", b: \"host:h3\", speed: 400G }\n";

/* Octets a second of the port e@port in the second that ends at @t_s. */
typedef double port_story(int port, int t_s);

struct past {
	struct window_world made;
	struct window past, window;
	struct analyzer_in in;
};

/* Polled every @every_s up to @end_s; the window is three polls, at least 5 s. */
static const struct port_seen *past_of(struct past *past, port_story *story, int every_s, int end_s)
{
	static const uint16_t metrics[] = {M_PORT_OUT_OCTETS};
	const int length_s = every_s < 2 ? 5 : 3 * every_s;
	window_world_init(&past->made, yaml);
	for (int port = 1; port <= 3; port++) {
		char name[8];
		snprintf(name, sizeof(name), "e%d", port);
		const struct made_sample made = {"leaf1", name, PRIO_NONE, M_PORT_OUT_OCTETS, 0, 0};
		double octets = 1e12 * port;
		for (int t = 0; t <= end_s; t++) {
			if (t)
				octets += story(port, t);
			if (t % every_s == 0)
				window_world_add(&past->made, t, made, octets);
		}
	}
	window_world_cut(
		&past->made, metrics, 1, end_s - 600, end_s, past->made.arena, &past->past);
	window_world_cut(
		&past->made, metrics, 1, end_s - length_s, end_s, past->made.arena, &past->window);
	past->in = (struct analyzer_in){.fabric = past->made.config->fabric,
		.window = &past->window,
		.past = &past->past,
		.interval_ns = every_s * NS_PER_S,
		.arena = past->made.arena};
	return &observe(&past->in)->ports[0];
}

/* ---- steps --------------------------------------------------------------- */

static double story_steady(int port, int t_s)
{
	(void)port;
	return RATE * (t_s % 2 ? 1.05 : 0.95);
}

static double story_steps(int port, int t_s) /* of 20 s, busy for 5 of them */
{
	(void)port;
	return t_s % 20 < 5 ? RATE : 0;
}

static double story_saves(int port, int t_s) /* idle for 5 s every two minutes */
{
	(void)port;
	return t_s % 120 < 5 ? 0 : RATE;
}

static double story_began(int port, int t_s) /* the job began a minute ago */
{
	(void)port;
	return t_s < 240 ? 0 : RATE;
}

static void test_steps(void **state)
{
	static const struct {
		const char *what;
		port_story *story;
		int every_s, end_s;
		double least_s, most_s; /* of the step; 0 and 0: not known */
		int watch_s;
	} rows[] = {
		{"steady at 1 s: shorter than a slice", story_steady, 1, 300, 0.01, 1, 10},
		{"steady at 10 s", story_steady, 10, 300, 0, 1, 10},
		{"steps of 20 s", story_steps, 1, 300, 19.5, 20.5, 60},
		{"two steps are not enough to know", story_steps, 1, 38, 0, 0, 30},
		{"half a minute is needed", story_steady, 1, 25, 0, 0, 30},
		{"a job that saves has no steps of two minutes", story_saves, 1, 600, 0, 1, 10},
		{"one that began has none that is known", story_began, 1, 300, 0, 0, 30},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct past past;
		const struct port_seen *port =
			past_of(&past, rows[i].story, rows[i].every_s, rows[i].end_s);
		const int64_t step_ns = step_seen(&past.in, port, past.past.to_ns);
		const double step_s = (double)step_ns / 1e9;
		const double watch_s = (double)step_watch_ns(&past.in, step_ns) / 1e9;
		const bool unknown = rows[i].most_s == 0;
		if (unknown != (step_ns == 0) || step_s < rows[i].least_s ||
			step_s > rows[i].most_s || fabs(watch_s - rows[i].watch_s) > 2)
			fail_msg("%s: %.3f s, watched for %.3f s", rows[i].what, step_s, watch_s);
		window_world_done(&past.made);
	}
	/* without a past nothing is known */
	const struct port_seen nobody = {.entity = 1};
	const struct analyzer_in in = {.interval_ns = NS_PER_S};
	assert_int_equal(step_seen(&in, &nobody, 0), 0);
}

/* ---- bursts -------------------------------------------------------------- */

#define END_S 400

static double story_checkpoint(int port, int t_s) /* 6 s each 120 s, to the first host alone */
{
	if (t_s % 120 < 40 || t_s % 120 >= 46)
		return RATE;
	return port == 1 ? 3 * RATE : 0;
}

static double story_slow_checkpoint(int port, int t_s) /* the first one, of 40 s, goes on */
{
	if (t_s < END_S - 30)
		return RATE;
	return port == 1 ? 3 * RATE : 0;
}

static double story_slow_storage(int port, int t_s) /* takes less than the exchange brings */
{
	if (t_s % 120 < 40 || t_s % 120 >= 70)
		return RATE;
	return port == 1 ? 0.6 * RATE : 0;
}

static double story_silence(int port, int t_s) /* nothing for all others, for two minutes */
{
	return port == 1 || t_s <= END_S - 120 ? RATE : 0;
}

static double story_incast(int port, int t_s) /* begun 35 s ago; the exchange goes on */
{
	if (t_s <= END_S - 35)
		return RATE;
	return port == 1 ? 1.8 * RATE : 0.5 * RATE;
}

/* Steps of 0.7 s, 0.4 before it: a poll of 1 s holds one or two, two or three. */
static double story_incast_in_steps(int port, int t_s)
{
	const bool on = t_s > END_S - 12;
	const double step_s = on ? 0.7 : 0.4;
	const double steps = floor(t_s / step_s) - floor((t_s - 1) / step_s);
	if (on)
		return steps * (port == 1 ? 1.4 : 0.4) * RATE;
	return steps * 0.4 * RATE;
}

static double story_always(int port, int t_s)
{
	(void)t_s;
	return port == 1 ? 3 * RATE : RATE;
}

static double story_incast_after_saving(int port, int t_s)
{
	if (t_s > END_S - 35)
		return story_incast(port, t_s);
	return story_checkpoint(port, t_s);
}

static void test_bursts(void **state)
{
	static const struct {
		const char *what;
		port_story *story;
		int every_s, end_s;
		bool burst;
	} rows[] = {
		{"a checkpoint under way, at 1 s", story_checkpoint, 1, 405, true},
		{"... at 10 s", story_checkpoint, 10, 410, true},
		{"... just over", story_checkpoint, 10, 420, true},
		{"... at 30 s: diluted, in two polls", story_checkpoint, 30, 420, true},
		{"... long over: what is there now is none", story_checkpoint, 10, 470, false},
		{"a first one of 30 s so far: nobody else is sent anything", story_slow_checkpoint,
			1, END_S, true},
		{"storage that is slow, at 1 s", story_slow_storage, 1, 415, true},
		{"... at 10 s", story_slow_storage, 10, 420, true},
		{"... just over", story_slow_storage, 10, 440, true},
		{"... long over", story_slow_storage, 10, 470, false},
		{"one that goes on while others have nothing", story_silence, 10, END_S, false},
		{"an incast, at 1 s", story_incast, 1, END_S, false},
		{"... at 10 s", story_incast, 10, END_S, false},
		{"... 12 s old, of steps that are about as long as a poll", story_incast_in_steps,
			1, END_S, false},
		{"... beside earlier checkpoints", story_incast_after_saving, 1, END_S, false},
		{"one that was always there", story_always, 10, END_S, false},
		{"just begun: not yet told from a checkpoint", story_incast, 10, END_S - 30, true},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct past past;
		const struct port_seen *port =
			past_of(&past, rows[i].story, rows[i].every_s, rows[i].end_s);
		if (burst_seen(&past.in, port) != rows[i].burst)
			fail_msg("%s: %s", rows[i].what, rows[i].burst ? "no burst" : "a burst");
		window_world_done(&past.made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_bursts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
