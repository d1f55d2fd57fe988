/* profile_trap - the notifications that only one kind of switch sends. */
#include "config/profile/profile_reader.h"

#include <string.h>

static void trap_index_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	const struct yaml_node *index = reader_value(n, "index");
	if (!index)
		return;
	if (index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX ||
		t->at.n == 0) {
		reader_wrong_node(r, index,
			"a list of at most 8 parts such as [port, priority], of the instance of "
			"'at'");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		t->parts[i] = part->kind == YAML_TEXT ? reader_part(part->text) : PART_OTHER;
		t->about_port = t->about_port || t->parts[i] == PART_PORT;
	}
	t->n_parts = index->n;
}

static void trap_states_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	const struct yaml_node *states = reader_value(n, "states");
	if (!states)
		return;
	if (states->kind != YAML_MAP || states->n > PROFILE_TRAP_STATES || t->at.n == 0) {
		reader_wrong_node(r, states,
			"at most 8 values of 'at' and their words, such as { 1: enabled, 2: "
			"disabled }");
		return;
	}
	for (size_t i = 0; i < states->n; i++) {
		const struct yaml_item *item = &states->items[i];
		const struct yaml_node key = {
			.kind = YAML_TEXT, .line = item->line, .col = item->col, .text = item->key};
		if (item->value->kind != YAML_TEXT || !*item->value->text)
			reader_wrong_node(r, item->value, "a word");
		else if (reader_number_at(r, &key, UINT32_MAX, &t->states[t->n_states].value))
			t->states[t->n_states++].word = arena_strdup(r->a, item->value->text);
	}
}

static bool trap_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	static const char *const kinds[] = {"pfc_storm", "pfc_restore", "pfc_state"};
	if (!KEYS(r, n, "a trap", "oid", "kind", "doc", "at", "index", "states", "evidence"))
		return false;
	const char *kind = reader_text(r, n, "kind", true), *doc = reader_text(r, n, "doc", true),
		   *evidence =
			   reader_value(n, "evidence") ? reader_text(r, n, "evidence", true) : NULL;
	if (!reader_value(n, "evidence"))
		reader_wrong(r, n->line, n->col,
			"a trap without 'evidence': say where this was read or seen (MIB and "
			"revision, device and release)");
	if (!reader_value(n, "oid"))
		reader_wrong(r, n->line, n->col, "'oid' is missing here");
	if (!kind || !doc || !evidence || !reader_value(n, "oid") ||
		!reader_oid(r, reader_value(n, "oid"), &t->oid))
		return false;
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			t->kind = kinds[i];
	if (!t->kind) {
		reader_wrong_node(
			r, reader_value(n, "kind"), "one of pfc_storm pfc_restore pfc_state");
		return false;
	}
	if (reader_value(n, "at") && !reader_oid(r, reader_value(n, "at"), &t->at))
		return false;
	t->doc = arena_strdup(r->a, doc);
	t->evidence = arena_strdup(r->a, evidence);
	trap_index_read(r, n, t);
	trap_states_read(r, n, t);
	return true;
}

void profile_traps_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		reader_wrong_node(r, n, "a list of traps");
		return;
	}
	r->p->traps = arena_array(r->a, struct profile_trap, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		struct profile_trap t = {0};
		if (trap_read(r, n->items[i].value, &t))
			r->p->traps[r->p->n_traps++] = t;
	}
}
