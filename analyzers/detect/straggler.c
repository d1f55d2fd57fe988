/*
 * straggler - a host of a job that moves less than the others, with nothing in the network that
 * holds it back.
 *
 * In bulk-synchronous training every host moves the same bytes per step, so over a window they are
 * alike. A host below `below` of the median is reported as host_slow, a suspect on the host side
 * (the rule of thumb for bus bandwidth: below 90 % of the median). Conditions:
 *
 *     uniform    the other hosts lie close to their median; else hosts have different work
 *     busy       the host moves data (a silent one is missing_rail) and moved more before; a host
 *                that has always moved less has another role
 *     both ways  it sends less and receives less. One that only sends less stands beside hosts
 *                that have somebody else to send to (an incast): it has less to do
 *     unhindered no pause either way beyond 0.1 % at its ports (an upper bound above that counts
 *                as pause), no drops, no errors, the speed of the others
 *
 * Where the switch reports no pause, or the time before is unknown, it is information, not a
 * warning. A rank that is late in every step while all hosts move the same per step is not visible
 * here: that takes samples of parts of a step.
 */

#include "base/stats.h"
#include "analyzers/analyzer.h"
#include "analyzers/detect/nic_finding.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/finding_build.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define HOSTS_MIN 4 /* hosts of a job, for a median of the others */
/* median distance from the median, relative: above, hosts have different work */
#define UNIFORM 0.05
#define PAUSED 0.001
#define SILENT 0.02 /* of the median: missing, not slow */
#define OTHER_ROLE 0.95 /* of its part in the past: it has always been so */
#define SURE_STALLED 0.9 /* its NIC says that it waits for PCIe */
#define QUARTERS 4 /* the past is compared by quarters */

struct straggler_options {
	double below;
	int64_t window_ns, past_ns, hold;
};

static const struct option rows[] = {
	{"below", OPT_RATIO, offsetof(struct straggler_options, below), "90%", "1%", "100%", NULL,
		"share of the median of the job's hosts below which a host is suspected"},
	{"window", OPT_DURATION, offsetof(struct straggler_options, window_ns), "0s", "0s", "1h",
		NULL, "time one measurement spans; 0 = three sampling intervals, at least 5 s"},
	{"past", OPT_DURATION, offsetof(struct straggler_options, past_ns), "0s", "0s", "7d", NULL,
		"how far back a host is compared with itself; kept in memory for every port; 0 = "
		"sixty windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct straggler_options, hold), "5", "1", "10000", NULL,
		"windows below, of the last hold + 2, before an incident opens"},
};

struct job_host {
	const char *name;
	const struct port_seen *port; /* its least busy one */
	/* octets per second over its ports; over the median of the job */
	double rate, part;
	double out_rate, in_rate; /* of them: to the host, from the host */
	double best_way; /* over the median of the job, in the direction where it moves more */
	double slowest; /* of its ports, octets per second */
	uint64_t capacity_bps; /* of its slowest link */
	size_t ports, unseen_ports;
	bool hindered; /* something in the network holds it back */
	bool unseen; /* ... or may: pause is unknown at one of its ports */
};

/* Does anything in the network explain that the port moves less? */
static void straggler_look_for_reason(struct job_host *host, const struct port_seen *port)
{
	bool known = false;
	host->hindered = host->hindered ||
		port->in_errors.value + port->fcs_errors.value + port->fec_uncorrectable.value >
			0 ||
		port->oper_up == 0;
	for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
		const struct port_prio *l = port->prios[c];
		if (!l)
			continue;
		known = known || (!isnan(l->rx_pause.hi) && !isnan(l->tx_pause.hi));
		if (l->rx_pause.hi > PAUSED || l->tx_pause.hi > PAUSED ||
			l->drops.value + l->pg_drops.value > 0)
			host->hindered = true;
	}
	host->unseen = host->unseen || !known;
}

/* ---- which ports are a job's --------------------------------------------- */

/* The ports that face hosts, by host: made once for all jobs, so that a job costs what it has. */
struct host_ports {
	const struct observed *observed;
	const char **names; /* of hosts, in the order of their first port */
	size_t n;
	size_t *first; /* port of each host */
	size_t *next; /* port of the same host after each port; NO_PORT: none */
	struct smap *by_name; /* -> place in .names; owned */
};

#define NO_PORT SIZE_MAX

static void host_ports_make(
	const struct observed *observed, struct arena *a, struct host_ports *ret)
{
	const size_t n_ports = observed->n_fabric_ports;
	size_t *last = arena_array(a, size_t, n_ports + 1);
	*ret = (struct host_ports){.observed = observed, .by_name = smap_new()};
	ret->names = arena_array(a, const char *, n_ports + 1);
	ret->first = arena_array(a, size_t, n_ports + 1);
	ret->next = arena_array(a, size_t, n_ports + 1);
	for (size_t i = 0; i < n_ports; i++) {
		const char *name = observed->ports[i].port->host;
		uint64_t at;
		ret->next[i] = NO_PORT;
		if (!name)
			continue;
		if (smap_get(ret->by_name, name, strlen(name), &at)) {
			ret->next[last[at]] = i;
		} else {
			at = ret->n++;
			ret->names[at] = name;
			ret->first[at] = i;
			smap_put(ret->by_name, name, strlen(name), at);
		}
		last[at] = i;
	}
}

static int place_order(const void *left, const void *right)
{
	const size_t a = *(const size_t *)left;
	const size_t b = *(const size_t *)right;
	return (a > b) - (a < b);
}

/* Places in .names of the hosts of @job (NULL: all of them), ascending. */
static size_t *job_places(const struct host_ports *by_host, const struct fabric_job *job,
	struct arena *a, size_t *ret_n)
{
	size_t n = 0;
	uint64_t at;
	/* A job with a pattern looks at every host, one with names only at its own. */
	const bool every = !job || job->n_globs > 0;
	const size_t most = every ? by_host->n : job->n_names;
	size_t *places = arena_array(a, size_t, most + 1);
	for (size_t i = 0; every && i < by_host->n; i++)
		if (!job || fabric_job_has(job, by_host->names[i]))
			places[n++] = i;
	for (size_t i = 0; !every && i < job->n_names; i++) {
		const char *name = job->names[i]; /* sorted: what is named twice stands together */
		const bool again = i > 0 && str_eq(name, job->names[i - 1]);
		if (!again && smap_get(by_host->by_name, name, strlen(name), &at))
			places[n++] = at;
	}
	qsort(places, n, sizeof(*places), place_order);
	*ret_n = n;
	return places;
}

static void job_host_take(struct job_host *host, const struct port_seen *port)
{
	host->ports++;
	if (!port->out_known || !port->in_known) {
		host->unseen_ports++;
		return;
	}
	const double rate = (port->out.rate_bps + port->in.rate_bps) / 8;
	host->rate += rate;
	host->out_rate += port->out.rate_bps / 8;
	host->in_rate += port->in.rate_bps / 8;
	straggler_look_for_reason(host, port);
	if (port->out.capacity_bps &&
		(!host->capacity_bps || port->out.capacity_bps < host->capacity_bps))
		host->capacity_bps = port->out.capacity_bps;
	if (rate < host->slowest) {
		host->slowest = rate;
		host->port = port;
	}
}

static struct job_host *hosts_of(const struct host_ports *by_host, const struct fabric_job *job,
	struct arena *a, size_t *ret_n)
{
	const size_t *places = job_places(by_host, job, a, ret_n);
	struct job_host *hosts = arena_array(a, struct job_host, *ret_n + 1);
	for (size_t i = 0; i < *ret_n; i++) {
		const size_t place = places[i];
		hosts[i] = (struct job_host){.name = by_host->names[place], .slowest = INFINITY};
		for (size_t p = by_host->first[place]; p != NO_PORT; p = by_host->next[p])
			job_host_take(&hosts[i], &by_host->observed->ports[p]);
	}
	return hosts;
}

/* What one direction of a host carries, per port. */
static double straggler_way(const struct job_host *host, bool out)
{
	if (host->unseen_ports)
		return NAN;
	return (out ? host->out_rate : host->in_rate) / (double)host->ports;
}

/* How much of the median each host moves in the better of its directions. */
static void straggler_compare_ways(struct job_host *hosts, size_t n, struct arena *a)
{
	double *rate = arena_array(a, double, n + 1);
	for (size_t i = 0; i < n; i++)
		hosts[i].best_way = NAN;
	for (int out = 0; out < 2; out++) {
		size_t n_seen = 0;
		for (size_t i = 0; i < n; i++)
			if (!hosts[i].unseen_ports)
				rate[n_seen++] = straggler_way(&hosts[i], out);
		const double median = stats_median(rate, n_seen);
		for (size_t i = 0; i < n && median > 0; i++) {
			const double part = straggler_way(&hosts[i], out) / median;
			hosts[i].best_way = fmax(hosts[i].best_way, part);
		}
	}
}

/* The part of the median each host moves; false when there are too few, or they are not alike. */
static bool straggler_compare(struct job_host *hosts, size_t n, struct arena *a)
{
	double *rate = arena_array(a, double, n + 1), *away = arena_array(a, double, n + 1);
	size_t n_seen = 0;
	for (size_t i = 0; i < n; i++)
		if (!hosts[i].unseen_ports)
			rate[n_seen++] = hosts[i].rate / (double)hosts[i].ports;
	const double median = stats_median(rate, n_seen);
	if (n_seen < HOSTS_MIN || !(median > 0))
		return false;
	for (size_t i = 0; i < n_seen; i++)
		away[i] = fabs(rate[i] / median - 1);
	for (size_t i = 0; i < n; i++) {
		if (hosts[i].unseen_ports)
			hosts[i].part = NAN;
		else
			hosts[i].part = hosts[i].rate / (double)hosts[i].ports / median;
	}
	uint64_t fastest = 0; /* a slower link than the others have is a finding of its own */
	for (size_t i = 0; i < n; i++) {
		if (hosts[i].capacity_bps > fastest)
			fastest = hosts[i].capacity_bps;
	}
	for (size_t i = 0; i < n; i++)
		hosts[i].hindered = hosts[i].hindered || hosts[i].capacity_bps < fastest;
	straggler_compare_ways(hosts, n, a);
	return stats_median(away, n_seen) < UNIFORM;
}

/* ---- itself, before ------------------------------------------------------ */

/* Octets per nanosecond in a quarter of the past; NAN unknown. */
static double past_octets(
	const struct window *past, const struct port_seen *port, unsigned metric, unsigned quarter)
{
	const struct series *s = NULL;
	if (port->entity != ENTITY_NONE)
		s = window_series(past, port->entity, metric);
	const int64_t length = (past->to_ns - past->from_ns) / QUARTERS,
		      from = past->from_ns + quarter * length;
	struct increase inc;
	if (!s || series_increase(s, from, from + length, 0, &inc) < 0 ||
		inc.covered_ns < length / 2)
		return NAN;
	return (double)inc.value / (double)inc.covered_ns;
}

/* The best part of the median the host's port ever moved in a quarter of the past; NAN when nothing
 * is known of it. */
static double best_part(const struct window *past, const struct job_host *host,
	const struct job_host *hosts, size_t n, struct arena *a)
{
	double best = NAN, *all = arena_array(a, double, n + 1);
	for (unsigned q = 0; q < QUARTERS; q++) {
		size_t seen = 0;
		double own = NAN;
		for (size_t i = 0; i < n; i++) {
			double r = NAN;
			if (hosts[i].port)
				r = past_octets(past, hosts[i].port, M_PORT_OUT_OCTETS, q);
			if (isnan(r))
				continue;
			all[seen++] = r;
			if (&hosts[i] == host)
				own = r;
		}
		const double median = stats_median(all, seen);
		if (!isnan(own) && seen >= HOSTS_MIN && median > 0)
			best = fmax(best, own / median); /* of NAN and a number: the number */
	}
	return best;
}

/* ---- findings ------------------------------------------------------------ */

static double straggler_confidence_of(
	const struct job_host *host, double before, bool stalled, double coverage_ratio)
{
	double c = 0.45;
	if (before > 0)
		c = 0.65;
	if (stalled)
		c = SURE_STALLED;
	if (host->unseen)
		c *= 0.6;
	if (isnan(coverage_ratio))
		return 0;
	return c * fmin(1, coverage_ratio);
}

static void straggler_report_slow(const struct analyzer_in *in, const struct job_host *host,
	size_t n, double before, const char *job, struct finding_list *out)
{
	const struct straggler_options *o = in->options;
	struct draft t = finding_new(out, in, "straggler", FINDING_OVER, o->hold);
	finding_subject(&t, host->port);
	t.f->cause = CAUSE_HOST_SLOW;
	if (before > 0 && !host->unseen)
		t.f->severity = SEV_WARNING;
	else
		t.f->severity = SEV_INFO;
	t.f->value = 1 / host->part;
	t.f->warn = 1 / o->below;
	t.f->coverage_ratio = observed_coverage(host->port);
	const bool stalled = nic_is_stalled(in, host->port);
	t.f->confidence_ratio = straggler_confidence_of(host, before, stalled, t.f->coverage_ratio);
	t.f->summary = arena_printf(in->arena,
		"%s moves %.0f %% of what the other hosts of %s move; nothing in the network holds "
		"it back: %s",
		host->name, 100 * host->part, job,
		stalled ? "its NIC waits for PCIe" : "check the host");
	nic_prove_stall(&t, in, host->port);
	finding_evidence(&t, "host.rate_ratio", host->port, PRIO_NONE, host->part, "ratio",
		host->port->out.quality);
	finding_evidence(&t, "port.out_octets", host->port, PRIO_NONE,
		(double)host->port->out.octets, "bytes", host->port->out.quality);
	finding_rests_on(&t,
		"octets of %zu port%s of the host, compared with the median of %zu hosts that "
		"differ by less than %.0f %%",
		host->ports, plural(host->ports), n, 100 * UNIFORM);
	if (before > 0)
		finding_rests_on(&t, "it moved %.0f %% of the median before", 100 * before);
	else
		finding_against(
			&t, "the time before is unknown: it may always have had less to do");
	if (host->unseen)
		finding_unproved(&t,
			"its switch reports no pause counters, and pause may hold it "
			"back");
	else
		finding_ruled_out(
			&t, "pause at its ports: below %.1f %% of the time", 100 * PAUSED);
	finding_ruled_out(
		&t, "errors and drops at its ports: none counted; link speed: as the others");
	finding_add_role(&t, "culprit", "%s", host->name);
	finding_steps(&t, t.f->cause, 0);
}

static void straggler_report_fine(const struct analyzer_in *in, const struct job_host *host,
	enum finding_verdict verdict, struct finding_list *out)
{
	struct draft t = finding_new(out, in, "straggler", verdict,
		((const struct straggler_options *)in->options)->hold);
	finding_subject(&t, host->port);
	t.f->cause = CAUSE_HOST_SLOW;
	t.f->value = 1 / host->part;
	t.f->warn = 1 / ((const struct straggler_options *)in->options)->below;
	if (verdict == FINDING_UNDER)
		t.f->summary = "moves as much as the others";
	else
		t.f->summary = "another reason is more likely";
}

static void judge_job(const struct analyzer_in *in, const struct host_ports *by_host,
	const struct fabric_job *job, struct finding_list *out)
{
	const struct straggler_options *opt = in->options;
	size_t n;
	struct job_host *v = hosts_of(by_host, job, in->arena, &n);
	if (!straggler_compare(v, n, in->arena))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct job_host *h = &v[i];
		if (!h->port || isnan(h->part) || h->part < SILENT)
			continue;
		if (h->part >= opt->below) {
			straggler_report_fine(in, h, FINDING_UNDER, out);
			continue;
		}
		const double before = best_part(in->past, h, v, n, in->arena);
		if (h->hindered || h->part > OTHER_ROLE * before || h->best_way >= opt->below)
			straggler_report_fine(in, h, FINDING_IDLE, out);
		else
			straggler_report_slow(in, h, n, before, job ? job->name : "the job", out);
	}
}

static int straggler_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct host_ports by_host;
	host_ports_make(observe(in), in->arena, &by_host);
	for (size_t j = 0; j < in->fabric->n_jobs; j++)
		judge_job(in, &by_host, &in->fabric->jobs[j], out);
	if (!in->fabric->n_jobs)
		judge_job(in, &by_host, NULL, out);
	smap_free(by_host.by_name);
	return 0;
}

const struct analyzer analyzer_straggler = {
	.name = "straggler",
	.phase = 150,
	.doc = "a host that moves less than the others of its job, with nothing in the network to "
	       "hold it back",
	.options = {"analyzers", "straggler", sizeof(struct straggler_options), rows,
		rw_countof(rows), "hosts that move less than the others of their job"},
	.strides = 1,
	.window_offset = offsetof(struct straggler_options, window_ns),
	.observes = true,
	.past_offset = offsetof(struct straggler_options, past_ns),
	.past = {.metrics = throughput_metrics, .n_metrics = 2},
	.run = straggler_run,
};
