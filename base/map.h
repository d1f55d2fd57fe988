/*
 * map - hash maps from a u64 (map) or from bytes (smap) to a u64, and the program's one hash
 * function. One thread. A map never shrinks; an smap copies its keys.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FNV-1a 64 with a final mix; stable across machines and releases: ids depend on it. Chain with
 * @seed (0 to start). */
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);
uint64_t hash_u64(uint64_t number);

struct map;
struct map *map_new(void);
void map_free(struct map *map);
size_t map_count(const struct map *map);
bool map_get(const struct map *map, uint64_t key, uint64_t *ret);
void map_put(struct map *map, uint64_t key, uint64_t value); /* replaces */
void map_clear(struct map *map);

struct smap; /* keys are byte strings */
struct smap *smap_new(void);
void smap_free(struct smap *map);
size_t smap_count(const struct smap *map);
bool smap_get(const struct smap *map, const void *key, size_t n, uint64_t *ret);
void smap_put(struct smap *map, const void *key, size_t n, uint64_t value);
