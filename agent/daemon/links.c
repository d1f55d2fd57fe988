/* links - feeds discovery with LLDP neighbors and merges the links it finds into a configuration.
 */
#include "agent/daemon/links.h"

#include "agent/client/client.h"
#include "agent/daemon/agent_state.h"
#include "agent/judge/pipeline.h"
#include "agent/sources/discovery.h"
#include "agent/sources/sources.h"
#include "base/log.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

/* ---- what discovery asks and reports ------------------------------------- */

static bool links_pending(void *arg, const char *device)
{
	const struct agent *agent = arg;
	return sources_lldp_pending(agent->sources, device);
}

static void links_peer(void *arg, const char *device, const char *port, const char *peer_device,
	const char *peer_port)
{
	struct agent *agent = arg;
	pipeline_peer(agent->pipeline, device, port, peer_device, peer_port, wall_now().ns);
}

static void links_dispute(void *arg, const char *device, const char *text, bool over)
{
	struct agent *agent = arg;
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "LLDP: %s%s", text, str_if(over, " (no more)"));
	if (over)
		log_info(device, "%s", line.s);
	else
		log_warn(device, "%s; rocewatch topology check lists what disagrees", line.s);
	store_event(agent->store, wall_now().ns, "topology", NULL, "", line.s);
}

static void links_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct agent *agent = arg;
	discovery_report(agent->discovery, self, neighbors, n, mono_now());
}

void links_listen(struct agent *agent)
{
	pipeline_listen(agent->pipeline, links_neighbors, agent);
}

/* ---- links in a configuration -------------------------------------------- */

struct config *links_into(struct agent *agent, struct config *config)
{
	if (!config->fabric->discover)
		return config;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const struct config_link *links;
	const size_t n = discovery_links(agent->discovery, &links);
	struct config *linked = NULL;
	if (config_with_links(config, links, n, &linked, &errors) == 0)
		return linked;
	log_errors(LOG_ERROR_, "config", &errors);
	log_error("topology", "the discovered links cannot be used, going on without a change");
	return config;
}

static size_t links_count(const struct config *config)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config_link *links;
	return config_discovered(config, a, &links);
}

struct config *links_changed(struct agent *agent)
{
	if (!discovery_settle(agent->discovery, agent->config, mono_now()) ||
		!agent->config->fabric->discover)
		return NULL;
	struct config *fresh = links_into(agent, agent->config);
	if (fresh == agent->config)
		return NULL;
	rw_cleanup(freep) char *was = config_text(agent->config), *is = config_text(fresh);
	if (strcmp(was, is) == 0) { /* only devices that are not configured have changed */
		config_free(fresh);
		return NULL;
	}
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%zu links are known from LLDP now, %zu before", links_count(fresh),
		links_count(agent->config));
	log_info("topology", "%s", line.s);
	store_event(agent->store, wall_now().ns, "topology", NULL, "", line.s);
	return fresh;
}

/* ---- start --------------------------------------------------------------- */

static void links_recall(struct agent *agent)
{
	struct history *history;
	struct err e = {0};
	int rc = db_history_open(agent->config->store.path, &history, &e);
	if (rc == 0) {
		rc = config_recall(&agent->config, history, INT64_MAX, &e);
		history_close(history);
	}
	if (rc != 0)
		log_warn("topology",
			"links known before could not be read, they have to be discovered anew: %s",
			e.text);
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct config_link *links;
	const size_t n = config_discovered(agent->config, arena, &links);
	discovery_know(agent->discovery, links, n);
}

void links_open(struct agent *agent)
{
	const struct discovery_events events = {
		.arg = agent, .waits = links_pending, .peer = links_peer, .dispute = links_dispute};
	agent->discovery = discovery_new(&events, mono_now());
	links_recall(agent);
}
