/* sai_stat - looks statistics up in sai.def. */
#include "collectors/push/sai_stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/str.h"

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
