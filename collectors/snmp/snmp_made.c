/* snmp_made - a list in the order of the first poll, and an index by hash while it is needed. */
#include "collectors/snmp/snmp_made.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "collectors/snmp/snmp_sums.h"
#include "collectors/target/counter_check.h"

struct made_entry {
	uint32_t entity;
	uint16_t metric;
	uint16_t parts; /* position + 1 in .parts; 0: not read yet */
	uint32_t check; /* position + 1 in .checks; 0: none */
};

struct snmp_made {
	struct made_entry *v;
	uint32_t n, cap;
	uint32_t next; /* behind the one found last */
	uint32_t *slots; /* positions + 1 in .v, by hash; NULL: no index */
	uint32_t n_slots; /* a power of two, more than 2 n */
	uint64_t *parts; /* each set of parts once: profiles have few */
	size_t n_parts, cap_parts;
	struct counter_check *checks;
	uint32_t n_checks, cap_checks;
};

#define PARTS_MOST UINT16_MAX

struct snmp_made *snmp_made_new(void)
{
	return rw_calloc(1, sizeof(struct snmp_made));
}

void snmp_made_free(struct snmp_made *made)
{
	if (!made)
		return;
	free(made->v);
	free(made->slots);
	free(made->parts);
	free(made->checks);
	free(made);
}

static void made_drop_index(struct snmp_made *made)
{
	free(made->slots);
	made->slots = NULL;
	made->n_slots = 0;
}

void snmp_made_begin(struct snmp_made *made)
{
	made->next = 0;
	made_drop_index(made);
}

static bool made_is(const struct made_entry *entry, uint32_t entity, int metric)
{
	return entry->entity == entity && entry->metric == metric;
}

static uint32_t *made_slot(const struct snmp_made *made, uint32_t entity, int metric)
{
	const uint32_t mask = made->n_slots - 1;
	uint32_t i = (uint32_t)hash_u64(snmp_sums_key(entity, metric)) & mask;
	while (made->slots[i] && !made_is(&made->v[made->slots[i] - 1], entity, metric))
		i = (i + 1) & mask;
	return &made->slots[i];
}

static void made_index(struct snmp_made *made)
{
	if (made->slots && made->n * 2 + 2 <= made->n_slots)
		return;
	made_drop_index(made);
	made->n_slots = 64;
	while (made->n_slots < made->n * 4)
		made->n_slots *= 2;
	made->slots = rw_calloc(made->n_slots, sizeof(*made->slots));
	for (uint32_t i = 0; i < made->n; i++)
		*made_slot(made, made->v[i].entity, made->v[i].metric) = i + 1;
}

uint32_t snmp_made_number(struct snmp_made *made, uint32_t entity, int metric)
{
	if (made->next < made->n && made_is(&made->v[made->next], entity, metric))
		return made->next++;
	made_index(made);
	uint32_t *slot = made_slot(made, entity, metric);
	if (*slot == 0) {
		if (made->n == made->cap) {
			made->cap += made->cap / 8 + 32;
			made->v = rw_realloc(made->v, made->cap * sizeof(*made->v));
		}
		made->v[made->n++] =
			(struct made_entry){.entity = entity, .metric = (uint16_t)metric};
		*slot = made->n;
	}
	made->next = *slot;
	return *slot - 1;
}

static uint16_t made_parts(struct snmp_made *made, uint64_t parts)
{
	for (size_t i = 0; i < made->n_parts; i++)
		if (made->parts[i] == parts)
			return (uint16_t)(i + 1);
	if (made->n_parts >= PARTS_MOST)
		return 0; /* more than profiles can have: as if it were read for the first time */
	rw_grow(made->parts, made->n_parts, made->cap_parts);
	made->parts[made->n_parts++] = parts;
	return (uint16_t)made->n_parts;
}

bool snmp_made_changed(struct snmp_made *made, uint32_t number, uint64_t parts)
{
	struct made_entry *entry = &made->v[number];
	if (entry->parts && made->parts[entry->parts - 1] == parts)
		return false;
	const bool known = entry->parts != 0;
	entry->parts = made_parts(made, parts);
	return known;
}

struct counter_check *snmp_made_check(struct snmp_made *made, uint32_t number)
{
	struct made_entry *entry = &made->v[number];
	if (!entry->check) {
		if (made->n_checks == made->cap_checks) {
			made->cap_checks += made->cap_checks / 8 + 16;
			made->checks =
				rw_realloc(made->checks, made->cap_checks * sizeof(*made->checks));
		}
		made->checks[made->n_checks++] = (struct counter_check){0};
		entry->check = made->n_checks;
	}
	return &made->checks[entry->check - 1];
}
