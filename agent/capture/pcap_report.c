/* pcap_report - the document and its rows. */
#include "agent/capture/pcap_report.h"

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"

/* So many rows ahead memory is asked for. */
enum { ROW_FETCH = 16, ROW_FETCH_MORE = 8 };

void pcap_report_make(
	struct pcap_report *report, struct pcap_reading *reading, const struct pcap_ask *ask)
{
	report->reading = reading;
	report->document = pcap_document(reading);
	pcap_select_verdicts(&ask->select, report->document);
	pcap_select_put(&ask->select, report->document);
	pcap_rows_choose(&report->rows, reading, &ask->select, ask->sort, ask->top);
	reading->rows.sampling = pcap_sampling(reading);
	reading->rows.psn_known = pcap_psn_known(reading);
	pcap_count_put(report->document, "qps_total", report->rows.all);
}

void pcap_report_done(struct pcap_report *report)
{
	json_decref(report->document);
	report->document = NULL;
	pcap_rows_done(&report->rows);
}

/* pcap_qp_row - the keys of one direction of a queue pair; a part that has some of its own adds
 * them in a function pcap_put_qp_NAME(). */
static void pcap_qp_row(struct pcap_row *row, struct pcap_reading *reading, const struct flow *flow)
{
	char text[INET6_ADDRSTRLEN];
	pcap_row_word(row, "src", pcap_address_text(text, flow->key.family, flow->key.src));
	pcap_row_word(row, "dst", pcap_address_text(text, flow->key.family, flow->key.dst));
	pcap_row_count(row, "dst_qp", flow->key.dst_qp);
	pcap_row_count(row, "packets", flow->packets);
	pcap_row_count(row, "octets", flow->octets);
	pcap_row_count(row, "psn_first", flow->psn_first);
	pcap_row_count(row, "psn_last", flow->psn_last);
	pcap_put_qp_loss(row, reading, flow);
	pcap_row_count(row, "ce", flow->ce);
	pcap_row_count(row, "cnp", flow->cnp_sent);
	if (flow->source_ports == 1)
		pcap_row_count(row, "src_port", flow->key.src_port);
	else
		pcap_row_null(row, "src_port");
	pcap_row_count(row, "source_ports", flow->source_ports);
	pcap_row_count(row, "ect", flow->ect);
	pcap_row_count(row, "not_ect", flow->not_ect);
	pcap_row_count(row, "cnp_returned", flow->cnp_about);
	pcap_row_count(row, "payload_bytes", flow->payload_bytes);
	/* kept for directions that carry data */
	if (flow->stream)
		pcap_row_count(row, "burst_bps", flow->burst_octets * 8000);
	else
		pcap_row_null(row, "burst_bps");
	pcap_put_qp_time(row, reading, flow);
}

static void report_row(const struct pcap_report *report, size_t i, struct pcap_row *row)
{
	struct flow flow;
	const struct flow_table *flows = report->reading->analysis.flows;
	if (i + ROW_FETCH < report->rows.n)
		flow_table_fetch_row(flows, report->rows.ids[i + ROW_FETCH]);
	if (i + ROW_FETCH_MORE < report->rows.n)
		flow_table_fetch_row_more(flows, report->rows.ids[i + ROW_FETCH_MORE]);
	flow_table_row(flows, report->rows.ids[i], &flow);
	pcap_qp_row(row, report->reading, &flow);
}

json_t *pcap_report_row(const struct pcap_report *report, size_t i)
{
	struct pcap_row row;
	pcap_row_begin(&row, NULL, false);
	report_row(report, i, &row);
	return pcap_row_end(&row);
}

void pcap_report_row_text(const struct pcap_report *report, size_t i, json_t *file, struct str *out)
{
	struct pcap_row row;
	pcap_row_begin(&row, out, file != NULL);
	if (file) {
		pcap_row_word(&row, "type", "qp");
		pcap_row_value(&row, "file", json_incref(file));
	}
	report_row(report, i, &row);
	pcap_row_end(&row);
}
