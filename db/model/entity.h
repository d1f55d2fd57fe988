/*
 * entity - what a sample is about: a device, a port of it, a priority (or unmapped queue, or pool)
 * of that; interned to u32. Ids are dense from 1 and are the ids in the database: the store loads
 * them first, new ones follow. Never reused. Text states (cfg.trust ...) are interned in the same
 * table's string half. Owned by the loop thread; the store's thread gets new names with each batch.
 */
#ifndef RW_DB_ENTITY_H
#define RW_DB_ENTITY_H

#include <stdint.h>

#define ENTITY_NONE 0u
/* The agent's own series (agent.canary) belong to this port. No device has such a name. */
#define ENTITY_AGENT "(agent)"
#define ENTITY_AGENT_PORT "canary"

#define PRIO_NONE (-1)

struct entity {
	uint32_t id;
	const char *device; /* interned, process lifetime */
	/* "" = the device itself; "pool:NAME" = a buffer pool of the device; "port#qN" = an
	 * unmapped queue */
	const char *port;
	int16_t priority; /* 0..7 or PRIO_NONE */
	uint32_t parent; /* priority -> port -> device -> ENTITY_NONE */
};

struct entities;
struct entities *entities_new(void);

/*
 * Names come from switches, which may invent them without end. Beyond a bound a new name is
 * refused: entities_intern() answers ENTITY_NONE, and samples about it are refused and counted.
 * Names that are known already, and those of the database, stay.
 */
#define ENTITY_ID_MAX (1u << 24) /* what a file can hold */
struct entity_limits {
	uint32_t per_device; /* 0 = no bound */
	uint32_t total; /* 0 = ENTITY_ID_MAX */
};
void entities_limit(struct entities *entities, const struct entity_limits *limits);
/* entities_refused - how many times a new name was refused. @ret_device: of the newest one, lent
 * until entities_free(); NULL when there was none. */
uint64_t entities_refused(const struct entities *entities, const char **ret_device);
void entities_free(struct entities *entities);

/* Names and texts are kept as text_clean() makes them: no control characters, no overrides of text
 * direction, whoever invented them and whatever a file holds. */

/* entities_intern - find or add; parents are added first. @port NULL or "" and @priority PRIO_NONE
 * name the device. ENTITY_NONE when a bound is reached. */
uint32_t entities_intern(
	struct entities *entities, const char *device, const char *port, int priority);
/* ENTITY_NONE if absent */
uint32_t entities_find(
	const struct entities *entities, const char *device, const char *port, int priority);
/* NULL if absent; lent until entities_free() */
const struct entity *entity_get(const struct entities *entities, uint32_t id);
/* entity_device - the device that @id belongs to; @id itself for a device, or when it is absent */
uint32_t entity_device(const struct entities *entities, uint32_t id);
uint32_t entities_count(const struct entities *entities); /* ids are 1..count */

/* entities_load - for the store: add with the id it has in the database. -EEXIST when the id or
 * name is taken by another; -ERANGE when the id is above ENTITY_ID_MAX: such a row cannot be used,
 * the rest of the file can. */
int entities_load(
	struct entities *entities, uint32_t id, const char *device, const char *port, int priority);

/* Text values. Id 0 = "". */
uint64_t entities_text(struct entities *entities, const char *text);
/* entities_text_load - for the store: the text that has the number @id there. They come in the
 * order of their numbers, without a gap. -EINVAL, or -EEXIST for a text that is there twice. */
int entities_text_load(struct entities *entities, uint64_t id, const char *text);
const char *entities_text_get(const struct entities *entities, uint64_t id); /* "" when absent */

#endif
