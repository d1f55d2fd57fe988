/* yaml - reads a YAML text into nodes with their places. Built on libyaml's events: its own
 * document loader resolves aliases and drops the places of keys. */
#include "config/yaml.h"

#include <yaml.h>

struct yaml_level { /* one open list or map */
	struct yaml_node *node;
	size_t cap;
	struct yaml_item key; /* waiting for its value; key.key NULL = none */
	struct smap *seen; /* key -> index, once a map is wide */
};

struct yaml_reader {
	yaml_parser_t parser;
	const char *name, *text;
	size_t n_text;
	struct arena *arena;
	struct err_list *errors;
	struct yaml_level stack[YAML_MAX_DEPTH];
	int depth;
	size_t n_nodes;
	struct yaml_node *root;
	size_t n_mistakes;
};

/* Below this width a scan is quicker than a hash, above it a scan would be quadratic in a hostile
 * file. */
enum { WIDE_MAP = 16 };
enum { MAX_MISTAKES = 100 };

static const struct yaml_node null_node = {.kind = YAML_NULL};

__attribute__((format(printf, 4, 5))) static int yaml_mistake(
	struct yaml_reader *reader, int line, int col, const char *fmt, ...)
{
	char text[sizeof(((struct err *)0)->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct err e = {0};
	err_at(&e, -EINVAL, reader->name, line, col, "%s", text);
	if (reader->n_mistakes++ < MAX_MISTAKES)
		err_list_add(reader->errors, &e);
	return -EINVAL;
}

static int at_line(const yaml_mark_t *mark)
{
	return (int)mark->line + 1;
}
static int at_col(const yaml_mark_t *mark)
{
	return (int)mark->column + 1;
}

/* Does line @line (1-based) have a tab in its indentation? libyaml's own message for this teaches
 * nobody. */
static bool tab_indented(const struct yaml_reader *reader, int line, int *ret_col)
{
	const char *p = reader->text, *end = reader->text + reader->n_text;
	for (int i = 1; i < line && p < end; i++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
		p++;
	}
	for (int col = 1; p < end && (*p == ' ' || *p == '\t' || *p == '-'); p++, col++)
		if (*p == '\t') {
			*ret_col = col;
			return true;
		}
	return false;
}

/* libyaml's message, in plain words where the cause is a common one. */
static int syntax_error(struct yaml_reader *reader)
{
	const yaml_parser_t *p = &reader->parser;
	int line = at_line(&p->problem_mark), col = at_col(&p->problem_mark), tab_col;
	const char *problem = str_or(p->problem, "unreadable");

	if (p->error == YAML_READER_ERROR) {
		/* The reader knows the byte, not the line. */
		line = 1;
		size_t offset = reader->n_text;
		if (p->problem_offset < reader->n_text)
			offset = p->problem_offset;
		const char *start = reader->text;
		for (size_t i = 0; i < offset; i++)
			if (reader->text[i] == '\n') {
				line++;
				start = reader->text + i + 1;
			}
		return yaml_mistake(reader, line, (int)(reader->text + offset - start) + 1,
			"not a text file in UTF-8: %s", problem);
	}
	if (p->error == YAML_MEMORY_ERROR)
		return yaml_mistake(reader, 0, 0, "not enough memory to read it");
	if (tab_indented(reader, line, &tab_col))
		return yaml_mistake(reader, line, tab_col,
			"a tab in the indentation; expected spaces, YAML allows no tabs there");
	if (strstr(problem, "mapping values are not allowed"))
		return yaml_mistake(reader, line, col,
			"not YAML: a second ': ' in this line, or a wrong indentation; put a text "
			"with ': ' in quotes");
	if (strstr(problem, "could not find expected ':'"))
		return yaml_mistake(reader, line, col,
			"not YAML: expected 'key: value'; a ':' is missing here or in the line "
			"before");
	if (strstr(problem, "did not find expected"))
		return yaml_mistake(reader, line, col,
			"not YAML: %s%s%s; check the indentation, brackets and quotes above",
			problem, str_if(p->context, " "), str_or(p->context, ""));
	return yaml_mistake(reader, line, col, "not YAML: %s%s%s", problem, str_if(p->context, " "),
		str_or(p->context, ""));
}

static bool is_null(const yaml_event_t *ev)
{
	const char *s = (const char *)ev->data.scalar.value;
	if (ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	return !*s || strcmp(s, "~") == 0 || strcmp(s, "null") == 0;
}

static struct yaml_node *node_new(
	struct yaml_reader *reader, const yaml_event_t *ev, enum yaml_kind kind)
{
	struct yaml_node *n = arena_new_of(reader->arena, struct yaml_node);
	n->kind = kind;
	n->line = at_line(&ev->start_mark);
	n->col = at_col(&ev->start_mark);
	return n;
}

/* The first item with this key, or NULL. Turns to a hash when the map is wide. */
static const struct yaml_item *find_seen(struct yaml_level *level, const char *key)
{
	uint64_t at;
	if (level->seen) {
		if (smap_get(level->seen, key, strlen(key), &at))
			return &level->node->items[at];
		return NULL;
	}
	return yaml_get(level->node, key);
}

static void push_item(struct yaml_reader *reader, struct yaml_level *level, struct yaml_item item)
{
	struct yaml_node *n = level->node;
	arena_grow(reader->arena, n->items, n->n, level->cap);
	n->items[n->n++] = item;
	if (n->kind != YAML_MAP)
		return;
	if (level->seen) {
		smap_put(level->seen, item.key, strlen(item.key), n->n - 1);
	} else if (n->n > WIDE_MAP) {
		level->seen = smap_new();
		for (size_t i = 0; i < n->n; i++)
			smap_put(level->seen, n->items[i].key, strlen(n->items[i].key), i);
	}
}

/* A finished or just opened node takes its place in the open level. */
static int yaml_attach(struct yaml_reader *reader, struct yaml_node *node)
{
	if (reader->depth == 0) {
		reader->root = node;
		return 0;
	}
	struct yaml_level *l = &reader->stack[reader->depth - 1];
	if (l->node->kind == YAML_LIST) {
		push_item(reader, l,
			(struct yaml_item){.line = node->line, .col = node->col, .value = node});
		return 0;
	}
	if (!l->key.key) { /* this node is a key */
		if (node->kind != YAML_TEXT)
			return yaml_mistake(reader, node->line, node->col,
				"expected a key (plain text) before the ':'");
		if (strcmp(node->text, "<<") == 0 && !node->quoted)
			return yaml_mistake(reader, node->line, node->col,
				"merge keys ('<<') are not supported; write the values out");
		l->key =
			(struct yaml_item){.key = node->text, .line = node->line, .col = node->col};
		return 0;
	}
	struct yaml_item item = l->key;
	l->key.key = NULL;
	item.value = node;
	const struct yaml_item *first = find_seen(l, item.key);
	if (first)
		yaml_mistake(reader, item.line, item.col,
			"key '%.64s' is already given in line %d; remove one of them", item.key,
			first->line);
	else
		push_item(reader, l, item);
	return 0;
}

static int open_level(struct yaml_reader *reader, const yaml_event_t *ev, enum yaml_kind kind)
{
	struct yaml_node *n = node_new(reader, ev, kind);
	if (reader->depth == YAML_MAX_DEPTH)
		return yaml_mistake(
			reader, n->line, n->col, "nested deeper than %d levels", YAML_MAX_DEPTH);
	int err = yaml_attach(reader, n);
	if (err < 0)
		return err;
	reader->stack[reader->depth++] = (struct yaml_level){.node = n};
	return 0;
}

static void close_level(struct yaml_reader *reader)
{
	smap_free(reader->stack[--reader->depth].seen);
	reader->stack[reader->depth].seen = NULL;
}

static int take_scalar(struct yaml_reader *reader, const yaml_event_t *ev)
{
	struct yaml_node *n = node_new(reader, ev, is_null(ev) ? YAML_NULL : YAML_TEXT);
	if (strlen((const char *)ev->data.scalar.value) != ev->data.scalar.length)
		return yaml_mistake(reader, n->line, n->col, "a text with a NUL character in it");
	n->text = arena_strndup(
		reader->arena, (const char *)ev->data.scalar.value, ev->data.scalar.length);
	n->quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return yaml_attach(reader, n);
}

static int refuse_extras(struct yaml_reader *reader, const yaml_event_t *ev,
	const yaml_char_t *anchor, const yaml_char_t *tag)
{
	int line = at_line(&ev->start_mark), col = at_col(&ev->start_mark);
	if (anchor)
		return yaml_mistake(reader, line, col,
			"anchors ('&%.64s') are not supported; write the value out where it is "
			"needed",
			(const char *)anchor);
	if (tag)
		return yaml_mistake(reader, line, col,
			"tags ('%.64s') are not supported; the field's type is known",
			(const char *)tag);
	return 0;
}

/* One event. 1 = go on, 0 = the end, negative = give up. */
static int take_event(struct yaml_reader *reader, const yaml_event_t *ev)
{
	int err = 0;
	if (++reader->n_nodes > YAML_MAX_NODES)
		return yaml_mistake(reader, at_line(&ev->start_mark), at_col(&ev->start_mark),
			"more than %d values in one file", YAML_MAX_NODES);

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (reader->root)
			err = yaml_mistake(reader, at_line(&ev->start_mark),
				at_col(&ev->start_mark),
				"a second document ('---'); expected one per file");
		break;
	case YAML_ALIAS_EVENT:
		err = yaml_mistake(reader, at_line(&ev->start_mark), at_col(&ev->start_mark),
			"aliases ('*%.64s') are not supported; write the value out where it is "
			"needed",
			(const char *)ev->data.alias.anchor);
		break;
	case YAML_SCALAR_EVENT:
		err = refuse_extras(reader, ev, ev->data.scalar.anchor, ev->data.scalar.tag);
		if (err == 0)
			err = take_scalar(reader, ev);
		break;
	case YAML_SEQUENCE_START_EVENT:
		err = refuse_extras(
			reader, ev, ev->data.sequence_start.anchor, ev->data.sequence_start.tag);
		if (err == 0)
			err = open_level(reader, ev, YAML_LIST);
		break;
	case YAML_MAPPING_START_EVENT:
		err = refuse_extras(
			reader, ev, ev->data.mapping_start.anchor, ev->data.mapping_start.tag);
		if (err == 0)
			err = open_level(reader, ev, YAML_MAP);
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: close_level(reader); break;
	case YAML_STREAM_END_EVENT: return 0;
	default: break;
	}
	if (err < 0)
		return err;
	return 1;
}

int yaml_read(const char *text, size_t n, const char *name, struct arena *a,
	const struct yaml_node **ret, struct err_list *errors)
{
	struct yaml_reader r = {
		.name = name, .text = text, .n_text = n, .arena = a, .errors = errors};
	int err;

	*ret = NULL;
	if (n > YAML_MAX_BYTES)
		return yaml_mistake(&r, 0, 0, "is larger than the %d MiB a configuration may have",
			YAML_MAX_BYTES / 1024 / 1024);
	if (!yaml_parser_initialize(&r.parser))
		return yaml_mistake(&r, 0, 0, "not enough memory to read it");
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
	do {
		yaml_event_t ev;
		if (!yaml_parser_parse(&r.parser, &ev)) {
			err = syntax_error(&r);
			break;
		}
		err = take_event(&r, &ev);
		yaml_event_delete(&ev);
	} while (err > 0);
	while (r.depth > 0)
		close_level(&r);
	yaml_parser_delete(&r.parser);
	if (err < 0)
		return err;
	if (r.root)
		*ret = r.root;
	else
		*ret = &null_node;
	if (r.n_mistakes)
		return -EINVAL;
	return 0;
}

const struct yaml_item *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->items[i].key, key) == 0)
			return &map->items[i];
	return NULL;
}

char *yaml_what(const struct yaml_node *node, char *buf, size_t size)
{
	switch (node->kind) {
	case YAML_NULL: snprintf(buf, size, "nothing"); break;
	case YAML_TEXT: snprintf(buf, size, "'%.64s'", node->text); break;
	case YAML_LIST: snprintf(buf, size, "a list"); break;
	case YAML_MAP: snprintf(buf, size, "a section of keys"); break;
	}
	return buf;
}
