/* steps_views - see the header. */
#include "agent/reports/steps_views.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/ecmp_words.h"

#define BAR 36 /* characters of the best level */

/* 14:03:22Z, with the date where it is not that of the beginning. */
static const char *clock_of(const char *time, const char *from)
{
	if (time && from && strlen(time) > 11 && strncmp(time, from, 10) == 0)
		return time + 11;
	if (time)
		return time;
	return "?";
}

static void print_bar(FILE *out, double share)
{
	const int n = (int)lround(BAR * fmin(fmax(share, 0), 1));
	for (int k = 0; k < BAR; k++)
		fputc(k < n ? '#' : ' ', out);
}

static void print_unseen(FILE *out, const json_t *job)
{
	const double sample_s = doc_number(job, "sample_s");
	if (isnan(sample_s))
		fprintf(out, "step        not seen: too few samples\n");
	else
		fprintf(out,
			"step        not seen: it is shorter than two samples, %.3g s apart, or "
			"the job never idles\n",
			sample_s);
}

static void print_rhythm(FILE *out, const json_t *job, const char *from)
{
	const double step = doc_number(job, "step_s"),
		     declared = doc_number(job, "step_declared_s");
	const char *stopped = doc_word(job, "stopped_since");
	if (*stopped)
		fprintf(out, "step        none: the job is stopped since %s\n",
			clock_of(stopped, from));
	else if (!isnan(step))
		fprintf(out,
			"step        %.4g s, exchange %.3g s, duty %.0f %%, confidence %.2f "
			"(autocorrelation)\n",
			step, doc_number(job, "exchange_s"), 100 * doc_number(job, "duty_ratio"),
			doc_number(job, "rhythm_confidence_ratio"));
	else
		print_unseen(out, job);
	if (!isnan(declared))
		fprintf(out, "            declared %.4g s when all is well\n", declared);
}

static void print_level(FILE *out, const json_t *level, double best, const char *from, bool first)
{
	const double rate = doc_number(level, "octets_per_s"),
		     change = doc_number(level, "change_ratio"), step = doc_number(level, "step_s");
	fprintf(out, "%s%7.4g GB/s |", first ? "moves       " : "            ", rate / 1e9);
	print_bar(out, rate / best);
	fprintf(out, "| %s - %s", clock_of(doc_text(level, "from"), from),
		clock_of(doc_text(level, "to"), from));
	if (!isnan(step))
		fprintf(out, "  step %.4g s", step);
	if (!isnan(change))
		fprintf(out, "  change point %+.1f %%: steps take %.3g times as long", 100 * change,
			1 / (1 + change));
	fputc('\n', out);
}

/* What the job usually moves at this time of the week. */
static void print_usual(FILE *out, const json_t *job)
{
	const json_t *usual = json_object_get(job, "usual");
	if (!json_is_object(usual))
		return;
	const double rate = doc_number(usual, "octets_per_s");
	fprintf(out, "usual       %.4g GB/s +- %.2g %% on %s UTC (median of %lld), now %+.1f %%\n",
		rate / 1e9, 100 * doc_number(usual, "spread_octets_per_s") / rate,
		doc_text(usual, "slot"), json_integer_value(json_object_get(usual, "slots")),
		100 * (doc_number(job, "octets_per_s") / rate - 1));
}

static void steps_views_steps_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *jobs = json_object_get(doc, "jobs"), *levels = json_object_get(doc, "levels"),
		     *j, *l;
	const char *from = doc_text(doc, "from");
	size_t i, k;
	json_array_foreach (jobs, i, j) {
		double best = 0;
		bool first = true;
		fprintf(out, "%sJOB %s", str_if(i, "\n"),
			*doc_word(j, "job") ? doc_word(j, "job")
					    : "(none is configured: all hosts)");
		if (json_integer_value(json_object_get(j, "gpus")))
			fprintf(out, "   %lld GPUs",
				json_integer_value(json_object_get(j, "gpus")));
		fprintf(out, "   %lld of %lld %s   blocks of %.3g s   coverage %.1f %%\n",
			json_integer_value(json_object_get(j, "ports_seen")),
			json_integer_value(json_object_get(j, "ports")), doc_text(j, "measured_at"),
			doc_number(j, "block_s"), 100 * doc_number(j, "coverage_ratio"));
		print_rhythm(out, j, from);
		json_array_foreach (levels, k, l)
			if (str_eq(doc_text(l, "job"), doc_text(j, "job")))
				best = fmax(best, doc_number(l, "octets_per_s"));
		json_array_foreach (levels, k, l) {
			if (!str_eq(doc_text(l, "job"), doc_text(j, "job")))
				continue;
			print_level(out, l, best, from, first);
			first = false;
		}
		print_usual(out, j);
		if (doc_number(j, "idle_s") > 0)
			fprintf(out,
				"idle        %.4g s: starts, ends, checkpoints; no part of the "
				"levels\n",
				doc_number(j, "idle_s"));
	}
	if (!json_array_size(jobs))
		fprintf(out, "%s\n", view->empty);
}

static const struct column columns[] = {
	{"job", NULL, COL_TEXT, false},
	{"from", NULL, COL_TIME, false},
	{"to", NULL, COL_TIME, false},
	{"octets_per_s", NULL, COL_NUMBER, true},
	{"error_ratio", NULL, COL_RATIO_PCT, true},
	{"change_ratio", NULL, COL_RATIO_PCT, true},
	{"loss_ratio", NULL, COL_RATIO_PCT, true},
	{"step_s", NULL, COL_DURATION_S, true},
};

const struct view steps_view = {
	.title = "Training rhythm",
	.rows = "levels",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = steps_views_steps_text,
	.empty = "no traffic counters of host ports or leaf uplinks in this time range",
};
