/*
 * lb_read - how a device spreads load over equal paths: what it reports (cfg.lb_mode) wins over
 * what is declared. Pure.
 */
#ifndef RW_MEASURE_LB_READ_H
#define RW_MEASURE_LB_READ_H

#include <stdbool.h>

#include "config/fabric.h"
#include "db/series/series.h"

/*
 * lb_parse - the policy that a device's word for its balancing means: a word of
 * policy.load_balancing, or a vendor's (SAI_ARS_MODE_PER_PACKET_QUALITY, "dynamic"). False: not
 * known.
 */
bool lb_parse(const char *text, enum lb_policy *ret);

/* lb_read - what @device reports in the window, as it says it; NULL: nothing. @ret is set where the
 * word is known; @ret_known says whether. */
const char *lb_read(
	const struct window *window, const char *device, enum lb_policy *ret, bool *ret_known);

/* lb_contradicts - can what a device reports not be what was declared? */
bool lb_contradicts(enum lb_policy declared, enum lb_policy told);

/* lb_of_group - what holds for a group: its own declaration, else what its device reports, else
 * what is declared for the device. */
enum lb_policy lb_of_group(const struct window *window, const struct fabric_group *group);

/* lb_sprays - are packets of one flow spread one by one, so that members must carry the same? */
static inline bool lb_sprays(enum lb_policy lb)
{
	return lb == LB_PACKET;
}

#endif
