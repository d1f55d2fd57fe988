/*
 * xray_form - a hash in the coordinates of the samples it was learned from: which bits it computes,
 * and how they choose a member. The room's own; others read xray_learn.h.
 */
#pragma once

#include "base/base.h"

/*
 * xray_bits - a flow as bits, and spaces over GF(2): what linear algebra of hashes works on. Pure;
 * nothing is allocated.
 */

enum { XRAY_BITS = 320, XRAY_WORDS = XRAY_BITS / 64 };

struct xray_bits {
	uint64_t w[XRAY_WORDS];
};

/* What a switch may hash of a packet. */
struct xray_flow {
	uint8_t family; /* 4 or 6; IPv4 stands in the first four bytes, the rest is 0 */
	uint8_t src[16], dst[16];
	uint16_t src_port, dst_port;
	uint8_t protocol;
	uint32_t dst_qp; /* 24 bits */
};

enum xray_field {
	XRAY_SRC,
	XRAY_DST,
	XRAY_SRC_PORT,
	XRAY_DST_PORT,
	XRAY_PROTOCOL,
	XRAY_QP,
	XRAY_FIELDS
};

/* xray_key - the flow as bits; the family is no part of it. xray_flow_of - the way back. */
struct xray_bits xray_key(const struct xray_flow *flow);
struct xray_flow xray_flow_of(const struct xray_bits *key, uint8_t family);

static inline void xray_xor(struct xray_bits *to, const struct xray_bits *other)
{
	for (size_t i = 0; i < XRAY_WORDS; i++)
		to->w[i] ^= other->w[i];
}
static inline bool xray_bit(const struct xray_bits *bits, size_t i)
{
	return bits->w[i / 64] >> (i % 64) & 1;
}
static inline void xray_flip(struct xray_bits *bits, size_t i)
{
	bits->w[i / 64] ^= 1ull << (i % 64);
}
bool xray_is_zero(const struct xray_bits *bits);

/*
 * A space that grows by vectors. A row has its lowest bit where no other row has its own; the row
 * knows of which of the vectors that were added it is the sum.
 */
struct xray_span {
	size_t rank;
	int16_t at[XRAY_BITS]; /* the row whose lowest bit this is; -1: none */
	struct xray_bits row[XRAY_BITS], made_of[XRAY_BITS];
};
void xray_span_init(struct xray_span *span);
/* xray_span_add - false: @vector is in the space. Vectors that grew it are numbered from 0. */
bool xray_span_add(struct xray_span *span, const struct xray_bits *vector);
/* xray_span_reduce - takes from @vector what the space has of it; what is left has no lowest bit of
 * a row. @used (may be NULL): of which added vectors the part that was taken is the sum. */
void xray_span_reduce(
	const struct xray_span *span, struct xray_bits *vector, struct xray_bits *used);

/* Chance that is the same in every run (xorshift64*, Vigna 2014). */
struct xray_dice {
	uint64_t state; /* not 0 */
};
uint64_t xray_dice_throw(struct xray_dice *dice);
/* xray_dice_below - 0 to @n - 1, n below 2^32. */
static inline size_t xray_dice_below(struct xray_dice *dice, size_t n)
{
	return (size_t)((xray_dice_throw(dice) >> 32) * n >> 32);
}

enum { XRAY_MEMBERS_MAX = 256, XRAY_CONSTANTS_MAX = 1024, XRAY_VALUES = 1 << 16 };

/* Samples, one for each flow, in coordinates: bit j stands for the j-th vector of the span. */
struct xray_points {
	size_t n, rank, n_labels;
	struct xray_bits *at;
	uint16_t *label; /* below .n_labels */
};

/* How bits choose one of the buckets. */
enum xray_select {
	XRAY_TABLE, /* they are the bucket: up to 16 */
	XRAY_MODULO, /* modulo the number of members: 16, or 32 */
	XRAY_MULTIPLY /* 16, times the number of members, the upper part */
};

struct xray_form {
	enum xray_select select;
	unsigned width; /* bits of a value */
	size_t n_buckets;
	uint32_t column[XRAY_BITS]; /* what a coordinate adds to the value */
	/* What is added to all values. Those that fit equally stay: where they disagree nothing is
	 * said. */
	size_t n_constants;
	uint32_t constants[XRAY_CONSTANTS_MAX];
	int16_t *label; /* [constant][bucket]; -1: too few samples */
	const char *hash; /* of the library; NULL: not known */
	unsigned fields; /* that it reads: bits 1 << enum xray_field; 0: not known */
};

/* The share of samples that may contradict a form (wrong samples), and the points that two
 * constants may differ by while both are kept. */
#define XRAY_FITS 0.87
#define XRAY_PURE 0.7 /* share of the votes of a bucket */
enum { XRAY_EQUALLY = 3 };

uint32_t xray_form_value(const struct xray_form *form, const struct xray_bits *at);
static inline size_t xray_bucket(enum xray_select select, size_t n_buckets, uint32_t value)
{
	if (select == XRAY_MODULO)
		return value % n_buckets;
	if (select == XRAY_MULTIPLY)
		return (size_t)value * n_buckets >> 16;
	return value;
}

/* xray_form_vote - each bucket gets the label of most of its points; it speaks only where that one
 * leads by two votes, and has XRAY_PURE of them. */
void xray_form_vote(struct xray_form *form, const struct xray_points *points, struct arena *a);
/* xray_form_label - -1: it does not say. */
int xray_form_label(const struct xray_form *form, const struct xray_bits *at);
/* xray_form_foretold - of the points that have others in their bucket, the share whose label those
 * foretell; 0 where fewer than a quarter has any. By the first constant. */
double xray_form_foretold(const struct xray_form *form, const struct xray_points *points);

/*
 * xray_linear - the members are the values of some bits of a linear hash, in any order: low bits,
 * high bits, a fold. Two flows of one member differ by a vector of the kernel; differences within
 * members, drawn at random so that some draw meets no wrong sample (Fischler and Bolles, Random
 * Sample Consensus, CACM 1981), span it. No polynomial, field, order or seed is needed. False:
 * nothing fits. @ret has no labels yet.
 */
bool xray_linear(const struct xray_points *points, struct xray_dice *dice, struct xray_form *ret);

/*
 * xray_library - the hash is one of many that are known (CRC and XOR over ordered fields), and 16
 * of its bits choose by a table, modulo or by multiplication. @basis: the vectors that coordinates
 * stand for. False: nothing fits. @ret has no labels yet.
 */
bool xray_library(const struct xray_points *points, const struct xray_bits *basis, uint8_t family,
	struct xray_form *ret);

struct xray_whole { /* a function of 32 bits */
	uint32_t column[XRAY_BITS];
	size_t number; /* the caller's */
	double score;
};
/*
 * xray_whole - one of @functions and a constant, such that all 32 bits modulo the number of members
 * choose the member; for numbers that are no power of two. The share of the points that it
 * foretells; 0: none was found, or there are too few points (12 pairs of one member are needed that
 * agree in the upper ten bits). Puts @functions in another order; some seconds at most.
 */
double xray_whole(const struct xray_points *points, struct xray_whole *functions, size_t n,
	const struct xray_whole **ret, uint32_t *ret_constant);
