/*
 * quantity - numbers, units and times as people write them, on every surface. Rules:
 * docs/numbers.md. Pure; any thread.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* str_add_scaled - three digits with a decimal prefix, then @suffix: "6.81k/s". Of bytes and bits
 * ("B", "B/s", "bit/s") the prefix is the unit's: "33.5 KB", "400 Gbit/s". */
void str_add_scaled(struct str *out, double value, const char *suffix);

/*
 * str_add_quantity - @value with its unit, one of those in db/model/metric.def: "32.4 %" for a
 * ratio, "9.7 s" for ns, "1.99 MB", "400 Gbit/s", "52.4k frames/s", "380,891 frames", "1 host", and
 * "1/16" for log2. Whole counts keep all digits. NULL: a stored record that somebody else wrote has
 * none.
 */
void str_add_quantity(struct str *out, double value, const char *unit);

/* when_text - an RFC 3339 time as "2026-11-22 02:33:45Z"; "-" for NULL or an empty text, and the
 * beginning of any other text: when_text(t).s in the arguments of a printf. */
struct number_text when_text(const char *rfc3339);
/* str_add_when - the same, added to @out. */
void str_add_when(struct str *out, const char *rfc3339);

/* quantity_name - how a metric is called where people read its value: "alpha" for
 * cfg.pg_alpha_exp, whose value str_add_quantity() writes as 1/16; else @metric itself. */
const char *quantity_name(const char *metric);
