/* test_parser_intake - what a parser writes comes back as it was; what a hostile one writes comes
 * to nothing: cut short, out of range, about others, too much, in the future, with control
 * characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "agent/jail/parser_intake.h"
#include "db/model/metric.h"
#include "tests/unit/flow_same.h"

#define NOW_NS (1000 * NS_PER_S)

struct world {
	struct entities *entities;
	struct parser_intake *intake;
	int64_t now_ns;
	struct parser_out out;
	struct flow_sample rows[256];
	size_t n_rows;
	struct sample samples[16];
	size_t n_samples;
	unsigned n_events;
	char event[256], event_device[64];
};

static void on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	struct world *w = arg;
	for (size_t i = 0; i < n; i++, w->n_rows++)
		if (w->n_rows < rw_countof(w->rows))
			w->rows[w->n_rows] = flows[i];
}

static void on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct world *w = arg;
	for (size_t i = 0; i < n; i++, w->n_samples++)
		if (w->n_samples < rw_countof(w->samples))
			w->samples[w->n_samples] = samples[i];
}

static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct world *w = arg;
	w->n_events++;
	snprintf(w->event, sizeof(w->event), "%s", text);
	snprintf(w->event_device, sizeof(w->event_device), "%s", str_or(device, "-"));
}

/* Device 0 is polled over SNMP, device 1 over nothing; port 7 has a name. */
static const char *device_of(void *arg, uint32_t number)
{
	static const char *const names[] = {"leaf1", "leaf2"};
	if (number < rw_countof(names))
		return names[number];
	return NULL;
}

static const char *port_of(void *arg, uint32_t number, uint32_t ifindex)
{
	if (ifindex == 7)
		return "swp7";
	return NULL;
}

static bool counters_of(void *arg, uint32_t number)
{
	return number == 1;
}

static void begin_as(struct world *w, bool one_port, bool pushed)
{
	const struct sink sink = {
		.arg = w, .flows = on_flows, .samples = on_samples, .event = on_event};
	const struct intake_options options = {.name = "mirror",
		.protocol = "pcap",
		.entities = w->entities,
		.sink = &sink,
		.one_port = one_port,
		.pushed = pushed,
		.device = "leaf1",
		.port = "swp1",
		.lookup = {w, device_of, port_of, counters_of},
		.interval_ns = NS_PER_S};
	parser_intake_free(w->intake);
	w->intake = parser_intake_new(&options);
	w->n_rows = w->n_samples = w->n_events = 0;
}

static void begin(struct world *w, bool one_port)
{
	begin_as(w, one_port, false);
}

static void begin_pushed(struct world *w)
{
	begin_as(w, false, true);
}

static int setup(void **state)
{
	struct world *w = rw_calloc(1, sizeof(*w));
	w->entities = entities_new();
	w->now_ns = NOW_NS;
	log_set_level(LOG_ERROR_);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	parser_intake_free(w->intake);
	entities_free(w->entities);
	free(w);
	return 0;
}

static int say(struct world *w, size_t n)
{
	/* exactly so long: a read beyond the end is found */
	rw_cleanup(freep) uint8_t *data = rw_calloc(1, n + !n);
	memcpy(data, w->out.b, n);
	return parser_intake_message(w->intake, data, n, (wall_t){w->now_ns});
}

static int say_all(struct world *w)
{
	return say(w, w->out.n);
}

/* All of its numbers differ. */
static struct flow_sample a_row(bool host)
{
	struct flow_sample row = {.from_ns = NOW_NS - NS_PER_S,
		.to_ns = NOW_NS,
		.entity = 1,
		.sampling = 3,
		.dir = FLOW_DIR_IN,
		.host = host,
		.key = {.family = 6, .src = {1, 2}, .dst = {3, 4}, .src_port = 5, .dst_qp = 6},
		.packets = 10,
		.octets = 11,
		.ce = 12,
		.ect = 13,
		.cnp = 14,
		.nak = 15,
		.retransmits = 16,
		.psn_gaps = 17,
		.data_packets = 18,
		.data_ect = 19,
		.burst_bps = 20,
		.flows = 21,
		.sum_sq_octets = 22,
		.copies = 23,
		.capture_lost = 24,
		.spray_octets = 25,
		.lost = {60, 61, 62, 63, 64, 65},
		.missing = 66,
		.reacts = REACTION_DOES_NOT_SLOW};
	if (!host)
		return row;
	row.reaction = (struct reaction_sum){.cnp = 30,
		.unattributed = 31,
		.left_out = 32,
		.all = {33, 34, 35, 36, 37, 38},
		.alone = {39, 40, 41, 42, 43, 44},
		.clear = 45,
		.pressed = 46,
		.held = 47,
		.held_sq = 48,
		.allowed = 49,
		.peak_bps = 50,
		.spacings = 51,
		.spacing_s = 52};
	row.answer = (struct answer_sum){53, 54, 55, 56, 57};
	return row;
}

static void put_rows(struct world *w, const struct flow_sample *row, size_t n)
{
	parser_out_begin(&w->out, PARSER_FLOWS);
	for (size_t i = 0; i < n; i++)
		parser_put_flow(&w->out, row);
	assert_false(w->out.full);
}

static void test_rows_come_back(void **state)
{
	struct world *w = *state;
	begin(w, true);
	for (int host = 0; host < 2; host++) {
		struct flow_sample row = a_row(host);
		put_rows(w, &row, 2);
		w->n_rows = 0;
		assert_int_equal(say_all(w), PARSER_FLOWS);
		assert_int_equal(w->n_rows, 2);
		/* of our port, whatever the parser calls it */
		row.entity = entities_find(w->entities, "leaf1", "swp1", PRIO_NONE);
		assert_true(row.entity != ENTITY_NONE);
		assert_true(flow_same(&w->rows[1], &row));
	}
}

static void test_cut_short(void **state)
{
	struct world *w = *state;
	const struct flow_sample row = a_row(true);
	put_rows(w, &row, 1);
	for (size_t n = 2; n < w->out.n; n++) {
		begin(w, true);
		assert_int_equal(say(w, n), -EBADMSG);
		assert_int_equal(w->n_rows, 0);
	}
	assert_int_equal(say(w, 0), -EBADMSG);
}

static void test_out_of_range(void **state)
{
	struct world *w = *state;
	struct flow_sample rows[8];
	for (size_t i = 0; i < rw_countof(rows); i++)
		rows[i] = a_row(true);
	rows[0].dir = FLOW_DIR_OUT + 1;
	rows[1].key.family = 5;
	rows[2].key.dst_qp = 1 << 24;
	rows[3].to_ns = rows[3].from_ns;
	rows[4].packets = UINT64_MAX;
	rows[5].sum_sq_octets = -1;
	rows[6].reaction.held = __builtin_nan("");
	rows[7].total = true; /* and a host */
	for (size_t i = 0; i < rw_countof(rows); i++) {
		begin(w, true);
		put_rows(w, &rows[i], 1);
		if (say_all(w) != -EBADMSG || w->n_rows)
			fail_msg("row %zu was taken", i);
		assert_non_null(parser_intake_said(w->intake)->wrong);
	}
	/* a truth value that is neither */
	begin(w, true);
	put_rows(w, &(struct flow_sample){.from_ns = 1, .to_ns = 2}, 1);
	w->out.b[1 + 8 + 8 + 4 + 4 + 1] = 2;
	assert_int_equal(say_all(w), -EBADMSG);
}

static void test_future_and_flood(void **state)
{
	struct world *w = *state;
	struct flow_sample row = a_row(false);
	begin(w, true);
	row.to_ns = NOW_NS + 60 * NS_PER_S;
	put_rows(w, &row, 1);
	assert_int_equal(say_all(w), PARSER_FLOWS);
	assert_int_equal(w->n_rows, 0);
	assert_int_equal(parser_intake_said(w->intake)->refused, 1);

	row.from_ns = 1; /* 1970 */
	row.to_ns = 2;
	put_rows(w, &row, 1);
	w->now_ns = 48 * 3600 * NS_PER_S;
	assert_int_equal(say_all(w), PARSER_FLOWS);
	w->now_ns = NOW_NS;
	assert_int_equal(w->n_rows, 0);
	assert_int_equal(parser_intake_said(w->intake)->refused, 2);

	row.to_ns = NOW_NS;
	put_rows(w, &row, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(say_all(w), PARSER_FLOWS);
	assert_int_equal(w->n_rows, INTAKE_ROWS_PORT * INTAKE_BURST_PORT);
	parser_intake_second(w->intake);
	w->n_rows = 0;
	for (int i = 0; i < 10; i++)
		assert_int_equal(say_all(w), PARSER_FLOWS);
	assert_int_equal(w->n_rows, INTAKE_ROWS_PORT); /* of one interval of a second */
}

static void put_name(struct world *w, uint32_t id, uint8_t who, uint32_t number, uint32_t ifindex)
{
	const uint8_t host[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
	parser_put_u32(&w->out, id);
	parser_put_u8(&w->out, who);
	parser_put_u32(&w->out, number);
	parser_put_bytes(&w->out, host, sizeof(host));
	parser_put_u32(&w->out, ifindex);
}

/* The parser has numbers; which names they stand for is ours to say. */
static void test_names_are_ours(void **state)
{
	struct world *w = *state;
	struct flow_sample row = a_row(false);
	begin(w, false);
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, 1, INTAKE_DEVICE, 1, 7);
	put_name(w, 2, INTAKE_DEVICE, 1, 8);
	put_name(w, 3, INTAKE_DEVICE, 99, 7); /* not of the configuration */
	put_name(w, 4, INTAKE_AGENT, 0, 9);
	assert_int_equal(say_all(w), PARSER_NAMES);
	for (uint32_t id = 0; id < 6; id++) { /* 0 and 5 were never named */
		row.entity = id;
		put_rows(w, &row, 1);
		assert_int_equal(say_all(w), PARSER_FLOWS);
	}
	assert_int_equal(w->n_rows, 3);
	assert_int_equal(parser_intake_said(w->intake)->refused, 3);
	const struct entity *named = entity_get(w->entities, w->rows[0].entity);
	assert_string_equal(named->device, "leaf2");
	assert_string_equal(named->port, "swp7");
	assert_string_equal(entity_get(w->entities, w->rows[1].entity)->port, "ifindex 8");
	assert_string_equal(entity_get(w->entities, w->rows[2].entity)->device, "192.0.2.1");
	/* a number stands for one thing */
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, 1, INTAKE_DEVICE, 0, 7);
	assert_int_equal(say_all(w), -EBADMSG);
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, INTAKE_NAMES + 1, INTAKE_DEVICE, 0, 7);
	assert_int_equal(say_all(w), -EBADMSG);
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, 9, 3, 0, 7);
	assert_int_equal(say_all(w), -EBADMSG);
	/* a capture of one port has no names to give */
	begin(w, true);
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, 1, INTAKE_DEVICE, 1, 7);
	assert_int_equal(say_all(w), -EBADMSG);
}

static int say_sample(struct world *w, uint32_t entity, uint16_t metric, int64_t t_ns)
{
	const struct sample s = {.t_ns = t_ns, .value = 5, .entity = entity, .metric = metric};
	parser_out_begin(&w->out, PARSER_SAMPLES);
	parser_put_sample(&w->out, &s);
	return say_all(w);
}

/* Counters of a device that SNMP asks, of a port without a name, of a metric of nobody. */
static void test_counters(void **state)
{
	struct world *w = *state;
	begin(w, false);
	parser_out_begin(&w->out, PARSER_NAMES);
	put_name(w, 1, INTAKE_DEVICE, 0, 7);
	put_name(w, 2, INTAKE_DEVICE, 1, 7);
	put_name(w, 3, INTAKE_DEVICE, 1, 8);
	put_name(w, 4, INTAKE_AGENT, 0, 8);
	assert_int_equal(say_all(w), PARSER_NAMES);
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(say_sample(w, id, M_PORT_IN_OCTETS, NOW_NS), PARSER_SAMPLES);
	assert_int_equal(w->n_samples, 1);
	assert_string_equal(entity_get(w->entities, w->samples[0].entity)->port, "swp7");
	assert_int_equal(w->samples[0].value, 5);
	assert_int_equal(w->samples[0].source, SOURCE_SFLOW);
	assert_int_equal(parser_intake_said(w->intake)->unmapped_samples, 1);
	assert_int_equal(say_sample(w, 2, M_PORT_IN_OCTETS, 2 * NOW_NS), PARSER_SAMPLES);
	assert_int_equal(w->n_samples, 1);
	assert_int_equal(say_sample(w, 2, METRIC_COUNT, NOW_NS), -EBADMSG);
	begin(w, true);
	assert_int_equal(say_sample(w, 1, M_PORT_IN_OCTETS, NOW_NS), -EBADMSG);
}

static void put_port(struct world *w, uint32_t id, uint32_t device, const char *port, int priority)
{
	parser_put_u32(&w->out, id);
	parser_put_u32(&w->out, device);
	parser_put_text(&w->out, port);
	parser_put_u8(&w->out, (uint8_t)priority);
}

static int say_port(struct world *w, uint32_t id, uint32_t device, const char *port, int priority)
{
	parser_out_begin(&w->out, PARSER_PORT_NAMES);
	put_port(w, id, device, port, priority);
	return say_all(w);
}

/* A receiver of what devices push names ports itself: of devices that push, cleaned, once each. */
static void test_pushed(void **state)
{
	struct world *w = *state;
	char lots[200] = "";
	begin(w, false);
	assert_int_equal(say_port(w, 1, 1, "Ethernet0", 3), -EBADMSG); /* this one has no names */
	begin_pushed(w);
	parser_out_begin(&w->out, PARSER_PORT_NAMES);
	put_port(w, 1, 1, "Ether\x1bnet0", 3);
	put_port(w, 2, 1, "Ethernet0", PRIO_NONE);
	put_port(w, 3, 1, NULL, PRIO_NONE);
	put_port(w, 4, 0, "Ethernet0", PRIO_NONE); /* of a device that pushes nothing */
	put_port(w, 5, 77, "Ethernet0", PRIO_NONE); /* of none */
	assert_int_equal(say_all(w), PARSER_PORT_NAMES);
	assert_int_equal(say_sample(w, 1, M_PFC_RX_FRAMES, NOW_NS), PARSER_SAMPLES);
	assert_int_equal(say_sample(w, 2, M_PORT_IN_OCTETS, NOW_NS), PARSER_SAMPLES);
	assert_int_equal(w->n_samples, 2);
	const struct entity *entity = entity_get(w->entities, w->samples[0].entity);
	assert_null(strchr(entity->port, '\x1b'));
	assert_int_equal(entity->priority, 3);
	assert_int_equal(w->samples[1].source, SOURCE_PUSH);
	/* a counter of a port cannot be of a device; and nobody's ports are refused */
	for (uint32_t id = 3; id <= 6; id++)
		assert_int_equal(say_sample(w, id, M_PORT_IN_OCTETS, NOW_NS), PARSER_SAMPLES);
	assert_int_equal(w->n_samples, 2);
	assert_int_equal(parser_intake_said(w->intake)->refused, 4);
	assert_int_equal(say_port(w, 7, 1, "Ethernet4", 8), -EBADMSG);
	begin_pushed(w);
	assert_int_equal(say_port(w, 7, 1, "", 1), -EBADMSG);
	begin_pushed(w);
	memset(lots, 'x', sizeof(lots) - 1);
	assert_int_equal(say_port(w, 7, 1, lots, 1), -EBADMSG);
	begin_pushed(w);
	assert_int_equal(say_port(w, 7, 1, "Ethernet4", 1), PARSER_PORT_NAMES);
	assert_int_equal(say_port(w, 7, 1, "Ethernet8", 1), -EBADMSG); /* it had a name */
}

static int say_event(struct world *w, const char *kind, const char *text)
{
	parser_out_begin(&w->out, PARSER_EVENT);
	parser_put_u64(&w->out, NOW_NS);
	parser_put_text(&w->out, kind);
	parser_put_u8(&w->out, INTAKE_DEVICE);
	parser_put_u32(&w->out, 0);
	parser_put_bytes(&w->out, (uint8_t[16]){0}, 16);
	parser_put_u32(&w->out, 7);
	parser_put_u8(&w->out, 1);
	parser_put_text(&w->out, text);
	return say_all(w);
}

static void test_texts(void **state)
{
	struct world *w = *state;
	begin(w, false);
	assert_int_equal(say_event(w, "roce_discarded", "a\x1b[2Jb\nc"), PARSER_EVENT);
	assert_string_equal(w->event, "a [2Jb c");
	assert_string_equal(w->event_device, "leaf1");
	assert_int_equal(say_event(w, "incident", "forged"), -EBADMSG);
	assert_int_equal(w->n_events, 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(say_event(w, "capture_drops", "x"), PARSER_EVENT);
	assert_int_equal(w->n_events, INTAKE_EVENTS);

	parser_out_begin(&w->out, PARSER_FIGURES);
	parser_put_text(&w->out, "frames");
	parser_put_f64(&w->out, 7);
	assert_int_equal(say_all(w), PARSER_FIGURES);
	assert_int_equal(parser_intake_said(w->intake)->n_figures, 1);
	parser_out_begin(&w->out, PARSER_FIGURES);
	parser_put_text(&w->out, "../process/rss_bytes");
	parser_put_f64(&w->out, 7);
	assert_int_equal(say_all(w), -EBADMSG);
	parser_out_begin(&w->out, PARSER_FIGURES);
	for (int i = 0; i <= PARSER_FIGURES_MAX; i++) {
		parser_put_text(&w->out, "a");
		parser_put_f64(&w->out, 1);
	}
	assert_int_equal(say_all(w), -EBADMSG);
	parser_out_begin(&w->out, PARSER_STOP); /* a word of ours */
	assert_int_equal(say_all(w), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_range, setup, teardown),
		cmocka_unit_test_setup_teardown(test_future_and_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_are_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pushed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
