/*
 * entity - the intern tables. Ids index an array; names are found by a keyed hash of (device, port,
 * priority), since they come from switches. Each entity is a block of its own, so that what
 * entity_get() lends stays valid while others come and go.
 */
#include "db/model/entity.h"

#include "base/bytes.h"

#define SLOTS_LEAST 256
/* A tick may come late, after the process was stopped: names then do not age by all of that time,
 * in which nobody could see them. */
#define TICK_MOST_NS INT64_C(10000000000)

struct noun {
	struct entity entity; /* first */
	uint64_t hash;
	int64_t seen_ns; /* by the ticks */
	uint32_t holds;
	uint32_t children;
	uint32_t names; /* of a device: how many ports, priorities and the like it has */
	uint32_t texts; /* of a device: how many texts it brought */
	/* while entities_release() runs: of a port and its priorities together */
	int64_t unit_seen_ns;
	bool unit_held;
	char port[];
};

struct noun_slot {
	uint32_t id; /* 0 = free */
	uint32_t hash; /* a part: mostly another name is told apart without being looked at */
};

struct entities {
	struct arena *arena; /* texts, and names of devices */
	struct siphash_key key;
	struct entity_limits limits;
	uint64_t refused;
	char *refused_device;
	int64_t now_ns, ticked_ns; /* the age of all this; when the newest tick came */
	struct noun **v; /* v[id - 1]; NULL = nobody has this id */
	uint32_t n, cap;
	uint32_t known;
	struct noun_slot *slots; /* ids by hash; a power of two */
	uint32_t n_slots;
	struct noun *near[2]; /* the device and the port that were parents last; NULL */
	uint32_t *fresh; /* ids given since entities_fresh_done() */
	size_t n_fresh, cap_fresh;
	struct noun **gone; /* released, and not yet reclaimed */
	size_t n_gone, cap_gone;
	uint32_t *free_ids; /* [free_at, n_free): in the order they became free */
	size_t n_free, cap_free, free_at;
	const char **text; /* text[id - 1] */
	uint32_t n_text, cap_text;
	struct smap *by_text;
	struct smap *devices; /* names of devices, interned -> pointer */
};

struct entities *entities_new(void)
{
	struct entities *t = rw_calloc(1, sizeof(*t));

	t->arena = arena_new();
	t->key = siphash_random_key();
	t->limits.total = ENTITY_ID_MAX;
	t->by_text = smap_new();
	t->devices = smap_new();
	t->n_slots = SLOTS_LEAST;
	t->slots = rw_calloc(t->n_slots, sizeof(*t->slots));
	return t;
}

void entities_free(struct entities *entities)
{
	if (!entities)
		return;
	for (uint32_t i = 0; i < entities->n; i++)
		free(entities->v[i]);
	for (size_t i = 0; i < entities->n_gone; i++)
		free(entities->gone[i]);
	smap_free(entities->by_text);
	smap_free(entities->devices);
	free(entities->refused_device);
	free(entities->v);
	free(entities->slots);
	free(entities->fresh);
	free(entities->gone);
	free(entities->free_ids);
	free(entities->text);
	arena_free(entities->arena);
	free(entities);
}

/* ---- finding ------------------------------------------------------------- */

static const char *device_intern(struct entities *entities, const char *name)
{
	size_t n = strlen(name);
	uint64_t p;

	if (n == 0)
		return "";
	if (smap_get(entities->devices, name, n, &p))
		return (const char *)(uintptr_t)p;
	char *copy = arena_strdup(entities->arena, name);
	smap_put(entities->devices, name, n, (uint64_t)(uintptr_t)copy);
	return copy;
}

/* Both names with their terminators, then the priority. Short ones stay on the stack. */
static uint64_t noun_hash(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	char small[256], *key = small;
	const size_t nd = strlen(device) + 1, np = strlen(port) + 1;
	const int16_t prio = (int16_t)priority;
	const size_t n = nd + np + sizeof(prio);

	if (n > sizeof(small))
		key = rw_calloc(1, n);
	memcpy(key, device, nd);
	memcpy(key + nd, port, np);
	memcpy(key + nd + np, &prio, sizeof(prio));
	const uint64_t hash = siphash(&entities->key, 1, 3, key, n);
	if (key != small)
		free(key);
	return hash;
}

static bool noun_is(
	const struct noun *noun, uint64_t hash, const char *device, const char *port, int priority)
{
	return noun->hash == hash && noun->entity.priority == priority &&
		strcmp(noun->entity.port, port) == 0 && strcmp(noun->entity.device, device) == 0;
}

static struct noun *noun_hashed(const struct entities *entities, uint64_t hash, const char *device,
	const char *port, int priority)
{
	const uint32_t mask = entities->n_slots - 1;

	for (uint32_t i = (uint32_t)hash & mask; entities->slots[i].id; i = (i + 1) & mask) {
		if (entities->slots[i].hash != (uint32_t)hash)
			continue;
		struct noun *noun = entities->v[entities->slots[i].id - 1];
		if (noun_is(noun, hash, device, port, priority))
			return noun;
	}
	return NULL;
}

static struct noun *noun_find(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	const uint64_t hash = noun_hash(entities, device, port, priority);

	return noun_hashed(entities, hash, device, port, priority);
}

/* The device (@port "") or port itself, as the parent of a name: mostly that of the one before. */
static struct noun *noun_parent(struct entities *entities, const char *device, const char *port)
{
	struct noun **near = &entities->near[*port != '\0'];

	if (!*near || strcmp((*near)->entity.port, port) != 0 ||
		strcmp((*near)->entity.device, device) != 0)
		*near = noun_find(entities, device, port, PRIO_NONE);
	return *near;
}

static struct noun *noun_at(const struct entities *entities, uint32_t id)
{
	if (id != ENTITY_NONE && id <= entities->n)
		return entities->v[id - 1];
	return NULL;
}

static void slot_fill(struct entities *entities, struct noun_slot slot)
{
	const uint32_t mask = entities->n_slots - 1;
	uint32_t i = slot.hash & mask;

	while (entities->slots[i].id)
		i = (i + 1) & mask;
	entities->slots[i] = slot;
}

/* At most half of the slots are in use. */
static void slots_grow(struct entities *entities)
{
	struct noun_slot *slots = entities->slots;
	const uint32_t n = entities->n_slots;

	if (entities->known < n / 2)
		return;
	entities->n_slots *= 2;
	entities->slots = rw_calloc(entities->n_slots, sizeof(*entities->slots));
	for (uint32_t i = 0; i < n; i++)
		if (slots[i].id)
			slot_fill(entities, slots[i]);
	free(slots);
}

/* Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R: those behind move up, so that
 * none is cut off from its place. */
static void slot_clear(struct entities *entities, const struct noun *noun)
{
	const uint32_t mask = entities->n_slots - 1;
	uint32_t i = (uint32_t)noun->hash & mask;

	while (entities->slots[i].id != noun->entity.id)
		i = (i + 1) & mask;
	for (uint32_t k = (i + 1) & mask; entities->slots[k].id; k = (k + 1) & mask) {
		const uint32_t wanted = entities->slots[k].hash & mask;
		if (((k - wanted) & mask) < ((k - i) & mask))
			continue;
		entities->slots[i] = entities->slots[k];
		i = k;
	}
	entities->slots[i].id = 0;
}

/* ---- adding -------------------------------------------------------------- */

void entities_limit(struct entities *entities, const struct entity_limits *limits)
{
	entities->limits = *limits;
	if (entities->limits.total == 0 || entities->limits.total > ENTITY_ID_MAX)
		entities->limits.total = ENTITY_ID_MAX;
}

uint64_t entities_refused(const struct entities *entities, const char **ret_device)
{
	*ret_device = entities->refused_device;
	return entities->refused;
}

const struct entity_limits *entities_limits(const struct entities *entities)
{
	return &entities->limits;
}

void entities_refuse(struct entities *entities, const char *device)
{
	entities->refused++;
	if (entities->refused_device && strcmp(entities->refused_device, device) == 0)
		return;
	free(entities->refused_device);
	entities->refused_device = rw_strdup(device);
}

/* Is there room for one more name of @device? A priority may bring its port along: those two go one
 * beyond. */
static bool entity_room(struct entities *entities, const struct noun *device)
{
	if (entities->known + entities->n_gone >= entities->limits.total)
		return false;
	if (!device || entities->limits.per_device == 0)
		return true;
	return device->names < entities->limits.per_device;
}

/* The id that has been free for longest, or a new one. */
static uint32_t id_take(struct entities *entities)
{
	if (entities->free_at < entities->n_free)
		return entities->free_ids[entities->free_at++];
	rw_grow(entities->v, entities->n, entities->cap);
	entities->v[entities->n++] = NULL;
	return entities->n;
}

/* A name as everybody prints it. NULL when @name is fit as it is; else the caller frees. */
static char *entity_name_clean(const char *name)
{
	if (text_is_clean(name))
		return NULL;
	return text_clean_copy(name);
}

static struct noun *noun_add(struct entities *entities, uint64_t hash, const char *device,
	const char *port, int priority, struct noun *parent)
{
	const size_t n = strlen(port) + 1;
	struct noun *noun = rw_calloc(1, sizeof(*noun) + n);

	memcpy(noun->port, port, n);
	slots_grow(entities);
	noun->entity = (struct entity){
		.id = id_take(entities), .port = noun->port, .priority = (int16_t)priority};
	noun->hash = hash;
	noun->seen_ns = entities->now_ns;
	if (!parent)
		noun->entity.device = device_intern(entities, device);
	if (parent) {
		noun->entity.device = parent->entity.device;
		noun->entity.parent = parent->entity.id;
		parent->children++;
	}
	entities->v[noun->entity.id - 1] = noun;
	entities->known++;
	slot_fill(entities, (struct noun_slot){noun->entity.id, (uint32_t)hash});
	rw_grow(entities->fresh, entities->n_fresh, entities->cap_fresh);
	entities->fresh[entities->n_fresh++] = noun->entity.id;
	return noun;
}

uint32_t entities_intern(
	struct entities *entities, const char *device, const char *port, int priority)
{
	port = str_or(port, "");
	const uint64_t hash = noun_hash(entities, device, port, priority);
	struct noun *noun = noun_hashed(entities, hash, device, port, priority);
	if (noun)
		return noun->entity.id;
	struct noun *of = noun_parent(entities, device, ""), *parent = NULL;
	if (of && *port && priority != PRIO_NONE)
		parent = noun_parent(entities, device, port);
	rw_cleanup(freep) char *clean_device = NULL;
	rw_cleanup(freep) char *clean_port = NULL;
	if (!of) /* what is found is clean */
		clean_device = entity_name_clean(device);
	if (!parent)
		clean_port = entity_name_clean(port);
	if (clean_device || clean_port)
		return entities_intern(
			entities, str_or(clean_device, device), str_or(clean_port, port), priority);
	if (!entity_room(entities, of)) {
		entities_refuse(entities, device);
		return ENTITY_NONE;
	}
	if (!of)
		of = noun_add(entities, noun_hash(entities, device, "", PRIO_NONE), device, "",
			PRIO_NONE, NULL);
	if (!*port && priority == PRIO_NONE)
		return of->entity.id;
	if (!*port || priority == PRIO_NONE)
		parent = of;
	if (!parent) {
		parent = noun_add(entities, noun_hash(entities, device, port, PRIO_NONE), device,
			port, PRIO_NONE, of);
		of->names++;
	}
	of->names++;
	return noun_add(entities, hash, device, port, priority, parent)->entity.id;
}

const uint32_t *entities_fresh(const struct entities *entities, size_t *ret_n)
{
	*ret_n = entities->n_fresh;
	return entities->fresh;
}

void entities_fresh_done(struct entities *entities)
{
	entities->n_fresh = 0;
}

/* ---- looking up ---------------------------------------------------------- */

uint32_t entities_find(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	const struct noun *noun = NULL;

	if (device)
		noun = noun_find(entities, device, str_or(port, ""), priority);
	if (noun)
		return noun->entity.id;
	return ENTITY_NONE;
}

const struct entity *entity_get(const struct entities *entities, uint32_t id)
{
	const struct noun *noun = noun_at(entities, id);

	if (noun)
		return &noun->entity;
	return NULL;
}

uint32_t entity_device(const struct entities *entities, uint32_t id)
{
	const struct entity *e = entity_get(entities, id);

	while (e && e->parent != ENTITY_NONE) {
		id = e->parent;
		e = entity_get(entities, id);
	}
	return id;
}

uint32_t entities_count(const struct entities *entities)
{
	return entities->n;
}

uint32_t entities_known(const struct entities *entities)
{
	return entities->known;
}

static void crowd_insert(struct entity_crowd *ret, size_t *n_ret, size_t n, const struct noun *noun)
{
	size_t at = *n_ret;

	if (at == n && ret[n - 1].names >= noun->names)
		return;
	if (at == n)
		at--;
	else
		++*n_ret;
	for (; at > 0 && ret[at - 1].names < noun->names; at--)
		ret[at] = ret[at - 1];
	ret[at] = (struct entity_crowd){.device = noun->entity.device, .names = noun->names};
}

size_t entities_crowded(
	const struct entities *entities, double share, struct entity_crowd *ret, size_t n)
{
	const double least = share * entities->limits.per_device;
	size_t n_ret = 0;

	for (uint32_t i = 0; least > 0 && n > 0 && i < entities->n; i++) {
		const struct noun *noun = entities->v[i];
		if (noun && noun->entity.parent == ENTITY_NONE && noun->names >= least)
			crowd_insert(ret, &n_ret, n, noun);
	}
	return n_ret;
}

/* ---- releasing ----------------------------------------------------------- */

void entities_tick(struct entities *entities, int64_t mono_ns)
{
	int64_t passed_ns = mono_ns - entities->ticked_ns;

	if (passed_ns < 0 || entities->ticked_ns == 0)
		passed_ns = 0;
	if (passed_ns > TICK_MOST_NS)
		passed_ns = TICK_MOST_NS;
	entities->now_ns += passed_ns;
	entities->ticked_ns = mono_ns;
}

void entities_seen(struct entities *entities, uint32_t id)
{
	struct noun *noun = noun_at(entities, id);

	if (noun)
		noun->seen_ns = entities->now_ns;
}

void entities_hold(struct entities *entities, uint32_t id)
{
	struct noun *noun = noun_at(entities, id);

	if (noun)
		noun->holds++;
}

void entities_drop(struct entities *entities, uint32_t id)
{
	struct noun *noun = noun_at(entities, id);

	if (!noun || noun->holds == 0)
		return;
	noun->holds--;
	noun->seen_ns = entities->now_ns;
}

static bool is_lane(const struct noun *noun)
{
	return noun->entity.priority != PRIO_NONE && *noun->entity.port;
}

/* The time and the holds of a port and its priorities, together at the port. */
static void units_gather(struct entities *entities)
{
	for (uint32_t i = 0; i < entities->n; i++) {
		struct noun *noun = entities->v[i];
		if (!noun || is_lane(noun))
			continue;
		noun->unit_seen_ns = noun->seen_ns;
		noun->unit_held = noun->holds > 0;
	}
	for (uint32_t i = 0; i < entities->n; i++) {
		const struct noun *noun = entities->v[i];
		if (!noun || !is_lane(noun))
			continue;
		struct noun *port = entities->v[noun->entity.parent - 1];
		if (noun->seen_ns > port->unit_seen_ns)
			port->unit_seen_ns = noun->seen_ns;
		port->unit_held |= noun->holds > 0;
	}
}

/* Priorities follow their port; a device goes when it has nothing left. */
enum release_stage { RELEASE_LANES, RELEASE_PORTS, RELEASE_DEVICES, RELEASE_STAGES };

static enum release_stage release_stage(const struct noun *noun)
{
	if (is_lane(noun))
		return RELEASE_LANES;
	if (noun->entity.parent != ENTITY_NONE)
		return RELEASE_PORTS;
	return RELEASE_DEVICES;
}

static bool release_wanted(
	const struct entities *entities, const struct noun *noun, const struct entity_release *how)
{
	const struct noun *unit = noun;

	if (is_lane(noun))
		unit = entities->v[noun->entity.parent - 1];
	else if (noun->children > 0)
		return false;
	if (unit->unit_held || entities->now_ns - unit->unit_seen_ns < how->idle_ns)
		return false;
	return !how->keep || !how->keep(how->arg, &unit->entity);
}

static void noun_release(struct entities *entities, struct noun *noun)
{
	struct noun *parent = noun_at(entities, noun->entity.parent);
	const uint32_t device = entity_device(entities, noun->entity.id);

	if (parent) {
		parent->children--;
		entities->v[device - 1]->names--;
	}
	slot_clear(entities, noun);
	memset(entities->near, 0, sizeof(entities->near));
	entities->v[noun->entity.id - 1] = NULL;
	entities->known--;
	rw_grow(entities->gone, entities->n_gone, entities->cap_gone);
	entities->gone[entities->n_gone++] = noun;
}

size_t entities_release(struct entities *entities, const struct entity_release *how)
{
	const size_t before = entities->n_gone;

	units_gather(entities);
	for (int stage = RELEASE_LANES; stage < RELEASE_STAGES; stage++)
		for (uint32_t i = 0; i < entities->n; i++) {
			struct noun *noun = entities->v[i];
			if (noun && release_stage(noun) == (enum release_stage)stage &&
				release_wanted(entities, noun, how))
				noun_release(entities, noun);
		}
	return entities->n_gone - before;
}

const struct entity *entities_gone(const struct entities *entities, size_t i)
{
	if (i < entities->n_gone)
		return &entities->gone[i]->entity;
	return NULL;
}

void entities_reclaim(struct entities *entities)
{
	if (entities->free_at > 0) {
		entities->n_free -= entities->free_at;
		memmove(entities->free_ids, entities->free_ids + entities->free_at,
			entities->n_free * sizeof(*entities->free_ids));
		entities->free_at = 0;
	}
	for (size_t i = 0; i < entities->n_gone; i++) {
		rw_grow(entities->free_ids, entities->n_free, entities->cap_free);
		entities->free_ids[entities->n_free++] = entities->gone[i]->entity.id;
		free(entities->gone[i]);
	}
	entities->n_gone = 0;
}

/* ---- texts --------------------------------------------------------------- */

uint64_t entities_text(struct entities *entities, const char *text)
{
	uint64_t id;

	if (!text || !*text)
		return 0;
	rw_cleanup(freep) char *clean = entity_name_clean(text);
	if (clean)
		text = clean;
	size_t n = strlen(text);
	if (smap_get(entities->by_text, text, n, &id))
		return id;
	rw_grow(entities->text, entities->n_text, entities->cap_text);
	entities->text[entities->n_text++] = arena_strdup(entities->arena, text);
	id = entities->n_text;
	smap_put(entities->by_text, text, n, id);
	return id;
}

uint64_t entities_text_of(struct entities *entities, const char *device, const char *text)
{
	uint64_t id;

	if (!text || !*text)
		return 0;
	rw_cleanup(freep) char *clean = entity_name_clean(text);
	if (clean)
		text = clean;
	if (smap_get(entities->by_text, text, strlen(text), &id))
		return id;
	struct noun *of = noun_at(entities, entities_intern(entities, device, NULL, PRIO_NONE));
	if (!of || of->texts >= ENTITY_TEXTS_MAX) {
		entities_refuse(entities, device);
		return 0;
	}
	of->texts++;
	return entities_text(entities, text);
}

const char *entities_text_get(const struct entities *entities, uint64_t id)
{
	if (id != 0 && id <= entities->n_text)
		return entities->text[id - 1];
	return "";
}
