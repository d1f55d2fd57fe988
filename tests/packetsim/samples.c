/*
 * samples - an hour of polls from a few simulated steps: each step of the hour is one of them,
 * drawn with replacement, so that every counter is a true sum of steps and every peak one that was
 * reached. A poll in the middle of a step has seen its share of it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/packetsim/record.h"

#define SETTINGS_EVERY 300.0 /* seconds between two readings of what is configured */

struct clock_of_steps { /* the hour as a sequence of steps */
	const struct run *run;
	const struct phase *phase;
	uint64_t random;
	int64_t start, end; /* of the step under way */
	size_t step;
	uint64_t *done[2]; /* how often each step of each phase was finished */
	size_t n[2];
};

struct polled { /* what one device has been told of */
	uint64_t *done[2];
	double asked_s, settings_s;
	struct step_port *sums;
};

static double sample_draw(uint64_t *random)
{
	*random += UINT64_C(0x9e3779b97f4a7c15);
	return (double)(mixed(*random) >> 11) * 0x1p-53;
}

static unsigned phase_number(const struct clock_of_steps *clock)
{
	return clock->phase == clock->run->in;
}

static void steps_next(struct clock_of_steps *clock)
{
	const struct options *options = clock->run->options;
	clock->start = clock->end;
	const bool onset = (double)clock->start >= options->onset_s * (double)PS_S;
	clock->phase = clock->run->before && !onset ? clock->run->before : clock->run->in;
	clock->step = (size_t)(sample_draw(&clock->random) * (double)clock->phase->n_steps);
	clock->end = clock->start + clock->phase->duration[clock->step] +
		(int64_t)(options->gap_us * (double)PS_US);
}

static void steps_until(struct clock_of_steps *clock, int64_t at)
{
	while (clock->end <= at) {
		clock->done[phase_number(clock)][clock->step]++;
		steps_next(clock);
	}
}

static void peak_add(struct step_port *peaks, const struct step_port *step)
{
	for (unsigned k = 0; k < PEAKS; k++)
		if (step->peak[k] > peaks->peak[k])
			peaks->peak[k] = step->peak[k];
}

/* Adds what the steps since the last poll did at one port; peaks are of these steps alone. */
static void port_catch_up(const struct clock_of_steps *clock, const struct polled *polled,
	size_t port, struct step_port *sum)
{
	const struct phase *phases[2] = {clock->run->before, clock->run->in};
	memset(sum->peak, 0, sizeof(sum->peak));
	for (unsigned which = 0; which < 2; which++) {
		const struct phase *phase = phases[which];
		for (size_t step = 0; phase && step < phase->n_steps; step++) {
			const uint64_t times = clock->done[which][step] - polled->done[which][step];
			const struct step_port *one = &phase->ports[step * phase->n_ports + port];
			if (!times)
				continue;
			for (unsigned k = 0; k < COUNTS; k++)
				sum->count[k] += times * one->count[k];
			peak_add(sum, one);
		}
	}
}

static uint64_t pool_peak(
	const struct clock_of_steps *clock, const struct polled *polled, size_t node)
{
	const struct phase *phases[2] = {clock->run->before, clock->run->in};
	uint64_t peak = 0;
	for (unsigned which = 0; which < 2; which++)
		for (size_t step = 0; phases[which] && step < phases[which]->n_steps; step++) {
			const uint64_t here =
				phases[which]->shared_peak[step * phases[which]->n_nodes + node];
			const bool new = clock->done[which][step] > polled->done[which][step];
			if (new &&here > peak)
				peak = here;
		}
	return peak;
}

struct row_at { /* where the lines of a port go */
	FILE *out;
	double at_s;
	const char *device, *port;
};

static void row_number(const struct row_at *row, int priority, const char *metric, double value)
{
	fprintf(row->out, "%.3f\t%s\t%s\t", row->at_s, row->device, row->port);
	if (priority >= 0)
		fprintf(row->out, "%d", priority);
	else
		fputc('-', row->out);
	fprintf(row->out, "\t%s\t%.15g\n", metric, value);
}

static void row_peak(
	const struct row_at *row, int priority, const char *metric, uint64_t value, double window_s)
{
	fprintf(row->out, "%.3f\t%s\t%s\t", row->at_s, row->device, row->port);
	if (priority >= 0)
		fprintf(row->out, "%d", priority);
	else
		fputc('-', row->out);
	fprintf(row->out, "\t%s\t%" PRIu64 "\t-\t%.3f\n", metric, value, window_s);
}

static void row_text(const struct row_at *row, int priority, const char *metric, const char *value)
{
	fprintf(row->out, "%.3f\t%s\t%s\t", row->at_s, row->device, row->port);
	if (priority >= 0)
		fprintf(row->out, "%d", priority);
	else
		fputc('-', row->out);
	fprintf(row->out, "\t%s\t%s\n", metric, value);
}

static void port_settings(const struct row_at *row, const struct port *port)
{
	for (int priority = 0; priority < 8; priority++)
		row_number(row, priority, "cfg.pfc_enabled", priority == PRIORITY);
	row_number(row, PRIORITY, "cfg.pg_alpha_exp", round(log2(port->alpha)));
	row_number(row, PRIORITY, "cfg.pg_headroom_bytes", (double)port->headroom_size);
	row_number(row, PRIORITY, "cfg.pg_xon_offset_bytes", (double)port->xon_offset);
	row_number(row, PRIORITY, "cfg.ecn_enabled", port->marks);
	row_number(row, PRIORITY, "cfg.ecn_kmin_bytes", (double)port->kmin);
	row_number(row, PRIORITY, "cfg.ecn_kmax_bytes", (double)port->kmax);
	row_number(row, PRIORITY, "cfg.ecn_pmax_ratio", port->pmax);
	row_number(row, PRIORITY, "cfg.ecn_weight", 0);
	row_number(row, PRIORITY, "cfg.prio_to_pg", PRIORITY);
	row_number(row, PRIORITY, "cfg.prio_to_queue", PRIORITY);
	row_text(row, -1, "cfg.trust", "dscp");
	row_text(row, -1, "cfg.dscp_to_prio", "26:3,48:6");
	row_number(row, -1, "cfg.cable_m",
		round((double)port->propagation / (double)PS_US * METERS_PER_US));
	row_number(row, -1, "cfg.cnp_queue", CNP_PRIORITY);
	row_number(row, -1, "port.mtu_bytes", 9216);
}

static void port_counters(const struct row_at *row, const struct step_port *sum)
{
	static const struct {
		const char *metric;
		int priority;
		enum count count;
	} counters[] = {
		{"port.in_octets", -1, COUNT_IN_OCTETS},
		{"port.out_octets", -1, COUNT_OUT_OCTETS},
		{"port.in_packets", -1, COUNT_IN_PACKETS},
		{"port.out_packets", -1, COUNT_OUT_PACKETS},
		{"port.in_errors", -1, COUNT_ERRORS},
		{"port.fcs_errors", -1, COUNT_ERRORS},
		{"port.fec_uncorrectable", -1, COUNT_ERRORS},
		{"port.in_discards", -1, COUNT_DROPS},
		{"pfc.rx_frames", PRIORITY, COUNT_PFC_RX},
		{"pfc.tx_frames", PRIORITY, COUNT_PFC_TX},
		{"pfc.rx_pause_ns", PRIORITY, COUNT_PAUSED_RX_NS},
		{"pfc.tx_pause_ns", PRIORITY, COUNT_PAUSED_TX_NS},
		{"pfc.rx_transitions", PRIORITY, COUNT_EPISODES_RX},
		{"pfc.tx_transitions", PRIORITY, COUNT_EPISODES_TX},
		{"pg.drops", PRIORITY, COUNT_DROPS},
		{"queue.out_octets", PRIORITY, COUNT_DATA_OCTETS},
		{"queue.out_packets", PRIORITY, COUNT_DATA_PACKETS},
		{"queue.ecn_marked", PRIORITY, COUNT_MARKED},
		{"queue.out_octets", CNP_PRIORITY, COUNT_CONTROL_OCTETS},
		{"queue.out_packets", CNP_PRIORITY, COUNT_CONTROL_PACKETS},
	};
	static const struct {
		const char *metric;
		int priority;
	} zeros[] = {{"port.out_errors", -1}, {"port.out_discards", -1}, {"port.symbol_errors", -1},
		{"port.in_pause_frames", -1}, {"port.out_pause_frames", -1}, {"port.flaps", -1},
		{"queue.drops", PRIORITY}, {"queue.wred_drops", PRIORITY}};
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		row_number(row, counters[i].priority, counters[i].metric,
			(double)sum->count[counters[i].count]);
	for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
		row_number(row, zeros[i].priority, zeros[i].metric, 0);
}

/* What the step under way has done so far: an even share of it. */
static struct step_port sum_now(
	const struct clock_of_steps *clock, size_t port, int64_t at, const struct step_port *sum)
{
	struct step_port now = *sum;
	const int64_t duration = clock->phase->duration[clock->step];
	const double share = fmin(1, (double)(at - clock->start) / (double)duration);
	const struct step_port *one =
		&clock->phase->ports[clock->step * clock->phase->n_ports + port];
	for (unsigned k = 0; k < COUNTS; k++)
		now.count[k] += (uint64_t)(share * (double)one->count[k]);
	return now;
}

static void device_settings(const struct row_at *row, const struct node *node)
{
	char seed[32];
	snprintf(seed, sizeof(seed), "%" PRIu64, node->hash_seed >> 32);
	row_text(row, -1, "cfg.hash_fields",
		node->blind_hash ? "src_ip,dst_ip" : "src_ip,dst_ip,src_port");
	row_text(row, -1, "cfg.hash_seed", seed);
	row_text(row, -1, "cfg.lb_mode", "static");
	struct row_at pool = *row;
	pool.port = "pool:ingress_lossless";
	row_number(&pool, -1, "cfg.pool_slices", 1);
	row_number(&pool, -1, "cfg.buffer_pool_bytes", (double)node->shared_size);
	row_number(&pool, -1, "cfg.shp_ratio", 0);
}

static void device_poll(const struct clock_of_steps *clock, struct polled *polled, unsigned number,
	int64_t at, FILE *out)
{
	const struct net *net = clock->phase->net;
	const struct node *node = &net->nodes[number];
	const double at_s = (double)at / (double)PS_S;
	const bool settings = at_s - polled->settings_s >= SETTINGS_EVERY;
	const double window_s =
		polled->asked_s < 0 ? clock->run->options->interval_s : at_s - polled->asked_s;
	char device[32], port[32];
	name_node(net, number, device, sizeof(device));
	struct row_at row = {out, at_s, device, "-"};
	if (settings) {
		device_settings(&row, node);
		polled->settings_s = at_s;
	}
	row.port = "pool:ingress_lossless";
	row_peak(&row, -1, "pool.watermark_bytes", pool_peak(clock, polled, number), window_s);
	row.port = port;
	for (uint32_t i = 0; i < node->n_ports; i++) {
		const size_t index = node->first_port - net->n_hosts + i;
		const struct port *here = &net->ports[node->first_port + i];
		snprintf(port, sizeof(port), "Ethernet%u", i + 1);
		port_catch_up(clock, polled, index, &polled->sums[index]);
		const struct step_port now = sum_now(clock, index, at, &polled->sums[index]);
		row_number(&row, -1, "port.oper_up", here->up);
		row_number(&row, -1, "port.speed_bps", (double)here->rate);
		if (settings)
			port_settings(&row, here);
		port_counters(&row, &now);
		const uint64_t *peak = polled->sums[index].peak;
		row_peak(&row, PRIORITY, "pg.shared_watermark_bytes", peak[PEAK_SHARED], window_s);
		row_peak(&row, PRIORITY, "pg.headroom_watermark_bytes", peak[PEAK_HEADROOM],
			window_s);
		row_peak(&row, PRIORITY, "queue.watermark_bytes", peak[PEAK_QUEUE], window_s);
	}
	polled->asked_s = at_s;
	for (unsigned which = 0; which < 2; which++)
		memcpy(polled->done[which], clock->done[which], clock->n[which] * sizeof(uint64_t));
}

static void *sample_room(size_t n, size_t size)
{
	void *got = calloc(n ? n : 1, size);
	if (!got)
		abort();
	return got;
}

/* Counters of a switch that has been up for a while. */
static void sums_begin(const struct phase *phase, struct step_port *sums, uint64_t *random)
{
	const uint64_t past = 1000 + (uint64_t)(sample_draw(random) * 1000000);
	for (size_t i = 0; i < phase->n_ports; i++)
		for (unsigned k = 0; k < COUNTS; k++)
			sums[i].count[k] = past * phase->ports[i].count[k];
}

void samples_print(const struct run *run, FILE *out)
{
	const struct options *options = run->options;
	struct clock_of_steps clock = {
		.run = run, .random = mixed((uint64_t)options->seed ^ 0x7157)};
	const struct phase *first = run->before ? run->before : run->in;
	const size_t n_nodes = first->n_nodes;
	struct polled *polled = sample_room(n_nodes, sizeof(*polled));
	struct step_port *sums = sample_room(first->n_ports, sizeof(*sums));
	uint64_t random = mixed((uint64_t)options->seed ^ 0x90112);
	clock.n[0] = run->before ? run->before->n_steps : 0;
	clock.n[1] = run->in->n_steps;
	sums_begin(first, sums, &random);
	for (unsigned which = 0; which < 2; which++)
		clock.done[which] = sample_room(clock.n[which], sizeof(uint64_t));
	for (size_t i = 0; i < n_nodes; i++) {
		polled[i] = (struct polled){.asked_s = -1, .settings_s = -1e9, .sums = sums};
		for (unsigned which = 0; which < 2; which++)
			polled[i].done[which] = sample_room(clock.n[which], sizeof(uint64_t));
	}
	steps_next(&clock);
	for (double turn = 0; turn < options->length_s; turn += options->interval_s)
		for (unsigned i = 0; i < n_nodes; i++) {
			const double late =
				0.02 + 0.6 * (i + 0.5 * sample_draw(&random)) / (double)n_nodes;
			const int64_t at = (int64_t)((turn + late) * (double)PS_S);
			steps_until(&clock, at);
			device_poll(&clock, &polled[i], i, at, out);
		}
	for (size_t i = 0; i < n_nodes; i++)
		for (unsigned which = 0; which < 2; which++)
			free(polled[i].done[which]);
	for (unsigned which = 0; which < 2; which++)
		free(clock.done[which]);
	free(polled);
	free(sums);
}
