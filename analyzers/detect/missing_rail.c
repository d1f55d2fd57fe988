/*
 * missing_rail - a host's port that is down, or moves nothing, while the host's other ports or the
 * other hosts of the leaf are busy. With 4 of 8 rails in use, AllReduce has half its bandwidth.
 *
 * Where jobs are declared, hosts outside all of them are not judged. A host whose several ports are
 * all up and silent is idle, not broken. A host whose ports are all down may be drained on purpose:
 * information only. A silent host with one port whose counters never moved is reported only where a
 * job declares it: it may simply not be in use. Silence counts only once it lasts longer than hosts
 * are silent within a step of the job (analyzers/measure/rhythm.h).
 */

#include "base/stats.h"
#include "analyzers/detect/link_health.h"
#include "analyzers/measure/rhythm.h"

#define SILENT_SHARE 0.02 /* share of the median of busy ports; keep-alives and ARP stay below */
#define ALIVE_OCTETS 1e9 /* bytes; a port that ever moved this much was in use */
#define PARTNER_CONFIDENCE 0.5
/* times the load that counts as busy: beside so much, silence is no noise */
#define PROVEN_BUSY 2.0
#define PARTNERS_SHOWN 8
#define LEAF_BUSY 0.66 /* share of the leaf's other hosts that must be busy */

enum { BESIDE_NONE, BESIDE_RAILS, BESIDE_HOSTS };

struct beside { /* the ports compared with */
	size_t n, busy, up, down, loads; /* .loads: whose load is known */
	double median; /* load of the busy ones */
};

static void missing_rail_add(
	struct beside *beside, double *loads, const struct link *link, double busy)
{
	const double load = port_load(link->near);
	beside->up += link->near->oper_up == 1;
	beside->down += port_is_down(link->near);
	if (isnan(load) && isnan(link->near->oper_up))
		return;
	beside->n++;
	beside->loads += !isnan(load);
	if (load >= busy)
		loads[beside->busy++] = load;
}

static struct beside missing_rail_done(struct beside beside, double *loads)
{
	if (beside.busy)
		beside.median = stats_median(loads, beside.busy);
	else
		beside.median = NAN;
	return beside;
}

static struct beside other_rails(const struct link_test_in *in)
{
	const struct link *const *v;
	const size_t n = links_of_host(in->links, in->link->near->port->host, &v);
	double *loads = arena_array(in->in->arena, double, n + 1);
	struct beside b = {0};
	for (size_t i = 0; i < n; i++)
		if (v[i] != in->link)
			missing_rail_add(&b, loads, v[i], in->o->busy);
	return missing_rail_done(b, loads);
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
			(!f->n_jobs || fabric_job_of(f, v[i].near->port->host)))
			missing_rail_add(&b, loads, &v[i], in->o->busy);
	return missing_rail_done(b, loads);
}

static bool ever_used(const struct link_test_in *in, const struct port_seen *port)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	for (int k = 0; k < 2; k++) {
		const struct series *s = NULL;
		if (port->entity != ENTITY_NONE)
			s = window_series(in->in->window, port->entity, metrics[k]);
		if (s && s->n && (double)s->value[s->n - 1] >= ALIVE_OCTETS)
			return true;
	}
	return false;
}

/* Since when the counter grows by less than @silent_bps, by its samples up to the window's end; the
 * time of the first sample where it always did. INT64_MIN: there are none. */
static int64_t silent_since(const struct link_test_in *in, const struct port_seen *port,
	unsigned metric, double silent_bps)
{
	const struct series *s = window_series(in->in->past, port->entity, metric);
	uint32_t i = s ? s->n : 0;
	while (i > 0 && s->t_ns[i - 1] > in->in->window->to_ns)
		i--;
	if (i == 0)
		return INT64_MIN;
	for (i--; i > 0; i--) {
		/* a restart says nothing of the time before it */
		if (s->value[i] < s->value[i - 1])
			break;
		const double seconds = (double)(s->t_ns[i] - s->t_ns[i - 1]) / (double)NS_PER_S;
		if ((double)(s->value[i] - s->value[i - 1]) * 8 > silent_bps * seconds)
			break;
	}
	return s->t_ns[i];
}

/* Is the port silent for longer than it was within the steps before? */
static bool silence_lasts(
	const struct link_test_in *in, const struct port_seen *port, const struct beside *like)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	int64_t since_ns = INT64_MIN;
	double capacity_bps = PORT_LOAD_FLOOR_BPS;
	if (port->out.capacity_bps)
		capacity_bps = (double)port->out.capacity_bps;
	for (int k = 0; in->in->past && k < 2; k++) {
		const int64_t since = silent_since(
			in, port, metrics[k], SILENT_SHARE * like->median * capacity_bps);
		if (since > since_ns)
			since_ns = since;
	}
	if (since_ns == INT64_MIN)
		return false;
	const int64_t watch_ns = step_watch_ns(in->in, step_seen(in->in, port, since_ns));
	return in->in->window->to_ns - since_ns >= watch_ns;
}

/* A host whose ports are all quiet is reported once: at the first of them. */
static bool first_of_host(const struct link_test_in *in)
{
	const struct link *const *v;
	return links_of_host(in->links, in->link->near->port->host, &v) > 0 && v[0] == in->link;
}

/* The next port after @from of the same rail that is up and silent too, of another host; NULL.
 * When two hosts exchange data, the one that stopped and the one that waits for it look alike. */
static const struct link *silent_partner(
	const struct link_test_in *in, double median, const struct link *from)
{
	const struct fabric_port *own = in->link->near->port;
	const struct link *end = in->links->v + in->links->n;
	for (const struct link *l = from ? from + 1 : in->links->v; l < end; l++)
		if (l->kind == LINK_HOST && !str_eq(l->near->port->host, own->host) &&
			str_eq(l->near->port->host_nic, own->host_nic) && !port_is_down(l->near) &&
			port_load(l->near) < SILENT_SHARE * median)
			return l;
	return NULL;
}

/* What the port is compared with. */
static int missing_rail_beside(
	const struct link_test_in *in, const struct beside *rails, const struct beside *hosts)
{
	if (rails->busy && rails->busy * 2 >= rails->n)
		return BESIDE_RAILS;
	const bool leaf_busy =
		hosts->busy >= 2 && (double)hosts->busy >= LEAF_BUSY * (double)hosts->n;
	if (leaf_busy && first_of_host(in))
		return BESIDE_HOSTS;
	return BESIDE_NONE;
}

/* Is the port one to judge: a host's, of a job where jobs are declared, with a known state? */
static bool missing_rail_applies(const struct link_test_in *in, bool down, double load)
{
	const struct fabric *f = in->in->fabric;
	if (in->link->kind != LINK_HOST || (!down && isnan(load)))
		return false;
	/* a host without a job is silent, but its links are up */
	if (down)
		return !fabric_outside_jobs(f, in->link->near->port->host);
	return !f->n_jobs || fabric_job_of(f, in->link->near->port->host);
}

static double missing_rail_confidence(
	const struct link_test_in *in, bool down, int beside, double median)
{
	if (down)
		return 0.9;
	if (silent_partner(in, median, NULL))
		return PARTNER_CONFIDENCE;
	if (beside == BESIDE_RAILS)
		return 0.85;
	if (in->in->fabric->n_jobs)
		return 0.7;
	return 0.55;
}

/*
 * 1. Busy, or nothing to judge: no.
 * 2. Down, or silent, while the host's other rails, else most hosts of the leaf, are busy.
 * 3. Silent against other hosts only: not where the host has other rails (it is idle), nor where no
 *    job declares it and the port was never used. Silent within a step: no.
 * 4. All ports of the host down: once, as information.
 */
static bool missing_rail_find(const struct link_test_in *in, struct link_fault *ret)
{
	const struct port_seen *p = in->link->near;
	const double load = port_load(p);
	const bool down = port_is_down(p);
	/* 1 */
	if (!missing_rail_applies(in, down, load) || (!down && load >= in->o->busy))
		return false;
	/* 2 */
	const struct beside rails = other_rails(in), hosts = other_hosts(in);
	const int beside = missing_rail_beside(in, &rails, &hosts);
	const struct beside *like = &hosts;
	if (beside == BESIDE_RAILS)
		like = &rails;
	const bool silent = beside && load < SILENT_SHARE * like->median;
	const bool alone_down = down && (beside || rails.up || hosts.up);
	if (!alone_down && !silent)
		return false;
	/* 3 */
	const bool in_use = in->in->fabric->n_jobs || ever_used(in, p);
	if (!down && beside == BESIDE_HOSTS && (rails.n || !in_use))
		return false;
	if (!down && !silence_lasts(in, p, like))
		return false;
	/* 4 */
	const bool whole_host = down && rails.n && rails.down == rails.n;
	if (whole_host && !first_of_host(in))
		return false;
	const bool no_loads = !(rails.loads + hosts.loads);
	*ret = (struct link_fault){.cause = CAUSE_MISSING_RAIL,
		.at = p,
		.own = load,
		.like = like->median,
		.detail = beside,
		.count = like->busy,
		.value = isnan(like->median) ? in->o->busy : like->median,
		.warn = in->o->busy,
		.state = down,
		.proven = silent && like->median > PROVEN_BUSY * in->o->busy,
		.severity = SEV_INFO,
		.confidence = missing_rail_confidence(in, down, beside, like->median)};
	if (!whole_host && (beside || no_loads))
		ret->severity = SEV_WARNING;
	return true;
}

/* Every one of them may be the one that stopped: all are named, and one incident holds them. */
static void missing_rail_name_partners(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const char *names = "";
	size_t n = 0;
	for (const struct link *l = silent_partner(in, fault->like, NULL); l;
		l = silent_partner(in, fault->like, l)) {
		if (++n > PARTNERS_SHOWN)
			break;
		names = arena_printf(
			draft->a, "%s%s%s", names, str_if(n > 1, ", "), l->near->port->host);
		finding_add_role(draft, "culprit", "%s", l->near->port->host);
	}
	if (!n)
		return;
	draft->f->summary = arena_printf(draft->a,
		"%s; so does the same NIC of %s: one of them stopped, the other waits",
		draft->f->summary, names);
	finding_against(draft,
		"another host is silent on the same rail: the host that stopped and the host that "
		"waits for it look alike");
}

static void missing_rail_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const struct port_seen *p = fault->at;
	const bool down = port_is_down(p);
	const char *nic = far_end_text(p, draft->a);
	const char *others = "other host ports are up";
	if (fault->detail == BESIDE_RAILS)
		others = arena_printf(draft->a, "%llu other port%s",
			(unsigned long long)fault->count,
			fault->count == 1 ? " of the host is busy" : "s of the host are busy");
	else if (fault->detail == BESIDE_HOSTS)
		others = arena_printf(draft->a, "%llu other hosts of %s are busy",
			(unsigned long long)fault->count, p->port->device->name);
	draft->f->summary = arena_printf(draft->a, "%s %s at %s, while %s", nic,
		down ? "is down" : "moves nothing", port_text(p, draft->a), others);
	finding_evidence(draft, "port.oper_up", p, PRIO_NONE, p->oper_up, "-", QUALITY_EXACT);
	finding_evidence(
		draft, "port.utilization_ratio", p, PRIO_NONE, fault->own, "ratio", p->out.quality);
	finding_evidence(draft, "port.peer_utilization_ratio", p, PRIO_NONE, fault->like, "ratio",
		QUALITY_EXACT);
	finding_rests_on(draft,
		down ? "the port's own state"
		     : "the state of the port is unknown or up; it moves nothing");
	if (!down && fault->detail == BESIDE_HOSTS)
		finding_against(draft,
			"compared with other hosts: a job that does not use this host looks the "
			"same");
	finding_add_role(draft, "culprit", "%s", p->port->host);
	if (!down)
		missing_rail_name_partners(in, fault, draft);
	finding_steps(draft, draft->f->cause, down ? FACT_LINK_DOWN : 0);
}

const struct link_test link_test_missing_rail = {missing_rail_find, missing_rail_describe};
