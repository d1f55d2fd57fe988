/*
 * entity - what a sample is about: a device, a port of it, a priority (or unmapped queue, or pool)
 * of that; interned to u32. Ids are this table's own: a store has numbers of its own and translates
 * (store_names.c, series_db.c). Text states (cfg.trust ...) are interned in the same table's string
 * half. Owned by the loop thread; the store's thread gets new names with each batch.
 *
 * Names and texts are kept as text_clean() makes them, so that they can be printed anywhere.
 *
 * A name that nobody has seen for long and nobody holds can be released; after entities_reclaim()
 * its id is given to another name.
 */
#pragma once

#include "base/base.h"

#define ENTITY_NONE 0u
/* The agent's own series (agent.canary) belong to this port. No device has such a name. */
#define ENTITY_AGENT "(agent)"
#define ENTITY_AGENT_PORT "canary"

#define PRIO_NONE (-1)
#define PRIO_MOST 7

struct entity {
	uint32_t id;
	const char *device; /* interned, process lifetime */
	/* "" = the device itself; "pool:NAME" = a buffer pool of the device; "port#qN" = an
	 * unmapped queue; lives as long as the entity */
	const char *port;
	int16_t priority; /* 0..7 or PRIO_NONE */
	uint32_t parent; /* priority -> port -> device -> ENTITY_NONE */
};

struct entities;
struct entities *entities_new(void);
void entities_free(struct entities *entities);

/*
 * Names come from switches, which may invent them without end. Beyond a bound a new name is
 * refused: entities_intern() answers ENTITY_NONE, and samples about it are refused and counted.
 * Names that are known already stay.
 */
#define ENTITY_ID_MAX (1u << 24) /* names in memory at once */
struct entity_limits {
	uint32_t per_device; /* 0 = no bound */
	uint32_t total; /* 0 = ENTITY_ID_MAX */
	uint32_t ports; /* that one SNMP switch may show at once; 0 = no bound */
};
void entities_limit(struct entities *entities, const struct entity_limits *limits);
/* entities_limits - those in force. entities_refuse - a bound of a collector was reached: counted
 * and told with the others. */
const struct entity_limits *entities_limits(const struct entities *entities);
void entities_refuse(struct entities *entities, const char *device);
/* entities_refused - how many times a new name or text was refused. @ret_device: of the newest one,
 * lent until the next refusal; NULL when there was none. */
uint64_t entities_refused(const struct entities *entities, const char **ret_device);

/* entities_intern - find or add; parents are added first. @port NULL or "" and @priority PRIO_NONE
 * name the device. ENTITY_NONE when a bound is reached. */
uint32_t entities_intern(
	struct entities *entities, const char *device, const char *port, int priority);
/* ENTITY_NONE if absent */
uint32_t entities_find(
	const struct entities *entities, const char *device, const char *port, int priority);
/* NULL if absent; lent until the entity is released */
const struct entity *entity_get(const struct entities *entities, uint32_t id);
/* entity_device - the device that @id belongs to; @id itself for a device, or when it is absent */
uint32_t entity_device(const struct entities *entities, uint32_t id);
/* entities_count - the largest id that was ever given. Released ones are absent: entity_get() of
 * them is NULL. entities_known - how many there are. */
uint32_t entities_count(const struct entities *entities);
uint32_t entities_known(const struct entities *entities);

/* entities_crowded - the devices with the most names, most first, that have at least @share of what
 * one may have. At most @n, written to @ret. */
struct entity_crowd {
	const char *device;
	uint32_t names;
};
size_t entities_crowded(
	const struct entities *entities, double share, struct entity_crowd *ret, size_t n);

/* entities_fresh - ids that were given since entities_fresh_done(), oldest first; lent until the
 * next change. One that was released since is absent. */
const uint32_t *entities_fresh(const struct entities *entities, size_t *ret_n);
void entities_fresh_done(struct entities *entities);

/* ---- names that nobody uses any more --------------------------------------- */

/* entities_tick - time passes, about once a second: @mono_ns is monotonic. Names age by these
 * ticks, never by a clock that somebody may set. */
void entities_tick(struct entities *entities, int64_t mono_ns);
/* entities_seen - something was said of @id just now. */
void entities_seen(struct entities *entities, uint32_t id);
/* entities_hold - whoever keeps an id for later holds it, and drops it when he is done: it is not
 * released meanwhile. Counted; ENTITY_NONE is fine. */
void entities_hold(struct entities *entities, uint32_t id);
void entities_drop(struct entities *entities, uint32_t id);

struct entity_release {
	int64_t idle_ns; /* by the ticks; a port and its priorities count as one */
	bool (*keep)(void *arg, const struct entity *entity); /* of a port or device; NULL = none */
	void *arg;
};
/*
 * entities_release - releases what was not seen for .idle_ns, is not held and is not kept:
 * priorities with their port, a device when it has nothing left. Returns how many. They are absent
 * from now on; entities_gone() lists them until entities_reclaim(), which gives their ids back: not
 * before everybody who got one of these ids in a message (the store) is done with it.
 */
size_t entities_release(struct entities *entities, const struct entity_release *how);
const struct entity *entities_gone(const struct entities *entities, size_t i); /* NULL: no more */
void entities_reclaim(struct entities *entities);

/* ---- text values ------------------------------------------------------------ */

/* Id 0 = "". entities_text_of - the same for a text that @device says: 0 when it has said
 * ENTITY_TEXTS_MAX texts that nobody else knew. */
#define ENTITY_TEXTS_MAX 4096
uint64_t entities_text(struct entities *entities, const char *text);
uint64_t entities_text_of(struct entities *entities, const char *device, const char *text);
const char *entities_text_get(const struct entities *entities, uint64_t id); /* "" when absent */
