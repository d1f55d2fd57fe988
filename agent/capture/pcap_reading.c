/* pcap_reading - the report under way of one capture. */
#include <sys/auxv.h>

#include "agent/capture/pcap_document.h"

struct pcap_reading *pcap_reading_new(const struct pcap_options *options)
{
	struct pcap_reading *reading = rw_calloc(1, sizeof(*reading));
	uint64_t seed = 0;
	/* a file must not be able to aim at one hash slot */
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
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
