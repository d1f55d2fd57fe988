/* agent - see agent.h. Owns the loop and everything on it; all functions run on the loop thread. */
#include "agent/daemon/agent.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/modules.h"
#include "agent/client/control.h"
#include "agent/daemon/discovery.h"
#include "agent/daemon/health.h"
#include "agent/daemon/resume.h"
#include "agent/incident/ledger.h"
#include "agent/daemon/sd_notify.h"
#include "agent/daemon/pipeline.h"
#include "agent/daemon/privilege.h"
#include "agent/daemon/source_select.h"
#include "agent/daemon/tune_agent.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/packet/pcap.h"
#include "collectors/snmp/snmp.h"
#include "collectors/snmp/trap_receiver.h"
#include "config/profile/config_profiles.h"
#include "config/config.h"
#include "db/series/series.h"
#include "db/store/store.h"

#define TICK_NS NS_PER_S
#define RETRY_NS (30 * NS_PER_S) /* for what could not be opened at all */
#define FORGET_NS                                                                                  \
	(24 * 3600 *                                                                               \
		NS_PER_S) /* closed incidents stay in memory that long; the database keeps them */

/* One thing that collects: a device over one protocol, or a capture. One of .snmp, .gnmi and
 * .capture is used; all NULL = could not be opened. */
struct source {
	char *name;
	enum { SOURCE_OF_SNMP, SOURCE_OF_GNMI, SOURCE_OF_CAPTURE } kind;
	struct snmp_target *snmp;
	struct gnmi_target *gnmi;
	struct capture *capture;
	mono_t retry;
	struct target down; /* shown while it is not open */
	bool wanted; /* by the configuration being applied */
	struct health_source health;
};

struct agent {
	const struct agent_options *options;
	struct config *config;
	struct loop *loop;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
	struct tune_live *tuning;
	struct discovery *discovery;
	struct source_choice *choice;
	struct control *control;
	struct source **sources;
	size_t n_sources, cap_sources;
	struct loop_timer *tick, *end, *watchdog;
	struct loop_signal *hup, *term, *interrupt;
	struct notify notify;
	struct trap_receiver *traps; /* NULL = off, or could not be opened */
	mono_t traps_retry;
	struct complaint traps_down;
	struct health *health;
	mono_t health_next;
	wall_t started;
	struct complaint dropped;
	uint64_t dropped_before;
	uint32_t reloads;
};

/* ---- configuration ------------------------------------------------------- */

static void log_errors(enum log_level level, const struct err_list *errors)
{
	for (size_t k = 0; k < errors->n; k++)
		log_event(level, "config", "%s:%d:%d: %s", errors->v[k].file, errors->v[k].line,
			errors->v[k].col, errors->v[k].text);
	if (errors->more)
		log_event(level, "config", "and %zu more", errors->more);
}

/* What the agent starts in spite of, each with its place: a missing secret or profile stops one
 * target, not the others. */
static void warn_of(const struct config *config)
{
	rw_cleanup(err_list_done) struct err_list found = {0};
	config_check_profiles(config, &found);
	config_check_files(config, &found, &found);
	config_check_served(config, &found, &found);
	config_mistakes_sort(&found);
	log_errors(LOG_WARN_, &found);
}

int agent_config(const struct agent_options *options, struct config **ret, struct err_list *errors)
{
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	struct config *c = NULL;
	int rc = config_load(options->config_path, CONFIG_FULL, tables, n, &c, errors);
	if (rc != 0)
		return rc;
	if (options->db) {
		rw_cleanup(str_done) struct str usual = {0};
		str_addf(&usual, "%s.sock", str_or(c->store.path, ""));
		if (!c->socket_path || str_eq(c->socket_path, usual.s))
			c->socket_path = arena_printf(c->arena, "%s.sock", options->db);
		c->store.path = arena_strdup(c->arena, options->db);
	}
	warn_of(c);
	*ret = c;
	return 0;
}

/* ---- sources ------------------------------------------------------------- */

static const struct config_device *agent_device_of(const struct config *config, const char *name)
{
	for (size_t k = 0; k < config->n_devices; k++) {
		if (str_eq(config->devices[k].name, name))
			return &config->devices[k];
	}
	return NULL;
}

static const struct config_capture *capture_of(const struct config *config, const char *name)
{
	for (size_t k = 0; k < config->n_captures; k++) {
		if (str_eq(config->captures[k].name, name))
			return &config->captures[k];
	}
	return NULL;
}

static const char *source_protocol(const struct source *source)
{
	static const char *const names[] = {
		[SOURCE_OF_SNMP] = "snmp", [SOURCE_OF_GNMI] = "gnmi", [SOURCE_OF_CAPTURE] = "pcap"};
	return names[source->kind];
}

static bool source_is_open(const struct source *source)
{
	return source->snmp || source->gnmi || source->capture;
}

/* Open, or say why not, show it as down, and come back later. */
static void source_open(struct agent *agent, struct source *source)
{
	const struct sink *sink = pipeline_sink(agent->pipeline);
	const char *address = "";
	struct err e = {0};
	int rc;
	if (source->kind != SOURCE_OF_CAPTURE)
		sink = source_choice_sink(agent->choice, source->name, source_protocol(source));
	if (source->kind == SOURCE_OF_SNMP) {
		const struct config_device *d = agent_device_of(agent->config, source->name);
		address = d->snmp->address;
		rc = snmp_target_new(
			agent->loop, agent->entities, d, agent->config, sink, &source->snmp, &e);
	} else if (source->kind == SOURCE_OF_GNMI) {
		const struct config_device *d = agent_device_of(agent->config, source->name);
		address = d->gnmi->address;
		rc = gnmi_target_new(
			agent->loop, agent->entities, d, agent->config, sink, &source->gnmi, &e);
	} else {
		const struct config_capture *c = capture_of(agent->config, source->name);
		if (c->interface)
			address = c->interface;
		else if (c->listen)
			address = c->listen;
		else
			address = "";
		rc = capture_open(agent->loop, agent->entities, c, sink, &source->capture, &e);
	}
	if (rc == 0) {
		complaint_over(
			&source->down.complaint, mono_now(), source->name, "can be opened again");
		return;
	}
	source->down.device = source->name;
	source->down.protocol = source_protocol(source);
	source->down.address = address;
	target_change(&source->down, TARGET_BACKOFF, mono_now(), wall_now(),
		*e.text ? e.text : strerror(-rc));
	sink->target(sink->arg, &source->down);
	source->down.address = ""; /* borrowed from a configuration that may go */
	source->retry = (mono_t){mono_now().ns + RETRY_NS};
}

static void source_shut(struct source *source)
{
	snmp_target_free(source->snmp);
	gnmi_target_free(source->gnmi);
	capture_free(source->capture);
	source->snmp = NULL;
	source->gnmi = NULL;
	source->capture = NULL;
}

static void source_free(struct source *source)
{
	source_shut(source);
	free(source->name);
	free(source);
}

static struct source *source_find(struct agent *agent, const char *name, int kind)
{
	for (size_t k = 0; k < agent->n_sources; k++) {
		if ((int)agent->sources[k]->kind == kind && str_eq(agent->sources[k]->name, name))
			return agent->sources[k];
	}
	return NULL;
}

static struct source *source_add(struct agent *agent, const char *name, int kind)
{
	struct source *s = rw_calloc(1, sizeof(*s));
	s->name = rw_strdup(name);
	s->kind = kind;
	rw_grow(agent->sources, agent->n_sources, agent->cap_sources);
	agent->sources[agent->n_sources++] = s;
	return s;
}

/* ---- applying a configuration: the first one and every reload ------------ */

struct difference {
	unsigned added, removed, changed, unchanged;
};

static void apply_one(struct agent *agent, const char *name, int kind, struct difference *diff)
{
	struct source *s = source_find(agent, name, kind);
	if (!s) {
		s = source_add(agent, name, kind);
		s->wanted = true;
		source_open(agent, s);
		diff->added++;
		return;
	}
	s->wanted = true;
	if (s->snmp &&
		snmp_target_same(s->snmp, agent_device_of(agent->config, name), agent->config)) {
		snmp_target_update(s->snmp, agent_device_of(agent->config, name), agent->config);
		diff->unchanged++;
		return;
	}
	if (s->gnmi &&
		gnmi_target_same(s->gnmi, agent_device_of(agent->config, name), agent->config)) {
		gnmi_target_update(s->gnmi, agent_device_of(agent->config, name), agent->config);
		diff->unchanged++;
		return;
	}
	if (s->capture && capture_same(s->capture, capture_of(agent->config, name))) {
		capture_update(s->capture, capture_of(agent->config, name));
		diff->unchanged++;
		return;
	}
	source_shut(s);
	source_open(agent, s);
	diff->changed++;
}

static void apply_sources(struct agent *agent, struct difference *diff)
{
	const struct config *c = agent->config;
	for (size_t k = 0; k < agent->n_sources; k++)
		agent->sources[k]->wanted = false;
	for (size_t k = 0; k < c->n_captures; k++)
		apply_one(agent, c->captures[k].name, SOURCE_OF_CAPTURE, diff);
	for (size_t k = 0; k < c->n_devices; k++) {
		if (c->devices[k].snmp)
			apply_one(agent, c->devices[k].name, SOURCE_OF_SNMP, diff);
		if (c->devices[k].gnmi)
			apply_one(agent, c->devices[k].name, SOURCE_OF_GNMI, diff);
	}
	size_t n = 0;
	for (size_t k = 0; k < agent->n_sources; k++) {
		struct source *s = agent->sources[k];
		if (s->wanted) {
			agent->sources[n++] = s;
			continue;
		}
		store_targets_gone(agent->store, s->name, source_protocol(s));
		if (s->kind != SOURCE_OF_CAPTURE)
			source_choice_gone(agent->choice, s->name, source_protocol(s));
		source_free(s);
		diff->removed++;
	}
	agent->n_sources = n;
}

/* ---- traps --------------------------------------------------------------- */

/* "192.0.2.1" is the host of "192.0.2.1:161", "2001:db8::1" that of "[2001:db8::1]:161". */
static bool is_host_of(const char *peer, const char *host)
{
	size_t n = strlen(host);
	if (*peer == '[')
		return strncmp(peer + 1, host, n) == 0 && peer[1 + n] == ']';
	return strncmp(peer, host, n) == 0 && (peer[n] == ':' || peer[n] == '\0');
}

static struct snmp_target *find_target(void *arg, const char *host, size_t *ret_n)
{
	struct agent *a = arg;
	struct snmp_target *found = NULL;
	*ret_n = 0;
	for (size_t k = 0; k < a->n_sources; k++) {
		struct source *s = a->sources[k];
		if (s->snmp && is_host_of(snmp_target_peer(s->snmp), host)) {
			found = s->snmp;
			++*ret_n;
		}
	}
	if (*ret_n == 1)
		return found;
	return NULL;
}

/* Open it, or say why not and come back later: without traps everything else goes on. */
static void traps_open(struct agent *agent)
{
	struct err e = {0};
	int rc = trap_receiver_new(agent->loop, agent->config->traps,
		pipeline_sink(agent->pipeline), find_target, agent, &agent->traps, &e);
	if (rc == 0) {
		complaint_over(&agent->traps_down, mono_now(), "traps", "received again");
		return;
	}
	complain(&agent->traps_down, mono_now(), LOG_WARN_, "traps", "none are received: %s",
		*e.text ? e.text : strerror(-rc));
	agent->traps_retry = (mono_t){mono_now().ns + RETRY_NS};
}

/* @was is the configuration before this one; NULL at the start. */
static void apply_traps(struct agent *agent, const struct config *was)
{
	if (was && config_traps_same(was->traps, agent->config->traps))
		return;
	trap_receiver_free(agent->traps);
	agent->traps = NULL;
	agent->traps_down = (struct complaint){0};
	if (agent->config->traps)
		traps_open(agent);
}

static void record_config(struct agent *agent)
{
	rw_cleanup(freep) char *yaml = config_text(agent->config);
	int64_t now = wall_now().ns;
	if (yaml)
		store_fabric(agent->store, now, yaml);
	pipeline_announce(agent->pipeline, now);
}

static void warn_fixed(const struct config *was, const struct config *is)
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
				fixed[k].key, fixed[k].was ? fixed[k].was : "none");
	}
}

/* From now on @fresh: as a difference, so that what did not change keeps its sessions and its
 * cadence. */
static void agent_adopt(struct agent *agent, struct config *fresh, struct difference *diff)
{
	struct config *old = agent->config;
	fresh->store.path = arena_strdup(fresh->arena, old->store.path);
	if (old->socket_path)
		fresh->socket_path = arena_strdup(fresh->arena, old->socket_path);
	else
		fresh->socket_path = NULL;
	agent->config = fresh;
	pipeline_reload(agent->pipeline, fresh);
	ledger_reload(agent->ledger, fresh->fabric);
	tune_live_reload(agent->tuning, fresh);
	apply_sources(agent, diff);
	apply_traps(agent, old);
	record_config(agent);
	config_free(old);
}

/* ---- links: discover ----------------------------------------------------- */

static bool discovery_waits(void *arg, const char *device)
{
	const struct source *s = source_find(arg, device, SOURCE_OF_SNMP),
			    *g = source_find(arg, device, SOURCE_OF_GNMI);
	return (s && s->snmp && snmp_target_state(s->snmp)->state != TARGET_BACKOFF) ||
		(g && g->gnmi && gnmi_target_state(g->gnmi)->state != TARGET_BACKOFF);
}

static void discovery_peer(void *arg, const char *device, const char *port, const char *peer_device,
	const char *peer_port)
{
	struct agent *a = arg;
	pipeline_peer(a->pipeline, device, port, peer_device, peer_port, wall_now().ns);
}

static void discovery_dispute(void *arg, const char *device, const char *text, bool over)
{
	struct agent *a = arg;
	rw_cleanup(str_done) struct str b = {0};
	str_addf(&b, "LLDP: %s%s", text, str_if(over, " (no more)"));
	log_event(over ? LOG_INFO_ : LOG_WARN_, device, "%s%s", b.s,
		str_if(!over, "; rocewatch topology check lists what disagrees"));
	store_event(a->store, wall_now().ns, "topology", NULL, "", b.s);
}

static void agent_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct agent *a = arg;
	discovery_hear(a->discovery, self, heard, n, mono_now());
}

/* @config with the links that are believed, where it wants them discovered; else, and when they
 * would not fit, @config itself. */
static struct config *with_discovered(struct agent *agent, struct config *config)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const struct config_link *links;
	struct config *ret = NULL;
	size_t n = discovery_links(agent->discovery, &links);
	if (!config->fabric->discover || config_with_links(config, links, n, &ret, &errors) == 0) {
		if (ret)
			return ret;
		return config;
	}
	log_errors(LOG_ERROR_, &errors);
	log_error("topology", "the discovered links cannot be used, going on without a change");
	return config;
}

static size_t links_of(const struct config *config)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct config_link *links;
	return config_discovered(config, a, &links);
}

static void agent_discover(struct agent *agent)
{
	struct difference diff = {0};
	if (!discovery_settle(agent->discovery, agent->config, mono_now()) ||
		!agent->config->fabric->discover)
		return;
	struct config *fresh = with_discovered(agent, agent->config);
	if (fresh == agent->config)
		return;
	rw_cleanup(freep) char *was = config_text(agent->config), *is = config_text(fresh);
	if (strcmp(was, is) == 0) { /* the news is of devices that are not configured */
		config_free(fresh);
		return;
	}
	size_t before = links_of(agent->config), after = links_of(fresh);
	rw_cleanup(str_done) struct str b = {0};
	str_addf(&b, "%zu links are known from LLDP now, %zu before", after, before);
	log_info("topology", "%s", b.s);
	agent_adopt(agent, fresh, &diff);
	store_event(agent->store, wall_now().ns, "topology", NULL, "", b.s);
}

/* Links that were known before this process began: the groups are there from the first window on.
 */
static void recall_links(struct agent *agent)
{
	struct series_db *db;
	struct err e = {0};
	struct arena *arena = arena_new();
	struct config_link *links;
	int rc = series_db_open(agent->config->store.path, &db, &e);
	if (rc == 0) {
		rc = config_recall(&agent->config, db, INT64_MAX, &e);
		series_db_close(db);
	}
	if (rc != 0)
		log_warn("topology",
			"links known before could not be read, they have to be discovered anew: %s",
			e.text);
	size_t n = config_discovered(agent->config, arena, &links);
	discovery_know(agent->discovery, links, n);
	arena_free(arena);
}

static void agent_reload(struct agent *agent)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *fresh = NULL;
	struct difference diff = {0};
	char reloading[64]; /* with the time, as Type=notify-reload wants it */
	snprintf(reloading, sizeof(reloading), "RELOADING=1\nMONOTONIC_USEC=%lld",
		(long long)(mono_now().ns / NS_PER_US));
	notify_send(&agent->notify, reloading);
	if (agent_config(agent->options, &fresh, &errors) != 0) {
		log_errors(LOG_ERROR_, &errors);
		log_error("agent",
			"reload refused: %zu mistake%s in %s; the running configuration stays",
			errors.n + errors.more, str_if(errors.n != 1, "s"),
			agent->options->config_path);
		notify_send(&agent->notify, "READY=1");
		return;
	}
	log_errors(LOG_WARN_, &fresh->warnings);
	warn_fixed(agent->config, fresh);
	struct config *linked = with_discovered(agent, fresh);
	if (linked != fresh)
		config_free(fresh);
	agent_adopt(agent, linked, &diff);
	discovery_reconsider(agent->discovery);
	agent->reloads++;
	log_info("agent", "reload: %u added, %u removed, %u changed, %u unchanged", diff.added,
		diff.removed, diff.changed, diff.unchanged);
	notify_send(&agent->notify, "READY=1");
}

/* ---- what happens on the loop -------------------------------------------- */

static void on_incident(void *arg, const struct incident *incident, enum incident_state from)
{
	struct agent *a = arg;
	if (incident->note)
		log_event(incident->state == INCIDENT_OPEN ? LOG_WARN_ : LOG_INFO_, "incident",
			"%s %s (%s -> %s): %s", incident->id, incident->cause,
			incident_state_name(from), incident_state_name(incident->state),
			incident->note);
	incident_store(a->store, incident, from);
}

static void watch_store(struct agent *agent)
{
	struct store_stats s;
	store_stats(agent->store, &s);
	if (s.dropped > agent->dropped_before)
		complain(&agent->dropped, mono_now(), LOG_ERROR_, "store",
			"%llu samples were dropped because they could not be written",
			(unsigned long long)s.dropped);
	agent->dropped_before = s.dropped;
}

static const struct target *source_state(const struct source *source)
{
	if (source->snmp)
		return snmp_target_state(source->snmp);
	if (source->gnmi)
		return gnmi_target_state(source->gnmi);
	if (source->capture)
		return capture_state(source->capture);
	return &source->down;
}

static void tell_health(struct agent *agent)
{
	health_begin(agent->health, mono_now());
	health_pipeline(agent->health, pipeline_counters(agent->pipeline));
	for (size_t k = 0; k < agent->n_sources; k++) {
		struct source *s = agent->sources[k];
		if (source_is_open(s))
			health_target(agent->health, &s->health, s->name, source_state(s),
				s->snmp ? snmp_target_max_repetitions(s->snmp) : 0);
		if (s->gnmi)
			health_gnmi(agent->health, s->name, gnmi_target_counts(s->gnmi));
		if (s->capture)
			health_capture(agent->health, s->name, capture_counts(s->capture));
	}
	if (agent->config->traps)
		health_traps(
			agent->health, agent->traps ? trap_receiver_counters(agent->traps) : NULL);
	health_commit(agent->health, agent->store, wall_now().ns);
}

static void agent_on_tick(void *arg)
{
	struct agent *a = arg;
	int64_t now = wall_now().ns;
	mono_t mono = mono_now();
	pipeline_advance(a->pipeline, now);
	agent_discover(a);
	for (size_t k = 0; k < a->n_sources; k++) {
		struct source *s = a->sources[k];
		if (!source_is_open(s) && mono.ns >= s->retry.ns)
			source_open(a, s);
	}
	if (a->control)
		control_tick(a->control);
	tune_live_tick(a->tuning, now);
	ledger_forget(a->ledger, now - FORGET_NS);
	watch_store(a);
	if (a->config->traps && !a->traps && mono.ns >= a->traps_retry.ns)
		traps_open(a);
	if (mono.ns >= a->health_next.ns) {
		tell_health(a);
		a->health_next.ns = mono.ns + HEALTH_EVERY_NS;
	}
}

static void on_watchdog(void *arg)
{
	notify_send(&((struct agent *)arg)->notify, "WATCHDOG=1");
}
static void on_hup(void *arg, int signum)
{
	agent_reload(arg);
}

static void on_stop(void *arg, int signum)
{
	struct agent *a = arg;
	log_info("agent", "%s: stopping", strsignal(signum));
	loop_stop(a->loop);
}

static void agent_on_end(void *arg)
{
	struct agent *a = arg;
	log_info("agent", "time is over: stopping");
	loop_stop(a->loop);
}

/* ---- the socket's requests ----------------------------------------------- */

static json_t *request_act(struct agent *agent, const char *who, const json_t *request)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd")),
		   *id = json_string_value(json_object_get(request, "id"));
	const char *text = json_string_value(json_object_get(request, "note"));
	enum incident_act act;
	if (!id || incident_act_parse(cmd, &act) != 0)
		return control_error("expected an incident's id");
	const int r = ledger_act(agent->ledger, id, act, who, text, wall_now().ns);
	if (r != 0)
		return control_error("%s %.20s: %s", cmd, id, incident_act_error(r));
	return json_pack("{s:b, s:O}", "ok", 1, "incident", ledger_find(agent->ledger, id)->json);
}

static json_t *request_status(struct agent *agent, const char *who, const json_t *request)
{
	const struct pipeline_counters *n = pipeline_counters(agent->pipeline);
	const struct incident **incidents;
	size_t total = ledger_incidents(agent->ledger, &incidents), open = 0;
	struct store_stats s;
	store_stats(agent->store, &s);
	for (size_t k = 0; k < total; k++)
		open += incidents[k]->state != INCIDENT_CLOSED;
	json_t *targets = json_array();
	for (size_t k = 0; k < agent->n_sources; k++) {
		const struct source *x = agent->sources[k];
		const struct target *t = source_state(x);
		json_array_append_new(targets,
			json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", x->name, "protocol",
				source_protocol(x), "state", target_state_name(t->state), "reason",
				t->reason, "polls", (json_int_t)t->polls));
	}
	return json_pack("{s:b, s:s, s:i, s:s, s:s, s:i, s:i, s:o, s:{s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I}, s:{s:I, s:I, s:I, s:I, s:I}}",
		"ok", 1, "version", RW_VERSION, "pid", (int)getpid(), "fabric",
		agent->config->fabric->name, "store", agent->config->store.path, "open_incidents",
		(int)open, "reloads", (int)agent->reloads, "targets", targets, "data_quality",
		"samples", (json_int_t)n->samples, "late", (json_int_t)n->late, "duplicates",
		(json_int_t)n->duplicates, "refused", (json_int_t)n->refused, "windows",
		(json_int_t)n->windows, "findings", (json_int_t)n->findings, "late_flows",
		(json_int_t)n->late_flows, "writer", "commits", (json_int_t)s.commits, "samples",
		(json_int_t)s.samples, "dropped", (json_int_t)s.dropped, "errors",
		(json_int_t)s.errors, "pending", (json_int_t)s.pending);
}

static const struct {
	const char *cmd;
	json_t *(*fn)(struct agent *agent, const char *who, const json_t *request);
} requests[] = {
	{"ack", request_act},
	{"assign", request_act},
	{"note", request_act},
	{"close", request_act},
	{"merge", request_act},
	{"status", request_status},
};

static json_t *on_request(void *arg, const char *who, const json_t *request)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	for (size_t k = 0; cmd && k < rw_countof(requests); k++) {
		if (str_eq(requests[k].cmd, cmd))
			return requests[k].fn(arg, who, request);
	}
	json_t *reply = NULL;
	if (cmd)
		reply = tune_live_request(
			((struct agent *)arg)->tuning, who, request, wall_now().ns);
	if (reply)
		return reply;
	return control_error("expected \"cmd\": \"ack\", \"assign\", \"note\", \"close\", "
			     "\"merge\", \"status\" or one of \"tune_...\"");
}

/* ---- start and stop ------------------------------------------------------ */

static bool prefers_snmp(void *arg, const char *device, unsigned metric)
{
	const struct source *s = source_find(arg, device, SOURCE_OF_GNMI);
	return s && s->gnmi && gnmi_target_prefers_snmp(s->gnmi, metric);
}

static int start_store(struct agent *agent, struct err *e)
{
	const struct config_store *s = &agent->config->store;
	struct store_options o = {.path = s->path,
		.quota_bytes = s->quota_bytes,
		.raw_ns = s->raw_ns,
		.minute_ns = s->minute_ns,
		.hour_ns = s->hour_ns};
	agent->entities = entities_new();
	int rc = store_open(&o, agent->entities, &agent->store, e);
	if (rc != 0)
		return rc;
	const struct discovery_events events = {.arg = agent,
		.waits = discovery_waits,
		.peer = discovery_peer,
		.dispute = discovery_dispute};
	agent->discovery = discovery_new(&events, mono_now());
	recall_links(agent);
	agent->ledger = ledger_new(agent->config->fabric, on_incident, agent);
	agent->pipeline = pipeline_new(agent->config, agent->entities, agent->store, agent->ledger);
	pipeline_listen(agent->pipeline, agent_on_neighbors, agent);
	agent->choice = source_choice_new(pipeline_sink(agent->pipeline), prefers_snmp, agent);

	struct err why = {0};
	agent->tuning = tune_live_new(agent->store, agent->pipeline, agent->ledger, agent->config);
	if (tune_live_resume(agent->tuning, agent->config->store.path, &why) != 0)
		log_warn("agent",
			"recommendations could not be read; they stay in the database as they are: "
			"%s",
			why.text);
	if (history_resume(agent->config->store.path, agent->entities, agent->config,
		    agent->pipeline, agent->ledger, &why) != 0)
		log_warn("agent", "history could not be read, starting afresh: %s", why.text);
	pipeline_advance(agent->pipeline, wall_now().ns);
	record_config(agent);
	return 0;
}

static void start_socket(struct agent *agent)
{
	struct err e = {0};
	if (!agent->config->socket_path)
		return;
	if (control_new(agent->loop, agent->config->socket_path, on_request, agent, &agent->control,
		    &e) != 0)
		log_warn("agent", "no socket, so 'incident ack' cannot reach us: %s: %s", e.file,
			e.text);
}

static void start_timers(struct agent *agent)
{
	agent->tick = loop_timer_new(agent->loop, agent_on_tick, agent);
	loop_timer_start(agent->tick, TICK_NS, TICK_NS);
	if (agent->options->for_ns > 0) {
		agent->end = loop_timer_new(agent->loop, agent_on_end, agent);
		loop_timer_start(agent->end, agent->options->for_ns, 0);
	}
	if (agent->notify.watchdog_ns > 0) {
		agent->watchdog = loop_timer_new(agent->loop, on_watchdog, agent);
		loop_timer_start(
			agent->watchdog, agent->notify.watchdog_ns, agent->notify.watchdog_ns);
	}
}

static int agent_start(struct agent *agent, struct err *e)
{
	struct difference diff = {0};
	notify_take(&agent->notify);
	agent->started = wall_now();
	agent->health = health_new(agent->started);
	log_errors(LOG_WARN_, &agent->config->warnings);
	signal(SIGPIPE, SIG_IGN);
	privilege_files(agent->config);
	int rc = privilege_begin(agent->config, e);
	if (rc == 0)
		rc = loop_new(&agent->loop);
	if (rc != 0)
		return rc;
	/* before anything slow: a SIGTERM during the start is obeyed when the loop runs */
	agent->term = loop_signal_new(agent->loop, SIGTERM, on_stop, agent);
	agent->interrupt = loop_signal_new(agent->loop, SIGINT, on_stop, agent);
	agent->hup = loop_signal_new(agent->loop, SIGHUP, on_hup, agent);
	rc = start_store(agent, e);
	if (rc != 0)
		return rc;
	snmp_init();
	apply_sources(agent, &diff);
	apply_traps(agent, NULL);
	start_socket(agent);
	rc = privilege_drop(agent->config, e);
	if (rc != 0)
		return rc;
	start_timers(agent);
	log_info("agent", "started: %u sources, store %s", diff.added, agent->config->store.path);
	notify_send(&agent->notify, "READY=1\nSTATUS=collecting");
	return 0;
}

/* In the order of agent.h; also after a start that failed half-way. */
static void agent_stop(struct agent *agent)
{
	notify_send(&agent->notify, "STOPPING=1");
	loop_timer_free(agent->tick);
	loop_timer_free(agent->end);
	loop_timer_free(agent->watchdog);
	trap_receiver_free(agent->traps);
	for (size_t k = agent->n_sources; k-- > 0;)
		source_free(agent->sources[k]);
	free(agent->sources);
	source_choice_free(agent->choice);
	if (agent->pipeline)
		pipeline_finish(agent->pipeline);
	control_free(agent->control);
	if (agent->store) {
		struct err e = {0};
		if (store_flush(agent->store, &e) != 0)
			log_error(
				"store", "not everything could be written at the end: %s", e.text);
		store_close(agent->store);
	}
	tune_live_free(agent->tuning);
	pipeline_free(agent->pipeline);
	discovery_free(agent->discovery);
	ledger_free(agent->ledger);
	health_free(agent->health);
	entities_free(agent->entities);
	if (agent->loop) {
		loop_signal_free(agent->hup);
		loop_signal_free(agent->interrupt);
		loop_signal_free(agent->term);
		loop_free(agent->loop);
	}
	config_free(agent->config);
}

int agent_run(const struct agent_options *options, struct config *config, struct err *e)
{
	struct agent a = {.options = options, .config = config};
	int rc = agent_start(&a, e);
	if (rc == 0)
		rc = loop_run(a.loop);
	agent_stop(&a);
	if (rc == 0)
		log_info("agent", "stopped");
	return rc;
}
