/* test_markdown_html - blocks and marks of markdown as HTML; no text becomes a tag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/markdown_html.h"

static void test_markdown_rows(void **state)
{
	static const struct {
		const char *markdown, *html;
	} rows[] = {
		{"# A title\n", "<h1>A title</h1>\n"},
		{"one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"},
		{"- a\n- b\n  more\n", "<ul><li>a</li>\n<li>b\nmore</li></ul>\n"},
		{"1. a\n2. b\n", "<ol><li>a</li>\n<li>b</li></ol>\n"},
		{"1.5 is no step\n", "<p>1.5 is no step</p>\n"},
		{"```text\n<a> `b`\n\n# c\n```\nd\n",
			"<pre>&lt;a&gt; `b`\n\n# c\n</pre>\n<p>d</p>\n"},
		{"| a | b |\n|---|---|\n| `x y` | 2 |\n",
			"<div class=\"wide\"><table>\n<tr><th>a</th><th>b</th></tr>\n"
			"<tr><td><code>x y</code></td><td>2</td></tr>\n</table></div>\n"},
		{"| | |\n|---|---|\n| a | b |\n",
			"<div class=\"wide\"><table>\n<tr><th></th><th></th></tr>\n"
			"<tr><td>a</td><td>b</td></tr>\n</table></div>\n"},
		{"<!-- printed: x -->\ntext\n", "<p>text</p>\n"},
		{"**b** and *e* and 2 * 3 * 4\n",
			"<p><strong>b</strong> and <em>e</em> and 2 * 3 * 4</p>\n"},
		{"a `<b>` *x\n", "<p>a <code>&lt;b&gt;</code> *x</p>\n"},
		{"[it](pfc_storm.md) [all](README.md)\n",
			"<p><a href=\"pfc_storm\">it</a> <a href=\"./\">all</a></p>\n"},
		{"[a](https://x/?a&b)\n", "<p><a href=\"https://x/?a&amp;b\">a</a></p>\n"},
		{"[up](../detectors.md) [js](javascript:alert) [no\n", "<p>up js [no</p>\n"},
		{"", ""},
		{"```\nunfinished", "<pre>unfinished\n</pre>\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str out = {0};
		str_add(&out, "");
		markdown_html_add(&out, rows[i].markdown, strlen(rows[i].markdown));
		assert_string_equal(out.s, rows[i].html);
	}
}

static void test_markdown_is_harmless(void **state)
{
	static const char *const hostile[] = {
		"<script>x</script>",
		"# <script>x</script>",
		"- [<script>](x.md)",
		"| <script> | b |\n|---|---|\n| <script> | 2 |",
		"[a](https://x\"><script>)",
		"`<script>` **<script>**",
	};
	for (size_t i = 0; i < rw_countof(hostile); i++) {
		rw_cleanup(str_done) struct str out = {0};
		markdown_html_add(&out, hostile[i], strlen(hostile[i]));
		assert_null(strstr(out.s, "<script"));
		assert_null(strstr(out.s, "//x\">"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markdown_rows),
		cmocka_unit_test(test_markdown_is_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
