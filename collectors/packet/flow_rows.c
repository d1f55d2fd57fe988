/* flow_rows - rows of one interval, from the tables of a capture. */
#include "collectors/packet/flow_rows.h"

size_t flow_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	struct flow_sample ret[FLOW_ROWS_MAX])
{
	capture_analysis_flush(analysis);
	capture_analysis_flush(analysis);
	const size_t n = flow_table_samples(analysis->flows, of->from_ns, of->to_ns, of->entity,
		of->dir, of->capture_lost == 0, ret);
	ret[0].capture_lost = of->capture_lost;
	return n;
}
