/* pcap_sampling - what is known of the sampling of a capture. */
#include "agent/capture/pcap_sampling.h"

#include "agent/capture/pcap_row.h"
#include "agent/capture/pcap_verdict.h"

enum {
	PSN_CUT_LEAST = 8,
	PSN_CUT_SHARE = 10, /* one in so many packets */
	UNPROVED_DATA_LEAST = 4,
	UNPROVED_SHARE = 16, /* of the data packets follow another */
};

/* estimated - is it a sample by its PSNs? Only asked when nobody said so. */
static bool sampling_estimate(const struct pcap_reading *reading, struct loss_sampling *ret)
{
	const struct loss *loss = flow_table_loss(reading->analysis.flows);
	*ret = (struct loss_sampling){0};
	if (reading->options.sampling || !loss)
		return false;
	loss_sampling(loss, ret);
	return ret->sampled;
}

/* sampling_of_sflow - do the packets come from sFlow samples, most of them? *@ret_n: the rate of
 * all their sources, 0 where they differ. */
static bool sampling_of_sflow(const struct pcap_reading *reading, uint32_t *ret_n)
{
	const struct roce_count *count = &reading->analysis.count;
	size_t n;
	*ret_n = 0;
	if (!reading->sflow || count->sampled_packets * 2 <= count->roce_packets)
		return false;
	const struct sflow_source *sources = sflow_summary_sources(reading->sflow, &n);
	for (size_t i = 0; i < n; i++) {
		if (sources[i].roce.samples == 0)
			continue;
		if (*ret_n && *ret_n != sources[i].sampling) {
			*ret_n = 0;
			return true;
		}
		*ret_n = sources[i].sampling;
	}
	return true;
}

uint32_t pcap_sampling(const struct pcap_reading *reading)
{
	struct loss_sampling estimate;
	if (reading->options.sampling)
		return reading->options.sampling;
	uint32_t n;
	if (sampling_of_sflow(reading, &n))
		return n;
	if (!sampling_estimate(reading, &estimate))
		return 1;
	if (estimate.n <= 0)
		return 0;
	return (uint32_t)fmax(2, round(estimate.n));
}

bool pcap_psn_cut(const struct pcap_reading *reading)
{
	const struct roce_count *count = &reading->analysis.count;
	const uint64_t cut = count->errors[ROCE_CUT_BY_SNAPLEN];
	return cut >= PSN_CUT_LEAST && cut * PSN_CUT_SHARE >= count->roce_packets;
}

/* psn_unproved - next to no packet follows another in the sequence: the capture may be a sample of
 * senders that send little, or of UD, whose jumps say nothing. */
static bool psn_unproved(const struct pcap_reading *reading)
{
	const struct loss *loss = flow_table_loss(reading->analysis.flows);
	struct loss_sampling steps;
	if (!loss || reading->analysis.count.data_packets < UNPROVED_DATA_LEAST)
		return false;
	loss_sampling(loss, &steps);
	return steps.in_order * UNPROVED_SHARE < reading->analysis.count.data_packets;
}

bool pcap_psn_known(const struct pcap_reading *reading)
{
	return pcap_sampling(reading) == 1 && !pcap_psn_cut(reading) &&
		!(reading->options.sampling == 0 && psn_unproved(reading));
}

static const char *sampling_source(const struct pcap_reading *reading, bool estimated)
{
	uint32_t n;
	if (reading->options.sampling)
		return "option";
	if (sampling_of_sflow(reading, &n))
		return "capture";
	if (estimated)
		return "estimated";
	return "assumed";
}

static json_t *sampling_reason(
	const struct pcap_reading *reading, uint32_t n, const struct loss_sampling *estimate)
{
	if (n == 1 && pcap_psn_cut(reading))
		return json_string("many packets end before their PSN: gaps, resends, copies and "
				   "their causes cannot be judged");
	if (n == 1)
		return json_string("next to no packet has the PSN after that of another: "
				   "whether every packet was captured is not known");
	if (!estimate->sampled)
		return json_string("of the packets in between nothing is known: gaps, resends and "
				   "their causes cannot be judged");
	if (n == 0)
		return json_string(
			"most packets jump ahead in the sequence and next to none comes "
			"again: the capture is not complete, and gaps, resends and their "
			"causes cannot be judged");
	return json_sprintf("the PSN goes on by %u or more from packet to packet in half of %llu "
			    "steps, %llu NAKs and %llu steps back came: one packet in about %u was "
			    "captured, and gaps, resends and their causes cannot be judged",
		estimate->median_at_least, (unsigned long long)estimate->steps,
		(unsigned long long)estimate->naks, (unsigned long long)estimate->back, n);
}

static void put_sampled(json_t *document, uint32_t n, const struct loss_sampling *estimate)
{
	if (n == 0 && estimate->sampled) {
		pcap_verdict_add(document, PCAP_VERDICT_SAMPLED,
			"only some of the packets were captured: gaps, resends and loss cannot be "
			"known");
		return;
	}
	if (n == 0) {
		pcap_verdict_add(document, PCAP_VERDICT_SAMPLED,
			"the packets are samples at different rates: gaps, resends and loss "
			"cannot be known");
		return;
	}
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_SAMPLED,
		"about one packet in %u was captured: gaps, resends and loss cannot be known", n);
	pcap_count_put(row, "n", n);
}

void pcap_put_sampling(json_t *document, struct pcap_reading *reading)
{
	struct loss_sampling estimate;
	const bool estimated = sampling_estimate(reading, &estimate);
	const uint32_t n = pcap_sampling(reading);
	json_t *o = json_object();
	json_object_set_new(o, "n", json_null());
	if (n > 0)
		pcap_count_put(o, "n", n);
	json_object_set_new(o, "source", json_string(sampling_source(reading, estimated)));
	const bool known = pcap_psn_known(reading);
	json_object_set_new(o, "psn_known", json_boolean(known));
	json_object_set_new(o, "reason", json_null());
	if (!known)
		json_object_set_new(o, "reason", sampling_reason(reading, n, &estimate));
	if (n != 1)
		put_sampled(document, n, &estimate);
	json_object_set_new(document, "sampling", o);
}
