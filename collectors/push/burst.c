/* burst - groups, the blocks under way, and a queue of finished ones. */
#include "collectors/push/burst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "collectors/push/burst_code.h"

#define STAGE_BYTES ((size_t)1 << 20) /* of the blocks under way of a group, about */
enum { RECORDS_MIN = 16, RECORDS_MAX = 256 };

static const char burst_magic[4] = {'R', 'W', 'B', '1'};

struct burst_block {
	struct burst_block *next;
	uint32_t group;
	uint32_t records;
	int64_t from_ns, to_ns;
	size_t n;
	uint8_t v[];
};

struct burst_group {
	struct burst_field *fields;
	size_t n;
	size_t room; /* records of a block */
	uint64_t *stage; /* by field, then by record; NULL before the first record */
	uint64_t *times;
	size_t staged;
	int64_t last_ns;
};

struct burst {
	size_t bytes_max, bytes;
	struct burst_group groups[BURST_GROUPS];
	size_t n_groups;
	struct burst_block *first, *last;
	uint64_t dropped, disorder;
	struct burst_bits bits;
};

struct burst *burst_new(size_t bytes)
{
	struct burst *burst = rw_calloc(1, sizeof(*burst));
	burst->bytes_max = bytes;
	return burst;
}

/* ---- blocks ---------------------------------------------------------------- */

static size_t burst_stage_bytes(const struct burst_group *group)
{
	return (group->n + 1) * group->room * sizeof(uint64_t);
}

static size_t burst_block_bytes(const struct burst_block *block)
{
	return sizeof(*block) + block->n;
}

static void burst_drop(struct burst *burst)
{
	struct burst_block *block = burst->first;
	burst->first = block->next;
	if (!burst->first)
		burst->last = NULL;
	burst->bytes -= burst_block_bytes(block);
	burst->dropped++;
	free(block);
}

static void burst_room(struct burst *burst)
{
	while (burst->first && burst->bytes > burst->bytes_max)
		burst_drop(burst);
}

/* The records under way become a block. */
static void burst_seal(struct burst *burst, uint32_t at)
{
	struct burst_group *group = &burst->groups[at];
	if (group->staged == 0)
		return;
	burst->bits.n = 0;
	burst_put_column(&burst->bits, group->times, group->staged);
	for (size_t i = 0; i < group->n; i++)
		burst_put_column(&burst->bits, group->stage + i * group->room, group->staged);
	struct burst_block *block = rw_calloc(1, sizeof(*block) + burst->bits.n);
	*block = (struct burst_block){.group = at,
		.records = (uint32_t)group->staged,
		.from_ns = (int64_t)group->times[0],
		.to_ns = (int64_t)group->times[group->staged - 1],
		.n = burst->bits.n};
	memcpy(block->v, burst->bits.v, block->n);
	if (burst->last)
		burst->last->next = block;
	else
		burst->first = block;
	burst->last = block;
	burst->bytes += burst_block_bytes(block);
	group->staged = 0;
	burst_room(burst);
}

/* ---- groups ---------------------------------------------------------------- */

static size_t burst_records(size_t fields)
{
	const size_t n = STAGE_BYTES / sizeof(uint64_t) / (fields + 1);
	if (n > RECORDS_MAX)
		return RECORDS_MAX;
	if (n < RECORDS_MIN)
		return RECORDS_MIN;
	return n;
}

uint32_t burst_group(struct burst *burst, const struct burst_field *fields, size_t n)
{
	for (size_t i = 0; i < burst->n_groups; i++) {
		const struct burst_group *group = &burst->groups[i];
		if (group->n == n && memcmp(group->fields, fields, n * sizeof(*fields)) == 0)
			return (uint32_t)i;
	}
	if (burst->n_groups == BURST_GROUPS || n == 0 || n > BURST_FIELDS)
		return BURST_NONE;
	struct burst_group *group = &burst->groups[burst->n_groups];
	*group = (struct burst_group){.n = n, .room = burst_records(n), .last_ns = INT64_MIN};
	if (burst->bytes + burst_stage_bytes(group) > burst->bytes_max && !burst->first)
		return BURST_NONE; /* groups under way alone would need more than there is */
	group->fields = rw_calloc(n, sizeof(*fields));
	memcpy(group->fields, fields, n * sizeof(*fields));
	return (uint32_t)burst->n_groups++;
}

uint64_t *burst_row(struct burst *burst, uint32_t at, int64_t t_ns, size_t *ret_stride)
{
	if (at >= burst->n_groups)
		return NULL;
	struct burst_group *group = &burst->groups[at];
	if (t_ns <= group->last_ns) {
		burst->disorder++;
		return NULL;
	}
	if (!group->stage) {
		group->stage = rw_calloc(group->n * group->room, sizeof(*group->stage));
		group->times = rw_calloc(group->room, sizeof(*group->times));
		burst->bytes += burst_stage_bytes(group);
		burst_room(burst);
	}
	if (group->staged == group->room)
		burst_seal(burst, at);
	group->last_ns = t_ns;
	group->times[group->staged] = (uint64_t)t_ns;
	*ret_stride = group->room;
	return group->stage + group->staged++;
}

/* ---- what is kept ------------------------------------------------------------ */

static void burst_span_add(
	struct burst_span *span, int64_t from_ns, int64_t to_ns, size_t records, size_t fields)
{
	if (span->records == 0 || from_ns < span->from_ns)
		span->from_ns = from_ns;
	if (span->records == 0 || to_ns > span->to_ns)
		span->to_ns = to_ns;
	span->records += records;
	span->values += (uint64_t)records * fields;
}

void burst_span(const struct burst *burst, struct burst_span *ret)
{
	*ret = (struct burst_span){
		.bytes = burst->bytes, .dropped = burst->dropped, .disorder = burst->disorder};
	for (const struct burst_block *b = burst->first; b; b = b->next)
		burst_span_add(ret, b->from_ns, b->to_ns, b->records, burst->groups[b->group].n);
	for (size_t i = 0; i < burst->n_groups; i++) {
		const struct burst_group *group = &burst->groups[i];
		if (group->staged > 0)
			burst_span_add(ret, (int64_t)group->times[0],
				(int64_t)group->times[group->staged - 1], group->staged, group->n);
	}
}

/* ---- writing ----------------------------------------------------------------- */

static void burst_put(struct burst_bits *out, const void *data, size_t n)
{
	const size_t need = out->n + n;
	if (need > out->cap) {
		out->cap = need + need / 2;
		out->v = rw_realloc(out->v, out->cap);
	}
	memcpy(out->v + out->n, data, n);
	out->n += n;
}

static void burst_put_groups(const struct burst *burst, struct burst_bits *out)
{
	burst_put(out, burst_magic, sizeof(burst_magic));
	burst_put_varint(out, burst->n_groups);
	for (size_t i = 0; i < burst->n_groups; i++) {
		const struct burst_group *group = &burst->groups[i];
		burst_put_varint(out, group->n);
		for (size_t k = 0; k < group->n; k++) {
			burst_put_varint(out, group->fields[k].type);
			burst_put_varint(out, group->fields[k].stat);
			burst_put_varint(out, group->fields[k].object);
		}
	}
}

size_t burst_write(struct burst *burst, int64_t from_ns, int64_t to_ns, uint8_t **ret)
{
	struct burst_bits out = {0};
	size_t blocks = 0;
	for (uint32_t i = 0; i < burst->n_groups; i++)
		burst_seal(burst, i);
	burst_put_groups(burst, &out);
	for (const struct burst_block *b = burst->first; b; b = b->next) {
		if (b->to_ns < from_ns || b->from_ns > to_ns)
			continue;
		burst_put_varint(&out, b->group);
		burst_put_varint(&out, b->records);
		burst_put_varint(&out, b->n);
		burst_put(&out, b->v, b->n);
		blocks++;
	}
	*ret = out.v;
	if (blocks > 0)
		return out.n;
	free(out.v);
	*ret = NULL;
	return 0;
}

void burst_free(struct burst *burst)
{
	if (!burst)
		return;
	while (burst->first)
		burst_drop(burst);
	for (size_t i = 0; i < burst->n_groups; i++) {
		free(burst->groups[i].fields);
		free(burst->groups[i].stage);
		free(burst->groups[i].times);
	}
	free(burst->bits.v);
	free(burst);
}

/* ---- reading ----------------------------------------------------------------- */

struct burst_reader {
	struct burst_group groups[BURST_GROUPS];
	size_t n_groups;
	burst_read_fn *fn;
	void *arg;
	uint64_t times[BURST_COLUMN_MAX], values[BURST_COLUMN_MAX];
	int64_t t_ns[BURST_COLUMN_MAX];
};

static bool reader_groups(struct burst_reader *reader, struct bytes *in)
{
	const uint8_t *magic = bytes_take(in, sizeof(burst_magic));
	const uint64_t groups = burst_get_varint(in);
	if (!magic || memcmp(magic, burst_magic, sizeof(burst_magic)) != 0 || groups > BURST_GROUPS)
		return false;
	for (uint64_t g = 0; g < groups; g++) {
		struct burst_group *group = &reader->groups[reader->n_groups++];
		const uint64_t n = burst_get_varint(in);
		/* a field has three bytes at least */
		if (n > BURST_FIELDS || n > bytes_left(in) / 3)
			return false;
		group->n = (size_t)n;
		group->fields = rw_calloc(group->n + 1, sizeof(*group->fields));
		for (size_t k = 0; k < group->n; k++) {
			group->fields[k].type = (uint32_t)burst_get_varint(in);
			group->fields[k].stat = (uint32_t)burst_get_varint(in);
			group->fields[k].object = (uint32_t)burst_get_varint(in);
		}
	}
	return bytes_ok(in);
}

static bool reader_block(struct burst_reader *reader, struct bytes *in)
{
	const uint64_t group = burst_get_varint(in), records = burst_get_varint(in),
		       n = burst_get_varint(in);
	if (group >= reader->n_groups || records == 0 || records > BURST_COLUMN_MAX ||
		n > bytes_left(in))
		return false;
	struct bytes block = bytes_of(bytes_take(in, (size_t)n), (size_t)n);
	if (!burst_get_column(&block, reader->times, (size_t)records))
		return false;
	for (size_t i = 0; i < records; i++)
		reader->t_ns[i] = (int64_t)reader->times[i];
	const struct burst_group *own = &reader->groups[group];
	for (size_t i = 0; i < own->n; i++) {
		if (!burst_get_column(&block, reader->values, (size_t)records))
			return false;
		reader->fn(reader->arg, &own->fields[i], reader->t_ns, reader->values,
			(size_t)records);
	}
	return bytes_left(&block) == 0;
}

int burst_read(const uint8_t *data, size_t n, burst_read_fn *fn, void *arg)
{
	struct bytes in = bytes_of(data, n);
	struct burst_reader *reader = rw_calloc(1, sizeof(*reader));
	reader->fn = fn;
	reader->arg = arg;
	bool ok = reader_groups(reader, &in);
	while (ok && bytes_left(&in) > 0)
		ok = reader_block(reader, &in);
	for (size_t i = 0; i < reader->n_groups; i++)
		free(reader->groups[i].fields);
	free(reader);
	if (!ok)
		return -EBADMSG;
	return 0;
}
