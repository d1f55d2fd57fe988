/* neighbor_kind: what an LLDP neighbour says, by the words of the built-in profiles, and what it is
 * taken for. Descriptions of switches: LLDP neighbours in public walks of EOS, OS9, OS10, Edgecore
 * SONiC, Cumulus and SR Linux; of servers: what lldpd and NIC firmware send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "config/neighbor_kind.h"
#include "config/profile/profile.h"

static const struct {
	const char *what, *descr, *port, *port_descr, *capabilities, *kind;
} rows[] = {
	{"EOS", "Arista Networks EOS version 4.28.3M running on an Arista DCS-7060", "Ethernet1",
		"", "28 00", "switch"},
	{"EOS without capabilities", "Arista Networks EOS version 4.28.3M", "Ethernet1", "", "",
		"switch"},
	{"OS9", "Dell Real Time Operating System Software. Dell Operating System Version: 2.0",
		"fortyGigE 1/50", "", "28 00", "switch"},
	{"OS10", "Dell EMC Networking OS10 Enterprise. Copyright (c) 1999-2021", "ethernet1/1/49",
		"", "28 00", "switch"},
	{"SONiC", "SONiC Software Version: SONiC.202311 - HwSku: ACS-MSN2700", "etp1", "", "28 00",
		"switch"},
	{"SONiC that says Debian only", "Debian GNU/Linux 11 (bullseye) Linux 5.10.0", "Ethernet48",
		"Ethernet48", "28 00", "switch"},
	{"Cumulus", "Cumulus Linux version 5.9.2 running on Mellanox MSN4600", "swp1", "swp1",
		"28 00", "switch"},
	{"SR Linux", "SRLinux-v24.10.1-492-gf8858c5836 7220 IXR-D5", "ethernet-1/49", "", "28 00",
		"switch"},
	{"IOS XR", "Cisco IOS XR Software, 8000", "HundredGigE0/0/0/1", "", "", "switch"},
	{"a switch nobody knows, by two signs", "", "1/1/49", "", "28 00", "switch"},
	{"its port's description counts, too", "Acme NOS", "41", "Eth49(Port49)", "20 00",
		"switch"},
	{"words instead of bits", "", "Ethernet48", "", "Bridge, Router", "switch"},
	{"a server with docker", "Ubuntu 22.04.4 LTS Linux 5.15.0 x86_64", "aa:bb:cc:00:11:22",
		"ens1f0np0", "28 00", "host"},
	{"a server with docker and no description", "", "aa:bb:cc:00:11:22", "ens1f0np0", "28 00",
		"unknown"},
	{"a Linux router's port eth0", "Debian GNU/Linux 12", "eth0", "eth0", "08 00", "host"},
	{"a Linux host that names its port oddly", "Debian GNU/Linux 12", "Ethernet1", "", "01 00",
		"host"},
	{"a Windows server", "Microsoft Windows Server 2022", "Ethernet 2", "", "01 00", "host"},
	{"firmware of a NIC", "Mellanox Technologies ConnectX-7", "aa:bb:cc:00:11:22", "", "01 00",
		"host"},
	{"a station", "", "Ethernet1", "", "01 00", "host"},
	{"nothing but a MAC address", "", "aa:bb:cc:00:11:22", "", "", "host"},
	{"bridge alone", "", "41", "", "20 00", "unknown"},
	{"a switch port's name alone", "", "swp7", "", "", "unknown"},
	{"bits numbered from the wrong end", "", "Ethernet48", "", "14 00", "unknown"},
	{"capabilities that are none", "", "eth0", "", "none", "host"},
};

static void test_kinds(void **state)
{
	(void)state;
	struct err_list errors = {0};
	struct profiles *profiles = NULL;
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct neighbor_signs signs = {
			.capabilities = neighbor_capabilities_hex(rows[i].capabilities)};
		profiles_neighbor_signs(
			profiles, rows[i].descr, rows[i].port, rows[i].port_descr, &signs);
		const char *kind = neighbor_kind_word(neighbor_kind_of(&signs));
		if (strcmp(kind, rows[i].kind) != 0)
			fail_msg("%s: got %s, expected %s (os %d, host %d, port %d, %02x)",
				rows[i].what, kind, rows[i].kind, signs.network_os, signs.host_os,
				signs.switch_port, signs.capabilities);
	}
	profiles_free(profiles);
	err_list_done(&errors);
}

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(neighbor_capabilities_hex("28:00"), LLDP_CAP_BRIDGE | LLDP_CAP_ROUTER);
	assert_int_equal(neighbor_capabilities_hex(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds), cmocka_unit_test(test_words)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
