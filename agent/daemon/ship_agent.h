/*
 * ship_agent - the sinks of the running agent (store.ship): their threads, and what the agent says
 * of them. Loop thread.
 */
#pragma once

struct agent;
struct health;

/* ship_agent_start - once the store is open. ship_agent_reload - sinks that changed begin anew, the
 * others go on. ship_agent_stop - before the store is closed. */
void ship_agent_start(struct agent *agent);
void ship_agent_reload(struct agent *agent);
void ship_agent_stop(struct agent *agent);

/* ship_agent_tick - about once a second: the store drops what all sinks have; an event when one
 * begins to fail, and when it takes data again. */
void ship_agent_tick(struct agent *agent);

/* Keys ship/NAME/: samples batches failures refused waiting_samples waiting_bytes behind_s lost
 * failing_s (wall clock, 0 = it works) last_success_s (wall clock). */
void ship_agent_health(const struct agent *agent, struct health *health);
