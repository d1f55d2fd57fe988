/* runbook_link - where a person finds the runbook of a cause. */
#ifndef RW_INCIDENT_RUNBOOK_LINK_H
#define RW_INCIDENT_RUNBOOK_LINK_H

struct config;
struct str;

/*
 * runbook_link_add - adds to @out the address of the runbook of @cause (a word of cause.def):
 * @pattern with {cause} replaced (alerts.runbook_url), else the page below @web_url
 * (alerts.web_url), else the command that prints it, "rocewatch runbook CAUSE". Both may be NULL.
 */
void runbook_link_add(struct str *out, const char *pattern, const char *web_url, const char *cause);

/* runbook_link_of - the same by the keys of @config, which may be NULL. The caller frees it. */
char *runbook_link_of(const struct config *config, const char *cause);

#endif
