/*
 * import_rows - rows and fields of SONiC's tables, with the place that an error or a warning names.
 * What is malformed is reported where it is read. For the files of import_sonic.c only; one thread.
 */
#ifndef RW_AGENT_IMPORT_ROWS_H
#define RW_AGENT_IMPORT_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/import/import_internal.h"

struct sonic_file {
	struct import_set *set;
	struct import_device *device; /* whose file it is */
	const json_t *root; /* an object of tables */
	const char *text, *name;
	struct err_list *errors, *warnings;
	size_t n_before; /* errors of other files */
};

/* A row of a table, and where it stands. */
struct sonic_row {
	struct sonic_file *file;
	const char *table, *key; /* key NULL: the table itself */
	const json_t *json; /* NULL: not there */
};

void sonic_wrong(const struct sonic_row *row, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sonic_warn(const struct sonic_row *row, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* sonic_line - the line where the row stands in the text; 0 unknown. */
int sonic_line(const struct sonic_row *row);

/* sonic_table - as json_object_foreach() takes it; NULL when it is missing, or no object
 * (reported). */
json_t *sonic_table(struct sonic_file *file, const char *name);
/* sonic_row - .json is NULL when the row is missing, or no object (reported). */
struct sonic_row sonic_row(struct sonic_file *file, const char *table, const char *key);
/* sonic_field - its text, also of a whole number; NULL when it is missing. Anything else is
 * reported, and NULL. */
const char *sonic_field(const struct sonic_row *row, const char *name);
/* sonic_whole - false when the field is missing, or no whole number from @min to @max (reported).
 */
bool sonic_whole(
	const struct sonic_row *row, const char *name, int64_t min, int64_t max, int64_t *ret);
/* sonic_bytes - @to stays as it is when the field is missing. */
void sonic_bytes(const struct sonic_row *row, const char *name, uint64_t *to);
/* sonic_reference - the name of a row in another table: "X", or "[TABLE|X]" and "[TABLE:X]" as
 * older releases write it. NULL for NULL. */
const char *sonic_reference(struct sonic_file *file, const char *text);
/* sonic_port - made when it is new; NULL for no name of a port or too many ports (reported at
 * @row). */
struct import_port *sonic_port(const struct sonic_row *row, const char *name);
/* sonic_port_name - as our configuration takes it: printable, without quotes. Ports of other makers
 * have blanks inside ("fortyGigE 1/50"). */
bool sonic_port_name(const char *text);

#endif
