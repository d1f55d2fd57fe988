/* import_dump - splits the keys of a dump into table and row. */
#include "agent/import/import_dump.h"

#include <stdbool.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

/* dump_table - the length of the table's name in the key of a row; 0: it is no such key. A table of
 * APPL_DB ends in _TABLE. */
static size_t dump_table(const char *key)
{
	static const char end[] = "_TABLE";
	const size_t n_end = sizeof(end) - 1;
	const size_t n = strcspn(key, "|:");
	if (n == 0 || !key[n] || !key[n + 1])
		return 0;
	if (key[n] == '|')
		return n;
	if (n > n_end && memcmp(key + n - n_end, end, n_end) == 0)
		return n;
	return 0;
}

/* dump_fields - of a row, borrowed. */
static json_t *dump_fields(json_t *row)
{
	json_t *value = json_object_get(row, "value");
	const char *type = json_string_value(json_object_get(row, "type"));
	if (json_is_object(value) && str_eq(type, "hash"))
		return value;
	return row;
}

json_t *import_dump_tables(json_t *root)
{
	json_t *tables = json_object();
	const char *key;
	json_t *value;
	json_object_foreach (root, key, value) {
		const size_t n = dump_table(key);
		if (n == 0) {
			json_object_set(tables, key, value);
			continue;
		}
		rw_cleanup(freep) char *name = rw_strdup(key);
		name[n] = '\0';
		json_t *table = json_object_get(tables, name);
		if (!json_is_object(table)) {
			table = json_object();
			json_object_set_new(tables, name, table);
		}
		json_object_set(table, key + n + 1, dump_fields(value));
	}
	return tables;
}
