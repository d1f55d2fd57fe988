/*
 * What each scenario promises is in the counters that a switch would show: one assertion per
 * mechanism that would fail without it. Measured exchanges of the scenarios themselves, a few seeds
 * each.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tests/fabric/coarse.h"
#include "tests/fabric/faults.h"
#include "tests/fabric/measure_cache.h"

/* A scenario's exchange without and with its fault. */
struct look {
	struct scenario s;
	struct sim *shape;
	struct measured m[2];
};

static void read_scenario(const char *name, uint64_t seed, struct scenario *s)
{
	char path[4096];
	struct err e = {0};
	snprintf(path, sizeof(path), "%s/%s.yaml", LAB_SCENARIOS, name);
	if (scenario_read(path, seed, s, &e) != 0)
		fail_msg("%s: %s", path, e.text);
}

static void look_at(struct look *l)
{
	struct plan *p = plan_new(&l->s);
	l->shape = scenario_shape(&l->s, true);
	for (unsigned k = 0; k < 2; k++)
		measure_run(&l->s, p, k ? STATE_FAULT : STATE_OK, 0, &l->m[k]);
	plan_free(p);
}
static struct look look(const char *name, uint64_t seed)
{
	struct look l = {0};
	read_scenario(name, seed, &l.s);
	look_at(&l);
	return l;
}
static void look_done(struct look *l)
{
	sim_free(l->shape);
	measured_done(&l->m[0]);
	measured_done(&l->m[1]);
}

static size_t index_of(const struct look *l, const struct sim_port *p)
{
	return (size_t)(p - l->shape->ports) - l->shape->nodes[l->shape->n_hosts].port0;
}
static double sum_at(const struct look *l, bool faulty, const struct sim_port *p, enum port_sum sum)
{
	return l->m[faulty].ports[index_of(l, p)].sum[sum];
}
static unsigned hosts(const struct look *l)
{
	return (unsigned)l->shape->n_hosts;
}
static struct sim_port *host_port(const struct look *l, unsigned h)
{
	return sim_port_of(l->shape, sim_leaf(l->shape, h / l->shape->t.hosts_per_leaf),
		h % l->shape->t.hosts_per_leaf);
}
static unsigned faulty_host(const struct look *l)
{
	return (unsigned)((l->s.faults[0].leaf - 1) * l->s.hosts_per_leaf + l->s.faults[0].host -
		1);
}
static struct sim_port *faulty_link(const struct look *l)
{
	const struct fault *f = &l->s.faults[0];
	return sim_uplink(l->shape, (unsigned)f->leaf - 1, (unsigned)f->spine - 1,
		f->link >= 1 ? (unsigned)f->link - 1 : 0);
}
static double all(const struct look *l, bool faulty, enum port_sum sum)
{
	double total = 0;
	for (size_t i = 0; i < l->m[faulty].n_ports; i++)
		total += l->m[faulty].ports[i].sum[sum];
	return total;
}
static double hosts_sum(const struct look *l, bool faulty, enum port_sum sum)
{
	double total = 0;
	for (unsigned h = 0; h < hosts(l); h++)
		total += sum_at(l, faulty, host_port(l, h), sum);
	return total;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Pause of the host without DCQCN against the others, as shares of the exchange. */
static void culprit(const struct look *l, double *is, double *median, double *most)
{
	rw_cleanup(freep) double *v = rw_calloc(hosts(l), sizeof(*v));
	unsigned n = 0;
	for (unsigned h = 0; h < hosts(l); h++) {
		const double pause =
			sum_at(l, true, host_port(l, h), SUM_TX_PAUSE_NS) / l->m[1].duration_ns;
		if (h == faulty_host(l))
			*is = pause;
		else
			v[n++] = pause;
	}
	qsort(v, n, sizeof(*v), by_value);
	*median = v[n / 2];
	*most = v[n - 1];
}

static void expect_culprit(const char *what, struct look *l)
{
	double is = 0, median, most;
	culprit(l, &is, &median, &most);
	print_message("  %s, seed %llu, perturbed %llu: paused %.2f %%, others' median %.2f %%, "
		      "most %.2f %%; exchange x%.2f\n",
		what, (unsigned long long)l->s.seed, (unsigned long long)l->s.perturb, is * 100,
		median * 100, most * 100, l->m[1].duration_ns / l->m[0].duration_ns);
	assert_true(is > 0.01 && is >= 5 * median && is >= 2 * most);
	assert_true(all(l, true, SUM_MARKED) > 0);
	assert_true(l->m[1].duration_ns > 1.1 * l->m[0].duration_ns);
	look_done(l);
}

static void test_culprit(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct look l = look("dcqcn-off", seed);
		expect_culprit("dcqcn-off", &l);
	}
	for (uint64_t n = 1; n <= 3; n++) {
		struct look l = {0};
		read_scenario("dcqcn-off", n, &l.s);
		scenario_perturb(&l.s, n);
		look_at(&l);
		expect_culprit("dcqcn-off", &l);
	}
	struct look l = look("node-047", 1);
	assert_int_equal(faulty_host(&l), 46);
	expect_culprit("node-047", &l);
}

/* The coarse grain takes a host's fault to every rail. */
static void test_every_rail(void **state)
{
	struct scenario s;
	struct coarse *c;
	struct err e = {0};
	read_scenario("dcqcn-off", 1, &s);
	s.planes = 8;
	assert_int_equal(coarse_new(&s, &c, &e), 0);
	const unsigned port =
		(unsigned)((s.faults[0].leaf - 1) * (s.hosts_per_leaf + s.spines * s.parallel) +
			s.faults[0].host - 1);
	double before[8];
	coarse_advance(c, s.at_ns);
	for (unsigned p = 0; p < 8; p++)
		before[p] = coarse_sum(c, p, port, SUM_TX_PAUSE_NS);
	coarse_advance(c, s.at_ns + 60e9);
	for (unsigned p = 0; p < 8; p++)
		assert_true(coarse_sum(c, p, port, SUM_TX_PAUSE_NS) - before[p] > 0.005 * 60e9);
	coarse_free(c);
}

/* Pause without marks, in time that marking would have saved; marks without pause, on links that
 * are not full. */
static void test_ecn(void **state)
{
	struct look l = look("ecn-late", 1);
	assert_true(all(&l, false, SUM_MARKED) > 0 && hosts_sum(&l, false, SUM_TX_PAUSE_NS) == 0);
	assert_true(all(&l, true, SUM_MARKED) == 0 &&
		hosts_sum(&l, true, SUM_TX_PAUSE_NS) > 0.05 * hosts(&l) * l.m[1].duration_ns);
	assert_true(l.m[1].duration_ns > 1.5 * l.m[0].duration_ns);
	look_done(&l);
	l = look("ecn-off", 1);
	const struct sim_node *leaf = sim_leaf(l.shape, (unsigned)l.s.faults[0].leaf - 1);
	double marked = 0;
	for (unsigned k = 0; k < leaf->ports; k++)
		marked += sum_at(&l, true, sim_port_of(l.shape, leaf, k), SUM_MARKED);
	assert_true(marked == 0 && hosts_sum(&l, true, SUM_TX_PAUSE_NS) > 0 &&
		l.m[1].duration_ns > 1.5 * l.m[0].duration_ns);
	look_done(&l);
	l = look("ecn-early", 1);
	assert_true(all(&l, true, SUM_TX_PAUSE_NS) == 0);
	assert_true(all(&l, true, SUM_MARKED) > 0.05 * all(&l, true, SUM_QUEUE_PACKETS));
	for (unsigned h = 0; h < hosts(&l); h++)
		assert_true(sum_at(&l, true, host_port(&l, h), SUM_OUT_OCTETS) * 8 <
			0.9 * l.s.host_bps * l.m[1].duration_ns / 1e9);
	assert_true(l.m[1].duration_ns > 1.5 * l.m[0].duration_ns);
	look_done(&l);
}

static void spread(const struct look *l, bool faulty, const struct sim_node *n, unsigned first,
	unsigned count, double *most, unsigned *empty)
{
	double total = 0, max = 0;
	for (unsigned k = 0; k < count; k++) {
		const double v =
			sum_at(l, faulty, sim_port_of(l->shape, n, first + k), SUM_QUEUE_OCTETS);
		total += v;
		max = fmax(max, v);
	}
	*empty = 0;
	for (unsigned k = 0; k < count; k++)
		*empty += sum_at(l, faulty, sim_port_of(l->shape, n, first + k), SUM_QUEUE_OCTETS) <
			0.1 * total / count;
	*most = total > 0 ? max * count / total : 1;
}

/* The second stage uses one link of four where the hash has chosen already; the first stage is as
 * even as ever. */
static void test_polarisation(void **state)
{
	struct look l = look("ecmp-polarization", 1);
	const struct topo_params *t = &l.shape->t;
	for (unsigned faulty = 0; faulty < 2; faulty++) {
		unsigned empty = 0, used = 0, one;
		double most;
		for (unsigned sp = 0; sp < t->spines; sp++)
			for (unsigned leaf = 0; leaf < t->leaves; leaf++) {
				spread(&l, faulty, sim_spine(l.shape, sp), leaf * t->parallel,
					t->parallel, &most, &one);
				empty += one;
				used += t->parallel;
			}
		assert_int_equal(empty, faulty ? used * (t->parallel - 1) / t->parallel : 0);
		spread(&l, faulty, sim_leaf(l.shape, 0), t->hosts_per_leaf, t->spines * t->parallel,
			&most, &one);
		assert_true(most < 1.6 && one == 0);
	}
	look_done(&l);
}

/* Spines even, one member of each LAG not. */
static void test_lag(void **state)
{
	struct look l = look("lag-skew", 1);
	const struct topo_params *t = &l.shape->t;
	const struct sim_node *leaf = sim_leaf(l.shape, (unsigned)l.s.faults[0].leaf - 1);
	for (unsigned faulty = 0; faulty < 2; faulty++) {
		double most, to[2] = {0};
		unsigned empty;
		for (unsigned sp = 0; sp < t->spines; sp++) {
			spread(&l, faulty, leaf, t->hosts_per_leaf + sp * t->parallel, t->parallel,
				&most, &empty);
			assert_true(faulty ? most > 1.5 : most < 1.05);
			for (unsigned k = 0; k < t->parallel; k++)
				to[sp] += sum_at(&l, faulty,
					sim_uplink(l.shape, leaf->index, sp, k), SUM_QUEUE_OCTETS);
		}
		assert_true(fabs(to[0] / to[1] - 1) < 0.1);
	}
	look_done(&l);
}

/* Fewer links, the same traffic for them: the other leaves send as before. */
static void test_remote_capacity(void **state)
{
	struct look l = look("remote-capacity", 2);
	const struct fault *f = &l.s.faults[0];
	const struct topo_params *t = &l.shape->t;
	const unsigned leaf = (unsigned)f->leaf - 1, spine = (unsigned)f->spine - 1,
		       lost = (unsigned)f->factor;
	double down[2] = {0}, most;
	unsigned empty;
	for (unsigned k = 0; k < t->parallel; k++) {
		const struct sim_port *p =
			sim_port_of(l.shape, sim_spine(l.shape, spine), leaf * t->parallel + k);
		assert_int_equal(p->down, k < lost);
		for (unsigned faulty = 0; faulty < 2; faulty++)
			down[faulty] += sum_at(&l, faulty, p, SUM_QUEUE_OCTETS);
	}
	assert_true(fabs(down[1] / down[0] - 1) < 0.1);
	spread(&l, true, sim_leaf(l.shape, (leaf + 1) % t->leaves), t->hosts_per_leaf,
		t->spines * t->parallel, &most, &empty);
	assert_true(most < 1.5 && empty == 0);
	look_done(&l);
}

static void test_missing_route(void **state)
{
	struct look l = look("missing-route", 1);
	const struct sim_port *p = faulty_link(&l), *q = &l.shape->ports[p->peer];
	assert_false(p->down || q->down);
	assert_true(sum_at(&l, false, p, SUM_QUEUE_OCTETS) > 0);
	assert_true(sum_at(&l, true, p, SUM_QUEUE_OCTETS) == 0 &&
		sum_at(&l, true, q, SUM_QUEUE_OCTETS) == 0);
	look_done(&l);
}

/*
 * Every link of the circle waits for the next one and nothing moves; the same links down without
 * the bounce are survived by the same load, whatever congestion control does.
 */
static void test_deadlock(void **state)
{
	struct look l = look("pfc-deadlock", 1);
	const struct fault first = l.s.faults[0];
	assert_true(l.m[1].endless);
	for (unsigned i = 0; i < SIM_BOUNCES; i++) {
		const unsigned spine = l.shape->bounce_spine[i],
			       transit = l.shape->bounce_leaf[(i + 2) % 3];
		bool stuck = false;
		for (unsigned k = 0; k < l.shape->t.parallel; k++) {
			const struct sim_port *down = sim_port_of(l.shape,
				sim_spine(l.shape, spine), transit * l.shape->t.parallel + k);
			stuck |= sum_at(&l, true, down, SUM_QUEUE_OCTETS) == 0 &&
				sum_at(&l, true, down, SUM_RX_PAUSE_NS) > 0.99 * l.m[1].duration_ns;
		}
		assert_true(stuck);
	}
	look_done(&l);
	read_scenario("pfc-deadlock", 1, &l.s);
	l.s.n_faults = SIM_BOUNCES;
	l.s.parallel = 1;
	l.s.uplink_bps *= 2;
	l.s.pfc_only = true;
	for (unsigned i = 0; i < SIM_BOUNCES; i++)
		l.s.faults[i] = (struct fault){.kind = FAULT_LINK_DOWN,
			.leaf = fmod(first.leaf - 1 + i, l.s.leaves) + 1,
			.spine = fmod(first.spine - 1 + i, l.s.spines) + 1,
			.link = 1};
	look_at(&l);
	assert_false(l.m[1].endless);
	assert_true(hosts_sum(&l, true, SUM_TX_PAUSE_NS) > 0);
	look_done(&l);
}

/* One storm found; what is for the host is dropped and nobody else is paused. Without a watchdog
 * others are. */
static void test_watchdog(void **state)
{
	struct look l = look("pfc-watchdog", 1), without = {.s = l.s};
	const struct sim_port *p = host_port(&l, faulty_host(&l));
	assert_true(sum_at(&l, true, p, SUM_WATCHDOG_STORMS) == 1 &&
		all(&l, true, SUM_WATCHDOG_STORMS) == 1);
	assert_true(sum_at(&l, true, p, SUM_WATCHDOG_DROPS) > 0 &&
		hosts_sum(&l, true, SUM_TX_PAUSE_NS) == 0);
	without.s.watchdog_ns = 0;
	look_at(&without);
	assert_true(all(&without, true, SUM_WATCHDOG_DROPS) == 0 &&
		hosts_sum(&without, true, SUM_TX_PAUSE_NS) > 0);
	look_done(&without);
	look_done(&l);
}

/* Many short pauses at the leaf that resumes too early, long ones elsewhere. */
static void test_xon(void **state)
{
	struct look l = look("xon-close", 1);
	const double rtt_ns = 2e-3 * (double)host_port(&l, 0)->prop_ps;
	double length[2] = {0}, episodes[2] = {0};
	for (unsigned h = 0; h < hosts(&l); h++) {
		const bool flaps =
			h / l.shape->t.hosts_per_leaf == (unsigned)l.s.faults[0].leaf - 1;
		length[flaps] += sum_at(&l, true, host_port(&l, h), SUM_TX_PAUSE_NS);
		episodes[flaps] += sum_at(&l, true, host_port(&l, h), SUM_TX_EPISODES);
	}
	print_message("  pauses of %.2f us on average where XON is close, %.2f us elsewhere; link "
		      "RTT %.2f us\n",
		length[1] / episodes[1] / 1e3, length[0] / episodes[0] / 1e3, rtt_ns / 1e3);
	assert_true(length[1] / episodes[1] < 2 * rtt_ns);
	assert_true(length[0] / episodes[0] > 4 * rtt_ns);
	look_done(&l);
}

/* The second class is congested, the first is not touched; PFC of the wrong class is counted there
 * and stops nobody; best effort gets what is marked so. */
static void test_classes(void **state)
{
	struct look l = look("two-classes", 1);
	assert_true(all(&l, true, SUM2_MARKED) > 20 * all(&l, true, SUM_MARKED) &&
		all(&l, false, SUM2_QUEUE_OCTETS) > 0);
	assert_true(all(&l, false, SUM_QUEUE_OCTETS) > 2.5 * all(&l, false, SUM2_QUEUE_OCTETS));
	look_done(&l);
	l = look("pfc-wrong-priority", 1);
	assert_true(sum_at(&l, true, host_port(&l, faulty_host(&l)), SUM2_RX_PAUSE_NS) >
		0.1 * l.m[1].duration_ns);
	assert_true(all(&l, true, SUM2_PFC_RX) > 0 && all(&l, true, SUM_PFC_RX) == 0 &&
		all(&l, false, SUM2_PFC_RX) == 0);
	look_done(&l);
	l = look("wrong-class", 1);
	assert_true(all(&l, false, SUM2_QUEUE_OCTETS) == 0 &&
		all(&l, true, SUM2_QUEUE_OCTETS) > 0.9 * l.s.slice_bytes);
	look_done(&l);
}

/* Storage keeps to its class until that leaks; storage hosts do not take part in the exchange. */
static void test_storage(void **state)
{
	struct look l = look("class-leak", 1);
	const struct sim_port *store = host_port(&l, hosts(&l) - 1);
	assert_true(sum_at(&l, false, store, SUM_QUEUE_OCTETS) == 0 &&
		sum_at(&l, false, store, SUM2_QUEUE_OCTETS) > 0);
	assert_true(sum_at(&l, true, store, SUM_QUEUE_OCTETS) > 0 &&
		all(&l, true, SUM2_QUEUE_OCTETS) == 0);
	look_done(&l);
}

/* Neighbours belong to different jobs, each with its own steps; counters are those of both. */
static void test_two_jobs(void **state)
{
	struct scenario s;
	struct coarse *c;
	struct err e = {0};
	read_scenario("two-jobs", 1, &s);
	assert_int_equal(coarse_new(&s, &c, &e), 0);
	const double before[] = {
		coarse_sum(c, 0, 0, SUM_OUT_OCTETS), coarse_sum(c, 0, 1, SUM_OUT_OCTETS)};
	coarse_advance(c, 60e9);
	assert_non_null(c->other);
	assert_true(c->m[STATE_OK][0].ports[1].sum[SUM_OUT_OCTETS] == 0 &&
		c->other->m[STATE_OK][0].ports[0].sum[SUM_OUT_OCTETS] == 0);
	assert_true(coarse_sum(c, 0, 0, SUM_OUT_OCTETS) > before[0] &&
		coarse_sum(c, 0, 1, SUM_OUT_OCTETS) > before[1]);
	assert_true(fabs((double)c->other->steps / (double)c->steps / (400.0 / 230) - 1) < 0.1);
	coarse_free(c);
}

/* Which expert is popular changes from step to step. */
static void test_moe(void **state)
{
	struct scenario s;
	struct measured m[2];
	read_scenario("moe", 1, &s);
	struct plan *p = plan_new(&s);
	double most = 0;
	for (unsigned v = 0; v < 2; v++)
		measure_run(&s, p, STATE_OK, v, &m[v]);
	for (unsigned h = 0; h < (unsigned)s.hosts_per_leaf; h++)
		most = fmax(most,
			fabs(m[0].ports[h].sum[SUM_QUEUE_OCTETS] /
					m[1].ports[h].sum[SUM_QUEUE_OCTETS] -
				1));
	assert_true(most > 0.2);
	measured_done(&m[0]);
	measured_done(&m[1]);
	plan_free(p);
}

/* Another fabric with the same labels; the same number gives the same one. */
static void test_perturbed(void **state)
{
	struct scenario a, b;
	read_scenario("incast", 3, &a);
	b = a;
	scenario_perturb(&a, 7);
	assert_true(a.kmin_bytes != b.kmin_bytes &&
		fabs(a.kmin_bytes / b.kmin_bytes - 1) <= 0.3001 && a.pool_bytes != b.pool_bytes);
	assert_string_equal(a.cause, b.cause);
	assert_memory_equal(a.faults, b.faults, sizeof(a.faults));
	assert_int_not_equal(scenario_topology(&a, false).leaf_hash.function,
		scenario_topology(&b, false).leaf_hash.function);
	scenario_perturb(&b, 7);
	assert_memory_equal(&a, &b, sizeof(a));
}

/* What was kept is what comes back, for this scenario and no other; a file that is cut off is none.
 */
static void test_cache(void **state)
{
	char dir[] = "/tmp/rocewatch-cache-XXXXXX", command[64];
	struct measured m[STATES][VARIANTS] = {0}, again[STATES][VARIANTS] = {0};
	struct scenario s, other;
	assert_non_null(mkdtemp(dir));
	read_scenario("healthy", 1, &s);
	read_scenario("healthy", 2, &other);
	s.cache_dir = other.cache_dir = dir;
	assert_false(measure_cache_read(&s, again));
	for (unsigned v = 0; v < VARIANTS; v++) {
		m[STATE_OK][v] =
			(struct measured){.duration_ns = 1000 + v, .n_ports = 2, .n_switches = 1};
		m[STATE_OK][v].ports = rw_calloc(2, sizeof(struct measured_port));
		m[STATE_OK][v].pool_peak = rw_calloc(1, sizeof(double));
		m[STATE_OK][v].ports[1].sum[SUM_MARKED] = 7;
	}
	measure_cache_write(&s, m);
	assert_true(measure_cache_read(&s, again));
	assert_true(again[STATE_OK][2].duration_ns == 1002 &&
		again[STATE_OK][2].ports[1].sum[SUM_MARKED] == 7);
	for (unsigned v = 0; v < VARIANTS; v++) {
		measured_done(&again[STATE_OK][v]);
		measured_done(&m[STATE_OK][v]);
	}
	assert_false(measure_cache_read(&other, again));
	snprintf(command, sizeof(command), "truncate -s 100 %s/*", dir);
	assert_int_equal(system(command), 0);
	assert_false(measure_cache_read(&s, again));
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_culprit),
		cmocka_unit_test(test_every_rail),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_polarisation),
		cmocka_unit_test(test_lag),
		cmocka_unit_test(test_remote_capacity),
		cmocka_unit_test(test_missing_route),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_xon),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_two_jobs),
		cmocka_unit_test(test_moe),
		cmocka_unit_test(test_perturbed),
		cmocka_unit_test(test_cache),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
