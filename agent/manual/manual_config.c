/* manual_config - rocewatch.yaml(5) by the rows of the schema, and rocewatch-db(5). */
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/manual/manual.h"
#include "agent/manual/manual_page.h"
#include "agent/modules.h"
#include "config/config.h"

static void config_item(const struct config_key *key, void *arg)
{
	struct str *out = arg;
	rw_cleanup(str_done) struct str about = {0};
	if (key->section && !strchr(key->path, '.')) {
		roff_subheading(out, key->path);
		roff_text(out, key->doc);
		return;
	}
	if (!key->section) {
		config_key_about(key, &about);
		str_add(&about, ". ");
	}
	str_add(&about, key->doc);
	roff_item(out, key->path, about.s);
}

void manual_configuration(struct str *out)
{
	static const char *const see[] = {
		"rocewatch-config(1)", "rocewatch-agent(8)", "rocewatch-causes(7)", NULL};
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	roff_begin(out, "rocewatch.yaml", 5, "configuration of rocewatch");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".I /etc/rocewatch/rocewatch.yaml\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"A YAML file. Numbers with a dimension carry their unit: 10s, 400G, 88064B, 20%. "
		"Secrets are only named: a file (mode 0600), an environment variable, or a "
		"systemd credential.\n\n'rocewatch config check' answers every mistake with "
		"file:line:column and what was expected; 'rocewatch config explain KEY' prints "
		"what stands here. In the keys below, [] is an entry of a list and <name> a name "
		"that you choose.");
	roff_heading(out, "EXAMPLE");
	roff_literal(out,
		"fabric: pod-a\n"
		"store: { path: /var/lib/rocewatch/rocewatch.db }\n"
		"credentials:\n"
		"  ro: { snmp: { version: 2c, community_file: /etc/rocewatch/community } }\n"
		"devices:\n"
		"  - { name: leaf1, role: leaf, snmp: { address: 192.0.2.11, credentials: ro } }\n"
		"  - { name: spine1, role: spine, snmp: { address: 192.0.2.21, credentials: ro } "
		"}\n"
		"links: discover\n");
	roff_heading(out, "KEYS");
	config_keys(tables, n_tables, config_item, out);
	roff_see(out, see);
}

/* ---- the database -------------------------------------------------------- */

/* The text between the @n-th '|' of a table's row and the next one, without marks of code. */
static void database_cell(const char *row, size_t n, struct str *ret)
{
	const char *at = row;
	for (size_t i = 0; i < n && at; i++) {
		at = strchr(at, '|');
		if (at)
			at++;
	}
	if (!at)
		return;
	for (const char *p = at + strspn(at, " "); *p && *p != '|' && *p != '\n'; p++)
		if (*p != '`')
			str_addn(ret, p, 1);
	while (ret->n > 0 && ret->s[ret->n - 1] == ' ')
		ret->s[--ret->n] = '\0';
}

static void database_view(struct str *out, const char *row)
{
	rw_cleanup(str_done) struct str name = {0};
	rw_cleanup(str_done) struct str what = {0};
	rw_cleanup(str_done) struct str columns = {0};
	rw_cleanup(str_done) struct str text = {0};
	database_cell(row, 1, &name);
	database_cell(row, 2, &what);
	database_cell(row, 3, &columns);
	str_addf(&text, "One row is %s. Columns: %s.", str_or(what.s, ""), str_or(columns.s, ""));
	roff_item(out, name.s, text.s);
}

void manual_database(struct str *out, const char *database)
{
	static const char *const see[] = {"rocewatch-query(1)", "rocewatch-db(1)",
		"rocewatch-metrics(7)", "sqlite3(1)", NULL};
	roff_begin(out, "rocewatch-db", 5, "database of rocewatch and its views");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".I /var/lib/rocewatch/rocewatch.db\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"A SQLite database in WAL mode, written by one agent and read by any number of "
		"programs. The views are the interface: their columns are only ever added to. "
		"'rocewatch query sql' reads them; a plain sqlite3 needs the extension "
		"rocewatch_sqlite for samples and rates.");
	roff_heading(out, "EXAMPLE");
	roff_literal(out, "rocewatch query sql \"SELECT id, cause, summary FROM incidents\"\n");
	roff_heading(out, "VIEWS");
	for (const char *line = strstr(database, "\n| `"); line; line = strstr(line + 1, "\n| `"))
		database_view(out, line + 1);
	roff_see(out, see);
}
