/* flow_rows - rows of one interval, from the tables of a capture. */
#include "collectors/packet/flow_rows.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

/* ---- hosts --------------------------------------------------------------------- */

/* How much the packets say of a host: marks and notifications. */
static uint64_t host_weight(const struct clock_host *host)
{
	return host->reaction.cnp + host->answer.ce + host->answer.cnp + host->ce_sent;
}

static int host_order(const void *left, const void *right)
{
	const struct clock_host *x = *(const struct clock_host *const *)left;
	const struct clock_host *y = *(const struct clock_host *const *)right;
	const uint64_t more = host_weight(x), less = host_weight(y);
	if (more != less)
		return more > less ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

/* Rates before and after say nothing where the capture itself lost packets; counts are what they
 * are. */
static void host_forget_rates(struct flow_sample *row)
{
	row->reaction = (struct reaction_sum){
		.cnp = row->reaction.cnp, .unattributed = row->reaction.unattributed};
}

static void host_row(const struct flow_host *address, const struct clock_host *host,
	const struct flow_rows_of *of, uint32_t sampling, struct flow_sample *ret)
{
	*ret = (struct flow_sample){.from_ns = of->from_ns,
		.to_ns = of->to_ns,
		.entity = of->entity,
		.dir = (uint8_t)of->dir,
		.sampling = sampling,
		.host = true,
		.key = {.family = (uint8_t)address->family},
		.ce = host->ce_sent,
		.reaction = host->reaction,
		.answer = host->answer};
	memcpy(ret->key.src, address->address, sizeof(ret->key.src));
	if (of->capture_lost)
		host_forget_rates(ret);
}

static size_t host_rows(struct capture_analysis *analysis, const struct flow_rows_of *of,
	uint32_t sampling, struct flow_sample ret[FLOW_HOSTS])
{
	size_t n_hosts, n = 0, kept = 0;
	const struct clock_host *hosts = capture_clock_hosts(analysis->clock, &n_hosts);
	rw_cleanup(freep) const struct clock_host **order = rw_calloc(n_hosts + 1, sizeof(*order));
	for (size_t i = 0; i < n_hosts; i++)
		if (hosts[i].host != CLOCK_NO_HOST && host_weight(&hosts[i]))
			order[n++] = &hosts[i];
	qsort(order, n, sizeof(*order), host_order);
	for (size_t i = 0; i < n && kept < FLOW_HOSTS; i++) {
		const struct flow_host *address = flow_table_host(analysis->flows, order[i]->host);
		if (address && address->family)
			host_row(address, order[i], of, sampling, &ret[kept++]);
	}
	return kept;
}

/* ---- all rows -------------------------------------------------------------------- */

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
	return n + host_rows(analysis, of, ret[0].sampling, &ret[n]);
}
