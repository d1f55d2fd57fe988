/* query_samples - one row per sample, or per rate between two samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "agent/client/client.h"
#include "agent/answers/query/query_rows.h"
#include "db/series/history.h"

#define GAP_FACTOR 3 /* this many usual intervals without a sample are a gap */

struct sample_state { /* of one series */
	struct rollup_track *track; /* with --rate */
	int64_t before_ns, spacing_ns, moved_ns;
	bool any;
};

struct sample_rows {
	struct query_run *run;
	struct sample_state *states; /* of the slots */
	/* Rows of one instant wait, so that they come in the order of their lines. */
	struct {
		size_t slot;
		struct sample sample;
	} * waiting;
	size_t n, cap;
};

static void sample_rows_done(struct sample_rows *rows)
{
	for (size_t i = 0; i < rows->run->lines->n_slots; i++)
		rollup_track_free(rows->states[i].track);
	free(rows->states);
	free(rows->waiting);
}

static int sample_rows_order(const void *left, const void *right)
{
	const size_t x = *(const size_t *)left, y = *(const size_t *)right;
	return (x > y) - (x < y);
}

/* Were samples missing before this one? */
static bool sample_after_gap(struct sample_state *state, const struct sample *sample)
{
	const int64_t ns = sample->t_ns - state->before_ns;
	const bool any = state->any;
	state->before_ns = sample->t_ns;
	state->any = true;
	if (!any || ns <= 0)
		return false;
	if (state->spacing_ns == 0 || ns < state->spacing_ns)
		state->spacing_ns = ns;
	const bool gap = ns > GAP_FACTOR * state->spacing_ns;
	state->spacing_ns += (ns - state->spacing_ns) / 16;
	return gap;
}

/* The change per second since the sample before. A switch may refresh its counters more slowly than
 * it is asked: what a port can carry is compared with the time since the counter moved. */
static struct query_value sample_rate(const struct query_slot *slot, struct sample_state *state,
	const struct sample *sample, unsigned *flags)
{
	struct query_value ret = {.kind = VALUE_NONE};
	struct rollup rollup;
	rollup_track_add(state->track, sample);
	if (!rollup_track_close(state->track, sample->t_ns - 1, sample->t_ns, &rollup))
		return ret;
	const int64_t moved_ns = state->moved_ns;
	if (rollup.increase > 0 || rollup.resets > 0 || moved_ns == 0)
		state->moved_ns = sample->t_ns;
	if (rollup.intervals == 0 || rollup.covered_ns <= 0)
		return ret;
	int64_t since_ns = rollup.covered_ns;
	if (moved_ns != 0 && sample->t_ns - moved_ns > since_ns)
		since_ns = sample->t_ns - moved_ns;
	const double most = slot->bound_per_s * ((double)since_ns / NS_PER_S);
	if (slot->bound_per_s > 0 && (double)rollup.increase > most) {
		*flags |= SF_SUSPECT;
		return ret;
	}
	ret.kind = VALUE_F64;
	ret.f64 = (double)rollup.increase / ((double)rollup.covered_ns / NS_PER_S);
	return ret;
}

static int sample_row(struct sample_rows *rows, size_t at, const struct sample *sample)
{
	const struct query_run *run = rows->run;
	const struct query_slot *slot = &run->lines->slots[at];
	const struct query_line *line = &run->lines->v[slot->line];
	struct sample_state *state = &rows->states[at];
	char unit[QUERY_UNIT_MAX];
	struct query_row row = {.t_ns = sample->t_ns,
		.device = line->device,
		.port = line->port,
		.group = line->group,
		.priority = line->priority,
		.metric = line->metric,
		.unit = query_unit(run->plan, line->metric, unit),
		.flags = sample->flags};
	if (sample_after_gap(state, sample) && metric_info(line->metric)->kind != METRIC_STATE)
		row.marks = MARK_AFTER_GAP;
	if (run->plan->rate)
		row.value = sample_rate(slot, state, sample, &row.flags);
	else
		row.value = query_stored(
			sample->metric, sample->value, history_names(run->client->history));
	run->foot->tier[ROLLUP_RAW] = true;
	return query_out_row(run->out, &row);
}

static int sample_rows_flush(struct sample_rows *rows)
{
	int rc = 0;
	if (rows->n > 1)
		qsort(rows->waiting, rows->n, sizeof(*rows->waiting), sample_rows_order);
	for (size_t i = 0; i < rows->n && rc == 0; i++)
		rc = sample_row(rows, rows->waiting[i].slot, &rows->waiting[i].sample);
	rows->n = 0;
	return rc;
}

static int sample_rows_take(void *arg, const struct sample *sample)
{
	struct sample_rows *rows = arg;
	struct query_lines *lines = rows->run->lines;
	int rc = 0;
	if (rows->n > 0 && rows->waiting[0].sample.t_ns != sample->t_ns)
		rc = sample_rows_flush(rows);
	const struct query_slot *slot = query_lines_slot(lines, sample->entity, sample->metric);
	if (!slot)
		return rc;
	rw_grow(rows->waiting, rows->n, rows->cap);
	rows->waiting[rows->n].slot = (size_t)(slot - lines->slots);
	rows->waiting[rows->n].sample = *sample;
	rows->n++;
	return rc;
}

/* The sample before the range: the first rate is counted from it. */
static int sample_rows_anchor(void *arg, const struct sample *sample)
{
	struct sample_rows *rows = arg;
	const struct query_slot *slot =
		query_lines_slot(rows->run->lines, sample->entity, sample->metric);
	if (!slot)
		return 0;
	struct sample_state *state = &rows->states[slot - rows->run->lines->slots];
	rollup_track_anchor(state->track, sample);
	state->moved_ns = sample->t_ns;
	return 0;
}

int query_rows_samples(struct query_run *run, struct err *e)
{
	rw_cleanup(sample_rows_done) struct sample_rows rows = {
		.run = run, .states = rw_calloc(run->lines->n_slots + 1, sizeof(*rows.states))};
	struct history *history = run->client->history;
	const struct history_filter filter = query_plan_filter(run->plan, run->from_ns, run->to_ns);
	int rc = 0;
	for (size_t i = 0; run->plan->rate && i < run->lines->n_slots; i++) {
		const struct query_slot *slot = &run->lines->slots[i];
		rows.states[i].track = rollup_track_new(slot->entity->id, slot->metric);
	}
	if (run->plan->rate)
		rc = history_each_before(
			history, &filter, run->from_ns - 1, sample_rows_anchor, &rows, e);
	if (rc == 0)
		rc = history_each_sample(history, &filter, sample_rows_take, &rows, e);
	if (rc == 0)
		rc = sample_rows_flush(&rows);
	return rc;
}
