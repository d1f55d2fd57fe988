/*
 * config_error - mistakes and warnings of one configuration while it is made, each with its file,
 * line and column. Inside of the config room only.
 *
 * A message names the key, what was read, and what is expected or to be done:
 * "interval is '5x'; expected a duration such as 10s (100ms to 1h)".
 */
#ifndef RW_CONFIG_ERROR_H
#define RW_CONFIG_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"
#include "config/yaml.h"

struct build { /* while one configuration is made */
	struct config *c;
	const char *name; /* of the file */
	enum config_mode mode;
	struct err_list *errors; /* of this configuration only */
	const struct yaml_node *root;
};

/* build_error - a mistake at a node (NULL: no place); build_warn - something that works, but
 * probably not as meant. */
void build_error(struct build *build, const struct yaml_node *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void build_warn(struct build *build, const struct yaml_node *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* build_at - the node of a key in a section, else the section itself: where a later check points
 * to. */
const struct yaml_node *build_at(const struct yaml_node *section, const char *key);

/* build_unknown - the key of @item is not one of @names; says the nearest one, else all of them.
 * @what is the kind of name: "key", "analyzer". */
void build_unknown(struct build *build, const struct yaml_item *item, const char *what,
	const char *const *names, size_t n);

/*
 * build_unknown_name - "@key: unknown @what '@name'; did you mean 'x'?", or @otherwise where no
 * name is near: "; expected one from 'devices:'".
 */
void build_unknown_name(struct build *build, const struct yaml_node *at, const char *key,
	const char *what, const char *name, const char *const *names, size_t n,
	const char *otherwise);

struct smap;
/* build_already_given - names are used once per @kind. True, and an error, when @name is in @seen
 * ("name" -> line); else it is from now on. */
bool build_already_given(struct build *build, struct smap *seen, const struct yaml_node *section,
	const char *kind, const char *name);

#endif
