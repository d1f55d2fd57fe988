/* pcap_put_sflow - "sflow" in the document of a capture: what its sFlow datagrams say. */

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

enum { SOURCES_SHOWN = 64, FLOWS_SHOWN = 64, DISCARDS_SHOWN = 32, QUEUES_SHOWN = 16, TOP = 8 };

/* ---- single values --------------------------------------------------------- */

static void put_estimate(json_t *o, const char *key, const struct sflow_estimate *estimate)
{
	json_t *e = json_object();
	json_object_set_new(e, "value", json_number_or_null(round(estimate->value)));
	json_object_set_new(e, "low", json_number_or_null(floor(estimate->low)));
	json_object_set_new(e, "high", json_number_or_null(ceil(estimate->high)));
	json_object_set_new(o, key, e);
}

static void put_agent(json_t *o, const struct sflow_address *agent)
{
	if (agent->family)
		pcap_address_put(o, "agent", agent->family, agent->bytes);
	else
		json_object_set_new(o, "agent", json_null());
}

/* An ifIndex, or null where the agent did not say. */
static void put_ifindex(json_t *o, const char *key, uint32_t ifindex)
{
	if (ifindex)
		pcap_count_put(o, key, ifindex);
	else
		json_object_set_new(o, key, json_null());
}

static void put_pair(json_t *o, const struct sflow_pair *pair)
{
	pcap_address_put(o, "src", pair->family, pair->src);
	pcap_address_put(o, "dst", pair->family, pair->dst);
	pcap_count_put(o, "dst_qp", pair->dst_qp);
}

/* ---- sources ------------------------------------------------------------------ */

static json_t *source_row(const struct sflow_source *source)
{
	const struct sflow_estimate packets = sflow_estimate_packets(&source->roce, source);
	const struct sflow_estimate octets = sflow_estimate_octets(&source->roce, source);
	json_t *o = json_object();
	put_agent(o, &source->agent);
	pcap_count_put(o, "sub_agent", source->sub_agent);
	if (source->source_class == 0)
		put_ifindex(o, "ifindex", source->source_index);
	else
		json_object_set_new(o, "ifindex", json_null());
	pcap_count_put(o, "sampling", source->sampling);
	pcap_count_put(o, "samples", source->samples);
	pcap_count_put(o, "lost_samples", source->generated - source->samples);
	pcap_count_put(o, "roce_samples", source->roce.samples);
	put_estimate(o, "estimated_packets", &packets);
	put_estimate(o, "estimated_octets", &octets);
	return o;
}

static int compare_sources(const void *left, const void *right)
{
	const struct sflow_source *a = *(const struct sflow_source *const *)left;
	const struct sflow_source *b = *(const struct sflow_source *const *)right;
	if (a->roce.octets != b->roce.octets)
		return a->roce.octets < b->roce.octets ? 1 : -1;
	return (a > b) - (a < b);
}

/* The errors of different sources are independent: their squares add up. */
static void estimate_join(struct sflow_estimate *sum, double *low_sq, double *high_sq,
	const struct sflow_estimate *one)
{
	sum->value += one->value;
	*low_sq += (one->value - one->low) * (one->value - one->low);
	*high_sq += (one->high - one->value) * (one->high - one->value);
}

static void put_totals(json_t *o, const struct sflow_source *sources, size_t n)
{
	struct sflow_estimate packets = {0}, octets = {0};
	double packets_sq[2] = {0}, octets_sq[2] = {0};
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		const struct sflow_sums *roce = &sources[i].roce;
		if (roce->samples == 0)
			continue;
		const struct sflow_estimate p = sflow_estimate_packets(roce, &sources[i]);
		const struct sflow_estimate b = sflow_estimate_octets(roce, &sources[i]);
		estimate_join(&packets, &packets_sq[0], &packets_sq[1], &p);
		estimate_join(&octets, &octets_sq[0], &octets_sq[1], &b);
		any = true;
	}
	if (!any) {
		json_object_set_new(o, "estimated_packets", json_null());
		json_object_set_new(o, "estimated_octets", json_null());
		return;
	}
	packets.low = fmax(0, packets.value - sqrt(packets_sq[0]));
	packets.high = packets.value + sqrt(packets_sq[1]);
	octets.low = fmax(0, octets.value - sqrt(octets_sq[0]));
	octets.high = octets.value + sqrt(octets_sq[1]);
	put_estimate(o, "estimated_packets", &packets);
	put_estimate(o, "estimated_octets", &octets);
}

static void put_sources(json_t *o, const struct sflow_summary *summary)
{
	size_t n, shown = 0;
	const struct sflow_source *sources = sflow_summary_sources(summary, &n);
	rw_cleanup(freep) const struct sflow_source **order = rw_calloc(n + 1, sizeof(*order));
	/* Sequences of drop notifications stand beside those of samples and are no sources. */
	for (size_t i = 0; i < n; i++)
		if (sources[i].samples > 0)
			order[shown++] = &sources[i];
	pcap_count_put(o, "sources_total", shown);
	qsort(order, shown, sizeof(*order), compare_sources);
	json_t *rows = json_array();
	for (size_t i = 0; i < shown && i < SOURCES_SHOWN; i++)
		json_array_append_new(rows, source_row(order[i]));
	put_totals(o, sources, n);
	json_object_set_new(o, "sources", rows);
}

/* ---- flows ---------------------------------------------------------------------- */

static int compare_sflow_flows(const void *left, const void *right)
{
	const struct sflow_flow *a = *(const struct sflow_flow *const *)left;
	const struct sflow_flow *b = *(const struct sflow_flow *const *)right;
	if (a->sums.octets != b->sums.octets)
		return a->sums.octets < b->sums.octets ? 1 : -1;
	return (a > b) - (a < b);
}

static json_t *flow_row(const struct sflow_flow *flow, const struct sflow_source *source)
{
	const struct sflow_estimate packets = sflow_estimate_packets(&flow->sums, source);
	const struct sflow_estimate octets = sflow_estimate_octets(&flow->sums, source);
	json_t *o = json_object();
	put_agent(o, &source->agent);
	if (source->source_class == 0)
		put_ifindex(o, "ifindex", source->source_index);
	else
		json_object_set_new(o, "ifindex", json_null());
	put_pair(o, &flow->pair);
	pcap_count_put(o, "samples", flow->sums.samples);
	put_estimate(o, "estimated_packets", &packets);
	put_estimate(o, "estimated_octets", &octets);
	return o;
}

static void put_flows(json_t *o, const struct sflow_summary *summary)
{
	size_t n, n_sources;
	const struct sflow_flow *flows = sflow_summary_flows(summary, &n);
	const struct sflow_source *sources = sflow_summary_sources(summary, &n_sources);
	rw_cleanup(freep) const struct sflow_flow **order = rw_calloc(n + 1, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = &flows[i];
	qsort(order, n, sizeof(*order), compare_sflow_flows);
	json_t *rows = json_array();
	for (size_t i = 0; i < n && i < FLOWS_SHOWN; i++)
		json_array_append_new(rows, flow_row(order[i], &sources[order[i]->source]));
	json_object_set_new(o, "flows", rows);
}

/* ---- discards --------------------------------------------------------------------- */

static int compare_discards(const void *left, const void *right)
{
	const struct sflow_discard *a = *(const struct sflow_discard *const *)left;
	const struct sflow_discard *b = *(const struct sflow_discard *const *)right;
	if (!a->pair.family != !b->pair.family) /* RoCE first */
		return a->pair.family ? -1 : 1;
	if (a->notifications != b->notifications)
		return a->notifications < b->notifications ? 1 : -1;
	return (a > b) - (a < b);
}

static json_t *discard_row(const struct sflow_discard *discard)
{
	char text[SFLOW_REASON_MAX];
	json_t *o = json_object();
	put_agent(o, &discard->agent);
	put_ifindex(o, "input", discard->input);
	put_ifindex(o, "output", discard->output);
	json_object_set_new(o, "reason", json_string(sflow_reason_text(text, discard->reason)));
	if (discard->pair.family) {
		put_pair(o, &discard->pair);
	} else {
		json_object_set_new(o, "src", json_null());
		json_object_set_new(o, "dst", json_null());
		json_object_set_new(o, "dst_qp", json_null());
	}
	pcap_count_put(o, "notifications", discard->notifications);
	return o;
}

static void put_discard_verdict(json_t *document, const struct sflow_discard *worst, uint64_t roce)
{
	char text[SFLOW_REASON_MAX], agent[INET6_ADDRSTRLEN], src[INET6_ADDRSTRLEN],
		dst[INET6_ADDRSTRLEN];
	const char *where = "a switch";
	if (worst->agent.family)
		where = pcap_address_text(agent, worst->agent.family, worst->agent.bytes);
	sflow_reason_text(text, worst->reason);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_SFLOW_DISCARDS,
		"%s dropped packets of %s to %s QP 0x%06x (%s); switches reported %s dropped "
		"RoCEv2 packets in all",
		where, pcap_address_text(src, worst->pair.family, worst->pair.src),
		pcap_address_text(dst, worst->pair.family, worst->pair.dst), worst->pair.dst_qp,
		text, number_count(roce).s);
	json_object_set_new(row, "n", json_integer((json_int_t)roce));
	json_object_set_new(row, "reason", json_string(text));
	json_object_set_new(row, "src", json_string(src));
	json_object_set_new(row, "dst", json_string(dst));
	json_object_set_new(row, "dst_qp", json_integer(worst->pair.dst_qp));
}

static void put_discards(json_t *document, json_t *o, const struct sflow_summary *summary)
{
	char text[SFLOW_REASON_MAX];
	size_t n_reasons, n;
	uint64_t roce = 0;
	const struct sflow_reason *reasons = sflow_summary_reasons(summary, &n_reasons);
	const struct sflow_discard *discards = sflow_summary_discards(summary, &n);
	json_t *by_reason = json_object(), *rows = json_array();
	for (size_t i = 0; i < n_reasons; i++) {
		pcap_count_put(by_reason, sflow_reason_text(text, reasons[i].reason),
			reasons[i].notifications);
		roce += reasons[i].roce;
	}
	rw_cleanup(freep) const struct sflow_discard **order = rw_calloc(n + 1, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = &discards[i];
	qsort(order, n, sizeof(*order), compare_discards);
	for (size_t i = 0; i < n && i < DISCARDS_SHOWN; i++)
		json_array_append_new(rows, discard_row(order[i]));
	json_object_set_new(o, "discards", by_reason);
	json_object_set_new(o, "discard_flows", rows);
	pcap_count_put(o, "discards_roce", roce);
	pcap_count_put(o, "discards_left_out", sflow_summary_totals(summary)->notifications_lost);
	if (roce > 0)
		put_discard_verdict(document, order[0], roce);
}

/* ---- queues ------------------------------------------------------------------------- */

struct standing_order {
	const struct sflow_standing *standing;
	double blame;
};

static int compare_standings(const void *left, const void *right)
{
	const struct standing_order *a = left, *b = right;
	if (a->blame != b->blame)
		return a->blame < b->blame ? 1 : -1;
	return (a->standing > b->standing) - (a->standing < b->standing);
}

static json_t *queue_top(const struct sflow_summary *summary, const struct sflow_queue *queue,
	uint32_t at, double all)
{
	const char *by;
	size_t n, found = 0;
	const struct sflow_standing *standings = sflow_summary_standings(summary, &n);
	rw_cleanup(freep) struct standing_order *order = rw_calloc(n + 1, sizeof(*order));
	for (size_t i = 0; i < n; i++) {
		if (standings[i].queue != at)
			continue;
		order[found].standing = &standings[i];
		order[found++].blame = sflow_blame_of(&standings[i].blame, queue, &by);
	}
	qsort(order, found, sizeof(*order), compare_standings);
	json_t *rows = json_array();
	for (size_t i = 0; i < found && i < TOP; i++) {
		json_t *row = json_object();
		put_pair(row, &order[i].standing->pair);
		pcap_count_put(row, "samples", order[i].standing->samples);
		json_object_set_new(row, "share", json_number_or_null(order[i].blame / all));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *queue_row(
	const struct sflow_summary *summary, const struct sflow_queue *queue, uint32_t at)
{
	const char *by;
	const double all = sflow_blame_of(&queue->blame, queue, &by);
	json_t *o = json_object();
	put_agent(o, &queue->agent);
	put_ifindex(o, "ifindex", queue->output);
	json_object_set_new(o, "queue", json_null());
	if (queue->has_queue)
		pcap_count_put(o, "queue", queue->queue);
	pcap_count_put(o, "samples", queue->samples);
	json_object_set_new(o, "depth_max_bytes", json_null());
	if (queue->has_depth)
		pcap_count_put(o, "depth_max_bytes", queue->depth_max_bytes);
	json_object_set_new(o, "delay_max_ns", json_null());
	if (queue->has_delay)
		pcap_count_put(o, "delay_max_ns", queue->delay_max_ns);
	json_object_set_new(o, "ranked_by", json_string(by));
	json_object_set_new(o, "top", queue_top(summary, queue, at, all));
	return o;
}

/* Queues whose delay is known first, by octets times delay; then by depth; then by octets. */
static int compare_queues(const void *left, const void *right)
{
	const struct sflow_queue *a = *(const struct sflow_queue *const *)left;
	const struct sflow_queue *b = *(const struct sflow_queue *const *)right;
	if (a->blame.by_delay != b->blame.by_delay)
		return a->blame.by_delay < b->blame.by_delay ? 1 : -1;
	if (a->blame.by_depth != b->blame.by_depth)
		return a->blame.by_depth < b->blame.by_depth ? 1 : -1;
	if (a->blame.by_octets != b->blame.by_octets)
		return a->blame.by_octets < b->blame.by_octets ? 1 : -1;
	return (a > b) - (a < b);
}

static void put_queues(json_t *o, const struct sflow_summary *summary)
{
	size_t n;
	const struct sflow_queue *queues = sflow_summary_queues(summary, &n);
	rw_cleanup(freep) const struct sflow_queue **order = rw_calloc(n + 1, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = &queues[i];
	qsort(order, n, sizeof(*order), compare_queues);
	json_t *rows = json_array();
	for (size_t i = 0; i < n && i < QUEUES_SHOWN; i++)
		json_array_append_new(
			rows, queue_row(summary, order[i], (uint32_t)(order[i] - queues)));
	json_object_set_new(o, "queues", rows);
	pcap_count_put(o, "queues_total", n);
}

/* ---- the part ------------------------------------------------------------------------ */

static void put_sflow_errors(json_t *o, const struct sflow_totals *totals)
{
	const struct {
		const char *key;
		uint64_t n;
	} rows[] = {
		{"bad_datagrams", totals->bad_datagrams},
		{"other_versions", totals->other_versions},
		{"cut_datagrams", totals->cut_datagrams},
		{"skipped_samples", totals->skipped_samples},
		{"skipped_records", totals->skipped_records},
		{"unlisted", totals->unlisted},
	};
	json_t *errors = json_object();
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (rows[i].n)
			pcap_count_put(errors, rows[i].key, rows[i].n);
	json_object_set_new(o, "errors", errors);
}

static void put_lost_verdict(json_t *document, const struct sflow_sequence_counts *sequence)
{
	if (sequence->lost == 0)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_SFLOW_LOST,
		"%s of %s sFlow datagrams are missing by their sequence numbers",
		number_count(sequence->lost).s,
		number_count(sequence->lost + sequence->datagrams).s);
	json_object_set_new(row, "n", json_integer((json_int_t)sequence->lost));
}

void pcap_put_sflow(json_t *document, struct pcap_reading *reading)
{
	if (!reading->sflow)
		return;
	const struct sflow_totals *totals = sflow_summary_totals(reading->sflow);
	const struct sflow_sequence_counts *sequence = sflow_summary_sequence(reading->sflow);
	json_t *o = json_object();
	pcap_count_put(o, "datagrams", sequence->datagrams);
	pcap_count_put(o, "agents", sequence->agents);
	pcap_count_put(o, "flow_samples", totals->flow_samples);
	pcap_count_put(o, "counter_samples", totals->counter_samples);
	pcap_count_put(o, "drop_notifications", totals->notifications);
	pcap_count_put(o, "roce_samples", reading->analysis.count.sampled_packets);
	pcap_count_put(o, "lost_datagrams", sequence->lost);
	pcap_count_put(o, "restarts", sequence->restarts);
	put_sources(o, reading->sflow);
	put_flows(o, reading->sflow);
	put_discards(document, o, reading->sflow);
	put_queues(o, reading->sflow);
	put_sflow_errors(o, totals);
	put_lost_verdict(document, sequence);
	json_object_set_new(document, "sflow", o);
}
