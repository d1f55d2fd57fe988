/* profile_evidence - reads the words of profile_evidence.h. */
#include "config/profile/profile_evidence.h"

#include "config/profile/profile_reader.h"

static const char *const kinds[] = {
	[EVIDENCE_DOCUMENT] = "document",
	[EVIDENCE_MOCK] = "mock",
	[EVIDENCE_RECORDED] = "recorded",
};

const char *evidence_kind_name(enum evidence_kind kind)
{
	if ((size_t)kind < rw_countof(kinds))
		return kinds[kind];
	return "?";
}

/* "KIND" or "KIND: where from" */
static bool evidence_parse(struct reader *reader, const char *text, struct profile_evidence *ret)
{
	const size_t n = strcspn(text, ":");
	for (size_t i = 0; i < rw_countof(kinds); i++) {
		if (strlen(kinds[i]) != n || strncmp(text, kinds[i], n) != 0)
			continue;
		const char *source = text + n + strspn(text + n, ": ");
		*ret = (struct profile_evidence){.kind = (enum evidence_kind)i};
		if (*source)
			ret->source = arena_strdup(reader->a, source);
		return true;
	}
	return false;
}

static struct profile_evidence evidence_at(
	struct reader *reader, const struct yaml_node *node, struct profile_evidence otherwise)
{
	struct profile_evidence evidence = otherwise;
	if (node->kind != YAML_TEXT || !evidence_parse(reader, node->text, &evidence))
		reader_wrong_node(
			reader, node, "recorded, mock or document, and behind a colon where from");
	return evidence;
}

struct profile_evidence reader_evidence(
	struct reader *reader, const struct yaml_node *map, struct profile_evidence otherwise)
{
	const struct yaml_node *node = reader_value(map, "evidence");
	if (node)
		return evidence_at(reader, node, otherwise);
	return otherwise;
}

void reader_inherited(
	struct reader *reader, const struct yaml_node *map, struct profile_inherited *ret)
{
	const struct yaml_node *node = reader_value(map, "inherited");
	*ret = (struct profile_inherited){0};
	if (!node)
		return;
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node,
			"tables of the extended profile and how they are known, such as "
			"{ interfaces: recorded }");
		return;
	}
	ret->names = arena_array(reader->a, const char *, node->n + 1);
	ret->lines = arena_array(reader->a, int, node->n + 1);
	ret->v = arena_array(reader->a, struct profile_evidence, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		ret->names[i] = arena_strdup(reader->a, node->items[i].key);
		ret->lines[i] = node->items[i].line;
		ret->v[i] = evidence_at(reader, node->items[i].value, (struct profile_evidence){0});
	}
	ret->n = node->n;
}

struct profile_evidence profile_inherited_evidence(
	const struct profile_inherited *inherited, const char *name)
{
	for (size_t i = 0; i < inherited->n; i++)
		if (strcmp(inherited->names[i], name) == 0)
			return inherited->v[i];
	return (struct profile_evidence){0};
}
