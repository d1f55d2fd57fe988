/*
 * xray_form - a hash in the coordinates of the samples it was learned from: which bits it computes,
 * and how they choose a member. The room's own; others read xray_learn.h.
 */
#pragma once

#include "analyzers/xray/xray_bits.h"
#include "base/base.h"

enum { XRAY_MEMBERS_MAX = 256, XRAY_CONSTANTS_MAX = 1024, XRAY_VALUES = 1 << 16 };

/* Samples, one for each flow, in coordinates: bit j stands for the j-th vector of the span. */
struct xray_points {
	size_t n, rank, n_labels;
	struct xray_bits *at;
	uint16_t *label; /* below .n_labels */
};

/* How up to 16 bits choose one of the buckets. */
enum xray_select {
	XRAY_TABLE, /* they are the bucket */
	XRAY_MODULO, /* modulo the number of members */
	XRAY_MULTIPLY /* times the number of members, the upper part */
};

struct xray_form {
	enum xray_select select;
	unsigned width; /* bits of a value, at most 16 */
	size_t n_buckets;
	uint16_t column[XRAY_BITS]; /* what a coordinate adds to the value */
	/* What is added to all values. Those that fit equally stay: where they disagree nothing is
	 * said. */
	size_t n_constants;
	uint16_t constants[XRAY_CONSTANTS_MAX];
	int16_t *label; /* [constant][bucket]; -1: too few samples */
	const char *hash; /* of the library; NULL: not known */
	unsigned fields; /* that it reads: bits 1 << enum xray_field; 0: not known */
};

/* The share of samples that may contradict a form (wrong samples), and the points that two
 * constants may differ by while both are kept. */
#define XRAY_FITS 0.87
#define XRAY_PURE 0.7 /* share of the votes of a bucket */
enum { XRAY_EQUALLY = 3 };

uint16_t xray_form_value(const struct xray_form *form, const struct xray_bits *at);
static inline size_t xray_bucket(enum xray_select select, size_t n_buckets, uint16_t value)
{
	if (select == XRAY_MODULO)
		return value % n_buckets;
	if (select == XRAY_MULTIPLY)
		return (size_t)value * n_buckets >> 16;
	return value;
}

/* xray_form_values - of all points; the caller's to free. */
uint16_t *xray_form_values(const struct xray_form *form, const struct xray_points *points);
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
