/* pause/page - the page of `report pause`. */

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/page.h"
#include "agent/answers/common/report_blocks.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/pause/answer.h"

enum { PORTS_NAMED = 4 };

static void pause_level(struct str *out, const struct pause_wait *edge)
{
	if (edge->lo_ratio < edge->hi_ratio)
		str_add(out, "<= ");
	page_quantity(out, edge->hi_ratio, "ratio");
}

/* "  leaf1 (Eth49) waits for spine1   8.8 %   med" */
static void pause_edge(struct str *out, const struct pause_wait *edge)
{
	for (uint64_t i = 0; i < edge->depth; i++)
		str_add(out, "  ");
	str_addf(out, "%s (", edge->waits);
	for (size_t i = 0; i < edge->n_ports && i < PORTS_NAMED; i++)
		str_addf(out, "%s%s", str_if(i > 0, ", "), edge->ports[i]);
	if (edge->n_ports > PORTS_NAMED)
		str_addf(out, " and %zu more", edge->n_ports - PORTS_NAMED);
	str_addf(out, ") paused by %s, ", edge->paused_by);
	pause_level(out, edge);
	str_addf(out, ", confidence %s\n", edge->confidence);
}

static void pause_tree_head(struct page *page, const struct pause_tree *tree)
{
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	wall_text(from, tree->from, 0);
	wall_text(to, tree->to, 0);
	page_textf(page,
		"%s at %s:%s, priority %d: %d switch%s and %d host%s wait, confidence %s, "
		"%.10s %.8sZ to %.8sZ",
		str_or(tree->host, "queue"), tree->device, tree->port, tree->priority,
		(int)tree->switches, str_if(tree->switches != 1, "es"), (int)tree->hosts,
		plural(tree->hosts), tree->confidence, from, from + 11, to + 11);
}

static void pause_trees(struct page *page, const struct pause_answer *answer)
{
	if (answer->n_trees > 0)
		page_heading(page, "Where it began, and who waited");
	for (size_t i = 0; i < answer->n_trees; i++) {
		const struct pause_tree *tree = &answer->trees[i];
		rw_cleanup(str_done) struct str lines = {0};
		pause_tree_head(page, tree);
		for (size_t k = 0; k < tree->n_edges; k++)
			pause_edge(&lines, &tree->edges[k]);
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
	report_block_pause(page, answer->ports, answer->n_ports);
	pause_trees(page, answer);
	pause_page_watchdog(page, answer);
	if (answer->n_ecn_order > 0)
		page_heading(page, "Did ECN mark before PFC paused?");
	page_rows(page, NULL, &orders, answer->ecn_order, answer->n_ecn_order);
	return page;
}
