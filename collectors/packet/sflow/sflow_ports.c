/* sflow_ports - one flow table for each port and direction with packets in the interval. */
#include "collectors/packet/sflow/sflow_ports.h"

#include "collectors/packet/flow/flow_table.h"

#define IDLE_MAX 6 /* intervals without a sample, after which a port is no longer looked at */

struct sflow_side { /* a port in one direction */
	uint32_t agent, ifindex;
	enum flow_dir dir;
	uint32_t sampling; /* of this interval; 0 = not yet known */
	uint32_t coarsest; /* rate of the samples of this interval */
	bool samples_here; /* it takes its own samples */
	bool mixed; /* what was counted in this interval is of two kinds */
	bool any; /* a sample in this interval */
	uint8_t idle; /* intervals without one */
	struct flow_table *flows; /* NULL: no RoCE in this interval */
};

struct sflow_ports {
	uint64_t seed, chance;
	struct map *index; /* agent, ifIndex, direction -> into v */
	struct sflow_side *v;
	size_t n, cap;
	uint64_t taken; /* packets in the tables */
	bool full; /* in this interval */
	struct sflow_ports_counts counts;
};

struct sflow_ports *sflow_ports_new(uint64_t seed)
{
	struct sflow_ports *ports = rw_calloc(1, sizeof(*ports));
	ports->seed = seed;
	ports->chance = hash_u64(seed);
	ports->index = map_new();
	return ports;
}

void sflow_ports_free(struct sflow_ports *ports)
{
	if (!ports)
		return;
	for (size_t i = 0; i < ports->n; i++)
		flow_table_free(ports->v[i].flows);
	free(ports->v);
	map_free(ports->index);
	free(ports);
}

const struct sflow_ports_counts *sflow_ports_counts(const struct sflow_ports *ports)
{
	return &ports->counts;
}

/* ---- samples ------------------------------------------------------------------ */

static struct sflow_side *side_at(
	struct sflow_ports *ports, uint32_t agent, uint32_t ifindex, enum flow_dir dir)
{
	/* agents are fewer than 2^13, directions two */
	const uint64_t key = (uint64_t)agent << 34 | (uint64_t)dir << 32 | ifindex;
	uint64_t at;
	if (map_get(ports->index, key, &at))
		return &ports->v[at];
	if (ports->n >= SFLOW_PORTS_MAX)
		return NULL;
	map_put(ports->index, key, ports->n);
	rw_grow(ports->v, ports->n, ports->cap);
	struct sflow_side *side = &ports->v[ports->n++];
	*side = (struct sflow_side){.agent = agent, .ifindex = ifindex, .dir = dir};
	ports->counts.ports++;
	return side;
}

/* xorshift64*, Vigna 2016: chance that nobody outside can foresee. In [0, 1). */
static double ports_chance(struct sflow_ports *ports)
{
	uint64_t x = ports->chance | 1;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	ports->chance = x;
	return (double)((x * 0x2545f4914f6cdd1dull) >> 11) / 9007199254740992.0;
}

/* Takes the sample to the rate of the port. False: it is thinned out, or does not fit in. */
static bool side_takes(struct sflow_ports *ports, struct sflow_side *side, uint32_t sampling)
{
	if (sampling > side->coarsest)
		side->coarsest = sampling;
	if (side->sampling == 0)
		side->sampling = sampling;
	if (sampling == side->sampling)
		return true;
	if (sampling > side->sampling) {
		side->mixed = true;
		return false;
	}
	return ports_chance(ports) < (double)sampling / side->sampling;
}

static void side_add(struct sflow_ports *ports, struct sflow_side *side, uint32_t sampling,
	const struct roce_packet *packet, int64_t t_ns)
{
	side->any = true;
	if (!side_takes(ports, side, sampling) || !packet || packet->kind != PACKET_ROCE)
		return;
	if (ports->taken >= SFLOW_TAKEN_MAX) {
		ports->full = true;
		ports->counts.beyond++;
		return;
	}
	if (!side->flows)
		side->flows = flow_table_new(SFLOW_PORT_FLOWS, side->sampling, ports->seed);
	ports->taken++;
	flow_table_add(side->flows, packet, t_ns, NULL);
}

/* One end of the packet's way through the device. @here: the sample was taken at this end. */
static void ports_end_add(struct sflow_ports *ports, struct sflow_side *side, bool here,
	const struct sflow_sample *sample, const struct roce_packet *packet, int64_t t_ns)
{
	uint32_t sampling = sample->sampling;
	if (sampling == 0)
		sampling = 1;
	if (!side) {
		ports->counts.beyond++;
		return;
	}
	if (here && !side->samples_here) {
		side->mixed = side->any;
		side->samples_here = true;
	}
	if (here == side->samples_here)
		side_add(ports, side, sampling, packet, t_ns);
}

void sflow_ports_add(struct sflow_ports *ports, uint32_t agent, const struct sflow_sample *sample,
	const struct roce_packet *packet, int64_t t_ns)
{
	const bool of_port = sample->source_class == 0;
	const bool in = sample->input.kind == SFLOW_PORT_INDEX;
	const bool out = sample->output.kind == SFLOW_PORT_INDEX;
	const bool at_output = of_port && out && sample->source_index == sample->output.index &&
		!(in && sample->source_index == sample->input.index);
	const bool at_input = of_port && in && sample->source_index == sample->input.index;
	const bool unsaid = sample->input.kind == SFLOW_PORT_UNKNOWN &&
		sample->output.kind == SFLOW_PORT_UNKNOWN;
	if (unsaid) {
		ports->counts.portless++;
		ports_end_add(ports, side_at(ports, agent, 0, FLOW_DIR_UNKNOWN), true, sample,
			packet, t_ns);
	}
	if (in)
		ports_end_add(ports, side_at(ports, agent, sample->input.index, FLOW_DIR_IN),
			at_input, sample, packet, t_ns);
	if (out)
		ports_end_add(ports, side_at(ports, agent, sample->output.index, FLOW_DIR_OUT),
			at_output, sample, packet, t_ns);
}

/* ---- intervals ------------------------------------------------------------------ */

/* The rows of all ports of an interval, and where those of each begin. */
struct ports_rows {
	struct flow_sample *v;
	size_t n, cap;
	double *weights; /* of the flows, octets times rate */
	size_t n_weights, cap_weights;
};

static double row_weight(const struct flow_sample *row)
{
	return (double)row->octets * row->sampling;
}

static void rows_put(struct ports_rows *rows, const struct flow_sample *row)
{
	rw_grow(rows->v, rows->n, rows->cap);
	rows->v[rows->n++] = *row;
	if (row->total)
		return;
	rw_grow(rows->weights, rows->n_weights, rows->cap_weights);
	rows->weights[rows->n_weights++] = row_weight(row);
}

static void side_rows(struct sflow_side *side, int64_t from_ns, int64_t to_ns, uint32_t entity,
	struct ports_rows *rows)
{
	struct flow_sample v[1 + FLOW_TOP + FLOW_LOST];
	if (!side->flows) {
		const struct flow_sample none = {.from_ns = from_ns,
			.to_ns = to_ns,
			.entity = entity,
			.sampling = side->sampling,
			.dir = (uint8_t)side->dir,
			.total = true};
		rows_put(rows, &none);
		return;
	}
	const size_t n =
		flow_table_samples(side->flows, from_ns, to_ns, entity, side->dir, false, v);
	for (size_t i = 0; i < n && i <= SFLOW_ROWS_PORT; i++)
		rows_put(rows, &v[i]);
}

static int compare_weights(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;
	return (a < b) - (a > b);
}

/* The least weight that is kept. */
static double rows_least(struct ports_rows *rows)
{
	if (rows->n_weights <= SFLOW_ROWS_ALL)
		return 0;
	qsort(rows->weights, rows->n_weights, sizeof(*rows->weights), compare_weights);
	return rows->weights[SFLOW_ROWS_ALL - 1];
}

/* Port by port: the row of totals, then its flows. */
static void rows_deliver(struct ports_rows *rows, const struct sflow_ports_out *out)
{
	const double least = rows_least(rows);
	size_t begin = 0, kept = 0, flows = 0;
	for (size_t i = 0; i < rows->n; i++) {
		const struct flow_sample *row = &rows->v[i];
		if (row->total && kept > begin) {
			out->rows(out->arg, rows->v + begin, kept - begin);
			begin = kept;
		}
		const bool keep =
			row->total || (row_weight(row) >= least && flows < SFLOW_ROWS_ALL);
		flows += keep && !row->total;
		if (keep)
			rows->v[kept++] = *row;
	}
	if (kept > begin)
		out->rows(out->arg, rows->v + begin, kept - begin);
}

static void side_next(struct sflow_side *side)
{
	flow_table_free(side->flows);
	side->flows = NULL;
	if (side->any) {
		side->sampling = side->coarsest;
		side->idle = 0;
	} else if (side->idle < IDLE_MAX) {
		side->idle++;
	}
	side->coarsest = 0;
	side->any = side->mixed = false;
}

static bool side_looked_at(const struct sflow_side *side, const struct sflow_ports_out *out)
{
	if (side->any)
		return true;
	if (side->idle >= IDLE_MAX || side->sampling == 0)
		return false;
	return out->heard(out->arg, side->agent);
}

void sflow_ports_end(struct sflow_ports *ports, int64_t from_ns, int64_t to_ns,
	const struct sflow_ports_out *out)
{
	struct ports_rows rows = {0};
	for (size_t i = 0; i < ports->n; i++) {
		struct sflow_side *side = &ports->v[i];
		const bool looked_at = side_looked_at(side, out);
		if (looked_at && (side->mixed || ports->full)) {
			ports->counts.withheld++;
		} else if (looked_at && to_ns > from_ns) {
			const uint32_t entity = out->entity(out->arg, side->agent, side->ifindex);
			side_rows(side, from_ns, to_ns, entity, &rows);
		}
		side_next(side);
	}
	rows_deliver(&rows, out);
	free(rows.v);
	free(rows.weights);
	ports->taken = 0;
	ports->full = false;
}
