/* gnmi_codec: requests byte for byte, responses from bytes written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "tests/unit/collectors/gnmi/gnmi_messages.h"
#include "tests/unit/proto/gnmi_wire.h"

static void log_update(void *arg, const struct gnmi_update *u)
{
	wire_text(arg, u);
}

static const char *text_of(const struct str *s)
{
	return s->s ? s->s : "";
}

static void must_be(const char *what, const struct gnmi_bytes *got, const char *wire)
{
	rw_cleanup(str_done) struct str expected = {0}, hex = {0};
	wire_add(&expected, wire);
	for (size_t i = 0; i < got->n; i++)
		str_addf(&hex, "%02x", got->p[i]);
	if (got->n != expected.n || (got->n && memcmp(got->p, expected.s, got->n) != 0))
		fail_msg("%s: %s", what, text_of(&hex));
}

static const struct {
	const char *what;
	struct gnmi_subscribe s;
	const char *wire;
} subscribes[] = {
	{"SAMPLE, whatever is empty left out",
		{.encoding = GNMI_ENC_PROTO,
			.v = &(struct gnmi_subscription){.path = "/a/b[k=v]",
				.mode = GNMI_SAMPLE,
				.sample_ns = 10000000000},
			.n = 1},
		"0a( 12( 0a( 1a( 0a('a') ) 1a( 0a('b') 12( 0a('k') 12('v') ) ) ) 10 02 18 "
		"v10000000000 ) 40 02 )"},
	{"ON_CHANGE with a heartbeat, target and origin in the prefix",
		{.where = {.target = "leaf1", .origin = "openconfig", .prefix = ""},
			.encoding = GNMI_ENC_JSON_IETF,
			.v = &(struct gnmi_subscription){.path = "a",
				.mode = GNMI_ON_CHANGE,
				.heartbeat_ns = 1,
				.suppress_redundant = true},
			.n = 1},
		"0a( 0a( 12('openconfig') 22('leaf1') ) 12( 0a( 1a( 0a('a') ) ) 10 01 20 01 28 01 "
		") 40 04 )"},
	{"origin in the paths",
		{.where = {.origin = "native", .origin_in_paths = true},
			.v = &(struct gnmi_subscription){.path = "a", .mode = GNMI_SAMPLE},
			.n = 1},
		"0a( 12( 0a( 12('native') 1a( 0a('a') ) ) 10 02 ) )"},
	{"a prefix, two paths, ONCE",
		{.where = {.prefix = "/p"},
			.mode = GNMI_ONCE,
			.v = (const struct gnmi_subscription[]){{.path = "/a\\/b"}, {.path = "/"}},
			.n = 2},
		"0a( 0a( 1a( 0a('p') ) ) 12( 0a( 1a( 0a('a/b') ) ) ) 12( 0a() ) 28 01 )"},
	{"POLL", {.mode = GNMI_POLL, .v = &(struct gnmi_subscription){.path = "a"}, .n = 1},
		"0a( 12( 0a( 1a( 0a('a') ) ) ) 28 02 )"},
};

static void test_requests(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_bytes got;
	struct err e = {0};

	for (size_t i = 0; i < rw_countof(subscribes); i++) {
		assert_int_equal(gnmi_encode_subscribe(&subscribes[i].s, a, &got, &e), 0);
		must_be(subscribes[i].what, &got, subscribes[i].wire);
	}
	gnmi_encode_poll(a, &got);
	must_be("a poll", &got, "1a()");
	gnmi_encode_capabilities(a, &got);
	must_be("capabilities", &got, "");
	const char *const paths[] = {"/a", "/b"};
	struct gnmi_get get = {.where = {.target = "CONFIG_DB"},
		.type = GNMI_CONFIG,
		.encoding = GNMI_ENC_JSON_IETF,
		.paths = paths,
		.n = 2};
	assert_int_equal(gnmi_encode_get(&get, a, &got, &e), 0);
	must_be("get", &got,
		"0a( 22('CONFIG_DB') ) 12( 1a( 0a('a') ) ) 12( 1a( 0a('b') ) ) 18 01 28 04");

	struct gnmi_subscription bad = {.path = "/a[k"};
	assert_int_equal(
		gnmi_encode_subscribe(&(struct gnmi_subscribe){.v = &bad, .n = 1}, a, &got, &e),
		-EINVAL);
	assert_non_null(strstr(e.text, "/a[k"));
	assert_int_equal(gnmi_encode_subscribe(
				 &(struct gnmi_subscribe){.where = {.prefix = "//"}}, a, &got, &e),
		-EINVAL);
}

static void test_messages(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(gnmi_messages); i++) {
		const struct gnmi_message *m = &gnmi_messages[i];
		rw_cleanup(str_done) struct str bytes = {0}, got = {0};
		struct gnmi_counts counts = {0};
		struct gnmi_decode d = {
			.plain_names = m->plain, .fn = log_update, .arg = &got, .counts = &counts};
		wire_add(&bytes, m->wire);
		int r = gnmi_decode_subscribe(bytes.s, bytes.n, &d, a);
		if (r != (m->text ? 0 : -EBADMSG) ||
			strcmp(text_of(&got), m->text ? m->text : "") != 0)
			fail_msg("%s: %d\n%s", m->what, r, text_of(&got));
		uint64_t count = *(const uint64_t *)((const char *)&counts + m->count);
		if (m->is && count != m->is)
			fail_msg("%s: counted %llu", m->what, (unsigned long long)count);
		assert_int_equal(counts.messages, 1);
		assert_int_equal(counts.bytes, bytes.n);
		arena_reset(a);
	}
}

static void test_get(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str bytes = {0}, got = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {.fn = log_update, .arg = &got, .counts = &counts};

	wire_add(&bytes,
		"0a(" SAYS("18 05") ") 0a(" T "12( 22('CONFIG_DB') )" LEAF(
			"5a('{\"a\":\"1\"}')") ") 12( 08 05 12('not all') )");
	assert_int_equal(gnmi_decode_get(bytes.s, bytes.n, &d, a), 0);
	assert_string_equal(
		text_of(&got), "/x = uint 5\n/x/a = string 1 target=CONFIG_DB\nerror 5 not all");
	assert_int_equal(counts.notifications, 2);
	assert_int_equal(gnmi_decode_get("", 0, &d, a), 0);
	assert_int_equal(counts.empty, 1);
	assert_int_equal(gnmi_decode_get("\x0a", 1, &d, a), -EBADMSG);
	assert_int_equal(counts.bad_messages, 1);
}

static void test_capabilities(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str bytes = {0};
	struct gnmi_capabilities c;

	/* Encodings packed, as proto3 has it, and one by one, as some send them; 99 is to come. */
	wire_add(&bytes,
		"0a( 0a('openconfig-qos') 12('OpenConfig') 1a('0.11.0') ) 0a( 0a('x') ) 12( 00 04 "
		") 10 02 10 63 1a('0.8.0') 9a06('new')");
	assert_int_equal(gnmi_decode_capabilities(bytes.s, bytes.n, a, &c), 0);
	assert_string_equal(c.version, "0.8.0");
	assert_int_equal(c.n_models, 2);
	assert_string_equal(c.models[0].name, "openconfig-qos");
	assert_string_equal(c.models[0].organization, "OpenConfig");
	assert_string_equal(c.models[0].version, "0.11.0");
	assert_string_equal(c.models[1].version, "");
	assert_int_equal(c.n_encodings, 4);
	assert_string_equal(gnmi_encoding_name(c.encodings[1]), "JSON_IETF");
	assert_string_equal(gnmi_encoding_name(c.encodings[3]), "unknown");
	assert_true(gnmi_capabilities_has(&c, GNMI_ENC_JSON) &&
		gnmi_capabilities_has(&c, GNMI_ENC_PROTO));
	assert_false(gnmi_capabilities_has(&c, GNMI_ENC_ASCII));
	assert_int_equal(gnmi_decode_capabilities("", 0, a, &c), 0);
	assert_string_equal(c.version, "");
	assert_int_equal(gnmi_decode_capabilities("\x1a\x05", 2, a, &c), -EBADMSG);
}

/* What is over a limit is refused whole, counted, and told from what is not protobuf. */
static void test_limits(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str got = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {.fn = log_update, .arg = &got, .counts = &counts};
	const size_t n = 8u << 20;
	rw_cleanup(freep) uint8_t *many = rw_calloc(1, n + 5),
				  *large = rw_calloc(1, GNMI_MESSAGE_MAX + 1);

	assert_int_equal(gnmi_decode_subscribe(large, GNMI_MESSAGE_MAX + 1, &d, a), -EMSGSIZE);
	/* Four million empty deletes: small on the wire, half a gigabyte unpacked. */
	memcpy(many, "\x0a\x80\x80\x80\x04", 5);
	for (size_t i = 0; i < n; i += 2)
		many[5 + i] = 0x2a;
	assert_int_equal(gnmi_decode_subscribe(many, n + 5, &d, a), -EMSGSIZE);
	assert_int_equal(counts.large_messages, 2);
	assert_int_equal(counts.bad_messages, 0);
	assert_int_equal(counts.updates + counts.deletes, 0);
	assert_null(got.s);
}

/* Leaf-lists inside each other, ten thousand deep: a decoder that follows them ends its stack. */
static void test_deep_lists(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str value = {0}, bytes = {0}, got = {0};
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {.fn = log_update, .arg = &got, .counts = &counts};

	wire_add(&value, "18 05");
	for (int i = 0; i < 10000; i++) {
		struct str element = {0}, list = {0};
		str_add(&element, "\x0a");
		wire_varint(&element, value.n);
		str_addn(&element, value.s, value.n);
		str_add(&list, "\x42");
		wire_varint(&list, element.n);
		str_addn(&list, element.s, element.n);
		str_done(&value);
		str_done(&element);
		value = list;
	}
	struct str update = {0}, notification = {0};
	str_add(&update, "\x1a");
	wire_varint(&update, value.n);
	str_addn(&update, value.s, value.n);
	str_add(&notification, "\x22");
	wire_varint(&notification, update.n);
	str_addn(&notification, update.s, update.n);
	str_add(&bytes, "\x0a");
	wire_varint(&bytes, notification.n);
	str_addn(&bytes, notification.s, notification.n);
	str_done(&update);
	str_done(&notification);
	assert_int_equal(gnmi_decode_subscribe(bytes.s, bytes.n, &d, a), 0);
	assert_int_equal(counts.bad_lists, 1);
	assert_null(got.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_deep_lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
