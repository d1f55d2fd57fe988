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
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "agent/base/inflate.h"
#include "agent/base/map.h"
#include "db/model/metric.h"
#include "db/store/spool.h"

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

static uint64_t get_uint(struct bytes *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = bytes_u8(in);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	in->bad = true;
	return 0;
}

static uint64_t get_int(struct bytes *in)
{
	const uint64_t value = get_uint(in);
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
	const uint64_t n = get_uint(in);
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
		const uint64_t device = get_uint(in), port = get_uint(in);
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
		ret->kinds[i] = get_uint(in);
}

/* One sample after @before; false: it is of a metric that this program does not know. */
static bool get_sample(struct bytes *in, const struct spool_dictionary *known,
	const struct spool_samples *samples, struct sample *before, struct sample *ret)
{
	const uint64_t entity = before->entity + get_int(in);
	const uint64_t metric = get_uint(in), kind = get_uint(in);
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
		ret->value = get_uint(in);
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

int spool_read(const void *data, size_t n, struct arena *a, const struct spool_reader *reader)
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
