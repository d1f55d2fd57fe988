/* render - orders the steps of a change and fills the templates (see the header). */
#include "agent/tuning/vendor_plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

struct fill {
	bool undo;
	const struct tune_sheet *sheet;
	const struct render_ctx *c;
	const struct profile *p;
	const struct tune_template *t;
	const struct tune_asic *asic;
	struct render_plan *plan;
	double from[TUNE_KNOBS], to[TUNE_KNOBS]; /* NAN unknown; equal where nothing changes */
	double written[TUNE_KNOBS]; /* .to in the vendor's unit */
	unsigned changed; /* bits */
	double limit; /* of the queue, bytes; NAN unknown */
	const struct render_port *port;
	bool in_name, optional; /* inside of a name, of [ ] */
};

static void add(struct arena *a, const char ***v, size_t *n, const char *text)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*v)[i], text) == 0)
			return;
	const char **grown = arena_array(a, const char *, *n + 1);
	if (*n)
		memcpy(grown, *v, *n * sizeof(*grown));
	grown[(*n)++] = text;
	*v = grown;
}

static void missing(struct fill *f, const char *text)
{
	add(f->c->arena, &f->plan->missing, &f->plan->n_missing, text);
}

/* ---- words --------------------------------------------------------------- */

static bool is(const char *w, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(w, word, n) == 0;
}

static bool expand(struct fill *f, const char *text, struct str *out);

static bool number(struct str *out, double v)
{
	if (isnan(v))
		return false;
	str_addf(out, "%.0f", v);
	return true;
}

static void check(struct fill *f, const char *text)
{
	add(f->c->arena, &f->plan->check, &f->plan->n_check, text);
}

/* unknown_text - of a value that stays what it is and is not known exactly: to be taken from the
 * configuration. */
static void unknown_text(struct fill *f, enum tune_knob k, struct str *out)
{
	str_add(out, "<");
	for (const char *c = tune_knob_name(k); *c; c++)
		str_addf(out, "%c", *c == '_' ? '_' : *c & ~0x20);
	str_add(out, ">");
	check(f,
		arena_printf(f->c->arena,
			"%s: does not change; put in the number that is configured",
			tune_knob_name(k)));
}

/* of_queue - the knob is written in percent of what the queue may hold. */
static bool of_queue(const struct fill *f, enum tune_knob k)
{
	return f->p->tune->knobs[k].unit == TUNE_PERCENT && strcmp(tune_knob_unit(k), "bytes") == 0;
}

/* percent_text - of a level whose percent is not known here: what a queue may hold is not, or is
 * less by pool and alpha of the priority group. */
static void percent_text(struct fill *f, enum tune_knob k, struct str *out)
{
	str_add(out, "<");
	for (const char *c = tune_knob_name(k); *c; c++)
		str_addf(out, "%c", *c & ~0x20);
	str_add(out, "-PERCENT>");
	check(f,
		arena_printf(f->c->arena,
			"%s: put in what %.0f bytes are in percent of what this queue may hold%s",
			tune_knob_name(k), f->to[k],
			f->c->queue_limit_bytes > 0 ? arena_printf(f->c->arena,
							      ", which has to be more than the "
							      "%.0f bytes that pool and alpha give",
							      f->c->queue_limit_bytes)
						    : "; neither pool and alpha nor the queue's "
						      "own limit are known here"));
}

static bool knob_text(struct fill *f, enum tune_knob k, struct str *out)
{
	const struct tune_knob_rule *r = &f->p->tune->knobs[k];
	double v = f->written[k];
	if (isnan(v) && (f->changed & 1u << k) && of_queue(f, k)) {
		percent_text(f, k, out);
		return true;
	}
	if (isnan(v) && !(f->changed & 1u << k) && !f->optional) {
		unknown_text(f, k, out);
		return true;
	}
	if (!isnan(v) && r->unit == TUNE_FRACTION && v < 1) {
		str_addf(out, "1/%.0f", 1 / v);
		return true;
	}
	return number(out, v);
}

/* cable_of - the length a step sets: the true one to apply, the configured one to undo. */
static double cable_of(const struct fill *f, const struct render_port *p)
{
	return f->undo ? p->cable_now_m : p->cable_m;
}

static double cable_max(const struct fill *f)
{
	double max = NAN;
	for (size_t i = 0; i < f->c->n_ports; i++)
		max = fmax(max, cable_of(f, &f->c->ports[i]));
	return max;
}

static bool word_text(struct fill *f, const char *w, size_t n, struct str *out)
{
	enum tune_knob k;
	char word[32];
	snprintf(word, sizeof(word), "%.*s", (int)n, w);
	if (tune_knob_parse(word, &k) == 0)
		return knob_text(f, k, out);
	if (is(w, n, "priority"))
		return number(out, f->sheet->priority);
	if (is(w, n, "queue"))
		return number(out, f->c->queue >= 0 ? f->c->queue : f->sheet->priority);
	if (is(w, n, "buffer_bytes"))
		return number(out, f->written[KNOB_HEADROOM] + f->written[KNOB_XOFF_LEVEL]);
	if (is(w, n, "cable_max_m"))
		return number(out, ceil(cable_max(f)));
	if (!f->port)
		return false;
	if (is(w, n, "port")) {
		str_add(out, f->port->name);
		return true;
	}
	if (is(w, n, "speed_mbps"))
		return f->port->speed_bps > 0 &&
			number(out, (double)(f->port->speed_bps / 1000000));
	if (is(w, n, "cable_m"))
		return number(out, ceil(cable_of(f, f->port)));
	if (is(w, n, "cable_now_m"))
		return number(out, ceil(f->port->cable_now_m));
	return false;
}

/* name_text - what an object is called here: as told, else the standard, whose unknown parts stand
 * in it as <WORDS>. */
static bool name_text(struct fill *f, const char *w, size_t n, struct str *out)
{
	const struct profile_tune *t = f->p->tune;
	for (size_t i = 0; i < f->c->n_names; i++)
		if (is(w, n, f->c->names[i].name)) {
			str_add(out, f->c->names[i].value);
			return true;
		}
	for (size_t i = 0; i < t->n_names; i++) {
		rw_cleanup(str_done) struct str name = {0};
		if (!is(w, n, t->names[i].name))
			continue;
		f->in_name = true;
		expand(f, t->names[i].standard, &name);
		f->in_name = false;
		str_add(out, name.s);
		check(f,
			arena_printf(f->c->arena, "%s %s: %s, '%s' tells it", t->names[i].name,
				name.s,
				t->names[i].placeholder || strchr(name.s, '<')
					? "a placeholder to be replaced"
					: "the standard name, not read back",
				t->names[i].check));
		return true;
	}
	return false;
}

/* optional_text - what stands in [ ], where all of it is known. */
static void optional_text(struct fill *f, const char *text, struct str *out)
{
	rw_cleanup(str_done) struct str part = {0};
	f->optional = true;
	if (expand(f, text, &part) && part.n)
		str_add(out, part.s);
	else
		check(f,
			arena_printf(f->c->arena,
				"%.*s: is not known and left out; if one is configured, put it in "
				"as it is",
				(int)strcspn(text + strcspn(text, "{") + 1, "}"),
				text + strcspn(text, "{") + 1));
	f->optional = false;
}

/* expand - false when a word outside of [ ] is not known; in names, unknown words stand as <WORDS>.
 */
static bool expand(struct fill *f, const char *text, struct str *out)
{
	for (const char *p = text; *p;) {
		if (*p == '[') {
			const char *end = strchr(p, ']');
			optional_text(f,
				arena_strndup(f->c->arena, p + 1, (size_t)(end ? end - p - 1 : 0)),
				out);
			p = end ? end + 1 : p + 1;
		} else if (*p == '{') {
			size_t n = strcspn(p + 1, "}");
			if (!word_text(f, p + 1, n, out) && !name_text(f, p + 1, n, out)) {
				if (!f->in_name)
					return false;
				str_add(out, "<");
				for (size_t i = 0; i < n; i++)
					str_addf(out, "%c",
						p[1 + i] == '_' ? '_' : p[1 + i] & ~0x20);
				str_add(out, ">");
			}
			p += n + 2;
		} else {
			size_t n = strcspn(p, "[{");
			str_addn(out, p, n);
			p += n;
		}
	}
	return true;
}

/* ---- values -------------------------------------------------------------- */

static double cell_of(const struct fill *f)
{
	return f->c->cell_bytes > 0                  ? f->c->cell_bytes
		: f->asic && f->asic->cell_bytes > 0 ? f->asic->cell_bytes
						     : NAN;
}

/* exact - @value as this vendor writes it, if it can without rounding. */
static double exact(
	const struct tune_knob_rule *r, enum tune_knob k, double value, double cell, double limit)
{
	struct tune_knob_rule fine = *r;
	fine.by_cell = false;
	if (r->unit == TUNE_BYTES)
		fine.step = 1;
	double written = tune_knob_write(&fine, k, value, cell, limit, TUNE_NEAREST);
	return fabs(tune_knob_value(r, k, written, cell, limit) - value) <=
			1e-9 * fmax(1, fabs(value))
		? written
		: NAN;
}

static bool sets_cable(const struct tune_template *t)
{
	return t->when == TUNE_BY_CABLE;
}

/* one_length_right - all ports share the length that a step sets, and it is the right one already.
 */
static bool one_length_right(const struct render_ctx *c, const struct tune_template *t)
{
	double is = NAN, now = NAN;
	for (size_t i = 0; i < c->n_ports; i++) {
		is = fmax(is, ceil(c->ports[i].cable_m));
		now = fmax(now, ceil(c->ports[i].cable_now_m));
	}
	return t->text && strstr(t->text, "{cable_max_m}") && is == now;
}

/* by_cable - whether headroom changes because the lengths configured are not those of the cables.
 * All have to be known: else it could not be undone. */
static bool by_cable(const struct render_ctx *c)
{
	bool differ = false;
	for (size_t i = 0; i < c->n_ports; i++) {
		const struct render_port *p = &c->ports[i];
		if (isnan(p->cable_m) || isnan(p->cable_now_m))
			return false;
		differ = differ || ceil(p->cable_m) != ceil(p->cable_now_m);
	}
	return differ;
}

static void values_take(struct fill *f)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		f->from[k] = f->to[k] = f->c->in_force[k];
	for (size_t i = 0; i < f->sheet->n_changes; i++) {
		const struct tune_change *ch = &f->sheet->changes[i];
		f->from[ch->knob] = f->undo ? ch->proposed : ch->current;
		f->to[ch->knob] = f->undo ? ch->current : ch->proposed;
		f->changed |= 1u << ch->knob;
	}
}

/* limit_of - what the queue may hold; NAN where a level in force or proposed is above it: then it
 * is not this queue's. */
static double limit_of(const struct fill *f)
{
	static const enum tune_knob levels[] = {KNOB_KMIN, KNOB_KMAX};
	for (size_t i = 0; i < rw_countof(levels); i++)
		if (f->from[levels[i]] > f->c->queue_limit_bytes ||
			f->to[levels[i]] > f->c->queue_limit_bytes)
			return NAN;
	return f->c->queue_limit_bytes;
}

/* values_write - the numbers. Changes are rounded as the vendor does (undo: never); what does not
 * change is written as it is. */
static void values_write(struct fill *f)
{
	double cell = cell_of(f), limit = f->limit = limit_of(f);
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		const struct tune_knob_rule *r = &f->p->tune->knobs[k];
		enum tune_knob knob = (enum tune_knob)k;
		f->written[k] = NAN;
		if (isnan(f->to[k]) || !r->settable)
			continue;
		/* what is taken back is what was written */
		if ((f->changed & 1u << k) && f->undo) {
			double rounded = tune_knob_round(r, knob, f->from[k], cell, limit);
			f->from[k] = isnan(rounded) && of_queue(f, knob) ? f->from[k] : rounded;
		}
		if ((f->changed & 1u << k) && !f->undo) {
			f->written[k] = tune_knob_write(
				r, knob, f->to[k], cell, limit, tune_knob_safe(knob));
			if (!isnan(f->written[k]))
				f->to[k] = tune_knob_value(r, knob, f->written[k], cell, limit);
		} else {
			f->written[k] = exact(r, knob, f->to[k], cell, limit);
		}
	}
}

/* ---- order --------------------------------------------------------------- */

/* rank - d.2 rule 6, and that what a group may take shrinks before what it needs: lower comes
 * first. */
static int rank(const struct fill *f, enum tune_knob k)
{
	static const struct {
		int up, down;
	} ranks[TUNE_KNOBS] = {
		[KNOB_HEADROOM] = {0, 12},
		[KNOB_XOFF_LEVEL] = {1, 2},
		[KNOB_XON_LEVEL] = {2, 1},
		[KNOB_XON_OFFSET] = {3, 3},
		[KNOB_ALPHA] = {4, 11},
		[KNOB_KMAX] = {5, 7},
		[KNOB_KMIN] = {6, 6},
		[KNOB_PMAX] = {8, 8},
		[KNOB_WEIGHT] = {9, 9},
	};
	return f->to[k] > f->from[k] ? ranks[k].up : ranks[k].down;
}

/* ---- steps --------------------------------------------------------------- */

static const struct tune_template *template_of(
	const struct fill *f, const struct tune_form *form, enum tune_knob k)
{
	bool cable = by_cable(f->c);
	for (size_t i = 0; i < form->n_steps; i++) {
		const struct tune_template *t = &form->steps[i];
		bool when = t->when == TUNE_ALWAYS || (t->when == TUNE_BY_CABLE) == cable;
		if ((t->sets & 1u << k) && when &&
			!(t->size_apart && f->asic && f->asic->size_holds_headroom))
			return t;
	}
	return NULL;
}

static const char *why_no_template(
	const struct fill *f, const struct tune_form *form, enum tune_knob k)
{
	const struct tune_template *t = NULL;
	for (size_t i = 0; i < form->n_steps && !t; i++)
		if (form->steps[i].sets & 1u << k)
			t = &form->steps[i];
	if (!t)
		return "has no words in this form";
	if (t->size_apart || !sets_cable(t))
		return "on this ASIC the size of the group has to follow it, which is not read "
		       "back: use the other form";
	return "is set by cable length here, and that needs the true length of these cables "
	       "('cable' of the links) and the length that is configured, and that they differ";
}

static const char *why_no_number(const struct fill *f, enum tune_knob k)
{
	const struct tune_knob_rule *r = &f->p->tune->knobs[k];
	if (r->unit == TUNE_CELLS && isnan(cell_of(f)))
		return "is written in cells of the buffer, whose size is not known (declare cell "
		       "in 'thresholds')";
	return f->undo ? "the value of before cannot be written exactly"
		       : "the value is out of the range that can be written";
}

/* place - of a knob's step in the order: that of the first knob it brings into force, for headroom
 * decides over xon, and xoff over xon. */
static int place(const struct fill *f, const struct tune_form *form, enum tune_knob k)
{
	const struct tune_template *t = template_of(f, form, k);
	for (unsigned i = 0; t && i < k; i++)
		if (t->sets & f->changed & 1u << i)
			return rank(f, (enum tune_knob)i);
	return rank(f, k);
}

static size_t order(
	const struct fill *f, const struct tune_form *form, enum tune_knob ret[TUNE_KNOBS])
{
	size_t n = 0;
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		if (!(f->changed & 1u << k))
			continue;
		size_t at = n++;
		for (; at > 0 && place(f, form, ret[at - 1]) > place(f, form, (enum tune_knob)k);
			at--)
			ret[at] = ret[at - 1];
		ret[at] = (enum tune_knob)k;
	}
	return n;
}

/* cannot_write - why a changed knob cannot be written, or NULL. */
static const char *cannot_write(
	const struct fill *f, const struct tune_form *form, enum tune_knob k)
{
	const struct tune_knob_rule *r = &f->p->tune->knobs[k];
	const struct tune_template *t;
	if (!r->settable)
		return r->cannot ? r->cannot : "nothing is known of it";
	if (!tune_rule_applies(r, f->c->description))
		return "its words hold for certain platforms only, and this device is not known to "
		       "be one of them";
	if (isnan(f->from[k]) || isnan(f->to[k]))
		return "the value in force is not known, so there would be no way back";
	if (!(t = template_of(f, form, k)))
		return why_no_template(f, form, k);
	if (one_length_right(f->c, t))
		return "one cable length holds for all these ports here, and the longest is "
		       "configured already";
	if (!sets_cable(t) && isnan(f->written[k]) && !(f->undo && t->undo) &&
		!(t->undo && of_queue(f, k)))
		return why_no_number(f, k);
	if (!f->undo && !sets_cable(t) && !t->undo &&
		isnan(exact(r, k, f->from[k], cell_of(f), f->limit)))
		return "the value in force cannot be written exactly in this unit, so there would "
		       "be no way back";
	return NULL;
}

/* unknown_words - the knobs a text needs and nobody knows, for the message. */
static const char *unknown_words(const struct fill *f)
{
	rw_cleanup(str_done) struct str out = {0};
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if ((f->t->sets & 1u << k) && isnan(f->written[k]))
			str_addf(
				&out, "%s%s", out.n ? ", " : "", tune_knob_name((enum tune_knob)k));
	return arena_printf(f->c->arena,
		"needs values that are not known (%s): declare them in 'thresholds'",
		out.n ? out.s : "ports, speeds or cables");
}

/* rolls_back - undo, where the values of before cannot be written exactly and there is another way
 * back. */
static bool rolls_back(const struct fill *f)
{
	bool exact = true;
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		exact = exact && !((f->t->sets & f->changed & 1u << k) && isnan(f->written[k]));
	return f->undo && f->t->undo && !exact;
}

/* text_step - the template once per port, the same text once. false: a word is not known. */
static bool text_step(struct fill *f, struct str *out)
{
	const char **seen = NULL;
	size_t n = 0, ports = f->c->n_ports ? f->c->n_ports : 1;
	bool rollback = rolls_back(f);
	for (size_t i = 0; i < ports; i++) {
		rw_cleanup(str_done) struct str one = {0};
		f->port = f->c->n_ports ? &f->c->ports[i] : NULL;
		if (f->port && sets_cable(f->t) && strstr(f->t->text, "{cable_m}") &&
			ceil(f->port->cable_m) == ceil(f->port->cable_now_m))
			continue; /* is right already */
		if (!expand(f, rollback ? f->t->undo : f->t->text, &one))
			return false;
		add(f->c->arena, &seen, &n, arena_strdup(f->c->arena, one.s));
	}
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s%s", i ? "\n" : "", seen[i]);
	return n > 0;
}

static bool field_changed(const struct fill *f, const char *value)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		char word[32];
		snprintf(word, sizeof(word), "{%s}", tune_knob_name((enum tune_knob)k));
		if (strstr(value, word))
			return (f->changed & 1u << k) != 0;
	}
	return true; /* of no knob: a cable length */
}

static bool json_step(struct fill *f, struct str *out)
{
	json_t *doc = json_object(), *table = json_object();
	size_t ports = f->c->n_ports ? f->c->n_ports : 1;
	bool ok = true;
	json_object_set_new(doc, f->t->table, table);
	for (size_t i = 0; i < ports && ok; i++) {
		rw_cleanup(str_done) struct str key = {0};
		f->port = f->c->n_ports ? &f->c->ports[i] : NULL;
		if (f->port && sets_cable(f->t) &&
			ceil(f->port->cable_m) == ceil(f->port->cable_now_m))
			continue;
		ok = expand(f, f->t->key, &key);
		json_t *row = ok ? json_object_get(table, key.s) : NULL;
		if (ok && !row)
			json_object_set_new(table, key.s, row = json_object());
		for (size_t k = 0; k < f->t->n_fields && ok; k++) {
			rw_cleanup(str_done) struct str field = {0}, value = {0};
			if (!field_changed(f, f->t->fields[k].value))
				continue;
			ok = expand(f, f->t->fields[k].field, &field) &&
				expand(f, f->t->fields[k].value, &value);
			if (ok)
				json_object_set_new(row, field.s, json_string(value.s));
		}
	}
	char *text = ok ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	if (text)
		str_add(out, text);
	free(text);
	json_decref(doc);
	return ok;
}

/* objects_add - what the step touches. */
static void objects_add(struct fill *f)
{
	if (f->t->object)
		add(f->c->arena, &f->plan->objects, &f->plan->n_objects, f->t->object);
	for (unsigned k = 0; k < TUNE_KNOBS && !f->t->object; k++) {
		const struct tune_knob_rule *r = &f->p->tune->knobs[k];
		if (f->t->sets & f->changed & 1u << k)
			add(f->c->arena, &f->plan->objects, &f->plan->n_objects,
				r->shared ? arena_printf(f->c->arena,
						    "%s: everything bound to it changes, the sheet "
						    "lists what",
						    r->object)
					  : r->object);
	}
}

/* step_add - the step of @f->t; in a transaction it joins the one that is there. */
static bool step_add(struct fill *f, double state[TUNE_KNOBS])
{
	struct render_plan *plan = f->plan;
	rw_cleanup(str_done) struct str text = {0};
	struct render_step *s =
		plan->form->commit && plan->n_steps ? &plan->steps[0] : &plan->steps[plan->n_steps];
	if (!(plan->form->json ? json_step(f, &text) : text_step(f, &text)))
		return false;
	if (s == &plan->steps[plan->n_steps])
		plan->n_steps++;
	s->text = s->text ? arena_printf(f->c->arena, "%s\n%s", s->text, text.s)
			  : arena_strdup(f->c->arena, text.s);
	if (!rolls_back(f))
		s->note = s->note && f->t->note
			? arena_printf(f->c->arena, "%s; %s", s->note, f->t->note)
			: f->t->note ? f->t->note
				     : s->note;
	s->sets |= f->t->sets & f->changed;
	objects_add(f);
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if (f->t->sets & f->changed & 1u << k) {
			enum tune_disruption d = f->p->tune->knobs[k].disruption;
			state[k] = f->to[k];
			plan->disruption = d > plan->disruption ? d : plan->disruption;
		}
	memcpy(s->after, state, sizeof(s->after));
	return true;
}

/* one_template - JSON documents are not a sequence: what needs more than one object in order is not
 * written so. */
static bool one_template(const struct fill *f, const struct tune_form *form)
{
	const struct tune_template *first = NULL;
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		const struct tune_template *t =
			f->changed & 1u << k ? template_of(f, form, (enum tune_knob)k) : NULL;
		if (t && first && t != first)
			return false;
		first = t ? t : first;
	}
	return true;
}

static bool same_level(const struct fill *f)
{
	double lo = f->written[KNOB_KMIN], hi = f->written[KNOB_KMAX];
	return (f->changed & (1u << KNOB_KMIN | 1u << KNOB_KMAX)) && !isnan(lo) && !isnan(hi) &&
		lo >= hi && f->from[KNOB_KMIN] != f->from[KNOB_KMAX];
}

/* not_writable - a knob of the step at hand that cannot be written, or TUNE_KNOBS: a step is done
 * as a whole or not at all. */
static unsigned not_writable(
	const struct fill *f, const struct fill *other, const struct tune_form *form, unsigned sets)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if ((sets & f->changed & 1u << k) &&
			(cannot_write(f, form, (enum tune_knob)k) ||
				cannot_write(other, form, (enum tune_knob)k)))
			return k;
	return TUNE_KNOBS;
}

/* why_not - a changed knob stays what it is, or NULL. @other is the way in the other direction:
 * what cannot be done there is not done here. */
static const char *why_not(
	struct fill *f, const struct fill *other, const struct tune_form *form, enum tune_knob k)
{
	const char *why = cannot_write(f, form, k);
	if (!why && !(why = cannot_write(other, form, k))) {
		/* neither moves past the other */
		unsigned sets = template_of(f, form, k)->sets,
			 marking = 1u << KNOB_KMIN | 1u << KNOB_KMAX;
		unsigned with =
			not_writable(f, other, form, sets & marking ? sets | marking : sets);
		why = with < TUNE_KNOBS
			? arena_printf(f->c->arena, "is written together with %s, which cannot be",
				  tune_knob_name((enum tune_knob)with))
			: NULL;
	}
	return why;
}

static void steps_make(struct fill *f, const struct fill *other, const struct tune_form *form)
{
	enum tune_knob todo[TUNE_KNOBS];
	double state[TUNE_KNOBS];
	unsigned done = 0;
	size_t n = order(f, form, todo);
	memcpy(state, f->from, sizeof(state));
	for (size_t i = 0; i < n; i++)
		if (f->undo && why_not(f, other, form, todo[i]))
			state[todo[i]] = f->to[todo[i]]; /* was never changed */
	for (size_t i = 0; i < n; i++) {
		if (done & 1u << todo[i])
			continue;
		const char *why = why_not(f, other, form, todo[i]);
		if (!why) {
			f->t = template_of(f, form, todo[i]);
			why = step_add(f, state) ? NULL : unknown_words(f);
			done |= f->t->sets;
		}
		if (why)
			missing(f,
				arena_printf(f->c->arena, "%s: %s", tune_knob_name(todo[i]), why));
	}
	if (form->commit && f->plan->n_steps)
		f->plan->steps[0].text =
			arena_printf(f->c->arena, "%s\n%s", f->plan->steps[0].text, form->commit);
}

static void fill_init(struct fill *f, bool undo)
{
	f->undo = undo;
	values_take(f);
	values_write(f);
}

int render_plan(const struct tune_sheet *s, const struct render_ctx *c, const struct profile *p,
	const struct tune_form *form, bool undo, struct render_plan *ret)
{
	struct render_ctx ctx = *c;
	struct fill f = {.sheet = s,
			    .c = &ctx,
			    .p = p,
			    .plan = ret,
			    .asic = profiles_asic(c->profiles, c->description)},
		    other = f;
	*ret = (struct render_plan){.profile = p,
		.form = form,
		.undo = undo,
		.native = c->platform && c->platform == p};
	ret->steps = arena_array(c->arena, struct render_step, TUNE_KNOBS);
	if (!ctx.n_ports && s->n_ports) {
		struct render_port *ports = arena_array(c->arena, struct render_port, s->n_ports);
		for (size_t i = 0; i < s->n_ports; i++)
			ports[i] = (struct render_port){
				.name = s->ports[i], .cable_m = NAN, .cable_now_m = NAN};
		ctx.ports = ports;
		ctx.n_ports = s->n_ports;
	}
	fill_init(&f, undo);
	fill_init(&other, !undo);
	if (!f.changed)
		missing(&f, "nothing is to be changed");
	else if (same_level(&f) || same_level(&other))
		missing(&f, "kmin, kmax: in this vendor's unit they would fall on one level");
	else if (form->json && !one_template(&f, form))
		missing(&f,
			"several objects have to change one after the other: use the other form");
	else
		steps_make(&f, &other, form);
	return ret->n_steps ? 0 : -ENOTSUP;
}
