/* reload - reads the configuration file and applies it as a difference: what did not change keeps
 * its sessions and its place in the polling interval. */
#include "agent/daemon/reload.h"

#include "agent/alert/alert.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/job_watch.h"
#include "agent/daemon/judge.h"
#include "agent/daemon/life.h"
#include "agent/daemon/links.h"
#include "agent/daemon/ship_agent.h"
#include "agent/daemon/traps.h"
#include "agent/daemon/tune_agent.h"
#include "agent/daemon/web.h"
#include "agent/incident/ledger.h"
#include "agent/jail/sandbox.h"
#include "agent/judge/pipeline.h"
#include "agent/modules.h"
#include "agent/sources/discovery.h"
#include "agent/sources/sources.h"
#include "base/log.h"
#include "config/config.h"
#include "config/profile/config_profiles.h"

/* Who of those that share the fabric is this one? */
static int agent_config_role(
	const struct agent_options *options, struct config *config, struct err_list *errors)
{
	struct err e = {0};
	int rc = 0;
	if (options->judge)
		rc = config_as_judge(config, &e);
	else if (options->name)
		rc = config_as_agent(config, options->name, &e);
	else if (config->n_agents > 0)
		rc = err_at(&e, -EINVAL, config->path, 0, 0,
			"several agents share this fabric: say which one this is, such as "
			"--name %s, or --judge",
			config->agents[0]);
	if (rc != 0)
		err_list_add(errors, &e);
	return rc;
}

int agent_config(const struct agent_options *options, struct config **ret, struct err_list *errors)
{
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	struct config *c = NULL;
	int rc = config_load(options->config_path, CONFIG_FULL, tables, n, &c, errors);
	if (rc == 0)
		rc = agent_config_role(options, c, errors);
	if (rc == 0 && !options->db)
		rc = config_check_served(c, errors, errors);
	if (rc != 0) {
		config_free(c);
		return rc;
	}
	if (options->db) {
		rw_cleanup(str_done) struct str usual = {0};
		str_addf(&usual, "%s.sock", str_or(c->store.path, ""));
		if (!c->socket_path || str_eq(c->socket_path, usual.s))
			c->socket_path = arena_printf(c->arena, "%s.sock", options->db);
		c->store.path = arena_strdup(c->arena, options->db);
	}
	/* Mistakes that do not stop the agent: a missing secret or profile stops one
	 * target only. */
	rw_cleanup(err_list_done) struct err_list found = {0};
	config_check_profiles(c, &found);
	config_check_files(c, &found, &found);
	config_mistakes_sort(&found);
	log_errors(LOG_WARN_, "config", &found);
	*ret = c;
	return 0;
}

struct store_options agent_store_options(const struct config *config)
{
	const struct config_store *s = &config->store;
	return (struct store_options){.path = s->path,
		.quota_bytes = s->quota_bytes,
		.raw_ns = s->raw_ns,
		.minute_ns = s->minute_ns,
		.hour_ns = s->hour_ns,
		.events_ns = s->events_ns,
		.incidents_ns = s->incidents_ns,
		.spool = config->ship.n_sinks > 0,
		.spool_bytes = config->ship.spool_bytes};
}

void agent_record_config(struct agent *agent)
{
	rw_cleanup(freep) char *yaml = config_text(agent->config);
	int64_t now = wall_now().ns;
	if (yaml)
		store_fabric(agent->store, now, yaml);
	pipeline_announce(agent->pipeline, now);
}

static void reload_warn_fixed(const struct config *was, const struct config *is)
{
	const struct {
		const char *key, *was, *is;
	} fixed[] = {
		{"store.path", was->store.path, is->store.path},
		{"the agent's socket", was->socket_path, is->socket_path},
		{"user", was->user, is->user},
	};
	for (size_t k = 0; k < rw_countof(fixed); k++) {
		if (!str_eq(fixed[k].was, fixed[k].is))
			log_warn("agent", "reload: %s changed; that needs a restart, keeping %s",
				fixed[k].key, str_or(fixed[k].was, "none"));
	}
}

/* Run @fresh from now on; takes it over. */
static void agent_adopt(struct agent *agent, struct config *fresh, struct source_changes *changes)
{
	struct config *old = agent->config;
	fresh->store.path = arena_strdup(fresh->arena, old->store.path);
	if (old->socket_path)
		fresh->socket_path = arena_strdup(fresh->arena, old->socket_path);
	else
		fresh->socket_path = NULL;
	agent->config = fresh;
	const struct store_options keep = agent_store_options(fresh);
	store_keep(agent->store, &keep);
	pipeline_reload(agent->pipeline, fresh);
	ledger_reload(agent->ledger, fresh->fabric);
	tune_agent_reload(agent->tuning, fresh);
	alert_reload(agent->alert, fresh, agent->ledger, wall_now());
	ship_agent_reload(agent);
	sources_apply(agent->sources, fresh, changes);
	if (agent->judge)
		judge_reload(agent->judge, fresh);
	traps_apply(agent, old);
	web_apply(agent, old);
	agent_record_config(agent);
	config_free(old);
}

void agent_reload(struct agent *agent)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *fresh = NULL;
	struct source_changes changes = {0};
	char reloading[64]; /* with the time, as Type=notify-reload wants it */
	snprintf(reloading, sizeof(reloading), "RELOADING=1\nMONOTONIC_USEC=%lld",
		(long long)(mono_now().ns / NS_PER_US));
	notify_send(&agent->notify, reloading);
	if (agent_config(agent->options, &fresh, &errors) != 0) {
		log_errors(LOG_ERROR_, "config", &errors);
		agent->config_refused = wall_now();
		agent->health_next.ns = 0; /* at once */
		life_refused(agent->store, agent->config_refused.ns, &errors);
		notify_send(&agent->notify, "READY=1");
		return;
	}
	rw_cleanup(freep) char *was = config_text(agent->config);
	log_errors(LOG_WARN_, "config", &fresh->warnings);
	reload_warn_fixed(agent->config, fresh);
	if (agent->options->sandbox)
		sandbox_of_reload(agent->config, fresh);
	struct config *linked = links_into(agent, fresh);
	if (linked != fresh)
		config_free(fresh);
	struct config *employed = job_watch_into(agent, linked);
	if (employed != linked)
		config_free(linked);
	agent_adopt(agent, employed, &changes);
	job_watch_reload(agent);
	discovery_reconsider(agent->discovery);
	agent->reloads++;
	agent->config_refused = (wall_t){0};
	agent->health_next.ns = 0;
	rw_cleanup(freep) char *is = config_text(agent->config);
	life_reloaded(agent->store, wall_now().ns, was, is, &changes);
	notify_send(&agent->notify, "READY=1");
}

void agent_discover(struct agent *agent)
{
	struct source_changes changes = {0};
	struct config *fresh = links_changed(agent);
	if (fresh)
		agent_adopt(agent, fresh, &changes);
	fresh = job_watch_changed(agent);
	if (fresh)
		agent_adopt(agent, fresh, &changes);
}
