/* vendor_plan - orders the steps of a change, rounds values as the vendor does and fills the
 * templates of its profile. */
#include "agent/tuning/vendor_plan.h"

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

static void vendor_plan_add(struct arena *a, const char ***texts, size_t *n, const char *text)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*texts)[i], text) == 0)
			return;
	const char **grown = arena_array(a, const char *, *n + 1);
	if (*n)
		memcpy(grown, *texts, *n * sizeof(*grown));
	grown[(*n)++] = text;
	*texts = grown;
}

static void vendor_plan_missing(struct fill *fill, const char *text)
{
	vendor_plan_add(fill->c->arena, &fill->plan->missing, &fill->plan->n_missing, text);
}

/* ---- words --------------------------------------------------------------- */

static bool vendor_plan_is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(text, word, n) == 0;
}

static bool vendor_plan_expand(struct fill *fill, const char *text, struct str *out);

static bool vendor_plan_number(struct str *out, double value)
{
	if (isnan(value))
		return false;
	str_addf(out, "%.0f", value);
	return true;
}

static void vendor_plan_check(struct fill *fill, const char *text)
{
	vendor_plan_add(fill->c->arena, &fill->plan->check, &fill->plan->n_check, text);
}

/* "<KMIN-PERCENT>": to be replaced by hand. */
static void add_placeholder(struct str *out, const char *word, size_t n, const char *suffix)
{
	str_add(out, "<");
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%c", toupper((unsigned char)word[i]));
	str_addf(out, "%s>", suffix);
}

/* unknown_text - placeholder of a value that does not change and is not known exactly: a person
 * takes it from the configuration. */
static void unknown_text(struct fill *fill, enum tune_knob knob, struct str *out)
{
	add_placeholder(out, tune_knob_name(knob), strlen(tune_knob_name(knob)), "");
	vendor_plan_check(fill,
		arena_printf(fill->c->arena,
			"%s: does not change; put in the number that is configured",
			tune_knob_name(knob)));
}

/* of_queue - the knob is written in percent of what the queue may hold. */
static bool of_queue(const struct fill *fill, enum tune_knob knob)
{
	return fill->p->tune->knobs[knob].unit == TUNE_PERCENT &&
		strcmp(tune_knob_unit(knob), "bytes") == 0;
}

/* percent_text - placeholder of a fill level in percent, where the limit of the queue is not known,
 * or pool and alpha of the priority group give less than the level. */
static void percent_text(struct fill *fill, enum tune_knob knob, struct str *out)
{
	add_placeholder(out, tune_knob_name(knob), strlen(tune_knob_name(knob)), "-PERCENT");
	vendor_plan_check(fill,
		arena_printf(fill->c->arena,
			"%s: put in what %.0f bytes are in percent of what this queue may hold%s",
			tune_knob_name(knob), fill->to[knob],
			fill->c->queue_limit_bytes > 0
				? arena_printf(fill->c->arena,
					  ", which has to be more than the "
					  "%.0f bytes that pool and alpha give",
					  fill->c->queue_limit_bytes)
				: "; neither pool and alpha nor the queue's "
				  "own limit are known here"));
}

static bool knob_text(struct fill *fill, enum tune_knob knob, struct str *out)
{
	const struct tune_knob_rule *r = &fill->p->tune->knobs[knob];
	double v = fill->written[knob];
	if (isnan(v) && (fill->changed & 1u << knob) && of_queue(fill, knob)) {
		percent_text(fill, knob, out);
		return true;
	}
	if (isnan(v) && !(fill->changed & 1u << knob) && !fill->optional) {
		unknown_text(fill, knob, out);
		return true;
	}
	if (!isnan(v) && r->unit == TUNE_FRACTION && v < 1) {
		str_addf(out, "1/%.0f", 1 / v);
		return true;
	}
	return vendor_plan_number(out, v);
}

/* vendor_plan_cable_of - the length a step sets: the true one to apply, the configured one to undo.
 */
static double vendor_plan_cable_of(const struct fill *fill, const struct render_port *port)
{
	if (fill->undo)
		return port->cable_now_m;
	return port->cable_m;
}

static double cable_max(const struct fill *fill)
{
	double max = NAN;
	for (size_t i = 0; i < fill->c->n_ports; i++)
		max = fmax(max, vendor_plan_cable_of(fill, &fill->c->ports[i]));
	return max;
}

static bool word_text(struct fill *fill, const char *text, size_t n, struct str *out)
{
	enum tune_knob k;
	char word[32];
	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	if (tune_knob_parse(word, &k) == 0)
		return knob_text(fill, k, out);
	if (vendor_plan_is(text, n, "priority"))
		return vendor_plan_number(out, fill->sheet->priority);
	if (vendor_plan_is(text, n, "queue"))
		return vendor_plan_number(
			out, fill->c->queue >= 0 ? fill->c->queue : fill->sheet->priority);
	if (vendor_plan_is(text, n, "buffer_bytes"))
		return vendor_plan_number(
			out, fill->written[KNOB_HEADROOM] + fill->written[KNOB_XOFF_LEVEL]);
	if (vendor_plan_is(text, n, "cable_max_m"))
		return vendor_plan_number(out, ceil(cable_max(fill)));
	if (!fill->port)
		return false;
	if (vendor_plan_is(text, n, "port")) {
		str_add(out, fill->port->name);
		return true;
	}
	if (vendor_plan_is(text, n, "speed_mbps"))
		return fill->port->speed_bps > 0 &&
			vendor_plan_number(out, (double)(fill->port->speed_bps / 1000000));
	if (vendor_plan_is(text, n, "cable_m"))
		return vendor_plan_number(out, ceil(vendor_plan_cable_of(fill, fill->port)));
	if (vendor_plan_is(text, n, "cable_now_m"))
		return vendor_plan_number(out, ceil(fill->port->cable_now_m));
	return false;
}

/* name_text - what an object is called here: as told, else the standard, whose unknown parts stand
 * in it as <WORDS>. */
static bool name_text(struct fill *fill, const char *word, size_t n, struct str *out)
{
	const struct profile_tune *t = fill->p->tune;
	for (size_t i = 0; i < fill->c->n_names; i++)
		if (vendor_plan_is(word, n, fill->c->names[i].name)) {
			str_add(out, fill->c->names[i].value);
			return true;
		}
	for (size_t i = 0; i < t->n_names; i++) {
		rw_cleanup(str_done) struct str name = {0};
		if (!vendor_plan_is(word, n, t->names[i].name))
			continue;
		fill->in_name = true;
		vendor_plan_expand(fill, t->names[i].standard, &name);
		fill->in_name = false;
		str_add(out, name.s);
		vendor_plan_check(fill,
			arena_printf(fill->c->arena, "%s %s: %s, '%s' shows it", t->names[i].name,
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
static void optional_text(struct fill *fill, const char *text, struct str *out)
{
	rw_cleanup(str_done) struct str part = {0};
	fill->optional = true;
	if (vendor_plan_expand(fill, text, &part) && part.n)
		str_add(out, part.s);
	else
		vendor_plan_check(fill,
			arena_printf(fill->c->arena,
				"%.*s: is not known and left out; if one is configured, put it in "
				"as it is",
				(int)strcspn(text + strcspn(text, "{") + 1, "}"),
				text + strcspn(text, "{") + 1));
	fill->optional = false;
}

/* vendor_plan_expand - false when a word outside of [ ] is not known; in names, unknown words stand
 * as <WORDS>.
 */
static bool vendor_plan_expand(struct fill *fill, const char *text, struct str *out)
{
	for (const char *p = text; *p;) {
		if (*p == '[') {
			const char *end = strchr(p, ']');
			optional_text(fill,
				arena_strndup(
					fill->c->arena, p + 1, (size_t)(end ? end - p - 1 : 0)),
				out);
			if (end)
				p = end + 1;
			else
				p = p + 1;
		} else if (*p == '{') {
			size_t n = strcspn(p + 1, "}");
			if (!word_text(fill, p + 1, n, out) && !name_text(fill, p + 1, n, out)) {
				if (!fill->in_name)
					return false;
				add_placeholder(out, p + 1, n, "");
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

static double vendor_plan_cell_of(const struct fill *fill)
{
	if (fill->c->cell_bytes > 0)
		return fill->c->cell_bytes;
	if (fill->asic && fill->asic->cell_bytes > 0)
		return fill->asic->cell_bytes;
	return NAN;
}

/* vendor_plan_exact - @value as this vendor writes it, if it can without rounding. */
static double vendor_plan_exact(const struct tune_knob_rule *rule, enum tune_knob knob,
	double value, double cell, double limit)
{
	struct tune_knob_rule fine = *rule;
	fine.by_cell = false;
	if (rule->unit == TUNE_BYTES)
		fine.step = 1;
	double written = tune_knob_write(&fine, knob, value, cell, limit, TUNE_NEAREST);
	if (fabs(tune_knob_value(rule, knob, written, cell, limit) - value) <=
		1e-9 * fmax(1, fabs(value)))
		return written;
	return NAN;
}

static bool sets_cable(const struct tune_template *template)
{
	return template->when == TUNE_BY_CABLE;
}

/* one_length_right - the step sets one length for all ports, and that length is configured already.
 */
static bool one_length_right(const struct render_ctx *ctx, const struct tune_template *template)
{
	double is = NAN, now = NAN;
	for (size_t i = 0; i < ctx->n_ports; i++) {
		is = fmax(is, ceil(ctx->ports[i].cable_m));
		now = fmax(now, ceil(ctx->ports[i].cable_now_m));
	}
	return template->text && strstr(template->text, "{cable_max_m}") && is == now;
}

/* by_cable - true when headroom changes because the configured cable lengths are wrong. All lengths
 * must be known: else the change could not be undone. */
static bool by_cable(const struct render_ctx *ctx)
{
	bool differ = false;
	for (size_t i = 0; i < ctx->n_ports; i++) {
		const struct render_port *p = &ctx->ports[i];
		if (isnan(p->cable_m) || isnan(p->cable_now_m))
			return false;
		differ = differ || ceil(p->cable_m) != ceil(p->cable_now_m);
	}
	return differ;
}

static void values_take(struct fill *fill)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		fill->from[k] = fill->to[k] = fill->c->in_force[k];
	for (size_t i = 0; i < fill->sheet->n_changes; i++) {
		const struct tune_change *ch = &fill->sheet->changes[i];
		if (fill->undo) {
			fill->from[ch->knob] = ch->proposed;
			fill->to[ch->knob] = ch->current;
		} else {
			fill->from[ch->knob] = ch->current;
			fill->to[ch->knob] = ch->proposed;
		}
		fill->changed |= 1u << ch->knob;
	}
}

/* limit_of - the limit of the queue, bytes; NAN where a level in force or proposed is above it:
 * then it is the limit of another queue. */
static double limit_of(const struct fill *fill)
{
	static const enum tune_knob levels[] = {KNOB_KMIN, KNOB_KMAX};
	for (size_t i = 0; i < rw_countof(levels); i++)
		if (fill->from[levels[i]] > fill->c->queue_limit_bytes ||
			fill->to[levels[i]] > fill->c->queue_limit_bytes)
			return NAN;
	return fill->c->queue_limit_bytes;
}

/* values_write - the numbers to write. Changes are rounded as the vendor rounds, but not when
 * undoing; a value that does not change is written exactly. */
static void values_write(struct fill *fill)
{
	double cell = vendor_plan_cell_of(fill), limit = fill->limit = limit_of(fill);
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		const struct tune_knob_rule *r = &fill->p->tune->knobs[k];
		enum tune_knob knob = (enum tune_knob)k;
		fill->written[k] = NAN;
		if (isnan(fill->to[k]) || !r->settable)
			continue;
		/* what is taken back is what was written */
		if ((fill->changed & 1u << k) && fill->undo) {
			double rounded = tune_knob_round(r, knob, fill->from[k], cell, limit);
			if (!(isnan(rounded) && of_queue(fill, knob)))
				fill->from[k] = rounded;
		}
		if ((fill->changed & 1u << k) && !fill->undo) {
			fill->written[k] = tune_knob_write(
				r, knob, fill->to[k], cell, limit, tune_knob_safe(knob));
			if (!isnan(fill->written[k]))
				fill->to[k] =
					tune_knob_value(r, knob, fill->written[k], cell, limit);
		} else {
			fill->written[k] = vendor_plan_exact(r, knob, fill->to[k], cell, limit);
		}
	}
}

/* ---- order --------------------------------------------------------------- */

/* vendor_plan_rank - where a knob stands in the order of steps: the lower rank first
 * (docs/tuning.md, safety rule 6). What a group may take shrinks before the room that it needs. */
static int vendor_plan_rank(const struct fill *fill, enum tune_knob knob)
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
	if (fill->to[knob] > fill->from[knob])
		return ranks[knob].up;
	return ranks[knob].down;
}

/* ---- steps --------------------------------------------------------------- */

static const struct tune_template *template_of(
	const struct fill *fill, const struct tune_form *form, enum tune_knob knob)
{
	bool cable = by_cable(fill->c);
	for (size_t i = 0; i < form->n_steps; i++) {
		const struct tune_template *t = &form->steps[i];
		bool when = t->when == TUNE_ALWAYS || (t->when == TUNE_BY_CABLE) == cable;
		if ((t->sets & 1u << knob) && when &&
			!(t->size_apart && fill->asic && fill->asic->size_holds_headroom))
			return t;
	}
	return NULL;
}

static const char *why_no_template(
	const struct fill *fill, const struct tune_form *form, enum tune_knob knob)
{
	const struct tune_template *t = NULL;
	for (size_t i = 0; i < form->n_steps && !t; i++)
		if (form->steps[i].sets & 1u << knob)
			t = &form->steps[i];
	if (!t)
		return "this form has no command for it";
	if (t->size_apart || !sets_cable(t))
		return "on this ASIC the size of the group has to follow it, which is not read "
		       "back: use the other form";
	return "is set by cable length here, and that needs the true length of these cables "
	       "('cable' of the links) and the length that is configured, and that they differ";
}

static const char *why_no_number(const struct fill *fill, enum tune_knob knob)
{
	const struct tune_knob_rule *r = &fill->p->tune->knobs[knob];
	if (r->unit == TUNE_CELLS && isnan(vendor_plan_cell_of(fill)))
		return "is written in cells of the buffer, whose size is not known (declare cell "
		       "in 'thresholds')";
	if (fill->undo)
		return "the previous value cannot be written exactly";
	return "the value is out of the range that can be written";
}

/* vendor_plan_position - where a knob's step stands in the order: with the first knob that the step
 * brings into force. Headroom decides over xon, xoff over xon. */
static int vendor_plan_position(
	const struct fill *fill, const struct tune_form *form, enum tune_knob knob)
{
	const struct tune_template *t = template_of(fill, form, knob);
	for (unsigned i = 0; t && i < knob; i++)
		if (t->sets & fill->changed & 1u << i)
			return vendor_plan_rank(fill, (enum tune_knob)i);
	return vendor_plan_rank(fill, knob);
}

static size_t vendor_plan_order(
	const struct fill *fill, const struct tune_form *form, enum tune_knob ret[TUNE_KNOBS])
{
	size_t n = 0;
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		if (!(fill->changed & 1u << k))
			continue;
		size_t at = n++;
		for (; at > 0 &&
			vendor_plan_position(fill, form, ret[at - 1]) >
				vendor_plan_position(fill, form, (enum tune_knob)k);
			at--)
			ret[at] = ret[at - 1];
		ret[at] = (enum tune_knob)k;
	}
	return n;
}

/* cannot_write - why a changed knob cannot be written, or NULL. */
static const char *cannot_write(
	const struct fill *fill, const struct tune_form *form, enum tune_knob knob)
{
	const struct tune_knob_rule *r = &fill->p->tune->knobs[knob];
	const struct tune_template *t;
	if (!r->settable) {
		if (r->cannot)
			return r->cannot;
		return "no command is known for it";
	}
	if (!tune_rule_applies(r, fill->c->description))
		return "its commands hold for certain platforms only, and this device is not known "
		       "to be one of them";
	if (isnan(fill->from[knob]) || isnan(fill->to[knob]))
		return "the value in force is not known, so there would be no way back";
	t = template_of(fill, form, knob);
	if (!t)
		return why_no_template(fill, form, knob);
	if (one_length_right(fill->c, t))
		return "one cable length holds for all these ports here, and the longest is "
		       "configured already";
	if (!sets_cable(t) && isnan(fill->written[knob]) && !(fill->undo && t->undo) &&
		!(t->undo && of_queue(fill, knob)))
		return why_no_number(fill, knob);
	if (!fill->undo && !sets_cable(t) && !t->undo &&
		isnan(vendor_plan_exact(
			r, knob, fill->from[knob], vendor_plan_cell_of(fill), fill->limit)))
		return "the value in force cannot be written exactly in this unit, so there would "
		       "be no way back";
	return NULL;
}

/* unknown_words - the message about knobs that a template needs and that are not known. */
static const char *unknown_words(const struct fill *fill)
{
	rw_cleanup(str_done) struct str out = {0};
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if ((fill->t->sets & 1u << k) && isnan(fill->written[k]))
			str_addf(&out, "%s%s", str_if(out.n, ", "),
				tune_knob_name((enum tune_knob)k));
	return arena_printf(fill->c->arena,
		"needs values that are not known (%s): declare them in 'thresholds'",
		out.n ? out.s : "ports, speeds or cables");
}

/* rolls_back - true for an undo whose previous values cannot be written exactly, where the vendor
 * has another way back. */
static bool rolls_back(const struct fill *fill)
{
	bool exact = true;
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		exact = exact &&
			!((fill->t->sets & fill->changed & 1u << k) && isnan(fill->written[k]));
	return fill->undo && fill->t->undo && !exact;
}

/* text_step - the template once per port, the same text once. false: a word is not known. */
static bool text_step(struct fill *fill, struct str *out)
{
	const char **seen = NULL;
	size_t n = 0;
	size_t ports = 1;
	if (fill->c->n_ports)
		ports = fill->c->n_ports;
	bool rollback = rolls_back(fill);
	for (size_t i = 0; i < ports; i++) {
		rw_cleanup(str_done) struct str one = {0};
		if (fill->c->n_ports)
			fill->port = &fill->c->ports[i];
		else
			fill->port = NULL;
		if (fill->port && sets_cable(fill->t) && strstr(fill->t->text, "{cable_m}") &&
			ceil(fill->port->cable_m) == ceil(fill->port->cable_now_m))
			continue; /* is right already */
		if (!vendor_plan_expand(fill, rollback ? fill->t->undo : fill->t->text, &one))
			return false;
		vendor_plan_add(fill->c->arena, &seen, &n, arena_strdup(fill->c->arena, one.s));
	}
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s%s", str_if(i, "\n"), seen[i]);
	return n > 0;
}

static bool field_changed(const struct fill *fill, const char *value)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		char word[32];
		snprintf(word, sizeof(word), "{%s}", tune_knob_name((enum tune_knob)k));
		if (strstr(value, word))
			return (fill->changed & 1u << k) != 0;
	}
	return true; /* of no knob: a cable length */
}

static bool json_step(struct fill *fill, struct str *out)
{
	json_t *doc = json_object(), *table = json_object();
	size_t ports = 1;
	if (fill->c->n_ports)
		ports = fill->c->n_ports;
	bool ok = true;
	json_object_set_new(doc, fill->t->table, table);
	for (size_t i = 0; i < ports && ok; i++) {
		rw_cleanup(str_done) struct str key = {0};
		if (fill->c->n_ports)
			fill->port = &fill->c->ports[i];
		else
			fill->port = NULL;
		if (fill->port && sets_cable(fill->t) &&
			ceil(fill->port->cable_m) == ceil(fill->port->cable_now_m))
			continue;
		ok = vendor_plan_expand(fill, fill->t->key, &key);
		json_t *row = NULL;
		if (ok)
			row = json_object_get(table, key.s);
		if (ok && !row)
			json_object_set_new(table, key.s, row = json_object());
		for (size_t k = 0; k < fill->t->n_fields && ok; k++) {
			rw_cleanup(str_done) struct str field = {0}, value = {0};
			if (!field_changed(fill, fill->t->fields[k].value))
				continue;
			ok = vendor_plan_expand(fill, fill->t->fields[k].field, &field) &&
				vendor_plan_expand(fill, fill->t->fields[k].value, &value);
			if (ok)
				json_object_set_new(row, field.s, json_string(value.s));
		}
	}
	char *text = NULL;
	if (ok)
		text = json_dumps(doc, JSON_INDENT(2));
	if (text)
		str_add(out, text);
	free(text);
	json_decref(doc);
	return ok;
}

/* "shared object WRED_PROFILE: also everything that the sheet lists as affected" */
static const char *object_text(const struct fill *fill, const struct tune_knob_rule *rule)
{
	if (!rule->shared)
		return rule->object;
	return arena_printf(fill->c->arena,
		"shared object %s: also what the sheet lists under \"affected\"", rule->object);
}

/* objects_add - which objects the step changes. */
static void objects_add(struct fill *fill)
{
	if (fill->t->object)
		vendor_plan_add(fill->c->arena, &fill->plan->objects, &fill->plan->n_objects,
			fill->t->object);
	for (unsigned k = 0; k < TUNE_KNOBS && !fill->t->object; k++) {
		const struct tune_knob_rule *r = &fill->p->tune->knobs[k];
		if (fill->t->sets & fill->changed & 1u << k)
			vendor_plan_add(fill->c->arena, &fill->plan->objects,
				&fill->plan->n_objects, object_text(fill, r));
	}
}

/* step_add - the step of @fill->t; in a transaction it joins the one that is there. */
static bool step_add(struct fill *fill, double state[TUNE_KNOBS])
{
	struct render_plan *plan = fill->plan;
	rw_cleanup(str_done) struct str text = {0};
	struct render_step *s;
	if (plan->form->commit && plan->n_steps)
		s = &plan->steps[0];
	else
		s = &plan->steps[plan->n_steps];
	if (!(plan->form->json ? json_step(fill, &text) : text_step(fill, &text)))
		return false;
	if (s == &plan->steps[plan->n_steps])
		plan->n_steps++;
	if (s->text)
		s->text = arena_printf(fill->c->arena, "%s\n%s", s->text, text.s);
	else
		s->text = arena_strdup(fill->c->arena, text.s);
	if (!rolls_back(fill)) {
		if (s->note && fill->t->note)
			s->note = arena_printf(fill->c->arena, "%s; %s", s->note, fill->t->note);
		else if (fill->t->note)
			s->note = fill->t->note;
	}
	s->sets |= fill->t->sets & fill->changed;
	objects_add(fill);
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if (fill->t->sets & fill->changed & 1u << k) {
			enum tune_disruption d = fill->p->tune->knobs[k].disruption;
			state[k] = fill->to[k];
			if (d > plan->disruption)
				plan->disruption = d;
		}
	memcpy(s->after, state, sizeof(s->after));
	return true;
}

/* one_template - false when a change needs several templates one after the other: a JSON document
 * has no order. */
static bool one_template(const struct fill *fill, const struct tune_form *form)
{
	const struct tune_template *first = NULL;
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		const struct tune_template *t = NULL;
		if (fill->changed & 1u << k)
			t = template_of(fill, form, (enum tune_knob)k);
		if (t && first && t != first)
			return false;
		if (t)
			first = t;
	}
	return true;
}

static bool same_level(const struct fill *fill)
{
	double lo = fill->written[KNOB_KMIN], hi = fill->written[KNOB_KMAX];
	return (fill->changed & (1u << KNOB_KMIN | 1u << KNOB_KMAX)) && !isnan(lo) && !isnan(hi) &&
		lo >= hi && fill->from[KNOB_KMIN] != fill->from[KNOB_KMAX];
}

/* not_writable - the first knob of the step that cannot be written, in either direction;
 * TUNE_KNOBS: none. A step is done as a whole or not at all. */
static unsigned not_writable(const struct fill *fill, const struct fill *other,
	const struct tune_form *form, unsigned sets)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if ((sets & fill->changed & 1u << k) &&
			(cannot_write(fill, form, (enum tune_knob)k) ||
				cannot_write(other, form, (enum tune_knob)k)))
			return k;
	return TUNE_KNOBS;
}

/* why_not - why a changed knob cannot be applied, or NULL. @other is the way in the other
 * direction: a change is refused when its undo cannot be written. */
static const char *why_not(struct fill *fill, const struct fill *other,
	const struct tune_form *form, enum tune_knob knob)
{
	const unsigned marking = 1u << KNOB_KMIN | 1u << KNOB_KMAX;
	const char *why = cannot_write(fill, form, knob);
	if (!why)
		why = cannot_write(other, form, knob);
	if (why)
		return why;
	/* Kmin and Kmax go together: neither moves past the other */
	unsigned sets = template_of(fill, form, knob)->sets;
	if (sets & marking)
		sets |= marking;
	const unsigned with = not_writable(fill, other, form, sets);
	if (with == TUNE_KNOBS)
		return NULL;
	return arena_printf(fill->c->arena, "is written together with %s, which cannot be",
		tune_knob_name((enum tune_knob)with));
}

static void steps_make(struct fill *fill, const struct fill *other, const struct tune_form *form)
{
	enum tune_knob todo[TUNE_KNOBS];
	double state[TUNE_KNOBS];
	unsigned done = 0;
	size_t n = vendor_plan_order(fill, form, todo);
	memcpy(state, fill->from, sizeof(state));
	for (size_t i = 0; i < n; i++) {
		if (done & 1u << todo[i])
			continue;
		const char *why = why_not(fill, other, form, todo[i]);
		if (!why) {
			fill->t = template_of(fill, form, todo[i]);
			if (step_add(fill, state))
				why = NULL;
			else
				why = unknown_words(fill);
			done |= fill->t->sets;
		}
		if (why)
			vendor_plan_missing(fill,
				arena_printf(
					fill->c->arena, "%s: %s", tune_knob_name(todo[i]), why));
	}
	if (form->commit && fill->plan->n_steps)
		fill->plan->steps[0].text = arena_printf(
			fill->c->arena, "%s\n%s", fill->plan->steps[0].text, form->commit);
}

static void fill_init(struct fill *fill, bool undo)
{
	fill->undo = undo;
	values_take(fill);
	values_write(fill);
}

/* Names of ports come from switches. One that is more than a word would be a second command, or an
 * option. */
static bool vendor_plan_names_fit(const struct render_ctx *ctx)
{
	for (size_t i = 0; i < ctx->n_ports; i++)
		if (!text_is_word(ctx->ports[i].name))
			return false;
	return true;
}

int render_plan(const struct tune_sheet *sheet, const struct render_ctx *render_ctx,
	const struct profile *profile, const struct tune_form *form, bool undo,
	struct render_plan *ret)
{
	struct render_ctx ctx = *render_ctx;
	struct fill f = {.sheet = sheet,
			    .c = &ctx,
			    .p = profile,
			    .plan = ret,
			    .asic = profiles_asic(render_ctx->profiles, render_ctx->description)},
		    other = f;
	*ret = (struct render_plan){.profile = profile,
		.form = form,
		.undo = undo,
		.native = render_ctx->platform && render_ctx->platform == profile};
	ret->steps = arena_array(render_ctx->arena, struct render_step, TUNE_KNOBS);
	if (!ctx.n_ports && sheet->n_ports) {
		struct render_port *ports =
			arena_array(render_ctx->arena, struct render_port, sheet->n_ports);
		for (size_t i = 0; i < sheet->n_ports; i++)
			ports[i] = (struct render_port){
				.name = sheet->ports[i], .cable_m = NAN, .cable_now_m = NAN};
		ctx.ports = ports;
		ctx.n_ports = sheet->n_ports;
	}
	fill_init(&f, undo);
	fill_init(&other, !undo);
	if (!f.changed)
		vendor_plan_missing(&f, "nothing is to be changed");
	else if (!vendor_plan_names_fit(&ctx))
		vendor_plan_missing(&f,
			"a port has a name that cannot stand in a command (letters, digits and "
			". _ : / - can)");
	else if (same_level(&f) || same_level(&other))
		vendor_plan_missing(
			&f, "kmin, kmax: in this vendor's unit they would fall on one level");
	else if (form->json && !one_template(&f, form))
		vendor_plan_missing(&f,
			"several objects have to change one after the other: use the other form");
	else
		steps_make(&f, &other, form);
	/* Kmin that goes up without alpha would be marked later, and paused before. */
	if (ret->n_steps && ret->n_missing) {
		vendor_plan_missing(&f,
			"the rest of the sheet: it was judged together with what cannot be "
			"written, and is not to be applied without it");
		ret->n_steps = 0;
	}
	if (ret->n_steps)
		return 0;
	return -ENOTSUP;
}

static struct tune_sheet part_begin(const struct tune_sheet *sheet, struct arena *a)
{
	struct tune_sheet part = *sheet;
	part.changes = arena_array(a, struct tune_change, sheet->n_changes + 1);
	part.n_changes = 0;
	return part;
}

static struct tune_sheet part_of_change(
	const struct tune_sheet *sheet, const struct tune_change *change, struct arena *a)
{
	struct tune_sheet part = part_begin(sheet, a);
	part.changes[part.n_changes++] = *change;
	part.ports = change->ports;
	part.n_ports = change->n_ports;
	part.port_group = change->port_group;
	return part;
}

size_t vendor_parts(const struct tune_sheet *sheet, struct arena *a, struct tune_sheet **ret)
{
	struct tune_sheet all = part_begin(sheet, a);
	size_t n = 0;
	*ret = arena_array(a, struct tune_sheet, sheet->n_changes + 1);
	for (size_t i = 0; i < sheet->n_changes; i++) {
		if (sheet->changes[i].n_ports)
			(*ret)[n++] = part_of_change(sheet, &sheet->changes[i], a);
		else
			all.changes[all.n_changes++] = sheet->changes[i];
	}
	if (all.n_changes || n == 0)
		(*ret)[n++] = all;
	return n;
}

static json_t *parts_join_texts(const json_t *left, const json_t *right)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s\n%s", json_string_value(left), json_string_value(right));
	return json_string(text.s);
}

/* What several parts say is said once. */
static void parts_join_lists(json_t *into, const json_t *list)
{
	size_t i, k;
	json_t *value, *known;
	json_array_foreach (list, i, value) {
		bool is_new = true;
		json_array_foreach (into, k, known)
			is_new = is_new && !json_equal(known, value);
		if (is_new)
			json_array_append(into, value);
	}
}

/* Forms of one vendor: texts stand one after the other, documents of the same objects are one. */
static void parts_join_value(json_t *into, const char *key, json_t *value)
{
	json_t *had = json_object_get(into, key);
	if (!had || json_is_null(had)) {
		json_object_set(into, key, value);
	} else if (json_is_string(had) && json_is_string(value)) {
		json_object_set_new(into, key, parts_join_texts(had, value));
	} else if (json_is_array(had) && json_is_array(value)) {
		parts_join_lists(had, value);
	}
}

json_t *vendor_parts_join(json_t *into, json_t *part)
{
	const char *key, *form;
	json_t *value, *inner;
	if (!into)
		return part;
	json_object_foreach (part, key, value) {
		json_t *had = json_object_get(into, key);
		if (str_eq(key, "native") || str_eq(key, "shown"))
			continue; /* words about the device, the same in all parts */
		if (!json_is_object(had) || !json_is_object(value)) {
			parts_join_value(into, key, value);
			continue;
		}
		json_object_foreach (value, form, inner) {
			json_t *before = json_object_get(had, form);
			if (json_is_object(before) && json_is_object(inner))
				json_object_update_recursive(before, inner);
			else
				parts_join_value(had, form, inner);
		}
	}
	json_decref(part);
	return into;
}
