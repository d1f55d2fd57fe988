/*
 * query_steps - one row per line and step. A step without samples is a row without a value: history
 * is never drawn straight over a gap. With --top and steps the range is read twice: once
 * to find the lines with the greatest values, once to print them, of which only their series are
 * read.
 */

#include "agent/client/client.h"
#include "agent/answers/query/query_rows.h"
#include "db/series/history.h"

/* ---- query_samples - one row per sample, or per rate between two samples. */

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

struct step_rows {
	struct query_run *run;
	size_t *order; /* of the lines */
	bool ranking; /* nothing is printed yet */
	bool once; /* the range is one step: its values wait in the slots until they are ranked */
	int64_t now_to_ns; /* the step under way ends here */
	bool any; /* a step is under way */
	int64_t seen_to_ns; /* the latest step with a sample of a line, shown or not */
	uint64_t steps;
	uint32_t *ids; /* of the entities that are shown; NULL: not known yet */
	size_t n_ids;
	struct query_slot *ranked; /* the series at hand */
};

/* ---- one line in one step -------------------------------------------------------- */

struct joined {
	enum query_join how;
	double sum, min, max;
	uint64_t whole; /* the sum, as long as all are whole and it fits */
	bool is_whole;
	size_t n, of, present;
};

static double step_number(const struct query_value *value)
{
	if (value->kind == VALUE_U64)
		return (double)value->u64;
	if (value->kind == VALUE_F64)
		return value->f64;
	return NAN;
}

static void joined_add(struct joined *joined, const struct query_value *value)
{
	const double number = step_number(value);
	if (isnan(number))
		return;
	if (value->kind != VALUE_U64 ||
		__builtin_add_overflow(joined->whole, value->u64, &joined->whole))
		joined->is_whole = false;
	joined->sum += number;
	joined->min = fmin(joined->min, number);
	joined->max = fmax(joined->max, number);
	joined->n++;
}

static struct query_value joined_value(const struct joined *joined)
{
	double value = NAN;
	switch (joined->how) {
	case JOIN_SUM:
		if (joined->n && joined->is_whole)
			return (struct query_value){.kind = VALUE_U64, .u64 = joined->whole};
		if (joined->n)
			value = joined->sum;
		break;
	case JOIN_MEAN: value = joined->sum / (double)joined->n; break;
	case JOIN_MIN: value = joined->min; break;
	case JOIN_MAX: value = joined->max; break;
	case JOIN_COUNT: return (struct query_value){.kind = VALUE_U64, .u64 = joined->n};
	case JOIN_USUAL:
	case JOIN_WORDS: break;
	}
	if (!isfinite(value))
		return (struct query_value){.kind = VALUE_NONE};
	return (struct query_value){.kind = VALUE_F64, .f64 = value};
}

/* The value of a line; false: nothing is expected of it in this step. */
static bool step_line(
	const struct query_run *run, const struct query_line *line, struct query_row *row)
{
	struct joined joined = {.how = query_join_of(run->plan, line->metric),
		.min = INFINITY,
		.max = -INFINITY,
		.is_whole = true};
	for (size_t i = line->begin; i < line->end; i++) {
		const struct query_slot *slot = &run->lines->slots[i];
		joined.of += slot->alive || slot->present;
		joined.present += slot->present;
		if (!slot->present)
			continue;
		row->flags |= slot->now.flags;
		if (slot->missed && slot->alive)
			row->marks |= MARK_AFTER_GAP;
		row->value = query_value_of(run->plan, &slot->now, slot->bound_per_s,
			history_names(run->client->history), &row->flags);
		joined_add(&joined, &row->value);
	}
	row->n_series = joined.n;
	row->n_of = joined.of;
	if (joined.of == 0)
		return false;
	if (joined.present == 0)
		row->marks |= MARK_GAP;
	if (run->plan->by == BY_NONE)
		return true;
	row->value = (struct query_value){.kind = VALUE_NONE};
	if (joined.present > 0)
		row->value = joined_value(&joined);
	if (joined.n < joined.of)
		row->marks |= MARK_PARTIAL;
	return true;
}

static void step_rank_add(struct query_line *line, double number)
{
	if (isnan(number))
		return;
	line->rank_sum += number;
	line->rank_n++;
}

static int step_print(struct step_rows *rows, struct query_line *line)
{
	const struct query_run *run = rows->run;
	char unit[QUERY_UNIT_MAX];
	struct query_row row = {.t_ns = rows->now_to_ns,
		.device = line->device,
		.port = line->port,
		.group = line->group,
		.priority = line->priority,
		.metric = line->metric,
		.unit = query_unit(run->plan, line->metric, unit)};
	if (rows->now_to_ns > run->to_ns)
		row.marks |= MARK_OPEN;
	if (!step_line(run, line, &row))
		return 0;
	if (!rows->ranking)
		return query_out_row(run->out, &row);
	const double number = step_number(&row.value);
	step_rank_add(line, number);
	return 0;
}

/* The step under way has ended. */
static int step_flush(struct step_rows *rows)
{
	struct query_lines *lines = rows->run->lines;
	int rc = 0;
	rows->steps++;
	for (size_t i = 0; i < lines->n && rc == 0; i++) {
		struct query_line *line = &lines->v[rows->order[i]];
		if (rows->ranking || line->shown)
			rc = step_print(rows, line);
	}
	for (size_t i = 0; i < lines->n_slots && !rows->once; i++) {
		struct query_slot *slot = &lines->slots[i];
		slot->missed = !slot->present;
		slot->alive = slot->alive || slot->present;
		slot->present = false;
	}
	return rc;
}

/* ---- step after step ------------------------------------------------------------ */

/* Ends steps until the one that ends at @to_ns is under way. */
static int step_advance(struct step_rows *rows, int64_t to_ns)
{
	int rc = 0;
	while (rows->any && rows->now_to_ns < to_ns && rc == 0) {
		rc = step_flush(rows);
		rows->now_to_ns += rows->run->plan->step_ns;
		if (rows->steps > QUERY_STEPS_MAX)
			return -ERANGE;
	}
	rows->any = true;
	rows->now_to_ns = to_ns;
	return rc;
}

/* What the foot says of all lines, and the end of the range needs. */
static void step_note(struct step_rows *rows, const struct rollup *rollup)
{
	struct query_foot *foot = rows->run->foot;
	foot->tier[rollup->tier] = true;
	if (rollup->tier != ROLLUP_RAW && rollup->to_ns > foot->coarse_to_ns)
		foot->coarse_to_ns = rollup->to_ns;
	if (rollup->to_ns > rows->seen_to_ns)
		rows->seen_to_ns = rollup->to_ns;
}

/* Where each line is one series, its rank needs no step of another beside its own. */
static int step_take_rank(void *arg, const struct rollup *rollup)
{
	struct step_rows *rows = arg;
	const struct query_run *run = rows->run;
	struct query_slot *slot = rows->ranked;
	unsigned flags = 0;
	if (!slot || slot->entity->id != rollup->entity || slot->metric != rollup->metric)
		slot = query_lines_slot(run->lines, rollup->entity, rollup->metric);
	rows->ranked = slot;
	if (!slot)
		return 0;
	step_note(rows, rollup);
	const struct query_value value = query_value_of(
		run->plan, rollup, slot->bound_per_s, history_names(run->client->history), &flags);
	step_rank_add(&run->lines->v[slot->line], step_number(&value));
	return 0;
}

static int step_take(void *arg, const struct rollup *rollup)
{
	struct step_rows *rows = arg;
	int rc = 0;
	if (!rows->any || rollup->to_ns != rows->now_to_ns)
		rc = step_advance(rows, rollup->to_ns);
	struct query_slot *slot =
		query_lines_slot(rows->run->lines, rollup->entity, rollup->metric);
	if (rc < 0 || !slot)
		return rc;
	slot->now = *rollup;
	slot->present = true;
	step_note(rows, rollup);
	return 0;
}

static bool step_any_alive(const struct query_lines *lines)
{
	for (size_t i = 0; i < lines->n_slots; i++)
		if (lines->slots[i].alive)
			return true;
	return false;
}

/* To the end of the range: a step that is not over and holds nothing yet is no gap. */
static int step_finish(struct step_rows *rows)
{
	const struct query_run *run = rows->run;
	const int64_t step_ns = run->plan->step_ns;
	int64_t last_ns = run->to_ns;
	int rc = 0;
	if (!rows->any)
		return 0;
	if (step_ns)
		last_ns = (rollup_step_of(run->to_ns, step_ns) + 1) * step_ns;
	if (step_ns)
		rc = step_advance(rows, last_ns);
	const bool over = last_ns <= run->to_ns;
	if (rc == 0 && (over || rows->seen_to_ns >= last_ns))
		rc = step_flush(rows);
	return rc;
}

/* Where something was there before the range, its absence is shown from the start. */
static void step_begin(struct step_rows *rows)
{
	const struct query_run *run = rows->run;
	const int64_t step_ns = run->plan->step_ns;
	rows->steps = 0;
	rows->any = step_any_alive(run->lines);
	rows->now_to_ns = run->to_ns;
	if (step_ns)
		rows->now_to_ns = (rollup_step_of(run->from_ns + 1, step_ns) + 1) * step_ns;
}

static int step_walk(struct step_rows *rows, struct err *e)
{
	const struct query_run *run = rows->run;
	struct history_filter filter = query_plan_filter(run->plan, run->from_ns, run->to_ns);
	filter.no_quantiles = true;
	for (size_t i = 0; i < run->plan->n_metrics; i++) {
		const enum query_agg agg = query_agg_of(run->plan, run->plan->metrics[i]);
		if (agg >= AGG_P50 && agg <= AGG_P99)
			filter.no_quantiles = false;
	}
	const bool alone = rows->ranking && !rows->once && run->plan->by == BY_NONE;
	filter.any_order = alone || rows->once;
	filter.ids = rows->ids;
	filter.n_ids = rows->n_ids;
	step_begin(rows);
	int rc = history_each_rollup(run->client->history, &filter, run->plan->step_ns,
		alone ? step_take_rank : step_take, rows, e);
	if (rc == 0 && !alone)
		rc = step_finish(rows);
	if (rc != -ERANGE)
		return rc;
	return err_set(e, -EINVAL,
		"--step is too short: there would be more than %d steps; use a longer step or a "
		"shorter time range",
		QUERY_STEPS_MAX);
}

/* ---- the lines with the greatest values -------------------------------------------- */

static double step_rank(const struct query_line *line)
{
	if (line->rank_n == 0)
		return -INFINITY;
	return line->rank_sum / (double)line->rank_n;
}

static int step_rank_order(const void *left, const void *right, void *arg)
{
	const struct query_line *lines = arg;
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const double x = step_rank(&lines[a]), y = step_rank(&lines[b]);
	if (x != y)
		return x < y ? 1 : -1;
	return (a > b) - (a < b);
}

static int step_id_order(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

/* The entities of the lines that are shown. */
static void step_choose_ids(struct step_rows *rows)
{
	const struct query_lines *lines = rows->run->lines;
	rows->ids = rw_calloc(lines->n_slots + 1, sizeof(*rows->ids));
	for (size_t i = 0; i < lines->n_slots; i++)
		if (lines->v[lines->slots[i].line].shown)
			rows->ids[rows->n_ids++] = lines->slots[i].entity->id;
	if (rows->n_ids > 1)
		qsort(rows->ids, rows->n_ids, sizeof(*rows->ids), step_id_order);
}

static void step_choose(struct step_rows *rows)
{
	struct query_lines *lines = rows->run->lines;
	qsort_r(rows->order, lines->n, sizeof(*rows->order), step_rank_order, lines->v);
	for (size_t i = 0; i < lines->n; i++) {
		struct query_line *line = &lines->v[rows->order[i]];
		line->shown = i < rows->run->plan->top && line->rank_n > 0;
	}
	for (size_t i = 0; i < lines->n_slots && !rows->once; i++) {
		lines->slots[i].alive = lines->slots[i].missed = false;
		lines->slots[i].present = false;
	}
}

int query_rows_steps(struct query_run *run, struct err *e)
{
	rw_cleanup(freep) size_t *order = rw_calloc(run->lines->n + 1, sizeof(*order));
	struct step_rows rows = {.run = run, .order = order, .ranking = run->plan->top > 0};
	for (size_t i = 0; i < run->lines->n; i++)
		order[i] = i;
	if (!rows.ranking)
		return step_walk(&rows, e);
	rows.once = run->plan->step_ns == 0;
	int rc = step_walk(&rows, e);
	step_choose(&rows);
	rows.ranking = false;
	if (rc < 0)
		return rc;
	if (rows.once)
		return step_flush(&rows);
	step_choose_ids(&rows);
	rc = step_walk(&rows, e);
	free(rows.ids);
	return rc;
}
