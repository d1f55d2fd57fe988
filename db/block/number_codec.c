/* number_codec - see the header. A form is a row of a table: how it is read. The writer counts the
 * bytes of all forms first and then writes the smallest. */
#include "db/block/number_codec.h"

#include "db/block/bits.h"
#include "db/model/metric.h"

enum number_form {
	NUMBER_CONSTANT,
	NUMBER_STEP,
	NUMBER_SPARSE,
	NUMBER_PACKED,
	NUMBER_DELTA,
	NUMBER_DELTA2,
	NUMBER_XOR,
	NUMBER_FORMS
};

enum { MINI = 32 }; /* numbers that share a width */
enum { NUMBER_DIVIDED = 0x10 }; /* set in the byte of the form: a divisor was written */

/* ---- writing -------------------------------------------------------------- */

/* What the passes over a column found. */
struct number_shape {
	uint64_t min, min_delta, min_delta2; /* the two differences are signed */
	size_t sparse_bytes;
	uint32_t changes;
	bool constant, step;
};

static uint64_t smaller_signed(uint64_t left, uint64_t right)
{
	if ((int64_t)left < (int64_t)right)
		return left;
	return right;
}

static struct number_shape number_look(const uint64_t *v, uint32_t n)
{
	struct number_shape shape = {.min = v[0],
		.min_delta = INT64_MAX,
		.min_delta2 = INT64_MAX,
		.constant = true,
		.step = true};
	uint64_t before = 0;
	uint32_t changed = 0;

	for (uint32_t i = 1; i < n; i++) {
		const uint64_t delta = v[i] - v[i - 1];
		if (v[i] < shape.min)
			shape.min = v[i];
		if (delta != 0) {
			shape.sparse_bytes += bits_uvar_size(i - changed);
			shape.sparse_bytes += bits_uvar_size(bits_zigzag(delta));
			shape.changes++;
			changed = i;
		}
		shape.min_delta = smaller_signed(shape.min_delta, delta);
		if (i > 1) {
			shape.min_delta2 = smaller_signed(shape.min_delta2, delta - before);
			shape.step = shape.step && delta == before;
		}
		before = delta;
	}
	shape.constant = shape.changes == 0;
	return shape;
}

/* What a packed form packs: number @i of the column less the smallest of its kind. */
static inline uint64_t number_rest(
	const uint64_t *v, uint32_t i, enum number_form form, uint64_t base)
{
	switch (form) {
	case NUMBER_DELTA: return v[i] - v[i - 1] - base;
	case NUMBER_DELTA2: return v[i] - 2 * v[i - 1] + v[i - 2] - base;
	default: return v[i] - base;
	}
}

static uint32_t number_first(enum number_form form)
{
	switch (form) {
	case NUMBER_DELTA: return 1;
	case NUMBER_DELTA2: return 2;
	default: return 0;
	}
}

struct number_plan {
	enum number_form form;
	uint64_t base, divisor;
	size_t bytes; /* of the packed numbers with their widths */
};

static uint64_t number_divisor(const uint64_t *v, uint32_t n, enum number_form form, uint64_t base)
{
	uint64_t divisor = 0;

	for (uint32_t i = number_first(form); i < n && divisor != 1; i++) {
		uint64_t rest = number_rest(v, i, form, base);
		while (rest) {
			const uint64_t left = divisor % rest;
			divisor = rest;
			rest = left;
		}
	}
	if (divisor == 0)
		return 1;
	return divisor;
}

static inline __attribute__((always_inline)) struct number_plan number_planned(
	const uint64_t *v, uint32_t n, const enum number_form form, uint64_t base)
{
	struct number_plan plan = {
		.form = form, .base = base, .divisor = number_divisor(v, n, form, base)};

	for (uint32_t i = number_first(form); i < n; i += MINI) {
		uint32_t end = i + MINI;
		uint64_t max = 0;
		if (end > n)
			end = n;
		for (uint32_t j = i; j < end; j++) {
			const uint64_t rest = number_rest(v, j, form, base);
			if (rest > max)
				max = rest;
		}
		if (plan.divisor > 1)
			max /= plan.divisor;
		plan.bytes += 1 + bits_bytes(end - i, bits_width(max));
	}
	return plan;
}

/* One mini: its width, then the numbers. */
static void number_pack(const uint64_t *rest, uint32_t n, struct str *out)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= rest[i];
	const unsigned width = bits_width(any);
	const size_t size = bits_bytes(n, width);
	uint8_t *at = bits_room(out, 1 + size + BITS_PAD);
	*at++ = (uint8_t)width;
	memset(at, 0, size + BITS_PAD);
	for (uint32_t i = 0; i < n && width; i++)
		bits_set(at, i, width, rest[i]);
	out->n += 1 + size;
}

static void number_write_packed(
	const uint64_t *v, uint32_t n, const struct number_plan *plan, struct str *out)
{
	uint64_t rest[MINI];

	for (uint32_t i = number_first(plan->form); i < n; i += MINI) {
		uint32_t m = n - i;
		if (m > MINI)
			m = MINI;
		for (uint32_t j = 0; j < m; j++)
			rest[j] = number_rest(v, i + j, plan->form, plan->base);
		for (uint32_t j = 0; j < m && plan->divisor > 1; j++)
			rest[j] /= plan->divisor;
		number_pack(rest, m, out);
	}
}

static void number_write_sparse(const uint64_t *v, uint32_t n, uint32_t changes, struct str *out)
{
	uint32_t changed = 0;

	bits_add_uvar(out, v[0]);
	bits_add_uvar(out, changes);
	for (uint32_t i = 1; i < n; i++) {
		if (v[i] == v[i - 1])
			continue;
		bits_add_uvar(out, i - changed);
		bits_add_uvar(out, bits_zigzag(v[i] - v[i - 1]));
		changed = i;
	}
}

static void number_write_plan(
	const uint64_t *v, uint32_t n, const struct number_plan *plan, struct str *out)
{
	unsigned form = plan->form;

	if (plan->divisor > 1)
		form |= NUMBER_DIVIDED;
	bits_add_u8(out, form);
	if (plan->form != NUMBER_PACKED)
		bits_add_uvar(out, v[0]);
	if (plan->form == NUMBER_DELTA2)
		bits_add_uvar(out, bits_zigzag(v[1] - v[0]));
	if (plan->form == NUMBER_PACKED)
		bits_add_uvar(out, plan->base);
	else
		bits_add_uvar(out, bits_zigzag(plan->base));
	if (plan->divisor > 1)
		bits_add_uvar(out, plan->divisor);
	number_write_packed(v, n, plan, out);
}

void number_encode(const uint64_t *values, uint32_t n, struct str *out)
{
	const struct number_shape shape = number_look(values, n);

	if (shape.constant) {
		bits_add_u8(out, NUMBER_CONSTANT);
		bits_add_uvar(out, values[0]);
		return;
	}
	if (shape.step) {
		bits_add_u8(out, NUMBER_STEP);
		bits_add_uvar(out, values[0]);
		bits_add_uvar(out, bits_zigzag(values[1] - values[0]));
		return;
	}
	struct number_plan best = number_planned(values, n, NUMBER_DELTA, shape.min_delta);
	const struct number_plan packed = number_planned(values, n, NUMBER_PACKED, shape.min);
	if (packed.bytes < best.bytes)
		best = packed;
	if (n > 2) {
		const struct number_plan second =
			number_planned(values, n, NUMBER_DELTA2, shape.min_delta2);
		if (second.bytes < best.bytes)
			best = second;
	}
	if (shape.sparse_bytes < best.bytes) {
		bits_add_u8(out, NUMBER_SPARSE);
		number_write_sparse(values, n, shape.changes, out);
		return;
	}
	number_write_plan(values, n, &best, out);
}

/* ---- doubles --------------------------------------------------------------- */

enum { DECIMALS_MAX = 15, DECIMALS_NONE = 0xff };

static const double powers_of_ten[DECIMALS_MAX + 1] = {
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* The whole number behind a decimal fraction; false where it does not come back bit for bit. */
static bool number_decimal(uint64_t bits, unsigned decimals, uint64_t *ret)
{
	const double scaled = sample_f64(bits) * powers_of_ten[decimals];

	if (!(fabs(scaled) < 9e15)) /* not a number, or more digits than a double holds */
		return false;
	const int64_t whole = llrint(scaled);
	*ret = bits_zigzag((uint64_t)whole);
	return sample_of_f64((double)whole / powers_of_ten[decimals]) == bits;
}

/* number_decimals - the least decimals that hold for all; DECIMALS_NONE when none do. */
static unsigned number_decimals(const uint64_t *bits, uint32_t n, uint64_t *ret)
{
	unsigned decimals = 0;

	for (uint32_t i = 0; i < n; i++) {
		const unsigned before = decimals;
		while (decimals <= DECIMALS_MAX && !number_decimal(bits[i], decimals, &ret[i]))
			decimals++;
		if (decimals > DECIMALS_MAX)
			return DECIMALS_NONE;
		if (decimals != before && i > 0)
			i = UINT32_MAX; /* from the start, with more decimals */
	}
	return decimals;
}

static void number_write_xor(const uint64_t *bits, uint32_t n, struct str *out)
{
	uint64_t rest[MINI];

	bits_add_u8(out, NUMBER_XOR);
	bits_store(bits_room(out, sizeof(*bits)), bits[0]);
	out->n += sizeof(*bits);
	for (uint32_t i = 1; i < n; i += MINI) {
		uint32_t m = n - i;
		uint64_t any = 0;
		unsigned zeros = 0;
		if (m > MINI)
			m = MINI;
		for (uint32_t j = 0; j < m; j++) {
			rest[j] = bits[i + j] ^ bits[i + j - 1];
			any |= rest[j];
		}
		if (any)
			zeros = (unsigned)__builtin_ctzll(any);
		for (uint32_t j = 0; j < m; j++)
			rest[j] >>= zeros;
		bits_add_u8(out, zeros);
		number_pack(rest, m, out);
	}
}

void number_encode_f64(const uint64_t *bits, uint32_t n, uint64_t *scratch, struct str *out)
{
	const unsigned decimals = number_decimals(bits, n, scratch);
	const size_t begin = out->n;

	bits_add_u8(out, DECIMALS_NONE);
	number_write_xor(bits, n, out);
	if (decimals == DECIMALS_NONE)
		return;
	rw_cleanup(str_done) struct str whole = {0};
	bits_add_u8(&whole, decimals);
	number_encode(scratch, n, &whole);
	if (whole.n > out->n - begin)
		return;
	out->n = begin;
	str_addn(out, whole.s, whole.n);
}

/* ---- reading --------------------------------------------------------------- */

/* One mini of @n numbers into @ret. */
static void number_unpack(struct bytes *bytes, uint32_t n, uint64_t *ret)
{
	uint8_t padded[MINI * 8 + BITS_PAD];
	const unsigned width = bytes_u8(bytes);

	const size_t size = bits_bytes(n, width);
	const size_t left = bytes_left(bytes);
	const uint8_t *packed = bytes_take(bytes, size);
	if (width > 64 || !packed) {
		bytes->bad = true;
		memset(ret, 0, n * sizeof(*ret));
		return;
	}
	if (left < size + BITS_PAD) {
		memcpy(padded, packed, size);
		memset(padded + size, 0, BITS_PAD);
		packed = padded;
	}
	for (uint32_t i = 0; i < n; i++)
		ret[i] = bits_get(packed, i, width);
}

static uint32_t number_mini(uint32_t n, uint32_t i)
{
	if (n - i < MINI)
		return n - i;
	return MINI;
}

static void number_read_constant(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	const uint64_t value = bits_uvar(bytes);

	for (uint32_t i = 0; i < n; i++)
		ret[i] = value;
}

static void number_read_step(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	uint64_t value = bits_uvar(bytes);
	const uint64_t step = bits_unzigzag(bits_uvar(bytes));

	for (uint32_t i = 0; i < n; i++) {
		ret[i] = value;
		value += step;
	}
}

static void number_read_sparse(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	uint64_t value = bits_uvar(bytes), changes = bits_uvar(bytes);
	uint32_t i = 0;

	for (; changes > 0 && bytes_ok(bytes); changes--) {
		const uint64_t run = bits_uvar(bytes);
		if (run == 0 || run > n - 1 - i) {
			bytes->bad = true;
			return;
		}
		for (const uint32_t end = i + (uint32_t)run; i < end; i++)
			ret[i] = value;
		value += bits_unzigzag(bits_uvar(bytes));
	}
	for (; i < n; i++)
		ret[i] = value;
}

static uint64_t number_read_divisor(struct bytes *bytes, bool divided)
{
	if (divided)
		return bits_uvar(bytes);
	return 1;
}

static void number_read_packed(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	const uint64_t base = bits_uvar(bytes), divisor = number_read_divisor(bytes, divided);

	for (uint32_t i = 0; i < n && bytes_ok(bytes); i += MINI) {
		const uint32_t m = number_mini(n, i);
		number_unpack(bytes, m, ret + i);
		for (uint32_t j = i; j < i + m; j++)
			ret[j] = base + ret[j] * divisor;
	}
}

static void number_read_delta(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	uint64_t value = bits_uvar(bytes);
	const uint64_t base = bits_unzigzag(bits_uvar(bytes));
	const uint64_t divisor = number_read_divisor(bytes, divided);

	ret[0] = value;
	for (uint32_t i = 1; i < n && bytes_ok(bytes); i += MINI) {
		const uint32_t m = number_mini(n, i);
		number_unpack(bytes, m, ret + i);
		for (uint32_t j = i; j < i + m; j++) {
			value += base + ret[j] * divisor;
			ret[j] = value;
		}
	}
}

static void number_read_delta2(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	uint64_t value = bits_uvar(bytes), delta = bits_unzigzag(bits_uvar(bytes));
	const uint64_t base = bits_unzigzag(bits_uvar(bytes));
	const uint64_t divisor = number_read_divisor(bytes, divided);

	ret[0] = value;
	value += delta;
	if (n > 1)
		ret[1] = value;
	for (uint32_t i = 2; i < n && bytes_ok(bytes); i += MINI) {
		const uint32_t m = number_mini(n, i);
		number_unpack(bytes, m, ret + i);
		for (uint32_t j = i; j < i + m; j++) {
			delta += base + ret[j] * divisor;
			value += delta;
			ret[j] = value;
		}
	}
}

static void number_read_xor(struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret)
{
	const uint8_t *first = bytes_take(bytes, sizeof(*ret));

	if (!first)
		return;
	uint64_t value = bits_load(first);
	ret[0] = value;
	for (uint32_t i = 1; i < n && bytes_ok(bytes); i += MINI) {
		const uint32_t m = number_mini(n, i);
		const unsigned zeros = bytes_u8(bytes);
		if (zeros > 63) {
			bytes->bad = true;
			return;
		}
		number_unpack(bytes, m, ret + i);
		for (uint32_t j = i; j < i + m; j++) {
			value ^= ret[j] << zeros;
			ret[j] = value;
		}
	}
}

static void (*const number_readers[NUMBER_FORMS])(
	struct bytes *bytes, uint32_t n, bool divided, uint64_t *ret) = {
	[NUMBER_CONSTANT] = number_read_constant,
	[NUMBER_STEP] = number_read_step,
	[NUMBER_SPARSE] = number_read_sparse,
	[NUMBER_PACKED] = number_read_packed,
	[NUMBER_DELTA] = number_read_delta,
	[NUMBER_DELTA2] = number_read_delta2,
	[NUMBER_XOR] = number_read_xor,
};

int number_decode(struct bytes *bytes, uint32_t n, uint64_t *ret, bool *ret_constant)
{
	const unsigned kind = bytes_u8(bytes), form = kind & ~NUMBER_DIVIDED;

	if (!bytes_ok(bytes) || form >= NUMBER_FORMS || n == 0)
		return -EBADMSG;
	if (ret_constant)
		*ret_constant = form == NUMBER_CONSTANT;
	number_readers[form](bytes, n, kind & NUMBER_DIVIDED, ret);
	if (!bytes_ok(bytes))
		return -EBADMSG;
	return 0;
}

int number_decode_f64(struct bytes *bytes, uint32_t n, uint64_t *ret, bool *ret_constant)
{
	const unsigned decimals = bytes_u8(bytes);

	if (decimals != DECIMALS_NONE && decimals > DECIMALS_MAX)
		return -EBADMSG;
	const int r = number_decode(bytes, n, ret, ret_constant);
	if (r < 0 || decimals == DECIMALS_NONE)
		return r;
	const double power = powers_of_ten[decimals];
	for (uint32_t i = 0; i < n; i++)
		ret[i] = sample_of_f64((double)(int64_t)bits_unzigzag(ret[i]) / power);
	return 0;
}
