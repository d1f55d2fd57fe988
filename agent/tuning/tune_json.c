/* tune_json - see tune_json.h. */
#include "agent/tuning/tune_json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/writer.h"
#include "db/model/entity.h"

static json_t *words(const char *const *v, size_t n)
{
	json_t *a = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(a, json_string_or_null(v[k]));
	return a;
}

static json_t *priority_json(int priority)
{
	return priority == PRIO_NONE ? json_null() : json_integer(priority);
}

static json_t *changes_json(const struct tune_sheet *s)
{
	json_t *a = json_array();
	for (size_t k = 0; k < s->n_changes; k++) {
		const struct tune_change *c = &s->changes[k];
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

static json_t *affected_json(const struct tune_sheet *s)
{
	json_t *a = json_array();
	for (size_t k = 0; k < s->n_affected; k++) {
		const struct tune_object *o = &s->affected[k];
		json_array_append_new(a,
			json_pack("{s:o, s:o, s:o, s:o}", "device", json_string_or_null(o->device),
				"port", json_string_or_null(o->port), "priority",
				priority_json(o->priority), "object",
				json_string_or_null(o->object)));
	}
	return a;
}

static json_t *evidence_json(const struct tune_sheet *s)
{
	json_t *a = json_array();
	for (size_t k = 0; k < s->n_evidence; k++) {
		const struct evidence *e = &s->evidence[k];
		json_array_append_new(a,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "metric",
				e->metric, "device", json_string_or_null(e->device), "port",
				json_string_or_null(e->port), "priority",
				priority_json(e->priority), "from", json_time(e->from_ns), "to",
				json_time(e->to_ns), "value", json_number_or_null(e->value), "unit",
				json_string_or_null(e->unit), "quality", quality_name(e->quality)));
	}
	return a;
}

static json_t *expected_json(const struct tune_sheet *s)
{
	json_t *a = json_array();
	for (size_t k = 0; k < s->n_expected; k++) {
		const struct tune_expect *e = &s->expected[k];
		json_array_append_new(a,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "metric", e->metric, "low",
				json_number_or_null(e->low), "high", json_number_or_null(e->high),
				"likely", json_number_or_null(e->likely), "now",
				json_number_or_null(e->now), "unit", json_string_or_null(e->unit)));
	}
	return a;
}

static json_t *checks_json(const struct tune_sheet *s)
{
	json_t *a = json_array();
	for (size_t k = 0; k < s->n_checks; k++) {
		const struct tune_check *c = &s->checks[k];
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

static json_t *or_null(json_t *o)
{
	return o ? o : json_null();
}
/* Where nothing is to be written every vendor is there all the same, as null. */
static json_t *or_vendors(json_t *o)
{
	return o ? o
		 : json_pack("{s:n, s:n, s:n, s:n, s:n}", "sonic", "eos", "nxos", "nvue", "junos");
}

json_t *tune_sheet_json(const struct tune_sheet *s, const struct tune_platform *platform,
	json_t *render, json_t *undo, json_t *notes)
{
	json_t *o = json_object();
	char basis[20];
	snprintf(basis, sizeof(basis), "%016llx", (unsigned long long)s->basis);
	const struct {
		const char *key;
		json_t *value;
	} fields[] = {
		{"id", json_string_or_null(s->id)},
		{"state", json_null()},
		{"device", json_string_or_null(s->device)},
		{"port_group", json_string_or_null(s->port_group)},
		{"ports", words(s->ports, s->n_ports)},
		{"rest", words(s->rest, s->n_rest)},
		{"priority", priority_json(s->priority)},
		{"diagnosis", json_string_or_null(s->diagnosis)},
		{"advice", json_string(tune_advice_name(s->advice))},
		{"blocked_by", json_string_or_null(s->blocked_by)},
		{"summary", json_string_or_null(s->summary)},
		{"platform",
			platform ? json_pack("{s:o, s:o, s:o}", "name",
					   json_string_or_null(platform->name), "version",
					   json_string_or_null(platform->version), "syntax",
					   json_string_or_null(platform->profile
							   ? platform->profile->syntax
							   : NULL))
				 : json_null()},
		{"changes", changes_json(s)},
		{"affected", affected_json(s)},
		{"disruption", json_string(tune_disruption_name(s->disruption))},
		{"job_boundary", json_boolean(s->job_boundary)},
		{"made", json_time(s->made_ns)},
		{"expires", json_time(s->expires_ns)},
		{"from", json_time(s->from_ns)},
		{"to", json_time(s->to_ns)},
		{"evidence", evidence_json(s)},
		{"expected", expected_json(s)},
		{"not_expected", json_string_or_null(s->not_expected)},
		{"checks", checks_json(s)},
		{"collect", words(s->collect, s->n_collect)},
		{"next_steps", words(s->next_steps, s->n_next_steps)},
		{"risk", json_string_or_null(s->risk)},
		{"rollback_if", json_string_or_null(s->rollback_if)},
		{"render", or_vendors(render)},
		{"undo", or_vendors(undo)},
		{"render_notes", or_null(notes)},
		{"confidence_ratio", json_number_or_null(s->confidence_ratio)},
		{"confidence_inputs", words(s->confidence_inputs, s->n_confidence_inputs)},
		{"coverage_ratio", json_number_or_null(s->coverage_ratio)},
		{"buffer_cost_bytes", json_number_or_null(s->buffer_cost_bytes)},
		{"basis", json_string(basis)},
		{"progress",
			json_pack("{s:I, s:I, s:I, s:I}", "made_ns", (json_int_t)s->made_ns,
				"expires_ns", (json_int_t)s->expires_ns, "from_ns",
				(json_int_t)s->from_ns, "to_ns", (json_int_t)s->to_ns)},
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

static int parse_changes(const json_t *array, struct arena *a, struct tune_sheet *s)
{
	size_t k;
	const json_t *o;
	s->changes = arena_array(a, struct tune_change, json_array_size(array) + 1);
	json_array_foreach (array, k, o) {
		struct tune_change *c = &s->changes[s->n_changes++];
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

int tune_sheet_parse(const json_t *o, struct arena *a, struct tune_sheet *s)
{
	const json_t *progress = json_object_get(o, "progress");
	*s = (struct tune_sheet){.device = json_string_value(json_object_get(o, "device")),
		.port_group = doc_word(o, "port_group"),
		.diagnosis = doc_word(o, "diagnosis"),
		.advice = ADVICE_CHANGE,
		.summary = doc_word(o, "summary"),
		.disruption = parse_disruption(doc_word(o, "disruption")),
		.risk = doc_word(o, "risk"),
		.rollback_if = doc_word(o, "rollback_if"),
		.buffer_cost_bytes = doc_number(o, "buffer_cost_bytes"),
		.confidence_ratio = doc_number(o, "confidence_ratio"),
		.coverage_ratio = doc_number(o, "coverage_ratio")};
	snprintf(s->id, sizeof(s->id), "%s", doc_word(o, "id"));
	s->job_boundary = json_is_true(json_object_get(o, "job_boundary"));
	s->priority = json_is_integer(json_object_get(o, "priority"))
		? (int)json_integer_value(json_object_get(o, "priority"))
		: PRIO_NONE;
	s->made_ns = json_integer_value(json_object_get(progress, "made_ns"));
	s->expires_ns = json_integer_value(json_object_get(progress, "expires_ns"));
	s->n_ports = parse_words(json_object_get(o, "ports"), a, &s->ports);
	s->n_rest = parse_words(json_object_get(o, "rest"), a, &s->rest);
	return s->device ? parse_changes(json_object_get(o, "changes"), a, s) : -EINVAL;
}

/* ---- verification -------------------------------------------------------- */

static json_t *effects_json(const struct verify_result *r)
{
	json_t *a = json_array();
	for (size_t k = 0; k < VERIFY_EFFECTS; k++) {
		const struct verify_effect *e = &r->effects[k];
		json_array_append_new(a,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "metric", e->metric,
				"unit", e->unit, "before", json_number_or_null(e->before), "after",
				json_number_or_null(e->after), "delta",
				json_number_or_null(e->delta), "low", json_number_or_null(e->low),
				"high", json_number_or_null(e->high), "told", e->told));
	}
	return a;
}

static json_t *ports_json(const struct tune_verified *v, const size_t *at, size_t n)
{
	json_t *a = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(a, json_string(v->ports[at[k]]));
	return a;
}

static json_t *side_json(int64_t from_ns, int64_t to_ns, size_t windows, double drops)
{
	return json_pack("{s:o, s:o, s:I, s:o}", "from", json_time(from_ns), "to", json_time(to_ns),
		"windows", (json_int_t)windows, "drops", json_number_or_null(drops));
}

json_t *tune_verified_json(const struct tune_verified *v)
{
	const struct verify_result *r = v->result;
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:{s:I, s:I, s:I}, s:o, s:o, s:o, s:I, s:s}",
		"id", v->id, "verdict", verify_verdict_name(r->verdict), "why", r->why, "match",
		verify_match_name(v->match), "window_s", (double)v->window_ns / (double)NS_PER_S,
		"before",
		side_json(v->before_from_ns, v->before_to_ns, r->n_before, r->drops_before),
		"after", side_json(v->after_from_ns, v->after_to_ns, r->n_after, r->drops_after),
		"left_out", "disturbed", (json_int_t)r->n_spoiled, "idle", (json_int_t)r->n_idle,
		"unmatched", (json_int_t)r->n_unmatched, "effects", effects_json(r), "ports_worse",
		ports_json(v, r->ports_worse, r->n_ports_worse), "ports_better",
		ports_json(v, r->ports_better, r->n_ports_better), "ports_tested",
		(json_int_t)r->n_ports_tested, "pause_quality",
		r->pause_bound ? "bound from frames" : "measured");
}
