/*
 * entity - the intern tables. Ids index an array; names are found by hashing (device, port,
 * priority) with separators that cannot occur in names. Structs live in the arena: what
 * entity_get() lends stays valid while the array grows.
 */
#include "db/model/entity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"

struct entities {
	struct arena *arena;
	struct entity_limits limits;
	uint64_t refused;
	const char *refused_device;
	uint32_t *of_device; /* [id - 1] of a device: how many names it has */
	uint32_t cap_of_device;
	struct entity **v; /* v[id - 1]; NULL = a hole that entities_load() may still fill */
	uint32_t n, cap;
	struct smap *by_name;
	const char **text; /* text[id - 1] */
	uint32_t n_text, cap_text;
	struct smap *by_text;
	struct smap *names; /* device and port names, interned -> pointer */
};

struct entities *entities_new(void)
{
	struct entities *t = rw_calloc(1, sizeof(*t));

	t->arena = arena_new();
	t->limits.total = ENTITY_ID_MAX;
	t->by_name = smap_new();
	t->by_text = smap_new();
	t->names = smap_new();
	return t;
}

void entities_free(struct entities *entities)
{
	if (!entities)
		return;
	smap_free(entities->by_name);
	smap_free(entities->by_text);
	smap_free(entities->names);
	free(entities->of_device);
	free(entities->v);
	free(entities->text);
	arena_free(entities->arena);
	free(entities);
}

static const char *name_intern(struct entities *entities, const char *name)
{
	size_t n = strlen(name);
	uint64_t p;

	if (n == 0)
		return "";
	if (smap_get(entities->names, name, n, &p))
		return (const char *)(uintptr_t)p;
	char *copy = arena_strdup(entities->arena, name);
	smap_put(entities->names, name, n, (uint64_t)(uintptr_t)copy);
	return copy;
}

/* The key of by_name: both names with their terminators, then the priority. Short ones stay on the
 * stack. */
struct name_key {
	char small[256];
	char *p;
	size_t n;
};

static void key_make(struct name_key *key, const char *device, const char *port, int priority)
{
	size_t nd = strlen(device) + 1, np = strlen(port) + 1;
	int16_t prio = (int16_t)priority;

	key->n = nd + np + sizeof(prio);
	if (key->n <= sizeof(key->small))
		key->p = key->small;
	else
		key->p = rw_calloc(1, key->n);
	memcpy(key->p, device, nd);
	memcpy(key->p + nd, port, np);
	memcpy(key->p + nd + np, &prio, sizeof(prio));
}

static void entity_key_done(struct name_key *key)
{
	if (key->p != key->small)
		free(key->p);
}

static uint32_t entity_find(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	struct name_key k;
	uint64_t id = ENTITY_NONE;

	key_make(&k, device, port, priority);
	smap_get(entities->by_name, k.p, k.n, &id);
	entity_key_done(&k);
	return (uint32_t)id;
}

/* The parent of such an entity, or ENTITY_NONE while it is not known. */
static uint32_t find_parent(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	if (priority != PRIO_NONE)
		return entity_find(entities, device, port, PRIO_NONE);
	if (*port)
		return entity_find(entities, device, "", PRIO_NONE);
	return ENTITY_NONE;
}

/* The count of names of the device with this id. */
static uint32_t *count_of_device(struct entities *entities, uint32_t id)
{
	if (id > entities->cap_of_device) {
		uint32_t cap = entities->cap_of_device * 2;
		if (cap < id)
			cap = id + 63;
		entities->of_device =
			rw_realloc(entities->of_device, cap * sizeof(*entities->of_device));
		memset(entities->of_device + entities->cap_of_device, 0,
			(cap - entities->cap_of_device) * sizeof(*entities->of_device));
		entities->cap_of_device = cap;
	}
	return &entities->of_device[id - 1];
}

/* A name as everybody prints it. NULL when @name is fit as it is; else the caller frees. */
static char *entity_name_clean(const char *name)
{
	if (text_is_clean(name))
		return NULL;
	return text_clean_copy(name);
}

/* entity_put - enter @id under its names; the slot is free. Parents are looked up, not made:
 * entities_load() may meet them later. */
static void entity_put(
	struct entities *entities, uint32_t id, const char *device, const char *port, int priority)
{
	struct entity *e = arena_new_of(entities->arena, struct entity);
	struct name_key k;

	e->id = id;
	e->device = name_intern(entities, device);
	e->port = name_intern(entities, port);
	e->priority = (int16_t)priority;
	e->parent = find_parent(entities, device, port, priority);
	while (entities->n < id) {
		rw_grow(entities->v, entities->n, entities->cap);
		entities->v[entities->n++] = NULL;
	}
	entities->v[id - 1] = e;
	uint32_t device_id = entity_find(entities, device, "", PRIO_NONE);
	if (device_id != ENTITY_NONE)
		++*count_of_device(entities, device_id);
	key_make(&k, device, port, priority);
	smap_put(entities->by_name, k.p, k.n, id);
	entity_key_done(&k);
}

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

/* Is there room for one more name of @device? A priority may bring its port along: those two go one
 * beyond. */
static bool entity_room(struct entities *entities, const char *device)
{
	const uint32_t device_id = entity_find(entities, device, "", PRIO_NONE);
	const uint32_t most = entities->limits.per_device;
	bool room = entities->n < entities->limits.total;
	if (room && most != 0 && device_id != ENTITY_NONE)
		room = *count_of_device(entities, device_id) < most;
	if (room)
		return true;
	entities->refused++;
	entities->refused_device = NULL;
	if (device_id != ENTITY_NONE)
		entities->refused_device = entities->v[device_id - 1]->device;
	return false;
}

uint32_t entities_intern(
	struct entities *entities, const char *device, const char *port, int priority)
{
	if (!port)
		port = "";
	uint32_t id = entity_find(entities, device, port, priority);
	if (id != ENTITY_NONE)
		return id;
	rw_cleanup(freep) char *clean_device = entity_name_clean(device);
	rw_cleanup(freep) char *clean_port = entity_name_clean(port);
	if (clean_device || clean_port)
		return entities_intern(
			entities, str_or(clean_device, device), str_or(clean_port, port), priority);
	if (!entity_room(entities, device))
		return ENTITY_NONE;
	if (priority != PRIO_NONE)
		entities_intern(entities, device, port, PRIO_NONE);
	else if (*port)
		entities_intern(entities, device, "", PRIO_NONE);
	id = entities->n + 1;
	entity_put(entities, id, device, port, priority);
	return id;
}

uint32_t entities_find(
	const struct entities *entities, const char *device, const char *port, int priority)
{
	if (device)
		return entity_find(entities, device, str_or(port, ""), priority);
	return ENTITY_NONE;
}

const struct entity *entity_get(const struct entities *entities, uint32_t id)
{
	if (id != ENTITY_NONE && id <= entities->n)
		return entities->v[id - 1];
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

/* Entities of @device that came before their parent find it now. Files are written parents first,
 * so this is rare and may be slow. */
static void adopt_children(struct entities *entities, const struct entity *parent)
{
	for (uint32_t i = 0; i < entities->n; i++) {
		struct entity *e = entities->v[i];
		if (e && e != parent && e->parent == ENTITY_NONE && e->device == parent->device)
			e->parent = find_parent(entities, e->device, e->port, e->priority);
	}
}

/* Two names of the file may be the same once they are clean; each keeps its number, and the second
 * gets it into its name. */
static int entity_load_cleaned(
	struct entities *entities, uint32_t id, const char *device, const char *port, int priority)
{
	const uint32_t known = entity_find(entities, device, port, priority);
	if (known == ENTITY_NONE || known == id)
		return entities_load(entities, id, device, port, priority);
	rw_cleanup(str_done) struct str other = {0};
	str_addf(&other, "%s~%u", port, id);
	return entities_load(entities, id, device, other.s, priority);
}

int entities_load(
	struct entities *entities, uint32_t id, const char *device, const char *port, int priority)
{
	if (id == ENTITY_NONE || !device)
		return -EINVAL;
	/* An id far beyond what the file can hold would make us allocate without limit. 16 M
	 * entities are two thousand switches with every priority of every port. */
	if (id > ENTITY_ID_MAX)
		return -ERANGE;
	if (priority < INT16_MIN || priority > INT16_MAX)
		return -EINVAL;
	if (!port)
		port = "";
	rw_cleanup(freep) char *clean_device = entity_name_clean(device);
	rw_cleanup(freep) char *clean_port = entity_name_clean(port);
	if (clean_device || clean_port)
		return entity_load_cleaned(entities, id, str_or(clean_device, device),
			str_or(clean_port, port), priority);
	uint32_t known = entity_find(entities, device, port, priority);
	if (known == id)
		return 0;
	if (known != ENTITY_NONE || entity_get(entities, id))
		return -EEXIST;
	entity_put(entities, id, device, port, priority);
	if (id != entities->n && priority == PRIO_NONE)
		adopt_children(entities, entities->v[id - 1]);
	return 0;
}

uint64_t entities_text(struct entities *entities, const char *text)
{
	uint64_t id;

	if (!text || !*text)
		return 0;
	rw_cleanup(freep) char *clean = NULL;
	if (!text_is_clean(text))
		clean = text_clean_copy(text);
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

int entities_text_load(struct entities *entities, uint64_t id, const char *text)
{
	if (id != entities->n_text + 1 || !text || !*text)
		return -EINVAL;
	const uint64_t known = entities_text(entities, text);
	if (known == id)
		return 0;
	if (text_is_clean(text)) /* stored twice */
		return -EEXIST;
	rw_grow(entities->text, entities->n_text, entities->cap_text);
	entities->text[entities->n_text++] = entities->text[known - 1];
	return 0;
}

const char *entities_text_get(const struct entities *entities, uint64_t id)
{
	if (id != 0 && id <= entities->n_text)
		return entities->text[id - 1];
	return "";
}
