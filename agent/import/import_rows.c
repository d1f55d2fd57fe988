/* import_rows - reads rows and fields, and says where a mistake stands. */
#include "agent/import/import_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/str.h"
#include "agent/base/text_clean.h"

/* longest name of a port that the configuration takes */
#define PORT_NAME_MAX 200
#define BYTES_MAX ((int64_t)1 << 40)

/* ---- errors and warnings ------------------------------------------------- */

/* import_rows_line_of - the number of the line where @at stands. */
static int import_rows_line_of(const char *text, const char *at)
{
	int line = 1;
	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	return line;
}

/* jansson keeps no lines of values. A row stands below its table; in a dump of the database, it has
 * the table's name before its own. */
int sonic_line(const struct sonic_row *row)
{
	static const char separators[] = "|:";
	char quoted[600];
	const char *text = row->file->text;
	snprintf(quoted, sizeof(quoted), "\"%.256s\"", row->table);
	const char *at = strstr(text, quoted);
	if (at && row->key) {
		snprintf(quoted, sizeof(quoted), "\"%.256s\"", row->key);
		at = strstr(at + strlen(row->table), quoted);
	}
	for (size_t i = 0; !at && i < sizeof(separators) - 1; i++) {
		snprintf(quoted, sizeof(quoted), "\"%.256s%c%.256s", row->table, separators[i],
			str_or(row->key, ""));
		at = strstr(text, quoted);
	}
	if (!at)
		return 0;
	return import_rows_line_of(text, at);
}

static void sonic_report(const struct sonic_row *row, struct err_list *to, const char *fmt,
	va_list ap) __attribute__((format(printf, 3, 0)));
static void sonic_report(
	const struct sonic_row *row, struct err_list *to, const char *fmt, va_list ap)
{
	struct err e = {0};
	char text[512];
	vsnprintf(text, sizeof(text), fmt, ap);
	err_at(&e, -EINVAL, row->file->name, sonic_line(row), 0, "%s%s%.120s: %s", row->table,
		str_if(row->key, "|"), str_or(row->key, ""), text);
	err_list_add(to, &e);
}

void sonic_wrong(const struct sonic_row *row, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	sonic_report(row, row->file->errors, fmt, ap);
	va_end(ap);
}

void sonic_warn(const struct sonic_row *row, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	sonic_report(row, row->file->warnings, fmt, ap);
	va_end(ap);
}

/* ---- rows and fields ----------------------------------------------------- */

json_t *sonic_table(struct sonic_file *file, const char *name)
{
	json_t *table = json_object_get(file->root, name);
	if (!table || json_is_object(table))
		return table;
	sonic_wrong(&(struct sonic_row){file, name, NULL, NULL}, "expected an object of rows");
	return NULL;
}

struct sonic_row sonic_row(struct sonic_file *file, const char *table, const char *key)
{
	struct sonic_row row = {file, table, key, json_object_get(sonic_table(file, table), key)};
	if (row.json && !json_is_object(row.json)) {
		sonic_wrong(&row, "expected an object of fields");
		row.json = NULL;
	}
	return row;
}

const char *sonic_field(const struct sonic_row *row, const char *name)
{
	const json_t *value = json_object_get(row->json, name);
	if (!value)
		return NULL;
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		return arena_printf(
			row->file->set->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	sonic_wrong(row, "%s: expected text or a whole number", name);
	return NULL;
}

bool sonic_whole(
	const struct sonic_row *row, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = sonic_field(row, name);
	if (!text)
		return false;
	if (unit_int(text, ret, NULL) == 0 && *ret >= min && *ret <= max)
		return true;
	sonic_wrong(row, "%s: '%.40s' is not a whole number from %" PRId64 " to %" PRId64, name,
		text, min, max);
	return false;
}

void sonic_bytes(const struct sonic_row *row, const char *name, uint64_t *to)
{
	int64_t bytes;
	if (sonic_whole(row, name, 0, BYTES_MAX, &bytes))
		*to = (uint64_t)bytes;
}

const char *sonic_reference(struct sonic_file *file, const char *text)
{
	if (!text || text[0] != '[')
		return text;
	const size_t n = strlen(text);
	const char *bar = strpbrk(text, "|:");
	if (!bar || text[n - 1] != ']')
		return text;
	return arena_strndup(file->set->arena, bar + 1, n - 1 - (size_t)(bar + 1 - text));
}

bool sonic_port_name(const char *text)
{
	size_t n = 0;
	for (; text[n]; n++) {
		const unsigned char c = (unsigned char)text[n];
		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			return false;
	}
	if (n == 0 || n > PORT_NAME_MAX || text[0] == ' ' || text[n - 1] == ' ')
		return false;
	return text_is_clean(text);
}

struct import_port *sonic_port(const struct sonic_row *row, const char *name)
{
	if (!sonic_port_name(name)) {
		sonic_wrong(row, "'%.40s' is no name of a port", name);
		return NULL;
	}
	struct import_port *port = import_port(row->file->set, row->file->device, name, true);
	if (!port)
		sonic_wrong(row, "more than %d ports", IMPORT_PORTS_MAX);
	return port;
}
