/* schema_column - tables, columns and rows of samples by metric and entity. Pure. */
#include "db/sqlite/schema_column.h"

#include <stdio.h>
#include <string.h>

const char *const schema_table[SCHEMA_TABLES] = {
	[SCOPE_PORT] = "sample_port",
	[SCOPE_PRIO] = "sample_priority",
	[SCOPE_DEVICE] = "sample_device",
	[TABLE_PRIOS] = "sample_lanes",
};

unsigned schema_table_scope(unsigned table)
{
	if (table == TABLE_PRIOS)
		return SCOPE_PRIO;
	return table;
}

bool column_set_has(unsigned set, unsigned metric)
{
	return (unsigned)metric_info(metric)->scope == schema_table_scope(column_set_table(set));
}

char *schema_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric)
{
	const struct metric_info *info = metric_info(metric);
	size_t n = 0;

	for (; info && info->name[n] && n < SCHEMA_COLUMN_MAX - 1; n++) {
		buf[n] = info->name[n];
		if (buf[n] == '.')
			buf[n] = '_';
	}
	buf[n] = '\0';
	return buf;
}

char *schema_prio_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric, int prio)
{
	schema_column(buf, metric);
	if (prio != PRIO_NONE) {
		size_t n = strlen(buf);
		snprintf(buf + n, SCHEMA_COLUMN_MAX - n, "_p%u", (unsigned)prio % SCHEMA_PRIOS);
	}
	return buf;
}

struct row_at schema_row_at(uint32_t id, uint32_t parent, uint32_t device, int priority)
{
	struct row_at at = {.row = id, .device = device, .prio = PRIO_NONE};

	if (priority >= 0 && priority < SCHEMA_PRIOS && parent != ENTITY_NONE) {
		at.row = parent;
		at.prio = (int8_t)priority;
	}
	return at;
}

struct row_at schema_row_of(const struct entities *entities, uint32_t id)
{
	const struct entity *e = entity_get(entities, id);

	if (!e)
		return schema_row_at(id, ENTITY_NONE, id, PRIO_NONE);
	return schema_row_at(id, e->parent, entity_device(entities, id), e->priority);
}

bool schema_is_cfg(unsigned metric)
{
	const struct metric_info *info = metric_info(metric);

	return info && strncmp(info->name, "cfg.", 4) == 0;
}
