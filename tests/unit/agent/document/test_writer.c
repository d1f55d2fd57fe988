/* report: one document in every format; hostile text, missing values, full disks. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/document/writer.h"

static void json_freep(json_t **j)
{
	json_decref(*j);
}

static const struct column columns[] = {
	{"subject.device", "DEVICE", COL_TEXT, false},
	{"hosts[]", "HOSTS", COL_TEXT, false},
	{"share_ratio", "SHARE", COL_RATIO_PCT, true},
	{"octets", "OCTETS", COL_INT, true},
};
static const struct view view = {.title = "A & B",
	.rows = "rows",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.empty = "no rows today"};

static json_t *document(void)
{
	return json_pack("{s:s, s:[{s:{s:s}, s:[s,s], s:f, s:I}, {s:{s:s}, s:[], s:o, s:n}]}",
		"fabric", "f", "rows", "subject", "device", "leaf1", "hosts", "a", "b",
		"share_ratio", 0.2, "octets", (json_int_t)INT64_MAX, "subject", "device",
		"x,\"y\"|<b>\x1b[2J", "hosts", "share_ratio", json_number_or_null(NAN), "octets");
}

static char *print(
	const json_t *doc, const struct view *v, enum report_format f, bool header, bool color)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_int_equal(report_print(out, doc, v, f, header, color), 0);
	fclose(out);
	return text;
}

static void expect(
	const char *what, const json_t *doc, enum report_format f, bool header, const char *want)
{
	rw_cleanup(freep) char *got = print(doc, &view, f, header, false);
	if (strcmp(got, want) != 0)
		fail_msg("%s: got\n%s\nwanted\n%s", what, got, want);
}

static void test_formats(void **state)
{
	rw_cleanup(json_freep) json_t *doc = document();
	assert_non_null(doc);
	expect("table", doc, FORMAT_TABLE, true,
		"DEVICE         HOSTS   SHARE               OCTETS\n"
		"leaf1          a,b    20.0 %  9223372036854775807\n"
		"x,\"y\"|<b> [2J  -           -                    -\n");
	expect("table without header", doc, FORMAT_TABLE, false,
		"leaf1          a,b  20.0 %  9223372036854775807\n"
		"x,\"y\"|<b> [2J  -         -                    -\n");
	expect("csv", doc, FORMAT_CSV, true,
		"subject.device,hosts,share_ratio,octets\n"
		"leaf1,\"a,b\",0.2,9223372036854775807\n"
		"\"x,\"\"y\"\"|<b> [2J\",,,\n");
	expect("jsonl", doc, FORMAT_JSONL, true,
		"{\"subject\":{\"device\":\"leaf1\"},\"hosts\":[\"a\",\"b\"],\"share_ratio\":0.2,"
		"\"octets\":9223372036854775807}\n"
		"{\"subject\":{\"device\":\"x,\\\"y\\\"|<b>\\u001B[2J\"},\"hosts\":[],\"share_"
		"ratio\":null,\"octets\":null}\n");
	expect("md", doc, FORMAT_MD, true,
		"# A & B\n\n| DEVICE | HOSTS | SHARE | OCTETS |\n|---|---|---:|---:|\n"
		"| leaf1 | a,b | 20.0 % | 9223372036854775807 |\n"
		"| x,\"y\"\\|\\<b\\> \\[2J | - | - | - |\n");
	rw_cleanup(freep) char *json = print(doc, &view, FORMAT_JSON, true, false);
	rw_cleanup(json_freep) json_t *back = json_loads(json, 0, NULL);
	assert_true(json_equal(back, doc));
	rw_cleanup(freep) char *html = print(doc, &view, FORMAT_HTML, true, false);
	assert_non_null(strstr(html, ">A &amp; B</h1>"));
	assert_non_null(strstr(html, ">x,&quot;y&quot;|&lt;b&gt; [2J</td>"));
	assert_null(strstr(html, "<b>"));
	assert_null(strstr(html, "http")); /* self-contained */
}

static void test_no_rows(void **state)
{
	rw_cleanup(json_freep) json_t *doc = json_pack("{s:[]}", "rows");
	expect("table", doc, FORMAT_TABLE, true, "no rows today\n");
	expect("csv", doc, FORMAT_CSV, true, "subject.device,hosts,share_ratio,octets\n");
	expect("jsonl", doc, FORMAT_JSONL, true, "");
	expect("md", doc, FORMAT_MD, true, "# A & B\n\nno rows today\n");
}

static void test_kinds(void **state)
{
	static const struct {
		const char *what;
		enum column_kind kind;
		double v;
		const char *want;
	} rows[] = {
		{"ratio", COL_RATIO_PCT, 1.05, "105.0 %"},
		{"rate", COL_BPS, 398.2e9, "398 Gbit/s"},
		{"round rate", COL_BPS, 400e9, "400 Gbit/s"},
		{"zero rate", COL_BPS, 0, "0 bit/s"},
		{"bytes", COL_BYTES, 88064, "88.1 KB"},
		{"just below", COL_BYTES, 999.7, "1.00 KB"},
		{"seconds", COL_DURATION_S, 1.5, "1.5s"},
		{"days", COL_DURATION_S, 90000, "1d01h"},
		{"for ever", COL_DURATION_S, 1e30, "> 200y"},
		{"almost nothing", COL_RATIO_PCT, -1e-9, "0.0 %"},
		{"money", COL_USD, 310.004, "$310.00"},
		{"much money", COL_USD, 23040, "$23,040.00"},
		{"money back", COL_USD, -0.5, "-$0.50"},
		{"number", COL_NUMBER, 1234.5678, "1234.57"},
		{"whole", COL_INT, 3.0, "3"},
		{"queue pair", COL_QP, 4100, "0x001004"},
		{"highest", COL_QP, 0xffffff, "0xffffff"},
		{"no queue pair", COL_QP, -1, "-1"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct column c = {"v", NULL, rows[i].kind, true};
		const struct view one = {.columns = &c, .n_columns = 1};
		rw_cleanup(json_freep) json_t *doc = json_pack("{s:f}", "v", rows[i].v);
		rw_cleanup(freep) char *got = print(doc, &one, FORMAT_TABLE, false, false);
		got[strcspn(got, "\n")] = '\0';
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: '%s'", rows[i].what, got);
	}
	const struct column c = {"t", NULL, COL_TIME, false};
	const struct view one = {.columns = &c, .n_columns = 1};
	rw_cleanup(json_freep) json_t *doc =
		json_pack("{s:o}", "t", json_time(1700000000LL * NS_PER_S + 5 * NS_PER_MS));
	rw_cleanup(freep) char *table = print(doc, &one, FORMAT_TABLE, false, false),
			       *csv = print(doc, &one, FORMAT_CSV, false, false);
	assert_string_equal(table, "2023-11-14 22:13:20Z\n");
	assert_string_equal(csv, "2023-11-14T22:13:20.005Z\n");
}

static void test_quantity(void **state)
{
	static const struct {
		double v;
		const char *unit, *want;
	} cases[] = {
		{0.323954, "ratio", "32.4 %"},
		{1.75, "ratio", "175 %"},
		{0, "ratio", "0 %"},
		{9.69692e9, "ns", "9.70 s"},
		{4.71238e8, "ns", "471 ms"},
		{0, "ns", "0 s"},
		{1500, "s", "1500 s"},
		{2e-6, "s", "2 us"},
		{1.99026e6, "bytes", "1.99 MB"},
		{1e11, "bit/s", "100 Gbit/s"},
		{2.5e9, "bytes/s", "2.50 GB/s"},
		{1487150, "frames", "1,487,150 frames"},
		{0, "frames/s", "0 frames/s"},
		{52400, "frames/s", "52.4k frames/s"},
		{12.5, "frames/s", "12.5 frames/s"},
		{88064, "bytes", "88.1 KB"},
		{1, "hosts", "1 host"},
		{8, "switches", "8 switches"},
		{1, "switches", "1 switch"},
		{1, "frames/s", "1 frame/s"},
		{0, "hosts", "0 hosts"},
		{-4, "log2", "1/16"},
		{0, "log2", "1"},
		{2, "log2", "4"},
		{-3.25, "dBm", "-3.25 dBm"},
		{1, "-", "1"},
		{1, "", "1"},
		{1, NULL, "1"},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		rw_cleanup(str_done) struct str s = {0};
		str_add_quantity(&s, cases[i].v, cases[i].unit);
		assert_string_equal(s.s, cases[i].want);
	}
}

static void test_when(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"2026-11-22T02:33:45.505763553Z", "2026-11-22 02:33:45Z"},
		{"2026-11-22T02:33:45Z", "2026-11-22 02:33:45Z"},
		{"1969-12-31T23:59:35.000Z", "1969-12-31 23:59:35Z"},
		{"", "-"},
		{NULL, "-"},
		{"never", "never"},
	};
	for (size_t i = 0; i < rw_countof(cases); i++) {
		rw_cleanup(str_done) struct str s = {0};
		str_add_when(&s, cases[i].text);
		assert_string_equal(s.s, cases[i].want);
	}
	assert_string_equal(quantity_name("cfg.pg_alpha_exp"), "alpha");
	assert_string_equal(quantity_name("pg.drops"), "pg.drops");
}

static void test_helpers(void **state)
{
	rw_cleanup(json_freep) json_t *bad = json_string_or_null("po\xffrt");
	rw_cleanup(json_freep) json_t *fine = json_time(1), *zero = json_time(0);
	assert_string_equal(json_string_value(bad), "po?rt");
	assert_string_equal(json_string_value(fine), "1970-01-01T00:00:00.000000001Z");
	assert_true(json_is_null(json_string_or_null(NULL)));
	assert_string_equal(json_string_value(zero), "1970-01-01T00:00:00.000Z");
	assert_true(json_is_null(json_number_or_null(INFINITY)));
	enum report_format f;
	assert_int_equal(report_format_parse("jsonl", &f), 0);
	assert_int_equal(f, FORMAT_JSONL);
	assert_int_equal(report_format_parse("JSON", &f), -EINVAL);
}

static void test_full_disk(void **state)
{
	rw_cleanup(json_freep) json_t *doc = document();
	for (int f = FORMAT_TABLE; f <= FORMAT_MD; f++) {
		rw_cleanup(fclosep) FILE *full = fopen("/dev/full", "w");
		assert_non_null(full);
		assert_int_equal(
			report_print(full, doc, &view, (enum report_format)f, true, false), -EIO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_quantity),
		cmocka_unit_test(test_when),
		cmocka_unit_test(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
