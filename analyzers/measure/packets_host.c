/* packets_host - finds the host of a port in its flow rows, and adds up its rows. */
#include "analyzers/measure/packets_host.h"

#include <math.h>
#include <string.h>

#include "db/model/flow.h"

#define TAKES_PART 0.95 /* of the octets at a host's port: the rest is broken or not RoCE */

static size_t first_row_of(const struct flow_sample *rows, size_t n, uint32_t entity)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (rows[mid].entity < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t packets_first_row(const struct window *window, uint32_t entity)
{
	return first_row_of(window->flows, window->n_flows, entity);
}

/* ---- the address ------------------------------------------------------------ */

static bool is_named_flow(const struct flow_sample *flow)
{
	return !flow->total && flow->key.family;
}

static bool same_address(const uint8_t *left, const uint8_t *right)
{
	return memcmp(left, right, sizeof(((struct flow_key *)0)->src)) == 0;
}

/* The largest row of that direction, NULL. */
static const struct flow_sample *largest_row(
	const struct window *window, uint32_t entity, enum flow_dir dir)
{
	const struct flow_sample *largest = NULL;
	for (size_t i = packets_first_row(window, entity);
		i < window->n_flows && window->flows[i].entity == entity; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!is_named_flow(flow) || flow->dir != dir)
			continue;
		if (!largest || flow->octets > largest->octets)
			largest = flow;
	}
	return largest;
}

/* Share of the octets at the port that come from @address or go to it. */
static double address_share(const struct window *window, uint32_t entity, const uint8_t *address)
{
	double all = 0, part = 0;
	for (size_t i = packets_first_row(window, entity);
		i < window->n_flows && window->flows[i].entity == entity; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!is_named_flow(flow))
			continue;
		all += (double)flow->octets;
		if (same_address(flow->key.src, address) || same_address(flow->key.dst, address))
			part += (double)flow->octets;
	}
	return part / fmax(all, 1);
}

static const uint8_t *common_address(const struct window *window, uint32_t entity)
{
	const struct flow_sample *largest = largest_row(window, entity, FLOW_DIR_UNKNOWN);
	if (!largest)
		return NULL;
	const double src = address_share(window, entity, largest->key.src);
	const double dst = address_share(window, entity, largest->key.dst);
	if (src >= TAKES_PART && dst < TAKES_PART)
		return largest->key.src;
	if (dst >= TAKES_PART && src < TAKES_PART)
		return largest->key.dst;
	return NULL;
}

const uint8_t *packets_host_address(const struct window *window, uint32_t entity)
{
	const struct flow_sample *in = largest_row(window, entity, FLOW_DIR_IN);
	if (in)
		return in->key.src;
	const struct flow_sample *out = largest_row(window, entity, FLOW_DIR_OUT);
	if (out)
		return out->key.dst;
	return common_address(window, entity);
}

/* ---- its part ----------------------------------------------------------------- */

static void host_part_add(struct host_part *part, const struct flow_sample *row)
{
	part->known = true;
	part->ce_sent += (double)row->ce;
	reaction_sum_add(&part->reaction, &row->reaction);
	part->answer.ce += row->answer.ce;
	part->answer.slots += row->answer.slots;
	part->answer.cnp += row->answer.cnp;
	part->answer.directions += row->answer.directions;
	part->answer.answered += row->answer.answered;
	if (row->sampling > part->sampling)
		part->sampling = row->sampling;
}

void host_part(
	const struct window *window, uint32_t entity, const uint8_t *address, struct host_part *ret)
{
	*ret = (struct host_part){.sampling = 1};
	for (size_t i = first_row_of(window->flow_hosts, window->n_flow_hosts, entity);
		i < window->n_flow_hosts && window->flow_hosts[i].entity == entity; i++) {
		const struct flow_sample *row = &window->flow_hosts[i];
		ret->peak_bps = fmax(ret->peak_bps, row->reaction.peak_bps);
		if (same_address(row->key.src, address))
			host_part_add(ret, row);
	}
}
