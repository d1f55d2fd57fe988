/*
 * late_store - an agent whose database could not be opened when it started (a full or broken disk,
 * a mount that is missing or read-only), and one that cannot write for a while. It watches from
 * memory; here is what it says of that, and what it makes up for once the file is there. Loop
 * thread.
 */
#ifndef RW_AGENT_LATE_STORE_H
#define RW_AGENT_LATE_STORE_H

#include <stdbool.h>

#include "agent/base/clock.h"

struct agent;

/* late_store_begin - at the end of the start. @past_unread: what the database says of open
 * incidents, recommendations and silences could not be read. */
void late_store_begin(struct agent *agent, bool past_unread);

/* late_store_tick - about once a second: the service manager hears whether the store writes; when
 * the file could be opened at last, the earlier state is read. */
void late_store_tick(struct agent *agent);

#endif
