/* tune_review - makes records of sheets, texts for switches of records, and verifications of
 * changes. */
#include "agent/tuning/tune_review.h"

#include "agent/client/client.h"
#include "agent/tuning/tune_json.h"
#include "agent/tuning/tune_lint.h"
#include "agent/tuning/vendor_plan.h"
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_evidence.h"
#include "analyzers/tune/tune_gate.h"
#include "analyzers/tune/tune_rules.h"
#include "analyzers/tune/tune_sheet.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define COMPARE_SPAN_NS (24 * 3600 * NS_PER_S)
#define COMPARE_LEAST_NS (3600 * NS_PER_S)

/* Why it does not count as in force, for the message. */
static const char *not_in_force(const struct tune_readback *read)
{
	switch (read->reading) {
	case TUNE_READ_NOTHING: return "its thresholds cannot be read back";
	case TUNE_READ_MIXED: return "only some of its values were read back";
	case TUNE_READ_OTHER: return read->text;
	case TUNE_READ_PROPOSED: return "its values are in force without having been accepted";
	case TUNE_READ_CURRENT: break;
	}
	return "the previous values are in force";
}

/* When it came into force: as the ledger knows, else as it was read back. @ret_before_ns: the end
 * of the time before. */
static int find_change(struct client *client, const struct tune_record *record, struct arena *a,
	int64_t *ret_before_ns, int64_t *ret_applied_ns, struct err *e)
{
	struct tune_readback read;
	const int rc = tune_read_settings(client, record, client->to_ns, a, &read, e);
	if (rc != 0)
		return rc;
	const bool proposed = read.reading == TUNE_READ_PROPOSED;
	*ret_applied_ns = record->applied_ns;
	if (*ret_applied_ns == 0 && proposed && record->state == TUNE_ACCEPTED)
		*ret_applied_ns = read.since_ns;
	if (*ret_applied_ns == 0)
		return err_set(e, -ENODATA,
			"%s is %s, and %s; 'tune applied %s --at TIME' says when it was put in "
			"force",
			record->sheet.id, tune_state_name(record->state), not_in_force(&read),
			record->sheet.id);
	*ret_before_ns = *ret_applied_ns;
	const bool read_between =
		read.before_ns > record->sheet.to_ns && read.before_ns < *ret_applied_ns;
	if (proposed && read_between)
		*ret_before_ns = read.before_ns;
	return 0;
}

/* Since when the previous values had been in force: what was measured under others is no
 * comparison. */
static int64_t before_since(struct client *client, const struct tune_record *record,
	int64_t from_ns, int64_t applied_ns, struct arena *a)
{
	struct tune_readback read;
	struct err ignored = {0};
	if (tune_read_settings_in(client, record, from_ns, applied_ns - 1, a, &read, &ignored) !=
			0 ||
		read.reading != TUNE_READ_CURRENT || read.before_ns == INT64_MIN)
		return from_ns;
	if (read.since_ns > from_ns)
		return read.since_ns;
	return from_ns;
}

/* Before: as far back as the sheet looked, at least an hour, at most a day, and not further than
 * the previous values had been in force. */
static int64_t compare_from(struct client *client, const struct tune_record *record,
	const struct tune_verify_ask *ask, struct arena *a)
{
	const int64_t longest_ago = ask->applied_ns - COMPARE_SPAN_NS;
	int64_t from = ns_earlier(record->sheet.from_ns, ask->applied_ns - COMPARE_LEAST_NS);
	if (ask->before_ns)
		from = ask->applied_ns - ask->before_ns;
	else if (from < longest_ago)
		from = longest_ago;
	return before_since(client, record, from, ask->applied_ns, a);
}

static int64_t compare_to(const struct client *client, const struct tune_verify_ask *ask)
{
	int64_t span = COMPARE_SPAN_NS;
	if (ask->after_ns)
		span = ask->after_ns;
	return ns_earlier(ask->applied_ns + span, client->to_ns);
}

static const char **names_of(
	const struct tune_comparison *comparison, const size_t *ports, size_t n, struct arena *a)
{
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = comparison->ports[ports[i]];
	return names;
}

int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, struct tune_verified *ret, struct err *e)
{
	int64_t before_to = 0;
	struct tune_comparison c;
	int rc = find_change(client, record, a, &before_to, &ask->applied_ns, e);
	if (rc != 0)
		return rc;
	const int64_t from = compare_from(client, record, ask, a), to = compare_to(client, ask);
	rc = tune_read_comparison(client, record, from, to, 0, a, &c, e);
	if (rc != 0)
		return rc;
	size_t n_before = 0, after = c.n_windows;
	while (n_before < c.n_windows && c.windows[n_before].to_ns <= before_to)
		n_before++;
	while (after > 0 && c.windows[after - 1].from_ns >= ask->applied_ns)
		after--;
	if (after < c.n_windows) /* senders take a moment to adapt */
		after++;
	const struct verify_in in = {.before = c.windows,
		.n_before = n_before,
		.after = c.windows + after,
		.n_after = c.n_windows - after,
		.n_ports = c.n_ports,
		.match = ask->match,
		.arena = a};
	*ret = (struct tune_verified){.id = record->sheet.id,
		.match = ask->match,
		.window_ns = c.window_ns,
		.before_from_ns = from,
		.before_to_ns = before_to,
		.after_from_ns = ask->applied_ns,
		.after_to_ns = to};
	if (n_before) {
		ret->before_from_ns = c.windows[0].from_ns;
		ret->before_to_ns = c.windows[n_before - 1].to_ns;
	}
	if (after < c.n_windows) {
		ret->after_from_ns = c.windows[after].from_ns;
		ret->after_to_ns = c.windows[c.n_windows - 1].to_ns;
	}
	tune_verify(&in, &ret->result);
	ret->n_worse = ret->result.n_ports_worse;
	ret->n_better = ret->result.n_ports_better;
	ret->worse = names_of(&c, ret->result.ports_worse, ret->n_worse, a);
	ret->better = names_of(&c, ret->result.ports_better, ret->n_better, a);
	return 0;
}

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
		values = arena_printf(a, "%s%s%s %s -> %s", values, str_if(i, ", "),
			tune_knob_name(change->knob),
			tune_value_text(a, change->knob, change->current),
			tune_value_text(a, change->knob, change->proposed));
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

/* How far back a rendering looks for the other settings in force. */
#define RENDER_SPAN_NS (600 * NS_PER_S)

static void tune_review_free_profiles(struct profiles **profiles)
{
	profiles_free(*profiles);
}

static int load_profiles(const struct client *client, struct profiles **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const int rc = profiles_load(client->config->profile_dir, ret, &errors);
	if (rc == 0)
		return 0;
	return err_set(
		e, -EINVAL, "%s", errors.n ? errors.v[0].text : "the profiles cannot be read");
}

/* ---- rendering ----------------------------------------------------------- */

static double in_force(const struct tune_prio *prio, enum tune_knob knob)
{
	const double values[TUNE_KNOBS] = {[KNOB_HEADROOM] = prio->headroom_bytes,
		[KNOB_XOFF_LEVEL] = prio->xoff_level,
		[KNOB_XON_LEVEL] = prio->xon_level,
		[KNOB_XON_OFFSET] = prio->xon_offset,
		[KNOB_ALPHA] = prio->alpha,
		[KNOB_KMIN] = prio->kmin,
		[KNOB_KMAX] = prio->kmax,
		[KNOB_PMAX] = prio->pmax,
		[KNOB_WEIGHT] = NAN};
	return values[knob];
}

static const struct tune_device *tune_review_device_of(
	const struct tune_history *history, const char *name)
{
	for (size_t k = 0; history->evidence && k < history->evidence->n_devices; k++)
		if (str_eq(history->evidence->devices[k].device->name, name))
			return &history->evidence->devices[k];
	return NULL;
}

static const struct tune_port *tune_review_port_of(
	const struct tune_device *device, const char *name)
{
	for (size_t k = 0; device && k < device->n_ports; k++)
		if (str_eq(device->ports[k].port->name, name))
			return &device->ports[k];
	return NULL;
}

static struct render_port render_port_of(
	const char *name, const struct fabric_port *declared, const struct tune_port *seen)
{
	struct render_port port = {.name = name, .cable_m = NAN, .cable_now_m = NAN};
	if (seen) {
		port.cable_now_m = seen->cable_m;
		if (seen->speed_bps > 0)
			port.speed_bps = (uint64_t)seen->speed_bps;
	}
	if (declared && declared->cable_mm)
		port.cable_m = (double)declared->cable_mm / 1e3;
	if (declared && declared->speed_bps)
		port.speed_bps = declared->speed_bps;
	return port;
}

/* Settings of @port that are in force, as far as no port before told them. */
static void add_in_force(const struct tune_history *history, const struct fabric_port *port,
	int priority, struct render_ctx *ctx)
{
	const struct tune_prio *prio = NULL;
	if (port && history->evidence)
		prio = tune_prio_at(history->evidence, port, priority);
	for (int k = 0; prio && k < TUNE_KNOBS; k++)
		if (isnan(ctx->in_force[k]))
			ctx->in_force[k] = in_force(prio, (enum tune_knob)k);
}

/* What a rendering reads beside the sheet. @history may be without evidence: then only names are
 * known. */
static void context_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, struct arena *a,
	struct render_ctx *ctx)
{
	const struct fabric_device *declared = fabric_device(client->config->fabric, sheet->device);
	const struct tune_device *seen = tune_review_device_of(history, sheet->device);
	struct render_port *ports = arena_array(a, struct render_port, sheet->n_ports + 1);
	*ctx = (struct render_ctx){.profiles = profiles,
		.device = sheet->device,
		.ports = ports,
		.n_ports = sheet->n_ports,
		.queue = -1,
		.cell_bytes = NAN,
		.queue_limit_bytes = NAN,
		.arena = a};
	/* 1. The kind of switch. */
	if (declared && history->profiles) {
		ctx->platform = history->profiles[declared->index];
		ctx->description = history->descriptions[declared->index];
	}
	if (seen)
		ctx->cell_bytes = seen->cell_bytes;
	/* 2. Its ports, and the settings that the sheet does not change. */
	for (int k = 0; k < TUNE_KNOBS; k++)
		ctx->in_force[k] = NAN;
	for (size_t i = 0; i < sheet->n_ports; i++) {
		const char *name = sheet->ports[i];
		const struct fabric_port *port = NULL;
		if (declared)
			port = fabric_port(declared, name);
		ports[i] = render_port_of(name, port, tune_review_port_of(seen, name));
		add_in_force(history, port, sheet->priority, ctx);
	}
	/* 3. What its objects are called. */
	render_names(ctx, client->config, sheet->device);
	/* 4. What a queue may hold: alpha B / (1 + alpha) (Choudhury and Hahne, 1998). */
	const double alpha = ctx->in_force[KNOB_ALPHA];
	if (seen && seen->pool_bytes > 0 && alpha > 0)
		ctx->queue_limit_bytes = alpha * seen->pool_bytes / (1 + alpha);
}

static int choose_device(const struct client *client, const struct tune_record *record,
	const char *device, struct tune_sheet *sheet, struct arena *a, struct err *e)
{
	if (!device || str_eq(device, record->sheet.device))
		return 0;
	const struct fabric_device *d = fabric_device(client->config->fabric, device);
	for (size_t k = 0; d && k < record->sheet.n_rest; k++) {
		if (str_eq(record->sheet.rest[k], device)) {
			tune_turn(client->config->fabric, sheet, d, a);
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		"--device: '%.64s' is not a switch of this sheet; expected %s, or one of the %zu "
		"that follow it",
		device, record->sheet.device, record->sheet.n_rest);
}

/* All parts of the sheet, those that come first first; undone in the other order. 0 when any can be
 * written. */
static int render_parts(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_sheet *sheet, const char *canary,
	const char *vendor, bool undo, struct arena *a, const char **ret)
{
	struct tune_sheet *parts;
	const size_t n = vendor_parts(sheet, a, &parts);
	int rc = -ENOTSUP;
	*ret = "";
	for (size_t i = 0; i < n; i++) {
		struct tune_sheet *part = &parts[undo ? n - 1 - i : i];
		struct render_ctx ctx;
		const char *text = NULL;
		context_of(client, profiles, history, part, a, &ctx);
		ctx.device = part->device;
		part->device = canary; /* whose turn is first is said in the text */
		if (render_device(part, &ctx, vendor, undo, &text) == 0)
			rc = 0;
		*ret = arena_printf(a, "%s%s%s", *ret, str_if(i, "\n"), str_or(text, ""));
	}
	return rc;
}

int tune_render(struct client *client, const struct tune_record *record, const char *device,
	const char *vendor, bool undo, struct arena *a, const char **ret, struct err *e)
{
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_sheet s;
	struct tune_history h = {0};
	struct err ignored = {0};
	int rc = load_profiles(client, &profiles, e);
	if (rc != 0)
		return rc;
	if (vendor && !render_knows(profiles, vendor))
		return err_set(e, -EINVAL,
			"--vendor: no profile has words for '%.40s'; known are %s", vendor,
			render_syntaxes(profiles, a));
	s = record->sheet;
	const char *canary = s.device;
	rc = choose_device(client, record, device, &s, a, e);
	if (rc != 0)
		return rc;
	/* without it names stand for what is not known */
	(void)tune_read_history(client, profiles, record->sheet.to_ns - RENDER_SPAN_NS,
		record->sheet.to_ns, a, &h, &ignored);
	rc = render_parts(client, profiles, &h, &s, canary, vendor, undo, a, ret);
	if (rc == 0)
		return 0;
	if (**ret)
		return err_set(e, rc, "%s", *ret);
	return err_set(e, rc, "nothing of it can be written for this switch");
}

/* ---- review -------------------------------------------------------------- */

static bool port_wanted(
	const struct tune_filter *filter, const struct fabric_device *device, const char *name)
{
	const struct fabric_port *port = fabric_port(device, name);
	const char *alias = "", *peer = "";
	if (port)
		alias = port->alias;
	if (port && port->peer)
		peer = port->peer->device->name;
	const bool named = !filter->port || str_glob(filter->port, name) ||
		(*alias && str_glob(filter->port, alias));
	const bool leads_there = !filter->uplinks || (*peer && str_glob(filter->uplinks, peer));
	return named && leads_there;
}

static bool has_port(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	const struct fabric_device *device = NULL;
	if (!filter->port && !filter->uplinks)
		return true;
	if (sheet->device)
		device = fabric_device(fabric, sheet->device);
	for (size_t i = 0; device && i < sheet->n_ports; i++)
		if (port_wanted(filter, device, sheet->ports[i]))
			return true;
	return false;
}

static bool has_device(const struct tune_sheet *sheet, const char *glob)
{
	if (!glob || (sheet->device && str_glob(glob, sheet->device)))
		return true;
	for (size_t i = 0; i < sheet->n_rest; i++)
		if (str_glob(glob, sheet->rest[i]))
			return true;
	return false;
}

static bool tune_review_wanted(const struct tune_sheet *sheet, const struct tune_filter *filter,
	const struct fabric *fabric)
{
	if (filter->priority != PRIO_NONE && sheet->priority != filter->priority)
		return false;
	return has_device(sheet, filter->device) && has_port(sheet, filter, fabric);
}

/* What vendors would type, beside the sheet. */
static void render_into(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, struct arena *a, struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	if (sheet->advice != ADVICE_CHANGE && sheet->n_changes == 0) {
		record->vendor.apply = render_nothing(profiles);
		record->vendor.undo = render_nothing(profiles);
		return;
	}
	struct tune_sheet *parts;
	const size_t n = vendor_parts(sheet, a, &parts);
	json_t *apply = NULL, *undo = NULL, *notes = NULL;
	for (size_t i = 0; i < n; i++) {
		struct render_ctx ctx, last;
		context_of(client, profiles, history, &parts[i], a, &ctx);
		context_of(client, profiles, history, &parts[n - 1 - i], a, &last);
		apply = vendor_parts_join(apply, render_apply(&parts[i], &ctx));
		undo = vendor_parts_join(undo, render_undo(&parts[n - 1 - i], &last));
		notes = vendor_parts_join(notes, render_notes(&parts[i], &ctx));
	}
	record->vendor.apply = apply;
	record->vendor.undo = undo;
	record->vendor.notes = notes;
}

static void platform_into(const struct client *client, const struct tune_history *history,
	struct arena *a, struct tune_record *record)
{
	const struct fabric_device *device = NULL;
	if (record->sheet.device)
		device = fabric_device(client->config->fabric, record->sheet.device);
	if (!device || !history->platforms)
		return;
	const struct tune_platform *platform = &history->platforms[device->index];
	record->platform = arena_new_of(a, struct tune_said);
	record->platform->name = platform->name;
	record->platform->version = platform->version;
	if (platform->profile)
		record->platform->syntax = platform->profile->syntax;
}

static struct tune_record *record_of(const struct client *client, const struct profiles *profiles,
	const struct tune_history *history, const struct tune_ledger *ledger,
	const struct tune_sheet *sheet, struct arena *a)
{
	struct tune_record borrowed = {.sheet = *sheet, .state = TUNE_UNRECORDED};
	const struct tune_record *kept = tune_ledger_find(ledger, sheet->id);
	if (kept)
		borrowed.state = kept->state;
	platform_into(client, history, a, &borrowed);
	render_into(client, profiles, history, a, &borrowed);
	struct tune_record *record = tune_record_copy(&borrowed);
	json_decref(borrowed.vendor.apply);
	json_decref(borrowed.vendor.undo);
	json_decref(borrowed.vendor.notes);
	return record;
}

void tune_reviewed_done(struct tune_reviewed *reviewed)
{
	for (size_t i = 0; i < reviewed->n; i++)
		tune_record_free(reviewed->v[i]);
	free(reviewed->v);
	free(reviewed->reason);
	*reviewed = (struct tune_reviewed){0};
}

static int review_history(struct client *client, const struct tune_filter *filter,
	const struct tune_history *history, struct arena *a, struct tune_list *ret, struct err *e)
{
	const struct tune_in in = {.fabric = client->config->fabric,
		.evidence = history->evidence,
		.platforms = history->platforms,
		.incidents = history->incidents,
		.n_incidents = history->n_incidents,
		.past = history->past,
		.n_past = history->n_past,
		.now_ns = client->to_ns,
		.arena = a,
		.options = {.min_evidence_ns = client->config->tuning.min_evidence_ns,
			.min_coverage = client->config->tuning.min_coverage,
			.allow_reduce = filter->allow_reduce,
			.rtt_ns = client->config->tuning.base_rtt_ns,
			.max_pmax = client->config->tuning.max_pmax}};
	const int rc = tune_review(&in, ret);
	if (rc == 0)
		return 0;
	return err_set(e, rc,
		"there is less than one window (%lld s) of counters under the same settings, of "
		"any switch, in the time range",
		(long long)(history->window_ns / NS_PER_S));
}

/* What would break headroom, the pool or the order of marks and pause is no advice. */
static int block_by_lint(
	struct client *client, struct tune_list *list, struct arena *a, struct err *e)
{
	struct tune_lint lint;
	const int rc = tune_lint_begin(client, a, &lint, e);
	for (size_t i = 0; rc == 0 && i < list->n; i++) {
		struct tune_sheet *sheet = &list->v[i];
		const char *why = NULL;
		if (sheet->advice == ADVICE_CHANGE)
			why = tune_lint_against(&lint, sheet, a);
		if (why)
			block_change(sheet, "lint", arena_printf(a, "lint: %s", why), a);
	}
	return rc;
}

int tune_review_records(struct client *client, const struct tune_filter *filter,
	const struct tune_ledger *ledger, struct tune_reviewed *ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(tune_review_free_profiles) struct profiles *profiles = NULL;
	struct tune_history history;
	struct tune_list list = {0};
	*ret = (struct tune_reviewed){0};
	int rc = load_profiles(client, &profiles, e);
	if (rc == 0)
		rc = tune_read_history(
			client, profiles, client->from_ns, client->to_ns, a, &history, e);
	if (rc != 0)
		return rc;
	tune_read_past(ledger, a, &history);
	rc = review_history(client, filter, &history, a, &list, e);
	if (rc != 0)
		return rc;
	rc = block_by_lint(client, &list, a, e);
	if (rc != 0)
		return rc;
	tune_undo_first(client, ledger, &history, a, &list);
	ret->v = rw_calloc(list.n + 1, sizeof(struct tune_record *));
	for (size_t i = 0; i < list.n; i++) {
		if (!tune_review_wanted(&list.v[i], filter, client->config->fabric))
			continue;
		ret->v[ret->n++] = record_of(client, profiles, &history, ledger, &list.v[i], a);
	}
	return 0;
}
