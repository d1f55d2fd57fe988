/* congestion: each limit of what is measured of pause and marks, of the signs read from it and of
 * what NICs are accused of, asked at both of its sides. */
#include "analyzers/detect/congestion_nic.h"

#include "base/cleanup.h"
#include "tests/unit/analyzers/seen_world.h"

#define LEAF_MARKS                                                                                 \
	SET(loads[0].marks.known, 1), SET(loads[0].marks.packets, 1e6),                            \
		SET(loads[0].marks.marked, 1e4)

/* ---- counters of NICs --------------------------------------------------------- */

/* NIC 0 sends and handles no CNP, while seven others send 100 and handle 100 each: it is silent.
 * Alone that accuses nobody. */
#define OFF CAUSE_DCQCN_OFF
#define NP CAUSE_NP_OFF
#define WAITS PAUSED(0, 0.01), LEAF_MARKS
#define OWN_PAUSE nic[0].prios[PRIO].rx_pause_ns
#define MISSING(handled) OTHERS(cnp_handled.value, handled)
#define HANDLED(k, n) SET(nic[k].cnp_handled.value, n)
#define IGNORED SET(nic[0].cnp_ignored.value, 10)
#define CAME(n) SET(nic[0].cnp_received.known, 1), SET(nic[0].cnp_received.value, n)
#define MARKED_CAME SET(nic[0].ce_received.known, 1), SET(nic[0].ce_received.value, 100)

static const struct nic_row { /* at .yes it is accused like that, at .no it is not */
	enum cause cause;
	double sure;
	const char *name;
	struct change no, yes, also[CHANGES];
} nic_rows[] = {
	/* paused, and marked on its way */
	{OFF, 0.95, LIMIT(prios[0].tx_pause.lo, 0.0009, 0.001), {LEAF_MARKS}},
	{OFF, 0.95, LIMIT(OWN_PAUSE.value, 1.99e7, 2e7), {LEAF_MARKS, SET(OWN_PAUSE.known, 1)}},
	{OFF, 0.95, LIMIT(loads[0].marks.marked, 999, 1000), {WAITS}},
	{OFF, 0.9, LIMIT(loads[0].marks.known, 1, 0), {WAITS}},
	{OFF, 0.9, LIMIT(loads[0].marks.stale, 0, 1), {WAITS, SET(loads[0].marks.marked, 0)}},
	{OFF, 0.95, LIMIT(c.median, 0.0041, 0.004), {PAUSED(0, 0.01)}},
	{OFF, 0.95, LIMIT(c.n_others, 1, 2), {PAUSED(0, 0.01), SET(c.median, 0.004)}},
	{OFF, 0.95, LIMIT(hosts[0].explained, 1, 0), {WAITS}},
	/* silent, while others are told */
	{OFF, 0.95, LIMIT(nic[0].cnp_handled.value, 1, 0), {WAITS}},
	{OFF, 0.95, LIMIT(nic[0].cnp_handled.restarted, 1, 0), {WAITS}},
	{OFF, 0.95, LIMIT(ports[0].in.rate_bps, 3.9e9, 4e9), {WAITS}},
	{OFF, 0.95, LIMIT(nic[0].out_octets.value, 2.99e10, 3.01e10),
		{WAITS, SET(ports[0].in_known, 0), SET(nic[0].out_octets.known, 1),
			SET(nic[0].out_octets.covered_ns, 60e9)}},
	{OFF, 0.95, LIMIT(nic[1].cnp_sent.value, 19, 20),
		{WAITS, OTHERS(cnp_sent.value, 0), SET(nic[0].cnp_sent.value, 100)}},
	/* CNPs reach it */
	{OFF, 0.97, LIMIT(nic[0].cnp_received.value, 9, 10), {CAME(0)}},
	{OFF, 0.95, LIMIT(nic[0].cnp_received.restarted, 0, 1), {WAITS, CAME(9)}},
	/* they do not add up */
	{OFF, 0.96, LIMIT(nic[1].cnp_handled.value, 86, 84), {MISSING(85)}},
	{OFF, 0.97, LIMIT(prios[0].tx_pause.lo, 0, 0.01), {MISSING(84), LEAF_MARKS}},
	{OFF, 0.96, LIMIT(loads[0].marks.known, 1, 0), {MISSING(84), WAITS}},
	{OFF, 0.96, LIMIT(ports[0].in.rate_bps, 1.9e10, 2e10), {MISSING(84)}},
	{OFF, 0.8, LIMIT(nic[1].cnp_handled.value, 84, 0), {MISSING(84)}},
	{OFF, 0.8, LIMIT(nic[3].cnp_handled.value, 0, 84),
		{MISSING(84), HANDLED(1, 0), HANDLED(2, 0)}},
	{OFF, 0.96, LIMIT(ports[HOST(7)].oper_up, 1, 0),
		{MISSING(84), SET(nic[7].cnp_handled.known, 0)}},
	{OFF, 0.96, LIMIT(nic[1].cnp_sent.value, 15, 16),
		{OTHERS(cnp_sent.value, 14), MISSING(10)}},
	/* it says itself that it ignores them */
	{OFF, 0.8, LIMIT(nic[0].cnp_ignored.value, 9, 10), {HANDLED(0, 20)}},
	{OFF, 0.8, LIMIT(nic[0].cnp_handled.value, 91, 90), {IGNORED}},
	{OFF, 0.98, LIMIT(nic[0].cnp_handled.value, 11, 10), {IGNORED}},
	{OFF, 0.98, LIMIT(nic[0].cnp_ignored.restarted, 1, 0), {IGNORED, HANDLED(0, 10)}},
	/* it does not answer */
	{NP, 0.97, LIMIT(nic[0].ce_received.value, 99, 100), {MARKED_CAME}},
	{NP, 0.97, LIMIT(nic[0].cnp_sent.value, 1, 0), {MARKED_CAME}},
	{NP, 0.97, LIMIT(nic[0].cnp_sent.restarted, 1, 0), {MARKED_CAME}},
};

static bool is_accused(const struct nic_row *row, const struct change *limit)
{
	struct seen_world w;
	struct nic_trial trial;
	bool found = false;
	seen_world_init(&w);
	w.nic[0].cnp_sent.value = w.nic[0].cnp_handled.value = 0;
	w.c.median = 0.01;
	seen_change(&w, row->also, CHANGES);
	seen_change(&w, limit, 1);
	congestion_nics(&w.c, &w.options, &trial);
	for (size_t k = 0; k < trial.n; k++) {
		assert_int_equal(trial.v[k].guilty, 1);
		found |= trial.v[k].nic == &w.nic[0] && trial.v[k].cause == row->cause &&
			fabs(trial.v[k].confidence - row->sure) < 1e-9;
	}
	seen_world_done(&w);
	return found;
}

static void nics_are_accused(void **state)
{
	for (size_t i = 0; i < rw_countof(nic_rows); i++)
		if (is_accused(&nic_rows[i], &nic_rows[i].no) ||
			!is_accused(&nic_rows[i], &nic_rows[i].yes))
			fail_msg("row %zu, %s", i, nic_rows[i].name);
}

/* One NIC handles CNPs, six count those that came: of two that take part a quarter may be missing.
 */
static void a_part_that_may_be_missing(void **state)
{
	for (int missing = 0; missing < 2; missing++) {
		struct seen_world w;
		struct nic_trial trial;
		seen_world_init(&w);
		w.nic[0].cnp_sent.value = w.nic[0].cnp_handled.value = 0;
		for (unsigned k = 2; k < HOSTS; k++) {
			w.nic[k].cnp_received = seen_count(missing ? 70 : 76);
			w.nic[k].cnp_handled = (struct amount){0};
		}
		w.nic[1].cnp_handled.value = 70;
		congestion_nics(&w.c, &w.options, &trial);
		assert_int_equal(trial.n, missing);
		seen_world_done(&w);
	}
}

/* All CNPs that were sent are lost: a hundred of them, of three NICs at least. */
static void no_cnp_arrives(void **state)
{
	static const struct {
		double each, arrived;
		unsigned hosts;
		bool lost;
	} rows[] = {{34, 0, 3, true}, {33, 0, 3, false}, {34, 1, 3, false}, {60, 0, 2, false}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct seen_world w;
		struct nic_trial trial;
		seen_world_init(&w);
		w.nics.n = rows[i].hosts;
		for (unsigned k = 0; k < HOSTS; k++) {
			if (k >= rows[i].hosts)
				w.port[HOST(k)].host = NULL;
			w.nic[k].cnp_sent.value = rows[i].each;
			w.nic[k].cnp_handled.value = 0;
		}
		w.nic[0].cnp_handled.value = rows[i].arrived;
		congestion_nics(&w.c, &w.options, &trial);
		assert_int_equal(trial.lost, rows[i].lost);
		seen_world_done(&w);
	}
}

/* ---- signs ----------------------------------------------------------------------- */

#define SW SUSPECT_SWITCH
#define GROUP SUSPECT_GROUP
#define QUEUE SUSPECT_QUEUE
#define HOST_1 SUSPECT_HOST
#define UP0 ports[UP(0, 0)].out.utilization_ratio
#define UPS(load) SET(UP0, load), SET(ports[UP(0, 1)].out.utilization_ratio, load)
#define UP_MARKS prios[UP(0, 0)].marked.value
#define HOST_LOADS(load)                                                                           \
	SET(ports[0].in.utilization_ratio, load), SET(ports[1].in.utilization_ratio, load),        \
		SET(ports[2].in.utilization_ratio, load), SET(ports[3].in.utilization_ratio, load)
#define OTHERS_SENT SET(c.all.known, 1), SET(c.all.packets, 2e6), SET(c.all.marked, 1000)
/* three groups known, two of them held bytes: PFC fires at 3.2 MB */
#define BUFFERS                                                                                    \
	SET(devices[0].pool_bytes, 16e6), SET(prios[0].pg_peak, 1), SET(prios[1].pg_peak, 1),      \
		SET(prios[2].pg_peak, 0), SET(prios[0].alpha, 0.0625), SET(prios[1].alpha, 0.125), \
		SET(prios[1].kmin, 8e6)
#define TWO_MARK MARKS(0, 50000), MARKS(1, 50000) /* of six queues; a product is 500 KB */
#define XON(bytes) SET(prios[0].xon_offset, bytes)
#define LAST(ns, per_s) SET(loads[0].episode_ns, ns), SET(loads[0].episodes_per_s, per_s)
#define PEERS                                                                                      \
	SET(loads[2].inputs, 1), SET(loads[3].inputs, 1), SET(loads[2].episode_ns, 8200),          \
		SET(loads[3].episode_ns, 8200), SET(loads[2].episodes_per_s, 133),                 \
		SET(loads[3].episodes_per_s, 133)
#define ON_RAILS(n, paused)                                                                        \
	SET(hosts[0].at_leaf, 0.0199), SET(hosts[0].rails, n), SET(hosts[0].rails_paused, paused)
#define PAIR(times_next, share)                                                                    \
	SET(c.lead.n, 2), SET(c.lead.times, times_next), SET(hosts[1].level, share)
#define RECEIVERS SET(c.lead.receivers, 6)

static const struct sign_row {
	enum suspect_kind kind;
	enum sign sign;
	const char *name;
	struct change no, yes, also[CHANGES];
} sign_rows[] = {
	/* a switch: hosts and marks */
	{SW, FROM_HOST, LIMIT(c.host_root_share, 0.39, 0.4)},
	{SW, SINGLED, LIMIT(hosts[1].level, 0.0049, 0.005), {SET(c.n_singled, 2)}},
	{SW, SINGLED, LIMIT(c.n_singled, 3, 2), {SET(hosts[2].level, 0.02)}},
	{SW, SINGLED, LIMIT(c.n_others, 1, 2)},
	{SW, SINGLED, LIMIT(c.spread, 0.0055, 0.0054)},
	{SW, FEW_MARKS, LIMIT(loads[0].marks.marked, 1000, 999), {LEAF_MARKS}},
	{SW, MARKING, LIMIT(loads[0].marks.marked, 0, 1), {LEAF_MARKS}},
	{SW, MARKS_ALIVE, LIMIT(loads[0].marks.on, 1, 2), {SET(loads[0].marks.off, 1)}},
	{SW, SET_OFF, LIMIT(loads[0].marks.off, 1, 2), {SET(loads[0].marks.on, 1)}},
	{SW, OTHERS_MARK, LIMIT(c.all.marked, 10999, 11000), {LEAF_MARKS, OTHERS_SENT}},
	{SW, LATE, LIMIT(prios[0].kmin, 1.6e6, 1.601e6), {BUFFERS}},
	{SW, WIDESPREAD, LIMIT(prios[2].marked.value, 49999, 50000), {TWO_MARK}},
	{SW, EARLY, LIMIT(prios[1].kmin, 500000, 499999), {TWO_MARK, SET(prios[0].kmin, 499999)}},
	{SW, SHALLOW, LIMIT(prios[0].queue_peak, 500001, 500000), {TWO_MARK}},
	/* short pauses: a round over the link takes 1.38 us, 2.34 us over 100 m of cable */
	{SW, XON_SET, LIMIT(prios[0].xon_offset, 6300, 6299)},
	{SW, XON_SET, LIMIT(prios[0].xon_level, 3700, 3701), {SET(prios[0].xoff_level, 10000)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episode_ns, 5550, 5450), {XON(1), LAST(0, 101)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episode_ns, 9400, 9300),
		{XON(1), LAST(0, 101), SET(port[0].cable_mm, 100000)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episodes_per_s, 100, 101), {XON(1), LAST(5000, 0)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episodes_per_s, 1000, 1001), {XON(1), LAST(NAN, 0)}},
	{SW, SHORT_PAUSES, LIMIT(prios[0].xon_offset, 6300, 6299), {LAST(100, 5000)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episode_ns, 700, 650), {LAST(0, 101)}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episode_ns, 2800, 2700), {LAST(0, 400), PEERS}},
	{SW, SHORT_PAUSES, LIMIT(loads[0].episodes_per_s, 399, 400), {LAST(2700, 0), PEERS}},
	{SW, SHORT_PAUSES, LIMIT(loads[3].inputs, 0, 1), {LAST(2700, 400), PEERS}},
	/* the uplinks of a leaf */
	{GROUP, HOT, LIMIT(UP0, 0.129, 0.131), {UPS(0.13)}},
	{GROUP, HOT, LIMIT(UP0, 0.84, 0.86), {UPS(0.85), HOST_LOADS(0.8)}},
	{GROUP, HOT, LIMIT(prios[0].marked.value, 20001, 20000), {UPS(0.2), SET(UP_MARKS, 20000)}},
	{GROUP, GROUP_MARKED, LIMIT(UP_MARKS, 9999, 10000), {MARKS(UP(0, 1), 10000)}},
	{GROUP, BUSY, LIMIT(loads[0].hosts, 2, 3)},
	{GROUP, NARROW, LIMIT(ports[UP(0, 0)].out.capacity_bps, 1124e9, 1122e9)},
	{GROUP, NARROW, LIMIT(ports[UP(0, 0)].oper_up, 1, 0),
		{SET(ports[UP(0, 0)].out.capacity_bps, 3e12)}},
	{GROUP, HELD, LIMIT(loads[0].level, 0.0021, 0.002), {PAUSES(UP(0, 0), 0.001)}},
	{GROUP, HELD, LIMIT(prios[UP(0, 0)].rx_pause.lo, 0.0009, 0.001)},
	{GROUP, FULL, LIMIT(UP0, 0.84, 0.86), {UPS(0.85)}},
	{GROUP, SKEWED, LIMIT(UP0, 0.149, 0.151)},
	{GROUP, SLOWER, LIMIT(ports[UP(0, 0)].out.read_bps, 4e11, 399999999999)},
	/* the queue to node-1 */
	{QUEUE, MANY_MARKS, LIMIT(prios[0].marked.value, 49999, 50000)},
	{QUEUE, BUSY, LIMIT(ports[0].out.rate_bps, 7.9e10, 8e10)},
	{QUEUE, BUSY, LIMIT(ports[1].out.rate_bps, 5e10, 4e10),
		{SET(ports[0].out.rate_bps, 8e10), SET(ports[2].out.rate_bps, 5e10)}},
	{QUEUE, SEVERAL_INPUTS, LIMIT(loads[0].inputs, 1, 2)},
	{QUEUE, FROM_HOST, LIMIT(loads[0].level, 0.0101, 0.01), {PAUSES(0, 0.01)}},
	{QUEUE, FULL, LIMIT(ports[0].out.utilization_ratio, 0.849, 0.85)},
	{QUEUE, SLOWER, LIMIT(c.host_capacity_bps, 4e11, 400000000001)},
	/* node-1, paused for 2 % of the time, and nobody else is */
	{HOST_1, SKEWED, LIMIT(UP_MARKS, 9999, 10000), {SET(UP0, 0.2)}},
	{HOST_1, SKEWED, LIMIT(UP0, 0.149, 0.151), {SET(UP_MARKS, 10000)}},
	{HOST_1, SKEWED, LIMIT(UP0, 0.85, 0.86)},
	{HOST_1, SKEWED, LIMIT(ports[UP(0, 1)].oper_up, 1, 0), {SET(UP_MARKS, 10000)}},
	{HOST_1, CROWDED, LIMIT(UP0, 0.3, 0.31), {SET(UP_MARKS, 50000)}},
	{HOST_1, CROWDED, LIMIT(UP_MARKS, 49999, 50000), {SET(UP0, 0.31)}},
	{HOST_1, AHEAD, LIMIT(hosts[0].at_leaf, 0.0101, 0.01)},
	{HOST_1, AHEAD, LIMIT(hosts[0].at_leaf, 0.02, 0.0199), {ON_RAILS(4, 4)}},
	{HOST_1, AHEAD, LIMIT(hosts[0].at_leaf, 0.0199, 0.01), {ON_RAILS(3, 3)}},
	{HOST_1, AHEAD, LIMIT(hosts[0].rails_paused, 3, 4), {ON_RAILS(4, 3)}},
	{HOST_1, AHEAD, LIMIT(c.lead.n, 2, 1), {ON_RAILS(4, 4)}},
	{HOST_1, LEADS, LIMIT(c.median, 0.0041, 0.004)},
	{HOST_1, LEADS, LIMIT(c.spread, 0.0055, 0.0054)},
	{HOST_1, LEADS, LIMIT(c.n_others, 1, 2)},
	{HOST_1, LEADS, LIMIT(c.lead.n, 0, 1)},
	{HOST_1, STRONG, LIMIT(hosts[0].level, 0.0099, 0.01)},
	{HOST_1, STRONG, LIMIT(c.lead.times, 2.99, 3)},
	{HOST_1, STRONG, LIMIT(hosts[0].measured, 0, 1)},
	{HOST_1, FAR, LIMIT(c.lead.times, 3.99, 4)},
	{HOST_1, STRONG, LIMIT(c.lead.times, 3.99, 4), {PAIR(0, 0.03)}},
	{HOST_1, STRONG, LIMIT(hosts[1].level, 0.0299, 0.03), {PAIR(4, 0)}},
	{HOST_1, STRONG, LIMIT(c.lead.times, 9.99, 10), {PAIR(0, 0.0299)}},
	{HOST_1, BRIEF, LIMIT(c.lead.times, 10, 9.99), {PAIR(0, 0.0299), RECEIVERS}},
	{HOST_1, BRIEF, LIMIT(hosts[0].level, 0.01, 0.0099), {RECEIVERS}},
	{HOST_1, ALL_RAILS, LIMIT(hosts[0].rails, 1, 2), {SET(hosts[0].rails_paused, 2)}},
	{HOST_1, ALL_RAILS, LIMIT(hosts[0].rails_paused, 3, 4), {SET(hosts[0].rails, 4)}},
	{HOST_1, RECEIVER_MARKS, LIMIT(c.lead.marks_most, 0.0099, 0.01), {RECEIVERS}},
	{HOST_1, HEAVY, LIMIT(ports[0].in.rate_bps, 7.9e10, 8e10)},
	{HOST_1, SLOWS_DOWN, LIMIT(nic[0].cnp_handled.value, 9, 10)},
	{HOST_1, SLOWS_DOWN, LIMIT(nic[0].cnp_ignored.value, 100, 99)},
};

static bool shows_sign(const struct sign_row *row, const struct change *limit)
{
	struct seen_world w;
	struct suspect s;
	seen_world_init(&w);
	w.loads[0].loudest = &w.prios[0];
	w.c.median = 0.001;
	seen_change(&w, row->also, CHANGES);
	seen_change(&w, limit, 1);
	if (row->kind == SUSPECT_SWITCH)
		suspect_switch(&w.c, &w.options, &w.devices[0], &s);
	else if (row->kind == SUSPECT_GROUP)
		suspect_group(&w.c, &w.options, &w.group[0], &s);
	else if (row->kind == SUSPECT_QUEUE)
		suspect_queue(&w.c, &w.options, &w.prios[0], NULL, &s);
	else
		suspect_host(&w.c, &w.options, &w.hosts[0], SUSPECT_HOST, &s);
	seen_world_done(&w);
	return s.signs.yes & row->sign;
}

static void signs_are_seen(void **state)
{
	for (size_t i = 0; i < rw_countof(sign_rows); i++)
		if (shows_sign(&sign_rows[i], &sign_rows[i].no) ||
			!shows_sign(&sign_rows[i], &sign_rows[i].yes))
			fail_msg("row %zu, %s", i, sign_rows[i].name);
}

/* While the switch pauses and no queue was as deep as the settings allow, it fires earlier. */
static void where_pfc_fires(void **state)
{
	static const struct {
		double peak, paused, want;
	} peaks[] = {{3.1e6, 0.01, 3.1e6}, {3.3e6, 0.01, 3.2e6}, {3.1e6, 0, 3.2e6}};
	for (size_t i = 0; i < rw_countof(peaks); i++) {
		const struct change set[] = {BUFFERS, SET(prios[4].queue_peak, peaks[i].peak),
			PAUSED(0, peaks[i].paused)};
		struct seen_world w;
		struct suspect s;
		seen_world_init(&w);
		seen_change(&w, set, rw_countof(set));
		suspect_switch(&w.c, &w.options, &w.devices[0], &s);
		assert_true(fabs(s.q_pfc_bytes - peaks[i].want) < 1);
		assert_int_equal(s.q_pfc_seen, peaks[i].want == peaks[i].peak);
		seen_world_done(&w);
	}
}

/* What is not known is neither so nor not so: a row that asks for "not" asks for knowing it. */
static void unknown_is_not_no(void **state)
{
	struct signs s = {.known = SEVERAL_INPUTS | MANY_MARKS | TO_HOST | SKEWED,
		.yes = SEVERAL_INPUTS | MANY_MARKS};
	assert_non_null(signature_match(SUSPECT_QUEUE, &s));
	s.known &= ~(uint32_t)SKEWED;
	assert_null(signature_match(SUSPECT_QUEUE, &s));
}

/* ---- what is measured -------------------------------------------------------------- */

#define GIVES(field, no, yes) SET(field, no), SET(field, yes)
#define FRAMES(k) SET(prios[k].tx_pause.measured, 0)
#define FRAMES_PAUSE(k, share) SET(prios[k].tx_pause.hi, share)
#define NO_MARKS(k) SET(prios[HOST(k)].marked.known, 0)
#define OTHERS_MARK_2                                                                              \
	MARKS(HOST(1), 20000), MARKS(HOST(2), 20000), MARKS(HOST(3), 20000),                       \
		MARKS(HOST(4), 20000), MARKS(HOST(5), 20000)
#define EPISODES                                                                                   \
	PAUSED(0, 0.01), SET(prios[0].tx_frames.value, 200), SET(prios[0].tx_pause_ns.value, 1e6), \
		SET(prios[0].tx_transitions.value, 50),                                            \
		SET(prios[0].tx_transitions.covered_ns, 30e9)
#define ROOT_OF_HALF                                                                               \
	SET(graph.n_roots, 1), SET(roots[0].priority, PRIO), SET(roots[0].pressure, 2),            \
		SET(graph.pressure[PRIO], 4)
#define RAIL(k) HOST(AT_LEAF + (k))

static const struct measure_row {
	const char *name;
	struct change no, yes, gives_no, gives_yes, also[CHANGES];
} measure_rows[] = {
	{LIMIT(prios[0].tx_pause.lo, 0.0009, 0.001), GIVES(c.n_hosts, 0, 1)},
	{LIMIT(prios[0].tx_pause.hi, 0.0099, 0.01), GIVES(c.n_hosts, 0, 1), {FRAMES(0)}},
	{LIMIT(prios[0].tx_frames.value, 0, 1430530), GIVES(hosts[0].level, 1, 2),
		{FRAMES(0), FRAMES_PAUSE(0, 1)}},
	{LIMIT(prios[0].tx_frames.value, 0, 1430530), GIVES(loads[0].pressure, 1, 1),
		{FRAMES(0), FRAMES_PAUSE(0, 1)}},
	{LIMIT(prios[UP(0, 0)].tx_pause.lo, 0, 0.5), GIVES(loads[0].inputs, 1, 2),
		{PAUSED(0, 0.5)}},
	{LIMIT(prios[UP(0, 0)].tx_pause.lo, 0, 0.5), GIVES(loads[0].hosts, 1, 1), {PAUSED(0, 0.5)}},
	{LIMIT(prios[1].tx_pause.lo, 0.0099, 0.01), GIVES(hosts[0].rails_paused, 1, 2),
		{RAILS(2), PAUSED(0, 0.03)}},
	{LIMIT(prios[1].tx_pause.lo, 0.0099, 0.01), GIVES(c.n_singled, 1, 2), {PAUSED(0, 0.03)}},
	{LIMIT(roots[0].clear, 0, 1), GIVES(c.host_root_share, 0, 0.5), {ROOT_OF_HALF}},
	/* marks */
	{LIMIT(prios[0].out_packets.value, 999, 1000), GIVES(loads[0].marks.marked, 0, 10),
		{MARKS(0, 10)}},
	{LIMIT(prios[0].marked.value, 1000, 2000), GIVES(loads[0].marks.marked, 1000, 1000),
		{SET(prios[0].out_packets.value, 1000)}},
	/* slow ports */
	{LIMIT(ports[0].out.utilization_ratio, 0.3, 0.31), GIVES(c.slow_host, 0, 1),
		{SET(ports[0].out.capacity_bps, 399e9)}},
	{LIMIT(ports[0].out.capacity_bps, 401e9, 399e9), GIVES(c.slow_host, 0, 1),
		{SET(ports[0].out.utilization_ratio, 0.31)}},
	{LIMIT(ports[0].out.read_bps, 4e11, 399e9), GIVES(c.slow_host, 0, 1),
		{SET(ports[0].out.utilization_ratio, 0.31)}},
	/* pauses: two frames each, or counted */
	{LIMIT(prios[0].tx_transitions.known, 0, 1),
		GIVES(loads[0].episodes_per_s, 100.0 / 60, 50.0 / 30), {EPISODES}},
	{LIMIT(prios[0].tx_transitions.known, 0, 1), GIVES(loads[0].episode_ns, 1e4, 2e4),
		{EPISODES}},
	/* receivers whose queues are squeezed */
	{LIMIT(prios[0].marked.value, 49999, 50000), GIVES(c.lead.n_squeezed, 0, 1)},
	{LIMIT(prios[HOST(5)].marked.known, 0, 1), GIVES(c.lead.n_squeezed, 0, 1),
		{MARKS(0, 50000), NO_MARKS(6), NO_MARKS(7)}},
	{LIMIT(prios[0].marked.value, 59999, 60000), GIVES(c.lead.n_squeezed, 0, 1),
		{OTHERS_MARK_2}},
	{LIMIT(ports[0].out.rate_bps, 6.1e10, 6e10), GIVES(c.lead.n_squeezed, 0, 1),
		{MARKS(0, 50000)}},
	{LIMIT(ports[0].out.rate_bps, 2.6e10, 2.67e10), GIVES(c.lead.n_squeezed, 0, 1),
		{MARKS(0, 50000)}},
	{LIMIT(prios[0].rx_pause.lo, 0.001, 0.0009), GIVES(c.lead.n_squeezed, 0, 1),
		{MARKS(0, 50000)}},
	{LIMIT(prios[2].marked.value, 50000, 49999), GIVES(c.lead.n_squeezed, 0, 2), {TWO_MARK}},
	/* who leads; a third host keeps two from leading together */
	{LIMIT(prios[1].tx_pause.lo, 0.0201, 0.02), GIVES(c.lead.n, 0, 1),
		{PAUSED(0, 0.03), PAUSED(2, 0.009)}},
	{LIMIT(prios[0].tx_pause.hi, 0.0259, 0.0261), GIVES(c.lead.n, 0, 1),
		{FRAMES(0), PAUSED(1, 0.02), PAUSED(2, 0.0086)}},
	{LIMIT(prios[RAIL(3)].tx_pause.lo, 0.0105, 0.01), GIVES(c.lead.n, 2, 1),
		{RAILS(4), FRAMES(0), FRAMES_PAUSE(0, 0.0111), PAUSED(1, 0.0111), PAUSED(2, 0.0111),
			PAUSED(3, 0.0111), PAUSED(RAIL(0), 0.01), PAUSED(RAIL(1), 0.01),
			PAUSED(RAIL(2), 0.01)}},
	{LIMIT(prios[RAIL(2)].tx_pause.lo, 0.01, 0.005), GIVES(c.lead.n, 2, 1),
		{RAILS(3), FRAMES(0), FRAMES_PAUSE(0, 0.0111), PAUSED(1, 0.0111), PAUSED(2, 0.0111),
			PAUSED(RAIL(0), 0.01), PAUSED(RAIL(1), 0.01)}},
	{LIMIT(prios[1].tx_pause.lo, 0.0296, 0.0298), GIVES(c.lead.n, 0, 2),
		{PAUSED(0, 0.03), PAUSED(2, 0.0099)}},
	{LIMIT(prios[2].tx_pause.lo, 0.011, 0.0009), GIVES(c.lead.n, 0, 1),
		{PAUSED(0, 0.03), PAUSED(1, 0.011)}},
};

static void measure(struct seen_world *w, const struct change *also, const struct change *limit)
{
	seen_world_init(w);
	seen_change(w, also, CHANGES);
	seen_change(w, limit, 1);
	congestion_measure(&w->in, PRIO, 0.001, &w->c);
	congestion_lead(&w->c, 0.05);
	memcpy(w->loads, w->c.devices, sizeof(*w->loads) * SWITCHES);
	if (w->c.n_hosts)
		memcpy(w->hosts, w->c.hosts, sizeof(*w->hosts) * w->c.n_hosts);
}

static bool is_measured(
	const struct measure_row *row, const struct change *limit, const struct change *gives)
{
	struct seen_world w;
	measure(&w, row->also, limit);
	const double is = seen_value(&w, gives);
	seen_world_done(&w);
	return fabs(is - gives->value) <= 1e-3 * gives->value;
}

static void measures_change(void **state)
{
	for (size_t i = 0; i < rw_countof(measure_rows); i++) {
		const struct measure_row *row = &measure_rows[i];
		if (!is_measured(row, &row->no, &row->gives_no) ||
			!is_measured(row, &row->yes, &row->gives_yes))
			fail_msg("row %zu, %s", i, row->name);
	}
}

/* The first of a host's rails that is paused at least half as long as the strongest one. A host
 * squeezes the queues to others, not the one to itself. */
static void whose_rails_and_queues(void **state)
{
	static const struct {
		double first;
		size_t port;
	} firsts[] = {{0.01, 0}, {0.0099, 1}, {0.03, 0}};
	for (size_t i = 0; i < rw_countof(firsts); i++) {
		struct seen_world w;
		const struct change set[CHANGES] = {RAILS(2), PAUSED(1, 0.02), MARKS(0, 50000)};
		measure(&w, set, &(struct change)PAUSED(0, firsts[i].first));
		assert_ptr_equal(w.c.hosts[0].prio, &w.prios[firsts[i].port]);
		assert_false(lead_squeezes(&w.c, "node-1"));
		assert_true(lead_squeezes(&w.c, "node-3"));
		seen_world_done(&w);
	}
}

/* Ten megabytes left the port while all queue counters of its switch stand. */
static void when_counters_are_stale(void **state)
{
	static const struct {
		uint64_t octets;
		double packets;
		bool stale;
	} counts[] = {{10000001, 0, true}, {10000000, 0, false}, {10000001, 1, false}};
	for (size_t i = 0; i < rw_countof(counts); i++) {
		struct seen_world w;
		seen_world_init(&w);
		for (size_t k = 0; k < LEAF_PORTS; k++)
			w.prios[k].out_packets.value = 0;
		w.prios[1].out_packets.value = counts[i].packets;
		w.ports[0].out.octets = counts[i].octets;
		assert_int_equal(prio_marks(&w.prios[0], 4200).stale, counts[i].stale);
		seen_world_done(&w);
	}
}

/* Of the groups a port is in the widest counts, and only where all its live members are known. */
static void the_group_of_a_port(void **state)
{
	struct seen_world w;
	struct group_load g;
	seen_world_init(&w);
	struct fabric_group groups[] = {w.group[0], w.group[0], w.group[0]};
	groups[0].n_members = groups[2].n_members = 1;
	w.dev[0].groups = groups;
	w.dev[0].n_groups = rw_countof(groups);
	w.ports[UP(0, 0)].out.utilization_ratio = 0.3;
	assert_true(group_measure(&w.c, &w.ports[UP(0, 0)], &g));
	assert_ptr_equal(g.group, &groups[1]);
	assert_true(fabs(g.imbalance - 0.5) < 1e-9 && fabs(g.mean - 0.2) < 1e-9);
	w.ports[UP(0, 1)].out_known = false;
	group_measure(&w.c, &w.ports[UP(0, 0)], &g);
	assert_true(isnan(g.imbalance));
	seen_world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nics_are_accused),
		cmocka_unit_test(a_part_that_may_be_missing),
		cmocka_unit_test(no_cnp_arrives),
		cmocka_unit_test(signs_are_seen),
		cmocka_unit_test(where_pfc_fires),
		cmocka_unit_test(unknown_is_not_no),
		cmocka_unit_test(measures_change),
		cmocka_unit_test(whose_rails_and_queues),
		cmocka_unit_test(when_counters_are_stale),
		cmocka_unit_test(the_group_of_a_port),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
