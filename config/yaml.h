/*
 * yaml - our wrapper of libyaml: text to a small tree in an arena, every key and value with its
 * place. Scalars keep their raw text: what "10k" or "010" means is decided by the field that reads
 * it, never here.
 *
 * What a configuration does not need is refused with its place: anchors and aliases (a few lines of
 * them unfold to gigabytes, and nobody can say on which line a value stands), tags, merge keys,
 * several documents, keys that are not plain text. Duplicate keys are errors that name the first
 * line. Depth, nodes and bytes have named limits.
 */
#pragma once

#include "base/base.h"

enum {
	YAML_MAX_BYTES = 16 * 1024 * 1024,
	YAML_MAX_DEPTH = 32,
	/* 4,096 switches with every link written out, and half as much again; some 90 bytes each */
	YAML_MAX_NODES = 2500000,
};

enum yaml_kind {
	YAML_NULL, /* "key:" with nothing after it, or ~ */
	YAML_TEXT,
	YAML_LIST,
	YAML_MAP,
};

struct yaml_node {
	enum yaml_kind kind;
	int line, col; /* 1-based; col counts characters */
	const char *text; /* YAML_TEXT */
	bool quoted; /* '..' or ".." or a block */
	/* YAML_MAP and YAML_LIST */
	struct yaml_item *items;
	size_t n;
};

struct yaml_item {
	const char *key; /* NULL in a list */
	int line, col; /* of the key */
	const struct yaml_node *value;
};

/*
 * yaml_read - parse @n bytes at @text; @name stands for the file in messages. The tree lives in @a,
 * and copies what it needs. 0; -EINVAL with at least one error added to @errors. After duplicate
 * keys *ret is still set (the first value counts), so that the reader can go on and report the
 * other mistakes too; after a syntax error it is NULL. An empty document gives a YAML_NULL node.
 */
int yaml_read(const char *text, size_t n, const char *name, struct arena *a,
	const struct yaml_node **ret, struct err_list *errors);

/* yaml_get - the item of a map, or NULL. */
const struct yaml_item *yaml_get(const struct yaml_node *map, const char *key);

/* yaml_what - what was read, for messages: "a list", "a section of keys", "nothing", or the text in
 * quotes. Returns @buf. */
char *yaml_what(const struct yaml_node *node, char *buf, size_t size);
