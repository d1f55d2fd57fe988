/* Neighbours as gNMI tells them, leaf by leaf, into what links are made of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "collectors/gnmi/gnmi_series.h"

static void test_leaf_by_leaf(void **state)
{
	static const struct {
		uint32_t port;
		const char *id;
		enum profile_gnmi_attribute which;
		const char *text;
		uint64_t number;
	} leaves[] = {
		{1, "7", GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME, "spine1", 0},
		{0, "7", GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS, "AA-BB-CC-00-11-22", 0},
		{1, "7", GNMI_ATTRIBUTE_NEIGHBOR_PORT, "Ethernet4", 0},
		{1, "7", GNMI_ATTRIBUTE_NEIGHBOR_PORT_KIND, "5", 5},
		{0, "7", GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND, "MAC", 4},
		{1, "8", GNMI_ATTRIBUTE_NEIGHBOR_DESCR, "says nothing else", 0},
		{9, "1", GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME, "on a port nobody knows", 0},
		{0, "", GNMI_ATTRIBUTE_CHASSIS, "00:00:00:00:00:0F", 0},
		{1, "7", GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND, "99", 99},
	};
	(void)state;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_port ports[2] = {
		{.name = "Ethernet0", .alias = "etp1"}, {.name = "Ethernet8", .alias = "etp2"}};
	struct topology_device self = {
		.name = "leaf1", .sysname = "tor1", .ports = ports, .n_ports = 2};
	struct topology_neighbor *heard;
	struct gnmi_lldp *l = gnmi_lldp_new();
	for (size_t i = 0; i < rw_countof(leaves); i++)
		gnmi_lldp_take(l,
			gnmi_lldp_of(l, leaves[i].port, leaves[i].id, strlen(leaves[i].id)),
			leaves[i].which, leaves[i].text, leaves[i].number);
	assert_int_equal(gnmi_lldp_result(l, a, NULL, &self, &heard), 2);
	assert_string_equal(self.chassis, "00:00:00:00:00:0f");
	assert_string_equal(self.sysname, "tor1");
	assert_int_equal(self.n_ports, 2);
	assert_string_equal(heard[0].port, "Ethernet8");
	assert_string_equal(heard[0].sysname, "spine1");
	assert_string_equal(heard[0].port_id, "Ethernet4");
	assert_int_equal(heard[0].port_subtype, LLDP_PORT_IFNAME);
	assert_int_equal(heard[0].chassis_subtype, 0);
	assert_string_equal(heard[0].chassis, "");
	assert_string_equal(heard[1].port, "Ethernet0");
	assert_string_equal(heard[1].chassis, "aa:bb:cc:00:11:22");
	assert_int_equal(heard[1].chassis_subtype, LLDP_CHASSIS_MAC);
	gnmi_lldp_clear(l);
	const uint32_t named = gnmi_lldp_of(l, 1, "8", 1); /* AB-CD is a name, and no address */
	gnmi_lldp_take(l, named, GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS, "AB-CD", 0);
	assert_int_equal(gnmi_lldp_result(l, a, NULL, &self, &heard), 1);
	assert_string_equal(heard[0].chassis, "AB-CD");
	gnmi_lldp_clear(l); /* what does not come again is gone */
	assert_int_equal(gnmi_lldp_result(l, a, NULL, &self, &heard), 0);
	assert_string_equal(self.chassis, "");
	gnmi_lldp_free(l);
}

static void test_limit(void **state)
{
	(void)state;
	struct gnmi_lldp *l = gnmi_lldp_new();
	char id[16];
	for (unsigned i = 0; i < GNMI_LLDP_NEIGHBORS_MAX; i++)
		assert_int_equal(
			gnmi_lldp_of(l, i, id, (size_t)snprintf(id, sizeof(id), "%u", i)), i);
	assert_int_equal(gnmi_lldp_of(l, 1, "x", 1), GNMI_LLDP_NONE);
	gnmi_lldp_take(l, GNMI_LLDP_NONE, GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME, "nobody", 0);
	gnmi_lldp_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaf_by_leaf), cmocka_unit_test(test_limit)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
