/* burst - groups, the blocks under way, and a queue of finished ones. */
#include "collectors/push/burst.h"

/* ---- burst_code ------------------------------------------------------------ */

/* burst_code - Rice codes of differences. */

enum { ESCAPE = 24, K_MAX = 48, RUN_K = 6 };
#define QUANTUM 0x80 /* in the mode: all differences are multiples of a number that follows */
enum burst_mode { MODE_CONSTANT, MODE_LINEAR, MODE_NOISE, MODE_SLOPE, MODE_SPARSE };

struct column_plan {
	enum burst_mode mode;
	unsigned k;
	uint64_t mean;
	size_t bits;
};

static uint64_t zigzag(uint64_t value)
{
	return (value << 1) ^ (0 - (value >> 63));
}

static uint64_t zigzag_back(uint64_t code)
{
	return (code >> 1) ^ (0 - (code & 1));
}

/* ---- writing ----------------------------------------------------------------- */

static void bits_byte(struct burst_bits *out, uint8_t byte)
{
	if (out->n == out->cap) {
		out->cap = out->cap * 2 + 256;
		out->v = rw_realloc(out->v, out->cap);
	}
	out->v[out->n++] = byte;
}

static void bits_put(struct burst_bits *out, uint64_t value, unsigned n)
{
	if (n > 32) {
		bits_put(out, value >> 32, n - 32);
		bits_put(out, value & 0xffffffff, 32);
		return;
	}
	out->held = (out->held << n) | (value & ((UINT64_C(1) << n) - 1));
	out->n_held += n;
	while (out->n_held >= 8) {
		out->n_held -= 8;
		bits_byte(out, (uint8_t)(out->held >> out->n_held));
	}
}

static void bits_end(struct burst_bits *out)
{
	if (out->n_held > 0)
		bits_put(out, 0, 8 - out->n_held);
	out->held = 0;
}

static void burst_put_varint(struct burst_bits *out, uint64_t value)
{
	while (value >= 0x80) {
		bits_byte(out, (uint8_t)(value | 0x80));
		value >>= 7;
	}
	bits_byte(out, (uint8_t)value);
}

static void rice_put(struct burst_bits *out, uint64_t value, unsigned k)
{
	const uint64_t q = value >> k;
	if (q >= ESCAPE) {
		bits_put(out, (1u << ESCAPE) - 1, ESCAPE);
		bits_put(out, value, 64);
		return;
	}
	bits_put(out, ((UINT64_C(1) << q) - 1) << 1, (unsigned)q + 1);
	bits_put(out, value, k);
}

static size_t rice_bits(uint64_t value, unsigned k)
{
	const uint64_t q = value >> k;
	if (q >= ESCAPE)
		return ESCAPE + 64;
	return (size_t)q + 1 + k;
}

/* The k that suits numbers whose sum is @sum: near log2 of the mean. */
static unsigned rice_k(double sum, size_t n)
{
	unsigned k = 0;
	double mean = sum / (double)n;
	while (mean >= 1.5 && k < K_MAX) {
		mean /= 2;
		k++;
	}
	return k;
}

static void plan_better(struct column_plan *plan, const struct column_plan *other)
{
	if (other->bits < plan->bits)
		*plan = *other;
}

/* @v: differences, @n of them. */
static void plan_noise(struct column_plan *plan, const uint64_t *v, size_t n, uint64_t mean)
{
	struct column_plan noise = {.mode = MODE_NOISE, .mean = mean, .bits = 8 * 6};
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)zigzag(v[i] - mean);
	noise.k = rice_k(sum, n);
	for (size_t i = 0; i < n; i++)
		noise.bits += rice_bits(zigzag(v[i] - mean), noise.k);
	plan_better(plan, &noise);
}

static void plan_slope(struct column_plan *plan, const uint64_t *v, size_t n)
{
	struct column_plan slope = {.mode = MODE_SLOPE, .bits = 8};
	uint64_t last = 0;
	double sum = 0;
	for (size_t i = 0; i < n; last = v[i++])
		sum += (double)zigzag(v[i] - last);
	slope.k = rice_k(sum, n);
	last = 0;
	for (size_t i = 0; i < n; last = v[i++])
		slope.bits += rice_bits(zigzag(v[i] - last), slope.k);
	plan_better(plan, &slope);
}

static void plan_sparse(struct column_plan *plan, const uint64_t *v, size_t n)
{
	struct column_plan sparse = {.mode = MODE_SPARSE, .bits = 8};
	double sum = 0;
	size_t some = 0, run = 0;
	for (size_t i = 0; i < n; i++) {
		some += v[i] != 0;
		sum += (double)zigzag(v[i]);
	}
	sparse.k = rice_k(sum, some);
	for (size_t i = 0; i < n; i++) {
		if (v[i] == 0) {
			run++;
			continue;
		}
		sparse.bits += rice_bits(run, RUN_K) + rice_bits(zigzag(v[i]), sparse.k);
		run = 0;
	}
	if (run > 0)
		sparse.bits += rice_bits(run, RUN_K);
	plan_better(plan, &sparse);
}

/* @v: differences, @n of them. */
static struct column_plan column_plan(const uint64_t *v, size_t n)
{
	struct column_plan plan = {.mode = MODE_CONSTANT, .bits = SIZE_MAX};
	bool zero = true, linear = true;
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		zero &= v[i] == 0;
		linear &= v[i] == v[0];
		sum = (int64_t)((uint64_t)sum + v[i]);
	}
	if (zero)
		return plan;
	if (linear)
		return (struct column_plan){.mode = MODE_LINEAR, .mean = v[0]};
	plan_sparse(&plan, v, n);
	plan_slope(&plan, v, n);
	plan_noise(&plan, v, n, (uint64_t)(sum / (int64_t)n));
	return plan;
}

static void sparse_put(struct burst_bits *out, const uint64_t *v, size_t n, unsigned k)
{
	size_t run = 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i] == 0) {
			run++;
			continue;
		}
		rice_put(out, run, RUN_K);
		rice_put(out, zigzag(v[i]), k);
		run = 0;
	}
	if (run > 0)
		rice_put(out, run, RUN_K);
}

static void codes_put(
	struct burst_bits *out, const uint64_t *v, size_t n, const struct column_plan *plan)
{
	uint64_t last = 0;
	bits_byte(out, (uint8_t)plan->k);
	if (plan->mode == MODE_SPARSE)
		sparse_put(out, v, n, plan->k);
	for (size_t i = 0; plan->mode == MODE_NOISE && i < n; i++)
		rice_put(out, zigzag(v[i] - plan->mean), plan->k);
	for (size_t i = 0; plan->mode == MODE_SLOPE && i < n; last = v[i++])
		rice_put(out, zigzag(v[i] - last), plan->k);
	bits_end(out);
}

/* The greatest number that divides all differences, which it does in place. Octets of frames that
 * are all equally large, and times on a grid. */
static uint64_t column_quantum(uint64_t *steps, size_t n)
{
	uint64_t quantum = 0;
	for (size_t i = 0; i < n && quantum != 1; i++) {
		uint64_t other = steps[i];
		if (other >> 63)
			other = 0 - other;
		while (other != 0) {
			const uint64_t rest = quantum % other;
			quantum = other;
			other = rest;
		}
	}
	if (quantum <= 1 || quantum >> 63)
		return 1;
	for (size_t i = 0; i < n; i++)
		steps[i] = (uint64_t)((int64_t)steps[i] / (int64_t)quantum);
	return quantum;
}

void burst_put_column(struct burst_bits *out, const uint64_t *v, size_t n)
{
	uint64_t steps[BURST_COLUMN_MAX];
	for (size_t i = 1; i < n; i++)
		steps[i - 1] = v[i] - v[i - 1];
	const uint64_t quantum = column_quantum(steps, n - 1);
	const struct column_plan plan = column_plan(steps, n - 1);
	uint8_t mode = (uint8_t)plan.mode;
	if (quantum > 1)
		mode |= QUANTUM;
	bits_byte(out, mode);
	burst_put_varint(out, v[0]);
	if (quantum > 1)
		burst_put_varint(out, quantum);
	if (plan.mode == MODE_LINEAR || plan.mode == MODE_NOISE)
		burst_put_varint(out, zigzag(plan.mean));
	if (plan.mode >= MODE_NOISE)
		codes_put(out, steps, n - 1, &plan);
}

/* ---- reading ----------------------------------------------------------------- */

struct bits_in {
	struct bytes *in;
	uint64_t held;
	unsigned n_held;
};

static uint64_t bits_get(struct bits_in *bits, unsigned n)
{
	if (n > 32) {
		const uint64_t high = bits_get(bits, n - 32);
		return (high << 32) | bits_get(bits, 32);
	}
	while (bits->n_held < n) {
		bits->held = (bits->held << 8) | bytes_u8(bits->in);
		bits->n_held += 8;
	}
	bits->n_held -= n;
	return (bits->held >> bits->n_held) & ((UINT64_C(1) << n) - 1);
}

static uint64_t rice_get(struct bits_in *bits, unsigned k)
{
	unsigned q = 0;
	while (q < ESCAPE && bits_get(bits, 1) == 1)
		q++;
	if (q == ESCAPE)
		return bits_get(bits, 64);
	return ((uint64_t)q << k) | bits_get(bits, k);
}

/* Differences into @ret. False: more zeros than there are ticks. */
static bool sparse_get(struct bits_in *bits, uint64_t *ret, size_t n, unsigned k)
{
	size_t i = 0;
	while (i < n && bytes_ok(bits->in)) {
		const uint64_t run = rice_get(bits, RUN_K);
		if (run > n - i)
			return false;
		memset(ret + i, 0, (size_t)run * sizeof(*ret));
		i += (size_t)run;
		if (i < n)
			ret[i++] = zigzag_back(rice_get(bits, k));
	}
	return true;
}

static bool codes_get(
	struct bytes *in, enum burst_mode mode, uint64_t mean, uint64_t *ret, size_t n)
{
	struct bits_in bits = {.in = in};
	const unsigned k = bytes_u8(in);
	uint64_t last = 0;
	if (k > K_MAX)
		return false;
	if (mode == MODE_SPARSE)
		return sparse_get(&bits, ret, n, k);
	for (size_t i = 0; i < n; i++) {
		const uint64_t code = zigzag_back(rice_get(&bits, k));
		ret[i] = code + mean;
		if (mode == MODE_SLOPE)
			ret[i] = last += code;
	}
	return true;
}

bool burst_get_column(struct bytes *in, uint64_t *ret, size_t n)
{
	const uint8_t first = bytes_u8(in), mode = first & ~QUANTUM;
	uint64_t value = bytes_varint(in), mean = 0, quantum = 1;
	ret[0] = value;
	if (first & QUANTUM)
		quantum = bytes_varint(in);
	if (mode > MODE_SPARSE || n == 0 || n > BURST_COLUMN_MAX)
		return false;
	if (mode == MODE_LINEAR || mode == MODE_NOISE)
		mean = zigzag_back(bytes_varint(in));
	if (mode >= MODE_NOISE) {
		if (!codes_get(in, (enum burst_mode)mode, mean, ret + 1, n - 1))
			return false;
	} else {
		for (size_t i = 1; i < n; i++)
			ret[i] = mean;
	}
	for (size_t i = 1; i < n; i++)
		ret[i] = value += ret[i] * quantum;
	return bytes_ok(in);
}

/* ---- burst ----------------------------------------------------------------- */

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
	const uint64_t groups = bytes_varint(in);
	if (!magic || memcmp(magic, burst_magic, sizeof(burst_magic)) != 0 || groups > BURST_GROUPS)
		return false;
	for (uint64_t g = 0; g < groups; g++) {
		struct burst_group *group = &reader->groups[reader->n_groups++];
		const uint64_t n = bytes_varint(in);
		/* a field has three bytes at least */
		if (n > BURST_FIELDS || n > bytes_left(in) / 3)
			return false;
		group->n = (size_t)n;
		group->fields = rw_calloc(group->n + 1, sizeof(*group->fields));
		for (size_t k = 0; k < group->n; k++) {
			group->fields[k].type = (uint32_t)bytes_varint(in);
			group->fields[k].stat = (uint32_t)bytes_varint(in);
			group->fields[k].object = (uint32_t)bytes_varint(in);
		}
	}
	return bytes_ok(in);
}

static bool reader_block(struct burst_reader *reader, struct bytes *in)
{
	const uint64_t group = bytes_varint(in), records = bytes_varint(in), n = bytes_varint(in);
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
