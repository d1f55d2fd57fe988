/* web - the agent's web server, as the configuration asks for it: section http. Loop thread. */
#ifndef RW_AGENT_WEB_H
#define RW_AGENT_WEB_H

struct agent;
struct config;
struct health;

/* web_apply - start, stop, restart or reload the web server's process for the configuration in
 * force; @old is the one before, NULL at the start, after privileges were dropped. */
void web_apply(struct agent *agent, const struct config *old);
/* web_figures - whether it runs, and how often it was started. */
void web_figures(const struct agent *agent, struct health *health);

#endif
