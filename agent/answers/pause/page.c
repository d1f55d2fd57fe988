/* pause/page - the page of `report pause`. */
#include <math.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_blocks.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/pause/answer.h"

enum { PORTS_NAMED = 4 };

static void pause_level(struct str *out, const json_t *edge)
{
	const double low = doc_number(edge, "lo_ratio"), high = doc_number(edge, "hi_ratio");
	if (low < high)
		str_add(out, "<= ");
	page_quantity(out, high, "ratio");
}

/* "  leaf1 (Eth49) waits for spine1   8.8 %   med" */
static void pause_edge(struct str *out, const json_t *edge)
{
	const json_t *ports = json_object_get(edge, "ports");
	const size_t n = json_array_size(ports);
	for (json_int_t i = 0; i < json_integer_value(json_object_get(edge, "depth")); i++)
		str_add(out, "  ");
	str_addf(out, "%s (", doc_word(edge, "waits"));
	for (size_t i = 0; i < n && i < PORTS_NAMED; i++)
		str_addf(out, "%s%s", str_if(i > 0, ", "),
			json_string_value(json_array_get(ports, i)));
	if (n > PORTS_NAMED)
		str_addf(out, " and %zu more", n - PORTS_NAMED);
	str_addf(out, ") paused by %s, ", doc_word(edge, "paused_by"));
	pause_level(out, edge);
	str_addf(out, ", confidence %s\n", doc_word(edge, "confidence"));
}

static void pause_tree_head(struct page *page, const json_t *tree)
{
	rw_cleanup(str_done) struct str text = {0};
	const char *host = doc_word(tree, "host");
	const char *from = doc_word(tree, "from"), *to = doc_word(tree, "to");
	const int priority = (int)json_integer_value(json_object_get(tree, "priority"));
	if (!*from || !*to)
		return;
	str_addf(&text, "%s at %s:%s, priority %d: ", *host ? host : "queue",
		doc_word(tree, "device"), doc_word(tree, "port"), priority);
	const json_int_t switches = json_integer_value(json_object_get(tree, "switches"));
	const json_int_t hosts = json_integer_value(json_object_get(tree, "hosts"));
	str_addf(&text, "%d switch%s and %d host%s wait, confidence %s, ", (int)switches,
		str_if(switches != 1, "es"), (int)hosts, plural((uint64_t)hosts),
		doc_word(tree, "confidence"));
	str_addf(&text, "%.10s %.8sZ to %.8sZ", from, from + 11, to + 11);
	page_text(page, text.s);
}

static void pause_trees(struct page *page, const json_t *trees)
{
	const json_t *tree, *edge;
	size_t i, k;
	if (json_array_size(trees) > 0)
		page_heading(page, "Where it began, and who waited");
	json_array_foreach (trees, i, tree) {
		rw_cleanup(str_done) struct str lines = {0};
		pause_tree_head(page, tree);
		json_array_foreach (json_object_get(tree, "edges"), k, edge)
			pause_edge(&lines, edge);
		page_code(page, "", str_or(lines.s, ""));
	}
}

static void pause_page_watchdog(struct page *page, const struct pause_answer *answer)
{
	static const struct shape_table table = {.shape = &pause_watchdog_shape};
	page_heading(page, "PFC watchdog");
	if (answer->n_watchdog == 0 && answer->watchdog_counted)
		page_text(page, "It stopped no queue.");
	else if (answer->n_watchdog == 0)
		page_text(page, "Its events are counted by no switch: not known.");
	page_rows(page, NULL, &table, answer->watchdog, answer->n_watchdog);
}

struct page *pause_page(const json_t *doc, const void *of)
{
	static const struct shape_table orders = {.shape = &pause_ecn_order_shape};
	const struct pause_answer *answer = of;
	struct page *page = report_page("PFC pause", doc);
	report_block_incidents(page, "Incidents", answer->incidents, NULL);
	struct page_block *chart = chart_draw(
		page, "share of time paused, most paused queues", "ratio", &answer->chart);
	if (chart)
		page_limit(chart, answer->limits.warn_ratio, "warning");
	page_heading(page, "Most paused ports");
	if (answer->n_ports > 0)
		page_textf(page,
			"%d of %d queues were paused in a direction. 'X paused us' is pause that "
			"the switch received, 'we paused X' is pause that it sent. Read from %s.",
			(int)answer->ports_paused, (int)answer->ports_known, answer->source);
	else if (answer->ports_known > 0)
		page_text(page, "No queue was paused.");
	else
		page_text(page, "Not known: no switch delivered pause in this time.");
	report_block_pause(page, json_object_get(doc, "ports"));
	pause_trees(page, answer->trees);
	pause_page_watchdog(page, answer);
	if (answer->n_ecn_order > 0)
		page_heading(page, "Did ECN mark before PFC paused?");
	page_rows(page, NULL, &orders, answer->ecn_order, answer->n_ecn_order);
	return page;
}
