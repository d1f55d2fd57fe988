/*
 * rhythm - how fast a training job makes progress, seen from its switches: throughput block by
 * block, levels, change points, and the step period where samples are frequent enough. Pure;
 * results live in the arena they were made in.
 *
 * In bulk-synchronous training every step moves the same bytes, so bytes per second are steps per
 * second times a constant that need not be known. When the rate falls by the share x, steps last
 * 1/(1 - x) times as long, and x of the wall time is lost: x = 1 - rate/base = (step -
 * base_step)/step. Example: 28 ms more in a step of 422 ms is 6.2 %. This is wrong where the job
 * changes what it moves per step (another phase, evaluation); so a change of rate is evidence of a
 * slowdown only together with another sign.
 *
 * A block holds a number of steps plus or minus one, so a single block says little. Means over many
 * blocks do: what one block misses the next one has, so their error shrinks with the number of
 * blocks, not with its root.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"
#include "analyzers/measure/rhythm_level.h"
#include "config/fabric.h"
#include "db/model/finding.h"
#include "db/series/series.h"

/* ---- throughput ---------------------------------------------------------- */

struct throughput {
	struct job_rate rate; /* db/model/finding.h */
	const struct fabric_job *job; /* NULL: no job is configured, all hosts count as one */
	size_t n_ports, n_seen; /* ports of the job's hosts; those with samples */
	double coverage_ratio; /* blocks with a value over all since the first sample */
};

/* throughput_hosts - the ports that face hosts, in the fabric's order, by host: made once for all
 * jobs, so that a job costs what it has. */
struct throughput_hosts;
struct throughput_hosts *throughput_hosts_new(const struct fabric *fabric);
void throughput_hosts_free(struct throughput_hosts *hosts);

/*
 * throughput_of - one per configured job (its hosts globs; jobs without hosts that are linked are
 * left out), or one over all hosts.
 *
 * A port that is silent in a block is stood in for by its usual share of the others, as long as
 * ports with half of the usual load are heard; else the block is NAN. Ports that move less than
 * half or more than one and a half times their usual while most do not are left out: a host that
 * leaves the job does not slow it down. Blocks are (to - n block, to], aligned to the window's end.
 */
size_t throughput_of(const struct fabric *fabric, const struct window *window, int64_t block_ns,
	struct arena *a, struct throughput **ret);

/* Metrics it reads: what memory keeps of the past. */
extern const uint16_t throughput_metrics[];
extern const size_t throughput_n_metrics;

/* ---- the step ------------------------------------------------------------ */

struct period {
	int64_t period_ns; /* 0 = no period is seen */
	int64_t exchange_ns; /* time the fabric is busy in it */
	double duty_ratio, confidence_ratio; /* confidence: the autocorrelation at that lag */
};
/*
 * rhythm_period - the step, by autocorrelation of @values, amounts in equal slices of @slice_ns.
 * False (and .period_ns 0) when there is none (jobs that never idle, or whose slices are longer
 * than a step), and when the slices are too coarse: it takes two a step to see one, so at 1..30 s
 * polls steps below 2..60 s stay unknown. A harmonic is not taken for the step: the shortest lag
 * counts that is nearly as good as the best. A fault and its end are no step: one comes back all
 * through @values.
 */
bool rhythm_period(const double *values, size_t n, int64_t slice_ns, struct period *ret);

/* Octets of @window in slices of @slice_ns, summed over the job's ports; NAN where a port is not
 * heard. For rhythm_period(). @ret holds n. */
void throughput_slices(const struct fabric *fabric, const struct throughput_hosts *hosts,
	const struct fabric_job *job, const struct window *window, int64_t slice_ns, double *ret,
	size_t n);

/* ---- step_seen ------------------------------------------------------------- */

/*
 * step_seen - how long a job's step may be, as the octets of one of its ports show it, and how long
 * a host has to be watched before what it does is held against it. Within a step hosts take turns:
 * one is silent, or paused, while others send. So a window that is shorter than a step proves
 * nothing of a host. Pure.
 */

#define STEP_WATCH_STEPS 3 /* steps that a host is watched for */
#define STEP_WATCH_LEAST_NS (10 * NS_PER_S) /* however short they are */
#define STEP_WATCH_UNKNOWN_NS (30 * NS_PER_S) /* where the step is not known */

/* step_seen - at most so long is a step of whoever @port leads to, ns; 0: not known. From the
 * octets in in->past up to @until_ns: idle slices tell it; without any, how little the slices
 * differ. */
int64_t step_seen(const struct analyzer_in *in, const struct port_seen *port, int64_t until_ns);

/* step_watch_ns - how long before the window's end it has to be seen already where a step is
 * @step_ns, so that it was seen for three steps, and ten seconds, when the next window opens an
 * incident. @step_ns: of step_seen(). */
int64_t step_watch_ns(const struct analyzer_in *in, int64_t step_ns);

/* ---- burst_seen ------------------------------------------------------------ */

/*
 * burst_seen - does a host take what it is sent in bursts that end by themselves, as storage does
 * when a job saves? An incast stays as long as the job sends like that; while it goes on so does
 * the exchange. Pure.
 */

/* burst_seen - is what @port sent in the window a burst against its own past? One that has ended,
 * is not longer than those before it or than one poll, or in which nobody else is sent anything,
 * for a minute at most; or one that is no more than usual, while the exchange was held up for a
 * minute at most. False where in->past does not tell. */
bool burst_seen(const struct analyzer_in *in, const struct port_seen *port);
