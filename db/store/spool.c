
#include "db/store/spool.h"

#include <arpa/inet.h>

#include "base/bytes.h"
#include "db/model/metric.h"

#define SPOOL_BYTES_MAX (256u << 20) /* of one row of the spool, unpacked */

/* spool_tables - the tables of a shipped store and their columns; records as rows, and back. */

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
	FLOW("lost_before", f.lost[FLOW_LOST_BEFORE]),
	FLOW("lost_beyond", f.lost[FLOW_LOST_BEYOND]),
	FLOW("lost_read", f.lost[FLOW_LOST_READ]),
	FLOW("lost_timer", f.lost[FLOW_LOST_TIMER]),
	FLOW("lost_ack", f.lost[FLOW_LOST_ACK]),
	FLOW("lost_rnr", f.lost[FLOW_LOST_RNR]),
	FLOW("missing", f.missing),
	FLOW("reacts", f.reacts),
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

static int spool_table_find(const char *name)
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

/*
 * spool_codec - the rows of the spool as bytes.
 *
 *   packed    zlib of: version 1, then parts to the end
 *   part 1    samples: devices, ports, names (device, port, priority + 1), metrics, texts,
 *             kinds (flags, source, window), then the samples, each against the one before
 *   part 2    a row: table, gone, columns (name, type, null, value)
 *
 * Numbers are LEB128, signed ones zigzag; texts are a length and bytes; doubles 8 bytes, little
 * end first.
 */

enum { SPOOL_VERSION = 1, PART_SAMPLES = 1, PART_ROW = 2 };

/* ---- writing -------------------------------------------------------------------- */

static void put_byte(struct str *out, unsigned byte)
{
	const char c = (char)byte;
	str_addn(out, &c, 1);
}

static void put_uint(struct str *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;
	while (value >= 0x80) {
		bytes[n++] = (char)(value | 0x80);
		value >>= 7;
	}
	bytes[n++] = (char)value;
	str_addn(out, bytes, n);
}

static void put_int(struct str *out, uint64_t value)
{
	put_uint(out, (value << 1) ^ (0 - (value >> 63)));
}

static void put_bits(struct str *out, uint64_t bits)
{
	char bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(bits >> (8 * i));
	str_addn(out, bytes, sizeof(bytes));
}

static void put_text(struct str *out, const char *text)
{
	const size_t n = strlen(text);
	put_uint(out, n);
	str_addn(out, text, n);
}

/* Words by number, in the order of their first use. */
struct word_list {
	struct smap *numbers;
	struct str bytes;
	uint64_t n;
};

static uint64_t word_number(struct word_list *words, const char *text)
{
	const size_t n = strlen(text);
	uint64_t number;
	if (smap_get(words->numbers, text, n, &number))
		return number;
	number = words->n++;
	smap_put(words->numbers, text, n, number);
	put_text(&words->bytes, text);
	return number;
}

static void words_put(struct str *out, struct word_list *words)
{
	put_uint(out, words->n);
	str_addn(out, str_or(words->bytes.s, ""), words->bytes.n);
	smap_free(words->numbers);
	str_done(&words->bytes);
}

static void put_names(struct str *out, const struct spool_samples *samples)
{
	struct word_list devices = {.numbers = smap_new()}, ports = {.numbers = smap_new()};
	rw_cleanup(str_done) struct str names = {0};
	for (size_t i = 0; i < samples->n_names; i++) {
		const struct spool_name *name = &samples->names[i];
		put_uint(&names, word_number(&devices, name->device));
		put_uint(&names, word_number(&ports, name->port));
		put_int(&names, (uint64_t)(int64_t)name->priority);
	}
	words_put(out, &devices);
	words_put(out, &ports);
	put_uint(out, samples->n_names);
	str_addn(out, str_or(names.s, ""), names.n);
}

static uint64_t kind_of(const struct sample *sample)
{
	return (uint64_t)sample->window_ms << 32 | (uint64_t)sample->source << 16 | sample->flags;
}

/* A letter for the type comes first, so that whoever does not know the metric can skip its values.
 */
static const char type_letters[] = {[TYPE_U64] = 'u', [TYPE_F64] = 'f', [TYPE_TEXT] = 't'};

static uint64_t metric_word(struct word_list *words, const struct metric_info *info)
{
	rw_cleanup(str_done) struct str word = {0};
	str_addf(&word, "%c%s", type_letters[info->type], info->name);
	return word_number(words, word.s);
}

/* The samples, and the metrics and kinds they use. */
static void put_values(struct str *out, const struct spool_samples *samples)
{
	struct word_list metrics = {.numbers = smap_new()};
	rw_cleanup(str_done) struct str kinds = {0}, values = {0};
	struct map *numbers = map_new();
	struct sample before = {0};
	uint64_t n_kinds = 0;
	int64_t metric_number[METRIC_COUNT];
	memset(metric_number, -1, sizeof(metric_number));
	for (size_t i = 0; i < samples->n; i++) {
		const struct sample *sample = &samples->v[i];
		const struct metric_info *info = metric_info(sample->metric);
		uint64_t kind;
		if (metric_number[sample->metric] < 0)
			metric_number[sample->metric] = (int64_t)metric_word(&metrics, info);
		if (!map_get(numbers, kind_of(sample), &kind)) {
			kind = n_kinds++;
			map_put(numbers, kind_of(sample), kind);
			put_uint(&kinds, kind_of(sample));
		}
		put_int(&values, (uint64_t)sample->entity - before.entity);
		put_uint(&values, (uint64_t)metric_number[sample->metric]);
		put_uint(&values, kind);
		put_int(&values, (uint64_t)sample->t_ns - (uint64_t)before.t_ns);
		if (info->type == TYPE_F64)
			put_bits(&values, sample->value);
		else
			put_uint(&values, sample->value);
		before = *sample;
	}
	map_free(numbers);
	words_put(out, &metrics);
	put_uint(out, n_kinds);
	str_addn(out, str_or(kinds.s, ""), kinds.n);
	put_uint(out, samples->n);
	str_addn(out, str_or(values.s, ""), values.n);
}

void spool_add_samples(struct str *out, const struct spool_samples *samples)
{
	put_byte(out, PART_SAMPLES);
	put_names(out, samples);
	put_uint(out, samples->n_texts);
	for (size_t i = 0; i < samples->n_texts; i++)
		put_text(out, samples->texts[i]);
	put_values(out, samples);
}

static void put_cell(struct str *out, const struct spool_cell *cell)
{
	put_byte(out, cell->type);
	put_byte(out, cell->null);
	if (cell->null)
		return;
	if (cell->type == COLUMN_TEXT)
		put_text(out, cell->text);
	else if (cell->type == COLUMN_REAL)
		put_bits(out, sample_of_f64(cell->real));
	else
		put_int(out, (uint64_t)cell->number);
}

void spool_add_row(struct str *out, const struct spool_row *row)
{
	size_t n;
	const struct record_column *columns = spool_columns(row->table, &n);
	put_byte(out, PART_ROW);
	put_text(out, spool_table_name(row->table));
	put_byte(out, row->gone);
	put_uint(out, n);
	for (size_t i = 0; i < n; i++) {
		put_text(out, columns[i].name);
		put_cell(out, &row->cells[i]);
	}
}

void spool_pack(const struct str *bytes, struct str *out)
{
	rw_cleanup(str_done) struct str whole = {0};
	put_byte(&whole, SPOOL_VERSION);
	str_addn(&whole, str_or(bytes->s, ""), bytes->n);
	deflate_bytes(DEFLATE_ZLIB, whole.s, whole.n, out);
}

/* ---- reading -------------------------------------------------------------------- */

static uint64_t get_int(struct bytes *in)
{
	const uint64_t value = bytes_varint(in);
	return (value >> 1) ^ (0 - (value & 1));
}

static uint64_t get_bits(struct bytes *in)
{
	const uint8_t *p = bytes_take(in, 8);
	uint64_t bits = 0;
	for (unsigned i = 0; p && i < 8; i++)
		bits |= (uint64_t)p[i] << (8 * i);
	return bits;
}

/* How many things follow, each of which takes at least a byte. */
static size_t get_count(struct bytes *in)
{
	const uint64_t n = bytes_varint(in);
	if (n <= bytes_left(in))
		return (size_t)n;
	in->bad = true;
	return 0;
}

static const char *get_text(struct bytes *in, struct arena *a)
{
	const size_t n = get_count(in);
	const uint8_t *p = bytes_take(in, n);
	if (!p)
		return "";
	return arena_strndup(a, (const char *)p, n);
}

static const char **get_words(struct bytes *in, struct arena *a, size_t *ret_n)
{
	*ret_n = get_count(in);
	const char **words = arena_array(a, const char *, *ret_n + 1);
	for (size_t i = 0; i < *ret_n; i++)
		words[i] = get_text(in, a);
	return words;
}

static void get_names(struct bytes *in, struct arena *a, struct spool_samples *ret)
{
	size_t n_devices, n_ports;
	const char **devices = get_words(in, a, &n_devices);
	const char **ports = get_words(in, a, &n_ports);
	const size_t n = get_count(in);
	struct spool_name *names = arena_array(a, struct spool_name, n + 1);
	for (size_t i = 0; i < n && bytes_ok(in); i++) {
		const uint64_t device = bytes_varint(in), port = bytes_varint(in);
		const int64_t priority = (int64_t)get_int(in);
		if (device >= n_devices || port >= n_ports || priority < PRIO_NONE ||
			priority > PRIO_MOST) {
			in->bad = true;
			return;
		}
		names[i] = (struct spool_name){devices[device], ports[port], (int)priority};
	}
	ret->names = names;
	ret->n_names = n;
}

struct spool_dictionary {
	int *metrics; /* ids of this program; -1: unknown, or of another type now */
	bool *real; /* the values are doubles */
	size_t n_metrics;
	uint64_t *kinds;
	size_t n_kinds;
};

static void get_dictionary(struct bytes *in, struct arena *a, struct spool_dictionary *ret)
{
	const char **names = get_words(in, a, &ret->n_metrics);
	ret->metrics = arena_array(a, int, ret->n_metrics + 1);
	ret->real = arena_array(a, bool, ret->n_metrics + 1);
	for (size_t i = 0; i < ret->n_metrics; i++) {
		const char letter = names[i][0];
		ret->real[i] = letter == type_letters[TYPE_F64];
		ret->metrics[i] = -1;
		if (letter)
			ret->metrics[i] = metric_by_name(names[i] + 1);
		if (ret->metrics[i] >= 0 &&
			type_letters[metric_info((unsigned)ret->metrics[i])->type] != letter)
			ret->metrics[i] = -1;
	}
	ret->n_kinds = get_count(in);
	ret->kinds = arena_array(a, uint64_t, ret->n_kinds + 1);
	for (size_t i = 0; i < ret->n_kinds; i++)
		ret->kinds[i] = bytes_varint(in);
}

/* One sample after @before; false: it is of a metric that this program does not know. */
static bool get_sample(struct bytes *in, const struct spool_dictionary *known,
	const struct spool_samples *samples, struct sample *before, struct sample *ret)
{
	const uint64_t entity = before->entity + get_int(in);
	const uint64_t metric = bytes_varint(in), kind = bytes_varint(in);
	const uint64_t t_ns = (uint64_t)before->t_ns + get_int(in);
	if (entity >= samples->n_names || metric >= known->n_metrics || kind >= known->n_kinds) {
		in->bad = true;
		return false;
	}
	*ret = (struct sample){.t_ns = (int64_t)t_ns,
		.entity = (uint32_t)entity,
		.window_ms = (uint32_t)(known->kinds[kind] >> 32),
		.source = (uint16_t)(known->kinds[kind] >> 16),
		.flags = (uint16_t)known->kinds[kind]};
	*before = *ret;
	if (known->real[metric])
		ret->value = get_bits(in);
	else
		ret->value = bytes_varint(in);
	if (known->metrics[metric] < 0)
		return false;
	ret->metric = (uint16_t)known->metrics[metric];
	if (metric_info(ret->metric)->type == TYPE_TEXT && ret->value >= samples->n_texts)
		in->bad = true;
	return bytes_ok(in);
}

static int read_samples(struct bytes *in, struct arena *a, const struct spool_reader *reader)
{
	struct spool_samples samples = {0};
	struct spool_dictionary known = {0};
	struct sample before = {0};
	get_names(in, a, &samples);
	samples.texts = get_words(in, a, &samples.n_texts);
	get_dictionary(in, a, &known);
	const size_t n = get_count(in);
	struct sample *v = arena_array(a, struct sample, n + 1);
	for (size_t i = 0; i < n && bytes_ok(in); i++)
		samples.n += get_sample(in, &known, &samples, &before, &v[samples.n]);
	samples.v = v;
	if (!bytes_ok(in))
		return -EBADMSG;
	if (!reader->samples)
		return 0;
	return reader->samples(reader->arg, &samples);
}

static void get_cell(struct bytes *in, struct arena *a, struct spool_cell *ret)
{
	const unsigned type = bytes_u8(in);
	*ret = (struct spool_cell){.type = (enum column_type)type};
	ret->null = bytes_u8(in) != 0;
	if (type > COLUMN_REAL)
		in->bad = true;
	if (ret->null)
		return;
	if (type == COLUMN_TEXT)
		ret->text = get_text(in, a);
	else if (type == COLUMN_REAL)
		ret->real = sample_f64(get_bits(in));
	else
		ret->number = (int64_t)get_int(in);
}

static void row_take_cell(struct spool_row *row, const char *name, const struct spool_cell *cell)
{
	size_t n;
	const struct record_column *columns = spool_columns(row->table, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(columns[i].name, name) == 0 && columns[i].type == cell->type)
			row->cells[i] = *cell;
}

static int read_row(struct bytes *in, struct arena *a, const struct spool_reader *reader)
{
	struct spool_row row = {0};
	const int table = spool_table_find(get_text(in, a));
	row.gone = bytes_u8(in) != 0;
	const size_t n = get_count(in);
	if (table >= 0) {
		size_t n_columns;
		row.table = (enum spool_table)table;
		const struct record_column *columns = spool_columns(row.table, &n_columns);
		for (size_t i = 0; i < n_columns; i++)
			row.cells[i] = (struct spool_cell){.type = columns[i].type, .null = true};
	}
	for (size_t i = 0; i < n && bytes_ok(in); i++) {
		struct spool_cell cell;
		const char *name = get_text(in, a);
		get_cell(in, a, &cell);
		if (table >= 0 && bytes_ok(in))
			row_take_cell(&row, name, &cell);
	}
	if (!bytes_ok(in))
		return -EBADMSG;
	if (table < 0 || !reader->row)
		return 0;
	return reader->row(reader->arg, &row);
}

static int spool_read(
	const void *data, size_t n, struct arena *a, const struct spool_reader *reader)
{
	rw_cleanup(freep) uint8_t *whole = NULL;
	size_t n_whole;
	if (inflate_bytes(data, n, SPOOL_BYTES_MAX, &whole, &n_whole) < 0)
		return -EBADMSG;
	struct bytes in = bytes_of(whole, n_whole);
	if (bytes_u8(&in) != SPOOL_VERSION)
		return -EBADMSG;
	int r = 0;
	while (r == 0 && bytes_left(&in) > 0) {
		switch (bytes_u8(&in)) {
		case PART_SAMPLES: r = read_samples(&in, a, reader); break;
		case PART_ROW: r = read_row(&in, a, reader); break;
		default: r = -EBADMSG;
		}
	}
	return r;
}

/* spool_batch - rows of the spool, read into memory. */

struct batch_reading {
	struct arena *a;
	struct spool_chunk *chunks;
	size_t n, cap;
	uint64_t n_samples, n_rows;
};

static int batch_take_samples(void *arg, const struct spool_samples *samples)
{
	struct batch_reading *reading = arg;
	struct spool_samples *kept =
		arena_copy(reading->a, samples, sizeof(*samples), sizeof(*samples));
	arena_grow(reading->a, reading->chunks, reading->n, reading->cap);
	reading->chunks[reading->n++] = (struct spool_chunk){.samples = kept};
	reading->n_samples += samples->n;
	return 0;
}

static int batch_take_row(void *arg, const struct spool_row *row)
{
	struct batch_reading *reading = arg;
	struct spool_row *kept = arena_copy(reading->a, row, sizeof(*row), sizeof(*row));
	arena_grow(reading->a, reading->chunks, reading->n, reading->cap);
	reading->chunks[reading->n++] = (struct spool_chunk){.row = kept};
	reading->n_rows++;
	return 0;
}

int spool_batch_add(
	struct spool_batch *batch, struct arena *a, int64_t seq, const void *data, size_t n)
{
	struct batch_reading reading = {.a = a};
	const struct spool_reader reader = {
		.samples = batch_take_samples, .row = batch_take_row, .arg = &reading};
	const int r = spool_read(data, n, a, &reader);
	if (r < 0)
		return r;
	arena_grow(a, batch->parts, batch->n, batch->cap);
	batch->parts[batch->n++] =
		(struct spool_part){.seq = seq, .chunks = reading.chunks, .n = reading.n};
	batch->n_samples += reading.n_samples;
	batch->n_rows += reading.n_rows;
	return 0;
}
