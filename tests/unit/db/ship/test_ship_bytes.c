/* What goes over the wire to other systems, byte by byte and without their servers: the series of
 * remote write, the packing of Snappy, values of ClickHouse, the file that says how far a sink is,
 * and which range is sent after a start. */
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/curl_io.h"
#include "base/str.h"
#include "db/clickhouse/ch_client.h"
#include "db/open.h"
#include "db/ship/ship.h"
#include "db/ship/ship_sink.h"
#include "db/store/store.h"
#include "tests/deadline.h"
#include "tests/unit/db/db_world.h"

#include "tests/unit/agent/alert/http_sink.h"

/* ---- Snappy ------------------------------------------------------------------------- */

/* As the description of the format says; fails the test at anything else. */
static void snappy_unpack(const struct str *packed, struct str *ret)
{
	const uint8_t *p = (const uint8_t *)packed->s, *end = p + packed->n;
	size_t n = 0;
	for (unsigned shift = 0;; shift += 7) {
		n |= (size_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80))
			break;
	}
	while (p < end) {
		const uint8_t tag = *p++;
		size_t length = tag >> 2;
		if ((tag & 3) == 0) {
			if (length >= 60) {
				const size_t extra = length - 59;
				length = 0;
				for (size_t i = 0; i < extra; i++)
					length |= (size_t)*p++ << (8 * i);
			}
			assert_true(length + 1 <= (size_t)(end - p));
			str_addn(ret, (const char *)p, length + 1);
			p += length + 1;
			continue;
		}
		assert_int_equal(tag & 3, 2);
		const size_t offset = p[0] | (size_t)p[1] << 8;
		p += 2;
		assert_true(offset > 0 && offset <= ret->n);
		for (size_t i = 0; i <= length; i++) {
			const char byte = ret->s[ret->n - offset];
			str_addn(ret, &byte, 1);
		}
	}
	assert_int_equal(ret->n, n);
}

static void test_snappy(void **state)
{
	static const size_t sizes[] = {
		0, 1, 3, 4, 59, 60, 61, 62, 255, 256, 257, 65536, 65537, 70000, 140000};
	for (size_t k = 0; k < rw_countof(sizes); k++)
		for (int kind = 0; kind < 3; kind++) {
			rw_cleanup(str_done) struct str data = {0}, packed = {0}, again = {0};
			uint32_t x = 12345;
			for (size_t i = 0; i < sizes[k]; i++) {
				x = x * 1664525 + 1013904223;
				char byte = (char)(x >> 24); /* nothing comes twice */
				if (kind == 1)
					byte = 'a';
				else if (kind == 2 &&
					i >= 69000) /* what stood 69000 bytes before */
					byte = data.s[i - 69000];
				str_addn(&data, &byte, 1);
			}
			snappy_pack(str_or(data.s, ""), data.n, &packed);
			snappy_unpack(&packed, &again);
			if (data.n && memcmp(data.s, again.s, data.n) != 0)
				fail_msg("%zu bytes, kind %d", sizes[k], kind);
			if (kind == 1 && sizes[k] > 1000)
				assert_true(packed.n < data.n / 10);
		}
}

/* ---- remote write ------------------------------------------------------------------- */

static uint64_t take_varint(const uint8_t **p)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		value |= (uint64_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return value;
	}
}

/* "name=value,..." of a label's bytes. */
static void tell_label(const uint8_t *p, const uint8_t *end, struct str *out)
{
	while (p < end) {
		const uint64_t field = take_varint(&p), n = take_varint(&p);
		str_addf(out, "%.*s%s", (int)n, (const char *)p, field >> 3 == 1 ? "=" : ",");
		p += n;
	}
}

static void tell_sample(const uint8_t *p, struct str *out)
{
	double value;
	assert_int_equal(take_varint(&p), 1 << 3 | 1);
	memcpy(&value, p, sizeof(value));
	p += 8;
	assert_int_equal(take_varint(&p), 2 << 3 | 0);
	str_addf(out, " %g@%lld", value, (long long)(take_varint(&p) - T0 / NS_PER_MS));
}

/* A line for each series: labels, then value@millisecond after T0. */
static void tell(const struct str *request, struct str *out)
{
	const uint8_t *p = (const uint8_t *)request->s, *end = p + request->n;
	str_add(out, "");
	while (p < end) {
		assert_int_equal(take_varint(&p), 1 << 3 | 2);
		const uint64_t size = take_varint(&p);
		for (const uint8_t *series = p + size; p < series;) {
			const uint64_t field = take_varint(&p), n = take_varint(&p);
			if (field >> 3 == 1)
				tell_label(p, p + n, out);
			else
				tell_sample(p, out);
			p += n;
		}
		str_add(out, "\n");
	}
}

static struct sample value_at(int64_t ms, uint32_t name, unsigned metric, uint64_t value)
{
	return sample_at(T0 + ms * NS_PER_MS, name, metric, value, 0);
}

static void test_series(void **state)
{
	static const struct spool_name names[] = {{"leaf1", "e1", PRIO_NONE}, {"leaf1", "e1", 3},
		{"leaf1", "e1", 4}, {"leaf1", "", PRIO_NONE}};
	struct sample v[] = {
		value_at(2000, 0, M_PORT_IN_OCTETS, 20),
		value_at(1000, 0, M_PORT_IN_OCTETS, 10), /* in order of time */
		value_at(1000, 1, M_PFC_RX_FRAMES, 3),
		value_at(1000, 2, M_PFC_RX_FRAMES, 4), /* another priority, another series */
		value_at(1000, 0, M_PORT_OUT_OCTETS, 7),
		value_at(2000, 0, M_PORT_OUT_OCTETS, 8), /* suspect */
		value_at(3000, 0, M_CFG_TRUST, 0), /* a text */
		value_at(4000, 0, M_PORT_IN_OCTETS, 40),
		value_at(
			4000, 0, M_PORT_IN_OCTETS, 41), /* the same millisecond: the first counts */
	};
	v[5].flags = SF_SUSPECT;
	const struct spool_samples samples = {
		.names = names, .n_names = 4, .v = v, .n = rw_countof(v)};
	const struct spool_chunk chunk = {.samples = &samples};
	struct spool_part part = {.seq = 1, .chunks = &chunk, .n = 1};
	const struct spool_batch batch = {.parts = &part, .n = 1, .n_samples = rw_countof(v)};
	rw_cleanup(str_done) struct str request = {0}, told = {0};
	assert_int_equal(remote_write_request(&batch, "noc", &request), 6);
	tell(&request, &told);
	assert_string_equal(told.s,
		"__name__=rocewatch_port_in_octets,agent=noc,device=leaf1,port=e1, 10@1000 20@2000 "
		"40@4000\n"
		"__name__=rocewatch_port_out_octets,agent=noc,device=leaf1,port=e1, 7@1000\n"
		"__name__=rocewatch_pfc_rx_frames,agent=noc,device=leaf1,port=e1,priority=3, "
		"3@1000\n"
		"__name__=rocewatch_pfc_rx_frames,agent=noc,device=leaf1,port=e1,priority=4, "
		"4@1000\n");
}

/* Nothing to send is no request. */
static void test_nothing(void **state)
{
	static const struct spool_name names[] = {{"leaf1", "e1", PRIO_NONE}};
	struct sample v[] = {value_at(0, 0, M_CFG_TRUST, 0),
		sample_at(-NS_PER_S, 0, M_PORT_IN_OCTETS, 1, 0),
		value_at(0, 0, M_CFG_CABLE, sample_of_f64(NAN))};
	const struct spool_samples samples = {.names = names, .n_names = 1, .v = v, .n = 3};
	const struct spool_chunk chunk = {.samples = &samples};
	struct spool_part part = {.seq = 1, .chunks = &chunk, .n = 1};
	const struct spool_batch batch = {.parts = &part, .n = 1, .n_samples = 3};
	rw_cleanup(str_done) struct str request = {0};
	assert_int_equal(remote_write_request(&batch, "noc", &request), 0);
	assert_int_equal(request.n, 0);
}

/* ---- the cursor --------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A file that is not whole says nothing: what is sent again is dropped by its numbers, what is left
 * out would be lost. */
static void test_cursor(void **state)
{
	static const char *const damaged[] = {
		"", "rocewatch-ship 1\nsent 40\n", "rocewatch-ship 2\nsent 40\nflight 41\n", "x"};
	struct db_world w;
	struct ship_cursor cursor = {.sent = 7, .flight = 7};
	struct err e = {0};
	world_init(&w);
	assert_int_equal(ship_cursor_read(w.path, &cursor, &e), 0);
	assert_true(cursor.sent == 0 && cursor.flight == 0); /* none is there */
	assert_int_equal(
		ship_cursor_write(w.path, &(struct ship_cursor){.sent = 40, .flight = 41}, &e), 0);
	assert_int_equal(ship_cursor_read(w.path, &cursor, &e), 0);
	assert_true(cursor.sent == 40 && cursor.flight == 41);
	for (size_t i = 0; i < rw_countof(damaged); i++) {
		put(w.path, damaged[i]);
		assert_int_equal(ship_cursor_read(w.path, &cursor, &e), 0);
		assert_true(cursor.sent == 0 && cursor.flight == 0);
	}
	assert_true(ship_cursor_write("/nonexistent/x", &cursor, &e) < 0);
	assert_non_null(strstr(e.text, "/nonexistent/x"));
	world_done(&w);
}

/* ---- ClickHouse's values ------------------------------------------------------------- */

static void test_rowbinary(void **state)
{
	static const size_t lengths[] = {0, 1, 127, 128, 300, 16383, 16384};
	struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(lengths); i++) {
		rw_cleanup(str_done) struct str out = {0};
		char *text = arena_alloc(a, lengths[i] + 1);
		memset(text, 't', lengths[i]);
		text[lengths[i]] = '\0';
		rowbinary_put_text(&out, text);
		rowbinary_put_fixed(&out, 0x0123456789abcdef, 8);
		rowbinary_put_fixed(&out, 0x1234, 2);
		rowbinary_put_null(&out, true);
		rowbinary_put_null(&out, false);
		rowbinary_put_f64(&out, -2.5);
		assert_int_equal((uint8_t)out.s[out.n - 20], 0xef); /* the little end first */
		struct bytes in = bytes_of(out.s, out.n);
		assert_string_equal(rowbinary_get_text(&in, a), text);
		assert_true(rowbinary_get_fixed(&in, 8) == 0x0123456789abcdef);
		assert_int_equal(rowbinary_get_fixed(&in, 2), 0x1234);
		assert_true(rowbinary_get_null(&in));
		assert_false(rowbinary_get_null(&in));
		assert_true(rowbinary_get_f64(&in) == -2.5);
		assert_true(bytes_ok(&in) && bytes_left(&in) == 0);
		rowbinary_get_fixed(&in, 1); /* there is no more */
		assert_false(bytes_ok(&in));
	}
	arena_free(a);
}

/* ---- after a start ------------------------------------------------------------------- */

/* Three rows of the spool; the cursor says that the first two were under way. */
static void ship_three(int dropped, size_t requests)
{
	struct db_world w;
	struct http_sink sink;
	struct store *store;
	struct err e = {0};
	char url[64], cursor[128];
	world_init(&w);
	sink_init(&sink);
	sink_begin(&sink);
	struct entities *entities = entities_new();
	const struct store_options o = {.path = w.path, .spool = true, .replay = true};
	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	const uint32_t port = entities_intern(entities, "leaf1", "e1", PRIO_NONE);
	while (world_int(&w, "SELECT count(*) FROM sqlite_master WHERE name='spool'") == 0 ||
		world_int(&w, "SELECT count(*) FROM spool") < 3) {
		static int second;
		const struct sample s = sample_at(SECONDS(second++), port, M_PORT_IN_OCTETS, 1, 0);
		store_samples(store, &s, 1);
		assert_int_equal(store_flush(store, &e), 0);
	}
	const int64_t first = world_int(&w, "SELECT min(id) FROM spool");
	snprintf(cursor, sizeof(cursor), "%s.ship-x", w.path);
	assert_int_equal(ship_cursor_write(cursor,
				 &(struct ship_cursor){.sent = first - 1, .flight = first + 1}, &e),
		0);
	if (dropped)
		world_exec(&w, "DELETE FROM spool WHERE id < (SELECT max(id) FROM spool)");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", sink.port);
	const struct ship_options options = {.kind = SHIP_REMOTE_WRITE,
		.name = "x",
		.store_path = w.path,
		.url = url,
		.agent = "noc",
		.timeout_ns = 20 * NS_PER_S,
		.interval_ns = 5 * NS_PER_MS,
		.retry_ns = 5 * NS_PER_MS};
	struct ship *ship = ship_start(&options);
	deadline_begin("ship_done(): that all rows of the spool are at the sink");
	while (ship_done(ship) < first + 2)
		usleep(2000);
	deadline_end();
	ship_stop(ship);
	assert_int_equal(sink_count(&sink), requests);
	store_close(store);
	entities_free(entities);
	sink_done(&sink);
	unlink(cursor);
	world_done(&w);
}

/* The range under way is sent again as it was, for the receiver may have it; what came later is
 * another request. What the spool has dropped meanwhile is not waited for. */
static void test_the_range_under_way(void **state)
{
	ship_three(false, 2);
	ship_three(true, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snappy),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_rowbinary),
		cmocka_unit_test(test_the_range_under_way),
	};
	curl_io_begin();
	setenv("NO_PROXY", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
