/*
 * conservation - bytes that enter must leave, in the class they came in, by the paths there are.
 *
 *     class_leak        a switch sends in other classes what its like, or its inputs, carry in
 *                       the lossless one
 *     storage_receiver  a host outside all jobs takes large traffic in the lossless class and
 *                       congests there: storage among the RoCE of training
 *     missing_route, remote_capacity, cross_rail: conservation_paths.c
 *
 * Classes are known where bytes leave (queue.out_octets of each priority); what enters from a
 * switch is what that switch sent. What enters from hosts is known in total only, so a leaf's
 * uplinks are held against those of the other leaves: bytes that moved from one class to another
 * leave the total as it was. A leaf that merely sends more of something else is not told.
 */
#include "analyzers/detect/conservation.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/analyzer.h"

#define LIKE_TOTAL 0.3 /* a total within this share of its like's is "as it was" */
#define ONE_LIKE_LEAK                                                                              \
	0.3 /* with one other switch to compare with, the difference must be plain                 \
	     */
#define MARKED_HEAVY                                                                               \
	0.2 /* share of its packets: what a queue marks that is full for long (tuning facts, c.4:  \
	       60 % and more) */
#define PAUSED_HEAVY 0.01 /* share of time */
#define HOSTS_SHOWN 8

static const struct option rows[] = {
	{"load_floor", OPT_RATIO, offsetof(struct conservation_options, load_floor), "3%", "0%",
		"100%", NULL, "mean utilisation below which nothing is judged"},
	{"leak", OPT_RATIO, offsetof(struct conservation_options, leak), "5%", "0.1%", "100%", NULL,
		"share of a switch's bytes that moved out of the lossless class, from which it is "
		"told"},
	{"cross_rail", OPT_RATIO, offsetof(struct conservation_options, cross_rail), "20%", "0.1%",
		"100%", NULL, "share of the hosts' bytes that change rails in the spines"},
	{"storage", OPT_RATIO, offsetof(struct conservation_options, storage), "5%", "0.1%", "100%",
		NULL,
		"share of line rate in the lossless class from which a host outside all jobs "
		"counts as storage among RoCE"},
	{"window", OPT_DURATION, offsetof(struct conservation_options, window_ns), "30s", "1s",
		"1h", NULL,
		"time one look spans; agents refresh ports and queues at different times, so it "
		"holds several refreshes"},
	{"hold", OPT_INT, offsetof(struct conservation_options, hold), "2", "1", "10000", NULL,
		"windows, of the last hold + 2 (2: of the last 3), that must show it"},
};

struct tell conservation_finding(const struct conservation_in *c, const char *cause,
	enum finding_verdict v, struct finding_list *out)
{
	struct tell t = tell_new(out, c->in, "conservation", v, c->options->hold);
	t.f->cause = cause;
	t.f->summary = "";
	t.f->severity = SEV_WARNING;
	return t;
}

/* ---- classes ------------------------------------------------------------- */

struct classes { /* bytes a second */
	double lossless, other;
	size_t ports, known; /* that should tell; that do */
};

static double class_rate(const struct conservation_in *c, double octets)
{
	return octets * 1e9 / (double)(c->o->to_ns - c->o->from_ns);
}

static void add_port(const struct conservation_in *c, const struct port_seen *p, struct classes *k)
{
	double lossless = NAN, other = NAN;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const bool is = c->o->fabric->lossless_mask >> prio & 1;
		const double octets = p->class_octets[prio];
		if (isnan(octets))
			continue;
		if (is)
			lossless = (isnan(lossless) ? 0 : lossless) + octets;
		else
			other = (isnan(other) ? 0 : other) + octets;
	}
	k->ports++;
	if (isnan(lossless) || isnan(other))
		return;
	k->known++;
	k->lossless += class_rate(c, lossless);
	k->other += class_rate(c, other);
}

static bool whole(const struct classes *k)
{
	return k->ports && k->known == k->ports;
}
static double total(const struct classes *k)
{
	return k->lossless + k->other;
}
static double other_share(const struct classes *k)
{
	return total(k) > 0 ? k->other / total(k) : NAN;
}

struct flows_of { /* of one switch */
	/* what it sends towards the next tier, and towards hosts or the tier below */
	struct classes up, down;
	struct classes from_above; /* what its neighbours above send to it */
	struct classes from_below; /* what switches below send to it */
	bool hosts;
	double capacity_up, capacity_down;
};

static struct flows_of flows_of(const struct conservation_in *c, const struct device_seen *d)
{
	struct flows_of f = {0};
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *p = &d->ports[i], *far = observed_peer(c->o, p);
		if ((!p->port->peer && !p->port->host) || port_is_down(p))
			continue;
		const bool up = far && p->port->peer->device->role > p->port->device->role;
		f.hosts = f.hosts || p->port->host;
		add_port(c, p, up ? &f.up : &f.down);
		*(up ? &f.capacity_up : &f.capacity_down) += (double)p->out.capacity_bps / 8;
		if (far)
			add_port(c, far, up ? &f.from_above : &f.from_below);
	}
	return f;
}

struct leak {
	const char *where; /* "towards the spines", ... */
	struct classes sent;
	double like_share; /* of other classes, where it should be */
	double moved_share; /* of what is sent */
	const char *against;
};

static bool busy(const struct classes *k, double capacity, const struct conservation_in *c)
{
	return whole(k) && total(k) > c->options->load_floor * (capacity > 0 ? capacity : 1e9 / 8);
}

enum { ROLES = ROLE_OTHER + 1 };

/* The least share of other classes on the uplinks of each tier. */
static void least_shares(
	const struct conservation_in *c, const struct flows_of *v, double least[static ROLES])
{
	for (size_t i = 0; i < ROLES; i++)
		least[i] = INFINITY;
	for (size_t i = 0; i < c->o->n_devices; i++) {
		double *of_tier = &least[c->o->devices[i].device->role];
		if (busy(&v[i].up, v[i].capacity_up, c))
			*of_tier = fmin(*of_tier, other_share(&v[i].up));
	}
}

/* The uplinks of a switch against those of the others of its tier, of which none has a smaller
 * share of other classes than @least. */
static bool leaks_up(const struct conservation_in *c, const struct flows_of *v, size_t self,
	double least, struct leak *ret)
{
	const struct flows_of *me = &v[self];
	if (!busy(&me->up, me->capacity_up, c) ||
		!(other_share(&me->up) - least > c->options->leak))
		return false;
	const size_t max = c->o->n_devices;
	double *totals = arena_array(c->in->arena, double, max),
	       *shares = arena_array(c->in->arena, double, max),
	       *lossless = arena_array(c->in->arena, double, max),
	       *down = arena_array(c->in->arena, double, max);
	size_t n = 0, n_down = 0;
	for (size_t i = 0; i < c->o->n_devices; i++)
		if (i != self &&
			c->o->devices[i].device->role == c->o->devices[self].device->role &&
			busy(&v[i].up, v[i].capacity_up, c)) {
			totals[n] = total(&v[i].up);
			lossless[n] = v[i].up.lossless;
			if (busy(&v[i].down, v[i].capacity_down, c))
				down[n_down++] = v[i].down.lossless;
			shares[n++] = other_share(&v[i].up);
		}
	if (!n)
		return false;
	const double like = quantile_of(totals, n, 0.5), share = quantile_of(shares, n, 0.5),
		     own = other_share(&me->up);
	if (n < 2 && own - share < ONE_LIKE_LEAK)
		return false;
	*ret = (struct leak){"towards the next tier", me->up, share, own - share,
		"the other switches of its tier"};
	if (!(own - share > c->options->leak) || !(fabs(total(&me->up) - like) < LIKE_TOTAL * like))
		return false;
	/* hosts that do something else (storage) both send and take less of the lossless class; a
	 * leak shows where it is sent */
	const double sent = me->up.lossless / quantile_of(lossless, n, 0.5);
	const double taken = n_down >= 2 && busy(&me->down, me->capacity_down, c)
		? me->down.lossless / quantile_of(down, n_down, 0.5)
		: 1;
	return sent < fmin(1, taken) - c->options->leak;
}

/* What leaves against what the switches around sent in. */
static bool leaks_through(
	const struct conservation_in *c, const struct flows_of *f, struct leak *ret)
{
	const struct classes *in = f->hosts ? &f->from_above : &f->from_below;
	if (!busy(&f->down, f->capacity_down, c) || !whole(in) || total(in) <= 0)
		return false;
	const double excess = f->down.other - in->other, moved = excess / total(&f->down);
	*ret = (struct leak){f->hosts ? "towards its hosts" : "towards the tier below", f->down,
		other_share(in), moved, "what its neighbours send to it"};
	/* what hosts of one leaf exchange beside its uplinks is not known by class: then the
	 * lossless bytes themselves must be missing */
	return moved > c->options->leak && f->down.lossless < (1 - c->options->leak) * in->lossless;
}

static double leak_drops(const struct device_seen *d)
{
	double n = 0;
	for (size_t i = 0; i < d->n_ports; i++)
		n += d->ports[i].out_discards.value;
	return n;
}

static void tell_leak(const struct conservation_in *c, const struct device_seen *d,
	const struct leak *leak, struct finding_list *out)
{
	struct tell t =
		conservation_finding(c, "class_leak", leak ? FINDING_OVER : FINDING_UNDER, out);
	const char *name = t.f->device = d->device->name;
	if (!leak)
		return;
	const double drops = leak_drops(d);
	t.f->severity = drops > 0 ? SEV_CRITICAL : SEV_WARNING;
	t.f->value = leak->moved_share;
	t.f->warn = c->options->leak;
	t.f->confidence_ratio = 0.7;
	t.f->summary = arena_printf(t.a,
		"%s sends %.0f %% of its bytes %s outside the lossless class, %s %.0f %%: RoCE has "
		"left its class there",
		name, 100 * other_share(&leak->sent), leak->where, leak->against,
		100 * leak->like_share);
	tell_evidence_device(
		&t, "class.other_share", name, other_share(&leak->sent), "ratio", QUALITY_EXACT);
	tell_evidence_device(
		&t, "class.other_share_expected", name, leak->like_share, "ratio", QUALITY_EXACT);
	tell_evidence_device(
		&t, "class.lossless_bps", name, leak->sent.lossless * 8, "bit/s", QUALITY_EXACT);
	tell_evidence_device(
		&t, "class.other_bps", name, leak->sent.other * 8, "bit/s", QUALITY_EXACT);
	tell_evidence_device(&t, "port.out_discards", name, drops, "frames", QUALITY_EXACT);
	tell_rests_on(&t, "bytes by queue, %s against %s", leak->where, leak->against);
	tell_rests_on(&t, "counters tell the switch, not which of its hosts or ports sent it");
	tell_role(&t, "culprit", "%s", name);
	tell_step(&t,
		"compare trust and DSCP map of this switch with its tier, and the DSCP its hosts "
		"send (traffic class of the NIC, NCCL_IB_TC)",
		"none: read only");
	tell_step(&t,
		"put the map back: in that class nothing pauses and nothing marks, so RoCE is "
		"dropped where it is full",
		"the class of running traffic changes at once: job boundary only");
}

static void class_leaks(const struct conservation_in *c, struct finding_list *out)
{
	struct flows_of *v = arena_array(c->in->arena, struct flows_of, c->o->n_devices + 1);
	for (size_t i = 0; i < c->o->n_devices; i++)
		v[i] = flows_of(c, &c->o->devices[i]);
	double least[ROLES];
	least_shares(c, v, least);
	for (size_t i = 0; i < c->o->n_devices; i++) {
		struct leak leak;
		if (!busy(&v[i].up, v[i].capacity_up, c) &&
			!busy(&v[i].down, v[i].capacity_down, c))
			continue;
		const bool over = leaks_up(c, v, i, least[c->o->devices[i].device->role], &leak) ||
			leaks_through(c, &v[i], &leak);
		tell_leak(c, &c->o->devices[i], over ? &leak : NULL, out);
	}
}

/* ---- storage among RoCE -------------------------------------------------- */

static bool in_some_job(const struct fabric *f, const char *host)
{
	for (size_t i = 0; i < f->n_jobs; i++)
		if (str_glob(f->jobs[i].hosts, host))
			return true;
	return false;
}

static double lossless_load(const struct conservation_in *c, const struct port_seen *p)
{
	double octets = NAN;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++)
		if ((c->o->fabric->lossless_mask >> prio & 1) && !isnan(p->class_octets[prio]))
			octets = (isnan(octets) ? 0 : octets) + p->class_octets[prio];
	return class_rate(c, octets) * 8 / (double)p->out.capacity_bps;
}

/* Does it hurt there? Much of what is sent to it is marked, it pauses us, or packets are dropped.
 */
static bool congests(const struct conservation_in *c, const struct port_seen *p)
{
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const struct lane_seen *l = p->lanes[prio];
		if (!l || !l->lossless)
			continue;
		const double marked =
			l->marked.known && l->out_packets.known && l->out_packets.value > 0
			? l->marked.value / l->out_packets.value
			: 0;
		if (marked >= MARKED_HEAVY ||
			(l->rx_pause.measured && l->rx_pause.lo >= PAUSED_HEAVY) ||
			l->drops.value > 0)
			return true;
	}
	return false;
}

struct storage { /* hosts of one leaf that belong to no job */
	const struct port_seen *hot; /* the one that takes most */
	size_t n_over;
	double load;
	bool known;
};

static bool is_storage(const struct conservation_in *c, const struct port_seen *p)
{
	return p->port->host && !in_some_job(c->o->fabric, p->port->host);
}

static bool storage_hurts(const struct conservation_in *c, const struct port_seen *p)
{
	return lossless_load(c, p) >= c->options->storage && congests(c, p);
}

static struct storage storage_at(const struct conservation_in *c, const struct device_seen *d)
{
	struct storage s = {0};
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct port_seen *p = &d->ports[i];
		const double load = is_storage(c, p) ? lossless_load(c, p) : NAN;
		s.known = s.known || !isnan(load);
		if (isnan(load) || !storage_hurts(c, p))
			continue;
		s.n_over++;
		if (load > s.load) {
			s.load = load;
			s.hot = p;
		}
	}
	return s;
}

static void describe_storage(const struct conservation_in *c, const struct device_seen *d,
	const struct storage *s, struct tell *t)
{
	t->f->value = s->load;
	t->f->warn = c->options->storage;
	t->f->confidence_ratio = 0.6;
	t->f->summary = arena_printf(t->a,
		"%s%s, outside all jobs, takes %.0f %% of its line rate in the lossless class and "
		"congests there: storage traffic among the RoCE of training",
		s->hot->port->host,
		s->n_over > 1
			? arena_printf(t->a, " and %zu more of %s", s->n_over - 1, d->device->name)
			: "",
		100 * s->load);
	size_t shown = 0;
	for (size_t i = 0; i < d->n_ports && shown < HOSTS_SHOWN; i++) {
		const struct port_seen *p = &d->ports[i];
		if (!is_storage(c, p) || !storage_hurts(c, p))
			continue;
		const struct lane_seen *l = observed_lane(p, t->f->priority);
		tell_evidence(t, "class.lossless_utilization_ratio", p, t->f->priority,
			lossless_load(c, p), "ratio", QUALITY_EXACT);
		if (l) {
			tell_amount(
				t, "queue.ecn_marked", p, t->f->priority, &l->marked, "packets");
			tell_evidence(t, "pfc.rx_pause_ratio", p, t->f->priority, l->rx_pause.lo,
				"ratio", l->rx_pause.quality);
		}
		tell_role(t, "culprit", "%s", p->port->host);
		shown++;
	}
	tell_rests_on(t,
		"bytes of the lossless queue towards the host; that it is storage follows only "
		"from no job naming it");
	tell_step(t,
		"give storage a class and queue of its own (DSCP of the storage client), or name "
		"its hosts in jobs if this is meant",
		"the class of running traffic changes at once: job boundary only");
}

/* One host is told at its port, several of them at their leaf. @port NULL: the leaf. */
static void tell_storage(const struct conservation_in *c, const struct device_seen *d,
	const struct port_seen *port, const struct storage *s, struct finding_list *out)
{
	const bool over = s->n_over && (port ? s->n_over == 1 && s->hot == port : s->n_over > 1);
	struct tell t = conservation_finding(
		c, "storage_receiver", over ? FINDING_OVER : FINDING_UNDER, out);
	t.f->device = d->device->name;
	t.f->priority = __builtin_ctz(c->o->fabric->lossless_mask);
	if (port)
		tell_subject(&t, port);
	if (over)
		describe_storage(c, d, s, &t);
}

static void storage_receivers(const struct conservation_in *c, struct finding_list *out)
{
	if (!c->o->fabric->n_jobs || !c->o->fabric->lossless_mask)
		return;
	for (size_t i = 0; i < c->o->n_devices; i++) {
		const struct device_seen *d = &c->o->devices[i];
		const struct storage s = storage_at(c, d);
		if (!s.known)
			continue;
		tell_storage(c, d, NULL, &s, out);
		for (size_t k = 0; k < d->n_ports; k++)
			if (is_storage(c, &d->ports[k]) && !isnan(lossless_load(c, &d->ports[k])))
				tell_storage(c, d, &d->ports[k], &s, out);
	}
}

static int run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct conservation_in c = {
		.in = in, .o = observe(in), .links = links_seen(in), .options = in->options};
	class_leaks(&c, out);
	storage_receivers(&c, out);
	conservation_routes(&c, out);
	conservation_capacity(&c, out);
	conservation_cross_rail(&c, out);
	return 0;
}

const struct analyzer analyzer_conservation = {
	.name = "conservation",
	.doc = "what enters must leave, in its class and by the paths there are",
	.options = {"analyzers", "conservation", sizeof(struct conservation_options), rows,
		rw_countof(rows), "bytes by class and by path"},
	.window_offset = offsetof(struct conservation_options, window_ns),
	.observes = true,
	.run = run,
};
