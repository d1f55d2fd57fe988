/*
 * schema_rows - macros that write one row of a section of rocewatch.yaml. For schema.c and the
 * files that hold a large section of their own (schema_alerts.c).
 *
 * T is the tree_* struct of the section, member where the value goes, key the name in the file:
 *
 *   VALUE     one value: type, default, least, greatest (as text, NULL = none), prose
 *   TEXT      a text without default
 *   CHOICE    one of a list of words
 *   LIST      a list of texts
 *   SECTION   keys of another section, which is optional
 *   SECTIONS  a list of sections, or sections by name
 *   SECRET    three rows, of which a file may use one
 *   REFUSED   a key that is never allowed; says what to write instead
 *   TABLE     the rows of a section become the section
 */
#ifndef RW_CONFIG_SCHEMA_ROWS_H
#define RW_CONFIG_SCHEMA_ROWS_H

#include <stddef.h>
#include "agent/base/cleanup.h"
#include "config/schema.h"
#include "config/schema_check.h"

#define VALUE(T, member, key, opt_type, def_, min_, max_, doc_, ...)                               \
	{                                                                                          \
		.kind = FIELD_VALUE,                                                               \
		.option = {.name = key,                                                            \
			.type = opt_type,                                                          \
			.offset = offsetof(struct T, member),                                      \
			.def = def_,                                                               \
			.min = min_,                                                               \
			.max = max_,                                                               \
			.doc = doc_},                                                              \
		__VA_ARGS__                                                                        \
	}
#define TEXT(T, member, key, doc_, ...)                                                            \
	VALUE(T, member, key, OPT_STRING, NULL, NULL, NULL, doc_, __VA_ARGS__)
#define CHOICE(T, member, key, names, def_, doc_, ...)                                             \
	{                                                                                          \
		.kind = FIELD_VALUE,                                                               \
		.option = {.name = key,                                                            \
			.type = OPT_ENUM,                                                          \
			.offset = offsetof(struct T, member),                                      \
			.def = def_,                                                               \
			.choices = names,                                                          \
			.doc = doc_},                                                              \
		__VA_ARGS__                                                                        \
	}
#define LIST(T, member, key, check_, doc_, ...)                                                    \
	{                                                                                          \
		.kind = FIELD_VALUES,                                                              \
		.option = {.name = key,                                                            \
			.type = OPT_STRING,                                                        \
			.offset = offsetof(struct T, member),                                      \
			.doc = doc_},                                                              \
		.check = check_, __VA_ARGS__                                                       \
	}
#define SECTION(T, member, key, s)                                                                 \
	{                                                                                          \
		.kind = FIELD_SECTION,                                                             \
		.option = {.name = key, .offset = offsetof(struct T, member)}, .section = &s       \
	}
#define SECTIONS(kind_, T, member, key, s, ...)                                                    \
	{                                                                                          \
		.kind = kind_, .option = {.name = key, .offset = offsetof(struct T, member)},      \
		.section = &s, __VA_ARGS__                                                         \
	}
#define REFUSED(key, instead)                                                                      \
	{                                                                                          \
		.kind = FIELD_REFUSED, .option = {.name = key, .doc = instead }                    \
	}
#define TABLE(name, T, rows, doc_)                                                                 \
	static const struct section name = {.size = sizeof(struct T),                              \
		.fields = rows,                                                                    \
		.n_fields = rw_countof(rows),                                                      \
		.doc = doc_}

/* A secret is three keys, of which one may be given. */
#define SECRET(T, member, key, what)                                                               \
	TEXT(T, member.file, key "_file",                                                          \
		what                                                                               \
		": a file whose first line it is, mode 0600. Read when it is needed, not before.", \
		.check = schema_check_text),                                                       \
		TEXT(T, member.env, key "_env",                                                    \
			what ": the name of an environment variable of the agent.",                \
			.check = schema_check_name),                                               \
		TEXT(T, member.credential, key "_credential",                                      \
			what ": the name of a systemd credential (LoadCredential= in the unit).",  \
			.check = schema_check_name)
#define NEVER_INLINE(key)                                                                          \
	REFUSED(key,                                                                               \
		"a secret is never written into the configuration; use '" key                      \
		"_file: PATH', '" key "_env: VARIABLE' or '" key "_credential: NAME'")

#endif
