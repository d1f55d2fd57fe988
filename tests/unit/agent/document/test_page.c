/* page: one page in three formats; hostile text, missing values, narrow paper. */
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
#include "base/str.h"
#include "agent/document/page_chart.h"
#include "agent/document/page_blocks.h"

static char *printed(const struct page *page, enum report_format format, size_t width, bool ascii)
{
	const struct page_style style = {.format = format, .width = width, .ascii = ascii};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_int_equal(page_print(out, page, &style), 0);
	fclose(out);
	return text;
}

static void expect(const struct page *page, enum report_format format, const char *want)
{
	rw_cleanup(freep) char *got = printed(page, format, 60, true);
	if (strcmp(got, want) != 0)
		fail_msg("got\n%s\nwanted\n%s", got, want);
}

static const struct column columns[] = {
	{"name", "NAME", COL_TEXT, false},
	{"state", "STATE", COL_STATE, false},
	{"load", "LOAD", COL_RATIO_PCT, true},
};

static struct page *usual_page(void)
{
	struct page *page = page_new("Links");
	json_t *rows = json_pack("[{s:s, s:s, s:f}, {s:s, s:s, s:n}]", "name", "leaf1", "state",
		"OK", "load", 0.5, "name", "leaf2", "state", "CRITICAL", "load");
	page_title(page, "Links", "demo");
	page_verdict(page, "CRITICAL", "leaf2 is silent");
	page_fact(page, "what", "two leaves");
	page_fact(page, "what", "and nothing else");
	page_fact(page, "empty", "");
	page_code(page, "", "show a\nshow b");
	page_table(page, NULL, columns, rw_countof(columns), rows);
	page_heading(page, "Next");
	page_item(page, "look");
	page_item(page, "go");
	json_decref(rows);
	return page;
}

static void test_text(void **state)
{
	struct page *page = usual_page();
	expect(page, FORMAT_TABLE,
		"Links\ndemo\nCRITICAL  leaf2 is silent\n\n"
		"what         two leaves\n             and nothing else\n"
		"             show a\n             show b\n\n"
		"NAME   STATE       LOAD\nleaf1  OK        50.0 %\nleaf2  CRITICAL       -\n\n"
		"Next\n- look\n- go\n");
	page_free(page);
}

static void test_md(void **state)
{
	struct page *page = usual_page();
	expect(page, FORMAT_MD,
		"# Links\n\ndemo\n\n**CRITICAL** leaf2 is silent\n\n"
		"- **what**:\n  - two leaves\n  - and nothing else\n\n"
		"```\nshow a\nshow b\n```\n\n"
		"| NAME | STATE | LOAD |\n|---|---|---:|\n| leaf1 | OK | 50.0 % |\n"
		"| leaf2 | CRITICAL | - |\n\n## Next\n\n- look\n- go\n");
	page_free(page);
}

/* Whatever a device calls itself, no format takes it for markup, a link or an escape. */
static struct page *hostile_page(void)
{
	static const char bad[] =
		"<script>x</script>\x1b[2J|`*_[a](http://e.test/)&lt;\"'\n# b\xff\u202e";
	static const double values[] = {1.0, NAN};
	struct page *page = page_new(bad);
	json_t *rows = json_pack("[{s:s}]", "name", "<img src=http://e.test/a.png onerror=x>");
	page_title(page, bad, bad);
	page_verdict(page, bad, bad);
	page_heading(page, "%s", bad);
	page_text(page, bad);
	page_text(page, "1. no list");
	page_fact(page, bad, bad);
	page_link(page, "link", "javascript:alert(1)");
	page_link(page, "link", "https://e.test/\"><script>x</script>");
	page_item(page, bad);
	page_code(page, bad, "show");
	page_code(page, "", "````\n<b>");
	page_table(page, bad, columns, rw_countof(columns), rows);
	page_bar(page_bars(page, bad, bad), bad, 1, bad);
	page_series(page_times(page, bad, "ratio", bad, bad, PAGE_LINES), bad, values, 2);
	struct page_block *heat = page_heat(page, bad, "ratio");
	page_heat_column(heat, bad);
	page_heat_row(heat, bad, values, 2);
	json_decref(rows);
	return page;
}

static void test_hostile(void **state)
{
	static const char *const never[] = {"\x1b", "\xff", "\u202e"};
	static const char *const no_html[] = {"<script", "<img", "href=\"j", "onerror=x>"};
	static const char *const no_md[] = {"\n# b", "\n1. no", "\n<"};
	struct page *page = hostile_page();
	rw_cleanup(freep) char *html = printed(page, FORMAT_HTML, 80, false),
			       *md = printed(page, FORMAT_MD, 80, false),
			       *text = printed(page, FORMAT_TABLE, 80, true);
	for (size_t i = 0; i < rw_countof(never); i++) {
		assert_null(strstr(html, never[i]));
		assert_null(strstr(md, never[i]));
		assert_null(strstr(text, never[i]));
	}
	for (size_t i = 0; i < rw_countof(no_html); i++)
		if (strstr(html, no_html[i]))
			fail_msg("%s in\n%s", no_html[i], html);
	for (size_t i = 0; i < rw_countof(no_md); i++)
		if (strstr(md, no_md[i]) && !strstr(strstr(md, no_md[i]), "<b>\n"))
			fail_msg("%s in\n%s", no_md[i], md);
	assert_non_null(strstr(md, "# \\<script\\>x\\</script\\> \\[2J\\|\\`\\*\\_\\[a\\](http"));
	assert_non_null(strstr(md, "`````\n````\n<b>\n`````"));
	page_free(page);
}

static struct page *chart_page(void)
{
	struct page *page = page_new("Charts");
	struct page_block *bars = page_bars(page, "Load", "ratio");
	page_limit(bars, 0.2, "limit");
	page_bar(bars, "leaf1", 0.4, "WARNING");
	page_bar(bars, "leaf2", NAN, NULL);
	struct page_block *times = page_times(page, "Pause", "ratio", "2026-11-21T00:00:00.000Z",
		"2026-11-21T01:00:00.000Z", PAGE_LINES);
	page_series(times, "leaf1", (double[]){0.0, NAN, 0.5}, 3);
	struct page_block *heat = page_heat(page, "Heat", "ratio");
	page_heat_column(heat, "spine1");
	page_heat_column(heat, "spine2");
	page_heat_row(heat, "leaf1", (double[]){0.25, NAN}, 2);
	return page;
}

/* The end of an axis: the next of 1, 2, 2.5, 5 and 10. */
static void test_chart_round(void **state)
{
	static const double rows[][2] = {{0.9, 1}, {1, 1}, {1.2, 2}, {2.2, 2.5}, {3, 5}, {7, 10},
		{12, 20}, {0.03, 0.05}, {400e9, 500e9}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (fabs(page_chart_round(rows[i][0]) / rows[i][1] - 1) > 1e-9)
			fail_msg("%g: %g", rows[i][0], page_chart_round(rows[i][0]));
}

static void test_charts_text(void **state)
{
	struct page *page = chart_page();
	expect(page, FORMAT_TABLE,
		"Load, limit 20 %\n"
		"leaf1  ##############################  40 %\n"
		"leaf2                                  -\n\n"
		"Pause\n"
		"leaf1  _?#\n"
		"       lowest 0 %, highest 50 %, last 50 %; 1 of 3 values\n"
		"       missing\n"
		"       2026-11-21 00:00Z to 2026-11-21 01:00Z\n\n"
		"Heat\n"
		"           spine1      spine2\n"
		"leaf1        25 % #         - ?\n");
	page_free(page);
}

/* Both ends of an axis can be told apart, however short it is. */
static void test_chart_ends(void **state)
{
	static const char *const rows[][3] = {
		{"2026-11-21T22:13:20.000Z", "2026-11-21T22:14:20.000Z",
			"2026-11-21 22:13Z to 2026-11-21 22:14Z"},
		{"2026-11-21T22:13:20.000Z", "2026-11-21T22:13:22.000Z",
			"2026-11-21 22:13:20Z to 2026-11-21 22:13:22Z"},
		{"2026-11-21T22:13:20.000Z", "2026-11-21T22:13:20.032708123Z",
			"2026-11-21 22:13:20.000Z to 2026-11-21 22:13:20.032Z"},
		{"2026-11-21T22:13:20.032708100Z", "2026-11-21T22:13:20.032708123Z",
			"2026-11-21 22:13:20.032708100Z to 2026-11-21 22:13:20.032708123Z"},
		{"2026-11-21T22:13:20.000Z", "2026-11-21T22:13:20.000Z",
			"2026-11-21 22:13Z to 2026-11-21 22:13Z"}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct page *page = page_new("Ends");
		struct page_block *times =
			page_times(page, "Rate", "bps", rows[i][0], rows[i][1], PAGE_LINES);
		page_series(times, "leaf1", (double[]){1, 2}, 2);
		rw_cleanup(freep) char *text = printed(page, FORMAT_TABLE, 80, false);
		if (!strstr(text, rows[i][2]))
			fail_msg("'%s' is missing in\n%s", rows[i][2], text);
		page_free(page);
	}
}

static void test_charts_html(void **state)
{
	static const char *const wanted[] = {"viewBox=\"0 0 640 170\"", "stroke-dasharray", "40 %",
		"1 of 3 values missing", "background:#d6dbe0", ">25 %</td>", "@media print",
		"prefers-color-scheme:dark"};
	struct page *page = chart_page();
	page_limit(page->blocks[1], 0.2, "limit");
	rw_cleanup(freep) char *html = printed(page, FORMAT_HTML, 80, false);
	for (size_t i = 0; i < rw_countof(wanted); i++)
		if (!strstr(html, wanted[i]))
			fail_msg("'%s' is missing in\n%s", wanted[i], html);
	assert_null(strstr(html, "nan"));
	assert_null(strstr(html, "http"));
	assert_null(strstr(html, "<script"));
	page_free(page);
}

/* A table that is too wide gives up width where words stand; nothing is cut off. */
static void test_narrow(void **state)
{
	struct page *page = page_new("Narrow");
	json_t *rows = json_pack("[{s:s, s:s, s:f}]", "name",
		"a name of many words that does not fit on the paper at all, and goes on", "state",
		"OK", "load", 0.5);
	page_table(page, NULL, columns, rw_countof(columns), rows);
	rw_cleanup(freep) char *text = printed(page, FORMAT_TABLE, 40, true);
	assert_non_null(strstr(text, "goes on"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 40);
	json_decref(rows);
	page_free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_md),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_chart_round),
		cmocka_unit_test(test_charts_text),
		cmocka_unit_test(test_chart_ends),
		cmocka_unit_test(test_charts_html),
		cmocka_unit_test(test_narrow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
