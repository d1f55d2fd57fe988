/* steps_document - throughput of each job in levels with change points, and the step time where
 * samples are frequent enough. */
#include "agent/answers/steps/steps_document.h"

#include <time.h>

#include "base/stats.h"
#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "agent/incident/silence.h"
#include "analyzers/measure/rhythm.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/* usual_slot - short reads of the past, and medians. */

#define HOUR_NS (3600 * NS_PER_S)
#define DAY_NS (24 * HOUR_NS)
#define VALUES_MIN 10 /* minutes of a slot */

static double usual_slot_median(const struct series *series, int64_t from_ns, struct arena *a)
{
	double *values = arena_array(a, double, series->n + 1);
	size_t n = 0;
	for (uint32_t i = series_after(series, from_ns); i < series->n; i++)
		values[n++] = sample_f64(series->value[i]);
	if (n < VALUES_MIN)
		return NAN;
	return stats_median(values, n);
}

/* The median of the hour around @about_ns. */
static int usual_slot_at(
	struct client *client, uint32_t entity, int64_t about_ns, double *ret, struct err *e)
{
	static const uint16_t metrics[] = {M_AGENT_SIGNAL};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec spec = {
		.metrics = metrics, .n_metrics = 1, .entities = &entity, .n_entities = 1};
	const int64_t from_ns = about_ns - HOUR_NS / 2;
	struct window window;
	*ret = NAN;
	const int rc =
		history_window(client->history, a, &spec, from_ns, from_ns + HOUR_NS, &window, e);
	if (rc < 0)
		return rc;
	if (window.n_series)
		*ret = usual_slot_median(&window.series[0], from_ns, a);
	return 0;
}

static bool usual_slot_take(
	const double *values, size_t n, bool weekly, int64_t at_ns, struct usual_slot *ret)
{
	double known[USUAL_WEEKS + USUAL_DAYS];
	const time_t at_s = (time_t)(at_ns / NS_PER_S);
	struct tm tm;
	ret->slots = 0;
	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			known[ret->slots++] = values[i];
	if (ret->slots < USUAL_SLOTS_MIN)
		return false;
	ret->usual = stats_median(known, ret->slots);
	ret->spread = STATS_MAD_TO_SIGMA * stats_mad(known, ret->slots, ret->usual);
	gmtime_r(&at_s, &tm);
	tm.tm_min = 0;
	if (weekly)
		strftime(ret->name, sizeof(ret->name), "%A %H:%M", &tm);
	else
		strftime(ret->name, sizeof(ret->name), "%H:%M", &tm);
	return true;
}

/* @weeks and @days: one value per slot, NAN unknown. Weeks where there are enough. / */
static struct usual_slot usual_slot_fold(
	const double weeks[USUAL_WEEKS], const double days[USUAL_DAYS], int64_t at_ns)
{
	struct usual_slot slot = {.usual = NAN, .spread = NAN};
	if (!usual_slot_take(weeks, USUAL_WEEKS, true, at_ns, &slot))
		usual_slot_take(days, USUAL_DAYS, false, at_ns, &slot);
	return slot;
}

int usual_slot_read(struct client *client, const char *port, int64_t at_ns, struct usual_slot *ret,
	struct err *e)
{
	double weeks[USUAL_WEEKS], days[USUAL_DAYS];
	int rc = 0;
	*ret = (struct usual_slot){.usual = NAN, .spread = NAN};
	const uint32_t entity =
		entities_find(history_entities(client->history), ENTITY_SIGNALS, port, PRIO_NONE);
	if (entity == ENTITY_NONE)
		return 0;
	for (int k = 0; rc == 0 && k < USUAL_WEEKS; k++)
		rc = usual_slot_at(client, entity, at_ns - 7 * (k + 1) * DAY_NS, &weeks[k], e);
	for (int k = 0; rc == 0 && k < USUAL_DAYS; k++)
		rc = usual_slot_at(client, entity, at_ns - (k + 1) * DAY_NS, &days[k], e);
	if (rc == 0)
		*ret = usual_slot_fold(weeks, days, at_ns);
	return rc;
}

/* ---- steps_document ------------------------------------------------------ */

/* ---- steps_views - see the header. */

#define BAR 36 /* characters of the best level */

/* 14:03:22.000Z, with the date where it is not that of the beginning. */
static const char *clock_of(wall_t time, wall_t from, char buf[WALL_TEXT_MAX])
{
	char begin[WALL_TEXT_MAX];
	wall_format(buf, time, time.ns % NS_PER_MS == 0 ? 3 : 9);
	wall_format(begin, from, 0);
	return strncmp(buf, begin, 10) == 0 ? buf + 11 : buf;
}

static void print_bar(FILE *out, double share)
{
	const int n = (int)lround(BAR * fmin(fmax(share, 0), 1));
	for (int k = 0; k < BAR; k++)
		fputc(k < n ? '#' : ' ', out);
}

static void print_unseen(FILE *out, const struct steps_told *job)
{
	if (isnan(job->sample_s))
		fprintf(out, "step        not seen: too few samples\n");
	else if (job->idle_s > 0)
		fprintf(out,
			"step        not seen: it is shorter than two samples, %.3g s apart, or "
			"does not come back evenly\n",
			job->sample_s);
	else
		fprintf(out,
			"step        not seen: it is shorter than two samples, %.3g s apart, or "
			"the job never idles\n",
			job->sample_s);
}

static void print_rhythm(FILE *out, const struct steps_told *job, wall_t from)
{
	char stopped[WALL_TEXT_MAX];
	if (job->stopped_since.ns != TIME_UNKNOWN.ns)
		fprintf(out, "step        none: the job is stopped since %s\n",
			clock_of(job->stopped_since, from, stopped));
	else if (!isnan(job->step_s))
		fprintf(out,
			"step        %.4g s, exchange %.3g s, duty %.0f %%, confidence %.2f "
			"(autocorrelation)\n",
			job->step_s, job->exchange_s, 100 * job->duty_ratio,
			job->rhythm_confidence_ratio);
	else
		print_unseen(out, job);
	if (!isnan(job->ranks_step_s))
		fprintf(out,
			"            by its ranks %.4g s, exchange %.3g s (%.0f %%), and the "
			"median "
			"rank waited %.3g s\n",
			job->ranks_step_s, job->ranks_exchange_s,
			100 * job->ranks_exchange_s / job->ranks_step_s, job->ranks_waiting_s);
	if (!isnan(job->mfu_ratio))
		fprintf(out, "            MFU %.1f %%\n", 100 * job->mfu_ratio);
	if (!isnan(job->step_declared_s))
		fprintf(out, "            declared %.4g s when all is well\n",
			job->step_declared_s);
}

static void print_level(
	FILE *out, const struct steps_level *level, double best, wall_t from, bool first)
{
	const double rate = level->octets_per_s, change = level->change_ratio;
	char begin[WALL_TEXT_MAX], end[WALL_TEXT_MAX];
	fprintf(out, "%s%7.4g GB/s |", first ? "moves       " : "            ", rate / 1e9);
	print_bar(out, rate / best);
	fprintf(out, "| %s - %s", clock_of(level->from, from, begin),
		clock_of(level->to, from, end));
	if (isfinite(level->step_s))
		fprintf(out, "  step %.4g s", level->step_s);
	if (isfinite(change))
		fprintf(out, "  change point %+.1f %%: steps take %.3g times as long", 100 * change,
			1 / (1 + change));
	fputc('\n', out);
}

/* What the job usually moves at this time of the week. */
static void print_usual(FILE *out, const struct steps_told *job)
{
	const struct steps_usual *usual = job->usual;
	if (!usual)
		return;
	fprintf(out,
		"usual       %.4g GB/s +- %.2g %% on %s UTC (median of %" PRIu64
		"), now %+.1f %%\n",
		usual->octets_per_s / 1e9, 100 * usual->spread_octets_per_s / usual->octets_per_s,
		usual->slot, usual->slots, 100 * (job->octets_per_s / usual->octets_per_s - 1));
}

static void print_levels(FILE *out, const struct steps_answer *steps, const struct steps_told *job)
{
	double best = 0;
	bool first = true;
	for (size_t i = 0; i < steps->n_levels; i++)
		if (str_eq(str_or(steps->levels[i].job, ""), str_or(job->job, "")))
			best = fmax(best, steps->levels[i].octets_per_s);
	for (size_t i = 0; i < steps->n_levels; i++) {
		if (!str_eq(str_or(steps->levels[i].job, ""), str_or(job->job, "")))
			continue;
		print_level(out, &steps->levels[i], best, steps->from, first);
		first = false;
	}
}

static void print_job(FILE *out, const struct steps_answer *steps, const struct steps_told *job)
{
	const char *name = str_or(job->job, "");
	fprintf(out, "JOB %s", *name ? name : "(none is configured: all hosts)");
	if (job->gpus != COUNT_UNKNOWN && job->gpus)
		fprintf(out, "   %" PRIu64 " GPUs", job->gpus);
	fprintf(out, "   %" PRIu64 " of %" PRIu64 " %s   blocks of %.3g s   coverage %.1f %%\n",
		job->ports_seen, job->ports, job->measured_at, job->block_s,
		100 * job->coverage_ratio);
	print_rhythm(out, job, steps->from);
	print_levels(out, steps, job);
	print_usual(out, job);
	if (job->idle_s > 0)
		fprintf(out,
			"idle        %.4g s: starts, ends, checkpoints; no part of the levels\n",
			job->idle_s);
}

static void steps_views_steps_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct steps_answer *steps = answer;
	for (size_t i = 0; i < steps->n_jobs; i++) {
		fputs(str_if(i, "\n"), out);
		print_job(out, steps, &steps->jobs[i]);
	}
	if (!steps->n_jobs)
		fprintf(out, "%s\n", view->empty);
}

static const struct shape_table steps_levels_table = {.shape = &steps_level_shape};

static const void *steps_levels(const void *answer, size_t *ret_n)
{
	const struct steps_answer *steps = answer;
	*ret_n = steps->n_levels;
	return steps->levels;
}

const struct view steps_view = {
	.title = "Training rhythm",
	.table = &steps_levels_table,
	.table_rows = steps_levels,
	.answer_text = steps_views_steps_text,
	.empty = "no traffic counters of host ports or leaf uplinks in this time range",
};

#define BLOCKS_MAX 2048 /* of the whole time range */
#define BLOCKS_AT_ONCE 64 /* read from the database and measured in one piece */
#define SLICES 600 /* the newest ones, for the step */
#define LEVELS_MAX 32
#define SPACING_SPAN_NS (300 * NS_PER_S) /* that shows the time between samples */
#define STOPPED_NS (60 * NS_PER_S) /* shorter than that it pauses, as for a checkpoint */
#define LEAST 0.03 /* change of throughput, as the default of analyzers.steps.warn */

struct steps_job {
	const struct fabric_job *job;
	bool by_uplinks;
	size_t n_ports, n_seen;
	double *rate; /* of all blocks; NAN not seen */
};

struct steps_history {
	int64_t from_ns, block_ns;
	size_t n_blocks;
	struct steps_job *v;
	size_t n, cap;
};

static void steps_history_done(struct steps_history *jobs)
{
	for (size_t k = 0; k < jobs->n; k++)
		free(jobs->v[k].rate);
	free(jobs->v);
}

static struct steps_job *steps_job_of(
	struct steps_history *jobs, const struct throughput *throughput)
{
	for (size_t k = 0; k < jobs->n; k++)
		if (jobs->v[k].job == throughput->job)
			return &jobs->v[k];
	rw_grow(jobs->v, jobs->n, jobs->cap);
	struct steps_job *j = &jobs->v[jobs->n++];
	*j = (struct steps_job){
		.job = throughput->job, .rate = rw_calloc(jobs->n_blocks, sizeof(double))};
	for (size_t k = 0; k < jobs->n_blocks; k++)
		j->rate[k] = NAN;
	return j;
}

/* Blocks as long as the detector's windows, longer where the time range would have too many. */
static int steps_bounds(
	struct client *client, struct steps_history *jobs, int64_t *ret_to, struct err *e)
{
	const int64_t window_ns = config_window(client->config, "steps");
	int64_t from_ns, to_ns;
	int rc = history_range(client->history, &from_ns, &to_ns, e);
	if (rc < 0)
		return rc;
	if (client->from_ns > from_ns)
		from_ns = client->from_ns;
	if (client->to_ns < to_ns)
		to_ns = client->to_ns;
	int64_t span_ns = 0;
	if (to_ns > from_ns)
		span_ns = to_ns - from_ns;
	jobs->block_ns = window_ns * (1 + span_ns / window_ns / BLOCKS_MAX);
	if (!window_align(jobs->block_ns, &from_ns, &to_ns))
		return 0;
	jobs->from_ns = from_ns;
	jobs->n_blocks = (size_t)((to_ns - from_ns) / jobs->block_ns);
	*ret_to = to_ns;
	return 0;
}

struct steps_collect {
	const struct fabric *fabric;
	struct steps_history *jobs;
};

/* The throughput of each job in the blocks of @window. */
static int steps_take(void *arg, const struct window *window, struct arena *turn)
{
	const struct steps_collect *collect = arg;
	struct steps_history *jobs = collect->jobs;
	const size_t first = (size_t)((window->from_ns - jobs->from_ns) / jobs->block_ns);
	const size_t n = (size_t)((window->to_ns - window->from_ns) / jobs->block_ns);
	struct throughput *throughput;
	const size_t n_jobs =
		throughput_of(collect->fabric, window, jobs->block_ns, turn, &throughput);
	for (size_t k = 0; k < n_jobs; k++) {
		struct steps_job *job = steps_job_of(jobs, &throughput[k]);
		memcpy(job->rate + first, throughput[k].rate.rate, n * sizeof(double));
		job->by_uplinks = throughput[k].rate.by_uplinks;
		job->n_ports = throughput[k].n_ports;
		if (throughput[k].n_seen > job->n_seen)
			job->n_seen = throughput[k].n_seen;
	}
	return 0;
}

static int steps_collect(
	struct client *client, struct steps_history *jobs, int64_t *ret_to, struct err *e)
{
	const int rc = steps_bounds(client, jobs, ret_to, e);
	if (rc == -ENODATA || (rc == 0 && jobs->n_blocks == 0))
		return 0;
	if (rc < 0)
		return rc;
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	const struct window_plan plan = {.spec = &spec,
		.from_ns = jobs->from_ns,
		.to_ns = *ret_to,
		.window_ns = BLOCKS_AT_ONCE * jobs->block_ns,
		.at_once = 1};
	struct steps_collect collect = {.fabric = client->config->fabric, .jobs = jobs};
	return window_walk(client, &plan, steps_take, &collect, e);
}

/* The usual time between samples of the first series that shows it, ns; 0 = none does. */
static int64_t steps_spacing(const struct window *window, struct arena *a)
{
	for (size_t k = 0; k < window->n_series; k++) {
		const double spacing_ns = window_spacing(&window->series[k], a);
		if (!isnan(spacing_ns))
			return (int64_t)spacing_ns;
	}
	return 0;
}

/* The step time, from the newest samples at their own spacing. */
static int steps_find_step(struct client *client, const struct fabric_job *job, int64_t to_ns,
	struct period *period, int64_t *ret_sample, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec spec = {
		.metrics = throughput_metrics, .n_metrics = throughput_n_metrics};
	struct window w;
	*period = (struct period){.duty_ratio = NAN, .confidence_ratio = NAN};
	int r = history_window(client->history, a, &spec, to_ns - SPACING_SPAN_NS, to_ns, &w, e);
	*ret_sample = 0;
	if (r == 0)
		*ret_sample = steps_spacing(&w, a);
	if (*ret_sample <= 0)
		return r;
	r = history_window(client->history, a, &spec, to_ns - SLICES * *ret_sample, to_ns, &w, e);
	if (r < 0)
		return r;
	double *v = rw_calloc(SLICES, sizeof(*v));
	struct throughput_hosts *hosts = throughput_hosts_new(client->config->fabric);
	throughput_slices(client->config->fabric, hosts, job, &w, *ret_sample, v, SLICES);
	throughput_hosts_free(hosts);
	rhythm_period(v, SLICES, *ret_sample, period);
	free(v);
	return 0;
}

static double steps_seconds(int64_t ns)
{
	return ns > 0 ? (double)ns / (double)NS_PER_S : NAN;
}

static const char *steps_name(const struct steps_job *history)
{
	if (history->job)
		return history->job->name;
	return NULL;
}

static int64_t steps_declared_step_ns(const struct steps_job *history)
{
	if (history->job)
		return history->job->step_ns;
	return 0;
}

/* Throughput of one job in the blocks it was busy in. */
struct busy_blocks {
	double *rate;
	size_t *at; /* position of each among all blocks */
	size_t n;
};

/* A copy of the job's name. */
static const char *steps_name_kept(struct arena *a, const struct steps_job *history)
{
	const char *name = steps_name(history);
	return name ? arena_strdup(a, name) : NULL;
}

static struct steps_level steps_level_of(struct arena *a, const struct steps_history *jobs,
	const struct steps_job *history, const struct busy_blocks *busy,
	const struct segment *segment, double before, double best)
{
	const double mean = segment->level.mean;
	const int64_t step_ns = steps_declared_step_ns(history);
	const size_t first = busy->at[segment->from], last = busy->at[segment->to - 1];
	double step_s = NAN;
	if (step_ns > 0)
		step_s = (double)step_ns / (double)NS_PER_S * best / mean;
	return (struct steps_level){.job = steps_name_kept(a, history),
		.from.ns = jobs->from_ns + (int64_t)first * jobs->block_ns,
		.to.ns = jobs->from_ns + (int64_t)(last + 1) * jobs->block_ns,
		.octets_per_s = mean,
		.error_ratio = 2 * segment->level.se / mean,
		.change_ratio = mean / before - 1,
		.loss_ratio = 1 - mean / best,
		.stretch_ratio = best / mean,
		.step_s = step_s};
}

static void steps_add_levels(struct arena *a, struct steps_answer *answer,
	const struct steps_history *jobs, const struct steps_job *history,
	const struct busy_blocks *busy)
{
	struct segment s[LEVELS_MAX];
	const size_t n = rhythm_segments(busy->rate, busy->n, LEAST, s, LEVELS_MAX);
	double best = NAN, before = NAN;
	for (size_t k = 0; k < n; k++)
		best = fmax(best, s[k].level.mean);
	for (size_t k = 0; k < n; k++) {
		arena_grow_pow2(a, answer->levels, answer->n_levels);
		answer->levels[answer->n_levels++] =
			steps_level_of(a, jobs, history, busy, &s[k], before, best);
		before = s[k].level.mean;
	}
}

/* Since when the job has moved next to nothing, up to the newest block that is seen; 0: it moves,
 * or it is not known. */
static int64_t steps_stopped_since(const struct steps_history *jobs,
	const struct steps_job *history, const struct busy_blocks *busy)
{
	const double idle = RHYTHM_IDLE * rhythm_best(busy->rate, busy->n, LEAST);
	const size_t first = rhythm_idle_from(history->rate, jobs->n_blocks, idle);
	size_t n = 0;
	for (size_t k = first; k < jobs->n_blocks; k++)
		n += !isnan(history->rate[k]);
	if (n == 0 || (int64_t)n * jobs->block_ns < STOPPED_NS)
		return 0;
	return jobs->from_ns + (int64_t)first * jobs->block_ns;
}

static struct steps_told steps_told_of(struct arena *a, const struct steps_history *jobs,
	const struct steps_job *history, const struct busy_blocks *busy,
	const struct period *period, int64_t sample_ns)
{
	size_t seen = 0;
	for (size_t k = 0; k < jobs->n_blocks; k++)
		seen += !isnan(history->rate[k]);
	const double idle_ns = (double)(seen - busy->n) * (double)jobs->block_ns;
	const int64_t stopped_ns = steps_stopped_since(jobs, history, busy);
	struct steps_told told = {.job = steps_name_kept(a, history),
		.gpus = COUNT_UNKNOWN,
		.ports = history->n_ports,
		.ports_seen = history->n_seen,
		.measured_at = history->by_uplinks ? "leaf uplinks" : "host ports",
		.block_s = steps_seconds(jobs->block_ns),
		.coverage_ratio = NAN,
		.octets_per_s = rhythm_level(busy->rate, busy->n).mean,
		.step_declared_s = steps_seconds(steps_declared_step_ns(history)),
		.step_s = steps_seconds(period->period_ns),
		.exchange_s = steps_seconds(period->exchange_ns),
		.ranks_step_s = NAN,
		.ranks_exchange_s = NAN,
		.ranks_waiting_s = NAN,
		.mfu_ratio = NAN,
		.stopped_since = TIME_UNKNOWN,
		.duty_ratio = period->duty_ratio,
		.rhythm_confidence_ratio = period->confidence_ratio,
		.sample_s = steps_seconds(sample_ns),
		.idle_s = idle_ns / (double)NS_PER_S};
	if (history->job)
		told.gpus = (uint64_t)history->job->gpus;
	if (jobs->n_blocks)
		told.coverage_ratio = (double)seen / (double)jobs->n_blocks;
	if (stopped_ns)
		told.stopped_since.ns = stopped_ns;
	return told;
}

static int steps_add_usual(struct client *client, struct arena *a, const char *job, int64_t at_ns,
	struct steps_told *told, struct err *e)
{
	char port[GOLDEN_PORT_MAX];
	struct usual_slot slot;
	const int rc = usual_slot_read(
		client, golden_job_port(port, job, GOLDEN_JOB_LEVEL), at_ns, &slot, e);
	if (rc < 0 || isnan(slot.usual))
		return rc;
	told->usual = arena_new_of(a, struct steps_usual);
	*told->usual = (struct steps_usual){.slot = arena_strdup(a, slot.name),
		.slots = (uint64_t)slot.slots,
		.octets_per_s = slot.usual,
		.spread_octets_per_s = slot.spread};
	return 0;
}

static int steps_take_ranks(void *arg, int n, char *const *words, char *const *names)
{
	struct steps_told *told = arg;
	double step_s, exchange_s, waiting_s;
	if (n != 1 || !words[0] ||
		sscanf(words[0], EVENT_STEP_TEXT, &step_s, &exchange_s, &waiting_s) != 3 ||
		!(step_s > 0))
		return 0;
	told->ranks_step_s = step_s;
	told->ranks_exchange_s = exchange_s;
	told->ranks_waiting_s = waiting_s;
	return 1;
}

/* What ranks told last in the range; floating point operations by their step, else by the one that
 * was seen. */
static int steps_add_ranks(struct client *client, const struct steps_history *jobs,
	const struct fabric_job *job, struct steps_told *told, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	if (!job || strchr(job->name, '\''))
		return 0; /* it goes into a query */
	str_addf(&sql,
		"SELECT text FROM events WHERE kind='" EVENT_STEP "' AND job='%s' AND t_ns "
		"BETWEEN %" PRId64 " AND %" PRId64 " ORDER BY t_ns DESC LIMIT 1",
		job->name, jobs->from_ns, client->to_ns);
	const int rc = history_sql(client->history, sql.s, steps_take_ranks, told, e);
	const double step_s = isnan(told->ranks_step_s) ? told->step_s : told->ranks_step_s;
	if (job->step_teraflop > 0 && job->gpu_teraflops > 0)
		told->mfu_ratio =
			job->step_teraflop / (step_s * (double)job->gpus * job->gpu_teraflops);
	return rc < 0 ? rc : 0;
}

static int steps_add_job(struct client *client, struct arena *a, const struct steps_history *jobs,
	const struct steps_job *history, int64_t to_ns, struct steps_answer *answer, struct err *e)
{
	struct busy_blocks busy = {.rate = rw_calloc(jobs->n_blocks + 1, sizeof(*busy.rate)),
		.at = rw_calloc(jobs->n_blocks + 1, sizeof(*busy.at))};
	busy.n = rhythm_busy(history->rate, jobs->n_blocks, busy.rate, busy.at);
	struct period period;
	int64_t sample_ns;
	int rc = steps_find_step(client, history->job, to_ns, &period, &sample_ns, e);
	if (rc == 0) {
		struct steps_told *told = &answer->jobs[answer->n_jobs++];
		*told = steps_told_of(a, jobs, history, &busy, &period, sample_ns);
		rc = steps_add_usual(client, a, steps_name(history), to_ns, told, e);
		if (rc == 0)
			rc = steps_add_ranks(client, jobs, history->job, told, e);
		steps_add_levels(a, answer, jobs, history, &busy);
	}
	free(busy.rate);
	free(busy.at);
	return rc;
}

int steps_read(struct client *client, const char *job, struct arena *a, struct steps_answer *ret,
	struct err *e)
{
	struct steps_history h = {0};
	int64_t to_ns = 0;
	int rc = known_job(client, job, e);
	if (rc < 0)
		return rc;
	rc = steps_collect(client, &h, &to_ns, e);
	*ret = (struct steps_answer){.jobs = arena_array(a, struct steps_told, h.n)};
	for (size_t k = 0; rc == 0 && k < h.n; k++)
		if (str_glob(job, str_or(steps_name(&h.v[k]), "")))
			rc = steps_add_job(client, a, &h, &h.v[k], to_ns, ret, e);
	if (h.n_blocks == 0) {
		h.from_ns = client->from_ns;
		to_ns = client->to_ns;
	}
	ret->from.ns = h.from_ns;
	ret->to.ns = to_ns;
	steps_history_done(&h);
	return rc;
}

int steps_document(struct client *client, const char *job, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct steps_answer answer;
	const int rc = steps_read(client, job, a, &answer, e);
	if (rc == 0)
		*ret = shape_json(&steps_answer_shape, &answer);
	return rc;
}
