/* snmp_join - texts of rows against names of ports. */
#include "collectors/snmp/snmp_join.h"

#include <string.h>
#include "agent/base/str.h"
#include "collectors/snmp/snmp_text.h"

#define NAME_WORDS_MAX 3 /* "fortyGigE 1/50" has two */
#define AROUND_MAX 8 /* rows one inside of the other: a sensor, a transceiver, a port ... */

const char *snmp_join_text(const struct profile_table *table, const struct snmp_rows *rows,
	size_t row, char buf[SNMP_NAME_MAX])
{
	const struct snmp_value *cell = snmp_rows_value(rows, row, (size_t)table->port_column);
	const uint8_t *bytes = NULL;
	size_t n;
	*buf = '\0';
	if (cell)
		bytes = snmp_rows_bytes(rows, cell, &n);
	if (bytes)
		snmp_text_clean(buf, SNMP_NAME_MAX, bytes, n);
	return buf;
}

/* Do the characters from @from to @to of @text fit the first @n characters of @pattern? */
static bool join_fits(const char *pattern, size_t n, const char *text, size_t from, size_t to)
{
	char glob[SNMP_NAME_MAX], part[SNMP_NAME_MAX];
	if (n >= sizeof(glob) || to - from >= sizeof(part))
		return false;
	memcpy(glob, pattern, n);
	glob[n] = '\0';
	memcpy(part, text + from, to - from);
	part[to - from] = '\0';
	return str_glob(glob, part);
}

/* The name between @from and @to, when the text around it fits. */
static struct snmp_port_entry *join_between(const struct snmp_ports *ports, const char *pattern,
	const char *text, size_t from, size_t to)
{
	const char *at = strstr(pattern, PROFILE_PORT_WORD);
	const char *behind = at + strlen(PROFILE_PORT_WORD);
	char name[SNMP_NAME_MAX];
	if (to - from >= sizeof(name))
		return NULL;
	memcpy(name, text + from, to - from);
	name[to - from] = '\0';
	struct snmp_port_entry *port = snmp_ports_named(ports, name);
	/* "Lane 1" is not about a port that is called 1 */
	if (at > pattern && *behind && strspn(name, "0123456789") == strlen(name))
		return NULL;
	if (!port || !join_fits(pattern, (size_t)(at - pattern), text, 0, from) ||
		!join_fits(behind, strlen(behind), text, to, strlen(text)))
		return NULL;
	return port;
}

struct snmp_port_entry *snmp_join_named(
	const struct snmp_ports *ports, const char *pattern, const char *text)
{
	struct snmp_port_entry *best = NULL;
	const size_t n = strlen(text);
	const char *at = strstr(pattern, PROFILE_PORT_WORD);
	const bool at_begin = at == pattern, at_end = at[strlen(PROFILE_PORT_WORD)] == '\0';
	size_t longest = 0;
	if (at_begin && at_end)
		return snmp_ports_named(ports, text);
	/* a name begins and ends where a word does; a few words may be one name */
	for (size_t from = 0; from < n; from++) {
		if (from > 0 && (at_begin || text[from - 1] != ' '))
			continue;
		size_t words = 0;
		for (size_t to = from + 1; to <= n && words < NAME_WORDS_MAX; to++) {
			if (to < n && text[to] != ' ')
				continue;
			words++;
			if ((to < n && at_end) || to - from <= longest)
				continue;
			struct snmp_port_entry *port = join_between(ports, pattern, text, from, to);
			if (!port)
				continue;
			best = port;
			longest = to - from;
		}
	}
	return best;
}

/* The row that contains @row; false at the outermost one. */
static bool join_around(
	const struct profile_table *table, const struct snmp_rows *rows, size_t row, size_t *ret)
{
	if (table->parent_column < 0)
		return false;
	const struct snmp_value *cell = snmp_rows_value(rows, row, (size_t)table->parent_column);
	if (!cell || !snmp_type_is_number(cell->type) || cell->u == 0 || cell->u > UINT32_MAX)
		return false;
	const uint32_t index = (uint32_t)cell->u;
	return snmp_rows_find(rows, (struct snmp_oid){&index, 1}, ret);
}

struct snmp_port_entry *snmp_join_port(const struct snmp_ports *ports,
	const struct profile_table *table, const struct snmp_rows *rows, size_t row)
{
	char buf[SNMP_NAME_MAX];
	for (int i = 0; i < AROUND_MAX; i++) {
		const char *text = snmp_join_text(table, rows, row, buf);
		struct snmp_port_entry *port = snmp_join_named(ports, table->port_text, text);
		if (!port && i > 0)
			port = snmp_ports_named(ports, text);
		if (port)
			return port;
		if (!join_around(table, rows, row, &row))
			return NULL;
	}
	return NULL;
}
