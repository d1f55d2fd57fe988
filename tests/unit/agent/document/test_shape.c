/* shape: each kind of member in JSON, in a cell and in the schema; what is not known; tables of an
 * order of their own; members that no field tells. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/shape.h"

enum light { DARK, BRIGHT, LIGHTS };
static const char *const light_words[] = {[DARK] = "dark", [BRIGHT] = "bright"};

struct lamp {
	const char *name;
	double watts;
};
#define SHAPE struct lamp
static const struct field lamp_fields[] = {
	TEXT(name, "Name.", .known = true, .head = "lamp"),
	NUMBER(watts, UNIT_NONE, "Power.", .head = "W"),
};
static struct shape lamp_shape = {
	.name = "Lamp",
	.about = "A lamp.",
	.fields = lamp_fields,
	.n_fields = rw_countof(lamp_fields),
	.size = sizeof(struct lamp),
};
#undef SHAPE

struct room {
	const char *name;
	double share, speed, size, wait, price, whole, plain;
	uint64_t doors, pair;
	bool open;
	enum maybe locked;
	wall_t built;
	enum light light;
	const char **words;
	size_t n_words;
	double *values;
	size_t n_values;
	wall_t *times;
	size_t n_times;
	struct lamp lamp, *spare, *lamps;
	size_t n_lamps;
	json_t *tree;
	const char *note;
	void *inner;
};
#define SHAPE struct room
static const struct field room_fields[] = {
	TEXT(name, "Name.", .known = true, .head = "room"),
	NUMBER(share, UNIT_RATIO, "Share.", .head = "share"),
	NUMBER(speed, UNIT_BITS_PER_S, "Speed.", .head = "speed"),
	NUMBER(size, UNIT_BYTES, "Size.", .head = "size"),
	NUMBER(wait, UNIT_SECONDS, "Wait.", .head = "wait"),
	NUMBER(price, UNIT_USD, "Price.", .head = "price"),
	NUMBER(whole, UNIT_COUNT, "Counted.", .head = "whole"),
	NUMBER(plain, UNIT_NONE, "Plain.", .head = "plain", .known = true),
	COUNT(doors, "Doors.", .head = "doors", .unknown = true),
	COUNT(pair, "Pair.", .head = "pair", .unit = UNIT_QP),
	FLAG(open, "Is it open?", .head = "open"),
	MAYBE(locked, "Is it locked?", .head = "locked"),
	TIME(built, "When.", .head = "built"),
	WORD(light, light, light_words, LIGHTS, "Light.", .head = "light", .state = true),
	TEXTS(words, "Words.", .head = "words"),
	NUMBERS(values, "Values.", .unknown = true),
	TIMES(times, "Times."),
	PART(lamp, lamp, "Its lamp."),
	PART_AT(spare, lamp, "The spare one."),
	ROWS(lamps, lamp, "All."),
	TREE(tree, "Tree", "A tree.", .list = true, .known = true),
	TEXT(note, "Note.", .optional = true),
	HIDDEN(inner),
};
SHAPE_OF(room, "Room", "A room.");
static const struct shown room_shown[] = {COLUMN(doors, "DOORS"), COLUMN(name, NULL)};
#undef SHAPE

static const struct shape_table all_columns = {.shape = &room_shape};
static const struct shape_table two_columns = {
	.shape = &room_shape, .shown = room_shown, .n = rw_countof(room_shown)};

static struct room *full_room(void)
{
	static const char *words[] = {"a", "b, c"};
	static double values[] = {0.5, NAN};
	static wall_t times[] = {{1000000}, {0}};
	static struct lamp lamps[] = {{"one", 5}, {"two", NAN}};
	static struct room room;
	room = (struct room){
		.name = "cellar",
		.share = 0.25,
		.speed = 4e11,
		.size = 2e6,
		.wait = 90,
		.price = 3.5,
		.whole = 22400,
		.plain = 0.125,
		.doors = 3,
		.pair = 0x1004,
		.open = true,
		.locked = MAYBE_NO,
		.built = {1700000000000000000},
		.light = BRIGHT,
		.words = words,
		.n_words = 2,
		.values = values,
		.n_values = 2,
		.times = times,
		.n_times = 2,
		.lamp = {"main", 40},
		.spare = &lamps[0],
		.lamps = lamps,
		.n_lamps = 2,
		.note = "seen",
	};
	return &room;
}

static struct room *empty_room(void)
{
	static struct room room;
	room = (struct room){
		.share = NAN,
		.speed = NAN,
		.size = NAN,
		.wait = NAN,
		.price = NAN,
		.whole = NAN,
		.plain = NAN,
		.doors = COUNT_UNKNOWN,
		.built = TIME_UNKNOWN,
		.light = LIGHTS,
		.lamp = {NULL, NAN},
	};
	return &room;
}

static void expect_json(json_t *got, const char *want)
{
	json_t *wanted = json_loads(want, JSON_DECODE_ANY, NULL);
	assert_non_null(wanted);
	rw_cleanup(freep) char *text =
		json_dumps(got, JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
	rw_cleanup(freep) char *same =
		json_dumps(wanted, JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
	assert_string_equal(text, same);
	json_decref(wanted);
	json_decref(got);
}

/* As text it is the same. */
static void expect_text(const struct room *room)
{
	rw_cleanup(str_done) struct str out = {0};
	json_t *tree = json_pack("[o]", shape_json(&room_shape, room));
	rw_cleanup(freep) char *want = json_dumps(json_array_get(tree, 0), JSON_COMPACT);
	json_decref(tree);
	shape_add_rows(&out, NULL, &room_shape, room, 1);
	assert_int_equal(out.n, strlen(want) + 2);
	assert_memory_equal(out.s + 1, want, strlen(want));
}

/* The order of the keys is the order of the rows: both texts are compared, not both objects. */
static void test_json(void **state)
{
	struct room *room = full_room();
	room->tree = json_pack("[i]", 7);
	expect_json(shape_json(&room_shape, room),
		"{\"name\": \"cellar\", \"share\": 0.25, \"speed\": 4e11, \"size\": 2e6, "
		"\"wait\": 90.0, \"price\": 3.5, \"whole\": 22400.0, \"plain\": 0.125, "
		"\"doors\": 3, \"pair\": 4100, \"open\": true, \"locked\": false, "
		"\"built\": \"2023-11-14T22:13:20.000Z\", \"light\": \"bright\", "
		"\"words\": [\"a\", \"b, c\"], \"values\": [0.5, null], "
		"\"times\": [\"1970-01-01T00:00:00.001Z\", \"1970-01-01T00:00:00.000Z\"], "
		"\"lamp\": {\"name\": \"main\", \"watts\": 40.0}, "
		"\"spare\": {\"name\": \"one\", \"watts\": 5.0}, "
		"\"lamps\": [{\"name\": \"one\", \"watts\": 5.0}, "
		"{\"name\": \"two\", \"watts\": null}], \"tree\": [7], \"note\": \"seen\"}");
	expect_text(room);
	json_decref(room->tree);
}

static void test_unknown(void **state)
{
	expect_json(shape_json(&room_shape, empty_room()),
		"{\"name\": null, \"share\": null, \"speed\": null, \"size\": null, "
		"\"wait\": null, \"price\": null, \"whole\": null, \"plain\": null, "
		"\"doors\": null, \"pair\": 0, \"open\": false, \"locked\": null, "
		"\"built\": null, \"light\": null, \"words\": [], \"values\": null, "
		"\"times\": [], \"lamp\": {\"name\": null, \"watts\": null}, "
		"\"spare\": null, \"lamps\": [], \"tree\": null}");
	expect_text(empty_room());
}

static void expect_cells(
	const struct shape_table *table, const void *row, bool pretty, const char *want)
{
	struct shape_column columns[32];
	rw_cleanup(str_done) struct str all = {0};
	const size_t n = shape_table_columns(table, columns);
	assert_true(n <= rw_countof(columns));
	assert_int_equal(shape_table_columns(table, NULL), n);
	for (size_t i = 0; i < n; i++) {
		rw_cleanup(str_done) struct str cell = {0};
		shape_add_cell(&cell, row, columns[i].field, pretty);
		str_addf(&all, "%s%s=%s", str_if(i > 0, "|"), columns[i].head, cell.s);
	}
	assert_string_equal(all.s, want);
}

static void test_cells(void **state)
{
	expect_cells(&all_columns, full_room(), false,
		"room=cellar|share=0.25|speed=400000000000|size=2000000|wait=90|price=3.5|"
		"whole=22400|plain=0.125|doors=3|pair=4100|open=true|locked=false|"
		"built=2023-11-14T22:13:20.000Z|light=bright|words=a,b, c");
	expect_cells(&all_columns, full_room(), true,
		"room=cellar|share=25.0 %|speed=400 Gbit/s|size=2 MB|wait=1m30s|price=$3.50|"
		"whole=22400|plain=0.125|doors=3|pair=0x001004|open=yes|locked=no|"
		"built=2023-11-14 22:13:20Z|light=bright|words=a,b, c");
	expect_cells(&all_columns, empty_room(), true,
		"room=-|share=-|speed=-|size=-|wait=-|price=-|whole=-|plain=-|doors=-|"
		"pair=0x000000|open=no|locked=-|built=-|light=-|words=-");
	expect_cells(&two_columns, full_room(), true, "DOORS=3|name=cellar");
}

static void test_sides(void **state)
{
	struct shape_column columns[32];
	shape_table_columns(&all_columns, columns);
	assert_false(columns[0].right); /* a text */
	assert_true(columns[1].right); /* a number */
	assert_false(columns[12].right); /* a time */
	assert_false(columns[13].right); /* a state */
}

static const char *type_of(const json_t *schema, const char *key)
{
	static char text[400];
	const json_t *type = json_object_get(json_object_get(schema, "properties"), key);
	rw_cleanup(freep) char *all = json_dumps(type, JSON_COMPACT);
	snprintf(text, sizeof(text), "%s", str_or(all, "none"));
	return text;
}

static void test_schema(void **state)
{
	static const struct {
		const char *key, *type;
	} rows[] = {
		{"name", "{\"type\":\"string\",\"description\":\"Name.\"}"},
		{"share",
			"{\"anyOf\":[{\"$ref\":\"common#/$defs/ratio\"},{\"type\":\"null\"}],"
			"\"description\":\"Share.\"}"},
		{"plain", "{\"type\":\"number\",\"description\":\"Plain.\"}"},
		{"whole", "{\"type\":[\"number\",\"null\"],\"description\":\"Counted.\"}"},
		{"doors",
			"{\"type\":[\"integer\",\"null\"],\"minimum\":0,"
			"\"description\":\"Doors.\"}"},
		{"pair", "{\"type\":\"integer\",\"minimum\":0,\"description\":\"Pair.\"}"},
		{"open", "{\"type\":\"boolean\",\"description\":\"Is it open?\"}"},
		{"locked", "{\"type\":[\"boolean\",\"null\"],\"description\":\"Is it locked?\"}"},
		{"built",
			"{\"anyOf\":[{\"$ref\":\"common#/$defs/time\"},{\"type\":\"null\"}],"
			"\"description\":\"When.\"}"},
		{"words",
			"{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
			"\"description\":\"Words.\"}"},
		{"values",
			"{\"type\":[\"array\",\"null\"],\"items\":{\"type\":[\"number\","
			"\"null\"]},\"description\":\"Values.\"}"},
		{"times",
			"{\"type\":\"array\",\"items\":{\"$ref\":\"common#/$defs/time\"},"
			"\"description\":\"Times.\"}"},
		{"lamp", "{\"$ref\":\"#/$defs/Lamp\",\"description\":\"Its lamp.\"}"},
		{"spare",
			"{\"anyOf\":[{\"$ref\":\"#/$defs/Lamp\"},{\"type\":\"null\"}],"
			"\"description\":\"The spare one.\"}"},
		{"lamps",
			"{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Lamp\"},"
			"\"description\":\"All.\"}"},
		{"tree",
			"{\"type\":\"array\",\"items\":{\"$ref\":\"common#/$defs/Tree\"},"
			"\"description\":\"A tree.\"}"},
		{"note", "{\"type\":\"string\",\"description\":\"Note.\"}"},
		{"inner", "none"},
	};
	json_t *schema = json_object(), *own = json_object(), *shared = json_object();
	shape_schema(schema, &room_shape, "common");
	for (size_t i = 0; i < rw_countof(rows); i++)
		assert_string_equal(type_of(schema, rows[i].key), rows[i].type);
	/* all but the optional one and the hidden one */
	assert_int_equal(
		json_array_size(json_object_get(schema, "required")), rw_countof(room_fields) - 2);
	shape_schema_types(own, shared, &room_shape, "common");
	assert_int_equal(json_object_size(shared), 0);
	assert_string_equal(type_of(json_object_get(own, "Lamp"), "watts"),
		"{\"type\":[\"number\",\"null\"],\"description\":\"Power.\"}");
	json_decref(schema);
	json_decref(own);
	json_decref(shared);
}

static void test_schema_common(void **state)
{
	json_t *schema = json_object(), *shared = json_object();
	lamp_shape.common = true;
	shape_schema(schema, &room_shape, "common");
	shape_schema_types(NULL, shared, &room_shape, "common");
	assert_string_equal(type_of(schema, "lamp"),
		"{\"$ref\":\"common#/$defs/Lamp\",\"description\":\"Its lamp.\"}");
	assert_non_null(json_object_get(shared, "Lamp"));
	lamp_shape.common = false;
	json_decref(schema);
	json_decref(shared);
}

/* ---- what the compiler does not see -------------------------------------------- */

static void test_check(void **state)
{
#define SHAPE struct room
	static const struct field twice[] = {TEXT(name, "One."), TEXT(name, "Two.")};
#undef SHAPE
	const struct shape forgetful = {.name = "Forgetful",
		.fields = room_fields,
		.n_fields = rw_countof(room_fields) - 1,
		.size = sizeof(struct room)};
	const struct shape doubled = {
		.name = "Doubled", .fields = twice, .n_fields = 2, .size = sizeof(const char *)};
	rw_cleanup(str_done) struct str none = {0}, forgot = {0}, two = {0};
	assert_true(shape_check(&room_shape, &none));
	assert_false(shape_check(&forgetful, &forgot));
	assert_non_null(strstr(forgot.s, "Forgetful: no field tells or hides the member at byte "));
	assert_false(shape_check(&doubled, &two));
	assert_string_equal(two.s, "Doubled: two fields are named name\n");
}

/* What was written is read back: the same document again, without borrowing from the first. */
static void test_read(void **state)
{
	struct room *room = full_room();
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	room->tree = json_pack("[i]", 7);
	json_t *first = shape_json(&room_shape, room);
	struct room *again = shape_read_new(&room_shape, first, a);
	rw_cleanup(freep) char *text = json_dumps(first, JSON_REAL_PRECISION(15));
	json_decref(room->tree);
	expect_json(shape_json(&room_shape, again), text);
	json_decref(first);
	assert_string_equal(again->lamps[1].name, "two");
	assert_true(isnan(again->lamps[1].watts));
	assert_null(shape_read_new(&room_shape, NULL, a));
}

struct queue {
	int priority;
};
#define SHAPE struct queue
static const struct field queue_fields[] = {PRIORITY(priority, "Priority, 0 to 7.")};
static SHAPE_OF(queue, "Queue", "A queue.");
#undef SHAPE

/* A priority that no frame has is none: it is an index elsewhere. */
static void test_read_priority(void **state)
{
	static const struct {
		int told, read;
	} rows[] = {{0, 0}, {7, 7}, {8, -1}, {3000, -1}, {-1, -1}};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(rows); i++) {
		json_t *doc = json_pack("{s:i}", "priority", rows[i].told);
		struct queue queue = {5};
		shape_read(&queue_shape, doc, a, &queue);
		assert_int_equal(queue.priority, rows[i].read);
		json_decref(doc);
	}
}

/* Values of another kind are not known, and what is not said is not known. */
static void test_read_unknown(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *strange = json_pack("{s:i, s:s, s:i, s:s, s:s, s:[i, s], s:i, s:s}", "note", 1,
		"share", "x", "doors", -1, "light", "green", "built", "noon", "words", 1, "w",
		"lamps", 5, "locked", "yes");
	struct room room = {.inner = &room};
	shape_read(&room_shape, strange, a, &room);
	assert_string_equal(room.name, "");
	assert_null(room.note);
	assert_true(isnan(room.share));
	assert_true(room.doors == COUNT_UNKNOWN && room.light == LIGHTS);
	assert_true(room.built.ns == TIME_UNKNOWN.ns && room.locked == MAYBE_UNKNOWN);
	assert_int_equal(room.n_words, 1);
	assert_string_equal(room.words[0], "w");
	assert_true(room.n_lamps == 0 && !room.spare && !room.values);
	assert_true(room.inner == &room); /* no row tells it */
	json_decref(strange);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_unknown),
		cmocka_unit_test(test_read_priority),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_sides),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_schema_common),
		cmocka_unit_test(test_check),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
