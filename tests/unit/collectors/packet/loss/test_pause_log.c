/* pause_log: pauses by MAC and priority, with bounds where the speed is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collectors/packet/loss/slowdown.h"

#define US 1000
#define G400 400000000000ull

static struct roce_packet pfc(uint8_t mac, unsigned priority, uint16_t quanta)
{
	struct roce_packet packet = {.kind = PACKET_PFC,
		.classes = (uint8_t)(1u << priority),
		.src_mac = {2, 0, 0, 0, 0, mac}};
	packet.time[priority] = quanta;
	return packet;
}

struct made_frame {
	int64_t t_us;
	uint16_t quanta;
};
struct pause_case {
	const char *what;
	uint64_t speed_bps;
	struct made_frame frames[8];
	int64_t end_us;
	int64_t low_ns, high_ns, longest_ns;
	unsigned xoff, xon;
};

/* 65,535 quanta: 83,884.8 ns at 400 Gbit/s, 41,942.4 at 800, 3,355,392 at 10. */
static const struct pause_case pause_cases[] = {
	{"XOFF and XON", G400, {{10, 65535}, {40, 0}}, 1000, 30000, 30000, 30000, 1, 1},
	{"it runs out", G400, {{10, 65535}}, 1000, 83884, 83884, 83884, 1, 0},
	{"refreshed in time", G400, {{10, 65535}, {50, 65535}, {100, 0}}, 1000, 90000, 90000, 90000,
		2, 1},
	{"refreshed too late", G400, {{10, 65535}, {200, 65535}, {210, 0}}, 1000, 93884, 93884,
		83884, 2, 1},
	{"the capture ends first", G400, {{10, 65535}}, 40, 30000, 30000, 30000, 1, 0},
	{"XON alone", G400, {{10, 0}, {20, 0}}, 1000, 0, 0, 0, 0, 2},
	{"speed not known, short", 0, {{10, 65535}, {40, 0}}, 1000, 30000, 30000, 30000, 1, 1},
	{"speed not known, long", 0, {{10, 65535}, {510, 0}}, 1000, 41942, 500000, 500000, 1, 1},
	{"speed not known, no end", 0, {{10, 65535}}, 100000, 41942, 3355392, 41942, 1, 0},
};

static void test_bounds(void **state)
{
	for (size_t i = 0; i < rw_countof(pause_cases); i++) {
		const struct pause_case *one = &pause_cases[i];
		struct pause_log *log = pause_log_new(one->speed_bps);
		for (size_t k = 0; k < rw_countof(one->frames) && one->frames[k].t_us; k++) {
			const struct roce_packet packet = pfc(1, 3, one->frames[k].quanta);
			pause_log_add(log, &packet, one->frames[k].t_us * US);
		}
		size_t n;
		uint64_t refused;
		rw_cleanup(freep) struct pause_row *rows =
			pause_log_rows(log, one->end_us * US, &n, &refused);
		assert_int_equal(n, 1);
		if (rows->low_ns != one->low_ns || rows->high_ns != one->high_ns ||
			rows->longest_ns != one->longest_ns || rows->xoff != one->xoff ||
			rows->xon != one->xon)
			fail_msg("%s: low %ld high %ld longest %ld xoff %lu xon %lu", one->what,
				rows->low_ns, rows->high_ns, rows->longest_ns, rows->xoff,
				rows->xon);
		pause_log_free(log);
	}
}

static void test_rows(void **state)
{
	struct pause_log *log = pause_log_new(G400);
	struct roce_packet packet = pfc(2, 3, 1000);
	packet.classes |= 1u << 4; /* and priority 4 is released */
	pause_log_add(log, &packet, 1 * US);
	packet = pfc(1, 3, 1000);
	pause_log_add(log, &packet, 2 * US);
	packet = (struct roce_packet){
		.kind = PACKET_PAUSE, .time = {500}, .src_mac = {2, 0, 0, 0, 0, 1}};
	pause_log_add(log, &packet, 3 * US);
	size_t n;
	uint64_t refused;
	rw_cleanup(freep) struct pause_row *rows = pause_log_rows(log, 10 * US, &n, &refused);
	assert_int_equal(n, 4);
	assert_int_equal(rows[0].mac[5], 1);
	assert_int_equal(rows[0].priority, 3);
	assert_int_equal(rows[1].priority, PAUSE_ALL_TRAFFIC);
	assert_int_equal(rows[2].mac[5], 2);
	assert_int_equal(rows[3].priority, 4);
	assert_int_equal(rows[3].xon, 1);
	assert_int_equal(rows[0].first_ns, 2 * US);
	pause_log_free(log);
}

static void test_overlap(void **state)
{
	struct pause_log *log = pause_log_new(G400);
	struct roce_packet packet = pfc(1, 3, 65535);
	assert_int_equal(pause_log_until(log, 5 * US), 0);
	pause_log_add(log, &packet, 10 * US);
	assert_int_equal(pause_log_until(log, 20 * US), 20 * US);
	packet.time[3] = 0;
	pause_log_add(log, &packet, 60 * US);
	assert_int_equal(pause_log_until(log, 100 * US), 60 * US);
	assert_int_equal(pause_log_overlap(log, 20 * US, 100 * US), 40 * US);
	assert_int_equal(pause_log_overlap(log, 70 * US, 100 * US), 0);
	pause_log_free(log);

	/* a short pause of one sender does not end a long one of another */
	log = pause_log_new(G400);
	packet = pfc(1, 3, 65535);
	pause_log_add(log, &packet, 10 * US);
	packet = pfc(2, 3, 1000);
	pause_log_add(log, &packet, 20 * US);
	assert_int_equal(pause_log_overlap(log, 30 * US, 80 * US), 50 * US);
	pause_log_free(log);
}

static void test_bounded(void **state)
{
	struct pause_log *log = pause_log_new(0);
	for (int i = 0; i < PAUSE_ROWS_MAX + 10; i++) {
		struct roce_packet packet = pfc((uint8_t)i, 3, 1000);
		packet.src_mac[4] = (uint8_t)(i >> 8);
		pause_log_add(log, &packet, i);
	}
	size_t n;
	uint64_t refused;
	struct pause_row *rows = pause_log_rows(log, 10 * US, &n, &refused);
	assert_int_equal(n, PAUSE_ROWS_MAX);
	free(rows);
	assert_int_equal(refused, 10);
	pause_log_next(log);
	rows = pause_log_rows(log, 10 * US, &n, &refused);
	assert_int_equal(n, 0);
	free(rows);
	pause_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
