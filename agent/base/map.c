/*
 * map - see map.h. Linear probing, load at most 1/2 counting graves; two words and a state byte per
 * slot. FNV-1a: Fowler, Noll, Vo (draft-eastlake-fnv); its low bits are weak for short keys, so the
 * finalizer of MurmurHash3 (fmix64) follows.
 */
#include "agent/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

static uint64_t fmix64(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
	const unsigned char *s = p;
	uint64_t h = 0xcbf29ce484222325ULL ^ seed;
	for (size_t i = 0; i < n; i++) {
		h ^= s[i];
		h *= 0x100000001b3ULL;
	}
	return fmix64(h);
}

uint64_t hash_u64(uint64_t v)
{
	/* fmix64(0) is 0; the odd constant moves the fixed point away from the commonest key. */
	return fmix64(v + 0x9e3779b97f4a7c15ULL);
}

enum slot_state { SLOT_FREE, SLOT_USED, SLOT_GRAVE };

struct slot {
	uint64_t key, value;
	enum slot_state state;
};

struct map {
	struct slot *v;
	size_t cap; /* a power of two, 0 before the first put */
	size_t n; /* used */
	size_t filled; /* used and graves */
};

struct map *map_new(void)
{
	return rw_calloc(1, sizeof(struct map));
}

void map_free(struct map *m)
{
	if (!m)
		return;
	free(m->v);
	free(m);
}

size_t map_count(const struct map *m)
{
	return m->n;
}

static struct slot *map_find(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	for (size_t i = hash_u64(key) & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct slot *s = &m->v[i];
		if (s->state == SLOT_FREE)
			return NULL;
		if (s->state == SLOT_USED && s->key == key)
			return s;
	}
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret)
{
	const struct slot *s = map_find(m, key);
	if (!s)
		return false;
	if (ret)
		*ret = s->value;
	return true;
}

static void map_insert_new(struct map *m, uint64_t key, uint64_t value)
{
	size_t i = hash_u64(key) & (m->cap - 1);
	while (m->v[i].state == SLOT_USED)
		i = (i + 1) & (m->cap - 1);
	m->filled += m->v[i].state == SLOT_FREE;
	m->v[i] = (struct slot){.key = key, .value = value, .state = SLOT_USED};
	m->n++;
}

/* Makes room for one more; a table full of graves is swept at the same size. */
static void map_make_room(struct map *m)
{
	if ((m->filled + 1) * 2 <= m->cap)
		return;
	struct slot *old = m->v;
	size_t old_cap = m->cap;

	m->cap = m->cap ? m->cap : 16;
	while ((m->n + 1) * 3 > m->cap)
		m->cap *= 2;
	m->v = rw_calloc(m->cap, sizeof(*m->v));
	m->n = m->filled = 0;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].state == SLOT_USED)
			map_insert_new(m, old[i].key, old[i].value);
	free(old);
}

void map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct slot *s = map_find(m, key);
	if (s) {
		s->value = value;
		return;
	}
	map_make_room(m);
	map_insert_new(m, key, value);
}

bool map_del(struct map *m, uint64_t key)
{
	struct slot *s = map_find(m, key);
	if (!s)
		return false;
	s->state = SLOT_GRAVE;
	m->n--;
	return true;
}

void map_clear(struct map *m)
{
	if (m->cap)
		memset(m->v, 0, m->cap * sizeof(*m->v));
	m->n = m->filled = 0;
}

/* Byte keys: entries in a growing array, and a table of entry numbers + 1 (0 = free). Nothing is
 * ever deleted. */
struct entry {
	uint64_t hash, value;
	size_t n;
	void *key;
};

struct smap {
	struct entry *v;
	size_t n, cap;
	size_t *table;
	size_t table_cap;
};

struct smap *smap_new(void)
{
	return rw_calloc(1, sizeof(struct smap));
}

void smap_free(struct smap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].key);
	free(m->v);
	free(m->table);
	free(m);
}

size_t smap_count(const struct smap *m)
{
	return m->n;
}

static struct entry *smap_find(const struct smap *m, const void *key, size_t n, uint64_t hash)
{
	if (!m->table_cap)
		return NULL;
	for (size_t i = hash & (m->table_cap - 1); m->table[i]; i = (i + 1) & (m->table_cap - 1)) {
		struct entry *e = &m->v[m->table[i] - 1];
		if (e->hash == hash && e->n == n && (n == 0 || memcmp(e->key, key, n) == 0))
			return e;
	}
	return NULL;
}

bool smap_get(const struct smap *m, const void *key, size_t n, uint64_t *ret)
{
	const struct entry *e = smap_find(m, key, n, hash_bytes(key, n, 0));
	if (!e)
		return false;
	if (ret)
		*ret = e->value;
	return true;
}

static void smap_link(struct smap *m, size_t index)
{
	size_t i = m->v[index].hash & (m->table_cap - 1);
	while (m->table[i])
		i = (i + 1) & (m->table_cap - 1);
	m->table[i] = index + 1;
}

void smap_put(struct smap *m, const void *key, size_t n, uint64_t value)
{
	uint64_t hash = hash_bytes(key, n, 0);
	struct entry *e = smap_find(m, key, n, hash);
	if (e) {
		e->value = value;
		return;
	}
	rw_grow(m->v, m->n, m->cap);
	e = &m->v[m->n++];
	*e = (struct entry){.hash = hash, .value = value, .n = n, .key = rw_calloc(1, n + 1)};
	if (n)
		memcpy(e->key, key, n);
	if (m->n * 2 > m->table_cap) {
		free(m->table);
		m->table_cap = m->table_cap ? m->table_cap * 2 : 16;
		m->table = rw_calloc(m->table_cap, sizeof(*m->table));
		for (size_t i = 0; i < m->n; i++)
			smap_link(m, i);
	} else {
		smap_link(m, m->n - 1);
	}
}
