/* sflow_counters - interface and Ethernet counters of sFlow by the names of metric.def. */
#include "collectors/packet/sflow/sflow_counters.h"

struct counters_out {
	struct sample *v;
	size_t n;
	struct sample common;
};

static void counters_put(
	struct counters_out *out, unsigned metric, uint64_t value, unsigned flags, bool known)
{
	if (!known)
		return;
	struct sample *s = &out->v[out->n++];
	*s = out->common;
	s->metric = (uint16_t)metric;
	s->value = value;
	s->flags = (uint16_t)flags;
}

static void counters_put32(struct counters_out *out, unsigned metric, uint32_t value)
{
	counters_put(out, metric, value, SF_WRAP32, sflow_known(value));
}

/* The sum of three counters of 32 bits is one of 32 bits, too. */
static void counters_put_packets(struct counters_out *out, unsigned metric, uint32_t unicast,
	uint32_t multicast, uint32_t broadcast)
{
	const bool known = sflow_known(unicast) && sflow_known(multicast) && sflow_known(broadcast);
	counters_put(out, metric, (uint32_t)(unicast + multicast + broadcast), SF_WRAP32, known);
}

size_t sflow_counters(const struct sflow_sample *sample, uint32_t entity, int64_t t_ns,
	struct sample ret[SFLOW_COUNTERS_MAX])
{
	struct counters_out out = {
		ret, 0, {.t_ns = t_ns, .entity = entity, .source = SOURCE_SFLOW}};
	const struct sflow_if_counters *c = &sample->interface;
	if (sample->has_if) {
		counters_put(&out, M_PORT_IN_OCTETS, c->in_octets, 0, c->in_octets != UINT64_MAX);
		counters_put(
			&out, M_PORT_OUT_OCTETS, c->out_octets, 0, c->out_octets != UINT64_MAX);
		counters_put_packets(
			&out, M_PORT_IN_PACKETS, c->in_unicast, c->in_multicast, c->in_broadcast);
		counters_put_packets(&out, M_PORT_OUT_PACKETS, c->out_unicast, c->out_multicast,
			c->out_broadcast);
		counters_put32(&out, M_PORT_IN_DISCARDS, c->in_discards);
		counters_put32(&out, M_PORT_OUT_DISCARDS, c->out_discards);
		counters_put32(&out, M_PORT_IN_ERRORS, c->in_errors);
		counters_put32(&out, M_PORT_OUT_ERRORS, c->out_errors);
		counters_put(&out, M_PORT_SPEED_BPS, c->speed_bps, 0,
			c->speed_bps != UINT64_MAX && c->speed_bps != 0);
		counters_put(&out, M_PORT_OPER_UP, c->status >> 1 & 1, 0, sflow_known(c->status));
	}
	if (sample->has_ethernet) {
		counters_put32(&out, M_PORT_FCS_ERRORS, sample->fcs_errors);
		counters_put32(&out, M_PORT_SYMBOL_ERRORS, sample->symbol_errors);
	}
	return out.n;
}
