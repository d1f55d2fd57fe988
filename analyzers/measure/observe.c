/*
 * observe - one pass over the series of a window, sorted by metric, then entity; the tables of
 * observe.def say which field each fills.
 */
#include "analyzers/measure/observe.h"

#include "analyzers/measure/input.h"
#include "config/class_policy.h"
#include "db/model/entity.h"
#include "db/series/window_columns.h"

/* ---- port_rate ------------------------------------------------------------- */

/* port_rate - a rate from the intervals that count, and what it is worth. */

/* Samples further apart than this many intervals are a gap: one late poll is not. */
#define GAP_INTERVALS 2.5
#define SPACINGS_MAX 64
/* A state is valid until its next value, and may be reported only once. */
#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)

static uint64_t port_rate_state_of(
	const struct series *series, const struct window *window, uint64_t otherwise)
{
	uint64_t v;
	if (series && series_state(series, window->to_ns, STATE_AGE_NS, &v) == 0)
		return v;
	return otherwise;
}

static double increase_rate(const struct increase *increase)
{
	if (increase->covered_ns > 0)
		return (double)increase->value * 8 * (double)NS_PER_S /
			(double)increase->covered_ns;
	return 0;
}

/* A handful of values, mostly in order: a library sort costs more than it saves. */
static void sort_sizes(int64_t *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
			const int64_t swap = values[k];
			values[k] = values[k - 1];
			values[k - 1] = swap;
		}
}

/*
 * The time between samples as this series shows it: the median, so that gaps do not count for much.
 * From few samples it is no less than what is usual. 0 = not known.
 */
static int64_t port_rate_spacing_of(const struct series *series, const struct window *window,
	int64_t interval_ns, int64_t *ret_last_ns)
{
	int64_t v[SPACINGS_MAX];
	size_t n = 0;
	uint32_t i = series->n;
	while (i > 0 && series->t_ns[i - 1] > window->to_ns)
		i--;
	if (i > 0)
		*ret_last_ns = series->t_ns[i - 1];
	else
		*ret_last_ns = INT64_MIN;
	for (; i > 1 && n < SPACINGS_MAX && series->t_ns[i - 1] > window->from_ns; i--)
		v[n++] = series->t_ns[i - 1] - series->t_ns[i - 2];
	if (!n)
		return interval_ns;
	sort_sizes(v, n);
	int64_t median = v[n / 2];
	if (n < 3 && median < interval_ns)
		return interval_ns;
	return median;
}

/* Share of the window that has its samples. The piece after the last one is not missing while the
 * next is not due. */
static double port_rate_coverage_of(
	const struct series *series, const struct window *window, int64_t interval_ns)
{
	int64_t length_ns = window->to_ns - window->from_ns, last_ns;
	int64_t spacing_ns = port_rate_spacing_of(series, window, interval_ns, &last_ns);
	double gap_ns = GAP_INTERVALS * (double)spacing_ns;
	gap_ns = fmin(gap_ns, fmax(1.5 * (double)length_ns, GAP_INTERVALS * (double)interval_ns));
	double covered = series_coverage(series, window->from_ns, window->to_ns,
		spacing_ns > 0 ? (int64_t)gap_ns : length_ns);
	if (last_ns > window->from_ns && window->to_ns - last_ns <= spacing_ns)
		covered += (double)(window->to_ns - last_ns) / (double)length_ns;
	return fmin(1, covered);
}

/* Ports of a device have the same instants, which a window lends to all of them. */
struct coverage_memo {
	const int64_t *t_ns; /* NULL: of none yet */
	const uint16_t *flags;
	uint32_t n;
	double ratio;
};

static double coverage_again(struct coverage_memo *memo, const struct series *series,
	const struct window *window, int64_t interval_ns)
{
	if (memo->t_ns == series->t_ns && memo->flags == series->flags && memo->n == series->n)
		return memo->ratio;
	*memo = (struct coverage_memo){.t_ns = series->t_ns,
		.flags = series->flags,
		.n = series->n,
		.ratio = port_rate_coverage_of(series, window, interval_ns)};
	return memo->ratio;
}

/* Plausibility: widen to the whole run, or mark suspect (see observe.h). */
static int plausible_increase(const struct series *series, const struct window *window,
	double line_bps, struct increase *ret, enum quality *ret_q)
{
	double gate = line_bps * PORT_RATE_PLAUSIBLE / 8;
	struct increase gated, all;
	int r = series_increase(series, window->from_ns, window->to_ns, gate, &gated);
	if (r == 0 && gated.suspects == 0) {
		*ret = gated;
		*ret_q = gated.quality;
		return 0;
	}
	int r_all = series_increase(series, window->from_ns, window->to_ns, 0, &all);
	if (r_all < 0)
		return r_all;
	bool widened = line_bps <= 0 || increase_rate(&all) <= line_bps * PORT_RATE_PLAUSIBLE;
	if (widened || r < 0)
		*ret = all;
	else
		*ret = gated;
	if (widened)
		*ret_q = QUALITY_ESTIMATED;
	else
		*ret_q = QUALITY_SUSPECT;
	return 0;
}

/* port_rate() of the series at hand, each of which may be NULL. */
static int port_rate_of(const struct window *window, const struct fabric_port *port,
	const struct series *octets, const struct series *speed, const struct series *up,
	int64_t interval_ns, struct coverage_memo *memo, struct port_rate *ret)
{
	*ret = (struct port_rate){
		.declared_bps = port->speed_bps,
		.read_bps = port_rate_state_of(speed, window, 0),
		.utilization_ratio = NAN,
		.rate_bps = NAN,
		.quality = QUALITY_UNKNOWN,
	};
	ret->capacity_bps = ret->declared_bps;
	if (ret->read_bps && (!ret->capacity_bps || ret->read_bps < ret->capacity_bps))
		ret->capacity_bps = ret->read_bps;
	const uint64_t is_up = port_rate_state_of(up, window, UINT64_MAX);
	if (is_up == UINT64_MAX)
		ret->oper = PORT_OPER_UNKNOWN;
	else if (is_up)
		ret->oper = PORT_OPER_UP;
	else
		ret->oper = PORT_OPER_DOWN;
	if (!octets)
		return -ENODATA;
	ret->coverage_ratio = coverage_again(memo, octets, window, interval_ns);

	/* The gate asks for the line rate, not the capacity: a port that runs faster than declared
	 * is a finding of its own. */
	double line_bps = (double)(ret->read_bps ? ret->read_bps : ret->declared_bps);
	struct increase inc;
	int r = plausible_increase(octets, window, line_bps, &inc, &ret->quality);
	if (r < 0)
		return r;
	ret->octets = inc.value;
	ret->covered_ns = inc.covered_ns;
	ret->rate_bps = increase_rate(&inc);
	if (ret->capacity_bps)
		ret->utilization_ratio = ret->rate_bps / (double)ret->capacity_bps;
	return 0;
}

int port_rate(const struct window *window, const struct fabric_port *port, uint32_t entity,
	unsigned metric, int64_t interval_ns, struct port_rate *ret)
{
	struct coverage_memo memo = {0};
	if (entity == ENTITY_NONE)
		return port_rate_of(window, port, NULL, NULL, NULL, interval_ns, &memo, ret);
	return port_rate_of(window, port, window_series(window, entity, metric),
		window_series(window, entity, M_PORT_SPEED_BPS),
		window_series(window, entity, M_PORT_OPER_UP), interval_ns, &memo, ret);
}

double octet_rate_between(const struct series *series, int64_t from_ns, int64_t to_ns, double gate)
{
	const int64_t longest_ns = 2 * (to_ns - from_ns);
	double octets = 0, covered_ns = 0;
	uint32_t i = series_after(series, from_ns);
	if (i == 0)
		i = 1;
	for (; i < series->n && series->t_ns[i - 1] < to_ns; i++) {
		const int64_t begin_ns = series->t_ns[i - 1], end_ns = series->t_ns[i];
		const double length_ns = (double)(end_ns - begin_ns);
		const double overlap_ns = fmin((double)end_ns, (double)to_ns) -
			fmax((double)begin_ns, (double)from_ns);
		struct increase inc;
		if (end_ns - begin_ns > longest_ns ||
			series_increase(series, begin_ns, end_ns, gate, &inc) < 0)
			continue;
		octets += (double)inc.value * overlap_ns / length_ns;
		covered_ns += overlap_ns;
	}
	if (covered_ns < OCTETS_SEEN * (double)(to_ns - from_ns))
		return NAN;
	return octets * (double)NS_PER_S / covered_ns;
}

/* ---- observe --------------------------------------------------------------- */

#define FRAME_MIN_BITS (84 * 8.0) /* 64 bytes, preamble and gap */

enum observe_kind { KIND_COUNTER, KIND_PEAK, KIND_MEAN, KIND_STATE, KIND_EXP2 };
enum observe_bound { BOUND_NONE, BOUND_FRAMES, BOUND_TIME, BOUND_OCTETS };

struct observe_row {
	uint16_t metric;
	uint8_t kind, bound;
	uint16_t offset;
	bool opens;
};

static const struct observe_row prio_rows[] = {
#define PRIO(metric, field, kind, bound, opens)                                                    \
	{M_##metric, KIND_##kind, BOUND_##bound, offsetof(struct port_prio, field), opens},
#include "analyzers/measure/observe.def"
};
static const struct observe_row port_rows[] = {
#define PORT(metric, field, kind, bound)                                                           \
	{M_##metric, KIND_##kind, BOUND_##bound, offsetof(struct port_seen, field), false},
#include "analyzers/measure/observe.def"
};
static const struct observe_row device_rows[] = {
#define DEVICE(metric, field, kind)                                                                \
	{M_##metric, KIND_##kind, BOUND_NONE, offsetof(struct device_seen, field), false},
#include "analyzers/measure/observe.def"
};

const uint16_t observe_metrics[] = {
#define RATE(metric) M_##metric,
#define PRIO(metric, ...) M_##metric,
#define PORT(metric, ...) M_##metric,
#define DEVICE(metric, ...) M_##metric,
#define NIC(metric, ...) M_##metric,
#define NIC_PRIO(metric, ...) M_##metric,
#include "analyzers/measure/observe.def"
};
const size_t observe_n_metrics = rw_countof(observe_metrics);

size_t observe_prio_metrics(bool opens, uint16_t ret[METRIC_COUNT])
{
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(prio_rows); i++)
		if (!opens || prio_rows[i].opens)
			ret[n++] = prio_rows[i].metric;
	return n;
}

/* ---- values -------------------------------------------------------------- */

/* The most a counter can grow in a second; 0: no limit is known. */
static double bound_rate(enum observe_bound bound, uint64_t speed_bps)
{
	switch (bound) {
	case BOUND_TIME: return PORT_RATE_PLAUSIBLE * 1e9;
	case BOUND_FRAMES: return PORT_RATE_PLAUSIBLE * (double)speed_bps / FRAME_MIN_BITS;
	case BOUND_OCTETS: return PORT_RATE_PLAUSIBLE * (double)speed_bps / 8;
	case BOUND_NONE: break;
	}
	return 0;
}

/* Fill the field of @row in the struct at @base. */
static void observe_put(char *base, const struct observe_row *row, const struct series *series,
	const struct window *window, uint64_t speed_bps)
{
	double *number = (double *)(base + row->offset);
	switch ((enum observe_kind)row->kind) {
	case KIND_COUNTER: {
		const double max_rate = bound_rate((enum observe_bound)row->bound, speed_bps);
		*(struct amount *)(base + row->offset) = amount_of(series, window, max_rate);
		break;
	}
	case KIND_PEAK: *number = fmax(*number, amount_peak(series, window)); break;
	case KIND_MEAN: *number = amount_mean(series, window); break;
	/* a switch may have several pools: the largest counts */
	case KIND_STATE: *number = fmax(*number, amount_state(series, window)); break;
	case KIND_EXP2: *number = exp2(amount_state(series, window)); break;
	}
}

/* ---- which device, port and priority a series belongs to ------------------ */

struct observe_maker {
	const struct analyzer_in *in;
	const struct window *window;
	struct arena *a;
	struct observed *observed;
	const struct observe_row *rows[METRIC_COUNT];
	uint32_t *port_of; /* [entity id]: index of its port + 1; 0 = none */
	uint32_t *device_of; /* [entity id]: index of its device + 1 */
	int8_t *priority_of; /* [entity id]: -1 when it is not a priority of a port */
	uint32_t n_entities;
	uint32_t *port_ids; /* entities that are ports */
	size_t n_port_ids, cap_ports;
	struct coverage_memo coverage[2]; /* of what comes in, of what goes out */
	struct rate_series { /* [port]: what its rates are made of */
		const struct series *in, *out, *speed, *up;
	} * rates;
};

/* Before thing @i of many. */
static inline void observe_pause(const struct observe_maker *maker, size_t i)
{
	enum { EACH = 256 };
	if (i % EACH == 0)
		analyzer_pause(maker->in);
}

static void blank_prio(struct port_prio *prio, const struct port_seen *port, int priority,
	const struct fabric *fabric)
{
	const double none = NAN;
	*prio = (struct port_prio){
		.port = port,
		.priority = priority,
		.lossless = fabric->lossless_mask >> priority & 1,
	};
	for (size_t i = 0; i < rw_countof(prio_rows); i++)
		if (prio_rows[i].kind != KIND_COUNTER)
			memcpy((char *)prio + prio_rows[i].offset, &none, sizeof(none));
}

static void blank_port(
	struct port_seen *seen, const struct fabric_port *port, const struct device_seen *device)
{
	const double none = NAN;
	*seen = (struct port_seen){.port = port, .device = device};
	for (size_t i = 0; i < rw_countof(port_rows); i++)
		if (port_rows[i].kind == KIND_STATE)
			memcpy((char *)seen + port_rows[i].offset, &none, sizeof(none));
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		seen->class_octets[c] = NAN;
}

static void blank_device(struct device_seen *seen, const struct fabric_device *device)
{
	const double none = NAN;
	*seen = (struct device_seen){
		.device = device, .n_ports = device->n_ports, .newest_ns = INT64_MIN};
	for (size_t i = 0; i < rw_countof(device_rows); i++)
		memcpy((char *)seen + device_rows[i].offset, &none, sizeof(none));
}

/* Which entities the ports of the fabric are: mostly both stand in the same order, and nothing has
 * to be looked up. */
static void observe_meet(struct observe_maker *maker)
{
	struct observed *o = maker->observed;
	size_t *next = rw_calloc(o->n_devices, sizeof(*next));
	for (size_t i = 0; i < maker->n_port_ids; i++) {
		const struct entity *e = entity_get(maker->window->entities, maker->port_ids[i]);
		const uint32_t device = maker->device_of[e->parent];
		if (!device || next[device - 1] >= o->devices[device - 1].n_ports)
			continue;
		struct port_seen *port = &o->devices[device - 1].ports[next[device - 1]];
		if (strcmp(port->port->name, e->port) != 0)
			continue;
		port->entity = e->id;
		next[device - 1]++;
	}
	free(next);
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		struct port_seen *port = &o->ports[i];
		const struct fabric_device *device = port->port->device;
		if (port->entity == ENTITY_NONE)
			port->entity = entities_find(
				maker->window->entities, device->name, port->port->name, PRIO_NONE);
		if (port->entity == ENTITY_NONE)
			continue;
		maker->port_of[port->entity] = (uint32_t)i + 1;
		maker->device_of[port->entity] = device->index + 1;
	}
}

/* Devices and ports of the fabric, whether there are samples of them or not. */
static void observe_fabric(struct observe_maker *maker)
{
	const struct fabric *fabric = maker->in->fabric;
	const struct entities *entities = maker->window->entities;
	struct observed *o = maker->observed;
	size_t n = 0;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *d = fabric->devices[i];
		struct device_seen *seen = &o->devices[i];
		analyzer_pause(maker->in);
		blank_device(seen, d);
		seen->ports = &o->ports[n];
		const uint32_t id = entities_find(entities, d->name, NULL, PRIO_NONE);
		if (id != ENTITY_NONE)
			maker->device_of[id] = (uint32_t)i + 1;
		for (size_t k = 0; k < d->n_ports; k++, n++) {
			struct port_seen *port = &o->ports[n];
			blank_port(port, d->ports[k], seen);
			port->in_fabric = true;
		}
	}
	o->n_ports = o->n_fabric_ports = n;
	observe_meet(maker);
}

/* Neither a buffer pool nor a queue without a known priority is a port. */
static bool observe_is_port(const struct entity *entity)
{
	return entity->port[0] && strncmp(entity->port, "pool:", 5) != 0 &&
		!strchr(entity->port, '#');
}

/* A port that the fabric does not name. */
static void observe_stranger(struct observe_maker *maker, const struct entity *entity)
{
	struct observed *o = maker->observed;
	const uint32_t device = maker->device_of[entity->parent] - 1;
	maker->device_of[entity->id] = device + 1;
	if (o->n_ports >= maker->cap_ports)
		return;
	struct fabric_port *port = arena_new_of(maker->a, struct fabric_port);
	port->name = entity->port;
	port->device = maker->in->fabric->devices[device];
	port->alias = "";
	port->host_nic = "";
	port->index = UINT32_MAX;
	struct port_seen *seen = &o->ports[o->n_ports];
	blank_port(seen, port, &o->devices[device]);
	seen->entity = entity->id;
	maker->port_of[entity->id] = (uint32_t)++o->n_ports;
}

/* A priority of a port: it waits until all ports are known. */
struct observe_lane {
	uint32_t id, parent;
	int16_t priority;
};

static void observe_lane(struct observe_maker *maker, const struct observe_lane *lane)
{
	const uint32_t id = lane->id, device = maker->device_of[lane->parent];
	const uint32_t port = maker->port_of[lane->parent];
	if (!device)
		return;
	maker->device_of[id] = device;
	maker->port_of[id] = port;
	if (lane->priority < 0 || lane->priority >= OBSERVED_PRIORITIES)
		return;
	maker->priority_of[id] = (int8_t)lane->priority;
	if (port)
		maker->observed->ports[port - 1].prio_entity[lane->priority] = id;
}

/* Which device and port each entity of the window belongs to. */
static void observe_entities(struct observe_maker *maker)
{
	enum { AHEAD = 16 };
	const struct entities *entities = maker->window->entities;
	struct observe_lane *lanes = rw_calloc(maker->n_entities + 1, sizeof(*lanes));
	size_t n = 0;
	for (uint32_t id = 1; id <= maker->n_entities; id++) {
		observe_pause(maker, id);
		__builtin_prefetch(entity_get(entities, id + AHEAD));
		const struct entity *e = entity_get(entities, id);
		if (maker->device_of[id] || !e || e->parent == ENTITY_NONE)
			continue;
		const struct observe_lane lane = {id, e->parent, e->priority};
		if (e->priority != PRIO_NONE && *e->port)
			lanes[n++] = lane;
		else if (maker->device_of[e->parent] && e->priority == PRIO_NONE &&
			observe_is_port(e))
			observe_stranger(maker, e);
		else
			observe_lane(maker, &lane);
	}
	for (size_t i = 0; i < n; i++)
		observe_lane(maker, &lanes[i]);
	free(lanes);
}

static struct port_seen *observe_port_at(const struct observe_maker *maker, uint32_t entity)
{
	if (maker->port_of[entity])
		return &maker->observed->ports[maker->port_of[entity] - 1];
	return NULL;
}

/* ---- priorities worth observing ------------------------------------------- */

static void observe_add_prio(struct observe_maker *maker, struct port_seen *port, int priority)
{
	if (port->prios[priority])
		return;
	port->prios[priority] = arena_new_of(maker->a, struct port_prio);
	blank_prio(port->prios[priority], port, priority, maker->in->fabric);
	maker->observed->n_prios++;
}

static bool observe_opens(
	const struct series *series, const struct window *window, const struct observe_row *row)
{
	if (!row->opens || !series->n)
		return false;
	if (row->kind == KIND_COUNTER && series->flat)
		return false;
	if (row->kind == KIND_COUNTER)
		return series->value[0] != series->value[series->n - 1];
	return amount_state(series, window) > 0;
}

/* First pass: all lossless priorities, and others on which something happens. */
static void observe_prios(struct observe_maker *maker)
{
	const uint8_t lossless_mask = maker->in->fabric->lossless_mask;
	for (size_t i = 0; i < maker->window->n_series; i++) {
		const struct series *s = &maker->window->series[i];
		const struct observe_row *row = maker->rows[s->metric];
		observe_pause(maker, i);
		if (!row)
			continue;
		if (s->entity > maker->n_entities)
			continue;
		const int priority = maker->priority_of[s->entity];
		if (priority < 0)
			continue;
		struct port_seen *port = observe_port_at(maker, s->entity);
		const bool lossless = lossless_mask >> priority & 1;
		if (port && (lossless || observe_opens(s, maker->window, row)))
			observe_add_prio(maker, port, priority);
	}
}

/* ---- filling the fields --------------------------------------------------- */

/* Remember that a sample of this device lies in the window, and when. */
static void observe_newest(
	struct device_seen *device, const struct series *series, const struct window *window)
{
	uint32_t end = series->n;
	if (series->t_ns[series->n - 1] > window->to_ns)
		end = series_after(series, window->to_ns);
	if (end == 0 || series->t_ns[end - 1] <= window->from_ns)
		return;
	device->n_series++;
	if (series->t_ns[end - 1] > device->newest_ns)
		device->newest_ns = series->t_ns[end - 1];
}

/* As the device says, else as the configuration says. */
static uint64_t observe_speed_of(const struct port_seen *port)
{
	if (port->out.read_bps)
		return port->out.read_bps;
	return port->port->speed_bps;
}

static void fill_prio(struct observe_maker *maker, struct port_seen *port, int priority,
	const struct observe_row *row, const struct series *series)
{
	const uint64_t speed_bps = observe_speed_of(port);
	struct port_prio *prio = port->prios[priority];
	if (prio)
		observe_put((char *)prio, row, series, maker->window, speed_bps);
	if (series->metric != M_QUEUE_OUT_OCTETS)
		return;
	struct amount octets;
	if (prio)
		octets = prio->out_octets;
	else
		octets = amount_of(series, maker->window, bound_rate(BOUND_OCTETS, speed_bps));
	port->class_octets[priority] = octets.known ? octets.value : NAN;
}

/* Second pass: every series into the field of its row. */
static void observe_fill(struct observe_maker *maker)
{
	for (size_t i = 0; i < maker->window->n_series; i++) {
		const struct series *s = &maker->window->series[i];
		observe_pause(maker, i);
		if (s->entity > maker->n_entities || !maker->device_of[s->entity] || !s->n)
			continue;
		struct device_seen *device =
			&maker->observed->devices[maker->device_of[s->entity] - 1];
		observe_newest(device, s, maker->window);
		const struct observe_row *row = maker->rows[s->metric];
		if (!row)
			continue;
		struct port_seen *port = observe_port_at(maker, s->entity);
		const int priority = maker->priority_of[s->entity];
		if (port && priority >= 0)
			fill_prio(maker, port, priority, row, s);
		else if (port)
			observe_put((char *)port, row, s, maker->window, observe_speed_of(port));
		else if (metric_info(s->metric)->scope == SCOPE_DEVICE)
			observe_put((char *)device, row, s, maker->window, 0);
	}
}

static void observe_rates(struct observe_maker *maker)
{
	static const struct {
		uint16_t metric, offset;
	} columns[] = {
		{M_PORT_IN_OCTETS, offsetof(struct rate_series, in)},
		{M_PORT_OUT_OCTETS, offsetof(struct rate_series, out)},
		{M_PORT_SPEED_BPS, offsetof(struct rate_series, speed)},
		{M_PORT_OPER_UP, offsetof(struct rate_series, up)},
	};
	const struct window *window = maker->window;
	for (size_t k = 0; k < rw_countof(columns); k++) {
		size_t n;
		const struct series *series = window_of_metric(window, columns[k].metric, &n);
		for (size_t i = 0; i < n; i++) {
			const struct series *s = &series[i];
			if (s->entity > maker->n_entities || !maker->port_of[s->entity])
				continue;
			struct rate_series *of = &maker->rates[maker->port_of[s->entity] - 1];
			memcpy((char *)of + columns[k].offset, &s, sizeof(s));
		}
	}
	for (size_t i = 0; i < maker->observed->n_ports; i++) {
		struct port_seen *p = &maker->observed->ports[i];
		observe_pause(maker, i);
		const struct rate_series *of = &maker->rates[i];
		p->out_known = port_rate_of(window, p->port, of->out, of->speed, of->up,
				       maker->in->interval_ns, &maker->coverage[1], &p->out) == 0;
		p->in_known = port_rate_of(window, p->port, of->in, of->speed, of->up,
				      maker->in->interval_ns, &maker->coverage[0], &p->in) == 0;
	}
}

/* ---- the same from columns -------------------------------------------------- */

/*
 * A live window has its series as columns as well. They are gone through device by device, so that
 * what is filled stays in the processor's cache; and of lanes that stand still, nearly all, no
 * sample is looked at. Each series is measured by the same functions as above.
 */
enum { RATE_METRICS = 4, DEVICE_LANES = 32 };

struct column_maker {
	struct observe_maker *maker;
	const struct window_columns *columns;
	struct lane_values values[RATE_METRICS];
	uint32_t device; /* whose .rates are */
	const struct window_column *rates[RATE_METRICS];
	unsigned open; /* bits: priorities that some port of the device has observed */
};

static const uint16_t rate_metrics[RATE_METRICS] = {
	M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_SPEED_BPS, M_PORT_OPER_UP};

static void port_columns(struct column_maker *of, uint32_t device)
{
	if (of->device == device)
		return;
	of->device = device;
	for (size_t k = 0; k < RATE_METRICS; k++)
		of->rates[k] = window_device_column(of->columns, device, rate_metrics[k]);
}

static void columns_rates(struct column_maker *of)
{
	struct observe_maker *maker = of->maker;
	for (size_t i = 0; i < maker->observed->n_ports; i++) {
		struct port_seen *p = &maker->observed->ports[i];
		const struct series *s[RATE_METRICS] = {NULL};
		struct series room[RATE_METRICS];
		uint32_t device, lane;
		observe_pause(maker, i);
		if (window_home(of->columns, p->entity, &device, &lane)) {
			port_columns(of, device);
			for (size_t k = 0; k < RATE_METRICS; k++)
				if (of->rates[k] &&
					window_lane(of->columns, of->rates[k], lane, &of->values[k],
						&room[k]))
					s[k] = &room[k];
		}
		p->out_known = port_rate_of(maker->window, p->port, s[1], s[2], s[3],
				       maker->in->interval_ns, &maker->coverage[1], &p->out) == 0;
		p->in_known = port_rate_of(maker->window, p->port, s[0], s[2], s[3],
				      maker->in->interval_ns, &maker->coverage[0], &p->in) == 0;
	}
}

/* Can a lane of the column open a priority that is not of the lossless class? A counter only if it
 * moved. */
static bool lane_may_open(
	const struct window_column *column, uint32_t lane, const struct observe_row *row)
{
	if (!row->opens)
		return false;
	return row->kind != KIND_COUNTER || !column_bit(column->column->in_step, lane) ||
		column_values(column->column, lane);
}

static void column_prios(struct column_maker *of, const struct window_column *column)
{
	struct observe_maker *maker = of->maker;
	const struct observe_row *row = maker->rows[column->column->metric];
	const int slot = column->column->slot;
	struct series s;
	if (!row || slot == 0)
		return;
	const bool lossless = maker->in->fabric->lossless_mask >> (slot - 1) & 1;
	const bool moved = column->column->n_rows + column->column->n_odd > 0;
	if (!lossless && (!row->opens || (row->kind == KIND_COUNTER && !moved)))
		return;
	for (uint32_t lane = 0; lane < column->lanes; lane++) {
		const uint32_t entity = column->entity[lane];
		if (!lossless && !lane_may_open(column, lane, row))
			continue;
		struct port_seen *port = observe_port_at(maker, entity);
		const int priority = maker->priority_of[entity];
		if (!port || priority < 0)
			continue;
		if (port->prios[priority])
			continue;
		if (window_lane(of->columns, column, lane, &of->values[0], &s) &&
			(lossless || observe_opens(&s, maker->window, row)))
			observe_add_prio(maker, port, priority);
		if (port->prios[priority])
			of->open |= 1u << priority;
	}
}

/* Lanes in step whose part of the window is the same: are they inside the window, and when last? */
static void column_seen(struct device_seen *device, const struct window_column *column,
	unsigned came, const struct window *window)
{
	const struct series *part = &column->part[came];
	const struct column *of = column->column;
	const uint32_t lanes = came ? of->n_came : of->n_in_step - of->n_came;
	if (part->n == 0 || lanes == 0)
		return;
	const size_t before = device->n_series;
	observe_newest(device, part, window);
	if (device->n_series > before)
		device->n_series = before + lanes;
}

/* The growth of lanes that stand still does not depend on their value, only whether they live. */
struct still_amount {
	struct amount of[2];
	bool known[2];
};

static struct amount still_amount(struct column_maker *of, const struct window_column *column,
	uint32_t lane, struct still_amount *still)
{
	const bool came = column_bit(column->column->came, lane);
	if (!still->known[came]) {
		struct series s;
		window_lane(of->columns, column, lane, &of->values[0], &s);
		still->of[came] = amount_of(&s, of->maker->window, 0);
		still->known[came] = true;
	}
	struct amount amount = still->of[came];
	amount.alive = column->column->now[lane] != 0;
	return amount;
}

/* One lane into the field of its row: @base is of the struct that the field is in. */
static void put_lane(struct column_maker *of, const struct window_column *column, uint32_t lane,
	char *base, const struct observe_row *row, uint64_t speed_bps, struct still_amount *still)
{
	struct series s;
	if (row->kind == KIND_COUNTER && window_still(column, lane))
		*(struct amount *)(base + row->offset) = still_amount(of, column, lane, still);
	else if (window_lane(of->columns, column, lane, &of->values[0], &s))
		observe_put(base, row, &s, of->maker->window, speed_bps);
}

/* What the queue of a priority sent counts for its class, also where the priority is not observed.
 */
static void put_class(struct column_maker *of, const struct window_column *column, uint32_t lane,
	struct port_seen *port, int priority, struct still_amount *still)
{
	const double bound = bound_rate(BOUND_OCTETS, observe_speed_of(port));
	struct amount octets;
	struct series s;
	if (window_still(column, lane))
		octets = still_amount(of, column, lane, still);
	else if (!window_lane(of->columns, column, lane, &of->values[0], &s))
		return;
	else if (port->prios[priority])
		octets = port->prios[priority]->out_octets;
	else
		octets = amount_of(&s, of->maker->window, bound);
	port->class_octets[priority] = octets.known ? octets.value : NAN;
}

static void column_fill(
	struct column_maker *of, struct device_seen *device, const struct window_column *column)
{
	struct observe_maker *maker = of->maker;
	const struct column *lanes = column->column;
	const struct observe_row *row = maker->rows[lanes->metric];
	const bool classes = lanes->metric == M_QUEUE_OUT_OCTETS;
	struct still_amount still = {0};
	struct series s;
	column_seen(device, column, 0, maker->window);
	column_seen(device, column, 1, maker->window);
	for (uint32_t lane = 0; lanes->n_odd > 0 && lane < column->lanes; lane++)
		if (lanes->odd[lane] && window_lane(of->columns, column, lane, &of->values[0], &s))
			observe_newest(device, &s, maker->window);
	if (!row || (lanes->slot > 0 && !classes && !(of->open >> (lanes->slot - 1) & 1)))
		return;
	for (uint32_t lane = 0; lane < column->lanes; lane++) {
		const uint32_t entity = column->entity[lane];
		struct port_seen *port = observe_port_at(maker, entity);
		const int priority = maker->priority_of[entity];
		if (!port) {
			if (metric_info(lanes->metric)->scope == SCOPE_DEVICE)
				put_lane(of, column, lane, (char *)device, row, 0, &still);
			continue;
		}
		const uint64_t speed_bps = observe_speed_of(port);
		if (priority < 0)
			put_lane(of, column, lane, (char *)port, row, speed_bps, &still);
		else if (port->prios[priority])
			put_lane(of, column, lane, (char *)port->prios[priority], row, speed_bps,
				&still);
		if (priority >= 0 && classes)
			put_class(of, column, lane, port, priority, &still);
	}
}

static void observe_columns(struct observe_maker *maker)
{
	struct column_maker of = {.maker = maker, .columns = maker->window->columns};
	for (size_t k = 0; k < rw_countof(of.values); k++)
		of.values[k].a = maker->a;
	columns_rates(&of);
	for (size_t i = 0; i < maker->observed->n_devices; i++) {
		struct device_seen *device = &maker->observed->devices[i];
		const uint32_t id = entities_find(
			maker->window->entities, device->device->name, NULL, PRIO_NONE);
		const struct window_column *v;
		const size_t n = window_device_columns(of.columns, id, &v);
		observe_pause(maker, i * DEVICE_LANES);
		of.open = 0;
		for (size_t k = 0; k < n; k++)
			column_prios(&of, &v[k]);
		for (size_t k = 0; k < n; k++)
			column_fill(&of, device, &v[k]);
	}
}

/* ---- what follows from it ------------------------------------------------ */

static void take_declared(double *value, double declared, bool *mark)
{
	if (!isnan(*value) || isnan(declared))
		return;
	*value = declared;
	if (mark)
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
static void observe_declare(struct port_prio *prio, const struct fabric *fabric)
{
	/* ours until observe() returns */
	struct device_seen *device = (struct device_seen *)prio->port->device;
	for (size_t i = 0; i < fabric->n_thresholds; i++) {
		const struct fabric_threshold *t = &fabric->thresholds[i];
		if (!fabric_threshold_fits(t, prio->port->port, prio->priority))
			continue;
		const struct {
			double *field, value;
			bool *mark;
		} settings[] = {
			{&prio->kmin, bytes_or_none(t->kmin_bytes), &prio->declared},
			{&prio->kmax, bytes_or_none(t->kmax_bytes), &prio->declared},
			{&prio->pmax, t->pmax, &prio->declared},
			{&prio->kmin_ratio, t->kmin_share, &prio->declared},
			{&prio->kmax_ratio, t->kmax_share, &prio->declared},
			{&prio->alpha, t->alpha, &prio->declared},
			{&prio->headroom, bytes_or_none(t->headroom_bytes),
				&prio->headroom_declared},
			{&prio->xoff_level, bytes_or_none(t->xoff_level_bytes), &prio->declared},
			{&prio->xon_level, bytes_or_none(t->xon_level_bytes), &prio->declared},
			{&prio->xon_offset, bytes_or_none(t->xon_offset_bytes), &prio->declared},
			{&device->pool_bytes, bytes_or_none(t->pool_bytes), NULL},
			{&device->headroom_pool_bytes, bytes_or_none(t->headroom_pool_bytes), NULL},
			{&device->cell_bytes, bytes_or_none(t->cell_bytes), NULL},
		};
		for (size_t k = 0; k < rw_countof(settings); k++)
			take_declared(settings[k].field, settings[k].value, settings[k].mark);
		prio->declared |= prio->headroom_declared;
	}
}

/* Settings that the hardware ignores are not known settings: nothing may be concluded from them,
 * and nothing advised. */
static void observe_ignored(struct port_prio *prio, const struct fabric *fabric)
{
	const struct fabric_class *class = &fabric->classes[prio->priority];
	const bool relative = prio->ecn_relative == 1 ||
		(isnan(prio->ecn_relative) &&
			(class->ecn == ECN_RELATIVE || !isnan(prio->kmin_ratio)));
	const bool credits = prio->cbfc_enabled == 1 ||
		(isnan(prio->cbfc_enabled) && prio->pfc_enabled != 1 &&
			class_lossless(fabric, prio->priority) == LOSSLESS_CREDIT);
	if (relative) {
		prio->relative_declared = isnan(prio->ecn_relative);
		prio->ecn_relative = 1;
		prio->kmin = prio->kmax = NAN;
	}
	if (credits)
		prio->alpha = prio->headroom = prio->xoff_level = prio->xon_level =
			prio->xon_offset = NAN;
}

static void finish_prio(struct port_prio *prio, const struct fabric *fabric)
{
	const struct port_rate *out = &prio->port->out;
	const uint64_t speed_bps = out->read_bps ? out->read_bps : out->declared_bps;
	prio->rx_pause = pause_share_of(
		&prio->rx_pause_ns, &prio->rx_pause_ns_hi, &prio->rx_frames, speed_bps);
	prio->tx_pause = pause_share_of(
		&prio->tx_pause_ns, &prio->tx_pause_ns_hi, &prio->tx_frames, speed_bps);
	observe_declare(prio, fabric);
	observe_ignored(prio, fabric);
}

static void observe_finish(struct observe_maker *maker)
{
	struct observed *o = maker->observed;
	o->prios = arena_array(maker->a, struct port_prio *, o->n_prios + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_ports; i++) {
		struct port_seen *port = &o->ports[i];
		observe_pause(maker, i);
		((struct device_seen *)port->device)->restarted |=
			port->in_packets.restarted || port->out_packets.restarted;
		for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++) {
			if (!port->prios[priority])
				continue;
			finish_prio(port->prios[priority], o->fabric);
			o->prios[n++] = port->prios[priority];
		}
	}
}

/* ---- one observation ------------------------------------------------------ */

static void observe_index_rows(struct observe_maker *maker)
{
	for (size_t i = 0; i < rw_countof(prio_rows); i++)
		maker->rows[prio_rows[i].metric] = &prio_rows[i];
	for (size_t i = 0; i < rw_countof(port_rows); i++)
		maker->rows[port_rows[i].metric] = &port_rows[i];
	for (size_t i = 0; i < rw_countof(device_rows); i++)
		maker->rows[device_rows[i].metric] = &device_rows[i];
}

/* Ports of the fabric, and those that only the samples name. */
static void observe_count_ports(struct observe_maker *maker)
{
	const struct fabric *fabric = maker->in->fabric;
	maker->port_ids = arena_array(maker->a, uint32_t, maker->n_entities + 1);
	for (uint32_t id = 1; id <= maker->n_entities; id++) {
		const struct entity *e = entity_get(maker->window->entities, id);
		if (e && e->priority == PRIO_NONE && observe_is_port(e))
			maker->port_ids[maker->n_port_ids++] = id;
	}
	maker->cap_ports = maker->n_port_ids;
	for (size_t i = 0; i < fabric->n_devices; i++)
		maker->cap_ports += fabric->devices[i]->n_ports;
}

static const struct observed *observe_make(const struct analyzer_in *in, struct arena *a)
{
	const struct fabric *fabric = in->fabric;
	const uint32_t n = entities_count(in->window->entities);
	struct observe_maker m = {.in = in, .window = in->window, .a = a, .n_entities = n};
	observe_index_rows(&m);
	m.port_of = arena_array(a, uint32_t, n + 1);
	m.device_of = arena_array(a, uint32_t, n + 1);
	m.priority_of = arena_array(a, int8_t, n + 1);
	memset(m.priority_of, -1, n + 1);
	observe_count_ports(&m);
	m.observed = arena_new_of(a, struct observed);
	*m.observed = (struct observed){
		.from_ns = in->window->from_ns,
		.to_ns = in->window->to_ns,
		.interval_ns = in->interval_ns,
		.fabric = fabric,
		.window = in->window,
		.devices = arena_array(a, struct device_seen, fabric->n_devices + 1),
		.n_devices = fabric->n_devices,
		.ports = arena_array(a, struct port_seen, m.cap_ports + 1),
		.device_of = m.device_of,
		.port_of = m.port_of,
		.n_entities = n,
	};
	observe_fabric(&m);
	observe_entities(&m);
	if (in->window->columns) {
		observe_columns(&m);
	} else {
		m.rates = arena_array(a, struct rate_series, m.cap_ports + 1);
		observe_rates(&m);
		observe_prios(&m);
		observe_fill(&m);
	}
	observe_finish(&m);
	return m.observed;
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

bool observed_queues_move(const struct device_seen *device, int priority)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct port_seen *port = &device->ports[i];
		const struct port_prio *prio = port->prios[priority];
		if (port->class_octets[priority] > 0 || (prio && prio->out_packets.value > 0))
			return true;
	}
	return false;
}

const char *port_text(const struct port_seen *port, struct arena *a)
{
	return arena_printf(a, "%s:%s", port->port->device->name, port->port->name);
}
