/*
 * xray_library - see xray_form.h.
 *
 * A function of the library is linear in the bits of a flow, so it is known by what each coordinate
 * adds to 16 bits of it. Which functions are worth a search is asked of all samples at once:
 *
 *   table     samples with ten equal bits have equal members more often than by chance
 *   modulo,   the Fourier transform of the choice (Walsh and Hadamard) tells which sums of bits a
 *   multiply  member leans on, whatever constant a seed adds; the samples must lean alike
 *
 * For the best functions all 65,536 constants are tried. Where none fits, all 32 bits of the hash
 * are tried, modulo the number of members (xray_whole.c).
 *
 * Sources: CRC-16/CCITT (0x1021), CRC-16/ANSI (0x8005), CRC-32 (0x04C11DB7, IEEE 802.3), CRC-32C
 * (0x1EDC6F41, RFC 3720). That switches use CRC16, CRC32, their upper or lower half and XOR folds
 * over such fields: SONiC and SAI (SAI_HASH_ALGORITHM_*), configuration guides of RTAG7.
 */

#include "analyzers/xray/xray_form.h"

enum {
	FIELDS = XRAY_FIELDS,
	FIELD_BYTES = 16,
	ORDERS_MAX =
		3 * 326, /* of five fields and their parts, with the queue pair before or after */
	SCREENED = 2048, /* samples that choose functions */
	AGREEING = 1024, /* of these, that choose tables */
	WINDOW = 10, /* bits that a table may have */
	CHARACTERS = 48,
	TABLES_TRIED = 8,
	FUNCTIONS_TRIED = 12,
	PAIRS = 64
};

/* ---- the functions --------------------------------------------------------- */

struct order {
	uint8_t n, field[FIELDS];
};

/* The value of a view is 16 bits of the hash. */
static const struct hash {
	const char *name;
	uint32_t polynomial; /* of a CRC; 0: XOR of 16-bit words */
	unsigned bits;
	unsigned views; /* whole or lower half, upper half, XOR of both */
} hashes[] = {
	{"CRC-16 0x1021", 0x1021, 16, 1},
	{"CRC-16 0x8005", 0x8005, 16, 1},
	{"CRC-32", 0x04C11DB7, 32, 3},
	{"CRC-32C", 0x1EDC6F41, 32, 3},
	{"XOR of 16 bits", 0, 16, 1},
};

struct function {
	uint8_t hash, view, reflected, swapped; /* swapped: the bytes of each field, last first */
	struct order order;
	uint16_t column[XRAY_BITS];
	double score[3]; /* by select */
	uint8_t offset; /* of the window, for tables */
};

struct library {
	const struct xray_points *points;
	uint8_t family;
	size_t n, cap;
	struct function *functions;
	struct map *known; /* columns that are there */
	struct xray_whole *whole; /* hashes of 32 bits; .number: of the names */
	size_t n_whole, cap_whole;
	struct function *named; /* whose hash and fields these are */
	size_t n_named, cap_named;
	/* points that choose, by label; each label begins a word of 64 */
	size_t screened, words;
	uint16_t *slot; /* of a point in the words */
	uint32_t label_words[XRAY_MEMBERS_MAX + 1], label_n[XRAY_MEMBERS_MAX];
};

static size_t library_field_bytes(enum xray_field field, uint8_t family)
{
	static const uint8_t bytes[FIELDS] = {4, 4, 2, 2, 1, 3};
	if (family == 6 && field <= XRAY_DST)
		return 16;
	return bytes[field];
}

static void library_put_field(const struct xray_flow *flow, enum xray_field field, uint8_t *ret)
{
	const uint32_t number[FIELDS] = {[XRAY_SRC_PORT] = (uint32_t)flow->src_port << 16,
		[XRAY_DST_PORT] = (uint32_t)flow->dst_port << 16,
		[XRAY_PROTOCOL] = (uint32_t)flow->protocol << 24,
		[XRAY_QP] = flow->dst_qp << 8};
	if (field == XRAY_SRC)
		memcpy(ret, flow->src, FIELD_BYTES);
	else if (field == XRAY_DST)
		memcpy(ret, flow->dst, FIELD_BYTES);
	else
		for (size_t i = 0; i < 4; i++)
			ret[i] = (uint8_t)(number[field] >> (24 - 8 * i));
}

/* The bytes that are hashed of a flow. Returns how many. */
static size_t library_bytes(const struct function *function, const struct xray_flow *flow,
	uint8_t ret[FIELDS * FIELD_BYTES])
{
	size_t n = 0;
	for (size_t f = 0; f < function->order.n; f++) {
		const enum xray_field field = function->order.field[f];
		const size_t size = library_field_bytes(field, flow->family);
		uint8_t bytes[FIELD_BYTES];
		library_put_field(flow, field, bytes);
		for (size_t i = 0; i < size; i++)
			ret[n++] = bytes[function->swapped ? size - 1 - i : i];
	}
	return n;
}

static uint32_t library_reverse(uint32_t value, unsigned bits)
{
	uint32_t reversed = 0;
	for (unsigned i = 0; i < bits; i++)
		reversed |= (value >> i & 1) << (bits - 1 - i);
	return reversed;
}

/* What a byte leaves behind in a register of a CRC. */
static void library_crc_table(const struct hash *hash, bool reflected, uint32_t ret[256])
{
	const uint32_t top = 1u << (hash->bits - 1), mask = top | (top - 1);
	const uint32_t polynomial = library_reverse(hash->polynomial, hash->bits);
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t value = reflected ? byte : byte << (hash->bits - 8);
		for (int i = 0; i < 8; i++) {
			if (reflected)
				value = value >> 1 ^ (value & 1 ? polynomial : 0);
			else
				value = value << 1 ^ (value & top ? hash->polynomial : 0);
		}
		ret[byte] = value & mask;
	}
}

/* Begun with 0: what a constant start adds is a constant. */
static uint32_t library_hash(
	const struct function *function, const uint32_t table[256], const uint8_t *bytes, size_t n)
{
	const struct hash *hash = &hashes[function->hash];
	const uint32_t mask = hash->bits == 32 ? UINT32_MAX : (1u << hash->bits) - 1;
	uint32_t value = 0;
	for (size_t i = 0; i < n; i++) {
		if (hash->polynomial == 0)
			value ^= (uint32_t)bytes[i] << (i % 2 == 0 ? 8 : 0);
		else if (function->reflected)
			value = value >> 8 ^ table[(value ^ bytes[i]) & 0xFF];
		else
			value = (value << 8 ^ table[value >> (hash->bits - 8) ^ bytes[i]]) & mask;
	}
	return value;
}

static uint16_t library_view(uint32_t value, unsigned view)
{
	if (view == 1)
		return (uint16_t)(value >> 16);
	if (view == 2)
		return (uint16_t)(value >> 16 ^ value);
	return (uint16_t)value;
}

/* Keeps the function unless it is zero, or equal to one that is there, on these flows. */
static void library_keep(struct library *library, const struct function *function)
{
	const size_t size = library->points->rank * sizeof(*function->column);
	const uint64_t key = hash_bytes(function->column, size, 0);
	uint64_t there;
	bool zero = true;
	for (size_t i = 0; i < library->points->rank && zero; i++)
		zero = function->column[i] == 0;
	if (zero || map_get(library->known, key, &there))
		return;
	map_put(library->known, key, library->n);
	rw_grow(library->functions, library->n, library->cap);
	library->functions[library->n++] = *function;
}

/* All 32 bits, unless they are there. */
static void library_keep_whole(
	struct library *library, const struct function *function, const uint32_t *value)
{
	const size_t size = library->points->rank * sizeof(*value);
	const uint64_t key = hash_bytes(value, size, 1);
	uint64_t there;
	if (map_get(library->known, key, &there))
		return;
	map_put(library->known, key, library->n_whole);
	rw_grow(library->whole, library->n_whole, library->cap_whole);
	struct xray_whole *whole = &library->whole[library->n_whole++];
	*whole = (struct xray_whole){.number = library->n_named};
	memcpy(whole->column, value, size);
	rw_grow(library->named, library->n_named, library->cap_named);
	library->named[library->n_named++] = *function;
}

static void library_add_order(
	struct library *library, const struct xray_bits *basis, const struct order *order)
{
	for (uint8_t h = 0; h < rw_countof(hashes); h++)
		for (uint8_t way = 0; way < 4; way++) {
			struct function function = {.hash = h,
				.order = *order,
				.reflected = way & 1,
				.swapped = way >> 1};
			uint32_t table[256], value[XRAY_BITS];
			if (hashes[h].polynomial == 0 && function.reflected)
				continue;
			if (hashes[h].polynomial)
				library_crc_table(&hashes[h], function.reflected, table);
			for (size_t i = 0; i < library->points->rank; i++) {
				const struct xray_flow flow =
					xray_flow_of(&basis[i], library->family);
				uint8_t bytes[FIELDS * FIELD_BYTES];
				const size_t n = library_bytes(&function, &flow, bytes);
				value[i] = library_hash(&function, table, bytes, n);
			}
			if (hashes[h].bits == 32)
				library_keep_whole(library, &function, value);
			for (uint8_t view = 0; view < hashes[h].views; view++) {
				function.view = view;
				for (size_t i = 0; i < library->points->rank; i++)
					function.column[i] = library_view(value[i], view);
				library_keep(library, &function);
			}
		}
}

static void library_add_orders(struct library *library, const struct xray_bits *basis, bool with_qp,
	struct order *order, unsigned taken)
{
	if (order->n > 0)
		library_add_order(library, basis, order);
	if (order->n > 0 && with_qp) {
		struct order more = *order;
		more.field[more.n++] = XRAY_QP;
		library_add_order(library, basis, &more);
		memmove(more.field + 1, more.field, order->n);
		more.field[0] = XRAY_QP;
		library_add_order(library, basis, &more);
	}
	for (uint8_t field = 0; field < XRAY_QP; field++) {
		if (taken >> field & 1)
			continue;
		order->field[order->n++] = field;
		library_add_orders(library, basis, with_qp, order, taken | 1u << field);
		order->n--;
	}
}

/* ---- values of many points -------------------------------------------------- */

/* The values of the first @n points, eight coordinates at a time. */
static void library_values(
	const struct library *library, const uint16_t *column, size_t n, uint16_t *ret)
{
	const size_t bytes = (library->points->rank + 7) / 8;
	static const size_t per_word = sizeof(uint64_t);
	uint16_t table[XRAY_BITS / 8][256];
	for (size_t k = 0; k < bytes; k++) {
		table[k][0] = 0;
		for (unsigned b = 1; b < 256; b++)
			table[k][b] =
				table[k][b & (b - 1)] ^ column[8 * k + (size_t)__builtin_ctz(b)];
	}
	for (size_t i = 0; i < n; i++) {
		const struct xray_bits *at = &library->points->at[i];
		uint16_t value = 0;
		for (size_t k = 0; k < bytes; k++)
			value ^= table[k][at->w[k / per_word] >> (8 * (k % per_word)) & 0xFF];
		ret[i] = value;
	}
}

/* ---- which functions are worth a search --------------------------------------- */

static void library_pick(struct library *library)
{
	const struct xray_points *points = library->points;
	uint32_t next[XRAY_MEMBERS_MAX] = {0};
	library->screened = points->n < SCREENED ? points->n : SCREENED;
	library->slot = rw_calloc(library->screened, sizeof(*library->slot));
	for (size_t i = 0; i < library->screened; i++)
		library->label_n[points->label[i]]++;
	for (size_t label = 0; label < points->n_labels; label++)
		library->label_words[label + 1] =
			library->label_words[label] + (library->label_n[label] + 63) / 64;
	library->words = library->label_words[points->n_labels];
	for (size_t i = 0; i < library->screened; i++) {
		const uint16_t label = points->label[i];
		library->slot[i] = (uint16_t)(64 * library->label_words[label] + next[label]++);
	}
}

/* Numbers of labels whose sum over all points is about 0: equal labels add up, others cancel. */
static void library_signs(const struct library *library, int32_t *ret)
{
	int64_t sum = 0;
	for (size_t label = 0; label < library->points->n_labels; label++) {
		const uint64_t chance = library->points->n_labels < 8 ? label : hash_u64(label + 1);
		ret[label] = chance & 1 ? 64 : -64;
		sum += ret[label] * (int64_t)library->label_n[label];
	}
	const int32_t mean = (int32_t)(sum / (int64_t)library->screened);
	for (size_t label = 0; label < library->points->n_labels; label++)
		ret[label] -= mean;
}

/* Do points with equal bits @offset to @offset + WINDOW have equal labels? In standard deviations
 * above chance. */
static double library_agree(const struct library *library, const uint16_t *values, unsigned offset,
	const int32_t *signs)
{
	static const size_t buckets = (size_t)1 << WINDOW;
	const size_t n = library->screened < AGREEING ? library->screened : AGREEING;
	int32_t sum[1 << WINDOW] = {0};
	uint16_t seen[1 << WINDOW] = {0};
	int64_t squares = 0, expected = 0;
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		const size_t bucket = values[i] >> offset & (buckets - 1);
		const int32_t sign = signs[library->points->label[i]];
		sum[bucket] += sign;
		seen[bucket]++;
		expected += (int64_t)sign * sign;
	}
	for (size_t b = 0; b < buckets; b++) {
		used += seen[b] > 0;
		squares += (int64_t)sum[b] * sum[b];
	}
	if (expected <= 0)
		return 0;
	return ((double)squares / (double)expected - 1) * sqrt((double)used / 2);
}

/* The characters that a choice leans on most, and how much. */
struct characters {
	uint16_t mask[CHARACTERS];
	double weight[CHARACTERS];
};

static void library_transform(int32_t *v)
{
	for (size_t half = 1; half < XRAY_VALUES; half *= 2)
		for (size_t i = 0; i < XRAY_VALUES; i += 2 * half)
			for (size_t k = i; k < i + half; k++) {
				const int32_t left = v[k], right = v[k + half];
				v[k] = left + right;
				v[k + half] = left - right;
			}
}

static void library_characters(enum xray_select select, size_t n, struct characters *ret)
{
	int32_t *v = rw_calloc(XRAY_VALUES, sizeof(*v));
	float *energy = rw_calloc(XRAY_VALUES, sizeof(*energy));
	double total = 0;
	for (size_t bucket = 0; bucket < n; bucket++) {
		for (size_t i = 0; i < XRAY_VALUES; i++)
			v[i] = xray_bucket(select, n, (uint16_t)i) == bucket;
		library_transform(v);
		for (size_t i = 1; i < XRAY_VALUES; i++)
			energy[i] += (float)v[i] * (float)v[i];
	}
	for (size_t c = 0; c < CHARACTERS; c++) {
		size_t best = 1;
		for (size_t i = 2; i < XRAY_VALUES; i++)
			if (energy[i] > energy[best])
				best = i;
		ret->mask[c] = (uint16_t)best;
		ret->weight[c] = energy[best];
		total += energy[best];
		energy[best] = -1;
	}
	for (size_t c = 0; c < CHARACTERS; c++)
		ret->weight[c] /= total;
	free(v);
	free(energy);
}

/* How unevenly the labels share out the two values of a sum of bits; 1: as chance has it. */
static double library_lean(const struct library *library, const uint64_t *odd)
{
	double all = 0, squares = 0;
	int64_t of_label[XRAY_MEMBERS_MAX];
	for (size_t label = 0; label < library->points->n_labels; label++) {
		int64_t ones = 0;
		for (size_t w = library->label_words[label]; w < library->label_words[label + 1];
			w++)
			ones += __builtin_popcountll(odd[w]);
		of_label[label] = (int64_t)library->label_n[label] - 2 * ones;
		all += (double)of_label[label];
	}
	all /= (double)library->screened;
	for (size_t label = 0; label < library->points->n_labels; label++) {
		const double beside =
			(double)of_label[label] - all * (double)library->label_n[label];
		squares += beside * beside;
	}
	return squares / (double)library->screened;
}

static double library_leans(const struct library *library, const uint64_t *planes,
	uint64_t *scratch, const struct characters *characters)
{
	double score = 0;
	for (size_t c = 0; c < CHARACTERS; c++) {
		memset(scratch, 0, library->words * sizeof(*scratch));
		for (unsigned rest = characters->mask[c]; rest; rest &= rest - 1) {
			const uint64_t *plane =
				planes + (size_t)__builtin_ctz(rest) * library->words;
			for (size_t w = 0; w < library->words; w++)
				scratch[w] ^= plane[w];
		}
		score += characters->weight[c] * (library_lean(library, scratch) - 1);
	}
	return score;
}

static void library_screen(struct library *library)
{
	struct characters modulo, multiply;
	int32_t signs[XRAY_MEMBERS_MAX];
	uint16_t *values = rw_calloc(library->screened, sizeof(*values));
	uint64_t *planes = rw_calloc(17 * library->words, sizeof(*planes));
	library_signs(library, signs);
	library_characters(XRAY_MODULO, library->points->n_labels, &modulo);
	library_characters(XRAY_MULTIPLY, library->points->n_labels, &multiply);
	for (size_t f = 0; f < library->n; f++) {
		struct function *function = &library->functions[f];
		library_values(library, function->column, library->screened, values);
		for (uint8_t offset = 0; offset <= 16 - WINDOW; offset++) {
			const double score = library_agree(library, values, offset, signs);
			if (offset == 0 || score > function->score[XRAY_TABLE]) {
				function->score[XRAY_TABLE] = score;
				function->offset = offset;
			}
		}
		memset(planes, 0, 16 * library->words * sizeof(*planes));
		for (size_t i = 0; i < library->screened; i++)
			for (unsigned rest = values[i]; rest; rest &= rest - 1)
				planes[(size_t)__builtin_ctz(rest) * library->words +
					library->slot[i] / 64] |= 1ull << (library->slot[i] % 64);
		function->score[XRAY_MODULO] =
			library_leans(library, planes, planes + 16 * library->words, &modulo);
		function->score[XRAY_MULTIPLY] =
			library_leans(library, planes, planes + 16 * library->words, &multiply);
	}
	free(values);
	free(planes);
}

/* The best function by @select that was not taken yet; NULL. */
static struct function *library_next(struct library *library, enum xray_select select)
{
	struct function *best = NULL;
	for (size_t i = 0; i < library->n; i++) {
		struct function *function = &library->functions[i];
		if (!isnan(function->score[select]) &&
			(!best || function->score[select] > best->score[select]))
			best = function;
	}
	return best;
}

/* ---- the search ------------------------------------------------------------------ */

struct found {
	struct xray_form form;
	const struct function *function;
	double fits; /* share of the points */
};

static void library_better(struct found *best, const struct found *other, double margin)
{
	if (other->fits > best->fits + margin)
		*best = *other;
}

/* The least bits of the window that foretell as well as any. */
static void library_try_table(
	const struct library *library, const struct function *function, struct found *ret)
{
	struct found best = {.fits = 0};
	for (unsigned width = 1; width <= WINDOW; width++) {
		struct found widest = {.fits = 0};
		for (unsigned offset = function->offset;
			offset + width <= (unsigned)function->offset + WINDOW; offset++) {
			struct found found = {.form = {.select = XRAY_TABLE,
						      .width = width,
						      .n_buckets = (size_t)1 << width,
						      .n_constants = 1},
				.function = function};
			for (size_t i = 0; i < library->points->rank; i++)
				found.form.column[i] = (uint16_t)(function->column[i] >> offset &
					((1u << width) - 1));
			found.fits = xray_form_foretold(&found.form, library->points);
			library_better(&widest, &found, 0);
		}
		library_better(&best, &widest, 0.01);
	}
	/* Bits of another function may hold the same choice among more of them. */
	if (best.fits > 0 && best.form.width < ret->form.width && best.fits + 0.01 > ret->fits)
		ret->fits = 0;
	library_better(ret, &best, 0.01);
}

/* Points that two and two have one label. */
struct couples {
	uint16_t left[PAIRS], right[PAIRS];
	size_t n;
};

static void library_couples(
	const struct library *library, const uint16_t *values, struct couples *ret)
{
	const struct xray_points *points = library->points;
	int64_t last[XRAY_MEMBERS_MAX];
	memset(last, 0xFF, sizeof(last));
	ret->n = 0;
	for (size_t i = 0; i < points->n && ret->n < PAIRS; i++) {
		int64_t *before = &last[points->label[i]];
		if (*before < 0) {
			*before = (int64_t)i;
			continue;
		}
		ret->left[ret->n] = values[*before];
		ret->right[ret->n++] = values[i];
		*before = -1;
	}
}

static bool library_couples_meet(
	const struct couples *couples, enum xray_select select, size_t n, uint16_t constant)
{
	size_t met = 0;
	for (size_t i = 0; i < couples->n; i++) {
		met += xray_bucket(select, n, couples->left[i] ^ constant) ==
			xray_bucket(select, n, couples->right[i] ^ constant);
		if (i == 11 && met < 6)
			return false;
	}
	return met * 10 >= couples->n * 6;
}

/* How many points have the label that most in their bucket have. */
static size_t library_count(const struct library *library, const uint16_t *values,
	enum xray_select select, uint16_t constant, uint32_t *count)
{
	const size_t n = library->points->n_labels;
	size_t fits = 0;
	memset(count, 0, n * n * sizeof(*count));
	for (size_t i = 0; i < library->points->n; i++)
		count[xray_bucket(select, n, values[i] ^ constant) * n +
			library->points->label[i]]++;
	for (size_t bucket = 0; bucket < n; bucket++) {
		uint32_t most = 0;
		for (size_t label = 0; label < n; label++)
			if (count[bucket * n + label] > most)
				most = count[bucket * n + label];
		fits += most;
	}
	return fits;
}

/* Of the constants that fit as well as the best, at most XRAY_CONSTANTS_MAX spread over all. */
static void library_take_constants(const uint32_t *fits, size_t best, struct xray_form *form)
{
	size_t equal = 0, nth = 0;
	for (size_t c = 0; c < XRAY_VALUES; c++)
		equal += fits[c] && fits[c] + XRAY_EQUALLY >= best;
	for (size_t c = 0; c < XRAY_VALUES; c++) {
		if (!fits[c] || fits[c] + XRAY_EQUALLY < best)
			continue;
		if (equal <= XRAY_CONSTANTS_MAX ||
			nth * XRAY_CONSTANTS_MAX / equal >= form->n_constants)
			form->constants[form->n_constants++] = (uint16_t)c;
		nth++;
	}
}

static void library_try_constants(const struct library *library, const struct function *function,
	enum xray_select select, struct found *ret)
{
	const size_t n = library->points->n_labels;
	uint16_t *values = rw_calloc(library->points->n, sizeof(*values));
	uint32_t *count = rw_calloc(n * n, sizeof(*count));
	uint32_t *fits = rw_calloc(XRAY_VALUES, sizeof(*fits));
	struct couples couples;
	size_t best = 0;
	library_values(library, function->column, library->points->n, values);
	library_couples(library, values, &couples);
	for (size_t c = 0; c < XRAY_VALUES; c++) {
		if (!library_couples_meet(&couples, select, n, (uint16_t)c))
			continue;
		fits[c] = (uint32_t)library_count(library, values, select, (uint16_t)c, count);
		if (fits[c] > best)
			best = fits[c];
	}
	if ((double)best > ret->fits * (double)library->points->n) {
		*ret = (struct found){.form = {.select = select, .width = 16, .n_buckets = n},
			.function = function,
			.fits = (double)best / (double)library->points->n};
		for (size_t i = 0; i < XRAY_BITS; i++)
			ret->form.column[i] = function->column[i];
		library_take_constants(fits, best, &ret->form);
	}
	free(values);
	free(count);
	free(fits);
}

static void library_try(struct library *library, enum xray_select select, struct found *ret)
{
	const size_t tries = select == XRAY_TABLE ? TABLES_TRIED : FUNCTIONS_TRIED;
	for (size_t i = 0; i < tries; i++) {
		struct function *function = library_next(library, select);
		if (!function || (select != XRAY_TABLE && ret->fits >= XRAY_FITS - 0.03))
			return;
		if (select == XRAY_TABLE)
			library_try_table(library, function, ret);
		else
			library_try_constants(library, function, select, ret);
		function->score[select] = NAN;
	}
}

/* A power of two is low bits: those need no library. */
static void library_try_whole(struct library *library, struct found *best)
{
	const size_t n = library->points->n_labels;
	const struct xray_whole *whole = NULL;
	uint32_t constant = 0;
	if (best->fits >= XRAY_FITS - 0.03 || (n & (n - 1)) == 0)
		return;
	const double fits =
		xray_whole(library->points, library->whole, library->n_whole, &whole, &constant);
	if (fits <= best->fits)
		return;
	*best = (struct found){.form = {.select = XRAY_MODULO,
				       .width = 32,
				       .n_buckets = n,
				       .n_constants = 1,
				       .constants = {constant}},
		.function = &library->named[whole->number],
		.fits = fits};
	memcpy(best->form.column, whole->column, sizeof(whole->column));
}

static bool library_search(const struct xray_points *points, const struct xray_bits *basis,
	uint8_t family, bool with_qp, struct xray_form *ret)
{
	struct library library = {.points = points, .family = family, .known = map_new()};
	struct found best = {.fits = 0};
	struct order order = {0};
	library_add_orders(&library, basis, with_qp, &order, 0);
	library_pick(&library);
	library_screen(&library);
	for (int select = XRAY_MULTIPLY; select >= XRAY_TABLE; select--) {
		struct found found = {.fits = 0};
		library_try(&library, (enum xray_select)select, &found);
		library_better(&best, &found, 0.01);
	}
	library_try_whole(&library, &best);
	const bool fits = best.fits >= XRAY_FITS - 0.03;
	if (fits) {
		*ret = best.form;
		ret->hash = hashes[best.function->hash].name;
		for (size_t i = 0; i < best.function->order.n; i++)
			ret->fields |= 1u << best.function->order.field[i];
	}
	free(library.slot);
	free(library.functions);
	free(library.whole);
	free(library.named);
	map_free(library.known);
	return fits;
}

bool xray_library(const struct xray_points *points, const struct xray_bits *basis, uint8_t family,
	struct xray_form *ret)
{
	bool with_qp = false;
	if (library_search(points, basis, family, false, ret))
		return true;
	for (size_t i = 0; i < points->rank; i++)
		with_qp = with_qp || (basis[i].w[4] & 0xFFFFFF) != 0;
	return with_qp && library_search(points, basis, family, true, ret);
}
