/*
 * reload - reading the configuration the agent runs, and putting a new one in its place: after
 * SIGHUP, and when discovery has found links. A reload that is refused leaves the running
 * configuration as it is. Loop thread.
 */
#pragma once

#include "base/base.h"
#include "agent/daemon/agent.h"
#include "db/store/store.h"

struct agent;

/* agent_config - read the configuration as the agent will use it. 0, or negative errno with @errors
 * filled. */
int agent_config(const struct agent_options *options, struct config **ret, struct err_list *errors);

/* agent_store_options - where the store is and how long it keeps things. Lent as long as @config.
 */
struct store_options agent_store_options(const struct config *config);

/* agent_record_config - write the running configuration into the store and announce its ports. */
void agent_record_config(struct agent *agent);

void agent_reload(struct agent *agent);

/* agent_discover - adopt the links that discovery has settled on since the last call, and the jobs
 * that the scheduler has told since. */
void agent_discover(struct agent *agent);
