/* capture_analysis - hands each frame to what keeps it. */
#include "collectors/packet/capture_analysis.h"

void capture_analysis_init(
	struct capture_analysis *analysis, const struct analysis_options *options)
{
	*analysis = (struct capture_analysis){0};
	analysis->flows = flow_table_new(options->flow_limit, options->sampling, options->seed);
}

void capture_analysis_end(struct capture_analysis *analysis)
{
	flow_table_free(analysis->flows);
	analysis->flows = NULL;
}

void capture_analysis_packet(struct capture_analysis *analysis, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	roce_count_add(&analysis->count, packet, t_ns);
	if (encapsulation_counts(packet))
		encapsulation_count_add(&analysis->encapsulation, packet);
	if (packet->kind == PACKET_ROCE || packet->kind == PACKET_ROCEV1)
		flow_table_add(analysis->flows, packet, t_ns);
}

void capture_analysis_next(struct capture_analysis *analysis)
{
	flow_table_next(analysis->flows);
}
