/* profile_read - reads one profile: its own settings, and its parts through the files that know
 * them. Every mistake is reported with its place; unknown keys come with the nearest known one. */
#include "config/profile/profile_reader.h"

#include <errno.h>
#include <string.h>
#include "base/str.h"
#include "db/model/entity.h"

static void matches_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list such as [{ object_id: 1.3.6.1.4.1.9 }]");
		return;
	}
	reader->p->matches = arena_array(reader->a, struct profile_match, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		struct profile_match *to = &reader->p->matches[reader->p->n_matches];
		struct profile_oid oid = {0};
		if (!KEYS(reader, m, "a match", "object_id", "descr"))
			continue;
		if (m->n == 0)
			reader_wrong(
				reader, m->line, m->col, "expected 'object_id', 'descr' or both");
		if (reader_value(m, "object_id") &&
			reader_oid(reader, reader_value(m, "object_id"), &oid)) {
			to->object_id = arena_array(reader->a, uint32_t, oid.n);
			memcpy(to->object_id, oid.v, oid.n * sizeof(uint32_t));
			to->n_object_id = oid.n;
		}
		to->descr = reader_copy(reader, m, "descr", false);
		reader->p->n_matches++;
	}
}

static void quirks_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of quirks");
		return;
	}
	reader->p->quirks = arena_array(reader->a, struct profile_quirk, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *q = node->items[i].value;
		if (!KEYS(reader, q, "a quirk", "name", "doc", "evidence"))
			continue;
		const char *name = reader_text(reader, q, "name", true),
			   *doc = reader_text(reader, q, "doc", true);
		const char *evidence = NULL;
		if (reader_value(q, "evidence"))
			evidence = reader_text(reader, q, "evidence", true);
		else
			reader_wrong(reader, q->line, q->col,
				"a quirk without 'evidence': say where this was read or seen "
				"(source file, document, device and release)");
		if (name && doc && evidence)
			reader->p->quirks[reader->p->n_quirks++] = (struct profile_quirk){
				arena_strdup(reader->a, name), arena_strdup(reader->a, doc),
				arena_strdup(reader->a, evidence)};
	}
}

static void command_read(struct reader *reader, const struct yaml_node *node)
{
	static const char *const topics[] = {
		"pause", "watchdog", "queues", "ecn", "errors", "optic"};
	struct profile *p = reader->p;
	int topic;
	if (!KEYS(reader, node, "a command", "topic", "run", "evidence"))
		return;
	const char *word = reader_text(reader, node, "topic", true),
		   *run = reader_text(reader, node, "run", true),
		   *evidence = reader_text(reader, node, "evidence", true);
	if (!word || !run || !evidence)
		return;
	topic = reader_word(
		reader, reader_value(node, "topic"), topics, rw_countof(topics), "a topic");
	if (topic < 0)
		return;
	if (profile_command_of(p, word)) {
		reader_wrong(reader, node->line, node->col, "topic '%s' twice", word);
		return;
	}
	p->commands[p->n_commands++] = (struct profile_command){
		topics[topic], arena_strdup(reader->a, run), arena_strdup(reader->a, evidence)};
}

static void commands_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of commands");
		return;
	}
	reader->p->commands = arena_array(reader->a, struct profile_command, node->n + 1);
	for (size_t i = 0; i < node->n; i++)
		command_read(reader, node->items[i].value);
}

static void tc_map_read(struct reader *reader, const struct yaml_node *node)
{
	for (size_t i = 0; i < PROFILE_TC_MAX; i++)
		reader->p->tc_map[i] = PRIO_NONE;
	if (!node)
		return;
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node, "queue to priority, such as { 0: 0, 5: 3 }");
		return;
	}
	reader->p->has_tc_map = true;
	for (size_t i = 0; i < node->n; i++) {
		uint64_t queue, priority;
		struct yaml_node key = {.kind = YAML_TEXT,
			.line = node->items[i].line,
			.col = node->items[i].col,
			.text = node->items[i].key};
		if (reader_number_at(reader, &key, PROFILE_TC_MAX - 1, &queue) &&
			reader_number_at(reader, node->items[i].value, 7, &priority))
			reader->p->tc_map[queue] = (int8_t)priority;
	}
}

static void port_names_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node,
			"a list such as [{ first: 1, last: 999, subtract: 1, name: \"Ethernet{n}\" "
			"}]");
		return;
	}
	reader->p->port_names = arena_array(reader->a, struct profile_port_name, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		uint64_t first = 0, last = 0, subtract = 0;
		if (!KEYS(reader, m, "a port name rule", "first", "last", "subtract", "name"))
			continue;
		const char *name = reader_text(reader, m, "name", true);
		reader_number(reader, m, "subtract", UINT32_MAX, &subtract);
		if (!reader_number(reader, m, "first", UINT32_MAX, &first) ||
			!reader_number(reader, m, "last", UINT32_MAX, &last) || !name)
			reader_wrong(reader, m->line, m->col,
				"expected first, last and name (with {n} for the number)");
		else if (first > last || subtract > first || !strstr(name, "{n}"))
			reader_wrong(reader, m->line, m->col,
				"expected first <= last, subtract <= first, and {n} in the name");
		else
			reader->p->port_names[reader->p->n_port_names++] =
				(struct profile_port_name){(uint32_t)first, (uint32_t)last,
					(uint32_t)subtract, arena_strdup(reader->a, name)};
	}
}

/* A list of globs; one that fits everything is a mistake. */
static struct profile_globs globs_read(
	struct reader *reader, const struct yaml_node *node, const char *expected)
{
	struct profile_globs globs = {0};
	if (!node)
		return globs;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, expected);
		return globs;
	}
	globs.v = arena_array(reader->a, const char *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *glob = node->items[i].value;
		if (glob->kind != YAML_TEXT || !*glob->text || str_eq(glob->text, "*")) {
			reader_wrong_node(reader, glob, "a name, with * and ?");
			continue;
		}
		globs.v[globs.n++] = arena_strdup(reader->a, glob->text);
	}
	return globs;
}

static void management_ports_read(struct reader *reader, const struct yaml_node *node)
{
	const struct profile_globs globs =
		globs_read(reader, node, "a list of port names, such as [\"mgmt*\"]");
	reader->p->management_ports = globs.v;
	reader->p->n_management_ports = globs.n;
}

static void neighbors_read(struct reader *reader, const struct yaml_node *node)
{
	static const char expected[] = "a list such as [\"*Ubuntu*\"]";
	if (!node || !KEYS(reader, node, "'neighbors'", "network_os", "host_os", "switch_ports"))
		return;
	reader->p->network_os = globs_read(reader, reader_value(node, "network_os"), expected);
	reader->p->host_os = globs_read(reader, reader_value(node, "host_os"), expected);
	reader->p->switch_ports = globs_read(reader, reader_value(node, "switch_ports"), expected);
}

static void without_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of table names");
		return;
	}
	reader->draft->without = arena_array(reader->a, const char *, node->n + 1);
	reader->draft->without_lines = arena_array(reader->a, int, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		if (node->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(reader, node->items[i].value, "a table name");
			continue;
		}
		reader->draft->without_lines[reader->draft->n_without] = node->items[i].value->line;
		reader->draft->without[reader->draft->n_without++] =
			arena_strdup(reader->a, node->items[i].value->text);
	}
}

static void snmp_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'snmp'", "min_interval", "refresh", "without", "port_names",
			"tables", "traps", "evidence", "inherited"))
		return;
	const struct profile_evidence evidence =
		reader_evidence(reader, node, (struct profile_evidence){0});
	reader_inherited(reader, node, &reader->p->inherited);
	profile_traps_read(reader, reader_value(node, "traps"));
	reader->p->snmp = true;
	reader->p->min_interval_ns = reader_duration(reader, node, "min_interval");
	reader->p->refresh_ns = reader_duration(reader, node, "refresh");
	port_names_read(reader, reader_value(node, "port_names"));
	without_read(reader, reader_value(node, "without"));
	const struct yaml_node *tables = reader_value(node, "tables");
	if (!tables)
		return;
	if (tables->kind != YAML_LIST) {
		reader_wrong_node(reader, tables, "a list of tables");
		return;
	}
	reader->p->tables = arena_array(reader->a, struct profile_table *, tables->n + 1);
	for (size_t i = 0; i < tables->n; i++) {
		struct profile_table *t =
			profile_table_read(reader, tables->items[i].value, evidence);
		for (size_t k = 0; t && k < reader->p->n_tables; k++)
			if (strcmp(reader->p->tables[k]->name, t->name) == 0)
				reader_wrong(reader, t->line, 0,
					"table '%s' twice; the first is in line %d", t->name,
					reader->p->tables[k]->line);
		if (t)
			reader->p->tables[reader->p->n_tables++] = t;
	}
}

int profile_read(const char *text, size_t n, const char *file, struct arena *a,
	struct profile_draft *ret, struct err_list *errors)
{
	const struct yaml_node *root;
	struct profile *p = arena_new_of(a, struct profile);
	struct reader r = {.a = a,
		.file = arena_strdup(a, file),
		.errors = errors,
		.n_before = errors->n,
		.p = p,
		.draft = ret};
	*ret = (struct profile_draft){.profile = p};
	p->file = r.file;
	p->text = arena_strndup(a, text, n);
	if (yaml_read(text, n, file, a, &root, errors) < 0)
		return -EINVAL;
	if (!KEYS(&r, root, "a profile", "name", "doc", "match", "extends", "tc_map", "cell_bytes",
		    "cell_oid", "quirks", "commands", "management_ports", "neighbors", "snmp",
		    "gnmi", "push", "tuning"))
		return -EINVAL;
	p->name = str_or(reader_copy(&r, root, "name", true), "");
	p->doc = str_or(reader_copy(&r, root, "doc", true), "");
	ret->extends = reader_copy(&r, root, "extends", false);
	if (ret->extends) {
		ret->extends_line = reader_value(root, "extends")->line;
		ret->extends_col = reader_value(root, "extends")->col;
		p->extends = ret->extends;
	}
	matches_read(&r, reader_value(root, "match"));
	tc_map_read(&r, reader_value(root, "tc_map"));
	reader_number(&r, root, "cell_bytes", 65536, &p->cell_bytes);
	if (reader_value(root, "cell_oid"))
		reader_oid(&r, reader_value(root, "cell_oid"), &p->cell_oid);
	quirks_read(&r, reader_value(root, "quirks"));
	commands_read(&r, reader_value(root, "commands"));
	management_ports_read(&r, reader_value(root, "management_ports"));
	neighbors_read(&r, reader_value(root, "neighbors"));
	snmp_read(&r, reader_value(root, "snmp"));
	profile_gnmi_read(&r, reader_value(root, "gnmi"));
	profile_push_read(&r, reader_value(root, "push"));
	profile_tune_read(&r, reader_value(root, "tuning"));
	if (errors->n > r.n_before)
		return -EINVAL;
	return 0;
}

const char *profile_command_of(const struct profile *profile, const char *topic)
{
	for (size_t i = 0; i < profile->n_commands; i++)
		if (strcmp(profile->commands[i].topic, topic) == 0)
			return profile->commands[i].run;
	return NULL;
}
