/*
 * xray_whole - all 32 bits of a hash, modulo a number of members that is no power of two; see
 * xray_form.h.
 *
 * Two flows whose hashes agree in all but the lower k bits have one member exactly when the lower
 * parts differ by a multiple of the number of members: the upper part cancels. So the lower k bits
 * of the constant that a seed adds can be sought by themselves (2^k of them; one and its complement
 * are the same choice), and then each bit above by the pairs that differ up to it. Which functions
 * are worth it is asked of the Fourier transform of the choice, as in xray_library.c: over 32 bits
 * it is a product of one factor a bit, so its largest values are found bit by bit.
 */

#include "analyzers/xray/xray_form.h"

enum {
	BITS = 32,
	BEAM = 24, /* sums of bits that are followed from bit to bit */
	SUMS = 192, /* that are asked of each function */
	EQUAL_MIN = 12, /* pairs with one member, to choose a constant by */
	EQUAL_GOAL = 20,
	PAIRS_MOST = 4096,
	LOW_LEAST = 16,
	LOW_MOST = 22,
	TRIED = 6 /* functions whose constant is completed */
};
#define CONSTANTS_MOST 2e8 /* of all functions together: some seconds */
#define HITS_LEAST 0.7 /* of the pairs with one member */

struct sum { /* of bits of the hash, and how much the choice leans on it */
	uint32_t mask;
	double energy;
};
struct pair {
	uint32_t left, right; /* hashes */
	bool equal; /* one member */
};
struct whole {
	const struct xray_points *points;
	size_t n_labels;
	/* points by label, each label from a word of 64 on */
	uint32_t *slot, first_word[XRAY_MEMBERS_MAX + 1], of_label[XRAY_MEMBERS_MAX];
	size_t words;
	uint32_t *hash; /* of the points, by the function at hand */
	uint64_t *sorted; /* hash, then number of the point */
	struct pair pairs[PAIRS_MOST];
	size_t n_pairs;
};

/* ---- which functions are worth a search ------------------------------------------ */

static int whole_by_energy(const void *left, const void *right)
{
	const double a = ((const struct sum *)left)->energy;
	const double b = ((const struct sum *)right)->energy;
	return (a < b) - (a > b);
}

static int whole_by_mask(const void *left, const void *right)
{
	const uint32_t a = ((const struct sum *)left)->mask;
	const uint32_t b = ((const struct sum *)right)->mask;
	return (a > b) - (a < b);
}

/* The sums of bits that "hash modulo @n" leans on most: of exp(2 pi i k hash / n) bit j brings the
 * factor |cos(pi k 2^j / n)| where it is left out of the sum, and |sin| where it is in. */
static size_t whole_sums(size_t n, struct sum ret[SUMS])
{
	struct sum *all = rw_calloc(n / 2 * BEAM + 1, sizeof(*all)), beam[2 * BEAM];
	size_t n_all = 0, kept = 0;
	for (size_t k = 1; k <= n / 2; k++) {
		size_t n_beam = 1;
		uint64_t turn = k; /* k 2^j modulo n */
		beam[0] = (struct sum){0, 1};
		for (unsigned bit = 0; bit < BITS; bit++, turn = turn * 2 % n) {
			const double angle = M_PI * (double)turn / (double)n;
			const double out = cos(angle) * cos(angle), in = sin(angle) * sin(angle);
			for (size_t i = 0; i < n_beam; i++) {
				beam[n_beam + i] =
					(struct sum){beam[i].mask | 1u << bit, beam[i].energy * in};
				beam[i].energy *= out;
			}
			n_beam *= 2;
			qsort(beam, n_beam, sizeof(*beam), whole_by_energy);
			if (n_beam > BEAM)
				n_beam = BEAM;
		}
		for (size_t i = 0; i < n_beam; i++)
			if (beam[i].mask)
				all[n_all++] = beam[i];
	}
	qsort(all, n_all, sizeof(*all), whole_by_mask);
	for (size_t i = 0; i < n_all; i++) {
		if (kept > 0 && all[kept - 1].mask == all[i].mask)
			all[kept - 1].energy += all[i].energy;
		else
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(*all), whole_by_energy);
	if (kept > SUMS)
		kept = SUMS;
	memcpy(ret, all, kept * sizeof(*ret));
	free(all);
	return kept;
}

static void whole_hash(struct whole *w, const uint32_t *column)
{
	const size_t bytes = (w->points->rank + 7) / 8;
	uint32_t table[XRAY_BITS / 8][256];
	for (size_t k = 0; k < bytes; k++) {
		table[k][0] = 0;
		for (unsigned b = 1; b < 256; b++)
			table[k][b] =
				table[k][b & (b - 1)] ^ column[8 * k + (size_t)__builtin_ctz(b)];
	}
	for (size_t i = 0; i < w->points->n; i++) {
		const struct xray_bits *at = &w->points->at[i];
		uint32_t value = 0;
		for (size_t k = 0; k < bytes; k++)
			value ^= table[k][at->w[k / 8] >> (8 * (k % 8)) & 0xFF];
		w->hash[i] = value;
	}
}

/* How unevenly the labels share out the two values of a sum, above what chance brings. */
static double whole_lean(const struct whole *w, const uint64_t *odd)
{
	double mean = 0, squares = 0, of_label[XRAY_MEMBERS_MAX];
	for (size_t label = 0; label < w->n_labels; label++) {
		size_t ones = 0;
		for (size_t i = w->first_word[label]; i < w->first_word[label + 1]; i++)
			ones += (size_t)__builtin_popcountll(odd[i]);
		of_label[label] = (double)w->of_label[label] - 2 * (double)ones;
		mean += of_label[label] / (double)w->points->n;
	}
	for (size_t label = 0; label < w->n_labels; label++) {
		const double beside = of_label[label] - mean * (double)w->of_label[label];
		squares += beside * beside / (double)w->of_label[label];
	}
	return squares / (double)(w->n_labels - 1) - 1;
}

static double whole_score(struct whole *w, const struct sum *sums, size_t n_sums, uint64_t *planes)
{
	uint64_t *odd = planes + BITS * w->words;
	double score = 0;
	memset(planes, 0, BITS * w->words * sizeof(*planes));
	for (size_t i = 0; i < w->points->n; i++)
		for (uint32_t rest = w->hash[i]; rest; rest &= rest - 1)
			planes[(size_t)__builtin_ctz(rest) * w->words + w->slot[i] / 64] |= 1ull
				<< (w->slot[i] % 64);
	for (size_t s = 0; s < n_sums; s++) {
		memset(odd, 0, w->words * sizeof(*odd));
		for (uint32_t rest = sums[s].mask; rest; rest &= rest - 1) {
			const uint64_t *plane = planes + (size_t)__builtin_ctz(rest) * w->words;
			for (size_t i = 0; i < w->words; i++)
				odd[i] ^= plane[i];
		}
		score += sums[s].energy * whole_lean(w, odd);
	}
	return score;
}

/* ---- the constant ------------------------------------------------------------------ */

static int whole_by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void whole_sort(struct whole *w)
{
	for (size_t i = 0; i < w->points->n; i++)
		w->sorted[i] = (uint64_t)w->hash[i] << 32 | i;
	qsort(w->sorted, w->points->n, sizeof(*w->sorted), whole_by_value);
}

/* The pairs that agree from bit @low on; @differ: and differ in the bit below that. */
static void whole_pairs(struct whole *w, unsigned low, bool differ)
{
	const size_t n = w->points->n;
	w->n_pairs = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n && w->n_pairs < PAIRS_MOST; k++) {
			const uint32_t left = (uint32_t)(w->sorted[i] >> 32);
			const uint32_t right = (uint32_t)(w->sorted[k] >> 32);
			if ((uint64_t)(left ^ right) >> low)
				break;
			if (left == right || (differ && !((left ^ right) >> (low - 1))))
				continue;
			w->pairs[w->n_pairs++] = (struct pair){left, right,
				w->points->label[(uint32_t)w->sorted[i]] ==
					w->points->label[(uint32_t)w->sorted[k]]};
		}
}

static bool whole_meets(const struct whole *w, const struct pair *pair, uint32_t constant)
{
	return (pair->left ^ constant) % w->n_labels == (pair->right ^ constant) % w->n_labels;
}

/* Of the pairs, those whose answer the constant explains, in nats against chance. */
static double whole_nats(const struct whole *w, uint32_t constant)
{
	const double share = 1 / (double)w->n_labels;
	const double hit = log(0.85 / share), miss = log(0.15 / (1 - share));
	const double strange = log(0.15 * share / share),
		     apart = log((1 - 0.15 * share) / (1 - share));
	double nats = 0;
	for (size_t i = 0; i < w->n_pairs; i++) {
		const bool meets = whole_meets(w, &w->pairs[i], constant);
		if (w->pairs[i].equal)
			nats += meets ? hit : miss;
		else
			nats += meets ? strange : apart;
	}
	return nats;
}

/* The lower @low bits of the constant that explain the pairs best; nats of them, 0: none does. */
static double whole_low(struct whole *w, unsigned low, const uint8_t *residue, uint32_t *ret)
{
	const uint32_t below = (1u << low) - 1;
	struct pair equal[PAIRS_MOST];
	size_t n = 0;
	double best = 0;
	whole_sort(w);
	whole_pairs(w, low, false);
	for (size_t i = 0; i < w->n_pairs; i++)
		if (w->pairs[i].equal)
			equal[n++] = (struct pair){
				w->pairs[i].left & below, w->pairs[i].right & below, true};
	if (n < EQUAL_MIN)
		return 0;
	for (uint32_t constant = 0; constant <= below / 2; constant++) {
		size_t missed = 0, i = 0;
		while (i < n && missed <= 3 + i / 4) {
			missed += residue[equal[i].left ^ constant] !=
				residue[equal[i].right ^ constant];
			i++;
		}
		if (i < n || (double)(n - missed) < HITS_LEAST * (double)n)
			continue;
		/* the upper part cancels: whatever it is */
		const double nats = whole_nats(w, constant);
		if (nats > best) {
			best = nats;
			*ret = constant;
		}
	}
	return best;
}

/* Each bit above by the pairs that differ up to it. */
static uint32_t whole_complete(struct whole *w, unsigned low, uint32_t constant)
{
	for (unsigned bit = low; bit < BITS; bit++) {
		whole_pairs(w, bit + 1, true);
		if (whole_nats(w, constant | 1u << bit) > whole_nats(w, constant))
			constant |= 1u << bit;
	}
	return constant;
}

/* ---- all of it --------------------------------------------------------------------- */

static void whole_slots(struct whole *w)
{
	uint32_t next[XRAY_MEMBERS_MAX] = {0};
	for (size_t i = 0; i < w->points->n; i++)
		w->of_label[w->points->label[i]]++;
	for (size_t label = 0; label < w->n_labels; label++)
		w->first_word[label + 1] = w->first_word[label] + (w->of_label[label] + 63) / 64;
	w->words = w->first_word[w->n_labels];
	for (size_t i = 0; i < w->points->n; i++) {
		const uint16_t label = w->points->label[i];
		w->slot[i] = 64 * w->first_word[label] + next[label]++;
	}
}

/* So many lower bits that EQUAL_GOAL pairs with one member are expected among those that agree
 * above; 0: there are too few points. */
static unsigned whole_low_bits(size_t points, size_t labels)
{
	const double pairs = (double)points * (double)points / 2 / (double)labels;
	for (unsigned low = LOW_LEAST; low <= LOW_MOST; low++)
		if (pairs / exp2(BITS - (double)low) >= EQUAL_GOAL)
			return low;
	return pairs / exp2(BITS - LOW_MOST) >= EQUAL_MIN ? LOW_MOST : 0;
}

static int whole_by_score(const void *left, const void *right)
{
	const double a = ((const struct xray_whole *)left)->score;
	const double b = ((const struct xray_whole *)right)->score;
	return (a < b) - (a > b);
}

/* How many points have the label that most in their bucket have. */
static double whole_fits(const struct whole *w, uint32_t constant)
{
	uint32_t *count = rw_calloc(w->n_labels * w->n_labels, sizeof(*count));
	size_t fits = 0;
	for (size_t i = 0; i < w->points->n; i++)
		count[(w->hash[i] ^ constant) % w->n_labels * w->n_labels + w->points->label[i]]++;
	for (size_t bucket = 0; bucket < w->n_labels; bucket++) {
		uint32_t most = 0;
		for (size_t label = 0; label < w->n_labels; label++)
			if (count[bucket * w->n_labels + label] > most)
				most = count[bucket * w->n_labels + label];
		fits += most;
	}
	free(count);
	return (double)fits / (double)w->points->n;
}

static double whole_search(struct whole *w, struct xray_whole *functions, size_t n,
	const struct xray_whole **ret, uint32_t *ret_constant)
{
	const unsigned low = whole_low_bits(w->points->n, w->n_labels);
	if (low == 0)
		return 0;
	struct sum sums[SUMS];
	const size_t n_sums = whole_sums(w->n_labels, sums);
	uint64_t *planes = rw_calloc((BITS + 1) * w->words, sizeof(*planes));
	uint8_t *residue = rw_calloc((size_t)1 << low, sizeof(*residue));
	size_t most = (size_t)(CONSTANTS_MOST / exp2(low - 1.0)), tried = 0;
	double best = 0;
	for (size_t i = 0; i < (size_t)1 << low; i++)
		residue[i] = (uint8_t)(i % w->n_labels);
	for (size_t i = 0; i < n && most < n; i++) {
		whole_hash(w, functions[i].column);
		functions[i].score = whole_score(w, sums, n_sums, planes);
	}
	if (most < n)
		qsort(functions, n, sizeof(*functions), whole_by_score);
	for (size_t i = 0; i < n && i < most && tried < TRIED && best < XRAY_FITS; i++) {
		uint32_t constant;
		whole_hash(w, functions[i].column);
		if (whole_low(w, low, residue, &constant) < BITS)
			continue;
		tried++;
		constant = whole_complete(w, low, constant);
		const double fits = whole_fits(w, constant);
		if (fits <= best)
			continue;
		best = fits;
		*ret = &functions[i];
		*ret_constant = constant;
	}
	free(planes);
	free(residue);
	return best;
}

double xray_whole(const struct xray_points *points, struct xray_whole *functions, size_t n,
	const struct xray_whole **ret, uint32_t *ret_constant)
{
	struct whole *w = rw_calloc(1, sizeof(*w));
	w->points = points;
	w->n_labels = points->n_labels;
	w->slot = rw_calloc(points->n + 1, sizeof(*w->slot));
	w->hash = rw_calloc(points->n + 1, sizeof(*w->hash));
	w->sorted = rw_calloc(points->n + 1, sizeof(*w->sorted));
	whole_slots(w);
	const double fits = whole_search(w, functions, n, ret, ret_constant);
	free(w->slot);
	free(w->hash);
	free(w->sorted);
	free(w);
	return fits;
}
