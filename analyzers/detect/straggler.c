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
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/stats.h"
#include "base/str.h"
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

static struct job_host *host_of(
	struct smap *index, struct job_host *hosts, size_t *n, const char *name)
{
	uint64_t at;
	if (smap_get(index, name, strlen(name), &at))
		return &hosts[at];
	smap_put(index, name, strlen(name), *n);
	hosts[*n] = (struct job_host){.name = name, .slowest = INFINITY};
	return &hosts[(*n)++];
}

static size_t hosts_of(
	const struct observed *observed, const struct fabric_job *job, struct job_host *host)
{
	struct smap *index = smap_new();
	size_t n = 0;
	for (size_t i = 0; i < observed->n_fabric_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		const char *name = p->port->host;
		if (!name || (job && !fabric_job_has(job, name)))
			continue;
		struct job_host *h = host_of(index, host, &n, name);
		h->ports++;
		if (!p->out_known || !p->in_known) {
			h->unseen_ports++;
			continue;
		}
		const double rate = (p->out.rate_bps + p->in.rate_bps) / 8;
		h->rate += rate;
		h->out_rate += p->out.rate_bps / 8;
		h->in_rate += p->in.rate_bps / 8;
		straggler_look_for_reason(h, p);
		if (p->out.capacity_bps &&
			(!h->capacity_bps || p->out.capacity_bps < h->capacity_bps))
			h->capacity_bps = p->out.capacity_bps;
		if (rate < h->slowest) {
			h->slowest = rate;
			h->port = p;
		}
	}
	smap_free(index);
	return n;
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
static double best_part(const struct window *past, const struct observed *observed,
	const struct job_host *host, const struct job_host *hosts, size_t n, struct arena *a)
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

static void judge_job(const struct analyzer_in *in, const struct observed *observed,
	const struct fabric_job *job, struct finding_list *out)
{
	const struct straggler_options *opt = in->options;
	struct job_host *v = arena_array(in->arena, struct job_host, observed->n_fabric_ports + 1);
	const size_t n = hosts_of(observed, job, v);
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
		const double before = best_part(in->past, observed, h, v, n, in->arena);
		if (h->hindered || h->part > OTHER_ROLE * before || h->best_way >= opt->below)
			straggler_report_fine(in, h, FINDING_IDLE, out);
		else
			straggler_report_slow(in, h, n, before, job ? job->name : "the job", out);
	}
}

static int straggler_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *o = observe(in);
	for (size_t j = 0; j < in->fabric->n_jobs; j++)
		judge_job(in, o, &in->fabric->jobs[j], out);
	if (!in->fabric->n_jobs)
		judge_job(in, o, NULL, out);
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
