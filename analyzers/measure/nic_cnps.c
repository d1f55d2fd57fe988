/* nic_cnps - sums the counters of CNPs over the NICs of the fabric. */
#include "analyzers/measure/nic_cnps.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "analyzers/measure/input.h"

#define SENDS 0.1 /* of the median NIC: it takes part */
#define SENDS_BPS 1e8 /* less is no traffic of a job */
#define SENT_MIN 100.0 /* CNPs, for a share of them */

double nic_sends_bps(const struct nic_seen *nic)
{
	if (nic->port && nic->port->in_known)
		return nic->port->in.rate_bps;
	if (nic->out_octets.known)
		return 8 * amount_rate(&nic->out_octets);
	/* not known which port is its own: the first of its host stands for all */
	if (!nic->port && nic->host_port && nic->host_port->in_known)
		return nic->host_port->in.rate_bps;
	return NAN;
}

static void nic_cnps_median(const struct nics *nics, struct nic_cnps *cnps, struct arena *a)
{
	double *v = arena_array(a, double, nics->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < nics->n; i++) {
		const double bps = nic_sends_bps(&nics->v[i]);
		if (nics->v[i].host_port && !nics->v[i].folded && bps > SENDS_BPS)
			v[n++] = bps;
	}
	if (n)
		cnps->median_bps = stats_median(v, n);
}

bool nic_is_silent(const struct nic_cnps *cnps, const struct nic_seen *nic)
{
	const double bps = nic_sends_bps(nic);
	return nic->host_port && !nic->folded && nic->cnp_handled.known &&
		!nic->cnp_handled.restarted && nic->cnp_handled.value == 0 && bps > SENDS_BPS &&
		bps >= SENDS * cnps->median_bps;
}

/* Does every port that faces a host have a NIC that tells both counters? */
static bool nic_cnps_complete(const struct analyzer_in *in, const struct nics *nics)
{
	const struct observed *o = observe(in);
	size_t *told = arena_array(in->arena, size_t, o->n_fabric_ports + 1);
	bool any = false;
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		const bool arrivals = nic->cnp_handled.known || nic->cnp_received.known;
		if (nic->host_port && !nic->folded && nic->cnp_sent.known && arrivals)
			told[nic->host_port->port->index]++;
	}
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		const struct port_seen *port = &o->ports[i];
		if (!port->port->host || port->oper_up == 0)
			continue;
		size_t *left = &told[nics->first_of_host[i]];
		if (!*left)
			return false;
		(*left)--;
		any = true;
	}
	return any;
}

static double nic_cnps_rate(const struct amount *amount)
{
	if (amount->known)
		return amount_rate(amount);
	return 0;
}

void nic_cnps_of(const struct analyzer_in *in, const struct nics *nics, struct nic_cnps *ret)
{
	*ret = (struct nic_cnps){.missing_ratio = NAN};
	if (!nics->n)
		return;
	double sent = 0, answered = 0;
	nic_cnps_median(nics, ret, in->arena);
	const struct port_seen *last = NULL;
	for (size_t i = 0; i < nics->n; i++) {
		const struct nic_seen *nic = &nics->v[i];
		if (!nic->host_port || nic->folded)
			continue;
		ret->n++;
		ret->sent_known += nic->cnp_sent.known;
		ret->handled_known += nic->cnp_handled.known;
		ret->ignored_known += nic->cnp_ignored.known;
		ret->handlers += nic->cnp_handled.value > 0;
		ret->sent += nic->cnp_sent.value;
		ret->handled += nic->cnp_handled.value;
		ret->ignored += nic->cnp_ignored.value;
		ret->received_known += nic->cnp_received.known;
		ret->received += nic->cnp_received.value;
		ret->ce += nic->ce_received.value;
		ret->sent_alive |= nic->cnp_sent.alive;
		ret->handled_alive |= nic->cnp_handled.alive;
		ret->ignored_alive |= nic->cnp_ignored.alive;
		sent += nic_cnps_rate(&nic->cnp_sent);
		answered += fmax(nic_cnps_rate(&nic->cnp_received),
			nic_cnps_rate(&nic->cnp_handled) + nic_cnps_rate(&nic->cnp_ignored));
		if (nic_is_silent(ret, nic) && nic->host_port != last) {
			ret->silent_hosts++;
			last = nic->host_port;
		}
	}
	ret->complete = nic_cnps_complete(in, nics);
	if (ret->complete && ret->sent >= SENT_MIN)
		ret->missing_ratio = fmax(0, 1 - answered / sent);
}
