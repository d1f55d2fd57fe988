/* congestion_packets - sums the totals of a host's port and draws conclusions from enough of them.
 */
#include "analyzers/measure/congestion_packets.h"

#include <string.h>

#include "db/model/entity.h"
#include "db/model/flow.h"

#define DATA_MIN 1000.0 /* with fewer packets a share of them says nothing */
#define DATA_OCTETS 500.0 /* mean size from which a host sends data, not only acknowledgements */
#define ECT_FEW 0.1
#define CE_MIN 100.0
#define CE_PER_CNP 600.0 /* 4,096-byte packets of one flow at 400 Gbit/s in 50 us */
#define CNP_EXPECTED 10.0
#define CNP_MIN 10.0 /* a stray one or two prove no stream */

static void host_packets_add_v1(struct host_packets *packets, const struct flow_sample *flow)
{
	if (flow->dir == FLOW_DIR_IN)
		packets->from_v1 += (double)flow->packets;
	else if (flow->dir == FLOW_DIR_OUT)
		packets->to_v1 += (double)flow->packets;
	else
		packets->other_v1 += (double)flow->packets;
}

/* A flow of a capture that cannot tell directions apart: the addresses do. */
static bool is_undirected(const struct host_packets *packets, const struct flow_sample *flow)
{
	return packets->address && !flow->total && flow->dir == FLOW_DIR_UNKNOWN &&
		flow->key.family;
}

static bool is_host(const struct host_packets *packets, const uint8_t *address)
{
	return memcmp(address, packets->address, sizeof(((struct flow_key *)0)->src)) == 0;
}

static void host_packets_add_data(struct host_packets *packets, const struct flow_sample *flow)
{
	packets->data += (double)flow->data_packets;
	packets->data_ect += (double)flow->data_ect;
}

bool host_packets(
	const struct window *window, const struct port_seen *port, struct host_packets *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!window->n_flows || port->entity == ENTITY_NONE)
		return false;
	ret->address = packets_host_address(window, port->entity);
	if (ret->address)
		host_part(window, port->entity, ret->address, &ret->part);
	for (size_t i = packets_first_row(window, port->entity);
		i < window->n_flows && window->flows[i].entity == port->entity; i++) {
		const struct flow_sample *f = &window->flows[i];
		if (flow_is_v1(f))
			host_packets_add_v1(ret, f);
		if (is_undirected(ret, f) && is_host(ret, f->key.src))
			host_packets_add_data(ret, f);
		else if (is_undirected(ret, f) && is_host(ret, f->key.dst))
			ret->to_host += (double)f->packets;
		if (!f->total)
			continue;
		if (f->dir == FLOW_DIR_IN)
			host_packets_add_data(ret, f);
		if (f->dir == FLOW_DIR_IN) {
			ret->from_known = true;
			ret->from_packets += (double)f->packets;
			ret->from_octets += (double)f->octets;
			ret->from_ect += (double)(f->ect + f->ce);
			ret->from_cnp += (double)f->cnp;
		} else if (f->dir == FLOW_DIR_OUT) {
			ret->to_known = true;
			ret->to_packets += (double)f->packets;
			ret->to_ce += (double)f->ce;
			ret->to_cnp += (double)f->cnp;
		} else {
			ret->other_packets += (double)f->packets;
		}
		ret->sampled |= f->sampling > 1;
	}
	return ret->from_known || ret->to_known || ret->other_packets + ret->other_v1 > 0;
}

int packets_lack_ect(const struct host_packets *packets)
{
	if (packets->data >= DATA_MIN)
		return packets->data_ect < ECT_FEW * packets->data;
	if (packets->data > 0)
		return -1;
	/* captures that do not tell data from answers: CNPs need not be ECT */
	const double data = packets->from_packets - packets->from_cnp;
	if (!packets->from_known || data < DATA_MIN ||
		packets->from_octets < DATA_OCTETS * packets->from_packets)
		return -1;
	return packets->from_ect < ECT_FEW * data;
}

int packets_lack_cnp(const struct host_packets *packets)
{
	double enough = CE_MIN;
	if (packets->part.known) {
		const enum answer_verdict verdict =
			answer_judge(&packets->part.answer, packets->part.sampling);
		if (verdict != ANSWER_TOO_FEW)
			return verdict == ANSWER_NO;
	}
	if (packets->sampled)
		enough = CE_PER_CNP * CNP_EXPECTED;
	if (!packets->from_known || !packets->to_known)
		return -1;
	if (packets->to_ce < enough || packets->from_packets < CE_MIN)
		return -1;
	return packets->from_cnp == 0;
}

int packets_cnp_reaches(const struct host_packets *packets)
{
	if (packets->part.known && (double)packets->part.reaction.cnp >= CNP_MIN)
		return 1;
	if (packets->to_known && packets->to_cnp >= CNP_MIN)
		return 1;
	if (packets->to_known && packets->to_packets >= DATA_MIN && packets->to_cnp == 0)
		return 0;
	return -1;
}

int packets_slow_down(
	const struct host_packets *packets, double line_bps, struct reaction_judged *judged)
{
	struct reaction_judged own;
	if (!packets->part.known)
		return -1;
	reaction_judge(&packets->part.reaction, packets->part.sampling, line_bps,
		packets->part.peak_bps, &own);
	if (judged)
		*judged = own;
	if (own.verdict == REACTION_TOO_FEW)
		return -1;
	return own.verdict == REACTION_SLOWS_DOWN;
}
