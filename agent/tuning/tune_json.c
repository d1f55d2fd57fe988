/* tune_json - one pair of functions for each struct: struct -> document, document -> struct. */
#include "agent/tuning/tune_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/document/json_outside.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "db/model/entity.h"

/* ---- values -------------------------------------------------------------- */

static const json_t *tune_json_part(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

/* A text of @object in @a; NULL when it is null or missing. */
static const char *text_in(const json_t *object, const char *key, struct arena *a)
{
	const char *text = json_string_value(tune_json_part(object, key));
	if (text)
		return arena_strdup(a, text);
	return NULL;
}

static int64_t integer_in(const json_t *object, const char *key)
{
	return json_integer_value(tune_json_part(object, key));
}

static size_t count_in(const json_t *object, const char *key)
{
	const json_int_t n = json_integer_value(tune_json_part(object, key));
	if (n > 0)
		return (size_t)n;
	return 0;
}

static int64_t time_in(const json_t *object, const char *key)
{
	wall_t time;
	const char *text = json_string_value(tune_json_part(object, key));
	if (text && wall_parse(text, (wall_t){0}, &time) == 0)
		return time.ns;
	return 0;
}

static json_t *priority_json(int priority)
{
	if (priority == PRIO_NONE)
		return json_null();
	return json_integer(priority);
}

static int priority_in(const json_t *object)
{
	const json_t *priority = tune_json_part(object, "priority");
	const json_int_t number = json_integer_value(priority);
	if (json_is_integer(priority) && number >= 0 && number <= PRIO_MOST)
		return (int)number;
	return PRIO_NONE;
}

static json_t *tune_texts_json(const char *const *texts, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_string_or_null(texts[i]));
	return array;
}

static size_t texts_in(const json_t *object, const char *key, struct arena *a, const char ***ret)
{
	const json_t *array = tune_json_part(object, key), *text;
	size_t n = 0, i;
	*ret = arena_array(a, const char *, json_array_size(array) + 1);
	json_array_foreach (array, i, text)
		if (json_is_string(text))
			(*ret)[n++] = arena_strdup(a, json_string_value(text));
	return n;
}

/* A carried document: the struct's NULL is null. */
static json_t *carried_json(json_t *document)
{
	if (document)
		return json_incref(document);
	return json_null();
}

static json_t *carried_in(const json_t *object, const char *key)
{
	json_t *document = json_object_get(object, key);
	if (!document || json_is_null(document))
		return NULL;
	return json_deep_copy(document);
}

/* The place of a word among the names of an enumeration, 0 .. @n - 1. */
static int word_in(
	const json_t *object, const char *key, const char *(*name_of)(int), int n, int otherwise)
{
	const char *word = json_string_value(tune_json_part(object, key));
	for (int i = 0; i < n; i++)
		if (str_eq(name_of(i), word))
			return i;
	return otherwise;
}

static const char *advice_name(int i)
{
	return tune_advice_name((enum tune_advice)i);
}
static const char *disruption_name(int i)
{
	return tune_disruption_name((enum tune_disruption)i);
}
static const char *quality_word(int i)
{
	return quality_name((enum quality)i);
}

/* ---- lists of a sheet ---------------------------------------------------- */

static json_t *change_ports_json(const struct tune_change *change)
{
	json_t *array = json_array();
	for (size_t i = 0; i < change->n_ports; i++)
		json_array_append_new(array, json_string_or_null(change->ports[i]));
	return array;
}

static void change_ports_in(const json_t *object, struct arena *a, struct tune_change *change)
{
	const json_t *array = tune_json_part(object, "ports"), *o;
	size_t i;
	change->ports = arena_array(a, const char *, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		if (json_is_string(o))
			change->ports[change->n_ports++] = arena_strdup(a, json_string_value(o));
}

static json_t *changes_json(const struct tune_sheet *sheet)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *c = &sheet->changes[i];
		json_array_append_new(array,
			json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "knob",
				tune_knob_name(c->knob), "current", json_number_or_null(c->current),
				"proposed", json_number_or_null(c->proposed), "programmed",
				json_number_or_null(c->programmed), "unit", tune_knob_unit(c->knob),
				"why", json_string_or_null(c->why), "source",
				json_string_or_null(c->source), "port_group",
				json_string_or_null(c->port_group), "ports", change_ports_json(c)));
	}
	return array;
}

static int changes_in(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *array = tune_json_part(object, "changes"), *o;
	size_t i;
	sheet->changes = arena_array(a, struct tune_change, json_array_size(array) + 1);
	json_array_foreach (array, i, o) {
		struct tune_change *c = &sheet->changes[sheet->n_changes++];
		if (tune_knob_parse(doc_word(o, "knob"), &c->knob) != 0)
			return -EINVAL;
		c->current = doc_number(o, "current");
		c->proposed = doc_number(o, "proposed");
		c->programmed = doc_number(o, "programmed");
		c->why = text_in(o, "why", a);
		c->source = text_in(o, "source", a);
		c->port_group = text_in(o, "port_group", a);
		change_ports_in(o, a, c);
	}
	return 0;
}

static json_t *affected_json(const struct tune_sheet *sheet)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sheet->n_affected; i++) {
		const struct tune_object *o = &sheet->affected[i];
		json_array_append_new(array,
			json_pack("{s:o, s:o, s:o, s:o}", "device", json_string_or_null(o->device),
				"port", json_string_or_null(o->port), "priority",
				priority_json(o->priority), "object",
				json_string_or_null(o->object)));
	}
	return array;
}

static void affected_in(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *array = tune_json_part(object, "affected"), *o;
	size_t i;
	sheet->affected = arena_array(a, struct tune_object, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		sheet->affected[sheet->n_affected++] =
			(struct tune_object){.device = text_in(o, "device", a),
				.port = text_in(o, "port", a),
				.priority = priority_in(o),
				.object = text_in(o, "object", a)};
}

static json_t *tune_evidence_json_of(const struct tune_sheet *sheet)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sheet->n_evidence; i++) {
		const struct evidence *e = &sheet->evidence[i];
		json_array_append_new(array,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "metric",
				e->metric, "device", json_string_or_null(e->device), "port",
				json_string_or_null(e->port), "priority",
				priority_json(e->priority), "from", json_time(e->from_ns), "to",
				json_time(e->to_ns), "value", json_number_or_null(e->value), "unit",
				json_string_or_null(e->unit), "quality", quality_name(e->quality)));
	}
	return array;
}

static void evidence_in(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *array = tune_json_part(object, "evidence"), *o;
	size_t i;
	sheet->evidence = arena_array(a, struct evidence, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		sheet->evidence[sheet->n_evidence++] =
			(struct evidence){.metric = str_or(text_in(o, "metric", a), ""),
				.device = text_in(o, "device", a),
				.port = text_in(o, "port", a),
				.priority = priority_in(o),
				.from_ns = time_in(o, "from"),
				.to_ns = time_in(o, "to"),
				.value = doc_number(o, "value"),
				.unit = text_in(o, "unit", a),
				.quality = (enum quality)word_in(o, "quality", quality_word,
					QUALITY_UNKNOWN + 1, QUALITY_UNKNOWN)};
}

static json_t *expected_json(const struct tune_sheet *sheet)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sheet->n_expected; i++) {
		const struct tune_expect *e = &sheet->expected[i];
		json_array_append_new(array,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "metric", e->metric, "low",
				json_number_or_null(e->low), "high", json_number_or_null(e->high),
				"likely", json_number_or_null(e->likely), "now",
				json_number_or_null(e->now), "unit", json_string_or_null(e->unit),
				"of", json_string_or_null(e->of)));
	}
	return array;
}

static void expected_in(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *array = tune_json_part(object, "expected"), *o;
	size_t i;
	sheet->expected = arena_array(a, struct tune_expect, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		sheet->expected[sheet->n_expected++] =
			(struct tune_expect){.metric = str_or(text_in(o, "metric", a), ""),
				.unit = text_in(o, "unit", a),
				.low = doc_number(o, "low"),
				.high = doc_number(o, "high"),
				.likely = doc_number(o, "likely"),
				.now = doc_number(o, "now"),
				.of = text_in(o, "of", a)};
}

static json_t *checks_json(const struct tune_sheet *sheet)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sheet->n_checks; i++) {
		const struct tune_check *c = &sheet->checks[i];
		json_array_append_new(array,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "text",
				json_string_or_null(c->text), "before",
				json_number_or_null(c->before), "after",
				json_number_or_null(c->after), "limit",
				json_number_or_null(c->limit), "unit", json_string_or_null(c->unit),
				"ok", c->ok));
	}
	return array;
}

static void checks_in(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *array = tune_json_part(object, "checks"), *o;
	size_t i;
	sheet->checks = arena_array(a, struct tune_check, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		sheet->checks[sheet->n_checks++] =
			(struct tune_check){.text = text_in(o, "text", a),
				.before = doc_number(o, "before"),
				.after = doc_number(o, "after"),
				.limit = doc_number(o, "limit"),
				.unit = text_in(o, "unit", a),
				.ok = json_is_true(tune_json_part(o, "ok"))};
}

/* ---- the sheet ----------------------------------------------------------- */

static json_t *platform_json(const struct tune_record *record)
{
	if (!record->platform_known)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "name", json_string_or_null(record->platform),
		"version", json_string_or_null(record->version), "syntax",
		json_string_or_null(record->syntax));
}

static void platform_in(const json_t *object, struct tune_record *record)
{
	const json_t *platform = tune_json_part(object, "platform");
	record->platform_known = json_is_object(platform);
	record->platform = text_in(platform, "name", record->arena);
	record->version = text_in(platform, "version", record->arena);
	record->syntax = text_in(platform, "syntax", record->arena);
}

static json_t *state_json(enum tune_state state)
{
	if (state == TUNE_UNRECORDED)
		return json_null();
	return json_string(tune_state_name(state));
}

static json_t *basis_json(uint64_t basis)
{
	return json_sprintf("%016llx", (unsigned long long)basis);
}

static json_t *sheet_json(const struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	json_t *o = json_object();
	const struct {
		const char *key;
		json_t *value;
	} fields[] = {
		{"id", json_string_or_null(sheet->id)},
		{"state", state_json(record->state)},
		{"device", json_string_or_null(sheet->device)},
		{"port_group", json_string_or_null(sheet->port_group)},
		{"ports", tune_texts_json(sheet->ports, sheet->n_ports)},
		{"rest", tune_texts_json(sheet->rest, sheet->n_rest)},
		{"priority", priority_json(sheet->priority)},
		{"diagnosis", json_string_or_null(sheet->diagnosis)},
		{"advice", json_string(tune_advice_name(sheet->advice))},
		{"blocked_by", json_string_or_null(sheet->blocked_by)},
		{"summary", json_string_or_null(sheet->summary)},
		{"world", json_string_or_null(sheet->world)},
		{"world_differences", tune_texts_json(sheet->differences, sheet->n_differences)},
		{"platform", platform_json(record)},
		{"changes", changes_json(sheet)},
		{"affected", affected_json(sheet)},
		{"disruption", json_string(tune_disruption_name(sheet->disruption))},
		{"job_boundary", json_boolean(sheet->job_boundary)},
		{"made", json_time(sheet->made_ns)},
		{"expires", json_time(sheet->expires_ns)},
		{"from", json_time(sheet->from_ns)},
		{"to", json_time(sheet->to_ns)},
		{"evidence", tune_evidence_json_of(sheet)},
		{"expected", expected_json(sheet)},
		{"not_expected", json_string_or_null(sheet->not_expected)},
		{"checks", checks_json(sheet)},
		{"collect", tune_texts_json(sheet->collect, sheet->n_collect)},
		{"next_steps", tune_texts_json(sheet->next_steps, sheet->n_next_steps)},
		{"risk", json_string_or_null(sheet->risk)},
		{"rollback_if", json_string_or_null(sheet->rollback_if)},
		{"render", carried_json(record->vendor.apply)},
		{"undo", carried_json(record->vendor.undo)},
		{"render_notes", carried_json(record->vendor.notes)},
		{"confidence_ratio", json_number_or_null(sheet->confidence_ratio)},
		{"confidence_inputs",
			tune_texts_json(sheet->confidence_inputs, sheet->n_confidence_inputs)},
		{"coverage_ratio", json_number_or_null(sheet->coverage_ratio)},
		{"buffer_cost_bytes", json_number_or_null(sheet->buffer_cost_bytes)},
		{"basis", basis_json(sheet->basis)},
	};
	for (size_t i = 0; i < rw_countof(fields); i++)
		json_object_set_new(o, fields[i].key, fields[i].value);
	return o;
}

static int sheet_in(const json_t *object, struct tune_record *record)
{
	struct arena *a = record->arena;
	struct tune_sheet *sheet = &record->sheet;
	snprintf(sheet->id, sizeof(sheet->id), "%s", doc_word(object, "id"));
	sheet->device = text_in(object, "device", a);
	sheet->port_group = text_in(object, "port_group", a);
	sheet->n_ports = texts_in(object, "ports", a, &sheet->ports);
	sheet->n_rest = texts_in(object, "rest", a, &sheet->rest);
	sheet->priority = priority_in(object);
	sheet->diagnosis = text_in(object, "diagnosis", a);
	sheet->advice = (enum tune_advice)word_in(
		object, "advice", advice_name, ADVICE_BLOCKED + 1, ADVICE_WATCH);
	sheet->blocked_by = text_in(object, "blocked_by", a);
	sheet->summary = text_in(object, "summary", a);
	sheet->world = text_in(object, "world", a);
	sheet->n_differences = texts_in(object, "world_differences", a, &sheet->differences);
	platform_in(object, record);
	affected_in(object, a, sheet);
	sheet->disruption = (enum tune_disruption)word_in(
		object, "disruption", disruption_name, DISRUPTION_UNKNOWN + 1, DISRUPTION_UNKNOWN);
	sheet->job_boundary = json_is_true(tune_json_part(object, "job_boundary"));
	evidence_in(object, a, sheet);
	expected_in(object, a, sheet);
	sheet->not_expected = text_in(object, "not_expected", a);
	checks_in(object, a, sheet);
	sheet->n_collect = texts_in(object, "collect", a, &sheet->collect);
	sheet->n_next_steps = texts_in(object, "next_steps", a, &sheet->next_steps);
	sheet->risk = text_in(object, "risk", a);
	sheet->rollback_if = text_in(object, "rollback_if", a);
	record->vendor.apply = carried_in(object, "render");
	record->vendor.undo = carried_in(object, "undo");
	record->vendor.notes = carried_in(object, "render_notes");
	sheet->confidence_ratio = doc_number(object, "confidence_ratio");
	sheet->n_confidence_inputs =
		texts_in(object, "confidence_inputs", a, &sheet->confidence_inputs);
	sheet->coverage_ratio = doc_number(object, "coverage_ratio");
	sheet->buffer_cost_bytes = doc_number(object, "buffer_cost_bytes");
	sheet->basis = strtoull(doc_word(object, "basis"), NULL, 16);
	return changes_in(object, a, sheet);
}

/* ---- "progress": what only rocewatch needs ------------------------------- */

static json_t *rates_json(const struct tune_record *record)
{
	json_t *array = json_array();
	for (size_t i = 0; i < record->n_rates; i++) {
		const struct tune_rate *r = &record->rates[i];
		json_array_append_new(array,
			json_pack("{s:s, s:f, s:f, s:I}", "job", r->job, "mean", r->mean, "se",
				r->se, "n", (json_int_t)r->n));
	}
	return array;
}

static void tune_json_rates_in(const json_t *progress, struct tune_record *record)
{
	const json_t *array = tune_json_part(progress, "rates"), *o;
	size_t i;
	if (!json_is_array(array))
		return;
	record->rates = arena_array(record->arena, struct tune_rate, json_array_size(array) + 1);
	json_array_foreach (array, i, o)
		record->rates[record->n_rates++] =
			(struct tune_rate){.job = str_or(text_in(o, "job", record->arena), ""),
				.mean = doc_number(o, "mean"),
				.se = doc_number(o, "se"),
				.n = count_in(o, "n")};
}

static json_t *tune_progress_json(const struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	json_t *o = json_pack("{s:I, s:I, s:I, s:I}", "made_ns", (json_int_t)sheet->made_ns,
		"expires_ns", (json_int_t)sheet->expires_ns, "from_ns", (json_int_t)sheet->from_ns,
		"to_ns", (json_int_t)sheet->to_ns);
	const struct {
		const char *key;
		int64_t t_ns;
	} times[] = {
		{"updated_ns", record->updated_ns},
		{"accepted_ns", record->accepted_ns},
		{"rejected_ns", record->rejected_ns},
		{"applied_ns", record->applied_ns},
		{"verified_ns", record->verified_ns},
		{"looked_ns", record->watched_ns},
	};
	for (size_t i = 0; i < rw_countof(times); i++)
		if (times[i].t_ns)
			json_object_set_new(o, times[i].key, json_integer(times[i].t_ns));
	if (record->rates)
		json_object_set_new(o, "rates", rates_json(record));
	if (record->roll_back_open)
		json_object_set_new(
			o, "rollback", json_pack("{s:s}", "why", record->roll_back_why));
	return o;
}

static int progress_in(const json_t *object, struct tune_record *record)
{
	const json_t *progress = tune_json_part(object, "progress");
	struct tune_sheet *sheet = &record->sheet;
	if (!json_is_object(progress))
		return -EINVAL;
	sheet->made_ns = integer_in(progress, "made_ns");
	sheet->expires_ns = integer_in(progress, "expires_ns");
	sheet->from_ns = integer_in(progress, "from_ns");
	sheet->to_ns = integer_in(progress, "to_ns");
	record->updated_ns = integer_in(progress, "updated_ns");
	record->accepted_ns = integer_in(progress, "accepted_ns");
	record->rejected_ns = integer_in(progress, "rejected_ns");
	record->applied_ns = integer_in(progress, "applied_ns");
	record->verified_ns = integer_in(progress, "verified_ns");
	record->watched_ns = integer_in(progress, "looked_ns");
	tune_json_rates_in(progress, record);
	const json_t *roll_back = tune_json_part(progress, "rollback");
	record->roll_back_open = json_is_object(roll_back);
	if (record->roll_back_open && !record->roll_back_why)
		record->roll_back_why = str_or(text_in(roll_back, "why", record->arena), "");
	return 0;
}

/* ---- the life ------------------------------------------------------------ */

static json_t *history_json(const struct tune_record *record)
{
	json_t *array = json_array();
	for (size_t i = 0; i < record->n_history; i++) {
		const struct tune_event *e = &record->history[i];
		json_array_append_new(array,
			json_pack("{s:o, s:o, s:o, s:o}", "time", json_time(e->t_ns), "event",
				json_string_or_null(e->event), "who", json_string_or_null(e->who),
				"text", json_string_or_null(e->text)));
	}
	return array;
}

static void history_in(const json_t *object, struct tune_record *record)
{
	struct arena *a = record->arena;
	const json_t *array = tune_json_part(object, "history"), *o;
	size_t i;
	if (!json_is_array(array))
		return;
	record->history = arena_array(a, struct tune_event, TUNE_HISTORY_MAX);
	json_array_foreach (array, i, o)
		if (record->n_history < TUNE_HISTORY_MAX)
			record->history[record->n_history++] =
				(struct tune_event){.t_ns = time_in(o, "time"),
					.event = str_or(text_in(o, "event", a), ""),
					.who = str_or(text_in(o, "who", a), ""),
					.text = str_or(text_in(o, "text", a), "")};
}

/* "accepted" and "accepted_by", once it happened. */
static void stamp_json(json_t *object, const char *key, int64_t t_ns, const char *by)
{
	char key_by[32];
	if (!t_ns)
		return;
	snprintf(key_by, sizeof(key_by), "%s_by", key);
	json_object_set_new(object, key, json_time(t_ns));
	json_object_set_new(object, key_by, json_string_or_null(by));
}

static void life_json(const struct tune_record *record, json_t *o)
{
	if (record->n_history)
		json_object_set_new(o, "history", history_json(record));
	stamp_json(o, "accepted", record->accepted_ns, record->accepted_by);
	if (record->rejected_why)
		json_object_set_new(o, "rejected_why", json_string_or_null(record->rejected_why));
	stamp_json(o, "rejected", record->rejected_ns, record->rejected_by);
	stamp_json(o, "applied", record->applied_ns, record->applied_by);
	if (record->roll_back_ns)
		json_object_set_new(o, "rollback_due",
			json_pack("{s:o, s:o}", "time", json_time(record->roll_back_ns), "why",
				json_string_or_null(record->roll_back_why)));
	if (record->verified) {
		const char *verdict = verify_verdict_name(record->verified->result.verdict);
		json_object_set_new(o, "verdict", json_string(verdict));
		json_object_set_new(o, "verification", tune_verified_json(record->verified));
	}
	stamp_json(o, "verified", record->verified_ns, record->verified_by);
}

static void life_in(const json_t *object, struct tune_record *record)
{
	struct arena *a = record->arena;
	const json_t *roll_back = tune_json_part(object, "rollback_due");
	if (tune_state_parse(json_string_value(tune_json_part(object, "state")), &record->state) !=
		0)
		record->state = TUNE_UNRECORDED;
	history_in(object, record);
	record->accepted_by = text_in(object, "accepted_by", a);
	record->rejected_why = text_in(object, "rejected_why", a);
	record->rejected_by = text_in(object, "rejected_by", a);
	record->applied_by = text_in(object, "applied_by", a);
	record->verified_by = text_in(object, "verified_by", a);
	record->roll_back_ns = time_in(roll_back, "time");
	record->roll_back_why = text_in(roll_back, "why", a);
	record->verified = tune_verified_parse(tune_json_part(object, "verification"), a);
}

json_t *tune_record_json(const struct tune_record *record, enum tune_document which)
{
	json_t *o = sheet_json(record);
	if (which == TUNE_DOCUMENT_WHOLE)
		json_object_set_new(o, "progress", tune_progress_json(record));
	life_json(record, o);
	return o;
}

struct tune_record *tune_record_parse(const json_t *document)
{
	if (!json_is_object(document))
		return NULL;
	rw_cleanup(tune_record_freep) struct tune_record *record = tune_record_new();
	if (sheet_in(document, record) != 0)
		return NULL;
	life_in(document, record);
	if (progress_in(document, record) != 0)
		return NULL;
	return rw_take(record);
}

struct tune_record *tune_record_load(const char *text)
{
	json_t *document = json_outside(text, strlen(text), 0, NULL);
	struct tune_record *record = tune_record_parse(document);
	json_decref(document);
	return record;
}

struct tune_record *tune_record_copy(const struct tune_record *record)
{
	json_t *document = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	struct tune_record *copy = tune_record_parse(document);
	json_decref(document);
	return copy;
}

/* ---- verification -------------------------------------------------------- */

static json_t *effects_json(const struct verify_result *result)
{
	json_t *array = json_array();
	for (size_t i = 0; i < VERIFY_EFFECTS; i++) {
		const struct verify_effect *e = &result->effects[i];
		if (!e->metric) /* a document without this row was read */
			continue;
		json_array_append_new(array,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "metric", e->metric,
				"unit", e->unit, "before", json_number_or_null(e->before), "after",
				json_number_or_null(e->after), "delta",
				json_number_or_null(e->delta), "low", json_number_or_null(e->low),
				"high", json_number_or_null(e->high), "told", e->judgement));
	}
	return array;
}

static void effects_in(const json_t *object, struct arena *a, struct verify_result *result)
{
	const json_t *array = tune_json_part(object, "effects"), *o;
	size_t i;
	json_array_foreach (array, i, o) {
		if (i >= VERIFY_EFFECTS)
			break;
		result->effects[i] =
			(struct verify_effect){.metric = str_or(text_in(o, "metric", a), ""),
				.unit = str_or(text_in(o, "unit", a), ""),
				.before = doc_number(o, "before"),
				.after = doc_number(o, "after"),
				.delta = doc_number(o, "delta"),
				.low = doc_number(o, "low"),
				.high = doc_number(o, "high"),
				.judgement = str_or(text_in(o, "told", a), "")};
	}
}

static json_t *side_json(int64_t from_ns, int64_t to_ns, size_t windows, double drops)
{
	return json_pack("{s:o, s:o, s:I, s:o}", "from", json_time(from_ns), "to", json_time(to_ns),
		"windows", (json_int_t)windows, "drops", json_number_or_null(drops));
}

static const char *pause_quality(bool bound)
{
	if (bound)
		return "bound from frames";
	return "measured";
}

json_t *tune_verified_json(const struct tune_verified *verified)
{
	const struct verify_result *r = &verified->result;
	return json_pack(
		"{s:s, s:s, s:o, s:s, s:f, s:o, s:o, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:I, s:s}",
		"id", verified->id, "verdict", verify_verdict_name(r->verdict), "why",
		json_string_or_null(r->why), "match", verify_match_name(verified->match),
		"window_s", (double)verified->window_ns / (double)NS_PER_S, "before",
		side_json(verified->before_from_ns, verified->before_to_ns, r->n_before,
			r->drops_before),
		"after",
		side_json(
			verified->after_from_ns, verified->after_to_ns, r->n_after, r->drops_after),
		"left_out", "disturbed", (json_int_t)r->n_spoiled, "idle", (json_int_t)r->n_idle,
		"unmatched", (json_int_t)r->n_unmatched, "effects", effects_json(r), "ports_worse",
		tune_texts_json(verified->worse, verified->n_worse), "ports_better",
		tune_texts_json(verified->better, verified->n_better), "ports_tested",
		(json_int_t)r->n_ports_tested, "pause_quality", pause_quality(r->pause_bound));
}

const struct tune_verified *tune_verified_parse(const json_t *document, struct arena *a)
{
	const json_t *before = tune_json_part(document, "before"),
		     *after = tune_json_part(document, "after"),
		     *left_out = tune_json_part(document, "left_out");
	struct tune_verified v = {.id = str_or(text_in(document, "id", a), "")};
	if (verify_verdict_parse(doc_word(document, "verdict"), &v.result.verdict) != 0)
		return NULL;
	if (verify_match_parse(doc_word(document, "match"), &v.match) != 0)
		v.match = VERIFY_JOB;
	v.window_ns = (int64_t)llround(doc_number(document, "window_s") * (double)NS_PER_S);
	v.before_from_ns = time_in(before, "from");
	v.before_to_ns = time_in(before, "to");
	v.after_from_ns = time_in(after, "from");
	v.after_to_ns = time_in(after, "to");
	v.n_worse = texts_in(document, "ports_worse", a, &v.worse);
	v.n_better = texts_in(document, "ports_better", a, &v.better);
	v.result.why = str_or(text_in(document, "why", a), "");
	v.result.n_before = count_in(before, "windows");
	v.result.n_after = count_in(after, "windows");
	v.result.drops_before = doc_number(before, "drops");
	v.result.drops_after = doc_number(after, "drops");
	v.result.n_spoiled = count_in(left_out, "disturbed");
	v.result.n_idle = count_in(left_out, "idle");
	v.result.n_unmatched = count_in(left_out, "unmatched");
	v.result.n_ports_tested = count_in(document, "ports_tested");
	v.result.pause_bound = str_eq(doc_word(document, "pause_quality"), pause_quality(true));
	effects_in(document, a, &v.result);
	struct tune_verified *ret = arena_new_of(a, struct tune_verified);
	*ret = v;
	return ret;
}
