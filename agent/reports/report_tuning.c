/* report_tuning - the weekly review of thresholds: what was proposed, decided, applied and proven,
 * what waits, what stands in the way, and which evidence is missing. */
#include "agent/reports/report_tuning.h"

#include "agent/answers/common/range_read.h"
#include "agent/client/client.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/common/report_page.h"
#include "agent/document/page.h"
#include "agent/document/writer.h"
#include "agent/reports/report_parts.h"
#include "agent/reports/report_shift.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/*
 * limits_range - how near ports and buffer pools came to their limits over a time range: the
 * highest fill of headroom against its size, and of a pool against its size. For the review of
 * thresholds.
 */

struct arena;

struct client;

struct err;

struct limits_range {
	struct limits_row *rows; /* used by 80 % or more, fullest first; the first 30 */
	size_t n_rows;
	struct limits_known known;
};

#define NEAR_RATIO 0.8
#define FULL_RATIO 0.99 /* a cell of the buffer is no difference */
enum { NEAR_SHOWN = 30 };

static const struct limits_kind {
	uint16_t peak, limit;
	const char *what, *title;
} limits_kinds[] = {
	{M_PG_HEADROOM_WATERMARK, M_CFG_PG_HEADROOM, "headroom", "headroom"},
	{M_POOL_WATERMARK, M_CFG_POOL, "pool", "buffer pool"},
};

struct limits_near {
	const struct limits_kind *kind;
	const struct entity *entity;
	double peak, limit; /* in the step in which it was used most */
};

/* One headroom or pool on its way through the steps. A size counts from the step in which it was
 * told; in a step in which it changes, the larger one does. */
struct limits_slot {
	uint32_t entity;
	size_t step;
	double size; /* in force; NAN: not known yet */
	double step_size, step_peak;
	double peak, limit; /* of the fullest step */
};

struct limits_walk {
	const struct limits_kind *kind;
	struct map *index; /* entity -> position */
	struct limits_slot *v;
	size_t n, cap;
};

static struct limits_slot *limits_slot_of(struct limits_walk *walk, uint32_t entity)
{
	uint64_t at;
	if (map_get(walk->index, entity, &at))
		return &walk->v[at];
	map_put(walk->index, entity, walk->n);
	rw_grow(walk->v, walk->n, walk->cap);
	walk->v[walk->n] = (struct limits_slot){.entity = entity,
		.step = SIZE_MAX,
		.size = NAN,
		.step_size = NAN,
		.step_peak = NAN,
		.peak = NAN,
		.limit = NAN};
	return &walk->v[walk->n++];
}

static int limits_take_size(void *arg, const struct sample *sample)
{
	struct limits_slot *slot = limits_slot_of(arg, sample->entity);
	slot->size = sample_number(sample->metric, sample->value);
	return 0;
}

static void limits_close(struct limits_slot *slot)
{
	const double limit = fmax(slot->size, slot->step_size); /* fmax leaves NAN out */
	const bool known = limit > 0 && !isnan(slot->step_peak);
	if (known && (isnan(slot->peak) || slot->step_peak / limit > slot->peak / slot->limit)) {
		slot->peak = slot->step_peak;
		slot->limit = limit;
	}
	if (!isnan(slot->step_size))
		slot->size = slot->step_size;
	slot->step_size = slot->step_peak = NAN;
}

static void limits_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct limits_walk *walk = arg;
	struct limits_slot *slot = limits_slot_of(walk, rollup->entity);
	if (slot->step != step)
		limits_close(slot);
	slot->step = step;
	if (rollup->numbers == 0)
		return;
	if (rollup->metric == walk->kind->peak)
		slot->step_peak = rollup->max;
	else
		slot->step_size = range_number(rollup, rollup->last);
}

static int limits_order(const void *left, const void *right)
{
	const struct limits_near *a = left, *b = right;
	const double x = a->peak / a->limit, y = b->peak / b->limit;
	if (x != y)
		return x < y ? 1 : -1;
	return (a->entity->id > b->entity->id) - (a->entity->id < b->entity->id);
}

static struct limits_row limits_row_of(const struct limits_near *near)
{
	const struct entity *entity = near->entity;
	return (struct limits_row){.device = entity->device,
		.port = entity->port,
		.priority = entity->priority,
		.what = near->kind->what,
		.peak_bytes = near->peak,
		.limit_bytes = near->limit,
		.used_ratio = near->peak / near->limit};
}

/* One problem for each device and kind: what was full. */
static void limits_problems(json_t *doc, const struct limits_near *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *device = v[i].entity->device;
		rw_cleanup(str_done) struct str cause = {0};
		size_t n_full = 0;
		for (size_t k = 0; k < n; k++)
			n_full += v[k].kind == v[i].kind &&
				(v[k].peak >= FULL_RATIO * v[k].limit) &&
				str_eq(v[k].entity->device, device);
		if (n_full == 0)
			continue;
		str_addf(&cause, "full_%s", v[i].kind->what);
		report_problem(doc, REPORT_WARNING, cause.s, device,
			"%s: %zu %s%s full: the true need is not known", device, n_full,
			v[i].kind->title, n_full == 1 ? " was" : "s were");
	}
}

static int limits_read_kind(struct client *client, const struct range_plan *plan,
	const struct limits_kind *kind, struct limits_near **v, size_t *n, size_t *cap,
	size_t *ret_known, struct err *e)
{
	const struct entities *entities = history_entities(client->history);
	const uint16_t metrics[] = {kind->peak, kind->limit};
	const struct history_filter filter = {
		.priority = HISTORY_ANY_PRIORITY, .metrics = &kind->limit, .n_metrics = 1};
	struct limits_walk walk = {.kind = kind, .index = map_new()};
	struct range_read read = {0};
	int rc = 0;
	if (plan->n_steps > 0)
		rc = history_each_before(
			client->history, &filter, plan->from_ns, limits_take_size, &walk, e);
	if (rc == 0)
		rc = range_read(
			client, plan, metrics, rw_countof(metrics), &read, limits_step, &walk, e);
	for (size_t i = 0; rc == 0 && i < walk.n; i++) {
		struct limits_slot *slot = &walk.v[i];
		const struct entity *entity = entity_get(entities, slot->entity);
		limits_close(slot);
		if (!entity || isnan(slot->peak))
			continue;
		(*ret_known)++;
		if (slot->peak < NEAR_RATIO * slot->limit)
			continue;
		rw_grow(*v, *n, *cap);
		(*v)[(*n)++] = (struct limits_near){kind, entity, slot->peak, slot->limit};
	}
	range_read_done(&read);
	map_free(walk.index);
	free(walk.v);
	return rc;
}

/* limits_range_read - in @a. To @doc, a report: missing data, a problem where something was full,
 * and how many were near. 0 or a negative errno with @e. */
static int limits_range_read(struct client *client, json_t *doc, struct arena *a,
	struct limits_range *ret, struct err *e)
{
	struct range_plan plan;
	struct limits_near *v = NULL;
	size_t n = 0, cap = 0;
	*ret = (struct limits_range){.rows = arena_array(a, struct limits_row, NEAR_SHOWN)};
	size_t *known[] = {&ret->known.headroom, &ret->known.pools};
	int rc = range_plan_make(client, &plan, e);
	for (size_t i = 0; rc == 0 && i < rw_countof(limits_kinds); i++)
		rc = limits_read_kind(client, &plan, &limits_kinds[i], &v, &n, &cap, known[i], e);
	if (n > 1)
		qsort(v, n, sizeof(*v), limits_order);
	for (size_t i = 0; rc == 0 && i < n && i < NEAR_SHOWN; i++)
		ret->rows[ret->n_rows++] = limits_row_of(&v[i]);
	limits_problems(doc, v, n);
	free(v);
	if (rc == 0 && ret->known.headroom == 0)
		report_missing(doc, "headroom: fill and size are delivered by no port");
	if (rc == 0 && ret->known.pools == 0)
		report_missing(doc, "buffer pools: fill and size are delivered by no switch");
	report_figure(doc, "near_limit", "headrooms and pools used by 80 % or more",
		ret->known.headroom + ret->known.pools > 0 ? (double)n : NAN, "-");
	return rc;
}

/* ---- report_tuning ------------------------------------------------------- */

/* sheet_rows - threshold changes, as of the end of a time range. */

static bool sheet_was(wall_t time, int64_t at_ns)
{
	return time.ns != TIME_UNKNOWN.ns && time.ns <= at_ns;
}

/* Its state at @at_ns, by the times at which it changed. */
static const char *sheet_state(const struct sheet_row *sheet, int64_t at_ns)
{
	if (sheet_was(sheet->verified, at_ns))
		return "verified";
	if (sheet_was(sheet->applied, at_ns))
		return "applied";
	if (sheet_was(sheet->accepted, at_ns))
		return "accepted";
	if (sheet_was(sheet->rejected, at_ns))
		return "rejected";
	if (sheet_was(sheet->expires, at_ns))
		return "expired";
	return "proposed";
}

/* What somebody has to do next; NULL: nothing. */
static const char *sheet_waits_for(const char *state, const char *advice)
{
	if (str_eq(state, "proposed") && str_eq(advice, "change"))
		return "waits for approval";
	if (str_eq(state, "proposed") && str_eq(advice, "fix_first"))
		return "something else is to be repaired first";
	if (str_eq(state, "accepted"))
		return "accepted, waits to be applied";
	if (str_eq(state, "applied"))
		return "applied, waits for verification";
	return NULL;
}

static const char *sheet_subject(const struct sheet_row *sheet, struct arena *a)
{
	const char *priority = "";
	if (sheet->priority >= 0)
		priority = arena_printf(a, " p%d", sheet->priority);
	return arena_printf(a, "%s%s%s%s", str_or(sheet->device, ""),
		str_if(sheet->port_group, " "), str_or(sheet->port_group, ""), priority);
}

static bool sheet_is_in_range(const struct client *client, const struct sheet_row *sheet)
{
	const wall_t times[] = {sheet->made, sheet->accepted, sheet->rejected, sheet->applied,
		sheet->verified, sheet->expires};
	for (size_t i = 0; i < rw_countof(times); i++)
		if (sheet_was(times[i], client->to_ns) && times[i].ns > client->from_ns)
			return true;
	return false;
}

static void sheet_complete(const struct client *client, struct arena *a, struct sheet_row *sheet)
{
	const struct sheet_due *due = sheet->rollback_due;
	sheet->subject = sheet_subject(sheet, a);
	if (client->to_ns < client->end_ns)
		sheet->state = sheet_state(sheet, client->to_ns);
	if (due && sheet_was(due->time, client->to_ns))
		sheet->rollback_why = str_or(due->why, "");
	if (sheet->change && !*sheet->change)
		sheet->change = NULL;
	sheet->waits_for = sheet_waits_for(sheet->state, sheet->advice);
	sheet->in_range = sheet_is_in_range(client, sheet);
}

/* All sheets of a document, with what follows from the range of @client. */
static void sheet_list_read(
	const struct client *client, const json_t *doc, struct arena *a, struct sheet_list *ret)
{
	shape_read(&sheet_list_shape, doc, a, ret);
	for (size_t i = 0; i < ret->n_sheets; i++)
		sheet_complete(client, a, &ret->sheets[i]);
}

int sheet_rows(struct client *client, struct arena *a, struct sheet_list *ret, struct err *e)
{
	json_t *list = NULL;
	size_t n = 0;
	*ret = (struct sheet_list){0};
	const int rc = report_served(client, "tune/list", &list, e);
	if (rc < 0)
		return rc;
	sheet_list_read(client, list, a, ret);
	for (size_t i = 0; i < ret->n_sheets; i++)
		if (sheet_was(ret->sheets[i].made, client->to_ns))
			ret->sheets[n++] = ret->sheets[i];
	ret->n_sheets = n;
	json_decref(list);
	return 0;
}

/* ---- report_tuning ------------------------------------------------------- */

/* What a review of single values reads at most: a day. */
#define REVIEW_SPAN_NS (24 * 3600 * NS_PER_S)

/* ---- the ledger ---------------------------------------------------------------------------- */

static void tuning_problem(json_t *doc, const struct sheet_row *sheet)
{
	if (*str_or(sheet->rollback_why, ""))
		report_problem(doc, REPORT_CRITICAL, "roll_back", sheet->subject,
			"%s: take change %s back: %s", sheet->subject, sheet->id,
			sheet->rollback_why);
	else if (str_eq(sheet->verdict, "roll_back"))
		report_problem(doc, REPORT_CRITICAL, "roll_back", sheet->subject,
			"%s: verification of change %s says roll back", sheet->subject, sheet->id);
	else if (sheet->waits_for)
		report_problem(doc, REPORT_WARNING, "sheet_waits", sheet->subject,
			"%s: %s (sheet %s)", sheet->subject, sheet->waits_for, sheet->id);
}

static void tuning_count(struct tuning_counts *counts, const char *state)
{
	const struct {
		const char *state;
		size_t *n;
	} states[] = {
		{"proposed", &counts->proposed},
		{"accepted", &counts->accepted},
		{"applied", &counts->applied},
		{"verified", &counts->verified},
		{"rejected", &counts->rejected},
		{"expired", &counts->expired},
		{"undone", &counts->undone},
	};
	for (size_t i = 0; i < rw_countof(states); i++)
		*states[i].n += str_eq(state, states[i].state);
}

static int tuning_put_sheets(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct sheet_list list;
	size_t waiting = 0;
	const int rc = sheet_rows(client, a, &list, e);
	if (rc < 0)
		return rc;
	answer->sheets = list.sheets;
	for (size_t i = 0; i < list.n_sheets; i++) {
		const struct sheet_row *sheet = &list.sheets[i];
		if (!sheet->in_range && !sheet->waits_for)
			continue;
		answer->sheets[answer->n_sheets++] = *sheet;
		tuning_problem(doc, sheet);
		tuning_count(&answer->counts, sheet->state);
		waiting += str_eq(sheet->waits_for, "waits for approval");
	}
	report_figure(doc, "sheets", "threshold changes with news, or that wait",
		(double)answer->n_sheets, "-");
	report_figure(doc, "sheets_waiting", "that wait for approval", (double)waiting, "-");
	return 0;
}

/* ---- what the end of the range says ---------------------------------------------------------- */

static bool tuning_is_known(const struct tuning_answer *answer, const char *id)
{
	for (size_t i = 0; i < answer->n_sheets; i++)
		if (str_eq(answer->sheets[i].id, id))
			return true;
	return false;
}

static bool tuning_asks_for(const struct tuning_answer *answer, const char *text)
{
	for (size_t i = 0; i < answer->n_evidence; i++)
		if (str_eq(answer->evidence[i].text, text))
			return true;
	return false;
}

static void tuning_collect(struct tuning_answer *answer, const struct sheet_row *sheet)
{
	for (size_t i = 0; i < sheet->n_collect; i++)
		if (!tuning_asks_for(answer, sheet->collect[i]))
			answer->evidence[answer->n_evidence++] =
				(struct tuning_lack){sheet->subject, sheet->collect[i]};
}

static void tuning_add_fix(struct tuning_answer *answer, const struct sheet_row *sheet)
{
	if (str_eq(sheet->advice, "fix_first") || str_eq(sheet->advice, "blocked"))
		answer->fix_first[answer->n_fix_first++] = (struct tuning_fix){sheet->subject,
			sheet->advice, sheet->diagnosis, sheet->blocked_by, sheet->summary};
}

/* What a review would propose and nobody has recorded waits as well. */
static void tuning_review_problem(json_t *doc, const struct sheet_row *row)
{
	if (!row->recorded && str_eq(row->advice, "change"))
		report_problem(doc, REPORT_WARNING, "sheet_waits", row->subject,
			"%s: a review proposes %s; 'rocewatch tune review' records it",
			row->subject, str_or(row->change, ""));
}

static void tuning_take_review(const struct client *client, const json_t *review, json_t *doc,
	struct arena *a, struct tuning_answer *answer)
{
	struct sheet_list list;
	size_t n_collect = 0;
	sheet_list_read(client, review, a, &list);
	if (list.reason)
		report_missing(doc, "review of the last day: %s", list.reason);
	for (size_t i = 0; i < list.n_sheets; i++)
		n_collect += list.sheets[i].n_collect;
	answer->review = list.sheets;
	answer->n_review = list.n_sheets;
	answer->evidence = arena_array(a, struct tuning_lack, n_collect + 1);
	answer->fix_first = arena_array(a, struct tuning_fix, list.n_sheets + 1);
	for (size_t i = 0; i < list.n_sheets; i++) {
		struct sheet_row *row = &list.sheets[i];
		row->is_reviewed = true;
		row->recorded = tuning_is_known(answer, row->id);
		tuning_review_problem(doc, row);
		tuning_collect(answer, row);
		tuning_add_fix(answer, row);
	}
	report_figure(doc, "fix_first", "to be repaired before thresholds are tuned",
		(double)answer->n_fix_first, "-");
}

/* The same review as 'tune review' over the last day of the range: what it would propose now,
 * what is to be repaired first, and which evidence it misses. */
static int tuning_put_review(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct client day = *client;
	json_t *review = NULL;
	if (day.to_ns - day.from_ns > REVIEW_SPAN_NS)
		day.from_ns = day.to_ns - REVIEW_SPAN_NS;
	const int rc = report_served(&day, "tune/review", &review, e);
	if (rc == -ENODATA) {
		report_missing(doc, "review of the last day: %s", e->text);
		return 0;
	}
	if (rc == 0)
		tuning_take_review(client, review, doc, a, answer);
	json_decref(review);
	return rc;
}

/* ---- the page ---------------------------------------------------------------------------- */

#define SHAPE struct sheet_row
static const struct shown sheets_shown[] = {COLUMN(state, "state"), COLUMN(subject, "where"),
	COLUMN(diagnosis, "diagnosis"), COLUMN(change, "change"), COLUMN(verdict, "proof"),
	COLUMN(expires, "expires"), COLUMN(waits_for, "waits for"), COLUMN(id, "sheet")};
static const struct shown review_shown[] = {COLUMN(advice, "advice"), COLUMN(subject, "where"),
	COLUMN(diagnosis, "diagnosis"), COLUMN(change, "change"), COLUMN(summary, "why"),
	COLUMN(id, "sheet")};
static const struct shown tuning_shown[] = {COLUMN(id, "id"), COLUMN(state, "state"),
	COLUMN(subject, "where"), COLUMN(diagnosis, "diagnosis"), COLUMN(advice, "advice"),
	COLUMN(change, "change"), COLUMN(verdict, "verdict"), COLUMN(made, "made"),
	COLUMN(expires, "expires"), COLUMN(waits_for, "waits for")};
#undef SHAPE
#define SHAPE struct tuning_fix
static const struct shown fix_shown[] = {COLUMN(subject, "where"), COLUMN(diagnosis, "what"),
	COLUMN(blocked_by, "stands in the way"), COLUMN(summary, "why")};
#undef SHAPE

static const struct shape_table sheets_table = {
	&sheet_row_shape, sheets_shown, rw_countof(sheets_shown)};
static const struct shape_table review_table = {
	&sheet_row_shape, review_shown, rw_countof(review_shown)};
static const struct shape_table tuning_table = {
	&sheet_row_shape, tuning_shown, rw_countof(tuning_shown)};
static const struct shape_table fix_table = {&tuning_fix_shape, fix_shown, rw_countof(fix_shown)};

static void tuning_decision(struct page *page, const struct sheet_row *sheet, wall_t time,
	const char *who, const char *what, const char *why)
{
	rw_cleanup(str_done) struct str text = {0};
	char at[WALL_TEXT_MAX];
	if (time.ns == TIME_UNKNOWN.ns)
		return;
	wall_text(at, time, 0);
	str_addf(&text, "%.10s %.5sZ %s %s %s (sheet %s)", at, at + 11,
		*str_or(who, "") ? who : "rocewatch", what, sheet->subject, sheet->id);
	if (*str_or(why, ""))
		str_addf(&text, ": %s", why);
	page_item(page, text.s);
}

static void tuning_people(struct page *page, const struct tuning_answer *answer)
{
	for (size_t i = 0; i < answer->n_sheets; i++) {
		const struct sheet_row *s = &answer->sheets[i];
		tuning_decision(page, s, s->accepted, s->accepted_by, "accepted", NULL);
		tuning_decision(page, s, s->rejected, s->rejected_by, "rejected", s->rejected_why);
		tuning_decision(page, s, s->applied, s->applied_by, "applied", NULL);
	}
}

static void tuning_part(struct page *page, const char *heading, const char *empty,
	const struct shape_table *table, const void *rows, size_t n)
{
	page_heading(page, "%s", heading);
	if (n == 0)
		page_text(page, empty);
	page_rows(page, NULL, table, rows, n);
}

static struct page *tuning_page(const json_t *doc, const void *of)
{
	static const struct shape_table near_table = {.shape = &limits_row_shape};
	const struct tuning_answer *answer = of;
	struct page *page = report_page("Threshold tuning", doc);
	tuning_part(page, "Threshold changes with news, or that wait", "None.", &sheets_table,
		answer->sheets, answer->n_sheets);
	tuning_people(page, answer);
	tuning_part(page, "What a review of the last day says", "It proposes nothing.",
		&review_table, answer->review, answer->n_review);
	tuning_part(page, "To be repaired first", "Nothing stands in the way.", &fix_table,
		answer->fix_first, answer->n_fix_first);
	page_heading(page, "Near their limit");
	page_textf(page,
		"Headrooms and buffer pools that were used by 80 %% or more; fill and size are "
		"known "
		"of %zu headrooms and %zu pools.",
		answer->near_known.headroom, answer->near_known.pools);
	page_rows(page, NULL, &near_table, answer->near_limit, answer->n_near_limit);
	page_heading(page, "Missing evidence");
	if (answer->n_evidence == 0)
		page_text(page, "No sheet asks for more.");
	for (size_t i = 0; i < answer->n_evidence; i++) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s: %s", answer->evidence[i].subject, answer->evidence[i].text);
		page_item(page, text.s);
	}
	return page;
}

/* ---- the report -------------------------------------------------------------------------- */

static int tuning_fill(struct client *client, json_t *doc, struct arena *a,
	struct tuning_answer *answer, struct err *e)
{
	struct limits_range limits = {0};
	int rc = tuning_put_sheets(client, doc, a, answer, e);
	if (rc == 0)
		rc = tuning_put_review(client, doc, a, answer, e);
	if (rc == 0)
		rc = limits_range_read(client, doc, a, &limits, e);
	answer->near_limit = limits.rows;
	answer->n_near_limit = limits.n_rows;
	answer->near_known = limits.known;
	if (rc == 0)
		shape_put(doc, &tuning_answer_shape, answer);
	if (rc == 0)
		rc = report_put_stale(client, doc, e);
	return rc;
}

static int tuning_collect_report(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (ask->device || ask->group)
		return err_set(e, -EINVAL,
			"report tuning is about the whole fabric; 'tune review' takes --device");
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct tuning_answer *answer = arena_new_of(a, struct tuning_answer);
	json_t *doc = report_frame("tuning", client);
	const int rc = tuning_fill(client, doc, a, answer, e);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const bool known = client->has_data || answer->n_sheets > 0;
	report_verdict(client->config, doc, known ? REPORT_OK : REPORT_UNKNOWN,
		known ? "no threshold change waits for anybody" : "the database holds nothing");
	*ret = (struct report_result){
		.doc = doc, .answer = answer, .arena = rw_take(a), .window_ns = 60 * NS_PER_S};
	return 0;
}

static const void *tuning_rows(const void *answer, size_t *ret_n)
{
	const struct tuning_answer *tuning = answer;
	*ret_n = tuning->n_sheets;
	return tuning->sheets;
}

static const struct view tuning_view = {
	.title = "threshold changes",
	.table = &tuning_table,
	.table_rows = tuning_rows,
	.empty = "no threshold change was proposed, decided or verified in this time",
	.answer_page = tuning_page,
};

const struct report report_tuning = {
	.name = "tuning",
	.summary = "the weekly review of thresholds",
	.help = "Threshold changes that were proposed, accepted, applied, verified, rejected or "
		"expired in the range, what waits for approval, headrooms and pools near their "
		"limit, and, from a review of the last day, what is to be repaired first and which "
		"evidence is missing. The range is the last 7 days.\n"
		"With --check a change that is to be taken back is critical, one that waits is a "
		"warning.",
	.examples = {{"report tuning", "prints the threshold changes of the last 7 days"},
		{"report tuning --check", "prints a line for monitoring: what waits is a warning"}},
	.span_ns = 7 * 24 * 3600 * NS_PER_S,
	.collect = tuning_collect_report,
	.view = &tuning_view,
};
