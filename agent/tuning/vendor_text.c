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

void render_names(struct render_ctx *ctx, const struct config *config, const char *device)
{
	struct render_name *names =
		arena_array(ctx->arena, struct render_name, config->tuning.n_names + 1);
	ctx->names = names;
	ctx->n_names = 0;
	for (size_t i = 0; i < config->tuning.n_names; i++)
		if (str_glob(config->tuning.names[i].devices, device))
			names[ctx->n_names++] = (struct render_name){
				config->tuning.names[i].object, config->tuning.names[i].name};
}

static const char *vendor_text_device_of(
	const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	if (ctx->device)
		return ctx->device;
	return sheet->device;
}

static void vendor_text_value_text(struct str *out, enum tune_knob knob, double value)
{
	if (isnan(value))
		str_add(out, "unknown");
	else if (knob == KNOB_PMAX)
		str_addf(out, "%g %%", value * 100);
	else if (knob == KNOB_ALPHA && value < 1 && rint(1 / value) == 1 / value)
		str_addf(out, "1/%.0f", 1 / value);
	else if (strcmp(tune_knob_unit(knob), "bytes") == 0)
		str_addf(out, "%.0f bytes", value);
	else
		str_addf(out, "%g", value);
}

static void ports_line(
	struct str *out, const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	size_t n;
	if (ctx->n_ports)
		n = ctx->n_ports;
	else
		n = sheet->n_ports;
	for (size_t i = 0; i < n && i < PORTS_SHOWN; i++)
		str_addf(out, "%s%s", i ? " " : ", ports ",
			ctx->n_ports ? ctx->ports[i].name : sheet->ports[i]);
	if (n > PORTS_SHOWN)
		str_addf(out, " and %zu more", n - PORTS_SHOWN);
}

static void words_line(
	struct str *out, const struct render_ctx *ctx, const struct render_plan *plan)
{
	const char *syntax = plan->profile->tune->syntax;
	str_addf(out,
		plan->profile->tune->n_forms > 1 ? "in the words of %s (%s): "
						 : "in the words of %s: ",
		syntax, plan->form->name);
	if (plan->native)
		str_add(out, "this device's own");
	else if (ctx->platform)
		str_addf(out, "for orientation, this device is of profile '%s'",
			ctx->platform->name);
	else
		str_add(out, "for orientation, it is not known what this device is");
}

static void vendor_text_header(struct str *out, const struct tune_sheet *sheet,
	const struct render_ctx *ctx, const struct render_plan *plan)
{
	const char *m = plan->profile->tune->comment, *device = vendor_text_device_of(sheet, ctx);
	str_addf(out, "%s %s of sheet %s on %s, priority %d", m, plan->undo ? "undo" : "apply",
		sheet->id, device, sheet->priority);
	ports_line(out, sheet, ctx);
	str_addf(out, "\n%s ", m);
	words_line(out, ctx, plan);
	str_add(out, "\n");
	for (size_t i = 0; i < sheet->n_changes; i++) {
		const struct tune_change *ch = &sheet->changes[i];
		str_addf(out, "%s %s: ", m, tune_knob_name(ch->knob));
		vendor_text_value_text(out, ch->knob, plan->undo ? ch->proposed : ch->current);
		str_add(out, " -> ");
		vendor_text_value_text(out, ch->knob, plan->undo ? ch->current : ch->proposed);
		str_add(out, plan->undo ? " (the value of before)\n" : "\n");
	}
	for (size_t i = 0; i < plan->n_objects; i++)
		str_addf(out, "%s touches %s\n", m, plan->objects[i]);
	str_addf(out, "%s disruption: %s%s\n", m, tune_disruption_name(plan->disruption),
		plan->disruption == DISRUPTION_HITLESS ? ""
			: plan->disruption == DISRUPTION_UNKNOWN
			? ", assume drops: job boundary only"
			: ": job boundary only");
	if (!str_eq(device, sheet->device))
		str_addf(out, "%s not before the canary %s is verified: rocewatch tune verify %s\n",
			m, sheet->device, sheet->id);
	else if (sheet->n_rest)
		str_addf(out,
			"%s canary: this device alone; %zu more follow when 'rocewatch tune verify "
			"%s' says keep\n",
			m, sheet->n_rest, sheet->id);
	for (size_t i = 0; i < plan->n_check; i++)
		str_addf(out, "%s check %s\n", m, plan->check[i]);
	for (size_t i = 0; i < plan->n_missing; i++)
		str_addf(out, "%s not written: %s\n", m, plan->missing[i]);
	for (size_t i = 0; i < plan->profile->tune->n_notes; i++)
		str_addf(out, "%s note: %s\n", m, plan->profile->tune->notes[i]);
}

static void vendor_text_steps_text(struct str *out, const struct render_plan *plan)
{
	const char *m = plan->profile->tune->comment;
	if (plan->form->use)
		str_addf(out, "%s %s\n", m, plan->form->use);
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct render_step *step = &plan->steps[i];
		str_addf(out, "%s step %zu of %zu, after it:", m, i + 1, plan->n_steps);
		for (unsigned k = 0, n = 0; k < TUNE_KNOBS; k++)
			if (step->sets & 1u << k) {
				str_addf(out, "%s %s ", str_if(n++, ","),
					tune_knob_name((enum tune_knob)k));
				vendor_text_value_text(out, (enum tune_knob)k, step->after[k]);
			}
		str_add(out, "\n");
		if (step->note)
			str_addf(out, "%s %s\n", m, step->note);
		str_addf(out, "%s\n", step->text);
	}
}

const char *render_text(const struct tune_sheet *sheet, const struct render_ctx *ctx,
	const struct render_plan *plan)
{
	rw_cleanup(str_done) struct str out = {0};
	vendor_text_header(&out, sheet, ctx, plan);
	vendor_text_steps_text(&out, plan);
	return arena_strdup(ctx->arena, out.s);
}

/* ---- JSON ---------------------------------------------------------------- */

/* vendor_text_speaker - the i-th profile with words; of those with the same words the device's own,
 * else the first. NULL behind the last. */
static const struct profile *vendor_text_speaker(const struct render_ctx *ctx, size_t i)
{
	for (size_t k = 0; k < profiles_count(ctx->profiles); k++) {
		const struct profile *p = profiles_at(ctx->profiles, k), *own = ctx->platform;
		bool first = p->tune && p->tune->n_forms;
		for (size_t j = 0; j < k && first; j++) {
			const struct profile_tune *before = profiles_at(ctx->profiles, j)->tune;
			first = !(before && before->n_forms &&
				str_eq(before->syntax, p->tune->syntax));
		}
		if (first && i-- == 0) {
			if (own && own->tune && own->tune->n_forms &&
				str_eq(own->tune->syntax, p->tune->syntax))
				return own;
			return p;
		}
	}
	return NULL;
}

static json_t *form_json(const struct tune_sheet *sheet, const struct render_ctx *ctx,
	const struct profile *profile, const struct tune_form *form, bool undo)
{
	struct render_plan plan;
	if (render_plan(sheet, ctx, profile, form, undo, &plan) < 0)
		return json_null();
	if (form->json)
		return json_loads(plan.steps[0].text, 0, NULL);
	return json_string(render_text(sheet, ctx, &plan));
}

/* vendor_json - one form: its text; several: an object of them; nothing expressible: null. */
static json_t *vendor_json(const struct tune_sheet *sheet, const struct render_ctx *ctx,
	const struct profile *profile, bool undo)
{
	if (profile->tune->n_forms == 1)
		return form_json(sheet, ctx, profile, &profile->tune->forms[0], undo);
	json_t *forms = json_object();
	bool any = false;
	for (size_t i = 0; i < profile->tune->n_forms; i++) {
		json_t *v = form_json(sheet, ctx, profile, &profile->tune->forms[i], undo);
		any = any || !json_is_null(v);
		json_object_set_new(forms, profile->tune->forms[i].name, v);
	}
	if (any)
		return forms;
	json_decref(forms);
	return json_null();
}

static json_t *all_json(const struct tune_sheet *sheet, const struct render_ctx *ctx, bool undo)
{
	json_t *doc = json_object();
	const struct profile *p;
	for (size_t i = 0; (p = vendor_text_speaker(ctx, i)); i++)
		json_object_set_new(doc, p->tune->syntax, vendor_json(sheet, ctx, p, undo));
	return doc;
}

json_t *render_nothing(const struct profiles *profiles)
{
	const struct render_ctx ctx = {.profiles = profiles};
	json_t *doc = json_object();
	const struct profile *p;
	for (size_t i = 0; (p = vendor_text_speaker(&ctx, i)); i++)
		json_object_set_new(doc, p->tune->syntax, json_null());
	return doc;
}

bool render_knows(const struct profiles *profiles, const char *syntax)
{
	const struct render_ctx ctx = {.profiles = profiles};
	const struct profile *p;
	for (size_t i = 0; (p = vendor_text_speaker(&ctx, i)); i++)
		if (str_eq(p->tune->syntax, syntax))
			return true;
	return false;
}

const char *render_syntaxes(const struct profiles *profiles, struct arena *a)
{
	const struct render_ctx ctx = {.profiles = profiles};
	const struct profile *p, *next;
	const char *list = "";
	for (size_t i = 0; (p = vendor_text_speaker(&ctx, i)); i++) {
		next = vendor_text_speaker(&ctx, i + 1);
		const char *before = ", ";
		if (i == 0)
			before = "";
		else if (!next)
			before = " or ";
		list = arena_printf(a, "%s%s%s", list, before, p->tune->syntax);
	}
	return list;
}

json_t *render_apply(const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	return all_json(sheet, ctx, false);
}
json_t *render_undo(const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	return all_json(sheet, ctx, true);
}

static json_t *vendor_text_sentences(
	const struct tune_sheet *sheet, const struct render_ctx *ctx, const struct profile *profile)
{
	json_t *list = json_array();
	for (size_t i = 0; i < profile->tune->n_forms; i++) {
		struct render_plan plan;
		const struct tune_form *form = &profile->tune->forms[i];
		render_plan(sheet, ctx, profile, form, false, &plan);
		for (size_t k = 0; k < plan.n_missing; k++)
			json_array_append_new(list,
				profile->tune->n_forms > 1
					? json_sprintf("%s: %s", form->name, plan.missing[k])
					: json_string(plan.missing[k]));
	}
	return list;
}

json_t *render_notes(const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	json_t *doc = json_object();
	const char *native = NULL;
	if (ctx->platform && ctx->platform->tune)
		native = ctx->platform->tune->syntax;
	const struct profile *p;
	for (size_t i = 0; (p = vendor_text_speaker(ctx, i)); i++)
		json_object_set_new(doc, p->tune->syntax, vendor_text_sentences(sheet, ctx, p));
	json_object_set_new(doc, "native", native ? json_string(native) : json_null());
	return doc;
}

/* ---- one device ---------------------------------------------------------- */

/* vendor_text - all forms; the header stands once. */
static bool vendor_text(struct str *out, const struct tune_sheet *sheet,
	const struct render_ctx *ctx, const struct profile *profile, bool undo)
{
	const struct profile_tune *t = profile->tune;
	bool any = false;
	for (size_t i = 0; i < t->n_forms; i++) {
		struct render_plan plan;
		const struct tune_form *form = &t->forms[i];
		bool ok = render_plan(sheet, ctx, profile, form, undo, &plan) == 0;
		if (out->n)
			str_add(out, "\n");
		if (ok && any)
			str_addf(out, "%s the same, as %s:\n", t->comment, form->name);
		else if (ok)
			vendor_text_header(out, sheet, ctx, &plan);
		if (ok)
			vendor_text_steps_text(out, &plan);
		for (size_t k = 0; !ok && k < plan.n_missing; k++)
			str_addf(out,
				t->n_forms > 1 ? "%s not written for %s (%s): %s\n"
					       : "%s not written for %s%.0s: %s\n",
				t->comment, t->syntax, form->name, plan.missing[k]);
		any = any || ok;
	}
	return any;
}

int render_device(const struct tune_sheet *sheet, const struct render_ctx *ctx, const char *syntax,
	bool undo, const char **ret)
{
	rw_cleanup(str_done) struct str out = {0};
	const char *native = NULL;
	if (ctx->platform && ctx->platform->tune && ctx->platform->tune->n_forms)
		native = ctx->platform->tune->syntax;
	const char *only = native;
	if (syntax)
		only = syntax;
	bool any = false;
	const struct profile *p;
	for (size_t i = 0; (p = vendor_text_speaker(ctx, i)); i++)
		if (!only || strcmp(only, p->tune->syntax) == 0)
			any |= vendor_text(&out, sheet, ctx, p, undo);
	if (!out.n)
		str_addf(&out, "# there are no words for '%s'\n", str_or(only, "any vendor"));
	*ret = arena_strdup(ctx->arena, out.s);
	if (any)
		return 0;
	return -ENOTSUP;
}
