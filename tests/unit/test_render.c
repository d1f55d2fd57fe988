/*
 * render: golden files of every vendor (tests/golden/render/<syntax>/<case>.txt; RW_GOLDEN=write writes them), the walk through every step of
 * apply and undo, numbers read back out of the text, and the JSON against the published names and ranges.
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
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "tests/unit/render_world.h"

static struct world w;

static int setup(void **state) { return world_init(&w); }
static int teardown(void **state) { world_done(&w); return 0; }

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
static const char *const descriptions[] = {"SONiC Software Version: SONiC.202511 - HwSku: Some-TH5", "Arista Networks DCS-7060DX4-32", "Cisco NX-OS(tm) n9000",
	"Cumulus-Linux 5.14", "Juniper Networks, Inc. qfx5230"};

/* --- golden ------------------------------------------------------------------------------------------------------------------- */

static void ecn_force(double kmin, double kmax, double pmax)
{
	w.ctx.in_force[KNOB_KMIN] = kmin;
	w.ctx.in_force[KNOB_KMAX] = kmax;
	w.ctx.in_force[KNOB_PMAX] = pmax;
	w.ctx.in_force[KNOB_WEIGHT] = 0;
	w.ctx.queue_limit_bytes = 8000000;
}

static void lower(void)  { ecn_force(1048576, 2097152, 0.05); world_change(&w, KNOB_KMIN, 1048576, 524288); world_change(&w, KNOB_KMAX, 2097152, 1048576); }
static void raise_both(void) { ecn_force(400000, 1600000, 0.2); world_change(&w, KNOB_KMIN, 400000, 800000); world_change(&w, KNOB_KMAX, 1600000, 3200000); }
static void pmax(void)   { ecn_force(1000000, 2000000, 0.05); world_change(&w, KNOB_PMAX, 0.05, 0.1); }
static void alpha(void)  { ecn_force(1000000, 2000000, 0.05); world_change(&w, KNOB_ALPHA, 0.0625, 0.125); }
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
static void xon_offset(void) { world_change(&w, KNOB_XON_OFFSET, 2496, 6784); }
static void unknown(void) { world_change(&w, KNOB_KMIN, 1048576, 524288); world_change(&w, KNOB_KMAX, 2097152, 1048576); } /* pmax of nobody known */

static const struct { const char *name; void (*make)(void); bool native; } cases[] = {
	{"lower", lower, true}, {"raise", raise_both, true}, {"pmax", pmax, true}, {"alpha", alpha, true}, {"headroom", headroom, true},
	{"cable", cable, true}, {"xon_offset", xon_offset, true}, {"orientation", unknown, false},
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
			int a = render_device(&w.sheet, &w.ctx, syntaxes[v], false, &apply), u = render_device(&w.sheet, &w.ctx, syntaxes[v], true, &undo);
			if (a == 0 && u != 0) /* never a change without a way back */
				fail_msg("%s %s can be applied and not undone:\n%s\n%s", syntaxes[v], cases[i].name, apply, undo);
			str_addf(&out, "%s\n%s", apply, undo);
			golden(syntaxes[v], cases[i].name, out.s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
