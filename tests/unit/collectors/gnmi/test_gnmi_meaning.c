/* What a feed makes of its values: differences of counters, estimates, the stream that is in force,
 * settings of the whole device. Values are handed in one by one; no server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "collectors/gnmi/gnmi_match.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "config/profile/profile.h"
#include "db/model/metric.h"

static const char profile_text[] =
	"name: p\n"
	"doc: a switch with two databases\n"
	"gnmi:\n"
	"  port_prefix: { \"\": \"*GigE\" }\n"
	"  streams:\n"
	"    - name: force\n"
	"      cadence: slow\n"
	"      effective: true\n"
	"      subscribe: [{ path: /f }]\n"
	"      values:\n"
	"        - at: /f/{port}|{group}\n"
	"          leaves:\n"
	"            - { path: xoff, metric: cfg.pg_headroom_bytes }\n"
	"    - name: configured\n"
	"      cadence: slow\n"
	"      subscribe: [{ path: /c }]\n"
	"      values:\n"
	"        - at: /c/{port}|{group}\n"
	"          leaves:\n"
	"            - { path: xoff, metric: cfg.pg_headroom_bytes }\n"
	"        - at: /a/{port}\n"
	"          leaves:\n"
	"            - { path: object, refers: ars }\n"
	"        - at: /o/{name}\n"
	"          leaves:\n"
	"            - { path: mode, of: ars, metric: cfg.lb_mode, words: { p: packet, f: flowlet "
	"} }\n"
	"    - name: counters\n"
	"      subscribe: [{ path: /q }]\n"
	"      values:\n"
	"        - at: /q/{port}|{queue}\n"
	"          leaves:\n"
	"            - { path: dropped, metric: queue.drops }\n"
	"            - { path: \"lane[n=*]/power\", metric: optic.rx_power_dbm, "
	"divide: 100, fold: min }\n"
	"            - { path: trimmed, metric: queue.drops, subtract: true }\n"
	"            - { path: lost, metric: queue.drops, restores: true }\n"
	"            - { path: trimmed, metric: queue.trimmed_packets }\n"
	"            - { path: pause, metric: pfc.rx_pause_ns, unit: us }\n"
	"            - { path: guess, metric: pfc.rx_pause_ns, unit: us, fallback: true, "
	"estimated: true }\n";

enum { FORCE, CONFIGURED, COUNTERS, N_STREAMS };

struct side {
	struct profiles *profiles;
	struct gnmi_compiled_set *compiled;
	struct entities *entities;
	struct gnmi_decoder *decoder;
	struct gnmi_feed *feeds[N_STREAMS];
	struct sample_list out;
	int64_t t_ns;
};

static void side_open(struct side *side)
{
	struct err_list errors = {0};
	struct err e = {0};
	*side = (struct side){.t_ns = INT64_C(1000000000)};
	if (profiles_parse(profile_text, strlen(profile_text), "p.yaml", &side->profiles, &errors) <
		0)
		fail_msg("%s", errors.n ? errors.v[0].text : "?");
	const struct profile *profile = profiles_get(side->profiles, "p");
	side->compiled = gnmi_compiled_set_new();
	side->entities = entities_new();
	side->decoder = gnmi_decoder_new(side->entities, "leaf1", profile, side->compiled, 0);
	for (size_t i = 0; i < N_STREAMS; i++) {
		side->feeds[i] = gnmi_feed_new(side->decoder, profile->gnmi->streams[i], &e);
		assert_non_null(side->feeds[i]);
		gnmi_feed_begin(side->feeds[i]);
	}
}

static void side_close(struct side *side)
{
	for (size_t i = 0; i < N_STREAMS; i++)
		gnmi_feed_free(side->feeds[i]);
	gnmi_decoder_free(side->decoder);
	entities_free(side->entities);
	gnmi_compiled_set_free(side->compiled);
	profiles_free(side->profiles);
	free(side->out.v);
}

static void tell(struct side *side, size_t stream, const char *path, const char *text)
{
	const struct gnmi_update update = {.op = GNMI_UPDATE,
		.path = path,
		.path_n = strlen(path),
		.path_id = GNMI_PATH_NONE,
		.value = {.kind = GNMI_STRING, .p = text, .n = strlen(text)}};
	gnmi_feed_update(side->feeds[stream], &update, side->t_ns, &side->out);
}

/* round_of - all of it has come once; the next one is a second later. */
static void round_of(struct side *side, size_t stream)
{
	gnmi_feed_round(side->feeds[stream], side->t_ns, &side->out);
	side->t_ns += INT64_C(1000000000);
}

/* newest - the last sample of @metric, which is then forgotten with all others; NULL = none. */
static const struct sample *newest(struct side *side, unsigned metric)
{
	static struct sample found;
	bool any = false;
	for (size_t i = 0; i < side->out.n; i++)
		if (side->out.v[i].metric == metric) {
			found = side->out.v[i];
			any = true;
		}
	side->out.n = 0;
	return any ? &found : NULL;
}

static void expect(struct side *side, unsigned metric, uint64_t value, unsigned flags)
{
	const struct sample *have = newest(side, metric);
	assert_non_null(have);
	assert_int_equal(have->value, value);
	assert_int_equal(have->flags, flags);
}

/* Another stream names the port of these numbers, maybe later than its values come. */
static void test_port_named_later(void **state)
{
	struct side side;
	side_open(&side);
	tell(&side, COUNTERS, "/q/7|3/pause", "5");
	round_of(&side, COUNTERS);
	assert_null(newest(&side, M_PFC_RX_PAUSE_NS));
	tell(&side, FORCE, "/f/TenGigE7|3/xoff", "9000");
	round_of(&side, FORCE);
	tell(&side, COUNTERS, "/q/7|3/pause", "6");
	round_of(&side, COUNTERS);
	expect(&side, M_PFC_RX_PAUSE_NS, 6000, 0);
	side_close(&side);
}

/* Its lanes came before it had a name: the first one is no value of the port, all of them are. */
static void test_lanes_named_later(void **state)
{
	struct side side;
	side_open(&side);
	tell(&side, COUNTERS, "/q/7|3/lane[n=1]/power", "-213");
	round_of(&side, COUNTERS);
	tell(&side, FORCE, "/f/TenGigE7|3/xoff", "9000");
	round_of(&side, FORCE);
	for (int period = 0; period < 2; period++) {
		tell(&side, COUNTERS, "/q/7|3/lane[n=1]/power", "-213");
		tell(&side, COUNTERS, "/q/7|3/lane[n=2]/power", "-334");
	}
	for (size_t i = 0; i < side.out.n; i++)
		if (side.out.v[i].metric == M_OPTIC_RX_POWER)
			assert_float_equal(sample_f64(side.out.v[i].value), -3.34, 1e-9);
	assert_non_null(newest(&side, M_OPTIC_RX_POWER));
	side_close(&side);
}

/* ---- trimmed packets are no loss ----------------------------------------- */

static void queue_tell(
	struct side *side, const char *dropped, const char *trimmed, const char *lost)
{
	tell(side, COUNTERS, "/q/e1|3/dropped", dropped);
	tell(side, COUNTERS, "/q/e1|3/trimmed", trimmed);
	if (lost)
		tell(side, COUNTERS, "/q/e1|3/lost", lost);
}

static void test_difference(void **state)
{
	struct side side;
	side_open(&side);
	queue_tell(&side, "950", "900", "30");
	round_of(&side, COUNTERS);
	expect(&side, M_QUEUE_DROPS, 80, 0);
	/* 1. the counters are read one after the other: 3 more were trimmed in between */
	queue_tell(&side, "960", "913", "30");
	expect(&side, M_QUEUE_DROPS, 80, 0);
	side.t_ns += INT64_C(1000000000);
	queue_tell(&side, "965", "914", "31");
	expect(&side, M_QUEUE_DROPS, 82, 0);
	/* 2. cleared: the value goes back, and the readers see that */
	side.t_ns += INT64_C(1000000000);
	queue_tell(&side, "10", "4", "0");
	expect(&side, M_QUEUE_DROPS, 6, 0);
	/* 3. what was trimmed is told for itself */
	side.t_ns += INT64_C(1000000000);
	queue_tell(&side, "10", "5", "0");
	expect(&side, M_QUEUE_TRIMMED_PACKETS, 5, 0);
	side_close(&side);
}

/* A connection that is lost may hide a restart: nothing is held over it. */
static void test_difference_anew(void **state)
{
	struct side side;
	side_open(&side);
	queue_tell(&side, "950", "900", NULL);
	round_of(&side, COUNTERS);
	expect(&side, M_QUEUE_DROPS, 50, 0);
	gnmi_feed_begin(side.feeds[COUNTERS]);
	queue_tell(&side, "7", "5", NULL);
	round_of(&side, COUNTERS);
	expect(&side, M_QUEUE_DROPS, 2, 0);
	side_close(&side);
}

/* More was cut than dropped, or nothing is known of drops: never below 0, never made up. */
static void test_difference_of_less(void **state)
{
	struct side side;
	side_open(&side);
	queue_tell(&side, "0", "9", NULL);
	round_of(&side, COUNTERS);
	expect(&side, M_QUEUE_DROPS, 0, 0);
	tell(&side, COUNTERS, "/q/e2|3/trimmed", "9");
	round_of(&side, COUNTERS);
	assert_null(newest(&side, M_QUEUE_DROPS));
	side_close(&side);
}

/* ---- estimates ----------------------------------------------------------- */

static void test_estimate(void **state)
{
	struct side side;
	side_open(&side);
	/* 1. the device measures: its guess is not used */
	tell(&side, COUNTERS, "/q/e1|4/guess", "400");
	tell(&side, COUNTERS, "/q/e1|4/pause", "250");
	round_of(&side, COUNTERS);
	expect(&side, M_PFC_RX_PAUSE_NS, 250000, 0);
	/* 2. it only guesses */
	tell(&side, COUNTERS, "/q/e1|3/guess", "400");
	expect(&side, M_PFC_RX_PAUSE_NS, 400000, SF_ESTIMATED);
	/* 3. it begins to measure: no difference is taken across the two */
	side.t_ns += INT64_C(1000000000);
	tell(&side, COUNTERS, "/q/e1|3/pause", "9");
	tell(&side, COUNTERS, "/q/e1|3/guess", "500");
	expect(&side, M_PFC_RX_PAUSE_NS, 9000, SF_RESTART);
	side_close(&side);
}

/* ---- what is in force ---------------------------------------------------- */

static void both_tell(struct side *side, const char *force, const char *configured)
{
	gnmi_feed_begin(side->feeds[FORCE]);
	if (force) {
		tell(side, FORCE, "/f/e1|3/xoff", force);
		round_of(side, FORCE);
	}
	gnmi_feed_begin(side->feeds[CONFIGURED]);
	tell(side, CONFIGURED, "/c/e1|3/xoff", configured);
	round_of(side, CONFIGURED);
}

static void test_effective_wins(void **state)
{
	struct side side;
	side_open(&side);
	both_tell(&side, "100", "900");
	expect(&side, M_CFG_PG_HEADROOM, 100, 0);
	both_tell(&side, "101", "900");
	expect(&side, M_CFG_PG_HEADROOM, 101, 0);
	/* another group, of which it says nothing */
	tell(&side, CONFIGURED, "/c/e1|4/xoff", "904");
	expect(&side, M_CFG_PG_HEADROOM, 904, 0);
	side_close(&side);
}

static void test_effective_lapses(void **state)
{
	struct side side;
	side_open(&side);
	both_tell(&side, "100", "900");
	/* 1. a stream that does not answer keeps its word for some rounds */
	side.out.n = 0;
	for (int i = 0; i < 3; i++) {
		both_tell(&side, NULL, "900");
		assert_null(newest(&side, M_CFG_PG_HEADROOM));
	}
	both_tell(&side, NULL, "900");
	expect(&side, M_CFG_PG_HEADROOM, 900, 0);
	/* 2. it answers again */
	both_tell(&side, "102", "900");
	expect(&side, M_CFG_PG_HEADROOM, 102, 0);
	/* 3. it answers, but no longer of this group */
	for (int i = 0; i < 3; i++) {
		gnmi_feed_begin(side.feeds[FORCE]);
		round_of(&side, FORCE);
	}
	both_tell(&side, NULL, "900");
	expect(&side, M_CFG_PG_HEADROOM, 900, 0);
	side_close(&side);
}

/* ---- settings of the whole device ---------------------------------------- */

static void expect_mode(struct side *side, const char *mode)
{
	const struct sample *have = newest(side, M_CFG_LB_MODE);
	assert_non_null(have);
	assert_string_equal(entities_text_get(side->entities, have->value), mode);
	assert_string_equal(entity_get(side->entities, have->entity)->port, "");
}

static void test_device_setting(void **state)
{
	struct side side;
	side_open(&side);
	tell(&side, CONFIGURED, "/o/x/mode", "p");
	tell(&side, CONFIGURED, "/o/y/mode", "f");
	tell(&side, CONFIGURED, "/a/e1/object", "x");
	round_of(&side, CONFIGURED);
	expect_mode(&side, "packet");
	/* as older releases write a reference */
	tell(&side, CONFIGURED, "/a/e2/object", "[ARS_OBJECT|y]");
	round_of(&side, CONFIGURED);
	expect_mode(&side, "mixed");
	/* a word that the profile does not know stays */
	tell(&side, CONFIGURED, "/o/x/mode", "other");
	tell(&side, CONFIGURED, "/a/e2/object", "x");
	round_of(&side, CONFIGURED);
	expect_mode(&side, "other");
	side_close(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_named_later),
		cmocka_unit_test(test_lanes_named_later),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_difference_anew),
		cmocka_unit_test(test_difference_of_less),
		cmocka_unit_test(test_estimate),
		cmocka_unit_test(test_effective_wins),
		cmocka_unit_test(test_effective_lapses),
		cmocka_unit_test(test_device_setting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
