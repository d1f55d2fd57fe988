/* spool_tables - the tables of a shipped store and their columns; records as rows, and back. */
#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "db/store/spool.h"

/* ---- flows and health, which are lists ---------------------------------------- */

struct spool_flow {
	const char *device, *port, *src, *dst;
	int64_t sampling, dir, total, host, family, src_port, dst_qp, flows;
	struct flow_sample f;
};
struct spool_health {
	const char *key, *unit;
	double value;
	int64_t t_ns;
};

#define PLACE_TYPE(type, member)                                                                   \
	_Generic(((type *)0)->member, const char *                                                 \
		 : COLUMN_TEXT, int64_t                                                            \
		 : COLUMN_I64, uint64_t                                                            \
		 : COLUMN_U64, double                                                              \
		 : COLUMN_REAL)
#define PLACE(type, name, member)                                                                  \
	{                                                                                          \
		name, PLACE_TYPE(type, member), offsetof(type, member)                             \
	}
#define FLOW(name, member) PLACE(struct spool_flow, name, member)

static const struct record_column spool_flow_columns[] = {
	FLOW("to_ns", f.to_ns),
	FLOW("from_ns", f.from_ns),
	FLOW("device", device),
	FLOW("port", port),
	FLOW("dir", dir),
	FLOW("sampling", sampling),
	FLOW("total", total),
	FLOW("host", host),
	FLOW("family", family),
	FLOW("src", src),
	FLOW("dst", dst),
	FLOW("src_port", src_port),
	FLOW("dst_qp", dst_qp),
	FLOW("packets", f.packets),
	FLOW("octets", f.octets),
	FLOW("ce", f.ce),
	FLOW("ect", f.ect),
	FLOW("cnp", f.cnp),
	FLOW("nak", f.nak),
	FLOW("retransmits", f.retransmits),
	FLOW("psn_gaps", f.psn_gaps),
	FLOW("data_packets", f.data_packets),
	FLOW("data_ect", f.data_ect),
	FLOW("burst_bps", f.burst_bps),
	FLOW("flows", flows),
	FLOW("sum_sq_octets", f.sum_sq_octets),
	FLOW("copies", f.copies),
	FLOW("capture_lost", f.capture_lost),
	FLOW("spray_octets", f.spray_octets),
	FLOW("answer_ce", f.answer.ce),
	FLOW("answer_cnp", f.answer.cnp),
	FLOW("answer_slots", f.answer.slots),
	FLOW("answer_directions", f.answer.directions),
	FLOW("answer_answered", f.answer.answered),
	FLOW("reaction_cnp", f.reaction.cnp),
	FLOW("reaction_unattributed", f.reaction.unattributed),
	FLOW("reaction_left_out", f.reaction.left_out),
	FLOW("reaction_pressed", f.reaction.pressed),
	FLOW("reaction_spacings", f.reaction.spacings),
	FLOW("reaction_spacing_s", f.reaction.spacing_s),
	FLOW("reaction_held", f.reaction.held),
	FLOW("reaction_held_sq", f.reaction.held_sq),
	FLOW("reaction_peak_bps", f.reaction.peak_bps),
	FLOW("reaction_n", f.reaction.all.n),
	FLOW("reaction_before", f.reaction.all.before),
	FLOW("reaction_after", f.reaction.all.after),
	FLOW("reaction_before_sq", f.reaction.all.before_sq),
	FLOW("reaction_after_sq", f.reaction.all.after_sq),
	FLOW("reaction_product", f.reaction.all.product),
	FLOW("alone_n", f.reaction.alone.n),
	FLOW("alone_before", f.reaction.alone.before),
	FLOW("alone_after", f.reaction.alone.after),
	FLOW("alone_before_sq", f.reaction.alone.before_sq),
	FLOW("alone_after_sq", f.reaction.alone.after_sq),
	FLOW("alone_product", f.reaction.alone.product),
	FLOW("reaction_clear", f.reaction.clear),
	FLOW("reaction_allowed", f.reaction.allowed),
};
_Static_assert(rw_countof(spool_flow_columns) <= SPOOL_COLUMNS, "a row has room for them");

static const struct record_column spool_health_columns[] = {
	PLACE(struct spool_health, "key", key),
	PLACE(struct spool_health, "t_ns", t_ns),
	PLACE(struct spool_health, "value", value),
	PLACE(struct spool_health, "unit", unit),
};

/* ---- the tables ---------------------------------------------------------------- */

/* .kind: whose columns the table has; .gone_kind: the record that says a row is no more. */
static const struct {
	const char *name;
	enum record_kind kind, gone_kind;
} spool_tables[SPOOL_TABLES] = {
	[SPOOL_CONFIGURATIONS] = {"configurations", RECORD_FABRIC, RECORD_KINDS},
	[SPOOL_TARGETS] = {"targets", RECORD_TARGET, RECORD_TARGET_GONE},
	[SPOOL_DEVICES] = {"devices", RECORD_DEVICE, RECORD_KINDS},
	[SPOOL_PORTS] = {"ports", RECORD_PORT, RECORD_KINDS},
	[SPOOL_INCIDENTS] = {"incidents", RECORD_INCIDENT, RECORD_KINDS},
	[SPOOL_RECOMMENDATIONS] = {"recommendations", RECORD_RECOMMENDATION, RECORD_KINDS},
	[SPOOL_SILENCES] = {"silences", RECORD_SILENCE, RECORD_KINDS},
	[SPOOL_ALERTS] = {"alerts", RECORD_ALERT, RECORD_ALERT_GONE},
	[SPOOL_EVENTS] = {"events", RECORD_EVENT, RECORD_KINDS},
	[SPOOL_BURSTS] = {"bursts", RECORD_BURST, RECORD_KINDS},
	[SPOOL_FINDINGS] = {"findings", RECORD_FINDING, RECORD_KINDS},
	[SPOOL_FLOWS] = {"flows", RECORD_FLOWS, RECORD_KINDS},
	[SPOOL_HEALTH] = {"health", RECORD_HEALTH, RECORD_KINDS},
	[SPOOL_REWINDS] = {"rewinds", RECORD_REWIND, RECORD_KINDS},
};

const char *spool_table_name(enum spool_table table)
{
	return spool_tables[table].name;
}

int spool_table_find(const char *name)
{
	for (int i = 0; i < SPOOL_TABLES; i++)
		if (strcmp(spool_tables[i].name, name) == 0)
			return i;
	return -1;
}

const struct record_column *spool_columns(enum spool_table table, size_t *ret_n)
{
	if (table == SPOOL_FLOWS) {
		*ret_n = rw_countof(spool_flow_columns);
		return spool_flow_columns;
	}
	if (table == SPOOL_HEALTH) {
		*ret_n = rw_countof(spool_health_columns);
		return spool_health_columns;
	}
	return record_columns(spool_tables[table].kind, ret_n);
}

/* ---- cells --------------------------------------------------------------------- */

static void cell_take(struct spool_cell *cell, enum column_type type, const void *at)
{
	*cell = (struct spool_cell){.type = type};
	switch (type) {
	case COLUMN_TEXT:
		cell->text = *(const char *const *)at;
		cell->null = !cell->text;
		break;
	case COLUMN_BOOL: cell->number = *(const bool *)at; break;
	case COLUMN_INT: cell->number = *(const int *)at; break;
	case COLUMN_I64:
	case COLUMN_U64: cell->number = *(const int64_t *)at; break;
	case COLUMN_REAL:
		cell->real = *(const double *)at;
		cell->null = !isfinite(cell->real);
		break;
	}
}

static void cell_give(const struct spool_cell *cell, enum column_type type, void *at)
{
	if (cell->type != type)
		return;
	switch (type) {
	case COLUMN_TEXT:
		if (!cell->null)
			*(const char **)at = cell->text;
		break;
	case COLUMN_BOOL: *(bool *)at = cell->number != 0; break;
	case COLUMN_INT: *(int *)at = (int)cell->number; break;
	case COLUMN_I64:
	case COLUMN_U64: *(int64_t *)at = cell->number; break;
	case COLUMN_REAL:
		*(double *)at = NAN;
		if (!cell->null)
			*(double *)at = cell->real;
		break;
	}
}

static void cells_empty(struct spool_row *row)
{
	size_t n;
	const struct record_column *columns = spool_columns(row->table, &n);
	for (size_t i = 0; i < n; i++)
		row->cells[i] = (struct spool_cell){.type = columns[i].type, .null = true};
}

static void cells_take(struct spool_row *row, const void *base)
{
	size_t n;
	const struct record_column *columns = spool_columns(row->table, &n);
	for (size_t i = 0; i < n; i++)
		cell_take(&row->cells[i], columns[i].type, (const char *)base + columns[i].offset);
}

static void cells_give(const struct spool_row *row, void *base)
{
	size_t n;
	const struct record_column *columns = spool_columns(row->table, &n);
	for (size_t i = 0; i < n; i++)
		cell_give(&row->cells[i], columns[i].type, (char *)base + columns[i].offset);
}

/* ---- records ------------------------------------------------------------------- */

/* The columns of a record that ends a row, by name among those of the table. */
static void cells_of_gone(struct spool_row *row, const struct store_record *record)
{
	size_t n, n_gone;
	const struct record_column *columns = spool_columns(row->table, &n);
	const struct record_column *gone = record_columns(record->kind, &n_gone);
	cells_empty(row);
	for (size_t k = 0; k < n_gone; k++)
		for (size_t i = 0; i < n; i++)
			if (strcmp(columns[i].name, gone[k].name) == 0)
				cell_take(&row->cells[i], gone[k].type,
					(const char *)record + gone[k].offset);
}

bool spool_row_of_record(const struct store_record *record, struct spool_row *ret)
{
	if (record->kind == RECORD_FLOWS || record->kind == RECORD_HEALTH)
		return false;
	for (unsigned i = 0; i < SPOOL_TABLES; i++) {
		ret->table = (enum spool_table)i;
		ret->gone = spool_tables[i].gone_kind == record->kind;
		if (ret->gone) {
			cells_of_gone(ret, record);
			return true;
		}
		if (spool_tables[i].kind == record->kind) {
			cells_take(ret, record);
			return true;
		}
	}
	return false;
}

bool spool_record_of_row(const struct spool_row *row, struct store_record *ret)
{
	size_t n, n_gone;
	if (row->table == SPOOL_FLOWS || row->table == SPOOL_HEALTH)
		return false;
	*ret = (struct store_record){.kind = spool_tables[row->table].kind};
	if (!row->gone) {
		cells_give(row, ret);
		return true;
	}
	ret->kind = spool_tables[row->table].gone_kind;
	if (ret->kind == RECORD_KINDS)
		return false;
	const struct record_column *columns = spool_columns(row->table, &n);
	const struct record_column *gone = record_columns(ret->kind, &n_gone);
	for (size_t k = 0; k < n_gone; k++)
		for (size_t i = 0; i < n; i++)
			if (strcmp(columns[i].name, gone[k].name) == 0)
				cell_give(
					&row->cells[i], gone[k].type, (char *)ret + gone[k].offset);
	return true;
}

/* ---- flows --------------------------------------------------------------------- */

static int spool_family(int64_t family)
{
	if (family == 4)
		return AF_INET;
	return AF_INET6;
}

static const char *address_text(uint8_t family, const uint8_t *address, struct arena *a)
{
	char text[INET6_ADDRSTRLEN];
	if (family == 0 || !inet_ntop(spool_family(family), address, text, sizeof(text)))
		return NULL;
	return arena_strdup(a, text);
}

void spool_row_of_flow(const struct flow_sample *flow, const char *device, const char *port,
	struct arena *a, struct spool_row *ret)
{
	const struct spool_flow from = {.device = device,
		.port = port,
		.src = address_text(flow->key.family, flow->key.src, a),
		.dst = address_text(flow->key.family, flow->key.dst, a),
		.sampling = flow->sampling,
		.dir = flow->dir,
		.total = flow->total,
		.host = flow->host,
		.family = flow->key.family,
		.src_port = flow->key.src_port,
		.dst_qp = flow->key.dst_qp,
		.flows = flow->flows,
		.f = *flow};
	ret->table = SPOOL_FLOWS;
	ret->gone = false;
	cells_take(ret, &from);
}

static double real_or_zero(double value)
{
	if (isnan(value))
		return 0;
	return value;
}

void spool_flow_of_row(const struct spool_row *row, struct flow_sample *ret,
	const char **ret_device, const char **ret_port)
{
	struct spool_flow to = {0};
	cells_give(row, &to);
	*ret = to.f;
	ret->entity = 0;
	ret->sum_sq_octets = real_or_zero(ret->sum_sq_octets);
	ret->sampling = (uint32_t)to.sampling;
	ret->dir = (uint8_t)to.dir;
	ret->total = to.total != 0;
	ret->host = to.host != 0;
	ret->key = (struct flow_key){.family = (uint8_t)to.family,
		.src_port = (uint16_t)to.src_port,
		.dst_qp = (uint32_t)to.dst_qp};
	ret->flows = (uint32_t)to.flows;
	if (to.src)
		inet_pton(spool_family(to.family), to.src, ret->key.src);
	if (to.dst)
		inet_pton(spool_family(to.family), to.dst, ret->key.dst);
	*ret_device = to.device;
	*ret_port = to.port;
}

/* ---- health -------------------------------------------------------------------- */

void spool_row_of_health(const struct store_health *health, int64_t t_ns, struct spool_row *ret)
{
	const struct spool_health from = {
		.key = health->key, .unit = health->unit, .value = health->value, .t_ns = t_ns};
	ret->table = SPOOL_HEALTH;
	ret->gone = false;
	cells_take(ret, &from);
}

void spool_health_of_row(const struct spool_row *row, struct store_health *ret, int64_t *ret_t_ns)
{
	struct spool_health to = {0};
	cells_give(row, &to);
	*ret = (struct store_health){.key = to.key, .unit = to.unit, .value = to.value};
	*ret_t_ns = to.t_ns;
}
