/* profile_tune - reads the tuning half of a profile (see the header), and the arithmetic of its
 * units. */
#include "config/profile/profile_tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/str.h"
#include "config/profile/profile_reader.h"

static const struct {
	const char *name, *unit;
	enum tune_round safe;
	bool bytes;
} knobs[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = {"headroom", "bytes", TUNE_UP, true},
	[KNOB_XOFF_LEVEL] = {"xoff_level", "bytes", TUNE_DOWN, true},
	[KNOB_XON_LEVEL] = {"xon_level", "bytes", TUNE_DOWN, true},
	[KNOB_XON_OFFSET] = {"xon_offset", "bytes", TUNE_UP, true},
	[KNOB_ALPHA] = {"alpha", "ratio", TUNE_DOWN, false},
	[KNOB_KMIN] = {"kmin", "bytes", TUNE_DOWN, true},
	[KNOB_KMAX] = {"kmax", "bytes", TUNE_DOWN, true},
	[KNOB_PMAX] = {"pmax", "ratio", TUNE_NEAREST, false},
	[KNOB_WEIGHT] = {"weight", "-", TUNE_NEAREST, false},
};
static const char *const disruptions[] = {
	"hitless", "queue_flush", "port_flap", "daemon_reload", "reboot", "unknown"};
static const char *const units[] = {
	"bytes", "kbytes", "cells", "percent", "exponent", "fraction", "number"};
static const char *const headrooms[] = {"none", "spectrum", "spectrum_2021"};
static const char *const whens[] = {"always", "cable", "no_cable"};

const char *tune_knob_name(enum tune_knob k)
{
	return (unsigned)k < TUNE_KNOBS ? knobs[k].name : "?";
}
const char *tune_knob_unit(enum tune_knob k)
{
	return (unsigned)k < TUNE_KNOBS ? knobs[k].unit : "?";
}
enum tune_round tune_knob_safe(enum tune_knob k)
{
	return knobs[k].safe;
}

int tune_knob_parse(const char *word, enum tune_knob *ret)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if (str_eq(word, knobs[k].name)) {
			*ret = (enum tune_knob)k;
			return 0;
		}
	return -EINVAL;
}

const char *tune_disruption_name(enum tune_disruption d)
{
	return (size_t)d < rw_countof(disruptions) ? disruptions[d] : "?";
}

/* ---- arithmetic ---------------------------------------------------------- */

static bool matches(const char *const *globs, size_t n, const char *platform)
{
	for (size_t i = 0; platform && i < n; i++)
		if (str_glob(globs[i], platform))
			return true;
	return false;
}

bool tune_rule_applies(const struct tune_knob_rule *r, const char *platform)
{
	return r->settable &&
		(r->n_platforms == 0 || matches(r->platforms, r->n_platforms, platform));
}

/* How many units of writing one unit of the house is; NAN when what it takes is not known. */
static double scale(
	const struct tune_knob_rule *r, enum tune_knob k, double cell_bytes, double limit_bytes)
{
	switch (r->unit) {
	case TUNE_KBYTES: return 1.0 / 1000;
	case TUNE_CELLS: return cell_bytes > 0 ? 1 / cell_bytes : NAN;
	case TUNE_PERCENT: return !knobs[k].bytes ? 100 : limit_bytes > 0 ? 100 / limit_bytes : NAN;
	default: return 1;
	}
}

static double rounded(double v, enum tune_round how)
{
	double near = rint(v); /* what is whole but for the last bits stays what it is */
	if (fabs(v - near) <= 1e-9 * fmax(1, fabs(v)))
		return near;
	return how == TUNE_DOWN ? floor(v) : how == TUNE_UP ? ceil(v) : near;
}

double tune_knob_write(const struct tune_knob_rule *r, enum tune_knob k, double value,
	double cell_bytes, double limit_bytes, enum tune_round how)
{
	if (!r->settable || !isfinite(value) || value < 0)
		return NAN;
	double written = value * scale(r, k, cell_bytes, limit_bytes),
	       step = r->step > 0 ? r->step : 1;
	if (r->unit == TUNE_EXPONENT || r->unit == TUNE_FRACTION) {
		if (value <= 0)
			return NAN;
		written = rounded(log2(value), how);
		/* fractions of SAI's dynamic threshold are powers of two as well */
		written = r->unit == TUNE_FRACTION ? exp2(written) : written;
	} else {
		if (r->by_cell && cell_bytes > 0 && knobs[k].bytes && r->unit == TUNE_BYTES)
			step = fmax(step, 1) == 1 ? cell_bytes : step;
		written = rounded(written / step, how) * step;
	}
	return written >= r->min && written <= r->max ? written : NAN;
}

double tune_knob_value(const struct tune_knob_rule *r, enum tune_knob k, double written,
	double cell_bytes, double limit_bytes)
{
	if (r->unit == TUNE_EXPONENT)
		return exp2(written);
	return written / scale(r, k, cell_bytes, limit_bytes);
}

double tune_knob_round(const struct tune_knob_rule *r, enum tune_knob k, double value,
	double cell_bytes, double limit_bytes)
{
	double written = tune_knob_write(r, k, value, cell_bytes, limit_bytes, tune_knob_safe(k));
	return isnan(written) ? NAN : tune_knob_value(r, k, written, cell_bytes, limit_bytes);
}

double tune_knob_programmed(
	enum tune_knob k, double value, double cell_bytes, const struct tune_asic *asic)
{
	double cell = cell_bytes > 0           ? cell_bytes
		: asic && asic->cell_bytes > 0 ? asic->cell_bytes
					       : NAN;
	if (!knobs[k].bytes || isnan(cell))
		return NAN;
	if ((k == KNOB_KMIN || k == KNOB_KMAX) && asic && asic->ecn_cells > 1)
		cell *= asic->ecn_cells;
	return rounded(value / cell, TUNE_UP) * cell;
}

const struct tune_asic *profiles_asic(const struct profiles *p, const char *platform)
{
	for (size_t i = 0; platform && i < profiles_count(p); i++) {
		const struct profile *at = profiles_at(p, i);
		for (size_t k = 0; k < at->n_asics; k++)
			if (matches(at->asics[k].platforms, at->asics[k].n_platforms, platform))
				return &at->asics[k];
	}
	return NULL;
}

/* ---- reading ------------------------------------------------------------- */

static int word_of(struct reader *r, const struct yaml_node *map, const char *key,
	const char *const *words, size_t n, int otherwise, const char *expected)
{
	const struct yaml_node *v = reader_value(map, key);
	if (!v)
		return otherwise;
	for (size_t i = 0; i < n; i++)
		if (v->kind == YAML_TEXT && str_eq(v->text, words[i]))
			return (int)i;
	reader_wrong_node(r, v, expected);
	return otherwise;
}

static const char *copy(
	struct reader *r, const struct yaml_node *map, const char *key, bool required)
{
	const char *s = reader_text(r, map, key, required);
	return s ? arena_strdup(r->a, s) : NULL;
}

static double decimal(
	struct reader *r, const struct yaml_node *map, const char *key, double otherwise)
{
	const struct yaml_node *v = reader_value(map, key);
	double d = otherwise;
	if (v && (v->kind != YAML_TEXT || unit_double(v->text, &d, NULL) < 0))
		reader_wrong_node(r, v, "a number");
	return d;
}

static bool knob_at(struct reader *r, const struct yaml_node *v, enum tune_knob *ret)
{
	if (v && v->kind == YAML_TEXT && tune_knob_parse(v->text, ret) == 0)
		return true;
	if (v)
		reader_wrong_node(r, v,
			"one of headroom xoff_level xon_level xon_offset alpha kmin kmax pmax "
			"weight");
	return false;
}

/* A list under @key, or NULL; what is no list is reported. */
static const struct yaml_node *list_at(
	struct reader *r, const struct yaml_node *map, const char *key, size_t max)
{
	const struct yaml_node *l = reader_value(map, key);
	if (l && (l->kind != YAML_LIST || l->n > max)) {
		char expected[64];
		snprintf(expected, sizeof(expected), "a list of at most %zu", max);
		reader_wrong_node(r, l, expected);
		return NULL;
	}
	return l;
}

static const char **globs_read(
	struct reader *r, const struct yaml_node *map, const char *key, size_t *ret_n)
{
	const struct yaml_node *l = list_at(r, map, key, 64);
	const char **v = arena_array(r->a, const char *, l ? l->n + 1 : 1);
	for (size_t i = 0; l && i < l->n; i++) {
		if (l->items[i].value->kind == YAML_TEXT)
			v[(*ret_n)++] = arena_strdup(r->a, l->items[i].value->text);
		else
			reader_wrong_node(r, l->items[i].value, "a glob such as \"*SN5600*\"");
	}
	return v;
}

static void knob_read(struct reader *r, const struct yaml_node *n, struct profile_tune *t)
{
	enum tune_knob k;
	if (!KEYS(r, n, "a knob", "knob", "object", "shared", "unit", "step", "by_cell", "min",
		    "max", "disruption", "platforms", "evidence"))
		return;
	if (!reader_text(r, n, "knob", true) || !knob_at(r, reader_value(n, "knob"), &k))
		return;
	struct tune_knob_rule *to = &t->knobs[k];
	if (to->settable)
		reader_wrong(r, n->line, n->col, "knob '%s' twice", tune_knob_name(k));
	*to = (struct tune_knob_rule){
		.settable = true,
		.object = copy(r, n, "object", true),
		.shared = reader_bool(r, n, "shared"),
		.unit = (enum tune_unit)word_of(r, n, "unit", units, rw_countof(units), TUNE_BYTES,
			"one of bytes kbytes cells percent exponent fraction number"),
		.step = decimal(r, n, "step", 1),
		.min = decimal(r, n, "min", -INFINITY),
		.max = decimal(r, n, "max", INFINITY),
		.by_cell = reader_bool(r, n, "by_cell"),
		.disruption = (enum tune_disruption)word_of(r, n, "disruption", disruptions,
			rw_countof(disruptions), DISRUPTION_UNKNOWN,
			"one of hitless queue_flush port_flap daemon_reload reboot unknown"),
		.evidence = copy(r, n, "evidence", true),
	};
	to->platforms = globs_read(r, n, "platforms", &to->n_platforms);
	if (!(to->step > 0) || to->min > to->max)
		reader_wrong(r, n->line, n->col, "expected step above 0, and min not above max");
}

static void cannot_read(struct reader *r, const struct yaml_node *n, struct profile_tune *t)
{
	enum tune_knob k;
	if (!KEYS(r, n, "a knob that cannot be set", "knob", "why"))
		return;
	const char *why = copy(r, n, "why", true);
	if (reader_text(r, n, "knob", true) && knob_at(r, reader_value(n, "knob"), &k)) {
		if (t->knobs[k].settable)
			reader_wrong(r, n->line, n->col, "knob '%s' is in 'knobs' as well",
				tune_knob_name(k));
		else
			t->knobs[k].cannot = why;
	}
}

static void asic_read(struct reader *r, const struct yaml_node *n, struct profile_tune *t)
{
	uint64_t cell = 0, ecn_cells = 1, slices = 0;
	if (!KEYS(r, n, "an ASIC", "name", "platforms", "cell", "ecn_cells", "headroom",
		    "size_holds_headroom", "voq", "slices", "source"))
		return;
	reader_number(r, n, "cell", 65536, &cell);
	reader_number(r, n, "ecn_cells", 65536, &ecn_cells);
	reader_number(r, n, "slices", 64, &slices);
	struct tune_asic *to = &r->p->asics[r->p->n_asics++];
	*to = (struct tune_asic){
		.name = copy(r, n, "name", true),
		.cell_bytes = (double)cell,
		.ecn_cells = (double)ecn_cells,
		.headroom = (enum tune_headroom)word_of(r, n, "headroom", headrooms,
			rw_countof(headrooms), TUNE_HEADROOM_NONE,
			"one of none spectrum spectrum_2021"),
		.size_holds_headroom = reader_bool(r, n, "size_holds_headroom"),
		.voq = reader_bool(r, n, "voq"),
		.slices = (unsigned)slices,
		.source = copy(r, n, "source", true),
	};
	to->platforms = globs_read(r, n, "platforms", &to->n_platforms);
}

static void name_read(struct reader *r, const struct yaml_node *n, struct profile_tune *t)
{
	if (!KEYS(r, n, "a name", "name", "standard", "check", "placeholder"))
		return;
	struct tune_name *to = &t->names[t->n_names++];
	*to = (struct tune_name){.name = copy(r, n, "name", true),
		.standard = copy(r, n, "standard", true),
		.check = copy(r, n, "check", true),
		.placeholder = reader_bool(r, n, "placeholder")};
}

/* ---- forms --------------------------------------------------------------- */

static const char *const words[] = {"port", "queue", "priority", "speed_mbps", "cable_m",
	"cable_max_m", "cable_now_m", "buffer_bytes"};

/* text_check - every {word} in @text is a knob, one of ours or a name. JSON has no braces in texts
 * here, so each one opens a word. */
static void text_check_in(struct reader *r, const struct yaml_node *at,
	const struct tune_name *names, size_t n_names, const char *text)
{
	for (const char *p = text; p && (p = strchr(p, '{')); p++) {
		size_t n = strcspn(p + 1, "}");
		bool known = false;
		for (size_t i = 0; i < TUNE_KNOBS && !known; i++)
			known = strlen(knobs[i].name) == n && strncmp(p + 1, knobs[i].name, n) == 0;
		for (size_t i = 0; i < rw_countof(words) && !known; i++)
			known = strlen(words[i]) == n && strncmp(p + 1, words[i], n) == 0;
		for (size_t i = 0; i < n_names && !known; i++)
			known = names[i].name && strlen(names[i].name) == n &&
				strncmp(p + 1, names[i].name, n) == 0;
		if (!known || p[1 + n] != '}')
			reader_wrong(r, at->line, at->col,
				"read '%.24s', expected a knob, a name from 'names', or one of "
				"port queue priority speed_mbps cable_m cable_max_m cable_now_m "
				"buffer_bytes",
				p);
	}
}

static void text_check(struct reader *r, const struct yaml_node *at, const struct profile_tune *t,
	const char *text)
{
	text_check_in(r, at, t->names, t->n_names, text);
}

static void fields_read(struct reader *r, const struct yaml_node *n, const struct profile_tune *t,
	struct tune_template *to)
{
	const struct yaml_node *f = reader_value(n, "fields");
	if (!f || f->kind != YAML_MAP || f->n > TUNE_FIELDS_MAX) {
		reader_wrong_node(r, f ? f : n,
			"'fields' with at most 24 values, such as { xoff: \"{headroom}\" }");
		return;
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(r, f->items[i].value, "text");
			continue;
		}
		to->fields[to->n_fields].field = arena_strdup(r->a, f->items[i].key);
		to->fields[to->n_fields].value = arena_strdup(r->a, f->items[i].value->text);
		text_check(r, f->items[i].value, t, to->fields[to->n_fields++].value);
		text_check(r, n, t, f->items[i].key);
	}
}

static void step_read(struct reader *r, const struct yaml_node *n, const struct profile_tune *t,
	struct tune_form *form)
{
	static const char *const needs[] = {"nothing", "size_apart"};
	struct tune_template *to = &form->steps[form->n_steps];
	if (!KEYS(r, n, "a step", "sets", "when", "needs", "note", "object", "text", "undo",
		    "table", "key", "fields"))
		return;
	to->line = n->line;
	const struct yaml_node *sets = list_at(r, n, "sets", TUNE_KNOBS);
	for (size_t i = 0; sets && i < sets->n; i++) {
		enum tune_knob k;
		if (!knob_at(r, sets->items[i].value, &k))
			continue;
		if (!t->knobs[k].settable)
			reader_wrong_node(r, sets->items[i].value, "a knob from 'knobs'");
		to->sets |= 1u << k;
	}
	if (!to->sets)
		reader_wrong(r, n->line, n->col,
			"'sets' is missing here: which knobs does this step bring into force?");
	to->when = (enum tune_when)word_of(r, n, "when", whens, rw_countof(whens), TUNE_ALWAYS,
		"one of always cable no_cable");
	to->size_apart = word_of(r, n, "needs", needs, 2, 0, "size_apart") == 1;
	to->note = copy(r, n, "note", false);
	to->object = copy(r, n, "object", false);
	to->table = copy(r, n, "table", false);
	if (to->table) {
		to->key = copy(r, n, "key", true);
		text_check(r, n, t, to->key);
		fields_read(r, n, t, to);
		form->json = true;
	} else {
		to->text = copy(r, n, "text", true);
		to->undo = copy(r, n, "undo", false);
		text_check(r, n, t, to->text);
		text_check(r, n, t, to->undo);
	}
	form->n_steps++;
}

static void form_read(struct reader *r, const struct yaml_node *n, struct profile_tune *t)
{
	if (!KEYS(r, n, "a form", "name", "commit", "use", "steps"))
		return;
	struct tune_form *to = &t->forms[t->n_forms++];
	to->name = copy(r, n, "name", true);
	to->commit = copy(r, n, "commit", false);
	to->use = copy(r, n, "use", false);
	const struct yaml_node *l = list_at(r, n, "steps", 64);
	to->steps = arena_array(r->a, struct tune_template, l ? l->n + 1 : 1);
	for (size_t i = 0; l && i < l->n; i++)
		step_read(r, l->items[i].value, t, to);
	for (size_t i = 0; i < to->n_steps; i++)
		if (!!to->steps[i].table != to->json)
			reader_wrong(r, to->steps[i].line, 0,
				"a form is text or JSON ('table'), not both");
}

static void each(struct reader *r, const struct yaml_node *map, const char *key,
	struct profile_tune *t,
	void (*read)(struct reader *, const struct yaml_node *, struct profile_tune *))
{
	const struct yaml_node *l = list_at(r, map, key, 64);
	for (size_t i = 0; l && i < l->n; i++)
		read(r, l->items[i].value, t);
}

void profile_tune_read(struct reader *r, const struct yaml_node *n)
{
	if (!n ||
		!KEYS(r, n, "'tuning'", "syntax", "voq", "comment", "notes", "knobs", "cannot",
			"asics", "names", "forms"))
		return;
	struct profile_tune *t = arena_new_of(r->a, struct profile_tune);
	t->syntax = copy(r, n, "syntax", false);
	t->comment = copy(r, n, "comment", false);
	t->voq = reader_bool(r, n, "voq");
	r->p->asics = arena_array(r->a, struct tune_asic, 65);
	t->names = arena_array(r->a, struct tune_name, 65);
	t->forms = arena_array(r->a, struct tune_form, 65);
	const struct yaml_node *notes = list_at(r, n, "notes", rw_countof(t->notes));
	for (size_t i = 0; notes && i < notes->n; i++)
		if (notes->items[i].value->kind == YAML_TEXT)
			t->notes[t->n_notes++] = arena_strdup(r->a, notes->items[i].value->text);
	each(r, n, "knobs", t, knob_read);
	each(r, n, "cannot", t, cannot_read);
	each(r, n, "asics", t, asic_read);
	each(r, n, "names", t, name_read);
	for (size_t i = 0; i < t->n_names; i++)
		text_check_in(r, n, NULL, 0, t->names[i].standard); /* no names in names */
	each(r, n, "forms", t, form_read);
	if (t->n_forms && (!t->syntax || !t->comment))
		reader_wrong(r, n->line, n->col, "'forms' need 'syntax' and 'comment'");
	/* else it tells of ASICs only */
	if (reader_value(n, "knobs") || reader_value(n, "cannot") || t->syntax)
		r->p->tune = t;
}
