/* links_report_page - the page of `report links`. */
#include "agent/base/cleanup.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/reports/report_blocks.h"
#include "agent/reports/report_page.h"
#include "agent/reports/report_pages.h"

static const struct column audit_columns[] = {
	{"severity", "severity", COL_STATE, false},
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"remedy", "what to do", COL_TEXT, false},
};
static const struct column known_columns[] = {
	{"all", "ports", COL_INT, true},
	{"linked", "linked", COL_INT, true},
	{"state", "state known", COL_INT, true},
	{"errors", "errors", COL_INT, true},
	{"flaps", "flaps", COL_INT, true},
	{"fec", "FEC", COL_INT, true},
	{"optics", "light", COL_INT, true},
	{"speed", "speed", COL_INT, true},
};
static const struct column changes_columns[] = {
	{"time", "time", COL_TIME, false},
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"text", "what", COL_TEXT, false},
	{"by", "by", COL_TEXT, false},
};
static const struct column optics_columns[] = {
	{"device", "device", COL_TEXT, false},
	{"port", "port", COL_TEXT, false},
	{"rx_power_dbm", "received dBm", COL_NUMBER, true},
	{"rx_power_least_dbm", "least dBm", COL_NUMBER, true},
	{"tx_power_dbm", "sent dBm", COL_NUMBER, true},
	{"pre_fec_ber", "BER before FEC", COL_NUMBER, true},
	{"fec_uncorrectable", "not repaired", COL_INT, true},
	{"temperature_c", "C", COL_NUMBER, true},
};

/* Of the ports with something to say, those whose optics or FEC are known. */
static json_t *links_optics(const json_t *ports)
{
	json_t *rows = json_array(), *row;
	size_t i;
	json_array_foreach (ports, i, row)
		if (json_is_number(json_object_get(row, "rx_power_dbm")) ||
			json_is_number(json_object_get(row, "pre_fec_ber")) ||
			json_is_number(json_object_get(row, "fec_uncorrectable")))
			json_array_append(rows, row);
	return rows;
}

json_t *links_report_page(const json_t *doc)
{
	json_t *page = report_page("Links", doc);
	const json_t *ports = json_object_get(doc, "ports");
	json_t *optics = links_optics(ports), *known = json_array();
	report_block_incidents(page, "Incidents", json_object_get(doc, "incidents"), NULL);
	page_heading(page, "Ports of which there is something to say");
	if (json_array_size(ports) == 0)
		page_text(page, "None, as far as ports tell.");
	report_block_links(page, ports);
	page_table(page, "Light and FEC", optics_columns, rw_countof(optics_columns), optics);
	report_block_chart(
		page, "errors and flaps of all ports", "-", json_object_get(doc, "chart"));
	page_heading(page, "Audit of the topology");
	if (json_array_size(json_object_get(doc, "audit")) == 0)
		page_text(page, "Nothing that could be compared differs.");
	page_table(page, NULL, audit_columns, rw_countof(audit_columns),
		json_object_get(doc, "audit"));
	page_heading(page, "What changed");
	if (json_array_size(json_object_get(doc, "changes")) == 0)
		page_text(page, "No speed, MTU or neighbour changed, and nobody noted a change.");
	page_table(page, NULL, changes_columns, rw_countof(changes_columns),
		json_object_get(doc, "changes"));
	page_heading(page, "How much is known");
	json_array_append(known, json_object_get(doc, "ports_known"));
	page_table(page, NULL, known_columns, rw_countof(known_columns), known);
	json_decref(known);
	json_decref(optics);
	return page;
}
