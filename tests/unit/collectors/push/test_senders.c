/* Who may send without being asked: the networks of 'allow', or the devices' own addresses; and
 * whose name a sender gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "collectors/packet/datagram/datagram_senders.h"
#include "collectors/push/push_feed.h"
#include "config/address.h"
#include "config/config.h"

static const char *const names_1[] = {"leaf1.pod.example"};
static const char *const names_2[] = {"leaf2.pod.example", "twin.pod.example"};
static const char *const names_3[] = {"twin.pod.example"};
static struct config_device_push pushes[] = {
	{.address = "192.0.2.1", .names = names_1, .n_names = 1},
	{.address = "192.0.2.2", .names = names_2, .n_names = 2},
	{.address = "192.0.2.2", .names = names_3, .n_names = 1},
};
static struct config_sflow sflow = {.agent = "10.0.0.9"};
static struct config_device devices[] = {
	{.name = "d1", .push = &pushes[0], .sflow = &sflow},
	{.name = "d2", .push = &pushes[1]},
	{.name = "d3", .push = &pushes[2]},
};
static struct config config = {.devices = devices, .n_devices = rw_countof(devices)};

static const uint8_t *hash_bytes_of(const char *text)
{
	static struct network network;
	assert_int_equal(network_parse(text, &network), 0);
	return network.address;
}

static const char *resolved(void *arg, const char *device)
{
	if (str_eq(device, "d3"))
		return "[2001:db8::3]:161";
	return NULL;
}

static void test_allowed(void **state)
{
	static const char *const list[] = {"198.51.100.0/24", "2001:db8:1::/48"};
	static const struct {
		size_t n_allow;
		const char *source;
		bool allowed;
	} rows[] = {
		/* without a list: the devices */
		{0, "192.0.2.1", true},
		{0, "192.0.2.2", true},
		{0, "10.0.0.9", true},
		{0, "2001:db8::3", true},
		{0, "192.0.2.3", false},
		{0, "2001:db8::4", false},
		{0, "127.0.0.1", false},
		/* with one: those in it and nobody else, not even a device */
		{2, "198.51.100.7", true},
		{2, "2001:db8:1::7", true},
		{2, "198.51.101.7", false},
		{2, "192.0.2.1", false},
		{2, "10.0.0.9", false},
	};
	const struct collector_lookup lookup = {.peer = resolved};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct config_capture capture = {.allow = list, .n_allow = rows[i].n_allow};
		struct datagram_senders *agents = datagram_senders_new(&config, &capture, &lookup);
		if (datagram_senders_allow(agents, hash_bytes_of(rows[i].source)) !=
			rows[i].allowed)
			fail_msg("%s with %zu networks is %s", rows[i].source, rows[i].n_allow,
				rows[i].allowed ? "refused" : "allowed");
		datagram_senders_free(agents);
	}
}

static void test_named(void **state)
{
	static const struct {
		const char *name;
		uint32_t number;
	} rows[] = {
		{"leaf1.pod.example", 1},
		{"LEAF1", 1},
		{"leaf2", 2},
		{"leaf", SENDER_NONE},
		{"leaf11", SENDER_NONE},
		{"twin", SENDER_NONE}, /* of two devices: of neither */
		{"twin.pod.example", SENDER_NONE},
		{"", SENDER_NONE},
	};
	struct push_senders *senders = push_senders_new(&config);
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (push_senders_named(senders, rows[i].name, strlen(rows[i].name)) !=
			rows[i].number)
			fail_msg("'%s'", rows[i].name);
	enum sender_by by;
	assert_int_equal(push_senders_find(senders, hash_bytes_of("192.0.2.1"), NULL, 0, &by), 1);
	assert_int_equal(
		push_senders_find(senders, hash_bytes_of("192.0.2.2"), NULL, 0, &by), SENDER_NONE);
	assert_true(push_senders_address(senders, hash_bytes_of("192.0.2.1")));
	assert_false(push_senders_address(senders, hash_bytes_of("192.0.2.9")));
	push_senders_free(senders);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
