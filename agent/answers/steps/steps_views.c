/* steps_views - see the header. */
#include "agent/answers/steps/steps_views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/answers/steps/steps_document.h"

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
