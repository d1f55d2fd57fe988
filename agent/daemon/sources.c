/* sources - opens, updates and closes the collector instances that a configuration asks for. */
#include "agent/daemon/sources.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/daemon/health.h"
#include "agent/daemon/parser_monitor.h"
#include "agent/daemon/source_select.h"
#include "collectors/push/push_hub.h"
#include "collectors/target/collector.h"
#include "db/store/store.h"

#define RETRY_NS (30 * NS_PER_S) /* between two tries to open an instance */

struct source {
	char *name;
	const struct collector *collector;
	void *instance; /* of .collector; NULL = could not be opened */
	mono_t retry; /* while it is not open */
	struct target down; /* shown while it is not open */
	bool wanted; /* by the configuration being applied */
	struct health_source health;
};

struct sources {
	struct loop *loop;
	struct entities *entities;
	struct store *store;
	const struct sink *sink;
	const struct config *config; /* the one applied last */
	struct source_choice *choice;
	struct push_hub *hub;
	struct source **v;
	size_t n, cap;
};

/* What is called for it: the collector itself, or what runs it in a process of its own. */
static const struct collector *source_run(const struct source *source)
{
	if (source->collector->own_process)
		return &parser_monitor_collector;
	return source->collector;
}

static const struct target *source_state(const struct source *source)
{
	if (source->instance)
		return source_run(source)->state(source->instance);
	return &source->down;
}

static struct source *source_find(
	const struct sources *sources, const char *name, const struct collector *collector)
{
	for (size_t k = 0; k < sources->n; k++) {
		if (sources->v[k]->collector == collector && str_eq(sources->v[k]->name, name))
			return sources->v[k];
	}
	return NULL;
}

/* source_place - what the newest configuration says about it. False: nothing any more. */
static bool source_place(
	const struct sources *sources, const struct source *source, struct collector_place *ret)
{
	for (size_t i = 0; source->collector->place(sources->config, i, ret); i++) {
		if (ret->config && str_eq(ret->name, source->name))
			return true;
	}
	return false;
}

/* ---- opening and closing ------------------------------------------------- */

static const struct sink *source_sink(const struct sources *sources, const struct source *source)
{
	if (source->collector->role == COLLECTS_PACKETS)
		return sources->sink;
	return source_choice_sink(sources->choice, source->name, source->collector->role);
}

/* Show it as down with the reason, and come back later. */
static void source_failed(
	struct source *source, const struct sink *sink, const char *address, const char *text)
{
	struct reason reason;
	source->down.device = source->name;
	source->down.protocol = source->collector->name;
	source->down.address = address;
	reason_from(&reason, source->collector->name, text);
	target_change(&source->down, TARGET_BACKOFF, mono_now(), wall_now(), &reason);
	sink->target(sink->arg, &source->down);
	source->down.address = ""; /* borrowed from a configuration that may go */
	source->retry = (mono_t){mono_now().ns + RETRY_NS};
}

static const char *source_port_name(void *arg, const char *device, uint32_t ifindex)
{
	const struct sources *sources = arg;
	for (size_t k = 0; k < sources->n; k++) {
		const struct source *s = sources->v[k];
		const char *name = NULL;
		if (s->instance && s->collector->port_name && str_eq(s->name, device))
			name = s->collector->port_name(s->instance, ifindex);
		if (name)
			return name;
	}
	return NULL;
}

static const char *source_peer(void *arg, const char *device)
{
	const struct sources *sources = arg;
	for (size_t k = 0; k < sources->n; k++) {
		const struct source *s = sources->v[k];
		if (s->instance && s->collector->peer && str_eq(s->name, device))
			return s->collector->peer(s->instance);
	}
	return NULL;
}

static void source_open(
	struct sources *sources, struct source *source, const struct collector_place *place)
{
	const struct collector_env env = {.loop = sources->loop,
		.entities = sources->entities,
		.config = sources->config,
		.sink = source_sink(sources, source),
		.lookup = {sources, source_port_name, source_peer},
		.row = source->collector,
		.hub = sources->hub};
	struct err e = {0};
	const int rc = source_run(source)->open(&env, place->config, &source->instance, &e);
	if (rc == 0) {
		complaint_over(
			&source->down.complaint, mono_now(), source->name, "can be opened again");
		return;
	}
	source->instance = NULL;
	source_failed(source, env.sink, place->address, *e.text ? e.text : strerror(-rc));
}

static void source_shut(struct source *source)
{
	if (source->instance)
		source_run(source)->close(source->instance);
	source->instance = NULL;
}

/* Does it know names that other collectors ask for? */
static bool source_answers(const struct source *source)
{
	return source->collector->port_name || source->collector->peer;
}

/* Before anything is freed: who asks others for names hands over its last interval while they still
 * answer. */
static void sources_shut_unwanted(struct sources *sources)
{
	for (int answers = 0; answers < 2; answers++)
		for (size_t k = sources->n; k-- > 0;) {
			struct source *source = sources->v[k];
			if (!source->wanted && source_answers(source) == answers)
				source_shut(source);
		}
}

static void source_free(struct source *source)
{
	source_shut(source);
	free(source->name);
	free(source);
}

static struct source *source_add(
	struct sources *sources, const char *name, const struct collector *collector)
{
	struct source *s = rw_calloc(1, sizeof(*s));
	s->name = rw_strdup(name);
	s->collector = collector;
	rw_grow(sources->v, sources->n, sources->cap);
	sources->v[sources->n++] = s;
	return s;
}

/* ---- applying a configuration: the first one and every reload ------------ */

static void source_apply(struct sources *sources, const struct collector *collector,
	const struct collector_place *place, struct source_changes *changes)
{
	struct source *source = source_find(sources, place->name, collector);
	/* 1. new */
	if (!source) {
		source = source_add(sources, place->name, collector);
		source->wanted = true;
		source_open(sources, source, place);
		changes->added++;
		return;
	}
	source->wanted = true;
	/* 2. the session goes on with the new configuration */
	if (source->instance &&
		source_run(source)->same(source->instance, place->config, sources->config)) {
		source_run(source)->update(source->instance, place->config, sources->config);
		changes->unchanged++;
		return;
	}
	/* 3. it needs a new session */
	source_shut(source);
	source_open(sources, source, place);
	changes->changed++;
}

static void sources_drop_unwanted(struct sources *sources, struct source_changes *changes)
{
	size_t kept = 0;
	sources_shut_unwanted(sources);
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		if (s->wanted) {
			sources->v[kept++] = s;
			continue;
		}
		store_targets_gone(sources->store, s->name, s->collector->name);
		if (s->collector->role != COLLECTS_PACKETS)
			source_choice_gone(sources->choice, s->name, s->collector->role);
		source_free(s);
		changes->removed++;
	}
	sources->n = kept;
}

/* Place by place, so that the protocols of one device stand together. */
static void sources_apply_places(struct sources *sources, struct source_changes *changes)
{
	bool more = true;
	for (size_t i = 0; more; i++) {
		more = false;
		for (size_t k = 0; collectors[k]; k++) {
			struct collector_place place;
			if (!collectors[k]->place(sources->config, i, &place))
				continue;
			more = true;
			if (place.config)
				source_apply(sources, collectors[k], &place, changes);
		}
	}
}

void sources_apply(
	struct sources *sources, const struct config *config, struct source_changes *changes)
{
	sources->config = config;
	for (size_t k = 0; k < sources->n; k++)
		sources->v[k]->wanted = false;
	sources_apply_places(sources, changes);
	sources_drop_unwanted(sources, changes);
}

void sources_retry(struct sources *sources, mono_t now)
{
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		struct collector_place place;
		if (s->instance || now.ns < s->retry.ns)
			continue;
		if (source_place(sources, s, &place))
			source_open(sources, s, &place);
	}
}

/* ---- what others ask ----------------------------------------------------- */

struct source_figures {
	struct health *health;
	const struct source *source;
};

static void source_figure(void *arg, const char *key, const char *unit, double value)
{
	const struct source_figures *figures = arg;
	const struct source *source = figures->source;
	health_figure(figures->health, source->collector->family, source->name, key, unit, value);
}

void sources_health(struct sources *sources, struct health *health)
{
	for (size_t k = 0; k < sources->n; k++) {
		struct source *s = sources->v[k];
		struct source_figures figures = {health, s};
		if (!s->instance)
			continue;
		health_target(health, &s->health, s->name, source_state(s));
		if (source_run(s)->figures)
			source_run(s)->figures(s->instance, source_figure, &figures);
	}
}

void sources_pin(struct sources *sources, const char *id, int64_t from_ns, int64_t to_ns,
	const char *const *devices, size_t n)
{
	for (size_t k = 0; k < sources->n; k++) {
		const struct source *source = sources->v[k];
		if (source->instance && source->collector->pin)
			source_run(source)->pin(source->instance, id, from_ns, to_ns, devices, n);
	}
}

bool sources_lldp_pending(const struct sources *sources, const char *device)
{
	for (size_t k = 0; k < sources->n; k++) {
		const struct source *s = sources->v[k];
		if (s->collector->role == COLLECTS_PACKETS ||
			s->collector->role == COLLECTS_DEVICE_PUSHED || !str_eq(s->name, device))
			continue;
		if (s->instance && source_state(s)->state != TARGET_BACKOFF)
			return true;
	}
	return false;
}

/* Does the preferred protocol of @device leave @metric to the other one? */
static bool source_prefers_plain(void *arg, const char *device, unsigned metric)
{
	const struct sources *sources = arg;
	for (size_t k = 0; k < sources->n; k++) {
		const struct source *s = sources->v[k];
		if (!s->instance || !s->collector->prefers_other || !str_eq(s->name, device))
			continue;
		return s->collector->prefers_other(s->instance, metric);
	}
	return false;
}

size_t sources_count(const struct sources *sources)
{
	return sources->n;
}

struct source_view sources_at(const struct sources *sources, size_t index)
{
	const struct source *s = sources->v[index];
	return (struct source_view){.name = s->name,
		.collector = s->collector,
		.target = source_state(s),
		.instance = s->instance};
}

/* ---- life ---------------------------------------------------------------- */

struct sources *sources_new(
	struct loop *loop, struct entities *entities, struct store *store, const struct sink *sink)
{
	struct sources *sources = rw_calloc(1, sizeof(*sources));
	sources->loop = loop;
	sources->entities = entities;
	sources->store = store;
	sources->sink = sink;
	sources->choice = source_choice_new(sink, source_prefers_plain, sources);
	sources->hub = push_hub_new();
	return sources;
}

void sources_free(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t k = 0; k < sources->n; k++)
		sources->v[k]->wanted = false;
	sources_shut_unwanted(sources);
	for (size_t k = sources->n; k-- > 0;)
		source_free(sources->v[k]);
	free(sources->v);
	source_choice_free(sources->choice);
	push_hub_free(sources->hub);
	free(sources);
}
