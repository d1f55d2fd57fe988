/* port_rate: octets a second of a port, its capacity, and whether it is up, of what is known. */
#include <errno.h>

#include "analyzers/measure/observe.h"
#include "tests/unit/window_world.h"

#define G UINT64_C(1000000000)

static const uint16_t metrics[] = {M_PORT_OUT_OCTETS, M_PORT_SPEED_BPS, M_PORT_OPER_UP};

static struct made_sample of(unsigned metric)
{
	return (struct made_sample){
		.device = "leaf1", .port = "swp1", .priority = PRIO_NONE, .metric = metric};
}

/* A minute of one sample a second, @octets each. */
static void make(struct window_world *world, double octets)
{
	window_world_init(world, NULL);
	for (int t_s = 0; t_s <= 60; t_s++)
		window_world_add(world, t_s, of(M_PORT_OUT_OCTETS), octets * t_s);
}

static int rate_of(struct window_world *world, uint64_t declared_bps, struct port_rate *ret)
{
	struct fabric_device device = {.name = "leaf1"};
	const struct fabric_port port = {
		.name = "swp1", .device = &device, .speed_bps = declared_bps};
	window_world_cut(world, metrics, 3, 0, 60, world->arena, &world->window);
	const uint32_t entity = entities_find(world->window.entities, "leaf1", "swp1", PRIO_NONE);
	return port_rate(&world->window, &port, entity, M_PORT_OUT_OCTETS, NS_PER_S, ret);
}

static void test_bits(void **state)
{
	struct window_world world;
	struct port_rate rate;
	make(&world, 1e9);
	assert_int_equal(rate_of(&world, 100 * G, &rate), 0);
	assert_true(fabs(rate.rate_bps - 8e9) < 1);
	assert_true(fabs(rate.utilization_ratio - 0.08) < 1e-9);
	assert_true(rate.coverage_ratio == 1);
	assert_int_equal(rate.quality, QUALITY_EXACT);
	window_world_done(&world);
}

/* What is declared and what the device reads: the smaller one carries. */
static void test_capacity(void **state)
{
	static const struct {
		uint64_t declared, read, capacity;
	} rows[] = {
		{100 * G, 0, 100 * G},
		{100 * G, 40 * G, 40 * G},
		{40 * G, 100 * G, 40 * G},
		{0, 100 * G, 100 * G},
		{0, 0, 0},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct window_world world;
		struct port_rate rate;
		make(&world, 1e9);
		if (rows[i].read)
			window_world_add_raw(&world, 30, of(M_PORT_SPEED_BPS), rows[i].read);
		assert_int_equal(rate_of(&world, rows[i].declared, &rate), 0);
		assert_int_equal(rate.capacity_bps, rows[i].capacity);
		assert_true(isnan(rate.utilization_ratio) == (rows[i].capacity == 0));
		window_world_done(&world);
	}
}

/* Nobody told is neither up nor down. */
static void test_oper(void **state)
{
	static const struct {
		int told; /* -1: nothing */
		int oper;
	} rows[] = {{-1, PORT_OPER_UNKNOWN}, {0, PORT_OPER_DOWN}, {1, PORT_OPER_UP}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct window_world world;
		struct port_rate rate;
		make(&world, 1e6);
		if (rows[i].told >= 0)
			window_world_add(&world, 30, of(M_PORT_OPER_UP), rows[i].told);
		assert_int_equal(rate_of(&world, 100 * G, &rate), 0);
		assert_int_equal(rate.oper, rows[i].oper);
		window_world_done(&world);
	}
}

/* More than the line carries: an estimate over the whole run, or not to be believed at all. */
static void test_plausible(void **state)
{
	struct window_world world;
	struct port_rate rate;
	make(&world, 100e9);
	assert_int_equal(rate_of(&world, 100 * G, &rate), 0);
	assert_int_equal(rate.quality, QUALITY_SUSPECT);
	window_world_done(&world);
}

static void test_absent(void **state)
{
	struct window_world world;
	struct port_rate rate;
	window_world_init(&world, NULL);
	assert_int_equal(rate_of(&world, 100 * G, &rate), -ENODATA);
	assert_int_equal(rate.capacity_bps, 100 * G);
	assert_true(isnan(rate.rate_bps) && isnan(rate.utilization_ratio));
	window_world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_oper),
		cmocka_unit_test(test_plausible),
		cmocka_unit_test(test_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
