/* traps - the agent's receiver for SNMP traps and informs: opened, opened again after a failure,
 * and opened anew when its configuration changes. Loop thread. */
#pragma once

#include "base/base.h"

struct agent;
struct config;

/* traps_apply - as agent->config says. @was is the configuration before it, NULL at the start: a
 * receiver whose settings did not change stays open. */
void traps_apply(struct agent *agent, const struct config *was);

/* traps_retry - open it again when it is wanted, closed, and has waited long enough. */
void traps_retry(struct agent *agent, mono_t now);
