/* profile_trap - the notifications that only one kind of switch sends. */
#include "config/profile/profile_reader.h"

#include <string.h>

static void trap_index_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	const struct yaml_node *index = reader_value(node, "index");
	if (!index)
		return;
	if (index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX ||
		trap->at.n == 0) {
		reader_wrong_node(reader, index,
			"a list of at most 8 parts such as [port, priority], of the instance of "
			"'at'");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		if (part->kind == YAML_TEXT)
			trap->parts[i] = reader_part(part->text);
		else
			trap->parts[i] = PART_OTHER;
		trap->about_port = trap->about_port || trap->parts[i] == PART_PORT;
	}
	trap->n_parts = index->n;
}

static void trap_states_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	const struct yaml_node *states = reader_value(node, "states");
	if (!states)
		return;
	if (states->kind != YAML_MAP || states->n > PROFILE_TRAP_STATES || trap->at.n == 0) {
		reader_wrong_node(reader, states,
			"at most 8 values of 'at' and their words, such as { 1: enabled, 2: "
			"disabled }");
		return;
	}
	for (size_t i = 0; i < states->n; i++) {
		const struct yaml_item *item = &states->items[i];
		const struct yaml_node key = {
			.kind = YAML_TEXT, .line = item->line, .col = item->col, .text = item->key};
		if (item->value->kind != YAML_TEXT || !*item->value->text)
			reader_wrong_node(reader, item->value, "a word");
		else if (reader_number_at(
				 reader, &key, UINT32_MAX, &trap->states[trap->n_states].value))
			trap->states[trap->n_states++].word =
				arena_strdup(reader->a, item->value->text);
	}
}

static bool trap_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	static const char *const kinds[] = {"pfc_storm", "pfc_restore", "pfc_state"};
	if (!KEYS(reader, node, "a trap", "oid", "kind", "doc", "at", "index", "states",
		    "evidence"))
		return false;
	const char *kind = reader_text(reader, node, "kind", true),
		   *doc = reader_text(reader, node, "doc", true);
	const char *evidence = NULL;
	if (reader_value(node, "evidence"))
		evidence = reader_text(reader, node, "evidence", true);
	else
		reader_wrong(reader, node->line, node->col,
			"a trap without 'evidence': say where this was read or seen (MIB and "
			"revision, device and release)");
	if (!reader_value(node, "oid"))
		reader_wrong(reader, node->line, node->col, "'oid' is missing here");
	if (!kind || !doc || !evidence || !reader_value(node, "oid") ||
		!reader_oid(reader, reader_value(node, "oid"), &trap->oid))
		return false;
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			trap->kind = kinds[i];
	if (!trap->kind) {
		reader_wrong_node(reader, reader_value(node, "kind"),
			"one of pfc_storm pfc_restore pfc_state");
		return false;
	}
	if (reader_value(node, "at") && !reader_oid(reader, reader_value(node, "at"), &trap->at))
		return false;
	trap->doc = arena_strdup(reader->a, doc);
	trap->evidence = arena_strdup(reader->a, evidence);
	trap_index_read(reader, node, trap);
	trap_states_read(reader, node, trap);
	return true;
}

void profile_traps_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of traps");
		return;
	}
	reader->p->traps = arena_array(reader->a, struct profile_trap, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		struct profile_trap t = {0};
		if (trap_read(reader, node->items[i].value, &t))
			reader->p->traps[reader->p->n_traps++] = t;
	}
}
