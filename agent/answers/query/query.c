/* query - reads the history of metrics and writes it as rows. */
#include "agent/answers/query/query.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/query/query_rows.h"
#include "config/config.h"
#include "db/series/history.h"

#define MINUTE_NS (60 * NS_PER_S)

/* ---- what is said of all rows --------------------------------------------------- */

/* "store.retention.raw: 7d", as far as it is known. */
static void query_add_kept(const struct client *client, struct str *out)
{
	char text[32];
	if (!client->config)
		return;
	str_addf(out, " (store.retention.raw: %s)",
		unit_duration_text(text, sizeof(text), client->config->store.raw_ns));
}

static void query_note_tiers(const struct query_run *run, struct str *out)
{
	const struct query_foot *foot = run->foot;
	char time[WALL_TEXT_MAX];
	if (!foot->tier[ROLLUP_MINUTE] && !foot->tier[ROLLUP_HOUR])
		return;
	str_addf(out, "Until %s from %s: single values are gone or not needed",
		wall_text(time, (wall_t){foot->coarse_to_ns}, 0),
		foot->tier[ROLLUP_HOUR] ? "hours" : "minutes");
	query_add_kept(run->client, out);
}

static int query_coarse(void *arg, const struct rollup *rollup)
{
	*(bool *)arg = rollup->tier != ROLLUP_RAW;
	return 1;
}

/* An empty answer says why, as far as that is known. */
static void query_note_empty(const struct query_run *run, struct str *out)
{
	const struct query_plan *plan = run->plan;
	const struct history_filter filter = query_plan_filter(plan, run->from_ns, run->to_ns);
	bool coarse = false;
	if (run->out->rows > 0)
		return;
	if (run->lines->n == 0 && plan->by >= BY_HOST && plan->by <= BY_RAIL) {
		str_addf(out, "No series of this metric belongs to a %s", query_by_name(plan->by));
		return;
	}
	if (run->lines->n == 0) {
		str_addf(out, "No samples: %s%s never delivered this metric",
			str_or(plan->device, "the devices"), str_if(plan->port, " (these ports)"));
		return;
	}
	if (!plan->steps)
		history_each_rollup(
			run->client->history, &filter, MINUTE_NS, query_coarse, &coarse, NULL);
	if (coarse) {
		str_add(out, "Single values of this range are gone");
		query_add_kept(run->client, out);
		str_add(out, "; minutes are there: add --step 1m");
		return;
	}
	str_add(out, "No samples in this time range");
}

/* "port.out_octets, bytes/s: mean of each 1m, sum by device" */
static void query_add_title(const struct query_plan *plan, struct str *out)
{
	char unit[QUERY_UNIT_MAX], step[32];
	const unsigned metric = plan->metrics[0];
	if (plan->n_metrics > 1)
		str_addf(out, "%zu metrics", plan->n_metrics);
	else
		str_add(out, metric_info(metric)->name);
	const char *shown = query_out_unit(query_unit(plan, metric, unit));
	if (plan->n_metrics == 1 && *shown)
		str_addf(out, ", %s", shown);
	if (!plan->steps) {
		str_add(out, plan->rate ? ": rate between samples" : ": as stored");
		return;
	}
	const char *agg = query_agg_name(query_agg_of(plan, metric));
	if (plan->n_metrics > 1 && plan->agg == AGG_USUAL)
		agg = "usual value";
	str_addf(out, ": %s of ", agg);
	if (plan->step_ns)
		str_addf(out, "each %s", unit_duration_text(step, sizeof(step), plan->step_ns));
	else
		str_add(out, "the whole range");
	if (plan->by != BY_NONE)
		str_addf(out, ", %s by %s", query_join_name(query_join_of(plan, metric)),
			query_by_name(plan->by));
	if (plan->top)
		str_addf(out, ", the top %zu", plan->top);
}

/* ---- running -------------------------------------------------------------------- */

static int query_check_names(struct client *client, const struct query_plan *plan, struct err *e)
{
	const int rc = known_device(client, plan->device, e);
	if (rc < 0)
		return rc;
	return known_port(client, plan->device, plan->port, e);
}

/* One unit for all rows, or NULL. */
static const char *query_one_unit(const struct query_plan *plan, char buf[QUERY_UNIT_MAX])
{
	const char *unit = query_unit(plan, plan->metrics[0], buf);
	char other[QUERY_UNIT_MAX];
	for (size_t i = 1; i < plan->n_metrics; i++)
		if (!str_eq(unit, query_unit(plan, plan->metrics[i], other)))
			return NULL;
	return unit;
}

/* Before anything is printed: more steps than anybody reads. */
static int query_check_steps(const struct query_run *run, struct err *e)
{
	int64_t first_ns, last_ns, from_ns = run->from_ns, to_ns = run->to_ns;
	const int64_t step_ns = run->plan->step_ns;
	if (step_ns == 0 || history_range(run->client->history, &first_ns, &last_ns, NULL) < 0)
		return 0;
	if (first_ns > from_ns)
		from_ns = first_ns;
	if (last_ns < to_ns)
		to_ns = last_ns;
	if (to_ns <= from_ns || (to_ns - from_ns) / step_ns <= QUERY_STEPS_MAX)
		return 0;
	return err_set(e, -EINVAL,
		"--step is too short: there would be more than %d steps; use a longer step or a "
		"shorter time range",
		QUERY_STEPS_MAX);
}

static int query_answer(struct query_run *run, struct err *e)
{
	rw_cleanup(str_done) struct str title = {0}, note = {0};
	struct query_out *out = run->out;
	char unit[QUERY_UNIT_MAX];
	int rc;
	query_lines_columns(run->lines, run->plan, &out->columns);
	query_add_title(run->plan, &title);
	out->columns.title = title.s;
	out->columns.unit = query_one_unit(run->plan, unit);
	query_out_begin(out);
	if (run->plan->steps)
		rc = query_rows_steps(run, e);
	else
		rc = query_rows_samples(run, e);
	if (rc < 0)
		return rc;
	query_note_tiers(run, &note);
	query_note_empty(run, &note);
	snprintf(out->note, sizeof(out->note), "%s", str_or(note.s, ""));
	if (note.s)
		run->foot->note = out->note;
	return query_out_end(out, run->foot);
}

static int query_run_plan(
	struct client *client, const struct query_plan *plan, struct query_out *out, struct err *e)
{
	rw_cleanup(query_lines_done) struct query_lines lines = {0};
	struct query_foot foot = {.from_ns = client->from_ns,
		.to_ns = client->to_ns,
		.step_ns = plan->step_ns,
		.steps = plan->steps,
		.by = query_by_name(plan->by),
		.agg = "",
		.join = ""};
	struct query_run run = {.client = client,
		.plan = plan,
		.out = out,
		.lines = &lines,
		.from_ns = client->from_ns,
		.to_ns = client->to_ns,
		.foot = &foot};
	if (plan->steps)
		foot.agg = query_agg_name(query_agg_of(plan, plan->metrics[0]));
	if (plan->by != BY_NONE)
		foot.join = query_join_name(query_join_of(plan, plan->metrics[0]));
	int rc = query_lines_make(client, plan, run.from_ns, run.to_ns, &lines, e);
	if (rc == 0)
		rc = query_check_names(client, plan, e);
	if (rc == 0)
		rc = query_check_steps(&run, e);
	if (rc == 0)
		rc = query_answer(&run, e);
	return rc;
}

int query_check(const struct query_ask *ask, struct err *e)
{
	struct query_plan plan;
	return query_plan_read(ask, &plan, e);
}

int query_run(
	struct client *client, const struct query_ask *ask, struct query_out *out, struct err *e)
{
	struct query_plan plan;
	int rc = query_plan_read(ask, &plan, e);
	if (rc == 0)
		rc = query_run_plan(client, &plan, out, e);
	if (rc == -E2BIG)
		return err_set(e, -EINVAL,
			"more than %llu rows; give a step (a longer one), a shorter time range, or "
			"fewer devices and ports",
			(unsigned long long)out->rows_max);
	return rc;
}

json_t *query_list_json(void)
{
	json_t *v = json_array();

	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *i = metric_info(m);
		json_array_append_new(v,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "metric", i->name, "unit", i->unit,
				"kind", metric_kind_name(i->kind), "scope",
				metric_scope_name(i->scope), "description", i->help));
	}
	return json_pack("{s:o}", "metrics", v);
}
