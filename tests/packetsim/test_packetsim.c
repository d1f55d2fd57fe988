/*
 * The simulation held against figures of an independent one, of the same fabric: 16 hosts at 100G
 * on 4 leaves, 2 spines, uplinks 200G, 1 us a link, 3.93 MB of shared buffer a switch. README.md
 * says which figures are held within a tolerance and which only in order.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/packetsim/phase.h"

struct sums { /* of a phase; shares of the exchange's time */
	double step_us, host_pause, marks, root_marks, queue_peak, group_peak;
	uint64_t drops;
};

static struct sums sums_of(const struct phase *phase)
{
	const struct net *net = phase->net;
	struct sums out = {.drops = phase->drops};
	double marked = 0, sent = 0, root_marked = 0, root_sent = 0, pause = 0, time = 0;
	for (size_t step = 0; step < phase->n_steps; step++) {
		time += (double)phase->duration[step] / PS_US;
		for (size_t i = 0; i < phase->n_ports; i++) {
			const struct step_port *one = &phase->ports[step * phase->n_ports + i];
			const struct port *port = &net->ports[net->n_hosts + i];
			marked += (double)one->count[COUNT_MARKED];
			sent += (double)one->count[COUNT_DATA_PACKETS];
			if (port->peer < net->n_hosts)
				pause += (double)one->count[COUNT_PAUSED_TX_NS] / 1e3;
			if (port->peer == 0) {
				root_marked += (double)one->count[COUNT_MARKED];
				root_sent += (double)one->count[COUNT_DATA_PACKETS];
				out.queue_peak =
					fmax(out.queue_peak, (double)one->peak[PEAK_QUEUE]);
			}
			out.group_peak = fmax(out.group_peak, (double)one->peak[PEAK_GROUP]);
		}
	}
	out.step_us = time / (double)phase->n_steps;
	out.host_pause = pause / (time * net->n_hosts);
	out.marks = marked / sent;
	out.root_marks = root_marked / root_sent;
	return out;
}

static struct options options_of(const char *text)
{
	struct options options = options_default();
	static char copy[512];
	char *argv[64], *rest = NULL;
	int argc = 1;
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	assert_int_equal(options_read(&options, argc, argv), 0);
	return options;
}

static struct sums run_of(const char *text)
{
	const struct options options = options_of(text);
	struct phase *phase = phase_run(&options, fault_find(options.fault));
	assert_true(phase->finished);
	const struct sums out = sums_of(phase);
	phase_free(phase);
	return out;
}

static void near(const char *what, double is, double should, double tolerance)
{
	print_message("  %-34s %10.1f   recorded %10.1f   %+.1f %%\n", what, is, should,
		(is / should - 1) * 100);
	if (!(fabs(is - should) <= tolerance * should))
		fail_msg("%s: %g, expected %g within %g %%", what, is, should, tolerance * 100);
}

static void test_watermarks(void **state)
{
	static const struct {
		const char *alpha;
		double queue_kb, group_kb;
	} rows[] = {{"1/16", 523, 288}, {"1/8", 875, 497}, {"1/4", 1403, 852}, {"1/2", 2065, 1366},
		{"1", 2726, 2012}};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256], what[64];
		snprintf(text, sizeof(text),
			"--workload incast --steps 1 --headroom-factor 1.1 --kmin 1048KB --kmax "
			"2097KB --pmax 5%% --alpha %s",
			rows[i].alpha);
		const struct sums o = run_of(text);
		snprintf(what, sizeof(what), "alpha %s, egress queue KB", rows[i].alpha);
		near(what, o.queue_peak / 1e3, rows[i].queue_kb, 0.05);
		snprintf(what, sizeof(what), "alpha %s, priority group KB", rows[i].alpha);
		near(what, o.group_peak / 1e3, rows[i].group_kb, 0.05);
		assert_int_equal(o.drops, 0);
	}
}

static void test_headroom(void **state)
{
	static const char *const factors[] = {"0.02", "0.5", "0.9", "1.0", "1.1"};
	uint64_t last = UINT64_MAX;
	(void)state;
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text),
			"--workload incast+shuffle --steps 1 --alpha 1/16 --cc-off 1 --kmin 1048KB "
			"--kmax 4MB --headroom-factor %s",
			factors[i]);
		const struct sums o = run_of(text);
		print_message("  headroom x%s: %.0f drops\n", factors[i], (double)o.drops);
		if (i == 0)
			near("drops at x0.02", (double)o.drops, 164802, 0.25);
		if (i == 3)
			assert_true(o.drops < 200);
		assert_true(o.drops < last || o.drops == 0);
		last = o.drops;
	}
	assert_int_equal(last, 0);
}

/* A Kmin below one bandwidth-delay product (103 KB) collapses the rate. */
static void test_kmin_knee(void **state)
{
	static const struct {
		const char *kmin, *kmax;
		double low_us, high_us;
	} rows[] = {{"5KB", "20KB", 1852, 2023}, {"100KB", "400KB", 1582, 1853},
		{"400KB", "1600KB", 1056, 1286}, {"1048KB", "4192KB", 1023, 1226}};
	double last = INFINITY;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text),
			"--workload incast --fresh 1 --alpha 1/4 --kmin %s --kmax %s", rows[i].kmin,
			rows[i].kmax);
		const double us = run_of(text).step_us;
		print_message("  Kmin %s: mean step %.0f us, recorded %.0f..%.0f\n", rows[i].kmin,
			us, rows[i].low_us, rows[i].high_us);
		assert_true(us > rows[i].low_us * 0.88 && us < rows[i].high_us * 1.12);
		assert_true(us < last);
		last = us;
	}
}

/* Late ECN: no marks and hosts that wait; alpha before Kmin, and both. */
static void test_ecn_before_pfc(void **state)
{
	static const char *const rows[] = {"--alpha 1/16 --kmin 1048KB --kmax 4192KB",
		"--alpha 1/16 --kmin 400KB --kmax 1600KB",
		"--alpha 1/4 --kmin 1048KB --kmax 4192KB",
		"--alpha 1/4 --kmin 400KB --kmax 1600KB"};
	struct sums o[4];
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		o[i] = run_of(rows[i]);
		print_message("  %s: step %.0f us, host pause %.2f %%, marks %.2f %%\n", rows[i],
			o[i].step_us, o[i].host_pause * 100, o[i].marks * 100);
		assert_int_equal(o[i].drops, 0);
	}
	assert_true(o[0].marks == 0);
	assert_true(o[0].host_pause > o[1].host_pause && o[1].host_pause > o[2].host_pause);
	assert_true(o[2].host_pause > o[3].host_pause);
	assert_true(o[3].host_pause < 0.01 * o[0].host_pause);
	/* alpha alone costs no time, marks do: recorded +18 % of completion */
	near("step, alpha alone, us", o[2].step_us, o[0].step_us, 0.1);
	assert_true(o[3].step_us > 1.05 * o[0].step_us && o[3].step_us < 1.35 * o[0].step_us);
}

/* Share of the exchange's time for which the switch paused this host, and was paused by it. */
static double pause_share(const struct phase *phase, uint32_t port, enum count count)
{
	double pause = 0, time = 0;
	for (size_t step = 0; step < phase->n_steps; step++) {
		time += (double)phase->duration[step] / 1e3;
		pause += (double)phase->ports[step * phase->n_ports + port - phase->net->n_hosts]
				 .count[count];
	}
	return pause / time;
}

static struct phase *phase_of(const char *text)
{
	const struct options options = options_of(text);
	struct phase *phase = phase_run(&options, fault_find(options.fault));
	assert_true(phase->finished);
	return phase;
}

/* A slow receiver pauses its own switch, nobody else does; a host without DCQCN waits more than its
 * peers; a bad cable has errors at both its ends and nowhere else. */
static void test_signatures(void **state)
{
	(void)state;
	struct options options = options_default();
	struct phase *phase =
		phase_of("--workload shuffle --shuffle-kb 1000 --fault slow-receiver");
	const unsigned host = (unsigned)fault_where(phase->net, &options).host;
	for (unsigned i = 0; i < phase->net->n_hosts; i++) {
		const double share =
			pause_share(phase, net_host_port(phase->net, i), COUNT_PAUSED_RX_NS);
		assert_true(i == host ? share > 0.6 : share == 0);
	}
	phase_free(phase);

	phase = phase_of("--workload incast --alpha 1/4 --fault cc-off");
	const double own = pause_share(phase, net_host_port(phase->net, host), COUNT_PAUSED_TX_NS);
	for (unsigned i = 0; i < phase->net->n_hosts; i++)
		if (i != host)
			assert_true(own > 2 *
					pause_share(phase, net_host_port(phase->net, i),
						COUNT_PAUSED_TX_NS));
	phase_free(phase);

	phase = phase_of("--workload ring --fault bad-cable");
	const struct fault_place place = fault_where(phase->net, &options);
	const uint32_t port = net_uplink(phase->net, (unsigned)place.leaf, (unsigned)place.spine);
	for (uint32_t i = phase->net->n_hosts; i < phase->net->n_ports; i++) {
		const bool end = i == port || i == phase->net->ports[port].peer;
		assert_true((phase->net->ports[i].count[COUNT_ERRORS] > 0) == end);
	}
	phase_free(phase);
}

/* What was sent arrived, buffers are empty again, the same seed gives the same. */
static void test_conservation(void **state)
{
	(void)state;
	struct phase *phase = phase_of("--alpha 1/16 --kmin 1048KB --kmax 4MB");
	struct phase *again = phase_of("--alpha 1/16 --kmin 1048KB --kmax 4MB");
	for (size_t i = 0; i < phase->net->n_ports; i++) {
		const struct port *port = &phase->net->ports[i];
		assert_int_equal(port->data.bytes, 0);
		assert_memory_equal(port->count, again->net->ports[i].count, sizeof(port->count));
	}
	for (size_t i = 0; i < phase->net->n_flows; i++)
		assert_int_equal(phase->net->flows[i].expected, phase->net->flows[i].packets);
	assert_int_equal(phase->drops, 0);
	phase_free(phase);
	phase_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watermarks),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_kmin_knee),
		cmocka_unit_test(test_ecn_before_pfc),
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_conservation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
