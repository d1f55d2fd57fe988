/*
 * shape - how a struct is told: a table of its members beside the struct, from which come its JSON,
 * the columns of csv and of tables on a page, and its schema. The key is the name of the member, so
 * one word is found everywhere.
 *
 *   struct link_port {
 *           const char *device;
 *           double speed_bps; // NAN: not known
 *           const char **words;
 *           size_t n_words;
 *   };
 *
 *   #define SHAPE struct link_port
 *   static const struct field link_port_fields[] = {
 *           TEXT(device, "Switch.", .known = true, .head = "device"),
 *           NUMBER(speed_bps, UNIT_BITS_PER_S, "Speed.", .head = "speed"),
 *           TEXTS(words, "What stands out.", .head = "what"),
 *   };
 *   SHAPE_OF(link_port, "ReportPort", "A port that stands out.");
 *   #undef SHAPE
 *
 * A member of another type than its row says does not compile. What is not known is null: NULL,
 * NAN, COUNT_UNKNOWN, MAYBE_UNKNOWN, TIME_UNKNOWN. Tables are constants; nothing is owned here:
 * texts and rows are the answer's, which keeps them in one arena. Pure; any thread.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

/* ---- what a member may be ------------------------------------------------- */

enum field_kind {
	FIELD_TEXT, /* const char * */
	FIELD_NUMBER, /* double, with its unit */
	FIELD_COUNT, /* uint64_t or size_t */
	FIELD_FLAG, /* bool */
	FIELD_MAYBE, /* enum maybe */
	FIELD_TIME, /* wall_t */
	FIELD_TIME_NS, /* int64_t: wall time; 0 is not known where it may be left out */
	FIELD_NS, /* int64_t: the same as a number, for what only rocewatch reads */
	FIELD_PRIORITY, /* int; below 0: none */
	FIELD_LETTERS, /* char[]: a text in the struct itself */
	FIELD_HEX, /* uint64_t: a checksum, 16 digits */
	FIELD_WORD, /* an enum and the words of its values */
	FIELD_TEXTS, /* const char **x, size_t n_x */
	FIELD_NUMBERS, /* double *x, size_t n_x */
	FIELD_TIMES, /* wall_t *x, size_t n_x */
	FIELD_PART, /* a struct with a shape */
	FIELD_PART_AT, /* a pointer to one, or NULL */
	FIELD_ROWS, /* struct s *x, size_t n_x */
	FIELD_TREE, /* json_t *, of an answer that has no shape yet */
	FIELD_HIDDEN /* in no document */
};

/* The unit gives the column and the type in the schema. */
enum field_unit {
	UNIT_NONE,
	UNIT_COUNT, /* a whole number that is kept as a double */
	UNIT_RATIO,
	UNIT_BITS_PER_S,
	UNIT_BYTES_PER_S,
	UNIT_BYTES,
	UNIT_SECONDS,
	UNIT_USD,
	UNIT_QP /* a queue pair: 0x001004 in a table */
};

enum maybe { MAYBE_UNKNOWN, MAYBE_NO, MAYBE_YES };

#define COUNT_UNKNOWN UINT64_MAX
#define TIME_UNKNOWN ((wall_t){INT64_MIN})

/* maybe_of - a truth that is known. */
static inline enum maybe maybe_of(bool is)
{
	return is ? MAYBE_YES : MAYBE_NO;
}

/* count_or_unknown - of a count whose 0 says that nobody counted. */
static inline uint64_t count_or_unknown(uint64_t n)
{
	return n ? n : COUNT_UNKNOWN;
}

/* count_number - NAN where it is not known. */
static inline double count_number(uint64_t n)
{
	return n == COUNT_UNKNOWN ? NAN : (double)n;
}

struct shape;

struct field {
	const char *key;
	const char *about; /* one sentence of the schema */
	const char *head; /* of its column in csv, tables and pages; NULL: no column */
	const char
		*type; /* its name among the common types of the schema; NULL: by kind and unit */
	const struct shape *shape; /* of a part and of rows */
	const char *const *words; /* of an enum, by value */
	uint16_t n_words;
	uint16_t at, size; /* bytes in the struct */
	uint16_t count_at; /* of a list: where n_x is */
	uint16_t
		if_at; /* of a bool: the key is left out where it is false; 0: it is always there */
	enum field_kind kind : 8;
	enum field_unit unit : 8;
	bool known : 1; /* a text, number, time, pointer or tree that is never null */
	bool unknown : 1; /* a count, word or list that may be null */
	bool optional : 1; /* left out, where it would be null */
	bool list : 1; /* a tree: an array of .type */
	bool state : 1; /* OK, WARNING, CRITICAL and words like them: in colour on a page */
	bool derived : 1; /* follows from another row: not read back */
	bool taken : 1; /* read from documents of somebody else, and in none of its own */
	bool right : 1; /* a text that stands to the right, as numbers do */
};

struct shape {
	const char *name; /* in the schema: "ReportPort" */
	const char *about;
	const struct field *fields;
	size_t n_fields, size;
	bool common; /* several documents have it: it stands among the common types */
};

/* ---- rows of the table ----------------------------------------------------- */

/* The type is checked by the address of the member, for an array would pass as the pointer it
 * decays to. What follows begins with the sentence of the schema, a literal. */
#define SHAPE_FIELD(m, of, is, ...) SHAPE_FIELD_AS(#m, m, of, is, __VA_ARGS__)
#define SHAPE_FIELD_AS(name, m, of, is, ...)                                                       \
	{                                                                                          \
		.key = name, .kind = is, .size = sizeof(((SHAPE *)0)->m),                          \
		.at = _Generic(&((SHAPE *)0)->m, of                                                \
			       : offsetof(SHAPE, m)),                                              \
		.about = "" __VA_ARGS__                                                            \
	}
#define SHAPE_LIST(m, of, is, ...) SHAPE_LIST_AS(#m, m, n_##m, of, is, __VA_ARGS__)
#define SHAPE_LIST_AS(name, m, n, of, is, ...)                                                     \
	SHAPE_FIELD_AS(name, m, of, is, __VA_ARGS__,                                               \
		.count_at = _Generic(&((SHAPE *)0)->n, size_t *                                    \
				     : offsetof(SHAPE, n)))

#define TEXT(m, ...) SHAPE_FIELD(m, const char **, FIELD_TEXT, __VA_ARGS__)
/* A key that C keeps for itself: "do". */
#define TEXT_AS(name, m, ...) SHAPE_FIELD_AS(name, m, const char **, FIELD_TEXT, __VA_ARGS__)
/* What stands in the document under another name than in the struct: of a part in a part, of a
 * member with its unit. */
#define TEXTS_AS(name, m, n, ...)                                                                  \
	SHAPE_LIST_AS(name, m, n, const char ***, FIELD_TEXTS, __VA_ARGS__)
#define ROWS_AS(name, m, n, t, ...)                                                                \
	SHAPE_LIST_AS(name, m, n, struct t **, FIELD_ROWS, __VA_ARGS__, .shape = &t##_shape)
#define PART_AT_AS(name, m, t, ...)                                                                \
	SHAPE_FIELD_AS(name, m, struct t **, FIELD_PART_AT, __VA_ARGS__, .shape = &t##_shape)
#define NUMBER_AS(name, m, u, ...)                                                                 \
	SHAPE_FIELD_AS(name, m, double *, FIELD_NUMBER, __VA_ARGS__, .unit = u)
#define FLAG_AS(name, m, ...) SHAPE_FIELD_AS(name, m, bool *, FIELD_FLAG, __VA_ARGS__)
#define TREE_AS(name, m, named, ...)                                                               \
	SHAPE_FIELD_AS(name, m, json_t **, FIELD_TREE, __VA_ARGS__, .type = named)
#define WORD_AS(name, m, t, array, n, ...)                                                         \
	SHAPE_FIELD_AS(name, m, enum t *, FIELD_WORD, __VA_ARGS__, .words = array,                 \
		.n_words = (n) * sizeof(char[rw_countof(array) == (n) ? 1 : -1]))
#define TIME_NS(name, m, ...) SHAPE_FIELD_AS(name, m, int64_t *, FIELD_TIME_NS, __VA_ARGS__)
#define NS(m, ...) SHAPE_FIELD(m, int64_t *, FIELD_NS, __VA_ARGS__)
#define PRIORITY(m, ...) PRIORITY_AS(#m, m, __VA_ARGS__)
#define PRIORITY_AS(name, m, ...)                                                                  \
	SHAPE_FIELD_AS(name, m, int *, FIELD_PRIORITY, __VA_ARGS__, .type = "priority")
#define LETTERS(name, m, ...)                                                                      \
	SHAPE_FIELD_AS(name, m, char(*)[sizeof(((SHAPE *)0)->m)], FIELD_LETTERS, __VA_ARGS__)
#define HEX(name, m, ...) SHAPE_FIELD_AS(name, m, uint64_t *, FIELD_HEX, __VA_ARGS__)
#define NUMBER(m, u, ...) SHAPE_FIELD(m, double *, FIELD_NUMBER, __VA_ARGS__, .unit = u)
#define COUNT(m, ...) SHAPE_FIELD(m, uint64_t *, FIELD_COUNT, __VA_ARGS__)
#define FLAG(m, ...) SHAPE_FIELD(m, bool *, FIELD_FLAG, __VA_ARGS__)
#define MAYBE(m, ...) SHAPE_FIELD(m, enum maybe *, FIELD_MAYBE, __VA_ARGS__)
#define TIME(m, ...) SHAPE_FIELD(m, wall_t *, FIELD_TIME, __VA_ARGS__)
/* @array: the words of the enum @t, which has @n values. */
#define WORD(m, t, array, n, ...) WORD_AS(#m, m, t, array, n, __VA_ARGS__)
#define TEXTS(m, ...) SHAPE_LIST(m, const char ***, FIELD_TEXTS, __VA_ARGS__)
#define NUMBERS(m, ...) SHAPE_LIST(m, double **, FIELD_NUMBERS, __VA_ARGS__)
#define TIMES(m, ...) SHAPE_LIST(m, wall_t **, FIELD_TIMES, __VA_ARGS__)
/* @t names the struct and its shape: link_port for struct link_port and link_port_shape. */
#define PART(m, t, ...) SHAPE_FIELD(m, struct t *, FIELD_PART, __VA_ARGS__, .shape = &t##_shape)
#define PART_AT(m, t, ...)                                                                         \
	SHAPE_FIELD(m, struct t **, FIELD_PART_AT, __VA_ARGS__, .shape = &t##_shape)
#define ROWS(m, t, ...) SHAPE_LIST(m, struct t **, FIELD_ROWS, __VA_ARGS__, .shape = &t##_shape)
/* @named: its type among the common ones of the schema. */
#define TREE(m, named, ...) SHAPE_FIELD(m, json_t **, FIELD_TREE, __VA_ARGS__, .type = named)
/* Behind the sentence of a row: only where this bool of the struct, not its first member, holds. */
#define ONLY_IF(m) .if_at = _Generic(&((SHAPE *)0)->m, bool * : offsetof(SHAPE, m))
#define HIDDEN(m)                                                                                  \
	{                                                                                          \
		.key = #m, .kind = FIELD_HIDDEN, .size = sizeof(((SHAPE *)0)->m),                  \
		.at = offsetof(SHAPE, m), .about = "",                                             \
	}

/* SHAPE_OF - the shape of struct @t from t_fields[]: t_shape, which its header declares. */
#define SHAPE_OF(t, named, ...)                                                                    \
	const struct shape t##_shape = {.name = named,                                             \
		.fields = t##_fields,                                                              \
		.n_fields = rw_countof(t##_fields),                                                \
		.size = sizeof(struct t),                                                          \
		.about = "" __VA_ARGS__}

/* ---- tables ------------------------------------------------------------------ */

/* Columns in an order and with headings of their own. */
struct shown {
	uint16_t at;
	const char *head;
	bool plain;
};
#define COLUMN(m, heading)                                                                         \
	{                                                                                          \
		.at = offsetof(SHAPE, m), .head = heading                                          \
	}
/* The key as the heading, and the value as programs read it, on a page too. */
#define PLAIN(m)                                                                                   \
	{                                                                                          \
		.at = offsetof(SHAPE, m), .plain = true                                            \
	}
struct shape_table {
	const struct shape *shape; /* of a row */
	const struct shown *shown; /* NULL: each field that has .head, in order of the struct */
	size_t n;
};
/* A column as it is printed. */
struct shape_column {
	const struct field *field;
	const char *head;
	bool right;
	bool plain; /* without unit */
};

/* shape_table_columns - how many; they are written to @ret when it is not NULL. */
size_t shape_table_columns(const struct shape_table *table, struct shape_column *ret);
/* shape_add_cell - a member of @row as column_add_cell() writes it: for people or for programs. */
void shape_add_cell(struct str *out, const void *row, const struct field *field, bool pretty);
/* shape_add_column - the same, as the column says. */
void shape_add_column(
	struct str *out, const void *row, const struct shape_column *column, bool pretty);
/* shape_row_at - row @i of an array of structs. */
static inline const void *shape_row_at(const struct shape *shape, const void *rows, size_t i)
{
	return (const char *)rows + i * shape->size;
}

/* ---- documents -------------------------------------------------------------------- */

/* shape_json - the document of @answer; the caller owns it. Trees in it are shared. */
json_t *shape_json(const struct shape *shape, const void *answer);
/* shape_put - the same keys into an object that has others. */
void shape_put(json_t *object, const struct shape *shape, const void *answer);
/* shape_rows_json - an array of documents. */
json_t *shape_rows_json(const struct shape *shape, const void *rows, size_t n);

/* shape_add - shape_put() as text (json_add_text()): into an object that is open at the end of
 * @out. shape_add_rows - shape_rows_json() as its member @key. */
void shape_add(struct str *out, const struct shape *shape, const void *answer);
void shape_add_rows(
	struct str *out, const char *key, const struct shape *shape, const void *rows, size_t n);

/* shape_read - the other direction: fills @ret from @object, a document of anybody. What it does
 * not say, or says as another kind of value, is not known; a list that is missing is empty, a word
 * that is none of the enum's is the number of words. Texts, lists and parts are in @a; trees are
 * lent by @object. Members that no row tells stay as they are. */
void shape_read(const struct shape *shape, const json_t *object, struct arena *a, void *ret);
/* shape_read_new - the same into a struct of its own in @a. */
void *shape_read_new(const struct shape *shape, const json_t *object, struct arena *a);

/* ---- the schema --------------------------------------------------------------------- */

/* shape_schema - adds the keys of @shape to @schema, a JSON schema of an object, which gets
 * "properties" and "required" where it has none. A type is referred to by "#/$defs/" or, where it
 * is common, by @common before that ("" in the common file itself). */
void shape_schema(json_t *schema, const struct shape *shape, const char *common);
/* shape_schema_types - adds the types of parts and rows below @shape to @own and @shared, the
 * "$defs" of the document and of the common file. Either may be NULL. */
void shape_schema_types(json_t *own, json_t *shared, const struct shape *shape, const char *common);

/* shape_check - what the compiler cannot see, a line each: two fields of one key, and eight bytes
 * in a row that no field tells or hides. For tests. True: nothing. */
bool shape_check(const struct shape *shape, struct str *out);
