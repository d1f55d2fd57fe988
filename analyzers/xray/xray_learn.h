/*
 * xray_learn - the hash of a switch, learned from flows and the members they left by.
 *
 * Hashes of switches are mostly linear over GF(2) (CRC or XOR of header fields, a seed adds a
 * constant), and then a table, a modulo or a multiplication chooses a member. So a few hundred
 * samples tell where all other flows go. What they do not tell is not guessed: a flow that differs
 * from the samples in bits that never changed among them, a bucket that was never hit. A function
 * is accepted only when it foretells samples that it was not learned from; keyed and multiplied
 * hashes, adaptive and random choice, tables that change all the time are refused.
 *
 * Pure: the same samples give the same answer. Results are in the arena; work memory is the heap.
 */
#pragma once

#include "analyzers/xray/xray_form.h"
#include "base/base.h"

struct xray_sample {
	struct xray_flow flow;
	uint32_t member; /* any number */
	int64_t t_ns; /* samples are in the order of time; all 0: not known */
};

enum xray_refusal {
	XRAY_LEARNED,
	XRAY_TOO_FEW, /* samples */
	XRAY_ONE_MEMBER, /* nothing is chosen */
	XRAY_MANY_MEMBERS, /* more than XRAY_MEMBERS_MAX: not one group */
	XRAY_SPRAYED, /* packets of one flow leave by several members */
	XRAY_CHANGING, /* it holds for a part of the samples, and not for the last ones */
	XRAY_UNLEARNABLE, /* enough samples, and nothing foretells them */
	XRAY_REFUSALS
};

/* How the member follows from the hash. */
enum xray_kind { XRAY_BY_BITS, XRAY_BY_TABLE, XRAY_BY_MODULO, XRAY_BY_MULTIPLY, XRAY_KINDS };

struct xray_model;

struct xray_learned {
	enum xray_refusal refusal;
	const struct xray_model *model; /* NULL where it was refused */
	size_t samples, flows; /* flows: different ones in the part that was learned from */
	size_t strays; /* samples with members so rare that they are not of the group */
	size_t members;
	uint32_t *member; /* as the samples name them */
	/* samples kept apart to judge by: how many, of these decided, of these right */
	size_t held, decided, right;
	size_t repeated, moved; /* pairs of samples of one flow; of these, with two members */
	size_t varying; /* independent ways in which the flows differ */
	size_t unsure; /* of these, seen too rarely to say anything */
	/* the samples from this one on follow the function; before it another one held */
	bool changed;
	size_t changed_at;
	int64_t changed_ns;
};

/* xray_learn - @n samples of one group, all of one family, in the order of time. */
void xray_learn(
	const struct xray_sample *samples, size_t n, struct arena *a, struct xray_learned *ret);

/* ---- what is known ----------------------------------------------------------- */

enum xray_says {
	XRAY_SAYS,
	XRAY_OUTSIDE, /* the flow differs from the samples in what they all had in common */
	XRAY_UNSURE /* too few samples like it */
};
/* xray_foretell - the member that @flow leaves by, as its index in .member of what was learned.
 * *ret is filled with XRAY_SAYS only. */
enum xray_says xray_foretell(
	const struct xray_model *model, const struct xray_flow *flow, size_t *ret);

enum xray_kind xray_kind(const struct xray_model *model);
/* xray_hash - the function of the library that fits; others may fit as well. NULL: any linear one
 * was taken. @ret_fields: bits 1 << enum xray_field. */
const char *xray_hash(const struct xray_model *model, unsigned *ret_fields);

/* ---- two tiers ------------------------------------------------------------------ */

/*
 * Does the second switch choose on its own among the flows that one member of the first sends it?
 * By flows drawn from what both have learned; where both are linear the rank of both matrices
 * together tells it exactly: a seed adds a constant to a linear hash and changes no rank (Zhang et
 * al., Hashing Linearity Enables Relative Path Control in Data Centers, USENIX ATC 2021).
 */
struct xray_tiers {
	size_t pairs, possible; /* of members: that flows take; of the first times the second */
	size_t least; /* members of the second that flows of one member of the first take, at least
		       */
	bool linear; /* .rank and .bits count */
	unsigned rank, bits; /* of both together; the sum of both */
	size_t drawn; /* flows that both foretell; few: nothing is known */
};
void xray_compare(const struct xray_learned *first, const struct xray_learned *second,
	struct xray_tiers *ret);
