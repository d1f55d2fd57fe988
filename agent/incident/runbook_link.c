/* runbook_link - a runbook's address on the site's wiki, on the web page, or as a command. */
#include "agent/incident/runbook_link.h"

#include <string.h>

#include "agent/base/str.h"
#include "config/config.h"

#define CAUSE_MARK "{cause}"

static void runbook_link_fill(struct str *out, const char *pattern, const char *cause)
{
	const char *mark;
	while ((mark = strstr(pattern, CAUSE_MARK))) {
		str_addf(out, "%.*s%s", (int)(mark - pattern), pattern, cause);
		pattern = mark + strlen(CAUSE_MARK);
	}
	str_add(out, pattern);
}

void runbook_link_add(struct str *out, const char *pattern, const char *web_url, const char *cause)
{
	if (pattern) {
		runbook_link_fill(out, pattern, cause);
		return;
	}
	if (!web_url) {
		str_addf(out, "rocewatch runbook %s", cause);
		return;
	}
	size_t n = strlen(web_url);
	while (n > 0 && web_url[n - 1] == '/')
		n--;
	str_addf(out, "%.*s/runbooks/%s", (int)n, web_url, cause);
}

char *runbook_link_of(const struct config *config, const char *cause)
{
	struct str out = {0};
	const char *pattern = NULL, *web_url = NULL;
	if (config) {
		pattern = config->alerts.runbook_url;
		web_url = config->alerts.web_url;
	}
	runbook_link_add(&out, pattern, web_url, cause);
	return out.s;
}
