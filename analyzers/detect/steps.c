/*
 * steps - did a training job become slower, and can the network be the reason?
 *
 * One finding per job and window, over the job's throughput in the past (rhythm.h): a change point
 * to a lower level, larger than `warn`, that lasts to this window, is over. What explains it is for
 * others to say, so the cause is `unknown`, and the ledger folds this finding into the story that
 * explains it. What is added here:
 *
 *   network exonerated       pause, CE marks, drops and uplink skew are all observable, alive
 *                            (counted once, or switched on), covered to 99 %, and silent:
 *                            the cause is `straggler` then, a host that is late (or all of
 *                                them), which no counter of a switch tells apart
 *   nothing seen, not proven otherwise, with what was missing or not silent
 *
 *   slow_storage             the exchanges are as before, but checkpoints take longer for the
 *                            same bytes (storage_phase.h)
 *
 * Idle blocks (a checkpoint, a start, the end) are no change: they are left out, and a job that is
 * idle now is not judged. A level above the one before is good news: under. Once the change lies
 * further back than the past, nothing can be told of it here; the incident keeps what it measured.
 *
 * The job's rates go to the ledger with the findings: what an incident costs is measured by them
 * (agent/incident/cost.h).
 */
#include <math.h>
#include <stddef.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm.h"
#include "analyzers/measure/storage_phase.h"
#include "analyzers/finding_build.h"
#include "db/model/entity.h"

#define SILENT_PAUSE 0.001 /* share of time; tuning facts, section d: stop at 0.1 % */
#define SILENT_MARKS 0.001 /* marked over sent */
#define EVEN 0.2 /* imbalance below the warning of ecmp_imbalance */
#define COVERED 0.99
#define BLOCKS_MIN 8 /* busy ones, before there is something to compare */
#define LEVEL_MIN                                                                                  \
	5 /* busy ones, before they are a level: a checkpoint that two or three blocks cut in part \
	     is none */
#define SEGMENTS_MAX 16
#define LOSS_STORAGE 0.02 /* of wall time: a warning */
#define RECEIVERS_TOLD 8
#define LOSS_LARGE 0.1 /* of wall time: a warning; less is told as information */

struct steps_options {
	double warn;
	int64_t window_ns, past_ns, hold;
};

static const struct option rows[] = {
	{"warn", OPT_RATIO, offsetof(struct steps_options, warn), "3%", "1%", "100%", NULL,
		"change of a job's throughput that counts; smaller ones drown in the steps a "
		"window cuts in two"},
	{"window", OPT_DURATION, offsetof(struct steps_options, window_ns), "0s", "0s", "1h", NULL,
		"time one measurement spans, several steps; 0 = three sampling intervals, at least "
		"5 s"},
	{"past", OPT_DURATION, offsetof(struct steps_options, past_ns), "0s", "0s", "7d", NULL,
		"how far back throughput is compared; kept in memory for every port; 0 = sixty "
		"windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct steps_options, hold), "3", "1", "10000", NULL,
		"windows above the threshold, of the last hold + 2, before an incident opens"},
};

/* ---- can the network be the reason? -------------------------------------- */

struct sight { /* of one kind of signal, over all ports that count */
	const char *name;
	size_t asked, seen; /* places where it should be; where it is observable and alive */
	double worst; /* NAN none */
	double limit;
};

enum { SIGHT_PAUSE, SIGHT_MARKS, SIGHT_DROPS, SIGHT_SKEW, SIGHT_COVERAGE, SIGHT_COUNT };

static void steps_saw(struct sight *sight, bool observable, double value)
{
	sight->asked++;
	sight->seen += observable;
	if (observable)
		sight->worst = fmax(isnan(sight->worst) ? value : sight->worst, value);
}

/* Pause and CE: a counter that never moved says nothing, unless what it counts is switched on. */
static void look_at_lane(const struct port_prio *lane, struct sight *sight)
{
	const bool pfc_on = lane->pfc_enabled > 0, ecn_on = lane->ecn_enabled > 0;
	steps_saw(&sight[SIGHT_PAUSE],
		!isnan(lane->rx_pause.hi) && (lane->rx_pause.alive || pfc_on), lane->rx_pause.hi);
	steps_saw(&sight[SIGHT_PAUSE],
		!isnan(lane->tx_pause.hi) && (lane->tx_pause.alive || pfc_on), lane->tx_pause.hi);
	const bool marks = lane->marked.known && (lane->marked.alive || ecn_on);
	steps_saw(&sight[SIGHT_MARKS], marks,
		marks && lane->out_packets.known && lane->out_packets.value > 0
			? lane->marked.value / lane->out_packets.value
			: lane->marked.value > 0);
	steps_saw(&sight[SIGHT_DROPS], lane->drops.known || lane->pg_drops.known,
		lane->drops.value + lane->pg_drops.value);
}

static void look_at_group(
	const struct observed *observed, const struct fabric_group *group, struct sight *sight)
{
	double sum = 0, top = 0;
	bool known = group->n_members > 1;
	for (size_t i = 0; i < group->n_members && known; i++) {
		const struct port_seen *p = observed_port(observed, group->members[i]);
		known = p && p->out_known;
		if (known)
			sum += p->out.rate_bps;
		if (known)
			top = fmax(top, p->out.rate_bps);
	}
	if (group->n_members > 1)
		steps_saw(&sight[SIGHT_SKEW], known,
			known && sum > 0 ? top * (double)group->n_members / sum - 1 : 0);
}

static void look_around(const struct observed *observed, struct sight *sight)
{
	static const struct sight blank[SIGHT_COUNT] = {
		{"pause", 0, 0, NAN, SILENT_PAUSE},
		{"CE marks", 0, 0, NAN, SILENT_MARKS},
		{"drops", 0, 0, NAN, 0},
		{"uplink skew", 0, 0, NAN, EVEN},
		{"missing samples", 0, 0, NAN, 1 - COVERED},
	};
	for (size_t i = 0; i < SIGHT_COUNT; i++)
		sight[i] = blank[i];
	for (size_t i = 0; i < observed->n_fabric_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		const double coverage = observed_coverage(p);
		steps_saw(&sight[SIGHT_COVERAGE], !isnan(coverage), 1 - coverage);
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			if (!(observed->fabric->lossless_mask >> c & 1))
				continue;
			if (p->prios[c]) {
				look_at_lane(p->prios[c], sight);
			} else {
				steps_saw(&sight[SIGHT_PAUSE], false, NAN);
				steps_saw(&sight[SIGHT_MARKS], false, NAN);
				steps_saw(&sight[SIGHT_DROPS], false, NAN);
			}
		}
	}
	for (size_t d = 0; d < observed->n_devices; d++)
		for (size_t g = 0; g < observed->devices[d].device->n_groups; g++)
			look_at_group(observed, &observed->devices[d].device->groups[g], sight);
}

enum network { NETWORK_CLEARED, NETWORK_NOT_PROVEN, NETWORK_NOT_SILENT };

/* Cleared when all of it is proven silent; the words go to the finding either way. */
static enum network steps_exonerate(struct draft *draft, const struct observed *observed)
{
	struct sight s[SIGHT_COUNT];
	bool proven = true, silent = true;
	look_around(observed, s);
	for (size_t i = 0; i < SIGHT_COUNT; i++) {
		if (s[i].asked == 0 && i == SIGHT_SKEW)
			continue; /* no group whose members could differ */
		const bool loud = s[i].worst > s[i].limit,
			   unseen = s[i].asked == 0 || s[i].seen < s[i].asked;
		if (loud) {
			finding_rests_on(draft, "not silent: %s up to %.3g (limit %.3g)", s[i].name,
				s[i].worst, s[i].limit);
			/* samples that are missing are no sign of anything */
			silent &= i == SIGHT_COVERAGE;
		}
		if (unseen)
			finding_rests_on(draft,
				"not proven: %s not observable, or never seen to count, at %zu of "
				"%zu places",
				s[i].name, s[i].asked - s[i].seen, s[i].asked);
		if (!loud && !unseen)
			finding_ruled_out(draft, "%s: observable at all %zu places, at most %.3g",
				s[i].name, s[i].asked, s[i].worst);
		proven &= !loud && !unseen;
	}
	if (!silent)
		return NETWORK_NOT_SILENT;
	if (proven)
		return NETWORK_CLEARED;
	return NETWORK_NOT_PROVEN;
}

/* ---- one job ------------------------------------------------------------- */

struct pace {
	size_t n; /* busy blocks */
	struct level base, now; /* the best earlier level; that of now */
	int64_t since_ns; /* when it changed */
	bool idle, changed;
};

static struct pace pace_of(const struct throughput *throughput, double least, struct arena *a)
{
	const struct job_rate *r = &throughput->rate;
	double *v = arena_array(a, double, r->n + 1);
	size_t *at = arena_array(a, size_t, r->n + 1);
	struct segment s[SEGMENTS_MAX];
	struct pace p = {.n = rhythm_busy(r->rate, r->n, v, at),
		.base = {.mean = NAN},
		.now = {.mean = NAN}};
	p.idle = p.n == 0 || (at[p.n - 1] + 2 < r->n && !isnan(r->rate[r->n - 1]));
	if (p.n < BLOCKS_MIN)
		return p;
	const size_t n = rhythm_segments(v, p.n, least, s, SEGMENTS_MAX);
	p.now = s[n - 1].level;
	p.changed = n > 1 && s[n - 1].to - s[n - 1].from >= LEVEL_MIN;
	for (size_t i = 0; i + 1 < n; i++)
		if (isnan(p.base.mean) || s[i].level.mean > p.base.mean)
			p.base = s[i].level;
	if (!p.changed)
		p.base = p.now;
	p.since_ns = r->from_ns + (int64_t)at[s[n - 1].from] * r->block_ns;
	return p;
}

static const char *subject_of(const struct throughput *throughput, struct arena *a)
{
	return arena_printf(a, "job:%s", throughput->job ? throughput->job->name : "*");
}

static void steps_advise(struct draft *draft, enum network network)
{
	if (network == NETWORK_NOT_SILENT)
		finding_step(draft,
			"look first at what is not silent above: rocewatch incident list, "
			"rocewatch pause, rocewatch ecmp",
			"none: read only");
	else if (network == NETWORK_CLEARED)
		finding_step(draft,
			"look at the hosts: storage, input pipeline, GPU clocks and the slowest "
			"rank; rocewatch steps shows when it began",
			"none: read only");
	else
		finding_step(draft,
			"close what is missing above (an interface that tells pause time, CE marks "
			"and drops); until then the network is neither guilty nor cleared",
			"none: read only");
	finding_step(draft, "rocewatch steps --since 1h", "none: read only");
}

/* Checkpoints that take longer for the same bytes, where the exchanges between them are as they
 * were. */
static void steps_report_storage(const struct storage_phases *phases,
	const struct throughput *throughput, struct draft *draft)
{
	const char *who = "the job";
	if (throughput->job)
		who = throughput->job->name;
	draft->f->cause = CAUSE_SLOW_STORAGE;
	if (phases->lost_ratio >= LOSS_STORAGE)
		draft->f->severity = SEV_WARNING;
	else
		draft->f->severity = SEV_INFO;
	draft->f->value = draft->f->loss_ratio = phases->lost_ratio;
	draft->f->confidence_ratio =
		0.75 * fmin(1, isnan(throughput->coverage_ratio) ? 0 : throughput->coverage_ratio);
	draft->f->summary = arena_printf(draft->a,
		"%s waits longer for storage: its checkpoints take %.3g s instead of %.3g s for "
		"the same bytes, %.1f %% of its time; the exchanges between "
		"them are as before",
		who, phases->after_s, phases->before_s, 100 * phases->lost_ratio);
	finding_rests_on(draft,
		"%zu checkpoints before and %zu since, each a stretch without exchange in which "
		"%zu of %zu ports take what the others send",
		phases->n_before, phases->n_after, phases->n_receivers, phases->n_hosts);
	finding_ruled_out(draft,
		"the network: the same bytes went the same way in %.3g s before; what pauses or "
		"marks in these stretches is told of itself",
		phases->before_s);
	finding_ruled_out(draft, "a larger checkpoint: %.3g instead of %.3g bytes",
		phases->octets_after, phases->octets_before);
	finding_evidence_device(
		draft, "job.checkpoint_s.before", NULL, phases->before_s, "s", QUALITY_ESTIMATED);
	finding_evidence_device(
		draft, "job.checkpoint_s", NULL, phases->after_s, "s", QUALITY_ESTIMATED);
	finding_evidence_device(draft, "job.checkpoint_octets", NULL, phases->octets_after, "bytes",
		QUALITY_ESTIMATED);
	finding_evidence_device(draft, "job.slower_for_s", NULL,
		(double)(draft->f->to_ns - phases->since_ns) / 1e9, "s", QUALITY_ESTIMATED);
	for (size_t i = 0; i < phases->n_receivers && i < RECEIVERS_TOLD; i++)
		finding_add_role(draft, "culprit", "host:%s", phases->receivers[i]->host);
	finding_steps(draft, CAUSE_SLOW_STORAGE, 0);
}

static void steps_judge(
	const struct analyzer_in *in, const struct throughput *throughput, struct finding_list *out)
{
	const struct steps_options *o = in->options;
	struct arena *a = in->arena;
	const struct pace p = pace_of(throughput, o->warn, a);
	double lost = 0;
	if (p.changed)
		lost = 1 - p.now.mean / p.base.mean;
	const bool slower = p.changed && lost > o->warn;
	/* the level of now may be older than what is remembered: nothing is known of the one before
	 * it, so nothing is closed by it */
	const bool better = p.changed && !slower;
	struct storage_phases storage;
	const bool waits =
		!p.idle && !slower && storage_slower(in->fabric, throughput, in->past, a, &storage);
	struct draft f = finding_new(out, in, "steps",
		slower || waits             ? FINDING_OVER
			: p.idle || !better ? FINDING_IDLE
					    : FINDING_UNDER,
		o->hold);
	f.f->cause = CAUSE_UNKNOWN;
	f.f->group = subject_of(throughput, a);
	f.f->coverage_ratio = throughput->coverage_ratio;
	f.f->warn = o->warn;
	f.f->value = lost;
	if (p.idle)
		f.f->summary = "idle";
	else
		f.f->summary = "steady";
	if (waits)
		steps_report_storage(&storage, throughput, &f);
	if (!slower)
		return;
	static const char *const words[] = {
		[NETWORK_CLEARED] = "the network is exonerated",
		[NETWORK_NOT_PROVEN] = "nothing seen in the network, not proven",
		[NETWORK_NOT_SILENT] = "the network is not silent, its part is unknown",
	};
	const enum network network = steps_exonerate(&f, observe(in));
	const bool proven = network == NETWORK_CLEARED;
	const char *who = "the job";
	if (throughput->job)
		who = throughput->job->name;
	if (proven)
		f.f->cause = CAUSE_STRAGGLER;
	if (lost >= LOSS_LARGE && !proven)
		f.f->severity = SEV_WARNING;
	else
		f.f->severity = SEV_INFO;
	f.f->loss_ratio = lost;
	f.f->explained_ratio = 0;
	f.f->summary = arena_printf(a,
		"%s moves %.1f %% fewer bytes per second than before: steps take %.3g times as "
		"long; %s",
		who, 100 * lost, 1 / (1 - lost), words[network]);
	f.f->confidence_ratio = (proven ? 0.8 : 0.4) *
		fmin(1, isnan(throughput->coverage_ratio) ? 0 : throughput->coverage_ratio);
	finding_rests_on(&f, "%s of %zu of %zu ports, %zu busy blocks of %.0f s",
		throughput->rate.by_uplinks ? "leaf uplinks, for no host's port is counted: octets"
					    : "host-facing octets",
		throughput->n_seen, throughput->n_ports, p.n,
		(double)throughput->rate.block_ns / 1e9);
	finding_rests_on(&f,
		"every step moves the same bytes: a job that entered another phase looks the same");
	finding_evidence_device(
		&f, "job.octets_per_s.before", NULL, p.base.mean, "bytes/s", QUALITY_EXACT);
	finding_evidence_device(&f, "job.octets_per_s", NULL, p.now.mean, "bytes/s", QUALITY_EXACT);
	finding_evidence_device(&f, "job.slower_for_s", NULL,
		(double)(f.f->to_ns - p.since_ns) / 1e9, "s", QUALITY_ESTIMATED);
	steps_advise(&f, network);
}

static int steps_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct throughput *t;
	const size_t n = throughput_of(
		in->fabric, in->past, in->window->to_ns - in->window->from_ns, in->arena, &t);
	struct job_rate *jobs = arena_array(in->arena, struct job_rate, n + 1);
	for (size_t i = 0; i < n; i++) {
		steps_judge(in, &t[i], out);
		jobs[i] = t[i].rate;
	}
	out->jobs = jobs;
	out->n_jobs = n;
	return 0;
}

const struct analyzer analyzer_steps = {
	.name = "steps",
	.phase = 140,
	.doc = "throughput of each training job: change points, and whether the network can be the "
	       "reason",
	.options = {"analyzers", "steps", sizeof(struct steps_options), rows, rw_countof(rows),
		"throughput of training jobs and its changes"},
	.window_offset = offsetof(struct steps_options, window_ns),
	.observes = true,
	.past_offset = offsetof(struct steps_options, past_ns),
	.past = {.metrics = throughput_metrics, .n_metrics = 2},
	.run = steps_run,
};
