/* flow_rows - rows of one interval, from the tables of a capture. */
#include "collectors/packet/flow_rows.h"

static void total_row(const struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample *total)
{
	const struct roce_count *count = &analysis->count;
	const uint64_t data = count->data_packets - analysis->told.data_packets;
	const uint64_t not_ect = count->data_not_ect - analysis->told.data_not_ect;
	total->data_packets = data;
	total->data_ect = data - not_ect;
	total->capture_lost = of->capture_lost;
	if (analysis->copies)
		total->copies = copies_count(analysis->copies)->packets;
}

size_t flow_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample ret[FLOW_ROWS_MAX])
{
	capture_analysis_flush(analysis);
	const size_t n = flow_table_samples(analysis->flows, of->from_ns, of->to_ns, of->entity,
		of->dir, of->capture_lost == 0, ret);
	total_row(analysis, of, &ret[0]);
	return n;
}
