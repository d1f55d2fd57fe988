/* What goes into the spool's bytes comes out; bytes that are cut or changed are refused or
 * harmless; Snappy's and RowBinary's forms are what their descriptions say. */
#include <errno.h>
#include <math.h>

#include "tests/unit/db/db_world.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "db/clickhouse/ch_client.h"
#include "db/ship/ship_sink.h"
#include "db/store/spool.h"

static const struct spool_name names[] = {{"leaf1", "", PRIO_NONE}, {"leaf1", "eth1", 7}};
static const char *const texts[] = {"dscp", ""};

static void make(struct str *packed, const struct sample *v, size_t n)
{
	rw_cleanup(str_done) struct str bytes = {0};
	const struct spool_samples samples = {names, 2, texts, 2, v, n};
	struct store_record record = {.kind = RECORD_INCIDENT,
		.incident = {.id = "A1",
			.json = "{}",
			.priority = -1,
			.usd_total = NAN,
			.confidence = 0.5,
			.opened_ns = INT64_MIN}};
	struct spool_row row;
	spool_add_samples(&bytes, &samples);
	assert_true(spool_row_of_record(&record, &row));
	spool_add_row(&bytes, &row);
	spool_pack(&bytes, packed);
}

static void test_round(void **state)
{
	rw_cleanup(str_done) struct str packed = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct sample v[] = {
		sample_at(INT64_MAX, 0, M_PORT_IN_OCTETS, UINT64_MAX, SF_LATE),
		sample_at(INT64_MIN, 1, M_PORT_PRE_FEC_BER, sample_of_f64(-0.0), 0),
		sample_at(0, 0, M_CFG_TRUST, 1, SF_RESTART | SF_DECLARED),
	};
	struct spool_batch batch = {0};
	struct store_record record;
	make(&packed, v, 3);
	assert_int_equal(spool_batch_add(&batch, a, 5, packed.s, packed.n), 0);
	assert_int_equal(batch.n, 1);
	assert_int_equal(batch.n_samples, 3);
	const struct spool_samples *samples = batch.parts[0].chunks[0].samples;
	assert_memory_equal(samples->v, v, sizeof(v));
	assert_string_equal(samples->names[1].port, "eth1");
	assert_int_equal(samples->names[0].priority, PRIO_NONE);
	assert_string_equal(samples->texts[0], "dscp");
	assert_true(spool_record_of_row(batch.parts[0].chunks[1].row, &record));
	assert_string_equal(record.incident.id, "A1");
	assert_null(record.incident.cause);
	assert_true(isnan(record.incident.usd_total));
	assert_true(record.incident.opened_ns == INT64_MIN);
	assert_int_equal(record.incident.priority, -1);
}

static void test_damaged(void **state)
{
	rw_cleanup(str_done) struct str packed = {0};
	const struct sample v[] = {sample_at(1, 0, M_PORT_IN_OCTETS, 2, 0)};
	make(&packed, v, 1);
	for (size_t n = 0; n < packed.n; n++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct spool_batch batch = {0};
		assert_int_equal(spool_batch_add(&batch, a, 5, packed.s, n), -EBADMSG);
		assert_int_equal(batch.n, 0);
	}
	for (size_t i = 0; i < packed.n * 8; i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct spool_batch batch = {0};
		packed.s[i / 8] ^= (char)(1 << (i % 8));
		(void)spool_batch_add(&batch, a, 5, packed.s, packed.n);
		packed.s[i / 8] ^= (char)(1 << (i % 8));
	}
}

/* The description's own words: a literal of n bytes has the tag (n - 1) << 2; a copy of tag 2 has
 * its length - 1 in the upper six bits, then the offset. */
static void snappy_unpack(const struct str *in, struct str *out)
{
	const uint8_t *p = (const uint8_t *)in->s, *end = p + in->n;
	size_t n = 0;
	unsigned shift = 0;
	do {
		n |= (size_t)(*p & 0x7f) << shift;
		shift += 7;
	} while (*p++ & 0x80);
	while (p < end) {
		const unsigned tag = *p++;
		size_t length = (tag >> 2) + 1;
		if ((tag & 3) == 0 && length > 60) {
			const size_t extra = length - 60;
			length = 0;
			for (size_t i = 0; i < extra; i++)
				length |= (size_t)*p++ << (8 * i);
			length++;
		}
		if ((tag & 3) == 0) {
			str_addn(out, (const char *)p, length);
			p += length;
			continue;
		}
		assert_int_equal(tag & 3, 2);
		const size_t offset = p[0] | (size_t)p[1] << 8;
		p += 2;
		assert_true(offset > 0 && offset <= out->n);
		for (size_t i = 0; i < length; i++) {
			const char c = out->s[out->n - offset];
			str_addn(out, &c, 1);
		}
	}
	assert_int_equal(out->n, n);
}

static void test_snappy(void **state)
{
	static const size_t sizes[] = {0, 1, 4, 59, 60, 61, 62, 300, 70000, 200000};
	for (size_t i = 0; i < rw_countof(sizes); i++)
		for (unsigned spread = 1; spread < 300; spread += 83) {
			rw_cleanup(str_done) struct str data = {0}, packed = {0}, again = {0};
			uint64_t seed = sizes[i] + spread;
			str_add(&data, "");
			for (size_t k = 0; k < sizes[i]; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				str_addn(&data, &(char){(char)((seed >> 33) % spread)}, 1);
			}
			snappy_pack(data.s, data.n, &packed);
			snappy_unpack(&packed, &again);
			assert_int_equal(again.n, data.n);
			if (data.n > 0)
				assert_memory_equal(again.s, data.s, data.n);
		}
}

static void test_rowbinary(void **state)
{
	rw_cleanup(str_done) struct str out = {0}, text = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (int i = 0; i < 300; i++)
		str_add(&text, "x");
	rowbinary_put_fixed(&out, 0x0102, 2);
	rowbinary_put_null(&out, true);
	rowbinary_put_f64(&out, -1.5);
	rowbinary_put_text(&out, text.s);
	assert_memory_equal(out.s, "\x02\x01\x01", 3);
	assert_memory_equal(out.s + 11, "\xac\x02x", 3);
	struct bytes in = bytes_of(out.s, out.n);
	assert_int_equal(rowbinary_get_fixed(&in, 2), 0x0102);
	assert_true(rowbinary_get_null(&in));
	assert_true(rowbinary_get_f64(&in) == -1.5);
	assert_string_equal(rowbinary_get_text(&in, a), text.s);
	assert_true(bytes_ok(&in) && bytes_left(&in) == 0);
	in = bytes_of("\xff\xff\xff\xff\x0f", 5);
	assert_string_equal(rowbinary_get_text(&in, a), "");
	assert_false(bytes_ok(&in));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_snappy),
		cmocka_unit_test(test_rowbinary),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
