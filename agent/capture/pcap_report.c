/* pcap_report - the document and its rows. */
#include "agent/capture/pcap_report.h"

#include "agent/capture/pcap_parts.h"

void pcap_report_make(
	struct pcap_report *report, struct pcap_reading *reading, const struct pcap_ask *ask)
{
	report->reading = reading;
	report->document = pcap_document(reading);
	pcap_select_verdicts(&ask->select, report->document);
	pcap_select_put(&ask->select, report->document);
	pcap_rows_choose(&report->rows, reading, &ask->select, ask->sort, ask->top);
	pcap_count_put(report->document, "qps_total", report->rows.all);
}

void pcap_report_done(struct pcap_report *report)
{
	json_decref(report->document);
	report->document = NULL;
	pcap_rows_done(&report->rows);
}

json_t *pcap_report_row(const struct pcap_report *report, size_t i)
{
	struct flow flow;
	flow_table_row(report->reading->analysis.flows, report->rows.ids[i], &flow);
	return pcap_qp_row(report->reading, &flow);
}
