/* pcap_report - what is read of a capture, its document and its rows. */
#include "agent/capture/pcap_report.h"

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_document.h"
#include "base/bytes.h"

/* ---- choosing and sorting rows ---------------------------------------------- */

static double sort_ce(const void *reading, const struct flow *flow)
{
	return (double)flow->ce;
}

static double sort_cnp(const void *reading, const struct flow *flow)
{
	return (double)flow->cnp_about;
}

static double sort_nak(const void *reading, const struct flow *flow)
{
	return (double)(flow->nak_about + flow->rnr_nak_about);
}

static double sort_retransmits(const void *reading, const struct flow *flow)
{
	return (double)flow->psn.retransmits;
}

static double sort_stall(const void *reading, const struct flow *flow)
{
	return pcap_stall_s(reading, flow);
}

const struct pcap_sort pcap_sorts[] = {
	{"octets", "octets sent", NULL},
	{"ce", "packets marked CE", sort_ce},
	{"cnp", "CNPs that the receiver sent about it", sort_cnp},
	{"nak", "NAKs and RNR NAKs that the receiver sent about it", sort_nak},
	{"retransmits", "packets sent again", sort_retransmits},
	{"stall", "the longest time it stood still in a message", sort_stall},
	{NULL},
};

const struct pcap_sort *pcap_sort_named(const char *word)
{
	for (const struct pcap_sort *sort = pcap_sorts; sort->word; sort++)
		if (str_eq(sort->word, word))
			return sort;
	return NULL;
}

/* What a choice of the flow table is asked with. */
struct rows_ask {
	const struct pcap_reading *reading;
	const struct pcap_select *select;
	const struct pcap_sort *sort;
};

static double rows_weight(const void *arg, const struct flow *flow)
{
	const struct rows_ask *ask = arg;
	return ask->sort->weight(ask->reading, flow);
}

static bool rows_wanted(const void *arg, const struct flow *flow)
{
	const struct rows_ask *ask = arg;
	return pcap_select_qp(ask->select, flow->key.dst_qp);
}

/* The rows of @reading that @select lets through, by @sort, at most @top (0: all of them). */
static void pcap_rows_choose(struct pcap_rows *rows, struct pcap_reading *reading,
	const struct pcap_select *select, const struct pcap_sort *sort, size_t top)
{
	const struct rows_ask ask = {reading, select, sort};
	struct flow_choice choice = {.arg = &ask, .most = top};
	if (sort->weight)
		choice.weight = rows_weight;
	if (select->n_qps)
		choice.wanted = rows_wanted;
	rows->all = flow_table_choose(reading->analysis.flows, &choice, &rows->ids, &rows->n);
}

static void pcap_rows_done(struct pcap_rows *rows)
{
	free(rows->ids);
	*rows = (struct pcap_rows){0};
}

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

/* ---- what is read ---------------------------------------------------------- */

struct pcap_reading *pcap_reading_new(const struct pcap_options *options)
{
	struct pcap_reading *reading = rw_calloc(1, sizeof(*reading));
	/* a file must not be able to aim at one hash slot */
	const uint64_t seed = siphash_random_key().low;
	struct analysis_options analysis = {.flow_limit = FLOW_TABLE_FILE_LIMIT,
		.sampling = 1,
		.seed = seed,
		.bin_ns = options->bin_ns,
		.speed_bps = options->speed_bps};
	if (options->sampling)
		analysis.sampling = options->sampling;
	reading->options = *options;
	reading->seed = seed;
	capture_analysis_init(&reading->analysis, &analysis);
	reading->rhythm = pcap_rhythm_new();
	return reading;
}

void pcap_reading_free(struct pcap_reading *reading)
{
	if (!reading)
		return;
	capture_analysis_end(&reading->analysis);
	pcap_other_end(&reading->other);
	pcap_rhythm_free(reading->rhythm);
	sflow_summary_free(reading->sflow);
	free(reading);
}

struct sflow_delivery { /* where the packets of a datagram go */
	struct pcap_reading *reading;
	const struct packet_origin *origin;
	int64_t t_ns;
};

static void pcap_reading_sampled(
	void *arg, const struct sflow_sample *sample, const struct roce_packet *packet)
{
	const struct sflow_delivery *to = arg;
	const struct pcap_select *select = to->reading->select;
	if (select && !pcap_select_packet(select, packet))
		return;
	capture_analysis_packet(&to->reading->analysis, packet, to->origin, to->t_ns);
}

static void pcap_reading_sflow(struct pcap_reading *reading, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	struct sflow_delivery to = {reading, origin, t_ns};
	if (!reading->sflow)
		reading->sflow = sflow_summary_new(reading->seed);
	sflow_summary_datagram(reading->sflow, packet->sflow_data, packet->sflow_bytes,
		packet->sflow_cut, pcap_reading_sampled, &to);
}

void pcap_reading_packet(struct pcap_reading *reading, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	/* of sFlow not the datagrams are chosen, but the packets in them */
	const bool carries = packet->kind == PACKET_SFLOW;
	if (reading->select && !carries && !pcap_select_packet(reading->select, packet))
		return;
	if (packet->kind == PACKET_ROCE && packet->payload_bytes && !packet->sampled)
		pcap_rhythm_add(reading->rhythm, t_ns, packet->family, packet->src, packet->octets);
	if (packet->kind == PACKET_OTHER)
		pcap_other_add(&reading->other, packet);
	/* from here on @packet may be another one */
	capture_analysis_packet(&reading->analysis, packet, origin, t_ns);
	if (carries)
		pcap_reading_sflow(reading, packet, origin, t_ns);
}

void pcap_reading_record(struct pcap_reading *reading, const struct pcap_record *record)
{
	struct roce_packet *packet = capture_analysis_room(&reading->analysis);
	if (reading->select && !pcap_select_time(reading->select, record->t_ns))
		return;
	if (record->link == LINK_UNSUPPORTED)
		reading->unread_dlt = record->dlt;
	roce_parse(record->link, record->p, record->n, record->wire, ROCE_CHECK_ICRC, packet);
	pcap_reading_packet(reading, packet, &record->origin, record->t_ns);
}
