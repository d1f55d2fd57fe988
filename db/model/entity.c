/*
 * entity - the intern tables. Ids index an array; names are found by hashing (device, port,
 * priority) with separators that cannot occur in names. Structs live in the arena, so entity_get()
 * pointers stay valid while the array grows.
 */
#include "db/model/entity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"

struct entities {
	struct arena *arena;
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
	t->by_name = smap_new();
	t->by_text = smap_new();
	t->names = smap_new();
	return t;
}

void entities_free(struct entities *t)
{
	if (!t)
		return;
	smap_free(t->by_name);
	smap_free(t->by_text);
	smap_free(t->names);
	free(t->v);
	free(t->text);
	arena_free(t->arena);
	free(t);
}

static const char *name_intern(struct entities *t, const char *s)
{
	size_t n = strlen(s);
	uint64_t p;

	if (n == 0)
		return "";
	if (smap_get(t->names, s, n, &p))
		return (const char *)(uintptr_t)p;
	char *copy = arena_strdup(t->arena, s);
	smap_put(t->names, s, n, (uint64_t)(uintptr_t)copy);
	return copy;
}

/* The key of by_name: both names with their terminators, then the priority. Short ones stay on the
 * stack. */
struct name_key {
	char small[256];
	char *p;
	size_t n;
};

static void key_make(struct name_key *k, const char *device, const char *port, int priority)
{
	size_t nd = strlen(device) + 1, np = strlen(port) + 1;
	int16_t prio = (int16_t)priority;

	k->n = nd + np + sizeof(prio);
	k->p = k->n <= sizeof(k->small) ? k->small : rw_calloc(1, k->n);
	memcpy(k->p, device, nd);
	memcpy(k->p + nd, port, np);
	memcpy(k->p + nd + np, &prio, sizeof(prio));
}

static void key_done(struct name_key *k)
{
	if (k->p != k->small)
		free(k->p);
}

static uint32_t find(const struct entities *t, const char *device, const char *port, int priority)
{
	struct name_key k;
	uint64_t id = ENTITY_NONE;

	key_make(&k, device, port, priority);
	smap_get(t->by_name, k.p, k.n, &id);
	key_done(&k);
	return (uint32_t)id;
}

/* put - enter @id under its names; the slot is free. Parents are looked up, not made:
 * entities_load() may meet them later. */
static void put(struct entities *t, uint32_t id, const char *device, const char *port, int priority)
{
	struct entity *e = arena_new_of(t->arena, struct entity);
	struct name_key k;

	e->id = id;
	e->device = name_intern(t, device);
	e->port = name_intern(t, port);
	e->priority = (int16_t)priority;
	if (priority != PRIO_NONE)
		e->parent = find(t, device, port, PRIO_NONE);
	else if (*port)
		e->parent = find(t, device, "", PRIO_NONE);
	while (t->n < id) {
		rw_grow(t->v, t->n, t->cap);
		t->v[t->n++] = NULL;
	}
	t->v[id - 1] = e;
	key_make(&k, device, port, priority);
	smap_put(t->by_name, k.p, k.n, id);
	key_done(&k);
}

uint32_t entities_intern(struct entities *t, const char *device, const char *port, int priority)
{
	if (!port)
		port = "";
	uint32_t id = find(t, device, port, priority);
	if (id != ENTITY_NONE)
		return id;
	if (priority != PRIO_NONE)
		entities_intern(t, device, port, PRIO_NONE);
	else if (*port)
		entities_intern(t, device, "", PRIO_NONE);
	id = t->n + 1;
	put(t, id, device, port, priority);
	return id;
}

uint32_t entities_find(const struct entities *t, const char *device, const char *port, int priority)
{
	return device ? find(t, device, port ? port : "", priority) : ENTITY_NONE;
}

const struct entity *entity_get(const struct entities *t, uint32_t id)
{
	return id != ENTITY_NONE && id <= t->n ? t->v[id - 1] : NULL;
}

uint32_t entities_count(const struct entities *t)
{
	return t->n;
}

/*
 * A file's ids are trusted only so far: an id far beyond what the file can hold would make us
 * allocate without limit. 16 M entities are two thousand switches with every priority of every
 * port.
 */
#define ENTITY_ID_MAX (1u << 24)

int entities_load(
	struct entities *t, uint32_t id, const char *device, const char *port, int priority)
{
	if (id == ENTITY_NONE || id > ENTITY_ID_MAX || !device || priority < INT16_MIN ||
		priority > INT16_MAX)
		return -EINVAL;
	if (!port)
		port = "";
	uint32_t have = find(t, device, port, priority);
	const struct entity *at = entity_get(t, id);
	if (have == id)
		return 0;
	if (have != ENTITY_NONE || at)
		return -EEXIST;
	put(t, id, device, port, priority);
	/* Children that came before their parent are adopted. Files are written parents first, so
	 * this is rare and may be slow. */
	if (id != t->n && priority == PRIO_NONE) {
		for (uint32_t i = 0; i < t->n; i++) {
			struct entity *e = t->v[i];
			if (e && e->parent == ENTITY_NONE && e->id != id &&
				e->device == t->v[id - 1]->device)
				e->parent = e->priority != PRIO_NONE
					? find(t, e->device, e->port, PRIO_NONE)
					: *e->port ? find(t, e->device, "", PRIO_NONE)
						   : ENTITY_NONE;
		}
	}
	return 0;
}

uint64_t entities_text(struct entities *t, const char *text)
{
	uint64_t id;

	if (!text || !*text)
		return 0;
	size_t n = strlen(text);
	if (smap_get(t->by_text, text, n, &id))
		return id;
	rw_grow(t->text, t->n_text, t->cap_text);
	t->text[t->n_text++] = arena_strdup(t->arena, text);
	id = t->n_text;
	smap_put(t->by_text, text, n, id);
	return id;
}

const char *entities_text_get(const struct entities *t, uint64_t id)
{
	return id != 0 && id <= t->n_text ? t->text[id - 1] : "";
}
