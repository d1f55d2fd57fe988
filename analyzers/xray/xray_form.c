/* xray_form - see xray_form.h. */
#include "analyzers/xray/xray_form.h"

uint32_t xray_form_value(const struct xray_form *form, const struct xray_bits *at)
{
	uint32_t value = 0;
	for (size_t word = 0; word < XRAY_WORDS; word++)
		for (uint64_t rest = at->w[word]; rest; rest &= rest - 1)
			value ^= form->column[word * 64 + (size_t)__builtin_ctzll(rest)];
	return value;
}

/* Of all points; the caller's to free. */
static uint32_t *xray_form_values(const struct xray_form *form, const struct xray_points *points)
{
	uint32_t *values = rw_calloc(points->n + 1, sizeof(*values));
	for (size_t i = 0; i < points->n; i++)
		values[i] = xray_form_value(form, &points->at[i]);
	return values;
}

struct form_votes {
	size_t n_labels;
	uint32_t *values; /* of the points */
	uint32_t *count; /* [bucket][label] */
};

static struct form_votes form_votes_new(
	const struct xray_form *form, const struct xray_points *points)
{
	return (struct form_votes){points->n_labels, xray_form_values(form, points),
		rw_calloc(form->n_buckets * points->n_labels, sizeof(uint32_t))};
}

static void form_votes_free(struct form_votes *votes)
{
	free(votes->values);
	free(votes->count);
}

static uint32_t *form_votes_of(const struct form_votes *votes, const struct xray_form *form,
	uint32_t constant, size_t point)
{
	const uint32_t value = votes->values[point] ^ constant;
	return &votes->count[xray_bucket(form->select, form->n_buckets, value) * votes->n_labels];
}

static void form_count(const struct form_votes *votes, const struct xray_form *form,
	uint32_t constant, const struct xray_points *points)
{
	memset(votes->count, 0, form->n_buckets * votes->n_labels * sizeof(*votes->count));
	for (size_t i = 0; i < points->n; i++)
		form_votes_of(votes, form, constant, i)[points->label[i]]++;
}

/* The label with most votes, when it leads by @lead and has @share of them; -1. */
static int form_winner(const uint32_t *count, size_t n, uint32_t lead, double share)
{
	size_t best = 0;
	uint32_t second = 0, all = count[0];
	for (size_t i = 1; i < n; i++) {
		all += count[i];
		if (count[i] > count[best])
			best = i;
	}
	for (size_t i = 0; i < n; i++)
		if (i != best && count[i] > second)
			second = count[i];
	if (count[best] < second + lead || count[best] < share * all)
		return -1;
	return (int)best;
}

void xray_form_vote(struct xray_form *form, const struct xray_points *points, struct arena *a)
{
	struct form_votes votes = form_votes_new(form, points);
	form->label = arena_array(a, int16_t, form->n_constants * form->n_buckets);
	for (size_t c = 0; c < form->n_constants; c++) {
		form_count(&votes, form, form->constants[c], points);
		for (size_t b = 0; b < form->n_buckets; b++)
			form->label[c * form->n_buckets + b] = (int16_t)form_winner(
				&votes.count[b * votes.n_labels], votes.n_labels, 2, XRAY_PURE);
	}
	form_votes_free(&votes);
}

int xray_form_label(const struct xray_form *form, const struct xray_bits *at)
{
	const uint32_t value = xray_form_value(form, at);
	int said = -1;
	for (size_t c = 0; c < form->n_constants; c++) {
		const size_t bucket =
			xray_bucket(form->select, form->n_buckets, value ^ form->constants[c]);
		const int label = form->label[c * form->n_buckets + bucket];
		if (label < 0 || (said >= 0 && label != said))
			return -1;
		said = label;
	}
	return said;
}

double xray_form_foretold(const struct xray_form *form, const struct xray_points *points)
{
	struct form_votes votes = form_votes_new(form, points);
	size_t right = 0, said = 0;
	form_count(&votes, form, form->constants[0], points);
	for (size_t i = 0; i < points->n; i++) {
		uint32_t *count = form_votes_of(&votes, form, form->constants[0], i);
		count[points->label[i]]--;
		const int label = form_winner(count, votes.n_labels, 1, 0);
		said += label >= 0;
		right += label == points->label[i];
		count[points->label[i]]++;
	}
	form_votes_free(&votes);
	if (said == 0 || said * 4 < points->n)
		return 0;
	return (double)right / (double)said;
}

/* ---- rows of bits ---------------------------------------------------------- */

static uint64_t bits_word(const uint8_t *bytes)
{
	uint64_t word = 0;
	for (size_t i = 0; i < 8; i++)
		word = word << 8 | bytes[i];
	return word;
}

static void bits_bytes(uint64_t word, uint8_t *ret)
{
	for (size_t i = 0; i < 8; i++)
		ret[i] = (uint8_t)(word >> (56 - 8 * i));
}

struct xray_bits xray_key(const struct xray_flow *flow)
{
	return (struct xray_bits){{bits_word(flow->src), bits_word(flow->src + 8),
		bits_word(flow->dst), bits_word(flow->dst + 8),
		(uint64_t)flow->src_port << 48 | (uint64_t)flow->dst_port << 32 |
			(uint64_t)flow->protocol << 24 | (flow->dst_qp & 0xFFFFFF)}};
}

struct xray_flow xray_flow_of(const struct xray_bits *key, uint8_t family)
{
	struct xray_flow flow = {.family = family,
		.src_port = (uint16_t)(key->w[4] >> 48),
		.dst_port = (uint16_t)(key->w[4] >> 32),
		.protocol = (uint8_t)(key->w[4] >> 24),
		.dst_qp = (uint32_t)(key->w[4] & 0xFFFFFF)};
	bits_bytes(key->w[0], flow.src);
	bits_bytes(key->w[1], flow.src + 8);
	bits_bytes(key->w[2], flow.dst);
	bits_bytes(key->w[3], flow.dst + 8);
	return flow;
}

bool xray_is_zero(const struct xray_bits *bits)
{
	uint64_t any = 0;
	for (size_t i = 0; i < XRAY_WORDS; i++)
		any |= bits->w[i];
	return any == 0;
}

void xray_span_init(struct xray_span *span)
{
	span->rank = 0;
	memset(span->at, 0xFF, sizeof(span->at));
}

void xray_span_reduce(
	const struct xray_span *span, struct xray_bits *vector, struct xray_bits *used)
{
	for (size_t word = 0; word < XRAY_WORDS; word++) {
		uint64_t rest = vector->w[word];
		while (rest) {
			const uint64_t lowest = rest & (~rest + 1);
			const int row = span->at[word * 64 + (size_t)__builtin_ctzll(rest)];
			if (row >= 0) {
				xray_xor(vector, &span->row[row]);
				if (used)
					xray_xor(used, &span->made_of[row]);
				rest = vector->w[word] & ~(lowest - 1);
			}
			rest &= ~lowest;
		}
	}
}

/* The lowest bit that is set; @bits is not zero. */
static size_t bits_lowest(const struct xray_bits *bits)
{
	size_t word = 0;
	while (bits->w[word] == 0)
		word++;
	return word * 64 + (size_t)__builtin_ctzll(bits->w[word]);
}

bool xray_span_add(struct xray_span *span, const struct xray_bits *vector)
{
	struct xray_bits rest = *vector, used = {{0}};
	xray_span_reduce(span, &rest, &used);
	if (xray_is_zero(&rest))
		return false;
	span->at[bits_lowest(&rest)] = (int16_t)span->rank;
	span->row[span->rank] = rest;
	xray_flip(&used, span->rank);
	span->made_of[span->rank++] = used;
	return true;
}

uint64_t xray_dice_throw(struct xray_dice *dice)
{
	dice->state ^= dice->state >> 12;
	dice->state ^= dice->state << 25;
	dice->state ^= dice->state >> 27;
	return dice->state * 0x2545F4914F6CDD1Dull;
}
