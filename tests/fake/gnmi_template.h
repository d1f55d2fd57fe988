/*
 * gnmi_template - the messages of a round, built once and then only renumbered: a server that costs
 * next to nothing, for benches. What changes from round to round is the timestamp and each counter
 * of 17 digits, as a number of the wire or as digits in a JSON text; other values stay. Counters
 * begin at or above 2^56, so that their length on the wire never changes.
 */
#ifndef RW_TESTS_GNMI_TEMPLATE_H
#define RW_TESTS_GNMI_TEMPLATE_H

#include "tests/fake/gnmi_speak.h"

#define GNMI_TEMPLATE_STEP 1000003u /* what each counter grows by in a round */

struct gnmi_template;
/* gnmi_template_new - @v as it is at first, at most @per_message of them in one message (0: all in
 * one). */
struct gnmi_template *gnmi_template_new(const char *target, const char *origin,
	const struct speak_value *v, size_t n, size_t per_message);
void gnmi_template_free(struct gnmi_template *t); /* NULL is fine */

/* gnmi_template_next - renumbers for the next round; the messages then have this time. */
void gnmi_template_next(struct gnmi_template *t, int64_t t_ns);
size_t gnmi_template_count(const struct gnmi_template *t);
/* lent until the next round */
struct speak_bytes gnmi_template_message(const struct gnmi_template *t, size_t i);

#endif
