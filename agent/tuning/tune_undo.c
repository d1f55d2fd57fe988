/* tune_undo - see the header. */
#include "agent/tuning/tune_undo.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/tuning/tune_verified.h"
#include "analyzers/tune/tune_gate.h"
#include "analyzers/tune/tune_sheet.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/history.h"

enum { UNDO_KNOBS = TUNE_KNOBS };

/* ---- the newest change that was read back -------------------------------- */

struct moved { /* one threshold of one switch and priority */
	bool known;
	double from, to;
	int64_t t_ns;
};
struct moved_place {
	const char *device;
	int priority;
	struct moved knobs[UNDO_KNOBS];
	int64_t t_ns; /* of the newest; 0 nothing moved */
	const char **ports;
	size_t n_ports, cap;
};
struct moved_places {
	struct moved_place *v;
	size_t n, cap;
	struct arena *a;
};

static struct moved_place *moved_place_of(
	struct moved_places *places, const char *device, int priority)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->v[i].priority == priority && str_eq(places->v[i].device, device))
			return &places->v[i];
	arena_grow(places->a, places->v, places->n, places->cap);
	struct moved_place *place = &places->v[places->n++];
	*place = (struct moved_place){
		.device = arena_strdup(places->a, device), .priority = priority};
	return place;
}

static int knob_of_metric(uint16_t metric)
{
	for (int k = 0; k < TUNE_KNOBS; k++)
		if (tune_knob_metric((enum tune_knob)k) == metric)
			return k;
	return -1;
}

/* The newest move of one setting: what it was before, and is since. */
static struct moved newest_move(const struct series *series, enum tune_knob knob)
{
	struct moved moved = {0};
	double last = NAN;
	for (uint32_t i = 0; i < series->n; i++) {
		if (series->flags[i] & (SF_DECLARED | SF_LATE | SF_SUSPECT))
			continue;
		const double value = tune_value(knob, series->value[i]);
		if (!isnan(last) && value != last)
			moved = (struct moved){true, last, value, series->t_ns[i]};
		last = value;
	}
	return moved;
}

static void add_move(struct moved_places *places, const struct entity *entity, int knob,
	const struct moved *moved)
{
	struct moved_place *place = moved_place_of(places, entity->device, entity->priority);
	bool known = false;
	if (moved->t_ns >= place->knobs[knob].t_ns)
		place->knobs[knob] = *moved;
	if (moved->t_ns > place->t_ns)
		place->t_ns = moved->t_ns;
	for (size_t i = 0; i < place->n_ports; i++)
		known = known || str_eq(place->ports[i], entity->port);
	if (known || !entity->port)
		return;
	arena_grow(places->a, place->ports, place->n_ports, place->cap);
	place->ports[place->n_ports++] = arena_strdup(places->a, entity->port);
}

static int find_moves(
	struct client *client, const struct tune_history *history, struct moved_places *places)
{
	const uint16_t *metrics;
	const size_t n_metrics = tune_metrics(&metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n_metrics};
	struct err ignored = {0};
	struct window window;
	const int rc = history_window(client->history, places->a, &spec, history->from_ns - 1,
		history->to_ns, &window, &ignored);
	for (size_t i = 0; rc == 0 && i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const int knob = knob_of_metric(series->metric);
		const struct entity *entity = entity_get(window.entities, series->entity);
		if (knob < 0 || !entity || !entity->device)
			continue;
		const struct moved moved = newest_move(series, (enum tune_knob)knob);
		if (moved.known)
			add_move(places, entity, knob, &moved);
	}
	return rc;
}

/* Thresholds of one change are set within minutes of each other. */
#define TOGETHER_NS (10 * 60 * NS_PER_S)

static bool of_change(const struct moved_place *place, int knob)
{
	const struct moved *moved = &place->knobs[knob];
	return moved->known && place->t_ns - moved->t_ns <= TOGETHER_NS;
}

static bool same_moves(const struct moved_place *left, const struct moved_place *right)
{
	for (int k = 0; k < TUNE_KNOBS; k++) {
		if (of_change(left, k) != of_change(right, k))
			return false;
		if (of_change(left, k) &&
			(left->knobs[k].from != right->knobs[k].from ||
				left->knobs[k].to != right->knobs[k].to))
			return false;
	}
	return left->priority == right->priority;
}

/* The change as the record of a sheet that was applied. NULL: nothing moved. */
static struct tune_record *record_of_moves(
	const struct moved_places *places, const struct tune_history *history, struct arena *a)
{
	const struct moved_place *newest = NULL;
	for (size_t i = 0; i < places->n; i++)
		if (!newest || places->v[i].t_ns > newest->t_ns)
			newest = &places->v[i];
	if (!newest)
		return NULL;
	struct tune_record *record = arena_new_of(a, struct tune_record);
	struct tune_sheet *sheet = &record->sheet;
	*record = (struct tune_record){.state = TUNE_APPLIED, .applied_ns = newest->t_ns};
	sheet->device = newest->device;
	sheet->priority = newest->priority;
	sheet->ports = newest->ports;
	sheet->n_ports = newest->n_ports;
	sheet->port_group = "all";
	sheet->diagnosis = cause_name(CAUSE_TUNING_REGRESSION);
	sheet->from_ns = history->from_ns;
	sheet->to_ns = newest->t_ns;
	sheet->buffer_cost_bytes = NAN;
	sheet->disruption = DISRUPTION_UNKNOWN;
	sheet->job_boundary = true;
	sheet->changes = arena_array(a, struct tune_change, TUNE_KNOBS);
	for (int k = 0; k < TUNE_KNOBS; k++)
		if (of_change(newest, k))
			sheet->changes[sheet->n_changes++] =
				(struct tune_change){.knob = (enum tune_knob)k,
					.current = newest->knobs[k].from,
					.proposed = newest->knobs[k].to,
					.programmed = NAN};
	sheet->rest = arena_array(a, const char *, places->n + 1);
	for (size_t i = 0; i < places->n; i++)
		if (&places->v[i] != newest && same_moves(&places->v[i], newest))
			sheet->rest[sheet->n_rest++] = places->v[i].device;
	return record;
}

/* ---- was it worse? ------------------------------------------------------- */

/* Why it has to be taken back; NULL: it need not. */
static const char *why_worse(
	struct client *client, const struct tune_record *record, struct arena *a)
{
	struct tune_verify_ask ask = {.match = VERIFY_JOB};
	struct tune_verified verified;
	struct err ignored = {0};
	if (record->roll_back_ns)
		return str_or(record->roll_back_why, "it did harm");
	if (record->state == TUNE_VERIFIED) {
		if (record->verified && record->verified->result.verdict == VERIFY_ROLL_BACK)
			return str_or(record->verified->result.why, "it did harm");
		return NULL;
	}
	if (tune_verify_record(client, record, &ask, a, &verified, &ignored) != 0 ||
		verified.result.verdict != VERIFY_ROLL_BACK)
		return NULL;
	return str_or(verified.result.why, "it did harm");
}

static bool is_in_force(const struct tune_record *record)
{
	return record->applied_ns &&
		(record->state == TUNE_APPLIED || record->state == TUNE_VERIFIED);
}

/* The last change of the ledger that is in force; NULL. */
static const struct tune_record *last_applied(const struct tune_ledger *ledger)
{
	const struct tune_record *const *records, *last = NULL;
	const size_t n = tune_ledger_records(ledger, &records);
	for (size_t i = 0; i < n; i++)
		if (is_in_force(records[i]) && (!last || records[i]->applied_ns > last->applied_ns))
			last = records[i];
	return last;
}

/* ---- the sheet ----------------------------------------------------------- */

static void swap_changes(struct arena *a, const struct tune_sheet *sheet, struct tune_sheet *ret)
{
	ret->changes = arena_array(a, struct tune_change, sheet->n_changes);
	for (size_t i = 0; i < sheet->n_changes; i++) {
		/* what comes last when it is applied is taken back first */
		struct tune_change *change = &ret->changes[i];
		*change = sheet->changes[sheet->n_changes - 1 - i];
		const double was = change->current;
		change->current = change->proposed;
		change->proposed = was;
		change->programmed = NAN;
		change->why = "the value that was in force before";
		change->source = "docs/tuning.md, safety rule 10";
	}
}

static const char *undo_summary(struct arena *a, const struct tune_record *record, const char *why)
{
	const char *values = "";
	for (size_t i = 0; i < record->sheet.n_changes; i++) {
		const struct tune_change *change = &record->sheet.changes[i];
		values = arena_printf(a, "%s%s%s %.10g -> %.10g", values, str_if(i, ", "),
			tune_knob_name(change->knob), change->current, change->proposed);
	}
	return arena_printf(a, "the last change of %s (%s) made it worse: %s. Take it back first",
		record->sheet.device, values, why);
}

static struct tune_sheet undo_sheet(const struct client *client, const struct tune_history *history,
	const struct tune_record *record, const char *why, struct arena *a)
{
	const struct tune_sheet *sheet = &record->sheet;
	struct tune_sheet undo = {.device = sheet->device,
		.rest = sheet->rest,
		.n_rest = sheet->n_rest,
		.port_group = sheet->port_group,
		.ports = sheet->ports,
		.n_ports = sheet->n_ports,
		.priority = sheet->priority,
		.diagnosis = cause_name(CAUSE_TUNING_REGRESSION),
		.advice = ADVICE_CHANGE,
		.summary = undo_summary(a, record, why),
		.n_changes = sheet->n_changes,
		.affected = sheet->affected,
		.n_affected = sheet->n_affected,
		.disruption = sheet->disruption,
		.job_boundary = sheet->job_boundary,
		.made_ns = client->to_ns,
		.expires_ns = client->to_ns + TUNE_LIFE_NS,
		.from_ns = history->evidence->from_ns,
		.to_ns = history->evidence->to_ns,
		.confidence_ratio = 0.95,
		.coverage_ratio = history->evidence->coverage_ratio,
		.buffer_cost_bytes = NAN,
		.basis = sheet->basis};
	swap_changes(a, sheet, &undo);
	undo.next_steps = arena_array(a, const char *, 2);
	undo.next_steps[undo.n_next_steps++] =
		"on all switches that were changed; then review again: the same values are not "
		"proposed a second time";
	undo.confidence_inputs = arena_array(a, const char *, 2);
	undo.confidence_inputs[undo.n_confidence_inputs++] = arena_printf(
		a, "windows before and after the change, compared as 'tune verify' does: %s", why);
	tune_sheet_name(client->config->fabric->id, &undo);
	return undo;
}

static void block_change(
	struct tune_sheet *sheet, const char *by, const char *because, struct arena *a)
{
	sheet->advice = ADVICE_BLOCKED;
	sheet->blocked_by = by;
	sheet->n_changes = sheet->n_expected = sheet->n_checks = sheet->n_affected = 0;
	sheet->summary = arena_printf(
		a, "%s; no change: blocked by %s", str_or(sheet->summary, ""), because);
}

static void put_first(struct tune_list *list, const struct tune_sheet *undo, struct arena *a)
{
	struct tune_sheet *sheets = arena_array(a, struct tune_sheet, list->n + 1);
	size_t n = 0;
	sheets[n++] = *undo;
	for (size_t i = 0; i < list->n; i++) {
		struct tune_sheet *sheet = &list->v[i];
		if (sheet->advice == ADVICE_CHANGE)
			block_change(sheet, sheets[0].id,
				"the change before, which has to be taken back", a);
		/* "leave the thresholds alone" is not true of this priority */
		if (sheet->advice != ADVICE_NONE || sheet->priority != undo->priority)
			sheets[n++] = *sheet;
	}
	list->v = sheets;
	list->n = list->cap = n;
}

/* ---- never twice --------------------------------------------------------- */

static const struct tune_change *undo_change_of(const struct tune_sheet *sheet, enum tune_knob knob)
{
	for (size_t i = 0; i < sheet->n_changes; i++)
		if (sheet->changes[i].knob == knob)
			return &sheet->changes[i];
	return NULL;
}

/* Would @sheet set what @tried had set? */
static bool sets_the_same(const struct tune_sheet *sheet, const struct tune_sheet *tried)
{
	if (!str_eq(sheet->device, tried->device) || sheet->priority != tried->priority ||
		!sheet->n_changes)
		return false;
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *wanted = &sheet->changes[i],
					 *had = undo_change_of(tried, wanted->knob);
		if (!had || !tune_same(wanted->proposed, had->proposed, had->current))
			return false;
	}
	return true;
}

static void block_tried(
	struct tune_list *list, const struct tune_sheet *tried, const char *by, struct arena *a)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].advice == ADVICE_CHANGE && sets_the_same(&list->v[i], tried))
			block_change(&list->v[i], by, "the same values were taken back", a);
}

static bool was_taken_back(const struct tune_record *record)
{
	const bool harmed =
		record->verified && record->verified->result.verdict == VERIFY_ROLL_BACK;
	return record->state == TUNE_UNDONE && (harmed || record->roll_back_ns);
}

static void block_known(const struct tune_ledger *ledger, struct tune_list *list, struct arena *a)
{
	const struct tune_record *const *records;
	const size_t n = tune_ledger_records(ledger, &records);
	for (size_t i = 0; i < n; i++)
		if (was_taken_back(records[i]))
			block_tried(
				list, &records[i]->sheet, arena_strdup(a, records[i]->sheet.id), a);
}

/* The newest change may itself have taken something back: with it, it got better. */
static void block_left(struct client *client, const struct tune_record *record,
	struct tune_list *list, struct arena *a)
{
	struct tune_verify_ask ask = {.match = VERIFY_JOB};
	struct tune_verified verified;
	struct err ignored = {0};
	struct tune_sheet left = record->sheet;
	if (tune_verify_record(client, record, &ask, a, &verified, &ignored) != 0 ||
		verified.result.verdict != VERIFY_KEEP)
		return;
	swap_changes(a, &record->sheet, &left);
	block_tried(list, &left, "what was in force before", a);
}

void tune_undo_first(struct client *client, const struct tune_ledger *ledger,
	const struct tune_history *history, struct arena *a, struct tune_list *list)
{
	struct moved_places places = {.a = a};
	const struct tune_record *last = last_applied(ledger);
	const bool by_ledger = last != NULL;
	if (!last && find_moves(client, history, &places) == 0)
		last = record_of_moves(&places, history, a);
	const char *why = NULL;
	if (last)
		why = why_worse(client, last, a);
	if (why) {
		const struct tune_sheet undo = undo_sheet(client, history, last, why, a);
		put_first(list, &undo, a);
		return;
	}
	block_known(ledger, list, a);
	if (last && !by_ledger)
		block_left(client, last, list, a);
}
