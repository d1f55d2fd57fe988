/* alert_agent - the alerts of the running agent: their start from the database, and their figures.
 * Loop thread. */
#ifndef RW_AGENT_ALERT_AGENT_H
#define RW_AGENT_ALERT_AGENT_H

struct agent;
struct health;

/* alert_agent_start - before the past is analysed. What cannot be read is logged; then receivers
 * get everything that is open. */
void alert_agent_start(struct agent *agent);

/* alert_agent_health - alert/NAME/{sent,failed,dropped,queued,failing,last_success_s}. */
void alert_agent_health(const struct agent *agent, struct health *health);

#endif
