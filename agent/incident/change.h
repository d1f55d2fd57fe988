/*
 * change - what a person says happened: a change ticket, a recabled rack, a new firmware. It stands
 * in every timeline beside the incidents, as an event of kind "change".
 */
#ifndef RW_INCIDENT_CHANGE_H
#define RW_INCIDENT_CHANGE_H

#include <jansson.h>
#include <stdint.h>

#include "db/store/store.h"

struct arena;
struct err;

/*
 * change_read - an event from a request of a command: {text, device, port, job, ticket, t_ns}; the
 * texts live in @a or with @request. @who says so, at @now_ns; without t_ns it happened now.
 * 0, or -EINVAL with @e: no text, or a time in the future.
 */
int change_read(const json_t *request, const char *who, int64_t now_ns, struct arena *a,
	struct store_change *ret, struct err *e);

#endif
