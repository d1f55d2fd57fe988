/* render_text - a plan as people read it, with the header that says what it touches; and all
 * vendors' as JSON. */
#include "agent/tuning/vendor_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/config.h"

#define PORTS_SHOWN 8

void render_names(struct render_ctx *c, const struct config *config, const char *device)
{
	struct render_name *names =
		arena_array(c->arena, struct render_name, config->tuning.n_names + 1);
	c->names = names;
	c->n_names = 0;
	for (size_t i = 0; i < config->tuning.n_names; i++)
		if (str_glob(config->tuning.names[i].devices, device))
			names[c->n_names++] = (struct render_name){
				config->tuning.names[i].object, config->tuning.names[i].name};
}

static const char *device_of(const struct tune_sheet *s, const struct render_ctx *c)
{
	return c->device ? c->device : s->device;
}

static void value_text(struct str *out, enum tune_knob k, double v)
{
	if (isnan(v))
		str_add(out, "unknown");
	else if (k == KNOB_PMAX)
		str_addf(out, "%g %%", v * 100);
	else if (k == KNOB_ALPHA && v < 1 && rint(1 / v) == 1 / v)
		str_addf(out, "1/%.0f", 1 / v);
	else if (strcmp(tune_knob_unit(k), "bytes") == 0)
		str_addf(out, "%.0f bytes", v);
	else
		str_addf(out, "%g", v);
}

static void ports_line(struct str *out, const struct tune_sheet *s, const struct render_ctx *c)
{
	size_t n = c->n_ports ? c->n_ports : s->n_ports;
	for (size_t i = 0; i < n && i < PORTS_SHOWN; i++)
		str_addf(out, "%s%s", i ? " " : ", ports ",
			c->n_ports ? c->ports[i].name : s->ports[i]);
	if (n > PORTS_SHOWN)
		str_addf(out, " and %zu more", n - PORTS_SHOWN);
}

static void words_line(struct str *out, const struct render_ctx *c, const struct render_plan *p)
{
	const char *syntax = p->profile->tune->syntax;
	str_addf(out,
		p->profile->tune->n_forms > 1 ? "in the words of %s (%s): "
					      : "in the words of %s: ",
		syntax, p->form->name);
	if (p->native)
		str_add(out, "this device's own");
	else if (c->platform)
		str_addf(out, "for orientation, this device is of profile '%s'", c->platform->name);
	else
		str_add(out, "for orientation, it is not known what this device is");
}

static void header(struct str *out, const struct tune_sheet *s, const struct render_ctx *c,
	const struct render_plan *p)
{
	const char *m = p->profile->tune->comment, *device = device_of(s, c);
	str_addf(out, "%s %s of sheet %s on %s, priority %d", m, p->undo ? "undo" : "apply", s->id,
		device, s->priority);
	ports_line(out, s, c);
	str_addf(out, "\n%s ", m);
	words_line(out, c, p);
	str_add(out, "\n");
	for (size_t i = 0; i < s->n_changes; i++) {
		const struct tune_change *ch = &s->changes[i];
		str_addf(out, "%s %s: ", m, tune_knob_name(ch->knob));
		value_text(out, ch->knob, p->undo ? ch->proposed : ch->current);
		str_add(out, " -> ");
		value_text(out, ch->knob, p->undo ? ch->current : ch->proposed);
		str_add(out, p->undo ? " (the value of before)\n" : "\n");
	}
	for (size_t i = 0; i < p->n_objects; i++)
		str_addf(out, "%s touches %s\n", m, p->objects[i]);
	str_addf(out, "%s disruption: %s%s\n", m, tune_disruption_name(p->disruption),
		p->disruption == DISRUPTION_HITLESS           ? ""
			: p->disruption == DISRUPTION_UNKNOWN ? ", assume drops: job boundary only"
							      : ": job boundary only");
	if (!str_eq(device, s->device))
		str_addf(out, "%s not before the canary %s is verified: rocewatch tune verify %s\n",
			m, s->device, s->id);
	else if (s->n_rest)
		str_addf(out,
			"%s canary: this device alone; %zu more follow when 'rocewatch tune verify "
			"%s' says keep\n",
			m, s->n_rest, s->id);
	for (size_t i = 0; i < p->n_check; i++)
		str_addf(out, "%s check %s\n", m, p->check[i]);
	for (size_t i = 0; i < p->n_missing; i++)
		str_addf(out, "%s not written: %s\n", m, p->missing[i]);
	for (size_t i = 0; i < p->profile->tune->n_notes; i++)
		str_addf(out, "%s note: %s\n", m, p->profile->tune->notes[i]);
}

static void steps_text(struct str *out, const struct render_plan *p)
{
	const char *m = p->profile->tune->comment;
	if (p->form->use)
		str_addf(out, "%s %s\n", m, p->form->use);
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct render_step *step = &p->steps[i];
		str_addf(out, "%s step %zu of %zu, after it:", m, i + 1, p->n_steps);
		for (unsigned k = 0, n = 0; k < TUNE_KNOBS; k++)
			if (step->sets & 1u << k) {
				str_addf(out, "%s %s ", n++ ? "," : "",
					tune_knob_name((enum tune_knob)k));
				value_text(out, (enum tune_knob)k, step->after[k]);
			}
		str_add(out, "\n");
		if (step->note)
			str_addf(out, "%s %s\n", m, step->note);
		str_addf(out, "%s\n", step->text);
	}
}

const char *render_text(
	const struct tune_sheet *s, const struct render_ctx *c, const struct render_plan *p)
{
	rw_cleanup(str_done) struct str out = {0};
	header(&out, s, c, p);
	steps_text(&out, p);
	return arena_strdup(c->arena, out.s);
}

/* ---- JSON ---------------------------------------------------------------- */

/* speaker - the i-th profile with words; of those with the same words the device's own, else the
 * first. NULL behind the last. */
static const struct profile *speaker(const struct render_ctx *c, size_t i)
{
	for (size_t k = 0; k < profiles_count(c->profiles); k++) {
		const struct profile *p = profiles_at(c->profiles, k), *own = c->platform;
		bool first = p->tune && p->tune->n_forms;
		for (size_t j = 0; j < k && first; j++) {
			const struct profile_tune *before = profiles_at(c->profiles, j)->tune;
			first = !(before && before->n_forms &&
				str_eq(before->syntax, p->tune->syntax));
		}
		if (first && i-- == 0)
			return own && own->tune && own->tune->n_forms &&
					str_eq(own->tune->syntax, p->tune->syntax)
				? own
				: p;
	}
	return NULL;
}

static json_t *form_json(const struct tune_sheet *s, const struct render_ctx *c,
	const struct profile *p, const struct tune_form *form, bool undo)
{
	struct render_plan plan;
	if (render_plan(s, c, p, form, undo, &plan) < 0)
		return json_null();
	return form->json ? json_loads(plan.steps[0].text, 0, NULL)
			  : json_string(render_text(s, c, &plan));
}

/* vendor_json - one form: its text; several: an object of them; nothing expressible: null. */
static json_t *vendor_json(
	const struct tune_sheet *s, const struct render_ctx *c, const struct profile *p, bool undo)
{
	if (p->tune->n_forms == 1)
		return form_json(s, c, p, &p->tune->forms[0], undo);
	json_t *forms = json_object();
	bool any = false;
	for (size_t i = 0; i < p->tune->n_forms; i++) {
		json_t *v = form_json(s, c, p, &p->tune->forms[i], undo);
		any = any || !json_is_null(v);
		json_object_set_new(forms, p->tune->forms[i].name, v);
	}
	if (any)
		return forms;
	json_decref(forms);
	return json_null();
}

static json_t *all_json(const struct tune_sheet *s, const struct render_ctx *c, bool undo)
{
	json_t *doc = json_object();
	const struct profile *p;
	for (size_t i = 0; (p = speaker(c, i)); i++)
		json_object_set_new(doc, p->tune->syntax, vendor_json(s, c, p, undo));
	return doc;
}

json_t *render_apply(const struct tune_sheet *s, const struct render_ctx *c)
{
	return all_json(s, c, false);
}
json_t *render_undo(const struct tune_sheet *s, const struct render_ctx *c)
{
	return all_json(s, c, true);
}

static json_t *sentences(
	const struct tune_sheet *s, const struct render_ctx *c, const struct profile *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->tune->n_forms; i++) {
		struct render_plan plan;
		const struct tune_form *form = &p->tune->forms[i];
		render_plan(s, c, p, form, false, &plan);
		for (size_t k = 0; k < plan.n_missing; k++)
			json_array_append_new(list,
				p->tune->n_forms > 1
					? json_sprintf("%s: %s", form->name, plan.missing[k])
					: json_string(plan.missing[k]));
	}
	return list;
}

json_t *render_notes(const struct tune_sheet *s, const struct render_ctx *c)
{
	json_t *doc = json_object();
	const char *native = c->platform && c->platform->tune ? c->platform->tune->syntax : NULL;
	const struct profile *p;
	for (size_t i = 0; (p = speaker(c, i)); i++)
		json_object_set_new(doc, p->tune->syntax, sentences(s, c, p));
	json_object_set_new(doc, "native", native ? json_string(native) : json_null());
	return doc;
}

/* ---- one device ---------------------------------------------------------- */

/* vendor_text - all forms; the header stands once. */
static bool vendor_text(struct str *out, const struct tune_sheet *s, const struct render_ctx *c,
	const struct profile *p, bool undo)
{
	const struct profile_tune *t = p->tune;
	bool any = false;
	for (size_t i = 0; i < t->n_forms; i++) {
		struct render_plan plan;
		const struct tune_form *form = &t->forms[i];
		bool ok = render_plan(s, c, p, form, undo, &plan) == 0;
		if (out->n)
			str_add(out, "\n");
		if (ok && any)
			str_addf(out, "%s the same, as %s:\n", t->comment, form->name);
		else if (ok)
			header(out, s, c, &plan);
		if (ok)
			steps_text(out, &plan);
		for (size_t k = 0; !ok && k < plan.n_missing; k++)
			str_addf(out,
				t->n_forms > 1 ? "%s not written for %s (%s): %s\n"
					       : "%s not written for %s%.0s: %s\n",
				t->comment, t->syntax, form->name, plan.missing[k]);
		any = any || ok;
	}
	return any;
}

int render_device(const struct tune_sheet *s, const struct render_ctx *c, const char *syntax,
	bool undo, const char **ret)
{
	rw_cleanup(str_done) struct str out = {0};
	const char *native = c->platform && c->platform->tune && c->platform->tune->n_forms
		? c->platform->tune->syntax
		: NULL,
		   *only = syntax ? syntax : native;
	bool any = false;
	const struct profile *p;
	for (size_t i = 0; (p = speaker(c, i)); i++)
		if (!only || strcmp(only, p->tune->syntax) == 0)
			any |= vendor_text(&out, s, c, p, undo);
	if (!out.n)
		str_addf(&out, "# there are no words for '%s'\n", only ? only : "any vendor");
	*ret = arena_strdup(c->arena, out.s);
	return any ? 0 : -ENOTSUP;
}
