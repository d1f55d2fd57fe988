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
#define MS 1000000LL
#define SERIES_MOST 900

static struct profiles *profiles;
static struct entities *entities;
static struct push_feed *feed;
static uint8_t message[65536];
static size_t n_message;
static uint8_t sender; /* the last byte of its address */

static int feed_setup(void **state)
{
	static const char text[] = "name: nic-test\ndoc: a test\npush:\n  - name: nics\n    port: "
				   "device_name\n    values:\n"
				   "      - { name: \"rx_power_lane_{lane}\", metric: "
				   "optic.rx_power_dbm, fold: min }\n";
	static const char *const names[] = {"leaf1"}, *const more_names[] = {"leaf2"},
				 *const pinned_names[] = {"leaf3"};
	static struct config_device_push push = {.names = names,
						 .n_names = 1,
						 .address = "10.0.0.77"},
					 more = {.names = more_names, .n_names = 1},
					 pinned = {.names = pinned_names,
						 .n_names = 1,
						 .address = "10.0.0.88",
						 .pin = true};
	static struct config_device devices[] = {{.name = "d0", .push = &push},
		{.name = "d1", .push = &more}, {.name = "d2", .push = &pinned}};
	static const struct config config = {.devices = devices, .n_devices = 3};
	struct err_list errors = {0};
	if (profiles_parse(text, sizeof(text) - 1, "nic-test.yaml", &profiles, &errors) < 0)
		return -1;
	entities = entities_new();
	const struct push_feed_options options = {.entities = entities,
		.profiles = profiles,
		.source = SOURCE_PUSH,
		.seed = 7,
		.most_series = SERIES_MOST};
	sender = 1;
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

/* A request of @host with one gauge for each row. */
static void make_of(const char *host, const struct told *rows, size_t n_rows)
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
	const size_t n_label = put_label(point, 1, "host.name", host);
	n = put_field(whole, 1, point, n_label);
	n += put_field(whole + n, 2, scope, n_scope);
	n_message = put_field(message, 1, whole, n);
}

static void make(const struct told *rows, size_t n_rows)
{
	make_of("leaf1", rows, n_rows);
}

static struct push_feed_result take(size_t n, int expected)
{
	const uint8_t address[16] = {[10] = 0xff, 0xff, 10, 0, 0, sender};
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

/* ---- more often than the interval ------------------------------------------ */

#define COUNTER "nvswitch_interface_if_in_octets"

static void put(const char *name, const char *port, int64_t t_ns, double value)
{
	const struct told row = {name, "interface", port, t_ns, value};
	make(&row, 1);
	assert_int_equal(take(n_message, 0).refused, 0);
}

/* A total each millisecond for five seconds: one a second is kept, each as it was sent. */
static void each_millisecond(void **state)
{
	size_t n;
	push_feed_interval(feed, 1000 * MS);
	for (int i = 0; i < 5000; i++)
		put(COUNTER, "swp1", NOW_NS - 6000 * MS + i * MS, 1000 + i);
	const struct sample *samples = push_feed_samples(feed, &n);
	assert_in_range(n, 5, 7);
	assert_int_equal(push_feed_counts(feed)->thinned, 5000 - n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			samples[i].value, 1000 + (samples[i].t_ns - (NOW_NS - 6000 * MS)) / MS);
	assert_int_equal(push_feed_counts(feed)->repeated, 0);
}

/* Who sends at the interval, a little sooner or later, loses nothing. */
static void at_the_interval(void **state)
{
	static const int late_ms[] = {0, 90, -80, 100, -100, 3, 0, -20};
	push_feed_interval(feed, 1000 * MS);
	for (int i = 0; i < 8; i++)
		put(COUNTER, "swp1", NOW_NS - 20000 * MS + (1000 * i + late_ms[i]) * MS, i);
	assert_int_equal(waiting(), 8);
	assert_int_equal(push_feed_counts(feed)->thinned, 0);
}

/* That a total began anew is not forgotten with the point that showed it. */
static void restart_between(void **state)
{
	size_t n;
	push_feed_interval(feed, 1000 * MS);
	put(COUNTER, "swp1", NOW_NS - 3000 * MS, 500);
	put(COUNTER, "swp1", NOW_NS - 2900 * MS, 4);
	put(COUNTER, "swp1", NOW_NS - 2800 * MS, 600);
	put(COUNTER, "swp1", NOW_NS - 2000 * MS, 700);
	put(COUNTER, "swp1", NOW_NS - 1000 * MS, 800);
	const struct sample *samples = push_feed_samples(feed, &n);
	assert_int_equal(n, 3);
	assert_int_equal(samples[1].flags, SF_RESTART);
	assert_int_equal(samples[1].value, 700);
	assert_int_equal(samples[2].flags, 0);
}

/* Of a watermark the greatest value of the interval is kept. */
static void peak_between(void **state)
{
	static const double bytes[] = {100, 9000, 200, 300, 50, 70};
	static const int at_ms[] = {0, 300, 600, 1000, 1500, 2000};
	size_t n;
	push_feed_interval(feed, 1000 * MS);
	for (int i = 0; i < 6; i++) {
		const struct told row = {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "object_name",
			"Ethernet0|3", NOW_NS - 5000 * MS + at_ms[i] * MS, bytes[i]};
		make(&row, 1);
		assert_int_equal(take(n_message, 0).refused, 0);
	}
	const struct sample *samples = push_feed_samples(feed, &n);
	assert_int_equal(n, 3);
	assert_int_equal(samples[0].value, 100);
	assert_int_equal(samples[1].value, 9000);
	assert_int_equal(samples[2].value, 70);
}

/* ---- who brings too much ----------------------------------------------------- */

/* @n new ports of @host, from @first on; how many were refused. */
static uint64_t invent(const char *host, unsigned first, unsigned n)
{
	uint64_t refused = 0;
	while (n > 0) {
		struct told rows[100];
		char ports[100][16];
		unsigned k = 0;
		for (; k < 100 && k < n; k++) {
			snprintf(ports[k], sizeof(ports[k]), "x%u", first + k);
			rows[k] = (struct told){COUNTER, "interface", ports[k], NOW_NS, first + k};
		}
		make_of(host, rows, k);
		refused += take(n_message, 0).refused;
		first += k;
		n -= k;
	}
	push_feed_taken(feed, waiting());
	return refused;
}

static void take_name(void *arg, const char *name, uint64_t points)
{
	char *out = arg;
	snprintf(
		out + strlen(out), 200 - strlen(out), "%s=%llu ", name, (unsigned long long)points);
}

/* One sender that invents ports of leaf1 leaves room: for leaf1's own ports from another address,
 * and for leaf2. It is told by name; what it invented is forgotten. */
static void invented_series(void **state)
{
	char names[200] = "";
	sender = 66;
	const uint64_t refused = invent("leaf1", 0, 2000);
	assert_int_equal(push_feed_counts(feed)->series, 2000 - refused);
	assert_in_range(push_feed_counts(feed)->series, SERIES_MOST / 3, SERIES_MOST / 2 + 1);
	push_feed_named(feed, FEED_BEYOND, take_name, names);
	char expected[80];
	snprintf(expected, sizeof(expected), "leaf1_at_10.0.0.66=%llu ",
		(unsigned long long)refused);
	assert_string_equal(names, expected);
	assert_int_equal(push_feed_counts(feed)->beyond, refused);

	sender = 2;
	assert_int_equal(invent("leaf2", 5000, 100), 0);
	/* known ones go on */
	assert_int_equal(invent("leaf1", 0, 100), 0);
	/* leaf2 goes on, the invented ones do not */
	push_feed_expire(feed, FEED_FORGET_NS / 2);
	sender = 2;
	assert_int_equal(invent("leaf2", 5000, 100), 0);
	push_feed_expire(feed, FEED_FORGET_NS + 1);
	assert_int_equal(push_feed_counts(feed)->series, 100);
	assert_int_equal(push_feed_counts(feed)->forgotten, 2000 - refused);
	assert_int_equal(invent("leaf1", 9000, 200), 0);
	assert_int_equal(push_feed_counts(feed)->series, 300);
	assert_int_equal(invent("leaf2", 5000, 100), 0);
	assert_int_equal(push_feed_counts(feed)->series, 300);
}

/* The names of one device: a sender gets a third, so that the device's own sender has room. */
static void invented_names(void **state)
{
	entities_limit(entities, &(struct entity_limits){.per_device = 90});
	sender = 66;
	assert_in_range(400 - invent("leaf1", 0, 400), 25, 35);
	sender = 1;
	assert_int_equal(invent("leaf1", 1000, 20), 0);
	assert_int_equal(push_feed_counts(feed)->forgotten, 0);
}

/* A host name of no device, from the address of leaf1: one such name stands for leaf1 and is told;
 * a second one is another switch behind the same Collector, and is not. */
static void address_stands_for_one_name(void **state)
{
	const struct told row = {"rx_power_lane_1", "device_name", "mlx5_0", NOW_NS, -2};
	sender = 77;
	make_of("son1", &row, 1);
	assert_int_equal(take(n_message, 0).refused, 0);
	assert_int_equal(push_feed_counts(feed)->misnamed, 1);
	make_of("son2", &row, 1);
	const struct push_feed_result other = take(n_message, 0);
	assert_int_equal(other.refused, 1);
	assert_non_null(strstr(other.message, "son2_at_10.0.0.77"));
	assert_int_equal(push_feed_counts(feed)->misnamed, 1);
	assert_int_equal(push_feed_counts(feed)->no_device, 1);
	make_of("leaf2", &row, 1); /* a device's name holds, wherever it comes from */
	assert_int_equal(take(n_message, 0).refused, 0);
	make_of("leaf1", &row, 1);
	assert_int_equal(take(n_message, 0).refused, 0);
	assert_int_equal(push_feed_counts(feed)->misnamed, 1);
}

/* Who sends in the name of a pinned device is refused, named, and leaves no sample; the device
 * itself is taken, by its name and by its address alone. */
static void pinned_by_address(void **state)
{
	static const struct told row = {"rx_power_lane_1", "device_name", "mlx5_0", NOW_NS, -3};
	sender = 9;
	make_of("leaf3", &row, 1);
	const struct push_feed_result forged = take(n_message, 0);
	assert_int_equal(forged.refused, 1);
	assert_non_null(strstr(forged.message, "leaf3_at_10.0.0.9"));
	assert_int_equal(push_feed_counts(feed)->pinned, 1);
	assert_int_equal(push_feed_counts(feed)->no_device, 0);
	assert_int_equal(push_feed_counts(feed)->samples, 0);
	sender = 77; /* another device is no better */
	make_of("leaf3", &row, 1);
	assert_int_equal(take(n_message, 0).refused, 1);
	assert_int_equal(push_feed_counts(feed)->pinned, 2);
	sender = 88;
	make_of("leaf3", &row, 1);
	assert_int_equal(take(n_message, 0).refused, 0);
	assert_int_equal(push_feed_counts(feed)->samples, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			address_stands_for_one_name, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(pinned_by_address, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(taken_in_parts, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(half_a_message, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(totals_that_fall, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(weakest_lane, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(each_millisecond, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(at_the_interval, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(restart_between, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(peak_between, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(invented_series, feed_setup, feed_teardown),
		cmocka_unit_test_setup_teardown(invented_names, feed_setup, feed_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
