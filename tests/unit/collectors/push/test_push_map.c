/* push_map: what pushed names mean, by the built-in profiles and by a profile of the test. Expected
 * values are worked out by hand from the vendors' pages that the profiles name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectors/push/push_map.h"
#include "config/profile/profile.h"
#include "config/profile/profile_push.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

static struct profiles *profiles;
static struct push_map *map;

static int map_setup(void **state)
{
	static const char text[] =
		"name: nic-test\n"
		"doc: a test\n"
		"push:\n"
		"  - name: nics\n"
		"    port: device_name\n"
		"    values:\n"
		"      - { name: \"rx_prio{priority}_pause_duration\", metric: nic.rx_pause_ns, "
		"unit: us }\n"
		"      - { name: \"rx_power_lane_{lane}\", metric: optic.rx_power_dbm, unit: mw, "
		"fold: min }\n"
		"      - { name: marked, metric: nic.ce_received, where: { marking: ecn } }\n";
	struct err_list errors = {0};
	const int rc = profiles_parse(text, sizeof(text) - 1, "nic-test.yaml", &profiles, &errors);
	err_list_done(&errors);
	if (rc == 0)
		map = push_map_new(profiles);
	return rc;
}

static int map_teardown(void **state)
{
	push_map_free(map);
	profiles_free(profiles);
	return 0;
}

static struct push_label label(const char *key, const char *value)
{
	return (struct push_label){key, value, strlen(key), strlen(value)};
}

static const struct push_rule *rule_of(const char *name)
{
	return push_map_find(map, name, strlen(name));
}

struct expected_place {
	const char *name, *key, *value, *number_key, *number;
	int rc;
	const char *metric, *port;
	int priority;
};

static const struct expected_place places[] = {
	{"nvswitch_interface_sp_rx_pause", "interface", "swp1", "sp", "3", 0, "pfc.rx_frames",
		"swp1", 3},
	{"nvswitch_interface_tc_tx_octet", "interface", "swp1s0", "tc", "3", 0, "queue.out_octets",
		"swp1s0", 3},
	/* a traffic class beyond the priorities is a queue of its own */
	{"nvswitch_interface_tc_tx_octet", "interface", "swp1", "tc", "12", 0, "queue.out_octets",
		"swp1#q12", PRIO_NONE},
	{"nvswitch_interface_if_in_octets", "interface", "swp2", "x", "y", 0, "port.in_octets",
		"swp2", PRIO_NONE},
	/* from Cumulus 5.15 on the only name of it, and buffers */
	{"nvswitch_interface_ether_stats_octets", "interface", "swp2", "x", "y", 0,
		"port.in_octets", "swp2", PRIO_NONE},
	{"nvswitch_interface_shared_buffer_port_tc_curr_occupancy", "interface", "swp1", "tc", "3",
		0, "queue.depth_bytes", "swp1", 3},
	{"nvswitch_interface_shared_buffer_port_tc_watermark", "interface", "swp1", "tc", "3", 0,
		"queue.watermark_bytes", "swp1", 3},
	{"nvswitch_interface_shared_buffer_port_pg_watermark", "interface", "swp1", "pg", "3", 0,
		"pg.shared_watermark_bytes", "swp1", 3},
	{"nvswitch_interface_headroom_buffer_pg_watermark", "interface", "swp1", "pg", "3", 0,
		"pg.headroom_watermark_bytes", "swp1", 3},
	/* SAI port 109, queue 0x22, group 8: see test_sai_stat.c */
	{"sai_counter_type_1_stat_109", "object_name", "Ethernet0", "sai_stat_id", "109", 0,
		"pfc.rx_frames", "Ethernet0", 3},
	{"sai_counter_type_21_stat_34", "object_name", "Ethernet0|3", "sai_stat_id", "34", 0,
		"queue.ecn_marked", "Ethernet0", 3},
	{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "object_name", "Ethernet4|4", "x", "y",
		0, "pg.drops", "Ethernet4", 4},
	{"rx_prio5_pause_duration", "device_name", "mlx5_0", "x", "y", 0, "nic.rx_pause_ns",
		"mlx5_0", 5},
	/* what cannot be */
	{"nvswitch_interface_sp_rx_pause", "interface", "swp1", "sp", "8", -ERANGE, "pfc.rx_frames",
		"", 0},
	{"nvswitch_interface_sp_rx_pause", "interface", "swp1", "sp", "3x", -ERANGE,
		"pfc.rx_frames", "", 0},
	{"nvswitch_interface_sp_rx_pause", "interface", "swp1", "x", "y", -ENOENT, "pfc.rx_frames",
		"", 0},
	{"nvswitch_interface_sp_rx_pause", "port", "swp1", "sp", "3", -ENOENT, "pfc.rx_frames", "",
		0},
	{"nvswitch_interface_if_in_octets", "interface", "", "x", "y", -EINVAL, "port.in_octets",
		"", 0},
	{"nvswitch_interface_if_in_octets", "interface", "swp\x1b[1m", "x", "y", -EINVAL,
		"port.in_octets", "", 0},
	{"sai_counter_type_21_stat_34", "object_name", "Ethernet0|", "x", "y", -ERANGE,
		"queue.ecn_marked", "", 0},
};

static void names_and_places(void **state)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct expected_place *is = &places[i];
		const struct push_label labels[] = {label("other", "text"),
			label(is->key, is->value), label(is->number_key, is->number)};
		const struct push_rule *rule = rule_of(is->name);
		struct push_place place;
		assert_non_null(rule);
		assert_string_equal(metric_info((unsigned)rule->value->metric)->name, is->metric);
		assert_int_equal(push_rule_place(rule, labels, 3, &place), is->rc);
		if (is->rc < 0)
			continue;
		assert_string_equal(place.port, is->port);
		assert_int_equal(place.priority, is->priority);
	}
}

static void unknown_names(void **state)
{
	assert_null(rule_of("nvswitch_env_fan_cur_speed"));
	assert_null(rule_of(""));
	assert_null(rule_of("rx_prio8_pause_duration"));
	assert_null(rule_of("rx_prio{priority}_pause_duration"));
	assert_null(rule_of("sai_counter_type_1_stat_"));
	assert_null(rule_of("sai_counter_type_1_stat_109x"));
	assert_null(rule_of("sai_counter_type_99_stat_1"));
}

static void conditions(void **state)
{
	const struct push_label ecn = label("marking", "ecn"), ece = label("marking", "ece");
	const struct push_rule *rule = rule_of("marked");
	assert_true(push_rule_fits(rule, &ecn, 1));
	assert_false(push_rule_fits(rule, &ece, 1));
	assert_false(push_rule_fits(rule, &ecn, 0));
}

static int value_of(const char *name, struct push_number number, uint64_t *ret, unsigned *flags)
{
	return push_rule_value(rule_of(name), &number, ret, flags);
}

static void values(void **state)
{
	const struct push_number twelve = {.whole = true, .integer = 12}, real = {.real = 12.0},
				 negative = {.whole = true, .integer = -1}, nothing = {.real = NAN},
				 large = {.real = 1e19}, inexact = {.real = 1e17}, up = {.real = 1},
				 down = {.real = 2}, dark = {.real = 0}, one = {.real = 1};
	uint64_t value;
	unsigned flags;
	/* us become ns */
	assert_int_equal(
		value_of("nvswitch_interface_sp_rx_pause_duration", twelve, &value, &flags), 0);
	assert_int_equal(value, 12000);
	assert_int_equal(
		value_of("nvswitch_interface_sp_rx_pause_duration", real, &value, &flags), 0);
	assert_int_equal(value, 12000);
	assert_int_equal(flags, 0);
	assert_int_equal(value_of("nvswitch_interface_sp_rx_pause_duration", large, &value, &flags),
		-ERANGE);
	assert_int_equal(
		value_of("nvswitch_interface_if_in_octets", negative, &value, &flags), -ERANGE);
	assert_int_equal(
		value_of("nvswitch_interface_if_in_octets", nothing, &value, &flags), -ERANGE);
	assert_int_equal(value_of("nvswitch_interface_if_in_octets", inexact, &value, &flags), 0);
	assert_int_equal(flags, SF_ESTIMATED);
	/* a bitmap: 1 is up, 2 is down */
	assert_int_equal(value_of("nvswitch_interface_oper_state", up, &value, &flags), 0);
	assert_int_equal(value, 1);
	assert_int_equal(value_of("nvswitch_interface_oper_state", down, &value, &flags), 0);
	assert_int_equal(value, 0);
	/* 1 mW is 0 dBm; no light has no dBm */
	assert_int_equal(value_of("rx_power_lane_3", one, &value, &flags), 0);
	assert_true(fabs(sample_f64(value)) < 1e-12);
	assert_int_equal(value_of("rx_power_lane_3", dark, &value, &flags), -ENODATA);
}

static void mistakes(void **state)
{
	static const char *const wrong[] = {
		"{ name: a, metric: pfc.rx_frames }", /* a priority, and no number */
		"{ name: \"a{queue}\", metric: port.in_octets }",
		"{ name: \"a{port}\", metric: port.in_octets }",
		"{ name: \"a{lane}b{lane}\", metric: optic.rx_power_dbm }",
		"{ name: a, metric: nic.cable_type }", /* a text */
		"{ name: a, metric: port.in_octets, unit: mw }",
		"{ name: a, metric: port.in_octets, where: text }",
		"{ name: a }",
		"{ metric: port.in_octets }",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[256];
		struct profiles *found = NULL;
		struct err_list errors = {0};
		snprintf(text, sizeof(text),
			"name: t\ndoc: t\npush:\n  - name: g\n    port: p\n    values:\n      - "
			"%s\n",
			wrong[i]);
		assert_int_equal(
			profiles_parse(text, strlen(text), "t.yaml", &found, &errors), -EINVAL);
		assert_true(errors.n > 0);
		err_list_done(&errors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_places),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(conditions),
		cmocka_unit_test(values),
		cmocka_unit_test(mistakes),
	};
	return cmocka_run_group_tests(tests, map_setup, map_teardown);
}
