/* tune_json - see tune_json.h. */
#include "agent/tuning/tune_json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "db/model/entity.h"

static json_t *tune_json_words(const char *const *words, size_t n)
{
	json_t *a = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(a, json_string_or_null(words[k]));
	return a;
}

static json_t *tune_json_priority_json(int priority)
{
	if (priority == PRIO_NONE)
		return json_null();
	return json_integer(priority);
}

static json_t *changes_json(const struct tune_sheet *sheet)
{
	json_t *a = json_array();
	for (size_t k = 0; k < sheet->n_changes; k++) {
		const struct tune_change *c = &sheet->changes[k];
		json_array_append_new(a,
			json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o}", "knob",
				tune_knob_name(c->knob), "current", json_number_or_null(c->current),
				"proposed", json_number_or_null(c->proposed), "programmed",
				json_number_or_null(c->programmed), "unit", tune_knob_unit(c->knob),
				"why", json_string_or_null(c->why), "source",
				json_string_or_null(c->source)));
	}
	return a;
}

static json_t *affected_json(const struct tune_sheet *sheet)
{
	json_t *a = json_array();
	for (size_t k = 0; k < sheet->n_affected; k++) {
		const struct tune_object *o = &sheet->affected[k];
		json_array_append_new(a,
			json_pack("{s:o, s:o, s:o, s:o}", "device", json_string_or_null(o->device),
				"port", json_string_or_null(o->port), "priority",
				tune_json_priority_json(o->priority), "object",
				json_string_or_null(o->object)));
	}
	return a;
}

static json_t *tune_json_evidence_json(const struct tune_sheet *sheet)
{
	json_t *a = json_array();
	for (size_t k = 0; k < sheet->n_evidence; k++) {
		const struct evidence *e = &sheet->evidence[k];
		json_array_append_new(a,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "metric",
				e->metric, "device", json_string_or_null(e->device), "port",
				json_string_or_null(e->port), "priority",
				tune_json_priority_json(e->priority), "from", json_time(e->from_ns),
				"to", json_time(e->to_ns), "value", json_number_or_null(e->value),
				"unit", json_string_or_null(e->unit), "quality",
				quality_name(e->quality)));
	}
	return a;
}

static json_t *expected_json(const struct tune_sheet *sheet)
{
	json_t *a = json_array();
	for (size_t k = 0; k < sheet->n_expected; k++) {
		const struct tune_expect *e = &sheet->expected[k];
		json_array_append_new(a,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "metric", e->metric, "low",
				json_number_or_null(e->low), "high", json_number_or_null(e->high),
				"likely", json_number_or_null(e->likely), "now",
				json_number_or_null(e->now), "unit", json_string_or_null(e->unit)));
	}
	return a;
}

static json_t *checks_json(const struct tune_sheet *sheet)
{
	json_t *a = json_array();
	for (size_t k = 0; k < sheet->n_checks; k++) {
		const struct tune_check *c = &sheet->checks[k];
		json_array_append_new(a,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "text",
				json_string_or_null(c->text), "before",
				json_number_or_null(c->before), "after",
				json_number_or_null(c->after), "limit",
				json_number_or_null(c->limit), "unit", json_string_or_null(c->unit),
				"ok", c->ok));
	}
	return a;
}

static json_t *or_null(json_t *object)
{
	if (object)
		return object;
	return json_null();
}
/* Where nothing is to be written every vendor is there all the same, as null. */
static json_t *or_vendors(json_t *object)
{
	if (object)
		return object;
	return json_pack("{s:n, s:n, s:n, s:n, s:n}", "sonic", "eos", "nxos", "nvue", "junos");
}

json_t *tune_sheet_json(const struct tune_sheet *sheet, const struct tune_platform *platform,
	json_t *render, json_t *undo, json_t *notes)
{
	json_t *o = json_object();
	char basis[20];
	snprintf(basis, sizeof(basis), "%016llx", (unsigned long long)sheet->basis);
	const struct {
		const char *key;
		json_t *value;
	} fields[] = {
		{"id", json_string_or_null(sheet->id)},
		{"state", json_null()},
		{"device", json_string_or_null(sheet->device)},
		{"port_group", json_string_or_null(sheet->port_group)},
		{"ports", tune_json_words(sheet->ports, sheet->n_ports)},
		{"rest", tune_json_words(sheet->rest, sheet->n_rest)},
		{"priority", tune_json_priority_json(sheet->priority)},
		{"diagnosis", json_string_or_null(sheet->diagnosis)},
		{"advice", json_string(tune_advice_name(sheet->advice))},
		{"blocked_by", json_string_or_null(sheet->blocked_by)},
		{"summary", json_string_or_null(sheet->summary)},
		{"platform",
			platform ? json_pack("{s:o, s:o, s:o}", "name",
					   json_string_or_null(platform->name), "version",
					   json_string_or_null(platform->version), "syntax",
					   json_string_or_null(platform->profile
							   ? platform->profile->syntax
							   : NULL))
				 : json_null()},
		{"changes", changes_json(sheet)},
		{"affected", affected_json(sheet)},
		{"disruption", json_string(tune_disruption_name(sheet->disruption))},
		{"job_boundary", json_boolean(sheet->job_boundary)},
		{"made", json_time(sheet->made_ns)},
		{"expires", json_time(sheet->expires_ns)},
		{"from", json_time(sheet->from_ns)},
		{"to", json_time(sheet->to_ns)},
		{"evidence", tune_json_evidence_json(sheet)},
		{"expected", expected_json(sheet)},
		{"not_expected", json_string_or_null(sheet->not_expected)},
		{"checks", checks_json(sheet)},
		{"collect", tune_json_words(sheet->collect, sheet->n_collect)},
		{"next_steps", tune_json_words(sheet->next_steps, sheet->n_next_steps)},
		{"risk", json_string_or_null(sheet->risk)},
		{"rollback_if", json_string_or_null(sheet->rollback_if)},
		{"render", or_vendors(render)},
		{"undo", or_vendors(undo)},
		{"render_notes", or_null(notes)},
		{"confidence_ratio", json_number_or_null(sheet->confidence_ratio)},
		{"confidence_inputs",
			tune_json_words(sheet->confidence_inputs, sheet->n_confidence_inputs)},
		{"coverage_ratio", json_number_or_null(sheet->coverage_ratio)},
		{"buffer_cost_bytes", json_number_or_null(sheet->buffer_cost_bytes)},
		{"basis", json_string(basis)},
		{"progress",
			json_pack("{s:I, s:I, s:I, s:I}", "made_ns", (json_int_t)sheet->made_ns,
				"expires_ns", (json_int_t)sheet->expires_ns, "from_ns",
				(json_int_t)sheet->from_ns, "to_ns", (json_int_t)sheet->to_ns)},
	};
	for (size_t k = 0; k < rw_countof(fields); k++)
		json_object_set_new(o, fields[k].key, fields[k].value);
	return o;
}

json_t *tune_public(const json_t *sheet)
{
	json_t *o = json_copy((json_t *)sheet);
	json_object_del(o, "progress");
	return o;
}

/* ---- and back ------------------------------------------------------------ */

static size_t parse_words(const json_t *array, struct arena *a, const char ***ret)
{
	size_t n = 0, k;
	const json_t *o;
	*ret = arena_array(a, const char *, json_array_size(array) + 1);
	json_array_foreach (array, k, o)
		if (json_is_string(o))
			(*ret)[n++] = json_string_value(o);
	return n;
}

static int parse_changes(const json_t *array, struct arena *a, struct tune_sheet *sheet)
{
	size_t k;
	const json_t *o;
	sheet->changes = arena_array(a, struct tune_change, json_array_size(array) + 1);
	json_array_foreach (array, k, o) {
		struct tune_change *c = &sheet->changes[sheet->n_changes++];
		if (tune_knob_parse(doc_word(o, "knob"), &c->knob) != 0)
			return -EINVAL;
		c->current = doc_number(o, "current");
		c->proposed = doc_number(o, "proposed");
		c->programmed = doc_number(o, "programmed");
		c->why = doc_word(o, "why");
		c->source = doc_word(o, "source");
	}
	return 0;
}

static enum tune_disruption parse_disruption(const char *word)
{
	for (int k = 0; k <= DISRUPTION_UNKNOWN; k++)
		if (str_eq(tune_disruption_name((enum tune_disruption)k), word))
			return (enum tune_disruption)k;
	return DISRUPTION_UNKNOWN;
}

int tune_sheet_parse(const json_t *object, struct arena *a, struct tune_sheet *sheet)
{
	const json_t *progress = json_object_get(object, "progress");
	*sheet = (struct tune_sheet){.device = json_string_value(json_object_get(object, "device")),
		.port_group = doc_word(object, "port_group"),
		.diagnosis = doc_word(object, "diagnosis"),
		.advice = ADVICE_CHANGE,
		.summary = doc_word(object, "summary"),
		.disruption = parse_disruption(doc_word(object, "disruption")),
		.risk = doc_word(object, "risk"),
		.rollback_if = doc_word(object, "rollback_if"),
		.buffer_cost_bytes = doc_number(object, "buffer_cost_bytes"),
		.confidence_ratio = doc_number(object, "confidence_ratio"),
		.coverage_ratio = doc_number(object, "coverage_ratio")};
	snprintf(sheet->id, sizeof(sheet->id), "%s", doc_word(object, "id"));
	sheet->job_boundary = json_is_true(json_object_get(object, "job_boundary"));
	if (json_is_integer(json_object_get(object, "priority")))
		sheet->priority = (int)json_integer_value(json_object_get(object, "priority"));
	else
		sheet->priority = PRIO_NONE;
	sheet->made_ns = json_integer_value(json_object_get(progress, "made_ns"));
	sheet->expires_ns = json_integer_value(json_object_get(progress, "expires_ns"));
	sheet->n_ports = parse_words(json_object_get(object, "ports"), a, &sheet->ports);
	sheet->n_rest = parse_words(json_object_get(object, "rest"), a, &sheet->rest);
	if (sheet->device)
		return parse_changes(json_object_get(object, "changes"), a, sheet);
	return -EINVAL;
}

/* ---- verification -------------------------------------------------------- */

static json_t *effects_json(const struct verify_result *result)
{
	json_t *a = json_array();
	for (size_t k = 0; k < VERIFY_EFFECTS; k++) {
		const struct verify_effect *e = &result->effects[k];
		json_array_append_new(a,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "metric", e->metric,
				"unit", e->unit, "before", json_number_or_null(e->before), "after",
				json_number_or_null(e->after), "delta",
				json_number_or_null(e->delta), "low", json_number_or_null(e->low),
				"high", json_number_or_null(e->high), "told", e->told));
	}
	return a;
}

static json_t *tune_json_ports_json(
	const struct tune_verified *verified, const size_t *at, size_t n)
{
	json_t *a = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(a, json_string(verified->ports[at[k]]));
	return a;
}

static json_t *side_json(int64_t from_ns, int64_t to_ns, size_t windows, double drops)
{
	return json_pack("{s:o, s:o, s:I, s:o}", "from", json_time(from_ns), "to", json_time(to_ns),
		"windows", (json_int_t)windows, "drops", json_number_or_null(drops));
}

json_t *tune_verified_json(const struct tune_verified *verified)
{
	const struct verify_result *r = verified->result;
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:I, s:s}",
		"id", verified->id, "verdict", verify_verdict_name(r->verdict), "why", r->why,
		"match", verify_match_name(verified->match), "window_s",
		(double)verified->window_ns / (double)NS_PER_S, "before",
		side_json(verified->before_from_ns, verified->before_to_ns, r->n_before,
			r->drops_before),
		"after",
		side_json(
			verified->after_from_ns, verified->after_to_ns, r->n_after, r->drops_after),
		"left_out", "disturbed", (json_int_t)r->n_spoiled, "idle", (json_int_t)r->n_idle,
		"unmatched", (json_int_t)r->n_unmatched, "effects", effects_json(r), "ports_worse",
		tune_json_ports_json(verified, r->ports_worse, r->n_ports_worse), "ports_better",
		tune_json_ports_json(verified, r->ports_better, r->n_ports_better), "ports_tested",
		(json_int_t)r->n_ports_tested, "pause_quality",
		r->pause_bound ? "bound from frames" : "measured");
}
