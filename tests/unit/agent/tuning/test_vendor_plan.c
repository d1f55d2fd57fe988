/*
 * render: golden files of every vendor (tests/golden/render/<syntax>/<case>.txt; RW_GOLDEN=write
 * writes them), the walk through every step of apply and undo, numbers read back out of the text,
 * and the JSON against the published names and ranges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "tests/unit/agent/tuning/render_world.h"

static struct world w;

static int setup(void **state)
{
	return world_init(&w);
}
static int teardown(void **state)
{
	world_done(&w);
	return 0;
}

static const struct profile *speaker(const char *syntax)
{
	for (size_t i = 0; i < profiles_count(w.profiles); i++) {
		const struct profile *p = profiles_at(w.profiles, i);
		if (p->tune && str_eq(p->tune->syntax, syntax))
			return p;
	}
	fail_msg("nobody speaks %s", syntax);
	return NULL;
}

static const char *const syntaxes[] = {"sonic", "eos", "nxos", "nvue", "junos"};
static const char *const descriptions[] = {"SONiC Software Version: SONiC.202511 - HwSku: Some-TH5",
	"Arista Networks DCS-7060DX4-32", "Cisco NX-OS(tm) n9000", "Cumulus-Linux 5.14",
	"Juniper Networks, Inc. qfx5230"};

/* ---- golden -------------------------------------------------------------- */

static void ecn_force(double kmin, double kmax, double pmax)
{
	w.ctx.in_force[KNOB_KMIN] = kmin;
	w.ctx.in_force[KNOB_KMAX] = kmax;
	w.ctx.in_force[KNOB_PMAX] = pmax;
	w.ctx.in_force[KNOB_WEIGHT] = 0;
	w.ctx.queue_limit_bytes = 8000000;
}

static void lower(void)
{
	ecn_force(1048576, 2097152, 0.05);
	world_change(&w, KNOB_KMIN, 1048576, 524288);
	world_change(&w, KNOB_KMAX, 2097152, 1048576);
}
static void raise_both(void)
{
	ecn_force(400000, 1600000, 0.2);
	world_change(&w, KNOB_KMIN, 400000, 800000);
	world_change(&w, KNOB_KMAX, 1600000, 3200000);
}
static void pmax(void)
{
	ecn_force(1000000, 2000000, 0.05);
	world_change(&w, KNOB_PMAX, 0.05, 0.1);
}
static void alpha(void)
{
	ecn_force(1000000, 2000000, 0.05);
	world_change(&w, KNOB_ALPHA, 0.0625, 0.125);
}
static void headroom(void)
{
	w.ctx.in_force[KNOB_XOFF_LEVEL] = 46800;
	w.ctx.in_force[KNOB_XON_LEVEL] = 34320;
	world_change(&w, KNOB_HEADROOM, 165888, 271360);
}
static void cable(void)
{
	headroom();
	w.ports[0].cable_now_m = w.ports[1].cable_now_m = 5; /* the third is right already */
}
static void xon_offset(void)
{
	world_change(&w, KNOB_XON_OFFSET, 2496, 6784);
}
/* pmax of nobody known */
static void unknown(void)
{
	world_change(&w, KNOB_KMIN, 1048576, 524288);
	world_change(&w, KNOB_KMAX, 2097152, 1048576);
}

static const struct {
	const char *name;
	void (*make)(void);
	bool native;
} cases[] = {
	{"lower", lower, true},
	{"raise", raise_both, true},
	{"pmax", pmax, true},
	{"alpha", alpha, true},
	{"headroom", headroom, true},
	{"cable", cable, true},
	{"xon_offset", xon_offset, true},
	{"orientation", unknown, false},
};

static void golden(const char *syntax, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "tests/golden/render/%s", syntax);
	if (str_eq(getenv("RW_GOLDEN"), "write")) {
		mkdir(path, 0777);
		snprintf(path, sizeof(path), "tests/golden/render/%s/%s.txt", syntax, name);
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
		return;
	}
	rw_cleanup(freep) char *expected = NULL;
	size_t n;
	snprintf(path, sizeof(path), "tests/golden/render/%s/%s.txt", syntax, name);
	struct err e = {0};
	if (str_read_file(path, 1 << 20, &expected, &n, &e) < 0)
		fail_msg("%s", e.text);
	if (strcmp(expected, text) != 0)
		fail_msg("%s differs; it is now:\n%s", path, text);
}

static void test_golden(void **state)
{
	for (size_t v = 0; v < 5; v++)
		for (size_t i = 0; i < rw_countof(cases); i++) {
			rw_cleanup(str_done) struct str out = {0};
			const char *apply, *undo;
			world_sheet(&w);
			cases[i].make();
			if (cases[i].native) {
				w.ctx.platform = speaker(syntaxes[v]);
				w.ctx.description = descriptions[v];
			}
			int a = render_device(&w.sheet, &w.ctx, syntaxes[v], false, &apply),
			    u = render_device(&w.sheet, &w.ctx, syntaxes[v], true, &undo);
			if (a == 0 && u != 0) /* never a change without a way back */
				fail_msg("%s %s can be applied and not undone:\n%s\n%s",
					syntaxes[v], cases[i].name, apply, undo);
			str_addf(&out, "%s\n%s", apply, undo);
			golden(syntaxes[v], cases[i].name, out.s);
		}
}

/* ---- the walk: every state between is safe ------------------------------- */

static const char *say(const struct render_plan *p, size_t i)
{
	return p->n_steps ? p->steps[i].text : "";
}

static void state_check(const struct render_plan *p, size_t i, const double v[TUNE_KNOBS],
	const double before[TUNE_KNOBS], const double goal[TUNE_KNOBS])
{
	if (!isnan(v[KNOB_KMIN]) && !isnan(v[KNOB_KMAX]) && v[KNOB_KMIN] > v[KNOB_KMAX])
		fail_msg("%s: Kmin %g above Kmax %g after: %s", p->profile->name, v[KNOB_KMIN],
			v[KNOB_KMAX], say(p, i));
	double limit = fmax(before[KNOB_KMAX], goal[KNOB_KMAX]);
	if (!isnan(limit) && v[KNOB_KMAX] > limit)
		fail_msg("%s: Kmax %g above %g after: %s", p->profile->name, v[KNOB_KMAX], limit,
			say(p, i));
	if (!isnan(v[KNOB_XOFF_LEVEL]) && !isnan(v[KNOB_XON_LEVEL]) &&
		v[KNOB_XON_LEVEL] > v[KNOB_XOFF_LEVEL])
		fail_msg("%s: xon %g above xoff %g after: %s", p->profile->name, v[KNOB_XON_LEVEL],
			v[KNOB_XOFF_LEVEL], say(p, i));
	/* the larger alpha goes with the headroom of the state that has it: never more alpha than
	 * the headroom in force is meant for */
	double more = fmax(before[KNOB_ALPHA], goal[KNOB_ALPHA]),
	       with = before[KNOB_ALPHA] > goal[KNOB_ALPHA] ? before[KNOB_HEADROOM]
							    : goal[KNOB_HEADROOM];
	if (!isnan(v[KNOB_ALPHA]) && !isnan(with) && before[KNOB_ALPHA] != goal[KNOB_ALPHA] &&
		v[KNOB_ALPHA] == more && v[KNOB_HEADROOM] < with)
		fail_msg("%s: alpha %g with headroom %g, it needs %g, after: %s", p->profile->name,
			v[KNOB_ALPHA], v[KNOB_HEADROOM], with, say(p, i));
}

/* walk - through the steps from @v; returns where it ends in @v. Each step is what it says: only
 * what it sets has changed. */
static void walk(const struct render_plan *p, double v[TUNE_KNOBS], const double goal[TUNE_KNOBS])
{
	double before[TUNE_KNOBS];
	memcpy(before, v, sizeof(before));
	for (size_t i = 0; i < p->n_steps; i++) {
		for (unsigned k = 0; k < TUNE_KNOBS; k++) {
			double now = p->steps[i].sets & 1u << k ? p->steps[i].after[k] : v[k];
			if (!(p->steps[i].sets & 1u << k) && !isnan(v[k]) &&
				p->steps[i].after[k] != v[k])
				fail_msg("%s: %s moved to %g by a step that does not set it: %s",
					p->profile->name, tune_knob_name((enum tune_knob)k),
					p->steps[i].after[k], p->steps[i].text);
			v[k] = now;
		}
		state_check(p, i, v, before, goal);
	}
}

static unsigned seed;
static double uniform(double lo, double hi)
{
	return lo + (hi - lo) * ((double)rand_r(&seed) / RAND_MAX);
}
static double whole(double lo, double hi)
{
	return floor(uniform(lo, hi));
}

/* Any change: one or two families, any direction, any cell. */
static void any_change(void)
{
	static const double cells[] = {NAN, 144, 192, 208, 254, 256};
	double kmin = whole(50000, 2000000), kmax = kmin + whole(300000, 4000000),
	       kmin2 = whole(50000, 2000000), kmax2 = kmin2 + whole(300000, 4000000);
	double pmax = whole(1, 100) / 100, pmax2 = whole(1, 100) / 100, alpha = exp2(whole(-6, 3)),
	       alpha2 = exp2(whole(-6, 3));
	double headroom = whole(20000, 600000), headroom2 = whole(20000, 600000),
	       xoff = whole(80000, 200000), xon = whole(10000, 70000);
	unsigned families = (unsigned)rand_r(&seed) % 15 + 1;
	world_sheet(&w);
	w.ctx.cell_bytes = cells[(unsigned)rand_r(&seed) % 6];
	w.ctx.queue_limit_bytes = rand_r(&seed) % 4 ? whole(6000000, 12000000) : NAN;
	ecn_force(kmin, kmax, pmax);
	if (!(families & 1))
		w.ctx.queue_limit_bytes = NAN;
	w.ctx.in_force[KNOB_ALPHA] = alpha;
	w.ctx.in_force[KNOB_HEADROOM] = headroom;
	w.ctx.in_force[KNOB_XOFF_LEVEL] = xoff;
	w.ctx.in_force[KNOB_XON_LEVEL] = xon;
	if (families & 1) {
		world_change(&w, KNOB_KMIN, kmin, kmin2);
		world_change(&w, KNOB_KMAX, kmax, kmax2);
		if (rand_r(&seed) % 2)
			world_change(&w, KNOB_PMAX, pmax, pmax2);
	}
	if (families & 2)
		world_change(&w, KNOB_ALPHA, alpha, alpha2);
	if (families & 4) {
		world_change(&w, KNOB_HEADROOM, headroom, headroom2);
		if (rand_r(&seed) % 2)
			w.ports[0].cable_now_m = 300;
	}
	if (families & 8) {
		double xoff2 = whole(80000, 200000), xon2 = whole(10000, 70000);
		world_change(&w, KNOB_XOFF_LEVEL, xoff, xoff2);
		world_change(&w, KNOB_XON_LEVEL, xon,
			xon2 + (xoff2 > 100000 && xoff > 100000 ? 30000 : 0));
		w.ctx.in_force[KNOB_XON_OFFSET] = 2048;
		world_change(&w, KNOB_XON_OFFSET, 2048, whole(1000, 9000));
	}
}

/* walk_form - there and back; false when nothing of it can be written. */
static bool walk_form(const struct profile *p, const struct tune_form *form, unsigned *ret_several)
{
	struct render_plan apply, undo;
	double v[TUNE_KNOBS], goal[TUNE_KNOBS];
	unsigned sets = 0;
	if (render_plan(&w.sheet, &w.ctx, p, form, false, &apply) < 0)
		return false;
	assert_int_equal(apply.n_missing, 0); /* all of a sheet, or nothing */
	memcpy(v, w.ctx.in_force, sizeof(v));
	memcpy(goal, v, sizeof(goal));
	for (size_t k = 0; k < apply.n_steps; k++)
		sets |= apply.steps[k].sets;
	for (size_t k = 0; k < w.sheet.n_changes; k++)
		if (sets & 1u << w.sheet.changes[k].knob)
			goal[w.sheet.changes[k].knob] =
				apply.steps[apply.n_steps - 1].after[w.sheet.changes[k].knob];
	walk(&apply, v, goal);
	/* the end is what was proposed, but for rounding to the safe side */
	for (size_t k = 0; k < w.sheet.n_changes; k++) {
		enum tune_knob knob = w.sheet.changes[k].knob;
		const struct tune_knob_rule *r = &p->tune->knobs[knob];
		double proposed = w.sheet.changes[k].proposed,
		       step = r->unit == TUNE_PERCENT
			? (knob == KNOB_PMAX ? 0.01 : w.ctx.queue_limit_bytes / 100)
			: 2048;
		if (sets & 1u << knob && fabs(v[knob] - proposed) > step)
			fail_msg("%s: %s ends at %g, proposed %g", p->name, tune_knob_name(knob),
				v[knob], proposed);
	}
	if (render_plan(&w.sheet, &w.ctx, p, form, true, &undo) < 0)
		fail_msg("%s %s: there is no way back from\n%s\n%s", p->name, form->name,
			apply.steps[0].text, undo.missing[0]);
	walk(&undo, v, w.ctx.in_force);
	for (unsigned k = 0; k < TUNE_KNOBS; k++)
		if (!isnan(w.ctx.in_force[k]) && v[k] != w.ctx.in_force[k])
			fail_msg("%s: %s is %.17g after undo, was %.17g", p->name,
				tune_knob_name((enum tune_knob)k), v[k], w.ctx.in_force[k]);
	*ret_several += apply.n_steps > 1;
	return true;
}

/* A switch on which each threshold is a command of its own: the order is all there is. */
static struct profiles *piecemeal(void)
{
	rw_cleanup(str_done) struct str text = {0}, steps = {0};
	struct err_list errors = {0};
	struct profiles *ret = NULL;
	str_add(&text,
		"name: piecemeal\ndoc: d\ntuning:\n  syntax: piecemeal\n  comment: \"#\"\n  "
		"knobs:\n");
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		const char *name = tune_knob_name((enum tune_knob)k);
		str_addf(&text, "    - { knob: %s, object: o, unit: %s, evidence: e }\n", name,
			k == KNOB_ALPHA          ? "exponent"
				: k == KNOB_PMAX ? "percent"
						 : "bytes");
		str_addf(&steps, "        - { sets: [%s], text: \"%s {%s}\" }\n", name, name, name);
	}
	str_addf(&text, "  forms:\n    - name: cli\n      steps:\n%s", steps.s);
	int rc = profiles_parse(text.s, text.n, "piecemeal.yaml", &ret, &errors);
	if (rc < 0)
		fail_msg("%s", errors.v[0].text);
	err_list_done(&errors);
	return ret;
}

static void test_walk(void **state)
{
	unsigned walked = 0, several = 0, apart = 0;
	struct profiles *own = piecemeal();
	const struct profile *p = profiles_get(own, "piecemeal");
	seed = 4711;
	for (unsigned n = 0; n < 1500; n++) {
		any_change();
		for (size_t s = 0; s < 5; s++) {
			const struct profile *v = speaker(syntaxes[s]);
			w.ctx.description = rand_r(&seed) % 2 ? descriptions[s] : NULL;
			for (size_t i = 0; i < v->tune->n_forms; i++)
				walked += walk_form(v, &v->tune->forms[i], &several);
		}
		if (!walk_form(p, &p->tune->forms[0], &apart))
			fail_msg("what needs no more than whole bytes was not written");
		arena_reset(w.arena);
	}
	profiles_free(own);
	assert_true(walked > 2000);
	assert_true(several > 500);
	assert_true(apart > 1000);
}

/* ---- numbers, read back out of the text ---------------------------------- */

/*
 * What each vendor publishes, written from its documentation and not
 * from the profiles: the word before a number, the knob it is, and what it may be. per: how many of
 * the knob's units one of the written is; 0 = 2^n.
 */
static const struct published {
	const char *syntax, *word;
	enum tune_knob knob;
	double min, max, per;
	bool cells;
} published[] = {
	{"sonic", "-gmin ", KNOB_KMIN, 0, 2147483647, 1, true},
	{"sonic", "-ymin ", KNOB_KMIN, 0, 2147483647, 1, true},
	{"sonic", "-rmin ", KNOB_KMIN, 0, 2147483647, 1, true},
	{"sonic", "-gmax ", KNOB_KMAX, 0, 2147483647, 1, true},
	{"sonic", "-ymax ", KNOB_KMAX, 0, 2147483647, 1, true},
	{"sonic", "-rmax ", KNOB_KMAX, 0, 2147483647, 1, true},
	{"sonic", "-gdrop ", KNOB_PMAX, 0, 100, 0.01, false},
	{"sonic", "-ydrop ", KNOB_PMAX, 0, 100, 0.01, false},
	{"sonic", "-rdrop ", KNOB_PMAX, 0, 100, 0.01, false},
	{"sonic", " -a ", KNOB_ALPHA, -8, 7, 0, false},
	{"sonic", "--xoff ", KNOB_HEADROOM, 0, 2147483647, 1, false},
	{"sonic", "--xon ", KNOB_XON_LEVEL, 0, 2147483647, 1, false},
	{"eos", "minimum-threshold ", KNOB_KMIN, 1, 256000000, 1, true},
	{"eos", "maximum-threshold ", KNOB_KMAX, 1, 256000000, 1, true},
	{"eos", "max-mark-probability ", KNOB_PMAX, 1, 100, 0.01, false},
	{"eos", " weight ", KNOB_WEIGHT, 0, 15, 1, false},
	{"eos", "ingress headroom bytes ", KNOB_HEADROOM, 0, INFINITY, 1, true},
	{"nxos", "minimum-threshold ", KNOB_KMIN, 1, INFINITY, 1, true},
	{"nxos", "maximum-threshold ", KNOB_KMAX, 1, INFINITY, 1, true},
	{"nxos", "drop-probability ", KNOB_PMAX, 1, 100, 0.01, false},
	{"nxos", " weight ", KNOB_WEIGHT, 0, 15, 1, false},
	{"nxos", "pause-threshold ", KNOB_XOFF_LEVEL, 0, INFINITY, 1, false},
	{"nxos", "resume-threshold ", KNOB_XON_LEVEL, 0, INFINITY, 1, false},
	{"nvue", "min-threshold ", KNOB_KMIN, 0, INFINITY, 1, true},
	{"nvue", "max-threshold ", KNOB_KMAX, 0, INFINITY, 1, true},
	{"nvue", " probability ", KNOB_PMAX, 0, 100, 0.01, false},
};

static double value_in(const struct published *b, const char *text, bool *found)
{
	const char *at = strstr(text, b->word);
	*found = at && strncmp(at + strlen(b->word), "<", 1) != 0;
	return *found ? strtod(at + strlen(b->word), NULL) : NAN;
}

static void step_numbers(const char *syntax, const struct render_step *s, bool apply)
{
	for (size_t b = 0; b < rw_countof(published); b++) {
		bool found;
		double n = value_in(&published[b], s->text, &found), v;
		enum tune_knob k = published[b].knob;
		if (strcmp(published[b].syntax, syntax) != 0 || !found)
			continue;
		if (n < published[b].min || n > published[b].max || n != floor(n))
			fail_msg("%s: %s%g is not within %g..%g, or not whole", syntax,
				published[b].word, n, published[b].min, published[b].max);
		v = published[b].per > 0 ? n * published[b].per : exp2(n);
		if (fabs(v - s->after[k]) > 1e-9 * fmax(1, v))
			fail_msg("%s: %s%g is %g, but the step says that %s is %g then", syntax,
				published[b].word, n, v, tune_knob_name(k), s->after[k]);
		if (apply && published[b].cells && (s->sets & 1u << k) && w.ctx.cell_bytes > 0 &&
			fmod(n, w.ctx.cell_bytes) != 0)
			fail_msg("%s: %s%g is no multiple of the cell, %g", syntax,
				published[b].word, n, w.ctx.cell_bytes);
		if (apply && k == KNOB_HEADROOM && (s->sets & 1u << k) &&
			strcmp(syntax, "sonic") == 0 && fmod(n, 1024) != 0)
			fail_msg("%s: %s%g is no multiple of 1 KiB", syntax, published[b].word, n);
	}
}

/* fill_levels - percent of the queue's limit; where the text has numbers for them. */
static void fill_levels(const struct render_step *s)
{
	const char *at = strstr(s->text, "interpolate fill-level ");
	int lo, hi, top;
	if (!at ||
		sscanf(at,
			"interpolate fill-level %d fill-level %d drop-probability 0 "
			"drop-probability %d",
			&lo, &hi, &top) != 3)
		return;
	if (lo < 1 || hi <= lo || hi > 100 || top < 0 || top > 100)
		fail_msg("junos: %d %% to %d %%, %d %%", lo, hi, top);
	double limit = w.ctx.queue_limit_bytes;
	if (s->after[KNOB_KMAX] > limit)
		fail_msg("junos: Kmax %g in percent of %g", s->after[KNOB_KMAX], limit);
	if (fabs(lo * limit / 100 - s->after[KNOB_KMIN]) > 1 ||
		fabs(hi * limit / 100 - s->after[KNOB_KMAX]) > 1 ||
		fabs(top / 100. - s->after[KNOB_PMAX]) > 1e-9)
		fail_msg("junos: %d %%, %d %%, %d %% of %g are not what the step says", lo, hi, top,
			limit);
}

static void test_numbers(void **state)
{
	unsigned read = 0;
	seed = 12;
	for (unsigned n = 0; n < 1500; n++) {
		any_change();
		for (size_t s = 0; s < 5; s++) {
			const struct profile *p = speaker(syntaxes[s]);
			struct render_plan plan;
			w.ctx.description = descriptions[s];
			for (int undo = 0; undo < 2; undo++) {
				if (render_plan(&w.sheet, &w.ctx, p, &p->tune->forms[0], undo,
					    &plan) < 0)
					continue;
				for (size_t i = 0; i < plan.n_steps; i++, read++) {
					step_numbers(syntaxes[s], &plan.steps[i], !undo);
					fill_levels(&plan.steps[i]);
				}
			}
		}
		arena_reset(w.arena);
	}
	assert_true(read > 5000);
}

/* ---- SONiC's JSON against the published schema --------------------------- */

/* Names and ranges of CONFIG_DB, from its YANG models: what is not here must not be
 * there. All values are strings. */
static const struct {
	const char *table, *field;
	double min, max;
} schema[] = {
	{"WRED_PROFILE", "green_min_threshold", 0, 2147483647},
	{"WRED_PROFILE", "green_max_threshold", 0, 2147483647},
	{"WRED_PROFILE", "yellow_min_threshold", 0, 2147483647},
	{"WRED_PROFILE", "yellow_max_threshold", 0, 2147483647},
	{"WRED_PROFILE", "red_min_threshold", 0, 2147483647},
	{"WRED_PROFILE", "red_max_threshold", 0, 2147483647},
	{"WRED_PROFILE", "green_drop_probability", 0, 100},
	{"WRED_PROFILE", "yellow_drop_probability", 0, 100},
	{"WRED_PROFILE", "red_drop_probability", 0, 100},
	{"BUFFER_PROFILE", "xoff", 0, 2147483647},
	{"BUFFER_PROFILE", "xon", 0, 2147483647},
	{"BUFFER_PROFILE", "xon_offset", 0, 2147483647},
	{"BUFFER_PROFILE", "size", 0, 2147483647},
	{"BUFFER_PROFILE", "dynamic_th", -8, 7},
};

static void field_check(const char *table, const char *field, const json_t *v)
{
	const char *text = json_string_value(v);
	char *end;
	if (!text)
		fail_msg("%s %s is no string", table, field);
	double n = strtod(text, &end);
	if (strcmp(table, "CABLE_LENGTH") == 0) { /* [0-9]+m, by port */
		if (strcmp(end, "m") != 0 || strspn(text, "0123456789") + 1 != strlen(text) ||
			strncmp(field, "Ethernet", 8) != 0)
			fail_msg("CABLE_LENGTH %s: %s", field, text);
		return;
	}
	for (size_t i = 0; i < rw_countof(schema); i++)
		if (strcmp(schema[i].table, table) == 0 && strcmp(schema[i].field, field) == 0) {
			if (*end || strspn(text, "-0123456789") != strlen(text) ||
				n < schema[i].min || n > schema[i].max)
				fail_msg("%s %s: '%s' is not within %g..%g", table, field, text,
					schema[i].min, schema[i].max);
			return;
		}
	fail_msg("%s has no field '%s'", table, field);
}

/* colours - the three are set alike, min not above max. */
static void colours_check(const json_t *row)
{
	static const char *const ends[] = {"min_threshold", "max_threshold", "drop_probability"};
	for (size_t i = 0; i < 3; i++) {
		char g[40], y[40], r[40];
		snprintf(g, sizeof(g), "green_%s", ends[i]);
		snprintf(y, sizeof(y), "yellow_%s", ends[i]);
		snprintf(r, sizeof(r), "red_%s", ends[i]);
		if (!json_equal(json_object_get(row, g), json_object_get(row, y)) &&
			(json_object_get(row, g) || json_object_get(row, y)))
			fail_msg("green and yellow %s differ", ends[i]);
		if (!json_equal(json_object_get(row, g), json_object_get(row, r)) &&
			(json_object_get(row, g) || json_object_get(row, r)))
			fail_msg("green and red %s differ", ends[i]);
	}
	const json_t *lo = json_object_get(row, "green_min_threshold"),
		     *hi = json_object_get(row, "green_max_threshold");
	if (lo && hi && atof(json_string_value(lo)) > atof(json_string_value(hi)))
		fail_msg("minimum above maximum");
}

static void config_db_check(json_t *doc)
{
	const char *table, *key, *field;
	json_t *rows, *row, *v;
	json_object_foreach (doc, table, rows) {
		json_object_foreach (rows, key, row) {
			if (strpbrk(key, "|{}<>") || !*key)
				fail_msg("%s has the key '%s'", table, key);
			json_object_foreach (row, field, v)
				field_check(table, field, v);
			if (strcmp(table, "WRED_PROFILE") == 0)
				colours_check(row);
		}
	}
}

static void test_config_db(void **state)
{
	unsigned documents = 0;
	seed = 99;
	for (unsigned n = 0; n < 1000; n++) {
		any_change();
		w.ctx.platform = speaker("sonic");
		w.ctx.description = n % 3
			? descriptions[0]
			: "SONiC Software Version: SONiC.202511 - HwSku: ACS-SN5600";
		json_t *docs[] = {render_apply(&w.sheet, &w.ctx), render_undo(&w.sheet, &w.ctx)};
		for (size_t i = 0; i < 2; i++) {
			json_t *doc =
				json_object_get(json_object_get(docs[i], "sonic"), "config_db");
			if (json_is_object(doc)) {
				config_db_check(doc);
				documents++;
			}
		}
		/* what can be applied can be undone, in every vendor's words */
		for (size_t s = 0; s < 5; s++) {
			json_t *a = json_object_get(docs[0], syntaxes[s]),
			       *u = json_object_get(docs[1], syntaxes[s]);
			if (!a || !u || json_is_null(a) != json_is_null(u))
				fail_msg("%s: apply and undo do not go together", syntaxes[s]);
		}
		json_decref(docs[0]);
		json_decref(docs[1]);
		arena_reset(w.arena);
	}
	assert_true(documents > 250);
}

/* ---- what is said where nothing can be written --------------------------- */

static void test_said(void **state)
{
	const char *text;
	world_sheet(&w);
	unknown();
	w.ctx.platform = speaker("sonic");
	json_t *doc = render_apply(&w.sheet, &w.ctx), *notes = render_notes(&w.sheet, &w.ctx);
	assert_non_null(strstr(json_string_value(json_object_get(doc, "junos")),
		"fill-level <KMIN-PERCENT> fill-level <KMAX-PERCENT>"));
	json_decref(doc);
	json_decref(notes);
	world_sheet(&w);
	alpha();
	w.ctx.platform = speaker("sonic");
	doc = render_apply(&w.sheet, &w.ctx);
	notes = render_notes(&w.sheet, &w.ctx);
	assert_true(json_is_null(json_object_get(doc, "nvue")));
	assert_true(json_array_size(json_object_get(notes, "nvue")) == 1);
	assert_string_equal(json_string_value(json_object_get(notes, "native")), "sonic");
	json_decref(doc);
	json_decref(notes);

	/* a knob of one platform only is not written for another */
	world_sheet(&w);
	alpha();
	w.ctx.platform = speaker("eos");
	w.ctx.description = "Arista Networks DCS-7050SX3";
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), -ENOTSUP);
	assert_non_null(strstr(text, "certain platforms only"));
	assert_null(strstr(text, "\nplatform"));

	/* another device than the canary waits for it */
	world_sheet(&w);
	lower();
	w.ctx.platform = speaker("sonic");
	w.ctx.device = "leaf-04";
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), 0);
	assert_non_null(strstr(text, "not before the canary leaf-03 is verified"));

	/* names that are told stand in the text, and need no check */
	w.ctx.device = NULL;
	w.ctx.names = &(struct render_name){"wred_profile", "ROCE"};
	w.ctx.n_names = 1;
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), 0);
	assert_non_null(strstr(text, "-profile ROCE -gmin"));
	assert_null(strstr(text, "check wred_profile"));

	/* what was not whole percent cannot be put back by this vendor, and is not touched */
	world_sheet(&w);
	world_change(&w, KNOB_PMAX, 0.125, 0.2);
	assert_int_equal(render_device(&w.sheet, &w.ctx, "nvue", false, &text), -ENOTSUP);
	assert_non_null(strstr(text, "no way back"));

	/* not known what it is: all of them; no change: none */
	world_sheet(&w);
	lower();
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), 0);
	for (size_t s = 0; s < 5; s++)
		assert_non_null(strstr(text, syntaxes[s]));
	world_sheet(&w);
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), -ENOTSUP);
}

/* A profile of a site is enough for another vendor's words. */
static const char acme[] =
	"name: acme\ndoc: d\ntuning:\n  syntax: acme\n  comment: \"--\"\n  knobs:\n"
	"    - { knob: kmin, object: queue, unit: cells, min: 1, max: 65535, disruption: hitless, "
	"evidence: e }\n"
	"    - { knob: kmax, object: queue, unit: cells, min: 1, max: 65535, disruption: hitless, "
	"evidence: e }\n"
	"  forms:\n    - name: cli\n      steps:\n        - { sets: [kmin], text: \"ecn low {kmin} "
	"queue {queue}\" }\n        - { sets: [kmax], text: \"ecn high {kmax} queue {queue}\" }\n";

static void test_site(void **state)
{
	struct err_list errors = {0};
	struct profiles *own = NULL;
	const char *text;
	assert_int_equal(profiles_parse(acme, strlen(acme), "acme.yaml", &own, &errors), 0);
	world_sheet(&w);
	lower();
	w.ctx.profiles = own;
	w.ctx.platform = profiles_get(own, "acme");
	/* cells of which size? */
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), -ENOTSUP);
	assert_non_null(strstr(text, "not written for acme: kmin: is written in cells"));
	w.ctx.cell_bytes = 1024;
	w.ctx.queue = 5;
	assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), 0);
	assert_non_null(strstr(text, "ecn low 512 queue 5\n"));
	assert_true(strstr(text, "ecn high 1024 queue 5\n") > strstr(text, "ecn low"));
	json_t *doc = render_undo(&w.sheet, &w.ctx);
	assert_non_null(
		strstr(json_string_value(json_object_get(doc, "acme")), "ecn high 2048 queue 5\n"));
	json_decref(doc);
	profiles_free(own);
	err_list_done(&errors);
}

/* A switch names its ports itself: such a name never becomes part of a command. */
static void test_hostile_port(void **state)
{
	static const char *const names[] = {
		"Ethernet1; reload", "$(reboot)", "-rf", "a\nreload", ""};
	for (size_t i = 0; i < rw_countof(names); i++) {
		const char *text;
		world_sheet(&w);
		lower();
		w.ports[1].name = names[i];
		assert_int_equal(render_device(&w.sheet, &w.ctx, NULL, false, &text), -ENOTSUP);
		assert_non_null(strstr(text, "a port has a name that cannot stand in a command"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
		cmocka_unit_test(test_walk), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_config_db), cmocka_unit_test(test_said),
		cmocka_unit_test(test_site), cmocka_unit_test(test_hostile_port)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
