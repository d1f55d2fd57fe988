/* rate_bins: bins that merge keep every packet, and their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collectors/packet/flow/stream_clock.h"

#define T0 1700000000000000000ll

static uint64_t all_packets(const struct rate_bins *rates)
{
	uint64_t packets = 0;
	for (size_t i = 0; i < rates->n; i++)
		packets += rates->bins[i].packets;
	return packets;
}

static void test_plain(void **state)
{
	static struct rate_bins rates;
	rate_bins_init(&rates, 0);
	rate_bins_add(&rates, T0 + 5000000, 100);
	rate_bins_add(&rates, T0 + 9999999, 100);
	rate_bins_add(&rates, T0 + 30000000, 50);
	assert_int_equal(rates.width_ns, RATE_BIN_NS);
	assert_int_equal(rates.first * rates.width_ns, T0);
	assert_int_equal(rates.n, 4);
	assert_int_equal(rates.bins[0].octets, 200);
	assert_int_equal(rates.bins[3].packets, 1);
}

static void test_merge(void **state)
{
	static struct rate_bins rates;
	rate_bins_init(&rates, 0);
	for (int i = 0; i < 5000; i++)
		rate_bins_add(&rates, T0 + i * 10000000ll, 10);
	assert_int_equal(rates.width_ns, 8 * RATE_BIN_NS);
	assert_int_equal(all_packets(&rates), 5000);
	assert_int_equal(rates.bins[1].packets, 8);
	assert_int_equal(rates.first * rates.width_ns, T0);
}

/* Files that are merged may overlap by a little, or begin years apart. */
static void test_times(void **state)
{
	static struct rate_bins rates;
	rate_bins_init(&rates, 1000000);
	rate_bins_add(&rates, T0, 10);
	rate_bins_add(&rates, T0 - 3000000, 20);
	assert_int_equal(rates.n, 4);
	assert_int_equal(rates.bins[0].octets, 20);
	assert_int_equal(rates.bins[3].octets, 10);
	rate_bins_add(&rates, 1, 30);
	assert_int_equal(all_packets(&rates), 3);
	assert_int_equal(rates.bins[0].octets, 30);
	rate_bins_add(&rates, -1, 30); /* damage */
	rate_bins_add(&rates, INT64_MAX, 30);
	assert_int_equal(all_packets(&rates), 3);
	rate_bins_add(&rates, INT64_MAX / 4, 30);
	assert_int_equal(all_packets(&rates), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
