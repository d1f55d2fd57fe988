/*
 * map - two hash tables and the hash function they use. Linear probing, load at most 1/2; two
 * words and a state byte per slot. FNV-1a: Fowler, Noll, Vo (draft-eastlake-fnv); its
 * low bits are weak for short keys, so the finalizer of MurmurHash3 (fmix64) follows.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static uint64_t map_fmix64(uint64_t hash)
{
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdULL;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ULL;
	hash ^= hash >> 33;
	return hash;
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *s = data;
	uint64_t h = 0xcbf29ce484222325ULL ^ seed;
	for (size_t i = 0; i < n; i++) {
		h ^= s[i];
		h *= 0x100000001b3ULL;
	}
	return map_fmix64(h);
}

uint64_t hash_u64(uint64_t number)
{
	/* map_fmix64(0) is 0; the odd constant moves the fixed point away from the commonest key.
	 */
	return map_fmix64(number + 0x9e3779b97f4a7c15ULL);
}

struct map_slot {
	uint64_t key, value;
	bool used;
};

struct map {
	struct map_slot *v;
	size_t cap; /* a power of two, 0 before the first put */
	size_t n; /* used */
};

struct map *map_new(void)
{
	return rw_calloc(1, sizeof(struct map));
}

void map_free(struct map *map)
{
	if (!map)
		return;
	free(map->v);
	free(map);
}

size_t map_count(const struct map *map)
{
	return map->n;
}

static struct map_slot *map_find(const struct map *map, uint64_t key)
{
	if (!map->cap)
		return NULL;
	for (size_t i = hash_u64(key) & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
		struct map_slot *s = &map->v[i];
		if (!s->used)
			return NULL;
		if (s->key == key)
			return s;
	}
}

bool map_get(const struct map *map, uint64_t key, uint64_t *ret)
{
	const struct map_slot *s = map_find(map, key);
	if (!s)
		return false;
	if (ret)
		*ret = s->value;
	return true;
}

static void map_insert_new(struct map *map, uint64_t key, uint64_t value)
{
	size_t i = hash_u64(key) & (map->cap - 1);
	while (map->v[i].used)
		i = (i + 1) & (map->cap - 1);
	map->v[i] = (struct map_slot){.key = key, .value = value, .used = true};
	map->n++;
}

/* Makes room for one more. */
static void map_make_room(struct map *map)
{
	if ((map->n + 1) * 2 <= map->cap)
		return;
	struct map_slot *old = map->v;
	size_t old_cap = map->cap;

	if (!map->cap)
		map->cap = 16;
	while ((map->n + 1) * 3 > map->cap)
		map->cap *= 2;
	map->v = rw_calloc(map->cap, sizeof(*map->v));
	map->n = 0;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].used)
			map_insert_new(map, old[i].key, old[i].value);
	free(old);
}

void map_put(struct map *map, uint64_t key, uint64_t value)
{
	struct map_slot *s = map_find(map, key);
	if (s) {
		s->value = value;
		return;
	}
	map_make_room(map);
	map_insert_new(map, key, value);
}

void map_clear(struct map *map)
{
	if (map->cap)
		memset(map->v, 0, map->cap * sizeof(*map->v));
	map->n = 0;
}

/* Byte keys: entries in a growing array, and a table of entry numbers + 1 (0 = free). Nothing is
 * ever deleted. */
struct smap_entry {
	uint64_t hash, value;
	size_t n;
	void *key;
};

struct smap {
	struct smap_entry *v;
	size_t n, cap;
	size_t *table;
	size_t table_cap;
};

struct smap *smap_new(void)
{
	return rw_calloc(1, sizeof(struct smap));
}

void smap_free(struct smap *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->n; i++)
		free(map->v[i].key);
	free(map->v);
	free(map->table);
	free(map);
}

size_t smap_count(const struct smap *map)
{
	return map->n;
}

static struct smap_entry *smap_find(
	const struct smap *map, const void *key, size_t n, uint64_t hash)
{
	if (!map->table_cap)
		return NULL;
	for (size_t i = hash & (map->table_cap - 1); map->table[i];
		i = (i + 1) & (map->table_cap - 1)) {
		struct smap_entry *e = &map->v[map->table[i] - 1];
		if (e->hash == hash && e->n == n && (n == 0 || memcmp(e->key, key, n) == 0))
			return e;
	}
	return NULL;
}

bool smap_get(const struct smap *map, const void *key, size_t n, uint64_t *ret)
{
	const struct smap_entry *e = smap_find(map, key, n, hash_bytes(key, n, 0));
	if (!e)
		return false;
	if (ret)
		*ret = e->value;
	return true;
}

static void smap_link(struct smap *map, size_t index)
{
	size_t i = map->v[index].hash & (map->table_cap - 1);
	while (map->table[i])
		i = (i + 1) & (map->table_cap - 1);
	map->table[i] = index + 1;
}

void smap_put(struct smap *map, const void *key, size_t n, uint64_t value)
{
	uint64_t hash = hash_bytes(key, n, 0);
	struct smap_entry *e = smap_find(map, key, n, hash);
	if (e) {
		e->value = value;
		return;
	}
	rw_grow(map->v, map->n, map->cap);
	e = &map->v[map->n++];
	*e = (struct smap_entry){.hash = hash, .value = value, .n = n, .key = rw_calloc(1, n + 1)};
	if (n)
		memcpy(e->key, key, n);
	if (map->n * 2 > map->table_cap) {
		free(map->table);
		map->table_cap *= 2;
		if (map->table_cap == 0)
			map->table_cap = 16;
		map->table = rw_calloc(map->table_cap, sizeof(*map->table));
		for (size_t i = 0; i < map->n; i++)
			smap_link(map, i);
	} else {
		smap_link(map, map->n - 1);
	}
}
