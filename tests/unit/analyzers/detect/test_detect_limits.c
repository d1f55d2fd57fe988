/* What detectors report, at both sides of each of their limits. */
#include "base/cleanup.h"
#include "tests/unit/analyzers/seen_world.h"

#define LOSS "lossless_loss"
#define STORM "pause_storm"
#define LINK "link_health"
#define BYTES "conservation"
#define SLOWER "straggler"
#define ANY (-1)
#define VALUE(amount, n) SET(amount.known, 1), SET(amount.alive, 1), SET(amount.value, n)
#define LOST VALUE(prios[0].pg_drops, 1)
#define PAUSE_SENT SET(prios[0].tx_pause.hi, 0.1)
#define HEADROOM SET(prios[0].headroom, 1e5)
#define TO(k) ports[HOST(k)]
#define CLASS(port, prio, octets) SET(ports[port].class_octets[prio], octets)
#define BER_OF_FOUR(ber)                                                                           \
	SET(TO(1).pre_fec_ber, ber), SET(TO(2).pre_fec_ber, ber), SET(TO(3).pre_fec_ber, ber),     \
		SET(TO(4).pre_fec_ber, ber)
#define SLOW SET(TO(0).out.read_bps, 1e11), SET(TO(0).in.rate_bps, 0)
#define RATE_OF_FOUR(bps)                                                                          \
	SET(TO(1).out.rate_bps, bps), SET(TO(2).out.rate_bps, bps), SET(TO(3).out.rate_bps, bps),  \
		SET(TO(4).out.rate_bps, bps)
#define NIC_PAUSE(way) nic[0].prios[PRIO].way##_pause_ns
#define DARK(k) SET(TO(k).rx_power_dbm, NAN)

#define RATES(k, to_host, from_host)                                                               \
	SET(TO(k).out.rate_bps, to_host), SET(TO(k).in.rate_bps, from_host)

static const struct detect_row { /* at .yes it is found like that, at .no it is not */
	const char *analyzer;
	enum cause cause;
	int severity;
	const char *name;
	struct change no, yes, also[CHANGES];
	double sure; /* 0: not asked */
} rows[] = {
	/* lost frames of a lossless class: headroom, pool, discards of all classes, damaged frames
	 */
	{LOSS, CAUSE_HEADROOM_SMALL, ANY, LIMIT(prios[0].headroom_peak, 89999, 90000),
		{LOST, PAUSE_SENT, HEADROOM}},
	{LOSS, CAUSE_HEADROOM_SMALL, ANY, LIMIT(prios[0].tx_pause.hi, 0, 0.1),
		{HEADROOM, SET(prios[0].headroom_peak, 90000)}},
	{LOSS, CAUSE_POOL_EXHAUSTED, ANY, LIMIT(devices[0].pool_peak, 949999, 950000),
		{LOST, SET(devices[0].pool_bytes, 1e6)}},
	{LOSS, CAUSE_LOSSLESS_LOSS, ANY, LIMIT(ports[0].in_discards.value, 99, 100),
		{PAUSE_SENT, VALUE(ports[0].in_discards, 0)}},
	{LOSS, CAUSE_LOSSLESS_LOSS, ANY, LIMIT(ports[1].class_octets[0], 9.6e10, 9.4e10),
		{PAUSE_SENT, VALUE(ports[0].in_discards, 100)}},
	{LOSS, CAUSE_LOSSLESS_LOSS, ANY, LIMIT(ports[0].fcs_errors.value, 10, 9),
		{VALUE(prios[0].pg_drops, 100), VALUE(ports[0].fcs_errors, 0),
			VALUE(ports[0].in_errors, 0)}},
	/* hosts that pause */
	{STORM, CAUSE_SLOW_RECEIVER, SEV_WARNING, LIMIT(prios[0].rx_pause.lo, 0.0099, 0.01)},
	{STORM, CAUSE_SLOW_RECEIVER, SEV_CRITICAL, LIMIT(prios[0].rx_pause.lo, 0.0499, 0.05)},
	{STORM, CAUSE_PFC_STORM, SEV_CRITICAL, LIMIT(prios[0].rx_pause.lo, 0.899, 0.9)},
	{STORM, CAUSE_SLOW_RECEIVER, SEV_CRITICAL, LIMIT(roots[0].n_switches, 2, 3),
		{PAUSES(0, 0.02), SET(graph.n_roots, 1), SET(roots[0].priority, PRIO)}},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(ports[0].in_pause.value, 35700, 35800),
		{VALUE(ports[0].in_pause, 0), SET(prios[0].rx_pause.alive, 0),
			SET(prios[0].rx_frames.alive, 0)}},
	{STORM, CAUSE_PFC_WATCHDOG, SEV_CRITICAL, LIMIT(prios[0].storm_drops.value, 0, 1),
		{VALUE(prios[0].storm_drops, 0)}},
	/* only what is measured is critical; of two rails the first of half the strength is told */
	{STORM, CAUSE_SLOW_RECEIVER, SEV_CRITICAL, LIMIT(prios[0].rx_pause.measured, 0, 1),
		{PAUSES(0, 0.02), SET(prios[0].rx_pause.hi, 0.06), SET(graph.n_roots, 1),
			SET(roots[0].priority, PRIO), SET(roots[0].n_switches, 3)}},
	{STORM, CAUSE_SLOW_RECEIVER, SEV_CRITICAL, LIMIT(prios[0].rx_pause.lo, 0.0251, 0.0249),
		{RAILS(2), PAUSES(1, 0.05)}},
	/* how sure: all others are quiet, its load, what is missing, what its NIC says */
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(prios[1].rx_pause.hi, 0.001, 0.00099),
		{PAUSES(0, 0.02), SET(prios[0].rx_pause.hi, 0.02)}, 0.97},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(TO(0).out.utilization_ratio, 0.951, 0.949),
		{PAUSES(0, 0.02)}, 0.97},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(prios[0].rx_pause.lo, 0.149, 0.151),
		{SET(TO(0).out.utilization_ratio, 0.95)}, 0.65},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(TO(0).out.coverage_ratio, 0.7, 0.69),
		{PAUSES(0, 0.02)}, 0.82},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(NIC_PAUSE(tx).value, 1e7, 9.9e6),
		{PAUSES(0, 0.02), SET(NIC_PAUSE(tx).known, 1), SET(NIC_PAUSE(tx).covered_ns, 1e9)},
		0.97 * 0.8},
	{STORM, CAUSE_SLOW_RECEIVER, ANY, LIMIT(NIC_PAUSE(rx).value, 9.9e5, 1e6),
		{PAUSES(0, 0.02), SET(NIC_PAUSE(rx).known, 1)}, 0.97 * 0.8},
	/* damaged frames */
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[0].fcs_errors.value, 2, 3),
		{VALUE(ports[0].fcs_errors, 0)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[0].fcs_errors.value, 1, 2),
		{VALUE(ports[0].fcs_errors, 0), SET(ports[0].fcs_errors.covered_ns, 10e9)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[0].fcs_errors.value, 29, 30),
		{VALUE(ports[0].fcs_errors, 0), VALUE(TO(1).fcs_errors, 3),
			VALUE(TO(2).fcs_errors, 3)}},
	{LINK, CAUSE_LINK_ERRORS, SEV_CRITICAL, LIMIT(ports[0].fcs_errors.value, 10, 11),
		{VALUE(ports[0].fcs_errors, 0), VALUE(ports[0].in_packets, 1e6)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[0].symbol_errors.value, 5999, 6000),
		{VALUE(ports[0].symbol_errors, 0)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[0].symbol_errors.value, 5999, 6000),
		{VALUE(ports[0].symbol_errors, 0), VALUE(TO(1).symbol_errors, 60),
			VALUE(TO(2).symbol_errors, 60)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[DOWN(0, 0)].out_errors.value, 5, 4),
		{VALUE(ports[UP(0, 0)].fcs_errors, 10), VALUE(ports[DOWN(0, 0)].out_errors, 0)}},
	{LINK, CAUSE_LINK_ERRORS, ANY, LIMIT(ports[DOWN(0, 0)].mtu_bytes, 1500, 9000),
		{VALUE(ports[UP(0, 0)].in_errors, 10), VALUE(ports[UP(0, 0)].fcs_errors, 0),
			SET(ports[UP(0, 0)].mtu_bytes, 9000)}},
	/* bit errors before FEC: the floor, ten times links of the kind, what FEC hardly repairs;
	 * and from corrected codewords */
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).pre_fec_ber, 0.99e-6, 1.01e-6)},
	{LINK, CAUSE_OPTIC_DEGRADING, SEV_WARNING, LIMIT(TO(0).pre_fec_ber, 0.99e-5, 1.01e-5)},
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).pre_fec_ber, 1.99e-5, 2.01e-5),
		{BER_OF_FOUR(2e-6)}},
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).pre_fec_ber, 4.99e-5, 5.01e-5),
		{BER_OF_FOUR(1e-5)}},
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).fec_corrected.value, 2.39e6, 2.41e6),
		{VALUE(TO(0).fec_corrected, 0), SET(TO(0).pre_fec_ber, NAN)}},
	/* light: below links of the kind, or too little where there are none */
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).rx_power_dbm, -2.99, -3.01)},
	{LINK, CAUSE_OPTIC_DEGRADING, ANY, LIMIT(TO(0).rx_power_dbm, -9.99, -10.01),
		{DARK(1), DARK(2), DARK(3), DARK(4), DARK(5), DARK(6)}},
	/* a slow link that holds others up */
	{LINK, CAUSE_LINK_SLOW, SEV_CRITICAL, LIMIT(TO(0).out.rate_bps, 7.99e10, 8.01e10),
		{SLOW, RATE_OF_FOUR(2.4e11)}},
	{LINK, CAUSE_LINK_SLOW, SEV_CRITICAL, LIMIT(TO(0).out.rate_bps, 2.49e10, 2.51e10), {SLOW}},
	{LINK, CAUSE_LINK_SLOW, SEV_CRITICAL, LIMIT(TO(0).out.rate_bps, 2.99e10, 3.01e10),
		{SLOW, RATE_OF_FOUR(8e10)}},
	/* node-1 moves nothing at a port: beside two of three busy rails, or beside its leaf's
	 * hosts; with all its ports down it is told once */
	{LINK, CAUSE_MISSING_RAIL, ANY, LIMIT(TO(2).out.rate_bps, 1.19e10, 1.21e10),
		{RAILS(4), RATES(0, 0, 0), RATES(2, 0, 0), RATES(3, 0, 0)}},
	{LINK, CAUSE_MISSING_RAIL, ANY, LIMIT(TO(0).out.rate_bps, 8.1e8, 7.9e8), {RATES(0, 0, 0)}},
	{LINK, CAUSE_MISSING_RAIL, ANY, LIMIT(past_ns, 31e9, 29e9), {RATES(0, 0, 0)}},
	{LINK, CAUSE_MISSING_RAIL, SEV_INFO, LIMIT(TO(3).oper_up, 1, 0),
		{RAILS(4), SET(TO(0).oper_up, 0), SET(TO(1).oper_up, 0), SET(TO(2).oper_up, 0)}},
	/* node-1 moves less than the six others of its job, both ways, and nothing holds it back */
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(0).in.rate_bps, 3.61e10, 3.59e10),
		{RATES(0, 2e10, 0)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(0).out.rate_bps, 1.59e9, 1.61e9), {RATES(0, 0, 0)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(3).out.rate_bps, 3.58e10, 3.62e10),
		{RATES(0, 2e10, 2e10), RATES(1, 5e10, 4e10), RATES(2, 5e10, 4e10)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(3).out_known, 0, 1),
		{RATES(0, 2e10, 2e10), SET(TO(4).out_known, 0), SET(TO(5).out_known, 0),
			SET(TO(6).out_known, 0)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(0).out.capacity_bps, 3.9e11, 4e11),
		{RATES(0, 2e10, 2e10)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(prios[0].tx_pause.hi, 0.0011, 0.001),
		{RATES(0, 2e10, 2e10)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(prios[0].rx_pause.hi, 0.0011, 0.001),
		{RATES(0, 2e10, 2e10)}},
	{SLOWER, CAUSE_HOST_SLOW, ANY, LIMIT(TO(0).in_errors.value, 1, 0), {RATES(0, 2e10, 2e10)}},
	/* bytes that left their class: at a leaf, beside one other; in a spine */
	{BYTES, CAUSE_CLASS_LEAK, ANY, LIMIT(ports[UP(0, 0)].class_octets[0], 1.79e11, 1.81e11),
		{CLASS(UP(0, 0), PRIO, 1.2e11)}},
	{BYTES, CAUSE_CLASS_LEAK, ANY, LIMIT(ports[UP(0, 0)].class_octets[0], 3.81e11, 3.79e11),
		{CLASS(UP(0, 1), PRIO, 1e11)}},
	{BYTES, CAUSE_CLASS_LEAK, ANY, LIMIT(ports[DOWN(0, 0)].class_octets[0], 2.9e10, 3.1e10),
		{CLASS(DOWN(0, 0), PRIO, 2.6e11)}},
	{BYTES, CAUSE_CLASS_LEAK, ANY,
		LIMIT(ports[DOWN(0, 0)].class_octets[PRIO], 2.71e11, 2.69e11),
		{CLASS(DOWN(0, 0), 0, 4e10)}},
	/* storage: node-8 is of no job */
	{BYTES, CAUSE_STORAGE_RECEIVER, ANY, LIMIT(TO(7).class_octets[PRIO], 1.49e11, 1.51e11),
		{MARKS(HOST(7), 200000)}},
	{BYTES, CAUSE_STORAGE_RECEIVER, ANY, LIMIT(prios[HOST(7)].marked.value, 199999, 200000)},
	{BYTES, CAUSE_STORAGE_RECEIVER, ANY, LIMIT(prios[HOST(7)].rx_pause.lo, 0.0099, 0.01)},
	{BYTES, CAUSE_STORAGE_RECEIVER, ANY, LIMIT(TO(6).class_octets[PRIO], 4e11, 3.99e11),
		{CLASS(HOST(7), PRIO, 4e11), SET(prios[HOST(7)].marked.known, 0),
			SET(prios[HOST(4)].tx_frames.value, 1)}},
	/* a spine with less to a leaf than the others have, and no less to carry */
	{BYTES, CAUSE_REMOTE_CAPACITY, ANY,
		LIMIT(ports[DOWN(0, 0)].out.capacity_bps, 3.61e11, 3.59e11),
		{SET(ports[DOWN(0, 0)].out.rate_bps, 4.2e10)}},
	{BYTES, CAUSE_REMOTE_CAPACITY, ANY, LIMIT(ports[DOWN(0, 0)].out.rate_bps, 4.1e10, 4.2e10),
		{SET(ports[DOWN(0, 0)].out.capacity_bps, 3.59e11)}},
};

/* The octets of port 0 stand still since .past_ns, with a sample before. */
static void make_past(struct seen_world *w, struct window *past, struct series series[2])
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	int64_t *t_ns = arena_array(w->a, int64_t, 3);
	uint64_t *values = arena_array(w->a, uint64_t, 3);
	t_ns[1] = w->past_ns;
	t_ns[2] = 60 * NS_PER_S;
	values[1] = values[2] = 1000000000000;
	for (size_t k = 0; k < 2; k++)
		series[k] = (struct series){.entity = w->ports[0].entity,
			.metric = metrics[metrics[0] < metrics[1] ? k : 1 - k],
			.n = 3,
			.t_ns = t_ns,
			.value = values,
			.flags = arena_array(w->a, uint16_t, 3),
			.window_ms = arena_array(w->a, uint32_t, 3)};
	*past = w->window;
	past->series = series;
	past->n_series = 2;
	w->in.past = past;
}

/* How often it is found. */
static size_t found(const struct detect_row *row, const struct change *limit)
{
	static const char *names[] = {
		"node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7"};
	struct fabric_job job = {
		.name = "train", .names = names, .n_names = rw_countof(names), .source = -1};
	const struct analyzer *analyzer = analyzer_by_name(row->analyzer);
	struct finding_list list = {0};
	struct seen_world w;
	struct window past;
	struct series series[2];
	size_t n = 0;
	seen_world_init(&w);
	const struct pause_edge waits = {.host = "node-2", .by = &w.ports[0]},
				*two[] = {&waits, &waits};
	w.fabric.jobs = &job;
	w.fabric.n_jobs = 1;
	w.past_ns = 10 * NS_PER_S;
	w.roots[0].port = &w.ports[0];
	w.roots[0].direct = two;
	w.roots[0].n_direct = rw_countof(two);
	for (unsigned at = 0; at < PORTS; at++) {
		struct port_seen *p = &w.ports[at];
		struct amount *counts[] = {&p->fcs_errors, &p->in_errors, &p->symbol_errors,
			&p->fec_corrected, &p->in_packets, &p->out_errors, &p->in_pause};
		for (size_t k = 0; k < rw_countof(counts); k++)
			counts[k]->covered_ns = 60 * NS_PER_S;
		p->class_octets[PRIO] = 3e11;
	}
	seen_change(&w, row->also, CHANGES);
	seen_change(&w, limit, 1);
	make_past(&w, &past, series);
	void *options = arena_alloc(w.a, analyzer->options.size);
	options_defaults(&analyzer->options, w.a, options);
	w.in.options = options;
	assert_int_equal(analyzer->run(&w.in, &list), 0);
	for (size_t i = 0; i < list.n; i++)
		n += list.v[i].verdict == FINDING_OVER && list.v[i].cause == row->cause &&
			(row->severity == ANY || (int)list.v[i].severity == row->severity) &&
			(row->sure == 0 || fabs(list.v[i].confidence_ratio - row->sure) < 1e-9);
	seen_world_done(&w);
	return n;
}

static void found_from_the_limit_on(void **state)
{
	size_t wrong = 0;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const size_t no = found(&rows[i], &rows[i].no), yes = found(&rows[i], &rows[i].yes);
		if (no == 0 && yes == 1)
			continue;
		print_message("row %zu, %s, %s: found %zu and %zu times\n", i, rows[i].analyzer,
			rows[i].name, no, yes);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found_from_the_limit_on)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
