/*
 * links - between discovery (which links the devices' LLDP neighbors prove) and the configuration
 * that the agent runs: "discover" in the fabric's part of it asks for this. Loop thread.
 */
#pragma once

#include "base/base.h"

struct agent;
struct config;

/* links_open - make agent->discovery; the links that the database knows are those it begins with,
 * so that ECMP groups exist from the first window on. May replace agent->config. */
void links_open(struct agent *agent);

/* links_listen - from now on the neighbors that the pipeline receives go to discovery. */
void links_listen(struct agent *agent);

/* links_into - a copy of @config with the links that discovery believes. @config itself where it
 * does not want them, or where they contradict it (that is logged). */
struct config *links_into(struct agent *agent, struct config *config);

/* links_changed - the running configuration with the links discovery has just settled on; NULL when
 * nothing changed. The caller owns it. */
struct config *links_changed(struct agent *agent);
