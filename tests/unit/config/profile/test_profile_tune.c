/* profile_tune: every built-in knob rule is sane and says where it was read; units go there and
 * back; rounding is to the safe side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"

static struct profiles *set;

static int load(void **state)
{
	struct err_list errors = {0};
	int rc = profiles_load(NULL, &set, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	err_list_done(&errors);
	return rc;
}

static int unload(void **state)
{
	profiles_free(set);
	return 0;
}

static const struct tune_knob_rule *rule(const char *profile, enum tune_knob k)
{
	const struct profile *p = profiles_get(set, profile);
	assert_non_null(p);
	assert_non_null(p->tune);
	return &p->tune->knobs[k];
}

static void test_words(void **state)
{
	for (unsigned k = 0; k < TUNE_KNOBS; k++) {
		enum tune_knob back;
		assert_int_equal(tune_knob_parse(tune_knob_name((enum tune_knob)k), &back), 0);
		assert_int_equal(back, k);
	}
	enum tune_knob k;
	assert_true(tune_knob_parse("xoff", &k) < 0);
	assert_string_equal(tune_disruption_name(DISRUPTION_UNKNOWN), "unknown");
}

static void test_builtin(void **state)
{
	static const char *const syntaxes[] = {"sonic", "eos", "nxos", "nvue", "junos"};
	for (size_t s = 0; s < 5; s++) {
		bool found = false;
		for (size_t i = 0; i < profiles_count(set); i++)
			found = found ||
				(profiles_at(set, i)->tune && profiles_at(set, i)->tune->syntax &&
					strcmp(profiles_at(set, i)->tune->syntax, syntaxes[s]) ==
						0);
		if (!found)
			fail_msg("no profile speaks %s", syntaxes[s]);
	}
	for (size_t i = 0; i < profiles_count(set); i++) {
		const struct profile *p = profiles_at(set, i);
		for (unsigned k = 0; p->tune && k < TUNE_KNOBS; k++) {
			const struct tune_knob_rule *r = &p->tune->knobs[k];
			if (r->settable &&
				(!r->evidence || !*r->evidence || !r->object || r->cannot ||
					!(r->step > 0)))
				fail_msg("%s: %s is incomplete", p->name,
					tune_knob_name((enum tune_knob)k));
			if (p->tune->syntax && !r->settable && !r->cannot)
				fail_msg("%s: %s can neither be set nor is it said why", p->name,
					tune_knob_name((enum tune_knob)k));
		}
	}
}

static const struct {
	const char *profile;
	enum tune_knob knob;
	double value, cell, limit, written; /* NAN: cannot be */
} writes[] = {
	{"sonic", KNOB_KMIN, 1048576, NAN, NAN, 1048576},
	{"sonic", KNOB_KMIN, 1000000, 254, NAN, 999998}, /* down: 3937 cells */
	{"sonic", KNOB_KMAX, 2147483648, NAN, NAN, NAN}, /* int32 in orchagent */
	{"sonic", KNOB_HEADROOM, 231000, 192, NAN, 231424}, /* up to 1 KiB */
	{"sonic", KNOB_ALPHA, 0.25, NAN, NAN, -2},
	{"sonic", KNOB_ALPHA, 0.3, NAN, NAN, -2}, /* down */
	{"sonic", KNOB_ALPHA, 256, NAN, NAN, NAN},
	{"sonic", KNOB_PMAX, 0.05, NAN, NAN, 5},
	{"sonic", KNOB_PMAX, 1.2, NAN, NAN, NAN},
	{"sonic", KNOB_WEIGHT, 0, NAN, NAN, NAN},
	{"sonic", KNOB_XON_OFFSET, 2300, 208, NAN, 2496}, /* up: 12 cells */
	{"eos", KNOB_KMIN, 0, NAN, NAN, NAN}, /* from 1 */
	{"eos", KNOB_KMAX, 300000000, NAN, NAN, NAN},
	{"eos", KNOB_PMAX, 0.001, NAN, NAN, NAN},
	{"eos", KNOB_ALPHA, 0.0625, NAN, NAN, 0.0625},
	{"eos", KNOB_ALPHA, 16, NAN, NAN, NAN},
	{"junos", KNOB_KMIN, 1048576, NAN, 2097152, 50},
	{"junos", KNOB_KMIN, 1048576, NAN, NAN, NAN}, /* of how much? */
	{"junos", KNOB_KMIN, 3000000, NAN, 2097152, NAN},
};

static void test_write(void **state)
{
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
		const struct tune_knob_rule *r = rule(writes[i].profile, writes[i].knob);
		double got = tune_knob_write(r, writes[i].knob, writes[i].value, writes[i].cell,
			writes[i].limit, tune_knob_safe(writes[i].knob));
		if (isnan(writes[i].written) ? !isnan(got) : got != writes[i].written)
			fail_msg("%s %s %g: written %.9g, expected %.9g", writes[i].profile,
				tune_knob_name(writes[i].knob), writes[i].value, got,
				writes[i].written);
	}
}

/* Any value, any vendor, any cell: what results is in range, a multiple of the step, on the safe
 * side, and less than one step away. */
static void test_property(void **state)
{
	unsigned seed = 20260401, tried = 0;
	for (size_t i = 0; i < profiles_count(set); i++) {
		const struct profile *p = profiles_at(set, i);
		for (unsigned k = 0; p->tune && k < TUNE_KNOBS; k++) {
			const struct tune_knob_rule *r = &p->tune->knobs[k];
			for (unsigned n = 0; r->settable && n < 500; n++) {
				static const double cells[] = {
					NAN, 96, 144, 176, 192, 208, 254, 256};
				enum tune_knob knob = (enum tune_knob)k;
				double cell = cells[(unsigned)rand_r(&seed) % 8],
				       limit = 1e6 + rand_r(&seed) % 9000000,
				       u = (double)rand_r(&seed) / RAND_MAX;
				double value = knob == KNOB_ALPHA ? exp2(u * 14 - 7)
					: knob == KNOB_PMAX       ? u
					: knob == KNOB_WEIGHT     ? floor(u * 15)
								  : floor(u * 5e6) + 1;
				double written = tune_knob_write(
					       r, knob, value, cell, limit, tune_knob_safe(knob)),
				       back;
				if (isnan(written))
					continue;
				tried++;
				back = tune_knob_round(r, knob, value, cell, limit);
				if (written < r->min || written > r->max)
					fail_msg("%s %s: %g is out of range", p->name,
						tune_knob_name(knob), written);
				if (r->unit == TUNE_BYTES && fmod(written, r->step) != 0)
					fail_msg("%s %s: %g is no multiple of %g", p->name,
						tune_knob_name(knob), written, r->step);
				if (r->unit == TUNE_BYTES && r->by_cell && cell > 0 &&
					fmod(written, cell) != 0)
					fail_msg("%s %s: %g is no multiple of the cell, %g",
						p->name, tune_knob_name(knob), written, cell);
				double slack = 1e-9 * fmax(1, value);
				if ((tune_knob_safe(knob) == TUNE_DOWN && back > value + slack) ||
					(tune_knob_safe(knob) == TUNE_UP && back < value - slack))
					fail_msg("%s %s: %g became %g, the unsafe side", p->name,
						tune_knob_name(knob), value, back);
				if (tune_knob_write(r, knob, back, cell, limit,
					    tune_knob_safe(knob)) != written)
					fail_msg("%s %s: writing twice changes %g", p->name,
						tune_knob_name(knob), written);
			}
		}
	}
	assert_true(tried > 5000);
}

static void test_asics(void **state)
{
	const struct tune_asic *a = profiles_asic(set,
		"SONiC Software Version: SONiC.202511 - HwSku: ACS-SN5600 - Distribution: Debian "
		"12");
	assert_non_null(a);
	assert_string_equal(a->name, "Spectrum-4");
	assert_true(a->cell_bytes == 192 && a->headroom == TUNE_HEADROOM_SPECTRUM &&
		a->size_holds_headroom);
	/* as Cumulus Linux 5.14 reads it back */
	assert_true(tune_knob_programmed(KNOB_KMIN, 150000, NAN, a) == 159744);
	assert_true(tune_knob_programmed(KNOB_HEADROOM, 231424, NAN, a) == 231552);
	assert_true(isnan(tune_knob_programmed(KNOB_PMAX, 0.05, NAN, a)));
	assert_true(isnan(tune_knob_programmed(KNOB_KMIN, 150000, NAN, NULL)));
	assert_true(tune_knob_programmed(KNOB_KMIN, 1000, 254, NULL) == 1016);
	assert_true(profiles_asic(set,
		"Arista Networks EOS version 4.31 running on an Arista Networks DCS-7280DR3A-36")
			    ->voq);
	assert_null(profiles_asic(set, "Some other switch"));
	/* knows ASICs, and nothing of what can be set */
	assert_null(profiles_get(set, "generic")->tune);
	assert_null(profiles_asic(set, NULL));
	assert_true(tune_rule_applies(rule("eos", KNOB_ALPHA), "Arista DCS-7060DX4-32"));
	assert_false(tune_rule_applies(rule("eos", KNOB_ALPHA), "Arista DCS-7800R3"));
	assert_false(tune_rule_applies(rule("eos", KNOB_ALPHA), NULL));
	assert_true(tune_rule_applies(rule("eos", KNOB_KMIN), NULL));
}

#define HEAD "name: x\ndoc: d\ntuning:\n"
static const struct {
	const char *what, *text;
	int line;
	const char *says;
} texts[] = {
	{"a knob", HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e }\n", 0, NULL},
	{"no evidence", HEAD "  knobs:\n    - { knob: kmin, object: o }\n", 5,
		"'evidence' is missing"},
	{"unknown knob", HEAD "  knobs:\n    - { knob: xoff, object: o, evidence: e }\n", 5,
		"one of headroom"},
	{"twice",
		HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e }\n    - { knob: kmin, "
		     "object: o, evidence: e }\n",
		6, "twice"},
	{"unit", HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e, unit: furlong }\n", 5,
		"one of bytes"},
	{"step", HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e, step: 0 }\n", 5,
		"step above 0"},
	{"range", HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e, min: 2, max: 1 }\n",
		5, "min not above max"},
	{"both",
		HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e }\n  cannot:\n    - { "
		     "knob: kmin, why: w }\n",
		7, "as well"},
	{"words without a syntax",
		HEAD "  knobs:\n    - { knob: kmin, object: o, evidence: e }\n  forms:\n    - { "
		     "name: f, steps: [{ sets: [kmin], text: \"x {kmin}\" }] }\n",
		4, "'syntax'"},
	{"an unknown word",
		HEAD
		"  syntax: s\n  comment: \"#\"\n  knobs:\n    - { knob: kmin, object: o, evidence: "
		"e }\n  forms:\n    - { name: f, steps: [{ sets: [kmin], text: \"x {kmn}\" }] }\n",
		9, "expected a knob"},
	{"a name in its own name",
		HEAD "  names:\n    - { name: a, standard: \"{a}\", check: c }\n", 4,
		"expected a knob"},
	{"an open word",
		HEAD
		"  syntax: s\n  comment: \"#\"\n  knobs:\n    - { knob: kmin, object: o, evidence: "
		"e }\n  forms:\n    - { name: f, steps: [{ sets: [kmin], text: \"x {kmin\" }] }\n",
		9, "expected a knob"},
	{"text and JSON in one form",
		HEAD
		"  syntax: s\n  comment: \"#\"\n  knobs:\n    - { knob: kmin, object: o, evidence: "
		"e }\n  forms:\n    - name: f\n      steps:\n        - { sets: [kmin], text: x }\n "
		"       - { sets: [kmin], table: T, key: k, fields: { f: \"{kmin}\" } }\n",
		11, "not both"},
	{"a knob that is not there",
		HEAD "  syntax: s\n  comment: \"#\"\n  forms:\n    - { name: f, steps: [{ sets: "
		     "[kmin], text: x }] }\n",
		7, "a knob from 'knobs'"},
};

static void test_mistakes(void **state)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err_list errors = {0};
		struct profiles *p = NULL;
		int rc =
			profiles_parse(texts[i].text, strlen(texts[i].text), "x.yaml", &p, &errors);
		if (!texts[i].says && rc != 0)
			fail_msg("%s: %s", texts[i].what, errors.n ? errors.v[0].text : "?");
		if (texts[i].says &&
			(rc == 0 || errors.n == 0 || errors.v[0].line != texts[i].line ||
				!strstr(errors.v[0].text, texts[i].says)))
			fail_msg("%s: rc %d, %d: %s", texts[i].what, rc,
				errors.n ? errors.v[0].line : 0,
				errors.n ? errors.v[0].text : "no error");
		profiles_free(p);
		err_list_done(&errors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
		cmocka_unit_test(test_builtin), cmocka_unit_test(test_write),
		cmocka_unit_test(test_property), cmocka_unit_test(test_asics),
		cmocka_unit_test(test_mistakes)};
	return cmocka_run_group_tests(tests, load, unload);
}
