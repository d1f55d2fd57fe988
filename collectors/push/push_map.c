/* push_map - compiles what profiles say of pushed names. */
#include "collectors/push/push_map.h"

#include "config/profile/profile.h"
#include "config/profile/profile_push.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* ---- sai_stat -------------------------------------------------------------- */

/* sai_stat - looks statistics up in sai.def. */

#define SAI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	uint32_t number;
	const char *name, *prefix;
} sai_types[] = {
#define SAI_TYPE(number, name, prefix) {number, name, prefix},
#define SAI_STAT(type, number, kind, name)
#include "collectors/push/sai.def"
#undef SAI_TYPE
#undef SAI_STAT
};

static const struct sai_stat sai_stats[] = {
#define SAI_TYPE(number, name, prefix)
#define SAI_STAT(type, number, kind, name) {type, number, SAI_##kind, name},
#include "collectors/push/sai.def"
#undef SAI_TYPE
#undef SAI_STAT
};

static int sai_stat_order(const void *left, const void *right)
{
	const struct sai_stat *l = left, *r = right;
	if (l->type != r->type)
		return (l->type > r->type) - (l->type < r->type);
	return (l->number > r->number) - (l->number < r->number);
}

const struct sai_stat *sai_stat_of(uint32_t type, uint32_t number)
{
	const struct sai_stat key = {.type = type, .number = number};
	return bsearch(&key, sai_stats, SAI_COUNT(sai_stats), sizeof(sai_stats[0]), sai_stat_order);
}

static const char *sai_prefix(uint32_t type)
{
	for (size_t i = 0; i < SAI_COUNT(sai_types); i++)
		if (sai_types[i].number == type)
			return sai_types[i].prefix;
	return NULL;
}

const char *sai_stat_text(char buf[SAI_NAME_MAX], uint32_t type, uint32_t number)
{
	const struct sai_stat *stat = sai_stat_of(type, number);
	if (stat)
		snprintf(buf, SAI_NAME_MAX, "%s%s", sai_prefix(type), stat->name);
	else
		snprintf(buf, SAI_NAME_MAX, "sai_type_%u_stat_%u", type, number);
	return buf;
}

const char *sai_type_name(uint32_t type)
{
	for (size_t i = 0; i < SAI_COUNT(sai_types); i++)
		if (sai_types[i].number == type)
			return sai_types[i].name;
	return NULL;
}

/* ---- push_map -------------------------------------------------------------- */

#define EXACT_MOST 9007199254740992.0 /* 2^53: the largest double that has all whole ones below */
#define WHOLE_MOST 18446744073709549568.0 /* the largest double below 2^64 */

enum { PRIORITIES = 8, QUEUES = 64, LANES = 16 };

struct push_map {
	struct arena *a;
	struct smap *names; /* -> struct push_rule * */
};

/* ---- compiling ------------------------------------------------------------- */

static const struct {
	const char *word;
	int n;
} push_words[] = {
	{"{priority}", PRIORITIES},
	{"{queue}", QUEUES},
	{"{group}", PRIORITIES},
	{"{lane}", LANES},
};

static void push_map_add(struct push_map *map, const char *name, const struct push_rule *rule)
{
	uint64_t before;
	struct push_rule *added = arena_new_of(map->a, struct push_rule), *last;
	*added = *rule;
	if (!smap_get(map->names, name, strlen(name), &before)) {
		smap_put(map->names, name, strlen(name), (uint64_t)(uintptr_t)added);
		return;
	}
	last = (struct push_rule *)(uintptr_t)before;
	while (last->next)
		last = (struct push_rule *)last->next;
	last->next = added;
}

static void push_map_add_value(struct push_map *map, struct push_rule rule)
{
	const char *name = rule.value->name, *open = strchr(name, '{');
	char text[PUSH_NAME_MAX];
	rule.number = -1;
	if (!open) {
		push_map_add(map, name, &rule);
		return;
	}
	for (size_t i = 0; i < rw_countof(push_words); i++) {
		const size_t n = strlen(push_words[i].word);
		if (strncmp(open, push_words[i].word, n) != 0)
			continue;
		for (int k = 0; k < push_words[i].n; k++) {
			snprintf(text, sizeof(text), "%.*s%d%s", (int)(open - name), name, k,
				open + n);
			rule.number = k;
			push_map_add(map, text, &rule);
		}
	}
}

struct push_map *push_map_new(const struct profiles *profiles)
{
	struct push_map *map = rw_calloc(1, sizeof(*map));
	map->a = arena_new();
	map->names = smap_new();
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		for (size_t g = 0; g < profile->n_push; g++) {
			const struct profile_push_group *group = profile->push[g];
			for (size_t v = 0; v < group->n_values; v++)
				push_map_add_value(map,
					(struct push_rule){.profile = profile,
						.group = group,
						.value = &group->values[v]});
		}
	}
	return map;
}

void push_map_free(struct push_map *map)
{
	if (!map)
		return;
	smap_free(map->names);
	arena_free(map->a);
	free(map);
}

/* ---- names ----------------------------------------------------------------- */

/* "sai_counter_type_1_stat_2", of sonic-swss crates/countersyncd: the name of that statistic. */
static bool push_sai_name(const char *name, size_t n, char ret[SAI_NAME_MAX])
{
	static const char begin[] = "sai_counter_type_";
	char text[64];
	unsigned type, number;
	int used = 0;
	if (n >= sizeof(text) || n < sizeof(begin) || memcmp(name, begin, sizeof(begin) - 1) != 0)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, name);
	if (sscanf(text, "sai_counter_type_%9u_stat_%9u%n", &type, &number, &used) != 2 ||
		(size_t)used != n)
		return false;
	sai_stat_text(ret, type, number);
	return true;
}

const struct push_rule *push_map_find(const struct push_map *map, const char *name, size_t n)
{
	uint64_t found;
	char sai[SAI_NAME_MAX];
	if (smap_get(map->names, name, n, &found))
		return (const struct push_rule *)(uintptr_t)found;
	if (!push_sai_name(name, n, sai) || !smap_get(map->names, sai, strlen(sai), &found))
		return NULL;
	return (const struct push_rule *)(uintptr_t)found;
}

/* ---- places ---------------------------------------------------------------- */

static bool push_slice_is(const char *slice, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(slice, text, n) == 0;
}

const struct push_label *push_label_of(const struct push_label *labels, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (push_slice_is(labels[i].key, labels[i].n_key, key))
			return &labels[i];
	return NULL;
}

static const struct push_label *push_label_first(
	const struct push_label *labels, size_t n, const struct profile_push_labels *keys)
{
	for (size_t k = 0; k < keys->n; k++) {
		const struct push_label *found = push_label_of(labels, n, keys->v[k]);
		if (found)
			return found;
	}
	return NULL;
}

bool push_rule_fits(const struct push_rule *rule, const struct push_label *labels, size_t n)
{
	if (!rule->value->where_label)
		return true;
	const struct push_label *label = push_label_of(labels, n, rule->value->where_label);
	return label && push_slice_is(label->value, label->n_value, rule->value->where_text);
}

/* Digits only, at most four of them. */
static int push_whole_number(const char *text, size_t n)
{
	int number = 0;
	if (n == 0 || n > 4)
		return -ERANGE;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -ERANGE;
		number = number * 10 + (text[i] - '0');
	}
	return number;
}

/* A number of a priority is one; that of a queue or group is mapped by the profile. */
static int push_place_number(const struct push_rule *rule, int number, struct push_place *ret)
{
	const char *open = strchr(rule->value->name, '{');
	enum profile_push_number kind = rule->group->kind;
	if (open && strncmp(open, "{priority}", 10) == 0)
		kind = PUSH_PRIORITY;
	else if (open && strncmp(open, "{lane}", 6) != 0)
		kind = PUSH_QUEUE;
	if (kind == PUSH_PRIORITY) {
		if (number > PRIO_MOST)
			return -ERANGE;
		ret->priority = number;
		return 0;
	}
	ret->priority = profile_priority(rule->profile, (uint32_t)number);
	if (ret->priority != PRIO_NONE)
		return 0;
	const size_t n = strlen(ret->port);
	if (n + 8 >= sizeof(ret->port))
		return -EINVAL;
	snprintf(ret->port + n, sizeof(ret->port) - n, "#q%d", number);
	return 0;
}

static int push_place_port(const char *text, size_t n, struct push_place *ret)
{
	if (n == 0 || n >= sizeof(ret->port) || memchr(text, '\0', n))
		return -EINVAL;
	memcpy(ret->port, text, n);
	ret->port[n] = '\0';
	/* the name of a buffer pool here */
	if (!text_is_clean(ret->port) || strncmp(ret->port, "pool:", 5) == 0)
		return -EINVAL;
	return 0;
}

/* "Ethernet0|3": where the port ends and the number begins. */
static int push_place_split(const struct push_rule *rule, const struct push_label *port,
	size_t *ret_port, int *ret_number)
{
	const char *at = NULL;
	for (size_t i = port->n_value; i > 0 && !at; i--)
		if (port->value[i - 1] == *rule->group->split)
			at = port->value + i - 1;
	*ret_port = port->n_value;
	if (!at)
		return 0;
	*ret_port = (size_t)(at - port->value);
	*ret_number = push_whole_number(at + 1, port->n_value - *ret_port - 1);
	if (*ret_number < 0)
		return -ERANGE;
	return 0;
}

int push_rule_place(const struct push_rule *rule, const struct push_label *labels, size_t n,
	struct push_place *ret)
{
	const struct profile_push_group *group = rule->group;
	const enum metric_scope scope = metric_info((unsigned)rule->value->metric)->scope;
	int number = rule->number, rc = 0;
	ret->port[0] = '\0';
	ret->priority = PRIO_NONE;
	if (scope == SCOPE_DEVICE)
		return 0;
	const struct push_label *port = push_label_first(labels, n, &group->port);
	if (!port)
		return -ENOENT;
	size_t n_port = port->n_value;
	if (group->split)
		rc = push_place_split(rule, port, &n_port, &number);
	if (rc == 0)
		rc = push_place_port(port->value, n_port, ret);
	if (rc < 0 || scope == SCOPE_PORT)
		return rc;
	if (number < 0) {
		const struct push_label *label = push_label_first(labels, n, &group->number);
		if (!label)
			return -ENOENT;
		number = push_whole_number(label->value, label->n_value);
	}
	if (number < 0)
		return -ERANGE;
	return push_place_number(rule, number, ret);
}

/* ---- values ---------------------------------------------------------------- */

static int push_value_whole(const struct profile_push_value *value, uint64_t raw, uint64_t *ret)
{
	for (size_t i = 0; i < value->n_ignore; i++)
		if (raw == value->ignore[i])
			return -ENODATA;
	if (value->has_equals)
		raw = raw == value->equals;
	if (raw > UINT64_MAX / value->mul)
		return -ERANGE;
	*ret = raw * value->mul / value->div;
	return 0;
}

static int push_value_real(const struct profile_push_value *value, double raw, uint64_t *ret)
{
	double scaled = raw * (double)value->mul / (double)value->div;
	for (size_t i = 0; i < value->n_ignore; i++)
		if (raw == (double)value->ignore[i])
			return -ENODATA;
	if (value->has_equals)
		scaled = raw == (double)value->equals;
	if (value->milliwatts && scaled <= 0)
		return -ENODATA; /* no light: there is no such dBm */
	if (value->milliwatts)
		scaled = 10 * log10(scaled);
	*ret = sample_of_f64(scaled);
	return 0;
}

int push_rule_value(const struct push_rule *rule, const struct push_number *number, uint64_t *ret,
	unsigned *ret_flags)
{
	const struct profile_push_value *value = rule->value;
	double real = number->real;
	*ret_flags = 0;
	if (value->width == 32)
		*ret_flags = SF_WRAP32;
	if (number->whole)
		real = (double)number->integer;
	if (!isfinite(real))
		return -ERANGE;
	if (metric_info((unsigned)value->metric)->type == TYPE_F64)
		return push_value_real(value, real, ret);
	if (number->whole) {
		if (number->integer < 0)
			return -ERANGE;
		return push_value_whole(value, (uint64_t)number->integer, ret);
	}
	if (real < 0 || real > WHOLE_MOST)
		return -ERANGE;
	if (real > EXACT_MOST)
		*ret_flags |= SF_ESTIMATED;
	return push_value_whole(value, (uint64_t)nearbyint(real), ret);
}
