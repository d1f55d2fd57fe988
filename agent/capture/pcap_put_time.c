/* pcap_put_time - the rate of the capture over time; the times of one direction of a queue pair. */
#include "agent/capture/pcap_parts.h"

#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

#define STALLED_NS 10000000 /* shorter ones are no sentence of their own */

/* ---- the capture -------------------------------------------------------------- */

static void time_put_rates(json_t *document, struct pcap_reading *reading)
{
	const struct rate_bins *rates = capture_clock_rates(reading->analysis.clock);
	json_t *o = json_object();
	json_t *bins = json_array();
	for (size_t i = 0; i < rates->n; i++) {
		const int64_t number = rates->first + (int64_t)i;
		json_t *bin = json_object();
		json_object_set_new(bin, "t", json_time(number * rates->width_ns));
		pcap_count_put(bin, "octets", rates->bins[i].octets);
		pcap_count_put(bin, "packets", rates->bins[i].packets);
		json_array_append_new(bins, bin);
	}
	json_object_set_new(o, "bin_s", json_real((double)rates->width_ns / (double)NS_PER_S));
	json_object_set_new(o, "bins", bins);
	json_object_set_new(document, "rates", o);
}

/* ---- one direction of a queue pair ---------------------------------------------- */

static void time_stalls(struct pcap_row *row, const struct stalls *stalls)
{
	pcap_row_open_list(row, "stalls");
	for (size_t i = 0; stalls && i < stalls->n; i++) {
		const struct stall *stall = &stalls->longest[i];
		pcap_row_open(row, NULL);
		pcap_row_time(row, "t", stall->from_ns);
		pcap_row_real(row, "s", (double)stall->lasts_ns / (double)NS_PER_S);
		pcap_row_word(row, "cause", stall_cause_name(stall->cause));
		pcap_row_close(row);
	}
	pcap_row_close(row);
}

static void time_message_bytes(struct pcap_row *row, const struct stream_times *times, bool ordered)
{
	if (!times->sized || !ordered) {
		pcap_row_null(row, "message_bytes");
		return;
	}
	pcap_row_open(row, "message_bytes");
	if (times->median_known)
		pcap_row_count(row, "median", times->message_median);
	else
		pcap_row_null(row, "median");
	pcap_row_count(row, "max", times->message_max);
	pcap_row_close(row);
}

/* The longest stall; idle times are none. */
static double time_longest_s(const struct stalls *stalls)
{
	if (!stalls || stalls->total == 0)
		return 0;
	return (double)stalls->longest[0].lasts_ns / (double)NS_PER_S;
}

/* Of a sample the number of messages and what ends a silence are not known: null. Of packets that
 * overtake each other it is not sure which message they belong to. */
static void time_put_known(
	struct pcap_row *row, const struct stream_times *times, bool known, bool ordered)
{
	if (known && ordered)
		pcap_row_count(row, "messages", times->messages);
	else
		pcap_row_null(row, "messages");
	if (known) {
		time_stalls(row, times->stalls);
		pcap_row_real(row, "stall_s", time_longest_s(times->stalls));
	} else {
		pcap_row_null(row, "stalls");
		pcap_row_null(row, "stall_s");
	}
	time_message_bytes(row, times, ordered);
	if (times->credits_least >= 0)
		pcap_row_count(row, "credits_least", (uint64_t)times->credits_least);
	else
		pcap_row_null(row, "credits_least");
}

static void time_put_nothing(struct pcap_row *row)
{
	static const char *const keys[] = {
		"rate_bps", "messages", "message_bytes", "credits_least", "stalls", "stall_s"};
	for (size_t i = 0; i < rw_countof(keys); i++)
		pcap_row_null(row, keys[i]);
}

void pcap_put_qp_time(struct pcap_row *row, struct pcap_reading *reading, const struct flow *flow)
{
	pcap_row_time(row, "t_first", flow->first_ns);
	pcap_row_time(row, "t_last", flow->last_ns);
	if (!flow->stream) {
		time_put_nothing(row);
		return;
	}
	struct stream_times times;
	const uint32_t sampling = reading->rows.sampling;
	capture_clock_stream(reading->analysis.clock, &flow->stream->clock, &times);
	const double packet_octets = (double)flow->octets / (double)flow->packets;
	double rate_bps = times.packets_per_s * packet_octets * 8 * (double)sampling;
	if (sampling == 0)
		rate_bps = NAN;
	pcap_row_real(row, "rate_bps", rate_bps);
	time_put_known(row, &times, reading->rows.psn_known, flow->psn.reordered == 0);
}

double pcap_stall_s(const struct pcap_reading *reading, const struct flow *flow)
{
	struct stream_times times;
	if (!flow->stream)
		return 0;
	capture_clock_stream(reading->analysis.clock, &flow->stream->clock, &times);
	return time_longest_s(times.stalls);
}

/* ---- sentences ------------------------------------------------------------------ */

struct time_stalled {
	uint32_t qp;
	struct stall stall;
};

/* The longest stalls, one of a direction, longest first. */
static size_t time_longest(
	struct pcap_reading *reading, struct time_stalled ret[PCAP_VERDICTS_PER_KIND])
{
	const struct flow_table *flows = reading->analysis.flows;
	size_t n = 0;
	for (uint32_t id = 0; id < flow_table_stream_end(flows); id++) {
		const struct flow_stream *stream = flow_table_stream(flows, id);
		struct stream_times times;
		if (stream->qp == FLOW_NONE || !stream->clock.rare)
			continue;
		capture_clock_stream(reading->analysis.clock, &stream->clock, &times);
		if (!times.stalls || times.stalls->total == 0 ||
			times.stalls->longest[0].lasts_ns < STALLED_NS)
			continue;
		const struct time_stalled one = {
			.qp = stream->qp, .stall = times.stalls->longest[0]};
		size_t at = n;
		while (at > 0 && ret[at - 1].stall.lasts_ns < one.stall.lasts_ns)
			at--;
		if (at >= PCAP_VERDICTS_PER_KIND)
			continue;
		if (n < PCAP_VERDICTS_PER_KIND)
			n++;
		for (size_t i = n - 1; i > at; i--)
			ret[i] = ret[i - 1];
		ret[at] = one;
	}
	return n;
}

static void time_put_stalled(
	json_t *document, struct pcap_reading *reading, const struct time_stalled *stalled)
{
	static const char *const why[] = {
		[STALL_UNKNOWN] = "in the middle of a message",
		[STALL_TIMEOUT] = "waiting for a timeout",
		[STALL_RNR] = "because the receiver was not ready (RNR NAK)",
		[STALL_PAUSE] = "under pause frames",
	};
	const struct stall *stall = &stalled->stall;
	struct flow flow;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN], lasts[32];
	flow_table_row(reading->analysis.flows, stalled->qp, &flow);
	pcap_address_text(src, flow.key.family, flow.key.src);
	pcap_address_text(dst, flow.key.family, flow.key.dst);
	duration_format(lasts, sizeof(lasts), stall->lasts_ns);
	json_t *row =
		pcap_verdict_add(document, PCAP_VERDICT_STALLED, "%s -> %s QP 0x%06x stood %s %s",
			src, dst, (unsigned)flow.key.dst_qp, lasts, why[stall->cause]);
	json_object_set_new(row, "src", json_string(src));
	json_object_set_new(row, "dst", json_string(dst));
	json_object_set_new(row, "dst_qp", json_integer(flow.key.dst_qp));
	json_object_set_new(row, "t", json_time(stall->from_ns));
	json_object_set_new(row, "s", json_real((double)stall->lasts_ns / (double)NS_PER_S));
	json_object_set_new(row, "cause", json_string(stall_cause_name(stall->cause)));
}

void pcap_put_time(json_t *document, struct pcap_reading *reading)
{
	time_put_rates(document, reading);
	struct time_stalled longest[PCAP_VERDICTS_PER_KIND];
	if (!pcap_psn_known(reading))
		return;
	const size_t n = time_longest(reading, longest);
	for (size_t i = 0; i < n; i++)
		time_put_stalled(document, reading, &longest[i]);
}
