/*
 * metrics_ports - counters of ports and priorities, as the devices count them. For all ports of a
 * large fabric that is hundreds of thousands of series, so by default only ports that stand out are
 * on the page: those that are paused most, the busiest uplinks, and subjects of open incidents.
 */

#include "agent/exporter/metrics_page.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/metric.h"

/* ---- which ports ------------------------------------------------------------------ */

static bool metrics_is_port(
	const char *of_device, const char *of_port, const char *device, const char *port)
{
	return str_eq(of_device, device) && str_eq(of_port, port);
}

static bool metrics_port_stands_out(
	const struct metrics_page *page, const char *device, const char *port)
{
	const size_t top = page->options.top;
	const struct watch_answer *frame = page->frame;
	bool found = page->options.all_ports;
	for (size_t i = 0; !found && i < frame->n_paused && i < top; i++)
		found = metrics_is_port(
			frame->paused[i].device, frame->paused[i].port, device, port);
	for (size_t i = 0; !found && i < frame->n_uplinks && i < top; i++)
		found = metrics_is_port(
			frame->uplinks[i].device, frame->uplinks[i].port, device, port);
	for (size_t i = 0; !found && i < frame->n_incidents && i < top; i++)
		found = metrics_is_port(
			frame->incidents[i].device, frame->incidents[i].port, device, port);
	return found;
}

/* ---- samples ------------------------------------------------------------------------ */

struct metrics_of {
	unsigned metric;
	const char *key, *word; /* one more label; NULL none */
	double scale; /* of the stored unit to the exported one */
	bool lossless_only;
};

static bool metrics_is_lossless(const struct metrics_page *page, int priority)
{
	return priority >= 0 && (page->client->config->fabric->lossless_mask >> priority & 1);
}

static void metrics_put_newest(
	struct metrics_page *page, const struct metrics_of *of, const struct series *series)
{
	const struct entity *entity = entity_get(page->now->window.entities, series->entity);
	char priority[12];
	if (!series->n || !entity || !*entity->port ||
		!metrics_port_stands_out(page, entity->device, entity->port))
		return;
	if (of->lossless_only && !metrics_is_lossless(page, entity->priority))
		return;
	snprintf(priority, sizeof(priority), "%d", entity->priority);
	const struct metrics_label labels[] = {{"device", entity->device}, {"port", entity->port},
		{"priority", entity->priority < 0 ? NULL : priority},
		{of->key ? of->key : "dir", of->word}, {NULL, NULL}};
	const uint64_t raw = series->value[series->n - 1];
	metrics_put(page, labels, sample_number(of->metric, raw) * of->scale);
}

/* The series of .from of the family, which a row without a scale ends. */
static void metrics_put_series(struct metrics_page *page)
{
	const struct window *window = &page->now->window;
	if (metrics_is_stale(page))
		return;
	for (const struct metrics_of *of = page->family->from; of->scale != 0; of++) {
		size_t n;
		const struct series *series = window_of_metric(window, of->metric, &n);
		for (size_t i = 0; i < n; i++)
			metrics_put_newest(page, of, &series[i]);
	}
}

#define OF(name, ...) static const struct metrics_of of_##name[] = {__VA_ARGS__, {.scale = 0}};
#define RX(metric, scale)                                                                          \
	{                                                                                          \
		M_##metric, "dir", "rx", scale                                                     \
	}
#define TX(metric, scale)                                                                          \
	{                                                                                          \
		M_##metric, "dir", "tx", scale                                                     \
	}
#define AT(metric, where)                                                                          \
	{                                                                                          \
		M_##metric, "at", where, 1, .lossless_only = true                                  \
	}
#define ONE(metric)                                                                                \
	{                                                                                          \
		M_##metric, NULL, NULL, 1                                                          \
	}

OF(octets, RX(PORT_IN_OCTETS, 1), TX(PORT_OUT_OCTETS, 1))
OF(speed, {M_PORT_SPEED_BPS, NULL, NULL, 1.0 / 8})
OF(oper, ONE(PORT_OPER_UP))
OF(discards, RX(PORT_IN_DISCARDS, 1), TX(PORT_OUT_DISCARDS, 1))
OF(errors, RX(PORT_IN_ERRORS, 1), TX(PORT_OUT_ERRORS, 1))
OF(pfc_frames, RX(PFC_RX_FRAMES, 1), TX(PFC_TX_FRAMES, 1))
OF(pfc_pause, RX(PFC_RX_PAUSE_NS, 1e-9), TX(PFC_TX_PAUSE_NS, 1e-9))
OF(pfc_bound, RX(PFC_RX_PAUSE_NS_HI, 1e-9), TX(PFC_TX_PAUSE_NS_HI, 1e-9))
OF(marked, ONE(QUEUE_ECN_MARKED))
OF(drops, AT(PG_DROPS, "ingress"), AT(QUEUE_DROPS, "egress"))
OF(watermark, ONE(QUEUE_WATERMARK))
OF(headroom, ONE(PG_HEADROOM_WATERMARK))

/* Measured over the window, where the speed is known. */
static void metrics_emit_utilization(struct metrics_page *page)
{
	if (metrics_is_stale(page))
		return;
	for (size_t i = 0; i < page->frame->n_uplinks; i++) {
		const struct watch_uplink *row = &page->frame->uplinks[i];
		const struct metrics_label labels[] = {{"device", str_or(row->device, "")},
			{"port", str_or(row->port, "")}, {"peer", str_or(row->peer, "")},
			{"dir", "tx"}, {NULL, NULL}};
		metrics_put(page, labels, row->utilization_ratio);
	}
}

#define PORT "device, port"
#define PRIO "device, port, priority"
#define COUNTED "newest value the device counted"

static const struct metrics_family rows[] = {
	{"rocewatch_port_octets", METRICS_COUNTER, "", PORT ", dir", "Octets of a port", COUNTED,
		metrics_put_series, .from = of_octets},
	{"rocewatch_port_speed_bytes", METRICS_GAUGE, "bytes", PORT,
		"Speed the port runs at, bytes per second", COUNTED, metrics_put_series,
		.from = of_speed},
	{"rocewatch_port_up", METRICS_GAUGE, "", PORT, "1 when the port is operationally up",
		COUNTED, metrics_put_series, .from = of_oper},
	{"rocewatch_port_utilization_ratio", METRICS_GAUGE, "ratio", PORT ", peer, dir",
		"Load of the busiest uplinks over their speed", "`uplinks` of `rocewatch watch`",
		metrics_emit_utilization},
	{"rocewatch_port_discards", METRICS_COUNTER, "", PORT ", dir",
		"Good frames dropped by a port, any class", COUNTED, metrics_put_series,
		.from = of_discards},
	{"rocewatch_port_errors", METRICS_COUNTER, "", PORT ", dir",
		"Damaged frames received, or not sent", COUNTED, metrics_put_series,
		.from = of_errors},
	{"rocewatch_pfc_frames", METRICS_COUNTER, "", PRIO ", dir",
		"PFC frames; rx: the neighbour paused us, tx: we paused the neighbour", COUNTED,
		metrics_put_series, .from = of_pfc_frames},
	{"rocewatch_pfc_pause_seconds", METRICS_COUNTER, "seconds", PRIO ", dir",
		"Pause time that the device measures", COUNTED, metrics_put_series,
		.from = of_pfc_pause},
	{"rocewatch_pfc_pause_bound_seconds", METRICS_COUNTER, "seconds", PRIO ", dir",
		"Upper bound of the pause time, from frames", COUNTED, metrics_put_series,
		.from = of_pfc_bound},
	{"rocewatch_ecn_marked_packets", METRICS_COUNTER, "", PRIO,
		"Packets the egress queue marked CE", COUNTED, metrics_put_series,
		.from = of_marked},
	{"rocewatch_lossless_drops", METRICS_COUNTER, "", PRIO ", at",
		"Frames dropped by a priority group (ingress) or a queue (egress)", COUNTED,
		metrics_put_series, .from = of_drops},
	{"rocewatch_queue_watermark_bytes", METRICS_GAUGE, "bytes", PRIO,
		"Highest depth of the egress queue", COUNTED, metrics_put_series,
		.from = of_watermark},
	{"rocewatch_headroom_watermark_bytes", METRICS_GAUGE, "bytes", PRIO,
		"Highest use of the headroom of a priority group", COUNTED, metrics_put_series,
		.from = of_headroom},
};

const struct metrics_group metrics_port_group = {rows, rw_countof(rows)};
