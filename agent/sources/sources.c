/* sources - opens, updates and closes the collector instances that a configuration asks for. */
#include "agent/sources/sources.h"

#include "agent/incident/incident.h"
#include "agent/jail/parser_monitor.h"
#include "agent/judge/health.h"
#include "base/log.h"
#include "collectors/push/pushed.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/store/store.h"

enum { PINS_GAP_S = 10, PINS_HOUR = 20, PINS_BEFORE_S = 30, PINS_DEVICES = 32 };

/* source_select - passes samples of a device on, or leaves them to its other protocol. */

#define GRACE_INTERVALS 3
#define INTERVAL_UNKNOWN_NS (10 * NS_PER_S)

enum side { SIDE_PLAIN, SIDE_PREFERRED, SIDE_PUSHED, SIDES };

struct device_sides;
struct side_sink {
	struct sink sink;
	struct device_sides *of;
	enum side side;
	bool asked; /* there is such a target */
	bool up;
	bool neighbors; /* its last LLDP report had some */
	/* while down: its series stay its own from one time to the other (wall clock) */
	int64_t since_ns, until_ns;
	struct map *gave; /* (entity, metric) of the series it has given */
};

struct device_sides {
	struct source_choice *choice;
	char *name;
	struct side_sink side[SIDES];
	bool prefers_plain[METRIC_COUNT];
};

struct source_choice {
	struct sink to;
	bool (*prefers_plain)(void *arg, const char *device, unsigned metric);
	void *arg;
	struct device_sides **v;
	size_t n, cap;
};

struct source_choice *source_choice_new(const struct sink *to,
	bool (*prefers_plain)(void *arg, const char *device, unsigned metric), void *arg)
{
	struct source_choice *c = rw_calloc(1, sizeof(*c));
	*c = (struct source_choice){.to = *to, .prefers_plain = prefers_plain, .arg = arg};
	return c;
}

void source_choice_free(struct source_choice *choice)
{
	if (!choice)
		return;
	for (size_t i = 0; i < choice->n; i++) {
		for (int k = 0; k < SIDES; k++)
			map_free(choice->v[i]->side[k].gave);
		free(choice->v[i]->name);
		free(choice->v[i]);
	}
	free(choice->v);
	free(choice);
}

/* ---- samples ------------------------------------------------------------- */

/* The larger the better: what is pushed, then the preferred protocol, unless the profile leaves the
 * metric to the plain one. */
static int side_rank(const struct device_sides *sides, enum side side, unsigned metric)
{
	if (side == SIDE_PUSHED)
		return 3;
	if (side == SIDE_PREFERRED)
		return 1;
	if (sides->prefers_plain[metric])
		return 2;
	return 0;
}

/* Does this series come from @other at the moment? */
static bool other_has(
	const struct side_sink *sink, const struct side_sink *other, const struct sample *sample)
{
	const int rank = side_rank(sink->of, sink->side, sample->metric);
	if (!other->asked || side_rank(sink->of, other->side, sample->metric) < rank)
		return false;
	/* earlier than it went down: the clock was set back, and nobody waits for it to come round
	 */
	const bool spared = sample->t_ns < other->until_ns &&
		sample->t_ns > other->since_ns - INTERVAL_UNKNOWN_NS;
	const bool other_alive = other->up || spared;
	if (!other_alive)
		return false;
	uint64_t at;
	return map_get(other->gave, (uint64_t)sample->entity << 16 | sample->metric, &at);
}

static bool others_have(const struct side_sink *sink, const struct sample *sample)
{
	for (int k = 0; k < SIDES; k++) {
		const struct side_sink *other = &sink->of->side[k];
		if (other != sink && other_has(sink, other, sample))
			return true;
	}
	return false;
}

static bool others_asked(const struct side_sink *sink)
{
	for (int k = 0; k < SIDES; k++)
		if (&sink->of->side[k] != sink && sink->of->side[k].asked)
			return true;
	return false;
}

static void source_select_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	size_t from = 0;
	if (!others_asked(s)) { /* the device has one protocol only */
		c->to.samples(c->to.arg, samples, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		map_put(s->gave, (uint64_t)samples[i].entity << 16 | samples[i].metric, 1);
		if (!others_have(s, &samples[i]))
			continue;
		if (i > from)
			c->to.samples(c->to.arg, samples + from, i - from);
		from = i + 1;
	}
	if (n > from)
		c->to.samples(c->to.arg, samples + from, n - from);
}

/* ---- the rest ------------------------------------------------------------ */

static void source_select_on_target(void *arg, const struct target *target)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	int64_t interval_ns = INTERVAL_UNKNOWN_NS;
	if (target->interval_ns > 0)
		interval_ns = target->interval_ns;
	if (s->up && target->state != TARGET_UP) {
		s->since_ns = wall_now().ns;
		s->until_ns = s->since_ns + GRACE_INTERVALS * interval_ns;
	}
	s->up = target->state == TARGET_UP;
	c->to.target(c->to.arg, target);
}

static void source_select_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	const struct side_sink *s = arg;
	s->of->choice->to.flows(s->of->choice->to.arg, flows, n);
}

static void source_select_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	for (unsigned m = 0; s->side == SIDE_PREFERRED && m < METRIC_COUNT; m++)
		s->of->prefers_plain[m] = c->prefers_plain(c->arg, device, m);
	/* the plain one (SNMP) knows the device's name and description */
	if (s->side == SIDE_PLAIN || !s->of->side[SIDE_PLAIN].asked)
		c->to.device(c->to.arg, device, profile, sysname, descr);
}

static void source_select_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	const struct side_sink *s = arg;
	if (s->side == SIDE_PLAIN || !s->of->side[SIDE_PLAIN].up)
		s->of->choice->to.port(s->of->choice->to.arg, device, port, alias, speed_bps);
}

static void source_select_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	const struct side_sink *s = arg;
	s->of->choice->to.event(s->of->choice->to.arg, t_ns, kind, device, port, text);
}

static void source_select_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct side_sink *s = arg;
	s->neighbors = n > 0;
	/* The plain one (SNMP) knows more of the ports: MAC address, description, index. Where its
	 * agent has no LLDP, the neighbors come from the preferred one. */
	const bool plain_has = s->of->side[SIDE_PLAIN].neighbors;
	const bool preferred_has = s->of->side[SIDE_PREFERRED].neighbors;
	if (s->side == SIDE_PREFERRED && plain_has)
		return;
	if (s->side == SIDE_PLAIN && n == 0 && preferred_has)
		return;
	s->of->choice->to.neighbors(s->of->choice->to.arg, self, neighbors, n);
}

static struct device_sides *source_select_sides_of(struct source_choice *choice, const char *device)
{
	for (size_t i = 0; i < choice->n; i++)
		if (str_eq(choice->v[i]->name, device))
			return choice->v[i];
	struct device_sides *d = rw_calloc(1, sizeof(*d));
	d->choice = choice;
	d->name = rw_strdup(device);
	for (int k = 0; k < SIDES; k++) {
		struct side_sink *s = &d->side[k];
		*s = (struct side_sink){.of = d,
			.side = (enum side)k,
			.gave = map_new(),
			.sink = {s, source_select_on_samples, source_select_on_flows,
				source_select_on_target, source_select_on_device,
				source_select_on_port, source_select_on_event,
				choice->to.neighbors ? source_select_on_neighbors : NULL}};
	}
	rw_grow(choice->v, choice->n, choice->cap);
	choice->v[choice->n++] = d;
	return d;
}

static struct side_sink *side_of(
	struct source_choice *choice, const char *device, enum collector_role role)
{
	enum side side = SIDE_PLAIN;
	if (role == COLLECTS_DEVICE_PREFERRED)
		side = SIDE_PREFERRED;
	else if (role == COLLECTS_DEVICE_PUSHED)
		side = SIDE_PUSHED;
	return &source_select_sides_of(choice, device)->side[side];
}

const struct sink *source_choice_sink(
	struct source_choice *choice, const char *device, enum collector_role role)
{
	struct side_sink *s = side_of(choice, device, role);
	s->asked = true;
	return &s->sink;
}

void source_choice_gone(struct source_choice *choice, const char *device, enum collector_role role)
{
	struct side_sink *s = side_of(choice, device, role);
	s->asked = s->up = s->neighbors = false;
	map_clear(s->gave);
}

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

/* sources_pin - incident @id wants the single values of @devices, or of all where there are none:
 * of those receivers that keep them (struct collector .pin). */
static void sources_pin(struct sources *sources, const char *id, int64_t from_ns, int64_t to_ns,
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

/* pins - whose values, of which time, and not too often. */

struct pin_devices {
	const char *v[PINS_DEVICES];
	size_t n;
};

/* @entity: "leaf1", "leaf1:Ethernet0" or something that is no device of ours. */
static void pin_add(struct pin_devices *devices, const struct config *config, const char *entity)
{
	const size_t n = strcspn(entity, ":");
	for (size_t i = 0; i < config->n_devices && devices->n < PINS_DEVICES; i++) {
		const char *name = config->devices[i].name;
		bool there = strlen(name) != n || strncmp(name, entity, n) != 0;
		for (size_t k = 0; k < devices->n; k++)
			there |= devices->v[k] == name;
		if (!there)
			devices->v[devices->n++] = name;
	}
}

static bool pins_pushed(const struct config *config)
{
	for (size_t i = 0; i < config->n_pushes; i++)
		if (config->pushes[i].push->ipfix)
			return true;
	return false;
}

static void pins_say(struct store *store, const struct incident *incident, const char *text)
{
	store_event(store, wall_now().ns, "burst_kept", incident->id, NULL, text);
}

void pins_opened(struct pins *pins, const struct incident *incident, const struct config *config,
	struct sources *sources, struct store *store)
{
	struct pin_devices devices = {.n = 0};
	const mono_t now = mono_now();
	if (!pins_pushed(config))
		return;
	if (*pins->id && now.ns - pins->last.ns < PINS_GAP_S * NS_PER_S) {
		char text[160];
		snprintf(text, sizeof(text),
			"the single values of this time are kept with another incident: rocewatch "
			"incident burst %s",
			pins->id);
		pins_say(store, incident, text);
		return;
	}
	if (pins->n == 0 || now.ns - pins->hour.ns >= 3600 * NS_PER_S) {
		pins->hour = now;
		pins->n = 0;
	}
	if (pins->n >= PINS_HOUR) {
		pins_say(store, incident,
			"the single values of this time are not kept: enough of them were this "
			"hour");
		return;
	}
	pins->n++;
	pins->last = now;
	snprintf(pins->id, sizeof(pins->id), "%s", incident->id);
	if (incident->device)
		pin_add(&devices, config, incident->device);
	for (size_t i = 0; i < incident->n_roles; i++)
		pin_add(&devices, config, incident->roles[i].entity);
	sources_pin(sources, incident->id, incident->first_ns - PINS_BEFORE_S * NS_PER_S, INT64_MAX,
		devices.v, devices.n);
}
