/* links/page - the page of `report links`. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "agent/answers/common/report_blocks.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/links/answer.h"
#include "agent/document/page.h"

static const struct column audit_columns[] = {
	{"severity", "severity", COL_STATE, false},
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"remedy", "what to do", COL_TEXT, false},
};

#define SHAPE struct link_port
static const struct shown optics_shown[] = {
	COLUMN(device, "device"),
	COLUMN(port, "port"),
	COLUMN(rx_power_dbm, "received dBm"),
	COLUMN(rx_power_least_dbm, "least dBm"),
	COLUMN(tx_power_dbm, "sent dBm"),
	COLUMN(pre_fec_ber, "BER before FEC"),
	COLUMN(fec_uncorrectable, "not repaired"),
	COLUMN(temperature_c, "C"),
};
#undef SHAPE
static const struct shape_table optics_table = {
	&link_port_shape, optics_shown, rw_countof(optics_shown)};
static const struct shape_table known_table = {.shape = &links_known_shape};
static const struct shape_table changes_table = {.shape = &link_change_shape};

/* Of the ports with something to say, those whose optics or FEC are known. */
static void links_optics(struct page *page, const struct links_answer *answer)
{
	struct link_port *rows = rw_calloc(answer->n_ports + 1, sizeof(*rows));
	size_t n = 0;
	for (size_t i = 0; i < answer->n_ports; i++) {
		const struct link_port *port = &answer->ports[i];
		if (!isnan(port->rx_power_dbm) || !isnan(port->pre_fec_ber) ||
			!isnan(port->fec_uncorrectable))
			rows[n++] = *port;
	}
	page_rows(page, "Light and FEC", &optics_table, rows, n);
	free(rows);
}

struct page *links_page(const json_t *doc, const void *of)
{
	const struct links_answer *answer = of;
	struct page *page = report_page("Links", doc);
	report_block_incidents(page, "Incidents", answer->incidents, NULL);
	page_heading(page, "Ports of which there is something to say");
	if (answer->n_ports == 0)
		page_text(page, "None, as far as ports tell.");
	report_block_links(page, answer->ports, answer->n_ports);
	links_optics(page, answer);
	chart_draw(page, "errors and flaps of all ports", "-", &answer->chart);
	page_heading(page, "Audit of the topology");
	if (json_array_size(answer->audit) == 0)
		page_text(page, "Nothing that could be compared differs.");
	page_table(page, NULL, audit_columns, rw_countof(audit_columns), answer->audit);
	page_heading(page, "What changed");
	if (answer->n_changes == 0)
		page_text(page, "No speed, MTU or neighbour changed, and nobody noted a change.");
	page_rows(page, NULL, &changes_table, answer->changes, answer->n_changes);
	page_heading(page, "How much is known");
	page_rows(page, NULL, &known_table, &answer->ports_known, 1);
	return page;
}
