/*
 * conservation - bytes that enter must leave, in the class they came in, over the paths that exist.
 *
 *     class_leak        a switch sends in other classes what the other switches of its tier, or
 *                       its inputs, carry in the lossless one
 *     storage_receiver  a host outside all jobs receives much traffic in the lossless class and
 *                       congests there: storage among the RoCE of training
 *     missing_route: conservation_routes.c; remote_capacity, cross_rail: conservation_routes.c
 *
 * Classes are counted where bytes leave (queue.out_octets of each priority); what enters from a
 * switch is what that switch sent. What enters from hosts is known in total only, so the uplinks of
 * a leaf are compared with those of the other leaves: bytes that move from one class to another
 * leave the total unchanged. A leaf that merely sends more of something else is not reported.
 */

#include "base/stats.h"
#include "analyzers/analyzer.h"
#include "analyzers/detect/conservation_routes.h"
#include "config/config.h"

#define LIKE_TOTAL 0.3 /* relative difference of totals that counts as unchanged */
/* share, with only one other switch to compare with */
#define ONE_LIKE_LEAK 0.3
/* share of packets marked by a queue that is full for long; packet simulation shows 60 % and more
 */
#define MARKED_HEAVY 0.2
#define PAUSED_HEAVY 0.01 /* share of time */
#define HOSTS_SHOWN 8

static const struct option rows[] = {
	{"load_floor", OPT_RATIO, offsetof(struct conservation_options, load_floor), "3%", "0%",
		"100%", NULL, "mean utilisation below which nothing is judged"},
	{"leak", OPT_RATIO, offsetof(struct conservation_options, leak), "5%", "0.1%", "100%", NULL,
		"share of a switch's bytes that moved out of the lossless class, from which it is "
		"reported"},
	{"cross_rail", OPT_RATIO, offsetof(struct conservation_options, cross_rail), "20%", "0.1%",
		"100%", NULL, "share of the hosts' bytes that change rails in the spines"},
	{"storage", OPT_RATIO, offsetof(struct conservation_options, storage), "5%", "0.1%", "100%",
		NULL,
		"share of line rate in the lossless class from which a host outside all jobs "
		"counts as storage among RoCE"},
	{"window", OPT_DURATION, offsetof(struct conservation_options, window_ns), "0s", "0s", "1h",
		NULL,
		"evaluation window; 0 = three intervals, at least 15 s: agents refresh ports and "
		"queues at different times, so it holds a refresh of each; where all counters "
		"move at each poll, its last 5 s count"},
	{"past", OPT_DURATION, offsetof(struct conservation_options, past_ns), "10m", "0s", "7d",
		NULL,
		"how far back the bytes of an empty link are looked for, kept in memory for every "
		"port; 0 = sixty windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct conservation_options, hold), "2", "1", "10000", NULL,
		"required windows, of the last hold + 2 (2: of the last 3), before an incident "
		"opens"},
};

/* ---- RoCE that left its class --------------------------------------------- */

struct switch_bytes { /* of one switch */
	/* what it sends towards the next tier, and towards hosts or the tier below */
	struct classes up, down;
	struct classes from_above; /* what its neighbours above send to it */
	struct classes from_below; /* what switches below send to it */
	bool hosts;
	double capacity_up, capacity_down;
};

static struct switch_bytes switch_bytes(
	const struct conservation_in *in, const struct device_seen *device)
{
	struct switch_bytes f = {0};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i], *far = observed_peer(in->o, p);
		if ((!p->port->peer && !p->port->host) || port_is_down(p))
			continue;
		const bool up = far && p->port->peer->device->role > p->port->device->role;
		f.hosts = f.hosts || p->port->host;
		classes_add_port(in, p, up ? &f.up : &f.down);
		*(up ? &f.capacity_up : &f.capacity_down) += (double)p->out.capacity_bps / 8;
		if (far)
			classes_add_port(in, far, up ? &f.from_above : &f.from_below);
	}
	return f;
}

struct class_leak {
	const char *where; /* "towards the spines", ... */
	struct classes sent;
	double like_share; /* share of other classes that is expected */
	double moved_share; /* of what is sent */
	const char *against;
};

enum { ROLES = ROLE_OTHER + 1 };

/* The least share of other classes on the uplinks of each tier. */
static void least_shares(const struct conservation_in *in, const struct switch_bytes *flows,
	double least[static ROLES])
{
	for (size_t i = 0; i < ROLES; i++)
		least[i] = INFINITY;
	for (size_t i = 0; i < in->o->n_devices; i++) {
		double *of_tier = &least[in->o->devices[i].device->role];
		if (classes_busy(&flows[i].up, flows[i].capacity_up, in))
			*of_tier = fmin(*of_tier, classes_other_share(&flows[i].up));
	}
}

/* The uplinks of a switch against those of the others of its tier, of which none has a smaller
 * share of other classes than @least. */
static bool leaks_upwards(const struct conservation_in *in, const struct switch_bytes *flows,
	size_t self, double least, struct class_leak *ret)
{
	const struct switch_bytes *me = &flows[self];
	if (!classes_busy(&me->up, me->capacity_up, in) ||
		!(classes_other_share(&me->up) - least > in->options->leak))
		return false;
	const size_t max = in->o->n_devices;
	double *totals = arena_array(in->in->arena, double, max),
	       *shares = arena_array(in->in->arena, double, max),
	       *lossless = arena_array(in->in->arena, double, max),
	       *down = arena_array(in->in->arena, double, max);
	size_t n = 0, n_down = 0;
	for (size_t i = 0; i < in->o->n_devices; i++)
		if (i != self &&
			in->o->devices[i].device->role == in->o->devices[self].device->role &&
			classes_busy(&flows[i].up, flows[i].capacity_up, in)) {
			totals[n] = classes_total(&flows[i].up);
			lossless[n] = flows[i].up.lossless;
			if (classes_busy(&flows[i].down, flows[i].capacity_down, in))
				down[n_down++] = flows[i].down.lossless;
			shares[n++] = classes_other_share(&flows[i].up);
		}
	if (!n)
		return false;
	const double like = stats_median(totals, n), share = stats_median(shares, n),
		     own = classes_other_share(&me->up);
	if (n < 2 && own - share < ONE_LIKE_LEAK)
		return false;
	*ret = (struct class_leak){"towards the next tier", me->up, share, own - share,
		"the other switches of its tier"};
	if (!(own - share > in->options->leak) ||
		!(fabs(classes_total(&me->up) - like) < LIKE_TOTAL * like))
		return false;
	/* hosts with other work (storage) send and receive less of the lossless class; a leak shows
	 * only in what is sent */
	const double sent = me->up.lossless / stats_median(lossless, n);
	double taken = 1;
	if (n_down >= 2 && classes_busy(&me->down, me->capacity_down, in))
		taken = me->down.lossless / stats_median(down, n_down);
	return sent < fmin(1, taken) - in->options->leak;
}

/* What leaves against what the switches around sent in. */
static bool leaks_through(const struct conservation_in *conservation_in,
	const struct switch_bytes *flows, struct class_leak *ret)
{
	const struct classes *in;
	if (flows->hosts)
		in = &flows->from_above;
	else
		in = &flows->from_below;
	if (!classes_busy(&flows->down, flows->capacity_down, conservation_in) ||
		!classes_whole(in) || classes_total(in) <= 0)
		return false;
	const double excess = flows->down.other - in->other,
		     moved = excess / classes_total(&flows->down);
	*ret = (struct class_leak){flows->hosts ? "towards its hosts" : "towards the tier below",
		flows->down, classes_other_share(in), moved, "what its neighbours send to it"};
	/* traffic between hosts of one leaf is not known by class: the lossless bytes themselves
	 * must be missing */
	return moved > conservation_in->options->leak &&
		flows->down.lossless < (1 - conservation_in->options->leak) * in->lossless;
}

static double leak_drops(const struct device_seen *device)
{
	double n = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		n += device->ports[i].out_discards.value;
	return n;
}

static void conservation_report_leak(const struct conservation_in *in,
	const struct device_seen *device, const struct class_leak *leak, struct finding_list *out)
{
	struct draft t = conservation_finding(
		in, CAUSE_CLASS_LEAK, leak ? FINDING_OVER : FINDING_UNDER, out);
	const char *name = t.f->device = device->device->name;
	if (!leak)
		return;
	const double drops = leak_drops(device);
	t.f->severity = drops > 0 ? SEV_CRITICAL : SEV_WARNING;
	t.f->value = leak->moved_share;
	t.f->warn = in->options->leak;
	t.f->confidence_ratio = 0.7;
	t.f->summary = arena_printf(t.a,
		"%s sends %.0f %% of its bytes %s outside the lossless class (%s: %.0f %%): RoCE "
		"left its class there",
		name, 100 * classes_other_share(&leak->sent), leak->where, leak->against,
		100 * leak->like_share);
	finding_evidence_device(&t, "class.other_share", name, classes_other_share(&leak->sent),
		"ratio", QUALITY_EXACT);
	finding_evidence_device(
		&t, "class.other_share_expected", name, leak->like_share, "ratio", QUALITY_EXACT);
	finding_evidence_device(
		&t, "class.lossless_bps", name, leak->sent.lossless * 8, "bit/s", QUALITY_EXACT);
	finding_evidence_device(
		&t, "class.other_bps", name, leak->sent.other * 8, "bit/s", QUALITY_EXACT);
	finding_evidence_device(&t, "port.out_discards", name, drops, "frames", QUALITY_EXACT);
	finding_rests_on(&t, "bytes by queue, %s, compared with %s", leak->where, leak->against);
	finding_unproved(&t, "counters show the switch, not which of its hosts or ports sent it");
	finding_add_role(&t, "culprit", "%s", name);
	finding_steps(&t, t.f->cause, 0);
}

/* What the queues of a port do at polls: at each if one of them does. */
static enum pace port_pace(const struct conservation_in *in, const struct port_seen *port)
{
	enum pace worst = PACE_IDLE;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const enum pace pace =
			counter_pace(in, port->prio_entity[prio], M_QUEUE_OUT_OCTETS);
		if (pace == PACE_EACH_POLL)
			return pace;
		if (pace == PACE_SLOW)
			worst = pace;
	}
	return worst;
}

static void paces_add_device(const struct conservation_in *in, size_t device, struct paces *paces)
{
	const struct device_seen *seen = &in->whole->devices[device];
	for (size_t i = 0; in->newest && i < seen->n_ports && !paces->slow; i++)
		paces_add(paces, port_pace(in, &seen->ports[i]));
}

static void class_leaks(const struct conservation_in *whole, struct finding_list *out)
{
	struct paces paces = {0}; /* switches are compared with each other: of all of them */
	for (size_t i = 0; i < whole->o->n_devices; i++)
		paces_add_device(whole, i, &paces);
	const struct conservation_in newest = conservation_newest(whole, &paces), *in = &newest;
	struct switch_bytes *v =
		arena_array(in->in->arena, struct switch_bytes, in->o->n_devices + 1);
	for (size_t i = 0; i < in->o->n_devices; i++)
		v[i] = switch_bytes(in, &in->o->devices[i]);
	double least[ROLES];
	least_shares(in, v, least);
	for (size_t i = 0; i < in->o->n_devices; i++) {
		struct class_leak leak;
		if (!classes_busy(&v[i].up, v[i].capacity_up, in) &&
			!classes_busy(&v[i].down, v[i].capacity_down, in))
			continue;
		const bool over =
			leaks_upwards(in, v, i, least[in->o->devices[i].device->role], &leak) ||
			leaks_through(in, &v[i], &leak);
		conservation_report_leak(in, &in->o->devices[i], over ? &leak : NULL, out);
	}
}

/* ---- storage among RoCE -------------------------------------------------- */

static double lossless_load(const struct conservation_in *in, const struct port_seen *port)
{
	double octets = NAN;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++)
		if ((in->o->fabric->lossless_mask >> prio & 1) && !isnan(port->class_octets[prio]))
			octets = (isnan(octets) ? 0 : octets) + port->class_octets[prio];
	return classes_rate(in, octets) * 8 / (double)port->out.capacity_bps;
}

/* Does the switch of the port pause others in a lossless class? */
static bool switch_sends_pause(const struct port_seen *port)
{
	const struct device_seen *device = port->device;
	for (size_t i = 0; i < device->n_ports; i++)
		for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
			const struct port_prio *l = device->ports[i].prios[prio];
			if (l && l->lossless && l->tx_frames.known && l->tx_frames.value > 0)
				return true;
		}
	return false;
}

/* Does the port take more of the lossless class than any host of a job on the same switch? */
static bool takes_most(const struct conservation_in *in, const struct port_seen *port)
{
	const double own = lossless_load(in, port);
	for (size_t i = 0; i < port->device->n_ports; i++) {
		const struct port_seen *p = &port->device->ports[i];
		if (p->port->host && !fabric_outside_jobs(in->o->fabric, p->port->host) &&
			!(lossless_load(in, p) < own))
			return false;
	}
	return true;
}

static bool queue_is_full_for_long(const struct port_prio *queue, bool *ret_marks_known)
{
	double marked = 0;
	if (queue->marked.known && queue->out_packets.known && queue->out_packets.value > 0) {
		marked = queue->marked.value / queue->out_packets.value;
		*ret_marks_known = true;
	}
	return marked >= MARKED_HEAVY ||
		(queue->rx_pause.measured && queue->rx_pause.lo >= PAUSED_HEAVY) ||
		queue->drops.value > 0;
}

/*
 * Does it congest there: is much of what is sent to it marked, does it pause us, or are packets
 * dropped? Where marks are not counted: is its switch out of buffer, and pauses others, while no
 * host of a job takes as much?
 */
static bool conservation_congests(const struct conservation_in *in, const struct port_seen *port)
{
	bool marks_known = false;
	for (int prio = 0; prio < OBSERVED_PRIORITIES; prio++) {
		const struct port_prio *l = port->prios[prio];
		if (l && l->lossless && queue_is_full_for_long(l, &marks_known))
			return true;
	}
	return !marks_known && switch_sends_pause(port) && takes_most(in, port);
}

struct storage { /* hosts of one leaf that belong to no job */
	const struct port_seen *hot; /* the one that takes most */
	size_t n_over;
	double load;
	bool known;
};

static bool is_storage(const struct conservation_in *in, const struct port_seen *port)
{
	return port->port->host && fabric_outside_jobs(in->o->fabric, port->port->host);
}

static bool storage_hurts(const struct conservation_in *in, const struct port_seen *port)
{
	return lossless_load(in, port) >= in->options->storage && conservation_congests(in, port);
}

static struct storage storage_at(const struct conservation_in *in, const struct device_seen *device)
{
	struct storage s = {0};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *p = &device->ports[i];
		double load = NAN;
		if (is_storage(in, p))
			load = lossless_load(in, p);
		s.known = s.known || !isnan(load);
		if (isnan(load) || !storage_hurts(in, p))
			continue;
		s.n_over++;
		if (load > s.load) {
			s.load = load;
			s.hot = p;
		}
	}
	return s;
}

static void conservation_describe_storage(const struct conservation_in *in,
	const struct device_seen *device, const struct storage *storage, struct draft *draft)
{
	draft->f->value = storage->load;
	draft->f->warn = in->options->storage;
	draft->f->confidence_ratio = 0.6;
	const char *more = "";
	if (storage->n_over > 1)
		more = arena_printf(
			draft->a, " and %zu more of %s", storage->n_over - 1, device->device->name);
	draft->f->summary = arena_printf(draft->a,
		"%s%s, outside all jobs, receives %.0f %% of its line rate in the lossless class "
		"and congests there: storage traffic shares the RoCE class",
		storage->hot->port->host, more, 100 * storage->load);
	size_t shown = 0;
	for (size_t i = 0; i < device->n_ports && shown < HOSTS_SHOWN; i++) {
		const struct port_seen *p = &device->ports[i];
		if (!is_storage(in, p) || !storage_hurts(in, p))
			continue;
		const struct port_prio *l = observed_prio(p, draft->f->priority);
		finding_evidence(draft, "class.lossless_utilization_ratio", p, draft->f->priority,
			lossless_load(in, p), "ratio", QUALITY_EXACT);
		if (l) {
			finding_amount(draft, "queue.ecn_marked", p, draft->f->priority, &l->marked,
				"packets");
			finding_evidence(draft, "pfc.rx_pause_ratio", p, draft->f->priority,
				l->rx_pause.lo, "ratio", l->rx_pause.quality);
		}
		finding_add_role(draft, "culprit", "%s", p->port->host);
		shown++;
	}
	finding_rests_on(draft, "bytes of the lossless queue towards the host");
	finding_against(draft, "it is taken for storage because no job names it");
	finding_steps(draft, draft->f->cause, 0);
}

/* One host is reported at its port, several at their leaf. @port NULL: the leaf. */
static void conservation_report_storage(const struct conservation_in *in,
	const struct device_seen *device, const struct port_seen *port,
	const struct storage *storage, struct finding_list *out)
{
	bool over = storage->n_over > 1;
	if (port)
		over = storage->n_over == 1 && storage->hot == port;
	struct draft t = conservation_finding(
		in, CAUSE_STORAGE_RECEIVER, over ? FINDING_OVER : FINDING_UNDER, out);
	t.f->device = device->device->name;
	t.f->priority = __builtin_ctz(in->o->fabric->lossless_mask);
	if (port)
		finding_subject(&t, port);
	if (over)
		conservation_describe_storage(in, device, storage, &t);
}

static void storage_receivers_of(
	const struct conservation_in *in, size_t device, struct finding_list *out)
{
	const struct device_seen *d = &in->o->devices[device];
	const struct storage s = storage_at(in, d);
	if (!s.known)
		return;
	conservation_report_storage(in, d, NULL, &s, out);
	for (size_t k = 0; k < d->n_ports; k++)
		if (is_storage(in, &d->ports[k]) && !isnan(lossless_load(in, &d->ports[k])))
			conservation_report_storage(in, d, &d->ports[k], &s, out);
}

static void storage_receivers(const struct conservation_in *whole, struct finding_list *out)
{
	if (!whole->o->fabric->n_jobs || !whole->o->fabric->lossless_mask)
		return;
	for (size_t i = 0; i < whole->o->n_devices; i++) {
		struct paces paces = {0};
		paces_add_device(whole, i, &paces);
		const struct conservation_in in = conservation_newest(whole, &paces);
		storage_receivers_of(&in, i, out);
	}
}

/* The end of an automatic window; NULL: it is no longer than the usual one. */
static const struct observed *observe_newest(const struct analyzer_in *in)
{
	const struct conservation_options *options = in->options;
	const int64_t from_ns = in->window->to_ns - config_usual_window(in->interval_ns);
	if (options->window_ns || from_ns <= in->window->from_ns)
		return NULL;
	struct window *window = arena_new_of(in->arena, struct window);
	struct analyzer_in end = *in;
	*window = *in->window;
	window->from_ns = from_ns;
	end.window = window;
	end.shared = NULL;
	return observe(&end);
}

static int conservation_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *o = observe(in);
	const struct conservation_in c = {.in = in,
		.o = o,
		.whole = o,
		.newest = observe_newest(in),
		.links = links_seen(in),
		.options = in->options};
	class_leaks(&c, out);
	storage_receivers(&c, out);
	conservation_routes(&c, out);
	conservation_capacity(&c, out);
	conservation_cross_rail(&c, out);
	return 0;
}

const struct analyzer analyzer_conservation = {
	.name = "conservation",
	.phase = 40,
	.doc = "what enters must leave, in its class and by the paths there are",
	.options = {"analyzers", "conservation", sizeof(struct conservation_options), rows,
		rw_countof(rows), "bytes by class and by path"},
	.window_offset = offsetof(struct conservation_options, window_ns),
	.window_least_ns = 15 * NS_PER_S,
	.spec = {.metrics = (const uint16_t[]){M_CFG_HASH_FIELDS}, .n_metrics = 1, .flows = true},
	.observes = true,
	.past_offset = offsetof(struct conservation_options, past_ns),
	.past = {.metrics = (const uint16_t[]){M_PORT_OUT_OCTETS, M_PORT_IN_OCTETS},
		.n_metrics = 2},
	.run = conservation_run,
};
