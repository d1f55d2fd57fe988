/*
 * missing_rail - a host's port that is down, or moves nothing, while the host's other ports or the
 * other hosts of the leaf are busy. Source: training facts, 3 (4 of 8 rails used: half the
 * AllReduce bandwidth).
 *
 * Where jobs are declared, a host outside all of them is nobody's loss. A host whose several ports
 * are all up and silent is idle, not broken; one whose ports are all down may be drained on
 * purpose: information. A silent host with one port whose counters never moved either is not told
 * without such a declaration: it may simply not be in use.
 */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/detect/link_health.h"

#define SILENT_SHARE 0.02 /* of the median of the busy ones: keep-alives and ARP are less */
#define ALIVE_OCTETS 1e9 /* a port that ever moved this much was in use */
#define PARTNER_CONFIDENCE 0.5
#define LEAF_BUSY 0.66 /* share of the leaf's other hosts that must be busy */

enum { BESIDE_NONE, BESIDE_RAILS, BESIDE_HOSTS };

struct beside { /* the ports compared with */
	size_t n, busy, up, down, loads; /* .loads: whose load is known */
	double median; /* load of the busy ones */
};

static bool in_some_job(const struct fabric *f, const char *host)
{
	for (size_t i = 0; i < f->n_jobs; i++)
		if (str_glob(f->jobs[i].hosts, host))
			return true;
	return false;
}

static void add(struct beside *b, double *loads, const struct link *l, double busy)
{
	const double load = port_load(l->near);
	b->up += l->near->oper_up == 1;
	b->down += port_is_down(l->near);
	if (isnan(load) && isnan(l->near->oper_up))
		return;
	b->n++;
	b->loads += !isnan(load);
	if (load >= busy)
		loads[b->busy++] = load;
}

static struct beside done(struct beside b, double *loads)
{
	b.median = b.busy ? quantile_of(loads, b.busy, 0.5) : NAN;
	return b;
}

static struct beside other_rails(const struct link_test_in *in)
{
	const struct link *const *v;
	const size_t n = links_of_host(in->links, in->link->near->port->host, &v);
	double *loads = arena_array(in->in->arena, double, n + 1);
	struct beside b = {0};
	for (size_t i = 0; i < n; i++)
		if (v[i] != in->link)
			add(&b, loads, v[i], in->o->busy);
	return done(b, loads);
}

static struct beside other_hosts(const struct link_test_in *in)
{
	const struct fabric *f = in->in->fabric;
	const struct link *v;
	const size_t n = links_of_device(in->links, in->link, &v);
	double *loads = arena_array(in->in->arena, double, n + 1);
	struct beside b = {0};
	for (size_t i = 0; i < n; i++)
		if (v[i].kind == LINK_HOST &&
			!str_eq(v[i].near->port->host, in->link->near->port->host) &&
			(!f->n_jobs || in_some_job(f, v[i].near->port->host)))
			add(&b, loads, &v[i], in->o->busy);
	return done(b, loads);
}

static bool ever_used(const struct link_test_in *in, const struct port_seen *p)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	for (int k = 0; k < 2; k++) {
		const struct series *s = p->entity == ENTITY_NONE
			? NULL
			: window_series(in->in->window, p->entity, metrics[k]);
		if (s && s->n && (double)s->value[s->n - 1] >= ALIVE_OCTETS)
			return true;
	}
	return false;
}

/* Of a host whose ports are all quiet one story is told: at the first of them. */
static bool first_of_host(const struct link_test_in *in)
{
	const struct link *const *v;
	return links_of_host(in->links, in->link->near->port->host, &v) > 0 && v[0] == in->link;
}

/* Other hosts whose port of the same rail is up and silent too: of two partners, the one that
 * stopped and the one that waits look alike. */
static size_t silent_partners(const struct link_test_in *in, double median)
{
	const struct fabric_port *own = in->link->near->port;
	size_t n = 0;
	for (size_t i = 0; i < in->links->n; i++) {
		const struct link *l = &in->links->v[i];
		n += l->kind == LINK_HOST && !str_eq(l->near->port->host, own->host) &&
			str_eq(l->near->port->host_nic, own->host_nic) && !port_is_down(l->near) &&
			port_load(l->near) < SILENT_SHARE * median;
	}
	return n;
}

static bool find(const struct link_test_in *in, struct link_fault *ret)
{
	const struct port_seen *p = in->link->near;
	const struct fabric *f = in->in->fabric;
	const double load = port_load(p);
	const bool down = port_is_down(p);
	if (in->link->kind != LINK_HOST || (!down && isnan(load)) ||
		(f->n_jobs && !in_some_job(f, p->port->host)))
		return false;
	if (!down && load >= in->o->busy)
		return false;
	const struct beside rails = other_rails(in), hosts = other_hosts(in);
	int beside = rails.busy * 2 >= rails.n && rails.busy ? BESIDE_RAILS : BESIDE_NONE;
	if (!beside && hosts.busy >= 2 && (double)hosts.busy >= LEAF_BUSY * (double)hosts.n &&
		first_of_host(in))
		beside = BESIDE_HOSTS;
	const struct beside *b = beside == BESIDE_RAILS ? &rails : &hosts;
	const bool silent = beside && load < SILENT_SHARE * b->median;
	if (!(down && (beside || rails.up || hosts.up)) && !silent)
		return false;
	if (!down && beside == BESIDE_HOSTS && (rails.n || (!f->n_jobs && !ever_used(in, p))))
		return false;
	const bool whole_host = down && rails.n && rails.down == rails.n;
	if (whole_host && !first_of_host(in))
		return false;
	*ret = (struct link_fault){.cause = "missing_rail",
		.at = p,
		.own = load,
		.like = b->median,
		.detail = beside,
		.count = b->busy,
		.value = 1,
		.warn = 1,
		.state = down,
		.severity = !whole_host && (beside || !(rails.loads + hosts.loads)) ? SEV_WARNING
										    : SEV_INFO,
		.confidence = down               ? 0.9
			: beside == BESIDE_RAILS ? 0.85
			: f->n_jobs              ? 0.7
						 : 0.55};
	if (!down && silent_partners(in, b->median))
		ret->confidence = PARTNER_CONFIDENCE;
	return true;
}

static void describe(const struct link_test_in *in, const struct link_fault *f, struct tell *t)
{
	const struct port_seen *p = f->at;
	const bool down = port_is_down(p);
	const char *nic = tell_far(p, t->a);
	const char *others = f->detail == BESIDE_RAILS
		? arena_printf(t->a, "%llu other port%s", (unsigned long long)f->count,
			  f->count == 1 ? " of the host is busy" : "s of the host are busy")
		: f->detail == BESIDE_HOSTS
		? arena_printf(t->a, "%llu other hosts of %s are busy",
			  (unsigned long long)f->count, p->port->device->name)
		: "other host ports are up";
	t->f->summary = arena_printf(t->a, "%s %s at %s, while %s", nic,
		down ? "is down" : "moves nothing", tell_port(p, t->a), others);
	tell_evidence(t, "port.oper_up", p, PRIO_NONE, p->oper_up, "-", QUALITY_EXACT);
	tell_evidence(t, "port.utilization_ratio", p, PRIO_NONE, f->own, "ratio", p->out.quality);
	tell_evidence(
		t, "port.peer_utilization_ratio", p, PRIO_NONE, f->like, "ratio", QUALITY_EXACT);
	tell_rests_on(t,
		down ? "the port's own state"
		     : "the port is not known to be down: only that it moves nothing");
	if (!down && f->detail == BESIDE_HOSTS)
		tell_rests_on(t,
			"compared with other hosts: a job that leaves this one out looks the same");
	if (f->confidence == PARTNER_CONFIDENCE)
		tell_rests_on(t,
			"another host is silent on the same rail: of two partners, the one that "
			"stopped and the one that waits for it look alike");
	tell_role(t, "culprit", "%s", p->port->host);
	tell_step(t,
		"on the host: is the NIC there and up (ibdev2netdev, rdma link), and does the job "
		"use it (NCCL_IB_HCA, NCCL_DEBUG=INFO)?",
		"none: read only");
	if (down)
		tell_step(t, "check cable, optic and the switch port's admin state",
			"none: read only");
}

const struct link_test link_test_missing_rail = {find, describe};
