/* test_live - AgentX on the wire and the tables of the faces, without snmpd. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/fabric/live_tables.h"

/* ---- tables -------------------------------------------------------------- */

static void two_ports(struct live_switch *s, struct live_port *ports, const char *face)
{
	memset(ports, 0, 2 * sizeof(*ports));
	*s = (struct live_switch){
		.face = live_face_find(face), .name = "leaf1", .ports = ports, .n_ports = 2};
	assert_non_null(s->face);
	for (unsigned i = 0; i < 2; i++) {
		ports[i].number = i + 1;
		ports[i].index = s->face->first_index + i * s->face->index_step;
		snprintf(ports[i].native, sizeof(ports[i].native), "Ethernet%u", i + 1);
		snprintf(ports[i].name, sizeof(ports[i].name), "Ethernet%u", i + 1);
	}
}

static bool number(const struct live_switch *s, const char *oid, uint64_t *ret)
{
	struct agentx_oid name;
	struct agentx_value v;
	assert_true(agentx_oid_read(oid, &name));
	if (!live_switch_get(s, &name, &v))
		return false;
	*ret = v.number;
	return true;
}

static void values_are_where_vendors_have_them(void **state)
{
	static const struct {
		const char *what, *face, *metric, *value, *oid;
		int priority;
		uint64_t expected;
	} rows[] = {
		{"64 bits", "nxos", "port.in_octets", "18446744073709551615",
			"1.3.6.1.2.1.31.1.1.1.6.436207616", -1, UINT64_MAX},
		{"speed in Mb/s", "cumulus", "port.speed_bps", "400000000000",
			"1.3.6.1.2.1.31.1.1.1.15.3", -1, 400000},
		{"ifSpeed saturates", "cumulus", "port.speed_bps", "400000000000",
			"1.3.6.1.2.1.2.2.1.5.3", -1, UINT32_MAX},
		{"down is 2", "eos", "port.oper_up", "0", "1.3.6.1.2.1.2.2.1.8.1", -1, 2},
		{"sent are Requests", "nxos", "pfc.tx_frames", "7",
			"1.3.6.1.4.1.9.9.813.1.2.1.2.436207616.3", 3, 7},
		{"received are Indications", "sonic", "pfc.rx_frames", "8",
			"1.3.6.1.4.1.9.9.813.1.2.1.3.2.3", 3, 8},
		{"pause in us", "nxos", "pfc.rx_pause_ns", "1234567",
			"1.3.6.1.4.1.9.9.813.1.4.1.2.436207616.3", 3, 1234},
		{"peaks in cells, none cut off", "nxos", "pg.shared_watermark_bytes", "209",
			"1.3.6.1.4.1.9.9.580.1.5.6.1.6.436207616.3", 3, 2},
		{"SONiC's queues from 1", "sonic", "queue.out_octets", "9",
			"1.3.6.1.4.1.9.9.580.1.5.5.1.4.2.2.4.2", 3, 9},
		{"NX-OS's from 0", "nxos", "queue.out_octets", "9",
			"1.3.6.1.4.1.9.9.580.1.5.5.1.4.436207616.2.3.2", 3, 9},
		{"a priority is a column", "cumulus", "pfc.tx_frames", "5",
			"1.3.6.1.4.1.40310.2.2.3.1.11.3", 3, 5},
		{"marks", "eos", "queue.ecn_marked", "6", "1.3.6.1.4.1.30065.3.13.1.9.1.4.1.3", 3,
			6},
	};
	(void)state;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct live_switch s;
		struct live_port ports[2];
		uint64_t got = 0;
		two_ports(&s, ports, rows[i].face);
		assert_true(live_switch_take(
			&s, "Ethernet1", rows[i].priority, rows[i].metric, rows[i].value));
		live_switch_build(&s);
		if (!number(&s, rows[i].oid, &got) || got != rows[i].expected)
			fail_msg("%s: %s is %llu, expected %llu", rows[i].what, rows[i].oid,
				(unsigned long long)got, (unsigned long long)rows[i].expected);
		live_switch_done(&s);
	}
}

static void what_a_face_does_not_have_is_no_instance(void **state)
{
	struct live_switch s;
	struct live_port ports[2];
	uint64_t v;
	(void)state;
	two_ports(&s, ports, "sonic");
	/* known to the simulation, but SONiC has no table for it */
	live_switch_take(&s, "Ethernet1", 3, "pfc.rx_pause_ns", "5");
	live_switch_build(&s);
	assert_false(number(&s, "1.3.6.1.4.1.9.9.813.1.4.1.2.2.3", &v));
	assert_false(number(&s, "1.3.6.1.2.1.31.1.1.1.6.2", &v)); /* never told */
	assert_false(live_switch_take(&s, "Ethernet3", -1, "port.in_octets", "1"));
	assert_false(live_switch_take(&s, "mgmt0", -1, "port.in_octets", "1"));
	assert_false(live_switch_take(&s, "Ethernet1", -1, "steps.period", "1"));
	live_switch_done(&s);
}

static void walking_goes_up_and_visits_all(void **state)
{
	struct live_switch s;
	struct live_port ports[2];
	struct agentx_oid at = {1, {1}}, name, end = {0};
	struct agentx_value v;
	size_t n = 0;
	(void)state;
	two_ports(&s, ports, "nxos");
	live_switch_take(&s, "Ethernet2", 3, "pfc.rx_frames", "5");
	live_switch_build(&s);
	for (; live_switch_next(&s, &at, false, &end, &name, &v); at = name, n++)
		assert_true(agentx_oid_order(&at, &name) < 0);
	assert_int_equal(n, s.n_instances);
	/* bounds: itself when included, nothing at or past the end */
	agentx_oid_read("1.3.6.1.4.1.9.9.813.1.2.1.3.436208128.3", &at);
	agentx_oid_read("1.3.6.1.4.1.9.9.813.1.2.1.3.436208128.4", &end);
	assert_true(live_switch_next(&s, &at, true, &end, &name, &v));
	assert_int_equal(agentx_oid_order(&at, &name), 0);
	assert_false(live_switch_next(&s, &at, false, &end, &name, &v));
	live_switch_done(&s);
}

/* ---- the wire ------------------------------------------------------------ */

/* Two instances: 1.3.6.1.2.1.2.1.0 = 42, and .2.0 a text of five octets. */
static const struct agentx_oid first = {9, {1, 3, 6, 1, 2, 1, 2, 1, 0}},
			       second = {9, {1, 3, 6, 1, 2, 1, 2, 2, 0}};
static bool get(void *data, const struct agentx_oid *name, struct agentx_value *ret)
{
	(void)data;
	if (agentx_oid_order(name, &first) == 0)
		*ret = (struct agentx_value){.type = AGENTX_COUNTER64, .number = 0x100000002aULL};
	else if (agentx_oid_order(name, &second) == 0)
		*ret = (struct agentx_value){.type = AGENTX_OCTETS, .text = "leaf1", .n_text = 5};
	else
		return false;
	return true;
}
static bool next(void *data, const struct agentx_oid *name, bool include,
	const struct agentx_oid *end, struct agentx_oid *ret_name, struct agentx_value *ret)
{
	const struct agentx_oid *all[] = {&first, &second};
	for (size_t i = 0; i < 2; i++) {
		const int c = agentx_oid_order(all[i], name);
		if ((c > 0 || (c == 0 && include)) &&
			(!end->n || agentx_oid_order(all[i], end) < 0)) {
			*ret_name = *all[i];
			return get(data, ret_name, ret);
		}
	}
	return false;
}
static const struct agentx_ops ops = {get, next};

struct wire {
	struct agentx x;
	int master;
	uint8_t in[512];
	size_t n;
};
static void wire_open(struct wire *w)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*w = (struct wire){.x = {.fd = fds[0], .ops = &ops}, .master = fds[1]};
}
static void wire_close(struct wire *w)
{
	agentx_close(&w->x);
	close(w->master);
}
static void put32(struct wire *w, uint32_t v, bool big)
{
	for (unsigned i = 0; i < 4; i++)
		w->in[w->n++] = (uint8_t)(v >> (big ? 24 - 8 * i : 8 * i));
}
static void put_header(struct wire *w, uint8_t type, uint8_t flags, uint32_t length)
{
	const uint8_t head[] = {1, type, flags, 0};
	w->n = 0;
	memcpy(w->in, head, 4);
	w->n = 4;
	for (unsigned i = 0; i < 3; i++)
		put32(w, 7 + i, flags & 0x10);
	put32(w, length, flags & 0x10);
}
static void put_oid(struct wire *w, uint8_t prefix, const uint32_t *v, uint8_t n, bool big)
{
	w->in[w->n++] = n;
	w->in[w->n++] = prefix;
	w->in[w->n++] = 0;
	w->in[w->n++] = 0;
	for (uint8_t i = 0; i < n; i++)
		put32(w, v[i], big);
}
static int ask(struct wire *w, uint8_t *answer, size_t size, size_t *ret_n)
{
	assert_int_equal(send(w->master, w->in, w->n, 0), w->n);
	const int rc = agentx_serve(&w->x);
	const ssize_t n = recv(w->master, answer, size, MSG_DONTWAIT);
	*ret_n = n < 0 ? 0 : (size_t)n;
	return rc;
}

static void getnext_in_either_byte_order(void **state)
{
	(void)state;
	for (unsigned big = 0; big < 2; big++) {
		struct wire w;
		uint8_t a[256];
		size_t n;
		wire_open(&w);
		put_header(&w, 6, big ? 0x10 : 0, 4 + 3 * 4 + 4);
		/* 1.3.6.1.2 and 1.2.1: before the first one */
		put_oid(&w, 2, (const uint32_t[]){1, 2, 1}, 3, big);
		put_oid(&w, 0, NULL, 0, big);
		assert_int_equal(ask(&w, a, sizeof(a), &n), 0);
		/* header, time, error and index, then a Counter64 of 1.3.6.1.2.1.2.1.0 */
		assert_int_equal(n, 20 + 8 + 4 + 4 + 9 * 4 + 8);
		assert_int_equal(a[1], 18);
		assert_int_equal(a[2], 0x10);
		assert_memory_equal(a + 20 + 4, "\0\0\0\0", 4);
		assert_memory_equal(a + 28, "\0\x46", 2);
		assert_memory_equal(a + n - 8, "\0\0\0\x10\0\0\0\x2a", 8);
		wire_close(&w);
	}
}

static void getbulk_ends_with_the_view(void **state)
{
	struct wire w;
	uint8_t a[512];
	size_t n;
	(void)state;
	wire_open(&w);
	put_header(&w, 7, 0x10, 4 + 4 + 4);
	put32(&w, 3, true); /* no repeater apart, three repetitions */
	put_oid(&w, 0, NULL, 0, true);
	put_oid(&w, 0, NULL, 0, true);
	assert_int_equal(ask(&w, a, sizeof(a), &n), 0);
	/* number, text padded to 8, endOfMibView */
	assert_int_equal(n, 28 + (8 + 36 + 8) + (8 + 36 + 4 + 8) + (8 + 36));
	assert_memory_equal(a + 28 + 52 + 8 + 36, "\0\0\0\5leaf1\0\0\0", 12);
	assert_memory_equal(a + 28 + 52 + 56, "\0\x82", 2);
	wire_close(&w);
}

static void setting_is_refused(void **state)
{
	struct wire w;
	uint8_t a[256];
	size_t n;
	(void)state;
	wire_open(&w);
	put_header(&w, 8, 0x10, 0);
	assert_int_equal(ask(&w, a, sizeof(a), &n), 0);
	assert_int_equal(n, 28);
	assert_int_equal(a[25], 17); /* notWritable */
	wire_close(&w);
}

static void what_is_no_agentx_ends_the_session(void **state)
{
	static const struct {
		const char *what;
		uint8_t version, type;
		uint32_t length;
		int rc;
	} rows[] = {{"another version", 2, 5, 0, -71}, {"two megabytes", 1, 5, 2 << 20, -71},
		{"a length that no PDU has", 1, 5, 6, -71}, {"the master closes", 1, 2, 0, -32}};
	(void)state;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct wire w;
		uint8_t a[256];
		size_t n;
		wire_open(&w);
		put_header(&w, rows[i].type, 0x10, rows[i].length);
		w.in[0] = rows[i].version;
		if (ask(&w, a, sizeof(a), &n) != rows[i].rc)
			fail_msg("%s: not %d", rows[i].what, rows[i].rc);
		wire_close(&w);
	}
}

/* An OID that says it is longer than the PDU: an error in the answer, and no step past the end (the
 * sanitizers watch). */
static void a_cut_pdu_is_a_parse_error(void **state)
{
	struct wire w;
	uint8_t a[256];
	size_t n;
	(void)state;
	wire_open(&w);
	put_header(&w, 5, 0x10, 8);
	put_oid(&w, 2, (const uint32_t[]){1}, 1, true);
	w.in[20] = 200;
	assert_int_equal(ask(&w, a, sizeof(a), &n), 0);
	assert_int_equal(n, 28);
	assert_memory_equal(a + 24, "\x01\x0a", 2); /* parseError, 266 */
	/* half a PDU is waited for */
	put_header(&w, 6, 0x10, 8);
	assert_int_equal(ask(&w, a, sizeof(a), &n), 0);
	assert_int_equal(n, 0);
	wire_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_where_vendors_have_them),
		cmocka_unit_test(what_a_face_does_not_have_is_no_instance),
		cmocka_unit_test(walking_goes_up_and_visits_all),
		cmocka_unit_test(getnext_in_either_byte_order),
		cmocka_unit_test(getbulk_ends_with_the_view),
		cmocka_unit_test(setting_is_refused),
		cmocka_unit_test(what_is_no_agentx_ends_the_session),
		cmocka_unit_test(a_cut_pdu_is_a_parse_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
