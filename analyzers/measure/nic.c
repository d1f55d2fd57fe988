/* nic - gathers the series of NICs: one pass over those of nic.* metrics, by the rows of
 * observe.def. */
#include "analyzers/measure/nic.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "analyzers/measure/input.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

enum nic_kind { NIC_COUNTER, NIC_MEAN, NIC_STATE, NIC_WORDS };
enum { NIC_BOUND_NONE, NIC_BOUND_TIME };

struct nic_row {
	uint16_t metric;
	uint8_t kind, bound;
	uint16_t offset;
};

static const struct nic_row nic_rows[] = {
#define NIC(metric, field, kind, bound)                                                            \
	{M_##metric, NIC_##kind, NIC_BOUND_##bound, offsetof(struct nic_seen, field)},
#include "analyzers/measure/observe.def"
};
static const struct nic_row nic_prio_rows[] = {
#define NIC_PRIO(metric, field, kind, bound)                                                       \
	{M_##metric, NIC_##kind, NIC_BOUND_##bound, offsetof(struct nic_prio, field)},
#include "analyzers/measure/observe.def"
};

struct nic_maker {
	const struct analyzer_in *in;
	struct arena *a;
	struct nics *nics;
	size_t cap;
	struct map *index; /* entity of a NIC -> its position */
};

static struct nic_seen *nic_of(struct nic_maker *maker, uint32_t entity)
{
	uint64_t at;
	struct nics *nics = maker->nics;
	if (map_get(maker->index, entity, &at))
		return &nics->v[at];
	const struct entity *e = entity_get(maker->in->window->entities, entity);
	if (!e || !*e->port)
		return NULL;
	arena_grow(maker->a, nics->v, nics->n, maker->cap);
	map_put(maker->index, entity, nics->n);
	struct nic_seen *nic = &nics->v[nics->n++];
	*nic = (struct nic_seen){.host = e->device,
		.name = e->port,
		.pci_stall_rd = NAN,
		.pci_stall_wr = NAN,
		.cable_m = NAN};
	return nic;
}

static void nic_put(
	struct nic_maker *maker, char *base, const struct nic_row *row, const struct series *series)
{
	const struct window *window = maker->in->window;
	double *number = (double *)(base + row->offset);
	uint64_t words;
	switch ((enum nic_kind)row->kind) {
	case NIC_COUNTER:
		*(struct amount *)(base + row->offset) = amount_of(series, window,
			row->bound == NIC_BOUND_TIME ? PORT_RATE_PLAUSIBLE * 1e9 : 0);
		break;
	case NIC_MEAN: *number = amount_mean(series, window); break;
	case NIC_STATE: *number = amount_state(series, window); break;
	case NIC_WORDS:
		if (series_state(series, window->to_ns, INT64_MAX, &words) == 0 && words)
			*(const char **)(base + row->offset) =
				entities_text_get(window->entities, words);
		break;
	}
}

/* Calls @put for each series of the row's metric. */
static void nic_gather(struct nic_maker *maker, const struct nic_row *row, bool of_priority)
{
	const struct window *window = maker->in->window;
	for (size_t i = window_metric(window, row->metric);
		i < window->n_series && window->series[i].metric == row->metric; i++) {
		const struct series *s = &window->series[i];
		const struct entity *e = entity_get(window->entities, s->entity);
		if (!e || !s->n)
			continue;
		if (of_priority && (e->priority < 0 || e->priority >= OBSERVED_PRIORITIES))
			continue;
		struct nic_seen *nic = nic_of(maker, of_priority ? e->parent : s->entity);
		if (nic && of_priority)
			nic_put(maker, (char *)&nic->prios[e->priority], row, s);
		else if (nic)
			nic_put(maker, (char *)nic, row, s);
	}
}

static const struct nics *nics_make(const struct analyzer_in *in, struct arena *a)
{
	struct nic_maker maker = {.in = in, .a = a, .nics = arena_new_of(a, struct nics)};
	maker.index = map_new();
	for (size_t i = 0; i < rw_countof(nic_rows); i++)
		nic_gather(&maker, &nic_rows[i], false);
	for (size_t i = 0; i < rw_countof(nic_prio_rows); i++)
		nic_gather(&maker, &nic_prio_rows[i], true);
	map_free(maker.index);
	nics_join(maker.nics, observe(in), a);
	return maker.nics;
}

const struct nics *nics_seen(const struct analyzer_in *in)
{
	if (!in->shared)
		return nics_make(in, in->arena);
	if (!in->shared->nics)
		in->shared->nics = nics_make(in, in->shared->arena);
	return in->shared->nics;
}

const struct nic_seen *nic_at(const struct nics *nics, const struct port_seen *port)
{
	if (!port->in_fabric || !nics->of_port)
		return NULL;
	return nics->of_port[port->port->index];
}

static double nic_stalled_seconds(const struct amount *amount)
{
	if (!amount->known)
		return NAN;
	return amount->value * 1e9 / (double)amount->covered_ns;
}

double nic_pci_stall(const struct nic_seen *nic)
{
	/* fmax() of NAN and a number is the number */
	return fmax(nic->pci_stall_rd, nic->pci_stall_wr);
}

double nic_pci_stalled_seconds(const struct nic_seen *nic)
{
	return fmax(nic_stalled_seconds(&nic->pci_stall_rd_s),
		nic_stalled_seconds(&nic->pci_stall_wr_s));
}
