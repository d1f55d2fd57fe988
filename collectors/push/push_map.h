/*
 * push_map - what pushed names mean: the "push" sections of all profiles, by name. A name tells the
 * vendor, so that it is looked up among all of them; a device whose profile is known prefers its
 * own. Immutable once made; any thread may read it.
 *
 *	for (rule = push_map_find(map, name, n); rule; rule = rule->next)
 *		if (push_rule_fits(rule, labels, n_labels) ...
 */
#pragma once

#include "base/base.h"

struct profile;
struct profile_push_group;
struct profile_push_value;
struct profiles;
struct push_map;

/* ---- sai_stat -------------------------------------------------------------- */

/*
 * sai_stat - statistics of the switch abstraction interface by number and by name: the table
 * sai.def. Pure; any thread.
 */

enum sai_type {
	SAI_PORT = 1,
	SAI_QUEUE = 21,
	SAI_BUFFER_POOL = 24,
	SAI_INGRESS_PRIORITY_GROUP = 26,
};

enum { SAI_NAME_MAX = 96 }; /* bytes of a name, the end included */

enum sai_kind { SAI_COUNTER, SAI_LEVEL, SAI_PEAK }; /* sai.def says what they are */

struct sai_stat {
	uint32_t type, number;
	enum sai_kind kind;
	const char *name; /* without the prefix of its type: "PFC_3_RX_PKTS" */
};

/* sai_stat_of - NULL: the table does not have it. */
const struct sai_stat *sai_stat_of(uint32_t type, uint32_t number);

/* sai_stat_text - "SAI_PORT_STAT_PFC_3_RX_PKTS" of any number; what the table does not have is
 * "sai_type_T_stat_S". Returns @buf. */
const char *sai_stat_text(char buf[SAI_NAME_MAX], uint32_t type, uint32_t number);

/* sai_type_name - "PORT"; NULL: it is none of the table. */
const char *sai_type_name(uint32_t type);

/* ---- push_map -------------------------------------------------------------- */

enum { PUSH_PORT_MAX = 128, PUSH_NAME_MAX = 160 }; /* bytes, the end included */

struct push_rule {
	const struct profile *profile;
	const struct profile_push_group *group;
	const struct profile_push_value *value;
	int number; /* out of the name; -1 = it holds none */
	const struct push_rule *next; /* another meaning of the same name */
};

/* Texts of others: neither ended by a zero byte nor clean. */
struct push_label {
	const char *key, *value;
	size_t n_key, n_value;
};

struct push_place {
	char port[PUSH_PORT_MAX]; /* clean; "" = the device itself; "port#qN" of an unmapped queue
				   */
	int priority; /* PRIO_NONE: none */
};

struct push_number {
	bool whole;
	double real;
	int64_t integer; /* while .whole */
};

/* push_map_new - borrows from @profiles. Not NULL. */
struct push_map *push_map_new(const struct profiles *profiles);
void push_map_free(struct push_map *map); /* NULL is fine */

/* push_map_find - the first meaning of a name: NULL when no profile knows it. Names of SAI are
 * known as "SAI_PORT_STAT_..." and as SONiC's OTLP exporter writes them,
 * "sai_counter_type_1_stat_2". */
const struct push_rule *push_map_find(const struct push_map *map, const char *name, size_t n);

/* push_label_of - the value of a label; NULL: it is not there. */
const struct push_label *push_label_of(const struct push_label *labels, size_t n, const char *key);

/* push_rule_fits - does its "where" hold? */
bool push_rule_fits(const struct push_rule *rule, const struct push_label *labels, size_t n);
/* push_rule_place - which port and priority. 0; -ENOENT: the label of the port or the number is
 * missing; -ERANGE: the number cannot be; -EINVAL: the port's name cannot be. */
int push_rule_place(const struct push_rule *rule, const struct push_label *labels, size_t n,
	struct push_place *ret);
/* push_rule_value - the value as samples hold it (db/model/metric.h). @ret_flags: SF_WRAP32
 * of a counter of 32 bits; SF_ESTIMATED when a floating point number is too large to hold every
 * unit. 0; -ENODATA: it means "not there";
 * -ERANGE: no such value can be (negative, not finite, too large). */
int push_rule_value(const struct push_rule *rule, const struct push_number *number, uint64_t *ret,
	unsigned *ret_flags);
