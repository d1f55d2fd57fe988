/* tune_view: what is approved must be read whole: every line within the width, no text of a device
 * acts on the terminal or the page. */
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
#include "agent/document/page.h"
#include "agent/tuning/tune_view.h"

#define WHY                                                                                        \
	"marks before PFC fires: four bandwidth-delay products, at most half of the depth at "     \
	"which PFC fires; a Kmin above it never acts, so the step counts from there"

static const char sheet[] =
	"{\"sheets\": [{\"id\": \"aaaaaaaa\", \"state\": \"proposed\", \"device\": "
	"\"leaf<b>1\\u001b[31m\", \"port_group\": \"hosts\", \"ports\": [\"Ethernet1|x\", "
	"\"Ethernet2\"], \"rest\": [\"leaf2\"],"
	" \"priority\": 3, \"diagnosis\": \"ecn_late\", \"advice\": \"change\", \"blocked_by\": "
	"null, \"summary\": \"" WHY "\","
	" \"platform\": {\"name\": \"SONiC.202511\", \"version\": null, \"syntax\": \"sonic\"}, "
	"\"changes\": [{\"knob\": \"kmin\", \"current\": 24000000, \"proposed\": 888832,"
	" \"programmed\": null, \"unit\": \"bytes\", \"why\": \"" WHY
	"\", \"source\": \"docs/tuning.md, row 3\"}, {\"knob\": \"alpha\", \"current\": 0.125, "
	"\"proposed\": 0.25, \"programmed\": null,"
	" \"unit\": \"ratio\", \"why\": \"\", \"source\": null}], \"affected\": [{\"device\": "
	"\"leaf1\", \"port\": \"Ethernet1\", \"priority\": 3, \"object\": \"WRED_PROFILE\"},"
	" {\"device\": \"leaf1\", \"port\": \"Ethernet2\", \"priority\": 3, \"object\": "
	"\"WRED_PROFILE\"}], \"disruption\": \"hitless\", \"job_boundary\": false,"
	" \"made\": \"2026-11-21T03:14:22.000Z\", \"expires\": \"2026-11-24T03:14:22.000Z\", "
	"\"from\": \"2026-11-14T03:14:22.000Z\", \"to\": \"2026-11-21T03:14:22.000Z\","
	" \"evidence\": [{\"metric\": \"pfc.tx_pause_ratio\", \"device\": \"leaf1\", \"port\": "
	"\"Ethernet1\", \"priority\": 3, \"value\": 0.024, \"unit\": \"ratio\", \"quality\": "
	"\"exact\"}],"
	" \"expected\": [{\"metric\": \"pfc.tx_pause_ratio\", \"low\": 0, \"high\": 0.001, "
	"\"now\": 0.024, \"unit\": \"ratio\"}],"
	" \"checks\": [{\"text\": \"" WHY
	"\", \"before\": 24000000, \"after\": 888832, \"limit\": 900000, \"unit\": \"bytes\", "
	"\"ok\": false}], \"collect\": [], \"next_steps\": [\"" WHY "\"],"
	" \"risk\": \"" WHY
	"\", \"rollback_if\": \"any drop\", \"render\": {\"sonic\": {\"cli\": \"sudo config ecn "
	"-profile P -gmin 888832\\n# two\"}}, \"undo\": {\"sonic\": {\"cli\": \"# back\"}},"
	" \"confidence_ratio\": 0.72, \"confidence_inputs\": [\"" WHY
	"\"], \"coverage_ratio\": 0.997, \"buffer_cost_bytes\": 0,"
	" \"history\": [{\"time\": \"2026-11-21T03:14:22.000Z\", \"event\": \"proposed\", \"who\": "
	"\"ann\", \"text\": \"" WHY "\"}]}]}";

static char *printed(enum report_format f, int width, const struct view *view, const char *json)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	json_t *doc = json_loads(json, 0, NULL);
	assert_non_null(doc);
	const struct page_style style = {.format = f, .width = (size_t)width};
	struct page *page = view->page(doc);
	assert_int_equal(page_print(out, page, &style), 0);
	page_free(page);
	json_decref(doc);
	fclose(out);
	return text;
}

static void test_width(void **state)
{
	for (int width = 80; width <= 120; width += 20) {
		rw_cleanup(freep) char *text =
			printed(FORMAT_TABLE, width, &tune_sheets_view, sheet);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > (size_t)width)
				fail_msg("%zu columns of %d: %s", strlen(line), width, line);
	}
}

static void test_content(void **state)
{
	static const char *const wanted[] = {"aaaaaaaa", "24000000 B (24 MB)", "888832 B (889 KB)",
		"1/8 (dynamic_th -3)", "WRED_PROFILE on leaf1, 2 ports",
		"sudo config ecn -profile P -gmin 888832", "# back", "roll back if any drop",
		"rocewatch tune accept aaaaaaaa", "0 % to 0.1 %", "NO ", "2026-11-21 03:14:22Z",
		"proposed by ann", "canary       leaf"};
	rw_cleanup(freep) char *text = printed(FORMAT_TABLE, 100, &tune_sheets_view, sheet);
	for (size_t k = 0; k < rw_countof(wanted); k++)
		if (!strstr(text, wanted[k]))
			fail_msg("'%s' is missing in\n%s", wanted[k], text);
	assert_null(strchr(text, '\033'));
}

static void test_pages(void **state)
{
	rw_cleanup(freep) char *html = printed(FORMAT_HTML, 100, &tune_sheets_view, sheet),
			       *md = printed(FORMAT_MD, 100, &tune_sheets_view, sheet);
	assert_null(strstr(html, "leaf<b>"));
	assert_non_null(strstr(html, "leaf&lt;b&gt;1"));
	assert_null(strchr(html, '\033'));
	assert_non_null(strstr(html, "</body>\n</html>"));
	assert_non_null(strstr(md, "Ethernet1\\|x"));
	assert_non_null(strstr(md, "```\nsudo config ecn -profile P -gmin 888832\n"));
	assert_non_null(strstr(md, "| CHANGE | CURRENT | PROPOSED | PROGRAMMED |"));
}

static void test_little(void **state)
{
	rw_cleanup(freep) char *none = printed(
				       FORMAT_TABLE, 80, &tune_sheets_view, "{\"sheets\": []}"),
			       *bare = printed(FORMAT_TABLE, 80, &tune_sheets_view,
				       "{\"sheets\": [{\"id\": \"x\"}]}");
	rw_cleanup(freep) char *verify = printed(FORMAT_HTML, 80, &tune_verify_view, "{}"),
			       *whatif = printed(FORMAT_MD, 80, &tune_whatif_view, "{}");
	rw_cleanup(freep) char *unable = printed(FORMAT_TABLE, 80, &tune_sheets_view,
		"{\"sheets\": [], \"reason\": \"there is less than one window\"}");
	assert_non_null(strstr(none, "no sheet"));
	assert_non_null(strstr(unable, "not reviewed: there is less than one window"));
	assert_null(strstr(unable, "nothing in this time range"));
	assert_non_null(strstr(bare, "TUNING REVIEW x"));
	assert_non_null(verify);
	assert_non_null(whatif);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_width),
		cmocka_unit_test(test_content), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_little)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
