/* web - decides what a configuration means for the web server's process. */
#include "agent/daemon/web.h"

#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/daemon/agent.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/health.h"
#include "agent/daemon/life.h"
#include "agent/daemon/web_child.h"
#include "config/config.h"

static void web_on_down(void *arg, const char *why)
{
	const struct agent *agent = arg;
	life_web_down(agent->store, wall_now().ns, why);
}

/* The same file, and the same database where a command line named another one. */
static struct web_child *web_new(struct agent *agent)
{
	const char *argv[] = {
		"rocewatch", "-c", agent->options->config_path, "web", "--child", NULL, NULL, NULL};
	if (agent->options->db) {
		argv[5] = "--db";
		argv[6] = agent->options->db;
	}
	return web_child_new(agent->loop,
		&(struct web_child_options){.program = agent->options->web_program,
			.argv = argv,
			.down = web_on_down,
			.arg = agent});
}

/* Do both files lie in one directory, or is there none now? */
static bool web_same_directory(const char *was, const char *is)
{
	if (!is || str_eq(was, is))
		return true;
	if (!was)
		return false;
	const char *was_end = strrchr(was, '/'), *is_end = strrchr(is, '/');
	if (!was_end || !is_end || was_end - was != is_end - is)
		return false;
	return strncmp(was, is, (size_t)(is_end - is)) == 0;
}

/* Is there something new that an open socket cannot take over, or a file in a directory that the
 * server closed to itself when it started? */
static bool web_needs_restart(const struct config_http *was, const struct config_http *is)
{
	return !str_eq(was->address, is->address) || was->port != is->port ||
		was->max_connections != is->max_connections ||
		was->request_timeout_ns != is->request_timeout_ns ||
		!web_same_directory(was->tokens_file, is->tokens_file) ||
		!web_same_directory(was->cert, is->cert) || !web_same_directory(was->key, is->key);
}

void web_apply(struct agent *agent, const struct config *old)
{
	const struct config_http *is = agent->config->http, *was = NULL;
	if (old)
		was = old->http;
	if (!is) {
		if (agent->web)
			web_child_stop(agent->web);
		return;
	}
	if (!agent->web)
		agent->web = web_new(agent);
	if (was && web_needs_restart(was, is))
		web_child_stop(agent->web);
	else if (was)
		web_child_reload(agent->web);
	web_child_start(agent->web);
}

void web_figures(const struct agent *agent, struct health *health)
{
	if (!agent->config->http || !agent->web)
		return;
	health_figure(health, "process", "web", "running", "", web_child_pid(agent->web) > 0);
	health_figure(health, "process", "web", "starts", "", (double)web_child_starts(agent->web));
}
