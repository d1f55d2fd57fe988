/* pause_spread: from what pause on it speaks, how loudly, and which switch it names, at each limit.
 */
#include "base/cleanup.h"
#include "tests/unit/analyzers/seen_world.h"

/* A switch port may not send for a share of the time because the other end of its link pauses:
 * measured, or a bound from frames. */
struct waits {
	unsigned at;
	double share;
	bool bound;
};
#define LEAF1(share)                                                                               \
	{                                                                                          \
		UP(0, 0), share, false                                                             \
	} /* for spine1 */
#define LEAF1_TOO(share)                                                                           \
	{                                                                                          \
		UP(0, 1), share, false                                                             \
	} /* for spine2 */
#define LEAF2(share)                                                                               \
	{                                                                                          \
		UP(1, 0), share, false                                                             \
	} /* for spine1 */
#define SPINE2(share)                                                                              \
	{                                                                                          \
		DOWN(1, 0), share, false                                                           \
	} /* for leaf1 */
#define BOUND(at, share)                                                                           \
	{                                                                                          \
		at, share, true                                                                    \
	}
#define ROOT(is_clear, of_prio)                                                                    \
	{                                                                                          \
		SET(graph.n_roots, 1), SET(roots[0].clear, is_clear), SET(roots[0].share, 0.3),    \
			SET(roots[0].priority, of_prio)                                            \
	}

enum { QUIET = -1 };
static const struct spread_row {
	struct waits waits[4];
	int severity; /* QUIET: nothing is found */
	double value;
	const char *device; /* that is named; "": none */
	struct change set[4];
} rows[] = {
	{{LEAF1(0.0099)}, QUIET, 0, ""},
	{{LEAF1(0.01)}, SEV_INFO, 0.01, "spine1"},
	{{BOUND(UP(0, 0), 0.0499)}, QUIET, 0, ""},
	{{BOUND(UP(0, 0), 0.05)}, SEV_INFO, 0.05, "spine1"},
	/* measured pause comes before a bound */
	{{LEAF1(0.02), BOUND(UP(1, 0), 0.9)}, SEV_INFO, 0.02, "spine1"},
	/* one that makes others wait twice as long as any other is named, wherever it stands */
	{{LEAF1(0.03), LEAF1_TOO(0.015)}, SEV_INFO, 0.03, "spine1"},
	{{LEAF1(0.03), LEAF1_TOO(0.0151)}, SEV_INFO, 0.03, ""},
	{{SPINE2(0.02), LEAF1(0.03)}, SEV_INFO, 0.03, ""},
	/* a warning: three switches, five times the limit, measured, where pause is not usual */
	{{LEAF1(0.05), LEAF2(0.05), SPINE2(0.05)}, SEV_WARNING, 0.05, "spine1"},
	{{LEAF1(0.049), LEAF2(0.049), SPINE2(0.049)}, SEV_INFO, 0.049, "spine1"},
	{{LEAF1(0.05), LEAF2(0.05), LEAF1_TOO(0.05)}, SEV_INFO, 0.05, "spine1"},
	{{BOUND(UP(0, 0), 0.9), BOUND(UP(1, 0), 0.9), BOUND(DOWN(1, 0), 0.9)}, SEV_INFO, 0.9,
		"spine1"},
	{{LEAF1(0.9), LEAF2(0.9), SPINE2(0.9)}, SEV_INFO, 0.9, "spine1",
		{SET(fabric.congestion, CC_PFC_ONLY)}},
	/* a clear root of the same priority is another detector's */
	{{LEAF1(0.02)}, QUIET, 0, "", ROOT(1, PRIO)},
	{{LEAF1(0.02)}, SEV_INFO, 0.02, "spine1", ROOT(0, PRIO)},
	{{LEAF1(0.02)}, SEV_INFO, 0.02, "spine1", ROOT(1, PRIO + 1)},
};

struct spread { /* what the analyzer found; the options it is asked with */
	struct seen_world w;
	struct {
		double warn;
		int64_t window_ns, hold;
	} options;
	struct finding_list found;
};

static void spread_init(struct spread *s, double warn)
{
	*s = (struct spread){.options = {.warn = warn, .hold = 3}};
	seen_world_init(&s->w);
	s->w.in.options = &s->options;
	s->w.roots[0].port = &s->w.ports[UP(0, 0)];
}

static void spread_wait(struct spread *s, const struct waits *waits)
{
	struct seen_world *w = &s->w;
	const unsigned by = w->port[waits->at].peer->index;
	const double lo = waits->bound ? 0 : waits->share;
	w->prios[by].tx_pause = (struct pause_share){lo, waits->share, !waits->bound, true, 0};
	w->edges[w->graph.n_edges++] = (struct pause_edge){.at = &w->ports[waits->at],
		.by = &w->ports[by],
		.priority = PRIO,
		.lo = lo,
		.hi = waits->share,
		.measured = !waits->bound};
}

/* The first finding is what it says; the others say of what else nothing is wrong. */
static const struct finding *spread_judge(struct spread *s)
{
	assert_int_equal(analyzer_by_name("pause_spread")->run(&s->w.in, &s->found), 0);
	for (size_t i = 1; i < s->found.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(
				str_or(s->found.v[i].device, ""), str_or(s->found.v[k].device, ""));
	return s->found.n ? &s->found.v[0] : NULL;
}

static void spread_at_each_limit(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct spread_row *row = &rows[i];
		struct spread s;
		spread_init(&s, 0.01);
		for (size_t k = 0; k < 4 && row->waits[k].share > 0; k++)
			spread_wait(&s, &row->waits[k]);
		seen_change(&s.w, row->set, 4);
		const struct finding *f = spread_judge(&s);
		const int severity = f->verdict == FINDING_OVER ? (int)f->severity : QUIET;
		if (severity != row->severity || strcmp(str_or(f->device, ""), row->device) != 0)
			fail_msg("row %zu: %d, %s", i, severity, str_or(f->device, "none"));
		if (severity != QUIET) {
			assert_true(fabs(f->value - row->value) < 1e-9);
			assert_true(f->confidence_ratio == (row->waits[0].bound ? 0.3 : 0.5));
		}
		assert_int_equal(s.found.n, SWITCHES + 1);
		seen_world_done(&s.w);
	}
	/* however high the limit is set, pause nearly all the time is above it */
	for (int over = 0; over < 2; over++) {
		struct spread s;
		spread_init(&s, 1);
		spread_wait(&s, &(struct waits)LEAF1(over ? 0.95 : 0.949));
		assert_int_equal(spread_judge(&s)->verdict, over ? FINDING_OVER : FINDING_UNDER);
		seen_world_done(&s.w);
	}
}

/* A host waits, or a switch that is not configured: that is no host. */
static void who_waits(void **state)
{
	for (int outsider = 0; outsider < 2; outsider++) {
		struct spread s;
		spread_init(&s, 0.01);
		spread_wait(&s, &(struct waits)LEAF1(0.02));
		if (outsider) {
			s.w.port[0].host = NULL;
			s.w.port[0].outsider = "core9";
			s.w.port[0].outsider_kind = NEIGHBOR_SWITCH;
		}
		s.w.edges[1] = s.w.edges[0];
		s.w.edges[1].at = NULL;
		s.w.edges[1].by = &s.w.ports[0];
		s.w.graph.n_edges = 2;
		const char *says = spread_judge(&s)->summary;
		assert_non_null(strstr(says, outsider ? "and 0 hosts wait" : "and 1 host wait"));
		seen_world_done(&s.w);
	}
}

/* Counters that nobody has prove nothing: neither calm, nor that no host is slow. */
static void what_is_not_counted(void **state)
{
	struct spread s;
	spread_init(&s, 0.01);
	for (unsigned k = 0; k < HOSTS; k++)
		s.w.prios[HOST(k)].rx_pause.hi = NAN;
	spread_wait(&s, &(struct waits)LEAF1(0.02));
	const struct finding *f = spread_judge(&s);
	for (size_t i = 0; i < f->n_ruled_out; i++)
		assert_null(strstr(f->ruled_out[i], "slow receiver"));
	seen_world_done(&s.w);
	for (int observable = 0; observable < 2; observable++) {
		spread_init(&s, 0.01);
		for (unsigned at = 0; at < PORTS; at++)
			s.w.prios[at].rx_pause.hi = s.w.prios[at].tx_pause.hi = NAN;
		s.w.graph.observable = observable;
		f = spread_judge(&s);
		assert_int_equal(s.found.n, observable);
		assert_true(!f || f->verdict == FINDING_UNKNOWN);
		seen_world_done(&s.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spread_at_each_limit),
		cmocka_unit_test(who_waits),
		cmocka_unit_test(what_is_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
