/*
 * thresholds - what lab set and lab record --set say in words, put into a scenario: of the whole
 * fabric, of switches by their name, of their ports to hosts or to other switches. Sizes carry a
 * unit (200KB), ratios are 0.25, 25% or 1/4.
 */
#ifndef FABRIC_THRESHOLDS_H
#define FABRIC_THRESHOLDS_H

#include "tests/fabric/scenario.h"

struct err;
struct threshold; /* a key of the table */

const struct threshold *threshold_find(const char *key);
size_t threshold_count(void);
const struct threshold *threshold_at(size_t i);
const char *threshold_name(const struct threshold *k);
bool threshold_is_size(const struct threshold *k);
/* of the whole fabric; headroom 0: by the factor */
double threshold_value(const struct scenario *s, const struct threshold *k);
enum knob threshold_knob(const struct threshold *k);

/*
 * threshold_set - @key of the switches that @devices names from now on; "" is the whole fabric:
 * then nobody has one of his own any more, and a fault that is this setting is repaired. @devices
 * is a glob, with "/hosts" or "/uplinks" after it of these ports only. 0, -EINVAL or -ERANGE (the
 * value), -ENOENT (no such switch), -ENOTSUP (rails), -E2BIG.
 */
int threshold_set(struct scenario *s, const struct threshold *k, const char *value,
	const char *devices, struct err *e);

/* threshold_assign - several at once, as --set has them: [DEVICES:]KEY=VALUE. The order does not
 * matter: what results has to fit together. */
int threshold_assign(struct scenario *s, const char *const *what, size_t n, struct err *e);

/* leaves, then spines, of the first rail */
void switch_name(const struct scenario *s, size_t device, char *buf, size_t size);

#endif
