/* profile_tune - reads the tuning half of a profile, and converts values of knobs to the units that
 * a kind of switch writes, and back. */
#include "config/profile/profile_tune.h"

#include "config/profile/profile_reader.h"

const char *const tune_knob_names[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = "headroom",
	[KNOB_XOFF_LEVEL] = "xoff_level",
	[KNOB_XON_LEVEL] = "xon_level",
	[KNOB_XON_OFFSET] = "xon_offset",
	[KNOB_ALPHA] = "alpha",
	[KNOB_KMIN] = "kmin",
	[KNOB_KMAX] = "kmax",
	[KNOB_PMAX] = "pmax",
	[KNOB_WEIGHT] = "weight",
};
const char *const tune_knob_units[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = "bytes",
	[KNOB_XOFF_LEVEL] = "bytes",
	[KNOB_XON_LEVEL] = "bytes",
	[KNOB_XON_OFFSET] = "bytes",
	[KNOB_ALPHA] = "ratio",
	[KNOB_KMIN] = "bytes",
	[KNOB_KMAX] = "bytes",
	[KNOB_PMAX] = "ratio",
	[KNOB_WEIGHT] = "-",
};
static const enum tune_round knob_safe[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = TUNE_UP,
	[KNOB_XOFF_LEVEL] = TUNE_DOWN,
	[KNOB_XON_LEVEL] = TUNE_DOWN,
	[KNOB_XON_OFFSET] = TUNE_UP,
	[KNOB_ALPHA] = TUNE_DOWN,
	[KNOB_KMIN] = TUNE_DOWN,
	[KNOB_KMAX] = TUNE_DOWN,
	[KNOB_PMAX] = TUNE_NEAREST,
	[KNOB_WEIGHT] = TUNE_NEAREST,
};
const char *const tune_disruption_names[DISRUPTION_UNKNOWN + 1] = {
	"hitless", "queue_flush", "port_flap", "daemon_reload", "reboot", "unknown"};
static const char *const units[] = {
	"bytes", "kbytes", "cells", "percent", "exponent", "fraction", "number"};
static const char *const headrooms[] = {"none", "spectrum", "spectrum_2021"};
static const char *const needs_names[TUNE_NEEDS] = {
	[NEED_HEADROOM] = "headroom",
	[NEED_XON] = "xon",
	[NEED_ALPHA] = "alpha",
	[NEED_ECN] = "ecn",
	[NEED_POOL] = "pool",
	[NEED_MARKS] = "marks",
	[NEED_WATERMARKS] = "watermarks",
	[NEED_PAUSE] = "pause",
	[NEED_CABLE] = "cable",
	[NEED_SHARED_HEADROOM] = "shared_headroom",
};
static const char *const whens[] = {"always", "cable", "no_cable"};

const char *tune_knob_name(enum tune_knob knob)
{
	if ((unsigned)knob < TUNE_KNOBS)
		return tune_knob_names[knob];
	return "?";
}
const char *tune_knob_unit(enum tune_knob knob)
{
	if ((unsigned)knob < TUNE_KNOBS)
		return tune_knob_units[knob];
	return "?";
}
enum tune_round tune_knob_safe(enum tune_knob knob)
{
	return knob_safe[knob];
}

int tune_knob_parse(const char *word, enum tune_knob *ret)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if (str_eq(word, tune_knob_names[k])) {
			*ret = (enum tune_knob)k;
			return 0;
		}
	return -EINVAL;
}

const char *tune_disruption_name(enum tune_disruption disruption)
{
	if ((size_t)disruption < rw_countof(tune_disruption_names))
		return tune_disruption_names[disruption];
	return "?";
}

static bool knob_in_bytes(enum tune_knob knob)
{
	return str_eq(tune_knob_units[knob], "bytes");
}

/* ---- arithmetic ---------------------------------------------------------- */

bool tune_platform_fits(const char *const *globs, size_t n, const char *platform)
{
	for (size_t i = 0; platform && i < n; i++)
		if (str_glob(globs[i], platform))
			return true;
	return false;
}

bool tune_rule_applies(const struct tune_knob_rule *rule, const char *platform)
{
	return rule->settable &&
		(rule->n_platforms == 0 ||
			tune_platform_fits(rule->platforms, rule->n_platforms, platform));
}

/* Written units per unit of the program (bytes, ratio): 1/1000 for kbytes. NAN when the cell size
 * or the limit that it takes is not known. */
static double profile_tune_scale(const struct tune_knob_rule *rule, enum tune_knob knob,
	double cell_bytes, double limit_bytes)
{
	switch (rule->unit) {
	case TUNE_KBYTES: return 1.0 / 1000;
	case TUNE_CELLS:
		if (cell_bytes > 0)
			return 1 / cell_bytes;
		return NAN;
	case TUNE_PERCENT:
		if (!knob_in_bytes(knob))
			return 100;
		if (limit_bytes > 0)
			return 100 / limit_bytes;
		return NAN;
	default: return 1;
	}
}

static double profile_tune_rounded(double value, enum tune_round how)
{
	double near = rint(value); /* whole but for the last bits: stays as it is */
	if (fabs(value - near) <= 1e-9 * fmax(1, fabs(value)))
		return near;
	if (how == TUNE_DOWN)
		return floor(value);
	if (how == TUNE_UP)
		return ceil(value);
	return near;
}

double tune_knob_write(const struct tune_knob_rule *rule, enum tune_knob knob, double value,
	double cell_bytes, double limit_bytes, enum tune_round how)
{
	if (!rule->settable || !isfinite(value) || value < 0)
		return NAN;
	double written = value * profile_tune_scale(rule, knob, cell_bytes, limit_bytes);
	double step = 1;
	if (rule->step > 0)
		step = rule->step;
	if (rule->unit == TUNE_EXPONENT || rule->unit == TUNE_FRACTION) {
		if (value <= 0)
			return NAN;
		written = profile_tune_rounded(log2(value), how);
		/* fractions of SAI's dynamic threshold are powers of two as well */
		if (rule->unit == TUNE_FRACTION)
			written = exp2(written);
	} else {
		const bool in_cells = rule->by_cell && knob_in_bytes(knob);
		if (in_cells && rule->unit == TUNE_BYTES && cell_bytes > 0 && step <= 1)
			step = cell_bytes;
		written = profile_tune_rounded(written / step, how) * step;
	}
	if (written >= rule->min && written <= rule->max)
		return written;
	return NAN;
}

double tune_knob_value(const struct tune_knob_rule *rule, enum tune_knob knob, double written,
	double cell_bytes, double limit_bytes)
{
	if (rule->unit == TUNE_EXPONENT)
		return exp2(written);
	return written / profile_tune_scale(rule, knob, cell_bytes, limit_bytes);
}

double tune_knob_round(const struct tune_knob_rule *rule, enum tune_knob knob, double value,
	double cell_bytes, double limit_bytes)
{
	double written =
		tune_knob_write(rule, knob, value, cell_bytes, limit_bytes, tune_knob_safe(knob));
	if (isnan(written))
		return NAN;
	return tune_knob_value(rule, knob, written, cell_bytes, limit_bytes);
}

double tune_knob_programmed(
	enum tune_knob knob, double value, double cell_bytes, const struct tune_asic *asic)
{
	double cell = NAN;
	if (cell_bytes > 0)
		cell = cell_bytes;
	else if (asic && asic->cell_bytes > 0)
		cell = asic->cell_bytes;
	if (!knob_in_bytes(knob) || isnan(cell))
		return NAN;
	if ((knob == KNOB_KMIN || knob == KNOB_KMAX) && asic && asic->ecn_cells > 1)
		cell *= asic->ecn_cells;
	return profile_tune_rounded(value / cell, TUNE_UP) * cell;
}

/* ---- reading ------------------------------------------------------------- */

/* The position of the word under @key; @otherwise when it is absent or wrong. */
static int word_at(struct reader *reader, const struct yaml_node *map, const char *key,
	const char *const *choices, size_t n, int otherwise, const char *expected)
{
	const struct yaml_node *v = reader_value(map, key);
	int at = -1;
	if (v)
		at = reader_word(reader, v, choices, n, expected);
	if (at < 0)
		return otherwise;
	return at;
}

static double profile_tune_decimal(
	struct reader *reader, const struct yaml_node *map, const char *key, double otherwise)
{
	const struct yaml_node *v = reader_value(map, key);
	double d = otherwise;
	if (v && (v->kind != YAML_TEXT || unit_double(v->text, &d, NULL) < 0))
		reader_wrong_node(reader, v, "a number");
	return d;
}

static bool knob_at(struct reader *reader, const struct yaml_node *node, enum tune_knob *ret)
{
	if (node && node->kind == YAML_TEXT && tune_knob_parse(node->text, ret) == 0)
		return true;
	if (node)
		reader_wrong_node(reader, node,
			"one of headroom xoff_level xon_level xon_offset alpha kmin kmax pmax "
			"weight");
	return false;
}

static const struct yaml_node *list_at(
	struct reader *reader, const struct yaml_node *map, const char *key, size_t max)
{
	char expected[64];
	snprintf(expected, sizeof(expected), "a list of at most %zu", max);
	return reader_list(reader, map, key, max, expected);
}

static const char **globs_read(
	struct reader *reader, const struct yaml_node *map, const char *key, size_t *ret_n)
{
	const struct yaml_node *list = list_at(reader, map, key, 64);
	return reader_texts(reader, list, "a glob such as \"*SN5600*\"", ret_n);
}

static void knob_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	enum tune_knob k;
	if (!KEYS(reader, node, "a knob", "knob", "object", "shared", "unit", "step", "by_cell",
		    "least", "min", "max", "disruption", "platforms", "evidence"))
		return;
	if (!reader_text(reader, node, "knob", true) ||
		!knob_at(reader, reader_value(node, "knob"), &k))
		return;
	struct tune_knob_rule *to = &tune->knobs[k];
	if (to->settable)
		reader_wrong(reader, node->line, node->col, "knob '%s' twice", tune_knob_name(k));
	*to = (struct tune_knob_rule){
		.settable = true,
		.object = reader_copy(reader, node, "object", true),
		.shared = reader_bool(reader, node, "shared"),
		.unit = (enum tune_unit)word_at(reader, node, "unit", units, rw_countof(units),
			TUNE_BYTES, "one of bytes kbytes cells percent exponent fraction number"),
		.step = profile_tune_decimal(reader, node, "step", 1),
		.least = profile_tune_decimal(reader, node, "least", 0),
		.min = profile_tune_decimal(reader, node, "min", -INFINITY),
		.max = profile_tune_decimal(reader, node, "max", INFINITY),
		.by_cell = reader_bool(reader, node, "by_cell"),
		.disruption = (enum tune_disruption)word_at(reader, node, "disruption",
			tune_disruption_names, rw_countof(tune_disruption_names),
			DISRUPTION_UNKNOWN,
			"one of hitless queue_flush port_flap daemon_reload reboot unknown"),
		.evidence = reader_copy(reader, node, "evidence", true),
	};
	to->platforms = globs_read(reader, node, "platforms", &to->n_platforms);
	if (!(to->step > 0) || to->min > to->max)
		reader_wrong(reader, node->line, node->col,
			"expected step above 0, and min not above max");
}

static void cannot_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	enum tune_knob k;
	if (!KEYS(reader, node, "a knob that cannot be set", "knob", "why"))
		return;
	const char *why = reader_copy(reader, node, "why", true);
	if (reader_text(reader, node, "knob", true) &&
		knob_at(reader, reader_value(node, "knob"), &k)) {
		if (tune->knobs[k].settable)
			reader_wrong(reader, node->line, node->col,
				"knob '%s' is in 'knobs' as well", tune_knob_name(k));
		else
			tune->knobs[k].cannot = why;
	}
}

static void collect_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	if (!node ||
		!KEYS(reader, node, "'collect'", "headroom", "xon", "alpha", "ecn", "pool", "marks",
			"watermarks", "pause", "cable", "shared_headroom"))
		return;
	for (int i = 0; i < TUNE_NEEDS; i++)
		tune->collect[i] = reader_copy(reader, node, needs_names[i], false);
}

static void relative_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	struct tune_relative *to = &tune->relative_ecn;
	if (!node ||
		!KEYS(reader, node, "'relative_ecn'", "since", "asics", "where", "text", "caveat",
			"evidence"))
		return;
	to->since = reader_copy(reader, node, "since", true);
	to->where = reader_copy(reader, node, "where", true);
	to->text = reader_copy(reader, node, "text", true);
	to->caveat = reader_copy(reader, node, "caveat", true);
	to->evidence = reader_copy(reader, node, "evidence", true);
	to->asics = globs_read(reader, node, "asics", &to->n_asics);
	if (!to->since || !to->where || !to->caveat)
		to->text = NULL;
}

static void asic_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	uint64_t cell = 0, ecn_cells = 1, slices = 0;
	if (!KEYS(reader, node, "an ASIC", "name", "platforms", "cell", "ecn_cells", "headroom",
		    "size_holds_headroom", "voq", "slices", "source"))
		return;
	reader_number(reader, node, "cell", 65536, &cell);
	reader_number(reader, node, "ecn_cells", 65536, &ecn_cells);
	reader_number(reader, node, "slices", 64, &slices);
	struct tune_asic *to = &reader->p->asics[reader->p->n_asics++];
	*to = (struct tune_asic){
		.name = reader_copy(reader, node, "name", true),
		.cell_bytes = (double)cell,
		.ecn_cells = (double)ecn_cells,
		.headroom = (enum tune_headroom)word_at(reader, node, "headroom", headrooms,
			rw_countof(headrooms), TUNE_HEADROOM_NONE,
			"one of none spectrum spectrum_2021"),
		.size_holds_headroom = reader_bool(reader, node, "size_holds_headroom"),
		.voq = reader_bool(reader, node, "voq"),
		.slices = (unsigned)slices,
		.source = reader_copy(reader, node, "source", true),
	};
	to->platforms = globs_read(reader, node, "platforms", &to->n_platforms);
}

static void name_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	if (!KEYS(reader, node, "a name", "name", "standard", "check", "placeholder"))
		return;
	struct tune_name *to = &tune->names[tune->n_names++];
	*to = (struct tune_name){.name = reader_copy(reader, node, "name", true),
		.standard = reader_copy(reader, node, "standard", true),
		.check = reader_copy(reader, node, "check", true),
		.placeholder = reader_bool(reader, node, "placeholder")};
}

/* ---- forms --------------------------------------------------------------- */

static const char *const words[] = {"port", "queue", "priority", "speed_mbps", "cable_m",
	"cable_max_m", "cable_now_m", "buffer_bytes"};

static bool is_word(const char *text, size_t n, const char *word)
{
	return word && strlen(word) == n && strncmp(text, word, n) == 0;
}

/* A knob, one of words[], or a name. */
static bool word_known(const char *text, size_t n, const struct tune_name *names, size_t n_names)
{
	for (size_t i = 0; i < TUNE_KNOBS; i++)
		if (is_word(text, n, tune_knob_names[i]))
			return true;
	for (size_t i = 0; i < rw_countof(words); i++)
		if (is_word(text, n, words[i]))
			return true;
	for (size_t i = 0; i < n_names; i++)
		if (is_word(text, n, names[i].name))
			return true;
	return false;
}

/* Every {word} in @text is known. JSON has no braces in texts here, so each one opens a word. */
static void text_check_in(struct reader *reader, const struct yaml_node *at,
	const struct tune_name *names, size_t n_names, const char *text)
{
	for (const char *p = text; p && (p = strchr(p, '{')); p++) {
		size_t n = strcspn(p + 1, "}");
		if (!word_known(p + 1, n, names, n_names) || p[1 + n] != '}')
			reader_wrong(reader, at->line, at->col,
				"unknown placeholder '%.24s'; expected a knob, a name from "
				"'names', or one of "
				"port queue priority speed_mbps cable_m cable_max_m cable_now_m "
				"buffer_bytes",
				p);
	}
}

static void text_check(struct reader *reader, const struct yaml_node *at,
	const struct profile_tune *tune, const char *text)
{
	text_check_in(reader, at, tune->names, tune->n_names, text);
}

static void fields_read(struct reader *reader, const struct yaml_node *node,
	const struct profile_tune *tune, struct tune_template *to)
{
	const struct yaml_node *f = reader_value(node, "fields");
	if (!f)
		f = node;
	if (f == node || f->kind != YAML_MAP || f->n > TUNE_FIELDS_MAX) {
		reader_wrong_node(reader, f,
			"'fields' with at most 24 values, such as { xoff: \"{headroom}\" }");
		return;
	}
	for (size_t i = 0; i < f->n; i++) {
		if (f->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(reader, f->items[i].value, "text");
			continue;
		}
		to->fields[to->n_fields].field = arena_strdup(reader->a, f->items[i].key);
		to->fields[to->n_fields].value = arena_strdup(reader->a, f->items[i].value->text);
		text_check(reader, f->items[i].value, tune, to->fields[to->n_fields++].value);
		text_check(reader, node, tune, f->items[i].key);
	}
}

static void step_read(struct reader *reader, const struct yaml_node *node,
	const struct profile_tune *tune, struct tune_form *form)
{
	static const char *const needs[] = {"nothing", "size_apart"};
	struct tune_template *to = &form->steps[form->n_steps];
	if (!KEYS(reader, node, "a step", "sets", "when", "needs", "note", "object", "text", "undo",
		    "table", "key", "fields"))
		return;
	to->line = node->line;
	const struct yaml_node *sets = list_at(reader, node, "sets", TUNE_KNOBS);
	for (size_t i = 0; i < reader_n(sets); i++) {
		enum tune_knob k;
		if (!knob_at(reader, sets->items[i].value, &k))
			continue;
		if (!tune->knobs[k].settable)
			reader_wrong_node(reader, sets->items[i].value, "a knob from 'knobs'");
		to->sets |= 1u << k;
	}
	if (!to->sets)
		reader_wrong(reader, node->line, node->col,
			"'sets' is missing here: which knobs does this step bring into force?");
	to->when = (enum tune_when)word_at(reader, node, "when", whens, rw_countof(whens),
		TUNE_ALWAYS, "one of always cable no_cable");
	to->size_apart = word_at(reader, node, "needs", needs, 2, 0, "size_apart") == 1;
	to->note = reader_copy(reader, node, "note", false);
	to->object = reader_copy(reader, node, "object", false);
	to->table = reader_copy(reader, node, "table", false);
	if (to->table) {
		to->key = reader_copy(reader, node, "key", true);
		text_check(reader, node, tune, to->key);
		fields_read(reader, node, tune, to);
		form->json = true;
	} else {
		to->text = reader_copy(reader, node, "text", true);
		to->undo = reader_copy(reader, node, "undo", false);
		text_check(reader, node, tune, to->text);
		text_check(reader, node, tune, to->undo);
	}
	form->n_steps++;
}

static void form_read(
	struct reader *reader, const struct yaml_node *node, struct profile_tune *tune)
{
	if (!KEYS(reader, node, "a form", "name", "commit", "use", "steps"))
		return;
	struct tune_form *to = &tune->forms[tune->n_forms++];
	to->name = reader_copy(reader, node, "name", true);
	to->commit = reader_copy(reader, node, "commit", false);
	to->use = reader_copy(reader, node, "use", false);
	const struct yaml_node *l = list_at(reader, node, "steps", 64);
	to->steps = arena_array(reader->a, struct tune_template, reader_n(l) + 1);
	for (size_t i = 0; i < reader_n(l); i++)
		step_read(reader, l->items[i].value, tune, to);
	for (size_t i = 0; i < to->n_steps; i++)
		if (!!to->steps[i].table != to->json)
			reader_wrong(reader, to->steps[i].line, 0,
				"a form is text or JSON ('table'), not both");
}

static void profile_tune_each(struct reader *reader, const struct yaml_node *map, const char *key,
	struct profile_tune *tune,
	void (*read)(struct reader *, const struct yaml_node *, struct profile_tune *))
{
	const struct yaml_node *l = list_at(reader, map, key, 64);
	for (size_t i = 0; i < reader_n(l); i++)
		read(reader, l->items[i].value, tune);
}

void profile_tune_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'tuning'", "syntax", "example", "voq", "comment", "notes",
			"knobs", "cannot", "collect", "relative_ecn", "asics", "names", "forms"))
		return;
	struct profile_tune *t = arena_new_of(reader->a, struct profile_tune);
	t->syntax = reader_copy(reader, node, "syntax", false);
	t->comment = reader_copy(reader, node, "comment", false);
	t->example = reader_bool(reader, node, "example");
	t->voq = reader_bool(reader, node, "voq");
	reader->p->asics = arena_array(reader->a, struct tune_asic, 65);
	t->names = arena_array(reader->a, struct tune_name, 65);
	t->forms = arena_array(reader->a, struct tune_form, 65);
	const struct yaml_node *notes = list_at(reader, node, "notes", rw_countof(t->notes));
	for (size_t i = 0; i < reader_n(notes); i++)
		if (notes->items[i].value->kind == YAML_TEXT)
			t->notes[t->n_notes++] =
				arena_strdup(reader->a, notes->items[i].value->text);
	collect_read(reader, reader_value(node, "collect"), t);
	relative_read(reader, reader_value(node, "relative_ecn"), t);
	profile_tune_each(reader, node, "knobs", t, knob_read);
	profile_tune_each(reader, node, "cannot", t, cannot_read);
	profile_tune_each(reader, node, "asics", t, asic_read);
	profile_tune_each(reader, node, "names", t, name_read);
	for (size_t i = 0; i < t->n_names; i++)
		text_check_in(reader, node, NULL, 0, t->names[i].standard); /* no names in names */
	profile_tune_each(reader, node, "forms", t, form_read);
	if (t->n_forms && (!t->syntax || !t->comment))
		reader_wrong(reader, node->line, node->col, "'forms' need 'syntax' and 'comment'");
	/* else there are only ASICs in it */
	if (reader_value(node, "knobs") || reader_value(node, "cannot") || t->syntax)
		reader->p->tune = t;
}
