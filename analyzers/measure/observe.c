/* observe - see the header. One pass over the window's series, which come sorted by metric, then
 * entity: tables say where each goes. */
#include "analyzers/measure/observe.h"
#include "analyzers/measure/input.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "db/model/entity.h"

/* A state is valid until its next value, and may be told once only. */
#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)
#define QUANTA_MAX 65535.0
#define QUANTUM_BITS 512.0
#define FRAME_MIN_BITS (84 * 8.0) /* 64 bytes, preamble and gap */

/* What bounds the growth of a counter: more is an artefact. */
enum gate { GATE_NONE, GATE_FRAMES, GATE_TIME, GATE_OCTETS };
enum place { PLACE_COUNTER, PLACE_PEAK, PLACE_MEAN, PLACE_STATE, PLACE_EXP2, PLACE_OTHER };

struct row {
	uint16_t metric;
	uint8_t place, gate;
	uint16_t offset;
	/* movement (or a state that is not 0) makes a priority outside the lossless class worth a
	 * lane */
	bool tells;
};
#define L(m, f, p, g, t)                                                                           \
	{                                                                                          \
		M_##m, p, g, offsetof(struct port_prio, f), t                                      \
	}
static const struct row lane_rows[] = {
	L(PFC_RX_FRAMES, rx_frames, PLACE_COUNTER, GATE_FRAMES, true),
	L(PFC_TX_FRAMES, tx_frames, PLACE_COUNTER, GATE_FRAMES, true),
	L(PFC_RX_PAUSE_NS, rx_pause_ns, PLACE_COUNTER, GATE_TIME, true),
	L(PFC_TX_PAUSE_NS, tx_pause_ns, PLACE_COUNTER, GATE_TIME, true),
	L(PFC_RX_PAUSE_NS_HI, rx_pause_ns_hi, PLACE_COUNTER, GATE_TIME, true),
	L(PFC_TX_PAUSE_NS_HI, tx_pause_ns_hi, PLACE_COUNTER, GATE_TIME, true),
	L(PFC_RX_TRANSITIONS, rx_transitions, PLACE_COUNTER, GATE_NONE, true),
	L(PFC_TX_TRANSITIONS, tx_transitions, PLACE_COUNTER, GATE_NONE, true),
	L(PFCWD_STORMS, storms, PLACE_COUNTER, GATE_NONE, true),
	L(PFCWD_RESTORES, restores, PLACE_COUNTER, GATE_NONE, true),
	L(PFCWD_DROPS, storm_drops, PLACE_COUNTER, GATE_FRAMES, true),
	L(PG_DROPS, pg_drops, PLACE_COUNTER, GATE_FRAMES, true),
	L(PG_SHARED_WATERMARK, pg_peak, PLACE_PEAK, 0, false),
	L(PG_HEADROOM_WATERMARK, headroom_peak, PLACE_PEAK, 0, false),
	L(QUEUE_OUT_OCTETS, out_octets, PLACE_COUNTER, GATE_OCTETS, false),
	L(QUEUE_OUT_PACKETS, out_packets, PLACE_COUNTER, GATE_FRAMES, false),
	L(QUEUE_DROPS, drops, PLACE_COUNTER, GATE_FRAMES, true),
	L(QUEUE_WRED_DROPS, wred_drops, PLACE_COUNTER, GATE_FRAMES, false),
	L(QUEUE_ECN_MARKED, marked, PLACE_COUNTER, GATE_FRAMES, true),
	L(QUEUE_DEPTH, depth_mean, PLACE_MEAN, 0, false),
	L(QUEUE_WATERMARK, queue_peak, PLACE_PEAK, 0, false),
	L(CFG_PFC_ENABLED, pfc_enabled, PLACE_STATE, 0, true),
	L(CFG_PG_ALPHA_EXP, alpha, PLACE_EXP2, 0, false),
	L(CFG_PG_HEADROOM, headroom, PLACE_STATE, 0, false),
	L(CFG_PG_XOFF_LEVEL, xoff_level, PLACE_STATE, 0, false),
	L(CFG_PG_XON_LEVEL, xon_level, PLACE_STATE, 0, false),
	L(CFG_PG_XON_OFFSET, xon_offset, PLACE_STATE, 0, false),
	L(CFG_ECN_ENABLED, ecn_enabled, PLACE_STATE, 0, false),
	L(CFG_ECN_KMIN, kmin, PLACE_STATE, 0, false),
	L(CFG_ECN_KMAX, kmax, PLACE_STATE, 0, false),
	L(CFG_ECN_PMAX, pmax, PLACE_STATE, 0, false),
};
#define P(m, f, p, g)                                                                              \
	{                                                                                          \
		M_##m, p, g, offsetof(struct port_seen, f), false                                  \
	}
static const struct row port_rows[] = {
	{M_PORT_IN_OCTETS, PLACE_OTHER, 0, 0, false},
	{M_PORT_OUT_OCTETS, PLACE_OTHER, 0, 0, false},
	{M_PORT_SPEED_BPS, PLACE_OTHER, 0, 0, false},
	P(PORT_IN_PACKETS, in_packets, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_OUT_PACKETS, out_packets, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_IN_ERRORS, in_errors, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_OUT_ERRORS, out_errors, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_IN_DISCARDS, in_discards, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_OUT_DISCARDS, out_discards, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_FCS_ERRORS, fcs_errors, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_SYMBOL_ERRORS, symbol_errors, PLACE_COUNTER, GATE_NONE),
	P(PORT_FEC_CORRECTED, fec_corrected, PLACE_COUNTER, GATE_NONE),
	P(PORT_FEC_UNCORRECTABLE, fec_uncorrectable, PLACE_COUNTER, GATE_NONE),
	P(PORT_IN_PAUSE_FRAMES, in_pause, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_OUT_PAUSE_FRAMES, out_pause, PLACE_COUNTER, GATE_FRAMES),
	P(PORT_FLAPS, flaps, PLACE_COUNTER, GATE_NONE),
	P(PORT_OPER_UP, oper_up, PLACE_STATE, 0),
	P(PORT_MTU_BYTES, mtu_bytes, PLACE_STATE, 0),
	P(PORT_PRE_FEC_BER, pre_fec_ber, PLACE_STATE, 0),
	P(OPTIC_RX_POWER, rx_power_dbm, PLACE_STATE, 0),
	P(OPTIC_TX_POWER, tx_power_dbm, PLACE_STATE, 0),
	P(OPTIC_TEMPERATURE, temperature_c, PLACE_STATE, 0),
	P(CFG_CABLE, cable_m, PLACE_STATE, 0),
};
#define D(m, f, p)                                                                                 \
	{                                                                                          \
		M_##m, p, 0, offsetof(struct device_seen, f), false                                \
	}
/* of the switch or of a pool in it: the largest value counts */
static const struct row device_rows[] = {
	D(POOL_WATERMARK, pool_peak, PLACE_PEAK),
	D(CFG_POOL, pool_bytes, PLACE_STATE),
	D(CFG_CELL, cell_bytes, PLACE_STATE),
	D(CFG_POOL_SLICES, pool_slices, PLACE_STATE),
	D(CFG_SHP_RATIO, shp_ratio, PLACE_STATE),
};
#undef L
#undef P
#undef D

/* The union of the tables' first columns; a unit test holds them equal. */
const uint16_t observe_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_SPEED_BPS,
	M_PORT_IN_PACKETS, M_PORT_OUT_PACKETS, M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS,
	M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS, M_PORT_FCS_ERRORS, M_PORT_SYMBOL_ERRORS,
	M_PORT_FEC_CORRECTED, M_PORT_FEC_UNCORRECTABLE, M_PORT_IN_PAUSE_FRAMES,
	M_PORT_OUT_PAUSE_FRAMES, M_PORT_FLAPS, M_PORT_OPER_UP, M_PORT_MTU_BYTES, M_PORT_PRE_FEC_BER,
	M_OPTIC_RX_POWER, M_OPTIC_TX_POWER, M_OPTIC_TEMPERATURE, M_PFC_RX_FRAMES, M_PFC_TX_FRAMES,
	M_PFC_RX_PAUSE_NS, M_PFC_TX_PAUSE_NS, M_PFC_RX_PAUSE_NS_HI, M_PFC_TX_PAUSE_NS_HI,
	M_PFC_RX_TRANSITIONS, M_PFC_TX_TRANSITIONS, M_PFCWD_STORMS, M_PFCWD_RESTORES, M_PFCWD_DROPS,
	M_PG_DROPS, M_PG_SHARED_WATERMARK, M_PG_HEADROOM_WATERMARK, M_QUEUE_OUT_OCTETS,
	M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS, M_QUEUE_WRED_DROPS, M_QUEUE_ECN_MARKED, M_QUEUE_DEPTH,
	M_QUEUE_WATERMARK, M_CFG_PFC_ENABLED, M_CFG_PG_ALPHA_EXP, M_CFG_PG_HEADROOM,
	M_CFG_PG_XOFF_LEVEL, M_CFG_PG_XON_LEVEL, M_CFG_PG_XON_OFFSET, M_CFG_ECN_ENABLED,
	M_CFG_ECN_KMIN, M_CFG_ECN_KMAX, M_CFG_ECN_PMAX, M_POOL_WATERMARK, M_CFG_POOL, M_CFG_CELL,
	M_CFG_POOL_SLICES, M_CFG_SHP_RATIO, M_CFG_CABLE};
const size_t observe_n_metrics = rw_countof(observe_metrics);

double pause_frame_max_ns(uint64_t speed_bps)
{
	if (speed_bps)
		return QUANTA_MAX * QUANTUM_BITS * 1e9 / (double)speed_bps;
	return NAN;
}

/* ---- values -------------------------------------------------------------- */

static double gate_rate(enum gate gate, uint64_t speed_bps)
{
	switch (gate) {
	case GATE_TIME: return PORT_RATE_PLAUSIBLE * 1e9;
	case GATE_FRAMES: return PORT_RATE_PLAUSIBLE * (double)speed_bps / FRAME_MIN_BITS;
	case GATE_OCTETS: return PORT_RATE_PLAUSIBLE * (double)speed_bps / 8;
	case GATE_NONE: break;
	}
	return 0;
}

static struct amount amount_of(
	const struct series *series, const struct window *window, double max_rate)
{
	struct increase inc, all;
	int r = series_increase(series, window->from_ns, window->to_ns, max_rate, &inc);
	if (inc.suspects && max_rate > 0 &&
		series_increase(series, window->from_ns, window->to_ns, 0, &all) == 0) {
		/* a cached counter jumps by more than its window: the run as a whole is believed,
		 * and marked */
		all.quality = QUALITY_ESTIMATED;
		inc = all;
		r = 0;
	}
	struct amount a = {.known = r == 0,
		.restarted = inc.resets > 0,
		.quality = inc.quality,
		.alive = series->n && (series->value[series->n - 1] || series->value[0])};
	if (a.known) {
		a.value = (double)inc.value;
		a.covered_ns = inc.covered_ns;
	}
	return a;
}

/* A maximum the device kept over its own window: it counts once, in the window it was read in. */
static double peak_of(const struct series *series, const struct window *window)
{
	double best = NAN;
	for (uint32_t i = series_after(series, window->from_ns);
		i < series->n && series->t_ns[i] <= window->to_ns; i++)
		if (!(series->flags[i] & (SF_LATE | SF_SUSPECT)))
			best = fmax(best, sample_number(series->metric, series->value[i]));
	return best;
}

static double observe_mean_of(const struct series *series, const struct window *window)
{
	double sum = 0;
	unsigned n = 0;
	for (uint32_t i = series_after(series, window->from_ns);
		i < series->n && series->t_ns[i] <= window->to_ns; i++)
		if (!(series->flags[i] & (SF_LATE | SF_SUSPECT))) {
			sum += sample_number(series->metric, series->value[i]);
			n++;
		}
	if (n)
		return sum / n;
	return NAN;
}

static double state_value(const struct series *series, const struct window *window)
{
	uint64_t v;
	if (series_state(series, window->to_ns, STATE_AGE_NS, &v) == 0)
		return sample_number(series->metric, v);
	return NAN;
}

static void observe_put(char *base, const struct row *row, const struct series *series,
	const struct window *window, uint64_t speed_bps)
{
	double *number = (double *)(base + row->offset);
	switch ((enum place)row->place) {
	case PLACE_COUNTER:
		*(struct amount *)(base + row->offset) =
			amount_of(series, window, gate_rate((enum gate)row->gate, speed_bps));
		break;
	case PLACE_PEAK: *number = fmax(*number, peak_of(series, window)); break;
	case PLACE_MEAN: *number = observe_mean_of(series, window); break;
	case PLACE_STATE:
		*number = fmax(*number,
			state_value(series, window)); /* for pools the largest; else there is one */
		break;
	case PLACE_EXP2: *number = exp2(state_value(series, window)); break;
	case PLACE_OTHER: break;
	}
}

/* ---- finding the place --------------------------------------------------- */

struct maker {
	const struct analyzer_in *in;
	const struct window *w;
	struct arena *a;
	struct observed *o;
	const struct row *rows[METRIC_COUNT];
	uint32_t *port_of; /* [entity id]: index of its port + 1; 0 = none */
	uint32_t *device_of; /* [entity id]: index of its device + 1 */
	int8_t *priority_of; /* [entity id]: -1 when it is not a priority of a port */
	uint32_t n_entities;
	size_t cap_ports;
	struct rate_series { /* [port]: what its rates are made of */
		const struct series *in, *out, *speed, *up;
	} * rates;
};

static void blank_lane(struct port_prio *lane, const struct port_seen *port, int priority,
	const struct fabric *fabric)
{
	const double none = NAN;
	*lane = (struct port_prio){.port = port,
		.priority = priority,
		.lossless = fabric->lossless_mask >> priority & 1};
	for (size_t i = 0; i < rw_countof(lane_rows); i++)
		if (lane_rows[i].place != PLACE_COUNTER)
			memcpy((char *)lane + lane_rows[i].offset, &none, sizeof(none));
}

static void blank_port(
	struct port_seen *seen, const struct fabric_port *port, const struct device_seen *device)
{
	const double none = NAN;
	*seen = (struct port_seen){.port = port, .device = device};
	for (size_t i = 0; i < rw_countof(port_rows); i++)
		if (port_rows[i].place == PLACE_STATE)
			memcpy((char *)seen + port_rows[i].offset, &none, sizeof(none));
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		seen->class_octets[c] = NAN;
}

static void place_fabric(struct maker *maker)
{
	const struct fabric *f = maker->in->fabric;
	struct observed *o = maker->o;
	const struct entities *e = maker->w->entities;
	size_t n = 0;
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		struct device_seen *seen = &o->devices[i];
		*seen = (struct device_seen){.device = d,
			.ports = &o->ports[n],
			.n_ports = d->n_ports,
			.newest_ns = INT64_MIN,
			.pool_bytes = NAN,
			.pool_peak = NAN,
			.cell_bytes = NAN,
			.pool_slices = NAN,
			.shp_ratio = NAN};
		const uint32_t id = entities_find(e, d->name, NULL, PRIO_NONE);
		if (id != ENTITY_NONE)
			maker->device_of[id] = (uint32_t)i + 1;
		for (size_t k = 0; k < d->n_ports; k++, n++) {
			blank_port(&o->ports[n], d->ports[k], seen);
			o->ports[n].in_fabric = true;
			o->ports[n].entity =
				entities_find(e, d->name, d->ports[k]->name, PRIO_NONE);
			if (o->ports[n].entity == ENTITY_NONE)
				continue;
			maker->port_of[o->ports[n].entity] = (uint32_t)n + 1;
			maker->device_of[o->ports[n].entity] = (uint32_t)i + 1;
		}
	}
	o->n_ports = o->n_fabric_ports = n;
}

/* Is the port entity that of a buffer pool, or of a queue no priority is known for? Neither is a
 * port. */
static bool observe_is_port(const struct entity *entity)
{
	return entity->port[0] && strncmp(entity->port, "pool:", 5) != 0 &&
		!strchr(entity->port, '#');
}

/* Ports the fabric does not name: counted, since "port" was made for MAX of them beforehand. */
static void place_stranger(struct maker *maker, const struct entity *entity, uint32_t device)
{
	struct observed *o = maker->o;
	if (o->n_ports >= maker->cap_ports)
		return;
	struct fabric_port *port = arena_new_of(maker->a, struct fabric_port);
	struct port_seen *seen = &o->ports[o->n_ports];
	port->name = entity->port;
	port->device = maker->in->fabric->devices[device];
	port->alias = "";
	port->host_nic = "";
	port->index = UINT32_MAX;
	blank_port(seen, port, &o->devices[device]);
	seen->entity = entity->id;
	maker->port_of[entity->id] = (uint32_t)++o->n_ports;
}

/* Which device and port each entity of the window belongs to. Parents come before children: ids are
 * given in that order. */
static void place_entities(struct maker *maker)
{
	for (uint32_t id = 1; id <= maker->n_entities; id++) {
		if (maker->device_of[id])
			continue;
		const struct entity *e = entity_get(maker->w->entities, id);
		if (!e || e->parent == ENTITY_NONE || e->parent >= id ||
			!maker->device_of[e->parent])
			continue;
		maker->device_of[id] = maker->device_of[e->parent];
		if (e->priority >= 0 && e->priority < OBSERVED_PRIORITIES)
			maker->priority_of[id] = (int8_t)e->priority;
		else
			maker->priority_of[id] = -1;
		if (e->priority == PRIO_NONE && observe_is_port(e))
			place_stranger(maker, e, maker->device_of[id] - 1);
		else if ((maker->port_of[id] = maker->port_of[e->parent]) &&
			maker->priority_of[id] >= 0)
			maker->o->ports[maker->port_of[id] - 1]
				.prio_entity[maker->priority_of[id]] = id;
	}
}

static struct port_seen *observe_port_at(const struct maker *maker, uint32_t entity)
{
	if (maker->port_of[entity])
		return &maker->o->ports[maker->port_of[entity] - 1];
	return NULL;
}

static struct port_prio *lane_make(struct maker *maker, struct port_seen *port, int priority)
{
	if (!port->prios[priority]) {
		port->prios[priority] = arena_new_of(maker->a, struct port_prio);
		blank_lane(port->prios[priority], port, priority, maker->in->fabric);
		maker->o->n_prios++;
	}
	return port->prios[priority];
}

static bool observe_tells(
	const struct series *series, const struct window *window, const struct row *row)
{
	if (!series->n)
		return false;
	if (row->place == PLACE_COUNTER)
		return series->value[0] != series->value[series->n - 1];
	return state_value(series, window) > 0;
}

/* First pass: which priorities of which ports are worth a lane. */
static void make_lanes(struct maker *maker)
{
	for (size_t i = 0; i < maker->w->n_series; i++) {
		const struct series *s = &maker->w->series[i];
		const struct row *r = maker->rows[s->metric];
		if (r && r->tells)
			window_fetch(maker->w, i);
		int priority = -1;
		if (r && s->entity <= maker->n_entities)
			priority = maker->priority_of[s->entity];
		if (priority < 0 ||
			!(maker->in->fabric->lossless_mask >> priority & 1 ||
				(r->tells && observe_tells(s, maker->w, r))))
			continue;
		struct port_seen *p = observe_port_at(maker, s->entity);
		if (p && !p->prios[priority])
			lane_make(maker, p, priority);
	}
}

/* Which device a sample of the window came from, and when. */
static void observe_hear(
	struct device_seen *device, const struct series *series, const struct window *window)
{
	uint32_t end;
	if (series->t_ns[series->n - 1] <= window->to_ns)
		end = series->n;
	else
		end = series_after(series, window->to_ns);
	if (end == 0 || series->t_ns[end - 1] <= window->from_ns)
		return;
	device->n_series++;
	if (series->t_ns[end - 1] > device->newest_ns)
		device->newest_ns = series->t_ns[end - 1];
}

static void fill_lane(struct maker *maker, struct port_seen *port, int priority,
	const struct row *row, const struct series *series)
{
	uint64_t speed_bps;
	if (port->out.read_bps)
		speed_bps = port->out.read_bps;
	else
		speed_bps = port->port->speed_bps;
	struct port_prio *l = port->prios[priority];
	if (l)
		observe_put((char *)l, row, series, maker->w, speed_bps);
	if (series->metric == M_QUEUE_OUT_OCTETS) {
		struct amount octets;
		if (l)
			octets = l->out_octets;
		else
			octets = amount_of(series, maker->w, gate_rate(GATE_OCTETS, speed_bps));
		if (octets.known)
			port->class_octets[priority] = octets.value;
		else
			port->class_octets[priority] = NAN;
	}
}

static void observe_fill(struct maker *maker)
{
	for (size_t i = 0; i < maker->w->n_series; i++) {
		const struct series *s = &maker->w->series[i];
		window_fetch(maker->w, i);
		if (s->entity > maker->n_entities || !maker->device_of[s->entity] || !s->n)
			continue;
		struct device_seen *d = &maker->o->devices[maker->device_of[s->entity] - 1];
		observe_hear(d, s, maker->w);
		const struct row *r = maker->rows[s->metric];
		if (!r)
			continue;
		struct port_seen *p = observe_port_at(maker, s->entity);
		const int priority = maker->priority_of[s->entity];
		if (p && priority >= 0)
			fill_lane(maker, p, priority, r, s);
		else if (p)
			observe_put((char *)p, r, s, maker->w,
				p->out.read_bps ? p->out.read_bps : p->port->speed_bps);
		else if (metric_info(s->metric)->scope == SCOPE_DEVICE)
			observe_put((char *)d, r, s, maker->w, 0);
	}
}

static void observe_rates(struct maker *maker)
{
	static const struct {
		uint16_t metric, offset;
	} columns[] = {
		{M_PORT_IN_OCTETS, offsetof(struct rate_series, in)},
		{M_PORT_OUT_OCTETS, offsetof(struct rate_series, out)},
		{M_PORT_SPEED_BPS, offsetof(struct rate_series, speed)},
		{M_PORT_OPER_UP, offsetof(struct rate_series, up)},
	};
	for (size_t k = 0; k < rw_countof(columns); k++)
		for (size_t i = window_metric(maker->w, columns[k].metric);
			i < maker->w->n_series && maker->w->series[i].metric == columns[k].metric;
			i++) {
			const struct series *s = &maker->w->series[i];
			if (s->entity <= maker->n_entities && maker->port_of[s->entity])
				memcpy((char *)&maker->rates[maker->port_of[s->entity] - 1] +
						columns[k].offset,
					&s, sizeof(s));
		}
	for (size_t i = 0; i < maker->o->n_ports; i++) {
		struct port_seen *p = &maker->o->ports[i];
		const struct rate_series *v = &maker->rates[i];
		p->out_known = port_rate_of(maker->w, p->port, v->out, v->speed, v->up,
				       maker->in->interval_ns, &p->out) == 0;
		p->in_known = port_rate_of(maker->w, p->port, v->in, v->speed, v->up,
				      maker->in->interval_ns, &p->in) == 0;
	}
}

/* ---- what follows from it ------------------------------------------------ */

static struct pause_share observe_share_of(const struct amount *measured,
	const struct amount *bound, const struct amount *frames, uint64_t speed_bps)
{
	struct pause_share r = {.lo = NAN,
		.hi = NAN,
		.quality = QUALITY_UNKNOWN,
		.alive = measured->alive || bound->alive || frames->alive};
	const double hold_ns = pause_frame_max_ns(speed_bps);
	/* a duration that stands still while frames count is not measured on this platform */
	if (measured->known &&
		(measured->value > 0 ||
			!(frames->known && frames->value > 0 && !measured->alive))) {
		r.lo = r.hi = fmin(1, measured->value / (double)measured->covered_ns);
		r.measured = true;
		r.quality = measured->quality;
	} else if (bound->known || (frames->known && !isnan(hold_ns))) {
		/* a bound was cut to the interval it was read in; frames that an agent hands out in
		 * lumps belong to longer ones */
		const double time = fmax(
			bound->known ? bound->value / (double)bound->covered_ns : NAN,
			frames->known ? frames->value * hold_ns / (double)frames->covered_ns : NAN);
		r.lo = 0;
		r.hi = fmin(1, time);
		r.quality = QUALITY_ESTIMATED;
	}
	return r;
}

static uint64_t observe_speed_of(const struct port_seen *port)
{
	if (port->out.read_bps)
		return port->out.read_bps;
	return port->out.declared_bps;
}

static void take_declared(double *value, double declared, bool *mark)
{
	if (!isnan(*value) || isnan(declared))
		return;
	*value = declared;
	*mark = true;
}
static double bytes_or_none(uint64_t value)
{
	if (value)
		return (double)value;
	return NAN;
}

/* Thresholds from the configuration file stand where no protocol reads them back; the first that
 * matches wins. */
static void observe_declare(struct port_prio *lane, const struct fabric *fabric)
{
	const struct fabric_port *p = lane->port->port;
	for (size_t i = 0; i < fabric->n_thresholds; i++) {
		const struct fabric_threshold *t = &fabric->thresholds[i];
		if (t->priority != lane->priority || !str_glob(t->devices, p->device->name) ||
			!(str_glob(t->ports, p->name) ||
				(p->alias[0] && str_glob(t->ports, p->alias))))
			continue;
		take_declared(&lane->kmin, bytes_or_none(t->kmin_bytes), &lane->declared);
		take_declared(&lane->kmax, bytes_or_none(t->kmax_bytes), &lane->declared);
		take_declared(&lane->pmax, t->pmax, &lane->declared);
		take_declared(&lane->alpha, t->alpha, &lane->declared);
		take_declared(&lane->headroom, bytes_or_none(t->headroom_bytes),
			&lane->headroom_declared);
		take_declared(
			&lane->xoff_level, bytes_or_none(t->xoff_level_bytes), &lane->declared);
		take_declared(&lane->xon_level, bytes_or_none(t->xon_level_bytes), &lane->declared);
		take_declared(
			&lane->xon_offset, bytes_or_none(t->xon_offset_bytes), &lane->declared);
		lane->declared |= lane->headroom_declared;
		/* ours until observe() returns */
		struct device_seen *d = (struct device_seen *)lane->port->device;
		bool mark = false;
		take_declared(&d->pool_bytes, bytes_or_none(t->pool_bytes), &mark);
		take_declared(&d->cell_bytes, bytes_or_none(t->cell_bytes), &mark);
	}
}

static void observe_finish(struct maker *maker)
{
	struct observed *o = maker->o;
	o->prios = arena_array(maker->a, struct port_prio *, o->n_prios ? o->n_prios : 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_ports; i++) {
		struct port_seen *p = &o->ports[i];
		((struct device_seen *)p->device)->restarted |=
			p->in_packets.restarted || p->out_packets.restarted;
		for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
			struct port_prio *l = p->prios[c];
			if (!l)
				continue;
			l->rx_pause = observe_share_of(&l->rx_pause_ns, &l->rx_pause_ns_hi,
				&l->rx_frames, observe_speed_of(p));
			l->tx_pause = observe_share_of(&l->tx_pause_ns, &l->tx_pause_ns_hi,
				&l->tx_frames, observe_speed_of(p));
			observe_declare(l, o->fabric);
			o->prios[n++] = l;
		}
	}
}

static const struct observed *observe_make(const struct analyzer_in *in, struct arena *a)
{
	const struct fabric *f = in->fabric;
	const uint32_t n = entities_count(in->window->entities);
	struct maker m = {.in = in, .w = in->window, .a = a, .n_entities = n};
	size_t ports = 0;
	for (size_t i = 0; i < f->n_devices; i++)
		ports += f->devices[i]->n_ports;
	for (size_t i = 0; i < rw_countof(lane_rows); i++)
		m.rows[lane_rows[i].metric] = &lane_rows[i];
	for (size_t i = 0; i < rw_countof(port_rows); i++)
		m.rows[port_rows[i].metric] = &port_rows[i];
	for (size_t i = 0; i < rw_countof(device_rows); i++)
		m.rows[device_rows[i].metric] = &device_rows[i];
	m.port_of = arena_array(a, uint32_t, n + 1);
	m.device_of = arena_array(a, uint32_t, n + 1);
	m.priority_of = arena_array(a, int8_t, n + 1);
	memset(m.priority_of, -1, n + 1);
	memset(m.port_of, 0, (n + 1) * sizeof(*m.port_of));
	memset(m.device_of, 0, (n + 1) * sizeof(*m.device_of));
	size_t strangers = 0;
	for (uint32_t id = 1; id <= n; id++) {
		const struct entity *e = entity_get(in->window->entities, id);
		strangers += e && e->priority == PRIO_NONE && observe_is_port(e);
	}
	m.cap_ports = ports + strangers;
	m.rates = arena_array(a, struct rate_series, m.cap_ports + 1);
	memset(m.rates, 0, (m.cap_ports + 1) * sizeof(*m.rates));
	m.o = arena_new_of(a, struct observed);
	*m.o = (struct observed){.from_ns = in->window->from_ns,
		.to_ns = in->window->to_ns,
		.interval_ns = in->interval_ns,
		.fabric = f,
		.window = in->window,
		.devices = arena_array(a, struct device_seen, f->n_devices + 1),
		.n_devices = f->n_devices,
		.ports = arena_array(a, struct port_seen, m.cap_ports + 1)};
	m.o->device_of = m.device_of;
	m.o->port_of = m.port_of;
	m.o->n_entities = n;
	place_fabric(&m);
	place_entities(&m);
	observe_rates(&m);
	make_lanes(&m);
	observe_fill(&m);
	observe_finish(&m);
	return m.o;
}

const struct observed *observe(const struct analyzer_in *in)
{
	if (!in->shared)
		return observe_make(in, in->arena);
	if (!in->shared->observed)
		in->shared->observed = observe_make(in, in->shared->arena);
	return in->shared->observed;
}

const struct port_seen *observed_port(
	const struct observed *observed, const struct fabric_port *port)
{
	if (port && port->index < observed->n_fabric_ports)
		return &observed->ports[port->index];
	return NULL;
}

const struct port_seen *observed_peer(const struct observed *observed, const struct port_seen *port)
{
	return observed_port(observed, port->port->peer);
}

const struct port_prio *observed_prio(const struct port_seen *port, int priority)
{
	if (priority >= 0 && priority < OBSERVED_PRIORITIES)
		return port->prios[priority];
	return NULL;
}
