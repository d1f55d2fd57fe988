/* vendor_text - plans as text that people read, with a header that says what is changed and what to
 * check first; and the texts of all vendors as one document. */
#include "agent/tuning/vendor_plan.h"

#include "agent/document/json_value.h"
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

static void add_ports(struct str *out, const struct tune_sheet *sheet, const struct render_ctx *ctx)
{
	size_t n = sheet->n_ports;
	if (ctx->n_ports)
		n = ctx->n_ports;
	for (size_t i = 0; i < n && i < PORTS_SHOWN; i++) {
		const char *name;
		if (ctx->n_ports)
			name = ctx->ports[i].name;
		else
			name = sheet->ports[i];
		str_addf(out, "%s %s", str_if(i == 0, ", ports"), name);
	}
	if (n > PORTS_SHOWN)
		str_addf(out, " and %zu more", n - PORTS_SHOWN);
}

/* "syntax: sonic (cli), matches this device" */
static void add_syntax(
	struct str *out, const struct render_ctx *ctx, const struct render_plan *plan)
{
	const struct profile_tune *tune = plan->profile->tune;
	str_addf(out, "syntax: %s", tune->syntax);
	if (tune->n_forms > 1)
		str_addf(out, " (%s)", plan->form->name);
	if (plan->native)
		str_add(out, ", matches this device");
	else if (ctx->platform)
		str_addf(out, ", for orientation only: the profile of this device is '%s'",
			ctx->platform->name);
	else
		str_add(out, ", for orientation only: the platform of this device is unknown");
}

/* "kmin: 8000000 bytes -> 1499904 bytes" */
static void add_change(struct str *out, const struct tune_change *change, bool undo)
{
	double from = change->current, to = change->proposed;
	if (undo) {
		from = change->proposed;
		to = change->current;
	}
	str_addf(out, "%s: ", tune_knob_name(change->knob));
	vendor_text_value_text(out, change->knob, from);
	str_add(out, " -> ");
	vendor_text_value_text(out, change->knob, to);
	if (undo)
		str_add(out, " (previous value)");
}

static const char *when_allowed(enum tune_disruption disruption)
{
	if (disruption == DISRUPTION_HITLESS)
		return "";
	if (disruption == DISRUPTION_UNKNOWN)
		return ", assume drops: job boundary only";
	return ": job boundary only";
}

/* What comes first, the canary or its verification. */
static void add_canary(
	struct str *out, const struct tune_sheet *sheet, const char *device, const char *comment)
{
	if (!str_eq(device, sheet->device))
		str_addf(out, "%s not before the canary %s is verified: rocewatch tune verify %s\n",
			comment, sheet->device, sheet->id);
	else if (sheet->n_rest)
		str_addf(out,
			"%s canary: this device alone; %zu more follow when 'rocewatch tune verify "
			"%s' says keep\n",
			comment, sheet->n_rest, sheet->id);
}

static void vendor_text_header(struct str *out, const struct tune_sheet *sheet,
	const struct render_ctx *ctx, const struct render_plan *plan)
{
	const struct profile_tune *tune = plan->profile->tune;
	const char *m = tune->comment, *device = vendor_text_device_of(sheet, ctx), *what = "apply";
	if (plan->undo)
		what = "undo";
	str_addf(out, "%s %s sheet %s on %s, priority %d", m, what, sheet->id, device,
		sheet->priority);
	add_ports(out, sheet, ctx);
	str_addf(out, "\n%s ", m);
	add_syntax(out, ctx, plan);
	str_add(out, "\n");
	for (size_t i = 0; i < sheet->n_changes; i++) {
		str_addf(out, "%s ", m);
		add_change(out, &sheet->changes[i], plan->undo);
		str_add(out, "\n");
	}
	for (size_t i = 0; i < plan->n_objects; i++)
		str_addf(out, "%s changes %s\n", m, plan->objects[i]);
	/* what this syntax does on a switch of its own says nothing about this one */
	if (!plan->native && sheet->disruption == DISRUPTION_UNKNOWN &&
		plan->disruption != DISRUPTION_UNKNOWN)
		str_addf(out,
			"%s disruption: unknown on this device%s; %s where the syntax is its own\n",
			m, when_allowed(DISRUPTION_UNKNOWN),
			tune_disruption_name(plan->disruption));
	else
		str_addf(out, "%s disruption: %s%s\n", m, tune_disruption_name(plan->disruption),
			when_allowed(plan->disruption));
	add_canary(out, sheet, device, m);
	for (size_t i = 0; i < plan->n_check; i++)
		str_addf(out, "%s check %s\n", m, plan->check[i]);
	for (size_t i = 0; i < tune->n_notes; i++)
		str_addf(out, "%s note: %s\n", m, tune->notes[i]);
}

static void vendor_text_steps_text(struct str *out, const struct render_plan *plan)
{
	const char *m = plan->profile->tune->comment;
	if (plan->form->use)
		str_addf(out, "%s %s\n", m, plan->form->use);
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct render_step *step = &plan->steps[i];
		str_addf(out, "%s step %zu/%zu ->", m, i + 1, plan->n_steps);
		for (unsigned k = 0, n = 0; k < TUNE_KNOBS; k++)
			if (step->sets & 1u << k) {
				str_addf(out, "%s %s = ", str_if(n++, ","),
					tune_knob_name((enum tune_knob)k));
				vendor_text_value_text(out, (enum tune_knob)k, step->after[k]);
			}
		str_add(out, "\n");
		if (step->note)
			str_addf(out, "%s %s\n", m, step->note);
		str_addf(out, "%s\n", step->text);
	}
}

/* A plan with its header: device, objects, disruption, canary, what to check; then the steps. In
 * the arena. */
static const char *render_text(const struct tune_sheet *sheet, const struct render_ctx *ctx,
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

/* What cannot be written; with the form where a vendor has several. */
static json_t *missing_json(
	const struct profile *profile, const struct tune_form *form, const char *missing)
{
	if (profile->tune->n_forms > 1)
		return json_sprintf("%s: %s", form->name, missing);
	return json_string(missing);
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
			json_array_append_new(list, missing_json(profile, form, plan.missing[k]));
	}
	return list;
}

/* The syntax that a page shows: the switch's own, else the one that a profile offers as example. */
static const char *vendor_text_shown(const struct render_ctx *ctx, const char *native)
{
	const struct profile *p;
	if (native)
		return native;
	for (size_t i = 0; (p = vendor_text_speaker(ctx, i)); i++)
		if (p->tune->example)
			return p->tune->syntax;
	return NULL;
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
	json_object_set_new(doc, "native", json_string_or_null(native));
	json_object_set_new(doc, "shown", json_string_or_null(vendor_text_shown(ctx, native)));
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
			str_addf(out, "%s not written for %s%s%s%s: %s\n", t->comment, t->syntax,
				str_if(t->n_forms > 1, " ("), str_if(t->n_forms > 1, form->name),
				str_if(t->n_forms > 1, ")"), plan.missing[k]);
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
		str_addf(&out, "# no profile has commands for '%s'\n", str_or(only, "any vendor"));
	*ret = arena_strdup(ctx->arena, out.s);
	if (any)
		return 0;
	return -ENOTSUP;
}
