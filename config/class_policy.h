/*
 * class_policy - what a site declares about each traffic class (policy.congestion, policy.classes),
 * and what the words mean: is pause wanted, do thresholds of ECN slow anybody down. Pure tables
 * over the fabric. What switches and packets say of the same is analyzers/measure/class_world.h.
 */
#pragma once

#include "config/fabric.h"
#include "base/base.h"

/* What a congestion policy says of a class that works by it. */
struct class_policy {
	const char *word; /* as in the configuration: "dcqcn" */
	const char *label; /* as people write it: "DCQCN" */
	const char *means; /* a clause for the manual */
	enum class_lossless lossless;
	bool marks; /* switches mark (ECN), and marks slow senders down */
	bool dcqcn; /* ... by DCQCN: Kmin, Kmax and Pmax are tuned for it */
	bool reorders; /* packets of one queue pair may arrive in any order */
};
/* class_policy_of - the row of @policy; never NULL. */
const struct class_policy *class_policy_of(enum congestion_policy policy);

/* class_congestion - what slows the senders of @priority down: the class's own word, else the
 * site's. */
enum congestion_policy class_congestion(const struct fabric *fabric, int priority);
/* class_lossless - what is declared to keep @priority lossless; LOSSLESS_UNSAID where no word says
 * it. */
enum class_lossless class_lossless(const struct fabric *fabric, int priority);
/* class_pause_wanted - may @priority be paused? false: a declared word says that it works without
 * pause frames (credits, trimming, marks alone). */
bool class_pause_wanted(const struct fabric *fabric, int priority);
/* class_marks - do marks slow the senders of @priority down, by what is declared? */
bool class_marks(const struct fabric *fabric, int priority);
bool class_any_marks(const struct fabric *fabric); /* ... of any lossless class */
/* class_any - does any lossless class work by @policy? */
bool class_any(const struct fabric *fabric, enum congestion_policy policy);

const char *class_lossless_name(enum class_lossless lossless); /* "pfc" "credit" "none"; "?" */

/*
 * What makes a packet's class, as texts that switches' settings are told in ("0-7:0,26:3"): a key
 * or a range of keys, and its value. class_map_read - fills @to, of @keys values, CLASS_NO_ROW
 * where the text has no row. 0, or -EINVAL with @e. class_map_text - the shortest such text, behind
 * @to.
 */
enum { CLASS_DSCPS = 64, CLASS_NO_ROW = 0xff };
int class_map_read(const char *text, unsigned keys, uint8_t *to, struct err *e);
void class_map_text(const uint8_t *map, unsigned keys, struct str *to);
/* class_priorities_read - "3,4", "3-4" or "none" as bits. 0, or -EINVAL with @e. */
int class_priorities_read(const char *text, uint8_t *ret, struct err *e);

/* The words for schema.c, in the order of their enumerations, NULL behind the last. */
extern const char *const congestion_words[];
extern const char *const lb_words[];
extern const char *const class_lossless_words[];
extern const char *const class_ecn_words[];
extern const char *const class_trust_words[]; /* "dscp" "pcp" */
