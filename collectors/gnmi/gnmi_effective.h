/*
 * gnmi_effective - which stream counts where two of them tell the same value. Some switches keep
 * what was configured and what is in force in two databases, and the configuration may name only a
 * placeholder. A value of a stream that is "effective" (profile_gnmi.h) wins over the others.
 *
 * What such a stream gave in its last two rounds is not taken from other streams. When it was asked
 * GNMI_EFFECTIVE_UNANSWERED times without an answer, the others count again. Loop thread.
 */
#ifndef RW_COLLECTORS_GNMI_EFFECTIVE_H
#define RW_COLLECTORS_GNMI_EFFECTIVE_H

#include <stdbool.h>

#define GNMI_EFFECTIVE_UNANSWERED 3

struct gnmi_effective; /* one per decoder */
struct gnmi_feed;
struct gnmi_series;

struct gnmi_effective *gnmi_effective_new(void);
void gnmi_effective_free(struct gnmi_effective *effective); /* NULL is fine */

/* gnmi_effective_asked - the stream of @feed is asked; _round: it has answered in full. Nothing
 * happens for a stream that is not effective. */
void gnmi_effective_asked(struct gnmi_feed *feed);
void gnmi_effective_round(struct gnmi_feed *feed);

/* gnmi_effective_take - may a value of @series be taken from @feed? */
bool gnmi_effective_take(struct gnmi_feed *feed, const struct gnmi_series *series);

#endif
