/* push_feed: what is taken out in parts stays in order and whole; a message that is no message
 * leaves nothing behind; totals that fall, lanes, and bounds. Messages are made here, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/push/push_feed.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define NOW_NS (1732312800LL * 1000000000)

static struct profiles *profiles;
static struct entities *entities;
static struct push_feed *feed;
static uint8_t message[65536];
static size_t n_message;

static int feed_setup(void **state)
{
	static const char text[] = "name: nic-test\ndoc: a test\npush:\n  - name: nics\n    port: "
				   "device_name\n    values:\n"
				   "      - { name: \"rx_power_lane_{lane}\", metric: "
				   "optic.rx_power_dbm, fold: min }\n";
	static const char *const names[] = {"leaf1"};
	static struct config_device_push push = {.names = names, .n_names = 1};
	static struct config_device device = {.name = "d0", .push = &push};
	static const struct config config = {.devices = &device, .n_devices = 1};
	struct err_list errors = {0};
	if (profiles_parse(text, sizeof(text) - 1, "nic-test.yaml", &profiles, &errors) < 0)
		return -1;
	entities = entities_new();
	const struct push_feed_options options = {
		.entities = entities, .profiles = profiles, .source = SOURCE_PUSH, .seed = 7};
	feed = push_feed_new(&options);
	push_feed_devices(feed, &config);
	return 0;
}

static int feed_teardown(void **state)
{
	push_feed_free(feed);
	entities_free(entities);
	profiles_free(profiles);
	return 0;
}

/* One field of bytes at the end of @out; a length below 16384 takes two bytes here. */
static size_t put_field(uint8_t *out, unsigned field, const void *data, size_t n)
{
	out[0] = (uint8_t)(field << 3 | 2);
	out[1] = (uint8_t)(n | 0x80);
	out[2] = (uint8_t)(n >> 7);
	memmove(out + 3, data, n);
	return n + 3;
}

static size_t put_label(uint8_t *out, unsigned field, const char *key, const char *value)
{
	uint8_t any[300], pair[600];
	const size_t n_any = put_field(any, 1, value, strlen(value));
	size_t n = put_field(pair, 1, key, strlen(key));
	n += put_field(pair + n, 2, any, n_any);
	return put_field(out, field, pair, n);
}

static size_t put_point(uint8_t *out, const char *key, const char *port, int64_t t_ns, double value)
{
	size_t n = 0;
	out[n++] = 3 << 3 | 1;
	memcpy(out + n, &t_ns, 8);
	n += 8;
	out[n++] = 4 << 3 | 1;
	memcpy(out + n, &value, 8);
	n += 8;
	return n + put_label(out + n, 7, key, port);
}

struct told {
	const char *name, *key, *port;
	int64_t t_ns;
	double value;
};

/* A request of leaf1 with one gauge for each row. */
static void make(const struct told *rows, size_t n_rows)
{
	static uint8_t scope[65536], metric[2048], data[1024], point[512], whole[65536];
	size_t n_scope = 0, n = 0;
	for (size_t i = 0; i < n_rows; i++) {
		const size_t n_point =
			put_point(point, rows[i].key, rows[i].port, rows[i].t_ns, rows[i].value);
		const size_t n_data = put_field(data, 1, point, n_point);
		size_t n_metric = put_field(metric, 1, rows[i].name, strlen(rows[i].name));
		n_metric += put_field(metric + n_metric, 5, data, n_data);
		n_scope += put_field(scope + n_scope, 2, metric, n_metric);
	}
	const size_t n_label = put_label(point, 1, "host.name", "leaf1");
	n = put_field(whole, 1, point, n_label);
	n += put_field(whole + n, 2, scope, n_scope);
	n_message = put_field(message, 1, whole, n);
}

static struct push_feed_result take(size_t n, int expected)
{
	static const uint8_t address[16] = {[15] = 1};
	struct push_feed_result result;
	assert_int_equal(push_feed_take(feed, address, message, n, NOW_NS, &result), expected);
	return result;
}

static size_t waiting(void)
{
	size_t n;
	push_feed_samples(feed, &n);
	return n;
}

static void taken_in_parts(void **state)
{
	size_t n;
	for (int k = 0; k < 3; k++) {
		struct told rows[4];
		char ports[4][16];
		for (int i = 0; i < 4; i++) {
			snprintf(ports[i], sizeof(ports[i]), "swp%d", i);
			rows[i] = (struct told){"nvswitch_interface_if_in_octets", "interface",
				ports[i], NOW_NS + k, 4 * k + i};
		}
		make(rows, 4);
		assert_int_equal(take(n_message, 0).refused, 0);
		push_feed_taken(feed, 3);
	}
	assert_int_equal(waiting(), 3);
	const struct sample *samples = push_feed_samples(feed, &n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(samples[i].value, 9 + i);
	push_feed_taken(feed, 3);
	assert_int_equal(waiting(), 0);
}

static void half_a_message(void **state)
{
	const struct told rows[] = {
		{"nvswitch_interface_if_in_octets", "interface", "swp1", NOW_NS, 1},
		{"nvswitch_interface_if_out_octets", "interface", "swp1", NOW_NS, 2}};
	make(rows, 2);
	for (size_t n = 1; n < n_message; n++) {
		take(n, -EBADMSG);
		assert_int_equal(waiting(), 0);
	}
	assert_int_equal(push_feed_counts(feed)->samples, 0);
}

static void totals_that_fall(void **state)
{
	struct told row = {"nvswitch_interface_if_in_octets", "interface", "swp1", NOW_NS, 100};
	size_t n;
	make(&row, 1);
	take(n_message, 0);
	take(n_message, 0); /* the same again: a sender that did not see the answer */
	row.t_ns++;
	row.value = 40;
	make(&row, 1);
	take(n_message, 0);
	const struct sample *samples = push_feed_samples(feed, &n);
	assert_int_equal(n, 2);
	assert_int_equal(samples[0].flags, 0);
	assert_int_equal(samples[1].flags, SF_RESTART);
	assert_int_equal(push_feed_counts(feed)->repeated, 1);
}

static void weakest_lane(void **state)
{
	const struct told rows[] = {
		{"rx_power_lane_0", "device_name", "mlx5_0", NOW_NS, -2.5},
		{"rx_power_lane_1", "device_name", "mlx5_0", NOW_NS, -7.5},
		{"rx_power_lane_2", "device_name", "mlx5_0", NOW_NS, -3.0},
	};
	size_t n;
	make(rows, 3);
	take(n_message, 0);
	const struct sample *samples = push_feed_samples(feed, &n);
	assert_int_equal(n, 1);
	assert_true(sample_f64(samples[0].value) == -7.5);
}

static void what_cannot_be(void **state)
{
	const struct told rows[] = {
		{"nvswitch_interface_if_in_octets", "interface", "swp1", NOW_NS, -1},
		{"nvswitch_interface_if_in_octets", "interface", "swp2", NOW_NS + 60 * 1000000000LL,
			1},
		{"nvswitch_interface_if_in_octets", "interface", "swp3", 5, 1},
		{"nvswitch_interface_if_in_octets", "other", "swp4", NOW_NS, 1},
		{"nvswitch_interface_if_in_octets", "interface", "pool:x", NOW_NS, 1},
		{"what\x1b[1m", "interface", "swp1", NOW_NS, 1},
	};
	make(rows, 6);
	const struct push_feed_result result = take(n_message, 0);
	assert_int_equal(result.points, 6);
	assert_int_equal(result.refused, 5);
	assert_int_equal(waiting(), 0);
	const struct push_feed_counts *counts = push_feed_counts(feed);
	assert_int_equal(counts->no_value, 1);
	assert_int_equal(counts->off_clock, 2);
	assert_int_equal(counts->no_place, 2);
	assert_int_equal(counts->unknown_points, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(taken_in_parts, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(half_a_message, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(totals_that_fall, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(weakest_lane, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be, feed_setup, feed_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
